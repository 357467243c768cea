/* What a container around us has taken away before we started. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/check.h"
#include "doctor/check_parse.h"

void check_own_seccomp(const struct check_context *x, struct check *out)
{
	char *status = check_read("/proc/self/status");
	unsigned long mode = 0, filters = 0, nnp = 0;
	bool told = status && check_parse_status(status, "Seccomp", &mode);

	(void)x;
	if (status) {
		(void)check_parse_status(status, "Seccomp_filters", &filters);
		(void)check_parse_status(status, "NoNewPrivs", &nnp);
	}
	free(status);
	if (!told) {
		check_set(out, CHECK_NOTE, "/proc/self/status does not tell our seccomp mode");
		return;
	}
	if (mode == 0) {
		check_set(out, CHECK_OK, "Seccomp: 0, NoNewPrivs: %lu: no filter is on us", nnp);
		return;
	}
	check_set(out, CHECK_NOTE,
		  "Seccomp: %lu with %lu filter%s, NoNewPrivs: %lu: we run under a filter of somebody else; a "
		  "call that fails here may "
		  "fail because of it",
		  mode, filters, filters == 1 ? "" : "s", nnp);
}

/* With part of /proc covered the kernel grants no /proc of its own to a less privileged user namespace
 * (mount_too_revealing()).  Then the workload's /proc stays empty: less works in there, nothing is weaker. */
void check_masked_proc(const struct check_context *x, struct check *out)
{
	char *mountinfo = check_read("/proc/self/mountinfo");
	char words[200];
	unsigned int count;

	if (!mountinfo) {
		check_set(out, CHECK_MISSING, "/proc/self/mountinfo cannot be read: %s", strerrordesc_np(errno));
		check_remedy(out, "mount -t proc proc /proc");
		return;
	}
	count = check_parse_proc_masks(mountinfo, words, sizeof(words));
	free(mountinfo);
	if (count == 0) {
		check_set(out, CHECK_OK, "nothing is mounted over a part of /proc");
		return;
	}
	check_set(out, CHECK_NOTE, "%u mount%s over parts of /proc: %s. %s", count, count == 1 ? "" : "s", words,
		  strstr(x->sandbox->mechanisms[MECH_PIDNS].how, "/proc stays empty")
			  ? "The workload's /proc stays empty, as the kernel grants it none of its own"
			  : "The kernel may grant the workload no /proc of its own; it stays empty then");
	check_remedy(out,
		     "for a workload that needs /proc, a container with a user namespace and a whole /proc of "
		     "its own: podman run "
		     "--userns=auto --security-opt unmask=ALL; Kubernetes: hostUsers: false with procMount: Unmasked");
}
