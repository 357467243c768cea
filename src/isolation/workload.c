/* The workload's process, from init's fork to execve.  It gives up its rights while init builds the view; then it gets its
 * descriptors, enters its Landlock domain, shows that the forbidden acts fail, and waits at the gate. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "isolation/apply.h"
#include "isolation/control.h"
#include "util/fd.h"

/* The workload chose the bytes, and they end on a terminal. */
static bool show_name(const char *name, char *out, size_t size)
{
	(void)snprintf(out, size, "%.200s", name);
	for (char *p = out; *p; p++) {
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	}
	return true;
}

/* ENOENT for a file that is there means its interpreter is not: say which (execve(2)). */
static bool missing_interpreter(const char *path, char *out, size_t size)
{
	char head[4096];
	ssize_t n;
	autofd fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (n = read(fd, head, sizeof(head) - 1)) < 4)
		return false;
	head[n] = '\0';
	if (head[0] == '#' && head[1] == '!') {
		char *name = head + 2 + strspn(head + 2, " \t");

		name[strcspn(name, " \t\n")] = '\0'; /* a carriage return stays: it is the mistake to show */
		return show_name(name, out, size);
	}
	if (memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] == ELFCLASS64) {
		Elf64_Ehdr eh;

		memcpy(&eh, head, sizeof(eh));
		for (unsigned int i = 0; i < eh.e_phnum && eh.e_phentsize == sizeof(Elf64_Phdr); i++) {
			Elf64_Phdr ph;
			char name[256];

			if (pread(fd, &ph, sizeof(ph), (off_t)(eh.e_phoff + i * sizeof(ph))) != (ssize_t)sizeof(ph))
				return false;
			if (ph.p_type != PT_INTERP || ph.p_filesz >= sizeof(name))
				continue;
			if (pread(fd, name, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
				return false;
			name[ph.p_filesz] = '\0';
			return show_name(name, out, size);
		}
	}
	return false;
}

static const char *path_of(char *const *envp)
{
	for (; *envp; envp++) {
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	}
	return "/usr/bin:/bin";
}

/* execvpe(3) by hand: it takes heap for scripts, falls back to /bin/sh, and forgets which errno mattered. */
static void search_and_exec(char *const *argv, char *const *envp, char *tried, size_t size)
{
	const char *at = path_of(envp);
	int result = ENOENT;

	if (strchr(argv[0], '/')) {
		(void)snprintf(tried, size, "%s", argv[0]);
		(void)execve(argv[0], argv, envp);
		return;
	}
	(void)snprintf(tried, size, "%s", argv[0]);
	while (*at) {
		size_t len = strcspn(at, ":");
		char path[4096];

		if (len > 0 && len + strlen(argv[0]) + 2 < sizeof(path)) {
			(void)snprintf(path, sizeof(path), "%.*s/%s", (int)len, at, argv[0]);
			if (access(path, F_OK) == 0)
				(void)snprintf(tried, size, "%s", path);
			(void)execve(path, argv, envp);
			if (errno != ENOENT && errno != ENOTDIR)
				result = errno;
			else if (access(path, F_OK) == 0)
				return; /* errno of access is not wanted: the file is there, so ENOENT was its interpreter's */
		}
		at += len + (at[len] == ':');
	}
	errno = result;
}

static _Noreturn void exec_failed(const struct confinement *c, const char *tried, int code)
{
	struct message m = { .type = MSG_EXEC_FAILED, .mechanism = -1 };
	char interpreter[256];

	/* 127: no such command; 126: there, but it cannot be run, as a shell has it. */
	m.number = code == ENOENT ? 127 : 126;
	if (code == ENOENT && missing_interpreter(tried, interpreter, sizeof(interpreter)))
		(void)error_set(&m.error, code, "%.200s: its interpreter %s is not there", tried, interpreter);
	else if (code == ENOENT && strchr(tried, '/') && tried[0] != '/')
		(void)error_set(&m.error, code, "%.300s: %s, as seen inside, where the current directory is %.100s",
				tried, strerrordesc_np(code), c->cwd);
	else
		(void)error_set(&m.error, code, "%.300s: %s%s", tried, strerrordesc_np(code),
				code == ENOENT ? ", as seen inside" : "");
	(void)message_send(c->init_fd, &m, NULL);
	_exit(m.number);
}

/* v2's was joined by the clone. */
static int join_groups(struct confinement *c, struct error *err)
{
	for (unsigned int i = cgroup_v1_count(&c->cgroup); i > 0; i--) {
		struct message m;
		pid_t from;
		int r;
		autofd fd = -1;

		if (message_receive(c->gate_fd, &m, &from, &fd, NULL) != 1 || m.type != MSG_GROUP || fd < 0)
			_exit(125); /* the launcher gave up, and knows why */
		r = cgroup_join_tasks(fd, err);
		if (r < 0)
			return error_wrap(err, "join a control group");
	}
	return 0;
}

/* In the order that plan.c explains. */
static const struct step own_steps[] = {
	{ MECH_NETNS, namespaces_make_network },
	{ MECH_CGROUP, join_groups },
	{ MECH_CGROUPNS, namespaces_enter_cgroup },
	{ MECH_RLIMITS, rlimits_apply },
	{ MECH_USERNS, creds_become },
};
static const struct step last_steps[] = {
	{ MECH_CAPS, caps_apply },
	{ MECH_SECCOMP, seccomp_apply },
};

/* A change of ids made us undumpable; the launcher must be able to look at us in /proc, and init to join our network. */
static void show_ourselves(const struct confinement *c)
{
	struct message separated = { .type = MSG_SEPARATED, .mechanism = -1 };
	struct error err;

	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) {
		(void)error_errno(&err, "become dumpable");
		setup_failed(c, MECH_COUNT, &err);
	}
	if (message_send(c->init_fd, &separated, NULL) < 0 ||
	    (uses(c, MECH_NETNS) && message_send(c->peer_fd, &separated, NULL) < 0))
		_exit(125); /* init has failed, and has said why; or nobody is left to tell */
}

