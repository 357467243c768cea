/* How a hostile tree is removed.
 *
 * The tree may be any number of names wide and any number of directories deep, its modes may forbid what we do, a
 * survivor of the workload may be changing it at this moment, and it may hold links and mounts that lead elsewhere.
 * Three rules answer that:
 *
 *  1. Every call names one component beneath a descriptor that we hold.  Directories are entered through openat2(2)
 *     with RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS|NO_XDEV, so a directory that was exchanged for a link, or covered
 *     by a mount, between looking and opening is refused by the kernel.  Nothing ever goes through "..": a directory
 *     that somebody moved away while we were in it would lead up into a stranger's tree.  unlinkat(2) and renameat(2)
 *     never follow the last component: whatever stands under the name goes, the link and not what it points to.
 *
 *  2. At most LEVELS directories are open, each with its own fixed buffer of names.  A directory found deeper than that
 *     is renamed into the highest open level (a "hoist") and visited from there when the walk is back at that level, so
 *     depth costs one rename per LEVELS directories and no memory: hoisted names are PREFIX0, PREFIX1, ..., and two
 *     counters per level say which of them are still to be visited.  Ordinary trees are never deep enough for a hoist;
 *     that matters, for a rename changes the path that an error names, and some filesystems refuse it: btrfs across
 *     subvolumes (which anybody may make) and project quotas (EXDEV), fscrypt without its key (ENOKEY).  If no open
 *     level takes the directory, then an open level is itself hoisted to the top: a btrfs subvolume may be moved where
 *     its contents may not.  A filesystem that refuses every rename keeps what is deeper than LEVELS; it is counted.
 *
 *  3. Only rmdir(2) of the whole says that nothing is left.  While it answers ENOTEMPTY and the last pass changed
 *     anything there is another pass.  Failures are those of the last pass, so each name is counted once.
 *
 * Modes are undone only where the kernel refuses (EACCES): of a directory that is open by fchmod(2), of one that cannot
 * be opened through an O_PATH descriptor.  By name it would be a race: fchmodat2(2) with AT_SYMLINK_NOFOLLOW does not
 * follow a link, but changes a regular file all the same, and that could be a hard link to one outside.
 *
 * Bounded by passes, not by time: while a survivor makes names faster than we remove them one pass can go on.  Callers
 * end the workload's processes first. */
#include "isolation/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/fd.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6; one number on every architecture but alpha */
#endif

#define LEVELS 16	 /* open directories: deeper than ordinary trees go, far below RLIMIT_NOFILE's usual 1024 */
#define SCAN_BUFFER 8192 /* some 250 short names per getdents64(2): the call's cost no longer shows */
#define PREFIX_MAX 32
#define ENTRY_TRIES 64 /* answers to one name before it is left to the next pass; each mount on it is one */
#define MAKE_TRIES 8   /* fresh names before workspace_make() gives up: even one collision means no randomness */
#define SWEEP_AGE_S 10 /* a younger one may be between its mkdir and its flock */
#define QUOTED_MAX 160
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* One component, beneath, no links; and whether what is mounted on it may be entered. */
#define RESOLVE_ONE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
#define RESOLVE_ONE_HERE (RESOLVE_ONE | RESOLVE_NO_XDEV)

struct level {
	int fd;
	char name[NAME_MAX + 1]; /* in the level above */
	uint64_t placed;	 /* directories that were hoisted to here in this pass */
	uint64_t taken;		 /* of those, visited */
	size_t at, have;	 /* in buf */
	union {
		struct dirent64 align;
		char bytes[SCAN_BUFFER];
	} buf;
};

struct walk {
	char prefix[PREFIX_MAX];       /* of hoisted names: fresh in each pass */
	char hoisted[PREFIX_MAX + 24]; /* the hoisted name that is being visited */
	uint64_t changes;	       /* names removed, mounts detached, directories hoisted */
	struct removal done;
	struct error first; /* failure of this pass */
	unsigned int depth; /* levels open; level[0] is the tree's top */
	struct level level[LEVELS];
};

/* ---- one name beneath one descriptor ---- */

