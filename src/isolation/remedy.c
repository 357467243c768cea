/* What to change on a host so that a mechanism works.  Never "run as root", never "switch it off". */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolation/cgroup.h"
#include "isolation/evidence.h"
#include "util/fd.h"

static long sysctl_value(const char *path)
{
	char text[64];

	return fd_read_file_at(AT_FDCWD, path, text, sizeof(text), NULL) < 0 ? -1 : strtol(text, NULL, 10);
}

/* The order is that of likelihood: each of these is a host state that stops people, found by reading the switch. */
static const char *remedy_userns(void)
{
	if (sysctl_value("/proc/sys/user/max_user_namespaces") == 0)
		return "sysctl user.max_user_namespaces=10000";
	if (sysctl_value("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		return "sysctl kernel.unprivileged_userns_clone=1";
	if (sysctl_value("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		return "install data/apparmor/bulkhead as /etc/apparmor.d/bulkhead and run apparmor_parser -r on it (AppArmor "
		       "restricts user namespaces to programs with a profile)";
	return "let this process make user namespaces: in a container, a seccomp profile that allows clone and unshare";
}

const char *evidence_remedy(enum mechanism m, const struct finding *f, char *buf, size_t size)
{
	switch (m) {
	case MECH_USERNS:
		return f->state == FINDING_WITHOUT ? NULL : remedy_userns();
	case MECH_PIDNS:
	case MECH_MOUNTNS:
	case MECH_NETNS:
	case MECH_IPCNS:
	case MECH_UTSNS:
	case MECH_CGROUPNS:
		if (f->state == FINDING_WITHOUT)
			return NULL;
		if (f->code == ENOSPC) {
			(void)snprintf(buf, size, "raise the limit of this kind under /proc/sys/user/max_*_namespaces");
			return buf;
		}
		return remedy_userns();
	case MECH_LANDLOCK:
		return f->state == FINDING_WITHOUT ? NULL : "a kernel of 5.13 or later with landlock in its lsm= list";
	case MECH_LANDLOCK_SCOPE:
		return f->state == FINDING_WITHOUT ? NULL : "a kernel of 6.12 or later (Landlock ABI 6)";
	case MECH_SECCOMP:
		return f->state == FINDING_WITHOUT ? NULL : "a kernel with CONFIG_SECCOMP_FILTER";
	case MECH_CGROUP:
	case MECH_CGROUP_KILL:
		return f->state == FINDING_WITHOUT ? NULL : "delegate a cgroup: " CGROUP_REMEDY_USER;
	case MECH_CAPS:
	case MECH_NNP:
	case MECH_OWN_UID:
	case MECH_RLIMITS:
	case MECH_SUBREAPER:
	case MECH_SESSION:
	case MECH_ENVIRONMENT:
	case MECH_DESCRIPTORS:
	case MECH_WORKSPACE:
	case MECH_COUNT:
		break;
	}
	return NULL;
}
