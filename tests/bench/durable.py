# SPDX-License-Identifier: Apache-2.0
"""Small bundles through two nodes by the durability of their stores: how many a second, in turn within each round.

usage: durable.py BIN OUT [--seconds S] [--rounds N] [--window N] [--one-way] [--json FILE]

An application sends 1 kB bundles over a node, a link on the loopback interface (aggregated blocks, no pacing) and a second
node to another application, with a window; `--one-way` without acknowledgements, at a rate that no store follows, so that the
store is what holds it up. Ratios are those of one round: the machine's load is in both."""

import argparse
import json
import os
import shutil
import signal
import statistics
import time

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

KINDS = ("none", "async", "sync")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one(options, kind):
    shutil.rmtree(options.out, ignore_errors=True)
    with Lab(options.bin, options.out) as lab:
        port1, port2 = lab.udp_ports(2)
        keys = {"rate": "unlimited", "segment": "8kB", "rto": "500ms", "sessions": options.sessions, "aggregate": "64kB", "colour": "red"}
        links = {1: lab.link(2, port1, port2, **keys), 2: lab.link(1, port2, port1, **keys)}
        nodes = {}
        for n, link in links.items():
            store = "{durability: none}" if kind == "none" else f"{{path: {lab.path(f'store{n}')}, durability: {kind}, limit: 4GiB}}"
            nodes[n] = lab.start_node(n, lab.write_node(n, [link], store=store, log=False))
        server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--deliveries", "1024", "--json", lab.path("server.json"))
        time.sleep(0.3)
        begun = {n: cpu_seconds(p.pid) for n, p in nodes.items()}
        flow = ["-R", "1000000b"] if options.one_way else ["-W", str(options.window)]
        lab.run("helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "-T", str(options.seconds), *flow, "-P", "1kB",
                "--json", lab.path("client.json"))
        cpu = {f"node{n}": cpu_seconds(p.pid) - begun[n] for n, p in nodes.items()}
        status = {n: lab.control(n, "status")["store"] for n in nodes} if kind != "none" else {}
        lab.stop("server", server, signal.SIGINT)
        for n, p in nodes.items():
            lab.stop(f"node{n}", p)
        near, far = lab.load("client.json"), lab.load("server.json")
    lost = near["bundles_sent"] - far["bundles"]
    if lost:
        raise SystemExit(f"{kind}: {lost} bundles are missing")
    return {"per_s": far["bundles"] / near["execution_s"], "bundles": far["bundles"], "cpu_s": cpu,
            "jobs_a_commit": {n: s["jobs"] / max(1, s["commits"]) for n, s in status.items()},
            "commits_per_s": {n: s["commits"] / near["execution_s"] for n, s in status.items()}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--window", type=int, default=4096)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--one-way", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    rounds = [{kind: one(options, kind) for kind in KINDS} for _ in range(options.rounds)]
    result = {"median_per_s": {k: statistics.median(r[k]["per_s"] for r in rounds) for k in KINDS},
              "ratio_to_none": {k: statistics.median(r[k]["per_s"] / r["none"]["per_s"] for r in rounds) for k in KINDS},
              "rounds": rounds}
    text = json.dumps(result, indent=2)
    if options.json:
        with open(options.json, "w") as f:
            f.write(text)
    print(text)


main()
