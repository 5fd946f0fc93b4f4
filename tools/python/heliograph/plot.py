# SPDX-License-Identifier: Apache-2.0
"""Figures with matplotlib, each as PNG and SVG: one style for all programs, legible without colour."""
import io
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# Okabe and Ito's palette; marks differ, too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")

plt.rcParams.update({
    "figure.figsize": (7.2, 4.3), "figure.dpi": 100, "savefig.dpi": 150, "font.size": 10.5, "axes.grid": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.7, "axes.axisbelow": True, "axes.spines.top": False,
    "axes.spines.right": False, "axes.titlesize": 11.5, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "legend.frameon": False, "svg.hashsalt": "heliograph", "svg.fonttype": "path",
})


def style(index):
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKS[index % len(MARKS)], "markersize": 5, "linewidth": 1.6}


def save(figure, folder, name):
    """Writes NAME.png and NAME.svg; returns the text of the SVG for a page."""
    os.makedirs(folder, exist_ok=True)
    figure.tight_layout()
    figure.savefig(os.path.join(folder, name + ".png"))
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = drawn.getvalue()
    with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as f:
        f.write(text)
    return text[text.index("<svg"):]


def legend(axes):
    """Below the axes, where it hides nothing; each label once."""
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles))
    if len(once) > 1:
        axes.legend(once.values(), once.keys(), fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=min(4, len(once)))


def lines(title, xlabel, ylabel, series, published=(), xticks=None, floor=True, log=False):
    """series: (label, [(x, y, half)], {"hollow": set of unfaithful x}); published: (label, index of the series, [(x, y)])."""
    figure, axes = plt.subplots()
    for i, (label, points, hollow) in enumerate(series):
        if not points:
            continue
        x, y, half = zip(*points)
        s = style(i)
        axes.errorbar(x, y, yerr=[h or 0 for h in half], label=label, capsize=2.5, elinewidth=1, **s)
        weak = [(a, b) for a, b in zip(x, y) if a in hollow]
        if weak:
            axes.plot(*zip(*weak), linestyle="none", marker=s["marker"], markersize=9, markerfacecolor="white",
                      markeredgecolor=s["color"], label="not faithful")
    for label, index, points in published:
        axes.plot(*zip(*points), color=COLOURS[index % len(COLOURS)], linestyle="none", marker="x", markersize=11,
                  markeredgewidth=2.5, zorder=5, label=label)
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if log:
        axes.set_yscale("log")
    elif floor:
        axes.set_ylim(bottom=0)
    if xticks:
        axes.set_xticks(xticks)
    legend(axes)
    return figure


def bars(title, ylabel, groups, series, published=()):
    """series: (label, [value or None], [half]) for each group; published: for each series values or None."""
    figure, axes = plt.subplots()
    width = 0.8 / max(1, len(series))
    for i, (label, values, halves) in enumerate(series):
        x = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        axes.bar(x, [v or 0 for v in values], width * 0.94, yerr=[h or 0 for h in halves], capsize=3, label=label,
                 color=COLOURS[i % len(COLOURS)], hatch=("", "//", "..")[i % 3], edgecolor="white")
        marks = [(a, p) for a, p in zip(x, published[i] if i < len(published) else []) if p is not None]
        if marks:
            axes.plot(*zip(*marks), linestyle="none", marker="x", color="black", markersize=9, markeredgewidth=2,
                      label="published")
    axes.set_xticks(range(len(groups)), groups)
    axes.set(title=title, ylabel=ylabel)
    axes.grid(axis="x", visible=False)
    legend(axes)
    return figure


def stacked(title, ylabel, groups, parts, published=()):
    """parts: (label, [value for each group]), from below; published: total of each group or None."""
    figure, axes = plt.subplots()
    bottom = [0.0] * len(groups)
    for i, (label, values) in enumerate(parts):
        axes.bar(range(len(groups)), values, 0.55, bottom=bottom, label=label, color=COLOURS[i % len(COLOURS)],
                 hatch=("", "//", "..", "xx")[i % 4], edgecolor="white")
        bottom = [b + v for b, v in zip(bottom, values)]
    marks = [(i, p) for i, p in enumerate(published) if p is not None]
    if marks:
        axes.plot(*zip(*marks), linestyle="none", marker="x", color="black", markersize=9, markeredgewidth=2, label="published")
    axes.set_xticks(range(len(groups)), groups)
    axes.set(title=title, ylabel=ylabel)
    axes.grid(axis="x", visible=False)
    legend(axes)
    return figure
