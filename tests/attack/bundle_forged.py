# SPDX-License-Identifier: Apache-2.0
"""Forged bundles of six kinds for a node whose policy wants signatures: none is accepted, reported or displaces a true one."""
import os
import secrets
import socket
import subprocess
import time

from attack import main
from udpcl_test import NOW, parse

COUNT = 50  # bundles of each kind
ASKS = "report-reception,report-delivery,report-deletion"
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
POLICY = "security_keys: {folder}\nsecurity:\n  - {{role: {role}, from: \"ipn:1.*\", to: \"ipn:2.*\", context: bib-hmac-sha2, key: link}}\n"


def private(path):
    return open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600))


def items(data):
    """Primary block, security block and payload block of a bundle, as bytes."""
    at, out = 1, []
    while data[at] != 0xFF:
        _, end = parse(data, at)
        out.append(data[at:end])
        at = end
    return out


def bundle_of(*parts):
    return b"\x9f" + b"".join(parts) + b"\xff"


class Forger:
    def __init__(self, scene, secret):
        self.program = scene.lab.program("helio-bundle")
        self.right, self.wrong = scene.lab.path("right.key"), scene.lab.path("wrong.key")
        for path, text in ((self.right, secret), (self.wrong, secrets.token_hex(48))):
            with private(path) as f:
                f.write(text + "\n")

    def tool(self, *words, data=b""):
        return subprocess.run([self.program, *words], input=data, capture_output=True, timeout=60, check=True).stdout

    def make(self, number, text):
        return self.tool("make", "-s", "ipn:1.7", "-d", "ipn:2.77", "-r", "ipn:1.6", "-f", ASKS, "--text", text, "--time", str(NOW), "--sequence", str(number))

    def sign(self, data, key):
        return self.tool("sign", "-k", key, "-t", "payload", "-", data=data)

    def missing(self, i):
        return self.make(1000 + i, f"forged {i}")

    def wrong_key(self, i):
        return self.sign(self.make(2000 + i, f"forged {i}"), self.wrong)

    def changed_payload(self, i):
        return self.sign(self.make(3000 + i, f"a true {i:04}"), self.right).replace(b"a true", b"forged")

    def changed_primary(self, i):
        """The signature and the payload are those of a true bundle; the id is another one."""
        true = items(self.sign(self.make(4000 + i, f"true {i}"), self.right))
        return bundle_of(items(self.make(4500 + i, "x"))[0], *true[1:])

    def copied(self, i):
        """The signature is that of another bundle, primary block and payload are the forger's."""
        true = items(self.sign(self.make(5000 + i, f"true {i}"), self.right))
        own = items(self.make(5500 + i, f"forged {i}"))
        return bundle_of(own[0], true[1], own[1])

    def ahead(self, i):
        """The id of a true bundle that is still on its way."""
        return self.sign(self.make(6000 + i, f"forged {i}"), self.wrong)

    def true(self, i):
        return self.sign(self.make(6000 + i, f"true {i}"), self.right)


def run(scene):
    """Node 1 signs its bundles for node 2. An outsider, who can send to a UDP link of node 2, forges bundles of node 1."""
    p1, p2, udp = scene.ports(3)
    secret = secrets.token_hex(48)
    folder = scene.lab.path("keys")
    os.mkdir(folder, 0o700)
    with private(os.path.join(folder, "link")) as f:
        f.write(f"id: link\nalgorithm: hmac-sha-384\nkey: {secret}\n")
    outsider = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    outsider.bind(("127.0.0.1", 0))
    outsider.settimeout(0.5)
    other = {"name": "in", "adapter": "udp", "peer": "ipn:9.0", "local": f"\"127.0.0.1:{udp}\"", "remote": f"\"127.0.0.1:{outsider.getsockname()[1]}\""}
    reports = "bundles: {status_reports: yes}\nroutes: [{to: \"ipn:1.6\", via: in}]\n"
    scene.node(1, [scene.link(2, p1, p2, **KEYS)], extra=POLICY.format(folder=folder, role="source"))
    node = scene.node(2, [scene.link(1, p2, p1, **KEYS), other], extra=reports + POLICY.format(folder=folder, role="acceptor"))
    scene.receiver(2)

    def state():
        agent, security = scene.control(2, "counters")["agent"], scene.control(2, "security")["security"]
        return {"received": agent["received"], "delivered": agent["delivered"], "reports": agent["reports_sent"], "accepted": security["accepted"],
                **security["failed"]}

    def give(bundles):
        """What changed at the node meanwhile."""
        before = state()
        for data in bundles:
            outsider.sendto(data, ("127.0.0.1", udp))
            time.sleep(0.002)
        time.sleep(0.5)
        after = state()
        return {k: after[k] - before[k] for k in after if after[k] != before[k]}

    forger = Forger(scene, secret)
    kinds = {"missing": forger.missing, "wrong_key": forger.wrong_key, "changed_payload": forger.changed_payload,
             "changed_primary": forger.changed_primary, "copied": forger.copied, "ahead": forger.ahead}
    forged = {kind: [make(i) for i in range(COUNT)] for kind, make in kinds.items()}
    for kind, bundles in forged.items():
        reason = "missing" if kind == "missing" else "failed"
        changes = give(bundles)
        scene.figure(kind, dict(changes))
        scene.bound(f"{kind}: counted as {reason}", changes.pop(reason, 0), "==", COUNT)
        scene.bound(f"{kind}: accepted, delivered, reported", sum(changes.values()), "==", 0)
    everything = [data for bundles in forged.values() for data in bundles]

    def flood(until):
        while time.monotonic() < until:
            for data in everything:
                outsider.sendto(data, ("127.0.0.1", udp))

    phases = scene.phases(lambda: scene.goodput(1, 2), flood)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.4)
    total = state()
    scene.figure("dropped", {k: total[k] for k in ("missing", "failed")})
    true = give([forger.true(i) for i in range(COUNT)])
    scene.figure("true", true)
    scene.bound("true bundles that a forgery displaced", COUNT - true.get("received", 0), "==", 0)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
