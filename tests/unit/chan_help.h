/* SPDX-License-Identifier: Apache-2.0 */
/* Channels, their inputs and what is expected of them, for the tests. */
#ifndef TESTS_UNIT_CHAN_HELP_H
#define TESTS_UNIT_CHAN_HELP_H

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "channel-emu/chan/chan.h"
#include "tests/unit/suite.h"

static inline struct chan *chan_of(struct chan_config k)
{
    struct chan *c;
    ck_assert_int_eq(chan_new(&c, &k), 0);
    return c;
}

static inline void input(struct chan *c, size_t len, uint64_t tag, tick now)
{
    static const uint8_t zeros[16384];
    if (len >
        sizeof zeros) /* an assertion writes to a file each time: too slow for millions of frames */
        ck_abort_msg("a frame of %zu bytes is too long for the test", len);
    chan_input(c, zeros, len, tag, now);
}

static inline void check_sum(const struct chan *c)
{
    const struct chan_counters *n = chan_counters(c);
    ck_assert_uint_eq(n->in + n->duplicated, n->out + chan_lost(n) + n->queued);
}

/* The next frame has this tag and is due then. */
static inline void expect(struct chan *c, uint64_t tag, tick due)
{
    struct chan_out out;
    ck_assert_uint_eq(chan_deadline(c), due);
    if (due > 0)
        ck_assert_int_eq(chan_output(c, due - 1, &out), 0);
    ck_assert_int_eq(chan_output(c, due, &out), 1);
    ck_assert_uint_eq(out.tag, tag);
    ck_assert_uint_eq(out.due, due);
}

static inline void expect_idle(struct chan *c)
{
    struct chan_out out;
    ck_assert_int_eq(chan_output(c, TICK_NEVER - 1, &out), 0);
    ck_assert_uint_eq(chan_deadline(c), TICK_NEVER);
    ck_assert_uint_eq(chan_counters(c)->queued, 0);
    check_sum(c);
}

#endif
