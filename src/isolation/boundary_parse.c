/* Text to boundary: the one place where an option of the command line or a value of a policy file gets its meaning.
 * Nothing is opened or looked up here; a path is only checked for what no path can be.  Each function either takes the
 * whole text or leaves the boundary as it was. */
#include "isolation/boundary.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/parse.h"

#define TENANT_MAX 63
#define SECRET_FD_MIN 3	   /* 0 to 2 are the workload's streams */
#define SECRET_FD_MAX 1023 /* the usual soft limit of open descriptors */
#define GPU_INDEX_MAX 1023

static int refuse(struct error *err, const char *text, const char *why)
{
	char quoted[PARSE_QUOTE_MAX];

	return error_set(err, EINVAL, "%s %s", parse_quote(text, quoted, sizeof(quoted)), why);
}

/* "TEXT is not a WHAT; one of a, b, c" */
static int refuse_listing(struct error *err, const char *text, const char *what, const char *(*name)(size_t i),
			  size_t count)
{
	char list[ERROR_TEXT_MAX] = "";
	char quoted[PARSE_QUOTE_MAX];
	size_t used = 0;

	for (size_t i = 0; i < count && used < sizeof(list); i++) {
		int n = snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", name(i));

		if (n < 0)
			break;
		used += (size_t)n;
	}
	return error_set(err, EINVAL, "%s is not a %s; one of %s", parse_quote(text, quoted, sizeof(quoted)), what,
			 list);
}

static const char *tier_at(size_t i)
{
	return tier_name((enum tier)i);
}

static const char *net_at(size_t i)
{
	return net_grant_name((enum net_grant)i);
}

static const char *guarantee_at(size_t i)
{
	return guarantee_id((enum guarantee)i);
}

static const char *mechanism_at(size_t i)
{
	return mechanism_name((enum mechanism)i);
}

int boundary_set_tier(struct boundary *b, const char *text, struct error *err)
{
	if (!tier_from_name(text, &b->tier))
		return refuse_listing(err, text, "tier", tier_at, TIER_COUNT);
	return 0;
}

int boundary_set_net(struct boundary *b, const char *text, struct error *err)
{
	for (int n = 0; n < NET_GRANT_COUNT; n++) {
		if (strcmp(text, net_grant_name((enum net_grant)n)) == 0) {
			b->net = (enum net_grant)n;
			return 0;
		}
	}
	return refuse_listing(err, text, "network grant", net_at, NET_GRANT_COUNT);
}

/* isalnum() and its kin follow the locale; names here do not. */
static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int boundary_set_tenant(struct boundary *b, const char *text, struct error *err)
{
	size_t len = strlen(text);
	bool good = len >= 1 && len <= TENANT_MAX && is_lower_or_digit(text[0]);

	for (size_t i = 1; good && i < len; i++)
		good = is_lower_or_digit(text[i]) || text[i] == '-';
	if (!good)
		return refuse(err, text, "is not a tenant name: 1 to 63 of a-z, 0-9 and -, not starting with -");
	b->tenant = text;
	return 0;
}

static int check_path(const char *text, struct error *err)
{
	if (text[0] == '\0')
		return error_set(err, EINVAL, "the path is empty");
	if (strlen(text) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "the path is longer than %d bytes", PATH_MAX - 1);
	return 0;
}

