#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a busy machine costs: two nodes and helio-emu between them, beside 0, 1, 2 … competitors that only compute, at nice
19 and at nice 0. Goodput, efficiency, checkpoint timers that fired without a loss, processor time, lateness.

usage: busy_bench.py BIN_DIR [--seconds 10] [--rounds 1] [--competitors 0,1,2] [--nice 19,0] [--rate 500Mbit/s] [--trace A]
                     [--sessions 7] [--recovery default] [--priority realtime|high|normal] [--emu OPTION]… [--emu-bin DIR]
                     [--link KEY=VALUE]… [--against BIN_DIR] [--json FILE]

--against runs other programs, too, in turns with the first ones, and gives the ratio of processor times within each pair.
--priority is that of the nodes; normal for programs that do not know the key, which is then not written.
--emu-bin takes the emulator from a third folder for both. --emu passes an option on to it (--emu=--priority --emu=normal).
--link is a key of the sending link (--link burst=400us).
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import _paths  # noqa: F401
from heliograph.processes import Failed, Lab, die_with_parent  # noqa: E402

SEGMENT, OVERHEAD, BUNDLE = 1024, 42, 500_000
RATES = {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1.0}
COMPETE = "import os, sys\nos.nice(int(sys.argv[1]))\nwhile True: pass"


def bps(text):
    unit = next(u for u in RATES if text.endswith(u))
    return float(text[:-len(unit)]) * RATES[unit]


