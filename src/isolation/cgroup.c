/* A workload's groups: made, joined, killed, removed.  Where they go is cgroup_place.c's, what is written into them
 * cgroup_limits.c's. */
#include "isolation/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "isolation/cgroup_parts.h"
#include "util/fd.h"

static const struct cgroup_use use_none = { .parent_fd = -1, .fd = -1, .tasks_fd = -1 };

void cgroup_init(struct cgroup *c)
{
	*c = (struct cgroup){ .v2 = use_none, .kill_fd = -1 };
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		c->v1[k] = use_none;
		c->v1_at[k] = -1;
	}
}

static void use_close(struct cgroup_use *u)
{
	fd_close(&u->tasks_fd);
	fd_close(&u->fd);
	fd_close(&u->parent_fd);
}

void cgroup_done(struct cgroup *c)
{
	fd_close(&c->kill_fd);
	use_close(&c->v2);
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++)
		use_close(&c->v1[k]);
}

static controller_set wanted_by(const struct limits *l)
{
	return (l->memory_bytes != LIMIT_NONE ? CG_BIT(CG_MEMORY) : 0) | (l->pids != LIMIT_NONE ? CG_BIT(CG_PIDS) : 0) |
	       (l->cpu_milli != LIMIT_NONE ? CG_BIT(CG_CPU) : 0);
}

/* Make the group and open it.  On failure nothing is left but u->parent_fd, which is the caller's to close. */
static int use_make(struct cgroup_use *u, const char *name, struct error *err)
{
	if (mkdirat(u->parent_fd, name, 0755) < 0) {
		if (errno == EACCES || errno == EPERM)
			(void)error_set(err, errno, "not writable by uid %u", geteuid());
		else
			(void)error_errno(err, "make a group");
		return cgroup_refusal(err);
	}
	u->fd = openat(u->parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (u->fd < 0) {
		(void)error_errno(err, "open the new group");
		(void)unlinkat(u->parent_fd, name, AT_REMOVEDIR);
		return -err->code;
	}
	return 0;
}

static void use_undo(struct cgroup_use *u, const char *name)
{
	if (u->fd >= 0)
		(void)unlinkat(u->parent_fd, name, AT_REMOVEDIR); /* empty: nobody has joined yet */
	use_close(u);
}

static void v1_undo(struct cgroup *c)
{
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		use_undo(&c->v1[k], c->name);
		c->v1_at[k] = -1;
	}
}

static void v2_undo(struct cgroup *c)
{
	fd_close(&c->kill_fd);
	c->kill = false;
	memset(c->v2_limits, 0, sizeof(c->v2_limits));
	use_undo(&c->v2, c->name);
}

/* Which group the error is about; v2 has several places, so the descriptor is asked. */
static int v2_wrap(const struct cgroup_use *u, struct error *err)
{
	char link[40], path[CGROUP_PATH_MAX];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", u->parent_fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -err->code;
	path[n] = '\0';
	return error_wrap(err, "%s", path);
}

static int v2_refused(const struct cgroup_use *u, struct error *err)
{
	(void)v2_wrap(u, err);
	return cgroup_refusal(err);
}

/* ---- planning ---- */

