/* The launcher's life once the gate is open: one poll(2) over init, its messages, signals, time, and the output. */
#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation/control.h"
#include "isolation/tree.h"
#include "launch/attempt.h"
#include "launch/relay.h"
#include "launch/sampler.h"
#include "launch/terminal.h"
#include "util/clock.h"
#include "util/fd.h"

#define NEVER UINT64_MAX
/* After the tree is dead its pipes have no writer; only a descriptor that was passed out of the boundary could keep one
 * open, and nobody waits longer than this for that. */
#define DRAIN_MS 2000
/* How long a killed tree may take to be gone. */
#define DEATH_MS 30000

enum relay_id { RELAY_STDOUT, RELAY_STDERR, RELAY_IN, RELAY_TERMINAL_OUT, RELAYS };

/* What the run is doing. */
enum run_state {
	RUNNING,
	TERMINATING, /* SIGTERM was sent, the grace time runs */
	KILLED,	     /* everything was sent SIGKILL */
	DRAINING,    /* init is reaped; the rest of the output */
	OVER
};

struct run {
	struct attempt *a;
	const struct boundary *b;
	struct outcome *out;
	enum run_state state;
	int signal_fd, parent_fd;
	struct terminal terminal;
	struct relay *relays; /* RELAYS of them, each with its buffer */
	bool relay_used[RELAYS];
	bool stdout_gone; /* we hold the caller's stdout no longer */
	uint64_t budget;  /* of output */
	bool exceeded;
	bool told; /* init has said how the workload ended */
	int status;
	uint64_t deadline; /* ms: of the state */
	uint64_t late;	   /* ms: of the second blow, once killed */
	uint64_t wall_end; /* ms: --timeout */
	uint64_t next_sample;
	bool sampling, measure;
	enum outcome_kind cause; /* why we ended it; OUTCOME_COUNT if we did not */
};

static void tell_init(struct run *r, enum message_type type, int number)
{
	struct message m = { .type = type, .number = number, .mechanism = -1 };

	if (r->a->s.control_fd >= 0)
		(void)message_send(r->a->s.control_fd, &m, NULL); /* init may be gone, which the pidfd says */
}

static void kill_everything(struct run *r)
{
	tree_kill(&r->a->c, &r->a->s);
	r->state = KILLED;
	r->late = clock_ms() + TREE_LATE_MS;
	r->deadline = clock_ms() + DEATH_MS;
}

/* We end the workload, for a reason. */
static void end_it(struct run *r, enum outcome_kind cause, unsigned int limit, bool gently)
{
	if (r->state != RUNNING)
		return;
	r->cause = cause;
	r->out->limits_hit |= limit;
	if (!gently || r->b->limits.grace_ms == 0) {
		kill_everything(r);
		return;
	}
	tell_init(r, MSG_TERMINATE, 0);
	r->state = TERMINATING;
	r->deadline = clock_ms() + r->b->limits.grace_ms;
}

/* ---- signals ---- */

static void stop_ourselves(struct run *r)
{
	sigset_t stop;

	terminal_restore(&r->terminal);
	/* By SIGTSTP, as a shell expects of Ctrl-Z (it shows 128+20); in an orphaned group it stops nobody (setpgid(2)). */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	(void)kill(getpid(), SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
	/* continued */
	(void)sigprocmask(SIG_BLOCK, &stop, NULL);
	terminal_raw(&r->terminal);
	terminal_resize(&r->terminal);
	tell_init(r, MSG_SIGNAL, SIGCONT);
}

static void on_signal(struct run *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGWINCH) {
			terminal_resize(&r->terminal);
		} else if (sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU) {
			tell_init(r, MSG_SIGNAL, SIGTSTP);
			stop_ourselves(r);
		} else if (sig != SIGCHLD && sig != SIGPIPE) {
			tell_init(r, MSG_SIGNAL, sig);
		}
	}
}

