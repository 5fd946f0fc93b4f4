# SPDX-License-Identifier: Apache-2.0
"""The segments of single sessions: when each was sent, and when it arrived or how it was lost.

The logs have a row where a segment leaves and one where it arrives. Rows are matched by the segment (type, offset, length, serial numbers), by the
drop log and by time. What can go wrong: the log of one end is missing, then an arrival is not known; clocks that differ, then arrivals may be before
departures.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ("data", "data again", "checkpoint", "checkpoint again", "report", "acknowledgement", "cancel", "orange answer")
CAME, DROPPED, MISSED, UNKNOWN = range(4)
SESSION_MAX, EVENTS_MAX, PAGE_MAX = 30000, 5000, 80000  # segments and timers of one session, segments of all
FROM_RECEIVER = (8, 13, 14)
CHECKPOINTS = (1, 2, 3)


def count(text: str) -> int | None:
    return int(text) if text else None


def identity(row: dict[str, str], length: str) -> Any:
    kind = int(row["type"])
    return (kind, *(count(row[k]) for k in ("offset", length, "cp_serial", "rpt_serial")))


def read_rows(path: Path | str) -> Iterator[dict[str, str]]:
    """The rows of a log by column name. Several versions may have written to it: each named its columns before its own rows."""
    names = []
    with open(path, newline="", encoding="utf-8") as f:
        for cells in csv.reader(f):
            if cells and cells[0][:1].isalpha():
                names = cells
            else:
                yield dict(zip(names, cells))


class Session:
    def __init__(self, name: tuple[str, str]) -> None:
        self.name = name
        self.sent: dict[Any, Any] = {}
        self.came: dict[Any, Any] = {}
        self.dropped: dict[str, Any] = {}  # by what the segment is: rows in order of time
        self.events: list[Any] = []
        self.nodes: set[Any] = set()
        self.receiver = ""

    def add(self, row: dict[str, str]) -> None:
        self.nodes.add(row["node"])
        at_sender = row["node"] == row["originator"]
        self.receiver = row["peer"] if at_sender else row["node"]
        if row["dir"] in ("tx", "rx"):
            if row["type"]:
                table = self.sent if row["dir"] == "tx" else self.came
                table.setdefault(identity(row, "length"), []).append(row)
            return
        words = {"open": "opens", "close": "closes: " + row["cause"], "timer": row["cause"] + " timer runs out"}
        self.events.append((int(row["t_ns"]), 0 if at_sender else 1, words.get(row["dir"], row["dir"])))

    def add_drop(self, row: dict[str, str]) -> None:
        if row["reason"] not in ("late", "duplicate"):
            self.dropped.setdefault(identity(row, "data_length"), []).append(row)


ENDS = {"sent": "repair segments sent", "answered": "more repair segments sent", "whole": "nothing lost", "repaired": "all repaired",
        "failed": "not repaired", "displaced": "displaced by others, not repaired"}


class Matrix:
    """A row of a matrix of an erasure code."""

    def __init__(self, row: dict[str, str]) -> None:
        self.time, self.sender, self.failed = int(row["t_ns"]), row["originator"], row["cause"] in ("failed", "displaced")
        self.side = int(row["node"] != row["originator"])
        self.receiver = row["node"] if self.side else row["peer"]
        parts = [f"matrix {row['matrix']} of {row['segments']} segments: {ENDS[row['cause']]}", f"{row['repairs']} repair segments"]
        if self.side and row["cause"] != "whole":
            parts.append(f"{row['repaired']} lost segments repaired, {row['missing']} not")
        if row["delay_ns"]:
            parts.append(f"longest decoding delay {int(row['delay_ns']) / 1e6:.4g} ms")
        self.word = ", ".join(parts)


def least_delays(sessions: Any) -> Any:
    """From each end, the least delay of a segment of which one was sent and one arrived."""
    delays: Any = {}
    for s in sessions:
        for what, sent in s.sent.items():
            came = s.came.get(what, ())
            if len(sent) == len(came) == 1:
                back, took = what[0] in FROM_RECEIVER, int(came[0]["t_ns"]) - int(sent[0]["t_ns"])
                delays[back] = min(delays.get(back, took), took)
    return delays


def last_before(rows: list[dict[str, str]], free: list[bool], time: int) -> int | None:
    """The last of the rows that are free and not later than `time`; None when there is none."""
    for i in range(len(rows) - 1, -1, -1):
        if free[i] and int(rows[i]["t_ns"]) <= time:
            return i
    return None


def match(sent: list[dict[str, str]], came: list[dict[str, str]], dropped: list[dict[str, str]],
          delay: int) -> Any:
    """[(row sent or None, row of the arrival or None, drop or None)]"""
    free = [True] * len(sent)
    ends: list[Any] = [(None, None)] * len(sent)
    for drop in dropped:
        i = last_before(sent, free, int(drop["t_ns"]))
        if i is not None:
            free[i], ends[i] = False, (None, drop)
    alone: Any = []
    left = [i for i in range(len(sent)) if free[i]]
    for n, row in enumerate(came):
        i = left[n] if len(left) == len(came) else last_before(sent, free, int(row["t_ns"]) - delay)
        if i is None or not free[i]:
            alone.append((None, row, None))
        else:
            free[i], ends[i] = False, (row, None)
    return [(s, *e) for s, e in zip(sent, ends)] + alone


def kind_of(row: Any, drop_or_came: Any) -> int:
    kind = int((row or drop_or_came)["type"])
    name, cause = (row or drop_or_came).get("name", ""), row["cause"] if row else "first"
    again = cause not in ("first", "")
    if name.startswith("orange_"):
        return 7
    if kind in CHECKPOINTS:
        return 3 if again and row["attempt"] not in ("", "1") else 2
    if kind < 8:
        return 1 if again else 0
    return {8: 4, 9: 5}.get(kind, 6)


def segment(sent: Any, came: Any, drop: Any, start: int, known: bool) -> list[int | None]:
    """One row of the page's data; fields that are empty at its end are left out."""
    row: Any = sent or came
    fate = CAME if came else DROPPED if drop else MISSED if known else UNKNOWN
    fields = [kind_of(sent, came), int(int(row["type"]) in FROM_RECEIVER), int(sent["t_ns"]) - start if sent else None,
              int(came["t_ns"]) - start if came else None, fate]
    fields += [count(row[k]) for k in ("type", "offset", "length", "cp_serial", "rpt_serial", "rs_lower", "rs_upper", "claims",
                                       "claimed_bytes", "cancel_reason", "attempt", "udp_len")]
    fields += [sent["cause"] if sent else None, came["cause"] if came else None, drop["reason"] if drop else None]
    while fields[-1] is None:
        fields.pop()
    return fields


