# SPDX-License-Identifier: Apache-2.0
"""The report of a campaign: a page without references to anything outside, figures as PNG and SVG, tables as CSV."""

from __future__ import annotations

import datetime
import functools
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import jinja2

from .. import statistics
from . import (
    data,
    delays as campaign_delays,
    equal,
    export,
    figures,
    file,
    pairs as campaign_pairs,
    paper as campaign_paper,
    run as campaign_run,
    sle_report,
)

COMPARED = (("goodput", "goodput"), ("session", "session_mean"), ("delivery", "delivery_mean"))


def shown(row: data.Row, metric: str) -> str:
    mean, half = row.metrics[metric]
    if mean is None:
        return "–"
    digits = 0 if abs(mean) >= 1000 else 1 if abs(mean) >= 10 else 3
    mark = "*" if data.above(metric, mean) else ""
    if row.coarse(metric):
        step = mean * row.grain()
        return f"{mean:.{digits}f}{mark} (steps of {step:.{max(digits, 1)}f})"
    return f"{mean:.{digits}f}{mark}" + (f" ± {half:.{digits}f}" if half else "")


def coarse_words(table: list[data.Row]) -> str | None:
    """What is said where runs are too short for their bundles; nothing where none is."""
    steps: Any = [row.grain() for row in table if any(row.coarse(name) for name in data.COUNTED if name in row.metrics)]
    if not steps:
        return None
    return (f"Goodput, or a share of it, of {len(steps)} of {len(table)} settings differs between repetitions by less than one bundle, or is computed once because nothing is random. One bundle is up to {100 * max(steps):.2g} % of "
            "it: what is below such a step is quantisation, and no interval is shown. Longer runs or smaller bundles make the steps smaller.")


def pair_shown(one: dict[str, Any]) -> str:
    """A difference with its intervals; where they are less than a bundle, the step."""
    if one["percent"] is None:
        return "–"
    if one.get("coarse"):
        return f"{one['percent']:+.2f} (steps of {one['step']:.2g})"
    return f"{one['percent']:+.2f}" + (f" ± {one['ci95']:.2f} ({one['ci95_all']:.2f})" if one["ci95"] is not None else "")


def above_words(table: list[data.Row]) -> str | None:
    """What is said where a share of the channel's capacity is above 100 %; nothing where none is."""
    return f"* {data.ABOVE}" if any(data.above(name, mean) for row in table for name, (mean, _) in row.metrics.items()) else None


def compared(campaign: file.Campaign, tables: list[list[data.Row]], others: Sequence[str]) -> list[dict[str, Any]]:
    """For each setting that both have: how far the other folder's goodput and mean session time are from ours."""
    found = []
    for other in others:
        with_mode = dict(enumerate(file.MODES))
        for mode in with_mode.values():
            try:
                there = file.load(campaign.path, mode)
            except file.CampaignError:
                continue  # some keys are of another mode
            for e, mine in zip(there.experiments, tables):
                for row, base in zip(data.rows(e, other), mine):
                    if row.repetitions and base.repetitions:
                        found.append(difference(e, mode, base, row))
    return found


def percents(metric: str, base: Any, row: data.Row) -> list[float]:
    """How far the same realisation is from ours there, of each repetition that both have."""
    value = data.METRICS[metric][2]
    both = [(value(base.results[n], base.values), value(row.results[n], row.values)) for n in sorted(set(base.results) & set(row.results))]
    return [100 * (there / here - 1) for here, there in both if here and there is not None]


def difference(experiment: file.Experiment, mode: str, base: data.Row, row: data.Row) -> dict[str, Any]:
    """Of one setting: the paired differences, and a test of each; whether they differ is known when all are tested."""
    found = {"experiment": experiment.name, "setting": data.settings(row.values, experiment), "mode": mode, "faithful": row.faithful,
             "reasons": row.reasons, "pairs": len(set(base.results) & set(row.results))}
    for name, metric in COMPARED:
        mean, half, p = statistics.paired(percents(metric, base, row))
        found.update({f"{name}_percent": mean, f"{name}_ci95": half, f"{name}_p": p})
    return found


