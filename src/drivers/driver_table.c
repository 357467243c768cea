#include "drivers/driver.h"

const struct driver *driver_for(enum tier tier)
{
	static const struct driver *const drivers[] = { &driver_process, &driver_sandbox };

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (drivers[i]->tier == tier)
			return drivers[i];
	}
	return NULL;
}
