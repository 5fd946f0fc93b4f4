#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what SECURITY.md, ARCHITECTURE.md, docs/limits.md and the manual's pages promise about hostile input, against running nodes. Bundles, segments
and messages are made here, from the RFCs; nothing of the other tests is used. Each claim is tied to the words of its page.

usage: security_claims.py BIN_DIR [--jobs N] [NAME…]

BIN_DIR     the folder of the programs (heliod, helioctl)
--jobs      checks at once (4); most of them wait
NAME        only these checks (the function's name)

Prints a table: claim, where it stands, what was measured, whether it holds. Everything happens in a network namespace of the script's own.
Exit codes: 0 all hold, 1 one does not, 2 usage, 77 not root, or namespaces are not permitted.
"""
import argparse
import concurrent.futures
import os
import shutil
import sys
import tempfile
import time
import traceback

import _paths  # noqa: F401
from security import bundles, claims_held, ltp, nodes, process, tcpcl  # noqa: E402, F401: each registers its checks
from security.claim import CHECKS, Claim  # noqa: E402

SKIPPED = 77


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin_dir", metavar="BIN_DIR")
    p.add_argument("names", metavar="NAME", nargs="*")
    p.add_argument("--jobs", type=int, default=4)
    o = p.parse_intermixed_args()
    known = {name_of(f) for f in CHECKS}
    if unknown := set(o.names) - known:
        p.error(f"{', '.join(sorted(unknown))}: no such check; right are {', '.join(sorted(known))}")
    return o


def name_of(f):
    return f.__module__.rpartition(".")[2] + "." + f.__name__


def run(f):
    """The claims of a check. One that breaks off does not hold."""
    begin, claims = time.monotonic(), []
    try:
        for claim in f():
            claims.append(claim)
    except Exception as e:  # a check that fails must not hide the others
        traceback.print_exc()
        claims.append(Claim(f"{name_of(f)} ends", "SECURITY.md", "", f"{type(e).__name__}: {e}", False))
    print(f"{name_of(f)}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    return claims


def main():
    o = options()
    if os.geteuid() != 0:
        print("needs root")
        return SKIPPED
    try:
        nodes.leave_network()
    except OSError as e:
        print(f"needs a network namespace: {e}")
        return SKIPPED
    nodes.bin_dir = os.path.abspath(o.bin_dir)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="security-") as folder:
        os.chmod(folder, 0o755)
        tempfile.tempdir = folder
        try:
            with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
                claims = [c for part in pool.map(run, [f for f in CHECKS if not o.names or name_of(f) in o.names]) for c in part]
        finally:
            nodes.end_all()
    shutil.rmtree(folder, ignore_errors=True)
    print("| claim | page | measured | holds |\n|---|---|---|---|")
    for c in claims:
        print(f"| {c.claim} | {c.page} | {c.measured.replace('|', '/')} | {'yes' if c.holds else 'NO'} |")
    wrong = sum(not c.holds for c in claims)
    print(f"{len(claims)} claims, {wrong} do not hold; {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
