# SPDX-License-Identifier: Apache-2.0
"""What helio-tune found, as configuration: for heliod, for ION (ltprc, bprc, ionrc lines) and for HDTN (whole files of
LTP outducts and inducts). The engines, addresses and node numbers are those of the examples, to be replaced."""

from __future__ import annotations

import json
import math
import subprocess
from typing import Any

from .. import programs, units
from . import code, point, take

KINDS = ("heliod", "ion", "hdtn")
NEEDS = {"heliod": "default", "ion": "ion", "hdtn": "plain"}  # the recovery that each is made for
FILES = {"heliod": "heliod.yaml", "ion": "ion.rc", "hdtn": "hdtn.json"}


def gamma(mean: Any, sd: Any) -> Any:
    """The law of helio-trace with this mean and deviation."""
    return f"gamma:{units.duration_text(mean)},{min(max((mean / sd) ** 2, 0.01), 10000):.6g}"


def generate(path: str, a: Any) -> None:
    """A trace with the given means and deviations, gamma distributed."""
    command = [programs.find("helio-trace"), "gen", "--bad", gamma(a.bad_mean, a.bad_sd or a.bad_mean), "--good",
               gamma(a.good_mean, a.good_sd or a.good_mean), "-o", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise programs.ProgramError(done.stderr.strip())


def recovery_of(kind: str, found: Any) -> str | None:
    """Which recovery a configuration is made of; None when that was not searched. heliod knows plain, too."""
    return next((name for name in (NEEDS[kind], *(["plain"] if kind == "heliod" else [])) if name in found), None)


def text(kind: str, result: dict[str, Any]) -> str | None:
    """None when the recovery that it needs was not searched."""
    found: Any = result["recovery"]
    name = recovery_of(kind, found)
    if name is None:
        return None
    if kind == "heliod":
        answer: str | None = heliod(result["link"], name, found[name], result["take"], result.get("code", {}).get("taken"))
        return answer
    answer = {"ion": ion, "hdtn": hdtn}[kind](result["link"], found[name])
    return answer


def held(r: dict[str, float]) -> Any:
    """held_bytes of heliod: twice the blocks of all sessions, 16 MiB at least."""
    return units.size_round(max(2 * r["memory_bytes"], 1 << 24))


def rate_words(r: Any) -> str:
    """Goodput and capacity of the trace itself, by the time of sending: never more than all of it."""
    goodput, capacity = point.rates(r["predicted"])
    return f"{goodput / 1e6:.1f} of {capacity / 1e6:.1f} Mbit/s ({100 * point.at_most_all(r['predicted']['carried_share']):.1f} % of the capacity)"


def heliod(link: Any, name: Any, r: Any, taken: Any, coded: Any) -> Any:
    other = ""
    if taken and taken["recovery"] != name:
        other = f"# Taken for the goal is {take.words(taken)} (helio-tune --config heliod --recovery {taken['recovery']}).\n"
    if coded:
        other += (f"# An erasure code at both ends, erasure: {code.keys(coded)}, would have a 99th percentile of {coded['p99_ms']:.0f} ms, "
                  f"for {100 * (1 - coded['goodput_share']):.0f} % of the goodput.\n")
    return f"""# heliod: this end of the link; the other end has local and remote, and the node numbers, swapped.
# Predicted: {rate_words(r)}, delivery {r['predicted']['delivery_ms']['mean']:.1f} ms on average, p99 {r['predicted']['delivery_ms']['p99']:.1f} ms.
# Found for recovery: {name}.
{other}node: ipn:1.0
socket: /tmp/helio-1.sock
store: {{path: /tmp/helio-1.store, durability: sync, limit: 20GiB}}
links:
  - name: to-two
    adapter: ltp-udp
    peer: ipn:2.0
    local: 127.0.0.1:1113
    remote: 127.0.0.1:2113
    rate: {units.rate_text(link['rate_bps'])}
    segment: {r['segment_bytes']}B
    sessions: {r['sessions']}
    rto: {units.duration_text(r['rto_s'])}
    recovery: {name}
    limits: {{held_bytes: {held(r)}}}
    pacing: {{overhead: {link['overhead_bytes']}, socket_buffer: {units.size_round(r['socket_buffer_bytes'])}}}
"""


def ion(link: Any, r: Any) -> Any:
    """ION's timers come from whole seconds of light time; its rate is the contact's, in bytes per second: udplso has no
    such argument any more, newer ones take one for the engine's number."""
    seconds = max(1, math.ceil(link["delay_s"]))
    block, sessions, data = link["block_bytes"], r["sessions"], r["segment_bytes"]
    rate = link["rate_bps"] // 8
    head = (f"# The light time is {units.duration_text(link['delay_s'])}; ION counts whole seconds, so each lost checkpoint costs about\n"
            f"# {units.duration_text(r['rto_s'])} (recovery ion: plain with that timer). With that the sessions below give {rate_words(r)},\n"
            f"# in sessions of {r['predicted']['session_ms']['mean']:.0f} ms on average.\n")
    return f"""{head}# ionrc: contact and range between nodes 1 and 2
a contact +0 +86400 1 2 {rate}
a contact +0 +86400 2 1 {rate}
a range +0 +86400 1 2 {seconds}
# ltprc of node 1
1 {sessions}
a span 2 {sessions} {sessions} {data} {block} 1 'udplso 127.0.0.1:2113'
s 'udplsi 127.0.0.1:1113'
# bprc of node 1
a protocol ltp 1400 100
a induct ltp 1 ltpcli
a outduct ltp 2 ltpclo
"""


HDTN_BUNDLE_MAX = 10000000  # its maxBundleSizeBytes, twice of which a pipeline must hold (1.3.1 refuses less)
HDTN_MARGIN = 20e-3         # its threads report that late: with less its timers fire though nothing was lost


def hdtn_timer(link: dict[str, float], r: dict[str, float]) -> tuple[int, int, list[str]]:
    """Light time and margin, whole milliseconds, and what was rounded, in words. Twice their sum is HDTN's timer."""
    light = max(1, math.ceil(link["delay_s"] * 1e3 - 1e-9))
    wanted = max(r["rto_s"], 2 * link["delay_s"] + link["processing_s"] + HDTN_MARGIN)
    margin = max(1, math.ceil(wanted * 1e3 / 2 - 1e-9) - light)
    told = []
    if abs(light - link["delay_s"] * 1e3) > 1e-6:
        told.append(f"the light time of {units.duration_text(link['delay_s'])} became {light} ms: HDTN counts whole milliseconds")
    timer = 2 * (light + margin)
    if abs(timer - r["rto_s"] * 1e3) > 1e-6:
        told.append(f"the timer of {units.duration_text(r['rto_s'])} became {timer} ms: even milliseconds, and {HDTN_MARGIN * 1e3:g} ms at least beyond "
                    "the round trip, which HDTN's threads need")
    return light, margin, told


def hdtn_ducts(link: dict[str, float], r: dict[str, float]) -> Any:
    """The LTP outduct and induct of HDTN 1.3, and what was rounded."""
    light, margin, told = hdtn_timer(link, r)
    shared = {"oneWayLightTimeMs": light, "oneWayMarginTimeMs": margin, "clientServiceId": 1,
              "ltpMaxRetriesPerSerialNumber": 20, "ltpRandomNumberSizeBits": 64,
              # more than one call's worth goes by a second socket, whose port the other end does not know
              "ltpMaxUdpPacketsToSendPerSystemCall": 1,
              "numRxCircularBufferElements": max(1000, round(r["socket_buffer_bytes"] / r["segment_bytes"])),
              # HDTN refuses a file without these
              "keepActiveSessionDataOnDisk": False, "activeSessionDataOnDiskNewFileDurationMs": 2000,
              "activeSessionDataOnDiskDirectory": "./"}
    # its rate is of UDP payload: the line's also carries the headers
    payload = r["segment_bytes"] / (r["segment_bytes"] + link["overhead_bytes"])
    rate = math.floor(link["rate_bps"] * payload)
    if rate != link["rate_bps"]:
        told.append(f"the rate of {units.rate_text(link['rate_bps'])} on the air is {rate} bit/s of UDP payload, which HDTN counts")
    pipeline = max(r["memory_bytes"] + link["block_bytes"], 2 * HDTN_BUNDLE_MAX)
    outduct = {
        "name": "to-two", "nextHopNodeId": 2, "ltpSenderPingSecondsOrZeroToDisable": 0, "convergenceLayer": "ltp_over_udp",
        "thisLtpEngineId": 1, "remoteLtpEngineId": 2, "remoteHostname": "127.0.0.1", "remotePort": 2113, "ltpSenderBoundPort": 1113,
        **shared, "ltpDataSegmentMtu": r["segment_bytes"] - 24, "ltpCheckpointEveryNthDataSegment": 0,
        "ltpMaxSendRateBitsPerSecOrZeroToDisable": rate, "delaySendingOfDataSegmentsTimeMsOrZeroToDisable": 0,
        "maxNumberOfBundlesInPipeline": r["sessions"], "maxSumOfBundleBytesInPipeline": pipeline}
    induct = {
        "name": "from-one", "ltpRemoteUdpHostname": "127.0.0.1", "ltpRemoteUdpPort": 1113,
        "ltpRxDataSegmentSessionNumberRecreationPreventerHistorySize": 1000, "convergenceLayer": "ltp_over_udp", "thisLtpEngineId": 2,
        "remoteLtpEngineId": 1, "boundPort": 2113, **shared, "ltpReportSegmentMtu": 1360,
        "preallocatedRedDataBytes": link["block_bytes"] + 1000, "ltpMaxExpectedSimultaneousSessions": 2 * r["sessions"],
        "delaySendingOfReportSegmentsTimeMsOrZeroToDisable": 0}
    return outduct, induct, told


def hdtn(link: dict[str, float], r: dict[str, float]) -> str:
    """Whole files: what bpgen (outducts) and bpsink (inducts) load as they are."""
    outduct, induct, told = hdtn_ducts(link, r)
    out = {
        "comment": ["outducts.json and inducts.json for HDTN 1.3, as its bpgen-async and bpsink-async load them (--outducts-config-file, "
                    "--inducts-config-file); in a node of hdtn-one-process they are its outductsConfig and inductsConfig.", "Found for recovery plain.", *told],
        "outducts": {"outductConfigName": "helio-tune", "outductVector": [outduct]},
        "inducts": {"inductConfigName": "helio-tune", "inductVector": [induct]}}
    return json.dumps(out, indent=2) + "\n"


def hdtn_files(link: dict[str, float], r: dict[str, float]) -> list[tuple[str, str]]:
    """(name, text) of the files by themselves."""
    outduct, induct, _ = hdtn_ducts(link, r)
    return [("hdtn-outducts.json", json.dumps({"outductConfigName": "helio-tune", "outductVector": [outduct]}, indent=2) + "\n"),
            ("hdtn-inducts.json", json.dumps({"inductConfigName": "helio-tune", "inductVector": [induct]}, indent=2) + "\n")]
