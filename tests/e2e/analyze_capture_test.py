# SPDX-License-Identifier: Apache-2.0
"""What helio-analyze makes of the nodes' logs and of captures of the same run is the same, session by session: two
nodes with a lossy relay between them, captured on the loopback device at both ends. Ends with 77 (not run) where
capturing is not permitted. usage: analyze_capture_test.py BIN OUT"""

import csv
import gzip
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402
from resting import Stalls, settle  # noqa: E402

TRIES = 5
STALL_NS = 5_000_000  # with less each figure is compared; with more the run may be made again for what a stall can change
LATE_COPY_NS = 8_000_000  # nine tenths of the shortest time to an answer, 2 x 5 ms, but for what the clocks differ
TIMES = ("duration_ms", "radiation_ms", "first_rx_ms", "delivery_ms", "rto_ms")
# what a capture cannot know for sure when checkpoints and reports are sent in copies
TIMERS = ("rto_checkpoint", "rto_report", "cp_lost", "cp_lost_run", "cp_waits", "lossy")
# what a node that stalls may not take from a full socket, of which a capture has it, and what follows from that
TAKEN = ("segments_received", "duplicates", "out_of_order", "reports", "retx_cycles")
MODEL = ("ideal_ms", "retx_penalty_ms", "cp_penalty_ms", "delta_ms")


class Stalled(AssertionError):
    """Of times, timers and what was taken from a socket: a machine that stalls can do this."""


unlike = []  # of these, in the present run; reported when all else was compared


def timely(true, *what):
    if not true:
        unlike.append(what)


def capture(lab, name, port):
    """dumpcap at one node's port; None where it must not."""
    path = lab.path(name + ".pcapng")
    command = ["dumpcap", "-q", "-i", "lo", "-B", "64", "-f", f"udp port {port}", "-w", path]
    try:
        p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return None
    lab.processes.append((name, p))
    until = time.monotonic() + 300
    while time.monotonic() < until:
        if p.poll() is not None:
            return None
        if os.path.exists(path) and os.path.getsize(path) > 0:
            return p
        time.sleep(0.02)
    return None


def run(lab, bundles, **keys):
    port1, port2, relay = lab.udp_ports(3)
    captures = [capture(lab, "one", port1), capture(lab, "two", port2)]
    if None in captures:
        return None
    emulator = lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to",
                         f"127.0.0.1:{port2}", "--delay", "5ms", "--rate", "50Mbit/s", "--trace", "iid:0.05",
                         "--seed", "3", "--json", lab.path("relay.json"), "--drop-log", lab.path("drops.csv"))
    nodes = {n: lab.start_node(n, lab.write_node(n, [lab.link(3 - n, port, relay, **{**keys, **more})]))
             for n, port, more in ((1, port1, {"colour": "red"}), (2, port2, {"colour": "green"}))}
    server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--json", lab.path("server.json"))
    lab.run("helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", *bundles, "--json",
            lab.path("client.json"))
    for p in (emulator, *nodes.values()):  # what a node misses when it ends, a capture would still have
        settle(p.pid, 1)
    lab.stop("server", server, signal.SIGINT)
    for p in nodes.values():
        settle(p.pid, 1)
    for n, p in nodes.items():
        lab.stop(f"node{n}", p)
    lab.stop("relay", emulator)
    for p in captures:
        settle(p.pid, 0.5)
        p.send_signal(signal.SIGINT)
        message = p.communicate(timeout=1400)[1].decode()
        assert "dropped on interface 'Loopback: lo': " in message or "dropped" in message, message
    return port1, port2


def analyse(lab, folder, *arguments):
    out = lab.path(folder)
    lab.run("helio-analyze", "--json", "--tables", out, *arguments)
    with open(os.path.join(out, "sessions.csv"), newline="") as f:
        rows = {(row["originator"], row["session"]): row for row in csv.DictReader(f)}
    return rows, lab.load(os.path.join(folder, "summary.json"))


def late_copies(logs):
    """Sessions of which a node sent a copy so late that no capture can distinguish it from what a timer sent: by its log it was a
    copy, which is due 2 ms after the sending before, and it left when an answer could have come."""
    late = set()
    for log in logs:
        last = {}
        with open(log, newline="") as f:
            for row in csv.DictReader(f):
                serial = row["cp_serial"] if row["type"] in ("1", "2", "3") else row["rpt_serial"] if row["type"] == "8" else ""
                if row["dir"] != "tx" or not serial:
                    continue
                key = (row["originator"], row["session"], row["type"] == "8", serial)
                now = int(row["t_ns"])
                if row["cause"] != "timer" and now - last.get(key, now) > LATE_COPY_NS:
                    late.add(key[:2])
                last[key] = now
    return late


