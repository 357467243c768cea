#include "launch/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "drivers/driver.h"
#include "isolation/control.h"
#include "isolation/plan.h"
#include "launch/terminal.h"
#include "util/clock.h"
#include "util/fd.h"

/* How long the groups may stay busy once the tree is dead: the kernel empties them a moment later. */
#define REMOVE_WAIT_MS 10000

/* A socket that was passed belongs to the caller's network namespace, whatever ours is, and a filter cannot see where it
 * sends.  So it must be joined to its one peer for good.  Of all kinds only a connected AF_UNIX stream or sequenced-packet
 * socket is: a TCP socket can be disconnected (connect(2), AF_UNSPEC), even past Landlock (MSG_FASTOPEN), a datagram socket
 * sends to any address, and one that listens lets others in. */
static int check_socket(const struct confinement *c, int fd, struct error *err)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);
	struct sockaddr_storage peer;
	socklen_t peer_len = sizeof(peer);

	if (c->boundary->tier == TIER_PROCESS)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0)
		return error_errno(err, "standard descriptor %d", fd);
	if (domain == AF_INET || domain == AF_INET6)
		return c->boundary->net == NET_HOST
			       ? 0
			       : error_set(err, EINVAL,
					   "standard descriptor %d is an internet socket: a way to the host's network; "
					   "pass it through a pipe, as with cat(1)",
					   fd);
	if (domain != AF_UNIX)
		return error_set(err, EINVAL, "standard descriptor %d is a socket of address family %d", fd, domain);
	if (type != SOCK_STREAM && type != SOCK_SEQPACKET)
		return error_set(err, EINVAL,
				 "standard descriptor %d is a datagram socket: a way to every other of this host", fd);
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0)
		return error_set(err, EINVAL, "standard descriptor %d is a socket that is not connected", fd);
	return 0;
}

/* Files that are no files: handles on processes, namespaces and kernel objects.  (linux/magic.h, but for those that it lacks
 * before Linux 6.9.) */
static bool is_handle(int fd)
{
	static const unsigned long kinds[] = { PROC_SUPER_MAGIC,
					       NSFS_MAGIC,
					       CGROUP_SUPER_MAGIC,
					       CGROUP2_SUPER_MAGIC,
					       DEBUGFS_MAGIC,
					       TRACEFS_MAGIC,
					       BPF_FS_MAGIC,
					       SECURITYFS_MAGIC,
					       0x50494446 /* pidfs */,
					       0x19800202 /* mqueue */,
					       0x09041934 /* anonymous inodes */ };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if ((unsigned long)fs.f_type == kinds[i])
			return true;
	}
	return false;
}

/* 1:3 null, 5 zero, 7 full, 8 random, 9 urandom (the kernel's devices.txt) */
static bool is_plain_device(const struct stat *st)
{
	return major(st->st_rdev) == 1 && (minor(st->st_rdev) == 3 || minor(st->st_rdev) == 5 ||
					   (minor(st->st_rdev) >= 7 && minor(st->st_rdev) <= 9));
}

static int check_one(const struct confinement *c, int i, struct error *err)
{
	int flags = fcntl(i, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(i, &st) < 0)
		return error_errno(err, "standard descriptor %d", i);
	if (flags & O_PATH)
		return error_set(err, EINVAL, "standard descriptor %d is an O_PATH descriptor", i);
	if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
		return error_set(err, EINVAL, "standard descriptor %d is a %s: a way out of the boundary", i,
				 S_ISDIR(st.st_mode) ? "directory" : "block device");
	if (S_ISCHR(st.st_mode) && !isatty(i) && !is_plain_device(&st))
		return error_set(err, EINVAL, "standard descriptor %d is character device %u:%u", i, major(st.st_rdev),
				 minor(st.st_rdev));
	if (S_ISSOCK(st.st_mode))
		return check_socket(c, i, err);
	if (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode))
		return 0;
	if (!S_ISREG(st.st_mode) || is_handle(i))
		return error_set(
			err, EINVAL,
			"standard descriptor %d is a handle on a kernel object, not a file; pass what it reads "
			"through a pipe, as with cat(1)",
			i);
	return 0;
}

/* What a passed descriptor may be: a pipe, a file, a terminal, a plain device, a socket with one peer. */
static int check_stdio(const struct confinement *c, struct error *err)
{
	for (int i = 0; i < 3; i++) {
		if (c->stdio.fd[i] == STDIO_CALLER && check_one(c, i, err) < 0)
			return -err->code;
	}
	return 0;
}

/* Checked already, as the caller's. */
static int pipe_input(struct attempt *a, struct error *err)
{
	struct stat st;
	int ends[2];

	if (fstat(0, &st) < 0)
		return error_errno(err, "standard descriptor 0");
	if (!S_ISREG(st.st_mode))
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, "make a pipe for the input");
	a->c.stdio.fd[0] = ends[0];
	a->input_fd = ends[1];
	return 0;
}

