/* Which system calls a sandboxed workload may make.  One direction only: what is granted, in groups, each with the
 * reason a workload needs it.  Included by filter_gen.c alone, at build time.
 *
 *   granted           allowed, or allowed when its arguments satisfy the rule named beside it
 *   known, forbidden  EPERM: the caller learns that it may not, as from a kernel that checked its capabilities
 *   anything else     ENOSYS: a call newer than this table, or one that we want a libc to do without.  A libc falls
 *                     back on ENOSYS and on nothing else (moby#42680: EPERM for clone3 and faccessat2 broke glibc 2.34)
 *
 * Nothing here depends on being root: the workload has an empty capability set as well, so many of the forbidden calls
 * would fail anyway.  They are refused here too because a check in the filter runs before the kernel's own code does,
 * and because a user namespace would give the capabilities back over its own objects. */
#ifndef BULKHEAD_ISOLATION_SYSCALLS_H
#define BULKHEAD_ISOLATION_SYSCALLS_H

/* How a granted call's arguments are judged.  The digit is the argument (from 0) that the rule starts at. */
enum rule {
	RULE_ANY,    /* whatever the arguments */
	RULE_MODE_1, /* a file mode without set-id bits */
	RULE_MODE_2,
	RULE_OPEN_1, /* open flags, then mode: a mode without set-id bits wherever the call can create */
	RULE_OPEN_2,
	RULE_MKNOD_1, /* mode, then device: regular, fifo, socket, or the device 0:0 */
	RULE_MKNOD_2,
	RULE_CLONE,	  /* no CLONE_NEW* */
	RULE_IOCTL,	  /* not TIOCSTI, not TIOCLINUX */
	RULE_PERSONALITY, /* PER_LINUX, PER_LINUX32, with or without UNAME26, or a query */
	RULE_SECCOMP,	  /* no listener */
	RULE_SOCKET,	  /* family, type and protocol of the variant */
	RULE_SOCKETPAIR,
	RULE_ADDRESS, /* puts a socket's address to use: refused where no socket that has one is granted */
	RULE_SENDTO,
	RULE_OWN,	    /* refused where the workload shares our namespaces: it acts on what lies outside it */
	RULE_SELF_0,	    /* there: argument 0 must be 0, the caller itself */
	RULE_SELF_1,	    /* the same for argument 1 */
	RULE_SELF_0_ALWAYS, /* argument 0 must be 0 everywhere: init has the workload's uid */
	RULE_CHMOD_1,	    /* RULE_MODE_1, and RULE_OWN */
	RULE_CHMOD_2,
	RULE_READ_ONLY_2, /* open flags that can neither write nor create (init) */
	RULE_NO_EXEC_2,	  /* memory protection without PROT_EXEC (init) */
	RULE_COUNT
};

struct call {
	const char *name;
	int number; /* 0: libseccomp knows it.  Calls from 424 on have one number on every architecture */
	enum rule rule;
};

struct group {
	const char *title;
	const char *why;
	const struct call *calls; /* ends with a NULL name */
};

/* A table: made by hand. */
/* clang-format off */
#define C(call) { #call, 0, RULE_ANY }
#define N(call, number) { #call, number, RULE_ANY }
#define R(call, rule) { #call, 0, rule }
#define CALLS(...) ((const struct call[]){ __VA_ARGS__, { 0 } })

