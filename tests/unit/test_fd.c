#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/fd.h"

struct scratch {
	char path[64];
	int dirfd;
};

static int make_scratch(void **state)
{
	struct scratch *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	(void)snprintf(s->path, sizeof(s->path), "/tmp/test_fd.XXXXXX");
	if (!mkdtemp(s->path)) {
		free(s);
		return -1;
	}
	s->dirfd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = s;
	return s->dirfd < 0 ? -1 : 0;
}

static int remove_scratch(void **state)
{
	struct scratch *s = *state;
	int rc;

	(void)unlinkat(s->dirfd, "file", 0); /* not every test makes one */
	rc = rmdir(s->path);
	(void)close(s->dirfd);
	free(s);
	return rc;
}

static void put_file(struct scratch *s, const char *text, size_t len)
{
	int fd = openat(s->dirfd, "file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(close(fd), 0);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void close_forgets_and_keeps_errno(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int number = fd;

	(void)state;
	assert_true(fd >= 0);
	errno = ENOTTY;
	fd_close(&fd);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(fd, -1);
	assert_false(is_open(number));
	fd_close(&fd); /* again, on what is not open */
	assert_int_equal(fd, -1);
}

static void autofd_closes_at_end_of_scope(void **state)
{
	int number;

	(void)state;
	{
		autofd fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		number = fd;
		assert_true(is_open(number));
	}
	assert_false(is_open(number));
}

static void write_all_goes_past_short_writes(void **state)
{
	static char data[1 << 20]; /* larger than a pipe's 64 KiB, and the reader is slow */
	struct error err = { 0 };
	int ends[2];
	pid_t child;
	int status;
	size_t seen = 0;
	char buf[4096];

	(void)state;
	memset(data, 'd', sizeof(data));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void)fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		fd_close(&ends[0]);
		_exit(fd_write_all(ends[1], data, sizeof(data), &err) == 0 ? 0 : 1);
	}
	fd_close(&ends[1]);
	for (;;) {
		ssize_t n = read(ends[0], buf, sizeof(buf));

		assert_true(n >= 0);
		if (n == 0)
			break;
		seen += (size_t)n;
	}
	fd_close(&ends[0]);
	assert_int_equal(seen, sizeof(data));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void write_all_says_why_it_failed(void **state)
{
	struct error err = { 0 };
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, "x", 1, &err), -ENOSPC);
	assert_string_equal(err.text, "write: No space left on device");
	assert_int_equal(fd_write_all(fd, "", 0, &err), 0);
	fd_close(&fd);
}

static void read_file_ends_with_nul(void **state)
{
	struct scratch *s = *state;
	struct error err = { 0 };
	char buf[16];

	memset(buf, 'z', sizeof(buf));
	put_file(s, "hello\n", 6);
	assert_int_equal(fd_read_file_at(s->dirfd, "file", buf, sizeof(buf), &err), 6);
	assert_string_equal(buf, "hello\n");
	put_file(s, "", 0);
	assert_int_equal(fd_read_file_at(s->dirfd, "file", buf, sizeof(buf), &err), 0);
	assert_string_equal(buf, "");
}

static void read_file_takes_what_just_fits(void **state)
{
	struct scratch *s = *state;
	struct error err = { 0 };
	char buf[8];

	put_file(s, "1234567", 7);
	assert_int_equal(fd_read_file_at(s->dirfd, "file", buf, sizeof(buf), &err), 7);
	assert_string_equal(buf, "1234567");
}

static void read_file_refuses_what_does_not_fit(void **state)
{
	struct scratch *s = *state;
	struct error err = { 0 };
	char buf[8];

	put_file(s, "12345678", 8);
	assert_int_equal(fd_read_file_at(s->dirfd, "file", buf, sizeof(buf), &err), -EFBIG);
	assert_string_equal(err.text, "read file: longer than 7 bytes");
}

static void read_file_names_what_is_missing(void **state)
{
	struct scratch *s = *state;
	struct error err = { 0 };
	char buf[8];

	assert_int_equal(fd_read_file_at(s->dirfd, "file", buf, sizeof(buf), &err), -ENOENT);
	assert_string_equal(err.text, "open file: No such file or directory");
}

static void read_file_of_a_directory_fails_at_the_read(void **state)
{
	struct scratch *s = *state;
	struct error err = { 0 };
	char buf[8];

	assert_int_equal(fd_read_file_at(s->dirfd, ".", buf, sizeof(buf), &err), -EISDIR);
	assert_string_equal(err.text, "read .: Is a directory");
}

static void write_file_needs_an_existing_file(void **state)
{
	struct scratch *s = *state;
	struct error err = { 0 };
	char buf[16];

	assert_int_equal(fd_write_file_at(s->dirfd, "file", "deny", &err), -ENOENT);
	put_file(s, "", 0);
	assert_int_equal(fd_write_file_at(s->dirfd, "file", "deny", &err), 0);
	assert_int_equal(fd_read_file_at(s->dirfd, "file", buf, sizeof(buf), &err), 4);
	assert_string_equal(buf, "deny");
}

static void write_file_says_what_the_kernel_refused(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(fd_write_file_at(AT_FDCWD, "/dev/full", "max", &err), -ENOSPC);
	assert_string_equal(err.text, "write \"max\" to /dev/full: No space left on device");
}

static void socketpair_keeps_message_borders_and_closes_on_exec(void **state)
{
	struct error err = { 0 };
	int pair[2] = { -1, -1 };
	char buf[16];

	(void)state;
	assert_int_equal(fd_socketpair(pair, &err), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fcntl(pair[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(send(pair[0], "one", 3, 0), 3);
	assert_int_equal(send(pair[0], "two", 3, 0), 3);
	assert_int_equal(recv(pair[1], buf, sizeof(buf), 0), 3);
	assert_memory_equal(buf, "one", 3);
	fd_close(&pair[0]);
	assert_int_equal(recv(pair[1], buf, sizeof(buf), 0), 3);
	assert_int_equal(recv(pair[1], buf, sizeof(buf), 0), 0);
	fd_close(&pair[1]);
}

#define in_scratch(test) cmocka_unit_test_setup_teardown(test, make_scratch, remove_scratch)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(close_forgets_and_keeps_errno),
		cmocka_unit_test(autofd_closes_at_end_of_scope),
		cmocka_unit_test(write_all_goes_past_short_writes),
		cmocka_unit_test(write_all_says_why_it_failed),
		in_scratch(read_file_ends_with_nul),
		in_scratch(read_file_takes_what_just_fits),
		in_scratch(read_file_refuses_what_does_not_fit),
		in_scratch(read_file_names_what_is_missing),
		in_scratch(read_file_of_a_directory_fails_at_the_read),
		in_scratch(write_file_needs_an_existing_file),
		cmocka_unit_test(write_file_says_what_the_kernel_refused),
		cmocka_unit_test(socketpair_keeps_message_borders_and_closes_on_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
