/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the formulas of the air give (chan_air.h, chan_wind.h), and the losses of the codes
 * (chan_code.h): each line of the standard input is a name and its numbers, in the order of the
 * function's arguments; each line of the output a number.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "channel-emu/chan/chan_code.h"
#include "channel-emu/chan/fading/chan_air.h"
#include "channel-emu/chan/fading/chan_power.h"
#include "channel-emu/chan/fading/chan_wind.h"
#include "channel-emu/chan/fading/chan_zernike.h"

static double index_of(const double *a)
{
    return air_index(air_gamma(a[0]));
}

static double layer(const double *a)
{
    return air_aperture_layer(a[0]);
}

static double mass(const double *a)
{
    return wind_air_mass(a[0]);
}

static double rytov(const double *a)
{
    return air_rytov(&air_hv57, a[0], a[1]);
}

static double fried(const double *a)
{
    return air_fried(&air_hv57, a[0], a[1]);
}

static double slew(const double *a)
{
    return wind_slew(a[0], a[1]);
}

static double range(const double *a)
{
    return air_range(a[0], a[1]);
}

static double wander(const double *a)
{
    return wind_wander(&air_hv57, a[0], a[1], a[2]);
}

static double aperture(const double *a)
{
    return air_aperture(&air_hv57, a[0], a[1], a[2]);
}

static double residual(const double *a)
{
    return zernike_residual((unsigned)a[0]);
}

static double coupling(const double *a)
{
    return zernike_coupling((unsigned)a[0], a[1]);
}

/* 0: slc-day, 1: slc-night */
static double slc(const double *a)
{
    struct air_profile p = {0};
    air_named(a[0] > 0 ? "slc-night" : "slc-day", &p);
    return air_fried(&p, a[1], a[2]);
}

/* The Rytov variance with that r0 in the zenith. */
static double scaled(const double *a)
{
    struct air_profile p = air_hv57;
    air_scale(&p, a[2], a[0]);
    return air_rytov(&p, a[1], a[2]);
}

static double greenwood(const double *a)
{
    return wind_greenwood(&air_hv57, a[0], a[1], a[2], a[3]);
}

static double coherence(const double *a)
{
    return wind_coherence(&air_hv57, a[0], a[1], a[2], a[3], a[4]);
}

/* The loss of a codeword: number of the curve, level in dB. */
static double code(const double *a)
{
    struct chan_power_point table[CODE_TABLE_MAX];
    struct chan_power p = {.points = table, .codeword_bits = 0};
    p.count = code_table(&code_curves[(size_t)a[0]], 0, 1, table);
    return chan_power_errors(&p, pow(10, a[1] / 10), 1).loss;
}

static const struct {
    const char *name;
    int arguments;
    double (*at)(const double *);
} formulas[] = {{"code", 2, code},          {"scaled", 3, scaled},     {"residual", 1, residual},
                {"coupling", 2, coupling},  {"slc", 3, slc},           {"index", 1, index_of},
                {"layer", 1, layer},        {"mass", 1, mass},         {"rytov", 2, rytov},
                {"fried", 2, fried},        {"slew", 2, slew},         {"range", 2, range},
                {"wander", 3, wander},      {"aperture", 3, aperture}, {"greenwood", 4, greenwood},
                {"coherence", 5, coherence}};

int main(void)
{
    char name[32];
    while (scanf("%31s", name) == 1) {
        double a[5];
        size_t i = 0;
        while (i < sizeof formulas / sizeof *formulas && strcmp(formulas[i].name, name) != 0)
            i++;
        if (i == sizeof formulas / sizeof *formulas)
            return 2;
        for (int k = 0; k < formulas[i].arguments; k++)
            if (scanf("%lf", &a[k]) != 1)
                return 2;
        printf("%.17g\n", formulas[i].at(a));
    }
    return 0;
}
