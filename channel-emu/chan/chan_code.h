/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published curves of codes: the share of lost codewords over Es/N0, white noise. DVB-S2 with short
 * frames (BCH and LDPC, 50 iterations, sum-product; ETSI EN 302 307-1), as the AFF3CT project's
 * receiver measured them: Cassagne, Leonardon, Tajan, Leroux, Jego, Aumage, Barthou, "A Flexible
 * and Portable Real-Time DVB-S2 Transceiver Using Multicore and SIMD CPUs" (ISTC 2021), files
 * refs/BB of github.com/aff3ct/dvbs2, MIT licence; about 100 lost codewords a point.
 */
#ifndef CHANNEL_EMU_CHAN_CODE_H
#define CHANNEL_EMU_CHAN_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "channel-emu/chan/chan.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CODE_POINTS_MAX 5u
#define CODE_TABLE_MAX (CODE_POINTS_MAX + 2u)
#define CODE_LOSS_LEAST 1e-7 /* the curve is extrapolated down to this */

struct code_curve {
    const char *name;
    uint32_t data_bits; /* of a codeword, without its parity */
    size_t count;       /* points: from 2 to CODE_POINTS_MAX, Es/N0 rising and loss falling */
    struct {
        double esn0_db, loss;
    } points[CODE_POINTS_MAX];
};

#define CODE_NAMES "dvbs2-qpsk-3/5|dvbs2-qpsk-8/9|dvbs2-8psk-3/5|dvbs2-8psk-8/9|dvbs2-16apsk-8/9"
#define CODE_COUNT 5u

/* In the order of CODE_NAMES. */
extern const struct code_curve code_curves[CODE_COUNT];

/* The table of a receiver whose Es/N0 is 0 dB at a power of `noise_db`, and rises by `slope` dB for
 * each dB of power (1; or 2: a detector limited by its own noise). Beyond its first and last points
 * the curve is extrapolated from the two nearest points, to losses of 1 and CODE_LOSS_LEAST.
 * Returns the number of points. */
size_t code_table(const struct code_curve *c, double noise_db, double slope,
                  struct chan_power_point out[CODE_TABLE_MAX]);

#ifdef __cplusplus
}
#endif

#endif
