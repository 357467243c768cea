/* Landlock's domains and the system-call filters on the real kernel: what is allowed works, what is forbidden fails,
 * and without that control alone the forbidden act succeeds. */
#include "act.h"

#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <sys/shm.h>
#include <sys/uio.h>

#include "isolation/tree.h"

/* ---- the workload's Landlock domain ---- */

/* As init and the workload do it, with the scratch directory as the workspace.  no_new_privs is there in both arms. */
static int enter_landlock(struct confinement *c, struct error *err)
{
	int r = nnp_apply(c, err);

	if (r == 0)
		r = landlock_prepare(c, err);
	return r == 0 ? landlock_enter(c, err) : r;
}

static int enter_with_workspace(struct confinement *c, struct error *err)
{
	c->workspace.fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(c->workspace.path, sizeof(c->workspace.path), "%s", scratch);
	return c->workspace.fd < 0 ? error_errno(err, "open %s", scratch) : enter_landlock(c, err);
}

static int read_usr(void)
{
	char head[4];
	autofd fd = open("/usr/bin/true", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) ? 0 : -1;
}

static int list_proc(void)
{
	return open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void test_landlock_closes_files(void **state)
{
	(void)state;
	need_landlock(__func__, 1);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, read_usr), 0);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, open_planted), EACCES);
	assert_int_equal(outcome(0, enter_landlock, open_planted), 0);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, list_proc), EACCES);
	assert_int_equal(outcome(0, enter_landlock, list_proc), 0);
}

static int make_in_workspace(void)
{
	char path[96];
	autofd fd = -1;

	(void)snprintf(path, sizeof(path), "%s/made", scratch);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 || write(fd, "x", 1) != 1 || unlink(path) < 0 ? -1 : 0;
}

/* The project's own forbidden act, a device node, with its control arm. */
static int make_whiteout(void)
{
	struct shown shown = { .landlock_errno = EIO };

	confined.use |= M(LANDLOCK);
	landlock_show(&confined, &shown);
	return result(shown.landlock_errno);
}

static void test_landlock_grants_the_workspace_without_nodes(void **state)
{
	(void)state;
	need_landlock(__func__, 1);
	assert_int_equal(outcome(M(LANDLOCK), enter_with_workspace, make_in_workspace), 0);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, make_in_workspace), EACCES);
	assert_int_equal(outcome(M(LANDLOCK), enter_with_workspace, make_whiteout), EACCES);
	assert_int_equal(outcome(0, enter_with_workspace, make_whiteout), 0);
}

static int tcp_bind(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(fd, (const struct sockaddr *)&any, sizeof(any));
}

static void test_landlock_closes_tcp(void **state)
{
	autofd listener = -1;

	(void)state;
	need_landlock(__func__, 4);
	listener = tcp_listener();
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, tcp_connect), EACCES);
	assert_int_equal(outcome(0, enter_landlock, tcp_connect), 0);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, tcp_bind), EACCES);
	assert_int_equal(outcome(0, enter_landlock, tcp_bind), 0);
	wish.net = NET_HOST;
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, tcp_connect), 0);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, tcp_bind), 0);
}

static char secret_memory[] = "memory of the test";

static int read_memory(pid_t pid)
{
	char copy[sizeof(secret_memory)];
	const struct iovec here = { .iov_base = copy, .iov_len = sizeof(copy) };
	const struct iovec there = { .iov_base = secret_memory, .iov_len = sizeof(copy) };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 ? -1 : 0;
}

static int read_testers_memory(void)
{
	return read_memory(tester);
}

static int read_own_childs_memory(void)
{
	int hold[2], code;
	char word;
	pid_t pid;

	if (pipe(hold) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)close(hold[1]);
		(void)!read(hold[0], &word, 1);
		_exit(0);
	}
	code = read_memory(pid) == 0 ? 0 : errno;
	(void)close(hold[1]);
	(void)waitpid(pid, NULL, 0);
	return result(code);
}

/* Landlock's ptrace rule: what is outside the domain cannot be traced from inside. */
static void test_landlock_closes_memory(void **state)
{
	(void)state;
	need_landlock(__func__, 1);
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* EINVAL where there is no Yama to ask */
	need(__func__, outcome(0, enter_landlock, read_own_childs_memory) == 0,
	     "this kernel lets nobody read memory (kernel.yama.ptrace_scope?)");
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, read_own_childs_memory), 0);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, read_testers_memory), EPERM);
	assert_int_equal(outcome(0, enter_landlock, read_testers_memory), 0);
}

/* ---- Landlock's scopes ---- */

