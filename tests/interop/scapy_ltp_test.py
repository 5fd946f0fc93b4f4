#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scapy's LTP layer as a peer: valid segments built by it are understood and answered, hostile ones are counted by
reason and do no harm to a running node, nor to a transfer with another peer at the same socket.
usage: scapy_ltp_test.py BIN OUT (with the Python of tests/interop/venv.sh)"""

import collections
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
from scapy.contrib.ltp import LTP, LTPex, LTPReceptionClaim  # noqa: E402
from scapy.contrib.sdnv import SDNVUtil  # noqa: E402
from scapy.packet import Raw  # noqa: E402
import dissect  # noqa: E402
from bound import await_bound  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from node_case import wait_for  # noqa: E402

PROGRAMS = OUT = ""
SDNVUtil.setMax((1 << 64) - 1)  # scapy's own limit is 2^32 - 1
OURS, THEIRS = 2, 77  # engine numbers: the program under test, scapy
RED, CP, EORP, EOB, GREEN, GREEN_EOB, RS, RA, CS, CAS, CR, CAR = 0, 1, 2, 3, 4, 7, 8, 9, 12, 13, 14, 15


def data(kind, session, offset, payload, serial=1, report=0, service=1, **more):
    checkpoint = {"CheckpointSerialNo": serial, "ReportSerialNo": report} if kind in (CP, EORP, EOB) else {}
    return LTP(flags=kind, SessionOriginator=THEIRS, SessionNumber=session, DATA_ClientServiceID=service,
               DATA_PayloadOffset=offset, LTP_Payload=[Raw(payload)], **checkpoint, **more)


def report(session, serial, checkpoint, upper, lower, claims, **more):
    return LTP(flags=RS, SessionOriginator=OURS, SessionNumber=session, ReportSerialNo=serial,
               ReportCheckpointSerialNo=checkpoint, ReportUpperBound=upper, ReportLowerBound=lower,
               ReportReceptionClaims=[LTPReceptionClaim(ReceptionClaimOffset=o, ReceptionClaimLength=n)
                                      for o, n in claims], **more)


class Peer:
    """scapy's socket. Everything in both directions is captured."""

    def __init__(self, port, to, pcap):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", port))
        self.socket.settimeout(300)
        self.to = ("127.0.0.1", to)
        self.pcap = pcap
        self.packets = []

    def send(self, segment):
        text = bytes(segment)
        self.packets.append((time.time_ns(), dissect.datagram(text, ("127.0.0.1", 40000))))
        self.socket.sendto(text, self.to)

    def receive(self):
        text = self.socket.recv(65535)
        self.packets.append((time.time_ns(), dissect.datagram(text, target=("127.0.0.1", 40000))))
        return LTP(text)

    def await_type(self, kind):
        for _ in range(200):
            segment = self.receive()
            if segment.flags == kind:
                return segment
        raise AssertionError(f"no segment of type {kind}")

    def close(self):
        self.socket.close()
        dissect.pcap_write(self.pcap, self.packets)


def big(n):
    """An SDNV of n bytes, the value 1."""
    return b"\x80" * (n - 1) + b"\x01"


def head(kind, session, version=0, extensions=0):
    text = bytes(LTP(flags=RA, SessionOriginator=THEIRS, SessionNumber=session, RA_ReportSerialNo=1))[1:-2]
    return bytes([version << 4 | kind]) + text + bytes([extensions])


