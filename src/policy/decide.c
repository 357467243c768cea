#include "policy/decide.h"

#include <assert.h>

/* What stands between the workload and the host.  Ordered: own kernel is the least that an untrusted tenant needs. */
enum isolation { ISOLATION_OS_USER, ISOLATION_SHARED_KERNEL, ISOLATION_OWN_KERNEL };

static const struct {
	enum isolation isolation;
	bool built; /* the driver of this tier is in this program */
} tiers[] = {
	[TIER_PROCESS] = { ISOLATION_OS_USER, true },
	[TIER_SANDBOX] = { ISOLATION_SHARED_KERNEL, true },
	[TIER_VM] = { ISOLATION_OWN_KERNEL, false },
};
static_assert(sizeof(tiers) / sizeof(tiers[0]) == TIER_COUNT, "a row per tier");

struct decision decide(enum trust trust, enum tier tier)
{
	if (trust != TRUST_TRUSTED && tiers[tier].isolation == ISOLATION_OS_USER)
		return (struct decision){ false, "an untrusted tenant never runs as a plain process of an OS user; "
						 "that needs tier vm" };
	if (trust != TRUST_TRUSTED && tiers[tier].isolation == ISOLATION_SHARED_KERNEL)
		return (struct decision){ false,
					  "an untrusted tenant never runs on a shared kernel; that needs tier vm" };
	if (!tiers[tier].built)
		return (struct decision){ false, "the vm driver is not in this build" };
	return (struct decision){ true, "the tenant is trusted" };
}
