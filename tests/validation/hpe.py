# SPDX-License-Identifier: Apache-2.0
"""The codes of CCSDS 142.0-B-1 (High Photon Efficiency): capacity of the channel, and the code simulated again (scppm.c)."""
import math

import numpy as np
from rows import Row, check, run

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


def rate_of(text):
    a, b = text.split("/")
    return int(a) / int(b)


def information(order, signal, background, n=20000):
    """Bits per symbol of PPM over the Poisson channel, by the mean over drawn symbols (Moision and Hamkins 2003)."""
    rng = np.random.default_rng(1)
    counts = rng.poisson(background, (n, order)).astype(float)
    counts[:, 0] = rng.poisson(signal + background, n)
    against = (counts - counts[:, :1]) * math.log1p(signal / background)
    top = against.max(axis=1)
    return math.log2(order) - float((np.log(np.exp(against - top[:, None]).sum(axis=1)) + top).mean()) / math.log(2)


def limit(order, rate, background):
    """The least level, in dB of photons in a pulse, at which the channel carries that rate."""
    low, high = -8.0, 10.0
    while high - low > 0.002:
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
    """Published: within 1 dB of capacity for a link from Mars (Moision and Hamkins 2005), which had 64-PPM. For 16-PPM only capacity is a limit."""
    for number, order, rate, background, _ in CURVES:
        best = limit(order, rate_of(rate), background)
        levels = [best + 0.001 * k for k in range(-1000, 3000)]
        there = next(level for level, loss in zip(levels, losses(bin_dir, number, levels)) if loss <= 1e-3)
        against, middle = ("0 to 1 dB: Moision and Hamkins 2005", 0.5) if order == 64 else ("above 0 dB: capacity; 1.5 dB is a loose limit", 0.75)
        yield Row(f"HPE, {order}-PPM, rate {rate}, background {background:g}: level for a loss of 10⁻³ above that of capacity ({best:.2f} dB)", against, middle,
                  there - best, middle, relative=False, unit="dB")


def again(bin_dir, curves):
    for number, order, rate, background, level in curves:
        want = losses(bin_dir, number, [level])[0]
        lost = int(run(bin_dir, "scppm", str(order), rate, f"{background:g}", str(level), str(DRAWN), "77").split()[1]) / DRAWN
        # four deviations of the drawn share, and as many of the curve's own point, of some 50 lost codewords
        bound = 4 * math.hypot(math.sqrt(want * (1 - want) / DRAWN), want / math.sqrt(50))
        yield Row(f"HPE, {order}-PPM, rate {rate}, background {background:g}: loss at {level} dB", f"{DRAWN} codewords of another seed (scppm.c)", lost, want,
                  bound, relative=False)


@check("Receiver")
def hpe_curve(bin_dir):
    yield from again(bin_dir, CURVES[:1])


@check("Receiver", fast=False)
def hpe_curves(bin_dir):
    yield from again(bin_dir, CURVES[1:])
