/* What to change on a host so that a mechanism works.  Never "run as root", never "switch it off". */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolation/cgroup.h"
#include "isolation/evidence.h"
#include "util/fd.h"

static long sysctl_value(const char *path)
{
	char text[64];

	return fd_read_file_at(AT_FDCWD, path, text, sizeof(text), NULL) < 0 ? -1 : strtol(text, NULL, 10);
}

/* A filter that was on us before we started: a container's, most often. */
static bool filtered_already(void)
{
	char status[8192];
	const char *mode;

	if (fd_read_file_at(AT_FDCWD, "/proc/self/status", status, sizeof(status), NULL) < 0)
		return false;
	mode = strstr(status, "\nSeccomp:\t");
	return mode && mode[10] == '2';
}

/* The order is that of likelihood: each of these is a host state that stops people, found by reading the switch. */
static const char *remedy_userns(void)
{
	if (sysctl_value("/proc/sys/user/max_user_namespaces") == 0)
		return "sysctl user.max_user_namespaces=10000";
	if (sysctl_value("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return "sysctl kernel.unprivileged_userns_clone=1";
	if (sysctl_value("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return "cp " BULKHEAD_DATA_DIR
		       "/apparmor/bulkhead /etc/apparmor.d/ && apparmor_parser -r /etc/apparmor.d/bulkhead";
	if (filtered_already())
		return "let the seccomp profile that is on this process (a container's) allow clone3, clone "
		       "and unshare with new "
		       "namespaces: --security-opt seccomp=FILE";
	return "a kernel with CONFIG_USER_NS, and an LSM policy and a container profile that let this "
	       "process make user namespaces";
}

static const char *remedy_mounts(const struct finding *f)
{
	if (f->code == ENOSYS && !filtered_already())
		return "a kernel of 5.12 or later";
	if (f->code == ENOENT)
		return "put back what the message names: the view is made of it";
	if (filtered_already())
		return "let the seccomp profile that is on this process (a container's) allow open_tree, "
		       "move_mount, fsopen, fsconfig, "
		       "fsmount, mount_setattr, pivot_root and umount2: --security-opt seccomp=FILE";
	return remedy_userns();
}

/* The list that the kernel was booted with, and ours at its head: lsm= replaces it, so it has to be given whole. */
static const char *remedy_landlock(char *buf, size_t size)
{
	char list[200];

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 0)
		return filtered_already() ? "let the seccomp profile that is on this process (a container's) allow "
					    "landlock_create_ruleset, "
					    "landlock_add_rule and landlock_restrict_self: --security-opt seccomp=FILE"
					  : NULL;
	if (errno == EOPNOTSUPP &&
	    fd_read_file_at(AT_FDCWD, "/sys/kernel/security/lsm", list, sizeof(list), NULL) > 0) {
		list[strcspn(list, "\n")] = '\0';
		(void)snprintf(buf, size, "boot with lsm=landlock,%s", list);
		return buf;
	}
	if (errno == EPERM || filtered_already())
		return "let the seccomp profile that is on this process (a container's) allow landlock_create_ruleset, "
		       "landlock_add_rule and landlock_restrict_self: --security-opt seccomp=FILE";
	return "a kernel of 5.13 or later with CONFIG_SECURITY_LANDLOCK, and landlock in its lsm= list";
}

static bool has_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0; /* sd_booted(3) */
}

/* An administrator makes a group, gives it to the user, and puts the user's shell into it. */
static const char *remedy_group_by_hand(const struct cgroup_host *h, char *buf, size_t size)
{
	bool v1 = false;

	for (int k = 0; k < CG_CONTROLLER_COUNT; k++)
		v1 = v1 || h->v1_mount[k][0];
	if (v1)
		(void)snprintf(
			buf, size,
			"for c in memory pids cpu cpuacct%s; do g=/sys/fs/cgroup/$c/u%u; mkdir -p $g; chown -R %u $g; "
			"echo PID >$g/cgroup.procs; done (by the administrator, PID: the shell of uid %u)",
			strcmp(h->v2_mount, "/sys/fs/cgroup/unified") == 0 ? " unified" : "", geteuid(), geteuid(),
			geteuid());
	else
		(void)snprintf(buf, size,
			       "cd %s; echo +memory +pids +cpu >cgroup.subtree_control; mkdir u%u; chown -R %u u%u; "
			       "echo PID >u%u/cgroup.procs (by the administrator, PID: the shell of uid %u)",
			       h->v2_mount, geteuid(), geteuid(), geteuid(), geteuid(), geteuid());
	return buf;
}

static const char *remedy_cgroup(const struct finding *f, char *buf, size_t size)
{
	struct cgroup_host h;

	if (cgroup_host_find(&h, NULL) < 0)
		return "mount /proc: where the groups are is read there";
	if (!h.v2_mount[0] && !h.v1_mount[CG_MEMORY][0])
		return "mount -t cgroup2 cgroup2 /sys/fs/cgroup";
	if ((h.v2_mount[0] && h.v2_read_only) || (h.v1_mount[CG_MEMORY][0] && h.v1_read_only[CG_MEMORY]))
		return "let the container see its cgroups writable: podman run --security-opt unmask=/sys/fs/cgroup";
	if (h.v2_mount[0] && !h.v1_mount[CG_MEMORY][0] && has_systemd()) {
		/* What systemd delegates to users is memory and pids; cpu has to be asked for (user@.service). */
		if (geteuid() != 0 && strstr(f->how, "does not offer"))
			return "a file /etc/systemd/system/user@.service.d/delegate.conf with [Service] and "
			       "Delegate=cpu cpuset io memory pids; "
			       "then systemctl daemon-reload, and log in again";
		return geteuid() == 0 ? "systemd-run --scope -p Delegate=yes -- COMMAND" : CGROUP_REMEDY_USER;
	}
	if (geteuid() == 0)
		return "let this process have its cgroup to itself and writable: mkdir a group in each "
		       "hierarchy, and start it in there";
	return remedy_group_by_hand(&h, buf, size);
}

const char *evidence_remedy(enum mechanism m, const struct finding *f, char *buf, size_t size)
{
	if (f->state == FINDING_WITHOUT)
		return NULL;
	switch (m) {
	case MECH_USERNS:
	case MECH_PIDNS:
	case MECH_NETNS:
	case MECH_IPCNS:
	case MECH_UTSNS:
	case MECH_CGROUPNS:
		if (f->code == ENOSPC && sysctl_value("/proc/sys/user/max_user_namespaces") != 0) {
			(void)snprintf(buf, size, "sysctl user.max_%s_namespaces=10000",
				       m == MECH_USERNS	 ? "user"
				       : m == MECH_PIDNS ? "pid"
				       : m == MECH_NETNS ? "net"
				       : m == MECH_IPCNS ? "ipc"
				       : m == MECH_UTSNS ? "uts"
							 : "cgroup");
			return buf;
		}
		return f->code ? remedy_userns() : NULL; /* without a code it only rests on another that is missing */
	case MECH_MOUNTNS:
		return f->code ? remedy_mounts(f) : NULL;
	case MECH_LANDLOCK:
		return remedy_landlock(buf, size);
	case MECH_LANDLOCK_SCOPE:
		return f->code == EPERM ? remedy_landlock(buf, size) : "a kernel of 6.12 or later (Landlock ABI 6)";
	case MECH_SECCOMP:
		return filtered_already() ? "let the seccomp profile that is on this process (a container's) allow "
					    "seccomp and prctl: "
					    "--security-opt seccomp=FILE"
					  : "a kernel with CONFIG_SECCOMP_FILTER";
	case MECH_CGROUP:
		return remedy_cgroup(f, buf, size);
	case MECH_CGROUP_KILL:
		/* Made and not seen to work is no fault of the host that we know a change for. */
		return f->state == FINDING_FAILED
			       ? NULL
			       : "a kernel of 5.14 or later, and a writable cgroup2 mount (see cgroup)";
	case MECH_WORKSPACE:
		return "name a directory of your own on a local disk: --workdir DIR";
	case MECH_OWN_UID:
		/* For a caller without the rights other mechanisms hold the same; nothing is missing. */
		return NULL;
	case MECH_CAPS:
	case MECH_NNP:
	case MECH_RLIMITS:
	case MECH_SUBREAPER:
	case MECH_SESSION:
	case MECH_ENVIRONMENT:
	case MECH_DESCRIPTORS:
	case MECH_COUNT:
		break;
	}
	return NULL;
}
