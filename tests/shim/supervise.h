/* For the shims: run a command under a filter that asks us (seccomp_unotify(2)). */
#ifndef BULKHEAD_TESTS_SUPERVISE_H
#define BULKHEAD_TESTS_SUPERVISE_H

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTENER 3 /* the lowest free descriptor, once all above 2 of ours are closed */

struct supervisor {
	long (*install)(const void *arg); /* in the child: the filter; returns its listener */
	/* *answer is zero but for its id; SECCOMP_USER_NOTIF_FLAG_CONTINUE lets the call be made */
	void (*answer)(void *arg, const struct seccomp_notif *call, struct seccomp_notif_resp *answer);
	void *arg;
};

static void die(const char *what)
{
	fprintf(stderr, "shim: %s: %s\n", what, strerror(errno));
	_exit(77);
}

/* Answer until nobody is left under the filter. */
static void answer_calls(const struct supervisor *s, int listener)
{
	for (;;) {
		struct seccomp_notif call;
		struct seccomp_notif_resp answer = { 0 };
		struct pollfd p = { .fd = listener, .events = POLLIN };

		if (poll(&p, 1, -1) < 0 && errno == EINTR)
			continue;
		if (p.revents & POLLHUP)
			return;
		memset(&call, 0, sizeof(call)); /* the kernel refuses anything else */
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
			continue; /* the caller was killed meanwhile */
		answer.id = call.id;
		s->answer(s->arg, &call, &answer);
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

/* The command's exit status, or 128 and its signal. */
static int supervise(const struct supervisor *s, char **command)
{
	/* The child may make no call before we hold the listener: it could be the one that waits for our answer. */
	volatile int *go = mmap(NULL, sizeof(*go), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, pidfd, listener = -1;
	pid_t pid;

	if (go == MAP_FAILED)
		die("mmap");
	(void)syscall(SYS_close_range, 3U, ~0U, 0U);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		if (s->install(s->arg) != LISTENER) {
			*go = -1;
			_exit(77);
		}
		*go = 1;
		while (*go == 1)
			;
		execvp(command[0], command);
		_exit(127);
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	while (*go == 0)
		(void)sched_yield();
	if (*go == 1)
		listener = (int)syscall(SYS_pidfd_getfd, pidfd, LISTENER, 0);
	if (listener < 0) {
		kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		die("get the filter's listener");
	}
	*go = 2;
	(void)close(pidfd);
	answer_calls(s, listener);
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
