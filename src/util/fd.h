/* Descriptors: one owner each, close-on-exec from birth, -1 while not open. */
#ifndef BULKHEAD_UTIL_FD_H
#define BULKHEAD_UTIL_FD_H

#include <stddef.h>
#include <sys/types.h>

#include "util/error.h"

/* Close *fd if it is open and set it to -1; errno is kept. */
void fd_close(int *fd);
#define autofd __attribute__((cleanup(fd_close))) int

/* Write all of buf, retrying on EINTR and short writes. */
int fd_write_all(int fd, const void *buf, size_t len, struct error *err);

/* Read the file `path` below dirfd (AT_FDCWD allowed) into buf and end it with NUL.  A file that does not fit is
 * -EFBIG: nothing is ever cut silently.  Returns the number of bytes read. */
ssize_t fd_read_file_at(int dirfd, const char *path, char *buf, size_t size, struct error *err);

/* Write the text to an existing file in one write(2), as procfs and cgroupfs ask. */
int fd_write_file_at(int dirfd, const char *path, const char *text, struct error *err);

/* Close every descriptor from `first` up but the `count` ones in keep (which is sorted in place; -1 entries are ignored). */
int fd_close_all_but(unsigned int first, int *keep, size_t count, struct error *err);

/* Put /dev/null where a standard descriptor is closed, before anything else is opened: it would take that number, and so
 * a report or a signalfd would become the workload's stdin or stdout. */
int fd_fill_stdio(struct error *err);

/* Connected AF_UNIX SOCK_SEQPACKET pair, close-on-exec. */
int fd_socketpair(int out[2], struct error *err);

#endif
