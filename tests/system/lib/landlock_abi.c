/* LD_PRELOAD for tests: a kernel with an older Landlock, of the ABI in $TEST_LANDLOCK_ABI (0: none).  What that kernel
 * would not know is refused as it would refuse it; what is then not asked for, the real kernel does not hold either. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/landlock.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static long raw(long n, const long *a)
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

static long refused(const uint64_t *attr, size_t size, int abi)
{
	static const uint64_t fs[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff, 0xffff };
	uint64_t net = size >= 16 ? attr[1] : 0, scoped = size >= 24 ? attr[2] : 0;

	if ((abi < 4 && net) || (abi < 6 && scoped))
		return -E2BIG; /* copy_struct_from_user(): a known zero tail only */
	if (attr[0] & ~fs[abi > 7 ? 7 : abi])
		return -EINVAL;
	return attr[0] | net | scoped ? 0 : -ENOMSG;
}

long syscall(long n, ...)
{
	const char *text = getenv("TEST_LANDLOCK_ABI");
	int abi = text ? atoi(text) : 99;
	long a[6], r = 0;
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (n >= SYS_landlock_create_ruleset && n <= SYS_landlock_restrict_self && abi == 0)
		r = -EOPNOTSUPP;
	else if (n == SYS_landlock_create_ruleset && text && a[2] == LANDLOCK_CREATE_RULESET_VERSION)
		r = abi;
	else if (n == SYS_landlock_create_ruleset && text)
		r = refused((const uint64_t *)a[0], (size_t)a[1], abi);
	else if (n == SYS_landlock_restrict_self && text && abi < 7 && a[1] != 0)
		r = -EINVAL;
	if (r == 0)
		r = raw(n, a);
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}
