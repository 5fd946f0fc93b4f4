# SPDX-License-Identifier: Apache-2.0
"""Claims that an outside referee measured and that hold: unfinished lists, names of files, endpoint ids, orders at the control socket; for security_claims.py."""
import csv
import hashlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import time

from security import nodes, wire
from security.claim import Claim, check
from security.nodes import Hosts, Node, Peer, until

HIDDEN = {*map(chr, [*range(10), *range(11, 32), *range(0x7f, 0xa0), 0x202e, 0x2028, 0x2066])}


def tcpcl(hosts, **keys):
    return {"name": "to-2", "adapter": "tcpcl", "peer": "ipn:2.0", "local": f"{hosts.node()}:4556", **keys}


@check
def unfinished_lists():
    """256 connections, each with a list of 1 MiB of extension items in SESS_INIT that is never finished."""
    hosts, held = Hosts(), []
    some = b"".join(b"\0" + struct.pack(">HH", 0x8001, 65535) + bytes(65535) for _ in range(15))
    with Node(hosts, {"links": [tcpcl(hosts)]}) as node:
        before = node.anonymous_kib()
        for k in range(256):
            s = socket.create_connection((hosts.node(), 4556), 5, (hosts.other(k % 8), 0))
            s.sendall(wire.contact() + b"\x07" + struct.pack(">HQQH", 0, 1 << 30, 1 << 30, 7) + b"ipn:9.0" + struct.pack(">I", 1 << 20) + some)
            held.append(s)
        until(lambda: node.link("to-2")["unidentified"] == 256, 5)
        each = (node.anonymous_kib() - before) / 256
        for s in held:
            s.close()
    yield Claim("memory of a connection with an unfinished list", "ARCHITECTURE.md", "memory of one; accepted in one turn", f"{each:.1f} KiB each", each <= 40)


@check
def odd_endpoints():
    """Endpoint ids with what terminals and tables obey: the log as JSON, the bundle log, helioctl's table."""
    hosts = Hosts()
    log = hosts.path("b.csv")
    ids = ["//x\x1b[31m/\n<3>y", "//a,b\"c/;=1+1", "//e\nvil/x", "//o\0k/x", "//\u202egnp/x", "//=cmd()/x", "//é/x"]
    with Node(hosts, {"log": {"bundles": log, "format": "json"}, "links": [tcpcl(hosts)]}) as node, Peer(hosts.node(), hosts.other(0)) as peer:
        for k, name in enumerate(ids):
            stamp = [time.time_ns() // 1000000 - wire.DTN_EPOCH_MS, k]
            primary = wire.block([7, 0, 1, wire.eid(1, 9), [1, name], [1, 0], stamp, 60000], 1)
            peer.send(wire.xfer(k + 1, b"\x9f" + primary + wire.cbor([1, 1, 0, 0, b"x"]) + b"\xff"))
            peer.outcome(k + 1, 5)
        node.ask("flush")
        table = subprocess.run([os.path.join(nodes.bin_dir, "helioctl"), "--socket", node.socket + ".ctl", "bundles"], capture_output=True, text=True, check=False).stdout
        lines = node.log().decode().splitlines()
        rows = pathlib.Path(log).read_bytes().decode()
    hidden = {hex(ord(c)) for c in HIDDEN & set(table + rows + "".join(lines))}
    objects = all(json.loads(line) for line in lines)
    columns = {len(row) for row in csv.reader(rows.split("\n")) if row}
    yield Claim("endpoint ids in logs and tables", "SECURITY.md", "shown escaped in the operator's log, text and JSON; it makes no line, priority or command",
                f"hidden characters {sorted(hidden)}, columns of a row {columns}", not hidden and objects and len(columns) == 1 and rows.count("\n") >= 3)


@check
def names_of_files():
    """helio-recv: names that leave the folder, or that a terminal obeys."""
    hosts = Hosts()
    folder = hosts.path("files")
    os.mkdir(folder)
    os.symlink(hosts.folder, os.path.join(folder, "link"))
    wrong = ["../up", "/abs", "a/../../x", "a//b", "", ".", "a/.", ".hidden", "x" * 256, "nl\nname", "del\x7f", "nul\0x", "esc\x1b[31m", ".helio-recv/x", "link/evil"]
    with Node(hosts, {"links": [tcpcl(hosts)]}) as node:
        with open(hosts.path("out"), "wb") as out, subprocess.Popen([os.path.join(nodes.bin_dir, "helio-recv"), "--socket", node.socket, "-o", folder], stdout=out, stderr=out) as recv:
            until(lambda: os.path.exists(os.path.join(folder, ".helio-recv")), 5)
            with Peer(hosts.node(), hosts.other(0)) as peer:
                for k, name in enumerate([*wrong, "rtl\u202egnp.exe"]):
                    octets, text = name.encode(), b"content"
                    sha = hashlib.sha256(text).digest()
                    number = hashlib.sha256(sha + struct.pack(">Q", len(text)) + octets).digest()[:16]
                    piece = b"HFIL\x01\x01\0\x01" + number + struct.pack(">QQ", len(text), 0) + sha + struct.pack(">IHHI", 0, len(octets), 0, 0) + octets + text
                    piece = piece[:80] + wire.crc(2, piece) + piece[84:]
                    peer.send(wire.xfer(k + 1, wire.bundle((1, 2001), payload=piece)))
                    peer.outcome(k + 1, 5)
            until(lambda: os.path.exists(os.path.join(folder, "rtl\u202egnp.exe")), 5)
            time.sleep(0.3)
            recv.terminate()
    made = sorted(os.path.relpath(os.path.join(place, f), hosts.folder) for place, _, files in os.walk(folder) for f in files if "/.helio-recv" not in place)
    said = pathlib.Path(hosts.path("out")).read_text(encoding="utf-8")
    yield Claim("names of files for helio-recv", "SECURITY.md", "names are escaped", ascii(made) + (", raw" if "\u202e" in said else ", escaped"),
                made == ["files/rtl\u202egnp.exe"] and "\u202e" not in said and not os.path.exists(hosts.path("evil")))
