/* Init: the first process inside.  It forks the workload's process at once, builds the view while that one confines itself,
 * then gives up its own rights, and from then on reaps, forwards signals and waits.  It has no more rights than the workload
 * and a narrower filter; Landlock's domain around the workload keeps the workload from tracing or signalling it, and it
 * is not dumpable.
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
#include "util/title.h"

/* In the order that plan.c explains.  Before the fork: what the workload's process inherits, and nothing that takes long. */
static const struct step first_steps[] = {
	{ MECH_SESSION, session_apply },
	{ MECH_NNP, nnp_apply },
	{ MECH_CAPS, caps_bound },
	{ MECH_LANDLOCK_SCOPE, landlock_enter_outer },
};

/* While the workload's process makes its network namespace and confines itself. */
static const struct step view_steps[] = {
	{ MECH_USERNS, creds_become },		 { MECH_MOUNTNS, mounts_apply },      { MECH_SESSION, terminal_apply },
	{ MECH_UTSNS, namespaces_set_hostname }, { MECH_LANDLOCK, landlock_prepare },
};

/* Init's own confinement, once the workload has all that it needs. */
static const struct step last_steps[] = {
	{ MECH_MOUNTNS, mounts_detach_host },
	{ MECH_USERNS, namespaces_lower_counts },
	{ MECH_CAPS, caps_apply },
	{ MECH_SECCOMP, seccomp_apply_init },
};

_Noreturn void setup_failed(const struct confinement *c, enum mechanism step, const struct error *err)
{
	struct message m = { .type = MSG_FAILED, .mechanism = (int32_t)step, .error = *err };

	(void)message_send(c->init_fd, &m, NULL); /* if the launcher is gone nobody is left to tell */
	_exit(125);
}

/* A step runs when its mechanism is in the plan; some serve two. */
static bool step_wanted(const struct confinement *c, enum mechanism m)
{
	if (m == MECH_USERNS)
		return uses(c, MECH_USERNS) || uses(c, MECH_OWN_UID);
	if (m == MECH_LANDLOCK)
		return uses(c, MECH_LANDLOCK) || uses(c, MECH_LANDLOCK_SCOPE);
	if (m == MECH_CGROUP) /* also where a group only counts */
		return cgroup_v1_count(&c->cgroup) > 0;
	return uses(c, m);
}

/* Which mechanism a failed step counts against: where a step serves two, the one that is missing. */
static enum mechanism step_blames(const struct confinement *c, enum mechanism m, const struct error *err)
{
	/* A grant that cannot be placed is no reason to look for another mechanism: it must be heard of. */
	if (c->wish_failed)
		return MECH_COUNT;
	/* One ruleset serves both: which of the two is missing shows in the ABI. */
	if (m == MECH_LANDLOCK && uses(c, MECH_LANDLOCK_SCOPE) && err->code == EOPNOTSUPP &&
	    (!uses(c, MECH_LANDLOCK) || (c->landlock_abi > 0 && c->landlock_abi < 6)))
		return MECH_LANDLOCK_SCOPE;
	/* Without a user namespace it is the host uid that could not be taken. */
	if (m == MECH_USERNS && !uses(c, MECH_USERNS))
		return MECH_OWN_UID;
	return m;
}

void steps_walk(struct confinement *c, const struct step *steps, size_t count)
{
	struct error err = { 0 };

	for (size_t i = 0; i < count; i++) {
		if (step_wanted(c, steps[i].mechanism) && steps[i].apply(c, &err) < 0)
			setup_failed(c, step_blames(c, steps[i].mechanism, &err), &err);
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

static void fail(const struct confinement *c, enum mechanism step, const char *what)
{
	struct error err;

	(void)error_errno(&err, "%s", what);
	setup_failed(c, step, &err);
}

/* The workload's process, with a copy of all that init has by now. */
static pid_t fork_workload(struct confinement *c, const sigset_t *mask)
{
	struct error err;
	int pair[2];
	pid_t pid;

	if (fd_socketpair(pair, &err) < 0)
		setup_failed(c, MECH_COUNT, &err);
	pid = fork();
	if (pid < 0)
		fail(c, MECH_COUNT, "start the workload's process");
	c->peer_fd = pair[pid == 0];
	(void)close(pair[pid != 0]);
	if (pid == 0)
		workload_main(c, mask);
	return pid;
}

/* A peer that ends without a word has failed, and has told the launcher why. */
static void hear_workload(const struct confinement *c, enum message_type want)
{
	struct message m;
	pid_t from;
	int fd;

	if (message_receive(c->peer_fd, &m, &from, &fd, NULL) != 1 || m.type != (uint32_t)want || fd >= 0)
		_exit(125);
}

static void show_view(struct confinement *c)
{
	struct message view = { .type = MSG_VIEW, .mechanism = -1 };
	struct error err;
	int r;

	view.shown.landlock_abi = c->landlock_abi;
	view.shown.proc_masked = c->proc_masked;
	r = c->ruleset_fd < 0 ? message_send(c->peer_fd, &view, &err)
			      : message_send_fd(c->peer_fd, &view, c->ruleset_fd, &err);
	if (r == -EPIPE || r == -ECONNRESET)
		_exit(125); /* it has failed, and has told the launcher why */
	if (r < 0)
		setup_failed(c, MECH_COUNT, &err);
}

static void join_network(const struct confinement *c, pid_t workload)
{
	struct error err;

	if (!uses(c, MECH_NETNS))
		return;
	hear_workload(c, MSG_SEPARATED);
	if (namespaces_join_network(workload, &err) < 0)
		setup_failed(c, MECH_NETNS, &err);
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
	struct error err;

	if (fd_close_all_but(0, keep, 3, &err) < 0)
		setup_failed(c, MECH_DESCRIPTORS, &err);
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
	struct message confined = { .type = MSG_CONFINED, .mechanism = -1 };
	struct child w = { 0 };
	struct pollfd fds[2];
	sigset_t all;
	int chld;

	/* Nothing may interrupt init but SIGKILL; what must be forwarded comes as a message. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	if (uses(c, MECH_USERNS))
		wait_for_maps(c);
	if (uses(c, MECH_SUBREAPER) && !uses(c, MECH_PIDNS) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		fail(c, MECH_SUBREAPER, "become a subreaper");
	steps_walk(c, first_steps, sizeof(first_steps) / sizeof(first_steps[0]));
	/* A controlling terminal is inherited by fork alone (tty_ioctl(4), TIOCSCTTY): where one is made, it comes first. */
	if (!c->stdio.terminal)
		w.pid = fork_workload(c, mask);
	steps_walk(c, view_steps, sizeof(view_steps) / sizeof(view_steps[0]));
	if (c->stdio.terminal)
		w.pid = fork_workload(c, mask);
	die_with_launcher(c);
	show_view(c);
	join_network(c, w.pid);
	title_replace("bulkhead-init"); /* the launcher's arguments name paths of the host */
	/* Without the first the workload's end would go unseen, and without the second a workload of our uid could trace us. */
	chld = watch_signals();
	if (chld < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		fail(c, MECH_COUNT, "prepare init to wait for the workload");
	steps_walk(c, last_steps, sizeof(last_steps) / sizeof(last_steps[0]));
	let_go_of_descriptors(c, chld);
	if (message_send(c->init_fd, &confined, NULL) < 0)
		_exit(125);

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
