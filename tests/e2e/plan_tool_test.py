# SPDX-License-Identifier: Apache-2.0
"""helio-plan: the examples of its pages run as printed, formats convert into each other, routes are those of the page.
usage: plan_tool_test.py BIN OUT ROOT"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

PROGRAMS = OUT = ROOT = ""
PLAN = "examples/plan.yaml"


def run(*words, code=0):
    done = subprocess.run([os.path.join(PROGRAMS, "helio-plan"), *words], capture_output=True, text=True, timeout=1000, cwd=ROOT)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


class PlanToolTest(unittest.TestCase):
    def route(self, *words, code=0):
        return json.loads(run("route", "--json", *words, code=code).stdout)

    def test_examples(self):
        """Of the page and of each --help."""
        with open(os.path.join(ROOT, "docs/contact-plans.md"), encoding="utf-8") as f:
            text = f.read().split("## Examples")[1]
        for words in ([], ["check"], ["convert"], ["show"], ["route"]):
            text += run(*words, "--help").stdout
        examples = {line.strip() for line in text.splitlines() if re.match(r" +helio-plan [a-z]+ examples/", line)}
        self.assertGreaterEqual(len(examples), 10)
        for line in sorted(examples):
            words = [w.replace("/tmp/", OUT + "/") for w in line.split()[1:]]
            with self.subTest(line):
                run(*words)
        for name in ("plan.png", "plan.json", "plan.ionrc"):
            self.assertGreater(os.path.getsize(os.path.join(OUT, name)), 100)

    def test_page(self):
        """The answer on the page is the program's."""
        with open(os.path.join(ROOT, "docs/contact-plans.md"), encoding="utf-8") as f:
            shown = f.read().split("$ helio-plan route examples/plan.yaml 1 4 500kB\n")[1].split("\n\n")[0]
        self.assertEqual([line[4:] for line in shown.splitlines()], run("route", PLAN, "1", "4", "500kB").stdout.splitlines())

    def test_formats(self):
        want = self.route(PLAN, "1", "4", "500kB")
        for name, to in (("a.ionrc", "ion"), ("b.yaml", "yaml")):
            path = os.path.join(OUT, name)
            run("convert", PLAN, "--to", to, "--exact", "-o", path)
            self.assertEqual(self.route(path, "1", "4", "500kB"), want)
        path = os.path.join(OUT, "c.json")
        done = run("convert", PLAN, "--to", "hdtn", "--exact", "-o", path)
        self.assertIn("hdtn has no confidence: lost of 2 contacts", done.stderr)
        self.assertIn("2 contacts have other or none", done.stderr)
        self.assertEqual(self.route(path, "1", "3", "500kB", "130s"), self.route(PLAN, "1", "3", "500kB", "130s"))
        for to, name in (("ion", "whole.ionrc"), ("hdtn", "whole.json")):
            done = run("convert", PLAN, "--to", to, "-o", os.path.join(OUT, name))
            self.assertIn(f"for {to}: 8 contacts or light times had fractions", done.stderr)
            with open(os.path.join(OUT, name), encoding="utf-8") as f:
                self.assertNotRegex(f.read().replace(" 0.9\n", "\n"), r"[0-9]\.[0-9]")

    def test_notes(self):
        """What ION takes and nothing can be planned by is left out, and said on each command."""
        path = os.path.join(OUT, "odd.ionrc")
        with open(path, "w", encoding="utf-8") as f:
            f.write("a contact -1 -1 1 1 0\na contact +0 +60 1 2 1000\na contact +0 +60 2 1 1000\na range +0 +60 1 2 1\n")
        note = f"{path}:1: registers node 1: no contact"
        self.assertIn(note, run("check", path).stdout)
        self.assertEqual(json.loads(run("check", "--json", path).stdout)["texts"], [note])
        for words in (["show", path], ["convert", path, "--to", "ion"], ["route", path, "1", "2", "1kB"]):
            self.assertEqual(run(*words).stderr, f"helio-plan: note: {note}\n")

    def test_routes(self):
        self.assertEqual(self.route(PLAN, "1", "4", "500kB", "--lifetime", "30s", code=1)["reason"], "too late")
        self.assertEqual(self.route(PLAN, "4", "77", "1B", code=1)["reason"], "no route")
        self.assertEqual(self.route(PLAN, "1", "4", "100GB", code=1)["reason"], "too long")
        late = self.route(PLAN, "1", "4", "700MB", "65s", "--lifetime", "2min", "--backlog", "2:900MB", code=1)
        self.assertEqual(late["reason"], "too late")
        full = self.route(PLAN, "1", "4", "1MB", "65s", "--lifetime", "1min", "--backlog", "2:900MB", code=1)
        self.assertEqual(full["reason"], "no volume")
        ways = self.route(PLAN, "1", "4", "500kB", "--alternatives", "9")["routes"]
        self.assertEqual([[h["to"] for h in w["hops"]] for w in ways], [[2, 4], [3, 4], [4]])
        self.assertEqual(sorted(ways, key=lambda w: w["arrival_ns"]), ways)
        self.assertEqual(len(self.route(PLAN, "1", "4", "500kB", "--critical")["routes"]), 3)
        ways = self.route(PLAN, "1", "4", "500kB", "--exclude", "2")["routes"]
        self.assertEqual(ways[0]["hops"][0]["to"], 3)
        self.assertEqual(self.route(PLAN, "1", "2", "1MB", "10s", "--bare")["routes"][0]["arrival_ns"], 10_026_000_000)

    def test_check(self):
        path = os.path.join(OUT, "holes.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("contacts:\n  - {from: 1, to: 2, end: 10s, rate: 1kbit/s}\nranges:\n  - {from: 1, to: 2, end: 4s, owlt: 0}\n")
        told = json.loads(run("check", "--json", path).stdout)
        self.assertEqual(told["notes"], 2)
        self.assertIn("no light time from 4s to 10s", told["texts"][0])
        self.assertIn("no contact back", told["texts"][1])
        with open(path, "w", encoding="utf-8") as f:
            f.write("contacts:\n  - {from: 1, to: 2, end: 10s, rate: 1 kbit/s}\n  - {from: 1, to: x, end: 9s, rate: 8bit/s}\n")
        told = run("check", path, code=2).stderr.splitlines()
        self.assertEqual(len(told), 2)
        self.assertIn(f"{path}:2: contacts[0].rate: \"1 kbit/s\" is not understood; write no space before the unit", told[0])
        self.assertIn(f"{path}:3: contacts[1].to: \"x\"", told[1])
        run("check", "nowhere.yaml", code=2)
        with open(path, "w", encoding="utf-8") as f:
            f.write("contacts:\n  - {from: 1, to: 2, start: 1s, end: 2026-11-22T12:00:00Z, rate: 1kbit/s}\n")
        self.assertIn("say which with --start DATE", run("check", path, code=2).stderr)
        run("check", path, "--start", "2026-11-22T11:00:00Z")

    def test_dates(self):
        path = os.path.join(OUT, "dates.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("start: 2026-11-22T12:00:00Z\ncontacts:\n  - {from: 1, to: 2, start: 10s, end: 1min, rate: 8Mbit/s, owlt: 1s}\n")
        done = run("route", path, "1", "2", "1kB", "--bare").stdout
        self.assertIn("arrives at 2026-11-22T12:00:11.001Z", done)
        done = run("route", path, "1", "2", "1kB", "2026-11-22T12:00:20Z", "--bare").stdout
        self.assertIn("arrives at 2026-11-22T12:00:21.001Z, after 1.001s", done)
        self.assertIn("a contact 2026/11/22-12:00:10 2026/11/22-12:01:00 1 2 1000000", run("convert", path, "--to", "ion").stdout)
        date = "2026-11-22T12:00:20Z"
        self.assertIn("AT: the plan has no dates", run("route", PLAN, "1", "4", "1kB", date, code=2).stderr)
        run("route", PLAN, "1", "4", "1kB", date, "--start", "2026-11-22T12:00:00Z")

    def test_all_errors_at_once(self):
        path = os.path.join(OUT, "wrong.ionrc")
        with open(path, "w", encoding="utf-8") as f:
            f.write("a contact +0 +60 1 2 1000\na contact +30 +90 1 2 1000\na contact +5 +5 3 4 1000\nd range +0 1 2\nd contact +7 1 2\n"
                    "d contact * 7 8\n")
        told = run("check", path, code=2).stderr
        for text in (":2: contact 1 to 2: overlaps that of line 1", ":3: end: 5s is not after its start",
                     ":4: d range: there is none", ":5: d contact: there is none", ":6: d contact: there is none"):
            self.assertIn(text, told)

    def test_usage(self):
        for words, told in ((["route", PLAN, "1", "4"], "PLAN FROM TO SIZE"), (["route", PLAN, "1", "x", "1"], "\"x\""),
                            (["route", PLAN, "1", "4", "5 kB"], "SIZE"), (["route", PLAN, "1", "4", "1B", "soon"], "AT"),
                            (["convert", PLAN], "--to is missing"), (["show"], "PLAN is expected"), (["draw"], "'draw' is unknown; right is check"),
                            (["show", PLAN, "x"], "one word too many"), (["check", PLAN, "--format", "xml"], "yaml, ion or hdtn")):
            self.assertIn(told, run(*words, code=2).stderr)


if __name__ == "__main__":
    PROGRAMS, OUT, ROOT = sys.argv[1:4]
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
