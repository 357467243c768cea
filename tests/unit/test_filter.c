/* The generated filters, run in a small interpreter of classic BPF over struct seccomp_data: which calls are granted,
 * which refused and with what, in every variant.  Written from seccomp(2) and the design, not from syscalls.h, so that
 * a slip in the table or in the generator does not agree with itself.  Needs no rights and loads nothing. */
#include "isolation/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>

#include <cmocka.h>

#if defined(__x86_64__)
#define ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH_HERE AUDIT_ARCH_AARCH64
#else
#define ARCH_HERE AUDIT_ARCH_RISCV64
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define DIRTY 0xdeadbeef00000000ull /* what a caller may leave in the half of a register that holds no int */
#define TMPFILE_BIT 020000000	    /* __O_TMPFILE */

/* The verdict as an errno, 0 for allowed.  Anything else a filter could say (kill, trap, trace, notify, log), and any
 * fault of the program itself, fails the test. */
static int run(const struct filter_program *p, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (unsigned int pc = 0, steps = 0; pc < p->len; pc++, steps++) {
		const struct sock_filter *i = &p->insns[pc];

		assert_true(steps < p->len); /* jumps only go forward */
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + i->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			if (i->k == SECCOMP_RET_ALLOW)
				return 0;
			if ((i->k & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO || (i->k & SECCOMP_RET_DATA) == 0)
				fail_msg("the filter answers %#x", i->k);
			return (int)(i->k & SECCOMP_RET_DATA);
		default:
			fail_msg("instruction %#x at %u", i->code, pc);
		}
	}
	fail_msg("ran off the end of the program");
	return -1;
}

struct args {
	uint64_t a[6];
};

static int verdict(unsigned int variant, uint32_t arch, int nr, struct args args)
{
	struct seccomp_data data = { .nr = nr, .arch = arch, .instruction_pointer = 0x7f0011223344 };
	const struct filter_program *p = filter_get(variant);

	assert_non_null(p);
	memcpy(data.args, args.a, sizeof(data.args));
	return run(p, &data);
}

#define V(variant, nr, ...) verdict(variant, ARCH_HERE, nr, (struct args){ { __VA_ARGS__ } })

/* The variants of a bit set must agree: bit 1u << variant. */
#define ALL_VARIANTS 0xfu
#define OWN_NAMESPACES 0x3u    /* 0 and FILTER_NET */
#define SHARED_NAMESPACES 0xcu /* with FILTER_NO_UNIX */
static void expect_in(unsigned int variants, int nr, struct args args, int error)
{
	for (unsigned int v = 0; v < FILTER_VARIANTS; v++) {
		if (!(variants & (1u << v)))
			continue;
		int got = verdict(v, ARCH_HERE, nr, args);

		if (got != error)
			fail_msg("variant %u, call %d(%#llx, %#llx, %#llx, %#llx): %d, expected %d", v, nr,
				 (unsigned long long)args.a[0], (unsigned long long)args.a[1],
				 (unsigned long long)args.a[2], (unsigned long long)args.a[3], got, error);
	}
}

static void expect(int nr, struct args args, int error)
{
	expect_in(ALL_VARIANTS, nr, args, error);
}

/* Refused where the workload shares the host's namespaces, whatever the arguments. */
static const int own_calls[] = {
	SYS_truncate,
#ifdef SYS_open
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
#endif
	SYS_fchmod,
	SYS_fchmodat,
	452 /* fchmodat2 */,
	SYS_fchown,
	SYS_fchownat,
	SYS_utimensat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	463 /* setxattrat */,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_fremovexattr,
	466 /* removexattrat */,
	SYS_shmget,
	SYS_shmat,
	SYS_shmdt,
	SYS_shmctl,
	SYS_semget,
	SYS_semop,
	SYS_semtimedop,
	SYS_semctl,
	SYS_msgget,
	SYS_msgsnd,
	SYS_msgrcv,
	SYS_msgctl,
	SYS_mq_open,
	SYS_mq_unlink,
	SYS_inotify_add_watch,
};
/* Refused there for any process but the caller. */
static const struct {
	int nr;
	unsigned int arg;
} self_calls[] = {
	{ SYS_sched_setaffinity, 0 }, { SYS_sched_setparam, 0 }, { SYS_sched_setscheduler, 0 },
	{ SYS_sched_setattr, 0 },     { SYS_prlimit64, 0 },	 { SYS_setpriority, 1 },
	{ SYS_ioprio_set, 1 },
};
#define OWN_CALLS (sizeof(own_calls) / sizeof(own_calls[0]))
#define SELF_CALLS (sizeof(self_calls) / sizeof(self_calls[0]))

