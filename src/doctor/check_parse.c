#include "doctor/check_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool check_parse_status(const char *status, const char *key, unsigned long *out)
{
	size_t n = strlen(key);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		line += n + 1 + strspn(line + n + 1, "\t ");
		if (*line < '0' || *line > '9')
			return false;
		*out = strtoul(line, NULL, 10);
		return true;
	}
	return false;
}

/* Copy the index-th space-separated field of the line; false when there is none or it does not fit. */
static bool field_of(const char *line, unsigned int index, char *out, size_t size)
{
	size_t len;

	for (; index > 0; index--) {
		line += strcspn(line, " \n");
		if (*line != ' ')
			return false;
		line++;
	}
	len = strcspn(line, " \n");
	if (len == 0 || len >= size)
		return false;
	memcpy(out, line, len);
	out[len] = '\0';
	return true;
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

/* Directories that the kernel makes to be mounted on: they are empty for ever, so a mount there covers nothing, and the
 * kernel says so too (mount_too_revealing(); proc_create_mount_point()). */
static bool covers_nothing(const char *point)
{
	static const char *const empty[] = { "/proc/sys/fs/binfmt_misc", "/proc/fs/nfsd", "/proc/xen",
					     "/proc/openprom" };

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		if (strcmp(point, empty[i]) == 0)
			return true;
	}
	return false;
}

unsigned int check_parse_proc_masks(const char *mountinfo, char *words, size_t size)
{
	unsigned int count = 0;
	size_t used = 0;

	words[0] = '\0';
	for (const char *line = mountinfo; line && *line; line = next_line(line)) {
		char point[512];

		if (!field_of(line, 4, point, sizeof(point)) || strncmp(point, "/proc/", 6) != 0 ||
		    covers_nothing(point))
			continue;
		count++;
		if (count <= 4 && used < size)
			used += (size_t)snprintf(words + used, size - used, "%s%s", used ? ", " : "", point);
	}
	if (count > 4 && used < size)
		(void)snprintf(words + used, size - used, " and %u more", count - 4);
	return count;
}

static bool options_have(const char *list, const char *option)
{
	size_t n = strlen(option);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, option, n) == 0 && (at[n] == ',' || at[n] == '\0'))
			return true;
	}
	return false;
}

bool check_parse_mount_option(const char *mountinfo, const char *type, const char *option, bool *out_seen)
{
	bool found = false;

	*out_seen = false;
	for (const char *line = mountinfo; line && *line; line = next_line(line)) {
		const char *tail = strstr(line, " - "), *end = line + strcspn(line, "\n");
		char fs[64], options[1024];

		if (!tail || tail > end || !field_of(tail + 3, 0, fs, sizeof(fs)) || strcmp(fs, type) != 0)
			continue;
		*out_seen = true;
		if (field_of(tail + 3, 2, options, sizeof(options)) && options_have(options, option))
			found = true;
	}
	return found;
}

uint64_t check_parse_swap_kib(const char *swaps)
{
	uint64_t total = 0;

	/* The first line is the heading.  NAME TYPE SIZE USED PRIORITY, blanks between (proc_swaps(5)). */
	for (const char *line = next_line(swaps); line && *line; line = next_line(line)) {
		unsigned long long kib;

		if (sscanf(line, "%*s %*s %llu", &kib) == 1)
			total += kib;
	}
	return total;
}

bool check_parse_subid_overlap(const char *subid, uint32_t first, uint32_t count, char *out, size_t size)
{
	for (const char *line = subid; line && *line; line = next_line(line)) {
		const char *colon = memchr(line, ':', strcspn(line, "\n"));
		unsigned long long start, length;

		if (!colon || line[0] == '#' || sscanf(colon, ":%llu:%llu", &start, &length) != 2)
			continue;
		if (start >= (uint64_t)first + count || start + length <= first)
			continue;
		(void)snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
		return true;
	}
	return false;
}

enum core_sink check_parse_core_pattern(const char *pattern)
{
	if (pattern[0] == '|')
		return CORE_PIPE;
	if (pattern[0] == '@') /* Linux 6.16 */
		return CORE_SOCKET;
	return pattern[0] == '\n' || pattern[0] == '\0' ? CORE_NOWHERE : CORE_FILE;
}

void check_parse_apparmor_label(const char *label, char *out, size_t size)
{
	size_t len = strcspn(label, "\n");
	const char *mode = strstr(label, " (");

	if (mode && mode < label + len)
		len = (size_t)(mode - label);
	if (len >= size)
		len = size - 1;
	memcpy(out, label, len);
	out[len] = '\0';
}
