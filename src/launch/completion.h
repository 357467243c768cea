/* `bulkhead completion SHELL`: a completion script from the same tables as the parser. */
#ifndef BULKHEAD_LAUNCH_COMPLETION_H
#define BULKHEAD_LAUNCH_COMPLETION_H

#include <stddef.h>
#include <stdio.h>

#include "util/error.h"

/* "bash", "zsh", "fish"; NULL past the last. */
const char *completion_shell(size_t i);

/* -EINVAL for a shell that is none of these. */
int completion_print(FILE *to, const char *shell, struct error *err);

#endif
