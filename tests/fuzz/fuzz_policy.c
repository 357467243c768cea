/* Any bytes as a policy file: it is taken, or refused in one line that names the file and a line of it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_parse.h"
#include "replay.h"

static bool names_a_line(const char *text)
{
	unsigned long line;

	return sscanf(text, "p:%lu: ", &line) == 1 && line >= 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct boundary b;
	static struct policy p;
	struct error err = { 0 };
	int rc;

	boundary_init(&b);
	rc = policy_load_text("p", (const char *)data, size, &b, &p, &err);
	if (rc < 0) {
		if (rc != -err.code || strchr(err.text, '\n'))
			abort();
		if (size <= POLICY_FILE_MAX && !names_a_line(err.text))
			abort();
	}
	boundary_done(&b);
	return 0;
}
