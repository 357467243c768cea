#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/completion.h"
#include "launch/options.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define WORDS_MAX 12

/* run_options_parse() on "run" and the words up to the first NULL. */
static int parse(const char *const *words, struct run_options *out, struct error *err)
{
	static char run[] = "run";
	static char *argv[WORDS_MAX + 2];
	int argc = 0;

	argv[argc++] = run;
	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		argv[argc++] = (char *)(uintptr_t)words[i]; /* argp does not write to them */
	argv[argc] = NULL;
	return run_options_parse(argc, argv, out, err);
}

static void must_parse(const char *const *words, struct run_options *out)
{
	struct error err = { 0 };

	if (parse(words, out, &err) != 0)
		fail_msg("%s", err.text);
}
#define MUST_PARSE(o, ...) must_parse((const char *const[WORDS_MAX]){ __VA_ARGS__ }, o)

static char *write_policy(const char *text)
{
	char *path = strdup("/tmp/bulkhead-test-options-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

static void test_bad_command_lines(void **state)
{
	static const struct {
		const char *words[WORDS_MAX];
		const char *text;
	} rows[] = {
		{ { NULL }, "no command to run; write it last: bulkhead run [OPTION...] -- COMMAND" },
		{ { "--" }, "no command to run; write it last: bulkhead run [OPTION...] -- COMMAND" },
		{ { "--json" }, "no command to run; write it last: bulkhead run [OPTION...] -- COMMAND" },
		{ { "--memroy", "1G", "x" }, "unknown option '--memroy'; did you mean --memory?" },
		{ { "--memroy=1G", "x" }, "unknown option '--memroy'; did you mean --memory?" },
		{ { "--quiet", "--timout", "1", "x" }, "unknown option '--timout'; did you mean --timeout?" },
		{ { "--tear", "vm", "x" }, "unknown option '--tear'; did you mean --tier?" },
		{ { "--xx", "x" }, "unknown option '--xx'" },
		{ { "--frobnicate=s3cret", "x" }, "unknown option '--frobnicate'" },
		{ { "--evil\n\033[31m", "x" }, "unknown option '--evil\\x0a\\x1b[31m'" },
		{ { "--di", "1", "x" }, "'--di' could be one of several options; write it out" },
		{ { "--memory" }, "--memory needs a value, SIZE" },
		{ { "--report", "--", "x" }, "--report needs a value, FILE|-" },
		{ { "--json", "--memory" }, "--memory needs a value, SIZE" },
		{ { "--json=1", "x" }, "--json takes no value" },
		{ { "-x", "x" }, "unknown option '-x'; options start with two dashes" },
		{ { "--json", "-m1G", "x" }, "unknown option '-m1G'; options start with two dashes" },
		{ { "--tier", "foo", "x" }, "--tier: 'foo' is not a tier; one of process, sandbox, vm" },
		{ { "--memory", "1K", "x" }, "--memory: '1K' is too small: at least 1M, or none" },
		{ { "--memory=", "x" },
		  "--memory: '' is not valid: want bytes, or a number with K, M, G or T (powers of 1024), like 512M or "
		  "1.5G" },
		{ { "--net", "bridge", "x" }, "--net: 'bridge' is not a network grant; one of none, host" },
		{ { "--report=", "x" }, "--report: the path is empty" },
		{ { "--workdir", "", "x" }, "--workdir: the path is empty" },
		{ { "--policy=", "x" }, "--policy: the path is empty" },
		{ { "--policy", "/nonexistent/p", "x" }, "--policy: open /nonexistent/p: No such file or directory" },
		{ { "--ro", "", "x" }, "--ro: the path is empty" },
		{ { "--env", "A=1", "--secret", "A=env:B", "x" },
		  "--secret: 'A' is both a plain variable and a secret" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static struct run_options o;
		struct error err = { 0 };
		int rc = parse(rows[i].words, &o, &err);

		if (rc >= 0)
			fail_msg("row %zu was taken", i);
		assert_int_equal(rc, -err.code);
		assert_string_equal(err.text, rows[i].text);
		assert_true(parse(rows[i].words, &o, NULL) == rc);
	}
}

static void test_defaults(void **state)
{
	struct run_options o;
	char workdir[64];

	(void)state;
	MUST_PARSE(&o, "true");
	(void)snprintf(workdir, sizeof(workdir), "/var/tmp/bulkhead-%u", (unsigned int)getuid());
	assert_string_equal(o.workdir, workdir);
	assert_null(o.report);
	assert_null(o.policy);
	assert_false(o.json || o.quiet || o.help || o.boundary.strict || o.boundary.die_with_parent);
	assert_int_equal(o.rules.trust.count, 0);
	assert_string_equal(o.boundary.argv[0], "true");
	assert_null(o.boundary.argv[1]);
	run_options_done(&o);
}

static void test_command_keeps_its_options(void **state)
{
	struct run_options o;

	(void)state;
	MUST_PARSE(&o, "--quiet", "prog", "--memory", "1", "--", "-x");
	assert_true(o.quiet);
	assert_string_equal(o.boundary.argv[0], "prog");
	assert_string_equal(o.boundary.argv[1], "--memory");
	assert_string_equal(o.boundary.argv[3], "--");
	assert_string_equal(o.boundary.argv[4], "-x");
	assert_null(o.boundary.argv[5]);
	assert_true(o.boundary.limits.memory_bytes == 2ull << 30);
	run_options_done(&o);
	MUST_PARSE(&o, "--", "--json", "--");
	assert_false(o.json);
	assert_string_equal(o.boundary.argv[0], "--json");
	assert_string_equal(o.boundary.argv[1], "--");
	run_options_done(&o);
}

/* A value that each option of the table takes; a new option without one fails the test. */
static const char *sample(const char *name)
{
	static const struct {
		const char *name, *value;
	} samples[] = {
		{ "tier", "process" },	 { "tenant", "t1" },
		{ "rootfs", "/r" },	 { "net", "host" },
		{ "workdir", "/w" },	 { "ro", "/a" },
		{ "rw", "/b" },		 { "in", "f" },
		{ "out", "d" },		 { "env", "A=b" },
		{ "secret", "S=fd:3" },	 { "gpu", "0" },
		{ "memory", "1G" },	 { "cpus", "1.5" },
		{ "pids", "9" },	 { "disk", "1M" },
		{ "output-limit", "1" }, { "timeout", "1" },
		{ "grace", "1" },	 { "cpu-time", "1" },
		{ "open-files", "64" },	 { "policy", "/dev/null" },
		{ "waive", "kernel" },	 { "without", "seccomp" },
		{ "report", "-" },
	};

	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		if (strcmp(samples[i].name, name) == 0)
			return samples[i].value;
	}
	return NULL;
}

static void test_table(void **state)
{
	struct run_options o;

	(void)state;
	for (size_t i = 0; i < run_option_count; i++) {
		const struct run_option *opt = &run_option_table[i];
		char word[64], joined[128];
		const char *value;

		assert_non_null(opt->set);
		assert_true(opt->help[0] && opt->help[strlen(opt->help) - 1] != '.');
		assert_true((opt->completion == COMPLETE_WORDS) == (opt->word != NULL));
		assert_non_null(option_group_title(opt->group));
		(void)snprintf(word, sizeof(word), "--%s", opt->name);
		value = opt->argument ? sample(opt->name) : "";
		if (!value) {
			fail_msg("no sample for --%s", opt->name);
			return;
		}
		(void)snprintf(joined, sizeof(joined), "--%s=%s", opt->name, value);
		if (!opt->argument) {
			MUST_PARSE(&o, word, "x");
			run_options_done(&o);
			continue;
		}
		MUST_PARSE(&o, word, sample(opt->name), "x");
		assert_string_equal(o.boundary.argv[0], "x");
		run_options_done(&o);
		MUST_PARSE(&o, joined, "x");
		run_options_done(&o);
	}
}

static void test_words_are_accepted(void **state)
{
	struct run_options o;

	(void)state;
	for (size_t i = 0; i < run_option_count; i++) {
		char word[64];

		(void)snprintf(word, sizeof(word), "--%s", run_option_table[i].name);
		for (size_t j = 0; run_option_table[i].word && run_option_table[i].word(j); j++) {
			MUST_PARSE(&o, word, run_option_table[i].word(j), "x");
			run_options_done(&o);
		}
	}
}

static void test_command_line_over_policy(void **state)
{
	char *path = write_policy("tier: process\nmemory: 64M\npids: 3\nrw: [/data]\nenv: {A: policy, B: policy}\n"
				  "waive:\n- {guarantee: kernel, by: Ann, date: 2026-01-31, reason: a test}\n"
				  "tenants:\n- {name: ann, trust: trusted}\n");
	struct run_options o;

	(void)state;
	/* in either order */
	for (int order = 0; order < 2; order++) {
		if (order == 0)
			MUST_PARSE(&o, "--memory", "1G", "--ro", "/data", "--env", "A=line", "--waive", "kernel",
				   "--policy", path, "x");
		else
			MUST_PARSE(&o, "--policy", path, "--memory", "1G", "--ro", "/data", "--env", "A=line",
				   "--waive", "kernel", "x");
		assert_string_equal(o.policy, path);
		assert_int_equal(o.boundary.tier, TIER_PROCESS);
		assert_true(o.boundary.limits.memory_bytes == 1ull << 30);
		assert_true(o.boundary.limits.pids == 3);
		assert_int_equal(o.boundary.grant_count, 1);
		assert_int_equal(o.boundary.grants[0].kind, GRANT_RO);
		assert_int_equal(o.boundary.env_count, 2);
		assert_string_equal(o.boundary.env[0].value, "line");
		assert_string_equal(o.boundary.env[1].value, "policy");
		assert_int_equal(o.boundary.waiver_count, 1);
		assert_string_equal(o.boundary.waivers[0].by, "Ann");
		assert_int_equal(trust_of(&o.rules.trust, "ann"), TRUST_TRUSTED);
		run_options_done(&o);
	}
	unlink(path);
	free(path);
}

static void test_policy_error_names_the_line(void **state)
{
	char *path = write_policy("tier: vm\n\nmemory: 1Q\n");
	const char *const words[WORDS_MAX] = { "--policy", path, "x" };
	char want[128];
	struct run_options o;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse(words, &o, &err), -EINVAL);
	(void)snprintf(want, sizeof(want), "%s:3: memory: '1Q' is not valid", path);
	assert_memory_equal(err.text, want, strlen(want));
	unlink(path);
	free(path);
}

static void test_help(void **state)
{
	struct run_options o;
	char *text;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	(void)state;
	MUST_PARSE(&o, "--help");
	assert_true(o.help);
	run_options_done(&o);
	MUST_PARSE(&o, "-h");
	assert_true(o.help);
	run_options_done(&o);
	run_options_help(to);
	fclose(to);
	for (size_t i = 0; i < run_option_count; i++) {
		char word[64];

		(void)snprintf(word, sizeof(word), "--%s", run_option_table[i].name);
		assert_non_null(strstr(text, word));
	}
	free(text);
}

static void test_completion_names_every_option(void **state)
{
	struct error err = { 0 };

	(void)state;
	for (size_t s = 0; completion_shell(s); s++) {
		char *text;
		size_t len;
		FILE *to = open_memstream(&text, &len);

		assert_int_equal(completion_print(to, completion_shell(s), &err), 0);
		fclose(to);
		for (size_t i = 0; i < run_option_count; i++)
			assert_non_null(strstr(text, run_option_table[i].name));
		for (int g = 0; g < GUARANTEE_COUNT; g++)
			assert_non_null(strstr(text, guarantee_id((enum guarantee)g)));
		free(text);
	}
	assert_int_equal(completion_print(stdout, "tcsh", &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_command_lines),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_command_keeps_its_options),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_words_are_accepted),
		cmocka_unit_test(test_command_line_over_policy),
		cmocka_unit_test(test_policy_error_names_the_line),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_completion_names_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
