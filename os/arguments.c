/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of base/units.h and their hints, for argp. */
#include "os/arguments.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"

void argument_want(struct argp_state *state, const char *option, const char *arg, const char *hint)
{
    argp_error(state, "--%s '%s': expected %s", option, arg, hint);
}

uint64_t argument_count(struct argp_state *state, const char *option, const char *arg, uint64_t low,
                        uint64_t high)
{
    uint64_t v = 0;
    char hint[96];
    snprintf(hint, sizeof hint, "a number from %" PRIu64 " to %" PRIu64, low, high);
    if (units_count(arg, high, &v) != 0 || v < low)
        argument_want(state, option, arg, hint);
    return v;
}

uint64_t argument_size(struct argp_state *state, const char *option, const char *arg, uint64_t low,
                       uint64_t high)
{
    uint64_t v = 0;
    char hint[96];
    snprintf(hint, sizeof hint, "%" PRIu64 " to %" PRIu64 " bytes, as in 1024B or 500kB", low,
             high);
    if (units_size(arg, &v) != 0 || v < low || v > high)
        argument_want(state, option, arg, hint);
    return v;
}

tick argument_time(struct argp_state *state, const char *option, const char *arg, tick low)
{
    tick t = 0;
    char hint[96];
    snprintf(hint, sizeof hint, "at least %" PRIu64 "us, as in 30ms", low / TICK_US);
    if (units_duration(arg, &t) != 0 || t < low)
        argument_want(state, option, arg, low == 0 ? units_duration_hint : hint);
    return t;
}

uint64_t argument_rate(struct argp_state *state, const char *option, const char *arg)
{
    uint64_t rate = 0;
    if (units_rate(arg, &rate) != 0)
        argument_want(state, option, arg, units_rate_hint);
    return rate;
}

struct address argument_address(struct argp_state *state, const char *option, const char *arg)
{
    struct address a = {.sa = {.sa_family = AF_UNSPEC}};
    if (address_parse(arg, &a) != 0)
        argument_want(state, option, arg, address_hint);
    return a;
}
