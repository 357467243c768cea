/* cgroup_cost: what it costs to get a fresh child into a cgroup, by each way the kernel offers.
 *
 * Moving a whole process (cgroup.procs) takes the global thread-group rwsem as writer. When the
 * machine has been quiet, that waits for an RCU grace period: milliseconds. In a tight loop the
 * rwsem stays in its slow mode and the same write costs microseconds, so a loop hides the price.
 * The ways that do not take it: a single-threaded task that writes "0" for itself to a v1 `tasks`
 * file or a v2 cgroup.threads file, and CLONE_INTO_CGROUP.
 *
 * usage: cgroup_cost [ROUNDS [QUIET_MS]]      QUIET_MS 0 = loop
 * Each round runs every way once. Ways run one after another, each after its own quiet time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum way {
	WAY_NONE,
	WAY_V1_PROCS_PARENT,
	WAY_V1_PROCS_SELF,
	WAY_V1_TASKS_PARENT,
	WAY_V1_TASKS_SELF,
	WAY_V1_TASKS_SELF_TWO,
	WAY_V2_PROCS_PARENT,
	WAY_V2_THREADS_SELF,
	WAY_V2_CLONE_INTO,
	WAY_COUNT,
};

static const char *const way_name[] = {
	"no cgroup",
	"v1 cgroup.procs by parent",
	"v1 cgroup.procs \"0\" by self",
	"v1 tasks PID by parent",
	"v1 tasks \"0\" by self",
	"v1 tasks \"0\" by self, memory and pids",
	"v2 cgroup.procs by parent",
	"v2 cgroup.threads \"0\" by self (threaded group)",
	"v2 CLONE_INTO_CGROUP",
};
_Static_assert(sizeof way_name / sizeof *way_name == WAY_COUNT, "one name per way");

#define GROUP "bulkhead-bench-cost"

static const char *const dirs[] = {
	"/sys/fs/cgroup/memory/" GROUP,
	"/sys/fs/cgroup/pids/" GROUP,
	"/sys/fs/cgroup/unified/" GROUP,
	"/sys/fs/cgroup/unified/" GROUP "-threaded",
};
static int fd_v1_procs = -1, fd_v1_tasks = -1, fd_v1_tasks_pids = -1;
static int fd_v2_dir = -1, fd_v2_procs = -1, fd_v2_threads = -1;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int open_in(const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static void remove_groups(void)
{
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		rmdir(dirs[i]);
}

static void make_groups(void)
{
	int fd;

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		mkdir(dirs[i], 0755);
	fd_v1_procs = open_in(dirs[0], "cgroup.procs");
	fd_v1_tasks = open_in(dirs[0], "tasks");
	fd_v1_tasks_pids = open_in(dirs[1], "tasks");
	fd_v2_dir = open(dirs[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd_v2_procs = open_in(dirs[2], "cgroup.procs");
	fd = open_in(dirs[3], "cgroup.type");
	if (fd >= 0 && write(fd, "threaded", 8) == 8)
		fd_v2_threads = open_in(dirs[3], "cgroup.threads");
	if (fd >= 0)
		close(fd);
}

static int way_available(enum way w)
{
	switch (w) {
	case WAY_V1_PROCS_PARENT:
	case WAY_V1_PROCS_SELF:
		return fd_v1_procs >= 0;
	case WAY_V1_TASKS_PARENT:
	case WAY_V1_TASKS_SELF:
		return fd_v1_tasks >= 0;
	case WAY_V1_TASKS_SELF_TWO:
		return fd_v1_tasks >= 0 && fd_v1_tasks_pids >= 0;
	case WAY_V2_PROCS_PARENT:
		return fd_v2_procs >= 0;
	case WAY_V2_THREADS_SELF:
		return fd_v2_threads >= 0;
	case WAY_V2_CLONE_INTO:
		return fd_v2_dir >= 0;
	default:
		return 1;
	}
}

/* One child: made, moved, ended, waited for. out_move_ns is the move alone (for CLONE_INTO_CGROUP the clone3 call). */
static uint64_t launch(enum way w, volatile uint64_t *out_move_ns)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	int go[2];
	char pid_text[16];
	uint64_t begin, t;
	pid_t pid;
	int status, fd;

	*out_move_ns = 0;
	if (pipe2(go, O_CLOEXEC))
		exit(1);
	if (w == WAY_V2_CLONE_INTO) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)fd_v2_dir;
	}
	begin = now_ns();
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	if (pid < 0) {
		perror("clone3");
		exit(1);
	}
	if (pid == 0) {
		char c;
		int ok = 1;

		if (w == WAY_V1_PROCS_PARENT || w == WAY_V1_TASKS_PARENT || w == WAY_V2_PROCS_PARENT) {
			if (read(go[0], &c, 1) != 1)
				_exit(2);
			_exit(0);
		}
		t = now_ns();
		if (w == WAY_V1_PROCS_SELF)
			ok = write(fd_v1_procs, "0", 1) == 1;
		if (w == WAY_V1_TASKS_SELF || w == WAY_V1_TASKS_SELF_TWO)
			ok = write(fd_v1_tasks, "0", 1) == 1;
		if (w == WAY_V1_TASKS_SELF_TWO)
			ok = ok && write(fd_v1_tasks_pids, "0", 1) == 1;
		if (w == WAY_V2_THREADS_SELF)
			ok = write(fd_v2_threads, "0", 1) == 1;
		if (w != WAY_V2_CLONE_INTO)
			*out_move_ns = now_ns() - t;
		_exit(ok ? 0 : 100 + (errno & 63));
	}
	if (w == WAY_V2_CLONE_INTO)
		*out_move_ns = now_ns() - begin;
	if (w == WAY_V1_PROCS_PARENT || w == WAY_V1_TASKS_PARENT || w == WAY_V2_PROCS_PARENT) {
		fd = w == WAY_V1_PROCS_PARENT ? fd_v1_procs : w == WAY_V1_TASKS_PARENT ? fd_v1_tasks : fd_v2_procs;
		int n = snprintf(pid_text, sizeof pid_text, "%d", pid);

		t = now_ns();
		if (write(fd, pid_text, (size_t)n) != n)
			perror(way_name[w]);
		*out_move_ns = now_ns() - t;
		if (write(go[1], "x", 1) != 1)
			perror("pipe");
	}
	waitpid(pid, &status, 0);
	t = now_ns() - begin;
	close(go[0]);
	close(go[1]);
	if (status != 0)
		fprintf(stderr, "%s: child status %#x\n", way_name[w], (unsigned)status);
	return t;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 60;
	int quiet_ms = argc > 2 ? atoi(argv[2]) : 50;
	struct timespec quiet = { quiet_ms / 1000, quiet_ms % 1000 * 1000000L };
	uint64_t *total[WAY_COUNT], *move[WAY_COUNT];
	uint64_t *cell = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	remove_groups();
	make_groups();
	if (cell == MAP_FAILED || rounds < 1)
		return 1;
	for (int w = 0; w < WAY_COUNT; w++) {
		total[w] = calloc((size_t)rounds, sizeof **total);
		move[w] = calloc((size_t)rounds, sizeof **move);
	}
	if (quiet_ms) {
		for (int r = 0; r < rounds; r++)
			for (int w = 0; w < WAY_COUNT; w++) {
				if (!way_available((enum way)w))
					continue;
				nanosleep(&quiet, NULL);
				total[w][r] = launch((enum way)w, cell);
				move[w][r] = *cell;
			}
	} else {
		/* a loop of one way at a time: this is the benchmark that hides the wait */
		for (int w = 0; w < WAY_COUNT; w++)
			for (int r = 0; way_available((enum way)w) && r < rounds; r++) {
				total[w][r] = launch((enum way)w, cell);
				move[w][r] = *cell;
			}
	}
	printf("%s, %d rounds, microseconds\n", quiet_ms ? "cold" : "loop", rounds);
	printf("%-50s %10s %10s %12s %10s\n", "way", "move med", "move p95", "launch med", "p95");
	for (int w = 0; w < WAY_COUNT; w++) {
		if (!way_available((enum way)w)) {
			printf("%-50s not here\n", way_name[w]);
			continue;
		}
		qsort(total[w], (size_t)rounds, sizeof **total, compare);
		qsort(move[w], (size_t)rounds, sizeof **move, compare);
		printf("%-50s %10.0f %10.0f %12.0f %10.0f\n", way_name[w], (double)move[w][rounds / 2] / 1e3,
		       (double)move[w][rounds * 95 / 100] / 1e3, (double)total[w][rounds / 2] / 1e3,
		       (double)total[w][rounds * 95 / 100] / 1e3);
	}
	remove_groups();
	return 0;
}
