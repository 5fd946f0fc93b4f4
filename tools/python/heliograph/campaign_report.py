# SPDX-License-Identifier: Apache-2.0
"""The report of a campaign: a page without references to anything outside, figures as PNG and SVG, tables as CSV."""
import datetime
import json
import os

import jinja2

from . import campaign_data, campaign_delays, campaign_export, campaign_file, campaign_pairs, campaign_paper, campaign_run, campaign_sle, campaign_sle_report, ltp_options, plot, statistics, units

COMPARED = (("goodput", "goodput"), ("session", "session_mean"), ("delivery", "delivery_mean"))
PLOTS = {"ltp": ("goodput", "efficiency", "session_mean", "delivery_mean", "delivery_p99"), "sle": campaign_sle.PLOTS}


def number(name, value):
    """A swept value on an axis; of a lab's key, links.1-2.rate, the last word says what it is."""
    name = name.rsplit(".", 1)[-1]
    if name in ("delay", "processing", "duration", "trace-offset", "rtt") or ltp_options.is_time(name):
        return None if value == "auto" else units.duration(value) * 1e3, "ms"
    if name in ("rate", "line", "source"):
        return units.rate(value) / 1e6 if value != "unlimited" else None, "Mbit/s"
    if name in ("bundle", "segment", "tcp-buffer"):
        return units.size(value) if value != "auto" else None, "bytes"
    try:
        return float(value), ""
    except (TypeError, ValueError):
        return None, ""


def axis(experiment):
    """The swept parameter for the abscissa: the numeric one with most values."""
    best = None
    for name, values in experiment.sweep.items():
        if len(values) > 1 and all(number(name, v)[0] is not None for v in values):
            if best is None or len(values) > len(experiment.sweep[best]):
                best = name
    return best


def series(experiment, table, x, metric):
    """Lines: one for each combination of what is swept beside x."""
    found = {}
    for row in table:
        label = ", ".join(f"{n} {row.values[n]}" if n != "trace" else str(row.values[n])
                          for n in experiment.sweep if n != x) or experiment.name
        points, hollow = found.setdefault(label, ([], set()))
        at = number(x, row.values[x])[0]
        if row.mean(metric) is not None:
            points.append((at, row.mean(metric), row.half(metric)))
            if not row.faithful:
                hollow.add(at)
    return [(label, sorted(points, key=lambda p: p[:2]), hollow) for label, (points, hollow) in found.items()]


def label(metric):
    title, unit, _ = campaign_data.ALL[metric]
    return f"{title} ({unit})" if unit else title


def figures(experiment, table, folder):
    """The general figures of an experiment, as SVG texts with their names; for pgfplots beside them."""
    x = axis(experiment)
    drawn, lines = [], {}
    plots = campaign_data.known(table, PLOTS[experiment.runs[0].kind])
    for metric in plots:
        name = f"{experiment.name}-{metric}"
        if x is not None:
            unit = number(x, experiment.sweep[x][0])[1]
            lines[metric] = label(metric), f"{x} ({unit})" if unit else x, label(metric), series(experiment, table, x, metric)
            figure = plot.lines(*lines[metric])
        else:
            groups = [" ".join(str(row.values[n]) for n in experiment.sweep) or experiment.name for row in table]
            figure = plot.bars(label(metric), label(metric), groups,
                               [(metric, [row.mean(metric) for row in table], [row.half(metric) for row in table])],
                               xlabel=", ".join(experiment.sweep), weak=[not row.faithful for row in table])
        drawn.append({"name": name, "svg": plot.save(figure, folder, name), "title": label(metric)})
    campaign_export.experiment_files(folder, experiment, table, lines, plots)
    return drawn + sensitivity(experiment, table, folder)


def swings(experiment, table, name, metric):
    """By how much the metric moves, in percent of its mean, when this parameter alone goes through its values: for each
    combination of the others."""
    groups = {}
    for row in table:
        if row.mean(metric) is not None:
            groups.setdefault(tuple(str(row.values[n]) for n in experiment.sweep if n != name), []).append(row.mean(metric))
    return [100 * (max(g) - min(g)) / (sum(g) / len(g)) for g in groups.values() if len(g) > 1 and sum(g) > 0]


def sensitivity(experiment, table, folder):
    """Which parameter matters? Only where several are swept."""
    names = [n for n, values in experiment.sweep.items() if len(values) > 1]
    if len(names) < 2:
        return []
    drawn = []
    for metric in PLOTS[experiment.runs[0].kind][:3:2]:
        found = [swings(experiment, table, n, metric) for n in names]
        if not all(found):
            continue
        order = sorted(range(len(names)), key=lambda i: -max(found[i]))
        title = f"Sensitivity: {campaign_data.ALL[metric][0]}"
        figure = plot.bars(title, "swing, % of the mean", [names[i] for i in order],
                           [("mean over the other parameters", [sum(found[i]) / len(found[i]) for i in order], [None] * len(names)),
                            ("most", [max(found[i]) for i in order], [None] * len(names))], xlabel="swept alone")
        name = f"{experiment.name}-sensitivity-{metric}"
        drawn.append({"name": name, "svg": plot.save(figure, folder, name), "title": title})
    return drawn


