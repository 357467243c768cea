/* Landlock (landlock(7), the kernel's Documentation/userspace-api/landlock.rst).
 *
 * Two domains.  The workload's: what the view grants, nothing else; it also keeps the workload from tracing anything
 * outside it, and with ABI 6 from signalling and from abstract sockets.  And, where there is no pid namespace, an outer
 * one around init that only scopes signals: kill(-1, SIGKILL) from init then reaches exactly what it started.
 *
 * The rights that an ABI cannot cover are named in the finding, never assumed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "isolation/control.h"
#include "util/fd.h"

/* Kernel headers of Debian 12 end at ABI 3 or so; these are of the kernel's uapi/linux/landlock.h. */
#define FS_REFER (1ULL << 13)	  /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define FS_ABI_1 ((1ULL << 13) - 1)
#define NET_TCP 3ULL		   /* ABI 4: bind and connect */
#define SCOPE_ABSTRACT (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL (1ULL << 1)
#define RESTRICT_LOG_SAME_EXEC_OFF (1U << 0) /* ABI 7: our own forbidden act is no news for the audit log */

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define READ_EXECUTE (READ | LANDLOCK_ACCESS_FS_EXECUTE)
/* Everything but device nodes, which nobody may make: that is also the forbidden act that shows the domain. */
#define WRITE_ALL                              \
	((FS_ABI_1 | FS_REFER | FS_TRUNCATE) & \
	 ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK))
#define NODE (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
/* The rights that a rule for a file, not a directory, may carry (landlock(7): EINVAL otherwise). */
#define FILE_RIGHTS                                                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE | \
	 FS_IOCTL_DEV)

int landlock_abi_of_host(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

static uint64_t rights_of(int abi)
{
	uint64_t rights = FS_ABI_1;

	if (abi >= 2)
		rights |= FS_REFER;
	if (abi >= 3)
		rights |= FS_TRUNCATE;
	if (abi >= 5)
		rights |= FS_IOCTL_DEV;
	return rights;
}

static int create(const struct ruleset_attr *attr, int abi, struct error *err)
{
	size_t size = abi >= 6 ? sizeof(*attr) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	long fd = syscall(SYS_landlock_create_ruleset, attr, size, 0);

	return fd < 0 ? error_errno(err, "landlock_create_ruleset") : (int)fd;
}

static int add_fd(int ruleset, int fd, uint64_t rights, const char *what, struct error *err)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "look at %s", what);
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FILE_RIGHTS;
	if (rule.allowed_access == 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return error_errno(err, "landlock_add_rule for %s", what);
	return 0;
}

/* A path that is not there gets no rule: nothing is granted by leaving one out. */
static int add_path(int ruleset, const char *path, uint64_t rights, struct error *err)
{
	autofd fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, "open %s for Landlock", path);
	return add_fd(ruleset, fd, rights, path, err);
}

struct path_rule {
	const char *path;
	uint64_t rights;
};

/* Inside the private root everything that is in view may be read: the view itself is the grant. */
static const struct path_rule private_rules[] = {
	{ "/", READ_EXECUTE },		{ "/proc", READ | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE },
	{ "/tmp", WRITE_ALL },		{ INNER_HOME, WRITE_ALL },
	{ INNER_WORKSPACE, WRITE_ALL }, { "/dev", NODE | LANDLOCK_ACCESS_FS_READ_DIR },
	{ "/dev/shm", WRITE_ALL },
};

/* On the host's own tree: the toolchain, the same parts of /etc that the private root shows, and six nodes.  Not /proc:
 * it would show the host's processes. */
static const struct path_rule host_rules[] = {
	{ "/usr", READ_EXECUTE },
	{ "/bin", READ_EXECUTE },
	{ "/sbin", READ_EXECUTE },
	{ "/lib", READ_EXECUTE },
	{ "/lib32", READ_EXECUTE },
	{ "/lib64", READ_EXECUTE },
	{ "/libx32", READ_EXECUTE },
	{ "/etc/passwd", READ },
	{ "/etc/group", READ },
	{ "/etc/hosts", READ },
	{ "/etc/nsswitch.conf", READ },
	{ "/etc/ld.so.cache", READ },
	{ "/etc/ld.so.conf", READ },
	{ "/etc/localtime", READ },
	{ "/etc/timezone", READ },
	{ "/etc/mime.types", READ },
	{ "/etc/services", READ },
	{ "/etc/protocols", READ },
	{ "/etc/alternatives", READ },
	{ "/etc/fonts", READ },
	{ "/etc/ImageMagick-6", READ },
	{ "/etc/ImageMagick-7", READ },
	{ "/etc/ssl/certs", READ },
	{ "/etc/ssl/openssl.cnf", READ },
	{ "/dev/null", NODE },
	{ "/dev/zero", NODE },
	{ "/dev/full", NODE },
	{ "/dev/random", NODE & ~(uint64_t)LANDLOCK_ACCESS_FS_WRITE_FILE },
	{ "/dev/urandom", NODE & ~(uint64_t)LANDLOCK_ACCESS_FS_WRITE_FILE },
};

