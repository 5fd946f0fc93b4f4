# SPDX-License-Identifier: Apache-2.0
"""The program that reads the operator's log stands still, while requests at the control socket make lines of it."""
import json
import os
import socket
import time

from attack import main

KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
CHANGES = 3000  # each is a line of the log: more than a pipe holds


def run(scene):
    """Node 2's standard error is a pipe that is full, and that nobody reads; node 3's goodput, the control socket, and the end of node 2."""
    p3, p2 = scene.ports(2)
    scene.node(3, [scene.link(2, p3, p2, **KEYS)])
    config = scene.lab.write_node(2, [scene.link(3, p2, p3, **KEYS)], log=False)
    pipe = scene.lab.path("node2.log")  # where the log of a node goes
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    node = scene.watch(scene.lab.start_node(2, config))
    scene.nodes[2] = node
    scene.receiver(2)
    before, answers = scene.goodput(3, 2), 0
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect(scene.lab.socket(2) + ".ctl")
        lines = s.makefile()
        try:
            for k in range(CHANGES):
                s.sendall(json.dumps({"cmd": "link-set", "name": "to-3", "keys": f"rate: {100 + k % 2}Mbit/s"}).encode() + b"\n")
                answers += json.loads(lines.readline())["ok"]
        except (OSError, ValueError):
            pass
    during = scene.goodput(3, 2)
    scene.figure("goodput", {"before": before, "during": during})
    scene.bound("answers of the control socket", answers, "==", CHANGES)
    scene.bound("goodput kept", round(during / before, 4) if before else 0.0, ">=", 0.4)
    octets = os.read(reader, 1 << 20)
    time.sleep(0.1)
    scene.control(2, "link", "to-3", "down")
    time.sleep(0.1)
    octets += os.read(reader, 1 << 20)
    scene.bound("lines that say how many were lost", octets.count(b"lines of this log are lost"), ">=", 1)
    scene.end(2)
    scene.bound("exit code", node.returncode, "==", 0)
    os.close(reader)


if __name__ == "__main__":
    main(run)
