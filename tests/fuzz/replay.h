/* main() of a fuzz target outside a fuzzing engine: replay the files named on the command line, and those of the
 * directories named there, as an ordinary test.  Built with -fsanitize=fuzzer, define FUZZ_ENGINE: it brings its own
 * main(). */
#ifndef BULKHEAD_TESTS_FUZZ_REPLAY_H
#define BULKHEAD_TESTS_FUZZ_REPLAY_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef FUZZ_ENGINE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY_MAX (1024 * 1024) /* beyond what any target takes */

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(REPLAY_MAX);
	size_t size = 0;
	int failed = !file || !data;

	if (!failed) {
		size = fread(data, 1, REPLAY_MAX, file);
		failed = ferror(file) || size == REPLAY_MAX;
	}
	if (!failed) {
		/* An exact block, so that a read past the end is seen. */
		uint8_t *exact = malloc(size ? size : 1);

		if (exact) {
			memcpy(exact, data, size);
			(void)LLVMFuzzerTestOneInput(exact, size);
		}
		failed = !exact;
		free(exact);
	}
	if (failed)
		fprintf(stderr, "cannot replay %s\n", path);
	if (file)
		fclose(file);
	free(data);
	return failed;
}

static int replay_directory(DIR *dir, const char *path, size_t *count)
{
	struct dirent *entry;
	int failed = 0;

	while ((entry = readdir(dir))) {
		char name[4096];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		failed |= replay_file(name);
		(*count)++;
	}
	return failed;
}

int main(int argc, char **argv)
{
	size_t count = 0;
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);

		if (dir) {
			failed |= replay_directory(dir, argv[i], &count);
			closedir(dir);
		} else {
			failed |= replay_file(argv[i]);
			count++;
		}
	}
	printf("replayed %zu seeds\n", count);
	return failed || count == 0; /* a test without seeds has tested nothing */
}
#endif

#endif
