# SPDX-License-Identifier: Apache-2.0
"""A lab as a picture: DOT (of Graphviz) and SVG. Nodes with their endpoints, links with what their channels do, stations and channels that
links are handed over to."""

from __future__ import annotations

import math
import os
import textwrap
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from ..places import Word
    from .file import Lab, Link, Node

WAYS = ("forward", "return")
ERASURES = ("trace", "iid")
TIMED = ("contacts", "outages", "changes")
STEP, RADIUS, LINE = 230, 40, 14  # of the SVG, in its units
WIDE = 24                         # characters of a line at a link


def name_of(trace: Word) -> str:
    """A trace's file without its folder."""
    return os.path.basename(str(trace.get("file", "") if isinstance(trace, dict) else trace))


def way_text(way: dict[str, Any]) -> str:
    """What one direction of a channel does, in few words."""
    words = [str(way[key]) for key in ("rate",) if key in way]
    if "delay" in way:
        words.append("delay by table" if isinstance(way["delay"], list) else str(way["delay"]))
    erasures = way.get("erasures", {})
    words += [f"{key} {name_of(erasures[key])}" for key in ERASURES if isinstance(erasures, dict) and key in erasures]
    words += [key for key in TIMED if key in way]
    return ", ".join(words)


def channel_lines(channel: Any) -> Any:
    if channel is None:
        return ["no channel"]
    there, back = (way_text(channel.get(way, {})) for way in WAYS)
    if there == back:
        return [there] if there else []
    return [f"{mark} {text}" for mark, text in (("→", there), ("←", back)) if text]


def link_lines(lab: Lab, link: Link) -> Any:
    """What is written at a link."""
    lines: list[Any] = [] if link.adapter == "ltp-udp" else [link.adapter]
    if link.overs:
        lines += [f"from {over.at:g} s: {over.channel.name if over.channel else 'none'}" for over in link.overs]
    else:
        lines += channel_lines(link.channel)
    if link.station is not None:
        lines.append("over a ground station")
    return lines + [f"{way}: shares {name}" for name, one in lab.shared.items() for holder, way in one.of if holder == link.name]


def node_lines(node: Node) -> list[str]:
    eid = node.keys.get("node", f"ipn:{node.number}.0")
    return [node.name, str(eid), *([node.stack.kind] if node.stack is not None else [])]


def quoted(lines: Any) -> Any:
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'


def dot(lab: Lab) -> Any:
    """One edge for each link, from its first node to its second one: forward."""
    out = ["graph lab {", f"  label={quoted([lab.title])};", "  node [shape=ellipse];"]
    out += [f"  {quoted([name])} [label={quoted(node_lines(node))}];" for name, node in lab.nodes.items()]
    for link in lab.links.values():
        ends = [quoted([end]) for end in link.ends]
        style = ' style=dashed' if link.overs else ""
        out.append(f"  {ends[0]} -- {ends[1]} [label={quoted(link_lines(lab, link))}{style}];")
    for name, channel in lab.channels.items():
        out.append(f"  {quoted(['channel ' + name])} [shape=box, label={quoted([name, *channel_lines(channel.channel)])}];")
    for name, one in lab.shared.items():
        out.append(f"  {quoted(['shared ' + name])} [shape=box, label={quoted([name, str(one.keys.get('rate', ''))])}];")
    return "\n".join([*out, "}"]) + "\n"


# ---- SVG ----


def is_line(lab: Lab) -> list[str] | None:
    """Each node has at most two links, and one of them has one: its nodes in order, else None."""
    beside: Any = {name: [] for name in lab.nodes}
    for link in lab.links.values():
        for end in link.ends:
            beside[end].append(link.other(end))
    ends = [name for name, others in beside.items() if len(set(others)) == 1]
    if len(ends) != 2 or any(len(set(others)) > 2 for others in beside.values()):
        return None
    order, before = [min(ends, key=list(lab.nodes).index)], None
    while True:
        following = [other for other in dict.fromkeys(beside[order[-1]]) if other != before]
        if not following:
            return order if len(order) == len(lab.nodes) else None
        before = order[-1]
        order.append(following[0])


