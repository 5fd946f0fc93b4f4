#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RAF frames over a wide area network: helio-sle provider, helio-emu stream, helio-sle user; beside them plain TCP through nothing.

usage: wan_bench.py BIN [--rate RATE] [--line RATE] [--delays 0ms,50ms,200ms] [--seconds S] [--rounds N] [--source waits|does-not-wait]
                    [--limit SIZE] [--without-relay yes|no] [--json FILE]

Each round runs, one after the other: plain TCP (bench_tcp), provider and user without relay, and with the relay at each delay (one way,
both directions). Of each run: the value of each second, delay and jitter of the frames, what the relay tells of itself. All processes
share this machine's processors, so `plain_tcp_mbit_s` says what the machine gave in that round. The provider's store is large, so that a relay
that is late makes frames late, and ends no association. A source that waits makes them late instead, however long it lasts: it shows a
machine that is too slow as a lower rate. Prints a row of docs/speed.md after each run."""
import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import _paths  # noqa: F401
from heliograph import ports  # pylint: disable=wrong-import-position

INSTANCE = "sagr=1.spack=1.rsl-fg=1.raf=onlc1"
STATION = """id: STATION
listen: 127.0.0.1:%d
users: [{id: CENTRE}]
sources: [{name: x, kind: generator, rate: %s, when_full: %s}]
instances: [{id: %s, users: CENTRE, source: x, buffer: 20, store: 40000, latency: 10ms}]
"""
PLAIN_OCTETS = 22500  # a transfer buffer of 20 frames of 1115 octets


def program(options, name, *words):
    return [os.path.join(options.bin, name), *map(str, words)]


def plain(options):
    told = subprocess.run(program(options, "bench_tcp", PLAIN_OCTETS, 1, 1000, 2), capture_output=True, text=True, check=True).stdout
    return json.loads(told)["per_second"] * PLAIN_OCTETS * 8 / 1e6


def begin(words, log, ready):
    with open(log, "w", encoding="utf-8") as f:
        p = subprocess.Popen(words, stdout=f, stderr=subprocess.STDOUT)
    end = time.monotonic() + 60
    while True:
        with open(log, encoding="utf-8") as f:
            if ready in (said := f.read()):
                return p
        if p.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"wan_bench: {' '.join(words)}: {said}")
        time.sleep(0.01)


def finish(p):
    p.send_signal(signal.SIGINT)
    p.wait(60)


def receive(options, port, folder):
    """The user's result, and its line for each second."""
    seconds = os.path.join(folder, "seconds.csv")
    r = subprocess.run(program(options, "helio-sle", "user", f"127.0.0.1:{port}", "--id", "CENTRE", "--responder", "STATION", "--instance", INSTANCE,
                               "--numbered", "--json", "--csv", seconds, "--time", f"{options.seconds + 1}s", "--warmup", "1s"),
                       capture_output=True, text=True, timeout=options.seconds + 120, check=False)
    if r.returncode != 0:
        raise SystemExit(f"wan_bench: helio-sle user: {r.stderr}{r.stdout}")
    with open(seconds, encoding="utf-8") as f:
        return json.loads(r.stdout), list(csv.DictReader(f))


def frames(options, delay):
    """One run; delay None: without relay."""
    station, relay = ports.free_ports(2)
    with tempfile.TemporaryDirectory(prefix="helio-wan-") as folder:
        file, account = os.path.join(folder, "station.yaml"), os.path.join(folder, "account.json")
        with open(file, "w", encoding="utf-8") as f:
            f.write(STATION % (station, options.rate, "wait" if options.source == "waits" else "by-kind", INSTANCE))
        running = [begin(program(options, "helio-sle", "provider", file), os.path.join(folder, "station.log"), "listens at")]
        try:
            if delay is not None:
                running.append(begin(program(options, "helio-emu", "stream", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{station}",
                                             "--rate", options.line, "--rate-return", options.line, "--delay", delay, "--limit", options.limit,
                                             "--json", account),
                                     os.path.join(folder, "relay.log"), ", ready"))
            result, seconds = receive(options, station if delay is None else relay, folder)
        finally:
            for p in reversed(running):
                finish(p)
        row = {"delay": delay, "user": result, "seconds": seconds}
        if delay is not None:
            with open(account, encoding="utf-8") as f:
                row["relay"] = json.load(f)
        return row


def row_of(run):
    """As docs/speed.md has it. The values of the seconds are those of whole ones behind the first, in which the window of TCP opens."""
    user, one, at, rates = run["user"], run["user"]["associations"][0], 0.0, []
    for second in run["seconds"]:
        time_s = float(second["time_s"])
        if 0.9 < time_s - at < 1.5 and at > 0:
            rates.append(int(second["octets"]) * 8 / 1e6 / (time_s - at))
        at = time_s
    delay, relay = one["delay_us"], run.get("relay")
    return " | ".join(("| " + (run["delay"] or "no relay"), f"{user['measured_bps'] / 1e6:,.0f}",
                       f"{min(rates):,.0f}, {max(rates):,.0f} ({len(rates)} s)" if rates else "-",
                       " / ".join(f"{delay[k] / 1000:.1f}" for k in ("p50", "p99", "max")) + " ms", f"{one['jitter_us']:.0f} us",
                       f"{relay['return']['late_p50_us']:.0f} / {relay['return']['late_p99_us']:.0f} us" if relay else "-",
                       (f"{relay['cpu_s'] / relay['duration_s']:.2f}" if relay else "-") + f", {user['cpu_s'] / user['seconds']:.2f}",
                       f"missing {one['missing']}, repeated {one['repeated']}, wrong {one['wrong']} |"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("--rate", default="1.2Gbit/s", help="of frames")
    p.add_argument("--line", default="1.25Gbit/s", help="of the network: the frames and what is around them")
    p.add_argument("--delays", default="0ms,50ms,200ms")
    p.add_argument("--seconds", type=int, default=5)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--source", choices=("waits", "does-not-wait"), default="does-not-wait")
    p.add_argument("--limit", default="auto", help="octets in transit in the relay; auto leaves a rate of 1.2 Gbit/s at 200 ms no room to catch up")
    p.add_argument("--without-relay", choices=("yes", "no"), default="yes", help="first a run without the relay")
    p.add_argument("--json")
    options = p.parse_args()
    rounds = []
    for _ in range(options.rounds):
        row = {"plain_tcp_mbit_s": plain(options), "load": os.getloadavg()[0], "runs": []}
        print(f"plain TCP: {row['plain_tcp_mbit_s']:,.0f} Mbit/s, load {row['load']:.1f}", file=sys.stderr)
        for delay in (*([None] if options.without_relay == "yes" else []), *options.delays.split(",")):
            row["runs"].append(frames(options, delay))
            print(row_of(row["runs"][-1]), file=sys.stderr, flush=True)
        rounds.append(row)
    text = json.dumps({"rate": options.rate, "line": options.line, "rounds": rounds}, indent=1)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            f.write(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
