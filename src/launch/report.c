#include "launch/report.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

static json_t *number(uint64_t value)
{
	return value == UNKNOWN || value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

static json_t *text(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();

	/* not UTF-8 (a path, a command): say so rather than lose the field */
	return j ? j : json_string("(not valid UTF-8)");
}

static json_t *limits_json(const struct limits *l)
{
	return json_pack("{s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "memory_bytes", number(l->memory_bytes), "cpu_milli",
			 number(l->cpu_milli), "pids", number(l->pids), "disk_bytes", number(l->disk_bytes),
			 "output_bytes", number(l->output_bytes), "timeout_ms", number(l->timeout_ms), "grace_ms",
			 number(l->grace_ms), "cpu_time_ms", number(l->cpu_time_ms), "open_files",
			 number(l->open_files));
}

static json_t *hits_json(const struct outcome *o)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < LIMIT_HIT_COUNT; i++) {
		if (o->limits_hit & (1u << i))
			(void)json_array_append_new(array, json_string(limit_hit_name(i)));
	}
	return array;
}

static json_t *guarantees_json(const struct boundary *b, const struct evidence *e)
{
	json_t *array = json_array();

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		const struct verdict *v = &e->guarantees[g];
		json_t *row = json_pack("{s:s s:b s:s s:o s:o s:o}", "id", guarantee_id((enum guarantee)g), "required",
					v->required, "state", verdict_state_name(v->state), "mechanism",
					text(v->mechanism), "gap", text(v->gap), "how", text(v->how));

		for (size_t i = 0; i < b->waiver_count; i++) {
			if (b->waivers[i].guarantee == (enum guarantee)g)
				(void)json_object_set_new(row, "waiver",
							  json_pack("{s:o s:o s:o}", "by", text(b->waivers[i].by),
								    "date", text(b->waivers[i].date), "reason",
								    text(b->waivers[i].reason)));
		}
		(void)json_array_append_new(array, row);
	}
	return array;
}

static json_t *mechanisms_json(const struct evidence *e)
{
	json_t *object = json_object();

	for (int m = 0; m < MECH_COUNT; m++)
		(void)json_object_set_new(object, mechanism_name((enum mechanism)m),
					  json_pack("{s:s s:o}", "state", finding_state_name(e->mechanisms[m].state),
						    "how", text(e->mechanisms[m].how)));
	return object;
}

static json_t *outcome_json(const struct outcome *o)
{
	json_t *j = json_pack("{s:s s:o s:o s:i s:o s:o}", "outcome", outcome_name(o->kind), "exit_code",
			      o->exit_code < 0 ? json_null() : json_integer(o->exit_code), "signal",
			      o->signal ? json_integer(o->signal) : json_null(), "status", outcome_status(o),
			      "limits_hit", hits_json(o), "error", o->error.code ? text(o->error.text) : json_null());

	(void)json_object_set_new(j, "usage",
				  json_pack("{s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "wall_us", number(o->wall_us),
					    "user_us", number(o->user_us), "system_us", number(o->system_us),
					    "memory_peak_bytes", number(o->memory_peak_bytes),
					    "memory_anonymous_peak_bytes", number(o->memory_anon_peak_bytes),
					    "largest_process_bytes", number(o->max_rss_bytes), "oom_kills",
					    number(o->oom_kills), "forks_refused", number(o->pids_refused),
					    "disk_used_bytes", number(o->disk_used_bytes)));
	(void)json_object_set_new(j, "output",
				  json_pack("{s:o s:o s:b}", "stdout_bytes", number(o->stdout_bytes), "stderr_bytes",
					    number(o->stderr_bytes), "truncated", o->output_truncated));
	(void)json_object_set_new(j, "phases",
				  json_pack("{s:o s:o s:o s:o s:o}", "prepare_us", number(o->prepare_us), "confine_us",
					    number(o->confine_us), "observe_us", number(o->observe_us), "run_us",
					    number(o->run_us), "teardown_us", number(o->teardown_us)));
	return j;
}

static json_t *command_json(const struct boundary *b)
{
	json_t *array = json_array();

	for (char *const *arg = b->argv; arg && *arg; arg++)
		(void)json_array_append_new(array, text(*arg));
	return array;
}

int report_write_json(FILE *to, const struct boundary *b, const struct evidence *e, const struct outcome *o,
		      struct error *err)
{
	json_t *root = outcome_json(o);
	int r = 0;

	if (!root)
		return error_set(err, ENOMEM, "no memory for the report");
	(void)json_object_set_new(root, "version", json_integer(1));
	(void)json_object_set_new(root, "command", command_json(b));
	(void)json_object_set_new(root, "tier", json_string(tier_name(b->tier)));
	(void)json_object_set_new(root, "tenant", text(b->tenant));
	(void)json_object_set_new(root, "limits", limits_json(&b->limits));
	(void)json_object_set_new(root, "guarantees", guarantees_json(b, e));
	(void)json_object_set_new(root, "mechanisms", mechanisms_json(e));
	if (json_dumpf(root, to, JSON_INDENT(2)) < 0 || fputc('\n', to) == EOF || fflush(to) == EOF || ferror(to))
		r = error_errno(err, "write the report");
	json_decref(root);
	return r;
}

