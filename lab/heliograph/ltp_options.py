# SPDX-License-Identifier: Apache-2.0
"""The options of LTP as heliod describes them (ltp/options.h). A link's key copy_spacing is helio-sim's option copy-spacing."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

from . import programs, units

OWN = "recovery: own"


@functools.cache
def keys() -> dict[str, dict[str, Any]]:
    """Name of a key of a link over LTP -> its line of `heliod --keys --json`, which has its whole name with its group. Of two with
    one name it is that in no group, or in the first one."""
    done = subprocess.run([programs.find("heliod"), "--keys", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise programs.ProgramError(f"heliod --keys ended with code {done.returncode}")
    try:
        lines = [line for line in json.loads(done.stdout) if line["section"] == "ltp-udp"]
        return {line["key"].rpartition(".")[2]: line for line in reversed(lines)}
    except ValueError as e:
        raise programs.ProgramError(f"{done.args[0]} is of another version than this laboratory: build both again") from e


def key_of(option: str) -> str:
    return option.replace("-", "_")


def switches() -> tuple[str, ...]:
    """The recovery options, as options of helio-sim; `rto: auto` means rto_auto."""
    return tuple(key.replace("_", "-") for key, line in keys().items() if line["needs"] == OWN and key != "rto_auto")


def is_time(option: str) -> bool:
    return keys().get(key_of(option), {}).get("type") == "duration"


def reader(option: str) -> Callable[..., Any]:
    """What reads a value of the option: a number becomes one, all else stays as it is written. ValueError: it is none."""
    line = keys()[key_of(option)]

    def number(value: int) -> int:
        if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value)) or not line["least"] <= int(value) <= line["most"]:
            raise ValueError(f"\"{value}\" is no number from {line['least']} to {line['most']}")
        return int(value)

    def quantity(value: str) -> str:
        parse, by = (units.duration, 1e9) if line["type"] == "duration" else (units.size, 1)
        found = round(parse(value) * by)
        if found < line["least"] or (line["most"] is not None and found > line["most"]):
            raise ValueError(f"\"{value}\" is out of the range of {key_of(option)} (heliod --keys --json)")
        return str(value)

    return {"number": number, "yes|no": units.word_of("yes", "no")}.get(line["type"], quantity)
