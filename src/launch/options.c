/* argp parses, twice: once to find --policy (and --help), once to apply every option over what the policy file said.
 * argp neither prints nor exits here (ARGP_NO_ERRS, ARGP_NO_EXIT): its own messages take two lines and cannot suggest
 * a name.  It stops at the first word that is no option, since all from there on belongs to the workload. */
#include "launch/options.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/parse.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define SUGGEST_DISTANCE_MAX 2
#define OPTION_NAME_MAX 32 /* longer words are not compared: they are nobody's slip of the finger */
#define FIRST_KEY 0x100	   /* above every character, so that argp makes no short options of the table */

static const char *const group_titles[] = {
	[GROUP_BOUNDARY] = "The boundary:",
	[GROUP_GRANTS] = "What the workload may see:",
	[GROUP_LIMITS] = "Limits (each may be \"none\", but not --grace):",
	[GROUP_TRUST] = "Policy and risk:",
	[GROUP_RESULT] = "The result:",
};
static_assert(COUNT_OF(group_titles) == GROUP_COUNT, "a title per group");

const char *option_group_title(enum option_group g)
{
	return group_titles[g];
}

static const char *tier_word(size_t i)
{
	return i < TIER_COUNT ? tier_name((enum tier)i) : NULL;
}

static const char *net_word(size_t i)
{
	return i < NET_GRANT_COUNT ? net_grant_name((enum net_grant)i) : NULL;
}

static const char *guarantee_word(size_t i)
{
	return i < GUARANTEE_COUNT ? guarantee_id((enum guarantee)i) : NULL;
}

static const char *mechanism_word(size_t i)
{
	return i < MECH_COUNT ? mechanism_name((enum mechanism)i) : NULL;
}

/* The table holds setters of run_options; most of them only pass the text on to the boundary. */
/* clang-format off */
#define BOUNDARY_SETTER(name, call)                                                        \
	static int name(struct run_options *o, const char *text, struct error *err)        \
	{                                                                                  \
		return call(&o->boundary, text, err);                                      \
	}
#define GRANT_SETTER(name, kind)                                                           \
	static int name(struct run_options *o, const char *text, struct error *err)        \
	{                                                                                  \
		return boundary_add_grant(&o->boundary, kind, text, err);                  \
	}
#define SWITCH_SETTER(name, field)                                                         \
	static int name(struct run_options *o, const char *text, struct error *err)        \
	{                                                                                  \
		(void)text;                                                                \
		(void)err;                                                                 \
		o->field = true;                                                           \
		return 0;                                                                  \
	}

BOUNDARY_SETTER(set_tier, boundary_set_tier)
BOUNDARY_SETTER(set_tenant, boundary_set_tenant)
BOUNDARY_SETTER(set_rootfs, boundary_set_rootfs)
BOUNDARY_SETTER(set_net, boundary_set_net)
GRANT_SETTER(add_ro, GRANT_RO)
GRANT_SETTER(add_rw, GRANT_RW)
GRANT_SETTER(add_in, GRANT_IN)
GRANT_SETTER(add_out, GRANT_OUT)
BOUNDARY_SETTER(add_env, boundary_add_env)
BOUNDARY_SETTER(add_secret, boundary_add_secret)
BOUNDARY_SETTER(add_gpu, boundary_add_gpu)
BOUNDARY_SETTER(set_memory, boundary_set_memory)
BOUNDARY_SETTER(set_cpus, boundary_set_cpus)
BOUNDARY_SETTER(set_pids, boundary_set_pids)
BOUNDARY_SETTER(set_disk, boundary_set_disk)
BOUNDARY_SETTER(set_output_limit, boundary_set_output_limit)
BOUNDARY_SETTER(set_timeout, boundary_set_timeout)
BOUNDARY_SETTER(set_grace, boundary_set_grace)
BOUNDARY_SETTER(set_cpu_time, boundary_set_cpu_time)
BOUNDARY_SETTER(set_open_files, boundary_set_open_files)
BOUNDARY_SETTER(add_waiver, boundary_add_waiver)
BOUNDARY_SETTER(add_without, boundary_add_without)
SWITCH_SETTER(set_strict, boundary.strict)
SWITCH_SETTER(set_die_with_parent, boundary.die_with_parent)
SWITCH_SETTER(set_json, json)
SWITCH_SETTER(set_quiet, quiet)
SWITCH_SETTER(set_help, help)
/* clang-format on */

