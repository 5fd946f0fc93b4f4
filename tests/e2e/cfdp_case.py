# SPDX-License-Identifier: Apache-2.0
"""What tests of helio-cfdp share: daemons that can be killed, and a relay of UDP that loses datagrams."""
import json
import random
import select
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

HOST = "127.0.0.1"


class Relay(threading.Thread):
    """Two sockets: what one side sends to its socket leaves from the other one, unless it is lost."""

    def __init__(self, loss=0.0, seed=1):
        super().__init__(daemon=True)
        self.sides = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for side in self.sides:
            side.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            side.bind((HOST, 0))
        self.ports = [side.getsockname()[1] for side in self.sides]
        self.to = [None, None]  # where each side sends to: (host, port) of the program there
        self.loss, self.rng, self.down, self.over = loss, random.Random(seed), False, False
        self.passed = self.lost = 0

    def run(self):
        while not self.over:
            for side in select.select(self.sides, [], [], 0.1)[0]:
                datagram = side.recv(65536)
                if self.down or self.rng.random() < self.loss:
                    self.lost += 1
                    continue
                self.passed += 1
                other = 1 - self.sides.index(side)
                self.sides[other].sendto(datagram, self.to[other])

    def close(self):
        self.over = True
        if self.is_alive():
            self.join(10)
        for side in self.sides:
            side.close()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


def wait_until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


class Entity:
    """A helio-cfdp daemon with its folder."""

    def __init__(self, program, folder, entity, listen=None, **more):
        self.program, self.folder, self.entity = Path(program), Path(folder) / f"entity{entity}", entity
        self.port, self.process, self.remotes = listen or free_port(), None, []
        self.root = self.folder / "root"
        self.root.mkdir(parents=True)
        self.control = self.folder / "control.sock"
        self.top = {"entity": entity, "root": str(self.root), "control": str(self.control), "listen": f"{HOST}:{self.port}", **more}

    def add(self, entity, port=None, **keys):
        where = {"address": f"{HOST}:{port}"} if port else {}
        self.remotes.append({"entity": entity, **where, "ack_timer": "500ms", "nak_timer": "500ms", "check_timer": "500ms",
                             "ack_limit": 60, "nak_limit": 60, **keys})

    def write(self):
        """The configuration; its path."""
        lines = [f"{k}: {v}" for k, v in self.top.items() if v is not None] + ["remotes:"]
        for remote in self.remotes:
            lines += [("  - " if i == 0 else "    ") + f"{k}: {v}" for i, (k, v) in enumerate(remote.items())]
        config = self.folder / "config.yaml"
        config.write_text("\n".join(lines) + "\n")
        return config

    def start(self):
        config = self.write()
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([self.program, "daemon", str(config)], stderr=log)
        wait_until(lambda: self.ask("status").returncode == 0)

    def number_from(self, first):
        """Before the first start: transaction numbers begin with this one, and not with the seconds of the clock."""
        state = self.root / ".helio-cfdp"
        state.mkdir(0o700)
        (state / "sequence").write_text(f"{first}\n")

    def ask(self, command, *words, timeout=600):
        return subprocess.run([self.program, command, "--control", self.control, *map(str, words)], capture_output=True, text=True, timeout=timeout)

    def popen(self, command, *words):
        return subprocess.Popen([self.program, command, "--control", self.control, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def begin(self, command, *words):
        out = self.ask(command, "--no-wait", *words)
        assert out.returncode == 0, out.stderr
        return out.stdout.strip()

    def status(self):
        return json.loads(self.ask("status", "--json").stdout)

    def idle(self):
        return not self.status()["transactions"]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)

    def left(self):
        """What is in the state folder beside its lock, its number and results."""
        return sorted(p.name for p in (self.root / ".helio-cfdp").iterdir() if p.name not in ("lock", "sequence", "past"))


class Peer:
    """A remote entity that says what a test wants: PDUs with entity ids of one octet."""

    def __init__(self, entity, ours, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((HOST, 0))
        self.socket.settimeout(20)
        self.port, self.entity, self.to, self.ours = self.socket.getsockname()[1], entity, (HOST, port), ours

    def read(self, kind):
        """The transaction number and the directive's octets, of the next one of this kind."""
        while True:
            pdu = self.socket.recv(65536)
            ids, numbers = (pdu[3] >> 4 & 7) + 1, (pdu[3] & 7) + 1
            head = 4 + 2 * ids + numbers
            if not pdu[0] & 0x10 and pdu[head] == kind:
                return int.from_bytes(pdu[4 + ids:4 + ids + numbers], "big"), pdu[head + 1:]

    def send(self, number, octets, answer=False, class_1=False):
        ids = (self.ours, self.entity) if answer else (self.entity, self.ours)
        flags = 0x20 | (8 if answer else 0) | (4 if class_1 else 0)
        head = bytes([flags]) + len(octets).to_bytes(2, "big") + b"\x03" + bytes([ids[0]]) + number.to_bytes(4, "big") + bytes([ids[1]])
        self.socket.sendto(head + octets, self.to)

    def finish(self, number, condition=0, incomplete=0, status=2):
        self.send(number, bytes([6, 4 << 4, 1]), answer=True)  # ACK of EOF
        self.send(number, bytes([5, condition << 4 | incomplete << 2 | status]), answer=True)

    def metadata(self, number, name, *messages):
        """Of a class 1 file without octets, and its EOF."""
        name = name.encode()
        lv = bytes([len(name)]) + name
        options = b"".join(b"\x02" + bytes([len(m) + 4]) + b"cfdp" + m for m in messages)
        self.send(number, b"\x07\x0f" + bytes(4) + lv + lv + options, class_1=True)
        self.send(number, b"\x04" + bytes(9), class_1=True)


def origin(entity, number):
    """The message "originating transaction id"."""
    return bytes([10, 3, entity]) + number.to_bytes(4, "big")


class CfdpCase(unittest.TestCase):
    PROGRAM = OUT = None

    def setUp(self):
        self.folder = Path(self.OUT) / self.id().split(".")[-1]
        subprocess.run(["rm", "-rf", self.folder], check=True)
        self.folder.mkdir(parents=True)

    def entity(self, number, **more):
        entity = Entity(self.PROGRAM, self.folder, number, **more)
        self.addCleanup(entity.stop)
        return entity

    def relay(self, **more):
        relay = Relay(**more)
        self.addCleanup(relay.close)
        return relay

    def write(self, path, size, seed=1):
        path.write_bytes(random.Random(seed).randbytes(size))
        return path.read_bytes()
