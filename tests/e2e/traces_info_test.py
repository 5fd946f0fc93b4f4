#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-trace info: comparison, CSV files and plots.

usage: traces_info_test.py BIN_DIR [unittest arguments]
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

BIN = ""
PACKAGE = ""


def trace(*arguments, **more):
    return subprocess.run([os.path.join(BIN, "helio-trace"), *arguments], capture_output=True, timeout=1000, **more)


def has_matplotlib():
    # its fonts are looked for once, of which it speaks where that takes 5 s
    return any(subprocess.run([python, "-c", "import matplotlib.font_manager"], capture_output=True).returncode == 0
               for python in ("python3", "/usr/bin/python3") if python == "python3" or os.path.exists(python))


class InfoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def rows(self, name):
        with open(self.path(name), newline="") as f:
            return list(csv.DictReader(f))

    def small(self, name="a,b.txt"):
        with open(self.path(name), "w") as f:
            f.write("# step_ns 1000000\n0 10\n1 1\n0 30\n1 3\n")
        return self.path(name)

    def test_csv_files(self):
        small = self.small()
        p = trace("info", small, "--csv", self.path("csv"))
        self.assertEqual(p.returncode, 0, p.stderr)
        statistics = self.rows("csv/statistics.csv")
        self.assertEqual([(r["trace"], r["state"], r["runs"], r["steps"], r["step_ns"]) for r in statistics],
                         [(small, "bad", "2", "44", "1000000"), (small, "good", "2", "44", "1000000")])
        lengths = [(r["state"], float(r["duration_ms"]), float(r["share"])) for r in self.rows("csv/dwell_cdf.csv")]
        self.assertEqual(lengths, [("bad", 1, 0.5), ("bad", 3, 1), ("good", 10, 0.5), ("good", 30, 1)])
        correlation = [(float(r["lag_ms"]), float(r["correlation"])) for r in self.rows("csv/autocorrelation.csv")]
        share = 4 / 44
        self.assertEqual([lag for lag, _ in correlation], [0, 1, 2, 3, 4])
        for (_, value), both in zip(correlation, (4, 2, 1, 0, 0)):  # 1 follows 3 by 10 steps, not by less
            self.assertAlmostEqual(value, (both / 44 - share ** 2) / (share * (1 - share)), places=5)
        shares = self.rows("csv/bad_share.csv")
        self.assertEqual([r["share"] for r in shares[9:12]], ["0.000000", "1.000000", "0.000000"])
        self.assertAlmostEqual(float(shares[-1]["to_s"]), 0.044)

    def test_a_trace_is_near_itself_and_far_from_others(self):
        again = self.path("again.htr")
        self.assertEqual(trace("gen", "-p", "A", "-s", "99", "-o", again).returncode, 0)
        same = json.loads(trace("info", "A", "--compare", again, "--json").stdout)
        other = json.loads(trace("info", "A", "--compare", "F", "--json").stdout)
        self.assertEqual([t["bad"]["runs"] for t in other["traces"]], [5247, 6430])
        for state in ("bad", "good"):
            self.assertLess(same["distance"][state], same["critical_5_percent"][state])
            self.assertGreater(other["distance"][state], 3 * other["critical_5_percent"][state])
        text = trace("info", "A", "--compare", "A").stdout.decode()
        self.assertIn("Kolmogorov-Smirnov", text)
        self.assertIn("bad      0.0000    0.0265", text)

    def test_synthetic_is_said_to_be(self):
        """By traces that a model made, and by its powers; not by what was given, or is of no known origin."""
        models = {"renewal": ("-p", "F"), "gilbert": ("--gilbert", "18ms,1ms"), "independent": ("--independent", "0.1"), "optical": ("-p", "leo-low")}
        for name, options in models.items():
            for end in (".htr", ".txt"):
                self.assertEqual(trace("gen", *options, "-n", "3000", "-o", self.path("t" + end)).returncode, 0)
                self.assertIn(f"3000 steps of 0.1 ms, 0.3 s; synthetic ({name})\n", trace("info", self.path("t" + end)).stdout.decode())
                self.assertIs(json.loads(trace("info", self.path("t" + end), "--json").stdout)["synthetic"], True)
        self.assertEqual(trace("sites", "--cloud", "0.4,10s", "--duration", "1h", "-o", self.path("s")).returncode, 0)
        for which in ("1", "2", "3", "any"):
            self.assertIn(b"; synthetic (sites)\n", trace("info", self.path(f"s-{which}.htr")).stdout)
        power = self.path("p.csv")
        self.assertEqual(trace("gen", "-p", "leo-low", "-n", "3000", "--power", power, "-o", self.path("t.htr")).returncode, 0)
        with open(power, encoding="ascii") as f:
            said = f.readlines()[1]
        self.assertEqual(said, "# synthetic: helio-trace gen --preset leo-low --seed %d --steps 3000 --step 100000ns\n"
                         % json.loads(trace("info", self.path("t.htr"), "--json").stdout)["seed"])
        again = self.path("again.csv")
        self.assertEqual(trace(*said.split()[3:], "--power", again, "-o", self.path("u.htr")).returncode, 0)
        with open(power, "rb") as a, open(again, "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.assertEqual(trace("from-power", power, "--mean-margin", "3dB", "-o", self.path("v.htr")).returncode, 0)
        for path in (self.path("v.htr"), self.small()):
            self.assertNotIn(b"synthetic", trace("info", path).stdout + trace("info", path, "--json").stdout)

    @unittest.skipUnless(has_matplotlib(), "no matplotlib")
    def test_plots(self):
        good = self.path("good.txt")
        with open(good, "w") as f:
            f.write("0 5\n")
        for name, magic, arguments in [("a.png", b"\x89PNG", ("A",)), ("b.svg", b"<?xml", ("leo-low", "--compare", "F")),
                                       ("c.pdf", b"%PDF", (self.small(), "--compare", self.small("c.txt"))),
                                       ("e.svg", b"<?xml", (good,))]:
            p = trace("info", *arguments, "--plot", self.path(name))
            self.assertEqual((p.returncode, p.stderr), (0, b""))
            with open(self.path(name), "rb") as f:
                self.assertEqual(f.read(len(magic)), magic)
        with open(self.path("b.svg"), encoding="utf-8") as f:
            drawn = f.read()
        for text in ("leo-low (synthetic): 7.94 % bad", "F (synthetic): 13.8 % bad", "length (ms)", "lag (ms)", "time (s)", "bad share (%)"):
            self.assertIn(text, drawn)
        p = trace("info", *("leo-low", "--compare", "F"), "--plot", self.path("again.svg"))
        with open(self.path("again.svg"), encoding="utf-8") as f:
            self.assertEqual(f.read(), drawn)

    def test_without_matplotlib(self):
        hide = ("import runpy, sys; sys.modules['matplotlib'] = None; sys.path.insert(0, sys.argv[1]); "
                "sys.argv = ['x', 'figures.trace', '.', 'out.png']; runpy.run_path(sys.path[0], run_name='__main__')")
        p = subprocess.run([sys.executable, "-c", hide, PACKAGE], capture_output=True, timeout=300)
        self.assertEqual(p.returncode, 77, p.stderr)
        if not has_matplotlib():
            p = trace("info", "A", "--plot", self.path("a.png"))
            self.assertEqual(p.returncode, 1)
            self.assertIn(b"python3-matplotlib", p.stderr)

    def test_wrong_options_and_places(self):
        for arguments, message, code in [(("A", "--plot", "a.txt"), b"ends in .png, .svg or .pdf", 2),
                                         (("A", "F"), b"compare two by --compare", 2),
                                         (("A", "--compare", "/no/such"), b"/no/such: cannot be opened", 2),
                                         (("A", "--csv", "/proc/no"), b"/proc/no: cannot be made", 1),
                                         (("A", "--csv", "/proc"), b"/proc/statistics.csv: cannot be created", 1)]:
            p = trace("info", *arguments)
            self.assertEqual(p.returncode, code, arguments)
            self.assertIn(message, p.stderr)
        if has_matplotlib():
            p = trace("info", "A", "--plot", "/no/such/folder/a.png")
            self.assertEqual((p.returncode, p.stdout), (1, b""))
            self.assertIn(b"/no/such/folder/a.png", p.stderr)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    PACKAGE = os.path.join(os.path.dirname(BIN.rstrip("/")), "lib", "heliograph")
    unittest.main()
