#include "util/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		err->code = code;
		va_start(ap, fmt);
		(void)vsnprintf(err->text, sizeof(err->text), fmt, ap); /* a long text is cut, never refused */
		va_end(ap);
	}
	return -code;
}

int error_errno(struct error *err, const char *fmt, ...)
{
	int code = errno ? errno : EIO;
	va_list ap;

	if (err) {
		int used;

		err->code = code;
		va_start(ap, fmt);
		used = vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		if (used > 0 && (size_t)used < sizeof(err->text))
			(void)snprintf(err->text + used, sizeof(err->text) - (size_t)used, ": %s",
				       strerrordesc_np(code));
	}
	return -code;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	char inner[ERROR_TEXT_MAX];
	va_list ap;
	int used;

	if (!err)
		return -EIO;
	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	used = vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	if (used > 0 && (size_t)used < sizeof(err->text))
		(void)snprintf(err->text + used, sizeof(err->text) - (size_t)used, ": %s", inner);
	return -(err->code ? err->code : EIO);
}
