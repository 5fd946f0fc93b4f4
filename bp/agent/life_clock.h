/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time by which lifetimes count over restarts. A wall clock may be missing, wrong, or set; what
 * has passed is known better: within one boot of the machine by its monotonic clock, over a reboot
 * by the wall clock as long as that is plausible, and at least by the time since the boot. Pure:
 * the clocks are arguments, what must be remembered is a note for the store.
 */
#ifndef BP_LIFE_CLOCK_H
#define BP_LIFE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIFE_CLOCK_BOOT 16 /* bytes that name a boot of the machine */
#define LIFE_CLOCK_NOTE (LIFE_CLOCK_BOOT + 24)
#define LIFE_CLOCK_GAP_MAX_MS (UINT64_C(366) * 86400000) /* a longer time off is a wrong clock */
#define LIFE_CLOCK_STEP_MS 1000 /* a smaller difference is no step but the clock's own drift */

/* What the clocks say at one moment. */
struct life_clock {
    uint8_t boot[LIFE_CLOCK_BOOT]; /* all zero: unknown, as another one each time */
    uint64_t mono_ms;              /* since some moment of this boot */
    uint64_t dtn_ms;               /* wall clock, as DTN time; 0: none */
    uint64_t life_ms;              /* the time by which lifetimes count */
};

enum life_clock_start {
    LIFE_CLOCK_NEW,     /* nothing is known of an earlier life: by the wall clock */
    LIFE_CLOCK_GOES_ON, /* by the monotonic clock of the same boot, or a plausible wall clock */
    LIFE_CLOCK_UNKNOWN, /* the wall clock is missing, went back, or jumped: since the boot only */
};

/* Sets now->life_ms from what was noted before (NULL: nothing). *step_ms: how far the wall clock is
 * from where it would be (0: as expected, or nobody knows). */
enum life_clock_start life_clock_begin(struct life_clock *now, const struct life_clock *before,
                                       int64_t *step_ms);

/* The wall clock's step since the last call, with *last_ms kept by the caller (wall less monotonic
 * clock; begin with life_clock_offset): 0, or at least LIFE_CLOCK_STEP_MS. */
int64_t life_clock_offset(uint64_t mono_ms, uint64_t dtn_ms);
int64_t life_clock_step(int64_t *last_ms, uint64_t mono_ms, uint64_t dtn_ms);

/* The note: LIFE_CLOCK_NOTE bytes. read: 0 or HELIO_EFORMAT. */
void life_clock_write(const struct life_clock *c, uint8_t out[LIFE_CLOCK_NOTE]);
int life_clock_read(const uint8_t *in, size_t len, struct life_clock *out);

#endif
