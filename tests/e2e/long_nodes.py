# SPDX-License-Identifier: Apache-2.0
"""Five nodes for a long time, by hand: a diamond with contacts, LTP and TCPCL links mixed, bundles of 64 bytes to 1 MB both
ways, nodes that are stopped and killed with -9. What was accepted arrives; at every look each node's counters add up (what came in =
what is held + what ended, by reason); memory and descriptors stay flat; at the end no node holds anything. What ended as neither
forwarded nor delivered is looked up in the bundle logs: only a server's further answers to a client that had its answer and left.

    1 ──tcpcl── 2 ──ltp, trace H── 3 ──tcpcl── 5        contacts of 2-3, 2-4 and 3-5 of some seconds, each 10 s
                 └──ltp, trace A── 4 ──tcpcl──┘

In the first half of the time every node is ended in turn, in the second one nodes 2 and 5 live on, for how they grow. A node remembers
the ids of bundles until their lifetime ends, against repeats: it is a third of the time, so that as many are forgotten as come by then.
usage: long_nodes.py BIN OUT [SECONDS [SEED]]      (1800)"""

import datetime
import json
import os
import random
import re
import shutil
import signal
import sys
import time

import _paths  # noqa: F401
from heliograph.processes import Failed, Lab  # noqa: E402

KINDS = {(1, 2): "tcpcl", (2, 3): "H", (2, 4): "A", (3, 5): "tcpcl", (4, 5): "tcpcl"}
WINDOWS = {(2, 3): (0, 6), (2, 4): (5, 10.5), (3, 5): (2, 9)}  # of each 10 s; the others always
# who sends: from, to, a rate, bytes
FLOWS = ((1, 5, "50b", 64), (1, 5, "50b", 2_000), (1, 5, "8b", 50_000), (1, 5, "0.3b", 1_000_000), (5, 1, "20b", 500),
         (5, 1, "2b", 100_000), (3, 4, "5b", 10_000))
LOOK = 5  # seconds between looks
LEAST_LIFETIME = 300  # seconds, of what clients send
PATIENCE = 1800  # seconds; a shared machine may stand still for long


def write_plan(path, start, seconds):
    at = lambda s: f"{start + datetime.timedelta(seconds=s):%Y-%m-%dT%H:%M:%S.%fZ}"
    rows = ["contacts:"]
    for a, b in KINDS:
        low, high = WINDOWS.get((a, b), (None, None))
        spans = [(0, seconds)] if low is None else [(t + low, t + min(high, 9.99)) for t in range(0, seconds, 10)]
        rows += [f"  - {{from: {a}, to: {b}, start: {at(s)}, end: {at(e)}, rate: 100Mbit/s, both: yes, owlt: 5ms}}" for s, e in spans]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(rows) + "\n")


