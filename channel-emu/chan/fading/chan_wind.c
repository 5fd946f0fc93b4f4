/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the layers of the profile. Nothing can fail. */
#include "channel-emu/chan/fading/chan_wind.h"

#include <assert.h>
#include <math.h>

#include "channel-emu/chan/chan_math.h"
#include "channel-emu/chan/fading/chan_air.h"

#define PI 3.14159265358979323846
#define EARTH_M 6371e3
#define MU 3.986004418e14 /* of the Earth, m^3/s^2 */
/* A thin layer of Kolmogorov's turbulence that drifts across the line of sight: the shift after
 * which the covariance of a point receiver is 1/e, in square roots of distance / wave number; and
 * that of a wide aperture, in diameters. */
#define POINT_SHIFT 1.20457
#define APERTURE_SHIFT 0.41944

static double sine_of(double elevation)
{
    assert(elevation > 0 && elevation <= 90);
    return math_sin(elevation * (PI / 180));
}

double wind_at(double height_m, double ground, double slew)
{
    double x = (height_m - 9400) / 4800;
    return slew * height_m + ground + 30 * math_exp(-x * x);
}

double wind_slew(double elevation, double altitude_km)
{
    double orbit = EARTH_M + altitude_km * 1e3, sine = sine_of(elevation);
    double nadir = EARTH_M / orbit, square = nadir * nadir * (1 - sine * sine);
    assert(square < 1);
    return sqrt(MU / orbit) * sqrt(1 - square) / (air_range(elevation, altitude_km) * 1e3);
}

double wind_greenwood(const struct air_profile *p, double elevation, double wavelength_nm,
                      double ground, double slew)
{
    double sum = 0, k = 2 * PI / (wavelength_nm * 1e-9);
    for (int i = 0; i < AIR_LAYERS; i++) {
        struct air_layer s = air_layer(i);
        sum += air_cn2(p, s.height) * math_pow(wind_at(s.height, ground, slew), 5.0 / 3) * s.depth;
    }
    return math_pow(0.102 * k * k / sine_of(elevation) * sum, 3.0 / 5);
}

double wind_coherence(const struct air_profile *p, double elevation, double wavelength_nm,
                      double aperture_m, double ground, double slew)
{
    double k = 2 * PI / (wavelength_nm * 1e-9), sine = sine_of(elevation);
    double weights = 0, rates = 0, wide = APERTURE_SHIFT * aperture_m;
    for (int i = 1; i < AIR_LAYERS; i++) {
        struct air_layer s = air_layer(i);
        double distance = s.height / sine, size = k * aperture_m * aperture_m / (4 * distance);
        double weight =
            air_cn2(p, s.height) * math_pow(s.height, 5.0 / 6) * s.depth * air_aperture_layer(size);
        double shift = sqrt(POINT_SHIFT * POINT_SHIFT * distance / k + wide * wide);
        weights += weight;
        rates += weight * wind_at(s.height, ground, slew) / shift;
    }
    assert(weights > 0 && rates > 0);
    return weights / rates;
}

double wind_wander(const struct air_profile *p, double elevation, double wavelength_nm,
                   double waist_m)
{
    double ratio = 2 * waist_m / air_fried(p, elevation, wavelength_nm);
    assert(ratio > 0);
    return sqrt(0.27) * (PI / 2) * math_pow(ratio, 5.0 / 6);
}

double wind_air_mass(double elevation)
{
    return 1 / (sine_of(elevation) + 0.50572 * math_pow(elevation + 6.07995, -1.6364));
}
