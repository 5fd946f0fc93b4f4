# SPDX-License-Identifier: Apache-2.0
"""helio-csts over real sockets: a provider of a table, and of a node's metrics; its users. usage: csts_test.py BIN OUT [TEST...]"""

import datetime
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
from xml.etree import ElementTree

import csts_case
from certificates import Authority
from csts_case import ANTENNA, CstsCase, HEADER, NODE, stamp, TABLE


class CstsTest(CstsCase):
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
                r = subprocess.run([csts_case.program(), "provider", self.path("figures.csv"), "--listen", f"127.0.0.1:{self.port}"],
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
        self.assertIn("the earlier certificates stay in use", self.said())
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
    csts_case.main()
