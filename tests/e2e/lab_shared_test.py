#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab with one emulator for all links, and transmitters that they share.

usage: lab_shared_test.py BIN SOURCE sim|live|netns

What is expected of runs with real processes are counts and what was sent, never times: a slow machine changes nothing.
"""
import json
import sys
import unittest

from lab_test import SOURCE, Folder, lab, made

from heliograph import places
from heliograph.lab import derive as lab_derive, shared as lab_shared

KIND = sys.argv[3]
STAR = "star: [g, a, b]\nlink: {delay: 5ms}\nshared: {up: {of: [g-a.forward, g-b.forward], rate: 9Mbit/s, queue: 1s}}\n"


@unittest.skipUnless(KIND == "sim", "without real processes")
class Files(Folder):
    def derived(self, text):
        of = made(text)
        return lab_derive.derive(of, "/out", "/run", lab_derive.Addresses(of, 20000), "2026-01-01T00:00:00Z")

    def test_what_is_derived(self):
        """The emulator's file has all links; who sends into a shared transmitter has its rate, in contact plans, too."""
        derived = self.derived(STAR + "links: {g-a: {channel: yes}}\nplan: yes\n")
        tree = places.plain(places.parse("\n".join(derived.configs["/out/emulator.yaml"][0].lines), "emulator.yaml"))
        self.assertEqual(tree["start"], "2026-01-01T00:00:00Z")
        self.assertEqual({name: (one["scenario"], one["to"]) for name, one in tree["links"].items()},
                         {name: (derived.channels[name], derived.relays[name]["to"]) for name in ("g-a", "g-b")})
        self.assertEqual(tree["shared"], {"up": {"of": ["g-a.forward", "g-b.forward"], "rate": "9Mbit/s", "queue": "1s"}})
        node = places.plain(places.parse("\n".join(derived.configs["/out/node1.yaml"][0].lines), "node1.yaml"))
        self.assertEqual([link["rate"] for link in node["links"]], ["9Mbit/s", "9Mbit/s"])
        plan = places.plain(places.parse("\n".join(derived.configs["/out/plan.yaml"][0].lines), "plan.yaml"))
        self.assertEqual([contact["rate"] for contact in plan["contacts"]], ["9Mbit/s", "unlimited", "9Mbit/s", "unlimited"])

    def test_timers_wait_for_the_queue(self):
        """LTP's timer knows what may lie in a queue that others fill: at both ends, unless a key says otherwise."""
        for keys, wanted in (("rate: 9Mbit/s, queue: 300ms", "320ms"), ("rate: 8Mbit/s, queue: 50kB", "70ms"),
                             ("rate: 8Mbit/s, queue: 5s", "1.02s"), ("rate: 8Mbit/s, queue: none", "1.02s"), ("rate: 8Mbit/s", "1.02s")):
            text = "star: [g, a, b, c]\nlink: {delay: 5ms}\nshared: {up: {of: [g-a.forward, g-b.forward], " + keys + "}}\nlinks: {g-b: {rto: 90ms}}\n"
            derived, margins = self.derived(text), {}
            for number in (1, 2, 3, 4):
                tree = places.plain(places.parse("\n".join(derived.configs[f"/out/node{number}.yaml"][0].lines), "node.yaml"))
                margins.update({(number, link["name"]): link.get("recovery", {}).get("margin") for link in tree["links"]})
            self.assertEqual(margins, {(1, "to-a"): wanted, (2, "to-g"): wanted, (1, "to-b"): None, (3, "to-g"): None, (1, "to-c"): None, (4, "to-g"): None})
        both = self.derived("line: 2\nlink: {delay: 5ms}\nshared: {up: {of: [1-2.forward, 1-2.return], rate: 8Mbit/s, queue: 5s}}\n")
        self.assertIn("margin: 2.02s", "\n".join(both.configs["/out/node1.yaml"][0].lines))
        derived = self.derived("line: 2\nlink: {delay: 5ms, recovery: {margin: 7ms}}\nshared: {up: {of: [1-2.forward, 1-2.return], rate: 8Mbit/s, queue: 1s}}\n")
        self.assertIn("margin: 7ms", "\n".join(derived.configs["/out/node1.yaml"][0].lines))

    def test_a_link_that_only_shares_has_a_channel(self):
        derived = self.derived("line: 2\nshared: {up: {of: [1-2.return], rate: 1Mbit/s}}\n")
        self.assertEqual(list(derived.relays), ["1-2"])
        self.assertIsNone(self.derived("line: 2\nemulator: one\n").emulator, "without channels there is none")
        self.assertIsNone(self.derived("line: 2\nlink: {delay: 1ms}\n").emulator)

    def test_names_that_the_emulator_does_not_take(self):
        derived = self.derived(f"line: [a.b, {'x' * 40}]\nshared: {{up: {{of: [a.b-{'x' * 40}.forward], rate: 1Mbit/s}}}}\n")
        tree = places.plain(places.parse("\n".join(derived.configs["/out/emulator.yaml"][0].lines), "emulator.yaml"))
        self.assertEqual((list(tree["links"]), tree["shared"]["up"]["of"]), (["channel_1"], ["channel_1.forward"]))
        shown, shared = lab_shared.results({"links": {"channel_1": {"in": 1}}, "shared": {"up": {"members": [{"of": "channel_1.forward"}]}}}, derived.channels)
        self.assertEqual((list(shown.values()), shared["up"]["members"][0]["of"]), ([{"in": 1}], f"a.b-{'x' * 40}.forward"))

    def test_a_station_goes_by_its_pieces(self):
        derived = self.derived("line: [craft, centre]\nlink: {delay: 5ms, station: {}, frames: {scid: 171}}\n"
                               "shared: {up: {of: [craft-centre.return], rate: 1Mbit/s}}\n")
        tree = places.plain(places.parse("\n".join(derived.configs["/out/emulator.yaml"][0].lines), "emulator.yaml"))
        self.assertEqual((list(tree["links"]), tree["shared"]["up"]["of"]), (["channel_1", "channel_2"], ["channel_2.forward"]))

    def test_errors_name_file_line_and_key(self):
        two = "line: 2\nlink: {delay: 1ms}\n"
        for text, *wanted in (
                (two + "emulator: two\n", ":3: emulator: \"two\" is not known; right are one, each"),
                (two + "shared:\n  up: {rate: 1Mbit/s}\n", ":4: shared.up.of: is missing; write which directions share it, such as of: [1-2.forward]"),
                (two + "shared:\n  up: {of: [1-3.forward], rate: 1Mbit/s}\n", ":4: shared.up.of: \"1-3\" is no link; did you mean 1-2?"),
                (two + "shared:\n  up: {of: [1-2], rate: 1Mbit/s}\n", ":4: shared.up.of: \"1-2\" is not understood; write a link and one way of it"),
                (two + "shared:\n  up: {of: [1-2.forward, 1-2.forward], rate: 1Mbit/s}\n", ":4: shared.up.of: 1-2.forward has a transmitter already, up"),
                (two + "shared:\n  up: {of: [1-2.forward], rate: 1Mbit/s, rte: 2}\n", ":4: shared.up.rte: unknown key; did you mean rate?"),
                (two + "shared:\n  up: {of: [1-2.forward]}\n", ":4: shared.up.rate: "),
                (two + "shared:\n  up: {of: [1-2.forward], rate: 1Mbit}\n", ":4: shared.up.rate: \"1Mbit\" is no rate; write it like 500Mbit/s"),
                (two + "emulator: each\nshared:\n  up: {of: [1-2.forward], rate: 1Mbit/s}\n", ":3: emulator: links share a transmitter in one emulator only"),
                ("line: 2\nlink:\n  rate: 1Mbit/s\nshared: {up: {of: [1-2.forward], rate: 1Mbit/s}}\n", ":3: links.1-2.forward.rate: this direction has the line of shared.up"),
                ("line: 2\nlink:\n  channel: no\nshared:\n  up: {of: [1-2.forward], rate: 1Mbit/s}\n", ":5: shared.up.of: links.1-2 has no channel"),
                (two + "emulator: one\nevents:\n  - {at: 1s, link: 1-2, set: {queue: 5ms}}\n", ":5: events set: with one emulator queue of a channel cannot change")):
            file = self.file(text)
            said = lab(file, "check", code=2).stderr
            for words in wanted:
                self.assertIn(f"{file}{words}", said, text)
            self.assertNotIn("Traceback", said)

    def test_all_modes_have_it(self):
        for text in (STAR, "line: 2\nemulator: one\n"):
            file = self.file(text + "traffic: []\nduration: 1s\n")
            for mode in ("local", "netns", "sim"):
                lab(file, "check", "--mode", mode)

    def test_dry_run(self):
        file = self.file(STAR + "nodes: {g: {address: 192.0.2.1}, a: {address: 192.0.2.2}, b: {address: 192.0.2.3}}\n")
        said = lab(file, "up", "--dry-run", "--out", self.folder / "out").stdout.splitlines()
        self.assertEqual([line.split()[:3] for line in said if "helio-emu" in line], [["192.0.2.1:", "helio-emu", "links"]])


