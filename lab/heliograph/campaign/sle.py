# SPDX-License-Identifier: Apache-2.0
"""Campaigns of Space Link Extension (`kind: sle`): telemetry frames over a long line, by SLE over TCP or by other transports.

In mode sim provider and user run in virtual time over a model of TCP (`helio-sle sim`), LTP by helio-sim with whole nodes
whose links carry CCSDS frames; in mode bridge both are real, in network namespaces with the emulator's bridge between them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import programs, units
from ..lab import derive as lab_derive, made as lab_made, sim as lab_sim
from ..processes import Failed

if TYPE_CHECKING:
    from .file import Run

TCP = ("reno", "cubic", "bbr")
REFERENCES = ("udt", "srt")  # octets by these libraries, without SLE; in mode bridge
IN_SIM = ("reno", "cubic", "ltp")
OVERHEAD = 42            # of a datagram on the air: UDP, IPv4, Ethernet
FRAME_HEADS = 10         # AOS frame: head, M_PDU's head, check value
ENCAPSULATION = 4        # head of an encapsulation packet
LTP_HEAD = 10            # of a data segment, at least
WINDOW = 4               # LTP: blocks in flight, in bandwidth-delay products
BLOCK = 1000000          # octets: what its end costs (closing checkpoints, frames that are not full) is little beside it


def _number(name: str, low: int, high: float) -> Callable[..., Any]:
    def parse(value: float) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1
        if isinstance(value, bool) or not low <= number <= high:
            raise ValueError(f"\"{value}\" is no {name} from {low} to {high}{units.without_percent(value)}")
        return number if number != int(number) else int(number)

    return parse


def _count(low: int, high: int) -> Callable[..., Any]:
    whole = _number("whole number", low, high)

    def parse(value: Any) -> Any:
        number = whole(value)
        if not isinstance(number, int):
            raise ValueError(f"\"{value}\" is no whole number from {low} to {high}")
        return number

    return parse


def _rate(text: Any) -> None:
    if not units.rate(text) > 0:
        raise ValueError(f"\"{text}\": a rate above zero is wanted")


def _unit(parse: Callable[..., Any], *words: str) -> Callable[..., Any]:
    def checked(value: Any) -> Any:
        if value not in words:
            parse(value)
        return str(value)

    return checked


# What a run may set: how it is read, and the default.
PARAMETERS = {
    "transport": (units.word_of(*TCP, "ltp", *REFERENCES), "cubic"), "line": (_unit(_rate), "1Gbit/s"), "rtt": (_unit(units.duration), "0ms"),
    "loss": (_number("share", 0, 0.9), 0), "buffer": (_count(1, 65535), 20), "frame": (_count(64, 65536), 1115),
    "source": (_unit(_rate, "unlimited"), "unlimited"), "instances": (_count(1, 1000), 1),
    "tcp-buffer": (_unit(units.size, "auto"), "auto"), "pipelining": (units.word_of("yes", "no"), "yes"),
    "duration": (_unit(units.duration, "auto"), "auto"), "warmup": (_unit(units.duration, "auto"), "auto"),
    "data": (_unit(units.size, "none"), "none"),
}
DISTRIBUTION = ("min", "p50", "p90", "p99", "p999", "max")


def _delay(which: str) -> Callable[..., Any]:
    return lambda r, v: r["delay_us"][which] / 1e3 if r.get("delay_us") else None


METRICS = {
    "goodput": ("throughput of frames", "Mbit/s", lambda r, v: r["goodput_bps"] / 1e6),
    "efficiency": ("of what the line carries", "%", lambda r, v: 100 * r["efficiency"] if r["efficiency"] is not None else None),
    "fairness": ("fairness of instances (Jain)", "", lambda r, v: r.get("fairness")),
    **{f"delay_{d}": (f"delay of a frame: {d}", "ms", _delay(d)) for d in DISTRIBUTION},
    "delay_sd": ("standard deviation of the delay", "ms", _delay("sd")),
    "jitter": ("jitter (RFC 3550)", "µs", lambda r, v: r.get("jitter_us")),
    "seconds": ("time of a file", "s", lambda r, v: r.get("file_s")),
}
PLOTS = ("goodput", "efficiency", "delay_p50", "delay_p99")


def check(values: Any, mode: str) -> Any:
    """What is wrong with these values together, or None."""
    if mode == "relay":
        return "mode relay: TCP does not pass a relay; take sim or bridge"
    if mode == "sim" and values["transport"] not in IN_SIM:
        return f"transport: {values['transport']} is in mode bridge only; mode sim knows {', '.join(IN_SIM)}"
    if values["data"] != "none" and values["transport"] != "ltp":
        return "data: a file goes by transport ltp only"
    if values["transport"] not in TCP and values["pipelining"] == "no":
        return "pipelining: no means SLE over TCP"
    if values["transport"] in REFERENCES and (values["source"], values["instances"]) != ("unlimited", 1):
        return f"transport: {values['transport']} is one stream, as fast as it goes: without source and instances"
    if values["source"] != "unlimited" and units.rate(values["source"]) < values["instances"]:
        return "source: each of the instances has less than 1bit/s of it"
    warmup, duration = times({**values, **settled(values)})
    return "warmup: it must be shorter than duration" if warmup >= duration else None


def settled(v: Any) -> Any:
    """`auto` of warm-up and duration: until windows have grown, then long enough that random losses have their mean. For LTP: until a path is full and
    the first retransmissions are finished.
    """
    rtt, loss = units.duration(v["rtt"]), v["loss"]
    if v["transport"] == "ltp":
        block = 8 * BLOCK / units.rate(v["line"])
        warmup, measured = max(0.5, (30 if loss else 8) * rtt, 20 * block), max(2.0, (30 if loss else 10) * rtt, 100 * block)
    elif loss:
        warmup, measured = max(2.0, 150 * rtt), max(4.0, 500 * rtt)
    else:
        warmup, measured = max(1.0, 20 * rtt), max(2.0, 8 * rtt)
    warmup = warmup if v["warmup"] == "auto" else units.duration(v["warmup"])
    duration = warmup + measured if v["duration"] == "auto" else units.duration(v["duration"])
    return {"warmup": units.duration_text(warmup), "duration": units.duration_text(duration)}


def times(v: Any) -> Any:
    """(warm-up, duration) in seconds."""
    return units.duration(v["warmup"]), units.duration(v["duration"])


def jain(rates: Any) -> Any:
    return sum(rates) ** 2 / (len(rates) * sum(r * r for r in rates)) if any(rates) else None


def of_user(result: dict[str, Any], capacity: Any) -> Any:
    """The figures of a run from what helio-sle's user says."""
    ends = [a.get("end", "") for a in result["associations"] if not a["in_order"]]
    if ends:
        raise Failed(f"an association did not go in order: {ends[0]}")
    wrong = sum(a["missing"] + a["repeated"] + a["wrong"] for a in result["associations"])
    if wrong:
        raise Failed(f"{wrong} frames were missing, repeated or wrong")
    first = result["associations"][0]
    rate = result["measured_bps"]
    return {"goodput_bps": rate, "capacity_bps": capacity, "efficiency": rate / capacity if capacity else None,
            "fairness": jain([a["rate_bps"] for a in result["associations"]]), "delay_us": first["delay_us"], "jitter_us": first["jitter_us"],
            "frames": result["frames"], "seconds": result["measured_s"], "cpu_s": result["cpu_s"]}


