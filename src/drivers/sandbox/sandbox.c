/* The sandbox driver: everything that a shared kernel can do.  Where the host grants no namespaces the same boundary is
 * held by Landlock, seccomp and rlimits, as far as that goes; the evidence says which. */
#include "drivers/driver.h"

static mechanism_set wants(const struct boundary *b)
{
	mechanism_set all = (1u << MECH_COUNT) - 1;

	return b->net == NET_HOST ? all & ~MECH_BIT(MECH_NETNS) : all;
}

const struct driver driver_sandbox = {
	.name = "sandbox",
	.tier = TIER_SANDBOX,
	.wants = wants,
	.prepare = confinement_prepare,
	.start = confinement_start,
	.observe = confinement_observe,
};