int boundary_set_rootfs(struct boundary *b, const char *text, struct error *err)
{
	int rc = check_path(text, err);

	if (rc < 0)
		return rc;
	b->rootfs = text;
	return 0;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --in puts a file into the workspace under its last name, so that name must be one, and free there. */
static int check_in(const struct boundary *b, const char *text, struct error *err)
{
	const char *name = last_name(text);

	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return refuse(err, text, "does not end in a file name");
	for (size_t i = 0; i < b->grant_count; i++) {
		const struct grant *g = &b->grants[i];

		if (g->kind == GRANT_IN && strcmp(g->path, text) != 0 && strcmp(last_name(g->path), name) == 0)
			return refuse(err, text, "has the same last name as another input; both would be one file");
		if (g->kind == GRANT_OUT && strcmp(name, "out") == 0)
			return refuse(err, text, "would take the place of the output directory 'out'");
	}
	return 0;
}

static int check_out(const struct boundary *b, struct error *err)
{
	for (size_t i = 0; i < b->grant_count; i++) {
		const struct grant *g = &b->grants[i];

		if (g->kind == GRANT_IN && strcmp(last_name(g->path), "out") == 0)
			return refuse(err, g->path, "is an input named 'out', the place of the output directory");
	}
	return 0;
}

/* The grant that the new one takes the place of: the one output directory; the same path, read-only or writable, so
 * that the command line can change what a policy file said; the same input once more. */
static struct grant *grant_replaced(struct boundary *b, enum grant_kind kind, const char *path)
{
	bool in_place = kind == GRANT_RO || kind == GRANT_RW;

	for (size_t i = 0; i < b->grant_count; i++) {
		struct grant *g = &b->grants[i];
		bool g_in_place = g->kind == GRANT_RO || g->kind == GRANT_RW;

		if (kind == GRANT_OUT && g->kind == GRANT_OUT)
			return g;
		if ((kind == g->kind || (in_place && g_in_place)) && strcmp(g->path, path) == 0)
			return g;
	}
	return NULL;
}

int boundary_add_grant(struct boundary *b, enum grant_kind kind, const char *text, struct error *err)
{
	struct grant *g;
	int rc = check_path(text, err);

	if (rc == 0 && kind == GRANT_IN)
		rc = check_in(b, text, err);
	if (rc == 0 && kind == GRANT_OUT)
		rc = check_out(b, err);
	if (rc < 0)
		return rc;
	g = grant_replaced(b, kind, text);
	if (!g) {
		if (b->grant_count == BOUNDARY_GRANTS_MAX)
			return error_set(err, E2BIG, "more than %d paths are granted", BOUNDARY_GRANTS_MAX);
		g = &b->grants[b->grant_count++];
	}
	*g = (struct grant){ .kind = kind, .path = text };
	return 0;
}

static bool is_env_name(const char *name)
{
	if (!isascii((unsigned char)name[0]) || !(isalpha((unsigned char)name[0]) || name[0] == '_'))
		return false;
	for (const char *p = name + 1; *p; p++) {
		if (!isascii((unsigned char)*p) || !(isalnum((unsigned char)*p) || *p == '_'))
			return false;
	}
	return true;
}

/* A copy of text, owned by the boundary, cut in two at its first '='. *out_value is NULL where there is none. */
static int split_assignment(struct boundary *b, const char *text, const char **out_name, const char **out_value,
			    struct error *err)
{
	char *copy;
	char *equals;
	int rc;

	copy = strdup(text);
	if (!copy)
		return error_set(err, ENOMEM, "out of memory");
	equals = strchr(copy, '=');
	if (equals)
		*equals = '\0';
	if (!is_env_name(copy)) {
		/* The name alone is repeated: the value may be a secret that somebody passed the wrong way. */
		rc = refuse(err, copy, "is not a variable's name: letters, digits and _, not starting with a digit");
		free(copy);
		return rc;
	}
	rc = boundary_own(b, copy, err);
	if (rc < 0)
		return rc;
	*out_name = copy;
	*out_value = equals ? equals + 1 : NULL;
	return 0;
}

static int put_env(struct boundary *b, const struct environment_entry *entry, struct error *err)
{
	for (size_t i = 0; i < b->env_count; i++) {
		struct environment_entry *e = &b->env[i];

		if (strcmp(e->name, entry->name) != 0)
			continue;
		if ((e->source == SECRET_NONE) != (entry->source == SECRET_NONE))
			return refuse(err, entry->name, "is both a plain variable and a secret");
		*e = *entry;
		return 0;
	}
	if (b->env_count == BOUNDARY_ENV_MAX)
		return error_set(err, E2BIG, "more than %d variables and secrets", BOUNDARY_ENV_MAX);
	b->env[b->env_count++] = *entry;
	return 0;
}

int boundary_add_env(struct boundary *b, const char *text, struct error *err)
{
	struct environment_entry entry = { .source = SECRET_NONE };
	int rc = split_assignment(b, text, &entry.name, &entry.value, err);

	return rc < 0 ? rc : put_env(b, &entry, err);
}

static bool is_secret_fd(const char *text)
{
	uint64_t fd;

	return parse_u64(text, &fd, NULL) == 0 && fd >= SECRET_FD_MIN && fd <= SECRET_FD_MAX;
}

static int set_secret_source(struct environment_entry *entry, const char *source, struct error *err)
{
	if (strncmp(source, "env:", 4) == 0) {
		entry->source = SECRET_ENV;
		entry->from = source + 4;
		if (!is_env_name(entry->from))
			return error_set(err, EINVAL, "the secret's source names no variable after 'env:'");
	} else if (strncmp(source, "file:", 5) == 0) {
		entry->source = SECRET_FILE;
		entry->from = source + 5;
		return check_path(entry->from, err);
	} else if (strncmp(source, "fd:", 3) == 0) {
		entry->source = SECRET_FD;
		entry->from = source + 3;
		if (!is_secret_fd(entry->from))
			return error_set(err, EINVAL, "the secret's descriptor must be fd:%d to fd:%d", SECRET_FD_MIN,
					 SECRET_FD_MAX);
	} else {
		/* The text is not repeated: it may well be the secret itself. */
		return error_set(err, EINVAL, "the secret's source must be env:VARIABLE, file:PATH or fd:NUMBER");
	}
	return 0;
}

int boundary_add_secret(struct boundary *b, const char *text, struct error *err)
{
	struct environment_entry entry = { .source = SECRET_NONE };
	const char *equals = strchr(text, '=');
	const char *source;
	int rc;

	if (!equals)
		return error_set(err, EINVAL, "a secret is NAME=env:VARIABLE, NAME=file:PATH or NAME=fd:NUMBER");
	rc = set_secret_source(&entry, equals + 1, err);
	if (rc < 0)
		return rc;
	rc = split_assignment(b, text, &entry.name, &source, err);
	if (rc < 0)
		return rc;
	(void)set_secret_source(&entry, source, NULL); /* the same text again, now in the copy that is kept */
	return put_env(b, &entry, err);
}

/* 8-4-4-4-12 hexadecimal digits */
static bool is_uuid(const char *text)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(text) != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; shape[i]; i++) {
		bool fits = shape[i] == '-' ? text[i] == '-' : strchr("0123456789abcdefABCDEF", text[i]) != NULL;

		if (!fits)
			return false;
	}
	return true;
}

