/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The received power of an optical link, step by step: scintillation times pointing loss times the
 * path's gain (docs/helio-trace.md has the formulas). Correlated normal processes are bent to the
 * wanted distributions, so that these hold exactly at each instant.
 */
#ifndef CHANNEL_EMU_CHAN_FADE_H
#define CHANNEL_EMU_CHAN_FADE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/rng.h"
#include "base/tick.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fade_kind { FADE_STEADY, FADE_LOGNORMAL, FADE_GAMMA_GAMMA };

#define FADE_POINTS_MAX 64u

/* Elevation in degrees, 5 to 90, at a time; linear in between, constant before and after. */
struct fade_point {
    tick at;
    double elevation;
};

struct fade_config {
    enum fade_kind kind;
    double index;   /* scintillation index, 0.0005 to AIR_INDEX_MAX; 0: by the elevation */
    tick coherence; /* of the scintillation: its normal process falls to 1/e; ns */
    size_t points;  /* 0: no elevation, and then an index; at rising times */
    struct fade_point pass[FADE_POINTS_MAX];
    double wavelength_nm, aperture_m, altitude_km;
    double
        jitter; /* deviation of the pointing per axis / half-width of the beam at 1/e^2; 0: none */
    tick jitter_coherence;
};

#define FADE_COHERENCE_STEPS_MAX UINT64_C(10000000)

/* A normal process with mean 0 and deviation 1 through three equal poles: its correlation is
 * (1 + x + x^2/3) e^-x. */
struct fade_normal {
    double pole, gain, state[3];
};

/* The logarithm of a variable with mean 1, over the normal number. */
#define FADE_TABLE 209u
struct fade_table {
    double value[FADE_TABLE];
};

struct fade {
    const struct fade_config *config; /* borrowed */
    tick step;
    struct rng rng;
    struct fade_normal normal[4]; /* scintillation, its second factor, pointing in x and y */
    struct fade_table table[2];
    double sigma;   /* of the lognormal */
    double path;    /* logarithm of the path's gain now */
    uint64_t now;   /* steps made */
    uint64_t renew; /* when the tables and the path's gain are made anew */
};

/* HELIO_EINVAL when a coherence time is under 2 steps or over FADE_COHERENCE_STEPS_MAX of them, or
 * when a scintillation has neither an index nor an elevation; else 0. */
int fade_check(const struct fade_config *c, tick step);

/* The configuration has been checked for the step. */
void fade_init(struct fade *f, const struct fade_config *c, tick step, uint64_t seed);

/* The power of the next step, relative to that without scintillation and pointing loss at the
 * pass's highest elevation. */
double fade_next(struct fade *f);

/* The elevation at a time, and the scintillation index there (0 when steady). */
double fade_elevation(const struct fade_config *c, tick at);
double fade_index(const struct fade_config *c, double elevation);

/* For tests: a process by itself, and the table of a gamma variable of that shape. */
void fade_normal_init(struct fade_normal *n, double coherence_steps);
double fade_normal_next(struct fade_normal *n, double white);
void fade_table_gamma(struct fade_table *t, double shape);
double fade_table_at(const struct fade_table *t, double z);

#ifdef __cplusplus
}
#endif

#endif
