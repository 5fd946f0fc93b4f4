# SPDX-License-Identifier: Apache-2.0
"""CCSDS frames at both ends of a link: can what leaves one end arrive at the other?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..places import Map, merge, put
from . import station

if TYPE_CHECKING:
    from ..places import Word
    from .file import Link

TCP = ("connect", "listen")  # of frames: {port: …}


def end_ports(link: Link) -> list[Word | None]:
    """For each end the port of its frames, with the place of the key; None: it has none, or heliod reports what is wrong with them."""
    out = []
    for i, end in enumerate(link.ends):
        frames = merge(station.own_keys(link, i), link.at.get(end)).get("frames", "off")
        mode, port = (frames.get("mode", "off"), frames.get("port")) if isinstance(frames, Map) else (frames, None)
        out.append(None if mode == "off" else put("datagrams", mode.place) if port is None else port)
    return out


def by_tcp(link: Link) -> bool:
    """Do its frames go by a TCP connection?"""
    return link.adapter == "ltp-udp" and any(port in TCP for port in end_ports(link))


def mistake(link: Link, tcp_passes: bool) -> Any:
    """(what has a place, text) of a link whose ends do not meet; None. tcp_passes: can they have a TCP connection? Recordings and SLE have no
    other end here, and the keys of a station's ends are derived."""
    ports = end_ports(link) if link.adapter == "ltp-udp" and link.station is None else []
    if not any(ports) or any(port in ("file", "sle") for port in ports):
        return None
    if None in ports:
        without = ports.index(None)
        return ports[1 - without], (f"links.{link.name}.frames: {link.ends[1 - without]} has frames, and {link.ends[without]} has none, so nothing arrives; "
                                    "write the same frames for both ends")
    if not by_tcp(link):
        return None
    one = 0 if ports[0] in TCP else 1  # the other one is to fit it
    if {*ports} != {*TCP}:
        have = f"both ends have {ports[0]}" if ports[0] == ports[1] else " and ".join(f"{end} has {port}" for end, port in zip(link.ends, ports))
        fits = TCP[1 - TCP.index(ports[one])]
        return ports[one], (f"links.{link.name}.frames.port: {have}, so no connection comes about; "
                            f"write ends: {{{link.ends[1 - one]}: {{frames: {{port: {fits}}}}}}}")
    if not tcp_passes:
        return ports[one], (f"links.{link.name}.frames.port: frames by TCP pass neither a relay, which carries datagrams, nor the simulator; "
                            "take --mode netns, or --mode local with channel: no")
    return None
