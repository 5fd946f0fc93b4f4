#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each key of a campaign becomes: words of helio-sim, keys of a lab, other fades. Looked up in what the programs get, and by
runs of a second whose figures are known by hand.

usage: campaign_keys_test.py BIN SOURCE
"""
import json
import os
import re
import subprocess
import sys
import types
import unittest
from pathlib import Path

from campaign_case import Base, campaign

BIN, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
import _paths  # noqa: F401
from heliograph.campaign import (  # noqa: E402
    data as campaign_data, delays as campaign_delays, file as campaign_file, lab as campaign_lab,
    live as campaign_live, other as campaign_other, sim as campaign_sim, traces as campaign_traces,
)
from heliograph import ltp_options, machine, programs, units  # noqa: E402

programs.PLACE = str(BIN)
IDEAL = 8 * (495 * 1066 + 42 + 12 + 500000 - 495 * 1012) / 500e6 * 1e3 + 14  # ms of a session: see test_ideal_session of sim_helio_sim
VALUES = {  # of each key another one than the default, as helio-sim gets it
    "sessions": "9", "rto": "45ms", "rate": "40Mbit/s", "delay": "7ms", "processing": "3ms", "overhead": "50", "bundle": "70kB", "segment": "800B", "claims": "30",
    "recovery": "default", "duration": "3s", "closing": "3", "copies": "2", "report-copies": "4", "copy-spacing": "6ms", "checkpoint-segments": "70",
    "checkpoint-time": "8ms", "rto-min": "11ms", "rto-max": "700ms", "return-rate": "2Mbit/s", "colour": "orange", "resend": "5", "orange-wait": "9ms",
    "orange-answer": "13ms", "jitter": "1ms", "resend-wait": "2ms", "merge-claims": "yes", "oldest-first": "yes"}
OTHERWISE = {"trace", "loss", "trace-offset", "return-trace", "return-offset", "warmup", "drop", "drop-return", "contacts", "stack", "system"}  # below, or no word of helio-sim


class Keys(Base):
    def runs_of(self, settings, more="", name="c.yaml"):
        return campaign_file.load(self.file(f"{more}set: {settings}\nexperiments: [{{name: x}}]\n", name)).runs()

    def traces(self):
        return campaign_traces.Traces(str(self.out))

    def words(self, run):
        words = campaign_sim.options(run, self.traces())
        return [(key.removeprefix("--"), value) for key, value in zip(words[::2], words[1::2])]

    def test_each_is_a_word_of_helio_sim(self):
        """Switches of which no value is written above have one by their type, so that a new one needs none here."""
        by_type = {"yes|no": "yes", "duration": "2ms"}
        values = {key: by_type.get(ltp_options.keys()[ltp_options.key_of(key)]["type"], "2") for key in ltp_options.switches()} | VALUES
        self.assertEqual({*values} | OTHERWISE, {*campaign_file.parameters()})
        for key, value in values.items():
            run, = self.runs_of(f"{{{key}: {value}}}")
            self.assertEqual([found for name, found in self.words(run) if name == key], [value])
        run, = self.runs_of('{trace: "iid:0.1", return-trace: "iid:0.2", drop: "red:every=9 checkpoint:first=2", drop-return: "report:every=7", warmup: 4s, duration: 20s}')
        found = self.words(run)
        for pair in (("trace", "iid:0.1"), ("return-trace", "iid:0.2"), ("drop", "red:every=9"), ("drop", "checkpoint:first=2"), ("drop-return", "report:every=7"),
                     ("warmup", "4s"), ("follow", "yes"), ("seed", "1")):
            self.assertIn(pair, [(key, str(value)) for key, value in found])
        found = [key for key, _ in found]
        self.assertLess(found.index("recovery"), found.index("rto"))  # switches act after the set that they change

    def test_loss_is_a_trace_of_independent_erasures(self):
        """helio-sim gets the same; 0 is no trace; both at once are a mistake with its line."""
        for loss, trace in (("0.001", "iid:0.001"), ("0.25", "iid:0.25"), ("0", "none")):
            (short,), (whole,) = self.runs_of(f"{{loss: {loss}}}"), self.runs_of(f'{{trace: "{trace}"}}')
            self.assertEqual(self.words(short), self.words(whole))
            self.assertIn(("trace", trace), self.words(short))
            self.assertEqual(self.traces().realisation(short), self.traces().realisation(whole))
        runs = campaign_file.load(self.file("experiments: [{name: x, sweep: {loss: [0.1, 0.2], recovery: [plain, default]}}]\n")).runs()
        self.assertEqual([(run.values["trace"], run.values["recovery"]) for run in runs], [(t, r) for t in ("iid:0.1", "iid:0.2") for r in ("plain", "default")])
        for text, wanted in (("{loss: 0.1, trace: A}", "loss: it is short for trace: iid:0.1, and trace is given, too"), ("{loss: 1.5}", "loss: \"1.5\" is no share from 0 to 0.9")):
            with self.assertRaises(campaign_file.CampaignError) as caught:
                self.runs_of(text)
            self.assertIn(wanted, str(caught.exception))

    def test_bounds_of_the_timer_and_the_way_back_by_hand(self):
        """Checkpoints are lost: their session takes the timers longer; a report of n bytes takes 8 (n + 42) / rate to send."""
        def figures(settings):
            run, = self.runs_of(f"{{trace: none, sessions: 1, duration: 1s, warmup: 0s, {settings}}}")
            done = subprocess.run([BIN / "helio-sim", *map(str, campaign_sim.options(run, self.traces())), "--json"], capture_output=True, text=True, check=True)
            return json.loads(done.stdout)

        def longest(settings):  # of fewer than 100 sessions it is p99
            return figures(settings)["session_ms"]["p99"] - IDEAL

        # nothing is learnt yet: 30 ms, and twice as long each time; then the path is, 14 ms and an eighth
        for settings, timers in (("first=3", 30 + 60 + 120), ('first=3", rto-max: "40ms', 30 + 40 + 40), ("list=20", 14 * 9 / 8), ('list=20", rto-min: "55ms', 55)):
            self.assertAlmostEqual(longest(f'rto: auto, drop: "checkpoint:{settings}"'), timers, delta=0.1, msg=settings)
        quick, slow = (figures(f"rto: 300ms{rate}")["session_ms"]["mean"] for rate in ("", ", return-rate: 100kbit/s"))
        self.assertAlmostEqual(slow - quick, 8e3 * (21 + 42) / 100e3, delta=0.5)  # bytes of a report, some more or less by its numbers
        self.assertEqual((figures("colour: green")["parameters"]["colour"], figures("colour: orange")["parameters"]["colour"]), ("green", "orange"))

    def test_each_is_a_key_of_the_lab_of_whole_nodes(self):
        own = {"closing": 3, "copies": 2, "report-copies": 4, "copy-spacing": "6ms", "checkpoint-segments": 70, "checkpoint-time": "8ms", "rto-min": "11ms",
               "rto-max": "700ms", "resend-wait": "2ms", "merge-claims": "yes", "oldest-first": "yes", "claims": 30}
        run, = self.runs_of("{stack: yes, rate: 40Mbit/s, delay: 7ms, processing: 3ms, overhead: 50, bundle: 70kB, segment: 800B, sessions: 9, rto: 45ms, duration: 3s, "
                            'jitter: 1ms, trace: "iid:0.1", return-trace: "iid:0.2", return-rate: 2Mbit/s, drop: "red:every=9 checkpoint:first=2", '
                            'drop-return: "report:every=7", contacts: "0s-1s 2s-9s"' + "".join(f", {key}: {value}" for key, value in own.items()) + "}")
        lab = campaign_live.lab_of(run, self.traces())
        link, flow = lab.links["1-2"], lab.traffic[0]
        there, back = link.channel["forward"], link.channel["return"]
        self.assertEqual([there[key] for key in ("rate", "delay", "jitter", "rules", "erasures")],
                         ["40Mbit/s", "7ms", "1ms", ["red:every=9", "checkpoint:first=2"], {"iid": "0.1"}])
        self.assertEqual([back[key] for key in ("rate", "delay", "rules", "erasures")], ["2Mbit/s", "7ms", ["report:every=7"], {"iid": "0.2"}])
        for way in there, back:
            self.assertEqual(way["contacts"], [{"from": "0s", "to": "1s"}, {"from": "2s", "to": "9s"}])
        keys = {**{key.replace("-", "_"): str(value) for key, value in own.items()}, "mode": "own"}
        self.assertEqual({key: str(link.keys["recovery"].get(key)) for key in keys}, keys)
        self.assertEqual([link.keys[key] for key in ("segment", "rto")], ["800B", "45ms"])
        sender, receiver = link.at["1"], link.at["2"]
        self.assertEqual((str(sender["sessions"]), receiver["recovery"]["report_delay"], str(link.channel["overhead"])), ("9", "3ms", "50B"))
        self.assertEqual((str(flow.keys["payload"]), flow.keys["duration"]), ("70000", "3"))

    def steps(self, trace):
        """Of a trace by name or path; of one as helio-trace gen makes it when it is a preset and a seed."""
        if isinstance(trace, tuple):
            path = self.folder / "{}-{}-by-hand.txt".format(*trace)
            subprocess.run([BIN / "helio-trace", "gen", "--preset", trace[0], "--seed", str(trace[1]), "-o", path], check=True, capture_output=True)
            trace = path
        done = subprocess.run([BIN / "helio-trace", "convert", trace, "-"], capture_output=True, text=True, check=True)
        return [line for line in done.stdout.splitlines() if line and not line.startswith("#")]

    def test_repetitions_by_default(self):
        """As many as an interval needs, and none of them the best of 200 seeds; one where each run takes its time."""
        path = self.folder / "default.yaml"
        path.write_text("set: {trace: H, duration: 1s}\nexperiments: [{name: x}]\n")
        traces = campaign_traces.Traces(str(self.folder))
        self.assertEqual([traces.seeds(run)["trace"] for run in campaign_file.load(path).runs()], [1001, 1002, 1003, 1004, 1005])
        for mode in ("relay", "bridge"):
            self.assertEqual(len(campaign_file.load(path, mode).runs()), 1)

    def test_repetitions_have_other_fades(self):
        """Step by step those of helio-trace gen, also in the return direction; sessions' numbers alone would make an interval, too."""
        runs = self.runs_of("{trace: A, return-trace: A}", "repetitions: 3\n")
        traces = self.traces()
        ways = [(traces.of(run)[0], traces.back(run)[0]) for run in runs]
        self.assertEqual([traces.seeds(run) for run in runs], [{"trace": 1000 + n, "return-trace": 501000 + n} for n in (1, 2, 3)])
        for number, way in enumerate(ways, 1):
            for trace, seed in zip(way, (1000 + number, 501000 + number)):
                self.assertEqual(self.steps(trace), self.steps(("A", seed)))
        self.assertEqual(len({tuple(self.steps(trace)) for way in ways for trace in way}), 6)
        self.assertEqual({traces.realisation(run)["kind"] for run in runs}, {"realisation"})
        for there, back, kind in (("none", "A", "realisation"), ("none", "iid:0.1", "seed"), ("iid:0.1", "none", "seed"), ("none", "none", "none")):
            run, = self.runs_of(f'{{trace: "{there}", return-trace: "{back}"}}')
            self.assertEqual(traces.realisation(run)["kind"], kind)  # fades of the way back alone are others, too

    def test_repetitions_of_a_trace_that_says_how_it_was_made(self):
        subprocess.run([BIN / "helio-trace", "gen", "--bad", "gamma:4ms,1", "--good", "gamma:36ms,1", "--duration", "1s", "--seed", "1002", "-o", self.folder / "made.txt"],
                       check=True, capture_output=True)
        runs = self.runs_of("{trace: made.txt, duration: 300ms}", "repetitions: 3\n")
        traces = self.traces()
        found = [tuple(self.steps(traces.of(run)[0])) for run in runs]
        self.assertEqual(len(set(found)), 3)  # its own seed is left out, too
        self.assertEqual([traces.of(run)[1] for run in runs], [0, 0, 0])
        bare = [line for line in (self.folder / "made.txt").read_text().splitlines() if not line.startswith("# ") or "step_ns" in line]
        self.file("\n".join(bare) + "\n", "bare.txt")
        runs = self.runs_of("{trace: bare.txt, trace-offset: 50ms, return-trace: bare.txt, return-offset: 150ms, duration: 300ms}", "repetitions: 4\n")
        parts = [traces.of(run) for run in runs]
        for run, (path, begin, _), wanted in zip(runs, parts, (0.05, 0.35, 0.65, 0.95)):
            back, begin_back = traces.back(run)
            self.assertEqual((Path(path), Path(back)), 2 * (self.folder / "bare.txt",))
            self.assertAlmostEqual(begin, wanted)
            self.assertAlmostEqual(begin_back, wanted + 0.1)
            self.assertIn(("return-offset", units.duration_text(wanted + 0.1)), self.words(run))
        self.assertEqual([campaign_traces.independent([{"realisation": part[2]} for part in parts[:n]], "sim")[0] for n in (2, 3, 4)], [True, True, False])

    def test_no_realisation_is_made_that_nobody_asks_for(self):
        traces = self.traces()
        run, = self.runs_of("{trace: A, duration: 1s}")
        self.assertEqual((traces.of(run)[0], traces.seeds(run)), ("A", {"trace": 55}))  # alone it is the one that has the name
        first = self.runs_of("{trace: A, duration: 1s}", "repetitions: 2\n")[0]
        self.assertNotEqual(first.key, run.key)
        subprocess.run([BIN / "helio-trace", "gen", "--preset", "A", "--seed", "3", "-o", self.folder / "made.txt"], check=True, capture_output=True)
        run, = self.runs_of("{trace: made.txt, duration: 1s}")
        self.assertEqual(Path(traces.of(run)[0]), self.folder / "made.txt")
        self.file("line: 2\nlink: {trace: A}\nlinks: {1-2: {forward: {trace: made.txt}}}\ntraffic: [{perf: 1-2, duration: 1s}]\n", "lab.yaml")
        runs = campaign_file.load(self.file("lab: lab.yaml\nrepetitions: 2\nexperiments: [{name: x}]\n")).runs()
        for run, made, names in zip(runs, (1, 3), (("made.txt", "A-1001.txt.gz"), ("-1002.txt.gz", "A-1002.txt.gz"))):
            lab = campaign_lab.lab_of(run)
            kind, seeds = campaign_lab.draw_fades(run, lab, traces)
            self.assertEqual((kind, seeds["A"], len(seeds)), ("realisation", 1000 + run.repetition, 2))
            self.assertEqual(len(list((self.out / "traces").glob("*"))), made)
            for way, name in zip(("forward", "return"), names):  # what the lab's programs get
                self.assertTrue(lab.links["1-2"].channel[way]["erasures"]["trace"].endswith(name), lab.links["1-2"].channel)


