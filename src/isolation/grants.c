/* Granted paths: resolved once, by the launcher, with the caller's rights, to a descriptor.  Everything later uses the
 * object, not the name, so that a link or a rename in between changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/apply.h"
#include "isolation/control.h"
#include "isolation/gpu.h"
#include "isolation/mount_api.h"
#include "util/fd.h"

static int complain(struct error *err, const struct grant *g)
{
	return error_wrap(err, "--%s %s", grant_kind_name(g->kind), g->path);
}

/* The absolute path as the caller wrote it, without ".", ".." and double slashes: where the object appears inside. */
static int lexical_path(const char *path, char *out, size_t size, struct error *err)
{
	char whole[PATH_MAX * 2], cwd[PATH_MAX], *save = NULL;
	size_t used = 0;

	if (path[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return error_errno(err, "find the working directory");
	(void)snprintf(whole, sizeof(whole), "%s/%s", path[0] == '/' ? "" : cwd, path);
	out[0] = '\0';
	for (char *name = strtok_r(whole, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			while (used > 0 && out[--used] != '/')
				;
			out[used] = '\0';
			continue;
		}
		if (used + strlen(name) + 2 > size)
			return error_set(err, ENAMETOOLONG, "longer than %zu bytes", size - 1);
		used += (size_t)snprintf(out + used, size - used, "/%s", name);
	}
	return used ? 0 : error_set(err, EINVAL, "the whole root cannot be granted");
}

static int real_path_of(int fd, char *out, size_t size, struct error *err)
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, size - 1);
	if (n < 0)
		return error_errno(err, "find where it leads");
	if ((size_t)n >= size - 1)
		return error_set(err, ENAMETOOLONG, "longer than %zu bytes", size - 2);
	out[n] = '\0';
	return 0;
}

/* Places of the private root that a grant may not cover: what is there would no longer be what was observed. */
static int check_inside(const char *inside, struct error *err)
{
	static const char *const kept[] = { "/proc", "/dev", "/sys", "/etc/passwd", "/etc/group" };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		size_t n = strlen(kept[i]);

		if (strncmp(inside, kept[i], n) == 0 && (inside[n] == '\0' || inside[n] == '/'))
			return error_set(err, EPERM, "%s inside is the sandbox's own and cannot be granted", kept[i]);
	}
	return 0;
}

static int place(struct resolved_grant *g, struct error *err)
{
	const struct grant *asked = g->grant;
	int r;

	if (asked->kind == GRANT_IN) {
		const char *slash = strrchr(asked->path, '/');

		(void)snprintf(g->inside[0], INSIDE_MAX, INNER_WORKSPACE "/%.255s", slash ? slash + 1 : asked->path);
		return 0;
	}
	if (asked->kind == GRANT_OUT) {
		(void)snprintf(g->inside[0], INSIDE_MAX, INNER_WORKSPACE "/out");
		return 0;
	}
	r = lexical_path(asked->path, g->inside[0], INSIDE_MAX, err);
	if (r == 0)
		r = real_path_of(g->fd, g->inside[1], INSIDE_MAX, err);
	if (r == 0 && strcmp(g->inside[0], g->inside[1]) == 0)
		g->inside[1][0] = '\0'; /* no link on the way: one place */
	if (r == 0)
		r = check_inside(g->inside[0], err);
	return r == 0 && g->inside[1][0] ? check_inside(g->inside[1], err) : r;
}

static int check_kind(const struct resolved_grant *g, mode_t mode, struct error *err)
{
	if (g->grant->kind == GRANT_IN && !S_ISREG(mode))
		return error_set(err, EINVAL, "not a regular file");
	if (g->grant->kind == GRANT_OUT && !S_ISDIR(mode))
		return error_set(err, ENOTDIR, "not a directory");
	if (!S_ISREG(mode) && !S_ISDIR(mode))
		return error_set(err, EINVAL,
				 "neither a file nor a directory (sockets, pipes and devices are not granted by path)");
	return 0;
}

