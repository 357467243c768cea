/* Relays: bytes from one descriptor to another, counted and bounded, without ever blocking the caller.
 *
 * A relay owns neither descriptor's flags: the destination is often the caller's own stdout, shared with other programs,
 * so O_NONBLOCK is never set on it; poll(2) says when one PIPE_BUF may be written without waiting. */
#ifndef BULKHEAD_LAUNCH_RELAY_H
#define BULKHEAD_LAUNCH_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct relay {
	int from;     /* owned; -1 once its end was seen */
	int to;	      /* lent */
	bool splice;  /* splice(2) works between the two; found out by trying */
	bool to_gone; /* the reader has gone: the rest is read and thrown away */
	bool from_ready, to_ready;
	uint64_t seen;	 /* bytes that came */
	uint64_t passed; /* bytes that went on */
	char held[4096]; /* read and not yet written */
	unsigned int held_at, held_len;
};

void relay_init(struct relay *r, int take_from, int to);
void relay_done(struct relay *r);
static inline bool relay_ended(const struct relay *r)
{
	return r->from < 0 && r->held_len == 0;
}

/* What to wait for, in two slots (fd -1 where nothing). */
void relay_poll(const struct relay *r, struct pollfd slots[2]);

/* Move what can be moved.  *budget is the output that may still pass, shared between relays; when it is used up and more
 * comes, *exceeded is set and the rest is counted, not passed. */
void relay_move(struct relay *r, const struct pollfd slots[2], uint64_t *budget, bool *exceeded);

#endif
