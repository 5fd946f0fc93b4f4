# SPDX-License-Identifier: Apache-2.0
"""A local client of the control socket asks for expensive answers without end, while the node holds many bundles."""
import json
import os
import socket
import subprocess
import threading
import time

from attack import main

HELD, CLIENTS = 150_000, 4
RATE = "40Mbit/s"  # what a busy machine has to spare is not the bound
SORTED = b'{"cmd": "bundles", "sort": "destination", "limit": 100000}\n'
DELETE = b'{"cmd": "delete", "destination": "ipn:%d.*"}\n'
FLOODS = {"lists": SORTED, "backlogs": b'{"cmd": "backlog"}\n', "counters": b'{"cmd": "counters"}\n', "nonsense": b"\n" * 1000,
          "deletions of nothing": DELETE % 8, "visits": None, "deletions": DELETE % 9}
REPLIES = 2.0  # seconds, of a person's request


def fill(scene, number):
    """The node gets bundles that stay there."""
    command = [scene.lab.program("helio-perf"), "client", "--socket", scene.lab.socket(number), "-d", "ipn:9.1", "-P", "64", "-n", str(HELD), "-R", "30000b",
               "-l", "7200", "-i", "0", "--linger", "1"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=300, check=False)


def run(scene):
    """Four clients of the control socket ask for all 150,000 bundles in order, for the backlog, for counters, and for nothing at all, as fast as they
    can; four more connect and go; four delete all bundles that fit a pattern, which none do, or all. Beside that an LTP transfer goes on, and the operator asks for the node's state. What the flood costs the machine itself is seen
    at a node beside: the same flood against its socket."""
    p1, p2, p3, p4 = scene.ports(4)
    keys = {"rate": RATE, "rto": "100ms"}
    away = {"name": "away", "adapter": "tcpcl", "local": f"'127.0.0.1:{p3}'", "tls": "off", "peer": "ipn:9.0"}
    extra = "routes: [{to: 'ipn:9.*', via: away}]\n"
    scene.node(1, [scene.link(2, p1, p2, **keys), away], extra=extra)
    scene.node(2, [scene.link(1, p2, p1, **keys)])
    scene.node(3, [{**away, "local": f"'127.0.0.1:{p4}'"}], extra=extra)
    scene.receiver(2)
    for number in (1, 3):
        fill(scene, number)
        scene.figure(f"bundles held by node {number}", scene.control(number, "status")["bundles"])

    def connect(number):
        s = socket.socket(socket.AF_UNIX)
        s.connect(scene.lab.socket(number) + ".ctl")
        return s

    def ask(number, line):
        with connect(number) as s:
            s.settimeout(60)
            s.sendall(line)
            return json.loads(s.makefile().readline())

    def flood(number, line):
        def attack(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            while time.monotonic() < until:
                try:
                    with connect(number) as s:
                        s.settimeout(1)
                        threading.Thread(target=send, args=(s, line, until), daemon=True).start()
                        while time.monotonic() < until:
                            try:
                                if not s.recv(1 << 16):
                                    break
                            except TimeoutError:
                                pass
                except OSError:
                    time.sleep(0.01)
        return attack

    def send(s, line, until):
        try:
            while time.monotonic() < until:
                try:
                    s.sendall(line)
                except TimeoutError:
                    pass
        except OSError:
            pass

    def visits(number):
        def attack(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            while time.monotonic() < until:
                try:
                    connect(number).close()
                except OSError:
                    time.sleep(0.001)
        return attack

    def measure():
        slowest, over = [0.0], threading.Event()

        def operator():
            while not over.wait(0.2):
                begin = time.monotonic()
                ask(1, b'{"cmd": "status"}\n')
                slowest[0] = max(slowest[0], time.monotonic() - begin)
        t = threading.Thread(target=operator)
        t.start()
        got = scene.goodput(1, 2)
        over.set()
        t.join()
        return got, round(slowest[0], 3)

    result = {"before": measure()}
    for name, line in FLOODS.items():
        for whose, number in (("beside", 3), ("at it", 1)):
            one = visits(number) if line is None else flood(number, line)
            with scene.attack(*[one] * CLIENTS, least={"connections": 100} if line is None else {"sent": 1000}, name=f"{name} {whose}"):
                result[f"{name} {whose}"] = measure()
        kept = result[f"{name} at it"][0] / max(result[f"{name} beside"][0], 0.001)
        scene.bound(f"goodput kept, {name}", round(kept, 3), ">=", 0.8)
        scene.bound(f"slowest answer, {name}, s", result[f"{name} at it"][1], "<=", REPLIES)
    for number in (1, 3):
        scene.bound(f"bundles left by the deletions at node {number}", scene.control(number, "status")["bundles"], "<=", HELD // 2)
    result["after"] = measure()
    scene.figure("Mbit/s, slowest answer in s", result)
    scene.bound("goodput after", round(result["after"][0] / max(result["before"][0], 0.001), 3), ">=", 0.8)


if __name__ == "__main__":
    main(run)
