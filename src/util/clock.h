/* CLOCK_MONOTONIC in nanoseconds: never steps (clock_gettime(2)). */
#ifndef BULKHEAD_UTIL_CLOCK_H
#define BULKHEAD_UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ms(void)
{
	return clock_ns() / 1000000u;
}

#endif
