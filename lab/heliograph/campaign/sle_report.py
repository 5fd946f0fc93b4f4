# SPDX-License-Identifier: Apache-2.0
"""Campaigns of Space Link Extension beside the published numbers.

E: Götzelmann, Karch, Lucia, Abello, Dreihahn, "High Rate Telemetry Transfer – CCSDS SLE and Beyond" (ESA study, 2012);
N: Tchorowski, Murawski, Golden, "SLE Emulation for High-Throughput Network Communication" (NASA, SCENIC laboratory, 2014 to 2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import units
from ..figures import plot
from .data import pick
from .published import Published

if TYPE_CHECKING:
    from .data import Row

SOURCE = ("E: Götzelmann, Karch, Lucia, Abello, Dreihahn, <em>High Rate Telemetry Transfer – CCSDS SLE and Beyond</em>, ESA study, 2012. N: Tchorowski, Murawski, "
          "Golden, <em>SLE Emulation for High-Throughput Network Communication</em> and <em>SLE Protocol Emulation for High-Throughput, High-Latency Network "
          "Connections</em>, NASA, 2014 to 2016.")
IN_SIM = (" In this mode all of it is virtual time: provider, user and LTP are the programs' own, TCP is a model (Reno, CUBIC, selective acknowledgements; "
          "no HyStart, no pacing, no BBR, a line whose queue has no limit), so that a processor limits nothing.")

NOTES = {
    "blocked": "S / R for buffers of 58 frames and their heads; the published S is 64 kB. The provider waits until TCP has acknowledged each (pipelining: no).",
    "pipelined": "TCP's segments carry 94.8 % of the line, and SLE's heads take 3 % of that.",
    "processor": "The published figure is their processor's; ours is the line's.",
    "loss": "Published as of a round trip below 0.1 ms. There Reno would be near the line's rate, as here. By 1.31/√p segments a round trip (random losses; Ott, "
            "Kemperman and Mathis 1996) Reno's figures are of some 750 ms at 0.1 % and 930 ms at 1 %; CUBIC's are those of 600 ms here. All are laid beside the longest "
            "round trip that was run.",
    "udt": "Published as of a round trip below 0.1 ms, but see Reno: laid beside the longest round trip that was run.",
    "file": "10 GB by LTP red in AOS frames; FTP and Tsunami as published, on lines of 1 Gbit/s.",
    "clean": "Without losses and below 0.1 ms: the line's rate less what heads take. Theirs was limited by the sender.",
}
BLOCKED = {"20ms": 26.2, "50ms": 10.5, "100ms": 5.2, "200ms": 2.6}
LOSSES = {"reno": {0: 826, 0.001: 0.641, 0.01: 0.164}, "cubic": {0: 925, 0.001: 3.07, 0.01: 0.53}, "udt": {0: 951, 0.001: 108, 0.01: 25.5}}
ENOUGH = 0.95  # of the rate without delay, at 200 ms
LTP_ENOUGH = 97  # % of capacity
LTP_COMPARED = 0.2  # s: round trips at which transports are compared; published collapses of TCP are laid beside the longest
FLAT = 1.05  # a median delay that is so much above half of the round trip and the time on the line is not flat any more
COLUMNS = (("rtt", "round trip"), ("loss", "loss"))


def milliseconds(text: Any) -> Any:
    return units.duration(text) * 1e3


def by_rtt(rows: Any, metric: str) -> tuple[list[Any], set[float]]:
    """[(round trip in ms, mean, half)] and those that were not faithful."""
    points = sorted(((milliseconds(r.values["rtt"]), r.mean(metric), r.half(metric)) for r in rows if r.mean(metric) is not None), key=lambda p: p[:2])
    return points, {milliseconds(r.values["rtt"]) for r in rows if not r.faithful}


class Papers(Published):
    def __init__(self, folder: str, mode: str) -> None:
        super().__init__(folder, NOTES)
        self.mode = mode

    def row(self, figure: Any, quantity: Any, published: Any, row: Row, metric: str = "goodput", unit: str = "Mbit/s", note: str = "") -> None:
        super().row(figure, quantity, published, row, metric, unit, note)


def same_line(table: list[Row], line: Any) -> Any:
    return [r for r in table if r.values["line"] == line and r.repetitions]


def round_trips(p: Any, table: list[Row]) -> None:
    for line in dict.fromkeys(r.values["line"] for r in table):
        rows = same_line(table, line)
        lines: Any = [(f"{n} a buffer", *by_rtt([r for r in rows if r.values["buffer"] == n], "goodput")) for n in sorted({r.values["buffer"] for r in rows})]
        p.draw(f"rtt-{line.replace('/', '-')}", plot.lines(f"Throughput of frames, line of {line}", "round trip (ms)", "throughput (Mbit/s)", lines),
               "Pipelined: what the line carries, whatever the round trip.")
        near, far = (pick(rows, buffer=20, rtt=rtt) for rtt in ("0ms", "200ms"))
        if near is not None and far is not None:
            share = far.mean("goodput") / near.mean("goodput")
            p.check(f"line of {line}, 20 frames a buffer: at 200 ms at least {100 * ENOUGH:g} % of the rate without delay", share >= ENOUGH,
                    f"{far.mean('goodput'):.1f} of {near.mean('goodput'):.1f} Mbit/s, {100 * share:.1f} %")
    p.row("N", "pipelined over 200 ms at 1.2 Gbit/s", 1100, pick(table, line="1.2Gbit/s", buffer=20, rtt="200ms"), note="pipelined")
    p.row("E", "RAF complete, 20 a buffer, 600 ms (507 to 526)", 526, pick(table, line="1Gbit/s", buffer=20, rtt="600ms"), note="processor")
    p.row("E", "RAF complete, 80 a buffer (749, 3.3 GHz)", 749, pick(table, line="1Gbit/s", buffer=80, rtt="0ms"), note="processor")


def tcp_buffers(p: Any, table: list[Row]) -> None:
    rows: Any = [r for r in table if r.repetitions]
    if not rows:
        return
    sizes = list(dict.fromkeys(r.values["tcp-buffer"] for r in rows))
    p.draw("buffers", plot.lines("TCP's buffers", "round trip (ms)", "throughput (Mbit/s)",
                                 [(size, *by_rtt([r for r in rows if r.values["tcp-buffer"] == size], "goodput")) for size in sizes], log=True),
           "A buffer of B octets lets B / R through; 1 Gbit/s over 600 ms needs 75 MB. auto: as TCP finds them by itself.")
    wrong, seen = [], 0
    for r in rows:
        rtt, size = units.duration(r.values["rtt"]), r.values["tcp-buffer"]
        if size == "auto" or rtt == 0:
            continue
        most: Any = 8 * units.size(size) / rtt / 1e6
        seen += 1
        if r.mean("goodput") > 1.05 * most:
            wrong.append(f"{size} over {r.values['rtt']}: {r.mean('goodput'):.1f} of {most:.1f} Mbit/s")
    p.check("no more than buffer / round trip", not wrong, "; ".join(wrong) or f"{seen} points")
    for rtt in dict.fromkeys(r.values["rtt"] for r in rows):
        auto, full = pick(rows, rtt=rtt, tcp_buffer="auto"), pick(rows, rtt=rtt, tcp_buffer="75MB")
        if str(rtt) == "600ms" and auto is not None and full is not None:
            share = auto.mean("goodput") / full.mean("goodput")
            p.check("E: autotuning does as well as setting 75 MB at 600 ms", share >= 0.95,
                    f"{auto.mean('goodput'):.1f} and {full.mean('goodput'):.1f} Mbit/s")


def blocked(p: Any, table: list[Row]) -> None:
    rows = [r for r in table if r.repetitions]
    if not rows:
        return
    for rtt, published in BLOCKED.items():
        p.row("N", f"blocked for each PDU of 64 kB, {rtt}", published, pick(rows, rtt=rtt), note="blocked")
    points, hollow = by_rtt(rows, "goodput")
    p.draw("blocked", plot.lines("A provider that waits for each transfer buffer", "round trip (ms)", "throughput (Mbit/s)", [("pipelining: no", points, hollow)],
                                 published=[("published", 0, [(milliseconds(rtt), value) for rtt, value in BLOCKED.items()])], log=True),
           "S / R, below 1 % of the line from 50 ms on.")
    sizes = {r.values["buffer"] * r.values["frame"] for r in rows}
    far = [(r, 8 * size / units.duration(r.values["rtt"]) / 1e6) for r in rows for size in sizes if len(sizes) == 1]
    worst = max((abs(r.mean("goodput") / law - 1) for r, law in far), default=0)
    p.check("blocked, the rate is S / R", worst <= 0.08, f"at most {100 * worst:.1f} % off, over {len(far)} round trips")


def transports(p: Any, table: list[Row]) -> Any:
    rows = [r for r in table if r.repetitions]
    if not rows:
        return
    trips = sorted({r.values["rtt"] for r in rows}, key=milliseconds)
    losses = sorted({r.values["loss"] for r in rows})
    names = list(dict.fromkeys(r.values["transport"] for r in rows))
    for loss in losses:
        lines: Any = [(name, *by_rtt([r for r in rows if r.values["transport"] == name and r.values["loss"] == loss], "goodput")) for name in names]
        p.draw(f"transports-{loss:g}", plot.lines(f"Transports, {100 * loss:g} % random loss", "round trip (ms)", "throughput (Mbit/s)", lines, log=True),
               "Throughput of frames; ltp: LTP red in AOS frames of the same length.")
    for name, published in LOSSES.items():
        for loss, value in published.items():
            rtt = trips[0] if loss == 0 else trips[-1]
            p.row("E", f"{name}, {100 * loss:g} % loss (here {rtt})", value, pick(rows, transport=name, loss=loss, rtt=rtt),
                  note="clean" if loss == 0 else "udt" if name == "udt" else "loss")
    found = [r for r in rows if r.values["transport"] == "ltp"]
    near = [r for r in found if units.duration(r.values["rtt"]) <= LTP_COMPARED]
    for points, where in ((near, f" up to {1000 * LTP_COMPARED:g} ms"), (found, "")):
        if points:
            low, high = (f(points, key=lambda r: r.mean("efficiency") or 0.0) for f in (min, max))
            p.check(f"LTP keeps at least {LTP_ENOUGH} % of what losses leave of the line, at all {len(points)} points{where}",
                    (low.mean("efficiency") or 0.0) >= LTP_ENOUGH,
                    f"{low.mean('efficiency'):.1f} ({low.values['rtt']}, {100 * low.values['loss']:g} %) to {high.mean('efficiency'):.1f} %")
    for name in ("reno", "cubic"):
        clean, lossy = (pick(rows, transport=name, loss=loss, rtt=trips[-1]) for loss in (losses[0], losses[-1]))
        if clean is not None and lossy is not None and losses[0] == 0 and losses[-1] > 0:
            p.check(f"E: {name} collapses under {100 * losses[-1]:g} % of loss over a long way", lossy.mean("goodput") < 0.05 * clean.mean("goodput"),
                    f"{lossy.mean('goodput'):.2f} of {clean.mean('goodput'):.1f} Mbit/s at {trips[-1]}")


def delays(p: Any, table: list[Row]) -> None:
    rows = sorted((r for r in table if r.repetitions and r.mean("delay_p50") is not None), key=lambda r: units.rate(r.values["source"]))
    if not rows:
        return
    x = [units.rate(r.values["source"]) / 1e6 for r in rows]
    lines: Any = [(name, [(at, r.mean(f"delay_{name}"), r.half(f"delay_{name}")) for at, r in zip(x, rows)], {at for at, r in zip(x, rows) if not r.faithful})
             for name in ("min", "p50", "p90", "p99", "p999", "max")]
    p.draw("delay", plot.lines("Delay of a frame, provider to user", "rate of the source (Mbit/s)", "delay (ms)", lines, log=True),
           "The distribution's quantiles over all frames of the run.")
    p.draw("jitter", plot.lines("Jitter", "rate of the source (Mbit/s)", "jitter (µs)",
                                [("jitter", [(at, r.mean("jitter"), r.half("jitter")) for at, r in zip(x, rows)], set())]), "As RFC 3550 has it.")
    least: Any = rows[0].mean("delay_p50")
    flat = max(at for at, r in zip(x, rows) if r.mean("delay_p50") <= FLAT * least)  # the first is
    if x[-1] >= 1300:
        p.check("N: the delay is flat up to 1.3 Gbit/s, and jumps where the line's limit is", flat >= 1300,
                f"flat up to {flat:g} Mbit/s at {least:.2f} ms; {rows[-1].mean('delay_p50'):.1f} ms at {x[-1]:g} Mbit/s")


def instances(p: Any, table: list[Row]) -> None:
    rows = [r for r in table if r.repetitions]
    for rtt in dict.fromkeys(r.values["rtt"] for r in rows):
        one, more = pick(rows, rtt=rtt, instances=1), [r for r in rows if r.values["rtt"] == rtt and r.values["instances"] > 1]
        if one is None or not more:
            continue
        together = [r.mean("goodput") / one.mean("goodput") for r in more]
        p.check(f"several instances together are as fast as one, at {rtt}", min(together) >= 0.95,
                ", ".join(f"{r.values['instances']}: {100 * s:.1f} %, fairness {r.mean('fairness'):.3f}" for r, s in zip(more, together)))


def files(p: Any, table: list[Row]) -> None:
    rows = sorted((r for r in table if r.repetitions), key=lambda r: float(milliseconds(r.values["rtt"])))
    if not rows:
        return
    for rtt, what, published in ((rows[0].values["rtt"], "FTP at 0.1 ms", 570), (rows[-1].values["rtt"], "FTP at 600 ms, large buffers", 510),
                                 (rows[-1].values["rtt"], "Tsunami on any round trip (430 to 490)", 490)):
        p.row("E", f"file: {what} (LTP at {rtt})", published, pick(rows, rtt=rtt), note="file")
    rates: Any = [r.mean("goodput") for r in rows]
    p.check("a file goes as fast over any round trip", min(rates) >= 0.9 * max(rates),
            ", ".join(f"{r.values['rtt']}: {r.mean('goodput'):.0f} Mbit/s, {r.mean('seconds'):.1f} s" for r in rows))


PARTS = {"rtt": round_trips, "buffers": tcp_buffers, "blocked": blocked, "transports": transports, "delay": delays, "instances": instances,
         "files": files}


def make(tables: Any, folder: str, mode: str) -> Any:
    """What paper.make gives; of the experiments that have these names."""
    p = Papers(folder, mode)
    for name, part in PARTS.items():
        if tables.get(name):
            part(p, tables[name])
    return {"rows": p.rows, "checks": p.checks, "figures": p.figures, "source": SOURCE + (IN_SIM if mode == "sim" else "")}