LAB = """line: 2
link: {rate: 100Mbit/s, delay: 125ms%s}
traffic:
  - {perf: 1-2, data: 10MB, window: %s, payload: 100kB}
"""


class Maps(Base):
    """A map as a node's file has it, where a campaign has one value: the message says what is right."""

    def test_recovery_maps(self):
        for settings, wanted in (("set: {recovery: {mode: own, copies: 3, report_copies: 2}}", "recovery: one value is wanted here, and the keys of this map stand by themselves: write recovery: plain, copies: 3, report-copies: 2"),
                                 ("set: {recovery: {mode: default}}", "write recovery: default"), ("set: {recovery: {defer: 3}}", "recovery: one value is wanted here"),
                                 ("set: {recovery: own}", "recovery: \"own\": the switches of a campaign stand by themselves beside recovery: plain, such as copies: 3"),
                                 ("set: {recovery.report_copies: 3}", "set has no key \"recovery.report_copies\"; did you mean report-copies?"),
                                 ("sweep: {recovery: [plain, {mode: own, copies: 3}]}", "write recovery: plain, copies: 3")):
            error = campaign(self.file(f"experiments:\n  - name: x\n    {settings}\n"), "--check", code=2).stderr
            self.assertIn("c.yaml:3: ", error)
            self.assertIn(wanted, error)
        for right in ("{recovery: plain, copies: 3, report-copies: 2}", "{recovery: default}"):
            campaign(self.file(f"experiments: [{{name: x, set: {right}}}]\n"), "--check")

    def test_maps_of_a_lab(self):
        self.file("line: 2\nlink: {rate: 1Mbit/s}\ntraffic: [{perf: 1-2, data: 1MB}]\n", "lab.yaml")
        error = campaign(self.file("lab: lab.yaml\nset: {link.recovery: {mode: own, copies: 3}}\nexperiments: [{name: x}]\n"), "--check", code=2).stderr
        self.assertIn("c.yaml:2: link.recovery: one value is wanted here; write each key with its whole name, such as link.recovery.mode", error)
        campaign(self.file("lab: lab.yaml\nset: {link.recovery.mode: own, link.recovery.copies: 3}\nexperiments: [{name: x}]\n"), "--check")


