#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-trace acm: each step's ModCod and fate against a model of its own, the rates against the frames of the standard, and the
scenario that it writes through the channel.

usage: traces_acm_test.py BIN_DIR [unittest arguments]
"""
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

BIN = ""
# ETSI EN 302 307-1, tables 5a and 13: data bits of a normal frame; bits a symbol; Es/N0 in dB
BITS = {"1/4": 16008, "1/3": 21408, "2/5": 25728, "1/2": 32208, "3/5": 38688, "2/3": 43040, "3/4": 48408, "4/5": 51648, "5/6": 53840,
        "8/9": 57472, "9/10": 58192}
POINTS = {"QPSK": (2, {"1/4": -2.35, "1/3": -1.24, "2/5": -0.30, "1/2": 1.00, "3/5": 2.23, "2/3": 3.10, "3/4": 4.03, "4/5": 4.68, "5/6": 5.18,
                       "8/9": 6.20, "9/10": 6.42}),
          "8PSK": (3, {"3/5": 5.50, "2/3": 6.62, "3/4": 7.91, "5/6": 9.35, "8/9": 10.69, "9/10": 10.98}),
          "16APSK": (4, {"2/3": 8.97, "3/4": 10.21, "4/5": 11.03, "5/6": 11.61, "8/9": 12.89, "9/10": 13.13}),
          "32APSK": (5, {"3/4": 12.73, "4/5": 13.64, "5/6": 14.28, "8/9": 15.69, "9/10": 16.05})}
# a frame: 80 bits of its data are the header of the base band, 90 symbols the header of the physical layer
MODCODS = {f"{name} {rate}": ((BITS[rate] - 80) / (64800 / bits + 90), esn0) for name, (bits, rates) in POINTS.items() for rate, esn0 in rates.items()}


def model(powers, esn0, slope, margin, hysteresis, delay, every, lock=-2.35, reacquire=0):
    """(name, lost) of each step."""
    mean = sum(powers) / len(powers)
    level = [esn0 + slope * 10 * math.log10(p / mean) if p > 0 else -1e9 for p in powers]
    out, now, locked_from = [], None, 0

    def fastest(limit):
        fit = [name for name, (_, need) in MODCODS.items() if need <= limit]
        return max(fit, key=lambda name: MODCODS[name][0]) if fit else "QPSK 1/4"
    for i, here in enumerate(level):
        if i % every == 0:
            known = level[max(0, i - delay)] - margin
            if now is None or MODCODS[now][1] > known:
                now = fastest(known)
            else:
                now = max(now, fastest(known - hysteresis), key=lambda name: MODCODS[name][0])
        if here < lock:
            locked_from = i + 1 + reacquire
        out.append((now, here < MODCODS[now][1] or i < locked_from))
    return out


class AcmTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def acm(self, powers, *options, unit="linear"):
        with open(self.path("p.csv"), "w", encoding="ascii") as f:
            f.write("power\n" + "".join(f"{p!r}\n" for p in powers))
        return subprocess.run([os.path.join(BIN, "helio-trace"), "acm", self.path("p.csv"), "--unit", unit, "-o", self.path("acm"), *options],
                              capture_output=True, text=True, timeout=300, check=False)

    def steps(self):
        """What it wrote: the ModCod of each change by step, and the fates."""
        with open(self.path("acm.yaml"), encoding="utf-8") as f:
            text = f.read()
        changes = [(0, re.search(r"^  rate: (\d+)bit/s # (.+)$", text, re.M).groups())]
        changes += [(int(at) // 1000, (rate, name)) for at, rate, name in re.findall(r"at: (\d+)ns, rate: (\d+)bit/s\} # (.+)$", text, re.M)]
        runs = subprocess.run([os.path.join(BIN, "helio-trace"), "convert", self.path("acm.htr"), "-", "-f", "runs"], capture_output=True, text=True,
                              timeout=300, check=True).stdout
        fates = [line.split()[0] == "1" for line in runs.splitlines() if line[0] in "01" for _ in range(int(line.split()[1]))]
        return changes, fates

    def test_each_step_as_the_model_says(self):
        for seed in range(12):
            draw = random.Random(seed)
            db, powers = 0.0, []
            for _ in range(4000):
                db = 0.98 * db + draw.gauss(0, 1)
                powers.append(0.0 if draw.random() < 0.001 else 10 ** (db / 10))
            esn0, slope, delay, every = draw.choice((3, 9, 15)), draw.choice((1, 2)), draw.choice((0, 1, 30)), draw.choice((1, 10))
            margin, hysteresis = draw.choice((0, 1.5)), draw.choice((0, 0.7))
            lock, reacquire = (None, 0) if seed < 6 else (draw.choice((-4, 2)), draw.choice((0, 1, 25)))
            done = self.acm(powers, "--esn0", f"{esn0}dB", "--slope", str(slope), "--margin", f"{margin}dB", "--hysteresis", f"{hysteresis}dB",
                            "--delay", f"{delay}us", "--every", f"{every}us", "--step", "1us", "--symbols", "1000000",
                            *(() if lock is None else ("--lock", f"{lock}dB", "--reacquire", f"{reacquire}us")))
            self.assertEqual(done.returncode, 0, done.stderr)
            want = model(powers, esn0, slope, margin, hysteresis, delay, every, -2.35 if lock is None else lock, reacquire)
            changes, fates = self.steps()
            self.assertEqual(fates, [lost for _, lost in want], seed)
            expected = [(i, name) for i, (name, _) in enumerate(want) if i == 0 or name != want[i - 1][0]]
            self.assertEqual([(at, name) for at, (_, name) in changes], expected, seed)
            for _, (rate, name) in changes:
                self.assertLess(abs(int(rate) - 1e6 * MODCODS[name][0]), 3)
            self.assertIn(f"lost {sum(fates) / len(fates):.4f} of the time; {len(changes) - 1} changes", done.stdout)

    def test_who_knows_the_power_loses_nothing(self):
        """Without delay and margin a loss is below the most robust ModCod; a delay costs."""
        draw = random.Random(3)
        powers = [10 ** (draw.gauss(0, 3) / 10) for _ in range(5000)]
        lost = []
        for delay in ("0", "1us"):
            self.assertEqual(self.acm(powers, "--esn0", "6dB", "--margin", "0dB", "--hysteresis", "0dB", "--delay", delay, "--step", "1us",
                                      "--symbols", "1000").returncode, 0)
            lost.append(sum(self.steps()[1]))
        mean = sum(powers) / len(powers)
        self.assertEqual(lost[0], sum(6 + 10 * math.log10(p / mean) < -2.35 for p in powers))
        self.assertGreater(lost[1], 1000)

    def test_a_receiver_that_has_to_synchronise_again(self):
        """Below the most robust ModCod for one step of 100: with 30 steps to synchronise, 31 of 100 are lost."""
        powers = [10 ** (0.4 * (i % 100 != 50)) for i in range(1000)]
        for words, each in (((), 1), (("--reacquire", "30us"), 31), (("--reacquire", "30us", "--lock", "-12dB"), 1)):
            self.assertEqual(self.acm(powers, "--esn0", "0dB", "--margin", "0dB", "--delay", "1us", "--step", "1us", "--symbols", "1000", *words).returncode, 0)
            fates = self.steps()[1]
            self.assertEqual((sum(fates), sum(fates[50:50 + each])), (10 * each, each), words)

    def test_the_scenario_runs(self):
        """A step of 1 ms at each of two rates, saturated: the bits that pass are those of the rates."""
        powers = [1.0] * 50 + [4.0] * 50
        self.assertEqual(self.acm(powers, "--esn0", "8dB", "--margin", "0dB", "--hysteresis", "0dB", "--step", "1ms", "--symbols", "1000000").returncode, 0)
        frames = "".join("0 125 0\n" for _ in range(600))
        with open(self.path("acm.yaml"), "a", encoding="utf-8") as f:
            f.write("  queue: none\noverhead: 0B\n")
        done = subprocess.run([os.path.join(BIN, "chan_play"), self.path("acm.yaml")], input=frames, capture_output=True, text=True, timeout=300, check=True)
        times = [int(line.split()[2]) for line in done.stdout.splitlines() if line.split()[1] == "out"]
        esn0 = [8 + 10 * math.log10(p / 2.5) for p in (1, 4)]
        rates = [1e6 * max(e for e, need in MODCODS.values() if need <= level) for level in esn0]
        self.assertAlmostEqual(sum(t <= 50_000_000 for t in times), 0.05 * rates[0] / 1000, delta=1.5)
        self.assertAlmostEqual(sum(50_000_000 < t <= 100_000_000 for t in times), 0.05 * rates[1] / 1000, delta=1.5)

    def test_wrong_words(self):
        for options, message in [((), "--esn0 is missing"), (("--esn0", "9"), "write a value from -100dB to 100dB"), (("--esn0", "9dB"), "--symbols is missing"),
                                 (("--esn0", "9dB", "--symbols", "5", "--slope", "3"), "write a value from 1 to 2"),
                                 (("--esn0", "9dB", "--symbols", "5", "--margin", "-1dB"), "write a value from 0dB to 100dB"),
                                 (("--esn0", "9dB", "--symbols", "5", "more"), "one file too many")]:
            done = self.acm([1.0], *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(message, done.stderr)
        done = self.acm([0.0, 0.0], "--esn0", "9dB", "--symbols", "5")
        self.assertEqual((done.returncode, "all powers are 0" in done.stderr), (2, True), done.stderr)
        done = self.acm([1.0], "--esn0", "9dB", "--symbols", "5", "-o", self.path("no/such"))
        self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