static bool is_own_call(int nr)
{
	for (size_t i = 0; i < OWN_CALLS; i++) {
		if (own_calls[i] == nr)
			return true;
	}
	for (size_t i = 0; i < SELF_CALLS; i++) {
		if (self_calls[i].nr == nr)
			return true;
	}
	return false;
}

static void test_shared_namespaces(void **state)
{
	(void)state;
	for (size_t i = 0; i < OWN_CALLS; i++) {
		expect_in(OWN_NAMESPACES, own_calls[i], (struct args){ { 0 } }, 0);
		expect_in(SHARED_NAMESPACES, own_calls[i], (struct args){ { 0 } }, EPERM);
		expect_in(SHARED_NAMESPACES, own_calls[i],
			  (struct args){ { ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull } }, EPERM);
	}
	for (size_t i = 0; i < SELF_CALLS; i++) {
		struct args self = { { 0 } }, other, garbage, kind;

		if (self_calls[i].nr == SYS_ioprio_set)
			self.a[0] = 1; /* IOPRIO_WHO_PROCESS; PRIO_PROCESS is 0 */
		other = garbage = kind = self;
		other.a[self_calls[i].arg] = 4711;
		garbage.a[self_calls[i].arg] = 1ull << 32; /* the kernel reads 0 */
		expect(self_calls[i].nr, self, 0);
		if (self_calls[i].arg == 1) { /* a group's or a user's, of whom we are one */
			kind.a[0] += 1;
			expect_in(SHARED_NAMESPACES, self_calls[i].nr, kind, EPERM);
		}
		expect(self_calls[i].nr, garbage, 0);
		/* init has the workload's uid, and limits of its own */
		expect_in(OWN_NAMESPACES, self_calls[i].nr, other, self_calls[i].nr == SYS_prlimit64 ? EPERM : 0);
		expect_in(SHARED_NAMESPACES, self_calls[i].nr, other, EPERM);
	}
}

#define EXPECT(error, nr, ...) expect(nr, (struct args){ { __VA_ARGS__ } }, error)

static void test_programs(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < FILTER_VARIANTS; v++) {
		const struct filter_program *p = filter_get(v);

		assert_non_null(p);
		assert_in_range(p->len, 50, BPF_MAXINSNS);
		assert_int_equal(BPF_CLASS(p->insns[p->len - 1].code), BPF_RET);
	}
	assert_null(filter_get(FILTER_VARIANTS));
	assert_null(filter_get(~0u));
}