def sle_options(v: Any) -> Any:
    """Those of bench and sim."""
    warmup, duration = times(v)
    words = ["--buffer", str(v["buffer"]), "--frame", str(v["frame"]), "--time", units.duration_text(duration), "--warmup",
             units.duration_text(warmup), "--instances", str(v["instances"]), "--pipelining", v["pipelining"]]
    if v["source"] != "unlimited":
        words += ["--rate", f"{units.rate(v['source']) / v['instances']:.0f}bit/s"]
    if v["tcp-buffer"] != "auto":
        words += ["--tcp-buffer", v["tcp-buffer"]]
    return words


def simulate_sle(run: Run, track: Callable[..., Any]) -> Any:
    v: Any = run.values
    command = [programs.find("helio-sle"), "sim", *sle_options(v), "--congestion", v["transport"], "--rtt", v["rtt"], "--line", v["line"],
               "--loss", str(v["loss"]), "--seed", str(run.repetition)]
    shown = json.loads(track(command))
    capacity = shown["capacity_bps"] * (1 - v["loss"])
    return {"command": command, "line_frames": shown["line_frames"], "line_lost": shown["line_lost"], **of_user(shown["result"], capacity)}


# ---- LTP red in frames ----

def ltp_lab(run: Run, warmup: Any, duration: Any, **more: Any) -> Any:
    """Two nodes, AOS frames of the same length between them; each frame is a datagram and holds one segment of LTP. more: keys of the lab."""
    v: Any = run.values
    rtt, rate = units.duration(v["rtt"]), units.rate(v["line"])
    window = 20 + WINDOW * round(rate / 8 * rtt / BLOCK)
    zone = v["frame"] - FRAME_HEADS
    keys = {"frames": {"mode": "aos", "length": f"{v['frame']}B"}, "segment": f"{zone - ENCAPSULATION}B",
            "recovery": {"mode": "default", "peer_profile": "heliograph"}, "rto": units.duration_text(max(0.03, 2 * rtt))}
    traffic: dict[str, Any] = {"window": window, "payload": BLOCK}
    if v["data"] != "none":
        traffic["data"] = units.size(v["data"])
    else:
        traffic.update({"duration": f"{duration:g}", "warmup": f"{warmup:g}"})
    tree = lab_made.one_link({"delay": units.duration_text(rtt / 2), "overhead": f"{OVERHEAD}B"},
                             {"rate": v["line"], **({"erasures": {"iid": str(v["loss"])}} if v["loss"] else {})}, keys,
                             {"sessions": "auto", "pacing": {"slack": "200us"}}, {}, traffic, seed=run.repetition, title=run.folder, **more)
    return lab_made.lab_of({**tree, "capture": []}, "the campaign")


