#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab: what events set in mid-run, on links of datagrams and of streams, in virtual time; what nobody can set, in all modes; `link set`
without any process. usage: lab_change_test.py BIN SOURCE sim"""
import csv
import json
import shutil
import socket
import sys
import threading
import unittest
from types import SimpleNamespace

from lab_test import Folder, lab, made

from heliograph import places  # noqa: E402
from heliograph.lab import (  # noqa: E402
    account as lab_account, derive as lab_derive, file as lab_file, live as lab_live, state as lab_state,
    view as lab_view,
)
from heliograph.processes import Failed  # noqa: E402


class Change(Folder):
    def delivered_rate(self, since, until):
        """Payload that node 2's application had in that time, bit/s: whole bundles, from one delivery to another."""
        with open(self.folder / "out/node2.bundles.csv", newline="", encoding="utf-8") as f:
            rows = [(int(row["t_ns"]) / 1e9, 8 * int(row["payload"])) for row in csv.DictReader(f)
                    if row["event"] == "delivered" and since < int(row["t_ns"]) / 1e9 < until]
        return sum(bits for _, bits in rows[1:]) / (rows[-1][0] - rows[0][0])

    def payload_share(self, adapter):
        """Of the bits on the line, at most: heads of bundles, of segments or of the simulator's TCP frames are the rest."""
        if adapter == "tcpcl":
            return 50000 / 50059 * 1428 / 1468
        with open(self.folder / "out/node1.segments.csv", newline="", encoding="utf-8") as f:
            sent = [(int(row["length"]), int(row["udp_len"])) for row in csv.DictReader(f) if row["dir"] == "tx" and row["length"]]
        return 50000 / 50059 * sum(length for length, _ in sent) / sum(size for _, size in sent)

    def test_a_rate_that_is_halved_in_mid_run(self):
        """Of a datagram link its line and its adapter; of a stream its line. Nothing is lost, and the new rate is used."""
        for adapter in ("ltp-udp", "tcpcl"):
            with self.subTest(adapter=adapter):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                file = self.file(f"line: 2\nlink: {{adapter: {adapter}, rate: 20Mbit/s, delay: 5ms}}\n"
                                 "traffic: [{perf: 1-2, duration: 20s, window: 40, payload: 50kB}]\n"
                                 "events: [{at: 10s, link: 1-2, set: {rate: 10Mbit/s}}]\n")
                client = self.up(file)["traffic"]["perf-1"]
                self.assertEqual((client["lost"], client["bundles_acked"]), (0, client["bundles_sent"]))
                share = self.payload_share(adapter)
                self.assertGreater(share, 0.9)
                before, after = self.delivered_rate(1, 9.9), self.delivered_rate(10.5, 20)
                self.assertLessEqual(after, 10e6 * share * 1.002)  # a bundle more or less at the ends of it
                self.assertGreaterEqual(after, 0.8 * 10e6 * share)
                self.assertLessEqual(before, 20e6 * share * 1.002)
                self.assertGreaterEqual(before, 0.8 * 20e6 * share)

    def test_delay_and_loss_that_change_in_mid_run(self):
        """One direction alone, and both; streams over three nodes: what the channel loses is sent again."""
        file = self.file("line: 3\nlink: {adapter: tcpcl, rate: 20Mbit/s, delay: 5ms}\n"
                         "traffic: [{ping: 1-2, count: 20, interval: 100ms}, {perf: 1-3, data: 2MB, window: 5, payload: 20kB, start: 4s}]\n"
                         "events:\n  - {at: 1050ms, link: 1-2, set: {delay: 50ms}}\n  - {at: 3s, link: 2-3, set: {trace: \"iid:0.05\"}}\n"
                         "  - {at: 3s, link: 1-2, set: {forward.delay: 5ms}}\n")
        result = self.up(file)
        ping, client = result["traffic"]["ping-1"], result["traffic"]["perf-2"]
        self.assertEqual((ping["received"], client["lost"]), (20, 0))
        self.assertTrue(10 <= ping["rtt_ms"]["min"] < 12 and 100 <= ping["rtt_ms"]["max"] < 103, ping)
        self.assertGreater(result["channels"]["2-3"]["forward"]["dropped"]["random"], 20)
        self.assertEqual(sum(result["channels"]["1-2"]["forward"]["dropped"].values()), 0)

    def test_what_virtual_time_cannot_change(self):
        for text, why in (("link: {rate: 1Mbit/s}\nevents: [{at: 1s, link: 1-2, set: {queue: 5ms}}]", "events set: queue of a channel cannot change"),
                          ("link: {rate: 1Mbit/s}\nevents: [{at: 1s, link: 1-2, set: {trace: A}}]", "events set: erasures of a channel cannot change"),
                          ("link: {rate: 1Mbit/s}\nevents: [{at: 1s, link: 1-2, set: {delay: 5ms}}]", "has no delay to change from"),
                          ("link: {delay: 5ms, start: 3s}\nevents: [{at: 1s, link: 1-2, set: {delay: 6ms}}]", "has a start of its own"),
                          ("link: {adapter: tcpcl, delay: 5ms}\nnodes: {3: {}}\nlinks: {2-3: {}, 3-1: {channel: no}}\nevents: "
                           "[{at: 1s, link: 3-1, set: {delay: 5ms}}]", "links.3-1 has no channel")):
            file = self.file("line: 2\ntraffic: [{perf: 1-2, data: 1kB, window: 1}]\n" + text + "\n")
            said = lab(file, "up", "--mode", "sim", "--out", self.folder / "out", code=2).stderr
            self.assertIn(why, said, text)
            self.assertIn(f"{file}:", said)
            self.assertNotIn("Traceback", said)


