/* One act per run, for tests of the mode without namespaces (container.bats): exit 0 if the act succeeded, 1 with the
 * errno's name if the kernel refused it, 2 if the program was called wrongly.
 *
 *   no_namespace_attack victim INFO     hold everything that the acts reach for, write how to find it, wait
 *   no_namespace_attack ACT ARGUMENT... */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char memory[64] = "memory-of-the-victim";

static socklen_t unix_address(struct sockaddr_un *a, const char *name)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* "@name" is abstract, as ss(8) writes it */
	snprintf(a->sun_path, sizeof(a->sun_path), "%s", name);
	if (name[0] == '@')
		a->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
}

static int unix_listener(int type, const char *name)
{
	struct sockaddr_un a;
	socklen_t len = unix_address(&a, name);
	int fd = socket(AF_UNIX, type, 0);

	if (fd < 0 || bind(fd, (void *)&a, len) < 0 || (type == SOCK_STREAM && listen(fd, 8) < 0))
		perror(name);
	return fd;
}

static struct sockaddr_in loopback(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static int victim(const char *info)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	struct sockaddr_in a = loopback(0);
	socklen_t len = sizeof(a);
	char path[200], name[64];
	int tcp = socket(AF_INET, SOCK_STREAM, 0), secret, shm, msg, sem;
	FILE *f;

	snprintf(path, sizeof(path), "%s.stream", info);
	unlink(path);
	(void)unix_listener(SOCK_STREAM, path);
	snprintf(path, sizeof(path), "%s.dgram", info);
	unlink(path);
	(void)unix_listener(SOCK_DGRAM, path);
	snprintf(name, sizeof(name), "@bulkhead-test-%d", getpid());
	(void)unix_listener(SOCK_STREAM, name);
	if (bind(tcp, (void *)&a, len) < 0 || listen(tcp, 8) < 0 || getsockname(tcp, (void *)&a, &len) < 0)
		perror("tcp");
	snprintf(path, sizeof(path), "%s.secret", info);
	secret = open(path, O_RDWR | O_CREAT, 0600);
	shm = shmget(IPC_PRIVATE, 4096, 0600);
	strcpy(shmat(shm, NULL, 0), "shared");
	msg = msgget(IPC_PRIVATE, 0600);
	sem = semget(IPC_PRIVATE, 1, 0600);
	snprintf(path, sizeof(path), "/bulkhead-test-%d", getpid());
	(void)mq_open(path, O_RDWR | O_CREAT, 0600, &attr);
	f = fopen(info, "w");
	fprintf(f, "PID=%d ADDR=%p FD=%d PORT=%d SHM=%d MSG=%d SEM=%d MQ=%s ABSTRACT=%s\n", getpid(), (void *)memory,
		secret, ntohs(a.sin_port), shm, msg, sem, path, name);
	fclose(f);
	signal(SIGTERM, SIG_IGN);
	(void)!read(0, name, 1); /* end of file ends us */
	shmctl(shm, IPC_RMID, NULL);
	msgctl(msg, IPC_RMID, NULL);
	semctl(sem, 0, IPC_RMID);
	mq_unlink(path);
	return 0;
}

static int read_some(const char *path, off_t at)
{
	char b[64];
	int fd = open(path, O_RDONLY);

	return fd < 0 || pread(fd, b, sizeof(b), at) < 1 ? -1 : 0;
}

static int proc(const char *pid, const char *name, off_t at)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	return read_some(path, at);
}

static int send_unix(int type, const char *name)
{
	struct sockaddr_un a;
	struct iovec v = { memory, 4 };
	struct msghdr m = { .msg_name = &a, .msg_iov = &v, .msg_iovlen = 1 };
	int pair[2];

	m.msg_namelen = unix_address(&a, name);
	if (socketpair(AF_UNIX, type, 0, pair) < 0)
		return -1;
	if (sendto(pair[0], "x", 1, 0, (void *)&a, m.msg_namelen) == 1)
		return 0;
	return sendmsg(pair[0], &m, 0) == 4 ? 0 : -1;
}

static int connect_unix(const char *name)
{
	struct sockaddr_un a;
	socklen_t len = unix_address(&a, name);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 ? -1 : connect(fd, (void *)&a, len);
}

static int connect_inet(int type, int port)
{
	struct sockaddr_in a = loopback(port);
	int fd = socket(AF_INET, type, 0);

	return fd < 0 ? -1 : connect(fd, (void *)&a, sizeof(a));
}

/* Leave the parent behind: a session of its own, a grandchild, and the name of the test in the command line. */
static int daemon_act(const char *self, const char *mark)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			execl(self, self, "wait", mark, NULL);
		_exit(0);
	}
	wait(NULL);
	usleep(100000);
	return 0;
}

static int bomb(const char *self, const char *mark)
{
	if (fork() == 0) {
		setsid();
		for (;;) {
			if (fork() == 0 && fork() != 0)
				execl(self, self, "wait", mark, NULL);
		}
	}
	usleep(20000);
	return 0;
}

