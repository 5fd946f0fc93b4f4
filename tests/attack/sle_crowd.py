# SPDX-License-Identifier: Apache-2.0
"""Silent connections to a provider of Space Link Extension; an honest user far away binds all the same."""
import json
import os
import queue
import socket
import subprocess
import threading
import time

from attack import main, paced

RAF = "sagr=1.spack=1.rsl-fg=1.raf=onlt1"
WAY = 0.15       # s of the honest user's path, in each direction
A_SECOND = 2000  # silent connections
KEPT = 900       # of them at a time
SESSIONS = 4


def carry(source, target):
    """Octets of one direction, late."""
    line = queue.Queue()

    def write():
        while True:
            due, octets = line.get()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if not octets:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(octets)
            except OSError:
                return

    threading.Thread(target=write, daemon=True).start()
    try:
        while octets := source.recv(1 << 16):
            line.put((time.monotonic() + WAY, octets))
    except OSError:
        pass
    line.put((time.monotonic() + WAY, b""))


def relay(listener, port):
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(("127.0.0.1", port))
        for pair in ((near, far), (far, near)):
            threading.Thread(target=carry, args=pair, daemon=True).start()


def run(scene):
    """One address opens 2,000 connections a second to helio-sle and says nothing; a user at 300 ms of round-trip time begins sessions."""
    path = scene.lab.path
    port = scene.ports(1)[0]
    with open(path("station.yaml"), "w", encoding="utf-8") as f:
        f.write(f"""id: STATION
listen: 127.0.0.1:{port}
status: {path('status')}
users:
  - {{id: CENTRE, authentication: none}}
sources:
  - {{name: frames, rate: 10Mbit/s}}
instances:
  - {{id: {RAF}, users: CENTRE, source: frames}}
""")
    station = scene.start("station", "helio-sle", "provider", path("station.yaml"))
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=relay, args=(listener, port), daemon=True).start()
    until = time.monotonic() + 60
    while not os.path.exists(path("status")) and time.monotonic() < until:
        time.sleep(0.05)

    def sessions():
        """How many of the honest user's begin and bring frames."""
        good = 0
        for _ in range(SESSIONS):
            done = subprocess.run([scene.lab.program("helio-sle"), "user", f"127.0.0.1:{listener.getsockname()[1]}", "--id", "CENTRE", "--responder", "STATION",
                                   "--instance", RAF, "--json", "-t", "2s"], capture_output=True, text=True, timeout=60, check=False)
            good += done.returncode == 0 and json.loads(done.stdout)["frames"] > 0
        return good

    def flood(until):
        os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
        held = []
        for _ in paced(until, A_SECOND):
            s = socket.socket()
            s.setblocking(False)
            s.bind(("127.0.0.9", 0))
            try:
                s.connect(("127.0.0.1", port))
            except BlockingIOError:
                pass
            except OSError:  # the provider has no room just now
                s.close()
                continue
            held.append(s)
            if len(held) > KEPT:
                held.pop(0).close()

    before = sessions()
    with scene.attack(flood, least={"connections": 2 * A_SECOND}):
        during = sessions()
    after = sessions()
    scene.figure("sessions", {"before": before, "during": during, "after": after})
    scene.bound("sessions before", before, "==", SESSIONS)
    scene.bound("sessions during the attack", during, "==", SESSIONS)
    scene.bound("sessions after", after, "==", SESSIONS)
    scene.bound("RSS, MiB", scene.rss_peak(station), "<=", 256)


if __name__ == "__main__":
    main(run)
