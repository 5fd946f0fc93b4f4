#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab: lab files and what is derived of them, runs in virtual time and with real processes.

usage: lab_test.py BIN SOURCE sim|live|netns|examples|examples-live [TEST]
"""
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BIN, SOURCE, KIND = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]
import _paths  # noqa: F401

from heliograph import places  # noqa: E402
from heliograph.lab import derive as lab_derive, file as lab_file, plan as lab_plan, state as lab_state  # noqa: E402


def lab(*words, code=0, timeout=1400, cwd=None):
    done = subprocess.run([BIN / "helio-lab", *map(str, words)], capture_output=True, text=True, timeout=timeout, check=False, cwd=cwd)
    assert done.returncode == code, (words, done.returncode, done.stdout[-2000:], done.stderr[-3000:])
    return done


def made(text):
    """The lab of a text."""
    return lab_file.interpret(places.parse(text, "x.yaml"), "x.yaml", ".")


def config(of, node):
    return lab_derive.Deriver(of, "/out", "/run", lab_derive.Addresses(of, 20000), "2026-01-01T00:00:00Z").node_config(of.nodes[node])


def routes(of, node):
    return [(str(route["to"]), str(route["via"])) for route in config(of, node).get("routes", [])]


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="helio-lab-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, text, name="lab.yaml"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def result(self, out):
        return json.loads((out / "result.json").read_text(encoding="utf-8"))

    def up(self, file, *words, mode="sim", code=0, out="out"):
        lab(file, "up", "--mode", mode, "--out", self.folder / out, *words, code=code)
        return self.result(self.folder / out)


class Files(unittest.TestCase):
    """What is derived of a file, without any program."""

    def test_shapes(self):
        for text, links in (("line: 3", "1-2 2-3"), ("star: 4", "1-2 1-3 1-4"), ("ring: 4", "1-2 2-3 3-4 4-1"),
                            ("diamond:", "1-2 1-3 2-4 3-4"), ("line: [leo, gs, mcc]", "leo-gs gs-mcc"),
                            ("line: 2\nnodes: {x: {}}\nlinks: {2-x: {}}", "1-2 2-x")):
            self.assertEqual(" ".join(made(text).links), links, text)

    def test_numbers_and_names(self):
        of = made("line: [leo, gs, mcc]\nnodes: {gs: {number: 70}, mcc: {node: ipn:9.0}}")
        self.assertEqual([node.number for node in of.nodes.values()], [1, 70, 9])
        self.assertEqual(of.nodes["mcc"].endpoint("7"), "ipn:9.7")

    def test_routes_go_the_shortest_way_then_another(self):
        of = made("diamond:")
        self.assertEqual(routes(of, "1"), [("ipn:4.*", "to-2"), ("ipn:4.*", "to-3")])
        of = made("line: 4")
        self.assertEqual(routes(of, "1"), [("ipn:3.*", "to-2"), ("ipn:4.*", "to-2")])
        of = made("ring: 5")  # to 3: over 2, else over 5, which is no farther from it
        self.assertIn(("ipn:3.*", "to-2"), routes(of, "1"))
        self.assertEqual(routes(of, "1").index(("ipn:3.*", "to-2")) + 1, routes(of, "1").index(("ipn:3.*", "to-5")))
        of = made("ring: 3")  # of equal routes the first counts, and the file's come before those that neighbours have by themselves
        self.assertEqual(routes(of, "1"), [("ipn:2.*", "to-2"), ("ipn:2.*", "to-3"), ("ipn:3.*", "to-3"), ("ipn:3.*", "to-2")])
        of = made("line: 3\nnodes: {1: {routes: [{to: '*', via: to-2}]}}")
        self.assertEqual(routes(of, "1"), [("*", "to-2")], "what the file says replaces what is derived")

    def test_keys_go_where_they_belong(self):
        of = made("line: 2\nlink: {rate: 1Mbit/s, delay: 3ms, sessions: 4}\n"
                  "links: {1-2: {forward: {trace: A}, return: {rate: 2Mbit/s}, ends: {2: {sessions: 9}}}}")
        link = of.links["1-2"]
        self.assertEqual(places.plain(link.channel["forward"]), {"rate": "1Mbit/s", "delay": "3ms", "erasures": {"trace": "A"}})
        self.assertEqual(places.plain(link.channel["return"]), {"rate": "2Mbit/s", "delay": "3ms"})
        ends = [places.plain(config(of, node)["links"][0]) for node in "12"]
        self.assertEqual([end["rate"] for end in ends], ["1Mbit/s", "2Mbit/s"])
        self.assertEqual([end["sessions"] for end in ends], ["4", "9"])
        self.assertEqual([end["owlt"] for end in ends], ["3ms", "3ms"])
        self.assertEqual(ends[0]["remote"], ends[1]["remote"], "both send to the relay")

    def test_files_are_beside_the_lab_file(self):
        of = lab_file.interpret(places.parse("line: 2\nlink: {erasures: {power: {file: rx.csv}}, forward: {trace: ./x.htr}}\n", "x.yaml"), "x.yaml", "/there")
        self.assertEqual(places.plain(of.links["1-2"].channel["forward"]["erasures"]), {"power": {"file": "/there/rx.csv"}, "trace": "/there/x.htr"})

    def test_no_channel_no_relay(self):
        of = made("line: 2\nlink: {rate: 1Mbit/s, channel: no}")
        one, two = (places.plain(config(of, node)["links"][0]) for node in "12")
        self.assertEqual((one["local"], one["remote"]), (two["remote"], two["local"]))

    def test_contacts_make_a_plan(self):
        of = made("line: 3\nlinks: {1-2: {rate: 1Mbit/s, delay: [{at: 0s, delay: 9ms}, {at: 5s, delay: 7ms}], contacts: [{from: 1s, to: 5s}]}}")
        plan = places.plain(lab_plan.contact_plan(of, "2026-01-01T00:00:00Z"))
        self.assertEqual([(c["from"], c["to"], c["start"], c["end"]) for c in plan["contacts"]],
                         [("1", "2", "1s", "5s"), ("2", "1", "1s", "5s"), ("2", "3", "0s", "36500d"), ("3", "2", "0s", "36500d")])
        self.assertEqual(plan["ranges"][0]["table"], [{"at": "0s", "owlt": "9ms"}, {"at": "5s", "owlt": "7ms"}])
        self.assertEqual(places.plain(config(of, "1"))["plan"], "/out/plan.yaml")
        self.assertNotIn("routes", config(of, "1"))

    def test_writing_remembers_lines(self):
        tree = places.parse("a: 1\nb:\n  - {c: \"x: y\", d: [1, 2]}\n  - e\n", "f.yaml")
        writer = places.Writer("title")
        writer.add(tree)
        self.assertEqual(places.plain(places.parse("\n".join(writer.lines), "g")), places.plain(tree))
        at = next(i for i, line in enumerate(writer.lines) if "x: y" in line)
        self.assertEqual(writer.translate(f"/o/g.yaml:{at + 1}: c: wrong", "/o/g.yaml"), "f.yaml:3: c: wrong")

    def test_assign(self):
        tree = places.parse("line: 2\ntraffic: [{perf: 1-2}]\n", "f.yaml")
        places.assign(tree, "links.1-2.forward.rate", "5Mbit/s")
        places.assign(tree, "traffic.0.window", "7")
        self.assertEqual(places.plain(tree), {"line": "2", "traffic": [{"perf": "1-2", "window": "7"}],
                                              "links": {"1-2": {"forward": {"rate": "5Mbit/s"}}}})
        for path in ("traffic.3.window", "line.x.y"):
            with self.assertRaises(places.PlacesError):
                places.assign(tree, path, "1")


class Errors(Folder):
    def test_file_line_key_and_what_would_be_right(self):
        for text, *wanted in (
                ("line: 3\nlnik: {}\n", ":2: ", "unknown key; did you mean link?"),
                ("line: 1\n", ":1: line: ", "2 to 250 nodes"),
                ("line: 2\nring: 3\n", ":2: ring: there is line already"),
                ("line: 2\nlinks:\n  1-7: {}\n", ":3: links.1-7: there is no node \"7\"; there are 1, 2"),
                ("line: 2\nlinks:\n  2-1: {}\n", ":3: links.2-1: this link is called 1-2"),
                ("line: 2\nlink:\n  rate: 5Mbit\n", ":3: ", "rate: \"5Mbit\" is not understood"),
                ("line: 2\nlink:\n  rate: 1Mbit/s\n  color: red\n", ":4: ", "did you mean colour?"),
                ("line: 2\nlinks:\n  1-2:\n    forward: {rate: 1Mbit/s, trace: ./none.htr}\n", ":4: ", "none.htr"),
                ("line: 2\nnodes:\n  2:\n    stor: {}\n", ":4: ", "did you mean store?"),
                ("line: 2\ntraffic:\n  - {perv: 1-2}\n", ":3: ", "right are perf: A-B"),
                ("line: 2\ntraffic:\n  - {file: 1-2, path: gone}\n", ":3: ", "there is no file"),
                ("line: 2\nline: 3\n", ":2: \"line\" is given twice"),
                ("line: [\n", "lab.yaml:2: "),
                ("# héhé\nline: 2\nnodes: {\xfc: {}}\n".encode("latin-1"), ":1: this is not UTF-8"),
                ("line: 2\nevents:\n  - {at: 5, link: 1-2, do: up}\n", ":3: events.0.at: \"5\" is no duration"),
                ("line: 2\nevents:\n  - {at: 5s, do: up}\n", ":3: events.0.link: is missing; there are 1-2"),
                ("line: 2\nevents:\n  - {at: 5s, link: 2-1, do: up}\n", ":3: events.0.link: \"2-1\" is no link; did you mean 1-2?"),
                ("line: 2\nevents:\n  - {at: 5s, link: 1-2, do: off}\n", ":3: events.0.do: \"off\" is not understood; right are up and down"),
                ("line: 2\nlink: {rate: 1Mbit/s}\nevents:\n  - {at: 5s, link: 1-2, set: {dealy: 5ms}}\n", ":4: ", "dealy: unknown key; did you mean delay?"),
                ("line: 2\nlink: {rate: 1Mbit/s}\nevents:\n  - at: 5s\n    link: 1-2\n    set:\n      delay: 5\n", ":7: ", "delay: \"5\" is not understood"),
                ("line: 2\nlink:\n  dealy: 5ms\n", ":3: ", "dealy: unknown key; did you mean delay?"),
                ("line: 2\nlink:\n  session: 5\n", ":3: ", "did you mean sessions?"),
                ("line: 2\nlink:\n  rate: 1Mbit/s\n  contacts: [{from: 5s, to: 2s}]\n", ":4: "),
                ("line: 2\nlink:\n  rate: 1Mbit/s\n  contacts: 5\n", ":4: ", "contacts: "),
                ("line: 2\nlink:\n  rate: 1Mbit/s\n  contacts: [5]\n", ":4: ", "contacts"),
                ("line: 2\nlink:\n  scenario: [a]\n", ":3: scenario: the path of one file is wanted"),
                ("line: 2\nlink:\n  adapter: [udp]\n", ":3: ", "adapter: a list is not expected here"),
                ("line: 2\nlink: {adapter: tcpcl, rate: 1Mbit/s}\n", ":2: ", "does not pass a relay")):
            path = self.folder / "lab.yaml"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            said = lab(path, "check", code=2).stderr
            for words in (str(path) + wanted[0] if wanted[0].startswith(":") else wanted[0], *wanted[1:]):
                self.assertIn(words, said, text)
            self.assertNotIn("Traceback", said)
            self.assertEqual(said.count(str(path)), len(said.splitlines()), f"each line names the user's file: {said}")
            self.assertNotIn("/tmp/helio-lab-", said.replace(str(self.folder), ""), "and no file that he did not write")

    def test_a_wrong_change_is_told_as_it_was_written(self):
        file = self.file("line: 2\ntraffic:\n  - {perf: 1-2}\n")
        for change, wanted in (("traffic.1.window=5", "--set traffic.1.window=5: traffic has 1 items, which count from 0: there is no 1"),
                               ("traffic.0.windw=5", "--set traffic.0.windw=5: traffic.0.windw: unknown key; did you mean window?"),
                               ("traffic.0.start=5", "--set traffic.0.start=5: traffic.0.start: \"5\" is no duration")):
            self.assertIn(wanted, lab(file, "check", "--set", change, code=2).stderr)

    def test_usage(self):
        file = self.file("line: 2\n")
        lab(file, "upp", code=2)
        lab(self.folder / "none.yaml", "up", code=2)
        for command in (("status",), ("down",), ("logs",), ("exec", 1, "true"), ("link", "1-2", "down")):
            code = 0 if command == ("down",) else 1
            self.assertIn("is not up", lab(file, *command, code=code).stderr)
            self.assertIn("there is no such file", lab(self.folder / "none.yaml", *command, code=2).stderr)
        self.assertIn("--set x", lab(file, "up", "--set", "x", code=2).stderr)
        self.assertIn("nothing would come to an end", lab(file, "up", "--mode", "sim", "--out", self.folder / "o", code=2).stderr)
        lab("--version")

    def test_dry_run_for_several_machines(self):
        file = self.file("line: 2\nlink: {rate: 1Mbit/s}\nports: 4000\nnodes: {1: {address: 192.0.2.1}, 2: {address: 192.0.2.2}}\n"
                         "traffic: [{perf: 1-2}]\n")
        said = lab(file, "up", "--dry-run", "--out", self.folder / "dry").stdout
        self.assertRegex(said, r"192\.0\.2\.1: helio-emu relay --listen 192\.0\.2\.1:4002 --to 192\.0\.2\.2:4001 --return-to 192\.0\.2\.1:4000")
        self.assertRegex(said, r"192\.0\.2\.2: heliod .*node2\.yaml")
        subprocess.run([BIN / "heliod", "--check", self.folder / "dry/node1.yaml"], check=True)
        self.assertFalse((self.folder / "dry/node1.log").exists(), "nothing was started")


LINE = """title: Five nodes, the third hop fades
line: 5
link: {rate: 20Mbit/s, delay: 5ms}
links:
  3-4: {trace: A}
