/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of the kernel's world, reported by its loop. */
#ifndef OS_UV_SIGNALS_H
#define OS_UV_SIGNALS_H

#include "os/world.h"

struct uv_signals;

/* From now on these signals call `fn`, instead of what else they would do. At most 4 numbers. NULL:
 * memory or descriptors are out. */
struct uv_signals *uv_signals_open(struct world *w, const int *numbers, size_t n,
                                   void (*fn)(void *context, int number), void *context);
void uv_signals_close(struct uv_signals *s); /* NULL is allowed */

#endif
