/* Run a program whose system calls of one kind fail.
 *
 *   fail_call CALL[,CALL...] ERRNO [nth=N] [argI=VALUE] [count=FILE] -- COMMAND...
 *
 * ERRNO may be OK: the call is not made, and answers 0 all the same.
 *
 * Without nth every such call fails, by a filter that answers the errno; the command's children inherit it, and so does
 * a workload.  With nth=N only the N-th one of the whole tree fails: the filter asks us, and we let all others through
 * (seccomp_unotify(2)).  count=FILE gets the number of calls seen (only with nth; nth=0 fails none of them).
 * argI=VALUE means only calls whose argument I (low 32 bits) is VALUE.
 *
 * A library for LD_PRELOAD would miss calls that libc makes for itself, and children made by a raw clone3.
 *
 * Exit status: that of the command; 77 when the host lets us install no filter; 2 for wrong usage. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise.h"

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif
#define CALLS_MAX 16

struct fault {
	int calls[CALLS_MAX];
	int call_count;
	int code;
	long nth; /* -1: always */
	long seen;
	int arg; /* -1: whatever the arguments */
	unsigned int value;
	const char *count_file;
};

static int errno_from_name(const char *name)
{
	if (strcmp(name, "OK") == 0)
		return 0;
	for (int e = 1; e < 134; e++) {
		if (strerrorname_np(e) && strcmp(strerrorname_np(e), name) == 0)
			return e;
	}
	return -1;
}

static long install(const struct fault *f)
{
	struct sock_filter insns[4 * CALLS_MAX + 8];
	struct sock_fprog prog = { .filter = insns };
	unsigned short n = 0;
	unsigned int answer = f->nth < 0 ? SECCOMP_RET_ERRNO | (unsigned int)f->code : SECCOMP_RET_USER_NOTIF;
	unsigned int flags = f->nth < 0 ? 0 : SECCOMP_FILTER_FLAG_NEW_LISTENER;

	insns[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	insns[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	insns[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	for (int i = 0; i < f->call_count; i++) {
		insns[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
		insns[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)f->calls[i], 0,
							  f->arg < 0 ? 1 : 3);
		if (f->arg >= 0) {
			insns[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
								  (unsigned int)(offsetof(struct seccomp_data, args) +
										 sizeof(__u64) * (unsigned int)f->arg));
			insns[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, f->value, 0, 1);
		}
		insns[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	}
	insns[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = n;
	if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("no_new_privs");
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static long install_fault(const void *arg)
{
	return install(arg);
}

static void answer_fault(void *arg, const struct seccomp_notif *call, struct seccomp_notif_resp *answer)
{
	struct fault *f = arg;

	(void)call;
	if (++f->seen == f->nth)
		answer->error = -f->code;
	else
		answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

static int count_and_fail(struct fault *f, char **command)
{
	const struct supervisor s = { install_fault, answer_fault, f };
	int status = supervise(&s, command);

	if (f->count_file) {
		FILE *out = fopen(f->count_file, "w");

		if (!out || fprintf(out, "%ld\n", f->seen) < 0 || fclose(out) != 0)
			die(f->count_file);
	}
	return status;
}

static int usage(void)
{
	fputs("usage: fail_call CALL[,CALL...] ERRNO [nth=N] [argI=VALUE] [count=FILE] -- COMMAND...\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct fault f = { .nth = -1, .arg = -1 };
	int at = 3;

	if (argc < 5)
		return usage();
	for (char *name = strtok(argv[1], ","); name && f.call_count < CALLS_MAX; name = strtok(NULL, ",")) {
		int nr = seccomp_syscall_resolve_name(name);

		if (nr == __NR_SCMP_ERROR)
			return usage();
		if (nr >= 0) /* else this architecture does not have it */
			f.calls[f.call_count++] = nr;
	}
	f.code = errno_from_name(argv[2]);
	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		if (strncmp(argv[at], "nth=", 4) == 0)
			f.nth = atol(argv[at] + 4);
		else if (sscanf(argv[at], "arg%d=%u", &f.arg, &f.value) == 2 && f.arg >= 0 && f.arg < 6)
			;
		else if (strncmp(argv[at], "count=", 6) == 0)
			f.count_file = argv[at] + 6;
		else
			return usage();
	}
	if (f.code < 0 || at + 1 >= argc)
		return usage();
	(void)syscall(SYS_close_range, 3U, ~0U, 0U);
	if (f.nth >= 0)
		return count_and_fail(&f, argv + at + 1);
	if (install(&f) < 0)
		die("install the filter");
	execvp(argv[at + 1], argv + at + 1);
	_exit(127); /* no message: its system call may be the one that fails */
}
