# SPDX-License-Identifier: Apache-2.0
"""helio-frames' turbo codes beside an encoder in Python, written from the text of CCSDS 131.0-B section 6: each rate and length, with the
marker, the randomiser, half octets between codewords of rate 1/3, and errors. usage: frames_turbo_test.py BIN OUT"""

import json
import math
import os
import random
import subprocess
import sys
import unittest

PROGRAMS = OUT = ""
MARKERS = {"1/2": "034776C7272895B0", "1/3": "25D5C0CE8990F6C9461BF79C", "1/4": "034776C7272895B0FCB88938D8D76A4F",
           "1/6": "25D5C0CE8990F6C9461BF79CDA2A3F31766F0936B9E40863"}
WRONG = {"1/2": 0.06, "1/3": 0.1, "1/4": 0.13, "1/6": 0.16}  # share of the bits
TOO_MANY = {"1/2": 0.13, "1/3": 0.19, "1/4": 0.22, "1/6": 0.255}


def run(*words, code=0):
    done = subprocess.run([os.path.join(PROGRAMS, "helio-frames"), *words], capture_output=True, timeout=1000, check=False)
    assert done.returncode == code, (words, done.returncode, done.stdout[:300], done.stderr)
    return done


def path(name):
    return os.path.join(OUT, name)


def read(name):
    with open(path(name), "rb") as f:
        return f.read()


def bits_of(data):
    return [octet >> i & 1 for octet in data for i in range(7, -1, -1)]