static const struct group granted[] = {
	{
		"Memory",
		"Every program maps memory. Locking is bounded by RLIMIT_MEMLOCK; protection keys, shadow stacks and "
		"mseal only take rights from the caller itself; memfd_create makes an unnamed file that counts as the "
		"workload's memory.",
		CALLS(C(brk), C(mmap), C(munmap), C(mremap), C(mprotect), C(madvise), C(msync), C(mincore), C(mlock),
		      C(mlock2), C(munlock), C(mlockall), C(munlockall), C(remap_file_pages), C(pkey_mprotect),
		      C(pkey_alloc), C(pkey_free), C(membarrier), C(memfd_create), N(map_shadow_stack, 453),
		      N(mseal, 462)),
	},
	{
		"Processes and threads",
		"Starting, naming, waiting for and ending processes and threads. What may be signalled is the pid "
		"namespace's and Landlock's concern. prctl is granted whole: what it can do to anyone but the caller "
		"needs capabilities that the workload does not have. uretprobe and uprobe are made by the kernel's own "
		"trampoline in a program that the host's administrator traces, and fail from anywhere else.",
		CALLS(R(clone, RULE_CLONE), C(fork), C(vfork), C(execve), C(execveat), C(exit), C(exit_group), C(wait4),
		      C(waitid), C(getpid), C(getppid), C(gettid), C(getpgid), C(getpgrp), C(setpgid), C(getsid),
		      C(setsid), C(pidfd_open), C(prctl), C(arch_prctl), R(personality, RULE_PERSONALITY),
		      C(set_tid_address), C(set_thread_area), C(get_thread_area), C(restart_syscall), N(uretprobe, 335),
		      N(uprobe, 336)),
	},
	{
		"Locks between threads",
		"The C library's mutexes, condition variables and thread joins, and restartable sequences, which glibc "
		"registers in every thread since 2.35.",
		CALLS(C(futex), C(futex_waitv), N(futex_wake, 454), N(futex_wait, 455), N(futex_requeue, 456),
		      C(set_robust_list), C(get_robust_list), C(rseq)),
	},
	{
		"Signals",
		"Sending, taking and waiting for signals.",
		CALLS(C(kill), C(tkill), C(tgkill), C(pidfd_send_signal), C(rt_sigaction), C(rt_sigprocmask),
		      C(rt_sigpending), C(rt_sigsuspend), C(rt_sigtimedwait), C(rt_sigqueueinfo), C(rt_tgsigqueueinfo),
		      C(rt_sigreturn), C(sigaltstack), C(pause), C(signalfd), C(signalfd4)),
	},
	{
		"Identity",
		"Programs ask who they are, and careful ones drop what they have. Nothing can be gained: the "
		"capability sets are empty and no_new_privs is set.",
		CALLS(C(getuid), C(geteuid), C(getgid), C(getegid), C(getresuid), C(getresgid), C(getgroups), C(setuid),
		      C(setgid), C(setreuid), C(setregid), C(setresuid), C(setresgid), C(setfsuid), C(setfsgid),
		      C(setgroups), C(capget), C(capset)),
	},
	{
		"Confining oneself further",
		"Browsers, OpenSSH and our own nested boundaries restrict themselves. Both interfaces can only take "
		"rights away, but for seccomp's listener, which would let one process answer another's calls.",
		CALLS(R(seccomp, RULE_SECCOMP), C(landlock_create_ruleset), C(landlock_add_rule),
		      C(landlock_restrict_self)),
	},
	{
		"Reading and writing descriptors",
		"Input and output on what is already open. ioctl is needed for terminals (size, modes), and for the "
		"devices that are granted; two terminal commands put input into the caller's terminal.",
		CALLS(C(read), C(write), C(readv), C(writev), C(pread64), C(pwrite64), C(preadv), C(pwritev),
		      C(preadv2), C(pwritev2), C(lseek), C(close), C(close_range), C(dup), C(dup2), C(dup3), C(fcntl),
		      R(ioctl, RULE_IOCTL), C(flock), C(pipe), C(pipe2), C(splice), C(tee), C(vmsplice), C(sendfile),
		      C(copy_file_range), C(fsync), C(fdatasync), C(sync), C(syncfs), C(sync_file_range), C(fadvise64),
		      C(readahead), N(cachestat, 451)),
	},
	{
		"Waiting for descriptors and clocks",
		"Event loops: poll, epoll, eventfd, inotify, timerfd.",
		CALLS(C(poll), C(ppoll), C(select), C(pselect6), C(epoll_create), C(epoll_create1), C(epoll_ctl),
		      C(epoll_wait), C(epoll_pwait), C(epoll_pwait2), C(eventfd), C(eventfd2), C(inotify_init),
		      C(inotify_init1), R(inotify_add_watch, RULE_OWN), C(inotify_rm_watch), C(timerfd_create),
		      C(timerfd_settime), C(timerfd_gettime)),
	},
	{
		"Asynchronous input and output",
		"The old Linux AIO of databases. It offers reads, writes, syncs and polls on open descriptors and "
		"nothing else; io_uring, which offers most system calls behind the filter's back, is forbidden below.",
		CALLS(C(io_setup), C(io_submit), C(io_cancel), C(io_getevents), C(io_pgetevents), C(io_destroy)),
	},
	{
		"Files by name",
		"Which names a workload can reach is the mount namespace's and Landlock's concern; here it gets the "
		"calls. Extended attributes carry ACLs and user data; a file capability cannot be set without "
		"CAP_SETFCAP.",
		CALLS(R(open, RULE_OPEN_1), R(openat, RULE_OPEN_2), C(stat), C(lstat), C(fstat), C(newfstatat),
		      C(statx), C(statfs), C(fstatfs), C(access), C(faccessat), C(faccessat2), C(readlink),
		      C(readlinkat), C(getdents), C(getdents64), C(getcwd), C(chdir), C(fchdir), C(rename), C(renameat),
		      C(renameat2), C(link), C(linkat), C(symlink), C(symlinkat), C(unlink), C(unlinkat), C(rmdir),
		      R(truncate, RULE_OWN), C(ftruncate), C(fallocate), R(chown, RULE_OWN), R(fchown, RULE_OWN), R(lchown, RULE_OWN), R(fchownat, RULE_OWN), C(umask),
		      R(utime, RULE_OWN), R(utimes, RULE_OWN), R(futimesat, RULE_OWN), R(utimensat, RULE_OWN), R(setxattr, RULE_OWN), R(lsetxattr, RULE_OWN), R(fsetxattr, RULE_OWN),
		      { "setxattrat", 463, RULE_OWN }, C(getxattr), C(lgetxattr), C(fgetxattr), N(getxattrat, 464), C(listxattr),
		      C(llistxattr), C(flistxattr), N(listxattrat, 465), R(removexattr, RULE_OWN), R(lremovexattr, RULE_OWN),
		      R(fremovexattr, RULE_OWN), { "removexattrat", 466, RULE_OWN }),
	},
	{
		"Making files and setting modes",
		"Results land in the caller's directories, through an idmapped mount and perhaps owned by root there, "
		"so a set-user-ID file that a workload left behind would be a way to root. No call may therefore carry a "
		"mode with the set-user-ID or set-group-ID bit. Device nodes are refused but for the device 0:0, which "
		"opens nothing (it marks a deletion in an overlay): the launcher makes one as the forbidden act that "
		"Landlock answers with EACCES, which is how it sees that Landlock is on.",
		CALLS(R(creat, RULE_MODE_1), R(mkdir, RULE_MODE_1), R(mkdirat, RULE_MODE_2), R(mknod, RULE_MKNOD_1),
		      R(mknodat, RULE_MKNOD_2), R(chmod, RULE_CHMOD_1), R(fchmod, RULE_CHMOD_1), R(fchmodat, RULE_CHMOD_2),
		      { "fchmodat2", 452, RULE_CHMOD_2 }),
	},
	{
		"Reading clocks and sleeping",
		"Time is read and waited for, never set.",
		CALLS(C(time), C(gettimeofday), C(clock_gettime), C(clock_getres), C(clock_nanosleep), C(nanosleep),
		      C(times), C(alarm), C(getitimer), C(setitimer), C(timer_create), C(timer_settime),
		      C(timer_gettime), C(timer_getoverrun), C(timer_delete)),
	},
	{
		"Scheduling and limits",
		"Thread pools ask for the CPUs they have and pin themselves; build tools lower their priority. Raising "
		"anything needs capabilities or rlimits that the workload does not have.",
		CALLS(C(sched_yield), C(sched_getaffinity), R(sched_setaffinity, RULE_SELF_0), C(sched_getparam), R(sched_setparam, RULE_SELF_0),
		      C(sched_getscheduler), R(sched_setscheduler, RULE_SELF_0), C(sched_getattr), R(sched_setattr, RULE_SELF_0),
		      C(sched_get_priority_max), C(sched_get_priority_min), C(sched_rr_get_interval), C(getpriority),
		      R(setpriority, RULE_SELF_1), C(ioprio_get), R(ioprio_set, RULE_SELF_1), C(getrlimit), C(setrlimit), R(prlimit64, RULE_SELF_0_ALWAYS),
		      C(getrusage), C(getcpu)),
	},
	{
		"Facts about the system",
		"Kernel name, uptime and load, random bytes.",
		CALLS(C(uname), C(sysinfo), C(getrandom)),
	},
	{
		"System V and POSIX queues",
		"PostgreSQL, Python's multiprocessing and X clients share memory this way. Whose objects they see is "
		"the IPC namespace's concern.",
		CALLS(R(shmget, RULE_OWN), R(shmat, RULE_OWN), R(shmdt, RULE_OWN), R(shmctl, RULE_OWN), R(semget, RULE_OWN), R(semop, RULE_OWN), R(semtimedop, RULE_OWN), R(semctl, RULE_OWN),
		      R(msgget, RULE_OWN), R(msgsnd, RULE_OWN), R(msgrcv, RULE_OWN), R(msgctl, RULE_OWN), R(mq_open, RULE_OWN), R(mq_unlink, RULE_OWN), C(mq_timedsend),
		      C(mq_timedreceive), C(mq_notify), C(mq_getsetattr)),
	},
	{
		"Sockets",
		"Pairs of AF_UNIX sockets join a program's own processes. Which other sockets exist depends on the "
		"variant; what an existing socket may do does not, but for calls that put an address to use.",
		CALLS(R(socket, RULE_SOCKET), R(socketpair, RULE_SOCKETPAIR), R(connect, RULE_ADDRESS),
		      R(bind, RULE_ADDRESS), R(listen, RULE_ADDRESS), R(sendto, RULE_SENDTO), C(accept), C(accept4),
		      C(sendmsg), C(sendmmsg), C(recvfrom), C(recvmsg), C(recvmmsg), C(shutdown), C(getsockname),
		      C(getpeername), C(getsockopt), C(setsockopt)),
	},
};

