/* Run a program on a kernel with an older Landlock.
 *
 *   old_landlock ABI COMMAND...
 *
 * The calls answer as a kernel of that ABI does (landlock(7)): its number, EINVAL for rights and flags that it does not
 * know, E2BIG for a structure that is longer than its own and not zero there.  ABI 0: ENOSYS, a kernel without Landlock.
 * What the ABI knows is then really done. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "supervise.h"

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif

static const struct {
	uint64_t fs, net, scoped;
	uint32_t size; /* of struct landlock_ruleset_attr */
} known[] = {
	{ 0, 0, 0, 0 },	      { 0x1fff, 0, 0, 8 },  { 0x3fff, 0, 0, 8 },  { 0x7fff, 0, 0, 8 },
	{ 0x7fff, 3, 0, 16 }, { 0xffff, 3, 0, 16 }, { 0xffff, 3, 3, 24 }, { 0xffff, 3, 3, 24 },
};

static long install(const void *arg)
{
	const struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, __NR_landlock_create_ruleset, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, __NR_landlock_restrict_self, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(insns) / sizeof(insns[0]), (struct sock_filter *)(uintptr_t)insns };

	(void)arg;
	if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("no_new_privs");
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

/* The caller's struct landlock_ruleset_attr. */
static int refusal(int abi, const struct seccomp_notif *call)
{
	uint64_t attr[3] = { 0 }, size = call->data.args[1];
	char path[64];
	int fd;
	ssize_t n;

	if (call->data.args[2] != 0)
		return EINVAL;
	if (size > sizeof(attr))
		return E2BIG;
	snprintf(path, sizeof(path), "/proc/%u/mem", call->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, attr, size, (off_t)call->data.args[0]);
	if (fd >= 0)
		close(fd);
	if (n != (ssize_t)size)
		return EFAULT;
	for (uint64_t at = known[abi].size; at < size; at += 8) {
		if (attr[at / 8])
			return E2BIG;
	}
	return (attr[0] & ~known[abi].fs) || (attr[1] & ~known[abi].net) || (attr[2] & ~known[abi].scoped) ? EINVAL : 0;
}

static void answer(void *arg, const struct seccomp_notif *call, struct seccomp_notif_resp *out)
{
	int abi = *(const int *)arg;

	if (abi == 0) {
		out->error = -ENOSYS;
	} else if (call->data.nr == __NR_landlock_create_ruleset && call->data.args[2] == 1) {
		out->val = abi;
	} else if (call->data.nr == __NR_landlock_create_ruleset) {
		out->error = -refusal(abi, call);
	} else if (call->data.nr == __NR_landlock_restrict_self && call->data.args[1] != 0 && abi < 7) {
		out->error = -EINVAL;
	}
	if (out->error == 0 && out->val == 0)
		out->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

int main(int argc, char **argv)
{
	int abi = argc < 3 ? -1 : atoi(argv[1]);
	const struct supervisor s = { install, answer, &abi };

	if (abi < 0 || abi >= (int)(sizeof(known) / sizeof(known[0]))) {
		fputs("usage: old_landlock ABI COMMAND...\n", stderr);
		return 2;
	}
	return supervise(&s, argv + 2);
}
