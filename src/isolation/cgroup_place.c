/* Below which directory a workload's group is made.
 *
 * v1: below the group we live in.  The same on v2 while no controller is needed from it (the kill file and cpu.stat
 * work without).  Where v2 must hold limits, a parent has to hand controllers down, and a group that hands them down
 * must hold no process itself ("no internal processes", cgroup-v2.rst; the hierarchy's root is exempt):
 *
 *   root, and our own group is not marked as delegated
 *	/bulkhead at the top of the mount, controllers enabled from the top down.  The group we live in belongs to
 *	systemd then, and is left as it is.  /bulkhead stays.
 *   anybody else, and root where /bulkhead cannot be had (a container)
 *	Our own group, if it already hands them down; or if it holds nobody but ourselves: we then move into its leaf
 *	"bulkhead-launcher" first.  This is the slow path (an RCU grace period), taken once: the leaf stays, and a
 *	launcher that finds itself in one looks upwards.  With other processes in the group it is busy, and that is
 *	said: we move nobody but ourselves. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "isolation/cgroup_parts.h"
#include "util/fd.h"

int cgroup_refusal(struct error *err)
{
	switch (err->code) {
	case EACCES:
	case EPERM:
	case EROFS:
	case ENOENT:
	case ENODEV:
	case ENOTDIR:
	case EBUSY:
		err->code = EOPNOTSUPP;
		break;
	default: /* out of memory, of descriptors, of groups: the host could, but not now */
		break;
	}
	return -err->code;
}

void cgroup_error_append(struct error *err, const char *between, const char *text)
{
	size_t used = strlen(err->text);

	(void)snprintf(err->text + used, sizeof(err->text) - used, "%s%.200s", between, text);
}

/* mountinfo may show a mount that another one has covered since. */
static int group_open(const char *path, long magic, int *out_fd, struct error *err)
{
	struct statfs fs;
	autofd fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		(void)error_errno(err, "open %s", path);
		return cgroup_refusal(err);
	}
	if (fstatfs(fd, &fs) < 0)
		return error_errno(err, "statfs %s", path);
	if ((long)fs.f_type != magic)
		return error_set(err, EOPNOTSUPP, "%s is covered by another file system", path);
	*out_fd = fd;
	fd = -1;
	return 0;
}

int cgroup_v1_parent(const struct cgroup_host *h, enum cgroup_controller k, int *out_fd, struct error *err)
{
	char path[CGROUP_PATH_MAX];
	int r = cgroup_path(h->v1_mount[k], h->v1_own[k], path, sizeof(path), err);

	return r < 0 ? r : group_open(path, CGROUP_SUPER_MAGIC, out_fd, err);
}

/* The group we live in, or the one above when that is a launcher's leaf. */
static int own_path(const struct cgroup_host *h, char *buf, size_t size, struct error *err)
{
	int r = cgroup_path(h->v2_mount, h->v2_own, buf, size, err);
	char *last = r < 0 ? NULL : strrchr(buf, '/');

	if (last && strcmp(last, "/" CGROUP_LEAF) == 0 && strcmp(h->v2_own, "/") != 0)
		*last = '\0';
	return r;
}

int cgroup_v2_own(const struct cgroup_host *h, int *out_fd, struct error *err)
{
	char path[CGROUP_PATH_MAX];
	int r = own_path(h, path, sizeof(path), err);

	return r < 0 ? r : group_open(path, CGROUP2_SUPER_MAGIC, out_fd, err);
}

int cgroup_v2_root_parent(const struct cgroup_host *h, int *out_fd)
{
	char path[CGROUP_PATH_MAX];
	struct error err;
	int r = cgroup_path(h->v2_mount, "/" CGROUP_ROOT_PARENT, path, sizeof(path), &err);

	return r < 0 ? r : group_open(path, CGROUP2_SUPER_MAGIC, out_fd, &err);
}

/* systemd marks a group that it has given away; it runs trusted.delegate for system units, user.delegate for others. */
static bool is_delegated(const char *path)
{
	char mark[2];

	return (getxattr(path, "trusted.delegate", mark, sizeof(mark)) == 1 && mark[0] == '1') ||
	       (getxattr(path, "user.delegate", mark, sizeof(mark)) == 1 && mark[0] == '1');
}

/* The root of a hierarchy has no cgroup.events; every other group has. */
static bool is_hierarchy_root(int fd)
{
	return faccessat(fd, "cgroup.events", F_OK, 0) < 0 && errno == ENOENT;
}

static int set_read(int fd, const char *file, controller_set *out, struct error *err)
{
	char list[512];
	ssize_t n = fd_read_file_at(fd, file, list, sizeof(list), err);

	if (n < 0)
		return (int)n;
	*out = cgroup_set_parse(list);
	return 0;
}

/* Do the children of the group get the controllers?  *out_missing: those that still have to be enabled.
 * -EOPNOTSUPP when the group has not got them itself. */
static int controllers_missing(int fd, controller_set need, controller_set *out_missing, struct error *err)
{
	controller_set have = 0, given = 0;
	char words[64];
	int r = set_read(fd, "cgroup.controllers", &have, err);

	if (r < 0)
		return r;
	if (need & ~have)
		return error_set(err, EOPNOTSUPP, "cgroup.controllers does not offer %s",
				 cgroup_set_words(need & ~have, words, sizeof(words)));
	r = set_read(fd, "cgroup.subtree_control", &given, err);
	if (r == 0)
		*out_missing = need & ~given;
	return r;
}

