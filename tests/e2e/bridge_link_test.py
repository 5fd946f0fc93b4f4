#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-emu bridge with rate, trace, contacts, queue and drop rules for every type of LTP segment. What befalls each frame is
computed a second time, from the capture of what entered and the documentation alone, and compared with the drop log,
with the capture of what left, with what arrived, and with the counters.

usage: bridge_link_test.py BIN_DIR [unittest arguments]
"""
import collections
import csv
import gzip
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import testbed
from emulator_test import read_pcap
from resting import settle, tries
from testbed import Bed

BIN = ""
MS, S = 1_000_000, 1_000_000_000
LTP_PORT = 1113
NAMES = {0: "red_data", 1: "red_cp", 2: "red_cp_eorp", 3: "red_cp_eob", 4: "green_data", 7: "green_eob", 8: "report",
         9: "report_ack", 12: "cancel_sender", 13: "cancel_ack_to_sender", 14: "cancel_receiver",
         15: "cancel_ack_to_receiver"}
TYPES = {"data": {0, 4, 7}, "red": {0}, "green": {4, 7}, "checkpoint": {1, 2, 3}, "report": {8}, "ack": {9},
         "cancel": {12, 14}, "cancel-ack": {13, 15}, "any": set(range(16))}


def sdnv(value):
    out = [value & 127]
    while value := value >> 7:
        out.append(value & 127 | 128)
    return bytes(reversed(out))


def segment(kind, originator, session, number):
    """An LTP segment (RFC 5326 §3), and its columns in the drop log."""
    columns = {"originator": originator, "session": session, "type": kind, "name": NAMES[kind]}
    head = bytes([kind]) + sdnv(originator) + sdnv(session) + b"\0"
    if kind in (0, 1, 2, 3, 4, 7):
        length, offset = 20 + number % 900, number * 1000
        columns.update(offset=offset, data_length=length)
        body = sdnv(1) + sdnv(offset) + sdnv(length)
        if kind in (1, 2, 3):
            columns.update(cp_serial=number + 1, rpt_serial=number % 5)
            body += sdnv(number + 1) + sdnv(number % 5)
        body += bytes([number % 251]) * length
    elif kind == 8:
        columns.update(rpt_serial=number + 1, cp_serial=number % 7)
        body = sdnv(number + 1) + sdnv(number % 7) + sdnv(2000) + sdnv(0) + sdnv(1) + sdnv(0) + sdnv(1 + number % 1999)
    elif kind == 9:
        columns.update(rpt_serial=number + 1)
        body = sdnv(number + 1)
    else:
        body = bytes([number % 5]) if kind in (12, 14) else b""
    return head + body, columns


def wrapped(payload, macs, forward, form):
    """The segment in UDP over IPv4 or IPv6, perhaps with a VLAN tag."""
    udp = struct.pack("!HHHH", LTP_PORT, LTP_PORT, 8 + len(payload), 0) + payload
    if form == "ipv6":
        ip = struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + bytes(15) + b"\1" + bytes(15) + b"\2"
    else:
        ip = struct.pack("!BBHIBBH", 0x45, 0, 20 + len(udp), 0, 64, 17, 0) + bytes(8)
    tag = struct.pack("!HH", 0x8100, 5) if form == "vlan" else b""
    ends = macs[::-1] if forward else macs
    return ends[0] + ends[1] + tag + (b"\x86\xdd" if form == "ipv6" else b"\x08\0") + ip + udp


class Rule:
    """docs/channel.md, drop rules."""

    def __init__(self, text):
        self.text, _, keys = text, *text.partition(":")[1:]
        self.types = set().union(*(TYPES[t] for t in text.split(":")[0].split("+")))
        self.keys = dict(k.split("=") for k in keys.split(",") if k)
        self.seen, self.matched, self.dropped = {}, 0, 0

    def wants(self, c):
        k = self.keys
        if c["type"] not in self.types or any(k[n] != str(c[n]) for n in ("originator", "session") if n in k):
            return False
        self.matched += 1
        counted = (c["originator"], c["session"]) if k.get("per") == "session" else None
        n = self.seen[counted] = self.seen.get(counted, 0) + 1
        if "list" in k:
            chosen = n in map(int, k["list"].split("+"))
        else:
            low, _, high = k.get("range", "1-" + k.get("first", "")).partition("-")
            chosen = int(low) <= n <= int(high or n) and (n - int(low) + 1) % int(k.get("every", 1)) == 0
        self.dropped += chosen
        return chosen


class Way:
    """docs/channel.md: queue, line, rules, contacts and trace, in whole numbers (times on the line in 1 / rate ns)."""

    def __init__(self, rate, rules, overhead=0, steps=(0,), step=MS, outages=(), queue=1 << 60, start_only=False):
        self.rate, self.rules, self.overhead, self.steps, self.step = rate, rules, overhead, steps, step
        self.outages, self.queue, self.start_only = outages, queue, start_only
        self.free, self.last, self.origin = 0, 0, None

    def fate(self, arrival, length, columns):
        self.last = arrival = max(self.last, arrival)
        self.origin = arrival if self.origin is None else self.origin
        drop = columns is not None and any([r.wants(columns) for r in self.rules])
        on_air = (length + self.overhead) * 8 * S
        waits = max(0, self.free // self.rate - arrival)  # what is still to be radiated, in time
        if waits > 0 and waits * self.rate + on_air > self.queue * 8 * S:
            return "queue"
        start = max(self.free, arrival * self.rate)
        self.free = start + on_air
        a, b = start // self.rate, self.free // self.rate
        if drop:
            return "rule"
        if any(a - self.origin < to and b - self.origin > begin for begin, to in self.outages):
            return "outage"
        b = a if self.start_only else b
        first, last = (a - self.origin) // self.step, (max(a, b - 1) - self.origin) // self.step
        return "trace" if any(self.steps[i % len(self.steps)] for i in range(first, last + 1)) else ""


FORWARD = ["checkpoint:list=1+3+40", "report:first=2", "ack:every=5", "cancel:range=3-6", "cancel-ack:range=10-,every=4",
           "red:every=7", "green:list=2", "checkpoint:first=1,per=session,originator=9", "any:session=77,originator=3"]
RETURN = ["report+ack:every=3", "data:range=5-9", "checkpoint+cancel:every=2,per=session"]
STEPS = [0] * 9 + [1] * 2 + [0] * 5 + [1]
# throughout: the kernels' own frames may come long before the first of the test
OUTAGES = [(at * MS, (at + (5 if at % 400 == 0 else 30)) * MS) for at in range(200, 20000, 200)]


class LinkTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def scenario(self):
        with open(self.path("steps.txt"), "w") as f:
            f.write("# step_ns 1000000\n" + "".join(f"{s}\n" for s in STEPS))
        outages = ", ".join(f"{{from: {a}ns, to: {b}ns}}" for a, b in OUTAGES)
        with open(self.path("s.yaml"), "w") as f:
            f.write(f"""
