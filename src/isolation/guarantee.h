/* The promises of Bulkhead: their ids, their wording, and which tier requires which.  Plain data. */
#ifndef BULKHEAD_ISOLATION_GUARANTEE_H
#define BULKHEAD_ISOLATION_GUARANTEE_H

#include <stdbool.h>
#include <stdint.h>

enum guarantee {
	G_MEMORY,	 /* no workload reads or writes another's memory, or ours */
	G_ENVIRON,	 /* nor another's environment or descriptors through /proc */
	G_FILES,	 /* nor another's workspace, nor host files that were not granted */
	G_CONTROL_PLANE, /* it cannot replace, remove or connect to our sockets and state */
	G_SIGNALS,	 /* it cannot signal anything outside itself */
	G_TREE,		 /* when it ends, everything it started is dead before anyone hears the answer */
	G_NETWORK,	 /* no network unless granted */
	G_SYSCALLS,	 /* only a stated set of system calls */
	G_PRIVILEGE,	 /* it gains no right it was not started with */
	G_RESOURCES,	 /* memory, processes, CPU, disk and output stay under the stated limits */
	G_ENVIRONMENT,	 /* it sees only the environment written for it */
	G_DESCRIPTORS,	 /* it inherits only the descriptors passed to it */
	G_TERMINAL,	 /* it cannot push input into the caller's terminal */
	G_DEVICES,	 /* only the device nodes granted */
	G_RESIDUE,	 /* nothing on disk carries from one workload to the next */
	G_KERNEL,	 /* a bug in the host kernel's system-call surface is not enough to get out */
	GUARANTEE_COUNT
};

enum tier { TIER_PROCESS, TIER_SANDBOX, TIER_VM, TIER_COUNT };

typedef uint32_t guarantee_set; /* bit 1u << enum guarantee */
#define GUARANTEE_BIT(g) (1u << (unsigned int)(g))

const char *guarantee_id(enum guarantee g);	 /* "control-plane" */
const char *guarantee_promise(enum guarantee g); /* one sentence, no full stop */
/* True and *out set when the id is known. */
bool guarantee_from_id(const char *id, enum guarantee *out);

const char *tier_name(enum tier t);
bool tier_from_name(const char *name, enum tier *out);
guarantee_set tier_requires(enum tier t);

/* The guarantees for which `run` accepts a partial mechanism (design section 2): resources and tree. */
guarantee_set tier_accepts_partial(void);

#endif
