/* Ids.  A privileged launcher gives each workload a host uid that nothing else uses, from a reserved range, so that two
 * workloads are strangers to each other and to us even where a namespace would fail.  The claim is a one-byte lock
 * (fcntl(2), F_OFD_SETLK) in one file, at the uid's offset: it is released by the kernel when launcher and init are both
 * gone, and survives nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolation/capability.h"
#include "isolation/control.h"
#include "util/fd.h"

#define UID_LOCK_DIR "/run/bulkhead"

static int open_lock_file(struct error *err)
{
	struct stat st;
	autofd dir = -1;
	int fd;

	if (mkdir(UID_LOCK_DIR, 0700) < 0 && errno != EEXIST)
		return error_errno(err, "make %s", UID_LOCK_DIR);
	dir = open(UID_LOCK_DIR, O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return error_errno(err, "open %s", UID_LOCK_DIR);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return error_set(err, EPERM, "%s belongs to uid %u with mode %04o: others could take uids from us",
				 UID_LOCK_DIR, st.st_uid, st.st_mode & 07777);
	fd = openat(dir, "uids", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? error_errno(err, "open %s/uids", UID_LOCK_DIR) : fd;
}

int creds_claim(struct confinement *c, struct error *err)
{
	uint32_t start;
	autofd fd = open_lock_file(err);

	if (fd < 0)
		return fd;
	if (getrandom(&start, sizeof(start), 0) != (ssize_t)sizeof(start))
		return error_errno(err, "getrandom");
	for (uint32_t i = 0; i < UID_RANGE_SIZE; i++) {
		uint32_t slot = (start + i) % UID_RANGE_SIZE;
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)slot, .l_len = 1 };

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
			c->host_uid = UID_RANGE_FIRST + slot;
			c->host_gid = UID_RANGE_FIRST + slot;
			c->uid_lock_fd = fd;
			fd = -1;
			return 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return error_errno(err, "lock a uid in %s/uids", UID_LOCK_DIR);
	}
	return error_set(err, EAGAIN, "all %u uids of the reserved range are taken", UID_RANGE_SIZE);
}

/* Become the workload's user and keep the capabilities that the rest of the set-up needs; they are over init's own
 * namespaces where there is a user namespace.  caps_apply() empties them. */
int creds_become(struct confinement *c, struct error *err)
{
	struct capability_sets caps;

	if (!uses(c, MECH_USERNS) && !uses(c, MECH_OWN_UID))
		return 0;
	if (!uses(c, MECH_USERNS) && setgroups(0, NULL) < 0)
		return error_errno(err, "drop the supplementary groups");
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return error_errno(err, "keep capabilities over the change of user");
	if (setresgid(c->inner_gid, c->inner_gid, c->inner_gid) < 0)
		return error_errno(err, "become gid %u", c->inner_gid);
	if (setresuid(c->inner_uid, c->inner_uid, c->inner_uid) < 0)
		return error_errno(err, "become uid %u", c->inner_uid);
	if (capability_get(&caps) < 0)
		return error_errno(err, "read our own capabilities");
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		caps.words[i].effective = caps.words[i].permitted;
	if (capability_set(&caps) < 0)
		return error_errno(err, "raise the kept capabilities");
	return 0;
}

/* All four uids and gids, as the host sees them. */
void creds_observe(const struct observation *o, struct finding *out)
{
	unsigned int id[4], gid[4];
	const char *uids = observation_status(o, "Uid"), *gids = observation_status(o, "Gid");

	if (!uids || sscanf(uids, "%u %u %u %u", &id[0], &id[1], &id[2], &id[3]) != 4 || !gids ||
	    sscanf(gids, "%u %u %u %u", &gid[0], &gid[1], &gid[2], &gid[3]) != 4) {
		finding_set(out, FINDING_FAILED, 0, "the status file shows no ids");
		return;
	}
	for (int i = 0; i < 4; i++) {
		if (id[i] != o->c->host_uid || gid[i] != o->c->host_gid) {
			finding_set(out, FINDING_FAILED, 0, "uid %u gid %u where %u was claimed", id[i], gid[i],
				    o->c->host_uid);
			return;
		}
	}
	finding_set(out, FINDING_ENFORCED, 0, "uid %u, claimed for this workload", o->c->host_uid);
}
