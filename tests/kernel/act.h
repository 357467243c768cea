/* One act in a process of its own, under one control or without it, and what it gave:
 *
 *	assert_int_equal(outcome(M(SECCOMP), filter, make_socket), EAFNOSUPPORT);
 *	assert_int_equal(outcome(0, filter, make_socket), 0);
 *
 * Namespaces, mounts, limits and filters are the child's alone and end with it. */
#ifndef BULKHEAD_TESTS_KERNEL_ACT_H
#define BULKHEAD_TESTS_KERNEL_ACT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/apply.h"
#include "isolation/control.h"
#include "util/fd.h"

#define M(x) MECH_BIT(MECH_##x)
#define ACT_SECONDS 60 /* an act that hangs is killed */

typedef int (*setup_fn)(struct confinement *c, struct error *err); /* as an apply function: 0 or a negative errno */
typedef int (*act_fn)(void);					   /* as a system call: negative with errno set */

static struct boundary wish;	    /* boundary_init()'s at the start of each test */
static uid_t inner_uid = INNER_UID; /* where there is a user namespace */
static uid_t somebody;		    /* the host's uid and gid for it; 0: the caller's */
static struct confinement confined; /* in the child: its own */
static int report_fd = -1;	    /* in the child; close-on-exec */
static pid_t tester;		    /* the test program itself */
static char scratch[64];	    /* a directory of the test's own, and in it: */
static char planted[80];	    /* a file that everybody may read */

struct act_report {
	int result;
	char text[ERROR_TEXT_MAX];
};

static inline _Noreturn void act_run(setup_fn setup, act_fn act)
{
	struct act_report report = { .result = 0 };
	struct error err = { .text = "" };
	char word;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (read(report_fd, &word, 1) != 1)
		_exit(EPIPE);
	report.result = setup ? setup(&confined, &err) : 0;
	if (report.result < 0)
		(void)snprintf(report.text, sizeof(report.text), "%s", err.text);
	else
		report.result = act() < 0 ? errno : 0;
	(void)!write(report_fd, &report, sizeof(report));
	_exit(0);
}

/* 0: the act succeeded, else its errno.  Where an act is an execve, it is the exit status of what was started.
 * Negative, and the cause on stderr: the control could not be applied.  No cmocka in here: an act may call it as well. */
static inline int outcome(mechanism_set use, setup_fn setup, act_fn act)
{
	struct act_report report = { .result = -EIO };
	struct error err = { .text = "" };
	int pair[2], status = 0, r;
	struct pollfd heard;
	ssize_t n;
	pid_t pid;

	confinement_init(&confined, &wish, NULL, NULL);
	confined.use = use;
	if (uses(&confined, MECH_USERNS) && somebody)
		confined.host_uid = confined.host_gid = somebody;
	confined.inner_uid = uses(&confined, MECH_USERNS) ? inner_uid : confined.host_uid;
	confined.inner_gid = uses(&confined, MECH_USERNS) ? inner_uid : confined.host_gid;
	if (fd_socketpair(pair, NULL) < 0)
		return -errno;
	heard = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	pid = (pid_t)syscall(SYS_clone, namespaces_clone_flags(&confined) | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		(void)close(pair[0]);
		report_fd = pair[1];
		act_run(setup, act);
	}
	r = pid < 0 ? error_errno(&err, "clone") : 0;
	(void)close(pair[1]);
	if (r == 0 && uses(&confined, MECH_USERNS))
		r = namespaces_write_maps(&confined, pid, &err);
	if (r == 0)
		(void)send(pair[0], "g", 1, MSG_NOSIGNAL);
	n = r == 0 && poll(&heard, 1, ACT_SECONDS * 1000) == 1 ? read(pair[0], &report, sizeof(report)) : 0;
	if (r == 0 && heard.revents == 0)
		(void)kill(pid, SIGKILL);
	(void)close(pair[0]);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	if (r == 0 && n == 0)
		r = WIFEXITED(status) ? WEXITSTATUS(status) : error_set(&err, EINTR, "wait status 0x%x", status);
	else if (r == 0)
		r = report.result;
	if (r < 0)
		(void)fprintf(stderr, "# the control could not be applied: %s%s\n", err.text, report.text);
	return r;
}

