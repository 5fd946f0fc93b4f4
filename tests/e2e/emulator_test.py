#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-emu relay with a scenario: what must be lost is computed here a second time, from the capture of what entered
and the scenario alone, and compared with what arrived, with the drop log and with the counters.

usage: emulator_test.py BIN_DIR [unittest arguments]
"""
import csv
import gzip
import os
import pty
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import relay_test
from relay_test import OPEN, Relay, numbered, udp
from resting import STEP, rests, stop

SOL_UDP, UDP_SEGMENT, UDP_GRO = 17, 103, 104
HEADERS = 42  # UDP, IPv4, Ethernet
MS = 1_000_000
S = 1_000_000_000


class Sink(threading.Thread):
    """Counts numbered datagrams as they come, many at a time (UDP_GRO), with the checks that cost little."""

    def __init__(self, sock, size, emulator):
        super().__init__()
        self.sock, self.size, self.emulator, self.numbers, self.wrong, self.sent = sock, size, emulator, [], 0, threading.Event()
        sock.setsockopt(SOL_UDP, UDP_GRO, 1)
        try:
            sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE: a stall of the machine fits in
        except PermissionError:
            pass
        sock.settimeout(STEP)
        self.start()

    def run(self):
        looks, size = 0, self.size
        while looks < 0.7 / STEP:
            try:
                data = self.sock.recv(65536)
            except TimeoutError:
                looks = looks + 1 if self.sent.is_set() and rests(self.emulator.pid) else 0
                continue
            looks = 0
            for at in range(0, len(data), size):
                number = int.from_bytes(data[at:at + 4], "big")
                self.wrong += data[at + 4:at + size] != bytes([number % 251]) * (size - 4)
                self.numbers.append(number)

    def done(self):
        self.sent.set()
        self.join()
        memory = struct.unpack("9I", self.sock.getsockopt(socket.SOL_SOCKET, 55, 36))  # SO_MEMINFO
        self.dropped = memory[8]
        return self.numbers


def blast(sock, address, count, size, rate, first=0):
    """Datagrams numbered from `first` at `rate` bits on the air, in trains that the kernel cuts."""
    train = max(1, min(60000 // size, int(rate * 200e-6 / 8 / (size + HEADERS))))
    sock.setsockopt(SOL_UDP, UDP_SEGMENT, size)
    begin = time.monotonic()
    for i in range(0, count, train):
        data = b"".join(numbered(first + n, size) for n in range(i, min(i + train, count)))
        due = begin + i * (size + HEADERS) * 8 / rate
        while time.monotonic() < due:
            time.sleep(0)
        sock.sendto(data, address)


def read_pcap(path, interface=None):
    """(time, frame) of each packet of a capture of helio-emu: pcapng, nanoseconds, Ethernet. interface: of that direction alone."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        data = f.read()
    at, records, interfaces = 0, [], []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body, end = data[at + 8:at + length - 4], struct.unpack_from("<I", data, at + length - 4)[0]
        assert end == length and length % 4 == 0, (at, length, end)
        if kind == 1:
            interfaces.append(body[8:])
            assert struct.unpack_from("<HHI", body) == (1, 0, 65600)
        elif kind == 6:
            on, high, low, held, whole = struct.unpack_from("<IIIII", body)
            assert held == whole and on in (0, 1)
            if interface in (None, on):
                records.append(((high << 32) + low, body[20:20 + held]))
        at += length
    assert not data or [b"forward" in i and b"helio-emu " in i for i in interfaces] == [True, False], interfaces
    return records


def payload(frame):
    return frame[14 + (40 if frame[12:14] == b"\x86\xdd" else 20) + 8:]


def ones_sum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return total


