/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adaptive coding and modulation that follows the received power with a delay. The table is that of
 * DVB-S2 (ETSI EN 302 307-1, table 13): spectral efficiency, and the Es/N0 at which the packet
 * error rate is 10^-7, of the 28 ModCods with normal frames, without pilots, over white noise.
 */
#ifndef CHANNEL_EMU_CHAN_ACM_H
#define CHANNEL_EMU_CHAN_ACM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACM_MODCODS 28u

struct acm_modcod {
    const char *name;
    double efficiency; /* bits a symbol */
    double threshold;  /* Es/N0, dB */
};

extern const struct acm_modcod acm_modcods[ACM_MODCODS];

struct acm_config {
    double esn0_db;       /* at a power of 1 */
    double slope;         /* dB of Es/N0 a dB of power: 1, or 2 behind a detector limited by its own
                           * noise, whose current goes with the power */
    double margin_db;     /* kept over the threshold */
    double hysteresis_db; /* on top, before a faster one is taken */
    uint64_t delay;       /* steps from a measurement to the ModCod that it makes */
    uint64_t every;       /* steps between two choices, from 1 */
    double lock_db;       /* Es/N0 below which the receiver loses its synchronisation */
    uint64_t reacquire;   /* steps that are lost after each such step */
};

struct acm {
    const struct acm_config *config; /* borrowed */
    const double *power;             /* borrowed */
    size_t len, at;
    size_t modcod; /* in use, of acm_modcods */
    bool begun;
    uint64_t searching; /* steps until the receiver is synchronised again */
};

/* Powers of one pass, >= 0 and one a step; before the first one it was as that. */
void acm_init(struct acm *a, const struct acm_config *c, const double *power, size_t len);

/* The next step, as long as there are some: is it lost, because Es/N0 is below the threshold of the
 * ModCod in use, or because the receiver is not synchronised? `a->modcod` is then the one of this
 * step. */
bool acm_next(struct acm *a);

/* Es/N0 at a power, dB. */
double acm_esn0(const struct acm_config *c, double power);

#endif
