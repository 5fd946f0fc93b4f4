# SPDX-License-Identifier: Apache-2.0
"""CADUs of helio-frames and of a node against code that is not ours: Reed-Solomon by reedsolo, and pycadu, a reader of weather
satellites' downlinks. usage: cadu_peers_test.py BIN OUT [TEST...] (with the Python of tests/interop/venv.sh)"""

import json
import os
import random
import subprocess
from pathlib import Path

import reedsolo
from pycadu.cadu import detect_cadu_stride, extract_vcid
from pycadu.reader import cadu_blocks, vcdu_payloads
from pycadu.sync import find_sync_pattern

import _paths  # noqa: F401
import node_case  # noqa: E402
from node_case import NodeCase, wait_for  # noqa: E402
import aap2  # noqa: E402

MARKER = bytes.fromhex("1acffc1d")
# 131.0-B annex F: what each bit of a field element, the highest first, adds to an octet
DUAL_ROWS = (0x8d, 0xef, 0xec, 0x86, 0xfa, 0x99, 0xaf, 0x7b)
TO_DUAL = bytearray(256)
for element in range(256):
    for n, row in enumerate(DUAL_ROWS):
        TO_DUAL[element] ^= row if element & 0x80 >> n else 0
FROM_DUAL = bytes(TO_DUAL.index(octet) for octet in range(256))
# degree, the tap beside the last one, the state at the start, whose lowest bit is the first of the sequence
SEQUENCES = {"yes": (8, (0, 3, 5, 7), 0xff), "long": (17, (0, 14), 0x18e38)}
COUNT = 30


def randomise(data, sequence):
    if sequence == "no":
        return data
    degree, taps, state = SEQUENCES[sequence]
    bits = 0
    for _ in range(8 * len(data)):
        bits = bits << 1 | state & 1
        state = state >> 1 | (sum(state >> t for t in taps) & 1) << degree - 1
    return (int.from_bytes(data, "big") ^ bits).to_bytes(len(data), "big")


