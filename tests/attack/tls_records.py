# SPDX-License-Identifier: Apache-2.0
"""Records that TLS itself answers or drops, in established sessions: changes of keys (RFC 8446 4.6.3), requests for a new handshake, records of one octet."""
import ctypes
import ctypes.util
import os
import select
import socket
import time

from attack import cpu_seconds, drain, main
from certificates import NODE, Authority
from tcpcl_wire import init, segment
from tls_handshakes import HONEST, rate

PEERS = 2
BATCH = 512  # records in one write
REQUESTED, NOT_REQUESTED = 1, 0
VERSION_12, SET_MIN, SET_MAX = 0x0303, 123, 124


def library():
    """OpenSSL's functions that Python's ssl does not have."""
    x = ctypes.CDLL(ctypes.util.find_library("ssl"))
    for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new", "BIO_new", "BIO_s_mem"):
        getattr(x, name).restype = ctypes.c_void_p
    x.BIO_ctrl.restype = x.SSL_CTX_ctrl.restype = ctypes.c_long
    return x


class Session:
    """A TLS client over a socket, whose records lie in memory until they are sent all at once."""

    def __init__(self, port, source, keys, most=0):
        self.x = x = library()
        context = ctypes.c_void_p(x.SSL_CTX_new(ctypes.c_void_p(x.TLS_client_method())))
        if most:
            x.SSL_CTX_ctrl(context, SET_MAX, ctypes.c_long(most), None)
        assert x.SSL_CTX_use_certificate_file(context, keys["tls.certificate"].encode(), 1) == 1
        assert x.SSL_CTX_use_PrivateKey_file(context, keys["tls.key"].encode(), 1) == 1
        self.ssl = ctypes.c_void_p(x.SSL_new(context))
        self.read, self.written = (ctypes.c_void_p(x.BIO_new(ctypes.c_void_p(x.BIO_s_mem()))) for _ in range(2))
        x.SSL_set_bio(self.ssl, self.read, self.written)
        x.SSL_set_connect_state(self.ssl)
        self.s = socket.socket()
        self.s.bind((source, 0))
        self.s.settimeout(5)
        self.s.connect(("127.0.0.1", port))
        self.s.sendall(b"dtn!\x04\x01")
        assert self.s.recv(6, socket.MSG_WAITALL)[:4] == b"dtn!"
        while x.SSL_do_handshake(self.ssl) != 1:
            self.s.sendall(self.records())
            got = self.s.recv(1 << 16)
            if not got:
                raise ConnectionError("no handshake")
            x.BIO_write(self.read, got, len(got))
        self.s.sendall(self.records())

    def records(self):
        """Those that were made since the last call."""
        room = ctypes.create_string_buffer(1 << 20)
        n = self.x.BIO_read(self.written, room, len(room))
        return room.raw[:n] if n > 0 else b""

    def write(self, data):
        assert self.x.SSL_write(self.ssl, data, len(data)) == len(data)

    def change_keys(self, asks):
        """A KeyUpdate; with `asks` the peer has to answer with one of its own."""
        assert self.x.SSL_key_update(self.ssl, asks) == 1
        assert self.x.SSL_do_handshake(self.ssl) == 1

    def send(self, data, until):
        """What comes back is read away. False: the session is over."""
        view = memoryview(data)
        self.s.setblocking(False)
        while view and time.monotonic() < until:
            if not drain(self.s):
                return False
            try:
                view = view[self.s.send(view):]
            except BlockingIOError:
                select.select([self.s], [self.s], [], 0.1)
            except OSError:
                return False
        return not view


def updates(asks):
    def make(session):
        for _ in range(BATCH):
            session.change_keys(asks)
        return session.records()
    return make


def small(session):
    """A segment without data in records of one octet each."""
    for octet in segment(0, b"", 0) * (BATCH // 18):
        session.write(bytes([octet]))
    return session.records()


KINDS = {"changes of keys": (updates(NOT_REQUESTED), 0), "changes of both keys": (updates(REQUESTED), 0), "records of one octet": (small, 0),
         "records of one octet, TLS 1.2": (small, VERSION_12)}


def run(scene, only):
    """Two peers with certificates send such records as fast as node 2 reads them; an honest sender's goodput is measured."""
    ca = Authority(scene.lab.path("ca"))
    port = scene.ports(1)[0]
    keys = {}
    for n in (1, 2, 9, 10):
        certificate, key = ca.issue(f"node{n}", f"{NODE}ipn:{n}.0")
        os.chmod(key, 0o600)
        keys[n] = {"adapter": "tcpcl", "tls": "required", "tls.certificate": certificate, "tls.key": key, "tls.ca": ca.file}
    node = scene.node(2, [{"name": "to-1", "peer": "ipn:1.0", "local": f"127.0.0.1:{port}", "peers": 8, **keys[2]}])
    scene.node(1, [{"name": "to-2", "peer": "ipn:2.0", "remote": f"127.0.0.1:{port}", **keys[1]}])
    scene.receiver(2)
    scene.goodput(1, 2)

    def attacker(peer, make, most):
        def go(until):
            os.nice(10)  # its own work is not the node's
            while time.monotonic() < until:
                try:
                    session = Session(port, f"127.0.0.{peer}", keys[peer], most)
                except OSError:
                    time.sleep(0.05)
                    continue
                session.write(init(f"ipn:{peer}.0"))
                session.write(segment(0, b"x", 2))
                more = session.send(session.records(), until)
                while more:
                    more = session.send(make(session), until)
                session.s.close()
        return go

    for number, (name, (make, most)) in enumerate(KINDS.items()):
        if only not in (-1, number):
            continue
        before = rate(scene, HONEST)
        used, began = cpu_seconds(node.pid), time.monotonic()
        with scene.attack(*[attacker(peer, make, most) for peer in range(9, 9 + PEERS)]):
            during = rate(scene, HONEST)
            load = (cpu_seconds(node.pid) - used) / (time.monotonic() - began)
            others = [row for row in scene.control(2, "links")["links"] if row["name"] != "to-1"]
        after = scene.recovery(lambda: rate(scene, HONEST), before, name)
        scene.figure(name, {"before": before, "during": during, "after": after, "load of node 2": round(load, 2), "sessions of theirs": sum(row["established"] for row in others)})
        scene.bound(f"sessions of theirs, {name}", sum(row["established"] for row in others), ">=", 1)
        scene.bound(f"goodput kept, {name}", round(during / before, 4), ">=", 0.4)
    scene.bound("RSS, MiB", scene.rss_peak(node), "<=", 1024 + 64)


if __name__ == "__main__":
    main(run, only=-1)