def hostile():
    """Segments, each with the verdict that it deserves."""
    valid = bytes(data(EOB, 900, 0, b"x" * 100))
    yield b"", "truncated"
    for n in range(1, len(valid)):
        yield valid[:n], "truncated"
    yield valid + b"\x00", "trailing_bytes"
    for version in range(1, 16):
        yield bytes([version << 4 | EOB]) + valid[1:], "bad_version"
    for kind in (5, 6, 10, 11):
        yield bytes([kind]) + valid[1:], "bad_type"
    # numbers: too long, above 2^64 - 1, never ending
    yield bytes([EOB]) + big(11) + valid[2:], "bad_sdnv"
    yield bytes([EOB]) + b"\xff" * 9 + b"\x7f" + valid[2:], "bad_sdnv"
    yield bytes([EOB]) + b"\xff" * 1000, "bad_sdnv"
    # lengths: one more than there is, and 2^63 more; none; an end beyond 2^64
    yield data(EOB, 901, 0, b"x" * 100, DATA_PayloadLength=101), "truncated"
    yield data(EOB, 902, 0, b"x" * 100, DATA_PayloadLength=1 << 63), "truncated"
    yield data(EOB, 903, 0, b"x" * 100, DATA_PayloadLength=99), "trailing_bytes"
    yield data(EOB, 904, 0, b"", DATA_PayloadLength=0), "bad_field"
    yield data(RED, 905, (1 << 64) - 1, b"x" * 100), "bad_field"
    yield data(EOB, 906, 0, b"x", serial=0), "bad_field"
    # huge offsets, that would want memory
    for session, offset in ((907, 1 << 32), (908, 1 << 40), (909, 1 << 63)):
        yield data(RED, session, offset, b"x" * 100), "limit_bytes"
    yield data(EOB, 910, 0, b"x" * 100, service=99), "no_client_service"
    # extensions: counts without content, lengths beyond the end, all thirty
    yield head(EOB, 911, extensions=0xF0), "truncated"
    yield data(EOB, 912, 0, b"x" * 10, HeaderExtensionCount=15), "truncated"
    yield data(EOB, 913, 0, b"x" * 10, TrailerExtensionCount=1), "truncated"
    yield data(EOB, 914, 0, b"x" * 10, HeaderExtensions=[LTPex(ExTag=0, ExLength=1 << 62, ExData=b"abc")]), "truncated"
    yield data(EOB, 915, 0, b"x" * 10, TrailerExtensions=[LTPex(ExTag=1, ExLength=50, ExData=b"abc")]), "truncated"
    # peers and sessions that do not exist
    yield LTP(flags=EOB, SessionOriginator=4711, SessionNumber=1, LTP_Payload=[Raw(b"x")], CheckpointSerialNo=1), \
        "unknown_peer"
    yield report(916, 1, 1, 10, 0, [(0, 10)]), "unknown_session"
    yield LTP(flags=RA, SessionOriginator=THEIRS, SessionNumber=917, RA_ReportSerialNo=1), "unknown_session"
    yield LTP(flags=RA, SessionOriginator=THEIRS, SessionNumber=917, RA_ReportSerialNo=0), "bad_field"
    yield LTP(flags=CS, SessionOriginator=THEIRS, SessionNumber=918, CancelFromSenderReason=255), "unknown_session"
    yield data(EOB, 918, 0, b"x"), "closed_session"
    yield LTP(flags=CAS, SessionOriginator=OURS, SessionNumber=919), "unknown_session"
    # reports whose bounds and claims cannot be
    for lower, upper, claims in ((10, 9, [(0, 1)]), (10, 10, []), (0, 10, [(0, 11)]), (0, 10, [(10, 1)]),
                                 (0, 10, [(5, 0)]), (0, 10, [(4, 2), (0, 1 << 63)])):
        yield report(920, 1, 1, upper, lower, claims), "bad_report"
    yield report(921, 0, 1, 10, 0, [(0, 10)]), "bad_field"
    yield report(922, 1, 1, 10, 0, [(0, 10)], ReportReceptionClaimCount=1 << 63), "truncated"
    # colours, ends, client services that contradict what came before
    yield data(GREEN, 923, 0, b"x" * 10), "ok"
    yield data(RED, 923, 5, b"x" * 10), "miscoloured"
    yield data(RED, 924, 10, b"x" * 10), "ok"
    yield data(GREEN, 924, 5, b"x" * 10), "miscoloured"
    yield data(EORP, 925, 90, b"x" * 10), "ok"
    yield data(RED, 925, 95, b"x" * 10), "inconsistent"
    yield data(EORP, 925, 50, b"x" * 10, serial=2), "inconsistent"
    yield data(RED, 925, 0, b"x" * 10, service=99), "inconsistent"
    yield LTP(flags=RA, SessionOriginator=THEIRS, SessionNumber=925, RA_ReportSerialNo=(1 << 63)), "inconsistent"
    yield LTP(flags=CS, SessionOriginator=THEIRS, SessionNumber=925, CancelFromSenderReason=0), "ok"


