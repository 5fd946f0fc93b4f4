# SPDX-License-Identifier: Apache-2.0
"""One report of a channel whose emulator was restarted during the run: counters are added; other values are combined as far as possible."""

from __future__ import annotations

from typing import Any

LAST = ("queued", "rate_bps", "delay_ns", "tolerance")  # as they are at the end
MOST = ("p50", "p99", "max")                            # of times: each part's is at most so much
WEIGHTED = {"good_share": "duration_s", "good_share_active": "active_s"}


def joined(accounts: list[Any]) -> Any:
    """Of one and the same link, in order of time; {} for none."""
    accounts = [one for one in accounts if one]
    if len(accounts) < 2:
        return accounts[0] if accounts else {}
    whole = sums(accounts)
    for way in ("forward", "return"):
        for share, weight in WEIGHTED.items():
            known = [(one[way][share], one[way].get(weight, one.get(weight)) or 0.0) for one in accounts if one.get(way, {}).get(share) is not None]
            total = sum(seconds for _, seconds in known)
            if total > 0:
                whole[way][share] = sum(value * seconds for value, seconds in known) / total
    for word in ("started_ns", "grade"):  # when it began; how it is judged, by the first part that is not faithful
        whole[word] = next((one[word] for one in accounts if word in one and (word == "started_ns" or not one.get("faithful", True))),
                           accounts[-1].get(word))
    return {**whole, "parts": len(accounts)}


def sums(parts: list[Any], key: str | None = None) -> Any:
    """Maps key by key, lists one behind the other, numbers added up; of all else, and of what is no count, the last one."""
    known = [one for one in parts if one is not None]
    if not known:
        return None
    if all(isinstance(one, dict) for one in known):
        return {name: sums([one.get(name) for one in known], name) for name in dict.fromkeys(name for one in known for name in one)}
    if all(isinstance(one, list) for one in known):
        return [item for one in known for item in one]
    if all(isinstance(one, bool) for one in known):
        return all(known)  # faithful
    if key in LAST or not all(isinstance(one, (int, float)) for one in known):
        return known[-1]
    return max(known) if key in MOST else sum(known)
