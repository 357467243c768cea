#include "launch/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

static int outer_terminal(void)
{
	for (int i = 0; i < 3; i++) {
		if (isatty(i))
			return i;
	}
	return -1;
}

void terminal_plan(struct stdio_plan *plan)
{
	struct winsize size;
	int outer = outer_terminal();

	plan->terminal = outer >= 0;
	if (outer < 0)
		return;
	for (int i = 0; i < 3; i++) {
		if (isatty(i))
			plan->fd[i] = STDIO_TERMINAL;
	}
	if (ioctl(outer, TIOCGWINSZ, &size) == 0) {
		plan->rows = size.ws_row;
		plan->columns = size.ws_col;
	}
}

void terminal_start(struct terminal *t, int master)
{
	struct termios inner;

	t->outer = outer_terminal();
	t->master = master;
	/* Output alone goes to the caller's terminal, which stays as it is and adds its own carriage returns. */
	if (!isatty(0) && tcgetattr(master, &inner) == 0) {
		inner.c_oflag &= ~(tcflag_t)OPOST;
		(void)tcsetattr(master, TCSANOW, &inner);
	}
	/* Start with the settings that the caller's terminal has: erase character, UTF-8, flow control. */
	if (isatty(0) && tcgetattr(t->outer, &inner) == 0)
		(void)tcsetattr(master, TCSANOW, &inner);
	terminal_raw(t);
}

void terminal_raw(struct terminal *t)
{
	struct termios raw;

	if (t->outer < 0 || t->raw || !isatty(0) || tcgetattr(t->outer, &t->saved) < 0)
		return;
	raw = t->saved;
	cfmakeraw(&raw);
	t->raw = tcsetattr(t->outer, TCSADRAIN, &raw) == 0;
}

void terminal_restore(struct terminal *t)
{
	if (t->raw)
		(void)tcsetattr(t->outer, TCSADRAIN, &t->saved);
	t->raw = false;
}

void terminal_resize(const struct terminal *t)
{
	struct winsize size;

	if (t->outer >= 0 && t->master >= 0 && ioctl(t->outer, TIOCGWINSZ, &size) == 0)
		(void)ioctl(t->master, TIOCSWINSZ, &size);
}
