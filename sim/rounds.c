/* SPDX-License-Identifier: Apache-2.0 */
/* Only the serial numbers after a repetition are kept: those of a block's first transmission have
 * no cycle. The latest are looked up most often. What can go wrong: memory. */
#include "sim/rounds.h"

#include <assert.h>
#include <stdlib.h>

struct round {
    uint64_t serial;
    uint32_t cycles;
    bool report;
};

void rounds_fini(struct rounds *r)
{
    free(r->at);
    r->at = NULL;
    r->len = r->cap = 0;
}

/* 0 for one that is not known: the first checkpoint of a block. */
static uint32_t cycles_of(const struct rounds *r, bool report, uint64_t serial)
{
    for (size_t i = r->len; i > 0; i--) {
        const struct round *at = &r->at[i - 1];
        if (at->serial == serial && at->report == report)
            return at->cycles;
    }
    return 0;
}

static bool note_round(struct rounds *r, struct round round)
{
    assert(r->len <= r->cap && r->len <= ROUNDS_MAX);
    if (r->len == ROUNDS_MAX)
        return true;
    if (r->len == r->cap) {
        size_t cap = r->cap == 0 ? 8 : 2 * r->cap;
        struct round *grown = reallocarray(r->at, cap, sizeof *grown);
        if (grown == NULL)
            return false;
        r->at = grown;
        r->cap = cap;
    }
    r->at[r->len++] = round;
    return true;
}

bool rounds_sent(struct rounds *r, uint64_t cp_serial, uint64_t rpt_serial)
{
    uint32_t cycles = cycles_of(r, true, rpt_serial) + 1;
    r->most = r->most > cycles ? r->most : cycles;
    return note_round(r, (struct round){.serial = cp_serial, .cycles = cycles});
}

bool rounds_reported(struct rounds *r, uint64_t cp_serial, uint64_t rpt_serial)
{
    uint32_t cycles = cycles_of(r, false, cp_serial);
    return cycles == 0 ||
           note_round(r, (struct round){.serial = rpt_serial, .cycles = cycles, .report = true});
}
