# SPDX-License-Identifier: Apache-2.0
"""Durations, rates and sizes as people write them in the configuration files, and back. Durations are seconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sized
from typing import Any

DURATIONS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
RATES = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SHORT = {"k": 10**3, "M": 10**6, "G": 10**9}  # helio-perf has them beside the others


class UnitError(ValueError):
    pass


def _parse(text: object, units: Mapping[str, float], kind: str, example: str) -> float:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z/]+)\s*", str(text))
    if not match or match.group(2) not in units:
        raise UnitError(f"\"{text}\" is no {kind}; write it like {example} (units: {', '.join(units)})")
    return float(match.group(1)) * units[match.group(2)]


def duration(text: object) -> float:
    return 0.0 if str(text).strip() == "0" else _parse(text, DURATIONS, "duration", "30ms")


def rate(text: Any) -> int:
    text = re.sub(r"(?<=[\skMG\d])bps\s*$", "bit/s", str(text))  # as the other programs take it
    return int(_parse(text, RATES, "rate", "500Mbit/s"))


def size(text: object) -> int:
    """As base/units.h has it: a bare number is bytes."""
    bare = re.fullmatch(r"\d+(?:\.\d+)?", str(text))
    return int(float(bare[0])) if bare else int(_parse(text, SIZES, "size", "500kB"))


def amount(text: object) -> int:
    """A size as helio-perf takes it: 50k, 4M, 1G, too."""
    short = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG])", str(text))
    return round(float(short[1]) * SHORT[short[2]]) if short else size(text)


def seconds(text: object) -> float:
    """A duration as helio-perf takes it: a bare number is seconds."""
    bare = re.fullmatch(r"\d+(?:\.\d+)?", str(text))
    return float(bare[0]) if bare else duration(text)


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def duration_text(seconds: float) -> str:
    """Exact to the nanosecond, in the unit that reads best."""
    ns = round(seconds * 1e9)
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= scale and ns % (scale // 1000) == 0:
            return _number(ns / scale) + unit
    return f"{ns}ns" if ns else "0"


def rate_text(bps: float) -> str:
    for unit in ("Gbit/s", "Mbit/s", "kbit/s"):
        if bps >= RATES[unit]:
            return _number(bps / RATES[unit]) + unit
    return f"{int(bps)}bit/s"


def size_text(count: float) -> str:
    for unit in ("GB", "MB", "kB"):
        if count >= SIZES[unit] and count % (SIZES[unit] // 1000) == 0:
            return _number(count / SIZES[unit]) + unit
    return f"{int(count)}B"


def size_round(count: float) -> str:
    """A size for people who set limits: the next power of two."""
    power = 1 << max(0, int(count) - 1).bit_length()
    for unit in ("GiB", "MiB", "KiB"):
        if power >= SIZES[unit]:
            return f"{power // SIZES[unit]}{unit}"
    return f"{power}B"


def counted(things: int | Sized, noun: str) -> str:
    """1 node, 2 nodes. things: them, or how many."""
    count = things if isinstance(things, int) else len(things)
    return f"{count} {noun}" + ("" if count == 1 else "s")


def word_of(*words: str) -> Callable[[Any], str]:
    """What reads a value that is one of these words; ValueError says which they are."""
    def parse(value: Any) -> str:
        # YAML reads yes and no as booleans
        value = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
        if value not in words:
            raise ValueError(f"\"{value}\" is none of {', '.join(words)}")
        return str(value)

    return parse


def without_percent(value: object) -> str:
    """The end of a message about a share that was written in percent; nothing of any other."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", str(value))
    return f"; write {float(found[1]) / 100:g}" if found else ""
