# SPDX-License-Identifier: Apache-2.0
"""How the delay of bundles is spent, hop by hop, for each setting of a campaign over a lab: means over its repetitions."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .data import Row
    from .file import Experiment

PARTS = ("queue", "radiation", "channel", "retransmission")


def nodes_of(path: dict[str, Any]) -> tuple[str, ...]:
    return (*(hop["from"] for hop in path["hops"]), path["hops"][-1]["to"])


def longest(result: dict[str, Any]) -> dict[str, Any] | None:
    """The route with most nodes, and of these the one with most bundles: data, not the acknowledgements that return on it."""
    paths: list[dict[str, Any]] = [path for path in result.get("delays") or () if path["hops"]]
    if not paths:
        return None
    return max(paths, key=lambda path: (len(path["hops"]), path["bundles"], path["total_ms"]))


def mean_path(results: list[dict[str, Any]]) -> tuple[tuple[str, ...], list[list[float]], float, float] | None:
    """(nodes, a list of each hop's parts, the time at the destination, the sum), ms; None if nothing is known, or the routes differ."""
    paths: list[dict[str, Any]] = [path for path in map(longest, results) if path is not None]
    if not paths or len({nodes_of(path) for path in paths}) > 1:
        return None
    n = len(paths)
    hops = [[sum(path["hops"][i][f"{part}_ms"] for path in paths) / n for part in PARTS] for i in range(len(paths[0]["hops"]))]
    return nodes_of(paths[0]), hops, sum(path["application_ms"] for path in paths) / n, sum(path["total_ms"] for path in paths) / n


def rows(experiment: Experiment, table: list[Row]) -> list[list[float | str | None]]:
    """(values of what is swept, from, to, queue, radiation, channel, retransmission, at the destination, the whole) for each hop of each setting;
    the last hop has the last two."""
    found = []
    for row in table:
        path = mean_path([row.results[n] for n in sorted(row.results)])
        if path is None:
            continue
        nodes, hops, application, total = path
        values = [row.values[name] for name in experiment.sweep]
        for i, parts in enumerate(hops):
            last = i + 1 == len(hops)
            found.append([*values, nodes[i], nodes[i + 1], *parts, application if last else None, total if last else None])
    return found


def write(path: Any, experiment: Experiment, found: list[list[float | str | None]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow([*experiment.sweep, "from", "to", *(f"{part}_ms" for part in PARTS), "application_ms", "total_ms"])
        for row in found:
            w.writerow(["" if cell is None else f"{cell:.6f}" if isinstance(cell, float) else cell for cell in row])
