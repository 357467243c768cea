/* Any text to every setter of a boundary: it is taken, or refused in one line; a second reading agrees with it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isolation/boundary.h"
#include "replay.h"
#include "util/parse.h"

typedef int (*setter)(struct boundary *b, const char *text, struct error *err);

static int add_ro(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_RO, text, err);
}

static int add_in(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_IN, text, err);
}

static int add_out(struct boundary *b, const char *text, struct error *err)
{
	return boundary_add_grant(b, GRANT_OUT, text, err);
}

static const setter setters[] = {
	boundary_set_tier,
	boundary_set_tenant,
	boundary_set_rootfs,
	boundary_set_net,
	boundary_add_env,
	boundary_add_secret,
	boundary_add_gpu,
	boundary_add_waiver,
	boundary_add_without,
	boundary_set_memory,
	boundary_set_cpus,
	boundary_set_pids,
	boundary_set_disk,
	boundary_set_output_limit,
	boundary_set_timeout,
	boundary_set_grace,
	boundary_set_cpu_time,
	boundary_set_open_files,
	add_ro,
	add_in,
	add_out,
};

static void check(int rc, const struct error *err)
{
	if (rc > 0 || (rc < 0 && (rc != -err->code || err->text[0] == '\0' || strchr(err->text, '\n'))))
		abort();
}

static void try_parsers(const char *text)
{
	static int (*const parsers[])(const char *text, uint64_t *out, struct error *err) = {
		parse_u64,
		parse_size,
		parse_duration_ms,
		parse_milli,
	};

	for (size_t i = 0; i < sizeof(parsers) / sizeof(parsers[0]); i++) {
		struct error err = { 0 };
		uint64_t value = 1234567;
		int rc = parsers[i](text, &value, &err);

		check(rc, &err);
		if (rc < 0 && value != 1234567)
			abort();
		if (rc == 0 && (text[0] < '0' || text[0] > '9'))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct boundary b;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	try_parsers(text);
	boundary_init(&b);
	for (size_t i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
		struct error err = { 0 };
		int first = setters[i](&b, text, &err);

		check(first, &err);
		if (setters[i](&b, text, NULL) != first)
			abort();
	}
	boundary_done(&b);
	free(text);
	return 0;
}
