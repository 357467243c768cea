/* Turns the table in syscalls.h into the filters that bulkhead loads.  Runs while bulkhead is built, on the
 * architecture it is built for; nothing of it, nor libseccomp, is in the installed program.
 *
 *   filter_gen FILE     write C source with one BPF program per variant, and init's own (filter.h)
 *   filter_gen --doc    print the table as Markdown (docs/syscalls.md)
 *
 * libseccomp's rules say when an action is taken, not what happens otherwise: a call whose arguments match no rule
 * falls to the filter's default, which is ENOSYS here, while a known call with forbidden arguments shall say EPERM.
 * So each call that is judged by its arguments gets an otherwise() rule beside its grants.  That rule matches whatever
 * the arguments, and a grant counts because libseccomp 2.5 tests a higher argument before a lower one, and on one
 * argument equality before order.  Were a later libseccomp to test them in another order, calls would be refused too
 * often, never granted: every grant is exact by itself.  tests/unit/test_filter.c would say so.
 *
 * All comparisons of int arguments mask the upper half of the register, which the kernel ignores and a caller may leave
 * dirty (containers/bubblewrap#150). */
#include "isolation/filter.h"
#include "isolation/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <unistd.h>

#if !defined(__x86_64__) && !defined(__aarch64__) && !(defined(__riscv) && __riscv_xlen == 64)
#error "the rules of this file were checked for x86_64, aarch64 and riscv64 only (clone's arguments differ on s390)"
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define INSNS_MAX 4096 /* BPF_MAXINSNS: the kernel takes no longer program */

/* What the C library's headers may not have yet, or hide behind macros that other headers fight over. */
#define OPEN_CREATES ((scmp_datum_t)(O_CREAT | 020000000)) /* __O_TMPFILE is one of O_TMPFILE's two bits (open(2)) */
#define SETID ((scmp_datum_t)(S_ISUID | S_ISGID))
#define LOW32 0xffffffffull
#define TYPE_MASK 0xfull     /* SOCK_TYPE_MASK of linux/net.h: the rest is SOCK_CLOEXEC and SOCK_NONBLOCK */
#define IOPRIO_WHO_PROCESS 1 /* linux/ioprio.h */
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* All bits that make clone(2) create a namespace.  CLONE_NEWTIME is not among them: its value lies in the byte that
 * clone takes for the exit signal, so only clone3 and unshare can ask for it (clone(2)). */
#define CLONE_NEW                                                                                                    \
	((scmp_datum_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
			CLONE_NEWNET))

static void die(const char *what, const char *on, int code)
{
	fprintf(stderr, "filter_gen: %s %s: %s\n", what, on, strerror(code));
	exit(1);
}

/* One call of one variant, as its rule is written down. */
struct target {
	scmp_filter_ctx ctx;
	const char *name;
	int nr;
	unsigned int variant;
};

static void add(const struct target *t, uint32_t action, unsigned int count, const struct scmp_arg_cmp *cmps)
{
	int r = seccomp_rule_add_exact_array(t->ctx, action, t->nr, count, cmps);

	if (r < 0)
		die("add a rule for", t->name, -r);
}

static struct scmp_arg_cmp bits(unsigned int arg, scmp_datum_t mask, scmp_datum_t value)
{
	return (struct scmp_arg_cmp){ .arg = arg, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value };
}

static void grant1(const struct target *t, struct scmp_arg_cmp a)
{
	add(t, SCMP_ACT_ALLOW, 1, &a);
}

static void grant2(const struct target *t, struct scmp_arg_cmp a, struct scmp_arg_cmp b)
{
	add(t, SCMP_ACT_ALLOW, 2, (const struct scmp_arg_cmp[]){ a, b });
}

static void grant3(const struct target *t, struct scmp_arg_cmp a, struct scmp_arg_cmp b, struct scmp_arg_cmp c)
{
	add(t, SCMP_ACT_ALLOW, 3, (const struct scmp_arg_cmp[]){ a, b, c });
}

