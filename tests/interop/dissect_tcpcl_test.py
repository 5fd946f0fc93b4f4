#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tshark reads the TCPCL sessions of two nodes: contact headers, SESS_INIT, transfers in one segment and in many, with
acknowledgements, keepalives, SESS_TERM; and with TLS, that there is nothing else to read.
usage: dissect_tcpcl_test.py BIN OUT"""
import os
import shutil
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
import dissect  # noqa: E402
from certificates import NODE, Authority  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from node_case import wait_for  # noqa: E402
from stream_recorder import StreamRecorder  # noqa: E402

PROGRAMS = OUT = ""
SIZES = (1, 100, 9000, 100000)
KEEPALIVE = "5s"  # twice as long without one would end the session, whichever end paused
MESSAGES = {"segment": 1, "ack": 2, "keepalive": 4, "term": 5, "init": 7}


class DissectTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)

    def client(self, number, endpoint, **keys):
        c = aap2.Client(self.lab.socket(number))
        self.addCleanup(c.close)
        self.assertEqual(c.configure(endpoint, **keys), aap2.SUCCESS)
        return c

    @staticmethod
    def keepalives(recorder, way):
        """Of those that came by themselves, in this way."""
        return sum(len(data) for c in recorder.connections for _, w, data in c.pieces if w == way and set(data) == {MESSAGES["keepalive"]})

    def record(self, **keys):
        """Bundles both ways, silence, the end: what tshark says of each packet."""
        port, = self.lab.udp_ports(1)
        recorder = StreamRecorder(self.lab.path("session.pcap"), port)
        links = {1: {"remote": f"127.0.0.1:{recorder.port}", "segment": "10kB"}, 2: {"local": f"127.0.0.1:{port}"}}
        for n in (2, 1):
            link = {"name": "link", "adapter": "tcpcl", "peer": f"ipn:{3 - n}.0", "keepalive": KEEPALIVE, **links[n],
                    **keys.get(f"node{n}", {})}
            self.lab.start_node(n, self.lab.write_node(n, [link], log=False))
        ends = {n: (self.client(n, f"ipn:{n}.7", subscribe=True), self.client(n, f"ipn:{n}.5")) for n in (1, 2)}
        for n in (1, 2):
            for size in SIZES:
                self.assertEqual(ends[n][1].request(f"ipn:{3 - n}.7", bytes(size))[0], aap2.SUCCESS)
                self.assertEqual(ends[3 - n][0].delivery()[1], bytes(size))
        if not keys:  # what TLS carries is not to be seen
            wait_for(lambda: min(self.keepalives(recorder, way) for way in (0, 1)) >= 1)
        for name, p in reversed(self.lab.processes):
            self.lab.stop(name, p)
            time.sleep(0.5)  # two SESS_TERM that cross are right, but tshark misses the flag of a reply in the second one
        recorder.stop()
        self.assertTrue(recorder.whole())
        return dissect.frames(recorder.path, "-2")  # the first pass does not know yet what follows

    def test_plain(self):
        seen = {name: 0 for name in MESSAGES}
        headers = bundles = 0
        for number, frame in enumerate(self.record(), 1):
            # tshark does not know what the payload is, and says so
            self.assertEqual([c for c in frame.complaints() if c != "Unknown type code"], [], f"frame {number}")
            kinds = frame.numbers("tcpcl.v4.mhdr.type")
            for name, code in MESSAGES.items():
                seen[name] += kinds.count(code)
            bundles += "bpv7" in frame.protocols()
            headers += len(frame.all("tcpcl.contact_hdr.version"))
        self.assertEqual((headers, seen["init"]), (2, 2))
        self.assertGreaterEqual(seen["keepalive"], 2)
        self.assertGreaterEqual(seen["term"], 1)
        self.assertGreaterEqual(seen["segment"], 2 * len(SIZES) + 10)
        self.assertEqual(seen["ack"], seen["segment"])
        self.assertEqual(bundles, 2 * len(SIZES))

    def test_tls(self):
        ca = Authority(self.lab.path("ca"))
        keys = {}
        for n in (1, 2):
            certificate, key = ca.issue(f"node{n}", f"{NODE}ipn:{n}.0")
            keys[f"node{n}"] = {"tls": "required", "tls.certificate": certificate, "tls.key": key, "tls.ca": ca.file}
        frames = self.record(**keys)
        seen = set()
        for number, frame in enumerate(frames, 1):
            self.assertEqual(frame.complaints(), [], f"frame {number}")
            seen.update(frame.protocols())
            self.assertEqual(frame.numbers("tcpcl.v4.mhdr.type"), [])
        self.assertIn("tls", seen)
        self.assertNotIn("bpv7", seen)
        self.assertEqual(sum(len(f.all("tcpcl.contact_hdr.version")) for f in frames), 2)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
