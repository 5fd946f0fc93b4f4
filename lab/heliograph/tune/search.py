# SPDX-License-Identifier: Apache-2.0
"""The search of helio-tune: segment size, timer and number of sessions, each point a simulation."""

from __future__ import annotations

import argparse
import math
from typing import Any

from .. import units, warmup
from ..campaign import traces as campaign_traces
from . import code, realisations, take
from .point import UNSURE, Point, gain, grain, of_reachable, suffices

BLOCKS = 12000  # of a run, when no duration is given: enough for a 99th percentile
ROUNDS = 40     # round trips of a run at least: with fewer the sessions are not in a steady state
PART_BLOCKS = 300  # of a run that is a part of that: so many are counted in thirds of a percent
ALIKE = 0.0005  # of the carried share: segment sizes and timers that differ by less are compared by their sessions
STALL = 20e-3   # a receiver that does not run for so long loses nothing
SOCKET_BUFFER = 1 << 20  # at least
TIMERS = (1.15, 1.5, 2, 3, 5)  # of the loss-free checkpoint-to-report time,
JITTER = 2e-3                  # to which real nodes add this, and more under load


class Link:
    """What is given: the channel, the block, the wish."""

    def __init__(self, a: argparse.Namespace, trace: str, folder: str = ".") -> None:
        self.a, self.trace = a, trace
        self.traces = campaign_traces.Traces(folder)
        self.rtt = 2 * a.delay + a.processing

    def duration(self) -> float:
        if self.a.duration:
            result: float = self.a.duration
            return result
        radiation = 8 * self.a.block / self.a.rate
        result = max(min(100.0, max(BLOCKS * radiation, 200 * self.rtt, 2.0)), ROUNDS * self.rtt)
        return result

    def lengths(self) -> list[float]:
        """Of runs that need not be the whole duration, each twice the one before; the last is the whole."""
        whole, found = self.duration(), []
        if self.a.duration is None:
            least = max(2.0, ROUNDS * self.rtt, PART_BLOCKS * 8 * self.a.block / self.a.rate)
            found = [part for part in (whole / 8, whole / 4, whole / 2) if part >= least]
        return [*found, whole]

    def longer(self) -> Any:
        """Of runs that tell what is to be expected, where the whole duration does not: few blocks on a slow or long path."""
        return [2 * self.duration(), 4 * self.duration()] if self.a.duration is None else []

    def trial(self) -> int:
        """A number of sessions that is surely enough."""
        result: int = min(max(8, 4 * math.ceil(self.rtt / self.radiation(1024))), self.a.sessions_max)
        return result

    def warmup(self, length: float | None = None) -> float:
        """One for all numbers of sessions: they are compared over the same part of the trace, which weighs more than they
        do. None where the start is less than a hundredth of the run."""
        a, length = self.a, length or self.duration()
        start = warmup.seconds(length, a.delay, a.processing, self.trial(), a.block, a.rate)
        return start if start >= 0.01 * length or length < self.duration() else 0.0

    def warmup_needed(self, sessions: int) -> float:
        """Of a run of any length with so many sessions."""
        a = self.a
        return warmup.needed(a.delay, a.processing, sessions, a.block, a.rate)

    def options(self, seed: int, length: Any = None, **more: int | str) -> dict[str, int | str]:
        """Of a run that begins to count in the steady state, and whose last sessions are followed to their end."""
        a, length = self.a, length or self.duration()
        start = self.warmup(length)
        if start > 0:
            more.update({"warmup": units.duration_text(start), "follow": "yes"})
        if a.return_trace:
            more.setdefault("return-trace", a.return_trace)
        if a.return_rate:
            more["return-rate"] = f"{a.return_rate}bit/s"
        return {"trace": self.trace, "rate": f"{a.rate}bit/s", "delay": units.duration_text(a.delay),
                "processing": units.duration_text(a.processing), "overhead": a.overhead, "bundle": f"{a.block}B",
                "duration": units.duration_text(length), "seed": seed, **more}

    def segments(self) -> Any:
        if self.a.segment:
            return [self.a.segment]
        largest = self.a.mtu - 28  # IPv4 and UDP
        return sorted({s for s in (512, 1024, largest) if s <= largest})

    def radiation(self, segment: int) -> float:
        """Of a block: its segments with their headers and the overhead, seconds."""
        header = 12  # of a data segment: about 20 bytes where it is a checkpoint
        data = segment - header
        full, rest = divmod(self.a.block, data)
        air = full * (segment + self.a.overhead) + (rest + header + self.a.overhead if rest else 0)
        result: float = 8 * air / self.a.rate
        return result


