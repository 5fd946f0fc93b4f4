# SPDX-License-Identifier: Apache-2.0
"""Nodes for security_claims.py, and what asks them: the control socket, TCPCL, UDP, HTTP. Each check has addresses of its own."""
import contextlib
import ctypes
import ctypes.util
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time

from heliograph import link_keys
from security import wire

CLONE_NEWNET = 0x40000000
_place = itertools.count(1)
_running = []
bin_dir = None


def leave_network():
    """Into a network namespace of this process's own, which ends with it."""
    libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    for words in (("link", "set", "lo", "up"), ("address", "add", "192.0.2.1/24", "dev", "lo"), ("address", "add", "192.0.2.2/24", "dev", "lo")):
        subprocess.run(["ip", *words], check=True)


class Hosts:
    """Addresses 127.N.*.* of one check: node() is the node's, other(k) are its neighbours'."""
    def __init__(self):
        self.n = next(_place)
        self.folder = tempfile.mkdtemp(prefix="security-")
        os.chmod(self.folder, 0o755)

    def node(self):
        return f"127.{self.n}.0.1"

    def other(self, k):
        return f"127.{self.n}.{k // 250}.{2 + k % 250}"

    def path(self, name):
        return os.path.join(self.folder, name)


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)


def grouped(config):
    """A configuration whose links have their keys in groups (heliograph/link_keys.py)."""
    links = [link_keys.grouped(link, os.path.join(bin_dir, "heliod")) for link in config.get("links", ())]
    return {**config, **({"links": links} if links else {})}


class Node:
    """heliod with a configuration in JSON, which is YAML. A context: the node ends with it."""
    def __init__(self, hosts, keys, name="node", umask=0o022, prefix=(), wait=True):
        self.hosts, self.name = hosts, name
        self.socket = hosts.path(name + ".sock")
        self.config = grouped({"node": "ipn:1.0", "socket": self.socket, "store": {"durability": "none"}, **keys})
        self.file = hosts.path(name + ".yaml")
        pathlib.Path(self.file).write_text(json.dumps(self.config, ensure_ascii=False), encoding="utf-8")
        os.chmod(self.file, 0o640)
        self.log_file = hosts.path(name + ".log")
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen([*prefix, os.path.join(bin_dir, "heliod"), self.file], stderr=log, stdin=subprocess.DEVNULL, umask=umask)
        _running.append(self.process)
        if wait and not until(lambda: self.process.poll() is not None or self.answers()):
            raise RuntimeError(f"{name} does not answer: {self.log()}")
        if wait and self.process.poll() is not None:
            raise RuntimeError(f"{name} ended with {self.process.poll()}: {self.log()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

    def answers(self):
        with contextlib.suppress(OSError, ValueError):
            return self.ask("status")["ok"]
        return False

    def ask(self, cmd, **more):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20)
            s.connect(self.socket + ".ctl")
            s.sendall(json.dumps({"cmd": cmd, **more}).encode() + b"\n")
            return json.loads(s.makefile("rb").readline())

    def link(self, name):
        return next(link for link in self.ask("links")["links"] if link["name"] == name)

    def log(self):
        return pathlib.Path(self.log_file).read_bytes()

    def anonymous_kib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
        return 0


class Most:
    """The most that a figure was while the context lasted."""
    def __init__(self, ask):
        self.ask, self.most, self.over = ask, 0, threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over.wait(0.02):
            with contextlib.suppress(OSError):
                self.most = max(self.most, self.ask())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Peer:
    """One end of a TCPCL session."""
    def __init__(self, to, source=None, node="ipn:2.0", keepalive=0, mru=1 << 40, tls=None):
        self.octets, self.ended = b"", False
        self.got = []
        self.s = socket.socket()
        self.s.settimeout(20)
        if source:
            self.s.bind((source, 0))
        self.s.connect((to, 4556))
        self.send(wire.contact(tls is not None))
        if tls:
            self.skip_contact()
            try:
                self.s = tls.wrap_socket(self.s)
            except OSError:
                self.ended = True
        self.send(wire.sess_init(node, keepalive, mru))
        if not tls:
            self.skip_contact()
        self.established = bool(self.wait(lambda m: m[0] in (wire.SESS_INIT, wire.SESS_TERM))) and self.got[0][0] == wire.SESS_INIT

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.s.close()

    def skip_contact(self):
        while len(self.octets) < 6 and not self.ended:
            self.take(20)
        self.octets = self.octets[6:]

    def send(self, octets):
        with contextlib.suppress(OSError):
            self.s.sendall(octets)

    def take(self, seconds):
        self.s.settimeout(max(seconds, 0.001))
        try:
            more = self.s.recv(1 << 18)
            self.ended = not more
            self.octets += more
        except TimeoutError:
            pass
        except OSError:
            self.ended = True
        finally:
            self.s.settimeout(20)

    def wait(self, fits, seconds=20):
        """The first message from now on that fits; None: the session or the time ended before."""
        end = time.monotonic() + seconds
        while True:
            new, used = wire.messages(self.octets)
            self.octets = self.octets[used:]
            self.got += new
            for message in new:
                if fits(message):
                    return message
            if self.ended or time.monotonic() > end:
                return None
            self.take(end - time.monotonic())

    def outcome(self, number, seconds=20):
        """What became of a transfer, in words."""
        def over(m):
            return m[0] == wire.XFER_REFUSE and m[2] == number or m[0] == wire.XFER_ACK and m[2] == number and m[1] & wire.END or m[0] == wire.SESS_TERM
        earlier = [m for m in self.got if over(m)]
        message = earlier[0] if earlier else self.wait(over, seconds)
        if not message:
            return "ended" if self.ended else "nothing"
        if message[0] == wire.XFER_ACK:
            return "acknowledged"
        return wire.REFUSE[message[1]] if message[0] == wire.XFER_REFUSE else "session ended: " + wire.TERM[message[2]]

    def end_reason(self, seconds=20):
        """Why the node ended the session."""
        terms = [m for m in self.got if m[0] == wire.SESS_TERM]
        message = terms[0] if terms else self.wait(lambda m: m[0] == wire.SESS_TERM, seconds)
        return wire.TERM.get(message[2], message[2]) if message else "ended" if self.ended else "goes on"


def udp(source, port=1113):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.bind((source, port))
    s.settimeout(0.2)
    return s


def drain(s, seconds):
    """The datagrams that come within that time."""
    out, end = [], time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        s.settimeout(left)
        try:
            out.append(s.recv(65536))
        except (TimeoutError, BlockingIOError):
            break
        except ConnectionError:
            continue
    return out


def http(address, port, request, seconds=10):
    """The answer to a request that is given as octets: its status, and the body."""
    with socket.create_connection((address, port), seconds) as s:
        s.sendall(request)
        answer = b""
        with contextlib.suppress(OSError):
            while more := s.recv(1 << 16):
                answer += more
                head, split, body = answer.partition(b"\r\n\r\n")
                size = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                if split and size and len(body) >= int(size[0].split(b":")[1]):
                    break
    return (int(answer.split()[1]) if answer.startswith(b"HTTP/") else 0), answer.partition(b"\r\n\r\n")[2]


def end_all():
    for process in _running:
        if process.poll() is None:
            process.kill()
            process.wait()
