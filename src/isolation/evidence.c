#include "isolation/evidence.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "isolation/plan.h"
#include "util/text.h"

static const char *const finding_states[] = {
	[FINDING_NOT_ASKED] = "not asked",  [FINDING_AVAILABLE] = "untried",	   [FINDING_ENFORCED] = "enforced",
	[FINDING_PARTIAL] = "partial",	    [FINDING_UNSUPPORTED] = "unsupported", [FINDING_FAILED] = "failed",
	[FINDING_WITHOUT] = "switched off", [FINDING_DECLARED] = "declared",
};
static_assert(sizeof(finding_states) / sizeof(finding_states[0]) == FINDING_STATE_COUNT, "a name per state");

static const char *const verdict_states[] = {
	[VERDICT_NOT_PROMISED] = "not promised", [VERDICT_HELD] = "held",
	[VERDICT_PARTIAL] = "partial",		 [VERDICT_WAIVED] = "waived",
	[VERDICT_GRANTED] = "granted",		 [VERDICT_REFUSED] = "refused",
	[VERDICT_UNTRIED] = "untried",
};
static_assert(sizeof(verdict_states) / sizeof(verdict_states[0]) == VERDICT_STATE_COUNT, "a name per state");

const char *finding_state_name(enum finding_state s)
{
	return finding_states[s];
}

const char *verdict_state_name(enum verdict_state s)
{
	return verdict_states[s];
}

void finding_set(struct finding *f, enum finding_state state, int code, const char *fmt, ...)
{
	va_list ap;

	f->state = state;
	f->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(f->how, sizeof(f->how), fmt, ap); /* a long text is cut: it is for people */
	va_end(ap);
}

static bool works(const struct finding *f)
{
	return f->state == FINDING_ENFORCED || f->state == FINDING_AVAILABLE || f->state == FINDING_PARTIAL;
}

static bool alternative_works(const struct evidence *e, const struct alternative *a)
{
	for (int m = 0; m < MECH_COUNT; m++) {
		if ((a->needs & MECH_BIT(m)) && !works(&e->mechanisms[m]))
			return false;
	}
	return true;
}

/* A mechanism that is itself partial makes partial whatever rests on it. */
static const char *alternative_gap(const struct evidence *e, const struct alternative *a)
{
	if (a->gap)
		return a->gap;
	for (int m = 0; m < MECH_COUNT; m++) {
		if ((a->needs & MECH_BIT(m)) && e->mechanisms[m].state == FINDING_PARTIAL)
			return e->mechanisms[m].how;
	}
	return NULL;
}

static void describe_observation(struct verdict *v, const struct evidence *e, const struct alternative *a)
{
	v->how[0] = '\0';
	for (int m = 0; m < MECH_COUNT; m++) {
		if ((a->needs & MECH_BIT(m)) && e->mechanisms[m].how[0])
			text_append(v->how, sizeof(v->how), "%s%s: %s", v->how[0] ? "; " : "",
				    mechanism_name((enum mechanism)m), e->mechanisms[m].how);
	}
}

static void describe_failure(struct verdict *v, const struct evidence *e, const struct alternative *rows, size_t count)
{
	mechanism_set told = 0;

	v->how[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		for (int m = 0; m < MECH_COUNT; m++) {
			const struct finding *f = &e->mechanisms[m];

			if (!(rows[i].needs & MECH_BIT(m)) || (told & MECH_BIT(m)) || works(f))
				continue;
			told |= MECH_BIT(m);
			text_append(v->how, sizeof(v->how), "%s%s %s%s%s", v->how[0] ? "; " : "",
				    mechanism_name((enum mechanism)m), finding_state_name(f->state),
				    f->how[0] ? ": " : "", f->how);
		}
	}
	if (count == 0)
		text_append(v->how, sizeof(v->how), "no mechanism in this build");
}

