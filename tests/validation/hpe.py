# SPDX-License-Identifier: Apache-2.0
"""The codes of CCSDS 142.0-B-1 (High Photon Efficiency): capacity of the channel, and the simulation repeated (scppm.c)."""
import math

import numpy as np
from rows import Row, check, drawn, run

# number of the curve (chan_code.h), PPM order, rate, detected background photons in a slot, a level (dB) in the middle of the curve
CURVES = (
    (5, 16, "1/3", 0.2, 1),
    (6, 16, "1/2", 0.01, 0),
    (7, 16, "1/2", 0.2, 2.3),
    (8, 16, "2/3", 0.2, 3.7),
    (9, 64, "1/3", 0.2, 1.7),
    (10, 64, "1/2", 0.01, 0.3),
    (11, 64, "1/2", 0.2, 3),
    (12, 64, "2/3", 0.2, 4.2),
)
DRAWN = 200  # codewords
POINT = 300  # those of the point of the curve (docs/scenario.md)
LAST = 4000  # those of the last point


def rate_of(text):
    a, b = text.split("/")
    return int(a) / int(b)


def information(order, signal, background, step=0.125, most=60):
    """Bits per symbol of PPM over the Poisson channel (Moision and Hamkins 2003): log2 order − E log2 Σ r^(n − n₀), r = 1 + signal / background.

    By a sum, without draws: ln x = ∫ (e^(−t) − e^(−x t)) / t dt, whose mean for x = Σ r^n is a product over the slots. Steps of ln t.
    """
    exponent = math.log1p(signal / background)
    counts = np.arange(most)
    factorials = np.array([math.lgamma(n + 1) for n in counts])
    empty, pulse = (np.exp(counts * math.log(mean) - mean - factorials) for mean in (background, background + signal))
    log_t = np.arange(-exponent * most - 40, 8, step)
    transform = np.exp(-np.exp(np.minimum(log_t[:, None] + exponent * counts, 50)))  # of r^n, at each t
    product = (transform @ pulse) * (transform @ empty) ** (order - 1)
    logarithm = step * float((np.exp(-np.exp(log_t)) - product).sum())
    return math.log2(order) - (logarithm - exponent * (signal + background)) / math.log(2)


def limit(order, rate, background):
    """The least level, in dB of photons in a pulse, at which the channel carries that rate."""
    low, high = -8.0, 10.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if information(order, 10 ** (middle / 10), background) > rate * math.log2(order):
            high = middle
        else:
            low = middle
    return high


def losses(bin_dir, number, levels):
    text = "".join(f"code {number} {level:.10g}\n" for level in levels)
    return [float(line) for line in run(bin_dir, "air_values", text=text).split()]


@check("Receiver")
def hpe_gap(bin_dir):
    """Published: within 1 dB of capacity for a link from Mars (Moision and Hamkins 2005), which had 64-PPM. We ask the same of 16-PPM."""
    for number, order, rate, background, _ in CURVES:
        best = limit(order, rate_of(rate), background)
        levels = [best + 0.001 * k for k in range(-1000, 3000)]
        curve = losses(bin_dir, number, levels)
        at = next(k for k, loss in enumerate(curve) if loss <= 1e-3)
        there, slope = levels[at], math.log(curve[at - 20] / curve[at]) / 0.02  # of the logarithm, per dB
        against = "capacity; Moision and Hamkins 2005" + ("" if order == 64 else ", for 64-PPM")
        yield Row(f"HPE, {order}-PPM, rate {rate}, background {background:g}: level for a loss of 10⁻³ above that of capacity ({best:.2f} dB)", against, 1,
                  there - best, 0, relative=False, unit="dB", deviation=1 / math.sqrt(LAST * 1e-3) / slope, least=0)


def again(bin_dir, curves):
    """The curve was made by scppm.c too: this shows that its figures are those of the program, not that the program is right."""
    for number, order, rate, background, level in curves:
        want = losses(bin_dir, number, [level])[0]
        lost = int(run(bin_dir, "scppm", str(order), rate, f"{background:g}", str(level), str(DRAWN), "77").split()[1]) / DRAWN
        share = (DRAWN * lost + POINT * want) / (DRAWN + POINT)
        yield drawn(f"HPE, {order}-PPM, rate {rate}, background {background:g}: loss at {level} dB", f"scppm.c, as the curve; another seed, {DRAWN} codewords", lost, want,
                    math.sqrt(share * (1 - share) * (1 / DRAWN + 1 / POINT)))


@check("Receiver")
def hpe_curve(bin_dir):
    yield from again(bin_dir, CURVES[:1])


@check("Receiver", fast=False)
def hpe_curves(bin_dir):
    yield from again(bin_dir, CURVES[1:])
