#include "launch/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/tree.h"
#include "util/fd.h"

/* How long the dead launcher's workload may take to die: a kill is on its way, and a process in the kernel ends its call
 * first. */
#define CLEAN_WAIT_MS 10000
#define SWEEP_MOST 16
#define SWEEP_AFTER_MS 200

static void keep_only_ours(struct confinement *c, int pipe_fd)
{
	int keep[3 + CG_CONTROLLER_COUNT], n = 0;

	keep[n++] = pipe_fd;
	keep[n++] = c->workspace.base_fd;
	keep[n++] = c->cgroup.v2.parent_fd;
	for (int i = 0; i < CG_CONTROLLER_COUNT; i++)
		keep[n++] = c->cgroup.v1[i].parent_fd;
	(void)fd_close_all_but(0, keep, (size_t)n, NULL);
}

static void sweep(const struct confinement *c)
{
	if (c->cgroup.name[0])
		cgroup_sweep();
	if (c->workspace.base_fd >= 0)
		(void)workspace_sweep(c->workdir, SWEEP_MOST, NULL);
}

static _Noreturn void janitor_main(struct confinement *c, int pipe_fd)
{
	sigset_t all;
	char word = 0;
	ssize_t n;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid(); /* a signal to the launcher's group is not for us */
	(void)prctl(PR_SET_NAME, "bulkhead-clean");
	keep_only_ours(c, pipe_fd);
	/* Sweeping is for the idle time of a longer run: a short one would wait for the processor that it takes. */
	if (poll(&(struct pollfd){ .fd = pipe_fd, .events = POLLIN }, 1, SWEEP_AFTER_MS) == 0)
		sweep(c);
	do
		n = read(pipe_fd, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(0);
	/* where init kills from inside, its own death must not come first */
	if (!uses(c, MECH_PIDNS))
		(void)poll(NULL, 0, TREE_LATE_MS);
	cgroup_reopen(&c->cgroup);
	if (uses(c, MECH_CGROUP_KILL) && c->cgroup.kill)
		(void)cgroup_kill(&c->cgroup, NULL);
	(void)cgroup_remove(&c->cgroup, CLEAN_WAIT_MS, NULL);
	(void)workspace_remove(&c->workspace, NULL, NULL);
	_exit(0);
}

int janitor_start(struct janitor *j, struct confinement *c, struct error *err)
{
	int ends[2];

	if (c->cgroup.name[0] == '\0' && c->workspace.base_fd < 0)
		return 0; /* the kernel takes back everything there is */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, "make the janitor's pipe");
	j->pid = fork();
	if (j->pid < 0) {
		j->pid = 0;
		(void)close(ends[0]);
		(void)close(ends[1]);
		return error_errno(err, "start the janitor");
	}
	if (j->pid == 0)
		janitor_main(c, ends[0]);
	(void)close(ends[0]);
	j->pipe_fd = ends[1];
	c->janitor_pid = j->pid;
	return 0;
}

void janitor_dismiss(struct janitor *j)
{
	if (j->pid <= 0)
		return;
	(void)!write(j->pipe_fd, "d", 1); /* if it is gone there is nobody to dismiss */
	fd_close(&j->pipe_fd);
}

void janitor_reap(struct janitor *j)
{
	if (j->pid <= 0)
		return;
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
	j->pid = 0;
}