/* Refuse what the grants beneath the given comparisons (none: all grants of the call) leave over.  `arg` is the lowest
 * argument that those grants look at: see the opening comment for the order. */
static void otherwise(const struct target *t, int error, unsigned int arg, unsigned int count,
		      const struct scmp_arg_cmp *under)
{
	struct scmp_arg_cmp all[3];

	for (unsigned int i = 0; i < count; i++)
		all[i] = under[i];
	all[count] = (struct scmp_arg_cmp){ .arg = arg, .op = SCMP_CMP_GE, .datum_a = 0 };
	add(t, SCMP_ACT_ERRNO((uint32_t)error), count + 1, all);
}

/* Grant every value of an argument but those that agree with a given one in the bits from `bit` down, by rules none of
 * which can match them: walk the values' bits from the top, and wherever all values on the way agree on a bit, grant
 * what has the other one.  (An otherwise() that grants would be shorter, and would grant too much if it came first.) */
static void grant_all_but(const struct target *t, unsigned int arg, const uint32_t *values, size_t count, int bit,
			  uint32_t mask, uint32_t prefix)
{
	for (; bit >= 0; bit--) {
		uint32_t here = (uint32_t)1 << bit;
		bool zero = false, one = false;

		for (size_t i = 0; i < count; i++) {
			if ((values[i] & mask) == prefix) {
				if (values[i] & here)
					one = true;
				else
					zero = true;
			}
		}
		if (zero && one) {
			grant_all_but(t, arg, values, count, bit - 1, mask | here, prefix);
			grant_all_but(t, arg, values, count, bit - 1, mask | here, prefix | here);
			return;
		}
		grant1(t, bits(arg, mask | here, prefix | (zero ? here : 0)));
		mask |= here;
		prefix |= one ? here : 0;
	}
}

/* mode_t is 16 bits to the kernel, whatever the register holds above; chmod(2) looks at 07777 of them. */
static void rule_mode(const struct target *t, unsigned int mode)
{
	grant1(t, bits(mode, SETID, 0));
	otherwise(t, EPERM, mode, 0, NULL);
}

/* open(2) ignores the mode, and callers leave it undefined, unless it can create a file. */
static void rule_open(const struct target *t, unsigned int flags)
{
	grant1(t, bits(flags, OPEN_CREATES, 0));
	grant1(t, bits(flags + 1, SETID, 0));
	otherwise(t, EPERM, flags, 0, NULL);
}

static void rule_mknod(const struct target *t, unsigned int mode)
{
	const scmp_datum_t mask = S_IFMT | SETID;
	struct scmp_arg_cmp device = bits(mode, mask, S_IFCHR);

	grant1(t, bits(mode, mask, 0)); /* the same as S_IFREG: mknod(2) */
	grant1(t, bits(mode, mask, S_IFREG));
	grant1(t, bits(mode, mask, S_IFIFO));
	grant1(t, bits(mode, mask, S_IFSOCK));
	grant2(t, device, bits(mode + 1, LOW32, 0)); /* WHITEOUT_DEV: needs no CAP_MKNOD since Linux 5.8 */
	otherwise(t, EPERM, mode + 1, 1, &device);
	otherwise(t, EPERM, mode, 0, NULL);
}

static void rule_clone(const struct target *t)
{
	grant1(t, bits(0, CLONE_NEW, 0));
	otherwise(t, EPERM, 0, 0, NULL);
}

static void rule_ioctl(const struct target *t)
{
	static const uint32_t into_terminal[] = { TIOCSTI, TIOCLINUX };

	/* The low 16 bits name an ioctl: type and number.  The upper ones are a size and a direction, which these two do
	 * not have, and no command in use has a terminal's type, one of these numbers, and a size: half the rules. */
	grant_all_but(t, 1, into_terminal, COUNT(into_terminal), 15, 0, 0);
	otherwise(t, EPERM, 1, 0, NULL);
}

static void rule_personality(const struct target *t)
{
	static const uint32_t personas[] = { PER_LINUX, PER_LINUX32, UNAME26, PER_LINUX32 | UNAME26, 0xffffffff };

	for (size_t i = 0; i < COUNT(personas); i++)
		grant1(t, bits(0, LOW32, personas[i]));
	otherwise(t, EPERM, 0, 0, NULL);
}

