/* Each namespace on the real kernel: what is allowed works, what is forbidden fails, and without that namespace alone
 * the forbidden act succeeds. */
#include "act.h"

#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/sysmacros.h>

/* ---- user ---- */

static char made[80]; /* a name in the scratch directory */

static int make_node(mode_t mode, dev_t dev)
{
	int r = mknod(made, mode, dev);

	return r < 0 ? r : unlink(made);
}

static int make_plain(void)
{
	return make_node(S_IFREG | 0600, 0);
}

static int make_device(void)
{
	return make_node(S_IFCHR | 0600, makedev(1, 3));
}

static int give_away(void)
{
	int fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || unlink(made) < 0)
		return result(EIO);
	return fchown(fd, 4242, (gid_t)-1);
}

static int new_uts(void)
{
	return unshare(CLONE_NEWUTS);
}

/* Root inside is nobody outside: no device is made, and no file changes hands. */
static void test_userns_takes_the_hosts_rights(void **state)
{
	(void)state;
	need(__func__, privileged(), "without rights there is nothing to take");
	need_namespaces(__func__);
	assert_int_equal(outcome(M(USERNS), NULL, make_plain), 0);
	assert_int_equal(outcome(M(USERNS), NULL, make_device), EPERM);
	assert_int_equal(outcome(0, NULL, make_device), 0);
	assert_int_equal(outcome(M(USERNS), NULL, give_away), EINVAL); /* no such uid inside */
	assert_int_equal(outcome(0, NULL, give_away), 0);
}

static int be_inner(void)
{
	return getuid() == inner_uid && getgid() == inner_uid ? setresuid(inner_uid, inner_uid, inner_uid) : -1;
}

static uid_t outer_uid;
static gid_t outer_gid;

static int be_outer(void)
{
	return setresuid(outer_uid, outer_uid, outer_uid);
}

static int be_outer_group(void)
{
	return setresgid(outer_gid, outer_gid, outer_gid);
}

static int drop_groups(void)
{
	return (int)syscall(SYS_setgroups, 0, NULL);
}

/* One id each way: the one from outside does not exist inside, and groups are closed. */
static void test_userns_maps_one_id(void **state)
{
	(void)state;
	need_namespaces(__func__);
	outer_uid = geteuid();
	outer_gid = getegid();
	inner_uid = (outer_uid > outer_gid ? outer_uid : outer_gid) + 1;
	assert_int_equal(outcome(M(USERNS), NULL, new_uts), 0);
	assert_int_equal(outcome(M(USERNS), NULL, be_inner), 0);
	assert_int_equal(outcome(M(USERNS), NULL, be_outer), EINVAL);
	assert_int_equal(outcome(0, NULL, be_outer), 0);
	assert_int_equal(outcome(M(USERNS), NULL, be_outer_group), EINVAL);
	assert_int_equal(outcome(0, NULL, be_outer_group), 0);
	assert_int_equal(outcome(M(USERNS), NULL, drop_groups), EPERM);
	assert_int_equal(outcome(0, NULL, drop_groups), privileged() ? 0 : EPERM); /* takes rights anyway */
}

/* ---- pid ---- */

static void test_pidns_hides_processes(void **state)
{
	(void)state;
	need_namespaces(__func__);
	assert_int_equal(outcome(base() | M(PIDNS), NULL, signal_own_child), 0);
	assert_int_equal(outcome(base() | M(PIDNS), NULL, signal_tester), ESRCH);
	assert_int_equal(outcome(base(), NULL, signal_tester), 0);
}

static struct witness left;

static int leave_orphan(void)
{
	return witness_orphan(&left) < 0 ? -1 : 0;
}

/* The end of its first process is the end of all. */
static void test_pidns_ends_with_its_init(void **state)
{
	(void)state;
	need_namespaces(__func__);
	witness_prepare(&left);
	assert_int_equal(outcome(base() | M(PIDNS), NULL, leave_orphan), 0);
	assert_false(witness_lives(&left));
	witness_prepare(&left);
	assert_int_equal(outcome(base(), NULL, leave_orphan), 0);
	assert_true(witness_lives(&left));
}

/* ---- mount ---- */

/* As init does it.  The launcher's end of the socket stays open: the scratch space is sent there. */
static int enter_view(struct confinement *c, struct error *err)
{
	int pair[2], r = uses(c, MECH_MOUNTNS) ? fd_socketpair(pair, err) : 0;

	if (r < 0 || !uses(c, MECH_MOUNTNS))
		return r;
	c->init_fd = pair[1];
	r = mounts_apply(c, err);
	if (r == 0)
		r = mounts_detach_host(c, err);
	return r == 0 && chdir("/") < 0 ? error_errno(err, "chdir") : r;
}

static int find_true(void)
{
	return access("/usr/bin/true", X_OK);
}

