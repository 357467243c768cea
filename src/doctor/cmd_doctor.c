/* There is no probing in here: each tier's boundary is built by launch_run() up to the gate and looked at, as for any
 * run; the workload's process then goes without having executed anything.  So doctor cannot say another thing than run.
 * The checks (check.h) only explain. */
#include "doctor/cmd_doctor.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "doctor/diagnosis.h"
#include "drivers/driver.h"
#include "isolation/capability.h"
#include "launch/launch.h"
#include "launch/options.h"

#define EXIT_UNAVAILABLE 1
#define EXIT_USAGE 2
#define WIDTH_MAX 100
#define WIDTH_MIN 72 /* narrower, the terminal wraps */

bool trial_untried(const struct trial *t, enum guarantee g)
{
	const struct verdict *v = &t->evidence.guarantees[g];

	return !t->available && evidence_unfinished(&t->evidence) &&
	       (v->state == VERDICT_HELD || v->state == VERDICT_PARTIAL);
}

bool finding_lacks(const struct finding *f)
{
	return f->state == FINDING_UNSUPPORTED || f->state == FINDING_FAILED || f->state == FINDING_PARTIAL ||
	       f->state == FINDING_WITHOUT;
}

static void try_tier(const struct run_options *o, enum tier tier, struct trial *t)
{
	struct launch_options options = { .workdir = o->workdir, .trial = true };

	boundary_init(&t->boundary);
	t->boundary.tier = tier;
	t->boundary.strict = o->boundary.strict;
	t->boundary.without = o->boundary.without;
	t->boundary.argv = o->boundary.argv;
	t->in_build = driver_for(tier) != NULL;
	launch_run(&t->boundary, &options, &t->evidence, &t->outcome);
	t->available = t->outcome.kind == OUTCOME_EXITED;
}

static bool has_rights(void)
{
	struct capability_sets caps;

	return capability_get(&caps) == 0 && capability_effective(&caps, CAP_SYS_ADMIN) &&
	       capability_effective(&caps, CAP_SETUID) && capability_effective(&caps, CAP_SETGID);
}

static void diagnose(const struct run_options *o, struct diagnosis *d)
{
	struct check_context context = { .workdir = o->workdir, .sandbox = &d->trials[TIER_SANDBOX].evidence };

	d->asked = o->boundary.tier;
	d->strict = o->boundary.strict;
	d->without = o->boundary.without;
	d->privileged = context.privileged = has_rights();
	for (int t = 0; t < TIER_COUNT; t++)
		try_tier(o, (enum tier)t, &d->trials[t]);
	assert(host_check_count <= CHECKS_MAX);
	for (size_t i = 0; i < host_check_count; i++) {
		d->checks[i].name = host_checks[i].name;
		host_checks[i].look(&context, &d->checks[i]);
	}
	d->check_count = host_check_count;
}

static unsigned int width_of(FILE *to)
{
	struct winsize size;

	if (ioctl(fileno(to), TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_col > WIDTH_MAX)
		return WIDTH_MAX;
	return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
}

static bool wants_colour(FILE *to)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(to)) && !(no && no[0]) && term && strcmp(term, "dumb") != 0; /* no-color.org */
}

static int report(const struct run_options *o, const struct diagnosis *d)
{
	struct error err;

	if (!o->json)
		diagnosis_print_text(d, stdout, width_of(stdout), wants_colour(stdout));
	else if (diagnosis_print_json(d, stdout, &err) < 0)
		return (void)fprintf(stderr, "bulkhead doctor: %s\n", err.text), EXIT_UNAVAILABLE;
	if (fflush(stdout) == EOF || ferror(stdout))
		return (void)fprintf(stderr, "bulkhead doctor: the output could not be written\n"), EXIT_UNAVAILABLE;
	return d->trials[d->asked].available ? 0 : EXIT_UNAVAILABLE;
}

int cmd_doctor(int argc, char **argv)
{
	static struct run_options options;
	static struct diagnosis diagnosis;
	struct error err = { 0 };
	int status = 0;

	if (doctor_options_parse(argc, argv, &options, &err) < 0) {
		(void)fprintf(stderr, "bulkhead doctor: %s\n", err.text);
		return err.code == ENOMEM ? EXIT_UNAVAILABLE : EXIT_USAGE;
	}
	if (options.help) {
		doctor_options_help(stdout);
	} else {
		diagnose(&options, &diagnosis);
		status = report(&options, &diagnosis);
		for (int t = 0; t < TIER_COUNT; t++)
			boundary_done(&diagnosis.trials[t].boundary);
	}
	run_options_done(&options);
	return status;
}