static void rule_seccomp(const struct target *t)
{
	grant1(t, bits(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0));
	otherwise(t, EPERM, 1, 0, NULL);
}

/* TCP, UDP and echo.  Any other protocol would make the kernel load a module for it on an unprivileged request (SCTP,
 * DCCP, L2TP and SMC have all had their turn), and raw sockets need a capability anyway. */
static void grant_internet(const struct target *t, int family, int echo)
{
	const struct scmp_arg_cmp is_family = bits(0, LOW32, (scmp_datum_t)family);
	const struct {
		int type;
		int protocols[3];
	} kinds[] = {
		{ SOCK_STREAM, { 0, IPPROTO_TCP, IPPROTO_MPTCP } },
		{ SOCK_DGRAM, { 0, IPPROTO_UDP, echo } },
	};

	for (size_t i = 0; i < COUNT(kinds); i++) {
		const struct scmp_arg_cmp is_kind[] = { is_family, bits(1, TYPE_MASK, (scmp_datum_t)kinds[i].type) };

		for (size_t p = 0; p < COUNT(kinds[i].protocols); p++)
			grant3(t, is_kind[0], is_kind[1], bits(2, LOW32, (scmp_datum_t)kinds[i].protocols[p]));
		otherwise(t, EPROTONOSUPPORT, 2, 2, is_kind);
	}
	otherwise(t, EPERM, 1, 1, &is_family);
}

/* The types of an AF_UNIX socket.  The kernel takes SOCK_RAW for SOCK_DGRAM there.  Where nothing may reach a pathname
 * socket there is no datagram type: a datagram socket that is one of a pair can still send to, or connect to, any name,
 * while the other two types are connected for good (unix(7); EISCONN). */
static void grant_unix(const struct target *t)
{
	const struct scmp_arg_cmp is_unix = bits(0, LOW32, AF_UNIX);

	grant2(t, is_unix, bits(1, TYPE_MASK, SOCK_STREAM));
	grant2(t, is_unix, bits(1, TYPE_MASK, SOCK_SEQPACKET));
	if (!(t->variant & FILTER_NO_UNIX))
		grant2(t, is_unix, bits(1, TYPE_MASK, SOCK_DGRAM));
	otherwise(t, EPERM, 1, 1, &is_unix);
}

static void rule_socket(const struct target *t)
{
	if (t->variant == FILTER_NO_UNIX) {
		add(t, SCMP_ACT_ERRNO(EAFNOSUPPORT), 0, NULL);
		return;
	}
	if (!(t->variant & FILTER_NO_UNIX))
		grant_unix(t);
	if (t->variant & FILTER_NET) {
		const struct scmp_arg_cmp is_netlink = bits(0, LOW32, AF_NETLINK);

		grant_internet(t, AF_INET, IPPROTO_ICMP);
		grant_internet(t, AF_INET6, IPPROTO_ICMPV6);
		grant2(t, is_netlink, bits(2, LOW32, NETLINK_ROUTE)); /* getifaddrs(3), getaddrinfo(3) */
		otherwise(t, EPROTONOSUPPORT, 2, 1, &is_netlink);
	}
	otherwise(t, EAFNOSUPPORT, 0, 0, NULL);
}

static void rule_socketpair(const struct target *t)
{
	grant_unix(t);
	otherwise(t, EAFNOSUPPORT, 0, 0, NULL);
}

/* With FILTER_NET the sockets that can be had have no AF_UNIX addresses; without sockets there is nothing to bind. */
static void rule_address(const struct target *t)
{
	add(t, t->variant == FILTER_NO_UNIX ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW, 0, NULL);
}

static void rule_sendto(const struct target *t)
{
	if (t->variant == FILTER_NO_UNIX) {
		grant1(t, bits(4, ~(scmp_datum_t)0, 0)); /* no address: send(2) */
		otherwise(t, EPERM, 4, 0, NULL);
	} else {
		add(t, SCMP_ACT_ALLOW, 0, NULL);
	}
}

