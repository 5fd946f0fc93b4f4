# SPDX-License-Identifier: Apache-2.0
"""An application floods its node with bundles that no contact of a large plan brings in time: each is refused, with its earliest arrival."""
import random

from attack import main
from app_wire import flooder, small_bundles

NODES, CONTACTS = 500, 20000
LINKLESS = 30  # neighbours of the plan that the node has no link to
LIFETIME_MS = 60000
REFUSED = "no contact can bring it there before its lifetime ends"
LATE = 400     # the destination, which nothing reaches within the bundles' lifetime


def write_plan(path, draw, near, far):
    """Drawn contacts of 5 to 15 minutes in a day that begins in an hour, and the link's own, of 2 s each without a gap."""
    contacts = [f"  - {{from: {near}, to: {far}, start: {t}s, end: {t + 2}s, rate: 100Mbit/s, owlt: 1ms, both: yes}}" for t in range(0, 600, 2)]
    contacts += [f"  - {{from: {near}, to: {3 + 7 * i}, start: 3600s, end: 24h, rate: 100Mbit/s, owlt: 1ms}}" for i in range(LINKLESS)]
    contacts.append(f"  - {{from: {far}, to: 5, start: 3600s, end: 24h, rate: 100Mbit/s, owlt: 1ms}}")
    taken = {}
    while len(contacts) < CONTACTS:
        a = draw.randrange(3, NODES + 1)
        b = (a + draw.randrange(8) * (NODES // 8 + 1)) % NODES + 1
        start = draw.randrange(3600, 86400)
        end = start + draw.randrange(300, 900)
        if b > 2 and all(end <= s or start >= e for s, e in taken.setdefault((a, b), [])):
            taken[a, b].append((start, end))
            contacts.append(f"  - {{from: {a}, to: {b}, start: {start}s, end: {end}s, rate: 100Mbit/s, owlt: 1ms}}")
    with open(path, "w", encoding="utf-8") as f:
        f.write("contacts:\n" + "\n".join(contacts) + "\n")


def play(scene, policy, near, far):
    ports = scene.ports(2)
    plan = scene.lab.path(f"plan{near}.yaml")
    write_plan(plan, random.Random(23), near, far)
    keys = {"rate": "40Mbit/s", "sessions": 20, "rto": "100ms"}
    node = scene.node(near, [scene.link(far, *ports, **keys)], extra=f"plan: {plan}\nrouting: {{unreachable: {policy}}}\n")
    scene.node(far, [scene.link(near, *reversed(ports), **keys)])
    scene.receiver(far)
    flood = flooder(scene.lab.socket(near), small_bundles(f"ipn:{LATE}.1", 100, LIFETIME_MS))
    late = {}

    def clear():
        """What is kept has a minute to live, which is no attack."""
        agent = scene.control(near, "counters")["agent"]
        late.update(kept=agent["too_late"], refused=agent["refused"].get(REFUSED, 0))
        scene.control(near, "delete", f"destination=ipn:{LATE}.1")

    phases = scene.phases(lambda: scene.goodput(near, far, payload="2kB", window=16), flood, name=policy, clear=clear)
    scene.figure(f"bundles that were too late, {policy}", late)
    scene.bound(f"goodput of the second application kept, {policy}", phases["during_ratio"], ">=", 0.4)
    scene.bound(f"bundles that were too late, {policy}", late["kept"] + late["refused"], ">=", 1000)
    scene.bound(f"RSS, MiB, {policy}", scene.rss_peak(node), "<=", 1024 + 64)
    scene.end(near)
    scene.end(far)


def run(scene):
    """An application of a node floods bundles that are too late for its plan of 500 nodes; another application's goodput is measured. The node refuses
    them, or keeps them and asks its plan for them again at each change of a contact."""
    play(scene, "refuse", 1, 2)
    play(scene, "keep", 1001, 1002)


if __name__ == "__main__":
    main(run)