static void test_granted(void **state)
{
	static const int calls[] = {
#ifdef SYS_open
		SYS_stat,
		SYS_access,
		SYS_pipe,
		SYS_fork,
		SYS_vfork,
		SYS_dup2,
		SYS_poll,
		SYS_select,
		SYS_unlink,
		SYS_rename,
		SYS_readlink,
		SYS_epoll_wait,
		SYS_getpgrp,
		SYS_pause,
		SYS_alarm,
		SYS_time,
		SYS_chown,
		SYS_arch_prctl,
		335 /* uretprobe */,
#endif
		SYS_read,
		SYS_write,
		SYS_close,
		SYS_close_range,
		SYS_mmap,
		SYS_mprotect,
		SYS_brk,
		SYS_execve,
		SYS_execveat,
		SYS_exit,
		SYS_exit_group,
		SYS_wait4,
		SYS_waitid,
		SYS_futex,
		SYS_futex_waitv,
		SYS_set_robust_list,
		SYS_rseq,
		SYS_membarrier,
		SYS_kill,
		SYS_tgkill,
		SYS_rt_sigreturn,
		SYS_rt_sigaction,
		SYS_restart_syscall,
		SYS_statx,
		SYS_newfstatat,
		SYS_faccessat,
		SYS_faccessat2,
		SYS_getdents64,
		SYS_renameat2,
		SYS_linkat,
		SYS_symlinkat,
		SYS_unlinkat,
		SYS_utimensat,
		SYS_fchownat,
		SYS_fsetxattr,
		SYS_umask,
		SYS_getrandom,
		SYS_clock_gettime,
		SYS_clock_nanosleep,
		SYS_prlimit64,
		SYS_sched_getaffinity,
		SYS_prctl,
		SYS_capset,
		SYS_setresuid,
		SYS_memfd_create,
		SYS_mlock2,
		SYS_pidfd_open,
		SYS_pidfd_send_signal,
		SYS_landlock_create_ruleset,
		SYS_landlock_add_rule,
		SYS_landlock_restrict_self,
		SYS_semget,
		SYS_shmat,
		SYS_mq_open,
		SYS_sendmsg,
		SYS_recvmsg,
		SYS_accept4,
		SYS_shutdown,
		SYS_setsockopt,
		SYS_copy_file_range,
		SYS_epoll_pwait2,
		SYS_io_setup,
		451 /* cachestat */,
		453 /* map_shadow_stack */,
		454,
		455,
		456 /* futex_* */,
		462 /* mseal */,
		463,
		466 /* *xattrat */,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		unsigned int where = is_own_call(calls[i]) ? OWN_NAMESPACES : ALL_VARIANTS;

		expect_in(where, calls[i], (struct args){ { 0 } }, 0);
		if (calls[i] != SYS_prlimit64) /* test_shared_namespaces() */
			expect_in(where, calls[i], (struct args){ { ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull } }, 0);
	}
}

static void test_forbidden(void **state)
{
	static const int calls[] = {
#ifdef SYS_open
		SYS_iopl,
		SYS_ioperm,
		SYS_modify_ldt,
		SYS_uselib,
#endif
		SYS_unshare,
		SYS_setns,
		SYS_mount,
		SYS_umount2,
		SYS_pivot_root,
		SYS_chroot,
		SYS_fsopen,
		SYS_fsconfig,
		SYS_fsmount,
		SYS_fspick,
		SYS_open_tree,
		SYS_move_mount,
		SYS_mount_setattr,
		457 /* statmount */,
		458 /* listmount */,
		467 /* open_tree_attr */,
		SYS_ptrace,
		SYS_process_vm_readv,
		SYS_process_vm_writev,
		SYS_process_madvise,
		SYS_process_mrelease,
		SYS_pidfd_getfd,
		SYS_kcmp,
		SYS_bpf,
		SYS_io_uring_setup,
		SYS_io_uring_enter,
		SYS_io_uring_register,
		SYS_perf_event_open,
		SYS_userfaultfd,
		SYS_memfd_secret,
		SYS_fanotify_init,
		SYS_add_key,
		SYS_request_key,
		SYS_keyctl,
		SYS_open_by_handle_at,
		SYS_name_to_handle_at,
		SYS_mbind,
		SYS_set_mempolicy,
		SYS_migrate_pages,
		SYS_move_pages,
		SYS_clock_settime,
		SYS_settimeofday,
		SYS_adjtimex,
		SYS_clock_adjtime,
		SYS_sethostname,
		SYS_setdomainname,
		SYS_init_module,
		SYS_finit_module,
		SYS_delete_module,
		SYS_kexec_load,
		SYS_kexec_file_load,
		SYS_reboot,
		SYS_swapon,
		SYS_swapoff,
		SYS_quotactl,
		SYS_quotactl_fd,
		SYS_acct,
		SYS_syslog,
		SYS_vhangup,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		EXPECT(EPERM, calls[i], 0);
		EXPECT(EPERM, calls[i], ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull);
	}
}

/* A libc tries these first and goes on without them, if and only if it hears ENOSYS (moby#42680). */
static void test_unknown(void **state)
{
	static const int calls[] = { SYS_clone3, SYS_openat2, 459, 460, 461, 468, 469, 9999, 0x3fffffff, -1, -2 };

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++)
		EXPECT(ENOSYS, calls[i], 0);
	for (int nr = 470; nr < 2000; nr++)
		EXPECT(ENOSYS, nr, 0);
}

