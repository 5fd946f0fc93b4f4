#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One of two ION nodes replaced by heliod: its rc files go through helio-plan import, heliod runs the result, and bundles go both ways
to the other node, a real ION with its own rc files. Both sets of files are written as ION's documents have them."""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import rig

START = """
mount -t tmpfs none /dev/shm
ionadmin node.ionrc &&{ltp} bpadmin node.bprc && echo READY
for f in out*; do bpsendfile ipn:{theirs}.1 ipn:{ours}.1 $f 1.1; done
bprecvfile ipn:{theirs}.1 &
while [ ! -e stop ]; do sleep 0.2; done
"""
PORTS = {rig.OURS: 1113, rig.THEIRS: 2113}


def ducts(node, other, over):
    """The lines of bpadmin and ipnadmin that lead to the other node."""
    if over == "ltp":
        return f"a protocol ltp 1400 100\na induct ltp {node} ltpcli\na outduct ltp {other} ltpclo\n", f"a plan {other} ltp/{other}\n"
    there = f"127.0.0.1:{PORTS[other]}"
    return (f"a protocol {over} 1400 100\na induct {over} 127.0.0.1:{PORTS[node]} {over}cli\na outduct {over} {there} {over}clo\n",
            f"a plan {other} {over}/{there}\n")


def write_node(folder, node, other, rate, over):
    """The rc files of a node of ION 4.1 with one neighbour, and contacts and a light time both ways."""
    protocol, plan = ducts(node, other, over)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "node.ionconfig").write_text("wmSize 50000000\nsdrName ion\nconfigFlags 1\nheapWords 20000000\n")
    low, high = min(node, other), max(node, other)
    (folder / "node.ionrc").write_text(
        f"1 {node} node.ionconfig\ns\nm horizon +0\na contact +0 +36000 {node} {other} {rate}\na contact +0 +36000 {other} {node} {rate}\n"
        f"a contact +0 +36000 {node} {node} {rate}\na range +0 +36000 {low} {high} 1\nm production {rate}\nm consumption {rate}\n")
    (folder / "node.ltprc").write_text(f"1 100\na span {other} 100 100 1400 1 1 'udplso 127.0.0.1:{PORTS[other]}'\n"
                                       f"s 'udplsi 127.0.0.1:{PORTS[node]}'\n")
    (folder / "node.bprc").write_text(
        "1\na scheme ipn 'ipnfw' 'ipnadminep'\n" + "".join(f"a endpoint ipn:{node}.{n} q\n" for n in range(3)) +
        f"{protocol}r 'ipnadmin node.ipnrc'\ns\n")
    (folder / "node.ipnrc").write_text(plan)


def run_import(args, folder):
    """heliod's configuration of node OURS, with sockets and store in our folder; the notes go to a file."""
    kinds = ("ionrc", *(["ltprc"] if args.over == "ltp" else []), "bprc", "ipnrc")
    files = [folder / f"node.{kind}" for kind in kinds]
    with open(folder / "import.log", "wb") as log:
        subprocess.run([args.helio / "helio-plan", "import", *files, "-o", folder / "node.yaml"], stderr=log, check=True)
    text = (folder / "node.yaml").read_text()
    text = re.sub(r"/tmp/helio-(\d+)", lambda m: str(folder / f"helio-{m[1]}"), text)
    (folder / "node.yaml").write_text(text)
    subprocess.run([args.helio / "heliod", "--check", folder / "node.yaml"], check=True, stdout=subprocess.DEVNULL)
    return folder / "node.yaml", pathlib.Path(re.search(r"^socket: (\S+)", text, re.MULTILINE)[1])


def received(folder):
    """By name: what is written in full has a size that stays."""
    return collections.Counter(rig.digest(f.read_bytes()) for f in folder.glob("testfile*") if f.stat().st_size)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("helio", type=pathlib.Path, help="folder of heliod and helio-plan")
    parser.add_argument("peer", type=pathlib.Path, help="folder of ION's installation")
    parser.add_argument("--over", choices=("ltp", "stcp"), default="ltp")
    parser.add_argument("--bundles", type=int, default=20, help="in each direction")
    parser.add_argument("--size", type=int, default=50_000, help="bytes of the longest")
    parser.add_argument("--rate", type=int, default=1_250_000, help="of the contacts, bytes a second")
    parser.add_argument("--wait", type=float, default=120)
    parser.add_argument("--keep")
    args = parser.parse_args()
    args.helio, args.peer = args.helio.resolve(), args.peer.resolve()
    args.share, args.seed, args.kills = 1, 1, 0
    rig.alone()
    with rig.Rig(args) as bench:
        ours, theirs = bench.folder / "ours", bench.folder / "theirs"
        write_node(ours, rig.OURS, rig.THEIRS, args.rate, args.over)
        write_node(theirs, rig.THEIRS, rig.OURS, args.rate, args.over)
        load = [os.urandom(args.size * (i + 1) // args.bundles) for i in range(2 * args.bundles)]
        there, back = load[:args.bundles], load[args.bundles:]
        for i, data in enumerate(back):
            (theirs / f"out{i:04d}").write_bytes(data)
        (theirs / "run.sh").write_text(START.format(ours=rig.OURS, theirs=rig.THEIRS, ltp=" ltpadmin node.ltprc &&" if args.over == "ltp" else ""))
        config, bench.socket = run_import(args, ours)
        bench.start("heliod", args.helio / "heliod", config)
        bench.until("heliod", 30, bench.socket.exists)
        wait = bench.take(1, args.bundles, args.wait)
        local = args.peer / "usr/local"
        env = dict(os.environ, PATH=f"{local}/bin:{os.environ['PATH']}", LD_LIBRARY_PATH=str(local / "lib"))
        bench.start("ion", "unshare", "-i", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "bash", "run.sh", cwd=theirs, env=env)
        bench.until("ION", 60, lambda: "READY" in bench.log("ion"))
        begin = time.monotonic()
        time.sleep(2)
        bench.give(f"ipn:{rig.THEIRS}.1", there)
        taken = wait()
        wanted = {rig.digest(p) for p in there}
        while not wanted <= set(received(theirs)) and time.monotonic() < begin + args.wait:
            time.sleep(0.5)
        got = received(theirs)
        (theirs / "stop").touch()
        line = {"peer": "ION", "imported": "ION's rc files", "over": args.over, "to_ion": sum(1 for d in wanted if got[d]),
                "from_ion": sum(1 for p in back if taken[rig.digest(p)]), "of": args.bundles,
                "twice": sum(n - 1 for seen in (got, taken) for n in seen.values()), "seconds": round(time.monotonic() - begin, 1)}
        print(json.dumps(line))
        return 0 if line["to_ion"] == line["from_ion"] == args.bundles and not line["twice"] else 1


if __name__ == "__main__":
    sys.exit(main())
