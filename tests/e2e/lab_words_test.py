#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What helio-lab says to people: usage, figures in words, and what settings rule out. usage: lab_words_test.py BIN SOURCE sim"""
import shlex
import subprocess
import sys
import unittest

from lab_test import BIN, Folder, lab, made

from heliograph import units  # noqa: E402
from heliograph.lab import hints as lab_hints, result as lab_result  # noqa: E402


class Words(Folder):
    def test_the_file_comes_first(self):
        """A user who writes the command first gets the whole line."""
        file = self.file("line: 2\n")
        for words, wanted in ((("up", file), f"helio-lab {file} up\n"), (("up", "--mode", "sim", "ho.yaml"), "helio-lab ho.yaml up --mode sim\n"),
                              (("exec", file, "1", "helioctl", "links"), f"helio-lab {file} exec 1 helioctl links\n"),
                              (("check",), "helio-lab FILE check\n"), (("link", "1-2", "down"), "helio-lab FILE link\n")):
            said = lab(*words, code=2).stderr
            self.assertIn(f"helio-lab: FILE comes first: {wanted}", said)
        self.assertIn("there is no such file", lab("up", "down", code=2, cwd=self.folder).stderr)
        self.assertIn("1 link", lab(self.file("line: 2\n", "check"), "check").stdout)
        self.assertIn("check: 2 nodes", lab("check", "check", cwd=self.folder).stdout, "a lab file of that name")
        self.assertIn("invalid choice: 'upp'", lab(file, "upp", code=2).stderr)

    def test_one_and_several(self):
        self.assertEqual([units.counted(n, "link") for n in (0, 1, 2, [], ["x"])], ["0 links", "1 link", "2 links", "0 links", "1 link"])
        for text, wanted in (("line: 2\ntraffic: [{ping: 1-2}]\n", "2 nodes, 1 link, 1 kind of traffic\n"),
                             ("line: 3\ntraffic: [{ping: 1-2}, {ping: 2-3}]\n", "3 nodes, 2 links, 2 kinds of traffic\n"),
                             ("nodes: {a: {}}\n", "1 node, 0 links, 0 kinds of traffic\n")):
            self.assertTrue(lab(self.file(text), "check").stdout.endswith(f": {wanted}"), text)

    def test_long_times_are_in_seconds(self):
        self.assertEqual([lab_result.ms(value) for value in (None, 0.04, 9999.94, 10000, 1081783.1)], ["–", "0.0 ms", "9999.9 ms", "10.0 s", "1081.8 s"])
        flow = made("line: 2\ntraffic: [{perf: 1-2}]").traffic[0]
        line = lab_result.flow_line(flow, {"code": 0, "goodput_basis": "acknowledgements", "bundles_sent": 1, "bundles_acked": 1, "goodput_bps": 1e6,
                                           "delay_ms": {"mean": 12000.0}})
        self.assertTrue(line.endswith("1 of 1 bundle acknowledged, 1.000 Mbit/s, mean delay 12.0 s"), line)


class Frames(Folder):
    """Ends whose CCSDS frames cannot meet are reported before anything starts, with what would be right."""

    def test_frames_by_tcp(self):
        for keys, wanted in (("    frames: {mode: aos, port: connect}\n", (":4: ", "links.1-2.frames.port: both ends have connect, so no connection comes about; write ends: {2: {frames: {port: listen}}}")),
                             ("    frames: {mode: aos, port: listen}\n", (":4: ", "both ends have listen, so no connection comes about; write ends: {2: {frames: {port: connect}}}")),
                             ("    frames: aos\n    ends:\n      2:\n        frames: {mode: aos, port: listen}\n", (":7: ", "1 has datagrams and 2 has listen", "write ends: {1: {frames: {port: connect}}}")),
                             ("    frames: {mode: aos, port: connect}\n    ends: {2: {frames: {port: listen}}}\n    delay: 5ms\n", (":4: ", "frames by TCP pass neither a relay")),
                             ("    ends:\n      1:\n        frames: aos\n", (":6: ", "links.1-2.frames: 1 has frames, and 2 has none, so nothing arrives"))):
            said = lab(self.file(f"line: 2\nlinks:\n  1-2:\n{keys}"), "check", code=2).stderr
            for words in wanted:
                self.assertIn(words, said)
            self.assertEqual(len(said.splitlines()), 1, said)

    def test_frames_that_meet(self):
        """As the message has it: bundles arrive."""
        file = self.file("line: 2\nlink: {channel: no, frames: {mode: aos, port: connect}, ends: {2: {frames: {port: listen}}}}\n"
                         "traffic: [{perf: 1-2, data: 100kB, payload: 10kB}]\n")
        lab(file, "check", "--mode", "local")
        self.assertIn("pass neither a relay", lab(file, "check", "--mode", "sim", code=2).stderr)
        lab(file, "up", "--mode", "local", "--out", self.folder / "out")
        self.assertEqual(self.result(self.folder / "out")["traffic"]["perf-1"]["bundles_acked"], 10)