def permutation(k):
    """pi(1) to pi(k) of 6.3 g)."""
    k1, k2, primes, out = 8, k // 8, (31, 37, 43, 47, 53, 59, 61, 67), []
    for s in range(1, k + 1):
        m = (s - 1) % 2
        i = (s - 1) // (2 * k2)
        j = (s - 1) // 2 - i * k2
        t = (19 * i + 1) % (k1 // 2)
        q = t % 8 + 1
        c = (primes[q - 1] * j + 21 * m) % k2
        out.append(2 * (t + c * k1 // 2 + 1) - m)
    return out


def component(bits, vectors):
    """Rows of out 0 and of each forward connection vector, with the four steps that fill the register with zeros (figure 6-2)."""
    register, rows = [0, 0, 0, 0], []
    for u in [*bits, None, None, None, None]:
        feedback = register[2] ^ register[3]  # G0 = 10011
        u = feedback if u is None else u
        taps = [u ^ feedback, *register]
        rows.append([u] + [sum(int(g) & d for g, d in zip(vector, taps)) % 2 for vector in vectors])
        register = taps[:4]
    assert register == [0, 0, 0, 0]
    return rows


def encode(rate, data):
    """The bits of a codeword: top to bottom of figure 6-2, step by step."""
    bits = bits_of(data)
    permuted = [bits[p - 1] for p in permutation(len(bits))]
    g1, g2, g3 = "11011", "10101", "11111"
    first = component(bits, {"1/2": [g1], "1/3": [g1], "1/4": [g2, g3], "1/6": [g1, g2, g3]}[rate])
    second = component(permuted, [g1, g3] if rate == "1/6" else [g1])
    if rate == "1/2":  # out 0a, out 1a, out 0a, out 1b
        return [bit for s, (a, b) in enumerate(zip(first, second)) for bit in (a[0], (b if s % 2 else a)[1])]
    return [bit for a, b in zip(first, second) for bit in a + b[1:]]


def sequence(n):
    """Of x^8 + x^7 + x^5 + x^3 + 1."""
    bits = [1] * 8
    while len(bits) < n:
        bits.append(bits[-8] ^ bits[-5] ^ bits[-3] ^ bits[-1])
    return bits


def units(rate, frames, randomised):
    out = []
    for frame in frames:
        word = encode(rate, frame)
        out += bits_of(bytes.fromhex(MARKERS[rate]))
        out += [a ^ b for a, b in zip(word, sequence(len(word)))] if randomised else word
    out += [0] * (-len(out) % 8)
    return int("".join(map(str, out)), 2).to_bytes(len(out) // 8, "big")


class FramesTurboTest(unittest.TestCase):
    def test_encoder(self):
        """Three CADUs in each format: octet by octet what the text says."""
        for length in (223, 446, 892, 1115):
            run("gen", "-n", "3", "--packet", "200", "-l", str(length), "-o", path("plain"))
            plain = read("plain")
            frames = [plain[i:i + length] for i in range(0, len(plain), length)]
            for rate in MARKERS:
                with self.subTest(rate=rate, length=length):
                    randomise = ["--randomise"] if length % 2 else []
                    run("convert", path("plain"), "-l", str(length), "--to", "cadu", "--turbo", rate, *randomise, "-o", path("coded"))
                    self.assertEqual(read("coded"), units(rate, frames, bool(randomise)))

    def test_errors(self):
        """Wrong bits in codewords and markers are corrected; too many are reported, and nothing wrong is taken for right."""
        for rate, wrong in WRONG.items():
            with self.subTest(rate=rate):
                code = ["-l", "446", "--turbo", rate, "--from", "cadu", "--marker-errors", "8"]
                run("gen", "-n", "30", "--packet", "200", "-l", "446", "--to", "cadu", "--turbo", rate, "--randomise", "--bit-errors", str(wrong),
                    "-o", path("worse"))
                told = json.loads(run("info", "--json", *code, "--randomised", "--numbered", path("worse")).stdout)
                self.assertEqual((told["cadus"]["quality"], told["numbered"]["missing"], told["numbered"]["damaged"]),
                                 ({"unknown": 0, "good": 30, "erred": 0}, 0, 0))
                size = 8 * len(read("worse"))
                self.assertAlmostEqual(told["cadus"]["symbols_corrected"] / size, wrong, delta=wrong / 10)
                self.assertGreaterEqual(told["cadus"]["iterations"], 30)
                run("gen", "-n", "20", "--packet", "200", "-l", "446", "--to", "cadu", "--turbo", rate, "--bit-errors", str(TOO_MANY[rate]), "-o", path("worse"))
                rows = run("info", "--each", *code, path("worse")).stdout.decode().splitlines()[1:]
                self.assertEqual({(r.split(",")[1], r.split(",")[-1]) for r in rows}, {("erred", "10")})

    def test_soft(self):
        """Soft symbols with white noise, upright and inverted: the decoder needs some 2 dB less than by their signs."""
        for code, length, rate, decibel in (("--turbo", 223, "1/3", 1.0), ("--turbo", 446, "1/6", 0.6), ("--ldpc", 512, "1/2", 1.9)):
            with self.subTest(code=code, rate=rate):
                words = ["-l", str(length), code, rate]
                run("gen", "-n", "21", "--packet", "200", *words, "--to", "cadu", "--randomise", "--soft", "-o", path("soft"))
                clean, rng = read("soft"), random.Random(3)
                self.assertEqual(set(clean), {0, 255})
                self.assertEqual(len(clean) % 21, 0)
                noise = math.sqrt(int(rate[2]) / 2 / 10 ** (decibel / 10))
                for sign in (1, -1):
                    drawn = (round(128 + sign * 24 * ((1 if s else -1) + rng.gauss(0, noise))) for s in clean)
                    symbols = bytes(rng.choices(range(256), k=5)) + bytes(max(0, min(255, s)) for s in drawn)
                    hard = [int(s >= 128) for s in symbols]
                    hard += [0] * (-len(hard) % 8)
                    for name, data in (("noisy", symbols), ("signs", int("".join(map(str, hard)), 2).to_bytes(len(hard) // 8, "big"))):
                        with open(path(name), "wb") as f:
                            f.write(data)
                    read_words = [*words, "--from", "cadu", "--randomised", "--marker-errors", "8"]
                    told = json.loads(run("info", "--json", *read_words, "--soft", "--numbered", path("noisy")).stdout)
                    self.assertEqual((told["cadus"]["quality"]["good"], told["numbered"]["damaged"]), (21, 0))
                    rows = run("info", "--each", *read_words, path("signs")).stdout.decode().splitlines()[1:]
                    self.assertLess(sum(r.split(",")[1] == "good" for r in rows), 7)

    def test_usage(self):
        for words in (["--turbo", "1/5"], ["--turbo", "1/2", "-l", "512"], ["--turbo", "1/2", "--rs", "223"], ["--turbo", "1/2", "--ldpc", "1/2"],
                      ["--turbo", "1/2", "--convolutional", "1/2"], ["--turbo", "1/6", "--long-marker"]):
            run("gen", "--to", "cadu", *words, "-o", path("none"), code=2)
        run("gen", "--turbo", "1/2", "-o", path("none"), code=2)
        run("gen", "--to", "cadu", "--soft", "-o", path("none"), code=2)


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
