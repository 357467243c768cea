/* Walking the plan from the launcher's side.  The steps, in order, are those of plan.c; each one here is a call. */
#include "isolation/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/capability.h"
#include "isolation/control.h"
#include "isolation/tree.h"
#include "util/fd.h"

void confinement_init(struct confinement *c, const struct boundary *b, struct evidence *e, const char *workdir)
{
	struct capability_sets caps;

	memset(c, 0, sizeof(*c));
	c->boundary = b;
	c->evidence = e;
	c->workdir = workdir;
	c->host_uid = geteuid();
	c->host_gid = getegid();
	c->uid_lock_fd = -1;
	c->init_fd = c->gate_fd = -1;
	c->ruleset_fd = c->outer_ruleset_fd = -1;
	c->workspace = (struct workspace)WORKSPACE_INIT;
	for (int i = 0; i < 3; i++)
		c->stdio.fd[i] = STDIO_CALLER;
	cgroup_init(&c->cgroup);
	c->privileged = capability_get(&caps) == 0 && capability_effective(&caps, CAP_SYS_ADMIN) &&
			capability_effective(&caps, CAP_SETUID) && capability_effective(&caps, CAP_SETGID);
}

/* Inside a user namespace the workload is always user 1000; without one it sees its host ids. */
static void choose_inner_ids(struct confinement *c)
{
	c->inner_uid = uses(c, MECH_USERNS) ? INNER_UID : c->host_uid;
	c->inner_gid = uses(c, MECH_USERNS) ? INNER_GID : c->host_gid;
}

/* Limits that no group can hold leave the group's kill file usable; whether rlimits will do is for the judge to say. */
static int make_cgroup(struct confinement *c, struct error *err)
{
	static struct boundary unlimited; /* the kill file alone, for a plan without limits by group */
	int r;

	if (!uses(c, MECH_CGROUP))
		unlimited.limits =
			(struct limits){ .memory_bytes = LIMIT_NONE, .cpu_milli = LIMIT_NONE, .pids = LIMIT_NONE };
	r = cgroup_make(&c->cgroup, uses(c, MECH_CGROUP) ? c->boundary : &unlimited, err);
	if (r == 0 && !uses(c, MECH_CGROUP))
		c->cgroup.limits = false;
	if (r == -EOPNOTSUPP) {
		finding_set(&c->evidence->mechanisms[MECH_CGROUP], FINDING_UNSUPPORTED, EOPNOTSUPP, "%.190s",
			    err->text);
		c->use &= ~MECH_BIT(MECH_CGROUP);
		r = 0;
	}
	if (r == 0 && !c->cgroup.kill) {
		finding_set(&c->evidence->mechanisms[MECH_CGROUP_KILL], FINDING_UNSUPPORTED, 0,
			    "no cgroup v2 group with a kill file could be made");
		c->use &= ~MECH_BIT(MECH_CGROUP_KILL);
	}
	return r;
}

int confinement_prepare(struct confinement *c, enum mechanism *out_step, struct error *err)
{
	int r = 0;

	*out_step = MECH_OWN_UID;
	if (uses(c, MECH_OWN_UID))
		r = creds_claim(c, err);
	if (r < 0)
		return r;
	choose_inner_ids(c);
	*out_step = MECH_WORKSPACE;
	r = workspace_prepare(c, err);
	if (r < 0)
		return r;
	*out_step = MECH_COUNT;
	r = grants_resolve(c, err);
	if (r == 0)
		r = environment_make(c, err);
	if (r < 0)
		return r;
	*out_step = MECH_CGROUP;
	return uses(c, MECH_CGROUP) || uses(c, MECH_CGROUP_KILL) ? make_cgroup(c, err) : 0;
}

