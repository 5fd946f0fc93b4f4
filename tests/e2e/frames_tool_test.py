# SPDX-License-Identifier: Apache-2.0
"""helio-frames: its examples run; what it writes is read by a second reading of the standards, in Python, and what that
writes is read by it; losses and errors are told. usage: frames_tool_test.py BIN OUT ROOT"""

import binascii
import json
import os
import random
import re
import shutil
import subprocess
import sys
import unittest

PROGRAMS = OUT = ROOT = ""
ASM = bytes.fromhex("1acffc1d")


def run(*words, code=0, **more):
    done = subprocess.run([os.path.join(PROGRAMS, "helio-frames"), *words], capture_output=True, timeout=1000, check=False, **more)
    assert done.returncode == code, (words, done.returncode, done.stdout[:300], done.stderr)
    return done


def path(name):
    return os.path.join(OUT, name)


def read(name):
    with open(path(name), "rb") as f:
        return f.read()


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)
    return path(name)


def info(*words):
    return json.loads(run("info", "--json", *words).stdout)


def sequence(taps, octets):
    """Of the recurrence: a bit is the sum of those `taps` behind the one eight before it."""
    bits = [1] * 8
    while len(bits) < 8 * octets:
        bits.append(sum(bits[len(bits) - 8 + t] for t in taps) & 1)
    return bytes(int("".join(map(str, bits[8 * i:8 * i + 8])), 2) for i in range(octets))


def long_sequence(octets):
    """Of the 17 cells: a bit is the sum of the one 17 before it and the one 3 before it."""
    bits = [0x18e38 >> i & 1 for i in range(17)]
    while len(bits) < 8 * octets:
        bits.append(bits[-17] ^ bits[-3])
    return bytes(int("".join(map(str, bits[8 * i:8 * i + 8])), 2) for i in range(octets))


def double(x):
    return x << 1 ^ (0x187 if x & 0x80 else 0)


def multiply(a, b):
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a, b = double(a), b >> 1
    return product


def power(n):
    x = 1
    for _ in range(n % 255):
        x = double(x)
    return x


def to_dual(x):
    rows = (0x8d, 0xef, 0xec, 0x86, 0xfa, 0x99, 0xaf, 0x7b)
    out = 0
    for i, row in enumerate(rows):
        out ^= row if x & 0x80 >> i else 0
    return out


DUAL = bytes(to_dual(x) for x in range(256))
FIELD = bytes(DUAL.index(x) for x in range(256))


