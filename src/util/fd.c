#include "util/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* EINTR and EIO leave the descriptor closed on Linux (close(2)) */
	*fd = -1;
	errno = saved;
}

int fd_write_all(int fd, const void *buf, size_t len, struct error *err)
{
	const char *at = buf;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return error_errno(err, "write");
		}
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t fd_read_file_at(int dirfd, const char *path, char *buf, size_t size, struct error *err)
{
	size_t used = 0;
	autofd fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return error_errno(err, "open %s", path);
	for (;;) {
		ssize_t n = read(fd, buf + used, size - used);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return error_errno(err, "read %s", path);
		}
		if (n == 0)
			break;
		used += (size_t)n;
		if (used == size)
			return error_set(err, EFBIG, "read %s: longer than %zu bytes", path, size - 1);
	}
	buf[used] = '\0';
	return (ssize_t)used;
}

int fd_write_file_at(int dirfd, const char *path, const char *text, struct error *err)
{
	size_t len = strlen(text);
	int shown = (int)strcspn(text, "\n"); /* a message is one line */
	ssize_t n;
	autofd fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return error_errno(err, "open %s for writing", path);
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, "write \"%.*s\" to %s", shown < 40 ? shown : 40, text, path);
	if ((size_t)n != len)
		return error_set(err, EIO, "write \"%.*s\" to %s: %zd of %zu bytes", shown < 40 ? shown : 40, text,
				 path, n, len);
	return 0;
}

int fd_close_all_but(unsigned int first, int *keep, size_t count, struct error *err)
{
	for (size_t i = 1; i < count; i++) { /* a handful at most */
		for (size_t k = i; k > 0 && keep[k - 1] > keep[k]; k--) {
			int swap = keep[k];

			keep[k] = keep[k - 1];
			keep[k - 1] = swap;
		}
	}
	for (size_t i = 0; i <= count; i++) {
		unsigned int last = i < count ? (unsigned int)keep[i] - 1 : ~0u;

		if (i < count && (keep[i] < 0 || (unsigned int)keep[i] < first))
			continue;
		if ((i == count || (unsigned int)keep[i] > first) && syscall(SYS_close_range, first, last, 0) < 0)
			return error_errno(err, "close_range");
		if (i < count)
			first = (unsigned int)keep[i] + 1;
	}
	return 0;
}

int fd_fill_stdio(struct error *err)
{
	for (int i = 0; i < 3; i++) {
		if (fcntl(i, F_GETFD) < 0 && errno == EBADF && open("/dev/null", i == 0 ? O_RDONLY : O_WRONLY) != i)
			return error_errno(err, "open /dev/null as descriptor %d", i);
	}
	return 0;
}

int fd_socketpair(int out[2], struct error *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, out) < 0)
		return error_errno(err, "socketpair");
	return 0;
}
