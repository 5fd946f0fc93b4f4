/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves of codes: the share of lost codewords over a level in dB.
 *
 * DVB-S2: over Es/N0, white noise. Short frames (BCH and LDPC, 50 iterations, sum-product; ETSI EN
 * 302 307-1), as the AFF3CT project's receiver measured them: Cassagne, Leonardon, Tajan, Leroux,
 * Jego, Aumage, Barthou, "A Flexible and Portable Real-Time DVB-S2 Transceiver Using Multicore and
 * SIMD CPUs" (ISTC 2021), files refs/BB of github.com/aff3ct/dvbs2, MIT licence; about 100 lost
 * codewords a point.
 *
 * HPE, the serially concatenated PPM of CCSDS 142.0-B-1: over the mean of detected signal photons
 * in a pulse, Poisson counts, a constant mean of detected background photons in a slot. Nobody's
 * published numbers: tests/validation/scppm.c simulated them, with 32 iterations.
 */
#ifndef CHANNEL_EMU_CHAN_CODE_H
#define CHANNEL_EMU_CHAN_CODE_H

#include <stdbool.h>
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
    bool photons;       /* the level is photons in a pulse, not Es/N0 */
    size_t count;       /* points: from 2 to CODE_POINTS_MAX, level rising and loss falling */
    struct {
        double level_db, loss;
    } points[CODE_POINTS_MAX];
};

#define CODE_NAMES                                                                                 \
    "dvbs2-qpsk-3/5|dvbs2-qpsk-8/9|dvbs2-8psk-3/5|dvbs2-8psk-8/9|dvbs2-16apsk-8/9|"                \
    "hpe-16ppm-1/3-b0.2|hpe-16ppm-1/2-b0.01|hpe-16ppm-1/2-b0.2|hpe-16ppm-2/3-b0.2|"                \
    "hpe-64ppm-1/3-b0.2|hpe-64ppm-1/2-b0.01|hpe-64ppm-1/2-b0.2|hpe-64ppm-2/3-b0.2"
#define CODE_COUNT 13u

/* In the order of CODE_NAMES. */
extern const struct code_curve code_curves[CODE_COUNT];

/* The table of a receiver whose level is 0 dB at a power of `noise_db`, and rises by `slope` dB for
 * each dB of power (1; or 2: a detector limited by its own noise). Beyond its first and last points
 * the curve is extrapolated from the two nearest points, to losses of 1 and CODE_LOSS_LEAST.
 * Returns the number of points. */
size_t code_table(const struct code_curve *c, double noise_db, double slope,
                  struct chan_power_point out[CODE_TABLE_MAX]);

#ifdef __cplusplus
}
#endif

#endif
