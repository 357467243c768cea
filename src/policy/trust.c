#include "policy/trust.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const char *const trusts[] = { [TRUST_UNTRUSTED] = "untrusted", [TRUST_TRUSTED] = "trusted" };
static_assert(sizeof(trusts) / sizeof(trusts[0]) == TRUST_COUNT, "a name per trust");

const char *trust_name(enum trust t)
{
	return trusts[t];
}

bool trust_from_name(const char *name, enum trust *out)
{
	for (int t = 0; t < TRUST_COUNT; t++) {
		if (strcmp(name, trusts[t]) == 0) {
			*out = (enum trust)t;
			return true;
		}
	}
	return false;
}

int trust_add(struct trust_table *table, const char *tenant, enum trust trust, struct error *err)
{
	size_t len = strlen(tenant);

	if (len > TRUST_TENANT_NAME_MAX)
		return error_set(err, EINVAL, "the tenant's name is longer than %d bytes", TRUST_TENANT_NAME_MAX);
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->tenants[i].name, tenant) == 0)
			return error_set(err, EEXIST, "tenant %s is listed twice", tenant);
	}
	if (table->count == TRUST_TENANTS_MAX)
		return error_set(err, E2BIG, "more than %d tenants", TRUST_TENANTS_MAX);
	memcpy(table->tenants[table->count].name, tenant, len + 1);
	table->tenants[table->count++].trust = trust;
	return 0;
}

enum trust trust_of(const struct trust_table *table, const char *tenant)
{
	if (!tenant)
		return TRUST_TRUSTED;
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->tenants[i].name, tenant) == 0)
			return table->tenants[i].trust;
	}
	return TRUST_UNTRUSTED;
}