LINK = "link: {rate: 1Mbit/s, delay: 5ms}"
ONE = LINK + "\nemulator: one"
OVER = "channels: {x: {rate: 1Mbit/s}}\nlinks: {1-2: {handover: [{at: 0, channel: x}]}}"
UNLIMITED = '.forward has a rate, and stays with one: "unlimited" is none'


class Refused(Folder):
    """A mistake in what is set is reported before anything starts, with its place; nothing is set without an effect."""

    def check(self, link, keys, mode, code=2, whom="link: 1-2"):
        file = self.file(f"line: 2\n{link}\ntraffic: [{{perf: 1-2, data: 1kB, window: 1}}]\nevents:\n  - at: 1s\n    {whom}\n    set: {{{keys}}}\n")
        said = lab(file, "check", "--mode", mode, code=code).stderr
        self.assertNotIn("Traceback", said)
        if code:
            line = 7 + link.count("\n")
            self.assertIn(f"{file}:{line}: ", said)
            return said.removeprefix(f"helio-lab: {file}:{line}: ")
        return said

    def test_what_no_running_link_changes(self):
        for keys, said in (("scenario: sc.yaml", "links.1-2.scenario: a file cannot be read anew while the lab runs"),
                           ("channel: no", "links.1-2.channel: a link that runs keeps its channel"),
                           ("station: {}", "links.1-2.station: a ground station cannot change"), ("station.wan: {}", "links.1-2.station.wan: a ground"),
                           ("adapter: udp", "links.1-2.adapter: the adapter of a link cannot change"),
                           ("ends.1.adapter: udp", "links.1-2.ends.1.adapter: the adapter of a link cannot change"),
                           ("ends: {1: {sesions: 5}}", "links[to-2].sesions: unknown key; did you mean sessions?"),
                           ("ends: {3: {sessions: 5}}", "links.1-2.ends.3: unknown key; there are 1, 2"),
                           ("forward: {rte: 5Mbit/s}", "links.1-2.forward.rte: unknown key; did you mean rate?"),
                           ("sesions: 5", "links[to-2].sesions: unknown key; did you mean sessions?"), ("rto.x: 5s", "links[to-2].rto: a map is not expected here"),
                           ("ends.1: 5", "links.1-2.ends.1: keys and values are wanted, such as ends.NODE.sessions"),
                           ("ends: {1: {}}", "links.1-2.ends.1: keys and values are wanted"), ("return: {}", "links.1-2.return: keys and values are wanted, such as return.rate"),
                           ("", "events.0.set: is empty; write {KEY: VALUE}")):
            for mode in ("local", "sim"):
                told = self.check(LINK, keys, mode)
                self.assertTrue(told.startswith(said), (keys, mode, told))
        self.assertIn("channels.x.scenario: a file cannot be read anew", self.check(OVER, "scenario: sc.yaml", "local", whom="channel: x"))
        self.assertIn("channels.x.station: unknown key", self.check(OVER, "station: {}", "local", whom="channel: x"))

    def test_the_line_is_that_of_the_value(self):
        """Not that of `set:` above it; whether a program refuses the value, or the lab."""
        for link, mode, keys, line, why in (
                (LINK, "local", ("rate: 5Mbit/s", "sessions: banana"), 1, 'sessions: "banana" is not understood'),
                (LINK, "sim", ("rate: 5Mbit/s", "delay: 5msx"), 1, '"5msx"'),
                (LINK, "sim", ("rate: 5Mbit/s", "queue: 5ms", "delay: 5ms"), 1, "events set: queue of a channel cannot change in virtual time"),
                (LINK, "sim", ("delay: 6ms", "return.queue: 5ms"), 1, "events set: queue of a channel cannot change in virtual time"),
                (LINK, "sim", ("delay: 6ms", "trace: A"), 1, "events set: erasures of a channel cannot change in virtual time"),
                (LINK, "sim", ("delay: 6ms", "forward:", "  rate: 2Mbit/s", "  queue: 5ms"), 3, "events set: queue of a channel cannot change in virtual time"),
                ("link: {rate: 1Mbit/s}", "sim", ("rate: 2Mbit/s", "delay: 5ms"), 1, "has no delay to change from"),
                (ONE, "local", ("delay: 6ms", "seed: 7"), 1, "events set: with one emulator seed of a channel cannot change"),
                (ONE, "local", ("delay: 6ms", "queue: 5ms"), 1, "events set: with one emulator queue of a channel cannot change")):
            with self.subTest(keys=keys, mode=mode):
                text = f"line: 2\n{link}\ntraffic: [{{perf: 1-2, data: 1kB, window: 1}}]\nevents:\n  - at: 1s\n    link: 1-2\n    set:\n"
                file = self.file(text + "".join(f"      {key}\n" for key in keys))
                said = lab(file, "check", "--mode", mode, code=2).stderr
                self.assertIn(f"{file}:{text.count(chr(10)) + 1 + line}: ", said)
                self.assertIn(why, said)
                self.assertNotIn("Traceback", said)

    def test_what_is_of_the_channel_as_a_whole(self):
        """Virtual time and the emulator of all links draw and count on as they began; an emulator of its own begins anew."""
        for key, value in (("seed", "5"), ("tolerance", "5ms"), ("exempt", "signalling"), ("overhead", "200")):
            self.assertIn(f"events set: {key} of a channel cannot change in virtual time", self.check(LINK, f"{key}: {value}", "sim"))
            self.assertIn(f"events set: with one emulator {key} of a channel cannot change", self.check(ONE, f"{key}: {value}", "local"))
            self.check(LINK, f"{key}: {value}", "local", code=0)
        self.check(LINK, "rate: 2Mbit/s, ends: {1: {overhead: 200}}", "sim", code=0)

    def test_a_rate_stays_one(self):
        for mode in ("local", "sim", "netns"):
            self.assertIn(f"links.1-2{UNLIMITED}", self.check(ONE, "rate: unlimited", mode))
        self.assertIn(f"channels.x{UNLIMITED}", self.check(OVER, "rate: unlimited", "local", whom="channel: x"))
        self.check(LINK, "rate: unlimited", "local", code=0)
        self.assertIn("unlimited is out of range", self.check(LINK, "rate: unlimited", "sim"))

    def test_a_channel_does_not_come(self):
        for mode in ("local", "sim"):
            self.assertIn("links.1-2 has no channel", self.check("plan: no", "delay: 5ms", mode))
            self.assertIn("links.1-2 has no channel", self.check("emulator: one", "rate: 5Mbit/s", mode))
        self.check("plan: no", "rate: 5Mbit/s", "local", code=0)

    def test_an_overhead_that_is_none(self):
        for mode in ("local", "sim", "netns"):
            self.assertIn('overhead: "abc" is no', self.check(LINK, "overhead: abc", mode).replace("is not understood", "is no size"))
            file = self.file("line: 2\nlink: {rate: 1Mbit/s, overhead: [abc]}\ntraffic: [{ping: 1-2}]\n")
            said = lab(file, "check", "--mode", mode, code=2).stderr
            self.assertTrue(said.startswith(f"helio-lab: {file}:2: ") and "overhead" in said, said)
            self.assertNotIn("Traceback", said)

    def test_maps_within_maps_are_keys(self):
        """Beside what the file says of the same end."""
        base = "line: 2\nlink: {rate: 1Mbit/s, delay: 5ms, ends: {1: {rto: 9s}}}\n"
        for keys, wanted in (("ends: {1: {sessions: 5, queues: 3}, 2: {sessions: 6}}", ["ends.1.sessions", "ends.1.queues", "ends.2.sessions"]),
                             ("ends.1: {sessions: 5}", ["ends.1.sessions"]), ("forward: {rate: 2Mbit/s, erasures: {iid: 0.1}}", ["forward.rate", "forward.erasures"]),
                             ("erasures: {iid: 0.1}", ["erasures"])):
            event, = made(f"{base}events: [{{at: 1s, link: 1-2, set: {{{keys}}}}}]\n").events
            self.assertEqual(list(event.set), wanted)
        then = lab_file.changed(made(base), "1-2", lab_file.flattened({"ends": "{1: {sessions: 5}}"}, "link 1-2 set "))
        self.assertEqual(places.plain(then.links["1-2"].at), {"1": {"rto": "9s", "sessions": "5"}})
        result = self.up(self.file(LINK + "\nline: 2\nduration: 3s\nevents: [{at: 1s, link: 1-2, set: {ends: {1: {sessions: 5}}, forward: {rate: 2Mbit/s}}}]\n"))
        self.assertEqual([(link["window"], link["rate_bps"]) for node in result["nodes"].values() for link in node["links"]][0], (5, 2 * 10**6))
        self.assertNotEqual(result["nodes"]["2"]["links"][0]["window"], 5)


