/* Evidence: what each mechanism was seen to do, and what that means for each guarantee.  Plain data. */
#ifndef BULKHEAD_ISOLATION_EVIDENCE_H
#define BULKHEAD_ISOLATION_EVIDENCE_H

#include <stdbool.h>
#include <stdio.h>

#include "isolation/boundary.h"
#include "isolation/guarantee.h"
#include "util/error.h"

/* What is known of one mechanism. */
enum finding_state {
	FINDING_NOT_ASKED,   /* the plan does not use it */
	FINDING_AVAILABLE,   /* nothing speaks against it yet, and nothing was seen */
	FINDING_ENFORCED,    /* seen to be in force */
	FINDING_PARTIAL,     /* in force, with the gap named */
	FINDING_UNSUPPORTED, /* this host cannot do it */
	FINDING_FAILED,	     /* it should have worked and was not seen to */
	FINDING_WITHOUT,     /* switched off by --without */
	FINDING_DECLARED,    /* promised by another system, not observable from here */
	FINDING_STATE_COUNT
};
const char *finding_state_name(enum finding_state s);

struct finding {
	enum finding_state state;
	int code;      /* errno behind unsupported or failed, else 0 */
	char how[200]; /* how it was observed, or the step that failed */
};

void finding_set(struct finding *f, enum finding_state state, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

enum verdict_state {
	VERDICT_NOT_PROMISED, /* the tier does not require it, and nothing holds it */
	VERDICT_HELD,
	VERDICT_PARTIAL, /* by a mechanism with a named gap */
	VERDICT_WAIVED,	 /* not held; a human took the risk */
	VERDICT_GRANTED, /* given up on request (--net host) */
	VERDICT_REFUSED, /* required and not held */
	VERDICT_UNTRIED, /* nothing speaks against it, but the run ended before it was observed */
	VERDICT_STATE_COUNT
};
const char *verdict_state_name(enum verdict_state s);

struct verdict {
	enum verdict_state state;
	bool required;
	const char *mechanism; /* words for the mechanism that holds it, NULL where none does */
	const char *gap;       /* what a partial mechanism leaves open */
	char how[400];	       /* how it was observed, or everything that was tried and why it failed */
};

struct evidence {
	struct finding mechanisms[MECH_COUNT];
	struct verdict guarantees[GUARANTEE_COUNT];
};

/* Fill evidence->guarantees from evidence->mechanisms.  Findings that are `available` count as enforced: before a start
 * the same function answers "can this boundary be held here?", and after the observation "is it?".
 * Returns the number of refused guarantees. */
unsigned int evidence_judge(struct evidence *e, const struct boundary *b);

/* True when some finding is still `available`: an evidence that must not be shown as a result. */
bool evidence_unfinished(const struct evidence *e);

/* After a start that did not reach the observation: what was not seen is not claimed. */
void evidence_mark_untried(struct evidence *e);

/* "guarantee `files` cannot be held: ...", with the host change that would fix it, for the first refused one and a count
 * of the others.  Returns -EPERM. */
int evidence_refusal(const struct evidence *e, struct error *err);

/* The table for people: one line per guarantee, width columns at most; 0 cuts nothing. */
void evidence_print(const struct evidence *e, FILE *out, unsigned int width);

/* What to change on this host so that the mechanism works; never "run as root", never "switch it off".  Static text or
 * text in buf. */
const char *evidence_remedy(enum mechanism m, const struct finding *f, char *buf, size_t size);

#endif