static void test_other_architectures(void **state)
{
	static const uint32_t arches[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_MIPS, 0, ~0u };

	(void)state;
	for (unsigned int v = 0; v < FILTER_VARIANTS; v++) {
		for (size_t i = 0; i < COUNT(arches); i++) {
			for (int nr = 0; nr < 500; nr++)
				assert_int_equal(verdict(v, arches[i], nr, (struct args){ { 0 } }), ENOSYS);
		}
#ifdef __x86_64__
		for (int nr = 0; nr < 600; nr++) /* x32 has the same arch and a bit in the number */
			assert_int_equal(verdict(v, ARCH_HERE, nr | 0x40000000, (struct args){ { 0 } }), ENOSYS);
#endif
	}
}

static void test_clone(void **state)
{
	static const uint64_t namespaces[] = { CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
					       CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET };
	const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
				CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	(void)state;
	EXPECT(0, SYS_clone, thread);
	EXPECT(0, SYS_clone, DIRTY | thread);
	EXPECT(0, SYS_clone, CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | 17 /* SIGCHLD */);
	EXPECT(0, SYS_clone, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | 17);
	for (size_t i = 0; i < COUNT(namespaces); i++) {
		EXPECT(EPERM, SYS_clone, namespaces[i]);
		EXPECT(EPERM, SYS_clone, DIRTY | thread | namespaces[i]);
		EXPECT(EPERM, SYS_clone, ~0ull ^ namespaces[i]);
	}
}

static void test_ioctl(void **state)
{
	static const uint64_t uppers[] = { 0, 1ull << 32, DIRTY, 0xffffffff00000000ull };
	const uint64_t refused[] = { TIOCSTI, TIOCLINUX };

	(void)state;
	for (size_t u = 0; u < COUNT(uppers); u++) {
		/* Every command of the terminal's type, and every command that differs from a refused one in a bit. */
		for (uint64_t cmd = 0x5300; cmd <= 0x55ff; cmd++)
			EXPECT(cmd == TIOCSTI || cmd == TIOCLINUX ? EPERM : 0, SYS_ioctl, 0, uppers[u] | cmd);
		for (size_t i = 0; i < COUNT(refused); i++) {
			for (int bit = 0; bit < 16; bit++)
				EXPECT(0, SYS_ioctl, 0, uppers[u] | (refused[i] ^ (1ull << bit)));
		}
		EXPECT(0, SYS_ioctl, 0, uppers[u] | 0x80045430 /* TIOCGPTN */);
		EXPECT(0, SYS_ioctl, 0, uppers[u] | 0xc0104652 /* an NVIDIA driver's */);
		EXPECT(0, SYS_ioctl, 0, uppers[u] | FIONREAD);
		EXPECT(0, SYS_ioctl, 0, uppers[u] | TIOCGWINSZ);
	}
}

/* Judge a mode in argument `arg` of a call that makes or changes a file, other arguments being what they may. */
static void check_mode(int nr, unsigned int arg, struct args base, uint64_t kind)
{
	static const uint64_t uppers[] = { 0, 0xffff0000, DIRTY, 0xffffffffffff0000ull };

	for (uint64_t mode = 0; mode <= 07777; mode++) {
		for (size_t u = 0; u < COUNT(uppers); u++) {
			base.a[arg] = uppers[u] | kind | mode;
			expect_in(is_own_call(nr) ? OWN_NAMESPACES : ALL_VARIANTS, nr, base, mode & 06000 ? EPERM : 0);
		}
	}
}