def shares(windows, round_trips, bundles_a_second):
    """Of windows of bundles that share a line: each has its window under way, in the line's queue (as long for all) or on the
    rest of its round trip, so x = W / (q + T); the line is full, so the sum of x is its rate."""
    low, high = 0.0, sum(windows) / bundles_a_second
    for _ in range(100):
        q = (low + high) / 2
        low, high = (q, high) if sum(w / (q + t) for w, t in zip(windows, round_trips)) > bundles_a_second else (low, q)
    rates = [w / (low + t) for w, t in zip(windows, round_trips)]
    return [rate / sum(rates) for rate in rates]


@unittest.skipUnless(KIND == "sim", "without real processes")
class Virtual(Folder):
    def test_the_example(self):
        told = lab(SOURCE / "examples/lab-shared.yaml", "up", "--mode", "sim", "--out", self.folder / "out").stdout
        result = self.result(self.folder / "out")
        self.assertEqual(result["failed"], [])
        for name in ("perf-1", "perf-2"):
            self.assertEqual(result["traffic"][name]["bundles_acked"], result["traffic"][name]["bundles_sent"])
        uplink, both = result["shared"]["uplink"], [result["channels"][f"ground-craft{i}"]["forward"] for i in (1, 2)]
        self.assertEqual(uplink["rate_bps"], 10**7)
        self.assertEqual([member["of"] for member in uplink["members"]], ["ground-craft1.forward", "ground-craft2.forward"])
        self.assertEqual([member["frames"] for member in uplink["members"]], [one["in"] - one["dropped"]["queue"] for one in both])
        self.assertIn("shared uplink", told)
        lost = (self.folder / "out/link-ground-craft2.drops.csv").read_text(encoding="ascii").count("forward")
        self.assertEqual(lost, both[1]["dropped"]["random"])
        lab(SOURCE / "examples/lab-shared.yaml", "up", "--mode", "sim", "--out", self.folder / "again")
        for name in ("result.json", "link-ground-craft2.drops.csv", "node1.segments.csv", "node2.bundles.csv"):
            self.assertEqual(*((self.folder / out / name).read_text(encoding="utf-8").replace(str(self.folder / out), "") for out in ("out", "again")), name)

    def test_shares_are_those_of_theory(self):
        """Two senders, LTP over one transmitter, windows of bundles: by round trip and window."""
        bundle = 20000 / (1024 - 20) * (1024 + 42)  # octets on the air, nearly
        for delays, windows in (((0.005, 0.005), (8, 8)), ((0.005, 0.105), (8, 8)), ((0.005, 0.055), (6, 12))):
            text = "star: [g, a, b]\nlink: {rto: 5s, return: {rate: 100Mbit/s}}\n" \
                   "links: {" + ", ".join(f"g-{name}: {{delay: {delay}s}}" for name, delay in zip("ab", delays)) + "}\n" \
                   "shared: {up: {of: [g-a.forward, g-b.forward], rate: 10Mbit/s, queue: 5s}}\n" \
                   "traffic:\n" + "".join(f"  - {{perf: g-{name}, duration: 60s, window: {w}, payload: 20kB}}\n" for name, w in zip("ab", windows))
            out = self.folder / f"{delays[1]}-{windows[1]}"
            lab(self.file(text), "up", "--mode", "sim", "--out", out)
            line = self.result(out)["shared"]["up"]
            wanted = shares(windows, [2 * delay for delay in delays], 10**7 / 8 / bundle)
            found = [member["share"] for member in line["members"]]
            for one, other in zip(found, wanted):
                self.assertAlmostEqual(one, other, delta=0.005, msg=f"{delays} {windows}: {found}, {wanted}")
            self.assertAlmostEqual(line["fairness"], 1 / (2 * sum(share**2 for share in found)), places=6)
            self.assertGreater(line["bytes"], 0.98 * 60 * 10**7 / 8)

    def test_one_emulator_without_transmitters(self):
        """The frames' fates are those of mode local: of the links' own seeds. Events change channels, and streams have theirs beside."""
        text = "line: 3\nseed: 4\nlink: {delay: 5ms, rate: 20Mbit/s}\nemulator: one\nlinks: {1-2: {trace: iid:0.02}, 2-3: {adapter: tcpcl}}\n" \
               "traffic: [{perf: 1-3, duration: 3s, window: 10, payload: 20kB}]\n" \
               "events: [{at: 1s, link: 1-2, set: {rate: 10Mbit/s}}]\n"
        result = self.up(self.file(text), mode="sim")
        self.assertEqual((result["failed"], list(result["channels"])), ([], ["2-3", "1-2"]))
        self.assertGreater(result["channels"]["1-2"]["forward"]["dropped"]["random"], 0)
        self.assertGreater(result["channels"]["2-3"]["forward"]["in"], 0)
        self.assertEqual({link["name"]: link["rate_bps"] for link in result["nodes"]["1"]["links"]}, {"to-2": 10**7})
        self.assertNotIn("shared", result)

    def test_each_joined_to_each(self):
        links = ", ".join(f"{a}-{b}: {{}}" for a in range(1, 10) for b in range(a + 1, 10))
        result = self.up(self.file(f"link: {{delay: 5ms}}\nnodes: {{{', '.join(f'{i}: {{}}' for i in range(1, 10))}}}\nlinks: {{{links}}}\n"
                                   "traffic: [{ping: 1-9, count: 1}]\n"))
        self.assertEqual((len(result["channels"]), result["traffic"]["ping-1"]["received"]), (36, 1))

    def test_streams_share_nothing(self):
        file = self.file("line: 2\nlink: {adapter: tcpcl, delay: 1ms}\nshared:\n  up: {of: [1-2.forward], rate: 1Mbit/s}\n"
                         "traffic: [{ping: 1-2}]\n")
        said = lab(file, "up", "--mode", "sim", "--out", self.folder / "out", code=2).stderr
        self.assertIn(f"{file}:4: shared.up.of: 1-2.forward has streams", said)