static int open_one(int dirfd, const char *name, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(unsigned int)flags, .resolve = resolve };
	long fd;

	do
		fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

/* Give us the rights of an owner in a directory that we may not open.  O_PATH asks no right of the directory and
 * O_DIRECTORY pins its kind, so nothing but a directory on this mount is ever changed, however names are exchanged.
 * AT_EMPTY_PATH came with fchmodat2(2) in Linux 6.6; before that fchmod(2) refuses O_PATH descriptors (EBADF) and the
 * magic link of procfs, which leads to the very inode, is the only way. */
static int dir_unlock(int dirfd, const char *name)
{
	char proc[32];
	autofd fd = open_one(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, RESOLVE_ONE_HERE);

	if (fd < 0)
		return fd;
	if (syscall(SYS_fchmodat2, fd, "", 0700, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOSYS && errno != EPERM) /* EPERM: not the owner, or a filter that does not know the call */
		return -errno;
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	return chmod(proc, 0700) < 0 ? -errno : 0;
}

/* Open a directory for reading, undoing a mode that forbids it.  -EXDEV: something is mounted on it.  -ENOTDIR, -ELOOP:
 * it is something else (by now). */
static int dir_open(int dirfd, const char *name)
{
	int fd = open_one(dirfd, name, DIR_FLAGS, RESOLVE_ONE_HERE);
	int rc;

	if (fd != -EACCES)
		return fd;
	rc = dir_unlock(dirfd, name);
	if (rc < 0) /* that it is shut is the better answer, unless it was exchanged */
		return rc == -ENOTDIR || rc == -ELOOP || rc == -ENOENT || rc == -EXDEV ? rc : -EACCES;
	return open_one(dirfd, name, DIR_FLAGS, RESOLVE_ONE_HERE);
}

/* Does this name, not followed, stand for that open directory? */
static bool dir_is(int dirfd, const char *name, int fd)
{
	struct stat named, held;

	return fstatat(dirfd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &held) == 0 &&
	       S_ISDIR(held.st_mode) && named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

/* Detach the topmost mount on a name.  umount2(2) takes a path only, and a path can be exchanged; the magic link of a
 * descriptor cannot.  (UMOUNT_NOFOLLOW would stop at that link.)  An attacker cannot make us detach another mount: the
 * descriptor was opened beneath the tree and is on another mount than the directory that holds the name, so it is the
 * root of one that is mounted exactly here. */
static int mount_detach(struct walk *w, int dirfd, const char *name)
{
	struct statx here, there;
	char proc[32];
	autofd fd = open_one(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_ONE);

	if (fd < 0)
		return fd;
	if (statx(dirfd, "", AT_EMPTY_PATH, STATX_MNT_ID, &here) < 0 ||
	    statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_MNT_ID, &there) < 0)
		return -errno;
	if (!(here.stx_mask & there.stx_mask & STATX_MNT_ID) || here.stx_mnt_id == there.stx_mnt_id)
		return -EBUSY; /* not a mount, or a kernel (before 5.8) that cannot tell */
	(void)snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (umount2(proc, MNT_DETACH) < 0)
		return -errno;
	w->done.mounts++;
	w->changes++;
	return 0;
}

/* Remove one name of a directory of the tree: 0 gone, -ENOTEMPTY a directory to enter, else why it cannot be. */
static int entry_unlink(struct walk *w, int dirfd, const char *name, unsigned char type)
{
	int flags = type == DT_DIR ? AT_REMOVEDIR : 0;

	for (int tries = 0; tries < ENTRY_TRIES; tries++) {
		if (unlinkat(dirfd, name, flags) == 0) {
			w->done.entries++;
			w->changes++;
			return 0;
		}
		switch (errno) {
		case ENOENT:
			return 0;
		case EISDIR: /* type was unknown, or somebody exchanged it */
			flags = AT_REMOVEDIR;
			break;
		case ENOTDIR:
			flags = 0;
			break;
		case EACCES: /* its directory was made unwritable or unsearchable */
			if (fchmod(dirfd, 0700) < 0)
				return -EACCES;
			break;
		case EBUSY: /* a mount point in our mount namespace; in others it is detached by itself (unlink(2)) */
			if (mount_detach(w, dirfd, name) < 0)
				return -EBUSY;
			break;
		case EEXIST: /* rmdir(2) allows either */
			return -ENOTEMPTY;
		case EINTR: /* FUSE, NFS */
			break;
		default:
			return -errno;
		}
	}
	return -EBUSY;
}

/* ---- hoisting ---- */

/* Directories may carry a project id of their choice, set by their owner, and one marked "children inherit" takes in no
 * directory of another project (EXDEV: ext4, xfs).  The mark means nothing for a tree that is going. */
static bool projinherit_clear(int fd)
{
	struct fsxattr attr;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &attr) < 0 || !(attr.fsx_xflags & FS_XFLAG_PROJINHERIT))
		return false;
	attr.fsx_xflags &= ~(uint32_t)FS_XFLAG_PROJINHERIT;
	return ioctl(fd, FS_IOC_FSSETXATTR, &attr) == 0;
}

