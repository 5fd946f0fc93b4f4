#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab with links that are handed over from channel to channel.

usage: lab_handover_test.py BIN SOURCE sim|live|netns

What is expected of runs with real processes are counts and what was sent, never times: a slow machine changes nothing.
"""
import csv
import json
import subprocess
import sys
import unittest
from types import SimpleNamespace

from lab_test import BIN, SOURCE, Folder, lab, made

from heliograph import places
from heliograph.campaign import lab as campaign_lab
from heliograph.lab import derive as lab_derive, file as lab_file, handover as lab_handover, live as lab_live, shared as lab_shared, view as lab_view

KIND = sys.argv[3]
EXAMPLE = SOURCE / "examples/lab-handover.yaml"
TWO = "line: [a, b]\nchannels:\n  x: {delay: 8ms, rate: 20Mbit/s}\n  y: {delay: 30ms, forward: {rate: 40Mbit/s}, overhead: 10B}\n"
OVER = TWO + "links: {a-b: {handover: [{at: 0, channel: x}, {at: 10s, channel: none}, {at: 12s, channel: y, gap: 500ms}]}}\n"


class Handover(Folder):
    def derived(self, text):
        of = made(text)
        return lab_derive.derive(of, "/out", "/run", lab_derive.Addresses(of, 20000), "2026-01-01T00:00:00Z")

    def tree(self, derived, name):
        return places.plain(places.parse("\n".join(derived.configs["/out/" + name][0].lines), name))

    def adds_up(self, result, name, *channels):
        """The account of the link: each frame is in a gap, or went over one of the channels."""
        hand = result["channels"][name]["handover"]
        for way in ("forward", "return"):
            self.assertEqual(list(hand[way]["via"]), list(channels))
            self.assertEqual(hand[way]["in"], hand[way]["gap"] + sum(one["in"] for one in hand[way]["via"].values()))
            for channel in channels:
                c = result["channels"][channel][way]
                self.assertEqual(c["in"] + c["duplicated"], c["out"] + sum(c["dropped"].values()) + c["queued"], (channel, way))
                self.assertEqual((hand[way]["via"][channel]["in"], hand[way]["via"][channel]["out"]), (c["in"], c["out"]))
        return hand


@unittest.skipUnless(KIND == "sim", "without real processes")
class Files(Handover):
    def test_what_is_derived(self):
        """The emulator's file has the link with its list and the channels; the ends have the first rate and the longest delay."""
        derived = self.derived(OVER)
        links = self.tree(derived, "emulator.yaml")["links"]
        self.assertEqual(links["a-b"], {"drop_log": "/out/link-a-b.drops.csv", "listen": derived.relays["a-b"]["listen"], "to": derived.relays["a-b"]["to"],
                                        "return_to": derived.relays["a-b"]["back"],
                                        "handover": [{"at": "0", "link": "x"}, {"at": "10s", "link": "none"}, {"at": "12s", "link": "y", "gap": "500ms"}]})
        self.assertEqual([links[name] for name in "xy"], [{"scenario": f"/out/link-{name}.yaml"} for name in "xy"])
        self.assertEqual(self.tree(derived, "link-y.yaml")["forward"], {"delay": "30ms", "rate": "40Mbit/s"})
        for number in (1, 2):
            link = self.tree(derived, f"node{number}.yaml")["links"][0]
            self.assertEqual((link["rate"], link["owlt"]), ("20Mbit/s", "30ms"))
        self.assertIsNone(derived.plan)

    def test_what_the_ends_are_told(self):
        """Rate and overhead of the next channel, but for what the file says of the link or its end."""
        def told(text):
            return [(step.at, step.end, step.keys) for step in lab_handover.steps([(0.0, made(text))], lab_shared.pace)]

        self.assertEqual(told(OVER), [(12.5, 0, {"rate": "40Mbit/s", "overhead": "10B"}), (12.5, 1, {"rate": "unlimited", "overhead": "10B"})])
        self.assertEqual(told(OVER.replace("x: {", "x: {overhead: 10B, ")), [(12.5, 0, {"rate": "40Mbit/s"}), (12.5, 1, {"rate": "unlimited"})])
        same = OVER.replace("{delay: 8ms, ", "{overhead: 42B, ").replace("forward: {rate: 40Mbit/s}, overhead: 10B", "rate: 20Mbit/s")
        self.assertEqual(told(same), [], "42B is what both have without a word")
        ends = OVER.replace("handover:", "ends: {a: {rate: 1Mbit/s}, b: {rate: 2Mbit/s, overhead: 7B}}, handover:")
        self.assertEqual(told(ends), [(12.5, 0, {"overhead": "10B"})])
        self.assertEqual(told(OVER.replace("handover:", "overhead: 20B, handover:")), [(12.5, 0, {"rate": "40Mbit/s"}), (12.5, 1, {"rate": "unlimited"})])
        common = "link: {overhead: 20B}\n" + OVER  # holds for the channels, and so for the link as long as it passes x
        self.assertEqual(told(common)[1], (12.5, 1, {"rate": "unlimited", "overhead": "10B"}))
        self.assertEqual(self.tree(self.derived(common), "node1.yaml")["links"][0]["pacing"]["overhead"], "20B")

    def told(self, *changes):
        """(when, end, keys) of the ends of OVER with such (when, of whom, keys) in mid-run."""
        versions = [(0.0, made(OVER))]
        for at, whom, keys in changes:
            versions.append((at, lab_file.changed(versions[-1][1], whom, keys)))
        return [(step.at, step.end, step.keys) for step in lab_handover.steps(versions, lab_shared.pace)]

    def test_what_the_ends_are_told_of_changes(self):
        """At once of the channel that they pass, or passed last; of others when they are handed over to them. Nothing is sent twice."""
        y = [(12.5, 0, {"rate": "40Mbit/s", "overhead": "10B"}), (12.5, 1, {"rate": "unlimited", "overhead": "10B"})]
        slow = [(12.5, 0, {"rate": "3Mbit/s", "overhead": "10B"}), y[1]]
        self.assertEqual(self.told((4.0, "x", {"rate": "5Mbit/s"})), [(4.0, 0, {"rate": "5Mbit/s"}), (4.0, 1, {"rate": "5Mbit/s"}), *y])
        self.assertEqual(self.told((11.0, "x", {"forward.rate": "5Mbit/s"})), [(11.0, 0, {"rate": "5Mbit/s"}), *y])
        self.assertEqual(self.told((12.5, "x", {"rate": "5Mbit/s"})), y)
        self.assertEqual(self.told((4.0, "y", {"forward.rate": "3Mbit/s"})), slow)
        self.assertEqual(self.told((12.5, "y", {"forward.rate": "3Mbit/s"})), slow)
        self.assertEqual(self.told((13.0, "y", {"forward.rate": "3Mbit/s"})), [*y, (13.0, 0, {"rate": "3Mbit/s"})])
        self.assertEqual(self.told((4.0, "y", {"forward.rate": "3Mbit/s"}), (13.0, "y", {"forward.rate": "4Mbit/s"})), [*slow, (13.0, 0, {"rate": "4Mbit/s"})])
        self.assertEqual(self.told((4.0, "x", {"delay": "5ms"})), y)

    def test_what_is_set_of_the_link_stays_through_hand_overs(self):
        self.assertEqual(self.told((4.0, "a-b", {"overhead": "20B"})),
                         [(4.0, 0, {"overhead": "20B"}), (4.0, 1, {"overhead": "20B"}), (12.5, 0, {"rate": "40Mbit/s"}), (12.5, 1, {"rate": "unlimited"})])
        self.assertEqual(self.told((4.0, "a-b", {"ends.a.rate": "1Mbit/s"})),
                         [(4.0, 0, {"rate": "1Mbit/s"}), (12.5, 0, {"overhead": "10B"}), (12.5, 1, {"rate": "unlimited", "overhead": "10B"})])

    def test_a_run_that_ends_while_it_has_no_processor(self):
        """The traffic ended meanwhile: the ends get the news of the hand-overs before anything is asked of them."""
        class Stalled(lab_live.Session):
            def __init__(self, of):
                self.lab, self.stopped, self.ended, self.at, self.told, self.happened = of, False, {}, 0.0, 0, lab_view.Events()
                self.derived = SimpleNamespace(clients=[SimpleNamespace(name="perf-1", node="a", words=[], start=1.0)])

            def now(self):
                return self.at

            def begin_program(self, name, node, words):
                pass

            def watch(self):
                self.at += 2.0 if self.at < 2 else 100.0
                self.ended = {"perf-1": 0} if self.at > 2 else {}

            def serve(self, seconds=0.05):
                pass

            def pace_ends(self):
                self.told += 1

        session = Stalled(made(OVER))
        self.assertTrue(session.loop())
        self.assertEqual(session.told, len(lab_handover.turns(session.lab)))
        self.assertGreater(session.told, 0)
        told = [event["text"] for event in session.happened.list]
        self.assertEqual(told, ["link a-b passes channel x", "perf-1 begins", "link a-b passes channel y"])

    def margins(self, text):
        derived = self.derived(text)
        links = [link for path in derived.nodes.values() for link in self.tree(derived, path.rpartition("/")[2])["links"]]
        return [link.get("recovery", {}).get("margin") for link in links]

    def test_timers_wait_for_the_queues_of_channels(self):
        """Of lines that others fill as well: the longest of each direction."""
        self.assertEqual(self.margins(OVER), [None, None])
        bare = OVER.replace("forward: {rate: 40Mbit/s}, ", "").replace(", rate: 20Mbit/s", "")
        self.assertEqual(self.margins(bare + "shared: {up: {of: [x.forward, y.forward], rate: 10Mbit/s, queue: 500ms}}\n"), ["520ms"] * 2)
        self.assertEqual(self.margins(bare + "shared: {up: {of: [x.forward, y.return], rate: 10Mbit/s, queue: 500ms}}\n"), ["1.02s"] * 2)
        two = "line: [a, b, c]\nchannels: {x: {%s}, y: {delay: 5ms}}\n" \
              "links: {a-b: {handover: [{at: 0, channel: x}, {at: 10s, channel: y}]}, b-c: {handover: [{at: 0, channel: y}, {at: %s, channel: x}]}}\n"
        for keys, at, more, wanted in (("forward: {rate: 8Mbit/s, queue: 300ms}", "9s", "", "320ms"), ("rate: 8Mbit/s, queue: 300ms", "9s", "", "620ms"),
                                       ("rate: 8Mbit/s, queue: 300ms", "10s", "", None), ("rate: unlimited, queue: 300ms", "9s", "", None), ("delay: 1ms", "9s", "", None),
                                       ("delay: 1ms", "9s", "shared: {up: {of: [x.return], rate: 8Mbit/s, queue: 200ms}}\n", "220ms")):
            self.assertEqual(self.margins(two % (keys, at) + more), [wanted] * 4, (keys, at, more))

    def test_what_is_said_of_all_links_holds_for_channels(self):
        text = OVER.replace("channels:", "link: {delay: 9ms, outages: [{from: 1s, to: 2s}]}\nchannels:")
        derived = self.derived(text)
        self.assertEqual(self.tree(derived, "link-x.yaml")["return"],
                         {"delay": "8ms", "rate": "20Mbit/s", "outages": [{"from": "1s", "to": "2s"}], "start": "2026-01-01T00:00:00Z"})
        seeds = [self.tree(derived, f"link-{name}.yaml")["seed"] for name in "xy"]
        self.assertNotEqual(*seeds)

    def test_no_two_channels_of_labs_draw_alike(self):
        """Whatever the labs' seeds: what a channel draws follows from the lab's seed and the channel's name."""
        text = OVER.replace("line: [a, b]", "line: [a, b, c, d]\nlink: {delay: 1ms}") + "seed: %d\n"
        seeds = []
        for seed in (*range(1, 400), *range(1001, 1400), 2001):
            of = made(text % seed)
            drawn = (*(link.channel for link in of.links.values() if link.channel), *(c.channel for c in of.channels.values()))
            seeds += [int(channel["seed"]) for channel in drawn]
        self.assertGreater(len(seeds), 3000)
        self.assertEqual(len(set(seeds)), len(seeds))
        self.assertLess(max(seeds), 2**56)

    def test_the_contact_plan_knows_the_gaps(self):
        plan = self.tree(self.derived(OVER + "plan: yes\n"), "plan.yaml")
        self.assertEqual([(c["from"], c["start"], c["end"], c["rate"]) for c in plan["contacts"]],
                         [("1", "0s", "10s", "20Mbit/s"), ("1", "12.5s", "36500d", "40Mbit/s"), ("2", "0s", "10s", "20Mbit/s"), ("2", "12.5s", "36500d", "unlimited")])
        self.assertEqual([(r["from"], r.get("start"), r["end"], r["owlt"]) for r in plan["ranges"]],
                         [("1", None, "10s", "8ms"), ("1", "12.5s", "36500d", "30ms"), ("2", None, "10s", "8ms"), ("2", "12.5s", "36500d", "30ms")])
        text = OVER.replace("y: {delay: 30ms", "y: {contacts: [{from: 1s, to: 2s}, {from: 11s, to: 20s}], delay: 30ms")
        plan = self.tree(self.derived(text), "plan.yaml")
        self.assertEqual([(c["start"], c["end"]) for c in plan["contacts"]], [("0s", "10s"), ("12.5s", "20s")] * 2)
        lab(self.file(text), "check")
        text = TWO.replace("delay: 30ms", "delay: [{at: 0, delay: 40ms}, {at: 20s, delay: 20ms}, {at: 80s, delay: 50ms}]") + \
            "links: {a-b: {handover: [{at: 0, channel: y}, {at: 10s, channel: x}, {at: 40s, channel: y}, {at: 90s, channel: x}]}}\nplan: yes\n"
        tables = [[(point["at"], point["owlt"]) for point in r["table"]] for r in self.tree(self.derived(text), "plan.yaml")["ranges"] if "table" in r]
        self.assertEqual(tables[:2], [[("0s", "40ms"), ("9.999s", "30.001ms")], [("40s", "30ms"), ("80s", "50ms"), ("89.999s", "50ms")]])
        lab(self.file(text), "check")
        lab(self.file(OVER.replace("delay: 30ms", "delay: [{at: 0, delay: 40ms}, {at: 60s, delay: 30ms}]") + "plan: yes\n"), "check")
        text = OVER.replace("gap: 500ms}", "gap: 3s}, {at: 15s, channel: x}") + "plan: yes\n"  # a gap until the next one
        self.assertEqual([(r.get("start"), r["end"]) for r in self.tree(self.derived(text), "plan.yaml")["ranges"]], [(None, "10s"), ("15s", "36500d")] * 2)
        lab(self.file(text), "check")

    def test_channels_share_a_transmitter(self):
        text = OVER.replace("forward: {rate: 40Mbit/s}, ", "").replace(", rate: 20Mbit/s", "") + \
            "nodes: {c: {}}\nshared: {up: {of: [x.forward, a-c.forward], rate: 9Mbit/s, queue: 1s}}\n"
        derived = self.derived(text.replace("{a-b:", "{a-c: {delay: 1ms}, a-b:"))
        self.assertEqual(self.tree(derived, "emulator.yaml")["shared"]["up"]["of"], ["x.forward", "a-c.forward"])
        self.assertEqual([link["rate"] for link in self.tree(derived, "node1.yaml")["links"]], ["9Mbit/s", "9Mbit/s"])

    def test_errors_name_file_line_and_key(self):
        link = TWO + "links:\n  a-b:\n    handover:\n      - {at: 0, channel: x}\n"
        for text, *wanted in (
                (link, ":4: channels.y: no link is handed over to it; write a handover, or leave it away"),
                (link + "      - {at: 1s, channel: z}\n", ":9: links.a-b.handover.1.channel: there is no channel \"z\"; there are x, y, none"),
                (link + "      - {at: 1s}\n", ":9: links.a-b.handover.1.channel: is missing; there are x, y, none"),
                (link + "      - {channel: y}\n", ":9: links.a-b.handover.1.at: is missing, such as at: 60s"),
                (link + "      - {at: 1m, channel: y}\n", ":9: links.a-b.handover.1.at: \"1m\" is no duration"),
                (link + "      - {at: 1s, channel: y, in_flight: gone}\n", ":9: links.a-b.handover.1.in_flight: \"gone\" is not known; right are arrives, lost"),
                (link + "      - {at: 1s, chanel: y}\n", ":9: links.a-b.handover.1.chanel: unknown key; did you mean channel?"),
                (link + "      - {at: 0, channel: y}\n", ":9: links.a-b.handover[2].at: not later than the one before"),
                (link + "      - {at: 1s, channel: y, gap: 3s}\n      - {at: 2s, channel: x}\n", ":10: links.a-b.handover[3].at: lies in the gap"),
                (link.replace("channel: x}", "channel: x, in_flight: lost}") + "      - {at: 1s, channel: y}\n", ":8: links.a-b.handover[1].in_flight: there is nothing before"),
                (link + "      - {at: 1s, channel: y}\n    delay: 5ms\n", ":10: links.a-b.delay: what is handed over has no channel of its own; write it at the channels"),
                (link + "      - {at: 1s, channel: y}\n    channel: no\n", ":10: links.a-b.channel: what is handed over"),
                (link + "      - {at: 1s, channel: y}\n    station: {}\n", ":10: links.a-b.station: a link over a ground station is not handed over"),
                (OVER + "link: {station: {}}\n", ":6: links.a-b.station: a link over a ground station is not handed over"),
                (link + "      - {at: 1s, channel: y}\n    adapter: tcpcl\n", ":8: links.a-b.handover: tcpcl is a stream"),
                (link + "      - {at: 1s, channel: y}\nemulator: each\n", ":10: emulator: links are handed over in one emulator only"),
                (link + "      - {at: 1s, channel: y}\nshared:\n  up: {of: [a-b.forward], rate: 1Mbit/s}\n",
                 ":11: shared.up.of: links.a-b is handed over, so its channels can share a transmitter; write such as x.forward"),
                (link + "      - {at: 1s, channel: y}\nshared:\n  up: {of: [x.forward], rate: 1Mbit/s}\n", ":3: channels.x.forward.rate: this direction has the line of shared.up"),
                (link + "      - {at: 1s, channel: y}\nevents:\n  - {at: 1s, link: a-b, set: {rate: 5Mbit/s}}\n", ":11: links.a-b.rate: what is handed over"),
                (OVER + "events: [{at: 1s, link: x, set: {rate: 5Mbit/s}}]\n", ":6: events.0.link: \"x\" is a channel; write channel: x"),
                (OVER + "events: [{at: 1s, channel: z, set: {rate: 5Mbit/s}}]\n", ":6: events.0.channel: \"z\" is no channel; there are x, y"),
                ("line: 2\nevents: [{at: 1s, channel: z, set: {rate: 5Mbit/s}}]\n", ":2: events.0.channel: \"z\" is no channel; there are none"),
                (OVER + "events: [{at: 1s, channel: [x], set: {rate: 5Mbit/s}}]\n", ":6: events.0.channel: "),
                (OVER + "events: [{at: 1s, channel: x, link: a-b, set: {rate: 5Mbit/s}}]\n", ":6: events.0: one of link: and channel: is wanted"),
                (OVER + "events: [{at: 1s, channel: x, do: down}]\n", ":6: events.0: of a channel set: {KEY: VALUE} is wanted"),
                (OVER + "events: [{at: 1s, channel: x, set: {rate: 5Mbit}}]\n", ":6: "),
                (OVER + "events: [{at: 1s, channel: x, set: {rte: 5Mbit/s}}]\n", ":6: channels.x.rte: unknown key; did you mean rate?"),
                (OVER + "events: [{at: 1s, channel: x, set: {queue: 1s}}]\n", ":6: events set: with one emulator queue of a channel cannot change"),
                (OVER + "events: [{at: 1s, channel: y, set: {rate: 5Mbit/s}}]\n", ":6: events set: channels.y.return has no rate to change from; write one"),
                (OVER.replace("delay: 8ms", "delay: [{at: 0, delay: 1ms}, {at: 9s, delay: 2ms}]") + "events: [{at: 1s, channel: x, set: {delay: 5ms}}]\n",
                 ":6: events set: delay of channels.x.forward is a table"),
                (OVER + "events: [{at: 1s, channel: x, set: {overhead: 9B}}]\n", ":6: events set: with one emulator overhead of a channel cannot change"),
                (OVER + "events: [{at: 1s, link: a-b, set: {handover.0.at: 5s}}]\n", ":6: links.a-b.handover.0.at: which channels a link passes cannot change"),
                (TWO + "links:\n  a-b: {handover: []}\n", ":6: links.a-b.handover: is empty; write a list such as [{at: 0, channel: x}]"),
                (TWO + "links:\n  a-b: {handover: [{at: 0, channel: none}]}\n", ":6: links.a-b.handover: it passes no channel"),
                (TWO.replace("  x:", "  none:") + "links: {a-b: {handover: [{at: 0, channel: y}]}}\n", ":3: channels.none: a name has 1 to 32"),
                (TWO.replace("  x:", "  a-b:") + "links: {a-b: {handover: [{at: 0, channel: y}, {at: 1s, channel: a-b}]}}\n", ":3: channels.a-b: a link has this name"),
                (TWO.replace("rate: 20Mbit/s", "rte: 20Mbit/s") + "links: {a-b: {handover: [{at: 0, channel: y}, {at: 1s, channel: x}]}}\n",
                 ":3: channels.x.rte: unknown key; did you mean rate?"),
                (OVER.replace("20Mbit/s", "20Mbit"), ":3: "),
                (OVER.replace("links: {", "links: {b-c: {handover: [{at: 0, channel: y}, {at: 1s, channel: x, in_flight: lost}]}, ") + "nodes: {c: {}}\n",
                 ":5: links.b-c.handover[2].in_flight: y has other traffic, too; write arrives")):
            file = self.file(text)
            said = lab(file, "check", code=2).stderr
            for words in wanted:
                self.assertIn(f"{file}{words}", said, text)
            self.assertNotIn("Traceback", said)


