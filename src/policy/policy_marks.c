#include "policy/policy_marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define KEY_MAX 255 /* longer than any key or variable name of ours */

/* An open mapping or list. */
struct level {
	bool is_mapping;
	char *path; /* of this collection, "" for the document; owned */
	char *key;  /* mapping: the key whose value comes next, or NULL when a key comes next; owned */
	size_t key_line;
	size_t entries; /* list: entries so far */
};

struct reader {
	struct marks *marks;
	const char *name;
	struct error *err;
	struct level levels[MARKS_DEPTH_MAX];
	size_t depth;
	size_t documents;
};

static int refuse_at(struct reader *r, size_t line, const char *what)
{
	return error_set(r->err, EINVAL, "%s:%zu: %s", r->name, line, what);
}

static int refuse_path(struct reader *r, size_t line, const char *path, const char *what)
{
	char buf[PARSE_QUOTE_MAX];

	return error_set(r->err, EINVAL, "%s:%zu: %s: %s", r->name, line, marks_path_text(path, buf), what);
}

static int out_of_memory(struct reader *r)
{
	return error_set(r->err, ENOMEM, "%s: out of memory", r->name);
}

const char *marks_path_text(const char *path, char buf[PARSE_QUOTE_MAX])
{
	bool plain = strlen(path) < PARSE_QUOTE_MAX;

	if (path[0] == '\0')
		return "the document";
	for (const char *p = path; plain && *p; p++)
		plain = *p >= 0x20 && *p < 0x7f;
	return plain ? path : parse_quote(path, buf, PARSE_QUOTE_MAX);
}

void marks_done(struct marks *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->at[i].path);
		free(m->at[i].value);
	}
	free(m->at);
	*m = (struct marks){ 0 };
}

const struct mark *marks_find(const struct marks *m, const char *path)
{
	for (size_t i = 0; i < m->count; i++) {
		if (strcmp(m->at[i].path, path) == 0)
			return &m->at[i];
	}
	return NULL;
}

/* The path of the value that comes next; NULL without memory. */
static char *next_path(const struct level *level)
{
	char *path;
	int rc;

	if (!level->is_mapping)
		rc = asprintf(&path, "%s[%zu]", level->path, level->entries);
	else if (level->path[0] == '\0')
		rc = asprintf(&path, "%s", level->key);
	else
		rc = asprintf(&path, "%s.%s", level->path, level->key);
	return rc < 0 ? NULL : path;
}

static struct mark *append_mark(struct marks *m)
{
	if (m->count == m->room) {
		size_t room = m->room ? m->room * 2 : 32;
		struct mark *larger = reallocarray(m->at, room, sizeof(*larger));

		if (!larger)
			return NULL;
		m->at = larger;
		m->room = room;
	}
	m->at[m->count] = (struct mark){ 0 };
	return &m->at[m->count];
}

/* Note the value that begins here, unless it is the document itself, and step past it in its level. */
static int note_value(struct reader *r, size_t line, const char *scalar)
{
	struct level *level = &r->levels[r->depth - 1];
	struct mark *mark;

	if (r->marks->count == MARKS_MAX)
		return refuse_at(r, line, "the file has too many values");
	mark = append_mark(r->marks);
	if (!mark)
		return out_of_memory(r);
	mark->path = next_path(level);
	mark->value = scalar ? strdup(scalar) : NULL;
	mark->line = line;
	mark->key_line = level->is_mapping ? level->key_line : line;
	mark->depth = r->depth;
	if (!mark->path || (scalar && !mark->value)) {
		free(mark->path);
		free(mark->value);
		return out_of_memory(r);
	}
	if (level->is_mapping && marks_find(r->marks, mark->path)) {
		int rc = refuse_path(r, mark->key_line, mark->path, "is given twice");

		free(mark->path);
		free(mark->value);
		return rc;
	}
	r->marks->count++;
	free(level->key);
	level->key = NULL;
	level->entries++;
	return 0;
}

static int take_key(struct reader *r, const yaml_event_t *event, size_t line)
{
	struct level *level = &r->levels[r->depth - 1];

	if (event->data.scalar.length == 0 || event->data.scalar.length > KEY_MAX)
		return refuse_at(r, line, "a key is empty or too long");
	level->key = strdup((const char *)event->data.scalar.value);
	level->key_line = line;
	return level->key ? 0 : out_of_memory(r);
}

/* What YAML reads as null: it is never what one of our settings means. */
static bool is_null(const yaml_event_t *event)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

	if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++) {
		if (strcmp((const char *)event->data.scalar.value, nulls[i]) == 0)
			return true;
	}
	return false;
}

