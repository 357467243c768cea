/* What a workload uses right now: from its groups where it has them, else summed over /proc.  The second kind enforces
 * limits that no group holds, a few times a second; it can be overshot in between, which the evidence calls partial. */
#ifndef BULKHEAD_LAUNCH_SAMPLER_H
#define BULKHEAD_LAUNCH_SAMPLER_H

#include "isolation/apply.h"
#include "launch/outcome.h"

#define SAMPLE_INTERVAL_MS 50

struct sample {
	uint64_t cpu_us;       /* user and system, whole tree; UNKNOWN */
	uint64_t memory_bytes; /* resident; only filled by sampling */
	uint64_t processes;    /* only filled by sampling */
};

/* True when some limit of the boundary needs samples. */
bool sampler_needed(const struct confinement *c);

void sampler_take(const struct confinement *c, const struct started *s, struct sample *out);

/* Which limits were hit; with `measure` also the report's numbers, of which peaks only ever grow. */
void sampler_note(const struct confinement *c, const struct started *s, bool measure, struct outcome *o);

#endif
