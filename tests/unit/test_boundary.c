#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "isolation/boundary.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define UUID "1a2b3c4d-0000-1111-2222-0123456789aB"

typedef int (*setter)(struct boundary *b, const char *text, struct error *err);

static int add_ro(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_RO, text, err);
}

static int add_in(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_IN, text, err);
}

/* Refused in one line, and all but the owned blocks is as it was. */
static void expect_refused(struct boundary *b, setter set, const char *text)
{
	struct boundary before = *b;
	struct error err = { 0 };
	int rc = set(b, text, &err);

	if (rc >= 0)
		fail_msg("'%s' was taken", text);
	assert_int_equal(rc, -err.code);
	assert_true(err.text[0] != '\0');
	assert_null(strchr(err.text, '\n'));
	before.owned = b->owned;
	before.owned_count = b->owned_count;
	assert_memory_equal(b, &before, sizeof(before));
	assert_true(set(b, text, NULL) < 0);
}

static void test_defaults_grant_nothing(void **state)
{
	struct boundary b;

	(void)state;
	boundary_init(&b);
	assert_int_equal(b.tier, TIER_SANDBOX);
	assert_int_equal(b.net, NET_NONE);
	assert_int_equal(b.grant_count + b.env_count + b.gpu_count + b.waiver_count, 0);
	assert_true(b.limits.memory_bytes == 2ull << 30 && b.limits.pids == 512);
	assert_true(b.limits.disk_bytes == 1ull << 30 && b.limits.open_files == 4096);
	assert_true(b.limits.grace_ms == 10000 && b.limits.timeout_ms == LIMIT_NONE);
	assert_true(b.limits.cpu_milli == LIMIT_NONE && b.limits.cpu_time_ms == LIMIT_NONE);
	assert_true(b.limits.output_bytes == LIMIT_NONE);
	boundary_done(&b);
	boundary_done(&b); /* twice is harmless */
}

static void test_every_name_round_trips(void **state)
{
	(void)state;
	for (int m = 0; m < MECH_COUNT; m++) {
		enum mechanism found;

		assert_non_null(mechanism_name((enum mechanism)m));
		assert_true(mechanism_from_name(mechanism_name((enum mechanism)m), &found));
		assert_int_equal(found, m);
	}
	for (int k = 0; k < GRANT_KIND_COUNT; k++)
		assert_non_null(grant_kind_name((enum grant_kind)k));
	for (int n = 0; n < NET_GRANT_COUNT; n++)
		assert_non_null(net_grant_name((enum net_grant)n));
}

static void test_own_frees_all(void **state)
{
	struct boundary b;

	(void)state;
	boundary_init(&b);
	for (int i = 0; i < 100; i++)
		assert_int_equal(boundary_own(&b, malloc(8), NULL), 0);
	assert_int_equal(boundary_own(&b, NULL, NULL), -ENOMEM);
	assert_int_equal(b.owned_count, 100);
	boundary_done(&b); /* the sanitizer or valgrind counts */
}

static void test_bad_texts(void **state)
{
	static char long_path[PATH_MAX + 1];
	static const char long_tenant[] = "a123456789012345678901234567890123456789012345678901234567890123";
	const struct {
		setter set;
		const char *texts[24];
	} rows[] = {
		{ boundary_set_tier, { "", "Sandbox", "sand", "sandbox ", "vm2", "none", "\n" } },
		{ boundary_set_net, { "", "Host", "bridge", "none ", "hos" } },
		{ boundary_set_tenant,
		  { "", "-a", "A", "a_b", "a b", "a.b", "../x", "a/b", "\xc3\xa9", "a\n", long_tenant } },
		{ boundary_set_rootfs, { "", long_path } },
		{ add_ro, { "", long_path } },
		{ add_in, { "", ".", "..", "/", "a/", "a/.", "a/..", long_path } },
		{ boundary_add_env,
		  { "", "=", "=x", "1A=b", "A-B=c", "A B=c", " A=b", "A.B", "\xc3\x84=b", "A\n=b", "-", "A-" } },
		{ boundary_add_secret,
		  { "",		 "A",	    "=env:X",  "A=",	   "A=x",      "A=env:",     "A=env:1X",
		    "A=env:X=Y", "A=file:", "A=fd:",   "A=fd:0",   "A=fd:2",   "A=fd:1024",  "A=fd:x",
		    "A=fd:-3",	 "A=fd:3 ", "A=ENV:X", "1A=env:X", "A-B=fd:3", "A=https://x" } },
		{ boundary_add_gpu,
		  { "", "-1", "00", "01", "1024", "x", "GPU-", "GPU-1", UUID, "gpu-" UUID, "GPU-" UUID "0", "all",
		    "0,1", "GPU-1a2b3c4d-0000-1111-2222-0123456789ag", "GPU-1a2b3c4d00001111222201234567890123456",
		    "MIG-GPU-" UUID "/1/0" } },
		{ boundary_add_waiver, { "", "all", "Kernel", "kernel ", "memory,kernel" } },
		{ boundary_add_without, { "", "all", "Landlock", "namespaces" } },
		{ boundary_set_memory, { "", "0", "1", "1023K", "1025T", "-1", "None", "1s", "18446744073709551615" } },
		{ boundary_set_cpus, { "", "0", "0.009", "0.0001", "1024.001", "1025", "1.5x" } },
		{ boundary_set_pids, { "", "0", "4194305", "1.5", "1K" } },
		{ boundary_set_disk, { "", "0", "63K", "1025T", "64Kx" } },
		{ boundary_set_output_limit, { "", "-1", "1025T", "x" } },
		{ boundary_set_timeout, { "", "0", "0s", "87601h", "1d" } },
		{ boundary_set_grace, { "", "none", "61m", "-1s", "1d" } },
		{ boundary_set_cpu_time, { "", "0", "87601h", "x" } },
		{ boundary_set_open_files, { "", "0", "7", "1048577", "1K" } },
	};
	struct boundary b;

	(void)state;
	memset(long_path, 'a', PATH_MAX);
	boundary_init(&b);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		for (size_t j = 0; j < COUNT_OF(rows[i].texts) && rows[i].texts[j]; j++)
			expect_refused(&b, rows[i].set, rows[i].texts[j]);
	}
	boundary_done(&b);
}

