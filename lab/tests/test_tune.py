# SPDX-License-Identifier: Apache-2.0
"""The parts of helio-tune by hand, without a simulation: what a run is told, when an end is found, how sure that is, and HDTN's files."""
import argparse
import io
import json
import math
import random
import unittest
import unittest.mock

from heliograph import programs, warmup
from heliograph.tune import cli as tune, code as tune_code, config as tune_config, point as tune_point, realisations as tune_realisations, search as tune_search

MOON = ("--trace", "H", "--delay", "1280ms", "--rate", "100Mbit/s")


def link(*words, trace="A"):
    return tune_search.Link(tune.arguments().parse_args(words), trace)


class Traces:
    """Each realisation is a name."""

    def again(self, path, seed, mark="", times=1):
        return f"{path}-{seed}"


class Made:
    """A simulator whose links need so many sessions, each realisation others: seed -> sessions. Goodput grows with them until then."""
    jobs = 1

    def __init__(self, needed):
        self.needed, self.runs = needed, []

    def run_all(self, many):
        self.runs += many
        found = []
        for one in many:
            share = min(1.0, one["sessions"] / self.needed(one))
            found.append({"goodput_bps": 1e8 * share, "capacity_bps": 1e8, "efficiency": share, "carried_share": share, "reachable_share": 1.0, "carried_parts": [share] * 4, "delivery_ms": {"p99": 50.0}})
        return found


class Runs(unittest.TestCase):
    def test_of_a_long_path_begin_with_its_steady_state(self):
        """Three times the round trip and the radiation of all sessions; a quarter of the run at most; the same for all numbers of sessions."""
        self.assertAlmostEqual(warmup.seconds(100, 0.25, 0.004, 20, 500000, 20e6), 3 * (0.504 + 20 * 0.2))
        self.assertEqual(warmup.seconds(8, 0.25, 0.004, 20, 500000, 20e6), 2)
        far = link(*MOON, "--duration", "200s", "--processing", "4ms", "--return-rate", "2Mbit/s", "--return-trace", "iid:0.1")
        radiation = 8 * (500000 + 54 * math.ceil(500000 / 1012)) / 100e6
        self.assertEqual(far.trial(), 4 * math.ceil(2.564 / radiation))
        wanted = 3 * (2.564 + far.trial() * 0.04)
        runs = [far.options(1, sessions=n) for n in (8, 500)]
        for run in runs:
            self.assertEqual((run["follow"], run["processing"], run["return-trace"], run["return-rate"]), ("yes", "4ms", "iid:0.1", "2000000bit/s"))
            self.assertAlmostEqual(float(run["warmup"].removesuffix("s")), wanted)
        self.assertEqual([warmup.is_cut(duration, 6.4) for duration in (4, 23, 23.1, 26)], [True, True, False, False])
        self.assertEqual(warmup.words(4, 6.4, "duration:"), "the warm-up is cut to 1s, it needs 6.4s: the start changes the figures; write duration: 26s or longer")
        self.assertEqual(warmup.words(0.5, 0.31, "--duration"), "the warm-up is cut to 125ms, it needs 310ms: the start changes the figures; write --duration 1.3s or longer")
        self.assertAlmostEqual(far.warmup_needed(20), 3 * (2.564 + 20 * 0.04))
        near = link().options(1)
        self.assertNotIn("warmup", near)  # less than a hundredth of the run
        self.assertEqual([float(link(*MOON).options(1)["duration"].removesuffix("s")), 40 * 2.56], 2 * [102.4])

    def test_progress_says_how_many_there_will_be(self):
        said = io.StringIO()
        progress = programs.Progress("helio-tune", said, every=1000)
        for words, wanted in (((), 180), (("--recovery", "all"), 270), (("--recovery", "plain", "--realisations", "0", "--unseen", "0"), 40)):
            a = tune.arguments().parse_args(words)
            tune.check(None, a)
            self.assertEqual(tune.expected(a), wanted)
        simulator = programs.Simulator("helio-sim", 1, progress, 180)
        progress._write()
        simulator.done = 181
        simulator._show()
        progress._write()
        simulator.close()
        progress.end()
        self.assertEqual(said.getvalue(), "helio-tune: 0 s: 0 simulations done, some 180 in all\nhelio-tune: 0 s: 181 simulations done\n")

    def test_the_timer_of_default_recovery_is_the_paths(self):
        """It adapts from the path on, which helio-sim knows; the configuration names where it begins. Fixed ones are longer than the path."""
        for words, begin in ((MOON, 5.12), ((), 0.02)):
            far = link(*words)
            given = tune_search.timers(far, "default")
            self.assertEqual(given, [begin])
            self.assertEqual(tune_search.Search(None, far, "default", 1024, given[0]).setting["rto"], "auto")
            for timer in tune_search.timers(far, "plain"):
                self.assertGreater(timer, far.rtt)
            self.assertEqual([f"{t:g}" for t in tune_search.timers(link(*words, "--rto", "7s"), "plain")], ["7"])
        self.assertEqual([tune_search.ion_timer(delay) for delay in (0.005, 1.0, 1.28)], [2, 2, 4])

    def test_a_run_without_blocks_has_no_times(self):
        point = tune_search.Point([{"session_ms": None, "goodput_bps": 0.0, "efficiency": None}])
        self.assertTrue(math.isnan(point["session_ms"]["p99"]) and math.isnan(point["efficiency"]))
        self.assertEqual(tune.known({"a": {"b": math.nan}, "c": 1.0}), {"a": {"b": None}, "c": 1.0})


