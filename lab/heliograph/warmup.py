# SPDX-License-Identifier: Apache-2.0
"""How long a link takes to its steady state: what a run shows before is its start, not the link."""

from __future__ import annotations

from typing import Any

ROUNDS = 3        # of a round trip and the radiation of all sessions
SHARE_MAX = 0.25  # of the run, so that something is left


def seconds(duration: float, delay: float, processing: float, sessions: Any, block: float, rate: float) -> float:
    """All in seconds, bytes and bits per second."""
    result: float = min(SHARE_MAX * duration, ROUNDS * (2 * delay + processing + sessions * 8 * block / rate))
    return result
