# SPDX-License-Identifier: Apache-2.0
"""helio-tune: how to set up an LTP link for a channel, by simulation on its trace.

The mean session time does not size the number of sessions (the tail does), so nothing here is computed by a
formula that can be simulated: helio-sim runs the engine itself over the trace for each candidate.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from .. import VERSION, programs, units, warmup
from ..arguments import Parser
from . import code, config, point, take
from .search import STALL, Link, search

EPILOG = """examples:
  helio-tune --trace A                              # 500 Mbit/s, 5 ms, 500 kB
  helio-tune --trace H --goal delay
  helio-tune --trace pass.txt --rate 2.5Gbit/s --delay 20ms --block 4MB \\
      --recovery default
  helio-tune --bad-mean 2ms --bad-sd 3ms --good-mean 15ms --good-sd 15ms
  helio-tune --trace F --config heliod --output tuned/
  helio-tune --trace H --return-trace iid:0.02 --processing 4ms \\
      --realisations 20

exit codes: 0 done, 1 failed, 2 wrong usage"""


def option(parse: Callable[..., Any], text: str) -> float:
    try:
        result: float = parse(text)
        return result
    except units.UnitError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def duration(text: str) -> float:
    return option(units.duration, text)


def rate(text: str) -> Any:
    return option(units.rate, text)


def size(text: str) -> Any:
    return option(units.size, text)


def count(low: int, high: int) -> Callable[..., Any]:
    def parse(text: str) -> int:
        if not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"\"{text}\" is no number from {low} to {high}")
        return int(text)

    return parse


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no share between 0 and 1")
    return value


def arguments() -> Parser:
    p = Parser(
        prog="helio-tune", epilog=EPILOG, description="Finds the settings of an LTP link for a fading channel by simulation on its trace.")
    channel = p.add_argument_group("the channel")
    channel.add_argument("--trace", metavar="T", help="A, F, H, leo-low, leo-high, jpl-47km, none, iid:P or a trace file (default A)")
    channel.add_argument("--bad-mean", type=duration, metavar="TIME", help="instead of a trace: mean of the fades,")
    channel.add_argument("--bad-sd", type=duration, metavar="TIME", help="their standard deviation (default: the mean),")
    channel.add_argument("--good-mean", type=duration, metavar="TIME", help="mean of the time between them,")
    channel.add_argument("--good-sd", type=duration, metavar="TIME", help="its standard deviation (default: the mean)")
    channel.add_argument("--rate", type=rate, default=rate("500Mbit/s"), help="nominal, bits on the air (default 500Mbit/s)")
    channel.add_argument("--delay", type=duration, default=5e-3, metavar="TIME", help="propagation, in each direction (default 5ms)")
    channel.add_argument("--return-trace", metavar="T", help="erasures of the return direction, as of --trace (default none)")
    channel.add_argument("--return-rate", type=rate, metavar="RATE", help="of the return direction (default: reports take no time to send)")
    channel.add_argument("--processing", type=duration, default=0.0, metavar="TIME",
                         help="of a checkpoint at the receiver before its report (default 0; the paper's nodes: 4ms)")
    channel.add_argument("--overhead", type=count(0, 65535), default=42, metavar="BYTES",
                         help="on the air beside each segment (default 42: UDP, IPv4, Ethernet)")
    what = p.add_argument_group("what is sent")
    what.add_argument("--block", type=size, default=500000, metavar="SIZE", help="bytes of a block (default 500kB)")
    what.add_argument("--segment", type=size, metavar="SIZE",
                      help="bytes of a whole LTP segment (default: the best of 512, 1024 and what --mtu allows)")
    what.add_argument("--mtu", type=count(576, 65535), default=1500, metavar="BYTES", help="of the network (default 1500)")
    what.add_argument("--rto", type=duration, metavar="TIME", help="fixed timer of plain recovery (default: the best)")
    wish = p.add_argument_group("what is wanted")
    wish.add_argument("--goal", choices=("goodput", "delay"), default="goodput",
                      help="goodput: the fewest sessions that saturate; delay: the shortest 99th percentile of the "
                           "delivery with at least --floor of the reachable capacity")
    wish.add_argument("--recovery", choices=("plain", "default", "ion", "both", "all"),
                      help="plain: RFC 5326 with a fixed timer (HDTN); default: heliod's switches; ion: plain with the timer "
                           "that ION takes; both: the first two (default); all")
    wish.add_argument("--tolerance", type=share, default=0.0005, metavar="SHARE",
                      help="saturated: so close to the most that more sessions bring (default 0.0005)")
    wish.add_argument("--floor", type=share, default=0.98, metavar="SHARE", help="for --goal delay, of the reachable capacity (default 0.98)")
    wish.add_argument("--sessions-max", type=count(1, 65536), default=4096, metavar="N", help="default 4096")
    run = p.add_argument_group("the simulation")
    run.add_argument("--duration", type=duration, metavar="TIME", help="of each run (default: 12000 blocks, 100 s at most)")
    run.add_argument("--seeds", type=count(1, 100), default=1, metavar="N", help="runs of each point, averaged (default 1)")
    run.add_argument("--unseen", type=count(0, 1000), default=5, metavar="N",
                     help="check what was found on so many further realisations of the fading (default 5)")
    run.add_argument("--realisations", type=count(0, 1000), metavar="N",
                     help="seek the sessions that suffice in --confidence of so many realisations of the fading, and check them on as "
                          "many others (default: 19, without that check; 0: those that suffice on the trace itself)")
    run.add_argument("--confidence", type=share, default=0.95, metavar="SHARE", help="of these (default 0.95)")
    run.add_argument("--jobs", type=count(1, 1024), default=os.cpu_count() or 1, metavar="N", help="at once (default: cores)")
    out = p.add_argument_group("output")
    out.add_argument("--json", action="store_true", help="the result as JSON")
    out.add_argument("--config", choices=config.KINDS, help="only this configuration, on standard output")
    out.add_argument("--output", metavar="DIR", help="write result.json and every configuration there")
    p.add_argument("--version", action="store_true", help="print the version and exit")
    return p


def check(p: Any, a: Any) -> None:
    if a.recovery is None:
        a.recovery = "all" if a.output else config.NEEDS.get(a.config, "both")
    elif a.config and a.recovery not in (config.NEEDS[a.config], "all") and not (
            a.recovery == "both" and a.config != "ion" or a.recovery == "plain" and a.config == "heliod"):
        p.error(f"--config {a.config} needs --recovery {config.NEEDS[a.config]}, or all")
    stats = a.bad_mean is not None or a.good_mean is not None
    if stats and (a.bad_mean is None or a.good_mean is None):
        p.error("--bad-mean and --good-mean go together")
    if stats and a.trace is not None:
        p.error("give --trace or --bad-mean and --good-mean, not both")
    if not stats and (a.bad_sd is not None or a.good_sd is not None):
        p.error("--bad-sd and --good-sd need --bad-mean and --good-mean")
    if a.segment is not None and not 64 <= a.segment <= 65000:
        p.error("--segment must be 64B to 65000B")
    if a.rto is not None and a.rto < 100e-6:
        p.error("--rto must be at least 100us")
    if a.block < 1 or a.rate < 1:
        p.error("--block and --rate must not be 0")
    if a.duration == 0:
        p.error("--duration must not be 0")


def trace_of(a: Any, folder: Any) -> Any:
    """The name that helio-sim knows, or a file made from the statistics."""
    if a.bad_mean is None:
        return a.trace or "A"
    path = os.path.join(folder, "trace.txt")
    config.generate(path, a)
    return path


def percent(share: float, digits: int = 2) -> str:
    return f"{100 * point.at_most_all(share):.{digits}f}"


def half_words(half: Any) -> Any:
    return f" ± {100 * half:.2f}" if half is not None else ""


def number(spread: Any, key: Any) -> Any:
    return f"{spread[key]:.1f}"


def warnings(result: dict[str, float], r: dict[str, Any]) -> Iterator[str]:
    """What was wished and is not so."""
    p = r["predicted"]
    need = r.get("warmup_needed_s")
    if need and warmup.is_cut(result["duration_s"], need):
        yield warmup.words(result["duration_s"], need, "--duration")
    if not p["efficiency"] > 0:
        yield f"no block arrives within {units.duration_text(result['duration_s'])}: give a longer --duration, or a longer --rto"
    if r["floor_kept"] is False:
        yield (f"the floor of {100 * r['floor']:g} % of the reachable capacity is not kept: {percent(point.of_reachable(p))} %; the most that any number "
               f"of sessions brings is {percent(point.of_reachable(p, r['most_carried_share']))} %")
    e = r["expected"] or p
    if r["expected"] and r["floor_kept"] and point.of_reachable(p, e["carried_share"]) < r["floor"]:
        yield (f"the floor is kept on the trace itself, but {percent(point.of_reachable(p, e['carried_share']))} % are to be expected of others: " +
               ("more sessions bring no more there" if r["realisations"] else "with --realisations more sessions are found"))
    if r["unseen"] and abs(r["unseen"]["carried_share"] - e["carried_share"]) > 0.01:
        yield (f"other realisations have {100 * (r['unseen']['carried_share'] - e['carried_share']):+.1f} points of the share carried: the trace is too short "
               "for a prediction, give a longer --duration and more --seeds, or a longer trace")
    if e["efficiency"] > 1.005:
        yield ("no steady state: the trace loses more at first. Blocks that it delayed then arrived in the time that is measured: more than the capacity "
               f"of that time. By the time of sending {percent(e['carried_share'], 1)} % of it are used")
    s = r["realisations"]
    if s and s["suffice"] < s["confidence"] * s["runs"] - 1e-9:
        yield (f"no number of sessions suffices in {100 * s['confidence']:g} % of the realisations; {s['sessions']} do in {s['suffice']} of "
               f"{s['runs']}")
    if r.get("trace_alone"):
        yield "no other realisation of the fading is known (no generator, and no further part of the trace): the number of sessions is for this trace alone"
    if not r["saturated"]:
        yield f"{r['sessions']} sessions are --sessions-max: more may bring more"


def report_sure(r: dict[str, float], stream: Any) -> None:
    """What --realisations found."""
    s: Any = r["realisations"]
    few = f", in {s['suffice_with_those_of_trace']}" if "suffice_with_those_of_trace" in s else ""
    print(f"  realisations        {s['sessions']} sessions suffice in {s['suffice']} of {s['runs']} ({s['sessions_on_trace']}, which suffice on the "
          f"trace itself{few}): {percent(s['carried_share'])}{half_words(s['carried_ci95'])} % of the capacity, "
          f"{percent(s['carried_least'])} % at least", file=stream)
    print(f"  how sure            they suffice in another realisation with a chance of {100 * s['chance']:.0f} % at least", file=stream)
    if "held_out" in s:
        h = s["held_out"]
        print(f"  held out            in {h['suffice']} of {h['runs']} others: with 95 % confidence in {100 * h['at_least']:.0f} % of all at least",
              file=stream)


def buffer_words(link: Any, r: dict[str, float]) -> Any:
    stall = round(link["rate_bps"] * STALL / 8)
    if stall < r["socket_buffer_bytes"]:
        return f"{units.size_round(r['socket_buffer_bytes'])} each, the least that is advised ({STALL * 1e3:g} ms bring {units.size_text(stall)})"
    return f"{units.size_round(r['socket_buffer_bytes'])} each, for a stall of {STALL * 1e3:g} ms"


def reachable_line(p: dict[str, Any]) -> str:
    """Of a trace with fades: the capacity cannot be reached."""
    if p["reachable_share"] >= 1:
        return ""
    return (f"\n  reachable           {percent(p['reachable_share'])} % of the capacity: a segment that overlaps the edge of a fade is lost. "
            f"{percent(point.of_reachable(p))} % of that are used")


def report(result: Any, stream: Any) -> None:
    link = result["link"]
    print(f"channel      {link['trace']}, {units.rate_text(link['rate_bps'])}, {units.duration_text(link['delay_s'])} one way, "
          f"blocks of {units.size_text(link['block_bytes'])}", file=stream)
    for name, r in result["recovery"].items():
        p, s = r["predicted"], r["split_ms"]
        goodput, capacity = point.rates(p)
        rto = "adaptive, " + units.duration_text(r["rto_s"]) + " at first" if r["rto_auto"] else units.duration_text(r["rto_s"])
        print(f"""
