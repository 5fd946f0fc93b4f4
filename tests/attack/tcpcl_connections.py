# SPDX-License-Identifier: Apache-2.0
"""Idle connections from several addresses, each second more than there are places."""
import socket
import time

from attack import main
from tcpcl_wire import CONTACT, INIT, init

ADDRESSES = 10
RATE = 1000  # connections a second, of all addresses
ROUND_TRIP = 0.6
TRIES = 12


def idle_connections(port, addresses, rate, speaks=False):
    """Connects, says nothing or no more than a contact header, and keeps the connection."""
    def go(until):
        held = []
        next_at = time.monotonic()
        while (now := time.monotonic()) < until:
            if now < next_at:
                time.sleep(next_at - now)
            next_at += 1 / rate
            s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            s.bind((addresses[len(held) % len(addresses)], 0))
            s.settimeout(2)
            try:
                s.connect(("127.0.0.1", port))
                if speaks:
                    s.sendall(CONTACT)
            except OSError:
                pass
            held.append(s)
            if len(held) > 700:  # the node has ended these long ago
                for old in held[:400]:
                    old.close()
                del held[:400]
    return go


def session(port, source, name):
    """Seconds until a session is established, as a peer sees it whose round trip is 600 ms; None: it was not."""
    begin = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        try:
            s.bind((source, 0))
            s.settimeout(5)
            time.sleep(ROUND_TRIP)  # of SYN and SYN ACK
            s.connect(("127.0.0.1", port))
            s.sendall(CONTACT)
            seen = s.recv(6, socket.MSG_WAITALL)
            time.sleep(ROUND_TRIP)
            s.sendall(init(name))
            seen += s.recv(21, socket.MSG_WAITALL)
            time.sleep(ROUND_TRIP)
            if len(seen) < 27 or seen[6] != INIT:
                return None
        except OSError:
            return None
    return round(time.monotonic() - begin, 3)


def run(scene):
    """1,000 connections a second from ten addresses say nothing, or send a contact header; a peer with 600 ms round trip connects."""
    (port,) = scene.ports(1)
    scene.node(1, [{"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}"}])
    victim = scene.node(2, [{"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"127.0.0.1:{port}", "peers": 8}])
    scene.receiver(2)
    addresses = [f"127.0.0.{20 + k}" for k in range(ADDRESSES)]

    def tries(name, source):
        took = [session(port, source, "ipn:77.0") for _ in range(TRIES)]
        scene.figure(name, took)
        scene.bound(f"sessions, {name}", sum(t is not None for t in took), "==", TRIES)
        scene.bound(f"s until in session, {name}", max((t for t in took if t is not None), default=1e9), "<=", 2)

    def several(speaks):
        half = [idle_connections(port, addresses[k::2], RATE / 2, speaks) for k in range(2)]
        return scene.attack(*half)

    before = scene.goodput(1, 2)
    with several(speaks=False):
        tries("silent, ten addresses", "127.0.0.99")
        during = scene.goodput(1, 2)
    with several(speaks=True):
        tries("contact header, ten addresses", "127.0.0.99")
    with scene.attack(idle_connections(port, ["127.0.0.99"], 235)):
        tries("silent, the peer's own address", "127.0.0.99")
    scene.figure("phases", {"before": before, "during": during, "after": scene.recovery(lambda: scene.goodput(1, 2), before)})
    status = scene.control(2, "links")["links"][0]
    scene.figure("unidentified", {k: status[k] for k in ("unidentified", "unidentified_accepted", "unidentified_turned_away")})
    scene.bound("connections that were made", status["unidentified_accepted"], ">=", 30000)
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 128)


if __name__ == "__main__":
    main(run)
