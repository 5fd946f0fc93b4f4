# SPDX-License-Identifier: Apache-2.0
"""helio-analyze over the log of helio-sim finds the simulator's own figures, which are not made from the log; and it
says what it cannot know from one end's log. usage: analyze_test.py BIN"""

import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile

programs = sys.argv[1]


def run(name, *arguments, code=0):
    done = subprocess.run([os.path.join(programs, name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=1000, check=False)
    assert done.returncode == code, (name, arguments, done.returncode, done.stderr)
    return done


def same(a, b, within):
    assert abs(a - b) <= within * max(abs(a), abs(b)), (a, b)


def check_figures(sim, found):
    assert found["sessions"] == sim["sessions"] > 50
    for key in ("retx_cycles_mean", "checkpoints_lost_mean", "lossy_share"):
        same(found[key], sim[key], 1e-6)
        assert sim[key] > 0, f"{key}: the run had no losses"
    same(found["session_ms"]["mean"], sim["session_ms"]["mean"], 1e-6)
    for p in ("p50", "p90", "p99"):
        same(found["session_ms"][p], sim["session_ms"][p], 1e-9)
    assert found["session_ms"]["percentiles_within"] == 0
    assert found["cp_lost_basis"] == "receiver_log"
    assert found["malformed_rows"] == 0


def split(log, folder):
    """One log per node, the second one compressed."""
    one, two = os.path.join(folder, "1.csv"), os.path.join(folder, "2.csv.gz")
    with open(log) as f, open(one, "w") as a, gzip.open(two, "wt", compresslevel=1) as b:
        header = next(f)
        a.write(header)
        b.write(header)
        for row in f:
            (a if row.split(",", 3)[2] == "1" else b).write(row)
    return one, two


def check_table(path, found):
    with open(path, newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["outcome"] == "done"]
    assert len(rows) == found["sessions"]
    same(sum(float(row["duration_ms"]) for row in rows) / len(rows), found["session_ms"]["mean"], 1e-6)
    assert sum(int(row["cp_lost"]) for row in rows) == found["checkpoints_lost"]


def check_one_end(one, two, sim):
    """What the other end's log would have shown is null, not 0."""
    alone = json.loads(run("helio-analyze", "--json", one).stdout)
    assert alone["cp_lost_basis"] == "rto" and alone["sessions"] == sim["sessions"]
    same(alone["session_ms"]["mean"], sim["session_ms"]["mean"], 1e-6)
    assert alone["rto_report_firings"] is None and alone["delivery_ms"] is None
    alone = json.loads(run("helio-analyze", "--json", two).stdout)
    assert alone["sessions"] > 50 and alone["session_ms"]["mean"] > 0
    for key in ("retx_cycles", "retx_cycles_mean", "checkpoints_sent", "checkpoints_lost", "cp_lost_basis",
                "rto_firings", "lossy_share", "segments_sent", "data_bytes_sent", "data_bytes_resent", "delivery_ms"):
        assert alone[key] is None, key
    text = run("helio-analyze", two).stdout
    assert "checkpoints sent           – of completed sessions, lost – a session (–)\n" in text, text


def check_populations(one, two):
    """Of completed sessions, both: a log that ends behind a repeated checkpoint has sessions that are not, and that have lost some."""
    with tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, "part.csv")
        with open(one) as f, open(part, "w") as out:
            rows = f.readlines()
            names = rows[0].rstrip("\n").split(",")
            end = max(i for i, row in enumerate(rows[:len(rows) // 2]) for cells in [dict(zip(names, row.split(",")))]
                      if cells["dir"] == "tx" and cells["name"].startswith("red_cp") and cells["attempt"] == "2")
            out.writelines(rows[:end + 1])
        table = os.path.join(folder, "sessions.csv")
        found = json.loads(run("helio-analyze", "--json", "--sessions", table, part, two).stdout)
        text = run("helio-analyze", part, two).stdout
        with open(table, newline="") as f:
            every = list(csv.DictReader(f))
    done = [row for row in every if row["outcome"] == "done"]
    sent, lost = (sum(int(row[key] or 0) for row in done) for key in ("cp_sent", "cp_lost"))
    assert found["unfinished"] > 0
    assert found["checkpoints_sent_completed"] == sent < found["checkpoints_sent"]
    assert found["checkpoints_lost"] == lost < sum(int(row["cp_lost"] or 0) for row in every)
    assert f"checkpoints sent           {sent} of completed sessions, lost {lost / len(done):.4f} a session ({lost})\n" in text, text


def check_crlf(one, two, folder):
    """As an editor of another system leaves them."""
    windows = []
    for path in (one, two):
        windows.append(os.path.join(folder, "crlf-" + os.path.basename(path).removesuffix(".gz")))
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f, open(windows[-1], "wb") as out:
            out.write(f.read().replace(b"\n", b"\r\n"))
    here, there = (json.loads(run("helio-analyze", "--json", *files).stdout) for files in ((one, two), windows))
    for found in (here, there):
        del found["files"]
    assert here == there and there["malformed_rows"] == 0 and there["sessions"] > 50
    log, drops = (os.path.join(folder, name) for name in ("all.csv", "drops.csv"))  # a drop log is known by its first line
    run("helio-sim", "--trace", "iid:0.05", "--duration", "300ms", "--log", log, "--drop-log", drops)
    here = json.loads(run("helio-analyze", "--json", log, drops).stdout)
    with open(drops, "rb") as f, open(drops + ".windows", "wb") as out:
        out.write(f.read().replace(b"\n", b"\r\n"))
    there = json.loads(run("helio-analyze", "--json", log, drops + ".windows").stdout)
    assert here["cp_lost_basis"] == there["cp_lost_basis"] == "drop_log", (here["cp_lost_basis"], there["cp_lost_basis"])
    assert here["checkpoints_lost"] == there["checkpoints_lost"] and there["malformed_rows"] == 0


def check_runs(one, folder):
    """The log of two runs, a minute apart."""
    both = os.path.join(folder, "both.csv")
    with open(one) as f, open(both, "w") as out:
        rows = f.readlines()
        out.writelines(rows)
        last = int(rows[-1].split(",", 1)[0])
        for row in rows[1:]:
            fields = row.split(",")
            fields[0] = str(int(fields[0]) + last + 60 * 10**9)
            fields[5] = str(int(fields[5]) + 2**40) if fields[5] else ""
            out.write(",".join(fields))
    single, found = (json.loads(run("helio-analyze", "--json", p).stdout) for p in (one, both))
    assert single["gaps"] == 0 and found["gaps"] == 1 and 60 <= found["gaps_s"] < 61
    same(found["goodput_without_gaps_bps"], single["goodput_bps"], 0.05)
    assert found["goodput_bps"] < 0.2 * single["goodput_bps"]
    assert "without gaps of 60." in run("helio-analyze", both).stdout


def check_no_log(folder):
    path = os.path.join(folder, "no.csv")
    for content, why in (("", "the file is empty"), ("a,b,c\n1,2,3\n", "the first line is not the column names"),
                         ("\0\1\2" * 100_000, "the first line is not the column names")):
        with open(path, "w") as f:
            f.write(content)
        for mode in ([], ["--strict"]):
            assert f"no.csv: not a segment log, bundle log, drop log or capture: {why}" in run("helio-analyze", path, *mode, code=1).stderr


def check_nothing_completed():
    sim = json.loads(run("helio-sim", "--duration", "1ms", "--json").stdout)
    assert sim["sessions"] == 0 and sim["session_ms"] is None and sim["lossy_share"] is None
    text = run("helio-sim", "--duration", "36s", "--delay", "2h", "--rto", "10h").stdout
    assert "2 h one way" in text and "RTO 10 h" in text and ", 36 s, seed" in text and "session                –" in text


def check_cut(one, two, folder):
    """What was written before a node was killed, or a disk was full, is reported; and where the file ends."""
    cut = os.path.join(folder, "cut.csv.gz")
    whole = json.loads(run("helio-analyze", "--json", two).stdout)
    with open(two, "rb") as f, open(cut, "wb") as out:
        out.write(f.read()[:os.path.getsize(two) // 2])
    done = run("helio-analyze", "--json", cut)
    found = json.loads(done.stdout)
    assert found["malformed_rows"] == 1 and 0.3 < found["rows"] / whole["rows"] < 0.7, found
    assert f"cut.csv.gz:{found['rows'] + 2}: " in done.stderr or f"cut.csv.gz:{found['rows'] + 1}: " in done.stderr, done.stderr
    assert "cut.csv.gz:" in run("helio-analyze", "--strict", cut, code=1).stderr
    with open(one, "rb") as f, gzip.open(cut, "wb") as out:
        text = b"".join(f.readline() for _ in range(100))
        out.write(text)
    with open(cut, "r+b") as f:
        f.truncate(os.path.getsize(cut) - 8)  # without the check sum at its end
    done = run("helio-analyze", "--json", cut)
    assert "cut.csv.gz:100: malformed row: the compressed file is cut off behind this line" in done.stderr, done.stderr
    assert json.loads(done.stdout)["rows"] == 99


def check_orange(folder):
    """Blocks that were reported lost are a figure of their own, neither done nor cancelled."""
    log, table = os.path.join(folder, "orange.csv"), os.path.join(folder, "orange_sessions.csv")
    sim = json.loads(run("helio-sim", "--trace", "F", "--colour", "orange", "--duration", "1s", "--log", log,
                         "--json").stdout)
    found = json.loads(run("helio-analyze", "--json", "--sessions", table, log).stdout)
    assert (found["colour"], found["cancelled"]) == ("orange", 0)
    assert found["sessions"] == sim["sessions"] > 30 and found["lost"] == sim["lost"] > 30
    same(found["session_ms"]["mean"], sim["session_ms"]["mean"], 1e-6)
    with open(table, newline="") as f:
        rows = list(csv.DictReader(f))
    assert sum(row["outcome"] == "lost" for row in rows) == sim["lost"]
    assert {row["colour"] for row in rows} <= {"orange", ""}
    assert " lost, " in run("helio-analyze", log).stdout


def check_one_meaning_of_cycles(folder):
    """With early checkpoints cycles run side by side; and the ideal session is the median itself, not the middle of a bin."""
    log, table = os.path.join(folder, "default.csv"), os.path.join(folder, "default-sessions.csv")
    sim = json.loads(run("helio-sim", "--trace", "F", "--sessions", "7", "--processing", "4ms", "--recovery", "default", "--duration", "2s",
                         "--log", log, "--json").stdout)
    found = json.loads(run("helio-analyze", "--json", "--sessions", table, log).stdout)
    check_figures(sim, found)
    with open(table, newline="") as f:
        clean = sorted(float(row["duration_ms"]) for row in csv.DictReader(f)
                       if row["outcome"] == "done" and row["lossy"] == row["retx_cycles"] == row["rto_checkpoint"] == "0")
    assert found["decomposition"]["ideal_from"] == "loss_free" and len(clean) > 20
    same(found["decomposition"]["ideal_ms"], clean[(len(clean) + 1) // 2 - 1], 1e-9)


def check_one_segment(folder):
    """A block of one segment: its time on the line and the round trip; the text says of how many sessions, and never "-0.000"."""
    log, table = os.path.join(folder, "short.csv"), os.path.join(folder, "short-sessions.csv")
    run("helio-sim", "--bundle", "900B", "--rate", "20Mbit/s", "--trace", "iid:0.1", "--sessions", "4", "--duration", "2s", "--log", log)
    text = run("helio-analyze", log).stdout
    run("helio-analyze", "--sessions", table, log)
    with open(table, newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["outcome"] == "done"]
    clean = [row for row in rows if row["lossy"] == "0"]
    assert {row["radiation_ms"] for row in clean} == {"0.000000"}, clean[0]
    air = (int(clean[0]["bytes_sent"]) + 42) * 8 / 20e6  # LTP, and 42 octets of UDP, IP and Ethernet
    assert f"ideal session              {1e3 * air + 10:.3f} ms (median of {len(clean)} sessions without losses)\n" in text, text
    assert "expected cycle             – ms\n" in text and "-0.000" not in text, text
    for bundle, rule, words in (("900B", "checkpoint:first=1,per=session", ("ideal session              – ms\n", " + 30.000 lost checkpoints + ")),
                                ("1800B", "red:first=1,per=session", ("(no session without losses: median radiation + median time to a report)\n",))):
        run("helio-sim", "--bundle", bundle, "--rate", "20Mbit/s", "--trace", "none", "--drop", rule, "--sessions", "1", "--duration", "1s", "--log", log)
        text = run("helio-analyze", log).stdout
        assert all(word in text for word in words), text


def main():
    with tempfile.TemporaryDirectory() as folder:
        log, table = os.path.join(folder, "sim.csv"), os.path.join(folder, "sessions.csv")
        sim = json.loads(run("helio-sim", "--trace", "iid:0.02", "--sessions", "7", "--processing", "4ms", "--rto",
                             "30ms", "--duration", "2s", "--seed", "3", "--log", log, "--json").stdout)
        found = json.loads(run("helio-analyze", "--json", "--sessions", table, log).stdout)
        check_figures(sim, found)
        check_table(table, found)
        one, two = split(log, folder)
        check_figures(sim, json.loads(run("helio-analyze", "--json", two, one).stdout))
        check_one_end(one, two, sim)
        check_runs(one, folder)
        check_populations(one, two)
        check_crlf(one, two, folder)
        check_cut(one, two, folder)
        check_no_log(folder)
        check_one_meaning_of_cycles(folder)
        check_one_segment(folder)
        check_nothing_completed()
        check_orange(folder)
        with open(one, "a") as f:
            f.write("rubbish\n")
        assert json.loads(run("helio-analyze", "--json", one).stdout)["malformed_rows"] == 1
        line = sum(1 for _ in open(one))
        assert f"1.csv:{line}:" in run("helio-analyze", "--strict", one, code=1).stderr
        run("helio-analyze", os.path.join(folder, "none.csv"), code=2)
        run("helio-analyze", code=2)


main()