@unittest.skipUnless(KIND == "sim", "without real processes")
class Campaigns(Handover):
    """Over labs whose links do not have all that fades."""

    def drawn(self, text, **values):
        """(kind, the traces of all directions) of the second repetition."""
        of = made(text)
        traces = SimpleNamespace(info=lambda name: {}, again=lambda name, seed, mark: None if "bare" in name else f"/{name}-{seed}", seed_of=lambda path: path)
        return campaign_lab.draw_fades(SimpleNamespace(repetition=2, drawn=True, values=values), of, traces)[0], \
            [str(keys["erasures"]["trace"]) for keys in campaign_lab.directions(of) if "trace" in keys.get("erasures", {})]

    def test_channels_that_are_passed_are_drawn_anew(self):
        self.assertEqual(self.drawn(OVER), ("none", []))
        self.assertEqual(self.drawn(OVER.replace("x: {", "x: {trace: A, ")), ("realisation", ["/A-1002"] * 2))
        self.assertEqual(self.drawn(OVER.replace("y: {", "y: {trace: 'iid:0.1', ")), ("seed", []))
        self.assertEqual(self.drawn(OVER.replace("y: {", "y: {jitter: 1ms, ")), ("seed", []))
        self.assertEqual(self.drawn(OVER.replace("y: {", "y: {trace: 'iid:0', ")), ("none", []))
        more = OVER.replace("x: {", "x: {trace: A, ").replace("links: {", "links: {a-c: {delay: 1ms, forward: {trace: F}}, ") + "nodes: {c: {}}\n"
        self.assertEqual(self.drawn(more), ("realisation", ["/F-1002", "/A-1002", "/A-1002"]))

    def test_fades_that_stay_make_no_interval(self):
        """Those of a file that does not say how it was made, though others are drawn anew."""
        bare = self.file("0\n", "bare.txt")
        text = OVER.replace("x: {", f"x: {{forward: {{trace: {bare}}}, ").replace("links: {", "links: {a-c: {delay: 1ms, trace: F}, ") + "nodes: {c: {}}\n"
        self.assertEqual(self.drawn(text)[0], "some")

    def test_chances_of_a_given_seed_make_no_interval(self):
        """They are the same in each repetition."""
        for keys in ("trace: 'iid:0.1', ", "jitter: 1ms, "):
            text = OVER.replace("y: {", f"y: {{{keys}")
            self.assertEqual((self.drawn(text)[0], self.drawn(text, seed="7")[0]), ("seed", "none"))
            fixed = text.replace("y: {", "y: {seed: 7, ")
            self.assertEqual(self.drawn(fixed)[0], "none")
            self.assertEqual(self.drawn(fixed.replace("x: {", f"x: {{{keys}"))[0], "some")
        wan = "line: [craft, centre]\nlink: {delay: 5ms, frames: {scid: 171}, station: {wan: {jitter: 1ms%s}}}\n"
        self.assertEqual([self.drawn(wan % keys)[0] for keys in ("", ", seed: 3")], ["seed", "none"])

    def test_powers_of_a_file_stay(self):
        power = "erasures: {power: {file: rx.csv, column: dBm, table: [{power: -38dBm, loss: 1}, {power: -36dBm, loss: 0}]}}, "
        self.assertEqual(self.drawn(OVER.replace("x: {", f"x: {{{power}"))[0], "some")
        self.assertEqual(self.drawn(OVER.replace("x: {", f"x: {{{power}").replace("y: {", "y: {trace: A, "))[0], "some")
        self.assertEqual(self.drawn(OVER.replace("x: {", "x: {erasures: {power: none}, "))[0], "none")

    def test_the_network_of_a_station(self):
        text = "line: [craft, centre]\nlink: {delay: 5ms, frames: {scid: 171}, station: {wan: {%s}}}\n"
        for keys, wanted in (("delay: 5ms", ("none", [])), ("jitter: 1ms", ("seed", [])), ("trace: 'iid:0.1'", ("seed", [])),
                             ("trace: A", ("realisation", ["/A-1002"] * 2)), ("forward: {trace: F}", ("realisation", ["/F-1002"]))):
            self.assertEqual(self.drawn(text % keys), wanted, keys)

    def check(self, text, mode, code=0):
        self.file(text)
        campaign = self.file("lab: lab.yaml\nexperiments: [{name: one}]\n", "c.yaml")
        done = subprocess.run([BIN / "helio-campaign", campaign, "--check", "--mode", mode], capture_output=True, text=True, check=False, timeout=1400)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_what_only_virtual_time_has_is_right_there(self):
        """Streams through a channel, losses in a station's network."""
        traffic = "traffic: [{perf: 1-2, data: 10kB, window: 1}]\n"
        stream = "line: 2\nlink: {adapter: tcpcl, delay: 5ms, rate: 10Mbit/s}\n" + traffic
        station = "line: 2\nlink: {delay: 5ms, rate: 10Mbit/s, frames: {scid: 171}, station: {wan: {trace: 'iid:0.01'}}}\n" + traffic
        for text, why in ((stream, ":2: links.1-2: tcpcl does not pass a relay"), (station, ":2: links.1-2.station.wan.erasures: with real processes")):
            self.check(text, "sim")
            lab(self.file(text), "check", "--mode", "sim")
            self.assertIn(f"lab.yaml{why}", self.check(text, "relay", 2))
        self.assertIn('jitter: "5"', self.check(station.replace("trace: 'iid:0.01'", "jitter: 5"), "sim", 2))

    def test_what_virtual_time_refuses_is_told_by_check(self):
        two = "line: 2\nlink: {delay: 5ms, rate: 10Mbit/s}\n"
        for text, why in ((two + "events: [{at: 1s, link: 1-2, set: {queue: 5ms}}]\nduration: 2s\n", ":3: events set: queue of a channel cannot change in virtual time"),
                          (two + "traffic: [{run: 1, command: ls}]\n", ":3: traffic.run: commands of others do not run in virtual time"),
                          (two, ": in virtual time nothing would come to an end")):
            self.assertIn(f"lab.yaml{why}", self.check(text, "sim", 2))
        self.check(two + "events: [{at: 1s, link: 1-2, set: {delay: 6ms}}]\nduration: 2s\n", "sim")
        self.assertIn("lab.yaml:3: ", self.check(two + "events: [{at: 1s, link: 1-2, set: {queue: 5x}}]\nduration: 2s\n", "relay", 2))


