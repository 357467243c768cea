/* How a run ended.  Plain data. */
#ifndef BULKHEAD_LAUNCH_OUTCOME_H
#define BULKHEAD_LAUNCH_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum outcome_kind {
	OUTCOME_EXITED,	     /* by itself; see exit_code */
	OUTCOME_SIGNALED,    /* killed by a signal that was not ours */
	OUTCOME_TIMED_OUT,   /* --timeout */
	OUTCOME_CPU_TIME,    /* --cpu-time */
	OUTCOME_MEMORY,	     /* --memory: its main process was killed by the limit */
	OUTCOME_PIDS,	     /* --pids, where only sampling holds it */
	OUTCOME_OUTPUT,	     /* --output-limit */
	OUTCOME_NOT_STARTED, /* the command could not be executed: 126 or 127 */
	OUTCOME_REFUSED,     /* a required guarantee cannot be held, or policy says no: nothing was started */
	OUTCOME_FAILED,	     /* the host failed us: nothing is claimed about the workload */
	OUTCOME_COUNT
};
const char *outcome_name(enum outcome_kind k);

/* Limits that were met, whatever the outcome: bits. */
enum {
	LIMIT_HIT_TIMEOUT = 1u << 0,
	LIMIT_HIT_CPU_TIME = 1u << 1,
	LIMIT_HIT_MEMORY = 1u << 2,
	LIMIT_HIT_PIDS = 1u << 3,
	LIMIT_HIT_DISK = 1u << 4,
	LIMIT_HIT_OUTPUT = 1u << 5,
};
#define LIMIT_HIT_COUNT 6
const char *limit_hit_name(unsigned int index);

#define UNKNOWN UINT64_MAX /* a number that this host or this run cannot tell */

struct outcome {
	enum outcome_kind kind;
	int exit_code; /* of the command, -1 where it has none */
	int signal;    /* that ended the command, 0 for none */
	unsigned int limits_hit;
	struct error error; /* refused, failed, not started: why */

	uint64_t wall_us, user_us, system_us;
	uint64_t memory_peak_bytes;	 /* of the group: page cache included */
	uint64_t memory_anon_peak_bytes; /* anonymous memory, sampled */
	uint64_t max_rss_bytes;		 /* the largest single process */
	uint64_t oom_kills, pids_refused;
	uint64_t disk_used_bytes; /* of the scratch space, at the end or when last looked at, whichever is more */
	uint64_t stdout_bytes,
		stderr_bytes; /* that the command wrote; UNKNOWN where they went straight to the caller */
	bool output_truncated;

	/* Phases, one after another; together they are the wall time. */
	uint64_t prepare_us, confine_us, observe_us, run_us, teardown_us;
};

/* A failure about which nothing is known yet. */
void outcome_init(struct outcome *o);

/* The exit status of `bulkhead run` for it (design section 3). */
int outcome_status(const struct outcome *o);

#endif
