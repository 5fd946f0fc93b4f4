/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the air passes through a line of sight, and what follows for a link through it
 * (docs/helio-trace.md has the formulas and their sources): Bufton's wind, the slew of a telescope
 * that follows a satellite, Greenwood's frequency, the coherence time of scintillation; and what is
 * different upwards. Elevations are in degrees, 5 to 90; wind near the ground in m/s; slew in
 * rad/s.
 */
#ifndef CHANNEL_EMU_CHAN_WIND_H
#define CHANNEL_EMU_CHAN_WIND_H

#include "channel-emu/chan/fading/chan_air.h"

/* Across the line of sight at a height, m/s. */
double wind_at(double height_m, double ground, double slew);

/* Of a satellite in a circular orbit whose pass goes through the zenith; the Earth's rotation is
 * left out. */
double wind_slew(double elevation, double altitude_km);

/* Hz. */
double wind_greenwood(const struct air_profile *p, double elevation, double wavelength_nm,
                      double ground, double slew);

/* Seconds after which the scintillation's correlation is 1/e, behind an aperture of that diameter
 * (0: a point). */
double wind_coherence(const struct air_profile *p, double elevation, double wavelength_nm,
                      double aperture_m, double ground, double slew);

/* Beam wander upwards of a beam with radius waist_m at 1/e^2: deviation per axis / the beam's
 * half-angle. */
double wind_wander(const struct air_profile *p, double elevation, double wavelength_nm,
                   double waist_m);

/* Air mass (1 in the zenith). */
double wind_air_mass(double elevation);

#endif
