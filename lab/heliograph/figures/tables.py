# SPDX-License-Identifier: Apache-2.0
"""The tables of helio-analyze (docs/helio-analyze.md, "Tables"), read back: one folder is one analysis."""

from __future__ import annotations

import csv
import json
import math
import sys
from array import array
from pathlib import Path
from typing import Any

PARTS = (("ideal_ms", "ideal"), ("retx_penalty_ms", "retransmission cycles"), ("cp_penalty_ms", "lost checkpoints"),
         ("delta_ms", "not explained"))


def number(text: str) -> float:
    """Of a table's field; NaN for an empty one."""
    return float(text) if text else math.nan


class Flow:
    """Sessions of one sender, one receiver and one colour, as columns of the same length."""

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary
        self.key = tuple(str(summary[k]) if summary[k] is not None else "" for k in ("originator", "peer", "colour"))
        self.columns: dict[str, Any] = {}
        self.cdf: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return f"{self.key[0]} → {self.key[1] or '?'} {self.key[2]}"

    def __len__(self) -> int:
        return len(self.columns.get("session", ()))

    def done(self, *names: str) -> list[list[float]]:
        """The columns of completed sessions in which none of them is empty."""
        outcome = self.columns.get("outcome", [])
        rows = [v for o, *v in zip(outcome, *(self.columns[n] for n in names)) if o == "done"] if outcome else []
        rows = [v for v in rows if not any(math.isnan(x) for x in v)]
        return [list(c) for c in zip(*rows)] if rows else [[] for _ in names]


TEXT = ("peer", "colour", "outcome", "cp_lost_basis", "originator", "session")
UNUSED = ("role", "client_service", "cancel_reason")


def read_sessions(path: Path, flows: list[Flow]) -> None:
    """A session without data rows has no colour: it is assigned to the flow of all others of its path, as in the summary."""
    by_key = {f.key: f for f in flows}
    by_path = {f.key[:2]: f for f in reversed(flows)}
    with open(path, newline="", encoding="utf-8") as f:
        rows = csv.reader(f)
        header = next(rows)
        at = [header.index(k) for k in ("originator", "peer", "colour")]
        columns = [(i, name, sys.intern if name in TEXT else number) for i, name in enumerate(header) if name not in UNUSED]
        for row in rows:
            key = tuple(row[i] for i in at)
            key = key if key[2] else (*key[:2], "unknown")
            flow = by_key.get(key, by_path.get(key[:2], flows[-1]))
            if not flow.columns:
                flow.columns = {name: [] if read is sys.intern else array("d") for _, name, read in columns}
            for i, name, read in columns:
                flow.columns[name].append(read(row[i]))


def read_cdf(path: Path, flows: dict[tuple[str, ...], Flow]) -> None:
    with open(path, newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            flow = flows.get((row["originator"], row["peer"], row["colour"]))
            if flow:
                flow.cdf.setdefault(row["quantity"], []).append((float(row["ms"]), float(row["share"])))


def read_series(path: Path) -> Any:
    """{(originator, peer): {column: values}}"""
    paths: Any = {}
    with open(path, newline="", encoding="utf-8") as f:
        rows: Any = csv.DictReader(f)
        for row in rows:
            columns = paths.setdefault((row["originator"], row["peer"]), {})
            for name in rows.fieldnames[2:]:
                columns.setdefault(name, []).append(number(row[name]))
    return paths


class Analysis:
    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        with open(self.folder / "summary.json", encoding="utf-8") as f:
            self.summary = json.load(f)
        self.flows = [Flow(s) for s in self.summary["flows"]]
        read_sessions(self.folder / "sessions.csv", self.flows)
        read_cdf(self.folder / "cdf.csv", {f.key: f for f in self.flows})
        self.series = read_series(self.folder / "series.csv")