/* Landlock covers neither a file's mode, owner, times and attributes nor System V objects, watches and the scheduling and
 * limits of other processes.  In namespaces of its own the workload reaches none that are not its own; elsewhere it would
 * reach the host's, so there the calls are refused. */
static bool shares_namespaces(const struct target *t)
{
	return (t->variant & FILTER_NO_UNIX) != 0;
}

static void rule_own(const struct target *t)
{
	add(t, shares_namespaces(t) ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW, 0, NULL);
}

static void rule_self(const struct target *t, unsigned int arg)
{
	if (!shares_namespaces(t)) {
		add(t, SCMP_ACT_ALLOW, 0, NULL);
		return;
	}
	if (arg == 0)
		grant1(t, bits(0, LOW32, 0)); /* pid_t and int: the low 32 bits */
	else /* setpriority(2) and ioprio_set(2): of a process, not of a group or a user */
		grant2(t, bits(0, LOW32, strcmp(t->name, "ioprio_set") == 0 ? IOPRIO_WHO_PROCESS : PRIO_PROCESS),
		       bits(1, LOW32, 0));
	otherwise(t, EPERM, 0, 0, NULL); /* tested after the higher argument */
}

static void rule_chmod(const struct target *t, unsigned int mode)
{
	if (shares_namespaces(t))
		rule_own(t);
	else
		rule_mode(t, mode);
}

static void add_granted(const struct target *t, enum rule rule)
{
	switch (rule) {
	case RULE_ANY:
		add(t, SCMP_ACT_ALLOW, 0, NULL);
		break;
	case RULE_MODE_1:
		rule_mode(t, 1);
		break;
	case RULE_MODE_2:
		rule_mode(t, 2);
		break;
	case RULE_OPEN_1:
		rule_open(t, 1);
		break;
	case RULE_OPEN_2:
		rule_open(t, 2);
		break;
	case RULE_MKNOD_1:
		rule_mknod(t, 1);
		break;
	case RULE_MKNOD_2:
		rule_mknod(t, 2);
		break;
	case RULE_CLONE:
		rule_clone(t);
		break;
	case RULE_IOCTL:
		rule_ioctl(t);
		break;
	case RULE_PERSONALITY:
		rule_personality(t);
		break;
	case RULE_SECCOMP:
		rule_seccomp(t);
		break;
	case RULE_SOCKET:
		rule_socket(t);
		break;
	case RULE_SOCKETPAIR:
		rule_socketpair(t);
		break;
	case RULE_ADDRESS:
		rule_address(t);
		break;
	case RULE_SENDTO:
		rule_sendto(t);
		break;
	case RULE_OWN:
		rule_own(t);
		break;
	case RULE_SELF_0_ALWAYS:
		grant1(t, bits(0, LOW32, 0));
		otherwise(t, EPERM, 0, 0, NULL);
		break;
	case RULE_SELF_0:
		rule_self(t, 0);
		break;
	case RULE_SELF_1:
		rule_self(t, 1);
		break;
	case RULE_CHMOD_1:
		rule_chmod(t, 1);
		break;
	case RULE_CHMOD_2:
		rule_chmod(t, 2);
		break;
	case RULE_READ_ONLY_2:
		grant1(t, bits(2, (scmp_datum_t)(O_ACCMODE | O_TRUNC) | OPEN_CREATES, O_RDONLY));
		break;
	case RULE_NO_EXEC_2:
		grant1(t, bits(2, PROT_EXEC, 0));
		break;
	case RULE_COUNT:
		abort();
	}
}

/* The number of a call here, or a negative one where this architecture does not have it (open on aarch64). */
static int number_of(const struct call *call)
{
	int nr = seccomp_syscall_resolve_name(call->name);

	if (call->number == 0) {
		if (nr == __NR_SCMP_ERROR)
			die("resolve", call->name, ENOSYS); /* a misspelt name must not be a call left out */
		return nr;
	}
	if (nr >= 0 && nr != call->number)
		die("the number in the table is wrong for", call->name, EINVAL);
#ifndef __x86_64__
	if (call->number < 424) /* numbers below are each architecture's own; the table has x86_64's */
		return -1;
#endif
	return call->number;
}