static int may_make_below(int parent_fd, struct error *err)
{
	if (faccessat(parent_fd, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return 0;
	return error_set(err, errno == EROFS ? EROFS : EOPNOTSUPP, "not writable by uid %u", geteuid());
}

static int v2_place(struct cgroup *c, const struct cgroup_host *h, controller_set need, struct error *err)
{
	int r = need ? cgroup_v2_parent(h, need, &c->v2.parent_fd, err) : cgroup_v2_own(h, &c->v2.parent_fd, err);

	if (r == 0 && may_make_below(c->v2.parent_fd, err) < 0)
		r = v2_refused(&c->v2, err);
	if (r < 0)
		use_close(&c->v2);
	else
		c->v2_need = need;
	return r;
}

/* The v2 group is wanted even where it holds no limit, for the kill file and the CPU time; without it the run has
 * other means, so that its want is then no error. */
static int v2_plan(struct cgroup *c, const struct cgroup_host *h, controller_set need, struct error *err)
{
	struct error unused;
	char words[64];
	int r;

	if (!h->v2_mount[0])
		return !need ? 0
			     : error_set(err, EOPNOTSUPP, "no cgroup hierarchy that offers %s is mounted",
					 cgroup_set_words(need, words, sizeof(words)));
	r = v2_place(c, h, need, need ? err : &unused);
	if (r == 0 || !need)
		return 0;
	if (r == -EOPNOTSUPP) {
		(void)v2_place(c, h, 0, &unused);
		if (geteuid() != 0)
			cgroup_error_append(err, "; try ", CGROUP_REMEDY_USER);
	}
	return r;
}

/* An earlier controller's group on the same hierarchy, or -1. */
static signed char v1_shared(const struct cgroup *c, const struct cgroup_host *h, int k)
{
	for (int j = 0; j < k; j++) {
		if (c->v1[j].parent_fd >= 0 && strcmp(h->v1_mount[j], h->v1_mount[k]) == 0)
			return (signed char)j;
	}
	return -1;
}

static int v1_place(struct cgroup *c, const struct cgroup_host *h, int k, struct error *err)
{
	struct cgroup_use *u = &c->v1[k];
	int r;

	c->v1_at[k] = v1_shared(c, h, k);
	if (c->v1_at[k] >= 0)
		return 0;
	if (h->v1_read_only[k])
		return error_set(err, EOPNOTSUPP, "mounted read-only");
	r = cgroup_v1_parent(h, (enum cgroup_controller)k, &u->parent_fd, err);
	if (r == 0 && may_make_below(u->parent_fd, err) < 0)
		r = cgroup_refusal(err);
	if (r < 0)
		use_close(u);
	else
		c->v1_at[k] = (signed char)k;
	return r;
}

static int v1_plan(struct cgroup *c, const struct cgroup_host *h, struct error *err)
{
	struct error unused;

	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		int r;

		if (!(c->wanted & CG_BIT(k)) || !h->v1_mount[k][0])
			continue;
		r = v1_place(c, h, k, err);
		if (r < 0)
			return error_wrap(err, "%s: %s%s", cgroup_controller_names[k], h->v1_mount[k],
					  strcmp(h->v1_own[k], "/") == 0 ? "" : h->v1_own[k]);
	}
	/* v2's cpu.stat counts the whole tree without a controller; only where there is none a group must count. */
	if (c->v2.parent_fd < 0 && h->v1_mount[CG_CPUACCT][0])
		(void)v1_place(c, h, CG_CPUACCT, &unused);
	return 0;
}

int cgroup_plan_on(struct cgroup *c, const struct cgroup_host *h, const struct limits *l, struct error *err)
{
	controller_set on_v2 = 0;
	struct error unused;
	int r;

	err = err ? err : &unused; /* what is a refusal is read from it below */
	cgroup_init(c);
	r = cgroup_name_new(c->name, sizeof(c->name), err);
	if (r < 0)
		return r;
	c->wanted = wanted_by(l);
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		if ((c->wanted & CG_BIT(k)) && !h->v1_mount[k][0])
			on_v2 |= CG_BIT(k);
	}
	r = v2_plan(c, h, on_v2, err);
	if (r == 0)
		r = v1_plan(c, h, err);
	c->limits = r == 0;
	if (r < 0) {
		v1_undo(c);
		c->wanted = 0;
	}
	/* A group that was chosen for its controllers serves as well without them. */
	if (r == -EOPNOTSUPP)
		c->v2_need = 0;
	else if (r < 0)
		v2_undo(c);
	return r;
}

int cgroup_plan(struct cgroup *c, const struct limits *l, struct error *err)
{
	struct cgroup_host h;
	int r;

	cgroup_init(c);
	if (cgroup_host_usual(&h) && cgroup_plan_on(c, &h, l, NULL) == 0 && (c->v2.parent_fd >= 0 || !h.v2_mount[0]))
		return 0;
	cgroup_done(c);
	cgroup_init(c);
	r = cgroup_host_find(&h, err);
	return r < 0 ? error_wrap(err, "find our control groups") : cgroup_plan_on(c, &h, l, err);
}

unsigned int cgroup_v1_count(const struct cgroup *c)
{
	unsigned int n = 0;

	for (int k = 0; k < CG_CONTROLLER_COUNT; k++)
		n += c->v1[k].parent_fd >= 0;
	return n;
}

/* ---- making ---- */

static void open_kill_file(struct cgroup *c)
{
	c->kill_fd = openat(c->v2.fd, "cgroup.kill", O_WRONLY | O_CLOEXEC); /* Linux 5.14 */
	c->kill = c->kill_fd >= 0;
}

void cgroup_reopen(struct cgroup *c)
{
	if (c->v2.parent_fd < 0)
		return;
	c->v2.fd = openat(c->v2.parent_fd, c->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->v2.fd >= 0)
		open_kill_file(c);
}

int cgroup_make_v2(struct cgroup *c, const struct limits *l, struct error *err)
{
	struct error unused;
	int r;

	err = err ? err : &unused;
	if (c->v2.parent_fd < 0)
		return 0;
	r = use_make(&c->v2, c->name, err);
	if (r == 0)
		open_kill_file(c);
	else
		r = v2_refused(&c->v2, err);
	for (int k = 0; r == 0 && k < CG_CONTROLLER_COUNT; k++) {
		if (!(c->v2_need & CG_BIT(k)))
			continue;
		r = cgroup_limit_v2(c->v2.fd, (enum cgroup_controller)k, l, err);
		c->v2_limits[k] = r == 0;
		if (r < 0) {
			(void)error_wrap(err, "%s", cgroup_controller_names[k]);
			r = v2_refused(&c->v2, err);
		}
	}
	if (r < 0)
		v2_undo(c);
	return c->v2_need ? r : 0;
}

