#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/decide.h"
#include "policy/policy_parse.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define WAIVE(by, date, reason) "waive:\n- guarantee: kernel\n  by: " by "\n  date: " date "\n  reason: " reason "\n"

static int load(const char *text, struct boundary *b, struct policy *p, struct error *err)
{
	boundary_init(b);
	return policy_load_text("p", text, strlen(text), b, p, err);
}

static void test_bad_files(void **state)
{
	/* What the error begins with: file, line, and the key wherever there is one. */
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ "abc\n", "p:1: the document must be a mapping" },
		{ "- a\n", "p:1: the document must be a mapping" },
		{ "---\n---\n", "p:2: the document must be a mapping" },
		{ "tier: vm\n---\ntier: vm\n", "p:2: the file holds more than one document" },
		{ "foo: 1\n", "p:1: foo: unknown key" },
		{ "tier: vm\nmemroy: 1G\n", "p:2: memroy: unknown key" },
		{ "without: [landlock]\n", "p:1: without: unknown key" },
		{ "\"a\\nb\\e[31m\": 1\n", "p:1: 'a\\x0ab\\x1b[31m': unknown key" },
		/* Quoted and cut, this key is as long as plain and whole (found by fuzzing). */
		{ "\"a\\n0123456789012345678901234567890123456789"
		  "012345678901234567890123456789012345678901234b\\e[31m\": 1\n",
		  "p:1: 'a\\x0a0123" },
		{ "\"\": 1\n", "p:1: a key is empty or too long" },
		{ "? [a]\n: b\n", "p:1: a key must be a plain text" },
		{ "? {a: b}\n: b\n", "p:1: a key must be a plain text" },
		{ "tier: vm\npids: 1\ntier: vm\n", "p:3: tier: is given twice" },
		{ "env: []\nenv: []\n", "p:2: env: is given twice" },
		{ "env:\n  A: b\n  A: c\n", "p:3: env.A: is given twice" },
		{ "memory:\npids: 3\n", "p:1: memory: has no value" },
		{ "tenant: null\n", "p:1: tenant: has no value" },
		{ "tenant: ~\n", "p:1: tenant: has no value" },
		{ "ro:\n- a\n-\n", "p:3: ro[1]: has no value" },
		{ "memory: &a 1G\n", "p:1: anchors" },
		{ "ro: &a [x]\n", "p:1: anchors" },
		{ "env: &a {A: b}\n", "p:1: anchors" },
		{ "memory: *a\n", "p:1: aliases" },
		{ "<<: *a\n", "p:1: aliases" },
		{ "memory: !!str 1G\n", "p:1: anchors (&) and tags (!)" },
		{ "memory: !foo 1G\n", "p:1: anchors (&) and tags (!)" },
		{ "tier: \"vm\n", "p:2: not YAML: " },
		{ "tier: [vm\n", "p:2: not YAML: " },
		{ "ro: {a: b\n", "p:2: not YAML: " },
		{ "\ttier: vm\n", "p:1: not YAML: " },
		{ "pids: 1\n\n  tier: vm\n", "p:3: not YAML: " },
		{ "pids: 1\ntier: \xff\n", "p:2: not YAML: invalid leading UTF-8 octet" },
		{ "tier: \x01\n", "p:1: not YAML: control characters are not allowed" },
		{ "\n\ntier: \"v\\0m\"\n", "p:3: a text holds a NUL byte" },
		{ "env: {A: \"v\\0m\"}\n", "p:1: a text holds a NUL byte" },
		{ "a: {b: {c: {d: {e: {f: {g: {h: {i: j}}}}}}}}\n", "p:1: the file is nested too deeply" },
		{ "tier: [vm]\n", "p:1: tier: must be a text" },
		{ "pids: 1\ntier: {a: b}\n", "p:2: tier: must be a text" },
		{ "ro: /usr\n", "p:1: ro: must be a list" },
		{ "ro: {a: b}\n", "p:1: ro: must be a list" },
		{ "ro: [a,\n [b]]\n", "p:2: ro[1]: must be a text" },
		{ "ro:\n- a\n- b: c\n", "p:3: ro[1]: must be a text" },
		{ "ro:\n- a\n- ''\n", "p:3: ro[1]: the path is empty" },
		{ "in: [a/f, b/f]\n", "p:1: in[1]: 'b/f' has the same last name" },
		{ "gpu: [0, all]\n", "p:1: gpu[1]: 'all' is not a GPU" },
		{ "\ntier: Vm\n", "p:2: tier: 'Vm' is not a tier" },
		{ "tenant: A\n", "p:1: tenant: 'A' is not a tenant name" },
		{ "net: no\n", "p:1: net: 'no' is not a network grant" },
		{ "\n\nmemory: 1\n", "p:3: memory: '1' is too small" },
		{ "memory: 1Q\n", "p:1: memory: '1Q' is not valid" },
		{ "cpus: -1\n", "p:1: cpus: '-1' is not valid" },
		{ "grace: none\n", "p:1: grace: this limit cannot be 'none'" },
		{ "timeout: 1:30\n", "p:1: timeout: '1:30' is not valid" },
		{ "strict: yes\n", "p:1: strict: want true or false" },
		{ "strict: flase\n", "p:1: strict: want true or false" },
		{ "die-with-parent: 1\n", "p:1: die-with-parent: want true or false" },
		{ "env: x\n", "p:1: env: must be a mapping or a list" },
		{ "env: {A: [b]}\n", "p:1: env.A: must be a text" },
		{ "env:\n- A: b\n", "p:2: env[0]: must be a text" },
		{ "env:\n- [A]\n", "p:2: env[0]: must be a text" },
		{ "env:\n  \"A=B\": c\n", "p:2: env.A=B: a name cannot hold '='" },
		{ "env:\n  A: x\n  1A: c\n", "p:3: env.1A: '1A' is not a variable's name" },
		{ "env: {\"\\e[3\": 1}\n", "p:1: 'env.\\x1b[3': '\\x1b[3' is not a variable's name" },
		{ "secrets: {S: hunter2}\n", "p:1: secrets.S: the secret's source must be" },
		{ "secrets:\n- S\n", "p:2: secrets[0]: a secret is NAME=" },
		{ "env: [A=1]\nsecrets:\n  A: env:B\n", "p:3: secrets.A: 'A' is both" },
		{ "waive: kernel\n", "p:1: waive: must be a list" },
		{ "waive: [kernel]\n", "p:1: waive[0]: must be a mapping" },
		{ "waive: [{}]\n", "p:1: waive[0]: lacks the key" },
		{ "waive:\n- guarantee: kernel\n  by: A\n  date: 2026-01-01\n", "p:2: waive[0]: lacks the key reason" },
		{ WAIVE("A", "2026-01-01", "x") "- guarantee: kernel\n  by: A\n  date: 2026-01-01\n",
		  "p:6: waive[1]: lacks the key reason" },
		{ WAIVE("A", "2026-01-01", "x") "  until: 2027\n", "p:6: waive[0].until: unknown key" },
		{ WAIVE("A", "2026-01-01", "x") "- {guarantee: kernel, by: A, date: 2026-01-01, reason: x}\n",
		  "p:6: waive[1].guarantee: is waived twice" },
		{ WAIVE("''", "2026-01-01", "x"), "p:3: waive[0].by: must name" },
		{ WAIVE("' '", "2026-01-01", "x"), "p:3: waive[0].by: must name" },
		{ WAIVE("\"a\\nb\"", "2026-01-01", "x"), "p:3: waive[0].by: must name" },
		{ WAIVE("A", "2026-01-01", "''"), "p:5: waive[0].reason: must say why" },
		{ WAIVE("A", "2026-02-29", "x"), "p:4: waive[0].date: must be a day" },
		{ WAIVE("A", "1900-02-29", "x"), "p:4: waive[0].date: must be a day" },
		{ WAIVE("A", "2026-13-01", "x"), "p:4: waive[0].date: must be a day" },
		{ WAIVE("A", "2026-00-10", "x"), "p:4: waive[0].date: must be a day" },
		{ WAIVE("A", "2026-04-31", "x"), "p:4: waive[0].date: must be a day" },
		{ WAIVE("A", "2026-4-3", "x"), "p:4: waive[0].date: must be a day" },
		{ WAIVE("A", "2026-01-01T00:00", "x"), "p:4: waive[0].date: must be a day" },
		{ WAIVE("A", "01/02/2026", "x"), "p:4: waive[0].date: must be a day" },
		{ WAIVE("A", "yesterday", "x"), "p:4: waive[0].date: must be a day" },
		{ "waive: [{guarantee: all, by: A, date: 2026-01-01, reason: x}]\n",
		  "p:1: waive[0].guarantee: 'all' is not a guarantee" },
		{ "tenants: {a: trusted}\n", "p:1: tenants: must be a list" },
		{ "tenants:\n- name: a\n", "p:2: tenants[0]: lacks the key trust" },
		{ "tenants:\n- {name: a, trust: Trusted}\n", "p:2: tenants[0].trust: must be trusted or untrusted" },
		{ "tenants:\n- {name: A, trust: trusted}\n", "p:2: tenants[0].name: 'A' is not a tenant name" },
		{ "tenants:\n- {name: a, trust: trusted}\n- {name: a, trust: untrusted}\n",
		  "p:3: tenants[1].name: tenant a is listed twice" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct boundary b;
		struct policy p;
		struct error err = { 0 };
		int rc = load(rows[i].text, &b, &p, &err);

		if (rc >= 0)
			fail_msg("taken: %s", rows[i].text);
		if (strncmp(err.text, rows[i].error, strlen(rows[i].error)) != 0)
			fail_msg("%s\n gave:  %s\n want: %s", rows[i].text, err.text, rows[i].error);
		assert_int_equal(rc, -err.code);
		assert_null(strchr(err.text, '\n'));
		assert_null(strstr(err.text, "hunter2"));
		boundary_done(&b);
		assert_true(load(rows[i].text, &b, &p, NULL) < 0); /* err may be NULL */
		boundary_done(&b);
	}
}

