#include "isolation/gpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/fd.h"
#include "util/parse.h"

#define GPUS_DIR "/proc/driver/nvidia/gpus"
#define MINOR_MAX 255

/* The value of a line "Key: <blanks> value". */
static bool value_of(const char *text, const char *key, char *out, size_t size)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		size_t len;

		line += *line == '\n';
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		line += n + 1;
		line += strspn(line, " \t");
		len = strcspn(line, " \t\n");
		if (len == 0 || len >= size)
			return false;
		memcpy(out, line, len);
		out[len] = '\0';
		return true;
	}
	return false;
}

bool gpu_information_is(const char *text, const char *uuid, unsigned int *out_minor)
{
	char value[80];
	uint64_t minor;

	if (!value_of(text, "GPU UUID", value, sizeof(value)) || strcasecmp(value, uuid) != 0)
		return false;
	if (!value_of(text, "Device Minor", value, sizeof(value)) || parse_u64(value, &minor, NULL) < 0 ||
	    minor > MINOR_MAX)
		return false;
	*out_minor = (unsigned int)minor;
	return true;
}

static int minor_of_uuid(const char *uuid, unsigned int *out_minor, struct error *err)
{
	DIR *dir = opendir(GPUS_DIR);
	const struct dirent *d;
	bool found = false;

	if (!dir)
		return error_set(err, errno, "no NVIDIA driver here: open %s: %s", GPUS_DIR, strerrordesc_np(errno));
	while (!found && (d = readdir(dir))) {
		char path[300], text[4096];

		if (d->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/information", d->d_name);
		found = fd_read_file_at(dirfd(dir), path, text, sizeof(text), NULL) > 0 &&
			gpu_information_is(text, uuid, out_minor);
	}
	(void)closedir(dir);
	return found ? 0 : error_set(err, ENODEV, "no GPU of that UUID in %s", GPUS_DIR);
}

int gpu_minor_of(const char *name, unsigned int *out_minor, struct error *err)
{
	uint64_t index;

	if (strncmp(name, "MIG-", 4) == 0)
		return error_set(err, EOPNOTSUPP, "this build takes whole GPUs, by index or by GPU- UUID");
	if (strncmp(name, "GPU-", 4) == 0)
		return minor_of_uuid(name, out_minor, err);
	if (parse_u64(name, &index, NULL) < 0 || index > MINOR_MAX)
		return error_set(err, EINVAL, "no index of a GPU");
	*out_minor = (unsigned int)index;
	return 0;
}
