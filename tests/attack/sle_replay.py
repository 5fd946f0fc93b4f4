# SPDX-License-Identifier: Apache-2.0
"""Recorded Space Link Extension, sent again from another address: nothing binds, and nothing is radiated."""
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

from attack import main

CLTU1, RAF = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1", "sagr=1.spack=1.rsl-fg=1.raf=onlc1"
PASSWORDS = ("00112233445566778899", "aabbccddeeff")
LATER = 20  # s between the recording and the first replay


class Recorder(threading.Thread):
    """Carries one connection to the provider, and keeps what its user sends."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.listener, self.port, self.octets = socket.create_server(("127.0.0.1", 0)), port, b""

    def run(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(("127.0.0.1", self.port))
        back = threading.Thread(target=self.carry, args=(far, near), daemon=True)
        back.start()
        self.carry(near, far, keep=True)
        back.join()

    def carry(self, source, target, keep=False):
        try:
            while octets := source.recv(65536):
                self.octets += octets if keep else b""
                target.sendall(octets)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def messages(octets):
    """Each message of the transport mapping."""
    while octets:
        size = 8 + struct.unpack(">I", octets[4:8])[0]
        yield octets[:size]
        octets = octets[size:]


def run(scene):
    """An eavesdropper sends what a user with `authentication: all` sent, as it was and with other messages' credentials in the BIND."""
    path, out = scene.lab.path, scene.lab.path("uplink")
    port = scene.ports(1)[0]
    with open(os.open(path("station.yaml"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
        f.write(f"""id: STATION
password: '{PASSWORDS[1]}'
listen: 127.0.0.1:{port}
status: {path('status')}
users:
  - {{id: CENTRE, password: '{PASSWORDS[0]}', authentication: all}}
sources:
  - {{name: frames, rate: 100Mbit/s, when_full: wait}}
instances:
  - {{id: {CLTU1}, users: CENTRE, uplink: {out}}}
  - {{id: {RAF}, users: CENTRE, source: frames}}
""")
    for k, password in enumerate(PASSWORDS):
        with open(os.open(path(f"password{k}"), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            f.write(password + "\n")
    station = scene.start("station", "helio-sle", "provider", path("station.yaml"))

    def status():
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path("status"))
            return json.load(s.makefile())

    def user(instance, *options, to=port):
        command = [scene.lab.program("helio-sle"), "user", f"127.0.0.1:{to}", "--id", "CENTRE", "--responder", "STATION", "--instance", instance,
                   "--json", "--authentication", "all", "--password-file", path("password0"), "--responder-password-file", path("password1"), *options]
        r = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return r.returncode, json.loads(r.stdout) if r.stdout else {"error": r.stderr}

    until = time.monotonic() + 60
    while not os.path.exists(path("status")) and time.monotonic() < until:
        time.sleep(0.05)
    with open(path("cltus"), "wb") as f:
        f.write(b"".join(struct.pack(">I", 16) + bytes([k]) * 16 for k in range(3)))
    recorder = Recorder(port)
    recorder.start()
    code, _ = user(CLTU1, "--cltus", path("cltus"), to=recorder.listener.getsockname()[1])
    recorder.join(60)
    recorded = list(messages(recorder.octets))
    with open(out, "rb") as f:
        radiated = f.read()
    scene.bound("the user's session", code, "==", 0)
    scene.bound("octets radiated for the user", len(radiated), "==", 3 * 20)
    scene.figure("messages recorded", len(recorded))

    def variants():
        yield recorded
        head = bytes.fromhex("813430320408")  # of credentials
        bind = recorded[1]
        at = bind.index(head)
        for other in recorded[2:]:
            if head in other:
                k = other.index(head)
                yield [recorded[0], bind[:at] + other[k:k + 54] + bind[at + 54:], *recorded[2:]]

    def replay(until):
        while time.monotonic() < until:
            for session in variants():
                with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.9", 0)) as s:
                    try:
                        for message in session:
                            s.sendall(message)
                            time.sleep(0.001)
                        s.settimeout(5)
                        while s.recv(65536):
                            pass
                    except OSError:
                        pass

    def goodput():
        code, r = user(RAF, "-t", f"{scene.seconds}s", "--numbered")
        if code != 0:
            print(r, file=sys.stderr)
        return round(r.get("rate_bps", 0) / 1e6, 3)

    time.sleep(LATER)
    phases = scene.phases(goodput, replay)
    with open(out, "rb") as f:
        scene.bound("octets radiated for the attacker", len(f.read()) - len(radiated), "==", 0)
    counts = status()["counts"]
    instance = status()["instances"][0]
    scene.figure("counts", {k: counts[k] for k in ("links", "binds", "replays", "auth_failed", "binds_refused")})
    scene.bound("replays refused", counts["replays"], ">=", 7)
    scene.bound("associations of the forward instance", instance["counts"]["binds"], "==", 1)
    scene.bound("it is free", instance["state"], "==", "unbound")
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.8)
    scene.bound("RSS, MiB", scene.rss_peak(station), "<=", 128)
    scene.bound("the station runs", station.poll(), "==", None)


if __name__ == "__main__":
    main(run)
