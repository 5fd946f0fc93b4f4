/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of 64-bit values in bounded memory (58 KiB): 128 buckets per power of two, so that a
 * quantile is within 0.4 % of the value; mean, deviation, least and greatest are exact. One that is
 * asked to keeps its values besides, up to a number of them: its quantiles are exact until then.
 */
#ifndef TOOLS_HIST_H
#define TOOLS_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define HIST_EXACT_MAX 1000000 /* values that analyses keep: 8 MB */
#define HIST_BITS 7            /* of a value that its bucket keeps */
#define HIST_ERROR 0.004       /* of a quantile by buckets, as a share of it */
#define HIST_SLOTS ((64 - HIST_BITS + 1) << HIST_BITS)

struct hist_values;

struct hist {
    struct hist_values *values; /* NULL: not kept, or there were too many, or no memory */
    uint64_t count;
    uint64_t min, max;
    double mean, m2; /* running mean, sum of squared distances from it */
    uint64_t slots[HIST_SLOTS];
};

void hist_init(struct hist *h);

/* The same for one that keeps up to `most` values. To be ended by hist_fini. */
void hist_init_exact(struct hist *h, uint32_t most);
void hist_fini(struct hist *h);

/* Quantiles are values that were added: none was forgotten. */
bool hist_is_exact(const struct hist *h);

void hist_add(struct hist *h, uint64_t value);

/* The value that a share q (0..1) of the values does not exceed (nearest rank); 0 when there is
 * none. */
uint64_t hist_quantile(const struct hist *h, double q);

/* What a value of this slot is taken for: the middle of the slot, within least and greatest. */
uint64_t hist_value(const struct hist *h, uint32_t slot);

/* Standard deviation of the values (n - 1 in the denominator); 0 below two values. */
double hist_sd(const struct hist *h);

#endif
