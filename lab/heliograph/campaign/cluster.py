# SPDX-License-Identifier: Apache-2.0
"""Runs of a campaign on other machines: by the workers of dask.distributed, or as an array job of Slurm.

A worker gets the key of a run, reads the campaign file itself, and returns the run's folder as an archive. So it needs the campaign file and its traces under the same path, and the same
version of Heliograph, but no shared folder for results. A worker that ends costs the runs that it had; the scheduler gives them to others.
"""

from __future__ import annotations

import functools
import io
import os
import shlex
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import VERSION, processes
from . import file, run as campaign_run, traces as campaign_traces

if TYPE_CHECKING:
    from .file import Run

TASKS_MAX = 1000  # of an array job: Slurm's MaxArraySize is 1001 by default
CONNECT = 10.0  # seconds until the scheduler must have answered


class ClusterError(processes.Failed):
    """The scheduler, or a worker as a whole."""


# ---- at the worker ----

@functools.cache
def _runs(path: str, mode: str, changed: int) -> dict[str, Run]:
    """By their keys; `changed` is the file's time, so that an edited file is read again."""
    return {run.key: run for run in file.load(path, mode).runs()}


def archive(folder: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in sorted(os.listdir(folder)):
            tar.add(os.path.join(folder, name), arcname=name)
    return packed.getvalue()


def work(path: str, mode: str, key: str, version: str) -> bytes:
    """Does the run; returns its folder. Raises ClusterError if this machine has something else than the caller."""
    if version != VERSION:
        raise ClusterError(f"this worker has Heliograph {VERSION}, not {version}")
    run = _runs(path, mode, os.stat(path).st_mtime_ns).get(key)
    if run is None:
        raise ClusterError(f"{path} or one of its traces has other contents at this worker")
    with tempfile.TemporaryDirectory(prefix="helio-campaign-") as out:
        campaign_run.execute(run, out, campaign_traces.Traces(out), campaign_run.Children().run)
        return archive(os.path.join(out, "runs", run.folder))


# ---- at the campaign ----

def unpack(packed: bytes, run: Run, out: str) -> None:
    """Puts the run's folder in its place, as a whole."""
    final = os.path.join(out, "runs", run.folder)
    os.makedirs(os.path.dirname(final), exist_ok=True)
    with campaign_run.part_of(final) as part:
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            for member in tar:
                if not member.isreg() and not member.isdir() or os.path.isabs(member.name) or ".." in member.name.split("/"):
                    raise ClusterError(f"{member.name} is no file of a run")
                tar.extract(member, part)
        campaign_run.put(part, final)


def why(error: BaseException) -> Exception:
    """What a failed task says to a person."""
    name = type(error).__name__
    if name == "KilledWorker":
        return ClusterError("each worker that had this run ended; its memory may not be enough")
    if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "heliograph":
        return ClusterError("a worker does not have Python's module heliograph: install its wheel there")
    return error if isinstance(error, Exception) else ClusterError(f"{name}: {error}")


def each(runs: list[Run], path: str, out: str, address: str) -> Iterator[tuple[Run, Exception | None]]:
    """Has the workers of this scheduler do the runs; yields (run, None or the error) as each ends."""
    if not runs:
        return
    import distributed  # ModuleNotFoundError: the launcher tells it
    try:
        client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as e:
        raise ClusterError(f"no scheduler of dask answers at {address}: {e}; start one with: dask scheduler") from e
    try:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            print(f"helio-campaign: {address} has no worker yet; start some with: dask worker {address} --nthreads 1", file=sys.stderr)
        token = os.urandom(4).hex()  # results of an earlier campaign are not asked for
        futures = {client.submit(work, os.path.abspath(path), run.mode, run.key, VERSION, key=f"{run.key}-{token}", pure=False): run for run in runs}
        waiting = distributed.as_completed(list(futures), loop=client.loop, with_results=True, raise_errors=False)
        for future, result in waiting:
            run = futures.pop(future)
            try:
                if future.status != "finished":
                    error = result[1] if isinstance(result, tuple) else result
                    yield run, why(error if isinstance(error, BaseException) else ClusterError(f"the run was {future.status}"))
                    continue
                unpack(result, run, out)
            except (ClusterError, OSError, tarfile.TarError) as e:
                yield run, e
            else:
                yield run, None
            finally:
                future.release()
        if futures:
            raise ClusterError(f"the scheduler {address} has ended; {len(futures)} runs are not done")
    finally:
        client.close(timeout=CONNECT)


def slurm_script(name: str, folder: str, count: int, jobs: int | None) -> str:
    """An array job whose tasks do the lines of runs.txt, each task every n-th of them."""
    tasks = min(count, TASKS_MAX)
    at_once = f"%{jobs}" if jobs else ""
    return f"""#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=1-{tasks}{at_once}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --output={folder}/%A_%a.log
# Task k of {tasks} does the lines k, k + {tasks}, ... of runs.txt. A run that is done is not done again.
code=0
for ((line = SLURM_ARRAY_TASK_ID; line <= {count}; line += {tasks})); do
    bash -c "$(sed -n "${{line}}p" {shlex.quote(os.path.join(folder, "runs.txt"))})" || code=1
done
exit $code
"""


def write_slurm(name: str, folder: str, commands: list[str], jobs: int | None) -> str:
    """Writes runs.txt and array.sh; returns the path of the latter."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "runs.txt"), "w", encoding="utf-8") as f:
        f.write("".join(command + "\n" for command in commands))
    script = os.path.join(folder, "array.sh")
    with open(script, "w", encoding="utf-8") as f:
        f.write(slurm_script(name, folder, len(commands), jobs))
    return script

