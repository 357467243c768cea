/* Names that say who made a group, and the removal of groups whose maker is dead.
 *
 *	bulkhead-<inode of the pid namespace, hex>-<pid>-<start time>-<32 hex digits at random>
 *
 * A pid means something only in its own pid namespace, and only together with the time at which it started.  Anything
 * that cannot be decided is taken for alive: a group too many costs little, a live workload killed costs a run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolation/cgroup_parts.h"
#include "util/fd.h"

#define SWEEP_LOOKED_MAX 4096 /* entries of one directory; a sweep must not hold up a start */
#define SWEEP_TRIED_MAX 64
#define SWEEP_WAIT_MS 100 /* for all that were killed together */

struct sweep {
	unsigned int tried_left, wait_left_ms;
};

struct owner {
	uint64_t namespace;
	uint64_t start; /* 0: not known */
	pid_t pid;
};

/* State and start time from /proc/<pid>/stat.  The command's name comes second, in parentheses, and may itself contain
 * any character: everything is counted from the last ')'. */
static bool stat_read(const char *path, pid_t pid, char *out_state, uint64_t *out_start)
{
	char text[1024], *at, *end;

	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text), NULL) < 0 || strtol(text, &end, 10) != pid)
		return false; /* also: a /proc of another pid namespace */
	at = strrchr(text, ')');
	if (!at || at[1] != ' ' || !at[2])
		return false;
	*out_state = at[2];
	at += 2;
	for (int field = 3; field < 22; field++) { /* state is field 3, starttime field 22 (proc_pid_stat(5)) */
		at = strchr(at, ' ');
		if (!at)
			return false;
		at++;
	}
	*out_start = strtoull(at, &end, 10);
	return end != at;
}

static int self_find(struct owner *out, struct error *err)
{
	struct stat st;
	char state;

	if (stat("/proc/self/ns/pid", &st) < 0)
		return error_errno(err, "stat /proc/self/ns/pid");
	*out = (struct owner){ .namespace = st.st_ino, .pid = getpid() };
	if (!stat_read("/proc/self/stat", out->pid, &state, &out->start))
		out->start = 0;
	return 0;
}

int cgroup_name_new(char *buf, size_t size, struct error *err)
{
	unsigned char noise[16];
	struct owner self = { .pid = 0 };
	int used, r = self_find(&self, err);

	if (r < 0)
		return r;
	if (getrandom(noise, sizeof(noise), 0) != (ssize_t)sizeof(noise))
		return error_errno(err, "getrandom");
	used = snprintf(buf, size, "bulkhead-%" PRIx64 "-%d-%" PRIu64 "-", self.namespace, (int)self.pid, self.start);
	if (used < 0 || (size_t)used + 2 * sizeof(noise) >= size)
		return error_set(err, ENAMETOOLONG, "a group's name does not fit");
	for (size_t i = 0; i < sizeof(noise); i++)
		(void)snprintf(buf + used + 2 * i, 3, "%02x", noise[i]);
	return 0;
}

/* One "<digits>-" of the name. */
static bool part(const char **at, int base, uint64_t *out)
{
	char *end;

	if (!strchr("0123456789abcdef", **at))
		return false;
	errno = 0;
	*out = strtoull(*at, &end, base);
	if (errno || end == *at || *end != '-')
		return false;
	*at = end + 1;
	return true;
}

static bool name_parse(const char *name, struct owner *out)
{
	const char *at = name;
	uint64_t pid;

	if (strncmp(at, "bulkhead-", 9) != 0)
		return false;
	at += 9;
	if (!part(&at, 16, &out->namespace) || !part(&at, 10, &pid) || !part(&at, 10, &out->start))
		return false;
	if (pid == 0 || pid > INT32_MAX || strlen(at) != 32 || strspn(at, "0123456789abcdef") != 32)
		return false;
	out->pid = (pid_t)pid;
	return true;
}

static bool is_dead(const struct owner *o)
{
	char path[32], state;
	uint64_t start;

	if (kill(o->pid, 0) < 0)
		return errno == ESRCH; /* EPERM: alive, another user's */
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)o->pid);
	if (o->start == 0 || !stat_read(path, o->pid, &state, &start))
		return false;
	return start != o->start || state == 'Z' || state == 'X';
}

/* Failures are left for the next sweep: another user's group, or a process that is still on its way out. */
static void leftover_remove(int parent, const char *name, struct sweep *s)
{
	autofd fd = -1;

	s->tried_left--;
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
		return;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fd_write_file_at(fd, "cgroup.kill", "1", NULL) < 0)
		return; /* v1: its processes were in a v2 group too, and that one was killed before */
	if (cgroup_remove_at(parent, fd, name, s->wait_left_ms, NULL) < 0)
		s->wait_left_ms = 0;
}

static void directory_sweep(int parent, const struct owner *self, struct sweep *s)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return;
	}
	for (unsigned int looked = 0; looked < SWEEP_LOOKED_MAX && s->tried_left > 0; looked++) {
		struct owner o;

		e = readdir(dir);
		if (!e)
			break;
		if (name_parse(e->d_name, &o) && o.namespace == self->namespace && is_dead(&o))
			leftover_remove(parent, e->d_name, s);
	}
	(void)closedir(dir);
}

/* The places where groups are made: -2 root's parent on v2, -1 our own group on v2, then the controllers on v1. */
static int place_open(const struct cgroup_host *h, int place, int *out_fd)
{
	struct error unused;

	if (place < 0 ? !h->v2_mount[0] : !h->v1_mount[place][0])
		return -ENOENT;
	if (place == -2)
		return cgroup_v2_root_parent(h, out_fd);
	if (place == -1)
		return cgroup_v2_own(h, out_fd, &unused);
	return cgroup_v1_parent(h, (enum cgroup_controller)place, out_fd, &unused);
}

void cgroup_sweep(void)
{
	struct cgroup_host h;
	struct owner self = { .pid = 0 };

	if (cgroup_host_find(&h, NULL) < 0 || self_find(&self, NULL) < 0)
		return;
	for (int k = -2; k < CG_CONTROLLER_COUNT; k++) { /* v2 first: only there processes can be killed */
		struct sweep s = { .tried_left = SWEEP_TRIED_MAX, .wait_left_ms = SWEEP_WAIT_MS };
		autofd fd = -1;

		if (place_open(&h, k, &fd) == 0)
			directory_sweep(fd, &self, &s);
	}
}
