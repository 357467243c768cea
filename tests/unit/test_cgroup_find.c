/* Layouts of real hosts, as text: which mounts and groups are found in them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "isolation/cgroup.h"

#define ROOTFS "23 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"

static struct cgroup_host parsed(const char *mountinfo, const char *cgroup)
{
	struct cgroup_host h;
	struct error err = { .text = "" };
	int r = cgroup_host_parse(&h, mountinfo, cgroup, &err);

	if (r != 0)
		print_message("%s\n", err.text);
	assert_int_equal(r, 0);
	return h;
}

static void assert_v1(const struct cgroup_host *h, enum cgroup_controller k, const char *mount, const char *own)
{
	assert_string_equal(h->v1_mount[k], mount);
	assert_string_equal(h->v1_own[k], own);
}

static void assert_no_v1(const struct cgroup_host *h)
{
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++)
		assert_string_equal(h->v1_mount[k], "");
}

static void test_pure_v2_with_systemd(void **state)
{
	struct cgroup_host h = parsed(
		ROOTFS
		"27 23 0:24 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope\n");

	(void)state;
	assert_string_equal(h.v2_mount, "/sys/fs/cgroup");
	assert_string_equal(h.v2_own, "/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope");
	assert_false(h.v2_read_only);
	assert_no_v1(&h);
}

static void test_hybrid(void **state)
{
	struct cgroup_host h = parsed(
		ROOTFS "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
		       "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
		       "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
		       "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
		       "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
		       "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
		       "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
		       "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
		"9:name=systemd:/\n8:pids:/\n4:memory:/process_api/69ee\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n");

	(void)state;
	assert_string_equal(h.v2_mount, "/sys/fs/cgroup/unified");
	assert_string_equal(h.v2_own, "/");
	assert_v1(&h, CG_MEMORY, "/sys/fs/cgroup/memory", "/process_api/69ee");
	assert_v1(&h, CG_PIDS, "/sys/fs/cgroup/pids", "/");
	assert_v1(&h, CG_CPU, "/sys/fs/cgroup/cpu", "/");
	assert_v1(&h, CG_CPUACCT, "/sys/fs/cgroup/cpuacct", "/");
}

static void test_v1_mounted_together(void **state)
{
	struct cgroup_host h = parsed(
		ROOTFS "30 23 0:25 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
		       "36 30 0:33 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:16 - cgroup cgroup rw,cpu,cpuacct\n"
		       "37 30 0:34 / /sys/fs/cgroup/memory rw,nosuid shared:17 - cgroup cgroup rw,memory\n",
		"5:cpu,cpuacct:/user.slice\n4:memory:/user.slice/a:b\n1:name=systemd:/x\n");

	(void)state;
	assert_string_equal(h.v2_mount, "");
	assert_v1(&h, CG_CPU, "/sys/fs/cgroup/cpu,cpuacct", "/user.slice");
	assert_v1(&h, CG_CPUACCT, "/sys/fs/cgroup/cpu,cpuacct", "/user.slice");
	assert_v1(&h, CG_MEMORY, "/sys/fs/cgroup/memory", "/user.slice/a:b");
	assert_v1(&h, CG_PIDS, "", "");
}

/* A container of v1 without a cgroup namespace: the mount's root is our group. */
static void test_docker_v1(void **state)
{
	struct cgroup_host h = parsed(
		ROOTFS "690 689 0:33 /docker/0123 /sys/fs/cgroup/memory ro,nosuid master:17 - cgroup cgroup rw,memory\n"
		       "691 689 0:34 /docker/0123 /sys/fs/cgroup/pids rw,nosuid master:18 - cgroup cgroup rw,pids\n"
		       "692 689 0:35 /docker/012 /sys/fs/cgroup/cpu rw,nosuid master:18 - cgroup cgroup rw,cpu\n",
		"4:cpu:/docker/0123\n3:pids:/docker/0123/inner\n2:memory:/docker/0123\n");

	(void)state;
	assert_v1(&h, CG_MEMORY, "/sys/fs/cgroup/memory", "/");
	assert_true(h.v1_read_only[CG_MEMORY]);
	assert_v1(&h, CG_PIDS, "/sys/fs/cgroup/pids", "/inner");
	assert_false(h.v1_read_only[CG_PIDS]);
	assert_v1(&h, CG_CPU, "", ""); /* /docker/012 is another container's, though the text begins alike */
}

static void test_docker_v2_in_namespace(void **state)
{
	struct cgroup_host h = parsed(
		ROOTFS "900 899 0:24 / /sys/fs/cgroup ro,nosuid,nodev - cgroup2 cgroup rw,nsdelegate\n", "0::/\n");

	(void)state;
	assert_string_equal(h.v2_mount, "/sys/fs/cgroup");
	assert_string_equal(h.v2_own, "/");
	assert_true(h.v2_read_only);
}

/* A mount from outside of our cgroup namespace cannot be related to our path. */
static void test_mount_of_another_namespace(void **state)
{
	struct cgroup_host h =
		parsed(ROOTFS "41 31 0:38 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/inner\n");
	struct cgroup_host g = parsed(ROOTFS "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/../b\n");
	struct cgroup_host dots = parsed(ROOTFS "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/..b\n");

	(void)state;
	assert_string_equal(h.v2_mount, "");
	assert_string_equal(g.v2_mount, "");
	assert_string_equal(dots.v2_own, "/..b");
}

