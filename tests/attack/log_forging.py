# SPDX-License-Identifier: Apache-2.0
"""Lines of a peer's making in the operator's log: a node id with line ends, terminal sequences, overrides, bytes that are no UTF-8."""
import json
import re
import socket
import struct
import time

from attack import main

NAME = (b"dtn://a/\n<3>forged by a peer\r2026-01-01T00:00:00.000Z error: forged\x1b[2J\x1b]0;title\x07"
        + "\u202egpj.exe\u2066\u2028forged\u0085".encode() + b"\xff\xfe\xc0\x8aend")
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufffd]")


def session_init(node):
    """Contact header, then SESS_INIT (RFC 9174 §4.2, §4.6)."""
    body = struct.pack("!HQQH", 0, 1 << 20, 1 << 20, len(node)) + node + struct.pack("!I", 0)
    return b"dtn!\x04\x00" + b"\x07" + body


def run(scene):
    """Someone connects by TCPCL and says a name that would forge lines of the log, or command a terminal."""
    ports = scene.ports(2)
    logs = {}
    for n, form in ((1, "text"), (2, "json")):
        scene.node(n, [{"name": "in", "adapter": "tcpcl", "peer": "ipn:9.0", "local": f"127.0.0.1:{ports[n - 1]}"}],
                   extra=f"log: {{format: {form}}}\n")
        logs[n] = scene.lab.path(f"node{n}.log")
    for port in ports:
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.settimeout(10)
            s.sendall(session_init(NAME))
            while s.recv(4096):
                pass
    time.sleep(0.5)
    text = []
    for n, path in logs.items():
        with open(path, "rb") as f:
            raw = f.read()
        text.append(raw.decode("utf-8", errors="replace"))
        scene.figure(f"lines of node {n}", raw.count(b"\n"))
        if n == 2:
            for line in text[-1].split("\n")[:-1]:
                text[-1] = text[-1] + json.loads(line)["text"]
        else:
            forged = [line for line in raw.split(b"\n")[:-1] if not re.match(rb"\d{4}-\d\d-\d\dT\S+Z (info|warning|error): ", line)]
            scene.bound("lines that the node did not begin", len(forged), "==", 0)
    scene.bound("logs that have the name", sum("dtn://a/" in t and "end" in t for t in text), "==", 2)
    scene.bound("hidden characters in the logs", sum(len(HIDDEN.findall(t)) for t in text), "==", 0)


if __name__ == "__main__":
    main(run)
