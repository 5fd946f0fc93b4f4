# SPDX-License-Identifier: Apache-2.0
"""The results of a campaign as a partitioned Parquet data set, which DuckDB, Polars and Spark read.

One row for each run of each experiment; folders campaign=…/mode=…/experiment=…, each written as a whole, so that a repeated command leaves no row twice.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import processes
from . import data, run as campaign_run

if TYPE_CHECKING:
    from .file import Campaign

PARTITIONS = ("campaign", "mode", "experiment")


def plain(values: list[Any]) -> list[Any]:
    """Whole numbers, else numbers, if all that are given are such; else text."""
    given = [str(v) for v in values if v is not None]
    for kind in (int, float):
        try:
            numbers = [kind(text) for text in given]
        except ValueError:
            continue
        if all(abs(n) < 2**63 for n in numbers):  # not inf, nan
            return [None if v is None else kind(str(v)) for v in values]
    return [None if v is None else str(v) for v in values]


def table(campaign: Campaign, out: str) -> dict[str, list[Any]]:
    """Column -> its values. A parameter has the name that it has in the campaign file, a result that of the report's CSV files."""
    rows: list[dict[str, Any]] = []
    name = os.path.splitext(os.path.basename(campaign.path))[0]
    for e in campaign.experiments:
        for run in {run.key: run for run in e.runs}.values():
            result = campaign_run.result_of(out, run)
            if result is None:
                continue
            metrics = {metric: f(result, run.values) for metric, (_, _, f) in data.KINDS[run.kind].items()}
            rows.append({"campaign": name, "mode": run.mode, "experiment": e.name, "key": run.key, "repetition": run.draw, "faithful": result["faithful"],
                         "reasons": "; ".join(result["reasons"]), **{f"parameter_{k}": v for k, v in run.values.items()},
                         **{metric: None if value is None else float(value) for metric, value in metrics.items()}})
    columns: dict[str, list[Any]] = {}
    for column in dict.fromkeys(column for row in rows for column in row):
        values = [row.get(column) for row in rows]
        columns[column] = plain(values) if column.startswith("parameter_") else values
    return columns


def write(campaign: Campaign, out: str, place: str) -> int:
    """To a folder or s3://…; returns the number of rows."""
    import pyarrow  # ModuleNotFoundError: the launcher tells it
    from pyarrow import dataset, fs
    columns = table(campaign, out)
    if not columns:
        raise processes.Failed(f"--parquet: no run of {campaign.path} is done")
    try:
        if "://" in place:
            system, folder = fs.FileSystem.from_uri(place)
        else:
            system, folder = fs.LocalFileSystem(), os.path.abspath(place)
        metrics = {m for kind in data.KINDS.values() for m in kind}
        rows = pyarrow.table({c: pyarrow.array(v, pyarrow.float64() if c in metrics else None) for c, v in columns.items()})
        by = dataset.partitioning(pyarrow.schema([(p, pyarrow.string()) for p in PARTITIONS]), flavor="hive")
        dataset.write_dataset(rows, folder, format="parquet", filesystem=system, partitioning=by, existing_data_behavior="delete_matching")
    except (pyarrow.ArrowException, OSError, ValueError) as e:
        raise processes.Failed(f"--parquet {place}: {e}") from e
    return len(rows)