class Search:
    def __init__(self, simulator: Any, link: Link, recovery: str, segment: int, rto: float) -> None:
        self.simulator, self.link = simulator, link
        named = "default" if recovery == "default" else "plain"
        self.setting = {"segment": f"{segment}B", "recovery": named, "rto": units.duration_text(rto)}
        self.noise = 0.0  # half of the 95 % interval of a difference between numbers that are both more than enough, as a share
        if recovery == "default":
            self.setting["rto"] = "auto"

    def points(self, numbers: list[int], length: Any = None) -> list[Point]:
        seeds = range(1, self.link.a.seeds + 1)
        many = [self.link.options(seed, length, sessions=n, **self.setting) for n in numbers for seed in seeds]
        runs = self.simulator.run_all(many)
        k = len(seeds)
        return [Point(runs[i * k:(i + 1) * k]) for i in range(len(numbers))]

    def saturate(self, first: Any = None, length: Any = None) -> tuple[int, dict[int, Point]]:
        """Doubles, from `first` on, until twice the sessions bring nothing: the number, and the points of all that were tried."""
        limit = self.link.a.sessions_max
        n = max(1, math.ceil(self.link.rtt / self.link.radiation(1024)))
        n = min(first or 1 << math.ceil(math.log2(n + 1)), limit)
        seen = dict(zip([n], self.points([n], length)))
        barren = 0  # doublings that brought nothing at all: sessions are not what is missing
        while n < limit:
            m = min(2 * n, limit)
            seen[m], = self.points([m], length)
            more, half = gain(seen[m], seen[n])
            tolerated = self.link.a.tolerance * seen[n].carried()
            n = m
            barren = 0 if seen[n].carried() > 0 else barren + 1
            if (more < max(tolerated / 5, min(half, tolerated)) and barren == 0) or barren == 3:
                break
        return n, seen

    def fewest(self, highest: Point, seen: dict[int, Point], length: Any = None, near: Any = None) -> int:
        """The least number that suffices, but for a grain; `seen` has points of some numbers, and the greatest of them
        is enough. What is looked at first is around `near`, in steps that double."""
        def enough(point: Point) -> bool:
            return suffices(self.link.a, point, highest)

        high = min((n for n, point in seen.items() if enough(point)), default=max(seen))
        low = max((n for n in seen if n < high), default=0)
        step = max(1, (near or 0) // 16)
        while high - low > grain(high):
            if near is not None and not low < near < high:
                near = None
            numbers = probes(low, high, near, step, self.simulator.jobs)
            for n, point in zip(numbers, self.points(numbers, length)):
                seen[n] = point
                if enough(point):
                    high = n
                    break
                low = n
            if near is not None:
                near = numbers[0] - step if high == numbers[0] else numbers[-1] + step if low == numbers[-1] else None
                step *= 2
        return high

    def near(self) -> Any:
        """(a number that is near the fewest, one that is more than enough), by runs of a part of the duration, which is a part of
        the cost; nothing is known of either where the shortest part is the whole."""
        part = self.link.lengths()[0]
        if part >= self.link.duration():
            return None, None
        high, seen = self.saturate(None, part)
        return self.fewest(seen[high], seen, part), high

    def best(self) -> tuple[int, Point, Point, int]:
        a = self.link.a
        near, more = self.near()
        high, seen = self.saturate(more and more // 2)
        highest = seen[high]
        if len(seen) > 1 and high < a.sessions_max and highest.carried() > 0:  # at --sessions-max the last step may still have brought something
            self.noise = gain(highest, seen[max(n for n in seen if n < high)])[1] / highest.carried()
        start = self.fewest(highest, seen, None, near)
        if a.goal == "goodput":
            return start, self.points([start])[0], highest, high
        # From there on more sessions may shorten the tail (repetitions of the oldest first) or lengthen it.
        numbers = sorted({min(high, start + round(start * f)) for f in (0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1)})
        points = [(p["delivery_ms"]["p99"], n, p) for n, p in zip(numbers, self.points(numbers))]
        # A run with more sessions may carry less: then the most is the nearest to the floor.
        kept = [x for x in points if suffices(a, x[2], highest)] or [max(points, key=lambda x: x[2].carried())]
        _, sessions, point = min(kept, key=lambda x: (x[0] if x[0] == x[0] else math.inf, x[1]))
        return sessions, point, highest, high


def probes(low: int, high: int, near: Any, step: int, jobs: int) -> list[int]:
    """Numbers between low and high to be looked at, as many as are run at once: around `near`, else evenly spread."""
    parts = min(jobs, high - low - 1)
    if near is None:
        found = {low + (high - low) * (i + 1) // (parts + 1) for i in range(parts)}
    else:
        found = {min(max(near + step * (2 * i - parts + 1), low + 1), high - 1) for i in range(parts)}
    return sorted(found - {low, high})


def better(goal: Any, one: Any, other: Any) -> Any:
    """Is the point `one` clearly better than `other`?"""
    if goal == "delay":
        return one["delivery_ms"]["p99"] < 0.99 * other["delivery_ms"]["p99"]
    more, half = gain(one, other)
    alike = ALIKE * other.carried()
    alike = max(alike, min(half, UNSURE * alike))
    return more > alike or (more > -alike and one["session_ms"]["mean"] < 0.99 * other["session_ms"]["mean"])


def ion_timer(delay: float) -> float:
    """ION knows the light time in whole seconds, at least one where the nodes are not the same."""
    return 2.0 * max(1, math.ceil(delay))


def timers(link: Link, recovery: str) -> list[float]:
    base = max(link.rtt, 1e-3)
    if recovery == "default":
        return [round(2 * base, 6)]
    if recovery == "ion":
        return [ion_timer(link.a.delay)]
    return [link.a.rto] if link.a.rto else [round(base * f + JITTER, 6) for f in TIMERS]


def chosen_of(simulator: Any, link: Any, recovery: Any, candidates: Any) -> Any:
    """The best of some (segment size, timer), at a number of sessions that is surely enough. They meet the same fades, so that a part of
    the duration tells it."""
    trial, length = link.trial(), link.lengths()[0]
    searches = [Search(simulator, link, recovery, *candidate) for candidate in candidates]
    for one in searches if len(searches) > 1 else ():  # all at once, read back below
        for seed in range(1, link.a.seeds + 1):
            simulator.start(link.options(seed, length, sessions=trial, **one.setting))
    chosen: Any = None
    for one, candidate in zip(searches, candidates):
        point = one.points([trial], length)[0] if len(searches) > 1 else None
        if chosen is None or better(link.a.goal, point, chosen[2]):
            chosen = (candidate, one, point)
    return chosen[:2]


def settle(simulator: Any, link: Any, recovery: Any) -> Any:
    """Segment size, at the middle one of the timers; timer, with that size; and then the number of sessions."""
    given = timers(link, recovery)
    (segment, _), _ = chosen_of(simulator, link, recovery, [(s, given[len(given) // 2]) for s in link.segments()])
    (_, rto), one = chosen_of(simulator, link, recovery, [(segment, t) for t in given])
    best = one.best()
    return segment, rto, *best, one.noise


def split(link: Any, recovery: Any, segment: Any, rto: Any, point: Any) -> Any:
    """Of the mean session as in the paper: what is ideal, what repetitions and lost checkpoints cost; the rest is
    what the two estimates of the costs leave open."""
    mean = point["session_ms"]["mean"]
    ideal = 1e3 * (link.radiation(segment) + link.rtt)
    cycles = 1e3 * link.rtt * point["retx_cycles_mean"]
    # Copies of a checkpoint are not waited for: with them a loss costs no timer.
    lost = 1e3 * rto * point["checkpoints_lost_mean"] if recovery != "default" else 0.0
    return {"ideal": ideal, "retransmission": cycles, "checkpoints": lost, "rest": mean - ideal - cycles - lost}


def settings(simulator: Any, link: Any, recovery: Any) -> Any:
    segment, rto, sessions, point, most, high, noise = settle(simulator, link, recovery)
    a = link.a
    chosen = Search(simulator, link, recovery, segment, rto)
    setting, sure = chosen.setting, None
    if a.realisations != 0:
        sure = realisations.Sure(simulator, link, setting, high, noise).find(sessions)
        if sure:
            sessions = sure["sessions"]
            point, = chosen.points([sessions])
    keys = ("goodput_bps", "capacity_bps", "efficiency", "carried_share", "reachable_share", "good_share", "payload_share", "session_ms", "delivery_ms",
            "retx_cycles_mean", "checkpoints_lost_mean", "lossy_share")
    early = recovery == "default"
    expected, length = realisations.expected(simulator, link, setting, sessions)
    return {
        "sessions": sessions, "warmup_s": float(units.duration(units.duration_text(link.warmup()))), "warmup_needed_s": link.warmup_needed(sessions), "rto_s": rto, "rto_auto": early, "segment_bytes": segment,
        "checkpoints": "early ones each 192 segments, closing ones repeated each 2 ms" if early else "one at the end of the block",
        "memory_bytes": sessions * link.a.block,
        "socket_buffer_bytes": max(SOCKET_BUFFER, round(link.a.rate * STALL / 8)),
        "predicted": {**{k: point[k] for k in keys}, "carried_se": point.carried_se()},
        "expected": expected,
        "unseen": realisations.held_out(simulator, link, setting, sessions, length),
        "realisations": sure,
        "trace_alone": a.realisations != 0 and sure is None and realisations.Realisations(link).drawn(),
        "floor": a.floor if a.goal == "delay" else None,
        "floor_kept": of_reachable(point) >= a.floor if a.goal == "delay" else None,
        "most_carried_share": max(most["carried_share"], point["carried_share"]),  # runs of other lengths
        "saturated": sessions < a.sessions_max,
        "split_ms": split(link, recovery, segment, rto, point),
    }


def search(simulator: Any, link: Any) -> Any:
    a = link.a
    wanted = {"both": ("plain", "default"), "all": ("plain", "default", "ion")}.get(a.recovery, (a.recovery,))
    found = {name: settings(simulator, link, name) for name in wanted}
    return {
        "link": {"trace": a.trace or ("A" if a.bad_mean is None else "statistics"), "rate_bps": a.rate, "delay_s": a.delay,
                 "processing_s": a.processing, "overhead_bytes": a.overhead, "block_bytes": a.block, "mtu": a.mtu,
                 "bad_mean_s": a.bad_mean, "bad_sd_s": a.bad_sd, "good_mean_s": a.good_mean, "good_sd_s": a.good_sd,
                 "return_trace": a.return_trace, "return_rate_bps": a.return_rate},
        "goal": a.goal, "tolerance": a.tolerance, "duration_s": link.duration(), "seeds": a.seeds,
        "simulations": simulator.done, "recovery": found, "take": take.take(a.goal, found), "code": code.trade(a, link.trace, found),
    }