/* An act that is an outcome itself, in a process that was prepared for it. */
static inline int outcome_as_act(mechanism_set use, setup_fn setup, act_fn act)
{
	int r = outcome(use, setup, act);

	errno = r < 0 ? ENOTRECOVERABLE : r;
	return r == 0 ? 0 : -1;
}

static inline int result(int code)
{
	errno = code;
	return code == 0 ? 0 : -1;
}

/* ---- what this user and kernel can do, found without the project's own functions ---- */

static inline void need(const char *test, bool can, const char *why)
{
	if (can)
		return;
	print_message("# SKIP-REASON %s: %s\n", test, why);
	skip();
}

static inline bool privileged(void)
{
	static struct confinement c;

	confinement_init(&c, &wish, NULL, NULL);
	return c.privileged;
}

/* Without rights the other namespaces come through a user namespace; it is then there in the control arm, too. */
static inline mechanism_set base(void)
{
	return privileged() ? 0 : M(USERNS);
}

static inline int act_probe_namespaces(void)
{
	if (!privileged() && unshare(CLONE_NEWUSER) < 0)
		return -1;
	/* some hosts grant the namespace and no rights in it */
	if (unshare(CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWCGROUP) < 0)
		return -1;
	return sethostname("probe", 5);
}

static inline void need_namespaces(const char *test)
{
	int code = outcome(0, NULL, act_probe_namespaces);
	char why[160];

	(void)snprintf(why, sizeof(why), "uid %u gets no namespaces here: %s", geteuid(), strerror(code));
	need(test, code == 0, why);
}

static inline void need_landlock(const char *test, int abi)
{
	long has = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	char why[80];

	(void)snprintf(why, sizeof(why), "Landlock ABI %d is needed, and this kernel has %ld", abi, has < 0 ? 0 : has);
	need(test, has >= abi, why);
}

/* ---- acts and things to act on that more than one control has ---- */

static inline int open_planted(void)
{
	return open(planted, O_RDONLY | O_CLOEXEC);
}

static inline int signal_tester(void)
{
	return kill(tester, 0);
}

static inline int signal_own_child(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		(void)pause();
		_exit(0);
	}
	return pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? 0 : -1;
}

static struct sockaddr_in tcp_address;
static struct sockaddr_un abstract_address;
static socklen_t abstract_length;

static inline int tcp_listener(void)
{
	socklen_t size = sizeof(tcp_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memset(&tcp_address, 0, sizeof(tcp_address));
	tcp_address.sin_family = AF_INET;
	tcp_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (const struct sockaddr *)&tcp_address, sizeof(tcp_address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&tcp_address, &size), 0);
	return fd;
}

static inline int tcp_connect(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)&tcp_address, sizeof(tcp_address));
}

static inline int abstract_listener(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memset(&abstract_address, 0, sizeof(abstract_address));
	abstract_address.sun_family = AF_UNIX;
	abstract_length = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
	abstract_length += (socklen_t)snprintf(abstract_address.sun_path + 1, sizeof(abstract_address.sun_path) - 1,
					       "bulkhead-test-%d", tester);
	assert_int_equal(bind(fd, (const struct sockaddr *)&abstract_address, abstract_length), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static inline int abstract_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)&abstract_address, abstract_length);
}

/* This program again, as an act: its exit status is the outcome.  `what` is one of act_of_exec()'s. */
static inline int exec_self(const char *path, const char *what, const char *on)
{
	return execle(path, "test_controls", what, on, (char *)NULL, confined.envp ? confined.envp : environ);
}

