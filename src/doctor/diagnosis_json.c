/* docs/schema/doctor.schema.json describes it. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor/diagnosis.h"
#include "isolation/plan.h"

static json_t *text(const char *s)
{
	json_t *j = s && s[0] ? json_string(s) : json_null();

	return j ? j : json_string("(not valid UTF-8)"); /* a path */
}

static json_t *guarantees_json(const struct trial *t)
{
	json_t *array = json_array();

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		const struct verdict *v = &t->evidence.guarantees[g];
		bool untried = trial_untried(t, (enum guarantee)g);

		(void)json_array_append_new(
			array,
			json_pack("{s:s s:s s:b s:s s:o s:o s:o}", "id", guarantee_id((enum guarantee)g), "promise",
				  guarantee_promise((enum guarantee)g), "required", v->required, "state",
				  untried ? "untried" : verdict_state_name(v->state), "mechanism", text(v->mechanism),
				  "gap", text(v->gap), "how", text(untried ? NULL : v->how)));
	}
	return array;
}

static json_t *mechanisms_json(const struct trial *t)
{
	json_t *object = json_object();

	for (int m = 0; m < MECH_COUNT; m++) {
		const struct finding *f = &t->evidence.mechanisms[m];
		char buf[400];
		const char *remedy = finding_lacks(f) ? evidence_remedy((enum mechanism)m, f, buf, sizeof(buf)) : NULL;

		(void)json_object_set_new(
			object, mechanism_name((enum mechanism)m),
			json_pack("{s:s s:o s:o s:o}", "state",
				  f->state == FINDING_AVAILABLE ? "untried" : finding_state_name(f->state), "how",
				  text(f->how), "errno", f->code ? text(strerrorname_np(f->code)) : json_null(),
				  "remedy", text(remedy)));
	}
	return object;
}

static json_t *trials_json(const struct diagnosis *d)
{
	json_t *array = json_array();

	for (int i = 0; i < TIER_COUNT; i++) {
		const struct trial *t = &d->trials[i];
		json_t *row = json_pack("{s:s s:b s:b s:o}", "tier", tier_name((enum tier)i), "in_build", t->in_build,
					"available", t->available, "error",
					t->available ? json_null() : text(t->outcome.error.text));

		if (t->in_build) {
			(void)json_object_set_new(row, "guarantees", guarantees_json(t));
			(void)json_object_set_new(row, "mechanisms", mechanisms_json(t));
		}
		(void)json_array_append_new(array, row);
	}
	return array;
}

static json_t *checks_json(const struct diagnosis *d)
{
	json_t *array = json_array();

	for (size_t i = 0; i < d->check_count; i++)
		(void)json_array_append_new(array,
					    json_pack("{s:s s:s s:o s:o}", "name", d->checks[i].name, "state",
						      check_state_name(d->checks[i].state), "seen",
						      text(d->checks[i].seen), "remedy", text(d->checks[i].remedy)));
	return array;
}

static json_t *without_json(mechanism_set set)
{
	json_t *array = json_array();

	for (int m = 0; m < MECH_COUNT; m++) {
		if (set & MECH_BIT(m))
			(void)json_array_append_new(array, json_string(mechanism_name((enum mechanism)m)));
	}
	return array;
}

int diagnosis_print_json(const struct diagnosis *d, FILE *to, struct error *err)
{
	struct utsname host;
	json_t *root;
	int r = 0;

	if (uname(&host) < 0)
		return error_errno(err, "uname");
	root = json_pack("{s:i s:s s:{s:o s:o s:I s:b} s:{s:s s:b s:o} s:b s:o s:o}", "version", 1, "bulkhead",
			 BULKHEAD_VERSION, "host", "kernel", text(host.release), "machine", text(host.machine), "uid",
			 (json_int_t)geteuid(), "privileged", d->privileged, "asked", "tier", tier_name(d->asked),
			 "strict", d->strict, "without", without_json(d->without), "available",
			 d->trials[d->asked].available, "tiers", trials_json(d), "checks", checks_json(d));
	if (!root)
		return error_set(err, ENOMEM, "no memory for the output");
	if (json_dumpf(root, to, JSON_INDENT(2)) < 0 || fputc('\n', to) == EOF || ferror(to))
		r = error_errno(err, "write");
	json_decref(root);
	return r;
}
