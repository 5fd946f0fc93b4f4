# SPDX-License-Identifier: Apache-2.0
"""TCPCL over a long way: two nodes with helio-emu bridge between them, at 1 Gbit/s, without delay and with a round trip of 200 ms.

usage: tcpcl_delay.py BIN OUT [--rate R] [--round-trip MS] [--seconds S] [--warmup S] [--rounds N] [--congestion NAME] [--json FILE]

Needs root (network namespaces). Bundles of 500 kB with a window of twice what is on the way; each round measures both, and the ratio
is the round's. What TCP itself needs to reach the rate after its start is left out (--warmup). The bridge's own drops are
shown: with them the figure is TCP's recovery, not the link's window."""

import argparse
import json
import shutil
import signal
import statistics
import time

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402
from testbed import Bed, need_namespaces  # noqa: E402

SIZE = 500000
PLACES = {"node1": "source", "node2": "destination"}


class FarLab(Lab):
    """The nodes are in the namespaces of a testbed; applications reach them by their sockets' paths."""

    def __init__(self, programs, out, bed):
        super().__init__(programs, out)
        self.bed = bed

    def command(self, name, program, *arguments):
        own = super().command(name, program, *arguments)
        return self.bed.inside(PLACES[name], *own) if name in PLACES else own


def run(options, round_trip_ms):
    shutil.rmtree(options.out, ignore_errors=True)
    on_way = options.rate * 1e6 * round_trip_ms / 1000 / 8
    buffers = int(2 * on_way) + (8 << 20)
    window = int(2 * on_way / SIZE) + 32
    link = {"adapter": "tcpcl", "congestion": options.congestion, "socket_buffer": f"{buffers}B", "window_bytes": f"{2 * buffers}B", "reconnect": "50ms"}
    bridge = ["--rate", f"{options.rate}Mbit/s", "--rate-return", f"{options.rate}Mbit/s", "--delay", f"{round_trip_ms / 2}ms",
              "--queue", f"{2 * buffers + (64 << 20)}B"]
    with Bed(options.bin, *bridge, up=("--mtu", "9000")) as bed, FarLab(options.bin, options.out, bed) as lab:
        ends = {1: {"name": "to-2", "peer": "ipn:2.0", "remote": "10.77.0.2:4556", **link},
                2: {"name": "to-1", "peer": "ipn:1.0", "local": "10.77.0.2:4556", "tls": "off", **link}}
        nodes = {n: lab.start_node(n, lab.write_node(n, [ends[n]], log=False)) for n in (2, 1)}
        server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--json", lab.path("server.json"))
        time.sleep(1 + 4 * round_trip_ms / 1000)
        lab.run("helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "-T", str(options.warmup + options.seconds),
                "--warmup", str(options.warmup), "-W", str(window), "-P", str(SIZE), "--json", lab.path("client.json"))
        lab.stop("server", server, signal.SIGINT)
        for n, p in nodes.items():
            lab.stop(f"node{n}", p)
        near = lab.load("client.json")
        dropped = {why: n for why, n in bed.stop()["forward"]["dropped"].items() if n}
    if near["lost"] or near["duplicates"]:
        raise SystemExit(f"tcpcl_delay: {near['lost']} lost, {near['duplicates']} twice")
    return {"gbit_s": near["goodput_bps"] / 1e9, "bundles": near["bundles_acked"], "delay_p50_ms": near["delay_ms"]["p50"],
            "bridge_dropped": dropped}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("out")
    p.add_argument("--rate", type=int, default=1000, help="Mbit/s")
    p.add_argument("--round-trip", type=float, default=200, help="ms")
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--warmup", type=float, default=5)
    p.add_argument("--congestion", default="cubic", help="BBR sends nearly nothing for two round trips each 10 s, to learn the shortest one")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--json")
    options = p.parse_args()
    need_namespaces()
    rounds = [{"near": run(options, 0), "far": run(options, options.round_trip)} for _ in range(options.rounds)]
    result = {"ratio": statistics.median(r["far"]["gbit_s"] / r["near"]["gbit_s"] for r in rounds), "rounds": rounds}
    text = json.dumps(result, indent=1)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            f.write(text)
    print(text)


if __name__ == "__main__":
    main()
