/* Namespaces.  All but the cgroup namespace come with the one clone3 that makes init; the cgroup namespace is unshared by
 * init once it sits in its groups, because its root is the group of the caller at that moment (cgroup_namespaces(7)). */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolation/control.h"
#include "util/fd.h"

static const struct {
	enum mechanism mechanism;
	uint64_t flag;
	const char *link; /* below /proc/<pid>/ns */
} namespaces[] = {
	{ MECH_USERNS, CLONE_NEWUSER, "user" },	      { MECH_PIDNS, CLONE_NEWPID, "pid" },
	{ MECH_MOUNTNS, CLONE_NEWNS, "mnt" },	      { MECH_NETNS, CLONE_NEWNET, "net" },
	{ MECH_IPCNS, CLONE_NEWIPC, "ipc" },	      { MECH_UTSNS, CLONE_NEWUTS, "uts" },
	{ MECH_CGROUPNS, CLONE_NEWCGROUP, "cgroup" },
};
#define NAMESPACES (sizeof(namespaces) / sizeof(namespaces[0]))

uint64_t namespaces_clone_flags(const struct confinement *c)
{
	uint64_t flags = 0;

	for (size_t i = 0; i < NAMESPACES; i++) {
		if (uses(c, namespaces[i].mechanism) && namespaces[i].mechanism != MECH_CGROUPNS)
			flags |= namespaces[i].flag;
	}
	return flags;
}

/* One id each way.  setgroups is denied first: without CAP_SETGID in the parent namespace a gid map may not be written
 * otherwise (user_namespaces(7)), and the workload has no use for it. */
int namespaces_write_maps(const struct confinement *c, pid_t pid, struct error *err)
{
	char path[64], line[64];
	autofd dir = -1;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_errno(err, "open %s", path);
	(void)snprintf(line, sizeof(line), "%u %u 1\n", c->inner_uid, c->host_uid);
	r = fd_write_file_at(dir, "uid_map", line, err);
	if (r == 0)
		r = fd_write_file_at(dir, "setgroups", "deny", err);
	(void)snprintf(line, sizeof(line), "%u %u 1\n", c->inner_gid, c->host_gid);
	if (r == 0)
		r = fd_write_file_at(dir, "gid_map", line, err);
	return r;
}

int namespaces_enter_cgroup(struct confinement *c, struct error *err)
{
	if (uses(c, MECH_CGROUPNS) && unshare(CLONE_NEWCGROUP) < 0)
		return error_errno(err, "unshare the cgroup namespace");
	return 0;
}

int namespaces_set_hostname(struct confinement *c, struct error *err)
{
	static const char name[] = "bulkhead";

	if (uses(c, MECH_UTSNS) && sethostname(name, sizeof(name) - 1) < 0)
		return error_errno(err, "set the host name");
	return 0;
}

static const char *link_of(enum mechanism m)
{
	for (size_t i = 0; i < NAMESPACES; i++) {
		if (namespaces[i].mechanism == m)
			return namespaces[i].link;
	}
	return NULL;
}

/* The namespace's inode: one that differs from ours is another namespace (namespaces(7)). */
void namespaces_observe(const struct observation *o, enum mechanism m, struct finding *out)
{
	char theirs_path[32], our_path[32];
	struct stat theirs, ours;
	const char *link = link_of(m);

	(void)snprintf(theirs_path, sizeof(theirs_path), "ns/%s", link);
	(void)snprintf(our_path, sizeof(our_path), "/proc/self/ns/%s", link);
	if (fstatat(o->proc_fd, theirs_path, &theirs, 0) < 0 || stat(our_path, &ours) < 0) {
		finding_set(out, FINDING_FAILED, errno, "/proc/<pid>/ns/%s cannot be read: %s", link, strerror(errno));
		return;
	}
	if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev) {
		finding_set(out, FINDING_FAILED, 0, "the %s namespace is ours", link);
		return;
	}
	finding_set(out, FINDING_ENFORCED, 0, "%s:[%lu] is not ours", link, (unsigned long)theirs.st_ino);
}
