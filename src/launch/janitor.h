/* The janitor: a process outside the workload and outside the launcher's session that cleans up when the launcher cannot,
 * because it was killed.  It knows by name, below directories that it holds open, what the launcher is about to make, and
 * waits on a pipe.  While the launcher lives it does nothing but sweep what earlier, doubly killed runs left. */
#ifndef BULKHEAD_LAUNCH_JANITOR_H
#define BULKHEAD_LAUNCH_JANITOR_H

#include <sys/types.h>

#include "isolation/confinement.h"

struct janitor {
	pid_t pid;
	int pipe_fd; /* the launcher's end: closed without a word means it died */
};

#define JANITOR_INIT                    \
	{                               \
		.pid = 0, .pipe_fd = -1 \
	}

/* After confinement_prepare(), before confinement_start(). */
int janitor_start(struct janitor *j, struct confinement *c, struct error *err);

/* Everything is cleaned up: let it go. */
void janitor_dismiss(struct janitor *j);
/* And wait until it is gone. */
void janitor_reap(struct janitor *j);

#endif