static void wait_for_view(struct confinement *c)
{
	struct message m;
	pid_t from;

	if (message_receive(c->peer_fd, &m, &from, &c->ruleset_fd, NULL) != 1 || m.type != MSG_VIEW)
		_exit(125); /* init has failed, and has said why */
	c->landlock_abi = m.shown.landlock_abi;
	c->proc_masked = m.shown.proc_masked;
}

static void step(const struct confinement *c, enum mechanism m, int result, const struct error *err)
{
	if (result < 0)
		setup_failed(c, m, err);
}

/* A gate that closes without a word means the launcher refused, or is gone. */
static void wait_at_gate(const struct confinement *c)
{
	char word;
	ssize_t n;

	do
		n = read(c->gate_fd, &word, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1 || word != 'g')
		_exit(125);
}

_Noreturn void workload_main(struct confinement *c, const sigset_t *mask)
{
	struct message ready = { .type = MSG_READY, .mechanism = -1 };
	struct error err = { 0 };
	char tried[4096];

	steps_walk(c, own_steps, sizeof(own_steps) / sizeof(own_steps[0]));
	show_ourselves(c);
	steps_walk(c, last_steps, sizeof(last_steps) / sizeof(last_steps[0]));
	wait_for_view(c);
	step(c, MECH_SESSION, stdio_apply(c, &err), &err);
	if (chdir(c->cwd) < 0) {
		(void)error_errno(&err, "enter %s", c->cwd);
		setup_failed(c, MECH_COUNT, &err);
	}
	step(c, uses(c, MECH_LANDLOCK) ? MECH_LANDLOCK : MECH_LANDLOCK_SCOPE, landlock_enter(c, &err), &err);
	step(c, MECH_DESCRIPTORS, descriptors_apply(c->gate_fd, c->init_fd, &err), &err);
	step(c, MECH_RLIMITS, rlimits_apply_files(c, &err), &err);

	landlock_show(c, &ready.shown);
	ready.shown.proc_masked = c->proc_masked;
	if (uses(c, MECH_SECCOMP))
		seccomp_show(&ready.shown);
	if (message_send(c->init_fd, &ready, &err) < 0)
		_exit(125);
	wait_at_gate(c);

	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	search_and_exec(c->boundary->argv, c->envp, tried, sizeof(tried));
	exec_failed(c, tried, errno);
}
