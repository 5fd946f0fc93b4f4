# SPDX-License-Identifier: Apache-2.0
"""The results of a campaign as rows: one for each setting, averaged over its repetitions."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import statistics, units
from . import run as campaign_run, sim, sle, traces

if TYPE_CHECKING:
    from .file import Experiment

# name -> (title, unit, from a result and its run's values)
METRICS: dict[str, tuple[str, str, Callable[[Any, Any], Any]]] = {
    "goodput": ("goodput", "Mbit/s", lambda r, v: r["goodput_bps"] / 1e6),
    "efficiency": ("channel efficiency", "%", lambda r, v: 100 * r["efficiency"] if r["efficiency"] is not None else None),
    "carried_share": ("carried, by the time of sending, of the channel's capacity (rate × payload share × good share)", "%",
                      lambda r, v: 100 * r["carried_share"] if r.get("carried_share") is not None else None),
    "paper_ratio": ("goodput / (rate × good share)", "%",
                    lambda r, v: 100 * r["goodput_bps"] / (units.rate(v["rate"]) * r["good_share"]) if r["good_share"] else None),
    "sessions_100s": ("sessions completed in 100 s", "", lambda r, v: r["sessions"] * 100 / _seconds(r, v) if r["sessions"] is not None else None),
    "session_mean": ("mean session time", "ms", lambda r, v: _of(r, "session_ms", "mean")),
    "session_p99": ("99th percentile of the session time", "ms", lambda r, v: _of(r, "session_ms", "p99")),
    "delivery_mean": ("mean delivery delay", "ms", lambda r, v: _of(r, "delivery_ms", "mean")),
    "delivery_p99": ("99th percentile of the delivery delay", "ms", lambda r, v: _of(r, "delivery_ms", "p99")),
    "lossy": ("sessions with losses", "%", lambda r, v: 100 * r["lossy_share"] if r["lossy_share"] is not None else None),
    "cycles": ("retransmission cycles a session", "", lambda r, v: r["retx_cycles_mean"]),
    "cp_lost": ("checkpoints lost a session", "", lambda r, v: r["checkpoints_lost_mean"]),
    "cpu": ("processor time of the nodes a gigabit", "s", lambda r, v: r.get("cpu_s_per_gigabit")),
    "cancelled": ("sessions cancelled", "", lambda r, v: r["cancelled"]),
}

COUNTED = ("goodput", "efficiency", "paper_ratio", "sessions_100s")  # in whole bundles

SHARES = ("efficiency", "carried_share", "paper_ratio")  # of the channel's capacity, %
ABOVE_SHORT = "blocks sent in part before the warm-up's end count in full"
ABOVE = ("Above 100 %: goodput counts a block when it is complete. Blocks that were sent in part before the end of the warm-up count in full, and blocks under way at the end do "
         "not count, so the efficiency varies by some blocks around its mean; with independent erasures (iid) the loss also differs from its mean. Longer runs make both smaller. "
         "The share by the time of sending (carried_share) leaves the first effect out.")

KINDS: dict[str, dict[str, Any]] = {"ltp": METRICS, "sle": sle.METRICS}
ALL = {**sle.METRICS, **METRICS}  # those of one name are alike


def above(name: str, mean: float | None) -> bool:
    """Is a share, as it is shown, more than all?"""
    return name in SHARES and mean is not None and round(mean, 1) > 100


def _seconds(result: dict[str, Any], values: dict[str, Any]) -> float:
    found: float = result["seconds"] if "seconds" in result else units.duration(values["duration"])
    return found


def _of(result: dict[str, Any], group: str, name: str) -> float | None:
    return result[group][name] if result.get(group) else None


@dataclasses.dataclass
class Row:
    """One setting: the mean and the 95 % confidence interval of each metric."""
    values: Any
    metrics: dict[str, Any]     # name -> (mean, half width or None)
    repetitions: int
    missing: int      # runs that are not done
    reasons: list[Any]     # why runs were not faithful
    count: int = 0    # unfaithful ones
    repeated: str = ""  # parameters that make repetitions different, if there are several
    results: dict[str, Any] = dataclasses.field(default_factory=dict)  # repetition -> result
    constant: bool = False  # nothing in it is random: computed once

    def mean(self, name: str) -> float | None:
        return self.metrics[name][0] if self.repetitions else None

    def half(self, name: str) -> float | None:
        """None: there is no interval."""
        return self.metrics[name][1] if self.repetitions else None

    def grain(self) -> float | None:
        """The share of the goodput of one bundle: metrics that count whole bundles change in such steps. None for labs, which define their own traffic, and without arrivals."""
        mean = self.mean("goodput") if "goodput" in self.metrics else None
        if not mean or not {"bundle", "duration", "delay"} <= set(self.values):
            return None
        seconds = units.duration(self.values["duration"]) - sim.warmup_of(self.values)
        return 8 * units.size(self.values["bundle"]) / (mean * 1e6 * seconds)

    def coarse(self, name: str) -> bool:
        """Is the interval of a metric that counts whole bundles less than a step, or is there none because nothing is random? Then it reflects the steps, not the link."""
        half, mean, step = self.half(name), self.mean(name), self.grain()
        if name not in COUNTED or mean is None or step is None:
            return False
        return self.constant if half is None else 2 * half < step * mean

    def shown_half(self, name: str) -> float | None:
        """Half of the interval for tables and figures: None also where it is less than a step."""
        return None if self.coarse(name) else self.half(name)

    @property
    def faithful(self) -> bool:
        return self.count == 0

    @property
    def short(self) -> str | None:
        """What is said of runs that are too short for their warm-up; None of others."""
        return sim.warmup_cut(self.values)

    @property
    def weak(self) -> list[str]:
        """Why the figures are not those of the link in its steady state."""
        return [*self.reasons, *([self.short] if self.short else [])]


def settings(values: dict[str, Any], experiment: Experiment) -> dict[str, Any]:
    return {name: values[name] for name in experiment.sweep}


def rows(experiment: Experiment, out: str) -> list[Row]:
    groups: dict[str, Any] = {}
    for run in experiment.runs:
        groups.setdefault(run.parameters, []).append(run)
    found = []
    for runs in groups.values():
        values = runs[0].values
        results = [campaign_run.result_of(out, run) for run in runs]
        done = [r for r in results if r is not None]
        bad = [r for r in done if not r["faithful"]]
        metrics = {name: statistics.interval([f(r, values) for r in done]) for name, (_, _, f) in KINDS[runs[0].kind].items()}
        apart, repeated = traces.independent(done, runs[0].mode) if len(done) > 1 else (True, "")
        if not apart:
            metrics = {name: (mean, None) for name, (mean, _) in metrics.items()}
        reasons = sorted({reason for r in bad for reason in r["reasons"]})
        keys, there = {run.key for run in runs}, {r["key"] for r in done}  # of runs without anything random all repetitions are one
        found.append(Row(values, metrics, len(there), len(keys) - len(there), reasons, len({r["key"] for r in bad}), repeated,
                         {run.repetition: r for run, r in zip(runs, results) if r is not None}, runs[0].constant))
    return found


def known(table: list[Row], metrics: Any) -> list[str]:
    """Those that a run has; all where none is done."""
    return [m for m in metrics if any(row.mean(m) is not None for row in table)] or list(metrics)


def pick(table: list[Row], **wanted: Any) -> Any:
    """The first row with these values; None when there is none with results."""
    for row in table:
        if row.repetitions and all(str(row.values.get(k.replace("_", "-"))) == str(v) for k, v in wanted.items()):
            return row
    return None


def write_csv(path: str, experiment: Experiment, table: list[Row]) -> None:
    names, metrics = list(experiment.sweep), KINDS[experiment.runs[0].kind]
    with open(path, "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow([*names, "repetitions", "unfaithful", *(c for m in metrics for c in (m, m + "_ci95"))])
        for row in table:
            cells = []
            for name in metrics:
                mean, half = row.metrics[name][0], row.shown_half(name)
                cells += ["" if mean is None else f"{mean:.6g}", "" if half is None else f"{half:.3g}"]
            w.writerow([*(row.values[n] for n in names), row.repetitions, row.count, *cells])
