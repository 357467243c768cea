/* Init: the first process inside.  It walks init's part of the plan (plan.c), forks the workload, and from then on reaps,
 * forwards signals and waits.  It is confined by the same filter and has as few rights as the workload; Landlock's domain
 * around the workload keeps the workload from tracing or signalling it, and it is not dumpable.
 *
 * When the workload's main process has ended, everything that is left is killed and reaped before the launcher hears of
 * it.  When the launcher is gone (end of file on the control socket), everything is killed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/apply.h"
#include "isolation/control.h"
#include "isolation/tree.h"
#include "util/fd.h"

static int join_cgroup(struct confinement *c, struct error *err)
{
	return cgroup_join_self(&c->cgroup, err);
}

/* In the order that plan.c explains. */
static const struct {
	enum mechanism mechanism;
	int (*apply)(struct confinement *c, struct error *err);
} steps[] = {
	{ MECH_CGROUP, join_cgroup },
	{ MECH_CGROUPNS, namespaces_enter_cgroup },
	{ MECH_SESSION, session_apply },
	{ MECH_USERNS, creds_become },
	{ MECH_MOUNTNS, mounts_apply },
	{ MECH_SESSION, terminal_apply },
	{ MECH_UTSNS, namespaces_set_hostname },
	{ MECH_RLIMITS, rlimits_apply },
	{ MECH_NNP, nnp_apply },
	{ MECH_LANDLOCK, landlock_prepare },
	{ MECH_LANDLOCK_SCOPE, landlock_enter_outer },
	{ MECH_CAPS, caps_apply },
	{ MECH_SECCOMP, seccomp_apply },
};

_Noreturn void setup_failed(const struct confinement *c, enum mechanism step, const struct error *err)
{
	struct message m = { .type = MSG_FAILED, .mechanism = (int32_t)step, .error = *err };

	(void)message_send(c->init_fd, &m, NULL); /* if the launcher is gone nobody is left to tell */
	_exit(125);
}

/* A step runs when its mechanism is in the plan; three serve two mechanisms. */
static bool step_wanted(const struct confinement *c, enum mechanism m)
{
	if (m == MECH_USERNS)
		return uses(c, MECH_USERNS) || uses(c, MECH_OWN_UID);
	if (m == MECH_LANDLOCK)
		return uses(c, MECH_LANDLOCK) || uses(c, MECH_LANDLOCK_SCOPE);
	return uses(c, m);
}

static void walk_steps(struct confinement *c)
{
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!step_wanted(c, steps[i].mechanism) || steps[i].apply(c, &err) == 0)
			continue;
		/* One ruleset serves both: which of the two is missing shows in the ABI. */
		if (steps[i].mechanism == MECH_LANDLOCK && uses(c, MECH_LANDLOCK_SCOPE) && err.code == EOPNOTSUPP &&
		    (!uses(c, MECH_LANDLOCK) || (c->landlock_abi > 0 && c->landlock_abi < 6)))
			setup_failed(c, MECH_LANDLOCK_SCOPE, &err);
		/* Without a user namespace it is the host uid that could not be taken. */
		if (steps[i].mechanism == MECH_USERNS && !uses(c, MECH_USERNS))
			setup_failed(c, MECH_OWN_UID, &err);
		/* A grant that cannot be placed is no reason to look for another mechanism: it must be heard of. */
		setup_failed(c, c->wish_failed ? MECH_COUNT : steps[i].mechanism, &err);
	}
}

static void wait_for_maps(struct confinement *c)
{
	struct message m;
	struct error err;
	pid_t from;
	int fd;

	if (message_receive(c->init_fd, &m, &from, &fd, &err) != 1 || m.type != MSG_MAPPED)
		_exit(125); /* the launcher gave up, and knows why */
}

/* The death signal is cleared by a change of ids (prctl(2)), so it comes after them.  Where there is no pid namespace
 * our death would not be the workload's: there only the end of the control socket counts. */
