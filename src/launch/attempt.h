/* Getting a workload to the gate: which mechanisms this host can do is found by using them.  A mechanism that fails is
 * noted, and the plan is made again without it; when what is left cannot hold every required guarantee, that is a
 * refusal.  So there is no probing ahead, a run on a capable host pays nothing for it, and `doctor`, which does the same
 * up to the gate, cannot disagree with `run`. */
#ifndef BULKHEAD_LAUNCH_ATTEMPT_H
#define BULKHEAD_LAUNCH_ATTEMPT_H

#include "drivers/driver.h"
#include "isolation/apply.h"
#include "launch/janitor.h"
#include "launch/launch.h"

struct attempt {
	const struct driver *driver;
	struct confinement c;
	struct started s;
	struct janitor janitor;
	int input_fd;	  /* end of the stdin pipe that we write, where a file is relayed, else -1 */
	int output_fd[2]; /* ends of the stdout and stderr pipes that we read, where they are relayed, else -1 */
	uint64_t began_ns, prepared_ns, ready_ns, observed_ns;
};

/* On success the workload waits at the gate and every required guarantee was seen to be held; on failure out->kind says
 * refused or failed, and everything is undone. */
int attempt_start(struct attempt *a, const struct boundary *b, const struct launch_options *o, struct evidence *e,
		  const sigset_t *caller_mask, struct outcome *out);

/* Kill, reap, and remove all that it made.  Safe twice.  Returns 0, or a negative errno when something could not be
 * removed, named in *err. */
int attempt_end(struct attempt *a, struct error *err);

#endif
