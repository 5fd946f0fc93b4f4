# SPDX-License-Identifier: Apache-2.0
"""What helio-tune found, on further realisations of the fading: how sure is it?

One trace is one draw. The number of sessions that suffices on it need not suffice on the next one: on a long path it mostly does not. So the number is
sought that suffices in a given share of several realisations. All are drawn alike. So the chance that another one needs no more than the k-th of N does is
k / (N + 1) at least: 19 of 20 for the greatest of 19. With --realisations it is also checked on as many that the choice has not seen.
"""

from __future__ import annotations

import dataclasses
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
RUNS = 19       # realisations that the number is chosen on by default: the greatest of them suffices in another one with a chance of 19 in 20
STEPS = 16      # the first step from the number that one trace needs is one in so many
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

    def part(self, first: int, number: int) -> int:
        """Which part of a trace's file that is: those for the check of the result come first, then those of the choice, then those for its check."""
        unseen, runs = int(self.link.a.unseen), int(self.link.a.realisations or RUNS)
        return number + {CHOICE: unseen, CHECK: unseen + runs}.get(first, 0)

    def drawn(self) -> bool:
        """Is anything drawn at all? Without fading all runs are one run."""
        return any(trace not in (None, "none") for trace in (self.link.trace, self.link.a.return_trace))

    def options(self, first: int, number: int, times: int = 1) -> dict[str, int | str] | None:
        """What makes a run that of realisation `number`, from 1 on, of those that begin at seed `first`, so many times as long; None:
        there is none."""
        if not self.drawn():
            return None
        part = self.part(first, number)
        forward = self.other(self.link.trace, first + number, part, times)
        back = self.other(self.link.a.return_trace, first + RETURN + number, part, times)
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


def needed(runs: int, confidence: float) -> int:
    """In so many of the realisations a number has to suffice."""
    return math.ceil(confidence * runs - 1e-9)


@dataclasses.dataclass
class Bracket:
    """Of one realisation: greater numbers than `low` and up to `high` may be the fewest that suffice."""
    realisation: dict[str, int | str]
    high: int
    low: int = 0


class Sure:
    """The fewest sessions that suffice in a share of the realisations. Where a number suffices, greater ones do, too: so each realisation has a
    bracket, and a number is tried only on those that have it in their bracket."""

    def __init__(self, simulator: Any, link: Link, setting: dict[str, Any], high: int, noise: float = 0.0) -> None:
        self.simulator, self.link, self.setting, self.high, self.noise = simulator, link, setting, high, noise
        self.asked = link.a.realisations is not None
        self.count = link.a.realisations if self.asked else RUNS

    def suffices(self, run: dict[str, Any], most: dict[str, Any]) -> bool:
        """On the same realisation: the floor is kept, or more sessions bring no more."""
        return point.suffices(self.link.a, point.Point([run]), point.Point([most]), self.count, self.noise)

    def runs(self, sessions: int, realisations: list[dict[str, int | str]]) -> list[tuple[bool, dict[str, Any]]]:
        """(does the number suffice?, its run) of each."""
        both = [{**self.link.options(1, sessions=n, **self.setting), **one} for n in (sessions, self.high) for one in realisations]
        runs = self.simulator.run_all(both)
        return [(self.suffices(*pair), pair[0]) for pair in zip(runs[:len(realisations)], runs[len(realisations):])]

    def sufficient(self, sessions: int, realisations: list[dict[str, int | str]]) -> int:
        return sum(one for one, _ in self.runs(sessions, realisations))

    def fewest(self, realisations: list[dict[str, int | str]], begin: int) -> int:
        """From the number `begin`, which one trace needs, in steps that double, then by halving; the most when none suffices often enough."""
        wanted, brackets = needed(len(realisations), self.link.a.confidence), [Bracket(one, self.high) for one in realisations]
        if self.link.a.goal == "delay" and self.enough(begin, wanted, brackets):  # it was not the fewest that was sought
            return begin
        low, high, step = 0, self.high, max(1, begin // STEPS)
        number = min(begin, high - 1)
        while high - low > point.grain(high):
            if self.enough(number, wanted, brackets):
                high = number
            else:
                low = number
            if low >= begin and high == self.high:
                number, step = min(low + step, high - 1), 2 * step
            elif high <= begin and low == 0:
                number, step = max(high - step, 1), 2 * step
            else:
                number = (low + high) // 2
        return high

    def enough(self, number: int, wanted: int, brackets: list[Bracket]) -> bool:
        """Does the number suffice in so many? The realisations that need most are tried first, and no more than it takes to know."""
        brackets.sort(key=lambda one: (-one.low, -one.high))
        waiting = [one for one in brackets if one.low < number < one.high]
        good = sum(one.high <= number for one in brackets)
        while waiting and good < wanted <= good + len(waiting):
            some, waiting = waiting[:self.simulator.jobs], waiting[self.simulator.jobs:]
            for one, (suffices, _) in zip(some, self.runs(number, [each.realisation for each in some])):
                one.low, one.high = (one.low, number) if suffices else (number, one.high)
                good += suffices
        return good >= wanted

    def find(self, sessions: int) -> dict[str, Any] | None:
        """None where nothing is drawn, or no other realisation is there."""
        a = self.link.a
        choice = Realisations(self.link).many(CHOICE, self.count)
        if len(choice) < 2:
            return None
        wanted = needed(len(choice), a.confidence)
        found = self.fewest(choice, min(sessions, self.high))
        runs = self.runs(found, choice)
        while sum(one for one, _ in runs) < wanted and found < self.high:  # by chance fewer did
            found = min(found + point.grain(found), self.high)
            runs = self.runs(found, choice)
        result: dict[str, Any] = {"confidence": a.confidence, "sessions_on_trace": sessions, "sessions": found, "most_sessions": self.high, "runs": len(choice),
                                  "suffice": sum(one for one, _ in runs), "chance": wanted / (len(choice) + 1), "noise": self.noise}
        for key in ("efficiency", "goodput_bps"):
            mean, half = statistics.interval([run[key] for _, run in runs])
            result[key] = {"mean": mean, "ci95": half, "least": min(run[key] for _, run in runs)}
        result.update(carried([run for _, run in runs]))
        if self.asked:
            result["suffice_with_those_of_trace"] = self.sufficient(min(sessions, self.high), choice)
            self.check(found, result)
        return result

    def check(self, found: int, result: dict[str, Any]) -> None:
        """On as many others."""
        others = Realisations(self.link).many(CHECK, self.count)
        if others:
            kept = self.sufficient(found, others)
            result["held_out"] = {"runs": len(others), "suffice": kept, "share": kept / len(others), "at_least": at_least(kept, len(others))}