static void judge_one(struct evidence *e, const struct boundary *b, enum guarantee g)
{
	struct verdict *v = &e->guarantees[g];
	const struct alternative *partial = NULL;
	bool required = tier_requires(b->tier) & GUARANTEE_BIT(g);
	bool partial_ok = !b->strict && (tier_accepts_partial() & GUARANTEE_BIT(g));
	size_t count;
	const struct alternative *rows = plan_alternatives(g, &count);

	memset(v, 0, sizeof(*v));
	v->required = required;
	if (g == G_NETWORK && b->net == NET_HOST) {
		v->state = VERDICT_GRANTED;
		text_append(v->how, sizeof(v->how), "--net host");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (!alternative_works(e, &rows[i]))
			continue;
		if (alternative_gap(e, &rows[i])) {
			if (!partial)
				partial = &rows[i];
			continue;
		}
		v->state = VERDICT_HELD;
		v->mechanism = rows[i].words;
		describe_observation(v, e, &rows[i]);
		return;
	}
	if (partial) {
		v->mechanism = partial->words;
		v->gap = alternative_gap(e, partial);
	}
	if (partial && (partial_ok || !required)) {
		v->state = VERDICT_PARTIAL;
		describe_observation(v, e, partial);
		return;
	}
	describe_failure(v, e, rows, count);
	if (!required)
		v->state = VERDICT_NOT_PROMISED;
	else
		v->state = boundary_waives(b, g) ? VERDICT_WAIVED : VERDICT_REFUSED;
}

unsigned int evidence_judge(struct evidence *e, const struct boundary *b)
{
	unsigned int refused = 0;

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		judge_one(e, b, (enum guarantee)g);
		if (e->guarantees[g].state == VERDICT_REFUSED)
			refused++;
	}
	return refused;
}

bool evidence_unfinished(const struct evidence *e)
{
	for (int m = 0; m < MECH_COUNT; m++) {
		if (e->mechanisms[m].state == FINDING_AVAILABLE)
			return true;
	}
	return false;
}

void evidence_mark_untried(struct evidence *e)
{
	if (!evidence_unfinished(e))
		return;
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		struct verdict *v = &e->guarantees[g];

		if (v->state == VERDICT_HELD || v->state == VERDICT_PARTIAL)
			v->state = VERDICT_UNTRIED;
	}
}

/* The remedy of the first mechanism, strongest first, that this host could be taught. */
static const char *first_remedy(const struct evidence *e, enum guarantee g, char *buf, size_t size)
{
	size_t count;
	const struct alternative *rows = plan_alternatives(g, &count);

	for (size_t i = 0; i < count; i++) {
		for (int m = 0; m < MECH_COUNT; m++) {
			const char *text;

			if (!(rows[i].needs & MECH_BIT(m)) || works(&e->mechanisms[m]))
				continue;
			text = evidence_remedy((enum mechanism)m, &e->mechanisms[m], buf, size);
			if (text)
				return text;
		}
	}
	return NULL;
}

int evidence_refusal(const struct evidence *e, struct error *err)
{
	int first = -1;
	char more[200] = "", buf[400];
	const struct verdict *v;
	const char *remedy;
	size_t used;

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if (e->guarantees[g].state != VERDICT_REFUSED)
			continue;
		if (first < 0)
			first = g;
		else
			text_append(more, sizeof(more), "%s%s", more[0] ? ", " : " (and ",
				    guarantee_id((enum guarantee)g));
	}
	if (first < 0)
		return error_set(err, EINVAL, "no guarantee is refused");
	v = &e->guarantees[first];
	if (more[0])
		text_append(more, sizeof(more), ")");
	remedy = first_remedy(e, (enum guarantee)first, buf, sizeof(buf));
	(void)error_set(err, EPERM, "guarantee %s%s cannot be held: %.300s", guarantee_id((enum guarantee)first), more,
			v->gap ? v->gap : v->how);
	used = err ? strlen(err->text) : 0;
	/* A command that is cut is worse than none. */
	if (err && remedy)
		text_append(err->text, sizeof(err->text), "; to fix: %s",
			    used + strlen("; to fix: ") + strlen(remedy) < sizeof(err->text) ? remedy
											     : "see bulkhead doctor");
	return -EPERM;
}

void evidence_print(const struct evidence *e, FILE *out, unsigned int width)
{
	fprintf(out, "%-14s %-12s %s\n", "GUARANTEE", "STATE", "BY");
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		const struct verdict *v = &e->guarantees[g];
		char line[512];

		if (v->gap)
			(void)snprintf(line, sizeof(line), "%s; gap: %s", v->mechanism, v->gap);
		else
			(void)snprintf(line, sizeof(line), "%s", v->mechanism ? v->mechanism : v->how);
		fprintf(out, "%-14s %-12s %.*s\n", guarantee_id((enum guarantee)g), verdict_state_name(v->state),
			width > 28 ? (int)(width - 28) : (int)sizeof(line), line);
	}
}