class ScapyTest(unittest.TestCase):
    def setUp(self):
        name = self.id().split(".")[-1]
        self.lab = Lab(PROGRAMS, os.path.join(OUT, name))
        self.addCleanup(self.lab.__exit__)
        self.port, self.peer_port = self.lab.udp_ports(2)
        self.peer = Peer(self.peer_port, self.port, os.path.join(OUT, "captures", name + ".pcap"))
        self.addCleanup(self.peer.close)

    def start(self, mode, *arguments):
        with open(self.lab.path("result.json"), "w") as out:
            p = subprocess.Popen([self.lab.program("helio-ltp"), mode, "--json", "--local", f"127.0.0.1:{self.port}",
                                  "--remote", f"127.0.0.1:{self.peer_port}", "--engine", str(OURS), "--peer-engine",
                                  str(THEIRS), "--rto", "100s", "--timeout", "300s", *arguments], stdout=out)
        self.lab.processes.append((mode, p))
        await_bound(self.port, p)
        return p

    def block(self, session, segments, size, red):
        """Sends a block's segments; answers the report, which must claim all of the red part; the file."""
        for segment in segments:
            self.peer.send(segment)
        if red:
            answer = self.peer.await_type(RS)
            self.assertEqual((answer.SessionOriginator, answer.SessionNumber), (THEIRS, session))
            self.assertEqual((answer.ReportLowerBound, answer.ReportUpperBound), (0, red))
            self.assertEqual([(c.ReceptionClaimOffset, c.ReceptionClaimLength) for c in answer.ReportReceptionClaims],
                             [(0, red)])
            self.peer.send(LTP(flags=RA, SessionOriginator=THEIRS, SessionNumber=session,
                               RA_ReportSerialNo=answer.ReportSerialNo))
        path = self.lab.path(f"in/{THEIRS}.{session}")
        wait_for(lambda: os.path.exists(path) and os.path.getsize(path) >= size)
        with open(path, "rb") as f:
            return f.read(size + 1)

    def test_valid_blocks(self):
        ours = self.start("receive", "--output", self.lab.path("in"), "--count", "7")
        text = random.Random(1).randbytes(3000)
        cookie, auth = LTPex(ExTag=1, ExData=b"cookie"), LTPex(ExTag=0xC0, ExData=b"private")
        blocks = {
            1: ([data(EOB, 1, 0, text[:1])], 1, 1),
            2: ([data(RED, 2, 0, text[:1000]), data(RED, 2, 1000, text[1000:2000]),
                 data(EOB, 2, 2000, text[2000:])], 3000, 3000),
            3: ([data(GREEN, 3, 0, text[:1500]), data(GREEN_EOB, 3, 1500, text[1500:])], 3000, 0),
            4: ([data(EORP, 4, 0, text[:1000]), data(GREEN, 4, 1000, text[1000:2000]),
                 data(GREEN_EOB, 4, 2000, text[2000:])], 3000, 1000),
            5: ([data(EOB, 5, 0, text, HeaderExtensions=[cookie], TrailerExtensions=[auth, cookie])], 3000, 3000),
            6: ([data(EOB, 6, 0, text, HeaderExtensions=[auth] * 15, TrailerExtensions=[auth] * 15)], 3000, 3000),
            # backwards and twice
            (1 << 64) - 1: ([data(RED, (1 << 64) - 1, 1000, text[1000:2000]), data(RED, (1 << 64) - 1, 0, text[:1000])]
                            * 2 + [data(EOB, (1 << 64) - 1, 2000, text[2000:], serial=(1 << 64) - 2)], 3000, 3000),
        }
        for session, (segments, size, red) in blocks.items():
            with self.subTest(session=session):
                self.assertEqual(self.block(session, segments, size, red), text[:size])
        self.assertEqual(ours.wait(300), 0)
        verdicts = {k: v for k, v in self.lab.load("result.json")["counters"]["verdicts"].items() if v}
        self.assertEqual(set(verdicts), {"ok", "duplicate"}, verdicts)
        self.assertEqual(verdicts["duplicate"], 2)

    def test_our_segments(self):
        """scapy reads what we send, asks for what it says is missing, and confirms the rest; its hostile reports on
        the way change nothing."""
        path = self.lab.path("data")
        text = random.Random(2).randbytes(10000)
        with open(path, "wb") as f:
            f.write(text)
        ours = self.start("send", path, "--segment", "1000B")
        got = {}
        last = None
        while last is None:
            s = self.peer.receive()
            got[s.DATA_PayloadOffset] = bytes(s.LTP_Payload[0])
            last = s if s.flags == EOB else None
        session, serial = last.SessionNumber, last.CheckpointSerialNo
        self.assertEqual(b"".join(got[k] for k in sorted(got)), text)
        for upper, lower, claims in ((10000, 10001, [(0, 1)]), (10001, 0, [(0, 10001)]), (20000, 10000, [(0, 10000)]),
                                     (10000, 0, [(0, 10001)]), (10000, 0, [(9999, 2)]), (10000, 0, [(0, 0)]),
                                     (1 << 63, 0, [(0, 1 << 63)]), (10000, 5000, [(5001, 1)])):
            self.peer.send(report(session, 50, serial, upper, lower, claims))
        self.peer.send(report(session, 51, serial + 1000000, 10000, 0, [(0, 10000)]))
        # legal, if odd: claims that overlap and are out of order; [3000, 4000) is missing
        self.peer.send(report(session, 60, serial, 10000, 0, [(4000, 6000), (0, 2000), (1000, 2000), (5000, 100)]))
        again, acked = {}, []
        while sum(map(len, again.values())) < 1000 or not acked:
            s = self.peer.receive()
            if s.flags == RA:
                acked.append(s.RA_ReportSerialNo)
            else:
                again[s.DATA_PayloadOffset] = bytes(s.LTP_Payload[0])
                last = s
        self.assertEqual(acked, [60])
        self.assertEqual((min(again), b"".join(again[k] for k in sorted(again))), (3000, text[3000:4000]))
        self.assertEqual((last.flags, last.ReportSerialNo), (CP, 60))
        self.peer.send(report(session, 61, last.CheckpointSerialNo, 4000, 0, [(0, 4000)]))
        self.assertEqual(self.peer.await_type(RA).RA_ReportSerialNo, 61)
        self.assertEqual(ours.wait(300), 0)
        counters = self.lab.load("result.json")["counters"]
        self.assertEqual(counters["verdicts"]["bad_report"], 9)
        self.assertEqual(counters["retransmitted_bytes"], 1000)

    def verdicts(self):
        counters = self.lab.control(2, "links")["links"]
        return collections.Counter({k: v for k, v in counters[0]["verdicts"].items() if v})

    def start_nodes(self, rto="100s"):
        """Node 1 sends to node 2, whose socket is also that of scapy's peer. Nothing is sent again unless it was lost."""
        one, = self.lab.udp_ports(1)
        keys = {"rto": rto, "sessions": 4, "rate": "50Mbit/s"}
        n1 = self.lab.write_node(1, [self.lab.link(2, one, self.port, **keys)])
        n2 = self.lab.write_node(2, [self.lab.link(1, self.port, one, **keys),
                                     self.lab.link(THEIRS, self.port, self.peer_port, **keys)])
        self.lab.start_node(2, n2)
        self.lab.start_node(1, n1)

    def start_perf(self, octets):
        server = self.lab.start("server", "helio-perf", "server", "--socket", self.lab.socket(2))
        client = self.lab.start("client", "helio-perf", "client", "--socket", self.lab.socket(1), "-d", "ipn:2.2000",
                                "-D", octets, "-W", "8", "-P", "20kB", "--json", self.lab.path("client.json"))
        return server, client

    def test_bundle_in_segments(self):
        self.start_nodes()
        path = self.lab.path("bundle")
        self.lab.run("helio-bundle", "make", "-s", f"ipn:{THEIRS}.1", "-d", "ipn:2.5", "--text", "x" * 2000, "-o", path)
        with open(path, "rb") as f:
            bundle = f.read()
        for red in (True, False):
            self.peer.send(data(RED if red else GREEN, 1 + red, 0, bundle[:900]))
            self.peer.send(data(EOB if red else GREEN_EOB, 1 + red, 900, bundle[900:]))
        self.assertEqual(self.peer.await_type(RS).ReportUpperBound, len(bundle))
        wait_for(lambda: [x["bundles_received"] for x in self.lab.control(2, "links")["links"] if x["name"] == f"to-{THEIRS}"] == [2])
        self.assertEqual(len(self.lab.control(2, "bundles")["bundles"]), 1, "the second one is a duplicate")

    def test_hostile_verdicts(self):
        """Each hostile segment is counted under its reason, and under no other; the node goes on."""
        self.start_nodes()
        wanted = collections.Counter()
        for segment, verdict in hostile():
            self.peer.send(segment)
            wanted[verdict] += 1
        self.assertGreater(sum(wanted.values()), 150)
        wait_for(lambda: sum(self.verdicts().values()) >= sum(wanted.values()))
        self.assertEqual(self.verdicts(), wanted)
        table = self.lab.run("helioctl", "--socket", self.lab.socket(2) + ".ctl", "--timeout", "60s", "counters")
        for verdict, count in wanted.items():
            self.assertRegex(table, rf"verdicts\.{verdict} +{count}\b")
        self.assertEqual(self.lab.control(2, "bundles")["bundles"], [])

    def test_hostile_beside_a_transfer(self):
        """Hostile segments and noise at the socket of a transfer with another peer, which loses nothing."""
        self.start_nodes(rto="5s")
        server, client = self.start_perf("10MB")
        noise, sent = random.Random(3), 0
        while client.poll() is None:
            for segment, _ in hostile():
                self.peer.send(segment)
                self.peer.send(noise.randbytes(noise.randrange(1, 100)))
                sent += 2
                time.sleep(0.0005)
        self.assertGreater(sent, 1000)
        self.assertEqual(client.wait(300), 0)
        self.lab.stop("server", server, signal.SIGINT)
        result = self.lab.load("client.json")
        self.assertGreater(result["bundles_sent"], 100)
        self.assertEqual((result["lost"], result["wrong_crc"], result["duplicates"]), (0, 0, 0))
        links = {x["name"]: x for x in self.lab.control(1, "links")["links"]}["to-2"]
        for key in ("bundles_failed", "sessions_cancelled_local", "sessions_cancelled_remote"):
            self.assertEqual(links[key], 0, key)
        self.assertGreater(self.verdicts()["bad_version"], 100)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(os.path.join(OUT, "captures"))
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