class Course(Folder):
    """What a lab does, and when it is over."""
    LINK = "line: 2\nlink: {rate: 10Mbit/s, delay: 5ms}\n"

    def test_a_program_that_is_not_there(self):
        """Told at check, and before anything starts."""
        file = self.file(self.LINK + "traffic:\n  - run: 1\n    command: no-such-program -x {node}\n")
        said = f"helio-lab: {file}:5: %straffic.0.command: there is no program no-such-program\n"
        self.assertEqual(lab(file, "check").stderr, said % "WARNING: ")
        self.assertEqual(lab(file, "up", "--out", self.folder / "out", code=1).stderr, said % "")
        for command in ("true", "helioctl links", "./own"):
            own = self.folder / "own"
            own.touch(0o755)
            self.assertEqual(lab(self.file(self.LINK + f"traffic:\n  - {{run: 1, command: {command}}}\n"), "check").stderr, "", command)

    def test_events_after_the_traffic(self):
        """As in the modes with real processes the lab goes on until the last event."""
        text = self.LINK + "traffic: [{perf: 1-2, data: 50k, payload: 10k}]\n"
        late = text + "events:\n  - {at: 9s, link: 1-2, do: down}\n  - {at: 2s, link: 1-2, set: {rate: 5Mbit/s}}\n"
        self.assertLess(self.up(self.file(text))["seconds"], 2)
        self.assertEqual(self.up(self.file(late), out="late")["seconds"], 9)

    def test_check_values(self):
        for crc in ("none", "16", "32c"):
            file = self.file(self.LINK + f"traffic: [{{perf: 1-2, data: 50k, payload: 10k, crc: {crc}, priority: bulk, linger: 2s}}]\n")
            self.assertEqual(self.up(file, out=crc)["traffic"]["perf-1"]["bundles_acked"], 5)


GEO = """line: 2
link: {rate: 100Mbit/s, delay: 125ms%s}
traffic:
  - {perf: 1-2, %s}
"""
LONG = "data: 10MB, window: 100, payload: 100kB"
GREEN = ", sessions: 36, colour: green"


def keys(text):
    return [hint.key for hint in lab_hints.hints(made(text))]


