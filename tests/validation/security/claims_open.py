#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Claims that an outside referee found not to hold. Import this module in security_claims.py when they do.

usage: claims_open.py BIN_DIR [NAME…]     as root; prints each claim. Exit codes: 0 all hold, 1 one does not.
"""
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from security import nodes, wire  # noqa: E402
from security.claim import CHECKS, Claim, check  # noqa: E402
from security.nodes import Hosts, Node, Peer, until  # noqa: E402


def tcpcl(hosts, **keys):
    return {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "local": f"{hosts.node()}:4556", **keys}


@check
def contact_headers_of_the_own_address():
    """235 connections a second with a contact header from the address of a peer whose round trip is 600 ms."""
    hosts, over, held = Hosts(), threading.Event(), []

    def flood():
        begin = time.monotonic()
        while not over.is_set():
            s = socket.create_connection((hosts.node(), 4556), 5, (hosts.other(0), 0))
            s.sendall(wire.contact())
            held.append(s)
            time.sleep(max(0, begin + len(held) / 235 - time.monotonic()))

    with Node(hosts, {"links": [tcpcl(hosts)]}) as node:
        thread = threading.Thread(target=flood)
        thread.start()
        time.sleep(1)
        good = 0
        for _ in range(5):
            with socket.create_connection((hosts.node(), 4556), 5, (hosts.other(0), 0)) as s:
                try:
                    s.sendall(wire.contact())
                    s.recv(6, socket.MSG_WAITALL)
                    time.sleep(0.6)
                    s.sendall(wire.sess_init("ipn:2.0"))
                    good += s.recv(1) == b"\x07"
                except OSError:
                    pass
        over.set()
        thread.join()
        away = node.link("to-2")["unidentified_turned_away"]
    for s in held:
        s.close()
    yield Claim("a peer beside contact headers from its own address", "SECURITY.md", "silent or with a contact header; 235 a second from the honest peer's own address",
                f"{good} of 5 in session; {away} connections turned away", good == 5)


def main():
    nodes.leave_network()
    nodes.bin_dir = os.path.abspath(sys.argv[1])
    claims = [c for f in CHECKS if f.__module__ == "__main__" and (not sys.argv[2:] or f.__name__ in sys.argv[2:]) for c in f()]
    nodes.end_all()
    for c in claims:
        print(f"{'holds' if c.holds else 'DOES NOT HOLD'}: {c.claim} ({c.page}): {c.measured}")
    return 0 if all(c.holds for c in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
