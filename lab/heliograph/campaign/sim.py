# SPDX-License-Identifier: Apache-2.0
"""How a run of a campaign calls helio-sim."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import programs, units, warmup

if TYPE_CHECKING:
    from .traces import Traces

RULES = ("drop", "drop-return")  # each of several is an option by itself
APART = ("trace", "loss", "trace-offset", "return-trace", "return-offset", "stack", "system", "contacts", "warmup", "sessions", "rto")  # checked elsewhere


@functools.cache
def refused(options: tuple[str, ...]) -> str | None:
    """What helio-sim says against these options; with --version it reads all of them and runs nothing."""
    try:
        done = subprocess.run([programs.find("helio-sim"), *options, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except programs.ProgramError:
        return None  # a run of it reports that
    return done.stderr.strip().splitlines()[0].removeprefix("helio-sim: ").removeprefix("--") if done.returncode == 2 else None


def mistake(values: dict[str, Any]) -> str | None:
    """In the values of a run, which are right one by one."""
    found = refused(tuple(part for k in sorted(values) if k not in (*APART, *RULES) for part in ("--" + k, str(values[k]))) +
                    tuple(part for k in RULES for rule in values.get(k, "").split() for part in ("--" + k, rule)))
    if found is None and values["warmup"] != "auto" and units.duration(values["warmup"]) >= units.duration(values["duration"]):
        found = "warmup: it must be shorter than duration"
    return found


def warmup_needed(v: dict[str, Any]) -> float:
    """Seconds that the link takes to its steady state."""
    sessions = 64 if v["sessions"] == "auto" else v["sessions"]
    return warmup.needed(units.duration(v["delay"]), units.duration(v["processing"]), sessions, units.size(v["bundle"]), units.rate(v["rate"]))


def warmup_of(v: dict[str, Any]) -> float:
    """Seconds; `auto` is what the link needs, at most a share of the run."""
    if v["warmup"] != "auto":
        return units.duration(v["warmup"])
    return min(warmup.SHARE_MAX * units.duration(v["duration"]), warmup_needed(v))


def warmup_cut(v: dict[str, Any]) -> str | None:
    """What is said of a run whose warm-up `auto` is shorter than the link needs; None of others. A warm-up that is given is as it is wanted."""
    if v.get("warmup") != "auto" or not warmup.is_cut(units.duration(v["duration"]), warmup_needed(v)):
        return None
    return warmup.words(units.duration(v["duration"]), warmup_needed(v), "duration:")


def warmup_words(v: dict[str, Any]) -> dict[str, Any]:
    """For the description of a run: its warm-up, what it needs, and a warning if that is more."""
    cut = warmup_cut(v)
    return {"warmup_s": warmup_of(v), "warmup_needed_s": warmup_needed(v), "warnings": [cut] if cut else []}


def warmup_doubts(combinations: list[dict[str, Any]], swept: Any) -> list[str]:
    """What is said of an experiment whose runs are too short for their warm-up: one line, of the setting that needs the longest run."""
    cut = [v for v in combinations if warmup_cut(v)]
    if not cut:
        return []
    worst = max(cut, key=warmup_needed)
    names = ", ".join(f"{name} {worst[name]}" for name in dict.fromkeys(("delay", *swept)) if name not in ("duration", "warmup"))
    return [f"{names}: {warmup_cut(worst)}" + (f" ({len(cut)} of {len(combinations)} settings are too short)" if len(combinations) > 1 else "")]


def random(v: dict[str, Any]) -> bool:
    """Does anything in a simulated run differ between seeds? If not, its repetitions are one run. The engines draw session numbers, whose
    lengths are some nanoseconds; whole nodes draw more."""
    return v.get("stack") == "yes" or "jitter" in v or any(v.get(name, "none") not in ("none", "iid:0") for name in ("trace", "return-trace"))


def auto_timer(path: Any) -> Any:
    """Where `rto: auto` begins on a path of that round trip, seconds: as helio-sim has it."""
    return max(0.03, 2 * path)


def options(run: Any, traces: Traces) -> list[str]:
    trace, offset, _ = traces.of(run)
    v = {k: value for k, value in run.values.items() if k not in ("trace", "loss", "trace-offset", "return-trace", "return-offset", "stack", "system", *RULES)}
    start = warmup_of(run.values)
    v["warmup"] = units.duration_text(start)
    if start > 0:  # the paper's runs count from the first moment to the last, and nothing beyond
        v["follow"] = "yes"
    if "return-trace" in run.values:
        back, begin = traces.back(run)
        v.update({"return-trace": back, "return-offset": units.duration_text(begin)})
    v.update({"trace": trace, "trace-offset": units.duration_text(offset), "seed": run.repetition})
    # switches act after the set that they change
    order = sorted(v, key=lambda k: (k not in ("recovery",), k))
    rules = [part for k in RULES for rule in run.values.get(k, "").split() for part in ("--" + k, rule)]
    return [part for k in order for part in ("--" + k, str(v[k]))] + rules


def with_table(command: list[str], folder: str, track: Callable[..., Any]) -> str:
    """Pipes the segment log to the analyzer: only the table of sessions is kept."""
    reading, writing = os.pipe()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        try:
            table = pool.submit(track, [programs.find("helio-analyze"), f"/dev/fd/{reading}", "--sessions",
                                        os.path.join(folder, "sessions.csv")], (reading,))
            shown = track([*command, "--log", f"/dev/fd/{writing}"], (writing,))
        finally:
            os.close(writing)
        try:
            table.result()
        finally:
            os.close(reading)
    result: str = shown
    return result


def call(command: list[str], descriptors: tuple[Any, ...] = ()) -> str:
    """Runs a program to its end; its standard output. It inherits the descriptors."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, pass_fds=descriptors, check=False)
    if done.returncode != 0:
        raise programs.ProgramError(done.stderr.strip() or f"{command[0]} ended with code {done.returncode}")
    return done.stdout