class Account(Folder):
    """Of a channel whose emulator began anew."""

    def test_counters_go_on(self):
        """With real processes, over two changes: the account is the sum of what each emulator told."""
        result = self.up(self.file("line: 2\nlink: {rate: 20Mbit/s, delay: 2ms, recovery: plain}\nduration: 6s\n"
                                   "traffic: [{perf: 1-2, duration: 4s, rate: 40b, payload: 5kB}]\n"
                                   "events: [{at: 1500ms, link: 1-2, set: {delay: 4ms}}, {at: 3s, link: 1-2, set: {trace: \"iid:0.05\"}}]\n"), mode="local")
        parts = [json.loads((self.folder / f"out/link-1-2{n}.json").read_text(encoding="utf-8")) for n in ("", ".1", ".2")]
        whole = result["channels"]["1-2"]
        self.assertEqual(whole["parts"], 3)
        for way in "forward", "return":
            for key in "in", "out", "out_bytes":
                self.assertEqual(whole[way][key], sum(part[way][key] for part in parts), (way, key))
            self.assertEqual(whole[way]["dropped"], {name: sum(part[way]["dropped"][name] for part in parts) for name in whole[way]["dropped"]})
        self.assertTrue(all(part["forward"]["in"] > 20 for part in parts), parts)
        self.assertGreater(whole["forward"]["dropped"]["random"], 0)
        self.assertEqual(whole["started_ns"], parts[0]["started_ns"])

    def test_what_is_no_count(self):
        one = {"faithful": True, "duration_s": 1.0, "not_faithful": [], "drop_log": None, "grade": "good",
               "forward": {"in": 3, "rate_bps": 10, "good_share": 1.0, "late_us": {"max": 5.0, "beyond": 1}, "dropped": {"trace": 1}}}
        two = {"faithful": False, "duration_s": 3.0, "not_faithful": ["late"], "drop_log": None, "grade": "timing",
               "forward": {"in": 4, "rate_bps": 20, "good_share": 0.6, "late_us": {"max": 4.0, "beyond": 2}, "dropped": {"trace": 2, "end": 1}}}
        whole = lab_account.joined([one, None, two])
        self.assertEqual((whole["faithful"], whole["not_faithful"], whole["duration_s"], whole["grade"], whole["parts"]), (False, ["late"], 4.0, "timing", 2))
        forward = whole["forward"]
        self.assertAlmostEqual(forward.pop("good_share"), 0.7)
        self.assertEqual(forward, {"in": 7, "rate_bps": 20, "late_us": {"max": 5.0, "beyond": 3}, "dropped": {"trace": 3, "end": 1}})
        self.assertEqual((lab_account.joined([None, two]), lab_account.joined([None])), (two, {}))


