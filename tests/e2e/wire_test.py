# SPDX-License-Identifier: Apache-2.0
"""tshark reads every segment and bundle that we send, without a warning of malformation. The datagrams of a transfer
with losses are captured by a recorder between the nodes, which needs no privilege, and written as a pcap file.
usage: wire_test.py BIN OUT"""

import hmac
import os
import shutil
import signal
import subprocess
import sys
import time

import _paths  # noqa: F401
import dissect  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from recorder import Recorder  # noqa: E402


def tshark(pcap, *arguments):
    done = subprocess.run(["tshark", "-r", pcap, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def transfer(lab, pcap, bundles=("-D", "3M", "-P", "50kB", "-W", "8"), **more):
    port1, port2, in1, in2 = lab.udp_ports(4)
    recorder = Recorder(pcap, in1, in2, port1, port2, drop=50)
    recorder.start()
    keys = {"sessions": 4, "rto": "100ms", "segment": "1024B", **more}
    red = lab.link(2, port1, in1, rate="20Mbit/s", colour="red", **keys)
    green = lab.link(1, port2, in2, rate="20Mbit/s", colour="green", **keys)
    nodes = {n: lab.start_node(n, lab.write_node(n, [link])) for n, link in ((1, red), (2, green))}
    server = lab.start("server", "helio-perf", "server", "--socket", lab.socket(2), "--json", lab.path("server.json"))
    time.sleep(0.3)
    lab.run("helio-perf", "client", "--socket", lab.socket(1), "-d", "ipn:2.2000", *bundles,
            "--json", lab.path("client.json"), timeout=1000)
    lab.stop("server", server, signal.SIGINT)
    for n, p in nodes.items():
        lab.stop(f"node{n}", p)
    recorder.stop()
    return recorder.count


WRONG = "(_ws.malformed || _ws.short || ltp.mal_reception_claim || ltp.neg_reception_claim_count)"


def check_aggregates(programs, out):
    """Blocks of several bundles are that to tshark too. Each block is one segment here: of several, tshark 4.0 reads the
    client service in the last segment instead of in the block. And it shows the first bundle of a block only."""
    with Lab(programs, out) as lab:
        pcap = lab.path("aggregates.pcap")
        transfer(lab, pcap, ("-D", "200k", "-P", "700B", "-W", "60"), segment="9000B", aggregate="8900B",
                 aggregate_time="50ms")
    malformed = tshark(pcap, "-Y", f"{WRONG} && ltp.type != 1")
    assert malformed == "", malformed
    warned = set(tshark(pcap, "-Y", "_ws.expert.severity >= 6291456 && ltp.type != 1", "-T", "fields",
                        "-e", "_ws.expert.message").split("\n"))
    assert {w for line in warned for w in line.split(",")} <= {"", "Unknown type code"}, warned
    lines = tshark(pcap, "-Y", "ltp.data.sda.client.id && ltp.type != 1", "-T", "fields", "-e",
                   "ltp.data.sda.client.id").splitlines()
    assert set(lines) == {"1"}, lines
    assert 20 <= len(lines) <= 100, f"{len(lines)} blocks of 285 bundles and their acknowledgements"
    sound = tshark(pcap, "-Y", "ltp.data.sda.client.id && bpv7.crc_status == 1").count("\n")
    assert sound == len(lines), f"{sound} of {len(lines)} first bundles have a right check value"
    bad = tshark(pcap, "-Y", "bpv7.crc_status == 0 && ltp.type != 1")
    assert bad == "", bad
    return len(lines)


def guarded(programs, out, name, expected, **keys):
    """A transfer whose segments all have the expected extensions, and the segments."""
    with Lab(programs, out) as lab:
        pcap = lab.path(f"{name}.pcap")
        transfer(lab, pcap, ("-D", "500k", "-P", "50kB", "-W", "4"), **keys)
    for malformed in (tshark(pcap, "--disable-protocol", "bpv7", "-Y", WRONG),
                      tshark(pcap, "-Y", f"{WRONG} && ltp.type != 1")):
        assert malformed == "", malformed
    warned = set(tshark(pcap, "-Y", "_ws.expert.severity >= 6291456 && ltp.type != 1", "-T", "fields",
                        "-e", "_ws.expert.message").split("\n"))
    assert warned <= {"", "Unknown type code"}, warned
    lines = tshark(pcap, "-Y", "ltp", "-T", "fields", "-e", "ltp.hdr.extn.tag", "-e", "ltp.hdr.extn.len", "-e",
                   "ltp.hdr.extn.val", "-e", "ltp.trl.extn.cnt").splitlines()
    segments = [packet[28:] for _, packet in dissect.pcap_read(pcap)]
    assert len(lines) == len(segments) > 500, f"{len(lines)} of {len(segments)} are LTP to tshark"
    assert set(lines) == {expected}, set(lines)
    return segments


def check_guarded(programs, out):
    """Authentication and cookies (RFC 5327) are extensions to tshark, which are there on every segment; and each
    authentication value is that of its segment, computed here. One at a time: tshark 4.0 loses its way behind the first
    of two extensions; and it counts trailers, but does not look into them."""
    key = os.urandom(20)
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "key")
    with open(path, "w", encoding="ascii") as f:
        f.write(key.hex())
    os.chmod(path, 0o600)  # a key that others may read is refused
    segments = guarded(programs, out, "authenticated", "0x00\t3\t006b31\t1", auth="require", auth_key_file=path,
                       auth_key_id="k1")
    for segment in segments:
        assert segment[-12:-10] == b"\x00\x0a", segment.hex()
        assert hmac.digest(key, segment[:-10], "sha1")[:10] == segment[-10:], segment.hex()
    return len(segments) + len(guarded(programs, out, "cookie", "0x01\t5\t0102030405\t0", cookie="0102030405"))


def main():
    programs, out = sys.argv[1:3]
    shutil.rmtree(out, ignore_errors=True)
    with Lab(programs, out) as lab:
        pcap = lab.path("wire.pcap")
        count = transfer(lab, pcap)
    frames = tshark(pcap, "-Y", "ltp").count("\n")
    assert frames == sum(count), f"{sum(count)} datagrams, of which {frames} are LTP to tshark"
    malformed = tshark(pcap, "--disable-protocol", "bpv7", "-Y", WRONG)
    assert malformed == "", malformed
    # Bundles: tshark takes any checkpoint for the end of its block, so it reads half a bundle at one of type 1,
    # which says that the red part goes on.
    malformed = tshark(pcap, "-Y", f"{WRONG} && ltp.type != 1")
    assert malformed == "", malformed
    # No warning either, but for "unknown type code": tshark has no dissector for the generator's own payload.
    warned = set(tshark(pcap, "-Y", "_ws.expert.severity >= 6291456 && ltp.type != 1", "-T", "fields",
                        "-e", "_ws.expert.message").split("\n"))
    assert warned <= {"", "Unknown type code"}, warned
    kinds = set(tshark(pcap, "-T", "fields", "-e", "ltp.type").split())
    assert len(kinds) >= 5, kinds
    # BPv7 is recognised in the reassembled blocks, each with its payload and right check values
    bundles = tshark(pcap, "-Y", "bpv7").count("\n")
    assert bundles >= 60, f"{bundles} bundles"
    bad = tshark(pcap, "-Y", "bpv7.crc_status == 0 && ltp.type != 1")
    assert bad == "", bad
    print(f"{check_aggregates(programs, out)} blocks of several bundles")
    print(f"{check_guarded(programs, out)} segments with authentication or cookie")
    print(f"{frames} segments of types {sorted(kinds)} and {bundles} bundles, nothing malformed")


main()
