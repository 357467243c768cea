/* Every script offers the subcommands first, then that one's options, and after the first word of `run` that is no
 * option whatever the shell offers for that command.  Texts from the tables are put in single quotes, and none of
 * them ends early on a quote of its own: the *_quoted functions escape them. */
#include "launch/completion.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "launch/options.h"
#include "util/parse.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const char *const shells[] = { "bash", "zsh", "fish" };

const char *completion_shell(size_t i)
{
	return i < COUNT_OF(shells) ? shells[i] : NULL;
}

struct subcommand {
	const char *name;
	const char *help;
	const struct run_option *options;
	const char *(*word)(size_t i); /* what its first argument may be */
};

static const char *subcommand_word(size_t i);

/* run is the first row: the scripts treat what follows its options as a command of its own. */
static const struct subcommand subcommands[] = {
	{ .name = "run", .help = "run a command behind a checked boundary", .options = run_option_table },
	{ .name = "doctor",
	  .help = "what this host can hold, and the remedy for what it cannot",
	  .options = doctor_option_table },
	{ .name = "completion", .help = "print a completion script for a shell", .word = completion_shell },
	{ .name = "help", .help = "print the usage of a subcommand", .word = subcommand_word },
};

static const char *subcommand_word(size_t i)
{
	return i < COUNT_OF(subcommands) ? subcommands[i].name : NULL;
}

static size_t option_count(const struct subcommand *sub)
{
	/* the counts are no constants of this file, so the table cannot hold them */
	if (sub->options == run_option_table)
		return run_option_count;
	return sub->options == doctor_option_table ? doctor_option_count : 0;
}

static void print_words(FILE *to, const char *(*word)(size_t i))
{
	for (size_t i = 0; word(i); i++)
		fprintf(to, "%s%s", i ? " " : "", word(i));
}

/* --- bash --- */

static void bash_option_names(FILE *to, const struct subcommand *sub)
{
	for (size_t i = 0; i < option_count(sub); i++)
		fprintf(to, "%s--%s", i ? " " : "", sub->options[i].name);
}

static void bash_value_case(FILE *to, const struct run_option *opt)
{
	fprintf(to, "\t--%s) ", opt->name);
	switch (opt->completion) {
	case COMPLETE_WORDS:
		fputs("COMPREPLY=($(compgen -W '", to);
		print_words(to, opt->word);
		fputs("' -- \"$2\")) ;;\n", to);
		return;
	case COMPLETE_FILE:
		fputs("local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$2\")); compopt -o filenames 2>/dev/null || : ;;\n",
		      to);
		return;
	case COMPLETE_DIR:
		fputs("local IFS=$'\\n'; COMPREPLY=($(compgen -d -- \"$2\")); compopt -o filenames 2>/dev/null || : ;;\n",
		      to);
		return;
	case COMPLETE_NONE:
		fputs("COMPREPLY=() ;;\n", to);
		return;
	}
}

/* _bulkhead_SUB_value OPTION [WORD]: fail when the option takes no value; with a word, complete that value. */
static void bash_values(FILE *to, const struct subcommand *sub)
{
	const char *separator = "";

	fprintf(to, "_bulkhead_%s_value()\n{\n\tcase $1 in\n\t", sub->name);
	for (size_t i = 0; i < option_count(sub); i++) {
		if (!sub->options[i].argument)
			continue;
		fprintf(to, "%s--%s", separator, sub->options[i].name);
		separator = "|";
	}
	fputs(") ;;\n\t*) return 1 ;;\n\tesac\n\t(($# == 1)) && return\n\tcase $1 in\n", to);
	for (size_t i = 0; i < option_count(sub); i++) {
		if (sub->options[i].argument)
			bash_value_case(to, &sub->options[i]);
	}
	fputs("\tesac\n}\n\n", to);
}

static void bash_subcommand_case(FILE *to, const struct subcommand *sub)
{
	fprintf(to, "\t%s)\n", sub->name);
	if (sub->word) {
		fputs("\t\tCOMPREPLY=($(compgen -W '", to);
		print_words(to, sub->word);
		fputs("' -- \"$cur\"))\n\t\treturn ;;\n", to);
		return;
	}
	fputs("\t\toptions='", to);
	bash_option_names(to, sub);
	fputs("' ;;\n", to);
}

