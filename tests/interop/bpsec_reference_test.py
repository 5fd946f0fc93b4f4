#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second opinion on bundle security (RFC 9172, RFC 9173), with its own CBOR, CRCs and canonical forms; AES comes from `cryptography`.
  out   helio-bundle makes, signs and encrypts random bundles; this file decrypts, verifies and compares them.
  in    helio-bundle decrypts, verifies and strips random bundles that are made here, in forms that it does not write itself: omitted
        parameters, tags in the ciphertext, vectors of 8 to 16 bytes, several targets with one (RFC 9173 A.4). An altered bit is refused.
Rules to skip: `reserved` (reserved flags count as 0 in canonical forms, RFC 9172 §4, RFC 9173 §3.7); `split` (of an integrity block only
the part with encrypted targets is encrypted, RFC 9172 §3.9). Vectors and wrapped keys of helio-bundle are random whatever the seed.
usage: bpsec_reference_test.py BIN-FOLDER [COUNT [SEED [RULE-TO-SKIP...]]]; exit code: 0 all agree, 1 not"""
import collections
import dataclasses
import hmac
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap

from bundle_cbor import cbor, checked, read

BIB, BCB, PAYLOAD = 11, 12, 1
BITS = {1: 128, 3: 256, 5: 256, 6: 384, 7: 512}  # of the variants' keys and MACs
Block = dataclasses.make_dataclass("Block", ["kind", "number", "flags", "crc", "data"])


class Bundle:
    def __init__(self, primary, blocks):
        self.primary, self.blocks, self.of = primary, blocks, lambda n: next(b for b in self.blocks if b.number == n)

    def bytes(self):
        blocks = [checked(list(dataclasses.astuple(b)), b.crc) for b in self.blocks]
        return b"\x9f" + checked(self.primary, self.primary[2]) + b"".join(blocks) + b"\xff"

    def covered(self, s, target, block):
        """What is authenticated, of a cipher beside the target's data (RFC 9173 §3.7, §4.7.2)."""
        primary = checked(self.primary, self.primary[2])
        headers = ([self.of(target)] if s.scope & 2 and target else []) + ([block] if s.scope & 4 else [])
        parts = [cbor(s.scope & 7), primary if s.scope & 1 and target else b""]
        parts += [cbor(n) for b in headers for n in (b.kind, b.number, b.flags & 0x17)]  # without those reserved in RFC 9171 §4.2.4
        return b"".join(parts) + (b"" if s.kind == BCB else cbor(self.of(target).data if target else primary))


class Security:
    """The content of a security block (RFC 9172 §3.6)."""
    def __init__(self, kind, data=b""):
        self.usual = {"iv": b"", "variant": 6 if kind == BIB else 3, "wrapped": b"", "scope": 7}
        self.kind, self.names = kind, list(self.usual)[kind == BIB:]
        self.__dict__.update(self.usual)
        if data:
            self.targets, context, flags, self.source, *rest = read(b"\x9f" + data + b"\xff")[0]
            assert context == kind - 10 and flags in (0, 1) and len(rest) == 1 + flags
            self.__dict__.update({self.names[number - 1]: value for number, value in (rest[0] if flags else [])})
            self.results = [r[0][1] if r else None for r in rest[-1]]

    def write(self, rng):
        put = [[i, getattr(self, n)] for i, n in enumerate(self.names, 1)
               if getattr(self, n) != self.usual[n] or (n in ("variant", "scope") and rng.random() < 0.5)]
        rng.shuffle(put)
        flags = 1 if put or rng.random() < 0.5 else 0
        items = [self.targets, self.kind - 10, flags, self.source] + [put] * flags + [[[[1, r]] if r else [] for r in self.results]]
        return b"".join(map(cbor, items))


