# SPDX-License-Identifier: Apache-2.0
"""Means over repetitions with their 95 % confidence intervals."""
import math

# Two-sided 95 % quantiles of Student's t for 1 … 30 degrees of freedom.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
       2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)

Z95 = 1.959964  # of the normal distribution


def quantile(freedom):
    """Student's t, two-sided 95 %: from the table, beyond it expanded around the normal quantile (within 0.0001)."""
    if freedom <= len(T95):
        return T95[freedom - 1]
    z, f = Z95, freedom
    return z + (z**3 + z) / (4 * f) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * f**2)


def interval(values):
    """(mean, half the width of its 95 % confidence interval); the latter is None of a single value."""
    values = [v for v in values if v is not None and not math.isnan(v)]
    if not values:
        return None, None
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return mean, None
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    return mean, quantile(n - 1) * sd / math.sqrt(n)
