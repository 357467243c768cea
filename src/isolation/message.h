/* What the processes of one run say to each other over the control socket (AF_UNIX, SOCK_SEQPACKET), and the order in
 * which it may be said.  The launcher's end takes SO_PASSCRED: who spoke is told by the kernel, not by the message.
 *
 *   init -> launcher       SCRATCH, TERMINAL, CONFINED (once each; the first two with a descriptor), FAILED, STOPPED, EXITED
 *   workload -> launcher   FAILED, SEPARATED, READY (once each), EXEC_FAILED; its end closes at execve
 *   launcher -> init       MAPPED (once, after the id maps), SIGNAL, TERMINATE
 *   launcher -> workload   through the gate: GROUP (with the tasks file of each v1 group to join), then one byte
 *
 * and over a second pair, which nobody else holds and which both close before the gate:
 *
 *   workload -> init       SEPARATED (once, where there is a network namespace)
 *   init -> workload       VIEW (once; with the Landlock ruleset, where there is one) */
#ifndef BULKHEAD_ISOLATION_MESSAGE_H
#define BULKHEAD_ISOLATION_MESSAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "isolation/boundary.h"
#include "util/error.h"

enum message_type {
	MSG_MAPPED = 1,
	MSG_SIGNAL,	 /* number: forward it to the workload's process group */
	MSG_TERMINATE,	 /* SIGTERM to the whole tree; the grace time has begun */
	MSG_TERMINAL,	 /* carries one descriptor */
	MSG_GROUP,	 /* carries one descriptor: a tasks file */
	MSG_SEPARATED,	 /* the workload's process is in all its namespaces and groups */
	MSG_VIEW,	 /* the view is complete; shown: the ABI and whether /proc is there.  Carries the ruleset */
	MSG_CONFINED,	 /* init itself is confined and waits for the workload */
	MSG_SCRATCH,	 /* carries one descriptor: O_PATH on the scratch space, for fstatfs(2) */
	MSG_FAILED,	 /* mechanism and error: a step of the confinement */
	MSG_READY,	 /* shown: what the forbidden acts gave */
	MSG_EXEC_FAILED, /* number: 126 or 127; error */
	MSG_STOPPED,	 /* number: the signal that stopped the workload's main process */
	MSG_EXITED,	 /* number: wait status of the workload's main process */
};

struct shown {
	int32_t landlock_errno; /* of making a whiteout node where the ruleset grants no device nodes; 0: it succeeded */
	int32_t scope_errno;	/* of kill(init, 0) */
	int32_t seccomp_errno;	/* of a refused call */
	int32_t landlock_abi;	/* in effect */
	int32_t proc_masked;	/* errno of the /proc mount, 0 when it is there */
};

struct message {
	uint32_t type;
	int32_t number;
	int32_t mechanism; /* -1: none */
	struct shown shown;
	uint64_t user_us, system_us, max_rss_kib; /* EXITED: of the workload's tree, as far as it was reaped */
	struct error error;
};

int message_send(int fd, const struct message *m, struct error *err);

/* Receive one message.  Returns 1, 0 at the end of the stream, or a negative errno.  *out_pid is the sender in our pid
 * namespace (0 if the socket does not take credentials); *out_fd is a descriptor sent along, close-on-exec, or -1. */
int message_receive(int fd, struct message *out, pid_t *out_pid, int *out_fd, struct error *err);

/* Send with one descriptor. */
int message_send_fd(int fd, const struct message *m, int payload_fd, struct error *err);

#endif
