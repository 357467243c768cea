/* The options of `bulkhead run`: one table, from which come the parser, --help, the shell completions and the manual
 * page, so that none of them can know an option that another does not.  `bulkhead doctor` takes a few of the same, with
 * the same setters, from a second table. */
#ifndef BULKHEAD_LAUNCH_OPTIONS_H
#define BULKHEAD_LAUNCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "isolation/boundary.h"
#include "policy/policy_parse.h"
#include "util/error.h"

struct run_options {
	struct boundary boundary; /* argv is the command, inside the argv that was parsed */
	struct policy rules;	  /* what the policy file says beside; zeroed when there is none */
	const char *report;	  /* a path, "-" for stdout, or NULL */
	bool json, quiet;
	bool help;	     /* --help was given: nothing else is filled and no command is needed */
	const char *policy;  /* NULL without a policy file */
	const char *workdir; /* never NULL */
};

enum option_group { GROUP_BOUNDARY, GROUP_GRANTS, GROUP_LIMITS, GROUP_TRUST, GROUP_RESULT, GROUP_COUNT };
const char *option_group_title(enum option_group g);

/* What a shell offers after the option. */
enum option_completion { COMPLETE_NONE, COMPLETE_FILE, COMPLETE_DIR, COMPLETE_WORDS };

struct run_option {
	const char *name;     /* without the dashes */
	const char *argument; /* its name in the help; NULL for a switch */
	const char *help;     /* one line, no full stop */
	enum option_group group;
	enum option_completion completion;
	const char *(*word)(size_t i); /* COMPLETE_WORDS: the i-th word, NULL past the last */
	bool repeats;		       /* each use adds; else the last one counts */
	int (*set)(struct run_options *o, const char *text, struct error *err);
};

extern const struct run_option run_option_table[];
extern const size_t run_option_count;
extern const struct run_option doctor_option_table[];
extern const size_t doctor_option_count;

/* argv[0] is the subcommand's word; argv is not reordered and must outlive *out.  The policy file is applied first and
 * the command line over it, wherever --policy stands.  Any failure but -ENOMEM is wrong usage (exit 2), with one line
 * in *err; *out then needs no run_options_done(). */
int run_options_parse(int argc, char **argv, struct run_options *out, struct error *err);
void run_options_done(struct run_options *o);

void run_options_help(FILE *to);

/* The same for `doctor`, which takes no command. */
int doctor_options_parse(int argc, char **argv, struct run_options *out, struct error *err);
void doctor_options_help(FILE *to);

#endif
