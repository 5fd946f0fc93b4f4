#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NASA's CryptoLib and helio-frames --sdls exchange frames both ways: TC, TM and AOS; AES-GCM, AES-CMAC and HMAC-SHA-256 with keys of 32
octets. The first lines of cryptolib_sdls.c say how to build PROGRAM. usage: cryptolib_sdls.py HELIO_BIN PROGRAM"""

import os
import pathlib
import subprocess
import sys
import tempfile

BIN, PROGRAM = sys.argv[1], os.path.abspath(sys.argv[2])
NAMES = {"gcm": ("authenticated-encryption", "aes-gcm", 2 + 12 + 16), "cmac": ("authentication", "aes-cmac", 2 + 4 + 16),
         "hmac": ("authentication", "hmac-sha-256", 2 + 4 + 16)}
SPI, LENGTH, FRAMES, FIRST = 5, 256, 20, 1000


def helio(*words):
    return subprocess.run([os.path.join(BIN, "helio-frames"), *words], check=True, capture_output=True).stdout


def theirs(folder, what, kind, algorithm, key, number, frames):
    text = "\n".join(f.hex() for f in frames) + "\n"
    done = subprocess.run([PROGRAM, what, kind, algorithm, key.hex(), str(SPI), str(LENGTH), number.to_bytes(12 if algorithm == "gcm" else 4, "big").hex()],
                          input=text, capture_output=True, text=True, cwd=folder, check=False)
    lines = done.stderr.split()
    assert done.returncode == 0 and len(lines) == len(frames), (done.returncode, done.stderr[:500])
    return [bytes.fromhex(line) for line in lines]


def cut(kind, data):
    out = []
    while data:
        n = (int.from_bytes(data[2:4], "big") & 0x3ff) + 1 if kind == "tc" else LENGTH
        out.append(data[:n])
        data = data[n:]
    return out


def exchange(folder, kind, algorithm):
    service, name, more = NAMES[algorithm]
    key = os.urandom(32)
    (folder / "key").write_text(key.hex())
    (folder / "key").chmod(0o600)
    (folder / "numbers").write_text("new\n")
    (folder / "sdls.yaml").write_text(f"numbers: {folder}/numbers\nassociations:\n  - {{spi: {SPI}, vcids: 0, service: {service}, "
                                      f"algorithm: {name}, key_file: {folder}/key}}\n")
    sdls = ["--sdls", f"{folder}/sdls.yaml"]
    words = ["-k", kind] + (["--packet", "80"] if kind == "tc" else ["-l", str(LENGTH)])
    use = words[:2] + (["-l", str(LENGTH)] if kind != "tc" else [])
    front = 5 if kind == "tc" else 6
    # ours to them
    secured = helio("gen", "-n", str(FRAMES), *words, *sdls)
    (folder / "ours").write_bytes(secured)
    clear = cut_clear(kind, helio("convert", *use, *sdls, "--secured", f"{folder}/ours"), more)
    assert len(clear) == FRAMES
    got = theirs(folder, "process", kind, algorithm, key, 0, cut(kind, secured))
    assert all(g[:len(c) - front - 2] == c[front:-2] for g, c in zip(got, clear)), "data fields differ"
    # theirs to us
    head = more - 16
    rooms = clear if kind == "tc" else [c[:front] + bytes(head) + c[front:-2] + bytes(16 + 2) for c in clear]
    made = theirs(folder, "apply", kind, algorithm, key, FIRST, rooms)
    (folder / "theirs").write_bytes(b"".join(made))
    assert helio("convert", *use, *sdls, "--secured", f"{folder}/theirs") == b"".join(clear)


def cut_clear(kind, data, more):
    if kind == "tc":
        return cut(kind, data)
    n = LENGTH - more
    return [data[i:i + n] for i in range(0, len(data), n)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("tc", "tm", "aos"):
            for algorithm in NAMES:
                try:
                    exchange(pathlib.Path(folder), kind, algorithm)
                    print(f"{kind} {algorithm}: {FRAMES} frames each way")
                except (AssertionError, subprocess.CalledProcessError) as e:
                    print(f"{kind} {algorithm}: FAILED {str(e)[:300]} {getattr(e, 'stderr', b'')[:200]}")


main()