static int set_path(const char **out_path, const char *text, struct error *err)
{
	if (text[0] == '\0')
		return error_set(err, EINVAL, "the path is empty");
	if (strlen(text) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "the path is longer than %d bytes", PATH_MAX - 1);
	*out_path = text;
	return 0;
}

static int set_report(struct run_options *o, const char *text, struct error *err)
{
	return set_path(&o->report, text, err);
}

static int set_policy(struct run_options *o, const char *text, struct error *err)
{
	return set_path(&o->policy, text, err);
}

static int set_workdir(struct run_options *o, const char *text, struct error *err)
{
	return set_path(&o->workdir, text, err);
}

/* clang-format off */
const struct run_option run_option_table[] = {
	{ .name = "tier", .argument = "TIER", .group = GROUP_BOUNDARY, .set = set_tier,
	  .completion = COMPLETE_WORDS, .word = tier_word,
	  .help = "process, sandbox or vm (default sandbox)" },
	{ .name = "tenant", .argument = "NAME", .group = GROUP_BOUNDARY, .set = set_tenant,
	  .help = "on whose behalf this runs; without it, your own work" },
	{ .name = "rootfs", .argument = "DIR", .group = GROUP_BOUNDARY, .set = set_rootfs,
	  .completion = COMPLETE_FILE,
	  .help = "the root file system, instead of the host's /usr" },
	{ .name = "net", .argument = "none|host", .group = GROUP_BOUNDARY, .set = set_net,
	  .completion = COMPLETE_WORDS, .word = net_word,
	  .help = "the network it gets (default none)" },
	{ .name = "strict", .group = GROUP_BOUNDARY, .set = set_strict,
	  .help = "accept no guarantee that is held only in part" },
	{ .name = "die-with-parent", .group = GROUP_BOUNDARY, .set = set_die_with_parent,
	  .help = "end the workload when the process that started bulkhead ends" },
	{ .name = "workdir", .argument = "DIR", .group = GROUP_BOUNDARY, .set = set_workdir,
	  .completion = COMPLETE_DIR,
	  .help = "where workspaces on disk are made (default /var/tmp/bulkhead-UID)" },

	{ .name = "ro", .argument = "PATH", .group = GROUP_GRANTS, .set = add_ro, .repeats = true,
	  .completion = COMPLETE_FILE,
	  .help = "a file or directory, read-only, at the same path" },
	{ .name = "rw", .argument = "PATH", .group = GROUP_GRANTS, .set = add_rw, .repeats = true,
	  .completion = COMPLETE_FILE,
	  .help = "the same, writable" },
	{ .name = "in", .argument = "FILE", .group = GROUP_GRANTS, .set = add_in, .repeats = true,
	  .completion = COMPLETE_FILE,
	  .help = "a file, read-only, in the workspace under its own name" },
	{ .name = "out", .argument = "DIR", .group = GROUP_GRANTS, .set = add_out,
	  .completion = COMPLETE_DIR,
	  .help = "a directory for results, writable, in the workspace as \"out\"" },
	{ .name = "env", .argument = "NAME[=VALUE]", .group = GROUP_GRANTS, .set = add_env, .repeats = true,
	  .help = "an environment variable; without a value, yours" },
	{ .name = "secret", .argument = "NAME=SOURCE", .group = GROUP_GRANTS, .set = add_secret, .repeats = true,
	  .help = "a variable with the value at env:VARIABLE, file:PATH or fd:NUMBER, never shown" },
	{ .name = "gpu", .argument = "N|UUID", .group = GROUP_GRANTS, .set = add_gpu, .repeats = true,
	  .help = "an NVIDIA GPU, /dev/nvidiaN or by UUID" },

	{ .name = "memory", .argument = "SIZE", .group = GROUP_LIMITS, .set = set_memory,
	  .help = "memory of all its processes together (default 2G)" },
	{ .name = "cpus", .argument = "N", .group = GROUP_LIMITS, .set = set_cpus,
	  .help = "processors, in parts too: 1.5 (default none)" },
	{ .name = "pids", .argument = "N", .group = GROUP_LIMITS, .set = set_pids,
	  .help = "processes and threads (default 512)" },
	{ .name = "disk", .argument = "SIZE", .group = GROUP_LIMITS, .set = set_disk,
	  .help = "all it writes to its own places (default 1G)" },
	{ .name = "output-limit", .argument = "SIZE", .group = GROUP_LIMITS, .set = set_output_limit,
	  .help = "stdout and stderr together (default none)" },
	{ .name = "timeout", .argument = "TIME", .group = GROUP_LIMITS, .set = set_timeout,
	  .help = "wall-clock time, like 500ms, 90s, 1.5h (default none)" },
	{ .name = "grace", .argument = "TIME", .group = GROUP_LIMITS, .set = set_grace,
	  .help = "from SIGTERM to SIGKILL once the time is up (default 10s)" },
	{ .name = "cpu-time", .argument = "TIME", .group = GROUP_LIMITS, .set = set_cpu_time,
	  .help = "processor time summed over all its processes (default none)" },
	{ .name = "open-files", .argument = "N", .group = GROUP_LIMITS, .set = set_open_files,
	  .help = "open files per process (default 4096)" },

	{ .name = "policy", .argument = "FILE", .group = GROUP_TRUST, .set = set_policy,
	  .completion = COMPLETE_FILE,
	  .help = "settings in YAML; the command line goes over them" },
	{ .name = "waive", .argument = "GUARANTEE", .group = GROUP_TRUST, .set = add_waiver, .repeats = true,
	  .completion = COMPLETE_WORDS, .word = guarantee_word,
	  .help = "run although this guarantee may not be held; you accept the risk" },
	{ .name = "without", .argument = "MECHANISM", .group = GROUP_TRUST, .set = add_without, .repeats = true,
	  .completion = COMPLETE_WORDS, .word = mechanism_word,
	  .help = "for tests: behave as if this host lacked it; what is then not held is refused" },

	{ .name = "report", .argument = "FILE|-", .group = GROUP_RESULT, .set = set_report,
	  .completion = COMPLETE_FILE,
	  .help = "write result and evidence there; - is stdout" },
	{ .name = "json", .group = GROUP_RESULT, .set = set_json,
	  .help = "write the report as JSON" },
	{ .name = "quiet", .group = GROUP_RESULT, .set = set_quiet,
	  .help = "print no summary line" },
	{ .name = "help", .group = GROUP_RESULT, .set = set_help,
	  .help = "print this text" },
};
/* clang-format on */
const size_t run_option_count = COUNT_OF(run_option_table);

