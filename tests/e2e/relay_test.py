#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-emu relay on real sockets: numbered datagrams go through it, and what arrives, when, and the
counters must agree. Times have wide tolerances upwards: the machine may stall.

usage: relay_test.py BIN_DIR [unittest arguments]
"""
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from resting import STEP, rests

BIN = ""
OPEN = []  # sockets and relays of the present test
HOSTS = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


def udp(family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM)
    for name in (8, 33):  # SO_RCVBUF, SO_RCVBUFFORCE
        try:
            s.setsockopt(socket.SOL_SOCKET, name, 4 << 20)
        except PermissionError:
            pass
    s.bind((HOSTS[family], 0))
    s.settimeout(300)
    OPEN.append(s.close)
    return s


def text(s):
    host, port = s.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Collector(threading.Thread):
    """Receives until, after done() was called, nothing came for `quiet` seconds in which the emulator had nothing to do."""

    def __init__(self, sock, emulator, quiet=0.7):
        super().__init__()
        self.sock, self.emulator, self.quiet, self.sent, self.got = sock, emulator, quiet, threading.Event(), []
        self.start()

    def run(self):
        looks = 0  # are counted: this thread may stall as well
        while looks < self.quiet / STEP:
            if select.select([self.sock], [], [], STEP)[0]:
                data = self.sock.recv(65536)
                self.got.append((data, time.monotonic()))
                looks = 0
            else:
                looks = looks + 1 if self.sent.is_set() and rests(self.emulator.pid) else 0

    def done(self):
        self.sent.set()
        self.join()
        return self.got


class Relay:
    def __init__(self, to, *options, family=socket.AF_INET):
        host = HOSTS[family]
        listen = f"[{host}]:0" if family == socket.AF_INET6 else f"{host}:0"
        self.json = tempfile.NamedTemporaryFile(suffix=".json")
        self.p = subprocess.Popen([os.path.join(BIN, "helio-emu"), "relay", "--listen", listen, "--to", text(to),
                                   "--json", self.json.name, *options], stderr=subprocess.PIPE, text=True)
        OPEN.append(self.kill)
        self.said = ""
        while "ready" not in self.said:
            line = self.p.stderr.readline()
            if not line:
                raise AssertionError(f"the relay ended: {self.said}")
            self.said += line
        address = self.said.split("relay ")[1].split(" to ")[0]
        self.address = (host, int(address.rsplit(":", 1)[1]))

    def kill(self):
        self.p.kill()
        self.p.wait()
        self.p.stderr.close()

    def stop(self, sig=signal.SIGINT):
        self.p.send_signal(sig)
        self.said += self.p.communicate(timeout=300)[1]
        with open(self.json.name) as f:
            self.counters = json.load(f)
        self.json.close()
        return self.p.returncode


def change_with_much_unread(emulator, control, change, send):
    """The emulator is stopped, datagrams come, then a change, and it goes on: the datagrams were first."""
    emulator.send_signal(signal.SIGSTOP)
    os.waitpid(emulator.pid, os.WUNTRACED)
    send()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asker:
        asker.bind(os.path.join(folder, "asker"))
        asker.settimeout(60)
        asker.sendto(change.encode(), control)
        emulator.send_signal(signal.SIGCONT)
        answer = asker.recv(2000).decode()
        assert answer.startswith("ok"), answer


def numbered(i, size):
    return i.to_bytes(4, "big") + bytes([i % 251]) * (size - 4)


class RelayTest(unittest.TestCase):
    def tearDown(self):
        while OPEN:
            OPEN.pop()()

    def adds_up(self, relay):
        for way in ("forward", "return"):
            c = relay.counters[way]
            self.assertEqual(c["in"] + c["duplicated"], c["out"] + sum(c["dropped"].values()) + c["queued"])
        return relay.counters["forward"], relay.counters["return"]

    def finish(self, relay, sig=signal.SIGINT):
        self.assertEqual(relay.stop(sig), 0, relay.said)
        return self.adds_up(relay)

    def send_all(self, frames, relay, far, family=socket.AF_INET, pause=0.001, burst=10):
        near, collector, times = udp(family), Collector(far, relay.p), []
        for i, frame in enumerate(frames):
            before = time.monotonic()
            near.sendto(frame, relay.address)
            times.append((before, time.monotonic()))
            if i % burst == burst - 1:
                time.sleep(pause)
        got = collector.done()
        return times, got

    def marks_travel(self, family):
        """Datagrams that can be marked are, when they waited; the others are not; none is lost."""
        far, near = udp(family), udp(family)
        option = (socket.IPPROTO_IPV6, 67, 66) if family == socket.AF_INET6 else (socket.IPPROTO_IP, 1, 13)  # (RECV)TCLASS, TOS
        far.setsockopt(option[0], option[2], 1)
        drops = tempfile.NamedTemporaryFile(suffix=".csv")
        relay = Relay(far, "--rate", "1Mbit/s", "--set", "forward.mark=2ms", "--drop-log", drops.name, family=family)
        for i in range(400):
            near.setsockopt(option[0], option[1], i % 4)
            near.sendto(numbered(i, 100), relay.address)
        fields = {}
        far.settimeout(5)
        while len(fields) < 400:
            data, notes, _, _ = far.recvmsg(2000, 100)
            fields[int.from_bytes(data[:4], "big")] = notes[0][2][0] & 3 if notes else 0
        forward, _ = self.finish(relay)
        self.assertEqual(forward["out"], 400)
        self.assertTrue(all(f in (i % 4, 3) and (i % 4 or f == 0) for i, f in fields.items()), fields)
        self.assertGreater(forward["marked"], 200)  # the line needs 450 ms for all of them
        self.assertGreaterEqual(sum(f == 3 for f in fields.values()), forward["marked"])
        with open(drops.name, encoding="ascii") as f:
            self.assertEqual(sum(",mark," in line for line in f), forward["marked"])

    def test_marks_travel(self):
        self.marks_travel(socket.AF_INET)
        self.marks_travel(socket.AF_INET6)

    def test_codel_drops_what_stands(self):
        far, near = udp(), udp()
        relay = Relay(far, "--rate", "1Mbit/s", "--set", "forward.codel={target: 2ms, interval: 20ms}")
        for i in range(600):  # the line needs 680 ms for them
            near.sendto(numbered(i, 100), relay.address)
        with self.assertRaises(TimeoutError):
            far.settimeout(0.5)
            while True:
                far.recv(2000)
        forward, _ = self.finish(relay)
        # 650 ms of dropping at 20 ms / sqrt(n): 20 (sqrt(4n) ...) = 2 * 20 * sqrt(n), so n is some 260
        self.assertGreater(forward["dropped"]["codel"], 60)
        self.assertEqual(forward["out"] + forward["dropped"]["codel"], 600)

    def passes_all(self, family):
        far = udp(family)
        relay = Relay(far, "--delay", "20ms", family=family)
        frames = [numbered(i, 4 + i * 37 % 1400) for i in range(2000)]
        times, got = self.send_all(frames, relay, far, family)
        self.assertEqual([d for d, _ in got], frames)
        late = sorted(at - before - 0.020 for (_, at), (before, _) in zip(got, times))
        self.assertGreaterEqual(late[0], 0)
        self.assertLess(late[len(late) // 2], 0.030)
        forward, _ = self.finish(relay)
        self.assertEqual((forward["in"], forward["out"]), (2000, 2000))
        self.assertEqual(forward["in_bytes"], sum(map(len, frames)))
        self.assertEqual(forward["out_bytes"], forward["in_bytes"])
        self.assertEqual(forward["good_share_active"], 1)

    def test_passes_all_in_order_after_the_delay(self):
        self.passes_all(socket.AF_INET)

    @unittest.skipUnless(os.path.exists("/proc/net/if_inet6"), "no IPv6 here")
    def test_passes_all_over_ipv6(self):
        self.passes_all(socket.AF_INET6)

    def test_empty_and_largest_datagrams(self):
        far = udp()
        relay = Relay(far)
        frames = [b"", b"x", os.urandom(65507), b"", os.urandom(60000)]
        _, got = self.send_all(frames, relay, far, burst=1)
        self.assertEqual([d for d, _ in got], frames)
        forward, _ = self.finish(relay)
        self.assertEqual(forward["out"], 5)

    def test_independent_losses_follow_their_seed(self):
        lost = []
        for seed in ("5", "5", "6"):
            far = udp()
            relay = Relay(far, "--trace", "iid:0.2", "--seed", seed)
            _, got = self.send_all([numbered(i, 50) for i in range(3000)], relay, far)
            forward, _ = self.finish(relay)
            arrived = [int.from_bytes(d[:4], "big") for d, _ in got]
            self.assertEqual(arrived, sorted(set(arrived)))
            self.assertEqual(len(arrived), forward["out"])
            self.assertEqual(forward["dropped"]["random"], 3000 - len(arrived))
            self.assertAlmostEqual(forward["dropped"]["random"], 600, delta=5 * 22)
            self.assertAlmostEqual(forward["good_share"], 0.8)
            lost.append(set(range(3000)) - set(arrived))
        self.assertEqual(lost[0], lost[1])
        self.assertNotEqual(lost[0], lost[2])

    def test_a_known_trace_erases_what_comes_in_its_bad_time(self):
        far = udp()
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as trace:
            trace.write("# step_ns 1000000\n0 150\n1 100 # bad\n")
            trace.flush()
            relay = Relay(far, "--trace", trace.name, "--trace-start", "50ms", "--delay", "5ms")
        times, got = self.send_all([numbered(i, 100) for i in range(900)], relay, far, burst=1)
        arrived = {int.from_bytes(d[:4], "big") for d, _ in got}
        margin = 0.003
        origin = (times[0][0] - margin, times[0][1] + margin)
        judged = [0, 0]
        for i, (before, after) in enumerate(times):
            early, late = before - origin[1] + 0.050, after - origin[0] + 0.050
            if int(early / 0.25) != int(late / 0.25) or (early % 0.25 < 0.15) != (late % 0.25 < 0.15):
                continue  # too near to an edge to say
            bad = early % 0.25 >= 0.15
            judged[bad] += 1
            self.assertEqual(i not in arrived, bad, f"frame {i}, {early * 1000:.1f} ms into the trace")
        self.assertGreater(min(judged), 100)
        forward, _ = self.finish(relay)
        self.assertEqual(forward["dropped"]["trace"], 900 - len(arrived))
        self.assertAlmostEqual(forward["good_share_active"], 0.6, delta=0.1)

    def test_frames_leave_at_the_rate(self):
        far = udp()
        relay = Relay(far, "--rate", "8Mbit/s")  # 958 + 42 bytes: 1 ms
        times, got = self.send_all([numbered(i, 958) for i in range(200)], relay, far, burst=200)
        self.assertEqual(len(got), 200)
        self.assertGreaterEqual(got[-1][1] - times[0][0], 0.200)
        self.assertLess(got[-1][1] - times[0][0], 0.500)
        self.finish(relay)

    def test_the_queue_has_a_limit(self):
        far = udp()
        relay = Relay(far, "--rate", "8kbit/s", "--overhead", "0", "--queue", "1000B")
        _, got = self.send_all([numbered(i, 100) for i in range(30)], relay, far, burst=30)
        forward, _ = self.finish(relay)
        self.assertGreaterEqual(forward["dropped"]["queue"], 19)
        self.assertGreaterEqual(len(got), 10)
        self.assertEqual(len(got), forward["out"])

    def test_answers_and_own_traffic_come_back(self):
        near, far = udp(), udp()
        relay = Relay(far, "--delay-return", "30ms", "--trace", "none")
        far.sendto(b"too early", relay.address)
        time.sleep(0.2)
        near.sendto(b"question", relay.address)
        question, source = far.recvfrom(100)
        self.assertEqual(question, b"question")
        sent = time.monotonic()
        far.sendto(b"answer", source)
        self.assertEqual(near.recvfrom(100), (b"answer", relay.address))
        self.assertGreaterEqual(time.monotonic() - sent, 0.030)
        far.sendto(b"own", relay.address)
        self.assertEqual(near.recvfrom(100), (b"own", relay.address))
        _, back = self.finish(relay, signal.SIGTERM)
        self.assertEqual((back["in"], back["out"], back["dropped"]["no_peer"]), (3, 2, 1))

    def test_return_from_another_socket(self):
        near, far, other = udp(), udp(), udp()
        relay = Relay(far, "--return-from", text(other))
        near.sendto(b"forward", relay.address)
        self.assertEqual(far.recv(100), b"forward")
        other.sendto(b"back", relay.address)
        self.assertEqual(near.recvfrom(100), (b"back", relay.address))
        forward, back = self.finish(relay)
        self.assertEqual((forward["in"], back["in"]), (1, 1))

    def test_return_to_a_fixed_address_needs_no_forward_traffic(self):
        near, far = udp(), udp()
        relay = Relay(far, "--return-to", text(near))
        far.sendto(b"first", relay.address)
        self.assertEqual(near.recvfrom(100), (b"first", relay.address))
        self.finish(relay)

    def test_each_of_several_peers_gets_its_answers(self):
        far, peers = udp(), [udp() for _ in range(5)]
        relay = Relay(far)
        sources = set()
        for i, peer in enumerate(peers):
            peer.sendto(b"%d" % i, relay.address)
            data, source = far.recvfrom(100)
            sources.add(source)
            far.sendto(data + b" answered", source)
        self.assertEqual(len(sources), 5)
        for i, peer in enumerate(peers):
            self.assertEqual(peer.recvfrom(100), (b"%d answered" % i, relay.address))
        self.finish(relay)

    def test_the_table_of_peers_has_a_limit(self):
        far, peers = udp(), [udp() for _ in range(257)]
        relay = Relay(far, "--delay-return", "100ms")
        sources = []
        for peer in peers[:256]:
            peer.sendto(b"hello", relay.address)
            sources.append(far.recvfrom(100)[1])
        self.assertEqual(len(set(sources)), 256)
        far.sendto(b"too late", sources[0])  # its peer is gone when it comes out
        time.sleep(0.02)
        peers[256].sendto(b"hello", relay.address)  # takes the place of the first
        self.assertEqual(far.recvfrom(100)[1], sources[0])
        far.sendto(b"for the last", sources[0])
        far.sendto(b"for the second", sources[1])
        self.assertEqual(peers[256].recv(100), b"for the last")
        self.assertEqual(peers[1].recv(100), b"for the second")
        _, back = self.finish(relay)
        self.assertEqual((back["in"], back["out"], back["dropped"]["no_peer"]), (3, 2, 1))

    def test_signals_and_duration(self):
        far = udp()
        relay = Relay(far)
        relay.p.send_signal(signal.SIGUSR1)
        self.assertTrue(relay.p.stderr.readline().startswith("forward  in 0"))
        self.finish(relay)
        p = subprocess.run([os.path.join(BIN, "helio-emu"), "relay", "--listen", "127.0.0.1:0", "--to", text(far),
                            "--duration", "50ms", "--json", "-"], capture_output=True, text=True, timeout=10)
        self.assertEqual(p.returncode, 0)
        self.assertEqual(json.loads(p.stdout)["forward"]["in"], 0)

    def test_wrong_options_are_named(self):
        good = ["relay", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"]
        wrong = [([], "a command is missing: "), (["rely"], "'rely' is unknown"), (good[:3], "--to is missing"),
                 (good + ["--delay", "5"], "--delay: both.delay: \"5\" is not understood; write a duration"),
                 (good + ["--rate", "fast"], "forward.rate: \"fast\" is not understood; write a rate"),
                 (good + ["--overhead", "-1"], "overhead: \"-1\" is not understood; write a size"),
                 (good + ["--trace", "iid:2"], "--trace: forward.erasures.iid: \"2\""), (good + ["--trace", "/no/file"], "/no/file"),
                 (good + ["--to", "here"], "write ADDRESS:PORT"), (good + ["--queue", "x"], "write a size such as 64MB, a duration"),
                 (good + ["--to", "127.0.0.1:70000"], "write ADDRESS:PORT"),
                 (good + ["extra"], "\"extra\" is one word too many"), (good + ["--to", good[good.index("--listen") + 1]], "--listen"), (good + ["--trace-origin", "x"], "first, start"),
                 (good + ["--set", "forward.rte=1Mbit/s"], "forward.rte: unknown key; did you mean rate?"),
                 (good + ["--set", "x"], "write KEY=VALUE"), (good + ["--drop", "telex"], "write data, red"),
                 (good + ["--queue", "20ms"], "a limit in time needs a rate"),
                 (good + ["--scenario", "/no/file"], "/no/file: cannot be read")]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as trace:
            trace.write("0 5\n2 7\n")
            trace.flush()
            wrong.append((good + ["--trace", trace.name], f"{trace.name}:2: the state must be 0 (good) or 1 (bad)"))
            for arguments, message in wrong:
                with self.subTest(arguments=arguments):
                    p = subprocess.run([os.path.join(BIN, "helio-emu"), *arguments], capture_output=True, text=True,
                                       timeout=300)
                    self.assertEqual(p.returncode, 2, p.stderr)
                    self.assertIn(message, p.stderr)

    def test_a_taken_port_fails(self):
        taken, far = udp(), udp()
        p = subprocess.run([os.path.join(BIN, "helio-emu"), "relay", "--listen", text(taken), "--to", text(far)],
                           capture_output=True, text=True, timeout=10)
        self.assertEqual(p.returncode, 1)
        self.assertIn("cannot listen at", p.stderr)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
