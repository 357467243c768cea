/* Looking at the waiting workload: which control sees what, and when.  What the kernel shows of it in /proc, and the errnos
 * that its forbidden acts gave, become findings; evidence.c judges them. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolation/apply.h"
#include "isolation/control.h"
#include "util/fd.h"

static void observe_userns(const struct observation *o, struct finding *out)
{
	namespaces_observe(o, MECH_USERNS, out);
}

static void observe_pidns(const struct observation *o, struct finding *out)
{
	namespaces_observe(o, MECH_PIDNS, out);
	if (out->state == FINDING_ENFORCED && o->shown.proc_masked)
		finding_set(out, FINDING_ENFORCED, 0,
			    "pid namespace of its own; /proc stays empty, as the host masks its own");
}

static void observe_netns(const struct observation *o, struct finding *out)
{
	namespaces_observe(o, MECH_NETNS, out);
}

static void observe_ipcns(const struct observation *o, struct finding *out)
{
	namespaces_observe(o, MECH_IPCNS, out);
}

static void observe_utsns(const struct observation *o, struct finding *out)
{
	namespaces_observe(o, MECH_UTSNS, out);
}

static void observe_cgroupns(const struct observation *o, struct finding *out)
{
	namespaces_observe(o, MECH_CGROUPNS, out);
}

const struct control control_table[MECH_COUNT] = {
	[MECH_USERNS] = { MECH_USERNS, true, observe_userns },
	[MECH_PIDNS] = { MECH_PIDNS, false, observe_pidns },
	[MECH_MOUNTNS] = { MECH_MOUNTNS, false, mounts_observe },
	[MECH_NETNS] = { MECH_NETNS, true, observe_netns },
	[MECH_IPCNS] = { MECH_IPCNS, true, observe_ipcns },
	[MECH_UTSNS] = { MECH_UTSNS, true, observe_utsns },
	[MECH_CGROUPNS] = { MECH_CGROUPNS, true, observe_cgroupns },
	[MECH_LANDLOCK] = { MECH_LANDLOCK, false, landlock_observe },
	[MECH_LANDLOCK_SCOPE] = { MECH_LANDLOCK_SCOPE, false, landlock_scope_observe },
	[MECH_SECCOMP] = { MECH_SECCOMP, false, seccomp_observe },
	[MECH_CAPS] = { MECH_CAPS, false, caps_observe },
	[MECH_NNP] = { MECH_NNP, false, nnp_observe },
	[MECH_OWN_UID] = { MECH_OWN_UID, false, creds_observe },
	[MECH_CGROUP] = { MECH_CGROUP, true, cgroup_observe },
	[MECH_CGROUP_KILL] = { MECH_CGROUP_KILL, true, cgroup_kill_observe },
	[MECH_RLIMITS] = { MECH_RLIMITS, true, rlimits_observe },
	[MECH_SUBREAPER] = { MECH_SUBREAPER, false, subreaper_observe },
	[MECH_SESSION] = { MECH_SESSION, false, session_observe },
	[MECH_ENVIRONMENT] = { MECH_ENVIRONMENT, false, environment_observe },
	[MECH_DESCRIPTORS] = { MECH_DESCRIPTORS, false, descriptors_observe },
	[MECH_WORKSPACE] = { MECH_WORKSPACE, false, workspace_observe },
};

const char *observation_status(const struct observation *o, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = o->status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0 && line[n] == ':' && line[n + 1] == '\t')
			return line + n + 2;
	}
	return NULL;
}

static int open_proc(struct started *s, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d", s->workload_pid);
	s->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return s->proc_fd < 0 ? error_errno(err, "open %s", path) : 0;
}

int observation_take(struct confinement *c, struct started *s, bool early, struct error *err)
{
	struct observation o = { .c = c, .pid = s->workload_pid, .shown = s->shown };
	int r = s->proc_fd < 0 ? open_proc(s, err) : 0;

	if (r < 0)
		return r;
	o.proc_fd = s->proc_fd;
	if (!early && fd_read_file_at(s->proc_fd, "status", o.status, sizeof(o.status), err) < 0)
		return error_wrap(err, "look at the workload");
	if (early && c->cgroup.name[0])
		o.in_groups = cgroup_holds(&c->cgroup, o.pid, o.groups, sizeof(o.groups));
	for (int m = 0; m < MECH_COUNT; m++) {
		if (uses(c, (enum mechanism)m) && control_table[m].early == early && m != MECH_MOUNTNS)
			control_table[m].observe(&o, &c->evidence->mechanisms[m]);
	}
	return 0;
}

/* Init shares the workload's namespaces and user: it must have given up as much. */
static void observe_init(const struct confinement *c, const struct started *s)
{
	static const struct {
		enum mechanism mechanism;
		const char *key, *value;
	} expected[] = { { MECH_NNP, "NoNewPrivs", "1" },
			 { MECH_SECCOMP, "Seccomp", "2" },
			 { MECH_CAPS, "CapPrm", "0000000000000000" },
			 { MECH_CAPS, "CapEff", "0000000000000000" } };
	struct observation o = { .c = c };
	ssize_t got = s->init_status_fd < 0 ? -1 : pread(s->init_status_fd, o.status, sizeof(o.status) - 1, 0);
	bool read = got > 0;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const char *value = read ? observation_status(&o, expected[i].key) : NULL;
		size_t n = strlen(expected[i].value);

		if (uses(c, expected[i].mechanism) && (!value || strncmp(value, expected[i].value, n) != 0))
			finding_set(&c->evidence->mechanisms[expected[i].mechanism], FINDING_FAILED, 0,
				    "init's %s is not %s", expected[i].key, expected[i].value);
	}
}

void observation_take_last(struct confinement *c, const struct started *s)
{
	const struct observation o = { .c = c, .pid = s->workload_pid, .proc_fd = s->proc_fd };

	if (uses(c, MECH_MOUNTNS))
		mounts_observe(&o, &c->evidence->mechanisms[MECH_MOUNTNS]);
	observe_init(c, s);
}
