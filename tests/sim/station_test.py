#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-sim with a ground station: a spacecraft's frames through a channel that erases them, the station, Space Link Extension over
a wide area network, the mission centre's node, and CLTUs back.

usage: station_test.py PROGRAM"""
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
RAF, CLTU = "sagr=1.spack=1.rsl-fg=1.raf=%s1", "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
FRAMES = "scid: 171, vcid: 5, clcw: yes"


class StationTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.craft()
        self.station()
        self.mission()
        self.write("wan.yaml", "forward: {delay: 50ms}\nreturn: {delay: 50ms}\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as f:
            f.write(text)

    def craft(self, extra=""):
        self.write("craft.yaml", f"""node: ipn:1.0
socket: craft.sock
store: {{durability: none}}
links:
  - {{name: down, adapter: ltp-udp, peer: ipn:3.0, local: 127.0.0.1:21113, remote: 127.0.0.1:22113, rate: 50Mbit/s, rto: 600ms,
     frames: {{mode: aos, in: cltu, {FRAMES}}}{extra}}}
""")

    def station(self, mode="onlc", source="address: '127.0.0.1:23113'", extra=""):
        self.write("station.yaml", f"""id: STATION
password: 'aabbccdd'
listen: 127.0.0.1:25100
users: [{{id: CENTRE, password: '00112233', authentication: all}}]
sources: [{{name: modem, kind: udp, {source}}}]
instances:
  - {{id: {RAF % mode}, users: CENTRE, source: modem, latency: 10ms{extra}}}
  - {{id: {CLTU}, users: CENTRE, uplink: '127.0.0.1:24113'}}
""")

    def mission(self, password="00112233", mode="onlc"):
        self.write("mission.yaml", f"""node: ipn:3.0
socket: mission.sock
store: {{durability: none}}
links:
  - {{name: space, adapter: ltp-udp, peer: ipn:1.0, local: 127.0.0.1:25113, remote: 127.0.0.1:25100, rate: 1Mbit/s, rto: 600ms,
     frames: {{mode: cltu, in: aos, {FRAMES}, port: sle}}, sle: {{raf: {RAF % mode}, cltu: {CLTU},
     user: CENTRE, provider: STATION, auth: all, password: '{password}', provider_password: 'aabbccdd'}}}}