static void test_limits(void **state)
{
	struct boundary b;

	(void)state;
	boundary_init(&b);
	const struct {
		setter set;
		const uint64_t *limit;
		const char *text;
		uint64_t value;
	} rows[] = {
		{ boundary_set_memory, &b.limits.memory_bytes, "1M", 1ull << 20 },
		{ boundary_set_memory, &b.limits.memory_bytes, "none", LIMIT_NONE },
		{ boundary_set_memory, &b.limits.memory_bytes, "1024T", 1ull << 50 },
		{ boundary_set_cpus, &b.limits.cpu_milli, "0.01", 10 },
		{ boundary_set_cpus, &b.limits.cpu_milli, "1024", 1024000 },
		{ boundary_set_cpus, &b.limits.cpu_milli, "none", LIMIT_NONE },
		{ boundary_set_pids, &b.limits.pids, "1", 1 },
		{ boundary_set_pids, &b.limits.pids, "4194304", 4194304 },
		{ boundary_set_pids, &b.limits.pids, "none", LIMIT_NONE },
		{ boundary_set_disk, &b.limits.disk_bytes, "64K", 65536 },
		{ boundary_set_disk, &b.limits.disk_bytes, "none", LIMIT_NONE },
		{ boundary_set_output_limit, &b.limits.output_bytes, "0", 0 },
		{ boundary_set_output_limit, &b.limits.output_bytes, "none", LIMIT_NONE },
		{ boundary_set_timeout, &b.limits.timeout_ms, "1ms", 1 },
		{ boundary_set_timeout, &b.limits.timeout_ms, "1.5", 1500 },
		{ boundary_set_timeout, &b.limits.timeout_ms, "none", LIMIT_NONE },
		{ boundary_set_grace, &b.limits.grace_ms, "0", 0 },
		{ boundary_set_grace, &b.limits.grace_ms, "1h", 3600000 },
		{ boundary_set_cpu_time, &b.limits.cpu_time_ms, "30s", 30000 },
		{ boundary_set_cpu_time, &b.limits.cpu_time_ms, "none", LIMIT_NONE },
		{ boundary_set_open_files, &b.limits.open_files, "8", 8 },
		{ boundary_set_open_files, &b.limits.open_files, "none", LIMIT_NONE },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct error err = { 0 };

		if (rows[i].set(&b, rows[i].text, &err) != 0 || *rows[i].limit != rows[i].value)
			fail_msg("%s: %s", rows[i].text, err.text);
	}
	boundary_done(&b);
}

static void test_environment(void **state)
{
	struct boundary b;
	char borrowed[] = "A=first";

	(void)state;
	boundary_init(&b);
	assert_int_equal(boundary_add_env(&b, borrowed, NULL), 0);
	memset(borrowed, 'x', sizeof(borrowed) - 1); /* what is needed was copied */
	assert_string_equal(b.env[0].name, "A");
	assert_string_equal(b.env[0].value, "first");
	assert_int_equal(boundary_add_env(&b, "A=x=y", NULL), 0);
	assert_int_equal(b.env_count, 1);
	assert_string_equal(b.env[0].value, "x=y");
	assert_int_equal(boundary_add_env(&b, "A", NULL), 0);
	assert_null(b.env[0].value);
	assert_int_equal(boundary_add_env(&b, "A=", NULL), 0);
	assert_string_equal(b.env[0].value, "");
	assert_int_equal(boundary_add_secret(&b, "S=file:/a=b", NULL), 0);
	assert_int_equal(b.env[1].source, SECRET_FILE);
	assert_string_equal(b.env[1].from, "/a=b");
	assert_null(b.env[1].value);
	assert_int_equal(boundary_add_secret(&b, "S=fd:3", NULL), 0);
	assert_int_equal(boundary_add_secret(&b, "S=env:_x1", NULL), 0);
	assert_int_equal(b.env_count, 2);
	assert_int_equal(b.env[1].source, SECRET_ENV);
	assert_string_equal(b.env[1].from, "_x1");
	expect_refused(&b, boundary_add_env, "S=plain");
	expect_refused(&b, boundary_add_secret, "A=env:B");
	boundary_done(&b);
}

