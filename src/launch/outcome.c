#include "launch/outcome.h"

#include <assert.h>
#include <string.h>

static const char *const names[] = {
	[OUTCOME_EXITED] = "exited",	 [OUTCOME_SIGNALED] = "signaled",	[OUTCOME_TIMED_OUT] = "timed-out",
	[OUTCOME_CPU_TIME] = "cpu-time", [OUTCOME_MEMORY] = "memory",		[OUTCOME_PIDS] = "pids",
	[OUTCOME_OUTPUT] = "output",	 [OUTCOME_NOT_STARTED] = "not-started", [OUTCOME_REFUSED] = "refused",
	[OUTCOME_FAILED] = "failed",
};
static_assert(sizeof(names) / sizeof(names[0]) == OUTCOME_COUNT, "a name per outcome");

static const char *const limits[] = { "timeout", "cpu-time", "memory", "pids", "disk", "output" };
static_assert(sizeof(limits) / sizeof(limits[0]) == LIMIT_HIT_COUNT, "a name per limit");

const char *outcome_name(enum outcome_kind k)
{
	return names[k];
}

const char *limit_hit_name(unsigned int index)
{
	return limits[index];
}

void outcome_init(struct outcome *o)
{
	memset(o, 0, sizeof(*o));
	o->kind = OUTCOME_FAILED;
	o->exit_code = -1;
	o->memory_peak_bytes = o->memory_anon_peak_bytes = o->max_rss_bytes = UNKNOWN;
	o->oom_kills = o->pids_refused = o->disk_used_bytes = UNKNOWN;
	o->stdout_bytes = o->stderr_bytes = UNKNOWN;
}

int outcome_status(const struct outcome *o)
{
	switch (o->kind) {
	case OUTCOME_EXITED:
	case OUTCOME_NOT_STARTED:
		return o->exit_code;
	case OUTCOME_TIMED_OUT:
		return 124;
	case OUTCOME_SIGNALED:
	case OUTCOME_CPU_TIME:
	case OUTCOME_MEMORY:
	case OUTCOME_PIDS:
	case OUTCOME_OUTPUT:
		return 128 + (o->signal ? o->signal : 9);
	case OUTCOME_REFUSED:
	case OUTCOME_FAILED:
	case OUTCOME_COUNT:
		break;
	}
	return 125;
}
