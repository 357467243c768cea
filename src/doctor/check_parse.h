/* The pure part of the checks: text of the kernel's files in, answers out. */
#ifndef BULKHEAD_DOCTOR_CHECK_PARSE_H
#define BULKHEAD_DOCTOR_CHECK_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "Key:\t<number>" of /proc/<pid>/status.  False when there is no such line. */
bool check_parse_status(const char *status, const char *key, unsigned long *out);

/* How many mounts of mountinfo cover something below /proc.  The first few are named in words, ", " between. */
unsigned int check_parse_proc_masks(const char *mountinfo, char *words, size_t size);

/* Does a mount of that file system type have the option among those of its superblock?  *out_seen: there is one. */
bool check_parse_mount_option(const char *mountinfo, const char *type, const char *option, bool *out_seen);

/* /proc/swaps: KiB that are swapped to disk; zram is memory, and counts too, for the limit does not see it either. */
uint64_t check_parse_swap_kib(const char *swaps);

/* /etc/subuid: the first entry that shares an id with [first, first + count), as NAME:START:COUNT.  False: none. */
bool check_parse_subid_overlap(const char *subid, uint32_t first, uint32_t count, char *out, size_t size);

enum core_sink { CORE_FILE, CORE_PIPE, CORE_SOCKET, CORE_NOWHERE };
/* /proc/sys/kernel/core_pattern (core(5)). */
enum core_sink check_parse_core_pattern(const char *pattern);

/* The word before " (mode)" of /proc/self/attr/current: the AppArmor profile we run under; "" for none. */
void check_parse_apparmor_label(const char *label, char *out, size_t size);

#endif