static void add_groups(scmp_filter_ctx ctx, unsigned int variant, const struct group *groups, size_t count, bool grant)
{
	for (size_t g = 0; g < count; g++) {
		for (const struct call *call = groups[g].calls; call->name; call++) {
			struct target t = { ctx, call->name, number_of(call), variant };

			if (t.nr < 0)
				continue;
			if (grant)
				add_granted(&t, call->rule);
			else
				add(&t, SCMP_ACT_ERRNO(EPERM), 0, NULL);
		}
	}
}

/* seccomp_export_bpf() writes raw struct sock_filter to a descriptor. */
static size_t export(scmp_filter_ctx ctx, struct sock_filter insns[INSNS_MAX])
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t n;
	int r;

	if (fd < 0)
		die("make", "a memory file", errno);
	r = seccomp_export_bpf(ctx, fd);
	if (r < 0)
		die("export", "the filter", -r);
	n = pread(fd, insns, INSNS_MAX * sizeof(insns[0]), 0);
	if (n <= 0 || (size_t)n % sizeof(insns[0]) != 0)
		die("read back", "the filter", n < 0 ? errno : EIO);
	if (lseek(fd, 0, SEEK_END) != n)
		die("the filter is longer than", "the kernel takes", E2BIG);
	close(fd);
	return (size_t)n / sizeof(insns[0]);
}

/* i386 and x32 calls look like a kernel built without them.  A binary tree over the call numbers: a hundred instructions
 * more, and yet the load takes half as long (0.3 for 0.7 ms, Linux 6.18), because the kernel runs every call number
 * through the program once to learn which are always allowed. */
static scmp_filter_ctx new_filter(uint32_t otherwise_action)
{
	scmp_filter_ctx ctx = seccomp_init(otherwise_action);
	int r;

	if (!ctx)
		die("make", "a filter", ENOMEM);
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r < 0)
		die("set", "the filter's attributes", -r);
	return ctx;
}

static size_t build(unsigned int variant, struct sock_filter insns[INSNS_MAX])
{
	scmp_filter_ctx ctx = new_filter(SCMP_ACT_ERRNO(ENOSYS));
	size_t count;

	add_groups(ctx, variant, granted, COUNT(granted), true);
	add_groups(ctx, variant, forbidden, COUNT(forbidden), false);
	count = export(ctx, insns);
	seccomp_release(ctx);
	return count;
}

static size_t build_for_init(struct sock_filter insns[INSNS_MAX])
{
	scmp_filter_ctx ctx = new_filter(SCMP_ACT_ERRNO(EPERM));
	size_t count;

	add_groups(ctx, 0, granted_to_init, COUNT(granted_to_init), true);
	count = export(ctx, insns);
	seccomp_release(ctx);
	return count;
}

/* A name may stand in one list once: libseccomp would merge a second entry silently. */
static const struct {
	const struct group *groups;
	size_t count;
} lists[] = {
	{ granted, COUNT(granted) },
	{ forbidden, COUNT(forbidden) },
	{ absent, COUNT(absent) },
};

static size_t count_name(const char *name)
{
	size_t n = 0;

	for (size_t l = 0; l < COUNT(lists); l++) {
		for (size_t g = 0; g < lists[l].count; g++) {
			for (const struct call *call = lists[l].groups[g].calls; call->name; call++)
				n += strcmp(call->name, name) == 0;
		}
	}
	return n;
}

static void check_table(void)
{
	for (size_t l = 0; l < COUNT(lists); l++) {
		for (size_t g = 0; g < lists[l].count; g++) {
			for (const struct call *call = lists[l].groups[g].calls; call->name; call++) {
				if (count_name(call->name) != 1)
					die("listed more than once:", call->name, EEXIST);
				(void)number_of(call);
			}
		}
	}
	for (const struct call *call = granted_to_init[0].calls; call->name; call++)
		(void)number_of(call);
}

