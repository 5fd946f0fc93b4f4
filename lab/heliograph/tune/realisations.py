# SPDX-License-Identifier: Apache-2.0
"""What helio-tune found, on further realisations of the fading: how sure is it?

One trace is one draw. The number of sessions that suffices on it need not suffice on the next one, so with --realisations
the number is sought that suffices in a given share of many; and since a number that was chosen on some realisations fits
just these a little better than others, it is checked on as many that the choice has not seen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import statistics, units
from . import point

if TYPE_CHECKING:
    from .search import Link

UNSEEN = 2000   # seeds of realisations from here on are for the check of what was found,
EXPECT = 2500   # from here on for what is to be expected,
CHOICE = 3000   # from here on for the choice among numbers of sessions,
CHECK = 4000    # from here on for the check of that choice
RETURN = 500000  # is added for the way back
EXPECT_STEP, EXPECT_MOST = 5, 20  # realisations at once, and in all of one length,
EXPECT_HALF = 0.004               # until the interval of the share carried has this half,
UNSEEN_HALF = 0.006               # and that of the difference to as many runs as are to check it this one
SURE = 1.5                        # times as much is what runs surely cannot keep


class Realisations:
    """Other draws of what fades on a link."""

    def __init__(self, link: Link) -> None:
        self.link = link

    def other(self, trace: str | None, seed: int, number: int, times: int) -> Any:
        """(trace, offset) of another realisation; None when there is no such."""
        if trace is None or trace == "none" or trace.startswith("iid:"):
            return trace, None  # the seed draws it
        other = self.link.traces.again(trace, seed, times=times)
        if other is not None:
            return other, None
        duration = self.link.duration()
        begin = number * duration
        return (trace, units.duration_text(begin)) if begin + duration <= self.link.traces.info(trace)["duration_s"] else None

    def drawn(self) -> bool:
        """Is anything drawn at all? Without fading all runs are one run."""
        return any(trace not in (None, "none") for trace in (self.link.trace, self.link.a.return_trace))

    def options(self, first: int, number: int, times: int = 1) -> dict[str, int | str] | None:
        """What makes a run that of realisation `number`, from 1 on, of those that begin at seed `first`, so many times as long; None:
        there is none."""
        if not self.drawn():
            return None
        forward = self.other(self.link.trace, first + number, number, times)
        back = self.other(self.link.a.return_trace, first + RETURN + number, number, times)
        if forward is None or back is None:
            return None
        names = ((("trace", forward[0]), ("trace-offset", forward[1])), (("return-trace", back[0]), ("return-offset", back[1])))
        return {"seed": first + number, **{key: value for pair in names for key, value in pair if value is not None}}

    def many(self, first: int, count: int, times: int = 1) -> list[dict[str, int | str]]:
        found = [self.options(first, i, times) for i in range(1, count + 1)]
        return [one for one in found if one is not None]


def at_least(successes: int, runs: int, confidence: float = 0.95) -> float:
    """The share of which so many successes of so many runs still leave 1 - confidence (Clopper and Pearson, one-sided)."""
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / runs
    for _ in range(60):
        middle = (low + high) / 2
        if tail(successes, runs, middle) > 1 - confidence:
            high = middle
        else:
            low = middle
    return low


def tail(successes: int, runs: int, share: float) -> float:
    """P(at least so many successes)."""
    return math.fsum(math.comb(runs, k) * share**k * (1 - share)**(runs - k) for k in range(successes, runs + 1))


def runs_of(simulator: Any, link: Link, setting: dict[str, Any], sessions: int, realisations: Any,
            length: Any = None) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = simulator.run_all([{**link.options(1, length, sessions=sessions, **setting), **way} for way in realisations])
    return result


def held_out(simulator: Any, link: Any, setting: Any, sessions: int, length: Any) -> Any:
    """What was found, on realisations that the search has not seen: mean, its interval, the least; None without any."""
    realisations = Realisations(link).many(UNSEEN, link.a.unseen, times_of(link, length))
    runs = runs_of(simulator, link, setting, sessions, realisations, length)
    shares = [run["efficiency"] for run in runs]
    mean, half = statistics.interval(shares)
    return {"runs": len(runs), "efficiency": mean, "ci95": half, "least": min(shares), **carried(runs)} if runs else None


def carried(runs: list[dict[str, Any]]) -> dict[str, float | None]:
    """By the time of sending: what was held up before the warm-up's end is not in it."""
    shares = [run["carried_share"] for run in runs]
    mean, half = statistics.interval(shares)
    return {"carried_share": mean, "carried_ci95": half, "carried_least": min(shares)}


def apart(half: Any, runs: Any, others: Any) -> Any:
    """Half of the 95 % interval of the difference between the mean of so many runs, whose interval has `half`, and that of others."""
    return half * math.sqrt(1 + runs / others)


def times_of(link: Any, length: Any) -> Any:
    """How much longer than their files realisations have to be."""
    return max(1, round(length / link.duration()))


def enough(half: Any, runs: Any, others: Any) -> Any:
    return half <= EXPECT_HALF and apart(half, runs, others) <= UNSEEN_HALF