@unittest.skipUnless(KIND == "sim", "without real processes")
class Virtual(Handover):
    def test_the_example(self):
        told = lab(EXAMPLE, "up", "--mode", "sim", "--out", self.folder / "out").stdout
        result = self.result(self.folder / "out")
        flow = result["traffic"]["perf-1"]
        self.assertEqual((result["failed"], flow["bundles_acked"], flow["lost"]), ([], flow["bundles_sent"], 0))
        hand = self.adds_up(result, "sat-centre", "station-a", "station-b")
        self.assertEqual((hand["planned"], hand["done"]), (2, 2))
        self.assertIn("handed over sat-centre 2 of 2 times", told)
        gaps = self.drops("sat-centre")
        self.assertEqual(len(gaps), hand["forward"]["gap"] + hand["return"]["gap"])
        self.assertTrue(all(row["reason"] == "handover" and 4e9 <= int(row["t_ns"]) < 4.5e9 for row in gaps))
        self.assertGreater(hand["forward"]["gap"], 100)
        cut = [row for row in self.drops("station-a") if row["reason"] == "handover"]
        self.assertEqual(len(cut), sum(result["channels"]["station-a"][way]["dropped"]["handover"] for way in ("forward", "return")))
        self.assertTrue(cut and all(int(row["t_ns"]) < 4e9 for row in cut))
        self.assertEqual({link["rate_bps"] for link in result["nodes"]["sat"]["links"]}, {40000000})
        lab(EXAMPLE, "up", "--mode", "sim", "--out", self.folder / "again")
        for name in ("result.json", "link-sat-centre.drops.csv", "link-station-b.drops.csv", "node1.segments.csv", "node2.bundles.csv"):
            self.assertEqual(*((self.folder / out / name).read_text(encoding="utf-8").replace(str(self.folder / out), "") for out in ("out", "again")), name)

    def drops(self, name):
        with open(self.folder / "out" / f"link-{name}.drops.csv", encoding="ascii", newline="") as f:
            return list(csv.DictReader(f))

    def test_pings_tell_the_channel(self):
        """A round trip is twice the delay of the channel of that time, and what is on the air; nothing passes before the first."""
        text = "line: [a, b]\nchannels: {x: {delay: 8ms}, y: {delay: 30ms}}\n" \
               "links: {a-b: {rto: 200ms, handover: [{at: 1s, channel: x}, {at: 10s, channel: y}, {at: 20s, channel: x}]}}\n" \
               "traffic:\n" + "".join(f"  - {{ping: a-b, start: {start}, count: 5}}\n" for start in ("2s", "11s", "21s"))
        result = self.up(self.file(text))
        for name, delay in (("ping-1", 8), ("ping-2", 30), ("ping-3", 8)):
            shown = result["traffic"][name]
            self.assertEqual(shown["received"], 5)
            self.assertAlmostEqual(shown["rtt_ms"]["mean"], 2 * delay, delta=0.1)
        self.adds_up(result, "a-b", "x", "y")

    def test_many_hand_overs(self):
        """Each to a channel of another rate, which both ends are told."""
        overs = ", ".join(f"{{at: {i}s, channel: {'xy'[i % 2]}}}" for i in range(600))
        result = self.up(self.file(TWO + f"links: {{a-b: {{handover: [{overs}]}}}}\ntraffic: [{{ping: a-b, start: 599s, count: 1}}]\n"))
        self.assertEqual([link["rate_bps"] for node in result["nodes"].values() for link in node["links"]], [40000000, 0])
        self.assertEqual(self.adds_up(result, "a-b", "y")["done"], 600)

    def test_the_overhead_of_the_channel_of_that_time(self):
        text = OVER + "traffic: [{ping: a-b, start: %s, count: 1}]\n"
        for start, wanted in (("1s", 42), ("13s", 10)):
            result = self.up(self.file(text % start), out=start)
            self.assertEqual({link["overhead"] for node in result["nodes"].values() for link in node["links"]}, {wanted})

    def test_events_change_channels_in_use_or_not(self):
        """A change stays with its channel, whatever the link passes at that moment."""
        text = "line: [a, b]\nchannels: {x: {delay: 8ms, rate: 20Mbit/s}, y: {delay: 30ms, rate: 40Mbit/s}}\n" \
               "links: {a-b: {rto: 300ms, handover: [{at: 0, channel: x}, {at: 10s, channel: y}, {at: 20s, channel: x}]}}\n"
        events = {3: "channel: y, set: {delay: 50ms, rate: 5Mbit/s}", 12: "channel: x, set: {delay: 20ms, forward.rate: 6Mbit/s}",
                  23: "channel: x, set: {return.delay: 10ms, return.rate: 7Mbit/s}"}

        def until(end):  # what is later than the end is refused
            return f"{text}events:\n" + "".join(f"  - {{at: {at}s, {words}}}\n" for at, words in events.items() if at < end) + \
                "traffic:\n" + "".join(f"  - {{ping: a-b, start: {at}s, count: 5, interval: 100ms}}\n" for at in (4, 11, 21, 24) if at < end)
        result = self.up(self.file(until(100)))
        for name, trip in (("ping-1", 16), ("ping-2", 100), ("ping-3", 40), ("ping-4", 30)):
            shown = result["traffic"][name]
            self.assertEqual(shown["received"], 5)
            self.assertAlmostEqual(shown["rtt_ms"]["mean"], trip, delta=1, msg=name)
        self.adds_up(result, "a-b", "x", "y")
        for end, wanted in ((9, [20, 20]), (11, [5, 5]), (19, [5, 5]), (21, [6, 20]), (24, [6, 7])):
            going_on = f"  - {{ping: a-b, start: 4s, count: {end - 4}, interval: 1s}}\n"  # a lab ends with its traffic
            result = self.up(self.file(f"{until(end)}{going_on}duration: {end}s\n"), out=f"{end}s")
            self.assertEqual([link["rate_bps"] for node in result["nodes"].values() for link in node["links"]], [rate * 10**6 for rate in wanted], end)

    def test_losses_that_an_event_sets_are_of_that_channel(self):
        text = OVER.replace("links:", "events: [{at: 5s, channel: y, set: {forward.trace: 'iid:0.2'}}]\nlinks:") + \
            "traffic: [{perf: a-b, duration: 20s, rate: 20b, payload: 20kB}]\n"
        result = self.up(self.file(text))
        lost = {name: result["channels"][name]["forward"] for name in "xy"}
        self.assertEqual(lost["x"]["dropped"]["random"], 0)
        share = lost["y"]["dropped"]["random"] / lost["y"]["in"]
        self.assertTrue(0.15 < share < 0.25, share)
        self.adds_up(result, "a-b", "x", "y")

    def test_what_is_set_of_the_link_stays(self):
        result = self.up(self.file(OVER + "events: [{at: 4s, link: a-b, set: {overhead: 20B, sessions: 5, ends.b.sessions: 7, ends.a.rate: 1Mbit/s}}]\nduration: 14s\n"))
        shown = [link for node in result["nodes"].values() for link in node["links"]]
        self.assertEqual([(link["overhead"], link["rate_bps"], link["window"]) for link in shown], [(20, 10**6, 5), (20, 0, 7)])

    def test_a_contact_plan_keeps_traffic_out_of_the_gap(self):
        text = EXAMPLE.read_text(encoding="utf-8")
        surprise, known = (self.up(self.file(text + more), out=out) for more, out in (("", "one"), ("plan: yes\n", "two")))
        for result in (surprise, known):
            self.assertEqual(result["traffic"]["perf-1"]["lost"], 0)
        gaps = [result["channels"]["sat-centre"]["handover"]["forward"]["gap"] for result in (surprise, known)]
        self.assertEqual((gaps[0] > 100, gaps[1]), (True, 0), gaps)

    def test_channels_share_a_transmitter(self):
        """One station sends to two craft; one of them goes to another station after a while, and the first has all of the line."""
        text = "star: [gs, one, two]\nlink: {delay: 5ms, rto: 3s}\nchannels: {here: {}, there: {forward: {rate: 10Mbit/s}}}\n" \
               "links: {gs-one: {}, gs-two: {handover: [{at: 0, channel: here}, {at: 10s, channel: there}]}}\n" \
               "shared: {up: {of: [gs-one.forward, here.forward], rate: 10Mbit/s, queue: 2s}}\n" \
               "traffic: [{perf: gs-one, duration: 20s, window: 8, payload: 20kB}, {perf: gs-two, duration: 20s, window: 8, payload: 20kB}]\n"
        result = self.up(self.file(text))
        self.adds_up(result, "gs-two", "here", "there")
        self.assertEqual([flow["lost"] for flow in result["traffic"].values()], [0, 0])
        line = result["shared"]["up"]
        self.assertEqual([member["of"] for member in line["members"]], ["gs-one.forward", "here.forward"])
        self.assertAlmostEqual(line["members"][1]["share"], 0.25, delta=0.02)  # half of half the time


