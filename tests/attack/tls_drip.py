# SPDX-License-Identifier: Apache-2.0
"""TLS handshakes that never come to their end: a byte of the first message a second."""
import os
import socket
import time

from attack import drain, main
from certificates import NODE, Authority
from tls_handshakes import HONEST, hello, rate

CONNECTIONS, ADDRESSES, NEW = 2000, 200, 40  # wanted at once; new ones in each twentieth of a second
CONTACT = b"dtn!\x04\x01"  # RFC 9174 4.1: with TLS


def run(scene):
    """200 addresses want 2,000 connections and send a byte of a ClientHello a second by each. What that costs the machine is seen at a node beside."""
    ca = Authority(scene.lab.path("ca"))
    port, beside = scene.ports(2)
    keys = {}
    for n in (1, 2, 3):
        certificate, key = ca.issue(f"node{n}", f"{NODE}ipn:{n}.0")
        os.chmod(key, 0o600)
        keys[n] = {"adapter": "tcpcl", "tls": "required", "tls.certificate": certificate, "tls.key": key, "tls.ca": ca.file}
    victim = scene.node(2, [{"name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{port}", **keys[2]}])
    scene.node(1, [{"name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}", **keys[1]}])
    scene.node(3, [{"name": "to-4", "peer": "ipn:4.0", "local": f"127.0.0.1:{beside}", **keys[3]}])
    scene.receiver(2)
    first = hello()

    def drip_at(to):
        def drip(until):
            os.nice(19)
            held, count = {}, 0  # socket: (bytes sent, when the next one is due)
            while time.monotonic() < until:
                for _ in range(min(NEW, CONNECTIONS - len(held))):
                    s = socket.socket()
                    s.bind((f"127.0.5.{1 + count % ADDRESSES}", 0))
                    s.settimeout(1)
                    count += 1
                    try:
                        s.connect(("127.0.0.1", to))
                        s.sendall(CONTACT)
                    except OSError:
                        s.close()
                        break
                    s.setblocking(False)
                    held[s] = (0, time.monotonic())
                now = time.monotonic()
                for s, (sent, due) in list(held.items()):
                    if now < due:
                        continue
                    try:
                        s.send(first[sent:sent + 1])
                        there = drain(s)
                    except OSError:
                        there = False
                    held[s] = (min(sent + 1, len(first) - 2), now + 1)
                    if not there:
                        s.close()
                        del held[s]
                time.sleep(0.05)
        return drip

    result = {"before": rate(scene, HONEST)}
    for whose, to in (("beside", beside), ("at it", port)):
        with scene.attack(drip_at(to), settle=3):
            result[whose] = rate(scene, HONEST)
    result["after"] = scene.recovery(lambda: rate(scene, HONEST), result["before"])
    scene.figure("Mbit/s", result)
    link = scene.control(2, "links")["links"][0]
    scene.figure("unidentified_accepted", link["unidentified_accepted"])
    scene.bound("connections of the attack", link["unidentified_accepted"], ">=", 200)
    scene.bound("goodput kept", round(result["at it"] / max(result["beside"], 0.001), 3), ">=", 0.9)
    scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 256)


if __name__ == "__main__":
    main(run)
