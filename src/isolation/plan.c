/* The order in which a sandbox is built, and why it is this one.  The code that follows it is apply.c, init.c and
 * workload.c.  Each process walks its own column; what it must wait for is said.
 *
 *  launcher   1. own uid       claimed before anything can run as it
 *             2. grants        opened with the caller's rights, once; later steps use the descriptors
 *             3. names         of the workspace and the groups; the janitor learns them before anything is made
 *             4. v2 group      made before the first process exists, and limited where v2 holds limits
 *             5. clone         all namespaces but two, and into the v2 group
 *             6. id maps       written from outside; init waits for them, since without ids it can make no file
 *             7. v1 groups     made and limited while the two below work; the workload's process gets each to join
 *
 *  init       8. session       a session of its own: the caller's terminal is out of reach from here on
 *             9. no_new_privs, bounding set, outer Landlock domain (*): what both processes shall have
 *            10. fork          the workload's process, early, because the next steps of the two do not need each other (but
 *                              after 12 where it gets a terminal, which a process has from its parent or not at all)
 *            11. ids           become the workload's user, keeping capabilities over its own namespaces only
 *            12. mounts        the private root; pivot_root.  The host's tree now lies over it
 *            13. Landlock      the workload's ruleset is built while the directories can still be opened
 *            14. view          is told to the workload's process, with the ruleset
 *            15. network       joins the workload's network namespace (waits for 21)
 *            16. host's tree   detached.  From here no path leads to the host
 *            17. capabilities  emptied; nothing below needs one
 *            18. seccomp       a filter of its own, which grants what init does and nothing else
 *            19. confined      is told to the launcher
 *
 *  workload  20. network       a network namespace: as dear as all the others together, hence beside init's work
 *            21. groups        joins the v1 groups by itself (waits for 7), then the cgroup namespace, rooted there
 *            22. rlimits, ids  as in 11
 *            23. capabilities, seccomp   the latter forbids most of the above
 *            24. view          waits for 14
 *            25. process group, standard descriptors, close_range: only what was passed is left
 *            26. Landlock      enters the domain; its scope keeps it from tracing and signalling init
 *            27. show          one forbidden act each for Landlock and seccomp; the errno goes to the launcher
 *            28. gate          waits
 *
 *  launcher  29. observe       reads /proc/<workload> while it waits; the mounts only once init is confined (19)
 *            30. gate          opened when every required guarantee was seen to be held
 *  workload  31. execve
 *
 * (*) Where a host grants no namespaces, steps 5 to 7, 11, 12, 15, 16 and 20 fall away, Landlock carries files, memory and
 * signals, and init enters an outer Landlock domain before the fork: kill(-1) from it then reaches exactly the workload's
 * processes. */
#include "isolation/plan.h"

#define M(x) MECH_BIT(MECH_##x)

static const struct alternative alternatives[] = {
	/* The filter refuses System V segments wherever there is no ipc namespace (control_seccomp.c). */
	{ G_MEMORY, M(OWN_UID) | M(PIDNS) | M(IPCNS), "own host uid, pid and ipc namespace", NULL },
	{ G_MEMORY, M(OWN_UID) | M(PIDNS) | M(SECCOMP), "own host uid and pid namespace; seccomp", NULL },
	{ G_MEMORY, M(LANDLOCK) | M(IPCNS), "Landlock domain (its ptrace rule); ipc namespace", NULL },
	{ G_MEMORY, M(LANDLOCK) | M(SECCOMP), "Landlock domain (its ptrace rule); seccomp", NULL },
	{ G_MEMORY, M(PIDNS) | M(MOUNTNS) | M(SECCOMP), "pid namespace with its own /proc; seccomp", NULL },

	{ G_ENVIRON, M(PIDNS) | M(MOUNTNS), "pid namespace with its own /proc", NULL },
	{ G_ENVIRON, M(LANDLOCK), "Landlock domain", NULL },
	{ G_ENVIRON, M(OWN_UID), "own host uid", NULL },

	{ G_FILES, M(MOUNTNS), "mount namespace with pivot_root", NULL },
	{ G_FILES, M(LANDLOCK), "Landlock", NULL },

	{ G_CONTROL_PLANE, M(MOUNTNS) | M(NETNS), "mount and network namespace: no socket of ours is in view", NULL },
	/* the filter's doing wherever one of the two is missing; with --net host the host's abstract sockets are granted */
	{ G_CONTROL_PLANE, M(MOUNTNS) | M(SECCOMP), "mount namespace: no socket of ours is in view; seccomp", NULL },
	{ G_CONTROL_PLANE, M(LANDLOCK) | M(SECCOMP), "Landlock; seccomp on AF_UNIX", NULL },

	{ G_SIGNALS, M(PIDNS), "pid namespace", NULL },
	{ G_SIGNALS, M(LANDLOCK_SCOPE), "Landlock signal scope", NULL },
	{ G_SIGNALS, M(OWN_UID), "own host uid", NULL },

	/* who can write to the host's groups can leave its own, so the group alone is enough only where none is in reach */
	{ G_TREE, M(CGROUP_KILL) | M(MOUNTNS), "cgroup.kill", NULL },
	{ G_TREE, M(CGROUP_KILL) | M(LANDLOCK), "cgroup.kill", NULL },
	{ G_TREE, M(PIDNS), "pid namespace", NULL },
	{ G_TREE, M(LANDLOCK_SCOPE) | M(SUBREAPER), "scoped kill(-1) from the workload's supervisor", NULL },
	{ G_TREE, M(CGROUP_KILL), "cgroup.kill",
	  "a workload with rights over the host's control groups can leave its own" },
	{ G_TREE, M(SUBREAPER), "subreaper sweep",
	  "processes that fork faster than the sweep reads /proc can outlive it" },

	{ G_NETWORK, M(NETNS) | M(SECCOMP), "network namespace", NULL },
	{ G_NETWORK, M(SECCOMP), "seccomp on socket families", NULL },
	{ G_NETWORK, M(NETNS), "network namespace", "AF_VSOCK is in no namespace" },

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
