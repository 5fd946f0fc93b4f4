# SPDX-License-Identifier: Apache-2.0
"""Testbeds of namespaces for tests: tools/testbed.sh with packet sockets in every place.

    with Bed(BIN, "--delay", "5ms") as bed:
        near, far = bed.raw("source"), bed.raw("destination")
        ...
        report = bed.stop()
"""
import collections
import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

from resting import rests, settle

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "testbed.sh")
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35
TP_STATUS_CSUMNOTREADY, TP_STATUS_VLAN_VALID = 1 << 3, 1 << 4
TEST_TYPE = 0x88B5  # for local experiments, IEEE 802


class Piece(ctypes.Structure):  # struct iovec
    _fields_ = [("base", ctypes.c_char_p), ("len", ctypes.c_size_t)]


class Head(ctypes.Structure):  # struct msghdr
    _fields_ = [("name", ctypes.c_void_p), ("name_len", ctypes.c_uint32), ("pieces", ctypes.POINTER(Piece)), ("count", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("control_len", ctypes.c_size_t), ("flags", ctypes.c_int)]


class Message(ctypes.Structure):  # struct mmsghdr
    _fields_ = [("head", Head), ("sent", ctypes.c_uint)]


Caught = collections.namedtuple("Caught", "frame wall_ns sum_missing")


def need_namespaces():
    """Ends the test at once where it cannot work: to be skipped without a word would look like success."""
    if os.geteuid() != 0:
        sys.exit("this test makes network namespaces and needs root; cmake -DHELIO_NAMESPACE_TESTS=OFF leaves it out")
    if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0:
        sys.exit("network namespaces are not permitted here; cmake -DHELIO_NAMESPACE_TESTS=OFF leaves this test out")


def frame(number, length=60, tags=(), ethertype=TEST_TYPE):
    """A numbered frame to nobody in particular; tags are (TPID, TCI), the outer first."""
    head = b"\x02\0\0\0\0\x02" + b"\x02\0\0\0\0\x01"
    for tpid, tci in tags:
        head += struct.pack("!HH", tpid, tci)
    head += struct.pack("!HI", ethertype, number)
    return head + bytes([number % 251]) * (length - len(head))


def number_of(data):
    return int.from_bytes(data[14:18], "big") if data[12:14] == TEST_TYPE.to_bytes(2, "big") else None


def is_test(data):
    return TEST_TYPE.to_bytes(2, "big") in (data[12:14], data[16:18], data[20:22])


class Raw:
    """A packet socket; frames come with the kernel's stamp and the VLAN tag in its place."""

    def __init__(self, interface):
        self.s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self.s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.s.bind((interface, ETH_P_ALL))
        self.waits = lambda: False  # whether there may be more to come, though nothing comes

    def send(self, data):
        self.s.send(data)

    def send_at_once(self, frames):
        """By one call of the kernel: they follow each other closely on any machine."""
        messages = (Message * len(frames))()
        for m, data in zip(messages, frames):
            m.head.pieces, m.head.count = ctypes.pointer(Piece(data, len(data))), 1
        sent = LIBC.sendmmsg(self.s.fileno(), messages, len(frames), 0)
        assert sent == len(frames), (sent, os.strerror(ctypes.get_errno()))

    def receive(self, timeout):
        self.s.settimeout(timeout)
        data, control, _, _ = self.s.recvmsg(70000, 256)
        wall = missing = 0
        for level, kind, value in control:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, ns = struct.unpack("qq", value)
                wall = seconds * 10**9 + ns
            elif (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", value)
                missing = status & TP_STATUS_CSUMNOTREADY
                if status & TP_STATUS_VLAN_VALID:
                    data = data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
        return Caught(data, wall, bool(missing))

    def all(self, quiet=0.5, wanted=is_test, limit=50_000):
        """All frames until nothing came for `quiet` seconds, and the bridge has nothing to do."""
        got = []
        for _ in range(limit):
            try:
                c = self.receive(quiet)
            except TimeoutError:
                if self.waits():
                    continue
                return got
            if wanted(c.frame):
                got.append(c)
        raise AssertionError(f"more than {limit} frames: they go round")


class Bed:
    count = 0

    def __init__(self, programs, *options, up=()):
        Bed.count += 1
        self.programs = programs
        self.name = f"t{os.getpid()}-{Bed.count}"
        self.here = f"/run/helio-testbed/{self.name}"
        self.options, self.up, self.sockets = options, up, []

    def __enter__(self):
        self.script("up", "--bin", self.programs, *self.up, self.name, "--", *self.options)
        return self

    def __exit__(self, *_):
        for raw in self.sockets:
            raw.s.close()
        self.script("down", self.name)

    @staticmethod
    def script(*arguments, check=True):
        done = subprocess.run([SCRIPT, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        if check and done.returncode != 0:
            raise AssertionError(f"testbed.sh {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def space(self, place):
        return f"helio-{self.name}-{place}"

    def inside(self, place, *command):
        return ["ip", "netns", "exec", self.space(place), *command]

    def run(self, place, *command, check=True, timeout=300):
        done = subprocess.run(self.inside(place, *command), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start(self, place, *command, **keys):
        return subprocess.Popen(self.inside(place, *command), stdin=subprocess.DEVNULL, text=True, **keys)

    def enter(self, place, make):
        """What `make` makes is made in that namespace, and stays there."""
        home, there = os.open("/proc/thread-self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{self.space(place)}", os.O_RDONLY)
        try:
            assert LIBC.setns(there, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            return make()
        finally:
            assert LIBC.setns(home, CLONE_NEWNET) == 0
            os.close(home)
            os.close(there)

    def raw(self, place, interface="link0"):
        raw = self.enter(place, lambda: Raw(interface))
        raw.waits = self.busy
        self.sockets.append(raw)
        return raw

    def pid(self):
        with open(f"{self.here}/bridge.pid") as f:
            return int(f.read().split()[0])

    def log(self):
        with open(f"{self.here}/bridge.log") as f:
            return f.read()

    def running(self):
        try:
            with open(f"/proc/{self.pid()}/stat") as f:
                return f.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def busy(self):
        """The bridge is stopped, or waits for a processor."""
        try:
            return not rests(self.pid())
        except FileNotFoundError:
            return False

    def settle(self, seconds=0.3):
        """The bridge has done what came until now."""
        settle(self.pid(), seconds)

    def wait_for(self, true, what):
        until = time.monotonic() + 300
        while not true():
            assert time.monotonic() < until, f"{what}: {self.log()}"
            time.sleep(0.02)

    def wait_end(self, seconds=300):
        until = time.monotonic() + seconds
        while self.running():
            assert time.monotonic() < until, f"the bridge does not end: {self.log()}"
            time.sleep(0.01)

    def report(self):
        with open(f"{self.here}/bridge.json") as f:
            return json.load(f)

    def stop(self, sig=signal.SIGINT):
        """Ends the bridge; its counters, which must add up."""
        os.kill(self.pid(), sig)
        self.wait_end()
        report = self.report()
        for way in ("forward", "return"):
            c = report[way]
            assert c["in"] + c["duplicated"] == c["out"] + sum(c["dropped"].values()) + c["queued"], c
        return report
