#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-campaign with `kind: sle`: what is wrong has its place; in virtual time the figures are those of the line, the window, the
loss; the report lays them beside the published ones.

usage: campaign_sle_test.py BIN SOURCE sim|live
"""
import io
import json
import shutil
import sys
import types
import unittest
import unittest.mock
from pathlib import Path

from campaign_case import Base, campaign

BIN, SOURCE, KIND = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
import _paths  # noqa: F401
from heliograph.campaign import cli as campaign_main  # noqa: E402
from heliograph import programs  # noqa: E402
from heliograph.campaign import file as campaign_file, sle_live as campaign_sle_live  # noqa: E402
from heliograph.lab import live as lab_live  # noqa: E402
from heliograph.processes import Failed, Missing  # noqa: E402

programs.PLACE = BIN  # heliod describes the keys

SMALL = """title: A small one
kind: sle
set: {line: 20Mbit/s}
experiments:
  - name: rtt
    sweep: {line: [20Mbit/s], buffer: [20], rtt: [0ms, 200ms]}
  - name: buffers
    sweep: {tcp-buffer: [64kB, auto], rtt: [100ms]}
  - name: blocked
    set: {pipelining: no, buffer: 58, line: 1Gbit/s}
    sweep: {rtt: [100ms, 200ms]}
  - name: transports
    sweep: {transport: [cubic, ltp], loss: [0, 0.01], rtt: [0.1ms, 100ms]}
  - name: delay
    set: {rtt: 20ms, duration: 3s, warmup: 1s}
    sweep: {source: [5Mbit/s, 25Mbit/s]}
  - name: instances
    set: {rtt: 20ms}
    sweep: {instances: [1, 3]}
  - name: files
    set: {transport: ltp, data: 10MB}
    sweep: {rtt: [0.1ms, 100ms]}
