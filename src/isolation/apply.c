/* Walking the plan from the launcher's side.  The steps, in order, are those of plan.c; each one here is a call. */
#include "isolation/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/capability.h"
#include "isolation/control.h"
#include "isolation/tree.h"
#include "util/fd.h"

/* What is passed between processes counts, for as long as it is on its way, against all of one user's, and the sender's soft
 * limit decides (unix(7), ETOOMANYREFS).  Somebody else of our user, a workload among them, must not stop us by it. */
static void raise_descriptor_limit(struct confinement *c)
{
	static struct rlimit caller; /* once: a second plan starts from the raised one */
	static bool known;
	struct rlimit raised;

	if (!known && getrlimit(RLIMIT_NOFILE, &caller) < 0)
		return;
	known = true;
	c->caller_nofile = caller.rlim_cur;
	raised = (struct rlimit){ caller.rlim_max, caller.rlim_max };
	(void)setrlimit(RLIMIT_NOFILE, &raised);
}

void confinement_init(struct confinement *c, const struct boundary *b, struct evidence *e, const char *workdir)
{
	struct capability_sets caps;

	memset(c, 0, offsetof(struct confinement, grants));
	c->boundary = b;
	c->evidence = e;
	c->workdir = workdir;
	c->host_uid = geteuid();
	c->host_gid = getegid();
	c->uid_lock_fd = -1;
	c->init_fd = c->gate_fd = c->peer_fd = -1;
	c->ruleset_fd = -1;
	c->workspace = (struct workspace)WORKSPACE_INIT;
	for (int i = 0; i < 3; i++)
		c->stdio.fd[i] = STDIO_CALLER;
	cgroup_init(&c->cgroup);
	c->caller_nofile = RLIM_INFINITY;
	raise_descriptor_limit(c);
	c->privileged = capability_get(&caps) == 0 && capability_effective(&caps, CAP_SYS_ADMIN) &&
			capability_effective(&caps, CAP_SETUID) && capability_effective(&caps, CAP_SETGID);
}

/* Inside a user namespace the workload is always user 1000; without one it sees its host ids. */
static void choose_inner_ids(struct confinement *c)
{
	c->inner_uid = uses(c, MECH_USERNS) ? INNER_UID : c->host_uid;
	c->inner_gid = uses(c, MECH_USERNS) ? INNER_GID : c->host_gid;
}

static const struct limits *limits_of_group(const struct confinement *c)
{
	/* the kill file alone, for a plan without limits by group */
	static const struct limits none = { .memory_bytes = LIMIT_NONE, .cpu_milli = LIMIT_NONE, .pids = LIMIT_NONE };

	return uses(c, MECH_CGROUP) ? &c->boundary->limits : &none;
}

static void no_kill_file(struct confinement *c)
{
	if (!uses(c, MECH_CGROUP_KILL))
		return;
	finding_set(&c->evidence->mechanisms[MECH_CGROUP_KILL], FINDING_UNSUPPORTED, 0,
		    "no cgroup v2 group with a kill file could be made");
	c->use &= ~MECH_BIT(MECH_CGROUP_KILL);
}

/* Nothing was asked for and nothing can be had. */
static void no_group_at_all(struct confinement *c)
{
	if (c->cgroup.v2.parent_fd >= 0 || cgroup_v1_count(&c->cgroup) > 0)
		return;
	c->cgroup.limits = false;
	c->cgroup.name[0] = '\0';
	if (!uses(c, MECH_CGROUP))
		return;
	finding_set(&c->evidence->mechanisms[MECH_CGROUP], FINDING_UNSUPPORTED, EOPNOTSUPP,
		    "no group can be made here");
	c->use &= ~MECH_BIT(MECH_CGROUP);
}

/* Limits that no group can hold leave the group's kill file usable; whether rlimits will do is for the judge to say. */
static int plan_cgroup(struct confinement *c, struct error *err)
{
	int r = cgroup_plan(&c->cgroup, limits_of_group(c), err);

	if (!uses(c, MECH_CGROUP))
		c->cgroup.limits = false;
	if (r == -EOPNOTSUPP) {
		finding_set(&c->evidence->mechanisms[MECH_CGROUP], FINDING_UNSUPPORTED, EOPNOTSUPP, "%.190s",
			    err->text);
		c->use &= ~MECH_BIT(MECH_CGROUP);
		r = 0;
	}
	if (r == 0 && c->cgroup.v2.parent_fd < 0)
		no_kill_file(c);
	if (r == 0)
		no_group_at_all(c);
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
	return uses(c, MECH_CGROUP) || uses(c, MECH_CGROUP_KILL) ? plan_cgroup(c, err) : 0;
}

