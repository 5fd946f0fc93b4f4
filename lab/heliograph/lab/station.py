# SPDX-License-Identifier: Apache-2.0
"""A ground station on a link of a lab: LTP's segments go in frames over the optical channel, the station knows frames only and
provides Space Link Extension, the mission centre's node is its user, over a wide area network.

    spacecraft ──frames──► channel ──► modem │ station │ ──RAF, RCF──► WAN ──► mission centre
               ◄─ CLTUs ── channel ◄──────── │         │ ◄── FCLTU ─── WAN ◄──
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import units
from ..places import Items, Map, merge, put

if TYPE_CHECKING:
    from ..places import Word
    from .file import Link, Reader

KINDS = {"aos": 1, "tm": 0, "uslp": 12}  # of frames, with the version in channels' names
OWN = ("spacecraft", "service", "delivery", "authentication", "wan", "instance", "uplink", "source", "address")
PROVIDER = ("id", "password", "port_name", "tcp_buffer", "congestion", "auth_delay", "tml", "users", "sources", "instances")
USER, USER_WORD = "CENTRE", "43454e545245"
NAME, WORD = "STATION", "53544154494f4e"
CLTUS = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
LATENCY = "10ms"  # frames wait so long for others of their transfer buffer
LENGTH = 1115     # octets of a frame, when the file names none
STORE = 1.0       # seconds of frames that the station keeps for the network, so that a pause of a busy machine ends no association
STORE_LEAST, STORE_MOST = 320, 1 << 24


@dataclasses.dataclass
class Station:
    place: tuple[Any, ...]
    craft: int       # which end of the link is the spacecraft
    frames: str
    service: str
    delivery: str
    level: str
    address: str     # of its machine, for a dry run
    wan: Map         # forward is to the mission centre; None: there is none
    instance: Map    # more keys of the return service's instance, of FCLTU's, of the modem
    uplink: Map
    source: Map
    keys: Map        # of the provider

    @property
    def down(self) -> Any:
        """The direction of the link's channel that frames use."""
        return ("forward", "return")[self.craft]

    @property
    def up(self) -> Any:
        return ("return", "forward")[self.craft]

    @property
    def latency(self) -> Any:
        return self.instance.get("latency", LATENCY)


# ---- of the lab file ----


def one_of(*words: str) -> Callable[..., Any]:
    def parse(text: Word) -> Word:
        if text not in words:
            raise ValueError(f"\"{text}\" is not known; right are {', '.join(words)}")
        return text

    return parse


def read(reader: Any, value: Any, link_keys: Map, ends: tuple[str, str], what: str, ways: tuple[str, ...]) -> Station | None:
    """The station of a link: `value` of its key `station`; takes out of link_keys what is the station's. None: none, or said."""
    if value is None:
        return None
    value = reader.map(value, what, OWN + PROVIDER)
    if link_keys.get("adapter", "ltp-udp") != "ltp-udp":
        reader.wrong(link_keys["adapter"], f"{what}: frames carry LTP; write adapter: ltp-udp, or leave the station away")
        return None
    choose = {key: reader.parsed(value, key, f"{what}.", one_of(*words), words[0]) for key, words in
              (("spacecraft", ends), ("service", ("raf", "rcf")), ("delivery", ("complete", "timely")), ("authentication", ("all", "bind", "none")))}
    frames = read_frames(reader, link_keys, f"{what.rpartition('.')[0]}.")
    maps = {key: reader.map(value.get(key, put({}, value.place)), f"{what}.{key}") for key in ("instance", "uplink", "source")}
    keys = Map((key, inner) for key, inner in value.items() if key in PROVIDER)
    for key in ("users", "sources", "instances"):
        if key in keys:
            keys[key] = reader.items(keys[key], f"{what}.{key}")
    return Station(value.place, ends.index(choose["spacecraft"]), str(frames), str(choose["service"]), str(choose["delivery"]),
                   str(choose["authentication"]), reader.word(value, "address", f"{what}."), read_wan(reader, value, what, ways), keys=keys, **maps)


