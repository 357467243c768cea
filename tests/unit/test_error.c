#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/error.h"

static void set_fills_code_and_text(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(error_set(&err, ENOENT, "open %s", "/nowhere"), -ENOENT);
	assert_int_equal(err.code, ENOENT);
	assert_string_equal(err.text, "open /nowhere");
}

static void set_without_storage_returns_the_code(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, EPERM, "nobody reads %s", "this"), -EPERM);
}

static void set_replaces_what_was_there(void **state)
{
	struct error err = { 0 };

	(void)state;
	(void)error_set(&err, ENOENT, "a rather long first text");
	(void)error_set(&err, EPERM, "short");
	assert_int_equal(err.code, EPERM);
	assert_string_equal(err.text, "short");
}

static void errno_text_is_appended(void **state)
{
	struct error err = { 0 };

	(void)state;
	errno = EACCES;
	assert_int_equal(error_errno(&err, "open %s", "/secret"), -EACCES);
	assert_int_equal(err.code, EACCES);
	assert_string_equal(err.text, "open /secret: Permission denied");
}

static void errno_zero_still_fails(void **state)
{
	struct error err = { 0 };

	(void)state;
	errno = 0;
	assert_int_equal(error_errno(&err, "read"), -EIO);
	assert_int_equal(err.code, EIO);
	errno = 0;
	assert_int_equal(error_errno(NULL, "read"), -EIO);
}

static void wrap_puts_context_in_front_and_keeps_the_code(void **state)
{
	struct error err = { 0 };

	(void)state;
	(void)error_set(&err, ENOSPC, "write pids.max");
	assert_int_equal(error_wrap(&err, "cgroup %s", "job"), -ENOSPC);
	assert_int_equal(err.code, ENOSPC);
	assert_string_equal(err.text, "cgroup job: write pids.max");
}

static void wrap_of_nothing_still_fails(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(error_wrap(&err, "start"), -EIO);
	assert_int_equal(error_wrap(NULL, "start"), -EIO);
}

static void long_text_is_cut_and_ended(void **state)
{
	struct {
		struct error err;
		char guard[16];
	} box;
	char longer[2 * ERROR_TEXT_MAX];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	memset(&box, 0x5a, sizeof(box));
	assert_int_equal(error_set(&box.err, E2BIG, "%s", longer), -E2BIG);
	assert_int_equal(strlen(box.err.text), ERROR_TEXT_MAX - 1);
	errno = EACCES;
	assert_int_equal(error_errno(&box.err, "%s", longer), -EACCES);
	assert_int_equal(strlen(box.err.text), ERROR_TEXT_MAX - 1);
	assert_int_equal(error_wrap(&box.err, "%s", longer), -EACCES);
	assert_int_equal(strlen(box.err.text), ERROR_TEXT_MAX - 1);
	for (size_t i = 0; i < sizeof(box.guard); i++)
		assert_int_equal(box.guard[i], 0x5a);
}

static void suffix_is_cut_where_little_room_is_left(void **state)
{
	struct error err = { 0 };
	char almost[ERROR_TEXT_MAX - 4]; /* leaves room for ": P" and the end */

	(void)state;
	memset(almost, 'x', sizeof(almost) - 1);
	almost[sizeof(almost) - 1] = '\0';
	errno = EPERM;
	assert_int_equal(error_errno(&err, "%s", almost), -EPERM);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	assert_memory_equal(err.text, almost, sizeof(almost) - 1);
	assert_memory_equal(err.text + sizeof(almost) - 1, ": Op", 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_fills_code_and_text),
		cmocka_unit_test(set_without_storage_returns_the_code),
		cmocka_unit_test(set_replaces_what_was_there),
		cmocka_unit_test(errno_text_is_appended),
		cmocka_unit_test(errno_zero_still_fails),
		cmocka_unit_test(wrap_puts_context_in_front_and_keeps_the_code),
		cmocka_unit_test(wrap_of_nothing_still_fails),
		cmocka_unit_test(long_text_is_cut_and_ended),
		cmocka_unit_test(suffix_is_cut_where_little_room_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