drop_log: drops.csv.gz
pcap_before: before.pcap
pcap_after: after.pcap.gz
overhead: 24B
forward:
  rate: 40Mbit/s
  delay: 5ms
  queue: 20kB
  outages: [{outages}]
  erasures: {{trace: steps.txt}}
  rules: [{", ".join(f'"{r}"' for r in FORWARD)}]
return:
  rate: 100Mbit/s
  delay: 1ms
  queue: none
  erasures: {{trace: steps.txt, frame: start}}
  rules: [{", ".join(f'"{r}"' for r in RETURN)}]
""")
        return self.path("s.yaml")

    def traffic(self, macs):
        """(is it forward, frame) with every type of segment in both directions, and the columns of each frame."""
        draw, sent, known = random.Random(4), [], {}
        for i in range(3000):
            kind = draw.choice(sorted(NAMES))
            data, columns = segment(kind, draw.choice((3, 9, 300)), draw.choice((5, 77, 100000)), i)
            frame = wrapped(data, macs, forward := draw.random() < 0.7, draw.choice(("ipv4", "ipv6", "vlan")))
            sent.append((forward, frame))
            known[frame] = columns
        return sent, known

    def run_through(self, options):
        with Bed(BIN, "--scenario", self.scenario(), *options) as bed:
            macs = [bytes.fromhex(bed.run(place, "cat", "/sys/class/net/link0/address").stdout.strip().replace(":", ""))
                    for place in ("source", "destination")]
            near, far = bed.raw("source"), bed.raw("destination")
            sent, known = self.traffic(macs)
            for first in range(0, len(sent), 10):
                some = [[f for forward, f in sent[first:first + 10] if forward == to] for to in (True, False)]
                if first % 1000 == 500:  # more than the queue takes
                    some = [[f for forward, f in sent[first:first + 300] if forward == to] for to in (True, False)]
                elif 500 < first % 1000 < 800:
                    continue
                near.send_at_once(some[0])
                far.send_at_once(some[1])
                time.sleep(0.002)
            arrived = [[c.frame for c in end.all(0.3, wanted=lambda f: f in known)] for end in (far, near)]
            return macs, known, sent, arrived, bed.stop()

    def expect(self, macs, known):
        """Of each direction what is lost {number: (reason, arrival, length, frame)}, what leaves, and the rules."""
        ways = [Way(40_000_000, [Rule(r) for r in FORWARD], 24, STEPS, outages=OUTAGES, queue=20_000),
                Way(100_000_000, [Rule(r) for r in RETURN], 24, STEPS, start_only=True)]
        lost, left, count = [{}, {}], [[], []], [0, 0]
        for at, frame in read_pcap(self.path("before.pcap")):
            to = frame[6:12] != macs[0]
            count[to] += 1
            reason = ways[to].fate(at, len(frame), known.get(frame))
            if reason:
                lost[to][count[to]] = (reason, ways[to].last, len(frame), frame)
            else:
                left[to].append(frame)
        return ways, lost, left, count

    def check_log(self, lost, known):
        with gzip.open(self.path("drops.csv.gz"), "rt", newline="") as f:
            log = [row for row in csv.DictReader(f) if row["reason"] != "late"]
        self.assertEqual(len(log), sum(map(len, lost)))
        for row in log:
            reason, at, length, frame = lost[row["direction"] == "return"][int(row["frame"])]
            self.assertEqual((row["reason"], int(row["t_ns"]), int(row["length"])), (reason, at, length))
            columns = {k: str(v) for k, v in known.get(frame, {}).items()}
            for key in ("originator", "session", "type", "name", "offset", "data_length", "cp_serial", "rpt_serial"):
                self.assertEqual(row[key], columns.get(key, ""), (key, row))

    def whole(self, *options):
        macs, known, sent, arrived, report = self.run_through(options)
        ways, lost, left, count = self.expect(macs, known)
        self.check_log(lost, known)
        after = [f for _, f in read_pcap(self.path("after.pcap.gz"))]
        for to, name in enumerate(("forward", "return")):
            way = report[name]
            self.assertEqual((way["in"], way["dropped"]["socket"]), (count[to], 0))
            reasons = [reason for reason, *_ in lost[to].values()]
            self.assertEqual({r: n for r, n in way["dropped"].items() if n > 0}, {r: reasons.count(r) for r in set(reasons)})
            # the kernels' own frames come at any time: one may still be inside at the end
            self.assertEqual([f for f in after if (f[6:12] != macs[0]) == to], left[to][:len(left[to]) - way["queued"]])
            self.assertEqual(arrived[to], [f for f in left[to] if f in known])
            self.assertEqual([(r["rule"], r["matched"], r["dropped"]) for r in way["rules"]],
                             [(r.text, r.matched, r.dropped) for r in ways[to].rules])
            self.assertTrue(all(r.dropped > 0 for r in ways[to].rules), [(r.text, r.dropped) for r in ways[to].rules])
        self.assertEqual({known[f]["type"] for r, _, _, f in lost[0].values() if r == "rule"}, set(NAMES))
        return {r for r, *_ in lost[0].values()}

    def every_reason(self, *options):
        """Whether the queue overflows depends on how fast this machine sends: again, when it was too slow for that."""
        for attempt in range(5):
            reasons = self.whole(*options)
            if "queue" in reasons:
                break
            print(f"attempt {attempt + 1}: this machine sent too slowly for the queue to overflow", file=sys.stderr)
        self.assertEqual(reasons, {"trace", "outage", "rule", "queue"})

    def sessions(self, blocks, forward, back, rto="1s", retries=100):
        """Blocks from engine 1 to engine 2 through the rules; both logs, the drop log, the sender's exit code."""
        options = [f"--drop={r}" for r in forward] + [f"--drop-return={r}" for r in back]
        paths = []
        for i in range(blocks):
            paths.append(self.path(f"block{i}"))
            with open(paths[-1], "wb") as f:
                f.write(random.Random(i).randbytes(20_000 + 1000 * i))
        # a stall of some seconds is no reason to give up
        common = ("--rto", rto, "--retries", str(retries), "--timeout", "300s", "--recovery", "plain")
        with Bed(BIN, "--delay", "5ms", "--rate", "50Mbit/s", "--drop-log", self.path("d.csv"), *options) as bed:
            program = os.path.join(BIN, "helio-ltp")
            to = bed.start("destination", program, "receive", "--local", f"10.77.0.2:{LTP_PORT}", "--engine", "2", "--peer-engine",
                           "1", "--output", self.path("in"), "--count", "100", "--log", self.path("2.csv"), *common,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            bed.wait_for(lambda: bed.run("destination", "ss", "-Hlun", f"sport = :{LTP_PORT}").stdout, "nobody listens")
            done = bed.run("source", program, "send", "--local", "10.77.0.1:0", "--remote", f"10.77.0.2:{LTP_PORT}", "--engine",
                           "1", "--peer-engine", "2", "--log", self.path("1.csv"), *common, *paths, check=False)
            bed.settle()
            settle(to.pid, 0.1)
            to.terminate()
            to.wait(300)
            bed.stop()
        logs = []
        for name in ("1.csv", "2.csv", "d.csv"):
            with open(self.path(name), newline="") as f:
                logs.append(list(csv.DictReader(f)))
        return done.returncode, *logs

    def check_sessions(self, ends, drops):
        """In each direction: what one end sent less what the drop log says, in this order, is what came to the other."""
        columns = ("type", "originator", "session", "offset", "cp_serial", "rpt_serial")
        key = lambda row: tuple(row[c] for c in columns)
        for way, (sender, receiver) in (("forward", ends), ("return", ends[::-1])):
            sent = [r for r in sender if r["dir"] == "tx"]
            for row in (r for r in drops if r["direction"] == way and r["reason"] == "rule"):
                repetitions = [r for r in sent if key(r) == key(row) and int(r["t_ns"]) <= int(row["t_ns"]) + MS]
                sent.remove(repetitions[-1])
            left, came = [key(r) for r in sent], [key(r) for r in receiver if r["dir"] == "rx"]
            self.assertEqual(came, left[:len(came)])
            self.assertLessEqual(len(left) - len(came), 3)  # the other end had done

    def test_sessions_survive_the_loss_of_each_segment(self):
        code, one, two, drops = self.sessions(6, ["checkpoint:list=1+4", "ack:first=2", "red:every=9"], ["report:every=3"])
        self.assertEqual(code, 0)
        self.check_sessions((one, two), drops)
        names = collections.Counter(r["name"] for r in drops if r["reason"] == "rule")
        self.assertEqual((names["red_cp_eob"] + names["red_cp"] + names["red_cp_eorp"], names["report_ack"]), (2, 2))
        self.assertGreater(min(names["red_data"], names["report"]), 1)

    def test_a_cancelled_session_survives_the_loss_of_its_segments(self):
        """Again after a stall: the sender waits for a second, no longer, until its cancelling is answered."""
        for _ in tries():
            code, one, two, drops = self.sessions(1, ["checkpoint", "cancel:first=2"], ["cancel-ack:first=1"], "100ms", 8)
            self.assertEqual(code, 1)
            if "cancel_ack_to_sender" in [r["name"] for r in one if r["dir"] == "rx"]:
                break
        self.check_sessions((one, two), drops)
        names = [r["name"] for r in drops if r["reason"] == "rule"]
        self.assertEqual(names, ["red_cp_eob"] * 9 + ["cancel_sender"] * 2 + ["cancel_ack_to_sender"])
        self.assertIn("cancel_ack_to_sender", [r["name"] for r in one if r["dir"] == "rx"])

    def test_ring(self):
        self.every_reason()

    def test_pcap(self):
        self.every_reason("--io", "pcap")


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    testbed.need_namespaces()
    unittest.main()