def over_runs(simulator: Any, link: Any, setting: Any, sessions: int, length: Any, last: Any) -> Any:
    """The runs of one length over as many realisations as their interval wants, and its half; none where nothing more is drawn. Where
    longer ones are surely needed it ends early, unless this is the last length."""
    runs: Any = []
    drawn = Realisations(link)
    half: Any = None
    while len(runs) < EXPECT_MOST:
        more = [drawn.options(EXPECT, len(runs) + i, times_of(link, length)) for i in range(1, EXPECT_STEP + 1)]
        if any(one is None or "trace-offset" in one or "return-offset" in one for one in more):
            return [], None  # parts of a trace are kept for the check
        runs += runs_of(simulator, link, setting, sessions, more, length)
        half = statistics.interval([run["carried_share"] for run in runs])[1]
        others: Any = link.a.unseen
        if last:
            if enough(half, len(runs), others):
                break
        elif half <= EXPECT_HALF or apart(half, len(runs), others) > 2 * UNSEEN_HALF or len(runs) > EXPECT_STEP and hopeless(half, len(runs), 1, others):
            break
    return runs, half


def hopeless(half: Any, runs: Any, times: int, others: Any) -> Any:
    """Would runs so many times as long still be too short, by what the interval of so many runs says of their deviation? It has to be
    so by far: five runs know little of it."""
    deviation = half * math.sqrt(runs) / statistics.quantile(runs - 1) / math.sqrt(times)
    least = statistics.quantile(EXPECT_MOST - 1) * deviation / math.sqrt(EXPECT_MOST)
    return least > SURE * EXPECT_HALF or apart(least, EXPECT_MOST, others) > SURE * UNSEEN_HALF


def expected(simulator: Any, link: Any, setting: Any, sessions: int) -> Any:
    """What any realisation will bring, and the length of the runs that it was found in: the mean over realisations. The trace of the
    search alone is too good: the number was chosen on it. The runs are as long as it takes for further ones to bring
    the same. None where nothing is drawn."""
    runs: list[Any] = []
    half, length = None, link.duration()
    lengths, others = [*link.lengths(), *link.longer()], link.a.unseen
    for longer in lengths if others else ():
        if runs and longer not in (link.duration(), lengths[-1]) and hopeless(half, len(runs), longer / length, others):
            continue
        length = longer
        runs, half = over_runs(simulator, link, setting, sessions, length, longer == lengths[-1])
        if not runs or enough(half, len(runs), others):
            break
    if not runs:
        return None, link.duration()
    shares, rates = ([run[key] for run in runs] for key in ("efficiency", "goodput_bps"))
    mean, ci95 = statistics.interval(shares)
    return {"runs": len(runs), "seconds": length, "efficiency": mean, "ci95": ci95, "goodput_bps": statistics.interval(rates)[0], **carried(runs)}, length


class Sure:
    """The fewest sessions that suffice in a share of the realisations."""

    def __init__(self, simulator: Any, link: Link, setting: dict[str, Any], high: int) -> None:
        self.simulator, self.link, self.setting, self.high = simulator, link, setting, high

    def suffices(self, run: dict[str, Any], most: dict[str, Any]) -> bool:
        """On the same realisation: the floor is kept, or more sessions bring no more."""
        return point.suffices(self.link.a, point.Point([run]), point.Point([most]))

    def count(self, sessions: int, realisations: list[dict[str, int | str]]) -> tuple[int, list[dict[str, Any]]]:
        most = runs_of(self.simulator, self.link, self.setting, self.high, realisations)
        runs = runs_of(self.simulator, self.link, self.setting, sessions, realisations)
        return sum(self.suffices(*both) for both in zip(runs, most)), runs

    def fewest(self, realisations: list[dict[str, int | str]], low: int) -> int:
        """By halving, from the number `low` that one trace wants; the most when none suffices often enough."""
        wanted = math.ceil(self.link.a.confidence * len(realisations) - 1e-9)
        if self.count(low, realisations)[0] >= wanted:
            if self.link.a.goal == "delay":  # it was not the fewest that was sought
                return low
            low, high = 0, low
        else:
            high = self.high
        while high - low > 1:
            middle = (low + high) // 2
            if self.count(middle, realisations)[0] >= wanted:
                high = middle
            else:
                low = middle
        return high

    def find(self, sessions: int) -> dict[str, dict[str, float] | float] | None:
        """None where nothing is drawn."""
        a = self.link.a
        choice = Realisations(self.link).many(CHOICE, a.realisations)
        if len(choice) < 2:
            return None
        found = self.fewest(choice, min(sessions, self.high))
        chosen, runs = self.count(found, choice)
        check = Realisations(self.link).many(CHECK, a.realisations)
        result = {"confidence": a.confidence, "sessions_on_trace": sessions, "sessions": found, "most_sessions": self.high, "runs": len(choice), "suffice": chosen,
                  "suffice_with_those_of_trace": self.count(min(sessions, self.high), choice)[0]}
        for key in ("efficiency", "goodput_bps"):
            mean, half = statistics.interval([run[key] for run in runs])
            result[key] = {"mean": mean, "ci95": half, "least": min(run[key] for run in runs)}
        result.update(carried(runs))
        if check:
            kept, _ = self.count(found, check)
            result["held_out"] = {"runs": len(check), "suffice": kept, "share": kept / len(check), "at_least": at_least(kept, len(check))}
        return result
