/* NVIDIA GPUs by UUID: which /dev/nvidiaN it is, as the kernel's driver says in /proc/driver/nvidia/gpus/<bus address>/
 * information (the driver's README, "The /proc interface"); the vendor's library, which also knows, is not loaded here. */
#ifndef BULKHEAD_ISOLATION_GPU_H
#define BULKHEAD_ISOLATION_GPU_H

#include <stdbool.h>

#include "util/error.h"

/* The text of one information file: true when it is that GPU's and names a device minor (0 to 255). */
bool gpu_information_is(const char *text, const char *uuid, unsigned int *out_minor);

/* `name` as --gpu takes it: an index, which is the minor, or a UUID.  Needs no privilege. */
int gpu_minor_of(const char *name, unsigned int *out_minor, struct error *err);

#endif
