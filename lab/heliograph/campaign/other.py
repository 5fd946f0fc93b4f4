# SPDX-License-Identifier: Apache-2.0
"""A run of a campaign with another stack. The user's commands run it over the same emulated link as the nodes of mode relay, and the emulator's captures
are measured.

At the end of the run its processes and their children are ended in any case. Exceptions are daemons that have made a session of their own (setsid);
stop_command is for these.

What can go wrong: the user's stack. Then the error shows the file, the line, the key and the last lines of its log.
"""

from __future__ import annotations

import csv
import heapq
import json
import math
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import groups, machine, places, programs, units
from ..groups import end_group
from ..lab import derive as lab_derive, live as lab_live, made as lab_made
from ..ports import free_ports
from ..processes import Failed, die_with_parent
from . import sim, steady
from .live import lab_of
from .systems import PLACE, PORTS, SIZES, Process, seconds_of, whole_times

if TYPE_CHECKING:
    from .file import Run
    from .traces import Traces

SNAP = 256  # bytes of a packet: a segment's head is in them
ANALYSIS = 600.0  # seconds that the analyzer may take

def settings_of(run: Run, folder: str, ports: Any) -> Any:
    """The values of {names}."""
    v = run.values
    seconds = seconds_of(v)
    found = {"rate": v["rate"], "rate_bps": f"{units.rate(v['rate']):.0f}", "sessions": v["sessions"], "seed": run.repetition, "folder": folder, **ports}
    for name, s in seconds.items():
        found.update({name: units.duration_text(s), f"{name}_s": f"{s:.9g}", f"{name}_ms": f"{1e3 * s:.9g}", f"{name}_us": f"{1e6 * s:.9g}"})
    for name in SIZES:
        found.update({name: v[name], f"{name}_bytes": units.size(v[name])})
    found.update(counted_of(v, seconds))
    return {name: str(value) for name, value in found.items()}


def counted_of(v: Any, seconds: Any) -> Any:
    """The same as other stacks count it: HDTN whole milliseconds of light time and margin (its timer is twice their sum), rates of UDP payload
    and 24 bytes beside a segment's data, and a pipeline that holds its largest bundle, 10 MB, twice; ION bytes a second, whole seconds
    of light time, and numbers of bundles."""
    rate, segment, bundle = units.rate(v["rate"]), units.size(v["segment"]), units.size(v["bundle"])
    return {"rate_bytes": rate // 8, "payload_rate_bps": int(rate * segment / (segment + v["overhead"])), "data_bytes": max(1, segment - 24),
            "pipeline_bytes": max(20_000_000, (v["sessions"] + 1) * bundle), "bundles": math.ceil(rate * seconds["duration"] / 8 / bundle),
            **whole_times(seconds)}


def fill(text: Any, values: Any) -> Any:
    """Unknown names stay: a file may have braces of its own."""
    result: str = PLACE.sub(lambda m: str(values.get(m[1], m[0])), text)
    return result