static void test_secret_values_are_not_repeated(void **state)
{
	struct boundary b;
	struct error err = { 0 };

	(void)state;
	boundary_init(&b);
	assert_true(boundary_add_secret(&b, "A=hunter2", &err) < 0);
	assert_null(strstr(err.text, "hunter2"));
	assert_true(boundary_add_env(&b, "A-B=hunter2", &err) < 0);
	assert_null(strstr(err.text, "hunter2"));
	assert_non_null(strstr(err.text, "A-B"));
	boundary_done(&b);
}

static void test_tables_have_an_end(void **state)
{
	static char names[BOUNDARY_ENV_MAX + 1][16];
	struct boundary b;

	(void)state;
	boundary_init(&b);
	for (int i = 0; i < BOUNDARY_ENV_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "V%d", i);
		assert_int_equal(boundary_add_env(&b, names[i], NULL), 0);
	}
	expect_refused(&b, boundary_add_env, "ONE_MORE=1");
	assert_int_equal(boundary_add_env(&b, "V7=again", NULL), 0); /* replaces */
	for (int i = 0; i < BOUNDARY_GRANTS_MAX; i++)
		assert_int_equal(boundary_add_grant(&b, GRANT_RO, names[i], NULL), 0);
	expect_refused(&b, add_ro, "one-more");
	for (int i = 0; i < BOUNDARY_GPUS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%d", i);
		assert_int_equal(boundary_add_gpu(&b, names[i], NULL), 0);
	}
	assert_int_equal(boundary_add_gpu(&b, "3", NULL), 0);
	expect_refused(&b, boundary_add_gpu, "16");
	boundary_done(&b);
}

static void test_grants(void **state)
{
	struct boundary b;

	(void)state;
	boundary_init(&b);
	assert_int_equal(boundary_add_grant(&b, GRANT_RO, "/data", NULL), 0);
	assert_int_equal(boundary_add_grant(&b, GRANT_RW, "/data", NULL), 0);
	assert_int_equal(b.grant_count, 1);
	assert_int_equal(b.grants[0].kind, GRANT_RW);
	assert_int_equal(boundary_add_grant(&b, GRANT_OUT, "first", NULL), 0);
	assert_int_equal(boundary_add_grant(&b, GRANT_OUT, "second", NULL), 0);
	assert_int_equal(b.grant_count, 2);
	assert_string_equal(b.grants[1].path, "second");
	assert_int_equal(boundary_add_grant(&b, GRANT_IN, "a/f", NULL), 0);
	assert_int_equal(boundary_add_grant(&b, GRANT_IN, "a/f", NULL), 0);
	assert_int_equal(b.grant_count, 3);
	expect_refused(&b, add_in, "b/f");
	expect_refused(&b, add_in, "b/out");
	boundary_done(&b);
	boundary_init(&b);
	assert_int_equal(boundary_add_grant(&b, GRANT_IN, "out", NULL), 0);
	assert_true(boundary_add_grant(&b, GRANT_OUT, "x", NULL) < 0);
	boundary_done(&b);
}

static void test_waivers_gpus_and_mechanisms(void **state)
{
	struct boundary b;

	(void)state;
	boundary_init(&b);
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		assert_false(boundary_waives(&b, (enum guarantee)g));
		assert_int_equal(boundary_add_waiver(&b, guarantee_id((enum guarantee)g), NULL), 0);
		assert_int_equal(boundary_add_waiver(&b, guarantee_id((enum guarantee)g), NULL), 0);
		assert_true(boundary_waives(&b, (enum guarantee)g));
	}
	assert_int_equal(b.waiver_count, GUARANTEE_COUNT);
	assert_int_equal(boundary_add_gpu(&b, "0", NULL), 0);
	assert_int_equal(boundary_add_gpu(&b, "GPU-" UUID, NULL), 0);
	assert_int_equal(boundary_add_gpu(&b, "MIG-" UUID, NULL), 0);
	assert_int_equal(b.gpu_count, 3);
	assert_int_equal(boundary_add_without(&b, "landlock", NULL), 0);
	assert_int_equal(boundary_add_without(&b, "userns", NULL), 0);
	assert_true(b.without == (MECH_BIT(MECH_LANDLOCK) | MECH_BIT(MECH_USERNS)));
	boundary_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_grant_nothing),
		cmocka_unit_test(test_every_name_round_trips),
		cmocka_unit_test(test_own_frees_all),
		cmocka_unit_test(test_bad_texts),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_secret_values_are_not_repeated),
		cmocka_unit_test(test_tables_have_an_end),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_waivers_gpus_and_mechanisms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