static int open_channels(struct confinement *c, struct started *s, struct error *err)
{
	int pair[2], gate[2], on = 1, r = fd_socketpair(pair, err);

	if (r < 0)
		return r;
	s->control_fd = pair[0];
	c->init_fd = pair[1];
	if (setsockopt(s->control_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return error_errno(err, "ask for credentials on the control socket");
	if (pipe2(gate, O_CLOEXEC) < 0)
		return error_errno(err, "make the gate");
	c->gate_fd = gate[0];
	s->gate_fd = gate[1];
	return 0;
}

/* Which namespace was refused: the flags are tried again one by one, in children that end at once. */
static enum mechanism refused_namespace(const struct confinement *c)
{
	static const struct {
		enum mechanism mechanism;
		unsigned long flag;
	} each[] = { { MECH_USERNS, CLONE_NEWUSER }, { MECH_PIDNS, CLONE_NEWPID }, { MECH_MOUNTNS, CLONE_NEWNS },
		     { MECH_NETNS, CLONE_NEWNET },   { MECH_IPCNS, CLONE_NEWIPC }, { MECH_UTSNS, CLONE_NEWUTS } };
	unsigned long base = uses(c, MECH_USERNS) ? CLONE_NEWUSER : 0;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		pid_t pid;

		if (!uses(c, each[i].mechanism))
			continue;
		pid = (pid_t)syscall(SYS_clone, base | each[i].flag | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(0);
		if (pid < 0)
			return each[i].mechanism;
		(void)waitpid(pid, NULL, 0);
	}
	return MECH_COUNT;
}

static int clone_init(struct confinement *c, struct started *s, struct error *err)
{
	struct clone_args args = { .flags = namespaces_clone_flags(c) | (uint64_t)CLONE_PIDFD,
				   .exit_signal = SIGCHLD,
				   .pidfd = (uint64_t)(uintptr_t)&s->init_pidfd };
	sigset_t all, mask;
	long pid;

	if (c->cgroup.v2.fd >= 0) {
		args.flags |= (uint64_t)CLONE_INTO_CGROUP;
		args.cgroup = (__u64)(unsigned int)c->cgroup.v2.fd;
	}
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &mask) < 0)
		return error_errno(err, "block signals");
	pid = syscall(SYS_clone3, &args, sizeof(args));
	/* Some containers answer clone3 as unknown, because its flags cannot be filtered.  clone(2) has all that is needed
	 * but the group, which a second plan does without. */
	if (pid < 0 && errno == ENOSYS && !(args.flags & CLONE_INTO_CGROUP))
		pid = syscall(SYS_clone, (unsigned long)(args.flags | SIGCHLD), NULL, &s->init_pidfd, NULL, 0);
	if (pid == 0) {
		/* our copies of the launcher's ends: with them open init would wait for a dead launcher for ever */
		fd_close(&s->control_fd);
		fd_close(&s->gate_fd);
		init_main(c, c->caller_mask_set ? &c->caller_mask : &mask);
	}
	if (sigprocmask(SIG_SETMASK, &mask, NULL) < 0 && pid > 0)
		return error_errno(err, "restore the signal mask");
	if (pid < 0) {
		int code = errno;

		s->init_pidfd = -1;
		if (code == ENOSYS && c->cgroup.v2.fd >= 0)
			s->failed = uses(c, MECH_CGROUP_KILL) ? MECH_CGROUP_KILL : MECH_CGROUP;
		else
			s->failed = namespaces_clone_flags(c) ? refused_namespace(c) : MECH_COUNT;
		return error_set(err, code, "clone3%s%s: %s%s", s->failed < MECH_COUNT ? " with " : "",
				 s->failed < MECH_COUNT ? mechanism_name(s->failed) : "", strerrordesc_np(code),
				 s->failed < MECH_COUNT ? "" : " (a seccomp profile that forbids clone3 itself?)");
	}
	s->init_pid = (pid_t)pid;
	return 0;
}

static int write_maps(struct confinement *c, struct started *s, struct error *err)
{
	struct message go = { .type = MSG_MAPPED, .mechanism = -1 };
	int r;

	if (!uses(c, MECH_USERNS))
		return 0;
	r = namespaces_write_maps(c, s->init_pid, err);
	if (r < 0) {
		s->failed = MECH_USERNS;
		return r;
	}
	return message_send(s->control_fd, &go, err);
}

static int take_ready(struct started *s, const struct message *m, pid_t from, int fd, struct error *err)
{
	switch ((enum message_type)m->type) {
	case MSG_SCRATCH:
		if (s->scratch_fd >= 0 || fd < 0)
			break;
		s->scratch_fd = fd;
		return 0;
	case MSG_TERMINAL:
		if (s->terminal_fd >= 0 || fd < 0)
			break;
		s->terminal_fd = fd;
		return 0;
	case MSG_READY:
		s->workload_pid = from;
		s->shown = m->shown;
		return 1;
	case MSG_FAILED:
		s->failed = m->mechanism >= 0 && m->mechanism < MECH_COUNT ? (enum mechanism)m->mechanism : MECH_COUNT;
		if (err)
			*err = m->error;
		return m->error.code > 0 ? -m->error.code : -EIO;
	case MSG_MAPPED:
	case MSG_SIGNAL:
	case MSG_TERMINATE:
	case MSG_EXEC_FAILED:
	case MSG_STOPPED:
	case MSG_EXITED:
		break;
	}
	if (fd >= 0)
		(void)close(fd);
	return error_set(err, EPROTO, "message %u out of turn during set-up", m->type);
}