static int act(int argc, char **argv)
{
	const char *what = argv[1], *a = argc > 2 ? argv[2] : "", *b = argc > 3 ? argv[3] : "";
	pid_t pid = atoi(a);
	unsigned long address = strtoul(b, NULL, 16);
	struct iovec local = { (char[64]){ 0 }, 20 }, remote = { (void *)address, 20 };
	struct sched_param batch = { 0 };
	struct rlimit l;
	cpu_set_t cpus;
	siginfo_t info = { .si_code = SI_QUEUE };

#define ACT(name, expression)        \
	if (strcmp(what, name) == 0) \
	return (long)(expression) < 0 ? -1 : 0
	ACT("read", read_some(a, 0));
	ACT("list", open(a, O_RDONLY | O_DIRECTORY));
	ACT("open-rw", open(a, O_RDWR));
	ACT("write", open(a, O_WRONLY));
	ACT("create", open(a, O_WRONLY | O_CREAT | O_EXCL, 0600));
	ACT("trunc-ro", open(a, O_RDONLY | O_TRUNC));
	ACT("truncate", truncate(a, 0));
	ACT("unlink", unlink(a));
	ACT("rename", rename(a, b));
	ACT("link", link(a, b));
	ACT("mkdir", mkdir(a, 0700));
	ACT("mknod-null", mknod(a, S_IFCHR | 0600, makedev(1, 3)));
	ACT("mknod-whiteout", mknod(a, S_IFCHR, makedev(0, 0)));
	ACT("chmod", chmod(a, (mode_t)strtoul(b, NULL, 8)));
	ACT("utime", utimensat(AT_FDCWD, a, NULL, 0));
	ACT("stat", access(a, F_OK));
	ACT("setxattr", setxattr(a, "user.bulkhead", "x", 1, 0));
	ACT("inotify", inotify_add_watch(inotify_init(), a, IN_ALL_EVENTS));
	ACT("proc-environ", proc(a, "environ", 0));
	ACT("proc-cmdline", proc(a, "cmdline", 0));
	ACT("proc-maps", proc(a, "maps", 0));
	ACT("proc-mem", proc(a, "mem", (off_t)address));
	ACT("proc-fd", (snprintf(memory, sizeof(memory), "/proc/%s/fd", a), open(memory, O_RDONLY | O_DIRECTORY)));
	ACT("proc-cwd", (snprintf(memory, sizeof(memory), "/proc/%s/cwd", a), readlink(memory, (char[64]){ 0 }, 64)));
	ACT("proc-root", (snprintf(memory, sizeof(memory), "/proc/%s/root/%s", a, b), read_some(memory, 0)));
	ACT("ptrace", ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	ACT("vm-read", process_vm_readv(pid, &local, 1, &remote, 1, 0));
	ACT("vm-write", process_vm_writev(pid, &local, 1, &remote, 1, 0));
	ACT("pidfd-getfd", syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, pid, 0), atoi(b), 0));
	ACT("kill", kill(pid, 0));
	ACT("kill-cont", kill(pid, SIGCONT));
	ACT("kill-init", kill(getppid(), SIGKILL));
	ACT("tgkill", syscall(SYS_tgkill, pid, pid, 0));
	ACT("sigqueue", syscall(SYS_rt_sigqueueinfo, pid, SIGCONT, &info));
	ACT("pidfd-signal", syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, pid, 0), 0, NULL, 0));
	ACT("prlimit", prlimit(pid, RLIMIT_CORE, NULL, &l) < 0 ? -1 : prlimit(pid, RLIMIT_CORE, &l, NULL));
	ACT("prlimit-cpu", prlimit(pid, RLIMIT_CPU, &(struct rlimit){ 1, 1 }, NULL));
	ACT("sched", sched_setscheduler(pid, SCHED_BATCH, &batch));
	ACT("affinity",
	    sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? -1 : sched_setaffinity(pid, sizeof(cpus), &cpus));
	ACT("priority", setpriority(PRIO_PROCESS, (id_t)pid, 1));
	ACT("shm", shmat(pid, NULL, 0) == (void *)-1 ? -1 : 0);
	ACT("shm-new", shmget(IPC_PRIVATE, 4096, 0600));
	ACT("msg", msgsnd(pid, &(struct {
				  long type;
				  char text[1];
			  }){ 1, "x" },
			  1, IPC_NOWAIT));
	ACT("sem", semctl(pid, 0, SETVAL, 1));
	ACT("mq", mq_open(a, O_WRONLY));
	ACT("connect-unix", connect_unix(a));
	ACT("send-dgram", send_unix(SOCK_DGRAM, a));
	ACT("send-seqpacket", send_unix(SOCK_SEQPACKET, a));
	ACT("connect-tcp", connect_inet(SOCK_STREAM, pid));
	ACT("socket-udp", connect_inet(SOCK_DGRAM, pid));
	ACT("daemon", daemon_act(argv[0], a));
	ACT("bomb", bomb(argv[0], a));
	ACT("wait", sleep(1000));
	return -2;
}

int main(int argc, char **argv)
{
	int r;

	if (argc == 3 && strcmp(argv[1], "victim") == 0)
		return victim(argv[2]);
	r = argc > 1 ? act(argc, argv) : -2;
	if (r == -1)
		printf("%s\n", strerrorname_np(errno));
	else
		printf("%s\n", r == 0 ? "done" : "usage");
	return -r;
}
