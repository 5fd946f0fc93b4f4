# SPDX-License-Identifier: Apache-2.0
"""How the values of a campaign file are read: each function returns the value as a run has it, or raises ValueError."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import units


def time(text: int | str) -> str:
    units.duration(text)
    return str(text)


def rate(text: str) -> str:
    units.rate(text)
    return str(text)


def size(text: str) -> str:
    units.size(text)
    return str(text)


def count(low: int, high: int) -> Callable[..., Any]:
    def parse(value: int | str) -> int:
        if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value)) or not low <= int(value) <= high:
            raise ValueError(f"\"{value}\" is no number from {low} to {high}")
        return int(value)

    return parse


def sessions(value: int | str) -> int:
    result: int = "auto" if value == "auto" else count(1, 65536)(value)
    return result


def rto(value: int | str) -> str:
    return "auto" if value == "auto" else time(value)


def warmup(value: str) -> str:
    return "auto" if value == "auto" else time(value)


def text(value: str) -> str:
    return str(value)


def rules(value: str) -> str:
    """Drop rules with spaces between them (docs/channel.md); helio-sim knows which are right."""
    if not str(value).split():
        raise ValueError("a drop rule is wanted, such as checkpoint:first=2; several have spaces between them")
    return " ".join(str(value).split())


def recovery(value: str) -> str:
    if value == "own":
        raise ValueError("\"own\": the switches of a campaign stand by themselves beside recovery: plain, such as copies: 3")
    return units.word_of("plain", "default")(value)


def contacts(value: str) -> str:
    """FROM-TO with spaces between them, rising: what docs/scenario.md has as a list."""
    last = -1.0
    for item in str(value).split():
        ends = item.split("-")
        if len(ends) != 2:
            raise ValueError(f"\"{item}\" is no contact; write them like 0s-4s 6s-10s")
        begin, end = (units.duration(e) for e in ends)
        if not last < begin < end:
            raise ValueError(f"\"{item}\": contacts rise and do not overlap")
        last = end
    if last < 0:
        raise ValueError("a contact is wanted; write them like 0s-4s 6s-10s")
    return " ".join(str(value).split())


def open_rate(value: str) -> str:
    return "unlimited" if value == "unlimited" else rate(value)
