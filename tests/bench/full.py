# SPDX-License-Identifier: Apache-2.0
"""Full-stack goodput on this machine: two applications, two nodes, loopback, no relay and no erasures.

usage: full.py BIN OUT [--seconds S] [--rounds N] [--json FILE]

Each round measures, one after the other, a raw sendmmsg/recvmmsg blast (one datagram a message, and cut by the kernel), LTP
alone from memory to memory, two nodes that make and consume the bundles themselves (bench_node --help says what that
includes), and the full stack, all with 1024-byte datagrams and 500 kB blocks; so that ratios are taken within a round, and
their median over the rounds is what to quote."""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import time

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

RATIOS = ("ltp_to_raw", "ltp_to_cut", "node_to_ltp", "full_to_raw")
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def full_stack(options, out, rate="unlimited", log=False, size="500kB", window=None):
    shutil.rmtree(out, ignore_errors=True)
    with Lab(options.bin, out) as lab:
        port1, port2 = lab.udp_ports(2)
        keys = {"rate": rate, "segment": "1024B", "rto": "200ms"}
        links = {1: lab.link(2, port1, port2, sessions=options.sessions, colour="red", **keys),
                 2: lab.link(1, port2, port1, sessions=64, colour="green", **keys)}
        nodes = {n: lab.start_node(n, lab.write_node(n, [link], log=log)) for n, link in links.items()}
        server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--json", lab.path("server.json"))
        time.sleep(0.3)
        before = {n: cpu_seconds(p.pid) for n, p in nodes.items()}
        client = subprocess.Popen([lab.program("helio-perf"), "client", "--socket", lab.socket(1), "-d", "ipn:2.2000",
                                   "-T", str(options.seconds), "-W", str(window or 3 * options.sessions), "-P", size,
                                   "--json", lab.path("client.json")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        lab.processes.append(("client", client))
        usage = os.wait4(client.pid, 0)[2]
        client.returncode = 0
        cpu = {f"node{n}": cpu_seconds(p.pid) - before[n] for n, p in nodes.items()}
        cpu["client"] = usage.ru_utime + usage.ru_stime
        cpu["server"] = cpu_seconds(server.pid)
        links = {n: lab.control(n, "links")["links"][0] for n in nodes}
        lab.stop("server", server, signal.SIGINT)
        for n, p in nodes.items():
            lab.stop(f"node{n}", p)
        result, far = lab.load("client.json"), lab.load("server.json")
    gigabits = result["goodput_bps"] * result["execution_s"] / 1e9
    return {"gbps": result["goodput_bps"] / 1e9, "bundles": result["bundles_sent"], "delivered": far["bundles"],
            "duplicates": far["duplicates"], "wrong_crc": far["wrong_crc"],
            "cpu_s_per_gbit": {name: seconds / gigabits for name, seconds in cpu.items()},
            "socket_drops": {f"node{n}": link.get("socket_drops") for n, link in links.items()}}


def log_cost(options, out):
    """CPU seconds per gigabit of both nodes at 500 Mbit/s, with a log and without, in turn."""
    rounds = []
    for _ in range(options.rounds):
        cost = {}
        for log in ((), (options.log_cost,)):
            cpu = full_stack(options, out, rate="500Mbit/s", log=log)["cpu_s_per_gbit"]
            cost["with_log" if log else "without_log"] = cpu["node1"] + cpu["node2"]
        cost["ratio"] = cost["with_log"] / cost["without_log"]
        # at 500 Mbit/s a node's share of a core is its CPU seconds per gigabit times 0.47 Gbit/s of goodput
        cost["cores_more_per_node"] = (cost["with_log"] - cost["without_log"]) / 2 * 0.47
        rounds.append(cost)
    return {"ratio": statistics.median(r["ratio"] for r in rounds),
            "cores_more_per_node": statistics.median(r["cores_more_per_node"] for r in rounds), "rounds": rounds}


def small_bundles(options, out):
    """Goodput and CPU seconds per 1000 bundles of both nodes, as many small bundles as they can take, without and with the bundle log."""
    rounds = []
    for _ in range(options.rounds):
        one = {}
        for log in ((), ("bundles",)):
            full = full_stack(options, out, log=log, size="1kB", window=512)
            cpu = sum(full["cpu_s_per_gbit"][n] for n in ("node1", "node2")) * full["gbps"]
            one["with" if log else "without"] = {"gbps": full["gbps"], "cpu_ms_per_bundle": 1e3 * cpu / (full["gbps"] * 1e9 / 8000)}
        rounds.append(one)
    return {"goodput_ratio": statistics.median(r["with"]["gbps"] / r["without"]["gbps"] for r in rounds),
            "cpu_ratio": statistics.median(r["with"]["cpu_ms_per_bundle"] / r["without"]["cpu_ms_per_bundle"] for r in rounds),
            "rounds": rounds}


def program(options, name, *arguments):
    done = subprocess.run([os.path.join(options.bin, name), *arguments], stdout=subprocess.PIPE, check=True, timeout=300)
    return json.loads(done.stdout)


def one_round(options, out):
    seconds = str(options.seconds)
    raw = program(options, "bench_raw", "--seconds", seconds, "--size", "1024")
    ltp = program(options, "bench_ltp", "--seconds", seconds, "--segment", "1024", "--block", "500000")
    node = program(options, "bench_node", "--adapter", "ltp", "--seconds", seconds, "--json")
    node["gbps"] = node["gbit_s"]
    full = full_stack(options, out, log=options.log)
    return {"raw": raw, "ltp": ltp, "node": node, "full": full,
            "ltp_to_raw": ltp["gbps"] / raw["gbps"], "ltp_to_cut": ltp["gbps"] / raw["cut_by_kernel"]["gbps"],
            "node_to_ltp": node["gbps"] / ltp["gbps"], "full_to_raw": full["gbps"] / raw["gbps"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--log", action="store_true", help="write the segment log while measuring the full stack")
    parser.add_argument("--log-cost", nargs="?", const="segments", choices=("segments", "bundles"),
                        help="only what this log costs at 500 Mbit/s (segments)")
    parser.add_argument("--small-bundles", action="store_true", help="only what the bundle log costs with bundles of 1 kB, unpaced")
    parser.add_argument("--full-only", action="store_true", help="the full stack without the baselines")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.small_bundles:
        print(json.dumps(small_bundles(options, options.out), indent=2))
        return
    if options.full_only or options.log_cost:
        one = log_cost(options, options.out) if options.log_cost else full_stack(options, options.out, log=options.log)
        print(json.dumps(one, indent=2))
        return
    rounds = [one_round(options, options.out) for _ in range(options.rounds)]
    result = {"median": {key: statistics.median(r[key] for r in rounds) for key in RATIOS},
              "rounds": rounds}
    for key in ("raw", "ltp", "node", "full"):
        result["median"][f"{key}_gbps"] = statistics.median(r[key]["gbps"] for r in rounds)
    text = json.dumps(result, indent=2)
    if options.json:
        with open(options.json, "w") as f:
            f.write(text)
    print(text)


main()