/* clang-format off */
const struct run_option doctor_option_table[] = {
	{ .name = "tier", .argument = "TIER", .group = GROUP_BOUNDARY, .set = set_tier,
	  .completion = COMPLETE_WORDS, .word = tier_word,
	  .help = "exit 0 only if this tier is available (default sandbox)" },
	{ .name = "strict", .group = GROUP_BOUNDARY, .set = set_strict,
	  .help = "accept no guarantee that is held only in part" },
	{ .name = "workdir", .argument = "DIR", .group = GROUP_BOUNDARY, .set = set_workdir,
	  .completion = COMPLETE_DIR,
	  .help = "where workspaces on disk are made (default /var/tmp/bulkhead-UID)" },
	{ .name = "without", .argument = "MECHANISM", .group = GROUP_TRUST, .set = add_without, .repeats = true,
	  .completion = COMPLETE_WORDS, .word = mechanism_word,
	  .help = "for tests: behave as if this host lacked it, as run does" },
	{ .name = "json", .group = GROUP_RESULT, .set = set_json,
	  .help = "print as JSON" },
	{ .name = "help", .group = GROUP_RESULT, .set = set_help,
	  .help = "print this text" },
};
/* clang-format on */
const size_t doctor_option_count = COUNT_OF(doctor_option_table);

