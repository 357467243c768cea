/* Three steps over one text: policy_marks.c notes where every value stands and refuses the odd corners of YAML;
 * libcyaml checks keys and types against the schema below; then each value goes through the same boundary_*() function
 * as the option of its name.  The keys env and secrets have names of the user's choosing inside, which a libcyaml
 * schema cannot say (it ignores them); they are taken from the marks. */
#include "policy/policy_parse.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_marks.h"
#include "util/fd.h"
#include "util/parse.h"

#define FRAMES_MAX 8   /* levels of the schema, with room */
#define NOTE_MAX 320   /* a key of policy_marks.c's KEY_MAX in libcyaml's words */
#define PERSON_MAX 200 /* "by" and "reason" are printed in the evidence, on one line */

typedef int (*setter)(struct boundary *b, const char *text, struct error *err);

static int set_bool(bool *out, const char *text, struct error *err)
{
	/* Not libcyaml's own type: that reads every word it does not know, "flase" too, as true. */
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return error_set(err, EINVAL, "want true or false");
	*out = strcmp(text, "true") == 0;
	return 0;
}

static int set_strict(struct boundary *b, const char *text, struct error *err)
{
	return set_bool(&b->strict, text, err);
}

static int set_die_with_parent(struct boundary *b, const char *text, struct error *err)
{
	return set_bool(&b->die_with_parent, text, err);
}

static int add_ro(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_RO, text, err);
}

static int add_rw(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_RW, text, err);
}

static int add_in(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_IN, text, err);
}

/* clang-format off */
/* key, member, function */
#define TEXT_KEYS(X)                                                 \
	X("tier", tier, boundary_set_tier)                           \
	X("tenant", tenant, boundary_set_tenant)                     \
	X("rootfs", rootfs, boundary_set_rootfs)                     \
	X("out", out, add_out)                                       \
	X("net", net, boundary_set_net)                              \
	X("memory", memory, boundary_set_memory)                     \
	X("cpus", cpus, boundary_set_cpus)                           \
	X("pids", pids, boundary_set_pids)                           \
	X("disk", disk, boundary_set_disk)                           \
	X("output-limit", output_limit, boundary_set_output_limit)   \
	X("timeout", timeout, boundary_set_timeout)                  \
	X("grace", grace, boundary_set_grace)                        \
	X("cpu-time", cpu_time, boundary_set_cpu_time)               \
	X("open-files", open_files, boundary_set_open_files)         \
	X("strict", strict, set_strict)                              \
	X("die-with-parent", die_with_parent, set_die_with_parent)
#define LIST_KEYS(X)                       \
	X("ro", ro, add_ro)                \
	X("rw", rw, add_rw)                \
	X("in", in, add_in)                \
	X("gpu", gpu, boundary_add_gpu)
/* clang-format on */

static int add_out(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_OUT, text, err);
}

struct waive_entry {
	const char *guarantee, *by, *date, *reason;
};

struct tenant_entry {
	const char *name, *trust;
};

/* The file as libcyaml fills it in. */
/* clang-format off */
struct document {
#define MEMBER(key, member, set) const char *member;
	TEXT_KEYS(MEMBER)
#undef MEMBER
#define MEMBER(key, member, set) \
	const char **member;     \
	unsigned int member##_count;
	LIST_KEYS(MEMBER)
#undef MEMBER
	struct waive_entry *waive;
	unsigned int waive_count;
	struct tenant_entry *tenants;
	unsigned int tenants_count;
};
/* clang-format on */

/* How long a text may be is the setters' business; the file's size bounds it. */
#define REQUIRED_TEXT(key, type, member) \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, type, member, 0, CYAML_UNLIMITED)

static const cyaml_schema_value_t text_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED),
};

static const cyaml_schema_field_t waive_fields[] = {
	REQUIRED_TEXT("guarantee", struct waive_entry, guarantee),
	REQUIRED_TEXT("by", struct waive_entry, by),
	REQUIRED_TEXT("date", struct waive_entry, date),
	REQUIRED_TEXT("reason", struct waive_entry, reason),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t waive_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct waive_entry, waive_fields),
};

