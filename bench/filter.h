/* filter.h: the seccomp program that the floor installs and that bench/run hands to bubblewrap, so that both pay for the same one.
 *
 * Architecture first (a foreign one ends after two instructions, which halves the kernel's per-call cache build), then a binary
 * tree over the runs of equal verdict. Deny list: calls that administer the machine, look into other processes, make namespaces
 * or mounts, or have a long record of kernel bugs. A sandbox for use would rather list what it allows; the cost is the same kind.
 */
#ifndef BENCH_FILTER_H
#define BENCH_FILTER_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined __x86_64__
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#else
#error "write the architecture's AUDIT_ARCH_ constant here"
#endif

#define FILTER_MAX 512
#define FILTER_ALLOW SECCOMP_RET_ALLOW
#define FILTER_DENY (SECCOMP_RET_ERRNO | EPERM)

static const uint16_t filter_denied[] = {
	SYS_acct,
	SYS_add_key,
	SYS_adjtimex,
	SYS_bpf,
	SYS_chroot,
	SYS_clock_adjtime,
	SYS_clock_settime,
	SYS_delete_module,
	SYS_fanotify_init,
	SYS_fanotify_mark,
	SYS_finit_module,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fsopen,
	SYS_fspick,
	SYS_get_mempolicy,
	SYS_init_module,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_io_uring_setup,
	SYS_kcmp,
	SYS_kexec_file_load,
	SYS_kexec_load,
	SYS_keyctl,
	SYS_lookup_dcookie,
	SYS_mbind,
	SYS_migrate_pages,
	SYS_mount,
	SYS_mount_setattr,
	SYS_move_mount,
	SYS_move_pages,
	SYS_name_to_handle_at,
	SYS_nfsservctl,
	SYS_open_by_handle_at,
	SYS_open_tree,
	SYS_perf_event_open,
	SYS_personality,
	SYS_pidfd_getfd,
	SYS_pivot_root,
	SYS_process_madvise,
	SYS_process_mrelease,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_ptrace,
	SYS_quotactl,
	SYS_quotactl_fd,
	SYS_reboot,
	SYS_request_key,
	SYS_set_mempolicy,
	SYS_set_mempolicy_home_node,
	SYS_setdomainname,
	SYS_sethostname,
	SYS_setns,
	SYS_settimeofday,
	SYS_swapoff,
	SYS_swapon,
	SYS_syslog,
	SYS_umount2,
	SYS_unshare,
	SYS_userfaultfd,
	SYS_vhangup,
#ifdef __x86_64__
	SYS_create_module,
	SYS_get_kernel_syms,
	SYS_ioperm,
	SYS_iopl,
	SYS_modify_ldt,
	SYS_query_module,
	SYS_sysfs,
	SYS__sysctl,
	SYS_uselib,
	SYS_ustat,
#endif
};
#define FILTER_DENIED (sizeof filter_denied / sizeof *filter_denied)

struct filter_run {
	uint32_t from, verdict; /* from this number up to the next run's */
};

/* Appends the tree for runs[low..high]; jumps over at most 255 instructions hold for a hundred runs per half, else 0 is returned. */
static size_t filter_tree(struct sock_filter *out, size_t at, const struct filter_run *runs, size_t low, size_t high)
{
	size_t middle, left;

	if (low == high) {
		out[at] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, runs[low].verdict);
		return at + 1;
	}
	middle = low + (high - low + 1) / 2;
	left = filter_tree(out, at + 1, runs, low, middle - 1);
	if (left == 0 || left - at - 1 > 255)
		return 0;
	out[at] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, runs[middle].from, (uint8_t)(left - at - 1), 0);
	return filter_tree(out, left, runs, middle, high);
}

/* Fills out[FILTER_MAX]; returns the number of instructions, 0 where the tree cannot be made. */
static size_t filter_build(struct sock_filter *out)
{
	uint16_t sorted[FILTER_DENIED];
	struct filter_run runs[2 * FILTER_DENIED + 2];
	size_t n = 0, at = 0;

	for (size_t i = 0; i < FILTER_DENIED; i++) {
		size_t j = i;

		for (; j > 0 && sorted[j - 1] > filter_denied[i]; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = filter_denied[i];
	}
	if (sorted[0] != 0)
		runs[n++] = (struct filter_run){ 0, FILTER_ALLOW };
	for (size_t i = 0; i < FILTER_DENIED; i++) {
		if (n > 0 && runs[n - 1].from == sorted[i])
			n--; /* the gap before this one is empty: the run of denied calls goes on */
		if (n == 0 || runs[n - 1].verdict != FILTER_DENY)
			runs[n++] = (struct filter_run){ sorted[i], FILTER_DENY };
		runs[n++] = (struct filter_run){ sorted[i] + 1u, FILTER_ALLOW };
	}
#ifdef __x86_64__
	runs[n++] = (struct filter_run){ 0x40000000u, FILTER_DENY }; /* the x32 numbers */
#endif
	out[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	out[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0);
	out[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	out[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	return filter_tree(out, at, runs, 0, n - 1);
}

#endif
