/* Whole-tree kill: everything that a workload started, dead and reaped.
 *
 *   cgroup.kill        from outside, all at once (cgroups(7)); fork cannot outrun it
 *   pid namespace      the death of init is the death of all (pid_namespaces(7))
 *   scoped kill(-1)    from init inside its Landlock domain: one pass under the kernel's task-list lock
 *   subreaper sweep    kill what /proc shows below init until nothing is left; partial: a fork can outrun a reader
 *
 * In this order of preference; each can be switched off (--without) to test the next. */
#ifndef BULKHEAD_ISOLATION_TREE_H
#define BULKHEAD_ISOLATION_TREE_H

#include "isolation/apply.h"

/* In init: kill everything below and reap to the last child. */
void tree_kill_inside(const struct confinement *c);

/* In init: a signal to every process of the workload (its process group alone where nothing better is there). */
void tree_signal_inside(const struct confinement *c, pid_t workload, int sig);

/* In the launcher: kill everything, by the strongest means, or let init do it where its own death would free what has left
 * the group; does not wait.  Closes the control socket. */
void tree_kill(const struct confinement *c, struct started *s);

/* In the launcher: the group, where there is one that can be killed.  Part of the above, or, where init kills from inside, due
 * TREE_LATE_MS after it. */
#define TREE_LATE_MS 300
void tree_kill_group(const struct confinement *c);

/* In the launcher, a subreaper, once init is dead and where there was no pid namespace: what init could not kill, because it
 * was itself killed or stopped, is our child now.  All but c->janitor_pid; bounded by TREE_DEATH_MS. */
#define TREE_DEATH_MS 30000
void tree_sweep_adopted(const struct confinement *c);

/* Every descendant of `ancestor`, from /proc/<pid>/task/<tid>/children or, where the kernel has none, from the parents
 * that /proc/<pid>/stat names.  Calls `each` for at most `most` of them; returns how many. */
unsigned int tree_descendants(pid_t ancestor, unsigned int most, void (*each)(pid_t pid, void *arg), void *arg);

/* How many threads of the uid exist, by /proc; RLIMIT_NPROC counts the same (getrlimit(2)). */
unsigned long tree_threads_of_user(uid_t uid);

#endif
