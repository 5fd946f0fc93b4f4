# SPDX-License-Identifier: Apache-2.0
"""helio-csts data over real sockets: a provider with a downlink, and its users. usage: csts_data_test.py BIN OUT [TEST...]"""

import json
import os
import signal
import socket
import subprocess
import threading
import time

import csts_case
from csts_case import CstsCase, stamp

ALL = ("--from", "now-1h", "--to", "now+1s")  # frames that are there, and none that are still to come


class DataTest(CstsCase):
    def data(self, *options, code=0, out="received.bin"):
        """Its lines; with a code that is not 0 also what it says on its standard error."""
        r = subprocess.run(self.command_of(*options, out=out), capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(r.returncode, code, r.stderr + r.stdout[-2000:] + self.said())
        lines = [json.loads(line) for line in r.stdout.splitlines()]
        return lines if code == 0 else (lines, r.stderr)

    def command_of(self, *options, out="received.bin"):
        return [csts_case.program(), "data", f"127.0.0.1:{self.port}", out if ":" in out else self.path(out), "--json", *options]

    def received(self, name="received.bin"):
        """The frames of a file, which is removed."""
        frames = []
        with open(self.path(name), "rb") as f:
            while head := f.read(4):
                frames.append(f.read(int.from_bytes(head, "big")))
        os.remove(self.path(name))
        return frames

    def numbered(self, count, size):
        path, frames = self.path("numbered.bin"), [i.to_bytes(4, "big") + bytes(size - 4) for i in range(count)]
        with open(path, "wb") as f:
            f.write(b"".join(frames))
        return path, frames

    def end(self, p):
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0)

    def test_data_of_a_file(self):
        """Lengths, order and times stay; with credentials in each element; beside a monitor; to a file, and as datagrams."""
        self.table()
        path, frames = self.frames(1000)
        begun = time.time()
        p = self.provider(*self.passwords("STATION", "CENTRE", "all"), "--downlink", path, "--delivery-buffer", "7")
        own = self.passwords("CENTRE", "STATION", "all")
        with subprocess.Popen(self.command(*own, "--cycle", "100ms"), stdout=subprocess.PIPE, text=True) as m:
            self.running.append(m)
            m.stdout.readline()
            *lines, end, total = self.data(*own, *ALL)
            m.send_signal(signal.SIGINT)
            m.communicate(timeout=300)
            self.assertEqual(m.returncode, 0)
        self.assertEqual(self.received(), frames)
        self.assertEqual([(n["kind"], n["sequence"], n["octets"]) for n in lines], [("frame", i, len(f)) for i, f in enumerate(frames)])
        for n in lines:
            self.assertTrue(begun - 1 < stamp(n["time"]) < time.time() + 1, n)
        self.assertEqual((end["kind"], end["event"]), ("event", "end of data"))
        self.assertEqual(total, {"kind": "sum", "frames": 1000, "octets": sum(map(len, frames)), "missing": 0, "discarded": 0, "overflows": 0})
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            s.settimeout(60)
            self.assertEqual(self.data(*own, *ALL, "-n", "20", out=f"127.0.0.1:{s.getsockname()[1]}")[-1]["frames"], 20)
            self.assertEqual([s.recv(65536) for _ in range(20)], frames[:20])
        self.end(p)
        self.assertIn("downlink: 1000 frames;", self.said())

    def test_data_of_a_window(self):
        """Complete mode, datagrams: those from before the START and those that come later, up to the end of the window; each once, in order."""
        self.table()
        at, = self.lab.udp_ports(1)
        p = self.provider("--downlink", f"127.0.0.1:{at}")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.1", at))
            for i in range(100):
                s.send(b"early%d" % i)
            time.sleep(0.5)
            since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
            with subprocess.Popen(self.command_of("--from", since, "--to", "+3s"), stdout=subprocess.PIPE, text=True) as user:
                self.running.append(user)
                self.until(lambda: "has started data" in self.said(), "no START")
                for i in range(100):
                    s.send(b"late%d" % i)
                    time.sleep(0.002)
                lines = [json.loads(line) for line in user.communicate(timeout=300)[0].splitlines()]
                self.assertEqual(user.returncode, 0)
            self.assertEqual(self.received(), [b"early%d" % i for i in range(100)] + [b"late%d" % i for i in range(100)])
            self.assertEqual(lines[-2]["event"], "end of data")
            # a window that begins after the early ones, and ends before its START
            after = stamp(lines[99]["time"]) + 0.1
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(after)) + f".{int(after % 1 * 1e6):06d}Z"
            self.assertEqual(self.data("--from", text, "--to", "now")[-1]["frames"], 100)
            self.assertEqual(self.received(), [b"late%d" % i for i in range(100)])
        self.end(p)

    def test_data_no_longer_kept(self):
        """More than --store: the oldest are removed, and the user of a window that had them is notified."""
        self.table()
        at, = self.lab.udp_ports(1)
        p = self.provider("--downlink", f"127.0.0.1:{at}", "--store", "8KiB")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.1", at))
            for i in range(50):
                s.send(i.to_bytes(2, "big") * 500)
                time.sleep(0.002)
        time.sleep(0.5)
        (first, *lines, end, total), why = self.data(*ALL, code=3)
        self.assertEqual((first["event"], end["event"], total["overflows"]), ("recording buffer overflow", "end of data", 1))
        self.assertIn("discarded frames, or did not have them any more", why)
        self.assertEqual([f[:2] for f in self.received()], [i.to_bytes(2, "big") for i in range(50 - len(lines), 50)])
        self.assertTrue(5 <= len(lines) <= 8, len(lines))
        self.assertEqual(self.data("--from", lines[0]["time"], "--to", "now+1s")[-1]["frames"], len(lines))
        self.end(p)
        self.assertIn(f"{50 - len(lines)} no longer kept", self.said())

    def stalled(self, meanwhile, *options):
        """The lines of a user that is stopped for a while, and its exit code."""
        with subprocess.Popen(self.command_of(*options), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as user:
            self.running.append(user)
            self.until(lambda: "has started data" in self.said(), "no START")
            user.send_signal(signal.SIGSTOP)
            meanwhile()
            user.send_signal(signal.SIGCONT)
            lines = [json.loads(line) for line in user.communicate(timeout=300)[0].splitlines()]
            return lines, user.returncode

    def test_data_of_a_slow_user(self):
        """Complete mode waits for it."""
        self.table()
        path, frames = self.numbered(30000, 1000)
        p = self.provider("--downlink", path, "--downlink-frame", "1000", "--downlink-rate", "120Mbit/s")  # 2 s
        (*_, total), code = self.stalled(lambda: time.sleep(2.5), "--from", "now-1h", "--to", "now+30s")
        self.assertEqual((code, total["frames"], total["missing"]), (0, 30000, 0))
        self.assertEqual(self.received(), frames)
        self.end(p)

    def test_data_of_a_slow_user_in_real_time(self):
        """Frames are discarded, the user is notified in their place, and the others are in order: also those that come later."""
        self.table()
        at, = self.lab.udp_ports(1)
        p = self.provider("--downlink", f"127.0.0.1:{at}", "--delivery-mode", "real-time")
        numbers = iter(range(1, 1 << 30))

        def send(count):
            """Some may be lost before the provider has them: this machine may be busy."""
            for n in range(count):
                s.sendto(next(numbers).to_bytes(4, "big") + bytes(996), ("127.0.0.1", at))
                if n % 50 == 0:
                    time.sleep(0.002)

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s, \
                subprocess.Popen(self.command_of(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as user:
            self.running.append(user)
            self.until(lambda: "has started data" in self.said(), "no START")
            user.send_signal(signal.SIGSTOP)
            send(100000)  # more than all buffers on the way
            user.send_signal(signal.SIGCONT)
            lines, told = [], False
            reader = threading.Thread(target=lambda: lines.extend(json.loads(line) for line in user.stdout))
            reader.start()
            while not told:  # until frames arrive behind the notification
                send(50)
                time.sleep(0.05)
                told = any(n.get("event") == "data discarded" for n in lines[:-1]) and lines[-1]["kind"] == "frame"
            user.send_signal(signal.SIGINT)
            reader.join(300)
            self.assertEqual(user.wait(300), 3)
        got = [int.from_bytes(f[:4], "big") for f in self.received()]
        self.assertEqual(got, sorted(set(got)))
        self.assertEqual(lines[-1]["frames"], len(got))
        self.assertGreater(lines[-1]["missing"], 0)
        self.assertGreater(lines[-1]["discarded"], 0)
        first = next(i for i, n in enumerate(lines) if n.get("event") == "data discarded")
        sequences = [n["sequence"] for n in lines[:first] if n["kind"] == "frame"][-1:], [n["sequence"] for n in lines[first:] if n["kind"] == "frame"][0]
        self.assertGreater(sequences[1], (sequences[0] or [-1])[0] + 1)
        self.end(p)
        self.assertNotIn(" 0 discarded", self.said())

    def test_data_latency(self):
        """A return buffer that is not full is sent after its latency, or at once with one frame a buffer."""
        self.table()
        at, = self.lab.udp_ports(1)
        for options, least, most in ((("--delivery-latency", "2s", "--delivery-buffer", "10000"), 1.9, 30), (("--delivery-latency", "100s", "--delivery-buffer", "1"), 0, 30)):
            p = self.provider("--downlink", f"127.0.0.1:{at}", "--delivery-mode", "real-time", *options)
            with subprocess.Popen(self.command_of("-n", "3"), stdout=subprocess.PIPE, text=True) as user, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                self.running.append(user)
                self.until(lambda: "has started data" in self.said(), "no START")
                begun = time.monotonic()
                for _ in range(3):
                    s.sendto(b"frame", ("127.0.0.1", at))
                self.assertEqual(len(user.communicate(timeout=300)[0].splitlines()), 4)
                self.assertTrue(least <= time.monotonic() - begun <= most, time.monotonic() - begun)
            self.end(p)
            self.kill()

    def test_data_refused(self):
        """A second user, a START without times, a provider without a downlink; files and options that are wrong; a signal ends it in order."""
        self.table()
        path, _ = self.frames(10)
        at, = self.lab.udp_ports(1)
        self.provider("--downlink", f"127.0.0.1:{at}")
        self.assertIn("complete delivery has a start and a stop time", self.data(code=1)[1])
        self.assertIn("the stop time is before the start time", self.data("--from", "now", "--to", "now-2s", code=1)[1])
        with subprocess.Popen(self.command_of("--from", "now", "--to", "+1h"), stdout=subprocess.PIPE, text=True) as first:
            self.running.append(first)
            self.until(lambda: "has started data" in self.said(), "no START")
            self.assertIn("already bound", self.data(*ALL, code=1)[1])
            first.send_signal(signal.SIGINT)
            self.assertEqual(json.loads(first.communicate(timeout=300)[0])["frames"], 0)
            self.assertEqual(first.returncode, 0)
        self.until(lambda: "has stopped data" in self.said(), "no STOP")
        self.assertEqual(self.data("--from", "now", "--to", "+1h", "-t", "300ms")[-1]["frames"], 0)
        self.assertIn("service type not supported", self.data("--data-service", "1.3.112.4.4.1.2.99", *ALL, code=1)[1])
        self.kill()
        self.provider("--downlink", path, "--data-service", "1.3.112.4.4.1.2.99", "--delivery-events", "2.999.5")
        own = ["--data-service", "1.3.112.4.4.1.2.99", "--delivery-events", "2.999.5", *ALL]
        *_, end, total = self.data(*own)
        self.assertEqual((end["event"], total["frames"]), ("end of data", 10))
        self.kill()
        self.provider()
        self.assertIn("the BIND was refused", self.data(*ALL, code=1)[1])
        self.kill()
        self.provider("--downlink", path)
        self.assertIn("No space left", self.data(*ALL, code=1, out="/dev/full")[1])
        for code, wrong in ((1, ("--downlink", path, "--downlink-frame", "11")), (1, ("--downlink", self.path("none.bin"))),
                            (2, ("--downlink", f"127.0.0.1:{at}", "--downlink-rate", "1Mbit/s")), (2, ("--downlink", path, "--delivery-mode", "real-time"))):
            r = subprocess.run([csts_case.program(), "provider", self.path("figures.csv"), "--listen", f"127.0.0.1:{self.lab.udp_ports(1)[0]}", *wrong],
                               capture_output=True, timeout=300, check=False)
            self.assertEqual(r.returncode, code, r.stderr)
        self.assertEqual(subprocess.run(self.command_of()[:3], capture_output=True, timeout=300, check=False).returncode, 2)


if __name__ == "__main__":
    csts_case.main()
