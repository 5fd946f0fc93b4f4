/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of three clocks; what cannot be known is said, and then taken as short as it can have
 * been: a bundle that is kept for too long is judged by the next node, one that was deleted is not.
 */
#include "bp/agent/life_clock.h"

#include <string.h>

#include "base/cursor.h"
#include "base/err.h"

static bool same_boot(const struct life_clock *a, const struct life_clock *b)
{
    static const uint8_t unknown[LIFE_CLOCK_BOOT];
    return memcmp(a->boot, unknown, sizeof unknown) != 0 &&
           memcmp(a->boot, b->boot, sizeof a->boot) == 0 && a->mono_ms >= b->mono_ms;
}

enum life_clock_start life_clock_begin(struct life_clock *now, const struct life_clock *before,
                                       int64_t *step_ms)
{
    *step_ms = 0;
    if (before == NULL) {
        now->life_ms = now->dtn_ms;
        return LIFE_CLOCK_NEW;
    }
    bool clocks = now->dtn_ms != 0 && before->dtn_ms != 0;
    if (same_boot(now, before)) {
        uint64_t passed = now->mono_ms - before->mono_ms;
        now->life_ms = before->life_ms + passed;
        int64_t step = (int64_t)(now->dtn_ms - before->dtn_ms - passed);
        if (clocks && (step >= LIFE_CLOCK_STEP_MS || step <= -LIFE_CLOCK_STEP_MS))
            *step_ms = step;
        return LIFE_CLOCK_GOES_ON;
    }
    uint64_t passed = now->mono_ms; /* the node's earlier run ended before this boot */
    bool forward = now->dtn_ms >= before->dtn_ms;
    uint64_t gap = now->dtn_ms - before->dtn_ms;
    if (clocks && forward && gap <= LIFE_CLOCK_GAP_MAX_MS) {
        now->life_ms = before->life_ms + (gap > passed ? gap : passed);
        return LIFE_CLOCK_GOES_ON;
    }
    now->life_ms = before->life_ms + passed;
    *step_ms = clocks ? (int64_t)gap : 0;
    return LIFE_CLOCK_UNKNOWN;
}

int64_t life_clock_offset(uint64_t mono_ms, uint64_t dtn_ms)
{
    return (int64_t)(dtn_ms - mono_ms);
}

int64_t life_clock_step(int64_t *last_ms, uint64_t mono_ms, uint64_t dtn_ms)
{
    int64_t offset = life_clock_offset(mono_ms, dtn_ms);
    int64_t step = offset - *last_ms;
    *last_ms = offset;
    return step >= LIFE_CLOCK_STEP_MS || step <= -LIFE_CLOCK_STEP_MS ? step : 0;
}

void life_clock_write(const struct life_clock *c, uint8_t out[LIFE_CLOCK_NOTE])
{
    struct writer w = writer_of(out, LIFE_CLOCK_NOTE);
    writer_bytes(&w, c->boot, LIFE_CLOCK_BOOT);
    writer_number(&w, c->mono_ms, 8);
    writer_number(&w, c->dtn_ms, 8);
    writer_number(&w, c->life_ms, 8);
}

int life_clock_read(const uint8_t *in, size_t len, struct life_clock *out)
{
    if (len != LIFE_CLOCK_NOTE)
        return HELIO_EFORMAT;
    memcpy(out->boot, in, LIFE_CLOCK_BOOT);
    struct reader r = reader_of(in + LIFE_CLOCK_BOOT, len - LIFE_CLOCK_BOOT);
    out->mono_ms = reader_number(&r, 8);
    out->dtn_ms = reader_number(&r, 8);
    out->life_ms = reader_number(&r, 8);
    return 0;
}
