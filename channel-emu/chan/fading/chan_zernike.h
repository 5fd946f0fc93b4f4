/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Kolmogorov's turbulence leaves of a wave behind adaptive optics, and how much of it a
 * single-mode fibre takes (Noll 1976; docs/helio-trace.md). Variances are those of the phase over a
 * round pupil, in rad^2, for a diameter of one Fried's parameter r0: times (D/r0)^(5/3).
 */
#ifndef CHANNEL_EMU_CHAN_ZERNIKE_H
#define CHANNEL_EMU_CHAN_ZERNIKE_H

#define ZERNIKE_MODES_MAX 1000u

/* Of one Zernike polynomial of that radial order, from 1. */
double zernike_variance(unsigned order);

/* Of all polynomials beyond the first `modes` in Noll's order, 1 (piston alone) to
 * ZERNIKE_MODES_MAX. */
double zernike_residual(unsigned modes);

/* Mean power in the fibre over that of a plane wave, with the first `modes` corrected and a pupil
 * diameter of `ratio` times r0: exp(-variance). */
double zernike_coupling(unsigned modes, double ratio);

#endif
