# SPDX-License-Identifier: Apache-2.0
"""What was accepted arrives, though frames are lost while nodes end. usage: losses_test.py BIN OUT [MODE COUNT [SEED]]
  kills N      the receiver is killed with -9 N times, 1 % of the frames are lost
  stops N      the receiver is stopped and started cleanly N times, trace H
  line S       three nodes in a line, trace H between them, for S seconds; each is ended every 20 s (or a fifth of S), in turn cleanly and
               with -9; memory and descriptors stay flat
Without a mode: some of each."""

import os
import random
import shutil
import signal
import sys
import time

import _paths  # noqa: F401
from heliograph.processes import Failed, Lab  # noqa: E402

PAYLOAD = 50_000
SHORT = (("kills", 7), ("stops", 4), ("line", 20))


class Line:
    """Nodes 1 … n with a relay between neighbours, a generator at the first and the last."""

    def __init__(self, lab, nodes, trace):
        self.lab, self.count = lab, nodes
        ports = lab.udp_ports(3 * (nodes - 1))
        links = {n: [] for n in range(1, nodes + 1)}
        for i in range(nodes - 1):
            left, right, relay = ports[3 * i:3 * i + 3]
            keys = {"rate": "100Mbit/s", "sessions": 16, "rto": "50ms", "segment": "1024B"}
            links[i + 1].append(lab.link(i + 2, left, relay, **keys))
            links[i + 2].append(lab.link(i + 1, right, relay, **keys))
            lab.start(f"relay{i + 1}", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{right}",
                      "--rate", "100Mbit/s", "--delay", "5ms", "--trace", trace, "--trace-return", "iid:0.01",
                      "--priority", "normal", "--seed", str(i + 3), "--json", lab.path(f"relay{i + 1}.json"))
        self.configs = {n: lab.write_node(n, links[n], f"{{path: {lab.path(f'store{n}')}, durability: sync, limit: 4GiB}}",
                                          log=False, extra=self.routes(n)) for n in links}
        self.nodes = {n: lab.start_node(n, self.configs[n]) for n in links}
        self.lives = {n: [] for n in links}  # of each run: memory and descriptors at its end
        self.server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(nodes), "--reconnect",
                                "--json", lab.path("server.json"))

    def routes(self, number):
        far = [n for n in range(1, self.count + 1) if abs(n - number) > 1]
        return "routes:\n" + "".join(f'  - {{to: "ipn:{n}.*", via: to-{number + (1 if n > number else -1)}}}\n'
                                     for n in far) if far else ""

    def client(self, seconds):
        return self.lab.start("client", "helio-perf", "client", "--socket", self.lab.socket(1), "-d",
                              f"ipn:{self.count}.2000", "--reconnect", "-T", str(seconds), "-P", str(PAYLOAD), "-W", "64",
                              "-l", "3600", "--ack-timeout", "5", "--linger", "30", "--json", self.lab.path("client.json"))

    def restart(self, number, sig, pause):
        p = self.nodes[number]
        self.lives[number].append(usage(p.pid))
        p.send_signal(sig)
        if p.wait(60) != (0 if sig == signal.SIGTERM else -signal.SIGKILL):
            raise Failed(f"node{number} ended with {p.returncode}:{self.lab.why(f'node{number}')}")
        time.sleep(pause)
        self.nodes[number] = self.lab.start_node(number, self.configs[number])

    def finish(self, client, wait):
        code = client.wait(wait)
        self.lab.stop("server", self.server, signal.SIGINT)
        for n, p in self.nodes.items():
            self.lab.stop(f"node{n}", p)
        if code not in (0, 1):
            raise Failed(f"the client ended with exit code {code}:{self.lab.why('client')}")
        return self.lab.load("client.json"), self.lab.load("server.json")


def usage(pid):
    with open(f"/proc/{pid}/statm") as f:
        pages = int(f.read().split()[1])
    return pages * os.sysconf("SC_PAGESIZE"), len(os.listdir(f"/proc/{pid}/fd"))


def judge(what, client, server):
    print(f"{what}: {client['bundles_confirmed']} bundles confirmed, {server['bundles']} delivered, {server['lost']} lost, "
          f"{server['duplicates']} repeats that the application dropped", flush=True)
    assert server["bundles"] >= client["bundles_confirmed"] > 0, (client, server)
    assert server["lost"] == 0 and server["wrong_crc"] == 0, server


def receiver(lab, what, count, rng):
    """The receiver ends COUNT times."""
    kill = what == "kills"
    line = Line(lab, 2, "iid:0.01" if kill else "H")
    client = line.client(1.5 * count + 2)
    for _ in range(count):
        time.sleep(rng.uniform(0.4, 1.2))
        line.restart(2, signal.SIGKILL if kill else signal.SIGTERM, rng.uniform(0, 0.2))
    judge(f"{count} {what}", *line.finish(client, 1.5 * count + 240))


def flat(lives):
    """Later runs need no more than earlier ones."""
    half = len(lives) // 2
    early, late = lives[:half], lives[half:]
    return (not early or (max(m for m, _ in late) <= 1.25 * max(m for m, _ in early) + (32 << 20)
                          and max(d for _, d in late) <= max(d for _, d in early) + 4))


def three(lab, seconds, rng):
    line = Line(lab, 3, "H")
    every, begun, ends = min(20, seconds / 5), time.monotonic(), 0
    lasting = {name: p for name, p in lab.processes if not name.startswith("node")}
    client = line.client(seconds)
    seen = {name: [] for name in lasting}
    while time.monotonic() - begun < seconds - every / 2:
        time.sleep(max(0, begun + (ends + 1) * every / 3 - time.monotonic()))
        line.restart(1 + ends % 3, (signal.SIGTERM, signal.SIGKILL)[ends // 3 % 2], rng.uniform(0, 0.5))
        ends += 1
        for name, p in lasting.items():
            seen[name].append(usage(p.pid))
    client, server = line.finish(client, seconds + 240)
    for name, lives in {**{f"node{n}": u for n, u in line.lives.items()}, **seen}.items():
        print(f"  {name}: " + ", ".join(f"{m >> 20} MiB {d}" for m, d in lives[::max(1, len(lives) // 8)]))
        assert flat(lives), f"{name}: memory or descriptors grow: {lives}"
    judge(f"{seconds} s, {ends} ends of nodes in a line", client, server)


def main():
    programs, out, *rest = sys.argv[1:]
    seed = int(rest[2]) if len(rest) > 2 else 1
    for what, count in ((rest[0], int(rest[1])),) if rest else SHORT:
        folder = os.path.join(out, what)
        shutil.rmtree(folder, ignore_errors=True)
        with Lab(programs, folder) as lab:
            rng = random.Random(seed)
            if what == "line":
                three(lab, count, rng)
            elif what in ("kills", "stops"):
                receiver(lab, what, count, rng)
            else:
                sys.exit(__doc__)


main()
