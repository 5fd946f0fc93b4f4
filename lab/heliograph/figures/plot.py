# SPDX-License-Identifier: Apache-2.0
"""Figures with matplotlib, each as PNG and SVG: one style for all programs, legible without colour."""

from __future__ import annotations

import io
import math
import os
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot  # noqa: E402
import matplotlib.ticker  # noqa: E402
import matplotlib.transforms  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can tell apart; marks and dashes differ, too.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#777777"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY, BLACK, "#F0E442")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
HATCHES = ("", "//", "..", "xx")

plt = matplotlib.pyplot
plt.rcParams.update({
    "figure.figsize": (7.2, 4.3), "figure.dpi": 100, "savefig.dpi": 150, "figure.constrained_layout.use": True,
    "font.size": 10.5, "legend.fontsize": 9, "legend.frameon": False, "lines.linewidth": 1.6,
    "axes.titlesize": 11.5, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": "#555555", "xtick.color": "#333333", "ytick.color": "#333333",
    "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.7, "axes.axisbelow": True, "hatch.linewidth": 0.6,
    "svg.hashsalt": "heliograph", "svg.fonttype": "none",
})


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def style(index: int) -> dict[str, float | str]:
    """Arguments of plot() for the index-th of several series of points."""
    return {"color": colour(index), "marker": MARKS[index % len(MARKS)], "markersize": 5, "linewidth": 1.6}


def line(index: int) -> dict[str, str | tuple[int, tuple[float, ...]]]:
    """Arguments of plot() for the index-th of several lines without points."""
    return {"color": colour(index), "linestyle": DASHES[index % len(DASHES)]}


def save_as(figure: Figure, path: str) -> None:
    """To one file, of the kind that its name ends in. The same figure gives the same bytes: no date is in it."""
    kind = str(path).rsplit(".", 1)[-1].lower()
    figure.savefig(path, metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind))


