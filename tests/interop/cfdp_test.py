#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-cfdp with cfdp-py (and its spacepackets) and with the package cfdp of PyPI, which are not ours: both roles, class 1 and 2, over
a relay that loses datagrams, with kills of our end. usage: cfdp_test.py PROGRAM OUT [TEST]"""
import collections
import select
import socket
import subprocess
import sys
import threading
import time
import unittest
from datetime import timedelta
from pathlib import Path

import cfdp
from cfdp.filestore import NativeFileStore
from cfdp.transport.udp import UdpTransport
from cfdppy.exceptions import PduIgnoredForDest, PduIgnoredForSource, UnretrievedPdusToBeSent
from cfdppy.handler.dest import DestHandler
from cfdppy.handler.source import SourceHandler
from cfdppy.mib import CheckTimerProvider, DefaultFaultHandlerBase, IndicationConfig, LocalEntityConfig, RemoteEntityConfig, RemoteEntityConfigTable
from cfdppy.request import PutRequest
from cfdppy.user import CfdpUserBase
from spacepackets.cfdp import ChecksumType, ConditionCode, TransmissionMode
from spacepackets.cfdp.pdu import PduFactory
from spacepackets.countdown import Countdown
from spacepackets.seqcount import SeqCountProvider
from spacepackets.util import ByteFieldU8

import _paths  # noqa: F401
from cfdp_case import HOST, CfdpCase, wait_until  # noqa: E402

ACKED, UNACKED = TransmissionMode.ACKNOWLEDGED, TransmissionMode.UNACKNOWLEDGED


class User(CfdpUserBase):
    def __init__(self):
        super().__init__()
        self.finished = []

    def transaction_finished_indication(self, params):
        self.finished.append(params)

    def nothing(self, *_args, **_words):
        pass

    transaction_indication = eof_sent_indication = metadata_recv_indication = file_segment_recv_indication = nothing
    report_indication = suspended_indication = resumed_indication = fault_indication = abandoned_indication = eof_recv_indication = nothing


class Faults(DefaultFaultHandlerBase):
    def nothing(self, *_args):
        pass

    notice_of_suspension_cb = notice_of_cancellation_cb = abandoned_cb = ignore_cb = nothing


class CheckTimer(CheckTimerProvider):
    def provide_check_timer(self, *_args, **_words):
        return Countdown(timedelta(seconds=1))


class CfdpPy(threading.Thread):
    """An entity of cfdp-py: one source and one destination handler on a UDP socket."""

    def __init__(self, entity, remote, port, to, checksum=ChecksumType.CRC_32C, segment=1024):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind((HOST, port))
        self.to, self.over, self.user, self.requests, self.error, self.cancel = (HOST, to), False, User(), collections.deque(), None, False
        self.remote = ByteFieldU8(remote)
        indications = IndicationConfig(file_segment_recvd_indication_required=False)
        local = LocalEntityConfig(ByteFieldU8(entity), indications, Faults())
        remotes = RemoteEntityConfigTable([RemoteEntityConfig(
            entity_id=self.remote, max_file_segment_len=segment, max_packet_len=segment + 100, closure_requested=False, crc_on_transmission=False,
            default_transmission_mode=ACKED, crc_type=checksum, positive_ack_timer_interval_seconds=0.5, positive_ack_timer_expiration_limit=2000,
            check_limit=10, immediate_nak_mode=False, nak_timer_interval_seconds=0.5, nak_timer_expiration_limit=2000)])
        self.source = SourceHandler(local, self.user, remotes, CheckTimer(), SeqCountProvider(16))
        self.dest = DestHandler(local, self.user, remotes, CheckTimer())

    def put(self, source, name, mode, closure=False):
        self.requests.append(PutRequest(self.remote, Path(source), Path(name), mode, closure))

    def drain(self, handler):
        while handler.packets_ready:
            self.socket.sendto(handler.get_next_packet().pdu.pack(), self.to)

    def turn(self, handler, pdu=None):
        try:
            handler.state_machine(pdu)
        except (PduIgnoredForDest, PduIgnoredForSource):
            pass
        except UnretrievedPdusToBeSent:
            pass
        self.drain(handler)

    def give(self, pdu):
        handler = self.source if pdu.pdu_header.direction.value else self.dest
        if handler is self.dest or self.source.transaction_id is not None:
            self.turn(handler, pdu)

    def run(self):
        try:
            while not self.over:
                if self.requests and self.source.transaction_id is None:
                    self.source.put_request(self.requests.popleft())
                for _ in range(200):
                    if not select.select([self.socket], [], [], 0)[0]:
                        break
                    self.give(PduFactory.from_raw(self.socket.recv(65536)))
                self.turn(self.source)
                self.turn(self.dest)
                if self.cancel:
                    self.cancel = False
                    self.source.cancel_request(self.source.transaction_id)
                time.sleep(0.0005 if self.source.transaction_id is not None else 0.002)
        except Exception as e:  # noqa: BLE001
            self.error = e
            raise

    def close(self):
        self.over = True
        self.join(10)
        self.socket.close()


class PyCase(CfdpCase):
    def pair(self, loss=0.0, segment=1024, theirs=ChecksumType.CRC_32C, **keys):
        """Ours is entity 1, cfdp-py is entity 2, with that type of checksum for its files."""
        relay = self.relay(loss=loss)
        ours = self.entity(1)
        peer = CfdpPy(2, 1, 0, relay.ports[1], theirs, segment)
        relay.to = [(HOST, ours.port), peer.socket.getsockname()]
        ours.add(2, relay.ports[0], segment=segment, **keys)
        relay.start()
        ours.start()
        peer.start()
        self.addCleanup(peer.close)
        return ours, peer, relay

    def receive(self, peer, name, data, seconds=120):
        """A file of ours arrives at the peer."""
        path = self.folder / name
        wait_until(lambda: peer.error or peer.user.finished, seconds)
        self.assertIsNone(peer.error)
        self.assertEqual(peer.user.finished[0].finished_params.condition_code, ConditionCode.NO_ERROR)
        self.assertEqual(path.read_bytes(), data)

    def sent(self, ours, peer, name, data, seconds=120):
        """A file of the peer arrives here."""
        wait_until(lambda: peer.error or ((ours.root / name).exists() and peer.user.finished), seconds)
        self.assertIsNone(peer.error)
        self.assertEqual((ours.root / name).read_bytes(), data)
        self.assertEqual(peer.user.finished[0].finished_params.condition_code, ConditionCode.NO_ERROR)


class CfdpPyTest(PyCase):
    def test_class_1_to_cfdp_py(self):
        ours, peer, _ = self.pair()
        data = self.write(ours.root / "a.bin", 300_000)
        out = ours.ask("put", "a.bin", 2, self.folder / "a.bin", "--class", "1")
        self.assertEqual(out.returncode, 0, out.stderr)
        self.receive(peer, "a.bin", data)

    def test_class_1_from_cfdp_py(self):
        for closure in (False, True):
            with self.subTest(closure=closure):
                self.setUp()
                ours, peer, _ = self.pair()
                data = self.write(self.folder / "a.bin", 300_000)
                peer.put(self.folder / "a.bin", "b.bin", UNACKED, closure)
                self.sent(ours, peer, "b.bin", data)
                peer.close()
                ours.stop()

    def test_class_2_to_cfdp_py(self):
        for name in ("modular", "crc-32", "crc-32c", "null"):
            with self.subTest(checksum=name):
                self.setUp()
                ours, peer, relay = self.pair(loss=0.05, crc="yes", checksum=name)
                data = self.write(ours.root / "a.bin", 400_001)
                out = ours.ask("put", "a.bin", 2, self.folder / "a.bin")
                self.assertEqual(out.returncode, 0, out.stderr + out.stdout)
                self.receive(peer, "a.bin", data)
                self.assertGreater(relay.lost, 5)
                wait_until(ours.idle)
                self.assertEqual(ours.left(), [])
                peer.close()
                ours.stop()

    def test_class_2_from_cfdp_py(self):
        for checksum in (ChecksumType.MODULAR, ChecksumType.CRC_32, ChecksumType.CRC_32C):
            with self.subTest(checksum=checksum):
                self.setUp()
                ours, peer, relay = self.pair(loss=0.05, theirs=checksum)
                data = self.write(self.folder / "a.bin", 400_001)
                peer.put(self.folder / "a.bin", "b/c.bin", ACKED)
                self.sent(ours, peer, "b/c.bin", data)
                self.assertGreater(relay.lost, 5)
                wait_until(ours.idle)
                self.assertEqual(ours.left(), [])
                peer.close()
                ours.stop()

    def kill_often(self, ours, done, every):
        kills = 0
        while kills < 6 and not done():
            time.sleep(every)
            if not done():
                ours.kill()
                kills += 1
                ours.start()
        return kills

    def test_killed_receiver(self):
        ours, peer, relay = self.pair(loss=0.02)
        data = self.write(self.folder / "a.bin", 3_000_000)
        peer.put(self.folder / "a.bin", "b.bin", ACKED)
        kills = self.kill_often(ours, lambda: peer.error or (ours.root / "b.bin").exists(), 0.7)
        self.sent(ours, peer, "b.bin", data)
        self.assertGreaterEqual(kills, 2)

    def test_killed_sender(self):
        ours, peer, _ = self.pair(loss=0.02, rate="8Mbit/s")
        data = self.write(ours.root / "a.bin", 3_000_000)
        ours.begin("put", "a.bin", 2, self.folder / "b.bin")
        kills = self.kill_often(ours, lambda: peer.error or peer.user.finished, 0.7)
        self.receive(peer, "b.bin", data)
        self.assertGreaterEqual(kills, 2)
        wait_until(ours.idle)
        self.assertEqual(ours.left(), [])

    def test_cancelled_by_cfdp_py(self):
        """Its source handler. Its destination handler raises an exception when it acknowledges an EOF with a condition."""
        ours, peer, _ = self.pair()
        self.write(self.folder / "a.bin", 3_000_000)
        peer.put(self.folder / "a.bin", "b.bin", ACKED)
        wait_until(lambda: ours.status()["counts"]["octets_in"] > 100_000)
        peer.cancel = True
        wait_until(lambda: peer.error or peer.user.finished)
        self.assertIsNone(peer.error)
        wait_until(ours.idle)
        self.assertEqual(ours.status()["counts"]["cancelled"], 1)
        self.assertFalse((ours.root / "b.bin").exists())
        self.assertEqual(ours.left(), [])


class Large(PyCase):
    """100 MB with 2 % loss, an outage, and kills of our end: GAP seconds, with the label peers."""

    SIZE, GAP = 100_000_000, 60

    def carry(self, relay, ours, done):
        time.sleep(8)
        relay.down = True
        time.sleep(self.GAP / 2)
        ours.kill()
        ours.start()
        time.sleep(self.GAP / 2)
        relay.down = False
        time.sleep(5)
        if not done():
            ours.kill()
            ours.start()

    def to_cfdp_py(self):
        ours, peer, relay = self.pair(loss=0.02, segment=8192, rate="40Mbit/s", ack_limit=100000, nak_limit=100000, inactivity="1h")
        data = self.write(ours.root / "a.bin", self.SIZE)
        begun = time.monotonic()
        ours.begin("put", "a.bin", 2, self.folder / "b.bin")
        self.carry(relay, ours, lambda: peer.user.finished)
        self.receive(peer, "b.bin", data, 1200)
        print(f"to cfdp-py: {self.SIZE} octets in {time.monotonic() - begun:.1f} s, {relay.passed} datagrams passed, {relay.lost} lost")

    def from_cfdp_py(self):
        ours, peer, relay = self.pair(loss=0.02, segment=8192, rate="40Mbit/s", ack_limit=100000, nak_limit=100000, inactivity="1h")
        data = self.write(self.folder / "a.bin", self.SIZE)
        begun = time.monotonic()
        peer.put(self.folder / "a.bin", "b.bin", ACKED)
        self.carry(relay, ours, lambda: (ours.root / "b.bin").exists())
        self.sent(ours, peer, "b.bin", data, 1200)
        print(f"from cfdp-py: {self.SIZE} octets in {time.monotonic() - begun:.1f} s, {relay.passed} datagrams passed, {relay.lost} lost")


class CfdpPackageTest(CfdpCase):
    """The package cfdp: another implementation. Ours is entity 1, it is entity 2."""

    def pair(self, loss=0.0, **keys):
        relay = self.relay(loss=loss)
        ours = self.entity(1)
        root = self.folder / "other"
        root.mkdir()
        transport = UdpTransport(routing={"*": [(HOST, relay.ports[1])]})
        transport.bind(HOST, 0)
        relay.to = [(HOST, ours.port), transport._socket.getsockname()]
        transport._addr = transport._socket.getsockname()
        other = cfdp.CfdpEntity(entity_id=2, filestore=NativeFileStore(root), transport=transport)
        self.addCleanup(transport.unbind)
        self.addCleanup(other.shutdown)
        ours.add(2, relay.ports[0], checksum="modular", allow="[put, get, list, change]", **keys)
        ours.number_from(1)  # the package answers with one octet of the number
        relay.start()
        ours.start()
        return ours, other, root

    def test_to_other(self):
        for class_, loss in ((1, 0.0), (2, 0.03)):
            with self.subTest(class_=class_):
                self.setUp()
                ours, _, root = self.pair(loss)
                data = self.write(ours.root / "a.bin", 200_000)
                out = ours.ask("put", "a.bin", 2, "b.bin", "--class", class_)
                self.assertEqual(out.returncode, 0, out.stderr + out.stdout)
                wait_until(lambda: (root / "b.bin").exists() and (root / "b.bin").read_bytes() == data)

    def test_from_other(self):
        for class_, loss in ((1, 0.0), (2, 0.03)):
            with self.subTest(class_=class_):
                self.setUp()
                ours, other, root = self.pair(loss)
                data = self.write(root / "a.bin", 200_000)
                mode = cfdp.TransmissionMode.ACKNOWLEDGED if class_ == 2 else cfdp.TransmissionMode.UNACKNOWLEDGED
                other.put(destination_id=1, source_filename="/a.bin", destination_filename="/b.bin", transmission_mode=mode)
                wait_until(lambda: (ours.root / "b.bin").exists())
                self.assertEqual((ours.root / "b.bin").read_bytes(), data)

    def test_get_from_other(self):
        ours, _, root = self.pair()
        data = self.write(root / "a.bin", 50_000)
        out = ours.ask("get", 2, "/a.bin", "b.bin", timeout=60)
        self.assertEqual(out.returncode, 0, out.stderr + out.stdout)
        self.assertEqual((ours.root / "b.bin").read_bytes(), data)

    def test_list_of_other(self):
        ours, _, root = self.pair()
        self.write(root / "a.bin", 50_000)
        out = ours.ask("ls", 2, "/", timeout=60)
        self.assertEqual(out.returncode, 0, out.stderr + out.stdout)
        self.assertIn("a.bin", out.stdout)


if __name__ == "__main__":
    CfdpCase.PROGRAM, CfdpCase.OUT = sys.argv[1], sys.argv[2]
    assert subprocess.run([CfdpCase.PROGRAM, "--version"], capture_output=True, check=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