static int v1_group_make(struct cgroup *c, int k, struct error *err)
{
	struct cgroup_use *u = &c->v1[k];
	int r = use_make(u, c->name, err);

	if (r < 0)
		return r;
	/* The kernel checks the rights of whoever opened the file, so the child may write to it later. */
	u->tasks_fd = openat(u->fd, "tasks", O_WRONLY | O_CLOEXEC);
	return u->tasks_fd < 0 ? error_errno(err, "open tasks") : 0;
}

int cgroup_make_v1(struct cgroup *c, const struct limits *l, struct error *err)
{
	struct error unused;
	int r = 0;

	err = err ? err : &unused;
	for (int k = 0; r == 0 && k < CG_CONTROLLER_COUNT; k++) {
		if (c->v1[k].parent_fd >= 0)
			r = v1_group_make(c, k, err);
		if (r == 0 && (c->wanted & CG_BIT(k)) && c->v1_at[k] >= 0) {
			r = cgroup_limit_v1(c->v1[c->v1_at[k]].fd, (enum cgroup_controller)k, l, err);
			if (r == -ENOENT) /* a kernel built without this limit, such as CONFIG_CFS_BANDWIDTH */
				r = cgroup_refusal(err);
		}
		if (r < 0)
			(void)error_wrap(err, "%s", cgroup_controller_names[k]);
	}
	if (r < 0)
		v1_undo(c);
	return r;
}

int cgroup_make_on(struct cgroup *c, const struct cgroup_host *h, const struct limits *l, struct error *err)
{
	struct error unused;
	int planned = cgroup_plan_on(c, h, l, err), r;

	if (planned < 0 && planned != -EOPNOTSUPP)
		return planned;
	r = cgroup_make_v2(c, l, planned < 0 ? &unused : err);
	if (r == 0)
		r = cgroup_make_v1(c, l, planned < 0 ? &unused : err);
	if (r < 0 && c->v2.fd >= 0 && r != -EOPNOTSUPP)
		v2_undo(c);
	if (r < 0)
		c->limits = false;
	return planned < 0 ? planned : r;
}

int cgroup_make(struct cgroup *c, const struct limits *l, struct error *err)
{
	struct cgroup_host h;
	int r;

	cgroup_init(c);
	r = cgroup_host_find(&h, err);
	return r < 0 ? error_wrap(err, "find our control groups") : cgroup_make_on(c, &h, l, err);
}

int cgroup_join_tasks(int tasks_fd, struct error *err)
{
	return write(tasks_fd, "0", 1) == 1 ? 0 : error_errno(err, "write to its tasks file");
}

int cgroup_kill(const struct cgroup *c, struct error *err)
{
	if (!c->kill)
		return error_set(err, EOPNOTSUPP, "no cgroup.kill: %s",
				 c->v2.fd < 0 ? "no v2 group" : "Linux before 5.14");
	if (write(c->kill_fd, "1", 1) != 1)
		return error_errno(err, "write cgroup.kill of %s", c->name);
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Until something may have changed.  cgroup.events of v2 wakes poll(2) once it has been read; v1 tells nobody. */
static void wait_a_little(int events_fd, uint64_t left_ms)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	struct pollfd p = { .fd = events_fd, .events = POLLPRI };
	char text[256];
	ssize_t n = events_fd < 0 ? -1 : pread(events_fd, text, sizeof(text) - 1, 0);

	if (n > 0) {
		text[n] = '\0';
		if (strstr(text, "populated 1")) {
			(void)poll(&p, 1, left_ms < 20 ? (int)left_ms : 20);
			return;
		}
	}
	(void)nanosleep(&pause, NULL);
}

int cgroup_remove_at(int parent_fd, int fd, const char *name, unsigned int wait_ms, struct error *err)
{
	uint64_t now, end = 0;
	autofd events = -1;

	for (;;) {
		if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return error_errno(err, "remove group %s", name);
		now = now_ms();
		if (end == 0) {
			end = now + wait_ms;
			events = fd < 0 ? -1 : openat(fd, "cgroup.events", O_RDONLY | O_CLOEXEC); /* none on v1 */
		}
		if (now >= end)
			return error_set(err, EBUSY, "remove group %s: still in use after %u ms", name, wait_ms);
		wait_a_little(events, end - now);
	}
}

void cgroup_remove_v1(const struct cgroup *c)
{
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		if (c->v1[k].fd >= 0)
			(void)unlinkat(c->v1[k].parent_fd, c->name, AT_REMOVEDIR);
	}
}

int cgroup_remove(struct cgroup *c, unsigned int wait_ms, struct error *err)
{
	uint64_t end = now_ms() + wait_ms;
	int first = 0;

	for (int k = -1; k < CG_CONTROLLER_COUNT; k++) { /* v2 first: it tells when it is empty */
		const struct cgroup_use *u = k < 0 ? &c->v2 : &c->v1[k];
		uint64_t now = now_ms();
		int r;

		if (u->parent_fd < 0)
			continue;
		r = cgroup_remove_at(u->parent_fd, u->fd, c->name, now < end ? (unsigned int)(end - now) : 0,
				     first ? NULL : err);
		if (r < 0 && first == 0)
			first = k < 0 ? error_wrap(err, "v2") : error_wrap(err, "%s", cgroup_controller_names[k]);
	}
	return first;
}