class Labs(Base):
    def test_what_a_labs_settings_rule_out_is_told(self):
        """As helio-lab check does; not what is swept to see just that; once for a key."""
        self.file(LAB % ("", 100), "lab.yaml")
        path = self.file("lab: lab.yaml\nexperiments:\n  - {name: x}\n  - name: y\n    sweep: {link.sessions: [4, 64]}\n  - name: z\n"
                         "    sweep: {link.rate: [1Mbit/s, 100Mbit/s, 200Mbit/s]}\n")
        told = [re.sub(r"^helio-campaign: \S*/", "", line)[:102] for line in campaign(path, "--check").stderr.splitlines()]
        alone, swept = "sessions: forward, 16 sessions of 100kB have", "sessions (in 2 of 3 settings; the first of them): forward, 16 sessions"
        self.assertEqual(len(told), 2, told)
        self.assertTrue(told[0].startswith(f"c.yaml:3: WARNING: links.1-2.{alone}"), told)
        self.assertTrue(told[1].startswith(f"c.yaml:6: WARNING: links.1-2.{swept}"), told)
        self.file(LAB % (", sessions: 64", 100), "lab.yaml")
        self.assertEqual(campaign(self.file("lab: lab.yaml\nexperiments: [{name: x}]\n"), "--check").stderr, "")

    def test_a_key_that_is_swept_in_vain_is_told(self):
        """Keys of `link` are for links without such a key of their own."""
        lab = "line: 2\nlink: {{rate: 1Mbit/s, delay: 5ms, recovery: plain}}\nlinks: {{1-2: {0}}}\ntraffic: [{{perf: 1-2, data: 1MB}}]\n"
        text = "lab: lab.yaml\nexperiments:\n  - name: x\n    sweep: {link.recovery: [plain, default], link.erasures.iid: [0, 0.1, 0.2]}\n"
        for own, vain in (("{erasures: {iid: 0}}", "link.erasures.iid"), ("{recovery: plain}", "link.recovery"), ("{}", None)):
            self.file(lab.format(own), "lab.yaml")
            error = campaign(self.file(text), "--check").stderr
            self.assertEqual(re.findall(r"c.yaml:3: WARNING: (\S+): all swept values give the same lab: each link has a key of its own for it; sweep that, such as links.NAME", error), [vain] if vain else [])

    def test_all_mistakes_of_a_lab_are_told(self):
        self.file("line: 2\nlink: {rate: 1Mbit/s}\ntrafic: []\ntraffic:\n  - {perf: 1-9}\nevents:\n  - {at: 1s, link: 1-7, do: up}\n", "lab.yaml")
        error = campaign(self.file("lab: lab.yaml\nexperiments:\n  - {name: x}\n  - {name: y, sweep: {seed: [1, 2]}}\n"), "--check", code=2).stderr
        for words in (r"lab\.yaml:3: .*trafic", r"lab\.yaml:5: .*9", r"lab\.yaml:7: .*1-7"):
            self.assertEqual(len(re.findall(rf"(?m)^helio-campaign: .*c\.yaml:3: .*{words}", error)), 1, error)
        self.assertEqual(len(error.splitlines()), 3, error)

    def test_all_traces_that_cannot_be_read_are_told(self):
        for name in ("one.txt", "two.txt"):
            self.file("no trace\n", name)
        for text in ("experiments: [{name: x, sweep: {trace: [one.txt, A, two.txt]}}]\n",
                     "lab: lab.yaml\nexperiments: [{name: x, sweep: {links.1-2.trace: [one.txt, A, two.txt]}}]\n"):
            self.file("line: 2\nlinks: {1-2: {}}\ntraffic: [{perf: 1-2}]\n", "lab.yaml")
            error = campaign(self.file(text), "--check", code=2).stderr
            self.assertEqual([sum(name in line for line in error.splitlines()) for name in ("one.txt", "two.txt")], [1, 1], error)