static void test_landlock_scope_keeps_signals_in(void **state)
{
	(void)state;
	need_landlock(__func__, 6);
	assert_int_equal(outcome(M(LANDLOCK_SCOPE), enter_landlock, signal_own_child), 0);
	assert_int_equal(outcome(M(LANDLOCK_SCOPE), enter_landlock, signal_tester), EPERM);
	assert_int_equal(outcome(0, enter_landlock, signal_tester), 0);
	assert_int_equal(outcome(M(LANDLOCK_SCOPE) | M(LANDLOCK), enter_landlock, signal_tester), EPERM);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, signal_tester), 0);
}

static int abstract_of_own(void)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(any);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* autobind (unix(7)): the kernel chooses a free abstract name */
	if (bind(server, (const struct sockaddr *)&any, sizeof(any.sun_family)) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, (struct sockaddr *)&any, &size) < 0)
		return -1;
	return connect(fd, (const struct sockaddr *)&any, size);
}

/* Only with a domain over files: the process tier, which has the signal scope alone, promises no network. */
static void test_landlock_scope_keeps_abstract_sockets_in(void **state)
{
	const mechanism_set both = M(LANDLOCK) | M(LANDLOCK_SCOPE);
	autofd listener = -1;

	(void)state;
	need_landlock(__func__, 6);
	listener = abstract_listener();
	assert_int_equal(outcome(both, enter_landlock, abstract_of_own), 0);
	assert_int_equal(outcome(both, enter_landlock, abstract_connect), EPERM);
	assert_int_equal(outcome(M(LANDLOCK), enter_landlock, abstract_connect), 0);
	assert_int_equal(outcome(M(LANDLOCK_SCOPE), enter_landlock, abstract_connect), 0);
}

/* ---- init's outer domain ---- */

static int enter_outer(struct confinement *c, struct error *err)
{
	int r = nnp_apply(c, err);

	return r == 0 && uses(c, MECH_LANDLOCK_SCOPE) ? landlock_enter_outer(c, err) : r;
}

static void test_outer_domain_keeps_signals_in(void **state)
{
	(void)state;
	need_landlock(__func__, 6);
	assert_int_equal(outcome(M(LANDLOCK_SCOPE), enter_outer, signal_own_child), 0);
	assert_int_equal(outcome(M(LANDLOCK_SCOPE), enter_outer, signal_tester), EPERM);
	assert_int_equal(outcome(0, enter_outer, signal_tester), 0);
}

/* Without the domain, but believed to be in it: kill(-1) then reaches whatever the kernel lets it. */
static int believe_outer(struct confinement *c, struct error *err)
{
	int r = enter_outer(c, err);

	c->outer_domain = true;
	return r;
}

static struct witness bystander, ours;

static int kill_all_below(void)
{
	if (witness_orphan(&ours) < 0)
		return -1;
	tree_signal_inside(&confined, 0, SIGKILL);
	return 0;
}

/* The forbidden act: kill(-1) reaches one that was there before the domain.  In a pid namespace of its own, where it
 * can reach nothing of the host's whatever happens. */
static int kill_bystander(mechanism_set use)
{
	bool own_died;

	if (getpid() != 1)
		return result(ENOTSUP);
	witness_prepare(&bystander);
	if (witness_orphan(&bystander) < 0)
		return -1;
	witness_prepare(&ours); /* the bystander holds none of it */
	if (outcome(use, believe_outer, kill_all_below) != 0)
		return result(ECHILD);
	own_died = !witness_lives(&ours);
	return result(!own_died ? EBUSY : witness_lives(&bystander) ? EPERM : 0);
}

static int kill_from_outer_domain(void)
{
	return kill_bystander(M(LANDLOCK_SCOPE));
}

static int kill_without_domain(void)
{
	return kill_bystander(0);
}

static void test_outer_domain_bounds_kill_all(void **state)
{
	(void)state;
	need_landlock(__func__, 6);
	need_namespaces(__func__);
	assert_int_equal(outcome(base() | M(PIDNS), NULL, kill_from_outer_domain), EPERM);
	assert_int_equal(outcome(base() | M(PIDNS), NULL, kill_without_domain), 0);
}

static int enter_both_domains(struct confinement *c, struct error *err)
{
	int r = enter_outer(c, err);

	return r == 0 ? enter_with_workspace(c, err) : r;
}

