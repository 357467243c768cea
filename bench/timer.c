/* timer: starts commands in turn and prints what each took.
 *
 * usage: timer launch ROUNDS QUIET_MS COMMAND ARG... [::: COMMAND ARG...]...
 *            Round-robin over the commands; one line per run: row, round, nanoseconds, exit status, max RSS in kB,
 *            user and system microseconds (both of the command and of what it waited for).
 *            The clock runs from before the spawn until wait has returned. QUIET_MS is slept before each run.
 *            A command may begin with FD<PATH words: that file is opened anew as FD for each of its runs.
 *        timer pipe BYTES COMMAND ARG...
 *            Feeds BYTES zeros through the command's stdin and reads its stdout to the end; prints nanoseconds, the bytes that
 *            came back, exit status.
 *
 * Static and small: a spawned child's max RSS starts at the size of the process that spawned it, so that is the floor of that column.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define ROWS_MAX 64
#define PIPE_CHUNK 65536

struct row {
	char **argv;
	int file_fd; /* -1: none */
	const char *file;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int parse_rows(char **argv, struct row *rows)
{
	int n = 0;

	while (*argv && n < ROWS_MAX) {
		char *less = strchr(*argv, '<');

		rows[n] = (struct row){ .argv = argv, .file_fd = -1 };
		if (less) {
			rows[n].file_fd = atoi(*argv);
			rows[n].file = less + 1;
			rows[n].argv = ++argv;
		}
		for (; *argv && strcmp(*argv, ":::"); argv++)
			;
		if (*argv)
			*argv++ = NULL;
		if (!rows[n].argv[0])
			return -1;
		n++;
	}
	return n;
}

static int launch(int rounds, int quiet_ms, char **argv)
{
	struct row rows[ROWS_MAX];
	struct timespec quiet = { quiet_ms / 1000, quiet_ms % 1000 * 1000000L };
	int count = parse_rows(argv, rows);

	if (count <= 0)
		return 2;
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++) {
			posix_spawn_file_actions_t actions;
			struct rusage usage;
			uint64_t begin, took;
			int status, error, fd = -1;
			pid_t pid;

			posix_spawn_file_actions_init(&actions);
			posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
			posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
			if (rows[i].file) {
				fd = open(rows[i].file, O_RDONLY | O_CLOEXEC);
				if (fd < 0) {
					perror(rows[i].file);
					return 1;
				}
				posix_spawn_file_actions_adddup2(&actions, fd, rows[i].file_fd);
			}
			if (quiet_ms)
				nanosleep(&quiet, NULL);
			begin = now_ns();
			error = posix_spawn(&pid, rows[i].argv[0], &actions, NULL, rows[i].argv, environ);
			if (error) {
				fprintf(stderr, "%s: %s\n", rows[i].argv[0], strerror(error));
				return 1;
			}
			if (wait4(pid, &status, 0, &usage) != pid) {
				perror("wait4");
				return 1;
			}
			took = now_ns() - begin;
			printf("%d %d %" PRIu64 " %d %ld %ld %ld\n", i, round, took, exit_status(status),
			       usage.ru_maxrss, usage.ru_utime.tv_sec * 1000000L + usage.ru_utime.tv_usec,
			       usage.ru_stime.tv_sec * 1000000L + usage.ru_stime.tv_usec);
			posix_spawn_file_actions_destroy(&actions);
			if (fd >= 0)
				close(fd);
		}
	return 0;
}

static int through_pipe(uint64_t bytes, char **argv)
{
	static char chunk[PIPE_CHUNK];
	posix_spawn_file_actions_t actions;
	int in[2], out[2], status, error;
	uint64_t begin, got = 0;
	pid_t feeder, pid;
	ssize_t n;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return 1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	begin = now_ns();
	error = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	if (error) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(error));
		return 1;
	}
	feeder = fork();
	if (feeder < 0)
		return 1;
	if (feeder == 0) {
		signal(SIGPIPE, SIG_DFL);
		close(in[0]);
		close(out[1]);
		while (bytes > 0) {
			n = write(in[1], chunk, bytes < sizeof chunk ? (size_t)bytes : sizeof chunk);
			if (n <= 0)
				_exit(1);
			bytes -= (uint64_t)n;
		}
		_exit(0);
	}
	close(in[0]);
	close(in[1]);
	close(out[1]);
	while ((n = read(out[0], chunk, sizeof chunk)) > 0)
		got += (uint64_t)n;
	waitpid(pid, &status, 0);
	printf("%" PRIu64 " %" PRIu64 " %d\n", now_ns() - begin, got, exit_status(status));
	waitpid(feeder, NULL, 0);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 5 && strcmp(argv[1], "launch") == 0)
		return launch(atoi(argv[2]), atoi(argv[3]), argv + 4);
	if (argc >= 4 && strcmp(argv[1], "pipe") == 0)
		return through_pipe(strtoull(argv[2], NULL, 10), argv + 3);
	fprintf(stderr,
		"usage: timer launch ROUNDS QUIET_MS COMMAND... [::: COMMAND...]... | timer pipe BYTES COMMAND...\n");
	return 2;
}
