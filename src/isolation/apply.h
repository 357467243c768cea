/* Walking the plan: from a boundary to a workload that waits at the gate, seen to be confined.
 *
 *	confinement_init();  confinement_prepare();  confinement_start();  confinement_observe();  confinement_release();
 *
 * Everything here runs in the launcher.  Whatever fails, confinement_abort() kills and reaps what was started, and
 * confinement_done() releases the rest; both are safe at any point and twice. */
#ifndef BULKHEAD_ISOLATION_APPLY_H
#define BULKHEAD_ISOLATION_APPLY_H

#include <signal.h>

#include "isolation/confinement.h"
#include "isolation/message.h"

/* How long a set-up may take before it counts as failed: a thousand times what it needs, so that only a hang meets it. */
#define SETUP_DEADLINE_MS 30000

struct started {
	pid_t init_pid;
	int init_pidfd;
	pid_t workload_pid; /* as we see it; valid while the workload waits at the gate */
	int control_fd;	    /* messages from init (and, until execve, the workload) */
	int gate_fd;	    /* our end */
	int scratch_fd;	    /* O_PATH on the private root's scratch space, for fstatfs(2), or -1 */
	int terminal_fd;    /* master of the workload's terminal, or -1 */
	struct shown shown;
	enum mechanism failed; /* after a failed start: whose step, or MECH_COUNT */
};
#define STARTED_INIT                                                                                    \
	{                                                                                               \
		.init_pidfd = -1, .control_fd = -1, .gate_fd = -1, .terminal_fd = -1, .scratch_fd = -1, \
		.failed = MECH_COUNT                                                                    \
	}

/* b and e outlive c.  Finds out what we may do (privileged or not). */
void confinement_init(struct confinement *c, const struct boundary *b, struct evidence *e, const char *workdir);

/* Claim the uid, resolve the grants, make cgroup and workspace, write the environment, for the mechanisms in c->use.
 * On failure *out_step says whose step it was, MECH_COUNT for the caller's own mistake (a path that is not there). */
int confinement_prepare(struct confinement *c, enum mechanism *out_step, struct error *err);

/* Start init and wait until the workload is at the gate. */
int confinement_start(struct confinement *c, struct started *s, struct error *err);

/* Fill the findings of every mechanism in use from what the kernel shows, and judge.  Returns the number of refused
 * guarantees, or a negative errno when the workload cannot be looked at. */
int confinement_observe(struct confinement *c, const struct started *s, struct error *err);

/* Open the gate: the workload execs. */
int confinement_release(struct started *s, struct error *err);

void confinement_abort(struct confinement *c, struct started *s);
void confinement_done(struct confinement *c);

/* init.c: the body of the first process inside; never returns.  mask is the signal mask that the workload gets. */
_Noreturn void init_main(struct confinement *c, const sigset_t *mask);
/* workload.c: the body of the workload's process; never returns. */
_Noreturn void workload_main(struct confinement *c, const sigset_t *mask);
/* Both: tell the launcher which step failed, and end. */
_Noreturn void setup_failed(const struct confinement *c, enum mechanism step, const struct error *err);

/* grants.c */
int grants_resolve(struct confinement *c, struct error *err);
void grants_done(struct confinement *c);

#endif
