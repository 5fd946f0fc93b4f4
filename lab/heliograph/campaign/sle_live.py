# SPDX-License-Identifier: Apache-2.0
"""A run of a campaign of SLE in mode bridge: a testbed of three network namespaces (docs/testbed.md), the emulator's bridge as
the line, and the kernel's TCP, whose congestion control is set for each socket. Needs root.

    source: helio-sle provider ── emu: helio-emu bridge ── destination: helio-sle user

UDT and SRT are small programs of the tests (tests/transfers) at the same places: the source sends, the destination receives.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

from .. import programs, units
from ..lab import made as lab_made
from ..processes import Failed, Missing
from . import sle

if TYPE_CHECKING:
    from .file import Run

PORT, SOURCE, DESTINATION = 5100, "10.77.0.1", "10.77.0.2"
ROOM = 4 << 20       # of TCP's buffers, beside twice what the line holds
ETHERNET = 24        # check value, preamble and gap of a frame on the air
SEGMENT = 1448       # octets in a TCP segment with time stamps
ON_AIR = 1538        # of that, with all heads
REFERENCE = 1456     # octets in a datagram of UDT or SRT, as long on the air
MOST = 1000000000    # octets of a buffer that they take
SENDS_ON = 5.0       # seconds that a reference sends longer than its receiver counts
START = 10.0         # seconds until a program has to be ready


def script() -> Any:
    """testbed.sh: beside the package, or in the source."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.path.join(here, "..", "..", "testbed.sh"), os.path.join(here, "..", "..", "..", "tools", "testbed.sh")):
        if os.path.isfile(path):
            return path
    raise Failed("testbed.sh is missing; it belongs beside the programs' Python")


def available() -> Any:
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as f:
        return f.read().split()


def has(congestion: Any) -> Any:
    """The kernel loads a requested algorithm that is not loaded yet."""
    with socket.socket() as s:
        try:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())  # type: ignore[attr-defined]
        except OSError:
            return False
    return True


