# SPDX-License-Identifier: Apache-2.0
"""A neighbour without a key floods bundles whose signature is by another key: each costs the node a verification with a public key, the slowest that it has."""
import itertools
import os
import subprocess

from attack import main
from bundle_wire import block, bundle
from tcpcl_wire import flood, segment

ALGORITHMS = {"es512": ("EC", "ec_paramgen_curve:P-521"), "ps512": ("RSA", "rsa_keygen_bits:4096")}
RULE = "security_keys: {folder}\nsecurity:\n  - {{role: acceptor, from: 'ipn:9.*', context: bib-cose, key: link}}\n"
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
BATCH, READY = 64, 4096
LEAST = 300  # signatures that the node verified


def make_keys(scene, algorithm):
    """The folder of the node's key, and the file of the attacker's, which has the same identifier."""
    folder, kind = scene.lab.path("keys-" + algorithm), ALGORITHMS[algorithm]
    os.mkdir(folder, 0o700)
    for name in ("mine", "theirs"):
        subprocess.run(["openssl", "genpkey", "-algorithm", kind[0], "-pkeyopt", kind[1], "-out", scene.lab.path(name)], check=True, capture_output=True)
    public = subprocess.run(["openssl", "pkey", "-in", scene.lab.path("theirs"), "-pubout"], check=True, capture_output=True, text=True).stdout
    with open(scene.lab.path("mine"), encoding="ascii") as f:
        private = f.read()
    forger = scene.lab.path("forger-" + algorithm)
    for path, pem in ((os.path.join(folder, "link"), public), (forger, private)):
        with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(f"id: link\nalgorithm: {algorithm}\n{pem}")
    return folder, forger


def forge(scene, key):
    """A security block with a well-formed signature of this key."""
    whole = subprocess.run([scene.lab.program("helio-bundle"), "sign", "--cose-key", key, "-"], input=bundle((9, 66), (2, 77), 0), stdout=subprocess.PIPE, timeout=60,
                           check=True).stdout
    return whole[whole.index(bytes([0x85, 11])):-1 - len(block(1, 1, b"x"))]


def run(scene):
    """Node 1's goodput to node 2 over LTP, beside the flood at node 2, and beside the same flood at node 3, which costs this machine as much."""
    for algorithm in ALGORITHMS:
        folder, key = make_keys(scene, algorithm)
        p1, p2, *entries = scene.ports(4)
        rule = RULE.format(folder=folder)
        inbound = [{"name": "in", "adapter": "tcpcl", "peer": "ipn:9.0", "local": f"127.0.0.1:{port}", "tls": "off"} for port in entries]
        scene.node(1, [scene.link(2, p1, p2, **KEYS)])
        node = scene.node(2, [scene.link(1, p2, p1, **KEYS), inbound[0]], extra=rule)
        scene.node(3, [inbound[1]], extra=rule)
        scene.receiver(2)
        false = forge(scene, key)
        ready = [segment(k, bundle((9, 66), (2, 77), k, blocks=false)) for k in range(READY)]

        def attacker(port, ready=ready):
            around = itertools.cycle(ready)

            def go(until):
                os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
                flood(port, until, lambda: b"".join(itertools.islice(around, BATCH)), name="ipn:9.0")
            return go

        before = scene.goodput(1, 2)
        with scene.attack(attacker(entries[1]), name=f"{algorithm}, beside"):
            beside = scene.goodput(1, 2)
        with scene.attack(attacker(entries[0]), name=algorithm):
            during = scene.goodput(1, 2)
        failed = scene.control(2, "security")["security"]["failed"]
        scene.figure(algorithm, {"before": before, "flood beside": beside, "during": during, "failed": failed})
        scene.took_place(f"signatures that failed, {algorithm}", sum(failed.values()), LEAST)
        scene.bound(f"goodput kept, {algorithm}", round(during / min(before, beside), 4), ">=", 0.4)
        scene.recovery(lambda: scene.goodput(1, 2), before, algorithm)
        scene.bound(f"RSS, MiB, {algorithm}", scene.rss_peak(node), "<=", 1024 + 64)
        for number in (1, 2, 3):
            scene.end(number)


if __name__ == "__main__":
    main(run)
