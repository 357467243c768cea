#include "launch/sampler.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "isolation/tree.h"
#include "util/fd.h"

static bool group_counts_cpu(const struct confinement *c)
{
	return c->cgroup.v2.fd >= 0 || c->cgroup.v1_at[CG_CPUACCT] >= 0;
}

bool sampler_needed(const struct confinement *c)
{
	const struct limits *l = &c->boundary->limits;
	bool unheld = !c->cgroup.limits && (l->memory_bytes != LIMIT_NONE || l->pids != LIMIT_NONE);

	return unheld || l->cpu_time_ms != LIMIT_NONE;
}

struct sum {
	uint64_t ticks, pages, count;
};

static void add_process(pid_t pid, void *arg)
{
	struct sum *s = arg;
	char path[64], text[1024], *end;
	uint64_t user, system, resident;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text), NULL) < 0)
		return; /* it ended meanwhile */
	end = strrchr(text, ')');
	/* fields 14 and 15 with what reaped children used in 16 and 17 (proc_pid_stat(5)) */
	if (end) {
		uint64_t cuser, csystem;

		if (sscanf(end + 1,
			   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
			   &user, &system, &cuser, &csystem) == 4)
			s->ticks += user + system + cuser + csystem;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text), NULL) > 0 &&
	    sscanf(text, "%*u %" SCNu64, &resident) == 1)
		s->pages += resident;
	s->count++;
}

void sampler_take(const struct confinement *c, const struct started *s, struct sample *out)
{
	struct cgroup_usage u;
	struct sum sum = { 0 };

	*out = (struct sample){ .cpu_us = UNKNOWN, .memory_bytes = UNKNOWN, .processes = UNKNOWN };
	if (group_counts_cpu(c)) {
		cgroup_usage(&c->cgroup, &u);
		out->cpu_us = u.cpu_us;
	}
	if (c->cgroup.limits && out->cpu_us != UNKNOWN)
		return;
	(void)tree_descendants(s->init_pid, 1u << 20, add_process, &sum);
	out->memory_bytes = sum.pages * (uint64_t)sysconf(_SC_PAGESIZE);
	out->processes = sum.count;
	if (out->cpu_us == UNKNOWN)
		out->cpu_us = sum.ticks * 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void raise_to(uint64_t *peak, uint64_t value)
{
	if (value != UNKNOWN && (*peak == UNKNOWN || value > *peak))
		*peak = value;
}

static void note_scratch(const struct confinement *c, const struct started *s, struct outcome *o)
{
	struct statfs f;

	if (s->scratch_fd < 0 || fstatfs(s->scratch_fd, &f) < 0)
		return;
	raise_to(&o->disk_used_bytes, (uint64_t)(f.f_blocks - f.f_bfree) * (uint64_t)f.f_bsize);
	if (c->boundary->limits.disk_bytes != LIMIT_NONE && (f.f_bfree == 0 || f.f_ffree == 0))
		o->limits_hit |= LIMIT_HIT_DISK;
}

void sampler_note(const struct confinement *c, const struct started *s, bool measure, struct outcome *o)
{
	struct cgroup_usage u;

	note_scratch(c, s, o);
	if (c->cgroup.name[0] == '\0')
		return;
	if (measure)
		cgroup_usage(&c->cgroup, &u);
	else
		cgroup_events(&c->cgroup, &u);
	raise_to(&o->memory_peak_bytes, u.memory_peak);
	raise_to(&o->memory_anon_peak_bytes, u.anon_now);
	if (u.oom_kills != UNKNOWN) {
		o->oom_kills = u.oom_kills;
		if (u.oom_kills > 0)
			o->limits_hit |= LIMIT_HIT_MEMORY;
	}
	if (u.pids_refused != UNKNOWN) {
		o->pids_refused = u.pids_refused;
		if (u.pids_refused > 0)
			o->limits_hit |= LIMIT_HIT_PIDS;
	}
	if (u.user_us != UNKNOWN && u.system_us != UNKNOWN) {
		o->user_us = u.user_us;
		o->system_us = u.system_us;
	}
}
