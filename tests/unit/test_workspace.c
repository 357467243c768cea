/* Workspaces against a hostile owner.  Every test builds its own scratch directory and leaves nothing behind, and every
 * hostile act has a control beside it: the same act succeeds, or the same removal does harm, where workspace.c is not
 * in the way.  This program runs as root and as an ordinary user; what needs root says so when it skips.
 *
 * Rare answers and moments are brought about by defining the C library's call here (unlinkat, renameat, flock,
 * clock_gettime: the program's definition wins over the shared library's), or by a seccomp filter in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isolation/workspace.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* ---- calls that may be made to answer otherwise ---- */

static long clock_ahead_s;
static void (*before_unlink)(int dirfd, const char *name, int flags);
static void (*after_full)(int dirfd, const char *name); /* rmdir has just answered that it is not empty */
static void (*before_flock)(int fd, int operation);
static int (*rename_refusal)(int from, const char *name, int to, const char *new_name); /* 0 or a positive errno */
static unsigned int renames;

int clock_gettime(clockid_t id, struct timespec *out)
{
	if (syscall(SYS_clock_gettime, id, out) < 0)
		return -1;
	out->tv_sec += clock_ahead_s;
	return 0;
}

int unlinkat(int dirfd, const char *name, int flags)
{
	if (before_unlink)
		before_unlink(dirfd, name, flags);
	if (syscall(SYS_unlinkat, dirfd, name, flags) == 0)
		return 0;
	if (errno == ENOTEMPTY && after_full) {
		after_full(dirfd, name);
		errno = ENOTEMPTY;
	}
	return -1;
}

int flock(int fd, int operation)
{
	if (before_flock)
		before_flock(fd, operation);
	return (int)syscall(SYS_flock, fd, operation);
}

int renameat(int from, const char *name, int to, const char *new_name)
{
	int refusal = rename_refusal ? rename_refusal(from, name, to, new_name) : 0;

	renames++;
	if (refusal) {
		errno = refusal;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from, name, to, new_name, 0);
}

/* ---- scratch ---- */

struct scratch {
	char path[64];
	int fd;
	int tree;    /* path/tree, mode 0700: what is removed */
	int outside; /* path/outside, holding "precious": what must survive */
};

static void file_make(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
}

