/* Where each value of a policy file stands.  libcyaml gives a line only for what its schema refuses, and that of the
 * value before it or of the mapping around it; so libyaml's events are read once beforehand.  This first reading also
 * refuses what libcyaml would let pass: a second document, anchors, tags, keys given twice in env, values left
 * empty, NUL bytes inside a text, and deep nesting. */
#ifndef BULKHEAD_POLICY_POLICY_MARKS_H
#define BULKHEAD_POLICY_POLICY_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"
#include "util/parse.h"

#define MARKS_MAX 2048	  /* twice what full tables of variables, grants and tenants come to */
#define MARKS_DEPTH_MAX 8 /* the schema needs 3 */

struct mark {
	char *path;	 /* "memory", "ro[2]", "env.HOME", "waive[0].by"; owned */
	char *value;	 /* the text of a scalar, else NULL; owned */
	size_t line;	 /* of the value, from 1 */
	size_t key_line; /* of its key, or of the value itself in a list */
	size_t depth;	 /* 1 for the keys of the document */
};

struct marks {
	struct mark *at;
	size_t count;
	size_t room;
};

/* Errors read "NAME:LINE: ...".  An empty document gives no marks.  On failure nothing needs marks_done(). */
int marks_read(struct marks *out, const char *name, const char *text, size_t len, struct error *err);
void marks_done(struct marks *m);

/* The mark of a path, or NULL. */
const struct mark *marks_find(const struct marks *m, const char *path);

/* A path for a message: as it is, or in buf and quoted where a key of the file in it is long or not plain text. */
const char *marks_path_text(const char *path, char buf[PARSE_QUOTE_MAX]);

#endif