static void write_source(const char *path)
{
	static struct sock_filter insns[INSNS_MAX];
	size_t counts[FILTER_VARIANTS + 1];
	FILE *f = fopen(path, "we");

	if (!f)
		die("open", path, errno);
	fputs("/* Written by filter_gen from src/isolation/syscalls.h; not to be edited. */\n"
	      "#include \"isolation/filter.h\"\n\n#include <stddef.h>\n",
	      f);
	for (unsigned int v = 0; v <= FILTER_VARIANTS; v++) {
		char name[32] = "for_init";

		if (v < FILTER_VARIANTS)
			(void)snprintf(name, sizeof(name), "variant_%u", v);
		counts[v] = v < FILTER_VARIANTS ? build(v, insns) : build_for_init(insns);
		fprintf(f, "\nstatic const struct sock_filter %s[] = {\n", name);
		for (size_t i = 0; i < counts[v]; i++)
			fprintf(f, "\t{ 0x%02x, %u, %u, 0x%08x },\n", insns[i].code, insns[i].jt, insns[i].jf,
				insns[i].k);
		fputs("};\n", f);
	}
	fputs("\nstatic const struct filter_program programs[FILTER_VARIANTS] = {\n", f);
	for (unsigned int v = 0; v < FILTER_VARIANTS; v++)
		fprintf(f, "\t{ variant_%u, %zu },\n", v, counts[v]);
	fputs("};\n\nconst struct filter_program *filter_get(unsigned int variant)\n{\n"
	      "\treturn variant < FILTER_VARIANTS ? &programs[variant] : NULL;\n}\n",
	      f);
	fprintf(f,
		"\nstatic const struct filter_program program_for_init = { for_init, %zu };\n\n"
		"const struct filter_program *filter_for_init(void)\n{\n\treturn &program_for_init;\n}\n",
		counts[FILTER_VARIANTS]);
	if (ferror(f) || fclose(f) != 0)
		die("write", path, errno ? errno : EIO);
}

static const char *const rule_text[] = {
	[RULE_ANY] = NULL,
	[RULE_MODE_1] = "EPERM with a set-id bit in the mode",
	[RULE_MODE_2] = "EPERM with a set-id bit in the mode",
	[RULE_OPEN_1] = "EPERM with O_CREAT or O_TMPFILE and a set-id bit in the mode",
	[RULE_OPEN_2] = "EPERM with O_CREAT or O_TMPFILE and a set-id bit in the mode",
	[RULE_MKNOD_1] = "regular files, fifos, sockets and the device 0:0; else EPERM, as with a set-id bit",
	[RULE_MKNOD_2] = "regular files, fifos, sockets and the device 0:0; else EPERM, as with a set-id bit",
	[RULE_CLONE] = "EPERM with any CLONE_NEW* flag",
	[RULE_IOCTL] = "EPERM for TIOCSTI and TIOCLINUX",
	[RULE_PERSONALITY] = "PER_LINUX and PER_LINUX32, each with or without UNAME26, and the query; else EPERM",
	[RULE_SECCOMP] = "EPERM with SECCOMP_FILTER_FLAG_NEW_LISTENER",
	[RULE_SOCKET] = "by variant, see below",
	[RULE_SOCKETPAIR] = "by variant, see below",
	[RULE_ADDRESS] = "by variant, see below",
	[RULE_SENDTO] = "by variant, see below",
	[RULE_OWN] = "EPERM without namespaces, where it would reach what is the host's",
	[RULE_SELF_0] = "EPERM without namespaces for any process but the caller (0)",
	[RULE_SELF_0_ALWAYS] = "EPERM for any process but the caller (0), which could be init",
	[RULE_SELF_1] = "EPERM without namespaces for any process but the caller (0)",
	[RULE_CHMOD_1] = "EPERM with a set-id bit in the mode, and without namespaces always",
	[RULE_CHMOD_2] = "EPERM with a set-id bit in the mode, and without namespaces always",
	[RULE_READ_ONLY_2] = "for reading what is there alone",
	[RULE_NO_EXEC_2] = "EPERM with PROT_EXEC",
};
_Static_assert(COUNT(rule_text) == RULE_COUNT, "a text per rule");

