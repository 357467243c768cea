#include "isolation/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isolation/control.h"
#include "util/fd.h"

#define DESCENDANTS_MAX 8192 /* more than any pids limit we hand out by default; the next pass takes the rest */

/* One reading of /proc: pid and parent of every process. */
struct snapshot {
	struct snapshot_row {
		pid_t pid, ppid; /* pid first: by_pid() */
		bool below;
	} row[DESCENDANTS_MAX];
	unsigned int count;
};

static bool parent_of(int proc_fd, const char *name, pid_t *out)
{
	char path[64], text[1024], *end;
	int ppid;

	(void)snprintf(path, sizeof(path), "%.32s/stat", name);
	if (fd_read_file_at(proc_fd, path, text, sizeof(text), NULL) < 0)
		return false; /* it ended meanwhile */
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1, " %*c %d", &ppid) != 1)
		return false;
	*out = ppid;
	return true;
}

static void take_snapshot(struct snapshot *s)
{
	char buf[8192];
	long n;
	autofd dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	s->count = 0;
	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(buf + at);
			pid_t pid = (pid_t)atoi(d->d_name), ppid;

			at += d->d_reclen;
			if (pid > 0 && s->count < DESCENDANTS_MAX && parent_of(dir, d->d_name, &ppid)) {
				s->row[s->count].pid = pid;
				s->row[s->count].ppid = ppid;
				s->row[s->count].below = false;
				s->count++;
			}
		}
	}
}

unsigned long tree_threads_of_user(uid_t uid)
{
	char buf[8192], path[64], text[1024];
	unsigned long total = 0;
	long n;
	autofd dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (dir >= 0 && (n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(buf + at);
			unsigned long threads = 1;
			const char *end;
			struct stat st;

			at += d->d_reclen;
			if (d->d_name[0] < '1' || d->d_name[0] > '9' || fstatat(dir, d->d_name, &st, 0) < 0 ||
			    st.st_uid != uid)
				continue;
			(void)snprintf(path, sizeof(path), "%.32s/stat", d->d_name);
			if (fd_read_file_at(dir, path, text, sizeof(text), NULL) > 0 && (end = strrchr(text, ')')))
				(void)sscanf(end + 1,
					     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu",
					     &threads); /* field 20; 1 where it cannot be read */
			total += threads;
		}
	}
	return total;
}

static int by_pid(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_below(const struct snapshot *s, pid_t pid)
{
	const struct snapshot_row *row = bsearch(&pid, s->row, s->count, sizeof(s->row[0]), by_pid);

	return row && row->below;
}

unsigned int tree_descendants(pid_t ancestor, unsigned int most, void (*each)(pid_t pid, void *arg), void *arg)
{
	static struct snapshot s;
	unsigned int found = 0;
	bool again = true;

	take_snapshot(&s);
	/* a fork bomb must not outrun the search for its processes */
	qsort(s.row, s.count, sizeof(s.row[0]), by_pid);
	while (again) {
		again = false;
		for (unsigned int i = 0; i < s.count && found < most; i++) {
			if (!s.row[i].below && (s.row[i].ppid == ancestor || is_below(&s, s.row[i].ppid))) {
				s.row[i].below = true;
				again = true;
				found++;
				each(s.row[i].pid, arg);
			}
		}
	}
	return found;
}

static void kill_one(pid_t pid, void *arg)
{
	(void)kill(pid, *(const int *)arg); /* ESRCH: it ended by itself */
}

static bool kill_reaches_only_ours(const struct confinement *c)
{
	/* pid 1, or inside the domain that landlock_enter_outer() has tried: anywhere else it would reach the host */
	return uses(c, MECH_PIDNS) ? getpid() == 1 : c->outer_domain;
}

void tree_signal_inside(const struct confinement *c, pid_t workload, int sig)
{
	if (kill_reaches_only_ours(c)) {
		(void)kill(-1, sig); /* does not reach the caller itself (kill(2)) */
		return;
	}
	if (workload >
	    0) /* kill(-0) would reach our own group, and so end init before it has told how the workload ended */
		(void)kill(-workload, sig);
	(void)tree_descendants(getpid(), DESCENDANTS_MAX, kill_one, &sig);
}

/* Pass after pass until there is no child left: each pass kills all that exist, and what was forked before its kill
 * is a child of ours by then, because we are the subreaper (or pid 1). */
void tree_kill_inside(const struct confinement *c)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (;;) {
		pid_t pid;

		tree_signal_inside(c, 0, SIGKILL);
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return;
		pid = waitpid(-1, NULL, kill_reaches_only_ours(c) ? 0 : WNOHANG);
		if (pid < 0 && errno == ECHILD)
			return;
		if (pid == 0)
			(void)nanosleep(&pause, NULL);
	}
}

/* Without a group that can be killed init goes on: its sweep is all there is. */
void tree_kill_group(const struct confinement *c)
{
	if (uses(c, MECH_CGROUP_KILL) && c->cgroup.kill)
		(void)cgroup_kill(&c->cgroup, NULL);
}

void tree_kill(const struct confinement *c, struct started *s)
{
	fd_close(&s->control_fd); /* for init the word to kill everything, where it still can */
	if (!uses(c, MECH_PIDNS))
		return; /* init's death would free whoever has left the group: it kills from inside first */
	tree_kill_group(c);
	if (s->init_pidfd >= 0) /* in case it is not in the group */
		(void)syscall(SYS_pidfd_send_signal, s->init_pidfd, SIGKILL, NULL, 0);
}

struct adopted {
	pid_t spared;
	unsigned int killed;
};

static void kill_adopted(pid_t pid, void *arg)
{
	struct adopted *a = arg;

	if (pid == a->spared)
		return;
	a->killed++;
	(void)kill(pid, SIGKILL);
}

void tree_sweep_adopted(const struct confinement *c)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int ms = 0; ms < TREE_DEATH_MS; ms++) {
		struct adopted a = { .spared = c->janitor_pid };
		siginfo_t dead = { 0 };

		/* dead ones first: they count as descendants until they are reaped.  The janitor is its dismisser's to reap. */
		while (waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) == 0 && dead.si_pid > 0 &&
		       dead.si_pid != c->janitor_pid) {
			(void)waitpid(dead.si_pid, NULL, 0);
			dead.si_pid = 0;
		}
		(void)tree_descendants(getpid(), DESCENDANTS_MAX, kill_adopted, &a);
		if (a.killed == 0)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

void subreaper_observe(const struct observation *o, struct finding *out)
{
	(void)o; /* prctl(2) shows the attribute to nobody else; init has set it or failed */
	if (uses(o->c, MECH_PIDNS))
		finding_set(out, FINDING_ENFORCED, 0, "init is pid 1");
	else
		finding_set(out, FINDING_ENFORCED, 0, "set by init before the fork");
}
