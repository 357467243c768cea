/* The caller's terminal, while the workload has one of its own: raw, so that every key goes to the workload's line
 * discipline, and put back whatever happens short of SIGKILL. */
#ifndef BULKHEAD_LAUNCH_TERMINAL_H
#define BULKHEAD_LAUNCH_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

#include "isolation/confinement.h"

struct terminal {
	int outer;  /* the caller's, lent; -1 while there is none */
	int master; /* of the workload's, lent */
	bool raw;
	struct termios saved;
};

#define TERMINAL_INIT                     \
	{                                 \
		.outer = -1, .master = -1 \
	}

/* Which of the caller's 0, 1, 2 are terminals; plan gets STDIO_TERMINAL for those and the size. */
void terminal_plan(struct stdio_plan *plan);

void terminal_start(struct terminal *t, int master);
void terminal_raw(struct terminal *t);
void terminal_restore(struct terminal *t);
void terminal_resize(const struct terminal *t);

#endif
