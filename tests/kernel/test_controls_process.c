/* What a process is given and leaves on the real kernel: limits, its tree, session, descriptors and environment.  What
 * is allowed works, what is forbidden fails, and without that control alone the forbidden act succeeds. */
#include "act.h"

#include <sys/resource.h>

#include "isolation/tree.h"

#define SOME_UID 64101u /* nobody's */

/* ---- limits ---- */

static int limit_all(struct confinement *c, struct error *err)
{
	struct rlimit core;
	int r = 0;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_CORE, &core) < 0)
		return error_errno(err, "getrlimit");
	core.rlim_cur = core.rlim_max;
	if (setrlimit(RLIMIT_CORE, &core) < 0) /* so that there is something to take */
		return error_errno(err, "setrlimit");
	if (uses(c, MECH_RLIMITS))
		r = rlimits_apply(c, err);
	return r == 0 ? rlimits_apply_files(c, err) : r;
}

static int open_64(void)
{
	for (int i = 0; i < 64; i++) {
		if (fcntl(report_fd, F_DUPFD_CLOEXEC, 0) < 0)
			return -1;
	}
	return 0;
}

static void test_rlimits_open_files(void **state)
{
	(void)state;
	wish.limits.open_files = 32;
	assert_int_equal(outcome(M(RLIMITS), limit_all, open_planted), 0);
	assert_int_equal(outcome(M(RLIMITS), limit_all, open_64), EMFILE);
	assert_int_equal(outcome(0, limit_all, open_64), 0);
}

static int write_at(off_t at)
{
	char path[96];
	autofd fd = -1;

	(void)snprintf(path, sizeof(path), "%s/written", scratch);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || unlink(path) < 0)
		return result(EIO);
	return pwrite(fd, "x", 1, at) == 1 ? 0 : -1;
}

static int write_last_byte(void)
{
	return write_at(65535);
}

static int write_beyond(void)
{
	return write_at(65536);
}

static void test_rlimits_file_size(void **state)
{
	(void)state;
	wish.limits.disk_bytes = 65536;
	assert_int_equal(outcome(M(RLIMITS), limit_all, write_last_byte), 0);
	assert_int_equal(outcome(M(RLIMITS), limit_all, write_beyond), EFBIG);
	assert_int_equal(outcome(0, limit_all, write_beyond), 0);
}

static int have_limit(__rlimit_resource_t what, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0)
		return -1;
	return result(l.rlim_cur <= most && l.rlim_max <= most ? EPERM : 0);
}

static int dump_core(void)
{
	return have_limit(RLIMIT_CORE, 0);
}

static int run_long(void)
{
	return have_limit(RLIMIT_CPU, 7);
}

/* Looked at, not overrun: a core would lie where the host wants it, and a limit of time takes its time. */
static void test_rlimits_core_and_time(void **state)
{
	(void)state;
	wish.limits.cpu_time_ms = 5000;
	need(__func__, outcome(0, limit_all, dump_core) == 0, "our own hard limit on core files is 0 already");
	assert_int_equal(outcome(M(RLIMITS), limit_all, dump_core), EPERM);
	assert_int_equal(outcome(M(RLIMITS), limit_all, run_long), EPERM);
	assert_int_equal(outcome(0, limit_all, run_long), 0);
}

#define FORKS 12 /* and never more */
static int forks_wanted;

