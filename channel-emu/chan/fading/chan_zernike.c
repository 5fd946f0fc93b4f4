/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polynomials of one radial order n have one variance, and there are n + 1 of them; from order to
 * order its gamma functions grow by a rational factor. The sum over all orders has a closed form,
 * half the mean structure function of the phase between two points of the pupil. Nothing can fail.
 */
#include "channel-emu/chan/fading/chan_zernike.h"

#include <assert.h>

#include "channel-emu/chan/chan_math.h"

/* With the spectrum's constant 0.0229 = Gamma(11/6)^2 (24/5 Gamma(6/5))^(5/6) / (2 pi^(11/3)):
 * of a tilt, and of all polynomials but piston. */
#define TILT 0.44887897368064429
#define ALL 1.0324216394654819

double zernike_variance(unsigned order)
{
    assert(order >= 1);
    double variance = TILT;
    for (unsigned n = 1; n < order; n++)
        variance *= (n + 2.0) / (n + 1.0) * (n - 5.0 / 6) / (n + 23.0 / 6);
    return variance;
}

double zernike_residual(unsigned modes)
{
    assert(modes >= 1 && modes <= ZERNIKE_MODES_MAX);
    double left = ALL;
    unsigned done = 1;
    for (unsigned order = 1; done < modes; order++) {
        unsigned more = modes - done < order + 1 ? modes - done : order + 1;
        left -= more * zernike_variance(order);
        done += more;
    }
    assert(left > 0);
    return left;
}

double zernike_coupling(unsigned modes, double ratio)
{
    assert(ratio > 0);
    return math_exp(-zernike_residual(modes) * math_pow(ratio, 5.0 / 3));
}