/* What differs between the two subcommands that take such options. */
struct option_table {
	const struct run_option *rows;
	size_t count;
	const char *program, *args_doc, *doc;
};

static const struct option_table run_table = {
	.rows = run_option_table,
	.count = COUNT_OF(run_option_table),
	.program = "bulkhead run",
	.args_doc = "[--] COMMAND [ARGUMENT...]",
	.doc = "Run a command behind a boundary that is checked before the command starts.\v"
	       "SIZE is in bytes or has K, M, G or T. TIME has ms, s, m or h. The exit status is that of the "
	       "command; 124: timed out, 125: refused or could not start, 126 and 127: the command cannot be "
	       "run or found, 128+N: ended by signal N, 2: wrong usage.",
};

static const struct option_table doctor_table = {
	.rows = doctor_option_table,
	.count = COUNT_OF(doctor_option_table),
	.program = "bulkhead doctor",
	.doc = "Say what this host can hold, found by building each boundary up to the point where the command would "
	       "start, and what to change where it cannot.\v"
	       "The exit status is 0 when the tier is available, 1 when not, 2: wrong usage.",
};

/* What one walk over argv carries. */
struct walk {
	const struct option_table *table;
	struct run_options *options;
	struct error *err;
	bool find_policy; /* the first walk: take only --policy and --help */
	int next;	  /* the word after the options taken so far: the one that argp stumbles over, if it does */
	char **command;
};

static int apply_option(struct walk *w, const struct run_option *opt, const char *text)
{
	bool wanted_first = opt->set == set_policy || opt->set == set_help;
	int rc;

	if (w->find_policy && !wanted_first)
		return 0;
	rc = opt->set(w->options, text, w->err);
	return rc < 0 ? error_wrap(w->err, "--%s", opt->name) : 0;
}

/* --help alone has a letter too, since people try -h. */
static int option_key(const struct option_table *t, size_t i)
{
	return t->rows[i].set == set_help ? 'h' : FIRST_KEY + (int)i;
}

static const struct run_option *option_from_key(const struct option_table *t, int key)
{
	for (size_t i = 0; i < t->count; i++) {
		if (option_key(t, i) == key)
			return &t->rows[i];
	}
	return NULL;
}

