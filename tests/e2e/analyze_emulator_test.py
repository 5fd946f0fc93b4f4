# SPDX-License-Identifier: Apache-2.0
"""The two captures of helio-emu, of what enters its link and of what leaves it, make up both ends: helio-analyze finds the
figures of the nodes' logs. Exactly in virtual time, with captures made of the log of helio-sim and with those that it writes; and in a real
run but for the time that a segment takes between its node and the socket.
usage: analyze_emulator_test.py BIN OUT"""

import csv
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402
from resting import settle  # noqa: E402

EXACT_MS = 0.01
DELAY_MS = 40
TIMES = "duration_ms", "delivery_ms"


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
    assert "one direction is missing" in text and "Give the capture of what leaves it as well" in text, text
    with open(before, "rb") as f, open(lab.path("cut.pcapng"), "wb") as out:
        out.write(f.read()[:-30])
    cut = subprocess.run([os.path.join(sys.argv[1], "helio-analyze"), lab.path("cut.pcapng"), after], capture_output=True, text=True, check=False)
    assert "ends within this packet" in cut.stderr, (cut.returncode, cut.stderr)


LINK = "adapter: ltp-udp, rate: 20Mbit/s, owlt: 20ms, recovery: {mode: plain, report_delay: 3ms}, rto: 200ms, segment: 1024B, sessions: 6"
ERASED = "overhead: 42B\nboth: {delay: 20ms}\nforward: {erasures: {iid: 0.03}}\nreturn: {erasures: {iid: 0.05}}\n"
OWN = "adapter: ltp-udp, rate: 100Mbit/s, owlt: 40ms, rto: 100ms, sessions: 20"
FADES = "forward: {rate: 100Mbit/s, delay: 40ms, erasures: {trace: A}}\nreturn: {delay: 40ms, erasures: {iid: 0.02}}\n"
EPOCH = "t_first_tx_ns", "t_close_ns"  # the log's begin with 0
HANDED = """link: {both: {delay: 5ms}}
links:
  craft:
    listen: 10.0.0.9:5001
    to: 10.0.0.2:1113
    handover:
      - {at: 0, link: one}
      - {at: 2s, link: two, gap: 300ms, in_flight: lost}
    pcap_before: %s
    pcap_after: %s
  one: {both: {delay: 8ms, erasures: {iid: 0.02}}}
  two: {both: {delay: 23ms}}
"""


def nodes(lab, kind, hosts, remotes, link=LINK):
    words = []
    for number, (host, remote) in enumerate(zip(hosts, remotes), 1):
        path = lab.path(f"{kind}-n{number}.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"node: ipn:{number}.0\nsocket: /nowhere/{number}.sock\nstore: {{durability: none}}\nlinks:\n"
                    f"  - {{name: away, peer: 'ipn:{3 - number}.0', local: '{host}:1113', remote: '{remote}', {link}}}\n")
        words += ["--node", path]
    return words


KINDS = {"between": (("10.0.0.1", "10.0.0.2"), ("10.0.0.2:1113", "10.0.0.1:1113")), "relay": (("[fd00::1]", "[fd00::2]"), ("[fd00::9]:5001",) * 2),
         "links": (("10.0.0.1", "10.0.0.2"), ("10.0.0.9:5001",) * 2)}


def play_virtual(lab, kind):
    """(segment logs, captures) of whole nodes in virtual time, written by the emulator's writer."""
    hosts, remotes = KINDS[kind]
    files = [lab.path(f"{kind}-{name}") for name in ("before.pcapng", "after.pcapng.gz" if kind == "relay" else "after.pcapng")]
    scenario = lab.path(f"{kind}.yaml")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(HANDED % tuple(files) if kind == "links" else ERASED + f"pcap_before: {files[0]}\npcap_after: {files[1]}\n")
    way = {"between": ["--channel", scenario], "links": ["--links", scenario],
           "relay": ["--relay", f"--listen [fd00::9]:5001 --to [fd00::2]:1113 --scenario {scenario}"]}[kind]
    out = lab.path(kind)
    lab.run("helio-sim", *nodes(lab, kind, hosts, remotes), *way, "--log-dir", out, "--client", "-d ipn:2.2000 -D 6M -W 20 -P 50kB")
    return [os.path.join(out, f"node{n}.segments.csv") for n in (1, 2)], files


def check_virtual_time(lab):
    """What the emulator's writer makes of the traffic of whole nodes: between two of them, of a relay (IPv6, compressed), of a link of a
    file that is handed over. To the nanosecond what the segment logs say, with losses both ways."""
    for kind in KINDS:
        logs, files = play_virtual(lab, kind)
        true, found = analyse(lab, *logs), analyse(lab, *files)
        assert true["lossy_share"] > 0.1, (kind, true["lossy_share"])
        same(found, true, 1e-6)
        for key in "retx_cycles", "checkpoints_lost", "segments_sent", "segments_received":
            assert found[key] == true[key], (kind, key, found[key], true[key])


