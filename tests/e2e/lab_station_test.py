#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab with a ground station on a link: spacecraft, optical channel, provider of Space Link Extension, wide area network, mission
centre. usage: lab_station_test.py BIN SOURCE sim|live"""
import json
import socket
import subprocess
import sys
import threading
import time
import unittest

from lab_test import BIN, KIND, SOURCE, Folder, config, lab, made
from heliograph import places, ports
from heliograph.lab import derive as lab_derive, plan as lab_plan, sim as lab_sim, station as lab_station

LINE = """line: [craft, centre]
links:
  craft-centre:
    delay: 5ms
    rate: 5Mbit/s
    station: {%s}
"""


class Station(Folder):
    def check_flow(self, result, link="craft-centre"):
        """Frames came down and CLTUs went up, some of each were lost, and all that was sent arrived."""
        channels, station = result["channels"], result["stations"][link]
        self.assertGreater(sum(channels[f"{link}.down"]["forward"]["dropped"].values()), 0)
        self.assertGreater(channels[f"{link}.down"]["forward"]["in"], 500)
        self.assertEqual(channels[f"{link}.down"]["return"]["in"], 0)
        self.assertGreater(channels[f"{link}.up"]["forward"]["in"], 10)
        frames, cltus = station["instances"]
        self.assertGreater(frames["counts"]["frames"], 500)
        self.assertEqual(frames["counts"]["frames_dropped"], 0)
        self.assertEqual(cltus["counts"]["cltus_radiated"], channels[f"{link}.up"]["forward"]["in"])
        for name, flow in result["traffic"].items():
            self.assertEqual((name, flow["code"], flow["lost"]), (name, 0, 0))
        sent = sum(flow["bundles_sent"] for name, flow in result["traffic"].items() if name.startswith("perf"))
        self.assertEqual(sum(server["bundles"] for server in result["servers"]), sent)
        self.assertGreater(sent, 20)

    def example(self, mode, *words):
        return self.up(SOURCE / "examples/lab-station.yaml", *words, mode=mode)


class Sim(Station):
    def test_the_example(self):
        result = self.example("sim")
        self.check_flow(result)
        self.assertGreater(result["channels"]["craft-centre.wan"]["forward"]["in"], 100)
        ping = result["traffic"]["ping-2"]["rtt_ms"]
        self.assertGreaterEqual(ping["min"], 2 * (5 + 20))  # both channels, both ways
        for name in ("station-craft-centre.yaml", "link-craft-centre.down.drops.csv", "link-craft-centre.up.drops.csv", "link-craft-centre.wan.yaml"):
            self.assertTrue((self.folder / "out" / name).exists(), name)

    def test_ways_of_a_station(self):
        """RCF of TM frames with a timely provider; the spacecraft second; two stations in one lab, one without a wide area network."""
        file = self.file("""line: [centre, craft]
nodes: {far: {}}
links:
  centre-craft: {rate: 5Mbit/s, delay: 3ms, return: {trace: "iid:0.02"}, forward: {trace: "iid:0.02"}, frames: {mode: tm, length: 500B, scid: 9},
                 station: {spacecraft: craft, service: rcf, delivery: timely, authentication: none, wan: {forward: {delay: 30ms}}}}
  far-centre: {rate: 5Mbit/s, delay: 3ms, trace: "iid:0.02", station: {}}
traffic:
  - {perf: craft-centre, start: 1s, data: 1MB, window: 20, payload: 50kB}
  - {perf: far-centre, start: 1s, data: 1MB, window: 20, payload: 50kB}
