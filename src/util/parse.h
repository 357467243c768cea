/* Strict readers for what people type: numbers, sizes, durations.  No sign, no space, no trailing text, no silent
 * rounding to zero and no overflow; what was not understood is named together with the units that would have been.
 *
 * All return 0 or -EINVAL (not such a value) or -ERANGE (too large), and change *out only on success. */
#ifndef BULKHEAD_UTIL_PARSE_H
#define BULKHEAD_UTIL_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* Decimal digits only: "4096". */
int parse_u64(const char *text, uint64_t *out, struct error *err);

/* Bytes: "65536", "512M", "1.5G"; K M G T are powers of 1024, and may be written KB or KiB, in either case. */
int parse_size(const char *text, uint64_t *out_bytes, struct error *err);

/* "500ms", "90s", "1.5m", "2h"; a bare number is seconds. */
int parse_duration_ms(const char *text, uint64_t *out_ms, struct error *err);

/* A decimal number with at most three decimals, times 1000: "1.5" is 1500. */
int parse_milli(const char *text, uint64_t *out_milli, struct error *err);

/* Put `text` in single quotes into buf for an error message: one line, plain ASCII (all else as \xNN, so that a name
 * from a hostile file cannot drive the terminal), cut with "..." where it does not fit.  Returns buf.  size >= 8. */
const char *parse_quote(const char *text, char *buf, size_t size);
#define PARSE_QUOTE_MAX 96

#endif