static const cyaml_schema_field_t tenant_fields[] = {
	REQUIRED_TEXT("name", struct tenant_entry, name),
	REQUIRED_TEXT("trust", struct tenant_entry, trust),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t tenant_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct tenant_entry, tenant_fields),
};

/* clang-format off */
static const cyaml_schema_field_t document_fields[] = {
#define FIELD(key, member, set)                                                                                   \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct document, member, 0,         \
			       CYAML_UNLIMITED),
	TEXT_KEYS(FIELD)
#undef FIELD
#define FIELD(key, member, set)                                                                                   \
	CYAML_FIELD_SEQUENCE(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct document, member, &text_schema, \
			     0, CYAML_UNLIMITED),
	LIST_KEYS(FIELD)
#undef FIELD
	CYAML_FIELD_SEQUENCE("waive", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct document, waive,
			     &waive_schema, 0, CYAML_UNLIMITED),
	CYAML_FIELD_SEQUENCE("tenants", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct document, tenants,
			     &tenant_schema, 0, CYAML_UNLIMITED),
	CYAML_FIELD_IGNORE("env", CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_IGNORE("secrets", CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_END,
};
/* clang-format on */
static const cyaml_schema_value_t document_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct document, document_fields),
};

/* What libcyaml logged about a refusal: its reason, and its backtrace from the innermost level outwards. */
struct complaint {
	char reason[NOTE_MAX];
	struct frame {
		bool in_list;
		char key[40]; /* of the schema; empty between two keys of a mapping */
		size_t index;
		size_t line;
	} frames[FRAMES_MAX];
	size_t frame_count;
};

static void note_frame(struct complaint *c, const char *text)
{
	struct frame f = { 0 };

	if (c->frame_count == FRAMES_MAX)
		return;
	if (sscanf(text, "  in mapping field '%39[^']' (line: %zu", f.key, &f.line) == 2 ||
	    sscanf(text, "  in mapping (line: %zu", &f.line) == 1) {
		c->frames[c->frame_count++] = f;
	} else if (sscanf(text, "  in sequence entry '%zu' (line: %zu", &f.index, &f.line) == 2) {
		f.in_list = true;
		f.index -= f.index > 0; /* libcyaml counts the entry it is in */
		c->frames[c->frame_count++] = f;
	}
}

/* libcyaml 1.3.1 reports in this way only: lines "Load: REASON", "Load: Backtrace:", then one per level. */
__attribute__((format(printf, 3, 0))) static void note_log(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	static const char prefix[] = "Load: ";
	struct complaint *c = ctx;
	char text[NOTE_MAX];
	size_t len;

	if (level < CYAML_LOG_ERROR)
		return;
	(void)vsnprintf(text, sizeof(text), fmt, args);
	len = strlen(text);
	if (len && text[len - 1] == '\n')
		text[len - 1] = '\0';
	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		note_frame(c, text);
	else if (c->reason[0] == '\0' && strcmp(text, "Load: Backtrace:") != 0)
		memcpy(c->reason, text + sizeof(prefix) - 1, strlen(text) - (sizeof(prefix) - 1) + 1);
}

/* "waive[0].by" from the frames; `skip` leaves out that many of the innermost. */
static void frames_path(const struct complaint *c, size_t skip, char *path, size_t size)
{
	size_t used = 0;

	path[0] = '\0';
	for (size_t i = c->frame_count; i > skip && used < size; i--) {
		const struct frame *f = &c->frames[i - 1];
		int n;

		if (f->in_list)
			n = snprintf(path + used, size - used, "[%zu]", f->index);
		else
			n = snprintf(path + used, size - used, "%s%s", used ? "." : "", f->key);
		if (n > 0)
			used += (size_t)n;
	}
}

struct loader {
	const char *name;
	const struct marks *marks;
	struct boundary *boundary;
	struct policy *policy;
	struct error *err;
};

/* The line of a text, or that of the key of a list or mapping; `otherwise` if nothing stands at the path. */
static size_t line_of(const struct loader *l, const char *path, size_t otherwise)
{
	const struct mark *mark = marks_find(l->marks, path);

	if (!mark)
		return otherwise;
	return mark->value ? mark->line : mark->key_line;
}

