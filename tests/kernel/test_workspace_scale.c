/* A million names and ten thousand levels are removed in bounded memory and descriptors.
 *
 * The removal runs in a child whose RLIMIT_NOFILE leaves room for 17 descriptors more than it has, so the kernel itself
 * refuses a removal that needs more; its growth is read from ru_maxrss before and after.  The control of both: the same
 * child, asked to keep every name or to hold every level open, does exceed them.
 *
 * Trees stand on /dev/shm where it takes them (tmpfs: a minute less), else on /var/tmp; TEST_SCALE_DIR overrides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isolation/workspace.h"

#define FLAT 500000 /* names in one directory */
#define DIRS 1000   /* and as many in this many directories */
#define PER_DIR 499 /* 500000 with the directories themselves */
#define DEPTH 10000
#define MAKERS 4
#define GROWTH_KB 2048 /* the walk takes 140 KiB; the rest is the first touch of a forked child's own pages */
#define MORE_FDS 17

static char scratch[128];
static int scratch_fd = -1;

static int dir_make(int dirfd, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(dirfd, name, 0700), 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int group_setup(void **state)
{
	const char *where = getenv("TEST_SCALE_DIR");

	(void)state;
	if (!where)
		where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp";
	(void)snprintf(scratch, sizeof(scratch), "%s/test_workspace_scale.XXXXXX", where);
	if (!mkdtemp(scratch))
		return -1;
	scratch_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return scratch_fd < 0 ? -1 : 0;
}

static int group_teardown(void **state)
{
	char command[192];

	(void)state;
	close(scratch_fd);
	(void)snprintf(command, sizeof(command), "rm -rf %s", scratch); /* after a failure: otherwise it is empty */
	return system(command);
}

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long maxrss_kb(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* ---- making, by several processes: it is most of this test's time ---- */

static void files_make(int dirfd, unsigned int first, unsigned int count)
{
	char name[16];

	for (unsigned int i = first; i < first + count; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		if (mknodat(dirfd, name, S_IFREG | 0600, 0) < 0) /* cheaper than open and close */
			_exit(1);
	}
}

static void make_share(int tree, int flat, unsigned int maker)
{
	char name[16];

	files_make(flat, maker * (FLAT / MAKERS), FLAT / MAKERS);
	for (unsigned int i = maker; i < DIRS; i += MAKERS) {
		int dir;

		(void)snprintf(name, sizeof(name), "d%u", i);
		dir = dir_make(tree, name);
		files_make(dir, 0, PER_DIR);
		close(dir);
	}
}

static void wide_make(int tree)
{
	int flat = dir_make(tree, "flat");
	pid_t pids[MAKERS];
	int status;

	for (unsigned int i = 0; i < MAKERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			make_share(tree, flat, i);
			_exit(0);
		}
	}
	close(flat);
	for (unsigned int i = 0; i < MAKERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

static void deep_make(int tree, mode_t mode)
{
	int at = fcntl(tree, F_DUPFD_CLOEXEC, 0);

	for (unsigned int i = 0; i < DEPTH; i++) {
		int next = dir_make(at, "d");

		assert_int_equal(mknodat(at, "f", S_IFREG | 0600, 0), 0);
		assert_int_equal(fchmod(at, mode), 0);
		close(at);
		at = next;
	}
	close(at);
}

/* ---- removing, in a child that is watched ---- */

struct watched {
	int rc;
	bool fds_exceeded;
	long growth_kb;
	double seconds;
	struct removal removal;
	struct error err;
};

static void fds_limit(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = MORE_FDS;
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			limit.rlim_cur = (rlim_t)fd + 1 + MORE_FDS;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static struct watched watch(void (*act)(struct watched *))
{
	struct watched w = { 0 };
	int pipes[2];
	int status;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		double began = seconds();
		long before;

		fds_limit();
		before = maxrss_kb();
		act(&w);
		w.growth_kb = maxrss_kb() - before;
		w.seconds = seconds() - began;
		_exit(write(pipes[1], &w, sizeof(w)) == (ssize_t)sizeof(w) ? 0 : 1);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &w, sizeof(w)), sizeof(w));
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return w;
}

static void act_remove(struct watched *w)
{
	w->rc = workspace_remove_at(scratch_fd, "tree", &w->removal, &w->err);
}

/* Control: to keep the names of a directory takes more memory than is allowed above. */
static void act_keep_names(struct watched *w)
{
	int fd = openat(scratch_fd, "tree/flat", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	const struct dirent *d;

	while ((d = readdir(dir)))
		w->rc += strdup(d->d_name) != NULL;
	(void)closedir(dir);
}

/* Control: to hold every level open takes more descriptors than are allowed above. */
static void act_hold_levels(struct watched *w)
{
	int at = openat(scratch_fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (at >= 0)
		at = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->fds_exceeded = errno == EMFILE;
}

static void assert_removed(const char *what, double made, uint64_t entries)
{
	struct watched w = watch(act_remove);
	struct stat st;

	if (w.rc < 0)
		fail_msg("%s", w.err.text);
	print_message("%s: made in %.2f s, removed in %.2f s, memory grew %ld KiB, on %s\n", what, made, w.seconds,
		      w.growth_kb, scratch);
	assert_int_equal(w.removal.entries, entries);
	assert_int_equal(w.removal.failed, 0);
	assert_true(w.growth_kb <= GROWTH_KB);
	assert_true(fstatat(scratch_fd, "tree", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT);
}

static void a_million_names(void **state)
{
	double began = seconds();
	struct watched control;
	int tree;

	(void)state;
	tree = dir_make(scratch_fd, "tree");
	wide_make(tree);
	close(tree);
	began = seconds() - began;
	control = watch(act_keep_names);
	assert_int_equal(control.rc, FLAT + 2);
	assert_true(control.growth_kb > 4 * GROWTH_KB);
	assert_removed("1,000,000 names", began, 1 + FLAT + (uint64_t)DIRS * (PER_DIR + 1) + 1);
}

static void ten_thousand_levels(void **state)
{
	double began = seconds();
	int tree;

	(void)state;
	tree = dir_make(scratch_fd, "tree");
	deep_make(tree, 0700);
	close(tree);
	began = seconds() - began;
	assert_true(watch(act_hold_levels).fds_exceeded);
	assert_removed("10,000 levels", began, 2 * DEPTH + 1);
}

static void ten_thousand_shut_levels(void **state)
{
	double began = seconds();
	int tree;

	(void)state;
	tree = dir_make(scratch_fd, "tree");
	deep_make(tree, 0000);
	close(tree);
	assert_removed("10,000 levels of mode 0000", seconds() - began, 2 * DEPTH + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_names),
		cmocka_unit_test(ten_thousand_levels),
		cmocka_unit_test(ten_thousand_shut_levels),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