static void print_groups(const char *verdict, const struct group *groups, size_t count)
{
	for (size_t g = 0; g < count; g++) {
		printf("\n### %s\n\n%s\n\n%s", groups[g].title, groups[g].why, verdict);
		for (const struct call *call = groups[g].calls; call->name; call++)
			printf("%s`%s`", call == groups[g].calls ? " " : ", ", call->name);
		puts(".");

		bool first = true;

		for (const struct call *call = groups[g].calls; call->name; call++) {
			if (rule_text[call->rule]) {
				printf("%s- `%s`: %s.\n", first ? "\n" : "", call->name, rule_text[call->rule]);
				first = false;
			}
		}
	}
}

static void print_doc(void)
{
	puts("# System calls of the sandbox\n\n"
	     "Written by `filter_gen --doc` from `src/isolation/syscalls.h`; change that file, not this one.\n\n"
	     "The filter grants what is listed. A call that it knows and does not grant answers `EPERM`. Any other "
	     "number, and any call of another architecture (i386, x32), answers `ENOSYS`, on which C libraries fall "
	     "back to older calls. The filter never kills. Calls that an architecture does not have are left out on it. "
	     "Arguments of C type `int` are judged by their low 32 bits, as the kernel reads them.\n\n"
	     "## Granted");
	print_groups("Granted:", granted, COUNT(granted));
	puts("\n### Sockets by variant\n\n"
	     "| | host with namespaces | with `--net host` | without namespaces | without, with `--net host` |\n"
	     "|---|---|---|---|---|\n"
	     "| flags | 0 | `FILTER_NET` | `FILTER_NO_UNIX` | both |\n"
	     "| `socket` AF_UNIX | stream, seqpacket, datagram | the same | EAFNOSUPPORT | EAFNOSUPPORT |\n"
	     "| `socket` AF_INET, AF_INET6 | EAFNOSUPPORT | stream (TCP, MPTCP), datagram (UDP, echo) | EAFNOSUPPORT | "
	     "as with namespaces |\n"
	     "| `socket` AF_NETLINK | EAFNOSUPPORT | NETLINK_ROUTE | EAFNOSUPPORT | NETLINK_ROUTE |\n"
	     "| `socket`, any other family | EAFNOSUPPORT | EAFNOSUPPORT | EAFNOSUPPORT | EAFNOSUPPORT |\n"
	     "| `socketpair` AF_UNIX | stream, seqpacket, datagram | the same | stream, seqpacket | stream, seqpacket |\n"
	     "| `connect`, `bind`, `listen` | granted | granted | EPERM | granted |\n"
	     "| `sendto` | granted | granted | EPERM with an address | granted |\n\n"
	     "A granted family with another type answers EPERM, with another protocol EPROTONOSUPPORT.\n\n"
	     "Without namespaces the workload sees the host's sockets by name, so there it gets no socket that could "
	     "use such a name. A datagram socket can, even as one of a pair, and `sendmsg` carries its address in memory "
	     "where no filter looks: the launcher therefore also passes no AF_UNIX datagram socket in.\n\n"
	     "## Forbidden: EPERM");
	print_groups("EPERM:", forbidden, COUNT(forbidden));
	puts("\n## Absent on purpose: ENOSYS");
	print_groups("ENOSYS:", absent, COUNT(absent));
	puts("\n## Init's own filter\n\n"
	     "The first process inside runs no code but ours, and has a filter of its own: everything but these is `EPERM`.");
	print_groups("Granted:", granted_to_init, COUNT(granted_to_init));
	if (fflush(stdout) != 0)
		die("write", "the document", errno);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: filter_gen FILE | filter_gen --doc\n", stderr);
		return 2;
	}
	check_table();
	if (strcmp(argv[1], "--doc") == 0)
		print_doc();
	else
		write_source(argv[1]);
	return 0;
}
