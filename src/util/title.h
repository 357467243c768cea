/* What ps(1) shows of a process, and /proc/<pid>/cmdline to everybody who sees it. */
#ifndef BULKHEAD_UTIL_TITLE_H
#define BULKHEAD_UTIL_TITLE_H

/* Remember where the arguments lie, in main(). */
void title_remember(int argc, char **argv);

/* Overwrite all of them by `name`, which is cut to their length, and name the thread by it.  In a child: its copy alone
 * changes, and every pointer into argv goes stale. */
void title_replace(const char *name);

#endif
