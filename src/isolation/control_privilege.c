/* Privilege: no_new_privs, and capability sets with nothing in them. */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "isolation/capability.h"
#include "isolation/control.h"

/* The workload must not gain rights through a set-uid binary, and without this a caller lacking CAP_SYS_ADMIN may not
 * load a filter at all (seccomp(2)).  Once set it stays set across fork and execve. */
int nnp_apply(struct confinement *c, struct error *err)
{
	(void)c;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, "set no_new_privs");
	return 0;
}

/* The bounding set, where we may (CAP_SETPCAP).  It limits what execve can give and nothing that we hold, so it goes early
 * and once, for init and the workload both.  Without that right it stays, which no_new_privs makes harmless: execve can then
 * add nothing to an empty permitted set (capabilities(7)). */
int caps_bound(struct confinement *c, struct error *err)
{
	struct capability_sets now;

	(void)c;
	if (capability_get(&now) < 0)
		return error_errno(err, "read our own capabilities");
	if (!capability_effective(&now, CAP_SETPCAP))
		return 0;
	/* up to the first that this kernel does not know, which is EINVAL (PR_CAPBSET_DROP, prctl(2)); a set has 64 bits */
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return errno == EINVAL ? 0 : error_errno(err, "empty the bounding set");
	}
	return 0;
}

/* Effective, permitted, inheritable, ambient. */
int caps_apply(struct confinement *c, struct error *err)
{
	static const struct capability_sets none;

	(void)c;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return error_errno(err, "empty the ambient set");
	if (capability_set(&none) < 0)
		return error_errno(err, "empty the capability sets");
	return 0;
}

void nnp_observe(const struct observation *o, struct finding *out)
{
	const char *value = observation_status(o, "NoNewPrivs");

	if (value && value[0] == '1')
		finding_set(out, FINDING_ENFORCED, 0, "NoNewPrivs: 1");
	else
		finding_set(out, FINDING_FAILED, 0, "NoNewPrivs is not set");
}

static bool is_zero(const char *hex)
{
	return hex && strspn(hex, "0") == strcspn(hex, "\n");
}

void caps_observe(const struct observation *o, struct finding *out)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapAmb" };

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (!is_zero(observation_status(o, sets[i]))) {
			finding_set(out, FINDING_FAILED, 0, "%s is not empty", sets[i]);
			return;
		}
	}
	if (is_zero(observation_status(o, "CapBnd")))
		finding_set(out, FINDING_ENFORCED, 0, "all five sets are empty");
	else
		finding_set(out, FINDING_ENFORCED, 0,
			    "four sets are empty; the bounding set cannot be used under no_new_privs");
}