/* A directory that changes its parent must itself be writable, for its ".." changes (rename(2), EACCES). */
static int rename_unlocking(int from, const char *name, int to, const char *new_name)
{
	if (renameat(from, name, to, new_name) == 0)
		return 0;
	if (errno == EACCES) {
		(void)fchmod(from, 0700); /* whichever it was: the second try tells */
		(void)fchmod(to, 0700);
		(void)dir_unlock(from, name);
	} else if (errno != EXDEV || !projinherit_clear(to)) {
		return -errno;
	}
	return renameat(from, name, to, new_name) == 0 ? 0 : -errno;
}

/* Plain renameat(2): should the new name exist, an empty directory is replaced (it had to go anyway) and anything else
 * refuses; the next hoist uses the next number. */
static int hoist_into(struct walk *w, struct level *to, int from, const char *name)
{
	char new_name[sizeof(w->hoisted)];
	int rc;

	(void)snprintf(new_name, sizeof(new_name), "%s%llu", w->prefix, (unsigned long long)to->placed);
	rc = rename_unlocking(from, name, to->fd, new_name);
	if (rc == 0)
		w->changes++;
	if (rc == 0 || rc == -EEXIST || rc == -ENOTEMPTY || rc == -ENOTDIR)
		to->placed++; /* a squatted number is visited too: it is gone, or is one more name to remove */
	return rc;
}

/* Close the levels from `first` down. */
static void levels_close(struct walk *w, unsigned int first)
{
	while (w->depth > first)
		fd_close(&w->level[--w->depth].fd);
}

/* All levels are open and `name` of the last is a directory that is not empty: bring it, or a level above it, up. */
static int hoist(struct walk *w, const char *name)
{
	int from = w->level[LEVELS - 1].fd;
	int first = 0;

	for (unsigned int to = 0; to < LEVELS - 1; to++) {
		int rc = hoist_into(w, &w->level[to], from, name);

		if (rc == 0 || rc == -ENOENT)
			return 0;
		if (first == 0)
			first = rc;
	}
	for (unsigned int moved = LEVELS - 1; moved >= 2; moved--) {
		if (hoist_into(w, &w->level[0], w->level[moved - 1].fd, w->level[moved].name) == 0) {
			levels_close(w, moved);
			return 0;
		}
	}
	return first;
}

/* ---- naming what failed ---- */

/* Append a name that a workload chose, on one line whatever it holds. */
static void quote(char *out, size_t size, const char *name)
{
	size_t used = strlen(out);

	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if (used + sizeof("\\xff...") > size) {
			(void)snprintf(out + used, size - used, "...");
			return;
		}
		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
			used += (size_t)snprintf(out + used, size - used, "%c", c);
		else
			used += (size_t)snprintf(out + used, size - used, "\\x%02x", c);
	}
}