static void test_several_mounts_of_one_hierarchy(void **state)
{
	struct cgroup_host ro_first = parsed(ROOTFS "41 31 0:38 / /a ro - cgroup2 cgroup2 rw\n"
						    "42 31 0:38 / /b rw - cgroup2 cgroup2 rw\n"
						    "43 31 0:38 / /c rw - cgroup2 cgroup2 rw\n",
					     "0::/g\n");
	struct cgroup_host covered = parsed(ROOTFS "41 31 0:38 / /a rw - cgroup2 cgroup2 rw\n"
						   "42 31 0:38 /h /a rw - cgroup2 cgroup2 rw\n",
					    "0::/h/i\n");
	struct cgroup_host lost = parsed(ROOTFS "41 31 0:38 / /a rw - cgroup2 cgroup2 rw\n"
						"42 31 0:38 /other /a rw - cgroup2 cgroup2 rw\n",
					 "0::/h/i\n");

	(void)state;
	assert_string_equal(ro_first.v2_mount, "/b");
	assert_string_equal(covered.v2_own, "/i");
	assert_string_equal(lost.v2_mount, "");
}

static void test_escapes(void **state)
{
	struct cgroup_host h = parsed(ROOTFS "41 31 0:38 /a\\040b /mnt/c\\134d\\011e rw - cgroup2  rw\n",
				      "0::/a b/c\n"); /* the source is empty */

	(void)state;
	assert_string_equal(h.v2_mount, "/mnt/c\\d\te");
	assert_string_equal(h.v2_own, "/c");
}

static void test_optional_fields(void **state)
{
	struct cgroup_host h = parsed("41 31 0:38 / /a rw shared:1 master:2 unbindable - cgroup2 none rw\n", "0::/\n");

	(void)state;
	assert_string_equal(h.v2_mount, "/a");
}

/* Words in the wrong place must not be taken for a cgroup mount. */
static void test_look_alikes(void **state)
{
	struct cgroup_host h = parsed("41 31 0:38 / /a rw - fuse.cgroup2 cgroup2 rw,memory\n"
				      "42 31 0:39 / /b rw - tmpfs cgroup2 rw,memory\n"
				      "43 31 0:40 / /c rw - cgroup cgroup rw,xmemory,name=memory\n",
				      "3:memory:/\n0::/\n");

	(void)state;
	assert_string_equal(h.v2_mount, "");
	assert_no_v1(&h);
}

static void test_nothing_mounted(void **state)
{
	struct cgroup_host h = parsed(ROOTFS, "0::/\n"), none = parsed("", "");

	(void)state;
	assert_string_equal(h.v2_mount, "");
	assert_no_v1(&h);
	assert_no_v1(&none);
}

static void assert_refused(const char *mountinfo, const char *cgroup)
{
	struct cgroup_host h;
	struct error err = { .text = "" };

	memset(&h, 0x5a, sizeof(h));
	assert_true(cgroup_host_parse(&h, mountinfo, cgroup, &err) < 0);
	assert_true(err.text[0] != '\0');
	assert_int_equal(h.v2_mount[0], 0x5a); /* untouched */
}

#define V2 "41 31 0:38 / /a rw - cgroup2 cgroup2 rw\n"

static void test_malformed(void **state)
{
	char longer[1200];

	(void)state;
	assert_refused("41 31 0:38 / /a rw - cgroup2 cgroup2 rw", "0::/\n"); /* cut */
	assert_refused("41 31 0:38 / /a rw cgroup2 cgroup2 rw\n", "0::/\n"); /* no dash */
	assert_refused("41 31\n", "0::/\n");
	assert_refused("\n", "0::/\n");
	assert_refused("41 31 0:38 / a rw - cgroup2 cgroup2 rw\n", "0::/\n");	   /* relative */
	assert_refused("41 31 0:38 / /a\\04 rw - cgroup2 cgroup2 rw\n", "0::/\n"); /* half an escape */
	assert_refused("41 31 0:38 / /a\\000 rw - cgroup2 cgroup2 rw\n", "0::/\n");
	assert_refused("41 31 0:38 / /a\\777 rw - cgroup2 cgroup2 rw\n", "0::/\n");
	assert_refused(V2, "0:/\n");
	assert_refused(V2, "0::relative\n");
	assert_refused(V2, "0::/cut");
	(void)snprintf(longer, sizeof(longer), "0::/%01000d\n", 0);
	assert_refused(V2, longer);
	(void)snprintf(longer, sizeof(longer), "41 31 0:38 / /%0300d rw - cgroup2 cgroup2 rw\n", 0);
	assert_refused(longer, "0::/\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pure_v2_with_systemd),
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_v1_mounted_together),
		cmocka_unit_test(test_docker_v1),
		cmocka_unit_test(test_docker_v2_in_namespace),
		cmocka_unit_test(test_mount_of_another_namespace),
		cmocka_unit_test(test_several_mounts_of_one_hierarchy),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_optional_fields),
		cmocka_unit_test(test_look_alikes),
		cmocka_unit_test(test_nothing_mounted),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