def read_frames(reader: Reader, link_keys: Map, what: str) -> Any:
    """The kind of the frames of the downlink; other keys of the group stay."""
    given = link_keys.pop("frames", None)
    if not isinstance(given, Map):
        return reader.parsed(Map([("frames", given)] if given is not None else []), "frames", what, one_of(*KINDS), "aos")
    rest = Map((key, value) for key, value in given.items() if key != "mode")
    rest.place = given.place
    if rest:
        link_keys[put("frames", given.place)] = rest
    return reader.parsed(given, "mode", f"{what}frames.", one_of(*KINDS), "aos")


def read_wan(reader: Reader, value: Map, what: str, ways: tuple[str, ...]) -> Any:
    if "wan" not in value:
        return None
    wan = merge(reader.map(value["wan"], f"{what}.wan", (*ways, "seed", "overhead", "forward", "return")))
    both = Map((key, inner) for key, inner in wan.items() if key in ways)
    out = Map((key, inner) for key, inner in wan.items() if key in ("seed", "overhead"))
    for way in ("forward", "return"):
        out[way] = merge(both, reader.map(wan.get(way, Map()), f"{what}.wan.{way}", ways))
        reader.normal_way(out[way])
    out.place = value["wan"].place
    return out


def delays(way: Any) -> Any:
    """For one direction, in seconds: the constant, or the values of a table. Its reader reports errors."""
    delay = way.get("delay", "0")
    try:
        return [units.duration(point["delay"] if isinstance(point, dict) else point) for point in (delay if isinstance(delay, list) else [delay])] or [0.0]
    except (ValueError, KeyError, TypeError):
        return [0.0]


def most_frames(link: Any) -> Any:
    """Frames of the downlink in a second, at the highest rate of the file; 0: it has none, or one that others will reject."""
    rate = (link.channel or {}).get(link.station.down, {}).get("rate", "unlimited")
    try:
        rates = [units.rate(point["rate"] if isinstance(point, dict) else point) for point in (rate if isinstance(rate, list) else [rate]) if point != "unlimited"]
        return max(rates, default=0) / 8 / int(frame_octets(link) or LENGTH)
    except (ValueError, KeyError, TypeError):
        return 0


def added_delay(station: Any, way: Any) -> Any:
    """The delay that the wide area network adds to the longest delay of that direction of the link, including frames' wait for a full buffer."""
    wan = 0.0 if station.wan is None else max(delays(station.wan["forward" if way == station.down else "return"]))
    try:
        return wan + (units.duration(station.latency) if way == station.down else 0.0)
    except ValueError:
        return wan


# ---- what is derived ----


def identifier(station: Any) -> Any:
    mode = {"complete": "onlc", "timely": "onlt"}[station.delivery]
    return f"sagr=1.spack=1.rsl-fg=1.{station.service}={mode}1"


def frame_octets(link: Link) -> Any:
    """The longest frame of the downlink, if it is not the default."""
    try:
        length = units.size(link.keys["frames"]["length"])
        return str(length) if length else None
    except (KeyError, ValueError):
        return None


def provider(link: Link, at: Any, status: Any = None) -> Any:
    """The configuration of helio-sle provider. at: addresses (derive)."""
    s: Any = link.station
    source = {"name": "modem", "kind": "udp", "address": at.modem}
    if frame_octets(link):
        source["frame"] = frame_octets(link)
    instance = {"id": identifier(s), "users": USER, "source": "modem", "latency": LATENCY}
    if s.delivery == "complete":
        instance["store"] = str(min(max(STORE_LEAST, math.ceil(STORE * most_frames(link))), STORE_MOST))
    if s.service == "rcf":
        instance["gvcids"] = f"{KINDS[s.frames]}.{link.keys.get('frames', {}).get('scid', '1')}.*"
    uplink = {"id": CLTUS, "users": USER, "uplink": at.uplink}
    own = {"id": NAME, "password": WORD, "listen": at.listen, **({"status": status} if status else {})}
    lists = {"users": Items([put({"id": USER, "password": USER_WORD, "authentication": s.level}, s.place)]),
             "sources": Items([merge(put(source, s.place), s.source)]),
             "instances": Items([merge(put(instance, s.place), s.instance), merge(put(uplink, s.place), s.uplink)])}
    tree = merge(put(own, s.place), Map((key, value) for key, value in s.keys.items() if key not in lists))
    for key, items in lists.items():
        tree[put(key, s.place)] = put(Items([*items, *s.keys.get(key, ())]), s.place)
    return tree


