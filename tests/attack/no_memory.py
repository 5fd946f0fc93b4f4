# SPDX-License-Identifier: Apache-2.0
"""A node to which the system gives no more memory: what does not fit is refused as that, by each entrance, and the node goes on."""
import resource
import select
import socket
import time
import urllib.request

import ltp_wire
from attack import main
from aap2 import ERROR, SUCCESS, Client
from bundle_wire import bundle
from tcpcl_wire import ACK, END, REFUSE, START, connect, segment

SPARE = 24 << 20      # octets of address space that the node may still take
LONG = 64 << 20       # an application's payload, a transfer, a block
PIECE = 1 << 20
NO_RESOURCES = 2      # RFC 9174 §4.7
BLOCK = 1300          # octets of a segment
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}


def address_space(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmSize:")) << 10


def refusal_of(s, pieces):
    """The reason of the first XFER_REFUSE (RFC 9174 §5.2.4) while these are written, and 5 s longer; None: there is none."""
    seen, rest, until = b"", b"", None
    while until is None or time.monotonic() < until:
        if not rest:
            rest = next(pieces, b"")
        if not rest and until is None:
            until = time.monotonic() + 5
        readable, writable, _ = select.select([s], [s] if rest else [], [], 0.1)
        if readable:
            if not (part := s.recv(1 << 16)):
                return None
            seen += part
        while seen and seen[0] == ACK and len(seen) >= 18:
            seen = seen[18:]
        if len(seen) >= 2 and seen[0] == REFUSE:
            return seen[1]
        if writable:
            rest = rest[s.send(rest):]
    return None


def run(scene):
    """Applications and peers of node 2 send what does not fit into its address space, by AAP2, TCPCL and LTP; readers ask it by HTTP and the control socket."""
    p1, p2, tcp, http = scene.ports(4)
    scene.node(1, [scene.link(2, p1, p2, **KEYS)])
    links = [scene.link(1, p2, p1, **KEYS), {"name": "in", "adapter": "tcpcl", "peer": "ipn:8.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}]
    victim = scene.node(2, links, extra=f"http: {{listen: {http}}}\n")
    scene.receiver(2)
    before = scene.goodput(1, 2)
    space = address_space(victim.pid) + SPARE
    resource.prlimit(victim.pid, resource.RLIMIT_AS, (space, resource.RLIM_INFINITY))

    def count(name):
        return scene.control(2, "counters")["applications"][name]

    refused, malformed = count("refused"), count("malformed")
    with Client(scene.lab.socket(2)) as c:
        c.configure("ipn:2.7")
        status, text = c.request("ipn:1.7", bytes(LONG))[:2]
        scene.bound("answer to a payload for which there is no memory", (status, text), "==", (ERROR, "out of memory"))
        scene.bound("answer to the next payload", c.request("ipn:1.7", b"x")[0], "==", SUCCESS)
    scene.bound("requests refused", count("refused") - refused, "==", 1)
    scene.bound("of them malformed", count("malformed") - malformed, "==", 0)
    with open(scene.lab.path("node2.log"), encoding="utf-8") as f:
        scene.bound("lines of the log", sum("bundle to ipn:1.7 refused: out of memory" in line for line in f), "==", 1)

    s = connect(tcp, name="ipn:8.0")
    whole = bundle((8, 7), (2, 7), 1, payload=bytes(LONG))
    pieces = (segment(0, whole[at:at + PIECE], flags=(START if at == 0 else 0) | (END if at + PIECE >= len(whole) else 0))
              for at in range(0, len(whole), PIECE))
    scene.bound("reason of the refusal of a transfer", refusal_of(s, pieces), "==", NO_RESOURCES)
    s.close()

    scene.bound("the control socket answers", scene.control(2, "status")["ok"], "==", True)
    with urllib.request.urlopen(f"http://127.0.0.1:{http}/metrics", timeout=10) as reply:
        scene.bound("HTTP answers", reply.status, "==", 200)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
        u.bind(("127.0.0.1", 0))
        for at in range(0, LONG, BLOCK):
            u.sendto(ltp_wire.red_data(1, 1 << 40, bytes(BLOCK), offset=at), ("127.0.0.1", p2))
            if at % (64 * BLOCK) == 0:
                time.sleep(0.001)
    scene.figure("spare address space, MiB", round((space - address_space(victim.pid)) / 2**20, 1))
    resource.prlimit(victim.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    verdicts = next(row for row in scene.control(2, "links")["links"] if row["name"] == "to-1")["verdicts"]
    scene.figure("verdicts", verdicts)
    scene.bound("segments refused for want of memory", verdicts.get("no_memory", 0), ">=", 1)
    scene.recovery(lambda: scene.goodput(1, 2), before)


if __name__ == "__main__":
    main(run)