static int watch_signals(struct run *r, sigset_t *out_old)
{
	static const int forwarded[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,  SIGUSR2,
					 SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGPIPE };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&set, forwarded[i]);
	if (sigprocmask(SIG_BLOCK, &set, out_old) < 0)
		return error_errno(&r->out->error, "block signals");
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd < 0 ? error_errno(&r->out->error, "watch signals") : 0;
}

/* ---- messages from init ---- */

static void not_started(struct run *r, const struct message *m)
{
	r->out->kind = OUTCOME_NOT_STARTED;
	r->out->exit_code = m->number == 127 ? 127 : 126;
	r->out->error = m->error;
}

/* Everything but init is dead and reaped.  While the kernel takes init's namespaces apart, what needs no init is done: the
 * counters are final, and the v1 groups, which init is not in, are empty. */
static void finish_early(struct run *r)
{
	sampler_note(&r->a->c, &r->a->s, r->measure, r->out);
	fd_close(&r->a->s.scratch_fd);
	cgroup_remove_v1(&r->a->c.cgroup);
}

static void on_message(struct run *r)
{
	struct message m;
	struct error err;
	pid_t from;
	int fd, n = message_receive(r->a->s.control_fd, &m, &from, &fd, &err);

	if (fd >= 0)
		(void)close(fd); /* none is due any more */
	if (n <= 0) {
		fd_close(&r->a->s.control_fd);
		return;
	}
	/* Until it execs the workload's process runs our code and may say one thing; everything else is init's to say. */
	if (m.type == MSG_EXEC_FAILED && from == r->a->s.workload_pid) {
		not_started(r, &m);
	} else if (m.type == MSG_STOPPED && from == r->a->s.init_pid) {
		if (r->terminal.raw && r->state == RUNNING)
			stop_ourselves(r);
	} else if (m.type == MSG_EXITED && from == r->a->s.init_pid) {
		r->told = true;
		r->status = m.number;
		finish_early(r);
		r->out->user_us = m.user_us;
		r->out->system_us = m.system_us;
		r->out->max_rss_bytes = m.max_rss_kib * 1024;
	} else {
		(void)error_set(&r->out->error, EPROTO, "message %u out of turn", m.type);
		end_it(r, OUTCOME_FAILED, 0, false);
	}
}

/* ---- time ---- */

static void check_samples(struct run *r, uint64_t now)
{
	const struct limits *l = &r->b->limits;
	struct sample s;

	if (now < r->next_sample)
		return;
	r->next_sample = now + SAMPLE_INTERVAL_MS;
	sampler_note(&r->a->c, &r->a->s, r->measure, r->out);
	if (!r->sampling || r->state != RUNNING)
		return;
	sampler_take(&r->a->c, &r->a->s, &s);
	if (s.cpu_us != UNKNOWN && l->cpu_time_ms != LIMIT_NONE && s.cpu_us / 1000 >= l->cpu_time_ms)
		end_it(r, OUTCOME_CPU_TIME, LIMIT_HIT_CPU_TIME, false);
	if (r->a->c.cgroup.limits)
		return;
	if (s.memory_bytes != UNKNOWN && s.memory_bytes > l->memory_bytes)
		end_it(r, OUTCOME_MEMORY, LIMIT_HIT_MEMORY, false);
	if (s.processes != UNKNOWN && s.processes > l->pids)
		end_it(r, OUTCOME_PIDS, LIMIT_HIT_PIDS, false);
}

static void check_time(struct run *r)
{
	uint64_t now = clock_ms();

	if (r->state == RUNNING && now >= r->wall_end)
		end_it(r, OUTCOME_TIMED_OUT, LIMIT_HIT_TIMEOUT, true);
	else if (r->state == TERMINATING && now >= r->deadline)
		kill_everything(r);
	else if (r->state == KILLED && now >= r->late) {
		tree_kill_group(&r->a->c);
		r->late = NEVER;
	} else if (r->state == KILLED && now >= r->deadline) {
		(void)error_set(&r->out->error, ETIMEDOUT, "the workload did not die within %d s of SIGKILL",
				DEATH_MS / 1000);
		r->cause = OUTCOME_FAILED;
		r->state = OVER;
	} else if (r->state == DRAINING && now >= r->deadline) {
		r->state = OVER;
	}
	if (r->state < DRAINING)
		check_samples(r, now);
}