static void test_modes(void **state)
{
	const struct args none = { { 0 } }, all = { { ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct args base = i ? all : none;

#ifdef SYS_open
		check_mode(SYS_chmod, 1, base, 0);
		check_mode(SYS_creat, 1, base, 0);
		check_mode(SYS_mkdir, 1, base, 0);
		check_mode(SYS_mknod, 1, base, S_IFREG);
#endif
		check_mode(SYS_fchmod, 1, base, 0);
		check_mode(SYS_fchmodat, 2, base, 0);
		check_mode(452 /* fchmodat2 */, 2, base, 0);
		check_mode(SYS_mkdirat, 2, base, 0);
		check_mode(SYS_mknodat, 2, base, 0);
		check_mode(SYS_mknodat, 2, base, S_IFREG);
		check_mode(SYS_mknodat, 2, base, S_IFIFO);
		check_mode(SYS_mknodat, 2, base, S_IFSOCK);
	}
}

static void check_open(int nr, unsigned int flags_arg)
{
	static const uint64_t creating[] = {
		O_CREAT, O_TMPFILE, TMPFILE_BIT, O_CREAT | O_EXCL | O_WRONLY, O_CREAT | O_TMPFILE, ~0ull
	};
	static const uint64_t opening[] = { O_RDONLY, O_RDWR | O_TRUNC | O_CLOEXEC, O_DIRECTORY | O_PATH,
					    ~(uint64_t)(O_CREAT | TMPFILE_BIT) };

	for (uint64_t mode = 0; mode <= 07777; mode++) {
		struct args args = { { 0 } };

		for (size_t i = 0; i < COUNT(creating); i++) {
			args.a[flags_arg] = creating[i];
			args.a[flags_arg + 1] = mode;
			expect(nr, args, mode & 06000 ? EPERM : 0);
			args.a[flags_arg] |= DIRTY;
			args.a[flags_arg + 1] |= 0xffffffffffff0000ull;
			expect(nr, args, mode & 06000 ? EPERM : 0);
		}
		for (size_t i = 0; i < COUNT(opening); i++) { /* the mode is whatever the register held */
			args.a[flags_arg] = opening[i];
			args.a[flags_arg + 1] = mode;
			expect(nr, args, 0);
			args.a[flags_arg + 1] |= DIRTY;
			expect(nr, args, 0);
		}
	}
}

static void test_open(void **state)
{
	(void)state;
#ifdef SYS_open
	check_open(SYS_open, 1);
#endif
	check_open(SYS_openat, 2);
}

static void test_mknod(void **state)
{
	(void)state;
	EXPECT(0, SYS_mknodat, 0, 0, S_IFCHR | 0600, 0); /* the launcher's forbidden act: Landlock must get to see it */
	EXPECT(0, SYS_mknodat, 0, 0, S_IFCHR, DIRTY);
	for (int bit = 0; bit < 32; bit++)
		EXPECT(EPERM, SYS_mknodat, 0, 0, S_IFCHR | 0600, 1ull << bit);
	EXPECT(EPERM, SYS_mknodat, 0, 0, S_IFCHR | 0600, 0x103 /* /dev/null */);
	EXPECT(EPERM, SYS_mknodat, 0, 0, S_IFCHR | 0600, DIRTY | 0x103);
	EXPECT(EPERM, SYS_mknodat, 0, 0, S_IFCHR | 04600, 0);
	EXPECT(EPERM, SYS_mknodat, 0, 0, S_IFBLK | 0600, 0);
	EXPECT(EPERM, SYS_mknodat, 0, 0, S_IFBLK | 0600, 0x801);
	EXPECT(EPERM, SYS_mknodat, 0, 0, S_IFDIR | 0700, 0);
	EXPECT(EPERM, SYS_mknodat, 0, 0, S_IFLNK | 0700, 0);
	EXPECT(EPERM, SYS_mknodat, 0, 0, DIRTY | S_IFBLK | 0600, 0);
}

static void test_personality_and_seccomp(void **state)
{
	static const uint64_t personas[] = { 0, 8, 0x20000, 0x20008, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < COUNT(personas); i++) {
		EXPECT(0, SYS_personality, personas[i]);
		EXPECT(0, SYS_personality, DIRTY | personas[i]);
	}
	EXPECT(EPERM, SYS_personality, 0x0040000 /* ADDR_NO_RANDOMIZE */);
	EXPECT(EPERM, SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */);
	EXPECT(EPERM, SYS_personality, DIRTY | 0x0400008);
	EXPECT(EPERM, SYS_personality, 0xfffffffe);

	EXPECT(0, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 1);
	EXPECT(0, SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG, 1);
	EXPECT(0, SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, 1);
	EXPECT(EPERM, SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 1);
	EXPECT(EPERM, SYS_seccomp, SECCOMP_SET_MODE_FILTER, DIRTY | 0xffffffff, 1);
}

/* What socket(2) shall answer. */
static int socket_expected(unsigned int variant, int family, int type, int protocol)
{
	int kind = type & 0xf;

	switch (family) {
	case AF_UNIX:
		if (variant & FILTER_NO_UNIX)
			return EAFNOSUPPORT;
		return kind == SOCK_STREAM || kind == SOCK_DGRAM || kind == SOCK_SEQPACKET ? 0 : EPERM;
	case AF_INET:
	case AF_INET6:
		if (!(variant & FILTER_NET))
			return EAFNOSUPPORT;
		if (kind == SOCK_STREAM)
			return protocol == 0 || protocol == IPPROTO_TCP || protocol == 262 ? 0 : EPROTONOSUPPORT;
		if (kind == SOCK_DGRAM)
			return protocol == 0 || protocol == IPPROTO_UDP ||
					       protocol == (family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6)
				       ? 0
				       : EPROTONOSUPPORT;
		return EPERM;
	case AF_NETLINK:
		if (!(variant & FILTER_NET))
			return EAFNOSUPPORT;
		return protocol == NETLINK_ROUTE ? 0 : EPROTONOSUPPORT;
	default:
		return EAFNOSUPPORT;
	}
}

static void test_socket(void **state)
{
	static const int protocols[] = { 0, 1, 2, 6, 15, 16, 17, 33, 58, 132, 136, 255, 256, 262, -1 };
	static const int flags[] = { 0, SOCK_CLOEXEC, SOCK_CLOEXEC | SOCK_NONBLOCK };

	(void)state;
	for (unsigned int v = 0; v < FILTER_VARIANTS; v++) {
		for (int family = -1; family < 64; family++) {
			for (int type = 0; type < 16; type++) {
				for (size_t p = 0; p < COUNT(protocols); p++) {
					int flag = flags[(unsigned int)(family + type) % COUNT(flags)];
					int want = socket_expected(v, family, type, protocols[p]);

					for (uint64_t up = 0; up <= DIRTY; up += DIRTY) {
						int got = V(v, SYS_socket, up | (uint32_t)family,
							    up | (uint32_t)(type | flag), up | (uint32_t)protocols[p]);

						if (got != want)
							fail_msg("variant %u socket(%d, %d, %d): %d, expected %d", v,
								 family, type, protocols[p], got, want);
					}
				}
			}
		}
	}
}

static void test_socketpair(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < FILTER_VARIANTS; v++) {
		for (uint64_t up = 0; up <= DIRTY; up += DIRTY) {
			for (unsigned int type = 0; type < 16; type++) {
				bool named = type == SOCK_DGRAM && !(v & FILTER_NO_UNIX);
				bool fine = type == SOCK_STREAM || type == SOCK_SEQPACKET || named;

				assert_int_equal(V(v, SYS_socketpair, up | AF_UNIX, up | type | SOCK_CLOEXEC),
						 fine ? 0 : EPERM);
			}
			assert_int_equal(V(v, SYS_socketpair, up | AF_INET, SOCK_STREAM), EAFNOSUPPORT);
			assert_int_equal(V(v, SYS_socketpair, up | 30 /* AF_TIPC */, SOCK_STREAM), EAFNOSUPPORT);
		}
	}
}

