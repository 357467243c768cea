/* A driver starts a workload behind one kind of boundary.  It translates the boundary and never invents its own: which
 * guarantees hold is judged from what was observed, by the same code for all of them. */
#ifndef BULKHEAD_DRIVERS_DRIVER_H
#define BULKHEAD_DRIVERS_DRIVER_H

#include "isolation/apply.h"

struct driver {
	const char *name;
	enum tier tier;

	/* Every mechanism that it applies where the host has it. */
	mechanism_set (*wants)(const struct boundary *b);
	/* What can only be made by the launcher, then the processes up to the gate, then the look at them: the contracts
	 * are those of confinement_prepare(), _start() and _observe(). */
	int (*prepare)(struct confinement *c, enum mechanism *out_step, struct error *err);
	int (*start)(struct confinement *c, struct started *s, struct error *err);
	int (*observe)(struct confinement *c, struct started *s, struct error *err);
};

extern const struct driver driver_process, driver_sandbox;

/* NULL where this build has no driver for the tier. */
const struct driver *driver_for(enum tier tier);

#endif
