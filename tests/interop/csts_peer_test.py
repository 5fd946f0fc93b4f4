# SPDX-License-Identifier: Apache-2.0
"""Forward Frame between helio-csts and a peer that is not ours: its PDUs are encoded and decoded by asn1tools from csts.asn1.

usage: VENV/bin/python csts_peer_test.py HELIO-CSTS FIGURES OUT"""

import pathlib
import socket
import subprocess
import sys
import threading
import time
import unittest

import asn1tools

PROGRAM = FIGURES = OUT = ""
FRAMEWORK = "1.3.112.4.4.1.1."
PROCEDURE = {"type": FRAMEWORK + "3.4.1.1", "role": ("prime", None)}
ASSOCIATION = {"type": FRAMEWORK + "3.1", "role": ("association", None)}
SERVICE = "1.3.112.4.4.1.2.3"
NONE, UNUSED = ("notUsed", None), ("unused", None)
COMPLETED = {"of": ("procedure", PROCEDURE), "id": FRAMEWORK + "4.4.2.1"}
FRAMES = [bytes([i]) * (100 + i) for i in range(1, 51)]


def head(number, procedure=PROCEDURE):
    return {"credentials": UNUSED, "invokeId": number, "procedure": procedure}


def embed(oid, data):
    return {"identification": ("syntax", FRAMEWORK + oid), "value": data}


class Peer:
    """One end of an ISP1 connection."""

    def __init__(self, spec, sock):
        self.spec, self.sock = spec, sock
        sock.settimeout(60)

    def octets(self, count):
        data = b""
        while len(data) < count:
            more = self.sock.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def receive(self):
        """The next PDU: (name, value). Heartbeats are passed over."""
        while True:
            kind, length = self.octets(4)[0], int.from_bytes(self.octets(4), "big")
            body = self.octets(length)
            if kind == 1:
                return self.spec.decode("Pdu", body)

    def send(self, name, value):
        body = self.spec.encode("Pdu", (name, value))
        self.sock.sendall(b"\1\0\0\0" + len(body).to_bytes(4, "big") + body)

    def answer(self, name, number):
        self.send(name, self.positive(number))

    @staticmethod
    def positive(number):
        return {"credentials": UNUSED, "invokeId": number, "result": ("positive", NONE)}


class ForwardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.spec = asn1tools.compile_files(str(pathlib.Path(__file__).parent / "csts.asn1"), "ber")
        pathlib.Path(OUT).mkdir(parents=True, exist_ok=True)

    def report(self, wanted):
        return ("external", embed("3.4.2.1", self.spec.encode("ProcessExtension", {"report": ("yes" if wanted else "no", None), "extension": NONE})))

    def notification(self, number):
        moment = ("milli", bytes.fromhex("6248046af4190000"))
        value = {"last": ("unit", {"id": number, "status": ("processed", moment)}), "ok": ("unit", {"id": number, "stopped": moment}),
                 "production": ("other", "operational"), "extension": NONE}
        return {"head": head(number), "at": moment, "event": COMPLETED, "value": ("empty", None),
                "extension": ("external", embed("3.4.2.2", self.spec.encode("Processing", value)))}

    def provide(self, peer, got):
        self.assertEqual(peer.octets(12), bytes.fromhex("020000000000000c49535031"))
        peer.octets(8)
        name, bind = peer.receive()
        self.assertEqual((name, bind["service"], bind["instance"]["type"], bind["head"]["procedure"]), ("bind", SERVICE, SERVICE, ASSOCIATION))
        peer.send("bindReturn", {"head": peer.positive(bind["head"]["invokeId"]), "responder": "STATION"})
        while True:
            name, value = peer.receive()
            if name == "start":
                self.assertEqual((value["head"]["procedure"], value["extension"]), (PROCEDURE, NONE))
                peer.answer("startReturn", value["head"]["invokeId"])
            elif name in ("forwardBuffer", "processData"):
                for unit in value if name == "forwardBuffer" else [value]:
                    self.assertEqual((unit["head"]["procedure"], unit["extension"]), (PROCEDURE, self.report(True)))
                    got.append((unit["id"], unit["data"]))
                    peer.send("notify", self.notification(unit["id"]))
            elif name == "stop":
                peer.answer("stopReturn", value["head"]["invokeId"])
            else:
                self.assertEqual((name, value["head"]["procedure"]), ("unbind", ASSOCIATION))
                peer.answer("unbindReturn", value["head"]["invokeId"])
                return

    def test_our_user(self):
        path, got, failed = pathlib.Path(OUT, "frames.bin"), [], []
        path.write_bytes(b"".join(len(f).to_bytes(4, "big") + f for f in FRAMES))
        for buffer in ("1", "7"):
            with socket.create_server(("127.0.0.1", 0)) as server:
                server.settimeout(60)

                def serve():
                    try:
                        with server.accept()[0] as sock:
                            self.provide(Peer(self.spec, sock), got)
                    except Exception as e:  # pylint: disable=broad-exception-caught
                        failed.append(e)

                got.clear()
                thread = threading.Thread(target=serve)
                thread.start()
                r = subprocess.run([PROGRAM, "forward", f"127.0.0.1:{server.getsockname()[1]}", path, "--buffer", buffer], timeout=120,
                                   capture_output=True, text=True, check=False)
                thread.join(60)
            self.assertEqual((r.returncode, failed), (0, []), r.stderr)
            self.assertEqual(got, [(i, ("opaque", f)) for i, f in enumerate(FRAMES, 1)])
            self.assertIn("50 frames sent, 50 reported as processed", r.stdout)

    def associate(self, peer):
        peer.sock.sendall(bytes.fromhex("020000000000000c49535031000000010019000a"))
        peer.send("bind", {"head": head(0, ASSOCIATION), "initiator": "CENTRE", "port": "FF", "service": SERVICE, "version": 2, "extension": NONE,
                           "instance": {"spacecraft": "1.3.112.4.7.0", "facility": "1.3.112.4.6.0", "type": SERVICE, "number": 1}})
        self.assertEqual(peer.receive(), ("bindReturn", {"head": peer.positive(0), "responder": "STATION"}))
        peer.send("start", {"head": head(1), "extension": NONE})
        self.assertEqual(peer.receive(), ("startReturn", peer.positive(1)))

    def expect_notification(self, peer, number):
        name, value = peer.receive()
        self.assertEqual((name, value["event"], value["value"]), ("notify", COMPLETED, ("empty", None)))
        pdv = value["extension"][1]
        self.assertEqual(pdv["identification"], ("syntax", FRAMEWORK + "3.4.2.2"))
        said = self.spec.decode("Processing", pdv["value"])
        self.assertEqual((said["last"][1]["id"], said["last"][1]["status"][0], said["ok"][1]["id"]), (number, "processed", number))
        self.assertEqual(said["production"], ("other", "operational"))

    def test_our_provider(self):
        uplink = pathlib.Path(OUT, "uplink.bin")
        uplink.unlink(missing_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        with subprocess.Popen([PROGRAM, "provider", FIGURES, "--listen", f"127.0.0.1:{port}", "--uplink", uplink]) as p:
            try:
                for _ in range(600):
                    try:
                        sock = socket.create_connection(("127.0.0.1", port))
                        break
                    except ConnectionRefusedError:
                        time.sleep(0.1)
                with sock:
                    peer = Peer(self.spec, sock)
                    self.associate(peer)
                    units = [{"head": head(10 + i), "id": 1000 + i, "data": ("opaque", f), "extension": self.report(i % 2 == 0)}
                             for i, f in enumerate(FRAMES)]
                    peer.send("processData", units[0])
                    peer.send("forwardBuffer", units[1:])
                    for i in range(0, len(FRAMES), 2):
                        self.expect_notification(peer, 1000 + i)
                    peer.send("stop", {"head": head(90), "extension": NONE})
                    self.assertEqual(peer.receive(), ("stopReturn", peer.positive(90)))
                    peer.send("unbind", {"head": head(91, ASSOCIATION), "extension": NONE})
                    self.assertEqual(peer.receive(), ("unbindReturn", peer.positive(91)))
            finally:
                p.terminate()
        self.assertEqual(uplink.read_bytes(), b"".join(len(f).to_bytes(4, "big") + f for f in FRAMES))


if __name__ == "__main__":
    PROGRAM, FIGURES, OUT = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
