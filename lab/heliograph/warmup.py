# SPDX-License-Identifier: Apache-2.0
"""How long a link takes to its steady state: what a run shows before is its start, not the link."""

from __future__ import annotations

import math
from typing import Any

ROUNDS = 3        # of a round trip and the radiation of all sessions
SHARE_MAX = 0.25  # of the run, so that something is left


def needed(delay: float, processing: float, sessions: Any, block: float, rate: float) -> float:
    """Of a run of any length. All in seconds, bytes and bits per second."""
    result: float = ROUNDS * (2 * delay + processing + sessions * 8 * block / rate)
    return result


def seconds(duration: float, delay: float, processing: float, sessions: Any, block: float, rate: float) -> float:
    """The same, at most a share of the run."""
    return min(SHARE_MAX * duration, needed(delay, processing, sessions, block, rate))


def is_cut(duration: float, need: float) -> bool:
    """Is the run too short for such a warm-up? Then its start is part of its figures. A tenth less is no difference."""
    return SHARE_MAX * duration < 0.9 * need


def words(duration: float, need: float, key: str) -> str:
    """What a cut warm-up is, and the duration that would be right: `key` is how it is written."""
    right = need / SHARE_MAX
    step = 10.0 ** (math.floor(math.log10(right)) - 1)  # two digits
    right = math.ceil(right / step - 1e-9) * step
    return (f"the warm-up is cut to {text(SHARE_MAX * duration)}, it needs {text(need)}: the start changes the figures; "
            f"write {key} {text(right)} or longer")


def text(value: float) -> str:
    """A time as people read it: three digits."""
    return f"{value:.0f}s" if value >= 100 else f"{value:.3g}s" if value >= 1 else f"{1e3 * value:.3g}ms"