class Hops(Base):
    def test_three_hops_in_a_window(self):
        """Whole nodes in virtual time: a bundle's route takes 3 × (5 + 8.6) ms and its acknowledgement 3 × 5 ms, so a window of W brings W × 400 kbit / 55.9 ms
        (docs/helio-sim.md, with real nodes beside it)."""
        self.file("line: 4\nlink: {rate: 50Mbit/s, delay: 5ms}\ntraffic:\n  - {perf: 1-4, window: 2, payload: 50kB, duration: 4s}\n", "lab.yaml")
        path = self.file("lab: lab.yaml\nexperiments:\n  - name: x\n    sweep: {traffic.0.window: [2, 5]}\n")
        for row in json.loads(campaign(path, "--out", self.out, "--no-report", "--json").stdout):
            window, result = int(row["parameters"]["traffic.0.window"]), row["result"]
            self.assertAlmostEqual(result["goodput_bps"] / (window * 400e3 / 55.9e-3), 1, delta=0.015)
            for what in ("mean", "p50", "p90"):  # of the data: an acknowledgement takes 15 ms
                self.assertAlmostEqual(result["delivery_ms"][what], 3 * (5 + 8.6), delta=0.5)


def path_of(bundles, total, *hops):
    """Of helio-analyze's `delays`: hops are queue, radiation, channel, retransmission."""
    return {"bundles": bundles, "application_ms": 0.5, "total_ms": total, "hops": [
        {"from": f"ipn:{i}.0", "to": f"ipn:{i + 1}.0", **{f"{part}_ms": value for part, value in zip(campaign_delays.PARTS, hop)}} for i, hop in enumerate(hops, 1)]}


