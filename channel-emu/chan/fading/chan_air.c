/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each term of the profile is a power of the height times a falling exponential, so that its
 * moments are gamma functions and need no integration. The aperture's averaging is a sum over
 * layers: the integral over wave numbers of each layer is a hypergeometric function. Nothing can
 * fail.
 */
#include "channel-emu/chan/fading/chan_air.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "channel-emu/chan/chan_math.h"

#define PI 3.14159265358979323846
#define EARTH_KM 6371.0
#define TOP_LOG 8.00636756765025 /* ln 3001 */
#define COS_75 0.25881904510252076
#define TAN_75 3.7320508075688773
/* The first coefficients of the series for wide apertures: K = 2 Gamma(7/3) / (Gamma(3/2)
 * Gamma(17/6) Gamma(23/6)), and 2 Gamma(-7/3) / (Gamma(1/2) Gamma(-5/6) Gamma(3/2)). */
#define WIDE_K 0.3188770154187206
#define WIDE_L 0.2488990501953138
#define WIDE_FROM                                                                                  \
    32.0 /* the series for narrow ones loses digits, that for wide ones gains them                 \
          */

const struct air_profile air_hv57 = {.wind = 21, .ground = 1.7e-14};

/* Submarine Laser Communication study (Miller and Zieske 1976; Parenti and Sasiela 1994). */
static const struct air_band slc_day[] = {{0, 1.7e-14, 0},     {18.5, 3.13e-13, -1.05},
                                          {240, 1.3e-15, 0},   {880, 8.87e-7, -3},
                                          {7200, 2e-16, -0.5}, {20000, 0, 0}};
static const struct air_band slc_night[] = {{0, 8.4e-15, 0},     {18.5, 2.87e-12, -2},
                                            {110, 2.5e-16, 0},   {1500, 8.87e-7, -3},
                                            {7200, 2e-16, -0.5}, {20000, 0, 0}};

bool air_named(const char *name, struct air_profile *out)
{
    if (strcmp(name, "hv57") == 0)
        *out = air_hv57;
    else if (strcmp(name, "slc-day") == 0)
        *out = (struct air_profile){.bands = slc_day};
    else if (strcmp(name, "slc-night") == 0)
        *out = (struct air_profile){.bands = slc_night};
    else
        return false;
    return true;
}

/* A power of the height times a falling exponential. */
struct term {
    double factor, power, height;
};

static struct term term_of(const struct air_profile *p, int i)
{
    const double wind = p->wind / 27;
    const struct term terms[] = {
        {0.00594 * wind * wind * 1e-50, 10, 1000}, {2.7e-16, 0, 1500}, {p->ground, 0, 100}};
    return terms[i];
}

static double table_cn2(const struct air_profile *p, double height_m)
{
    size_t i = 0;
    while (i < p->points && p->height[i] <= height_m)
        i++;
    if (i == 0 || i == p->points)
        return i == 0 ? p->cn2[0] : 0;
    double part = (height_m - p->height[i - 1]) / (p->height[i] - p->height[i - 1]);
    double low = math_log(p->cn2[i - 1]), high = math_log(p->cn2[i]);
    return math_exp(low + part * (high - low));
}

static double band_cn2(const struct air_profile *p, double height_m)
{
    const struct air_band *b = p->bands;
    while (b->factor > 0 && b[1].from <= height_m)
        b++;
    return b->power < 0 ? b->factor * math_pow(height_m, b->power) : b->factor;
}

static double scale_of(const struct air_profile *p)
{
    return p->scale > 0 ? p->scale : 1;
}

double air_cn2(const struct air_profile *p, double height_m)
{
    double sum = 0;
    if (p->points > 0 || p->bands != NULL)
        return scale_of(p) * (p->bands != NULL ? band_cn2 : table_cn2)(p, height_m);
    for (int i = 0; i < 3; i++) {
        struct term t = term_of(p, i);
        double grown = 1;
        for (int n = 0; n < (int)t.power; n++)
            grown *= height_m;
        sum += t.factor * grown * math_exp(-height_m / t.height);
    }
    return scale_of(p) * sum;
}