static int plan_stdio(struct attempt *a, const struct launch_options *o, struct error *err)
{
	struct stdio_plan *plan = &a->c.stdio;
	bool relay = o->count_output || a->c.boundary->limits.output_bytes != LIMIT_NONE;
	/* A file that was passed for one direction could be opened again for the other, through /proc/self/fd: where no Landlock
	 * rule says otherwise it goes through a pipe. */
	bool pipe_files = a->c.boundary->tier != TIER_PROCESS && !uses(&a->c, MECH_LANDLOCK);

	if (o->trial) {
		for (int i = 0; i < 3; i++) {
			plan->fd[i] = open("/dev/null", i == 0 ? O_RDONLY | O_CLOEXEC : O_WRONLY | O_CLOEXEC);
			if (plan->fd[i] < 0)
				return error_errno(err, "open /dev/null");
		}
		return 0;
	}
	terminal_plan(plan);
	for (int i = 1; i < 3; i++) {
		struct stat st;
		int ends[2];

		if (plan->fd[i] != STDIO_CALLER)
			continue; /* a terminal's output is relayed and counted anyway */
		/* --disk is not for the caller's own file: through a pipe the limit per file does not reach it. */
		if (!relay &&
		    !((rlimits_bound_files(&a->c) || pipe_files) && fstat(i, &st) == 0 && S_ISREG(st.st_mode)))
			continue;
		if (pipe2(ends, O_CLOEXEC) < 0)
			return error_errno(err, "make a pipe for the output");
		a->output_fd[i - 1] = ends[0];
		plan->fd[i] = ends[1];
	}
	if (check_stdio(&a->c, err) < 0)
		return -err->code;
	return pipe_files && plan->fd[0] == STDIO_CALLER ? pipe_input(a, err) : 0;
}

static void close_workload_ends(struct attempt *a)
{
	for (int i = 0; i < 3; i++) {
		if (a->c.stdio.fd[i] >= 0)
			fd_close(&a->c.stdio.fd[i]);
	}
}

/* What plan_supported() missed under a mechanism that it took out: the reader has to change that one. */
static void name_missing(const struct confinement *c, mechanism_set wants, mechanism_set missing, struct finding *out)
{
	static const enum mechanism below[] = { MECH_USERNS, MECH_MOUNTNS, MECH_PIDNS };

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		enum mechanism m = below[i];

		if ((wants & ~missing & MECH_BIT(m)) || (m == MECH_USERNS && c->privileged))
			continue;
		finding_set(out, FINDING_UNSUPPORTED, 0, "rests on %s, which is missing: %.130s", mechanism_name(m),
			    missing & MECH_BIT(m) ? c->evidence->mechanisms[m].how : "--without");
		return;
	}
	finding_set(out, FINDING_UNSUPPORTED, 0, "rests on another mechanism that is missing");
}

/* The starting point of the evidence: what is in the plan may be there; what is not has its reason. */
static void begin_findings(struct confinement *c, const struct driver *d, mechanism_set missing)
{
	mechanism_set wants = d->wants(c->boundary) & ~c->boundary->without;

	c->use = plan_supported(wants & ~missing, c->privileged);
	for (int m = 0; m < MECH_COUNT; m++) {
		struct finding *f = &c->evidence->mechanisms[m];

		if (c->use & MECH_BIT(m))
			finding_set(f, FINDING_AVAILABLE, 0, "%s", "");
		else if (c->boundary->without & MECH_BIT(m))
			finding_set(f, FINDING_WITHOUT, 0, "--without");
		else if (missing & MECH_BIT(m))
			continue; /* its finding says why */
		else if (!(wants & MECH_BIT(m)))
			finding_set(f, FINDING_NOT_ASKED, 0, "%s", "");
		else if (m == MECH_OWN_UID && !c->privileged)
			finding_set(f, FINDING_UNSUPPORTED, EPERM, "needs CAP_SETUID, CAP_SETGID and CAP_SYS_ADMIN");
		else
			name_missing(c, wants, missing, f);
	}
}

/* Errors that say what this host does not offer or does not allow.  Every other one may come from a full or failing host,
 * or from somebody who makes it so: planning around it would make the boundary depend on that. */
static bool host_lacks(enum mechanism step, int code)
{
	static const int codes[] = { EPERM, EACCES, ENOSYS, EINVAL, EOPNOTSUPP, ENODEV, ENOENT, EROFS };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (code == codes[i])
			return true;
	}
	return code == ENOSPC && namespaces_switched_off(step); /* else: all of them are in use at the moment */
}

