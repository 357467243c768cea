#include <stdio.h>
#include <string.h>

#include "doctor/cmd_doctor.h"
#include "launch/cmd_run.h"
#include "launch/completion.h"
#include "util/error.h"
#include "util/fd.h"
#include "util/title.h"

#define EXIT_USAGE 2
#define EXIT_FAILED 125

struct command {
	const char *name;
	const char *help; /* one line */
	int (*run)(int argc, char **argv);
};

static int cmd_completion(int argc, char **argv);
static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct command commands[] = {
	{ "run", "run one command behind a boundary, now", cmd_run },
	{ "doctor", "say what this host can hold, and what to change where it cannot", cmd_doctor },
	{ "completion", "print the completion script of a shell: bash, zsh or fish", cmd_completion },
	{ "help", "print this text", cmd_help },
	{ "--help", "print this text", cmd_help },
	{ "--version", "print the version", cmd_version },
	{ NULL, NULL, NULL },
};

static void print_usage(FILE *out)
{
	(void)fputs("usage: bulkhead COMMAND [ARGUMENT...]\n", out);
	for (const struct command *c = commands; c->name; c++)
		(void)fprintf(out, "  %-12s %s\n", c->name, c->help);
}

static int cmd_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	print_usage(stdout);
	return 0;
}

static int cmd_completion(int argc, char **argv)
{
	struct error err;

	if (argc != 2) {
		(void)fputs("usage: bulkhead completion bash|zsh|fish\n", stderr);
		return EXIT_USAGE;
	}
	if (completion_print(stdout, argv[1], &err) < 0) {
		(void)fprintf(stderr, "bulkhead completion: %s\n", err.text);
		return EXIT_USAGE;
	}
	return 0;
}

static int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)puts("bulkhead " BULKHEAD_VERSION);
	return 0;
}

int main(int argc, char **argv)
{
	struct error err;

	title_remember(argc, argv);
	if (fd_fill_stdio(&err) < 0) {
		(void)fprintf(stderr, "bulkhead: %s\n", err.text);
		return EXIT_FAILED;
	}
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	for (const struct command *c = commands; c->name; c++) {
		if (strcmp(argv[1], c->name) == 0)
			return c->run(argc - 1, argv + 1);
	}
	(void)fprintf(stderr, "bulkhead: no command named \"%s\"\n", argv[1]);
	print_usage(stderr);
	return EXIT_USAGE;
}