class Session(lab_live.Session):
    """The lab of a run with the user's processes in place of its nodes."""

    def __init__(self, run: Run, system: Any, lab: Any, out: str, state: Any) -> None:
        super().__init__(lab, out, state)
        self.run_, self.system = run, system
        self.values: dict[str, Any] = {}
        self.cpu: dict[str, Any] = {}
        self.gone: set[Any] = set()

    def prepare(self) -> None:
        super().prepare()
        at = self.derived.relays["1-2"]
        ports = {name: at[key].rsplit(":", 1)[1] for name, key in (("sender_port", "back"), ("receiver_port", "to"), ("relay_port", "listen"))}
        free = free_ports(PORTS + 1)
        ports.update({f"port_{i}": free[i] for i in range(1, PORTS + 1)})
        ports["return_port"] = free[0] if self.system.own_return else ports["relay_port"]
        self.values = settings_of(self.run_, self.out, ports)
        for name, path in self.system.files:
            with open(path, encoding="utf-8") as f, open(self.path(name), "w", encoding="utf-8") as made:
                made.write(fill(f.read(), self.values))

    def start_channel(self, link: Any) -> None:
        super().start_channel(link)
        if self.system.own_return:
            self.start_return()

    def start_return(self) -> None:
        """The receiver's source port is not known beforehand: a relay distinguishes the directions by itself."""
        at = self.derived.relays["1-2"]
        host = at["back"].rsplit(":", 1)[0]
        command = ["helio-emu", "relay", "--listen", f"{host}:{self.values['return_port']}", "--to", at["back"], "--scenario", self.path("return.yaml"),
                   "--json", self.path("return.json")]
        deriver = lab_derive.Deriver(self.lab, self.out, self.state.folder, self.addresses, lab_live.utc(self.begin))
        keys = deriver.scenario(self.lab.links["1-2"], "1-2", ("forward", "return"))
        keys["forward"], keys["return"] = keys["return"], keys["forward"]
        for key, end in (("pcap_before", "before"), ("pcap_after", "after")):
            keys[key] = places.put(self.path(f"return.{end}.pcap"), None)
        deriver.add_config("return.yaml", "the return direction: forward is from the receiver to the sender", keys, ("helio-emu", "check"))
        lab_derive.write(deriver.out)
        p = self.begin_program("return", None, command)
        self.await_ready(Process("helio-emu", "return", "", ", ready"), p)

    def start_nodes(self) -> None:
        for process in self.system.processes:
            self.begin_process(process)
        self.begin_process(self.system.traffic)

    def begin_process(self, process: Any) -> None:
        words = [fill(word, self.values) for word in shlex.split(process.command)]
        try:
            p = self.begin_program(process.name, None, words)
        except OSError as e:
            raise Failed(f"{process.key}: {words[0]}: {e.strerror}") from None
        self.await_ready(process, p)

    def cwd(self) -> Any:
        return self.out

    def find(self, program: Any) -> Any:
        path = self.program(program)
        return path if "/" not in program and program.startswith("helio") and os.access(path, os.X_OK) else program

    def await_ready(self, process: Any, p: Any) -> None:
        if process.ready is None:
            return
        end = time.monotonic() + units.duration(process.ready_within)
        while True:
            with open(self.path(process.name + ".log"), encoding="utf-8", errors="replace") as f:
                if re.search(process.ready, f.read()):
                    return
            if p.poll() is not None:
                raise Failed(f"{process.key}: {process.name} ended with code {p.returncode} before it was ready:{self.why(process.name)}")
            if self.stopped:
                raise KeyboardInterrupt
            if time.monotonic() > end:
                raise Failed(f"{process.key}: {process.name} was not ready within {process.ready_within}; `ready` is \"{process.ready}\":"
                                      f"{self.why(process.name)}")
            time.sleep(0.02)

    def up(self) -> None:
        for link in self.derived.channels:
            self.start_channel(link)
        self.start_nodes()

    def loop(self) -> None:
        """Waits until the traffic has ended; traffic that does not end is stopped at its time limit."""
        traffic, duration = self.system.traffic, units.duration(self.run_.values["duration"])
        more = 0.0 if self.system.traffic_within is None else units.duration(self.system.traffic_within)
        end = time.monotonic() + duration + more
        p = self.running[traffic.name]
        while not self.stopped and self.runs(traffic) and time.monotonic() < end:
            self.watch_others()
            time.sleep(0.02)
        if p.poll() is None and self.system.traffic_within is not None and not self.stopped:
            raise Failed(f"{traffic.key}: {traffic.name} has not ended {self.system.traffic_within} after the duration:{self.why(traffic.name)}")
        if p.poll() is not None and p.returncode != 0 and not self.stopped:
            raise Failed(f"{traffic.key}: {traffic.name} ended with code {p.returncode}:{self.why(traffic.name)}")

    def runs(self, process: Any) -> Any:
        """Does it? When it has ended, the time that it took is known a last time."""
        p = self.running[process.name]
        if p.returncode is None and (took := machine.cpu_seconds_of_ended(p.pid)) is not None:
            self.cpu[process.name] = took
        return p.poll() is None

    def cpu_seconds(self) -> Any:
        """Of all processes that are to be counted; None when that of one is not known."""
        times = [self.cpu.get(process.name) for process in (*self.system.processes, self.system.traffic) if process.cpu == "yes"]
        return sum(times) if times and None not in times else None

    def watch_others(self) -> None:
        for process in self.system.processes:
            p = self.running[process.name]
            if not self.runs(process) and p.returncode != 0:
                raise Failed(f"{process.key}: {process.name} ended with code {p.returncode}:{self.why(process.name)}")

    def end(self) -> Any:
        """The traffic first, then the processes, the last one first, and then the emulators, whose captures are whole with that."""
        for process in (self.system.traffic, *reversed(self.system.processes)):
            self.finish(process)
        for name in ("return", *(f"link-{link}" for link in self.derived.channels)):
            if name in self.running:
                self.end_quietly(name, signal.SIGINT)
        return {"channels": self.channel_results(), "cpu_s": self.cpu_seconds()}

    def finish(self, process: Any) -> None:
        if self.runs(process):
            self.cpu[process.name] = machine.cpu_seconds(self.running[process.name].pid)
        p = self.running.pop(process.name)
        if process.stop_command:
            self.call_stop(process)
        if not end_group(p, getattr(signal, "SIG" + process.stop), units.duration(process.stop_within)):
            raise Failed(f"{process.key}: {process.name} does not end; is it another user's?{self.why(process.name)}")
        self.gone.add(process.name)

    def call_stop(self, process: Any) -> None:
        """A code that is not 0 is no failure: it may find nothing to stop."""
        words = [fill(word, self.values) for word in shlex.split(process.stop_command)]
        with open(self.path(process.name + ".log"), "a", encoding="utf-8") as log:
            try:
                p = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.out,
                                     start_new_session=True, preexec_fn=die_with_parent())
            except OSError as e:
                raise Failed(f"{process.key}: stop_command: {words[0]}: {e.strerror}") from None
        try:
            p.wait(units.duration(process.stop_within))
        except subprocess.TimeoutExpired:
            raise Failed(f"{process.key}: stop_command has not ended within {process.stop_within}:{self.why(process.name)}") from None
        finally:
            if p.poll() is None:
                end_group(p, signal.SIGKILL, groups.FORCED)

    def __exit__(self, *what: Any) -> None:
        theirs = {process.name for process in (self.system.traffic, *self.system.processes)} - self.gone
        try:
            for name, p in self.processes:
                if name in theirs and not end_group(p, signal.SIGTERM, groups.FORCED):
                    print(f"helio-campaign: {name} (process {p.pid}) does not end", file=sys.stderr)
        finally:
            super().__exit__(*what)