traffic:
  - {perf: 1-5, duration: 1s, window: 10, payload: 20kB}
"""


class Sim(Folder):
    def test_each_bundle_has_its_way_over_all_hops(self):
        file = self.file(LINE)
        result = self.up(file)
        self.assertTrue(result["faithful"])
        client = result["traffic"]["perf-1"]
        self.assertEqual(client["bundles_acked"], client["bundles_sent"])
        self.assertGreater(sum(result["channels"]["3-4"]["forward"]["dropped"].values()), 0)
        self.assertEqual(sum(result["channels"]["1-2"]["forward"]["dropped"].values()), 0)
        out = self.folder / "out"
        run = json.loads((out / "run.json").read_text())
        self.assertIn("heliod" if run["mode"] != "sim" else "helio-sim", run["versions"])
        self.assertIn("processor", run["machine"])
        for name in ("lab.yaml", "node5.yaml", "link-3-4.yaml", "link-3-4.drops.csv", "summary.txt", "sessions.csv", "commands.txt"):
            self.assertTrue((out / name).exists(), name)
        lives = self.folder / "lives.csv"
        done = subprocess.run([BIN / "helio-analyze", out, "--bundles", lives], capture_output=True, text=True, check=True)
        self.assertIn("bundles at ipn:5.0", done.stdout)
        with open(lives, newline="", encoding="utf-8") as f:
            rows = [row for row in csv.DictReader(f) if row["destination"] == "ipn:5.2000"]
        ways = {}
        for row in rows:
            ways.setdefault((row["source"], row["created_ms"], row["sequence"]), {})[row["hop"]] = row["node"]
        self.assertGreaterEqual(len(ways), client["bundles_sent"])
        for way in ways.values():
            self.assertEqual(way, {str(i): f"ipn:{i}.0" for i in range(1, 6)})

    def test_the_same_seed_gives_the_same_bytes(self):
        file = self.file(LINE)
        self.up(file, out="a")
        self.up(file, out="b")
        self.up(file, "--set", "seed=2", out="c")
        a, b, c = ((self.folder / name / "node3.segments.csv").read_bytes() for name in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_start_times_pings_files_and_events(self):
        (self.folder / "hello.txt").write_text("hello over three nodes\n" * 1000)
        file = self.file("line: [a, b, c]\nlink: {rate: 10Mbit/s, delay: 20ms}\n"
                         "traffic:\n  - {ping: c-a, count: 3, interval: 100ms, start: 2s}\n"
                         "  - {file: a-c, path: hello.txt, start: 5s}\n  - {perf: a-c, data: 100kB, window: 5, start: 4s}\n"
                         "events:\n  - {at: 0s, link: a-b, do: down}\n  - {at: 8s, link: a-b, do: up}\n")
        result = self.up(file)
        self.assertEqual(result["traffic"]["ping-1"]["received"], 3)
        with open(self.folder / "out/node3.bundles.csv", newline="", encoding="utf-8") as f:
            first = min(int(row["t_ns"]) for row in csv.DictReader(f))
        self.assertGreaterEqual(first, 2_000_000_000, "nothing before the first start")
        # The link was down from the start until 8 s: so long nobody had an answer.
        self.assertGreater(result["traffic"]["perf-3"]["delay_ms"]["mean"], 3000)
        self.assertEqual((self.folder / "out/received/c/hello.txt").read_text(), (self.folder / "hello.txt").read_text())

    def test_another_way_when_a_link_is_down(self):
        file = self.file("diamond:\nlink: {rate: 10Mbit/s, delay: 5ms}\ntraffic: [{perf: 1-4, duration: 2s, rate: 50b, payload: 10kB}]\n"
                         "events: [{at: 1s, link: 1-2, do: down}, {at: 1500ms, link: 1-2, do: up}]\n")
        result = self.up(file)
        self.assertEqual(result["servers"][0]["bundles"], result["traffic"]["perf-1"]["bundles_sent"])
        self.assertGreater(result["channels"]["1-3"]["forward"]["in"], 200)

    def test_contacts_are_kept_and_planned(self):
        file = self.file("line: 3\nlink: {rate: 10Mbit/s, delay: 5ms}\n"
                         "links: {1-2: {contacts: [{from: 10s, to: 20s}, {from: 50s, to: 55s}]}, 2-3: {contacts: [{from: 30s, to: 40s}]}}\n"
                         "traffic: [{perf: 1-3, data: 100kB, rate: 100b, payload: 10kB, lifetime: 100, linger: 60}]\nduration: 60s\n")
        result = self.up(file)
        self.assertEqual(result["servers"][0]["bundles"], 10)
        with open(self.folder / "out/node3.bundles.csv", newline="", encoding="utf-8") as f:
            arrived = [int(row["t_ns"]) / 1e9 for row in csv.DictReader(f) if row["event"] == "delivered"]
        self.assertGreaterEqual(len(arrived), 10)
        self.assertTrue(all(30 < t < 40 for t in arrived), arrived)
        self.assertEqual(result["traffic"]["perf-1"]["lost"], 0, "the server's word came back in the last contact")

    def test_sweeping_keys(self):
        file = self.file(LINE)
        slow = self.up(file, "--set", "link.rate=5Mbit/s", "--set", "traffic.0.window=4", "--set", "links.3-4.trace=none")
        self.assertLess(slow["traffic"]["perf-1"]["goodput_bps"], 5e6)
        self.assertEqual(sum(slow["channels"]["3-4"]["forward"]["dropped"].values()), 0)


class Campaign(Folder):
    """helio-campaign over a lab file."""

    def campaign(self, text, *words, code=0):
        path = self.file(text, "c.yaml")
        done = subprocess.run([BIN / "helio-campaign", path, "--out", self.folder / "c", *words], capture_output=True, text=True, check=False, timeout=1400)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_any_key_is_swept(self):
        self.file(LINE)
        self.campaign("lab: lab.yaml\nrepetitions: 2\nset: {traffic.0.duration: 500ms, links.3-4.trace: \"iid:0.02\"}\nexperiments:\n"
                      "  - {name: rates, sweep: {link.rate: [5Mbit/s, 20Mbit/s], traffic.0.window: [10]}}\n")
        with open(self.folder / "c/report/rates.csv", newline="", encoding="utf-8") as f:
            slow, fast = csv.DictReader(f)
        self.assertEqual((slow["link.rate"], fast["link.rate"], slow["repetitions"]), ("5Mbit/s", "20Mbit/s", "2"))
        self.assertGreater(float(fast["goodput"]), 1.5 * float(slow["goodput"]))
        self.assertNotEqual(slow["goodput_ci95"], "", "the seed draws other losses")
        runs = list((self.folder / "c/runs").iterdir())
        self.assertEqual(len(runs), 4)
        for run in runs:
            self.assertEqual(json.loads((run / "lab.json").read_text())["traffic"]["perf-1"]["lost"], 0)
            self.assertTrue((run / "bundles.csv").exists() and not (run / "node1.bundles.csv").exists())
        self.check_delays()

    def check_delays(self):
        """Hop by hop, of each setting; queue, radiation, channel and retransmission add up to the whole."""
        with open(self.folder / "c/report/rates-delays.csv", newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        for rate in "5Mbit/s", "20Mbit/s":
            hops = [row for row in rows if row["link.rate"] == rate]
            self.assertEqual([hop["from"] for hop in hops], [f"ipn:{i}.0" for i in range(1, len(hops) + 1)])
            told = sum(float(hop[f"{part}_ms"]) for hop in hops for part in ("queue", "radiation", "channel", "retransmission"))
            self.assertAlmostEqual(told + float(hops[-1]["application_ms"]), float(hops[-1]["total_ms"]), places=4)
            lossy = next(hop for hop in hops if hop["from"] == "ipn:3.0")
            self.assertGreater(float(lossy["retransmission_ms"]), 10 * max(float(hop["retransmission_ms"]) for hop in hops if hop is not lossy))
        self.assertIn("Delay of a bundle, hop by hop (ms)", (self.folder / "c/report/index.html").read_text())

    def test_a_wrong_key_is_told_before_the_first_run(self):
        self.file(LINE)
        said = self.campaign("lab: lab.yaml\nexperiments:\n  - {name: x, sweep: {links.1-9.rate: [5Mbit/s]}}\n", code=2).stderr
        self.assertIn("c.yaml:3: ", said)
        self.assertIn("there is no node \"9\"", said)
        for keys, words in (("set: {link.rate: [1Mbit/s, 2Mbit/s]}", "link.rate: one value is wanted here; several are swept"),
                            ("sweep: {[a]: [1]}", "a key is one word"), ("sweep: {seed: [1], seed: [2]}", "\"seed\" is given twice")):
            self.assertIn(f"c.yaml:2: {words}", self.campaign(f"lab: lab.yaml\nexperiments: [{{name: x, {keys}}}]\n", code=2).stderr)
        for sweep, words in (("traffic.0.payload: [10k, big]", "traffic.0.payload=big: traffic.0.payload: \"big\" is not understood; write a size"),
                             ("link.rate: [1Mbit/s, fast]", "link.rate=fast: links[to-2].rate: \"fast\" is not understood")):
            said = self.campaign(f"lab: lab.yaml\nexperiments: [{{name: x, sweep: {{{sweep}}}}}]\n", code=2).stderr
            self.assertRegex(said, r"(?m)^helio-campaign: \S*c.yaml: " + re.escape(words))
            self.assertFalse((self.folder / "c").exists(), "nothing is computed for nothing")
        self.assertIn("lab: there is no file", self.campaign("lab: gone.yaml\nexperiments: [{name: x}]\n", code=2).stderr)


class Live(Folder):
    def start(self, file, *words, mode="local"):
        lab(file, "up", "--mode", mode, "--out", self.folder / "out", "--background", *words)
        self.addCleanup(lambda: subprocess.run([BIN / "helio-lab", file, "down"], capture_output=True, check=False))

    def processes(self):
        """Those whose command line names our folder."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(self.folder) in words and int(process) != os.getpid():
                found.append(words.replace("\0", " "))
        return found

    def test_by_hand(self, mode="local"):
        file = self.file("title: By hand\nline: 3\nlink: {rate: 20Mbit/s, delay: 2ms}\nduration: 1h\n")
        self.start(file, mode=mode)
        said = lab(file, "status").stdout
        while "By hand: begins in" in said:  # its nodes are up before its time begins
            time.sleep(0.2)
            said = lab(file, "status").stdout
        self.assertIn("By hand: up for", said)
        self.assertEqual(len(re.findall(r"^[123] +to-[123] +up ", said, flags=re.M)), 4, said)
        self.assertIn("is up already", lab(file, "up", "--out", self.folder / "other", code=1).stderr)
        links = json.loads(lab(file, "exec", 1, "helioctl", "--json", "links").stdout)["links"]
        self.assertEqual(links[0]["name"], "to-2")
        lab(file, "link", "1-2", "down")
        self.assertRegex(lab(file, "status").stdout, r"1 +to-2 +down")
        lab(file, "link", "1-2", "up")
        lab(file, "link", "1-2", "set", "rate=5Mbit/s", "delay=1ms")
        links = json.loads(lab(file, "exec", 1, "helioctl", "--json", "links").stdout)["links"]
        self.assertEqual(links[0]["rate_bps"], 5e6)
        self.assertIn("link-1-2.1", lab(file, "logs").stdout, "its emulator began anew")
        self.assertIn("1-9", lab(file, "link", "1-9", "down", code=2).stderr)
        self.assertIn("delai: unknown key", lab(file, "link", "1-2", "set", "rto=5ms", "delai=1ms", code=2).stderr)
        server = subprocess.Popen([BIN / "helio-lab", file, "exec", "3", "helio-perf", "server"], stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        said = lab(file, "exec", 1, "helio-perf", "client", "-d", "ipn:3.2000", "-D", "200kB", "-W", "4", "--linger", "5min").stdout
        self.assertIn("acknowledged", said)
        self.assertIn("ready", lab(file, "logs", "link-2-3").stdout)
        self.assertIn("there is no log of x", lab(file, "logs", "x", code=2).stderr)
        lab(file, "link", "1-2", "set", "rate=5", code=2)
        lab(file, "link", "1-2", "sideways", code=2)
        lab(file, "exec", 9, "true", code=2)
        lab(file, "down")
        self.assertEqual(self.result(self.folder / "out")["interrupted"], True)
        server.wait(300)
        self.assertEqual(self.processes(), [])

    def test_interrupted_it_leaves_nothing(self):
        file = self.file(LINE)
        p = subprocess.Popen([BIN / "helio-lab", file, "up", "--out", self.folder / "out", "--set", "traffic.0.duration=1h"],
                             stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.assertIn("5 nodes and 4 links are up", p.stderr.readline())
        log, until = self.folder / "out/perf-1.log", time.monotonic() + 300
        while not (log.exists() and " sent" in log.read_text()) and time.monotonic() < until:
            time.sleep(0.1)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=1400)
        self.assertIn(p.returncode, (0, 1))
        self.assertEqual(self.processes(), [])
        self.assertIn("bundles_sent", self.result(self.folder / "out")["traffic"]["perf-1"], "the result so far")
        self.assertIn("is not up", lab(file, "status", code=1).stderr)


class Netns(Live):
    def spaces(self):
        """This lab's: other tests have some of their own meanwhile."""
        return [space for space in os.listdir("/run/netns") if space.startswith(lab_state.name_of(self.folder / "lab.yaml") + "-")]

    def start(self, file, *words, **more):
        super().start(file, *words, **more)
        self.assertEqual(len(self.spaces()), 4, "three nodes, and one for the links")

    def test_by_hand(self, mode="netns"):
        super().test_by_hand("netns")
        self.assertEqual(self.spaces(), [])

    def test_tcp_passes_the_channel(self):
        file = self.file("line: 2\nlink: {adapter: tcpcl, rate: 20Mbit/s, delay: 10ms}\ntraffic: [{perf: 1-2, data: 200kB, window: 4, payload: 20kB}]\n")
        result = self.up(file, mode="netns")
        client = result["traffic"]["perf-1"]
        self.assertEqual(client["bundles_acked"], client["bundles_sent"])
        self.assertGreater(client["delay_ms"]["p50"], 19, "10 ms each way")


class Examples(Folder):
    """Those of examples/, as they stand there."""
    MODE, SHORT = "sim", ()

    def run_example(self, name, *words, code=0):
        return self.up(SOURCE / f"examples/lab-{name}.yaml", *words, mode=self.MODE, code=code)

    def arrived(self, result, name):
        client = result["traffic"][name]
        self.assertGreater(client["bundles_sent"], 0)
        self.assertEqual(client["lost"], 0, client)

    def test_two(self):
        result = self.run_example("two")
        self.arrived(result, "perf-1")
        self.assertEqual(result["traffic"]["ping-2"]["received"], 5)

    def test_line(self):
        self.arrived(self.run_example("line"), "perf-1")

    def test_moon(self):
        result = self.run_example("moon")
        self.arrived(result, "perf-1")
        self.assertGreater(result["traffic"]["ping-3"]["rtt_ms"]["min"], 2 * 1303, "twice the light time")
        self.arrived(result, "perf-2")  # which waits 90 minutes for the orbiter
        self.assertGreater(result["traffic"]["perf-2"]["delay_ms"]["p50"], 5_400_000)

    def test_leo(self):
        result = self.run_example("leo")
        self.arrived(result, "perf-1")
        by = {name: result["channels"][name]["forward"] for name in ("sat-madrid", "sat-matera")}
        self.assertTrue(all(way["out"] > 1000 and way["dropped"]["trace"] > 0 for way in by.values()), "both stations had their part")


class ExamplesLive(Examples):
    """Some seconds of each, with real processes."""
    MODE = "local"

    def test_two(self):
        self.arrived(self.run_example("two", "--set", "traffic.0.duration=1s", "--set", "link.rate=10Mbit/s"), "perf-1")

    def test_line(self):
        self.arrived(self.run_example("line", "--set", "traffic.0.duration=1s", "--set", "link.rate=5Mbit/s"), "perf-1")

    def test_moon(self):
        result = self.run_example("moon", "--set", "traffic.0.data=100kB", "--set", "traffic.2.start=1s", "--set", "traffic.1.start=1h",
                                  "--set", "duration=15s")
        self.assertGreater(result["traffic"]["perf-1"]["bundles_acked"], 0)
        self.assertGreater(result["traffic"]["perf-1"]["delay_ms"]["p50"], 2 * 1303)

    def test_leo(self):
        result = self.run_example("leo", "--set", "traffic.0.duration=5s", "--set", "traffic.0.start=1s")
        self.arrived(result, "perf-1")
        self.assertGreater(result["channels"]["sat-madrid"]["forward"]["out"], 0)
        self.assertEqual(result["channels"]["sat-matera"]["forward"]["out"], 0, "it has not risen there")


class Passes(Folder):
    """helio-lab passes, and the geometry below it against published numbers."""

    def test_geometry(self):
        from heliograph.lab import orbits
        # Vallado, Fundamentals of Astrodynamics: examples 3-5 (sidereal time) and 7-1 (place of a site)
        import datetime
        turn = orbits.sidereal(*orbits.julian(datetime.datetime(1992, 8, 20, 12, 14, tzinfo=orbits.UTC)))
        self.assertAlmostEqual(turn * 57.29577951308232, 152.578787810, places=5)
        for found, known in zip(orbits.Station("x", 39.007, -104.883, 2.19456).fixed(), (-1275.1219, -4797.9890, 3994.2975)):
            self.assertAlmostEqual(found, known, delta=0.01)
        self.assertAlmostEqual(orbits.look(orbits.Station("x", 0, 0, 0), (6378.137 + 500, 0, 0))[0], 90, places=5)
        self.assertAlmostEqual(orbits.look(orbits.Station("x", 0, 0, 0), (6378.137, 700, 0))[0], 0, places=5)
        self.assertLess(orbits.look(orbits.Station("x", 0, 0, 0), (-7000, 0, 0))[0], -89)

    def test_passes(self):
        out = self.folder / "leo"
        stations = ("--station", "madrid=40.4,-3.7,650", "--station", "40.65,16.7,540")
        said = lab("passes", "--tle", SOURCE / "examples/leo/satellite.tle", *stations, "--from", "2008-09-20T18:17:20Z", "--for", "9min",
                   "--rate", "20Mbit/s", "--out", out).stdout
        self.assertEqual(len(re.findall("up to", said)), 2)
        with open(out / "passes.csv", newline="", encoding="utf-8") as f:
            rows = {row["station"]: row for row in csv.DictReader(f)}
        self.assertEqual(list(rows), ["madrid", "gs2"])
        for row in rows.values():
            self.assertTrue(float(row["rise_s"]) < float(row["culmination_s"]) < float(row["set_s"]))
            self.assertTrue(330 < float(row["range_min_km"]) < 1600)
        # Elevation and distance of the highest point fit a satellite some 350 km up.
        low, high = (rows[name] for name in ("madrid", "gs2"))
        self.assertGreater(float(low["range_min_km"]), float(high["range_min_km"]))
        scenario = places.plain(places.read(out / "link-SAT-gs2.yaml"))
        delays = [float(point["delay"][:-2]) * (1e-6 if point["delay"].endswith("us") else 1e-3) for point in scenario["both"]["delay"]]
        self.assertAlmostEqual(min(delays) * 299792.458, float(high["range_min_km"]), delta=0.1)
        info = json.loads(subprocess.run([BIN / "helio-trace", "info", out / "link-SAT-gs2.htr", "--json"], capture_output=True, text=True,
                                         check=True).stdout)
        self.assertTrue(0.01 < info["bad"]["share"] < 0.9, info["bad"])
        subprocess.run([BIN / "helio-plan", "check", out / "plan.yaml"], check=True, stdout=subprocess.DEVNULL)
        for name in ("madrid", "gs2"):
            subprocess.run([BIN / "helio-emu", "check", out / f"link-SAT-{name}.yaml"], check=True, stdout=subprocess.DEVNULL)
        lab(out / "lab.yaml", "check")
        result = self.up(out / "lab.yaml")
        client, first, last = result["traffic"]["perf-1"], min(float(row["rise_s"]) for row in rows.values()), max(
            float(row["set_s"]) for row in rows.values())
        self.assertGreater(client["bundles_sent"], 5)
        self.assertEqual(client["lost"], 0, "all of it arrived, and its answers")
        with open(self.folder / "out/node1.bundles.csv", newline="", encoding="utf-8") as f:
            times = [int(row["t_ns"]) / 1e9 for row in csv.DictReader(f)]
        self.assertGreaterEqual(min(times), first, "nothing before the first contact")
        self.assertLess(max(times), last)

    def test_when_passes_send(self):
        """(begin, end, bit/s, the run's end) for passes that are given."""
        from heliograph.lab import passes

        class Given:
            rate = "500Mbit/s"

        self.assertEqual(passes.sending(Given, [[100.0, 400.0]]), (100.0, 250.0, 1e6, 410.0))
        begin, end, rate, over = passes.sending(Given, [[100.0, 400.0], [6000.0, 6300.0], [80000.0, 80300.0]])
        self.assertEqual((begin, end, over), (100.0, 80000.0, 80310.0))
        self.assertAlmostEqual(rate, 8 * passes.BYTES / 79900)
        Given.rate = "1Mbit/s"  # a tenth of 300 s of it after 74000 s without a contact
        self.assertAlmostEqual(passes.sending(Given, [[100.0, 400.0], [6000.0, 6300.0], [80000.0, 80300.0]])[2], 0.1 * 1e6 * 300 / 74000)
        with self.assertRaisesRegex(passes.Failed, "no pass can carry"):
            passes.sending(Given, [[100.0, 110.0]])
        self.assertEqual(passes.windows({"a": [passes.orbits.Pass("a", 5, 7, 9, 50, []), passes.orbits.Pass("a", 50, 55, 60, 50, [])],
                                         "b": [passes.orbits.Pass("b", 8, 10, 12, 50, [])]}), [[5, 12], [50, 60]])

    def test_fading_follows_the_elevation(self):
        from heliograph.lab import orbits, passes
        passes.programs.find = lambda name: str(BIN / name)

        class Given:
            margin, fec, gen = "4dB", "3dB", ()

        def share(elevation, options=""):
            Given.gen = passes.gen_options(options)
            points = [(t, elevation, 1000.0) for t in range(0, 61, 10)]
            runs = list(passes.pass_runs(Given, orbits.Pass("x", 0.0, 30.0, 60.0, elevation, points), 7))
            self.assertEqual(sum(n for _, n in runs), 600_000)
            return sum(n for bad, n in runs if bad) / sum(n for _, n in runs)

        self.assertGreater(share(11), 2 * share(60) + 0.01)
        self.assertGreater(share(11, "--reacquire 20ms"), share(11) + 0.05)
        self.assertLess(share(11, "--aperture=0.4m --interleaver 5ms"), share(11) - 0.05)

    def test_errors(self):
        good = (SOURCE / "examples/leo/satellite.tle").read_text().splitlines()
        station = ("--station", "rome=41.9,12.5")
        for lines, wanted in (([good[0], good[1].replace("98067A", "98068A"), good[2]], ":2: the check digit of this line should be"),
                              (good[:2], ":2: the second line of the elements is missing"), (["hello"], "there are no two-line elements")):
            path = self.file("\n".join(lines) + "\n", "x.tle")
            self.assertIn(str(path) + ("" if "there" in wanted else "") + wanted if wanted.startswith(":") else wanted,
                          lab("passes", "--tle", path, *station, code=2).stderr)
        path = self.file("\n".join(good) + "\n", "x.tle")
        for options, wanted in (("--seed 4", "--seed cannot be given"), ("-o x", "-o cannot be given"), ("--elev=3", "--elev cannot be given"),
                                ("--aperture '", "No closing quotation")):
            self.assertIn(wanted, lab("passes", "--tle", path, *station, f"--gen={options}", code=2).stderr)
        self.assertIn("inner", lab("passes", "--tle", path, *station, "--gen=--spectrum point", "--out", self.folder / "o", code=1).stderr)
        self.assertIn("NAME=LATITUDE", lab("passes", "--tle", path, "--station", "rome", code=2).stderr)
        self.assertIn("there are SAT", lab("passes", "--tle", path, *station, "--satellite", "x", code=2).stderr)
        self.assertIn("does not rise", lab("passes", "--tle", path, "--station", "p=-90,0", "--for", "1h", "--out", self.folder / "o", code=1).stderr)


KINDS = {"sim": (Files, Errors, Sim, Campaign), "live": (Live,), "netns": (Netns,), "examples": (Examples, Passes), "examples-live": (ExamplesLive,)}
if __name__ == "__main__":
    wanted = [name for name in sys.argv[4:]]
    suite = unittest.TestSuite(test for case in KINDS[KIND] for test in unittest.defaultTestLoader.loadTestsFromTestCase(case)
                               if not wanted or test.id().rsplit(".", 1)[-1] in wanted)
    sys.exit(0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1)
