#include "launch/cmd_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launch/launch.h"
#include "launch/options.h"
#include "launch/report.h"
#include "policy/decide.h"
#include "policy/trust.h"

#define EXIT_USAGE 2

static int complain(const char *text, int status)
{
	char line[2048];

	/* paths and interpreters are in it, which others named, and it ends on a terminal */
	(void)snprintf(line, sizeof(line), "%s", text);
	for (char *p = line; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	(void)fprintf(stderr, "bulkhead run: %s\n", line);
	return status;
}

/* Opened before anything runs, so that a report that cannot be written is refused while it still matters; close-on-exec,
 * and a descriptor of our own for stdout, which the launcher may give up. */
static int open_report(const struct run_options *o, FILE **out, struct error *err)
{
	int fd = -1;

	*out = NULL;
	if (!o->report && !o->json)
		return 0;
	if (!o->report || strcmp(o->report, "-") == 0)
		fd = fcntl(1, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(o->report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0)
		return error_errno(err, "--report %s", o->report ? o->report : "-");
	*out = fdopen(fd, "w");
	return *out ? 0 : error_errno(err, "--report");
}

static unsigned int width_of(FILE *to)
{
	struct winsize size;

	return ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 40 ? size.ws_col : 0;
}

/* A file gets JSON; stdout gets the table, and JSON with --json. */
static int write_report(FILE *to, const struct run_options *o, const struct evidence *e, const struct outcome *out,
			struct error *err)
{
	bool to_stdout = !o->report || strcmp(o->report, "-") == 0;

	if (!to)
		return 0;
	if (o->json || !to_stdout)
		return report_write_json(to, &o->boundary, e, out, err);
	report_write_text(to, &o->boundary, e, out, width_of(to));
	return fflush(to) == EOF || ferror(to) ? error_errno(err, "write the report") : 0;
}

static void ask_policy(const struct run_options *o, struct outcome *out)
{
	enum trust trust = trust_of(&o->rules.trust, o->boundary.tenant);
	struct decision d = decide(trust, o->boundary.tier);

	if (d.allowed)
		return;
	out->kind = OUTCOME_REFUSED;
	(void)error_set(&out->error, EPERM, "policy: %s%s%s%s", o->boundary.tenant ? "tenant " : "",
			o->boundary.tenant ? o->boundary.tenant : "", o->boundary.tenant ? ": " : "", d.reason);
}

static int run(const struct run_options *o)
{
	static struct evidence evidence;
	struct outcome out;
	struct launch_options options = { .workdir = o->workdir, .count_output = o->report || o->json };
	struct error err;
	char line[1024];
	FILE *report;

	if (open_report(o, &report, &err) < 0)
		return complain(err.text, 125);
	outcome_init(&out);
	ask_policy(o, &out);
	if (out.kind == OUTCOME_REFUSED)
		(void)evidence_judge(&evidence, &o->boundary);
	else
		launch_run(&o->boundary, &options, &evidence, &out);
	if (report_summary(&o->boundary, &evidence, &out, line, sizeof(line)) &&
	    (!o->quiet || outcome_status(&out) == 125 || out.kind == OUTCOME_NOT_STARTED))
		(void)complain(line, 0);
	if (write_report(report, o, &evidence, &out, &err) < 0)
		return complain(err.text, 125);
	if (report && fclose(report) == EOF)
		return complain("the report could not be written", 125);
	return outcome_status(&out);
}

int cmd_run(int argc, char **argv)
{
	static struct run_options options;
	struct error err = { 0 };
	int status;

	if (run_options_parse(argc, argv, &options, &err) < 0)
		return complain(err.text, err.code == ENOMEM ? 125 : EXIT_USAGE);
	if (options.help) {
		run_options_help(stdout);
		status = 0;
	} else {
		status = run(&options);
	}
	run_options_done(&options);
	return status;
}
