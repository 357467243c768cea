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

static int v2_group_make(struct cgroup *c, const struct cgroup_host *h, controller_set need, struct error *err)
{
	int r = need ? cgroup_v2_parent(h, need, &c->v2.parent_fd, err) : cgroup_v2_own(h, &c->v2.parent_fd, err);

	if (r == 0) {
		r = use_make(&c->v2, c->name, err);
		if (r < 0)
			(void)v2_wrap(&c->v2, err);
	}
	if (r < 0) {
		use_close(&c->v2);
		return r;
	}
	c->kill_fd = openat(c->v2.fd, "cgroup.kill", O_WRONLY | O_CLOEXEC); /* Linux 5.14 */
	c->kill = c->kill_fd >= 0;
	return 0;
}

static int v2_limits_write(struct cgroup *c, controller_set need, const struct limits *l, struct error *err)
{
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		int r;

		if (!(need & CG_BIT(k)))
			continue;
		r = cgroup_limit_v2(c->v2.fd, (enum cgroup_controller)k, l, err);
		if (r < 0) {
			(void)error_wrap(err, "%s", cgroup_controller_names[k]);
			(void)v2_wrap(&c->v2, err);
			return cgroup_refusal(err);
		}
		c->v2_limits[k] = true;
	}
	return 0;
}

/* The v2 group is wanted even where it holds no limit, for the kill file and the CPU time; without it the run has
 * other means, so that its want is then no error. */
static int v2_make(struct cgroup *c, const struct cgroup_host *h, controller_set need, const struct limits *l,
		   struct error *err)
{
	struct error unused;
	char words[64];
	int r;

	if (!h->v2_mount[0])
		return !need ? 0
			     : error_set(err, EOPNOTSUPP, "no cgroup hierarchy that offers %s is mounted",
					 cgroup_set_words(need, words, sizeof(words)));
	r = v2_group_make(c, h, need, need ? err : &unused);
	if (r == 0)
		r = v2_limits_write(c, need, l, err);
	if (r == 0)
		return 0;
	v2_undo(c);
	if (need && r == -EOPNOTSUPP) {
		(void)v2_group_make(c, h, 0, &unused);
		if (geteuid() != 0)
			cgroup_error_append(err, "; try ", CGROUP_REMEDY_USER);
	}
	return need ? r : 0;
}

/* An earlier controller's group on the same hierarchy, or -1. */
static signed char v1_shared(const struct cgroup *c, const struct cgroup_host *h, int k)
{
	for (int j = 0; j < k; j++) {
		if (c->v1[j].fd >= 0 && strcmp(h->v1_mount[j], h->v1_mount[k]) == 0)
			return (signed char)j;
	}
	return -1;
}

static int v1_group_make(struct cgroup *c, const struct cgroup_host *h, int k, struct error *err)
{
	struct cgroup_use *u = &c->v1[k];
	int r;

	c->v1_at[k] = v1_shared(c, h, k);
	if (c->v1_at[k] >= 0)
		return 0;
	if (h->v1_read_only[k])
		return error_set(err, EOPNOTSUPP, "mounted read-only");
	r = cgroup_v1_parent(h, (enum cgroup_controller)k, &u->parent_fd, err);
	if (r == 0)
		r = use_make(u, c->name, err);
	if (r == 0) {
		/* The kernel checks the rights of whoever opened the file, so the child may write to it later. */
		u->tasks_fd = openat(u->fd, "tasks", O_WRONLY | O_CLOEXEC);
		if (u->tasks_fd < 0)
			r = error_errno(err, "open tasks");
	}
	if (r < 0) {
		use_undo(u, c->name);
		return r;
	}
	c->v1_at[k] = (signed char)k;
	return 0;
}

static int v1_controller_make(struct cgroup *c, const struct cgroup_host *h, int k, const struct limits *l,
			      struct error *err)
{
	int r = v1_group_make(c, h, k, err);

	if (r == 0) {
		r = cgroup_limit_v1(c->v1[c->v1_at[k]].fd, (enum cgroup_controller)k, l, err);
		if (r == -ENOENT) /* a kernel built without this limit, such as CONFIG_CFS_BANDWIDTH */
			r = cgroup_refusal(err);
	}
	return r < 0 ? error_wrap(err, "%s: %s%s", cgroup_controller_names[k], h->v1_mount[k],
				  strcmp(h->v1_own[k], "/") == 0 ? "" : h->v1_own[k])
		     : 0;
}

static int v1_make(struct cgroup *c, const struct cgroup_host *h, controller_set wanted, const struct limits *l,
		   struct error *err)
{
	struct error unused;

	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		int r;

		if (!(wanted & CG_BIT(k)) || !h->v1_mount[k][0])
			continue;
		r = v1_controller_make(c, h, k, l, err);
		if (r < 0)
			return r;
	}
	/* v2's cpu.stat counts the whole tree without a controller; only where there is none a group must count. */
	if (c->v2.fd < 0 && h->v1_mount[CG_CPUACCT][0])
		(void)v1_group_make(c, h, CG_CPUACCT, &unused);
	return 0;
}

int cgroup_make_on(struct cgroup *c, const struct cgroup_host *h, const struct boundary *b, struct error *err)
{
	controller_set wanted = wanted_by(&b->limits), on_v2 = 0;
	struct error unused;
	int r;

	err = err ? err : &unused; /* what is a refusal is read from it below */
	cgroup_init(c);
	r = cgroup_name_new(c->name, sizeof(c->name), err);
	if (r < 0)
		return r;
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		if ((wanted & CG_BIT(k)) && !h->v1_mount[k][0])
			on_v2 |= CG_BIT(k);
	}
	r = v2_make(c, h, on_v2, &b->limits, err);
	if (r == 0)
		r = v1_make(c, h, wanted, &b->limits, err);
	c->limits = r == 0;
	if (r < 0)
		v1_undo(c);
	if (r < 0 && r != -EOPNOTSUPP)
		v2_undo(c);
	return r;
}

int cgroup_make(struct cgroup *c, const struct boundary *b, struct error *err)
{
	struct cgroup_host h;
	int r;

	cgroup_init(c);
	r = cgroup_host_find(&h, err);
	return r < 0 ? error_wrap(err, "find our control groups") : cgroup_make_on(c, &h, b, err);
}

int cgroup_join_self(const struct cgroup *c, struct error *err)
{
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		if (c->v1[k].tasks_fd >= 0 && write(c->v1[k].tasks_fd, "0", 1) != 1)
			return error_errno(err, "join the %s group", cgroup_controller_names[k]);
	}
	return 0;
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

int cgroup_remove(struct cgroup *c, unsigned int wait_ms, struct error *err)
{
	uint64_t end = now_ms() + wait_ms;
	int first = 0;

	for (int k = -1; k < CG_CONTROLLER_COUNT; k++) { /* v2 first: it tells when it is empty */
		const struct cgroup_use *u = k < 0 ? &c->v2 : &c->v1[k];
		uint64_t now = now_ms();
		int r;

		if (u->fd < 0)
			continue;
		r = cgroup_remove_at(u->parent_fd, u->fd, c->name, now < end ? (unsigned int)(end - now) : 0,
				     first ? NULL : err);
		if (r < 0 && first == 0)
			first = k < 0 ? error_wrap(err, "v2") : error_wrap(err, "%s", cgroup_controller_names[k]);
	}
	return first;
}
