/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time in the engines: nanoseconds since an origin that the caller chose, unsigned 64 bits (584
 * years). Engines never read a clock; time is an argument of every call that depends on it.
 */
#ifndef BASE_TICK_H
#define BASE_TICK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t tick;

#define TICK_NEVER UINT64_MAX
#define TICK_US UINT64_C(1000)
#define TICK_MS UINT64_C(1000000)
#define TICK_S UINT64_C(1000000000)

/* The earlier of two times. */
static inline tick tick_min(tick a, tick b)
{
    return a < b ? a : b;
}

/* The later of two times. */
static inline tick tick_max(tick a, tick b)
{
    return a > b ? a : b;
}

/* a + b, where a sum beyond the range is TICK_NEVER. */
static inline tick tick_add(tick a, tick b)
{
    return b > TICK_NEVER - a ? TICK_NEVER : a + b;
}

#ifdef __cplusplus
}
#endif

#endif
