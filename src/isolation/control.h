/* Controls: what applies a mechanism, and what observes it from outside.  Each control_*.c holds both sides of its
 * mechanisms; apply.c, init.c and workload.c call them in the order that plan.c explains.
 *
 * An apply function returns 0 or a negative errno with *err set, and may be called between fork and execve (no heap, no
 * locks).  An observe function runs in the launcher while the workload waits at the gate, believes only what the kernel
 * shows of the process (or the errno that a forbidden act gave), and always sets the finding. */
#ifndef BULKHEAD_ISOLATION_CONTROL_H
#define BULKHEAD_ISOLATION_CONTROL_H

#include "isolation/confinement.h"
#include "isolation/message.h"

/* What the launcher can see of the waiting workload. */
struct observation {
	const struct confinement *c;
	pid_t pid;	    /* in the launcher's pid namespace, from the kernel (SCM_CREDENTIALS) */
	int proc_fd;	    /* /proc/<pid> */
	char status[8192];  /* /proc/<pid>/status */
	struct shown shown; /* what the forbidden acts gave */
	bool in_groups;	    /* /proc/<pid>/cgroup names all of our groups */
	char groups[160];   /* how that was seen, or why not */
};

/* The value of "Key:\t" in the status text, NULL if absent; ends at the newline. */
const char *observation_status(const struct observation *o, const char *key);

struct control {
	enum mechanism id;
	bool early; /* what it observes is final once the workload's process has said MSG_SEPARATED */
	void (*observe)(const struct observation *o, struct finding *out);
};
extern const struct control control_table[MECH_COUNT];

/* control_namespaces.c: user, pid, mount, net, ipc, uts, cgroup */
uint64_t namespaces_clone_flags(const struct confinement *c);
int namespaces_write_maps(const struct confinement *c, pid_t pid, struct error *err); /* launcher */
int namespaces_make_network(struct confinement *c, struct error *err);		      /* workload */
int namespaces_join_network(pid_t workload, struct error *err);			      /* init: the one just made */
int namespaces_enter_cgroup(struct confinement *c, struct error *err);		      /* workload */
int namespaces_lower_counts(struct confinement *c, struct error *err);		      /* init */
int namespaces_set_hostname(struct confinement *c, struct error *err);		      /* init */
bool namespaces_switched_off(enum mechanism m);					      /* by its sysctl, user.max_* */
void namespaces_note_ours(struct confinement *c);				      /* launcher, at any time */
void namespaces_observe(const struct observation *o, enum mechanism m, struct finding *out);

/* control_creds.c: a host uid of its own, and becoming it.  The range is above those that distributions, subuid(5) and
 * systemd hand out (systemd's UIDS-GIDS.md calls it unused), and below 2^31, which some programs still take for
 * negative. */
#define UID_RANGE_FIRST 1879048192u
#define UID_RANGE_SIZE 65536u
int creds_claim(struct confinement *c, struct error *err);  /* launcher */
int creds_become(struct confinement *c, struct error *err); /* init and workload */
void creds_observe(const struct observation *o, struct finding *out);

/* control_mounts.c, control_mounts_view.c: the private root */
int mounts_apply(struct confinement *c, struct error *err);	  /* init */
int mounts_detach_host(struct confinement *c, struct error *err); /* init: after it, before it gives up its rights */
void mounts_observe(const struct observation *o, struct finding *out);

/* control_landlock.c */
#define LANDLOCK_ABI_KNOWN 7					    /* the newest that we use */
int landlock_abi_of_host(void);					    /* 0: none */
int landlock_enter_outer(struct confinement *c, struct error *err); /* init, no pid namespace: before the fork */
int landlock_prepare(struct confinement *c, struct error *err);	    /* init: after the mounts */
int landlock_enter(struct confinement *c, struct error *err);	    /* workload */
void landlock_show(const struct confinement *c, struct shown *out); /* workload */
void landlock_observe(const struct observation *o, struct finding *out);
void landlock_scope_observe(const struct observation *o, struct finding *out);

/* control_privilege.c: no_new_privs and capabilities */
int nnp_apply(struct confinement *c, struct error *err);
int caps_bound(struct confinement *c, struct error *err); /* init, before the fork */
int caps_apply(struct confinement *c, struct error *err); /* init and workload */
void nnp_observe(const struct observation *o, struct finding *out);
void caps_observe(const struct observation *o, struct finding *out);

/* control_seccomp.c */
int seccomp_apply(struct confinement *c, struct error *err);	  /* workload */
int seccomp_apply_init(struct confinement *c, struct error *err); /* init: a narrower one */
void seccomp_show(struct shown *out);
void seccomp_observe(const struct observation *o, struct finding *out);

/* control_rlimits.c */
int rlimits_apply(struct confinement *c, struct error *err);
bool rlimits_bound_files(const struct confinement *c);
int rlimits_apply_files(const struct confinement *c, struct error *err); /* workload */
void rlimits_observe(const struct observation *o, struct finding *out);

/* control_stdio.c: session, terminal, standard descriptors, everything else closed */
int session_apply(struct confinement *c, struct error *err);	  /* init */
int terminal_apply(struct confinement *c, struct error *err);	  /* init, once /dev is there */
int stdio_apply(const struct confinement *c, struct error *err);  /* workload */
int descriptors_apply(int keep_a, int keep_b, struct error *err); /* workload: all above 2 but these */
void session_observe(const struct observation *o, struct finding *out);
void descriptors_observe(const struct observation *o, struct finding *out);

/* control_cgroup.c */
void cgroup_observe(const struct observation *o, struct finding *out);
void cgroup_kill_observe(const struct observation *o, struct finding *out);

/* environment.c: exactly what is written for the workload */
int environment_make(struct confinement *c, struct error *err); /* launcher: fills c->envp */
void environment_wipe(struct confinement *c);			/* secrets are overwritten, then freed */
void environment_observe(const struct observation *o, struct finding *out);

/* control_workspace.c: the directory on disk, where there is no private root */
int workspace_prepare(struct confinement *c, struct error *err);      /* launcher */
int workspace_make_planned(struct confinement *c, struct error *err); /* launcher */
void workspace_observe(const struct observation *o, struct finding *out);
void subreaper_observe(const struct observation *o, struct finding *out);

#endif
