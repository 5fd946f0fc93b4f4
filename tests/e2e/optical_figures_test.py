#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The figure of docs/helio-trace.md: its stored numbers are those that helio-trace draws now, and what is drawn agrees with the closed
forms beside it.

usage: optical_figures_test.py BIN_DIR SOURCE_DIR [unittest arguments]
"""
import json
import os
import sys
import tempfile
import unittest

BIN = SOURCE = ""


def flat(x):
    if isinstance(x, dict):
        return [v for key in sorted(x) for v in flat(x[key])]
    return [v for y in x for v in flat(y)] if isinstance(x, list) else [x]


class FiguresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, os.path.join(SOURCE, "docs", "figures"))
        import optical
        cls.optical = optical
        with open(os.path.join(SOURCE, "docs", "figures", "optical.json"), encoding="utf-8") as f:
            cls.stored = json.load(f)

    def near(self, name, relative=0.0, absolute=0.0):
        n = self.stored[name]
        drawn = "drawn_db" if "drawn_db" in n else "drawn"
        for have, want in zip(flat(n[drawn]), flat(n[drawn.replace("drawn", "closed")]), strict=True):
            self.assertLess(abs(have - want), relative * abs(want) + absolute, (name, have, want))

    def test_drawn_is_what_the_closed_forms_say(self):
        self.near("bias", relative=0.02)
        self.near("uplink", relative=0.01)
        self.near("extinction", absolute=0.001)
        self.near("scales", absolute=0.015)
        self.near("table", relative=0.02, absolute=5 * (0.25 / 20000) ** 0.5)
        self.near("sites", relative=0.05, absolute=0.0005)
        self.near("coherence", relative=0.13)  # docs: at most 12 % short
        self.near("clouds", relative=0.06, absolute=0.004)
        self.near("interleaver", absolute=0.0003)  # a frame each 10 us, two edges
        self.assertEqual(self.stored["interleaver"]["delay_ms"], [[depth] for depth in self.stored["interleaver"]["depth_ms"]])
        self.near("jitter", absolute=0.015)
        spectra = self.stored["spectra"]
        for kind, slope in spectra["wanted"].items():
            self.assertLess(abs(spectra["slope"][kind] - slope), 0.25, kind)

    def test_the_numbers_are_of_this_program(self):
        """Of those that take little time: the same seeds draw the same."""
        self.assertEqual(self.optical.never_clear(BIN, 2, 0.3), self.stored["sites"]["drawn"][1][1])
        for name in ("extinction", "table", "interleaver"):
            for have, want in zip(flat(self.optical.PARTS[name](BIN)), flat(self.stored[name]), strict=True):
                self.assertAlmostEqual(have, want, places=9, msg=name)

    def test_it_can_be_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "optical.png")
            self.optical.draw(self.stored, path)
            self.assertGreater(os.path.getsize(path), 50000)
        self.assertTrue(os.path.exists(os.path.join(SOURCE, "docs", "figures", "optical.png")))


if __name__ == "__main__":
    BIN, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
