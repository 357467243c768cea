/* floor: the least that a full sandbox can cost on this kernel.
 *
 * It makes the kernel objects that `bulkhead run` makes (user, pid, mount, net, ipc, uts and cgroup namespaces, a private root
 * with the same mounts, /proc, /dev, a Landlock domain, a seccomp filter, memory and pids limits), runs the command, waits, and exits as it did.
 * It does nothing else: no probes, no evidence, no pid 1 of its own, no deadline, no signal forwarding, no report, no messages
 * beyond the step that failed. What bulkhead takes above this is bulkhead's own; what is below it would be a weaker sandbox.
 *
 * usage: floor [--no-netns] [--cgroup none|limits] [--fork] [--with DEMAND,...] -- COMMAND ARG...
 *        floor --print-filter       the filter's program, for a peer that takes one
 *        floor --print-landlock     the kernel's Landlock ABI, 0 for none
 *
 * --with adds what the floor leaves out and a sandbox that refuses, ends whole trees and reports must have, each in its shortest
 * form (enum demand): the steps between the floor and what any launcher with those duties must cost here. It implies --fork,
 * because a pid 1 beside hostile code must not share the launcher's memory.
 *
 * Where the time was kept low:
 *  - one clone3 that shares the launcher's memory until exec (CLONE_VM | CLONE_VFORK), as posix_spawn does; --fork copies instead;
 *  - as root the launcher takes the job's host uid before the clone, so that the child may write its own id map and nobody
 *    has to wait for anybody;
 *  - a v1 cgroup is entered by the child itself, through the `tasks` file, with "0": that takes no global lock (cgroup_cost.c);
 *  - static, with no library beside libc.
 */
#define _GNU_SOURCE
#include "filter.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOB_UID_HOST 200000 /* as root: the uid the job has outside */
#define JOB_UID 1000	    /* and the one it sees */
#define MEMORY_LIMIT "536870912"
#define PIDS_LIMIT "64"

static const char *const job_env[] = {
	"PATH=/usr/bin:/bin",
	"HOME=/home/user",
	"LANG=C.UTF-8",
	NULL,
};

enum demand {
	WITH_MAPS = 1, /* id maps written from outside, by the one who decides them */
	WITH_PID1 = 2, /* a pid 1 of our own that reaps; the command is its child */
	WITH_OBSERVE =
		4, /* before exec: namespaces, status and groups read by the launcher, one act per filter and domain tried */
	WITH_JANITOR = 8,   /* a process that outlives a killed launcher, forked before anything is made */
	WITH_COUNT = 16,    /* at the end: was a limit hit? and is the group empty? */
	WITH_ALLOWLIST = 32 /* the filter padded to the length of an allowlist of calls with argument checks */
};
static const char *const demand_name[] = { "maps", "pid1", "observe", "janitor", "count", "allowlist" };
#define ALLOWLIST_LENGTH 660 /* instructions of bulkhead's filter on x86-64 */

/* Everything the child needs, laid out before the clone. */
static struct {
	char **argv;
	unsigned uid_host, gid_host;
	int tasks_fd[2];    /* v1 groups to enter: memory, pids; -1: none */
	char group[2][512]; /* directories to remove afterwards */
	int group_fd;	    /* v2 group for clone3, or -1 */
	struct sock_filter filter[ALLOWLIST_LENGTH > FILTER_MAX ? ALLOWLIST_LENGTH : FILTER_MAX];
	size_t filter_length;
	unsigned with;	  /* enum demand */
	int gate[2];	  /* socket pair: [0] launcher, [1] child */
	int group_dir[2]; /* v1 groups, kept open for WITH_COUNT and WITH_OBSERVE */
} job = { .tasks_fd = { -1, -1 }, .group_fd = -1, .gate = { -1, -1 }, .group_dir = { -1, -1 } };

static char stack[256 * 1024] __attribute__((aligned(64)));

