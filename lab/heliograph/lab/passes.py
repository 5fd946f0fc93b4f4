# SPDX-License-Identifier: Apache-2.0
"""helio-lab passes: contacts, ranges and fading of a satellite above ground stations, from its orbit."""

from __future__ import annotations

import argparse
import csv
import datetime
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from .. import advice, places, programs, units
from ..arguments import Parser
from ..processes import Failed
from . import orbits

EPILOG = """It writes into DIR: passes.csv (a row for each pass), plan.yaml (the contact plan, with ranges as tables), for each
station link-SATELLITE-STATION.yaml (a scenario with contacts and delays, for helio-emu and as `scenario:` of a link in a
lab file) with the trace of its fading, and lab.yaml, a lab with the satellite, its stations and a mission centre.

examples:
  helio-lab passes --tle iss.txt --station rome=41.9,12.5,0 \\
      --station matera=40.65,16.7,540 --for 1d --out leo
  helio-lab leo/lab.yaml up --mode sim
exit codes: 0 done, 1 failed, 2 wrong usage or file"""
STEP_NS = 100_000  # of a trace
DERIVED = ("--duration", "--elevation", "--output", "--power", "--preset", "--scintillation", "--seed", "--step", "--steps")  # helio-trace gen's, of a pass


def station(text: Any) -> Any:
    match: Any = re.fullmatch(r"(?:([A-Za-z0-9_.]+)=)?(-?[\d.]+),(-?[\d.]+)(?:,(-?[\d.]+))?", text)
    try:
        name, lat, lon, alt = match[1], float(match[2]), float(match[3]), float(match[4] or 0)
        if not (-90 <= lat <= 90 and -180 <= lon <= 360 and -500 <= alt <= 9000):
            raise ValueError
    except (TypeError, ValueError):
        raise argparse.ArgumentTypeError(f"\"{text}\": NAME=LATITUDE,LONGITUDE,ALTITUDE is wanted: degrees north, degrees east, "
                                         "metres, such as rome=41.9,12.5,30") from None
    return name, lat, lon, alt / 1000


def duration(text: Any) -> Any:
    try:
        return units.duration(text)
    except units.UnitError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def rate(text: Any) -> Any:
    try:
        return units.rate_text(units.rate(text))
    except units.UnitError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def gen_options(text: str) -> list[str]:
    """Options of helio-trace gen, long ones only; those that a pass sets itself are refused."""
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(f"\"{text}\": {e}") from None
    for one in words:
        name = one.partition("=")[0]
        if re.match("-[a-z]", name) or (name.startswith("--") and any(derived.startswith(name) for derived in DERIVED)):
            raise argparse.ArgumentTypeError(f"{name} cannot be given: the pass and the other options set it; write such as \"--aperture 0.4m --reacquire 20ms\"")
    return words


def date(text: Any) -> Any:
    try:
        when = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"\"{text}\": a date is wanted, such as 2026-11-22T12:00:00Z") from None
    return when if when.tzinfo else when.replace(tzinfo=orbits.UTC)


def arguments() -> Any:
    p = Parser(prog="helio-lab passes", epilog=EPILOG, description="Contacts, ranges and elevation-dependent fading from an orbit.")
    p.add_argument("--tle", required=True, metavar="FILE", help="two-line elements")
    p.add_argument("--satellite", metavar="NAME", help="which of the file (default: the first)")
    p.add_argument("--station", required=True, action="append", type=station, metavar="[NAME=]LAT,LON[,ALT]", help="a ground station; once for each")
    p.add_argument("--from", dest="start", type=date, metavar="DATE", help="time zero (default: of the elements)")
    p.add_argument("--for", dest="span", type=duration, default=86400.0, metavar="TIME", help="how long (default 1d)")
    p.add_argument("--elevation", type=float, default=10.0, metavar="DEG", help="contact from this elevation on (default 10)")
    p.add_argument("--step", type=duration, default=10.0, metavar="TIME", help="of the tables of ranges (default 10s)")
    p.add_argument("--rate", type=rate, default="500Mbit/s", help="down (default 500Mbit/s)")
    p.add_argument("--rate-up", type=rate, default="1Mbit/s", help="up (default 1Mbit/s)")
    p.add_argument("--fading", choices=("optical", "no"), default="optical", help="down: scintillation by the elevation, or none")
    p.add_argument("--margin", default="4dB", help="of the optical receiver, as of helio-trace gen (default 4dB)")
    p.add_argument("--fec", default="3dB", help="gain of its code (default 3dB)")
    p.add_argument("--gen", type=gen_options, default=[], metavar="OPTIONS",
                   help="more options of helio-trace gen for the fading, such as \"--aperture 0.4m --interleaver 5ms --reacquire 20ms\"")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default="passes", metavar="DIR")
    return p