static int wait_for_ready(struct started *s, struct error *err)
{
	for (;;) {
		struct pollfd p = { .fd = s->control_fd, .events = POLLIN };
		struct message m;
		pid_t from;
		int fd, r = poll(&p, 1, SETUP_DEADLINE_MS);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return error_errno(err, "wait for the workload");
		if (r == 0)
			return error_set(err, ETIMEDOUT, "the set-up did not end within %d s",
					 SETUP_DEADLINE_MS / 1000);
		r = message_receive(s->control_fd, &m, &from, &fd, err);
		if (r == 0)
			return error_set(err, EPIPE, "init ended during the set-up");
		if (r < 0)
			return r;
		r = take_ready(s, &m, from, fd, err);
		if (r != 0)
			return r < 0 ? r : 0;
	}
}

int confinement_start(struct confinement *c, struct started *s, struct error *err)
{
	int r = open_channels(c, s, err);

	if (r == 0)
		r = clone_init(c, s, err);
	if (r < 0)
		return r;
	/* our copies of the others' ends, so that their death is our end of file */
	fd_close(&c->init_fd);
	fd_close(&c->gate_fd);
	r = write_maps(c, s, err);
	return r < 0 ? r : wait_for_ready(s, err);
}

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
	[MECH_USERNS] = { MECH_USERNS, observe_userns },
	[MECH_PIDNS] = { MECH_PIDNS, observe_pidns },
	[MECH_MOUNTNS] = { MECH_MOUNTNS, mounts_observe },
	[MECH_NETNS] = { MECH_NETNS, observe_netns },
	[MECH_IPCNS] = { MECH_IPCNS, observe_ipcns },
	[MECH_UTSNS] = { MECH_UTSNS, observe_utsns },
	[MECH_CGROUPNS] = { MECH_CGROUPNS, observe_cgroupns },
	[MECH_LANDLOCK] = { MECH_LANDLOCK, landlock_observe },
	[MECH_LANDLOCK_SCOPE] = { MECH_LANDLOCK_SCOPE, landlock_scope_observe },
	[MECH_SECCOMP] = { MECH_SECCOMP, seccomp_observe },
	[MECH_CAPS] = { MECH_CAPS, caps_observe },
	[MECH_NNP] = { MECH_NNP, nnp_observe },
	[MECH_OWN_UID] = { MECH_OWN_UID, creds_observe },
	[MECH_CGROUP] = { MECH_CGROUP, cgroup_observe },
	[MECH_CGROUP_KILL] = { MECH_CGROUP_KILL, cgroup_kill_observe },
	[MECH_RLIMITS] = { MECH_RLIMITS, rlimits_observe },
	[MECH_SUBREAPER] = { MECH_SUBREAPER, subreaper_observe },
	[MECH_SESSION] = { MECH_SESSION, session_observe },
	[MECH_ENVIRONMENT] = { MECH_ENVIRONMENT, environment_observe },
	[MECH_DESCRIPTORS] = { MECH_DESCRIPTORS, descriptors_observe },
	[MECH_WORKSPACE] = { MECH_WORKSPACE, workspace_observe },
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

int confinement_observe(struct confinement *c, const struct started *s, struct error *err)
{
	struct observation o = { .c = c, .pid = s->workload_pid, .proc_fd = -1, .shown = s->shown };
	char path[64];
	autofd dir = -1;

	if (s->workload_pid <= 0)
		return error_set(err, ESRCH, "the kernel did not say which process is the workload");
	(void)snprintf(path, sizeof(path), "/proc/%d", s->workload_pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_errno(err, "open %s", path);
	o.proc_fd = dir;
	if (fd_read_file_at(dir, "status", o.status, sizeof(o.status), err) < 0)
		return error_wrap(err, "look at the workload");
	for (int m = 0; m < MECH_COUNT; m++) {
		if (uses(c, (enum mechanism)m))
			control_table[m].observe(&o, &c->evidence->mechanisms[m]);
	}
	return (int)evidence_judge(c->evidence, c->boundary);
}

int confinement_release(struct started *s, struct error *err)
{
	int r = fd_write_all(s->gate_fd, "g", 1, err);

	fd_close(&s->gate_fd);
	return r < 0 ? error_wrap(err, "open the gate") : 0;
}

void confinement_abort(struct confinement *c, struct started *s)
{
	tree_kill(c, s);
	fd_close(&s->gate_fd);
	fd_close(&s->control_fd);
	fd_close(&s->terminal_fd);
	fd_close(&s->scratch_fd);
	if (s->init_pid > 0)
		(void)waitpid(s->init_pid, NULL, 0);
	s->init_pid = 0;
	fd_close(&s->init_pidfd);
}

void confinement_done(struct confinement *c)
{
	grants_done(c);
	environment_wipe(c);
	cgroup_done(&c->cgroup);
	fd_close(&c->uid_lock_fd);
	fd_close(&c->init_fd);
	fd_close(&c->gate_fd);
}
