/* The system-call filter.  The programs are made when Bulkhead is built (filter_gen.c); here one is chosen, loaded and
 * shown to work. */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolation/control.h"
#include "isolation/filter.h"

static int load(const struct filter_program *p, struct error *err)
{
	struct sock_fprog prog = { .len = p->len, .filter = (struct sock_filter *)(uintptr_t)p->insns };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return error_errno(err, "load the system-call filter");
	return 0;
}

int seccomp_apply(struct confinement *c, struct error *err)
{
	bool own_network = uses(c, MECH_NETNS) || c->boundary->net == NET_HOST;
	bool own = uses(c, MECH_MOUNTNS) && uses(c, MECH_IPCNS) && own_network;
	unsigned int variant = (c->boundary->net == NET_HOST ? FILTER_NET : 0) | (own ? 0 : FILTER_NO_UNIX);
	const struct filter_program *p = filter_get(variant);

	return p ? load(p, err) : error_set(err, EINVAL, "no filter for variant %u", variant);
}

int seccomp_apply_init(struct confinement *c, struct error *err)
{
	(void)c;
	return load(filter_for_init(), err);
}

/* The forbidden act: unshare(0) asks for nothing and succeeds for anybody (unshare(2)); the filter refuses the call. */
void seccomp_show(struct shown *out)
{
	out->seccomp_errno = syscall(SYS_unshare, 0) == 0 ? 0 : errno;
}

void seccomp_observe(const struct observation *o, struct finding *out)
{
	const char *mode = observation_status(o, "Seccomp");

	if (!mode || mode[0] != '2')
		finding_set(out, FINDING_FAILED, 0, "Seccomp mode is not 2 (filter)");
	else if (o->shown.seccomp_errno != EPERM)
		finding_set(out, FINDING_FAILED, o->shown.seccomp_errno, "a forbidden call gave errno %d, not EPERM",
			    o->shown.seccomp_errno);
	else
		finding_set(out, FINDING_ENFORCED, 0, "Seccomp: 2; unshare(2) gave EPERM");
}
