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
                          text=True, timeout=120, check=False)
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
        same(found["session_ms"][p], sim["session_ms"][p], 0.005)
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
        alone = json.loads(run("helio-analyze", "--json", one).stdout)
        assert alone["cp_lost_basis"] == "rto" and alone["sessions"] == sim["sessions"]
        same(alone["session_ms"]["mean"], sim["session_ms"]["mean"], 1e-6)
        with open(one, "a") as f:
            f.write("rubbish\n")
        assert json.loads(run("helio-analyze", "--json", one).stdout)["malformed_rows"] == 1
        line = sum(1 for _ in open(one))
        assert f"1.csv:{line}:" in run("helio-analyze", "--strict", one, code=1).stderr
        run("helio-analyze", os.path.join(folder, "none.csv"), code=1)
        run("helio-analyze", code=2)


main()