static int add_rules(int ruleset, const struct path_rule *rules, size_t count, uint64_t handled, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_path(ruleset, rules[i].path, rules[i].rights & handled, err);
	return r;
}

static int add_grants(const struct confinement *c, int ruleset, uint64_t handled, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->grant_count; i++) {
		const struct resolved_grant *g = &c->grants[i];
		bool writable = g->grant->kind == GRANT_RW || g->grant->kind == GRANT_OUT;
		uint64_t rights = (writable ? WRITE_ALL : READ_EXECUTE) & handled;

		if (!uses(c, MECH_MOUNTNS))
			r = add_fd(ruleset, g->fd, rights, g->grant->path, err);
		for (size_t k = 0; r == 0 && uses(c, MECH_MOUNTNS) && k < 2; k++) {
			if (g->inside[k][0])
				r = add_path(ruleset, g->inside[k], rights, err);
		}
	}
	return r;
}

/* What was passed as 0, 1 and 2 may be opened again through /dev/stdin and its like, in the direction it was passed. */
static int add_stdio(const struct confinement *c, int ruleset, uint64_t handled, struct error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < 3; i++) {
		int fd = c->stdio.fd[i] >= 0 ? c->stdio.fd[i] : i, flags = fcntl(fd, F_GETFL);
		uint64_t rights = 0;
		struct stat st;

		if (flags < 0 || fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)))
			continue;
		if ((flags & O_ACCMODE) != O_WRONLY)
			rights |= LANDLOCK_ACCESS_FS_READ_FILE;
		if ((flags & O_ACCMODE) != O_RDONLY)
			rights |= LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE;
		if (S_ISCHR(st.st_mode))
			rights |= FS_IOCTL_DEV;
		r = add_fd(ruleset, fd, rights & handled, "a standard descriptor", err);
		if (r == -EBADFD) /* in no tree of mounts, as a memfd: no rule, so it cannot be opened again */
			r = 0;
	}
	return r;
}

static uint64_t scopes_of(const struct confinement *c)
{
	return uses(c, MECH_LANDLOCK_SCOPE) && c->landlock_abi >= 6 ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0;
}

static int prepare_workload_domain(struct confinement *c, struct error *err)
{
	uint64_t handled = rights_of(c->landlock_abi);
	struct ruleset_attr attr = {
		.fs = handled,
		.net = c->landlock_abi >= 4 && c->boundary->net == NET_NONE ? NET_TCP : 0,
		.scoped = scopes_of(c),
	};
	int r;

	c->ruleset_fd = create(&attr, c->landlock_abi, err);
	if (c->ruleset_fd < 0)
		return c->ruleset_fd;
	if (uses(c, MECH_MOUNTNS))
		r = add_rules(c->ruleset_fd, private_rules, sizeof(private_rules) / sizeof(private_rules[0]), handled,
			      err);
	else
		r = add_rules(c->ruleset_fd, host_rules, sizeof(host_rules) / sizeof(host_rules[0]), handled, err);
	if (r == 0 && c->workspace.fd >= 0)
		r = add_fd(c->ruleset_fd, c->workspace.fd, WRITE_ALL & handled, "the workspace", err);
	if (r == 0)
		r = add_grants(c, c->ruleset_fd, handled, err);
	return r < 0 ? r : add_stdio(c, c->ruleset_fd, handled, err);
}

static void find_abi(struct confinement *c)
{
	c->landlock_abi = landlock_abi_of_host();
	if (c->landlock_abi > LANDLOCK_ABI_KNOWN)
		c->landlock_abi = LANDLOCK_ABI_KNOWN;
}

static int no_scope(const struct confinement *c, struct error *err)
{
	if (c->landlock_abi == 0)
		return error_set(err, EOPNOTSUPP, "this kernel has no Landlock");
	return error_set(err, EOPNOTSUPP, "Landlock ABI %d has no signal scope (6 has)", c->landlock_abi);
}

static int restrict_self(int ruleset, int abi, struct error *err)
{
	if (syscall(SYS_landlock_restrict_self, ruleset, abi >= 7 ? RESTRICT_LOG_SAME_EXEC_OFF : 0) < 0)
		return error_errno(err, "landlock_restrict_self");
	return 0;
}

/* kill(-1, SIGKILL) is sent on the strength of this domain, so it is not taken on the kernel's word alone: our launcher,
 * which has our uid, must be out of reach. */