class Ends(unittest.TestCase):
    def test_saturated_is_when_more_bring_nothing(self):
        """Not where the next doubling brings two percent: 96 of 120."""
        for least in (96, 120, 1000):
            found, point, most, high = tune_search.Search(Made(lambda _, least=least: least), link("--duration", "5s"), "plain", 1024, 0.03).best()
            self.assertTrue(least * 0.9995 <= found <= least * (1 + 1 / 64), (least, found))
            self.assertGreaterEqual(high, least)
            self.assertEqual(most["goodput_bps"], 1e8)

    def test_what_grows_slowly_is_not_saturated_early(self):
        """32 / (n + 8)² of the capacity are missing: 0.0005 of the most, which 1024 bring, with 238 sessions. A doubling brings 2 % already at 64."""
        class Slow(Made):
            def run_all(self, many):
                shares = [1 - 32 / (one["sessions"] + 8) ** 2 for one in many]
                return [{"capacity_bps": 1e8, "efficiency": share, "carried_share": share, "carried_parts": [share] * 4} for share in shares]

        found, _, most, high = tune_search.Search(Slow(None), link("--duration", "5s"), "plain", 1024, 0.03).best()
        self.assertEqual((high, most["efficiency"]), (1024, 1 - 32 / 1032 ** 2))
        self.assertTrue(238 <= found <= 242, found)

    def test_the_floor_is_of_what_the_channel_can_carry(self):
        """97 % of the capacity can be reached: 98 % of that are 95.06 %."""
        class Edges(Made):
            def run_all(self, many):
                found = super().run_all(many)
                for one in found:
                    one.update({"carried_share": 0.97 * one["carried_share"], "reachable_share": 0.97, "carried_parts": [0.97 * x for x in one["carried_parts"]]})
                return found

        a = link("--goal", "delay", "--floor", "0.98", "--duration", "5s", "--tolerance", "0.0001")
        found, point, _, _ = tune_search.Search(Edges(lambda _: 1000), a, "plain", 1024, 0.03).best()
        self.assertTrue(980 <= found <= 980 + 980 // 64 and point["carried_share"] < 0.97, (found, point["carried_share"]))
        r = {"predicted": {"efficiency": 0.94, "carried_share": 0.94, "reachable_share": 0.97}, "expected": None, "unseen": None, "realisations": None, "saturated": True, "floor": 0.98, "floor_kept": False,
             "most_carried_share": 0.9603, "sessions": 64}
        said, = tune.warnings({"duration_s": 5.0}, r)
        self.assertIn("the floor of 98 % of the reachable capacity is not kept: 96.91 %; the most that any number of sessions brings is 99.00 %", said)
        expected = {"efficiency": 0.945, "carried_share": 0.945}
        said, = tune.warnings({}, {**r, "floor_kept": True, "expected": expected, "unseen": None})
        self.assertIn("kept on the trace itself, but 97.42 % are to be expected of others", said)
        self.assertIn("reachable           97.00 % of the capacity", tune.reachable_line(r["predicted"]))
        self.assertEqual(tune.reachable_line({"reachable_share": 1.0}), "")
        self.assertEqual(tune_point.of_reachable({"carried_share": 0.0, "reachable_share": 0.0}), 0.0)

    def test_the_floor_is_kept_or_said_to_be_missed(self):
        for floor, cap, wanted in ((0.5, 100, 50), (0.98, 100, 98)):
            found, point, _, _ = tune_search.Search(Made(lambda _, cap=cap: cap), link("--goal", "delay", "--floor", str(floor), "--duration", "5s"), "plain", 1024, 0.03).best()
            self.assertGreaterEqual(point["carried_share"], floor)
            self.assertLessEqual(found, wanted + 1)
        r = {"predicted": {"efficiency": 0.9706, "carried_share": 0.9706, "reachable_share": 1.0}, "expected": None, "unseen": None, "realisations": None, "saturated": True, "floor": 0.98, "floor_kept": False,
             "most_carried_share": 0.971, "sessions": 64}
        said, = tune.warnings({"duration_s": 5.0}, r)
        cut, _ = tune.warnings({"duration_s": 4.0}, {**r, "warmup_needed_s": 6.4})
        self.assertEqual(cut, warmup.words(4.0, 6.4, "--duration"))
        self.assertIn("the floor of 98 % of the reachable capacity is not kept: 97.06 %", said)
        self.assertEqual(list(tune.warnings({}, {**r, "floor_kept": True, "predicted": {"efficiency": 0.981, "carried_share": 0.981, "reachable_share": 1.0}})), [])
        said, = tune.warnings({}, {**r, "floor_kept": True, "predicted": {"efficiency": 0.981, "carried_share": 0.981, "reachable_share": 1.0}, "expected": {"efficiency": 0.97, "carried_share": 0.97}})
        self.assertIn("kept on the trace itself, but 97.00 % are to be expected", said)
        said, = tune.warnings({}, {**r, "floor_kept": None, "saturated": False})
        self.assertIn("64 sessions are --sessions-max", said)
        said, = tune.warnings({}, {**r, "floor_kept": None, "unseen": {"carried_share": 0.95}})
        self.assertIn("have -2.1 points", said)


class Sure(unittest.TestCase):
    def test_the_bound_of_clopper_and_pearson(self):
        for n in (1, 4, 20, 59):
            self.assertAlmostEqual(tune_realisations.at_least(n, n), 0.05 ** (1 / n), places=9)
        self.assertEqual(tune_realisations.at_least(0, 20), 0)
        for k, n in ((1, 20), (19, 20), (55, 59)):  # so many or more have 5 % there
            share = tune_realisations.at_least(k, n)
            self.assertAlmostEqual(sum(math.comb(n, i) * share**i * (1 - share)**(n - i) for i in range(k, n + 1)), 0.05, places=9)

    def found(self, confidence, needed, *more):
        one = link("--realisations", "20", "--confidence", str(confidence), "--tolerance", "0.001", *more)
        one.traces = Traces()
        simulator = Made(lambda options: needed(options["seed"]))
        return tune_realisations.Sure(simulator, one, {}, 256).find(40), simulator

    def test_so_many_suffice_in_that_share_of_the_realisations(self):
        """Realisation i needs 40 + i sessions: of twenty the 19th for 95 %. On those for the check the i-th needs 42 + i."""
        def needed(seed):
            return 42 + seed - 4000 if seed > 4000 else 40 + seed - 3000

        for confidence, sessions, kept in ((0.95, 59, 17), (0.5, 50, 8), (0.05, 41, 0)):
            found, _ = self.found(confidence, needed)
            self.assertEqual((found["sessions"], found["suffice"], found["suffice_with_those_of_trace"]), (sessions, sessions - 40, 0))
            self.assertEqual((found["held_out"]["suffice"], found["held_out"]["share"]), (kept, kept / 20))
            self.assertAlmostEqual(found["held_out"]["at_least"], tune_realisations.at_least(kept, 20))
        self.assertEqual(self.found(0.95, lambda seed: 30)[0]["sessions"], 30)  # fewer than the trace's do, too

    def test_nineteen_by_default(self):
        """The most that any of 19 needs: another one needs no more with a chance of 19 in 20. Not checked on others, and most realisations have few runs."""
        one = link("--tolerance", "0.001")
        one.traces = Traces()
        simulator = Made(lambda options: 160 + options["seed"] % 7 + 12 * (options["seed"] == 3011))
        found = tune_realisations.Sure(simulator, one, {}, 512).find(160)
        self.assertEqual((found["runs"], found["suffice"], found["chance"], "held_out" in found, found["sessions_on_trace"]), (19, 19, 0.95, False, 160))
        wanted = 160 + 3011 % 7 + 12
        self.assertTrue(0.999 * wanted <= found["sessions"] <= wanted + 2, found)
        numbers = [run["sessions"] for run in simulator.runs if run["sessions"] != 512]
        self.assertLess(len(numbers), 19 * 4)  # not all numbers on all
        self.assertEqual({run["seed"] for run in simulator.runs}, set(range(3001, 3020)))
        self.assertIsNone(tune_realisations.Sure(simulator, link(trace="none"), {}, 512).find(160))
        for confidence, runs, chance in ((0.95, 20, 19 / 21), (0.5, 20, 10 / 21), (0.95, 59, 57 / 60)):
            one.a.confidence, one.a.realisations = confidence, runs
            self.assertAlmostEqual(tune_realisations.Sure(simulator, one, {}, 512).find(160)["chance"], chance)

    def test_noise_makes_no_number_greater(self):
        """Runs near saturation differ by chance, standard deviation 0.06 points here: mostly by less than the tolerance, but not in each of nineteen."""
        class Noisy(Made):
            def run_all(self, many):
                found = super().run_all(many)
                for one, run in zip(many, found):
                    draw = random.Random(f"{self.draw} {one['seed']} {one['sessions']}")
                    run["carried_parts"] = [run["carried_share"] * (1 + draw.gauss(0, 0.0018)) for _ in range(20)]
                    run["carried_share"] = sum(run["carried_parts"]) / 20
                return found

        one, found = link(), []
        one.traces = Traces()
        for draw in range(10):
            simulator = Noisy(lambda options: 148)
            simulator.draw = draw
            search = tune_search.Search(simulator, one, "plain", 1024, 0.03)
            search.best()
            self.assertAlmostEqual(search.noise, 2.093 * 0.0018 * (2 / 20) ** 0.5, delta=0.0007)
            found.append(tune_realisations.Sure(simulator, one, {}, 512, search.noise).find(138)["sessions"])
        limited = tune_search.Search(simulator, link("--sessions-max", "160"), "plain", 1024, 0.03)
        limited.best()
        self.assertEqual(limited.noise, 0)  # the last step may have brought something
        self.assertEqual(sorted(found)[1:-1], [n for n in sorted(found)[1:-1] if 147 <= n <= 153], found)

    def test_parts_of_a_trace_are_each_used_once(self):
        """A file that does not say how it was made: 100 parts of it, of which each check has its own; and too short a one is told."""
        class Parts(Traces):
            def again(self, path, seed, mark="", times=1):
                return None

            def info(self, path):
                return {"duration_s": 500.0}

        one = link("--duration", "5s", "--realisations", "20")
        one.traces = Parts()
        drawn = tune_realisations.Realisations(one)
        parts = [[run["trace-offset"] for run in drawn.many(*which)] for which in ((tune_realisations.UNSEEN, 5), (tune_realisations.CHOICE, 20), (tune_realisations.CHECK, 20))]
        self.assertEqual([len(some) for some in parts], [5, 20, 20])
        self.assertEqual(len(set(sum(parts, []))), 45)
        r = {"predicted": {"efficiency": 0.99}, "expected": None, "unseen": None, "saturated": True, "floor_kept": None, "realisations": None}
        self.assertEqual([text[:31] for text in tune.warnings({}, {**r, "trace_alone": True})], ["no other realisation of the fad"])

    def test_none_that_suffices_is_said(self):
        """19 of 20 are 95 %, 18 are not."""
        r = {"predicted": {"efficiency": 0.99}, "expected": None, "unseen": None, "saturated": True, "floor_kept": None}
        for suffice, told in ((19, []), (18, ["no number of sessions suffices in 95 % of the realisations; 256 do in 18 of 20"])):
            sure = {"confidence": 0.95, "runs": 20, "suffice": suffice, "sessions": 256}
            self.assertEqual(list(tune.warnings({}, {**r, "realisations": sure})), told)
        found, _ = self.found(0.95, lambda seed: 300 if seed % 7 == 0 else 50)
        self.assertEqual((found["sessions"], found["suffice"]), (256, 20))  # the most is what the others are measured against

    def test_realisations_are_of_both_ways(self):
        found, simulator = self.found(0.95, lambda seed: 50, "--return-trace", "H", "--processing", "4ms")
        pairs = {(one["trace"], one["return-trace"], one["seed"], one["processing"]) for one in simulator.runs}
        self.assertEqual(pairs, {(f"A-{first + i}", f"H-{500000 + first + i}", first + i, "4ms") for first in (3000, 4000) for i in range(1, 21)})


class Hdtn(unittest.TestCase):
    LINK = {"delay_s": 0.0125, "processing_s": 0.004, "rate_bps": 100_000_000, "overhead_bytes": 42, "block_bytes": 500_000}
    FOUND = {"rto_s": 0.0513, "segment_bytes": 1024, "socket_buffer_bytes": 1 << 20, "memory_bytes": 8_000_000, "sessions": 16}

    def test_what_it_loads(self):
        """By hand: its largest bundle twice in the pipeline, one datagram a call, UDP payload, whole milliseconds that are never less."""
        out, induct, told = tune_config.hdtn_ducts(self.LINK, self.FOUND)
        self.assertEqual((out["oneWayLightTimeMs"], out["oneWayMarginTimeMs"]), (13, 13))
        self.assertEqual((induct["oneWayLightTimeMs"], induct["oneWayMarginTimeMs"]), (13, 13))
        self.assertEqual((out["maxSumOfBundleBytesInPipeline"], out["maxNumberOfBundlesInPipeline"]), (20_000_000, 16))
        self.assertEqual((out["ltpMaxUdpPacketsToSendPerSystemCall"], induct["ltpMaxUdpPacketsToSendPerSystemCall"]), (1, 1))
        self.assertEqual(out["ltpMaxSendRateBitsPerSecOrZeroToDisable"], math.floor(100e6 * 1024 / 1066))
        self.assertEqual((out["remotePort"], induct["boundPort"], out["ltpSenderBoundPort"], induct["ltpRemoteUdpPort"]), (2113, 2113, 1113, 1113))
        self.assertEqual([text.split(":")[0] for text in told], ["the light time of 12.5ms became 13 ms", "the timer of 51.3ms became 52 ms",
                                                                 "the rate of 100Mbit/s on the air is 96060037 bit/s of UDP payload, which HDTN counts"])
        more = {**self.FOUND, "memory_bytes": 40_000_000}
        self.assertEqual(tune_config.hdtn_ducts(self.LINK, more)[0]["maxSumOfBundleBytesInPipeline"], 40_500_000)

    def test_files_are_whole(self):
        """What bpgen and bpsink load, together and by themselves, with all that was rounded."""
        result = {"recovery": {"plain": self.FOUND}, "link": self.LINK}
        both = json.loads(tune_config.text("hdtn", result))
        out, induct, told = tune_config.hdtn_ducts(self.LINK, self.FOUND)
        self.assertEqual((both["outducts"]["outductVector"], both["inducts"]["inductVector"], both["comment"][-3:]), ([out], [induct], told))
        files = {name: json.loads(text) for name, text in tune_config.hdtn_files(self.LINK, self.FOUND)}
        self.assertEqual(files, {"hdtn-outducts.json": both["outducts"], "hdtn-inducts.json": both["inducts"]})
        self.assertEqual(both["outducts"]["outductConfigName"], "helio-tune")
        self.assertIsNone(tune_config.text("hdtn", {"recovery": {"default": self.FOUND}, "link": self.LINK}))

    def test_its_threads_have_their_time(self):
        """20 ms beyond the round trip at least, whatever the timer was that simulation took for the best."""
        for delay, rto, light, timer in ((0.005, 0.018, 5, 34), (0.005, 0.05, 5, 50), (1.28, 2.95, 1280, 2950), (0.0001, 0.002, 1, 26)):
            out, _, _ = tune_config.hdtn_ducts({**self.LINK, "delay_s": delay}, {**self.FOUND, "rto_s": rto})
            self.assertEqual((out["oneWayLightTimeMs"], 2 * (out["oneWayLightTimeMs"] + out["oneWayMarginTimeMs"])), (light, timer))


class ErasureCode(unittest.TestCase):
    """The trade of an erasure code, over fades of 2 ms each 20 ms."""
    RUNS = [(False, 180), (True, 20)] * 2000

    def trade(self, delay, p99, runs=None):
        a = argparse.Namespace(block=100000, delay=delay, processing=0.0, overhead=42, rate=100e6)
        found = {"default": {"segment_bytes": 1024, "predicted": {"delivery_ms": {"p99": p99}}}}
        with unittest.mock.patch.object(tune_code, "read", lambda trace: (1e-4, runs or self.RUNS) if trace != "none" else None):
            return tune_code.trade(a, "F" if runs != [] else "none", found)

    def test_long_round_trip(self):
        found = self.trade(1.28, 9000)
        self.assertGreater(len(found["curve"]), 3)
        self.assertEqual(sorted(found["curve"], key=lambda p: p["span"]), found["curve"])
        taken = found["taken"]
        self.assertEqual(taken["p99_ms"], min(p["p99_ms"] for p in found["curve"] if p["goodput_share"] >= tune_code.LEAST_SHARE))
        for p in found["curve"]:  # fades of one length: a little more than 10 % is lost, and that is what a code needs
            self.assertTrue(0.75 < p["rate"] < 0.9, p)
            self.assertGreater(p["p50_ms"], 1280)
            self.assertLessEqual(p["failed_share"], tune_code.FAILED)
            self.assertTrue(tune_code.fits(p["span"], p["rate"]))
        self.assertIn(f"erasure: {{mode: rs, rate: {taken['rate']:g}, span: {taken['span']}, requests: yes}}", tune_code.words(found)[-1])

    def test_short_round_trip(self):
        found = self.trade(0.005, 40)
        self.assertIsNone(found["taken"])
        self.assertIn("none: no code", tune_code.words(found)[-1])

    def test_no_runs(self):
        found = self.trade(1.28, 9000, [])
        self.assertEqual((found["curve"], found["taken"]), ([], None))

    def test_all_is_lost(self):
        self.assertEqual(self.trade(1.28, 9000, [(True, 100000)])["curve"], [])

    def test_counting(self):
        """Packets of 1 ms, two of 13 are lost: ten segments and three repair segments are enough, and twelve and one are not."""
        channel = tune_code.Channel(1e-3, [(False, 2), (True, 2), (False, 9)] * 200, 1e-3)
        self.assertAlmostEqual(channel.share(), 11 / 13, places=3)
        delays, failed = channel.deliveries(10, 10 / 13, 10, 1.0)
        self.assertEqual(failed, 0)
        self.assertTrue(0.0099 < delays[0] and delays[-1] < 0.0131)  # as soon as ten are there
        delays, failed = channel.deliveries(12, 12 / 13, 12, 1.0)
        self.assertEqual(failed, 1)
        self.assertAlmostEqual(max(delays), 1.013)
        self.assertIsNone(channel.deliveries(2000, 0.9, 10, 1.0))