static int move_between_directories(void)
{
	char from[96], to[96];
	int r;
	autofd fd = -1;

	(void)snprintf(from, sizeof(from), "%s/from", scratch);
	(void)snprintf(to, sizeof(to), "%s/to", scratch);
	if (mkdir(from, 0700) < 0 || mkdir(to, 0700) < 0)
		return result(EIO);
	(void)snprintf(from, sizeof(from), "%s/from/f", scratch);
	(void)snprintf(to, sizeof(to), "%s/to/f", scratch);
	fd = open(from, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = fd < 0 ? EIO : rename(from, to) < 0 ? errno : 0;
	(void)unlink(r ? from : to);
	(void)snprintf(from, sizeof(from), "%s/from", scratch);
	(void)snprintf(to, sizeof(to), "%s/to", scratch);
	return result(rmdir(from) < 0 || rmdir(to) < 0 ? EIO : r);
}

/* The outer domain must not take what the workload's own grants (LANDLOCK_ACCESS_FS_REFER). */
static void test_outer_domain_lets_files_move(void **state)
{
	(void)state;
	need_landlock(__func__, 6);
	assert_int_equal(outcome(M(LANDLOCK) | M(LANDLOCK_SCOPE), enter_both_domains, move_between_directories), 0);
	assert_int_equal(outcome(M(LANDLOCK), enter_both_domains, move_between_directories), 0);
}

/* ---- the workload's filter ---- */

static bool own_mounts; /* the variants are chosen by net and by whether there is a private root */

static int filter(struct confinement *c, struct error *err)
{
	int r = nnp_apply(c, err); /* in both arms */

	if (own_mounts)
		c->use |= M(MOUNTNS) | M(IPCNS) | M(NETNS);
	return r == 0 && uses(c, MECH_SECCOMP) ? seccomp_apply(c, err) : r;
}

static int make_new_namespaces(void)
{
	return unshare(0);
}

static int make_internet_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int make_datagram_socket(void)
{
	return socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int make_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int make_ring(void)
{
	struct io_uring_params params;

	memset(&params, 0, sizeof(params));
	return (int)syscall(SYS_io_uring_setup, 1, &params);
}

/* Known to the kernel and left out of the filter on purpose: the same as any number that the filter does not know. */
static int call_unlisted(void)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC };

	return (int)syscall(SYS_openat2, AT_FDCWD, "/usr", &how, sizeof(how));
}

static int change_mode(void)
{
	return chmod(planted, 0644);
}

static int set_uid_mode(void)
{
	int r = chmod(planted, 04644);

	return r == 0 ? chmod(planted, 0644) : r;
}

static int make_segment(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static int do_everyday_work(void)
{
	char word = 0;
	int ends[2];
	pid_t pid;
	autofd fd = open("/usr/bin/true", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		_exit(write(ends[1], "w", 1) == 1 && getpid() > 1 ? 0 : 1);
	return pid > 0 && read(ends[0], &word, 1) == 1 && word == 'w' && waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

struct variant {
	enum net_grant net;
	bool own_mounts;
};
#define VARIANTS 4
static const struct variant variants[VARIANTS] = {
	{ NET_NONE, true },
	{ NET_NONE, false },
	{ NET_HOST, true },
	{ NET_HOST, false },
};

static void choose(unsigned int i)
{
	wish.net = variants[i].net;
	own_mounts = variants[i].own_mounts;
}

static void test_seccomp_allows_everyday_work(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < VARIANTS; i++) {
		choose(i);
		assert_int_equal(outcome(M(SECCOMP), filter, do_everyday_work), 0);
	}
}

static void test_seccomp_refuses_in_every_variant(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < VARIANTS; i++) {
		choose(i);
		assert_int_equal(outcome(M(SECCOMP), filter, make_new_namespaces), EPERM);
		assert_int_equal(outcome(0, filter, make_new_namespaces), 0);
		assert_int_equal(outcome(M(SECCOMP), filter, set_uid_mode), EPERM);
		assert_int_equal(outcome(0, filter, set_uid_mode), 0);
		assert_int_equal(outcome(M(SECCOMP), filter, call_unlisted), ENOSYS);
		assert_int_equal(outcome(0, filter, call_unlisted), 0);
	}
}

static void test_seccomp_refuses_io_uring(void **state)
{
	(void)state;
	need(__func__, outcome(0, filter, make_ring) == 0,
	     "this kernel has no io_uring for us (kernel.io_uring_disabled?)");
	for (unsigned int i = 0; i < VARIANTS; i++) {
		choose(i);
		assert_int_equal(outcome(M(SECCOMP), filter, make_ring), EPERM);
		assert_int_equal(outcome(0, filter, make_ring), 0);
	}
}

/* What differs: sockets by the network grant, and what namespaces would hold by whether they are there. */
static void test_seccomp_variants(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < VARIANTS; i++) {
		const int inet = variants[i].net == NET_HOST ? 0 : EAFNOSUPPORT;
		const int local = variants[i].own_mounts ? 0 : EAFNOSUPPORT;
		const int own = variants[i].own_mounts ? 0 : EPERM;

		choose(i);
		assert_int_equal(outcome(M(SECCOMP), filter, make_internet_socket), inet);
		assert_int_equal(outcome(M(SECCOMP), filter, make_datagram_socket), inet);
		assert_int_equal(outcome(M(SECCOMP), filter, make_unix_socket), local);
		assert_int_equal(outcome(M(SECCOMP), filter, change_mode), own);
		assert_int_equal(outcome(M(SECCOMP), filter, make_segment), own);
	}
	assert_int_equal(outcome(0, filter, make_internet_socket), 0);
	assert_int_equal(outcome(0, filter, make_datagram_socket), 0);
	assert_int_equal(outcome(0, filter, make_unix_socket), 0);
	assert_int_equal(outcome(0, filter, change_mode), 0);
	assert_int_equal(outcome(0, filter, make_segment), 0);
}

