# SPDX-License-Identifier: Apache-2.0
"""The figures of one analysis. Each function gives a figure, or None when the logs have nothing for it."""

from __future__ import annotations

import collections
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from . import plot
from .plot import plt
from .tables import PARTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .tables import Analysis, Flow

FLOWS_MAX = 6  # lines in one figure; the flows with most bytes are first
BINS = 48
POINTS_MAX = 2000  # of a line over time; further bins of the series are put together


def plain(value: Any, _: int) -> str:
    return f"{value:g}"


def log_axis(axes: Any, values: list[float]) -> None:
    """Logarithmic when the values span more than a decade and a half."""
    low, high = min(values), max(values)
    if low > 0 and high > 30 * low:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(plain))


def below(axes: Any, columns: int = 3, lines: float = 4.0) -> None:
    """The legend, under the axes and so many lines of its text further down."""
    labels = axes.get_legend_handles_labels()[1]
    if labels:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=lines, ncols=min(columns, len(labels)))


def span(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def bin_seconds(columns: dict[str, list[float]]) -> float:
    times = columns["t_s"]
    return min((b - a for a, b in zip(times, times[1:])), default=1.0) if len(times) > 1 else 1.0


def cut_short(columns: dict[str, list[float]], step: float) -> Any:
    """Seconds of the last bin, if the end of the log leaves out more than a tenth of it; else None."""
    covered = columns["covered_s"][-1]
    return covered if len(columns["t_s"]) > 2 and covered < 0.9 * step else None


def drawable(columns: dict[str, list[float]]) -> dict[str, Any]:
    """Without a last bin that the end of the log cuts short; not too many; gaps are no lines."""
    n = len(columns["t_s"]) - (cut_short(columns, bin_seconds(columns)) is not None)
    table = numpy.array([columns[k][:n] for k in columns])
    together = -(-n // POINTS_MAX)
    if together > 1:
        whole = n // together * together
        table = table[:, :whole].reshape(len(table), -1, together).mean(axis=2)
    times = table[list(columns).index("t_s")]
    holes = numpy.flatnonzero(numpy.diff(times) > 1.5 * together * bin_seconds(columns)) + 1
    table = numpy.insert(table, holes, numpy.nan, axis=1)
    times = table[list(columns).index("t_s")]
    times[numpy.isnan(times)] = times[numpy.flatnonzero(numpy.isnan(times)) - 1]
    return dict(zip(columns, table))


def draw_bins(axes: Any, columns: dict[str, Any], values: Any, step: float, **look: Any) -> None:
    """Each bin as a level from its begin to its end."""
    width = columns["t_s"][1] - columns["t_s"][0] if len(values) > 1 else step
    axes.step(numpy.append(columns["t_s"], columns["t_s"][-1] + width), numpy.append(values, values[-1]), where="post", **look)


def goodput(analysis: Analysis) -> Figure | None:
    """Rates over time; below them losses and retransmissions of the same time."""
    paths = [(k, c) for k, c in analysis.series.items() if any(v > 0 for v in c["goodput_bps"])]
    busy = sorted(paths, key=lambda p: float(-sum(p[1]["goodput_bps"])))[:FLOWS_MAX]
    if not busy:
        return None
    figure, (top, low) = plt.subplots(2, 1, sharex=True, figsize=(7.2, 5.2), height_ratios=(3, 1.3))
    step: Any = bin_seconds(busy[0][1])
    cut = [seconds for _, c in busy if (seconds := cut_short(c, step)) is not None]
    busy = [(f"{originator} → {peer or '?'}", drawable(c)) for (originator, peer), c in busy]
    for i, (name, c) in enumerate(busy):
        draw_bins(top, c, c["goodput_bps"] / 1e6, step, label=f"{name} goodput", **plot.line(2 * i))
    name, c = busy[0]
    if numpy.nanmax(c["sent_bps"]) > 0:
        draw_bins(top, c, c["sent_bps"] / 1e6, step, label=f"{name} data sent", color=plot.GREY, linewidth=1, linestyle=(0, (1, 1)))
        draw_bins(top, c, c["resent_bps"] / 1e6, step, label=f"{name} sent again", color=plot.ORANGE, linewidth=1.2,
                  linestyle=(0, (5, 2)))
    if analysis.summary.get("efficiency") is not None:
        capacity, efficiency = analysis.summary["capacity_bps"] / 1e6, 100 * analysis.summary["efficiency"]
        top.axhline(capacity, color=plot.BLACK, linewidth=1, linestyle=(0, (6, 2, 1.5, 2)),
                    label=f"capacity {capacity:.4g} Mbit/s, used {efficiency:.3g} %")
    for name, label, colour, dash in (("dropped", "segments in the drop log", plot.BLACK, "-"),
                                      ("rto_checkpoint", "checkpoint timers run out", plot.PURPLE, (0, (5, 2)))):
        if numpy.nanmax(c[name]) > 0:
            draw_bins(low, c, c[name] / step, step, label=label, color=colour, linewidth=1.2, linestyle=dash)
    if not low.lines:
        draw_bins(low, c, c["sessions"] / step, step, label="sessions completed", color=plot.BLUE)
    left_out = f"; the last {span(max(cut))}, not a whole bin, left out" if cut else ""
    top.set(title=f"Goodput in each {span(step)}{left_out}", ylabel="Mbit/s", ylim=(0, None))
    highs = [numpy.nanmax(line.get_ydata()) for line in low.lines]
    if max(highs) > 10 * min(highs):
        low.set_yscale("symlog", linthresh=10, linscale=0.5)
        low.yaxis.set_major_formatter(FuncFormatter(plain))
    low.set(xlabel="time (s)", ylabel="per second", ylim=(0, None))
    below(top, lines=0.6)
    below(low)
    return figure


def cdf(analysis: Analysis, quantity: str, title: str) -> Figure | None:
    flows = [f for f in analysis.flows if any(ms > 0 for ms, _ in f.cdf.get(quantity, ()))][:FLOWS_MAX]
    if not flows:  # nor when none has any length: green sessions of one segment
        return None
    figure, axes = plt.subplots()
    every = []
    for i, f in enumerate(flows):
        points = f.cdf[quantity]
        x, y = [points[0][0]] + [p[0] for p in points], [0.0] + [p[1] for p in points]
        s = f.summary["session_ms" if quantity == "session" else "delivery_ms"]
        label = f"{f.name}: median {s['p50']:.4g} ms, 99 % within {s['p99']:.4g} ms" if s else f.name
        axes.plot(x, y, drawstyle="steps-post", label=label, **plot.line(i))
        if s:
            for share, at in ((0.5, "p50"), (0.99, "p99")):
                axes.plot([s[at]], [share], marker=plot.MARKS[i], markersize=5, color=plot.colour(i), clip_on=False)
        every += x
    log_axis(axes, every)
    axes.set(title=title, xlabel=f"{title.lower()} (ms)", ylabel="share of sessions", ylim=(0, 1.02))
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    below(axes, 1)
    return figure


def edges_of(values: list[float]) -> tuple[list[float], bool]:
    """Bins that suit the spread: even ones, or even ones of the logarithm."""
    low, high = min(values), max(values)
    if low > 0 and high > 30 * low:
        step = (math.log(high) - math.log(low)) / BINS
        return [low * math.exp(step * i) for i in range(BINS)] + [high], True
    if high - low < 0.1 * high:  # a range of rounding errors: it is not enlarged
        low, high = 0.95 * low, 1.05 * high
    return [low + (high - low) * i / BINS for i in range(BINS)] + [high], False


def place(value: float, edges: list[float]) -> int:
    low, high = 0, len(edges) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value >= edges[middle] else (low, middle)
    return low


def decomposition(flow: Flow) -> Figure | None:
    """How many sessions took how long, and what that time consisted of in the mean of each bin."""
    names = [k for k, _ in PARTS]
    duration, *parts = flow.done("duration_ms", *names) if "duration_ms" in flow.columns else [[]]
    if len(duration) < 2 or not any(map(any, parts[1:3])):
        return None  # there is nothing beside the ideal session
    edges, log = edges_of(duration)
    counts, sums = [0] * (len(edges) - 1), [[0.0] * (len(edges) - 1) for _ in names]
    for i, value in enumerate(duration):
        at = place(value, edges)
        counts[at] += 1
        for s, p in zip(sums, parts):
            s[at] += p[i]
    figure, (top, low) = plt.subplots(2, 1, sharex=True, figsize=(7.2, 5.6), height_ratios=(1, 1.5))
    widths = [b - a for a, b in zip(edges, edges[1:])]
    top.bar(edges[:-1], counts, widths, align="edge", color=plot.GREY, edgecolor="white", linewidth=0.4)
    top.set(title=f"Session times and what they consist of: {flow.name}", ylabel="sessions", yscale="log", ylim=(0.7, None))
    top.yaxis.set_major_formatter(FuncFormatter(plain))
    up, down = [0.0] * len(counts), [0.0] * len(counts)
    for k, ((_, label), s) in enumerate(zip(PARTS, sums)):
        means = [v / c if c else 0 for v, c in zip(s, counts)]
        bottoms = [(u if m >= 0 else d) for m, u, d in zip(means, up, down)]
        overall = sum(parts[k]) / len(duration)
        low.bar(edges[:-1], means, widths, bottom=bottoms, align="edge", label=f"{label} (mean {overall:.3g} ms)",
                color=plot.colour((0, 1, 3, 4)[k]), hatch=plot.HATCHES[k], edgecolor="white", linewidth=0.2)
        up = [u + max(m, 0) for u, m in zip(up, means)]
        down = [d + min(m, 0) for d, m in zip(down, means)]
    low.axhline(0, color="#333333", linewidth=0.8)
    if log:
        low.set_xscale("log")
        low.xaxis.set_major_formatter(FuncFormatter(plain))
    low.set(xlabel="session time (ms)", ylabel="mean of the bin (ms)")
    below(low, 2)
    return figure


def distribution(analysis: Analysis, column: str, title: str, xlabel: str) -> Figure | None:
    """Shares of the sessions with 0, 1, 2 … of something; the flows beside each other."""
    series = []
    for f in analysis.flows:
        values = f.done(column)[0] if column in f.columns else []
        if values:
            series.append((f, Counter(int(v) for v in values), len(values), sum(values) / len(values)))
    series = [s for s in series if max(s[1]) > 0][:FLOWS_MAX] or series[:1]
    if not series:
        return None
    top = max(max(c) for _, c, _, _ in series)
    last = min(top, 12)
    figure, axes = plt.subplots()
    width = 0.8 / len(series)
    for i, (f, counts, n, mean) in enumerate(series):
        shares = [counts[k] / n for k in range(last)] + [sum(c for k, c in counts.items() if k >= last) / n]
        x = [k + (i - (len(series) - 1) / 2) * width for k in range(last + 1)]
        bars = axes.bar(x, shares, width * 0.94, label=f"{f.name}: mean {mean:.3g}, most {max(counts)}", color=plot.colour(i),
                        hatch=plot.HATCHES[i % 4], edgecolor="white")
        if len(series) == 1:
            axes.bar_label(bars, [f"{100 * s:.3g} %" if s else "" for s in shares], fontsize=8, padding=2)
    axes.set_xticks(range(last + 1), [str(k) for k in range(last)] + [f"{last}+" if top > last else str(last)])
    axes.set(title=title, xlabel=xlabel, ylabel="share of sessions")
    axes.margins(y=0.12)
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.grid(axis="x", visible=False)
    below(axes, 1)
    return figure


def kinds(flow: Flow) -> collections.Counter[Any]:
    """What each session of the flow ended as: one word each."""
    words: Any = Counter()
    for outcome, lossy, lost in zip(*(flow.columns[k] for k in ("outcome", "lossy", "cp_lost"))):
        if outcome.startswith("cancelled"):
            words["cancelled"] += 1
        elif outcome != "done":
            words[outcome] += 1
        elif math.isnan(lossy):
            words["completed, losses not known"] += 1
        elif not lossy:
            words["without losses"] += 1
        else:
            words["checkpoints lost" if lost > 0 else "data lost"] += 1
    result: collections.Counter[Any] = words
    return result


KINDS = ("without losses", "data lost", "checkpoints lost", "completed, losses not known", "cancelled", "lost", "unfinished")


def losses(analysis: Analysis) -> Figure | None:
    """Of each flow which share of the sessions had losses or failed."""
    flows = [f for f in analysis.flows if len(f)][:FLOWS_MAX]
    if not flows:
        return None
    tables = [kinds(f) for f in flows]
    figure, axes = plt.subplots(figsize=(7.2, 1.7 + 0.55 * len(flows)))
    left = [0.0] * len(flows)
    looks = {"without losses": (plot.SKY, ""), "data lost": (plot.BLUE, "//"), "checkpoints lost": (plot.PURPLE, "xx"),
             "completed, losses not known": (plot.GREY, ".."), "cancelled": (plot.ORANGE, "++"), "lost": (plot.YELLOW, "\\\\"),
             "unfinished": (plot.BLACK, "..")}
    for kind in KINDS:
        shares = [t[kind] / len(f) for t, f in zip(tables, flows)]
        if not any(shares):
            continue
        colour, hatch = looks[kind]
        bars = axes.barh(range(len(flows)), shares, 0.6, left=left, label=kind, color=colour, hatch=hatch, edgecolor="white")
        axes.bar_label(bars, [f"{100 * s:.3g} %" if s > 0.06 else "" for s in shares], label_type="center", fontsize=8.5,
                       bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.85})
        left = [a + s for a, s in zip(left, shares)]
    axes.set_yticks(range(len(flows)), [f"{f.name}\n{len(f)} sessions" for f in flows])
    axes.invert_yaxis()
    axes.set(title="Sessions with losses", xlim=(0, 1))
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.grid(axis="y", visible=False)
    below(axes, 4)
    return figure


def over_time(flow: Flow) -> Figure | None:
    """Each session as a point: when it began, how long it took."""
    if "t_first_tx_ns" not in flow.columns:
        return None
    start, duration, lost, lossy = flow.done("t_first_tx_ns", "duration_ms", "cp_lost", "lossy")
    if len(start) < 2 or max(duration) <= 0:
        return None  # sessions of one segment have no length
    figure, axes = plt.subplots()
    begin = min(start)
    kinds: list[tuple[str, str, str, Callable[[Any, Any], Any]]] = [
        ("without losses", plot.SKY, "o", lambda c, n: not n and not c), ("data lost", plot.BLUE, "^", lambda c, n: n and not c),
        ("checkpoints lost", plot.ORANGE, "X", lambda c, n: c > 0)]
    for label, colour, mark, wanted in kinds:
        points = [((t - begin) / 1e9, d) for t, d, c, n in zip(start, duration, lost, lossy) if wanted(c, n)]
        if points:
            axes.scatter(*zip(*points), s=16, marker=mark, color=colour, linewidths=0, alpha=0.75,
                         label=f"{label}: {len(points)}", rasterized=len(points) > 2000)
    if max(duration) > 30 * min(duration):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(plain))
    else:
        axes.set_ylim(0, 1.08 * max(duration))
    axes.set(title=f"Sessions: {flow.name}", xlabel="first segment sent (s)", ylabel="session time (ms)")
    axes.xaxis.set_major_locator(MaxNLocator(10))
    below(axes)
    return figure


