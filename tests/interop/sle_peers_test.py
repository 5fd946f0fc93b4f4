# SPDX-License-Identifier: Apache-2.0
"""helio-sle against dariolucia's SLE library in both roles and LibreCube's user: every frame and CLTU equal, in order, once.

usage: sle_peers_test.py BIN OUT DIR        DIR: what sle.sh made"""

import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import unittest

import _paths  # noqa: F401
import sle_case  # noqa: E402

DIR = OUT = ""
PASSWORD = sle_case.PASSWORD
RUNS = [(2, "none", "SHA_1"), (3, "none", "SHA_1"), (3, "all", "SHA_1"), (4, "none", "SHA_1"), (4, "bind", "SHA_1"), (4, "all", "SHA_1"),
         (5, "none", "SHA_1"), (5, "all", "SHA_1"), (5, "all", "SHA_256")]
INSTANCES = {"raf": "sagr=1.spack=1.rsl-fg=1.raf=onlc1", "rcf": "sagr=1.spack=1.rsl-fg=1.rcf=onlc1",
             "rocf": "sagr=1.spack=1.rsl-fg=1.rocf=onlc1", "cltu": "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"}
FRAMES, LENGTH = 300, 1115


def aos(i):
    return bytes((0x6a, 0xc5)) + i.to_bytes(3, "big") + b"\0" + os.urandom(LENGTH - 6)


def tm(i):
    head = struct.pack(">H", 171 << 4 | 5 << 1 | 1) + bytes((i % 256, i % 256)) + b"\x18\0"
    return head + os.urandom(LENGTH - 10) + struct.pack(">I", i)


def with_lengths(items):
    return b"".join(struct.pack(">I", len(x)) + x for x in items)


def listens(port):
    """Does a provider? A connection would be taken for the user's."""
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(name) as f:
            if any(x[1].endswith(f":{port:04X}") and x[3] == "0A" for x in map(str.split, list(f)[1:])):
                return True
    return False


class Peer:
    """The Java program: a user or a provider."""

    def __init__(self, test, role, service, port, run, **more):
        version, level, hash = run
        options = dict(role=role, service=service, port=port, version=version, auth=level.upper(), hash=hash,
                       **{"instance": INSTANCES[service], "user-id": "CENTRE", "user-password": PASSWORD["CENTRE"], "provider-id": "STATION",
                          "provider-password": PASSWORD["STATION"], **more})
        command = ["java", "-XX:+UseSerialGC", "-cp", f"{DIR}/classes:{DIR}/lib/*", "Peer"] + [f"{k}={v}" for k, v in options.items()]
        self.test = test
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        test.running.append(self.process)
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()
        if role == "provider":
            line = self.process.stdout.readline()
            test.assertEqual(line, "ready\n", "".join(self.errors))
            test.until(lambda: listens(port), "the peer does not listen")

    def result(self):
        for line in self.process.stdout:
            if line.startswith("result "):
                self.process.wait(300)
                return dict(p.split("=", 1) for p in line.split()[1:] if "=" in p)
        self.test.fail("the peer ended without a result: " + "".join(self.errors))


