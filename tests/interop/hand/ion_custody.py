#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tunnel with custody between heliod and ION (bibeclo) over UDP with losses, first from heliod, then from ION. ION's folder is
the one that `make install DESTDIR=…` filled. Bundles of ION are for a third node behind heliod, since ION sends what is for the
tunnel's end itself outside of it. --kills kills heliod in both directions."""
import json
import os
import pathlib
import signal
import sys
import threading
import time

import rig

ION_PORT, TO_ION, OUR_PORT, TO_US, FAR_PORT, NEAR_PORT = 5113, 5213, 5114, 5214, 5121, 5120
FAR = 44
COUNT, LENGTH = 30, 1000

START = """
mount -t tmpfs none /dev/shm
ionadmin node.ionrc && bpadmin node.bprc && echo READY
mkdir -p received; (cd received; bprecvfile ipn:{ion}.1) &
while [ ! -e send ]; do sleep 0.2; done
for f in out*; do bpsendfile ipn:{ion}.2 ipn:{far}.1 $f; done
while [ ! -e stop ]; do sleep 0.2; done
"""


def write_files(folder):
    us, ion = rig.OURS, rig.THEIRS
    both = "".join(f"a contact +0 +36000 {a} {b} 1000000\na range +0 +36000 {a} {b} 1\n" for a, b in ((ion, us), (us, ion), (ion, FAR)))
    (folder / "node.ionconfig").write_text("wmSize 50000000\nsdrName ion\nconfigFlags 1\nheapWords 20000000\n")
    (folder / "node.ionrc").write_text(f"1 {ion} node.ionconfig\ns\nm horizon +0\n{both}a contact +0 +36000 {ion} {ion} 1000000\n"
                                       "m production 1000000\nm consumption 1000000\n")
    (folder / "node.biberc").write_text(f"a bcla ipn:{us}.12 1 1 '' 0 300 1 0 64\n")  # 64: custody
    (folder / "node.ipnrc").write_text(f"1\na rtovrd 0 {FAR} 0 {us} bibe/ipn:{us}.12\n")
    (folder / "node.bprc").write_text(
        "1\na scheme ipn 'ipnfw' 'ipnadminep'\nr 'bibeadmin node.biberc'\n" + "".join(f"a endpoint ipn:{ion}.{n} q\n" for n in range(3)) +
        f"a protocol udp 1400 100\na induct udp 127.0.0.1:{ION_PORT} udpcli\na outduct udp 127.0.0.1:{TO_US} udpclo\n"
        f"a protocol bibe 1400 100\na induct bibe * ''\na outduct bibe ipn:{us}.12 bibeclo\na plan ipn:{us}.0 1000000\n"
        f"a planduct ipn:{us}.0 udp 127.0.0.1:{TO_US}\na planduct ipn:{us}.0 bibe ipn:{us}.12\nr 'ipnadmin node.ipnrc'\ns\n")
    (folder / "run.sh").write_text(START.format(ion=ion, far=FAR))


def start_nodes(bench):
    us, ion = rig.OURS, rig.THEIRS
    bench.socket = bench.folder / "node.sock"
    far = bench.folder / "far.yaml"
    far.write_text(f"node: ipn:{FAR}.0\nsocket: {bench.folder}/far.sock\nstore: {{durability: none}}\nlinks:\n"
                   f"  - {{name: back, adapter: stcp, peer: ipn:{us}.0, local: '127.0.0.1:{FAR_PORT}', remote: '127.0.0.1:{NEAR_PORT}'}}\n")
    (bench.folder / "node.yaml").write_text(
        f"node: ipn:{us}.0\nsocket: {bench.socket}\nstore: {{path: {bench.folder}/store, durability: sync}}\nlinks:\n"
        f"  - {{name: raw, adapter: udp, peer: ipn:{ion}.0, local: '127.0.0.1:{OUR_PORT}', remote: '127.0.0.1:{TO_ION}'}}\n"
        f"  - {{name: tunnel, adapter: bibe, peer: ipn:{ion}.0, local: ipn:{us}.12, remote: ipn:{ion}.0, "
        f"custody: {{mode: on, records: ion, timer: 5s}}}}\n"
        f"  - {{name: far, adapter: stcp, peer: ipn:{FAR}.0, local: '127.0.0.1:{NEAR_PORT}', remote: '127.0.0.1:{FAR_PORT}'}}\n"
        f"routes:\n  - {{to: 'ipn:{ion}.*', via: tunnel}}\n  - {{to: ipn:{ion}.0, via: raw}}\n")
    bench.start("far", f"{bench.args.helio}/heliod", far)
    bench.run_node(bench.folder / "node.yaml", 0)


