/* Errors as values.  A function that can fail returns 0 (or a count) or a negative errno, and fills the caller's
 * `struct error` with what was tried, on what.  Callers add where they were with error_wrap().  There is no heap and no
 * lock in here, so all of it may be used between fork and exec. */
#ifndef BULKHEAD_UTIL_ERROR_H
#define BULKHEAD_UTIL_ERROR_H

#define ERROR_TEXT_MAX 480

struct error {
	int code;		   /* positive errno; 0 while unset */
	char text[ERROR_TEXT_MAX]; /* one line, no newline */
};

/* Fill *err (may be NULL) with the formatted text.  Returns -code; code must be a positive errno. */
int error_set(struct error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same with the current errno, whose strerror text is appended: "FMT: No such file or directory". */
int error_errno(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "FMT: " before the text that is there.  Returns -err->code. */
int error_wrap(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