/* The integral of C_n^2 h^power dh, in metres. */
static double moment_of(const struct air_profile *p, double power)
{
    double sum = 0;
    bool closed = p->points == 0 && p->bands == NULL;
    for (int i = 0; i < 3 && closed; i++) {
        struct term t = term_of(p, i);
        double n = power + t.power + 1;
        sum += scale_of(p) * t.factor * math_exp(n * math_log(t.height) + math_lgamma(n));
    }
    for (int i = 1; i < AIR_LAYERS && !closed; i++) {
        struct air_layer l = air_layer(i);
        sum += air_cn2(p, l.height) * math_pow(l.height, power) * l.depth;
    }
    return sum;
}

static double secant_of(double elevation)
{
    assert(elevation > 0 && elevation <= 90);
    return 1 / math_sin(elevation * (PI / 180));
}

double air_rytov(const struct air_profile *p, double elevation, double wavelength_nm)
{
    double k = 2 * PI / (wavelength_nm * 1e-9);
    return 2.25 * math_pow(k, 7.0 / 6) * math_pow(secant_of(elevation), 11.0 / 6) *
           moment_of(p, 5.0 / 6);
}

double air_fried(const struct air_profile *p, double elevation, double wavelength_nm)
{
    double k = 2 * PI / (wavelength_nm * 1e-9);
    return math_pow(0.423 * k * k * secant_of(elevation) * moment_of(p, 0), -3.0 / 5);
}

void air_scale(struct air_profile *p, double wavelength_nm, double fried_m)
{
    p->scale = 0;
    if (fried_m > 0)
        p->scale = math_pow(air_fried(p, 90, wavelength_nm) / fried_m, 5.0 / 3);
}

struct air_layer air_layer(int i)
{
    assert(i >= 0 && i < AIR_LAYERS);
    const double step = TOP_LOG / (AIR_LAYERS - 1);
    double grown = 10 * math_exp(i * step);
    double depth = grown * step;
    return (struct air_layer){grown - 10, i == 0 || i == AIR_LAYERS - 1 ? depth / 2 : depth};
}

/* 2F2(-5/6, 3/2; 2, 3; iX) by its power series: its real and imaginary part in turns. */
static double average_narrow(double x)
{
    double term = 1, part[2] = {1, 0};
    for (int n = 0; n < 400 && (n < x || term > 1e-17 || term < -1e-17); n++) {
        term *= (n + 1.5) * (n - 5.0 / 6) / ((n + 1.0) * (n + 2.0) * (n + 3.0)) * x;
        part[(n + 1) % 2] += (n + 1) % 4 < 2 ? term : -term;
    }
    return part[0] - TAN_75 * part[1] - WIDE_K / COS_75 * math_pow(x, 5.0 / 6);
}

/* Its asymptotic series: powers 5/6 - k of X, of which every other is left, and -3/2 - k. */
static double average_wide(double x)
{
    /* cos(7 pi / 6 + k pi / 2) */
    static const double turn[4] = {-0.86602540378443865, 0.5, 0.86602540378443865, -0.5};
    double first = WIDE_K * math_pow(x, 5.0 / 6), second = WIDE_L * math_pow(x, -1.5), sum = 0;
    for (int k = 0; k < 12; k++) {
        if (k % 2 == 0 && k > 0)
            sum += k % 4 == 0 ? first : -first;
        sum += turn[k % 4] * second;
        first *= -(k - 5.0 / 6) * (11.0 / 6 - k) * (17.0 / 6 - k) / ((k + 1) * (4.0 / 3 - k)) / x;
        second *= (k + 1.5) * (-0.5 - k) * (0.5 - k) / ((k + 1) * (10.0 / 3 + k)) / x;
    }
    return sum / COS_75;
}

double air_aperture_layer(double size)
{
    assert(size >= 0);
    return size <= 0 ? 1 : size < WIDE_FROM ? average_narrow(size) : average_wide(size);
}

double air_aperture(const struct air_profile *p, double elevation, double wavelength_nm,
                    double aperture_m)
{
    if (aperture_m <= 0)
        return 1;
    double k = 2 * PI / (wavelength_nm * 1e-9), all = 0, averaged = 0;
    double square = k * aperture_m * aperture_m / (4 * secant_of(elevation));
    for (int i = 1; i < AIR_LAYERS; i++) {
        struct air_layer l = air_layer(i);
        double weight = air_cn2(p, l.height) * math_pow(l.height, 5.0 / 6) * l.depth;
        all += weight;
        averaged += weight * air_aperture_layer(square / l.height);
    }
    assert(all > 0 && averaged > 0);
    return averaged / all;
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
