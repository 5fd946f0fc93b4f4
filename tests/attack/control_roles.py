# SPDX-License-Identifier: Apache-2.0
"""A user who may only look at a node tries to change it, and keeps the socket busy while an administrator works."""
import json
import os
import socket
import time

from attack import main

USER, GROUP, ADMINS = 65534, 54302, 54303
CHANGES = ({"cmd": "link", "name": "to-2", "state": "down"}, {"cmd": "link-remove", "name": "to-2"}, {"cmd": "delete", "key": 1}, {"cmd": "reload"},
           {"cmd": "route", "do": "add", "to": "*", "via": "to-2"}, {"CMD": "status", "cmd": "link", "name": "to-2", "state": "down"})


def ask(path, request):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(path)
        s.sendall(json.dumps(request).encode() + b"\n")
        return json.loads(s.makefile().readline())


def run(scene):
    """A reader asks for every change, some thousand times, with the socket's file opened by itself; the node's link stays."""
    begun = time.monotonic()
    p1, p2 = scene.ports(2)
    scene.node(1, [scene.link(2, p1, p2, rto="100ms")], extra=f"control_mode: 0666\ncontrol_admin_group: {ADMINS}\n")
    scene.node(2, [scene.link(1, p2, p1, rto="100ms")])
    scene.receiver(2)
    path = scene.lab.socket(1) + ".ctl"
    os.chmod(os.path.dirname(path), 0o755)

    def reader(until):
        os.setgroups([GROUP])
        os.setgid(GROUP)
        os.setuid(USER)
        while time.monotonic() < until:
            for request in CHANGES:
                if ask(path, request)["ok"]:
                    raise RuntimeError(f"a reader was obeyed: {request}")
            time.sleep(0.005)

    phases = scene.phases(lambda: scene.goodput(1, 2), reader)
    scene.bound("goodput kept during the attack", phases["during_ratio"], ">=", 0.8)
    scene.bound("the link is there", [link["name"] for link in scene.control(1, "links")["links"]] == ["to-2"], "==", True)
    scene.bound("an administrator is obeyed", ask(path, CHANGES[0])["ok"], "==", True)
    with open(scene.lab.path("node1.log"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    scene.bound("changes in the log", sum(" changed: " in line for line in lines), "==", 1)
    scene.figure("refused", scene.control(1, "counters")["node"]["control_refused"])
    scene.bound("lines of the log", len(lines), "<=", 40 + 2 * round(time.monotonic() - begun))


if __name__ == "__main__":
    main(run)
