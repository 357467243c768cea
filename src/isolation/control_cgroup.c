/* Control groups as a control: that the workload sits in its groups, and what its limits read. */
#include <stdio.h>

#include "isolation/control.h"

void cgroup_observe(const struct observation *o, struct finding *out)
{
	if (!o->c->cgroup.limits)
		finding_set(out, FINDING_UNSUPPORTED, 0, "not every limit is held by a group");
	else if (!o->in_groups)
		finding_set(out, FINDING_FAILED, 0, "%s", o->groups);
	else
		finding_set(out, FINDING_ENFORCED, 0, "%s; limits read back as written", o->groups);
}

void cgroup_kill_observe(const struct observation *o, struct finding *out)
{
	if (!o->c->cgroup.kill)
		finding_set(out, FINDING_UNSUPPORTED, 0, "no cgroup v2 group with a kill file");
	else if (!o->in_groups)
		finding_set(out, FINDING_FAILED, 0, "%s", o->groups);
	else
		finding_set(out, FINDING_ENFORCED, 0, "the group has cgroup.kill, and the workload is in it");
}
