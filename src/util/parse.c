#include "util/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FRACTION_DIGITS_MAX 9 /* 10^9 times any remainder below fits in 64 bits; nobody means more digits than that */

__extension__ typedef unsigned __int128 u128; /* gcc and clang have it on every 64-bit host that we build for */

struct decimal {
	uint64_t whole;
	uint64_t fraction; /* in units of 1 / fraction_scale, which is 1 when none was written */
	uint64_t fraction_scale;
};

struct unit {
	const char *name;
	uint64_t factor;
};

/* clang-format off */
static const struct unit size_units[] = {
	{ "", 1 },		 { "B", 1 },
	{ "K", 1ull << 10 },	 { "KB", 1ull << 10 },	  { "KiB", 1ull << 10 },
	{ "M", 1ull << 20 },	 { "MB", 1ull << 20 },	  { "MiB", 1ull << 20 },
	{ "G", 1ull << 30 },	 { "GB", 1ull << 30 },	  { "GiB", 1ull << 30 },
	{ "T", 1ull << 40 },	 { "TB", 1ull << 40 },	  { "TiB", 1ull << 40 },
	{ NULL, 0 },
};
#define SIZE_WANTED "want bytes, or a number with K, M, G or T (powers of 1024), like 512M or 1.5G"

static const struct unit duration_units[] = {
	{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 }, { "h", 60 * 60 * 1000 }, { NULL, 0 },
};
/* clang-format on */
#define DURATION_WANTED "want a number with ms, s, m or h, like 500ms, 90s or 1.5h; a bare number is seconds"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

const char *parse_quote(const char *text, char *buf, size_t size)
{
	static const char cut[] = "...'";
	size_t used = 0;

	buf[used++] = '\'';
	for (const char *p = text; *p; p++) {
		bool plain = *p >= 0x20 && *p < 0x7f && *p != '\\' && *p != '\'';
		char escaped[5];

		if (plain)
			(void)snprintf(escaped, sizeof(escaped), "%c", *p);
		else
			(void)snprintf(escaped, sizeof(escaped), "\\x%02x", (unsigned int)(unsigned char)*p);
		if (used + strlen(escaped) + sizeof(cut) > size) {
			memcpy(buf + used, cut, sizeof(cut));
			return buf;
		}
		memcpy(buf + used, escaped, strlen(escaped));
		used += strlen(escaped);
	}
	memcpy(buf + used, "'", 2);
	return buf;
}

static int invalid(const char *text, const char *wanted, struct error *err)
{
	char quoted[PARSE_QUOTE_MAX];

	return error_set(err, EINVAL, "%s is not valid: %s", parse_quote(text, quoted, sizeof(quoted)), wanted);
}

static int too_large(const char *text, struct error *err)
{
	char quoted[PARSE_QUOTE_MAX];

	return error_set(err, ERANGE, "%s is too large", parse_quote(text, quoted, sizeof(quoted)));
}

/* The digits at *p, which moves past them.  Not one digit is -EINVAL. */
static int read_digits(const char **p, uint64_t *out)
{
	uint64_t value = 0;

	if (!is_digit(**p))
		return -EINVAL;
	for (; is_digit(**p); (*p)++) {
		uint64_t digit = (uint64_t)(**p - '0');

		if (__builtin_mul_overflow(value, (uint64_t)10, &value) || __builtin_add_overflow(value, digit, &value))
			return -ERANGE;
	}
	*out = value;
	return 0;
}

/* "12" or "12.5" at *p; ".5" and "12." are not numbers here. */
static int read_decimal(const char **p, unsigned int fraction_digits_max, struct decimal *out)
{
	struct decimal d = { .fraction_scale = 1 };
	const char *fraction_start;
	int rc = read_digits(p, &d.whole);

	if (rc < 0)
		return rc;
	if (**p == '.') {
		fraction_start = ++*p;
		if (strspn(*p, "0123456789") > fraction_digits_max)
			return -EINVAL;
		rc = read_digits(p, &d.fraction);
		if (rc < 0)
			return rc;
		for (const char *digit = fraction_start; digit < *p; digit++)
			d.fraction_scale *= 10;
	}
	*out = d;
	return 0;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (const struct unit *u = units; u->name; u++) {
		if (strcasecmp(u->name, name) == 0)
			return u;
	}
	return NULL;
}

static int scale(const struct decimal *d, uint64_t factor, uint64_t *out)
{
	uint64_t scaled, part;

	if (__builtin_mul_overflow(d->whole, factor, &scaled))
		return -ERANGE;
	/* fraction < 10^9 and factor <= 2^40, so their product can pass 64 bits: use 128. */
	part = (uint64_t)((u128)d->fraction * factor / d->fraction_scale);
	if (__builtin_add_overflow(scaled, part, &scaled))
		return -ERANGE;
	/* 0.0001s must not become "at once", nor 0.0000001K nothing. */
	if (scaled == 0 && d->fraction)
		return -EINVAL;
	*out = scaled;
	return 0;
}

static int parse_with_units(const char *text, const struct unit *units, const char *wanted, uint64_t *out,
			    struct error *err)
{
	const char *p = text;
	const struct unit *unit;
	struct decimal d;
	int rc = read_decimal(&p, FRACTION_DIGITS_MAX, &d);

	if (rc == -ERANGE)
		return too_large(text, err);
	if (rc < 0)
		return invalid(text, wanted, err);
	unit = find_unit(units, p);
	if (!unit)
		return invalid(text, wanted, err);
	if (unit->factor == 1 && d.fraction_scale > 1) /* there is no half byte and no half millisecond */
		return invalid(text, wanted, err);
	rc = scale(&d, unit->factor, out);
	if (rc == -ERANGE)
		return too_large(text, err);
	return rc < 0 ? invalid(text, wanted, err) : 0;
}

int parse_u64(const char *text, uint64_t *out, struct error *err)
{
	const char *p = text;
	uint64_t value;
	int rc = read_digits(&p, &value);

	if (rc == -ERANGE)
		return too_large(text, err);
	if (rc < 0 || *p)
		return invalid(text, "want a whole number in decimal digits, like 64", err);
	*out = value;
	return 0;
}

int parse_size(const char *text, uint64_t *out_bytes, struct error *err)
{
	return parse_with_units(text, size_units, SIZE_WANTED, out_bytes, err);
}

int parse_duration_ms(const char *text, uint64_t *out_ms, struct error *err)
{
	return parse_with_units(text, duration_units, DURATION_WANTED, out_ms, err);
}

int parse_milli(const char *text, uint64_t *out_milli, struct error *err)
{
	const char *p = text;
	struct decimal d;
	int rc = read_decimal(&p, 3, &d);

	if (rc == 0 && *p)
		rc = -EINVAL;
	if (rc == 0)
		rc = scale(&d, 1000, out_milli);
	if (rc == -ERANGE)
		return too_large(text, err);
	return rc < 0 ? invalid(text, "want a number with at most three decimals, like 2 or 1.5", err) : 0;
}
