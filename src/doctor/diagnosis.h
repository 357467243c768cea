/* What doctor found: one trial per tier, and the checks.  Plain data, with its two printed forms. */
#ifndef BULKHEAD_DOCTOR_DIAGNOSIS_H
#define BULKHEAD_DOCTOR_DIAGNOSIS_H

#include <stdbool.h>
#include <stdio.h>

#include "doctor/check.h"
#include "launch/options.h"
#include "launch/outcome.h"

#define CHECKS_MAX 32

struct trial {
	bool in_build;	/* this build has a driver for the tier */
	bool available; /* the gate would have opened */
	struct boundary boundary;
	struct evidence evidence; /* zeroed where there is no driver */
	struct outcome outcome;	  /* its error says why a tier is not available */
};

struct diagnosis {
	enum tier asked;
	bool strict, privileged;
	mechanism_set without;
	struct trial trials[TIER_COUNT];
	struct check checks[CHECKS_MAX];
	size_t check_count;
};

/* A verdict of an evidence in which nothing was seen: the trial ended before the look, so what is not refused is only
 * not known to fail. */
bool trial_untried(const struct trial *t, enum guarantee g);

/* True for a mechanism that the trial wanted and did not get. */
bool finding_lacks(const struct finding *f);

void diagnosis_print_text(const struct diagnosis *d, FILE *to, unsigned int width, bool colour);
int diagnosis_print_json(const struct diagnosis *d, FILE *to, struct error *err);

#endif