def deliveries(path):
    """When the bundle that a session transmitted was delivered, by the bundle logs of the nodes."""
    carried, delivered = {}, {}
    for n in (1, 2):
        with open(os.path.join(path, f"node{n}.bundles.csv"), newline="", encoding="ascii") as f:
            for row in csv.DictReader(f):
                bundle = row["source"], row["created_ms"], row["sequence"]
                if row["event"] == "carried" and n == 1:
                    carried[row["session"]] = bundle
                elif row["event"] == "delivered" and n == 2:
                    delivered[bundle] = int(row["t_ns"])
    return {session: delivered[bundle] for session, bundle in carried.items() if bundle in delivered}


def check_copies(lab):
    """With Heliograph's recovery checkpoints go out as copies, and a repetition is closed by a copy of one that was answered. The captures
    give each session the log's figures; a delivery is the bundle log's."""
    files = [lab.path(f"copies-{name}.pcapng") for name in ("before", "after")]
    scenario, out = lab.path("copies.yaml"), lab.path("copies")
    with open(scenario, "w", encoding="utf-8") as f:
        f.write(FADES + f"pcap_before: {files[0]}\npcap_after: {files[1]}\n")
    hosts = ("10.0.0.1", "10.0.0.2")
    lab.run("helio-sim", *nodes(lab, "copies", hosts, [f"{host}:1113" for host in reversed(hosts)], OWN), "--channel", scenario, "--log-dir", out,
            "--client", "-d ipn:2.2000 -D 40M -W 20 -P 200kB")
    tables, starts = [], {}
    for name, of in ("log", [os.path.join(out, f"node{n}.segments.csv") for n in (1, 2)]), ("seen", files):
        lab.run("helio-analyze", "-s", lab.path(f"copies-{name}.csv"), *of)
        with open(lab.path(f"copies-{name}.csv"), newline="", encoding="ascii") as f:
            rows = [row for row in csv.DictReader(f) if row["outcome"] == "done"]
        starts = starts or {row["session"]: int(row["t_first_tx_ns"]) for row in rows}
        tables.append({row["session"]: {key: value for key, value in row.items() if key not in EPOCH} for row in rows})
    log, seen = tables
    assert log == seen, [(s, key, log[s][key], seen.get(s, {}).get(key)) for s in log for key in log[s] if seen.get(s, {}).get(key) != log[s][key]][:10]
    assert sum(int(row["rto_checkpoint"] or 0) for row in log.values()) > 0, "no timer ran out"
    true = deliveries(out)
    took = {s: (at - starts[s]) / 1e6 for s, at in true.items() if s in log}
    wrong = [(s, log[s]["delivery_ms"], ms) for s, ms in took.items() if abs(float(log[s]["delivery_ms"]) - ms) > EXACT_MS]
    assert len(took) > 100 and not wrong, (len(took), len(wrong), wrong[:5])


def fields(data):
    """What a row of the segment log has to distinguish one segment of a run from all others."""
    def number(at):
        value = 0
        while True:
            value, at = value << 7 | data[at] & 127, at + 1
            if data[at - 1] < 128:
                return value, at
    kind, found, at = data[0] & 15, [], 1
    for name in range(len(names_of(kind)) + 2):
        at += name == 2  # the counts of extensions, none here
        value, at = number(at)
        found.append(value)
    return (kind, *found)


def names_of(kind):
    """Behind originator and session."""
    if kind >= 8:
        return {8: ("rpt_serial", "cp_serial", "rs_upper"), 9: ("rpt_serial",)}.get(kind, ())
    return ("client_service", "offset", "length") + (("cp_serial", "rpt_serial") if kind in (1, 2, 3) else ())


def key_of(row):
    kind = int(row["type"])
    return (kind, *(int(row[name] or 0) for name in ("originator", "session", *names_of(kind))))