# ---- what is measured ----


def captures(folder: str) -> Any:
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".pcap"))


PCAP = struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 0x40000, 1)  # nanoseconds; Ethernet
PACKET = 6  # a block of pcapng with a packet: interface, time, bytes there and on the link, data


def packets(path: str) -> Iterator[Any]:
    """(time, record of a pcap, cut to what the analyzer wants of it) of a capture that helio-emu wrote, in order."""
    with open(path, "rb") as f:
        while len(head := f.read(8)) == 8:
            kind, length = struct.unpack("<II", head)
            block = f.read(length - 8)
            if kind == PACKET:
                _, high, low, there, whole = struct.unpack_from("<IIIII", block)
                seconds, ns = divmod(high << 32 | low, 10**9)
                bytes_ = block[20:20 + min(there, SNAP)]
                yield (seconds, ns), struct.pack("<IIII", seconds, ns, len(bytes_), whole) + bytes_


def both_sides(folder: str) -> Any:
    """One capture of what enters and leaves the link: so the analyzer sees each segment at the sender's side and at the receiver's."""
    paths = captures(folder)
    merged = os.path.join(folder, "link.pcap")
    with open(merged, "wb") as f:
        f.write(PCAP)
        for _, record in heapq.merge(*map(packets, paths), key=lambda one: (one[0],)):
            f.write(record)
    for path in paths:
        os.unlink(path)
    return merged