def end_keys(link: Link, i: int, at: Any) -> Any:
    """What the link's end number i has of all this; keys that the file gives win."""
    s: Any = link.station
    if i == s.craft:
        return {"frames": {"mode": s.frames, "in": "cltu"}}
    frames = {"mode": "cltu", "in": s.frames, "port": "sle"}
    sle = {s.service: s.instance.get("id", identifier(s)), "cltu": s.uplink.get("id", CLTUS), "user": USER,
           "provider": s.keys.get("id", NAME), "auth": s.level}
    if s.level != "none":
        sle.update(password=USER_WORD, provider_password=s.keys.get("password", WORD))
    if "length" in link.keys.get("frames", {}):
        frames["length_in"] = link.keys["frames"]["length"]
    return {"frames": frames, "sle": sle}


def own_keys(link: Link, i: int) -> Map:
    """The keys of the adapter that the file gives for this end."""
    s = link.station
    if s is None or i == s.craft or "frames" not in link.keys:
        return link.keys
    out = Map(link.keys)
    out.place = link.keys.place
    frames = out[out.key("frames")] = Map((key, value) for key, value in link.keys["frames"].items() if key != "length")
    frames.place = link.keys["frames"].place
    return out


def refuse_wan(link: Any) -> Any:
    """Why a relay of streams cannot model this wide area network; None: it can."""
    for way in ("forward", "return"):
        keys = link.station.wan[way]
        for key in keys:
            if key not in ("rate", "delay") or not isinstance(keys[key], str):
                return link.station.wan, f"links.{link.name}.station.wan.{key}: with real processes it has one rate and one delay for each direction, and no losses; take --mode sim"
    if "overhead" in link.station.wan:
        return link.station.wan["overhead"], f"links.{link.name}.station.wan.overhead: with real processes a relay of streams sees no frames; take --mode sim"
    return None


def relay_words(link: Any, at: Any) -> Any:
    """Options of helio-emu stream, which is the wide area network on one machine: it is called by the mission centre."""
    words = ["--listen", at.wan, "--to", at.listen]
    for way, delay, rate in (("return", "--delay-forward", "--rate"), ("forward", "--delay-return", "--rate-return")):
        keys = link.station.wan[way]
        words += [delay, str(keys.get("delay", "0"))]
        if keys.get("rate", "unlimited") != "unlimited":
            words += [rate, str(keys["rate"])]
    return words


def relay_change(link: Any) -> Any:
    """The commands for the running relay when the network's keys change."""
    wan = link.station.wan
    return {way: {"rate": str(wan[own].get("rate", "unlimited")), "delay": str(wan[own].get("delay", "0"))} for own, way in (("return", "forward"), ("forward", "return"))}


def relay_command(words: list[str]) -> Any:
    return ["helio-emu", "stream", *words]


def relay_account(told: Any) -> Any:
    """The relay's report, by the network's directions: the mission centre connects, and forward is the direction to it. None: no report."""
    return told and {**told, "forward": told["return"], "return": told["forward"]}


def check_units(link: Any) -> Iterator[Any]:
    """What the relay could not read of it."""
    for way in ("forward", "return"):
        keys = link.station.wan[way]
        for key, parse in (("delay", units.duration), ("rate", units.rate)):
            if isinstance(keys.get(key), str) and keys[key] != "unlimited":
                try:
                    parse(keys[key])
                except ValueError as e:
                    yield keys[key], f"links.{link.name}.station.wan.{key}: {e}"