static int take_scalar(struct reader *r, const yaml_event_t *event, size_t line)
{
	const char *text = (const char *)event->data.scalar.value;
	struct level *level;
	int rc;

	if (strlen(text) != event->data.scalar.length)
		return refuse_at(r, line, "a text holds a NUL byte");
	if (r->depth == 0)
		return refuse_at(r, line, "the document must be a mapping, KEY: VALUE");
	level = &r->levels[r->depth - 1];
	if (level->is_mapping && !level->key)
		return take_key(r, event, line);
	if (is_null(event)) {
		char *path = next_path(level);

		rc = path ? refuse_path(r, line, path, "has no value; leave it out, or write \"\" for an empty text")
			  : out_of_memory(r);
		free(path);
		return rc;
	}
	return note_value(r, line, text);
}

static int open_level(struct reader *r, bool is_mapping, size_t line)
{
	struct level *parent = r->depth ? &r->levels[r->depth - 1] : NULL;
	struct level level = { .is_mapping = is_mapping };
	int rc = 0;

	if (!parent && !is_mapping)
		return refuse_at(r, line, "the document must be a mapping, KEY: VALUE");
	if (parent && parent->is_mapping && !parent->key)
		return refuse_at(r, line, "a key must be a plain text");
	if (r->depth == MARKS_DEPTH_MAX)
		return refuse_at(r, line, "the file is nested too deeply");
	level.path = parent ? next_path(parent) : strdup("");
	if (!level.path)
		return out_of_memory(r);
	if (parent)
		rc = note_value(r, line, NULL);
	if (rc < 0) {
		free(level.path);
		return rc;
	}
	r->levels[r->depth++] = level;
	return 0;
}

static void close_level(struct reader *r)
{
	struct level *level = &r->levels[--r->depth];

	free(level->path);
	free(level->key);
}

static bool has_anchor_or_tag(const yaml_event_t *event)
{
	switch ((int)event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor || event->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor || event->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor || event->data.mapping_start.tag;
	default:
		return false;
	}
}

static int take_event(struct reader *r, const yaml_event_t *event)
{
	size_t line = event->start_mark.line + 1;

	if (has_anchor_or_tag(event))
		return refuse_at(r, line, "anchors (&) and tags (!) are not accepted; put such a text in quotes");
	switch ((int)event->type) {
	case YAML_ALIAS_EVENT:
		return refuse_at(r, line, "aliases (*) are not accepted; put such a text in quotes");
	case YAML_DOCUMENT_START_EVENT:
		return r->documents++ ? refuse_at(r, line, "the file holds more than one document") : 0;
	case YAML_SCALAR_EVENT:
		return take_scalar(r, event, line);
	case YAML_SEQUENCE_START_EVENT:
		return open_level(r, false, line);
	case YAML_MAPPING_START_EVENT:
		return open_level(r, true, line);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		close_level(r);
		return 0;
	default:
		return 0;
	}
}

static size_t line_of_offset(const char *text, size_t len, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < len; i++)
		line += text[i] == '\n';
	return line;
}

/* libyaml marks a syntax error, but for bytes that are no text it knows only how far it came. */
static int refuse_syntax(struct reader *r, const yaml_parser_t *parser, const char *text, size_t len)
{
	size_t line = parser->problem_mark.line + 1;

	if (parser->error == YAML_MEMORY_ERROR)
		return out_of_memory(r);
	if (parser->error == YAML_READER_ERROR)
		line = line_of_offset(text, len, parser->problem_offset);
	return error_set(r->err, EINVAL, "%s:%zu: not YAML: %s", r->name, line,
			 parser->problem ? parser->problem : "cannot be read");
}

static int read_events(struct reader *r, yaml_parser_t *parser, const char *text, size_t len)
{
	bool end = false;
	int rc = 0;

	while (rc == 0 && !end) {
		yaml_event_t event;

		if (!yaml_parser_parse(parser, &event))
			return refuse_syntax(r, parser, text, len);
		rc = take_event(r, &event);
		end = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	return rc;
}

int marks_read(struct marks *out, const char *name, const char *text, size_t len, struct error *err)
{
	struct marks marks = { 0 };
	struct reader r = { .marks = &marks, .name = name, .err = err };
	yaml_parser_t parser;
	int rc;

	if (!yaml_parser_initialize(&parser))
		return out_of_memory(&r);
	yaml_parser_set_encoding(&parser,
				 YAML_UTF8_ENCODING); /* a guess from the first bytes could read it another way */
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	rc = read_events(&r, &parser, text, len);
	yaml_parser_delete(&parser);
	while (r.depth)
		close_level(&r);
	if (rc < 0) {
		marks_done(&marks);
		return rc;
	}
	*out = marks;
	return 0;
}
