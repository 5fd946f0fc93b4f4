#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heliod and HDTN's bpsendfile and bpreceivefile. HDTN's folder is its build folder. A file is a bundle: its payload has 24
bytes and the name before the file's bytes (bpsendfile's own format)."""
import collections
import json
import pathlib
import struct
import sys
import time

import rig

PORT = 5113  # where HDTN listens
TCPCL = 4556


def wrapped(name, data):
    return struct.pack("<QQIB3x", len(data), 0, len(data), len(name)) + name.encode() + data


def unwrapped(payload):
    total, offset, length, name = struct.unpack_from("<QQIB", payload)
    data = payload[24 + name:]
    if offset or total != length or len(data) != length:
        raise ValueError("not one file in one bundle")
    return data


def duct(args, sends):
    """The entry of an outduct (HDTN sends) or an induct, with the values that HDTN's own examples have."""
    common = {"name": "hand", "convergenceLayer": "ltp_over_udp" if args.over == "ltp" else "tcpcl_v4"}
    if args.over == "tcpcl" and sends:
        return common | {
            "nextHopNodeId": rig.OURS, "remoteHostname": "127.0.0.1", "remotePort": TCPCL, "maxNumberOfBundlesInPipeline": 5,
            "maxSumOfBundleBytesInPipeline": 50000000, "keepAliveIntervalSeconds": 17,
            "tcpclAllowOpportunisticReceiveBundles": False, "tcpclV4MyMaxRxSegmentSizeBytes": 200000, "tryUseTls": False,
            "tlsIsRequired": False, "useTlsVersion1_3": False, "doX509CertificateVerification": False,
            "verifySubjectAltNameInX509Certificate": False, "certificationAuthorityPemFileForVerification": ""}
    if args.over == "tcpcl":
        return common | {
            "boundPort": PORT, "numRxCircularBufferElements": 200, "numRxCircularBufferBytesPerElement": 20000,
            "keepAliveIntervalSeconds": 15, "tcpclV4MyMaxRxSegmentSizeBytes": 200000, "tlsIsRequired": False,
            "certificatePemFile": "", "privateKeyPemFile": "", "diffieHellmanParametersPemFile": ""}
    delay = int(args.delay.removesuffix("ms"))
    both = common | {
        "thisLtpEngineId": rig.THEIRS, "remoteLtpEngineId": rig.OURS, "oneWayLightTimeMs": delay,
        "oneWayMarginTimeMs": int(args.margin), "clientServiceId": 1, "numRxCircularBufferElements": 100,
        "ltpMaxRetriesPerSerialNumber": 5, "ltpRandomNumberSizeBits": 64, "ltpMaxUdpPacketsToSendPerSystemCall": 1,
        "keepActiveSessionDataOnDisk": False, "activeSessionDataOnDiskNewFileDurationMs": 2000,
        "activeSessionDataOnDiskDirectory": "./"}
    if sends:
        return both | {
            "nextHopNodeId": rig.OURS, "remoteHostname": "127.0.0.1", "remotePort": rig.TO_US,
            "maxNumberOfBundlesInPipeline": 5, "maxSumOfBundleBytesInPipeline": 50000000, "ltpDataSegmentMtu": 1000,
            "ltpCheckpointEveryNthDataSegment": 0, "ltpSenderBoundPort": PORT, "ltpSenderPingSecondsOrZeroToDisable": 15,
            "delaySendingOfDataSegmentsTimeMsOrZeroToDisable": 20}
    return both | {
        "boundPort": PORT, "ltpReportSegmentMtu": 1000, "preallocatedRedDataBytes": 200000,
        "ltpRemoteUdpHostname": "127.0.0.1", "ltpRemoteUdpPort": rig.TO_US,
        "ltpRxDataSegmentSessionNumberRecreationPreventerHistorySize": 1000, "ltpMaxExpectedSimultaneousSessions": 500,
        "delaySendingOfReportSegmentsTimeMsOrZeroToDisable": 20}