static bool is_gpu(const char *text)
{
	uint64_t index;

	if (strncmp(text, "GPU-", 4) == 0 || strncmp(text, "MIG-", 4) == 0)
		return is_uuid(text + 4);
	/* "00" would be a second name of GPU 0 and be granted twice. */
	if (text[0] == '0' && text[1] != '\0')
		return false;
	return parse_u64(text, &index, NULL) == 0 && index <= GPU_INDEX_MAX;
}

int boundary_add_gpu(struct boundary *b, const char *text, struct error *err)
{
	if (!is_gpu(text))
		return refuse(err, text, "is not a GPU: its index, or GPU-UUID or MIG-UUID as nvidia-smi -L prints it");
	for (size_t i = 0; i < b->gpu_count; i++) {
		if (strcasecmp(b->gpus[i], text) == 0)
			return 0;
	}
	if (b->gpu_count == BOUNDARY_GPUS_MAX)
		return error_set(err, E2BIG, "more than %d GPUs are granted", BOUNDARY_GPUS_MAX);
	b->gpus[b->gpu_count++] = text;
	return 0;
}

int boundary_add_waiver(struct boundary *b, const char *text, struct error *err)
{
	enum guarantee g;

	if (!guarantee_from_id(text, &g))
		return refuse_listing(err, text, "guarantee", guarantee_at, GUARANTEE_COUNT);
	/* One that the policy file holds with name and reason stays as it is: it says more. */
	if (!boundary_waives(b, g))
		b->waivers[b->waiver_count++] = (struct waiver){ .guarantee = g };
	return 0;
}

int boundary_add_without(struct boundary *b, const char *text, struct error *err)
{
	enum mechanism m;

	if (!mechanism_from_name(text, &m))
		return refuse_listing(err, text, "mechanism", mechanism_at, MECH_COUNT);
	b->without |= MECH_BIT(m);
	return 0;
}

/* How one limit is read: its unit's parser, and the bounds outside which the value cannot be meant. */
struct limit_rule {
	int (*parse)(const char *text, uint64_t *out, struct error *err);
	uint64_t min, max;
	const char *min_text, *max_text;
	bool may_be_none;
};

