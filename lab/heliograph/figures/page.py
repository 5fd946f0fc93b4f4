# SPDX-License-Identifier: Apache-2.0
"""The page of one analysis: one file with all that it needs, which asks no network for anything."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from . import segments

if TYPE_CHECKING:
    from .tables import Analysis

HERE = Path(__file__).resolve().parent
ROWS_MAX = 20000  # sessions in the page's table; the slowest ones when there are more
COLUMNS = ("originator", "session", "peer", "colour", "outcome", "duration_ms", "radiation_ms", "delivery_ms", "block_bytes",
           "segments_sent", "segments_resent", "retx_cycles", "cp_sent", "cp_lost", "cp_lost_basis", "rto_checkpoint",
           "dropped", "lossy", "ideal_ms", "retx_penalty_ms", "cp_penalty_ms", "delta_ms")


def tidy(value: float | str) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else round(value, 4)
    return int(value) if value.isdigit() and len(value) < 16 else value


def session_rows(analysis: Analysis) -> tuple[list[list[float | str | None]], int]:
    """Their rows with `t_s`, the begin after the first one's; and how many there are in all."""
    rows, slow = [], lambda r: -(r[6] if r[6] is not None else math.inf)
    begins = [t for f in analysis.flows for t in f.columns.get("t_first_tx_ns", ()) if not math.isnan(t)]
    begin = min(begins, default=0)
    for f in analysis.flows:
        if not f.columns:
            continue
        columns = [f.columns[name] for name in COLUMNS]
        for start, *row in zip(f.columns["t_first_tx_ns"], *columns):
            row = [tidy(v) for v in row]
            row.insert(5, None if math.isnan(start) else round((start - begin) / 1e9, 6))
            rows.append(row)
    total = len(rows)
    if total > ROWS_MAX:
        rows = sorted(rows, key=slow)[:ROWS_MAX]
    return sorted(rows, key=lambda r: (r[5] is None, r[5] or 0)), total


def numbers(template: Callable[..., Any]) -> Callable[..., Any]:
    def show(value: float) -> str:
        result: str = "–" if value is None else template(value)
        return result
    return show


REAL, SHARE, COUNT = numbers("{:.4g}".format), numbers(lambda v: f"{100 * v:.4g} %"), numbers("{:,}".format)
MBIT, MS = numbers(lambda v: f"{v / 1e6:.4g}"), numbers(lambda v: f"{round(v, 3):.4g}")


def times(which: str, part: str) -> Callable[..., Any]:
    """Where all are 0, as of green sessions of one segment, they say nothing."""
    return lambda s: REAL(s[which][part]) if s[which] and s[which]["max"] > 0 else "–"


FIGURES: tuple[Any, ...] = (
    ("sessions completed", lambda s: COUNT(s["sessions"])),
    ("cancelled, lost, unfinished", lambda s: ", ".join(COUNT(s[k]) for k in ("cancelled", "lost", "unfinished"))),
    ("goodput (Mbit/s)", lambda s: MBIT(s["goodput_bps"])),
    ("session time: mean (ms)", times("session_ms", "mean")), ("median", times("session_ms", "p50")),
    ("99 % within", times("session_ms", "p99")), ("longest", times("session_ms", "max")),
    ("delivery: mean (ms)", times("delivery_ms", "mean")), ("99 % within", times("delivery_ms", "p99")),
    ("radiation: mean (ms)", times("radiation_ms", "mean")),
    ("retransmission cycles per session", lambda s: REAL(s["retx_cycles_mean"])),
    ("checkpoints lost per session", lambda s: REAL(s["checkpoints_lost_mean"])),
    ("… how that is known", lambda s: (s["cp_lost_basis"] or "–").replace("_", " ")),
    ("timers of checkpoints that ran out", lambda s: COUNT(s["rto_firings"])),
    ("sessions with losses", lambda s: SHARE(s["lossy_share"])),
    ("data sent again", lambda s: SHARE(s["data_bytes_resent"] / s["data_bytes_sent"]) if s["data_bytes_sent"] else "–"),
    ("segments in the drop log", lambda s: COUNT(s["segments_dropped"])),
)
PARTS = (("ideal_ms", "ideal session"), ("retx_penalty_ms", "+ retransmission cycles"), ("cp_penalty_ms", "+ lost checkpoints"),
         ("delta_ideal_ms", "+ sessions without losses above the ideal"), ("delta_penalties_ms", "+ not explained"),
         ("mean_ms", "= mean session"))


