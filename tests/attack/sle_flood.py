# SPDX-License-Identifier: Apache-2.0
"""Floods at helio-sle: of its control and status sockets, of sessions that begin and end, and of datagrams that are no frames."""
import json
import os
import socket
import subprocess
import sys
import time

from attack import main

RAF, OTHER = "sagr=1.spack=1.rsl-fg=1.raf=onlc1", "sagr=1.spack=1.rsl-fg=1.raf=onlc2"
UDP_SEGMENT = 103  # linux/udp.h: what is sent is cut into datagrams of so many octets
CLIENTS, RATE, LINES = 4, "20Mbit/s", 4


def run(scene):
    """Four clients flood the control socket with orders, then the status socket, then four users bind and unbind without end, then they send
    datagrams of an octet to a source of a modem. The honest user's
    frames and the lines of the log are counted; what a flood costs the machine itself is seen at a provider beside."""
    path = scene.lab.path

    def provider(name):
        port, frames = scene.ports(1)[0], scene.ports(1)[0]
        with open(path(f"{name}.yaml"), "w", encoding="utf-8") as f:
            f.write(f"""id: STATION
listen: 127.0.0.1:{port}
status: {path(name + '.status')}
control: {path(name + '.control')}
users:
  - {{id: CENTRE, authentication: none}}
sources:
  - {{name: frames, rate: {RATE}}}
  - {{name: others, rate: 1kbit/s}}
  - {{name: radio, kind: udp, head: modem, address: 127.0.0.1:{frames}}}
instances:
  - {{id: {RAF}, users: CENTRE, source: frames}}
  - {{id: {OTHER}, users: CENTRE, source: others}}
""")
        p = scene.start(name, "helio-sle", "provider", path(f"{name}.yaml"))
        until = time.monotonic() + 60
        while not os.path.exists(path(f"{name}.control")) and time.monotonic() < until:
            time.sleep(0.05)
        return p, (port, frames)

    def user(port, instance, seconds):
        command = [scene.lab.program("helio-sle"), "user", f"127.0.0.1:{port[0]}", "--id", "CENTRE", "--responder", "STATION", "--instance", instance,
                   "--json", "--numbered", "-t", f"{seconds}s"]
        r = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if r.returncode != 0:
            print(r.stdout, r.stderr, file=sys.stderr)
        return json.loads(r.stdout) if r.stdout else {}

    (station, port), (_, beside) = provider("station"), provider("beside")

    def visit(place, line):
        def attack(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            while time.monotonic() < until:
                try:
                    with socket.socket(socket.AF_UNIX) as s:
                        s.settimeout(5)
                        s.connect(place)
                        s.sendall(line)
                        while s.recv(65536):
                            pass
                except OSError:
                    pass
        return attack

    def bind(to):
        def attack(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            while time.monotonic() < until:
                with socket.socket() as s:
                    try:
                        s.connect(("127.0.0.1", to[0]))
                        s.sendall(bytes.fromhex("0200000000000014") + b"ISP1" + bytes(4) + b"\x00\x00\x00\x01" + bytes(8))
                        s.settimeout(1)
                        while s.recv(4096):
                            pass
                    except OSError:
                        pass
        return attack

    def datagrams(to):
        def attack(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)
            with socket.socket(type=socket.SOCK_DGRAM) as s:
                s.connect(("127.0.0.1", to[1]))
                s.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1)
                while time.monotonic() < until:
                    for _ in range(1000):
                        try:
                            s.send(bytes(64))
                        except OSError:
                            pass
        return attack

    def lines():
        with open(path("station.log"), encoding="utf-8") as f:
            return sum(1 for _ in f)

    def goodput():
        return round(user(port, RAF, scene.seconds).get("rate_bps", 0) / 1e6, 3)

    result = {"before": goodput()}
    floods = {"orders": lambda name, at: visit(path(name + ".control"), b"frames carrier-lock no\nframes carrier-lock yes\n"),
              "status": lambda name, at: visit(path(name + ".status"), b""), "sessions": lambda name, at: bind(at), "datagrams": lambda name, at: datagrams(at)}
    for flood, make in floods.items():
        with scene.attack(*[make("beside", beside)] * CLIENTS):
            result[f"{flood} beside"] = goodput()
        begin, had = time.monotonic(), lines()
        with scene.attack(*[make("station", port)] * CLIENTS, least={"connections": CLIENTS} if flood == "datagrams" else {"connections": 100}, name=flood):
            result[f"{flood} at it"] = goodput()
        rate = (lines() - had) / (time.monotonic() - begin)
        kept = result[f"{flood} at it"] / max(result[f"{flood} beside"], 0.001)
        scene.bound(f"goodput kept, {flood}", round(kept, 3), ">=", 0.9 if flood == "datagrams" else 0.8)
        scene.bound(f"lines of the log a second, {flood}", round(rate, 1), "<=", LINES + 100 / scene.seconds)
    result["after"] = scene.recovery(goodput, result["before"])
    scene.figure("Mbit/s", result)
    scene.bound("RSS, MiB", scene.rss_peak(station), "<=", 128)
    scene.bound("the station runs", station.poll(), "==", None)


if __name__ == "__main__":
    main(run)