"""


class Sim(Base):
    def test_errors_have_a_place(self):
        for text, line, words in (
                ("kind: sls\nexperiments: [{name: x}]\n", 1, "none of ltp, sle"),
                ("kind: sle\nexperiments:\n  - name: x\n    sweep: {rtts: [1ms]}\n", 4, "did you mean rtt?"),
                ("kind: sle\nexperiments:\n  - name: x\n    sweep: {trace: [A]}\n", 4, "no key \"trace\""),
                ("kind: sle\nexperiments:\n  - name: x\n    sweep: {rtt: [20]}\n", 4, "write it like"),
                ("kind: sle\nexperiments:\n  - name: x\n    sweep: {loss: [2]}\n", 4, "from 0 to 0.9"),
                ("kind: sle\nexperiments:\n  - name: x\n    set: {line: 0bit/s, transport: ltp}\n", 4, "line: \"0bit/s\": a rate above zero"),
                ("kind: sle\nexperiments:\n  - name: x\n    sweep: {source: [0bit/s]}\n", 4, "a rate above zero"),
                ("kind: sle\nexperiments:\n  - name: x\n    sweep: {buffer: [1.5]}\n", 4, "buffer: \"1.5\" is no whole number from 1 to 65535"),
                ("kind: sle\nexperiments:\n  - name: x\n    set: {instances: 2.5}\n", 4, "instances: \"2.5\" is no whole number"),
                ("kind: sle\nexperiments:\n  - name: x\n    set: {frame: .nan}\n", 4, "is no whole number"),
                ("kind: sle\nexperiments:\n  - name: x\n    set: {transport: bbr}\n", 3, "in mode bridge only"),
                ("kind: sle\nexperiments:\n  - name: x\n    set: {transport: udt}\n", 3, "in mode bridge only"),
                ("kind: sle\nmode: bridge\nexperiments:\n  - name: x\n    set: {transport: srt, instances: 2}\n", 4, "one stream"),
                ("kind: sle\nmode: relay\nexperiments:\n  - name: x\n", 4, "does not pass a relay"),
                ("kind: sle\nexperiments:\n  - name: x\n    set: {data: 1MB}\n", 3, "by transport ltp only")):
            with self.subTest(text=text):
                error = campaign(self.file(text), "--check", code=2).stderr
                self.assertIn(f"c.yaml:{line}: ", error)
                self.assertIn(words, error)

    def test_ours_are_right(self):
        for name, more in (("sle", ()), ("sle-quick", ()), ("sle-live", ("--mode", "bridge"))):
            self.assertIn("different runs", campaign(SOURCE / f"campaigns/{name}.yaml", "--check", *more).stdout)

    def test_congestion_control_of_the_kernel(self):
        for name in campaign_sle_live.available():
            if name in ("reno", "cubic"):
                self.assertTrue(campaign_sle_live.has(name))
        self.assertFalse(campaign_sle_live.has("nonesuch"))

    def line(self, called):
        """One whose testbed is in words only."""
        class Line(campaign_sle_live.Line):
            def testbed(self, *words):
                called.append(words)
                return ["sleep", "60"] if "user" in words else ["false"] if "sysctl" in words else ["true"]

        v = {"loss": 0, "rtt": "1ms", "line": "1Gbit/s"}
        with unittest.mock.patch("os.geteuid", return_value=0), unittest.mock.patch("heliograph.programs.find", return_value="bin/helio-emu"):
            return Line(types.SimpleNamespace(values=v, repetition=1), str(self.folder))

    def test_a_testbed_that_does_not_stand_leaves_nothing(self):
        called = []
        line = self.line(called)
        with unittest.mock.patch("heliograph.programs.find", return_value="bin/helio-emu"):
            with self.assertRaises(Failed):
                line.__enter__()
            self.assertEqual(("down", line.name), called[-1])
            line.call = unittest.mock.Mock(side_effect=KeyboardInterrupt)
            called.clear()
            with self.assertRaises(KeyboardInterrupt):
                line.__enter__()
            self.assertEqual([("down", line.name)], called)

    def test_what_is_missing_is_left_out(self):
        """A library or a congestion control that this machine has not: the other runs count."""
        text = "kind: sle\nmode: bridge\nexperiments:\n  - {name: x, sweep: {transport: [udt, srt, cubic]}}\n"

        def measure(run, *_):
            if run.values["transport"] != "cubic" or self.nothing:
                raise Missing("it is not there")
            return {"faithful": True, "reasons": [], "goodput_bps": 1.0}

        for self.nothing, fine in ((False, True), (True, False)):
            with self.subTest(nothing=self.nothing), unittest.mock.patch("heliograph.campaign.run.measure", measure), \
                    unittest.mock.patch("heliograph.machine.versions", return_value={}), unittest.mock.patch("sys.stderr", io.StringIO()) as said:
                loaded = campaign_file.load(self.file(text), None)
                self.assertEqual(campaign_main.Runner(loaded, str(self.out / str(fine)), 1).all(), fine)
                self.assertIn(f"left out: {2 + self.nothing} of 3 runs: it is not there", said.getvalue())

    def test_words_of_a_node_without_logs(self):
        """Its links say what was not sent for want of a processor: without that a run would pass for faithful."""
        def ctl(_, what):
            if what == "flush":
                raise Failed("this node writes no log of segments or bundles")
            return {"node": {"delivered": 3, "state": "x"}, "links": [{"name": "to-2", "credit_lost": 7}]}

        session = types.SimpleNamespace(ctl=ctl, running={}, node_log=str)
        words = lab_live.Session.last_words(session, "1")
        self.assertEqual((words["links"][0]["credit_lost"], words["delivered"]), (7, 3))

    def test_a_user_that_hangs(self):
        with self.assertRaisesRegex(Failed, "^helio-sle user at the destination has not ended within 0.01s$"):
            self.line([]).run("destination", ["/x/helio-sle", "user"], 0.01)

    def test_a_reference_that_breaks_off(self):
        """What came until then is no rate of the whole time."""
        v = {"transport": "srt", "line": "1Gbit/s", "rtt": "1ms", "tcp-buffer": "auto", "loss": 0}
        told = {"octets": 5, "counted": 5, "seconds": 2.0, "goodput_bps": 20.0, "lasted": 1.5}
        for early in (False, True):
            said = {"receiver.log": json.dumps({**told, "early": early}), "sender.log": ""}
            line = unittest.mock.Mock(said=said.get)
            line.begin.return_value.returncode = 0
            with unittest.mock.patch("heliograph.programs.find", return_value="x"), \
                    unittest.mock.patch("heliograph.campaign.sle.times", return_value=(2.0, 4.0)):
                if early:
                    with self.assertRaisesRegex(Failed, "^transfer_srt: the connection has ended after 1.5s of 4s$"):
                        campaign_sle_live.transfer_reference(line, v)
                else:
                    self.assertEqual(campaign_sle_live.transfer_reference(line, v)["goodput_bps"], 20.0)

    def test_small(self):
        rows = json.loads(campaign(self.file(SMALL), "--out", self.out, "--json").stdout)
        for row in rows:
            v, r = row["parameters"], row["result"]
            with self.subTest(**v):
                self.assertTrue(r["faithful"])
                self.assertLessEqual(r["goodput_bps"], 20e6)  # also what waits for each PDU, on another line
                if row["experiment"] == "transports" and v["transport"] == "ltp":
                    self.assertGreater(r["efficiency"], 0.95)  # counted by segments, not by frames, 100 ms and 1 % gave 88 %
                if row["experiment"] == "delay":
                    self.assertGreaterEqual(r["delay_us"]["min"], 10000)
        report = self.out / "report"
        page = (report / "index.html").read_text()
        for words in ("NASA", "published", "virtual time", "blocked", "Jitter"):
            self.assertTrue(words.lower() in page.lower(), words)
        for name in ("rtt.csv", "blocked.png", "transports-0.svg", "delay.svg", "published.json"):
            self.assertTrue((report / name).is_file(), name)
        published = json.loads((report / "published.json").read_text())
        blocked = {r["quantity"]: r for r in published if r["quantity"].startswith("blocked")}
        self.assertEqual(len(blocked), 2)
        for r in blocked.values():
            self.assertLess(abs(r["difference_percent"]), 8, r)
        self.assertTrue("the rate is S / R" in page)
        self.assertIn("19 different runs (19 done)", campaign(self.folder / "c.yaml", "--out", self.out, "--check").stdout)


class Live(Base):
    def test_real_tcp(self):
        text = """kind: sle
