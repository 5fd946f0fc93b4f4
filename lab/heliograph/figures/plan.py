# SPDX-License-Identifier: Apache-2.0
"""Draws what `helio-plan show --plot` wrote. arguments: TABLE.csv OUT.png|svg|pdf START-NS"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timezone
from typing import Any

from matplotlib.ticker import FuncFormatter

from . import plot
from .plot import plt

WAYS_MAX = 60  # bars in one figure; further ones are left out, and their number is shown
UNITS = ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
PREFIXES = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s"))


def unit(seconds: float) -> tuple[float, str]:
    return next(((scale, name) for scale, name in UNITS if seconds >= 3 * scale), UNITS[-1])


def rate(bps: Any) -> str:
    if bps == 0:
        return "unlimited"
    scale, name = next((scale, name) for scale, name in PREFIXES if bps >= scale)
    return f"{bps / scale:.4g} {name}"


def read(path: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with open(path, newline="", encoding="utf-8") as f:
        rows = [{k: v if k == "kind" else int(v) for k, v in row.items()} for row in csv.DictReader(f)]
    return [r for r in rows if r["kind"] == "contact"], [r for r in rows if r["kind"] == "range"]


def draw_contacts(axes: Any, contacts: list[dict[str, Any]], ways: Any, origin: Any, scale: Any) -> None:
    rates = sorted({c["value"] for c in contacts}, reverse=True)
    for c in contacts:
        if (c["from"], c["to"]) not in ways:
            continue
        y = len(ways) - 1 - ways.index((c["from"], c["to"]))
        i = rates.index(c["value"])
        start, length = (c["start_ns"] - origin) / 1e9 / scale, (c["end_ns"] - c["start_ns"]) / 1e9 / scale
        axes.barh(y, length, 0.66, left=start, color=plot.colour(i), hatch=plot.HATCHES[i % 4], edgecolor="white",
                  linewidth=0.3, label=rate(c["value"]))
    axes.set_yticks(range(len(ways)), [f"{a} → {b}" for a, b in reversed(ways)], fontsize=min(10.5, 420 / len(ways)))
    axes.set_ylim(-0.6, len(ways) - 0.4)
    axes.grid(axis="y", visible=False)
    axes.set_title("Contacts")


def draw_ranges(axes: Any, ranges: Any, origin: Any, scale: Any, end: float) -> None:
    ways = list(dict.fromkeys((r["from"], r["to"]) for r in ranges))
    most = max(r["value"] for r in ranges) / 1e9
    light, name = unit(most) if most > 0 else (1e-3, "ms")
    for i, way in enumerate(ways[:len(plot.COLOURS)]):
        x: list[Any] = []
        y: list[Any] = []
        for r in (r for r in ranges if (r["from"], r["to"]) == way):
            if x and x[-1] < (r["start_ns"] - origin) / 1e9 / scale:
                x, y = x + [x[-1]], y + [float("nan")]
            x += [(r["start_ns"] - origin) / 1e9 / scale, min((r["end_ns"] - origin) / 1e9 / scale, end)]
            y += [r["value"] / 1e9 / light] * 2
        axes.plot(x, y, label=f"{way[0]} ↔ {way[1]}", **plot.line(i))
    more = len(ways) - len(plot.COLOURS)
    least = min(r["value"] for r in ranges) / 1e9
    if least > 0 and most > 20 * least:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_ylim(0, None)
    axes.set(title="Light times" + (f" (the first {len(plot.COLOURS)} of {len(ways)} ways)" if more > 0 else ""),
             ylabel=name)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


def draw(table: str, out: str, start: int) -> Any:
    contacts, ranges = read(table)
    if not contacts:
        return "helio-plan: --plot: the plan has no contacts to draw"
    origin: Any = start or 0
    begin, end = min(c["start_ns"] for c in contacts), max(c["end_ns"] for c in contacts)
    scale, name = unit(max(end - origin, 1) / 1e9)
    all_ways = list(dict.fromkeys((c["from"], c["to"]) for c in contacts))
    ways = all_ways[:WAYS_MAX]
    tall = 1.2 + 0.3 * max(len(ways), 3)
    heights = [tall, 2.0] if ranges else [tall]
    figure, axes = plt.subplots(len(heights), 1, sharex=True, squeeze=False, figsize=(9, sum(heights) + 0.6),
                                height_ratios=heights)
    top, low = axes[0][0], axes[-1][0]
    draw_contacts(top, contacts, ways, origin, scale)
    handles, labels = top.get_legend_handles_labels()
    once = dict(zip(labels, handles))
    order: Any = {rate(c["value"]): i for i, c in enumerate(sorted(contacts, key=lambda c: float(-c["value"])))}
    once = {label: once[label] for label in sorted(once, key=order.get)}
    top.legend(once.values(), once.keys(), loc="center left", bbox_to_anchor=(1.01, 0.5))
    if len(all_ways) > len(ways):
        top.set_title(f"Contacts (the first {len(ways)} of {len(all_ways)} ways)")
    right = (end - origin) / 1e9 / scale
    if ranges:
        draw_ranges(low, ranges, origin, scale, right)
    since = datetime.fromtimestamp(start / 1e9, timezone.utc).strftime(" since %Y-%m-%d %H:%M:%S UTC") if start else ""
    low.set_xlabel(f"time ({name}{since})")
    low.set_xlim((begin - origin) / 1e9 / scale, right)
    plot.save_as(figure, out)
    return 0


def main() -> Any:
    try:
        return draw(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except (OSError, ValueError) as e:
        return f"helio-plan: --plot: {e}"