def last_time(s: Session) -> int:
    return max((int(rows[-1]["t_ns"]) for table in (s.sent, s.came) for rows in table.values()), default=0)


def horizon(s: Session, unread: bool, end: int) -> float:
    """A segment that was sent shortly before the end of the rows may arrive later: it is not known to be lost."""
    if unread:
        return last_time(s)
    closed = {side for _, side, word in s.events if word.startswith("closes")}
    return math.inf if closed == {0, 1} else end


def matrices_of(s: Session, matrices: list[Matrix], start: int, end: int) -> list[Any]:
    """Those of its direction while it was open: time, side, words, whether segments are missing."""
    return [[m.time - start, m.side, m.word, int(m.failed)] for m in matrices
            if m.sender == s.name[0] and m.receiver == s.receiver and start <= m.time <= end][:EVENTS_MAX]


def describe(s: Session, delays: dict[bool, int], nodes: set[str], until: float, matrices: list[Matrix]) -> dict[str, Any]:
    start = min(int(r[0]["t_ns"]) for r in (*s.sent.values(), *s.came.values()))
    segments = []
    for what in s.sent.keys() | s.came.keys():
        back = what[0] in FROM_RECEIVER
        # the receiving end has a log if it has any row
        known = any((n == s.name[0]) == back for n in nodes)
        delay = delays.get(back, 0)
        for sent, came, drop in match(s.sent.get(what, []), s.came.get(what, []), s.dropped.get(what, []), delay):
            segments.append(segment(sent, came, drop, start, known and (sent is None or int(sent["t_ns"]) + 2 * delay < until)))
    segments.sort(key=lambda f: (f[2] if f[2] is not None else f[3], f[0]))
    cut, shown = max(0, len(segments) - SESSION_MAX), segments[:SESSION_MAX]
    end = max([last_time(s), *(t for t, _, _ in s.events)])
    return {"originator": s.name[0], "session": s.name[1], "start": start, "segments": shown, "cut": cut,
            "matrices": matrices_of(s, matrices, start, end),
            "events": [[t - start, side, word] for t, side, word in s.events[:EVENTS_MAX]]}


def read(folder: Path, order: Any) -> tuple[list[dict[str, Any]], list[Any]]:
    """The sessions of FOLDER/segments.csv and drops.csv, as many as a page can hold, and the names of the others; `order`
    is a key for names."""
    sessions: Any = {}
    matrices = []
    for row in read_rows(folder / "segments.csv"):
        if row["dir"] == "matrix":
            matrices.append(Matrix(row))
            continue
        name = (row["originator"], row["session"])
        sessions.setdefault(name, Session(name)).add(row)
    for row in read_rows(folder / "drops.csv"):
        s: Any = sessions.get((row["originator"], row["session"]))
        if s:
            s.add_drop(row)
    unread = {(r["originator"], r["session"]): int(r["rows"]) for r in read_rows(folder / "left-out.csv")}
    delays, out, others, total = least_delays(sessions.values()), [], [], 0
    end = max(map(last_time, sessions.values()), default=0)
    for s in sorted(sessions.values(), key=lambda s: (order(s.name),)):
        nodes = set().union(*(o.nodes for o in sessions.values() if o.name[0] == s.name[0]))
        if not s.sent and not s.came:
            continue
        described = describe(s, delays, nodes, horizon(s, s.name in unread, end), matrices)
        if total + len(described["segments"]) > PAGE_MAX:
            others.append(":".join(s.name))
            continue
        described["unread"] = unread.get(s.name, 0)
        total += len(described["segments"])
        out.append(described)
    return out, others + [":".join(n) for n in unread if n not in sessions]
