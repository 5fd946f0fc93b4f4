# SPDX-License-Identifier: Apache-2.0
"""Security blocks that contradict each other, or belong to other bundles, by a neighbour with the key and by one without it."""
import itertools
import os
import secrets
import subprocess
import time

from attack import main
from bpsec_wire import MAC, asb, bcb, bib, signed
from bundle_wire import EPOCH, block, bundle
from tcpcl_wire import connect, flood, push, segment

COUNT = 100  # bundles of each kind, one kind after the other
BATCH = 64
BLOCKS, TARGETS = 58, 16  # at most 64 blocks; targets of one security block
KEYS = {"rate": "100Mbit/s", "sessions": 20, "rto": "100ms"}
POLICY = "security_keys: {folder}\nsecurity:\n  - {{role: {role}, from: 'ipn:[1,8-9].*', to: 'ipn:2.*', context: bib-hmac-sha2, key: link}}\n"
DECRYPTS = "  - {role: acceptor, from: 'ipn:7.*', to: 'ipn:2.*', context: bcb-aes-gcm, key: secret}\n"
LOG_LINES = 200


class Maker:
    """Bundles of each kind, by number; all of one incarnation have one creation time."""

    def __init__(self, key, encrypt):
        self.key, self.created = key, int((time.time() - EPOCH) * 1000)
        self.replayed = self.true(8, 999999)
        self.encrypted = encrypt(self.plain(7, 999999, b""))  # of node 7
        self.cipher = self.encrypted[self.encrypted.index(bytes([0x85, 12])):]  # its BCB and its payload

    def true(self, peer, number, **more):
        return signed(self.key, (peer, 66), (2, 77), number, created=self.created, **more)

    def plain(self, peer, number, blocks):
        return bundle((peer, 66), (2, 77), number, blocks=blocks, created=self.created)

    # Without the key

    def two_false(self, n):
        return self.plain(9, n, b"".join(bib(k, [1], (9, 0), [secrets.token_bytes(MAC)]) for k in (2, 3)))

    def many_targets(self, n):
        """58 BIBs of 16 targets each, nearly all of which are missing; the last has the payload, too."""
        no = bytes(MAC)
        return self.plain(9, n, b"".join(bib(2 + k, [*range(100, 99 + TARGETS), 1 if k == BLOCKS - 1 else 99], (9, 0), [no] * TARGETS) for k in range(BLOCKS)))

    def same_target_in_all(self, n):
        no = bytes(MAC)
        return self.plain(9, n, b"".join(bib(2 + k, [1, *range(100, 99 + TARGETS)], (9, 0), [no] * TARGETS) for k in range(BLOCKS)))

    def twice_in_one(self, n):
        return self.plain(9, n, bib(2, [1, 1], (9, 0), [bytes(MAC)] * 2))

    def same_number(self, n):
        return self.plain(9, n, bib(2, [1], (9, 0), [bytes(MAC)]) + bcb(2, [1], (9, 0), [bytes(16)]))

    def number_of_payload(self, n):
        return self.plain(9, n, bib(1, [1], (9, 0), [bytes(MAC)]))

    def encrypted_by_each_other(self, n):
        """The BCBs name each other, the BIB and the payload as targets."""
        return self.plain(9, n, bib(2, [1], (9, 0), [bytes(MAC)]) + bcb(3, [4, 2], (9, 0), [bytes(16)] * 2) + bcb(4, [3, 1], (9, 0), [bytes(16)] * 2))

    def copied_block(self, n):
        """The BIB of a true bundle in another bundle."""
        true = self.true(8, 888888)
        return self.plain(9, n, true[true.index(bytes([0x85, 11])):-1 - len(block(1, 1, b"x"))])

    def no_results(self, n):
        return self.plain(9, n, block(11, 2, asb([1], 1, (9, 0), [], [])))

    # Of node 7, whose bundles are encrypted; without its key

    def false_cipher(self, n):
        return self.plain(7, n, bcb(2, [1], (7, 0), [secrets.token_bytes(16)]))

    def two_ciphers(self, n):
        return self.plain(7, n, b"".join(bcb(k, [1], (7, 0), [bytes(16)]) for k in (2, 3)))

    def ciphers_of_each_other(self, n):
        return self.plain(7, n, bib(2, [1], (7, 0), [bytes(MAC)]) + bcb(3, [4, 2], (7, 0), [bytes(16)] * 2) + bcb(4, [3, 1], (7, 0), [bytes(16)] * 2))

    def cipher_of_itself(self, n):
        return self.plain(7, n, bcb(2, [2, 1], (7, 0), [bytes(16)] * 2))

    def cipher_of_primary(self, n):
        return self.plain(7, n, bcb(2, [0, 1], (7, 0), [bytes(16)] * 2))

    def many_ciphers(self, n):
        no = bytes(16)
        return self.plain(7, n, b"".join(bcb(2 + k, [*range(100, 99 + TARGETS), 1 if k == BLOCKS - 1 else 99], (7, 0), [no] * TARGETS) for k in range(BLOCKS)))

    def copied_cipher(self, n):
        """The BCB and the encrypted payload of a true bundle behind another primary block."""
        whole = self.plain(7, n, b"")
        return whole[:-1 - len(block(1, 1, b"x"))] + self.cipher

    # With the key

    def replayed_cipher(self, n):
        del n
        return self.encrypted

    def two_true(self, n):
        return self.true(8, n, copies=2)

    def true_and_false(self, n):
        return self.true(8, n, more=bib(9, [1], (8, 0), [bytes(MAC)]))

    def encrypted_by_none(self, n):
        """A true BIB, and a BCB that makes the payload look encrypted and the BIB as well."""
        return self.true(8, n, more=bcb(9, [2], (8, 0), [bytes(16)]))

    def replay(self, n):
        del n
        return self.replayed


