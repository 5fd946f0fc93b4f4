# SPDX-License-Identifier: Apache-2.0
"""Draws what `helio-trace info --csv FOLDER` wrote. arguments: FOLDER OUT.png|svg|pdf"""

from __future__ import annotations

import csv
import os
import sys
from typing import Any

from matplotlib.ticker import FuncFormatter

from . import plot
from .plot import plt


def table(folder: str, name: str) -> list[dict[str, str]]:
    with open(os.path.join(folder, name), newline="") as f:
        return list(csv.DictReader(f))


def plain(value: Any, _: int) -> str:
    return f"{value:g}"


def short(name: str) -> str:
    return os.path.basename(name) or name


def draw_share(axes: Any, rows: list[dict[str, str]], names: list[str]) -> None:
    for i, name in enumerate(names):
        mine = [r for r in rows if r["trace"] == name]
        edges = [float(r["from_s"]) for r in mine] + [float(mine[-1]["to_s"])]
        shares = [100 * float(r["share"]) for r in mine]
        axes.stairs(shares, edges, color=plot.colour(i), baseline=None, linewidth=1.2)
    end = max(float(r["to_s"]) for r in rows)
    axes.set(title="Bad time along the trace", xlabel="time (s)", ylabel="bad share (%)", xlim=(0, end), ylim=(0, None))


def draw_lengths(axes: Any, rows: list[dict[str, str]], statistics: list[dict[str, str]], names: list[str], state: str) -> None:
    for i, name in enumerate(names):
        points = [(float(r["duration_ms"]), float(r["share"])) for r in rows if r["trace"] == name and r["state"] == state]
        if not points:
            continue
        x, y = [points[0][0]], [0.0]
        for duration, share in points:
            x += [duration, duration]
            y += [y[-1], share]
        axes.plot(x, y, **plot.line(i))
        for share, at in ((0.5, "median_ms"), (0.9, "p90_ms")):
            value = next(float(r[at]) for r in statistics if r["trace"] == name and r["state"] == state)
            axes.plot([value], [share], marker="o", markersize=4.5, color=plot.colour(i), clip_on=False)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.set(title=f"Lengths of {state} runs", xlabel="length (ms)", ylabel="share of runs up to it", ylim=(0, 1.02))
    axes.set_yticks([0, 0.25, 0.5, 0.75, 0.9, 1])


def draw_correlation(axes: Any, rows: list[dict[str, str]], names: list[str]) -> None:
    for i, name in enumerate(names):
        mine = [(float(r["lag_ms"]), float(r["correlation"])) for r in rows if r["trace"] == name]
        axes.plot(*zip(*mine), **plot.line(i))
    least = min((float(r["lag_ms"]) for r in rows if float(r["lag_ms"]) > 0), default=0.1)
    axes.axhline(0, color=plot.GREY, linewidth=0.8)
    axes.set_xscale("symlog", linthresh=least, linscale=0.3)
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.set(title="Autocorrelation of the state", xlabel="lag (ms)", ylabel="correlation", xlim=(0, None))
    axes.set_ylim(top=1.02)


def label(name: str, statistics: list[dict[str, str]]) -> str:
    bad, good = ([r for r in statistics if r["trace"] == name and r["state"] == s][0] for s in ("bad", "good"))
    return (f"{short(name)}: {100 * float(bad['share']):.3g} % bad, mean run {float(bad['mean_ms']):.3g} ms bad, "
            f"{float(good['mean_ms']):.3g} ms good")


def draw(folder: str, out: str) -> None:
    statistics = table(folder, "statistics.csv")
    names = list(dict.fromkeys(r["trace"] for r in statistics))
    figure, axes = plt.subplots(2, 2, figsize=(10, 7))
    draw_share(axes[0][0], table(folder, "bad_share.csv"), names)
    draw_correlation(axes[0][1], table(folder, "autocorrelation.csv"), names)
    cdf = table(folder, "dwell_cdf.csv")
    draw_lengths(axes[1][0], cdf, statistics, names, "bad")
    draw_lengths(axes[1][1], cdf, statistics, names, "good")
    handles = [plt.Line2D([], [], label=label(name, statistics), **plot.line(i)) for i, name in enumerate(names)]
    handles.append(plt.Line2D([], [], linestyle="", marker="o", markersize=4.5, color=plot.GREY, label="median and 90th percentile"))
    figure.legend(handles=handles, loc="lower center", ncol=1)
    below = 0.02 + 0.024 * len(handles)
    figure.get_layout_engine().set(rect=(0, below, 1, 1 - below), w_pad=0.12, h_pad=0.1)
    plot.save_as(figure, out)


def main() -> Any:
    try:
        draw(*sys.argv[1:])
    except OSError as e:
        return f"helio-trace: {e}"
    return 0