def on_cpu_s(pid):
    """Of all threads, so far."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


class Run(Lab):
    def __init__(self, o, programs, out):
        super().__init__(programs, out)
        self.o = o

    def command(self, name, program, *arguments):
        folder = self.o.emu_bin if program == "helio-emu" and self.o.emu_bin else self.programs
        return [os.path.join(os.path.abspath(folder), program), *arguments]

    def begin(self):
        o = self.o
        port1, port2, port = self.udp_ports(3)
        self.relay = self.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{port}", "--to", f"127.0.0.1:{port2}",
                                "--delay", o.delay, "--rate", o.rate, "--overhead", str(OVERHEAD), "--trace", o.trace,
                                "--json", self.path("relay.json"), *o.emu)
        common = {"segment": f"{SEGMENT}B", "overhead": OVERHEAD, "rto": "30ms", "recovery": o.recovery}
        forward = self.link(2, port1, port, rate=o.rate, sessions=o.sessions, colour="red", **common, **dict(x.split("=", 1) for x in o.link))
        back = self.link(1, port2, port, rate="unlimited", sessions=64, colour="green", **common)
        self.node = {n: self.start_node(n, self.write_node(n, [link], extra="" if o.priority == "normal" else f"priority: {o.priority}\n")) for n, link in ((1, forward), (2, back))}
        if self.relay.poll() is not None:
            raise Failed(f"the relay did not start:{self.why('relay')}")
        self.server = self.start("server", "helio-perf", "server", "--socket", self.socket(2), "--json", self.path("server.json"))
        time.sleep(0.3)

    def compete(self, count, nice):
        """Each in a session of its own, as in another terminal: with sched_autogroup nice values do not count among these."""
        for i in range(count):
            p = subprocess.Popen([sys.executable, "-c", COMPETE, str(nice)], stdin=subprocess.DEVNULL, start_new_session=True,
                                 preexec_fn=die_with_parent())
            self.processes.append((f"competitor{i}", p))

    def cpu(self):
        pids = {"node1": self.node[1].pid, "node2": self.node[2].pid, "relay": self.relay.pid}
        return {name: on_cpu_s(pid) for name, pid in pids.items()}

    def measure(self, competitors, nice):
        o = self.o
        self.begin()
        self.compete(competitors, nice)
        before = self.cpu()
        self.run("helio-perf", "client", "--socket", self.socket(1), "-d", "ipn:2.2000", "-T", f"{o.seconds:g}", "-W",
                 str(2 * o.sessions + 10), "-P", str(BUNDLE), "--json", self.path("client.json"), timeout=o.seconds + 120)
        used = {name: s - before[name] for name, s in self.cpu().items()}
        links = {n: self.control(n, "links")["links"][0] for n in self.node}
        self.stop("server", self.server, signal.SIGINT)
        for n, p in self.node.items():
            self.stop(f"node{n}", p)
        self.stop("relay", self.relay, signal.SIGINT)
        return self.result(used, links)

    def result(self, used, links):
        client, relay = self.load("client.json"), self.load("relay.json")
        logs = [self.path(f"node{n}.segments.csv") for n in (1, 2)]
        flows = json.loads(self.run("helio-analyze", "--json", *logs, timeout=600))["flows"]
        flow = next(f for f in flows if f["colour"] == "red")
        share = (SEGMENT - 12) / (SEGMENT + OVERHEAD)  # of a segment's time on the air, block data; a header has 12 bytes
        goodput, gigabits = client["goodput_bps"], client["bundles_acked"] * BUNDLE * 8 / 1e9
        lost = sum(flow[k] for k in ("checkpoints_lost",))
        return {"goodput_bps": goodput,
                "efficiency": goodput / (bps(self.o.rate) * share * relay["forward"]["good_share_active"]),
                "timers": flow["rto_firings"], "checkpoints_lost": lost, "spurious": max(0, flow["rto_firings"] - lost),
                "cpu_s": used, "nodes_cpu_s_per_gigabit": (used["node1"] + used["node2"]) / gigabits if gigabits else None,
                "relay_cores": used["relay"] / self.o.seconds,
                "relay_late_us": relay["forward"]["late_us"], "faithful": relay["faithful"],
                "late_ms": {f"node{n}": x.get("late_ns", 0) / 1e6 for n, x in links.items()},
                "late_wakeups": {f"node{n}": x.get("late_wakeups", 0) for n, x in links.items()},
                "credit_lost": links[1].get("credit_lost", 0),
                "socket_drops": sum(x.get("socket_drops", 0) for x in links.values())}


def once(o, programs, competitors, nice):
    folder = tempfile.mkdtemp(prefix="busy-bench-")
    try:
        with Run(o, programs, folder) as run:
            return run.measure(competitors, nice)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def line(name, competitors, nice, r):
    return (f"{name:8s} {competitors} at nice {nice:2d}: {r['goodput_bps'] / 1e6:6.1f} Mbit/s, {100 * r['efficiency']:5.1f} %; "
            f"{r['timers']:5d} timers for {r['checkpoints_lost']:4d} lost checkpoints; nodes {r['nodes_cpu_s_per_gigabit']:.2f} s "
            f"a gigabit, relay {r['relay_cores']:.2f} cores, late p99 {r['relay_late_us']['p99']:.0f} us"
            f"{'' if r['faithful'] else ', NOT FAITHFUL'}; node 1 late {r['late_ms']['node1']:.0f} ms")


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    for name, kind, default in (("seconds", float, 10), ("rounds", int, 1), ("competitors", str, "0,1,2"), ("nice", str, "19,0"),
                                ("rate", str, "500Mbit/s"), ("trace", str, "A"), ("delay", str, "5ms"), ("sessions", int, 7),
                                ("recovery", str, "default"), ("emu-bin", str, None), ("against", str, None),
                                ("priority", str, "realtime"), ("json", str, None)):
        p.add_argument(f"--{name}", type=kind, default=default)
    p.add_argument("--emu", action="append", default=[])
    p.add_argument("--link", action="append", default=[], metavar="KEY=VALUE")
    return p.parse_args()


def main():
    o = options()
    of = {"here": o.bin, **({"against": o.against} if o.against else {})}
    cases = [(int(c), int(n)) for c in o.competitors.split(",") for n in o.nice.split(",")]
    cases = [c for i, c in enumerate(cases) if c[0] > 0 or c[0] not in [x[0] for x in cases[:i]]]  # none has no priority
    runs = []
    for k in range(o.rounds):
        for competitors, nice in cases:
            pair = {}
            for name in sorted(of, reverse=k % 2 == 1):
                pair[name] = r = once(o, of[name], competitors, nice)
                runs.append({"round": k, "programs": name, "competitors": competitors, "nice": nice, **r})
                print(line(name, competitors, nice, r), flush=True)
            if o.against:
                runs[-1]["ratio"] = pair["here"]["nodes_cpu_s_per_gigabit"] / pair["against"]["nodes_cpu_s_per_gigabit"]
                print(f"         ratio of the nodes' processor time for a gigabit: {runs[-1]['ratio']:.2f}", flush=True)
    medians = [{"programs": name, "competitors": c, "nice": n,
                **{key: statistics.median(r[key] for r in runs if (r["programs"], r["competitors"], r["nice"]) == (name, c, n))
                   for key in ("efficiency", "spurious", "nodes_cpu_s_per_gigabit", "relay_cores")}}
               for name in of for c, n in cases]
    if o.json:
        with open(o.json, "w", encoding="utf-8") as f:
            json.dump({"options": vars(o), "medians": medians, "runs": runs}, f, indent=2)


main()
