# SPDX-License-Identifier: Apache-2.0
"""Names of links whose DNS server never answers, or not by TCP: what a link costs that whose name is answered at once."""
import ctypes
import os
import socket
import subprocess
import time

from attack import main

CLONE_NEWNS = 0x20000
SERVER = "127.0.0.53"
CROWDS = (20, 250)
COLD = 7  # s for the first question about all of them and a name beside
QUICK, NEW = 2.0, 4.0
WAIT = 180
TYPE_A, CLASS_IN = b"\x00\x01", b"\x00\x01"


def own_resolver(scene):
    """This process and its children see files of their own in the place of the system's."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise SystemExit(f"slow_names: unshare: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for name, text in (("resolv.conf", f"nameserver {SERVER}\nsearch test\n"), ("nsswitch.conf", "hosts: files dns\n"), ("hosts", "127.0.0.1 localhost\n")):
        path = scene.lab.path(name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        subprocess.run(["mount", "--bind", path, f"/etc/{name}"], check=True)


def name_of(question):
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode("ascii"))
        at += 1 + question[at]
    return ".".join(labels), at + 1


def is_long(name):
    """Its answer does not fit in a datagram, and the TCP connections that bring it bring nothing."""
    return name.startswith("hang-") and int(name[5:].partition(".")[0]) % 2 == 1


def name_server(path):
    """A name of the file (a line: name, address) is answered at once, also that it has no IPv6 address, and that there is no name *.sub.
    No other one is answered; half of them say that TCP has the answer."""
    def serve(_until):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s, socket.create_server((SERVER, 53), backlog=512):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            s.bind((SERVER, 53))
            while True:
                question, back = s.recvfrom(512)
                name, end = name_of(question)
                with open(path, encoding="ascii") as f:
                    address = dict(line.split() for line in f).get(name)
                if address is None and is_long(name):
                    s.sendto(question[:2] + b"\x83\x80\x00\x01\x00\x00\x00\x00\x00\x00" + question[12:end + 4], back)
                    continue
                if address is None and not name.endswith(".sub"):
                    continue
                has = address is not None and question[end:end + 2] == TYPE_A
                flags = b"\x81\x83" if address is None else b"\x81\x80"
                head = question[:2] + flags + b"\x00\x01" + (b"\x00\x01" if has else b"\x00\x00") + b"\x00\x00\x00\x00"
                answer = b"\xc0\x0c" + TYPE_A + CLASS_IN + b"\x00\x00\x00\x01\x00\x04" + socket.inet_aton(address) if has else b""
                s.sendto(head + question[12:end + 4] + answer, back)
    return serve


def threads_of(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Threads:"))


class Crowd:
    """Node 1 has links to `hanging` names without an answer, and one to node 2's name, the last in its file."""

    def __init__(self, scene, hanging):
        self.scene, self.hanging = scene, hanging
        self.port, = scene.ports(1)
        self.names = {"gs2.test": "127.0.0.2"}
        self.links = [self.link(f"hang-{i}", f"ipn:{1000 + i}.0", f"hang-{i}.test", 1) for i in range(hanging)]
        self.links.append(self.link("to-2", "ipn:2.0", "gs2.test", self.port))

    def link(self, name, peer, host, port):
        return {"name": name, "adapter": "tcpcl", "peer": peer, "remote": f"{host}:{port}", "reconnect": "100ms", "reconnect_max": "60s"}

    def write_names(self):
        path = self.scene.lab.path("names")
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write("".join(f"{name} {address}\n" for name, address in self.names.items()))
        os.replace(path + ".new", path)

    def peer(self, number, address):
        link = {"name": "to-1", "adapter": "tcpcl", "peer": "ipn:1.0", "local": f"{address}:{self.port}", "tls": "off"}
        return self.scene.node(number, [link])

    def seconds_until_up(self, name):
        began = time.monotonic()
        while time.monotonic() < began + WAIT:
            links = self.scene.control(1, "links")["links"]
            if any(link["name"] == name and link["up"] for link in links):
                break
            time.sleep(0.05)
        return round(time.monotonic() - began, 2)

    def bound(self, what, value, limit):
        self.scene.figure(f"{what}, {self.hanging} hanging, s", value)
        self.scene.bound(f"{what}, {self.hanging} hanging, s", value, "<=", limit)

    def restart_peer(self, address):
        self.scene.end(2)
        time.sleep(0.5)
        self.names["gs2.test"] = address
        self.write_names()
        self.peer(2, address)

    def run(self):
        scene = self.scene
        self.write_names()
        self.peer(2, "127.0.0.2")
        node = scene.node(1, self.links)
        self.bound("first session", self.seconds_until_up("to-2"), COLD)
        time.sleep(5)  # all of them were asked for once
        self.restart_peer("127.0.0.2")
        self.bound("session again, at the address that is known", self.seconds_until_up("to-2"), QUICK)
        self.restart_peer("127.0.0.3")
        self.bound("session again, at another address", self.seconds_until_up("to-2"), QUICK)
        self.names["gs3.sub.test"] = "127.0.0.4"  # by the search list
        self.write_names()
        self.peer(3, "127.0.0.4")
        scene.lab.write_node(1, [*self.links, self.link("to-3", "ipn:3.0", "gs3.sub", self.port)], log=False)
        scene.control(1, "reload")
        self.bound("session of a new link", self.seconds_until_up("to-3"), NEW)
        scene.bound(f"threads, {self.hanging} hanging", threads_of(node), "<=", 90)
        scene.bound(f"anonymous memory, {self.hanging} hanging, MiB", scene.anonymous_peak(node), "<=", 64)
        began = time.monotonic()
        scene.end(1)
        self.bound("end of the node", round(time.monotonic() - began, 2), QUICK)
        for number in (2, 3):
            scene.end(number)


def run(scene):
    """Twenty, then 250 links of a node have names whose server never answers, or only by TCP, without end; links beside them have names that are answered at once."""
    own_resolver(scene)
    path = scene.lab.path("names")
    with open(path, "w", encoding="ascii"):
        pass
    with scene.attack(name_server(path)):
        for hanging in CROWDS:
            Crowd(scene, hanging).run()


if __name__ == "__main__":
    main(run)
