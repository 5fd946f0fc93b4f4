# SPDX-License-Identifier: Apache-2.0
"""The general figures of a campaign: each result over the swept numbers, or as bars where nothing swept is a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..figures import plot
from . import data, export, names as campaign_names, sle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .file import Campaign, Experiment

PLOTS = {"ltp": ("goodput", "efficiency", "session_mean", "delivery_mean", "delivery_p99"), "sle": sle.PLOTS}


def swept(experiment: Experiment) -> list[str]:
    """Names with several values."""
    return [name for name, values in experiment.sweep.items() if len(values) > 1]


def axis(experiment: Experiment) -> str | None:
    """The swept parameter for the abscissa: the numeric one with most values, of equals the first; a trace only if it has more than all others."""
    numeric = [name for name in swept(experiment) if all(campaign_names.number(name, v)[0] is not None for v in experiment.sweep[name])]
    if not numeric:
        return None
    return max(numeric, key=lambda name: (len(experiment.sweep[name]), campaign_names.last(name) not in campaign_names.RATES))


def named(campaign: Campaign, experiment: Experiment, row: data.Row, names: list[str]) -> str:
    """A label of a row by its values of these names."""
    return ", ".join(campaign_names.of_value(campaign, experiment, n, row.values[n]) for n in names) or experiment.name


def series(campaign: Campaign, experiment: Experiment, table: list[data.Row], x: str,
           metric: str) -> list[tuple[str, list[tuple[float, float, float | None]], set[Any]]]:
    """Lines: one for each combination of what is swept beside x."""
    found: dict[str, Any] = {}
    others = [n for n in experiment.sweep if n != x]
    for row in table:
        points, hollow = found.setdefault(named(campaign, experiment, row, others), ([], set()))
        at = campaign_names.number(x, row.values[x])[0]
        if row.mean(metric) is not None:
            points.append((at, row.mean(metric), row.shown_half(metric)))
            if not row.faithful:
                hollow.add(at)
    return [(label, sorted(points, key=lambda p: p[:2]), hollow) for label, (points, hollow) in found.items()]


def lines(campaign: Campaign, experiment: Experiment, table: list[data.Row], x: str,
          metric: str) -> tuple[tuple[str, str, str, list[tuple[str, list[Any], set[Any]]]], bool]:
    """Arguments of plot.lines and of a picture for pgfplots."""
    xlog = plot.spans_decades(campaign_names.number(x, v)[0] for v in experiment.sweep[x])
    return (campaign_names.of_figure(campaign, experiment), campaign_names.of_axis(campaign, experiment, x), campaign_names.of_metric(campaign, metric),
            series(campaign, experiment, table, x, metric)), xlog


def bars(campaign: Campaign, experiment: Experiment, table: list[data.Row], metric: str) -> Figure:
    """A group for each value of the parameter with most values, a colour for each combination of the others."""
    names = swept(experiment) or list(experiment.sweep)
    across: Any = max(names, key=lambda name: len(experiment.sweep[name]), default=None)
    groups: dict[Any, Any] = {}
    colours: dict[str, Any] = {}
    for row in table:
        groups.setdefault(None if across is None else row.values[across], {})[named(campaign, experiment, row, [n for n in names if n != across])] = row
    for rows in groups.values():
        colours.update(dict.fromkeys(rows))
    drawn = []
    for label in colours:
        mine = [rows.get(label) for rows in groups.values()]
        drawn.append((label, [row and row.mean(metric) for row in mine], [row and row.shown_half(metric) for row in mine], [row is not None and not row.faithful for row in mine]))
    shown = [experiment.name if across is None else campaign.labels.get(f"{across} {value}", str(value)) for value in groups]
    return plot.bars(campaign_names.of_figure(campaign, experiment), campaign_names.of_metric(campaign, metric), shown, [one[:3] for one in drawn],
                     xlabel="" if across is None else campaign_names.of_axis(campaign, experiment, across), weak=[one[3] for one in drawn])


def figures(campaign: Campaign, experiment: Experiment, table: list[data.Row], folder: str, tell: Callable[[str], None]) -> Any:
    """The general figures of an experiment, as SVG texts with their names; for pgfplots beside them. tell: gets the name of each before it is drawn."""
    if not any(row.repetitions for row in table):
        return []  # no run of it is done
    x = axis(experiment)
    drawn, pictures = [], {}
    plots = data.known(table, PLOTS[experiment.runs[0].kind])
    for metric in plots:
        name = f"{experiment.name}-{metric}"
        tell(name)
        if x is None:
            figure = bars(campaign, experiment, table, metric)
        else:
            words, xlog = lines(campaign, experiment, table, x, metric)
            pictures[metric] = (*words, xlog)
            figure = plot.lines(*words, xlog=xlog)
        if any(data.above(metric, row.mean(metric)) for row in table):
            plot.remark(figure, f"above 100 %: {data.ABOVE_SHORT}")
        drawn.append({"name": name, "svg": plot.save(figure, folder, name), "title": campaign_names.of_metric(campaign, metric)})
    export.experiment_files(folder, experiment, table, pictures, plots)
    return drawn + sensitivity(campaign, experiment, table, folder, tell)


def swings(experiment: Experiment, table: list[data.Row], name: str, metric: str) -> list[float]:
    """The change of the metric, in percent of its mean, when only this parameter takes each of its values: for each combination of the others."""
    groups: Any = {}
    for row in table:
        if row.mean(metric) is not None:
            groups.setdefault(tuple(str(row.values[n]) for n in experiment.sweep if n != name), []).append(row.mean(metric))
    return [100 * (max(g) - min(g)) / (sum(g) / len(g)) for g in groups.values() if len(g) > 1 and sum(g) > 0]


def sensitivity(campaign: Campaign, experiment: Experiment, table: list[data.Row], folder: str, tell: Callable[[str], None]) -> Any:
    """Which parameter matters? Only where several are swept."""
    names = swept(experiment)
    if len(names) < 2:
        return []
    drawn = []
    for metric in PLOTS[experiment.runs[0].kind][:3:2]:
        found = [swings(experiment, table, n, metric) for n in names]
        if not all(found):
            continue
        order = sorted(range(len(names)), key=lambda i: -max(found[i]))
        name, title = f"{experiment.name}-sensitivity-{metric}", f"Sensitivity: {data.ALL[metric][0]}"
        tell(name)
        figure = plot.bars(title, "swing, % of the mean", [campaign_names.of_parameter(campaign, experiment, names[i]) for i in order],
                           [("mean over the other parameters", [sum(found[i]) / len(found[i]) for i in order], [None] * len(names)),
                            ("most", [max(found[i]) for i in order], [None] * len(names))], xlabel="swept alone")
        drawn.append({"name": name, "svg": plot.save(figure, folder, name), "title": title})
    return drawn
