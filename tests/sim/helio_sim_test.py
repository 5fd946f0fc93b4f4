#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-sim as its user meets it: figures, repeatability, the log, errors.

usage: helio_sim_test.py PROGRAM [--timed]
"""
import csv
import hashlib
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "helio-sim"
TIMED = "--timed" in sys.argv  # a release build: whole runs, and how long they take
WHOLE = ("test_trace_a", "test_cycles_of_plain_recovery", "test_default_recovery")  # all else is the same in every build
PAPER = ["--rto", "30ms", "--processing", "4ms", "--overhead", "42", "--recovery", "plain"]


def spent():
    """Processor time of our programs that have ended, seconds: what others do on the machine is not in it."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def slowness():
    """How many times slower than the machine of the limits, 1 at least: by a sum that takes 0.3 s of its processor."""
    start = time.process_time()
    sum(i * i for i in range(5_500_000))
    return max(1, (time.process_time() - start) / 0.3)


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False)


def result(*args):
    done = run("--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Figures(unittest.TestCase):
    def near(self, value, wanted, share):
        self.assertLessEqual(abs(value - wanted), share * wanted, f"{value} instead of {wanted}")

    def test_ideal_session(self):
        """8.4 ms radiation + 10 ms channel + 4 ms processing, alone or among seven."""
        for sessions in "1", "7":
            r = result(*PAPER, "--trace", "none", "--sessions", sessions, "--duration", "5s")
            self.near(r["session_ms"]["mean"], 22.4, 0.01)
            self.near(r["delivery_ms"]["mean"], 13.4, 0.01)
            self.assertEqual((r["retx_cycles_mean"], r["checkpoints_lost_mean"],
                              r["lossy_share"], r["frames_lost"]), (0, 0, 0, 0))

    def test_overtaking(self):
        """A channel that reorders and loses nothing: what is sent again is sent for nothing; report_defer waits for it."""
        for recovery in "plain", "default":
            args = ["--trace", "none", "--sessions", "7", "--duration", "5s", "--jitter", "2ms", "--recovery", recovery]
            hasty, patient = result(*args), result(*args, "--report-defer", "2ms")
            self.assertGreater(hasty["repeat_bytes"], 0.02 * hasty["air_bytes"])
            self.assertEqual((patient["repeat_bytes"], patient["retx_cycles_mean"]), (0, 0))
            self.assertGreater(patient["efficiency"], 0.99)
            self.assertLess(patient["session_ms"]["mean"], hasty["session_ms"]["mean"])
            processing = result(*args, "--processing", "4ms")  # claims are those of the sending
            self.assertEqual(processing["repeat_bytes"], 0)

    def test_trace_a(self):
        seconds = 100 if TIMED else 20
        start = spent()
        r = result(*PAPER, "--trace", "A", "--sessions", "7", "--duration", f"{seconds}s")
        took = spent() - start
        tolerance = 1 if TIMED else 2  # the shorter run has seen less of the trace
        self.near(r["sessions"], 11250 * seconds / 100, 0.02 * tolerance)
        self.near(r["session_ms"]["mean"], 32.2, 0.03 * tolerance)
        self.assertGreater(r["efficiency"], 0.95)
        self.assertLessEqual(r["efficiency"], 1)
        if TIMED:
            self.assertLess(took, seconds / 5 * slowness())

    def test_independent_losses_are_worse(self):
        args = [*PAPER, "--sessions", "7", "--duration", "10s"]
        burst, single = result("--trace", "A", *args), result("--trace", "iid:0.0498", *args)
        self.assertGreater(single["session_ms"]["mean"], 1.3 * burst["session_ms"]["mean"])
        self.assertGreater(single["lossy_share"], 0.99)
        self.assertLess(burst["lossy_share"], 0.5)
        self.assertGreater(single["retx_cycles_mean"], 2 * burst["retx_cycles_mean"])

    @staticmethod
    def cycles(n, p):
        """Mean retransmission cycles of a block of n segments. Of n that are sent Bin(n - 1, p) are lost: the last one is the
        checkpoint, which its timer repeats until it is there."""
        mean = [0.0, 0.0]
        for m in range(2, n + 1):
            mean.append(sum(math.comb(m - 1, k) * p**k * (1 - p)**(m - 1 - k) * (1 + mean[k]) for k in range(1, m)))
        return mean[n]

    def test_cycles_of_plain_recovery(self):
        """A repetition has the segments that were lost, none besides, so their number follows the chain n -> Bin(n - 1, p)."""
        blocks = [("20kB", 20, "60s")] + [("500kB", 496, "300s")] * TIMED
        for bundle, n, duration in blocks:
            args = ["--recovery", "plain", "--rto", "30ms", "--bundle", bundle, "--follow", "yes"]
            clean = result(*args, "--trace", "none", "--sessions", "1", "--duration", "60s")  # the last one may be half sent
            self.assertEqual(round(clean["frames"] / clean["sessions"]) - 1, n)  # and a report's acknowledgement
            for p in 0.05, 0.1, 0.2, 0.3:
                r = result(*args, "--trace", f"iid:{p}", "--sessions", "20", "--duration", duration)
                self.near(r["retx_cycles_mean"], self.cycles(n, p), 0.01)

    def test_a_hard_limit_of_segments(self):
        """Where a checkpoint may not be longer, a full last segment becomes two: more cycles, but the same payload share."""
        args = [*PAPER, "--sessions", "7", "--duration", "5s", "--trace", "iid:0.288", "--seed", "3"]
        free, hard = result(*args), result(*args, "--checkpoint-extra", "0")
        self.assertGreater(hard["retx_cycles_mean"], 1.02 * free["retx_cycles_mean"])
        self.assertEqual([r["parameters"]["checkpoint_extra_bytes"] for r in (free, hard)], [20, 0])
        self.near(hard["payload_share"], free["payload_share"], 1e-3)
        self.near(hard["first_data_bytes"] / hard["sessions"], free["first_data_bytes"] / free["sessions"], 0.05)
        self.assertIn("checkpoint-extra", run("--checkpoint-extra", "21").stderr)

    def test_default_recovery(self):
        """Goodput, mean and p99 of the delivery delay; what the named set promises."""
        seconds = 100 if TIMED else 20
        slack = 1 if TIMED else 1.06  # the shorter run has seen less of the trace
        for sessions in "7", "auto":
            for trace, mean, p99 in ("A", 21.5, 50), ("F", 27.5, 90), ("H", 43.5, 150):
                r = result(*PAPER, "--recovery", "default", "--sessions", sessions,
                           "--trace", trace, "--duration", f"{seconds}s")
                what = f"{trace}, {sessions} sessions: {r}"
                self.assertGreaterEqual(r["efficiency"], 0.99 if TIMED else 0.98, what)
                self.assertLessEqual(r["delivery_ms"]["mean"], mean * slack, what)
                self.assertLessEqual(r["delivery_ms"]["p99"], p99 * slack, what)
                self.assertLess(r["copy_bytes"], 0.01 * r["air_bytes"], what)
                self.assertEqual(r["cancelled"], 0, what)

    def test_a_timer_that_learns_begins_with_the_path(self):
        """From 30 ms on no session at the Moon would live long enough to teach it."""
        orders = (["--rto", "auto", "--recovery", "default"], ["--recovery", "default", "--rto", "auto"], ["--recovery", "default"])
        for delay, sessions, tried in (("300ms", 40, orders[:1]), ("400ms", 50, orders[:1]), ("1.28s", 140, orders)):
            far = ["--trace", "H", "--rate", "100Mbit/s", "--delay", delay, "--sessions", str(sessions), "--duration", "40s",
                   "--warmup", "10s"]
            for order in tried:
                r = result(*far, *order)
                self.assertGreaterEqual(r["efficiency"], 0.9, f"{delay}, {order}: {r}")
        done = run(*far[:6], "--sessions", "3", "--duration", "1s", "--rto", "30ms")
        self.assertIn("the timer of 30 ms is shorter than the round trip of 2560 ms", done.stderr)
        self.assertEqual(run("--duration", "1s").stderr, "")

    def test_a_timer_that_learns_begins_with_twice_the_path(self):
        """30 ms at least: on an empty line it never fires, and the first checkpoint that is lost costs just that."""
        for delay, processing, duration, begin in ("5ms", "0", "900ms", 30), ("300ms", "0", "20s", 1200), ("1.28s", "4ms", "30s", 5128):
            far = ["--trace", "none", "--rate", "5Mbit/s", "--bundle", "50kB", "--sessions", "1", "--delay", delay, "--processing", processing,
                   "--duration", duration, "--rto", "auto"]
            for recovery in ([], ["--recovery", "default"])[:1 if begin == 30 else 2]:
                self.assertEqual(result(*far, *recovery)["rto_firings"], 0, (delay, recovery))
            clean, lost = (result(*far, *rule)["session_ms"]["p99"] for rule in ([], ["--drop", "checkpoint:first=1"]))
            self.assertAlmostEqual(lost - clean, begin, delta=0.1)

    def test_followed_sessions_are_not_cut(self):
        """A run that is short against its sessions shows the short ones."""
        far = ["--trace", "H", "--rate", "20Mbit/s", "--delay", "250ms", "--sessions", "8", "--rto", "1s", "--warmup", "1s", "--bundle", "125kB"]
        means = {"no": [], "yes": []}
        for offset in range(0, 60, 6):
            cut, followed = (result(*far, "--trace-offset", f"{offset}s", "--duration", "6s", "--follow", follow) for follow in means)
            self.assertEqual([followed[k] for k in ("goodput_bps", "sessions", "sessions_cut")], [cut["goodput_bps"], cut["sessions"], False])
            means["no"].append(cut["session_ms"]["mean"])
            means["yes"].append(followed["session_ms"]["mean"])
        truth = result(*far, "--duration", "60s")["session_ms"]["mean"]
        self.assertLess(abs(sum(means["yes"]) / 10 / truth - 1), 0.1)
        self.assertLess(sum(means["no"]) / 10 / truth, 0.9)
        self.assertIn("write one of: no, yes", run("--follow", "maybe").stderr)

    def test_switches(self):
        """Each one does something, and none does when the set is plain again."""
        args = [*PAPER, "--trace", "H", "--sessions", "7", "--duration", "3s"]
        plain = result(*args)
        self.assertEqual((plain["copy_bytes"], plain["parameters"]["recovery"]), (0, "plain"))
        for switch in (["--rto", "auto"], ["--closing", "8"], ["--copies", "3"],
                       ["--report-copies", "3"], ["--checkpoint-segments", "50"],
                       ["--checkpoint-time", "1ms"], ["--resend-wait", "2ms"],
                       ["--oldest-first", "yes"], ["--sessions", "auto"]):
            r = result(*args, *switch)
            self.assertNotEqual(r["session_ms"], plain["session_ms"], switch)
        again = result(*args, "--copies", "3", "--recovery", "plain")
        self.assertEqual(again, plain)

    def rows(self, *args):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log.csv")
            r = result("--log", log, *args)
            with open(log, encoding="ascii") as file:
                return r, list(csv.DictReader(file))

    def test_losses_by_rule(self):
        """The first two checkpoints, both times the same one: two timers, nothing else."""
        args = ["--trace", "none", "--sessions", "1", "--duration", "300ms", "--rto", "30ms"]
        r, rows = self.rows(*args, "--drop", "checkpoint:first=2")
        self.assertEqual((r["dropped_by_rule"], r["frames_lost"], r["rto_firings"]), (2, 2, 2))
        sent = [row for row in rows if row["dir"] == "tx" and row["name"] == "red_cp_eob"]
        self.assertEqual([row["attempt"] for row in sent[:4]], ["1", "2", "3", "1"])
        came = [row for row in rows if row["dir"] == "rx" and row["name"] == "red_cp_eob"]
        self.assertEqual(came[0]["t_ns"], str(int(sent[2]["t_ns"]) + int(came[1]["t_ns"]) -
                                              int(sent[3]["t_ns"])))

    def test_losses_by_rule_on_the_way_back(self):
        args = ["--trace", "none", "--sessions", "1", "--duration", "300ms", "--rto", "30ms"]
        r, rows = self.rows(*args, "--drop-return", "report:list=2", "--drop", "ack:list=1")
        self.assertEqual((r["dropped_by_rule"], r["dropped_by_rule_return"]), (1, 1))
        sent = [row for row in rows if row["dir"] == "tx" and row["name"] == "report"]
        came = [row for row in rows if row["dir"] == "rx" and row["name"] == "report"]
        # the second report never came; the first one, not acknowledged, came twice
        lost = sent[1]
        self.assertNotIn(lost["session"], [row["session"] for row in came[:1]])
        self.assertEqual(len([row for row in came if row["session"] == sent[0]["session"]]), 2)
        self.assertEqual(lost["attempt"], "1")
        self.assertTrue([row for row in sent if row["session"] == lost["session"] and
                         row["attempt"] == "2"])

    def test_a_way_back_that_loses(self):
        """Reports are lost as often as the channel loses; each costs the sender a timer: p / (1 - p) of them a session."""
        args = ["--trace", "none", "--sessions", "20", "--rto", "30ms", "--duration", "10s", "--bundle", "100kB"]
        for loss in 0.1, 0.3:
            r = result(*args, "--return-trace", f"iid:{loss}")
            self.near(r["frames_return_lost"] / r["frames_return"], loss, 0.1)
            lost = loss / (1 - loss)
            # the report's own timer repeats it, too: whichever comes first
            self.assertGreater(r["rto_firings"], 0.4 * lost * r["sessions"])
            self.assertLess(r["rto_firings"], 1.2 * lost * r["sessions"])
            self.assertEqual((r["frames_lost"], r["lossy_share"]), (0, 0))
        whole = result(*args, "--return-trace", "A", "--return-offset", "1s")
        self.assertGreater(whole["frames_return_lost"], 0)

    def test_a_way_back_of_its_own_rate(self):
        """One report of n bytes and 42 of overhead takes 8 (n + 42) / rate to send: so much more each session takes."""
        args = ["--trace", "none", "--sessions", "1", "--duration", "2s", "--rto", "300ms"]
        free, rows = self.rows(*args)
        report = next(int(row["udp_len"]) for row in rows if row["dir"] == "tx" and row["name"] == "report")
        slow = result(*args, "--return-rate", "100kbit/s")
        self.assertAlmostEqual(slow["session_ms"]["mean"] - free["session_ms"]["mean"], 8e3 * (report + 42) / 100e3, delta=0.09)

    def test_orange(self):
        """What is told adds up with what the channel did; a loss is sent again, so and so often."""
        args = ["--trace", "A", "--sessions", "7", "--duration", "5s", "--colour"]
        green = result(*args, "green")
        self.assertEqual((green["lost"], green["resent"]), (0, 0))
        once = result(*args, "orange", "--resend", "0")
        self.assertEqual((once["resent"], once["given_up"]), (0, once["lost"]))
        self.near(once["delivered_share"], green["delivered_share"], 0.05)
        self.near(once["delivered_share"], once["delivered"] / (once["sessions"] + once["lost"]), 0.02)
        some, all_ = result(*args, "orange"), result(*args, "orange", "--resend", "50")
        self.assertEqual(some["resent"] + some["given_up"], some["lost"])
        self.assertTrue(once["delivered_share"] < some["delivered_share"] < 1)
        self.assertEqual((all_["delivered_share"], all_["given_up"], all_["resent"]), (1, 0, all_["lost"]))
        quick = result(*args, "orange", "--orange-wait", "2ms")
        self.assertLess(quick["delivery_ms"]["p90"], some["delivery_ms"]["p90"])
        self.assertEqual(some["parameters"]["colour"], "orange")

    def test_orange_without_answers(self):
        r, rows = self.rows("--trace", "none", "--sessions", "1", "--duration", "1s", "--colour", "orange",
                            "--resend", "0", "--orange-answer", "40ms", "--drop-return", "cancel:every=1")
        self.assertEqual((r["sessions"], r["lost"], r["delivered"]), (0, r["given_up"], r["lost"] + 1))
        told = [row for row in rows if row["dir"] == "tx" and row["node"] == "2"]
        self.assertEqual({(row["name"], row["colour"]) for row in told}, {("orange_delivered", "orange")})
        self.assertEqual({row["cause"] for row in rows if row["dir"] == "close" and row["node"] == "1"}, {"lost"})
        sent = [row for row in rows if row["dir"] == "tx" and row["node"] == "1"]
        self.assertEqual({row["colour"] for row in sent if int(row["type"]) < 8}, {"orange"})

    def test_drop_log(self):
        """Each row is the segment with that number in the segment log, and one that never came."""
        with tempfile.TemporaryDirectory() as folder:
            drops = os.path.join(folder, "drops.csv")
            r, rows = self.rows("--trace", "H", "--duration", "500ms", "--rto", "30ms", "--drop",
                                "ack:every=2", "--drop-return", "report:list=3+4", "--drop-log",
                                drops)
            with open(drops, encoding="ascii") as file:
                lost = list(csv.DictReader(file))
        for direction, node, count in (("forward", "1", r["frames_lost"]), ("return", "2", 2)):
            sent = [row for row in rows if row["dir"] == "tx" and row["node"] == node]
            mine = [row for row in lost if row["direction"] == direction]
            self.assertEqual(len(mine), count)
            self.assertEqual(len({row["frame"] for row in mine}), count)
            for row in mine:
                segment = sent[int(row["frame"]) - 1]
                for here, there in (("t_ns", "t_ns"), ("length", "udp_len"), ("name", "name"),
                                    ("type", "type"), ("originator", "originator"),
                                    ("session", "session"), ("offset", "offset"),
                                    ("data_length", "length"), ("cp_serial", "cp_serial"),
                                    ("rpt_serial", "rpt_serial")):
                    self.assertEqual(row[here], segment[there], (row, segment))
            came = [row for row in rows if row["dir"] == "rx" and row["node"] != node]
            gone = {int(row["frame"]) for row in mine}
            kept = [row for i, row in enumerate(sent, 1) if i not in gone]
            self.assertEqual([row["offset"] + "/" + row["session"] for row in kept[:len(came)]],
                             [row["offset"] + "/" + row["session"] for row in came])
        reasons = {row["reason"] for row in lost if row["direction"] == "forward"}
        self.assertEqual(reasons, {"trace", "rule"})
        self.assertTrue(all(row["name"] == "report_ack" for row in lost
                            if row["reason"] == "rule" and row["direction"] == "forward"))

    def test_capacity(self):
        r = result("--trace", "none", "--duration", "1s", "--sessions", "10")
        self.near(r["capacity_bps"], 500e6 * 1010 / 1066, 0.002)
        self.near(r["goodput_bps"], r["delivered"] * 500000 * 8, 1e-9)
        self.near(r["efficiency"], r["goodput_bps"] / r["capacity_bps"], 1e-9)
        self.near(r["carried_share"], r["carried_bps"] / r["capacity_bps"], 1e-9)
        self.near(r["carried_share"], 1, 0.002)

    def test_carried_is_by_the_time_of_sending(self):
        """Against the logs of the run: each byte once, by the first segment that brought it and was not lost."""
        for more in ((), ("--recovery", "default"), ("--processing", "4ms", "--drop", "data:every=9")):
            with self.subTest(more=more), tempfile.TemporaryDirectory() as d:
                paths = [os.path.join(d, name) for name in ("log", "drops")]
                r = result("--trace", "H", "--duration", "500ms", "--warmup", "100ms", "--rate", "100Mbit/s", "--bundle", "100kB",
                           "--log", paths[0], "--drop-log", paths[1], *more)
                rows = []
                for path in paths:
                    with open(path, newline="", encoding="ascii") as f:
                        rows.append(list(csv.DictReader(f)))
                sent = [row for row in rows[0] if row["dir"] == "tx" and row["node"] == "1"]
                lost = {int(row["frame"]) for row in rows[1] if row["direction"] == "forward"}
                parts, there = [0] * 20, {}
                for frame, row in enumerate(sent, 1):
                    if frame in lost or int(row["type"]) >= 8:
                        continue
                    first, length = int(row["offset"]), int(row["length"])
                    have = there.setdefault(row["session"], bytearray(100_000))
                    new = have.count(0, first, first + length)
                    have[first:first + length] = bytes([1]) * length
                    if int(row["t_ns"]) >= 100_000_000:
                        parts[(int(row["t_ns"]) - 100_000_000) // 20_000_000] += new
                self.assertGreater(sum(parts), 1_000_000)
                self.near(r["carried_bps"], sum(parts) * 8 / 0.4, 1e-9)
                for told, part in zip(r["carried_parts"], parts, strict=True):
                    self.assertAlmostEqual(told * r["capacity_bps"], part * 8 / 0.02, places=3)

    def test_the_standard_error_is_of_the_parts(self):
        """By hand, where all parts have the same capacity; and small where the trace alone makes them differ."""
        r = result("--trace", "iid:0.2", "--duration", "2s", "--sessions", "4")
        self.assertEqual(len(r["carried_parts"]), 20)
        self.near(statistics.mean(r["carried_parts"]), r["carried_share"], 1e-9)
        self.near(r["carried_se"], statistics.stdev(r["carried_parts"]) / 20**0.5, 1e-9)
        r = result("--trace", "H", "--duration", "20s", "--sessions", "60")
        self.assertLess(r["carried_se"], 0.1 * statistics.stdev(r["carried_parts"]) / 20**0.5)

    def test_a_rising_pass(self):
        """What was held up before the warm-up's end arrives behind it: more than the capacity of that time, but it was sent before."""
        r = result("--trace", "leo-low", "--delay", "1.28s", "--rate", "10Mbit/s", "--bundle", "125kB", "--sessions", "268", "--rto", "5.122s",
                   "--duration", "102.4s", "--warmup", "25.6s", "--follow", "yes")
        self.assertGreater(r["efficiency"], 1.05)
        self.assertGreater(r["carried_share"], 0.97)
        self.assertLessEqual(r["carried_share"], 1)

    def test_more_than_the_capacity_is_explained(self):
        """One run, and a warm-up that ends elsewhere: 100.3 and 99.6 %. What was carried in that time is the same."""
        link = ("--trace", "iid:0.001", "--rate", "100Mbit/s", "--delay", "50ms", "--bundle", "100kB", "--sessions", "20", "--rto", "208ms", "--duration", "3s", "--follow", "yes")
        for warmup, above in (("700ms", True), ("600ms", False)):
            r, text = result(*link, "--warmup", warmup), run(*link, "--warmup", warmup).stdout
            self.assertEqual((r["efficiency"] > 1, "above 100 %: whole blocks count when complete" in text), (above, above))
            self.assertAlmostEqual(r["carried_share"], 0.9994, delta=0.0002)

    def test_carried_counts_whole_blocks(self):
        """Green and orange ones that never are, and tries that were lost, do not count."""
        for more in (("--colour", "green"), ("--colour", "orange")):
            r = result("--trace", "iid:0.002", "--duration", "3s", "--bundle", "100kB", *more)
            self.assertTrue(0.2 < r["efficiency"] < 0.95, r["efficiency"])
            self.near(r["carried_bps"], r["goodput_bps"], 0.02)

    LONG = ("--rate", "20Mbit/s", "--delay", "1.28s", "--duration", "10s", "--warmup", "3s", "--rto", "3s", "--sessions", "60")

    def test_carried_on_a_long_path(self):
        """What is under way at the end counts for all colours alike, though green blocks are over when they are sent."""
        for more in (("--colour", "green"), ("--colour", "green", "--follow", "yes"), ("--colour", "green", "--jitter", "300ms"),
                     ("--colour", "orange"), ("--colour", "red")):
            with self.subTest(more=more):
                self.near(result(*self.LONG, "--trace", "none", *more)["carried_share"], 1, 0.0005)

    def test_carried_needs_a_receiver(self):
        """Segments drawn so far apart that it gives up every block before its last one is there: only the last 2.08 s may still arrive."""
        r = result(*self.LONG, "--trace", "none", "--colour", "green", "--rto", "1ms", "--jitter", "800ms")
        self.assertEqual(r["delivered"], 0)
        self.assertTrue(0.2 < r["carried_share"] < (2.08 + 0.25) / 7, r["carried_share"])

    def test_carried_green_by_the_logs(self):
        """By hand from both logs: all of a block that lost nothing, nothing of one that did, and what passed of one that is not sent yet."""
        for more in ((), ("--follow", "yes")):
            with self.subTest(more=more), tempfile.TemporaryDirectory() as d:
                paths = [os.path.join(d, name) for name in ("log", "drops")]
                r = result(*self.LONG, "--trace", "iid:0.002", "--colour", "green", "--log", paths[0], "--drop-log", paths[1], *more)
                rows = []
                for path in paths:
                    with open(path, newline="", encoding="ascii") as f:
                        rows.append(list(csv.DictReader(f)))
                sent = list(enumerate((row for row in rows[0] if row["dir"] == "tx" and row["node"] == "1"), 1))
                lost = {int(row["frame"]) for row in rows[1] if row["direction"] == "forward"}
                ended = {row["session"] for _, row in sent if row["type"] == "7"}
                cut = {row["session"] for frame, row in sent if frame in lost} & ended
                carried = sum(int(row["length"]) for frame, row in sent if frame not in lost and int(row["type"]) < 8 and
                              row["session"] not in cut and 3e9 <= int(row["t_ns"]) < 10e9)
                self.assertTrue(cut and ended - cut)
                self.near(r["carried_bps"], carried * 8 / 7, 1e-9)


class Log(unittest.TestCase):
    def log(self, folder, name, *args):
        path = os.path.join(folder, name)
        r = result("--log", path, "--trace", "H", "--duration", "500ms", "--sessions", "12", *args)
        return r, path

    @staticmethod
    def digest(path):
        with open(path, "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()

    def test_same_seed_same_bytes(self):
        with tempfile.TemporaryDirectory() as d:
            a, one = self.log(d, "a", "--seed", "5")
            b, two = self.log(d, "b", "--seed", "5")
            _, three = self.log(d, "c", "--seed", "6")
            self.assertEqual(a, b)
            self.assertEqual(self.digest(one), self.digest(two))
            self.assertNotEqual(self.digest(one), self.digest(three))

    def test_log_agrees_with_the_result(self):
        with tempfile.TemporaryDirectory() as d:
            r, path = self.log(d, "a")
            with open(path, newline="", encoding="ascii") as f:
                rows = list(csv.DictReader(f))
            times = [int(row["t_ns"]) for row in rows]
            self.assertEqual(times, sorted(times))
            self.assertLess(times[-1], 500_000_000)
            sent = [x for x in rows if x["dir"] == "tx" and x["node"] == "1"]
            got = [x for x in rows if x["dir"] == "rx" and x["node"] == "2"]
            closed = [x for x in rows if x["dir"] == "close" and x["node"] == "1"]
            self.assertEqual(len(closed), r["sessions"])
            self.assertEqual(len(sent), r["frames"])
            in_flight = 330  # 5 ms of segments, and control segments
            lost = len(sent) - len(got)
            self.assertTrue(r["frames_lost"] <= lost <= r["frames_lost"] + in_flight)

    def test_one_node(self):
        with tempfile.TemporaryDirectory() as d:
            _, path = self.log(d, "a", "--log-node", "2")
            with open(path, newline="", encoding="ascii") as f:
                self.assertEqual({row["node"] for row in csv.DictReader(f)}, {"2"})


class Errors(unittest.TestCase):
    def test_usage(self):
        for args, word in ((["--recovery", "magic"], "plain"), (["--rate", "fast"], "Mbit/s"),
                           (["--rto", "50us"], "100us"), (["--sessions", "0"], "1 to 65536"),
                           (["--copies", "-1"], "1000"), (["--merge-claims", "1"], "yes"),
                           (["--copy-spacing", "2"], "ms"), (["--sessions-bytes", "x"], "GiB"),
                           (["--segment", "63"], "64B to 65kB"), (["--trace", "iid:2"], "iid:0.05"),
                           (["--colour", "blue"], "orange"), (["--resend", "-1"], "1000000"),
                           (["--drop", "rapport"], "checkpoint"), (["--drop-return", "report:last=1"], "first=N"),
                           (["--delay", "5"], "ms"), (["extra"], "extra"), (["--nonsense"], "--")):
            done = run(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(word, done.stderr, args)

    def test_files(self):
        self.assertEqual(run("--trace", "/nonexistent").returncode, 2)
        self.assertEqual(run("--log", "/nonexistent/x", "--duration", "1ms").returncode, 2)
        if os.path.exists("/dev/full"):
            done = run("--log", "/dev/full", "--duration", "50ms")
            self.assertEqual(done.returncode, 1)
            self.assertIn("/dev/full", done.stderr)

    def test_plain_text_trace(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
            f.write("# half of the time\n0 50\n1 50\n")
            f.flush()
            r = result("--trace", f.name, "--duration", "1s")
            self.assertAlmostEqual(r["good_share"], 0.5)
            slow = ("--trace", f.name, "--duration", "1s", "--rate", "20Mbit/s", "--segment", "1024B", "--overhead", "42")
            r, text = result(*slow), run(*slow).stdout
            air = 8 * 1066 / 20e6  # of good runs of 5 ms a segment may begin in all but this
            self.assertAlmostEqual(r["reachable_share"], 1 - air / 5e-3, delta=1e-3)
            self.assertIn(f"{100 * r['reachable_share']:.2f} % of the capacity at most", text)
        self.assertEqual(result("--trace", "iid:0.1", "--duration", "1s")["reachable_share"], 1)


class Peers(unittest.TestCase):
    """Several peers on one line: shares, colours, an outage."""
    LINK = ("--rate", "100Mbit/s", "--bundle", "100kB", "--duration", "5s", "--warmup", "1s", "--rto", "60ms", "--trace", "none")

    def peers(self, count, *more):
        r = result(*self.LINK, "--peers", str(count), *more)
        x = [p["goodput_bps"] / p["weight"] for p in r["peers"]]
        self.assertAlmostEqual(r["fairness"], sum(x) ** 2 / (count * sum(v * v for v in x)), places=9)  # Jain's index
        self.assertAlmostEqual(sum(p["line_share"] for p in r["peers"]), 1, places=9)
        self.assertAlmostEqual(sum(p["goodput_bps"] for p in r["peers"]), r["goodput_bps"], delta=1)
        return r, r["peers"]

    def test_equal_peers_have_equal_shares(self):
        for count, more in ((2, ()), (5, ()), (16, ()), (4, ("--trace", "A")), (4, ("--trace", "H", "--recovery", "default"))):
            r, peers = self.peers(count, *more)
            self.assertGreaterEqual(r["fairness"], 0.95, (count, more))
            self.assertGreaterEqual(r["fairness_line"], 0.999, (count, more))
            for p in peers:
                self.assertAlmostEqual(p["line_share"], 1 / count, delta=0.02 / count)

    def test_weights(self):
        r, peers = self.peers(3, "--peer", "2:weight=2", "--peer", "3:weight=3")
        self.assertGreater(r["fairness"], 0.995)  # of goodput over weight
        for p in peers:
            self.assertAlmostEqual(p["line_share"], p["weight"] / 6, delta=0.005)

    def test_an_outage_starves_nobody(self):
        _, whole = self.peers(3)
        _, peers = self.peers(3, "--peer", "2:outage=2s-4s")
        for i in 0, 2:  # what the one cannot use the others have, but for its timers' repetitions
            self.assertGreater(peers[i]["goodput_bps"], 1.1 * whole[i]["goodput_bps"])
        self.assertAlmostEqual(peers[0]["goodput_bps"] / peers[2]["goodput_bps"], 1, delta=0.02)
        self.assertTrue(0.2 * whole[1]["goodput_bps"] < peers[1]["goodput_bps"] < 0.8 * whole[1]["goodput_bps"])
        _, peers = self.peers(3, "--peer", "2:outage=0s-1h")
        self.assertEqual((peers[1]["goodput_bps"], peers[1]["session_ms"]), (0, None))
        for i in 0, 2:
            self.assertGreater(peers[i]["goodput_bps"], 1.3 * whole[i]["goodput_bps"])

    def test_mixed_colours(self):
        for share in 0, 0.25, 0.5, 1:
            _, (one, two) = self.peers(2, "--red", str(share))
            for p in one, two:
                sent = p["red"]["sent"] + p["green"]["sent"]
                self.assertLessEqual(abs(p["red"]["sent"] - share * sent), 1)
                self.assertAlmostEqual(p["goodput_bps"], p["red"]["goodput_bps"] + p["green"]["goodput_bps"], delta=1)
                self.assertEqual(p["session_ms"] is None, share == 0)
        # With losses all red blocks arrive, and of the green ones those that lost nothing: (1 - 0.01) ** 102 segments of 1 %
        _, peers = self.peers(2, "--trace", "iid:0.01", "--peer", "1:red=0.5", "--warmup", "0")
        red, green = peers[0]["red"], peers[0]["green"]
        self.assertGreater(red["delivered"], red["sent"] - 25)  # but for those under way at the end
        self.assertAlmostEqual(green["delivered"] / green["sent"], 0.99 ** 102, delta=0.12)
        self.assertEqual(peers[1]["green"]["sent"], 0)
        for words in (("--peer", "2:red=0.5", "--red", "0.9"), ("--red", "0.9", "--peer", "2:red=0.5")):  # in whatever order
            r = result(*self.LINK, "--peers", "3", *words)
            self.assertEqual([p["red_share"] for p in r["peers"]], [0.9, 0.5, 0.9])

    def test_lines_of_their_own(self):
        alone = result(*self.LINK, "--sessions", "10")["goodput_bps"]
        _, peers = self.peers(3, "--own-lines", "--sessions", "10")
        for p in peers:
            self.assertAlmostEqual(p["goodput_bps"] / alone, 1, delta=0.005)
        _, (one,) = self.peers(1, "--sessions", "10")
        self.assertAlmostEqual(one["goodput_bps"] / alone, 1, delta=0.005)

    def test_each_has_its_own_fades(self):
        """Of one trace each begins at another place; --peer gives it another one."""
        _, peers = self.peers(3, "--trace", "A", "--peer", "3:trace=iid:0.2")
        shares = [p["frames_lost"] / p["frames"] for p in peers]
        self.assertAlmostEqual(shares[2], 0.2, delta=0.01)
        self.assertLess(max(shares[:2]), 0.09)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:  # a second of 30 is bad: where the first one begins
            f.write("1 10000\n0 290000\n")
            f.flush()
            _, peers = self.peers(3, "--trace", f.name, "--duration", "500ms", "--warmup", "0")
        self.assertEqual([p["frames_lost"] == p["frames"] > 50 for p in peers], [True, False, False])
        self.assertEqual([p["frames_lost"] for p in peers[1:]], [0, 0])

    def test_the_same_again_and_as_text(self):
        words = (*self.LINK, "--peers", "3", "--trace", "F", "--red", "0.3", "--seed", "9")
        self.assertEqual(run(*words).stdout, run(*words).stdout)
        text = run(*words).stdout
        self.assertIn("3 peers, sharing a line of 100.000 Mbit/s", text)
        self.assertRegex(text, r"\n4 +F +1 +[0-9.]+ Mbit/s")
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log.csv")
            run(*words, "--log", log)
            with open(log, newline="", encoding="ascii") as f:
                rows = list(csv.DictReader(f))
            self.assertEqual({row["node"] for row in rows}, {"1", "2", "3", "4"})

    def test_errors(self):
        for words, text in ((("--peers", "17"), "16"), (("--peers", "2", "--peer", "3:weight=1"), "there are 2 peers"),
                            (("--peers", "2", "--peer", "1:weight=0"), "weight (1 to 1000)"), (("--peers", "2", "--peer", "1"), "I:KEY=VALUE"),
                            (("--peers", "2", "--peer", "1:outage=2s-1s"), "outage"), (("--peers", "2", "--red", "2"), "write a number from 0 to 1"),
                            (("--peers", "2", "--colour", "green"), "--red says"), (("--peers", "2", "--follow", "yes"), "--follow does not go"),
                            (("--peers", "2", "--peer", "1:trace=nofile"), "nofile")):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(f"Figures.{name}" for name in WHOLE if TIMED)])
