/* Bounded text: what does not fit is dropped, for lines that people read. */
#ifndef BULKHEAD_UTIL_TEXT_H
#define BULKHEAD_UTIL_TEXT_H

#include <stddef.h>

/* snprintf(3) at the end of the NUL-terminated text in a buffer of `size` bytes. */
void text_append(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
