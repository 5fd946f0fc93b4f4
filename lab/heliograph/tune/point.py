# SPDX-License-Identifier: Apache-2.0
"""What the runs of one setting carry, and whether another setting carries more: by the share of the capacity that was carried by the time of
sending, with its standard error.

What arrives within a run differs with what is under way at its two ends: on a long path by more than the numbers of sessions do.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from .. import statistics

SPREAD = ("mean", "sd", "p50", "p90", "p99")
UNSURE = 2  # times the tolerance: a lack that the runs cannot tell from none counts as none, up to this one


class Point:
    """The mean of the runs of one setting over the seeds."""

    def __init__(self, runs: list[dict[str, Any]]) -> None:
        self.runs = runs

    def __getitem__(self, key: str) -> Any:
        values = [r[key] for r in self.runs if r[key] is not None]
        if values and isinstance(values[0], dict):
            return {k: sum(v[k] for v in values) / len(values) for k in values[0]}
        if not values and key.endswith("_ms"):
            return dict.fromkeys(SPREAD, math.nan)
        return sum(values) / len(values) if values else math.nan

    def parts(self) -> list[float]:
        """What was carried in each part of the time of each run, bit/s."""
        return [run["capacity_bps"] * share for run in self.runs for share in run["carried_parts"]]

    def carried(self) -> float:
        return float(self["carried_share"] * self["capacity_bps"])

    def carried_se(self) -> Any:
        """Standard error of the share: runs of several seeds are independent."""
        return math.hypot(*(run["carried_se"] for run in self.runs)) / len(self.runs)


def gain(one: Point, other: Point) -> tuple[float, float]:
    """(what the point `one` carries more than `other`, half of its 95 % interval), bit/s. Both met the same fades at the same times, so
    that parts of their runs are compared in pairs: what both lose is no noise."""
    mean, half = statistics.interval([x - y for x, y in zip(one.parts(), other.parts())])
    return mean or 0.0, half or 0.0


def suffices(a: argparse.Namespace, point: Point, highest: Point) -> bool:
    """Does it carry as much as the point of more than enough sessions, but for the tolerance and for what is not to be told from
    nothing? For the goal delay the floor is enough."""
    most = highest.carried()
    lack, half = gain(highest, point)
    tolerated = a.tolerance * most
    if lack <= max(tolerated, min(half, UNSURE * tolerated)):
        return True
    result: bool = a.goal == "delay" and point["carried_share"] >= a.floor
    return result