def layout(lab: Lab) -> dict[str, tuple[float, float]]:
    """Where each node is: a line from left to right, else a circle; one with links to all others is its middle."""
    order = is_line(lab)
    if order:
        return {name: (STEP / 2 + i * STEP, STEP / 2) for i, name in enumerate(order)}
    middle = [name for name in lab.nodes if len({link.other(name) for link in lab.links.values() if name in link.ends}) == len(lab.nodes) - 1][:1] if len(lab.nodes) > 3 else []
    around = [name for name in lab.nodes if name not in middle]
    radius = max(STEP * 0.8, STEP * len(around) / (2 * math.pi))
    at = {name: (radius + STEP / 2, radius + STEP / 2) for name in middle}
    for i, name in enumerate(around):
        turn = 2 * math.pi * i / max(1, len(around)) - math.pi / 2
        at[name] = (radius + STEP / 2 + radius * math.cos(turn), radius + STEP / 2 + radius * math.sin(turn))
    return at


def text_at(x: Any, y: Any, lines: Any, anchor: str = "middle") -> Any:
    first = y - LINE * (len(lines) - 1) / 2 + LINE / 3
    return "".join(f'<text x="{x:.0f}" y="{first + i * LINE:.0f}" text-anchor="{anchor}">{escape(line)}</text>\n' for i, line in enumerate(lines))


def edge(lab: Lab, link: Link, at: Any, bend: Any) -> Any:
    """bend: how far from the straight line, of several links between two nodes."""
    (xa, ya), (xb, yb) = (at[end] for end in link.ends)
    length = math.hypot(xb - xa, yb - ya) or 1
    xm, ym = (xa + xb) / 2 - bend * (yb - ya) / length, (ya + yb) / 2 + bend * (xb - xa) / length
    dash = ' stroke-dasharray="6 4"' if link.overs else ""
    lines = [part for line in link_lines(lab, link) for part in textwrap.wrap(line, WIDE)]
    beside = -LINE * (len(lines) / 2 + 0.4) if abs(yb - ya) < RADIUS else 0
    path = f'<path d="M {xa:.0f} {ya:.0f} Q {2 * xm - (xa + xb) / 2:.0f} {2 * ym - (ya + yb) / 2:.0f} {xb:.0f} {yb:.0f}" fill="none" stroke="#555"{dash}/>\n'
    if len({y for _, y in at.values()}) > 1:  # nearer to its first node: the middles of several links may be one place
        xm, ym = xm + 0.12 * (xa - xb), ym + 0.12 * (ya - yb)
    return path, text_at(xm, ym + beside, lines)


def notes(lab: Lab) -> list[Any]:
    """Channels and transmitters, in words below the picture."""
    said = [f"channel {name}: {'; '.join(channel_lines(channel.channel))}" for name, channel in lab.channels.items()]
    return said + [f"transmitter {name}: {one.keys.get('rate', '')}" for name, one in lab.shared.items()]


def bends(lab: Lab) -> dict[str, float]:
    """For each link how far it is from the straight line: several between two nodes do not cover each other."""
    between: Any = {}
    out: dict[str, Any] = {}
    for link in lab.links.values():
        before = between.setdefault(frozenset(link.ends), [])
        before.append(link)
        out[link.name] = STEP / 4 * (len(before) // 2) * (-1) ** len(before)
    return out


def svg(lab: Lab) -> Any:
    at, bent, paths, words = layout(lab), bends(lab), [], []
    for link in lab.links.values():
        path, said = edge(lab, link, at, bent[link.name])
        paths.append(path)
        words.append(said)
    for name, node in lab.nodes.items():
        x, y = at[name]
        paths.append(f'<ellipse cx="{x:.0f}" cy="{y:.0f}" rx="{RADIUS * 1.3:.0f}" ry="{RADIUS * 0.7:.0f}" fill="#eef4fb" stroke="#345"/>\n')
        words.append(text_at(x, y, node_lines(node)))
    below = notes(lab)
    width = max([x for x, _ in at.values()] or [0]) + STEP / 2
    height = max([y for _, y in at.values()] or [0]) + STEP / 2
    words += [text_at(10, height + LINE * i, [line], "start") for i, line in enumerate(below)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height + LINE * len(below) + 10:.0f}" width="{width:.0f}" font-family="sans-serif" font-size="11">\n'
            f"<style>text {{paint-order: stroke; stroke: white; stroke-width: 3px}}</style>\n<title>{escape(lab.title)}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + "".join(paths) + "".join(words) + "</svg>\n")