/* What is there afterwards even if we are killed.  The v1 groups come later: make_v1_groups(). */
static int make_what_stays(struct confinement *c, struct started *s, struct error *err)
{
	int r = workspace_make_planned(c, err);

	if (r < 0) {
		s->failed = MECH_WORKSPACE;
		return r;
	}
	r = grants_link(c, err);
	if (r < 0)
		return r; /* the caller's own mistake */
	r = cgroup_make_v2(&c->cgroup, limits_of_group(c), err);
	if (r < 0)
		s->failed = MECH_CGROUP;
	else if (!c->cgroup.kill)
		no_kill_file(c);
	if (r == 0)
		no_group_at_all(c);
	return r;
}

/* While init builds the view and the workload's process makes its network; that process joins each as it comes. */
static int make_v1_groups(struct confinement *c, struct started *s, struct error *err)
{
	struct message m = { .type = MSG_GROUP, .mechanism = -1 };
	int r = cgroup_make_v1(&c->cgroup, limits_of_group(c), err);

	if (r < 0) {
		s->failed = MECH_CGROUP;
		return r;
	}
	for (int k = 0; r == 0 && k < CG_CONTROLLER_COUNT; k++) {
		if (c->cgroup.v1[k].tasks_fd >= 0)
			r = message_send_fd(s->gate_fd, &m, c->cgroup.v1[k].tasks_fd, err);
	}
	/* Nobody is there to read: what ended them is the first word that we shall hear. */
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
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
	r = fd_socketpair(gate, err);
	if (r < 0)
		return error_wrap(err, "make the gate");
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
	} each[] = { { MECH_USERNS, CLONE_NEWUSER },
		     { MECH_PIDNS, CLONE_NEWPID },
		     { MECH_MOUNTNS, CLONE_NEWNS },
		     { MECH_IPCNS, CLONE_NEWIPC },
		     { MECH_UTSNS, CLONE_NEWUTS } };
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

/* The kernel counts what is used inside a user namespace (inotify instances, further namespaces, ...) against whoever made it
 * (user_namespaces(7), max_*).  That is the workload's own uid, not root: effective for the one call, with the capabilities
 * kept (capabilities(7), SECBIT_NO_SETUID_FIXUP). */
struct identity {
	uid_t euid;
	int bits, death_signal, dumpable;
	bool changed;
};

/* Where it cannot be had (no CAP_SETPCAP, locked bits, a uid that is not mapped) we make it as ourselves: no guarantee rests
 * on who is charged. */
