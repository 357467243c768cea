/* Users, directories and mounts. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/check.h"
#include "doctor/check_parse.h"
#include "isolation/control.h"
#include "isolation/mount_api.h"
#include "util/fd.h"

void check_subuid(const struct check_context *x, struct check *out)
{
	static const char *const files[] = { "/etc/subuid", "/etc/subgid" };
	const unsigned int last = UID_RANGE_FIRST + UID_RANGE_SIZE - 1;

	for (size_t i = 0; i < 2; i++) {
		char *text = check_read(files[i]);
		char entry[128];
		bool overlaps = text &&
				check_parse_subid_overlap(text, UID_RANGE_FIRST, UID_RANGE_SIZE, entry, sizeof(entry));

		free(text);
		if (!overlaps)
			continue;
		check_set(out, x->privileged ? CHECK_MISSING : CHECK_NOTE,
			  "%s hands out \"%s\", which reaches into %u to %u, the ids of root's workloads: "
			  "that user could signal and trace "
			  "them",
			  files[i], entry, UID_RANGE_FIRST, last);
		check_remedy(out, "give that user a range below %u in %s", UID_RANGE_FIRST, files[i]);
		return;
	}
	check_set(out, CHECK_OK,
		  "no range of /etc/subuid or /etc/subgid reaches into %u to %u, the ids of root's workloads",
		  UID_RANGE_FIRST, last);
}

static const struct {
	unsigned long magic; /* linux/magic.h; some are missing there */
	const char *name;
	const char *remark; /* NULL: nothing to say */
} file_systems[] = {
	{ 0xEF53, "ext4", NULL },
	{ 0x58465342, "xfs", NULL },
	{ 0x9123683E, "btrfs", NULL },
	{ 0xF2F52010, "f2fs", NULL },
	{ 0x2FC12FC1, "zfs", NULL },
	{ 0x794C7630, "overlay", NULL },
	{ 0x01021994, "tmpfs",
	  "what workloads of the process tier write there is memory, and no group counts it once they are gone" },
	{ 0x6969, "nfs", "it is remote, and a lock there may outlive its holder" },
	{ 0x65735546, "fuse", "a program serves it, which may hang or lie" },
	{ 0x01021997, "9p", "it is served from outside" },
};

/* The nearest directory that is there: the base itself is made by the first run. */
static int statfs_above(const char *path, char *at, size_t size, struct statfs *out)
{
	(void)snprintf(at, size, "%s", path);
	for (;;) {
		char *slash;

		if (statfs(at, out) == 0)
			return 0;
		slash = strrchr(at, '/');
		if (errno != ENOENT || !slash || slash == at)
			return -1;
		*slash = '\0';
	}
}

void check_workdir(const struct check_context *x, struct check *out)
{
	char at[512];
	struct statfs fs;
	const char *name = "unknown", *remark = NULL;

	if (statfs_above(x->workdir, at, sizeof(at), &fs) < 0) {
		check_set(out, CHECK_MISSING, "%s: %s", at, strerrordesc_np(errno));
		check_remedy(out, "name a directory of your own on a local disk: --workdir DIR");
		return;
	}
	for (size_t i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
		if (file_systems[i].magic == ((unsigned long)fs.f_type & 0xFFFFFFFFu)) {
			name = file_systems[i].name;
			remark = file_systems[i].remark;
		}
	}
	check_set(out, remark ? CHECK_NOTE : CHECK_OK, "%s is on %s, %llu MiB free%s%s", x->workdir, name,
		  (unsigned long long)fs.f_bavail * (unsigned long long)fs.f_bsize >> 20, remark ? ": " : "",
		  remark ? remark : "");
	if (remark)
		check_remedy(out, "name a directory of your own on a local disk: --workdir DIR");
}

/* A user namespace with any map at all, held by a child that waits for its end. */
static int userns_open(pid_t *out_pid)
{
	char path[64];
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	int fd;

	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	*out_pid = pid;
	if (pid < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (fd_write_file_at(AT_FDCWD, path, "0 1000 1", NULL) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	if (fd_write_file_at(AT_FDCWD, path, "0 1000 1", NULL) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd;
}

static int map_tree(int tree_fd, int userns)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned int)userns };

	if (tree_fd < 0 || userns < 0)
		return errno ? errno : EBADF;
	return api_mount_setattr(tree_fd, 0, &attr) < 0 ? errno : 0;
}

static int detached_tmpfs(void)
{
	autofd fs = api_fsopen("tmpfs");

	if (fs < 0 || api_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		return -1;
	return api_fsmount(fs, 0);
}

/* By trying: both trees are detached clones that nobody else sees, and go with their descriptor. */
void check_idmap(const struct check_context *x, struct check *out)
{
	pid_t pid = -1;
	int on_tmpfs, here;
	autofd userns = -1, tmpfs = -1, tree = -1;

	if (!x->privileged) {
		check_set(out, CHECK_OK,
			  "not needed: what this user may write is written as this user, through the user namespace");
		return;
	}
	userns = userns_open(&pid);
	tmpfs = detached_tmpfs();
	on_tmpfs = map_tree(tmpfs, userns);
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	here = map_tree(tree, userns);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	if (on_tmpfs == 0 && here == 0) {
		check_set(out, CHECK_OK, "tried on tmpfs and on the current directory: both can be mapped");
		return;
	}
	check_set(out, CHECK_NOTE,
		  "tmpfs: %s; the current directory: %s. Where one cannot be mapped, --rw and --out of it are "
		  "refused to root",
		  on_tmpfs ? strerrordesc_np(on_tmpfs) : "can be mapped",
		  here ? strerrordesc_np(here) : "can be mapped");
	if (here == EINVAL)
		check_remedy(out, "grant directories on ext4 or xfs (Linux 5.12), btrfs (5.15) or tmpfs (6.3)");
	else if (on_tmpfs == EINVAL)
		check_remedy(out, "a kernel of 6.3 or later, for directories on tmpfs");
}