class Test:
    def __init__(self, tool, seed, skip, folder):
        self.tool, self.skip, self.folder, self.rng, self.counts = tool, skip, folder, random.Random(seed), collections.Counter()

    def run(self, *words, code=0):
        done = subprocess.run([self.tool, *map(str, words)], capture_output=True, check=False, cwd=self.folder)
        assert done.returncode == code, f"exit code {done.returncode}: {words[0]}: {(done.stdout + done.stderr).decode()}"

    def load(self, name):
        data = pathlib.Path(self.folder, name).read_bytes()
        primary, *blocks = read(data)[0]  # kept without the values of CRCs
        out = Bundle(primary[:-1] if primary[2] else primary, [Block(*b[:5]) for b in blocks])
        assert out.bytes() == data, "a CRC is wrong, or a head is not the shortest"
        return out

    def save(self, name, data):
        pathlib.Path(self.folder, name).write_bytes(data)
        return name

    def eid(self):
        n, s = self.rng.choice([1, 23, 24, 300, 2**32 - 2]), self.rng.randrange(1, 100000)
        return self.rng.choice([(f"ipn:{n}.{s}", [2, [n, s]]), (f"ipn:977000.{n}.{s}", [2, [977000, n, s]]),
                                (f"dtn://node{n}/in/{s}", [1, f"//node{n}/in/{s}"])])

    def data(self, most=3000):
        return self.rng.randbytes(self.rng.choice([0, 1, 15, 16, 17, 23, 24, 255, 256, self.rng.randrange(most)]))

    def plan(self, kind):
        s, wrap, rng = Security(kind), self.rng.random() < 0.4, self.rng
        s.variant, s.scope = rng.choice([5, 6, 7] if kind == BIB else [1, 3]), rng.randrange(8)
        return s, wrap, rng.randbytes(rng.choice([16, 24, 32]) if wrap else BITS[s.variant] // 8 if kind == BCB else rng.randrange(1, 65))

    def command(self, name, kind, targets, source):
        s, wrap, key = self.plan(kind)
        scope = ",".join(n for i, n in enumerate(["primary", "target", "security"]) if s.scope >> i & 1) or "none"
        words = [w for t in targets for w in ("-t", t)] + ["--wrap"] * wrap
        words += ["-k", self.save("key", key.hex().encode()), "--scope", scope, "-s", source, "--bits", BITS[s.variant]]
        self.run(name, *words, "b", "-o", "b")
        return s, key

    def outward(self):
        rng, (by_text, by) = self.rng, self.eid()
        words = ["-s", self.eid()[0], "-d", self.eid()[0], "-p", self.save("payload", self.data())] + rng.choice([[], ["--age", "5s"]])
        words += ["--crc", rng.choice(["none", "16", "32c"]), "--primary-crc", rng.choice(["16", "32c"])]
        for _ in range(rng.randrange(4)):
            flags = rng.choice([0, 0, 2, 4, 16, 0 if "reserved" in self.skip else 0xE8])
            words += ["--block", f"{rng.randrange(193, 250)}:{flags}:{self.data(300).hex() or '00'}"]
        self.run("make", *words, "-o", "b")
        plain = self.load("b")
        numbers = [b.number for b in plain.blocks]
        signed = rng.sample([0] + numbers, rng.randrange(len(numbers) + 2))
        hidden = rng.sample(numbers, rng.randrange(0 if signed else 1, len(numbers) + 1))
        used = {k: self.command(n, k, t, by_text) for n, k, t in [("sign", BIB, signed), ("encrypt", BCB, hidden)] if t}
        got, opened, macs, ivs = self.load("b"), [], [], set()
        for kind, (want, given) in reversed(used.items()):
            for block in [b for b in got.blocks if b.kind == kind]:
                s = Security(kind, block.data)
                key = aes_key_unwrap(given, s.wrapped) if s.wrapped else given
                assert (s.source, s.variant, s.scope) == (by, want.variant, want.scope), "parameters"
                for target, result in zip(s.targets, s.results):
                    self.counts[f"out: results of type {kind} recomputed"] += 1
                    (macs if kind == BIB else opened).append(target)
                    covered = got.covered(s, target, block)
                    if kind == BIB:
                        assert hmac.digest(key, covered, f"sha{BITS[s.variant]}") == result, f"MAC of block {target}"
                    else:
                        got.of(target).data = AESGCM(key).decrypt(s.iv, got.of(target).data + result, covered)
                        assert len(s.iv) == 12 and s.iv not in ivs and block.flags == (PAYLOAD in s.targets), "vector or flags"
                        ivs.add(s.iv)
                alone = set(s.targets) - set(hidden) if kind == BIB and block.number in opened and "split" not in self.skip else None
                assert not alone, f"split: an encrypted integrity block has targets that are not encrypted: {alone}"
        assert sorted(macs) == sorted(signed) and sorted(t for t in opened if got.of(t).kind != BIB) == sorted(hidden), "targets"
        for b in plain.blocks:
            b.crc = 0 if b.number in signed + hidden else b.crc
            assert got.of(b.number) == b, f"block {b.number} differs"
        assert got.primary == plain.primary[:2] + [0 if 0 in signed else plain.primary[2]] + plain.primary[3:], "primary block"

    def secure(self, bundle, kind, number, targets, keys):
        rng, (s, wrap, given) = self.rng, self.plan(kind)
        odd = 0 if "reserved" in self.skip or rng.random() < 0.9 else rng.choice([8, 32, 64])
        keys.append(given)
        key = rng.randbytes(BITS[s.variant] // 8) if wrap else given
        s.targets, s.source, s.wrapped, s.results = targets, self.eid()[1], aes_key_wrap(given, key) if wrap else b"", []
        s.scope, joined = s.scope | odd, rng.random() < 0.3
        block = Block(kind, number, odd | (1 if kind == BCB and PAYLOAD in targets else 0), rng.randrange(3), b"")
        s.iv = rng.randbytes(rng.randrange(8, 17)) if kind == BCB else b""
        for target in targets:
            if kind == BIB:
                s.results.append(hmac.digest(key, bundle.covered(s, target, block), f"sha{BITS[s.variant]}"))
            else:
                text = AESGCM(key).encrypt(s.iv, bundle.of(target).data, bundle.covered(s, target, block))
                bundle.of(target).data = text if joined else text[:-16]
                s.results.append(None if joined else text[-16:])
        block.data = s.write(rng)
        bundle.blocks.insert(rng.randrange(len(bundle.blocks)), block)

    def inward(self):
        rng, numbers = self.rng, self.rng.sample([*range(2, 30), 255, 256, 70000, 2**33], 7)
        shown, hidden = [0] + numbers[: rng.randrange(3)], numbers[3: 3 + rng.randrange(3)]
        rng.choice([shown, hidden]).append(PAYLOAD)
        marks = rng.sample(shown, rng.randrange(0 if hidden else 1, len(shown) + 1))
        locks = rng.sample(hidden, rng.randrange(len(hidden) + 1))
        crcs = {n: 0 if n in marks + hidden else rng.randrange(n == 0, 3) for n in shown + hidden}
        blocks = [Block(rng.randrange(193, 250), n, rng.choice([0, 1, 16]), crcs[n], self.data()) for n in crcs if n > 1]
        rng.shuffle(blocks)
        primary = [7, 0, crcs[0], self.eid()[1], self.eid()[1], self.eid()[1], [800000000000, rng.randrange(10**6)], 86400000]
        bundle = Bundle(primary, blocks + [Block(PAYLOAD, 1, 0, crcs[1], self.data())])
        plain, keys, hidden = {b.number: b.data for b in bundle.blocks}, [], hidden + numbers[6:7] * bool(locks)
        hidden, cut = rng.sample(hidden, len(hidden)), rng.randrange(len(hidden) + 1)
        plans = [(BIB, numbers[5], marks), (BIB, numbers[6], locks), (BCB, 100, hidden[:cut]), (BCB, 101, hidden[cut:])]
        for plan in [p for p in plans if p[2]]:
            self.secure(bundle, *plan, keys)
        words = [w for i, k in enumerate(rng.sample(keys, len(keys))) for w in ("-k", self.save(f"key{i}", k.hex().encode()))]
        self.save("c", bundle.bytes())
        for kind, command in [(BCB, ["decrypt", "-o", "c"]), (BIB, ["verify", "--strip", "-o", "c"])]:
            if blocks := [b for b in self.load("c").blocks if b.kind == kind]:
                self.alter(Security(kind, rng.choice(blocks).data), command[0], words)
                self.run(*command, *words, "c")
        assert {b.number: b.data for b in self.load("c").blocks} == plain, "blocks differ after decryption and stripping"

    def alter(self, s, command, words):
        other, target = self.load("c"), self.rng.choice(s.targets)
        other.primary[7] ^= int(target == 0)
        if target != 0:
            data = other.of(target).data or b"empty"
            other.of(target).data = (int.from_bytes(data, "big") ^ 1 << self.rng.randrange(8 * len(data))).to_bytes(len(data), "big")
        self.run(command, *words, self.save("altered", other.bytes()), *["-o", "refused"] * (command == "decrypt"), code=1)
        self.counts["in: altered bundles refused"] += 1


def main(folder, count="300", seed="9173", *skip):
    print(f"seed {seed}", flush=True)
    os.umask(0o077)  # key files are for their owner alone
    with tempfile.TemporaryDirectory() as work:
        test = Test(os.path.abspath(os.path.join(folder, "helio-bundle")), int(seed), skip, work)
        for way, i in [(way, i) for way in ("out", "in") for i in range(int(count))]:
            try:
                (test.outward if way == "out" else test.inward)()
                test.counts[f"{way}: bundles that agree"] += 1
            except (AssertionError, InvalidTag, InvalidUnwrap) as why:
                test.counts["bundles that do not agree"] += 1
                print(f"{way} {i}: {str(why).strip() or 'the tag does not match'}")
    print(*(f"{n:6} {name}" for name, n in sorted(test.counts.items())), sep="\n")
    return 1 if test.counts["bundles that do not agree"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
