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
#include "channel-emu/chan/fading/chan_air.h"
#include "channel-emu/chan/fading/chan_filter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The distribution of the power: constant, lognormal, gamma-gamma. */
enum fade_kind { FADE_STEADY, FADE_LOGNORMAL, FADE_GAMMA_GAMMA };

/* How the spectrum of the scintillation falls: with -6 (three equal poles), or by chan_filter.h. */
enum fade_spectrum { FADE_STEEP, FADE_POINT, FADE_APERTURE };

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
    struct air_profile profile;
    /* 0: none; else the receiver's power is that in a single-mode fibre behind adaptive optics that
     * correct so many modes (chan_zernike.h) */
    unsigned fibre;
    double
        jitter; /* deviation of the pointing per axis / half-width of the beam at 1/e^2; 0: none */
    tick jitter_coherence;
    enum fade_spectrum spectrum;
    tick inner;      /* of FADE_POINT: the inner scale over the wind; 0: there is none */
    bool wind;       /* the coherence time follows from wind and slew instead */
    double wind_m_s; /* near the ground */
    bool orbit;      /* slew by the elevation and altitude; else: */
    double slew;     /* rad/s */
    /* gamma-gamma's factors have correlation times of their own, whose geometric mean is the
     * coherence time */
    bool two_scales;
    double bias;         /* of the pointing, constant, / half-width of the beam */
    double uplink_m;     /* radius of the beam upwards at 1/e^2; 0: it is a downlink */
    double residual;     /* what adaptive optics leave of index and wander variance upwards, 0..1 */
    double extinction;   /* in the zenith, dB */
    double cloud;        /* share of the sky that is covered, seen in the zenith; 0: none */
    tick cloud_duration; /* mean of a cloud in the line of sight */
    bool back; /* the other direction of the link that the same configuration is without this */
    double back_correlation; /* of both directions' normal processes, 0 to 1 */
    int64_t back_lag;        /* by which this direction follows the other one, ns */
};

#define FADE_COHERENCE_STEPS_MAX UINT64_C(10000000)

/* A normal process with mean 0 and deviation 1 through three equal poles: its correlation is
 * (1 + x + x^2/3) e^-x. */
struct fade_normal {
    double pole, gain, state[3];
};

/* The logarithm of a variable with mean 1, over the normal number. */
#define FADE_TABLE 209u
/* Its values at equal distances of the normal number. */
struct fade_table {
    double value[FADE_TABLE];
};

struct fade_process {
    struct fade_normal steep;
    struct chan_filter filter; /* of the other spectra */
};

struct fade {
    const struct fade_config *config; /* borrowed */
    tick step;
    struct rng rng;
    struct fade_process normal[4]; /* scintillation, its second factor, pointing in x and y */
    double coherence[2];           /* of the first two, steps; 0: not yet */
    double drawn[2];               /* by the first two in this step */
    const struct fade *beside;     /* a direction with correlated random numbers; NULL: none */
    double jitter;                 /* of the pointing now, wander included */
    struct rng clouds;
    bool covered;
    double appears, goes; /* probability that a cloud does, in a step */
    struct fade_table table[2];
    double sigma;   /* of the lognormal */
    double path;    /* logarithm of the path's gain now */
    uint64_t now;   /* steps made */
    uint64_t renew; /* when the tables and the path's gain are made anew */
};

/* Returns 0, or HELIO_EINVAL: a coherence time below 2 steps or above FADE_COHERENCE_STEPS_MAX
 * steps; an inner scale below CHAN_FILTER_INNER_MIN steps or above half a coherence time; a
 * scintillation with neither index nor elevation. */
int fade_check(const struct fade_config *c, tick step);

/* The configuration has been checked for the step. */
void fade_init(struct fade *f, const struct fade_config *c, tick step, uint64_t seed);

/* The reverse direction: its own random numbers, the same clouds, and in each step the latest
 * numbers of `beside` with the weight of back_correlation. `beside` must stay valid. */
void fade_init_back(struct fade *f, const struct fade *beside, const struct fade_config *c,
                    tick step, uint64_t seed);

/* The power of the next step, relative to that without scintillation and pointing loss at the
 * pass's highest elevation. */
double fade_next(struct fade *f);

/* Mean power in the fibre over that of a plane wave at an elevation; 1 without a fibre. */
double fade_coupling(const struct fade_config *c, double elevation);

/* The elevation at a time, and the scintillation index there (0 when steady). */
double fade_elevation(const struct fade_config *c, tick at);
/* The scintillation index at that elevation; 0: the power is steady. */
double fade_index(const struct fade_config *c, double elevation);
/* The coherence time of the scintillation there, ns. */
double fade_coherence(const struct fade_config *c, double elevation);
/* The share of the time in which a cloud is in the line of sight there. */
double fade_covered(const struct fade_config *c, double elevation);
/* Are the clear times between clouds a step or longer at every corner of the pass? */
bool fade_clouds_clear(const struct fade_config *c, tick step);
/* Deviation of the pointing per axis there, wander included. */
double fade_jitter(const struct fade_config *c, double elevation);

/*
 * The powers of one direction of the link, step by step. The direction back is drawn beside the
 * forward one, which runs along at its distance in time: nothing has to be kept of it.
 */
struct fade_direction {
    struct fade own, forward;         /* `forward` is not used where the configuration is of it */
    const struct fade_config *config; /* borrowed */
    tick step;
    uint64_t seed, steps, at; /* `at`: the step in which `forward` is */
};

/* For a looping trace of `steps` steps: where the lag exceeds its ends, `forward` continues at the
 * other end. The configuration must have been checked for the step. The structure must not be
 * moved. */
void fade_direction_init(struct fade_direction *d, const struct fade_config *c, tick step,
                         uint64_t steps, uint64_t seed);

/* The power of the next step, as fade_next. */
double fade_direction_next(struct fade_direction *d);

/* For tests: a process by itself, and the table of a gamma variable of that shape. */
void fade_normal_init(struct fade_normal *n, double coherence_steps);
/* The next value of the process, from a normal random number. */
double fade_normal_next(struct fade_normal *n, double white);
/* Fills the table for a gamma variable of mean 1 and that shape. */
void fade_table_gamma(struct fade_table *t, double shape);
/* The table's value at a normal number, interpolated. */
double fade_table_at(const struct fade_table *t, double z);

#ifdef __cplusplus
}
#endif

#endif