static void test_addresses(void **state)
{
	static const int calls[] = { SYS_connect, SYS_bind, SYS_listen };

	(void)state;
	for (unsigned int v = 0; v < FILTER_VARIANTS; v++) {
		int want = v == FILTER_NO_UNIX ? EPERM : 0;

		for (size_t i = 0; i < COUNT(calls); i++)
			assert_int_equal(V(v, calls[i], 3, 0x7ffc0000, 110), want);
		assert_int_equal(V(v, SYS_sendto, 3, 0x7ffc0000, 1, 0, 0x7ffc0000, 110), want);
		assert_int_equal(V(v, SYS_sendto, 3, 0x7ffc0000, 1, 0, 0x100000000, 110), want);
		assert_int_equal(V(v, SYS_sendto, 3, 0x7ffc0000, 1, 0, 0x80000000, 0), want);
		assert_int_equal(V(v, SYS_sendto, 3, 0x7ffc0000, 1, 0, 0, 110), 0); /* send(2) */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_granted),
		cmocka_unit_test(test_shared_namespaces),
		cmocka_unit_test(test_forbidden),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_clone),
		cmocka_unit_test(test_ioctl),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_mknod),
		cmocka_unit_test(test_personality_and_seccomp),
		cmocka_unit_test(test_socket),
		cmocka_unit_test(test_socketpair),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_other_architectures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