class Real:
    """With real processes."""
    mode = "local"

    def test_the_example(self):
        told = lab(EXAMPLE, "up", "--mode", self.mode, "--out", self.folder / "out").stdout
        result = self.result(self.folder / "out")
        flow = result["traffic"]["perf-1"]
        self.assertEqual((result["failed"], flow["bundles_acked"], flow["lost"]), ([], flow["bundles_sent"], 0))
        hand = self.adds_up(result, "sat-centre", "station-a", "station-b")
        self.assertEqual((hand["planned"], hand["done"]), (2, 2))
        self.assertIn("handed over sat-centre 2 of 2 times", told)
        self.assertEqual({link["rate_bps"] for link in result["nodes"]["sat"]["links"]}, {40000000}, json.dumps(result["nodes"]["sat"]))
        with open(self.folder / "out/link-sat-centre.drops.csv", encoding="ascii", newline="") as f:
            self.assertEqual(len([row for row in csv.DictReader(f) if row["reason"] == "handover"]), hand["forward"]["gap"] + hand["return"]["gap"])

    def rates(self, result):
        return [link["rate_bps"] for node in result["nodes"].values() for link in node["links"]]

    def test_events_change_channels_in_use_or_not(self):
        """Of y before it is used, of x after it was, of the link: the ends have in the end what y was set to."""
        text = OVER.replace("at: 10s", "at: 2s").replace("at: 12s", "at: 3s") + \
            "events:\n  - {at: 1s, channel: y, set: {forward.rate: 30Mbit/s, delay: 3ms}}\n  - {at: 1500ms, channel: x, set: {rate: 2Mbit/s}}\n" \
            "  - {at: 4s, channel: x, set: {rate: 1Mbit/s}}\n  - {at: 5s, channel: y, set: {forward.rate: 4Mbit/s}}\n" \
            "traffic: [{ping: a-b, start: 5500ms, count: 2}]\n"
        result = self.up(self.file(text), mode=self.mode)
        self.assertEqual(result["traffic"]["ping-1"]["received"], 2)
        self.assertEqual(self.rates(result), [4 * 10**6, 0])
        then = {}  # what was set before the first frame is one change
        for way in ("forward", "return"):
            for one in result["channels"]["y"][way]["changed"]:
                then.setdefault(way, {}).update((key, value) for key, value in one.items() if key in ("rate", "delay"))
        self.assertEqual(then, {"forward": {"rate": "4Mbit/s", "delay": "3ms"}, "return": {"delay": "3ms"}})

    def test_by_hand(self):
        file = self.file(TWO + "links: {a-b: {handover: [{at: 0, channel: x}, {at: 900s, channel: y}]}}\nduration: 1000s\n")
        lab(file, "up", "--mode", self.mode, "--out", self.folder / "out", "--background")
        self.addCleanup(lambda: subprocess.run([BIN / "helio-lab", file, "down"], capture_output=True, check=False))
        lab(file, "link", "x", "set", "forward.rate=3Mbit/s")
        lab(file, "link", "y", "set", "delay=4ms")
        lab(file, "link", "a-b", "set", "overhead=30B")
        for words, said in ((("x", "down"), "x is a channel"), (("y", "set", "rate=4Mbit/s"), "channels.y.return has no rate to change from"), (("x", "set", "queue=1s"), "queue of a channel cannot change"), (("z", "down"), "there are a-b, x, y"),
                            (("a-b", "set", "rate=1Mbit/s"), "what is handed over"), (("a-b", "set", "handover.0.at=1s"), "which channels a link passes cannot change")):
            self.assertIn(said, lab(file, "link", *words, code=2).stderr)
        self.look_around(file)
        lab(file, "down")
        result = self.result(self.folder / "out")
        self.assertEqual(self.rates(result), [3 * 10**6, 20 * 10**6])
        self.assertEqual({link["overhead"] for node in result["nodes"].values() for link in node["links"]}, {30})

    def look_around(self, file):
        pass


