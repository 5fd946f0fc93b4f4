# SPDX-License-Identifier: Apache-2.0
"""TCPCL over loopback on this machine: two links alone, two nodes, and two nodes with applications; long and short bundles.

usage: tcpcl_bench.py BIN OUT [--seconds S] [--rounds N] [--durability none|async|sync] [--tls] [--against BIN] [--json FILE]

Each round measures, one after the other, two links with 500 kB and with 1 kB bundles, each after a plain TCP connection,
two nodes that make and consume the bundles themselves ("node-to-node": bench_node --help says what that includes),
and the same through two nodes from application to application, four programs in all: "nodes" with a bundle back for each, as helio-perf's
window wants it, "one-way" without, at a rate that no node follows. With --against the nodes of another build are measured
in the same rounds ("other-..."); with --tls the same nodes over TLS 1.3 ("tls-..."). Medians over the rounds are what to quote; processor time is that of each of the
programs, in microseconds a bundle sent."""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

import _paths  # noqa: F401
from certificates import NODE, Authority  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

from heliograph import link_keys  # noqa: E402
from heliograph.programs import ProgramError  # noqa: E402

SIZES = ((500000, 64), (1000, 1024))  # bytes, window
PROGRAMS = ("client", "node1", "node2", "server")
SHOWN = ("generator", "sink", *PROGRAMS)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def two_processes(options, programs, bench, size, window):
    p = subprocess.run([os.path.join(programs, bench), "--json", "--seconds", str(options.seconds), "--bundle", str(size),
                        "--window", str(window)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(p.stdout)


def tls_keys(n, authority):
    certificate, key = authority.issue(f"node{n}", f"{NODE}ipn:{n}.0")
    return {"tls": "required", "tls.certificate": certificate, "tls.key": key, "tls.ca": authority.file}


def whole_nodes(options, programs, size, window, one_way, tls=False):
    shutil.rmtree(options.out, ignore_errors=True)
    with Lab(programs, options.out) as lab:
        port = lab.udp_ports(1)[0]
        links = {n: {"name": f"to-{3 - n}", "adapter": "tcpcl", "peer": f"ipn:{3 - n}.0", place: f"127.0.0.1:{port}", "reconnect": "50ms"}
                 for n, place in ((1, "remote"), (2, "local"))}
        if tls:
            authority = Authority(lab.path("ca"))
            for n, link in links.items():
                link.update(tls_keys(n, authority))
        nodes = {n: lab.start_node(n, lab.write_node(n, [links[n]], f"{{path: {lab.path(f'store{n}')}, durability: {options.durability}}}",
                                                     log=False)) for n in (2, 1)}
        server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--deliveries", "1024",
                           "--json", lab.path("server.json"))
        time.sleep(0.5)
        flow = ["-R", "10000000b"] if one_way else ["-W", str(window)]
        client = subprocess.Popen([lab.program("helio-perf"), "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "-T",
                                   str(options.seconds), *flow, "-P", str(size), "--json", lab.path("client.json")],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        lab.processes.append(("client", client))
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
        cpu = {f"node{n}": cpu_seconds(p.pid) for n, p in nodes.items()}
        cpu |= {"client": usage.ru_utime + usage.ru_stime, "server": cpu_seconds(server.pid)}
        lab.stop("server", server, signal.SIGINT)
        for n, p in nodes.items():
            lab.stop(f"node{n}", p)
        near, far = lab.load("client.json"), lab.load("server.json")
    if client.returncode or near["goodput_basis"] != ("server" if one_way else "acknowledgements") or far["duplicates"] or far["wrong_crc"] or far["bundles"] != near["bundles_sent"]:
        raise SystemExit(f"tcpcl_bench: {near['bundles_sent']} sent, {far['bundles']} delivered, {far['duplicates']} twice")
    # of the acknowledgements, or from the first to the last bundle at the server: what the nodes only hold does not count
    rate = near["goodput_bps"] / 8 / size
    return {"gbit_s": rate * size * 8 / 1e9, "bundles_s": rate} | {f"{p}_us": 1e6 * cpu[p] / near["bundles_sent"] for p in PROGRAMS}


def measures(options):
    """Name, and what to call with size and window."""
    yield "links", lambda size, window: two_processes(options, options.bin, "bench_tcpcl", size, window)
    for prefix, programs in (("", options.bin), ("other-", options.against)):
        if programs and os.path.exists(os.path.join(programs, "bench_node")):
            yield prefix + "node-to-node", lambda size, window, p=programs: two_processes(options, p, "bench_node", size, window)
    for prefix, programs, tls in (("", options.bin, False), ("other-", options.against, False), ("tls-", options.tls and options.bin, True)):
        if programs:
            for name, one_way in (("nodes", False), ("one-way", True)):
                yield prefix + name, lambda size, window, p=programs, o=one_way, t=tls: whole_nodes(options, p, size, window, o, t)


def check_other(programs):
    """A build from before the groups of keys reads no configuration that this script writes."""
    try:
        link_keys.words(os.path.join(programs, "heliod"))
    except (OSError, ProgramError) as e:
        print(f"tcpcl_bench: --against {programs}: {e}; run that version's own tests/bench/tcpcl_bench.py in turns with this one",
              file=sys.stderr)
        raise SystemExit(2) from None


def show(name, keys):
    cpu = "  ".join(f"{p} {keys[f'{p}_us']:.2f}" for p in SHOWN if f"{p}_us" in keys)
    print(f"{name:26} {keys['gbit_s']:8.2f} Gbit/s {keys['bundles_s']:10.0f} bundles/s"
          + (f"   plain TCP {keys['raw_tcp_gbit_s']:.1f} Gbit/s" if "raw_tcp_gbit_s" in keys else "")
          + (f"   us a bundle: {cpu}" if cpu else ""))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("out")
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--durability", default="none", choices=("none", "async", "sync"))
    p.add_argument("--against", metavar="BIN")
    p.add_argument("--tls", action="store_true")
    p.add_argument("--sizes", default=",".join(str(s) for s, _ in SIZES))
    p.add_argument("--json")
    options = p.parse_args()
    if options.against:
        check_other(options.against)
    sizes = [(s, w) for s, w in SIZES if str(s) in options.sizes.split(",")]
    found = {}
    for _ in range(options.rounds):
        for size, window in sizes:
            for what, measure in measures(options):
                for key, value in measure(size, window).items():
                    found.setdefault(f"{what}_{size}", {}).setdefault(key, []).append(value)
    result = {name: {k: statistics.median(v) for k, v in keys.items()} for name, keys in found.items()}
    for name, keys in result.items():
        show(name, keys)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
