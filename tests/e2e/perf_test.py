# SPDX-License-Identifier: Apache-2.0
"""What helio-perf says to a person when something is missing. usage: perf_test.py BIN OUT [TEST...]"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import _paths  # noqa: F401
import aap2  # noqa: E402
from heliograph.processes import Lab  # noqa: E402
from resting import tries  # noqa: E402

PROGRAMS = OUT = ""


class PerfTest(unittest.TestCase):
    def setUp(self):
        out = os.path.join(OUT, self._testMethodName)
        shutil.rmtree(out, ignore_errors=True)
        self.lab = Lab(PROGRAMS, out)
        self.addCleanup(self.lab.__exit__)

    def begin(self, *arguments):
        p = subprocess.Popen([self.lab.program("helio-perf"), *arguments], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(self.reap, p)
        return p

    def reap(self, p):
        p.kill()
        p.communicate()

    def end(self, p, code):
        out, err = p.communicate(timeout=300)
        self.assertEqual(p.returncode, code, (out, err))
        return out, err

    @staticmethod
    def asleep(p):
        """Waits until it has taken its signals, and waits for what comes next."""
        while True:
            with open(f"/proc/{p.pid}/status") as f:
                said = dict(line.split(":\t") for line in f if ":\t" in line)
            if int(said["ShdPnd"], 16) == int(said["SigPnd"], 16) == 0 and said["State"][0] in "SZ":
                return  # or it has ended
            time.sleep(0.02)

    def client(self, *arguments):
        return self.begin("client", "--socket", self.lab.socket(1), "-d", "ipn:1.2000", *arguments)

    def server(self, *arguments):
        p = self.begin("server", "--socket", self.lab.socket(1), *arguments)
        self.assertIn("client", p.stdout.readline())  # the title: it is registered
        return p

    def node(self):
        return self.lab.start_node(1, self.lab.write_node(1, [], log=False))

    def test_no_node(self):
        began = time.monotonic()
        out, err = self.end(self.client("-T", "1", "-W", "2"), 1)
        self.assertGreater(time.monotonic() - began, 2.5)
        self.assertIn("waiting up to 3 s for the node", err)
        self.assertIn("no node answers at", err)
        self.assertIn(": no such socket; start heliod, or write the path that its configuration has as socket", err)

    def test_unwritable_output_is_told_before_the_run(self):
        """And the server's folder: otherwise a client waits in vain."""
        gone, file = self.lab.path("gone"), self.lab.path("file")
        with open(file, "w", encoding="utf-8"):
            pass
        no_folder = "there is no such folder; make it (mkdir -p), or write another"
        client = ("client", "-d", "ipn:1.2000", "-T", "600", "-W", "2")
        for words, said in (((*client, "--json", f"{gone}/x"), f"client: --json {gone}/x: {no_folder} file"), ((*client, "--csv", f"{gone}/x"), f"client: --csv {gone}/x: {no_folder} file"),
                            ((*client, "--json", self.lab.path(".")), f"client: --json {self.lab.path('.')}: Is a directory"), (("server", "--json", f"{gone}/x"), f"server: --json {gone}/x: {no_folder} file"),
                            (("server", "--output", gone), f"server: --output {gone}: {no_folder}"), (("server", "--output", file), f"server: --output {file}: this is a file; a folder is wanted")):
            out, err = self.end(self.begin(words[0], "--socket", self.lab.socket(1), *words[1:]), 2)  # without a node: nothing was begun
            self.assertEqual((out, err.splitlines()[0]), ("", f"helio-perf {said}"))

    def test_one_bundle_has_no_rate(self):
        """n bundles have n - 1 intervals; a rate without its unit is noticed."""
        self.node()
        path = self.lab.path("r.json")
        out, err = self.end(self.client("-T", "1", "-R", "10", "--linger", "1", "--json", path), 1)
        self.assertIn("helio-perf client: WARNING: -T has room for one bundle: at 10 bit/s one of 50000 bytes takes 11.1 h; did you mean -R 10M?\n", err)
        self.assertIn("goodput     - (one bundle has no rate)\n", out)
        with open(path, encoding="utf-8") as f:
            self.assertIsNone(json.load(f)["goodput_bps"])
        out, err = self.end(self.client("-n", "3", "-R", "1M", "--linger", "1", "--json", path), 1)
        self.assertNotIn("WARNING", err)
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
        self.assertEqual(found["goodput_basis"], "confirmed")
        self.assertLessEqual(found["goodput_bps"], 1.01e6)
        self.assertAlmostEqual(found["goodput_bps"] * found["sending_s"], 2 * 8 * 50000, delta=10)
        _, err = self.end(self.client("-T", "500ms", "-R", "1b", "--linger", "1"), 1)
        self.assertIn("at 1 bundles/s one of 50000 bytes takes 1 s; give a longer -T, a smaller -P or a greater -R\n", err)

    def test_node_appears(self):
        self.node()
        self.server()
        late = os.path.join(self.lab.sockets, "late")
        client = self.begin("client", "--socket", late, "-d", "ipn:1.2000", "-D", "200k", "-W", "2")
        self.assertIn("waiting up to 3 s for the node", client.stderr.readline())
        os.symlink(self.lab.socket(1), late)
        self.assertIn("4 acknowledged, 0 missing", self.end(client, 0)[0])

    def test_no_server(self):
        self.node()
        out, err = self.end(self.client("-T", "2", "-W", "2", "--linger", "2"), 1)
        self.assertIn("no acknowledgement from ipn:1.2000: is a server registered there, and has its node a route back?", out)
        self.assertIn("waiting for 2 bundles (up to 2 s)", err)
        out, err = self.end(self.client("-D", "200k", "-R", "10M", "--linger", "4"), 1)
        self.assertIn("4 confirmed by the node, 0 acknowledged, 4 missing", out)

    def test_too_long_a_bundle(self):
        """Anyone can send one: the server counts it and has the next ones."""
        self.node()
        path = self.lab.path("server.json")
        server = self.server("--payload-max", "1000", "--json", path)
        out, _ = self.end(self.client("-P", "1001", "-n", "3", "-W", "3", "--linger", "1"), 1)
        self.assertIn("3 confirmed by the node, 0 acknowledged, 3 missing", out)
        out, _ = self.end(self.client("-P", "1000", "-n", "3", "-W", "3"), 0)
        self.assertIn("3 acknowledged, 0 missing", out)
        server.send_signal(signal.SIGINT)
        self.end(server, 0)
        with open(path, encoding="utf-8") as f:
            said = json.load(f)
        self.assertEqual((said["bundles"], said["foreign"]), (3, 3), said)

    def test_second_server(self):
        self.node()
        self.server()
        out, err = self.end(self.begin("server", "--socket", self.lab.socket(1)), 1)
        self.assertIn("another application has ipn:1.2000; stop it or choose --service", err)
        for service, says in (("128", "service 128 is the node's echo; choose another --service"),
                              ("abc", "service abc: the node is ipn:1.0, whose services are numbers; choose --service N")):
            _, err = self.end(self.begin("server", "--socket", self.lab.socket(1), "--service", service), 1)
            self.assertIn(says, err)

    def test_interrupt(self):
        self.node()
        self.server()
        path = self.lab.path("r.json")
        for _ in tries():  # the account may take a second
            client = self.client("-T", "600", "-W", "2", "--json", path, "-i", "0.1")
            self.assertTrue(any(re.search(r" [1-9]\d* acknowledged", line) for line in client.stdout), "it ended")
            client.send_signal(signal.SIGINT)
            out, err = self.end(client, 0)
            with open(path) as f:
                result = json.load(f)
            self.assertTrue(result["interrupted"])
            if result["server"] is not None:
                break
        self.assertEqual(err, "")
        self.assertRegex(out, r"server +\d+ bundles")
        self.assertGreater(result["server"]["bundles"], 0)

    def test_interrupt_of_all(self):
        """Ctrl-C on a terminal reaches the node, too: the result is printed, and nothing looks like a failure."""
        node = self.node()
        client, sent = self.client("-T", "600", "-W", "2", "-i", "0.1"), 0  # no server: its account does not come
        while sent < 2:
            line = client.stdout.readline()
            self.assertTrue(line, "it ended")
            sent += int(re.search(r" (\d+) sent|$", line)[1] or 0)
        client.send_signal(signal.SIGINT)
        self.asleep(client)
        node.send_signal(signal.SIGTERM)
        out, err = self.end(client, 0)
        self.assertEqual(err, "")
        self.assertIn("bundles     2 sent", out)

    def test_intervals(self):
        """A line each second, also on a pipe, with what happened in it; the JSON has them, and they add up."""
        self.node()
        self.server()
        path = self.lab.path("r.json")
        for _ in tries():
            out, err = self.end(self.client("-T", "3", "-W", "4", "-P", "20k", "-i", "0.5", "--json", path), 0)
            lines = re.findall(r"(?m)^ +([0-9.]+)-([0-9.]+) +s +(\d+) sent +(\d+) confirmed +(\d+) acknowledged +[0-9.]+ Mbit/s$", out)
            with open(path) as f:
                result = json.load(f)
            if len(lines) >= 3:
                break
        self.assertGreaterEqual(len(lines), 3)
        self.assertEqual(len(lines), len(result["intervals"]))
        self.assertEqual(sum(int(line[2]) for line in lines), result["bundles_sent"])
        self.assertEqual(sum(i["bytes"] for i in result["intervals"]), result["bytes_acked"])
        for before, after in zip(result["intervals"], result["intervals"][1:]):
            self.assertEqual(before["end_s"], after["start_s"])
        for i in result["intervals"]:
            self.assertAlmostEqual(i["bps"], 8 * i["bytes"] / (i["end_s"] - i["start_s"]), delta=1 + i["bps"] * 1e-6)
        out, err = self.end(self.client("-D", "100k", "-W", "4", "-i", "0"), 0)
        self.assertNotIn(" s  ", out)

    def test_status_reports(self):
        """Reports are asked for, and go to the monitor."""
        self.lab.start_node(1, self.lab.write_node(1, [], log=False, extra="bundles: {status_reports: yes}\n"))
        self.server()
        with aap2.Client(self.lab.socket(1)) as monitor:
            self.assertEqual(monitor.configure("ipn:1.99", subscribe=True), aap2.SUCCESS)
            self.end(self.client("-D", "100k", "-W", "2", "-N", "--delivered", "-m", "ipn:1.99"), 0)
            for _ in range(2):
                source, payload = monitor.delivery()
                self.assertEqual((source, payload[:2]), ("ipn:1.0", b"\x82\x01"))  # a status report
        done = self.end(self.client("-D", "100k", "-W", "2", "-m", "nowhere"), 2)
        self.assertIn("-m", done[1])

    def test_monitor(self):
        """A table for each client, in DTNperf's columns; the client's stop ends it."""
        self.lab.start_node(1, self.lab.write_node(1, [], log=False, extra="bundles: {status_reports: yes}\n"))
        self.server()
        path, tables = self.lab.path("m.json"), self.lab.path("tables")
        os.mkdir(tables)
        monitor = self.begin("monitor", "--socket", self.lab.socket(1), "--output", tables, "--json", path, "--linger", "5")
        self.assertIn("sender", monitor.stdout.readline())
        for service in ("71000", "71001"):
            self.end(self.client("-D", "150k", "-W", "2", "--delivered", "-r", "-N", "-m", "ipn:1.1000", "--service", service), 0)
        for _ in range(2):
            self.assertRegex(monitor.stdout.readline(), r"ipn:1.7100[01] +9 +4 +0 +4 +0 +ipn_1.7100[01].csv")
        monitor.send_signal(signal.SIGTERM)
        self.end(monitor, 0)
        with open(os.path.join(tables, "ipn_1.71000.csv")) as f:
            lines = f.read().splitlines()
        self.assertEqual(lines[0], "RX_TIME;Report_SRC;Report_TST;Report_SQN;Report_Type;Bndl_SRC;Bndl_TST;Bndl_SQN;Bndl_FO;Bndl_FL;"
                                   "Dlv;Ct;Rcv;Fwd;Del;Reason")
        rows = [dict(zip(lines[0].split(";"), line.split(";"))) for line in lines[1:]]
        self.assertTrue(all(line.count(";") == 15 for line in lines))
        reports = [row for row in rows if row["Report_Type"] == "STATUS_REPORT"]
        self.assertEqual([row["Report_Type"] for row in rows].count("CLIENT_STOP"), 1)
        self.assertEqual(len(reports), 8)  # of three of data and one of the end: received, delivered
        self.assertEqual(sum(row["Rcv"] != "" for row in reports), 4)
        for row in reports:
            self.assertEqual((row["Report_SRC"], row["Bndl_SRC"], row["Ct"], row["Fwd"], row["Del"], row["Bndl_FL"]),
                             ("ipn:1.0", "ipn:1.71000", "", "", "", "0"))
            self.assertGreaterEqual(int(row["Dlv"] or row["Rcv"]), int(row["Bndl_TST"]))
            self.assertEqual((row["Dlv"] == "") + (row["Rcv"] == ""), 1)
            self.assertEqual(row["Reason"], "no additional information")
        with open(path) as f:
            shown = json.load(f)
        self.assertEqual((shown["reports"], shown["foreign"], len(shown["sessions"])), (16, 0, 2))
        self.assertTrue(all(s["stopped"] and s["delivered"] == 4 for s in shown["sessions"]))

    def test_reports_to_the_client_itself(self):
        self.lab.start_node(1, self.lab.write_node(1, [], log=False, extra="bundles: {status_reports: yes}\n"))
        self.server()
        path = self.lab.path("r.json")
        self.end(self.client("-D", "150k", "-W", "2", "--delivered", "--json", path), 0)
        with open(path) as f:
            self.assertGreaterEqual(json.load(f)["reports"]["delivered"], 3)

    def test_hints_name_the_reason(self):
        """A full store, and nobody at the destination, are not "has its node a route back?"."""
        self.lab.start_node(1, self.lab.write_node(1, [], store="{durability: none, limit: 3MB}", log=False,
                                                   extra="bundles: {status_reports: yes}\n"))
        out, err = self.end(self.client("-D", "1M", "-W", "2", "-P", "500kB", "--linger", "4", "-i", "0"), 1)
        self.assertRegex(out, r"server +ipn:1.0 has a bundle for ipn:1.2000, and nobody takes it there: is a server registered\?")
        out, err = self.end(self.client("-T", "4", "-R", "100M", "-P", "500kB", "--linger", "1", "-i", "0"), 1)
        self.assertRegex(out, r"server +our own node refused bundles [0-9]+ times: the share of its peer, source or idle endpoint in the node's limits is used up \(bundles\.")
        self.assertNotIn("route back", out)

    def test_ramp_and_table(self):
        self.node()
        self.server()
        path, table = self.lab.path("r.json"), self.lab.path("r.csv")
        for _ in tries():  # only 100 ms of one are made good
            self.end(self.client("-T", "4", "-R", "10b", "--ramp", "110b", "-P", "1k", "-i", "1", "--csv", table, "--json", path), 0)
            with open(path) as f:
                result = json.load(f)
            with open(table) as f:
                rows = [line.split(",") for line in f.read().splitlines()]
            self.assertEqual(rows[0], ["start_s", "end_s", "sent", "confirmed", "acked", "bytes", "bps"])
            self.assertEqual(len(rows) - 1, len(result["intervals"]))
            self.assertEqual(sum(int(row[2]) for row in rows[1:]), result["bundles_sent"])
            self.assertEqual(sum(int(row[5]) for row in rows[1:]), result["bytes"])
            self.assertLess(result["bundles_sent"], 260)
            sent = [i["sent"] for i in result["intervals"][:4]]
            if result["bundles_sent"] > 150 and sent[-1] > 1.5 * sent[0]:
                break
        self.assertGreater(result["bundles_sent"], 150)  # 60 a second on average
        self.assertGreater(sent[-1], 1.5 * sent[0])
        for words, what in ((("-W", "2", "--ramp", "2M", "-T", "1"), "--ramp is of -R with -T"), (("-R", "2M", "--ramp", "x", "-T", "1"), "--ramp: \"x\" is not understood; write a rate"),
                            (("-R", "2M", "--ramp", "2b", "-T", "1"), "in the unit of -R")):
            self.assertIn(what, self.end(self.client(*words), 2)[1])

    def test_parallel(self):
        self.node()
        self.server()
        path = self.lab.path("r.json")
        out, _ = self.end(self.client("-D", "200k", "-W", "2", "-P", "20k", "--parallel", "3", "-i", "0.2", "--json", path), 0)
        self.assertRegex(out, r"(?m)^\[ 3\] +[0-9.]+-[0-9.]+ +s ")
        self.assertRegex(out, r"(?m)^\[sum\] +30 sent +30 confirmed +30 acknowledged +0 missing ")
        with open(path) as f:
            result = json.load(f)
        self.assertEqual((result["parallel"], result["bundles_acked"], len(result["clients"])), (3, 30, 3))
        self.assertEqual(len({c["source"] for c in result["clients"]}), 3)
        self.assertIn("--parallel: not with", self.end(self.client("-D", "1k", "-W", "1", "--parallel", "2", "--service", "5"), 2)[1])
        self.assertIn("no node answers", self.end(self.begin("client", "--socket", "/tmp/none.sock", "-d", "ipn:1.2000", "-D", "1k", "-W", "1",
                                                             "--parallel", "2"), 1)[1])

    def test_reverse(self):
        """As iperf3 -R: the server sends; lines, table, JSON and delays are of the end that receives. In window and in rate mode."""
        self.node()
        account = self.lab.path("server.json")
        server = self.server("--json", account)
        path, table = self.lab.path("r.json"), self.lab.path("r.csv")
        for count in tries():
            out, err = self.end(self.client("-T", "3", "-W", "4", "-P", "20k", "-i", "0.5", "--csv", table, "--json", path, "--reverse"), 0)
            self.assertEqual(err, "")
            lines = re.findall(r"(?m)^ +([0-9.]+)-([0-9.]+) +s +(\d+) arrived +[0-9.]+ Mbit/s$", out)
            if len(lines) >= 3:
                break
        with open(path) as f:
            result = json.load(f)
        with open(table) as f:
            rows = [line.split(",") for line in f.read().splitlines()]
        self.assertEqual(rows[0], ["start_s", "end_s", "bundles", "bytes", "bps"])
        self.assertGreaterEqual(len(lines), 3)
        self.assertEqual(len(lines), len(result["intervals"]))
        self.assertEqual(len(lines), len(rows) - 1)
        self.assertEqual(sum(int(line[2]) for line in lines), result["bundles"])
        self.assertEqual(sum(int(row[3]) for row in rows[1:]), result["bytes"])
        self.assertTrue(result["reverse"] and not result["failed"] and result["lost"] == 0, result)
        self.assertEqual((result["bundles"], result["bytes"]), (result["bundles_sent"], 20000 * result["bundles"]))
        self.assertGreater(result["goodput_bps"], 0)
        for _ in tries():  # before the first arrival: the others come the faster
            out, _ = self.end(self.client("-D", "1M", "-R", "8M", "-P", "20k", "--json", path, "--reverse"), 0)
            with open(path) as f:
                result = json.load(f)
            self.assertEqual((result["bundles"], result["bundles_sent"], result["goodput_basis"]), (50, 50, "arrivals"))
            if result["goodput_bps"] < 8.8e6:
                break
        self.assertLess(result["goodput_bps"], 8.8e6)  # paced by the server; a slow machine makes it less
        self.assertTrue(result["one_way_ms"]["clocks_agree"], result)
        self.assertRegex(out, r"one way     min [0-9.]+  mean [0-9.]+  p50 [0-9.]+  p90 [0-9.]+  p99 [0-9.]+  max [0-9.]+ ms")
        server.send_signal(signal.SIGTERM)
        out, _ = self.end(server, 0)
        self.assertRegex(out, r"(?m)^to ipn:1\.\d+ +50 +1000000 ")
        with open(account) as f:
            sent = json.load(f)["sent"]
        self.assertEqual({s["bundles_sent"] for s in sent[count + 1:]}, {50})
        self.assertEqual(sent[-1]["destination"], result["source"])
        self.assertEqual(sent[-1]["source"], result["sender"])

    def test_reverse_of_several(self):
        self.node()
        self.server()
        path = self.lab.path("r.json")
        out, _ = self.end(self.client("-D", "200k", "-W", "2", "-P", "20k", "--parallel", "3", "-i", "0.2", "--json", path, "--reverse"), 0)
        self.assertRegex(out, r"(?m)^\[ 3\] +[0-9.]+-[0-9.]+ +s ")
        self.assertRegex(out, r"(?m)^\[sum\] +30 arrived +0 missing ")
        with open(path) as f:
            result = json.load(f)
        self.assertEqual((result["parallel"], result["bundles"], len(result["clients"])), (3, 30, 3))

    def test_reverse_interrupted(self):
        """Ctrl-C at the end that receives stops the one that sends."""
        self.node()
        server = self.server()
        path = self.lab.path("r.json")
        client = self.client("-T", "600", "-W", "2", "--json", path, "-i", "0.1", "--reverse")
        self.assertTrue(any(re.search(r" [1-9]\d* arrived", line) for line in client.stdout), "it ended")
        client.send_signal(signal.SIGINT)
        self.end(client, 0)
        with open(path) as f:
            result = json.load(f)
        self.assertTrue(result["interrupted"] and result["bundles"] > 0)
        self.assertRegex(server.stdout.readline(), r"^to ipn:1\.\d+ +\d+ ")  # told: it is over there, too

    def test_reverse_refused(self):
        """What the server does not want is answered so; limits of time, of size, of number."""
        self.node()
        server = self.server("--reverse-max", "600")
        for words, why in ((("-T", "601", "-W", "2"), "that is longer than it may"), (("-D", "40M", "-W", "2", "-P", "20M"), "payload or window is more"),
                           (("-D", "40M", "-W", "70000"), "payload or window is more")):
            _, err = self.end(self.client(*words, "--reverse"), 1)
            self.assertIn("ipn:1.2000 does not send: " + why, err)
        busy, served = self.client("-T", "600", "-R", "1b", "-P", "1k", "--reverse", "--parallel", "16", "-i", "0.1"), set()
        while len(served) < 16:
            line = busy.stdout.readline()
            self.assertTrue(line, "it ended")
            served.update(re.findall(r"^\[ *(\d+)\].* [1-9]\d* arrived", line))
        self.assertIn("as many as it may already", self.end(self.client("-T", "1", "-W", "2", "--reverse"), 1)[1])
        busy.send_signal(signal.SIGINT)
        self.end(busy, 0)
        server.send_signal(signal.SIGTERM)
        self.end(server, 0)
        # in window mode with nobody who acknowledges, the limit ends it
        server = self.server("--reverse-max", "6")
        client = self.client("-D", "1G", "-W", "2", "-P", "20k", "--reverse", "-i", "0.1")
        self.assertTrue(any(re.search(r" [1-9]\d* arrived", line) for line in client.stdout), "it ended")
        client.kill()
        self.assertIn("took longer than --reverse-max; it ends", server.stderr.readline())
        server.send_signal(signal.SIGTERM)
        self.end(server, 0)
        self.server("--reverse-max", "0")
        self.assertIn("its operator does not want it to", self.end(self.client("-T", "1", "-W", "2", "--reverse"), 1)[1])

    def test_reverse_of_nobody(self):
        self.node()
        _, err = self.end(self.client("-T", "1", "-W", "2", "--reverse", "--linger", "1"), 1)
        self.assertIn("no answer from ipn:1.2000: is a server registered there that knows --reverse", err)
        self.assertIn("--reverse: not with -F", self.end(self.client("-F", "/etc/hostname", "-W", "2", "--reverse"), 2)[1])
        self.assertIn("--reverse: not with -F", self.end(self.client("-T", "1", "-W", "2", "--reverse", "-r"), 2)[1])

    def test_one_way(self):
        """In rate mode the delays of one direction, since both ends have one clock here."""
        self.node()
        self.server()
        path = self.lab.path("r.json")
        out, _ = self.end(self.client("-D", "200k", "-R", "10M", "-P", "20k", "--json", path), 0)
        self.assertRegex(out, r"one way     min [0-9.]+  mean [0-9.]+  p50 [0-9.]+  p90 [0-9.]+  p99 [0-9.]+  max [0-9.]+ ms")
        with open(path) as f:
            way = json.load(f)["one_way_ms"]
        self.assertTrue(0 < way["min"] <= way["mean"] <= way["max"], way)
        self.assertTrue(way["clock_ahead_ms"][0] <= 0 <= way["clock_ahead_ms"][1] and way["clocks_agree"], way)

    def test_wrong_options(self):
        for words, what in ((("client", "--socket", "x", "-d", "foo", "-T", "1", "-W", "1"), "\"foo\" is not understood; write an endpoint"),
                            (("--wrong",), "--wrong"), (("both",), "both"), ((), "client, server or monitor")):
            out, err = self.end(self.begin(*words), 2)
            self.assertIn(what, err)
            self.assertNotIn("waiting", err)  # for a node


if __name__ == "__main__":
    PROGRAMS, OUT = sys.argv[1:3]
    os.makedirs(OUT, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *("PerfTest.test_" + t for t in sys.argv[3:])], verbosity=2)