static void print_bash(FILE *to)
{
	fputs("# bash completion for bulkhead; made by `bulkhead completion bash`\n\n", to);
	for (size_t i = 0; i < COUNT_OF(subcommands); i++) {
		if (subcommands[i].options)
			bash_values(to, &subcommands[i]);
	}
	fputs("_bulkhead()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} sub=${COMP_WORDS[1]} options i word\n"
	      "\tCOMPREPLY=()\n"
	      "\tif ((COMP_CWORD == 1)); then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
	      to);
	print_words(to, subcommand_word);
	fputs("' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $sub in\n", to);
	for (size_t i = 0; i < COUNT_OF(subcommands); i++)
		bash_subcommand_case(to, &subcommands[i]);
	/* "--tier=vm" comes as three words, for '=' is in COMP_WORDBREAKS. */
	fputs("\t*) return ;;\n\tesac\n"
	      "\t# Walk to the word before the cursor: an option's value, an option, or the command.\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\tword=${COMP_WORDS[i]}\n"
	      "\t\tif [[ $word != -* || $word == -- ]]; then\n"
	      "\t\t\t[[ $sub == run ]] || return\n"
	      "\t\t\t[[ $word == -- ]] && ((i++))\n"
	      "\t\t\tif ((i == COMP_CWORD)); then\n"
	      "\t\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	      "\t\t\telif declare -F _command_offset >/dev/null; then\n"
	      "\t\t\t\t_command_offset \"$i\"\n"
	      "\t\t\telse\n"
	      "\t\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\t\t\tfi\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n"
	      "\t\t\"_bulkhead_${sub}_value\" \"$word\" || continue\n"
	      "\t\t[[ ${COMP_WORDS[i + 1]} == '=' ]] && ((i++))\n"
	      "\t\tif ((i + 1 >= COMP_CWORD)); then\n"
	      "\t\t\t[[ $cur == '=' ]] && cur=\n"
	      "\t\t\t\"_bulkhead_${sub}_value\" \"$word\" \"$cur\"\n"
	      "\t\t\treturn\n"
	      "\t\tfi\n"
	      "\t\t((i++))\n"
	      "\tdone\n"
	      "\tif [[ $sub == run && $cur != -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	      "\tfi\n"
	      "}\n"
	      "complete -F _bulkhead bulkhead\n",
	      to);
}

/* --- zsh --- */

/* Inside single quotes of an _arguments specification: no quote may end them, and ':' '[' ']' have a meaning. */
static void zsh_quoted(FILE *to, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\'')
			fputs("'\\''", to);
		else if (strchr(":[]\\", *p))
			fprintf(to, "\\%c", *p);
		else
			fputc(*p, to);
	}
}

static void zsh_option(FILE *to, const struct run_option *opt)
{
	fprintf(to, "\t\t\t'%s--%s%s[", opt->repeats ? "*" : "", opt->name, opt->argument ? "=" : "");
	zsh_quoted(to, opt->help);
	fputc(']', to);
	if (opt->argument) {
		fputc(':', to);
		zsh_quoted(to, opt->argument);
		fputc(':', to);
		switch (opt->completion) {
		case COMPLETE_WORDS:
			fputc('(', to);
			print_words(to, opt->word);
			fputc(')', to);
			break;
		case COMPLETE_FILE:
			fputs("_files", to);
			break;
		case COMPLETE_DIR:
			fputs("_files -/", to);
			break;
		case COMPLETE_NONE:
			fputc(' ', to);
			break;
		}
	}
	fputs("' \\\n", to);
}

static void zsh_subcommand(FILE *to, const struct subcommand *sub)
{
	fprintf(to, "\t%s)\n", sub->name);
	if (sub->word) {
		fputs("\t\tcompadd -- ", to);
		print_words(to, sub->word);
		fputs(" ;;\n", to);
		return;
	}
	fputs("\t\t_arguments -S \\\n", to);
	for (size_t i = 0; i < option_count(sub); i++)
		zsh_option(to, &sub->options[i]);
	if (sub->options == run_option_table)
		fputs("\t\t\t'(-)1:command:_command_names -e' \\\n\t\t\t'*::arguments:_normal' ;;\n", to);
	else
		fputs("\t\t\t&& return ;;\n", to);
}