class Hints(Folder):
    def test_sessions_and_windows_that_are_too_few(self):
        sessions, window = "links.1-2.sessions", "traffic.0.window"
        for link, flow, wanted in (
                ("", LONG, [sessions]), ("", "duration: 10, window: 100, payload: 100kB", [sessions]), ("", "window: 100, payload: 100k", [sessions]),
                (", sessions: 27", LONG, [sessions]), (", sessions: 36", LONG, []), (", sessions: auto", LONG, []),
                (", sessions: 36, ends: {1: {sessions: 4}}", LONG, [sessions]), (", sessions: 36, ends: {2: {sessions: 4}}", LONG, []),
                (", aggregate: 1MB", LONG, []), (", sessions: 2, aggregate: 1MB", "duration: 10s, window: 100, payload: 100kB", [sessions]),
                (", sessions: 36", "duration: 10s, window: 20, payload: 100kB", [window]), ("", "duration: 10s", [sessions, window]),
                (", sessions: 36", "duration: 10s, window: 34, payload: 100kB", []), (", recovery: plain, trace: A", LONG, [sessions]),
                # what lasts too short a time to tell, and what has no window
                ("", "duration: 500ms, window: 100, payload: 100kB", []), ("", "data: 3MB, window: 100, payload: 100kB", []),
                ("", "duration: 10s, rate: 90Mbit/s, payload: 100kB", []),
                # what is not red, not LTP, not known, not the same all the time
                (GREEN, LONG, []), (", adapter: udp", LONG, []), (", frames: {mode: aos, port: udp}", LONG, []),
                (", contacts: [{from: 0s, to: 9s}]", LONG, []), (", outages: [{from: 1s, to: 2s}]", LONG, []),
                (", channel: no", LONG, []), (", station: {}", LONG, [])):
            self.assertEqual(keys(GEO % (link, flow)), wanted, (link, flow))
        for more in ("  - {run: 1, command: x}\n", "events: [{at: 1s, link: 1-2, set: {sessions: 90}}]\n", "duration: 900ms\n",
                     "nodes: {1: {links: [{name: x}]}}\n"):
            self.assertEqual(keys(GEO % ("", LONG) + more), [], more)
        shared = (GEO % ("", LONG)).replace("rate: 100Mbit/s", "return: {rate: 100Mbit/s}") + "shared: {x: {of: [1-2.forward], rate: 100Mbit/s}}\n"
        self.assertEqual(keys(shared), [])
        self.assertEqual(keys((GEO % ("", LONG)).replace("125ms", "[{at: 0s, delay: 125ms}, {at: 9s, delay: 1s}]")), [])
        for rate in ("", "rate: unlimited, ", "rate: 0.1bit/s, ", "rate: [x], "):
            self.assertEqual(keys((GEO % ("", LONG)).replace("rate: 100Mbit/s, ", rate)), [], rate)

    def test_fading_as_helio_tune_takes_it(self):
        for erasures, wanted in (("{}", "none"), ("{trace: A}", "A"), ("{iid: 0.01}", "iid:0.01"), ("{trace: {file: a.htr}}", "/a.htr"),
                                 ("{trace: {file: a.htr, offset: 5s}}", "TRACE"), ("{trace: A, iid: 0.01}", "TRACE"), ("{power: {file: rx.csv}}", "TRACE")):
            hint, = lab_hints.hints(made(GEO % (f", forward: {{erasures: {erasures}}}", LONG)))
            self.assertRegex(hint.text, rf"--trace \S*{wanted} --return-rate 100Mbit/s")

    def test_the_network_around_a_link(self):
        line = "line: 3\nlinks: {1-2: {rate: 10Mbit/s, delay: 5ms}, 2-3: {rate: 100Mbit/s, delay: 125ms}}\ntraffic: [{perf: %s, duration: 10s, window: %d, payload: 100kB}]\n"
        self.assertEqual(keys(line % ("1-3", 20)), [], "no more than 10 Mbit/s come to the second link")
        self.assertEqual(keys(line % ("2-3", 60)), ["links.2-3.sessions"])
        self.assertEqual(keys(line % ("3-2", 60)), ["links.2-3.sessions"])
        self.assertEqual(keys(line % ("1-3", 3)), ["traffic.0.window"])
        self.assertEqual(keys((line % ("2-3", 60)).replace("line", "ring")), [], "another way may be taken")
        two = (GEO % (", sessions: 36", "duration: 10s, window: %d, payload: 100kB")) + "  - {perf: 1-2, service: 2002, duration: 10s, window: %d, payload: 100kB}\n"
        self.assertEqual(keys(two % (20, 20)), [], "together they fill it")
        self.assertEqual(keys(two % (9, 9)), ["traffic.0.window", "traffic.1.window"])
        self.assertEqual(keys(two % (9, 9) + "  - {perf: 1-2, service: 9, rate: 1Mbit/s}\n"), [])

    def test_what_is_advised_is_enough(self):
        """One after the other, until nothing is left to say; helio-tune takes the command."""
        text = GEO % (", overhead: 53B, segment: 1400B, forward: {trace: H}, return: {rate: 2Mbit/s, trace: 'iid:0.01'}", "window: 3, payload: 70kB")
        file, words, said = self.file(text), [], ""
        for key in ("links.1-2.sessions", "traffic.0.window"):
            said = lab(file, "check", *words).stderr
            self.assertRegex(said, rf"(?m)^helio-lab: {file}:\d: WARNING: {key}: .*at most \d+ % of the rate; write {key.rsplit('.', 1)[-1]}: \d+")
            number = next(line for line in said.splitlines() if key in line).split("; write ")[1].split()[1]
            if key.endswith("sessions"):
                command = shlex.split(said.splitlines()[0].split("find them: ")[1])
            words += ["--set", f"{key}={number}"]
        self.assertEqual(lab(file, "check", *words).stderr, "")
        self.assertEqual(command, shlex.split("helio-tune --rate 100Mbit/s --delay 125ms --block 70.1kB --trace H --return-trace iid:0.01 --return-rate 2Mbit/s "
                                              "--recovery default --segment 1400B --overhead 53"))
        self.assertEqual(subprocess.run([BIN / command[0], *command[1:], "--version"], stdout=subprocess.DEVNULL, check=False).returncode, 0)

    def test_a_run_says_it_and_is_as_slow(self):
        file = self.file(GEO % ("", "data: 20MB, window: 100, payload: 100kB"))
        said = lab(file, "up", "--mode", "sim", "--out", self.folder / "a").stdout
        self.assertIn("\nWARNING: links.1-2.sessions: forward, 16 sessions of 100kB have 1.6MB under way at most, and the link holds 3.24MB", said)
        slow, quick = self.result(self.folder / "a"), self.up(file, "--set", "link.sessions=36", out="b")
        self.assertEqual(([hint["key"] for hint in slow["hints"]], quick["hints"]), (["links.1-2.sessions"], []))
        self.assertLess(slow["traffic"]["perf-1"]["goodput_bps"], 0.55 * 100e6)
        self.assertGreater(quick["traffic"]["perf-1"]["goodput_bps"], 0.6 * 100e6)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