static void print_number(FILE *to, const char *label, uint64_t value, const char *unit)
{
	if (value != UNKNOWN)
		fprintf(to, "  %-22s %llu %s\n", label, (unsigned long long)value, unit);
}

void report_write_text(FILE *to, const struct boundary *b, const struct evidence *e, const struct outcome *o,
		       unsigned int width)
{
	evidence_print(e, to, width);
	fprintf(to, "\noutcome: %s", outcome_name(o->kind));
	if (o->exit_code >= 0)
		fprintf(to, ", exit code %d", o->exit_code);
	if (o->signal)
		fprintf(to, ", signal %d (%s)", o->signal, sigabbrev_np(o->signal) ? sigabbrev_np(o->signal) : "?");
	for (unsigned int i = 0; i < LIMIT_HIT_COUNT; i++) {
		if (o->limits_hit & (1u << i))
			fprintf(to, ", limit met: %s", limit_hit_name(i));
	}
	fprintf(to, "\n");
	if (o->error.code)
		fprintf(to, "  %s\n", o->error.text);
	print_number(to, "wall time", o->wall_us, "us");
	print_number(to, "user time", o->user_us, "us");
	print_number(to, "system time", o->system_us, "us");
	print_number(to, "peak memory", o->memory_peak_bytes, "bytes");
	print_number(to, "anonymous peak, sampled", o->memory_anon_peak_bytes, "bytes");
	print_number(to, "largest process", o->max_rss_bytes, "bytes");
	print_number(to, "stdout", o->stdout_bytes, o->output_truncated ? "bytes (truncated)" : "bytes");
	print_number(to, "stderr", o->stderr_bytes, "bytes");
	(void)b;
}

static void summarize_end(const struct boundary *b, const struct outcome *o, char *buf, size_t size)
{
	const struct limits *l = &b->limits;

	switch (o->kind) {
	case OUTCOME_REFUSED:
		text_append(buf, size, "refused: %s", o->error.text);
		return;
	case OUTCOME_FAILED:
		text_append(buf, size, "failed: %s", o->error.text);
		return;
	case OUTCOME_NOT_STARTED:
		text_append(buf, size, "%s", o->error.text);
		return;
	case OUTCOME_TIMED_OUT:
		text_append(buf, size, "timed out after %llu ms", (unsigned long long)l->timeout_ms);
		return;
	case OUTCOME_CPU_TIME:
		text_append(buf, size, "ended by the CPU time limit of %llu ms", (unsigned long long)l->cpu_time_ms);
		return;
	case OUTCOME_MEMORY:
		text_append(buf, size, "killed by the memory limit of %llu bytes", (unsigned long long)l->memory_bytes);
		return;
	case OUTCOME_PIDS:
		text_append(buf, size, "ended by the process limit of %llu", (unsigned long long)l->pids);
		return;
	case OUTCOME_OUTPUT:
		text_append(buf, size, "ended by the output limit of %llu bytes", (unsigned long long)l->output_bytes);
		return;
	case OUTCOME_EXITED:
	case OUTCOME_SIGNALED:
	case OUTCOME_COUNT:
		break;
	}
	for (unsigned int i = 0; i < LIMIT_HIT_COUNT; i++) {
		if (o->limits_hit & (1u << i))
			text_append(buf, size, "%s%s limit met", buf[0] ? ", " : "", limit_hit_name(i));
	}
}

static const char *waived_by(const struct boundary *b, enum guarantee g)
{
	for (size_t i = 0; i < b->waiver_count; i++) {
		if (b->waivers[i].guarantee == g && b->waivers[i].by)
			return b->waivers[i].by;
	}
	return "on the command line";
}

bool report_summary(const struct boundary *b, const struct evidence *e, const struct outcome *o, char *buf, size_t size)
{
	buf[0] = '\0';
	summarize_end(b, o, buf, size);
	if (o->kind == OUTCOME_REFUSED || o->kind == OUTCOME_FAILED)
		return true;
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		const struct verdict *v = &e->guarantees[g];

		if (v->required && (v->state == VERDICT_PARTIAL || v->state == VERDICT_WAIVED))
			text_append(buf, size, "%s%s %s (%s)", buf[0] ? "; " : "", guarantee_id((enum guarantee)g),
				    verdict_state_name(v->state),
				    v->state == VERDICT_PARTIAL ? v->gap : waived_by(b, (enum guarantee)g));
	}
	return buf[0] != '\0';
}