def shown(row, metric):
    mean, half = row.metrics[metric]
    if mean is None:
        return "–"
    digits = 0 if abs(mean) >= 1000 else 1 if abs(mean) >= 10 else 3
    if row.coarse(metric):
        step = mean * row.grain()
        return f"{mean:.{digits}f} (steps of {step:.{max(digits, 1)}f})"
    return f"{mean:.{digits}f}" + (f" ± {half:.{digits}f}" if half else "")


def coarse_words(table):
    """What is said where runs are too short for their bundles; nothing where none is."""
    steps = [row.grain() for row in table if row.coarse("goodput")]
    if not steps:
        return None
    return (f"Goodput of {len(steps)} of {len(table)} settings differs between repetitions by less than one bundle, which is up to {100 * max(steps):.2g} % of it: what is "
            "below such a step is quantisation, and no interval is shown. Longer runs or smaller bundles make the steps smaller.")


def compared(campaign, tables, others):
    """For each setting that both have: how far the other folder's goodput and mean session time are from ours."""
    found = []
    for other in others:
        with_mode = dict(enumerate(campaign_file.MODES))
        for mode in with_mode.values():
            try:
                there = campaign_file.load(campaign.path, mode)
            except campaign_file.CampaignError:
                continue  # some keys are of another mode
            for e, mine in zip(there.experiments, tables):
                for row, base in zip(campaign_data.rows(e, other), mine):
                    if row.repetitions and base.repetitions:
                        found.append(difference(e, mode, base, row))
    return found


def percents(metric, base, row):
    """How far the same realisation is from ours there, of each repetition that both have."""
    _, _, value = campaign_data.METRICS[metric]
    both = [(value(base.results[n], base.values), value(row.results[n], row.values)) for n in sorted(set(base.results) & set(row.results))]
    return [100 * (there / here - 1) for here, there in both if here and there is not None]


def difference(experiment, mode, base, row):
    """Of one setting: the paired differences, and a test of each; whether they differ is known when all are tested."""
    found = {"experiment": experiment.name, "setting": campaign_data.settings(row.values, experiment), "mode": mode, "faithful": row.faithful,
             "reasons": row.reasons, "pairs": len(set(base.results) & set(row.results))}
    for name, metric in COMPARED:
        mean, half, p = statistics.paired(percents(metric, base, row))
        found.update({f"{name}_percent": mean, f"{name}_ci95": half, f"{name}_p": p})
    return found


def judge(differences):
    """Adds p as adjusted for all tests that were made (Holm), and what follows; nothing follows from one pair."""
    for name, _ in COMPARED:
        for one, p in zip(differences, statistics.holm([d[f"{name}_p"] for d in differences])):
            one[f"{name}_p_adjusted"] = p
            one[f"{name}_differs"] = None if p is None else p < 0.05
    return differences


