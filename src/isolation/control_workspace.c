/* The workspace on disk: where there is no private root to hold one. */
#include <stdio.h>
#include <sys/stat.h>

#include "isolation/control.h"

int workspace_prepare(struct confinement *c, struct error *err)
{
	if (uses(c, MECH_MOUNTNS) || !uses(c, MECH_WORKSPACE))
		return 0;
	return workspace_plan(&c->workspace, c->workdir, err);
}

int workspace_make_planned(struct confinement *c, struct error *err)
{
	if (c->workspace.base_fd < 0)
		return 0;
	return workspace_create(&c->workspace, c->host_uid, c->host_gid, err);
}

void workspace_observe(const struct observation *o, struct finding *out)
{
	struct stat inside, ours;

	if (uses(o->c, MECH_MOUNTNS)) {
		finding_set(out, FINDING_ENFORCED, 0, "in memory, in the private root");
		return;
	}
	if (fstat(o->c->workspace.fd, &ours) < 0 || fstatat(o->proc_fd, "cwd", &inside, 0) < 0)
		finding_set(out, FINDING_FAILED, 0, "the working directory cannot be looked at");
	else if (inside.st_dev != ours.st_dev || inside.st_ino != ours.st_ino)
		finding_set(out, FINDING_ENFORCED, 0, "fresh directory %.8s..., started in a granted one",
			    o->c->workspace.name);
	else
		finding_set(out, FINDING_ENFORCED, 0, "starts in fresh directory %.8s...", o->c->workspace.name);
}
