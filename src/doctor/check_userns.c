/* Who forbids user namespaces: three sysctls of three origins (the kernel's, Debian's, Ubuntu's). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/check.h"
#include "doctor/check_parse.h"

void check_user_namespaces(const struct check_context *x, struct check *out)
{
	long max = check_number("/proc/sys/user/max_user_namespaces");
	long clone = check_number("/proc/sys/kernel/unprivileged_userns_clone");
	const struct finding *f = &x->sandbox->mechanisms[MECH_USERNS];
	char buf[300];
	const char *remedy;

	if (max < 0) {
		check_set(out, CHECK_MISSING,
			  "no /proc/sys/user/max_user_namespaces: /proc is not there, or the kernel has no "
			  "user namespaces");
		check_remedy(out, "a kernel with CONFIG_USER_NS, and a /proc mounted");
		return;
	}
	if (max == 0)
		check_set(out, CHECK_MISSING, "user.max_user_namespaces = 0: none may be made in this user namespace");
	else if (clone == 0)
		check_set(out, x->privileged ? CHECK_NOTE : CHECK_MISSING,
			  "kernel.unprivileged_userns_clone = 0: only CAP_SYS_ADMIN may make one");
	else
		check_set(out, CHECK_OK, "user.max_user_namespaces = %ld%s", max,
			  clone == 1 ? "; kernel.unprivileged_userns_clone = 1" : "");
	/* Where no switch explains it the trial still knows. */
	if (out->state == CHECK_OK && (f->state == FINDING_UNSUPPORTED || f->state == FINDING_FAILED) && f->code)
		check_set(out, CHECK_MISSING, "user.max_user_namespaces = %ld, and still: %.200s", max, f->how);
	if (out->state == CHECK_OK)
		return;
	remedy = evidence_remedy(MECH_USERNS, &(struct finding){ .state = FINDING_UNSUPPORTED, .code = f->code }, buf,
				 sizeof(buf));
	check_remedy(out, "%s", remedy ? remedy : "");
}

/* Ubuntu 23.10 and later: a program without a profile that says `userns` gets a user namespace in which it has no
 * capability (apparmor_restrict_unprivileged_userns), so that creation succeeds and the next step fails. */
void check_apparmor(const struct check_context *x, struct check *out)
{
	long restricted = check_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	char *text = check_read("/proc/self/attr/apparmor/current");
	char label[128] = "", exe[256] = "?";
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n > 0)
		exe[n] = '\0';
	if (text)
		check_parse_apparmor_label(text, label, sizeof(label));
	free(text);
	if (restricted < 0) {
		check_set(out, CHECK_OK,
			  "no kernel.apparmor_restrict_unprivileged_userns: AppArmor leaves user namespaces alone%s%s",
			  label[0] ? "; our profile: " : "", label);
		return;
	}
	if (restricted == 0) {
		check_set(out, CHECK_OK, "kernel.apparmor_restrict_unprivileged_userns = 0");
		return;
	}
	if (label[0] && strcmp(label, "unconfined") != 0) {
		check_set(out, CHECK_OK,
			  "kernel.apparmor_restrict_unprivileged_userns = %ld, and %s runs under the profile %s",
			  restricted, exe, label);
		return;
	}
	check_set(out, x->privileged ? CHECK_NOTE : CHECK_MISSING,
		  "kernel.apparmor_restrict_unprivileged_userns = %ld, and no profile is loaded for %s", restricted,
		  exe);
	check_remedy(out, "cp " BULKHEAD_DATA_DIR "/apparmor/bulkhead /etc/apparmor.d/bulkhead && apparmor_parser -r "
			  "/etc/apparmor.d/bulkhead (it is for /usr/bin/bulkhead and /usr/local/bin/bulkhead)");
}
