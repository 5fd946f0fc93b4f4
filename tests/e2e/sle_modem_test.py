# SPDX-License-Identifier: Apache-2.0
"""Frames with what a modem knows: quality, continuity, times and counts equal the account of who made them; lock and production are told.

usage: sle_modem_test.py BIN"""

import csv
import json
import os
import socket
import struct
import subprocess
import sys
import unittest

import sle_case

IDS = {"good": "sagr=1.spack=1.rsl-fg=1.raf=onlc1", "erred": "sagr=1.spack=1.rsl-fg=1.raf=onlc2", "all": "sagr=1.spack=1.rsl-fg=1.raf=onlc3"}
OFFLINE = "sagr=1.spack=1.rsl-fg=1.raf=offl1"
CLTU = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
COUNT, FRAME, SHARE = 20000, 128, 0.01
GOOD, ERRED = 0, 1
QUALITY = {"good": GOOD, "erred": ERRED}
FRAME_KIND, STATUS, END = 0, 1, 2
IN, OUT, UNKNOWN = 0, 1, 3


def unit(kind, data=b"", locks=(IN, IN, IN, IN), production=0, ms=0):
    """A head as docs/helio-sle.md has it, and the frame."""
    frame, symbol, subcarrier, carrier = locks
    return (b"HSF1" + bytes([kind, 0, production, frame << 6 | symbol << 4 | subcarrier << 2 | carrier]) + struct.pack(">HII", 25000, ms, 0) +
            bytes(2) + struct.pack(">II", 0, len(data)) + data)


def expected(rows, wanted, said):
    """(continuity, quality, time, picoseconds) of each frame that this user gets."""
    told, missing, before, first = [], 0, 0, True
    for row in rows:
        if row["fate"] == "missing":
            missing += 1
            continue
        quality = QUALITY[row["fate"]]
        if said or quality == GOOD:  # an erred frame's counts are not believed: the next good one shows them
            before, missing = before + missing, 0
        if wanted in ("all", row["fate"]):
            told.append((-1 if first else before, quality, int(row["earth_receive_ns"]), int(row["picoseconds"])))
            first, before = False, 0
    return told