/* Known, and refused with EPERM. */
static const struct group forbidden[] = {
	{
		"New namespaces",
		"A user namespace gives a full capability set over what is made inside it, and with it the kernel code "
		"that only root could reach before. Also refused as flags of clone.",
		CALLS(C(unshare), C(setns)),
	},
	{
		"Mounts and roots",
		"The view of files is made once, before the workload starts.",
		CALLS(C(mount), C(umount2), C(pivot_root), C(chroot), C(fsopen), C(fsconfig), C(fsmount), C(fspick),
		      C(open_tree), C(move_mount), C(mount_setattr), N(statmount, 457), N(listmount, 458),
		      N(open_tree_attr, 467)),
	},
	{
		"Other processes' memory and descriptors",
		"The memory and environ guarantees; a debugger inside the sandbox is the price.",
		CALLS(C(ptrace), C(process_vm_readv), C(process_vm_writev), C(process_madvise), C(process_mrelease),
		      C(pidfd_getfd), C(kcmp)),
	},
	{
		"Large interfaces into the kernel",
		"Much kernel code that few workloads need, and where bugs that give root were found; io_uring also does "
		"what the filter would have refused. userfaultfd stops the kernel in the middle of a copy for as long "
		"as an attacker likes; memfd_secret hides memory from those who account for it.",
		CALLS(C(bpf), C(io_uring_setup), C(io_uring_enter), C(io_uring_register), C(perf_event_open),
		      C(userfaultfd), C(memfd_secret), C(fanotify_init), C(fanotify_mark), C(modify_ldt),
		      C(lookup_dcookie)),
	},
	{
		"Keys",
		"Keyrings are not divided by namespaces; the session keyring may be the caller's.",
		CALLS(C(add_key), C(request_key), C(keyctl)),
	},
	{
		"Files by handle",
		"A handle names a file without its path, and so goes round the mount namespace and Landlock.",
		CALLS(C(open_by_handle_at), C(name_to_handle_at)),
	},
	{
		"Placing memory on nodes",
		"Docker grants these only with CAP_SYS_NICE: they decide which node's memory the whole machine runs "
		"out of. libnuma, the JVM and BLAS libraries go on without.",
		CALLS(C(mbind), C(set_mempolicy), C(get_mempolicy), C(set_mempolicy_home_node), C(migrate_pages),
		      C(move_pages)),
	},
	{
		"The machine's state",
		"Clock, names, modules, swap, quotas, accounting, log, power, ports. The clock's adjtimex reads as "
		"well, but whether a call writes stands in memory, where no filter can look.",
		CALLS(C(clock_settime), C(settimeofday), C(adjtimex), C(clock_adjtime), C(sethostname),
		      C(setdomainname), C(init_module), C(finit_module), C(delete_module), C(kexec_load),
		      C(kexec_file_load), C(reboot), C(swapon), C(swapoff), C(quotactl), C(quotactl_fd), C(acct),
		      C(syslog), C(vhangup), C(iopl), C(ioperm)),
	},
	{
		"Obsolete",
		"Nothing current uses them.",
		CALLS(C(uselib), C(ustat), C(sysfs)),
	},
};