static int set_limit(uint64_t *limit, const struct limit_rule *rule, const char *text, struct error *err)
{
	char quoted[PARSE_QUOTE_MAX];
	uint64_t value;
	int rc;

	if (strcmp(text, "none") == 0) {
		if (!rule->may_be_none)
			return error_set(err, EINVAL, "this limit cannot be 'none'; at most %s", rule->max_text);
		*limit = LIMIT_NONE;
		return 0;
	}
	rc = rule->parse(text, &value, err);
	if (rc < 0)
		return rc;
	if (value < rule->min)
		return error_set(err, ERANGE, "%s is too small: at least %s%s",
				 parse_quote(text, quoted, sizeof(quoted)), rule->min_text,
				 rule->may_be_none ? ", or none" : "");
	if (value > rule->max)
		return error_set(err, ERANGE, "%s is too large: at most %s%s",
				 parse_quote(text, quoted, sizeof(quoted)), rule->max_text,
				 rule->may_be_none ? ", or none" : "");
	*limit = value;
	return 0;
}

#define MS_PER_HOUR (60ull * 60 * 1000)
/* A PiB and ten years are beyond any host, and far below where sums in bytes or nanoseconds could overflow. */
#define BYTES_MAX (1ull << 50)
#define BYTES_MAX_TEXT "1024T"
#define DURATION_MAX (10 * 365 * 24 * MS_PER_HOUR)
#define DURATION_MAX_TEXT "87600h"

int boundary_set_memory(struct boundary *b, const char *text, struct error *err)
{
	static const struct limit_rule rule = { parse_size, 1ull << 20, BYTES_MAX, "1M", BYTES_MAX_TEXT, true };

	return set_limit(&b->limits.memory_bytes, &rule, text, err);
}

int boundary_set_cpus(struct boundary *b, const char *text, struct error *err)
{
	static const struct limit_rule rule = { parse_milli, 10, 1024 * 1000, "0.01", "1024", true };

	return set_limit(&b->limits.cpu_milli, &rule, text, err);
}

int boundary_set_pids(struct boundary *b, const char *text, struct error *err)
{
	/* 4194304 is PID_MAX_LIMIT of 64-bit Linux (proc(5), pid_max). */
	static const struct limit_rule rule = { parse_u64, 1, 4194304, "1", "4194304", true };

	return set_limit(&b->limits.pids, &rule, text, err);
}

int boundary_set_disk(struct boundary *b, const char *text, struct error *err)
{
	static const struct limit_rule rule = { parse_size, 64ull << 10, BYTES_MAX, "64K", BYTES_MAX_TEXT, true };

	return set_limit(&b->limits.disk_bytes, &rule, text, err);
}

int boundary_set_output_limit(struct boundary *b, const char *text, struct error *err)
{
	/* 0 is of use: the workload must not print at all. */
	static const struct limit_rule rule = { parse_size, 0, BYTES_MAX, "0", BYTES_MAX_TEXT, true };

	return set_limit(&b->limits.output_bytes, &rule, text, err);
}

int boundary_set_timeout(struct boundary *b, const char *text, struct error *err)
{
	static const struct limit_rule rule = { parse_duration_ms, 1, DURATION_MAX, "1ms", DURATION_MAX_TEXT, true };

	return set_limit(&b->limits.timeout_ms, &rule, text, err);
}

int boundary_set_grace(struct boundary *b, const char *text, struct error *err)
{
	/* Without an end to the grace a workload that ignores SIGTERM would outlive its timeout; 0 kills at once. */
	static const struct limit_rule rule = { parse_duration_ms, 0, MS_PER_HOUR, "0", "1h", false };

	return set_limit(&b->limits.grace_ms, &rule, text, err);
}

int boundary_set_cpu_time(struct boundary *b, const char *text, struct error *err)
{
	static const struct limit_rule rule = { parse_duration_ms, 1, DURATION_MAX, "1ms", DURATION_MAX_TEXT, true };

	return set_limit(&b->limits.cpu_time_ms, &rule, text, err);
}

int boundary_set_open_files(struct boundary *b, const char *text, struct error *err)
{
	/* 1048576 is the kernel's default fs.nr_open; below 8 not even a dynamic linker works. */
	static const struct limit_rule rule = { parse_u64, 8, 1048576, "8", "1048576", true };

	return set_limit(&b->limits.open_files, &rule, text, err);
}
