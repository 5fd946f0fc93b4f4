# SPDX-License-Identifier: Apache-2.0
"""Differences between the settings of an experiment, repetition by repetition.

All settings meet the same fades in the same repetition (common random numbers), so that the difference of two of them is known far
better than either: its interval is that of the pairs' differences. There are many differences on a page; each has its interval alone,
one that holds for all of them at once, in all three figures (Bonferroni), and a p that is adjusted for their number (Holm).
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from .. import statistics
from . import data

if TYPE_CHECKING:
    from .file import Experiment

COMPARED = ("goodput", "session_mean", "delivery_p99")
KEPT = ("percent", "ci95", "ci95_all", "p_adjusted")  # of each, in the file
OTHER_FADES = ("trace", "loss", "return-trace", "trace-offset", "return-offset", "duration", "seed", "iid")  # last words of names: no pairs over these


def steps(name: str, values: list[int | str]) -> list[tuple[int | str, int | str]]:
    """What is compared with what: each number with the one below it, each word with the first."""
    numbers = all(isinstance(v, (int, float)) for v in values)
    ordered = sorted(values) if numbers else list(values)
    return [(ordered[i - 1] if numbers else ordered[0], ordered[i]) for i in range(1, len(ordered))]


def rows_by(experiment: Experiment, table: list[data.Row], name: str) -> Any:
    """What is swept beside the name -> {value of the name: row}."""
    found: Any = {}
    for row in table:
        others = tuple((n, row.values[n]) for n in experiment.sweep if n != name)
        found.setdefault(others, {})[row.values[name]] = row
    return found


def percents(metric: str, base: data.Row, row: data.Row) -> list[float]:
    """By how much the row is more than the base, in each repetition that both have; %."""
    value: Any = data.METRICS[metric][2]
    both = [(value(base.results[n], base.values), value(row.results[n], row.values)) for n in sorted(set(base.results) & set(row.results))]
    return [100 * (there / here - 1) for here, there in both if here and there is not None]


def steps_of(base: data.Row, row: data.Row, half: float | None) -> dict[str, float | bool]:
    """One bundle, in % of the goodput; is the interval of a difference less than that? Then it tells of whole bundles, not of the link."""
    grains = [grain for grain in (base.grain(), row.grain()) if grain is not None]
    return {"step": 100 * max(grains), "coarse": half is not None and 2 * half < 100 * max(grains)} if grains else {}


def compared(experiment: Experiment, table: list[data.Row]) -> list[dict[str, Any]]:
    """All differences between an experiment's settings that the repetitions show."""
    found = []
    for name, values in experiment.sweep.items():
        if name.rsplit(".", 1)[-1] in OTHER_FADES or len(values) < 2:
            continue
        for others, rows in rows_by(experiment, table, name).items():
            for one, other in steps(name, values):
                base, row = rows.get(one), rows.get(other)
                if base is None or row is None or base.half(COMPARED[0]) is None or row.half(COMPARED[0]) is None:
                    continue
                entry = {"experiment": experiment.name, "parameter": name, "from": one, "to": other, "others": dict(others)}
                for metric in COMPARED:
                    changes = percents(metric, base, row)
                    mean, half, p = statistics.paired(changes)
                    entry[metric] = {"pairs": len(changes), "percent": mean, "ci95": half, "p": p, **(steps_of(base, row, half) if metric in data.COUNTED else {})}
                found.append(entry)
    return found


def judge(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds p as Holm adjusts it for all tests of all metrics, and the half of the interval that holds for all of them at once."""
    tested = [e[metric] for e in entries for metric in COMPARED if e[metric]["p"] is not None]
    for one, p in zip(tested, statistics.holm([t["p"] for t in tested])):
        freedom = one["pairs"] - 1
        one["p_adjusted"] = p
        one["ci95_all"] = one["ci95"] / statistics.quantile(freedom) * statistics.two_sided(freedom, 0.05 / len(tested))
        one["differs"] = p is not None and p < 0.05
    return entries


def write_csv(path: str, experiment: Experiment, entries: list[dict[str, Any]]) -> None:
    names = list(experiment.sweep)
    with open(path, "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["parameter", "from", "to", *names, "pairs", *(f"{m}_{k}" for m in COMPARED for k in KEPT), "goodput_step"])
        for e in entries:
            cells = []
            for metric in COMPARED:
                one = e[metric]
                cells += ["" if one.get(k) is None else f"{one[k]:.4g}" for k in KEPT]
            step = e["goodput"].get("step")
            cells.append("" if step is None else f"{step:.4g}")
            w.writerow([e["parameter"], e["from"], e["to"], *(e["others"].get(n, "") for n in names), e[COMPARED[0]]["pairs"], *cells])
