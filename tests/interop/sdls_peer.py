# SPDX-License-Identifier: Apache-2.0
"""A second reading of CCSDS 355.0-B-2 for tests, with python3-cryptography. It shares nothing with frames/sdls.c.
usage: sdls_peer.py > tests/unit/frames_sdls_vectors.h"""

import hashlib
import hmac

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC

MASKS = {"tm": "000e00000000", "aos": "003f00000000", "uslp": "000007fe000000", "tc": "0000fc0000"}


def crc16(data):
    value = 0xffff
    for octet in data:
        value ^= octet << 8
        for _ in range(8):
            value = (value << 1 ^ (0x1021 if value & 0x8000 else 0)) & 0xffff
    return value.to_bytes(2, "big")


class Format:
    """What is managed of a physical channel."""

    def __init__(self, kind, fecf=True, ocf=False, fhec=False, insert=0, segments=False):
        self.kind, self.fecf, self.ocf, self.fhec, self.insert, self.segments = kind, fecf, ocf, fhec, insert, segments

    def front(self, frame):
        """Octets of the primary header, and all before the security header."""
        if self.kind == "tm":
            return 6, 6 + ((frame[6] & 63) + 1 if frame[4] & 0x80 else 0)
        if self.kind == "aos":
            return 6, 6 + 2 * self.fhec + self.insert
        if self.kind == "uslp":
            primary = 7 + (frame[6] & 7)
            return primary, primary + self.insert
        return 5, 5 + (self.segments and not frame[0] & 0x10)

    def back(self, frame):
        """Octets of OCF and FECF."""
        ocf = {"tm": frame[1] & 1, "aos": self.ocf, "uslp": frame[6] >> 3 & 1, "tc": False}[self.kind]
        return 4 * bool(ocf) + 2 * self.fecf

    def finish(self, frame):
        """The length and the check value are made right."""
        frame = bytearray(frame)
        if self.kind == "tc":
            frame[2:4] = ((frame[2] & 0xfc) << 8 | len(frame) - 1).to_bytes(2, "big")
        if self.kind == "uslp":
            frame[4:6] = (len(frame) - 1).to_bytes(2, "big")
        if self.fecf:
            frame[-2:] = crc16(frame[:-2])
        return bytes(frame)


class Association:
    """`algorithm` is cmac, hmac, gcm or gmac."""

    def __init__(self, spi, algorithm, key, sequence=0, pad=0, mac=16, sender=0, mask=None):
        self.spi, self.algorithm, self.key, self.sequence, self.pad, self.mac = spi, algorithm, key, sequence, pad, mac
        self.sender, self.mask = sender, mask
        self.iv = 12 if algorithm in ("gcm", "gmac") else 0

    def header(self, number):
        iv = self.sender.to_bytes(4, "big") + number.to_bytes(8, "big") if self.iv else b""
        sequence = number.to_bytes(self.sequence, "big") if self.sequence else b""
        return self.spi.to_bytes(2, "big") + iv + sequence + bytes(self.pad)

    def covered(self, how, frame, header):
        """The authentication payload before the data field."""
        primary, front = how.front(frame)
        mask = bytearray(bytes.fromhex(MASKS[how.kind]).ljust(primary, b"\0"))
        for i, more in enumerate(self.mask or b""):
            mask[i] |= more
        out = bytes(a & b for a, b in zip(frame, mask)) + bytes(front - primary)
        if how.kind == "tc":
            out = out[:5] + frame[5:front]
        return out + header[:2] + bytes(self.iv) + header[2 + self.iv:]

    def authenticate(self, data):
        if self.algorithm == "hmac":
            return hmac.new(self.key, data, hashlib.sha256).digest()[:self.mac]
        c = CMAC(AES(self.key))
        c.update(data)
        return c.finalize()[:self.mac]

    def apply(self, how, frame, number):
        """A frame without security, its FECF included, gets it."""
        front, back = how.front(frame)[1], how.back(frame)
        header, data = self.header(number), frame[front:len(frame) - back]
        tail = frame[len(frame) - back:]
        whole = how.finish(frame[:front] + header + data + bytes(self.mac) + tail)
        covered = self.covered(how, whole, header)
        if self.algorithm == "gcm":
            sealed = AESGCM(self.key).encrypt(header[2:14], data, covered)
        elif self.algorithm == "gmac":
            sealed = data + AESGCM(self.key).encrypt(header[2:14], b"", covered + data)
        else:
            sealed = data + self.authenticate(covered + data)
        return how.finish(frame[:front] + header + sealed + tail)

    def process(self, how, frame):
        """The frame without security and its number. InvalidTag or AssertionError: it is not authentic."""
        front, back = how.front(frame)[1], how.back(frame)
        at = front + 2 + self.iv + self.sequence + self.pad
        header, sealed, tail = frame[front:at], frame[at:len(frame) - back], frame[len(frame) - back:]
        covered = self.covered(how, frame, header)
        assert header[:2] == self.spi.to_bytes(2, "big")
        if self.algorithm == "gcm":
            data = AESGCM(self.key).decrypt(header[2:14], sealed, covered)
        elif self.algorithm == "gmac":
            data = sealed[:-16]
            AESGCM(self.key).decrypt(header[2:14], sealed[-16:], covered + data)
        else:
            data = sealed[:-self.mac]
            assert self.authenticate(covered + data) == sealed[-self.mac:]
        number = header[2 + self.iv:2 + self.iv + self.sequence] if self.sequence else header[6:14]
        return how.finish(frame[:front] + data + tail), int.from_bytes(number, "big")


