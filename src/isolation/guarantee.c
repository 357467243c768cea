#include "isolation/guarantee.h"

#include <assert.h>
#include <string.h>

static const struct {
	const char *id;
	const char *promise;
	guarantee_set tiers; /* bit 1u << enum tier */
} guarantees[] = {
#define P (1u << TIER_PROCESS)
#define S (1u << TIER_SANDBOX)
#define V (1u << TIER_VM)
	[G_MEMORY] = { "memory", "no workload reads or writes another's memory, or ours", S | V },
	[G_ENVIRON] = { "environ", "nor another's environment or descriptors through /proc", S | V },
	[G_FILES] = { "files", "nor another's workspace, nor host files that were not granted", S | V },
	[G_CONTROL_PLANE] = { "control-plane", "it cannot replace, remove or connect to our sockets and state", S | V },
	[G_SIGNALS] = { "signals", "it cannot signal anything outside itself", S | V },
	[G_TREE] = { "tree", "when it ends, everything it started is dead before anyone hears the answer", P | S | V },
	[G_NETWORK] = { "network", "no network unless granted", S | V },
	[G_SYSCALLS] = { "syscalls", "only a stated set of system calls", S | V },
	[G_PRIVILEGE] = { "privilege", "it gains no right it was not started with", P | S | V },
	[G_RESOURCES] = { "resources", "memory, processes, CPU, disk and output stay under the stated limits", S | V },
	[G_ENVIRONMENT] = { "environment", "it sees only the environment written for it", P | S | V },
	[G_DESCRIPTORS] = { "descriptors", "it inherits only the descriptors passed to it", P | S | V },
	[G_TERMINAL] = { "terminal", "it cannot push input into the caller's terminal", S | V },
	[G_DEVICES] = { "devices", "only the device nodes granted", S | V },
	[G_RESIDUE] = { "residue", "nothing on disk carries from one workload to the next", P | S | V },
	[G_KERNEL] = { "kernel", "a bug in the host kernel's system-call surface is not enough to get out", V },
#undef P
#undef S
#undef V
};
static_assert(sizeof(guarantees) / sizeof(guarantees[0]) == GUARANTEE_COUNT, "a row per guarantee");

static const char *const tiers[] = { [TIER_PROCESS] = "process", [TIER_SANDBOX] = "sandbox", [TIER_VM] = "vm" };
static_assert(sizeof(tiers) / sizeof(tiers[0]) == TIER_COUNT, "a name per tier");

const char *guarantee_id(enum guarantee g)
{
	return guarantees[g].id;
}

const char *guarantee_promise(enum guarantee g)
{
	return guarantees[g].promise;
}

bool guarantee_from_id(const char *id, enum guarantee *out)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if (strcmp(id, guarantees[g].id) == 0) {
			*out = (enum guarantee)g;
			return true;
		}
	}
	return false;
}

const char *tier_name(enum tier t)
{
	return tiers[t];
}

bool tier_from_name(const char *name, enum tier *out)
{
	for (int t = 0; t < TIER_COUNT; t++) {
		if (strcmp(name, tiers[t]) == 0) {
			*out = (enum tier)t;
			return true;
		}
	}
	return false;
}

guarantee_set tier_requires(enum tier t)
{
	guarantee_set set = 0;

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if (guarantees[g].tiers & (1u << (unsigned int)t))
			set |= GUARANTEE_BIT(g);
	}
	return set;
}

guarantee_set tier_accepts_partial(void)
{
	return GUARANTEE_BIT(G_RESOURCES) | GUARANTEE_BIT(G_TREE);
}
