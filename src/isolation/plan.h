/* The plan: which mechanisms can hold which guarantee, strongest first, and in which order they are applied. */
#ifndef BULKHEAD_ISOLATION_PLAN_H
#define BULKHEAD_ISOLATION_PLAN_H

#include <stddef.h>

#include "isolation/boundary.h"
#include "isolation/evidence.h"

struct alternative {
	enum guarantee guarantee;
	mechanism_set needs; /* all of these */
	const char *words;   /* for people */
	const char *gap;     /* NULL: holds; else what it leaves open (partial) */
};

/* The rows of one guarantee, strongest first. */
const struct alternative *plan_alternatives(enum guarantee g, size_t *out_count);

/* What cannot work without what: the set less those whose foundation is missing from it. */
mechanism_set plan_supported(mechanism_set set, bool privileged);

#endif