static void test_whole_file(void **state)
{
	static const char text[] =
		"# a comment\n"
		"tier: sandbox\ntenant: ann\nrootfs: /srv/root\nnet: host\nstrict: true\n"
		"die-with-parent: true\nro: [/usr/share, /opt]\nrw: [/data]\nin: [a, b/c]\nout: results\n"
		"env:\n  HOME: /x\n  EMPTY: ''\n  NUMBER: 010\n"
		"secrets: {TOKEN: 'file:/t', KEY: 'env:K', PW: 'fd:5'}\ngpu: [0]\n"
		"memory: 512M\ncpus: 1.5\npids: 64\ndisk: 10M\noutput-limit: none\ntimeout: 60\n"
		"grace: 1s\ncpu-time: 1.5m\nopen-files: 256\n" WAIVE(
			"Ann B.", "2024-02-29",
			"\"a: b\"") "tenants:\n- {name: ann, trust: trusted}\n- {name: bob, trust: untrusted}\n";
	struct boundary b;
	struct policy p;
	struct error err = { 0 };

	(void)state;
	if (load(text, &b, &p, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(b.tier, TIER_SANDBOX);
	assert_string_equal(b.tenant, "ann");
	assert_string_equal(b.rootfs, "/srv/root");
	assert_int_equal(b.net, NET_HOST);
	assert_true(b.strict && b.die_with_parent);
	assert_int_equal(b.grant_count, 6);
	assert_int_equal(b.env_count, 6);
	assert_string_equal(b.env[2].name, "NUMBER");
	assert_string_equal(b.env[2].value, "010");
	assert_string_equal(b.env[1].value, "");
	assert_int_equal(b.env[5].source, SECRET_FD);
	assert_string_equal(b.env[5].from, "5");
	assert_string_equal(b.gpus[0], "0");
	assert_true(b.limits.memory_bytes == 512ull << 20 && b.limits.cpu_milli == 1500 && b.limits.pids == 64);
	assert_true(b.limits.disk_bytes == 10ull << 20 && b.limits.output_bytes == LIMIT_NONE);
	assert_true(b.limits.timeout_ms == 60000 && b.limits.grace_ms == 1000 && b.limits.cpu_time_ms == 90000);
	assert_true(b.limits.open_files == 256);
	assert_int_equal(b.waiver_count, 1);
	assert_string_equal(b.waivers[0].by, "Ann B.");
	assert_string_equal(b.waivers[0].date, "2024-02-29");
	assert_string_equal(b.waivers[0].reason, "a: b");
	assert_int_equal(trust_of(&p.trust, "ann"), TRUST_TRUSTED);
	assert_int_equal(trust_of(&p.trust, "bob"), TRUST_UNTRUSTED);
	assert_int_equal(trust_of(&p.trust, "eve"), TRUST_UNTRUSTED);
	boundary_done(&b);
}

static void test_files_that_add_nothing(void **state)
{
	static const char *const texts[] = { "",
					     "\n",
					     "# only a comment\n",
					     "{}\n",
					     "env: []\n",
					     "env: {}\n",
					     "ro: []\n",
					     "strict: false\n",
					     "waive: []\ntenants: []\n" };
	struct boundary fresh;

	(void)state;
	boundary_init(&fresh);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct boundary b;
		struct policy p;
		struct error err = { 0 };

		if (load(texts[i], &b, &p, &err) != 0)
			fail_msg("'%s': %s", texts[i], err.text);
		fresh.owned = b.owned;
		fresh.owned_count = b.owned_count;
		assert_memory_equal(&b, &fresh, sizeof(b));
		assert_int_equal(trust_of(&p.trust, "x"), TRUST_UNTRUSTED);
		boundary_done(&b);
	}
}

static void test_sizes_are_capped(void **state)
{
	char *text = malloc(POLICY_FILE_MAX + 2);
	struct boundary b;
	struct policy p;
	struct error err = { 0 };
	size_t used;

	(void)state;
	assert_non_null(text);
	memset(text, '#', POLICY_FILE_MAX + 1);
	text[POLICY_FILE_MAX + 1] = '\0';
	assert_int_equal(load(text, &b, &p, &err), -EFBIG);
	boundary_done(&b);
	text[POLICY_FILE_MAX] = '\0';
	assert_int_equal(load(text, &b, &p, &err), 0);
	boundary_done(&b);

	used = (size_t)sprintf(text, "tenants:\n");
	for (int i = 0; i < TRUST_TENANTS_MAX + 1; i++)
		used += (size_t)sprintf(text + used, "- {name: t%d, trust: trusted}\n", i);
	assert_int_equal(load(text, &b, &p, &err), -E2BIG);
	assert_string_equal(err.text, "p:258: tenants[256].name: more than 256 tenants");
	boundary_done(&b);

	used = (size_t)sprintf(text, "ro:\n");
	for (int i = 0; i < 3000; i++)
		used += (size_t)sprintf(text + used, "- /x%d\n", i);
	assert_int_equal(load(text, &b, &p, &err), -EINVAL);
	assert_string_equal(err.text, "p:2049: the file has too many values");
	boundary_done(&b);
	free(text);
}

static void test_unreadable_files(void **state)
{
	struct boundary b;
	struct policy p;
	struct error err = { 0 };

	(void)state;
	boundary_init(&b);
	assert_int_equal(policy_load("/nonexistent/policy", &b, &p, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/policy"));
	assert_int_equal(policy_load("/", &b, &p, &err), -EISDIR);
	assert_int_equal(policy_load("/dev/zero", &b, &p, &err), -EFBIG);
	assert_int_equal(policy_load("/dev/null", &b, &p, &err), 0);
	boundary_done(&b);
}

static void test_trust(void **state)
{
	struct trust_table table = { 0 };
	char long_name[TRUST_TENANT_NAME_MAX + 2];

	(void)state;
	assert_int_equal(trust_of(&table, NULL), TRUST_TRUSTED);
	assert_int_equal(trust_of(&table, "a"), TRUST_UNTRUSTED);
	assert_int_equal(trust_of(&table, ""), TRUST_UNTRUSTED);
	assert_int_equal(trust_add(&table, "a", TRUST_TRUSTED, NULL), 0);
	assert_int_equal(trust_add(&table, "a", TRUST_UNTRUSTED, NULL), -EEXIST);
	assert_int_equal(trust_of(&table, "a"), TRUST_TRUSTED);
	assert_int_equal(trust_of(&table, "A"), TRUST_UNTRUSTED);
	assert_int_equal(trust_of(&table, "aa"), TRUST_UNTRUSTED);
	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(trust_add(&table, long_name, TRUST_TRUSTED, NULL), -EINVAL);
	for (int t = 0; t < TRUST_COUNT; t++) {
		enum trust found;

		assert_true(trust_from_name(trust_name((enum trust)t), &found));
		assert_int_equal(found, t);
	}
}

/* The whole input space. */
static void test_decide(void **state)
{
	(void)state;
	for (int trust = 0; trust < TRUST_COUNT; trust++) {
		for (int tier = 0; tier < TIER_COUNT; tier++) {
			struct decision d = decide((enum trust)trust, (enum tier)tier);

			assert_true(d.allowed == (trust == TRUST_TRUSTED && tier != TIER_VM));
			assert_true(d.reason && d.reason[0]);
			if (trust == TRUST_UNTRUSTED && tier != TIER_VM)
				assert_non_null(strstr(d.reason, "needs tier vm"));
			if (tier == TIER_VM)
				assert_string_equal(d.reason, "the vm driver is not in this build");
		}
	}
	/* A value outside the enum is not trust. */
	assert_false(decide((enum trust)TRUST_COUNT, TIER_SANDBOX).allowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_whole_file),
		cmocka_unit_test(test_files_that_add_nothing),
		cmocka_unit_test(test_sizes_are_capped),
		cmocka_unit_test(test_unreadable_files),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_decide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
