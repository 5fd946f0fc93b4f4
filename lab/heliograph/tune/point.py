# SPDX-License-Identifier: Apache-2.0
"""What the runs of one setting carry, and whether another setting carries more: by the share of the capacity that was used, by the time of
sending, with its standard error.

What arrives within a run differs with what is under way at its two ends: on a long path by more than the numbers of sessions do.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from .. import statistics

SPREAD = ("mean", "sd", "p50", "p90", "p99")
GRAIN = 64  # numbers of sessions are sought to one in so many
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
        """The used capacity in each part of the time of each run, bit/s."""
        return [run["capacity_bps"] * share for run in self.runs for share in run["carried_parts"]]

    def carried(self) -> float:
        return float(self["carried_share"] * self["capacity_bps"])

    def carried_se(self) -> Any:
        """Standard error of the share: runs of several seeds are independent."""
        return math.hypot(*(run["carried_se"] for run in self.runs)) / len(self.runs)


def at_most_all(share: float) -> float:
    """Of the capacity, by the time of sending: more than all of it only by chance, where losses are drawn one by one. A share of nothing stays none (nan)."""
    return min(share, 1.0)


def rates(predicted: Any) -> tuple[float, float]:
    """(goodput by the time of sending, capacity) of one realisation, bit/s. What arrives within its run can exceed its capacity: blocks that were sent
    before, or held up by earlier fades."""
    capacity = predicted["capacity_bps"]
    return at_most_all(predicted["carried_share"]) * capacity, capacity


def of_reachable(told: Any, share: float | None = None) -> float:
    """What a point, or what is predicted, carries (or another share of the capacity), as a share of the reachable capacity. A segment that overlaps the
    edge of a fade is lost, so that this is less than the capacity."""
    carried = told["carried_share"] if share is None else share
    return float(carried / told["reachable_share"]) if told["reachable_share"] > 0 else 0.0


def grain(number: int) -> int:
    """How exactly a number of sessions is sought: another realisation of the fading differs by more."""
    return max(1, number // GRAIN)


def gain(one: Point, other: Point) -> tuple[float, float]:
    """(what the point `one` carries more than `other`, half of its 95 % interval), bit/s. Both met the same fades at the same times, so
    that parts of their runs are compared in pairs: what both lose is no noise."""
    mean, half = statistics.interval([x - y for x, y in zip(one.parts(), other.parts())])
    return mean or 0.0, half or 0.0


def of_many(tests: int, freedom: int) -> float:
    """By how much an interval is wider that holds in 95 % of the cases for so many at once (Bonferroni)."""
    return statistics.two_sided(freedom, 0.05 / tests) / statistics.quantile(freedom)


def suffices(a: argparse.Namespace, point: Point, highest: Point, tests: int = 1, noise: float = 0.0) -> bool:
    """Does it carry as much as the point of more than enough sessions, but for the tolerance and for what cannot be distinguished from
    nothing? Of many tests one would fail by chance: so they have wider intervals. `noise`: half of the 95 % interval of a difference
    between two numbers that are both more than enough, as a share. For the goal delay the floor is enough: a share of the reachable capacity."""
    most = highest.carried()
    lack, half = gain(highest, point)
    tolerated = a.tolerance * most
    wide = of_many(tests, len(point.parts()) - 1) if tests > 1 else 1.0
    if lack <= max(tolerated, min(wide * half, max(UNSURE * tolerated, wide * noise * most))):
        return True
    result: bool = a.goal == "delay" and of_reachable(point) >= a.floor
    return result