def word(name: str, fallback: Any) -> Any:
    return re.sub(r"[^A-Za-z0-9_.]+", "_", name or "").strip("_")[:30] or fallback


def choose(satellites: Any, name: str, path: str) -> Any:
    if name is None:
        return satellites[0]
    for one in satellites:
        if one.name == name:
            return one
    raise places.PlacesError(f"{path}: there is no satellite {name}; there are {', '.join(one.name for one in satellites)}")


def epoch(satellite: Any) -> Any:
    record = satellite.record
    seconds = round((record.jdsatepoch - 2440587.5 + record.jdsatepochF) * 86400)
    return datetime.datetime.fromtimestamp(seconds, orbits.UTC)


# ---- what is written ----


def seconds(t: Any) -> Any:
    return units.duration_text(round(t, 3)) if t > 0 else "0s"


def delay(distance: Any) -> Any:
    return units.duration_text(round(distance / orbits.LIGHT, 7))


def table(found: Any) -> Any:
    """The delay over time; each pass has its points, and between passes it is not used."""
    points, last = [], -1.0
    for one in found:
        for t, _, distance in one.points:
            if round(t, 3) > last:
                last = round(t, 3)
                points.append({"at": seconds(t), "delay": delay(distance)})
    return points


def scenario(a: argparse.Namespace, found: Any, trace: Any) -> Any:
    contacts = [{"from": seconds(one.rise), "to": seconds(one.set)} for one in found]
    both = {"start": "0", "delay": table(found), "contacts": contacts}
    down = {"rate": a.rate}
    if trace:
        down["erasures"] = {"trace": {"file": os.path.basename(trace), "loop": "no"}}
    return {"seed": str(a.seed), "both": both, "forward": down, "return": {"rate": a.rate_up}}


def plan(a: argparse.Namespace, numbers: Any, found: Any) -> Any:
    contacts, ranges = [], []
    for name, passes in found.items():
        sat, ground = str(numbers[a.name]), str(numbers[name])
        for one in passes:
            span = {"start": seconds(one.rise), "end": seconds(one.set)}
            contacts.append({"from": sat, "to": ground, **span, "rate": a.rate})
            contacts.append({"from": ground, "to": sat, **span, "rate": a.rate_up})
        if passes:
            end = seconds(passes[-1].set)
            points = [{"at": point["at"], "owlt": point["delay"]} for point in table(passes) if point["at"] != end]
            ranges.append({"from": sat, "to": ground, "end": end, "table": points})
    return {"start": f"{a.start:%Y-%m-%dT%H:%M:%SZ}", "contacts": contacts, "ranges": ranges}


SHARE = 0.1      # of a pass' downlink capacity: the most that the lab's traffic may queue before it
BYTES = 100e6    # of the lab's traffic at most: a demonstration, not a load
PAYLOAD = 250e3


def windows(found: Any) -> Any:
    """When the satellite sees any station: [from, to), in order."""
    out: list[Any] = []
    for one in sorted((one for passes in found.values() for one in passes), key=lambda one: float(one.rise)):
        if out and one.rise <= out[-1][1]:
            out[-1][1] = max(out[-1][1], one.set)
        else:
            out.append([one.rise, one.set])
    return out