static inline int act_of_exec(const char *what, const char *on)
{
	char byte;

	if (strcmp(what, "--be-root") == 0)
		return geteuid() == 0 ? 0 : EPERM;
	if (strcmp(what, "--chroot") == 0)
		return chroot("/") == 0 ? 0 : errno;
	if (strcmp(what, "--getenv") == 0)
		return getenv(on) ? 0 : ENOENT;
	if (strcmp(what, "--read") == 0)
		return read(atoi(on), &byte, 1) == 1 ? 0 : errno;
	return EINVAL;
}

static inline int exec_true(void)
{
	return execl("/usr/bin/true", "true", (char *)NULL);
}

/* A pseudo-terminal, made the controlling one of a new session, as a caller's shell has it. */
static inline int take_terminal(int *out_master, struct error *err)
{
	int zero = 0, slave;
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (setsid() < 0 || master < 0 || ioctl(master, TIOCSPTLCK, &zero) < 0)
		return error_errno(err, "make a terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		return error_errno(err, "take the terminal");
	*out_master = master;
	return slave;
}

/* A process that tells whether it lives: it answers when asked, then ends.  It ends with the test program, too. */
struct witness {
	int ask[2], answer[2];
};

static inline void witness_prepare(struct witness *w)
{
	assert_int_equal(pipe2(w->ask, O_CLOEXEC), 0);
	assert_int_equal(pipe2(w->answer, O_CLOEXEC), 0);
}

static inline _Noreturn void witness_be(struct witness *w)
{
	char word;

	(void)close(report_fd);
	(void)close(w->ask[1]);
	if (read(w->ask[0], &word, 1) == 1)
		(void)!write(w->answer[1], "y", 1);
	_exit(0);
}

/* Its parent ends at once, and it leaves the session: an orphan that no process group or parent leads to. */
static inline pid_t witness_orphan(struct witness *w)
{
	int told[2];
	pid_t pid = -1, parent;

	if (pipe(told) < 0)
		return -1;
	parent = fork();
	if (parent == 0) {
		if (fork() == 0) {
			pid = getpid();
			(void)setsid();
			(void)!write(told[1], &pid, sizeof(pid));
			(void)close(told[1]);
			witness_be(w);
		}
		_exit(0);
	}
	(void)close(told[1]);
	(void)waitpid(parent, NULL, 0);
	if (read(told[0], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		pid = -1;
	(void)close(told[0]);
	return pid;
}

/* Once, and when nobody else holds its descriptors any more. */
static inline bool witness_lives(struct witness *w)
{
	char word;
	bool lives;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)close(w->ask[0]);
	(void)close(w->answer[1]);
	(void)!write(w->ask[1], "?", 1);
	lives = read(w->answer[0], &word, 1) == 1;
	(void)close(w->ask[1]);
	(void)close(w->answer[0]);
	return lives;
}

/* ---- for cmocka ---- */

static inline int act_group_setup(void **state)
{
	int fd;

	(void)state;
	tester = getpid();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) /* what the acts leave is ours to reap */
		return -1;
	boundary_init(&wish);
	(void)snprintf(scratch, sizeof(scratch), "/tmp/bulkhead-controls-XXXXXX");
	if (!mkdtemp(scratch) || chmod(scratch, 0755) < 0)
		return -1;
	(void)snprintf(planted, sizeof(planted), "%s/planted", scratch);
	fd = open(planted, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd < 0 || fchmod(fd, 0644) < 0 ? -1 : close(fd);
}

static inline int act_group_teardown(void **state)
{
	char command[96];

	(void)state;
	(void)close_range(3, ~0u, 0); /* witnesses that nobody has asked end with it */
	while (waitpid(-1, NULL, 0) > 0)
		;
	(void)snprintf(command, sizeof(command), "rm -rf %s", scratch);
	return system(command);
}

static inline int act_test_setup(void **state)
{
	(void)state;
	boundary_done(&wish);
	boundary_init(&wish);
	inner_uid = INNER_UID;
	somebody = 0;
	return 0;
}

#define CONTROL_TEST(f) cmocka_unit_test_setup(f, act_test_setup)

#endif