class Figures(Base):
    """What a report has beside each point, by hand."""

    def test_delays_hop_by_hop(self):
        """Of the longest route and there of most bundles, means over repetitions, which add up; none where the routes differ."""
        one, two = path_of(9, 40.5, (1, 8, 5, 6), (2, 8, 5, 5)), path_of(9, 50.5, (3, 8, 5, 10), (2, 8, 5, 9))
        back, short = path_of(3, 16.5, (1, 1, 5, 4), (0, 0, 5, 0)), path_of(500, 9.5, (1, 1, 5, 2))
        row = types.SimpleNamespace(values={"trace": "A", "rate": "1Mbit/s"}, results={2: {"delays": [short, two, back]}, 1: {"delays": [back, one]}, 3: {}})
        swept = types.SimpleNamespace(sweep={"rate": ["1Mbit/s"]})
        rows = campaign_delays.rows(swept, [row])
        self.assertEqual(rows, [["1Mbit/s", "ipn:1.0", "ipn:2.0", 2, 8, 5, 8, None, None], ["1Mbit/s", "ipn:2.0", "ipn:3.0", 2, 8, 5, 7, 0.5, 45.5]])
        self.assertEqual(sum(sum(hop[3:7]) for hop in rows) + rows[-1][7], rows[-1][8])
        path = self.folder / "delays.csv"
        campaign_delays.write(path, swept, rows)
        self.assertEqual(path.read_text().splitlines(), [
            "rate,from,to,queue_ms,radiation_ms,channel_ms,retransmission_ms,application_ms,total_ms", "1Mbit/s,ipn:1.0,ipn:2.0,2.000000,8.000000,5.000000,8.000000,,",
            "1Mbit/s,ipn:2.0,ipn:3.0,2.000000,8.000000,5.000000,7.000000,0.500000,45.500000"])
        row.results[4] = {"delays": [short]}
        self.assertEqual(campaign_delays.rows(swept, [row]), [])

    def test_processor_time_a_gigabit(self):
        """Of both nodes, for what arrived; not known when that of one is not. It is a column of the report."""
        shown = {"nodes": {"1": {"cpu_s": 1.5}, "2": {"cpu_s": 0.5}}}
        cost = campaign_live.Results.cost
        self.assertEqual(cost(shown, {"bytes_acked": 50_000_000}), {"cpu_s_per_gigabit": 5.0})
        self.assertEqual([cost(shown, {"bytes_acked": 0}), cost({"nodes": {"1": {"cpu_s": 1.5}, "2": {}}}, {"bytes_acked": 1})], 2 * [{"cpu_s_per_gigabit": None}])
        title, unit, value = campaign_data.METRICS["cpu"]
        self.assertEqual((title, unit, value({"cpu_s_per_gigabit": 5.0}, {}), value({}, {})), ("processor time of the nodes a gigabit", "s", 5.0, None))
        before = os.times()
        found = machine.cpu_seconds(os.getpid())
        after = os.times()
        self.assertTrue(before.user + before.system - 0.021 <= found <= after.user + after.system + 0.021, (before, found, after))

    def test_goodput_of_another_stack_is_that_of_its_payload(self):
        """1000 of 1100 bytes on the air; bundles of 50 kB in blocks of 50,100, and blocks that hold several."""
        table = self.folder / "sessions.csv"
        table.write_text("colour,data_sent,bytes_sent,segments_sent\nred,600,640,1\nred,400,376,1\ngreen,9,9,9\nred,,50,1\n")
        self.assertAlmostEqual(campaign_other.payload_share(self.folder, 42), 1000 / (640 + 376 + 84))
        for blocks, size, wanted in ((10, 50_100, 50_000 / 50_100), (10, 200_000, 1.0), (10, 40_000, 1.0)):
            self.assertAlmostEqual(campaign_other.payload_of({"bundle": "50kB"}, {"bytes": blocks * size, "blocks": blocks}), wanted)


class Units(unittest.TestCase):
    def test_as_the_programs_have_them(self):
        """base/units.h, and helio-perf's shorter ones."""
        for text, wanted in (("500000", 500000), ("0", 0), ("1.5kB", 1500), ("2MiB", 2 << 20), ("3TB", 3 * 10**12), ("1TiB", 1 << 40), ("7B", 7)):
            self.assertEqual((units.size(text), units.amount(text)), (wanted, wanted), text)
        for text, wanted in (("50k", 50000), ("4M", 4 * 10**6), ("1.5G", 1500 * 10**6)):
            self.assertEqual(units.amount(text), wanted)
            self.assertRaises(units.UnitError, units.size, text)
        for text, wanted in (("10", 10.0), ("0.5", 0.5), ("30ms", 0.03), ("2min", 120.0)):
            self.assertAlmostEqual(units.seconds(text), wanted)
        for text in ("K", "5K", "-1", "5 k", "kB", "1e3"):
            self.assertRaises(units.UnitError, units.amount, text)
        for parse, text in ((units.duration, "10"), (units.seconds, "10x"), (units.rate, "10")):
            self.assertRaises(units.UnitError, parse, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
