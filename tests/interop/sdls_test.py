#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-frames --sdls against sdls_peer.py, both ways: every kind of frame, every algorithm, keys, lengths and masks by chance. And the
vectors of the unit test are what sdls_peer.py writes. usage: sdls_test.py BIN CASES"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

import sdls_peer
from sdls_peer import Association, Format

PROGRAM = os.path.join(sys.argv[1], "helio-frames")
VECTORS = pathlib.Path(__file__).resolve().parents[1] / "unit" / "frames_sdls_vectors.h"


def draw_format(r, kind):
    """Ours, and the words of the command line for it, but for the length."""
    fecf, ocf = r.random() < .7, r.random() < .4 and kind != "tc"
    words = ["-k", kind] + ["--no-fecf"] * (not fecf) + ["--ocf"] * ocf
    how = Format(kind, fecf, ocf)
    if kind == "tm" and r.random() < .5:
        words += ["--secondary", str(r.randint(2, 64))]
    if kind == "aos" and r.random() < .5:
        how.fhec = True
        words += ["--fhec"]
    if kind in ("aos", "uslp") and r.random() < .5:
        how.insert = r.randint(1, 40)
        words += ["--insert", str(how.insert)]
    if kind == "uslp":
        words += ["--count-octets", str(r.randint(0, 7))]
    if kind == "tc" and r.random() < .5:
        how.segments = True
        words += ["--segments"]
    return how, words


def draw_association(r, kind):
    algorithm = r.choice(("gcm", "gmac", "cmac", "hmac"))
    gcm = algorithm in ("gcm", "gmac")
    key = r.randbytes(r.randint(16, 64) if algorithm == "hmac" else r.choice((16, 32)))
    mask = r.randbytes(r.randint(1, {"tm": 6, "aos": 6, "uslp": 7, "tc": 5}[kind])) if r.random() < .5 else None
    if mask is not None and kind == "tm":
        mask = mask[:2] + b"\0" * (len(mask) > 2) + mask[3:]  # the master channel frame count cannot be covered
    return Association(r.randint(1, 65534), algorithm, key, sequence=r.choice((0, 2, 4, 8)) if gcm else r.choice((2, 4, 8)),
                       pad=r.randint(0, 2) if algorithm == "gcm" else 0, mac=16 if gcm else r.randint(8, 16 if algorithm == "cmac" else 32),
                       sender=r.getrandbits(32) if gcm else 0, mask=mask)


def write_file(folder, a, vcid):
    service = "authenticated-encryption" if a.algorithm == "gcm" else "authentication"
    name = {"cmac": "aes-cmac", "hmac": "hmac-sha-256"}.get(a.algorithm, "aes-gcm")
    key = folder / "key"
    key.write_text(a.key.hex())
    key.chmod(0o600)
    row = f"spi: {a.spi}, vcids: {vcid}, service: {service}, algorithm: {name}, key_file: {key}, pad: {a.pad}, mac: {a.mac}, sender: {a.sender}"
    row += f", sequence: {a.sequence}" * bool(a.sequence) + f', mask: "{(a.mask or b"").hex()}"'
    file = folder / "sdls.yaml"
    file.write_text(f"numbers: {folder}/numbers\nassociations:\n  - {{{row}}}\n")
    (folder / "numbers").write_text("new\n")
    return str(file)


def frames_of(how, data, length):
    out = []
    while data:
        n = (int.from_bytes(data[2:4], "big") & 0x3ff) + 1 if how.kind == "tc" else length
        out.append(data[:n])
        data = data[n:]
    return out


def run(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True).stdout


def check_case(folder, seed):
    r = random.Random(seed)
    kind = r.choice(("tm", "aos", "uslp", "tc"))
    how, words = draw_format(r, kind)
    a, vcid, length = draw_association(r, kind), r.randint(0, 7), r.randint(250, 900)
    file = write_file(folder, a, vcid)
    words += ["-l", str(length), "--vcid", str(vcid)]
    secured = run("gen", "-n", "5", "--packet", "60", *words, "--sdls", file)
    got = frames_of(how, secured, length)
    assert len(got) == 5
    clear = []
    for i, frame in enumerate(got):
        plain, number = a.process(how, frame)
        assert number == i + 1
        assert a.apply(how, plain, number) == frame
        clear.append(plain)
    # and what the other one secures: the numbers go on
    (folder / "theirs").write_bytes(b"".join(a.apply(how, plain, 1000 + i) for i, plain in enumerate(clear)))
    assert run("convert", *words, "--sdls", file, "--secured", str(folder / "theirs")) == b"".join(clear)
    (folder / "clear").write_bytes(b"".join(clear))
    again = run("convert", *words, "--sdls", file, str(folder / "clear"))
    assert again == b"".join(a.apply(how, plain, 6 + i) for i, plain in enumerate(clear))


def main():
    written = subprocess.run([sys.executable, sdls_peer.__file__], check=True, capture_output=True, text=True).stdout
    assert written == VECTORS.read_text(), "sdls_peer.py > tests/unit/frames_sdls_vectors.h"
    cases = int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(cases):
            try:
                check_case(pathlib.Path(folder), seed)
            except BaseException:
                print("seed", seed)
                raise
    print(f"{cases} associations, {15 * cases} frames")


if __name__ == "__main__":
    main()
