/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments are brought into a small range exactly, where a short series converges. The incomplete
 * gamma function takes its power series left of its mean and its continued fraction right of it.
 * Nothing can fail; arguments outside the ranges of the header give numbers without meaning.
 */
#include "channel-emu/chan/chan_math.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LN2_HIGH 0x1.62e42fee00000p-1 /* 33 bits: k * LN2_HIGH is exact */
#define LN2_LOW 0x1.a39ef35793c76p-33
#define HALF_LN_2PI 0.91893853320467274178
#define SQRT_2PI 2.50662827463100050242

static double scale_binary(double x, int64_t exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return x * power;
}

double math_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t exponent = (int64_t)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.41421356237309504880) {
        m /= 2;
        exponent++;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int n = 25; n >= 3; n -= 2)
        sum = sum * square + 1.0 / n;
    double e = (double)exponent;
    return e * LN2_HIGH + (2 * s + (2 * s * square * sum + e * LN2_LOW));
}

double math_exp(double x)
{
    if (x < -700)
        return 0;
    double turns = x * 1.44269504088896340736;
    int64_t k = (int64_t)(turns < 0 ? turns - 0.5 : turns + 0.5);
    double r = x - (double)k * LN2_HIGH - (double)k * LN2_LOW, sum = 1;
    for (int n = 16; n >= 1; n--)
        sum = 1 + sum * r / n;
    return scale_binary(sum, k);
}

double math_pow(double x, double y)
{
    return math_exp(y * math_log(x));
}

double math_sin(double x)
{
    double square = x * x, sum = 1;
    for (int n = 22; n >= 2; n -= 2)
        sum = 1 - sum * square / (n * (n + 1));
    return x * sum;
}

/* Stirling's series from 15 on; below, by the recurrence. */
double math_lgamma(double x)
{
    double product = 1;
    while (x < 15) {
        product *= x;
        x += 1;
    }
    double square = 1 / (x * x);
    double series =
        (1.0 / 12 -
         square *
             (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square * (1.0 / 1188))))) /
        x;
    return (x - 0.5) * math_log(x) - x + HALF_LN_2PI + series - math_log(product);
}

/* x^shape e^-x / Gamma(shape) */
static double gamma_front(double shape, double x)
{
    return math_exp(shape * math_log(x) - x - math_lgamma(shape));
}

static double gamma_series(double shape, double x)
{
    double term = 1 / shape, sum = term;
    for (int n = 1; n < 100000 && term > sum * 1e-17; n++) {
        term *= x / (shape + n);
        sum += term;
    }
    return sum;
}

/* The continued fraction of the upper part, by the method of Lentz. */
static double gamma_fraction(double shape, double x)
{
    double b = x + 1 - shape, c = 1e300, d = 1 / b, h = d;
    for (int n = 1; n < 100000; n++) {
        double a = -n * (n - shape);
        b += 2;
        d = 1 / (a * d + b);
        c = b + a / c;
        double factor = c * d;
        h *= factor;
        if (factor - 1 < 1e-16 && 1 - factor < 1e-16)
            break;
    }
    return h;
}

double math_gamma_below(double shape, double x)
{
    if (x < shape + 1)
        return gamma_front(shape, x) * gamma_series(shape, x);
    return 1 - gamma_front(shape, x) * gamma_fraction(shape, x);
}

double math_gamma_above(double shape, double x)
{
    if (x < shape + 1)
        return 1 - gamma_front(shape, x) * gamma_series(shape, x);
    return gamma_front(shape, x) * gamma_fraction(shape, x);
}

double math_normal_above(double x)
{
    if (x < 0)
        return 1 - math_normal_above(-x);
    return x == 0 ? 0.5 : math_gamma_above(0.5, x * x / 2) / 2;
}

double math_normal_below(double x)
{
    return math_normal_above(-x);
}

/* Newton's method on the logarithm of the smaller share, over the logarithm of the variable. */
double math_gamma_at(double shape, double z, double guess)
{
    double target = math_log(z < 0 ? math_normal_above(-z) : math_normal_above(z)), y = guess;
    for (int n = 0; n < 60; n++) {
        double x = math_exp(y);
        double share = z < 0 ? math_gamma_below(shape, x) : math_gamma_above(shape, x);
        if (share < 1e-300)
            share = 1e-300;
        double slope = gamma_front(shape, x) / share;
        double move = (math_log(share) - target) / slope;
        move = move > 1 ? 1 : move < -1 ? -1 : move;
        y = z < 0 ? y - move : y + move;
        if (move < 1e-11 && move > -1e-11)
            break;
    }
    return y;
}
