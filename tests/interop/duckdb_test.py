#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/helio-analyze.md, "Parquet", as they are there: run with DuckDB, results counted a second time.

usage: duckdb_test.py BIN SOURCE OUT DUCKDB-FOLDER
"""
import csv
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

BIN, SOURCE, OUT, DUCKDB = (Path(a).resolve() for a in sys.argv[1:5])


def shell(command):
    environment = {**os.environ, "PATH": f"{BIN}:{DUCKDB}:{os.environ['PATH']}", "HOME": str(OUT)}
    done = subprocess.run(["bash", "-c", command], cwd=OUT, env=environment, capture_output=True, text=True, check=False,
                          timeout=120)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def documented():
    """The commands of the section."""
    text = (SOURCE / "docs/helio-analyze.md").read_text(encoding="utf-8")
    section = re.search(r"^## Parquet\n(.*?)^## ", text, re.S | re.M)[1]
    return re.findall(r"^(?:    )?((?:helio-analyze|duckdb) .*)$", section, re.M)


def query(sql):
    return json.loads(shell(f'duckdb -json -c "{sql}"'))


def rows(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def setUpModule():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    shell("helio-sim --trace F --duration 1s --seed 4 --log both.csv --drop-log drops.csv >/dev/null")
    with open(OUT / "both.csv", encoding="utf-8") as f:
        header, *lines = f
    for node in ("1", "2"):
        with gzip.open(OUT / f"node{node}.csv.gz", "wt", encoding="utf-8") as out:
            out.writelines([header] + [line for line in lines if line.split(",")[2] == node])
    for run in ("a", "b"):
        (OUT / "campaign" / "runs" / run).mkdir(parents=True)
        shell(f"helio-analyze node1.csv.gz --sessions campaign/runs/{run}/sessions.csv && gzip campaign/runs/{run}/sessions.csv")
    global SAID
    SAID = [(c, shell(c)) for c in documented()]


class Parquet(unittest.TestCase):
    def same(self, table, parquet, path):
        """Each cell of the CSV file, in its order."""
        columns = list(table[0])
        found = query(f"FROM '{parquet}'")
        self.assertEqual((len(found), list(found[0])), (len(table), columns), path)
        for one, other in zip(table, found):
            for name in columns:
                text, value = one[name], other[name]
                if text == "":
                    self.assertIsNone(value, name)
                elif isinstance(value, (int, float)):
                    self.assertAlmostEqual(float(text), value, delta=1e-9 * abs(value), msg=name)
                else:
                    self.assertEqual(text, value, name)

    def test_tables_are_the_same(self):
        for name in ("sessions", "series"):
            self.same(rows(OUT / f"out/{name}.csv"), f"out/{name}.parquet", name)

    def test_segments_are_the_same(self):
        self.same(rows(OUT / "node1.csv.gz") + rows(OUT / "node2.csv.gz"), "segments.parquet", "segments")

    def test_numbers_are_numbers(self):
        types = {r["column_name"]: r["column_type"] for r in query("DESCRIBE FROM 'out/sessions.parquet'")}
        for name, kind in (("originator", "BIGINT"), ("duration_ms", "DOUBLE"), ("outcome", "VARCHAR"), ("cp_lost", "BIGINT"),
                           ("t_first_tx_ns", "BIGINT"), ("delta_ms", "DOUBLE")):
            self.assertEqual(types[name], kind, name)
        types = {r["column_name"]: r["column_type"] for r in query("DESCRIBE FROM 'segments.parquet'")}
        self.assertEqual({types[k] for k in ("t_ns", "type", "offset", "cp_serial", "rs_upper", "attempt")}, {"BIGINT"})

    def said(self, *words):
        found = [said for command, said in SAID if all(w in command for w in words)]
        self.assertEqual(len(found), 1, words)
        return found[0]

    def test_queries(self):
        done = [float(r["duration_ms"]) for r in rows(OUT / "out/sessions.csv") if r["outcome"] == "done"]
        said = self.said("SELECT", "out/sessions.parquet")
        self.assertIn(f" {len(done)} ", said)
        self.assertIn(f" {round(sum(done) / len(done), 3)} ", said)
        sent = Counter((r["name"], r["cause"]) for r in rows(OUT / "node1.csv.gz") if r["dir"] == "tx")
        said = self.said("SELECT", "'segments.parquet'", "node = 1")
        for (name, cause), count in sent.items():
            self.assertRegex(said, rf"{name} +│ {cause or 'NULL'} +│ +{count} ")
        said = self.said("SELECT", "out/series.parquet")
        first = next(r for r in rows(OUT / "out/series.csv"))
        self.assertIn(f" {float(first['goodput_bps']) / 1e6:.1f} ", said)

    def test_many_runs_become_one_file(self):
        counts = {r["run"]: r["sessions"] for r in query("SELECT run, count(*) AS sessions FROM 'campaign.parquet' GROUP BY run")}
        each = len(rows(OUT / "campaign/runs/a/sessions.csv.gz"))
        self.assertGreater(each, 10)
        self.assertEqual(counts, {"a": each, "b": each})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
