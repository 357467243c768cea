/* Namespaces.  All but two come with the one clone3 that makes init.  The cgroup namespace is unshared by the workload's
 * process once it sits in its groups, because its root is the group of the caller at that moment (cgroup_namespaces(7)).
 * The network namespace, as dear as all the others together, is made by that process too, while init builds the view;
 * init then joins it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolation/control.h"
#include "util/fd.h"

static const struct {
	enum mechanism mechanism;
	uint64_t flag;
	const char *link; /* below /proc/<pid>/ns */
} namespaces[NAMESPACES] = {
	{ MECH_USERNS, CLONE_NEWUSER, "user" },	      { MECH_PIDNS, CLONE_NEWPID, "pid" },
	{ MECH_MOUNTNS, CLONE_NEWNS, "mnt" },	      { MECH_NETNS, CLONE_NEWNET, "net" },
	{ MECH_IPCNS, CLONE_NEWIPC, "ipc" },	      { MECH_UTSNS, CLONE_NEWUTS, "uts" },
	{ MECH_CGROUPNS, CLONE_NEWCGROUP, "cgroup" },
};

uint64_t namespaces_clone_flags(const struct confinement *c)
{
	uint64_t flags = 0;

	for (size_t i = 0; i < NAMESPACES; i++) {
		if (uses(c, namespaces[i].mechanism) && namespaces[i].mechanism != MECH_CGROUPNS &&
		    namespaces[i].mechanism != MECH_NETNS)
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

bool namespaces_switched_off(enum mechanism m)
{
	for (size_t i = 0; i < NAMESPACES; i++) {
		char path[64], text[32];

		if (namespaces[i].mechanism != m)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/sys/user/max_%s_namespaces", namespaces[i].link);
		return fd_read_file_at(AT_FDCWD, path, text, sizeof(text), NULL) > 0 && strcmp(text, "0\n") == 0;
	}
	return false;
}

int namespaces_make_network(struct confinement *c, struct error *err)
{
	(void)c;
	return unshare(CLONE_NEWNET) < 0 ? error_errno(err, "unshare the network namespace") : 0;
}

/* By pidfd (setns(2), Linux 5.8): no path in /proc, which may be masked, has a part in it. */
int namespaces_join_network(pid_t workload, struct error *err)
{
	autofd pidfd = (int)syscall(SYS_pidfd_open, workload, 0);

	if (pidfd < 0 || setns(pidfd, CLONE_NEWNET) < 0)
		return error_errno(err, "join the network namespace");
	return 0;
}

int namespaces_enter_cgroup(struct confinement *c, struct error *err)
{
	if (uses(c, MECH_CGROUPNS) && unshare(CLONE_NEWCGROUP) < 0)
		return error_errno(err, "unshare the cgroup namespace");
	return 0;
}

/* What is counted inside is counted against the namespace's maker as well, who may be the caller: half of the usual number of
 * inotify instances, no namespaces and no fanotify groups, which the filter refuses anyway.  Only where /proc/sys is there;
 * no guarantee rests on it. */
int namespaces_lower_counts(struct confinement *c, struct error *err)
{
	static const struct {
		const char *path, *value;
	} counts[] = { { "/proc/sys/user/max_inotify_instances", "64" },
		       { "/proc/sys/user/max_user_namespaces", "0" },
		       { "/proc/sys/user/max_fanotify_groups", "0" } };

	(void)err;
	if (!uses(c, MECH_USERNS) || !uses(c, MECH_MOUNTNS) || c->proc_masked)
		return 0; /* above all not in the host's user namespace */
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		(void)fd_write_file_at(AT_FDCWD, counts[i].path, counts[i].value, NULL);
	return 0;
}

int namespaces_set_hostname(struct confinement *c, struct error *err)
{
	static const char name[] = "bulkhead";

	if (uses(c, MECH_UTSNS) && sethostname(name, sizeof(name) - 1) < 0)
		return error_errno(err, "set the host name");
	return 0;
}

void namespaces_note_ours(struct confinement *c)
{
	for (size_t i = 0; i < NAMESPACES; i++) {
		char path[32];
		struct stat st = { 0 };

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i].link);
		if (uses(c, namespaces[i].mechanism) && stat(path, &st) < 0)
			st.st_ino = 0;
		c->ours[i].dev = st.st_dev;
		c->ours[i].ino = st.st_ino;
	}
}

/* The namespace's inode: one that differs from ours is another namespace (namespaces(7)). */
void namespaces_observe(const struct observation *o, enum mechanism m, struct finding *out)
{
	char path[32];
	struct stat theirs;
	size_t i = 0;

	while (i < NAMESPACES && namespaces[i].mechanism != m)
		i++;
	if (i == NAMESPACES || o->c->ours[i].ino == 0) {
		finding_set(out, FINDING_FAILED, 0, "our own namespace cannot be read in /proc/self/ns");
		return;
	}
	(void)snprintf(path, sizeof(path), "ns/%s", namespaces[i].link);
	if (fstatat(o->proc_fd, path, &theirs, 0) < 0) {
		finding_set(out, FINDING_FAILED, errno, "/proc/<pid>/%s cannot be read: %s", path, strerror(errno));
		return;
	}
	if (theirs.st_ino == o->c->ours[i].ino && theirs.st_dev == o->c->ours[i].dev) {
		finding_set(out, FINDING_FAILED, 0, "the %s namespace is ours", namespaces[i].link);
		return;
	}
	finding_set(out, FINDING_ENFORCED, 0, "%s:[%lu] is not ours", namespaces[i].link, (unsigned long)theirs.st_ino);
}
