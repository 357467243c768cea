/* The rights and ids of a process on the real kernel: what is allowed works, what is forbidden fails, and without that
 * control alone the forbidden act succeeds. */
#include "act.h"

#include <grp.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#define SOME_UID 64101u /* nobody's, as is the group */
#define SOME_GROUP 64102u

/* ---- no_new_privs ---- */

static char set_user_id[80]; /* a copy of this program */

static bool copy_self(void)
{
	static char buf[1 << 16];
	ssize_t n;
	autofd from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	autofd to = open(set_user_id, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

	while ((n = read(from, buf, sizeof(buf))) > 0) {
		if (fd_write_all(to, buf, (size_t)n, NULL) < 0)
			return false;
	}
	return n == 0 && fchmod(to, 04755) == 0;
}

static int be_somebody(struct confinement *c, struct error *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(SOME_UID, SOME_UID, SOME_UID) < 0 ||
	    setresuid(SOME_UID, SOME_UID, SOME_UID) < 0)
		return error_errno(err, "become uid %u", SOME_UID);
	return uses(c, MECH_NNP) ? nnp_apply(c, err) : 0;
}

static int run_set_user_id(void)
{
	return exec_self(set_user_id, "--be-root", "");
}

static void test_nnp_gains_nothing_by_execve(void **state)
{
	struct statvfs fs;

	(void)state;
	need(__func__, privileged(), "it takes root to make a set-user-id program of root's");
	assert_int_equal(statvfs(scratch, &fs), 0);
	need(__func__, !(fs.f_flag & (ST_NOSUID | ST_NOEXEC)), "/tmp is mounted nosuid or noexec");
	assert_true(copy_self());
	assert_int_equal(outcome(M(NNP), be_somebody, exec_true), 0);
	assert_int_equal(outcome(M(NNP), be_somebody, run_set_user_id), EPERM);
	assert_int_equal(outcome(0, be_somebody, run_set_user_id), 0);
}

/* ---- capabilities ---- */

static int drop_capabilities(struct confinement *c, struct error *err)
{
	return uses(c, MECH_CAPS) ? caps_apply(c, err) : 0;
}

static int bound_capabilities(struct confinement *c, struct error *err)
{
	return uses(c, MECH_CAPS) ? caps_bound(c, err) : 0;
}

static int change_root(void)
{
	return chroot("/");
}

static int exec_change_root(void)
{
	return exec_self("/proc/self/exe", "--chroot", "");
}

static void test_caps_are_empty(void **state)
{
	(void)state;
	need_namespaces(__func__);
	assert_int_equal(outcome(base() | M(CAPS), drop_capabilities, open_planted), 0);
	assert_int_equal(outcome(base() | M(CAPS), drop_capabilities, change_root), EPERM);
	assert_int_equal(outcome(base(), drop_capabilities, change_root), 0);
}

/* To uid 0 an execve gives all that the bounding set has (capabilities(7)). */
static void test_caps_are_bounded(void **state)
{
	(void)state;
	need_namespaces(__func__);
	inner_uid = 0;
	assert_int_equal(outcome(base() | M(CAPS), bound_capabilities, exec_true), 0);
	assert_int_equal(outcome(base() | M(CAPS), bound_capabilities, change_root), 0); /* what is held stays */
	assert_int_equal(outcome(base() | M(CAPS), bound_capabilities, exec_change_root), EPERM);
	assert_int_equal(outcome(base(), bound_capabilities, exec_change_root), 0);
}

/* ---- own uid ---- */

static char secret[80]; /* root's, mode 0600 */

/* A /run of the test's own: no claim of a running Bulkhead's is in the way, and none of ours is left. */
static int take_run(struct confinement *c, struct error *err)
{
	(void)c;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0)
		return error_errno(err, "take a /run");
	return 0;
}

/* Capabilities go in both arms: with them every file would open. */
static int take_uid(struct confinement *c, struct error *err)
{
	gid_t group = SOME_GROUP;
	int r = take_run(c, err);

	if (r == 0 && setgroups(1, &group) < 0)
		r = error_errno(err, "setgroups");
	if (r == 0 && uses(c, MECH_OWN_UID)) {
		r = creds_claim(c, err);
		c->inner_uid = c->host_uid;
		c->inner_gid = c->host_gid;
		if (r == 0)
			r = creds_become(c, err);
	}
	return r == 0 ? caps_apply(c, err) : r;
}

static int open_secret(void)
{
	return open(secret, O_RDONLY | O_CLOEXEC);
}

static int keep_group(void)
{
	gid_t groups[64];
	int n = getgroups(64, groups);

	return result(n > 0 && groups[0] == SOME_GROUP ? 0 : n == 0 ? ENOENT : EIO);
}

