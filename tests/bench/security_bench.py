# SPDX-License-Identifier: Apache-2.0
"""What bundle security costs two nodes on this machine: signed and encrypted bundles beside the same bundles without.

usage: security_bench.py BIN OUT [--seconds S] [--rounds N] [--sizes BYTES,...] [--json FILE]

helio-perf sends through two nodes over TCPCL on loopback: four programs, real sockets. Each round measures, one after the other, bundles
without security, with BIB-HMAC-SHA2 (HMAC-SHA-384, HMAC-SHA-256) and with BCB-AES-GCM (AES-256), of each size. The first node is the security
source, the second one the acceptor; the answers of the receiver are plain. All have a store of durability async, since a node that encrypts needs
one. The ratio is the median goodput with security over that without; processor time is that of each node, and of both applications, in
microseconds a bundle. "by cpu" is the processor time of all four programs without security over that with it: no division of the work over
threads makes the ratio better than that where the programs have all processors busy."""
import argparse
import json
import os
import secrets
import shutil
import signal
import statistics
import subprocess
import time

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

WINDOWS = {500000: 64, 1000: 1024}
KINDS = {"none": None, "hmac-sha-384": "bib-hmac-sha2", "hmac-sha-256": "bib-hmac-sha2", "aes-256-gcm": "bcb-aes-gcm"}


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def security_keys(lab, kind):
    """The keys of the configuration of each node."""
    if KINDS[kind] is None:
        return {1: "", 2: ""}
    folder = lab.path("keys")
    os.makedirs(folder, mode=0o700)
    with open(os.path.join(folder, "first"), "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write(f"id: k\nalgorithm: {kind}\nkey: {secrets.token_hex(48 if 'hmac' in kind else 32)}\n")
    rule = "security_keys: {}\nsecurity:\n  - {{role: {}, {}: '{}', context: {}, key: k}}\n"
    return {1: rule.format(folder, "source", "to", "ipn:2.2000", KINDS[kind]), 2: rule.format(folder, "acceptor", "from", "ipn:1.*", KINDS[kind])}


def measure(options, kind, size):
    shutil.rmtree(options.out, ignore_errors=True)
    with Lab(options.bin, options.out) as lab:
        port = lab.udp_ports(1)[0]
        extra = security_keys(lab, kind)
        links = {n: {"name": f"to-{3 - n}", "adapter": "tcpcl", "tls": "off", "peer": f"ipn:{3 - n}.0", place: f"127.0.0.1:{port}", "reconnect": "50ms"}
                 for n, place in ((1, "remote"), (2, "local"))}
        nodes = {n: lab.start_node(n, lab.write_node(n, [links[n]], f"{{path: {lab.path(f'store{n}')}, durability: async}}", log=False, extra=extra[n]))
                 for n in (2, 1)}
        server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--deliveries", "1024", "--json", lab.path("server.json"))
        time.sleep(0.5)
        before = os.times()
        subprocess.run([lab.program("helio-perf"), "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "-T", str(options.seconds), "-W",
                        str(WINDOWS.get(size, 256)), "-P", str(size), "--json", lab.path("client.json")],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=options.seconds + 120)
        after = os.times()
        cpu = {f"node{n}": cpu_seconds(p.pid) for n, p in nodes.items()}
        cpu["apps"] = cpu_seconds(server.pid) + after.children_user + after.children_system - before.children_user - before.children_system
        counters = {n: lab.control(n, "counters")["agent"]["refused"] for n in nodes}
        lab.stop("server", server, signal.SIGINT)
        for n, p in nodes.items():
            lab.stop(f"node{n}", p)
        near, far = lab.load("client.json"), lab.load("server.json")
    if far["duplicates"] or far["wrong_crc"] or far["bundles"] != near["bundles_sent"]:
        raise SystemExit(f"security_bench: {near['bundles_sent']} sent, {far['bundles']} delivered; refused: {counters}")
    return {"gbit_s": near["goodput_bps"] / 1e9, "bundles_s": near["goodput_bps"] / 8 / size,
            **{f"{name}_us": 1e6 * cpu[name] / near["bundles_sent"] for name in cpu}, "all_us": 1e6 * sum(cpu.values()) / near["bundles_sent"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("out", help="folder for stores and files; it is emptied")
    p.add_argument("--seconds", type=float, default=4, help="of each measurement (4)")
    p.add_argument("--rounds", type=int, default=3, help="(3)")
    p.add_argument("--sizes", default="500000,1000", help="bytes of a payload (500000,1000)")
    p.add_argument("--json", help="write all figures there")
    options = p.parse_args()
    sizes = [int(s) for s in options.sizes.split(",")]
    runs = {(size, kind): [] for size in sizes for kind in KINDS}
    for _ in range(options.rounds):
        for size, kind in runs:
            runs[size, kind].append(measure(options, kind, size))
    print(f"{'bytes':>8} {'security':>14} {'Gbit/s':>8} {'bundles/s':>10} {'ratio':>6} {'by cpu':>6} {'node1 us':>9} {'node2 us':>9} {'apps us':>9}")
    result = []
    for (size, kind), all_of in runs.items():
        m = {key: statistics.median(r[key] for r in all_of) for key in all_of[0]}
        m["ratio"] = m["gbit_s"] / statistics.median(r["gbit_s"] for r in runs[size, "none"])
        m["by_cpu"] = statistics.median(r["all_us"] for r in runs[size, "none"]) / m["all_us"]
        print(f"{size:8} {kind:>14} {m['gbit_s']:8.3f} {m['bundles_s']:10.0f} {m['ratio']:6.2f} {m['by_cpu']:6.2f} {m['node1_us']:9.1f} {m['node2_us']:9.1f} "
              f"{m['apps_us']:9.1f}")
        result.append({"bytes": size, "security": kind, **m, "runs": all_of})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