static int terminal = -1;

static int filter_with_terminal(struct confinement *c, struct error *err)
{
	int master;

	terminal = take_terminal(&master, err);
	return terminal < 0 ? terminal : filter(c, err);
}

static int ask_size(void)
{
	struct winsize size;

	return ioctl(terminal, TIOCGWINSZ, &size);
}

static int push_input(void)
{
	return ioctl(terminal, TIOCSTI, "x");
}

/* The kernel ignores the upper half of the register. */
static int push_input_dirty(void)
{
	return (int)syscall(SYS_ioctl, terminal, 0xdead00000000ul | TIOCSTI, "x");
}

static void test_seccomp_keeps_the_terminal(void **state)
{
	int without;

	(void)state;
	without = outcome(0, filter_with_terminal, push_input);
	assert_true(without == 0 ||
		    without == EIO); /* EIO: the kernel's own answer, dev.tty.legacy_tiocsti (Linux 6.2) */
	assert_int_equal(outcome(0, filter_with_terminal, push_input_dirty), without);
	for (unsigned int i = 0; i < VARIANTS; i++) {
		choose(i);
		assert_int_equal(outcome(M(SECCOMP), filter_with_terminal, ask_size), 0);
		assert_int_equal(outcome(M(SECCOMP), filter_with_terminal, push_input), EPERM);
		assert_int_equal(outcome(M(SECCOMP), filter_with_terminal, push_input_dirty), EPERM);
	}
}

/* ---- init's filter ---- */

static int filter_init(struct confinement *c, struct error *err)
{
	int r = nnp_apply(c, err);

	return r == 0 && uses(c, MECH_SECCOMP) ? seccomp_apply_init(c, err) : r;
}

static int read_proc(void)
{
	char text[64];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, text, sizeof(text)) > 0 ? 0 : -1;
}

static int open_for_writing(void)
{
	return open(planted, O_WRONLY | O_CLOEXEC);
}

static int start_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : (int)waitpid(pid, NULL, 0);
}

static void test_seccomp_of_init(void **state)
{
	static const act_fn forbidden[] = { exec_true,	   make_internet_socket, make_unix_socket,    open_for_writing,
					    start_process, change_mode,		 make_new_namespaces, call_unlisted };

	(void)state;
	assert_int_equal(outcome(M(SECCOMP), filter_init, read_proc), 0);
	assert_int_equal(outcome(M(SECCOMP), filter_init, signal_tester), 0);
	assert_int_equal(outcome(M(SECCOMP), filter_init, open_planted), 0);
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		assert_int_equal(outcome(M(SECCOMP), filter_init, forbidden[i]), EPERM);
		assert_int_equal(outcome(0, filter_init, forbidden[i]), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTROL_TEST(test_landlock_closes_files),
		CONTROL_TEST(test_landlock_grants_the_workspace_without_nodes),
		CONTROL_TEST(test_landlock_closes_tcp),
		CONTROL_TEST(test_landlock_closes_memory),
		CONTROL_TEST(test_landlock_scope_keeps_signals_in),
		CONTROL_TEST(test_landlock_scope_keeps_abstract_sockets_in),
		CONTROL_TEST(test_outer_domain_keeps_signals_in),
		CONTROL_TEST(test_outer_domain_bounds_kill_all),
		CONTROL_TEST(test_outer_domain_lets_files_move),
		CONTROL_TEST(test_seccomp_allows_everyday_work),
		CONTROL_TEST(test_seccomp_refuses_in_every_variant),
		CONTROL_TEST(test_seccomp_refuses_io_uring),
		CONTROL_TEST(test_seccomp_variants),
		CONTROL_TEST(test_seccomp_keeps_the_terminal),
		CONTROL_TEST(test_seccomp_of_init),
	};

	return cmocka_run_group_tests(tests, act_group_setup, act_group_teardown);
}
