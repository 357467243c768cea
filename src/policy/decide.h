/* Which trust may run behind which tier (design section 6).  Pure: no clock, no file, no host; tests walk its whole
 * input space. */
#ifndef BULKHEAD_POLICY_DECIDE_H
#define BULKHEAD_POLICY_DECIDE_H

#include <stdbool.h>

#include "isolation/guarantee.h"
#include "policy/trust.h"

struct decision {
	bool allowed;
	const char *reason; /* one line without full stop, static, set for both answers: every decision is recorded */
};

struct decision decide(enum trust trust, enum tier tier);

#endif
