#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heliod and ION over LTP, or with --over stcp or udp over these, without relays. ION's folder is the one that `make install DESTDIR=…` filled. ION runs in IPC, mount and process
namespaces and with a /dev/shm of its own, since its keys are fixed; a file is a bundle (bpsendfile, bprecvfile)."""
import collections
import os
import pathlib
import signal
import subprocess
import sys
import time

import rig

PORT = 5113  # where ION listens

START = """
mount -t tmpfs none /dev/shm
ionadmin node.ionrc && {security} {ltp} bpadmin node.bprc && echo READY
{work}
while [ ! -e stop ]; do sleep 0.2; done
"""


def files(folder, args, sends, bench, payloads):
    (folder / "node.ionconfig").write_text("wmSize 50000000\nsdrName ion\nconfigFlags 1\nheapWords 20000000\n")
    (folder / "node.ionrc").write_text(
        f"1 {rig.THEIRS} node.ionconfig\ns\nm horizon +0\n"
        f"a range +0 +36000 {rig.OURS} {rig.THEIRS} {args.owlt}\n"
        f"a contact +0 +36000 {rig.THEIRS} {rig.OURS} {args.rate}\na contact +0 +36000 {rig.OURS} {rig.THEIRS} {args.rate}\n"
        f"a contact +0 +36000 {rig.THEIRS} {rig.THEIRS} {args.rate}\nm production {args.rate}\nm consumption {args.rate}\n")
    (folder / "node.ltprc").write_text(
        f"1 100\na span {rig.OURS} 100 100 1400 {args.aggregate} 1 'udplso 127.0.0.1:{rig.TO_US}'\n"
        f"s 'udplsi 127.0.0.1:{PORT}'\n")
    protocol, duct = (f"a protocol ltp 1400 100\na induct ltp {rig.THEIRS} ltpcli\na outduct ltp {rig.OURS} ltpclo\n", f"ltp/{rig.OURS}")
    if args.over in ("stcp", "udp"):
        there = f"127.0.0.1:{rig.OUR_PORT}"
        protocol = (f"a protocol {args.over} 1400 100\na induct {args.over} 127.0.0.1:{PORT} {args.over}cli\n"
                    f"a outduct {args.over} {there} {args.over}clo\n")
        duct = f"{args.over}/{there}"
    (folder / "node.bprc").write_text(
        "1\na scheme ipn 'ipnfw' 'ipnadminep'\n" + "".join(f"a endpoint ipn:{rig.THEIRS}.{n} q\n" for n in range(0, 4)) +
        f"{protocol}"
        "r 'ipnadmin node.ipnrc'\ns\n")
    (folder / "node.ipnrc").write_text(f"a plan {rig.OURS} {duct}\n")
    if args.security == "none":
        return ""
    (folder / "key.hmk").write_bytes(bench.peer_key())
    (folder / "node.ionsecrc").write_text("1\na key hand key.hmk\n")
    service, context = ("bib-integrity", 1) if args.security == "bib" else ("bcb-confidentiality", 2)
    context = args.context or context
    role, source = ("s", rig.THEIRS) if sends else ("a", rig.OURS)
    more = "".join(f', {{"{k}" : "{v}"}}' for k, v in (p.split("=") for p in args.parameter.split() if p))
    rule = ('a {"policyrule" : {"desc":"hand", "filter" : {"rule_id" : "1", "role" : "%s", "src" : "ipn:%d.%s", "tgt" : 1}, '
            '"spec": {"svc" : "%s", "sc_id" : %s, "sc_parms" : [{"key_name" : "hand"}%s]}, "es_ref":"hand"}}\n'
            % (role, source, args.service, service, context, more))
    (folder / "node.bpsecrc").write_text('a {"event_set" : {"name" : "hand", "desc" : "hand"}}\n' + rule)
    return "ionsecadmin node.ionsecrc &&"


def main():
    args = rig.options(__doc__, owlt="1", rate="12500000", aggregate="1", context="", parameter="", crypto="", service="~")
    args.wrap = args.security != "none"  # ION's blocks always have a key of their own, wrapped
    rig.alone()
    sends = args.sender == "peer"
    payloads = rig.load(args.share, args.seed)
    local = pathlib.Path(args.peer) / "usr/local"
    with rig.Rig(args) as bench:
        folder = bench.folder / "ion"
        folder.mkdir(exist_ok=True)
        for old in folder.glob("testfile*"):
            old.unlink()
        (folder / "stop").unlink(missing_ok=True)
        security = files(folder, args, sends, bench, payloads)
        link = bench.link(PORT)
        for i, data in enumerate(payloads):
            (folder / f"out{i:04d}").write_bytes(data)
        bpsec = "bpsecadmin node.bpsecrc;" if security else ""
        work = bpsec + (f"for f in out*; do bpsendfile ipn:{rig.THEIRS}.1 ipn:{rig.OURS}.1 $f 1.1; done" if sends else
                        f"bprecvfile ipn:{rig.THEIRS}.1 & ")
        (folder / "run.sh").write_text(START.format(security=security, work=work, ltp="ltpadmin node.ltprc &&" if args.over == "ltp" else ""))
        env = dict(os.environ, PATH=f"{local}/bin:{os.environ['PATH']}", LD_LIBRARY_PATH=f"{local}/lib")
        if args.crypto:
            env["LD_PRELOAD"] = os.path.abspath(args.crypto)
        bench.node(link)
        wait = bench.take(1, len(payloads), args.wait) if sends else None
        child = bench.start("ion", "unshare", "-i", "-m", "-p", "--fork", "--kill-child", "--mount-proc",
                            "bash", "run.sh", cwd=folder, env=env)
        bench.until("ION", 60, lambda: "READY" in bench.log("ion"))
        time.sleep(3)
        begin = time.monotonic()
        if sends:
            killer = bench.kill_node()
            seen = wait()
        else:
            bench.give(f"ipn:{rig.THEIRS}.1", payloads)
            killer = bench.kill_node()
            end = begin + args.wait

            wanted = {rig.digest(p) for p in payloads}
            digests = {}  # by name and size: a file may still be growing

            def received():
                for f in folder.glob("testfile*"):
                    size = f.stat().st_size
                    if size and (f.name, size) not in digests:
                        digests[f.name, size] = rig.digest(f.read_bytes())
                names = {}
                for (name, size), digest in sorted(digests.items()):
                    names[name] = digest
                return collections.Counter(names.values())
            while not wanted <= set(received()) and time.monotonic() < end:
                time.sleep(0.2)
            time.sleep(2)
            seen = received()
        seconds = time.monotonic() - begin
        killer.join()
        (folder / "stop").touch()
        bench.stop(child, signal.SIGKILL)
        return bench.report("ION", payloads, seen, seconds)


if __name__ == "__main__":
    sys.exit(main())