static void become_owner(const struct confinement *c, struct identity *out)
{
	*out = (struct identity){ .euid = geteuid() };
	if (!uses(c, MECH_OWN_UID) || !uses(c, MECH_USERNS))
		return;
	out->bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	out->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	if (out->bits < 0 || out->dumpable < 0 || prctl(PR_GET_PDEATHSIG, &out->death_signal, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECUREBITS, (unsigned long)out->bits | SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
		return;
	out->changed = true;
	if (syscall(SYS_setresuid, -1, c->host_uid, -1) == 0)
		(void)syscall(SYS_setfsuid, out->euid); /* the group is still ours to put somebody into */
}

/* In the launcher; a change of ids has cleared the last two (prctl(2)). */
static int become_ourselves(const struct identity *i, struct error *err)
{
	if (!i->changed)
		return 0;
	if (syscall(SYS_setresuid, -1, i->euid, -1) < 0 ||
	    prctl(PR_SET_SECUREBITS, (unsigned long)i->bits, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, (unsigned long)i->death_signal, 0, 0, 0) < 0 ||
	    (i->dumpable == 1 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0))
		return error_errno(err, "become ourselves again");
	return 0;
}

static int clone_init(struct confinement *c, struct started *s, struct error *err)
{
	struct clone_args args = { .flags = namespaces_clone_flags(c) | (uint64_t)CLONE_PIDFD,
				   .exit_signal = SIGCHLD,
				   .pidfd = (uint64_t)(uintptr_t)&s->init_pidfd };
	struct identity before;
	sigset_t all, mask;
	long pid;
	int r, code;

	if (c->cgroup.v2.fd >= 0) {
		args.flags |= (uint64_t)CLONE_INTO_CGROUP;
		args.cgroup = (__u64)(unsigned int)c->cgroup.v2.fd;
	}
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &mask) < 0)
		return error_errno(err, "block signals");
	become_owner(c, &before);
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
	code = errno;
	if (pid > 0)
		s->init_pid = (pid_t)pid;
	r = become_ourselves(&before, err);
	if (sigprocmask(SIG_SETMASK, &mask, NULL) < 0 && pid > 0)
		return error_errno(err, "restore the signal mask");
	if (r < 0)
		return r;
	if (pid < 0) {
		s->init_pidfd = -1;
		if (code == ENOSYS && c->cgroup.v2.fd >= 0)
			s->failed = uses(c, MECH_CGROUP_KILL) ? MECH_CGROUP_KILL : MECH_CGROUP;
		else
			s->failed = namespaces_clone_flags(c) ? refused_namespace(c) : MECH_COUNT;
		return error_set(err, code, "clone3%s%s: %s%s", s->failed < MECH_COUNT ? " with " : "",
				 s->failed < MECH_COUNT ? mechanism_name(s->failed) : "", strerrordesc_np(code),
				 s->failed < MECH_COUNT ? "" : " (a seccomp profile that forbids clone3 itself?)");
	}
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

static int take_word(struct started *s, const struct message *m, pid_t from, int fd, struct error *err)
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
	case MSG_SEPARATED:
		if (s->workload_pid || from <= 0 || from == s->init_pid)
			break;
		s->workload_pid = from;
		return 0;
	case MSG_READY:
		if (s->ready || from != s->workload_pid)
			break;
		s->ready = true;
		s->shown = m->shown;
		return 0;
	case MSG_CONFINED:
		if (s->confined || from != s->init_pid)
			break;
		s->confined = true;
		return 0;
	case MSG_FAILED:
		s->failed = m->mechanism >= 0 && m->mechanism < MECH_COUNT ? (enum mechanism)m->mechanism : MECH_COUNT;
		if (err)
			*err = m->error;
		return m->error.code > 0 ? -m->error.code : -EIO;
	case MSG_MAPPED:
	case MSG_VIEW:
	case MSG_GROUP:
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

static bool heard(const struct started *s, enum message_type word)
{
	return word == MSG_SEPARATED ? s->workload_pid > 0 : word == MSG_READY ? s->ready : s->confined;
}

/* Until the workload's process or init has said so: MSG_SEPARATED, MSG_READY or MSG_CONFINED. */
static int wait_for_word(struct started *s, enum message_type word, struct error *err)
{
	while (!heard(s, word)) {
		/* the socket's end does not tell of init's where the workload's process outlives it */
		struct pollfd p[] = { { .fd = s->control_fd, .events = POLLIN },
				      { .fd = s->init_pidfd, .events = POLLIN } };
		struct message m;
		pid_t from;
		int fd, r = poll(p, 2, SETUP_DEADLINE_MS);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return error_errno(err, "wait for the workload");
		if (r == 0)
			return error_set(err, ETIMEDOUT, "the set-up did not end within %d s",
					 SETUP_DEADLINE_MS / 1000);
		r = p[0].revents ? message_receive(s->control_fd, &m, &from, &fd, err) : 0;
		if (r == 0)
			return error_set(err, EPIPE, "init ended during the set-up");
		if (r < 0)
			return r;
		r = take_word(s, &m, from, fd, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What was seen of processes that a failed step was ending at the time is worth nothing. */
static void forget_findings(struct confinement *c)
{
	for (int m = 0; m < MECH_COUNT; m++) {
		if (uses(c, (enum mechanism)m))
			finding_set(&c->evidence->mechanisms[m], FINDING_AVAILABLE, 0, "%s", "");
	}
}

/* What could not be seen may have ended by a step that failed: its word about that is the better reason. */
static int observe_and_wait(struct confinement *c, struct started *s, bool early, enum message_type word,
			    struct error *err)
{
	struct error unseen;
	int seen = observation_take(c, s, early, &unseen), r = wait_for_word(s, word, err);

	if (r == 0 && seen < 0) /* its word may be further down */
		r = wait_for_word(s, MSG_CONFINED, err);
	if (r == 0 && seen < 0 && err)
		*err = unseen;
	if (r < 0)
		forget_findings(c);
	return r < 0 ? r : seen;
}

static bool sweeps_adopted(const struct confinement *c)
{
	return uses(c, MECH_SUBREAPER) && !uses(c, MECH_PIDNS);
}

static int open_status(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return open(path, O_RDONLY | O_CLOEXEC); /* -1: then init is not seen to be confined */
}

int confinement_start(struct confinement *c, struct started *s, struct error *err)
{
	int r = make_what_stays(c, s, err);

	/* whoever outlives init becomes our child: tree_sweep_adopted() */
	if (r == 0 && sweeps_adopted(c) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		r = error_errno(err, "become a subreaper");
	if (r == 0)
		r = open_channels(c, s, err);
	if (r == 0)
		r = clone_init(c, s, err);
	if (r < 0)
		return r;
	/* while it may be looked at: where /proc hides what cannot be traced, it is gone from view once it is undumpable */
	s->init_status_fd = open_status(s->init_pid);
	/* our copies of the others' ends, so that their death is our end of file */
	fd_close(&c->init_fd);
	fd_close(&c->gate_fd);
	r = write_maps(c, s, err);
	if (r == 0)
		r = make_v1_groups(c, s, err);
	if (r < 0)
		return r;
	namespaces_note_ours(c); /* init builds the view meanwhile */
	r = wait_for_word(s, MSG_SEPARATED, err);
	return r < 0 ? r : observe_and_wait(c, s, true, MSG_READY, err); /* and still does */
}

/* What was applied without an error and is not seen to be in force puts the whole plan in doubt: other mechanisms may rest
 * on it, and the host does not do what it says. */
static int refuse_failed(const struct confinement *c, struct error *err)
{
	for (int m = 0; m < MECH_COUNT; m++) {
		const struct finding *f = &c->evidence->mechanisms[m];

		if (uses(c, (enum mechanism)m) && f->state == FINDING_FAILED)
			return error_set(err, EPERM, "%s was applied and is not seen to be in force: %.190s",
					 mechanism_name((enum mechanism)m), f->how);
	}
	return 0;
}

int confinement_observe(struct confinement *c, struct started *s, struct error *err)
{
	int r = observe_and_wait(c, s, false, MSG_CONFINED, err);

	if (r < 0)
		return r;
	observation_take_last(c, s);
	r = refuse_failed(c, err);
	return r < 0 ? r : (int)evidence_judge(c->evidence, c->boundary);
}

int confinement_release(struct started *s, struct error *err)
{
	int r = fd_write_all(s->gate_fd, "g", 1, err);

	fd_close(&s->proc_fd);
	fd_close(&s->gate_fd);
	return r < 0 ? error_wrap(err, "open the gate") : 0;
}

static bool init_gone_within(const struct started *s, int ms)
{
	struct pollfd p = { .fd = s->init_pidfd, .events = POLLIN };

	return s->init_pidfd < 0 || poll(&p, 1, ms) > 0;
}

void confinement_abort(struct confinement *c, struct started *s)
{
	tree_kill(c, s);
	fd_close(&s->gate_fd);
	if (!uses(c, MECH_PIDNS)) { /* when init has done what it can, or is too slow */
		(void)init_gone_within(s, TREE_LATE_MS);
		tree_kill_group(c);
	}
	if (s->init_pid > 0 && !init_gone_within(s, TREE_DEATH_MS)) /* frozen, or in a call that does not end */
		(void)syscall(SYS_pidfd_send_signal, s->init_pidfd, SIGKILL, NULL, 0);
	if (s->init_pid > 0 && init_gone_within(s, 0))
		(void)waitpid(s->init_pid, NULL, 0);
	if (sweeps_adopted(c))
		tree_sweep_adopted(c);
	fd_close(&s->terminal_fd);
	fd_close(&s->scratch_fd);
	fd_close(&s->proc_fd);
	fd_close(&s->init_status_fd);
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
