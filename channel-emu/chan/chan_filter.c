/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With n sections, the states after a step are A times those before, plus a white number for each.
 * Their covariances are the sum over k of A^k 1 1' A'^k, which doubles its terms with each squaring
 * of A; the correlation after t steps is in A^t times them. So the corner is found for which that
 * is 1/e, by halving. Nothing can fail.
 */
#include "channel-emu/chan/chan_filter.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "channel-emu/chan/chan_math.h"

#define N CHAN_FILTER_MAX
#define RATIO 4.0    /* of two poles' frequencies */
#define DOUBLINGS 40 /* 10^12 terms */
#define HALVINGS 40
#define INNER_POLES 2
/* The frequency of the inner scale, 5.92 rad over its time (Tatarskii: e^(-(k l / 5.92)^2)), times
 * the cube of Gamma(1/6) / 2 over B(1/6, 11/6) / 2: two poles have the second moment of that. */
#define INNER_RAD (5.92 * 1.2015)
#define E_INVERSE 0.36787944117144232160

struct matrix {
    double at[N][N];
};

static void multiply_matrices(const struct matrix *a, const struct matrix *b, unsigned n,
                              struct matrix *out)
{
    struct matrix sum;
    assert(n <= N);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) {
            double s = 0;
            for (unsigned k = 0; k < n; k++)
                s += a->at[i][k] * b->at[k][j];
            sum.at[i][j] = s;
        }
    }
    *out = sum;
}

static void transpose_matrix(const struct matrix *a, unsigned n, struct matrix *out)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++)
            out->at[i][j] = a->at[j][i];
}

/* Section i gives pole * its last + what section i - 1 gives - zero * what that gave last. */
static void transition_of(const struct chan_filter *f, struct matrix *a)
{
    memset(a, 0, sizeof *a);
    for (unsigned i = 0; i < f->count; i++) {
        for (unsigned j = 0; i > 0 && j < i; j++)
            a->at[i][j] = a->at[i - 1][j];
        if (i > 0)
            a->at[i][i - 1] -= f->zero[i];
        a->at[i][i] = f->pole[i];
    }
}

static void covariance_of(const struct chan_filter *f, struct matrix *p)
{
    struct matrix a, turned, more;
    unsigned n = f->count;
    transition_of(f, &a);
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++)
            p->at[i][j] = 1;
    for (int k = 0; k < DOUBLINGS; k++) {
        transpose_matrix(&a, n, &turned);
        multiply_matrices(&a, p, n, &more);
        multiply_matrices(&more, &turned, n, &more);
        for (unsigned i = 0; i < n; i++)
            for (unsigned j = 0; j < n; j++)
                p->at[i][j] += more.at[i][j];
        multiply_matrices(&a, &a, n, &a);
    }
}

static double correlation_of(const struct chan_filter *f, const struct matrix *p,
                             unsigned long steps)
{
    struct matrix a;
    double row[N] = {0}, sum = 0;
    unsigned n = f->count;
    row[n - 1] = 1;
    transition_of(f, &a);
    for (; steps > 0; steps >>= 1) {
        double next[N] = {0};
        for (unsigned j = 0; j < n && (steps & 1) != 0; j++)
            for (unsigned k = 0; k < n; k++)
                next[j] += row[k] * a.at[k][j];
        if ((steps & 1) != 0)
            memcpy(row, next, sizeof row);
        multiply_matrices(&a, &a, n, &a);
    }
    for (unsigned k = 0; k < n; k++)
        sum += row[k] * p->at[k][n - 1];
    return sum / p->at[n - 1][n - 1];
}

double chan_filter_correlation(const struct chan_filter *f, unsigned long steps)
{
    struct matrix p;
    assert(f->count > 0);
    covariance_of(f, &p);
    return correlation_of(f, &p, steps);
}

static void add_section(struct chan_filter *f, double pole, double zero)
{
    assert(f->count < N && pole > 0);
    f->pole[f->count] = math_exp(-pole);
    f->zero[f->count++] = zero > 0 && zero < 30 ? math_exp(-zero) : 0;
}

/* A corner of so many radians a step: whole poles there, from there on pairs for what is left of
 * the slope of the amplitude, which is 4/3 or 17/6, and the poles of the inner scale, if any. */
static void place_poles(struct chan_filter *f, enum chan_slope slope, double corner, double inner)
{
    double left = slope == SLOPE_POINT ? 1.0 / 3 : 5.0 / 6;
    double end = inner > 0 ? INNER_RAD / inner : 3;
    f->count = 0;
    add_section(f, corner, 0);
    if (slope == SLOPE_APERTURE)
        add_section(f, corner, 0);
    for (double pole = corner; pole < end && f->count < N - INNER_POLES; pole *= RATIO)
        add_section(f, pole, pole * math_pow(RATIO, left));
    for (int i = 0; i < INNER_POLES && inner > 0; i++)
        add_section(f, end, 0);
}

void chan_filter_set(struct chan_filter *f, enum chan_slope slope, double coherence_steps,
                     double inner_steps)
{
    struct matrix p;
    double low = 0.1 / coherence_steps, high = 10 / coherence_steps, before = f->gain;
    unsigned count = f->count;
    assert(coherence_steps >= 2 && coherence_steps <= 1e7);
    assert(inner_steps <= 0 || inner_steps >= CHAN_FILTER_INNER_MIN);
    unsigned long steps = (unsigned long)(coherence_steps + 0.5);
    for (int i = 0; i < HALVINGS && high / low > 1.0001; i++) {
        double middle = sqrt(low * high);
        place_poles(f, slope, middle, inner_steps);
        covariance_of(f, &p);
        *(correlation_of(f, &p, steps) > E_INVERSE ? &low : &high) = middle;
    }
    place_poles(f, slope, low, inner_steps);
    covariance_of(f, &p);
    f->gain = 1 / sqrt(p.at[f->count - 1][f->count - 1]);
    for (unsigned i = count; i < f->count; i++) /* joins at the end: as the one before it */
        f->state[i] = i > 0 ? f->state[i - 1] : 0;
    for (unsigned i = 0; i < N && before > 0; i++)
        f->state[i] *= before / f->gain;
    assert(f->gain > 0);
}

double chan_filter_next(struct chan_filter *f, double white)
{
    double in = white, last = 0;
    for (unsigned i = 0; i < f->count; i++) {
        double own = f->state[i];
        f->state[i] = f->pole[i] * own + in - f->zero[i] * last;
        in = f->state[i];
        last = own;
    }
    return f->gain * in;
}