#define MUST(call)                          \
	({                                  \
		long value_ = (long)(call); \
		if (value_ < 0)             \
			fail(#call);        \
		value_;                     \
	})

static _Noreturn void fail(const char *step)
{
	int saved = errno;
	char line[256];
	int n = snprintf(line, sizeof line, "floor: %.150s: %s\n", step, strerror(saved));

	if (n > 0 && write(2, line, (size_t)n) < 0)
		_exit(125);
	_exit(125);
}

/* ---- the mount API of Linux 5.2, which glibc 2.36 has and older ones have not ---- */

static int sys_fsopen(const char *type)
{
	return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}
static int sys_fsconfig(int fd, unsigned cmd, const char *key, const char *value)
{
	return (int)syscall(SYS_fsconfig, fd, cmd, key, value, 0);
}
static int sys_fsmount(int fd, unsigned attr)
{
	return (int)syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attr);
}
static int sys_open_tree(const char *path)
{
	return (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}
static int sys_move_mount(int fd, int to_dir, const char *to)
{
	return (int)syscall(SYS_move_mount, fd, "", to_dir, to, MOVE_MOUNT_F_EMPTY_PATH);
}

static int set_attr(int fd, uint64_t on)
{
	struct mount_attr attr = { .attr_set = on };

	return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attr, sizeof attr);
}

static int new_filesystem(const char *type, const char *mode, const char *size, unsigned attr)
{
	int fs = (int)MUST(sys_fsopen(type)), mount;

	if (mode)
		MUST(sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", mode));
	if (size)
		MUST(sys_fsconfig(fs, FSCONFIG_SET_STRING, "size", size));
	MUST(sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL));
	mount = (int)MUST(sys_fsmount(fs, attr));
	close(fs);
	return mount;
}

static void write_file(int dir, const char *path, int flags, const char *text)
{
	int fd = (int)MUST(openat(dir, path, O_WRONLY | O_CLOEXEC | flags, 0644));

	MUST(write(fd, text, strlen(text)));
	close(fd);
}

/* The host's `path` (a file or a directory) over root/`at`. */
static void bind_over(int root, const char *path, const char *at, uint64_t attr)
{
	int fd = (int)MUST(sys_open_tree(path));

	MUST(set_attr(fd, attr));
	MUST(sys_move_mount(fd, root, at));
	close(fd);
}

static void write_id_maps(int proc)
{
	char line[64];

	snprintf(line, sizeof line, "%d %u 1\n", JOB_UID, job.uid_host);
	write_file(proc, "uid_map", 0, line);
	write_file(proc, "setgroups", 0, "deny");
	snprintf(line, sizeof line, "%d %u 1\n", JOB_UID, job.gid_host);
	write_file(proc, "gid_map", 0, line);
}

static void child_id_maps(void)
{
	int proc = (int)MUST(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));

	write_id_maps(proc);
	close(proc);
}