/* Count a name of the last open level that stays, and keep the first of the pass. */
static void failed(struct walk *w, int rc, const char *name)
{
	char leaf[QUOTED_MAX] = "";
	char path[QUOTED_MAX] = "";

	if (w->done.failed++ > 0)
		return;
	quote(leaf, sizeof(leaf), name);
	for (unsigned int i = 1; i < w->depth; i++) {
		quote(path, sizeof(path), w->level[i].name);
		quote(path, sizeof(path), "/");
	}
	(void)error_set(&w->first, -rc, "\"%s\" in \"./%s\": %s%s", leaf, path, strerrordesc_np(-rc),
			rc == -EBUSY ? " (a mount that we may not detach)" : "");
}

/* ---- the walk ---- */

static int level_enter(struct walk *w, const char *name)
{
	struct level *next;
	int fd;

	if (w->depth == LEVELS)
		return hoist(w, name);
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	fd = dir_open(w->level[w->depth - 1].fd, name);
	if (fd < 0)
		return fd;
	next = &w->level[w->depth++];
	next->fd = fd;
	next->placed = next->taken = 0;
	next->at = next->have = 0;
	(void)snprintf(next->name, sizeof(next->name), "%s", name);
	return 0;
}

/* The last level is read to its end.  If it is not empty, then something beneath it failed and is counted, or something
 * appeared, and then there will be another pass. */
static void level_leave(struct walk *w)
{
	struct level *gone = &w->level[w->depth - 1];
	int rc;

	levels_close(w, w->depth - 1);
	rc = entry_unlink(w, w->level[w->depth - 1].fd, gone->name, DT_DIR);
	if (rc < 0 && rc != -ENOTEMPTY)
		failed(w, rc, gone->name);
}

static void entry_take(struct walk *w, const char *name, unsigned char type)
{
	int rc = -EBUSY;

	for (int tries = 0; tries < ENTRY_TRIES; tries++) {
		rc = entry_unlink(w, w->level[w->depth - 1].fd, name, type);
		if (rc == -ENOTEMPTY)
			rc = level_enter(w, name);
		if (rc != -ENOTDIR && rc != -ELOOP) /* those: exchanged in between, so from the beginning */
			break;
	}
	if (rc < 0 && rc != -ENOENT)
		failed(w, rc, name);
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* The next name of a directory: 1 and the entry (valid until the next call), 0 at its end, or a negative errno. */
static int scan_next(struct level *l, const struct dirent64 **out)
{
	for (;;) {
		const struct dirent64 *d;

		if (l->at >= l->have) {
			ssize_t n = getdents64(l->fd, l->buf.bytes, sizeof(l->buf.bytes));

			if (n <= 0) /* ENOENT: the directory itself is gone */
				return n == 0 || errno == ENOENT ? 0 : -errno;
			l->at = 0;
			l->have = (size_t)n;
		}
		d = (const void *)(l->buf.bytes + l->at);
		l->at += d->d_reclen;
		if (is_dots(d->d_name))
			continue;
		*out = d;
		return 1;
	}
}

/* The same for a level of the walk: hoisted directories first, which the scan then skips where it comes upon them. */
static int level_next(struct walk *w, const char **out_name, unsigned char *out_type)
{
	struct level *l = &w->level[w->depth - 1];
	const struct dirent64 *d = NULL;
	int rc;

	if (l->taken < l->placed) {
		(void)snprintf(w->hoisted, sizeof(w->hoisted), "%s%llu", w->prefix, (unsigned long long)l->taken++);
		*out_name = w->hoisted;
		*out_type = DT_DIR;
		return 1;
	}
	do
		rc = scan_next(l, &d);
	while (rc > 0 && strncmp(d->d_name, w->prefix, strlen(w->prefix)) == 0);
	if (rc > 0) {
		*out_name = d->d_name;
		*out_type = d->d_type;
	}
	return rc;
}

/* Visit every name once.  level[0].fd is open. */
static int pass(struct walk *w)
{
	unsigned long long random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) /* never short below 256 bytes */
		return -EIO;
	(void)snprintf(w->prefix, sizeof(w->prefix), ".hoisted-%016llx-", random);
	if (lseek(w->level[0].fd, 0, SEEK_SET) < 0)
		return -errno;
	w->level[0].placed = w->level[0].taken = 0;
	w->level[0].at = w->level[0].have = 0;
	w->depth = 1;
	w->done.failed = 0;
	w->first.code = 0;
	for (;;) {
		const char *name;
		unsigned char type;
		int rc = level_next(w, &name, &type);

		if (rc > 0) {
			entry_take(w, name, type);
			continue;
		}
		if (rc < 0)
			failed(w, rc, ".");
		if (w->depth == 1)
			return 0;
		level_leave(w);
	}
}

