# SPDX-License-Identifier: Apache-2.0
"""Which of the kinds of recovery that helio-tune searched is to be taken for the goal, and what the other one brings."""

from __future__ import annotations

import math
from typing import Any

from . import point

NEAR = 0.005   # of the goodput: as good as equal
ALIKE = 0.01   # of the 99th percentile: likewise


def goodput(r: Any) -> Any:
    """To be expected, bit/s, and half of its 95 % interval. Of the same time for all: runs of what is expected differ in length."""
    capacity, told = r["predicted"]["capacity_bps"], r["expected"] or r["predicted"]
    return told["carried_share"] * capacity, (told.get("carried_ci95") or 0.0) * capacity if r["expected"] else 0.0


def tail(r: Any) -> float:
    p99 = r["predicted"]["delivery_ms"]["p99"]
    return math.inf if math.isnan(p99) else float(p99)


def alike(found: Any) -> Any:
    """Are both tails as long?"""
    shorter, longer = sorted(tail(r) for r in found.values())
    return longer <= (1 + ALIKE) * shorter


def by_goodput(found: Any) -> Any:
    """(names, the best first; is the goodput why?)"""
    names = list(found)
    (one, half), (other, half_other) = (goodput(found[name]) for name in names)
    if abs(one - other) > max(NEAR * max(one, other), math.hypot(half, half_other)):
        return (names if one > other else names[::-1]), True
    return sorted(names, key=(lambda name: float(found[name]["sessions"])) if alike(found) else (lambda name: tail(found[name]))), False


def of_goodput(found: Any) -> Any:
    (first, second), clear = by_goodput(found)
    rates, tails = ([of(found[name]) for name in (first, second)] for of in (lambda r: goodput(r)[0] / 1e6, tail))
    if clear:
        why = f"the larger goodput, {rates[0]:.1f} and not {rates[1]:.1f} Mbit/s to be expected"
        other = f"the shorter tail: p99 of the delivery {tails[1]:.1f} and not {tails[0]:.1f} ms" if tails[1] < tails[0] else "no shorter tail of the delivery"
    elif alike(found):
        counts = [found[name]["sessions"] for name in (first, second)]
        why, other = "as much goodput and as short a tail" + (f" with fewer sessions: {counts[0]} and not {counts[1]}" if counts[0] < counts[1] else ""), "the same"
    else:
        why = f"as much goodput, and the shorter tail: p99 of the delivery {tails[0]:.1f} and not {tails[1]:.1f} ms"
        other = f"{rates[1]:.1f} and not {rates[0]:.1f} Mbit/s, which is within the uncertainty"
    return first, why, second, other


def of_delay(found: Any) -> Any:
    """The shorter tail of those that keep the floor; without any the greater share of the reachable capacity."""
    kept = [name for name, r in found.items() if r["floor_kept"]]
    names = sorted(found, key=lambda name: (name not in kept, tail(found[name]) if kept else -point.of_reachable(found[name]["predicted"])))
    if len(kept) == 2 and alike(found):
        names.sort(key=lambda name: float(-goodput(found[name])[0]))
    first, second = names
    tails, shares = [tail(found[name]) for name in names], [100 * point.of_reachable(found[name]["predicted"]) for name in names]
    both = f"{shares[1]:.2f} and not {shares[0]:.2f} % of the reachable capacity"
    if len(kept) == 2:
        why = "more goodput with as short a tail" if alike(found) else "the shorter tail"
        return first, f"{why}: p99 of the delivery {tails[0]:.1f} and not {tails[1]:.1f} ms", second, both
    why = "it keeps the floor" if kept else "neither keeps the floor, and it is nearer"
    return first, f"{why}: {shares[0]:.2f} and not {shares[1]:.2f} % of the reachable capacity", second, f"p99 of the delivery {tails[1]:.1f} and not {tails[0]:.1f} ms"


def take(goal: Any, recovery: Any) -> Any:
    """None where there is nothing to choose. ION's timer is no choice: who runs ION has it."""
    found = {name: r for name, r in recovery.items() if name != "ion" and r["predicted"]["efficiency"] > 0}
    if len(found) < 2:
        return None
    first, why, second, brings = (of_delay if goal == "delay" else of_goodput)(found)
    return {"recovery": first, "why": why, "other": second, "other_brings": brings}


def words(taken: Any) -> Any:
    return f"{taken['recovery']}: {taken['why']}. {taken['other']} brings {taken['other_brings']}"
