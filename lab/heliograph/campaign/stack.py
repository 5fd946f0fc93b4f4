# SPDX-License-Identifier: Apache-2.0
"""A run of a campaign with whole nodes in virtual time: the lab of mode relay, in mode sim."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..lab import derive as lab_derive, sim as lab_sim
from ..processes import Failed
from .live import Results, lab_of

if TYPE_CHECKING:
    from .file import Run
    from .traces import Traces


def run_stack(run: Run, folder: str, traces: Traces, track: Callable[..., Any]) -> dict[str, float | list[str]]:
    final = os.path.join(os.path.dirname(folder), run.folder)  # where the files are when all is done
    lab = lab_of(run, traces)
    derived = lab_sim.derive(lab, folder)
    lab_derive.write(derived)
    command = lab_sim.command_line(lab, derived)
    said = track(["sh", "-c", '"$@" || [ $? = 1 ]', "sh", *command])  # bundles that are missing are a result, too
    if not said.startswith("{"):
        raise Failed("helio-sim gave no result")
    shown = json.loads(said)
    results = Results(run, folder, traces)
    measured: Any = results.measured(shown["clients"][0], shown["channels"][0]["forward"])
    results.keep_logs(run.logs)
    for name in os.listdir(folder):
        if name.endswith(".bundles.csv") or name == "channel1.drops.csv":
            os.unlink(os.path.join(folder, name))
    return {"faithful": True, "reasons": [], "command": [word.replace(folder, final) for word in command], **measured}
