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
	int proc_fd;	    /* its directory in /proc, or -1 */
	int init_status_fd; /* init's /proc/<pid>/status, or -1 */
	bool ready;	    /* it is at the gate */
	bool confined;	    /* init has given up its own rights */
	int control_fd;	    /* messages from init (and, until execve, the workload) */
	int gate_fd;	    /* our end: v1 groups to join, then the word to start */
	int scratch_fd;	    /* O_PATH on the private root's scratch space, for fstatfs(2), or -1 */
	int terminal_fd;    /* master of the workload's terminal, or -1 */
	struct shown shown;
	enum mechanism failed; /* after a failed start: whose step, or MECH_COUNT */
};
#define STARTED_INIT                                                                                    \
	{                                                                                               \
		.init_pidfd = -1, .proc_fd = -1, .init_status_fd = -1, .control_fd = -1, .gate_fd = -1, \
		.terminal_fd = -1, .scratch_fd = -1, .failed = MECH_COUNT                               \
	}

/* b and e outlive c.  Finds out what we may do (privileged or not). */
void confinement_init(struct confinement *c, const struct boundary *b, struct evidence *e, const char *workdir);

/* Claim the uid, resolve the grants, plan cgroup and workspace, write the environment, for the mechanisms in c->use.
 * Nothing is made yet that would outlast us: whoever is to clean up after us can be told of it before it exists.  On failure *out_step says whose step it was, MECH_COUNT for the caller's own mistake (a path that is not there). */
int confinement_prepare(struct confinement *c, enum mechanism *out_step, struct error *err);

/* Make what was planned, start init and wait until the workload is at the gate. */
int confinement_start(struct confinement *c, struct started *s, struct error *err);

/* Fill the findings of every mechanism in use from what the kernel shows, wait until init too is confined, and judge.
 * Returns the number of refused guarantees, or a negative errno: the workload cannot be looked at, init failed, or what was
 * applied is not seen to be in force. */
int confinement_observe(struct confinement *c, struct started *s, struct error *err);

/* Open the gate: the workload execs. */
int confinement_release(struct started *s, struct error *err);

void confinement_abort(struct confinement *c, struct started *s);
void confinement_done(struct confinement *c);

/* init.c: the body of the first process inside; never returns.  mask is the signal mask that the workload gets. */
_Noreturn void init_main(struct confinement *c, const sigset_t *mask);
/* workload.c: the body of the workload's process; never returns. */
_Noreturn void workload_main(struct confinement *c, const sigset_t *mask);
/* Both: the steps whose mechanisms are in the plan, in their order.  Returns if all went well. */
struct step {
	enum mechanism mechanism;
	int (*apply)(struct confinement *c, struct error *err);
};
void steps_walk(struct confinement *c, const struct step *steps, size_t count);
/* Both: tell the launcher which step failed, and end. */
_Noreturn void setup_failed(const struct confinement *c, enum mechanism step, const struct error *err);

/* observe.c: fill the findings of the controls whose observation is final early (struct control), or of the others but the
 * mounts.  Returns 0 or a negative errno: the workload cannot be looked at. */
int observation_take(struct confinement *c, struct started *s, bool early, struct error *err);
/* And of the mounts and of init, not before init has detached the host's tree and confined itself. */
void observation_take_last(struct confinement *c, const struct started *s);

/* grants.c */
int grants_resolve(struct confinement *c, struct error *err);
int grants_link(struct confinement *c, struct error *err); /* into the workspace on disk, if there is one */
void grants_done(struct confinement *c);

#endif