static void die_with_launcher(const struct confinement *c)
{
	if (uses(c, MECH_PIDNS))
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

static int watch_signals(void)
{
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	return signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Everything but the control socket and the claim on the uid, which must not end before the workload does: the caller's
 * pipes must end when the workload closes them, not when we do. */
static void let_go_of_descriptors(const struct confinement *c, int chld)
{
	int keep[] = { c->init_fd, c->uid_lock_fd, chld };

	(void)fd_close_all_but(0, keep, 3, NULL);
}

struct child {
	pid_t pid;
	bool ended;
	int status;
};

static void tell_stopped(const struct confinement *c, int status)
{
	struct message m = { .type = MSG_STOPPED, .number = WSTOPSIG(status), .mechanism = -1 };

	(void)message_send(c->init_fd, &m, NULL);
}

static void reap(const struct confinement *c, struct child *w)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);

		if (pid <= 0)
			return;
		if (pid != w->pid)
			continue;
		if (WIFSTOPPED(status)) {
			tell_stopped(c, status);
		} else {
			w->ended = true;
			w->status = status;
		}
	}
}

/* False when the launcher is gone. */
static bool obey(const struct confinement *c, const struct child *w)
{
	struct message m;
	pid_t from;
	int fd;

	if (message_receive(c->init_fd, &m, &from, &fd, NULL) != 1)
		return false;
	if (fd >= 0)
		(void)close(fd);
	if (m.type == MSG_SIGNAL && m.number > 0 && m.number < NSIG) {
		/* the group may not exist yet, or not any more */
		if (kill(-w->pid, m.number) < 0 && !w->ended)
			(void)kill(w->pid, m.number);
	} else if (m.type == MSG_TERMINATE) {
		tree_signal_inside(c, w->pid, SIGTERM);
		tree_signal_inside(c, w->pid, SIGCONT); /* a stopped process takes SIGTERM only once it continues */
	}
	return true;
}

static void tell_exited(const struct confinement *c, const struct child *w)
{
	struct message m = { .type = MSG_EXITED, .number = w->status, .mechanism = -1 };
	struct rusage u;

	if (getrusage(RUSAGE_CHILDREN, &u) == 0) {
		m.user_us = (uint64_t)u.ru_utime.tv_sec * 1000000 + (uint64_t)u.ru_utime.tv_usec;
		m.system_us = (uint64_t)u.ru_stime.tv_sec * 1000000 + (uint64_t)u.ru_stime.tv_usec;
		m.max_rss_kib = (uint64_t)u.ru_maxrss;
	}
	(void)message_send(c->init_fd, &m, NULL);
}

_Noreturn void init_main(struct confinement *c, const sigset_t *mask)
{
	struct child w = { 0 };
	struct pollfd fds[2];
	sigset_t all;
	int chld;

	/* Nothing may interrupt init but SIGKILL; what must be forwarded comes as a message. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	if (uses(c, MECH_USERNS))
		wait_for_maps(c);
	if (uses(c, MECH_SUBREAPER) && !uses(c, MECH_PIDNS) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		struct error err;

		(void)error_errno(&err, "become a subreaper");
		setup_failed(c, MECH_SUBREAPER, &err);
	}
	walk_steps(c);
	die_with_launcher(c);
	/* Before the fork, where a failure still closes the gate: without the first the workload's end would go unseen, and
	 * without the second a workload of our uid could trace us. */
	chld = watch_signals();
	if (chld < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) {
		struct error err;

		(void)error_errno(&err, "prepare init to wait for the workload");
		setup_failed(c, MECH_COUNT, &err);
	}
	w.pid = fork();
	if (w.pid < 0) {
		struct error err;

		(void)error_errno(&err, "start the workload's process");
		setup_failed(c, MECH_COUNT, &err);
	}
	if (w.pid == 0)
		workload_main(c, mask);
	let_go_of_descriptors(c, chld);

	fds[0] = (struct pollfd){ .fd = c->init_fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = chld, .events = POLLIN };
	reap(c, &w); /* what ended before the descriptor was there */
	while (!w.ended) {
		struct signalfd_siginfo info;

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			(void)!read(chld, &info, sizeof(info));
		reap(c, &w);
		if (!w.ended && fds[0].revents && !obey(c, &w))
			break;
	}
	tree_kill_inside(c);
	if (w.ended)
		tell_exited(c, &w);
	_exit(0);
}
