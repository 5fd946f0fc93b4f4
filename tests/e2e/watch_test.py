# SPDX-License-Identifier: Apache-2.0
"""What helioctl shows of a running node: live, in tables, and when the node hangs. usage: watch_test.py BIN OUT [TEST...]"""

import codecs
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
import picture  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from node_case import wait_for  # noqa: E402

PROGRAMS = OUT = ""


class Terminal:
    """A program on a pseudo-terminal, and what its screen shows: enough of an emulator for what helioctl writes."""

    def __init__(self, command, width=160, height=30):
        self.width, self.height = width, height
        self.cells, self.x, self.y, self.part, self.raw = {}, 0, 0, "", b""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave, self.fd = slave, master
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, width, height):
        self.width, self.height, self.cells = width, height, {}
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def read(self, seconds):
        end = time.monotonic() + seconds
        while select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
            got = os.read(self.fd, 65536)
            self.raw += got
            self.feed(got)

    def feed(self, data):
        whole = self.part + self.decoder.decode(data)
        self.part = re.search(r"(\x1b(\[[?0-9;]*)?)?\Z", whole).group(0)  # a piece may end within a sequence
        for part in re.finditer(r"\x1b\[([?0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]", whole[:len(whole) - len(self.part)]):
            text = part.group(0)
            if text == "\r":
                self.x = 0
            elif text == "\n":
                self.y += 1
            elif part.group(2) == "H":
                self.x = self.y = 0
            elif part.group(2) == "K":
                for x in range(self.x, self.width):
                    self.cells.pop((self.y, x), None)
            elif part.group(2) == "J":
                self.cells = {k: v for k, v in self.cells.items() if k[0] <= self.y}
            elif not part.group(2):
                self.cells[(self.y, self.x)] = text
                self.x += 1

    def lines(self):
        return ["".join(self.cells.get((y, x), " ") for x in range(self.width)).rstrip() for y in range(self.height)]

    def text(self):
        return "\n".join(self.lines())

    def until(self, what, seconds=300):
        end = time.monotonic() + seconds
        while not re.search(what, self.text()) and time.monotonic() < end and self.process.poll() is None:
            self.read(0.05)
        return re.search(what, self.text())

    def wait(self, last=b""):
        """Its exit code; a reader that reads nothing keeps it from its end. What it writes last has arrived."""
        end = time.monotonic() + 300
        while (self.process.poll() is None or not self.raw.endswith(last)) and time.monotonic() < end:
            self.read(0.05)
        return self.process.poll()

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.fd)
        os.close(self.slave)


class WatchTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)

    def ctl(self, *words, **options):
        return subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", *words],
                              capture_output=True, text=True, timeout=300, **options)

    def shown(self, *words):
        done = self.ctl("--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def node(self, links=1):
        ports = self.lab.udp_ports(2 * links)
        made = [dict(self.lab.link(i + 2, ports[2 * i], ports[2 * i + 1], rto="100ms"), rate="1Mbit/s") for i in range(links)]
        return self.lab.start_node(1, self.lab.write_node(1, made, log=False))

    def pair(self):
        ports = self.lab.udp_ports(2)
        for n, mine, other in ((1, *ports), (2, *ports[::-1])):
            link = self.lab.link(3 - n, mine, other, rto="60s", peer_profile="heliograph", rate="20Mbit/s")
            self.lab.start_node(n, self.lab.write_node(n, [link], log=False))

    def send(self, to, count, size=1000):
        with aap2.Client(self.lab.socket(1)) as tx:
            self.assertEqual(tx.configure("ipn:1.5"), aap2.SUCCESS)
            for _ in range(count):
                self.assertEqual(tx.request(to, b"x" * size)[0], aap2.SUCCESS)

    def top(self, *words, **size):
        t = Terminal([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", "top", "-i", "200ms", *words], **size)
        self.addCleanup(t.close)
        return t

    def test_node_that_hangs(self):
        """A stopped node is a failure, with exit code 1, in the time that was asked for."""
        process = self.node()
        process.send_signal(signal.SIGSTOP)
        self.addCleanup(process.send_signal, signal.SIGCONT)
        for words, least, most in ((("status",), 2.9, 100), (("--timeout", "300ms", "links"), 0.25, 100)):
            begun = time.monotonic()
            done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", *words], capture_output=True,
                                  text=True, timeout=300)
            took = time.monotonic() - begun
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("does not answer within", done.stderr)
            self.assertTrue(least <= took <= most, took)
        self.assertEqual(self.ctl("--timeout", "soon", "status").returncode, 2)

    def test_links_in_force(self):
        """The table has what is in force, not what is configured."""
        self.pair()
        with aap2.Client(self.lab.socket(2)) as rx:
            self.assertEqual(rx.configure("ipn:2.7", subscribe=True), aap2.SUCCESS)
            self.send("ipn:2.7", 20)
            for _ in range(20):
                rx.delivery()
        link, = self.shown("links")["links"]
        self.assertEqual((link["state"], self.shown("status")["links_up"]), ("up", 1))
        self.assertRegex(link["state_why"], "^last heard .* ago$")
        self.assertEqual(link["rto_ns"], 60_000_000_000)
        self.assertLess(link["rto_in_force_ns"], 50_000_000_000)
        self.assertLess(link["round_trip_smoothed_ns"], link["rto_in_force_ns"])
        self.assertLess(link["heard_ns"], 60_000_000_000)
        title, row = (re.split(r" {2,}", line.strip()) for line in self.ctl("links").stdout.splitlines()[:2])
        self.assertEqual(len(title), len(row), (title, row))
        shown = dict(zip(title, row))
        for column in ("OUT", "IN", "TRIP", "HEARD", "OLDEST"):
            self.assertIn(column, shown)
        value, unit = shown["RTO"].split()
        self.assertLess(float(value) * {"us": 1e-6, "ms": 1e-3, "s": 1}[unit], 50, shown)
        wait_for(lambda: "tx_bps" in self.shown("links")["links"][0])  # rates are those of the last second

    def test_bundles(self):
        """Those that are asked for, in the order that is asked for; their deletion; for whom they wait."""
        self.node(links=2)
        for name in ("to-2", "to-3"):
            self.assertEqual(self.ctl("link", name, "down").returncode, 0)
        self.send("ipn:2.7", 3, 2000)
        self.send("ipn:3.7", 4, 1000)
        self.send("ipn:2.9", 2, 500)

        def destinations(*words):
            return [b["destination"] for b in self.shown("bundles", *words)["bundles"]]

        self.assertEqual(len(destinations()), 9)
        self.assertEqual(destinations("destination=ipn:2.*"), ["ipn:2.7"] * 3 + ["ipn:2.9"] * 2)
        self.assertEqual(destinations("link=to-3", "limit=2"), ["ipn:3.7"] * 2)
        self.assertEqual(self.shown("bundles", "link=to-3", "limit=2")["fit"], 4)
        self.assertEqual(destinations("sort=bytes", "limit=1"), ["ipn:2.7"])
        self.assertEqual(destinations("sort=destination")[-1], "ipn:3.7")
        ages = [b["age_ms"] for b in self.shown("bundles", "sort=age")["bundles"]]
        self.assertEqual(ages, sorted(ages, reverse=True))
        time.sleep(1.1)  # nothing happens at the node meanwhile
        self.assertGreaterEqual(self.shown("bundles", "sort=age", "limit=1")["bundles"][0]["age_ms"], ages[0] + 1000)
        self.assertGreaterEqual(self.shown("backlog")["backlog"][0]["oldest_ms"], 1000)
        self.assertEqual(destinations("source=ipn:9.*"), [])
        self.assertEqual(destinations("priority=bulk"), [])
        self.assertEqual(destinations("state=waiting", "destination=ipn:2.9"), ["ipn:2.9"] * 2)
        for words, code in ((("sort=colour",), 2), (("destination=nowhere",), 2), (("priority=high",), 2), (("state=lost",), 2), (("link=to-9",), 2), (("link=to-2",), 0), (("colour=red",), 2), (("limit=0",), 2)):
            self.assertEqual(self.ctl("bundles", *words).returncode, code, words)
        self.assertEqual([(b["destination"], b["bundles"]) for b in self.shown("backlog")["backlog"]], [("ipn:2.0", 5), ("ipn:3.0", 4)])
        self.assertRegex(self.ctl("backlog").stdout, r"ipn:2.0 +5 ")
        self.assertEqual(self.ctl("delete", "source=ipn:1.*").returncode, 2)  # of whom? all would go
        self.assertEqual(self.shown("delete", "destination=ipn:2.*", "source=ipn:1.5")["deleted"], 5)
        self.assertEqual(destinations(), ["ipn:3.7"] * 4)
        self.assertEqual(self.shown("delete", "destination=*")["deleted"], 4)
        self.assertEqual(destinations(), [])

    def test_deletion_that_breaks_off(self):
        """What was deleted until then is shown, and the exit code says that it is not all."""
        path = self.lab.path("cut.ctl")
        first = {"ok": True, "deleted": 10000, "after": 7}

        def answer(listener, rest):
            for line in (first, {**first, "deleted": 500}, rest):
                s, _ = listener.accept()
                with s, s.makefile() as lines:
                    lines.readline()
                    s.sendall(json.dumps(line).encode() + b"\n" if line else b"")

        for rest, why in ((None, "the deletion is not complete; repeat it"), ({"ok": False, "error": "out of memory"}, "out of memory")):
            for words in ((), ("--json",)):
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(path)
                    listener.listen()
                    node = threading.Thread(target=answer, args=(listener, rest))
                    node.start()
                    done = subprocess.run((self.lab.program("helioctl"), *words, "--socket", path, "delete", "destination=*"), capture_output=True,
                                          text=True, timeout=60, check=False)
                    node.join()
                os.unlink(path)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(why, done.stderr)
                if words:
                    shown = json.loads(done.stdout)
                    self.assertEqual((shown["ok"], shown["deleted"]), (False, 10500))
                else:
                    self.assertRegex(done.stdout, r"\Adeleted +10500\n\Z")

    def test_routes_and_counters(self):
        self.node(links=2)
        self.assertEqual(self.ctl("route", "add", "*", "to-3").returncode, 0)
        self.assertEqual([(r["to"], r["via"]) for r in self.shown("routes")["routes"]],
                         [("ipn:2.*", "to-2"), ("ipn:3.*", "to-3"), ("*", "to-3")])
        self.assertRegex(self.ctl("routes").stdout, r"(?m)^\* +to-3 +unheard$")
        self.send("ipn:2.7", 1)
        wait_for(lambda: "links.to-2.span.output_ckpt_xmit_count" in self.ctl("counters").stdout)
        shown = self.ctl("counters").stdout
        for line in shown.splitlines():
            self.assertRegex(line, r"^\S.* +\d+$")  # nothing but numbers
            self.assertNotRegex(line, r"\.(rate_bps|window|engine|rto_ns|peer|state|backlog|up|local_port) ")

    def test_top(self):
        """On a terminal: node, links, keys; the terminal is as it was when it ends."""
        self.node(links=40)
        self.send("ipn:2.7", 30, 400000)  # the 16 that may be open take 50 s
        t = self.top()
        self.assertTrue(t.until(r"WAIT"), t.text())
        lines = t.lines()
        self.assertRegex(lines[0], r"^ipn:1\.0  up ")
        self.assertRegex(t.text(), r"Bundles \[\|+ *\] 30 / 1000000")
        self.assertTrue(t.until(r"Links 0 up of 40 \(3[89] unheard, 1 silent\)|Links 0 up of 40 \(40 unheard\)"), t.text())
        self.assertTrue(t.until(r"WAITS FOR.*\n *ipn:2\.0 +30 "), t.text())
        self.assertIn("vOUT", t.text())
        self.assertTrue(t.until(r"(?m)^to-2 .* [1-9][0-9.]* [kM]?bit/s .* %.* 100\.0 ms .* 30 "), t.text())
        lines = [line for line in t.lines() if not re.match(r"to-[1-4][0-9] ", line)]
        picture.of_terminal(lines, "top.svg", [re.sub(r"[0-9.]+", "#", line).split() for line in t.lines() if line.startswith("LINK") or "WAITS FOR" in line])
        t.press("S" * 3)  # … up to the name
        self.assertTrue(t.until("vLINK"), t.text())
        self.assertTrue(t.until(r"vLINK.*\nto-2 "), t.text())
        t.press("r")
        self.assertTrue(t.until(r"\^LINK.*\nto-41 "), t.text())
        t.press("\x1b[F")
        self.assertTrue(t.until(r"(?m)^to-2 "), t.text())
        t.press("a")
        self.assertTrue(t.until(r"\^LINK.*\nto-2 .*\n\n"), t.text())
        t.press("h")
        self.assertTrue(t.until("smoothed round trip"), t.text())
        t.press("h")
        self.assertTrue(t.until("WAITS FOR"))
        t.resize(60, 20)
        self.assertTrue(t.until("WAITS FOR"))
        self.assertLessEqual(max(len(line) for line in t.lines()), 60)
        self.assertIn(b"\x1b[36mBundles", t.raw)  # colour
        t.press("q")
        self.assertEqual(t.wait(b"\x1b[?25h\x1b[?1049l"), 0)
        self.assertEqual(termios.tcgetattr(t.slave)[:4], t.before[:4])
        self.assertTrue(t.raw.endswith(b"\x1b[?25h\x1b[?1049l"), t.raw[-40:])

    def test_top_is_narrow(self):
        """A narrow screen has fewer columns; no number is cut, no line too long, and the sorted column is there."""
        self.node(links=3)
        self.send("ipn:2.7", 30, 400000)
        t = self.top(width=80, height=24)
        for width, here, gone in ((80, "STATE OUT IN WAIT HEARD", "SHARE RTO TRIP SENT"), (60, "STATE OUT IN WAIT", "PEER HEARD SENT"), (40, "STATE OUT", "IN SENT")):
            t.resize(width, 24)
            self.assertTrue(t.until(rf"(?m)^LINK +(?!.* {gone.split()[0]} ).*vOUT"), t.text())
            titles = next(line for line in t.lines() if line.startswith("LINK")).replace("v", "").split()
            self.assertLessEqual(set(here.split()), set(titles), titles)
            self.assertFalse(set(gone.split()) & set(titles), titles)
            row = next(line for line in t.lines() if line.startswith("to-2 "))
            self.assertRegex(row, r"^to-2 +(ipn:2\.0 +)?(unheard|silent) +(-|[0-9.]+ [kM]?bit/s)( |$)")
            self.assertLessEqual(max(map(len, t.lines())), width)
            self.assertIn("Links 0 up of 3", t.text())
            self.assertRegex(t.text(), r"Expired\s+0")
        t.press("S" * 4)  # SENT, through the first column
        self.assertTrue(t.until(r"vFAILED"), t.text())
        t.resize(60, 24)
        t.press("\x1b[H\r")  # a link's own tables, too: to-2 is first
        self.assertTrue(t.until(r"(?m)^NAME +ADAPTER .* >$"), t.text())
        self.assertTrue(t.until(r"(?m)^to-\d +ltp-udp +ipn:\d\.0 .* \d+(/\d+/\d+)? >$"), t.text())
        self.assertLessEqual(max(map(len, t.lines())), 60)

    def test_top_of_one_link(self):
        """The arrows select a link, Enter shows it with its sessions, / leaves those that have a text."""
        self.node(links=12)
        self.send("ipn:3.7", 4, 400000)
        t = self.top(width=150, height=40)
        self.assertTrue(t.until(r"(?m)^to-13 "), t.text())
        t.press("/")
        self.assertTrue(t.until("filter: _"), t.text())
        t.press("-3\r")
        self.assertTrue(t.until(r"LINK .*\nto-3 .*\n\n"), t.text())
        self.assertIn("/ filter: -3", t.text())
        t.press("\r")
        self.assertTrue(t.until(r"NAME +ADAPTER"), t.text())
        self.assertTrue(t.until(r"(?m)^to-3 +ltp-udp +ipn:3\.0 "), t.text())
        self.assertTrue(t.until(r"(?m)^LINK +DIRECTION"), t.text())
        self.assertIn("Links 0 up of 12", t.text())
        self.assertNotIn("to-4", t.text())
        self.assertIn("Tab a session", t.text())
        for _ in range(50):  # a session may end just now, since nobody answers
            t.press("\t")
            if t.until(r"(?m)^session 1:\d+ of to-3\n\n(.*\n)*length +400\.\d kB\n(.*\n)*progress +\[ {30}\] 0 %\nrate now +0 bit/s", 3):
                break
        first = re.search(r"session 1:(\d+) .*\n\n(.*\n)*rate now", t.text())[1]
        t.press("\t")
        self.assertTrue(t.until(rf"(?m)^session 1:(?!{first} )\d+ of to-3"), t.text())
        t.press("\x1b")
        self.assertTrue(t.until(r"(?m)^LINK +DIRECTION"), t.text())
        t.press("\r")
        self.assertTrue(t.until("WAITS FOR"), t.text())
        t.press("\x1b")
        self.assertTrue(t.until(r"(?m)^to-13 "), t.text())
        t.press("\x1b[B\x1b[B\r")  # the first row is selected, as Enter had done, and then the next ones
        self.assertTrue(t.until(r"NAME +ADAPTER"), t.text())
        t.press("q")
        self.assertEqual(t.wait(b"\x1b[?25h\x1b[?1049l"), 0)

    def test_top_of_a_node_that_hangs(self):
        process = self.node()
        for _ in range(5):  # without a first answer it ends, and a node that has no processor gives none
            t = self.top("--timeout", "200ms")
            if t.until("Links 0 up of 1 \\(1 unheard\\)"):
                break
        self.assertTrue(t.until("Links 0 up of 1 \\(1 unheard\\)"), t.text())
        process.send_signal(signal.SIGSTOP)
        self.assertTrue(t.until("the node does not answer"), t.text())
        process.send_signal(signal.SIGCONT)
        end = time.monotonic() + 300
        while "does not answer" in t.text() and time.monotonic() < end:
            t.read(0.1)
        self.assertNotIn("does not answer", t.text())
        t.process.send_signal(signal.SIGTERM)
        self.assertEqual(t.wait(), 0)
        self.assertEqual(termios.tcgetattr(t.slave)[:4], t.before[:4])

    def test_lines(self):
        """Not on a terminal: lines, without colour."""
        self.node(links=2)
        self.send("ipn:2.7", 3)
        for command in ("top", "watch"):
            done = self.ctl(command, "-n", "2", "-i", "100ms")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("\x1b", done.stdout)
            lines = done.stdout.splitlines()
            self.assertEqual(len([line for line in lines if re.match(r"\S+Z node ipn:1.0: 3 bundles, ", line)]), 2)
            self.assertEqual(len([line for line in lines if re.match(r"\S+Z link to-2: PEER ipn:2.0, .*WAIT 3, ", line)]), 2)
            self.assertFalse([line for line in lines if "to-3" in line])  # it is not busy
        self.assertEqual(len(self.shown("top")["rows"]), 2)

    def watch(self, *words):
        """helioctl watch bundles, which the node already keeps events for."""
        p = subprocess.Popen([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "--timeout", "60s", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        return p

    def test_events(self):
        """Events of bundles as they happen, of a node without a bundle log."""
        self.pair()
        with aap2.Client(self.lab.socket(2)) as rx:
            self.assertEqual(rx.configure("ipn:2.7", subscribe=True), aap2.SUCCESS)
            before = self.events()
            self.assertEqual((before["events"], before["missed"], before["more"]), ([], 0, False))
            self.send("ipn:2.7", 1, 1000)
            rx.delivery()
            seen = []
            wait_for(lambda: seen.extend(self.events(before["last"] + len(seen))["events"]) or [e["event"] for e in seen][-1:] == ["ended"])
            self.assertEqual([e["event"] for e in seen], ["accepted", "stored", "queued", "sent", "carried", "acknowledged", "ended"])
            self.assertTrue(all(e["source"] == "ipn:1.5" and e["destination"] == "ipn:2.7" and e["payload"] == 1000 for e in seen))
            self.assertEqual([(e.get("link"), e.get("reason")) for e in seen if e["event"] in ("sent", "ended")], [("to-2", None), ("to-2", "forwarded")])
            all_events, some = self.watch("watch", "bundles", "-n", "7", "--json"), self.watch("watch", "bundles", "ipn:1.5,", "queued", "-n", "1", "-i", "50ms")
            time.sleep(1)  # both have asked once; later ones are not lost then
            self.send("ipn:2.7", 1, 500)
            rx.delivery()
            out, err = all_events.communicate(timeout=300)
            self.assertEqual((all_events.returncode, err), (0, ""))
            self.assertEqual([json.loads(line)["event"] for line in out.splitlines()], [e["event"] for e in seen])
            out, err = some.communicate(timeout=300)
            self.assertEqual((some.returncode, err), (0, ""))
            self.assertRegex(out, r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z  queued        \d+  ipn:1\.5,\d+,\d+ to ipn:2\.7, 500 B, link to-2, peer ipn:2\.0\n\Z")
        self.assertIn("write: watch, or watch bundles", self.ctl("watch", "links").stderr)

    def events(self, after=None):
        """The node's events behind that one."""
        p = json.dumps({"cmd": "events", **({} if after is None else {"after": after})})
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.lab.socket(1) + ".ctl")
            s.sendall(p.encode() + b"\n")
            with s.makefile() as f:
                return json.loads(f.readline())


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("WatchTest.test_" + t for t in sys.argv[3:])], verbosity=2)