def ltp_capacity(v: Any) -> Any:
    """Each frame carries one segment, minus all headers."""
    data = v["frame"] - FRAME_HEADS - ENCAPSULATION - LTP_HEAD
    return units.rate(v["line"]) * data / (v["frame"] + OVERHEAD) * (1 - v["loss"])


def of_client(client: dict[str, int], v: Any) -> Any:
    """The figures of a run from what helio-perf says."""
    capacity, goodput = ltp_capacity(v), client["goodput_bps"]
    found = {"goodput_bps": goodput, "capacity_bps": capacity, "efficiency": goodput / capacity, "client": client}
    if v["data"] != "none":
        found["file_s"] = 8 * units.size(v["data"]) / goodput if goodput else None  # it never arrived
    return found


def simulate_ltp(run: Run, folder: str, track: Callable[..., Any]) -> Any:
    final = os.path.join(os.path.dirname(folder), run.folder)
    lab = ltp_lab(run, *times(run.values))
    derived = lab_sim.derive(lab, folder)
    lab_derive.write(derived)
    command = lab_sim.command_line(lab, derived)
    shown = json.loads(track(command))
    lab_sim.rename_logs(lab, derived)
    return {"command": [word.replace(folder, final) for word in command], **of_client(shown["clients"][0], run.values)}


def run_sle(run: Run, folder: str, track: Callable[..., Any]) -> Any:
    """A run of a campaign with `kind: sle`."""
    if run.mode == "bridge":
        from . import sle_live
        return sle_live.run_bridge(run, folder)
    v = run.values
    found = simulate_ltp(run, folder, track) if v["transport"] == "ltp" else simulate_sle(run, track)
    return {"faithful": True, "reasons": [], "realisation": {"kind": "seed" if v["loss"] else "none"}, **found}
