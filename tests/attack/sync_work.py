# SPDX-License-Identifier: Apache-2.0
"""A source that may synchronise to a folder makes helio-sync receive read and copy long files, with messages of 36 kB."""
import hashlib
import json
import os
import random
import struct
import subprocess
import time

from attack import main
from bundle_wire import Sender, bundle
from recv_announce import crc32c

LONG = 4 << 30  # of the file that is there: seconds of reading; 512 times
COPIED = 1_000_000  # of the file whose content is known
ENTRIES = 512


def change(name, version, size, sha):
    """An announcement of a file without its content (docs/helio-sync.md, On the wire)."""
    return struct.pack(">QBBHQQ", version, 1, 0, len(name), size, 10**18) + sha + bytes(4) + name


def message(changes, number):
    head, body = b"HSYN\x01\x01" + struct.pack(">HI", len(changes), number), b"".join(changes)
    return head + struct.pack(">I", crc32c(head + bytes(4) + body)) + body


def run(scene):
    """Another source's files arrive meanwhile, and SIGTERM ends the program within a second."""
    p1, p2, entry = scene.ports(3)
    scene.node(1, [scene.link(2, p1, p2, rto="100ms")])
    scene.node(2, [scene.link(1, p2, p1, rto="100ms"),
                   {"name": "from-4", "adapter": "tcpcl", "tls": "off", "peer": "ipn:4.0", "local": f"127.0.0.1:{entry}"}])
    source, copy = scene.lab.path("source"), scene.lab.path("copy")
    os.makedirs(source)
    os.makedirs(copy)
    with open(os.path.join(copy, "long"), "wb") as f:
        f.truncate(LONG)
    rng = random.Random(1)

    def receive(name):
        return scene.start(name, "helio-sync", "receive", "--socket", scene.lab.socket(2), "--from", "ipn:*.*", "-q", "--json", scene.lab.path(name), copy)

    def honest(name, size):
        """Seconds until a new file of the honest source is confirmed; 60: it was not."""
        data = rng.randbytes(size)
        with open(os.path.join(source, name), "wb") as f:
            f.write(data)
        begun = time.monotonic()
        done = subprocess.run([scene.lab.program("helio-sync"), "send", "--once", "--rest", "200ms", "--ask", "1", "--socket", scene.lab.socket(1),
                               "-q", "--json", "-", source, "ipn:2.2003"], capture_output=True, timeout=120, text=True, check=False)
        return (time.monotonic() - begun if json.loads(done.stdout)["equal"] else 60), hashlib.sha256(data).digest()

    receiver = receive("receive")
    before, sha = honest("known", COPIED)
    attacker, version = Sender(entry, 4), time.time_ns()
    for number, changes in enumerate(([change(b"long", version + i, LONG, rng.randbytes(32)) for i in range(ENTRIES)],
                                      [change(b"c%d" % i, version + ENTRIES + i, COPIED, sha) for i in range(ENTRIES)]), 1):
        attacker.send(bundle((4, 2004), (2, 2003), number, payload=message(changes, number)))
    time.sleep(1)
    during, _ = honest("during", 100_000)
    scene.figure("seconds of a file before", before)
    begun = time.monotonic()
    receiver.terminate()
    receiver.wait(120)
    scene.bound("seconds to the end", time.monotonic() - begun, "<=", 1)
    scene.bound("seconds of another source's file meanwhile", during, "<=", 20)
    with open(scene.lab.path("receive"), encoding="utf-8") as f:
        scene.took_place("names", json.load(f)["names"], ENTRIES)
    scene.bound("its exit code", receiver.returncode, "==", 0)
    scene.bound("RSS, MiB", scene.rss_peak(receiver), "<=", 64)
    # Both are answered at last, and nothing is left of the work.
    receiver = receive("again")
    after, _ = honest("after", 100_000)
    scene.bound("seconds of another source's file after it", after, "<=", 20)
    receiver.terminate()
    receiver.wait(120)
    state = os.path.join(copy, ".helio-sync", "receive")
    scene.bound("files left of copies", sum(name.startswith("new") for name in os.listdir(state)), "==", 0)


if __name__ == "__main__":
    main(run)
