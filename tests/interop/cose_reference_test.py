#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second opinion on the COSE context of bundle security (draft-ietf-dtn-bpsec-cose-17, RFC 8230, 9052, 9053, 9360), written from these
documents, with its own CBOR, CRCs and canonical forms; ciphers, curves, RSA and certificates come from `cryptography`.
  draft  the examples A.1 to A.9, A.11 and A.12 verify here, too: this file and the draft agree.
  out    helio-bundle signs and encrypts random bundles with every algorithm; this file verifies, decrypts and compares them.
  in     helio-bundle verifies and decrypts random bundles that are made here, in forms that it does not write itself: several targets in a
         BCB, several recipients or signatures, direct recipients, absent and unsorted parameters, other blocks in the AAD, identifiers in
         additional headers, short thumbprints, compressed points, keys as COSE_Key and PEM. Then one of: an altered bit, another key, a cut
         message, an expired or revoked certificate, another node's.
usage: cose_reference_test.py BIN-FOLDER [COUNT [SEED]]; exit code: 0 all agree, 1 not"""
import collections
import datetime
import hashlib
import hmac
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap

from bundle_cbor import cbor, checked, read, sorted_map

BIB, BCB, COSE = 11, 12, 3
ENCRYPT0, MAC0, SIGN1, ENCRYPT, MAC, SIGN = 16, 17, 18, 96, 97, 98
CONTEXTS = {ENCRYPT0: "Encrypt0", MAC0: "MAC0", SIGN1: "Signature1", ENCRYPT: "Encrypt", MAC: "MAC", SIGN: "Signature"}
HMACS = {5: ("sha256", 32), 6: ("sha384", 48), 7: ("sha512", 64)}
GCMS = {1: 16, 3: 32}
WRAPS = {-3: 16, -5: 32}
DIRECT, HKDF = -6, -11
CURVES = {-7: (ec.SECP256R1, hashes.SHA256, 32), -35: (ec.SECP384R1, hashes.SHA384, 48), -36: (ec.SECP521R1, hashes.SHA512, 66)}
CURVES.update({-9: CURVES[-7], -51: CURVES[-35], -52: CURVES[-36]})
EDWARDS = (-8, -19)
PSS = {-37: hashes.SHA256, -38: hashes.SHA384, -39: hashes.SHA512}
OAEP = {-41: hashes.SHA256, -42: hashes.SHA512}
# Diffie-Hellman: the hash of HKDF, the key wrap, a static key of the sender
AGREE = {-25: ("sha256", 0, False), -26: ("sha512", 0, False), -27: ("sha256", 0, True), -28: ("sha512", 0, True),
         -29: ("sha256", -3, False), -31: ("sha256", -5, False), -32: ("sha256", -3, True), -34: ("sha256", -5, True)}
STATIC = [a for a in AGREE if AGREE[a][2]]
SIGNERS = [*CURVES, *EDWARDS, *PSS]
MACS = [*HMACS, *WRAPS, HKDF, *STATIC]
CIPHERS = [*GCMS, *WRAPS, HKDF, *AGREE, *OAEP]
KINDS = {ec.SECP256R1: 1, ec.SECP384R1: 2, ec.SECP521R1: 3}
NAMES = {5: "hmac-sha-256", 6: "hmac-sha-384", 7: "hmac-sha-512", 1: "aes-128-gcm", 3: "aes-256-gcm", -3: "aes-128-kw", -5: "aes-256-kw",
         HKDF: "hkdf-sha-512", -7: "es256", -35: "es384", -36: "es512", -8: "eddsa", -9: "esp256", -51: "esp384", -52: "esp512", -19: "ed25519",
         -37: "ps256", -38: "ps384", -39: "ps512", -41: "rsa-oaep-256", -42: "rsa-oaep-512", -25: "ecdh-es-hkdf-256", -26: "ecdh-es-hkdf-512",
         -27: "ecdh-ss-hkdf-256", -28: "ecdh-ss-hkdf-512", -29: "ecdh-es-a128kw", -31: "ecdh-es-a256kw", -32: "ecdh-ss-a128kw",
         -34: "ecdh-ss-a256kw"}
THUMBS = {-15: lambda d: hashlib.sha256(d).digest()[:8], -16: lambda d: hashlib.sha256(d).digest(),
          -17: lambda d: hashlib.new("sha512_256", d).digest(), -43: lambda d: hashlib.sha384(d).digest(), -44: lambda d: hashlib.sha512(d).digest()}
EPOCH = datetime.datetime(2000, 1, 1)
Block = collections.namedtuple("Block", "kind number flags crc data")


class Bundle:
    def __init__(self, primary, blocks):
        self.primary, self.blocks = primary, blocks

    @staticmethod
    def parse(data):
        primary, *blocks = read(data)[0]
        out = Bundle(primary[:-1] if primary[2] else primary, [Block(*b[:5]) for b in blocks])
        assert out.bytes() == data, "a CRC is wrong, or a head is not the shortest"
        return out

    def head(self):
        return checked(self.primary, self.primary[2])

    def bytes(self):
        return b"\x9f" + self.head() + b"".join(checked(list(b), b.crc) for b in self.blocks) + b"\xff"

    def of(self, number):
        return next(b for b in self.blocks if b.number == number)

    def put(self, number, data):
        self.blocks = [b._replace(data=data) if b.number == number else b for b in self.blocks]


class Key:
    """A key of any kind; certificates: DER, the end entity's first."""
    def __init__(self, alg, kid, secret=None, private=None):
        self.alg, self.kid, self.secret, self.private, self.certificates = alg, kid, secret, private, []
        self.sender = self.sender_kid = None  # of ECDH-SS
        self.base_iv = bytes(12)

    def public(self):
        return self.private.public_key()


