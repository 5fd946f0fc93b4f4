# SPDX-License-Identifier: Apache-2.0
"""The demo's experiment, run by tools/demo.sh: two nodes, a relay that erases by a trace, and a traffic generator.

Everything is real: separate processes, UDP sockets, RFC 9171 bundles, RFC 5326 segments."""

import argparse
import csv
import json
import os
import re
import signal
import subprocess
import sys
import textwrap

from heliograph import programs
from heliograph.lab import live as lab_live, made as lab_made
from heliograph.processes import Failed

OVERHEAD = 42  # bytes per segment on the air beside the segment: UDP, IPv4, Ethernet
SEGMENT = 1024
BUNDLE = 500_000
RATES = {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1.0}
BUSY = {"priority": "realtime"} if os.geteuid() == 0 else {}  # of the nodes, as of the relay: where it is permitted
TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class Wrong(Failed):
    """A mistake in the command line."""


def quantity(option, text, units, example, bare=None):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(.*)", text)
    factor = units.get(match[2] or bare) if match else None
    if not factor or float(match[1]) <= 0:
        raise Wrong(f"--{option} {text}: a number with its unit is wanted, such as {example}")
    return float(match[1]) * factor


def check(o):
    """Everything that can be wrong with the options, before anything is started."""
    o.rate_bps = quantity("rate", o.rate, RATES, "500Mbit/s")
    o.delay_s = quantity("delay", o.delay, TIMES, "5ms")
    o.rto_s = quantity("rto", o.rto, TIMES, "30ms")
    o.seconds = quantity("duration", o.duration, TIMES, "20s (or 20)", bare="s")
    if o.rto_s <= 2 * o.delay_s:
        raise Wrong(f"--rto {o.rto} is not above twice the delay of {o.delay}: every checkpoint would be sent again")
    if not re.fullmatch(r"[1-9]\d{0,4}|auto", o.sessions):
        raise Wrong(f"--sessions {o.sessions}: auto or a whole number from 1 to 99999 is wanted")
    o.sessions = o.sessions if o.sessions == "auto" else int(o.sessions)
    o.bundles = 200 if o.sessions == "auto" else 2 * o.sessions + 10
    if o.durability not in ("none", "async", "sync"):
        raise Wrong(f"--durability {o.durability}: none, async or sync is wanted")
    if o.trace not in ("A", "F", "H", "leo-low", "leo-high", "jpl-47km", "none") and not o.trace.startswith("iid:") and not os.path.isfile(o.trace):
        raise Wrong(f"--trace {o.trace}: A, F, H, leo-low, leo-high, jpl-47km, none, iid:P or a trace file is wanted")
    if os.path.isdir(o.out) and os.listdir(o.out):
        raise Wrong(f"--out {o.out} is not empty; logs are appended to, so choose a folder of its own for each run")


def payload_share(log):
    """How much of a full segment's time on the air is block data, read off the first one that was sent."""
    with open(log, newline="") as f:
        for row in csv.DictReader(f):
            if row["dir"] == "tx" and row["udp_len"] == str(SEGMENT):
                return int(row["length"]) / (SEGMENT + OVERHEAD)
    raise Failed(f"{log} has no full segment: nothing was sent")