static int explain_missing(const char *path, struct error *err)
{
	struct stat st;
	char target[256];
	ssize_t n;
	int code = errno;

	if (code == ENOENT && lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		n = readlink(path, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		return error_set(err, code, "a link to %s, which is not there", target);
	}
	return error_set(err, code, "%s", strerrordesc_np(code));
}

static int resolve_one(struct resolved_grant *g, const struct grant *asked, struct error *err)
{
	struct stat st;
	int r;

	*g = (struct resolved_grant){ .grant = asked, .fd = -1, .tree_fd = -1 };
	g->fd = open(asked->path, O_PATH | O_CLOEXEC);
	if (g->fd < 0)
		return explain_missing(asked->path, err);
	if (fstat(g->fd, &st) < 0)
		return error_errno(err, "look at it");
	r = check_kind(g, st.st_mode, err);
	if (r < 0)
		return r;
	g->is_dir = S_ISDIR(st.st_mode);
	g->dev = st.st_dev;
	g->ino = st.st_ino;
	g->owner = st.st_uid;
	g->group = st.st_gid;
	return place(g, err);
}

/* A user namespace that maps the owner of a granted tree to the workload's uid, for mount_setattr(2).  A child has to
 * exist for as long as it takes to open its namespace. */
static int idmap_userns(uid_t owner, gid_t group, const struct confinement *c, struct error *err)
{
	char line[64], path[64];
	int fd = -1, r = 0;
	autofd dir = -1, life = -1, ours = -1;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_errno(err, "make a pipe for the id map");
	life = ends[0];
	ours = ends[1];
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		return error_errno(err, "make a user namespace for the id map");
	if (pid == 0) {
		char word;

		/* it must not outlive us, nor hold what we hold */
		if (fd_close_all_but(0, &life, 1, NULL) == 0)
			(void)!read(life, &word, 1);
		_exit(0);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		r = error_errno(err, "open %s", path);
	(void)snprintf(line, sizeof(line), "%u %u 1\n", owner, c->host_uid);
	if (r == 0)
		r = fd_write_file_at(dir, "uid_map", line, err);
	(void)snprintf(line, sizeof(line), "%u %u 1\n", group, c->host_gid);
	if (r == 0)
		r = fd_write_file_at(dir, "gid_map", line, err);
	if (r == 0) {
		fd = openat(dir, "ns/user", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			r = error_errno(err, "open the id map's namespace");
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return r < 0 ? r : fd;
}

/* A privileged launcher clones the mount itself, since the workload's uid might not reach the path, and maps the owner's
 * id to the workload's: what it writes belongs to the owner of the directory, on every path, failures too. */
static int clone_mapped(struct confinement *c, struct resolved_grant *g, struct error *err)
{
	bool writable = g->grant->kind == GRANT_RW || g->grant->kind == GRANT_OUT;
	struct mount_attr attr = { .attr_set = (uint64_t)MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       (writable ? 0u : (uint64_t)MOUNT_ATTR_RDONLY),
				   .propagation = BULKHEAD_PROPAGATION_PRIVATE };
	struct mount_attr map = { .attr_set = MOUNT_ATTR_IDMAP };
	autofd userns = -1;

	g->tree_fd = api_open_tree(g->fd, "", AT_EMPTY_PATH);
	if (g->tree_fd < 0)
		return error_errno(err, "open_tree");
	if (api_mount_setattr(g->tree_fd, AT_RECURSIVE, &attr) < 0)
		return error_errno(err, "mount_setattr");
	userns = idmap_userns(g->owner, g->group, c, err);
	if (userns < 0)
		return userns;
	map.userns_fd = (__u64)(unsigned int)userns;
	if (api_mount_setattr(g->tree_fd, AT_RECURSIVE, &map) == 0)
		return 0;
	/* Read-only grants do without: what others may read stays readable, and nothing can be left behind. */
	if (!writable)
		return 0;
	return error_errno(
		err, "its filesystem (or one mounted below it) has no id-mapped mounts, so results would belong to a "
		     "stranger; grant a directory on ext4, xfs, btrfs or tmpfs");
}

static int by_depth(const void *a, const void *b)
{
	const struct resolved_grant *x = a, *y = b;
	size_t nx = strlen(x->inside[0]), ny = strlen(y->inside[0]);

	return nx < ny ? -1 : nx > ny;
}

/* Start in the caller's own directory when it is inside a granted one, else in the workspace. */
static void choose_cwd(struct confinement *c)
{
	char cwd[PATH_MAX];

	(void)snprintf(c->cwd, sizeof(c->cwd), "%s", uses(c, MECH_MOUNTNS) ? INNER_WORKSPACE : c->workspace.path);
	if (!getcwd(cwd, sizeof(cwd)) || strlen(cwd) >= sizeof(c->cwd))
		return;
	for (size_t i = 0; i < c->grant_count; i++) {
		for (size_t k = 0; k < 2; k++) {
			const char *inside = c->grants[i].inside[k];
			size_t n = strlen(inside);

			if (n && c->grants[i].is_dir && c->grants[i].grant->kind <= GRANT_RW &&
			    strncmp(cwd, inside, n) == 0 && (cwd[n] == '/' || cwd[n] == '\0'))
				(void)snprintf(c->cwd, sizeof(c->cwd), "%s", cwd);
		}
	}
}

/* Without a private root a granted file cannot appear in the workspace; a link to it can. */
static int link_into_workspace(const struct confinement *c, const struct resolved_grant *g, struct error *err)
{
	char target[INSIDE_MAX];
	const char *name = strrchr(g->inside[0], '/') + 1;
	int r = real_path_of(g->fd, target, sizeof(target), err);

	if (r < 0)
		return r;
	return symlinkat(target, c->workspace.fd, name) < 0 ? error_errno(err, "link it into the workspace") : 0;
}

int grants_resolve(struct confinement *c, struct error *err)
{
	const struct boundary *b = c->boundary;
	int r = 0;

	for (c->grant_count = 0; r == 0 && c->grant_count < b->grant_count;) {
		struct resolved_grant *g = &c->grants[c->grant_count];

		r = resolve_one(g, &b->grants[c->grant_count], err);
		c->grant_count++;
		if (r == 0 && uses(c, MECH_MOUNTNS) && c->privileged)
			r = clone_mapped(c, g, err);
		if (r < 0)
			return complain(err, g->grant);
	}
	for (size_t i = 0; i < b->gpu_count; i++) {
		if (gpu_minor_of(b->gpus[i], &c->gpu_minors[i], err) < 0)
			return error_wrap(err, "--gpu %.60s", b->gpus[i]);
	}
	if (b->rootfs && uses(c, MECH_MOUNTNS)) {
		struct stat st;

		if (stat(b->rootfs, &st) < 0)
			return error_errno(err, "--rootfs %s", b->rootfs);
		if (!S_ISDIR(st.st_mode))
			return error_set(err, ENOTDIR, "--rootfs %s: not a directory", b->rootfs);
		c->rootfs_dev = st.st_dev;
		c->rootfs_ino = st.st_ino;
	}
	/* outer mounts first, so that an inner one is not covered */
	qsort(c->grants, c->grant_count, sizeof(c->grants[0]), by_depth);
	choose_cwd(c);
	return 0;
}

int grants_link(struct confinement *c, struct error *err)
{
	for (size_t i = 0; i < c->grant_count; i++) {
		const struct resolved_grant *g = &c->grants[i];

		if (c->workspace.fd >= 0 && g->grant->kind >= GRANT_IN && link_into_workspace(c, g, err) < 0)
			return complain(err, g->grant);
	}
	return 0;
}

void grants_done(struct confinement *c)
{
	for (size_t i = 0; i < c->grant_count; i++) {
		fd_close(&c->grants[i].fd);
		fd_close(&c->grants[i].tree_fd);
	}
	c->grant_count = 0;
}
