/* One workload, from a boundary to an outcome. */
#ifndef BULKHEAD_LAUNCH_LAUNCH_H
#define BULKHEAD_LAUNCH_LAUNCH_H

#include <stdbool.h>

#include "isolation/boundary.h"
#include "isolation/evidence.h"
#include "launch/outcome.h"

struct launch_options {
	const char *workdir; /* where on-disk workspaces are made; NULL for the default */
	bool count_output;   /* relay stdout and stderr to count them; implied by --output-limit */
	bool trial;	     /* stop at the gate: the evidence is what is wanted */
};

/* Run it.  The outcome is always filled: failures to start are outcomes too (refused, failed).  When it returns, nothing
 * that was started is alive and nothing that was made is left, or outcome->error says what.
 *
 * It blocks signals, forwards those it gets to the workload, and takes over the caller's terminal for the time; call it
 * from a single-threaded process. */
void launch_run(const struct boundary *b, const struct launch_options *options, struct evidence *evidence,
		struct outcome *out);

#endif
