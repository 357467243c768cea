/* Fresh directories on disk, and their removal.  All work is by descriptor: names that a workload chose are only ever
 * resolved beneath a directory that is held open, one component at a time, and no link is followed.
 *
 * Layout: BASE/<32 hex digits>/ , where BASE belongs to us alone (mode 0700, our euid, not a link).  A live workspace
 * is held by a shared flock(2) on its directory; one that nobody holds is a dead run's: workspace_sweep() removes it.
 *
 * No privilege is needed.  With CAP_DAC_OVERRIDE/CAP_FOWNER directories of other uids are removed too; without them
 * hostile modes of our own uid are undone first (chmod by descriptor). */
#ifndef BULKHEAD_ISOLATION_WORKSPACE_H
#define BULKHEAD_ISOLATION_WORKSPACE_H

#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

#define WORKSPACE_NAME_LEN 32 /* 128 random bits in hexadecimal */

struct workspace {
	int base_fd;			   /* BASE, O_PATH|O_DIRECTORY is not enough: opened for reading */
	int fd;				   /* the directory itself, flock'ed shared */
	char name[WORKSPACE_NAME_LEN + 1]; /* below BASE */
	char path[512];			   /* BASE/name, for the environment of the workload and for messages */
};

#define WORKSPACE_INIT                  \
	{                               \
		.base_fd = -1, .fd = -1 \
	}

/* Open (and where missing make, 0700) the directory of our workspaces: `base` if not NULL, else
 * /var/tmp/bulkhead-<euid>.  Refuses (-EPERM, named) one that is a link, not a directory, not ours, or open to others.
 * Its parent must exist. */
int workspace_base_open(const char *base, int *out_fd, char *out_path, size_t path_size, struct error *err);

/* Open BASE and choose a fresh name: all but fd is set, and nothing is made. */
int workspace_plan(struct workspace *out, const char *base, struct error *err);
/* Make the planned directory as workspace_make() does.  -EAGAIN: somebody had that name. */
int workspace_create(struct workspace *w, uid_t owner, gid_t group, struct error *err);

/* Make a fresh directory, mode 0700, owned by `owner`:`group` (chowned only when different from ours).  `base` should
 * be absolute, for out->path is BASE/name as given.  BASE stays ours alone: another owner reaches the directory by
 * descriptor or by a mount, not by this path.  Safe beside any number of sweepers. */
int workspace_make(struct workspace *out, const char *base, uid_t owner, gid_t group, struct error *err);

/* What a removal did. */
struct removal {
	uint64_t entries; /* names removed, the directory's own included */
	uint64_t mounts;  /* foreign mounts that were detached (needs CAP_SYS_ADMIN and /proc) */
	uint64_t failed;  /* names that could not be removed; not those kept only by what is left beneath them */
};

/* Remove everything beneath the directory `name` of `parent_fd`, and the directory.  Never leaves the directory, never
 * crosses a mount (a foreign mount is detached when we may, else it counts as failed), never follows a link; undoes
 * modes that forbid it; survives trees of any depth and any count in bounded memory and descriptors (no recursion, at
 * most a fixed number of open descriptors); entries that appear while it works are taken in a new pass, for at most
 * WORKSPACE_PASSES passes.  Returns 0 when nothing is left (also when there was nothing), else -ENOTEMPTY or the first
 * cause, named in *err.  `name` is one component; -ENOTDIR or -ELOOP, and nothing done, where it is no directory.  What
 * is left of a very deep tree may stand under new names.  Holds at most 17 descriptors and 140 KiB of heap, so not for
 * use between fork and exec of a threaded process.  Needs Linux 5.8; without /proc and before 6.6 directories that may
 * not be opened count as failed.  The workload's processes should be dead: one that makes names faster than they go
 * keeps a pass from ending. */
#define WORKSPACE_PASSES 64
int workspace_remove_at(int parent_fd, const char *name, struct removal *out, struct error *err);

/* Remove the workspace and close its descriptors; safe on a half-made one and twice.  What could not be removed is left
 * to workspace_sweep(), for the lock is gone. */
int workspace_remove(struct workspace *w, struct removal *out, struct error *err);

/* Remove up to `most` workspaces of dead runs, older than ten seconds, below base; other names there are left alone.
 * One that cannot be removed does not keep the others: the first such is named in *err.  Returns how many were removed,
 * or a negative errno when there was a failure and none was. */
int workspace_sweep(const char *base, unsigned int most, struct error *err);

#endif
