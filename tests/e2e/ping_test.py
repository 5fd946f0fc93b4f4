# SPDX-License-Identifier: Apache-2.0
"""helio-ping: rtt and losses as ping prints them, floods, sizes, errors, Ctrl-C. usage: ping_test.py BIN OUT"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

BIN, OUT = sys.argv[1:3]


def ping(*words, code=0, **more):
    done = subprocess.run([os.path.join(BIN, "helio-ping"), *words], capture_output=True, text=True, timeout=300, check=False, **more)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


class PingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(OUT, ignore_errors=True)
        cls.lab = Lab(BIN, OUT)
        cls.addClassCleanup(cls.lab.__exit__)
        a, b = cls.lab.udp_ports(2)
        for number, other, local, remote in ((1, 2, a, b), (2, 1, b, a)):
            cls.lab.start_node(number, cls.lab.write_node(number, [cls.lab.link(other, local, remote, rto="100ms")], log=False,
                                                          extra="bundles: {status_reports: yes}\n"))
        cls.own = ("--socket", cls.lab.socket(1))

    def test_as_ping_prints(self):
        said = ping(*self.own, "-c", "4", "-i", "50ms", "-s", "1000", "ipn:2.128").stdout
        lines = said.splitlines()
        self.assertEqual(lines[0], "PING ipn:2.128, 1000 bytes")
        self.assertEqual([m[1] for m in re.finditer(r"^1000 bytes from ipn:2\.128: seq=(\d) time=[\d.]+ ms$", said, flags=re.M)], list("1234"))
        self.assertIn("4 sent, 4 received, 0 % loss, time ", said)
        self.assertTrue(150 <= int(re.search(r"time (\d+) ms\n", said)[1]) < 15000, said)  # three pauses of 50 ms; a slow machine adds its own
        numbers = re.search(r"rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms", said)
        least, mean, most, mdev = map(float, numbers.groups())
        self.assertTrue(0 < least <= mean <= most and 0 <= mdev <= most)

    def test_unwritable_json_is_told_before_the_run(self):
        path = os.path.join(OUT, "gone", "x.json")
        done = ping(*self.own, "--json", path, "ipn:2.128", code=2)
        self.assertEqual((done.stdout, done.stderr.splitlines()[0]), ("", f"helio-ping: --json {path}: there is no such folder; make it (mkdir -p), or write another file"))

    def test_json(self):
        path = os.path.join(OUT, "ping.json")
        ping(*self.own, "-q", "-c", "2", "-i", "10ms", "--json", path, "ipn:2.128")
        with open(path, encoding="utf-8") as f:
            shown = json.load(f)
        self.assertEqual((shown["sent"], shown["received"], shown["lost"], shown["repeated"]), (2, 2, 0, 0))
        self.assertGreater(shown["rtt_ms"]["min"], 0)
        self.assertEqual(json.loads(ping(*self.own, "-c", "1", "--json", "-", "ipn:2.128").stdout)["received"], 1)

    def test_trace(self):
        """Each node that a ping passes, in order of time, with what it did; in the text and in the JSON."""
        path = os.path.join(OUT, "trace.json")
        said = ping(*self.own, "--trace", "-c", "3", "-i", "200ms", "--json", path, "ipn:2.128").stdout
        found = re.findall(r"^    seq=(\d) (\w+) by (ipn:\d\.0) at [+](\d+) ms \(reported after ([\d.]+) ms\)$", said, flags=re.M)
        for seq in "123":
            self.assertEqual(sorted((who, what) for n, what, who, _, _ in found if n == seq),
                             [("ipn:1.0", "forwarded"), ("ipn:1.0", "received"), ("ipn:2.0", "delivered"), ("ipn:2.0", "received")])
        for _, _, _, at, told in found:
            self.assertLess(int(at), float(told) + 2)
        with open(path, encoding="utf-8") as f:
            shown = json.load(f)
        self.assertEqual(len(shown["trace"]), 12)
        self.assertEqual({hop["event"] for hop in shown["trace"]}, {"received", "forwarded", "delivered"})
        self.assertEqual(shown["foreign"], 0)

    def test_trace_names_who_deletes(self):
        said = ping(*self.own, "--trace", "-c", "1", "-l", "3s", "ipn:2.77", code=1).stdout
        self.assertRegex(said, r"seq=1 received by ipn:2.0")
        self.assertNotIn("delivered", said)

    def test_flood_is_faster_than_its_clock(self):
        shown = json.loads(ping(*self.own, "-f", "-q", "-c", "300", "--json", "-", "ipn:2.128").stdout)
        self.assertEqual(shown["received"], 300)
        self.assertEqual(shown["repeated"], 0)

    def test_nobody_answers(self):
        done = ping(*self.own, "-c", "2", "-i", "10ms", "-l", "500ms", "ipn:2.77", code=1)
        self.assertIn("2 sent, 0 received, 100 % loss", done.stdout)
        self.assertNotIn("rtt", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1],
                         "no answer from ipn:2.77: is an echo endpoint there (ipn:N.128 of a Heliograph node), and has its node a route back? "
                         f"See helioctl --socket {self.own[1]}.ctl links, and backlog instead of links")
        done = ping(*self.own, "-c", "1", "-i", "10ms", "ipn:2.128")
        self.assertNotIn("no answer", done.stdout)
        done = ping(*self.own, "-c", "1", "-i", "10ms", "ipn:9.128", code=1)
        self.assertNotIn("no answer", done.stdout)  # its node refused it, and the reason is shown

    def test_interrupted_it_tells_so_far(self):
        p = subprocess.Popen([os.path.join(BIN, "helio-ping"), *self.own, "-i", "20ms", "ipn:2.128"], stdout=subprocess.PIPE, text=True)
        for _ in range(4):
            p.stdout.readline()
        p.send_signal(signal.SIGINT)
        said = p.communicate(timeout=300)[0]
        self.assertEqual(p.returncode, 0)
        self.assertRegex(said, r"\d+ sent, \d+ received")
        self.assertRegex(said, r"(?m)^stopped by Ctrl-C \(SIGINT\)(; 1 had no answer yet)?$")
        p = subprocess.Popen([os.path.join(BIN, "helio-ping"), *self.own, "-c", "9", "-i", "60", "ipn:2.77"], stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        time.sleep(1)
        p.send_signal(signal.SIGTERM)
        self.assertIn("stopped by SIGTERM before 8 of 9 were sent; 1 had no answer yet\n", p.communicate(timeout=300)[0])
        self.assertEqual(p.returncode, 1)
        p = subprocess.Popen([os.path.join(BIN, "helio-ping"), "--socket", os.path.join(OUT, "none.sock"), "ipn:2.128"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        p.stdout.readline()
        p.send_signal(signal.SIGINT)
        self.assertRegex(p.communicate(timeout=300)[1], r"stopped before it began: .*none\.sock")
        self.assertEqual(p.returncode, 1)

    def test_the_node_ends(self):
        """Who waits for something of it says so, and fails: ping though all that it has sent is back."""
        for number, end in ((7, signal.SIGKILL), (8, signal.SIGTERM)):
            node = self.lab.start_node(number, self.lab.write_node(number, [], log=False))
            own, files = ("--socket", self.lab.socket(number)), os.path.join(OUT, f"files{number}")
            os.mkdir(files)
            started = {}
            for name, *words in (("helio-ping", "-c", "20", "-i", "300ms", f"ipn:{number}.128"), ("helio-ping", "-i", "300ms", f"ipn:{number}.128"),
                                 ("helio-send", f"ipn:{number}.2001", __file__), ("helio-recv", "-o", files, "--service", "2009")):
                started[name, words[0]] = subprocess.Popen([os.path.join(BIN, name), *own, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(3):
                started["helio-ping", "-c"].stdout.readline()
            time.sleep(0.5)
            node.send_signal(end)
            node.wait(timeout=60)
            for (name, _), p in started.items():
                said = p.communicate(timeout=60)[1]
                self.assertIn(f"{name}: the node closed the connection; does it still run?", said)
                self.assertEqual(p.returncode, 1, (p.args, said))

    def test_errors(self):
        for words, wanted in (((*self.own,), "an echo endpoint is missing"), (("ipn:2.128",), "--socket PATH is missing"),
                              ((*self.own, "-c", "0", "ipn:2.128"), "-c: 0 is out of range"), ((*self.own, "-s", "31", "ipn:2.128"), "write a value from 32B"),
                              ((*self.own, "-i", "x", "ipn:2.128"), "-i: \"x\" is not understood"), ((*self.own, "nobody"), "\"nobody\" is neither an endpoint nor in names")):
            self.assertIn(wanted, ping(*words, code=2).stderr)
        begun = time.monotonic()
        self.assertIn("none.sock", ping("--socket", "/tmp/none.sock", "-c", "1", "ipn:2.128", code=1).stderr)
        self.assertLess(time.monotonic() - begun, 200)

    def test_control_socket(self):
        """What answers there is named, and in time; so does helio-perf."""
        own = self.lab.socket(1)
        for words in (("helio-ping", "-c", "1", "ipn:2.128"), ("helio-perf", "client", "-d", "ipn:2.2000", "-D", "1k", "-W", "1"), ("helio-perf", "server")):
            begun = time.monotonic()
            done = subprocess.run([os.path.join(BIN, words[0]), *words[1:], "--socket", own + ".ctl"], capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"{own}.ctl is the control socket; applications connect to {own} ", done.stderr)
            self.assertLess(time.monotonic() - begun, 200)

    def test_each_refused_one_is_told(self):
        """With the reason; and as nothing was sent, no answer is waited for."""
        begun = time.monotonic()
        done = ping(*self.own, "-c", "3", "-i", "10ms", "-l", "300s", "ipn:9.128", code=1)
        self.assertEqual(len(re.findall(r"^seq=([123]) not sent: .*no route.*$", done.stdout, flags=re.M)), 3, done.stdout)
        self.assertIn("3 sent, 0 received", done.stdout)
        self.assertLess(time.monotonic() - begun, 150)

    def test_refused(self):
        done = ping(*self.own, "-c", "2", "-i", "10ms", "-l", "200ms", "ipn:9.128", code=1)
        self.assertRegex(done.stdout, r"2 refused by the node \(.*no route.*\)")
        self.assertIn("no route", json.loads(ping(*self.own, "-c", "1", "-l", "100ms", "--json", "-", "ipn:9.128", code=1).stdout)["refused_why"])


unittest.main(argv=sys.argv[:1], verbosity=2)