static void child_root(void)
{
	static const char *const dir[] = { "usr",  "etc", "etc/ssl", "dev",	  "dev/shm", "dev/pts",
					   "proc", "tmp", "home",    "home/user", "work" };
	static const char *const writable[] = { "tmp", "home/user", "dev/shm", "work" };
	static const char *const etc[] = { "alternatives", "fonts", "ImageMagick-6", "ImageMagick-7", "ssl/certs" };
	static const char *const etc_file[] = { "ld.so.cache", "mime.types" };
	static const char *const link[] = { "bin", "sbin", "lib", "lib32", "lib64" };
	static const char *const node[] = { "null", "zero", "full", "random", "urandom", "tty" };
	static const struct {
		const char *from, *to;
	} dev_link[] = {
		{ "/proc/self/fd", "dev/fd" },
		{ "/proc/self/fd/0", "dev/stdin" },
		{ "/proc/self/fd/1", "dev/stdout" },
		{ "/proc/self/fd/2", "dev/stderr" },
	};
	int root = new_filesystem("tmpfs", "0755", "257m", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	int fd;

	/* Attached over "/" first: before Linux 6.15 nothing can be mounted in a detached tree. */
	MUST(sys_move_mount(root, AT_FDCWD, "/"));
	for (size_t i = 0; i < sizeof dir / sizeof *dir; i++)
		MUST(mkdirat(root, dir[i], 0755));
	for (size_t i = 0; i < sizeof link / sizeof *link; i++) {
		char target[16];

		snprintf(target, sizeof target, "usr/%s", link[i]);
		MUST(symlinkat(target, root, link[i]));
	}
	write_file(root, "etc/passwd", O_CREAT, "user:x:1000:1000::/home/user:/bin/sh\n");
	write_file(root, "etc/group", O_CREAT, "user:x:1000:\n");
	write_file(root, "etc/hosts", O_CREAT, "127.0.0.1 localhost\n");
	write_file(root, "etc/nsswitch.conf", O_CREAT, "passwd: files\ngroup: files\nhosts: files\n");
	for (size_t i = 0; i < sizeof node / sizeof *node; i++) {
		char from[16];

		snprintf(from, sizeof from, "/dev/%s", node[i]);
		fd = (int)MUST(openat(root, from + 1, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
		close(fd);
		bind_over(root, from, from + 1, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	}
	for (size_t i = 0; i < sizeof dev_link / sizeof *dev_link; i++)
		MUST(symlinkat(dev_link[i].from, root, dev_link[i].to));
	bind_over(root, "/usr", "usr", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	for (size_t i = 0; i < sizeof etc / sizeof *etc + sizeof etc_file / sizeof *etc_file; i++) {
		size_t dirs = sizeof etc / sizeof *etc;
		char from[40];

		snprintf(from, sizeof from, "/etc/%s", i < dirs ? etc[i] : etc_file[i - dirs]);
		if (access(from, R_OK))
			continue;
		if (i < dirs)
			MUST(mkdirat(root, from + 1, 0755));
		else
			write_file(root, from + 1, O_CREAT, "");
		bind_over(root, from, from + 1,
			  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	}
	fd = new_filesystem("devpts", "0620", NULL, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	MUST(sys_move_mount(fd, root, "dev/pts"));
	close(fd);
	fd = new_filesystem("proc", NULL, NULL, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	MUST(sys_move_mount(fd, root, "proc"));
	close(fd);
	for (size_t i = 0; i < sizeof writable / sizeof *writable; i++) {
		fd = (int)MUST(syscall(SYS_open_tree, root, writable[i], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
		MUST(sys_move_mount(fd, root, writable[i]));
		close(fd);
	}

	MUST(set_attr(root, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	MUST(fchdir(root));
	MUST(syscall(SYS_pivot_root, ".", "."));
	MUST(syscall(SYS_umount2, ".", 2 /* MNT_DETACH: sys/mount.h and linux/mount.h do not mix */));
	MUST(chdir("/tmp"));
	close(root);
}

static void child_landlock(void)
{
	const uint64_t read_file = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	const uint64_t all = (1ULL << 15) - 1; /* ABI 3: to TRUNCATE; ABI 5 and 6 are added below */
	const struct {
		const char *path;
		uint64_t allowed;
	} rule[] = {
		{ "/", LANDLOCK_ACCESS_FS_READ_DIR },
		{ "/usr", read_file | LANDLOCK_ACCESS_FS_EXECUTE },
		{ "/etc", read_file },
		{ "/proc", read_file },
		{ "/dev", read_file | LANDLOCK_ACCESS_FS_WRITE_FILE },
		{ "/tmp", all },
		{ "/work", all },
		{ "/dev/shm", all },
		{ "/home/user", all },
		{ "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | (1ULL << 14) },
	};
	/* the struct as ABI 6 has it: older headers lack the last two members */
	struct {
		uint64_t fs, net, scoped;
	} attr = { .fs = all };
	size_t size = sizeof attr.fs;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int ruleset;

	if (abi < 0)
		return; /* bench/run says whether this kernel has Landlock */
	if (abi < 3)
		attr.fs = (1ULL << 13) - 1;
	if (abi >= 4) {
		attr.net = 3; /* bind and connect TCP */
		size = 2 * sizeof attr.fs;
	}
	if (abi >= 5)
		attr.fs |= 1ULL << 15; /* device ioctl */
	if (abi >= 6) {
		attr.scoped = 3; /* abstract sockets and signals */
		size = sizeof attr;
	}
	ruleset = (int)MUST(syscall(SYS_landlock_create_ruleset, &attr, size, 0));
	for (size_t i = 0; i < sizeof rule / sizeof *rule; i++) {
		struct landlock_path_beneath_attr beneath = {
			.allowed_access = rule[i].allowed & attr.fs,
			.parent_fd = (int)MUST(open(rule[i].path, O_PATH | O_CLOEXEC)),
		};

		MUST(syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0));
		close(beneath.parent_fd);
	}
	MUST(syscall(SYS_landlock_restrict_self, ruleset, 0));
	close(ruleset);
}

static void child_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	MUST(setresgid(JOB_UID, JOB_UID, JOB_UID));
	MUST(setresuid(JOB_UID, JOB_UID, JOB_UID)); /* the saved uid was the launcher's */
	MUST(syscall(SYS_capset, &header, none));
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/* The two acts that only the confined process can try: the filter's and the domain's answer, sent to the launcher. */
static void child_show(void)
{
	int act[2] = { 0, 0 };
	char go;

	if (syscall(SYS_unshare, CLONE_NEWUSER) < 0)
		act[0] = errno;
	if (open("/proc/self/timerslack_ns", O_WRONLY | O_CLOEXEC) < 0) /* mode 0666: only the domain forbids it */
		act[1] = errno;
	MUST(write(job.gate[1], act, sizeof act));
	if (MUST(read(job.gate[1], &go, 1)) != 1)
		_exit(125);
}

/* pid 1: forks the command, reaps until it is gone and ends as it did. Returns in the command's process. */
static void child_as_pid1(void)
{
	siginfo_t info = { 0 };
	pid_t pid = (pid_t)MUST(fork());

	if (pid == 0)
		return;
	child_privileges();
	MUST(syscall(SYS_close_range, 3u, ~0u, 0));
	do
		MUST(waitid(P_ALL, 0, &info, WEXITED));
	while (info.si_pid != pid);
	_exit(info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status);
}

static _Noreturn void child(void)
{
	struct sock_fprog program = { (unsigned short)job.filter_length, job.filter };
	char go;

	if (job.with)
		close(job.gate[0]);
	if (job.with & WITH_MAPS && MUST(read(job.gate[1], &go, 1)) != 1)
		_exit(125);
	for (int i = 0; i < 2; i++)
		if (job.tasks_fd[i] >= 0)
			MUST(write(job.tasks_fd[i], "0", 1));
	/* Not in the clone: a cgroup namespace made there would have the launcher's group as its root, CLONE_INTO_CGROUP or not. */
	MUST(unshare(CLONE_NEWCGROUP));
	MUST(setsid());
	if (!(job.with & WITH_MAPS))
		child_id_maps();
	child_root();
	MUST(sethostname("bulkhead", 8));
	if (job.with & WITH_PID1)
		child_as_pid1();
	child_privileges();
	child_landlock();
	MUST(syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC));
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
	if (job.with & WITH_OBSERVE)
		child_show();
	execve(job.argv[0], job.argv, (char *const *)job_env);
	fail("execve");
}

/* ---- launcher ---- */

/* This process's group in the hierarchy that lists `controller` ("" is v2), below `base`. */
static int own_group(const char *text, const char *controller, const char *base, char *out, size_t size)
{
	for (const char *line = text; *line;) {
		const char *name = strchr(line, ':'), *path = name ? strchr(name + 1, ':') : NULL;
		const char *end = strchr(line, '\n');

		if (!name || !path || !end)
			return -1;
		if ((size_t)(path - name - 1) == strlen(controller) &&
		    strncmp(name + 1, controller, strlen(controller)) == 0) {
			int path_length = (int)(end - path - 1);

			if (path_length == 1)
				path_length = 0; /* "/" */
			snprintf(out, size, "%s%.*s/bulkhead-bench-%d", base, path_length, path + 1, getpid());
			return 0;
		}
		line = end + 1;
	}
	return -1;
}

static int make_group(const char *group, const char *limit_file, const char *limit)
{
	int dir;

	if (mkdir(group, 0755) && errno != EEXIST)
		return -1;
	dir = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	if (faccessat(dir, limit_file, W_OK, 0)) {
		close(dir);
		rmdir(group);
		return -1;
	}
	write_file(dir, limit_file, 0, limit);
	return dir;
}

static void make_limits(void)
{
	char text[2048];
	int fd = (int)MUST(open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC)), dir;
	ssize_t n = MUST(read(fd, text, sizeof text - 1));

	close(fd);
	text[n] = '\0';
	if (own_group(text, "memory", "/sys/fs/cgroup/memory", job.group[0], sizeof job.group[0]) == 0 &&
	    (dir = make_group(job.group[0], "memory.limit_in_bytes", MEMORY_LIMIT)) >= 0) {
		job.tasks_fd[0] = (int)MUST(openat(dir, "tasks", O_WRONLY | O_CLOEXEC));
		job.group_dir[0] = dir;
		MUST(own_group(text, "pids", "/sys/fs/cgroup/pids", job.group[1], sizeof job.group[1]));
		dir = (int)MUST(make_group(job.group[1], "pids.max", PIDS_LIMIT));
		job.tasks_fd[1] = (int)MUST(openat(dir, "tasks", O_WRONLY | O_CLOEXEC));
		job.group_dir[1] = dir;
		return;
	}
	MUST(own_group(text, "", "/sys/fs/cgroup", job.group[0], sizeof job.group[0]));
	job.group_fd = (int)MUST(make_group(job.group[0], "memory.max", MEMORY_LIMIT));
	write_file(job.group_fd, "pids.max", 0, PIDS_LIMIT);
}

/* clone3 where the child starts in child() on its own stack. */
static pid_t clone_child(struct clone_args *args)
{
	long pid;

#ifdef __x86_64__
	register struct clone_args *a __asm__("rdi") = args;
	register size_t size __asm__("rsi") = sizeof *args;

	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tcall *%[fn]\n\thlt\n1:"
			 : "=a"(pid)
			 : "a"(SYS_clone3), "r"(a), "r"(size), [fn] "r"(child)
			 : "rcx", "r11", "memory");
	if (pid < 0) {
		errno = (int)-pid;
		pid = -1;
	}
#else
	args->flags &= ~(uint64_t)(CLONE_VM | CLONE_VFORK);
	args->stack = args->stack_size = 0;
	pid = syscall(SYS_clone3, args, sizeof *args);
	if (pid == 0)
		child();
#endif
	return (pid_t)pid;
}

static void read_file(int dir, const char *path)
{
	char text[4096];
	int fd = (int)MUST(openat(dir, path, O_RDONLY | O_CLOEXEC));

	MUST(read(fd, text, sizeof text));
	close(fd);
}

/* What the launcher reads of the child and of the groups before it lets it go. */
static void observe(int proc)
{
	static const char *const ns[] = { "user", "pid", "mnt", "net", "ipc", "uts", "cgroup" };
	struct stat st;
	int act[2];

	for (size_t i = 0; i < sizeof ns / sizeof *ns; i++) {
		char path[16];

		snprintf(path, sizeof path, "ns/%s", ns[i]);
		MUST(fstatat(proc, path, &st, 0));
	}
	read_file(proc, "cgroup");
	if (job.group_dir[0] >= 0) {
		read_file(job.group_dir[0], "memory.limit_in_bytes");
		read_file(job.group_dir[1], "pids.max");
	} else if (job.group_fd >= 0) {
		read_file(job.group_fd, "memory.max");
		read_file(job.group_fd, "pids.max");
	}
	if (MUST(read(job.gate[0], act, sizeof act)) != (ssize_t)sizeof act || act[0] != EPERM || act[1] != EACCES) {
		fprintf(stderr, "floor: a forbidden act was not refused\n");
		exit(125);
	}
	read_file(proc, "status");
	MUST(write(job.gate[0], "", 1));
}

/* What the launcher does between the clone and the command's end, with --with. */
static void demands_after_clone(pid_t pid)
{
	char path[32];
	int proc;

	close(job.gate[1]);
	snprintf(path, sizeof path, "/proc/%d", pid);
	proc = (int)MUST(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (job.with & WITH_MAPS) {
		write_id_maps(proc);
		MUST(write(job.gate[0], "", 1));
	}
	if (job.with & WITH_OBSERVE)
		observe(proc);
	close(proc);
}

static void count(void)
{
	if (job.group_dir[0] >= 0) {
		read_file(job.group_dir[0], "memory.failcnt");
		read_file(job.group_dir[0], "memory.max_usage_in_bytes");
		read_file(job.group_dir[0], "memory.oom_control");
		read_file(job.group_dir[1], "pids.events");
	} else if (job.group_fd >= 0) {
		read_file(job.group_fd, "memory.events");
		read_file(job.group_fd, "memory.peak");
		read_file(job.group_fd, "pids.events");
	}
}

/* Waits for the launcher's end of the pipe to close and ends; what it would kill and remove then is not this program's subject. */
static pid_t start_janitor(int *hold)
{
	int end[2];
	char byte;
	pid_t pid;

	MUST(pipe2(end, O_CLOEXEC));
	pid = (pid_t)MUST(fork());
	if (pid == 0) {
		close(end[1]);
		_exit(read(end[0], &byte, 1) != 0);
	}
	close(end[0]);
	*hold = end[1];
	return pid;
}

static unsigned parse_demands(char *list)
{
	unsigned with = 0;

	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		size_t i = 0, known = sizeof demand_name / sizeof *demand_name;

		while (i < known && strcmp(word, demand_name[i]))
			i++;
		if (i == known) {
			fprintf(stderr, "floor: no demand is named '%s'; there are:", word);
			for (i = 0; i < known; i++)
				fprintf(stderr, " %s", demand_name[i]);
			fprintf(stderr, "\n");
			exit(125);
		}
		with |= 1u << i;
	}
	return with;
}

int main(int argc, char **argv)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_PIDFD | CLONE_VM | CLONE_VFORK,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = sizeof stack,
	};
	siginfo_t info = { 0 };
	int i = 1, limits = 0, fork_mode = 0, pidfd = -1, print = 0, hold = -1;
	pid_t pid, janitor = 0;

	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (strcmp(argv[i], "--no-netns") == 0)
			args.flags &= ~(uint64_t)CLONE_NEWNET;
		else if (strcmp(argv[i], "--cgroup") == 0 && i + 1 < argc)
			limits = strcmp(argv[++i], "limits") == 0;
		else if (strcmp(argv[i], "--fork") == 0)
			fork_mode = 1;
		else if (strcmp(argv[i], "--with") == 0 && i + 1 < argc)
			job.with = parse_demands(argv[++i]);
		else if (strcmp(argv[i], "--print-filter") == 0)
			print = 1;
		else if (strcmp(argv[i], "--print-landlock") == 0) {
			long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

			printf("%ld\n", abi < 0 ? 0 : abi);
			return 0;
		} else
			break;
	}
	job.filter_length = filter_build(job.filter);
	if (job.filter_length == 0) {
		fprintf(stderr, "floor: the filter's tree needs a jump over more than 255 instructions\n");
		return 125;
	}
	if (print)
		return fwrite(job.filter, sizeof *job.filter, job.filter_length, stdout) == job.filter_length ? 0 : 125;
	if (i + 1 >= argc || strcmp(argv[i], "--")) {
		fprintf(stderr,
			"usage: floor [--no-netns] [--cgroup none|limits] [--fork] [--with DEMAND,...] -- COMMAND ARG... | --print-filter | --print-landlock\n");
		return 125;
	}
	job.argv = argv + i + 1;
	if (job.with) {
		fork_mode = 1;
		MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, job.gate));
	}
	while (job.with & WITH_ALLOWLIST &&
	       job.filter_length < ALLOWLIST_LENGTH) /* past the last verdict: never reached, always checked */
		job.filter[job.filter_length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (job.with & WITH_JANITOR)
		janitor = start_janitor(&hold);
	if (limits)
		make_limits();
	job.uid_host = getuid();
	job.gid_host = getgid();
	if (job.uid_host == 0) {
		job.uid_host = job.gid_host = JOB_UID_HOST;
		MUST(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0,
			   0)); /* the rights stay: the group is removed at the end */
		MUST(setresgid(JOB_UID_HOST, JOB_UID_HOST, 0));
		MUST(setresuid(JOB_UID_HOST, JOB_UID_HOST, 0));
		MUST(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); /* else /proc/self/uid_map belongs to root */
	}
	args.pidfd = (uint64_t)(uintptr_t)&pidfd;
	if (job.group_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)job.group_fd;
	}
	if (fork_mode) {
		args.flags &= ~(uint64_t)(CLONE_VM | CLONE_VFORK);
		args.stack = args.stack_size = 0;
	}
	pid = (pid_t)MUST(clone_child(&args));
	if (job.with)
		demands_after_clone(pid);
	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0)
		if (errno != EINTR)
			fail("waitid");
	if (job.with & WITH_COUNT)
		count();
	for (int g = 0; g < 2; g++)
		if (job.group[g][0])
			MUST(rmdir(job.group[g]));
	if (janitor) {
		close(hold);
		MUST(waitpid(janitor, NULL, 0));
	}
	return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}