def start_relays(bench):
    for name, port, to, seed in (("to_ion", TO_ION, ION_PORT, 1), ("to_us", TO_US, OUR_PORT, 2)):
        loss = ["--trace", f"iid:{bench.args.loss / 100}"] if bench.args.loss else []
        bench.start(name, f"{bench.args.helio}/helio-emu", "relay", "--listen", f"127.0.0.1:{port}", "--to", f"127.0.0.1:{to}",
                    "--seed", str(bench.args.seed * 10 + seed), *loss)
        bench.until(name, 20, lambda: "ready" in bench.log(name))


def custody(bench):
    return next(link for link in bench.status("links")["links"] if link["name"] == "tunnel")["custody"]


def wait_for(bench, wanted, found):
    end = time.monotonic() + bench.args.wait
    while not wanted <= found() and time.monotonic() < end:
        time.sleep(0.2)
    return len(wanted & found())


def to_ion(bench, payloads):
    bench.give(f"ipn:{rig.THEIRS}.1", payloads)
    killer = bench.kill_node()
    folder = bench.folder / "received"
    got = wait_for(bench, {rig.digest(p) for p in payloads}, lambda: {rig.digest(f.read_bytes()) for f in folder.glob("testfile*")})
    killer.join()
    end = time.monotonic() + 60  # the last signals
    while custody(bench)["held"] and time.monotonic() < end:
        time.sleep(0.2)
    return {"from": "us", "delivered": got, "custody": custody(bench)}


def from_ion(bench, payloads):
    client = rig.aap2.Client(str(bench.folder / "far.sock"), timeout=1)
    assert client.configure(f"ipn:{FAR}.1", subscribe=True) == rig.aap2.SUCCESS
    client.s.settimeout(None)
    seen = []

    def read():
        try:
            while True:
                seen.append(rig.digest(client.delivery()[1]))
        except (EOFError, OSError):
            return  # the node was stopped

    threading.Thread(target=read, daemon=True).start()
    (bench.folder / "send").touch()
    killer = bench.kill_node()
    got = wait_for(bench, {rig.digest(p) for p in payloads}, lambda: set(seen))
    killer.join()
    time.sleep(8)  # ION's timer, 4 s: it sends again what no signal confirmed
    return {"from": "ION", "delivered": got, "twice": len(seen) - len(set(seen)), "custody": custody(bench)}


def main():
    args = rig.options(__doc__)
    rig.alone()
    local = pathlib.Path(args.peer) / "usr/local"
    env = dict(os.environ, PATH=f"{local}/bin:{os.environ['PATH']}", LD_LIBRARY_PATH=f"{local}/lib")
    payloads = [bytes([i]) * LENGTH for i in range(COUNT)]
    with rig.Rig(args) as bench:
        write_files(bench.folder)
        for i, payload in enumerate(payloads):
            (bench.folder / f"out{i:02}").write_bytes(payload)
        start_relays(bench)
        start_nodes(bench)
        child = bench.start("ion", "unshare", "-i", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "bash", "run.sh",
                            cwd=bench.folder, env=env)
        bench.until("ION", 60, lambda: "READY" in bench.log("ion"))
        time.sleep(3)
        lines = [to_ion(bench, payloads), from_ion(bench, payloads)]
        (bench.folder / "stop").touch()
        bench.stop(child, signal.SIGKILL)
    for line in lines:
        print(json.dumps({"sent": COUNT, "loss": args.loss, "kills": args.kills, **line}))
    return 0 if all(line["delivered"] == COUNT for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