static int fork_some(void)
{
	pid_t pids[FORKS];
	int n = 0, code = 0;

	while (n < forks_wanted && (pids[n] = fork()) >= 0) {
		if (pids[n] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			(void)pause();
			_exit(0);
		}
		n++;
	}
	if (n < forks_wanted)
		code = errno;
	for (int i = 0; i < n; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	return result(code);
}

static int forks(mechanism_set use, setup_fn setup, int count)
{
	forks_wanted = count;
	return outcome(use, setup, fork_some);
}

/* Root is not counted, so it becomes somebody, as every workload of its does. */
static int limit_sandbox(struct confinement *c, struct error *err)
{
	int r = creds_become(c, err);

	return r == 0 ? limit_all(c, err) : r;
}

static int limit_user(struct confinement *c, struct error *err)
{
	int r = setresuid(SOME_UID, SOME_UID, SOME_UID) < 0 ? error_errno(err, "become uid %u", SOME_UID) : 0;

	c->host_uid = SOME_UID;
	return r == 0 ? limit_all(c, err) : r;
}

/* With a user namespace the whole sandbox is counted, and nothing else: pids + 1 with init, the act's process. */
static void test_rlimits_processes_of_a_sandbox(void **state)
{
	(void)state;
	need_namespaces(__func__);
	wish.limits.pids = 4;
	somebody = privileged() ? SOME_UID : 0;
	assert_int_equal(forks(M(USERNS) | M(RLIMITS), limit_sandbox, 4), 0);
	assert_int_equal(forks(M(USERNS) | M(RLIMITS), limit_sandbox, 5), EAGAIN);
	assert_int_equal(forks(M(USERNS), limit_sandbox, FORKS), 0);
}

/* Without one the user's other processes count as well, so there is room for as many again. */
static void test_rlimits_processes_of_a_user(void **state)
{
	(void)state;
	need(__func__, privileged(), "needs a user that runs nothing else");
	need(__func__, tree_threads_of_user(SOME_UID) == 0, "uid 64101 runs something, which counts");
	wish.limits.pids = 4;
	assert_int_equal(forks(M(RLIMITS), limit_user, 8), 0);
	assert_int_equal(forks(M(RLIMITS), limit_user, 9), EAGAIN);
	assert_int_equal(forks(0, limit_user, FORKS), 0);
}

/* ---- the tree ---- */

static struct witness orphan;

/* What init_main() does where there is no pid namespace. */
static int be_subreaper(struct confinement *c, struct error *err)
{
	if (uses(c, MECH_SUBREAPER) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return error_errno(err, "become a subreaper");
	return 0;
}

/* The act that must be possible: to reap what lost its parents.  ECHILD: it is another's. */
static int reap_orphan(void)
{
	pid_t pid = witness_orphan(&orphan);

	return pid > 0 && write(orphan.ask[1], "?", 1) == 1 && waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static void test_subreaper_gets_the_orphans(void **state)
{
	(void)state;
	witness_prepare(&orphan);
	assert_int_equal(outcome(M(SUBREAPER), be_subreaper, reap_orphan), 0);
	(void)witness_lives(&orphan);
	witness_prepare(&orphan);
	assert_int_equal(outcome(0, be_subreaper, reap_orphan), ECHILD);
	(void)witness_lives(&orphan);
}

static int kill_tree(void)
{
	pid_t child = fork();

	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		(void)pause();
		_exit(0);
	}
	if (child < 0 || witness_orphan(&orphan) < 0)
		return result(EIO);
	tree_kill_inside(&confined);
	return result(waitpid(-1, NULL, 0) < 0 && errno == ECHILD ? 0 : EBUSY);
}

/* The forbidden act is to outlive it. */
static void test_subreaper_sweep_leaves_nothing(void **state)
{
	(void)state;
	witness_prepare(&orphan);
	assert_int_equal(outcome(M(SUBREAPER), be_subreaper, kill_tree), 0);
	assert_false(witness_lives(&orphan));
	witness_prepare(&orphan);
	assert_int_equal(outcome(0, be_subreaper, kill_tree), 0);
	assert_true(witness_lives(&orphan));
}

static int scope_signals(struct confinement *c, struct error *err)
{
	int r = nnp_apply(c, err);

	return r == 0 ? landlock_enter_outer(c, err) : r;
}

static int scope_and_reap(struct confinement *c, struct error *err)
{
	int r = scope_signals(c, err);

	return r == 0 ? be_subreaper(c, err) : r;
}

/* The same by kill(-1) from the outer Landlock domain.  A control arm without it would be dangerous here: see
 * test_outer_domain_bounds_kill_all. */
static void test_scoped_kill_leaves_nothing(void **state)
{
	(void)state;
	need_landlock(__func__, 6);
	assert_int_equal(outcome(M(LANDLOCK_SCOPE), scope_signals, signal_tester),
			 EPERM); /* else what follows is not safe */
	witness_prepare(&orphan);
	assert_int_equal(outcome(M(SUBREAPER) | M(LANDLOCK_SCOPE), scope_and_reap, kill_tree), 0);
	assert_false(witness_lives(&orphan));
}

/* ---- session and terminal ---- */

static int callers_master = -1, callers_slave = -1, own_master = -1;

static int sit_at_terminal(struct confinement *c, struct error *err)
{
	(void)c;
	callers_slave = take_terminal(&callers_master, err);
	return callers_slave < 0 ? callers_slave : 0;
}

static int leave_session(struct confinement *c, struct error *err)
{
	return uses(c, MECH_SESSION) ? session_apply(c, err) : 0;
}

static int open_tty(void)
{
	return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

static int write_passed(void)
{
	return write(callers_slave, "x", 1) == 1 ? 0 : -1;
}

static int open_tty_with(void)
{
	return outcome_as_act(M(SESSION), leave_session, open_tty);
}

static int open_tty_without(void)
{
	return outcome_as_act(0, leave_session, open_tty);
}

static int write_passed_with(void)
{
	return outcome_as_act(M(SESSION), leave_session, write_passed);
}

static void test_session_has_no_terminal(void **state)
{
	(void)state;
	assert_int_equal(outcome(0, sit_at_terminal, write_passed_with), 0);
	assert_int_equal(outcome(0, sit_at_terminal, open_tty_with), ENXIO);
	assert_int_equal(outcome(0, sit_at_terminal, open_tty_without), 0);
}

/* As init does it; the master comes over the control socket. */
static int take_own_terminal(struct confinement *c, struct error *err)
{
	struct message m;
	pid_t from;
	int pair[2], r = leave_session(c, err);

	if (r < 0 || !uses(c, MECH_SESSION))
		return r;
	r = fd_socketpair(pair, err);
	c->init_fd = pair[1];
	c->stdio.terminal = true;
	c->stdio.rows = 33;
	if (r == 0)
		r = terminal_apply(c, err);
	if (r == 0 && (message_receive(pair[0], &m, &from, &own_master, err) != 1 || m.type != MSG_TERMINAL))
		r = error_set(err, EPROTO, "no terminal came");
	return r;
}

/* The forbidden act: what is written to /dev/tty is seen by the caller.  ENXIO: by the own terminal's holder. */
static int write_to_caller(void)
{
	struct pollfd p[] = { { .fd = callers_master, .events = POLLIN }, { .fd = own_master, .events = POLLIN } };
	int tty = open_tty();

	if (tty < 0 || write(tty, "x", 1) != 1 || poll(p, 2, ACT_SECONDS * 1000) < 1)
		return result(EIO);
	return result(p[0].revents ? 0 : ENXIO);
}

static int ask_own_rows(void)
{
	struct winsize size;

	return ioctl(open_tty(), TIOCGWINSZ, &size) < 0 ? -1 : result(size.ws_row == 33 ? 0 : ERANGE);
}

static int write_to_caller_with(void)
{
	return outcome_as_act(M(SESSION), take_own_terminal, write_to_caller);
}

static int write_to_caller_without(void)
{
	return outcome_as_act(0, take_own_terminal, write_to_caller);
}

static int ask_own_rows_with(void)
{
	return outcome_as_act(M(SESSION), take_own_terminal, ask_own_rows);
}

static void test_terminal_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(outcome(0, sit_at_terminal, ask_own_rows_with), 0);
	assert_int_equal(outcome(0, sit_at_terminal, write_to_caller_with), ENXIO);
	assert_int_equal(outcome(0, sit_at_terminal, write_to_caller_without), 0);
}

/* ---- descriptors ---- */

static int leaked[2], kept[2];

static int close_others(struct confinement *c, struct error *err)
{
	return uses(c, MECH_DESCRIPTORS) ? descriptors_apply(report_fd, kept[0], err) : 0;
}

static int read_leaked(void)
{
	char byte;

	return read(leaked[0], &byte, 1) == 1 ? 0 : -1;
}

static int read_kept(void)
{
	char byte;

	return read(kept[0], &byte, 1) == 1 ? 0 : -1;
}

static int exec_and_read_kept(void)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", kept[0]);
	return exec_self("/proc/self/exe", "--read", number);
}

/* The two that are kept end at execve. */
static void test_descriptors_are_closed(void **state)
{
	(void)state;
	assert_int_equal(pipe(leaked), 0);
	assert_int_equal(pipe(kept), 0);
	assert_int_equal(write(leaked[1], "1", 1), 1);
	assert_int_equal(write(kept[1], "12", 2), 2);
	assert_int_equal(outcome(M(DESCRIPTORS), close_others, read_kept), 0);
	assert_int_equal(outcome(M(DESCRIPTORS), close_others, read_leaked), EBADF);
	assert_int_equal(outcome(0, close_others, read_leaked), 0);
	assert_int_equal(outcome(M(DESCRIPTORS), close_others, exec_and_read_kept), EBADF);
	assert_int_equal(outcome(0, close_others, exec_and_read_kept), 0);
	for (int i = 0; i < 2; i++) {
		(void)close(leaked[i]);
		(void)close(kept[i]);
	}
}

/* ---- environment ---- */

#define SECRET_NAME "BULKHEAD_TEST_SECRET"

static int write_environment(struct confinement *c, struct error *err)
{
	return uses(c, MECH_ENVIRONMENT) ? environment_make(c, err) : 0;
}

static int read_path(void)
{
	return exec_self("/proc/self/exe", "--getenv", "PATH");
}

static int read_home(void)
{
	return exec_self("/proc/self/exe", "--getenv", "HOME");
}

static int read_given(void)
{
	return exec_self("/proc/self/exe", "--getenv", "GIVEN");
}

static int read_environment_secret(void)
{
	return exec_self("/proc/self/exe", "--getenv", SECRET_NAME);
}

static void test_environment_is_written(void **state)
{
	(void)state;
	assert_int_equal(setenv(SECRET_NAME, "1", 1), 0);
	assert_int_equal(boundary_add_env(&wish, "GIVEN=1", NULL), 0);
	for (int tier = TIER_PROCESS; tier <= TIER_SANDBOX; tier++) {
		wish.tier = (enum tier)tier;
		assert_int_equal(outcome(M(ENVIRONMENT), write_environment, read_path), 0);
		assert_int_equal(outcome(M(ENVIRONMENT), write_environment, read_given), 0);
		assert_int_equal(outcome(M(ENVIRONMENT), write_environment, read_environment_secret), ENOENT);
		assert_int_equal(outcome(0, write_environment, read_environment_secret), 0);
	}
	assert_int_equal(outcome(M(ENVIRONMENT), write_environment, read_home), 0);
	assert_int_equal(unsetenv(SECRET_NAME), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CONTROL_TEST(test_rlimits_open_files),
		CONTROL_TEST(test_rlimits_file_size),
		CONTROL_TEST(test_rlimits_core_and_time),
		CONTROL_TEST(test_rlimits_processes_of_a_sandbox),
		CONTROL_TEST(test_rlimits_processes_of_a_user),
		CONTROL_TEST(test_subreaper_gets_the_orphans),
		CONTROL_TEST(test_subreaper_sweep_leaves_nothing),
		CONTROL_TEST(test_scoped_kill_leaves_nothing),
		CONTROL_TEST(test_session_has_no_terminal),
		CONTROL_TEST(test_terminal_of_its_own),
		CONTROL_TEST(test_descriptors_are_closed),
		CONTROL_TEST(test_environment_is_written),
	};

	if (argc == 3)
		return act_of_exec(argv[1], argv[2]);
	return cmocka_run_group_tests(tests, act_group_setup, act_group_teardown);
}
