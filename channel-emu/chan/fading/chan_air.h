/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects of the air on a downlink, by models of the literature (docs/helio-trace.md has the
 * formulas). They are a profile of the turbulence, the Rytov variance of a plane wave over it, the
 * gamma-gamma parameters of Al-Habash et al., and the aperture averaging of weak turbulence.
 * Elevations are in degrees, 5 to 90. The errors of the formulas are in docs/channel.md.
 */
#ifndef CHANNEL_EMU_CHAN_AIR_H
#define CHANNEL_EMU_CHAN_AIR_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AIR_POINTS_MAX 64u

/* factor * height^power from that height on, in metres. */
struct air_band {
    double from, factor, power;
};

/* C_n^2 over the height. With bands: as the last one that has begun. Without points: Hufnagel and
 * Valley, with a wind aloft in m/s and a value at the ground in m^(-2/3). With points, at rising
 * heights in m: the logarithm is linear in between; the first one counts below, and above the last
 * one there is nothing. */
struct air_profile {
    double wind, ground;
    double scale;                 /* all of it is multiplied by that; 0: by 1 */
    const struct air_band *bands; /* static; up to one with the factor 0 */
    size_t points;
    double height[AIR_POINTS_MAX], cn2[AIR_POINTS_MAX];
};

/* 21 m/s and 1.7e-14: "5/7". */
extern const struct air_profile air_hv57;

/* The profile of that name: hv57, slc-day or slc-night. False: there is none. */
bool air_named(const char *name, struct air_profile *out);

/* C_n^2 at a height, m^(-2/3). */
double air_cn2(const struct air_profile *p, double height_m);

/* Fried's parameter of a plane wave, m. */
double air_fried(const struct air_profile *p, double elevation, double wavelength_nm);

/* Scales a profile such that Fried's parameter in the zenith is that; 0: back to 1. */
void air_scale(struct air_profile *p, double wavelength_nm, double fried_m);

/* The Rytov variance of a plane wave from above the atmosphere. */
double air_rytov(const struct air_profile *p, double elevation, double wavelength_nm);

/* The profile in layers, 0 to AIR_LAYERS - 1, of equal ratios of height from 0 to 30 km: heights
 * and depths in metres. A sum over them is the integral by the rule of the trapezoid. */
#define AIR_LAYERS 400
/* One layer, metres. */
struct air_layer {
    double height, depth;
};
/* The layer i, 0 to AIR_LAYERS - 1. */
struct air_layer air_layer(int i);

/* The factor by which an aperture reduces the scintillation index that one thin layer makes, in
 * weak Kolmogorov turbulence. `size` is k D^2 / (4 z), with the distance z of the layer; 1 for 0.
 */
double air_aperture_layer(double size);

/* The same for the whole profile and an aperture of that diameter; 1 for 0. */
double air_aperture(const struct air_profile *p, double elevation, double wavelength_nm,
                    double aperture_m);

/* Gamma-gamma parameters of a Rytov variance above 0, and the scintillation index of both. */
struct air_gamma {
    double alpha, beta;
};
/* The parameters of a Rytov variance. */
struct air_gamma air_gamma(double rytov);
/* The scintillation index of both. */
double air_index(struct air_gamma g);

/* Correlation time of the factor with alpha (large eddies) over that with beta (small ones). */
double air_scales(double rytov);

/* The greatest index that air_rytov_of knows; the model rises to it and then falls a little. */
#define AIR_INDEX_MAX 1.2

/* The least Rytov variance with the scintillation index 0.0005 to AIR_INDEX_MAX. */
double air_rytov_of(double index);

/* Distance to a satellite at that altitude over a round Earth, km. */
double air_range(double elevation, double altitude_km);

#ifdef __cplusplus
}
#endif

#endif