/* "NAME:LINE: PATH: WHAT" */
static int refuse_value(const struct loader *l, const char *path, size_t line, const char *what)
{
	char buf[PARSE_QUOTE_MAX];

	return error_set(l->err, EINVAL, "%s:%zu: %s: %s", l->name, line_of(l, path, line), marks_path_text(path, buf),
			 what);
}

static int refuse_unknown_key(const struct loader *l, const struct complaint *c, const char *key)
{
	char path[NOTE_MAX * 2];
	size_t used;

	frames_path(c, 1, path, sizeof(path) / 2);
	used = strlen(path);
	(void)snprintf(path + used, sizeof(path) - used, "%s%.*s", used ? "." : "", NOTE_MAX - 2, key);
	return refuse_value(l, path, c->frame_count ? c->frames[0].line : 1, "unknown key");
}

static int refuse_missing_key(const struct loader *l, const struct complaint *c, const char *key)
{
	char path[NOTE_MAX];
	char what[NOTE_MAX];

	frames_path(c, 1, path, sizeof(path));
	(void)snprintf(what, sizeof(what), "lacks the key %.40s", key);
	return refuse_value(l, path, c->frame_count ? c->frames[0].line : 1, what);
}

static const char *after_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : NULL;
}

/* libcyaml: "Expecting SEQUENCE, got event: SCALAR" */
static int refuse_kind(const struct loader *l, const struct complaint *c, const char *expecting)
{
	const char *what = "is of the wrong kind";
	char path[NOTE_MAX];

	frames_path(c, 0, path, sizeof(path));
	if (after_prefix(expecting, "STRING"))
		what = "must be a text";
	else if (after_prefix(expecting, "SEQUENCE"))
		what = "must be a list";
	else if (after_prefix(expecting, "MAPPING"))
		what = "must be a mapping, KEY: VALUE";
	return refuse_value(l, path, c->frame_count ? c->frames[0].line : 1, what);
}

static int refuse_by_schema(const struct loader *l, const struct complaint *c, cyaml_err_t rc)
{
	const char *unknown = after_prefix(c->reason, "Unexpected key: ");
	const char *missing = after_prefix(c->reason, "Missing required mapping field: ");
	const char *expecting = after_prefix(c->reason, "Expecting ");
	char path[NOTE_MAX];

	if (rc == CYAML_ERR_OOM)
		return error_set(l->err, ENOMEM, "%s: out of memory", l->name);
	if (unknown)
		return refuse_unknown_key(l, c, unknown);
	if (missing)
		return refuse_missing_key(l, c, missing);
	if (expecting)
		return refuse_kind(l, c, expecting);
	frames_path(c, 0, path, sizeof(path));
	return refuse_value(l, path, c->frame_count ? c->frames[0].line : 1,
			    c->reason[0] ? c->reason : cyaml_strerror(rc));
}

/* What was read lives as long as the boundary, for its strings are borrowed. */
static int keep(const struct loader *l, const char *text, const char **out)
{
	char *copy = strdup(text);
	int rc = boundary_own(l->boundary, copy, l->err);

	if (rc == 0)
		*out = copy;
	return rc;
}

/* Wrap the error of a setter, which names neither file nor key. */
static int at_path(const struct loader *l, const char *path, int rc)
{
	char buf[PARSE_QUOTE_MAX];

	if (rc == 0)
		return 0;
	return error_wrap(l->err, "%s:%zu: %s", l->name, line_of(l, path, 1), marks_path_text(path, buf));
}

static int apply_text(const struct loader *l, const char *path, const char *text, setter set)
{
	int rc = keep(l, text, &text);

	if (rc == 0)
		rc = set(l->boundary, text, l->err);
	return at_path(l, path, rc);
}

