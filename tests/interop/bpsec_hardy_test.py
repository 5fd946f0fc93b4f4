#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bundle security both ways with hardy-bpv7 (Rust): random targets, scopes, keys, wrapped keys, CRCs, fragments. Each end verifies,
decrypts and strips the other's bundles, compares what is left with the bundle before, and refuses a changed bit.
Differences that bpsec_random.c and security.rs avoid are in README.md.
usage: bpsec_hardy_test.py BPSEC-RANDOM BUNDLE-PEERS FOLDER COUNT [SEED]; exit code: 0 all agree, 1 not"""
import pathlib
import re
import subprocess
import sys


def run(words, source=None, sink=None):
    with open(source or "/dev/null", "rb") as into, open(sink, "wb") as out:
        return subprocess.run(words, stdin=into, stdout=out, check=False).returncode


def main(ours, hardy, folder, count, seed="9172"):
    work = pathlib.Path(folder)
    work.mkdir(parents=True, exist_ok=True)
    print(f"seed {seed}", flush=True)
    ways = [("ours to hardy", [ours, "make", seed, count], [hardy, "hardy", "open"]),
            ("hardy to ours", [hardy, "hardy", "secure", seed, count], [ours, "open"])]
    good = True
    for name, make, read in ways:
        made, found = work / f"{name}.txt".replace(" ", "_"), work / f"{name}.found".replace(" ", "_")
        codes = run(make, sink=made), run(read, source=made, sink=found)
        text = found.read_text()
        cut = re.search(r"in fragments (\d+), altered and refused (\d+)", text)
        all_agree = f"bundles {count}, agree {count}," in text and cut is not None
        good &= codes[0] == 0 and all_agree and int(cut[1]) > int(count) // 5 and int(cut[2]) > int(count) // 2
        print(f"{name}: exit codes {codes}\n" + "\n".join(text.splitlines()[-12:]), flush=True)
        made.unlink()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) in (5, 6) else __doc__)