int landlock_enter_outer(struct confinement *c, struct error *err)
{
	struct ruleset_attr attr = { .scoped = SCOPE_SIGNAL | (uses(c, MECH_LANDLOCK) ? SCOPE_ABSTRACT : 0) };
	int r = 0;
	autofd ruleset = -1;

	if (uses(c, MECH_PIDNS))
		return 0;
	find_abi(c);
	if (c->landlock_abi < 6)
		return no_scope(c, err);
	/* Once one domain handles files, every other one refuses moves between directories as well unless it grants them
	 * (LANDLOCK_ACCESS_FS_REFER, landlock(7)).  The workload's own domain decides about them. */
	if (uses(c, MECH_LANDLOCK))
		attr.fs = FS_REFER;
	ruleset = create(&attr, c->landlock_abi, err);
	if (ruleset < 0)
		return ruleset;
	if (uses(c, MECH_LANDLOCK))
		r = add_path(ruleset, "/", FS_REFER, err);
	if (r == 0)
		r = restrict_self(ruleset, c->landlock_abi, err);
	if (r == 0 && (kill(getppid(), 0) == 0 || errno != EPERM))
		r = error_set(err, ENOTSUP, "the signal scope is not in force: the launcher can be signalled");
	c->outer_domain = r == 0;
	return r;
}

int landlock_prepare(struct confinement *c, struct error *err)
{
	/* Abstract sockets are left alone in the process tier, which promises no network. */
	struct ruleset_attr scope_only = { .scoped = SCOPE_SIGNAL };

	find_abi(c);
	if (uses(c, MECH_LANDLOCK)) {
		int r = c->landlock_abi > 0 ? prepare_workload_domain(c, err)
					    : error_set(err, EOPNOTSUPP, "this kernel has no Landlock");
		if (r < 0)
			return r;
	}
	if (uses(c, MECH_LANDLOCK_SCOPE) && c->landlock_abi < 6)
		return no_scope(c, err);
	if (uses(c, MECH_LANDLOCK_SCOPE) && !uses(c, MECH_LANDLOCK)) {
		c->ruleset_fd = create(&scope_only, c->landlock_abi, err);
		if (c->ruleset_fd < 0)
			return c->ruleset_fd;
	}
	return 0;
}

int landlock_enter(struct confinement *c, struct error *err)
{
	return c->ruleset_fd < 0 ? 0 : restrict_self(c->ruleset_fd, c->landlock_abi, err);
}

/* The forbidden acts.  A whiteout, the character device 0:0, may be made by anybody in a directory of theirs (since
 * Linux 5.8), so only Landlock can refuse it, with EACCES; the null signal to init would reach it as the same user. */
/* A place of the workload's own that no grant lies over, where the modes would allow it. */
static const char *own_place(const struct confinement *c)
{
	static const char *const places[] = { INNER_WORKSPACE, INNER_HOME, "/tmp", "/dev/shm" };

	if (!uses(c, MECH_MOUNTNS))
		return c->workspace.path;
	for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
		bool covered = false;

		for (size_t i = 0; i < c->grant_count; i++) {
			for (size_t k = 0; k < 2; k++) {
				const char *inside = c->grants[i].inside[k];
				size_t n = strlen(inside);

				covered = covered || (n && strncmp(places[p], inside, n) == 0 &&
						      (places[p][n] == '\0' || places[p][n] == '/'));
			}
		}
		if (!covered)
			return places[p];
	}
	return places[0];
}

void landlock_show(const struct confinement *c, struct shown *out)
{
	const char *dir = own_place(c);
	char path[600];

	out->landlock_abi = c->landlock_abi;
	if (uses(c, MECH_LANDLOCK)) {
		(void)snprintf(path, sizeof(path), "%s/.bulkhead-forbidden", dir);
		out->landlock_errno = mknod(path, S_IFCHR, makedev(0, 0)) == 0 ? 0 : errno;
		if (out->landlock_errno == 0)
			(void)unlink(path);
	}
	if (uses(c, MECH_LANDLOCK_SCOPE))
		out->scope_errno = kill(getppid(), 0) == 0 ? 0 : errno;
}

void landlock_observe(const struct observation *o, struct finding *out)
{
	int abi = o->shown.landlock_abi;

	if (o->shown.landlock_errno != EACCES)
		finding_set(out, FINDING_FAILED, o->shown.landlock_errno,
			    "making a forbidden node gave errno %d, not EACCES", o->shown.landlock_errno);
	else
		finding_set(out, FINDING_ENFORCED, 0,
			    "ABI %d in effect (kernel %d, ours %d); mknod gave EACCES%s%s%s%s", abi,
			    landlock_abi_of_host(), LANDLOCK_ABI_KNOWN,
			    abi < 2 ? "; moves between directories are refused" : "",
			    abi < 3 ? "; truncate not covered" : "", abi < 5 ? "; device ioctl not covered" : "",
			    abi < 6 ? "; no scopes" : "");
}

void landlock_scope_observe(const struct observation *o, struct finding *out)
{
	if (o->shown.scope_errno != EPERM)
		finding_set(out, FINDING_FAILED, o->shown.scope_errno,
			    "the null signal to init gave errno %d, not EPERM", o->shown.scope_errno);
	else
		finding_set(out, FINDING_ENFORCED, 0, "kill(init, 0) gave EPERM");
}
