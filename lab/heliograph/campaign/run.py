# SPDX-License-Identifier: Apache-2.0
"""One run of a campaign: its folder, its programs, its result.

A run's folder is filled under another name and gets its own when the result is complete: what was interrupted leaves
nothing that could be taken for a result.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import machine, programs
from ..processes import die_with_parent
from . import sim
from .lab import run_lab
from .live import run_live
from .other import run_other
from .sle import run_sle
from .stack import run_stack

if TYPE_CHECKING:
    from .file import Run
    from .traces import Traces

RESULT = ("goodput_bps", "capacity_bps", "efficiency", "carried_share", "reachable_share", "good_share", "payload_share", "sessions", "session_ms", "delivery_ms",
          "retx_cycles_mean", "checkpoints_lost_mean", "lossy_share", "rto_firings", "cancelled", "sessions_begun_max")


class Children:
    """The processes that run now, so that an interruption ends them."""

    def __init__(self) -> None:
        self.running: set[Any] = set()
        self.lock, self.stopped = threading.Lock(), False

    def run(self, command: list[str], descriptors: tuple[int, ...] = ()) -> str:
        with self.lock:
            if self.stopped:
                raise KeyboardInterrupt
            p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                 start_new_session=True, pass_fds=descriptors, preexec_fn=die_with_parent())
            self.running.add(p)
        try:
            out, err = p.communicate()
        finally:
            with self.lock:
                self.running.discard(p)
        if self.stopped:
            raise KeyboardInterrupt
        if p.returncode != 0:
            raise programs.ProgramError(err.strip() or f"{command[0]} ended with code {p.returncode}")
        return out

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            for p in self.running:
                p.kill()


def write_json(path: str, value: Any) -> None:
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def result_of(out: str, run: Run) -> dict[str, Any] | None:
    """The run's result when it is there and of this very run, else None."""
    try:
        with open(os.path.join(out, "runs", run.folder, "result.json"), encoding="utf-8") as f:
            result = json.load(f)
    except (OSError, ValueError):
        return None
    sound = isinstance(result, dict) and result.get("key") == run.key and isinstance(result.get("goodput_bps"), (int, float))
    return result if sound and isinstance(result.get("reasons"), list) and "faithful" in result else None


def compress(path: str) -> None:
    if os.path.exists(path):
        sim.call(["gzip", "-1", "-f", path])


def run_sim(run: Run, folder: str, traces: Traces, track: Callable[..., Any]) -> dict[str, Any]:
    """helio-sim, with its segment log or the table of sessions."""
    command = [programs.find("helio-sim"), *sim.options(run, traces), "--json"]
    log = os.path.join(folder, "segments.csv")
    if run.logs == "tables":
        shown = sim.with_table(command, folder, track)
    elif run.logs == "all":
        shown = track([*command, "--log", log])
        track([programs.find("helio-analyze"), log, "--sessions", os.path.join(folder, "sessions.csv")])
        compress(log)
    else:
        shown = track(command)
    compress(os.path.join(folder, "sessions.csv"))
    found = json.loads(shown)
    return {"faithful": True, "reasons": [], "command": command, **{k: found[k] for k in RESULT}}


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def sweep(folder: str) -> None:
    """Removes what processes of this machine left behind that were killed."""
    for name in os.listdir(folder):
        found = re.fullmatch(r"\.part-(.*)-(\d+)-[^-]+", name)
        if found and found[1] == socket.gethostname() and not alive(int(found[2])):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def measure(run: Run, part: str, traces: Traces, track: Callable[..., Any]) -> dict[str, Any]:
    if run.kind == "sle":
        result: dict[str, Any] = run_sle(run, part, track)
        return result
    if run.lab:
        return run_lab(run, part, traces, track)
    if run.system:
        result = run_other(run, part, traces)
        return result
    if run.mode != "sim":
        result = run_live(run, part, traces)
        return result
    return (run_stack if run.values.get("stack") == "yes" else run_sim)(run, part, traces, track)


@contextlib.contextmanager
def part_of(final: str) -> Iterator[str]:
    """A folder beside `final` to fill, which `put` moves there; removed if that fails."""
    os.makedirs(os.path.dirname(final), exist_ok=True)
    sweep(os.path.dirname(final))
    part = tempfile.mkdtemp(prefix=f".part-{socket.gethostname()}-{os.getpid()}-", dir=os.path.dirname(final))
    try:
        yield part
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def put(part: str, final: str) -> None:
    shutil.rmtree(final, ignore_errors=True)
    os.rename(part, final)


def execute(run: Run, out: str, traces: Any, track: Callable[..., Any]) -> dict[str, Any]:
    """Does the run and keeps its folder; returns the result."""
    final = os.path.join(out, "runs", run.folder)
    with part_of(final) as part:
        names = ["helio-sim", "helio-sle"][: 1 + (run.kind == "sle")] if run.mode == "sim" else ["heliod", "helio-perf", "helio-emu", "helio-analyze"]
        described = {"key": run.key, "mode": run.mode, "repetition": run.repetition, "parameters": run.values,
                     "versions": machine.versions(names), "commit": machine.commit(), "machine": machine.describe()}
        plain = run.kind == "ltp" and not run.lab
        measured = {"realisation": traces.realisation(run) if plain else None, **measure(run, part, traces, track), "key": run.key}
        if plain:
            measured["trace_seeds"] = traces.seeds(run)
            described.update(sim.warmup_words(run.values))
        write_json(os.path.join(part, "run.json"), {**described, "trace_seeds": measured.get("trace_seeds", {})})
        write_json(os.path.join(part, "result.json"), measured)
        put(part, final)
        return measured