class Real:
    """With real processes."""
    mode = "local"

    def adds_up(self, result):
        for name, shown in result["channels"].items():
            for way in ("forward", "return"):
                c = shown[way]
                self.assertEqual(c["in"] + c["duplicated"], c["out"] + sum(c["dropped"].values()) + c["queued"], (name, way))

    def test_the_example(self):
        """Two flows over one line: all arrives, and the transmitter's account is that of its channels."""
        told = lab(SOURCE / "examples/lab-shared.yaml", "up", "--mode", self.mode, "--out", self.folder / "out",
                   "--set", "links.ground-craft2.forward.trace=iid:0.1").stdout
        result = self.result(self.folder / "out")
        self.assertEqual(result["failed"], [])
        for name in ("perf-1", "perf-2"):
            self.assertEqual(result["traffic"][name]["bundles_acked"], result["traffic"][name]["bundles_sent"])
        self.adds_up(result)
        uplink, both = result["shared"]["uplink"], [result["channels"][f"ground-craft{i}"]["forward"] for i in (1, 2)]
        self.assertEqual(uplink["rate_bps"], 10**7)
        self.assertEqual([member["of"] for member in uplink["members"]], ["ground-craft1.forward", "ground-craft2.forward"])
        self.assertEqual([member["frames"] for member in uplink["members"]], [one["in"] - one["dropped"]["queue"] for one in both])
        self.assertGreater(both[1]["dropped"]["random"], 0)
        self.assertEqual(both[0]["dropped"]["random"], 0)
        self.assertGreater(min(member["share"] for member in uplink["members"]), 0.1)
        self.assertIn("shared uplink", told)
        programs = [line.split(":")[0] for line in (self.folder / "out/commands.txt").read_text(encoding="utf-8").splitlines() if "helio-emu" in line]
        self.assertEqual(programs, ["emulator"])

    def test_events_change_the_running_emulator(self):
        """What a link had counted before the change is in its account still, and the other link knows nothing of it."""
        file = self.file("line: 3\nlink: {delay: 1ms, rate: 20Mbit/s}\nemulator: one\n"
                         "traffic: [{ping: 1-2, count: 10, interval: 100ms}, {perf: 1-3, data: 400kB, window: 4, payload: 20kB}]\n"
                         "events: [{at: 500ms, link: 1-2, set: {rate: 10Mbit/s}}, {at: 600ms, link: 2-3, set: {forward.delay: 2ms}}]\n")
        result = self.up(file, mode=self.mode)
        self.adds_up(result)
        self.assertEqual((result["traffic"]["ping-1"]["received"], result["traffic"]["perf-2"]["lost"]), (10, 0))
        self.assertNotIn("shared", result)
        one, two = (result["channels"][name] for name in ("1-2", "2-3"))
        self.assertEqual([[change.get(key) for change in shown["forward"]["changed"]] for shown, key in ((one, "rate"), (two, "delay"))],
                         [["10Mbit/s"], ["2ms"]], json.dumps([one["forward"], two["forward"]]))
        self.assertEqual(two["return"]["changed"], [])
        rates = {link["name"]: link["rate_bps"] for link in result["nodes"]["1"]["links"]}
        self.assertEqual(rates["to-2"], 10**7, result["nodes"]["1"])


    def test_what_is_set_of_one_way_and_of_one_end(self):
        """With an emulator each, which begins anew, as with one."""
        for emulator in ("each", "one"):
            file = self.file(f"line: 2\nlink: {{rate: 10Mbit/s, delay: 1ms}}\nemulator: {emulator}\ntraffic: [{{ping: 1-2, start: 1s, count: 1}}]\n"
                             "events: [{at: 100ms, link: 1-2, set: {forward.rate: 5Mbit/s, sessions: 8, ends.2.sessions: 9}}]\n")
            result = self.up(file, mode=self.mode, out=emulator)
            self.assertEqual(result["traffic"]["ping-1"]["received"], 1)
            self.assertEqual([(link["rate_bps"], link["window"]) for node in result["nodes"].values() for link in node["links"]], [(5 * 10**6, 8), (10**7, 9)])
            self.assertEqual((self.folder / emulator / "link-1-2.1.json").exists(), emulator == "each")