static int try_once(struct attempt *a, const struct launch_options *o, enum mechanism *step, struct error *err)
{
	int r;

	a->began_ns = clock_ns();
	*step = MECH_COUNT;
	r = plan_stdio(a, o, err);
	if (r == 0)
		r = a->driver->prepare(&a->c, step, err);
	if (r < 0)
		return r;
	*step = MECH_COUNT;
	r = janitor_start(&a->janitor, &a->c, err);
	a->prepared_ns = clock_ns();
	if (r == 0) {
		r = a->driver->start(&a->c, &a->s, err);
		*step = a->s.failed;
	}
	close_workload_ends(a);
	a->ready_ns = clock_ns();
	return r;
}

static int refuse(struct evidence *e, struct outcome *out)
{
	out->kind = OUTCOME_REFUSED;
	return evidence_refusal(e, &out->error);
}

/* What only a private root can give must not silently be left out by a plan without one. */
static int check_wishes(const struct confinement *c, struct error *err)
{
	const struct finding *f = &c->evidence->mechanisms[MECH_MOUNTNS];

	if (uses(c, MECH_MOUNTNS) ||
	    (!c->boundary->rootfs && !(c->boundary->gpu_count && c->boundary->tier == TIER_SANDBOX)))
		return 0;
	return error_set(err, EOPNOTSUPP, "--%s needs a private root (mount namespace), which is %s: %s",
			 c->boundary->rootfs ? "rootfs" : "gpu", finding_state_name(f->state),
			 f->how[0] ? f->how : "in this tier");
}

static void attempt_init(struct attempt *a, const struct boundary *b, const struct launch_options *o,
			 struct evidence *e, const sigset_t *caller_mask)
{
	confinement_init(&a->c, b, e, o->workdir);
	a->c.caller_mask = *caller_mask;
	a->c.caller_mask_set = true;
	a->driver = driver_for(b->tier);
	a->s = (struct started)STARTED_INIT;
	a->janitor = (struct janitor)JANITOR_INIT;
	a->input_fd = a->output_fd[0] = a->output_fd[1] = -1;
}

static int look(struct attempt *a, struct outcome *out)
{
	int refused = a->driver->observe(&a->c, &a->s, &out->error);

	a->observed_ns = clock_ns();
	if (refused == 0)
		return 0;
	if (refused > 0)
		return refuse(a->c.evidence, out);
	out->kind = OUTCOME_FAILED;
	return refused;
}

int attempt_start(struct attempt *a, const struct boundary *b, const struct launch_options *o, struct evidence *e,
		  const sigset_t *caller_mask, struct outcome *out)
{
	mechanism_set missing = 0;
	int r = driver_for(b->tier)
			? 0
			: error_set(&out->error, EOPNOTSUPP, "no driver for tier %s in this build", tier_name(b->tier));

	out->kind = OUTCOME_FAILED;
	memset(e, 0, sizeof(*e));
	while (r == 0) {
		enum mechanism step;

		attempt_init(a, b, o, e, caller_mask);
		begin_findings(&a->c, a->driver, missing);
		if (evidence_judge(e, b) > 0)
			return refuse(e, out);
		r = check_wishes(&a->c, &out->error);
		if (r < 0)
			return r;
		r = try_once(a, o, &step, &out->error);
		if (r == 0) {
			r = look(a, out);
			step = a->s.failed; /* init's last steps are walked meanwhile */
		}
		if (r == 0) {
			out->error = (struct error){ 0 }; /* of a plan that was given up */
			return 0;
		}
		(void)attempt_end(a, NULL);
		if (out->kind == OUTCOME_REFUSED || step >= MECH_COUNT || !host_lacks(step, out->error.code) ||
		    (missing & MECH_BIT(step)))
			return r;
		missing |= MECH_BIT(step);
		finding_set(&e->mechanisms[step], FINDING_UNSUPPORTED, out->error.code, "%.190s", out->error.text);
		r = 0;
	}
	return r;
}

int attempt_end(struct attempt *a, struct error *err)
{
	int r = 0, worse;

	confinement_abort(&a->c, &a->s);
	close_workload_ends(a);
	fd_close(&a->input_fd);
	for (int i = 0; i < 2; i++)
		fd_close(&a->output_fd[i]);
	if (a->c.cgroup.name[0])
		r = cgroup_remove(&a->c.cgroup, REMOVE_WAIT_MS, err);
	worse = workspace_remove(&a->c.workspace, NULL, r < 0 ? NULL : err);
	/* Whatever could not be removed the janitor tries again: it is not told that all is done. */
	if (r < 0 || worse < 0)
		fd_close(&a->janitor.pipe_fd);
	janitor_dismiss(&a->janitor);
	confinement_done(&a->c);
	janitor_reap(&a->janitor);
	return r < 0 ? r : worse;
}