class ByHand(Folder):
    """The process that runs the lab answers, and goes on."""

    def session(self, text, addresses=lab_derive.Addresses):
        session = lab_live.Session.__new__(lab_live.Session)
        session.lab, session.told = made("line: 2\n" + text), []
        session.addresses = addresses(session.lab)
        session.derived = SimpleNamespace(emulator=None, alone=["1-2"], channels={})
        session.out, session.begin, session.renewed, session.state = str(self.folder), 0, {}, SimpleNamespace(folder="/nowhere")
        session.start_channel, session.end_channel = (lambda *_: None), (lambda *_: None)
        session.ctl = lambda *words: session.told.append(words)
        session.happened = lab_view.Events()
        return session

    def asked(self, session, key, value):
        return session.answer({"cmd": "link", "do": "set", "link": "1-2", "keys": {key: value}})

    def test_what_is_refused(self):
        session = self.session(LINK)
        for key, value, said in (("station", "{}", "links.1-2.station: a ground station cannot change"), ("channel", "no", "links.1-2.channel: a link that runs keeps"),
                                 ("scenario", "x.yaml", "links.1-2.scenario: a file"), ("adapter", "udp", "links.1-2.adapter: "),
                                 ("ends", "{3: {rto: 1s}}", "links.1-2.ends.3: unknown key"), ("ends", "5", "links.1-2.ends: keys and values are wanted"),
                                 ("ends", "{1: ", ""), ("forward", "{rte: 5}", "links.1-2.forward.rte: unknown key")):
            answer = self.asked(session, key, value)
            self.assertTrue(answer["usage"], (key, value))
            self.assertTrue(answer["error"].startswith(f"link 1-2 set {key}") and said in answer["error"], answer)
        self.assertEqual((session.told, session.happened.list), ([], []))
        self.assertIn("links.1-2 has no channel", self.asked(self.session(""), "delay", "5ms")["error"])

    def test_what_is_told(self):
        session = self.session(LINK)
        self.assertEqual(self.asked(session, "ends", "{2: {sessions: 5}}"), {})
        self.assertEqual(self.asked(session, "recovery.retries", "5"), {})
        self.assertEqual(session.told, [("2", "link", "set", "to-1", "sessions=5"), ("1", "link", "set", "to-2", "recovery.retries=5"),
                                        ("2", "link", "set", "to-1", "recovery.retries=5")])
        self.assertEqual([event["text"] for event in session.happened.list], ["link 1-2 set ends (by hand)", "link 1-2 set recovery.retries (by hand)"])

    def test_an_overhead_that_is_none(self):
        for value, said in (("abc", '"abc" is no size'), ("20B", "20B is less than the 42 bytes")):
            answer = self.asked(self.session(LINK, lab_derive.SpaceAddresses), "overhead", value)
            self.assertTrue(answer["usage"])
            self.assertIn(f"link 1-2 set overhead={value}: links.1-2.overhead: {said}", answer["error"])

    def test_a_lab_that_ends_meanwhile(self):
        for answered in (b"", b'{"title": "x'):
            state = lab_state.State.__new__(lab_state.State)
            state.load, state.socket = (lambda: {}), str(self.folder / f"{len(answered)}.sock")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(state.socket)
                listener.listen(1)
                server = threading.Thread(target=self.end, args=(listener, answered))
                server.start()
                with self.assertRaisesRegex(Failed, "the lab ended"):
                    state.ask({"cmd": "status"})
                server.join()

    @staticmethod
    def end(listener, answered):
        s, _ = listener.accept()
        with s:
            s.makefile("rb").readline()
            s.sendall(answered)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