static int poll_timeout(const struct run *r)
{
	uint64_t now = clock_ms(), next = r->state == RUNNING ? r->wall_end : r->deadline;

	if (r->state == KILLED && r->late < next)
		next = r->late;
	if (r->state < DRAINING && r->next_sample < next)
		next = r->next_sample;
	if (next == NEVER)
		return -1;
	return next <= now ? 0 : next - now > 60000 ? 60000 : (int)(next - now);
}

/* ---- output ---- */

static void set_up_relays(struct run *r)
{
	int terminal = r->a->s.terminal_fd;

	for (int i = 0; i < 2; i++) {
		if (r->a->output_fd[i] < 0)
			continue;
		/* this end is ours alone; if it fails, poll still guards each read */
		(void)fcntl(r->a->output_fd[i], F_SETFL, O_NONBLOCK);
		relay_init(&r->relays[RELAY_STDOUT + i], r->a->output_fd[i], 1 + i);
		r->a->output_fd[i] = -1;
		r->relay_used[RELAY_STDOUT + i] = true;
	}
	if (r->a->input_fd >= 0) {
		relay_init(&r->relays[RELAY_IN], fcntl(0, F_DUPFD_CLOEXEC, 3), r->a->input_fd);
		r->relay_used[RELAY_IN] = true;
	}
	if (terminal < 0)
		return;
	terminal_start(&r->terminal, terminal);
	relay_init(&r->relays[RELAY_TERMINAL_OUT], fcntl(terminal, F_DUPFD_CLOEXEC, 3),
		   isatty(1) ? 1 : r->terminal.outer);
	r->relay_used[RELAY_TERMINAL_OUT] = true;
	if (isatty(0)) {
		int in = fcntl(0, F_DUPFD_CLOEXEC, 3);

		relay_init(&r->relays[RELAY_IN], in, terminal);
		r->relay_used[RELAY_IN] = true;
	}
}

static bool output_pending(const struct run *r)
{
	for (int i = 0; i < RELAYS; i++) {
		if (i != RELAY_IN && r->relay_used[i] && !relay_ended(&r->relays[i]))
			return true;
	}
	return false;
}

static void move_output(struct run *r, struct pollfd *slots)
{
	uint64_t unlimited = UINT64_MAX;
	bool ignored = false;

	for (int i = 0; i < RELAYS; i++) {
		if (!r->relay_used[i])
			continue;
		if (i == RELAY_IN)
			relay_move(&r->relays[i], slots + 2 * i, &unlimited, &ignored);
		else
			relay_move(&r->relays[i], slots + 2 * i, &r->budget, &r->exceeded);
	}
	if (r->a->input_fd >= 0 && relay_ended(&r->relays[RELAY_IN]))
		fd_close(&r->a->input_fd); /* the workload's end of file */
	if (r->exceeded) {
		r->out->output_truncated = true;
		end_it(r, OUTCOME_OUTPUT, LIMIT_HIT_OUTPUT, false);
	}
}

/* ---- the loop ---- */

static void on_init_ended(struct run *r)
{
	siginfo_t info = { 0 };

	/* what it said last is still in the socket */
	while (r->a->s.control_fd >= 0) {
		struct pollfd p = { .fd = r->a->s.control_fd, .events = POLLIN };

		if (poll(&p, 1, 0) <= 0)
			break;
		on_message(r);
	}
	if (!r->told)
		sampler_note(&r->a->c, &r->a->s, r->measure, r->out);
	if (waitid(P_PIDFD, (id_t)r->a->s.init_pidfd, &info, WEXITED) < 0)
		(void)error_errno(&r->out->error, "wait for init");
	r->a->s.init_pid = 0;
	fd_close(&r->a->s.init_pidfd);
	r->state = DRAINING;
	r->deadline = clock_ms() + DRAIN_MS;
}

