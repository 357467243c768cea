/* The private root.
 *
 * One tmpfs of fixed size carries everything that is not the host's: the top-level layout, a synthetic /etc, /dev, and
 * the writable places (/tmp, /home/user, /dev/shm, the workspace).  The root mount of it is read-only at the end; each
 * writable place is a second mount of its directory.  So --disk is one number for all of them, enforced at the write
 * (ENOSPC), and everything is gone with the mount namespace.
 *
 * The root is attached over "/" before anything is mounted in it: nothing can be mounted in a detached tree before Linux
 * 6.15.  pivot_root(".", ".") then leaves the host's tree over the new root, where "/.." still leads, until it is detached
 * (pivot_root(2)); the gate stays shut until that was seen.  Until the pivot a step may open host paths. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "isolation/control.h"
#include "isolation/mount_api.h"
#include "isolation/mounts_view.h"
#include "util/fd.h"

/* 1 MiB and 512 inodes above what was asked for: the layout itself, so that --disk 64K is 64K for the workload. */
#define LAYOUT_BYTES (1u << 20)
#define LAYOUT_INODES 512u
/* One inode per 4 KiB of the limit, as if each file held one page: an inode costs about 1 KiB of kernel memory. */
#define BYTES_PER_INODE 4096u

static int make_scratch(const struct confinement *c, struct error *err)
{
	uint64_t bytes = c->boundary->limits.disk_bytes;
	char size[32], inodes[32];
	autofd fs = api_fsopen("tmpfs");
	int mount_fd;

	if (fs < 0)
		return error_errno(err, "fsopen tmpfs");
	if (bytes != LIMIT_NONE) {
		(void)snprintf(size, sizeof(size), "%" PRIu64, bytes + LAYOUT_BYTES);
		(void)snprintf(inodes, sizeof(inodes), "%" PRIu64, bytes / BYTES_PER_INODE + LAYOUT_INODES);
		if (api_fsconfig(fs, FSCONFIG_SET_STRING, "size", size) < 0 ||
		    api_fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", inodes) < 0)
			return error_errno(err, "limit the scratch space to %s bytes", size);
	}
	if (api_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755") < 0 ||
	    api_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		return error_errno(err, "make the scratch tmpfs");
	mount_fd = api_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return mount_fd < 0 ? error_errno(err, "fsmount the scratch tmpfs") : mount_fd;
}

static int set_attributes(int tree_fd, uint64_t set, unsigned int flags, const char *what, struct error *err)
{
	struct mount_attr attr = { .attr_set = set, .propagation = BULKHEAD_PROPAGATION_PRIVATE };

	if (api_mount_setattr(tree_fd, flags, &attr) < 0)
		return error_errno(err, "mount_setattr on %s", what);
	return 0;
}

static int attach(int root, int tree, const char *inside, uint64_t attributes, const char *what, struct error *err)
{
	int r = set_attributes(tree, attributes, AT_RECURSIVE, what, err);

	if (r < 0)
		return r;
	return api_move_mount(tree, root, inside) < 0 ? error_errno(err, "move_mount %s", what) : 0;
}

int view_bind(int root, const char *host_path, const char *inside, uint64_t attributes, struct error *err)
{
	autofd tree = api_open_tree(AT_FDCWD, host_path, 0);

	if (tree < 0)
		return error_errno(err, "open_tree %s", host_path);
	return attach(root, tree, inside, attributes, host_path, err);
}

int view_bind_fd(int root, int fd, const char *what, const char *inside, uint64_t attributes, struct error *err)
{
	autofd tree = api_open_tree(fd, "", AT_EMPTY_PATH);

	if (tree < 0)
		return error_errno(err, "open_tree %s", what);
	return attach(root, tree, inside, attributes, what, err);
}

/* A second, writable mount of a directory of the scratch space. */
int view_writable(int root, const char *inside, struct error *err)
{
	autofd tree = (int)syscall(SYS_open_tree, root, inside, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return error_errno(err, "open_tree %s", inside);
	if (api_move_mount(tree, root, inside) < 0)
		return error_errno(err, "move_mount %s", inside);
	return 0;
}

static int mount_proc(struct confinement *c, int root, struct error *err)
{
	autofd fs = api_fsopen("proc"), mount_fd = -1;
	unsigned int attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

	/* The host's root may write most of /proc/sys without any capability, and kernel.core_pattern names a program that
	 * the host would start for us. */
	if (c->host_uid == 0 || c->host_gid == 0)
		attributes |= MOUNT_ATTR_RDONLY;
	if (fs < 0)
		return error_errno(err, "fsopen proc");
	if (api_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		mount_fd = -1;
	else
		mount_fd = api_fsmount(fs, attributes);
	if (mount_fd < 0 && errno == EPERM) {
		/* Some of the host's /proc is masked, as in a container, so the kernel grants no unmasked one
		 * (mount_too_revealing() in the kernel).  The plan for that is stated: /proc stays an empty directory;
		 * the outer one, with foreign pids, never takes its place. */
		c->proc_masked = EPERM;
		return 0;
	}
	if (mount_fd < 0)
		return error_errno(err, "mount a /proc of its own");
	if (api_move_mount(mount_fd, root, "proc") < 0)
		return error_errno(err, "move_mount proc");
	return 0;
}

/* Where the private root may be attached, the host's mounts must not hear of it. */
static int make_private(struct error *err)
{
	struct mount_attr attr = { .propagation = BULKHEAD_PROPAGATION_PRIVATE };

	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return error_errno(err, "make the mounts private");
	return 0;
}

static int enter_root(int root, struct error *err)
{
	if (fchdir(root) < 0)
		return error_errno(err, "enter the private root");
	return api_pivot_root(".", ".") < 0 ? error_errno(err, "pivot_root") : 0;
}

/* "." is the new root, over which the host's tree still lies.  This is what takes it out of reach.  A step of its own, because
 * the kernel waits for all processors here (an RCU grace period), and nobody else needs to wait with it. */
int mounts_detach_host(struct confinement *c, struct error *err)
{
	(void)c;
	return api_umount2(".", BULKHEAD_MNT_DETACH) < 0 ? error_errno(err, "detach the host's tree") : 0;
}

/* The launcher reads how full the scratch space is, also after everything inside is dead. */
static int show_scratch(const struct confinement *c, int root, struct error *err)
{
	struct message m = { .type = MSG_SCRATCH, .mechanism = -1 };
	autofd fd = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_errno(err, "open the scratch space") : message_send_fd(c->init_fd, &m, fd, err);
}

int mounts_apply(struct confinement *c, struct error *err)
{
	static const char *const writable[] = { "tmp", "home/user", "dev/shm", "work" };
	autofd root = -1;
	int r = uses(c, MECH_USERNS) ? 0 : make_private(err); /* a new user namespace's mounts are slaves already */

	if (r < 0)
		return r;
	(void)umask(0); /* the modes below are meant; the workload's process has a mask of its own */
	root = make_scratch(c, err);
	if (root < 0)
		return root;
	if (api_move_mount(root, AT_FDCWD, "/") < 0)
		return error_errno(err, "attach the private root");
	r = view_layout(c, root, err);
	c->wish_failed = r < 0 && c->boundary->rootfs;
	if (r == 0)
		r = view_etc(c, root, err);
	if (r == 0)
		r = view_dev(root, err);
	if (r == 0) {
		r = view_gpus(c, root, err);
		c->wish_failed = r < 0;
	}
	if (r == 0)
		r = mount_proc(c, root, err);
	for (size_t i = 0; r == 0 && i < sizeof(writable) / sizeof(writable[0]); i++)
		r = view_writable(root, writable[i], err);
	if (r == 0) {
		r = view_grants(c, root, err);
		c->wish_failed = r < 0;
	}
	if (r == 0)
		r = set_attributes(root, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0,
				   "the private root", err);
	if (r == 0)
		r = show_scratch(c, root, err);
	return r < 0 ? r : enter_root(root, err);
}

/* How many mounts of the text, which is a mountinfo, lie on "/": the fifth field (proc_pid_mountinfo(5)). */
static unsigned int count_on_root(const char *text)
{
	unsigned int n = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = line;

		for (int field = 1; at && field < 5; field++) {
			at = strchr(at, ' ');
			at = at ? at + 1 : NULL;
		}
		n += at && at[0] == '/' && at[1] == ' ';
	}
	return n;
}

/* The workload's mounts as it has them itself: one tmpfs on "/", read-only, and the host's tree no longer over it. */
void mounts_observe(const struct observation *o, struct finding *out)
{
	static char text[65536]; /* a frame of this size would be probed page by page */
	char *line;
	struct error err;
	struct finding ns = { 0 };

	namespaces_observe(o, MECH_MOUNTNS, &ns);
	if (ns.state != FINDING_ENFORCED) {
		*out = ns;
		return;
	}
	if (fd_read_file_at(o->proc_fd, "mountinfo", text, sizeof(text), &err) < 0) {
		finding_set(out, FINDING_FAILED, err.code, "%.150s", err.text);
		return;
	}
	/* "ID PARENT MAJ:MIN / / ro,nosuid,... - tmpfs" */
	line = strstr(text, " / / ro,nosuid,nodev");
	if (!line || !strstr(line, " - tmpfs "))
		finding_set(out, FINDING_FAILED, 0, "mountinfo shows no read-only tmpfs on /");
	else if (count_on_root(text) != 1)
		finding_set(out, FINDING_FAILED, 0, "something lies over the private root");
	else
		finding_set(out, FINDING_ENFORCED, 0, "%.60s; / is a tmpfs of its own, ro,nosuid,nodev", ns.how);
}