def analyse(system: Any, session: Any, folder: str) -> Any:
    """The flow of the data, as it is on both sides of the link."""
    engines = [word for port, number in ((session.values["sender_port"], system.engines[0]), (session.values["receiver_port"], system.engines[1]))
               for word in ("--engine", f"127.0.0.1:{port}={number}")]
    try:
        done = subprocess.run([programs.find("helio-analyze"), *engines, both_sides(folder), "--json", "--sessions", os.path.join(folder, "sessions.csv")],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=ANALYSIS, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"{system.traffic.key}: helio-analyze has not ended within {ANALYSIS:g}s") from None
    if done.returncode != 0:
        raise Failed(f"helio-analyze ended with code {done.returncode}: {done.stderr.strip()}")
    with open(os.path.join(folder, "analysis.json"), "w", encoding="utf-8") as f:
        f.write(done.stdout)
    flows = [flow for flow in json.loads(done.stdout)["flows"] if flow["colour"] == "red"]
    return max(flows, key=lambda flow: int(flow["bytes"]), default=None)


def payload_share(folder: Any, overhead: Any) -> float | None:
    """Of what data segments are on the air, their data; all of them, since a capture does not say which are full."""
    data = air = 0
    with open(os.path.join(folder, "sessions.csv"), encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            if row["colour"] == "red" and row["data_sent"]:
                data += int(row["data_sent"])
                air += int(row["bytes_sent"]) + overhead * int(row["segments_sent"])
    return data / air if air else None


def payload_of(v: Any, found: Any) -> float:
    """Of a block, the bundle's payload, where a block is a bundle; else blocks are what counts."""
    mean, bundle = found["bytes"] / max(1, found["blocks"]), units.size(v["bundle"])
    result: float = bundle / mean if bundle <= mean <= 1.05 * bundle else 1.0
    return result


def measured(system: Any, session: Any, run: Run, folder: str, forward: Any) -> Any:
    v, flow = run.values, analyse(system, session, folder)
    if flow is None:
        raise Failed(f"{system.traffic.key}: no red session was seen on the link:{session.why(system.traffic.name)}")
    start, duration = sim.warmup_of(v), units.duration(v["duration"])
    found: Any = steady.steady(os.path.join(folder, "sessions.csv"), start, duration)
    if found is None:
        raise Failed(f"{system.traffic.key}: no session was completed between warm-up and end:{session.why(system.traffic.name)}")
    share: Any
    share, good = payload_share(folder, v["overhead"]), forward["good_share_active"]
    capacity = units.rate(v["rate"]) * share * good
    goodput = 8 * found["delivered_bytes"] / (duration - start) * payload_of(v, found)
    return {"goodput_bps": goodput, "capacity_bps": capacity, "efficiency": goodput / capacity if capacity else None, "good_share": good,
            "payload_share": share, "rto_firings": flow["rto_firings"], "sessions": flow["sessions"], "cancelled": flow["cancelled"], "warmup_s": start,
            **{k: found[k] for k in ("session_ms", "delivery_ms", "retx_cycles_mean", "checkpoints_lost_mean", "lossy_share", "sessions_timed")}}


def keep(run: Run, folder: str) -> None:
    for name, wanted in (("link.pcap", run.logs == "all"), ("sessions.csv", run.logs != "none")):
        if wanted:
            sim.call(["gzip", "-1", "-f", os.path.join(folder, name)])
        else:
            os.unlink(os.path.join(folder, name))


def run_other(run: Run, folder: str, traces: Traces) -> Any:
    """The result has the fields of mode relay, and says what system it is of."""
    system: Any = run.system
    lab = lab_of(run, traces, capture=["pcap"])
    session = Session(run, system, lab, folder, lab_made.Private())
    session.records = False
    try:
        shown = lab_live.play(session)
    except (places.PlacesError, Failed) as e:
        if session.stopped:
            raise KeyboardInterrupt from None
        raise Failed(str(e)) from None
    if session.stopped:
        raise KeyboardInterrupt
    emulator = shown["channels"]["1-2"]
    result = measured(system, session, run, folder, emulator["forward"])
    gigabits = result["goodput_bps"] * (units.duration(run.values["duration"]) - result["warmup_s"]) / 1e9
    keep(run, folder)
    return {"faithful": not emulator["not_faithful"], "reasons": list(emulator["not_faithful"]), "late_us": emulator["forward"]["late_us"],
            "cpu_s_per_gigabit": shown["cpu_s"] / gigabits if shown["cpu_s"] and gigabits else None,
            "system": {"name": system.name, "title": system.title, "measured": "capture"}, **result}