def figures_table(analysis: Analysis) -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]:
    rows = [(title, [show(f.summary) for f in analysis.flows]) for title, show in FIGURES]
    parts = [(title, [MS((f.summary["decomposition"] or {}).get(key)) for f in analysis.flows]) for key, title in PARTS]
    return [r for r in rows if set(r[1]) != {"–"}], [r for r in parts if set(r[1]) != {"–"}]


CODE: tuple[Any, ...] = (
    ("matrices sent", lambda c: COUNT(c["matrices_sent"])),
    ("their repair segments", lambda c: COUNT(c["repair_segments_sent"])),
    ("… of these in answers to requests", lambda c: COUNT(c["repair_segments_requested"])),
    ("matrices without a loss", lambda c: COUNT(c["matrices_whole"])), ("repaired", lambda c: COUNT(c["matrices_repaired"])),
    ("failed", lambda c: COUNT(c["matrices_failed"])), ("displaced", lambda c: COUNT(c["matrices_displaced"])),
    ("lost segments repaired", lambda c: COUNT(c["segments_repaired"])), ("not repaired", lambda c: COUNT(c["segments_lost"])),
    ("residual loss", lambda c: SHARE(c["residual_loss"])),
    ("longest decoding delay of a matrix: median (ms)", times("delay_ms", "p50")), ("99 % within", times("delay_ms", "p99")),
    ("longest", times("delay_ms", "max")),
)


def code_table(summary: dict[str, Any]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The erasure code of each direction; no names without one."""
    codes = summary.get("erasure", [])
    names = [f"{c['originator']} → {'?' if c['peer'] is None else c['peer']}" for c in codes]
    return names, [(title, [show(c) for c in codes]) for title, show in CODE]


def facts(summary: dict[str, Any]) -> list[str]:
    words = (("rows", "rows"), ("malformed_rows", "malformed rows"), ("bad_datagrams", "datagrams that are no segments"),
             ("rows_without_open", "rows of sessions that began before"), ("drop_rows", "rows of drop logs"),
             ("numbers_used_again", "session numbers used again"), ("gaps", "gaps in time"))
    told = [f"{summary[k]:,} {text}" for k, text in words if summary.get(k)]
    if summary.get("efficiency") is not None:
        told.append(f"efficiency {100 * summary['efficiency']:.4g} % of {summary['capacity_bps'] / 1e6:.4g} Mbit/s")
    return told


def timelines(analysis: Analysis, first: set[Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    """The requested sessions first, then the slowest."""
    if not (analysis.folder / "segments.csv").exists():
        return [], []
    took = {}
    for f in analysis.flows:
        for originator, session, ms in zip(*(f.columns.get(k, ()) for k in ("originator", "session", "duration_ms"))):
            took[originator, session] = -1 if math.isnan(ms) else ms
    return segments.read(analysis.folder, lambda name: (name not in first, -took.get(name, -1)))


def embed(value: Any) -> str:
    """JSON that can be put in a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def write(analysis: Analysis, drawn: list[tuple[str, str, str]], inputs: list[str], first: set[Any], path: str) -> None:
    """`inputs`: paths of the logs; `first`: (originator, session) of sessions that come first."""
    rows, total = session_rows(analysis)
    table, parts = figures_table(analysis)
    code_names, code = code_table(analysis.summary)
    lines, others = timelines(analysis, first)
    columns = list(COLUMNS)
    columns.insert(5, "t_s")
    data = {"columns": columns, "rows": rows, "kinds": segments.KINDS, "timelines": lines}
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page = environment.get_template("page.html.j2").render(
        names=[os.path.basename(i) for i in inputs], flows=[f.name for f in analysis.flows], table=table, parts=parts,
        code_names=code_names, code=code,
        facts=facts(analysis.summary), figures=drawn, total=total, shown=len(rows), timelines=len(lines), others=others,
        data=embed(data),
        script=(HERE / "page.js").read_text(encoding="utf-8"),
        timeline_script=(HERE / "timeline.js").read_text(encoding="utf-8"))
    with open(path, "w", encoding="utf-8") as f:
        f.write(page)