class Demo:
    def __init__(self, options):
        self.o, self.out = options, os.path.abspath(options.out)

    def path(self, name):
        return os.path.join(self.out, name)

    def load(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return json.load(f)

    def lab(self):
        """The experiment as a lab (docs/helio-lab.md)."""
        o = self.o
        store = {"durability": o.durability, **({} if o.durability == "none" else {"limit": "4GiB"})}
        tree = lab_made.one_link(
            {"delay": o.delay, "overhead": f"{OVERHEAD}B"}, {"rate": o.rate, **lab_made.erasures(o.trace)},
            {"segment": f"{SEGMENT}B", "rto": o.rto, "recovery": "plain"}, {"sessions": o.sessions}, {},
            {"duration": f"{o.seconds:g}", "window": o.bundles, "payload": BUNDLE},
            title="the demo", node={"store": store, **BUSY})
        return lab_made.lab_of(tree, "the demo")

    def experiment(self):
        o = self.o
        programs.PLACE = os.path.abspath(o.bin)
        session = lab_live.Session(self.lab(), self.out, lab_made.Private())
        session.loud, session.limit = ("perf-1",), o.seconds + 60
        shown = lab_made.play(session, lambda: print(
            f"demo: sending 500 kB bundles for {o.seconds:g} s over {o.rate}, trace {o.trace}, {o.sessions} sessions …", flush=True))
        self.interrupted = session.stopped
        if "goodput_bps" not in shown["traffic"]["perf-1"]:
            raise KeyboardInterrupt if session.stopped else Failed("the traffic generator failed; see its message above")
        for name, node in shown["nodes"].items():
            with open(self.path(f"node{name}.links.json"), "w", encoding="utf-8") as f:
                json.dump({"links": node["links"]}, f, indent=2)
        logs = [self.path(f"node{number}.segments.csv") for number in (1, 2)]
        done = subprocess.run([programs.find("helio-analyze"), *logs, "--sessions", self.path("sessions.csv")], stdout=subprocess.PIPE,
                              text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
        if done.returncode != 0:
            raise Failed(f"helio-analyze ended with code {done.returncode}")
        self.summary = done.stdout
        with open(self.path("summary.txt"), "w", encoding="utf-8") as f:
            f.write(self.summary)
        return self.result(shown)

    def doubts(self, relay, links):
        """What the machine did not do in time, or lost: then the figures are its, too."""
        reasons = [f"relay: {reason}" for reason in relay["not_faithful"]]
        for n, answer in links.items():
            drops, credit = (sum(x.get(key, 0) for x in answer["links"]) for key in ("socket_drops", "credit_lost"))
            share = credit * 8 / (self.o.rate_bps * self.o.seconds)
            if drops:
                reasons.append(f"node {n}: {drops} datagrams dropped at its socket")
            if share > 0.01:
                part = f"{100 * share:.1f} % of its rate" if share < 1 else "as much as its rate permits in the whole run was"
                reasons.append(f"node {n}: {part} not sent, since it had no processor")
        return reasons

    def result(self, shown):
        client, server, relay = shown["traffic"]["perf-1"], shown["servers"][0], shown["channels"]["1-2"]
        links = {int(name): node for name, node in shown["nodes"].items()}
        doubts = self.doubts(relay, links)
        share = payload_share(self.path("node1.segments.csv"))
        good = relay["forward"]["good_share_active"]
        capacity = self.o.rate_bps * share * good
        drops = {way: relay[way]["dropped"] for way in ("forward", "return")}
        return {
            "goodput_bps": client["goodput_bps"],
            "capacity_bps": capacity,
            "efficiency": client["goodput_bps"] / capacity,
            "payload_share": share,
            "good_share": good,
            "bundles_sent": client["bundles_sent"],
            "bundles_delivered": server["bundles"],
            "bundles_acked": client["bundles_acked"],
            "duplicates": server["duplicates"],
            "wrong_crc": server["wrong_crc"],
            "relay_drops": drops,
            "socket_drops": {f"node{n}": sum(x.get("socket_drops", 0) for x in links[n]["links"]) for n in links},
            "delay_ms": client["delay_ms"],
            "window": self.o.bundles,
            "faithful": not doubts,
            "not_faithful": doubts,
            "relay_late_us": relay["forward"]["late_us"],
            "relay_cpu_s": relay["cpu_s"],
            "lateness": {f"node{n}": {k: sum(x.get(k, 0) for x in links[n]["links"]) for k in ("late_ns", "late_wakeups", "credit_lost")}
                         for n in links},
            "trace": self.o.trace, "rate": self.o.rate, "sessions": self.o.sessions, "rto": self.o.rto,
            "delay": self.o.delay, "duration_s": self.o.seconds, "durability": self.o.durability,
        }


def hints(o, r):
    """Why the efficiency is low, where it is known."""
    block_s = BUNDLE * 8 / (o.rate_bps * r["payload_share"])
    many = 1024 if o.sessions == "auto" else o.sessions
    bound = many * BUNDLE * 8 / (2 * o.delay_s + block_s)
    if bound < r["capacity_bps"]:
        enough = int(r["capacity_bps"] * (2 * o.delay_s + block_s) / (BUNDLE * 8)) + 1
        yield (f"{o.sessions} sessions of 500 kB a round trip carry at most {bound / 1e6:.0f} Mbit/s here; "
               f"try --sessions {2 * enough}")
    elif r["efficiency"] < 0.9 and r["faithful"]:
        yield "losses leave sessions waiting for their timers: try more --sessions or a shorter --rto"


def verdict(o, r):
    """One sentence: is the figure valid, and is the link used?"""
    if not r["faithful"]:
        first, *others = r["not_faithful"]
        more = f"; {len(others)} more: --details" if others else ""
        return f"NOT FAITHFUL: this machine was too busy: the figure shows the machine, not the link ({first}{more}; docs/troubleshooting.md#not-faithful)"
    if r["bundles_delivered"] != r["bundles_sent"] or r["duplicates"] or r["wrong_crc"]:
        return f"not all bundles arrived once and unchanged: {r['bundles_delivered']} of {r['bundles_sent']}, {r['duplicates']} twice, {r['wrong_crc']} damaged"
    arrived = f"all {r['bundles_sent']} bundles arrived once and unchanged"
    if r["efficiency"] >= 0.9:
        return f"good: {arrived}, and the link is used"
    return f"{arrived}, but the link is not used fully" + ("; see the notes" if any(hints(o, r)) else "")


def queue_ms(r):
    """So long a bundle is on its way if the window is always full: the window's bytes at the goodput (Little's law)."""
    return r["window"] * BUNDLE * 8 / r["goodput_bps"] * 1e3


def put(name, value, about):
    first, *rest = textwrap.wrap(about, 79 - 29) or [""]
    print(f"{name:<11} {value:<16} {first}".rstrip())
    for line in rest:
        print(" " * 29 + line)


def say(demo, r):
    """The first screen: 24 lines of 80 columns hold it."""
    put("goodput", f"{r['goodput_bps'] / 1e6:9.1f} Mbit/s", "application data")
    put("capacity", f"{r['capacity_bps'] / 1e6:9.1f} Mbit/s", f"rate x payload share {r['payload_share']:.4f} x good share {r['good_share']:.4f}")
    put("efficiency", f"{100 * r['efficiency']:9.1f} %", "goodput / capacity")
    if (r["delay_ms"] or {}).get("p50") is not None and r["goodput_bps"] > 0:
        put("delay", f"{r['delay_ms']['p50']:9.1f} ms", "median from handing a bundle to node 1 to its acknowledgement, with the time in "
            f"the queue: a window of {r['window']} bundles takes {queue_ms(r):.0f} ms at this goodput. An LTP session is shorter (--details)")
    for part in [("verdict", verdict(demo.o, r)), *(("note", hint) for hint in hints(demo.o, r))]:
        for i, line in enumerate(textwrap.wrap(part[1], 79 - 13)):
            print(f"{part[0] if i == 0 else '':<12} {line}")
    print(f"\nlook next\n  {demo.out}/\n    summary.txt   sessions, bytes and causes, as --details shows them\n"
          "    sessions.csv  a row for each LTP session; a page of them with a timeline:\n"
          "                  helio-analyze node*.segments.csv --html page.html\n"
          "  docs/tutorial.md       the link of the demo, step by step\n"
          "  tools/demo.sh --help   other traces, rates, delays")


def say_details(demo, r):
    print(f"\n{demo.summary}")
    for reason in r["not_faithful"]:
        print(f"machine     {reason}")
    print(f"bundles     {r['bundles_sent']:9d} sent, {r['bundles_delivered']} delivered, {r['duplicates']} twice, "
          f"{r['wrong_crc']} damaged")
    for way, reasons in r["relay_drops"].items():
        words = ", ".join(f"{n} {reason}" for reason, n in reasons.items())
        print(f"relay       {way} drops: {words}")
    print(f"sockets     drops: {', '.join(f'{n} at {node}' for node, n in r['socket_drops'].items())}")
    for node, late in r["lateness"].items():
        print(f"{node}       waited {late['late_ns'] / 1e6:.0f} ms for a processor in all, more than 1 ms {late['late_wakeups']} times"
              f"{'' if not late['credit_lost'] else '; ' + str(late['credit_lost']) + ' bytes of its rate were lost by that'}")


def main():
    parser = argparse.ArgumentParser(prog="demo")
    for name in ("bin", "duration", "trace", "rate", "sessions", "rto", "delay", "durability", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--json")
    parser.add_argument("--details", action="store_true")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        check(options)
        demo = Demo(options)
        result = demo.experiment()
        if options.json:
            with open(options.json, "w", encoding="utf-8") as f:
                json.dump(result, f, indent=2)
        say(demo, result)
        if options.details:
            say_details(demo, result)
        return 130 if demo.interrupted else 0
    except Failed as e:
        print(f"demo: {e}", file=sys.stderr)
        return 2 if isinstance(e, Wrong) else 1
    except OSError as e:  # --out, --json, or the disk
        print(f"demo: {e.filename or options.out}: {e.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndemo: interrupted; everything was stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
