/* Devices that workloads may be given, or that a tier would need. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "doctor/check.h"
#include "util/fd.h"

#define KVM_API_VERSION_ASK 0xAE00 /* KVM_GET_API_VERSION, _IO(KVMIO, 0x00); the answer is 12 (linux/kvm.h) */

void check_kvm(const struct check_context *x, struct check *out)
{
	autofd fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int code = errno;

	(void)x;
	if (fd >= 0 && ioctl(fd, KVM_API_VERSION_ASK, 0) == 12) {
		check_set(out, CHECK_OK, "/dev/kvm can be opened (API 12); the vm tier is not in this build");
		return;
	}
	check_set(out, CHECK_NOTE, "/dev/kvm: %s; the vm tier, which is not in this build, would need it",
		  fd >= 0 ? "it does not answer as KVM" : strerrordesc_np(code));
	if (fd < 0 && (code == EACCES || code == EPERM))
		check_remedy(out, "usermod -aG kvm with this user's name (uid %u), and log in again", getuid());
	else
		check_remedy(out, "virtualization switched on in the firmware (or nested, in a guest), and modprobe "
				  "kvm_intel or kvm_amd");
}

void check_gpu(const struct check_context *x, struct check *out)
{
	static const char *const patterns[] = { "/dev/nvidia[0-9]*", "/dev/dri/renderD*", "/dev/kfd" };
	glob_t found = { 0 };
	unsigned int usable = 0;

	(void)x;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		(void)glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found); /* no match is an answer */
	for (size_t i = 0; i < found.gl_pathc; i++)
		usable += faccessat(AT_FDCWD, found.gl_pathv[i], R_OK | W_OK, AT_EACCESS) == 0;
	if (found.gl_pathc == 0)
		check_set(out, CHECK_OK, "no GPU nodes");
	else
		check_set(out, usable ? CHECK_OK : CHECK_NOTE, "%zu node%s, from %.100s; %u of them we may open",
			  found.gl_pathc, found.gl_pathc == 1 ? "" : "s", found.gl_pathv[0], usable);
	globfree(&found);
}
