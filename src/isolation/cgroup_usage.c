/* What the groups count, and who is in them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isolation/cgroup_parts.h"
#include "util/fd.h"

#define UNKNOWN UINT64_MAX
#define STAT_FILE_MAX 16384 /* memory.stat is 3 to 6 KiB */

/* The first number of the text; "max" and everything else is unknown. */
static uint64_t number(const char *text)
{
	char *end;
	unsigned long long v;

	if (*text < '0' || *text > '9')
		return UNKNOWN;
	errno = 0;
	v = strtoull(text, &end, 10);
	return errno || (*end != '\n' && *end != '\0') ? UNKNOWN : v;
}

/* The value of a line "key 123". */
static uint64_t keyed(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return number(line + len + 1);
	}
	return UNKNOWN;
}

static uint64_t file_number(int group, const char *file)
{
	char text[64];

	return fd_read_file_at(group, file, text, sizeof(text), NULL) < 0 ? UNKNOWN : number(text);
}

static uint64_t file_keyed(int group, const char *file, const char *key)
{
	static char text[STAT_FILE_MAX];

	return fd_read_file_at(group, file, text, sizeof(text), NULL) < 0 ? UNKNOWN : keyed(text, key);
}

static uint64_t us_of_ns(uint64_t ns)
{
	return ns == UNKNOWN ? UNKNOWN : ns / 1000;
}

static void cpu_v2(int group, struct cgroup_usage *out)
{
	static char text[STAT_FILE_MAX];

	if (fd_read_file_at(group, "cpu.stat", text, sizeof(text), NULL) < 0)
		return;
	out->cpu_us = keyed(text, "usage_usec");
	out->user_us = keyed(text, "user_usec");
	out->system_us = keyed(text, "system_usec");
	out->throttled_us = keyed(text, "throttled_usec");
}

static void memory_v2(int group, struct cgroup_usage *out)
{
	out->memory_now = file_number(group, "memory.current");
	out->memory_peak = file_number(group, "memory.peak"); /* Linux 5.19 */
	out->anon_now = file_keyed(group, "memory.stat", "anon");
}

static void memory_v1(int group, struct cgroup_usage *out)
{
	out->memory_now = file_number(group, "memory.usage_in_bytes");
	out->memory_peak = file_number(group, "memory.max_usage_in_bytes");
	out->anon_now = file_keyed(group, "memory.stat", "total_rss");
}

static void cpuacct_v1(int group, struct cgroup_usage *out)
{
	out->cpu_us = us_of_ns(file_number(group, "cpuacct.usage"));
	out->user_us = us_of_ns(file_number(group, "cpuacct.usage_user"));
	out->system_us = us_of_ns(file_number(group, "cpuacct.usage_sys"));
}

/* The v1 group that carries a controller, or -1. */
static int v1_fd(const struct cgroup *c, enum cgroup_controller k)
{
	return c->v1_at[k] < 0 ? -1 : c->v1[c->v1_at[k]].fd;
}

static int pids_group(const struct cgroup *c)
{
	return v1_fd(c, CG_PIDS) >= 0 ? v1_fd(c, CG_PIDS) : c->v2_limits[CG_PIDS] ? c->v2.fd : -1;
}

static void read_events(const struct cgroup *c, struct cgroup_usage *out)
{
	if (v1_fd(c, CG_MEMORY) >= 0) /* Linux 4.13 */
		out->oom_kills = file_keyed(v1_fd(c, CG_MEMORY), "memory.oom_control", "oom_kill");
	else if (c->v2_limits[CG_MEMORY])
		out->oom_kills = file_keyed(c->v2.fd, "memory.events", "oom_kill");
	if (pids_group(c) >= 0)
		out->pids_refused = file_keyed(pids_group(c), "pids.events", "max");
}

void cgroup_events(const struct cgroup *c, struct cgroup_usage *out)
{
	memset(out, 0xff, sizeof(*out)); /* all unknown */
	read_events(c, out);
}

void cgroup_usage(const struct cgroup *c, struct cgroup_usage *out)
{
	memset(out, 0xff, sizeof(*out));
	if (c->v2.fd >= 0)
		cpu_v2(c->v2.fd, out);
	if (out->cpu_us == UNKNOWN && v1_fd(c, CG_CPUACCT) >= 0)
		cpuacct_v1(v1_fd(c, CG_CPUACCT), out);
	if (v1_fd(c, CG_CPU) >= 0)
		out->throttled_us = us_of_ns(file_keyed(v1_fd(c, CG_CPU), "cpu.stat", "throttled_time"));
	if (v1_fd(c, CG_MEMORY) >= 0)
		memory_v1(v1_fd(c, CG_MEMORY), out);
	else if (c->v2_limits[CG_MEMORY])
		memory_v2(c->v2.fd, out);
	if (pids_group(c) >= 0)
		out->pids_now = file_number(pids_group(c), "pids.current");
	read_events(c, out);
}

/* Does the line of /proc/<pid>/cgroup for a v1 controller, or of v2 for NULL, end in our name?  The name is random, so
 * that its last component says it all, in whichever cgroup namespace the path is read. */
static bool line_holds(const char *text, const char *controller, const char *name)
{
	size_t name_len = strlen(name);

	for (const char *line = text; *line;) {
		const char *stop = strchrnul(line, '\n');
		const char *list = memchr(line, ':', (size_t)(stop - line));
		const char *path = list ? memchr(list + 1, ':', (size_t)(stop - list - 1)) : NULL;

		if (!path)
			return false;
		for (const char *word = ++list; controller && word < path;) {
			const char *end = memchr(word, ',', (size_t)(path - word));
			size_t len = (size_t)((end ? end : path) - word);

			if (len == strlen(controller) && memcmp(word, controller, len) == 0)
				list = NULL; /* found */
			word += len + 1;
		}
		if (controller ? !list : list == path)
			return (size_t)(stop - path) > name_len + 1 && stop[-(ptrdiff_t)name_len - 1] == '/' &&
			       memcmp(stop - name_len, name, name_len) == 0;
		line = *stop ? stop + 1 : stop;
	}
	return false;
}

bool cgroup_holds(const struct cgroup *c, pid_t pid, char *how, size_t size)
{
	static char text[STAT_FILE_MAX];
	char path[32], seen[128] = "";
	struct error err;
	size_t used = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text), &err) < 0) {
		(void)snprintf(how, size, "%s", err.text);
		return false;
	}
	for (int k = -1; k < CG_CONTROLLER_COUNT; k++) {
		const char *controller = k < 0 ? NULL : cgroup_controller_names[k];

		if (k < 0 ? c->v2.fd < 0 : c->v1_at[k] < 0)
			continue;
		if (!line_holds(text, controller, c->name)) {
			(void)snprintf(how, size, "%s: not in our %s group", path, controller ? controller : "v2");
			return false;
		}
		if (used < sizeof(seen))
			used += (size_t)snprintf(seen + used, sizeof(seen) - used, "%s%s", used ? ", " : "",
						 controller ? controller : "v2");
	}
	(void)snprintf(how, size, "%s: %s in %s", path, used ? seen : "no group", c->name);
	return used > 0;
}
