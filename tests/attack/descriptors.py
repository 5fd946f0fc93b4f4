# SPDX-License-Identifier: Apache-2.0
"""A flood of connections at a node that has no file descriptor left."""
import os
import resource
import socket
import time

from attack import main

SPARE = 12  # descriptors that are free when the flood begins
CLIENTS, HELD = 4, 100
RATE = "40M"  # what a busy machine has to spare is not the bound


def run(scene):
    """Four processes connect to the node's TCPCL link and its application socket, again and again, and hold what they get. An honest transfer over
    a session that exists goes on, and the log says in few lines what is missing."""
    tcp, beside = scene.ports(2)
    link = {"adapter": "tcpcl", "tls": "off"}
    scene.node(1, [{"name": "to-2", "peer": "ipn:2.0", "remote": f"'127.0.0.1:{tcp}'", **link}])
    node = scene.node(2, [{"name": "in", "peer": "ipn:1.0", "local": f"'127.0.0.1:{tcp}'", "peers": 64, **link}])
    scene.node(3, [{"name": "in", "peer": "ipn:9.0", "local": f"'127.0.0.1:{beside}'", "peers": 64, **link}])
    scene.receiver(2)

    def measure():
        return scene.goodput(1, 2, arguments=("-R", RATE), window=None)

    def flood(port, number):
        def attack(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            held = []
            while time.monotonic() < until:
                for family, place in ((socket.AF_INET, ("127.0.0.1", port)), (socket.AF_UNIX, scene.lab.socket(number))):
                    s = socket.socket(family)
                    s.settimeout(0.05)
                    try:
                        s.connect(place)
                        held.append(s)
                    except OSError:
                        s.close()
                while len(held) > HELD:
                    held.pop(0).close()
        return attack

    measure()  # the session comes about
    result = {"before": measure()}
    with scene.attack(*[flood(beside, 3)] * CLIENTS):
        result["beside"] = measure()
    used = len(os.listdir(f"/proc/{node.pid}/fd"))
    resource.prlimit(node.pid, resource.RLIMIT_NOFILE, (used + SPARE, used + SPARE))
    with scene.attack(*[flood(tcp, 2)] * CLIENTS):
        result["during"] = measure()
    time.sleep(1)
    result["after"] = measure()
    scene.figure("phases", result)
    with open(scene.lab.path("node2.log"), encoding="utf-8") as f:
        lines = [line for line in f if "no file descriptor" in line]
    scene.figure("said", lines[:1])
    scene.bound("lines of the log about it", len(lines), ">=", 1)
    scene.bound("no more of them", len(lines), "<=", 3)
    scene.bound("goodput kept", round(result["during"] / max(min(result["before"], result["beside"]), 0.001), 3), ">=", 0.8)
    scene.bound("goodput after", round(result["after"] / max(result["before"], 0.001), 3), ">=", 0.8)


if __name__ == "__main__":
    main(run)
