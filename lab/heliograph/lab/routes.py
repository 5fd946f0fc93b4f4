# SPDX-License-Identifier: Apache-2.0
"""Ways through a lab's network: distances in links, and the routes of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .file import Lab, Link


def distances(lab: Lab, target: str | None) -> dict[str | None, int]:
    found, edge = {target: 0}, [target]
    while edge:
        found_next = []
        for node in edge:
            for link in lab.links.values():
                if node in link.ends:
                    other = link.other(node)
                    if other not in found:
                        found[other] = found[node] + 1
                        found_next.append(other)
        edge = found_next
    return found


def routes_of(lab: Lab, node: str) -> list[dict[str, str]]:
    """To each node: over the shortest route, then over those by neighbours that are no farther from it."""
    out = []
    links = [link for link in lab.links.values() if node in link.ends]
    for target in lab.nodes.values():
        away = distances(lab, target.name)
        by = sorted((away[other], i, other) for i, link in enumerate(links)
                    if (other := link.other(node)) in away)
        if target.name == node or not by:
            continue
        ways = [link_name(lab, links[i], other) for distance, i, other in by if distance <= away[node]]
        if by[0][0] == 0 and len(ways) == 1:
            continue  # a neighbour has a route by itself, but behind those of the file
        out += [{"to": target.pattern, "via": way} for way in ways]
    return out


def link_name(lab: Lab, link: Link, other: str) -> str:
    del lab
    return str(link.at.get(link.ends[1 - link.ends.index(other)], {}).get("name") or f"to-{other}")