static error_t parse_key(int key, char *text, struct argp_state *state)
{
	struct walk *w = state->input;
	const struct run_option *opt = option_from_key(w->table, key);

	/* The true error is in *w->err; E2BIG, one of ours, would mean "unknown key" to argp. */
	if (opt) {
		w->next = state->next;
		if (text && strcmp(text, "--") == 0) { /* the end of the options, and a value forgotten before it */
			(void)error_set(w->err, EINVAL, "--%s needs a value, %s", opt->name, opt->argument);
			return EINVAL;
		}
		return apply_option(w, opt, text) < 0 ? EINVAL : 0;
	}
	if (key == ARGP_KEY_ARG) {
		w->command = &state->argv[state->next - 1];
		state->next = state->argc; /* the rest is the workload's */
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Rows of argp's table: a title per group, the group's options, and the end. */
#define ARGP_ROWS_MAX (COUNT_OF(run_option_table) + GROUP_COUNT + 1)
static_assert(COUNT_OF(doctor_option_table) <= COUNT_OF(run_option_table), "ARGP_ROWS_MAX is for both");

static void fill_argp_rows(const struct option_table *t, struct argp_option rows[ARGP_ROWS_MAX])
{
	size_t used = 0;

	for (int g = 0; g < GROUP_COUNT; g++) {
		if (t == &run_table) /* six options need no titles */
			rows[used++] = (struct argp_option){ .doc = group_titles[g], .group = g + 1 };
		for (size_t i = 0; i < t->count; i++) {
			const struct run_option *opt = &t->rows[i];

			if (opt->group != (enum option_group)g)
				continue;
			rows[used++] = (struct argp_option){
				.name = opt->name,
				.key = option_key(t, i),
				.arg = opt->argument,
				.doc = opt->help,
				.group = g + 1,
			};
		}
	}
	rows[used] = (struct argp_option){ 0 };
}

static struct argp make_argp(const struct option_table *t, const struct argp_option *rows)
{
	return (struct argp){ .options = rows, .parser = parse_key, .args_doc = t->args_doc, .doc = t->doc };
}

static void print_help(const struct option_table *t, FILE *to)
{
	char name[32];
	struct argp_option rows[ARGP_ROWS_MAX];
	struct argp argp;

	(void)snprintf(name, sizeof(name), "%s", t->program);
	fill_argp_rows(t, rows);
	argp = make_argp(t, rows);
	argp_help(&argp, to, ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC, name);
}

void run_options_help(FILE *to)
{
	print_help(&run_table, to);
}

void doctor_options_help(FILE *to)
{
	print_help(&doctor_table, to);
}

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Levenshtein distance of two words of at most OPTION_NAME_MAX bytes, by two rows of the usual table. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t previous[OPTION_NAME_MAX + 1], row[OPTION_NAME_MAX + 1];
	size_t len = strlen(b);

	for (size_t j = 0; j <= len; j++)
		previous[j] = j;
	for (size_t i = 0; a[i]; i++) {
		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			size_t change = previous[j] + (a[i] != b[j]);

			row[j + 1] = min_of(change, min_of(previous[j + 1], row[j]) + 1);
		}
		memcpy(previous, row, sizeof(previous));
	}
	return previous[len];
}

static const char *nearest_option(const struct option_table *t, const char *word)
{
	const char *nearest = NULL;
	size_t best = SUGGEST_DISTANCE_MAX + 1;

	if (strlen(word) > OPTION_NAME_MAX)
		return NULL;
	for (size_t i = 0; i < t->count; i++) {
		const char *name = t->rows[i].name;
		size_t distance = strlen(name) <= OPTION_NAME_MAX ? edit_distance(word, name) : best;

		/* Two changes turn any two letters into "ro": what shares nothing is no slip. */
		if (distance < best && distance < strlen(name)) {
			best = distance;
			nearest = name;
		}
	}
	return nearest;
}

/* getopt takes an abbreviation of one option; "--di" is refused for it could be --die-with-parent or --disk. */
static size_t count_prefixed(const struct option_table *t, const char *word)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		count += strncmp(t->rows[i].name, word, strlen(word)) == 0;
	return count;
}

/* The option that a word names, in full or by the only abbreviation; NULL when there is none. */
static const struct run_option *find_option(const struct option_table *t, const char *name)
{
	const struct run_option *found = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct run_option *opt = &t->rows[i];

		if (strcmp(opt->name, name) == 0)
			return opt;
		if (strncmp(opt->name, name, strlen(name)) == 0)
			found = opt;
	}
	return count_prefixed(t, name) == 1 ? found : NULL;
}

/* Say what argp did not like about the word.  It tells nobody: its getopt keeps optopt to itself. */
static int refuse_option(const struct option_table *t, const char *arg, struct error *err)
{
	char quoted[PARSE_QUOTE_MAX];
	char name[OPTION_NAME_MAX + 2]; /* cut, it is still longer than any option */
	char word[sizeof(name) + 2];
	const struct run_option *opt;
	const char *nearest;

	if (strncmp(arg, "--", 2) != 0)
		return error_set(err, EINVAL, "unknown option %s; options start with two dashes",
				 parse_quote(arg, quoted, sizeof(quoted)));
	(void)snprintf(name, sizeof(name), "%.*s", (int)min_of(strcspn(arg + 2, "="), sizeof(name) - 1), arg + 2);
	opt = find_option(t, name);
	if (opt && opt->argument)
		return error_set(err, EINVAL, "--%s needs a value, %s", opt->name, opt->argument);
	if (opt)
		return error_set(err, EINVAL, "--%s takes no value", opt->name);
	/* What follows '=' may be a secret, and is not what was unknown. */
	(void)snprintf(word, sizeof(word), "--%s", name);
	parse_quote(word, quoted, sizeof(quoted));
	if (count_prefixed(t, name) > 1)
		return error_set(err, EINVAL, "%s could be one of several options; write it out", quoted);
	nearest = nearest_option(t, name);
	if (!nearest)
		return error_set(err, EINVAL, "unknown option %s", quoted);
	return error_set(err, EINVAL, "unknown option %s; did you mean --%s?", quoted, nearest);
}

