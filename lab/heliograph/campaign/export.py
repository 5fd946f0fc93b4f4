# SPDX-License-Identifier: Apache-2.0
"""The figures of a campaign for a paper: pgfplots, a table with booktabs, and a notebook that reads the CSV files.

Numbers are those of the report; nothing is computed here.
"""

from __future__ import annotations

import decimal
import json
import os
import re
from typing import TYPE_CHECKING, Any

from . import data

if TYPE_CHECKING:
    from .file import Campaign, Experiment

SPECIAL = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
           "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "×": r"$\times$", "–": "--"}


def escape(text: float | str) -> str:
    return "".join(SPECIAL.get(c, c) for c in str(text))


def picture(title: str, xlabel: str, ylabel: str, lines: list[tuple[str, list[tuple[float, float, float | None]], set[int]]], xlog: bool = False) -> str:
    """A tikzpicture of (label, [(x, y, half or None)], hollow points) as the report's line figures have them."""
    out = ["% needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.18}", f"% {title}", "\\begin{tikzpicture}",
           f"\\begin{{axis}}[xlabel={{{escape(xlabel)}}}, ylabel={{{escape(ylabel)}}}, legend pos=outer north east, grid=major{', xmode=log' if xlog else ''}]"]
    for label, points, hollow in lines:
        known = [(x, y, half or 0.0) for x, y, half in points if x is not None]
        bars = "error bars/.cd, y dir=both, y explicit" if any(half for *_, half in known) else ""
        out.append(f"\\addplot+[{bars}] coordinates {{")
        out += [f"  ({x:.10g}, {y:.10g}) +- (0, {half:.6g}){' % not faithful' if x in hollow else ''}" for x, y, half in known]
        out += ["};", f"\\addlegendentry{{{escape(label)}}}"]
    return "\n".join([*out, "\\end{axis}", "\\end{tikzpicture}", ""])


def digits(value: float, count: int) -> str:
    """So many significant ones, without an exponent, which a text would show as 2.8e+02."""
    text = f"{value:.{count}g}"
    return f"{decimal.Decimal(text):f}" if "e" in text else text


def table(experiment: Experiment, rows: list[data.Row], metrics: list[str]) -> str:
    """A tabular of the settings and these metrics, mean ± half of the interval."""
    names = list(experiment.sweep)
    heads = [escape(n) for n in names]
    for m in metrics:
        title, unit, _ = data.ALL[m]
        heads.append(escape(f"{title} ({unit})" if unit else title))
    out = ["% needs \\usepackage{booktabs}", f"\\begin{{tabular}}{{{'l' * len(names)}{'r' * len(metrics)}}}", "\\toprule", " & ".join(heads) + r" \\",
           "\\midrule"]
    above = ""
    for row in rows:
        cells = [escape(row.values[n]) for n in names]
        for m in metrics:
            mean, half = row.metrics[m][0], row.shown_half(m)
            mark = "^{*}" if data.above(m, mean) else ""
            above = above or mark
            cells.append("--" if mean is None else f"${digits(mean, 4)}{mark}" + (f" \\pm {digits(half, 2)}$" if half else "$"))
        out.append(" & ".join(cells) + r" \\")
    note = [f"% * {data.ABOVE}", f"\\multicolumn{{{len(heads)}}}{{l}}{{\\footnotesize * Above 100 \\%: {data.ABOVE_SHORT}}} \\\\"]
    return "\n".join([*out, "\\bottomrule", *(note if above else []), "\\end{tabular}", ""])


def cell(kind: str, text: str) -> dict[str, Any]:
    lines = text.splitlines(keepends=True)
    base = {"cell_type": kind, "id": re.sub(r"[^a-z0-9]", "", text.lower())[:24] or "cell", "metadata": {}, "source": lines}
    return {**base, "execution_count": None, "outputs": []} if kind == "code" else base


def notebook(campaign: Campaign) -> str:
    """Jupyter's format 4.5; it needs Python's own csv module and matplotlib."""
    cells = [cell("markdown", f"# {campaign.title}\n\nThe tables of the report beside this file; means over the repetitions, `_ci95` is half of the 95 % interval."),
             cell("code", "import csv\nimport matplotlib.pyplot as plt\n\n\ndef read(name):\n    with open(name + '.csv', newline='') as f:\n"
                          "        return list(csv.DictReader(f))\n\n\ndef number(text):\n    return float(text) if text else float('nan')\n\n\n"
                          "def draw(name, x, y):\n    rows = read(name)\n    others = [k for k in list(rows[0])[:list(rows[0]).index('repetitions')] if k != x]\n"
                          "    for key in dict.fromkeys(tuple(r[k] for k in others) for r in rows):\n"
                          "        mine = [r for r in rows if tuple(r[k] for k in others) == key]\n"
                          "        half = [number(r[y + '_ci95']) for r in mine]  # nan: none\n"
                          "        plt.errorbar([r[x] for r in mine], [number(r[y]) for r in mine], yerr=half if any(h == h for h in half) else None,\n"
                          "                     marker='o', label=' '.join(key))\n    plt.xlabel(x)\n    plt.ylabel(y)\n    plt.legend()\n    plt.show()\n")]
    for e in campaign.experiments:
        x = max(e.sweep, key=lambda name: len(e.sweep[name]), default=None)
        if x is not None:
            cells.append(cell("code", f"# {e.title}\ndraw({e.name!r}, {x!r}, 'goodput')"))
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                                                    "language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def experiment_files(folder: str, experiment: Experiment, rows: list[data.Row], lines: dict[str, Any], metrics: list[str]) -> None:
    """lines: metric -> arguments of picture(), of those that have an abscissa."""
    write(os.path.join(folder, f"{experiment.name}.tex"), table(experiment, rows, metrics))
    for metric, words in lines.items():
        write(os.path.join(folder, f"{experiment.name}-{metric}.tex"), picture(*words))
