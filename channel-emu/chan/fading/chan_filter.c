/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With n sections, the states after a step are A times those before, plus a white number for each.
 * Their covariances are the sum over k of A^k 1 1' A'^k, which doubles its terms with each squaring
 * of A; the correlation after t steps is in A^t times them. So the corner is found for which that
 * is 1/e, by halving.
 *
 * By Rice's formula the crossings of a level follow from the second moment of the spectrum, which
 * poles at equal ratios miss by some per cent. So the poles of the inner scale are moved until the
 * crossings, from step to step, are those of Tatarskii's spectrum. Nothing can fail.
 */
#include "channel-emu/chan/fading/chan_filter.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "channel-emu/chan/chan_math.h"

#define N CHAN_FILTER_MAX
#define RATIO 4.0    /* of two poles' frequencies */
#define DOUBLINGS 40 /* 10^12 terms */
#define HALVINGS 40
#define INNER_POLES 4
/* The frequency of the inner scale, 5.92 rad over its time (Tatarskii: e^(-(k l / 5.92)^2)). */
#define INNER_RAD 5.92
#define TRIES 12
#define PI 3.14159265358979323846
#define POINTS_PER_E 24.0 /* of an integral, in the logarithm of the frequency */
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

/* What a filter is to be, in steps and radians a step. */
struct wish {
    enum chan_slope slope;
    double coherence, inner; /* inner: 0 is none */
    double end;              /* the poles of the inner scale; pairs begin below it */
    unsigned pairs;          /* 0: as many as begin below the end */
    double left;             /* of the slope of the amplitude, beside the whole poles */
};

/* A corner of so many radians a step: whole poles there, from there on pairs for what is left of
 * the slope of the amplitude, which is 4/3 or 17/6, and the poles of the inner scale, if any. */
static void place_poles(struct chan_filter *f, const struct wish *w, double corner)
{
    f->count = 0;
    add_section(f, corner, 0);
    if (w->slope == SLOPE_APERTURE)
        add_section(f, corner, 0);
    double pole = corner;
    for (unsigned i = 0; w->pairs > 0 ? i < w->pairs : pole < w->end; i++, pole *= RATIO) {
        if (f->count == N - INNER_POLES)
            break;
        add_section(f, pole, pole * math_pow(RATIO, w->left));
    }
    for (int i = 0; i < INNER_POLES && w->inner > 0; i++)
        add_section(f, w->end, 0);
}

/* The corner at which the correlation is 1/e after the coherence time, and the covariances. */
static double find_corner(struct chan_filter *f, const struct wish *w, double low, double high,
                          struct matrix *p)
{
    unsigned long steps = (unsigned long)(w->coherence + 0.5);
    for (int i = 0; i < HALVINGS && high / low > 1.0001; i++) {
        double middle = sqrt(low * high);
        place_poles(f, w, middle);
        covariance_of(f, p);
        *(correlation_of(f, p, steps) > E_INVERSE ? &low : &high) = middle;
    }
    place_poles(f, w, low);
    covariance_of(f, p);
    return low;
}

/* Twice what the correlation of two steps in a row is below 1: the integral of the power times
 * (2 sin(w/2))^2 over that of the power. A factor |1 - a e^(-iw)|^2 is (1-a)^2 + 4 a sin(w/2)^2. */
static double roughness_of(const struct chan_filter *f, double corner)
{
    double whole = 0, rough = 0, ratio = math_exp(1 / POINTS_PER_E), w = corner * 1e-4;
    while (w < PI) {
        double half = math_sin(w / 2), power = w;
        for (unsigned i = 0; i < f->count; i++) {
            double a = f->zero[i], b = f->pole[i];
            power *= i > 0 && a > 0 ? (1 - a) * (1 - a) + 4 * a * half * half : 1;
            power /= (1 - b) * (1 - b) + 4 * b * half * half;
        }
        whole += power;
        rough += 4 * half * half * power;
        w *= ratio;
    }
    return rough / whole;
}

/* The same of Tatarskii's spectrum (1 + (w/c)^2)^(-4/3) e^(-(w/e)^2), e being that of the inner
 * scale, if the crossings from step to step are to be those of Rice's formula. The correlation is
 * 1/e after 1.46556 / c without an inner scale; the next term is right to 0.1 %. */
static double roughness_wanted(const struct wish *w)
{
    double corner =
        1.46556 * (1 + 0.16 * math_pow(w->inner / w->coherence, 5.0 / 3)) / w->coherence;
    double end = INNER_RAD / w->inner, ratio = math_exp(1 / POINTS_PER_E);
    double whole = 0, second = 0, x = corner * 1e-4;
    while (x < 8 * end) {
        double c = x / corner, e = x / end;
        double power = x * math_pow(1 + c * c, -4.0 / 3) * math_exp(-e * e);
        whole += power;
        second += x * x * power;
        x *= ratio;
    }
    double step = 2 * math_sin(sqrt(second / whole) / 2);
    return step * step;
}

/* Moves the poles of the inner scale until the roughness is that. It rises with a power of their
 * frequency, from 1/3 where many pairs are below it, to 1. */
static void find_end(struct chan_filter *f, struct wish *w, double corner, struct matrix *p)
{
    double wanted = math_log(roughness_wanted(w)), found = math_log(roughness_of(f, corner));
    double power = 0.6;
    w->pairs = f->count - INNER_POLES - 1;
    for (int i = 0; i < TRIES && fabs(found - wanted) > 1e-4; i++) {
        double move = (wanted - found) / power, before = found;
        move = move > 0.5 ? 0.5 : move < -0.5 ? -0.5 : move;
        w->end *= math_exp(move);
        corner = find_corner(f, w, corner / 1.2, corner * 1.2, p);
        found = math_log(roughness_of(f, corner));
        power = (found - before) / move > 0.2 ? (found - before) / move : power;
    }
}

void chan_filter_set(struct chan_filter *f, enum chan_slope slope, double coherence_steps,
                     double inner_steps)
{
    struct matrix p;
    double before = f->gain, end = inner_steps > 0 ? INNER_RAD / inner_steps : 3;
    unsigned count = f->count;
    struct wish w = {.slope = slope,
                     .coherence = coherence_steps,
                     .inner = inner_steps,
                     .end = end,
                     .left = slope == SLOPE_POINT ? 1.0 / 3 : 5.0 / 6};
    assert(coherence_steps >= 2 && coherence_steps <= 1e7);
    assert(inner_steps <= 0 || inner_steps >= CHAN_FILTER_INNER_MIN);
    double corner = find_corner(f, &w, 0.1 / coherence_steps, 10 / coherence_steps, &p);
    if (inner_steps > 0)
        find_end(f, &w, corner, &p);
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
