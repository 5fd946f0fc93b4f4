#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The captures of a lab in tshark, by the lab's own decode_as_entries and heliograph.lua: every datagram is read as what it is, in virtual
time and in mode local, and nothing without that file.

usage: dissect_lab_test.py BIN SOURCE OUT
"""
import collections
import csv
import os
import shutil
import struct
import subprocess
import sys
import unittest
from pathlib import Path

import dissect

BIN, SOURCE, OUT = (Path(path).resolve() for path in sys.argv[1:4])
CANCEL_ACKS = ("0x0d", "0x0f")  # tshark 4.0 calls them malformed, whichever sender wrote them: nothing follows their head
LAB = """line: [a, b, c, d]
link: {rate: 20Mbit/s, delay: 5ms, trace: iid:0.02}
links: {b-c: {colour: orange, recovery: {resend: 20}}, c-d: {adapter: udp, trace: none}}
capture: [segments, pcap]
traffic: [{perf: a-d, data: 100k, window: 5, payload: 20kB}]
"""


class Labs(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)

    def run_lab(self, mode, text):
        file, folder = OUT / "lab.yaml", OUT / mode
        file.write_text(text)
        done = subprocess.run([BIN / "helio-lab", file, "up", "--mode", mode, "--out", folder], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return folder

    def fields(self, capture, *names, profile=None):
        """Of each frame, the values of these fields, by a configuration of tshark that has this profile alone."""
        config = OUT / "wireshark"
        shutil.rmtree(config, ignore_errors=True)
        (config / "profiles" / "lab").mkdir(parents=True)
        if profile:
            shutil.copy(profile, config / "profiles" / "lab")
        words = ["tshark", "-C", "lab", "-X", f"lua_script:{SOURCE / 'examples/wireshark/heliograph.lua'}", "-r", capture, "-T", "fields"]
        done = subprocess.run([*words, *(word for name in names for word in ("-e", name))], capture_output=True, text=True, check=True,
                              env={**os.environ, "WIRESHARK_CONFIG_DIR": str(config)})
        self.assertNotRegex(done.stderr, "(?i)lua|decode_as|error")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def check_captures(self, folder, links):
        profile = folder / "decode_as_entries"
        for link, protocol in links:
            for side in ("before", "after") if link == "a-b" else ("after",):
                capture = folder / f"link-{link}.{side}.pcap"
                frames = self.fields(capture, "frame.protocols", "ltp.type", "_ws.malformed", profile=profile)
                self.assertGreater(len(frames), 50, capture)
                for protocols, kind, malformed in frames:
                    self.assertEqual(protocols.split(":")[:5], ["eth", "ethertype", "ip", "udp", protocol], capture)
                    if kind not in CANCEL_ACKS:
                        self.assertEqual(malformed, "", capture)
        unread = self.fields(folder / "link-a-b.before.pcap", "frame.protocols")
        self.assertNotIn("ltp", " ".join(line[0] for line in unread))

    def check_orange(self, folder):
        """What the nodes' logs have: all data of the link b-c, and its answers."""
        found = collections.Counter()
        for kind, orange in self.fields(folder / "link-b-c.before.pcap", "ltp.type", "heliograph.orange", profile=folder / "decode_as_entries"):
            found[int(kind, 0), orange] += 1
        sent = collections.Counter()
        for node, peer in ((2, "3"), (3, "2")):
            with open(folder / f"node{node}.segments.csv", newline="", encoding="ascii") as f:
                sent.update(int(row["type"]) for row in csv.DictReader(f) if row["dir"] == "tx" and row["peer"] == peer)
        self.assertEqual({kind for kind, _ in found}, set(sent))
        self.assertEqual({orange for kind, orange in found if kind < 8}, {"1"})
        self.assertEqual({orange for kind, orange in found if kind == 14}, {"2", "3"})
        self.assertEqual({orange for kind, orange in found if kind == 15}, {""})
        for kind, count in sent.items():
            self.assertEqual(sum(n for (type_, _), n in found.items() if type_ == kind), count, kind)
        self.assertEqual(self.fields(folder / "link-a-b.before.pcap", "heliograph.orange", profile=folder / "decode_as_entries").count([""]),
                         len(self.fields(folder / "link-a-b.before.pcap", "frame.number")))

    def test_virtual_time(self):
        folder = self.run_lab("sim", LAB)
        self.check_captures(folder, (("a-b", "ltp"), ("b-c", "ltp"), ("c-d", "bundle")))
        self.check_orange(folder)

    def test_local(self):
        text = "line: [a, b]\nlink: {rate: 20Mbit/s, delay: 5ms}\ncapture: [pcap]\ntraffic: [{perf: a-b, data: 100k, window: 5, payload: 20kB}]\n"
        self.check_captures(self.run_lab("local", text), [("a-b", "ltp")])

    def test_streams(self):
        """A line of TCPCL's, with what a connection begins with; a lab without captures has no such file."""
        import _paths  # noqa: F401
        from heliograph.lab import derive as lab_derive, file as lab_file, wireshark as lab_wireshark
        (OUT / "tcp.yaml").write_text("line: [1, 2]\nlink: {adapter: tcpcl, channel: no}\nports: 21000\n")
        lab = lab_file.load(str(OUT / "tcp.yaml"))
        lines = lab_wireshark.entries(lab, lab_derive.Addresses(lab))
        self.assertEqual(sorted(lines), ["decode_as_entry: tcp.port,21000,(none),TCPCL\n", "decode_as_entry: tcp.port,21001,(none),TCPCL\n"])
        (OUT / "decode_as_entries").write_text(lab_wireshark.HEAD + "".join(lines))
        hello = b"dtn!\x04\x00"
        tcp = struct.pack(">HHIIBBHHH", 40000, 21001, 1, 1, 5 << 4, 0x18, 1000, 0, 0) + hello
        head = struct.pack(">BBHHHBBH8s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, bytes((127, 0, 0, 1)) * 2)
        dissect.pcap_write(OUT / "tcp.pcap", [(10**9, head + tcp)])
        self.assertIn("tcpcl", self.fields(OUT / "tcp.pcap", "frame.protocols", profile=OUT / "decode_as_entries")[0][0])
        (OUT / "quiet.yaml").write_text(LAB.replace("capture: [segments, pcap]\n", ""))
        subprocess.run([BIN / "helio-lab", OUT / "quiet.yaml", "up", "--dry-run", "--out", OUT / "quiet"], capture_output=True, check=True)
        self.assertFalse((OUT / "quiet" / "decode_as_entries").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