static int dir_make(int dirfd, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(dirfd, name, 0700), 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static pid_t test_pid;

static int setup(void **state)
{
	struct scratch *s = calloc(1, sizeof(*s));

	test_pid = getpid();
	snprintf(s->path, sizeof(s->path), "/tmp/test_workspace.XXXXXX");
	assert_non_null(mkdtemp(s->path));
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(s->fd >= 0);
	s->tree = dir_make(s->fd, "tree");
	s->outside = dir_make(s->fd, "outside");
	file_make(s->outside, "precious");
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scratch *s = *state;
	char command[192];

	if (getpid() != test_pid) /* an assertion failed in a child, and cmocka brought it here */
		_exit(1);
	clock_ahead_s = 0;
	before_unlink = NULL;
	after_full = NULL;
	before_flock = NULL;
	rename_refusal = NULL;
	renames = 0;
	close(s->tree);
	close(s->outside);
	close(s->fd);
	(void)snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", s->path, s->path); /* not by ours */
	assert_int_equal(system(command), 0);
	free(s);
	return 0;
}

static bool exists(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void assert_outside_whole(const struct scratch *s)
{
	struct stat st;

	assert_int_equal(fstatat(s->outside, "precious", &st, 0), 0);
	assert_int_equal(st.st_size, 1);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* The control of every escape: we do hold the right to delete what is outside. */
static void assert_outside_deletable(const struct scratch *s)
{
	assert_int_equal(syscall(SYS_unlinkat, s->outside, "precious", 0), 0);
	file_make(s->outside, "precious");
}

static void assert_removes(const struct scratch *s, uint64_t entries)
{
	struct removal r;
	struct error err = { 0 };

	if (workspace_remove_at(s->fd, "tree", &r, &err) != 0)
		fail_msg("%s", err.text);
	assert_false(exists(s->fd, "tree"));
	assert_int_equal(r.entries, entries);
	assert_int_equal(r.failed, 0);
	assert_int_equal(r.mounts, 0);
}

static unsigned int fds_open(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* cmocka loses the reason; the runner takes it from this line. */
#define skip_because(why)                                                 \
	do {                                                              \
		print_message("# SKIP-REASON %s: %s\n", __func__, (why)); \
		skip();                                                   \
	} while (0)

/* Run f in a child; 0 means that it held, and 77 that it could not be tried. */
static int in_child(int (*f)(struct scratch *), struct scratch *s)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(f(s));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define CHILD_CHECK(what)                                                                   \
	do {                                                                                \
		if (!(what)) {                                                              \
			fprintf(stderr, "line %d: %s: errno %d\n", __LINE__, #what, errno); \
			return 1;                                                           \
		}                                                                           \
	} while (0)

/* Where we are root: give the scratch directory and its contents to an ordinary uid, and become it. */
static int become_ordinary(struct scratch *s)
{
	if (geteuid() != 0)
		return 0;
	if (fchown(s->fd, 12345, 12345) < 0 || fchown(s->tree, 12345, 12345) < 0 ||
	    fchown(s->outside, 12345, 12345) < 0 || fchownat(s->outside, "precious", 12345, 12345, 0) < 0)
		return -1;
	if (setresgid(12345, 12345, 12345) < 0 || setresuid(12345, 12345, 12345) < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 1); /* else /proc/self belongs to root */
}

/* ---- removal ---- */

static void removes_a_plain_tree(void **state)
{
	struct scratch *s = *state;
	int sub = dir_make(s->tree, "sub");
	unsigned int before;

	file_make(s->tree, "a");
	file_make(sub, "b");
	close(sub);
	assert_int_equal(symlinkat("nowhere", s->tree, "dangling"), 0);
	assert_int_equal(mknodat(s->tree, "fifo", S_IFIFO | 0600, 0), 0); /* opening it would block for ever */
	assert_int_equal(mknodat(s->tree, "socket", S_IFSOCK | 0600, 0), 0);
	before = fds_open();
	assert_removes(s, 7);
	assert_int_equal(fds_open(), before);
	assert_int_equal(workspace_remove_at(s->fd, "tree", NULL, NULL), 0); /* nothing is left of nothing */
}

static void refuses_what_is_not_one_directory(void **state)
{
	struct scratch *s = *state;
	struct removal r;
	struct error err = { 0 };

	file_make(s->fd, "file");
	assert_int_equal(symlinkat("outside", s->fd, "link"), 0);
	assert_int_equal(workspace_remove_at(s->fd, "", &r, &err), -EINVAL);
	assert_int_equal(workspace_remove_at(s->fd, ".", &r, &err), -EINVAL);
	assert_int_equal(workspace_remove_at(s->fd, "..", &r, &err), -EINVAL);
	assert_int_equal(workspace_remove_at(s->fd, "outside/", &r, &err), -EINVAL);
	assert_int_equal(workspace_remove_at(s->fd, "../tmp", &r, &err), -EINVAL);
	assert_int_equal(workspace_remove_at(s->fd, "file", &r, &err), -ENOTDIR);
	assert_true(workspace_remove_at(s->fd, "link", &r, &err) < 0);
	assert_true(exists(s->fd, "file") && exists(s->fd, "link"));
	assert_outside_whole(s);
	assert_outside_deletable(s);
}

static void removes_hostile_names(void **state)
{
	static const char *const names[] = { "new\nline",   "\n",	" ",	"-rf",	"...", "..x",
					     "\x01\x1b[2J", "\xff\xfe", "\"\\", "%s%n", "*",   ".hoisted-0-0" };
	struct scratch *s = *state;
	char longest[256];
	int sub = dir_make(s->tree, "dir\nwith \"quotes\"");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		file_make(s->tree, names[i]);
		close(dir_make(sub, names[i]));
	}
	memset(longest, 'n', 255);
	longest[255] = '\0';
	close(dir_make(s->tree, longest));
	file_make(sub, longest);
	close(sub);
	assert_removes(s, 2 * sizeof(names) / sizeof(names[0]) + 4);
}

/* tree/<mode>/inner/file, both directories with that mode. */
static void hostile_mode_make(int tree, mode_t mode)
{
	char name[8];
	int outer, inner;

	(void)snprintf(name, sizeof(name), "%04o", (unsigned int)mode);
	outer = dir_make(tree, name);
	inner = dir_make(outer, "inner");
	file_make(inner, "file");
	assert_int_equal(fchmod(inner, mode), 0);
	assert_int_equal(fchmod(outer, mode), 0);
	close(inner);
	close(outer);
}

static void undoes_hostile_modes(void **state)
{
	static const mode_t modes[] = { 0000, 0100, 0200, 0300, 0400, 0500, 0600, 01500, 02000 };
	struct scratch *s = *state;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		hostile_mode_make(s->tree, modes[i]);
	if (geteuid() != 0) { /* the control: the modes do forbid it; root passes them by CAP_DAC_OVERRIDE */
		assert_true(openat(s->tree, "0000", O_RDONLY) < 0 && errno == EACCES);
		assert_true(unlinkat(s->tree, "0500/inner", AT_REMOVEDIR) < 0 && errno == EACCES);
	}
	assert_int_equal(fchmod(s->tree, 0000), 0);
	assert_removes(s, 3 * sizeof(modes) / sizeof(modes[0]) + 1);
}

/* As undoes_hostile_modes, on a kernel older than 6.6 and never as root. */
static int modes_without_fchmodat2(struct scratch *s)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmodat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = filter };
	struct removal r;

	CHILD_CHECK(become_ordinary(s) == 0);
	hostile_mode_make(s->tree, 0000);
	CHILD_CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHILD_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	CHILD_CHECK(syscall(SYS_fchmodat2, s->tree, "", 0700, AT_EMPTY_PATH) < 0 && errno == ENOSYS);
	CHILD_CHECK(openat(s->tree, "0000", O_RDONLY) < 0 && errno == EACCES);
	CHILD_CHECK(workspace_remove_at(s->fd, "tree", &r, NULL) == 0);
	CHILD_CHECK(r.entries == 4);
	return 0;
}

static void undoes_modes_on_older_kernels(void **state)
{
	assert_int_equal(in_child(modes_without_fchmodat2, *state), 0);
}

static void links_do_not_lead_out(void **state)
{
	struct scratch *s = *state;
	char absolute[80];
	struct stat st;

	(void)snprintf(absolute, sizeof(absolute), "%s/outside", s->path);
	assert_int_equal(symlinkat("../outside", s->tree, "relative"), 0);
	assert_int_equal(symlinkat(absolute, s->tree, "absolute"), 0);
	assert_int_equal(symlinkat("/proc/self/root", s->tree, "magic"), 0);
	assert_int_equal(symlinkat("loop", s->tree, "loop"), 0);
	assert_int_equal(linkat(s->outside, "precious", s->tree, "hard", 0), 0);
	assert_int_equal(faccessat(s->tree, "relative/precious", W_OK, 0), 0); /* control: the links do lead there */
	assert_removes(s, 6);
	assert_outside_whole(s);
	assert_int_equal(fstatat(s->outside, "precious", &st, 0), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_outside_deletable(s);
}

/* The exchanger: tree/d <-> tree/l, where d is a directory and l a link to outside, as fast as it can. */
static pid_t exchanger_start(int tree)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (syscall(SYS_renameat2, tree, "d", tree, "l", RENAME_EXCHANGE) < 0 && errno == ENOENT)
			sched_yield();
	}
	return pid;
}

static void exchanger_end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void exchange_prepare(const struct scratch *s)
{
	int d = dir_make(s->tree, "d");

	for (int i = 0; i < 8; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "f%d", i);
		file_make(d, name);
	}
	close(d);
	assert_int_equal(symlinkat("../outside", s->tree, "l"), 0);
}

