/* How far a tenant is trusted.  Plain data; a tenant that nobody named is untrusted. */
#ifndef BULKHEAD_POLICY_TRUST_H
#define BULKHEAD_POLICY_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum trust { TRUST_UNTRUSTED, TRUST_TRUSTED, TRUST_COUNT }; /* zeroed storage trusts nobody */
const char *trust_name(enum trust t);
bool trust_from_name(const char *name, enum trust *out);

#define TRUST_TENANTS_MAX 256	 /* more invited tenants than one policy file should list by hand */
#define TRUST_TENANT_NAME_MAX 63 /* as boundary_set_tenant() has it */

struct trust_table {
	struct {
		char name[TRUST_TENANT_NAME_MAX + 1];
		enum trust trust;
	} tenants[TRUST_TENANTS_MAX];
	size_t count;
};

/* The name must be one that boundary_set_tenant() takes.  -EEXIST for a second entry of one name, -E2BIG when full. */
int trust_add(struct trust_table *table, const char *tenant, enum trust trust, struct error *err);

/* NULL is the caller's own work, which is trusted: they could have run it without us. */
enum trust trust_of(const struct trust_table *table, const char *tenant);

#endif