def rows(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        return list(csv.DictReader(f))


class Model:
    """A frame's time on the air and what it meets, in whole numbers: times in units of 1 / rate ns."""

    def __init__(self, rate, steps=(), step=MS // 10, contacts=None, start_only=False, once=False):
        self.rate, self.steps, self.step, self.start_only, self.once = rate, steps, step, start_only, once
        self.contacts, self.free, self.origin, self.last = contacts, 0, None, 0

    def bad_step(self, start, end):
        first = (start - self.origin) // self.step
        last = (max(end - 1, start) - self.origin) // self.step
        return any(self.steps[i % len(self.steps)] for i in range(first, last + 1)
                   if 0 <= i < len(self.steps) or not self.once)

    def fate(self, arrival, length):
        self.last = arrival = max(self.last, arrival)
        self.origin = arrival if self.origin is None else self.origin
        self.free = max(self.free, arrival * self.rate)
        start = self.free // self.rate
        self.free += (length + HEADERS) * 8 * S
        end = self.free // self.rate
        if self.contacts is not None and not any(
                a <= start - self.origin and end - self.origin <= b for a, b in self.contacts):
            return "outage"
        return "trace" if self.steps and self.bad_step(start, start if self.start_only else end) else ""


class EmulatorTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def tearDown(self):
        while OPEN:
            OPEN.pop()()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def scenario(self, lines):
        with open(self.path("s.yaml"), "w") as f:
            f.write("\n".join(lines) + "\n")
        return "--scenario", self.path("s.yaml")

    def finish(self, relay, code=0):
        self.assertEqual(relay.stop(signal.SIGINT), code, relay.said)
        for way in ("forward", "return"):
            c = relay.counters[way]
            self.assertEqual(c["in"] + c["duplicated"], c["out"] + sum(c["dropped"].values()) + c["queued"])
        self.assertEqual(relay.counters["faithful"], not relay.counters["not_faithful"])
        self.assertEqual(relay.counters["faithful"], "NOT FAITHFUL" not in relay.said)
        self.assertNotIn("\033", relay.said)
        return relay.counters["forward"]

    def send(self, count, size, rate, *options, family=socket.AF_INET):
        far, near = udp(family), udp(family)
        relay = Relay(far, *options, family=family)
        sink = Sink(far, size, relay.p)
        blast(near, relay.address, count, size, rate)
        numbers = sink.done()
        forward = self.finish(relay)
        self.assertEqual(sink.wrong, 0)
        self.assertEqual(len(numbers) + sink.dropped, forward["out"])  # what the receiver lost is not the relay's
        return relay, numbers, forward

    def test_nothing_is_lost_at_a_gigabit(self):
        """Up to five times: the machine's own stalls are not the relay's."""
        for _ in range(5):
            count = 100000
            relay, numbers, forward = self.send(count, 1028, 1e9, "--rate", "1Gbit/s", "--delay", "10ms",
                                                "--drop-log", self.path("d.csv"))
            self.assertEqual(numbers, sorted(set(numbers)))  # order kept, nothing twice
            told = [r for r in rows(self.path("d.csv")) if r["reason"] != "late"]
            self.assertEqual(told, [])
            if len(numbers) == count:
                break
        self.assertEqual(len(numbers), count, forward)
        self.assertEqual((forward["in"], forward["out"]), (count, count))
        print(f"1 Gbit/s: late p50 {forward['late_us']['p50']} us, p99 {forward['late_us']['p99']} us, "
              f"active {forward['active_s']:.3f} s, faithful {relay.counters['faithful']}", file=sys.stderr)

    def check_exact(self, model, lines, count=30000, size=986, rate=200e6):
        relay, numbers, forward = self.send(count, size, rate, *self.scenario(lines))
        entered = read_pcap(self.path("before.pcap"))
        self.assertEqual(len(entered), forward["in"] - forward["dropped"]["socket"])
        expected, lost, previous = [], {}, 0
        for i, (at, frame) in enumerate(entered, 1):
            reason = model.fate(at, len(payload(frame)))
            previous = max(previous, at)
            number = int.from_bytes(payload(frame)[:4], "big")
            if reason:
                lost[i] = (reason, previous, size)
            else:
                expected.append(number)
        log = [r for r in rows(self.path("drops.csv.gz")) if r["reason"] != "late"]
        told = {int(r["frame"]): (r["reason"], int(r["t_ns"]), int(r["length"])) for r in log}
        self.assertEqual(len(told), len(log))
        self.assertEqual(told, lost)
        left = [int.from_bytes(payload(f)[:4], "big") for _, f in read_pcap(self.path("after.pcap"))]
        self.assertEqual(left, expected)
        self.assertLessEqual(set(numbers), set(expected))
        self.assertEqual(numbers, sorted(numbers))
        for reason in ("trace", "outage"):
            self.assertEqual(forward["dropped"][reason], sum(r == reason for r, _, _ in lost.values()))
        return lost

    outputs = ["drop_log: drops.csv.gz", "pcap_before: before.pcap", "pcap_after: after.pcap"]

    def trace_file(self, mean_good, mean_bad, seed):
        draw, steps = random.Random(seed), []
        while len(steps) < 20000:
            steps += [0] * (1 + int(draw.expovariate(1 / mean_good))) + [1] * (1 + int(draw.expovariate(1 / mean_bad)))
        with open(self.path("trace.txt"), "w") as f:
            f.write("# step_ns 50000\n")
            state, run = 0, 0
            for s in steps + [None]:
                if s == state:
                    run += 1
                else:
                    f.write(f"{state} {run}\n")
                    state, run = s, 1
        return steps

    def test_exactly_what_meets_a_bad_step_is_lost(self):
        steps = self.trace_file(30, 6, 1)
        lost = self.check_exact(Model(200_000_000, steps, 50_000),
                                ["forward:", "  rate: 200Mbit/s", "  delay: 5ms", "  erasures: {trace: trace.txt}",
                                 *self.outputs])
        self.assertGreater(len(lost), 1000)

    def test_the_start_alone_may_count(self):
        steps = self.trace_file(3, 1, 2)
        model = [Model(200_000_000, steps, 50_000, start_only=s) for s in (True, False)]
        lost = self.check_exact(model[0], ["forward:", "  rate: 200Mbit/s",
                                           "  erasures: {trace: trace.txt, frame: start}", *self.outputs], 10000)
        entered = read_pcap(self.path("before.pcap"))
        self.assertGreater(sum(model[1].fate(at, 986) != "" for at, _ in entered), len(lost))

    def test_a_trace_begins_at_a_time_of_day(self):
        steps = self.trace_file(30, 6, 5)
        for after in (-3, 1):
            at = int(time.time()) + after
            model = Model(200_000_000, steps, 50_000, once=True)
            model.origin = at * S
            lost = self.check_exact(model, ["forward:", "  rate: 200Mbit/s", "  erasures: {trace: {file: trace.txt, loop: no}}",
                                            f"  start: {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(at))}", *self.outputs],
                                    *((10, 986) if after < 0 else (40000, 986)))  # over already; before it, and in it
            self.assertEqual(len(lost) > 0, after > 0)

    def test_contacts_and_a_trace(self):
        steps = self.trace_file(40, 4, 3)
        contacts = [(0, 300 * MS), (400 * MS, 450 * MS), (600 * MS, 10 * S)]
        listed = ", ".join(f"{{from: {a}ns, to: {b}ns}}" for a, b in contacts)
        lost = self.check_exact(Model(200_000_000, steps, 50_000, contacts),
                                ["forward:", "  rate: 200Mbit/s", "  erasures: {trace: trace.txt}",
                                 f"  contacts: [{listed}]", *self.outputs])
        self.assertEqual({r for r, _, _ in lost.values()}, {"trace", "outage"})

    def test_the_delay_follows_its_table(self):
        """Measured between the captures; a batch and the machine's stalls come on top, never less. Up to five times: a long stall
        meets most frames."""
        lines = ["forward:", "  delay: [{at: 0, delay: 20ms}, {at: 500ms, delay: 120ms}]", *self.outputs]
        for _ in range(5):
            excess = self.excess_delays(lines)
            self.assertGreaterEqual(excess[0], -10)
            if excess[len(excess) // 2] < 3 * MS:
                break
        self.assertLess(excess[len(excess) // 2], 3 * MS)

    def excess_delays(self, lines):
        self.send(600, 200, 242 * 8 * 1000, *self.scenario(lines))
        before, after = read_pcap(self.path("before.pcap")), read_pcap(self.path("after.pcap"))
        self.assertEqual([f[42:] for _, f in before], [f[42:] for _, f in after])
        excess = []
        for (a, _), (b, _) in zip(before, after):
            due = 20 * MS + min(a - before[0][0], 500 * MS) // 5
            excess.append(b - a - due)
        return sorted(excess)

    def test_hold_keeps_frames_for_the_next_contact(self):
        lines = ["forward:", "  rate: 10Mbit/s", "  off_contact: hold",
                 "  contacts: [{from: 0, to: 50ms}, {from: 300ms, to: 10s}]", *self.outputs]
        _, numbers, forward = self.send(200, 983, 10e6, *self.scenario(lines))
        self.assertLessEqual(200 - forward["out"], 1)  # the one that the contact's end cut
        self.assertEqual(forward["dropped"]["outage"], 200 - forward["out"])
        before, after = read_pcap(self.path("before.pcap")), read_pcap(self.path("after.pcap"))
        off = [b - before[0][0] for b, _ in after if 51 * MS < b - before[0][0] < 300 * MS]
        self.assertEqual(off, [])

    def test_duplicates_corruption_and_bursts_have_their_lines(self):
        lines = ["seed: 3", "forward:", "  duplicate: 0.1", "  corrupt: 0.1",
                 "  erasures: {gilbert_elliott: {good: 20ms, bad: 5ms}}", *self.outputs]
        far, near = udp(), udp()
        relay = Relay(far, *self.scenario(lines))
        collector = relay_test.Collector(far, relay.p)
        sent = [numbered(i, 100) for i in range(2000)]
        for i, frame in enumerate(sent):
            near.sendto(frame, relay.address)
            if i % 5 == 4:
                time.sleep(0.001)
        got = [d for d, _ in collector.done()]
        forward = self.finish(relay)
        log = rows(self.path("drops.csv.gz"))
        count = {r: sum(x["reason"] == r for x in log) for r in ("duplicate", "corrupt", "burst")}
        self.assertEqual(count["duplicate"], forward["duplicated"])
        self.assertEqual(count["burst"], forward["dropped"]["burst"])
        self.assertGreater(min(count.values()), 50)
        damaged = [d for d in got if d not in set(sent)]
        self.assertEqual(len(damaged), forward["corrupted"])
        self.assertTrue(all(len(d) == 100 for d in damaged))
        lost = {int(x["frame"]) - 1 for x in log if x["reason"] == "burst"}
        arrived = {int.from_bytes(d[:4], "big") for d in got if d in set(sent)}
        self.assertEqual(arrived & lost, set())

    def capture_is_right(self, family):
        far, peers = udp(family), [udp(family) for _ in range(4)]
        relay = Relay(far, *self.scenario([*self.outputs, "both: {delay: 2ms}"]), family=family)
        for i in range(100):
            for n, peer in enumerate(peers):
                peer.sendto(struct.pack(">HH", n, i) + b"odd", relay.address)
            time.sleep(0.001)
        sources, got = {}, {n: [] for n in range(4)}
        for _ in range(400):
            data, source = far.recvfrom(100)
            n, i = struct.unpack(">HH", data[:4])
            got[n].append(i)
            sources[n] = source
            if i == 99:
                far.sendto(b"answer", source)
        self.assertEqual(got, {n: list(range(100)) for n in range(4)})  # each flow's order is kept
        self.assertEqual(len(set(sources.values())), 4)
        for peer in peers:
            self.assertEqual(peer.recvfrom(100), (b"answer", relay.address)
                             if family == socket.AF_INET else (b"answer", (*relay.address, 0, 0)))
        self.finish(relay)
        before, after = read_pcap(self.path("before.pcap")), read_pcap(self.path("after.pcap"))
        self.assertEqual((len(before), len(after)), (404, 404))
        length, of_addresses = (40, slice(22, 54)) if family == socket.AF_INET6 else (20, slice(26, 34))
        for _, frame in before + after:
            datagram = frame[14 + length:]
            pseudo = frame[of_addresses] + struct.pack(">II", len(datagram), 17)
            self.assertEqual(ones_sum(pseudo + datagram), 0xffff)
            if length == 20:
                self.assertEqual(ones_sum(frame[14:34]), 0xffff)
        ports = {struct.unpack(">H", f[14 + length:16 + length])[0] for _, f in before}
        self.assertEqual(ports, {s.getsockname()[1] for s in [far, *peers]})

    def test_several_flows(self):
        self.capture_is_right(socket.AF_INET)

    @unittest.skipUnless(os.path.exists("/proc/net/if_inet6"), "no IPv6 here")
    def test_several_flows_over_ipv6(self):
        self.capture_is_right(socket.AF_INET6)

    @unittest.skipUnless(os.path.exists("/proc/net/if_inet6"), "no IPv6 here")
    def test_the_largest_datagram_of_ipv6_is_captured(self):
        far, near = udp(socket.AF_INET6), udp(socket.AF_INET6)
        relay = Relay(far, *self.scenario(self.outputs), family=socket.AF_INET6)
        largest = random.Random(1).randbytes(65527)
        near.sendto(largest, relay.address)
        self.assertEqual(far.recv(70000), largest)
        self.finish(relay)
        for name in ("before.pcap", "after.pcap"):
            self.assertEqual([payload(f) for _, f in read_pcap(self.path(name))], [largest])

    def test_overload_is_told(self):
        """A receive buffer of a few datagrams and a burst of many: the kernel drops, the report says so."""
        far, near = udp(), udp()
        relay = Relay(far, "--socket-buffer", "4kB")
        stop(relay.p)
        for i in range(500):
            near.sendto(numbered(i, 1000), relay.address)
        relay.p.send_signal(signal.SIGCONT)
        time.sleep(0.2)
        forward = self.finish(relay)
        self.assertGreater(forward["dropped"]["socket"], 100)
        self.assertEqual(forward["in"], 500)
        self.assertFalse(relay.counters["faithful"])
        self.assertIn("NOT FAITHFUL: ", relay.said)
        self.assertIn("dropped by the kernel", relay.said)

    def test_it_is_told_in_red_on_a_terminal(self):
        near, (screen, terminal) = udp(), pty.openpty()
        p = subprocess.Popen([os.path.join(relay_test.BIN, "helio-emu"), "relay", "--listen", "127.0.0.1:0", "--to",
                              relay_test.text(near), "--drop-log", "/dev/full"], stderr=terminal)
        OPEN.append(p.kill)
        said = b""
        while b"ready" not in said:
            said += os.read(screen, 4096)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 1)
        while b"\x1b[0m" not in said:
            said += os.read(screen, 4096)
        self.assertIn(b"\x1b[1;31mNOT FAITHFUL: ", said)
        os.close(screen)
        os.close(terminal)

    def test_lateness_is_told(self):
        far, near = udp(), udp()
        relay = Relay(far, "--drop-log", self.path("d.csv"), "--tolerance", "1ms")
        near.sendto(b"early", relay.address)
        self.assertEqual(far.recv(100), b"early")
        stop(relay.p)
        near.sendto(b"late", relay.address)
        time.sleep(0.1)
        relay.p.send_signal(signal.SIGCONT)
        self.assertEqual(far.recv(100), b"late")
        forward = self.finish(relay)
        late = rows(self.path("d.csv"))
        self.assertEqual((late[-1]["frame"], late[-1]["reason"], late[-1]["length"]), ("2", "late", "4"))
        self.assertGreater(int(late[-1]["late_ns"]), 80 * MS)
        self.assertGreaterEqual(forward["late_us"]["beyond"], 1)
        self.assertFalse(relay.counters["faithful"])

    def test_a_full_disk_is_told(self):
        far, near = udp(), udp()
        relay = Relay(far, "--drop-log", "/dev/full", "--trace", "iid:1")
        near.sendto(b"x", relay.address)
        time.sleep(0.1)
        self.finish(relay, 1)
        self.assertGreater(relay.counters["drop_log"]["lost"], 0)
        self.assertIn("lines of the drop log lost", relay.counters["not_faithful"][-1])
        self.assertIn("helio-emu: /dev/full: cannot be written: No space left", relay.said)

    def test_a_log_can_be_read_on_the_way(self):
        """Half a second after it happened, though nothing else comes that would wake the relay."""
        far, near = udp(), udp()
        relay = Relay(far, "--drop-log", self.path("d.csv"), "--trace", "iid:1", "--pcap-before", self.path("b.pcap"))
        until = time.monotonic() + 300
        for n in (1, 2):
            near.sendto(b"x", relay.address)
            while len(read_pcap(self.path("b.pcap"))) < n or len(rows(self.path("d.csv"))) < n:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
        self.finish(relay)

    def test_refused_datagrams_have_their_lines(self):
        far, near = udp(), udp()
        relay = Relay(far, "--drop-log", self.path("d.csv"), "--return-to", "127.255.255.255:9",  # needs SO_BROADCAST
                      "--pcap-before", self.path("before.pcap"), "--pcap-after", self.path("after.pcap"))
        far.sendto(b"no way", relay.address)
        time.sleep(0.2)
        self.finish(relay)
        self.assertEqual([payload(f) for _, f in read_pcap(self.path("before.pcap"))], [b"no way"])
        self.assertEqual(read_pcap(self.path("after.pcap")), [])  # it did not leave
        self.assertEqual(relay.counters["return"]["dropped"]["send"], 1)
        row, = [r for r in rows(self.path("d.csv")) if r["reason"] == "send"]
        self.assertEqual((row["direction"], row["frame"], row["length"]), ("return", "1", "6"))
        self.assertFalse(relay.counters["faithful"])
        near.close()

    def ltp(self, mode, name, *arguments):
        p = subprocess.Popen([os.path.join(relay_test.BIN, "helio-ltp"), mode, "--log", self.path(name),
                              "--rto", "100ms", "--retries", "1000", "--timeout", "300s", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        OPEN.append(p.kill)
        return p

    def test_the_first_two_reports_of_each_session_are_dropped(self):
        port = udp()
        far = port.getsockname()[1]
        port.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", far))
            relay = Relay(probe, *self.scenario(['return: {rules: ["report:first=2,per=session"]}',
                                                 "drop_log: drops.csv.gz"]))
        files = []
        for i in range(3):
            files.append(self.path(f"block{i}"))
            with open(files[-1], "wb") as f:
                f.write(random.Random(i).randbytes(20000 + i))
        receiver = self.ltp("receive", "2.csv", "--local", f"127.0.0.1:{far}", "--engine", "2", "--peer-engine", "1",
                            "--output", self.path("in"), "--count", "3")
        time.sleep(0.3)
        sender = self.ltp("send", "1.csv", "--local", "127.0.0.1:0", "--remote", f"127.0.0.1:{relay.address[1]}",
                          "--engine", "1", "--peer-engine", "2", *files)
        self.assertEqual(sender.wait(400), 0)
        self.assertEqual(receiver.wait(400), 0)
        self.finish(relay)
        dropped = [r for r in rows(self.path("drops.csv.gz")) if r["reason"] == "rule"]
        self.assertEqual(relay.counters["return"]["rules"][0]["dropped"], len(dropped))
        sent = [r for r in rows(self.path("2.csv")) if r["dir"] == "tx" and r["name"] == "report"]
        came = [r for r in rows(self.path("1.csv")) if r["dir"] == "rx" and r["name"] == "report"]
        key = ("originator", "session", "cp_serial", "rpt_serial")
        sessions = {r["session"] for r in sent}
        self.assertEqual(len(sessions), 3)
        for session in sessions:
            of = [[tuple(r[k] for k in key) for r in log if r["session"] == session] for log in (sent, dropped, came)]
            self.assertGreaterEqual(len(of[0]), 3)
            self.assertEqual(of[1], of[0][:2])  # the drop log names the very first two
            self.assertGreaterEqual(len(of[2]), 1)
            self.assertEqual(of[2], of[0][2:2 + len(of[2])])  # all others came, until the sender had done
            again = [r["cause"] for r in sent if r["session"] == session]
            self.assertEqual(again[0], "first")
            self.assertTrue({"timer", "answer"} & set(again[1:3]))
        self.assertTrue(all(r["name"] == "report" and r["direction"] == "return" for r in dropped))

    def test_check_prints_what_reads_back(self):
        emu = os.path.join(relay_test.BIN, "helio-emu")
        top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
        for name in ("link-a", "leo-pass", "report-loss"):
            first = subprocess.run([emu, "check", os.path.join(top, name + ".yaml")], capture_output=True, text=True)
            self.assertEqual(first.returncode, 0, first.stderr)
            with open(self.path("again.yaml"), "w") as f:
                f.write(first.stdout)
            again = subprocess.run([emu, "--check", self.path("again.yaml")], capture_output=True, text=True)
            self.assertEqual(again.stdout, first.stdout)
        wrong = subprocess.run([emu, "check", *self.scenario(["forward:", "  rte: 1Mbit/s", "  delay: 5"])[1:]],
                               capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("s.yaml:2: forward.rte: unknown key; did you mean rate?", wrong.stderr)
        self.assertIn("s.yaml:3: forward.delay:", wrong.stderr)


if __name__ == "__main__":
    relay_test.BIN = sys.argv.pop(1)
    unittest.main()