/* What an rm by path does: look, then open by the name and remove what is there. */
static bool naive_removal_escapes(const struct scratch *s)
{
	struct stat st;
	int d;
	bool escaped = false;

	if (fstatat(s->tree, "d", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return false;
	d = openat(s->tree, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d < 0)
		return false;
	escaped = syscall(SYS_unlinkat, d, "precious", 0) == 0;
	close(d);
	if (escaped)
		file_make(s->outside, "precious");
	return escaped;
}

static void exchanged_directories_do_not_lead_out(void **state)
{
	struct scratch *s = *state;
	unsigned int escapes = 0;
	pid_t pid;

	exchange_prepare(s);
	pid = exchanger_start(s->tree);
	for (int i = 0; i < 2000000 && escapes < 3; i++)
		escapes += naive_removal_escapes(s);
	exchanger_end(pid);
	assert_true(escapes > 0); /* control: the exchanger does lead the unwary out */

	for (int round = 0; round < 100; round++) {
		struct removal r;

		pid = exchanger_start(s->tree);
		for (int i = 0; i < 1000 && workspace_remove_at(s->fd, "tree", &r, NULL) < 0; i++)
			; /* a name that was exchanged at each look counts as failed */
		exchanger_end(pid);
		assert_false(exists(s->fd, "tree"));
		assert_outside_whole(s);
		close(s->tree);
		s->tree = dir_make(s->fd, "tree");
		exchange_prepare(s);
	}
}

/* The same at the worst moment, once: the directory is known to be full and is opened next. */
static void exchange_once(int dirfd, const char *name)
{
	if (strcmp(name, "d") != 0)
		return;
	after_full = NULL;
	assert_int_equal(syscall(SYS_renameat2, dirfd, "d", dirfd, "moved", RENAME_NOREPLACE), 0);
	assert_int_equal(symlinkat("../outside", dirfd, "d"), 0);
}

static void exchanged_at_the_worst_moment(void **state)
{
	struct scratch *s = *state;

	exchange_prepare(s);
	after_full = exchange_once;
	assert_removes(s, 8 + 4);
	assert_null(after_full); /* it was exchanged */
	assert_outside_whole(s);
	assert_outside_deletable(s);
}

/* The same against the chmod: tree/d is a directory of mode 0000 that is not empty, tree/l a hard link to precious. */
static void exchange_modes_prepare(const struct scratch *s)
{
	int d = dir_make(s->tree, "d");

	file_make(d, "f");
	assert_int_equal(fchmod(d, 0), 0);
	close(d);
	assert_int_equal(linkat(s->outside, "precious", s->tree, "l", 0), 0);
}

/* What a removal does that undoes a mode by name, though it has looked and follows no symbolic link. */
static bool naive_chmod_escapes(const struct scratch *s)
{
	struct stat st;

	if (fstatat(s->tree, "d", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (fchmodat(s->tree, "d", 0700, 0) < 0)
		return false;
	if (fstatat(s->outside, "precious", &st, 0) < 0 || (st.st_mode & 07777) == 0600)
		return false;
	return fchmodat(s->outside, "precious", 0600, 0) == 0;
}

static int exchanged_modes_child(struct scratch *s)
{
	unsigned int escapes = 0;
	pid_t pid;

	CHILD_CHECK(become_ordinary(s) == 0);
	exchange_modes_prepare(s);
	pid = exchanger_start(s->tree);
	for (int i = 0; i < 2000000 && escapes < 3; i++)
		escapes += naive_chmod_escapes(s);
	exchanger_end(pid);
	CHILD_CHECK(escapes > 0); /* control: the exchanger does lead the unwary out */

	for (int round = 0; round < 100; round++) {
		struct removal r;

		pid = exchanger_start(s->tree);
		for (int i = 0; i < 1000 && workspace_remove_at(s->fd, "tree", &r, NULL) < 0; i++)
			; /* a name that was exchanged at each look counts as failed */
		exchanger_end(pid);
		CHILD_CHECK(!exists(s->fd, "tree"));
		assert_outside_whole(s);
		close(s->tree);
		s->tree = dir_make(s->fd, "tree");
		exchange_modes_prepare(s);
	}
	return 0;
}

static void exchanged_modes_do_not_lead_out(void **state)
{
	assert_int_equal(in_child(exchanged_modes_child, *state), 0);
}

/* ---- depth ---- */

static void chain_make(int tree, unsigned int depth)
{
	int at = fcntl(tree, F_DUPFD_CLOEXEC, 0);

	for (unsigned int i = 0; i < depth; i++) {
		int next = dir_make(at, "d");

		file_make(at, "f");
		close(at);
		at = next;
	}
	close(at);
}

static void removes_deep_trees_with_few_descriptors(void **state)
{
	struct scratch *s = *state;
	struct rlimit old, tight;

	chain_make(s->tree, 3000);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	tight.rlim_cur = 0;
	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			tight.rlim_cur = (rlim_t)fd + 1;
	tight.rlim_cur += 17;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	assert_removes(s, 6001);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(renames > 100 && renames < 400);
}

static void ordinary_trees_are_not_renamed(void **state)
{
	chain_make(((struct scratch *)*state)->tree, 15);
	assert_removes(*state, 31);
	assert_int_equal(renames, 0);
}

/* btrfs: what is in a subvolume may not leave it (EXDEV), but the subvolume itself may be moved. */
static int refuse_children(int from, const char *name, int to, const char *new_name)
{
	(void)from, (void)to, (void)new_name;
	return strcmp(name, "d") == 0 && renames % 32 < 20 ? EXDEV : 0;
}

static void hoists_levels_where_children_may_not_move(void **state)
{
	rename_refusal = refuse_children;
	chain_make(((struct scratch *)*state)->tree, 500);
	assert_removes(*state, 1001);
}

/* fscrypt without its key: no rename at all.  What is too deep stays, is counted and named, and it ends. */
static int refuse_all(int from, const char *name, int to, const char *new_name)
{
	(void)from, (void)name, (void)to, (void)new_name;
	return ENOKEY;
}

static void counts_what_is_too_deep_to_move(void **state)
{
	struct scratch *s = *state;
	struct removal r;
	struct error err = { 0 };

	rename_refusal = refuse_all;
	chain_make(s->tree, 40);
	assert_int_equal(workspace_remove_at(s->fd, "tree", &r, &err), -ENOKEY);
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.entries, 16);
	assert_non_null(strstr(err.text, "1 left, the first is \"d\" in \"./d/d/"));
	rename_refusal = NULL;
	assert_removes(s, 81 - 16);
}

/* ---- names that appear, names that stay ---- */

static unsigned int appear;

static void appear_before_rmdir(int dirfd, const char *name, int flags)
{
	int tree;

	if (!(flags & AT_REMOVEDIR) || strcmp(name, "tree") != 0 || appear == 0)
		return;
	appear--;
	tree = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	chain_make(tree, 2);
	close(tree);
}

static void takes_what_appears(void **state)
{
	struct scratch *s = *state;

	appear = 5;
	before_unlink = appear_before_rmdir;
	file_make(s->tree, "f0");
	assert_removes(s, 5 * 4 + 2);
	assert_int_equal(appear, 0);
}

static void gives_up_on_a_flood(void **state)
{
	struct scratch *s = *state;
	struct removal r;
	struct error err = { 0 };

	appear = 1000;
	before_unlink = appear_before_rmdir;
	file_make(s->tree, "f0");
	assert_int_equal(workspace_remove_at(s->fd, "tree", &r, &err), -ENOTEMPTY);
	assert_int_equal(appear, 1000 - WORKSPACE_PASSES);
	assert_int_equal(r.failed, 1);
	assert_non_null(strstr(err.text, "names keep appearing"));
	before_unlink = NULL;
	assert_removes(s, 5);
}

/* A real process that makes names while we remove. */
static void survives_a_live_writer(void **state)
{
	struct scratch *s = *state;
	struct removal r;
	uint64_t removed = 0;
	pid_t pid = fork();

	for (unsigned int i = 0; pid == 0; i++) {
		char name[32];

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)snprintf(name, sizeof(name), "a%u", i % 7);
		(void)mkdirat(s->tree, name, 0);
		(void)snprintf(name, sizeof(name), "a%u/b%u", i % 7, i);
		(void)mkdirat(s->tree, name, 0700);
		(void)mknodat(s->tree, name, S_IFREG | 0600, 0);
		(void)fchmodat(s->tree, "a1", 0, 0);
	}
	assert_true(pid > 0);
	while (!exists(s->tree, "a6")) /* it is at work */
		sched_yield();
	for (int i = 0; i < 2000 && exists(s->fd, "tree"); i++) {
		(void)workspace_remove_at(s->fd, "tree", &r, NULL);
		removed += r.entries;
	}
	exchanger_end(pid);
	assert_int_equal(workspace_remove_at(s->fd, "tree", &r, NULL), 0);
	assert_true(removed + r.entries > 7); /* control: it did make some */
	assert_outside_whole(s);
}

static int flags_set(int fd, int flags)
{
	return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static void counts_and_names_the_immutable(void **state)
{
	struct scratch *s = *state;
	struct removal r;
	struct error err = { 0 };
	int sub = dir_make(s->tree, "sub");
	int file;

	file_make(sub, "stay\nhere");
	file_make(sub, "go");
	file_make(s->tree, "go");
	file = openat(sub, "stay\nhere", O_RDONLY | O_CLOEXEC);
	if (flags_set(file, FS_IMMUTABLE_FL) < 0) {
		close(file);
		close(sub);
		skip_because("the immutable flag needs CAP_LINUX_IMMUTABLE and a filesystem that has it");
	}
	assert_int_equal(workspace_remove_at(s->fd, "tree", &r, &err), -EPERM);
	assert_int_equal(r.failed, 1);
	assert_int_equal(r.entries, 2);
	assert_non_null(strstr(err.text, "1 left, the first is \"stay\\x0ahere\" in \"./sub/\": Operation not"));
	assert_null(strchr(err.text, '\n'));
	assert_int_equal(flags_set(file, 0), 0);
	close(file);
	close(sub);
	assert_removes(s, 3); /* control: the flag alone was in the way */
}

/* A directory of somebody else that is not empty: no right of ours removes it. */
static int removal_of_a_strangers(struct scratch *s)
{
	struct removal r;
	struct error err = { 0 };
	int sub = openat(s->tree, "root's", O_RDONLY | O_DIRECTORY);

	CHILD_CHECK(sub >= 0 && become_ordinary(s) == 0);
	CHILD_CHECK(workspace_remove_at(s->fd, "tree", &r, &err) == -EACCES);
	CHILD_CHECK(r.failed == 1 && strstr(err.text, "\"x\" in \"./root's/\""));
	return 0;
}

static void counts_what_belongs_to_others(void **state)
{
	struct scratch *s = *state;
	int sub;

	if (geteuid() != 0)
		skip_because("needs root to make a directory of another uid");
	sub = dir_make(s->tree, "root's");
	file_make(sub, "x");
	assert_int_equal(fchmod(sub, 0755), 0);
	close(sub);
	assert_int_equal(in_child(removal_of_a_strangers, s), 0);
	assert_removes(s, 3); /* control: with the rights of root it goes */
}

/* ---- mounts ---- */

/* Descriptors from before see the mounts of before: a new one for the scratch directory. */
static int mounts_of_our_own(struct scratch *s)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	close(s->fd);
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return s->fd < 0 ? -1 : 0;
}

/* Three mounts on tree/dir, and tree/file is outside/precious. */
static int mounts_begin(struct scratch *s)
{
	char target[96], source[96];
	int dir = dir_make(s->tree, "dir");
	int mounted;

	file_make(dir, "under");
	file_make(s->tree, "file");
	close(dir);
	if (mounts_of_our_own(s) < 0)
		return -1;
	for (int i = 0; i < 3; i++) { /* a stack */
		(void)snprintf(target, sizeof(target), "%s/tree/dir", s->path);
		if (mount("test_workspace", target, "tmpfs", 0, NULL) < 0)
			return -1;
	}
	mounted = open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file_make(mounted, "foreign");
	(void)snprintf(target, sizeof(target), "%s/tree/file", s->path);
	(void)snprintf(source, sizeof(source), "%s/outside/precious", s->path);
	return mount(source, target, NULL, MS_BIND, NULL) < 0 ? -1 : mounted;
}

static int detaches_mounts_child(struct scratch *s)
{
	struct removal r;
	struct error err = { 0 };
	int mounted = mounts_begin(s);

	CHILD_CHECK(mounted >= 0);
	CHILD_CHECK(unlinkat(s->fd, "tree/dir", AT_REMOVEDIR) < 0 && errno == EBUSY);
	CHILD_CHECK(unlinkat(s->fd, "tree/file", 0) < 0 && errno == EBUSY);
	CHILD_CHECK(workspace_remove_at(s->fd, "tree", &r, &err) == 0);
	CHILD_CHECK(r.mounts == 4 && r.entries == 4 && r.failed == 0);
	CHILD_CHECK(exists(mounted, "foreign") && exists(s->outside, "precious"));
	CHILD_CHECK(unlinkat(mounted, "foreign", 0) == 0); /* control: nothing but our care kept them */
	CHILD_CHECK(unlinkat(s->outside, "precious", 0) == 0);
	return 0;
}

static int detaches_top_child(struct scratch *s)
{
	char target[96];
	struct removal r;

	file_make(s->tree, "under");
	CHILD_CHECK(mounts_of_our_own(s) == 0);
	(void)snprintf(target, sizeof(target), "%s/tree", s->path);
	CHILD_CHECK(mount("test_workspace", target, "tmpfs", 0, NULL) == 0);
	CHILD_CHECK(workspace_remove_at(s->fd, "tree", &r, NULL) == 0);
	CHILD_CHECK(r.mounts == 1 && r.entries == 2);
	return 0;
}

static int cap_drop(unsigned int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -1;
	data[cap / 32].effective &= ~(1U << cap % 32);
	return (int)syscall(SYS_capset, &header, data);
}

static int never_crosses_child(struct scratch *s)
{
	struct removal r;
	struct error err = { 0 };
	int mounted = mounts_begin(s);

	CHILD_CHECK(mounted >= 0 && cap_drop(CAP_SYS_ADMIN) == 0);
	CHILD_CHECK(workspace_remove_at(s->fd, "tree", &r, &err) == -EBUSY);
	CHILD_CHECK(r.mounts == 0 && r.failed == 2 && r.entries == 0);
	CHILD_CHECK(strstr(err.text, "a mount that we may not detach"));
	CHILD_CHECK(exists(mounted, "foreign"));
	CHILD_CHECK(unlinkat(mounted, "foreign", 0) == 0); /* control, as above */
	return 0;
}

static void mounts_in_child(struct scratch *s, int (*f)(struct scratch *))
{
	if (geteuid() != 0)
		skip_because("needs root to mount");
	assert_int_equal(in_child(f, s), 0);
}

static void detaches_mounts(void **state)
{
	mounts_in_child(*state, detaches_mounts_child);
}

static void detaches_a_mount_on_the_top(void **state)
{
	mounts_in_child(*state, detaches_top_child);
}

static void never_crosses_a_mount(void **state)
{
	mounts_in_child(*state, never_crosses_child);
}

/* ---- base ---- */

static int base_try(const struct scratch *s, const char *name, struct error *err)
{
	char path[96], opened[128];
	int fd = -1;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s", s->path, name);
	rc = workspace_base_open(path, &fd, opened, sizeof(opened), err);
	if (rc < 0)
		assert_int_equal(fd, -1);
	else
		close(fd);
	return rc;
}

static void base_is_made_and_judged(void **state)
{
	struct scratch *s = *state;
	struct error err = { 0 };
	struct stat st;

	assert_int_equal(base_try(s, "fresh", &err), 0);
	assert_int_equal(fstatat(s->fd, "fresh", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(base_try(s, "fresh", &err), 0); /* again, now that it is there */
	assert_int_equal(base_try(s, "fresh//", &err), 0);

	assert_int_equal(symlinkat("fresh", s->fd, "link"), 0); /* to one that is accepted under its own name */
	assert_int_equal(base_try(s, "link", &err), -EPERM);
	assert_int_equal(base_try(s, "link/", &err), -EPERM);
	assert_non_null(strstr(err.text, "link"));
	file_make(s->fd, "file");
	assert_int_equal(base_try(s, "file", &err), -EPERM);
	for (mode_t bit = 1; bit <= 040; bit <<= 1) {
		assert_int_equal(fchmodat(s->fd, "fresh", 0700 | bit, 0), 0);
		assert_int_equal(base_try(s, "fresh", &err), -EPERM);
		assert_non_null(strstr(err.text, "open to others"));
	}
	assert_int_equal(fchmodat(s->fd, "fresh", 0700, 0), 0);
	assert_int_equal(base_try(s, "fresh", &err), 0); /* control: the bits alone were in the way */
	assert_int_equal(base_try(s, "no/parent", &err), -ENOENT);
}

static void base_of_another_is_refused(void **state)
{
	struct scratch *s = *state;
	struct error err = { 0 };

	if (geteuid() != 0)
		skip_because("needs root to make a directory of another uid");
	assert_int_equal(base_try(s, "fresh", &err), 0);
	assert_int_equal(fchownat(s->fd, "fresh", 12345, 12345, 0), 0);
	assert_int_equal(base_try(s, "fresh", &err), -EPERM);
	assert_non_null(strstr(err.text, "belongs to uid 12345"));
}

static void base_path_too_long(void **state)
{
	struct scratch *s = *state;
	struct workspace w = WORKSPACE_INIT;
	struct error err = { 0 };
	char opened[16];
	char path[500];
	int fd = -1;

	assert_int_equal(workspace_base_open(s->path, &fd, opened, sizeof(opened), &err), -ENAMETOOLONG);
	(void)snprintf(path, sizeof(path), "%s/%0*d", s->path, 250, 0);
	(void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%0*d", 205, 0);
	assert_int_equal(workspace_make(&w, path, geteuid(), getegid(), &err), -ENAMETOOLONG);
	assert_int_equal(w.fd, -1);
}

/* ---- making ---- */

static void base_of(const struct scratch *s, char out[96])
{
	(void)snprintf(out, 96, "%s/base", s->path);
}

static struct workspace workspace_of(const struct scratch *s)
{
	struct workspace w = WORKSPACE_INIT;
	struct error err = { 0 };
	char base[96];

	base_of(s, base);
	if (workspace_make(&w, base, geteuid(), getegid(), &err) < 0)
		fail_msg("%s", err.text);
	return w;
}

static void makes_and_removes(void **state)
{
	struct scratch *s = *state;
	unsigned int before = fds_open();
	mode_t mask = umask(0277);
	struct workspace w, other;
	struct stat st, named;
	struct removal r;
	int fd;

	(void)mkdirat(s->fd, "base", 0700);
	assert_int_equal(fchmodat(s->fd, "base", 0700, 0), 0);
	w = workspace_of(s); /* whatever the umask says */
	(void)umask(mask);
	other = workspace_of(s);
	assert_int_equal(strspn(w.name, "0123456789abcdef"), WORKSPACE_NAME_LEN);
	assert_string_not_equal(w.name, other.name);
	assert_string_equal(strrchr(w.path, '/') + 1, w.name);
	assert_int_equal(fstat(w.fd, &st), 0);
	assert_int_equal(stat(w.path, &named), 0);
	assert_int_equal(st.st_ino, named.st_ino);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(st.st_uid, geteuid());
	assert_true(fcntl(w.fd, F_GETFD) & FD_CLOEXEC && fcntl(w.base_fd, F_GETFD) & FD_CLOEXEC);

	fd = open(w.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
	file_make(w.fd, "f");
	assert_int_equal(fchmod(w.fd, 0), 0);
	assert_int_equal(workspace_remove(&w, &r, NULL), 0);
	assert_int_equal(r.entries, 2);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* control: it was the workspace that held it */
	close(fd);
	assert_true(access(w.path, F_OK) < 0 && access(other.path, F_OK) == 0);
	assert_int_equal(workspace_remove(&w, &r, NULL), 0);
	assert_int_equal(r.entries, 0);
	assert_int_equal(workspace_remove(&other, NULL, NULL), 0);
	assert_int_equal(fds_open(), before);
}

static void half_made_is_safe_to_remove(void **state)
{
	struct scratch *s = *state;
	struct workspace w = WORKSPACE_INIT;
	struct error err = { 0 };
	unsigned int before = fds_open();
	char base[96];

	assert_int_equal(workspace_remove(&w, NULL, NULL), 0);
	base_of(s, base);
	if (geteuid() != 0) { /* the chown is refused: nothing is left, and *out is as it was */
		assert_int_equal(workspace_make(&w, base, 0, 0, &err), -EPERM);
		assert_int_equal(w.fd, -1);
		assert_int_equal(unlinkat(s->fd, "base", AT_REMOVEDIR), 0);
	}
	assert_int_equal(fds_open(), before);
}

static void gives_to_another_owner(void **state)
{
	struct scratch *s = *state;
	struct workspace w = WORKSPACE_INIT;
	struct error err = { 0 };
	struct stat st;
	char base[96];

	if (geteuid() != 0)
		skip_because("needs root to give a directory away");
	base_of(s, base);
	assert_int_equal(workspace_make(&w, base, 12345, 54321, &err), 0);
	assert_int_equal(fstat(w.fd, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 54321);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_int_equal(workspace_remove(&w, NULL, &err), 0);
}

/* ---- sweeping ---- */

/* A run that died: its descriptors are closed, its directory is there. */
static void dead_make(const struct scratch *s, char name[WORKSPACE_NAME_LEN + 1])
{
	struct workspace w = workspace_of(s);

	chain_make(w.fd, 3);
	assert_int_equal(fchmod(w.fd, 0), 0);
	memcpy(name, w.name, sizeof(w.name));
	close(w.fd);
	close(w.base_fd);
}

static int sweep(const struct scratch *s, unsigned int most)
{
	struct error err = { 0 };
	char base[96];
	int rc;

	base_of(s, base);
	rc = workspace_sweep(base, most, &err);
	if (rc < 0)
		print_message("sweep: %s\n", err.text);
	return rc;
}

static void sweeps_the_old_and_dead_only(void **state)
{
	struct timespec future[2] = { { .tv_sec = time(NULL) + 60 }, { .tv_sec = time(NULL) + 60 } };
	static const char link[] = "0123456789abcdef0123456789abcdef";
	struct scratch *s = *state;
	char name[WORKSPACE_NAME_LEN + 1];
	struct workspace alive = workspace_of(s);
	unsigned int before = fds_open();

	dead_make(s, name);
	assert_int_equal(sweep(s, 9), 0); /* too young */
	assert_true(exists(alive.base_fd, name));
	assert_int_equal(utimensat(alive.base_fd, name, future, 0), 0); /* its owner may look young; it does not help */
	assert_int_equal(symlinkat("../outside", alive.base_fd, link), 0);
	close(dir_make(alive.base_fd, "not-a-workspace"));
	close(dir_make(alive.base_fd, "0123456789ABCDEF0123456789ABCDEF"));
	file_make(alive.base_fd, "fedcba9876543210fedcba9876543210");
	clock_ahead_s = 60;
	assert_int_equal(sweep(s, 9), 1);
	assert_false(exists(alive.base_fd, name));
	assert_true(exists(alive.base_fd, alive.name) && exists(alive.base_fd, link));
	assert_true(exists(alive.base_fd, "not-a-workspace"));
	assert_true(exists(alive.base_fd, "0123456789ABCDEF0123456789ABCDEF"));
	assert_true(exists(alive.base_fd, "fedcba9876543210fedcba9876543210"));
	assert_outside_whole(s);
	assert_int_equal(fds_open(), before);
	close(alive.fd); /* control: the lock alone kept it */
	assert_int_equal(sweep(s, 9), 1);
	assert_false(exists(alive.base_fd, alive.name));
	close(alive.base_fd);
}

static void sweeps_no_more_than_asked(void **state)
{
	struct scratch *s = *state;
	char name[WORKSPACE_NAME_LEN + 1];

	for (int i = 0; i < 5; i++)
		dead_make(s, name);
	clock_ahead_s = 60;
	assert_int_equal(sweep(s, 0), 0);
	assert_int_equal(sweep(s, 2), 2);
	assert_int_equal(sweep(s, 9), 3);
	clock_ahead_s = -3600; /* the clock was set back: still swept */
	dead_make(s, name);
	assert_int_equal(sweep(s, 9), 1);
}

static void sweeps_past_what_stays(void **state)
{
	struct scratch *s = *state;
	char first[WORKSPACE_NAME_LEN + 1], name[WORKSPACE_NAME_LEN + 1];
	struct error err = { 0 };
	char base[96];
	int fd;

	base_of(s, base);
	dead_make(s, first);
	fd = openat(s->fd, "base", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)fchmodat(fd, first, 0700, 0);
	close(s->tree);
	s->tree = openat(fd, first, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(fd);
	if (flags_set(s->tree, FS_IMMUTABLE_FL) < 0)
		skip_because("the immutable flag needs CAP_LINUX_IMMUTABLE and a filesystem that has it");
	clock_ahead_s = 60;
	assert_int_equal(workspace_sweep(base, 9, &err), -EPERM);
	dead_make(s, name);
	err.code = 0;
	assert_int_equal(workspace_sweep(base, 9, &err), 1);
	assert_int_equal(err.code, EPERM);
	assert_non_null(strstr(err.text, first));
	assert_int_equal(flags_set(s->tree, 0), 0);
	assert_int_equal(workspace_sweep(base, 9, NULL), 1);
}

/* Another sweeper ends between the open and the lock: whoever locks then holds a directory that is gone. */
static struct workspace beside;
static const char *doomed; /* NULL: whichever */

static void remove_before_lock(int fd, int operation)
{
	struct stat st;
	char proc[32], path[256] = "";

	(void)operation;
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	assert_true(readlink(proc, path, sizeof(path) - 1) > 0);
	if (doomed && strcmp(strrchr(path, '/') + 1, doomed) != 0)
		return;
	before_flock = NULL;
	assert_int_equal(workspace_remove_at(beside.base_fd, strrchr(path, '/') + 1, NULL, NULL), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(stat(path, &st) < 0);
}

static void a_lock_on_what_is_gone_counts_for_nothing(void **state)
{
	struct scratch *s = *state;
	char name[WORKSPACE_NAME_LEN + 1];
	struct workspace w;

	beside = workspace_of(s);
	doomed = NULL;
	before_flock = remove_before_lock;
	w = workspace_of(s);
	assert_null(before_flock);
	assert_int_equal(access(w.path, F_OK), 0); /* it made another */
	dead_make(s, name);
	clock_ahead_s = 60;
	doomed = name;
	before_flock = remove_before_lock;
	assert_int_equal(sweep(s, 9), 0); /* and a sweeper does not claim what another removed */
	assert_null(before_flock);
	assert_int_equal(workspace_remove(&w, NULL, NULL), 0);
	assert_int_equal(workspace_remove(&beside, NULL, NULL), 0);
}

/* Several sweepers and makers at once: each dead workspace is removed by exactly one, no live one by any. */
static void sweepers_race(void **state)
{
	enum { SWEEPERS = 4, DEAD = 200, ALIVE = 100 };
	struct scratch *s = *state;
	struct workspace alive[ALIVE];
	char name[WORKSPACE_NAME_LEN + 1];
	pid_t pids[SWEEPERS];
	int total = 0;

	for (int i = 0; i < DEAD; i++)
		dead_make(s, name);
	clock_ahead_s = 60; /* so that those between mkdir and flock are fair game too */
	for (int i = 0; i < SWEEPERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			int swept = 0;

			for (int round = 0; round < 50; round++) {
				int rc = sweep(s, 1000);

				if (rc < 0)
					_exit(255);
				swept += rc;
			}
			_exit(swept);
		}
	}
	for (int i = 0; i < ALIVE; i++)
		alive[i] = workspace_of(s);
	for (int i = 0; i < SWEEPERS; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
		total += WEXITSTATUS(status);
	}
	assert_in_range(total, DEAD, DEAD + ALIVE * 8); /* more: one came between mkdir and flock, another was made */
	for (int i = 0; i < ALIVE; i++) {
		assert_int_equal(access(alive[i].path, F_OK), 0);
		assert_int_equal(workspace_remove(&alive[i], NULL, NULL), 0);
	}
	assert_int_equal(unlinkat(s->fd, "base", AT_REMOVEDIR), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(removes_a_plain_tree),
		TEST(refuses_what_is_not_one_directory),
		TEST(removes_hostile_names),
		TEST(undoes_hostile_modes),
		TEST(undoes_modes_on_older_kernels),
		TEST(links_do_not_lead_out),
		TEST(exchanged_directories_do_not_lead_out),
		TEST(exchanged_at_the_worst_moment),
		TEST(exchanged_modes_do_not_lead_out),
		TEST(removes_deep_trees_with_few_descriptors),
		TEST(ordinary_trees_are_not_renamed),
		TEST(hoists_levels_where_children_may_not_move),
		TEST(counts_what_is_too_deep_to_move),
		TEST(takes_what_appears),
		TEST(gives_up_on_a_flood),
		TEST(survives_a_live_writer),
		TEST(counts_and_names_the_immutable),
		TEST(counts_what_belongs_to_others),
		TEST(detaches_mounts),
		TEST(detaches_a_mount_on_the_top),
		TEST(never_crosses_a_mount),
		TEST(base_is_made_and_judged),
		TEST(base_of_another_is_refused),
		TEST(base_path_too_long),
		TEST(makes_and_removes),
		TEST(half_made_is_safe_to_remove),
		TEST(gives_to_another_owner),
		TEST(sweeps_the_old_and_dead_only),
		TEST(sweeps_no_more_than_asked),
		TEST(sweeps_past_what_stays),
		TEST(a_lock_on_what_is_gone_counts_for_nothing),
		TEST(sweepers_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
