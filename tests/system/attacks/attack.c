/* One forbidden act per word: attack ACT[=NUMBER]...  Prints "ACT ok" or "ACT ERRNO" for each.  Built by the tests. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static long open_proc(long pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
	return open(path, O_RDONLY);
}

static long read_memory(long pid)
{
	char byte;
	struct iovec local = { &byte, 1 }, remote = { (void *)0x1000, 1 };
	long n = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);

	return n < 0 && errno == EFAULT ? 0 : n; /* the address is nobody's, but we may read */
}

static long trace(long pid)
{
	long r = ptrace(PTRACE_SEIZE, (pid_t)pid, 0, 0);

	if (r == 0)
		ptrace(PTRACE_DETACH, (pid_t)pid, 0, 0);
	return r;
}

static long connect_abstract(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s", name);
	return fd < 0 ? fd
		      : connect(fd, (void *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)));
}

static long connect_path(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", name);
	return fd < 0 ? fd : connect(fd, (void *)&a, sizeof(a));
}

static long connect_tcp(long port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((unsigned short)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? fd : connect(fd, (void *)&a, sizeof(a));
}

static long make_setuid(const char *path, int how)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, how == 0 ? 04755 : 0755);

	if (fd < 0)
		return fd;
	if (how == 1)
		return fchmod(fd, 04755);
	if (how == 2)
		return syscall(SYS_fchmodat, AT_FDCWD, path, 02755);
	return 0;
}

static long clone3_thread(void)
{
	struct {
		unsigned long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = { .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid < 0 ? -1 : 0;
}

static long act(const char *name, const char *arg)
{
	long n = arg ? atol(arg) : 0;
	char zeros[256] = { 0 };
	struct open_how how = { .flags = O_RDONLY };

#define ACT(text) if (strcmp(name, text) == 0)
	ACT("unshare-user") return unshare(CLONE_NEWUSER);
	ACT("unshare-mount") return unshare(CLONE_NEWNS);
	ACT("setns") return setns(0, 0);
	ACT("mount") return mount("none", "/tmp", "tmpfs", 0, NULL);
	ACT("umount") return umount2("/tmp", MNT_DETACH);
	ACT("fsopen") return syscall(SYS_fsopen, "tmpfs", 0);
	ACT("open_tree") return syscall(SYS_open_tree, AT_FDCWD, "/", 1);
	ACT("pivot_root") return syscall(SYS_pivot_root, ".", ".");
	ACT("chroot") return chroot("/tmp");
	ACT("bpf") return syscall(SYS_bpf, 0, zeros, sizeof(zeros));
	ACT("io_uring") return syscall(SYS_io_uring_setup, 1, zeros);
	ACT("keyctl") return syscall(SYS_keyctl, 0, -3, 0, 0, 0);
	ACT("add_key") return syscall(SYS_add_key, "user", "x", "y", 1, -3);
	ACT("perf") return syscall(SYS_perf_event_open, zeros, 0, -1, -1, 0);
	ACT("userfaultfd") return syscall(SYS_userfaultfd, 0);
	ACT("init_module") return syscall(SYS_init_module, zeros, 1, "");
	ACT("reboot") return syscall(SYS_reboot, 0, 0, 0, 0);
	ACT("swapon") return syscall(SYS_swapon, "/nope", 0);
	ACT("open_by_handle") return syscall(SYS_open_by_handle_at, AT_FDCWD, zeros, 0);
	ACT("setuid") return setuid(0);
	ACT("mknod") return mknod("node", S_IFBLK | 0600, makedev(8, 0));
	ACT("mknod-mem") return mknod("node", S_IFCHR | 0600, makedev(1, 1));
	ACT("tiocsti") return ioctl(0, TIOCSTI, "x");
	ACT("tiocsti-high") return syscall(SYS_ioctl, 0, TIOCSTI | (1UL << 32), "x");
	ACT("trace") return trace(n);
	ACT("vm") return read_memory(n);
	ACT("environ") return open_proc(n, "environ");
	ACT("mem") return open_proc(n, "mem");
	ACT("kill") return kill((pid_t)n, 0);
	ACT("open") return open(arg, O_RDONLY);
	ACT("open-write") return open(arg, O_WRONLY);
	ACT("unix") return connect_path(arg);
	ACT("abstract") return connect_abstract(arg);
	ACT("tcp") return connect_tcp(n);
	ACT("setid-create") return make_setuid(arg, 0);
	ACT("setid-fchmod") return make_setuid(arg, 1);
	ACT("setid-chmod") return make_setuid(arg, 2);
	ACT("clone3") return clone3_thread();
	ACT("faccessat2") return syscall(SYS_faccessat2, AT_FDCWD, "/", R_OK, 0);
	ACT("rseq") return syscall(SYS_rseq, 0, 0, 0, 0);
	ACT("openat2") return syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));
	ACT("9999") return syscall(9999);
	fprintf(stderr, "attack: no act named %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *arg = strchr(argv[i], '=');
		long r;

		if (arg)
			*arg++ = '\0';
		errno = 0;
		r = act(argv[i], arg);
		printf("%s %s\n", argv[i], r >= 0 ? "ok" : strerrorname_np(errno));
		fflush(stdout);
	}
	return 0;
}
