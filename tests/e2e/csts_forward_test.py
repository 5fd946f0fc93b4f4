# SPDX-License-Identifier: Apache-2.0
"""helio-csts forward over real sockets: a provider with an uplink, and its users. usage: csts_forward_test.py BIN OUT [TEST...]"""

import signal
import socket
import subprocess
import time

import csts_case
from csts_case import CstsCase, stamp


class ForwardTest(CstsCase):
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
        self.provider("--uplink", "/dev/full", "--production-event", "1.3.112.4.4.1.1.5.2.1.1")
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
        with subprocess.Popen([csts_case.program(), "forward", f"127.0.0.1:{self.port}", path], stdout=subprocess.PIPE) as first:
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

    def test_forward_at_its_time(self):
        """Each frame waits for its earliest time, and --wait for that time."""
        self.table()
        self.provider("--uplink", self.path("uplink.bin"), "--sequenced")
        path, frames = self.frames(5)
        begun = time.time()
        *notes, total = self.forward(path, "--sequenced", "--earliest", "+2s", "--latest", "+200s", "--wait", "1500ms")
        self.assertEqual(total["processed"], 5)
        for note in notes:
            self.assertGreaterEqual(stamp(note["started"]), begun + 2)
        (_, why) = self.forward(path, "--sequenced", "--earliest", "+3s", "--latest", "+2s", code=1)
        self.assertIn("frame 1 is refused: inconsistent time range", why)

    def test_forward_reset(self):
        """Frames that cannot begin at their latest time expire and lock the provider; those behind are sent again after a reset: each is radiated or
        expired, once, in order."""
        self.table()
        path, frames = self.frames(20)
        rate = 8 * sum(len(f) for f in frames) / 20 / 0.3  # a frame takes some 0.3 s
        p = self.provider("--uplink", self.path("uplink.bin"), "--uplink-rate", f"{int(rate)}bit/s", "--sequenced")
        (*notes, total), why = self.forward(path, "--sequenced", "--latest", "+1s", "--reset", code=1)
        fates = {}
        for n in notes:
            if n.get("status") in ("processed", "expired"):
                self.assertEqual(fates.setdefault(n["frame"], n["status"]), n["status"])
        expired = [k for k, status in fates.items() if status == "expired"]
        self.assertEqual(list(fates), list(range(1, 21)))
        self.assertGreaterEqual(len(expired), 2)
        self.assertGreaterEqual(total["processed"], 2)
        self.assertEqual((total["sent"], total["interrupted"], total["processed"]), (20, len(expired), 20 - len(expired)))
        self.assertEqual(total["resets"], len(expired) - (20 in expired))
        self.assertIn(f"{len(expired)} reported as interrupted, 0 refused or discarded", why)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)
        with open(self.path("uplink.bin"), "rb") as f:
            self.assertEqual(f.read(), b"".join(len(x).to_bytes(4, "big") + x for k, x in enumerate(frames, 1) if fates[k] == "processed"))
        self.kill()
        self.provider("--uplink", "/dev/full", "--sequenced")
        (*_, total), _ = self.forward(path, "--sequenced", "--reset", code=1)
        self.assertEqual((total["processed"], total["interrupted"], total["resets"]), (0, 20, 19))
        for wrong in (["--reset"], ["--latest", "+1s"], ["--sequenced", "--reset", "--report", "last"], ["--sequenced", "--earliest", "soon"]):
            self.forward_usage(path, *wrong)

    def forward_usage(self, path, *options):
        self.assertEqual(subprocess.run([csts_case.program(), "forward", f"127.0.0.1:{self.port}", path, *options],
                                        capture_output=True, timeout=300, check=False).returncode, 2)

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

    def test_forward_service(self):
        """The service has the identifier that both ends are given; with another one the BIND is refused."""
        self.table()
        self.provider("--uplink", self.path("uplink.bin"), "--forward-service", "1.3.112.4.4.1.2.42")
        path, _ = self.frames(3)
        self.assertEqual(self.forward(path, "--forward-service", "1.3.112.4.4.1.2.42")[-1]["processed"], 3)
        self.assertIn("no such service instance", self.forward(path, code=1)[1])
        self.assertIn("service type not supported", self.forward(path, "--forward-service", "1.3.112.4.4.1.2.43", code=1)[1])

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


if __name__ == "__main__":
    csts_case.main()
