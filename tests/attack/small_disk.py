# SPDX-License-Identifier: Apache-2.0
"""A neighbour fills a store whose medium is far smaller than `store.limit`: an honest neighbour's bundles still find room."""
import ctypes
import itertools
import os
import subprocess
import time

from attack import main
from bundle_wire import EPOCH, Sender, bundle

CLONE_NEWNS = 0x20000
MEDIUM = 64  # MiB
KEPT = 0.4
RATE = "100Mbit/s"  # of the honest node's link: what a busy machine has to spare is not the bound
SIZES = {"long": 20000, "short": 200}  # bytes of a payload: short ones take several times their bytes on the medium
FILL = 90  # s at most until the attacker has what it gets


def small_medium(scene):
    """A folder on a file system of MEDIUM MiB, which this process and its children see."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise SystemExit(f"small_disk: unshare: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    folder = scene.lab.path("medium")
    os.makedirs(folder)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEDIUM}m", "none", folder], check=True)
    return folder


def run(scene):
    """Node 4 sends bundles of many sources for node 5, which does not answer, to node 2; node 1 sends to an application of node 2."""
    folder = small_medium(scene)
    h1, h2, entry, l2, l5 = scene.ports(5)
    scene.node(1, [scene.link(2, h1, h2, rate=RATE, rto="100ms")])
    scene.node(2, [scene.link(1, h2, h1, rate=RATE, rto="100ms"),
                   {"adapter": "tcpcl", "tls": "off", "name": "from-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}", "peers": 8},
                   scene.link(5, l2, l5, rate="200Mbit/s", sessions=10, rto="100ms")], store=f"{{path: {folder}/store, durability: sync}}")
    scene.receiver(2)

    def used():
        """MiB of the medium."""
        at = os.statvfs(folder)
        return round((at.f_blocks - at.f_bfree) * at.f_frsize / 2**20, 1)

    def there():
        return scene.control(2, "counters")["agent"]["held"]

    def refusals():
        return sum(scene.control(2, "counters")["agent"]["refused"].values())

    def goodput():
        return max(scene.goodput(1, 2, payload="50kB", window=20) for _ in range(2))  # the machine's other work costs one of them

    for name, size in SIZES.items():
        before = goodput()
        refused = refusals()
        created = int((time.time() - EPOCH) * 1000)

        def fill(until, size=size, created=created):
            number = itertools.count()
            while time.monotonic() < until:
                try:
                    s, open_ = Sender(entry, 4), True
                    while open_ and time.monotonic() < until:
                        k = next(number)
                        open_ = s.send(bundle((4, 1 + k % 50), (5, 77), k, payload=bytes(size), created=created))
                except OSError:  # the node has stopped reading
                    time.sleep(0.05)

        with scene.attack(fill, settle=0, least={}, name=name):
            until = time.monotonic() + FILL
            held = -1
            while (refusals() < refused + 100 or there() > held) and time.monotonic() < until:
                held = there()
                time.sleep(3)
            full = used()
            during = goodput()
        status, counters = scene.control(2, "status"), scene.control(2, "counters")
        scene.figure(name, {"before": before, "during": during, "held": held, "bytes": status["bytes"], "store": status["store"], "medium_used_mib": full,
                            "not_stored": counters["node"]["store_failures"]})
        scene.took_place(f"MiB of the attacker's bundles, {name}", round(status["bytes"] / 2**20, 1), 0.3 * MEDIUM)
        scene.took_place(f"bundles for which there was no room, {name}", refusals() - refused, 100)
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", KEPT)
        until = time.monotonic() + 60
        while there() > 100 and time.monotonic() < until:
            scene.control(2, "delete", "destination=ipn:5.*")  # 10,000 at once
        scene.recovery(goodput, before, name)
    with open(scene.lab.path("node2.log"), encoding="utf-8") as f:
        log = f.read()
    scene.bound("warnings about the medium", log.count("its medium has room for"), ">=", 1)
    subprocess.run(["umount", "-l", folder], check=True)  # the node still uses it


if __name__ == "__main__":
    main(run)
