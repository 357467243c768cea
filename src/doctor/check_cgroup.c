/* Where groups could be made, and what their limits would not see. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/check.h"
#include "doctor/check_parse.h"
#include "isolation/cgroup.h"

static const char *const controllers[CG_CONTROLLER_COUNT] = {
	[CG_MEMORY] = "memory", [CG_PIDS] = "pids", [CG_CPU] = "cpu", [CG_CPUACCT] = "cpuacct"
};

static const char *layout_of(const struct cgroup_host *h)
{
	bool v1 = false;

	for (int k = 0; k < CG_CONTROLLER_COUNT; k++)
		v1 = v1 || h->v1_mount[k][0];
	return h->v2_mount[0] ? (v1 ? "hybrid" : "v2") : v1 ? "v1" : "none";
}

static void append_words(char *buf, size_t size, const char *between, const char *word)
{
	size_t used = strlen(buf);

	(void)snprintf(buf + used, size - used, "%s%s", used ? between : "", word);
}

/* "memory, pids on v1; cpu on v2; none: cpuacct" */
static void describe_controllers(const struct cgroup_host *h, char *buf, size_t size)
{
	char v1[64] = "", v2[64] = "", none[64] = "";

	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		if (h->v1_mount[k][0])
			append_words(v1, sizeof(v1), ", ", controllers[k]);
		else if (h->v2_controller[k])
			append_words(v2, sizeof(v2), ", ", controllers[k]);
		else if (k != CG_CPUACCT || !h->v2_mount[0]) /* cpu.stat of v2 needs no controller */
			append_words(none, sizeof(none), ", ", controllers[k]);
	}
	buf[0] = '\0';
	if (v1[0])
		append_words(buf, size, "", v1);
	if (v1[0])
		append_words(buf, size, " ", "on v1");
	if (v2[0])
		append_words(buf, size, "; ", v2);
	if (v2[0])
		append_words(buf, size, " ", "on v2");
	if (none[0])
		append_words(buf, size, "; ", "not offered:");
	if (none[0])
		append_words(buf, size, " ", none);
}

static bool may_make_in(const char *mount, const char *own, bool read_only)
{
	char path[800];

	(void)snprintf(path, sizeof(path), "%s%s", mount, own);
	return !read_only && access(path, W_OK) == 0;
}

/* Our own group of the hierarchy that carries memory, and whether we may make groups below it. */
static void describe_own(const struct cgroup_host *h, char *buf, size_t size)
{
	bool v1 = h->v1_mount[CG_MEMORY][0] != '\0';
	const char *mount = v1 ? h->v1_mount[CG_MEMORY] : h->v2_mount, *own = v1 ? h->v1_own[CG_MEMORY] : h->v2_own;
	bool read_only = v1 ? h->v1_read_only[CG_MEMORY] : h->v2_read_only;

	(void)snprintf(buf, size, "ours is %.60s%.100s, %s", mount, strcmp(own, "/") == 0 ? "" : own,
		       read_only			    ? "mounted read-only"
		       : may_make_in(mount, own, read_only) ? "writable"
							    : "not delegated to us");
}

void check_cgroup(const struct check_context *x, struct check *out)
{
	const struct finding *f = &x->sandbox->mechanisms[MECH_CGROUP];
	bool works = f->state == FINDING_ENFORCED || f->state == FINDING_AVAILABLE;
	char where[200], own[240] = "", buf[400];
	struct cgroup_host h;
	struct error err;
	const char *remedy;

	if (cgroup_host_find(&h, &err) < 0) {
		check_set(out, CHECK_MISSING, "%.300s", err.text);
		check_remedy(out, "mount -t proc proc /proc");
		return;
	}
	if (strcmp(layout_of(&h), "none") == 0) {
		check_set(out, CHECK_MISSING, "no cgroup file system is mounted that this process can use");
		check_remedy(out, "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
		return;
	}
	describe_controllers(&h, where, sizeof(where));
	if (h.v1_mount[CG_MEMORY][0] || h.v2_mount[0])
		describe_own(&h, own, sizeof(own));
	/* Switched off by --without is no fault of the host. */
	check_set(out, works || f->state == FINDING_WITHOUT ? CHECK_OK : CHECK_MISSING, "%s: %s; %s", layout_of(&h),
		  where, own);
	if (out->state == CHECK_OK)
		return;
	remedy = evidence_remedy(MECH_CGROUP, f, buf, sizeof(buf));
	check_remedy(out, "%s", remedy ? remedy : "");
}

/* Moving a process into a group waits for an RCU grace period, 7 to 11 ms on a quiet machine; with favordynmods (Linux
 * 6.0) it does not.  A launcher moves itself only on v2, once, in a group that was delegated to it. */
void check_dynmods(const struct check_context *x, struct check *out)
{
	char *mountinfo = check_read("/proc/self/mountinfo");
	struct cgroup_host h = { .v2_mount = "" };
	bool seen = false, on = mountinfo && check_parse_mount_option(mountinfo, "cgroup2", "favordynmods", &seen);

	(void)x;
	free(mountinfo);
	if (on) {
		check_set(out, CHECK_OK, "cgroup2 is mounted with favordynmods");
		return;
	}
	if (!seen || cgroup_host_find(&h, NULL) < 0 || !(h.v2_controller[CG_MEMORY] || h.v2_controller[CG_PIDS])) {
		check_set(out, CHECK_OK, "not needed: no limit is held by a v2 group here");
		return;
	}
	check_set(out, CHECK_NOTE,
		  "cgroup2 is mounted without it: the first run in a delegated group takes 7 to 11 ms longer");
	check_remedy(out, "mount -o remount,favordynmods %s (Linux 6.0 or later)", h.v2_mount);
}

void check_swap(const struct check_context *x, struct check *out)
{
	char *swaps = check_read("/proc/swaps");
	uint64_t kib = swaps ? check_parse_swap_kib(swaps) : 0;

	if (!swaps) {
		check_set(out, CHECK_OK, "no /proc/swaps: this kernel has no swap");
		return;
	}
	free(swaps);
	if (kib == 0) {
		check_set(out, CHECK_OK, "no swap: the memory limit is all a workload gets");
		return;
	}
	if (x->sandbox->mechanisms[MECH_CGROUP].state == FINDING_ENFORCED) {
		check_set(out, CHECK_OK,
			  "%llu MiB of swap; the workload's group may use none of it beyond its memory limit",
			  (unsigned long long)kib >> 10);
		return;
	}
	check_set(out, CHECK_NOTE, "%llu MiB of swap: memory is sampled here, and what is swapped out is not counted",
		  (unsigned long long)kib >> 10);
	check_remedy(out, "see cgroup: a group's limit counts it");
}