/* Open the top of the tree.  0: it is open, or there is none. */
static int top_open(struct walk *w, int parent_fd, const char *name)
{
	int fd = dir_open(parent_fd, name);

	for (int tries = 0; fd == -EXDEV && tries < ENTRY_TRIES; tries++) {
		if (mount_detach(w, parent_fd, name) < 0)
			return -EBUSY;
		fd = dir_open(parent_fd, name);
	}
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	w->level[0].fd = fd;
	return 0;
}

static int top_remove(struct walk *w, int parent_fd, const char *name)
{
	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0) {
		w->done.entries++;
		return 0;
	}
	if (errno == ENOENT)
		return 0;
	if (errno == EEXIST)
		return -ENOTEMPTY;
	if (errno == EBUSY && mount_detach(w, parent_fd, name) == 0)
		return -ENOTEMPTY; /* covered while we worked: the next pass ends it */
	return -errno;
}

/* Passes until nothing is left or nothing changes.  Returns what the last rmdir said. */
static int tree_remove(struct walk *w, int parent_fd, const char *name)
{
	int rc = top_open(w, parent_fd, name);

	if (rc < 0 || w->level[0].fd < 0)
		return rc;
	for (int passes = 0; passes < WORKSPACE_PASSES; passes++) {
		uint64_t before = w->changes;

		rc = pass(w);
		if (rc < 0)
			break;
		rc = top_remove(w, parent_fd, name);
		if (rc != -ENOTEMPTY || w->changes == before)
			break;
	}
	fd_close(&w->level[0].fd);
	return rc;
}

static int removal_error(struct walk *w, int rc, const char *name, struct error *err)
{
	char quoted[QUOTED_MAX] = "";

	quote(quoted, sizeof(quoted), name);
	if (w->first.code == 0) { /* no single name failed: it is the directory itself */
		w->done.failed++;
		return error_set(err, -rc, "remove \"%s\": %s", quoted,
				 rc == -ENOTEMPTY ? "names keep appearing in it" : strerrordesc_np(-rc));
	}
	return error_set(err, w->first.code, "remove \"%s\": %llu left, the first is %s", quoted,
			 (unsigned long long)w->done.failed, w->first.text);
}

int workspace_remove_at(int parent_fd, const char *name, struct removal *out, struct error *err)
{
	struct walk *w;
	int rc;

	if (out)
		*out = (struct removal){ 0 };
	if (name[0] == '\0' || is_dots(name) || strchr(name, '/'))
		return error_set(err, EINVAL, "remove: not one name below a directory");
	w = calloc(1, sizeof(*w));
	if (!w)
		return error_errno(err, "remove %s", name);
	w->level[0].fd = -1;
	rc = tree_remove(w, parent_fd, name);
	if (rc < 0)
		rc = removal_error(w, rc, name, err);
	else
		w->done.failed = 0; /* somebody else removed what we could not */
	if (out)
		*out = w->done;
	free(w);
	return rc;
}

/* ---- the base directory ---- */

static int base_path(const char *base, char *out, size_t size, struct error *err)
{
	int used;

	if (base)
		used = snprintf(out, size, "%s", base);
	else
		used = snprintf(out, size, "/var/tmp/bulkhead-%lu", (unsigned long)geteuid());
	if (used < 0 || (size_t)used >= size)
		return error_set(err, ENAMETOOLONG, "the directory of the workspaces has too long a path");
	while (used > 1 && out[used - 1] == '/') /* O_NOFOLLOW does follow "link/" (path_resolution(7)) */
		out[--used] = '\0';
	return 0;
}

