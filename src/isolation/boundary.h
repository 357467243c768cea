/* A boundary: what one workload may see, use and do.  Plain, printable data; nothing in here is opened, and nothing is
 * weakened by leaving it out: an empty boundary grants nothing.
 *
 * Strings are borrowed from argv, from the policy file's document or from the environment, and outlive the boundary,
 * except those that boundary_own() keeps.  All of it is released by boundary_done(). */
#ifndef BULKHEAD_ISOLATION_BOUNDARY_H
#define BULKHEAD_ISOLATION_BOUNDARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolation/guarantee.h"
#include "util/error.h"

/* Bounds on what a caller can multiply; generous for a person, small enough that a boundary stays a few KiB. */
#define BOUNDARY_GRANTS_MAX 64 /* --ro, --rw, --in, --out: each may cost two mounts */
#define BOUNDARY_ENV_MAX 256   /* --env and --secret */
#define BOUNDARY_GPUS_MAX 16
#define BOUNDARY_WAIVERS_MAX GUARANTEE_COUNT

#define LIMIT_NONE UINT64_MAX /* the limit is not asked for ("none" on the command line) */

enum grant_kind {
	GRANT_RO,  /* a file or directory, read-only, at the same path inside */
	GRANT_RW,  /* the same, writable */
	GRANT_IN,  /* a file, read-only, in the workspace under its last name */
	GRANT_OUT, /* a directory, writable, in the workspace as "out" */
	GRANT_KIND_COUNT
};
const char *grant_kind_name(enum grant_kind k);

struct grant {
	enum grant_kind kind;
	const char *path; /* as the caller wrote it */
};

enum secret_source { SECRET_NONE, SECRET_ENV, SECRET_FILE, SECRET_FD };

struct environment_entry {
	const char *name;
	const char *value;	   /* NULL: take the caller's value of that name */
	enum secret_source source; /* SECRET_NONE for plain entries; else `from` says where the value is */
	const char *from;
};

enum net_grant { NET_NONE, NET_HOST, NET_GRANT_COUNT };
const char *net_grant_name(enum net_grant n);

struct waiver {
	enum guarantee guarantee;
	const char *by;	    /* NULL for a waiver on the command line: the person at the terminal */
	const char *date;   /* YYYY-MM-DD, NULL on the command line */
	const char *reason; /* NULL on the command line */
};

/* Mechanisms that this run behaves as if the host did not have; for tests and for `prove`.  It can only make a
 * guarantee harder to hold: what is then not held is refused as on a host that lacks the mechanism. */
enum mechanism {
	MECH_USERNS,
	MECH_PIDNS,
	MECH_MOUNTNS,
	MECH_NETNS,
	MECH_IPCNS,
	MECH_UTSNS,
	MECH_CGROUPNS,
	MECH_LANDLOCK,
	MECH_LANDLOCK_SCOPE, /* signals and abstract sockets, ABI 6 */
	MECH_SECCOMP,
	MECH_CAPS,
	MECH_NNP,
	MECH_OWN_UID,
	MECH_CGROUP,	  /* limits by cgroup */
	MECH_CGROUP_KILL, /* the v2 kill file */
	MECH_RLIMITS,
	MECH_SUBREAPER,
	MECH_SESSION,
	MECH_ENVIRONMENT,
	MECH_DESCRIPTORS,
	MECH_WORKSPACE,
	MECH_COUNT
};
const char *mechanism_name(enum mechanism m);
bool mechanism_from_name(const char *name, enum mechanism *out);
typedef uint32_t mechanism_set;
#define MECH_BIT(m) (1u << (unsigned int)(m))

struct limits {
	uint64_t memory_bytes; /* resident memory of the whole tree */
	uint64_t cpu_milli;    /* CPUs x 1000: 1.5 CPUs = 1500 */
	uint64_t pids;	       /* processes and threads of the whole tree */
	uint64_t disk_bytes;   /* every writable place that is ours: workspace, /tmp, /home/user, /dev/shm together */
	uint64_t output_bytes; /* stdout and stderr together */
	uint64_t timeout_ms;   /* wall clock */
	uint64_t grace_ms;     /* between SIGTERM and SIGKILL once the time is up */
	uint64_t cpu_time_ms;  /* CPU time summed over the tree */
	uint64_t open_files;   /* descriptors per process */
};

struct boundary {
	enum tier tier;
	const char *tenant; /* NULL: the caller's own work */
	const char *rootfs; /* NULL: the host's /usr read-only under a synthetic root */
	enum net_grant net;
	bool strict;	      /* accept no partial mechanism */
	bool die_with_parent; /* end the workload when the process that called us ends */

	struct grant grants[BOUNDARY_GRANTS_MAX];
	size_t grant_count;
	struct environment_entry env[BOUNDARY_ENV_MAX];
	size_t env_count;
	const char *gpus[BOUNDARY_GPUS_MAX];
	size_t gpu_count;
	struct waiver waivers[BOUNDARY_WAIVERS_MAX];
	size_t waiver_count;
	mechanism_set without;

	struct limits limits;

	char *const *argv; /* NULL-terminated command */

	void **owned; /* blocks kept for the boundary's life */
	size_t owned_count;
};

/* Tier sandbox, no grants, no network; limits: memory 2 GiB, 512 processes, 1 GiB disk, 4096 open files, grace 10 s,
 * the rest none. */
void boundary_init(struct boundary *b);
void boundary_done(struct boundary *b);

/* Give a heap block to the boundary: it is freed by boundary_done().  Returns -ENOMEM (and frees it) on failure. */
int boundary_own(struct boundary *b, void *take_block, struct error *err);

bool boundary_waives(const struct boundary *b, enum guarantee g);

/* Each takes the text of one option or of one policy value and adds it to the boundary.  On failure *err says what is
 * wrong with the text, in one line, naming neither option nor file (the caller does), and the boundary is unchanged.
 * They serve the command line and the policy file alike, so that the two can never read a value differently. */
int boundary_set_tier(struct boundary *b, const char *text, struct error *err);
int boundary_set_tenant(struct boundary *b, const char *text, struct error *err); /* [a-z0-9][a-z0-9-]{0,62} */
int boundary_set_rootfs(struct boundary *b, const char *text, struct error *err);
int boundary_set_net(struct boundary *b, const char *text, struct error *err);
int boundary_add_grant(struct boundary *b, enum grant_kind kind, const char *text, struct error *err);
int boundary_add_env(struct boundary *b, const char *text, struct error *err);	   /* K=V or K */
int boundary_add_secret(struct boundary *b, const char *text, struct error *err);  /* NAME=env:VAR|file:PATH|fd:N */
int boundary_add_gpu(struct boundary *b, const char *text, struct error *err);	   /* N or GPU-uuid */
int boundary_add_waiver(struct boundary *b, const char *text, struct error *err);  /* guarantee id */
int boundary_add_without(struct boundary *b, const char *text, struct error *err); /* mechanism name */
int boundary_set_memory(struct boundary *b, const char *text, struct error *err);
int boundary_set_cpus(struct boundary *b, const char *text, struct error *err);
int boundary_set_pids(struct boundary *b, const char *text, struct error *err);
int boundary_set_disk(struct boundary *b, const char *text, struct error *err);
int boundary_set_output_limit(struct boundary *b, const char *text, struct error *err);
int boundary_set_timeout(struct boundary *b, const char *text, struct error *err);
int boundary_set_grace(struct boundary *b, const char *text, struct error *err);
int boundary_set_cpu_time(struct boundary *b, const char *text, struct error *err);
int boundary_set_open_files(struct boundary *b, const char *text, struct error *err);

#endif
