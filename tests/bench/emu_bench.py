#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast, how punctual and how dear helio-emu is: relay, bridge, and the bridge over libpcap as the baseline, one after
the other in each round. Needs root (network namespaces). Sender, emulator and receiver share the machine.

usage: emu_bench.py BIN_DIR [--rounds 3] [--seconds 2] [--rate 1e9] [--length 1070] [--batch auto] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import _paths  # noqa: F401
import testbed

DELAY_US = 5000
MODES = ("relay", "bridge", "bridge-pcap")
STEP = 1.3  # of the rate, on the way up
LAST = 16e9


def on_cpu_ns(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0])


class Path:
    """A way from a sender to a receiver in namespaces of its own."""

    def __init__(self, o, mode):
        self.o, self.mode = o, mode
        self.load = os.path.join(o.bin, "emu_load")

    def __enter__(self):
        options = ["--delay", f"{DELAY_US}us", "--batch", self.o.batch]
        if self.mode.startswith("bridge"):
            io = "pcap" if self.mode == "bridge-pcap" else "ring"
            self.bed = testbed.Bed(self.o.bin, *options, "--io", io).__enter__()
            self.pid = self.bed.pid()
            self.to, self.at, self.place = ("10.77.0.2", "5000"), ("10.77.0.2", "5000"), "destination"
            return self
        self.bed = testbed.Bed(self.o.bin, up=("--no-bridge",)).__enter__()
        self.to = self.at = ("127.0.0.1", "5000")
        self.place = "source"
        if self.mode == "relay":
            self.to = ("127.0.0.1", "4000")
            self.relay = self.bed.start("source", os.path.join(self.o.bin, "helio-emu"), "relay", "--listen", "127.0.0.1:4000",
                                        "--to", "127.0.0.1:5000", "--json", f"{self.bed.here}/bridge.json", *options,
                                        stderr=subprocess.PIPE)
            while "ready" not in self.relay.stderr.readline():
                assert self.relay.poll() is None, "the relay ended"
            self.pid = self.relay.pid
        return self

    def __exit__(self, *_):
        if self.mode == "relay":
            self.relay.kill()
            self.relay.wait()
            self.relay.stderr.close()
        self.bed.__exit__()

    def stop(self):
        if self.mode != "relay":
            return self.bed.stop()
        self.relay.terminate()
        self.relay.wait(10)
        return self.bed.report()

    def measure(self, rate):
        o = self.o
        count = int(rate * o.seconds / 8 / o.length)
        receiver = self.bed.start(self.place, self.load, "recv", *self.at, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert receiver.stderr.readline() == "ready\n"
        before = on_cpu_ns(self.pid) if self.mode != "direct" else 0
        sent = json.loads(self.bed.run("source", self.load, "send", *self.to, str(o.length), str(count), str(rate)).stdout)
        got = json.loads(receiver.communicate(timeout=60)[0])
        r = {"rate_bps": sent["rate_bps"], "sent": sent["sent"], "received": got["received"],
             "took_us": {k: v - (0 if self.mode == "direct" else DELAY_US) for k, v in got["took_us"].items()}}
        if self.mode != "direct":
            r["cpu_us_per_frame"] = (on_cpu_ns(self.pid) - before) / 1e3 / max(1, sent["sent"])
            forward = self.stop()["forward"]
            r["late_us"] = forward["late_us"]
            r["dropped"] = sum(forward["dropped"].values())
        return r


def run(o, mode, rate):
    with Path(o, mode) as path:
        return path.measure(rate)


def faithful(r, rate):
    """Nothing lost anywhere, the sender at its rate, and released within 50 us (p99) of the due time."""
    return r["received"] == r["sent"] and r["dropped"] == 0 and r["rate_bps"] > 0.95 * rate and r["late_us"]["p99"] <= 50


def whole(r, rate):
    """The same without the time."""
    return r["received"] == r["sent"] and r["dropped"] == 0 and r["rate_bps"] > 0.95 * rate


def highest(o, mode):
    """The highest rates of a rising series that were passed whole, and faithfully; two failures end it."""
    best = {"whole": 0.0, "faithful": 0.0}
    rate, failures = o.rate / STEP**2, 0
    while failures < 2 and rate <= LAST:
        tries = [run(o, mode, rate)]
        if not faithful(tries[0], rate):
            tries.append(run(o, mode, rate))
        for name, good in (("whole", whole), ("faithful", faithful)):
            if any(good(r, rate) for r in tries):
                best[name] = rate
        failures = 0 if any(whole(r, rate) for r in tries) else failures + 1
        rate *= STEP
    return best


def middle(rounds, *keys):
    values = []
    for r in rounds:
        for k in keys:
            r = r[k]
        values.append(r)
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def summary(rounds):
    out = {}
    for mode in MODES:
        of = [r[mode] for r in rounds]
        out[mode] = {"added_p50_us": middle(of, "took_us", "p50"), "added_p99_us": middle(of, "took_us", "p99"),
                     "late_p50_us": middle(of, "late_us", "p50"), "late_p99_us": middle(of, "late_us", "p99"),
                     "cpu_us_per_frame": middle(of, "cpu_us_per_frame"),
                     "whole_bps": middle(of, "highest", "whole"), "faithful_bps": middle(of, "highest", "faithful")}
    direct = [r["direct"] for r in rounds]
    out["direct"] = {"added_p50_us": middle(direct, "took_us", "p50"), "added_p99_us": middle(direct, "took_us", "p99")}
    return out


def say(s, o):
    print(f"{o.length}-byte frames; latency and processor time at {o.rate / 1e9:g} Gbit/s; medians of {o.rounds} rounds")
    for mode, r in s.items():
        line = f"{mode:12s} added {r['added_p50_us']['median']:7.1f} us p50 {r['added_p99_us']['median']:8.1f} us p99"
        if "late_p99_us" in r:
            line += (f"; late {r['late_p50_us']['median']:6.1f} / {r['late_p99_us']['median']:7.1f} us; "
                     f"{r['cpu_us_per_frame']['median']:5.2f} us of a core a frame; faithful to "
                     f"{r['faithful_bps']['median'] / 1e9:4.2f}, whole to {r['whole_bps']['median'] / 1e9:4.2f} Gbit/s")
        print(line)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("bin")
    for name, kind, default in (("rounds", int, 3), ("seconds", float, 2), ("rate", float, 1e9), ("length", int, 1070),
                                ("batch", str, "auto"), ("json", str, None)):
        p.add_argument(f"--{name}", type=kind, default=default)
    o = p.parse_args()
    testbed.need_namespaces()
    rounds = []
    for i in range(o.rounds):
        one = {"direct": run(o, "direct", o.rate)}
        for mode in MODES:
            one[mode] = run(o, mode, o.rate)
            one[mode]["highest"] = highest(o, mode)
        rounds.append(one)
        print(f"round {i + 1} of {o.rounds} done", file=sys.stderr)
    result = {"options": vars(o), "processors": os.cpu_count(), "load": os.getloadavg(), "summary": summary(rounds),
              "rounds": rounds}
    if o.json:
        with open(o.json, "w") as f:
            json.dump(result, f, indent=1)
    say(result["summary"], o)


main()