""")
        result = self.up(file)
        self.check_flow(result, "centre-craft")
        self.check_flow(result, "far-centre")
        with open(self.folder / "out/station-centre-craft.yaml", encoding="utf-8") as f:
            told = f.read()
        for words in ("rcf=onlt1", "gvcids: 0.9.*", "frame: 500", "authentication: none"):
            self.assertIn(words, told.replace('"', ""))

    def test_a_rate_that_changes(self):
        file = self.file(LINE % "" + "traffic: [{perf: craft-centre, duration: 4s, window: 20, payload: 20kB}]\n"
                         "events: [{at: 2s, link: craft-centre, set: {rate: 2Mbit/s}}]\n")
        self.assertEqual(self.up(file)["traffic"]["perf-1"]["lost"], 0)

    def test_what_is_derived(self):
        of = made(LINE % "wan: {delay: 20ms}, id: GROUND, password: 'ff', instance: {buffer: 7, latency: 40ms}")
        craft, centre = (places.plain(config(of, node)["links"][0]) for node in ("craft", "centre"))
        self.assertEqual((craft["frames"]["mode"], craft["frames"]["in"], craft["peer"]), ("aos", "cltu", "ipn:2.0"))
        self.assertEqual([centre["frames"][key] for key in ("mode", "in", "port")] + [centre["peer"]], ["cltu", "aos", "sle", "ipn:1.0"])
        self.assertEqual([centre["sle"][key] for key in ("provider", "provider_password", "auth")], ["GROUND", "ff", "all"])
        self.assertEqual((craft["owlt"], centre["owlt"]), ("65ms", "65ms"))  # channel, network, transfer buffer
        at = lab_derive.Addresses(of, 20000)
        tree = places.plain(lab_station.provider(of.links["craft-centre"], at.station(of.links["craft-centre"])))
        self.assertEqual((tree["id"], tree["instances"][0]["buffer"], tree["instances"][0]["latency"]), ("GROUND", "7", "40ms"))
        self.assertEqual(tree["instances"][0]["store"], "561")  # a second of 1115 bytes at 5 Mbit/s
        for keys, wanted in (("delivery: timely", None), ("instance: {store: 9}", "9"), ("", "561")):
            link = made(LINE % keys).links["craft-centre"]
            self.assertEqual(places.plain(lab_station.provider(link, at.station(link)))["instances"][0].get("store"), wanted)
        link = made(LINE.replace("5Mbit/s", "unlimited") % "").links["craft-centre"]
        self.assertEqual(places.plain(lab_station.provider(link, at.station(link)))["instances"][0]["store"], "320")
        plan = places.plain(lab_plan.contact_plan(of, "2026-01-01T00:00:00Z"))
        self.assertEqual([r["owlt"] for r in plan["ranges"]], ["65ms", "25ms"])

    def test_each_channel_has_chances_of_its_own(self):
        def seeds(text):
            of = made(text)
            out = lab_derive.derive(of, "/out", "/run", lab_sim.Addresses(of, 20000), "2026-01-01T00:00:00Z", capture_files=False)
            trees = {name: places.parse("\n".join(out.configs[path][0].lines), path) for name, path in out.channels.items()}
            return {name.rpartition(".")[2]: tree["seed"] for name, tree in trees.items()}

        first, second = seeds(LINE % "wan: {delay: 20ms}"), seeds(LINE % "wan: {delay: 20ms}" + "seed: 2\n")
        self.assertEqual((len(first), len({*first.values(), *second.values()})), (3, 6), (first, second))
        own = seeds((LINE % "wan: {delay: 20ms, seed: 7}").replace("delay: 5ms", "delay: 5ms\n    seed: 9"))
        self.assertEqual((own["down"], own["wan"]), ("9", "7"))
        self.assertNotIn(own["up"], ("7", "9"))

    def test_nodes_named_like_channels(self):
        """Links without a station beside one that has it; two channels of one name are refused."""
        text = LINE % "wan: {delay: 20ms}" + "nodes: {x.wan: {}, x.up: {}, x.down: {}}\n"
        text = text.replace("links:\n", "links:\n" + "".join(f"  craft-x.{piece}: {{rate: 1Mbit/s, delay: 1ms%s}}\n" for piece in ("wan", "up", "down")))
        text += "traffic: [{perf: craft-x.wan, data: 10kB, window: 1}]\n"
        lab(self.file(text % ((", adapter: tcpcl",) + 2 * ("",))), "up", "--dry-run", "--mode", "sim", "--out", self.folder / "sim")
        said = lab(self.file(text % ("", "", "")), "up", "--dry-run", "--out", self.folder / "dry").stdout
        self.assertEqual(said.count("helio-emu relay"), 5)
        file = self.file(LINE % "" + "nodes: {centre.up: {}}\n" + "traffic: [{perf: craft-centre.up, data: 10kB, window: 1}]\n")
        file.write_text(file.read_text().replace("links:\n", "links:\n  craft-centre.up: {rate: 1Mbit/s, delay: 1ms}\n"))
        self.assertIn("its channel craft-centre.up has the same name", lab(file, "check", code=2).stderr)

    def test_a_wrong_event_is_told_before_anything_starts(self):
        text = LINE % "" + "duration: 1s\nevents: [{at: 500ms, link: craft-centre, set: {%s}}]\n"
        for mode, wrong, why in (("local", "queue: 5x", "queue: "), ("sim", "delay: 5", 'delay: "5" is not understood')):
            file = self.file(text % wrong)
            said = lab(file, "check", "--mode", mode, code=2).stderr
            self.assertIn(f"{file}:8: ", said)
            self.assertIn(why, said)
            self.assertNotIn("Traceback", said)
            lab(self.file(text % "delay: 6ms"), "check", "--mode", mode)

    def test_a_dry_run(self):
        said = lab(self.file(LINE % "wan: {delay: 20ms}, address: 192.0.2.3" + "ports: 4000\n"), "up", "--dry-run", "--out", self.folder / "dry").stdout
        self.assertRegex(said, r"192\.0\.2\.3: helio-sle provider .*station-craft-centre\.yaml")
        subprocess.run([BIN / "helio-sle", "provider", "--check", self.folder / "dry/station-craft-centre.yaml"], check=True)

    def test_errors(self):
        for text, *wanted in (
                ("servise: raf", "station.servise: unknown key; did you mean service?"),
                ("service: rocf", 'station.service: "rocf" is not known; right are raf, rcf'),
                ("spacecraft: moon", 'station.spacecraft: "moon" is not known; right are craft, centre'),
                ("wan: {dealy: 5ms}", "station.wan.dealy: unknown key; did you mean delay?"),
                ("wan: {delay: 5}", "station.wan.delay: \"5\" is no duration"),
                ("wan: {trace: A}", "station.wan.erasures: with real processes it has one rate"),
                ("wan: {delay: []}", "station.wan.delay: with real processes it has one rate"),
                ("wan: {rate: 1Mbit/s, overhead: 20B}", "station.wan.overhead: with real processes a relay"),
                ("instance: {latency: 5}", "latency: \"5\" is not understood"),
                ("uplink: {cltu_bufer: 5}", "cltu_bufer: unknown key"),
                ("id: x", "id: "), ("users: 5", "station.users: a list is wanted")):
            file = self.file(LINE % text)
            said = lab(file, "check", code=2).stderr
            self.assertIn(wanted[0], said, text)
            self.assertEqual(said.count(f"{file}:6: "), len(said.splitlines()), said)
            self.assertNotIn("Traceback", said)
        for text, why in ((LINE % "" + "    frames: cltu\n", ':7: links.craft-centre.frames: "cltu" is not known; right are aos, tm, uslp'),
                          (LINE % "" + "    adapter: tcpcl\n", ":7: links.craft-centre.station: frames carry LTP")):
            file = self.file(text)
            self.assertIn(f"{file}{why}", lab(file, "check", code=2).stderr)
        file = self.file(LINE % "")
        self.assertIn(f"{file}:6: links.craft-centre.station: stations are in the modes local and sim", lab(file, "check", "--mode", "netns", code=2).stderr)


    def test_the_network_is_changed(self):
        """The same in virtual time, where a change needs a value to change from."""
        lines = LINE % "wan: {delay: 10ms}" + "traffic: [{ping: craft-centre, start: 2s, count: 3, interval: 500ms}]\n"
        event = "events: [{at: 1500ms, link: craft-centre, set: {%s}}]\n"
        result = self.up(self.file(lines + event % "station.wan.delay: 100ms"), mode="sim")
        self.assertGreaterEqual(result["traffic"]["ping-1"]["rtt_ms"]["min"], 2 * (5 + 100))
        self.assertLess(self.up(self.file(lines), mode="sim", out="unchanged")["traffic"]["ping-1"]["rtt_ms"]["min"], 2 * (5 + 100))
        for key, why in (("station.wan.rate: 5Mbit/s", "has no rate to change from"), ("station.wan.loss: 0.1", "a ground station cannot change"),
                         ("station.service: rcf", "a ground station cannot change")):
            self.assertIn(why, lab(self.file(lines + event % key), "check", "--mode", "sim", code=2).stderr)


class Live(Station):
    def test_the_example(self):
        result = self.example("local")
        self.check_flow(result)
        wan = result["channels"]["craft-centre.wan"]
        self.assertGreaterEqual(wan["connections"], 2)  # RAF, FCLTU
        self.assertGreater(wan["forward"]["out_bytes"], sum(server["bytes"] for server in result["servers"]))  # to the mission centre
        self.assertGreater(wan["return"]["out_bytes"], 1000)
        self.assertGreater(wan["forward"]["out_bytes"], 5 * wan["return"]["out_bytes"])
        self.check_account(wan)
        ping = result["traffic"]["ping-2"]["rtt_ms"]
        self.assertGreaterEqual(ping["min"], 2 * (5 + 20))
        with open(self.folder / "out/station-craft-centre.log", encoding="utf-8") as f:
            said = f.read()
        for service in ("raf=onlc1", "cltu=cltu1"):
            for words in ("bound by CENTRE", "started", "stopped", "unbound by CENTRE"):
                self.assertIn(f"{service}: {words}", said)

    def check_account(self, told):
        for way in (told["forward"], told["return"]):
            self.assertEqual(way["in_bytes"], way["out_bytes"] + way["lost_bytes"] + way["queued_bytes"], told)
            self.assertGreaterEqual(min(way.values()), 0)

    def test_a_link_with_a_station_is_changed(self):
        file = self.file(LINE % "wan: {delay: 10ms}" + "traffic: [{perf: craft-centre, start: 1s, data: 1MB, window: 10, payload: 20kB}]\n"
                         "events: [{at: 1500ms, link: craft-centre, set: {delay: 20ms}}]\n")
        result = self.up(file, mode="local")
        self.assertEqual((result["traffic"]["perf-1"]["code"], result["traffic"]["perf-1"]["lost"]), (0, 0))
        self.assertTrue((self.folder / "out/link-craft-centre.down.1.yaml").exists() and (self.folder / "out/link-craft-centre.up.1.yaml").exists())

    def test_the_network_is_changed(self):
        """Its delay, of one direction and of both; the ends know of it, and nothing is lost."""
        file = self.file(LINE % "wan: {delay: 10ms}" + "traffic: [{perf: craft-centre, start: 1s, data: 1MB, window: 10, payload: 20kB}, "
                         "{ping: craft-centre, start: 4s, count: 3, interval: 500ms}]\n"
                         "events: [{at: 1500ms, link: craft-centre, set: {station.wan.delay: 100ms}}, "
                         "{at: 2500ms, link: craft-centre, set: {station.wan.return.delay: 300ms, station.wan.forward.rate: 50Mbit/s}}]\n")
        result = self.up(file, mode="local")
        self.assertEqual((result["traffic"]["perf-1"]["code"], result["traffic"]["perf-1"]["lost"]), (0, 0))
        self.assertGreaterEqual(result["traffic"]["ping-2"]["rtt_ms"]["min"], 2 * 5 + 100 + 300)
        wan = result["channels"]["craft-centre.wan"]
        self.assertEqual((wan["changes"], wan["forward"]["delay_us"], wan["return"]["delay_us"], wan["forward"]["rate_bps"]), (2, 100_000, 300_000, 50_000_000))

    def test_the_network(self):
        """What passes it comes whole, in order, not before its time; the end of a stream and a reset pass as well."""
        octets = bytes(range(256)) * 4096 * 5  # more than is under way at once
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = ports.free_ports(1)[0]
            relay = subprocess.Popen([BIN / "helio-emu", "stream", "--listen", f"127.0.0.1:{port}", "--to", "127.0.0.1:%d" % server.getsockname()[1],
                                      "--delay-forward", "100ms", "--delay-return", "200ms", "--rate-return", "1Gbit/s",
                                      "--json", self.folder / "relay.json"], stderr=subprocess.PIPE, text=True)
            self.addCleanup(relay.stderr.close)
            self.addCleanup(relay.wait)
            self.addCleanup(relay.terminate)
            while "ready" not in (said := relay.stderr.readline()):
                self.assertTrue(said)
            client = socket.create_connection(("127.0.0.1", port))
            begun = time.monotonic()
            far, _ = server.accept()
            client.sendall(b"question")
            self.assertEqual(far.recv(100), b"question")
            self.assertGreaterEqual(time.monotonic() - begun, 0.1)
            begun = time.monotonic()
            sender = threading.Thread(target=lambda: (far.sendall(octets), far.shutdown(socket.SHUT_WR)))
            sender.start()
            self.assertEqual(b"".join(iter(lambda: client.recv(1 << 20), b"")), octets)
            self.assertGreaterEqual(time.monotonic() - begun, 0.2)
            sender.join()
            client.close()
            self.assertEqual(far.recv(100), b"")
            far.close()
            client = socket.create_connection(("127.0.0.1", port))
            far, _ = server.accept()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
            far.settimeout(60)
            with self.assertRaises(ConnectionResetError):
                far.recv(100)
            far.close()
            client = socket.create_connection(("127.0.0.1", port))
            far, _ = server.accept()
            client.sendall(octets[:1000])
            far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            far.close()  # what is under way, if any, has nowhere to go
            client.settimeout(60)
            with self.assertRaises(ConnectionResetError):
                client.recv(100)
            client.close()
            relay.terminate()
            self.assertEqual(relay.wait(60), 0)
            told = json.loads((self.folder / "relay.json").read_text())
            self.check_account(told)
            self.assertEqual((told["connections"], told["return"]["out_bytes"]), (3, len(octets)))
            self.assertIn(told["forward"]["out_bytes"], (8, 1008))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], defaultTest=None if sys.argv[4:] else {"sim": "Sim", "live": "Live"}[KIND], verbosity=2)