@unittest.skipUnless(KIND == "live", "on the loopback interface")
class Live(Real, Folder):
    pass


@unittest.skipUnless(KIND == "netns", "in network namespaces")
class Netns(Real, Folder):
    mode = "netns"

    def test_streams_and_links_without_a_channel_beside_it(self):
        """Streams keep their bridge, which begins anew when it is changed; the emulator of the others goes on."""
        file = self.file("star: [g, a, b, c]\nlink: {delay: 5ms, return: {rate: 10Mbit/s}}\n"
                         "links: {g-c: {adapter: tcpcl, rate: 10Mbit/s}, a-b: {channel: no, rate: 10Mbit/s}}\n"
                         "shared: {up: {of: [g-a.forward, g-b.forward], rate: 10Mbit/s, queue: 1s}}\n"
                         "events:\n  - {at: 100ms, link: g-c, set: {delay: 1ms}}\n  - {at: 200ms, link: g-a, set: {delay: 1ms}}\n"
                         "traffic:\n" + "".join(f"  - {{perf: {pair}, start: 1s, data: 100kB, window: 4, payload: 20kB}}\n" for pair in ("g-a", "g-b", "g-c", "a-b")))
        result = self.up(file, mode="netns")
        for flow in result["traffic"].values():
            self.assertEqual((flow["bundles_acked"], flow["lost"]), (5, 0))
        self.adds_up(result)
        self.assertEqual(sorted(result["channels"]), ["g-a", "g-b", "g-c"])
        for name in ("g-a", "g-b"):
            self.assertGreater(result["channels"][name]["forward"]["in"], 0, name)
        both = [json.loads((self.folder / f"out/link-g-c{again}.json").read_text(encoding="utf-8")) for again in ("", ".1")]
        self.assertGreater(sum(shown["forward"]["in"] for shown in both), 0)
        self.assertEqual([member["of"] for member in result["shared"]["up"]["members"]], ["g-a.forward", "g-b.forward"])

    def test_streams_share_nothing(self):
        file = self.file("line: 2\nlink: {adapter: tcpcl, delay: 1ms}\nshared:\n  up: {of: [1-2.forward], rate: 1Mbit/s}\n")
        self.assertIn(f"{file}:4: shared.up.of: 1-2.forward has streams", lab(file, "check", "--mode", "netns", code=2).stderr)

    def test_one_emulator_of_streams_alone(self):
        """There is nothing for it to do."""
        file = self.file("line: 2\nemulator: one\nlink: {adapter: tcpcl, delay: 1ms}\ntraffic: [{ping: 1-2, count: 1}]\n")
        self.assertEqual(self.up(file, mode="netns")["traffic"]["ping-1"]["received"], 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
