/* One workload's confinement in the making.  It lives in the launcher; init and the workload's process get their copy
 * by fork.  Three processes share it:
 *
 *   launcher   outside; makes what needs its rights (uid, cgroup, mounts of granted paths), observes, opens the gate
 *     init     first process inside (pid 1 where there is a pid namespace); builds the view, reaps, forwards signals
 *       workload   confines itself further, shows that it is confined, waits at the gate, execs
 *
 * Descriptors in here are owned by the launcher and closed by confinement_done(); the others lose theirs by
 * close_range or exec. */
#ifndef BULKHEAD_ISOLATION_CONFINEMENT_H
#define BULKHEAD_ISOLATION_CONFINEMENT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "isolation/boundary.h"
#include "isolation/cgroup.h"
#include "isolation/evidence.h"
#include "isolation/workspace.h"
#include "util/error.h"

/* The workload sees itself as this user wherever there is a user namespace. */
#define INNER_UID 1000
#define INNER_GID 1000
#define INNER_HOME "/home/user"
#define INNER_WORKSPACE "/work"
#define INSIDE_MAX 512
#define NAMESPACES 7 /* kinds that we know: control_namespaces.c */

/* A granted path, resolved once by the launcher with the caller's rights. */
struct resolved_grant {
	const struct grant *grant;
	int fd;	     /* O_PATH on the object itself */
	int tree_fd; /* detached clone of its mount, where the launcher may make one; else -1 and init makes it */
	bool is_dir;
	dev_t dev;
	ino_t ino;
	uid_t owner; /* on the host, for the idmapped mount */
	gid_t group;
	/* where it appears: as asked and, where a link was followed, as resolved ("" if the same) */
	char inside[2][INSIDE_MAX];
};

/* What the workload's standard descriptors are. */
#define STDIO_CALLER (-1)
#define STDIO_TERMINAL (-2) /* the terminal that init makes */
struct stdio_plan {
	int fd[3];     /* handed to the workload as 0, 1, 2; STDIO_CALLER or STDIO_TERMINAL */
	bool terminal; /* a pseudo-terminal of the workload's own; init makes it and sends its master */
	unsigned short rows, columns;
};

struct confinement {
	const struct boundary *boundary;
	struct evidence *evidence; /* the launcher's */
	mechanism_set use;	   /* mechanisms that this attempt applies */

	bool privileged; /* effective CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID in the launcher's user namespace */
	uid_t host_uid;	 /* the workload's ids as the host sees them */
	gid_t host_gid;
	uid_t inner_uid; /* and as it sees them itself */
	gid_t inner_gid;
	int uid_lock_fd; /* holds the claim on host_uid; -1 where the uid is the caller's */

	struct cgroup cgroup;
	struct workspace workspace;		    /* on disk, where there is no private root */
	const char *workdir;			    /* where on-disk workspaces are made; NULL for the default */
	size_t grant_count;			    /* of grants, below */
	unsigned int gpu_minors[BOUNDARY_GPUS_MAX]; /* /dev/nvidiaN of each --gpu */
	dev_t rootfs_dev;			    /* of --rootfs, as the launcher saw it */
	ino_t rootfs_ino;
	struct stdio_plan stdio;
	char **envp;	      /* written for the workload; see environment.c */
	char cwd[INSIDE_MAX]; /* where the workload starts */

	rlim_t caller_nofile; /* the soft limit that the workload gets back, unless it has one of its own */
	sigset_t caller_mask; /* what the workload gets back, where the launcher has blocked signals for itself */
	bool caller_mask_set;

	/* our own namespaces, of which the workload's must differ; ino is 0 where they could not be read */
	struct {
		dev_t dev;
		ino_t ino;
	} ours[NAMESPACES];

	pid_t janitor_pid; /* our only other child, or 0 */

	int init_fd; /* init's and the workload's end of the control socket */
	int gate_fd; /* the workload reads its start from here */
	int peer_fd; /* inside: init's or the workload's end of what they say to each other */

	/* made inside */
	bool wish_failed; /* what failed is what the caller asked for, not what the host lacks */
	int proc_masked;  /* errno of the /proc mount; 0: it is there */
	bool outer_domain; /* init's own Landlock domain, where there is no pid namespace: its signals end at what it started */
	int ruleset_fd;	  /* the workload's */
	int landlock_abi; /* in effect; 0: none */

	struct resolved_grant grants[BOUNDARY_GRANTS_MAX]; /* last: 70 KiB that a start without grants does not touch */
};

static inline bool uses(const struct confinement *c, enum mechanism m)
{
	return (c->use & MECH_BIT(m)) != 0;
}

#endif
