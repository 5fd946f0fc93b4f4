#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab: pictures of labs, names in place of numbers and endpoints, and what is left of a lab that was killed.

usage: lab_names_test.py BIN SOURCE live|netns
"""
import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

import lab_test
from lab_test import KIND, SOURCE, Folder, lab, made

from heliograph import lab_cli, lab_derive, lab_file, lab_result, lab_state  # noqa: E402


class Names(Folder):
    LAB = ("nodes: {src: {}, mid: {}, dst: {node: 'dtn://dst/'}}\nlinks:\n  src-mid: {rate: 20Mbit/s, delay: 5ms, forward: {trace: A}}\n"
           "  mid-dst: {adapter: tcpcl, channel: no}\n")

    def test_a_picture(self):
        file = self.file(self.LAB)
        said = lab(file, "graph").stdout
        for words in ('"src" [label="src\\nipn:1.0"];', '"dst" [label="dst\\ndtn://dst/"];', '"src" -- "mid" [label="→ 20Mbit/s, 5ms, trace A\\n← 20Mbit/s, 5ms"];',
                      '"mid" -- "dst" [label="tcpcl\\nno channel"];'):
            self.assertIn(words, said)
        self.assertEqual((said.count("{"), said.count("}"), said.count(" -- ")), (1, 1, 2))
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg"], input=said, capture_output=True, text=True, check=True)
        self.assertIn("← 1Mbit/s", lab(file, "graph", "--set", "links.src-mid.return.rate=1Mbit/s").stdout)
        for example in sorted((SOURCE / "examples").glob("lab-*.yaml")):
            picture = xml.etree.ElementTree.fromstring(lab(example, "graph", "--svg").stdout)
            drawn = lab_file.load(str(example))
            texts = {element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")}
            self.assertLessEqual(set(drawn.nodes), texts, example)
            self.assertEqual(len(list(picture.iter("{http://www.w3.org/2000/svg}path"))), len(drawn.links), example)
            places = {(e.get("cx"), e.get("cy")) for e in picture.iter("{http://www.w3.org/2000/svg}ellipse")}
            self.assertEqual(len(places), len(drawn.nodes), "no two nodes at one place")
        self.assertIn("wrong.yaml:1: ", lab(self.file("lnie: 2\n", "wrong.yaml"), "graph", code=2).stderr)

    def test_a_name_is_an_endpoint(self):
        """Where a program wants one; values of options and other words stay."""
        known = {"endpoints": lab_derive.endpoints(made("nodes: {2: {}, dst: {}}\nlinks: {2-dst: {}}\n"))}
        for words, wanted in (("helio-ping dst", "helio-ping ipn:1.128"), ("helio-ping -c 2 2", "helio-ping -c 2 ipn:2.128"), ("/x/helio-ping dst -c 2", "/x/helio-ping ipn:1.128 -c 2"),
                              ("helio-perf client -d dst -W 2", "helio-perf client -d ipn:1.2000 -W 2"), ("helio-perf client -n 2 -d ipn:2.7", "helio-perf client -n 2 -d ipn:2.7"),
                              ("helio-send dst dst", "helio-send ipn:1.2001 dst"), ("echo dst", "echo dst"), ("helioctl links", "helioctl links")):
            self.assertEqual(lab_cli.at_names(known, words.split()), wanted.split())

    def test_hops_have_names(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            lab_result.tell_hops({"hops": [{"from": "ipn:1.0", "to": "ipn:9.0", "bundles": 1, "time_ms": {"mean": 1.0, "p99": 2.0}}], "source_to_application_ms": None}, {"ipn:1.0": "src"})
        self.assertTrue(said.getvalue().startswith("hop src to ipn:9.0 "), said.getvalue())


class Running(Folder):
    start, processes = lab_test.Live.start, lab_test.Live.processes

    def test_killed_its_children_end(self):
        file = self.file("line: 2\nlink: {rate: 1Mbit/s}\nduration: 1h\n")
        self.start(file)
        folder = Path(lab_state.State(file).folder)
        os.kill(json.loads((folder / "state.json").read_text())["pid"], signal.SIGKILL)
        for _ in range(3000):
            if not self.processes():
                break
            time.sleep(0.1)
        self.assertEqual(self.processes(), [])
        said = lab(file, "status", code=1).stderr
        self.assertIn("is not up: what ran it was killed (process ", said)
        self.assertIn(f"\n  {folder} (its sockets)\n", said)
        self.assertTrue(said.endswith(f"\nhelio-lab {file} down removes it\n"), said)
        lab(file, "down")
        self.assertFalse(folder.exists())
        self.assertIn("is not up; helio-lab", lab(file, "status", code=1).stderr)

    def test_names(self):
        file = self.file("line: [src, dst]\nlink: {rate: 20Mbit/s, delay: 2ms}\nduration: 1h\n")
        self.start(file)
        self.assertIn("node2 (dst)\n", lab(file, "logs").stdout)
        for name, wanted in (("src", "ipn:1.0"), ("dst", "ipn:2.0"), ("node2", "ipn:2.0"), ("src-dst", "ready"), ("link-src-dst", "ready")):
            self.assertIn(wanted, lab(file, "logs", name).stdout, name)
        self.assertIn("ipn:2.128", lab(file, "exec", "src", "helio-ping", "dst", "-c", "1").stdout)
        lab(file, "down")


class Spaces(Folder):
    start, processes = Running.start, Running.processes

    def test_killed_its_namespaces_are_told(self):
        file = self.file("line: [src, dst]\nlink: {rate: 1Mbit/s, delay: 5ms}\nduration: 1h\n")
        self.start(file, mode="netns")
        state = lab_state.State(file)
        os.kill(json.loads(Path(state.file).read_text())["pid"], signal.SIGKILL)
        while self.processes():
            time.sleep(0.1)
        said = lab(file, "status", code=1).stderr
        for space in ("n1", "n2", "emu"):
            self.assertIn(f"\n  network namespace {state.name}-{space}\n", said)
        lab(file, "down")
        self.assertIn("is not up; helio-lab", lab(file, "status", code=1).stderr)
        self.assertEqual([space for space in os.listdir("/run/netns") if space.startswith(state.name)], [])


if __name__ == "__main__":
    cases = {"live": (Names, Running), "netns": (Spaces,)}[KIND]
    suite = unittest.TestSuite(test for case in cases for test in unittest.defaultTestLoader.loadTestsFromTestCase(case))
    raise SystemExit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