class Format:
    """Data symbols of a codeword (0: uncoded), its depth, virtual fill of a codeword, basis, randomiser."""

    def __init__(self, data, depth=1, fill=0, basis="dual", sequence="yes"):
        self.data, self.depth, self.fill, self.basis, self.sequence = data, depth, fill, basis, sequence
        self.frame = depth * (data - fill) if data else 300
        self.unit = 4 + (depth * (255 - fill) if data else 300)

    def words(self, read):
        words = ["-k", "aos", "-l", str(self.frame), "--scid", "171", "--vcid", "5"]
        if self.data:
            words += ["--rs", str(self.data), "--interleave", str(self.depth), "--basis", self.basis]
        if self.sequence != "no":
            words += ["--randomised" if read else "--randomise"]
        return words + (["--long-randomiser"] if self.sequence == "long" else [])

    def keys(self):
        randomiser = {"frames.length": f"{self.frame}B", "cadu.randomise": self.sequence, "cadu.basis": self.basis}
        return {"frames": "aos", "frames.scid": 171, "frames.vcid": 5, "cadu": f"rs{self.data}" if self.data else "uncoded",
                "cadu.interleave": self.depth, **randomiser}

    def codec(self):
        """The book's generator has powers of α¹¹, which is 0xad."""
        checks = 255 - self.data
        return reedsolo.RSCodec(checks, nsize=255, fcr=128 - checks // 2, prim=0x187, generator=0xad)

    def encode(self, frame):
        """By reedsolo."""
        if not self.data:
            return MARKER + randomise(frame, self.sequence)
        dual = self.basis == "dual"
        codec, block = self.codec(), bytearray(self.unit - 4)
        for word in range(self.depth):
            data = frame[word::self.depth]
            whole = codec.encode(bytes(self.fill) + (data.translate(FROM_DUAL) if dual else data))[self.fill:]
            block[word::self.depth] = whole.translate(TO_DUAL) if dual else whole
        return MARKER + randomise(bytes(block), self.sequence)

    def decode(self, unit):
        """Likewise."""
        block = randomise(unit[4:], self.sequence)
        if not self.data:
            return block
        dual = self.basis == "dual"
        codec, frame = self.codec(), bytearray(self.frame)
        for word in range(self.depth):
            whole = block[word::self.depth]
            data = bytes(codec.decode(bytes(self.fill) + (whole.translate(FROM_DUAL) if dual else whole))[0][self.fill:])
            frame[word::self.depth] = data.translate(TO_DUAL) if dual else data
        return bytes(frame)

    def damage(self, unit, rng):
        """As many octets of each codeword as can be corrected."""
        unit = bytearray(unit)
        for word in range(self.depth if self.data else 0):
            for at in rng.sample(range(255 - self.fill), (255 - self.data) // 2):
                unit[4 + word + self.depth * at] ^= rng.randrange(1, 256)
        return bytes(unit)


FORMATS = [Format(223, depth) for depth in (1, 2, 3, 4, 5, 8)]
FORMATS += [Format(239, depth, sequence="no") for depth in (1, 5, 8)]
FORMATS += [Format(223, 5, 100), Format(239, 4, 200), Format(223, 4, basis="conventional"), Format(239, 1, 7, "conventional", "no")]
FORMATS += [Format(0), Format(0, sequence="long"), Format(223, 5, sequence="long")]


class CaduPeersTest(NodeCase):
    def tool(self, *words):
        return subprocess.run([self.lab.program("helio-frames"), *words], capture_output=True, text=True, timeout=300, check=True).stdout

    def cut(self, path, length):
        data = Path(path).read_bytes()
        self.assertEqual(len(data) % length, 0)
        return [data[at:at + length] for at in range(0, len(data), length)]

    def frames(self, f):
        """Frames, and helio-frames' CADUs of them."""
        frames, units = self.lab.path("frames"), self.lab.path("cadus")
        self.tool("gen", "-n", str(COUNT), "--packet", "200", *f.words(False)[:8], "-o", frames)
        self.tool("convert", "--to", "cadu", *f.words(False), frames, "-o", units)
        return self.cut(frames, f.frame), self.cut(units, f.unit)

    def test_codes(self):
        """The same octets by both writers; each reads what the other wrote and a channel damaged up to the code's capacity."""
        rng = random.Random(1)
        for f in FORMATS:
            with self.subTest(f.words(False)):
                frames, units = self.frames(f)
                self.assertEqual((len(frames), len(units)), (COUNT, COUNT))
                theirs = [f.encode(frame) for frame in frames]
                self.assertEqual(units, theirs)
                for frame, unit in zip(frames[:5], units):
                    self.assertEqual(f.decode(f.damage(unit, rng)), frame)
                damaged, back = self.lab.path("damaged"), self.lab.path("back")
                Path(damaged).write_bytes(b"".join(f.damage(unit, rng) for unit in theirs))
                told = json.loads(self.tool("info", "--from", "cadu", *f.words(True), "--numbered", "--json", damaged))
                self.assertEqual((told["frames"], told["verdicts"]["ok"]), (COUNT, COUNT))
                self.assertEqual(told["cadus"]["symbols_corrected"], COUNT * f.depth * (255 - f.data) // 2 if f.data else 0)
                self.tool("convert", "--from", "cadu", *f.words(True), damaged, "-o", back)
                self.assertEqual(self.cut(back, f.frame), frames)

    def test_links(self):
        """A node's recording to the other decoder, and the other's CADUs to a node."""
        rng = random.Random(2)
        for f in (Format(223, 5), Format(239, 8), Format(223, 4, 20, "conventional", "long"), Format(0)):
            record, replay = self.lab.path(f"{f.unit}.record"), self.lab.path(f"{f.unit}.replay")
            link = self.lab.link(2, 1, 2, rto="10s", **f.keys(), frames_port="file", frames_record=record)
            node = self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
            payload = os.urandom(20000)
            self.assertEqual(self.client(1, "ipn:1.7").request("ipn:2.7", payload)[0], aap2.SUCCESS)
            wait_for(lambda: os.path.exists(record) and os.path.getsize(record) > 20000)
            self.lab.stop("node1", node)
            units = self.cut(record, f.unit)
            frames = [f.decode(f.damage(unit, rng)) for unit in units]
            for n, frame in enumerate(frames):
                self.assertEqual(frame[:5], (1 << 14 | 171 << 6 | 5).to_bytes(2, "big") + n.to_bytes(3, "big"))
            Path(replay).write_bytes(b"".join(f.damage(f.encode(frame), rng) for frame in frames))
            link = self.lab.link(1, 2, 1, rto="10s", **f.keys(), frames_port="file", frames_replay=replay)
            node = self.lab.start_node(2, self.lab.write_node(2, [link], log=False))
            self.assertEqual(self.client(2, "ipn:2.7", subscribe=True).delivery()[1], payload)
            line = self.lab.control(2, "links")["links"][0]["frames"]["line"]
            self.assertEqual((line["in"], line["cadu_erred"], line["cadu_sync_losses"]), (len(frames), 0, 0))
            self.assertEqual(line["cadu_corrected"], len(frames) * f.depth * (255 - f.data) // 2 if f.data else 0)
            self.lab.stop("node2", node)

    def test_pycadu(self):
        """It knows units of 1024 octets that are not randomised, without decoding: where they are, of which channel, and what is in them."""
        f = Format(223, 4, sequence="no")
        frames, units = self.frames(f)
        path = self.lab.path("cadus")
        self.assertEqual(detect_cadu_stride(Path(path).read_bytes()), 1024)
        blocks = list(cadu_blocks(Path(path), 1024))
        self.assertEqual(blocks, units)
        self.assertEqual({extract_vcid(block) for block in blocks}, {5})
        self.assertEqual(list(vcdu_payloads(iter(blocks), 1024, 5)), [frame[10:] for frame in frames])
        self.assertEqual(list(vcdu_payloads(iter(blocks), 1024, 6)), [])
        data = int.from_bytes(units[0], "big")
        for shift in range(1, 8):
            self.assertEqual(find_sync_pattern((data << 8 - shift).to_bytes(1025, "big"), MARKER), (0, shift))


if __name__ == "__main__":
    node_case.main("CaduPeersTest")