class Asb:
    """The content of a security block of this context."""
    def __init__(self, kind, data=b""):
        self.kind, self.params = kind, {}
        if data:
            self.targets, context, flags, self.source, *rest = read(b"\x9f" + data + b"\xff")[0]
            assert context == COSE and len(rest) == 1 + flags
            self.params = dict(rest[0]) if flags else {}
            assert all(len(r) == 1 for r in rest[-1])
            self.results = [tuple(r[0]) for r in rest[-1]]

    def write(self, rng):
        params = [[k, v] for k, v in self.params.items()]
        rng.shuffle(params)
        flags = 1 if params or rng.random() < 0.5 else 0
        return b"".join(map(cbor, [self.targets, COSE, flags, self.source] + [params] * flags + [[[list(r)] for r in self.results]]))

    def added(self):
        return {**(read(self.params[3])[0] if self.params.get(3) else {}), **(read(self.params[4])[0] if self.params.get(4) else {})}

    def aad(self, bundle, target, block):
        """Section 2.4.1."""
        scope = sorted_map(self.params.get(5, {0: 1, -1: 1, -2: 1}))
        out = cbor(self.source) + cbor(scope)
        for key, flags in scope.items():
            if key == 0 or (key == -1 and target == 0):
                out += bundle.head()
                continue
            b = bundle.of(target) if key == -1 else block if key == -2 else bundle.of(key)
            out += (cbor(b.kind) + cbor(b.number) + cbor(b.flags) if flags & 1 else b"") + (cbor(b.data) if flags & 2 else b"")
        return out + cbor(self.params.get(3, b""))

    def structure(self, kind, protected, aad, payload=None, signer=None):
        items = [CONTEXTS[kind], b"" if protected == b"\xa0" else protected]
        items += [signer] if signer is not None else []
        return cbor(items + [aad] + ([payload] if payload is not None else []))

    def derive(self, user, protected, salt, secret, digest="sha512"):
        """Section 2.4.2, RFC 9053 section 5.1, RFC 5869."""
        size, other = key_bytes(user), cbor("BPSec") + cbor(self.source) + cbor(self.params.get(3, b""))
        info = cbor([user, [None] * 3, [None] * 3, [8 * size, protected, other]])
        prk, out, block = hmac.digest(salt or bytes(hashlib.new(digest).digest_size), secret, digest), b"", b""
        while len(out) < size:
            block = hmac.digest(prk, block + info + bytes([len(out) // hashlib.new(digest).digest_size + 1]), digest)
            out += block
        return out[:size]


def key_bytes(alg):
    return HMACS[alg][1] if alg in HMACS else GCMS.get(alg) or WRAPS[alg]


# ---- COSE_Key (RFC 9052 section 7, RFC 8230 section 4) ----

def number(value, size=0):
    return value.to_bytes(size or (value.bit_length() + 7) // 8, "big")


def raw(key):
    """Of X25519 and Ed25519."""
    form = serialization.Encoding.Raw
    if hasattr(key, "private_bytes"):
        return key.private_bytes(form, serialization.PrivateFormat.Raw, serialization.NoEncryption())
    return key.public_bytes(form, serialization.PublicFormat.Raw)


def cose_key(key, short=False):
    """Of a secret, private or public key; short: with a compressed point."""
    if isinstance(key, bytes):
        return {1: 4, -1: key}
    public = key.public_key() if hasattr(key, "public_key") else key
    is_private = public is not key
    if isinstance(public, rsa.RSAPublicKey):
        out = {1: 3, -1: number(public.public_numbers().n), -2: number(public.public_numbers().e)}
        if is_private:
            n = key.private_numbers()
            out.update({-3 - i: number(v) for i, v in enumerate([n.d, n.p, n.q, n.dmp1, n.dmq1, n.iqmp])})
        return out
    if isinstance(public, ec.EllipticCurvePublicKey):
        size, n = (public.key_size + 7) // 8, public.public_numbers()
        out = {1: 2, -1: KINDS[type(public.curve)], -2: number(n.x, size), -3: bool(n.y & 1) if short else number(n.y, size)}
        return {**out, -4: number(key.private_numbers().private_value, size)} if is_private else out
    out = {1: 1, -1: 4 if isinstance(public, x25519.X25519PublicKey) else 6, -2: raw(public)}
    return {**out, -4: raw(key)} if is_private else out


def key_of(k):
    """The private key, or the public one, of a COSE_Key."""
    big = lambda label: int.from_bytes(k[label], "big")
    if k[1] == 3:
        return rsa.RSAPrivateNumbers(*map(big, [-4, -5, -3, -6, -7, -8]), rsa.RSAPublicNumbers(big(-2), big(-1))).private_key()
    if k[1] == 1:
        return (x25519.X25519PublicKey if k[-1] == 4 else ed25519.Ed25519PublicKey).from_public_bytes(k[-2])
    curve = next(c for c, n in KINDS.items() if n == k[-1])()
    if -4 in k:
        return ec.derive_private_key(big(-4), curve)
    point = bytes([2 + k[-3]]) + k[-2] if isinstance(k[-3], bool) else b"\x04" + k[-2] + k[-3]
    return ec.EllipticCurvePublicKey.from_encoded_point(curve, point)


def agree(private, public):
    return private.exchange(public) if isinstance(private, x25519.X25519PrivateKey) else private.exchange(ec.ECDH(), public)


def oaep(alg):
    return padding.OAEP(padding.MGF1(OAEP[alg]()), OAEP[alg](), None)


def pss(alg):
    return padding.PSS(padding.MGF1(PSS[alg]()), PSS[alg].digest_size), PSS[alg]()


def payload_of(bundle, target):
    return bundle.head() if target == 0 else bundle.of(target).data


def sign(key, alg, data):
    if alg in EDWARDS:
        return key.sign(data)
    if alg in PSS:
        return key.sign(data, *pss(alg))
    _, digest, size = CURVES[alg]
    return b"".join(n.to_bytes(size, "big") for n in utils.decode_dss_signature(key.sign(data, ec.ECDSA(digest()))))


def verify(public, alg, data, signature):
    if alg in EDWARDS:
        public.verify(signature, data)
        return
    if alg in PSS:
        public.verify(signature, data, *pss(alg))
        return
    _, digest, size = CURVES[alg]
    assert len(signature) == 2 * size
    der = utils.encode_dss_signature(int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big"))
    public.verify(der, data, ec.ECDSA(digest()))


def content_key(asb, message, layer, key, content):
    """Of a message with recipients."""
    protected, plain, value = layer
    header = {**asb.added(), **plain, **(read(protected)[0] if protected else {})}
    if header[1] == DIRECT:
        return key.secret
    if header[1] == HKDF:
        return asb.derive(content, protected, header[-20], key.secret)
    assert header[1] == key.alg
    if key.alg in AGREE:
        return agreed_key(asb, header, layer, key, content)
    assert not protected
    if key.alg in OAEP:
        return key.private.decrypt(value, oaep(key.alg))
    return aes_key_unwrap(key.secret, value)


def agreed_key(asb, header, layer, key, content):
    """RFC 9053 section 6.3 and 6.4."""
    digest, wrap, is_static = AGREE[key.alg]
    if not is_static:
        sender = key_of(header[-1])
    else:
        sender = key.sender.public_key()
        assert header.get(-3, key.sender_kid) == key.sender_kid and header.get(-2, cose_key(sender)) == cose_key(sender)
        assert -2 in header or -3 in header, "the sender is not named"
    derived = asb.derive(wrap or content, layer[0], header.get(-20, b""), agree(key.private, sender), digest)
    assert wrap or not layer[2]
    return aes_key_unwrap(derived, layer[2]) if wrap else derived


def accept(bundle, block, asb, index, key):
    """Verifies one operation, or decrypts it in the bundle."""
    kind, text = asb.results[index]
    target = asb.targets[index]
    message = read(text)[0]
    protected, plain = message[0], message[1]
    head_of = read(protected)[0] if protected else {}
    aad = asb.aad(bundle, target, block)
    names = {**asb.added(), **plain}
    if kind in (MAC, ENCRYPT):
        names = {**asb.added(), **message[-1][0][1]}
    assert message[2] is None
    if 33 in names:
        first = names[33] if isinstance(names[33], bytes) else names[33][0]
        assert first == key.certificates[0]
    elif 34 in names:
        assert names[34][1] == THUMBS[names[34][0]](key.certificates[0])
    else:
        assert names[4] == key.kid, names
    if kind == SIGN1:
        verify(key.public(), head_of[1], asb.structure(kind, protected, aad, payload_of(bundle, target)), message[3])
        return
    secret = key.secret if kind in (MAC0, ENCRYPT0) else content_key(asb, message, message[-1][0], key, head_of[1])
    if kind in (MAC0, MAC):
        digest, size = HMACS[head_of[1]]
        assert len(secret) == size
        assert hmac.digest(secret, asb.structure(kind, protected, aad, payload_of(bundle, target)), digest) == message[3], "MAC"
        return
    iv = plain[5] if 5 in plain else bytes(a ^ b for a, b in zip(key.base_iv, plain[6].rjust(12, b"\0")))
    data = AESGCM(secret).decrypt(iv, bundle.of(target).data, asb.structure(kind, protected, aad))
    bundle.put(target, data)


class Test:
    def __init__(self, tool, seed, folder):
        self.tool, self.folder, self.rng, self.counts = tool, folder, random.Random(seed), collections.Counter()
        self.authority = ec.generate_private_key(ec.SECP384R1())
        self.created = datetime.datetime(2026, 6, 1)
        self.anchor = self.issue("authority", self.authority.public_key(), None)
        self.rsa = [rsa.generate_private_key(65537, bits) for bits in (2048, 2048, 3072, 4096)]

    def run(self, *words, good=True):
        done = subprocess.run([self.tool, *map(str, words)], capture_output=True, check=False, cwd=self.folder)
        assert (done.returncode == 0) == good and done.returncode in (0, 1), \
            f"exit code {done.returncode}: {words}: {(done.stdout + done.stderr).decode()}"

    def save(self, name, data):
        path = pathlib.Path(self.folder, name)
        path.write_bytes(data)
        path.chmod(0o600)
        return name

    def load(self, name):
        return Bundle.parse(pathlib.Path(self.folder, name).read_bytes())

    # ---- keys ----

    def issue(self, name, public, node, days=30, usage=True):
        """A certificate by the profile of section 4."""
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        start = self.created - datetime.timedelta(days=30)
        b = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public).serial_number(self.rng.getrandbits(64))
        b = b.not_valid_before(start).not_valid_after(start + datetime.timedelta(days=30 + days))
        b = b.add_extension(x509.BasicConstraints(ca=node is None, path_length=None), critical=True)
        if node is not None:
            eid = x509.OtherName(x509.ObjectIdentifier("1.3.6.1.5.5.7.8.11"), bytes([0x16, len(node)]) + node.encode())
            b = b.add_extension(x509.SubjectAlternativeName([eid]), critical=True)
            b = b.add_extension(x509.KeyUsage(usage, False, False, False, not usage, False, False, False, False), critical=True)
        b = b.add_extension(x509.ExtendedKeyUsage([x509.ObjectIdentifier("1.3.6.1.5.5.7.3.35")]), critical=False)
        return b.sign(self.authority, hashes.SHA384()).public_bytes(serialization.Encoding.DER)

    def key(self, alg, node=None, **issue):
        kid, rng = f"k{self.rng.randrange(10**6)}", self.rng
        if alg in SIGNERS or alg in AGREE or alg in OAEP:
            curve = rng.choice([*KINDS, None])
            draw = lambda: x25519.X25519PrivateKey.generate() if curve is None else ec.generate_private_key(curve())
            if alg in CURVES:
                curve = CURVES[alg][0]
            private = (ed25519.Ed25519PrivateKey.generate() if alg in EDWARDS else rng.choice(self.rsa) if alg in PSS or alg in OAEP else draw())
            key = Key(alg, kid.encode(), private=private)
            key.certificates = [self.issue(kid, private.public_key(), node, **issue)] if node else []
            if alg in STATIC:
                key.sender, key.sender_kid = draw(), rng.choice([None, b"sender"])
            return key
        size = WRAPS.get(alg) or (self.rng.randrange(16, 65) if alg == HKDF else key_bytes(alg))
        return Key(alg, kid.encode(), secret=self.rng.randbytes(size))

    @staticmethod
    def pem(der, label):
        return (f"-----BEGIN {label}-----\n" + "\n".join(_lines(der)) + f"\n-----END {label}-----\n").encode()

    def part(self, key):
        """A line with a private or public key, as PEM or COSE_Key."""
        if self.rng.random() < 0.4:
            return b"cose_key: " + cbor(cose_key(key, self.rng.random() < 0.5)).hex().encode() + b"\n"
        if hasattr(key, "private_bytes"):
            form = self.rng.choice([serialization.PrivateFormat.PKCS8] + [serialization.PrivateFormat.TraditionalOpenSSL] *
                                   isinstance(key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey)))
            return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def key_file(self, name, key, source, identify=None):
        """Of a source, or of the other end."""
        half = key.secret or (key.private if source == (key.alg in SIGNERS) else key.public())
        if not key.certificates and key.alg not in STATIC and self.rng.random() < 0.3:
            named = {2: key.kid, 3: key.alg, **cose_key(half, self.rng.random() < 0.5)}
            self.counts["keys in files of COSE_Key"] += 1
            return self.save(name, cbor(sorted_map(named)))
        text = f"id: {key.kid.decode()}\nalgorithm: {NAMES[key.alg]}\n".encode()
        if key.secret is not None:
            lines = [b"key: " + half.hex().encode(), b"cose_key: " + cbor(cose_key(half)).hex().encode()]
            return self.save(name, text + self.rng.choice(lines) + b"\n")
        if identify:
            text += f"identify: {identify}\n".encode()
        if key.alg in STATIC:
            text += b"sender_kid: " + key.sender_kid.hex().encode() + b"\n" if key.sender_kid else b""
            own, other = (key.sender, key.private) if source else (key.private, key.sender)
            return self.save(name, text + self.part(own) + self.part(other.public_key()))
        if half is key.private or not key.certificates:
            text += self.part(half)
        return self.save(name, text + b"".join(self.pem(c, "CERTIFICATE") for c in key.certificates))

    def anchor_file(self, name, der, more=b""):
        return self.save(name, b"id: anchor\nalgorithm: x509\n" + self.pem(der, "CERTIFICATE") + more)

    def revocation(self, serials):
        """A list of the authority, of any age."""
        start = self.created + datetime.timedelta(days=self.rng.randrange(-400, 400))
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        b = x509.CertificateRevocationListBuilder().issuer_name(name).last_update(start).next_update(start + datetime.timedelta(days=9))
        for serial in serials:
            b = b.add_revoked_certificate(x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(start).build())
        return self.pem(b.sign(self.authority, hashes.SHA384()).public_bytes(serialization.Encoding.DER), "X509 CRL")

    # ---- bundles ----

    def random_bundle(self):
        rng = self.rng
        ms = int((self.created - EPOCH).total_seconds() * 1000)
        eids = [[1, "//src/svc"], [2, [23, rng.randrange(1, 1000)]], [2, [977000, 5, 9]]]
        crc = rng.choice([0, 1, 2])
        primary = [7, 0, rng.choice([1, 2]), [1, "//dst/svc"], rng.choice(eids), [1, "//src/"], [ms, rng.randrange(1000)], 10**6]
        data = lambda: rng.randbytes(rng.choice([0, 1, 23, 24, 255, 256, rng.randrange(3000)]))
        blocks = [Block(192 + i, 2 + i, rng.choice([0, 1, 4]), crc, data()) for i in range(rng.randrange(4))]
        return Bundle(primary, blocks + [Block(1, 1, 0, rng.choice([0, 1, 2]), data())])

    def node_of(self, bundle):
        scheme, rest = bundle.primary[4]
        return "dtn://src/" if scheme == 1 else "ipn:" + ".".join(map(str, rest[:-1] + [0]))

    # ---- out ----

    def play_out(self):
        rng, bundle = self.rng, self.random_bundle()
        kind = rng.choice([BIB, BCB])
        alg = rng.choice(SIGNERS + MACS if kind == BIB else CIPHERS)
        named = ["kid", "x5t", "x5chain"] if alg in SIGNERS else ["kid", "x5t"] if alg in OAEP or alg in AGREE and alg not in STATIC else [None]
        identify = rng.choice(named)
        key = self.key(alg, self.node_of(bundle) if identify else None)
        targets = [b.number for b in bundle.blocks] + ([0] if kind == BIB else [])
        targets = rng.sample(targets, rng.randrange(1, len(targets) + 1))
        self.counts["out"] += 1
        scope = rng.choice(["all", "none", "primary", "target", "primary,security"])
        plain = bundle.bytes()
        self.save("b", plain)
        words = [w for t in targets for w in ("-t", t)] + ["--cose-key", self.key_file("key", key, True, identify), "--scope", scope]
        self.run("sign" if kind == BIB else "encrypt", *words, "b", "-o", "s")
        self.counts["out " + NAMES[alg]] += 1
        got, seen = self.load("s"), []
        for block in [b for b in got.blocks if b.kind == kind and b.number not in [x.number for x in bundle.blocks]]:
            asb = Asb(kind, block.data)
            for i, target in enumerate(asb.targets):
                accept(got, block, asb, i, key)
                seen.append(target)
            got.blocks.remove(block)
        assert sorted(seen) == sorted(targets)
        assert got.bytes() == plain

    # ---- in ----

    def headers(self, key, asb, names):
        """Where the key is named: in the message, or in an additional map; then all results have it."""
        if key.certificates:
            thumb, other = self.rng.choice(list(THUMBS)), [self.anchor] * self.rng.randrange(2)
            named = {34: [thumb, THUMBS[thumb](key.certificates[0])]}
            if names == "chain":
                bag = self.rng.sample([*other, key.certificates[0]], len(other) + 1)
                named = {33: key.certificates[0]} if self.rng.random() < 0.5 else {**named, 32: bag if other else bag[0]}
        else:
            named = {4: key.kid}
        where = self.rng.choice([0, 3, 4])
        if where:
            asb.params[where] = cbor(named)
            return {}
        return named

    def recipient(self, asb, key, content, secret, named):
        """One recipient, whose content key is made before, or given by it."""
        if key.alg in OAEP:
            return [b"", {**named, 1: key.alg}, key.public().encrypt(secret, oaep(key.alg))]
        if key.alg in WRAPS:
            return [self.rng.choice([b"", b"\xa0"]), {**named, 1: key.alg}, aes_key_wrap(key.secret, secret)]
        return [b"", {1: DIRECT, **named}, self.rng.choice([b"", None])]

    def agreement(self, asb, key, content, secret, named):
        """The recipient and the content key, which is that of key wrap, or a derived one."""
        rng, (digest, wrap, is_static) = self.rng, AGREE[key.alg]
        own = key.sender if is_static else x25519.X25519PrivateKey.generate() if isinstance(key.private, x25519.X25519PrivateKey) else \
            ec.generate_private_key(key.private.curve)
        shown = cose_key(own.public_key(), rng.random() < 0.3)
        names = {-1: shown} if not is_static else rng.choice([{-2: shown}, {-3: key.sender_kid} if key.sender_kid else {}])
        salt = rng.randbytes(rng.randrange(8, 33)) if is_static or rng.random() < 0.5 else b""
        header = cbor({1: key.alg})
        derived = asb.derive(wrap or content, header, salt, agree(own, key.public()), digest)
        layer = [header, {**named, **names, **({-20: salt} if salt else {})}, aes_key_wrap(derived, secret) if wrap else b""]
        return layer, secret if wrap else derived

    def make(self, bundle, block, asb, index, key, named):
        rng, target = self.rng, asb.targets[index]
        aad = asb.aad(bundle, target, block)
        extra = {rng.choice([100, "text", 3]): rng.choice([0, "x", [1, {2: b"y"}]])} if rng.random() < 0.3 else {}
        if key.alg in SIGNERS:
            return self.make_signature(bundle, asb, target, key, named, aad, extra)
        content = key.alg if key.alg in HMACS or key.alg in GCMS else rng.choice(list(HMACS if asb.kind == BIB else GCMS))
        protected = cbor({1: content, **({2: [4]} if rng.random() < 0.2 else {})})
        secret, layers, plain = key.secret, [], {**named, **extra}
        kind = MAC0 if asb.kind == BIB else ENCRYPT0
        if key.alg != content or rng.random() < 0.3:
            kind, plain = (MAC if asb.kind == BIB else ENCRYPT), extra
            secret = key.secret if key.alg == content else rng.randbytes(key_bytes(content))
            if key.alg in AGREE:
                layer, secret = self.agreement(asb, key, content, secret, named)
                layers = [layer]
            elif key.alg == HKDF:
                header, salt = cbor({1: HKDF}), rng.randbytes(rng.randrange(8, 33))
                secret = asb.derive(content, header, salt, key.secret)
                layers = [[header, {**named, -20: salt}, b""]]
            else:
                layers = [self.recipient(asb, key, content, secret, named)]
            others = [[b"", {1: -5, 4: b"other"}, rng.randbytes(40)] for _ in range(rng.randrange(3))] if named else []
            layers += others
            rng.shuffle(layers)
        if asb.kind == BIB:
            mac = hmac.digest(secret, asb.structure(kind, protected, aad, payload_of(bundle, target)), HMACS[content][0])
            return kind, cbor([protected, plain, None, mac] + ([layers] if layers else []))
        iv = rng.randbytes(12)
        bundle.put(target, AESGCM(secret).encrypt(iv, bundle.of(target).data, asb.structure(kind, protected, aad)))
        return kind, cbor([protected, {**plain, 5: iv}, None] + ([layers] if layers else []))

    def make_signature(self, bundle, asb, target, key, named, aad, extra):
        rng, protected, payload = self.rng, cbor({1: key.alg}), payload_of(bundle, target)
        if rng.random() < 0.7 or not named:
            return SIGN1, cbor([protected, {**named, **extra}, None, sign(key.private, key.alg, asb.structure(SIGN1, protected, aad, payload))])
        body = rng.choice([b"", cbor({3: 0})])
        one = [protected, {**named, **extra}, sign(key.private, key.alg, asb.structure(SIGN, body, aad, payload, protected))]
        others = [[cbor({1: -51}), {4: b"other"}, rng.randbytes(96)] for _ in range(rng.randrange(9))]
        layers = others + [one]
        rng.shuffle(layers)
        return SIGN, cbor([body, {}, None, layers])

    def scope(self, bundle, kind, targets):
        """Other blocks of the AAD are no targets of a BCB, whose contents change."""
        scope = {k: 1 for k in self.rng.sample([0, -1, -2], self.rng.randrange(4))}
        free = [b.number for b in bundle.blocks if kind == BIB or b.number not in targets]
        for number in self.rng.sample(free, self.rng.randrange(len(free) + 1)):
            scope[number] = self.rng.choice([1, 2, 3])
        items = list(scope.items())
        self.rng.shuffle(items)
        return dict(items)

    def secure(self, bundle, kind, key, names, source):
        rng, asb = self.rng, Asb(kind)
        numbers = [b.number for b in bundle.blocks] + ([0] if kind == BIB else [])
        asb.targets, asb.source = rng.sample(numbers, rng.randrange(1, len(numbers) + 1)), source
        if rng.random() < 0.8:
            asb.params[5] = self.scope(bundle, kind, asb.targets)
        named = self.headers(key, asb, names)
        block = Block(kind, 40, 0, 0, b"")
        asb.results = [self.make(bundle, block, asb, i, key, named) for i in range(len(asb.targets))]
        bundle.blocks.insert(0, block._replace(data=asb.write(rng)))
        return asb

    def play_in(self):
        rng, bundle = self.rng, self.random_bundle()
        kind, names, plain = rng.choice([BIB, BIB, BCB]), rng.choice(["kid", "chain", "pinned"]), bundle.bytes()
        is_signature = kind == BIB and rng.random() < 0.6
        alg = rng.choice(SIGNERS if is_signature else MACS if kind == BIB else CIPHERS)
        harm = rng.choice([None, None, "bit", "key", "cut"] + (["expired", "node", "usage"] if is_signature and names != "kid" else []) +
                          (["revoked"] if is_signature and names == "chain" else []))
        node = None if names == "kid" or not is_signature else "ipn:9.0" if harm == "node" else self.node_of(bundle)
        key = self.key(alg, node, days=-1 if harm == "expired" else 30, usage=harm != "usage")
        asb = self.secure(bundle, kind, key, names, bundle.primary[4])
        self.counts[f"in {NAMES[alg]}"] += 1
        self.counts[f"in, {harm or 'good'}"] += 1
        data = bytearray(bundle.bytes())
        if harm == "bit": # of the last target's result, or ciphertext
            data = self.alter(bundle, asb)
        elif harm == "cut":
            block = bundle.blocks[0]
            bundle.blocks[0] = block._replace(data=block.data[:-rng.randrange(1, len(block.data))])
            data = bundle.bytes()
        self.save("s", bytes(data))
        shown = key
        if harm == "key":
            shown = self.other_key(key, node)
        file = self.key_file("key", shown, False)
        if key.certificates and names == "chain":
            serial = x509.load_der_x509_certificate(key.certificates[0]).serial_number
            others = [rng.getrandbits(64) for _ in range(rng.randrange(3))]
            lists = b"".join(self.revocation(s) for s in rng.sample([others, [serial] * (harm == "revoked")], 2))
            file = self.anchor_file("key", self.anchor if harm != "key" else self.issue("other", shown.public(), None),
                                    lists if harm == "revoked" or harm != "key" and rng.random() < 0.5 else b"")
        if kind == BIB:
            self.run("verify", "--cose-key", file, "--strip", "-o", "p", "s", good=harm is None)
        else:
            self.run("decrypt", "--cose-key", file, "s", "-o", "p", good=harm is None)
        if harm is None:
            assert pathlib.Path(self.folder, "p").read_bytes() == plain

    def other_key(self, key, node):
        """Of the same algorithm and name."""
        while True:
            out = self.key(key.alg, node)
            out.kid, out.sender_kid = key.kid, key.sender_kid
            if key.secret or out.private is not key.private:
                return out

    def alter(self, bundle, asb):
        """One bit of a MAC, a signature or a ciphertext; CRCs fit."""
        rng = self.rng
        at = rng.randrange(len(asb.targets))
        if asb.kind == BCB:
            data = bytearray(bundle.of(asb.targets[at]).data)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            bundle.put(asb.targets[at], bytes(data))
            return bundle.bytes()
        kind, text = asb.results[at]
        message = read(text)[0]
        layer = message[3] if kind != SIGN else next(s for s in message[3] if s[1].get(4) != b"other")
        value = bytearray(layer if kind != SIGN else layer[2])
        value[rng.randrange(len(value))] ^= 1 << rng.randrange(8)
        if kind == SIGN:
            layer[2] = bytes(value)
        else:
            message[3] = bytes(value)
        asb.results[at] = (kind, cbor(message))
        bundle.blocks[0] = bundle.blocks[0]._replace(data=asb.write(rng))
        return bundle.bytes()

    # ---- the draft ----

    def play_draft(self, constants):
        """The examples of the draft, as the unit test has them."""
        secret = lambda name: bytes.fromhex(constants[name])
        private = serialization.load_der_private_key(secret("COSE_SIGN_KEY"), None)
        keys = {"A1": Key(6, b"ExampleA.1", secret("COSE_MAC_KEY")), "A2": Key(-51, b"ExampleA.2", private=private),
                "A5": Key(-5, b"ExampleA.5", secret("COSE_KEK")), "A6": Key(HKDF, b"ExampleA.6", secret("COSE_KDK"))}
        keys.update(A11=keys["A1"], A12=keys["A1"], A4=Key(3, b"ExampleA.4", secret("COSE_CEK")))
        keys["A4"].base_iv = secret("COSE_BASE_IV")
        for name in ("A3", "A7", "A8", "A9"):
            k = read(secret(f"COSE_{name}_KEY"))[0]
            keys[name] = Key(k[3], k[2], private=key_of(k))
            assert cose_key(keys[name].private).items() <= k.items(), name
        keys["A8"].sender, keys["A8"].sender_kid = key_of(read(secret("COSE_A8_SENDER"))[0]), b"SenderA.8"
        for name, key in keys.items():
            bundle = Bundle.parse(secret("COSE_" + name))
            block = bundle.blocks.pop(0)
            accept(bundle, block, Asb(block.kind, block.data), 0, key)
            assert bundle.bytes() == secret("COSE_A11_PLAIN" if name == "A11" else "COSE_PLAIN"), name
        self.counts["examples of the draft"] += len(keys)


def _lines(der):
    import base64
    text = base64.b64encode(der).decode()
    return [text[i:i + 64] for i in range(0, len(text), 64)]


def constants_of(path):
    text = path.read_text().replace("\\\n", " ")
    return {line.split()[1]: "".join(p for p in line.split('"')[1::2]) for line in text.splitlines()
            if line.startswith("#define COSE_") and '"' in line}


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    count, seed = int((sys.argv[2:3] or ["400"])[0]), int((sys.argv[3:4] or [str(random.randrange(2**32))])[0])
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o700)
        test = Test(folder / "helio-bundle", seed, scratch)
        test.play_draft(constants_of(pathlib.Path(__file__).resolve().parents[1] / "unit" / "bp_cose_help.h"))
        for i in range(count):
            try:
                (test.play_out if i % 2 else test.play_in)()
            except (AssertionError, InvalidSignature, InvalidTag, InvalidUnwrap, KeyError, IndexError, ValueError) as e:
                print(f"round {i}: {type(e).__name__}: {e}")
                return 1
        print(", ".join(f"{name} {n}" for name, n in sorted(test.counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