class Line:
    """The testbed of one run."""

    def __init__(self, run: Run, folder: str) -> None:
        if os.geteuid() != 0:
            raise Failed("mode bridge makes network namespaces: run it as root, or take --mode sim")
        self.v, self.seed, self.folder, self.name = run.values, run.repetition, folder, f"sle{os.getpid()}"
        self.counters = os.path.join(folder, "bridge.json")
        self.children: list[Any] = []

    def testbed(self, *words: Any) -> Any:
        return ["bash", script(), *words]

    def call(self, *words: Any) -> None:
        done = subprocess.run(self.testbed(*words), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise Failed(done.stderr.strip() or f"testbed.sh {words[0]} failed")

    def __enter__(self) -> Line:
        try:
            self.set_up()
        except BaseException:  # these parts of it belong to the machine: namespaces, limits
            self.__exit__()
            raise
        return self

    def set_up(self) -> None:
        v, loss = self.v, self.v["loss"]
        lost = ["--trace", f"iid:{loss}", "--trace-return", f"iid:{loss}"] if loss else []
        self.call("up", "--bin", os.path.dirname(programs.find("helio-emu")), self.name, "--", "--json", self.counters, "--delay",
                  units.duration_text(units.duration(v["rtt"]) / 2), "--rate", v["line"], "--rate-return", v["line"], "--overhead", f"{ETHERNET}B",
                  "--queue", "256MB", "--seed", str(self.seed), *lost)
        held = int(units.rate(v["line"]) / 8 * units.duration(v["rtt"]))
        for place in ("source", "destination"):
            for key, least in (("tcp_rmem", 131072), ("tcp_wmem", 16384)):
                self.call("exec", self.name, place, "sysctl", "-qw", f"net.ipv4.{key}=4096 {least} {2 * held + ROOM}")
            self.call("exec", self.name, place, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")

    def __exit__(self, *what: Any) -> None:
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
        subprocess.run(self.testbed("down", self.name), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def begin(self, place: Any, words: Any, log: Any) -> Any:
        with open(os.path.join(self.folder, log), "w", encoding="utf-8") as f:
            child = subprocess.Popen(self.testbed("exec", self.name, place, *words), stdout=f, stderr=f, stdin=subprocess.DEVNULL)
        self.children.append(child)
        return child

    def said(self, log: Any) -> Any:
        with open(os.path.join(self.folder, log), encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_for(self, child: Any, log: Any, text: Any) -> None:
        until = time.monotonic() + START
        while text not in self.said(log):
            if child.poll() is not None or time.monotonic() > until:
                raise Failed(f"{log}: {self.said(log).strip() or 'it did not begin'}")
            time.sleep(0.02)

    def run(self, place: Any, words: Any, seconds: Any) -> Any:
        try:
            done = subprocess.run(self.testbed("exec", self.name, place, *words), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"{os.path.basename(words[0])} {words[1]} at the {place} has not ended within {seconds:g}s") from None
        if done.returncode != 0:
            raise Failed(done.stderr.strip() or f"{words[0]} ended with code {done.returncode}")
        return done.stdout

    def doubts(self) -> Any:
        """The bridge's own judgement; it ends with the testbed."""
        self.call("down", self.name)
        try:
            with open(self.counters, encoding="utf-8") as f:
                shown = json.load(f)
        except (OSError, ValueError):
            return ["the bridge left no counters"]
        return [f"bridge: {reason}" for reason in shown.get("not_faithful") or []]


def station(v: Any) -> Any:
    """The provider's configuration."""
    lines = ["id: STATION", f"listen: '{SOURCE}:{PORT}'", f"congestion: {v['transport']}", "users:", "  - {id: CENTRE}"]
    if v["tcp-buffer"] != "auto":
        lines.append(f"tcp_buffer: {units.size(v['tcp-buffer'])}")
    rate = "" if v["source"] == "unlimited" else f", rate: {units.rate(v['source']) / v['instances']:.0f}bit/s"
    lines.append("sources:")
    lines += [f"  - {{name: s{i}, frame: {v['frame']}, when_full: wait{rate}}}" for i in range(v["instances"])]
    lines.append("instances:")
    lines += [f"  - {{id: sagr=1.spack=1.rsl-fg=1.raf=onlc{i + 1}, users: CENTRE, source: s{i}, buffer: {v['buffer']}, latency: 100ms, "
              f"store: {max(320, 16 * v['buffer'])}, pipelining: {v['pipelining']}}}" for i in range(v["instances"])]
    return "\n".join(lines) + "\n"


def transfer_sle(line: Any, v: Any) -> Any:
    if not has(v["transport"]):
        raise Missing(f"this kernel has no {v['transport']}; there are {', '.join(available())}")
    path = os.path.join(line.folder, "station.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(station(v))
    program = programs.find("helio-sle")
    provider = line.begin("source", [program, "provider", path], "station.log")
    line.wait_for(provider, "station.log", "listens at")
    warmup, duration = sle.times(v)
    words = [program, "user", f"{SOURCE}:{PORT}", "--id", "CENTRE", "--responder", "STATION", "--instance", "sagr=1.spack=1.rsl-fg=1.raf=onlc1",
             "--repeat", str(v["instances"]), "--numbered", "--json", "--time", units.duration_text(duration), "--warmup", units.duration_text(warmup),
             "--congestion", v["transport"]]
    if v["tcp-buffer"] != "auto":
        words += ["--tcp-buffer", v["tcp-buffer"]]
    result = json.loads(line.run("destination", words, duration + 90))
    refused = [text for text in line.said("station.log").splitlines() if "congestion:" in text]
    if refused:
        raise Failed(refused[0])
    capacity = units.rate(v["line"]) * SEGMENT / ON_AIR * (1 - v["loss"])
    return sle.of_user(result, capacity)


def transfer_reference(line: Any, v: Any) -> Any:
    """Octets by UDT or SRT, compared on arrival; there are neither frames nor delays."""
    name = f"transfer_{v['transport']}"
    try:
        program = programs.find(name)
    except programs.ProgramError:
        raise Missing(f"{name} is not there; the tests' build makes it where lib{v['transport']} is installed (tools/setup.sh test)") from None
    warmup, duration = sle.times(v)
    held = int(units.rate(v["line"]) / 8 * units.duration(v["rtt"]))
    buffer = str(min(2 * held + ROOM if v["tcp-buffer"] == "auto" else units.size(v["tcp-buffer"]), MOST))
    receiver = line.begin("destination", [program, "receive", str(PORT), f"{warmup:g}", f"{duration:g}", buffer], "receiver.log")
    line.wait_for(receiver, "receiver.log", "ready")
    line.begin("source", [program, "send", DESTINATION, str(PORT), f"{duration + SENDS_ON:g}", buffer], "sender.log")
    try:
        receiver.wait(duration + 60)
    except subprocess.TimeoutExpired:
        raise Failed(f"{name}: the receiver has not ended within {duration + 60:g}s") from None
    shown = [text for text in line.said("receiver.log").splitlines() if text.startswith("{")]
    if receiver.returncode != 0 or not shown:
        raise Failed(f"{name}: {line.said('receiver.log').strip()} {line.said('sender.log').strip()}")
    result = json.loads(shown[0])
    if result["early"]:  # the sender runs longer than the receiver
        raise Failed(f"{name}: the connection has ended after {result['lasted']:.1f}s of {duration:g}s {line.said('sender.log').strip()}".strip())
    capacity = units.rate(v["line"]) * REFERENCE / ON_AIR * (1 - v["loss"])
    return {"goodput_bps": result["goodput_bps"], "capacity_bps": capacity, "efficiency": result["goodput_bps"] / capacity,
            "octets": result["octets"], "seconds": result["seconds"]}


def transfer_ltp(run: Run, folder: str) -> Any:
    """The lab of mode sim, in namespaces of its own."""
    from ..lab import live as lab_live, result as lab_result
    from ..lab.netns import Session
    lab = sle.ltp_lab(run, *sle.times(run.values), **lab_made.URGENT)
    session = Session(lab, folder, lab_made.Private())
    session.records = False
    shown = lab_live.play(session)
    if session.stopped:
        raise KeyboardInterrupt
    client = next(one for one in shown["traffic"].values() if "goodput_bps" in one)
    reasons = lab_result.doubts(lab, shown["channels"], shown["nodes"], shown["seconds"])
    return reasons, sle.of_client(client, run.values)


def run_bridge(run: Run, folder: str) -> Any:
    v = run.values
    if v["transport"] == "ltp":
        reasons, found = transfer_ltp(run, folder)
    else:
        with Line(run, folder) as line:
            found = (transfer_reference if v["transport"] in sle.REFERENCES else transfer_sle)(line, v)
            reasons = line.doubts()
    return {"faithful": not reasons, "reasons": reasons, "realisation": {"kind": "seed" if v["loss"] else "none"}, **found}