def drawn(figure: Figure) -> str:
    """The text of the figure's SVG, for a page. The figure is gone afterwards."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)
    return out.getvalue()


def inline(text: str) -> str:
    return text[text.index("<svg"):]


def save(figure: Figure, folder: str, name: str) -> str:
    """Writes NAME.png and NAME.svg; returns the text of the SVG for a page."""
    os.makedirs(folder, exist_ok=True)
    figure.savefig(os.path.join(folder, name + ".png"))
    text = drawn(figure)
    with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as f:
        f.write(text)
    return inline(text)


WIDE = 92        # letters of a legend in one row
ROWS, ROW = 3, 0.19  # so many rows have their place in each figure; inches of a further one
TITLE_MAX = 68   # letters of a title in one line
TITLE_SURE = 40  # so many fit always


def legend(axes: Any) -> None:
    """Below the axes and their labels, where it hides nothing; each label once."""
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles))
    if len(once) < 2:
        return
    axes.figure.canvas.draw()  # how far down the labels reach is known then
    below = (axes.bbox.y0 - axes.xaxis.get_tightbbox(axes.figure.canvas.get_renderer()).y0) / axes.figure.dpi
    place = axes.transAxes + matplotlib.transforms.ScaledTranslation(0, -below, axes.figure.dpi_scale_trans)
    columns = max(1, min(4, WIDE // (max(map(len, once)) + 8), len(once)))
    width, height = axes.figure.get_size_inches()
    axes.figure.set_size_inches(width, height + ROW * max(0, math.ceil(len(once) / columns) - ROWS))
    axes.legend(once.values(), once.keys(), fontsize=9, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=place, ncols=columns)


def set_title(axes: Any, text: str) -> None:
    """In lines that fit over the axes; long labels of groups make these narrower."""
    title = axes.set_title(textwrap.fill(text, TITLE_MAX))
    if len(text) <= TITLE_SURE:
        return
    axes.figure.canvas.draw()  # the layout is known then
    extent, edge = title.get_window_extent(), axes.figure.bbox.x1
    if extent.x1 > edge:
        longest = max(map(len, title.get_text().splitlines()))
        title.set_text(textwrap.fill(text, int(longest * (edge - extent.x0) / extent.width) - 3))


def intervals(halves: list[float | None] | tuple[float | None, ...]) -> list[float] | None:
    """Where there is no interval there is no bar, not one of length 0."""
    return None if all(h is None for h in halves) else [math.nan if h is None else h for h in halves]


POINTS_MAX = 16                # each has a tick of its own
LETTER, APART = 0.0145, 0.012  # of the axis: a letter of a tick's label, and the least between two


def ticks_at(values: Any, log: bool = False) -> list[float] | None:
    """Ticks where the points are, but for those whose labels would meet; None where the points are too many for that, or most would go."""
    values = sorted(set(values))
    if not 0 < len(values) <= POINTS_MAX:
        return None
    place: Any = math.log10 if log else float
    width = max(place(values[-1]) - place(values[0]), 1e-300)

    def room(a: float, b: float) -> bool:
        result: bool = (place(b) - place(a)) / width >= LETTER * (len(f"{a:.10g}") + len(f"{b:.10g}")) / 2 + APART
        return result

    kept = [values[0]]
    for value in values[1:-1]:
        if room(kept[-1], value) and room(value, values[-1]):
            kept.append(value)
    kept += values[1:][-1:]
    return kept if 2 * len(kept) > len(values) else None


def spans_decades(values: Any) -> bool:
    """Do positive values span more than two decades? Then equal distances on the axis are equal ratios."""
    values = list(values)
    return bool(values) and min(values) > 0 and max(values) > 100 * min(values) * (1 + 1e-9)


def set_ticks(axes: Any, values: list[float], log: bool) -> None:
    """Labels where they fit, and a mark without a label at each other value; whole numbers have no ticks between them."""
    ticks = ticks_at(values, log)
    if ticks:
        axes.set_xticks(ticks, [f"{x:.10g}" for x in ticks])
        axes.set_xticks(sorted(set(values) - set(ticks)), minor=True)
        axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    elif not log and all(float(x).is_integer() for x in values):
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))  # there are no 2.5 sessions


def set_floor(axes: Any) -> None:
    """From 0, also where an interval is longer than its bar, to where the highest mark is whole."""
    _, high = axes.get_ylim()
    axes.set_ylim(0, max(high, 1.04 * axes.dataLim.ymax))


def remark(figure: Figure, text: str) -> None:
    """In a corner of the axes, for a reader who has only the figure."""
    figure.axes[0].text(0.99, 0.02, text, transform=figure.axes[0].transAxes, ha="right", va="bottom", fontsize=8, color=GREY,
                        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8})


def lines(title: str, xlabel: str, ylabel: str, series: Sequence[tuple[str, Any, Any]], published: Sequence[Any] = (),
          xticks: Any = None, floor: bool = True, log: bool = False, xlog: bool = False) -> Figure:
    """series: (label, [(x, y, half)], {"hollow": set of unfaithful x}); published: (label, index of the series, [(x, y)]); log, xlog: of the
    ordinate, of the abscissa."""
    figure, axes = plt.subplots()
    for i, (label, points, hollow) in enumerate(series):
        if not points:
            continue
        x, y, half = zip(*points)
        s = style(i)
        axes.errorbar(x, y, yerr=intervals(half), label=label, capsize=2.5, elinewidth=1, **s)
        weak = [(a, b) for a, b in zip(x, y) if a in hollow]
        if weak:
            axes.plot(*zip(*weak), linestyle="none", marker=s["marker"], markersize=9, markerfacecolor="white",
                      markeredgecolor=s["color"], label="not faithful")
    for label, index, points in published:
        axes.plot(*zip(*points), color=COLOURS[index % len(COLOURS)], linestyle="none", marker="x", markersize=11,
                  markeredgewidth=2.5, zorder=5, label=label)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    set_title(axes, title)
    if log:
        axes.set_yscale("log")
    elif floor:
        set_floor(axes)
    if xlog:
        axes.set_xscale("log")
    if xticks:
        axes.set_xticks(xticks, [f"{x:.10g}" for x in xticks])
    else:
        set_ticks(axes, [p[0] for _, points, _ in series for p in points], xlog)
    legend(axes)
    return figure


LABEL_MAX = 24                   # letters of a group's label
SLANTED, UPRIGHT = 0.06, 0.028  # of the axis: what a label at 30° and one at 90° needs to the next


def shortened(labels: list[str]) -> list[str]:
    """Without the folders of paths, and no longer than LABEL_MAX, as long as they stay different."""
    short = [label.rsplit("/", 1)[-1] for label in labels]
    if len(set(short)) < len(set(labels)):
        short = labels
    half = LABEL_MAX // 2
    cut = [label if len(label) <= LABEL_MAX else label[:half] + "…" + label[1 - half:] for label in short]
    return cut if len(set(cut)) == len(set(labels)) else short


def set_groups(axes: Any, labels: list[str]) -> None:
    """Labels of groups of bars: side by side if they fit, else slanted, else upright; beyond that the figure is wider."""
    labels, room = shortened(labels), 1 / max(1, len(labels))
    if max(map(len, labels), default=0) * LETTER + APART <= room:
        axes.set_xticks(range(len(labels)), labels)
    elif room >= SLANTED:
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", rotation_mode="anchor")
    else:
        axes.set_xticks(range(len(labels)), labels, rotation=90)
        width, height = axes.figure.get_size_inches()
        axes.figure.set_size_inches(width * max(1, UPRIGHT / room), height)
    axes.set_xlim(-0.6, len(labels) - 0.4)


def bars(title: str, ylabel: str, groups: list[str], series: Sequence[tuple[str, Any, Any]], published: Sequence[Any] = (),
         xlabel: str = "", weak: list[list[bool]] | tuple[Any, ...] = ()) -> Figure:
    """series: (label, [value or None], [half or None]) for each group; published: for each series values or None; weak: for
    each series whether each group was not faithful."""
    figure, axes = plt.subplots()
    width = 0.8 / max(1, len(series))
    for i, (label, values, halves) in enumerate(series):
        x = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        drawn_bars = axes.bar(x, [v or 0 for v in values], width * 0.94, yerr=intervals(halves), capsize=3,
                              label=label, color=COLOURS[i % len(COLOURS)], hatch=HATCHES[i % 3], edgecolor="white")
        for bar, hollow in zip(drawn_bars, weak[i] if i < len(weak) else []):
            if hollow:
                bar.set(facecolor="white", edgecolor=COLOURS[i % len(COLOURS)], linestyle="--", label="not faithful")
        marks = [(a, p) for a, p in zip(x, published[i] if i < len(published) else []) if p is not None]
        if marks:
            axes.plot(*zip(*marks), linestyle="none", marker="x", color="black", markersize=9, markeredgewidth=2,
                      label="published")
    set_groups(axes, groups)
    set_floor(axes)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    set_title(axes, title)
    axes.grid(axis="x", visible=False)
    legend(axes)
    return figure


def stacked(title: str, ylabel: str, groups: list[str], parts: list[tuple[str, list[float]]], published: Sequence[int | None] | tuple[Any, ...] = (),
            halves: list[float | None] | tuple[Any, ...] = (), weak: list[bool] | tuple[Any, ...] = ()) -> Figure:
    """parts: (label, [value for each group]), from below; published: total of each group or None; halves: of the totals'
    intervals, or None; weak: for each group whether it was not faithful."""
    figure, axes = plt.subplots()
    bottom = [0.0] * len(groups)
    for i, (label, values) in enumerate(parts):
        drawn_bars = axes.bar(range(len(groups)), values, 0.55, bottom=bottom, label=label, color=COLOURS[i % len(COLOURS)],
                              hatch=HATCHES[i % 4], edgecolor="white")
        for bar, hollow in zip(drawn_bars, weak):
            if hollow:
                bar.set(facecolor="white", edgecolor=COLOURS[i % len(COLOURS)], linestyle="--", label="not faithful")
        bottom = [b + v for b, v in zip(bottom, values)]
    if any(h is not None for h in halves):
        axes.errorbar(range(len(groups)), bottom, yerr=intervals(halves), fmt="none", ecolor="black", capsize=4, label="95 % interval")
    marks = [(i, p) for i, p in enumerate(published) if p is not None]
    if marks:
        axes.plot(*zip(*marks), linestyle="none", marker="x", color="black", markersize=9, markeredgewidth=2, label="published")
    axes.set_xticks(range(len(groups)), groups)
    axes.set(title=title, ylabel=ylabel)
    axes.grid(axis="x", visible=False)
    legend(axes)
    return figure
