/* For people: what holds each guarantee in each tier, what is missing, the checks, and the answer last, where the eye
 * stops.  Nothing is told by colour alone. */
#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor/diagnosis.h"

#define NAME_WIDTH 15  /* the longest guarantee and a blank */
#define CHECK_WIDTH 21 /* the longest check and a blank */
#define TIER_WIDTH 17  /* "sandbox (asked)" and two blanks */
#define CELL_MAX 640

enum tone { PLAIN, GOOD, WARN, BAD, DIM, HEAD };
static const char *const tones[] = { "", "\033[32m", "\033[33m", "\033[31m", "\033[2m", "\033[1m" };

struct page {
	FILE *to;
	unsigned int width;
	bool colour;
};

struct cell {
	char text[CELL_MAX];
	enum tone tone;
	unsigned int width;
	const char *rest; /* not yet printed */
};

static void __attribute__((format(printf, 3, 4))) cell_set(struct cell *c, enum tone tone, const char *fmt, ...)
{
	va_list ap;

	c->tone = tone;
	va_start(ap, fmt);
	(void)vsnprintf(c->text, sizeof(c->text), fmt, ap); /* a long text is cut: the JSON has it whole */
	va_end(ap);
	c->rest = c->text;
}

/* How much of the text goes on a line of `width`: up to the last blank that fits, or a word cut if it is too long. */
static size_t line_length(const char *text, size_t width)
{
	size_t len = strlen(text), at = width;

	if (len <= width)
		return len;
	while (at > 0 && text[at] != ' ')
		at--;
	return at ? at : width;
}

static bool cells_left(const struct cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (cells[i].rest[0])
			return true;
	}
	return false;
}

/* One row of cells side by side, each wrapped in its own column. */
static void print_row(const struct page *p, struct cell *cells, size_t count)
{
	do {
		unsigned int pending = 0; /* blanks owed: none are printed at the end of a line */

		for (size_t i = 0; i < count; i++) {
			struct cell *c = &cells[i];
			bool last = i + 1 == count;
			size_t room = last ? c->width : c->width - 2, n = line_length(c->rest, room);

			if (n > 0) {
				fprintf(p->to, "%*s%s%.*s%s", (int)pending, "", p->colour ? tones[c->tone] : "", (int)n,
					c->rest, p->colour && c->tone != PLAIN ? "\033[0m" : "");
				pending = c->width - (unsigned int)n;
			} else {
				pending += c->width;
			}
			c->rest += n;
			c->rest += strspn(c->rest, " ");
		}
		fputc('\n', p->to);
	} while (cells_left(cells, count));
}

static void print_heading(const struct page *p, const char *text)
{
	fprintf(p->to, "\n%s%s%s\n", p->colour ? tones[HEAD] : "", text, p->colour ? "\033[0m" : "");
}

static void fill_verdict(const struct trial *t, enum guarantee g, struct cell *c)
{
	const struct verdict *v = &t->evidence.guarantees[g];

	if (trial_untried(t, g)) {
		cell_set(c, DIM, v->required ? "untried: %s" : "-", v->mechanism);
		return;
	}
	switch (v->state) {
	case VERDICT_HELD:
		cell_set(c, v->required ? GOOD : DIM, v->required ? "%s" : "(%s)", v->mechanism);
		break;
	case VERDICT_PARTIAL:
		cell_set(c, v->required ? WARN : DIM, v->required ? "partial: %s" : "(partial: %s)", v->mechanism);
		break;
	case VERDICT_REFUSED:
		cell_set(c, BAD, v->gap ? "REFUSED: only %s" : "REFUSED", v->mechanism);
		break;
	case VERDICT_WAIVED:
	case VERDICT_GRANTED: /* doctor neither waives nor grants */
	case VERDICT_UNTRIED: /* trial_untried() has answered */
	case VERDICT_NOT_PROMISED:
	case VERDICT_STATE_COUNT:
		cell_set(c, DIM, "-");
		break;
	}
}

static void print_guarantees(const struct page *p, const struct diagnosis *d)
{
	unsigned int rest = p->width - NAME_WIDTH, first = rest * 2 / 5;
	struct cell cells[3] = { { .width = NAME_WIDTH }, { .width = first }, { .width = rest - first } };

	fputc('\n', p->to);
	cell_set(&cells[0], HEAD, "GUARANTEE");
	cell_set(&cells[1], HEAD, "held in tier PROCESS by");
	cell_set(&cells[2], HEAD, "held in tier SANDBOX by");
	print_row(p, cells, 3);
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		cell_set(&cells[0], PLAIN, "%s", guarantee_id((enum guarantee)g));
		fill_verdict(&d->trials[TIER_PROCESS], (enum guarantee)g, &cells[1]);
		fill_verdict(&d->trials[TIER_SANDBOX], (enum guarantee)g, &cells[2]);
		print_row(p, cells, 3);
	}
	fprintf(p->to, "\n-: not promised by that tier.  (...): held there all the same.  kernel: tier vm, not in "
		       "this build.\n");
}

static void print_to_fix(const struct page *p, unsigned int indent, const char *remedy)
{
	struct cell cells[2] = { { .width = indent, .rest = "" }, { .width = p->width - indent } };

	if (!remedy || !remedy[0])
		return;
	cell_set(&cells[1], PLAIN, "to fix: %s", remedy);
	print_row(p, cells, 2);
}

