#include "util/title.h"

#include <string.h>
#include <sys/prctl.h>

static char *first;
static size_t length; /* up to the last argument's NUL, which is not ours to lose */

void title_remember(int argc, char **argv)
{
	first = NULL;
	for (int i = 0; i < argc; i++) {
		/* the kernel lays them out end to end (execve(2)); a caller inside a test may not */
		if (i > 0 && argv[i] != argv[i - 1] + strlen(argv[i - 1]) + 1)
			return;
	}
	if (argc > 0) {
		first = argv[0];
		length = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
	}
}

void title_replace(const char *name)
{
	size_t used = strlen(name) < length ? strlen(name) : length;

	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	if (!first)
		return;
	memcpy(first, name, used);
	memset(first + used, 0, length - used);
}
