# SPDX-License-Identifier: Apache-2.0
"""Bundles over STCP and MTCP that are never finished: few long ones, and as many as there are connections."""
import os
import threading
import time

from attack import drain, main
from stream_wire import connect, frame
from tcpcl_wire import push

TOTAL_MIB = 96
LONG, MANY = 12, 240  # connections; of the second kind each brings one octet of a MiB less than it announced
GREEDY = 24  # MiB of a bundle of the first kind: of all more than the node has
CHUNK = bytes(1 << 20)
IDLE_S = 3
SOURCES = [f"127.0.0.{30 + k}" for k in range(8)]


def greedy(adapter, port, source):
    """Each connection sends bundles of 24 MiB without end, as fast as they are taken, but for the last octet of the last one."""
    def go(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        conns = []
        while time.monotonic() < until:
            conns += [connect(port, source) for _ in range(LONG // 2 - len(conns))]
            for piece in [frame(adapter, b"\x9f", GREEDY << 20)] + [CHUNK] * (GREEDY - 1) + [CHUNK[1:]]:
                for s in list(conns):
                    if not push(s, piece, until):
                        conns.remove(s)
    return go


def still(adapter, port):
    """Many connections bring all of a bundle of 1 MiB but one octet, and no more."""
    def go(until):
        conns = []
        for k in range(MANY // 2):
            try:
                conns.append(connect(port, SOURCES[k % len(SOURCES)]))
            except OSError:
                continue
            push(conns[-1], frame(adapter, CHUNK[1:], len(CHUNK)), time.monotonic() + 0.5)
        while time.monotonic() < until:
            time.sleep(0.2)
            conns = [s for s in conns if drain(s)]
    return go


def run(scene):
    """Attackers of two links, STCP and MTCP, hold unfinished bundles: few that grow, then hundreds that stand still; node 1's goodput is measured."""
    at1, at2, stcp, mtcp = scene.ports(4)
    ports = {"stcp": stcp, "mtcp": mtcp}
    timers = {"transfer_idle": f"{IDLE_S}s"}
    scene.node(1, [{"name": "to-2", "adapter": "stcp", "peer": "ipn:2.0", "local": f"127.0.0.1:{at1}", "remote": f"127.0.0.1:{at2}"}])
    links = [{"name": "to-1", "adapter": "stcp", "peer": "ipn:1.0", "local": f"127.0.0.1:{at2}", "remote": f"127.0.0.1:{at1}"}]
    links += [{"name": a, "adapter": a, "peer": f"ipn:{90 + k}.0", "local": f"127.0.0.1:{port}", "source": "any", **timers}
              for k, (a, port) in enumerate(ports.items())]
    victim = scene.node(2, links, store=f"{{path: {scene.lab.path('store')}, durability: async}}", extra=f"bundles: {{total: {TOTAL_MIB}MiB}}\n")
    scene.receiver(2)
    seen, over = [], threading.Event()

    def look():
        while not over.wait(0.1):
            rows = {link["name"]: link for link in scene.control(2, "links")["links"]}
            held = {a: sum(s["arriving_bytes"] for s in rows[a]["sessions"]) for a in ports}
            seen.append((scene.control(2, "status")["arriving_bytes"], held, sum(rows[a]["bundles_shed"] for a in ports),
                         min(len(rows[a]["sessions"]) for a in ports)))

    looker = threading.Thread(target=look)
    looker.start()
    phases = scene.phases(lambda: scene.goodput(1, 2), *[greedy(a, ports[a], SOURCES[k]) for k, a in enumerate(ports)])
    over.set()
    looker.join()
    most = max(arriving for arriving, *_ in seen) / 2**20
    scene.figure("arriving_mib", round(most, 1))
    scene.bound("looks at the node while all attackers were connected", sum(conns == LONG // 2 for *_, conns in seen), ">=", 10)
    scene.bound("MiB of unfinished bundles that status shows", most, ">=", TOTAL_MIB / 4)
    scene.bound("… and at most", most, "<=", TOTAL_MIB)
    scene.bound("bundles dropped for lack of memory", max(shed for _, _, shed, _ in seen), ">", 0)
    scene.bound("goodput kept, growing bundles", round(phases["during"] / max(min(phases["before"], phases["after"]), 0.001), 4), ">=", 0.4)

    with scene.attack(*[still(a, ports[a]) for a in ports], settle=0.5):
        held = 0
        until = time.monotonic() + IDLE_S
        while time.monotonic() < until:
            held = max(held, scene.control(2, "status")["arriving_bytes"])
            time.sleep(0.05)
        scene.figure("still_mib", round(held / 2**20, 1))
        scene.bound("MiB that stand still", held / 2**20, ">", TOTAL_MIB / 8)
        time.sleep(2 * IDLE_S)
        scene.bound("of them after the time they may", scene.control(2, "status")["arriving_bytes"], "==", 0)
        scene.figure("goodput_beside_idle_connections", scene.goodput(1, 2))
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", TOTAL_MIB + 64)


if __name__ == "__main__":
    main(run)
