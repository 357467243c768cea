/* The order in which a sandbox is built, and why it is this one.  The code that follows it is apply.c.
 *
 *  launcher   1. own uid       claimed before anything can run as it
 *             2. grants        opened with the caller's rights, once; later steps use the descriptors
 *             3. cgroup        made and limited before the first process exists, so that nothing ever runs outside it
 *             4. clone         all namespaces in one call: a later unshare would leave a moment in between
 *             5. id maps       written from outside; init waits for them, since without ids it can make no file
 *  init       6. cgroup (v1)   joins by itself, before it has forked anything
 *             7. session       a session of its own: the caller's terminal is out of reach from here on
 *             8. ids           become the workload's user, keeping capabilities over its own namespaces only
 *             9. mounts        the private root; pivot_root; the old root is detached.  From here no host path exists
 *            10. rlimits       after the mounts, which need descriptors; before anything foreign
 *            11. no_new_privs  needed for 12 and 14 by a caller without CAP_SYS_ADMIN (seccomp(2), landlock(7))
 *            12. Landlock      the ruleset is built while the directories can still be opened; only the workload enters
 *                              it, so that its scope keeps the workload from tracing and signalling init
 *            13. capabilities  emptied, the bounding set too; nothing below needs one
 *            14. seccomp       last in init, because it forbids most of the above; the workload inherits it
 *  workload  15. process group, standard descriptors, close_range: only what was passed is left
 *            16. Landlock      enter the domain
 *            17. show          one forbidden act each for Landlock and seccomp; the errno goes to the launcher
 *            18. gate          wait.  The launcher reads /proc/<pid> meanwhile and opens the gate only when every
 *                              required guarantee was seen to be held
 *            19. execve
 *
 * Where a host grants no namespaces, steps 4, 5, 8 and 9 fall away, Landlock carries files, memory and signals, and init
 * itself enters an outer Landlock domain first (12a): kill(-1) from it then reaches exactly the workload's processes. */
#include "isolation/plan.h"

#define M(x) MECH_BIT(MECH_##x)

static const struct alternative alternatives[] = {
	{ G_MEMORY, M(OWN_UID) | M(PIDNS), "own host uid and pid namespace", NULL },
	{ G_MEMORY, M(LANDLOCK), "Landlock domain (its ptrace rule)", NULL },
	{ G_MEMORY, M(PIDNS) | M(MOUNTNS) | M(SECCOMP), "pid namespace with its own /proc; seccomp", NULL },

	{ G_ENVIRON, M(PIDNS) | M(MOUNTNS), "pid namespace with its own /proc", NULL },
	{ G_ENVIRON, M(LANDLOCK), "Landlock domain", NULL },
	{ G_ENVIRON, M(OWN_UID), "own host uid", NULL },

	{ G_FILES, M(MOUNTNS), "mount namespace with pivot_root", NULL },
	{ G_FILES, M(LANDLOCK), "Landlock", NULL },

	{ G_CONTROL_PLANE, M(MOUNTNS), "mount namespace: no socket of ours is in view", NULL },
	{ G_CONTROL_PLANE, M(LANDLOCK) | M(SECCOMP), "Landlock; seccomp on AF_UNIX", NULL },

	{ G_SIGNALS, M(PIDNS), "pid namespace", NULL },
	{ G_SIGNALS, M(LANDLOCK_SCOPE), "Landlock signal scope", NULL },
	{ G_SIGNALS, M(OWN_UID), "own host uid", NULL },

	{ G_TREE, M(CGROUP_KILL), "cgroup.kill", NULL },
	{ G_TREE, M(PIDNS), "pid namespace", NULL },
	{ G_TREE, M(LANDLOCK_SCOPE) | M(SUBREAPER), "scoped kill(-1) from the workload's supervisor", NULL },
	{ G_TREE, M(SUBREAPER), "subreaper sweep",
	  "processes that fork faster than the sweep reads /proc can outlive it" },

	{ G_NETWORK, M(NETNS), "network namespace", NULL },
	{ G_NETWORK, M(SECCOMP), "seccomp on socket families", NULL },

	{ G_SYSCALLS, M(SECCOMP), "seccomp allowlist", NULL },

	{ G_PRIVILEGE, M(NNP) | M(CAPS), "no_new_privs, empty capability sets", NULL },

	{ G_RESOURCES, M(CGROUP) | M(MOUNTNS), "cgroup limits; scratch space of fixed size", NULL },
	{ G_RESOURCES, M(RLIMITS), "rlimits and sampling",
	  "memory and processes are read several times a second and can overshoot in between; --cpus is not held; "
	  "directories on disk are bounded per file only" },

	{ G_ENVIRONMENT, M(ENVIRONMENT), "explicit environment", NULL },
	{ G_DESCRIPTORS, M(DESCRIPTORS), "close_range and explicit dup", NULL },

	{ G_TERMINAL, M(SESSION) | M(SECCOMP), "own session; pipes or a terminal of its own; seccomp on TIOCSTI",
	  NULL },

	{ G_DEVICES, M(MOUNTNS), "private /dev", NULL },
	{ G_DEVICES, M(LANDLOCK), "Landlock: only the listed nodes may be opened, none made", NULL },

	{ G_RESIDUE, M(MOUNTNS), "scratch space in memory that dies with the mount namespace", NULL },
	{ G_RESIDUE, M(WORKSPACE), "fresh random directory, removed by descriptor", NULL },
};
#define ALTERNATIVES (sizeof(alternatives) / sizeof(alternatives[0]))

const struct alternative *plan_alternatives(enum guarantee g, size_t *out_count)
{
	size_t first = 0, count = 0;

	while (first < ALTERNATIVES && alternatives[first].guarantee != g)
		first++;
	while (first + count < ALTERNATIVES && alternatives[first + count].guarantee == g)
		count++;
	*out_count = count;
	return &alternatives[first < ALTERNATIVES ? first : 0];
}

mechanism_set plan_supported(mechanism_set set, bool privileged)
{
	mechanism_set namespaces = M(PIDNS) | M(MOUNTNS) | M(NETNS) | M(IPCNS) | M(UTSNS) | M(CGROUPNS);

	/* An unprivileged caller gets its other namespaces through the user namespace alone (user_namespaces(7)). */
	if (!privileged && !(set & M(USERNS)))
		set &= ~namespaces;
	if (!privileged)
		set &= ~M(OWN_UID);
	/* Private mounts without a pid namespace would show the host's processes in a /proc of ours, and a private
	 * /proc cannot be mounted for a pid namespace that is not our own (proc(5)). */
	if (!(set & M(PIDNS)))
		set &= ~M(MOUNTNS);
	/* A pid namespace without private mounts would leave the host's /proc in view, which shows foreign pids. */
	if (!(set & M(MOUNTNS)))
		set &= ~M(PIDNS);
	/* Without private mounts the private root cannot hold the view, and ids other than the caller's could not
	 * reach the caller's files. */
	if (!(set & M(MOUNTNS)))
		set &= ~(M(OWN_UID) | M(USERNS) | M(NETNS) | M(IPCNS) | M(UTSNS) | M(CGROUPNS));
	return set;
}
