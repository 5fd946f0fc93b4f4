# SPDX-License-Identifier: Apache-2.0
"""TCPCL over loopback on this machine: two links alone, and two nodes with applications; long and short bundles.

usage: tcpcl_bench.py BIN OUT [--seconds S] [--rounds N] [--durability none|async|sync] [--json FILE]

Each round measures, one after the other, two links with 500 kB and with 1 kB bundles, each after a plain TCP connection,
and the same through two nodes from application to application; so that ratios are taken within a round. Medians over the
rounds are what to quote."""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
from lab import Lab  # noqa: E402

SIZES = ((500000, 64), (1000, 1024))  # bytes, window


def links_alone(options, size, window):
    p = subprocess.run([os.path.join(options.bin, "bench_tcpcl"), "--json", "--seconds", str(options.seconds), "--bundle", str(size),
                        "--window", str(window)], capture_output=True, text=True, check=True)
    return json.loads(p.stdout)


def whole_nodes(options, size, window):
    shutil.rmtree(options.out, ignore_errors=True)
    with Lab(options.bin, options.out) as lab:
        port = lab.udp_ports(1)[0]
        links = {n: {"name": f"to-{3 - n}", "adapter": "tcpcl", "peer": f"ipn:{3 - n}.0", place: f"127.0.0.1:{port}", "reconnect": "50ms"}
                 for n, place in ((1, "remote"), (2, "local"))}
        nodes = {n: lab.start_node(n, lab.write_node(n, [links[n]], f"{{path: {lab.path(f'store{n}')}, durability: {options.durability}}}",
                                                     log=False)) for n in (2, 1)}
        server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--json", lab.path("server.json"))
        time.sleep(0.5)
        lab.run("helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "-T", str(options.seconds), "-W",
                str(window), "-P", str(size), "--json", lab.path("client.json"))
        lab.stop("server", server, signal.SIGINT)
        for n, p in nodes.items():
            lab.stop(f"node{n}", p)
        near, far = lab.load("client.json"), lab.load("server.json")
    if far["duplicates"] or far["wrong_crc"] or far["bundles"] != near["bundles_sent"]:
        raise SystemExit(f"tcpcl_bench: {near['bundles_sent']} sent, {far['bundles']} delivered, {far['duplicates']} twice")
    return {"gbit_s": near["goodput_bps"] / 1e9, "bundles_s": near["bundles_sent"] / near["execution_s"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("out")
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--durability", default="none", choices=("none", "async", "sync"))
    p.add_argument("--json")
    options = p.parse_args()
    found = {}
    for _ in range(options.rounds):
        for size, window in SIZES:
            for what, measure in (("links", links_alone), ("nodes", whole_nodes)):
                for key, value in measure(options, size, window).items():
                    found.setdefault(f"{what}_{size}", {}).setdefault(key, []).append(value)
    result = {name: {k: statistics.median(v) for k, v in keys.items()} for name, keys in found.items()}
    for name, keys in result.items():
        print(f"{name:14} {keys['gbit_s']:8.2f} Gbit/s {keys['bundles_s']:10.0f} bundles/s"
              + (f"   plain TCP {keys['raw_tcp_gbit_s']:.1f} Gbit/s" if "raw_tcp_gbit_s" in keys else ""))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