/* Known, and left to ENOSYS on purpose.  Not given to libseccomp (the default action already does it): this list is for
 * readers and for the generator, which refuses to build if a name stands in two lists. */
static const struct group absent[] = {
	{
		"Arguments in memory",
		"A filter sees registers only. clone3 could ask for namespaces, openat2 for a set-id mode, and neither "
		"could be told from a harmless call. Every libc falls back to clone and openat on ENOSYS.",
		CALLS(N(clone3, 435), N(openat2, 437)),
	},
	{
		"New calls without users",
		"Programs that know them fall back to /proc or to ioctl.",
		CALLS(N(lsm_get_self_attr, 459), N(lsm_set_self_attr, 460), N(lsm_list_modules, 461),
		      N(file_getattr, 468), N(file_setattr, 469), N(listns, 470)),
	},
};

/* Init's own program: all that it calls once it is confined.  Anything else is EPERM, for it would not be init's doing. */
static const struct group granted_to_init[] = {
	{
		"Init",
		"It waits for the workload and for messages, reaps, signals, reads /proc where it must find the workload's "
		"processes by itself, says how it ended, and ends.",
		CALLS(C(read), C(write), C(close), C(close_range), C(recvmsg), C(poll), C(ppoll), C(wait4), C(kill), C(getpid),
		      C(getrusage), C(nanosleep), C(clock_nanosleep), R(openat, RULE_READ_ONLY_2), C(getdents64), C(fstat),
		      C(newfstatat), C(brk), R(mmap, RULE_NO_EXEC_2), C(munmap), C(restart_syscall), C(rt_sigreturn), C(exit),
		      C(exit_group)),
	},
};

/* clang-format on */
#undef C
#undef N
#undef R
#undef CALLS

#endif
