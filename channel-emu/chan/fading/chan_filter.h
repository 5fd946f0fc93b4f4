/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normal processes whose power spectrum is flat up to a corner and falls with -8/3 or -17/3 above
 * it. White numbers pass a row of poles, and of zeros between them at equal ratios, so that the
 * average slope is the wanted one. With -8/3 the crossings of a threshold have no finite rate
 * (Rice's formula: the second moment of the spectrum diverges), until an inner scale bounds it.
 */
#ifndef CHANNEL_EMU_CHAN_FILTER_H
#define CHANNEL_EMU_CHAN_FILTER_H

#ifdef __cplusplus
extern "C" {
#endif

enum chan_slope { SLOPE_POINT, SLOPE_APERTURE }; /* -8/3, -17/3 */

#define CHAN_FILTER_MAX 18u

struct chan_filter {
    unsigned count;
    double pole[CHAN_FILTER_MAX], zero[CHAN_FILTER_MAX]; /* a zero of 0 is none */
    double state[CHAN_FILTER_MAX], gain;
};

#define CHAN_FILTER_INNER_MIN 5.0

/* Mean 0, deviation 1, and a correlation of 1/e after so many steps, 2 to 10^7. `inner_steps` is
 * the time in which an eddy of the inner scale drifts by, CHAN_FILTER_INNER_MIN steps to half the
 * coherence; 0: none. Above its frequency the spectrum falls with eight powers more, and the number
 * of crossings from step to step is that of the exponential of Tatarskii's spectrum to 0.2 %. The
 * states are kept: a filter in use changes without a leap. Begins zeroed. */
void chan_filter_set(struct chan_filter *f, enum chan_slope slope, double coherence_steps,
                     double inner_steps);

/* The next number of one that is normal. */
double chan_filter_next(struct chan_filter *f, double white);

/* The correlation after `steps`, and 1 after none: in closed form. */
double chan_filter_correlation(const struct chan_filter *f, unsigned long steps);

#ifdef __cplusplus
}
#endif

#endif
