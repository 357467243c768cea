/* Control groups: v2, v1 and hybrid layouts behind one interface.
 *
 * A workload gets one fresh directory in each hierarchy that is used, named bulkhead-<owner>-<random>, below the group
 * that we live in (or, for root on v2, below /sys/fs/cgroup/bulkhead).  Limits are written and read back; a limit that
 * does not read back as written is an error.  Where and under which name is planned before anything is made, so that
 * somebody else can already know what there will be to remove.
 *
 * Joining: on v2 by clone3(CLONE_INTO_CGROUP), on v1 by writing "0" to the `tasks` file from the (single-threaded) child
 * itself.  Neither takes the kernel's threadgroup rwsem as writer, which on a quiet machine costs an RCU grace period
 * (7 to 11 ms); writing a pid to cgroup.procs does.  See docs/adr. */
#ifndef BULKHEAD_ISOLATION_CGROUP_H
#define BULKHEAD_ISOLATION_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isolation/boundary.h"
#include "util/error.h"

enum cgroup_controller { CG_MEMORY, CG_PIDS, CG_CPU, CG_CPUACCT, CG_CONTROLLER_COUNT };

/* Where groups could be made on this host; found once, no group is made by looking. */
struct cgroup_host {
	char v2_mount[256];			 /* "" where there is no v2 hierarchy */
	char v2_own[512];			 /* our group below it, "/" for the root */
	bool v2_controller[CG_CONTROLLER_COUNT]; /* offered by the v2 hierarchy (cgroup.controllers of our group) */
	char v1_mount[CG_CONTROLLER_COUNT][256]; /* "" where the controller is not on v1 */
	char v1_own[CG_CONTROLLER_COUNT][512];
	bool v2_read_only, v1_read_only[CG_CONTROLLER_COUNT]; /* as mounted */
};

struct cgroup_use {
	int parent_fd; /* directory in which ours was made */
	int fd;	       /* our group */
	int tasks_fd;  /* v1: for the child's "0" */
};

struct cgroup {
	char name[96];
	unsigned int wanted, v2_need; /* controllers, as bits: with a limit, and of those on v2 */
	struct cgroup_use v2;
	struct cgroup_use v1[CG_CONTROLLER_COUNT];
	signed char v1_at[CG_CONTROLLER_COUNT]; /* which of v1[] carries it (cpu,cpuacct are often one), or -1 */
	bool v2_limits[CG_CONTROLLER_COUNT];	/* the limit lives in the v2 group */
	int kill_fd;				/* cgroup.kill, opened early: killing must not want a descriptor */
	bool kill;				/* the v2 group has cgroup.kill */
	bool limits;				/* every limit that was asked for is held by a group */
};

/* Counters at a moment; UINT64_MAX where the host does not tell. */
struct cgroup_usage {
	uint64_t cpu_us, user_us, system_us;
	uint64_t memory_now, memory_peak, anon_now;
	uint64_t oom_kills;    /* processes killed by the group's limit */
	uint64_t pids_refused; /* forks that pids.max refused */
	uint64_t pids_now;
	uint64_t throttled_us;
};

void cgroup_init(struct cgroup *c);
int cgroup_host_find(struct cgroup_host *out, struct error *err);

/* The same guess that everybody's mounts allow, without reading mountinfo, whose length is the number of mounts: false
 * where a hierarchy that we are in is not below /sys/fs/cgroup under its own name, and in a cgroup namespace.  A guess, for a mount there may show a
 * part of the hierarchy only: what is made by it must be seen to hold the workload (cgroup_holds()). */
bool cgroup_host_usual(struct cgroup_host *out);

/* The pure part of it: the texts of /proc/self/mountinfo and /proc/self/cgroup. */
int cgroup_host_parse(struct cgroup_host *out, const char *mountinfo, const char *cgroup, struct error *err);

/* Choose the name and open the places where groups with the boundary's limits can be made; nothing is made yet but, on v2,
 * what hands controllers down.  -EOPNOTSUPP: this host offers no controller (or no right) for a limit that was asked for;
 * the text says what was looked at and why it would not do, and what remains planned (c->limits is false then) is a v2
 * group without limits, for its kill file.  On every other failure nothing is.
 *
 * On v2, in a delegated group that holds nobody but ourselves, the first call moves us into a leaf of it, because a
 * group with processes cannot hand out controllers.  That move costs 7 to 11 ms, once for the life of the group. */
int cgroup_plan(struct cgroup *c, const struct limits *l, struct error *err);

/* The same on a host that was looked at before (a resident process). */
int cgroup_plan_on(struct cgroup *c, const struct cgroup_host *h, const struct limits *l, struct error *err);

/* Make the planned v2 group, before the clone, and the v1 groups, which may come later; write the limits.  On failure
 * nothing of that kind is left.  A v2 group that holds no limit is no error where it cannot be had: c->kill says. */
int cgroup_make_v2(struct cgroup *c, const struct limits *l, struct error *err);
int cgroup_make_v1(struct cgroup *c, const struct limits *l, struct error *err);

/* How many v1 groups are planned: the child joins each. */
unsigned int cgroup_v1_count(const struct cgroup *c);

/* Plan and make.  -EOPNOTSUPP as of cgroup_plan(), with the group for its kill file made. */
int cgroup_make(struct cgroup *c, const struct limits *l, struct error *err);
int cgroup_make_on(struct cgroup *c, const struct cgroup_host *h, const struct limits *l, struct error *err);

/* Open what exists of a plan that another process has carried out. */
void cgroup_reopen(struct cgroup *c);

/* What a user on a systemd host can do about -EOPNOTSUPP. */
#define CGROUP_REMEDY_USER "systemd-run --user --scope -p Delegate=yes -- COMMAND"

/* In the child, v1 only: join by the group's `tasks`. */
int cgroup_join_tasks(int tasks_fd, struct error *err);

/* True when pid sits in our groups: reads /proc/<pid>/cgroup. */
bool cgroup_holds(const struct cgroup *c, pid_t pid, char *how, size_t size);

int cgroup_kill(const struct cgroup *c, struct error *err);
void cgroup_usage(const struct cgroup *c, struct cgroup_usage *out);
/* oom_kills and pids_refused alone: what a verdict needs. */
void cgroup_events(const struct cgroup *c, struct cgroup_usage *out);

/* Remove the v1 groups that are empty by now; cgroup_remove() takes the rest.  Counters cannot be read any more. */
void cgroup_remove_v1(const struct cgroup *c);

/* Remove the groups, waiting up to wait_ms for the last process to go.  Closes nothing; safe twice. */
int cgroup_remove(struct cgroup *c, unsigned int wait_ms, struct error *err);
void cgroup_done(struct cgroup *c); /* close descriptors */

/* Remove groups that dead launchers of our pid namespace left below the places that we would use, killing what still
 * runs in them.  Bounded in count and time; what it cannot decide or remove stays. */
void cgroup_sweep(void);

#endif