static void turn(struct run *r)
{
	enum { SLOT_INIT, SLOT_CONTROL, SLOT_SIGNAL, SLOT_PARENT, SLOT_RELAY };
	struct pollfd slots[SLOT_RELAY + 2 * RELAYS];

	slots[SLOT_INIT] = (struct pollfd){ .fd = r->a->s.init_pidfd, .events = POLLIN };
	slots[SLOT_CONTROL] = (struct pollfd){ .fd = r->a->s.control_fd, .events = POLLIN };
	slots[SLOT_SIGNAL] = (struct pollfd){ .fd = r->signal_fd, .events = POLLIN };
	slots[SLOT_PARENT] = (struct pollfd){ .fd = r->parent_fd, .events = POLLIN };
	for (int i = 0; i < RELAYS; i++) {
		struct pollfd *two = &slots[SLOT_RELAY + 2 * i];

		two[0].fd = two[1].fd = -1;
		if (r->relay_used[i])
			relay_poll(&r->relays[i], two);
	}
	if (poll(slots, sizeof(slots) / sizeof(slots[0]), poll_timeout(r)) < 0)
		return; /* EINTR, or ENOMEM: try again */
	if (slots[SLOT_SIGNAL].revents)
		on_signal(r);
	if (slots[SLOT_PARENT].revents) {
		fd_close(&r->parent_fd);
		end_it(r, OUTCOME_FAILED, 0, false);
		(void)error_set(&r->out->error, ESRCH, "the process that called us has ended (--die-with-parent)");
	}
	move_output(r, slots + SLOT_RELAY);
	if (slots[SLOT_CONTROL].revents && r->a->s.control_fd >= 0)
		on_message(r);
	if (slots[SLOT_INIT].revents && r->a->s.init_pidfd >= 0)
		on_init_ended(r);
	if (r->state == DRAINING && !output_pending(r))
		r->state = OVER;
	check_time(r);
}

/* ---- the verdict ---- */

static void judge_end(struct run *r)
{
	struct outcome *o = r->out;

	if (r->told && WIFEXITED(r->status))
		o->exit_code = o->kind == OUTCOME_NOT_STARTED ? o->exit_code : WEXITSTATUS(r->status);
	else if (r->told && WIFSIGNALED(r->status))
		o->signal = WTERMSIG(r->status);
	if (o->kind == OUTCOME_NOT_STARTED)
		return;
	if (r->cause != OUTCOME_COUNT) {
		o->kind = r->cause;
		o->signal = o->signal ? o->signal : r->told ? 0 : SIGKILL;
		return;
	}
	/* The group's counter says whether the limit killed it, never the exit status (a program can end with 137 on its
	 * own).  Where the whole group is killed at once, init goes too and tells nothing. */
	if ((o->limits_hit & LIMIT_HIT_MEMORY) && (!r->told || o->signal == SIGKILL)) {
		o->kind = OUTCOME_MEMORY;
		o->signal = SIGKILL;
		return;
	}
	if (!r->told) {
		o->kind = OUTCOME_FAILED;
		if (!o->error.code)
			(void)error_set(&o->error, EIO,
					"init ended without saying how the workload did: something outside killed it");
		return;
	}
	o->kind = o->signal ? OUTCOME_SIGNALED : OUTCOME_EXITED;
	/* the limit per file, where files are written in place (setrlimit(2)) */
	if (o->signal == SIGXFSZ && rlimits_bound_files(&r->a->c))
		o->limits_hit |= LIMIT_HIT_DISK;
}

