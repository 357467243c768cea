/* What doctor's checks read, as text of real and of made-up hosts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "doctor/check_parse.h"

#define PROC "22 27 0:21 / /proc rw,relatime - proc proc rw\n"

static void test_status(void **state)
{
	static const char text[] = "Name:\tSeccomp: 9\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";
	unsigned long value = 77;

	(void)state;
	assert_true(check_parse_status(text, "Seccomp", &value));
	assert_int_equal(value, 2);
	assert_true(check_parse_status(text, "Seccomp_filters", &value));
	assert_int_equal(value, 3);
	assert_true(check_parse_status(text, "NoNewPrivs", &value));
	assert_int_equal(value, 1);
	value = 77;
	assert_false(check_parse_status(text, "NoSuch", &value));
	assert_false(check_parse_status("Seccomp:\t\n", "Seccomp", &value));
	assert_false(check_parse_status("", "Seccomp", &value));
	assert_int_equal(value, 77);
}

static void test_masks_of_docker(void **state)
{
	static const char docker[] = PROC "700 22 0:21 /bus /proc/bus ro,nosuid - proc proc rw\n"
					  "701 22 0:21 /sys /proc/sys ro,nosuid - proc proc rw\n"
					  "702 22 0:99 / /proc/acpi ro,relatime - tmpfs tmpfs ro\n"
					  "703 22 0:98 /null /proc/kcore rw,nosuid - tmpfs tmpfs rw\n"
					  "704 22 0:98 /null /proc/keys rw,nosuid - tmpfs tmpfs rw\n";
	char words[200];

	(void)state;
	assert_int_equal(check_parse_proc_masks(docker, words, sizeof(words)), 5);
	assert_string_equal(words, "/proc/bus, /proc/sys, /proc/acpi, /proc/kcore and 1 more");
}

static void test_masks_that_are_none(void **state)
{
	char words[200] = "left over";

	(void)state;
	assert_int_equal(check_parse_proc_masks(PROC "30 22 0:33 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
						     "31 27 0:44 / /process rw - tmpfs tmpfs rw\n",
						words, sizeof(words)),
			 0);
	assert_string_equal(words, "");
	assert_int_equal(check_parse_proc_masks("", words, sizeof(words)), 0);
	assert_int_equal(check_parse_proc_masks("nonsense\n\n \n", words, sizeof(words)), 0);
}

static void test_masks_in_a_small_buffer(void **state)
{
	char words[12];

	(void)state;
	assert_int_equal(
		check_parse_proc_masks("1 2 0:1 / /proc/aaaaaa ro - tmpfs t rw\n1 2 0:1 / /proc/b ro - tmpfs t rw\n"
				       "1 2 0:1 / /proc/c ro - tmpfs t rw\n1 2 0:1 / /proc/d ro - tmpfs t rw\n"
				       "1 2 0:1 / /proc/e ro - tmpfs t rw",
				       words, sizeof(words)),
		5);
	assert_string_equal(words, "/proc/aaaaa");
}

static void test_mount_option(void **state)
{
	static const char text[] =
		"27 23 0:24 / /sys/fs/cgroup rw,favordynmods shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		"28 23 0:25 / /x rw - cgroup cgroup rw,favordynmods\n";
	bool seen = false;

	(void)state;
	/* of the superblock, not of the mount, and not of another type */
	assert_false(check_parse_mount_option(text, "cgroup2", "favordynmods", &seen));
	assert_true(seen);
	assert_true(check_parse_mount_option(text, "cgroup2", "nsdelegate", &seen));
	assert_false(check_parse_mount_option(text, "cgroup2", "nsdel", &seen));
	assert_true(check_parse_mount_option(
		"1 2 0:1 / /m rw - cgroup2 c rw,nsdelegate,favordynmods,memory_recursiveprot\n", "cgroup2",
		"favordynmods", &seen));
	assert_false(check_parse_mount_option(text, "proc", "rw", &seen));
	assert_false(seen);
	assert_false(check_parse_mount_option("1 2 0:1 / /m rw - cgroup2\n", "cgroup2", "rw", &seen));
	assert_true(seen);
}

static void test_swap(void **state)
{
	static const char heading[] = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
	char text[300];

	(void)state;
	assert_int_equal(check_parse_swap_kib(heading), 0);
	assert_int_equal(check_parse_swap_kib(""), 0);
	strcpy(text, heading);
	strcat(text,
	       "/dev/dm-1                               partition\t999420\t\t0\t\t-2\n/swapfile file\t1000\t0\t-3\n");
	assert_int_equal(check_parse_swap_kib(text), 1000420);
}

static void test_subuid(void **state)
{
	char entry[64] = "";

	(void)state;
	assert_false(check_parse_subid_overlap("alice:100000:65536\nbob:165536:65536\n", 1879048192u, 65536, entry,
					       sizeof(entry)));
	assert_false(check_parse_subid_overlap("", 1879048192u, 65536, entry, sizeof(entry)));
	assert_true(check_parse_subid_overlap("alice:100000:65536\neve:1879000000:65536\n", 1879048192u, 65536, entry,
					      sizeof(entry)));
	assert_string_equal(entry, "eve:1879000000:65536");
	/* exactly before and exactly after */
	assert_false(check_parse_subid_overlap("a:1879048191:1\nb:1879113728:5\n", 1879048192u, 65536, entry,
					       sizeof(entry)));
	assert_true(check_parse_subid_overlap("a:1879048191:2\n", 1879048192u, 65536, entry, sizeof(entry)));
	assert_true(check_parse_subid_overlap("b:1879113727:1", 1879048192u, 65536, entry, sizeof(entry)));
	assert_true(check_parse_subid_overlap("all:0:4294967295\n", 1879048192u, 65536, entry, sizeof(entry)));
	/* lines that are no entries */
	assert_false(check_parse_subid_overlap("#x:1879048192:1\nbroken\nc:1879048192\n:::\nd:x:y\n", 1879048192u,
					       65536, entry, sizeof(entry)));
}

static void test_core_pattern(void **state)
{
	(void)state;
	assert_int_equal(check_parse_core_pattern("core\n"), CORE_FILE);
	assert_int_equal(check_parse_core_pattern("/var/crash/core.%p"), CORE_FILE);
	assert_int_equal(check_parse_core_pattern("|/usr/lib/systemd/systemd-coredump %P\n"), CORE_PIPE);
	assert_int_equal(check_parse_core_pattern("@/run/coredump.socket\n"), CORE_SOCKET);
	assert_int_equal(check_parse_core_pattern("\n"), CORE_NOWHERE);
	assert_int_equal(check_parse_core_pattern(""), CORE_NOWHERE);
}

static void test_apparmor_label(void **state)
{
	char label[16];

	(void)state;
	check_parse_apparmor_label("unconfined\n", label, sizeof(label));
	assert_string_equal(label, "unconfined");
	check_parse_apparmor_label("bulkhead (unconfined)\n", label, sizeof(label));
	assert_string_equal(label, "bulkhead");
	check_parse_apparmor_label("", label, sizeof(label));
	assert_string_equal(label, "");
	check_parse_apparmor_label("a-profile-with-a-long-name (enforce)", label, sizeof(label));
	assert_string_equal(label, "a-profile-with-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_masks_of_docker),
		cmocka_unit_test(test_masks_that_are_none),
		cmocka_unit_test(test_masks_in_a_small_buffer),
		cmocka_unit_test(test_mount_option),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_subuid),
		cmocka_unit_test(test_core_pattern),
		cmocka_unit_test(test_apparmor_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
