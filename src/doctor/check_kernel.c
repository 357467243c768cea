/* What this kernel was built and booted with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/check.h"
#include "doctor/check_parse.h"
#include "isolation/control.h"

/* What each ABI added (the kernel's Documentation/userspace-api/landlock.rst); the last line no ABI covers yet. */
static const struct {
	int abi;
	const char *words;
} landlock_parts[] = {
	{ 2, "moving files between directories (so it is refused)" },
	{ 3, "truncate" },
	{ 4, "TCP bind and connect" },
	{ 5, "ioctl on devices" },
	{ 6, "signals and abstract sockets" },
};

void check_landlock(const struct check_context *x, struct check *out)
{
	int abi = landlock_abi_of_host();
	char open[300] = "", buf[300];
	size_t used = 0;
	const char *remedy;

	for (size_t i = 0; i < sizeof(landlock_parts) / sizeof(landlock_parts[0]); i++) {
		if (abi < landlock_parts[i].abi && used < sizeof(open))
			used += (size_t)snprintf(open + used, sizeof(open) - used, "%s, ", landlock_parts[i].words);
	}
	(void)x;
	if (abi >= 6) {
		check_set(out, CHECK_OK,
			  "ABI %d, of which we use %d; no ABI covers stat, chmod, chown, utime, xattr and "
			  "flock on paths in view",
			  abi, abi < LANDLOCK_ABI_KNOWN ? abi : LANDLOCK_ABI_KNOWN);
		return;
	}
	if (abi > 0)
		check_set(out, CHECK_NOTE,
			  "ABI %d (we know %d); not covered: %sstat, chmod, chown, utime, xattr and flock", abi,
			  LANDLOCK_ABI_KNOWN, open);
	else
		check_set(out, CHECK_MISSING, "no Landlock");
	remedy = evidence_remedy(abi > 0 ? MECH_LANDLOCK_SCOPE : MECH_LANDLOCK,
				 &(struct finding){ .state = FINDING_UNSUPPORTED }, buf, sizeof(buf));
	check_remedy(out, "%s", remedy ? remedy : "");
}

/* No guarantee rests on Yama (it holds writes only, and not between parent and child); it is a second line for what
 * runs outside of us. */
void check_yama(const struct check_context *x, struct check *out)
{
	long scope = check_number("/proc/sys/kernel/yama/ptrace_scope");

	(void)x;
	if (scope >= 1) {
		check_set(out, CHECK_OK, "kernel.yama.ptrace_scope = %ld", scope);
		return;
	}
	if (scope == 0) {
		check_set(out, CHECK_NOTE,
			  "kernel.yama.ptrace_scope = 0: processes of one user may trace each other; "
			  "workloads of the sandbox "
			  "tier may not, as other mechanisms see to it");
		check_remedy(out, "sysctl kernel.yama.ptrace_scope=1");
		return;
	}
	check_set(out, CHECK_NOTE,
		  "not in this kernel: processes of one user may trace each other; workloads of the sandbox tier may "
		  "not, as other mechanisms see to it");
	check_remedy(out, "a kernel with CONFIG_SECURITY_YAMA and yama in its lsm= list");
}

void check_tiocsti(const struct check_context *x, struct check *out)
{
	long legacy = check_number("/proc/sys/dev/tty/legacy_tiocsti");

	(void)x;
	if (legacy == 0) {
		check_set(out, CHECK_OK,
			  "dev.tty.legacy_tiocsti = 0: nobody without CAP_SYS_ADMIN types into a terminal");
		return;
	}
	check_set(out, CHECK_NOTE,
		  "%s: a process may type into its terminal; the sandbox tier has its own terminal and "
		  "filters it, the process tier "
		  "only has a session of its own",
		  legacy > 0 ? "dev.tty.legacy_tiocsti = 1" : "no dev.tty.legacy_tiocsti (Linux 6.2 has it)");
	check_remedy(out, "%s",
		     legacy > 0 ? "sysctl dev.tty.legacy_tiocsti=0"
				: "a kernel of 6.2 or later, and sysctl dev.tty.legacy_tiocsti=0");
}

/* RLIMIT_CORE 0 does not keep the kernel from starting the program behind a pipe (core(5)): it is fed the memory image
 * of the workload, outside of every boundary, with all rights. */
void check_core(const struct check_context *x, struct check *out)
{
	char *pattern = check_read("/proc/sys/kernel/core_pattern");

	(void)x;
	if (!pattern) {
		check_set(out, CHECK_NOTE, "/proc/sys/kernel/core_pattern cannot be read: %s", strerrordesc_np(errno));
		return;
	}
	pattern[strcspn(pattern, "\n")] = '\0';
	switch (check_parse_core_pattern(pattern)) {
	case CORE_PIPE:
	case CORE_SOCKET:
		check_set(out, CHECK_NOTE,
			  "kernel.core_pattern = %.100s: a crash of a workload is handled by a program of the "
			  "host, which "
			  "reads memory that the workload has shaped; no limit of ours reaches that",
			  pattern);
		check_remedy(out, "sysctl kernel.core_pattern=core");
		break;
	case CORE_NOWHERE:
	case CORE_FILE:
		check_set(out, CHECK_OK, "kernel.core_pattern = \"%.100s\": a file, which the limit of 0 bytes forbids",
			  pattern);
		break;
	}
	free(pattern);
}