class ModemTest(sle_case.SleCase):
    def start(self, kind, more="", instances="", head="modem"):
        self.modem_port = sle_case.free_port()
        ids = "".join(f"  - {{id: {i}, users: CENTRE, source: modem, store: 100000, buffer: 50}}\n" for i in IDS.values())
        self.provider(f"""control: {self.path('control')}
sources:
  - {{name: modem, kind: {kind}, head: {head}, address: '127.0.0.1:{self.modem_port}', frame: {FRAME}{more}}}
instances:
{ids}{instances}""")

    def begin(self, names, *options):
        started = {}
        for name in names:
            command = self.user_command(IDS[name], "--quality", name, "--frames-csv", self.path(name + ".csv"), *options)
            started[name] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self.running.append(started[name])
        self.until(lambda: sum(i["state"] == "active" for i in self.status()["instances"]) == len(names) or
                   any(p.poll() is not None for p in started.values()), "the users do not start")
        return started

    def modem(self, *options):
        r = subprocess.run([os.path.join(self.BIN, "helio-sle"), "modem", "-n", str(COUNT), "--frame", str(FRAME), "--erred", str(SHARE),
                            "--missing", str(SHARE), "--account", self.path("account.csv"), *options], capture_output=True, text=True, timeout=300)
        self.assertEqual(r.returncode, 0, r.stderr)
        with open(self.path("account.csv")) as f:
            rows = list(csv.DictReader(f))
        counts = {fate: sum(row["fate"] == fate for row in rows) for fate in ("good", "erred", "missing")}
        self.assertEqual(json.loads(r.stdout), counts)
        self.assertEqual(len(rows), COUNT)
        for fate in ("erred", "missing"):
            self.assertGreater(counts[fate], COUNT * SHARE / 2, "hardly any were " + fate)
        return rows, counts

    def told(self, name):
        with open(self.path(name + ".csv")) as f:
            return list(csv.DictReader(f))

    def numbers(self, name):
        return [(int(r["continuity"]), int(r["quality"]), int(r["earth_receive_ns"]), int(r["picoseconds"])) for r in self.told(name)]

    def check(self, rows, counts, said, users):
        for name, p in users.items():
            out, _ = p.communicate(timeout=300)
            self.assertEqual(p.returncode, 0, name)
            self.assertEqual(json.loads(out)["associations"][0]["end_of_data"], True)
        for name in IDS:
            with self.subTest(name):
                self.assertEqual(self.numbers(name), expected(rows, name, said))
        source = self.status()["sources"][0]
        self.assertEqual((source["frames"], source["erred"], source["missing"], source["bad"]),
                         (counts["good"] + counts["erred"], counts["erred"], counts["missing"], 0))

    def test_decoded_cadus(self):
        """What a Reed-Solomon decoder says of each frame is what the users are told."""
        cadus = ["-l", str(FRAME), "--rs", "223", "--interleave", "1"]
        for words in (["gen", "-n", "2000", "--packet", "60", "--to", "cadu", "--bit-errors", "0.01", "-o", self.path("x.cadu")],
                      ["convert", "--from", "cadu", "--erred", "--to", "modem", self.path("x.cadu"), "-o", self.path("x.hsf")]):
            subprocess.run([os.path.join(self.BIN, "helio-frames"), *words, *cadus], check=True, timeout=300)
        each = subprocess.run([os.path.join(self.BIN, "helio-frames"), "info", "--from", "cadu", "--each", *cadus, self.path("x.cadu")],
                              capture_output=True, check=True, text=True, timeout=300).stdout
        qualities = [QUALITY[row["quality"]] for row in csv.DictReader(each.splitlines())]
        self.assertGreater(qualities.count(ERRED), 50)
        self.assertGreater(qualities.count(GOOD), 1000)
        self.start("tcp")
        users = self.begin(IDS, "--until-end")
        with socket.create_connection(("127.0.0.1", self.modem_port)) as s, open(self.path("x.hsf"), "rb") as f:
            s.sendall(f.read() + unit(END))
            for name, p in users.items():
                p.communicate(timeout=300)
                self.assertEqual(p.returncode, 0, name)
        for name, want in (("all", qualities), ("good", [GOOD] * qualities.count(GOOD)), ("erred", [ERRED] * qualities.count(ERRED))):
            self.assertEqual([int(r["quality"]) for r in self.told(name)], want, name)
        self.stop()

    def try_account(self, kind, said):
        self.start(kind, "" if said else ", fecf: 2")
        users = self.begin(IDS, "--until-end")
        target = ["--connect"] if kind == "tcp" else ["--rate", "10Mbit/s", "--datagrams"]
        rows, counts = self.modem("--until-end", "--antenna", "DSS-14", "--annotation", "pass 7", *([] if said else ["--unsaid"]),
                                  *target, f"127.0.0.1:{self.modem_port}")
        self.check(rows, counts, said, users)
        for name in IDS:
            self.assertEqual({(r["antenna"], r["annotation"]) for r in self.told(name)}, {(b"DSS-14".hex(), b"pass 7".hex())})
        self.stop()

    def test_account_said_by_tcp(self):
        self.try_account("tcp", True)

    def test_account_judged_by_tcp(self):
        self.try_account("tcp", False)

    def test_account_said_by_datagrams(self):
        self.try_account("udp", True)

    def test_recorded(self):
        """Offline and complete users get from the recording what the modem said, down to the picosecond."""
        self.start("tcp", f", record: {self.path('record')}", f"  - {{id: {OFFLINE}, users: CENTRE, source: modem, store: 1000}}\n")
        rows, counts = self.modem("--antenna", "DSS-14", "--annotation", "pass 7", "--connect", f"127.0.0.1:{self.modem_port}")
        there = counts["good"] + counts["erred"]
        self.until(lambda: self.status()["sources"][0]["frames"] == there, "the source does not get all")
        time = "2026-01-01T00:00:00Z"
        self.user(OFFLINE, "--from", time, "--to", "2200-01-01T00:00:00Z", "--until-end", "--quality", "all", "--frames-csv", self.path("offline.csv"),
                  code=1)  # the end is in the future, which offline is refused
        self.user(OFFLINE, "--from", time, "--to", self.now(), "--until-end", "--quality", "all", "--frames-csv", self.path("offline.csv"))
        self.assertEqual(self.numbers("offline"), expected(rows, "all", True))
        self.assertEqual({(r["antenna"], r["annotation"]) for r in self.told("offline")}, {(b"DSS-14".hex(), b"pass 7".hex())})
        for name in IDS:
            self.user(IDS[name], "--from", time, "-n", str(len(expected(rows, name, True))), "--quality", name, "--frames-csv", self.path(name + ".csv"))
            self.assertEqual(self.numbers(name), expected(rows, name, True))
        self.stop()

    @staticmethod
    def now():
        return subprocess.run(["date", "-u", "+%FT%T.%6NZ"], capture_output=True, text=True, check=True).stdout.strip()

    def control(self, *words, code=0):
        r = subprocess.run([os.path.join(self.BIN, "helio-sle"), "control", self.path("control"), *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(r.returncode, code, r.stderr)
        return r.stderr

    def notified(self, user):
        out, _ = user.communicate(timeout=300)
        self.assertEqual(user.returncode, 0)
        return [{k: v for k, v in n.items() if k != "time"} for n in json.loads(out)["associations"][0]["notified"]]

    def test_words_of_the_modem(self):
        """Lock, production and the end of data are reported where they happened, between the frames."""
        self.start("tcp")
        user = self.begin(["all"], "--until-end")["all"]
        data = bytes.fromhex("6ac5000000") + bytes(FRAME - 5)
        with socket.create_connection(("127.0.0.1", self.modem_port)) as s:
            s.sendall(unit(FRAME_KIND, data) * 3 + unit(STATUS, locks=(OUT, OUT, UNKNOWN, IN), ms=5) + unit(STATUS, production=1) +
                      unit(FRAME_KIND, data, production=1) * 2 + unit(FRAME_KIND, data) + unit(FRAME_KIND, data, locks=(OUT, IN, IN, IN)) + unit(END))
            self.assertEqual(self.notified(user), [
                {"after": 3, "what": "loss of frame synchronisation", "carrier": "yes", "subcarrier": "unknown", "symbol": "no"},
                {"after": 3, "what": "production", "production": "interrupted"},
                {"after": 5, "what": "production", "production": "running"},
                {"after": 6, "what": "loss of frame synchronisation", "carrier": "yes", "subcarrier": "yes", "symbol": "yes"},
                {"after": 7, "what": "end of data"}])
        self.stop()

    def test_words_of_the_operator(self):
        self.start("udp", instances=f"  - {{id: {CLTU}, users: CENTRE}}\n")
        user = self.begin(["all"], "--until-end")["all"]
        self.control("modem", "carrier-lock", "no")
        self.control("modem", "frame-lock", "yes")
        self.control("modem", "production", "interrupted")
        self.control("modem", "production", "interrupted")  # reported once
        self.control("modem", "production", "running")
        self.control(CLTU, "production", "halted")
        self.control(CLTU, "uplink", "nominal")
        self.assertIn("no such source", self.control("radio", "carrier-lock", "no", code=1))
        self.assertIn("yes, no, unknown", self.control("modem", "carrier-lock", "off", code=1))
        self.control("modem", "end-of-data")
        self.assertEqual(self.notified(user), [
            {"after": 0, "what": "loss of frame synchronisation", "carrier": "no", "subcarrier": "no", "symbol": "no"},
            {"after": 0, "what": "production", "production": "interrupted"}, {"after": 0, "what": "production", "production": "running"},
            {"after": 0, "what": "end of data"}])
        self.assertEqual(os.stat(self.path("control")).st_mode & 0o777, 0o600)
        self.stop()

    def test_words_while_behind(self):
        """A user that was not there gets what happened meanwhile where it happened."""
        self.start("tcp", f", record: {self.path('record')}")
        data = bytes.fromhex("6ac5000000") + bytes(FRAME - 5)
        with socket.create_connection(("127.0.0.1", self.modem_port)) as s:
            s.sendall(unit(FRAME_KIND, data) * 3 + unit(STATUS, locks=(OUT, OUT, OUT, OUT)) + unit(FRAME_KIND, data) * 2 + unit(STATUS, production=1) + unit(END))
            self.until(lambda: self.status()["sources"][0]["frames"] == 5, "the source does not get all")
            user = self.begin(["all"], "--until-end", "--from", "2024-01-01T00:00:00Z")["all"]
            self.assertEqual([(n["after"], n["what"]) for n in self.notified(user)],
                             [(0, "production"), (3, "loss of frame synchronisation"), (5, "production"), (5, "end of data")])
        self.stop()

    def test_what_is_no_head(self):
        """A datagram that is none is left out, counted; a connection is broken off, and the next one served."""
        self.start("udp")
        data = bytes.fromhex("6ac5000000") + bytes(FRAME - 5)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for octets in (data, unit(FRAME_KIND, data)[:-1], unit(FRAME_KIND, data) + b"\0", unit(3, data), unit(FRAME_KIND, data)):
                s.sendto(octets, ("127.0.0.1", self.modem_port))
        self.until(lambda: self.status()["sources"][0]["frames"] == 1, "the good one does not arrive")
        self.assertEqual(self.status()["sources"][0]["bad"], 4)
        self.stop()
        self.start("tcp")
        user = self.begin(["all"], "--until-end")["all"]
        with socket.create_connection(("127.0.0.1", self.modem_port)) as s:
            s.sendall(unit(FRAME_KIND, data) + b"no head" * 10)
            self.assertRaises((ConnectionResetError, BrokenPipeError), lambda: s.recv(1) == b"" and s.sendall(b"x"))
        with socket.create_connection(("127.0.0.1", self.modem_port)) as s:
            s.sendall(unit(FRAME_KIND, data) * 4 + unit(FRAME_KIND, data)[:20])
        self.until(lambda: "within a frame" in self.said(), "the cut frame is not told")
        with socket.create_connection(("127.0.0.1", self.modem_port)) as s:
            s.sendall(unit(END))
        self.assertEqual([(n["after"], n["what"]) for n in self.notified(user)], [(5, "end of data")])
        self.assertIn("no head of a modem's frame", self.said())
        self.stop()

    def test_a_modem_that_comes_again(self):
        """Also while nobody takes frames: its second connection is served, and all frames are there for the first user."""
        data = bytes.fromhex("6ac5000000") + bytes(FRAME - 5)
        for head in ("modem", "none"):
            with self.subTest(head):
                self.port = sle_case.free_port()
                self.start("tcp", head=head)
                for count in (3, 2):
                    with socket.create_connection(("127.0.0.1", self.modem_port)) as s:
                        s.sendall((unit(FRAME_KIND, data) if head == "modem" else data) * count)
                    self.until(lambda count=count: self.said().count("the connection has ended") == (1 if count == 3 else 2), "the end is not noticed", 20)
                r = self.user(IDS["all"], "-n", "5")
                self.assertEqual(r["frames"], 5)
                self.assertNotIn("refused", self.said())
                self.stop()


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
