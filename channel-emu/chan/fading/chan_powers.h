/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Received powers as text, one sample a line: a number, or columns. The first line determines the
 * separator: semicolons, else commas, else white space. So a decimal comma is never taken for a
 * separator in a file with semicolons. A first line without a number in the chosen column is a
 * title; `#` begins a comment; blank lines and a carriage return at the end are allowed.
 */
#ifndef CHANNEL_EMU_CHAN_POWERS_H
#define CHANNEL_EMU_CHAN_POWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POWERS_MAX (UINT32_C(1) << 28)
#define POWERS_LINE_MAX 4096u

struct powers {
    double *value; /* linear, >= 0 and finite */
    size_t len, cap;
};

/* Frees the samples. */
void powers_fini(struct powers *p);

/* A sample, of which decibels are made linear. 0, HELIO_ENOMEM, or HELIO_EINVAL: too many, below 0,
 * not finite, or beyond 300 dB. */
int powers_add(struct powers *p, double value, bool decibels);

/* The mean; 0 when there is none. */
double powers_mean(const struct powers *p);

/* Converts the powers to another step (ns, as the old one). Values are interpolated linearly
 * between the samples, each at the middle of its step; the result is the mean over each new step.
 * The first sample follows the last one; an incomplete last step is dropped. Returns 0 with *out,
 * which the caller owns; HELIO_ENOMEM; HELIO_EINVAL: no step, or too many. */
int powers_resample(const struct powers *p, uint64_t step, uint64_t wanted, struct powers *out);

struct powers_text {
    struct powers *powers; /* borrowed; values are added to it */
    const char *column;    /* its number from 1, or its title; NULL: the only one, or "power" */
    bool decibels;
    uint64_t line; /* number of the last line given, from 1 */
    bool begun;
    uint8_t separator; /* between columns; ' ': white space; once begun */
    size_t place;      /* of the column, from 0; once begun */
    size_t columns;    /* of the first line, and so of each; once begun */
    char error[200];
};

/* Begins with the first line; `p` and `column` are borrowed. */
void powers_text_init(struct powers_text *t, struct powers *p, const char *column, bool decibels);

/* One line without its line feed. 0, HELIO_ENOMEM, or HELIO_EFORMAT with `error`. */
int powers_text_line(struct powers_text *t, const char *line, size_t len);

/* No more lines. 0, or HELIO_EFORMAT when there was no sample. */
int powers_text_end(struct powers_text *t);

#ifdef __cplusplus
}
#endif

#endif
