# SPDX-License-Identifier: Apache-2.0
"""Numbers of sessions that give equal figures, and why: more of them than are under way at once only wait for the line.

The runs count that (`sessions_begun_max`: sessions that had sent a segment and were not finished). Without that number, or where it is above the limit, nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import data, pairs

if TYPE_CHECKING:
    from .file import Experiment

NAME = "sessions"


def figures_of(row: data.Row) -> tuple[str, ...]:
    """What the tables show of a setting."""
    return tuple("" if mean is None else f"{mean:.6g}" for mean, _ in row.metrics.values())


def begun(rows: list[data.Row]) -> int | None:
    """The most sessions that were under way at once in any run of these settings; None where a run has not counted them."""
    found = [result.get("sessions_begun_max") for row in rows for result in row.results.values()]
    return None if not found or None in found else max(found)


def listed(values: list[int]) -> str:
    return ", ".join(map(str, values[:-1])) + f" and {values[-1]}"


def words(experiment: Experiment, table: list[data.Row]) -> list[str]:
    """A sentence for each group of equal settings that differ in their number of sessions only."""
    if NAME not in experiment.sweep:
        return []
    found = []
    for others, rows in pairs.rows_by(experiment, table, NAME).items():
        groups: dict[Any, Any] = {}
        for value, row in rows.items():
            if isinstance(value, int) and row.repetitions:
                groups.setdefault(figures_of(row), {})[value] = row
        for group in groups.values():
            values, most = sorted(group), begun(list(group.values()))
            if len(values) > 1 and most is not None and most <= values[0]:
                where = ", ".join(f"{name} {value}" for name, value in others)
                found.append(f"Equal with {listed(values)} sessions{f' ({where})' if where else ''}: no more than {most} of them were under way at once; others would wait for the line.")
    return found