static void count_output(struct run *r)
{
	struct outcome *o = r->out;

	if (r->relay_used[RELAY_STDOUT])
		o->stdout_bytes = r->relays[RELAY_STDOUT].seen;
	if (r->relay_used[RELAY_STDERR])
		o->stderr_bytes = r->relays[RELAY_STDERR].seen;
	if (r->relay_used[RELAY_TERMINAL_OUT]) /* a terminal does not tell the two apart */
		o->stdout_bytes = r->relays[RELAY_TERMINAL_OUT].seen;
	for (int i = 0; i < RELAYS; i++) {
		if (r->relay_used[i])
			relay_done(&r->relays[i]);
	}
}

/* Our copies of the caller's stdin and stdout would keep a pipe open after the workload has closed its own.  stderr stays
 * for the summary line, and a report that goes to stdout has a descriptor of its own. */
static void let_go_of(const struct run *r, int fd)
{
	int null;

	if (r->terminal.outer >= 0)
		return; /* the terminal's settings are due */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return;
	(void)dup2(null, fd);
	(void)close(null);
}

static void run_to_the_end(struct run *r)
{
	set_up_relays(r);
	if (confinement_release(&r->a->s, &r->out->error) < 0)
		end_it(r, OUTCOME_FAILED, 0, false);
	let_go_of(r, 0);
	while (r->state != OVER) {
		if (!r->stdout_gone && (!r->relay_used[RELAY_STDOUT] || relay_ended(&r->relays[RELAY_STDOUT]))) {
			let_go_of(r, 1);
			r->stdout_gone = true;
		}
		turn(r);
	}
	terminal_restore(&r->terminal);
	count_output(r);
	judge_end(r);
}

static void fill_phases(const struct attempt *a, uint64_t ran_ns, struct outcome *o)
{
	uint64_t end = clock_ns();

	o->prepare_us = (a->prepared_ns - a->began_ns) / 1000;
	o->confine_us = (a->ready_ns - a->prepared_ns) / 1000;
	o->observe_us = (a->observed_ns - a->ready_ns) / 1000;
	o->run_us = (ran_ns - a->observed_ns) / 1000;
	o->teardown_us = (end - ran_ns) / 1000;
	o->wall_us = (end - a->began_ns) / 1000;
}

void launch_run(const struct boundary *b, const struct launch_options *options, struct evidence *evidence,
		struct outcome *out)
{
	static struct attempt a; /* a few tens of KiB, as the buffers: not for the stack */
	static struct relay relays[RELAYS];
	struct run r = { .a = &a,
			 .b = b,
			 .relays = relays,
			 .out = out,
			 .signal_fd = -1,
			 .parent_fd = -1,
			 .measure = options->count_output,
			 .cause = OUTCOME_COUNT,
			 .terminal = TERMINAL_INIT,
			 .wall_end = NEVER,
			 .deadline = NEVER,
			 .next_sample = NEVER,
			 .budget = b->limits.output_bytes };
	uint64_t ran_ns;
	sigset_t old;

	outcome_init(out);
	if (watch_signals(&r, &old) < 0)
		return;
	if (b->die_with_parent)
		r.parent_fd = (int)syscall(SYS_pidfd_open, getppid(), 0);
	if (b->die_with_parent && r.parent_fd < 0)
		(void)error_errno(&out->error, "watch the process that called us");
	else if (attempt_start(&a, b, options, evidence, &old, out) == 0) {
		struct error err;

		if (b->limits.timeout_ms != LIMIT_NONE)
			r.wall_end = clock_ms() + b->limits.timeout_ms;
		r.sampling = sampler_needed(&a.c);
		if (r.sampling || options->count_output)
			r.next_sample = clock_ms() + SAMPLE_INTERVAL_MS;
		if (options->trial)
			out->kind = OUTCOME_EXITED;
		else
			run_to_the_end(&r);
		ran_ns = clock_ns();
		if (attempt_end(&a, &err) < 0) {
			out->kind = OUTCOME_FAILED;
			out->error = err;
		}
		fill_phases(&a, ran_ns, out);
	}
	evidence_mark_untried(evidence);
	fd_close(&r.signal_fd);
	fd_close(&r.parent_fd);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
}
