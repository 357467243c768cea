/* The view: which of the host's files a sandbox sees, and what is written for it instead. */
#include "isolation/mounts_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolation/mount_api.h"
#include "util/fd.h"

#define NODE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static int write_text(int root, const char *path, const char *text, struct error *err)
{
	autofd fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_errno(err, "make %s", path);
	return fd_write_all(fd, text, strlen(text), err) < 0 ? error_wrap(err, "%s", path) : 0;
}

/* Where a top-level name is a link (merged /usr), the link; where it is a directory, a read-only mount.  Opened once and
 * beneath: whoever may write there must not exchange it between looking and mounting. */
static int copy_top_level(int root, int from, const char *from_name, const char *name, struct error *err)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	char target[256];
	struct stat st;
	ssize_t n;
	autofd fd = (int)syscall(SYS_openat2, from, name, &how, sizeof(how));

	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, "open %s/%s", from_name, name);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "look at %s/%s", from_name, name);
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(fd, "", target, sizeof(target) - 1);
		if (n < 0)
			return error_errno(err, "read the link %s/%s", from_name, name);
		target[n] = '\0';
		return symlinkat(target, root, name) < 0 ? error_errno(err, "make the link /%s", name) : 0;
	}
	if (S_ISDIR(st.st_mode)) {
		char path[512];

		if (mkdirat(root, name, 0755) < 0)
			return error_errno(err, "make /%s", name);
		(void)snprintf(path, sizeof(path), "%s/%s", from_name, name);
		return view_bind_fd(root, fd, path, name, READ_ONLY, err);
	}
	return 0; /* files at the top level are no part of the layout */
}

static bool is_ours(const char *name)
{
	static const char *const ours[] = { ".", "..", "proc", "sys", "dev", "tmp", "home", "work", "run" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strcmp(name, ours[i]) == 0)
			return true;
	}
	return false;
}

/* --rootfs DIR: everything at its top level but the places that are made here.  getdents64 by hand: readdir(3) takes
 * heap, and this runs between fork and exec. */
static int layout_of_rootfs(const struct confinement *c, int root, struct error *err)
{
	const char *dir = c->boundary->rootfs;
	char buf[4096];
	long n;
	struct stat st;
	autofd fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, "open the rootfs %s", dir);
	if (st.st_dev != c->rootfs_dev || st.st_ino != c->rootfs_ino)
		return error_set(err, ESTALE, "the rootfs %s was exchanged for another directory meanwhile", dir);
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(buf + at);
			int r = is_ours(d->d_name) ? 0 : copy_top_level(root, fd, dir, d->d_name, err);

			if (r < 0)
				return r;
			at += d->d_reclen;
		}
	}
	return n < 0 ? error_errno(err, "read the rootfs %s", dir) : 0;
}

static int layout_of_host(int root, struct error *err)
{
	static const char *const names[] = { "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32" };
	autofd host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	/* "/" is still the host's: the private root lies over it, but our own root directory is underneath. */
	if (host < 0)
		return error_errno(err, "open the host's /");
	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
		r = copy_top_level(root, host, "", names[i], err);
	return r;
}

int view_layout(const struct confinement *c, int root, struct error *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = {
		{ "dev", 0755 },  { "dev/shm", 01777 },	 { "dev/pts", 0755 }, { "proc", 0555 }, { "tmp", 01777 },
		{ "home", 0755 }, { "home/user", 0700 }, { "work", 0700 },    { "run", 0755 },
	};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (mkdirat(root, dirs[i].name, dirs[i].mode) < 0)
			return error_errno(err, "make /%s", dirs[i].name);
	}
	return c->boundary->rootfs ? layout_of_rootfs(c, root, err) : layout_of_host(root, err);
}

