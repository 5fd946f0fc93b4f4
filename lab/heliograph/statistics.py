# SPDX-License-Identifier: Apache-2.0
"""Means over repetitions with their 95 % confidence intervals; tests of paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

# Two-sided 95 % quantiles of Student's t for 1 … 30 degrees of freedom.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
       2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)

Z95 = 1.959964  # of the normal distribution


def quantile(freedom: int) -> float:
    """Student's t, two-sided 95 %: from the table, beyond it expanded around the normal quantile (within 0.0001)."""
    if freedom <= len(T95):
        return T95[freedom - 1]
    z, f = Z95, freedom
    return z + (z**3 + z) / (4 * f) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * f**2)


def interval(values: Iterable[float | None]) -> tuple[float | None, float | None]:
    """(mean, half the width of its 95 % confidence interval); the latter is None of a single value."""
    known = [v for v in values if v is not None and not math.isnan(v)]
    if not known:
        return None, None
    n = len(known)
    mean = math.fsum(known) / n
    if n == 1:
        return mean, None
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in known) / (n - 1))
    return mean, quantile(n - 1) * sd / math.sqrt(n)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Lentz)."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 300):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d, c = 1 + term * d, 1 + term / c
            d, c = 1 / (d if abs(d) > tiny else tiny), c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def two_sided(freedom: float, level: float) -> float:
    """Student's t that is exceeded, either way, with probability `level` (within 10^-9)."""
    low, high = 0.0, 1.0
    while beta_share(freedom / 2, 0.5, freedom / (freedom + high * high)) > level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if beta_share(freedom / 2, 0.5, freedom / (freedom + middle * middle)) > level:
            low = middle
        else:
            high = middle
    return high


def paired(differences: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Student's paired test, two-sided: (mean difference, half of its 95 % interval, p). The last two are None of less than two;
    p is 1 when all are 0."""
    mean, half = interval(differences)
    n = len(differences)
    if mean is None or half is None:
        return mean, None, None
    if half == 0:
        return mean, half, 1.0 if mean == 0 else 0.0
    t = mean / (half / quantile(n - 1))
    return mean, half, beta_share((n - 1) / 2, 0.5, (n - 1) / (n - 1 + t * t))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Of many tests at once: each p as Holm adjusts it; None stays None."""
    order = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    out, least = list(ps), 0.0
    for rank, (p, i) in enumerate(order):
        least = max(least, min(1.0, (len(order) - rank) * p))
        out[i] = least
    return out
