/* The workload's environment: written, never inherited.
 *
 * In the sandbox it is a fixed short list.  In the process tier, which is for the caller's own trusted work, eight names
 * are taken over from the caller.  Everything else comes from --env, --secret and the policy file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolation/control.h"
#include "util/fd.h"

#define SECRET_MAX 65536
#define ENTRIES_MAX (BOUNDARY_ENV_MAX + 16)

static int put(struct confinement *c, size_t *count, const char *name, const char *value, struct error *err)
{
	size_t n = strlen(name);
	char *text = malloc(n + strlen(value) + 2);
	size_t i;

	if (!text)
		return error_set(err, ENOMEM, "no memory for the environment");
	(void)sprintf(text, "%s=%s", name, value);
	for (i = 0; i < *count; i++) { /* a later entry replaces an earlier one of its name */
		if (strncmp(c->envp[i], name, n) == 0 && c->envp[i][n] == '=')
			break;
	}
	if (i == *count && i + 1 >= ENTRIES_MAX) {
		free(text);
		return error_set(err, E2BIG, "more than %d environment entries", ENTRIES_MAX - 1);
	}
	if (i == *count)
		(*count)++;
	else
		free(c->envp[i]);
	c->envp[i] = text;
	return 0;
}

static int read_secret(const struct environment_entry *e, char *buf, size_t size, struct error *err)
{
	size_t used = 0;
	autofd opened = -1;
	int fd;

	if (e->source == SECRET_ENV) {
		const char *value = getenv(e->from);

		if (!value)
			return error_set(err, ENOENT, "--secret %s: the caller's environment has no %s", e->name,
					 e->from);
		if (strlen(value) >= size)
			return error_set(err, EFBIG, "--secret %s: longer than %zu bytes", e->name, size - 1);
		(void)snprintf(buf, size, "%s", value);
		return 0;
	}
	if (e->source == SECRET_FILE)
		opened = open(e->from, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	fd = e->source == SECRET_FILE ? opened : atoi(e->from);
	if (fd < 0)
		return error_errno(err, "--secret %s: open %s", e->name, e->from);
	for (;;) {
		ssize_t n = read(fd, buf + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, "--secret %s: read", e->name);
		if (n == 0)
			break;
		used += (size_t)n;
		if (used == size)
			return error_set(err, EFBIG, "--secret %s: longer than %zu bytes", e->name, size - 1);
	}
	if (used > 0 && buf[used - 1] == '\n') /* what every editor and echo adds */
		used--;
	buf[used] = '\0';
	if (memchr(buf, '\0', used))
		return error_set(err, EINVAL, "--secret %s: holds a NUL byte", e->name);
	return 0;
}

static int put_entry(struct confinement *c, size_t *count, const struct environment_entry *e, struct error *err)
{
	char secret[SECRET_MAX];
	int r;

	if (e->source == SECRET_NONE) {
		const char *value = e->value ? e->value : getenv(e->name);

		return value ? put(c, count, e->name, value, err) : 0; /* `--env NAME` of an unset name sets nothing */
	}
	r = read_secret(e, secret, sizeof(secret), err);
	if (r == 0)
		r = put(c, count, e->name, secret, err);
	explicit_bzero(secret, sizeof(secret));
	return r;
}

static int put_base(struct confinement *c, size_t *count, struct error *err)
{
	static const char *const taken_over[] = { "PATH",   "HOME",   "USER",	    "LANG",
						  "LC_ALL", "TMPDIR", "SYSTEMROOT", "TERM" };
	bool own_root = uses(c, MECH_MOUNTNS);
	int r = 0;

	if (c->boundary->tier == TIER_PROCESS) {
		for (size_t i = 0; r == 0 && i < sizeof(taken_over) / sizeof(taken_over[0]); i++) {
			const char *value = getenv(taken_over[i]);

			if (value)
				r = put(c, count, taken_over[i], value, err);
		}
		return r;
	}
	r = put(c, count, "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", err);
	if (r == 0)
		r = put(c, count, "HOME", own_root ? INNER_HOME : c->workspace.path, err);
	if (r == 0)
		r = put(c, count, "TMPDIR", own_root ? "/tmp" : c->workspace.path, err);
	if (r == 0)
		r = put(c, count, "USER", "user", err);
	if (r == 0)
		r = put(c, count, "LANG", "C.UTF-8", err);
	if (r == 0 && c->stdio.terminal && getenv("TERM"))
		r = put(c, count, "TERM", getenv("TERM"), err);
	return r;
}

int environment_make(struct confinement *c, struct error *err)
{
	const struct boundary *b = c->boundary;
	size_t count = 0;
	int r;

	environment_wipe(c);
	c->envp = calloc(ENTRIES_MAX, sizeof(*c->envp));
	if (!c->envp)
		return error_set(err, ENOMEM, "no memory for the environment");
	r = put_base(c, &count, err);
	for (size_t i = 0; r == 0 && i < b->env_count; i++)
		r = put_entry(c, &count, &b->env[i], err);
	return r;
}

void environment_wipe(struct confinement *c)
{
	for (size_t i = 0; c->envp && c->envp[i]; i++) {
		explicit_bzero(c->envp[i], strlen(c->envp[i]));
		free(c->envp[i]);
	}
	free(c->envp);
	c->envp = NULL;
}

/* What execve gets is this array and nothing else; that nothing else reaches the workload is shown by its exec'ed
 * process, which the tests and `prove` look at. */
void environment_observe(const struct observation *o, struct finding *out)
{
	size_t count = 0;

	while (o->c->envp && o->c->envp[count])
		count++;
	finding_set(out, FINDING_ENFORCED, 0, "%zu entries, all written for it", count);
}
