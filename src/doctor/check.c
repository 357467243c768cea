#include "doctor/check.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/fd.h"

/* In the order in which they explain one another. */
const struct host_check host_checks[] = {
	{ "user-namespaces", check_user_namespaces },
	{ "apparmor", check_apparmor },
	{ "own-seccomp", check_own_seccomp },
	{ "masked-proc", check_masked_proc },
	{ "cgroup", check_cgroup },
	{ "cgroup-favordynmods", check_dynmods },
	{ "swap", check_swap },
	{ "landlock", check_landlock },
	{ "yama", check_yama },
	{ "legacy-tiocsti", check_tiocsti },
	{ "core-pattern", check_core },
	{ "subuid", check_subuid },
	{ "workdir", check_workdir },
	{ "idmapped-mounts", check_idmap },
	{ "kvm", check_kvm },
	{ "gpu", check_gpu },
};
const size_t host_check_count = sizeof(host_checks) / sizeof(host_checks[0]);

static const char *const state_names[] = { [CHECK_OK] = "ok", [CHECK_NOTE] = "note", [CHECK_MISSING] = "missing" };
static_assert(sizeof(state_names) / sizeof(state_names[0]) == CHECK_STATE_COUNT, "a name per state");

const char *check_state_name(enum check_state s)
{
	return state_names[s];
}

void check_set(struct check *c, enum check_state state, const char *fmt, ...)
{
	va_list ap;

	c->state = state;
	va_start(ap, fmt);
	(void)vsnprintf(c->seen, sizeof(c->seen), fmt, ap); /* a long text is cut: it is for people */
	va_end(ap);
}

void check_remedy(struct check *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(c->remedy, sizeof(c->remedy), fmt, ap);
	va_end(ap);
}

char *check_read(const char *path)
{
	for (size_t size = 8192; size <= (8u << 20); size *= 8) {
		char *text = malloc(size);
		struct error err = { 0 };

		if (!text || fd_read_file_at(AT_FDCWD, path, text, size, &err) >= 0)
			return text;
		free(text);
		errno = err.code;
		if (err.code != EFBIG)
			return NULL;
	}
	return NULL;
}

long check_number(const char *path)
{
	char text[64];

	return fd_read_file_at(AT_FDCWD, path, text, sizeof(text), NULL) < 0 ? -1 : strtol(text, NULL, 10);
}
