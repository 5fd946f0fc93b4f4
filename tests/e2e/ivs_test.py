# SPDX-License-Identifier: Apache-2.0
"""No initialization vector of a node is used twice: every encrypted bundle that leaves it is read, over many stops and kills.

usage: ivs_test.py BIN OUT [--count N] [--lives N] [--seed N]

A node encrypts an application's bundles for a neighbour, which is this test's socket. It is stopped or killed in the middle, at random, and
started again with its store, until N bundles with different IVs were read. An IV comes again only with the same octets: a killed node
sends what it had sent, but not yet removed from its store. Exit code 0: that is so."""
import argparse
import contextlib
import hashlib
import os
import pathlib
import random
import secrets
import shutil
import signal
import socket
import threading
import time

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402

IV_HEAD = b"\x82\x01\x4c"  # parameter 1 of BCB-AES-GCM: 12 octets
POLICY = "security_keys: {}\nsecurity:\n  - {{role: source, to: 'ipn:2.*', context: bcb-aes-gcm, key: k}}\n"


class Reader(threading.Thread):
    """The IVs of all datagrams, with a digest of what each came with."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
        self.socket.bind(("127.0.0.1", 0))
        self.seen, self.again, self.wrong, self.plain = {}, 0, [], 0

    def run(self):
        while True:
            data = self.socket.recv(65536)
            at = data.find(IV_HEAD)
            if at < 0:
                self.plain += 1
                continue
            iv = data[at + 3:at + 15]
            digest = hashlib.blake2b(data, digest_size=8).digest()
            before = self.seen.setdefault(iv, digest)
            if before is digest:
                continue
            self.again += 1
            if before != digest:
                self.wrong.append(iv.hex())


def write_key(folder):
    os.makedirs(folder, mode=0o700)
    with open(os.path.join(folder, "k"), "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        f.write(f"id: k\nalgorithm: aes-256-gcm\nkey: {secrets.token_hex(32)}\n")


def send_all(path):
    """As many bundles as the node takes, until it ends."""
    with contextlib.suppress(OSError, EOFError):
        client = aap2.Client(path)
        client.configure("ipn:1.5")
        answers = threading.Thread(target=lambda: drain(client.s), daemon=True)
        answers.start()
        many = aap2.adu("ipn:2.7", b"0123456789abcdef") * 100
        while True:
            client.s.sendall(many)


def drain(sock):
    with contextlib.suppress(OSError):
        while sock.recv(1 << 16):
            pass


def live(lab, config, name, kill, seconds):
    """One run of the node."""
    node = lab.start_node(1, config)
    sender = threading.Thread(target=send_all, args=(lab.socket(1),), daemon=True)
    sender.start()
    time.sleep(seconds)
    node.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
    code = node.wait(120)
    sender.join(120)
    if code != (-signal.SIGKILL if kill else 0):
        raise SystemExit(f"ivs_test: the node ended with {code} in {name}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("out")
    p.add_argument("--count", type=int, default=1000000, help="different IVs (1000000)")
    p.add_argument("--lives", type=int, default=20, help="runs of the node, at least (20)")
    p.add_argument("--seed", type=int, default=1, help="of the moments of its ends (1)")
    options = p.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    random_times, reader = random.Random(options.seed), Reader()
    reader.start()
    with Lab(options.bin, options.out) as lab:
        write_key(lab.path("keys"))
        port, there = lab.udp_ports(1)[0], reader.socket.getsockname()[1]
        link = {"name": "to-2", "adapter": "udp", "peer": "ipn:2.0", "local": f"\"127.0.0.1:{port}\"", "remote": f"\"127.0.0.1:{there}\"",
                "rate": "200Mbit/s"}
        config = lab.write_node(1, [link], log=False, store=f"{{path: {lab.path('store')}, durability: async}}", extra=POLICY.format(lab.path("keys")))
        lives = kills = 0
        while lives < options.lives or len(reader.seen) < options.count:
            before, kill = len(reader.seen), random_times.random() < 0.5
            live(lab, config, f"run {lives} of seed {options.seed}", kill, random_times.uniform(0.2, 3 * options.count / options.lives / 20000))
            lives, kills = lives + 1, kills + kill
            if lives > 50 * options.lives and len(reader.seen) == before:
                raise SystemExit(f"ivs_test: after {lives} runs only {before} bundles came")
        time.sleep(1)
        log = pathlib.Path(lab.path("node1.log")).read_text(encoding="utf-8")
    print(f"{len(reader.seen)} IVs in {lives} runs of the node, {kills} of which were killed; {reader.again - len(reader.wrong)} came again with the same octets, "
          f"{len(reader.wrong)} with others; {reader.plain} bundles were not encrypted")
    if reader.wrong or reader.plain:
        raise SystemExit(f"ivs_test: used twice: {reader.wrong[:5]}; seed {options.seed}; end of the log: {log[-2000:]}")


if __name__ == "__main__":
    main()