static int apply_list(const struct loader *l, const char *key, const char **texts, size_t count, setter set)
{
	for (size_t i = 0; i < count; i++) {
		char path[64];
		int rc;

		(void)snprintf(path, sizeof(path), "%s[%zu]", key, i);
		rc = apply_text(l, path, texts[i], set);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int apply_settings(const struct loader *l, const struct document *doc)
{
	int rc = 0;

/* clang-format off */
#define APPLY(key, member, set)                                  \
	if (rc == 0 && doc->member)                              \
		rc = apply_text(l, key, doc->member, set);
	TEXT_KEYS(APPLY)
#undef APPLY
#define APPLY(key, member, set)                                  \
	if (rc == 0)                                             \
		rc = apply_list(l, key, doc->member, doc->member##_count, set);
	LIST_KEYS(APPLY)
#undef APPLY
	/* clang-format on */
	return rc;
}

/* One "NAME: VALUE" of a mapping, or one "NAME=VALUE" of a list, below the key `under`. */
static int apply_assignment(const struct loader *l, const char *under, const struct mark *mark, setter add)
{
	const char *name = mark->path + strlen(under) + 1;
	bool in_list = mark->path[strlen(under)] == '[';
	char *text;
	int rc;

	if (!mark->value)
		return refuse_value(l, mark->path, mark->line, "must be a text");
	if (in_list)
		return apply_text(l, mark->path, mark->value, add);
	if (strchr(name, '=')) /* "A=B: C" would set A */
		return refuse_value(l, mark->path, mark->line, "a name cannot hold '='");
	if (asprintf(&text, "%s=%s", name, mark->value) < 0)
		return error_set(l->err, ENOMEM, "%s: out of memory", l->name);
	rc = apply_text(l, mark->path, text, add);
	free(text);
	return rc;
}

static int apply_assignments(const struct loader *l, const char *under, setter add)
{
	size_t len = strlen(under);

	for (size_t i = 0; i < l->marks->count; i++) {
		const struct mark *mark = &l->marks->at[i];
		int rc = 0;

		if (strncmp(mark->path, under, len) != 0)
			continue;
		if (mark->depth == 1 && mark->path[len] == '\0' && mark->value)
			rc = refuse_value(l, mark->path, mark->line, "must be a mapping or a list");
		else if (mark->depth == 2 && (mark->path[len] == '[' || mark->path[len] == '.'))
			rc = apply_assignment(l, under, mark, add);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool is_leap_year(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* YYYY-MM-DD, a day that exists.  Not compared with today: the clock of a host may be wrong. */
static bool is_date(const char *text)
{
	static const int month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	static const char shape[] = "dddd-dd-dd";
	int year, month, day, last;

	for (size_t i = 0; i < sizeof(shape); i++) { /* the NUL too */
		bool fits = shape[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == shape[i];

		if (!fits)
			return false;
	}
	if (sscanf(text, "%4d-%2d-%2d", &year, &month, &day) != 3)
		return false;
	if (year < 1970 || month < 1 || month > 12)
		return false;
	last = month_days[month - 1] + (month == 2 && is_leap_year(year));
	return day >= 1 && day <= last;
}

/* The name or the reason: something, on one line, since both are printed in the evidence. */
static bool is_line(const char *text)
{
	bool seen = false;

	if (strlen(text) > PERSON_MAX)
		return false;
	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
		seen = seen || *p != ' ';
	}
	return seen;
}

static struct waiver *find_waiver(struct boundary *b, const char *guarantee)
{
	for (size_t i = 0; i < b->waiver_count; i++) {
		if (strcmp(guarantee_id(b->waivers[i].guarantee), guarantee) == 0)
			return &b->waivers[i];
	}
	return NULL;
}

static int apply_waiver(const struct loader *l, const struct waive_entry *entry, size_t index)
{
	char path[64];
	struct waiver *w;
	int rc;

#define PATH_OF(key) (snprintf(path, sizeof(path), "waive[%zu]." key, index) < 0 ? "waive" : path)
	if (!is_line(entry->by))
		return refuse_value(l, PATH_OF("by"), 1,
				    "must name who accepts the risk, on one line of at most 200 bytes");
	if (!is_date(entry->date))
		return refuse_value(l, PATH_OF("date"), 1, "must be a day, YYYY-MM-DD");
	if (!is_line(entry->reason))
		return refuse_value(l, PATH_OF("reason"), 1, "must say why, on one line of at most 200 bytes");
	if (find_waiver(l->boundary, entry->guarantee))
		return refuse_value(l, PATH_OF("guarantee"), 1, "is waived twice");
	rc = apply_text(l, PATH_OF("guarantee"), entry->guarantee, boundary_add_waiver);
#undef PATH_OF
	if (rc < 0)
		return rc;
	w = find_waiver(l->boundary, entry->guarantee);
	rc = keep(l, entry->by, &w->by);
	if (rc == 0)
		rc = keep(l, entry->date, &w->date);
	if (rc == 0)
		rc = keep(l, entry->reason, &w->reason);
	return rc;
}

static int apply_tenant(const struct loader *l, const struct tenant_entry *entry, size_t index)
{
	const char *own = l->boundary->tenant;
	char path[64];
	enum trust trust;
	int rc;

	/* The setter is the one place that knows what a tenant's name is; whose work this is stays as it was. */
	rc = boundary_set_tenant(l->boundary, entry->name, l->err);
	l->boundary->tenant = own;
	(void)snprintf(path, sizeof(path), "tenants[%zu].trust", index);
	if (rc == 0 && !trust_from_name(entry->trust, &trust))
		return refuse_value(l, path, 1, "must be trusted or untrusted");
	if (rc == 0)
		rc = trust_add(&l->policy->trust, entry->name, trust, l->err);
	(void)snprintf(path, sizeof(path), "tenants[%zu].name", index);
	return at_path(l, path, rc);
}

static int apply_document(const struct loader *l, const struct document *doc)
{
	int rc = apply_settings(l, doc);

	if (rc == 0)
		rc = apply_assignments(l, "env", boundary_add_env);
	if (rc == 0)
		rc = apply_assignments(l, "secrets", boundary_add_secret);
	for (size_t i = 0; rc == 0 && i < doc->waive_count; i++)
		rc = apply_waiver(l, &doc->waive[i], i);
	for (size_t i = 0; rc == 0 && i < doc->tenants_count; i++)
		rc = apply_tenant(l, &doc->tenants[i], i);
	return rc;
}

static int load_document(const struct loader *l, const char *text, size_t len)
{
	struct complaint complaint = { 0 };
	const cyaml_config_t config = {
		.log_fn = note_log,
		.log_ctx = &complaint,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	struct document *doc = NULL;
	cyaml_err_t cyaml_rc;
	int rc;

	cyaml_rc = cyaml_load_data((const uint8_t *)text, len, &config, &document_schema, (cyaml_data_t **)&doc, NULL);
	if (cyaml_rc != CYAML_OK)
		return refuse_by_schema(l, &complaint, cyaml_rc);
	if (!doc) {
		/* libcyaml allocates nothing when no key of its own was there, as with env alone. */
		static const struct document empty;

		return apply_document(l, &empty);
	}
	rc = apply_document(l, doc);
	(void)cyaml_free(&config, &document_schema, doc, 0); /* fails only for a bad schema, which loading refused */
	return rc;
}

int policy_load_text(const char *name, const char *text, size_t len, struct boundary *b, struct policy *out,
		     struct error *err)
{
	struct error local;
	struct marks marks = { 0 };
	struct loader l = { .name = name, .marks = &marks, .boundary = b, .policy = out, .err = err ? err : &local };
	int rc;

	*out = (struct policy){ 0 };
	if (len > POLICY_FILE_MAX)
		return error_set(err, EFBIG, "%s: longer than %d bytes", name, POLICY_FILE_MAX);
	rc = marks_read(&marks, name, text, len, l.err);
	if (rc < 0)
		return rc;
	if (marks.count) /* nothing but comments adds nothing */
		rc = load_document(&l, text, len);
	marks_done(&marks);
	return rc;
}

int policy_load(const char *path, struct boundary *b, struct policy *out, struct error *err)
{
	char *text = malloc(POLICY_FILE_MAX + 1);
	ssize_t len;
	int rc;

	if (!text)
		return error_set(err, ENOMEM, "%s: out of memory", path);
	len = fd_read_file_at(AT_FDCWD, path, text, POLICY_FILE_MAX + 1, err);
	if (len < 0 && err)
		(void)error_wrap(err, "--policy");
	rc = len < 0 ? (int)len : policy_load_text(path, text, (size_t)len, b, out, err);
	free(text);
	return rc;
}
