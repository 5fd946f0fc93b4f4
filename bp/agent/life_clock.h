/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lifetime clock: the time by which lifetimes expire, also over restarts. A wall clock may be
 * missing, wrong or set. So elapsed time is measured: within one boot of the machine by its
 * monotonic clock; over a reboot by the wall clock if its value is plausible, and at least by the
 * time since the boot. Pure: the caller passes the clocks, and stores a note.
 */
#ifndef BP_LIFE_CLOCK_H
#define BP_LIFE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIFE_CLOCK_BOOT 16 /* bytes of a boot's identifier */
#define LIFE_CLOCK_NOTE (LIFE_CLOCK_BOOT + 24)
#define LIFE_CLOCK_GAP_MAX_MS (UINT64_C(366) * 86400000) /* a longer off time is a wrong clock */
#define LIFE_CLOCK_STEP_MS 1000 /* a smaller difference is drift, and no step */

/* Values of the clocks at one moment. */
struct life_clock {
    uint8_t boot[LIFE_CLOCK_BOOT]; /* all zero: unknown; then each boot is taken for a new one */
    uint64_t mono_ms;              /* since some moment of this boot */
    uint64_t dtn_ms;               /* wall clock, as DTN time; 0: none */
    uint64_t life_ms;              /* the lifetime clock */
};

enum life_clock_start {
    LIFE_CLOCK_NEW, /* there is no note of an earlier run: begins at the wall clock */
    /* continued by the monotonic clock of the same boot, or a plausible wall clock */
    LIFE_CLOCK_GOES_ON,
    /* the wall clock is missing, went back, or jumped: only the time since the boot */
    LIFE_CLOCK_UNKNOWN,
};

/* Sets now->life_ms from the note of the earlier run (NULL: none). *step_ms: difference of the wall
 * clock to its expected value (0: as expected, or unknown). */
enum life_clock_start life_clock_begin(struct life_clock *now, const struct life_clock *before,
                                       int64_t *step_ms);

/* The step of the wall clock since the last call: 0, or at least LIFE_CLOCK_STEP_MS. The caller
 * keeps *last_ms (wall minus monotonic clock; life_clock_offset at first). */
int64_t life_clock_offset(uint64_t mono_ms, uint64_t dtn_ms);
int64_t life_clock_step(int64_t *last_ms, uint64_t mono_ms, uint64_t dtn_ms);

/* The note: LIFE_CLOCK_NOTE bytes. read: 0 or HELIO_EFORMAT. */
void life_clock_write(const struct life_clock *c, uint8_t out[LIFE_CLOCK_NOTE]);
int life_clock_read(const uint8_t *in, size_t len, struct life_clock *out);

#endif