def policy(bench, sends):
    """HDTN's security policy, or nothing."""
    args = bench.args
    if args.security == "none":
        return []
    bib = args.security == "bib"
    key = bench.folder / "hdtn.key"
    key.write_text(bench.peer_key().hex())
    source, destination = (rig.THEIRS, rig.OURS) if sends else (rig.OURS, rig.THEIRS)
    params = [{"paramName": "keyEncryptionKeyFile" if args.wrap else "keyFile", "value": str(key)}]
    if sends:
        params += [{"paramName": "shaVariant", "value": 384}] if bib else [
            {"paramName": "aesVariant", "value": 256}, {"paramName": "ivSizeBytes", "value": 12}]
        params += [{"paramName": "scopeFlags", "value": int(args.flags)}, {"paramName": "securityBlockCrc", "value": 0}]
    rule = {"description": "hand", "securityPolicyRuleId": 1, "securityRole": "source" if sends else "acceptor",
            "securitySource": f"ipn:{source}.*" if not sends else f"ipn:{source}.1", "bundleSource": [f"ipn:{source}.*"],
            "bundleFinalDestination": [f"ipn:{destination}.*"], "securityTargetBlockTypes": [1],
            "securityService": "integrity" if bib else "confidentiality", "securityContext": "hmacSha" if bib else "aesGcm",
            "securityFailureEventSetReference": "set", "securityContextParams": params}
    events = [{"eventId": "sopCorruptedAtAcceptor", "actions": ["removeSecurityOperationTargetBlock"]}]
    path = bench.folder / "hdtn_bpsec.json"
    path.write_text(json.dumps({"bpsecConfigName": "hand", "policyRules": [rule], "securityFailureEventSets": [
        {"name": "set", "description": "hand", "securityOperationEvents": events}]}, indent=1))
    return [f"--bpsec-config-file={path}"]


def main():
    args = rig.options(__doc__, margin="200", flags="7", patience="10")
    rig.alone()
    sends = args.sender == "peer"
    payloads = rig.load(args.share, args.seed)
    apps = pathlib.Path(args.peer) / "common/bpcodec/apps"
    with rig.Rig(args) as bench:
        kind = "out" if sends else "in"
        path = bench.folder / "hdtn.json"
        path.write_text(json.dumps({f"{kind}ductConfigName": "hand", f"{kind}ductVector": [duct(args, sends)]}, indent=1))
        link = bench.link(PORT, TCPCL)
        files = bench.folder / "files"
        files.mkdir(exist_ok=True)
        begin = time.monotonic()
        if sends:
            bench.node(link)
            wait = bench.take(1, len(payloads), args.wait, unwrapped)
            for i, data in enumerate(payloads):
                (files / f"{i:04d}.bin").write_bytes(data)
            begin = time.monotonic()
            bench.start("hdtn", apps / "bpsendfile", f"--my-uri-eid=ipn:{rig.THEIRS}.1", f"--dest-uri-eid=ipn:{rig.OURS}.1",
                        "--use-bp-version-7", "--max-bundle-size-bytes=6000000", f"--file-or-folder-path={files}",
                        f"--bundle-send-timeout-seconds={args.patience}", f"--outducts-config-file={path}",
                        *policy(bench, True))
            seen = wait()
        else:
            bench.start("hdtn", apps / "bpreceivefile", f"--my-uri-eid=ipn:{rig.THEIRS}.1", f"--save-directory={files}",
                        f"--inducts-config-file={path}", *policy(bench, False))
            bench.until("bpreceivefile", 30, lambda: "Up and running" in bench.log("hdtn"))
            bench.node(link)
            begin = time.monotonic()
            bench.give(f"ipn:{rig.THEIRS}.1", [wrapped(f"{i:04d}.bin", data) for i, data in enumerate(payloads)])
            end = begin + args.wait

            def complete():
                return all((files / f"{i:04d}.bin").is_file() and (files / f"{i:04d}.bin").stat().st_size == len(data)
                           for i, data in enumerate(payloads))
            while not complete() and time.monotonic() < end:
                time.sleep(0.1)
        seconds = time.monotonic() - begin
        if not sends:
            time.sleep(2)  # what comes twice, comes now
            bench.stop(bench.children[2 if args.over == "ltp" else 0])
            seen = collections.Counter(rig.digest(f.read_bytes()) for f in files.iterdir())
            print(*(line.split("]", 1)[-1].strip() for line in bench.log("hdtn").splitlines() if "BundlesVersion7Rx" in line))
        return bench.report("HDTN", payloads, seen, seconds)


if __name__ == "__main__":
    sys.exit(main())
