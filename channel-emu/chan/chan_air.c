/* SPDX-License-Identifier: Apache-2.0 */
/* Each term of the profile is a power of the height times a falling exponential, so that its
 * moments are gamma functions and need no integration. Nothing can fail. */
#include "channel-emu/chan/chan_air.h"

#include <assert.h>
#include <math.h>

#include "channel-emu/chan/chan_math.h"

#define PI 3.14159265358979323846
#define EARTH_KM 6371.0

static const struct {
    double factor, power, height;
} terms[] = {
    {0.00594 * (21.0 / 27) * (21.0 / 27) * 1e-50, 10, 1000}, {2.7e-16, 0, 1500}, {1.7e-14, 0, 100}};

double air_profile(double height_m)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double grown = 1;
        for (int n = 0; n < (int)terms[i].power; n++)
            grown *= height_m;
        sum += terms[i].factor * grown * math_exp(-height_m / terms[i].height);
    }
    return sum;
}

/* The integral of C_n^2 h^power dh, in metres. */
static double moment_of(double power)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double n = power + terms[i].power + 1;
        sum += terms[i].factor * math_exp(n * math_log(terms[i].height) + math_lgamma(n));
    }
    return sum;
}

static double secant_of(double elevation)
{
    assert(elevation > 0 && elevation <= 90);
    return 1 / math_sin(elevation * (PI / 180));
}

double air_rytov(double elevation, double wavelength_nm)
{
    double k = 2 * PI / (wavelength_nm * 1e-9);
    return 2.25 * math_pow(k, 7.0 / 6) * math_pow(secant_of(elevation), 11.0 / 6) *
           moment_of(5.0 / 6);
}

double air_fried(double elevation, double wavelength_nm)
{
    double k = 2 * PI / (wavelength_nm * 1e-9);
    return math_pow(0.423 * k * k * secant_of(elevation) * moment_of(0), -3.0 / 5);
}

double air_aperture(double elevation, double wavelength_nm, double aperture_m)
{
    if (aperture_m <= 0)
        return 1;
    double height = math_pow(moment_of(2) / moment_of(5.0 / 6), 6.0 / 7);
    double ratio = aperture_m * aperture_m / (wavelength_nm * 1e-9 * height * secant_of(elevation));
    return 1 / (1 + 1.1 * math_pow(ratio, 7.0 / 6));
}

/* e^x - 1 without loss for small x. */
static double grow_power(double x)
{
    if (x > 0.01)
        return math_exp(x) - 1;
    return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5))));
}

struct air_gamma air_gamma(double rytov)
{
    double s = math_pow(rytov, 6.0 / 5);
    return (struct air_gamma){
        .alpha = 1 / grow_power(0.49 * rytov / math_pow(1 + 1.11 * s, 7.0 / 6)),
        .beta = 1 / grow_power(0.51 * rytov / math_pow(1 + 0.69 * s, 5.0 / 6))};
}

double air_scales(double rytov)
{
    double s = math_pow(rytov, 6.0 / 5);
    return sqrt(3 * (1 + 0.69 * s) * (1 + 1.11 * s) / 2.61);
}

double air_index(struct air_gamma g)
{
    return 1 / g.alpha + 1 / g.beta + 1 / (g.alpha * g.beta);
}

double air_rytov_of(double index)
{
    double low = 1e-4, high = 8; /* the index rises up to some 10 */
    for (int i = 0; i < 80; i++) {
        double middle = sqrt(low * high);
        *(air_index(air_gamma(middle)) < index ? &low : &high) = middle;
    }
    return sqrt(low * high);
}

double air_range(double elevation, double altitude_km)
{
    assert(elevation > 0 && elevation <= 90 && altitude_km > 0);
    double s = EARTH_KM * math_sin(elevation * (PI / 180)), a = EARTH_KM + altitude_km;
    return sqrt(a * a - EARTH_KM * EARTH_KM + s * s) - s;
}
