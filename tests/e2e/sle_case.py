# SPDX-License-Identifier: Apache-2.0
"""What tests of helio-sle share: a provider from a configuration, users, and a client that speaks octets."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import _paths  # noqa: F401
from heliograph import ports  # noqa: E402
from heliograph.processes import private  # noqa: E402

RAF = "sagr=1.spack=1.rsl-fg=1.raf=onlc1"
PASSWORD = {"CENTRE": "00112233445566778899", "STATION": "aabbccddeeff"}


def free_port():
    return ports.free_ports(1)[0]


class SleCase(unittest.TestCase):
    BIN = ""

    def setUp(self):
        self.out = tempfile.mkdtemp(prefix="sle")
        self.port = free_port()
        self.running = []

    def tearDown(self):
        for p in self.running:
            if p.poll() is None:
                p.kill()
                p.wait()
        shutil.rmtree(self.out)

    def path(self, name):
        return os.path.join(self.out, name)

    def provider(self, text, level="none", hash="by-version"):
        """Starts one; text is its sources and instances. Returns when it listens."""
        with open(self.path("station.yaml"), "w", opener=private) as f:
            f.write(f"id: STATION\nlisten: 127.0.0.1:{self.port}\npassword: '{PASSWORD['STATION']}'\n"
                    f"status: {self.path('status')}\n"
                    f"users:\n  - {{id: CENTRE, password: '{PASSWORD['CENTRE']}', authentication: {level}, hash: {hash}}}\n" + text)
        with open(self.path("station.log"), "w") as log:
            p = subprocess.Popen([os.path.join(self.BIN, "helio-sle"), "provider", self.path("station.yaml")], stderr=log)
        self.running.append(p)
        self.until(lambda: "listens at" in self.said() or p.poll() is not None, "the provider does not listen")
        self.assertIsNone(p.poll(), self.said())
        self.station = p
        return p

    def said(self):
        with open(self.path("station.log")) as f:
            return f.read()

    def until(self, true, what, seconds=300):
        deadline = time.monotonic() + seconds
        while not true():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def stop(self):
        self.station.send_signal(signal.SIGTERM)
        self.assertEqual(self.station.wait(300), 0, self.said())

    def password_file(self, name, password):
        path = self.path(f"{name}-{password}")
        if not os.path.exists(path):  # a user that was started before may be reading it
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as f:
                f.write(password + "\n")
        return path

    def user_command(self, instance, *options, level="none", hash="by-version", password=None):
        return [os.path.join(self.BIN, "helio-sle"), "user", f"127.0.0.1:{self.port}", "--id", "CENTRE", "--responder", "STATION",
                "--instance", instance, "--json", "--authentication", level, "--hash", hash,
                "--password-file", self.password_file("centre", password or PASSWORD["CENTRE"]),
                "--responder-password-file", self.password_file("station", PASSWORD["STATION"]), *options]

    def user(self, instance, *options, code=0, **more):
        r = subprocess.run(self.user_command(instance, *options, **more), capture_output=True, text=True, timeout=300)
        self.assertEqual(r.returncode, code, r.stderr + r.stdout + self.said())
        return json.loads(r.stdout)["associations"][0] if r.stdout else r.stderr

    def status(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path("status"))
            return json.load(s.makefile())

    def raw(self):
        return Raw(self.port)


class Raw:
    """A client that says what a test wants to be said, right or wrong."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(300)

    def send(self, octets):
        self.socket.sendall(octets)

    def context(self, protocol=b"ISP1", version=1, heartbeat=30, dead=3):
        self.send(b"\2\0\0\0\0\0\0\x0c" + protocol + b"\0\0\0" + bytes([version]) + struct.pack(">HH", heartbeat, dead))

    def pdu(self, body):
        self.send(b"\1\0\0\0" + struct.pack(">I", len(body)) + body)

    @staticmethod
    def tlv(tag, *parts):
        body = b"".join(parts)
        n = len(body)
        length = bytes([n]) if n < 128 else bytes([0x81, n]) if n < 256 else b"\x82" + struct.pack(">H", n)
        return bytes.fromhex(tag) + length + body

    def bind(self, instance=RAF, version=4, service=0, initiator=b"CENTRE"):
        oids = {"sagr": 52, "spack": 53, "rsl-fg": 38, "fsl-fg": 14, "raf": 22, "rcf": 46, "rocf": 49, "cltu": 7}
        parts = [self.tlv("31", self.tlv("30", bytes.fromhex("06072b7004030102") + bytes([oids[k]]), self.tlv("1a", v.encode())))
                 for k, v in (p.split("=") for p in instance.split("."))]
        self.pdu(self.tlv("bf64", b"\x80\0", self.tlv("1a", initiator), self.tlv("1a", b"PORT1"), self.tlv("02", bytes([service])),
                          self.tlv("02", bytes([version])), self.tlv("30", *parts)))

    def rest(self):
        """All until the end, and the urgent octet, if one came."""
        got, urgent = b"", None
        while True:
            try:
                urgent = self.socket.recv(1, socket.MSG_OOB)[0]
            except OSError:
                pass
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                return got, urgent, "reset"
            if not more:
                return got, urgent, "end"
            got += more

    def close(self):
        self.socket.close()