def steps(length, first):
    return bytes((first + 7 * i) & 0xff for i in range(length))


def vectors():
    """(C's format, C's association, number, frame without, frame with)."""
    cases = [
        (Format("tm"), "FRAME_TM", "", "0aae1122180a", Association(1, "gcm", steps(32, 3))),
        (Format("tm"), "FRAME_TM", "", "0aaf1122980a" + "03010203", Association(2, "gmac", steps(16, 9))),
        (Format("aos"), "FRAME_AOS", "", "6ac5010203c0", Association(3, "gcm", steps(16, 1), pad=1, sender=0xa1b2c3d4)),
        (Format("aos", fecf=False, ocf=True, insert=5), "FRAME_AOS", ".ocf = true, .insert_len = 5", "6ac501020300" + "1122334455",
         Association(4, "cmac", steps(16, 5), sequence=2, mac=8)),
        (Format("uslp"), "FRAME_USLP", ".count_len = 3", "c02ab8b6" + "0000" + "0b010203", Association(5, "hmac", steps(32, 7), sequence=8, mac=32)),
        (Format("uslp"), "FRAME_USLP", ".count_len = 3", "c02ab8b6" + "0000" + "03010203",
         Association(6, "gcm", steps(32, 2), sequence=4, pad=2)),
        (Format("tc"), "FRAME_TC", "", "20abf4009c", Association(7, "cmac", steps(32, 4), sequence=4)),
        (Format("tc", segments=True), "FRAME_TC", ".segments = true", "20abf4009c" + "c5", Association(8, "hmac", steps(16, 6), sequence=4, mac=16)),
        (Format("tc"), "FRAME_TC", "", "20abf4009c", Association(9, "gcm", steps(16, 8), mask=bytes.fromhex("ffffffffff"))),
    ]
    for i, (how, kind, more, front, a) in enumerate(cases):
        front, number = bytes.fromhex(front), 0x0102 + 0x101 * i
        field = b"\x00\x00\x05" + steps(37, 11) if how.kind == "uslp" else steps(40, i)
        has_ocf = how.ocf or (how.kind == "tm" and front[1] & 1) or (how.kind == "uslp" and front[6] & 8)
        plain = how.finish(front + field + b"\x01\x02\x03\x04" * bool(has_ocf) + bytes(2 * how.fecf))
        yield how, kind, more, a, number, plain, a.apply(how, plain, number)


def main():
    names = {"cmac": "SDLS_CMAC", "hmac": "SDLS_HMAC", "gcm": "SDLS_GCM", "gmac": "SDLS_GCM"}
    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Written by tests/interop/sdls_peer.py, which computes these frames without frames/sdls.c. */")
    print("/* clang-format off */")
    for how, kind, more, a, number, plain, secured in vectors():
        service = "SDLS_AUTHENTICATED_ENCRYPTION" if a.algorithm == "gcm" else "SDLS_AUTHENTICATION"
        print(f"{{{{.kind = {kind}, .length = {len(secured)}, .fecf = {2 * how.fecf}{', ' + more if more else ''}}},")
        mask = "" if a.mask is None else f", .mask = {{{', '.join(map(str, a.mask))}}}"
        print(f" {{.spi = {a.spi}, .service = {service}, .algorithm = {names[a.algorithm]}, .iv_len = {a.iv}, .sequence_len = {a.sequence},")
        print(f"  .pad_len = {a.pad}, .mac_len = {a.mac}, .sender = 0x{a.sender:x}, .window = 10, .key_len = {len(a.key)}{mask},")
        print(f"  .next = {number}, .end = {number + 100}}},")
        for text in (a.key, plain, secured):
            print(f' "{text.hex()}"', end=",\n" if text is not secured else "},\n")


if __name__ == "__main__":
    main()
