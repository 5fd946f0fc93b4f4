# SPDX-License-Identifier: Apache-2.0
"""helio-plan: the examples of its pages run as printed, formats convert into each other, routes are those of the page.
usage: plan_tool_test.py BIN OUT ROOT"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

PROGRAMS = OUT = ROOT = ""
PLAN = "examples/plan.yaml"


def run(*words, code=0):
    done = subprocess.run([os.path.join(PROGRAMS, "helio-plan"), *words], capture_output=True, text=True, timeout=1000, cwd=ROOT)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


class PlanToolTest(unittest.TestCase):
    def route(self, *words, code=0):
        return json.loads(run("route", "--json", *words, code=code).stdout)

    def test_examples(self):
        """Of the page and of each --help."""
        with open(os.path.join(ROOT, "docs/contact-plans.md"), encoding="utf-8") as f:
            text = f.read().split("## Examples")[1]
        for words in ([], ["check"], ["convert"], ["show"], ["route"], ["import"]):
            text += run(*words, "--help").stdout
        examples = {line.strip() for line in text.splitlines() if re.match(r" +helio-plan [a-z]+ examples/", line)}
        self.assertGreaterEqual(len(examples), 10)
        for line in sorted(examples):
            words = [w.replace("/tmp/", OUT + "/") for w in line.split()[1:]]
            with self.subTest(line):
                run(*words)
        for name in ("plan.png", "plan.json", "plan.ionrc"):
            self.assertGreater(os.path.getsize(os.path.join(OUT, name)), 100)

    def test_page(self):
        """The answer on the page is the program's."""
        with open(os.path.join(ROOT, "docs/contact-plans.md"), encoding="utf-8") as f:
            shown = f.read().split("$ helio-plan route examples/plan.yaml 1 4 500kB\n")[1].split("\n\n")[0]
        self.assertEqual([line[4:] for line in shown.splitlines()], run("route", PLAN, "1", "4", "500kB").stdout.splitlines())

    def test_formats(self):
        want = self.route(PLAN, "1", "4", "500kB")
        for name, to in (("a.ionrc", "ion"), ("b.yaml", "yaml")):
            path = os.path.join(OUT, name)
            run("convert", PLAN, "--to", to, "--exact", "-o", path)
            self.assertEqual(self.route(path, "1", "4", "500kB"), want)
        path = os.path.join(OUT, "c.json")
        done = run("convert", PLAN, "--to", "hdtn", "--exact", "-o", path)
        self.assertIn("hdtn has no confidence: lost of 2 contacts", done.stderr)
        self.assertIn("2 contacts have other or none", done.stderr)
        self.assertEqual(self.route(path, "1", "3", "500kB", "130s"), self.route(PLAN, "1", "3", "500kB", "130s"))
        for to, name in (("ion", "whole.ionrc"), ("hdtn", "whole.json")):
            done = run("convert", PLAN, "--to", to, "-o", os.path.join(OUT, name))
            self.assertIn(f"for {to}: 8 contacts or light times had fractions", done.stderr)
            with open(os.path.join(OUT, name), encoding="utf-8") as f:
                self.assertNotRegex(f.read().replace(" 0.9\n", "\n"), r"[0-9]\.[0-9]")

    def test_notes(self):
        """What ION takes and nothing can be planned by is left out, and said on each command."""
        path = os.path.join(OUT, "odd.ionrc")
        with open(path, "w", encoding="utf-8") as f:
            f.write("a contact -1 -1 1 1 0\na contact +0 +60 1 2 1000\na contact +0 +60 2 1 1000\na range +0 +60 1 2 1\n")
        note = f"{path}:1: registers node 1: no contact"
        self.assertIn(note, run("check", path).stdout)
        self.assertEqual(json.loads(run("check", "--json", path).stdout)["texts"], [note])
        for words in (["show", path], ["convert", path, "--to", "ion"], ["route", path, "1", "2", "1kB"]):
            self.assertEqual(run(*words).stderr, f"helio-plan: note: {note}\n")

    def test_routes(self):
        self.assertEqual(self.route(PLAN, "1", "4", "500kB", "--lifetime", "30s", code=1)["reason"], "too late")
        self.assertEqual(self.route(PLAN, "1", "4", "1B", "10min", code=1)["reason"], "no route")
        for ends, word in (("4", "77"), "TO"), (("77", "4"), "FROM"):
            self.assertIn(f"{word}: no contact of the plan has node 77", run("route", PLAN, *ends, "1B", code=2).stderr)
        self.assertEqual(self.route(PLAN, "1", "4", "100GB", code=1)["reason"], "too long")
        late = self.route(PLAN, "1", "4", "700MB", "65s", "--lifetime", "2min", "--backlog", "2:900MB", code=1)
        self.assertEqual(late["reason"], "too late")
        full = self.route(PLAN, "1", "4", "1MB", "65s", "--lifetime", "1min", "--backlog", "2:900MB", code=1)
        self.assertEqual(full["reason"], "no volume")
        ways = self.route(PLAN, "1", "4", "500kB", "--alternatives", "9")["routes"]
        self.assertEqual([[h["to"] for h in w["hops"]] for w in ways], [[2, 4], [3, 4], [4]])
        self.assertEqual(sorted(ways, key=lambda w: w["arrival_ns"]), ways)
        self.assertEqual(len(self.route(PLAN, "1", "4", "500kB", "--critical")["routes"]), 3)
        ways = self.route(PLAN, "1", "4", "500kB", "--exclude", "2")["routes"]
        self.assertEqual(ways[0]["hops"][0]["to"], 3)
        self.assertEqual(self.route(PLAN, "1", "2", "1MB", "10s", "--bare")["routes"][0]["arrival_ns"], 10_026_000_000)

    def test_check(self):
        path = os.path.join(OUT, "holes.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("contacts:\n  - {from: 1, to: 2, end: 10s, rate: 1kbit/s}\nranges:\n  - {from: 1, to: 2, end: 4s, owlt: 0}\n")
        told = json.loads(run("check", "--json", path).stdout)
        self.assertEqual(told["notes"], 2)
        self.assertIn("no light time from 4s to 10s", told["texts"][0])
        self.assertIn("no contact back", told["texts"][1])
        with open(path, "w", encoding="utf-8") as f:
            f.write("contacts:\n  - {from: 1, to: 2, end: 10s, rate: 1 kbit/s}\n  - {from: 1, to: x, end: 9s, rate: 8bit/s}\n")
        told = run("check", path, code=2).stderr.splitlines()
        self.assertEqual(len(told), 2)
        self.assertIn(f"{path}:2: contacts[0].rate: \"1 kbit/s\" is not understood; write no space before the unit", told[0])
        self.assertIn(f"{path}:3: contacts[1].to: \"x\"", told[1])
        run("check", "nowhere.yaml", code=2)
        with open(path, "w", encoding="utf-8") as f:
            f.write("contacts:\n  - {from: 1, to: 2, start: 1s, end: 2026-11-22T12:00:00Z, rate: 1kbit/s}\n")
        self.assertIn("say which with --start DATE", run("check", path, code=2).stderr)
        run("check", path, "--start", "2026-11-22T11:00:00Z")

    def test_dates(self):
        path = os.path.join(OUT, "dates.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("start: 2026-11-22T12:00:00Z\ncontacts:\n  - {from: 1, to: 2, start: 10s, end: 1min, rate: 8Mbit/s, owlt: 1s}\n")
        done = run("route", path, "1", "2", "1kB", "--bare").stdout
        self.assertIn("arrives at 2026-11-22T12:00:11.001Z", done)
        done = run("route", path, "1", "2", "1kB", "2026-11-22T12:00:20Z", "--bare").stdout
        self.assertIn("arrives at 2026-11-22T12:00:21.001Z, after 1.001s", done)
        self.assertIn("a contact 2026/11/22-12:00:10 2026/11/22-12:01:00 1 2 1000000", run("convert", path, "--to", "ion").stdout)
        date = "2026-11-22T12:00:20Z"
        self.assertIn("AT: the plan has no dates", run("route", PLAN, "1", "4", "1kB", date, code=2).stderr)
        run("route", PLAN, "1", "4", "1kB", date, "--start", "2026-11-22T12:00:00Z")

    def test_over(self):
        """A plan of the past: check and route say so; with a date of its own route does not."""
        path = os.path.join(OUT, "over.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("start: 2020-01-01T12:00:00Z\ncontacts:\n  - {from: 1, to: 2, start: 10s, end: 1min, rate: 8Mbit/s, owlt: 1s}\n")
        over = "helio-plan: all contacts are in the past, since 2020-01-01T12:01:00Z"
        self.assertIn(over + "\n", run("check", path).stderr)
        self.assertIn(over + "; the route is from the first one on: write a date as AT\n", run("route", path, "1", "2", "1kB").stderr)
        self.assertNotIn("are in the past", run("route", path, "1", "2", "1kB", "2020-01-01T12:00:20Z").stderr)
        self.assertNotIn("are in the past", run("check", PLAN).stderr)  # it has no dates

    def test_all_errors_at_once(self):
        path = os.path.join(OUT, "wrong.ionrc")
        with open(path, "w", encoding="utf-8") as f:
            f.write("a contact +0 +60 1 2 1000\na contact +30 +90 1 2 1000\na contact +5 +5 3 4 1000\nd range +0 1 2\nd contact +7 1 2\n"
                    "d contact * 7 8\n")
        told = run("check", path, code=2).stderr
        for text in (":2: contact 1 to 2: overlaps that of line 1", ":3: end: 5s is not after its start",
                     ":4: d range: there is none", ":5: d contact: there is none", ":6: d contact: there is none"):
            self.assertIn(text, told)

    def imported(self, files, name):
        """The configuration, and the notes without the folder; heliod takes it."""
        paths = []
        for file, text in files.items():
            paths.append(os.path.join(OUT, file))
            with open(paths[-1], "w", encoding="utf-8") as f:
                f.write(text)
        made = os.path.join(OUT, name)
        notes = run("import", *paths, "-o", made).stderr.replace(OUT + "/", "")
        checked = subprocess.run([os.path.join(PROGRAMS, "heliod"), "--check", made], capture_output=True, text=True, timeout=100, cwd=ROOT)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        with open(made, encoding="utf-8") as f:
            return f.read().replace(OUT + "/", ""), notes.splitlines()

    ION = {
        "n.ionrc": "1 4 n.ionconfig\ns\nm production 1000\na contact +0 +3600 4 5 1000\na contact +0 +3600 5 4 1000\n"
                   "a range +0 +3600 4 5 3\n",
        "n.ltprc": "1 32\na span 5 12 20 1400 64000 2 'udplso 127.0.0.1:2113 8000000' 3\na span 6 9 50000 9 70000 64001 100000 1 'udplso relay:1113'\n"
                   "a span 4 1 1 1000 1000 1 'udplso localhost:1113'\na span 7 1 1 1000 1000 1 'dccplso 127.0.0.1:9'\ns 'udplsi 0.0.0.0:1114'\n",
        "n.bprc": "1\na scheme ipn 'ipnfw' 'ipnadminep'\na endpoint ipn:4.1 q\na protocol udp 1400 100\na induct udp 0.0.0.0:4557 udpcli\n"
                  "a induct tcp 0.0.0.0:4556 tcpcli\na outduct udp 127.0.0.1:4558 udpclo\na plan ipn:11.0\na planduct ipn:11.0 udp 127.0.0.1:4561\nr 'ipnadmin n.ipnrc'\ns\n",
        "n.ipnrc": "a plan 5 ltp/5\na plan 8 udp/127.0.0.1:4558\na plan 9 bibe/ipn:9.0\na exit 20 29 ipn:8.0\na exit 30 30 ipn:9.0\n",
    }
    ION_MADE = """node: ipn:4.0
socket: /tmp/helio-4.sock
store: {path: /tmp/helio-4.store, durability: sync}
plan: "n.ionrc"
links:
  - name: to-5
    adapter: ltp-udp
    peer: ipn:5.0
    local: 0.0.0.0:1114
    remote: 127.0.0.1:2113
    rate: 8000000bit/s
    segment: 1400B
    sessions: 12
    limits: {import_sessions: 20}
    owlt: 3s
    recovery: {margin: 4s}
  - name: to-6
    adapter: ltp-udp
    peer: ipn:6.0
    local: 0.0.0.0:1114
    remote: relay:1113
    segment: 64001B
    sessions: 9
    limits: {import_sessions: 9}
    rto: 2s
  - name: to-11
    adapter: udp
    peer: ipn:11.0
    local: 0.0.0.0:4557
    remote: 127.0.0.1:4561
  - name: to-8
    adapter: udp
    peer: ipn:8.0
    local: 0.0.0.0:4557
    remote: 127.0.0.1:4558
routes:
  - {to: "ipn:[20-29].*", via: to-8}
#   - {to: "ipn:30.*", via: to-9}
"""

    def test_import_ion(self):
        """Separate files, and the same as sections of one; each line that has no counterpart is named."""
        made, notes = self.imported(self.ION, "ion.yaml")
        self.assertEqual(made, self.ION_MADE)
        for note in ("n.ionrc:3: m production: has no counterpart", "n.ltprc:2: a span 5: aggregation (64000 bytes, 2 s) is left out",
                     "n.ltprc:5: a span: \"dccplso 127.0.0.1:9\": only udplso",
                     "n.bprc:3: a endpoint: applications register", "n.bprc:6: a induct tcp: has no counterpart: ION's tcp is TCPCL 3",
                     "n.bprc:10: r 'ipnadmin n.ipnrc': is not run", "n.ipnrc:3: plan 9 bibe/ipn:9.0: has no counterpart: ION's BIBE",
                     "a link of node 4 with itself: left out"):
            self.assertEqual(sum(line.startswith(note) for line in notes), 1, (note, notes))
        programs = {"n.ionrc": "ionadmin", "n.ltprc": "ltpadmin", "n.bprc": "bpadmin", "n.ipnrc": "ipnadmin"}
        one = "".join(f"## begin {programs[name]}\n{text}## end {programs[name]}\n" for name, text in self.ION.items())
        made, notes = self.imported({"n.rc": one + "## begin cfdpadmin\na entity 1\n## end cfdpadmin\n"}, "one.yaml")
        self.assertEqual(made, self.ION_MADE.replace("n.ionrc", "n.rc"))
        self.assertTrue(any("of a program that has no counterpart" in line for line in notes))

    def made_of(self, node, bp, ipn, name):
        """What is imported from lines of bpadmin and ipnadmin."""
        text = "".join(f"## begin {program}\n{lines}## end {program}\n" for program, lines in
                       (("ionadmin", f"1 {node} ''\n"), ("bpadmin", bp), ("ipnadmin", ipn)))
        return self.imported({name + ".rc": text}, name + ".yaml")

    def assert_notes(self, wanted, notes):
        for note in wanted:
            self.assertEqual(sum(note in line for line in notes), 1, (note, notes))

    def test_import_stcp(self):
        """Links of stcp. All receive at the induct, but those of a host that has a link there already: the peer does not say its node."""
        made, notes = self.made_of(1, "a protocol stcp 1400 100\na induct stcp 10.1.1.1 stcpcli\na outduct stcp 10.1.1.2:4556 ''\n"
                                   "a plan ipn:3.0 1000\na planduct ipn:3.0 stcp 10.1.1.2:4557\na planduct ipn:6.0 stcp ::1:4556\n"
                                   "a planduct ipn:3.0 stcp 10.1.1.9:4557\n",
                                   "a plan 2 host2 x stcp/10.1.1.2:4556\na plan 4 stcp/ground.example:0\na plan 8 stcp/Ground.example:4557\na plan 5 stcp/10.1.1\n", "stcp")
        self.assertEqual(made.split("links:\n")[1], """  - name: to-3
    adapter: stcp
    peer: ipn:3.0
    local: 10.1.1.1:4556
    remote: 10.1.1.2:4557
  - name: to-6
    adapter: stcp
    peer: ipn:6.0
    remote: "[::1]:4556"
  - name: to-2
    adapter: stcp
    peer: ipn:2.0
    remote: 10.1.1.2:4556
  - name: to-4
    adapter: stcp
    peer: ipn:4.0
    local: 10.1.1.1:4556
    remote: ground.example:4556
  - name: to-8
    adapter: stcp
    peer: ipn:8.0
    remote: Ground.example:4557
#   - name: to-5
#     adapter: stcp
#     peer: ipn:5.0
#     remote: ADDRESS:PORT
""")
        self.assert_notes(("10.1.1.9:4557: another duct of the same kind to node 3", "to-8: has the host of to-4", "10.1.1: neither an address nor a name",
                           "to-2: has the host of to-3: it only sends", "to-6: 10.1.1.1:4556 and [::1]:4556 are not both"), notes)
        self.assertFalse([line for line in notes if "no counterpart" in line], notes)

    def test_import_inducts(self):
        """A name stands for all addresses of this host; one induct of a kind; links in comments where no outduct says who sends."""
        made, notes = self.made_of(1, "a induct stcp here:4557 stcpcli\na induct stcp 10.1.1.1:4558 stcpcli\na induct udp @ udpcli\na induct bibe * ''\n",
                                   "", "inducts")
        self.assertIn("""#   - name: from-udp
#     adapter: udp
#     peer: ipn:NODE.0
#     local: 0.0.0.0:4556
#     remote: ADDRESS:PORT
#   - name: from-stcp
#     adapter: stcp
#     peer: ipn:NODE.0
#     local: 0.0.0.0:4557
#     source: any
""", made)
        self.assert_notes(("here: a name of this host", "10.1.1.1:4558: links stcp receive at 0.0.0.0:4557 already", "induct stcp at 0.0.0.0:4557",
                           "induct udp at 0.0.0.0:4556", "a induct bibe: has no counterpart: ION's BIBE"), notes)
        made, notes = self.made_of(1, "a induct udp 0.0.0.0:4556 udpcli\n", "a plan 1 udp/127.0.0.1:4556\n", "self")
        self.assertEqual((made.count("from-"), len([line for line in notes if "induct" in line])), (0, 0))  # it sends to itself

    def test_import_one_remote(self):
        """Two neighbours behind one address: heliod knows links by both addresses, so the second one sends from another port."""
        made, notes = self.made_of(1, "a induct udp 127.0.0.1:4556 udpcli\n", "a plan 2 udp/127.0.0.1:4557\na plan 3 udp/127.0.0.1:4557\n", "remote")
        self.assertIn("peer: ipn:2.0\n    local: 127.0.0.1:4556\n", made)
        self.assertIn("peer: ipn:3.0\n    local: 0.0.0.0:0\n    remote: 127.0.0.1:4557\n", made)
        self.assert_notes(("to-3: has the remote of to-2: it sends from a port of its own",), notes)

    def test_import_clash(self):
        """Local and remote of one socket that cannot be: comments, and notes."""
        made, notes = self.made_of(1, "a induct udp 127.0.0.1:4556 udpcli\n", "a plan 2 udp/::1:4556\na plan 3 udp/127.0.0.1:4556\n"
                                   "a plan 4 udp/127.0.0.1:4557\n", "clash")
        self.assertEqual(re.findall(r"(?m)^(.*)- name: (.*)$", made), [("#   ", "to-2"), ("#   ", "to-3"), ("  ", "to-4")])
        self.assert_notes(("to-2: local 127.0.0.1:4556 and remote [::1]:4556: the same, or not both", "to-3: local 127.0.0.1:4556 and remote 127.0.0.1:4556: the same"), notes)

    def test_import_udplsi(self):
        """Without an address, or without quotes, ION listens at the usual port; a comma behind a port is not read."""
        for words, note in (("udplsi", 0), ("udplsi localhost:5111", 1)):
            made, notes = self.imported({"l.rc": "## begin ionadmin\n1 1\n## end ionadmin\n## begin ltpadmin\n"
                                         f"a span 2 9 9 1400 1 1 'udplso 127.0.0.1:2113, 800000'\ns {words}\n## end ltpadmin\n"}, "l.yaml")
            self.assertIn("local: 0.0.0.0:1113\n    remote: 127.0.0.1:2113\n    rate: 800000bit/s\n", made)
            self.assertEqual(sum("only in quotes" in line for line in notes), note, notes)

    def test_import_hdtn(self):
        def duct(layer, **keys):
            return {"name": "x", "convergenceLayer": layer, **keys}

        outducts = [duct("ltp_over_udp", nextHopNodeId=2, remoteHostname="127.0.0.1", remotePort=1113, thisLtpEngineId=103, remoteLtpEngineId=102,
                         ltpDataSegmentMtu=1360, oneWayLightTimeMs=1000, oneWayMarginTimeMs=200, ltpSenderBoundPort=2113,
                         maxNumberOfBundlesInPipeline=50, ltpRandomNumberSizeBits=32),
                    duct("stcp", nextHopNodeId=3, remoteHostname="localhost", remotePort=4556, maxNumberOfBundlesInPipeline=50,
                         maxSumOfBundleBytesInPipeline=50000000, keepAliveIntervalSeconds=17),
                    duct("tcpcl_v4", nextHopNodeId=4, remoteHostname="localhost", remotePort=4556, tryUseTls=False, tlsIsRequired=False),
                    duct("tcpcl_v4", nextHopNodeId=5, remoteHostname="localhost", remotePort=4557, tryUseTls=True, tlsIsRequired=True),
                    duct("udp", nextHopNodeId=6, remoteHostname="localhost", remotePort=4559), duct("ltp_over_ipc", nextHopNodeId=7),
                    duct("ltp_over_encap_local_stream", nextHopNodeId=8), duct("tcpcl_v3", nextHopNodeId=9), duct("slip_over_uart", nextHopNodeId=11),
                    duct("stcp", nextHopNodeId=12, remoteHostname="hdtn_receiver", remotePort=1113, keepAliveIntervalSeconds=0),
                    duct("tcpcl_v4", nextHopNodeId=13, remoteHostname="ground", remotePort=4556),
                    duct("udp", nextHopNodeId=14, remoteHostname="relay", remotePort=4556)]
        inducts = [duct("ltp_over_udp", boundPort=1114, thisLtpEngineId=103, remoteLtpEngineId=102, ltpMaxExpectedSimultaneousSessions=5000),
                   duct("udp", boundPort=4560), duct("tcpcl_v4", boundPort=4556), duct("stcp", boundPort=4558), duct("bp_over_encap_local_stream")]
        text = json.dumps({"myNodeId": 10, "isAcsAware": True, "maxBundleSizeBytes": 10000000, "inductsConfig": {"inductVector": inducts},
                           "outductsConfig": {"outductVector": outducts}, "storageConfig": {"totalStorageCapacityBytes": 8192000000}}, indent=1)
        made, notes = self.imported({"hdtn.json": text}, "hdtn.yaml")
        self.assertEqual(made, """node: ipn:10.0
socket: /tmp/helio-10.sock
store: {path: /tmp/helio-10.store, durability: sync, limit: 8192000000B}
bundles: {max: 10000000B}
links:
  - name: to-2
    adapter: ltp-udp
    peer: ipn:2.0
    local: 0.0.0.0:1114
    remote: 127.0.0.1:1113
    engine: 103
    peer_engine: 102
    segment: 1360B
    sessions: 50
    limits: {import_sessions: 5000, import_sessions_all: 5000}
    owlt: 1s
    recovery: {margin: 400ms}
  - name: to-3
    adapter: stcp
    peer: ipn:3.0
    local: 0.0.0.0:4558
    remote: 127.0.0.1:4556
    window: 50
    limits: {window_bytes: 50000000B}
    keepalive: 17s
  - name: to-4
    adapter: tcpcl
    peer: ipn:4.0
    remote: 127.0.0.1:4556
    tls: off
#   - name: to-5
#     adapter: tcpcl
#     peer: ipn:5.0
#     remote: 127.0.0.1:4557
#     tls: required
  - name: to-6
    adapter: udp
    peer: ipn:6.0
    local: 0.0.0.0:4560
    remote: 127.0.0.1:4559
  - name: to-12
    adapter: stcp
    peer: ipn:12.0
    local: 0.0.0.0:4558
    remote: hdtn_receiver:1113
    keepalive: 0
  - name: to-13
    adapter: tcpcl
    peer: ipn:13.0
    remote: ground:4556
    tls: off
  - name: to-14
    adapter: udp
    peer: ipn:14.0
    local: 0.0.0.0:4560
    remote: relay:4556
""")
        for note in ("isAcsAware: has no counterpart", "ltpRandomNumberSizeBits: has no counterpart", "outduct x of ltp_over_ipc: has no counterpart (LTP in the memory of one machine; use ltp_over_udp)",
                     "outduct x of ltp_over_encap_local_stream: has no counterpart (LTP in a local socket or pipe; use ltp_over_udp)",
                     "outduct x of tcpcl_v3: has no counterpart (ours is TCPCL 4; HDTN has it as tcpcl_v4)", "outduct x of slip_over_uart: has no counterpart",
                     "induct x of bp_over_encap_local_stream: has no counterpart",
                     "TLS is asked for: write tls: {certificate", "induct of tcpcl_v4: who connects is not said"):
            self.assertEqual(sum(f" {note}" in line for line in notes), 1, (note, notes))

    def test_import_ipv6(self):
        """An address in brackets would be a list of YAML: it is quoted."""
        outduct = {"convergenceLayer": "udp", "name": "x", "nextHopNodeId": 5, "remoteHostname": "::1", "remotePort": 1113}
        text = json.dumps({"myNodeId": 4, "outductsConfig": {"outductVector": [outduct]}})
        self.assertIn('remote: "[::1]:1113"\n', self.imported({"six.json": text}, "six.yaml")[0])
        text = "## begin ionadmin\n1 4\n## end ionadmin\n## begin bpadmin\na induct udp ::1:4557 udpcli\n## end bpadmin\n" \
               "## begin ipnadmin\na plan 6 udp/::1:4556\n## end ipnadmin\n"
        self.assertIn('local: "[::1]:4557"\n    remote: "[::1]:4556"\n', self.imported({"six.rc": text}, "six.yaml")[0])

    def test_import_errors(self):
        path = os.path.join(OUT, "who.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("1 4 ''\n")
        self.assertIn("which program of ION reads it is not known", run("import", path, code=2).stderr)
        with open(path, "w", encoding="utf-8") as f:
            f.write("## begin bpadmin\n1\n## end bpadmin\n")
        self.assertIn("no file says which node it is", run("import", path, code=2).stderr)
        with open(path, "w", encoding="utf-8") as f:
            f.write("{\"myNodeId\": [")
        run("import", path, "--format", "hdtn", code=2)
        many = "".join(f"a plan {i} udp/127.0.0.1:{5000 + i}\n" for i in range(1, 300))
        made, notes = self.imported({"many.rc": f"## begin ionadmin\n1 999\n## end ionadmin\n## begin ipnadmin\n{many}## end ipnadmin\n"}, "many.yaml")
        self.assertEqual((made.count("adapter: udp"), sum("more than 256 links: left out" in line for line in notes)), (256, 43))

    def test_usage(self):
        for words, told in ((["route", PLAN, "1", "4"], "PLAN FROM TO SIZE"), (["route", PLAN, "1", "x", "1"], "\"x\""),
                            (["route", PLAN, "1", "4", "5 kB"], "SIZE"), (["route", PLAN, "1", "4", "1B", "soon"], "AT"),
                            (["convert", PLAN], "--to is missing"), (["show"], "write PLAN"), (["draw"], "'draw' is unknown; right is check"),
                            (["show", PLAN, "x"], "one word too many"), (["check", PLAN, "--format", "xml"], "yaml, ion, hdtn")):
            self.assertIn(told, run(*words, code=2).stderr)


if __name__ == "__main__":
    PROGRAMS, OUT, ROOT = sys.argv[1:4]
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