@unittest.skipUnless(KIND == "live", "on the loopback interface")
class Live(Real, Handover):
    pass


@unittest.skipUnless(KIND == "netns", "in network namespaces")
class Netns(Real, Handover):
    mode = "netns"

    def look_around(self, file):
        """The emulator is what both nodes reach; nothing leads around it, where a node would answer that nobody listens."""
        for there, wanted in (("10.80.0.254", True), ("10.80.0.1", True), ("10.80.0.2", False)):
            code = f"import socket, sys\ntry: socket.create_connection(('{there}', 9), {300 if wanted else 5})\nexcept ConnectionRefusedError: print('refused')\n" \
                   "except OSError as e: print(e)\n"
            self.assertEqual(lab(file, "exec", "a", sys.executable, "-c", code).stdout == "refused\n", wanted, there)

    def test_what_is_derived(self):
        """Datagrams go to the emulator's address of their link, with the overhead that the channel has in all modes."""
        of = made(OVER)
        derived = lab_derive.derive(of, "/out", "/run", lab_derive.SpaceAddresses(of), "2026-01-01T00:00:00Z")
        self.assertEqual([(link["local"], link["remote"]) for number in (1, 2) for link in self.tree(derived, f"node{number}.yaml")["links"]],
                         [("10.80.0.1:1113", "10.80.0.254:1113"), ("10.80.0.2:1113", "10.80.0.254:1113")])
        one = self.tree(derived, "emulator.yaml")["links"]["a-b"]
        self.assertEqual([one[key] for key in ("listen", "to", "return_to")], ["10.80.0.254:1113", "10.80.0.2:1113", "10.80.0.1:1113"])
        self.assertEqual([self.tree(derived, f"link-{name}.yaml").get("overhead") for name in "xy"], [None, "10B"])
        lab(self.file(OVER), "check", "--mode", "netns")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
