/* Resource limits of the process kind: the part of the limits that every host has.  They bound one process, not a tree
 * (setrlimit(2)), so alone they hold `resources` only in part; with a user namespace RLIMIT_NPROC does count the whole
 * sandbox, since the count is kept per user and namespace (Linux 5.14). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "isolation/control.h"
#include "isolation/tree.h"
#include "util/fd.h"

static int set(int what, uint64_t value, const char *name, struct error *err)
{
	struct rlimit old, want;

	if (getrlimit((__rlimit_resource_t)what, &old) < 0)
		return error_errno(err, "read the limit %s", name);
	want.rlim_cur = want.rlim_max = value;
	/* Never above what the caller had: raising a hard limit takes CAP_SYS_RESOURCE, which containers lack. */
	if (old.rlim_max != RLIM_INFINITY && want.rlim_max > old.rlim_max)
		want.rlim_cur = want.rlim_max = old.rlim_max;
	if (setrlimit((__rlimit_resource_t)what, &want) < 0)
		return error_errno(err, "set the limit %s", name);
	return 0;
}

/* The limit per file ends the writer with SIGXFSZ and holds for every file it has open.  A scratch space of fixed size says
 * ENOSPC instead, so it stands alone wherever all writable files are in it. */
bool rlimits_bound_files(const struct confinement *c)
{
	if (c->boundary->limits.disk_bytes == LIMIT_NONE || !uses(c, MECH_RLIMITS))
		return false;
	for (size_t i = 0; i < c->boundary->grant_count; i++) {
		enum grant_kind kind = c->boundary->grants[i].kind;

		if (kind == GRANT_RW || kind == GRANT_OUT)
			return true;
	}
	return !uses(c, MECH_MOUNTNS);
}

int rlimits_apply(struct confinement *c, struct error *err)
{
	const struct limits *l = &c->boundary->limits;
	int r = set(RLIMIT_CORE, 0, "core", err);

	/* Where a group counts, this limit would be met first, and the group could not say that a fork was refused. */
	if (r == 0 && l->pids != LIMIT_NONE && uses(c, MECH_USERNS) && !(uses(c, MECH_CGROUP) && c->cgroup.limits))
		r = set(RLIMIT_NPROC, l->pids + 1, "nproc", err); /* and init */
	/* With neither, the user's threads are counted all together.  Sampling keeps the limit; this keeps a fork bomb from
	 * outgrowing the machine between two samples, with room for what else the user starts meanwhile. */
	if (r == 0 && l->pids != LIMIT_NONE && !uses(c, MECH_USERNS) && !(uses(c, MECH_CGROUP) && c->cgroup.limits))
		r = set(RLIMIT_NPROC, tree_threads_of_user(c->host_uid) + 2 * l->pids, "nproc", err);
	if (r == 0 && rlimits_bound_files(c))
		r = set(RLIMIT_FSIZE, l->disk_bytes, "fsize", err);
	/* The tree's CPU time is summed by the launcher; one process may not run past it even if the launcher dies. */
	if (r == 0 && l->cpu_time_ms != LIMIT_NONE)
		r = set(RLIMIT_CPU, l->cpu_time_ms / 1000 + 2, "cpu", err);
	return r;
}

/* Last, and in the workload: init's own steps need more descriptors than a caller may want to allow. */
int rlimits_apply_files(const struct confinement *c, struct error *err)
{
	const struct limits *l = &c->boundary->limits;
	struct rlimit now;

	if (l->open_files != LIMIT_NONE && uses(c, MECH_RLIMITS))
		return set(RLIMIT_NOFILE, l->open_files, "nofile", err);
	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return error_errno(err, "read the limit nofile");
	now.rlim_cur = c->caller_nofile < now.rlim_max ? c->caller_nofile : now.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &now) < 0 ? error_errno(err, "set the limit nofile") : 0;
}

void rlimits_observe(const struct observation *o, struct finding *out)
{
	char text[4096];
	struct error err;

	if (fd_read_file_at(o->proc_fd, "limits", text, sizeof(text), &err) < 0) {
		finding_set(out, FINDING_FAILED, err.code, "%.150s", err.text);
		return;
	}
	if (!strstr(text, "Max core file size        0 "))
		finding_set(out, FINDING_FAILED, 0, "/proc/<pid>/limits does not show what was set");
	else
		finding_set(out, FINDING_ENFORCED, 0, "/proc/<pid>/limits shows them");
}
