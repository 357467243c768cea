/* What the cgroup_*.c files share among themselves; nobody else includes it. */
#ifndef BULKHEAD_ISOLATION_CGROUP_PARTS_H
#define BULKHEAD_ISOLATION_CGROUP_PARTS_H

#include "isolation/cgroup.h"

#define CGROUP_PATH_MAX 800		/* a mount point and a group below it */
#define CGROUP_LEAF "bulkhead-launcher" /* where a launcher moves itself; see cgroup_place.c */
#define CGROUP_ROOT_PARENT "bulkhead"	/* root's groups on pure v2 */

extern const char *const cgroup_controller_names[CG_CONTROLLER_COUNT];

/* Controllers as bits, in the order of the enum. */
typedef unsigned int controller_set;
#define CG_BIT(k) (1u << (unsigned int)(k))

/* "memory, pids" into buf. */
const char *cgroup_set_words(controller_set set, char *buf, size_t size);

/* The known words of a space-separated list (cgroup.controllers, cgroup.subtree_control). */
controller_set cgroup_set_parse(const char *list);

/* cgroup_find.c: mount and group joined; "/" adds nothing.  -ENAMETOOLONG where it does not fit. */
int cgroup_path(const char *mount, const char *own, char *buf, size_t size, struct error *err);

/* cgroup_place.c: the directory below which a group is to be made, O_PATH, checked to be a cgroup directory.
 * -EOPNOTSUPP for whatever this host does not offer or allow. */
int cgroup_v1_parent(const struct cgroup_host *h, enum cgroup_controller k, int *out_fd, struct error *err);
int cgroup_v2_own(const struct cgroup_host *h, int *out_fd, struct error *err);
int cgroup_v2_parent(const struct cgroup_host *h, controller_set need, int *out_fd, struct error *err);
int cgroup_v2_root_parent(const struct cgroup_host *h, int *out_fd); /* only if it exists; for the sweep */

/* The errno of a step, as the answer of cgroup_make(): what the host does not offer or allow is -EOPNOTSUPP. */
int cgroup_refusal(struct error *err);
void cgroup_error_append(struct error *err, const char *between, const char *text);

/* cgroup_limits.c: write and read back the limit that controller k has in `l`. */
int cgroup_limit_v1(int group_fd, enum cgroup_controller k, const struct limits *l, struct error *err);
int cgroup_limit_v2(int group_fd, enum cgroup_controller k, const struct limits *l, struct error *err);

/* cgroup_sweep.c: a fresh name that says who made the group. */
int cgroup_name_new(char *buf, size_t size, struct error *err);

/* cgroup.c: remove `name` below parent_fd, waiting for its last process.  fd is the group itself, or -1. */
int cgroup_remove_at(int parent_fd, int fd, const char *name, unsigned int wait_ms, struct error *err);

#endif