""")

    def sim(self, *options, code=0, relays=True, wan="2-3=wan.yaml"):
        words = [PROGRAM, "--json", "--node", "craft.yaml", "--node", "mission.yaml", "--station", "station.yaml", "--channel", wan]
        if relays:
            words += ["--relay", "--listen 127.0.0.1:22113 --to 127.0.0.1:23113 --delay 5ms --trace A",
                      "--relay", "--listen 127.0.0.1:24113 --to 127.0.0.1:21113 --delay 5ms --trace iid:0.05"]
        done = subprocess.run([*words, *options], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def transfer(self, *options, size="5MB", **more):
        return self.sim("--client", f"@2s -d ipn:3.2000 -D {size} -W 40 -P 100kB", *options, **more)

    def every_bundle_once(self, r, bundles):
        client, server = r["clients"][0], r["servers"][0]
        self.assertEqual((client["lost"], client["bundles_acked"], server["bundles"], server["duplicates"], server["wrong_crc"]),
                         (0, bundles, bundles, 0, 0), r)

    def test_from_spacecraft_to_mission_centre(self):
        """Every bundle once; frames that the optical channel lost are those that the mission centre misses; a round trip of 110 ms."""
        r = self.transfer()
        self.every_bundle_once(r, 50)
        down, up, wan = r["channels"]
        raf, cltu = (i["counts"] for i in r["stations"][0]["instances"])
        space = r["nodes"][1]["links"][0]
        lost = sum(down["forward"]["dropped"].values())
        self.assertGreater(lost, 100)
        self.assertGreater(sum(up["forward"]["dropped"].values()), 0)
        self.assertEqual(raf["frames"], raf["frames_offered"])
        self.assertLessEqual(down["forward"]["out"] - raf["frames"], 200)  # on their way when the client is done
        self.assertLessEqual(abs(space["frames"]["received"]["lost"] - lost), 100)
        self.assertEqual(cltu["cltus_radiated"], up["forward"]["in"])
        self.assertEqual(sum(wan["return"]["dropped"].values()), 0)
        self.assertGreater(space["round_trip_smoothed_ns"], 110e6)
        self.assertLess(space["round_trip_smoothed_ns"], 250e6)

    def test_the_same_bytes(self):
        """A seed gives the same result and logs; another one others."""
        results = [self.transfer("--log-dir", d, "--seed", seed, size="1MB") for d, seed in (("a", "1"), ("b", "1"), ("c", "2"))]
        self.assertEqual(results[0], results[1])
        self.assertNotEqual(results[0], results[2])
        names = sorted(os.listdir(self.path("a")))
        self.assertIn("node3.segments.csv", names)
        self.assertEqual(filecmp.cmpfiles(self.path("a"), self.path("b"), names, shallow=False), (names, [], []))

    def test_what_all_parts_promise(self):
        self.every_bundle_once(self.transfer("--check", size="500kB"), 5)

    def test_a_network_that_loses(self):
        """What the wide area network loses TCP brings again: not a frame is missing, and in complete mode none is discarded."""
        self.write("wan.yaml", "forward: {delay: 50ms, erasures: {iid: 0.01}}\nreturn: {delay: 50ms, erasures: {iid: 0.01}}\n")
        r = self.transfer(size="2MB")
        self.every_bundle_once(r, 20)
        self.assertGreater(sum(r["channels"][2]["return"]["dropped"].values()), 10)
        raf = r["stations"][0]["instances"][0]["counts"]
        self.assertEqual((raf["frames"], raf["frames_discarded"], raf["frames_dropped"]), (raf["frames_offered"], 0, 0))

    def test_a_narrow_network(self):
        """10 Mbit/s for a downlink of 50: in timely mode frames are discarded and counted, and LTP brings their segments again."""
        self.craft(", sessions: 100")
        self.station(mode="onlt")
        self.mission(mode="onlt")
        self.write("wan.yaml", "forward: {delay: 50ms}\nreturn: {delay: 50ms, rate: 10Mbit/s}\n")
        r = self.sim("--client", "@2s -d ipn:3.2000 -D 10MB -W 100 -P 100kB --linger 5min")
        self.every_bundle_once(r, 100)
        raf = r["stations"][0]["instances"][0]["counts"]
        self.assertGreater(raf["frames_discarded"], 500)
        self.assertGreater(raf["backlogs"], 0)
        self.assertEqual(raf["frames_offered"], raf["frames"] + raf["frames_discarded"] + raf["frames_dropped"])

    def test_without_relays(self):
        """All between the spacecraft and the station by one scenario."""
        self.write("space.yaml", "forward: {delay: 5ms, erasures: {trace: A}}\nreturn: {delay: 5ms, erasures: {iid: 0.05}}\n")
        for name, old, new in (("craft.yaml", "127.0.0.1:22113", "127.0.0.1:23113"), ("station.yaml", "127.0.0.1:24113", "127.0.0.1:21113")):
            with open(self.path(name), encoding="utf-8") as f:
                text = f.read()
            self.write(name, text.replace(old, new))
        r = self.transfer("--channel", "1-3=space.yaml", size="2MB", relays=False)
        self.every_bundle_once(r, 20)
        self.assertGreater(sum(r["channels"][1]["forward"]["dropped"].values()), 50)

    def test_a_script_that_outlasts_the_run(self):
        """Services that stop and unbind take round trips; what was to happen to links in that time does not, as they are gone."""
        lines = [word for ms in range(0, 400, 20) for word in ("--link", f"{5000 + ms}ms ipn:3.0 space down", "--link", f"{5000 + ms}ms ipn:1.0 down down")]
        r = self.sim("--duration", "5s", *lines)
        self.assertEqual(len(r["nodes"]), 2)

    def test_a_wrong_password(self):
        self.mission(password="99")
        r = self.sim("--duration", "10s")
        self.assertFalse(r["nodes"][1]["links"][0]["up"])
        self.assertGreater(r["stations"][0]["refused"], 0)
        self.assertEqual([i["state"] for i in r["stations"][0]["instances"]], ["unbound", "unbound"])

    def test_mistakes(self):
        self.assertIn("stations' numbers", self.transfer(wan="2-4=wan.yaml", code=2))
        self.station(source="address: '127.0.0.1:23113', record: /tmp/none")
        self.assertIn("nothing is recorded in virtual time", self.transfer(code=2))
        self.station(source="address: nowhere")
        self.assertIn("station.yaml:5: sources.address", self.transfer(code=2))
        self.station(source="address: '127.0.0.1:21113'")  # the spacecraft's
        self.assertIn("station.yaml: this station could not be opened", self.transfer(code=2))


if __name__ == "__main__":
    unittest.main()
