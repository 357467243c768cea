/* Session, terminal and descriptors: what the workload inherits, and what it cannot reach through it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "isolation/control.h"
#include "util/fd.h"

/* A pseudo-terminal of the workload's own: from its own devpts where it has one, so that /dev/pts/0 is there for it. */
static int make_terminal(struct confinement *c, struct error *err)
{
	struct winsize size = { .ws_row = c->stdio.rows, .ws_col = c->stdio.columns };
	struct message m = { .type = MSG_TERMINAL, .mechanism = -1 };
	int zero = 0, slave;
	autofd master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0)
		return error_errno(err, "open /dev/ptmx");
	if (ioctl(master, TIOCSPTLCK, &zero) < 0)
		return error_errno(err, "unlock the terminal");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return error_errno(err, "open the terminal's other side");
	if (ioctl(slave, TIOCSWINSZ, &size) < 0 || ioctl(slave, TIOCSCTTY, 0) < 0) {
		(void)close(slave);
		return error_errno(err, "take the terminal");
	}
	for (int i = 0; i < 3; i++) {
		if (c->stdio.fd[i] == STDIO_TERMINAL)
			c->stdio.fd[i] = slave;
	}
	return message_send_fd(c->init_fd, &m, master, err);
}

/* Init leads the session; the workload gets a process group of its own in it, so that it is no orphaned group and can
 * be stopped from the terminal like anywhere else (setpgid(2), credentials(7)). */
int session_apply(struct confinement *c, struct error *err)
{
	(void)c;
	return setsid() < 0 ? error_errno(err, "setsid") : 0;
}

int terminal_apply(struct confinement *c, struct error *err)
{
	return c->stdio.terminal ? make_terminal(c, err) : 0;
}

int stdio_apply(const struct confinement *c, struct error *err)
{
	int fd[3];

	if (setpgid(0, 0) < 0)
		return error_errno(err, "setpgid");
	if (c->stdio.terminal) {
		/* a background group that takes the terminal is sent SIGTTOU, which init has blocked (tcsetpgrp(3)) */
		for (int i = 0; i < 3; i++) {
			if (c->stdio.fd[i] >= 0 && isatty(c->stdio.fd[i])) {
				if (tcsetpgrp(c->stdio.fd[i], getpid()) < 0)
					return error_errno(err, "take the terminal's foreground");
				break;
			}
		}
	}
	/* First out of the way of 0 to 2, since one may stand where another goes. */
	for (int i = 0; i < 3; i++) {
		fd[i] = fcntl(c->stdio.fd[i] >= 0 ? c->stdio.fd[i] : i, F_DUPFD_CLOEXEC, 3);
		if (fd[i] < 0)
			return error_errno(err, "standard descriptor %d", i);
	}
	for (int i = 0; i < 3; i++) {
		if (dup2(fd[i], i) < 0)
			return error_errno(err, "standard descriptor %d", i);
	}
	return 0;
}

int descriptors_apply(int keep_a, int keep_b, struct error *err)
{
	int keep[] = { keep_a, keep_b };
	int r = fd_close_all_but(3, keep, 2, err);

	if (r < 0)
		return r;
	/* The kept ones are close-on-exec: after execve there are three. */
	if (fcntl(keep_a, F_SETFD, FD_CLOEXEC) < 0 || fcntl(keep_b, F_SETFD, FD_CLOEXEC) < 0)
		return error_errno(err, "set close-on-exec");
	return 0;
}

/* Session id and terminal from /proc/<pid>/stat (proc_pid_stat(5)): fields 6 and 7. */
void session_observe(const struct observation *o, struct finding *out)
{
	char text[2048], *end;
	int ppid, pgrp, session, tty;
	struct error err;

	if (fd_read_file_at(o->proc_fd, "stat", text, sizeof(text), &err) < 0) {
		finding_set(out, FINDING_FAILED, err.code, "%.150s", err.text);
		return;
	}
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d %d %d %d", &ppid, &pgrp, &session, &tty) != 4)
		finding_set(out, FINDING_FAILED, 0, "/proc/<pid>/stat cannot be read");
	else if (session == (int)getsid(0))
		finding_set(out, FINDING_FAILED, 0, "the session is ours");
	else if (tty != 0 && !o->c->stdio.terminal)
		finding_set(out, FINDING_FAILED, 0, "it has a terminal that was not made for it");
	else
		finding_set(out, FINDING_ENFORCED, 0, "a session of its own, %s",
			    tty ? "a terminal of its own" : "no terminal");
}

/* At the gate the workload holds 0 to 2, the gate and the control socket; the last two close at execve. */
void descriptors_observe(const struct observation *o, struct finding *out)
{
	char buf[2048], flags[512];
	long n;
	int count = 0, beyond = 0;
	autofd dir = openat(o->proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0) {
		finding_set(out, FINDING_FAILED, errno, "/proc/<pid>/fd cannot be read");
		return;
	}
	while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(buf + at);

			at += d->d_reclen;
			if (d->d_name[0] == '.')
				continue;
			count++;
			if (atoi(d->d_name) > 2) {
				char path[300];
				struct error err;
				char *line;

				(void)snprintf(path, sizeof(path), "fdinfo/%s", d->d_name);
				if (fd_read_file_at(o->proc_fd, path, flags, sizeof(flags), &err) < 0 ||
				    !(line = strstr(flags, "flags:\t")) || !(strtoul(line + 7, NULL, 8) & O_CLOEXEC))
					beyond++;
			}
		}
	}
	if (n < 0 || beyond)
		finding_set(out, FINDING_FAILED, 0, "%d descriptors above 2 would survive execve", beyond);
	else
		finding_set(out, FINDING_ENFORCED, 0, "%d open, all above 2 close at execve", count);
}
