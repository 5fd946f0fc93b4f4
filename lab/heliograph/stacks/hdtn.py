# SPDX-License-Identifier: Apache-2.0
"""HDTN 1.3 as a node of a lab: one JSON file with inducts and outducts, and its contact plan. HDTN refuses keys that it does not know.

Its TCPCL opens the connection and takes bundles from it, too. Two nodes on one machine differ in the ports of their inner messages.
"""

from __future__ import annotations

import json
import math
from typing import Union

from .node import Neighbour, Node, Plan

ADAPTERS = ("ltp-udp", "udp", "stcp", "tcpcl")
LAYERS = {"ltp-udp": "ltp_over_udp", "udp": "udp", "stcp": "stcp", "tcpcl": "tcpcl_v4"}
ECHO = 128
BUNDLE_MAX = 10_000_000
PIPELINE = 50_000_000      # bytes in transit
MARGIN_MS = 200            # beside the light time, as in HDTN's examples
CONTACTS = "contacts.json"

Json = Union[str, int, bool, dict[str, "Json"], list["Json"]]


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def ltp(node: Node, one: Neighbour) -> dict[str, Json]:
    """Of both directions of a span."""
    return {"thisLtpEngineId": node.number, "remoteLtpEngineId": one.number, "oneWayLightTimeMs": max(1, math.ceil(1e3 * one.delay - 1e-9)),
            "oneWayMarginTimeMs": MARGIN_MS, "clientServiceId": 1, "numRxCircularBufferElements": 10000, "ltpMaxRetriesPerSerialNumber": 20,
            "ltpRandomNumberSizeBits": 64, "ltpMaxUdpPacketsToSendPerSystemCall": 1, "keepActiveSessionDataOnDisk": False,
            "activeSessionDataOnDiskNewFileDurationMs": 2000, "activeSessionDataOnDiskDirectory": "./"}


def outduct(node: Node, one: Neighbour) -> dict[str, Json]:
    host, _, port = one.remote.rpartition(":")
    out: dict[str, Json] = {"name": f"to-{one.name}", "convergenceLayer": LAYERS[one.adapter], "nextHopNodeId": one.number, "remoteHostname": host,
                            "remotePort": int(port), "maxNumberOfBundlesInPipeline": one.sessions, "maxSumOfBundleBytesInPipeline": PIPELINE}
    if one.adapter == "ltp-udp":
        return {**out, **ltp(node, one), "ltpDataSegmentMtu": max(1, one.segment - 24), "ltpCheckpointEveryNthDataSegment": 0,
                "ltpSenderBoundPort": port_of(one.local), "ltpSenderPingSecondsOrZeroToDisable": 0, "delaySendingOfDataSegmentsTimeMsOrZeroToDisable": 20}
    if one.adapter == "udp":  # rates are those of the contacts
        return out
    out["keepAliveIntervalSeconds"] = 17
    if one.adapter == "tcpcl":
        out.update({"tcpclAllowOpportunisticReceiveBundles": True, "tcpclV4MyMaxRxSegmentSizeBytes": 200000, "tryUseTls": False, "tlsIsRequired": False,
                    "useTlsVersion1_3": False, "doX509CertificateVerification": False, "verifySubjectAltNameInX509Certificate": False,
                    "certificationAuthorityPemFileForVerification": ""})
    return out


def induct(node: Node, one: Neighbour) -> dict[str, Json]:
    out: dict[str, Json] = {"name": f"from-{one.name}", "convergenceLayer": LAYERS[one.adapter], "boundPort": port_of(one.local)}
    if one.adapter == "ltp-udp":
        host, _, port = one.remote.rpartition(":")
        return {**out, **ltp(node, one), "ltpRemoteUdpHostname": host, "ltpRemoteUdpPort": int(port), "ltpReportSegmentMtu": 1000, "preallocatedRedDataBytes": 200000,
                "ltpMaxExpectedSimultaneousSessions": 500, "ltpRxDataSegmentSessionNumberRecreationPreventerHistorySize": 1000,
                "delaySendingOfReportSegmentsTimeMsOrZeroToDisable": 20}
    if one.adapter == "stcp":
        return {**out, "numRxCircularBufferElements": 200, "keepAliveIntervalSeconds": 15}
    out.update({"numRxCircularBufferElements": 200, "numRxCircularBufferBytesPerElement": 65535 if one.adapter == "udp" else 20000})
    if one.adapter == "tcpcl":
        out.update({"keepAliveIntervalSeconds": 15, "tcpclV4MyMaxRxSegmentSizeBytes": 200000, "tlsIsRequired": False, "certificatePemFile": "", "privateKeyPemFile": "",
                    "diffieHellmanParametersPemFile": ""})
    return out


def listens(one: Neighbour) -> bool:
    return one.adapter != "tcpcl" or not one.connects


def config(node: Node) -> dict[str, Json]:
    return {"hdtnConfigName": node.name, "userInterfaceOn": False, "mySchemeName": "unused_scheme_name", "myNodeId": node.number, "myBpEchoServiceId": ECHO,
            "myCustodialSsp": "unused_custodial_ssp", "myCustodialServiceId": 0, "myRouterServiceId": 100, "isAcsAware": True, "acsMaxFillsPerAcsPacket": 100,
            "acsSendPeriodMilliseconds": 1000, "retransmitBundleAfterNoCustodySignalMilliseconds": 10000, "maxBundleSizeBytes": BUNDLE_MAX,
            "maxIngressBundleWaitOnEgressMilliseconds": 2000, "bufferRxToStorageOnLinkUpSaturation": False, "maxLtpReceiveUdpPacketSizeBytes": 65536,
            "neighborDepletedStorageDelaySeconds": 0, "fragmentBundlesLargerThanBytes": 0, "enforceBundlePriority": False, "zmqBoundRouterPubSubPortPath": node.ports[0],
            "zmqBoundTelemApiPortPath": node.ports[1],
            "inductsConfig": {"inductConfigName": node.name, "inductVector": [induct(node, one) for one in node.neighbours if listens(one)]},
            "outductsConfig": {"outductConfigName": node.name,
                               "outductVector": [outduct(node, one) for one in node.neighbours if one.adapter != "tcpcl" or one.connects]},
            "storageConfig": {"storageImplementation": "asio_single_threaded", "tryToRestoreFromDisk": False, "autoDeleteFilesOnExit": True,
                              "totalStorageCapacityBytes": 8192000000, "storageDeletionPolicy": "never",
                              "storageDiskConfigVector": [{"name": "d1", "storeFilePath": "./store1.bin"}, {"name": "d2", "storeFilePath": "./store2.bin"}]}}


def plan(node: Node) -> Plan:
    command = ("hdtn-one-process", f"--hdtn-config-file={node.folder}/hdtn.json", f"--contact-plan-file={node.folder}/{CONTACTS}")
    return Plan({"hdtn.json": json.dumps(config(node), indent=2) + "\n"}, command, ready="Ingress running", stop="INT", stop_within="30s", programs=("hdtn-one-process",),
                contacts=(CONTACTS, "hdtn"))