static int walk_argv(struct walk *w, int argc, char **argv)
{
	struct argp_option rows[ARGP_ROWS_MAX];
	struct argp argp;
	error_t rc;

	fill_argp_rows(w->table, rows);
	argp = make_argp(w->table, rows);
	*w->err = (struct error){ 0 };
	w->next = 1;
	rc = argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, w);
	if (rc == 0)
		return 0;
	if (w->err->code) /* a setter has said it */
		return -w->err->code;
	if (rc == ENOMEM)
		return error_set(w->err, ENOMEM, "out of memory");
	return refuse_option(w->table, argv[w->next], w->err);
}

static int default_workdir(struct run_options *o, struct error *err)
{
	char *path;
	int rc;

	if (asprintf(&path, "/var/tmp/bulkhead-%u", (unsigned int)getuid()) < 0)
		return error_set(err, ENOMEM, "out of memory");
	rc = boundary_own(&o->boundary, path, err);
	if (rc == 0)
		o->workdir = path;
	return rc;
}

static int parse_into(int argc, char **argv, struct run_options *o, struct error *err)
{
	struct walk w = { .table = &run_table, .options = o, .err = err, .find_policy = true };
	int rc = walk_argv(&w, argc, argv);

	if (rc < 0 || o->help)
		return rc;
	if (o->policy) {
		rc = policy_load(o->policy, &o->boundary, &o->rules, err);
		if (rc < 0)
			return rc;
	}
	w.find_policy = false;
	rc = walk_argv(&w, argc, argv);
	if (rc < 0)
		return rc;
	if (!w.command)
		return error_set(err, EINVAL, "no command to run; write it last: bulkhead run [OPTION...] -- COMMAND");
	o->boundary.argv = w.command;
	return o->workdir ? 0 : default_workdir(o, err);
}

static int parse_doctor_into(int argc, char **argv, struct run_options *o, struct error *err)
{
	static char *const command[] = { NULL };
	struct walk w = { .table = &doctor_table, .options = o, .err = err };
	char quoted[PARSE_QUOTE_MAX];
	int rc = walk_argv(&w, argc, argv);

	if (rc < 0 || o->help)
		return rc;
	if (w.command)
		return error_set(err, EINVAL, "it takes no arguments, and was given %s",
				 parse_quote(w.command[0], quoted, sizeof(quoted)));
	o->boundary.argv = command;
	return o->workdir ? 0 : default_workdir(o, err);
}

/* Out is the caller's to give up with run_options_done() on success, and holds nothing on failure. */
static int parse_whole(int (*parse)(int argc, char **argv, struct run_options *o, struct error *err), int argc,
		       char **argv, struct run_options *out, struct error *err)
{
	struct error local;
	int rc;

	memset(out, 0, sizeof(*out));
	boundary_init(&out->boundary);
	rc = parse(argc, argv, out, err ? err : &local);
	if (rc < 0)
		run_options_done(out);
	return rc;
}

int doctor_options_parse(int argc, char **argv, struct run_options *out, struct error *err)
{
	return parse_whole(parse_doctor_into, argc, argv, out, err);
}

int run_options_parse(int argc, char **argv, struct run_options *out, struct error *err)
{
	return parse_whole(parse_into, argc, argv, out, err);
}

void run_options_done(struct run_options *o)
{
	boundary_done(&o->boundary);
}
