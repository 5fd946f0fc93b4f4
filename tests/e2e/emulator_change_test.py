#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-emu relay that gets changes in mid-run: each holds from then on, a wrong one changes nothing, the account stays
whole, and the report tells the changes as a scenario would.

usage: emulator_change_test.py BIN_DIR [unittest arguments]
"""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import _paths  # noqa: F401
from heliograph import ports  # noqa: E402
import relay_test
from emulator_test import read_pcap
from relay_test import OPEN, Relay, change_with_much_unread, udp
from resting import received

COUNT = 200


class ChangeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.folder.name, "link")

    def tearDown(self):
        while OPEN:
            OPEN.pop()()
        self.folder.cleanup()

    def change(self, text, code=0):
        done = subprocess.run([os.path.join(relay_test.BIN, "helio-emu"), "change", self.socket, text], capture_output=True,
                              text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout + done.stderr

    def exchange(self, relay, near, far):
        """Sends COUNT datagrams; when those arrive that do, since the first was sent."""
        begin = time.monotonic()
        for i in range(COUNT):
            near.sendto(i.to_bytes(4, "big") + bytes(96), relay.address)
            if i % 20 == 19:
                time.sleep(0.002)
        return [time.monotonic() - begin for _ in received(far, relay.p.pid)]

    def test_changes_hold_from_then_on(self):
        far, near = udp(), udp()
        relay = Relay(far, "--rate", "100Mbit/s", "--control", self.socket, "--drop-log", os.path.join(self.folder.name, "d.csv"))
        self.assertIn("ok", self.change("forward: {iid: 1}"))  # before the first frame
        self.assertEqual(len(self.exchange(relay, near, far)), 0)
        self.change("both: {iid: 0}")
        self.assertEqual(len(self.exchange(relay, near, far)), COUNT)
        self.change("both: {link: down}")
        self.assertEqual(len(self.exchange(relay, near, far)), 0)
        self.change("forward: {link: up, rate: 1136kbit/s}")  # a frame of 142 bytes takes 1 ms
        times = self.exchange(relay, near, far)
        self.assertEqual(len(times), COUNT)
        self.assertGreater(times[-1], COUNT * 0.001)  # not 0.02, whatever else the machine does
        for wrong, why in (("forward: {rat: 1Mbit/s}", "did you mean rate"), ("return: {rate: 1Mbit/s}", "has none that could"),
                           ("forward: 7", "write a map"), ("", "write a map"), ("forward: {}", "nothing changes"),
                           ("forward: {link: off}", "up or down"), ("forward: {at: 1s, iid: 0}", "unknown key")):
            self.assertIn(why, self.change(wrong, code=2), wrong)
        self.assertEqual(relay.stop(), 0, relay.said)
        c = relay.counters["forward"]
        self.assertEqual(c["in"], 4 * COUNT)
        self.assertEqual((c["dropped"]["random"], c["dropped"]["outage"], c["out"]), (COUNT, COUNT, 2 * COUNT))
        self.assertEqual(sum(c["dropped"].values()), 2 * COUNT)
        self.assertEqual([{k: v for k, v in x.items() if k != "at"} for x in c["changed"]],
                         [{"iid": 1.0}, {"iid": 0.0}, {"rate": "1136kbit/s"}])
        self.assertEqual(c["changed"][0]["at"], "0")
        with open(os.path.join(self.folder.name, "d.csv"), encoding="ascii") as f:
            rows = [line for line in f if ",random," in line or ",outage," in line]
        self.assertEqual(len(rows), 2 * COUNT)
        self.assertFalse(os.path.exists(self.socket))

    def test_changes_of_a_scenario_hold_to_the_nanosecond(self):
        """What entered between 200 ms and 1.2 s after the first frame is lost, and nothing else."""
        far, near = udp(), udp()
        before, drops = os.path.join(self.folder.name, "b.pcap"), os.path.join(self.folder.name, "d.csv")
        relay = Relay(far, "--set", "forward.changes=[{at: 200ms, iid: 1}, {at: 1200ms, iid: 0, delay: 3ms}]", "--set", f"pcap_before={before}",
                      "--drop-log", drops)
        begin = time.monotonic()
        sent = 0
        while time.monotonic() < begin + 1.5:
            near.sendto(sent.to_bytes(4, "big") + bytes(96), relay.address)
            sent += 1
            time.sleep(0.001)
        self.assertEqual(relay.stop(), 0, relay.said)
        entered = [t for t, _ in read_pcap(before)]
        self.assertEqual(len(entered), sent)
        with open(drops, encoding="ascii") as f:
            lost = {int(line.split(",")[2]) for line in f if ",random," in line}
        origin = entered[0]
        self.assertEqual(lost, {i + 1 for i, t in enumerate(entered) if 200_000_000 <= t - origin < 1_200_000_000})
        self.assertGreater(len(lost), 20)
        self.assertEqual(relay.counters["forward"]["out"], sent - len(lost))

    def test_what_was_there_before_meets_the_link_as_it_was(self):
        """However much lies in the socket: more than is read at once."""
        far, near = udp(), udp()
        relay = Relay(far, "--control", self.socket)
        change_with_much_unread(relay.p, self.socket, "forward: {iid: 1}",
                                lambda: [near.sendto(i.to_bytes(4, "big") + bytes(96), relay.address) for i in range(500)])
        near.sendto(bytes(100), relay.address)
        self.assertEqual(relay.stop(), 0, relay.said)
        c = relay.counters["forward"]
        self.assertGreater(c["out"], 300)  # what the kernel had room for
        self.assertEqual((c["dropped"]["random"], c["in"]), (1, 501))

    def test_the_name_of_the_answer(self):
        """An emulator that does not answer sees a name that anybody may write to, whatever the umask; at the end by a signal it goes."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as silent:
            silent.bind(self.socket)
            silent.settimeout(300)
            for number in (signal.SIGINT, signal.SIGTERM):
                p = subprocess.Popen([os.path.join(relay_test.BIN, "helio-emu"), "change", self.socket, "both: {link: down}"], umask=0o077)
                text, name = silent.recvfrom(2000)
                self.assertEqual((text, os.stat(name).st_mode & 0o777), (b"both: {link: down}", 0o777))
                p.send_signal(number)
                self.assertEqual(p.wait(300), -number)
                self.assertEqual(os.listdir(self.folder.name), ["link"])

    def metrics(self, *words, code=0):
        done = subprocess.run([os.path.join(relay_test.BIN, "helio-emu"), "metrics", *words], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in done.stdout.splitlines() if not line.startswith("#")}, done

    def test_metrics(self):
        """Printed and over HTTP: the counters of the report, in families that Prometheus reads."""
        far, near = udp(), udp()
        relay = Relay(far, "--rate", "100Mbit/s", "--delay", "2ms", "--control", self.socket)
        name = f'{{socket="{self.socket}",link="link",direction="forward"'
        self.assertNotIn(f"heliograph_emu_delay_seconds{name}}}", self.metrics(self.socket)[0])  # before the first frame
        self.exchange(relay, near, far)
        self.change("forward: {iid: 1}")
        self.exchange(relay, near, far)
        values, done = self.metrics(self.socket)
        there = {key: values[f"heliograph_emu_{key}{name}}}"] for key in ("in_frames_total", "out_frames_total", "out_bytes_total", "queued_frames", "rate_bits_per_second", "delay_seconds",
                                                                          "random_loss_ratio")}
        self.assertEqual(list(there.values()), [2 * COUNT, COUNT, 100 * COUNT, 0, 1e8, 0.002, 1])
        lost = {key: value for key, value in values.items() if key.startswith("heliograph_emu_lost_frames_total" + name) and value}
        self.assertEqual(lost, {f'heliograph_emu_lost_frames_total{name},reason="random"}}': COUNT})
        self.assertEqual([values[f'heliograph_emu_state{name},state="{state}"}}'] for state in ("good", "bad", "off", "down")], [1, 0, 0, 0])
        self.assertEqual(values[f'heliograph_emu_answers{{socket="{self.socket}"}}'], 1)
        families = re.findall(r"^# TYPE (\S+) (?:counter|gauge)$", done.stdout, re.M)
        self.assertEqual(len(set(families)), len(families))
        self.assertLessEqual({key.partition("{")[0] for key in values}, set(families))
        gone = self.socket + "-2"
        values, done = self.metrics(self.socket, gone, code=1)
        self.assertEqual([values[f'heliograph_emu_answers{{socket="{one}"}}'] for one in (self.socket, gone)], [1, 0])
        self.assertIn(f"{gone}: no answer; is there an emulator with --control?", done.stderr)
        self.serve(done.stdout, gone)
        self.assertEqual(relay.stop(), 0)

    def serve(self, printed, gone):
        """Over HTTP the same; a second server at the address is refused."""
        port, = ports.free_ports(1)
        words = [os.path.join(relay_test.BIN, "helio-emu"), "metrics", "--listen", str(port), self.socket, gone]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as p:
            self.assertIn("metrics of 2 emulators", p.stderr.readline())
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=300) as answer:
                self.assertEqual(answer.read().decode(), printed)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=300) as answer:
                self.assertIn("/metrics", answer.read().decode())
            second = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual((second.returncode, second.stderr), (1, f"helio-emu: --listen: {port}: Address already in use\n"))
            p.send_signal(signal.SIGTERM)
            self.assertEqual(p.wait(300), 0)
        for wrong in ("x", "70000", "127.0.0.1"):
            self.assertIn(f'--listen: "{wrong}" is not understood; write a port', self.metrics("--listen", wrong, self.socket, code=2)[1].stderr)
        self.assertIn("the socket is missing", self.metrics(code=2)[1].stderr)

    def test_a_socket_in_use_is_refused(self):
        far = udp()
        first = Relay(far, "--control", self.socket)
        other = subprocess.run([os.path.join(relay_test.BIN, "helio-emu"), "relay", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9",
                                "--control", self.socket], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(other.returncode, 1)
        self.assertIn("cannot be made", other.stderr)
        self.change("forward: {delay: 1ms}")
        first.p.kill()  # it leaves its socket behind, which the next one takes
        first.p.wait()
        self.change("forward: {delay: 1ms}", code=1)
        second = Relay(far, "--control", self.socket)
        self.change("forward: {delay: 1ms}")
        self.assertEqual(second.stop(), 0)


if __name__ == "__main__":
    relay_test.BIN = sys.argv.pop(1)
    unittest.main()
