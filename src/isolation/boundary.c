#include "isolation/boundary.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const grant_kinds[] = {
	[GRANT_RO] = "ro",
	[GRANT_RW] = "rw",
	[GRANT_IN] = "in",
	[GRANT_OUT] = "out",
};
static_assert(sizeof(grant_kinds) / sizeof(grant_kinds[0]) == GRANT_KIND_COUNT, "a name per kind of grant");

static const char *const net_grants[] = { [NET_NONE] = "none", [NET_HOST] = "host" };
static_assert(sizeof(net_grants) / sizeof(net_grants[0]) == NET_GRANT_COUNT, "a name per network grant");

static const char *const mechanisms[] = {
	[MECH_USERNS] = "userns",
	[MECH_PIDNS] = "pidns",
	[MECH_MOUNTNS] = "mountns",
	[MECH_NETNS] = "netns",
	[MECH_IPCNS] = "ipcns",
	[MECH_UTSNS] = "utsns",
	[MECH_CGROUPNS] = "cgroupns",
	[MECH_LANDLOCK] = "landlock",
	[MECH_LANDLOCK_SCOPE] = "landlock-scope",
	[MECH_SECCOMP] = "seccomp",
	[MECH_CAPS] = "caps",
	[MECH_NNP] = "nnp",
	[MECH_OWN_UID] = "own-uid",
	[MECH_CGROUP] = "cgroup",
	[MECH_CGROUP_KILL] = "cgroup-kill",
	[MECH_RLIMITS] = "rlimits",
	[MECH_SUBREAPER] = "subreaper",
	[MECH_SESSION] = "session",
	[MECH_ENVIRONMENT] = "environment",
	[MECH_DESCRIPTORS] = "descriptors",
	[MECH_WORKSPACE] = "workspace",
};
static_assert(sizeof(mechanisms) / sizeof(mechanisms[0]) == MECH_COUNT, "a name per mechanism");
static_assert(MECH_COUNT <= 32, "mechanism_set has 32 bits");

const char *grant_kind_name(enum grant_kind k)
{
	return grant_kinds[k];
}

const char *net_grant_name(enum net_grant n)
{
	return net_grants[n];
}

const char *mechanism_name(enum mechanism m)
{
	return mechanisms[m];
}

bool mechanism_from_name(const char *name, enum mechanism *out)
{
	for (int m = 0; m < MECH_COUNT; m++) {
		if (strcmp(name, mechanisms[m]) == 0) {
			*out = (enum mechanism)m;
			return true;
		}
	}
	return false;
}

void boundary_init(struct boundary *b)
{
	*b = (struct boundary){
		.tier = TIER_SANDBOX,
		.net = NET_NONE,
		.limits = {
			.memory_bytes = 2ull << 30,
			.cpu_milli = LIMIT_NONE,
			.pids = 512,
			.disk_bytes = 1ull << 30,
			.output_bytes = LIMIT_NONE,
			.timeout_ms = LIMIT_NONE,
			.grace_ms = 10 * 1000,
			.cpu_time_ms = LIMIT_NONE,
			.open_files = 4096,
		},
	};
}

void boundary_done(struct boundary *b)
{
	for (size_t i = 0; i < b->owned_count; i++)
		free(b->owned[i]);
	free(b->owned);
	*b = (struct boundary){ 0 };
}

int boundary_own(struct boundary *b, void *take_block, struct error *err)
{
	/* The list doubles whenever its count is a power of two, which spares a field for its room. */
	bool full = (b->owned_count & (b->owned_count - 1)) == 0;

	if (!take_block)
		return error_set(err, ENOMEM, "out of memory");
	if (full) {
		size_t room = b->owned_count ? b->owned_count * 2 : 1;
		void **larger = reallocarray(b->owned, room, sizeof(*larger));

		if (!larger) {
			free(take_block);
			return error_set(err, ENOMEM, "out of memory");
		}
		b->owned = larger;
	}
	b->owned[b->owned_count++] = take_block;
	return 0;
}

bool boundary_waives(const struct boundary *b, enum guarantee g)
{
	for (size_t i = 0; i < b->waiver_count; i++) {
		if (b->waivers[i].guarantee == g)
			return true;
	}
	return false;
}
