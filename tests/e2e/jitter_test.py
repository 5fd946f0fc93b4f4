#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extra delays by a law: mean, deviation and autocorrelation of what a scenario's channel gives, against closed forms where there
are, else against a double integral over the Gaussian copula.

usage: jitter_test.py BIN_DIR [unittest arguments]
"""
import math
import os
import subprocess
import sys
import tempfile
import unittest
from statistics import NormalDist

BIN = ""
FRAMES = 200_000
NORMAL = NormalDist()


def play(jitter, times, seed=1, more=""):
    """The extra delay of each frame, in ms."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(f"seed: {seed}\nforward:\n  jitter: {jitter}\n{more}")
        f.flush()
        done = subprocess.run([os.path.join(BIN, "chan_play"), f.name], capture_output=True, text=True, timeout=1000, check=False,
                              input="".join(f"{t} 10 0\n" for t in times))
    assert done.returncode == 0, done.stderr
    out = [0.0] * len(times)
    for line in done.stdout.splitlines():
        number, what, due, _ = line.split()
        assert what == "out"
        out[int(number) - 1] = (int(due) - times[int(number) - 1]) / 1e6
    return out


def moments(x, lags=(1, 2, 5)):
    mean = math.fsum(x) / len(x)
    variance = math.fsum((v - mean) ** 2 for v in x) / len(x)
    corr = [math.fsum((a - mean) * (b - mean) for a, b in zip(x, x[k:])) / (len(x) - k) / variance for k in lags]
    return mean, math.sqrt(variance), corr


def by_integral(quantile, rho, n=240, reach=6.5):
    """The correlation of F^-1(Phi(x)) and F^-1(Phi(y)) with x, y normal and correlated by rho: a sum over a grid."""
    grid = [reach * (2 * i / n - 1) for i in range(n + 1)]
    weight = [math.exp(-z * z / 2) for z in grid]
    value = [quantile(z) for z in grid]
    total = math.fsum(weight)
    mean = math.fsum(w * v for w, v in zip(weight, value)) / total
    variance = math.fsum(w * (v - mean) ** 2 for w, v in zip(weight, value)) / total
    side = math.sqrt(1 - rho * rho)
    joint = math.fsum(wa * wb * (va - mean) * (quantile(max(-8, min(8, rho * a + side * b))) - mean)
                      for a, wa, va in zip(grid, weight, value) for b, wb in zip(grid, weight)) / total**2
    return joint / variance


