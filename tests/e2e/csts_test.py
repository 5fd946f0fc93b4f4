# SPDX-License-Identifier: Apache-2.0
"""helio-csts over real sockets: a provider of a table, of a node's metrics, and of an uplink; its users. usage: csts_test.py BIN OUT [TEST...]"""

import datetime
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from xml.etree import ElementTree

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402
from certificates import Authority  # noqa: E402

PROGRAMS = OUT = ""
ANTENNA, NODE = "1.3.112.4.4.2.1.10000", "1.3.112.4.4.2.1.10001"
HEADER = "resource,instance,parameter,type,value\n"
TABLE = HEADER + f"""# a comment
{ANTENNA},1,{ANTENNA}.1.1,integer,5
{ANTENNA},1,{ANTENNA}.1.2,real,-12.75
{ANTENNA},1,{ANTENNA}.1.3,text,tracking
{ANTENNA},2,{ANTENNA}.1.1,integer,
{ANTENNA},2,{ANTENNA}.1.4,boolean,true
{ANTENNA},1,{ANTENNA}.2.1,event,0
"""
PASSWORDS = {"STATION": "aabbccddeeff", "CENTRE": "00112233445566778899"}


def stamp(text):
    """Of a log or a report: s since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class CstsTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)
        self.out = tempfile.mkdtemp(dir=out)
        self.port, = self.lab.udp_ports(1)
        self.running = []
        self.addCleanup(self.kill)

    def kill(self):
        for p in self.running:
            if p.poll() is None:
                p.kill()
            p.wait()

    def path(self, name):
        return os.path.join(self.out, name)

    def table(self, text=TABLE):
        """Written beside, and renamed: a provider reads the one or the other."""
        with open(self.path("new.csv"), "w", encoding="ascii") as f:
            f.write(text)
        os.replace(self.path("new.csv"), self.path("figures.csv"))

    def until(self, true, what, seconds=300):
        deadline = time.monotonic() + seconds
        while not true():
            self.assertLess(time.monotonic(), deadline, what + self.said())
            time.sleep(0.02)

    def said(self):
        with open(self.path("provider.log"), encoding="utf-8") as f:
            return f.read()

    def secret(self, who):
        path = self.path(who)
        if not os.path.exists(path):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
                f.write(PASSWORDS[who] + "\n")
        return path

    def passwords(self, own, other, level):
        return ["--authentication", level, "--password-file", self.secret(own), "--peer-password-file", self.secret(other)]

    def provider(self, *options):
        with open(self.path("provider.log"), "w", encoding="utf-8") as log:
            p = subprocess.Popen([os.path.join(PROGRAMS, "helio-csts"), "provider", self.path("figures.csv"), "--listen", f"127.0.0.1:{self.port}",
                                  "--every", "50ms", *options], stderr=log)
        self.running.append(p)
        self.until(lambda: "listens at" in self.said() or p.poll() is not None, "the provider does not listen")
        self.assertIsNone(p.poll(), self.said())
        return p

    def command(self, *options):
        return [os.path.join(PROGRAMS, "helio-csts"), "monitor", f"127.0.0.1:{self.port}", "--json", *options]

    def monitor(self, *options, code=0):
        """Its lines, or what it says on its standard error."""
        r = subprocess.run(self.command(*options), capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(r.returncode, code, r.stderr + r.stdout + self.said())
        return [json.loads(line) for line in r.stdout.splitlines()] if code == 0 else r.stderr

    @staticmethod
    def values(line):
        """{(instance, the end of the parameter): value or state}"""
        return {(p["instance"], p["parameter"].removeprefix(p["resource"])): next(v.get("value", v.get("state")) for v in p["values"])
                for p in line["parameters"]}

    def test_query_and_report(self):
        self.table()
        p = self.provider()
        asked, = self.monitor("--get")
        wanted = {(1, ".1.1"): 5, (1, ".1.2"): -12.75, (1, ".1.3"): "tracking", (2, ".1.1"): "unavailable", (2, ".1.4"): True}
        self.assertEqual(self.values(asked), wanted)
        one, = self.monitor("--get", "--resource", f"{ANTENNA}:2")
        self.assertEqual(self.values(one), {k: v for k, v in wanted.items() if k[0] == 2})
        label, = self.monitor("--get", "--parameter", f"{ANTENNA}.1.1")
        self.assertEqual(self.values(label), {k: v for k, v in wanted.items() if k[1] == ".1.1"})
        reports = self.monitor("--cycle", "100ms", "-n", "5", "--list", "all")
        self.assertEqual([r["sequence"] for r in reports], [0, 1, 2, 3, 4])
        self.assertEqual([self.values(r) for r in reports], [wanted] * 5)
        times = [datetime.datetime.fromisoformat(r["time"].replace("Z", "+00:00")) for r in reports]
        self.assertLess(abs((datetime.datetime.now(datetime.timezone.utc) - times[-1]).total_seconds()), 60)
        self.assertEqual(sorted(times), times)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)

    def test_changes_and_events(self):
        self.table()
        self.provider()
        with subprocess.Popen(self.command("--cycle", "100ms", "--on-change", "--events"), stdout=subprocess.PIPE, text=True) as m:
            self.running.append(m)
            first = json.loads(m.stdout.readline())
            self.assertEqual(len(first["parameters"]), 5)
            self.until(lambda: "started notifications" in self.said(), "no notifications")
            self.table(TABLE.replace("integer,5", "integer,6"))
            changed = json.loads(m.stdout.readline())
            self.assertEqual((changed["sequence"], self.values(changed)), (1, {(1, ".1.1"): 6}))
            self.table(TABLE.replace("integer,5", "integer,6").replace("event,0", "event,-3"))
            event = json.loads(m.stdout.readline())
            self.assertEqual((event["kind"], event["event"], event["values"][0]["value"]), ("event", f"{ANTENNA}.2.1", -3))
            m.send_signal(signal.SIGINT)
            self.assertEqual(m.stdout.read(), "")
            self.assertEqual(m.wait(300), 0, self.said())

    def test_plot(self):
        """A panel for each parameter that is a number; its line has a point for each report, and a gap where there is no value."""
        self.table()
        self.provider()
        with subprocess.Popen(self.command("--cycle", "200ms", "--plot", self.path("plot.svg")), stdout=subprocess.PIPE, text=True) as m:
            self.running.append(m)
            seen = []
            for text in ("integer,5", "integer,9", "integer,", "integer,1"):
                self.table(TABLE.replace("integer,5", text))
                wanted = {"integer,5": 5, "integer,9": 9, "integer,": "unavailable", "integer,1": 1}[text]
                while not seen or seen[-1] != wanted:
                    seen.append(self.values(json.loads(m.stdout.readline()))[1, ".1.1"])
            m.send_signal(signal.SIGINT)
            rest = [json.loads(line) for line in m.stdout.read().splitlines()]
            seen += [self.values(r)[1, ".1.1"] for r in rest]
            self.assertEqual(m.wait(300), 0)
        svg = "{http://www.w3.org/2000/svg}"
        image = ElementTree.parse(self.path("plot.svg")).getroot()
        labels = [t.text for t in image.iter(svg + "text")]
        first = f"{ANTENNA} #1 {ANTENNA}.1.1"
        self.assertEqual([t for t in labels if t.startswith(ANTENNA)],
                         [first, f"{ANTENNA} #2 {ANTENNA}.1.1", f"{ANTENNA} #1 {ANTENNA}.1.2", f"{ANTENNA} #2 {ANTENNA}.1.4"])
        self.assertEqual(labels[labels.index(first) + 1:labels.index(first) + 3], ["9", "1"])
        lines = [[tuple(map(float, p.split(","))) for p in line.get("points").split()] for line in image.iter(svg + "polyline")]
        drawn = [y for line in lines[:2] for _, y in line]  # two stretches
        numbers = [v for v in seen if v != "unavailable"]
        self.assertEqual(len(drawn), len(numbers))
        low, high = min(drawn), max(drawn)  # 9 is above
        self.assertEqual([round(9 - 8 * (y - low) / (high - low)) for y in drawn], numbers)
        self.assertEqual(sorted(x for x, _ in lines[2]), [x for x, _ in lines[2]])
        self.assertEqual(len(lines[2]), len(seen))
        self.assertIn("No such file", self.monitor("--cycle", "100ms", "-n", "1", "--plot", "/nowhere/plot.svg", code=1))
        self.assertIn("--plot is of reports", self.monitor("--get", "--plot", "x.svg", code=2))

    def test_table_that_is_wrong_later(self):
        """The values stay; when it is right again they go on."""
        self.table()
        self.provider()
        self.table(TABLE + "nonsense\n")
        self.until(lambda: "line 9: five columns are needed" in self.said(), "nothing is said")
        self.assertEqual(self.values(self.monitor("--get")[0])[1, ".1.1"], 5)
        self.table(TABLE + f"{ANTENNA},3,{ANTENNA}.1.1,integer,1\n")
        self.table(TABLE.replace("integer,5", "integer,7"))
        self.until(lambda: self.values(self.monitor("--get")[0])[1, ".1.1"] == 7, "it is not read again")

    def test_tables_that_are_refused(self):
        rows = {HEADER + f"x,1,{ANTENNA}.1,integer,5\n": "line 2: resource \"x\" is no object identifier",
                HEADER + f"{ANTENNA},0,{ANTENNA}.1,integer,5\n": "line 2: instance \"0\"",
                HEADER + f"{ANTENNA},1,{ANTENNA}.1,integer,5.5\n": "line 2: \"5.5\" is no integer",
                HEADER + f"{ANTENNA},1,{ANTENNA}.1,number,5\n": "line 2: type \"number\"",
                HEADER + HEADER: "line 2: resource \"resource\" is no object identifier",
                HEADER + f"{ANTENNA},1,{ANTENNA}.1,integer,5\n{ANTENNA},1,{ANTENNA}.1,integer,6\n": "is there twice",
                "a,b\n": "line 1: the header must be", "": "line 1: the header must be"}
        for text, words in rows.items():
            with self.subTest(text=text):
                self.table(text)
                r = subprocess.run([os.path.join(PROGRAMS, "helio-csts"), "provider", self.path("figures.csv"), "--listen", f"127.0.0.1:{self.port}"],
                                   capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(r.returncode, 2, r.stderr)
                self.assertIn(words, r.stderr)

    def test_authentication(self):
        self.table()
        self.provider(*self.passwords("STATION", "CENTRE", "all"))
        for hash in "sha256", "sha1":
            self.assertEqual(len(self.monitor("--cycle", "100ms", "-n", "2", "--hash", hash, *self.passwords("CENTRE", "STATION", "all"))), 2)
        with open(self.secret("CENTRE"), "w", encoding="ascii") as f:
            f.write("99\n")
        self.assertIn("closed", self.monitor("--get", *self.passwords("CENTRE", "STATION", "all"), code=1))
        self.assertIn("CENTRE: credentials were wrong", self.said())

    def test_refusals(self):
        self.table()
        self.provider("--least-cycle", "200ms")
        self.assertIn("unknown functional resource type", self.monitor("--get", "--resource", "1.3.9", code=1))
        self.assertIn("unknown list", self.monitor("--get", "--list", "none", code=1))
        self.assertIn("delivery cycle too short", self.monitor("--cycle", "199ms", code=1))
        self.assertIn("no such service instance", self.monitor("--number", "2", code=1))
        self.assertIn("access denied", self.monitor("--id", "SOMEBODY", code=1))
        with subprocess.Popen(self.command("--cycle", "1s"), stdout=subprocess.PIPE, text=True) as m:
            self.running.append(m)
            m.stdout.readline()
            self.assertIn("already bound", self.monitor("--get", code=1))
            self.running[0].kill()
            self.assertEqual(m.wait(300), 1)

    def test_metrics_of_a_node(self):
        http, token = self.lab.udp_ports(2)[0], "0123456789abcdef-token"
        a, b = self.lab.udp_ports(2)
        self.lab.start_node(1, self.lab.write_node(1, [dict(self.lab.link(2, a, b, rto="100ms"), rate="1Mbit/s")], log=False,
                                                   extra=f"http: {{listen: {http}, token: {token}}}\n"))
        with open(os.open(self.path("token"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
            f.write(token + "\n")
        self.table(HEADER + f"{NODE},1,{NODE}.1.1,integer,metric:heliograph_bundles\n{NODE},1,{NODE}.1.2,real,metric:heliograph_bundles_limit\n"
                   f"{NODE},1,{NODE}.1.3,integer,metric:heliograph_nothing\n")
        self.provider("--metrics", f"127.0.0.1:{http}", "--token-file", self.path("token"))
        self.until(lambda: self.values(self.monitor("--get")[0])[1, ".1.1"] == 0, "no metrics")
        values = self.values(self.monitor("--get")[0])
        self.assertGreater(values[1, ".1.2"], 1000)
        self.assertEqual(values[1, ".1.3"], "unavailable")

    def test_crowd(self):
        """Connections of one address without a BIND take each other's places, not those of another address, though it came first. Each is no line
        of the log."""
        self.table()
        self.provider()
        other = socket.create_connection(("127.0.0.1", self.port))
        crowd = [socket.create_connection(("127.0.0.1", self.port), source_address=("127.0.0.9", 0)) for _ in range(600)]
        self.assertEqual(len(self.monitor("--cycle", "100ms", "-n", "3")), 3)

        def ended(s):
            s.setblocking(False)
            try:
                return s.recv(1) == b""
            except BlockingIOError:
                return False
            except ConnectionError:
                return True

        self.assertFalse(ended(other))
        self.assertGreaterEqual(sum(ended(s) for s in crowd), 600 + 2 - 512)
        for s in [other, *crowd]:
            s.close()
        self.until(lambda: "more lines about connections" in self.said(), "no line has the number of those that were left out")
        self.assertLess(self.said().count("127.0.0.9"), 200)

    # ---- Forward Frame ----

    def frames(self, count, size=200):
        path, frames = self.path("frames.bin"), [bytes([i % 251]) * (size + i % 7) for i in range(count)]
        with open(path, "wb") as f:
            for frame in frames:
                f.write(len(frame).to_bytes(4, "big") + frame)
        return path, frames

    def forward(self, path, *options, code=0):
        """Its lines; with a code that is not 0 also what it says on its standard error."""
        r = subprocess.run([os.path.join(PROGRAMS, "helio-csts"), "forward", f"127.0.0.1:{self.port}", path, "--json", *options],
                           capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(r.returncode, code, r.stderr + r.stdout + self.said())
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        return lines if code == 0 else (lines, r.stderr)

    def test_forward_to_a_file(self):
        """Lengths and order stay; with credentials in each element of a forward buffer; beside a monitor."""
        self.table()
        p = self.provider(*self.passwords("STATION", "CENTRE", "all"), "--uplink", self.path("uplink.bin"))
        own = self.passwords("CENTRE", "STATION", "all")
        path, frames = self.frames(500)
        with subprocess.Popen(self.command(*own, "--cycle", "100ms"), stdout=subprocess.PIPE, text=True) as m:
            self.running.append(m)
            m.stdout.readline()
            *notes, total = self.forward(path, *own, "--buffer", "7")
            m.send_signal(signal.SIGINT)
            m.communicate(timeout=300)
            self.assertEqual(m.returncode, 0)
        self.assertEqual(total, {"kind": "sum", "sent": 500, "processed": 500, "interrupted": 0, "production": 0})
        self.assertEqual([n["frame"] for n in notes], list(range(1, 501)))
        self.assertEqual({(n["status"], n["production"]) for n in notes}, {("processed", "operational")})
        (note, total), why = self.forward(path, *own, "--report", "last", "--buffer", "256", code=3)
        self.assertEqual((note["last_ok"], total["processed"]), (500, 1))
        self.assertIn("no reports of the others", why)
        with open(self.path("uplink.bin"), "rb") as f, open(path, "rb") as sent:
            self.assertEqual(f.read(), 2 * sent.read())
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)
        self.assertIn("frames: 1000 received, 1000 radiated, 0 interrupted, 0 discarded", self.said())

    def test_forward_to_datagrams(self):
        self.table()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            s.settimeout(60)
            self.provider("--uplink", f"127.0.0.1:{s.getsockname()[1]}", "--uplink-rate", "2Mbit/s", "--queue", "2KiB")
            path, frames = self.frames(50)
            self.forward(path, "--buffer", "1")
            self.assertEqual([s.recv(65536) for _ in frames], frames)

    def test_forward_that_fails(self):
        """A full file interrupts production; a second user, and a provider without an uplink, refuse."""
        self.table()
        path, _ = self.frames(3)
        self.provider("--uplink", "/dev/full")
        begun = time.monotonic()
        (*notes, total), why = self.forward(path, "--buffer", "1", "--wait", "100s", code=1)
        self.assertLess(time.monotonic() - begun, 60)
        self.assertIn("3 reported as interrupted, 0 refused or discarded", why)
        self.assertEqual({n["production"] for n in notes if n["kind"] == "production"}, {"interrupted", "operational"})
        self.assertEqual((total["sent"], total["processed"], total["interrupted"]), (3, 0, 3))
        self.kill()
        self.provider()
        self.assertIn("no such service instance", self.forward(path, code=1)[1])
        self.kill()
        self.provider("--uplink", self.path("uplink.bin"), "--uplink-rate", "1kbit/s")
        with subprocess.Popen([os.path.join(PROGRAMS, "helio-csts"), "forward", f"127.0.0.1:{self.port}", path], stdout=subprocess.PIPE) as first:
            self.running.append(first)
            self.until(lambda: "has started frames" in self.said(), "the first has not started")
            self.assertIn("already bound", self.forward(path, code=1)[1])
            first.send_signal(signal.SIGINT)
            self.assertEqual(first.wait(300), 1)
        self.until(lambda: "has stopped frames" in self.said(), "no STOP")
        self.assertIn("is no file of frames", self.forward(path, "--frame", "11", code=2)[1])

    def test_forward_that_is_refused_by_the_network(self):
        """Nothing listens at the uplink's address: no frame counts as radiated. Then a modem listens, ends, and listens again."""
        self.table()
        port, = self.lab.udp_ports(1)
        p = self.provider("--uplink", f"127.0.0.1:{port}")
        path, frames = self.frames(5)
        for listens in (False, True, False, True):
            with self.subTest(listens=listens), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                if listens:
                    s.bind(("127.0.0.1", port))
                    s.settimeout(60)
                    *_, total = self.forward(path)
                    self.assertEqual((total["processed"], total["interrupted"]), (5, 0))
                    self.assertEqual([s.recv(65536) for _ in frames], frames)
                else:
                    (*notes, total), why = self.forward(path, code=1)
                    self.assertIn("5 reported as interrupted", why)
                    self.assertEqual((total["processed"], total["interrupted"]), (0, 5))
                    self.assertEqual({n["production"] for n in notes if n["kind"] == "production"}, {"interrupted", "operational"})
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)
        self.assertIn("frame 1 was not sent: Connection refused: production was interrupted", self.said())
        self.assertIn("10 radiated, 10 interrupted, 0 discarded, 0 overrun, 0 late, 0 refused; 10 could not be sent", self.said())

    def test_forward_timely(self):
        """The oldest frames are discarded: the user still hears of the last."""
        self.table()
        p = self.provider("--uplink", self.path("uplink.bin"), "--uplink-rate", "100kbit/s", "--forward-mode", "timely", "--queue", "4KiB")
        path, frames = self.frames(200)
        (*notes, total), why = self.forward(path, code=1)
        self.assertEqual(notes[-1]["last_ok"], 200)
        self.assertLess(total["processed"], 100)
        self.assertIn(f"0 reported as interrupted, {200 - total['processed']} refused or discarded", why)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)
        with open(self.path("uplink.bin"), "rb") as f:
            self.assertTrue(f.read().endswith(frames[-1]))

    def test_forward_sequenced(self):
        """Each frame has a return; more of them than the provider stores, so that some are sent again; all in order, once."""
        self.table()
        p = self.provider(*self.passwords("STATION", "CENTRE", "all"), "--uplink", self.path("uplink.bin"), "--uplink-rate", "20Mbit/s",
                          "--sequenced", "--queue", "32KiB")
        path, _ = self.frames(1000)
        own = self.passwords("CENTRE", "STATION", "all")
        for k, report in enumerate(("all", "last")):
            (*notes, total), _ = self.forward(path, "--sequenced", "--report", report, *own, code=3) if k else (self.forward(path, "--sequenced", *own), "")
            self.assertEqual((total["sent"], total["processed"], notes[-1]["last_ok"]), (1000, 1 if k else 1000, 1000))
        self.forward(path, *own, code=1)  # it has no buffered data processing
        self.assertIn("invalid procedure name", self.said())
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)
        with open(self.path("uplink.bin"), "rb") as f, open(path, "rb") as sent:
            self.assertEqual(f.read(), sent.read() * 2)

    def test_forward_locked(self):
        """A frame that cannot be sent interrupts production: the procedure is locked, and the user says so."""
        self.table()
        self.provider("--uplink", "/dev/full", "--sequenced")
        (*notes, total), why = self.forward(self.frames(20)[0], "--sequenced", code=1)
        self.assertEqual((total["processed"], total["interrupted"]), (0, 1))
        self.assertEqual(notes[0]["status"], "interrupted")
        self.assertTrue("the provider is locked" in why or "service instance locked" in why, why)

    def lengths(self, *lengths):
        with open(self.path("lengths.bin"), "wb") as f:
            for n in lengths:
                f.write(n.to_bytes(4, "big") + bytes(n))
        return self.path("lengths.bin")

    def test_forward_refused(self):
        """A refused frame, in the middle or as the last one, is a failure that is reported at once."""
        self.table()
        p = self.provider("--uplink", self.path("uplink.bin"))
        (*_, total), why = self.forward(self.lengths(1, 65536, 5), code=1)
        self.assertEqual((total["sent"], total["processed"]), (3, 2))
        self.assertIn("not all frames were radiated: 0 reported as interrupted, 1 refused or discarded", why)
        for report, ok in ("all", 2), ("last", 0):
            begun = time.monotonic()
            (*_, total), why = self.forward(self.lengths(1, 5, 65536), "--report", report, "--wait", "100s", code=1)
            self.assertLess(time.monotonic() - begun, 60)
            self.assertEqual((total["processed"], total["interrupted"]), (ok, 1))
            self.assertIn("the last one was interrupted, refused or discarded", why)
        self.assertEqual(self.forward(self.lengths(1), "--report", "last")[-1]["processed"], 1)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)
        self.assertIn("10 received, 7 radiated, 0 interrupted, 0 discarded, 0 overrun, 0 late, 3 refused", self.said())

    def test_forward_late(self):
        """Frames that are older than --latency are counted as such; the last one is told."""
        self.table()
        p = self.provider("--uplink", self.path("uplink.bin"), "--uplink-rate", "10kbit/s", "--forward-mode", "timely", "--latency", "500ms")
        begun = time.monotonic()
        (*notes, total), why = self.forward(self.frames(20)[0], "--wait", "100s", code=1)
        self.assertLess(time.monotonic() - begun, 60)
        self.assertEqual((notes[-1]["frame"], notes[-1]["status"]), (20, "interrupted"))
        self.assertIn("the last one was interrupted, refused or discarded", why)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)
        self.assertIn(f"20 received, {total['processed']} radiated, 0 interrupted, 0 discarded, 0 overrun, {20 - total['processed']} late", self.said())

    # ---- TLS ----

    def test_tls(self):
        """Both services inside TLS, with credentials; who has no certificate, or that of another, is not served."""
        self.table()
        ca, other = Authority(self.path("ca")), Authority(self.path("other"))
        station, centre = (ca.issue(name, f"DNS:{name}.example,IP:127.0.0.1", None) for name in ("station", "centre"))

        def tls(files, authority=ca, peer="ca", *more):
            return ["--tls", "--tls-ca", authority.file, "--tls-peer", peer, *(["--tls-certificate", files[0], "--tls-key", files[1]] if files else []),
                    *more]

        self.provider(*tls(station), *self.passwords("STATION", "CENTRE", "all"), "--uplink", self.path("uplink.bin"))
        own = self.passwords("CENTRE", "STATION", "all")
        self.assertEqual(self.values(self.monitor("--get", *own, *tls(centre, ca, "host", "--tls-host", "station.example"))[0])[1, ".1.1"], 5)
        path, frames = self.frames(3000, 1000)
        self.assertEqual(self.forward(path, *own, *tls(centre, ca, "address"))[-1]["processed"], 3000)
        with open(self.path("uplink.bin"), "rb") as f, open(path, "rb") as sent:
            self.assertEqual(f.read(), sent.read())
        self.monitor("--get", *own, "--wait", "3s", code=1)  # without TLS
        self.until(lambda: "TLS: " in self.said(), "the cause is not told")
        self.assertNotIn("the connection has ended", self.said())  # one line, with the cause
        self.monitor("--get", *own, *tls(None), code=1)
        self.monitor("--get", *own, *tls(other.issue("centre", "DNS:centre.example", None)), code=1)
        self.assertIn("TLS", self.monitor("--get", *own, *tls(centre, other), code=1))
        self.assertIn("does not name its host", self.monitor("--get", *own, *tls(centre, ca, "host", "--tls-host", "sun.example"), code=1))
        self.assertIn("--tls-ca", self.monitor("--get", "--tls", code=2))
        self.assertIn("TLS:", self.said())
        self.assertEqual(len(self.monitor("--cycle", "100ms", "-n", "3", *own, *tls(centre))), 3)

    def test_certificates_are_read_again(self):
        """New files are used from the next connection on; if they are wrong the former ones stay. SIGHUP reads them at once."""
        self.table()
        old, new = Authority(self.path("old")), Authority(self.path("new"))
        files = {ca: ca.issue("station", "DNS:station.example,IP:127.0.0.1", None) for ca in (old, new)}

        def place(*from_files):
            for source, name in zip(from_files, ("station.pem", "station.key")):
                shutil.copy(source, self.path("next"))
                os.replace(self.path("next"), self.path(name))

        place(*files[old])
        p = self.provider("--tls", "--tls-ca", old.file, "--tls-peer", "none", "--tls-certificate", self.path("station.pem"),
                          "--tls-key", self.path("station.key"))

        def get(authority, code=0):
            return self.monitor("--get", "--tls", "--tls-ca", authority.file, code=code)

        get(old)
        get(new, code=1)
        place(*files[new])
        get(new)
        get(old, code=1)
        place(files[old][0], files[new][1])  # a certificate with another one's key
        get(new)
        self.assertIn("the certificates that were read before stay in use", self.said())
        place(*files[old])
        read = self.said().count("the certificates are read again")
        p.send_signal(signal.SIGHUP)
        self.until(lambda: self.said().count("the certificates are read again") > read, "SIGHUP reads nothing")
        self.assertIsNone(p.poll())
        get(old)

    def test_users_are_served_while_certificates_are_read(self):
        """A file of many CAs takes some time: reports go on, and a connection that arrives meanwhile is served by the new files."""
        self.table()
        ca, new = Authority(self.path("ca")), Authority(self.path("new"))
        station, centre = ca.issue("station", "IP:127.0.0.1", None), new.issue("centre", "IP:127.0.0.1", None)

        def place(*texts):
            with open(self.path("next"), "w", encoding="ascii") as f:
                f.writelines(texts)
            os.replace(self.path("next"), self.path("cas"))

        def pem(name):
            with open(name, encoding="ascii") as f:
                return f.read()

        place(pem(ca.file))
        p = self.provider("--tls", "--tls-ca", self.path("cas"), "--tls-certificate", station[0], "--tls-key", station[1], "--least-cycle", "10ms")
        mine = ca.issue("monitor", "IP:127.0.0.1", None)
        with open(self.path("reports"), "w", encoding="utf-8") as f:
            monitor = subprocess.Popen(self.command("--cycle", "10ms", "--tls", "--tls-ca", ca.file, "--tls-certificate", mine[0], "--tls-key", mine[1]), stdout=f)
        self.running.append(monitor)
        self.until(lambda: os.path.getsize(self.path("reports")) > 0, "there is no report")
        for count in (2000, 8000, 32000, 128000):
            place(pem(ca.file) * count, pem(new.file))
            read, begin = self.said().count("are read again"), time.time()
            p.send_signal(signal.SIGHUP)
            self.monitor("--get", "--wait", "300s", "--tls", "--tls-ca", ca.file, "--tls-certificate", centre[0], "--tls-key", centre[1], code=1)
            self.assertIn("CENTRE: the BIND was refused: already bound", self.said())  # within TLS
            self.until(lambda read=read: self.said().count("are read again") > read, "they are not read")
            end = stamp(re.findall(r"^(\S+) info: the certificates are read again", self.said(), re.M)[-1])
            if end - begin > 0.5:
                break
        self.assertGreater(end - begin, 0.5, "the file is too short for this test")
        monitor.send_signal(signal.SIGINT)
        self.assertEqual(monitor.wait(300), 0)
        with open(self.path("reports"), encoding="utf-8") as f:
            times = [stamp(json.loads(line)["time"]) for line in f]
        meanwhile = [t for t in times if begin + 0.1 < t < end - 0.1]
        self.assertGreater(len(meanwhile), 2, (begin, end, len(times)))

    def test_descriptors_are_out(self):
        """The log says that connections are not accepted, since there are no descriptors."""
        self.table()
        p = self.provider()
        used = len(os.listdir(f"/proc/{p.pid}/fd"))
        resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (used + 4, used + 4))
        silent = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(12)]
        self.until(lambda: "no file descriptor was free for a connection" in self.said(), "nothing is logged")
        for s in silent:
            s.close()
        self.until(lambda: len(os.listdir(f"/proc/{p.pid}/fd")) <= used, "connections stay")

        def answers():
            try:
                return len(self.monitor("--get")) == 1
            except AssertionError:  # closed: the kernel's queue still had some of the others
                return False

        self.until(answers, "users stay without an answer")


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
