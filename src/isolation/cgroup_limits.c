/* Limits: each written with one write(2) and read back with one read(2) on the same descriptor.  A value that does not
 * come back is an error, because a limit that was accepted and ignored is worse than none (systemd#9641, crun#223). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "isolation/cgroup_parts.h"
#include "util/fd.h"

#define PIDS_LIMIT_MAX 4194304u /* PID_MAX_LIMIT: no machine can have more, and pids.max refuses a larger number */
#define CPU_PERIOD_US 100000u
#define CPU_QUOTA_LEAST_US 1000u /* the scheduler refuses less (min_cfs_quota_period) */

/* Write `text` to an existing limit file and see it read back as `expect`.  -ENOENT: no such file. */
static int limit_write(int group, const char *file, const char *text, const char *expect, struct error *err)
{
	char back[64];
	ssize_t n;
	autofd fd = openat(group, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return error_errno(err, "open %s", file);
	n = write(fd, text, strlen(text));
	if (n < 0)
		return error_errno(err, "write %s to %s", text, file);
	n = pread(fd, back, sizeof(back) - 1, 0);
	if (n < 0)
		return error_errno(err, "read %s back", file);
	back[n] = '\0';
	back[strcspn(back, "\n")] = '\0';
	if (strcmp(back, expect) != 0)
		return error_set(err, EIO, "%s: wrote %s, reads back as %s", file, text, back);
	return 0;
}

static int limit_write_number(int group, const char *file, uint64_t value, struct error *err)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return limit_write(group, file, text, text, err);
}

/* The kernel counts pages and rounds down; above LONG_MAX it has no number. */
static uint64_t whole_pages(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (bytes > INT64_MAX ? (uint64_t)INT64_MAX : bytes) / page * page;
}

static int memory_v1(int group, uint64_t bytes, struct error *err)
{
	uint64_t value = whole_pages(bytes);
	struct error missing;
	int r = limit_write_number(group, "memory.limit_in_bytes", value, err);

	if (r < 0)
		return r;
	/* Memory and swap together: without this, swap would be a way out. */
	r = limit_write_number(group, "memory.memsw.limit_in_bytes", value, &missing);
	if (r != -ENOENT) {
		if (r < 0 && err)
			*err = missing;
		return r;
	}
	/* Swap is not accounted (swapaccount=0): then the group must not swap when it meets its limit. */
	r = limit_write_number(group, "memory.swappiness", 0, err);
	return r == -ENOENT ? 0 : r; /* a kernel without swap */
}

static int memory_v2(int group, uint64_t bytes, struct error *err)
{
	uint64_t value = whole_pages(bytes);
	int r = value == whole_pages(UINT64_MAX) ? limit_write(group, "memory.max", "max", "max", err)
						 : limit_write_number(group, "memory.max", value, err);

	if (r < 0)
		return r;
	r = limit_write_number(group, "memory.swap.max", 0, err);
	if (r < 0 && r != -ENOENT) /* a kernel without swap */
		return r;
	/* One workload is one unit: half of it left over after an OOM kill is of no use to anybody. */
	r = limit_write_number(group, "memory.oom.group", 1, err);
	return r == -ENOENT ? 0 : r; /* before Linux 4.19: only the largest process is killed */
}

static int pids_write(int group, uint64_t pids, struct error *err)
{
	return limit_write_number(group, "pids.max", pids < PIDS_LIMIT_MAX ? pids : PIDS_LIMIT_MAX, err);
}

/* Below a hundredth of a CPU the quota of the usual period is too small for the kernel: the period grows instead. */
static int cpu_quota(uint64_t milli, uint64_t *out_quota_us, uint64_t *out_period_us, struct error *err)
{
	const uint64_t per_milli = CPU_PERIOD_US / 1000;

	if (milli == 0 || milli > UINT64_MAX / per_milli)
		return error_set(err, EINVAL, "a CPU limit of %" PRIu64 " thousandths cannot be set", milli);
	*out_quota_us = milli * per_milli;
	*out_period_us = CPU_PERIOD_US;
	if (*out_quota_us < CPU_QUOTA_LEAST_US) {
		*out_quota_us = CPU_QUOTA_LEAST_US;
		*out_period_us = (uint64_t)CPU_QUOTA_LEAST_US * 1000 / milli;
	}
	return 0;
}

static int cpu_v1(int group, uint64_t milli, struct error *err)
{
	uint64_t quota = 0, period = 0;
	int r = cpu_quota(milli, &quota, &period, err);

	if (r == 0)
		r = limit_write_number(group, "cpu.cfs_period_us", period, err);
	if (r < 0)
		return r;
	r = limit_write_number(group, "cpu.cfs_quota_us", quota, err);
	if (r == -EINVAL)
		return error_wrap(err, "more than the group above may use, or more than the scheduler can count");
	return r;
}

static int cpu_v2(int group, uint64_t milli, struct error *err)
{
	uint64_t quota = 0, period = 0;
	char text[64];
	int r = cpu_quota(milli, &quota, &period, err);

	if (r < 0)
		return r;
	(void)snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, quota, period);
	return limit_write(group, "cpu.max", text, text, err);
}

int cgroup_limit_v1(int group_fd, enum cgroup_controller k, const struct limits *l, struct error *err)
{
	switch (k) {
	case CG_MEMORY:
		return memory_v1(group_fd, l->memory_bytes, err);
	case CG_PIDS:
		return pids_write(group_fd, l->pids, err);
	case CG_CPU:
		return cpu_v1(group_fd, l->cpu_milli, err);
	case CG_CPUACCT: /* only counts */
	case CG_CONTROLLER_COUNT:
		break;
	}
	return 0;
}

int cgroup_limit_v2(int group_fd, enum cgroup_controller k, const struct limits *l, struct error *err)
{
	switch (k) {
	case CG_MEMORY:
		return memory_v2(group_fd, l->memory_bytes, err);
	case CG_PIDS: /* and init, whom the clone puts there */
		return pids_write(group_fd, l->pids == LIMIT_NONE ? l->pids : l->pids + 1, err);
	case CG_CPU:
		return cpu_v2(group_fd, l->cpu_milli, err);
	case CG_CPUACCT:
	case CG_CONTROLLER_COUNT:
		break;
	}
	return 0;
}
