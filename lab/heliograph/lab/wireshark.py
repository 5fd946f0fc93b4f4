# SPDX-License-Identifier: Apache-2.0
"""The ports of a lab as Wireshark's `decode_as_entries`: captures of ports that no standard names are read as LTP, bundles or TCPCL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .file import Lab, Link

NAME = "decode_as_entries"
TABLES = {"ltp-udp": ("udp.port", "LTP"), "udp": ("udp.port", "BP"), "tcpcl": ("tcp.port", "TCPCL")}  # Wireshark's table, its protocol
HEAD = "# Copy it into a profile of Wireshark: ~/.config/wireshark/profiles/NAME/decode_as_entries, and choose that profile (-C NAME).\n"


def framed(link: Link) -> Any:
    """CCSDS frames in datagrams are not LTP."""
    return link.station is not None or "frames" in link.keys or any("frames" in keys for keys in link.at.values())


def entries(lab: Lab, addresses: Any) -> Any:
    """Lines, each once, in the order of the links."""
    found: dict[str, Any] = {}
    for link in lab.links.values():
        if link.adapter not in TABLES or framed(link):
            continue
        table, protocol = TABLES[link.adapter]
        pairs, relay = addresses.ends(link)
        for address in [*(address for pair in pairs for address in pair), relay]:
            if address:
                found[f"decode_as_entry: {table},{address.rpartition(':')[2]},(none),{protocol}\n"] = None
    return list(found)
