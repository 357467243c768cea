/* The result of a run, for people and for programs.  docs/schema/run-report.schema.json describes the JSON. */
#ifndef BULKHEAD_LAUNCH_REPORT_H
#define BULKHEAD_LAUNCH_REPORT_H

#include <stdio.h>

#include "isolation/boundary.h"
#include "isolation/evidence.h"
#include "launch/outcome.h"

int report_write_json(FILE *to, const struct boundary *b, const struct evidence *e, const struct outcome *o,
		      struct error *err);

void report_write_text(FILE *to, const struct boundary *b, const struct evidence *e, const struct outcome *o,
		       unsigned int width);

/* One line for stderr when there is something a caller must know: refused, failed, a limit, partial, waived.  Returns
 * false when there is nothing to say. */
bool report_summary(const struct boundary *b, const struct evidence *e, const struct outcome *o, char *buf,
		    size_t size);

#endif
