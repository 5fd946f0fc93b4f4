#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shipped traces: made again from their seeds they are the same, and they meet the published
statistics; and what helio-trace says to wrong options and files.

usage: traces_test.py BIN_DIR TRACES_DIR [unittest arguments]
"""
import gzip
import math
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = TRACES = ""
# bad %, bad mean, sd, median, 90th percentile, good mean, sd (ms); Caini et al., IEEE TAES 59(6), 2023
PHYSICAL = ("leo-low", "leo-high")
MEASURED = ("jpl-47km",)
PUBLISHED = {"A": (4.98, 0.95, 0.66, 0.8, 1.8, 18.17, 17.37), "F": (13.7, 2.14, 3.15, 1.2, 4.4, 13.46, 18.19),
             "H": (28.8, 5.46, 5.02, 4.1, 11.6, 13.48, 12.84)}


def trace(*arguments):
    return subprocess.run([os.path.join(BIN, "helio-trace"), *arguments], capture_output=True, timeout=300)


class TracesTest(unittest.TestCase):
    def test_made_again_they_are_the_same(self):
        """Each command of traces/README.md makes its file byte for byte."""
        with open(os.path.join(TRACES, "README.md")) as f:
            commands = [line.split() for line in f if line.startswith("    helio-trace gen ")]
        names = [c[-1] for c in commands]
        self.assertEqual(sorted(names), sorted(n for n in os.listdir(TRACES) if n.endswith(".htr")))
        with tempfile.TemporaryDirectory() as d:
            for command in commands:
                again = os.path.join(d, command[-1])
                p = trace(*command[1:-1], again)
                self.assertEqual(p.returncode, 0, p.stderr)
                with open(again, "rb") as a, open(os.path.join(TRACES, command[-1]), "rb") as b:
                    self.assertEqual(a.read(), b.read(), command)

    def test_other_compilers_make_the_same(self):
        """The promise of docs/helio-trace.md: no compiler, optimisation or processor changes a byte."""
        top = os.path.dirname(TRACES.rstrip("/"))
        places = {path.name: path for path in pathlib.Path(top, "channel-emu", "chan").rglob("*.c")}
        sources = [str(places[f"chan_{noun}.c"])
                   for noun in ("gen", "spec", "law", "math", "fade", "air", "wind", "zernike", "filter", "receiver", "trace")]
        sources += [os.path.join(top, "base", noun + ".c") for noun in ("rng", "units", "err")]
        driver = os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces_again.c")
        expected = {name: trace("convert", "-f", "runs", os.path.join(TRACES, name + ".htr"), "-").stdout
                    for name in (*PUBLISHED, *PHYSICAL)}
        expected["bits"] = subprocess.run([os.path.join(BIN, "traces_again"), "bits"], capture_output=True, check=True).stdout
        made = 0
        for flags in [("gcc", "-O3", "-march=native"), ("clang", "-O3", "-march=native", "-mtune=native")]:
            if shutil.which(flags[0]) is None:
                continue
            with tempfile.TemporaryDirectory() as d:
                program = os.path.join(d, "again")
                subprocess.run([*flags, "-std=gnu11", "-D_GNU_SOURCE", "-fno-strict-aliasing", "-ffp-contract=off", "-I", top,
                                driver, *sources, "-lm", "-o", program], check=True, timeout=300)
                for name, text in expected.items():
                    again = subprocess.run([program, name], capture_output=True, check=True, timeout=300).stdout
                    runs = b"".join(line for line in text.splitlines(True) if not line.startswith(b"#"))
                    self.assertEqual(again, runs, (flags, name))
                    made += 1
        if made == 0:
            self.skipTest("no gcc and no clang")

    def test_the_names_are_the_files(self):
        for name in os.listdir(TRACES):
            if name.endswith(".htr"):
                with open(os.path.join(TRACES, name), "rb") as f:
                    self.assertEqual(trace("convert", "-f", "compact", name[:-4], "-").stdout, f.read(), name)

    def test_other_programs_know_the_names_and_refuse_the_malformed(self):
        with tempfile.TemporaryDirectory() as d:
            wrong, scenario = os.path.join(d, "wrong.txt"), os.path.join(d, "scenario.yaml")
            with open(wrong, "w") as f:
                f.write("0 5\n1 x\n")
            for name in (*PUBLISHED, *PHYSICAL, *MEASURED, wrong):
                with open(scenario, "w") as f:
                    f.write(f"forward:\n  erasures:\n    trace: {name}\n")
                for command in [("helio-sim", "--duration", "10ms", "--trace", name), ("helio-emu", "check", scenario)]:
                    p = subprocess.run([os.path.join(BIN, command[0]), *command[1:]], capture_output=True, timeout=300)
                    self.assertEqual(p.returncode, 2 if name == wrong else 0, (command, p.stderr))
                    self.assertEqual(b"wrong.txt:2: the number of steps" in p.stderr, name == wrong, p.stderr)

    def test_every_form_carries_the_whole_trace(self):
        with tempfile.TemporaryDirectory() as d:
            first = os.path.join(d, "a.htr")
            self.assertEqual(trace("gen", "-p", "F", "-n", "20000", "-o", first).returncode, 0)
            at = first
            for form, name in [("csv", "b.csv"), ("steps", "c"), ("runs", "d.txt"), ("steps", "e.gz"), ("csv", "f.csv.gz"),
                               ("compact", "g"), ("compact", "h.gz"), ("runs", "i")]:
                to = os.path.join(d, name)
                p = trace("convert", at, to, "--format", form)
                self.assertEqual(p.returncode, 0, p.stderr)
                with open(to, "rb") as f:
                    self.assertEqual(f.read(2) == b"\x1f\x8b", name.endswith(".gz"))
                at = to
            with open(at, "rb") as f:
                p = subprocess.run([os.path.join(BIN, "helio-trace"), "convert", "-", "-", "-f", "compact"], stdin=f,
                                   capture_output=True, timeout=300)
            with open(first, "rb") as f:
                self.assertEqual(p.stdout, f.read())

    def converted(self, text, *options):
        p = subprocess.run([os.path.join(BIN, "helio-trace"), "convert", "-", "-", *options], input=text, capture_output=True, timeout=300)
        self.assertEqual((p.returncode, p.stderr), (0, b""), (text, options))
        return p.stdout

    def test_forms_of_other_programs_carry_the_whole_trace(self):
        forms = [("one",), ("one", "--nodes", "7,0"), ("dtnsim", "--rate", "500Mbit/s"), ("frames",), ("frames", "--every", "7ns")]
        texts = [b"# step_ns 100\n0 1\n", b"# step_ns 100\n1 7\n", b"# step_ns 1000\n1 2\n0 9\n1 3\n0 4\n", b"0 123\n1 4567\n0 89\n1 1000\n",
                 b"# step_ns 33333333\n# generator independent\n# parameters --loss 0.1\n# seed 5\n1 3\n0 5\n1 1\n0 2\n1 1\n"]
        for text in texts:
            compact = self.converted(text, "-f", "compact")
            for form in forms:
                if form[-1] == "7ns" and b"# step_ns 100\n" not in text:
                    continue
                there = self.converted(compact, "-f", *form)
                self.assertEqual(self.converted(there, "-f", "compact"), compact, there)
        for name in "A", "F":
            with open(os.path.join(TRACES, name + ".htr"), "rb") as f:
                compact = f.read()
            for form in forms[0], forms[2], forms[3]:
                self.assertEqual(self.converted(self.converted(compact, "-f", *form), "-f", "compact") == compact, True, (name, form))

    def test_forms_of_other_programs(self):
        text = b"# step_ns 1000000\n1 2000\n0 500\n1 2\n0 1\n1 1\n"
        self.assertEqual(self.converted(text, "-f", "one", "--nodes", "7,9"),
                         b"# step_ns 1000000\n2 CONN 7 9 up\n2.5 CONN 7 9 down\n2.502 CONN 7 9 up\n2.503 CONN 7 9 down\n2.504 CONN 7 9 down\n")
        self.assertEqual(self.converted(text, "-f", "dtnsim", "--rate", "1003bit/s"),
                         b"# step_ns 1000000\n# end_s 2.504\na contact 2 2.5 1 2 125.375\na contact 2.502 2.503 1 2 125.375\n")
        self.assertEqual(self.converted(b"# step_ns 250000000\n0 2\n1 1\n", "-f", "frames"), b"# step_ns 250000000\ntime_s,lost\n0,0\n0.25,0\n0.5,1\n")
        p = subprocess.run([os.path.join(BIN, "helio-trace"), "convert", "-", "-", "-f", "frames", "--every", "3ms"], input=b"# step_ns 1000000\n0 3\n1 1\n0 4\n",
                           capture_output=True, timeout=300)
        self.assertEqual((p.returncode, p.stdout), (0, b"# step_ns 1000000\ntime_s,lost\n0,0\n0.003,1\n0.006,0\n"))
        self.assertIn(b"note: frames come less often than steps", p.stderr)
        for options, message in [(("-f", "dtnsim"), b"--rate is missing"), (("-f", "one", "--rate", "1bit/s"), b"--rate is for --format dtnsim"),
                                 (("-f", "csv", "--nodes", "1,2"), b"--nodes is for"), (("-f", "one", "--nodes", "3,3"), b"write two different numbers"),
                                 (("-f", "one", "--nodes", "3"), b"write two different numbers"), (("-f", "one", "--every", "1s"), b"--every is for"),
                                 (("-f", "dtnsim", "--rate", "unlimited"), b"--rate: unlimited is out of range"), (("-f", "frames", "--every", "0s"), b"--every: 0s is out of range")]:
            p = trace("convert", "A", "-", *options)
            self.assertEqual(p.returncode, 2)
            self.assertIn(message, p.stderr)

    def test_a_csv_may_have_any_step(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
            f.write("# step_ns 1\nstate,duration_us\ngood,1.001\nbad,0.25\n")
            f.flush()
            self.assertEqual(trace("convert", f.name, "-", "-f", "csv").stdout,
                             b"# step_ns 1\nstate,duration_ms\ngood,0.001001\nbad,0.00025\n")

    def test_nothing_half_written_stays(self):
        if os.path.exists("/dev/full"):
            p = trace("convert", "A", "/dev/full")
            self.assertEqual(p.returncode, 1)
            self.assertIn(b"cannot be written: No space", p.stderr)
            self.assertTrue(os.path.exists("/dev/full"))

    def meets(self, path, published):
        p = trace("info", "--json", path)
        self.assertEqual(p.returncode, 0, p.stderr)
        t = json.loads(p.stdout)
        bad, good = t["bad"], t["good"]
        self.assertAlmostEqual(100 * bad["share"], published[0], delta=0.2)
        ours = [bad[k] for k in ("mean_ms", "sd_ms", "median_ms", "p90_ms")] + [good["mean_ms"], good["sd_ms"]]
        for figure, (a, b) in enumerate(zip(ours, published[1:])):
            self.assertLess(abs(a / b - 1), 0.05, f"{path}, figure {figure}: {a} for {b}")
        return t

    def test_they_meet_the_published_figures(self):
        for name, published in PUBLISHED.items():
            t = self.meets(os.path.join(TRACES, name + ".htr"), published)
            self.assertEqual((t["steps"], t["step_ns"]), (1000000, 100000))

    def test_the_parameters_in_a_file_make_it_again(self):
        for arguments in [("--preset", "H"), ("--preset", "leo-low", "--index", "0.3"), ("--gilbert", "18ms,1ms"), ("--independent", "0.1"),
                          ("--good", "gamma:18.17ms,1.1", "--bad", "0.5*lognormal:2ms,3ms+0.5*fixed:1ms"),
                          ("--scintillation", "lognormal", "--index", "0.4", "--jitter", "0.3", "--margin", "2.5dB")]:
            first = trace("gen", *arguments, "-n", "20000", "-s", "12")
            self.assertEqual(first.returncode, 0, first.stderr)
            said = dict(line[2:].split(b" ", 1) for line in first.stdout.splitlines() if line.startswith(b"# "))
            self.assertEqual(said[b"parameters"], " ".join(arguments).encode())
            again = trace("gen", *said[b"parameters"].decode().split(), "-s", said[b"seed"].decode(), "--duration", "2s")
            self.assertEqual(again.stdout, first.stdout)

    def test_the_laws_behind_them_meet_the_published_figures(self):
        """Not only the chosen seeds: 10^7 steps with another one."""
        with tempfile.TemporaryDirectory() as d:
            for name, published in PUBLISHED.items():
                long = os.path.join(d, name)
                self.assertEqual(trace("gen", "-p", name, "-n", "10000000", "-s", "4711", "-o", long).returncode, 0)
                self.meets(long, published)

    def test_statistics_of_a_small_trace(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write("# step_ns 1000000\n\n0 10\n1 1\n0 30\r\n  1 3  # three\n1 0\n"[:-4])
            f.flush()
            t = json.loads(trace("info", "--json", f.name).stdout)
            self.assertEqual(t["steps"], 44)
            self.assertEqual((t["bad"]["runs"], t["bad"]["mean_ms"], t["bad"]["sd_ms"]), (2, 2, 1))
            self.assertEqual((t["bad"]["median_ms"], t["bad"]["p90_ms"], t["good"]["mean_ms"]), (1, 3, 20))
            self.assertAlmostEqual(t["bad"]["share"], 4 / 44, places=6)
            self.assertIn(b"44 steps of 1 ms", trace("info", f.name).stdout)
            self.assertIn(b"44 steps of 2 ms", trace("info", "--step", "2ms", f.name).stdout)

    def test_seeds_matter_and_repeat(self):
        make = lambda seed: trace("gen", "-p", "F", "-n", "5000", "-s", seed).stdout
        self.assertEqual(make("1"), make("1"))
        self.assertNotEqual(make("1").split(b"\n", 1)[1], make("2").split(b"\n", 1)[1])

    def test_a_pass_may_be_its_path_alone(self):
        """Range loss without scintillation: bad below the elevation whose range is that of 30 degrees and 3 dB more."""
        def far(degrees, earth=6371.0, altitude=550.0):
            s = earth * math.sin(math.radians(degrees))
            return math.sqrt(s * s + altitude * (2 * earth + altitude)) - s
        low, high = 5.0, 30.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if (far(30) / far(middle)) ** 2 < 10 ** -0.3 else (low, middle)
        p = trace("gen", "--elevation", "0s:5,250s:30", "--margin", "3dB", "--step", "100ms", "--steps", "2500")
        self.assertEqual(p.returncode, 0, p.stderr)
        runs = [line.split() for line in p.stdout.decode().splitlines() if line[0] != "#"]
        self.assertEqual([state for state, _ in runs], ["1", "0"])
        self.assertAlmostEqual(int(runs[0][1]) * 0.1, (low - 5) * 10, delta=1)  # the path is renewed each second
        p = trace("gen", "--elevation", "30", "--margin", "3dB")
        self.assertIn(b"nothing would change", p.stderr)

    def test_wrong_options_and_files(self):
        for arguments, message in [((), b"a command is missing: gen, from-power, convert, info, sites or acm; try "), (("gem",), b"'gem' is unknown"), (("gen",), b"the model is missing; write --preset"),
                                   (("gen", "-p", "B"), b"write one of: A, F, H, leo-low, leo-high or jpl-47km"),
                                   (("gen", "-p", "A", "--steps", "0"), b"write a value of at least 1"),
                                   (("gen", "-p", "A", "--step", "1"), b"write a duration"),
                                   (("sites", "--cloud", "0.4,1ns", "-o", "x"), b"below a thousandth of --step"),
                                   (("sites", "--cloud", "0.999,1ms", "-o", "x"), b"which is more than 10^9"),
                                   (("sites", "--cloud", "0.4,30min", "-o", "x" * 4001), b"-o is longer than 4000 characters"),
                                   (("info",), b"the trace is missing"),
                                   (("gen", "--scintillation", "lognormal", "--elevation", "30", "--fibre", "3"), b"--fibre needs the --aperture"),
                                   (("gen", "--scintillation", "lognormal", "--index", "0.3", "--fried", "0.1m"), b"--fried needs an --elevation"),
                                   (("gen", "--scintillation", "lognormal", "--elevation", "30", "--fibre", "0"), b"a number of Zernike modes from 1"),
                                   (("gen", "--scintillation", "lognormal", "--elevation", "30", "--profile", "slc"), b"write hv57, slc-day, slc-night"),
                                   (("convert", "A"), b"write IN OUT"), (("convert", "A", "b", "c"), b"one file too many"),
                                   (("convert", "A", "-", "-f", "xml"), b"write one of: compact, runs, steps, csv, one, dtnsim, frames")]:
            p = trace(*arguments)
            self.assertEqual(p.returncode, 2, arguments)
            self.assertIn(message, p.stderr)
        for content, message in [(b"", b":0: no run in the file"), (b"0 5\n1 -3\n", b":2: the number of steps"),
                                 (b"0 5 6\n", b":1: more than two values"), (b"good 5\n", b":1: the state must be"),
                                 (b"0 5\n# step_ns 5\n", b":2: step_ns must stand before"),
                                 (b"0 " + b"9" * 1300 + b"\n", b":1: the line is longer"),
                                 (b"helio-trace 2\n", b"line 1: this version"), (b"helio-trace 1\n\0", b"line 2: the line"),
                                 (b"0 18446744073709551615\n", b":1: the trace becomes longer"),
                                 (b"0 5\n1 3\0 7\n", b":2: a NUL byte"), (b"0 5\0", b":1: a NUL byte"), (b"\0" * 5000, b":1: a NUL byte"),
                                 (b"0 5\n\xef\xbb\xbf1 3\n", b":2: the state must be"),
                                 (gzip.compress(b"0 5\n" * 9999)[:-9], b"cannot be read after line")]:
            with tempfile.NamedTemporaryFile(suffix=".txt") as f:
                f.write(content)
                f.flush()
                p = trace("info", f.name)
                self.assertEqual(p.returncode, 1 if b"cannot be read" in message else 2, content[:20])
                self.assertIn(f.name.encode() + (b": " if message[:1] != b":" else b"") + message, p.stderr)
        self.assertIn(b"/dev/zero:1: a NUL byte", trace("info", "/dev/zero").stderr)
        with tempfile.NamedTemporaryFile(suffix=".txt") as f:  # a byte order mark is no content
            f.write(b"\xef\xbb\xbf0 5\n1 3\n")
            f.flush()
            self.assertIn(b"8 steps", trace("info", f.name).stdout)
        self.assertEqual(trace("gen", "-p", "A", "-o", "/no/such/file").returncode, 2)
        self.assertEqual(trace("info", "/no/such/file").returncode, 2)


if __name__ == "__main__":
    BIN, TRACES = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