class JitterTest(unittest.TestCase):
    def check_law(self, words, mean, sd, correlation, rho=0.8, tolerance=0.02):
        x = play(f"{{{words}, correlation: {rho}}}", [i * 1000 for i in range(FRAMES)])
        got = moments(x)
        spread = sd * math.sqrt((1 + rho) / (1 - rho) / FRAMES)
        self.assertLess(abs(got[0] - mean), 5 * spread, words)
        self.assertLess(abs(got[1] / sd - 1), tolerance, words)
        for lag, have in zip((1, 2, 5), got[2]):
            self.assertLess(abs(have - correlation(rho**lag)), tolerance, (words, lag, have))

    def test_normal(self):
        self.check_law("law: normal, mean: 20ms, sd: 3ms", 20, 3, lambda r: r)

    def test_normal_cut_at_nothing(self):
        """E max(0, X) = m Phi(m/s) + s phi(m/s), and E max(0, X)^2 = (m^2 + s^2) Phi(m/s) + m s phi(m/s)."""
        x = play("{law: normal, mean: 1ms, sd: 2ms}", [i * 1000 for i in range(FRAMES)])
        below, density = NORMAL.cdf(0.5), NORMAL.pdf(0.5)
        mean = below + 2 * density
        sd = math.sqrt(5 * below + 2 * density - mean**2)
        got = moments(x)
        self.assertLess(abs(got[0] - mean), 5 * sd / math.sqrt(FRAMES))
        self.assertLess(abs(got[1] / sd - 1), 0.01)
        self.assertLess(max(map(abs, got[2])), 5 / math.sqrt(FRAMES))

    def test_uniform(self):
        self.check_law("law: uniform, mean: 10ms, sd: 5ms", 10, 5, lambda r: 6 / math.pi * math.asin(r / 2))

    def test_lognormal(self):
        s2 = math.log(1 + 0.25)
        self.check_law("law: lognormal, mean: 4ms, sd: 2ms", 4, 2, lambda r: math.expm1(s2 * r) / math.expm1(s2))

    def test_exponential(self):
        self.check_law("law: exponential, mean: 5ms, sd: 2ms", 5, 2,
                       lambda r: by_integral(lambda z: -math.log(NORMAL.cdf(-z)), r), tolerance=0.03)

    def test_pareto(self):
        a = 1 + math.sqrt(1 + 1 / 0.09)
        self.check_law("law: pareto, mean: 10ms, sd: 3ms", 10, 3,
                       lambda r: by_integral(lambda z: NORMAL.cdf(-z) ** (-1 / a), r), tolerance=0.06)

    def test_gamma(self):
        """Shape 4: its quantiles by bisection of 1 - e^-x (1 + x + x^2/2 + x^3/6)."""
        table = {}

        def quantile(z):
            place = round(z * 40)
            if place not in table:
                low, high, share = 0.0, 60.0, NORMAL.cdf(place / 40)
                for _ in range(60):
                    x = (low + high) / 2
                    if 1 - math.exp(-x) * (1 + x + x * x / 2 + x**3 / 6) < share:
                        low = x
                    else:
                        high = x
                table[place] = low
            return table[place]

        self.check_law("law: gamma, mean: 4ms, sd: 2ms", 4, 2, lambda r: by_integral(quantile, r))

    def test_table(self):
        """Linear between 0, 1 and 5 ms: mean 0.5 / 2 + 3 / 2, E x^2 = (1/3) / 2 + (31/3) / 2."""
        sd = math.sqrt((1 / 3 + 31 / 3) / 2 - 1.75**2)

        def quantile(z):
            u = NORMAL.cdf(z)
            return 2 * u if u < 0.5 else 1 + 8 * (u - 0.5)

        self.check_law("table: [0, 1ms, 5ms]", 1.75, sd, lambda r: by_integral(quantile, r))

    def test_memory_falls_with_time(self):
        """Gaps of 1 and 3 ms in turn, a memory of 4 ms."""
        times, now = [], 0
        for i in range(FRAMES):
            times.append(now)
            now += 1_000_000 if i % 2 == 0 else 3_000_000
        x = play("{law: normal, mean: 50ms, sd: 5ms, memory: 4ms}", times)
        for first, gap in ((0, 1), (1, 3)):
            pairs = [((a - 50) / 5, (b - 50) / 5) for a, b in zip(x[first::2], x[first + 1::2])]
            got = math.fsum(a * b for a, b in pairs) / len(pairs)
            self.assertLess(abs(got - math.exp(-gap / 4)), 0.02, gap)

    def test_seeds_and_limits(self):
        times = [i * 1000 for i in range(20000)]
        law = "{law: gamma, mean: 4ms, sd: 3ms, max: 9ms}"
        one, again, other = play(law, times), play(law, times), play(law, times, seed=2)
        self.assertEqual(one, again)
        mean, sd, _ = moments(one)
        joint = sum((a - mean) * (b - mean) for a, b in zip(one, other)) / len(one) / sd**2
        self.assertLess(abs(joint), 5 / math.sqrt(len(one)))
        self.assertEqual(max(one), 9)
        self.assertEqual(sum(v == 9 for v in one) > 200, True)  # P(X > 9 ms) is 7 %
        kept = play(law, times, more="  reorder: no\n")
        latest = 0
        for at, free, held in zip(times, one, kept):
            latest = max(latest, at / 1e6 + free)
            self.assertAlmostEqual(at / 1e6 + held, latest, places=6)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
