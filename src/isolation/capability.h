/* capget(2) and capset(2), for the calling thread.  libcap-ng would do, but it caches the thread id of its first caller,
 * which is wrong in a child made by clone3, and reads /proc for the bounding set, which a sandbox may not have
 * (docs/adr/0003). */
#ifndef BULKHEAD_ISOLATION_CAPABILITY_H
#define BULKHEAD_ISOLATION_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct capability_sets {
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static inline int capability_get(struct capability_sets *out)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capget, &header, out->words);
}

static inline int capability_set(const struct capability_sets *sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)syscall(SYS_capset, &header, sets->words);
}

static inline bool capability_effective(const struct capability_sets *sets, unsigned int cap)
{
	return (sets->words[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap)) != 0;
}

#endif