/* Judged by descriptor, so what was judged is what is used. */
static int base_verify(int fd, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "stat %s", path);
	if (st.st_uid != geteuid())
		return error_set(err, EPERM, "%s belongs to uid %lu, not to us (%lu)", path, (unsigned long)st.st_uid,
				 (unsigned long)geteuid());
	if (st.st_mode & 077)
		return error_set(err, EPERM, "%s has mode %04o: open to others (wanted: 0700)", path,
				 (unsigned int)st.st_mode & 07777);
	return 0;
}

int workspace_base_open(const char *base, int *out_fd, char *out_path, size_t path_size, struct error *err)
{
	char path[PATH_MAX];
	int rc = base_path(base, path, path_size < sizeof(path) ? path_size : sizeof(path), err);
	autofd fd = -1;

	if (rc < 0)
		return rc;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_errno(err, "make %s", path);
	fd = open(path, DIR_FLAGS);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return error_set(err, EPERM, "%s is a link or not a directory", path);
	if (fd < 0)
		return error_errno(err, "open %s", path);
	rc = base_verify(fd, path, err);
	if (rc < 0)
		return rc;
	(void)snprintf(out_path, path_size, "%s", path);
	*out_fd = fd;
	fd = -1;
	return 0;
}

/* ---- making ---- */