def over_all(differences):
    """Of each other mode, over all settings: a setting is a pair then. Without it a campaign of one repetition has no test."""
    found = []
    for mode in dict.fromkeys(d["mode"] for d in differences):
        for name, metric in COMPARED:
            values = [d[f"{name}_percent"] for d in differences if d["mode"] == mode and d[f"{name}_percent"] is not None]
            mean, half, p = statistics.paired(values)
            if mean is not None:
                found.append({"mode": mode, "metric": metric, "settings": len(values), "percent": mean, "ci95": half, "p": p,
                              "median_percent": sorted(map(abs, values))[len(values) // 2], "most_percent": max(map(abs, values))})
    return found


def fixed(campaign, experiment):
    """What holds in all runs of an experiment, as (name, value), and what its traces, or its lab, are."""
    runs = experiment.runs
    same = [(name, value) for name, value in runs[0].values.items() if name not in experiment.sweep]
    files = {os.path.basename(run.lab) if run.lab else run.values["trace"]: run.digest for run in runs if run.digest}
    return {"values": same, "files": [(name, digest[:16]) for name, digest in files.items()], "what": "Lab" if runs[0].lab else "Trace"}


def other_systems(campaign, experiment):
    """What stacks beside ours an experiment has: (name, title)."""
    found = {run.system.name: run.system.title for run in experiment.runs if run.system}
    return [(name, title) for name, title in found.items() if campaign.systems.get(name)]


def page(campaign, sections, paper, differences, about):
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.dirname(os.path.abspath(__file__))),
                                     autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.get_template("campaign_report.html.j2")
    return template.render(campaign=campaign, sections=sections, paper=paper, differences=differences, about=about, few=few_words(campaign), pair_metrics=campaign_pairs.COMPARED,
                           metrics=campaign_data.KINDS[campaign.kind], shown=shown, over_all=over_all(differences), settings=campaign_data.settings)


def repeated(experiment, table):
    """How the repetitions of the settings differ, a sentence for each kind."""
    kinds = {}
    for row in table:
        if row.repeated:
            kinds.setdefault(row.repeated, []).append(row.values.get("trace", "the lab"))
    return [f"Repetitions of {', '.join(dict.fromkeys(map(str, names)))}: {text}." for text, names in kinds.items()]


def trace_seeds(table):
    """Of each trace the seeds of its repetitions, as a sentence."""
    found = {}
    for row in table:
        for n, result in sorted(row.results.items()):
            for key, seed in (result.get("trace_seeds") or {}).items():
                name = f"{row.values[key]}{' (way back)' if key == 'return-trace' else ''}" if key in ("trace", "return-trace") and key in row.values else key
                found.setdefault(name, {})[n] = seed
    return [f"Seeds of {name}: {', '.join(str(seed) for _, seed in sorted(seeds.items()))}." for name, seeds in found.items()]


def few_words(campaign):
    """What is said of intervals over a few repetitions."""
    if not 1 < campaign.repetitions < 5:
        return None
    return (f"{campaign.repetitions} repetitions know little of their own deviation: Student's factor is {statistics.quantile(campaign.repetitions - 1):.3g} where five "
            f"repetitions have {statistics.quantile(4):.3g}. Five are advised where intervals matter.")


def paired(campaign, tables, folder):
    """Differences between the settings of each experiment, judged all together; and a file for each experiment."""
    if campaign.kind != "ltp":
        return {}
    found = {e.name: campaign_pairs.compared(e, table) for e, table in zip(campaign.experiments, tables)}
    campaign_pairs.judge([entry for entries in found.values() for entry in entries])
    for e in campaign.experiments:
        if found[e.name]:
            campaign_pairs.write_csv(os.path.join(folder, e.name + "-differences.csv"), e, found[e.name])
    return found


def read_about(path):
    """What a run's folder says of itself; nothing when that is missing or not whole: the results count without it."""
    try:
        with open(path, encoding="utf-8") as f:
            info = json.load(f)
    except (OSError, ValueError):
        return {}
    return info if isinstance(info, dict) else {}


def about_runs(campaign, out):
    """Machine and versions of the first run that is there, and how many there are."""
    runs = campaign.runs()
    done = [run for run in runs if campaign_run.result_of(out, run) is not None]
    info = {}
    if done:
        info = read_about(os.path.join(out, "runs", done[0].folder, "run.json"))
    return {"done": len(done), "all": len(runs), "machine": info.get("machine", {}), "versions": info.get("versions", {}), "commit": info.get("commit"),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")}


def delays(experiment, table, folder):
    """Rows of the delay hop by hop, and their file; none without bundles' logs."""
    found = campaign_delays.rows(experiment, table)
    if found:
        campaign_delays.write(os.path.join(folder, experiment.name + "-delays.csv"), experiment, found)
    return found


def make(campaign, out, against=()):
    folder = os.path.join(out, "report")
    os.makedirs(folder, exist_ok=True)
    tables = [campaign_data.rows(e, out) for e in campaign.experiments]
    sections, pairs = [], paired(campaign, tables, folder)
    for e, table in zip(campaign.experiments, tables):
        campaign_data.write_csv(os.path.join(folder, e.name + ".csv"), e, table)
        sections.append({"experiment": e, "table": table, "figures": figures(e, table, folder), "repeated": repeated(e, table),
                         "fixed": fixed(campaign, e), "metrics": campaign_data.known(table, campaign_data.KINDS[campaign.kind]), "others": other_systems(campaign, e),
                         "delays": delays(e, table, folder), "pairs": pairs.get(e.name), "seeds": trace_seeds(table), "coarse": coarse_words(table)})
    paper = None
    named = dict(zip((e.name for e in campaign.experiments), tables))
    if campaign.kind == "sle":
        paper = campaign_sle_report.make(named, folder, campaign.mode)
    elif campaign.report == "paper":
        paper = campaign_paper.make(named, folder)
    if paper:
        campaign_run.write_json(os.path.join(folder, "published.json"), paper["rows"])
    differences = judge(compared(campaign, tables, against))
    if differences:
        campaign_run.write_json(os.path.join(folder, "comparison.json"), differences)
        campaign_run.write_json(os.path.join(folder, "comparison-all.json"), over_all(differences))
    campaign_export.write(os.path.join(folder, "report.ipynb"), campaign_export.notebook(campaign))
    path = os.path.join(folder, "index.html")
    with open(path, "w", encoding="utf-8") as f:
        f.write(page(campaign, sections, paper, differences, about_runs(campaign, out)))
    return path
