# SPDX-License-Identifier: Apache-2.0
"""Somebody sets the clock of a machine (a false time server): forward and back by seconds, hours and years, while a node and a provider work."""
import contextlib
import json
import os
import shlex
import socket
import struct
import subprocess
import sysconfig
import time

from attack import HERE, cpu_seconds, main
import aap2  # noqa: E402  (attack knows where it is)
from sle_replay import Recorder, messages

HOUR, YEAR = 3600, 31557600
STEPS = (("5 s ahead", 5), ("5 s behind", -5), ("1 h ahead", HOUR), ("1 h behind", -HOUR), ("10 years ahead", 10 * YEAR), ("10 years behind", -10 * YEAR))
BEARABLE = HOUR  # steps up to this one are shorter than the lifetimes of the honest bundles
DAY = ("-l", "86400")
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
STORED, SHORT = 20, 5  # bundles that nobody fetches: of 10 minutes; of 3 s
LOG_LINES = 30  # of each step
NOTICED = 1.5  # seconds until a program has noticed a step: it compares its clocks each second
IDLE = 2.0  # seconds in which an idle node takes …
IDLE_CPU = 0.5  # … so much processor time at most
CONTACTS = 3600  # of 1 s, each 4 s, two hours before and after now
RAF = "sagr=1.spack=1.rsl-fg=1.raf=onlc1"


@contextlib.contextmanager
def preloaded(shim, clock):
    """Programs that start meanwhile have the clock of the file."""
    os.environ.update(LD_PRELOAD=shim, HELIO_TEST_CLOCK=clock)
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"], os.environ["HELIO_TEST_CLOCK"]


class Clock:
    """The wall clock of programs that are started with it."""

    def __init__(self, path):
        self.path = path
        self.set(0)

    def set(self, ahead):
        with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as f:
            f.write(struct.pack("=q", int(ahead * 1e9)))


def build_shim(scene):
    shim = scene.lab.path("clock.so")
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", shim, os.path.join(HERE, "..", "e2e", "clock_shim.c")], check=True)
    return shim


def write_plan(path):
    """Dated contacts with a neighbour that is not there."""
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 2 * HOUR))
    with open(path, "w", encoding="ascii") as f:
        f.write(f"start: {start}\ncontacts:\n")
        f.writelines(f"  - {{from: 2, to: 3, start: {4 * k}s, end: {4 * k + 1}s, rate: 1Mbit/s, owlt: 10ms, both: yes}}\n" for k in range(CONTACTS))


def count_lines(path):
    with open(path, encoding="utf-8") as f:
        return len(f.readlines())


def store(scene, endpoint, payloads, lifetime):
    with aap2.Client(scene.lab.socket(2)) as tx:
        tx.configure("ipn:2.5")
        return sum(tx.request(endpoint, p, lifetime_ms=lifetime)[0] == aap2.SUCCESS for p in payloads)


def fetch(scene, endpoint):
    found = []
    with aap2.Client(scene.lab.socket(2), timeout=2) as rx:
        rx.configure(endpoint, subscribe=True)
        with contextlib.suppress(OSError, EOFError):
            while True:
                found.append(rx.delivery()[1])
    return found


def attack_node(scene, clock, shim):
    p1, p2, p3, far = scene.ports(4)
    plan = scene.lab.path("plan.yaml")
    write_plan(plan)
    scene.node(1, [scene.link(2, p1, p2, **KEYS)])
    with preloaded(shim, clock.path):
        keys = {"store": f"{{path: {scene.lab.path('store')}, durability: async}}", "extra": f"plan: {plan}\n"}
        node = scene.node(2, [scene.link(1, p2, p1, **KEYS), scene.link(3, p3, far, **KEYS)], **keys)
    scene.receiver(2, *DAY)
    log = scene.lab.path("node2.log")

    def goodput():
        return scene.goodput(1, 2, arguments=DAY)

    wanted = [b"stored %d" % k for k in range(STORED)]
    before = goodput()
    scene.bound("bundles stored", store(scene, "ipn:2.77", wanted, 600000), "==", STORED)
    for name, ahead in STEPS:
        lines, resent = count_lines(log), scene.control(1, "links")["links"][0]["retransmitted_bytes"]
        clock.set(ahead)
        time.sleep(NOTICED)
        during = goodput()
        resent = scene.control(1, "links")["links"][0]["retransmitted_bytes"] - resent
        store(scene, "ipn:2.78", [b"short"] * SHORT, 3000)
        began, cpu = time.monotonic(), cpu_seconds(node.pid)
        time.sleep(IDLE)
        cpu = (cpu_seconds(node.pid) - cpu) * IDLE / (time.monotonic() - began)
        clock.set(0)
        after = scene.recovery(goodput, before, name)
        lines = count_lines(log) - lines
        scene.figure(name, {"before": before, "during": during, "after": after, "lines": lines, "idle cpu s": round(cpu, 2), "bytes resent": resent})
        if abs(ahead) <= BEARABLE:
            scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
        scene.bound(f"lines of the log, {name}", lines, "<=", LOG_LINES)
        scene.bound(f"processor time of the idle node, {name}", round(cpu, 2), "<=", IDLE_CPU)
        scene.bound(f"bytes resent, {name}", resent, "<=", 10_000_000)
    status = scene.control(2, "status")
    scene.figure("clock steps", status["clock_steps"])
    scene.bound("clock steps that the node noticed", status["clock_steps"], ">=", 2 * len(STEPS) - 1)
    time.sleep(3)
    scene.bound("bundles of 3 s that are still there", len(fetch(scene, "ipn:2.78")), "==", 0)
    scene.bound("stored bundles that are lost", len(set(wanted) - set(fetch(scene, "ipn:2.77"))), "==", 0)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