def sending(a: argparse.Namespace, seen: Any) -> Any:
    """(start, end, bit/s, duration of the run) of the lab's traffic. It begins with the first contact and ends when the last one begins (with a single
    one: in its first half). Its rate is so low that each contact can transmit what was sent before it. The run ends a little after the last contact:
    nothing arrives later.
    """
    down = units.rate(a.rate)
    able = [(begin, end) for begin, end in seen if down * (end - begin) * SHARE >= 8 * PAYLOAD]
    if not able:
        raise Failed(f"no pass can carry a bundle of {units.size_text(PAYLOAD)} at {a.rate} ten times; take a higher --rate, a lower "
                     "--elevation, or more time (--for)")
    first, last = able[0][0], able[-1]
    end = last[0] if len(able) > 1 else sum(last) / 2
    speeds = [1e6, 8 * BYTES / (end - first)]
    speeds += [SHARE * down * (after[1] - after[0]) / (after[0] - before[0]) for before, after in zip(able, able[1:])]
    return first, end, min(speeds), last[1] + 10


def lab(a: argparse.Namespace, stations: Any, found: Any) -> Any:
    start, end, speed, over = sending(a, windows({s.name: found[s.name] for s in stations}))
    start, over = math.ceil(start), math.ceil(over)
    sends = max(1, math.floor(end - start))
    return {"title": f"{a.name}, {' and '.join(s.name for s in stations)}, and a mission centre",
            "nodes": {a.name: {}, **{s.name: {} for s in stations}, "mission": {}},
            "links": {**{f"{a.name}-{s.name}": {"scenario": f"link-{a.name}-{s.name}.yaml", "sessions": "auto"} for s in stations},
                      **{f"{s.name}-mission": {"rate": "1Gbit/s", "delay": "10ms"} for s in stations}},
            "traffic": [{"perf": f"{a.name}-mission", "start": f"{start}s", "duration": f"{sends}", "rate": units.rate_text(math.floor(speed)),
                         "payload": units.size_text(PAYLOAD), "lifetime": f"{over}", "linger": f"{over - start - sends}"}],
            "duration": f"{over}s"}


def write(path: str, title: Any, tree: places.Map) -> None:
    writer = places.Writer(title)
    writer.add(places.put(tree, (path, 0)))
    writer.write(path)


# ---- fading ----


def run(*words: Any) -> Any:
    done = subprocess.run([programs.find(words[0]), *words[1:]], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.strip() or f"{words[0]} ended with code {done.returncode}")
    return done.stdout


def pass_runs(a: argparse.Namespace, one: Any, seed: Any) -> Iterator[Any]:
    """(bad, steps) of one pass: scintillation and distance follow its elevation."""
    profile = ",".join(f"{t - one.rise:.1f}s:{max(elevation, 0.1):.1f}" for t, elevation, _ in thin(one.points))
    text = run("helio-trace", "gen", "--scintillation", "gamma-gamma", "--elevation", profile, "--margin", a.margin, "--fec", a.fec, *a.gen,
               "--duration", f"{math.ceil((one.set - one.rise) * 1e4) * STEP_NS}ns", "--seed", str(seed), "-o", "-")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            state, steps = line.split()
            yield int(state), int(steps)


def thin(points: Any, most: int = 24) -> Any:
    every = max(1, math.ceil(len(points) / most))
    return points[::every] + ([points[-1]] if (len(points) - 1) % every else [])


def trace(a: argparse.Namespace, found: Any, path: str) -> None:
    """One trace from time zero on: good where no pass is, since there the contacts decide."""
    at = 0
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="ascii") as f:
        f.write(f"# step_ns {STEP_NS}\n# generator passes\n")
        for i, one in enumerate(found):
            gap = math.floor(one.rise * 1e4) - at
            if gap > 0:
                f.write(f"0 {gap}\n")
                at += gap
            for state, steps in pass_runs(a, one, a.seed * 1000 + i):
                f.write(f"{state} {steps}\n")
                at += steps
        f.flush()
        run("helio-trace", "convert", f.name, path)