def compare(logs, captures, slack, late):
    """All but times is equal; in up to `slack` sessions the timers may not be, beside the `late` ones. A node's clock is read when it takes a segment from its
    socket, on a busy machine some time after the capture had it: hence the median of the differences is to be below 2 ms, each below 1 s."""
    apart, differ = {}, set()
    assert logs.keys() == captures.keys() and len(logs) > 50, (len(logs), len(captures))
    for key, a in logs.items():
        b = captures[key]
        for column, value in a.items():
            if column in MODEL:
                continue
            if (column in TIMES or column.startswith("t_")) and value and b[column]:
                scale = 1 if column in TIMES else 1e-6
                apart.setdefault(column, []).append(abs(float(value) - float(b[column])) * scale)
            elif column in TIMERS and value != b[column]:
                differ.add((key, column, value, b[column]))
            elif column in TAKEN + TIMES or column.startswith("t_"):
                timely(value == b[column], key, column, value, b[column])
            else:
                assert value == b[column], (key, column, value, b[column])
    timely(len({d[0] for d in differ} - late) <= slack, differ, late)
    for column, values in apart.items():
        timely(statistics.median(values) < 2 and max(values) < 1000, column, statistics.median(values), max(values))


def check_run(programs, out, recovery, slack):
    """Returns the number of sessions; 0 where the machine stood still in between, None where nothing can be captured."""
    shutil.rmtree(out, ignore_errors=True)
    with Lab(programs, out) as lab:
        with Stalls() as stalls:
            ports = run(lab, ("-D", "5M", "-P", "50kB", "-W", "8"), sessions=4, rto="60ms", segment="1024B", rate="40Mbit/s", recovery=recovery)
        if ports is None:
            return None
        relay = max(lab.load("relay.json")[way]["late_us"]["max"] for way in ("forward", "return"))
        stall_ns = max(int(1000 * relay), stalls.longest_ns)
        try:
            return check_files(lab, ports, slack)
        except Stalled as e:
            if stall_ns < STALL_NS:
                raise
            print(f"this machine stood still for {stall_ns / 1e6:.0f} ms: {str(e)[:300]}")
            return 0


def check_files(lab, ports, slack):
    """The number of sessions."""
    unlike.clear()
    logs = [lab.path(f"node{n}.segments.csv") for n in (1, 2)]
    one, two = lab.path("one.pcapng"), lab.path("two.pcapng")
    engines = [f"--engine=127.0.0.1:{port}={n}" for n, port in enumerate(ports, 1)]
    rows, summary = analyse(lab, "logs", *logs)
    seen, captured = analyse(lab, "captures", *engines, one, two)
    print(json.dumps(captured["capture"]))
    late = late_copies(logs)
    if late:
        print(f"this machine was late: copies in {len(late)} sessions that look like repetitions")
    compare(rows, seen, slack, late)
    for key in ("sessions", "checkpoints_sent", "cp_lost_basis", "segments_sent", "data_bytes_resent", "bytes"):
        assert summary[key] == captured[key], (key, summary[key], captured[key])
    for key in ("retx_cycles", "checkpoints_lost", "lossy_share", "segments_received"):
        timely(summary[key] == captured[key], key, summary[key], captured[key])
    beside = sum(abs(int(rows[k]["rto_checkpoint"]) - int(seen[k]["rto_checkpoint"])) for k in late)
    timely(abs(summary["rto_firings"] - captured["rto_firings"]) <= 5 * slack + beside, summary["rto_firings"], captured["rto_firings"])
    assert summary["retx_cycles"] > 20 and summary["checkpoints_lost"] > 1, summary
    check_drops(lab, rows, {"drops": logs[:1], "drops-capture": [one, *engines], "drops-both": logs})
    # one end alone; where it was is an option, or found out; and the names of the engines are found out
    for name, log, pcap, place in (("sender", logs[0], one, "sender"), ("receiver", logs[1], two, "receiver")):
        rows, _ = analyse(lab, name + "-log", log)
        compare(rows, analyse(lab, name + "-given", "--at", place, *engines, pcap)[0], slack, late)
        compare(rows, analyse(lab, name + "-auto", pcap)[0], slack, late)
        packed = pcap + ".gz"
        with open(pcap, "rb") as f, gzip.open(packed, "wb", compresslevel=1) as g:
            shutil.copyfileobj(f, g)
        compare(rows, analyse(lab, name + "-gz", packed)[0], slack, late)
    if unlike:
        raise Stalled(*unlike[:10])
    return len(seen)


def check_drops(lab, rows, joins):
    """The emulator's own drop log, and one end's log or capture."""
    known = {key: row for key, row in rows.items() if row["outcome"] == "done" and row["originator"] == "1"}
    for name, files in joins.items():
        joined, _ = analyse(lab, name, lab.path("drops.csv"), *files)
        for key, row in known.items():
            for column in ("cp_lost", "lossy", "retx_cycles"):
                timely(joined[key][column] == row[column], name, key, column, joined[key][column], row[column])
            assert joined[key]["cp_lost_basis"] == "drop_log", joined[key]


def main():
    programs, out = sys.argv[1:3]
    shutil.rmtree(out, ignore_errors=True)
    for recovery, slack in (("plain", 0), ("default", 3)):
        for _ in range(TRIES):
            sessions = check_run(programs, os.path.join(out, recovery), recovery, slack)
            if sessions is None:
                print("not run: dumpcap cannot capture here")
                sys.exit(77)
            if sessions > 0:
                break
        assert sessions > 0, f"this machine stood still in each of {TRIES} runs"
        print(f"recovery {recovery}: {sessions} sessions are the same in logs and captures")


main()
