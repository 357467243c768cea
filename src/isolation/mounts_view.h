/* What the private root shows.  All of it runs in init, with `root` the attached scratch tmpfs, before pivot_root. */
#ifndef BULKHEAD_ISOLATION_MOUNTS_VIEW_H
#define BULKHEAD_ISOLATION_MOUNTS_VIEW_H

#include <stdint.h>

#include "isolation/confinement.h"

int view_layout(const struct confinement *c, int root, struct error *err); /* directories, /usr, /bin and /lib* */
int view_etc(const struct confinement *c, int root, struct error *err);
int view_dev(int root, struct error *err);
int view_gpus(const struct confinement *c, int root, struct error *err);
int view_grants(const struct confinement *c, int root, struct error *err);

/* The host's path over the existing root/inside; attributes are MOUNT_ATTR_*, set recursively. */
/* The directory that fd is; `what` is for the message. */
int view_bind_fd(int root, int fd, const char *what, const char *inside, uint64_t attributes, struct error *err);
int view_bind(int root, const char *host_path, const char *inside, uint64_t attributes, struct error *err);
int view_writable(int root, const char *inside, struct error *err);

#endif