class Net:
    def __init__(self, lab, seconds):
        self.lab = lab
        write_plan(lab.path("plan.yaml"), datetime.datetime.now(datetime.timezone.utc), seconds + 1800)
        links = {n: [] for n in range(1, 6)}
        ports = lab.udp_ports(3 * len(KINDS))
        for i, ((a, b), kind) in enumerate(KINDS.items()):
            left, right, relay = ports[3 * i:3 * i + 3]
            if kind == "tcpcl":
                common = {"adapter": "tcpcl", "reconnect": "100ms", "reconnect_max": "2s", "ending": "200ms"}
                links[a].append({"name": f"to-{b}", "peer": f"ipn:{b}.0", "remote": f"127.0.0.1:{right}", **common})
                links[b].append({"name": f"to-{a}", "peer": f"ipn:{a}.0", "local": f"127.0.0.1:{right}", **common})
                continue
            keys = {"rate": "100Mbit/s", "rto": "60ms", "sessions": 32}
            links[a].append(lab.link(b, left, relay, **keys))
            links[b].append(lab.link(a, right, relay, **keys))
            lab.start(f"relay{a}{b}", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{right}", "--rate", "100Mbit/s",
                      "--delay", "5ms", "--trace", kind, "--trace-return", "iid:0.01", "--priority", "normal", "--seed", str(i + 3),
                      "--json", lab.path(f"relay{a}{b}.json"))
        self.configs = {n: lab.write_node(n, links[n], f"{{path: {lab.path(f'store{n}')}, durability: sync, limit: 4GiB}}", log=("bundles",),
                                          extra=f"plan: {lab.path('plan.yaml')}\n") for n in links}
        self.nodes = {n: lab.start_node(n, self.configs[n]) for n in links}
        self.ends = {n: 0 for n in links}
        self.looks = []  # (seconds, node, run, private bytes, descriptors, held)
        self.sums = {n: {} for n in links}  # of runs that have ended
        self.begun = time.monotonic()
        self.servers = {n: lab.start(f"server{n}", "helio-perf", "server", "--socket", lab.socket(n), "--reconnect=600", "-l", "120",
                                     "--json", lab.path(f"server{n}.json")) for n in sorted({f[1] for f in FLOWS})}

    def clients(self, seconds):
        return [self.lab.start(f"client{i}", "helio-perf", "client", "--socket", self.lab.socket(a), "-d", f"ipn:{b}.2000", "--reconnect=600",
                               "-T", str(seconds), "-P", str(size), "-R", rate, "-l", str(max(LEAST_LIFETIME, seconds // 3)), "--linger", "120",
                               "--json", self.lab.path(f"client{i}.json")) for i, (a, b, rate, size) in enumerate(FLOWS)]

    def look(self, number):
        """One look at a node: its counters add up; its memory and descriptors."""
        c = json.loads(self.lab.run("helioctl", "--socket", self.lab.socket(number) + ".ctl", "--json", "counters", timeout=PATIENCE))["agent"]
        check_balance(number, c)
        pid = self.nodes[number].pid
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            private = int(next(row for row in f if row.startswith("RssAnon")).split()[1]) << 10
        self.looks.append((time.monotonic() - self.begun, number, self.ends[number], private, len(os.listdir(f"/proc/{pid}/fd")), c["held"]))
        return c

    def end(self, number, sig, pause):
        counters = self.look(number)
        self.lab.run("helioctl", "--socket", self.lab.socket(number) + ".ctl", "flush", timeout=PATIENCE)  # what was counted is in the log
        p = self.nodes[number]
        p.send_signal(sig)
        if p.wait(PATIENCE) != (0 if sig == signal.SIGTERM else -signal.SIGKILL):
            raise Failed(f"node{number} ended with {p.returncode}:{self.lab.why(f'node{number}')}")
        add_up(self.sums[number], counters)
        time.sleep(pause)
        self.nodes[number] = self.lab.start_node(number, self.configs[number])
        self.ends[number] += 1

    def empty(self, seconds):
        """Until nobody holds anything."""
        until = time.monotonic() + seconds
        while True:
            held = {n: self.look(n)["held"] for n in self.nodes}
            if not any(held.values()):
                return
            if time.monotonic() > until:
                raise Failed(f"bundles stay: {held}")
            time.sleep(1)


def check_balance(number, c):
    """docs/agent.md#counters-that-balance"""
    rows = {"offered": c["consumed"] + sum(c["refused"].values()) + c["storing"] + c["accepted_local"] + c["received"] - c["offered"],
            "accepted": c["held"] - c["storing"] + sum(c["ended"].values()) - c["accepted_local"] - c["received"] - c["restored"],
            "fragments": c["fragments_held"] + sum(c["fragments_ended"].values()) - c["fragments_in"],
            "reassemblies": c["reassemblies_held"] + sum(c["reassemblies_ended"].values()) - c["reassemblies_begun"]}
    if any(rows.values()):
        raise Failed(f"node {number}: counters differ by {rows}: {c}")


def add_up(sums, c):
    for name in ("offered", "accepted_local", "received", "restored", "delivered"):
        sums[name] = sums.get(name, 0) + c[name]
    for what in ("refused", "ended"):
        for reason, count in c[what].items():
            sums[f"{what}: {reason}"] = sums.get(f"{what}: {reason}", 0) + count


def run_turns(net, seconds, rng):
    """Ends nodes, cleanly and with -9, and looks at all of them on the way."""
    every = min(20, seconds / 20)
    turn, ended = 0, net.begun + every
    while time.monotonic() - net.begun < seconds:
        time.sleep(min(LOOK, every / 2))
        for n in net.nodes:
            net.look(n)
        if time.monotonic() > ended:
            among = (1, 2, 3, 4, 5) if time.monotonic() - net.begun < seconds / 2 else (1, 3, 4)
            net.end(among[turn % len(among)], signal.SIGKILL if turn % 2 else signal.SIGTERM, rng.uniform(0, 1))
            turn, ended = turn + 1, max(ended + every, time.monotonic())


def judge_growth(net, seconds):
    """Of the second half, in which nodes 2 and 5 live on: its second part takes no more than its first."""
    for n in net.nodes:
        mine = [row for row in net.looks if row[1] == n]
        shown = mine[::max(1, len(mine) // 8)]
        print(f"  node {n}: {net.ends[n]} ends; " + ", ".join(f"{t:.0f} s {m >> 10} KiB {d} fd {h} held" for t, _, _, m, d, h in shown))
    for n in (2, 5):
        rows = [r for r in net.looks if r[1] == n and seconds * 0.55 < r[0] < seconds]
        early, late = [r for r in rows if r[0] < seconds * 0.775], [r for r in rows if r[0] >= seconds * 0.775]
        assert early and late and len({r[2] for r in rows}) == 1, f"node {n} did not live through: {rows[0]} … {rows[-1]}"
        for what, at, more in (("memory", 3, 8 << 20), ("descriptors", 4, 3)):
            first, then = max(r[at] for r in early), max(r[at] for r in late)
            print(f"  node {n}: {what} {first} at most, then {then}")
            assert then <= 1.1 * first + more, f"node {n}: its {what} grow: {first}, then {then}"


def judge_flows(net):
    """Each bundle that a node confirmed came to its destination; a server dropped what came again."""
    servers = {n: net.lab.load(f"server{n}.json") for n in net.servers}
    for i, (a, b, _, size) in enumerate(FLOWS):
        c = net.lab.load(f"client{i}.json")
        print(f"  {a} to {b}, {size} bytes: {c['bundles_sent']} sent, {c['bundles_confirmed']} confirmed, {c['lost']} lost")
        assert c["bundles_confirmed"] > 0 and c["lost"] == 0, c
    for n, s in servers.items():
        confirmed = sum(net.lab.load(f"client{i}.json")["bundles_confirmed"] for i, f in enumerate(FLOWS) if f[1] == n)
        print(f"  server of {n}: {s['bundles']} bundles, {s['lost']} lost, {s['duplicates']} repeats dropped, {s['wrong_crc']} damaged")
        assert s["bundles"] >= confirmed and s["lost"] == s["wrong_crc"] == 0, s


def read_log(net, number):
    """Of a node's bundle log: what ended as neither forwarded nor delivered; when each endpoint had its last delivery; when each
    bundle came, or its application was gone before it answered."""
    odd, last, came = [], {}, {}
    with open(net.lab.path(f"node{number}.bundles.csv"), encoding="utf-8") as f:
        names = f.readline().rstrip("\n").split(",")
        for line in f:
            if not re.search(r"^\d+,(accepted|restored|declined|delivered|ended),", line) or line.endswith((",forwarded\n", ",delivered\n")):
                continue
            row = dict(zip(names, line.rstrip("\n").split(",")))
            if row["event"] == "delivered":
                last[row["destination"]] = int(row["t_ns"])
            elif row["event"] == "ended":
                odd.append(row)
            else:
                came[row["key"]] = int(row["t_ns"])
    return odd, last, came


def judge_ends(net):
    """A client asks for the server's account again until it has it. Without a contact it asks several times; the answers that come after
    the first one find nobody, and end with their lifetime. Nothing else ends so, and nothing is refused but what was here before."""
    clients = {c["client"] for n in net.servers for c in net.lab.load(f"server{n}.json")["clients"]}
    for n in net.nodes:
        bad = {k: v for k, v in net.sums[n].items() if k.startswith("refused: ") and v and k != "refused: bundle was here before"}
        assert not bad, f"node {n} refused: {bad}"
        odd, last, came = read_log(net, n)
        for row in odd:
            where = row["destination"]
            supposed = (row["reason"] == "expired" and row["source"] in {f"ipn:{s}.2000" for s in net.servers} and where in clients and
                        where.startswith(f"ipn:{n}.") and where in last and came.get(row["key"], last[where]) >= last[where])
            assert supposed, f"node {n}: not an answer to a client that had left: {row}"
        counted = sum(v for k, v in net.sums[n].items() if k.startswith("ended: ") and k not in ("ended: forwarded", "ended: delivered"))
        # the counters of a node that is killed are those of a moment before
        assert len(odd) >= counted, f"node {n}: {counted} ended otherwise, {len(odd)} of them in its log"
        if odd:
            print(f"  node {n}: {len(odd)} further answers to clients that had left expired")


def stop(lab, name, p, sig):
    p.send_signal(sig)
    if p.wait(PATIENCE) != 0:
        raise Failed(f"{name} ended with {p.returncode}:{lab.why(name)}")


def main():
    programs, out, *rest = sys.argv[1:]
    seconds = int(rest[0]) if rest else 1800
    shutil.rmtree(out, ignore_errors=True)
    with Lab(programs, out) as lab:
        net = Net(lab, seconds)
        clients = net.clients(seconds)
        run_turns(net, seconds, random.Random(int(rest[1]) if len(rest) > 1 else 1))
        codes = [c.wait(PATIENCE) for c in clients]
        net.empty(PATIENCE)
        for n, p in net.servers.items():
            stop(lab, f"server{n}", p, signal.SIGINT)
        for n, p in net.nodes.items():
            add_up(net.sums[n], net.look(n))
            stop(lab, f"node{n}", p, signal.SIGTERM)
            print(f"  node {n}, all lives: " + ", ".join(f"{k} {v}" for k, v in net.sums[n].items() if v))
        judge_flows(net)
        judge_ends(net)
        judge_growth(net, seconds)
        assert all(code == 0 for code in codes), f"clients ended with {codes}: {[lab.why(f'client{i}') for i, c in enumerate(codes) if c]}"
        print(f"{seconds} s, {sum(net.ends.values())} ends of nodes: nothing was lost, counters add up at {len(net.looks)} looks", flush=True)


main()