/* begin_findings() in launch/attempt.c: it has no errno, for nobody tried it. */
static bool taken_along(const struct finding *f)
{
	return f->state == FINDING_UNSUPPORTED && f->code == 0 && strncmp(f->how, "rests on", 8) == 0;
}

static void print_finding(const struct page *p, enum mechanism m, const struct finding *f, const char *beside)
{
	struct cell cells[2] = { { .width = NAME_WIDTH }, { .width = p->width - NAME_WIDTH } };
	char buf[400];

	cell_set(&cells[0], f->state == FINDING_FAILED ? BAD : WARN, "%s", mechanism_name(m));
	cell_set(&cells[1], PLAIN, "%s%s: %s", finding_state_name(f->state), beside, f->how);
	print_row(p, cells, 2);
	print_to_fix(p, NAME_WIDTH, evidence_remedy(m, f, buf, sizeof(buf)));
}

/* Mechanisms that were not used because of another one that is missing: not the host's fault, so one line for all. */
static void print_taken_along(const struct page *p, const struct evidence *e)
{
	struct cell cells[2] = { { .width = NAME_WIDTH, .rest = "" }, { .width = p->width - NAME_WIDTH } };
	char names[300] = "";

	for (int m = 0; m < MECH_COUNT; m++) {
		size_t used = strlen(names);

		if (finding_lacks(&e->mechanisms[m]) && taken_along(&e->mechanisms[m]))
			(void)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
				       mechanism_name((enum mechanism)m));
	}
	if (!names[0])
		return;
	cell_set(&cells[1], DIM, "not used, as they rest on one of those: %s", names);
	print_row(p, cells, 2);
}

/* Mechanisms that were wanted and not got. */
static void print_lacks(const struct page *p, const struct diagnosis *d)
{
	const struct evidence *sandbox = &d->trials[TIER_SANDBOX].evidence,
			      *process = &d->trials[TIER_PROCESS].evidence;
	bool any = false;

	for (int m = 0; m < MECH_COUNT; m++) {
		const struct finding *s = &sandbox->mechanisms[m], *q = &process->mechanisms[m];
		bool differs = finding_lacks(q) && (!finding_lacks(s) || strcmp(s->how, q->how) != 0);

		if ((!finding_lacks(s) || taken_along(s)) && !differs)
			continue;
		if (!any)
			print_heading(p, "MECHANISMS that are not there");
		any = true;
		if (finding_lacks(s) && !taken_along(s))
			print_finding(p, (enum mechanism)m, s, differs ? " in tier sandbox" : "");
		if (differs)
			print_finding(p, (enum mechanism)m, q, " in tier process");
	}
	if (any)
		print_taken_along(p, sandbox);
}

static void print_checks(const struct page *p, const struct diagnosis *d)
{
	static const enum tone tone_of[CHECK_STATE_COUNT] = {
		[CHECK_OK] = GOOD, [CHECK_NOTE] = WARN, [CHECK_MISSING] = BAD
	};
	struct cell cells[3] = { { .width = CHECK_WIDTH }, { .width = 9 }, { .width = p->width - CHECK_WIDTH - 9 } };

	print_heading(p, "HOST");
	for (size_t i = 0; i < d->check_count; i++) {
		const struct check *c = &d->checks[i];

		cell_set(&cells[0], PLAIN, "%s", c->name);
		cell_set(&cells[1], tone_of[c->state], "%s", check_state_name(c->state));
		cell_set(&cells[2], PLAIN, "%s", c->seen);
		print_row(p, cells, 3);
		print_to_fix(p, CHECK_WIDTH + 9, c->remedy);
	}
}

/* "resources partial: ..." for what is required and held in part. */
static void append_partial(const struct trial *t, char *buf, size_t size)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		const struct verdict *v = &t->evidence.guarantees[g];
		size_t used = strlen(buf);

		if (v->required && v->state == VERDICT_PARTIAL)
			(void)snprintf(buf + used, size - used, "; %s only in part: %s",
				       guarantee_id((enum guarantee)g), v->gap);
	}
}

static void print_answers(const struct page *p, const struct diagnosis *d)
{
	struct cell cells[2] = { { .width = TIER_WIDTH }, { .width = p->width - TIER_WIDTH } };

	print_heading(p, "TIERS");
	for (int i = 0; i < TIER_COUNT; i++) {
		const struct trial *t = &d->trials[i];
		char more[400] = "";

		cell_set(&cells[0], PLAIN, "%s%s", tier_name((enum tier)i), (enum tier)i == d->asked ? " (asked)" : "");
		if (t->available)
			append_partial(t, more, sizeof(more));
		if (!t->in_build)
			cell_set(&cells[1], DIM, "not in this build");
		else if (t->available)
			cell_set(&cells[1], more[0] ? WARN : GOOD, "available%s", more);
		else
			cell_set(&cells[1], BAD, "not available: %s", t->outcome.error.text);
		print_row(p, cells, 2);
	}
}

void diagnosis_print_text(const struct diagnosis *d, FILE *to, unsigned int width, bool colour)
{
	struct page p = { .to = to, .width = width, .colour = colour };
	struct utsname host = { 0 };

	(void)uname(&host); /* cannot fail with a good address */
	fprintf(to, "bulkhead %s on Linux %s %s, as uid %u, %s%s\n", BULKHEAD_VERSION, host.release, host.machine,
		geteuid(), d->privileged ? "privileged in its user namespace" : "unprivileged",
		d->strict ? ", strict" : "");
	print_guarantees(&p, d);
	print_lacks(&p, d);
	print_checks(&p, d);
	print_answers(&p, d);
}