def judge(differences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds p as adjusted for all tests that were made (Holm), and what follows; nothing follows from one pair."""
    for name, _ in COMPARED:
        for one, p in zip(differences, statistics.holm([d[f"{name}_p"] for d in differences])):
            one[f"{name}_p_adjusted"] = p
            one[f"{name}_differs"] = None if p is None else p < 0.05
    return differences


def over_all(differences: list[dict[str, Any]]) -> list[dict[str, float | str]]:
    """Of each other mode, over all settings: a setting is a pair then. Without it a campaign of one repetition has no test."""
    found = []
    for mode in dict.fromkeys(d["mode"] for d in differences):
        for name, metric in COMPARED:
            values: list[float] = [d[f"{name}_percent"] for d in differences if d["mode"] == mode and d[f"{name}_percent"] is not None]
            mean, half, p = statistics.paired(values)
            if mean is not None:
                found.append({"mode": mode, "metric": metric, "settings": len(values), "percent": mean, "ci95": half, "p": p,
                              "median_percent": sorted(abs(v) for v in values)[len(values) // 2], "most_percent": max(abs(v) for v in values)})
    return found


def fixed(campaign: file.Campaign, experiment: file.Experiment) -> dict[str, Any]:
    """What holds in all runs of an experiment, as (name, value), and what its traces, or its lab, are."""
    runs = experiment.runs
    same = [(name, value) for name, value in runs[0].values.items() if name not in experiment.sweep and all(run.values.get(name) == value for run in runs)]
    files = {os.path.basename(run.lab) if run.lab else run.values["trace"]: run.digest for run in runs if run.digest}
    return {"values": same, "files": [(name, digest[:16]) for name, digest in files.items()], "what": "Lab" if runs[0].lab else "Trace"}


def other_systems(campaign: file.Campaign, experiment: file.Experiment) -> list[Any]:
    """What stacks beside ours an experiment has: (name, title)."""
    found = {run.system.name: run.system.title for run in experiment.runs if run.system}
    return [(name, title) for name, title in found.items() if campaign.systems.get(name)]


def page(campaign: file.Campaign, sections: list[dict[str, Any]], paper: Any, differences: list[Any], about: dict[str, Any]) -> str:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.dirname(os.path.abspath(__file__))),
                                     autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.get_template("report.html.j2")
    return template.render(campaign=campaign, sections=sections, paper=paper, differences=differences, about=about, few=few_words(campaign), pair_metrics=campaign_pairs.COMPARED, pair_shown=pair_shown,
                           metrics=data.KINDS[campaign.kind], shown=shown, over_all=over_all(differences), settings=data.settings)


def repeated(experiment: file.Experiment, table: list[data.Row]) -> list[str]:
    """How the repetitions of the settings differ, a sentence for each kind."""
    kinds: dict[str, Any] = {}
    for row in table:
        if row.repeated:
            kinds.setdefault(row.repeated, []).append(row.values.get("trace", "the lab"))
    return [f"Repetitions of {', '.join(dict.fromkeys(map(str, names)))}: {text}." for text, names in kinds.items()]


def trace_seeds(table: list[data.Row]) -> list[str]:
    """Of each trace the seeds of its repetitions, as a sentence."""
    found: dict[str, Any] = {}
    for row in table:
        for n, result in sorted(row.results.items()):
            for key, seed in (result.get("trace_seeds") or {}).items():
                name = f"{row.values[key]}{' (way back)' if key == 'return-trace' else ''}" if key in ("trace", "return-trace") and key in row.values else key
                found.setdefault(name, {})[n] = seed
    return [f"Seeds of {name}: {', '.join(str(seed) for _, seed in sorted(seeds.items()))}." for name, seeds in found.items()]


def few_words(campaign: file.Campaign) -> str | None:
    """What is said of intervals over a few repetitions."""
    if not 1 < campaign.repetitions < 5:
        return None
    return (f"{campaign.repetitions} repetitions know little of their own deviation: Student's factor is {statistics.quantile(campaign.repetitions - 1):.3g} where five "
            f"repetitions have {statistics.quantile(4):.3g}. Five are advised where intervals matter.")


def paired(campaign: file.Campaign, tables: list[list[data.Row]], folder: str) -> dict[str, list[dict[str, Any]]]:
    """Differences between the settings of each experiment, judged all together; and a file for each experiment."""
    if campaign.kind != "ltp":
        return {}
    found = {e.name: campaign_pairs.compared(e, table) for e, table in zip(campaign.experiments, tables)}
    campaign_pairs.judge([entry for entries in found.values() for entry in entries])
    for e in campaign.experiments:
        if found[e.name]:
            campaign_pairs.write_csv(os.path.join(folder, e.name + "-differences.csv"), e, found[e.name])
    return found


def read_about(path: str) -> dict[str, Any]:
    """What a run's folder says of itself; nothing when that is missing or not whole: the results count without it."""
    try:
        with open(path, encoding="utf-8") as f:
            info = json.load(f)
    except (OSError, ValueError):
        return {}
    return info if isinstance(info, dict) else {}


def about_runs(campaign: file.Campaign, out: str) -> dict[str, Any]:
    """Machine and versions of the first run that is there, and how many there are."""
    runs = campaign.runs()
    done = [run for run in runs if campaign_run.result_of(out, run) is not None]
    info = {}
    if done:
        info = read_about(os.path.join(out, "runs", done[0].folder, "run.json"))
    return {"done": len(done), "all": len(runs), "machine": info.get("machine", {}), "versions": info.get("versions", {}), "commit": info.get("commit"),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}


def delays(experiment: file.Experiment, table: list[data.Row], folder: str) -> list[list[float | str | None]]:
    """Rows of the delay hop by hop, and their file; none without bundles' logs."""
    found = campaign_delays.rows(experiment, table)
    if found:
        campaign_delays.write(os.path.join(folder, experiment.name + "-delays.csv"), experiment, found)
    return found


def tell_figure(tell: Callable[[str], None], part: str, figure: str) -> None:
    tell(f"{part}, figure {figure}")


def make(campaign: file.Campaign, out: str, against: Sequence[Any] = (), tell: Callable[[str], None] = lambda text: None) -> str:
    """The page's path. tell: gets what is being drawn."""
    folder = os.path.join(out, "report")
    os.makedirs(folder, exist_ok=True)
    tables = [data.rows(e, out) for e in campaign.experiments]
    sections, pairs = [], paired(campaign, tables, folder)
    for number, (e, table) in enumerate(zip(campaign.experiments, tables), 1):
        tell_each = functools.partial(tell_figure, tell, f"experiment {number} of {len(tables)}")
        data.write_csv(os.path.join(folder, e.name + ".csv"), e, table)
        sections.append({"experiment": e, "table": table, "figures": figures.figures(campaign, e, table, folder, tell_each), "repeated": repeated(e, table),
                         "fixed": fixed(campaign, e), "metrics": data.known(table, data.KINDS[campaign.kind]), "others": other_systems(campaign, e),
                         "delays": delays(e, table, folder), "pairs": pairs.get(e.name), "seeds": trace_seeds(table), "equal": equal.words(e, table), "coarse": coarse_words(table), "above": above_words(table)})
    paper = None
    named = dict(zip((e.name for e in campaign.experiments), tables))
    if campaign.kind == "sle" or campaign.report == "paper":
        tell("published figures")
    if campaign.kind == "sle":
        paper = sle_report.make(named, folder, campaign.mode)
    elif campaign.report == "paper":
        paper = campaign_paper.make(named, folder)
    if paper:
        campaign_run.write_json(os.path.join(folder, "published.json"), paper["rows"])
    differences = judge(compared(campaign, tables, against))
    if differences:
        campaign_run.write_json(os.path.join(folder, "comparison.json"), differences)
        campaign_run.write_json(os.path.join(folder, "comparison-all.json"), over_all(differences))
    tell("the page")
    export.write(os.path.join(folder, "report.ipynb"), export.notebook(campaign))
    path = os.path.join(folder, "index.html")
    with open(path, "w", encoding="utf-8") as f:
        f.write(page(campaign, sections, paper, differences, about_runs(campaign, out)))
    return path