/* A mount over an empty file of ours. */
static int bind_file(int root, const char *host_path, const char *inside, uint64_t attributes, struct error *err)
{
	autofd fd = openat(root, inside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_errno(err, "make /%s", inside);
	return view_bind(root, host_path, inside, attributes, err);
}

/* What is larger than this is mounted, which costs the same whatever the size. */
#define COPY_MOST 16384

static int copy_bytes(int from, int root, const char *inside, struct error *err)
{
	static char buf[COPY_MOST]; /* a frame of this size would be probed page by page */
	ssize_t n = read(from, buf, sizeof(buf));
	int r;
	autofd to = openat(root, inside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (to < 0)
		return error_errno(err, "make /%s", inside);
	if (n < 0)
		return error_errno(err, "read the host's /%s", inside);
	r = fd_write_all(to, buf, (size_t)n, err);
	return r < 0 ? error_wrap(err, "/%s", inside) : 0;
}

/* A host file of /etc.  Absent or unreadable ones are left out: a host without a time zone or fonts must not stop anything
 * (no guarantee rests on them). */
static int copy_file(int root, int host_etc, const char *name, struct error *err)
{
	char inside[128], path[128];
	autofd from = openat(host_etc, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	(void)snprintf(inside, sizeof(inside), "etc/%s", name);
	(void)snprintf(path, sizeof(path), "/etc/%s", name);
	if (st.st_size <= COPY_MOST)
		return copy_bytes(from, root, inside, err);
	return bind_file(root, path, inside, READ_ONLY | MOUNT_ATTR_NOEXEC, err);
}

static int mount_etc_directory(int root, int host_etc, const char *name, struct error *err)
{
	char inside[128], path[128];
	struct stat st;

	if (fstatat(host_etc, name, &st, 0) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	(void)snprintf(inside, sizeof(inside), "etc/%s", name);
	(void)snprintf(path, sizeof(path), "/etc/%s", name);
	if (mkdirat(root, inside, 0755) < 0)
		return error_errno(err, "make /%s", inside);
	return view_bind(root, path, inside, READ_ONLY | MOUNT_ATTR_NOEXEC, err);
}

static int copy_localtime(int root, int host_etc, struct error *err)
{
	char target[256];
	ssize_t n = readlinkat(host_etc, "localtime", target, sizeof(target) - 1);

	if (n < 0)
		return copy_file(root, host_etc, "localtime", err);
	target[n] = '\0';
	return symlinkat(target, root, "etc/localtime") < 0 ? error_errno(err, "make /etc/localtime") : 0;
}

static int write_users(const struct confinement *c, int root, struct error *err)
{
	char text[256];
	int r;

	(void)snprintf(text, sizeof(text),
		       "root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:%u:%u:user:" INNER_HOME
		       ":/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		       c->inner_uid, c->inner_gid);
	r = write_text(root, "etc/passwd", text, err);
	(void)snprintf(text, sizeof(text), "root:x:0:\nuser:x:%u:\nnogroup:x:65534:\n", c->inner_gid);
	return r < 0 ? r : write_text(root, "etc/group", text, err);
}

int view_etc(const struct confinement *c, int root, struct error *err)
{
	static const char *const files[] = { "ld.so.cache", "ld.so.conf", "timezone", "mime.types",
					     "services",    "protocols",  "magic" };
	static const char *const directories[] = { "alternatives", "fonts", "ImageMagick-6", "ImageMagick-7" };
	autofd etc = -1;
	int r = 0;

	if (c->boundary->rootfs) /* the image brings its own */
		return 0;
	etc = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (etc < 0)
		return error_errno(err, "open the host's /etc");
	if (mkdirat(root, "etc", 0755) < 0 || mkdirat(root, "etc/ssl", 0755) < 0)
		return error_errno(err, "make /etc");
	r = write_users(c, root, err);
	if (r == 0)
		r = write_text(root, "etc/hosts", "127.0.0.1\tlocalhost\n::1\tlocalhost\n", err);
	if (r == 0)
		r = write_text(root, "etc/hostname", "bulkhead\n", err);
	if (r == 0)
		r = write_text(
			root, "etc/nsswitch.conf",
			"passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n",
			err);
	for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(files[0]); i++)
		r = copy_file(root, etc, files[i], err);
	for (size_t i = 0; r == 0 && i < sizeof(directories) / sizeof(directories[0]); i++)
		r = mount_etc_directory(root, etc, directories[i], err);
	if (r == 0)
		r = mount_etc_directory(root, etc, "ssl/certs", err);
	if (r == 0)
		r = copy_file(root, etc, "ssl/openssl.cnf", err);
	if (r == 0)
		r = copy_localtime(root, etc, err);
	if (r == 0 && c->boundary->net == NET_HOST) /* names are resolved as the host does; copied through its link */
		r = copy_file(root, etc, "resolv.conf", err);
	return r;
}

static int mount_devpts(int root, struct error *err)
{
	autofd fs = api_fsopen("devpts"), mount_fd = -1;

	if (fs < 0 || api_fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0620") < 0 ||
	    api_fsconfig(fs, FSCONFIG_SET_STRING, "ptmxmode", "0666") < 0 ||
	    api_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		return error_errno(err, "make a devpts of its own");
	mount_fd = api_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (mount_fd < 0 || api_move_mount(mount_fd, root, "dev/pts") < 0)
		return error_errno(err, "mount a devpts of its own");
	return 0;
}

int view_gpus(const struct confinement *c, int root, struct error *err)
{
	static const char *const common[] = { "nvidiactl", "nvidia-uvm" };
	char host[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->boundary->gpu_count; i++) {
		(void)snprintf(host, sizeof(host), "/dev/nvidia%u", c->gpu_minors[i]);
		r = bind_file(root, host, host + 1, NODE, err);
		if (r < 0)
			return error_wrap(err, "--gpu %.60s", c->boundary->gpus[i]);
	}
	for (size_t i = 0; r == 0 && c->boundary->gpu_count && i < sizeof(common) / sizeof(common[0]); i++) {
		(void)snprintf(host, sizeof(host), "/dev/%s", common[i]);
		r = bind_file(root, host, host + 1, NODE, err);
	}
	return r;
}

int view_dev(int root, struct error *err)
{
	static const char *const nodes[] = { "null", "zero", "full", "random", "urandom", "tty" };
	static const struct {
		const char *target, *name;
	} links[] = {
		{ "/proc/self/fd", "dev/fd" },	     { "/proc/self/fd/0", "dev/stdin" },
		{ "/proc/self/fd/1", "dev/stdout" }, { "/proc/self/fd/2", "dev/stderr" },
		{ "pts/ptmx", "dev/ptmx" },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "/dev/%s", nodes[i]);
		r = bind_file(root, path, path + 1, NODE, err);
	}
	for (size_t i = 0; r == 0 && i < sizeof(links) / sizeof(links[0]); i++) {
		if (symlinkat(links[i].target, root, links[i].name) < 0)
			r = error_errno(err, "make the link /%s", links[i].name);
	}
	if (r == 0)
		r = mount_devpts(root, err);
	return r;
}

/* One component of a mount point: an existing directory, or one made in the scratch space.  On a mount of the host
 * nothing is ever made: RESOLVE_NO_XDEV cannot be used to tell, because the walk goes component by component, so the
 * device of the directory decides. */
static int step_into(int dir, const char *name, bool last, bool want_dir, dev_t scratch, struct error *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH };
	struct stat st;
	long fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));

	if (fd >= 0)
		return (int)fd;
	if (errno != ENOENT)
		return error_errno(err, "%s in the way", name);
	if (fstat(dir, &st) < 0)
		return error_errno(err, "look at the mount point's parent");
	if (st.st_dev != scratch)
		return error_set(err, ENOENT, "no %s there to mount over, and nothing is made on the host", name);
	if (!last || want_dir) {
		if (mkdirat(dir, name, 0755) < 0)
			return error_errno(err, "make the mount point %s", name);
	} else {
		autofd made = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		if (made < 0)
			return error_errno(err, "make the mount point %s", name);
	}
	fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
	return fd < 0 ? error_errno(err, "open the mount point %s", name) : (int)fd;
}

/* Walk to inside (absolute, no "." or ".."), making what is missing in the scratch space; the mount point as O_PATH. */
static int open_mount_point(int root, const char *inside, bool want_dir, struct error *err)
{
	char path[INSIDE_MAX], *save = NULL, *name, *next;
	struct stat st;
	int dir = dup(root);

	if (dir < 0 || fstat(root, &st) < 0) {
		fd_close(&dir);
		return error_errno(err, "look at the private root");
	}
	(void)snprintf(path, sizeof(path), "%s", inside);
	name = strtok_r(path, "/", &save);
	while (name) {
		int deeper;

		next = strtok_r(NULL, "/", &save);
		deeper = step_into(dir, name, next == NULL, want_dir, st.st_dev, err);
		fd_close(&dir);
		if (deeper < 0)
			return deeper;
		dir = deeper;
		name = next;
	}
	return dir;
}

/* The clone that the launcher made, or one of our own: opened again by path as the same user, in our copy of the same
 * mounts, and taken only if it is the object that the launcher resolved. */
static int grant_tree(const struct resolved_grant *g, bool again, struct error *err)
{
	bool writable = g->grant->kind == GRANT_RW || g->grant->kind == GRANT_OUT;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       (writable ? 0 : MOUNT_ATTR_RDONLY),
				   .propagation = BULKHEAD_PROPAGATION_PRIVATE };
	struct stat st;
	int tree;

	if (g->tree_fd >= 0) {
		/* attached once, it can be cloned; moved twice it could not be */
		tree = again ? api_open_tree(g->tree_fd, "", AT_EMPTY_PATH) : dup(g->tree_fd);
		return tree < 0 ? error_errno(err, "clone the mount") : tree;
	}
	tree = api_open_tree(AT_FDCWD, g->grant->path, 0);
	if (tree < 0)
		return error_errno(err, "open_tree");
	if (fstat(tree, &st) < 0 || st.st_dev != g->dev || st.st_ino != g->ino) {
		(void)close(tree);
		return error_set(err, ESTALE, "it was exchanged for another object meanwhile");
	}
	if (api_mount_setattr(tree, AT_RECURSIVE, &attr) < 0) {
		int r = error_errno(err, "mount_setattr");

		(void)close(tree);
		return r;
	}
	return tree;
}

static int place_grant(const struct resolved_grant *g, int root, size_t which, struct error *err)
{
	const char *inside = g->inside[which];
	autofd tree = grant_tree(g, which > 0, err), point = -1;

	if (tree < 0)
		return error_wrap(err, "--%s %s", grant_kind_name(g->grant->kind), g->grant->path);
	point = open_mount_point(root, inside, g->is_dir, err);
	if (point < 0)
		return error_wrap(err, "--%s %s", grant_kind_name(g->grant->kind), g->grant->path);
	if (api_move_mount(tree, point, "") < 0)
		return error_errno(err, "--%s %s: move_mount to %s", grant_kind_name(g->grant->kind), g->grant->path,
				   inside);
	return 0;
}

int view_grants(const struct confinement *c, int root, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->grant_count; i++) {
		for (size_t k = 0; r == 0 && k < 2; k++) {
			if (c->grants[i].inside[k][0])
				r = place_grant(&c->grants[i], root, k, err);
		}
	}
	return r;
}
