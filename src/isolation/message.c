#include "isolation/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int message_send(int fd, const struct message *m, struct error *err)
{
	ssize_t n;

	/* write(2), not sendmsg(2): the filter of hosts without namespaces refuses the latter. */
	do
		n = write(fd, m, sizeof(*m));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, "send a message of type %u", m->type);
	return n == (ssize_t)sizeof(*m) ? 0 : error_set(err, EIO, "a message was cut");
}

int message_send_fd(int fd, const struct message *m, int payload_fd, struct error *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = (void *)(uintptr_t)m, .iov_len = sizeof(*m) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)
	};
	struct cmsghdr *c;

	memset(&control, 0, sizeof(control));
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &payload_fd, sizeof(int));
	if (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0)
		return error_errno(err, "send a descriptor");
	return 0;
}

static void take_control(struct msghdr *msg, pid_t *out_pid, int *out_fd)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
			struct ucred cred;

			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			*out_pid = cred.pid;
		}
		if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(out_fd, CMSG_DATA(c), sizeof(int));
	}
}

int message_receive(int fd, struct message *out, pid_t *out_pid, int *out_fd, struct error *err)
{
	/* Room for the credentials and one descriptor: the kernel closes what does not fit and sets MSG_CTRUNC. */
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = out, .iov_len = sizeof(*out) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)
	};
	ssize_t n;

	*out_pid = 0;
	*out_fd = -1;
	do
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 0;
	if (n < 0)
		return error_errno(err, "receive a message");
	take_control(&msg, out_pid, out_fd);
	if (n != (ssize_t)sizeof(*out) || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		if (*out_fd >= 0)
			(void)close(*out_fd);
		*out_fd = -1;
		return error_set(err, EPROTO, "a message of the wrong size");
	}
	out->error.text[sizeof(out->error.text) - 1] = '\0';
	return 1;
}
