/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of real numbers made of additions, multiplications, divisions and square roots alone.
 * IEEE 754 fixes each of these to the last bit, and the library is built without contraction to
 * fused operations: so a seed gives the same trace whatever the compiler, its options, or the
 * version of the mathematical library. Relative errors are below 10^-13 where not said otherwise.
 */
#ifndef CHANNEL_EMU_CHAN_MATH_H
#define CHANNEL_EMU_CHAN_MATH_H

double math_log(double x);           /* x > 0 and normal */
double math_exp(double x);           /* 0 below -700; x <= 700 */
double math_pow(double x, double y); /* x > 0 */
double math_sin(double x);           /* 0 <= x <= pi / 2 */
double math_lgamma(double x);        /* x > 0; absolute error below 10^-12 */

/* The normal distribution: below x, and above x. */
double math_normal_below(double x);
double math_normal_above(double x);

/* The gamma distribution with scale 1: share below x, and above x. x > 0, shape > 0. */
double math_gamma_below(double shape, double x);
double math_gamma_above(double shape, double x);

/* The logarithm of the gamma variable that is as likely to be exceeded as the normal z; |z| <= 8,
 * shape >= 0.5; relative error of the variable below 10^-9. `guess` is a logarithm that is
 * less than 1 away from it. */
double math_gamma_at(double shape, double z, double guess);

#endif
