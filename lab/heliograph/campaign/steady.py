# SPDX-License-Identifier: Apache-2.0
"""From the table of sessions of a run (docs/helio-analyze.md), what its steady state shows: the sessions that began between
warm-up and end, each followed to its own end, and what was delivered between the two. As helio-sim counts with --warmup
and --follow.
"""

from __future__ import annotations

import csv
import math
from typing import Any


def rank(values: list[float], percent: int) -> float:
    """Nearest rank."""
    return values[max(0, math.ceil(len(values) * percent / 100) - 1)]


def spread(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    values = sorted(values)
    n, mean = len(values), math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)) if n > 1 else 0.0
    return {"mean": mean, "sd": sd, **{f"p{p}": rank(values, p) for p in (50, 90, 99)}, "max": values[-1]}


def rows_of(path: str) -> tuple[list[dict[str, str]], int]:
    """The red sessions of the sender that were completed, and when the first of all began."""
    with open(path, encoding="utf-8", newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["colour"] == "red" and r["t_first_tx_ns"]]
    if not rows:
        return [], 0
    bytes_of: Any = {}
    for r in rows:  # the data, not acknowledgements that go back in sessions of their own
        way: Any = (r["originator"], r["peer"])
        bytes_of[way] = bytes_of.get(way, 0) + int(r["block_bytes"] or 0)
    data: Any = max(bytes_of, key=bytes_of.get)
    rows = [r for r in rows if (r["originator"], r["peer"]) == data]
    return [r for r in rows if r["outcome"] == "done"], min(int(r["t_first_tx_ns"]) for r in rows)


def mean(rows: list[dict[str, str]], key: str) -> float | None:
    values = [float(r[key]) for r in rows if r[key] != ""]
    return math.fsum(values) / len(values) if values else None


def steady(path: str, warmup: float, duration: float) -> dict[str, Any] | None:
    """Of sessions that began in [warmup, duration) seconds after the first one; `share`: of all blocks' bytes, those that were
    delivered in that time. None when no session is of it."""
    rows, start = rows_of(path)
    low, high = start + warmup * 1e9, start + duration * 1e9
    timed = [r for r in rows if low <= int(r["t_first_tx_ns"]) < high]
    if not timed:
        return None
    arrived = [r for r in rows if r["delivery_ms"] and low <= int(r["t_first_tx_ns"]) + 1e6 * float(r["delivery_ms"]) < high]
    whole = sum(int(r["block_bytes"] or 0) for r in rows)
    return {"session_ms": spread([float(r["duration_ms"]) for r in timed if r["duration_ms"]]),
            "delivery_ms": spread([float(r["delivery_ms"]) for r in timed if r["delivery_ms"]]),
            "retx_cycles_mean": mean(timed, "retx_cycles"), "checkpoints_lost_mean": mean(timed, "cp_lost"),
            "lossy_share": mean(timed, "lossy"), "sessions_timed": len(timed),
            "blocks": len(rows), "delivered": len(arrived), "delivered_bytes": sum(int(r["block_bytes"] or 0) for r in arrived), "bytes": whole}
