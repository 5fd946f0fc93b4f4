# SPDX-License-Identifier: Apache-2.0
"""Quality and continuity of frames as helio-sle's provider judges them, against the account of who made them.

usage: sle_quality_test.py BIN"""

import binascii
import os
import random
import socket
import struct
import subprocess
import sys
import unittest

import sle_case

COUNT, FRAME = 20000, 128
IDS = {"good": "sagr=1.spack=1.rsl-fg=1.raf=onlc1", "erred": "sagr=1.spack=1.rsl-fg=1.raf=onlc2", "all": "sagr=1.spack=1.rsl-fg=1.raf=onlc3"}
RCF = "sagr=1.spack=1.rsl-fg=1.rcf=onlc1"
ERRED = 1


def aos_frame(vcid, count):
    """An AOS frame of spacecraft 171 with its check value (CRC-16 of CCITT, which binascii has)."""
    head = struct.pack(">HBHB", 0x4000 | 171 << 6 | vcid, count >> 16 & 255, count & 0xffff, 0)
    frame = head + os.urandom(FRAME - 8)
    return frame + struct.pack(">H", binascii.crc_hqx(frame, 0xffff))


def damage(frame, draw):
    """One to three octets are others; in the header, too."""
    octets = bytearray(frame)
    for _ in range(draw.randint(1, 3)):
        octets[draw.randrange(FRAME)] ^= draw.randint(1, 255)
    return bytes(octets)


class QualityTest(sle_case.SleCase):
    def start(self, port, record):
        instances = "".join(f"  - {{id: {i}, users: CENTRE, source: modem}}\n" for i in IDS.values())
        self.provider(f"""sources:
  - {{name: modem, kind: tcp, address: '127.0.0.1:{port}', frame: {FRAME}, fecf: 2{record}}}
instances:
{instances}  - {{id: {RCF}, users: CENTRE, source: modem, gvcids: 1.171.*}}
""")

    def users(self, wanted):
        started = {}
        for name, frames in wanted.items():
            rcf = name == "rcf"
            options = ["--gvcid", "1.171.5"] if rcf else ["--quality", name]
            command = self.user_command(RCF if rcf else IDS[name], "-n", str(frames), "--frames-csv", self.path(name + ".csv"), "-o", self.path(name), *options)
            started[name] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self.running.append(started[name])
        ids = {i["id"]: i for i in self.status()["instances"]}
        self.assertEqual(len(ids), 4)
        self.until(lambda: sum(i["state"] == "active" for i in self.status()["instances"]) == len(wanted), "the users do not start")
        return started

    def told(self, name):
        """(continuity, quality) of each frame that this user got."""
        with open(self.path(name + ".csv")) as f:
            rows = [line.split(",") for line in f.read().split("\n")[1:] if line]
        return [(int(r[4]), int(r[5])) for r in rows]

    def test_erred_and_missing(self):
        """1 % erred and 1 % missing, on two virtual channels; the counts of an erred frame are not believed."""
        draw, sent, counts = random.Random(4), [], {5: 2**24 - 300, 9: 0}  # one of them wraps
        missing = 0
        for k in range(COUNT):
            vcid = draw.choice((5, 9))
            frame, counts[vcid] = aos_frame(vcid, counts[vcid] % 2**24), counts[vcid] + 1
            fate = draw.random() if 100 < k < COUNT - 100 else 1
            if fate < 0.01:
                missing += 1
            elif fate < 0.02:
                sent.append((vcid, damage(frame, draw), False))
            else:
                sent.append((vcid, frame, True))
        frames = {"good": [f for _, f, good in sent if good], "erred": [f for _, f, good in sent if not good], "all": [f for _, f, _ in sent],
                  "rcf": [f for v, f, good in sent if good and v == 5]}
        modem = sle_case.free_port()
        self.start(modem, "")
        users = self.users({name: len(f) for name, f in frames.items()})
        with socket.create_connection(("127.0.0.1", modem)) as s:
            s.sendall(b"".join(f for _, f, _ in sent))
            for name, p in users.items():
                self.assertEqual(p.wait(300), 0, name)
        for name, expected in frames.items():
            with self.subTest(name), open(self.path(name), "rb") as f:
                self.assertEqual(f.read(), b"".join(expected))
        source = self.status()["sources"][0]
        self.assertEqual((source["frames"], source["erred"], source["missing"]), (len(sent), len(frames["erred"]), missing))
        for name in ("good", "all"):
            told = self.told(name)
            self.assertEqual(told[0][0], -1)
            self.assertEqual(sum(c for c, _ in told[1:]), missing, name)
        self.assertEqual([q == ERRED for _, q in self.told("all")], [not good for _, _, good in sent])
        last = max(k for k, (_, _, good) in enumerate(sent) if not good)
        self.assertLessEqual(sum(c for c, _ in self.told("erred")[1:]), missing)
        self.assertGreater(last, COUNT // 2)
        self.stop()


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