def attack_provider(scene, clock, shim):
    """The user's machine has the same clock."""
    path, port = scene.lab.path, scene.ports(1)[0]
    passwords = ("00112233445566778899", "aabbccddeeff")
    with open(os.open(path("station.yaml"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
        f.write(f"""id: STATION
password: '{passwords[1]}'
listen: 127.0.0.1:{port}
status: {path('status')}
users:
  - {{id: CENTRE, password: '{passwords[0]}', authentication: all}}
sources:
  - {{name: frames, rate: 100Mbit/s, when_full: wait}}
instances:
  - {{id: {RAF}, users: CENTRE, source: frames}}
""")
    for k, password in enumerate(passwords):
        with open(os.open(path(f"password{k}"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            f.write(password + "\n")
    with preloaded(shim, clock.path):
        station = scene.start("station", "helio-sle", "provider", path("station.yaml"))
    while not os.path.exists(path("status")):
        time.sleep(0.05)

    def status():
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path("status"))
            return json.load(s.makefile())

    def goodput(to=port):
        with preloaded(shim, clock.path):
            r = subprocess.run([scene.lab.program("helio-sle"), "user", f"127.0.0.1:{to}", "--id", "CENTRE", "--responder", "STATION", "--instance", RAF, "--json",
                                "--authentication", "all", "--password-file", path("password0"), "--responder-password-file", path("password1"), "-t",
                                f"{scene.seconds}s", "--numbered"], capture_output=True, text=True, timeout=120, check=False)
        return round(json.loads(r.stdout).get("rate_bps", 0) / 1e6, 3) if r.returncode == 0 else 0.0

    def replay(octets):
        """How many of its connections bound."""
        before = status()["counts"]["binds"]
        with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.9", 0)) as s:
            s.settimeout(5)
            with contextlib.suppress(OSError):
                for message in messages(octets):
                    s.sendall(message)
                while s.recv(65536):
                    pass
        return status()["counts"]["binds"] - before

    def set_clock(ahead):
        clock.set(ahead)
        time.sleep(NOTICED)

    before = goodput()
    set_clock(HOUR)
    recorder = Recorder(port)
    recorder.start()
    ahead = goodput(recorder.listener.getsockname()[1])
    recorder.join(60)
    set_clock(0)
    back = goodput()
    set_clock(HOUR)
    replayed = replay(recorder.octets)
    set_clock(-HOUR)
    behind = goodput()
    set_clock(0)
    after = scene.recovery(goodput, before, "provider")
    scene.figure("provider", {"before": before, "1 h ahead": ahead, "back": back, "1 h behind": behind, "after": after})
    for name, value in (("1 h ahead", ahead), ("set right", back)):
        scene.bound(f"provider: goodput kept, {name}", round(value / before, 4), ">=", 0.4)
    scene.bound("provider: goodput while its clock is behind", behind, "==", 0)  # docs/helio-sle.md: nothing old is right again
    scene.bound("provider: recorded sessions that bound at their time, again", replayed, "==", 0)
    scene.bound("provider: lines of the log", count_lines(path("station.log")), "<=", 100)
    scene.bound("provider: RSS, MiB", scene.rss_peak(station), "<=", 128)
    scene.bound("the provider runs", station.poll(), "==", None)


def run(scene):
    """The clock of node 2 and of a provider is stepped; node 1, whose clock is right, sends to node 2."""
    clock, shim = Clock(scene.lab.path("clock")), build_shim(scene)
    attack_node(scene, clock, shim)
    attack_provider(scene, clock, shim)


if __name__ == "__main__":
    main(run)