static int write_tmp(void)
{
	return open("/tmp/bulkhead-controls", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* From the root upwards: where pivot_root(2) has put the host's tree, until it is detached. */
static int open_planted_above(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/..%s", planted);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void test_mountns_hides_the_hosts_files(void **state)
{
	(void)state;
	need_namespaces(__func__);
	assert_int_equal(outcome(base() | M(MOUNTNS), enter_view, find_true), 0);
	assert_int_equal(outcome(base() | M(MOUNTNS), enter_view, write_tmp), 0);
	assert_int_equal(outcome(base() | M(MOUNTNS), enter_view, open_planted), ENOENT);
	assert_int_equal(outcome(base(), enter_view, open_planted), 0);
	assert_int_equal(outcome(base() | M(MOUNTNS), enter_view, open_planted_above), ENOENT);
	assert_int_equal(outcome(base(), enter_view, open_planted_above), 0);
}

static int make_at_top(void)
{
	return open("/forbidden", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* A root of the test's own, so that the host's is left alone. */
static int enter_writable_root(struct confinement *c, struct error *err)
{
	(void)c;
	return chroot(scratch) < 0 || chdir("/") < 0 ? error_errno(err, "chroot") : 0;
}

static void test_mountns_root_is_read_only(void **state)
{
	(void)state;
	need_namespaces(__func__);
	assert_int_equal(outcome(base() | M(MOUNTNS), enter_view, make_at_top), EROFS);
	assert_int_equal(outcome(base(), enter_writable_root, make_at_top), 0);
}

static int write_4_mib(void)
{
	static char block[1 << 20];
	int fd = open("/tmp/bulkhead-controls", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	for (int i = 0; i < 4; i++) {
		ssize_t n = write(fd, block, sizeof(block));

		if (n < 0)
			return -1;
		if (n < (ssize_t)sizeof(block))
			i--; /* the next one tells why */
	}
	return 0;
}

static void test_mountns_scratch_space_is_bounded(void **state)
{
	(void)state;
	need_namespaces(__func__);
	wish.limits.disk_bytes = 4u << 20;
	assert_int_equal(outcome(base() | M(MOUNTNS), enter_view, write_4_mib), 0);
	wish.limits.disk_bytes = 1u << 20;
	assert_int_equal(outcome(base() | M(MOUNTNS), enter_view, write_4_mib), ENOSPC);
	wish.limits.disk_bytes = LIMIT_NONE;
	assert_int_equal(outcome(base() | M(MOUNTNS), enter_view, write_4_mib), 0);
}

static int look_at(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int look_at_self(void)
{
	return look_at(getpid());
}

static int look_at_tester(void)
{
	return look_at(tester);
}

/* Both together show a /proc of their own.  Where the host's is masked there is none, which hides as well. */
static void test_pidns_and_mountns_hide_proc(void **state)
{
	const mechanism_set both = M(PIDNS) | M(MOUNTNS);
	int seen;

	(void)state;
	need_namespaces(__func__);
	seen = outcome(base() | both, enter_view, look_at_self);
	assert_true(seen == 0 || seen == ENOENT);
	if (seen)
		print_message("the host's /proc is masked, so there is none inside\n");
	assert_int_equal(outcome(base() | both, enter_view, look_at_tester), ENOENT);
	assert_int_equal(outcome(base(), enter_view, look_at_tester), 0);
}

/* ---- net ---- */

static int make_network(struct confinement *c, struct error *err)
{
	return uses(c, MECH_NETNS) ? namespaces_make_network(c, err) : 0;
}

/* As init does: another process has made the namespace, and this one joins it. */
static int join_network(struct confinement *c, struct error *err)
{
	int ready[2], hold[2], r = -EIO;
	char word;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(hold, O_CLOEXEC) < 0)
		return error_errno(err, "pipe");
	pid = fork();
	if (pid == 0) {
		(void)close(hold[1]);
		if (namespaces_make_network(c, err) == 0)
			(void)!write(ready[1], "r", 1);
		(void)!read(hold[0], &word, 1); /* the end of the other side */
		_exit(0);
	}
	(void)close(ready[1]);
	if (read(ready[0], &word, 1) == 1)
		r = uses(c, MECH_NETNS) ? namespaces_join_network(pid, err) : 0;
	(void)close(hold[1]);
	(void)waitpid(pid, NULL, 0);
	return r;
}

static int make_pair(void)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && write(pair[0], "x", 1) == 1 ? 0 : -1;
}

static void test_netns_has_no_way_out(void **state)
{
	autofd tcp = -1, abstract = -1;

	(void)state;
	need_namespaces(__func__);
	tcp = tcp_listener();
	abstract = abstract_listener();
	assert_int_equal(outcome(base() | M(NETNS), make_network, make_pair), 0);
	assert_int_equal(outcome(base() | M(NETNS), make_network, tcp_connect), ENETUNREACH);
	assert_int_equal(outcome(base(), make_network, tcp_connect), 0);
	assert_int_equal(outcome(base() | M(NETNS), make_network, abstract_connect), ECONNREFUSED);
	assert_int_equal(outcome(base(), make_network, abstract_connect), 0);
}

static void test_netns_is_joined(void **state)
{
	autofd tcp = -1;

	(void)state;
	need_namespaces(__func__);
	tcp = tcp_listener();
	assert_int_equal(outcome(base() | M(NETNS), join_network, make_pair), 0);
	assert_int_equal(outcome(base() | M(NETNS), join_network, tcp_connect), ENETUNREACH);
	assert_int_equal(outcome(base(), join_network, tcp_connect), 0);
}

/* ---- ipc ---- */

static key_t segment_key;

static int find_segment(void)
{
	return shmget(segment_key, 0, 0);
}

static int make_segment(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	return id < 0 ? -1 : shmctl(id, IPC_RMID, NULL);
}

static void test_ipcns_hides_segments(void **state)
{
	int id = -1, inside, with, without;

	(void)state;
	need_namespaces(__func__);
	for (int i = 0; i < 100 && id < 0; i++) { /* a key that nobody has */
		segment_key = (key_t)(tester * 100 + i + 1);
		id = shmget(segment_key, 4096, IPC_CREAT | IPC_EXCL | 0600);
	}
	assert_true(id >= 0);
	inside = outcome(base() | M(IPCNS), NULL, make_segment);
	with = outcome(base() | M(IPCNS), NULL, find_segment);
	without = outcome(base(), NULL, find_segment);
	assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
	assert_int_equal(inside, 0);
	assert_int_equal(with, ENOENT);
	assert_int_equal(without, 0);
}

/* ---- uts ---- */

/* The name that may be changed is never the host's. */
static int take_name(struct confinement *c, struct error *err)
{
	(void)c;
	return unshare(CLONE_NEWUTS) < 0 || sethostname("outside", 7) < 0 ? error_errno(err, "take a name") : 0;
}

static int set_name(struct confinement *c, struct error *err)
{
	c->use |= M(UTSNS); /* the step is taken, whether the namespace is there or not */
	return namespaces_set_hostname(c, err);
}

static int has_name(const char *want)
{
	char name[65];

	return gethostname(name, sizeof(name)) == 0 ? result(strcmp(name, want) == 0 ? 0 : ENOENT) : -1;
}

static int is_bulkhead(void)
{
	return has_name("bulkhead");
}

static int rename_inside(void)
{
	return outcome_as_act(M(UTSNS), set_name, is_bulkhead);
}

/* The forbidden act: the name that is set inside is heard outside. */
static int rename_outside(void)
{
	return rename_inside() == 0 ? has_name("bulkhead") : -1;
}

static int rename_without_namespace(void)
{
	return outcome_as_act(0, set_name, is_bulkhead) == 0 ? has_name("bulkhead") : -1;
}

static void test_utsns_keeps_the_name(void **state)
{
	(void)state;
	need_namespaces(__func__);
	assert_int_equal(outcome(base(), take_name, rename_inside), 0);
	assert_int_equal(outcome(base(), take_name, rename_outside), ENOENT);
	assert_int_equal(outcome(base(), take_name, rename_without_namespace), 0);
}

/* ---- cgroup ---- */

/* Read the name of a group that we are in.  ENODATA: there are groups, and every one is called "/". */
static int read_group_name(void)
{
	static char text[16384];
	bool lines = false;

	if (fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text), NULL) < 0)
		return -1;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		size_t n = strlen(line);

		lines = true;
		if (n < 2 || strcmp(line + n - 2, ":/") != 0)
			return 0;
	}
	return result(lines ? ENODATA : EIO);
}

static int read_groups(void)
{
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	char text[64];

	return fd >= 0 && read(fd, text, sizeof(text)) > 0 ? 0 : -1;
}

static void test_cgroupns_hides_names(void **state)
{
	(void)state;
	need_namespaces(__func__);
	need(__func__, outcome(0, NULL, read_group_name) == 0, "our own groups are all called / already");
	assert_int_equal(outcome(base() | M(CGROUPNS), namespaces_enter_cgroup, read_groups), 0);
	assert_int_equal(outcome(base() | M(CGROUPNS), namespaces_enter_cgroup, read_group_name), ENODATA);
	assert_int_equal(outcome(base(), namespaces_enter_cgroup, read_group_name), 0);
}

static int group_setup(void **state)
{
	int r = act_group_setup(state);

	(void)snprintf(made, sizeof(made), "%s/made", scratch);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTROL_TEST(test_userns_takes_the_hosts_rights),
		CONTROL_TEST(test_userns_maps_one_id),
		CONTROL_TEST(test_pidns_hides_processes),
		CONTROL_TEST(test_pidns_ends_with_its_init),
		CONTROL_TEST(test_mountns_hides_the_hosts_files),
		CONTROL_TEST(test_mountns_root_is_read_only),
		CONTROL_TEST(test_mountns_scratch_space_is_bounded),
		CONTROL_TEST(test_pidns_and_mountns_hide_proc),
		CONTROL_TEST(test_netns_has_no_way_out),
		CONTROL_TEST(test_netns_is_joined),
		CONTROL_TEST(test_ipcns_hides_segments),
		CONTROL_TEST(test_utsns_keeps_the_name),
		CONTROL_TEST(test_cgroupns_hides_names),
	};

	return cmocka_run_group_tests(tests, group_setup, act_group_teardown);
}