def work(a: argparse.Namespace) -> Any:
    try:
        satellite = choose(orbits.read_elements(a.tle), a.satellite, a.tle)
    except OSError as e:
        raise places.PlacesError(f"{a.tle}: {e.strerror}") from None
    except UnicodeDecodeError:
        raise places.PlacesError(f"{a.tle}: this is no text") from None
    a.name = word(satellite.name, "sat")
    a.start = a.start or epoch(satellite)
    stations = [orbits.Station(word(name, f"gs{i + 1}"), *rest) for i, (name, *rest) in enumerate(a.station)]
    if len({s.name for s in stations} | {a.name, "mission"}) < len(stations) + 2:
        raise places.PlacesError("--station: two of them, or one and the satellite, have the same name")
    found = {s.name: orbits.Scan(satellite, s, a.start).passes(a.span, a.elevation, a.step) for s in stations}
    if not any(found.values()):
        raise Failed(f"{satellite.name} does not rise above {a.elevation:g} degrees at any station in that time")
    os.makedirs(a.out, exist_ok=True)
    rows = sorted(((one, name) for name, passes in found.items() for one in passes), key=lambda pair: float(pair[0].rise))
    with open(os.path.join(a.out, "passes.csv"), "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["station", "rise", "rise_s", "culmination_s", "set_s", "duration_s", "elevation_max_deg", "range_min_km"])
        for one, name in rows:
            when = a.start + datetime.timedelta(seconds=one.rise)
            w.writerow([name, f"{when:%Y-%m-%dT%H:%M:%SZ}", *(f"{t:.3f}" for t in (one.rise, one.culmination, one.set, one.set - one.rise)),
                        f"{one.elevation:.2f}", f"{min(p[2] for p in one.points):.1f}"])
            print(f"{when:%Y-%m-%d %H:%M:%S}  {name:<12} {one.set - one.rise:6.0f} s  up to {one.elevation:4.1f} degrees")
    numbers = {name: i + 1 for i, name in enumerate([a.name, *(s.name for s in stations), "mission"])}
    origin = f"from {os.path.basename(a.tle)} ({satellite.name}), time zero {a.start:%Y-%m-%dT%H:%M:%SZ}"
    for s in stations:
        path = None
        if a.fading == "optical" and found[s.name]:
            path = os.path.join(a.out, f"link-{a.name}-{s.name}.htr")
            trace(a, found[s.name], path)
        if found[s.name]:
            write(os.path.join(a.out, f"link-{a.name}-{s.name}.yaml"), f"{a.name} to {s.name}, {origin}", scenario(a, found[s.name], path))
        else:
            print(f"helio-lab: no pass above {s.name}; it is left out of lab.yaml", file=sys.stderr)
    write(os.path.join(a.out, "plan.yaml"), f"contacts {origin}; nodes: {', '.join(f'{n} {name}' for name, n in numbers.items())}",
          plan(a, numbers, found))
    write(os.path.join(a.out, "lab.yaml"), f"a lab {origin}", lab(a, [s for s in stations if found[s.name]], found))
    print(f"{a.out}: passes.csv, plan.yaml, lab.yaml and a scenario for each station")
    return 0


def main(argv: list[str]) -> Any:
    a = arguments().parse_args(argv)
    try:
        return work(a)
    except ModuleNotFoundError as e:
        print(f"helio-lab passes: {advice.missing_module(e)}", file=sys.stderr)
        return 1
    except (places.PlacesError, orbits.OrbitError) as e:
        print(f"helio-lab passes: {e}", file=sys.stderr)
        return 2
    except (Failed, programs.ProgramError) as e:
        print(f"helio-lab passes: {e}", file=sys.stderr)
        return 1
