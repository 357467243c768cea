/* The policy file of `run --policy FILE`: the settings of the command line as YAML keys, waivers that name who accepted
 * them and why, and which tenants are trusted.  See bulkhead-policy(5). */
#ifndef BULKHEAD_POLICY_POLICY_PARSE_H
#define BULKHEAD_POLICY_POLICY_PARSE_H

#include <stddef.h>

#include "isolation/boundary.h"
#include "policy/trust.h"
#include "util/error.h"

#define POLICY_FILE_MAX (256 * 1024) /* hundreds of times what a person writes; bounds what the parsers can be fed */

/* What a policy file says that is no part of a boundary.  Plain data; nothing to release. */
struct policy {
	struct trust_table trust;
};

/* Read the file and add its settings to *b; what the boundary needs of the file is kept by boundary_own().  On failure
 * err->text is "FILE:LINE: KEY: what is wrong" (without a line where the file cannot be read at all), and *b, which
 * stays releasable, and *out may be partly filled: give them up. */
int policy_load(const char *path, struct boundary *b, struct policy *out, struct error *err);

/* The same from memory; `name` stands for the file in messages. */
int policy_load_text(const char *name, const char *text, size_t len, struct boundary *b, struct policy *out,
		     struct error *err);

#endif
