#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab in mode sim: what events set in mid-run, on links of datagrams and of streams. usage: lab_change_test.py BIN SOURCE sim"""
import csv
import shutil
import sys
import unittest

from lab_test import Folder, lab


class Change(Folder):
    def delivered_rate(self, since, until):
        """Payload that node 2's application had in that time, bit/s: whole bundles, from one delivery to another."""
        with open(self.folder / "out/node2.bundles.csv", newline="", encoding="utf-8") as f:
            rows = [(int(row["t_ns"]) / 1e9, 8 * int(row["payload"])) for row in csv.DictReader(f)
                    if row["event"] == "delivered" and since < int(row["t_ns"]) / 1e9 < until]
        return sum(bits for _, bits in rows[1:]) / (rows[-1][0] - rows[0][0])

    def payload_share(self, adapter):
        """Of the bits on the line, at most: heads of bundles, of segments or of the simulator's TCP frames are the rest."""
        if adapter == "tcpcl":
            return 50000 / 50059 * 1428 / 1468
        with open(self.folder / "out/node1.segments.csv", newline="", encoding="utf-8") as f:
            sent = [(int(row["length"]), int(row["udp_len"])) for row in csv.DictReader(f) if row["dir"] == "tx" and row["length"]]
        return 50000 / 50059 * sum(length for length, _ in sent) / sum(size for _, size in sent)

    def test_a_rate_that_is_halved_in_mid_run(self):
        """Of a datagram link its line and its adapter; of a stream its line. Nothing is lost, and the new rate is used."""
        for adapter in ("ltp-udp", "tcpcl"):
            with self.subTest(adapter=adapter):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                file = self.file(f"line: 2\nlink: {{adapter: {adapter}, rate: 20Mbit/s, delay: 5ms}}\n"
                                 "traffic: [{perf: 1-2, duration: 20s, window: 40, payload: 50kB}]\n"
                                 "events: [{at: 10s, link: 1-2, set: {rate: 10Mbit/s}}]\n")
                client = self.up(file)["traffic"]["perf-1"]
                self.assertEqual((client["lost"], client["bundles_acked"]), (0, client["bundles_sent"]))
                share = self.payload_share(adapter)
                self.assertGreater(share, 0.9)
                before, after = self.delivered_rate(1, 9.9), self.delivered_rate(10.5, 20)
                self.assertLessEqual(after, 10e6 * share * 1.002)  # a bundle more or less at the ends of it
                self.assertGreaterEqual(after, 0.8 * 10e6 * share)
                self.assertLessEqual(before, 20e6 * share * 1.002)
                self.assertGreaterEqual(before, 0.8 * 20e6 * share)

    def test_delay_and_loss_that_change_in_mid_run(self):
        """One way alone, and both; streams over three nodes: what the channel loses goes again."""
        file = self.file("line: 3\nlink: {adapter: tcpcl, rate: 20Mbit/s, delay: 5ms}\n"
                         "traffic: [{ping: 1-2, count: 20, interval: 100ms}, {perf: 1-3, data: 2MB, window: 5, payload: 20kB, start: 4s}]\n"
                         "events:\n  - {at: 1050ms, link: 1-2, set: {delay: 50ms}}\n  - {at: 3s, link: 2-3, set: {trace: \"iid:0.05\"}}\n"
                         "  - {at: 3s, link: 1-2, set: {forward.delay: 5ms}}\n")
        result = self.up(file)
        ping, client = result["traffic"]["ping-1"], result["traffic"]["perf-2"]
        self.assertEqual((ping["received"], client["lost"]), (20, 0))
        self.assertTrue(10 <= ping["rtt_ms"]["min"] < 12 and 100 <= ping["rtt_ms"]["max"] < 103, ping)
        self.assertGreater(result["channels"]["2-3"]["forward"]["dropped"]["random"], 20)
        self.assertEqual(sum(result["channels"]["1-2"]["forward"]["dropped"].values()), 0)

    def test_what_virtual_time_cannot_change(self):
        for text, why in (("link: {rate: 1Mbit/s}\nevents: [{at: 1s, link: 1-2, set: {queue: 5ms}}]", "events set: queue of a channel cannot change"),
                          ("link: {rate: 1Mbit/s}\nevents: [{at: 1s, link: 1-2, set: {trace: A}}]", "events set: erasures of a channel cannot change"),
                          ("link: {rate: 1Mbit/s}\nevents: [{at: 1s, link: 1-2, set: {delay: 5ms}}]", "has no delay to change from"),
                          ("link: {delay: 5ms, start: 3s}\nevents: [{at: 1s, link: 1-2, set: {delay: 6ms}}]", "has a start of its own"),
                          ("link: {adapter: tcpcl, delay: 5ms}\nnodes: {3: {}}\nlinks: {2-3: {}, 3-1: {channel: no}}\nevents: "
                           "[{at: 1s, link: 3-1, set: {delay: 5ms}}]", "links.3-1 has no channel")):
            file = self.file("line: 2\ntraffic: [{perf: 1-2, data: 1kB, window: 1}]\n" + text + "\n")
            said = lab(file, "up", "--mode", "sim", "--out", self.folder / "out", code=2).stderr
            self.assertIn(why, said, text)
            self.assertIn(f"{file}:", said)
            self.assertNotIn("Traceback", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
