/* The mount API of Linux 5.2 and mount_setattr of 5.12, as thin calls: glibc 2.36 has wrappers, older ones have not, and
 * <sys/mount.h> and <linux/mount.h> of some releases cannot be included together. */
#ifndef BULKHEAD_ISOLATION_MOUNT_API_H
#define BULKHEAD_ISOLATION_MOUNT_API_H

#include <fcntl.h>
#include <linux/mount.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BULKHEAD_MNT_DETACH 2			/* MNT_DETACH of umount2(2) */
#define BULKHEAD_PROPAGATION_PRIVATE (1u << 18) /* MS_PRIVATE */
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static inline int api_fsopen(const char *type)
{
	return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static inline int api_fsconfig(int fd, unsigned int command, const char *key, const char *value)
{
	return (int)syscall(SYS_fsconfig, fd, command, key, value, 0);
}

static inline int api_fsmount(int fd, unsigned int attributes)
{
	return (int)syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes);
}

/* A detached clone of what `path` below dirfd leads to; recursive. */
static inline int api_open_tree(int dirfd, const char *path, unsigned int flags)
{
	return (int)syscall(SYS_open_tree, dirfd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | flags);
}

static inline int api_mount_setattr(int fd, unsigned int flags, struct mount_attr *attr)
{
	return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, attr, sizeof(*attr));
}

static inline int api_move_mount(int tree_fd, int to_fd, const char *to)
{
	return (int)syscall(SYS_move_mount, tree_fd, "", to_fd, to,
			    MOVE_MOUNT_F_EMPTY_PATH | (to[0] ? 0 : MOVE_MOUNT_T_EMPTY_PATH));
}

static inline int api_pivot_root(const char *new_root, const char *put_old)
{
	return (int)syscall(SYS_pivot_root, new_root, put_old);
}

static inline int api_umount2(const char *path, int flags)
{
	return (int)syscall(SYS_umount2, path, flags);
}

#endif
