#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-emu stream on real sockets: what passes comes whole, in order, not before its time, at the rate; stalls, ends, resets, the limit of
octets under way, many connections, one reader that does not read. Times are bounds from below: a slow machine is late, never early. Where a
rate has a bound from above, the run is repeated when the relay's own account says that the machine was late.

usage: emulator_stream_test.py BIN_DIR [unittest arguments]
"""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
import _paths  # noqa: F401
from heliograph import ports  # pylint: disable=wrong-import-position

BIN = ""
WAIT = 300
RESET = struct.pack("ii", 1, 0)


def run(*arguments):
    return subprocess.run([os.path.join(BIN, "helio-emu"), *arguments], capture_output=True, text=True, timeout=WAIT, check=False)


def octets(n):
    return (bytes(range(251)) * (n // 251 + 1))[:n]


def receive(s, n):
    """So many octets, or what there is before the end."""
    got = bytearray()
    while len(got) < n and (piece := s.recv(min(1 << 20, n - len(got)))):
        got += piece
    return bytes(got)


class Stream(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="helio-stream-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def relay(self, *options, to=None):
        """The relay with these options; self.server accepts what it connects to."""
        self.server = socket.create_server(("127.0.0.1", 0), backlog=300)
        self.server.settimeout(WAIT)
        self.addCleanup(self.server.close)
        self.port = ports.free_ports(1)[0]
        self.json, self.control = os.path.join(self.folder, "account.json"), os.path.join(self.folder, "control")
        self.p = subprocess.Popen([os.path.join(BIN, "helio-emu"), "stream", "--listen", f"127.0.0.1:{self.port}",
                                   "--to", to or "127.0.0.1:%d" % self.server.getsockname()[1], *options,
                                   "--json", self.json, "--control", self.control], stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.p.stderr.close)
        self.addCleanup(self.p.wait)
        self.addCleanup(self.p.kill)
        said = ""
        while ", ready" not in said:
            line = self.p.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.ready = time.monotonic()
        self.assertIn("MB of memory", said)

    def call(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
        self.addCleanup(s.close)
        return s

    def pair(self):
        near = self.call()
        far, _ = self.server.accept()
        far.settimeout(WAIT)
        self.addCleanup(far.close)
        return near, far

    def status(self):
        told = run("status", self.control)
        self.assertEqual(told.returncode, 0, told.stderr)
        return json.loads(told.stdout)

    def until(self, what):
        """The first status of which this is true."""
        end = time.monotonic() + WAIT
        while not what(told := self.status()):
            self.assertLess(time.monotonic(), end, told)
            time.sleep(0.05)
        return told

    def stop(self):
        self.p.send_signal(signal.SIGINT)
        self.assertEqual(self.p.wait(WAIT), 0)
        with open(self.json, encoding="utf-8") as f:
            told = json.load(f)
        for way in (told["forward"], told["return"]):
            self.assertEqual(way["in_bytes"], way["out_bytes"] + way["lost_bytes"] + way["queued_bytes"], told)
        self.assertLessEqual(told["memory_most_bytes"], told["memory_limit_bytes"])
        return told

    def test_whole_in_order_and_not_before_its_time(self):
        self.relay("--delay-forward", "100ms", "--delay-return", "200ms")
        data = octets(20 << 20)
        begun = time.monotonic()
        near, far = self.pair()
        near.sendall(b"question")
        self.assertEqual(far.recv(100), b"question")
        self.assertGreaterEqual(time.monotonic() - begun, 0.1)
        begun = time.monotonic()
        sender = threading.Thread(target=lambda: (far.sendall(data), far.shutdown(socket.SHUT_WR)))
        sender.start()
        self.assertEqual(receive(near, len(data) + 1), data)
        self.assertGreaterEqual(time.monotonic() - begun, 0.2)
        sender.join()
        begun = time.monotonic()
        near.sendall(b"more")  # half of the connection has ended, not this one
        near.shutdown(socket.SHUT_WR)
        self.assertEqual(receive(far, 100), b"more")
        self.assertGreaterEqual(time.monotonic() - begun, 0.1)
        self.until(lambda told: told["open"] == 0)
        told = self.stop()
        self.assertEqual((told["connections"], told["forward"]["out_bytes"], told["return"]["out_bytes"]), (1, 12, len(data)))
        self.assertEqual((told["forward"]["lost_bytes"], told["return"]["lost_bytes"]), (0, 0))

    def rate_of(self, rate, options):
        """Octets that come in two seconds, as a share of the rate, and how late the relay was at most (us)."""
        self.relay("--rate-return", f"{rate}bit/s", *options)
        near, far = self.pair()

        def send():
            try:
                while True:
                    far.sendall(bytes(1 << 18))
            except OSError:
                pass
        sender = threading.Thread(target=send)
        sender.start()
        room, come = bytearray(1 << 20), 0
        near.recv_into(room)
        begun = now = time.monotonic()
        while now < begun + 2:
            come += near.recv_into(room)
            now = time.monotonic()
        told = self.stop()
        near.close()
        sender.join()
        return come * 8 / (now - begun) / rate, told["return"]["late_max_us"]

    def test_the_rate(self):
        """Within 2 % over two seconds."""
        for rate, options in ((20_000_000, ()), (200_000_000, ("--delay", "100ms")), (50_000_000, ("--delay", "20ms"))):
            for _ in range(30):
                share, late = self.rate_of(rate, options)
                self.assertLess(share, 1.02)
                if share > 0.98:
                    break
                self.assertGreater(late, 5000, f"{share} of {rate} with a machine that was in time")
            self.assertGreater(share, 0.98)

    def test_stalls(self):
        """Nothing leaves while the line stands still, though it came before; then all does."""
        self.relay("--stalls-forward", "500ms-1500ms")
        near, far = self.pair()
        far.setblocking(False)
        near.sendall(b"x")
        come = []
        while time.monotonic() < self.ready + 1.7 or len(come) < 170:
            try:
                far.recv(100)
                come.append(time.monotonic() - self.ready)
            except BlockingIOError:
                pass
            near.sendall(b"x")
            time.sleep(0.01)
        # `ready` was read a little after the line began: what comes late by that is not in the window
        self.assertEqual([t for t in come if 0.6 < t < 1.4], [])
        self.assertTrue(any(t > 1.4 for t in come))
        self.stop()

    def test_a_reset_passes_after_the_delay(self):
        self.relay("--delay", "100ms")
        near, far = self.pair()
        near.sendall(b"before")
        near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        begun = time.monotonic()
        near.close()
        with self.assertRaises(ConnectionResetError):
            while far.recv(100):
                pass
        self.assertGreaterEqual(time.monotonic() - begun, 0.1)
        near, far = self.pair()
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        far.close()
        with self.assertRaises(ConnectionResetError):
            while True:
                near.sendall(b"x" * 1000)  # meanwhile this goes nowhere
                time.sleep(0.001)
        told = self.until(lambda told: told["open"] == 0)
        self.assertGreater(told["forward"]["lost_bytes"], 0)
        self.stop()

    def test_the_urgent_octet(self):
        """As Space Link Extension aborts: the octet, then the end."""
        self.relay("--delay", "20ms")
        near, far = self.pair()
        near.sendall(b"before")
        near.send(b"\x84", socket.MSG_OOB)
        near.shutdown(socket.SHUT_WR)
        self.assertEqual(receive(far, 6), b"before")
        self.until(lambda told: told["forward"]["out_bytes"] == 6)
        end = time.monotonic() + WAIT
        while True:
            try:
                self.assertEqual(far.recv(1, socket.MSG_OOB), b"\x84")
                break
            except OSError:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
        self.assertEqual(far.recv(100), b"")
        self.stop()

    def test_nobody_is_there(self):
        self.relay(to="127.0.0.1:%d" % ports.free_ports(1)[0])
        with self.assertRaises(ConnectionResetError):
            self.assertEqual(self.call().recv(1), None)
        self.assertEqual(self.until(lambda told: told["open"] == 0)["unreached"], 1)
        self.stop()

    def test_the_limit_of_octets_under_way(self):
        """A sender waits when so many are under way, though its reader would take them."""
        self.relay("--limit", "1MiB", "--delay", "400ms")
        near, far = self.pair()
        data = octets(8 << 20)
        sender = threading.Thread(target=near.sendall, args=(data,))
        begun = time.monotonic()
        sender.start()
        self.assertEqual(receive(far, len(data)), data)
        self.assertGreaterEqual(time.monotonic() - begun, 8 * 0.4)  # 1 MiB in each delay
        sender.join()
        told = self.stop()
        self.assertLessEqual(told["forward"]["queued_most_bytes"], 1 << 20)
        self.assertEqual(told["forward"]["limit_bytes"], 1 << 20)

    def test_many_connections_and_a_reader_that_does_not_read(self):
        self.relay("--connections", "101", "--rate", "400Mbit/s", "--delay", "10ms", "--limit", "256KiB")
        near, far = self.pair()
        held = threading.Thread(target=lambda: self.assertRaises(OSError, lambda: [near.sendall(bytes(1 << 20)) for _ in range(10000)]))
        held.start()
        self.until(lambda told: told["forward"]["queued_most_bytes"] == 256 << 10)
        data, others, threads = octets(200_000), [], []
        for _ in range(100):
            others.append(self.pair())
        with self.assertRaises(ConnectionResetError):
            self.assertEqual(self.call().recv(1), None)  # one too many
        for one, _ in others:
            threads.append(threading.Thread(target=lambda s=one: (s.sendall(data), s.shutdown(socket.SHUT_WR))))
            threads[-1].start()
        for _, other in others:
            self.assertEqual(receive(other, len(data) + 1), data)
            other.close()
        for t in threads:
            t.join()
        self.assertGreater(self.status()["forward"]["queued_bytes"], 200 << 10)
        told = self.stop()
        held.join()
        far.close()
        self.assertEqual((told["connections"], told["refused"], told["open_most"]), (102, 1, 101))

    def change(self, text):
        told = run("change", self.control, text)
        self.assertEqual((told.returncode, told.stdout[:4]), (0, "ok, "), told)

    def test_changes_while_it_runs(self):
        """Delay, rate and stalls of one direction, and a change that is wrong as a whole."""
        self.relay("--delay", "400ms")
        near, far = self.pair()
        begun = time.monotonic()
        near.sendall(b"a")
        self.until(lambda told: told["forward"]["in_bytes"] == 1)
        self.change("both: {delay: 1ms}")
        far.sendall(b"b")
        self.assertEqual(near.recv(1), b"b")  # the other direction has nothing on its way
        near.sendall(b"c")
        self.assertEqual(receive(far, 2), b"ac")
        self.assertGreaterEqual(time.monotonic() - begun, 0.4)  # what is on its way keeps its delay, and is not overtaken
        self.change("forward: {rate: 8Mbit/s}")
        begun = time.monotonic()
        near.sendall(bytes(300_000))
        receive(far, 300_000)
        self.assertGreaterEqual(time.monotonic() - begun, 0.3)
        self.change("forward: {stall: 1h}")
        near.sendall(b"d")
        far.sendall(b"e")
        self.assertEqual(near.recv(1), b"e")
        far.settimeout(0.5)
        self.assertRaises(TimeoutError, far.recv, 1)
        far.settimeout(WAIT)
        told = self.status()
        self.assertEqual([told[way]["stalled"] for way in ("forward", "return")], [True, False])
        for wrong, why in (("forward: {delay: 5ms, rate: 5x}", "forward.rate"), ("listen: 127.0.0.1:5", "listen"), ("nonsense", "such as forward")):
            refused = run("change", self.control, wrong)
            self.assertEqual((refused.returncode, why in refused.stderr), (2, True), refused)
        self.change("forward: {stall: 0s, delay: 2ms}")
        self.assertEqual(far.recv(1), b"d")
        told = self.stop()
        self.assertEqual((told["changes"], told["forward"]["rate_bps"], told["return"]["rate_bps"]), (4, 8_000_000, 0))
        self.assertEqual((told["forward"]["delay_us"], told["return"]["delay_us"]), (2000, 1000))

    def test_the_file_and_its_errors(self):
        path = os.path.join(self.folder, "wan.yaml")
        example = os.path.join(SOURCE, "examples", "emu-stream.yaml")
        told = run("stream", example, "--delay", "7ms", "--check")
        self.assertEqual((told.returncode, told.stdout.count("delay: 7ms")), (0, 2), told)
        with open(path, "w", encoding="utf-8") as f:
            f.write(told.stdout)
        self.assertEqual(run("stream", path, "--check").stdout, told.stdout)  # reads back to the same
        with open(path, "w", encoding="utf-8") as f:
            f.write("listen: 127.0.0.1:5100\nforward:\n  dealy: 5ms\n")
        told = run("stream", path, "--check")
        self.assertEqual((told.returncode, told.stderr), (2, f"helio-emu: {path}:3: forward.dealy: unknown key; did you mean delay?\n"))
        told = run("stream", "--rate", "5x")
        self.assertEqual(told.returncode, 2)
        self.assertIn("--rate: forward.rate: \"5x\" is not understood; write a rate", told.stderr)
        self.assertNotIn(":0", told.stderr)
        self.assertIn("to is missing", run("stream", "--listen", "127.0.0.1:5100").stderr)
        self.relay("--duration", "100ms")
        self.assertEqual(self.p.wait(WAIT), 0)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            told = run("stream", "--listen", "127.0.0.1:%d" % taken.getsockname()[1], "--to", "127.0.0.1:1")
        self.assertEqual(told.returncode, 1)
        self.assertIn("Address already in use", told.stderr)


if __name__ == "__main__":
    BIN = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
