# SPDX-License-Identifier: Apache-2.0
"""First pieces of files of 16 GiB, in the names of forged sources, for helio-recv."""
import hashlib
import os
import struct
import subprocess
import time

from attack import main
from bundle_wire import Sender, bundle

IDLE = 5       # seconds of --idle
FORGED = 1100  # more than the places of all
RATE = 20      # further ones a second
SIZE = 20000000
NAME = "x\u202etxt.exe".encode()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


def first_piece():
    """As helio-send writes it (tools/files/files_wire.c): a header of 84 bytes, the name, and 10 of 16 GiB."""
    sha, size = os.urandom(32), struct.pack(">Q", 16 << 30)
    number = hashlib.sha256(sha + size + NAME).digest()[:16]
    head = b"HFIL\x01\x01\x00\x00" + number + size + bytes(8) + sha + struct.pack(">IHHI", 0, len(NAME), 0, 0)
    data = head + NAME + b"x" * 10
    return data[:80] + struct.pack(">I", crc32c(data)) + data[84:]


def run(scene):
    """Node 1 relays to helio-recv at node 2 what node 4 forges; files of node 1 are to arrive there all the same."""
    a, b, entry = scene.ports(3)
    keys = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
    scene.node(1, [scene.link(2, a, b, **keys), {"name": "from-4", "adapter": "tcpcl", "tls": "off", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"}])
    scene.node(2, [scene.link(1, b, a, **keys)])
    folder, report = scene.lab.path("received"), scene.lab.path("recv.json")
    os.mkdir(folder)
    receiver = scene.start("recv", "helio-recv", "--socket", scene.lab.socket(2), "-o", folder, "--idle", f"{IDLE}s", "--no-sync", "--json", report)

    def forge(until):
        s = Sender(entry, 4)
        while time.monotonic() < until:
            number = s.transfers
            s.send(bundle((10000 + number, 66), (2, 2001), number, payload=first_piece()))
            time.sleep(0 if number < FORGED else 1 / RATE)

    files = []

    def transfer():
        """Mbit/s of one file, 0 when it did not arrive."""
        path = scene.lab.path(f"file{time.monotonic_ns()}")
        files.append(path)
        with open(path, "wb") as f:
            f.write(os.urandom(SIZE))
        start = time.monotonic()
        done = subprocess.run([scene.lab.program("helio-send"), "--socket", scene.lab.socket(1), "ipn:2.2001", path],
                              capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        took = time.monotonic() - start
        arrived = os.path.join(folder, os.path.basename(path))
        good = done.returncode == 0 and os.path.exists(arrived) and os.path.getsize(arrived) == SIZE
        return round(SIZE * 8e-6 / took, 3) if good else 0.0

    phases = scene.phases(transfer, forge, settle=IDLE + 8.0)
    scene.lab.stop("recv", receiver)
    counts = scene.lab.load("recv.json")
    scene.figure("helio-recv", {key: counts[key] for key in ("incomplete", "displaced", "files", "refused")})
    scene.bound("files that arrived", counts["files"], "==", len(files))
    scene.bound("goodput of a file kept", phases["during_ratio"], ">=", 0.4)
    scene.bound("forged files that gave way", counts["displaced"], ">=", 1)
    with open(scene.lab.path("recv.log"), "rb") as log:
        scene.bound("raw overrides in its output", log.read().count("\u202e".encode()), "==", 0)


if __name__ == "__main__":
    main(run)