FALSE = ("two_false", "many_targets", "same_target_in_all", "twice_in_one", "same_number", "number_of_payload", "encrypted_by_each_other", "copied_block",
         "no_results")
SECRET = ("false_cipher", "two_ciphers", "ciphers_of_each_other", "cipher_of_itself", "cipher_of_primary", "many_ciphers", "copied_cipher")
KEYED = ("two_true", "true_and_false", "encrypted_by_none")


def run(scene):
    """Node 1 signs its bundles for node 2; of two others one has the keys, too. Each floods node 2 with wrong security blocks and replays."""
    p1, p2, tcp = scene.ports(3)
    secret, hidden, folder = secrets.token_bytes(48), secrets.token_hex(32), scene.lab.path("keys")
    os.mkdir(folder, 0o700)
    for name, text in (("keys/link", f"id: link\nalgorithm: hmac-sha-384\nkey: {secret.hex()}\n"),
                       ("keys/secret", f"id: secret\nalgorithm: aes-256-gcm\nkey: {hidden}\n"), ("hidden", hidden + "\n")):
        with open(scene.lab.path(name), "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write(text)
    scene.node(1, [scene.link(2, p1, p2, **KEYS)], extra=POLICY.format(folder=folder, role="source"))
    entry = {"name": "in", "adapter": "tcpcl", "peer": "ipn:8.0", "local": f"127.0.0.1:{tcp}", "tls": "off", "peers": 8}
    node = scene.node(2, [scene.link(1, p2, p1, **KEYS), entry], extra=POLICY.format(folder=folder, role="acceptor") + DECRYPTS)
    scene.receiver(2)

    def encrypt(data):
        return subprocess.run([scene.lab.program("helio-bundle"), "encrypt", "-k", scene.lab.path("hidden"), "-"], input=data, stdout=subprocess.PIPE, timeout=60,
                              check=True).stdout

    maker = Maker(secret, encrypt)

    def state():
        agent, security = scene.control(2, "counters")["agent"], scene.control(2, "security")["security"]
        return {"received": agent["received"], "refused": sum(agent["refused"].values()), "accepted": security["accepted"],
                "failed": sum(security["failed"].values())}

    def give(name, bundles):
        """What changed at the node until it had answered all of them."""
        before, until = state(), time.monotonic() + 30
        session = connect(tcp, source="127.0.0.9", name=name)
        push(session, b"".join(segment(k, data) for k, data in enumerate(bundles)), time.monotonic() + 30)
        while (after := state())["received"] + after["refused"] < before["received"] + before["refused"] + len(bundles) and time.monotonic() < until:
            time.sleep(0.1)
        session.close()
        return {k: after[k] - before[k] for k in after if after[k] != before[k]}

    for kinds, name in ((FALSE, "ipn:9.0"), (SECRET, "ipn:9.0"), (KEYED, "ipn:8.0")):
        for first, kind in enumerate(kinds):
            changes = give(name, [getattr(maker, kind)(first * COUNT + k) for k in range(COUNT)])
            scene.figure(kind, changes)
            scene.bound(f"{kind}: refused", changes.get("refused", 0), "==", COUNT)
            scene.bound(f"{kind}: taken", changes.get("received", 0), "==", 0)
    for kind in ("replay", "replayed_cipher"):
        replays = give("ipn:8.0", [getattr(maker, kind)(k) for k in range(COUNT)])
        scene.figure(kind, replays)
        scene.bound(f"{kind}: taken", replays.get("received", 0), "==", 1)
        scene.bound(f"{kind}: failed operations", replays.get("failed", 0), "==", 0)

    def attacker(peer, kinds):
        ready = [segment(k, getattr(maker, kind)(k)) for kind in kinds for k in range(COUNT)]
        around = itertools.cycle(ready)

        def go(until):
            os.setpriority(os.PRIO_PROCESS, 0, 10)  # attackers have machines of their own
            flood(tcp, until, lambda: b"".join(itertools.islice(around, BATCH)), source=f"127.0.0.{peer}", name=f"ipn:{peer}.0")
        return go

    before, began = state(), time.monotonic()
    phases = scene.phases(lambda: scene.goodput(1, 2), attacker(9, FALSE + SECRET), attacker(8, (*KEYED, "replay", "replayed_cipher")))
    after, took = state(), time.monotonic() - began
    failed = after["failed"] - before["failed"]
    scene.figure("failed operations", failed)
    scene.figure("of them in a second, at least", round(failed / took))
    scene.bound("failed operations in the flood", failed, ">=", 1000)
    scene.bound("goodput kept", phases["during_ratio"], ">=", 0.4)
    true = give("ipn:8.0", [maker.true(8, k) for k in range(COUNT)])  # their ids are those of the false ones
    scene.figure("true", true)
    scene.bound("true bundles that a false one displaced", COUNT - true.get("received", 0), "==", 0)
    with open(scene.lab.path("node2.log"), encoding="utf-8") as f:
        scene.bound("lines of the log", len(f.readlines()), "<=", LOG_LINES)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run)
