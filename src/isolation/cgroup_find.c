/* Where the hierarchies are mounted and which groups we are in: /proc/self/mountinfo joined with /proc/self/cgroup.
 *
 * A mount shows a hierarchy from its "root" field downwards.  In a container without a cgroup namespace that is
 * "/docker/<id>" while /proc/self/cgroup also says "/docker/<id>": our group is then the mount's own top.  With a
 * cgroup namespace both say "/".  A mount made outside of our namespace shows as "/..", and a group outside of it
 * too: neither can be related to the other, and such a mount is passed over. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "isolation/cgroup_parts.h"
#include "util/fd.h"

#define PROC_FILE_MAX (8u << 20) /* mountinfo of a host with tens of thousands of mounts */

const char *const cgroup_controller_names[] = {
	[CG_MEMORY] = "memory", [CG_PIDS] = "pids", [CG_CPU] = "cpu", [CG_CPUACCT] = "cpuacct"
};
_Static_assert(sizeof(cgroup_controller_names) / sizeof(char *) == CG_CONTROLLER_COUNT, "a name per controller");

/* A piece of the text that is being read. */
struct span {
	const char *at;
	size_t len;
};

/* What one line of mountinfo tells about a cgroup mount. */
struct cgroup_mount {
	char root[512];
	char point[256];
	struct span super; /* options of the superblock: v1 lists its controllers here */
	bool v2;
	bool read_only;
};

static bool span_is(struct span s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

/* Cut the text before the next `end` off *rest.  False when there is no `end`. */
static bool span_cut(struct span *rest, char end, struct span *out)
{
	const char *stop = memchr(rest->at, end, rest->len);

	if (!stop)
		return false;
	*out = (struct span){ rest->at, (size_t)(stop - rest->at) };
	rest->at = stop + 1;
	rest->len -= out->len + 1;
	return true;
}

static bool list_has(struct span list, char separator, const char *word)
{
	struct span item;

	while (span_cut(&list, separator, &item)) {
		if (span_is(item, word))
			return true;
	}
	return span_is(list, word);
}

/* Undo mountinfo's octal escapes (space, tab, newline, backslash; proc_pid_mountinfo(5)). */
static bool unescape(struct span s, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < s.len; i++) {
		unsigned int value = (unsigned char)s.at[i];

		if (s.at[i] == '\\') {
			if (s.len - i < 4)
				return false;
			value = 0;
			for (size_t d = 1; d <= 3; d++) {
				if (s.at[i + d] < '0' || s.at[i + d] > '7')
					return false;
				value = value * 8 + (unsigned int)(s.at[i + d] - '0');
			}
			i += 3;
		}
		if (value == 0 || value > 255 || used + 1 >= size)
			return false;
		out[used++] = (char)value;
	}
	out[used] = '\0';
	return true;
}

/* Returns 1 for a cgroup mount, 0 for another file system, -EINVAL for a line that is not mountinfo's. */
static int mount_parse(struct span line, struct cgroup_mount *out)
{
	struct span field, root, point, options, type, source;

	for (int i = 0; i < 3; i++) { /* mount id, parent id, device */
		if (!span_cut(&line, ' ', &field))
			return -EINVAL;
	}
	if (!span_cut(&line, ' ', &root) || !span_cut(&line, ' ', &point) || !span_cut(&line, ' ', &options))
		return -EINVAL;
	do { /* optional fields, up to a lone dash */
		if (!span_cut(&line, ' ', &field))
			return -EINVAL;
	} while (!span_is(field, "-"));
	if (!span_cut(&line, ' ', &type) || !span_cut(&line, ' ', &source))
		return -EINVAL;
	out->v2 = span_is(type, "cgroup2");
	if (!out->v2 && !span_is(type, "cgroup"))
		return 0;
	out->super = line;
	out->read_only = list_has(options, ',', "ro") || list_has(line, ',', "ro");
	if (!unescape(root, out->root, sizeof(out->root)) || out->root[0] != '/')
		return -EINVAL;
	return unescape(point, out->point, sizeof(out->point)) && out->point[0] == '/' ? 1 : -EINVAL;
}

/* "/.." and "/../x": a group outside of our cgroup namespace. */
static bool is_outside(struct span path)
{
	return path.len >= 3 && memcmp(path.at, "/..", 3) == 0 && (path.len == 3 || path.at[3] == '/');
}

/* Our group's path as seen from the mount's top: 0, or -ENOENT when the mount does not show it. */
static int path_in_mount(const char *root, struct span own, char *out, size_t size)
{
	size_t skip = strcmp(root, "/") == 0 ? 0 : strlen(root);
	size_t left;

	if (is_outside((struct span){ root, strlen(root) }) || is_outside(own))
		return -ENOENT;
	if (own.len < skip || memcmp(own.at, root, skip) != 0)
		return -ENOENT;
	left = own.len - skip;
	if (left == 0) {
		memcpy(out, "/", 2);
		return 0;
	}
	if (own.at[skip] != '/')
		return -ENOENT;
	if (left >= size)
		return -ENAMETOOLONG;
	memcpy(out, own.at + skip, left);
	out[left] = '\0';
	return 0;
}