def figures(analysis: Analysis) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """(name, caption, function) of each; names are those of the files."""
    yield "goodput", "Payload of completed blocks in each bin of time", lambda: goodput(analysis)
    yield "session-cdf", "Share of the sessions that took no longer", lambda: cdf(analysis, "session", "Session time")
    yield "delivery-cdf", "From the first segment sent to the last one that was new", lambda: cdf(
        analysis, "delivery", "Delivery time")
    for i, f in enumerate(analysis.flows[:FLOWS_MAX]):
        tail = "" if i == 0 else f"-{i + 1}"
        yield "decomposition" + tail, "Mean parts of the sessions in each bin of session time", lambda f=f: decomposition(f)
        yield "sessions" + tail, "Each completed session: when it began, how long it took", lambda f=f: over_time(f)
    yield "cycles", "Checkpoints whose report had data sent again, per session", lambda: distribution(
        analysis, "retx_cycles", "Retransmission cycles", "cycles of a session")
    yield "checkpoints", "Checkpoints lost per session", lambda: distribution(
        analysis, "cp_lost", "Lost checkpoints", "lost checkpoints of a session")
    yield "losses", "What became of the sessions", lambda: losses(analysis)


def draw(analysis: Analysis, folder: str | None = None) -> list[tuple[str, str, str]]:
    """[(name, caption, text of the SVG)]; files, too, when there is a folder for them."""
    done = []
    for name, caption, make in figures(analysis):
        figure = make()
        if figure is not None:
            done.append((name, caption, plot.save(figure, folder, name) if folder else plot.inline(plot.drawn(figure))))
    return done