recovery {name}
  sessions            {r['sessions']}
  timer (RTO)         {rto}
  segment             {r['segment_bytes']} bytes (whole LTP segment)
  checkpoints         {r['checkpoints']}
  goodput             {goodput / 1e6:.1f} of {capacity / 1e6:.1f} Mbit/s, the capacity of this trace: {percent(p['carried_share'])} % by the time of sending (standard error {100 * p['carried_se']:.2f}){reachable_line(p)}
  session             mean {number(p['session_ms'], 'mean')}, p99 {number(p['session_ms'], 'p99')} ms
    split             ideal {s['ideal']:.1f} + retransmission {s['retransmission']:.1f} + lost checkpoints {s['checkpoints']:.1f} + rest {s['rest']:.1f} ms
  delivery            mean {number(p['delivery_ms'], 'mean')}, p99 {number(p['delivery_ms'], 'p99')} ms
  memory              {units.size_text(r['memory_bytes'])} of blocks at each end; heliod: limits: {{held_bytes: {config.held(r)}}}
  socket buffer       {buffer_words(link, r)}; heliod: pacing: {{socket_buffer: {units.size_round(r['socket_buffer_bytes'])}}}""", file=stream)
        if r["expected"]:
            e = r["expected"]
            print(f"  expected            {percent(e['carried_share'])}{half_words(e['carried_ci95'])} % of the capacity, over {e['runs']} realisations of the fading",
                  file=stream)
        if r["unseen"]:
            n = r["unseen"]
            print(f"  unseen fading       {percent(n['carried_share'])}{half_words(n['carried_ci95'])} % of the capacity on {n['runs']} other realisations, "
                  f"{percent(n['carried_least'])} % at least", file=stream)
        if r["realisations"]:
            report_sure(r, stream)
        for warning in warnings(result, r):
            print(f"  WARNING             {warning}", file=stream)
    if "code" in result:
        print("\nerasure code         (docs/erasure.md; an ideal code, by counting on the trace)", *code.words(result["code"]), sep="\n", file=stream)
    if result["take"]:
        print(f"\ntake         for {result['goal']} {take.words(result['take'])}", file=stream)
    print(f"\n{result['simulations']} simulations of {units.duration_text(result['duration_s'])}; configurations: --config "
          f"{', '.join(f'{kind} (recovery {config.NEEDS[kind]})' for kind in config.KINDS)}", file=stream)


def expected(a: Any) -> int:
    """About how many simulations the search takes, for its progress: by those of docs/helio-tune.md."""
    kinds = {"both": 2, "all": 3}.get(a.recovery, 1)
    sure = 50 if a.realisations is None else 3.5 * a.realisations
    return int(max(10, round(kinds * (35 * a.seeds + sure + a.unseen), -1)))


def write_folder(folder: Any, result: Any) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "result.json"), "w", encoding="utf-8") as f:
        json.dump(known(result), f, indent=2)
        f.write("\n")
    for kind in config.KINDS:
        text = config.text(kind, result)
        if text is not None:
            with open(os.path.join(folder, config.FILES[kind]), "w", encoding="utf-8") as f:
                f.write(text)


def write_hdtn(folder: Any, result: Any) -> None:
    """The two files that HDTN loads."""
    found = result["recovery"].get(config.NEEDS["hdtn"])
    if found is None:
        return
    for name, text in config.hdtn_files(result["link"], found):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)


def known(value: Any) -> dict[str, Any] | float | None:
    """Without what no run could tell, which JSON has no number for."""
    if isinstance(value, dict):
        return {k: known(v) for k, v in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def deliver(a: Any, result: Any) -> None:
    plain = result["recovery"].get(config.NEEDS["hdtn"])
    if plain and (a.output or a.config == "hdtn"):
        for text in config.hdtn_ducts(result["link"], plain)[2]:
            print(f"helio-tune: hdtn: {text}", file=sys.stderr)
    if a.output:
        write_folder(a.output, result)
        write_hdtn(a.output, result)
        written = ", ".join(f"{config.FILES[kind]} (recovery {name})" for kind in config.KINDS
                            if (name := config.recovery_of(kind, result["recovery"])))
        print(f"helio-tune: wrote {a.output}: {written}", file=sys.stderr)
    if a.config:
        sys.stdout.write(config.text(a.config, result) or "")
    elif a.json:
        print(json.dumps(known(result), indent=2))
    else:
        report(result, sys.stdout)


def main(argv: Any = None) -> int:
    p = arguments()
    a = p.parse_args(argv)
    if a.version:
        print(f"helio-tune {VERSION}")
        return 0
    check(p, a)
    try:
        if a.output:  # before the search, which may take minutes
            os.makedirs(a.output, exist_ok=True)
    except OSError as e:
        print(f"helio-tune: --output {a.output}: {e.strerror}; a folder is wanted", file=sys.stderr)
        return 2
    progress = programs.Progress("helio-tune")
    try:
        simulator = programs.Simulator(jobs=a.jobs, progress=progress, expected=expected(a))
    except programs.ProgramError as e:
        progress.end()
        print(f"helio-tune: {e}", file=sys.stderr)
        return 1
    try:
        with tempfile.TemporaryDirectory(prefix="helio-tune-") as folder:
            result = search(simulator, Link(a, trace_of(a, folder), folder))
        progress.end()
        deliver(a, result)
    except (programs.ProgramError, OSError) as e:
        progress.end()
        print(f"helio-tune: {e}", file=sys.stderr)
        return getattr(e, "code", 1)
    finally:
        simulator.close()
    return 0
