/* The process driver: for the caller's own trusted work.  A session, a process group and a workspace of its own, a
 * written environment, no privilege, limits, and a whole-tree kill.  It promises neither files nor network, so it takes
 * no namespace and no filter: what a trusted task does with /proc, sockets and terminals is its own business.  The signal
 * scope of Landlock gives it the whole-tree kill without any right. */
#include "drivers/driver.h"

static mechanism_set wants(const struct boundary *b)
{
	(void)b;
	return MECH_BIT(MECH_NNP) | MECH_BIT(MECH_CAPS) | MECH_BIT(MECH_CGROUP) | MECH_BIT(MECH_CGROUP_KILL) |
	       MECH_BIT(MECH_LANDLOCK_SCOPE) | MECH_BIT(MECH_SUBREAPER) | MECH_BIT(MECH_RLIMITS) |
	       MECH_BIT(MECH_SESSION) | MECH_BIT(MECH_ENVIRONMENT) | MECH_BIT(MECH_DESCRIPTORS) |
	       MECH_BIT(MECH_WORKSPACE);
}

const struct driver driver_process = {
	.name = "process",
	.tier = TIER_PROCESS,
	.wants = wants,
	.prepare = confinement_prepare,
	.start = confinement_start,
	.observe = confinement_observe,
};
