# SPDX-License-Identifier: Apache-2.0
"""The two captures of helio-emu, of what enters its link and of what leaves it, make up both ends: helio-analyze finds the
figures of the nodes' logs. Exactly in virtual time, with captures made of the log of helio-sim; and in a real run.
usage: analyze_emulator_test.py BIN OUT"""

import csv
import json
import os
import shutil
import struct
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "tools"))
from lab import Lab  # noqa: E402
from resting import settle  # noqa: E402

EXACT_MS = 0.01
DELAY_MS = 40


def sdnv(n):
    out = [n & 127]
    while n := n >> 7:
        out.append(n & 127 | 128)
    return bytes(reversed(out))


def segment(row):
    """As it was on the wire, of a log without losses: a report claims all of its scope."""
    kind, n = int(row["type"]), {k: int(v) if v.isdigit() else 0 for k, v in row.items()}
    out = bytes([kind]) + sdnv(n["originator"]) + sdnv(n["session"]) + b"\0"
    if kind == 8:
        size = n["rs_upper"] - n["rs_lower"]
        return out + b"".join(map(sdnv, (n["rpt_serial"], n["cp_serial"], n["rs_upper"], n["rs_lower"], 1, 0, size)))
    if kind == 9:
        return out + sdnv(n["rpt_serial"])
    out += sdnv(n["client_service"]) + sdnv(n["offset"]) + sdnv(n["length"])
    out += sdnv(n["cp_serial"]) + sdnv(n["rpt_serial"]) if kind in (1, 2, 3) else b""
    return out + bytes(n["length"])


def datagram(forward, data):
    ends = (b"\x0a\0\0\1", b"\x0a\0\0\2")
    udp = struct.pack("!HHHH", 1113, 1113, 8 + len(data), 0) + data
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + ends[not forward] + ends[forward]
    return bytes(12) + b"\x08\0" + ip + udp


def block(kind, body):
    size = struct.pack("<I", 12 + len(body) + -len(body) % 4)
    return struct.pack("<I", kind) + size + body + bytes(-len(body) % 4) + size


def option(code, value):
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def write_capture(path, place, rows):
    """As the bridge writes it: the same addresses at both ends."""
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    for name in b"forward", b"return":
        text = b"helio-emu %s 1a2b: what %s the link, %s direction" % (place, b"leaves" if place == b"after" else b"enters", name)
        out += block(1, struct.pack("<HHI", 1, 0, 65600) + option(2, name) + option(3, text) + option(9, b"\x09") + bytes(4))
    for row in rows:
        t, forward = int(row["t_ns"]) + 10**18, (row["node"] == "1") == (row["dir"] == "tx")
        frame = datagram(forward, segment(row))
        out += block(6, struct.pack("<IIIII", not forward, t >> 32, t & 0xFFFFFFFF, len(frame), len(frame)) + frame)
    with open(path, "wb") as f:
        f.write(out)


def analyse(lab, *arguments):
    return json.loads(lab.run("helio-analyze", "--json", *arguments))


def same(found, log, within):
    assert found["sessions"] == log["sessions"] > 20, (found["sessions"], log["sessions"])
    for times in "session_ms", "delivery_ms":
        for key in "mean", "p50":
            assert abs(found[times][key] - log[times][key]) <= within, (times, key, found[times], log[times])
    ideal = [f["decomposition"]["ideal_ms"] for f in (found, log)]
    assert abs(ideal[0] - ideal[1]) <= within, ideal


def check_exactly(lab):
    log, before, after = (lab.path(name) for name in ("sim.csv", "sim-before.pcapng", "sim-after.pcapng"))
    lab.run("helio-sim", "--trace", "none", "--delay", f"{DELAY_MS}ms", "--processing", "4ms", "--rate", "20Mbit/s", "--bundle", "20kB",
            "--sessions", "3", "--duration", "1s", "--rto", "200ms", "--log", log)
    with open(log, newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["type"]]
    write_capture(before, b"before", [row for row in rows if row["dir"] == "tx"])
    write_capture(after, b"after", [row for row in rows if row["dir"] == "rx"])
    true = analyse(lab, log)
    for files in (before, after), (after, before):
        found = analyse(lab, *files)
        same(found, true, EXACT_MS)
        ends = {os.path.basename(e["file"]): e for e in found["capture"]["ends"]}
        assert {(e["place"], e["known_by"], e["emulator"]) for e in ends.values()} == {
            ("sender", "capture", "before"), ("receiver", "capture", "after")}, ends
        assert ends["sim-before.pcapng"]["partner"].endswith("sim-after.pcapng"), ends
    clocks = lab.run("helio-analyze", "--clock", "auto", before, after)
    assert "corrected" not in clocks, clocks
    text = lab.run("helio-analyze", before)
    assert "one way is missing" in text and "Give the capture of what leaves it as well" in text, text
    with open(before, "rb") as f, open(lab.path("cut.pcapng"), "wb") as out:
        out.write(f.read()[:-30])
    cut = subprocess.run([os.path.join(sys.argv[1], "helio-analyze"), lab.path("cut.pcapng"), after], capture_output=True, text=True, check=False)
    assert "ends within this packet" in cut.stderr, (cut.returncode, cut.stderr)


def check_run(lab):
    """Real processes: what the nodes' logs say, but for the time from a socket to the node."""
    one, two, relay = lab.udp_ports(3)
    files = lab.path("before.pcapng"), lab.path("after.pcapng.gz")
    emulator = lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{two}", "--delay", f"{DELAY_MS}ms",
                         "--trace", "iid:0.03", "--seed", "5", "--pcap-before", files[0], "--pcap-after", files[1])
    nodes = {n: lab.start_node(n, lab.write_node(n, [lab.link(3 - n, port, relay, sessions=8, rto="400ms", segment="1024B", recovery="plain",
                                                              rate="20Mbit/s")])) for n, port in ((1, one), (2, two))}
    server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2))
    lab.run("helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "-D", "1500k", "-P", "20kB", "-W", "8")
    for p in (emulator, *nodes.values()):
        settle(p.pid, 1)
    lab.stop("server", server, 2)
    for n, p in nodes.items():
        lab.stop(f"node{n}", p)
    lab.stop("relay", emulator)
    logs = [lab.path(f"node{n}.segments.csv") for n in (1, 2)]
    true, found = analyse(lab, *logs), analyse(lab, *files)
    flows = [next(f for f in r["flows"] if f["originator"] == 1) for r in (true, found)]
    assert flows[0]["sessions"] == flows[1]["sessions"] > 50, flows
    assert flows[0]["checkpoints_lost"] == flows[1]["checkpoints_lost"] and flows[0]["retx_cycles"] == flows[1]["retx_cycles"], flows
    for times in "session_ms", "delivery_ms":  # one way more or less would be DELAY_MS
        apart = abs(flows[0][times]["p50"] - flows[1][times]["p50"])
        assert apart < DELAY_MS / 8, (times, flows[0][times], flows[1][times])


def main():
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    with Lab(sys.argv[1], sys.argv[2]) as lab:
        check_exactly(lab)
        check_run(lab)
    print("captures of the emulator's two sides make both ends")


if __name__ == "__main__":
    main()