static int controllers_enable(int fd, controller_set set, struct error *err)
{
	char text[64];
	size_t used = 0;

	if (!set)
		return 0;
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		if (set & CG_BIT(k))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s+%s", used ? " " : "",
						 cgroup_controller_names[k]);
	}
	return fd_write_file_at(fd, "cgroup.subtree_control", text, err);
}

static int controllers_hand_down(int fd, controller_set need, struct error *err)
{
	controller_set missing = 0;
	int r = controllers_missing(fd, need, &missing, err);

	return r < 0 ? r : controllers_enable(fd, missing, err);
}

/* /bulkhead at the top of the mount.  It is kept: it is one group, whoever makes the next one finds it. */
static int root_parent_make(const struct cgroup_host *h, controller_set need, int *out_fd, struct error *err)
{
	autofd top = -1;
	autofd fd = -1;
	int r = group_open(h->v2_mount, CGROUP2_SUPER_MAGIC, &top, err);

	if (r == 0)
		r = controllers_hand_down(top, need, err);
	if (r < 0)
		return error_wrap(err, "%s", h->v2_mount);
	if (mkdirat(top, CGROUP_ROOT_PARENT, 0755) < 0 && errno != EEXIST)
		return error_errno(err, "make %s/" CGROUP_ROOT_PARENT, h->v2_mount);
	fd = openat(top, CGROUP_ROOT_PARENT, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, "open %s/" CGROUP_ROOT_PARENT, h->v2_mount);
	r = controllers_hand_down(fd, need, err);
	if (r < 0)
		return error_wrap(err, "%s/" CGROUP_ROOT_PARENT, h->v2_mount);
	*out_fd = fd;
	fd = -1;
	return 0;
}

/* Who sits in the group itself?  Processes outside of our pid namespace read as 0 and count as others. */
static int residents_count(int fd, bool *out_self, unsigned int *out_others, struct error *err)
{
	char list[16384], *at = list;
	ssize_t n = fd_read_file_at(fd, "cgroup.procs", list, sizeof(list), err);

	*out_self = false;
	*out_others = 0;
	if (n == -EFBIG) { /* thousands */
		*out_others = 1000;
		return 0;
	}
	if (n < 0)
		return (int)n;
	while (*at) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at)
			return error_set(err, EIO, "cgroup.procs is not a list of numbers");
		if (pid == getpid())
			*out_self = true;
		else
			(*out_others)++;
		at = *end == '\n' ? end + 1 : end;
	}
	return 0;
}

/* The slow path: step down into a leaf, so that the group may hand out controllers.  Undone if it then may not. */
static int step_down_and_enable(int fd, controller_set missing, struct error *err)
{
	int r;

	if (mkdirat(fd, CGROUP_LEAF, 0755) < 0 && errno != EEXIST)
		return error_errno(err, "make " CGROUP_LEAF);
	r = fd_write_file_at(fd, CGROUP_LEAF "/cgroup.procs", "0", err);
	if (r < 0) {
		(void)unlinkat(fd, CGROUP_LEAF, AT_REMOVEDIR); /* EBUSY: another launcher lives there */
		return error_wrap(err, "move into " CGROUP_LEAF);
	}
	r = controllers_enable(fd, missing, err);
	if (r < 0) {
		(void)fd_write_file_at(fd, "cgroup.procs", "0", NULL);
		(void)unlinkat(fd, CGROUP_LEAF, AT_REMOVEDIR);
	}
	return r;
}

static int own_prepare(int fd, controller_set need, struct error *err)
{
	controller_set missing = 0;
	unsigned int others = 0;
	bool self = false;
	int r = controllers_missing(fd, need, &missing, err);

	if (r < 0 || !missing)
		return r;
	if (faccessat(fd, "cgroup.subtree_control", W_OK, AT_EACCESS) < 0)
		return error_set(err, errno, "not writable by uid %u", geteuid());
	if (is_hierarchy_root(fd))
		return controllers_enable(fd, missing, err);
	r = residents_count(fd, &self, &others, err);
	if (r < 0)
		return r;
	if (others > 0)
		return error_set(err, EBUSY, "busy: %u other process%s in it, so it cannot hand out controllers",
				 others, others == 1 ? " is" : "es are");
	return self ? step_down_and_enable(fd, missing, err) : controllers_enable(fd, missing, err);
}

int cgroup_v2_parent(const struct cgroup_host *h, controller_set need, int *out_fd, struct error *err)
{
	char path[CGROUP_PATH_MAX], words[64];
	struct error tried = { .code = 0 };
	autofd own = -1;
	int r = own_path(h, path, sizeof(path), err);

	if (r < 0)
		return r;
	if (h->v2_read_only)
		return error_set(err, EOPNOTSUPP, "%s is mounted read-only", h->v2_mount);
	if (geteuid() == 0 && !is_delegated(path) && root_parent_make(h, need, out_fd, &tried) == 0)
		return 0;
	r = group_open(path, CGROUP2_SUPER_MAGIC, &own, err);
	if (r < 0)
		return r;
	r = own_prepare(own, need, err);
	if (r < 0) {
		(void)error_wrap(err, "no group for %s: %s", cgroup_set_words(need, words, sizeof(words)), path);
		if (tried.code && strcmp(path, h->v2_mount) != 0)
			cgroup_error_append(err, "; ", tried.text);
		return cgroup_refusal(err);
	}
	*out_fd = own;
	own = -1;
	return 0;
}