class SleTest(sle_case.SleCase):
    def tearDown(self):
        if os.path.exists(self.path("station.log")):
            os.makedirs(OUT, exist_ok=True)
            shutil.copy(self.path("station.log"), os.path.join(OUT, self.id().split(".")[-1] + ".log"))
        super().tearDown()

    def write(self, name, octets):
        with open(self.path(name), "wb") as f:
            f.write(octets)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def their_user(self, service, run):
        """Our provider, their user."""
        frames = [(tm if service == "rocf" else aos)(i) for i in range(FRAMES)]
        cltus = [b"\xeb\x90" + os.urandom(30 + i) for i in range(100)]
        self.write("frames", b"".join(frames))
        if service == "cltu":
            text = (f"instances:\n  - {{id: {INSTANCES['cltu']}, users: CENTRE, uplink: {self.path('uplink')}, events: [{{id: 1, "
                    "qualifiers: 7}, {id: 2, actions: fail}, {id: 3, condition: not-operational}, {id: 4, qualifiers: '8'}]}\n")
        else:
            text = (f"sources:\n  - {{name: f, kind: file, file: {self.path('frames')}, frame: {LENGTH}, "
                    f"control_words: {'yes' if service == 'rocf' else 'no'}}}\n"
                    f"instances:\n  - {{id: {INSTANCES[service]}, users: CENTRE, source: f, buffer: 7, latency: 100ms, "
                    f"gvcids: {'0' if service == 'rocf' else '1'}.171.5}}\n")
        version, level, hash = run
        self.provider(text, level=level, hash=hash.lower().replace("_", ""))
        peer = Peer(self, "user", service, self.port, run, frames=FRAMES, out=self.path("got"), tfvn=0 if service == "rocf" else 1,
                    **{"in": self.write("cltus", with_lengths(cltus)), "events": "0:1:2,1:2:2,1:1:1,2:9:1,2:4:1,2:3:2,3:1:2"}
                    if service == "cltu" else {})
        r = peer.result()
        self.assertEqual(r["errors"], "0", r)
        self.assertEqual(r["state"], "UNBOUND", (r, self.said()))
        if service == "cltu":
            self.assertEqual((r["returns"], r["negative"], r["radiated"]), ("100", "0", "100"), r)
            self.assertEqual(self.read("uplink"), with_lengths(cltus))
            self.assertEqual(r["events"], "+1,done:0,+2,not:1,-1:2,-2:2,-2:2,+3,false:2,+4,done:3,")
        else:
            self.assertEqual(self.read("got"), with_lengths([f[-4:] for f in frames] if service == "rocf" else frames))
            self.assertEqual(r["ended"], "true", r)
        self.stop()
        self.assertIn("unbound by CENTRE", self.said())

    def our_user(self, service, run):
        """Their provider, our user."""
        frames = [(tm if service == "rocf" else aos)(i) for i in range(FRAMES)]
        cltus = [b"\xeb\x90" + os.urandom(30 + i) for i in range(100)]
        version, level, hash = run
        more = {"tfvn": 0 if service == "rocf" else 1}
        if service == "cltu":
            more["out"] = self.path("got")
            self.write("cltus", with_lengths(cltus))
        else:
            more["in"] = self.write("frames", with_lengths(frames))
        peer = Peer(self, "provider", service, self.port, run, **more)
        options = ["-V", str(version)]
        if service == "cltu":
            options += ["--cltus", self.path("cltus"), "--window", "20"]
            options += [x for e in ("1:7", "2:on", "9", "3:0x0102", "1") for x in ("--event", e)]
        else:
            options += ["-n", str(FRAMES), "--lengths", "-o", self.path("got")]
        if service in ("rcf", "rocf"):
            options += ["--gvcid", f"{more['tfvn']}.171.5"]
        options += ["--parameters"]
        r = self.user(INSTANCES[service], *options, level=level, hash=hash.lower().replace("_", ""))
        self.assertTrue(r["in_order"], r)
        if service != "cltu":
            least = {"raf": 5, "rcf": 6, "rocf": 11}[service]
            self.assertGreaterEqual(r["parameters"], least, r)
            self.assertEqual(r["reports"], 1, r)
        theirs = peer.result()
        self.assertEqual(theirs["errors"], "0", theirs)
        if service == "cltu":
            self.assertEqual((r["cltus"]["accepted"], r["cltus"]["refused"], r["cltus"]["radiated"]), (100, 0, 100), r)
            self.assertEqual(self.read("got"), with_lengths(cltus))
            done, failed, false = "action list completed", "action list not completed", "event condition is false"
            self.assertEqual([(e["invocation"], e["answer"], e["actions"]) for e in r["events"]],
                             [(0, "accepted", done), (1, "accepted", failed), (2, "no such event", ""), (2, "accepted", false),
                              (3, "accepted", done)])
        else:
            self.assertEqual(self.read("got"), with_lengths([f[-4:] for f in frames] if service == "rocf" else frames))

    # ---- what is not in each run: their user of our provider ----

    RUN = (4, "all", "SHA_1")

    def numbers(self):
        """Of the frames of a generator that the peer has got."""
        got = self.read("got")
        return [struct.unpack(">Q", got[i + 10:i + 18])[0] for i in range(0, len(got), LENGTH + 4)]

    def station(self, mode, more="", versions="2 3 4 5"):
        instance = f"sagr=1.spack=1.rsl-fg=1.raf={mode}"
        self.provider(f"""sources:
  - {{name: g, rate: 2Mbit/s{more}}}
instances:
  - {{id: {instance}, users: CENTRE, source: g, buffer: 7, latency: 100ms, versions: {versions}}}
tml: {{heartbeat_min: 1}}
""", level="all", hash="sha1")
        return instance

    def peer(self, instance, **more):
        return Peer(self, "user", "raf", self.port, self.RUN, instance=instance, out=self.path("got"), **more)

    def test_online_timely(self):
        """A source with a rate runs without a user: the frames from START on are in order, without a gap."""
        r = self.peer(self.station("onlt1"), frames=FRAMES).result()
        numbers = self.numbers()
        self.assertGreaterEqual(len(numbers), FRAMES)
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertEqual((r["errors"], r["state"]), ("0", "UNBOUND"), r)

    def test_offline_range(self):
        """A second of a recording, then the end of data."""
        instance = self.station("offl1", f", record: {self.path('record')}")
        self.until(lambda: self.status()["sources"][0]["frames"] > 700, "there are no frames")
        now = int(time.time() * 1000)
        r = self.peer(instance, frames=200, **{"from": now - 2000, "to": now - 1000}).result()
        numbers = self.numbers()
        self.assertAlmostEqual(len(numbers), 2e6 / 8 / LENGTH, delta=60)
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertEqual((r["errors"], r["ended"]), ("0", "true"), r)

    def test_users_that_end(self):
        """Killed, without heartbeats (stopped), PEER-ABORT: the log has how, and the next one binds."""
        instance = self.station("onlt1")
        for how, said in ("kill", "the connection has ended"), ("stop", "no heartbeat"), ("abort", "operational requirement"):
            with self.subTest(how=how):
                peer = self.peer(instance, frames=100000, heartbeat=1, **({"abort": 50} if how == "abort" else {}))
                if how != "abort":
                    self.until(lambda: self.status()["instances"][0]["state"] == "active", "it does not start")
                    peer.process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGSTOP)
                self.until(lambda: said in self.said(), f"{said}: {self.said()}")
                self.until(lambda: self.status()["instances"][0]["state"] == "unbound", "it is not unbound")
                if how == "stop":
                    peer.process.kill()

    def test_refused_bind(self):
        """A version that is not permitted: the peer stays unbound, and the log has the reason."""
        instance = self.station("onlt1", versions="5")
        self.assertEqual(self.peer(instance, seconds=3).result()["state"], "UNBOUND")
        self.assertIn("version not supported", self.said())

    def test_times_of_cltus(self):
        """Not before the earliest time; with a latest one that cannot be kept they expire, and all behind are discarded or refused."""
        self.provider(f"instances:\n  - {{id: {INSTANCES['cltu']}, users: CENTRE, uplink: {self.path('uplink')}, uplink_rate: 20kbit/s}}\n",
                      level="all", hash="sha1")
        cltus = [b"\xeb\x90" + os.urandom(98) for _ in range(10)]
        begin = time.time()
        more = {"in": self.write("cltus", with_lengths(cltus)), "parameters": 0}
        r = Peer(self, "user", "cltu", self.port, self.RUN, earliest=1500, latest=100000, **more).result()
        self.assertGreater(time.time() - begin, 1.5)
        self.assertEqual((r["radiated"], r["negative"], r["errors"]), ("10", "0", "0"), r)
        self.assertEqual(self.read("uplink"), with_lengths(cltus))
        r = Peer(self, "user", "cltu", self.port, self.RUN, latest=100, seconds=3, **more).result()
        self.assertEqual((r["errors"], r["state"]), ("0", "UNBOUND"), r)
        self.assertLess(int(r["radiated"]), 10)
        self.assertGreaterEqual(int(r["other"]), 1)

    def test_our_abort(self):
        """Complete, a source that cannot wait, a user that does not read: our abort reaches it, and the next one binds."""
        instance = "sagr=1.spack=1.rsl-fg=1.raf=onlc1"
        self.provider(f"""sources:
  - {{name: g, rate: 100Mbit/s, when_full: abort}}
instances:
  - {{id: {instance}, users: CENTRE, source: g, store: 20}}
tcp_buffer: 64KiB
""", level="all", hash="sha1")
        peer = self.peer(instance, frames=10000000)
        self.until(lambda: self.status()["instances"][0]["state"] == "active", "it does not start")
        peer.process.send_signal(signal.SIGSTOP)
        self.until(lambda: "operational requirement" in self.said(), f"no abort: {self.said()}")
        self.until(lambda: self.status()["instances"][0]["state"] == "unbound", "it is not unbound")
        peer.process.send_signal(signal.SIGCONT)
        peer.process.kill()
        self.assertEqual(self.peer(instance, frames=FRAMES).result()["state"], "UNBOUND")

    # ---- likewise, our user of their provider ----

    def their_provider(self, instance="sagr=1.spack=1.rsl-fg=1.raf=onlc1", **more):
        return Peer(self, "provider", "raf", self.port, self.RUN, instance=instance, **{"in": self.write(
            "frames", with_lengths([aos(i) for i in range(FRAMES)])), **more})

    def our(self, *options, instance="sagr=1.spack=1.rsl-fg=1.raf=onlc1", code=1):
        """What a user of ours says, with both of its outputs."""
        r = subprocess.run(self.user_command(instance, "-V", "4", "--lengths", "-o", self.path("got"), *options, level="all", hash="sha1"),
                           capture_output=True, text=True, timeout=300)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        return r.stdout + r.stderr

    def test_their_modes(self):
        """Timely, and a range offline: all frames, in order, and the end of the data."""
        times = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600 * hours)) for hours in (-1, 1)]
        for mode, options in ("onlt1", ()), ("offl1", ("--from", times[0], "--to", times[1])):
            with self.subTest(mode=mode):
                instance = f"sagr=1.spack=1.rsl-fg=1.raf={mode}"
                peer = self.their_provider(instance, pause=4)
                self.our("--until-end", *options, instance=instance, code=0)
                self.assertEqual(self.read("got"), self.read("frames"))
                self.assertEqual(peer.result()["errors"], "0")
                os.remove(self.path("got"))
                self.port = sle_case.free_port()

    def test_their_abort(self):
        """Their PEER-ABORT after 200 frames: the user has these, and the reason."""
        self.their_provider(abort=200)
        self.assertIn("operational requirement", self.our("-n", "100000"))
        got = self.read("got")
        self.assertEqual(got, self.read("frames")[:len(got)])
        self.assertGreaterEqual(len(got), 190 * (LENGTH + 4))

    def test_their_death(self):
        """Killed, and without heartbeats (stopped): the user says which."""
        for how, said in (signal.SIGKILL, "connection"), (signal.SIGSTOP, "heartbeat"):
            with self.subTest(how=how):
                peer = self.their_provider()
                with subprocess.Popen(self.user_command("sagr=1.spack=1.rsl-fg=1.raf=onlc1", "-V", "4", "--lengths", "-o", self.path("got"), "-n", "100000",
                                                        "--heartbeat", "1", "--dead-factor", "3", level="all", hash="sha1"),
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as user:
                    self.running.append(user)
                    self.until(lambda: os.path.exists(self.path("got")) and os.path.getsize(self.path("got")) >= FRAMES * (LENGTH + 4) // 2, "no frames")
                    peer.process.send_signal(how)
                    out = user.communicate(timeout=300)[0]
                    self.assertEqual(user.returncode, 1, out)
                    self.assertIn(said, out)
                peer.process.kill()
                peer.process.wait()
                os.remove(self.path("got"))
                self.port = sle_case.free_port()

    def test_their_refused_bind(self):
        """They do not accept our credentials."""
        self.their_provider(**{"user-password": "ffffffffffff"})
        self.assertRegex(self.our("-n", "1"), "access denied|aborted by peer: other reason")  # they send both

    def test_their_misbehaviour(self):
        """A provider with another name, and one whose credentials are wrong: nothing of theirs is accepted."""
        for more in {"provider-id": "OTHERS"}, {"provider-password": "ffffffffffff"}:
            with self.subTest(**more):
                peer = self.their_provider(**more)
                out = self.our("-n", "1")
                self.assertIn("credentials were wrong", out)
                self.assertFalse(os.path.exists(self.path("got")) and os.path.getsize(self.path("got")) > 0)
                peer.process.kill()
                peer.process.wait()
                self.port = sle_case.free_port()

    def python_user(self, service, version, level, hash):
        """Our provider, LibreCube's user: one frame a buffer and slowly, since it takes one message of what one recv gave."""
        self.provider(f"""sources:
  - {{name: g, rate: 500kbit/s, count: 60, when_full: wait}}
instances:
  - {{id: {INSTANCES[service]}, users: CENTRE, source: g, buffer: 1, gvcids: 1.171.0}}
""", level=level, hash=hash.lower().replace("-", ""))
        own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sle", "python_user.py")
        r = subprocess.run([f"{DIR}/venv/bin/python", own, str(self.port), service, INSTANCES[service], str(version), level, hash, "60",
                            self.path("got"), "CENTRE", PASSWORD["CENTRE"], "STATION", PASSWORD["STATION"]],
                           capture_output=True, text=True, timeout=200)
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr + self.said())
        got = self.read("got")
        self.assertEqual(len(got), 60 * 1119)
        self.assertEqual([struct.unpack(">Q", got[i + 10:i + 18])[0] for i in range(0, len(got), 1119)], list(range(60)))

    def said(self):
        return super().said() if os.path.exists(self.path("station.log")) else ""


def add(role, service, run):
    def test(self):
        getattr(self, role)(service, run)
    setattr(SleTest, f"test_{role}_{service}_v{run[0]}_{run[1]}_{run[2].lower()}", test)


for one in RUNS:
    for kind in INSTANCES:
        add("their_user", kind, one)
        add("our_user", kind, one)

def add_python(service, version, level, hash):
    def test(self):
        self.python_user(service, version, level, hash)
    setattr(SleTest, f"test_python_{service}_v{version}_{level}_{hash.lower().replace('-', '')}", test)


for kind in ("raf", "rcf"):
    for run in ((2, "none", "SHA-1"), (4, "all", "SHA-1"), (5, "none", "SHA-1"), (5, "all", "SHA-256")):
        add_python(kind, *run)

if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    OUT = sys.argv.pop(1)
    DIR = sys.argv.pop(1)
    unittest.main(verbosity=2)
