/* The system-call filters of the sandbox: classic BPF for seccomp(2), computed when bulkhead is built (filter_gen.c,
 * by libseccomp) and constant from then on, so a launch links no libseccomp and spends nothing on making a filter.
 *
 * What a filter grants, and why, is the table in syscalls.h; docs/syscalls.md is the same table for readers.  No
 * variant ever kills: a call is allowed, or refused with an errno, on any architecture that the kernel
 * accepts calls from.
 *
 * Two promises that a filter cannot keep alone, so whoever loads one keeps them:
 *   - no descriptor that the workload inherits is an AF_UNIX datagram socket (FILTER_NO_UNIX): sendmsg(2) carries its
 *     address in memory, where no filter can look, so holding such a socket is enough to reach any pathname socket;
 *   - no_new_privs is set, or the caller has CAP_SYS_ADMIN in its user namespace (seccomp(2)). */
#ifndef BULKHEAD_ISOLATION_FILTER_H
#define BULKHEAD_ISOLATION_FILTER_H

#include <linux/filter.h>

/* Grant AF_INET and AF_INET6 (TCP, UDP, echo) and AF_NETLINK's NETLINK_ROUTE.  Without it: AF_UNIX alone. */
#define FILTER_NET 1u
/* For hosts where the workload shares our namespaces.  What Landlock does not cover is refused here: modes, owners, times
 * and attributes of files, System V objects and POSIX queues, watches, the limits and scheduling of other processes.  And
 * nothing in it may reach a pathname or abstract socket:
 * socketpair(2) stays, for streams and sequenced packets. */
#define FILTER_NO_UNIX 2u
#define FILTER_VARIANTS 4u

struct filter_program {
	const struct sock_filter *insns; /* static storage; the kernel copies it, so sock_fprog may cast const away */
	unsigned short len;
};

/* Init's own: what it calls once it is confined, and EPERM for everything else. */
const struct filter_program *filter_for_init(void);

/* The program for an OR of the flags above; NULL for bits that are not flags.  May run between fork and exec. */
const struct filter_program *filter_get(unsigned int variant);

#endif