static void print_zsh(FILE *to)
{
	fputs("#compdef bulkhead\n# made by `bulkhead completion zsh`\n\n_bulkhead()\n{\n\tlocal -a subcommands\n"
	      "\tsubcommands=(\n",
	      to);
	for (size_t i = 0; i < COUNT_OF(subcommands); i++) {
		fprintf(to, "\t\t'%s:", subcommands[i].name);
		zsh_quoted(to, subcommands[i].help);
		fputs("'\n", to);
	}
	fputs("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe subcommand subcommands\n\t\treturn\n\tfi\n"
	      "\tshift words\n\t((CURRENT--))\n\tcase $words[1] in\n",
	      to);
	for (size_t i = 0; i < COUNT_OF(subcommands); i++)
		zsh_subcommand(to, &subcommands[i]);
	/* Sourced, it registers itself; autoloaded from fpath, the first call defines the function and then runs it. */
	fputs("\tesac\n}\n\nif [[ ${funcstack[1]} == _bulkhead ]]; then\n\t_bulkhead \"$@\"\nelse\n"
	      "\tcompdef _bulkhead bulkhead\nfi\n",
	      to);
}

/* --- fish --- */

static void fish_quoted(FILE *to, const char *text)
{
	fputc('\'', to);
	for (const char *p = text; *p; p++) {
		if (*p == '\'' || *p == '\\')
			fputc('\\', to);
		fputc(*p, to);
	}
	fputc('\'', to);
}

static void fish_option(FILE *to, const struct subcommand *sub, const struct run_option *opt)
{
	fprintf(to, "complete -c bulkhead -n '__bulkhead_in %s' -l %s", sub->name, opt->name);
	if (opt->argument) {
		switch (opt->completion) {
		case COMPLETE_WORDS:
			fputs(" -x -a '", to);
			print_words(to, opt->word);
			fputc('\'', to);
			break;
		case COMPLETE_FILE:
			fputs(" -r -F", to);
			break;
		case COMPLETE_DIR:
			fputs(" -x -a '(__fish_complete_directories)'", to);
			break;
		case COMPLETE_NONE:
			fputs(" -x", to);
			break;
		}
	}
	fputs(" -d ", to);
	fish_quoted(to, opt->help);
	fputc('\n', to);
}

static void fish_subcommand(FILE *to, const struct subcommand *sub)
{
	fprintf(to, "complete -c bulkhead -n __fish_use_subcommand -x -a %s -d ", sub->name);
	fish_quoted(to, sub->help);
	fputc('\n', to);
	for (size_t i = 0; i < option_count(sub); i++)
		fish_option(to, sub, &sub->options[i]);
	if (sub->word) {
		fprintf(to, "complete -c bulkhead -n '__bulkhead_in %s' -x -a '", sub->name);
		print_words(to, sub->word);
		fputs("'\n", to);
	}
	if (sub->options == run_option_table)
		fprintf(to,
			"complete -c bulkhead -n '__bulkhead_in %s' -x -a '(__fish_complete_subcommand "
			"--fcs-skip=2)'\n",
			sub->name);
}

static void print_fish(FILE *to)
{
	fputs("# fish completion for bulkhead; made by `bulkhead completion fish`\n\n"
	      "function __bulkhead_in\n"
	      "\tset -l words (commandline -opc)\n"
	      "\ttest (count $words) -ge 2; and test $words[2] = $argv[1]\n"
	      "end\n\n"
	      "complete -c bulkhead -f\n",
	      to);
	for (size_t i = 0; i < COUNT_OF(subcommands); i++)
		fish_subcommand(to, &subcommands[i]);
}

static void (*const printers[])(FILE *to) = { print_bash, print_zsh, print_fish };
static_assert(COUNT_OF(printers) == COUNT_OF(shells), "a printer per shell");

int completion_print(FILE *to, const char *shell, struct error *err)
{
	char quoted[PARSE_QUOTE_MAX];

	for (size_t i = 0; i < COUNT_OF(shells); i++) {
		if (strcmp(shell, shells[i]) == 0) {
			printers[i](to);
			return 0;
		}
	}
	return error_set(err, EINVAL, "no completion for %s; there is bash, zsh and fish",
			 parse_quote(shell, quoted, sizeof(quoted)));
}