static int be_root(void)
{
	return setresuid(0, 0, 0);
}

static int be_in_range(void)
{
	uid_t r, e, s;

	if (getresuid(&r, &e, &s) < 0)
		return -1;
	return result(r == e && e == s && r >= UID_RANGE_FIRST && r < UID_RANGE_FIRST + UID_RANGE_SIZE ? 0 : ERANGE);
}

static void test_own_uid_is_a_stranger(void **state)
{
	int fd;

	(void)state;
	need(__func__, privileged(), "without rights there is no other uid");
	fd = open(secret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(outcome(M(OWN_UID), take_uid, be_in_range), 0);
	assert_int_equal(outcome(M(OWN_UID), take_uid, open_planted), 0);
	assert_int_equal(outcome(M(OWN_UID), take_uid, open_secret), EACCES);
	assert_int_equal(outcome(0, take_uid, open_secret), 0);
	assert_int_equal(outcome(M(OWN_UID), take_uid, signal_tester), EPERM);
	assert_int_equal(outcome(0, take_uid, signal_tester), 0);
	assert_int_equal(outcome(M(OWN_UID), take_uid, be_root), EPERM);
	assert_int_equal(outcome(0, take_uid, be_root), 0);
	assert_int_equal(outcome(M(OWN_UID), take_uid, keep_group), ENOENT);
	assert_int_equal(outcome(0, take_uid, keep_group), 0);
}

static int lock_slots(int fd, off_t first, off_t count)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = count };

	return count == 0 ? 0 : fcntl(fd, F_OFD_SETLK, &lock);
}

#define FREE_SLOT 4711

/* All uids but one are taken, by others: it is found, nobody gets it a second time, and later it can be had again. */
static int claim_the_last(void)
{
	struct confinement *second = calloc(1, sizeof(*second));
	int r, others;

	if (!second || creds_claim(&confined, NULL) < 0) /* makes the file */
		return result(EIO);
	fd_close(&confined.uid_lock_fd);
	others = open("/run/bulkhead/uids", O_RDWR | O_CLOEXEC);
	if (others < 0 || lock_slots(others, 0, FREE_SLOT) < 0 ||
	    lock_slots(others, FREE_SLOT + 1, UID_RANGE_SIZE - FREE_SLOT - 1) < 0)
		return -1;
	if (creds_claim(&confined, NULL) < 0 || confined.host_uid != UID_RANGE_FIRST + FREE_SLOT)
		return result(ERANGE);
	if (!uses(&confined, MECH_OWN_UID)) /* the control arm: the first claim is given up */
		fd_close(&confined.uid_lock_fd);
	r = creds_claim(second, NULL);
	return result(r < 0 ? -r : second->host_uid == confined.host_uid ? 0 : ERANGE);
}

static void test_own_uid_is_claimed_once(void **state)
{
	(void)state;
	need(__func__, privileged(), "without rights there is no other uid");
	assert_int_equal(outcome(M(OWN_UID), take_run, claim_the_last), EAGAIN);
	assert_int_equal(outcome(0, take_run, claim_the_last), 0);
}

static mode_t run_mode;

static int claim_in_shared_directory(void)
{
	if (mkdir("/run/bulkhead", 0700) < 0 || chmod("/run/bulkhead", run_mode) < 0)
		return result(EIO);
	return result(-creds_claim(&confined, NULL));
}

/* A lock file that others can replace is no claim. */
static void test_own_uid_wants_a_directory_of_its_own(void **state)
{
	(void)state;
	need(__func__, privileged(), "without rights there is no other uid");
	run_mode = 0777;
	assert_int_equal(outcome(M(OWN_UID), take_run, claim_in_shared_directory), EPERM);
	run_mode = 0755;
	assert_int_equal(outcome(M(OWN_UID), take_run, claim_in_shared_directory), 0);
}

static int group_setup(void **state)
{
	int r = act_group_setup(state);

	(void)snprintf(secret, sizeof(secret), "%s/secret", scratch);
	(void)snprintf(set_user_id, sizeof(set_user_id), "%s/set_user_id", scratch);
	return r;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CONTROL_TEST(test_nnp_gains_nothing_by_execve),
		CONTROL_TEST(test_caps_are_empty),
		CONTROL_TEST(test_caps_are_bounded),
		CONTROL_TEST(test_own_uid_is_a_stranger),
		CONTROL_TEST(test_own_uid_is_claimed_once),
		CONTROL_TEST(test_own_uid_wants_a_directory_of_its_own),
	};

	if (argc == 3)
		return act_of_exec(argv[1], argv[2]);
	return cmocka_run_group_tests(tests, group_setup, act_group_teardown);
}