def frames_of(path):
    """The time of each frame of a capture, in order, by its segment and direction."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        data = f.read()
    found, at = {}, 0
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == 6:
            way, high, low, length = struct.unpack_from("<IIII", data, at + 8)
            found.setdefault((fields(data[at + 28 + 42:at + 28 + length]), way), []).append(high << 32 | low)
        at += size
    return found


def by_captures(lab, logs, files):
    """The nodes' logs with the times of the captures in place of their own: what a segment took from a node to its socket, or back, is
    taken out, and nothing else. Also, how long that was: least and greatest, of sent and of received ones."""
    apart, out = {"tx": [], "rx": []}, []
    frames = {"tx": frames_of(files[0]), "rx": frames_of(files[1])}
    for node, path in enumerate(logs, 1):
        with open(path, newline="", encoding="ascii") as f:
            reader = csv.DictReader(f)
            rows = list(reader)
        for row in rows:
            way, row["lag"] = row["dir"], None
            if way in frames and row["type"]:
                times = frames[way].get((key_of(row), int((node == 1) != (way == "tx"))))
                assert times, (node, row)
                row["lag"] = times.pop(0) - int(row["t_ns"])
                apart[way].append(row["lag"])
        for row, later in zip(reversed(rows[:-1]), reversed(rows[1:])):
            if row["lag"] is None:  # what a segment did, as its session's end, has its row before it
                row["lag"] = later["lag"] if row["t_ns"] == later["t_ns"] else 0
        for row in rows:
            row["t_ns"] = int(row["t_ns"]) + (row.pop("lag") or 0)
        rows.sort(key=lambda row: row["t_ns"])
        out.append(lab.path(f"moved-{node}.csv"))
        with open(out[-1], "w", newline="", encoding="ascii") as f:
            writer = csv.DictWriter(f, reader.fieldnames, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return out, apart


def play_real(lab):
    """(segment logs, captures) of two nodes and helio-emu between them, as processes."""
    one, two, relay = lab.udp_ports(3)
    files = lab.path("before.pcapng"), lab.path("after.pcapng.gz")
    emulator = lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{two}", "--delay", f"{DELAY_MS}ms",
                         "--trace", "iid:0.03", "--seed", "5", "--pcap-before", files[0], "--pcap-after", files[1])
    ends = {n: lab.start_node(n, lab.write_node(n, [lab.link(3 - n, port, relay, sessions=8, rto="400ms", segment="1024B", recovery="plain",
                                                             rate="20Mbit/s")])) for n, port in ((1, one), (2, two))}
    server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2))
    lab.run("helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", "-D", "1500k", "-P", "20kB", "-W", "8")
    for p in (emulator, *ends.values()):
        settle(p.pid, 1)
    lab.stop("server", server, 2)
    for n, p in ends.items():
        lab.stop(f"node{n}", p)
    lab.stop("relay", emulator)
    return [lab.path(f"node{n}.segments.csv") for n in (1, 2)], files


def check_run(lab):
    """Real processes: what the nodes' logs say, but for the time from a socket to the node."""
    logs, files = play_real(lab)
    true, found = analyse(lab, *logs), analyse(lab, *files)
    flows = [next(f for f in r["flows"] if f["originator"] == 1) for r in (true, found)]
    assert flows[0]["sessions"] == flows[1]["sessions"] > 50, flows
    assert flows[0]["checkpoints_lost"] == flows[1]["checkpoints_lost"] and flows[0]["retx_cycles"] == flows[1]["retx_cycles"], flows
    moved, apart = by_captures(lab, logs, files)
    # A segment is on the wire when its node has sent it, and before its node has it: by 10 and 20 us on a machine at rest.
    assert -1e4 < min(apart["tx"]) and max(apart["rx"]) < 1e4, {way: (min(lags), max(lags)) for way, lags in apart.items()}
    same(found, analyse(lab, *moved), EXACT_MS)
    check_each(lab, logs, moved, files)
    check_bound(lab, logs, files, apart)


def table(lab, name, files):
    """The completed sessions of the sender."""
    lab.run("helio-analyze", "-s", lab.path(name), *files)
    with open(lab.path(name), newline="", encoding="ascii") as f:
        return {row["session"]: row for row in csv.DictReader(f) if row["outcome"] == "done" and row["originator"] == "1"}


def check_each(lab, logs, moved, files):
    """The analyzer finds of each session in the captures what it finds in the logs with the captures' times."""
    seen, log = table(lab, "seen.csv", files), table(lab, "moved.csv", moved)
    assert seen.keys() == log.keys() == table(lab, "logs.csv", logs).keys()
    wrong = [(s, key, row[key], seen[s][key]) for s, row in log.items() for key in TIMES if abs(float(row[key]) - float(seen[s][key])) > EXACT_MS]
    assert not wrong, wrong[:5]


def check_bound(lab, logs, files, apart):
    """What a session of the log has more than one of the captures is the way of its first segment to the wire, and of its last one from there:
    never less than nothing, and at most the longest of both. Printed for docs/helio-analyze.md."""
    seen, log = table(lab, "seen.csv", files), table(lab, "logs.csv", logs)
    most = (max(apart["tx"]) - min(apart["rx"])) / 1e6
    for key in TIMES:
        more = sorted(float(log[s][key]) - float(seen[s][key]) for s in log)
        assert -EXACT_MS <= more[0] and more[-1] <= most + EXACT_MS, (key, more[0], more[-1], most)
        print(f"{key}: the logs have {more[len(more) // 2]:.3f} ms more (median), {more[-1]:.3f} at most, of {most:.3f} possible; {len(more)} sessions")
    for way, lags in apart.items():
        lags = sorted(abs(lag) / 1e3 for lag in lags)
        print(f"{way}: from log to wire {lags[len(lags) // 2]:.0f} us (median), {lags[len(lags) * 99 // 100]:.0f} (99 %), {lags[-1]:.0f} at most")


def main():
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    with Lab(sys.argv[1], sys.argv[2]) as lab:
        check_exactly(lab)
        check_virtual_time(lab)
        check_copies(lab)
        check_run(lab)
    print("captures of the emulator's two sides make both ends")


if __name__ == "__main__":
    main()
