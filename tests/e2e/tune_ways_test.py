#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-tune over realisations of a link that fades in both directions and whose receiver takes its time: every simulation has all of it, and what is
told of them is what helio-sim gives when a person asks it for the same.

usage: tune_ways_test.py BIN SOURCE
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
LINK = {"rate": "100Mbit/s", "delay": "25ms", "duration": "3s"}
BOTH = ("--return-trace", "H", "--processing", "20ms")
MOST = 64
TELL = f"""#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
exec "{BIN}/helio-sim" "$@"
"""
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from heliograph import programs; from heliograph.tune import cli as tune; programs.PLACE = sys.argv.pop(1); sys.exit(tune.main())"


def saturated(run, most, tolerance, noise):
    """By hand: the lack is within the tolerance; or within its own 95 % interval for four tests at once (Student's t of 20 parts), and within
    twice the tolerance or that interval of the noise."""
    lacks = [there - here for here, there in zip(run["carried_parts"], most["carried_parts"], strict=True)]
    half = 2.7586 * statistics.stdev(lacks) / 20**0.5
    tolerated = tolerance * most["carried_share"]
    return statistics.mean(lacks) <= max(tolerated, min(half, max(2 * tolerated, 2.7586 / 2.093 * noise * most["carried_share"])))


class Ways(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        stand_in = self.folder / "helio-sim"
        stand_in.write_text(TELL)
        stand_in.chmod(0o755)
        os.symlink(BIN / "helio-trace", self.folder / "helio-trace")

    def tune(self, *options):
        """(what was found, the options of each simulation)"""
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        link = [word for key, value in LINK.items() for word in (f"--{key}", value)]
        done = subprocess.run([sys.executable, "-c", RUN, SOURCE / "lab", self.folder, "--trace", "F", *link, "--block", "100kB", "--segment", "1024B",
                               "--rto", "200ms", "--recovery", "plain", "--tolerance", "0.02", "--sessions-max", str(MOST), "--realisations", "4",
                               "--confidence", "0.75", "--unseen", "2", "--json", *options], capture_output=True, text=True, check=True)
        words = [[word for word in line.split() if word != "--json"] for line in calls.read_text().splitlines()]
        return json.loads(done.stdout)["recovery"]["plain"], [dict(zip(one[::2], one[1::2])) for one in words]

    def trace(self, preset, seed):
        path = self.folder / f"{preset}-{seed}-by-hand.txt"
        if not path.exists():
            subprocess.run([BIN / "helio-trace", "gen", "--preset", preset, "--seed", str(seed), "-o", path], check=True, capture_output=True)
        return path

    def by_hand(self, found, seed, sessions, both=True):
        """Realisation `seed` with so many sessions."""
        more = ("--return-trace", self.trace("H", 500000 + seed), "--processing", "20ms") if both else ()
        link = [word for key, value in LINK.items() for word in (f"--{key}", value)]
        done = subprocess.run([BIN / "helio-sim", "--trace", self.trace("F", seed), *more, *link, "--bundle", "100kB", "--segment", "1024B", "--rto", "200ms",
                               "--recovery", "plain", "--seed", str(seed), "--sessions", str(sessions), "--warmup", f"{round(found['warmup_s'] * 1e9)}ns",
                               "--follow", "yes", "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def suffice(self, found, sessions, first, both=True):
        most = found["realisations"]["most_sessions"]
        return sum(saturated(*(self.by_hand(found, first + i, n, both) for n in (sessions, most)), 0.02, found["realisations"]["noise"]) for i in range(1, 5))

    def check_calls(self, calls):
        """All have both; search and realisations each their own fades."""
        self.assertEqual({call["--processing"] for call in calls}, {"20ms"})
        pairs = {}
        for call in calls:
            pairs.setdefault(int(call["--seed"]), set()).add((Path(call["--trace"]).name, Path(call["--return-trace"]).name))
        wanted = {1: {("F", "H")}}
        for first, count in ((2000, 2), (2500, 5), (3000, 4), (4000, 4)):  # unseen, expected, choice, held out
            wanted.update({first + i: {(f"F-{first + i}.txt.gz", f"H-{500000 + first + i}.txt.gz")} for i in range(1, count + 1)})
        self.assertEqual({seed: pairs[seed] for seed in wanted}, wanted)
        self.assertTrue(all(2500 < seed <= 2520 for seed in set(pairs) - set(wanted)), sorted(pairs))  # as many as the expectation wants

    def test_sessions_and_expectation_are_of_both(self):
        found, calls = self.tune(*BOTH)
        self.check_calls(calls)
        sure, expected = found["realisations"], found["expected"]
        self.assertEqual((sure["sessions"], sure["runs"], sure["held_out"]["runs"]), (found["sessions"], 4, 4))
        self.assertEqual([self.suffice(found, found["sessions"], first) for first in (3000, 4000)], [sure["suffice"], sure["held_out"]["suffice"]])
        self.assertGreaterEqual(sure["suffice"], 3)
        self.assertLess(self.suffice(found, found["sessions"] - 1, 3000), 3)
        for told, first in ((expected, 2500), (found["unseen"], 2000)):
            runs = [self.by_hand(found, first + i, found["sessions"])["efficiency"] for i in range(1, told["runs"] + 1)]
            self.assertAlmostEqual(told["efficiency"], statistics.mean(runs), places=9)
        # fewer are wanted without, and those would not do with both
        fewer, calls = self.tune()
        self.assertEqual({(call["--processing"], call.get("--return-trace")) for call in calls}, {("0", None)})
        self.assertLess(fewer["sessions"], found["sessions"])
        self.assertLess(self.suffice(found, fewer["sessions"], 3000), 3)
        self.assertGreaterEqual(self.suffice(fewer, fewer["sessions"], 3000, both=False), 3)
        for one in (BOTH[:2], BOTH[2:]):
            self.assertLess(self.tune(*one)[0]["sessions"], found["sessions"], one)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