static int name_random(char out[WORKSPACE_NAME_LEN + 1], struct error *err)
{
	unsigned char bytes[WORKSPACE_NAME_LEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_errno(err, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Make and lock a directory under this name.  A sweeper may come between mkdir and flock: then it holds the lock, or
 * the directory is gone, or we locked what no longer has a name.  All are -EAGAIN; once we hold the lock and the name
 * still stands for what we locked, no sweeper takes it. */
static int make_locked(int base_fd, const char *name, int *out_fd, struct error *err)
{
	autofd fd = -1;

	if (mkdirat(base_fd, name, 0700) < 0)
		return errno == EEXIST ? -EAGAIN : error_errno(err, "make a workspace");
	fd = dir_open(base_fd, name);
	if (fd == -ENOENT)
		return -EAGAIN;
	if (fd < 0) {
		(void)unlinkat(base_fd, name, AT_REMOVEDIR); /* nobody else will hear of it */
		return error_set(err, -fd, "open a fresh workspace: %s", strerrordesc_np(-fd));
	}
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : error_errno(err, "lock a workspace");
	if (!dir_is(base_fd, name, fd))
		return -EAGAIN;
	*out_fd = fd;
	fd = -1;
	return 0;
}

/* Mode before owner: afterwards it may no longer be ours to change.  The mode again, for the umask. */
static int make_owned(int fd, uid_t owner, gid_t group, struct error *err)
{
	struct stat st;

	if (fchmod(fd, 0700) < 0)
		return error_errno(err, "set the mode of a workspace");
	if (fstat(fd, &st) < 0)
		return error_errno(err, "stat a workspace");
	if ((st.st_uid != owner || st.st_gid != group) && fchown(fd, owner, group) < 0)
		return error_errno(err, "give a workspace to %lu:%lu", (unsigned long)owner, (unsigned long)group);
	return 0;
}

int workspace_plan(struct workspace *out, const char *base, struct error *err)
{
	struct workspace w = WORKSPACE_INIT;
	char path[sizeof(w.path) - WORKSPACE_NAME_LEN - 1];
	int rc = workspace_base_open(base, &w.base_fd, path, sizeof(path), err);

	if (rc == 0)
		rc = name_random(w.name, err);
	if (rc < 0) {
		fd_close(&w.base_fd);
		return rc;
	}
	(void)snprintf(w.path, sizeof(w.path), "%s/%s", path, w.name);
	*out = w;
	return 0;
}

int workspace_create(struct workspace *w, uid_t owner, gid_t group, struct error *err)
{
	int rc = make_locked(w->base_fd, w->name, &w->fd, err);

	if (rc == -EAGAIN)
		return error_set(err, EAGAIN, "make the workspace %s: the name was taken", w->path);
	if (rc == 0)
		rc = make_owned(w->fd, owner, group, err);
	if (rc < 0 && w->fd >= 0) {
		(void)unlinkat(w->base_fd, w->name, AT_REMOVEDIR); /* else a sweep takes it */
		fd_close(&w->fd);
	}
	return rc;
}

int workspace_make(struct workspace *out, const char *base, uid_t owner, gid_t group, struct error *err)
{
	struct workspace w;
	int rc = -EAGAIN;

	for (int tries = 0; rc == -EAGAIN && tries < MAKE_TRIES; tries++) {
		rc = workspace_plan(&w, base, err);
		if (rc == 0) {
			rc = workspace_create(&w, owner, group, err);
			if (rc < 0)
				fd_close(&w.base_fd);
		}
	}
	if (rc == 0)
		*out = w;
	return rc;
}

int workspace_remove(struct workspace *w, struct removal *out, struct error *err)
{
	int rc = 0;

	if (out)
		*out = (struct removal){ 0 };
	if (w->base_fd >= 0 && w->name[0]) /* perhaps planned only: nothing there is nothing left */
		rc = workspace_remove_at(w->base_fd, w->name, out, err);
	fd_close(&w->fd); /* the lock was held until here: no sweeper worked beside us */
	fd_close(&w->base_fd);
	return rc;
}

/* ---- sweeping ---- */

static bool is_workspace_name(const char *name)
{
	return strlen(name) == WORKSPACE_NAME_LEN && strspn(name, "0123456789abcdef") == WORKSPACE_NAME_LEN;
}

/* Not the mtime, which the workload may set to a year when nobody sweeps any more.  The birth time is nobody's to set;
 * where the filesystem has none, the ctime is not either.  One far in the future means that the clock was set back:
 * then it counts as old, and make_locked() bears that. */
static bool is_old(int base_fd, const char *name)
{
	struct timespec now;
	struct statx st;
	long long born;

	if (statx(base_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BTIME | STATX_CTIME, &st) < 0 ||
	    clock_gettime(CLOCK_REALTIME, &now) < 0)
		return false;
	born = st.stx_mask & STATX_BTIME ? st.stx_btime.tv_sec : st.stx_ctime.tv_sec;
	return now.tv_sec - born > SWEEP_AGE_S || born - now.tv_sec > SWEEP_AGE_S;
}

/* 1: removed.  0: alive, or another sweeper's, or not a directory.  The exclusive lock is held until the name is gone.
 * Opening undoes a mode of 0000; for a live workspace that means its owner may enter it, which does no harm. */
static int sweep_one(int base_fd, const char *name, struct error *err)
{
	autofd fd = dir_open(base_fd, name);

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	if (fd < 0)
		return error_set(err, -fd, "open the dead workspace %s: %s", name, strerrordesc_np(-fd));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : error_errno(err, "lock the dead workspace %s", name);
	if (!dir_is(base_fd, name, fd)) /* another sweeper ended while we opened */
		return 0;
	return workspace_remove_at(base_fd, name, NULL, err) < 0 ? -(err && err->code ? err->code : EIO) : 1;
}

int workspace_sweep(const char *base, unsigned int most, struct error *err)
{
	struct level scan = { .fd = -1 };
	struct error one = { 0 };
	const struct dirent64 *d = NULL;
	char path[PATH_MAX];
	unsigned int removed = 0;
	int rc = workspace_base_open(base, &scan.fd, path, sizeof(path), err);

	if (rc < 0)
		return rc;
	while (removed < most && (rc = scan_next(&scan, &d)) > 0) {
		struct error why = { 0 };

		if (!is_workspace_name(d->d_name) || !is_old(scan.fd, d->d_name))
			continue;
		rc = sweep_one(scan.fd, d->d_name, &why);
		if (rc > 0)
			removed++;
		else if (rc < 0 && one.code == 0)
			one = why; /* and on: one that cannot be removed must not keep the others */
	}
	if (rc < 0 && one.code == 0)
		(void)error_set(&one, -rc, "read %s: %s", path, strerrordesc_np(-rc));
	fd_close(&scan.fd);
	if (one.code != 0 && err)
		*err = one;
	return removed == 0 && one.code != 0 ? -one.code : (int)removed;
}