mode: bridge
set: {line: 20Mbit/s, duration: 4s, warmup: 2s}
experiments:
  - {name: rtt, sweep: {transport: [reno, cubic], rtt: [20ms]}}
  - {name: blocked, set: {pipelining: no, buffer: 10, rtt: 100ms}}
"""
        rows = json.loads(campaign(self.file(text), "--out", self.out, "--json").stdout)
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.assertGreater(row["result"]["frames"], 0)
            self.assertLess(row["result"]["goodput_bps"], 20e6)
            self.assertGreater(row["result"]["delay_us"]["min"], 0.49 * 1e3 * float(row["parameters"]["rtt"][:-2]))
        blocked = rows[-1]["result"]["goodput_bps"]
        self.assertLess(blocked, 8 * 11150 / 0.1)

    def test_references(self):
        """UDT and SRT under losses: the receiver compares what it gets."""
        here = [name for name in ("udt", "srt") if shutil.which(f"transfer_{name}", path=str(BIN))]
        if not here:
            self.skipTest("neither libudt nor libsrt was there for the build")
        text = f"""kind: sle
mode: bridge
set: {{line: 20Mbit/s, duration: 4s, warmup: 2s, rtt: 20ms, loss: 0.01}}
experiments:
  - {{name: transports, sweep: {{transport: [{', '.join(here)}]}}}}
"""
        rows = json.loads(campaign(self.file(text), "--out", self.out, "--json").stdout)
        self.assertEqual([row["parameters"]["transport"] for row in rows], here)
        for row in rows:
            self.assertGreater(row["result"]["octets"], 0)
            self.assertLess(row["result"]["goodput_bps"], 20e6)


if __name__ == "__main__":
    del sys.argv[1:4]
    unittest.main(defaultTest="Sim" if KIND == "sim" else "Live")
