# SPDX-License-Identifier: Apache-2.0
"""Forward Frame (buffered, and sequence-controlled) and data delivery between helio-csts and a peer that is not ours: its PDUs are encoded and decoded by
asn1tools from csts.asn1.

usage: VENV/bin/python csts_peer_test.py HELIO-CSTS FIGURES OUT"""

import contextlib
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
SEQUENCED = {"type": FRAMEWORK + "3.4.1.2", "role": ("prime", None)}
DELIVERY, DATA_SERVICE = {"type": FRAMEWORK + "3.3", "role": ("prime", None)}, "1.3.112.4.4.1.2.0"
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

    def window(self, earliest=None, latest=None):
        """The extension of a sequence-controlled PROCESS-DATA that wants a report; times in s since 1970."""
        def when(t):
            if t is None:
                return ("undefined", None)
            days, us = divmod(round(t * 1e6), 86400 * 1000000)
            return ("known", ("milli", (days + 4383).to_bytes(2, "big") + (us // 1000).to_bytes(4, "big") + (us % 1000).to_bytes(2, "big")))
        window = embed("3.4.1.2.2.2", self.spec.encode("Window", {"earliest": when(earliest), "latest": when(latest), "extension": NONE}))
        return ("external", embed("3.4.2.1", self.spec.encode("ProcessExtension", {"report": ("yes", None), "extension": ("external", window)})))

    def unit_id(self, oid, number):
        return ("external", embed("3.4.1.2.2." + oid, self.spec.encode("UnitId", {"id": number, "extension": NONE})))

    def provide(self, peer, got):
        self.assertEqual(peer.octets(12), bytes.fromhex("020000000000000c49535031"))
        peer.octets(8)
        name, bind = peer.receive()
        self.assertEqual((name, bind["service"], bind["instance"]["type"], bind["head"]["procedure"]), ("bind", SERVICE, SERVICE, ASSOCIATION))
        peer.send("bindReturn", {"head": peer.positive(bind["head"]["invokeId"]), "responder": "STATION"})
        while True:
            name, value = peer.receive()
            if name == "start":
                sequenced = value["head"]["procedure"] == SEQUENCED
                wanted = (SEQUENCED, self.unit_id("1", 1)) if sequenced else (PROCEDURE, NONE)
                self.assertEqual((value["head"]["procedure"], value["extension"]), wanted)
                peer.answer("startReturn", value["head"]["invokeId"])
            elif name == "processData" and sequenced:
                self.assertEqual((value["head"]["procedure"], value["extension"]), (SEQUENCED, self.window()))
                got.append((value["id"], value["data"]))
                peer.send("processReturn", {"credentials": UNUSED, "invokeId": value["head"]["invokeId"],
                                            "result": ("positive", self.unit_id("3", value["id"] + 1))})
                peer.send("notify", self.notification(value["id"]))
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
        for buffer in ("1", "7", "sequenced"):
            options = ["--sequenced"] if buffer == "sequenced" else ["--buffer", buffer]
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
                r = subprocess.run([PROGRAM, "forward", f"127.0.0.1:{server.getsockname()[1]}", path, *options], timeout=120,
                                   capture_output=True, text=True, check=False)
                thread.join(60)
            self.assertEqual((r.returncode, failed), (0, []), r.stderr)
            self.assertEqual(got, [(i, ("opaque", f)) for i, f in enumerate(FRAMES, 1)])
            self.assertIn("50 frames sent, 50 reported as processed", r.stdout)

    def associate(self, peer, procedure=PROCEDURE, extension=NONE, service=SERVICE):
        peer.sock.sendall(bytes.fromhex("020000000000000c49535031000000010019000a"))
        peer.send("bind", {"head": head(0, ASSOCIATION), "initiator": "CENTRE", "port": "FF", "service": service, "version": 2, "extension": NONE,
                           "instance": {"spacecraft": "1.3.112.4.7.0", "facility": "1.3.112.4.6.0", "type": service, "number": 1}})
        self.assertEqual(peer.receive(), ("bindReturn", {"head": peer.positive(0), "responder": "STATION"}))
        peer.send("start", {"head": head(1, procedure), "extension": extension})
        self.assertEqual(peer.receive(), ("startReturn", peer.positive(1)))

    def expect_notification(self, peer, number):
        name, value = peer.receive()
        self.assertEqual((name, value["event"], value["value"]), ("notify", COMPLETED, ("empty", None)))
        pdv = value["extension"][1]
        self.assertEqual(pdv["identification"], ("syntax", FRAMEWORK + "3.4.2.2"))
        said = self.spec.decode("Processing", pdv["value"])
        self.assertEqual((said["last"][1]["id"], said["last"][1]["status"][0], said["ok"][1]["id"]), (number, "processed", number))
        self.assertEqual(said["production"], ("other", "operational"))

    @contextlib.contextmanager
    def provider(self, *options):
        """One of ours, and a connection to it."""
        uplink = pathlib.Path(OUT, "uplink.bin")
        uplink.unlink(missing_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        with subprocess.Popen([PROGRAM, "provider", FIGURES, "--listen", f"127.0.0.1:{port}", "--uplink", uplink, *options]) as p:
            try:
                for _ in range(600):
                    try:
                        sock = socket.create_connection(("127.0.0.1", port))
                        break
                    except ConnectionRefusedError:
                        time.sleep(0.1)
                with sock:
                    yield Peer(self.spec, sock), uplink
            finally:
                p.terminate()

    def stop(self, peer, procedure=PROCEDURE):
        peer.send("stop", {"head": head(90, procedure), "extension": NONE})
        self.assertEqual(peer.receive(), ("stopReturn", peer.positive(90)))
        peer.send("unbind", {"head": head(91, ASSOCIATION), "extension": NONE})
        self.assertEqual(peer.receive(), ("unbindReturn", peer.positive(91)))

    def test_our_provider(self):
        with self.provider() as (peer, uplink):
            self.associate(peer)
            units = [{"head": head(10 + i), "id": 1000 + i, "data": ("opaque", f), "extension": self.report(i % 2 == 0)} for i, f in enumerate(FRAMES)]
            peer.send("processData", units[0])
            peer.send("forwardBuffer", units[1:])
            for i in range(0, len(FRAMES), 2):
                self.expect_notification(peer, 1000 + i)
            self.stop(peer)
        self.assertEqual(uplink.read_bytes(), b"".join(len(f).to_bytes(4, "big") + f for f in FRAMES))

    def expect_event(self, peer, oid, status):
        name, value = peer.receive()
        self.assertEqual((name, value["event"]), ("notify", {"of": ("procedure", SEQUENCED), "id": FRAMEWORK + oid}))
        said = self.spec.decode("Processing", value["extension"][1]["value"])["last"][1]["status"]
        if status == "expired":
            self.assertEqual((said[0], self.spec.decode("UnitStatus", said[1]["value"])), ("extension", ("expired", None)))
        else:
            self.assertEqual(said[0], status)
        return said[1]

    def test_our_sequenced_provider(self):
        """Returns, times, the lock of one that expires, directives."""
        with self.provider("--sequenced", "--uplink-rate", "1kbit/s") as (peer, uplink):  # 125 octets a second
            self.associate(peer, SEQUENCED, self.unit_id("1", 5))

            def offer(number, extension, octets=b"x" * 25):
                peer.send("processData", {"head": head(100 + number, SEQUENCED), "id": number, "data": ("opaque", octets), "extension": extension})

            def accepted(number):
                self.assertEqual(peer.receive(), ("processReturn", {"credentials": UNUSED, "invokeId": 100 + number,
                                                                    "result": ("positive", self.unit_id("3", number + 1))}))

            def refused(number, reason, following):
                diagnostic = ("extension", embed("3.4.1.2.2.4", self.spec.encode("UnitDiagnostic", (reason, None))))
                self.assertEqual(peer.receive(), ("processReturn", {"credentials": UNUSED, "invokeId": 100 + number, "result":
                                                                    ("negative", {"diagnostic": diagnostic, "negExtension": self.unit_id("5", following)})}))

            now = time.time()
            offer(5, self.window(now + 0.5))
            accepted(5)
            offer(9, self.window())
            refused(9, "sequence", 6)
            offer(6, self.window(now + 2, now + 1))
            refused(6, "inconsistent", 6)
            offer(6, self.window(None, now - 1))
            refused(6, "late", 6)
            _, begun = self.expect_event(peer, "4.4.2.1", "processed")
            self.assertGreaterEqual((int.from_bytes(begun[:2], "big") - 4383) * 86400 + int.from_bytes(begun[2:6], "big") / 1e3, now + 0.499)
            offer(6, self.window(), b"x" * 250)  # on the air for 2 s: longer than the next one may wait
            accepted(6)
            offer(7, self.window(None, time.time() + 1))
            accepted(7)
            offer(8, self.window())
            accepted(8)
            self.expect_event(peer, "4.4.2.1", "processed")
            self.expect_event(peer, "4.6.2.1", "expired")
            self.expect_event(peer, "4.6.2.2", "expired")
            offer(9, self.window())
            refused(9, "locked", 9)
            directive = {"head": head(80, SEQUENCED), "id": FRAMEWORK + "4.6.3.2", "extension": NONE,
                         "target": ("this", ("value", embed("4.6.1.1", bytes.fromhex("020132"))))}
            peer.send("directive", directive)
            name, value = peer.receive()
            self.assertEqual((name, self.spec.decode("DirectiveDiagnostic", value["result"][1]["diagnostic"][1]["value"])), ("directiveAck", ("directive", None)))
            peer.send("directive", {**directive, "id": FRAMEWORK + "4.6.3.1"})
            self.assertEqual([peer.receive() for _ in range(2)], [(name, peer.positive(80)) for name in ("directiveAck", "directiveReturn")])
            offer(50, self.window(), b"y")
            accepted(50)
            self.expect_event(peer, "4.4.2.1", "processed")
            self.stop(peer, SEQUENCED)
        self.assertEqual(uplink.read_bytes(), b"\0\0\0\x19" + b"x" * 25 + b"\0\0\0\xfa" + b"x" * 250 + b"\0\0\0\1y")

    def delivery_window(self, *times):
        """The extension of START of data delivery; times in s since 1970."""
        def known(t):
            days, us = divmod(round(t * 1e6), 86400 * 1000000)
            return ("known", ("milli", (days + 4383).to_bytes(2, "big") + (us // 1000).to_bytes(4, "big") + (us % 1000).to_bytes(2, "big")))
        window = {"earliest": known(times[0]), "latest": known(times[1]), "extension": NONE} if times else \
            {"earliest": ("undefined", None), "latest": ("undefined", None), "extension": NONE}
        return ("external", embed("3.3.2.1", self.spec.encode("Window", window)))

    @staticmethod
    def end_of_data(number):
        return {"head": head(number, DELIVERY), "at": ("milli", bytes.fromhex("6248046af4190000")), "value": ("empty", None), "extension": NONE,
                "event": {"of": ("procedure", DELIVERY), "id": FRAMEWORK + "4.3.2.3"}}

    def test_our_data_provider(self):
        path = pathlib.Path(OUT, "down.bin")
        path.write_bytes(b"".join(len(f).to_bytes(4, "big") + f for f in FRAMES))
        with self.provider("--downlink", path, "--delivery-buffer", "7") as (peer, _):
            now = time.time()
            self.associate(peer, DELIVERY, self.delivery_window(now - 3600, now + 1), DATA_SERVICE)
            elements, sizes = [], []
            while not elements or elements[-1][0] != "notify":
                name, value = peer.receive()
                self.assertEqual(name, "returnBuffer")
                elements += value
                sizes.append(len(value))
            *frames, (_, end) = elements
            self.assertEqual([(kind, v["head"]["procedure"], v["sequence"], v["data"], v["extension"]) for kind, v in frames],
                             [("transfer", DELIVERY, i, ("opaque", f), NONE) for i, f in enumerate(FRAMES)])
            self.assertEqual({**end, "head": None, "at": None}, {**self.end_of_data(0), "head": None, "at": None})
            self.assertEqual(sizes, [7] * 7 + [2])
            self.stop(peer, DELIVERY)

    def deliver(self, peer):
        """A provider of data delivery that is not ours: FRAMES in buffers of 11, then the end of data."""
        peer.octets(20)
        _, bind = peer.receive()
        self.assertEqual((bind["service"], bind["instance"]["type"]), (DATA_SERVICE, DATA_SERVICE))
        peer.send("bindReturn", {"head": peer.positive(bind["head"]["invokeId"]), "responder": "STATION"})
        name, value = peer.receive()
        self.assertEqual((name, value["head"]["procedure"], value["extension"]), ("start", DELIVERY, self.delivery_window()))
        peer.answer("startReturn", value["head"]["invokeId"])
        elements = [("transfer", {"head": head(10 + i, DELIVERY), "generated": ("milli", bytes.fromhex("6248046af4190000")), "sequence": i, "data": ("opaque", f),
                                  "extension": NONE}) for i, f in enumerate(FRAMES)]
        elements.append(("notify", self.end_of_data(99)))
        for i in range(0, len(elements), 11):
            peer.send("returnBuffer", elements[i:i + 11])
        for expected, answer in (("stop", "stopReturn"), ("unbind", "unbindReturn")):
            name, value = peer.receive()
            self.assertEqual(name, expected)
            peer.answer(answer, value["head"]["invokeId"])

    def test_our_data_user(self):
        path, failed = pathlib.Path(OUT, "received.bin"), []
        path.unlink(missing_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(60)

            def serve():
                try:
                    with server.accept()[0] as sock:
                        self.deliver(Peer(self.spec, sock))
                except Exception as e:  # pylint: disable=broad-exception-caught
                    failed.append(e)

            thread = threading.Thread(target=serve)
            thread.start()
            r = subprocess.run([PROGRAM, "data", f"127.0.0.1:{server.getsockname()[1]}", path], timeout=120, capture_output=True, text=True, check=False)
            thread.join(60)
        self.assertEqual((r.returncode, failed), (0, []), r.stderr)
        self.assertEqual(path.read_bytes(), b"".join(len(f).to_bytes(4, "big") + f for f in FRAMES))
        self.assertIn("50 frames of", r.stdout)


if __name__ == "__main__":
    PROGRAM, FIGURES, OUT = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
