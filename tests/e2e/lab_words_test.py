#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What helio-lab says to people: usage, and its figures in words. usage: lab_words_test.py BIN SOURCE sim"""
import sys
import unittest

from lab_test import Folder, lab, made

from heliograph import lab_result, units


class Words(Folder):
    def test_the_file_comes_first(self):
        """Whoever writes the command first is told the whole line."""
        file = self.file("line: 2\n")
        for words, wanted in ((("up", file), f"helio-lab {file} up\n"), (("up", "--mode", "sim", "ho.yaml"), "helio-lab ho.yaml up --mode sim\n"),
                              (("exec", file, "1", "helioctl", "links"), f"helio-lab {file} exec 1 helioctl links\n"),
                              (("check",), "helio-lab FILE check\n"), (("link", "1-2", "down"), "helio-lab FILE link\n")):
            said = lab(*words, code=2).stderr
            self.assertTrue(said.endswith(f"helio-lab: error: FILE comes first: {wanted}"), said)
        self.assertIn("there is no such file", lab("up", "down", code=2, cwd=self.folder).stderr)
        self.assertIn("1 link", lab(self.file("line: 2\n", "check"), "check").stdout)
        self.assertIn("check: 2 nodes", lab("check", "check", cwd=self.folder).stdout, "a lab file of that name")
        self.assertIn("invalid choice: 'upp'", lab(file, "upp", code=2).stderr)

    def test_one_and_several(self):
        self.assertEqual([units.counted(n, "link") for n in (0, 1, 2, [], ["x"])], ["0 links", "1 link", "2 links", "0 links", "1 link"])
        for text, wanted in (("line: 2\ntraffic: [{ping: 1-2}]\n", "2 nodes, 1 link, 1 kind of traffic\n"),
                             ("line: 3\ntraffic: [{ping: 1-2}, {ping: 2-3}]\n", "3 nodes, 2 links, 2 kinds of traffic\n"),
                             ("nodes: {a: {}}\n", "1 node, 0 links, 0 kinds of traffic\n")):
            self.assertTrue(lab(self.file(text), "check").stdout.endswith(f": {wanted}"), text)

    def test_long_times_are_in_seconds(self):
        self.assertEqual([lab_result.ms(value) for value in (None, 0.04, 9999.94, 10000, 1081783.1)], ["–", "0.0 ms", "9999.9 ms", "10.0 s", "1081.8 s"])
        flow = made("line: 2\ntraffic: [{perf: 1-2}]").traffic[0]
        line = lab_result.flow_line(flow, {"goodput_basis": "acknowledgements", "bundles_sent": 1, "bundles_acked": 1, "goodput_bps": 1e6,
                                           "delay_ms": {"mean": 12000.0}})
        self.assertTrue(line.endswith("1 of 1 bundle acknowledged, 1.000 Mbit/s, mean delay 12.0 s"), line)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
