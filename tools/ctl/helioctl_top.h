/* SPDX-License-Identifier: Apache-2.0 */
/* A node watched live. */
#ifndef TOOLS_HELIOCTL_TOP_H
#define TOOLS_HELIOCTL_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"

/* Looks every `interval` until a key or a signal ends it, or after `looks` of them (0: no end): on
 * a terminal as a screen, else, or with `plain`, as lines. The exit code. */
int ctl_top(const char *path, bool plain, tick interval, tick timeout, uint64_t looks);

#endif
