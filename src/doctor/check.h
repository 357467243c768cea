/* Questions about the host that no trial answers: why something is missing, and what is worth knowing beside.  A check
 * reads; it changes nothing, starts nothing that outlives it, and decides nothing: whether a tier is available is the
 * trial's answer alone (cmd_doctor.c). */
#ifndef BULKHEAD_DOCTOR_CHECK_H
#define BULKHEAD_DOCTOR_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "isolation/evidence.h"

enum check_state {
	CHECK_OK,      /* nothing to do */
	CHECK_NOTE,    /* worth knowing; no tier depends on it */
	CHECK_MISSING, /* a mechanism is not there because of it */
	CHECK_STATE_COUNT
};
const char *check_state_name(enum check_state s);

struct check {
	const char *name;
	enum check_state state;
	char seen[400];	  /* what was read, and what it means */
	char remedy[400]; /* a command or a file; "" where there is nothing to do */
};

/* What a check may look at beside the host. */
struct check_context {
	const char *workdir;		/* never NULL */
	const struct evidence *sandbox; /* of the trial */
	bool privileged;		/* the launcher has the rights of confinement.h's `privileged` */
};

struct host_check {
	const char *name;
	void (*look)(const struct check_context *x, struct check *out);
};
extern const struct host_check host_checks[];
extern const size_t host_check_count;

/* For the checks: set the state and what was seen; set the remedy. */
void check_set(struct check *c, enum check_state state, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void check_remedy(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The whole of a file of /proc or /sys for the caller to free, or NULL with errno set. */
char *check_read(const char *path);
/* A number in a file; -1 when it is not there. */
long check_number(const char *path);

/* check_userns.c */
void check_user_namespaces(const struct check_context *x, struct check *out);
void check_apparmor(const struct check_context *x, struct check *out);
/* check_container.c */
void check_own_seccomp(const struct check_context *x, struct check *out);
void check_masked_proc(const struct check_context *x, struct check *out);
/* check_cgroup.c */
void check_cgroup(const struct check_context *x, struct check *out);
void check_dynmods(const struct check_context *x, struct check *out);
void check_swap(const struct check_context *x, struct check *out);
/* check_kernel.c */
void check_landlock(const struct check_context *x, struct check *out);
void check_yama(const struct check_context *x, struct check *out);
void check_tiocsti(const struct check_context *x, struct check *out);
void check_core(const struct check_context *x, struct check *out);
/* check_files.c */
void check_subuid(const struct check_context *x, struct check *out);
void check_workdir(const struct check_context *x, struct check *out);
void check_idmap(const struct check_context *x, struct check *out);
/* check_devices.c */
void check_kvm(const struct check_context *x, struct check *out);
void check_gpu(const struct check_context *x, struct check *out);

#endif