/* The group of a v1 controller, or of v2 for NULL, from /proc/self/cgroup: "4:memory:/path", "0::/path". */
static int own_find(const char *text, const char *controller, struct span *out)
{
	struct span rest = { text, strlen(text) }, line, id, list;

	while (span_cut(&rest, '\n', &line)) {
		if (!span_cut(&line, ':', &id) || !span_cut(&line, ':', &list) || line.len == 0 || line.at[0] != '/')
			return -EINVAL;
		if (controller ? list_has(list, ',', controller) : span_is(id, "0") && list.len == 0) {
			*out = line;
			return 0;
		}
	}
	return rest.len == 0 ? -ENOENT : -EINVAL;
}

/* Take the mount for one hierarchy.  A later mount on the same place hides the earlier one; of several places a
 * writable one is preferred, then the first. */
static int mount_take(const struct cgroup_mount *m, const char *cgroup, const char *controller, char *mount, char *own,
		      size_t own_size, bool *read_only)
{
	bool hides = strcmp(mount, m->point) == 0;
	struct span group;
	char below[512];
	int r;

	if (own_size > sizeof(below))
		return -EINVAL;
	if (mount[0] && !hides && !(*read_only && !m->read_only))
		return 0;
	r = own_find(cgroup, controller, &group);
	if (r == 0)
		r = path_in_mount(m->root, group, below, own_size);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT) {
		if (hides)
			mount[0] = own[0] = '\0';
		return 0;
	}
	memcpy(mount, m->point, sizeof(m->point));
	memcpy(own, below, own_size);
	*read_only = m->read_only;
	return 0;
}

static int mount_note(const struct cgroup_mount *m, const char *cgroup, struct cgroup_host *h)
{
	if (m->v2)
		return mount_take(m, cgroup, NULL, h->v2_mount, h->v2_own, sizeof(h->v2_own), &h->v2_read_only);
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		int r;

		if (!list_has(m->super, ',', cgroup_controller_names[k]))
			continue;
		r = mount_take(m, cgroup, cgroup_controller_names[k], h->v1_mount[k], h->v1_own[k],
			       sizeof(h->v1_own[k]), &h->v1_read_only[k]);
		if (r < 0)
			return r;
	}
	return 0;
}

int cgroup_host_parse(struct cgroup_host *out, const char *mountinfo, const char *cgroup, struct error *err)
{
	struct span rest = { mountinfo, strlen(mountinfo) }, line;
	struct cgroup_host found = { .v2_mount = "" };
	struct cgroup_mount m = { .root = "" };

	while (span_cut(&rest, '\n', &line)) {
		int r = mount_parse(line, &m);

		if (r < 0)
			return error_set(err, EINVAL, "mountinfo: not understood: %.*s",
					 line.len > 120 ? 120 : (int)line.len, line.at);
		if (r > 0)
			r = mount_note(&m, cgroup, &found);
		if (r < 0)
			return error_set(err, -r, "/proc/self/cgroup: %s",
					 r == -EINVAL ? "not understood" : "path too long");
	}
	if (rest.len > 0)
		return error_set(err, EINVAL, "mountinfo: the last line is cut");
	*out = found;
	return 0;
}

/* The whole of a /proc file, NUL-terminated, for the caller to free. */
static char *proc_read(const char *path, struct error *err)
{
	for (size_t size = 16384; size <= PROC_FILE_MAX; size *= 4) {
		char *text = malloc(size);
		ssize_t n;

		if (!text) {
			(void)error_set(err, ENOMEM, "read %s: out of memory", path);
			return NULL;
		}
		n = fd_read_file_at(AT_FDCWD, path, text, size, err);
		if (n >= 0)
			return text;
		free(text);
		if (n != -EFBIG)
			return NULL;
	}
	return NULL;
}

int cgroup_path(const char *mount, const char *own, char *buf, size_t size, struct error *err)
{
	int n = snprintf(buf, size, "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);

	if (n < 0 || (size_t)n >= size)
		return error_set(err, ENAMETOOLONG, "the path of our group below %s is too long", mount);
	return 0;
}

controller_set cgroup_set_parse(const char *list)
{
	struct span words = { list, strcspn(list, "\n") };
	controller_set set = 0;

	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		if (list_has(words, ' ', cgroup_controller_names[k]))
			set |= CG_BIT(k);
	}
	return set;
}

