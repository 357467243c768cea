#include "launch/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "util/fd.h"

#define SPLICE_MAX (1u << 20)

void relay_init(struct relay *r, int take_from, int to)
{
	memset(r, 0, sizeof(*r));
	r->from = take_from;
	r->to = to;
	r->splice = true;
	(void)fcntl(take_from, F_SETPIPE_SZ,
		    SPLICE_MAX); /* fewer turns; a limit on pipe memory may refuse, which is fine */
}

void relay_done(struct relay *r)
{
	fd_close(&r->from);
}

void relay_poll(const struct relay *r, struct pollfd slots[2])
{
	bool pending = r->held_len > 0;

	/* With splice both sides must be ready at once; source first, then destination, so that neither spins. */
	slots[0] = (struct pollfd){ .fd = pending || r->from_ready ? -1 : r->from, .events = POLLIN };
	slots[1] = (struct pollfd){ .fd = (pending || r->from_ready) && !r->to_gone ? r->to : -1, .events = POLLOUT };
}

static void ended(struct relay *r)
{
	fd_close(&r->from);
	r->from_ready = false;
}

/* EPIPE, EIO.  The writer must hear of it as without us, by SIGPIPE, or `| head -1` would never end it.  A terminal's
 * writer hears of it by SIGHUP; until then its output is thrown away, since a full terminal would stop it. */
static void reader_gone(struct relay *r)
{
	r->to_gone = true;
	r->held_len = 0;
	if (!isatty(r->from))
		ended(r);
}

static void flush_held(struct relay *r)
{
	ssize_t n = write(r->to, r->held + r->held_at, r->held_len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		reader_gone(r);
		return;
	}
	r->passed += (uint64_t)n;
	r->held_at += (unsigned int)n;
	r->held_len -= (unsigned int)n;
}

/* splice moves pages, not bytes.  False where the two ends do not allow it (EINVAL): a terminal, a file opened O_APPEND. */
static bool try_splice(struct relay *r, uint64_t *budget)
{
	size_t most = *budget < SPLICE_MAX ? (size_t)*budget : SPLICE_MAX;
	ssize_t n = splice(r->from, NULL, r->to, NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0 && errno == EINVAL) {
		r->splice = false;
		return false;
	}
	if (n == 0) {
		ended(r);
	} else if (n > 0) {
		r->seen += (uint64_t)n;
		r->passed += (uint64_t)n;
		if (*budget != UINT64_MAX)
			*budget -= (uint64_t)n;
	} else if (errno == EPIPE || errno == EIO) {
		reader_gone(r);
	} else if (errno != EAGAIN && errno != EINTR) {
		ended(r); /* not to be read, or not to be written: it will not get better */
	}
	r->from_ready = false; /* look again, whatever stopped it */
	return true;
}

/* Through the buffer, at most one PIPE_BUF: that much can be written to a pipe that poll called writable. */
static void read_held(struct relay *r, uint64_t *budget, bool *exceeded)
{
	ssize_t n = read(r->from, r->held, sizeof(r->held));
	unsigned int keep;

	r->from_ready = false;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* EIO is the end of a terminal whose other side is closed (tty_ioctl(4)) */
		ended(r);
		return;
	}
	r->seen += (uint64_t)n;
	keep = (uint64_t)n > *budget ? (unsigned int)*budget : (unsigned int)n;
	if (keep < (unsigned int)n)
		*exceeded = true;
	if (*budget != UINT64_MAX)
		*budget -= keep;
	r->held_at = 0;
	r->held_len = r->to_gone ? 0 : keep;
}

void relay_move(struct relay *r, const struct pollfd slots[2], uint64_t *budget, bool *exceeded)
{
	if (slots[0].fd >= 0 && slots[0].revents)
		r->from_ready = true;
	r->to_ready = slots[1].fd >= 0 && slots[1].revents;
	if (r->held_len > 0) {
		if (r->to_ready)
			flush_held(r);
		return;
	}
	if (r->from < 0 || !r->from_ready)
		return;
	if (r->to_gone || *budget == 0) {
		read_held(r, budget, exceeded);
		return;
	}
	if (!r->to_ready)
		return;
	if (!r->splice || !try_splice(r, budget))
		read_held(r, budget, exceeded);
}
