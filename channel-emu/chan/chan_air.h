/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the air does to a downlink, by models of the literature (docs/helio-trace.md has the
 * formulas): the Hufnagel-Valley profile with a ground value of 1.7e-14 m^(-2/3) and 21 m/s of wind
 * aloft, the Rytov variance of a plane wave over it, the gamma-gamma parameters of Al-Habash et
 * al., the aperture averaging of Yura and McKinley. Elevations are in degrees, 5 to 90.
 */
#ifndef CHANNEL_EMU_CHAN_AIR_H
#define CHANNEL_EMU_CHAN_AIR_H

/* C_n^2 at a height, m^(-2/3). */
double air_profile(double height_m);

/* Fried's parameter of a plane wave, m. */
double air_fried(double elevation, double wavelength_nm);

/* The Rytov variance of a plane wave from above the atmosphere. */
double air_rytov(double elevation, double wavelength_nm);

/* The factor by which an aperture of that diameter reduces the scintillation index; 1 for 0. */
double air_aperture(double elevation, double wavelength_nm, double aperture_m);

/* Gamma-gamma parameters of a Rytov variance above 0, and the scintillation index of both. */
struct air_gamma {
    double alpha, beta;
};
struct air_gamma air_gamma(double rytov);
double air_index(struct air_gamma g);

/* Correlation time of the factor with alpha (large eddies) over that with beta (small ones). */
double air_scales(double rytov);

/* The greatest index that air_rytov_of knows; the model rises to it and then falls a little. */
#define AIR_INDEX_MAX 1.2

/* The least Rytov variance with the scintillation index 0.0005 to AIR_INDEX_MAX. */
double air_rytov_of(double index);

/* Distance to a satellite at that altitude over a round Earth, km. */
double air_range(double elevation, double altitude_km);

#endif