const char *cgroup_set_words(controller_set set, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (int k = 0; k < CG_CONTROLLER_COUNT && used < size; k++) {
		if (set & CG_BIT(k))
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 cgroup_controller_names[k]);
	}
	return buf;
}

/* A controller is on one hierarchy only: where v1 has all that limit, v2 need not be asked. */
static int controllers_find(struct cgroup_host *h, struct error *err)
{
	char path[CGROUP_PATH_MAX], list[512];
	autofd fd = -1;
	int r;

	if (!h->v2_mount[0] || (h->v1_mount[CG_MEMORY][0] && h->v1_mount[CG_PIDS][0] && h->v1_mount[CG_CPU][0]))
		return 0;
	r = cgroup_path(h->v2_mount, h->v2_own, path, sizeof(path), err);
	if (r < 0)
		return r;
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* A group that cannot be read offers nothing; who asks for its controllers is told so when placing. */
	if (fd >= 0 && fd_read_file_at(fd, "cgroup.controllers", list, sizeof(list), NULL) > 0) {
		controller_set set = cgroup_set_parse(list);

		for (int k = 0; k < CG_CONTROLLER_COUNT; k++)
			h->v2_controller[k] = (set & CG_BIT(k)) != 0;
	}
	return 0;
}

/* ---- the usual places ---- */

#define USUAL "/sys/fs/cgroup"

static bool is_cgroup_mount(const char *path, long magic, bool *read_only)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0 || (long)fs.f_type != magic)
		return false;
	*read_only = (fs.f_flags & ST_RDONLY) != 0;
	return true;
}

/* One line of /proc/self/cgroup, "4:memory:/path" or "0::/path". */
static bool usual_note(struct cgroup_host *h, struct span list, struct span own)
{
	char mount[256];

	if (is_outside(own) || own.len >= sizeof(h->v2_own))
		return false;
	if (list.len == 0) {
		if (!is_cgroup_mount(USUAL, CGROUP2_SUPER_MAGIC, &h->v2_read_only)) {
			if (!is_cgroup_mount(USUAL "/unified", CGROUP2_SUPER_MAGIC, &h->v2_read_only))
				return false;
			(void)snprintf(h->v2_mount, sizeof(h->v2_mount), USUAL "/unified");
		} else {
			(void)snprintf(h->v2_mount, sizeof(h->v2_mount), USUAL);
		}
		(void)snprintf(h->v2_own, sizeof(h->v2_own), "%.*s", (int)own.len, own.at);
		return true;
	}
	(void)snprintf(mount, sizeof(mount), USUAL "/%.*s", list.len < 200 ? (int)list.len : 200, list.at);
	for (int k = 0; k < CG_CONTROLLER_COUNT; k++) {
		if (!list_has(list, ',', cgroup_controller_names[k]))
			continue;
		if (!is_cgroup_mount(mount, CGROUP_SUPER_MAGIC, &h->v1_read_only[k]))
			return false;
		(void)snprintf(h->v1_mount[k], sizeof(h->v1_mount[k]), "%s", mount);
		(void)snprintf(h->v1_own[k], sizeof(h->v1_own[k]), "%.*s", (int)own.len, own.at);
	}
	return true;
}

#define FIRST_CGROUP_NAMESPACE 0xeffffffbu /* its inode (PROC_CGROUP_INIT_INO of the kernel) */

bool cgroup_host_usual(struct cgroup_host *out)
{
	struct cgroup_host found = { .v2_mount = "" };
	struct span rest, line, id, list;
	char text[4096];
	struct stat st;

	/* In any other one the mount may be an outer one's, whose "/" is not ours: only mountinfo tells. */
	if (stat("/proc/self/ns/cgroup", &st) < 0 || st.st_ino != FIRST_CGROUP_NAMESPACE)
		return false;
	if (fd_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text), NULL) < 0)
		return false;
	rest = (struct span){ text, strlen(text) };
	while (span_cut(&rest, '\n', &line)) {
		if (!span_cut(&line, ':', &id) || !span_cut(&line, ':', &list) || line.len == 0 ||
		    !usual_note(&found, list, line))
			return false;
	}
	if (controllers_find(&found, NULL) < 0)
		return false;
	*out = found;
	return true;
}

/* ---- any place ---- */

int cgroup_host_find(struct cgroup_host *out, struct error *err)
{
	struct cgroup_host found = { .v2_mount = "" };
	char *mountinfo = proc_read("/proc/self/mountinfo", err);
	char *cgroup = mountinfo ? proc_read("/proc/self/cgroup", err) : NULL;
	int r = cgroup ? cgroup_host_parse(&found, mountinfo, cgroup, err) : -(err && err->code ? err->code : EIO);

	free(mountinfo);
	free(cgroup);
	if (r < 0)
		return r;
	r = controllers_find(&found, err);
	if (r < 0)
		return r;
	*out = found;
	return 0;
}
