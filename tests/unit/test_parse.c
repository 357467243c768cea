#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/parse.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define UNTOUCHED 0x5ca1ab1eu

typedef int (*parser)(const char *text, uint64_t *out, struct error *err);

struct good {
	const char *text;
	uint64_t value;
};

static void expect_good(parser parse, const struct good *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct error err = { 0 };
		uint64_t value = UNTOUCHED;

		if (parse(rows[i].text, &value, &err) != 0 || value != rows[i].value)
			fail_msg("'%s' gave %llu (%s), want %llu", rows[i].text, (unsigned long long)value, err.text,
				 (unsigned long long)rows[i].value);
	}
}

static void expect_bad(parser parse, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct error err = { 0 };
		uint64_t value = UNTOUCHED;
		int rc = parse(texts[i], &value, &err);

		if ((rc != -EINVAL && rc != -ERANGE) || rc != -err.code)
			fail_msg("'%s' gave %d (%llu)", texts[i], rc, (unsigned long long)value);
		assert_true(value == UNTOUCHED);
		assert_true(err.text[0] != '\0');
		assert_null(strchr(err.text, '\n'));
		assert_true(parse(texts[i], &value, NULL) == rc); /* err may be NULL */
	}
}

/* No parser here takes any of these. */
static const char *const never[] = {
	"",
	" ",
	"-1",
	"+1",
	" 1",
	"1 ",
	"1\n",
	"\t1",
	"0x10",
	"1e3",
	"1_000",
	"1,000",
	"1,5",
	".5",
	"1.",
	"1..5",
	"1.5.5",
	"-",
	".",
	"a",
	"K",
	"none",
	"NaN",
	"inf",
	"infinity",
	"1 K",
	"1KK",
	"1KiBs",
	"\xd9\xa1",
	"1\x80",
	"--1",
	"18446744073709551616",
	"99999999999999999999999999",
	"184467440737095516160",
	"1.0000000001x",
};

static void test_u64(void **state)
{
	static const struct good good[] = {
		{ "0", 0 }, { "7", 7 }, { "007", 7 }, { "4194304", 4194304 }, { "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = { "1K", "1.5", "1s", "0b1", "1.0" };

	(void)state;
	expect_good(parse_u64, good, COUNT_OF(good));
	expect_bad(parse_u64, bad, COUNT_OF(bad));
	expect_bad(parse_u64, never, COUNT_OF(never));
}

static void test_size(void **state)
{
	static const struct good good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "1B", 1 },
		{ "1K", 1024 },
		{ "1k", 1024 },
		{ "1KB", 1024 },
		{ "1KiB", 1024 },
		{ "1kib", 1024 },
		{ "512M", 512ull << 20 },
		{ "2G", 2ull << 30 },
		{ "1.5G", 3ull << 29 },
		{ "0.5K", 512 },
		{ "1T", 1ull << 40 },
		{ "0.000001G", 1073 },
		{ "0.0K", 0 },
		{ "1.999999999T", 2199023254452 },
		{ "16777215T", 16777215ull << 40 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = {
		"1.5",
		"1.0",
		"1.5B",
		"1P",
		"1E",
		"1KI",
		"1Ki",
		"1bit",
		"1m1",
		"16777216T",
		"16777215.9999999999T",
		"18014398509481984K",
		"0.0000001K",
		"1.0000000001G",
		"1s",
		"1h",
		"1.K",
		"K1",
	};

	(void)state;
	expect_good(parse_size, good, COUNT_OF(good));
	expect_bad(parse_size, bad, COUNT_OF(bad));
	expect_bad(parse_size, never, COUNT_OF(never));
}

static void test_size_error_lists_units(void **state)
{
	struct error err = { 0 };
	uint64_t value;

	(void)state;
	assert_int_equal(parse_size("3Q", &value, &err), -EINVAL);
	assert_string_equal(err.text, "'3Q' is not valid: want bytes, or a number with K, M, G or T (powers of 1024), "
				      "like 512M or 1.5G");
}

static void test_duration(void **state)
{
	static const struct good good[] = {
		{ "0", 0 },	{ "1", 1000 },	   { "1s", 1000 },    { "500ms", 500 },	 { "1.5", 1500 },
		{ "0.001", 1 }, { "0.0015", 1 },   { "1.5m", 90000 }, { "2h", 7200000 }, { "0.5h", 1800000 },
		{ "1MS", 1 },	{ "1H", 3600000 }, { "0.001s", 1 },   { "0s", 0 },
	};
	static const char *const bad[] = {
		"1.5ms",
		"0.0001s",
		"1d",
		"1w",
		"1min",
		"1sec",
		"1m30s",
		"1us",
		"5124095576030432h",
		"18446744073709552s",
	};

	(void)state;
	expect_good(parse_duration_ms, good, COUNT_OF(good));
	expect_bad(parse_duration_ms, bad, COUNT_OF(bad));
	expect_bad(parse_duration_ms, never, COUNT_OF(never));
}

static void test_milli(void **state)
{
	static const struct good good[] = {
		{ "0", 0 },	{ "1", 1000 },	     { "1.5", 1500 }, { "0.01", 10 },
		{ "0.001", 1 }, { "1024", 1024000 }, { "0.000", 0 },
	};
	static const char *const bad[] = { "1.0005", "0.0001", "1K", "100%", "1s", "18446744073709552" };

	(void)state;
	expect_good(parse_milli, good, COUNT_OF(good));
	expect_bad(parse_milli, bad, COUNT_OF(bad));
	expect_bad(parse_milli, never, COUNT_OF(never));
}

static void test_quote(void **state)
{
	char buf[16];

	(void)state;
	assert_string_equal(parse_quote("abc", buf, sizeof(buf)), "'abc'");
	assert_string_equal(parse_quote("", buf, sizeof(buf)), "''");
	assert_string_equal(parse_quote("a\n\x1b[[[[[[", buf, sizeof(buf)), "'a\\x0a\\x1b[...'");
	assert_string_equal(parse_quote("'\\", buf, sizeof(buf)), "'\\x27\\x5c'");
	assert_string_equal(parse_quote("\xff", buf, sizeof(buf)), "'\\xff'");
	assert_string_equal(parse_quote("0123456789012345", buf, sizeof(buf)), "'0123456789...'");
	for (size_t size = 8; size <= sizeof(buf); size++) { /* never past the end */
		memset(buf, 'X', sizeof(buf));
		parse_quote("\x01\x02\x03\x04\x05\x06", buf, size);
		assert_true(memchr(buf, '\0', size) != NULL);
		assert_true(size == sizeof(buf) || buf[size] == 'X');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_size_error_lists_units),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_milli),
		cmocka_unit_test(test_quote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
