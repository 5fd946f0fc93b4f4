# SPDX-License-Identifier: Apache-2.0
"""A neighbour with a key floods long signed bundles: all are true, and the time to verify them is fair."""
import os
import secrets

from attack import main

POLICY = "security_keys: {folder}\nsecurity:\n  - {{role: {role}, {end}: '{nodes}', context: bib-hmac-sha2, key: link}}\n"
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}


def run(scene):
    """Node 1's goodput to node 2 over LTP, beside node 4's flood to node 2, and beside the same one to node 3, which costs this machine as much."""
    p1, p2, *entries = scene.ports(4)
    folder = scene.lab.path("keys")
    os.mkdir(folder, 0o700)
    with open(os.path.join(folder, "link"), "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write(f"id: link\nalgorithm: hmac-sha-384\nkey: {secrets.token_hex(48)}\n")
    tcpcl = {"adapter": "tcpcl", "tls": "off"}
    inbound = [{**tcpcl, "name": "in", "peer": "ipn:4.0", "local": f"127.0.0.1:{port}"} for port in entries]
    accepts = POLICY.format(folder=folder, role="acceptor", end="from", nodes="ipn:4.*")
    scene.node(1, [scene.link(2, p1, p2, **KEYS)])
    node = scene.node(2, [scene.link(1, p2, p1, **KEYS), inbound[0]], extra=accepts)
    scene.node(3, [inbound[1]], extra=accepts)
    scene.node(4, [{**tcpcl, "name": f"to-{n}", "peer": f"ipn:{n}.0", "remote": f"127.0.0.1:{port}"} for n, port in zip((2, 3), entries)],
               extra=POLICY.format(folder=folder, role="source", end="to", nodes="ipn:[2-3].*"))
    for number in (2, 3):
        scene.receiver(number)

    def flood(number):
        def run_flood(until):
            del until  # the attack ends with its process
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.execv(scene.lab.program("helio-perf"), ["helio-perf", "client", "--socket", scene.lab.socket(4), "-d", f"ipn:{number}.2000", "-T", "100",
                                                       "-W", "64", "-P", "500kB", "-i", "0"])
        return run_flood

    before = scene.goodput(1, 2)
    with scene.attack(flood(3), least={}):  # it is another program then; "bundles verified" counts what it does
        beside = scene.goodput(1, 2)
    with scene.attack(flood(2), least={}):
        during = scene.goodput(1, 2)
    verified = scene.control(2, "security")["security"]["accepted"]
    scene.figure("signed", {"before": before, "flood beside": beside, "during": during, "verified": verified})
    scene.bound("goodput kept", round(during / min(before, beside), 4), ">=", 0.4)
    scene.bound("bundles verified", verified, ">=", 200)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