def reed_solomon(frame, data, depth, dual=True):
    """A frame's codeblock, by division symbol by symbol."""
    checks = 255 - data
    generator = [1]
    for j in range(128 - checks // 2, 128 + checks // 2):
        root = power(11 * j)
        generator = [a ^ multiply(b, root) for a, b in zip(generator + [0], [0] + generator)]
    words = []
    for w in range(depth):
        rest = [0] * checks
        for symbol in frame[w::depth]:
            lead = (FIELD[symbol] if dual else symbol) ^ rest[0]
            rest = [a ^ multiply(lead, g) for a, g in zip(rest[1:] + [0], generator[1:])]
        words.append([DUAL[x] if dual else x for x in rest])
    return frame + bytes(x for row in zip(*words) for x in row)


CONVOLUTIONAL = {"1/2": "11", "2/3": "1101", "3/4": "110110", "5/6": "1101100110", "7/8": "11010101100110"}


def convolve(data, rate):
    """Symbols of both generators, those that are sent."""
    window, out, pattern = 0, [], CONVOLUTIONAL[rate]
    for octet in data:
        for bit in range(7, -1, -1):
            window = (window << 1 | octet >> bit & 1) & 0x7f
            for generator in (0x4f, 0x6d):
                if pattern[len(out) % len(pattern)] == "1":
                    inverted = rate == "1/2" and generator == 0x6d
                    out.append(((window & generator).bit_count() + inverted) & 1)
                else:
                    out.append(None)
    return [s for s in out if s is not None]


def shift(data, bits, invert=False):
    """The same bits behind so many zeros."""
    value = int.from_bytes(data, "big")
    if invert:
        value ^= (1 << 8 * len(data)) - 1
    return (value << (8 - bits)).to_bytes(len(data) + 1, "big")


TM_PN, TC_PN = sequence((0, 3, 5, 7), 2048), sequence((0, 1, 2, 3, 4, 6), 2048)


def add(data, pn):
    return bytes(a ^ b for a, b in zip(data, pn))


def bch(octets):
    value = int.from_bytes(octets, "big") << 7
    for bit in range(62, 6, -1):
        if value >> bit & 1:
            value ^= 0xc5 << (bit - 7)
    return bytes([~(value << 1) & 0xfe])


def cltu(frame):
    frame = add(frame, TC_PN)
    frame += b"\x55" * (-len(frame) % 7)
    blocks = (frame[i:i + 7] for i in range(0, len(frame), 7))
    return b"\xeb\x90" + b"".join(b + bch(b) for b in blocks) + bytes.fromhex("c5c5c5c5c5c5c579")


def payload(n, length):
    return n.to_bytes(8, "big") + bytes((n + i) & 255 for i in range(8, length))


def encap(protocol, data):
    if len(data) <= 253:
        return bytes([0xe1 | protocol << 2, len(data) + 2]) + data
    return bytes([0xe2 | protocol << 2, 0]) + (len(data) + 4).to_bytes(2, "big") + data


def zone_aos(f, count, scid, vcid):
    assert f[:6] == (1 << 14 | scid << 6 | vcid).to_bytes(2, "big") + count.to_bytes(3, "big") + b"\0", f[:6].hex()
    return int.from_bytes(f[6:8], "big"), 0x7ff, f[8:-2]


def zone_tm(f, count, scid, vcid):
    assert f[:4] == (scid << 4 | vcid << 1 | 1).to_bytes(2, "big") + bytes([count & 255] * 2), f[:4].hex()
    assert f[4] >> 3 == 3 and f[-6:-2] == b"\0\0\0\0"  # no secondary header; packets; an empty OCF
    return int.from_bytes(f[4:6], "big") & 0x7ff, 0x7ff, f[6:-6]


def zone_uslp(f, count, scid, vcid):
    assert f[:4] == (12 << 28 | scid << 12 | vcid << 5 | 3 << 1).to_bytes(4, "big"), f[:4].hex()
    assert f[4:11] == (len(f) - 1).to_bytes(2, "big") + b"\x02" + count.to_bytes(2, "big") + b"\x33"[:0] + f[9:11]
    assert f[9] == 0  # construction rule 0, packets
    return int.from_bytes(f[10:12], "big"), 0xffff, f[12:-2]


class FramesToolTest(unittest.TestCase):
    def test_examples(self):
        """Of the page and of each --help, in the order in which they build on each other."""
        with open(os.path.join(ROOT, "docs/frames.md"), encoding="utf-8") as f:
            text = f.read().split("## Examples")[1]
        for words in ([], ["gen"], ["info"], ["convert"]):
            text += run(*words, "--help").stdout.decode()
        lines = {line.strip() for line in text.splitlines() if re.match(r" *helio-frames (gen|info|convert) .*/tmp/", line)}
        lines = {line for line in lines if "--sdls" not in line}  # sdls_test.py and help_test.py run these
        self.assertGreaterEqual(len(lines), 10)
        order = {"gen": 0, "convert": 1, "info": 2}
        for line in sorted(lines, key=lambda line: (order[line.split()[1]], "packets" in line.split("-o")[0].split("--to")[0], line)):
            with self.subTest(line):
                run(*(w.replace("/tmp/", OUT + "/") for w in line.split("#")[0].split()[1:]))

    def test_ldpc(self):
        """Each rate and length: the block is the frame, errors are corrected, and too many are told."""
        for length, rate, coded_len, share in ((128, "1/2", 256, .03), (512, "2/3", 768, .015), (128, "4/5", 160, .005), (2048, "4/5", 2560, .005),
                                               (892, "7/8", 1020, .005)):
            with self.subTest(length=length, rate=rate):
                code = ["-l", str(length), "--ldpc", rate]
                run("gen", "-n", "12", "--packet", "200", "-l", str(length), "-o", path("plain"))
                run("gen", "-n", "12", "--packet", "200", *code, "--to", "cadu", "-o", path("coded"))
                marker = bytes.fromhex("1acffc1d" if rate == "7/8" else "034776c7272895b0")
                size = len(marker) + coded_len
                coded, plain = read("coded"), read("plain")
                self.assertEqual(len(coded), 12 * size)
                for i in range(12):
                    unit = coded[i * size:][:size]
                    self.assertEqual(unit[:len(marker) + length], marker + plain[i * length:][:length])
                run("convert", *code, "--from", "cadu", "--to", "cadu", "--randomise", "--bit-errors", str(share), path("coded"), "-o", path("worse"))
                told = info(*code, "--from", "cadu", "--randomised", "--marker-errors", "8", "--numbered", path("worse"))
                self.assertEqual((told["cadus"]["quality"]["good"], told["numbered"]["missing"], told["numbered"]["damaged"]), (12, 0, 0))
                self.assertGreater(told["cadus"]["symbols_corrected"], 12 * size * 8 * share / 3)
                self.assertGreaterEqual(told["cadus"]["iterations"], 12)
                run("convert", *code, "--from", "cadu", path("worse"), "--randomised", "--marker-errors", "8", "-o", path("again"))
                self.assertEqual(read("again"), plain)
        # the decoder stops for the longest and C2 when too many checks fail
        for length, rate, least in ((128, "4/5", 50), (512, "4/5", 50), (2048, "4/5", 10), (892, "7/8", 10)):
            code = ["-l", str(length), "--ldpc", rate]
            run("gen", "-n", "12", "--packet", "200", *code, "--to", "cadu", "-o", path("coded"))
            run("convert", *code, "--from", "cadu", "--to", "cadu", "--randomise", "--bit-errors", "0.04", path("coded"), "-o", path("worse"))
            rows = run("info", *code, "--from", "cadu", "--randomised", "--each", "--marker-errors", "8", path("worse")).stdout.decode().splitlines()
            self.assertEqual(rows[0].split(",")[-1], "iterations")
            self.assertEqual({r.split(",")[1] for r in rows[1:]}, {"erred"}, length)
            self.assertTrue(all(least <= int(r.split(",")[-1]) <= 50 for r in rows[1:]), rows)
        run("info", "--ldpc", "1/2", "--from", "cadu", path("worse"), code=2)
        wrong = run("info", "-l", "512", "--ldpc", "7/8", "--from", "cadu", path("worse"), code=2)
        self.assertIn(b"7136 bits: 892 octets", wrong.stderr)
        run("gen", "-l", "128", "--ldpc", "1/2", "--rs", "223", "--to", "cadu", code=2)

    def test_kinds(self):
        """Each kind's frames, octet by octet."""
        for kind, zone_of, more in (("aos", zone_aos, []), ("tm", zone_tm, ["--ocf"]),
                                    ("uslp", zone_uslp, ["--count-octets", "2", "--map", "3"])):
            with self.subTest(kind):
                scid, vcid, length, size, n = 0xab, 5, 300, 333, 40
                run("gen", "-k", kind, "-l", str(length), "-n", str(n), "--packet", str(size), "--scid", str(scid), "--vcid",
                    str(vcid), "-o", path(kind), *more)
                data = read(kind)
                self.assertEqual(len(data), n * length)
                stream, packet = b"", encap(7, payload(0, size))
                for i in range(n):
                    frame = data[i * length:(i + 1) * length]
                    self.assertEqual(binascii.crc_hqx(frame, 0xffff), 0)
                    pointer, none, zone = zone_of(frame, i, scid, vcid)
                    due = -len(stream) % len(packet)
                    if i < n - 2:  # idle packets are in the last two
                        self.assertEqual(pointer, due if due < len(zone) else none, i)
                    stream += zone
                for i in range(len(stream) // len(packet)):
                    self.assertEqual(stream[i * len(packet):(i + 1) * len(packet)], encap(7, payload(i, size)))
                rest = stream[len(stream) // len(packet) * len(packet):]
                self.assertTrue(rest == b"" or rest[0] & 0xfc == 0xe0, rest[:8].hex())  # idle

    def test_markers(self):
        run("gen", "-n", "50", "-l", "200", "--packet", "64", "--to", "cadu", "--randomise", "-o", path("m.cadu"))
        run("gen", "-n", "50", "-l", "200", "--packet", "64", "-o", path("m.frames"))
        plain, cadu = read("m.frames"), read("m.cadu")
        self.assertEqual(cadu, b"".join(ASM + add(plain[i:i + 200], TM_PN) for i in range(0, len(plain), 200)))
        write("n.cadu", b"xyz" + cadu[:500] + b"noise" + cadu[500:-10])  # one is cut in two by it, the last one short
        told = info("--from", "cadu", "--randomised", "-l", "200", path("n.cadu"))
        self.assertEqual((told["frames"], told["verdicts"]["ok"], told["verdicts"]["fecf"]), (49, 48, 1))
        self.assertEqual(told["skipped_octets"], 3 + 5 + 194)
        self.assertEqual((told["channels"][0]["gaps"], told["channels"][0]["lost"]), (1, 1))
        run("convert", "--from", "cadu", "--randomised", "-l", "200", path("m.cadu"), "-o", path("m.again"))
        self.assertEqual(read("m.again"), plain)

    def test_codes(self):
        """CADUs with Reed-Solomon, as a second implementation makes them."""
        pn = long_sequence(2048)
        for data, depth, length, dual, long in ((223, 5, 1115, True, False), (223, 1, 200, False, False), (239, 8, 1600, True, True)):
            with self.subTest((data, depth)):
                words = ["-l", str(length), "--rs", str(data), "--interleave", str(depth), *([] if dual else ["--basis", "conventional"])]
                words += ["--long-randomiser"] if long else []
                run("gen", "-n", "6", "-l", str(length), "-o", path("c.frames"))
                run("convert", path("c.frames"), "--to", "cadu", "--randomise", "-o", path("c.cadu"), *words)
                plain, cadus = read("c.frames"), read("c.cadu")
                frames = [plain[i:i + length] for i in range(0, len(plain), length)]
                want = b"".join(ASM + add(reed_solomon(f, data, depth, dual), pn if long else TM_PN) for f in frames)
                self.assertEqual(cadus, want)
                run("convert", "--from", "cadu", "--randomised", path("c.cadu"), "-o", path("c.again"), *words)
                self.assertEqual(read("c.again"), plain)

    def test_demodulators(self):
        """Any bit, either polarity, slips, and errors: each CADU has its quality."""
        words = ["--from", "cadu", "--randomised", "--rs", "223"]
        run("gen", "-n", "20", "--to", "cadu", "--randomise", "--rs", "223", "-o", path("d.cadu"))
        data = bytearray(read("d.cadu"))
        size = 4 + 1275
        for i in range(16):  # in one codeword of CADU 3
            data[3 * size + 4 + 5 * i] ^= 0x40
        for i in range(17):  # one more in CADU 5
            data[5 * size + 4 + 5 * i] ^= 0x04
        data[7 * size] ^= 0xff  # no marker any more
        inverted = shift(bytes(data[10 * size:]), 3, True)[1:]
        write("e.cadu", b"noise" + bytes(data[:10 * size]) + inverted)  # five bits are lost, and with them CADU 10's marker
        told = info("--numbered", *words, path("e.cadu"))
        cadus = told["cadus"]
        self.assertEqual(cadus["quality"], {"unknown": 0, "good": 18, "erred": 1})
        self.assertEqual((cadus["symbols_corrected"], cadus["frames_corrected"], cadus["most_of_a_codeword"]), (16, 1, 16))
        self.assertEqual((cadus["codewords_failed"], cadus["markers_missing"], cadus["inversions"]), (1, 1, 1))
        self.assertEqual((cadus["resynchronised"], told["verdicts"]["ok"], told["channels"][0]["lost"]), (2, 18, 2))
        each = run("info", "--each", *words, path("e.cadu")).stdout.decode().splitlines()
        self.assertEqual(each[0].split(",")[:4], ["number", "quality", "corrected", "most_of_a_codeword"])
        self.assertEqual(each[4], "3,good,16,16,0,0,0,0,0,0,0")
        self.assertEqual(each[6], "5,erred,0,0,1,0,0,0,0,0,0")
        self.assertEqual(each[8], "7,good,0,0,0,0,0,0,1,0,0")
        self.assertEqual(each[11].split(",")[5], "1")
        done = run("convert", *words, path("e.cadu"), "-o", path("e.frames"))
        self.assertIn(b"1 frames could not be decoded", done.stderr)
        self.assertEqual(len(read("e.frames")), 18 * 1115)
        run("convert", "--erred", *words, path("e.cadu"), "-o", path("e.frames"))
        self.assertEqual(len(read("e.frames")), 19 * 1115)
        run("convert", "--erred", "--to", "modem", *words, path("e.cadu"), "-o", path("e.hsf"))
        units, last = read("e.hsf"), b""
        self.assertEqual(len(units), 19 * (28 + 1115))
        for i in range(19):  # heads as docs/helio-sle.md has them; the quality of the fifth is "erred"
            head, frame = units[i * 1143:i * 1143 + 28], units[i * 1143 + 28:(i + 1) * 1143]
            self.assertEqual((head[:4], head[4], head[5], head[6]), (b"HSF1", 0, int(i == 5), 0))
            self.assertGreater(head[8:18], last)
            last = head[8:18]
            self.assertEqual(head[18:], b"\0\0" + b"\xff" * 4 + (1115).to_bytes(4, "big"))
            self.assertEqual(frame, read("e.frames")[i * 1115:(i + 1) * 1115])
        run("convert", *words, "--to", "cadu", "--randomise", "--bit-errors", "0.001", path("d.cadu"), "-o", path("f.cadu"))
        wrong = sum((a ^ b).bit_count() for a, b in zip(read("d.cadu"), read("f.cadu")))
        self.assertTrue(120 < wrong < 300, wrong)
        told = info("--numbered", *words, path("f.cadu"))
        self.assertEqual(told["cadus"]["quality"]["good"], 20)
        self.assertTrue(120 < told["cadus"]["symbols_corrected"] < wrong + 1)

    def test_convolutional(self):
        """Symbols as a second implementation makes them; each rate back, with errors, from within a period, with lost ones."""
        cadu = ["--from", "cadu", "--randomised", "--rs", "223"]
        gen = ["gen", "-n", "24", "--to", "cadu", "--randomise", "--rs", "223", "-o", path("v.symbols")]
        run(*gen[:-1], path("v.cadu"))
        for rate in CONVOLUTIONAL:
            with self.subTest(rate):
                run(*gen, "--convolutional", rate)
                symbols = convolve(read("v.cadu") + bytes(64), rate)
                filled = symbols + [0] * (-len(symbols) % 8)
                packed = bytes(int("".join(map(str, filled[i:i + 8])), 2) for i in range(0, len(filled), 8))
                self.assertEqual(read("v.symbols"), packed)
                told = info(*cadu, "--convolutional", rate, "--numbered", path("v.symbols"))
                self.assertEqual((told["cadus"]["quality"]["good"], told["cadus"]["symbols_corrected"]), (24, 0))
                self.assertEqual((told["convolutional"]["wrong"], told["convolutional"]["begins"]), (0, 1))
                self.assertEqual(told["numbered"]["missing"] + told["numbered"]["damaged"], 0)
                # from the fourth symbol on, inverted, as octets, and 101 symbols lost in the middle
                middle = len(symbols) // 2
                some = symbols[3:middle] + symbols[middle + 101:]
                write("w.symbols", bytes(200 - 140 * s for s in some))
                told = info(*cadu, "--convolutional", rate, "--soft", path("w.symbols"))
                self.assertGreaterEqual(told["cadus"]["quality"]["good"], 24 - 4 - 24 * 2 * 65536 // len(symbols))
                run(*gen, "--convolutional", rate, "--bit-errors", "0.001")
                told = info(*cadu, "--convolutional", rate, "--numbered", path("v.symbols"))
                self.assertEqual(told["cadus"]["quality"]["good"], 24)
                self.assertTrue(150 < told["convolutional"]["wrong"] < 3000, told["convolutional"])

    def test_a_pipe(self):
        """A demodulator's stream that goes on: each frame leaves when its CADU, or what decides its symbols, has arrived."""
        words = ["--to", "cadu", "--rs", "223", "--randomise"]
        for more, whole in ([], 4), (["--convolutional", "1/2"], 3):
            with self.subTest(more):
                run("gen", "-n", "4", *words, *more, "-o", path("pipe.cadu"))
                data = read("pipe.cadu")
                unit = 1279 * (2 if more else 1)
                p = subprocess.Popen([os.path.join(PROGRAMS, "helio-frames"), "convert", "--from", "cadu", "--rs", "223", "--randomised", *more, "--to", "modem", "-"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
                with p:
                    p.stdin.write(data[:4 * unit])
                    got = b""
                    while len(got) < whole * (28 + 1115):  # the input has not ended
                        got += os.read(p.stdout.fileno(), 65536)
                    self.assertEqual((len(got), got[:4]), (whole * (28 + 1115), b"HSF1"))
                    p.stdin.close()
                    got = p.stdout.read()
                self.assertEqual((p.returncode, len(got)), (0, (4 - whole) * (28 + 1115)))

    def test_cltus(self):
        run("gen", "-k", "tc", "-n", "9", "--packet", "200", "--scid", "427", "--vcid", "3", "--to", "cltu", "--randomise", "-o",
            path("t.cltu"))
        want = b""
        for i in range(9):
            zone = encap(7, payload(i, 200))
            frame = (0x2000 | 427).to_bytes(2, "big") + (3 << 10 | len(zone) + 6).to_bytes(2, "big") + bytes([i]) + zone
            want += cltu(frame + binascii.crc_hqx(frame, 0xffff).to_bytes(2, "big"))
        self.assertEqual(read("t.cltu"), want)
        broken = bytearray(want)
        one = len(want) // 9
        for i in range(2, one - 8, 8):
            broken[one + i + 3] ^= 0x10  # one in each codeblock of the second, two in one of the fourth
        broken[3 * one + 50] ^= 0x81
        told = info("-k", "tc", "--from", "cltu", "--randomised", "--numbered", write("u.cltu", bytes(broken)))
        self.assertEqual(told["codeblocks_corrected"], (one - 10) // 8)
        self.assertEqual(told["numbered"], {"packets": 8, "missing": 1, "damaged": 0})
        self.assertEqual(told["channels"][0]["scid"], 427)
        run("convert", "-k", "tc", "--from", "cltu", "--randomised", "--to", "packets", path("t.cltu"), "-o", path("t.packets"))
        self.assertEqual(read("t.packets"), b"".join(encap(7, payload(i, 200)) for i in range(9)))

    def test_packets(self):
        """Drawn packets of both kinds into frames of each kind and back; with erased frames a part of them, in order."""
        draw = random.Random(5)
        packets = [(bytes([0x01, 0x23]) + (0xc000 | i).to_bytes(2, "big") + (n - 1).to_bytes(2, "big") if draw.random() < 0.3 else
                    encap(1, b"x" * n)[:-n]) + draw.randbytes(n) for i, n in ((i, draw.randint(8, 900)) for i in range(300))]
        write("p.packets", b"".join(packets))
        for kind in (["-k", "aos"], ["-k", "aos", "--fhec", "--insert", "7", "--ocf", "--cycle"], ["-k", "tm", "--secondary", "9"],
                     ["-k", "uslp", "--no-fecf"], ["-k", "tc"], ["-k", "tc", "--segments", "--map", "9"]):
            with self.subTest(kind):
                run("convert", "--from", "packets", path("p.packets"), "-l", "920", "-o", path("p.frames"), *kind)
                run("convert", "--to", "packets", path("p.frames"), "-l", "920", "-o", path("p.again"), *kind)
                self.assertEqual(read("p.again"), b"".join(packets))
                if kind == ["-k", "uslp", "--no-fecf"]:
                    continue  # without a frame count a loss shows by the pointers alone
                run("convert", "--to", "packets", "--erase", "0.1", path("p.frames"), "-l", "920", "-o", path("p.some"), *kind)
                some, at, left = read("p.some"), 0, 0
                for p in packets:
                    if some[at:at + len(p)] == p:
                        at += len(p)
                        left += 1
                self.assertEqual(at, len(some))
                self.assertTrue(180 < left < 300, left)

    def test_losses(self):
        run("gen", "-n", "2000", "--packet", "700", "--prbs", "--scid", "9", "--vcid", "4", "-o", path("l.frames"))
        told = info("--numbered", "--prbs", path("l.frames"))
        whole = told["numbered"]["packets"]
        self.assertEqual(told["numbered"], {"packets": whole, "missing": 0, "damaged": 0})
        self.assertEqual(told["channels"][0]["packets"], whole)
        self.assertEqual(told["channels"][0]["protocols"], {"mission": whole})
        run("convert", "--erase", "0.05", "--seed", "3", path("l.frames"), "-o", path("m.frames"))
        told = info("--numbered", "--prbs", path("m.frames"))
        vc, lost = told["channels"][0], 2000 - len(read("m.frames")) // 1115
        self.assertTrue(60 < lost < 140, lost)
        self.assertEqual(vc["lost"], lost)
        self.assertEqual(whole - told["numbered"]["packets"], told["numbered"]["missing"])
        self.assertEqual(told["numbered"]["damaged"], 0)
        self.assertLessEqual(told["numbered"]["missing"], 3 * lost)
        data = bytearray(read("l.frames"))
        data[1115 * 10 + 200] ^= 1
        told = info(write("e.frames", bytes(data) + b"rest"))
        self.assertEqual((told["verdicts"]["fecf"], told["channels"][0]["lost"], told["skipped_octets"]), (1, 1, 4))
        self.assertEqual(info("--no-fecf", "--numbered", "--prbs", path("e.frames"))["channels"][0]["lost"], 0)
        for words in (["--scid", "8"], ["-k", "tm"], ["-l", "1114"]):
            self.assertIn(b"no good frame", run("info", path("l.frames"), *words, code=1).stderr)
        self.assertEqual(info("--vcid", "5", path("l.frames"))["verdicts"]["channel"], 2000)

    def test_idle(self):
        for kind in ("aos", "tm", "uslp"):
            run("gen", "--only-idle", "-n", "20", "-k", kind, "-o", path("i.frames"))
            told = info("-k", kind, path("i.frames"))
            self.assertEqual(told["verdicts"]["only_idle"], 20)
            self.assertEqual([(c["vcid"], c["lost"], c["idle_frames"]) for c in told["channels"]], [(0 if kind == "tm" else 63, 0, 20)])
            run("convert", "-k", kind, "--vcid", "0" if kind == "tm" else "63", path("i.frames"), "-o", path("same.frames"))
            with open(path("i.frames"), "rb") as one, open(path("same.frames"), "rb") as other:
                self.assertEqual(one.read(), other.read())

    def test_mistakes(self):
        for words, expected in ((["info"], "FILE is missing"), (["info", "-k", "cadu", "x"], "tm, aos, uslp, tc"),
                                (["gen", "-l", "8"], "too short"), (["gen", "--scid", "256"], "spacecraft's number"),
                                (["gen", "--to", "cltu"], "--kind tc"), (["gen", "-k", "tc", "--to", "cadu"], "CLTUs"),
                                (["convert", "-k", "tm", "--vcid", "8", "x"], "0 to 7"), (["gen", "-k", "tm", "--insert", "3"], "insert zones"), (["gen", "--erase", "1"], "--erase: "),
                                (["gen", "--packet", "7"], "packet"), (["gen", "--space", "2047"], "space"),
                                (["gen", "--space", "1", "--packet", "65537"], "65536"), (["gen", "x"], "one word too many"),
                                (["gen", "--only-idle", "-k", "tc"], "TM, AOS and USLP"), (["play"], "gen, info, convert, fop or farm"),
                                (["gen", "--to", "cadu", "--rs", "16"], "223, 239"), (["gen", "--rs", "223"], "--to cadu"),
                                (["gen", "--to", "cadu", "--rs", "223", "-l", "1116"], "multiple"),
                                (["gen", "--to", "cadu", "--rs", "223", "--interleave", "4", "-l", "1200"], "223 octets"),
                                (["info", "--each", "x"], "--from cadu"), (["gen", "--soft"], "--convolutional is missing"),
                                (["info", "--from", "modem", "x"], "cltu, packets"), (["gen", "-k", "tc", "--to", "modem"], "telemetry"),
                                (["gen", "--to", "cadu", "--convolutional", "1/3"], "7/8"), (["gen", "--convolutional", "1/2"], "--to cadu"), (["gen", "--bit-errors", "2"], "below 1")):
            self.assertIn(expected, run(*words, code=2).stderr.decode(), words)
        self.assertIn(b"No such file", run("info", path("none"), code=2).stderr)
        self.assertIn(b"No such file", run("gen", "-o", path("none/x"), code=2).stderr)
        self.assertIn(b"no TC frame", run("gen", "-k", "tc", "--packet", "1020", "-o", path("x"), code=1).stderr)
        write("bad.packets", encap(1, b"abc") + b"\x40")
        self.assertIn(b"packet 1 of the input", run("convert", "--from", "packets", path("bad.packets"), "-o", path("x"), code=1).stderr)
        write("cut.packets", encap(1, b"abc")[:-1])
        self.assertIn(b"within a packet", run("convert", "--from", "packets", path("cut.packets"), "-o", path("x"), code=1).stderr)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([os.path.join(PROGRAMS, "helio-frames"), "gen"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, b"No space" in done.stderr), (1, True), done.stderr)


if __name__ == "__main__":
    PROGRAMS, OUT, ROOT = sys.argv[1:4]
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
