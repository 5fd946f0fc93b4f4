# SPDX-License-Identifier: Apache-2.0
"""LTP over CCSDS frames: nodes in virtual time with erased frames, and real ones over UDP with an emulator that erases
them; a peer with other numbers, and frames as a second reader sees them. usage: frames_link_test.py BIN OUT [TEST...]"""

import binascii
import json
import os
import socket
import subprocess

import aap2
import node_case
from node_case import NodeCase, wait_for

KINDS = (("aos", {}), ("tm", {"frames.length": "700B"}), ("uslp", {"frames.length": "4000B", "frames.fill": "0"}),
         ("aos", {"cadu": "rs223"}), ("tm", {"cadu": "rs239", "cadu.interleave": 4, "frames.length": "700B"}))


class FramesLinkTest(NodeCase):
    def links(self, number):
        done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(number) + ".ctl", "--timeout", "60s", "links", "--json"],
                              capture_output=True, text=True, timeout=300, check=True)
        return json.loads(done.stdout)["links"][0]

    def simulate(self, keys, channel):
        """Two nodes of helio-sim; its result."""
        files = []
        for n in (1, 2):
            link = {"name": "it", "adapter": "ltp-udp", "peer": f"ipn:{3 - n}.0", "local": f"10.0.0.{n}:1113",
                    "remote": f"10.0.0.{3 - n}:1113", "rate": "100Mbit/s", "rto": "40ms", "sessions": 16, **keys}
            files += ["--node", self.lab.write_node(n, [link], log=False)]
        with open(self.lab.path("channel.yaml"), "w", encoding="utf-8") as f:
            f.write(channel)
        done = subprocess.run([self.lab.program("helio-sim"), *files, "--channel", self.lab.path("channel.yaml"), "--client",
                               "-d ipn:2.2000 -D 5MB -W 30 -P 50kB", "--check", "--json"],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_virtual(self):
        """Each kind of frame, bare and in CADUs; a twentieth of the frames is lost in each direction: every bundle arrives once."""
        for kind, keys in KINDS:
            with self.subTest(kind, **keys):
                for channel in ("forward: {delay: 5ms}\nreturn: {delay: 5ms}\n",
                                "forward: {delay: 5ms, erasures: {iid: 0.05}}\n"
                                "return: {delay: 5ms, erasures: {iid: 0.05}}\n"):
                    result = self.simulate({"frames": kind, **keys}, channel)
                    client, server = result["clients"][0], result["servers"][0]
                    self.assertEqual((client["bundles_confirmed"], server["bundles"]), (100, 100))
                    for key in ("lost", "duplicates", "wrong_crc"):
                        self.assertEqual((client[key], server[key]), (0, 0))

    def test_erased(self):
        """Real nodes; the relay erases frames, not segments: what it lost is what the receivers miss."""
        left, right, relay = self.lab.udp_ports(3)
        emulator = self.lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{right}",
                                  "--delay", "2ms", "--trace", "iid:0.05", "--trace-return", "iid:0.05", "--priority", "normal",
                                  "--json", self.lab.path("relay.json"))
        keys = {"rate": "50Mbit/s", "rto": "100ms", "sessions": 8, "frames": "aos", "frames.scid": 171, "frames.vcid": 5}
        for n, local in ((1, left), (2, right)):
            self.lab.start_node(n, self.lab.write_node(n, [self.lab.link(3 - n, local, relay, **keys)], log=False))
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.7")
        payloads = [os.urandom(40000) for _ in range(40)]
        for p in payloads:
            self.assertEqual(sender.request("ipn:2.7", p)[0], aap2.SUCCESS)
        self.assertEqual(sorted(receiver.delivery()[1] for _ in payloads), sorted(payloads))
        wait_for(lambda: self.links(1)["bundles_sent"] == 40)
        shown = {n: self.links(n) for n in (1, 2)}
        frames = {n: shown[n]["frames"] for n in (1, 2)}
        self.lab.stop("relay", emulator)
        with open(self.lab.path("relay.json"), encoding="utf-8") as f:
            told = json.load(f)
        for way, n in (("forward", 2), ("return", 1)):
            got, sent = frames[n], frames[3 - n]["sent"]
            self.assertGreater(told[way]["dropped"]["random"], 0)
            # what a busy machine had no room for is lost, too; losses at the end show to nobody
            known = told[way]["dropped"]["random"] + told[way]["dropped"]["socket"]
            self.assertLessEqual(got["received"]["lost"], known + shown[n]["socket_drops"])
            self.assertGreaterEqual(got["received"]["lost"], known - 20)
            self.assertGreater(got["received"]["packets"], 0)
            self.assertEqual(got["verdicts"]["ok"], got["received"]["frames"])
            self.assertEqual(got["received"]["pointer"] + got["received"]["bad_length"] + sent["dropped"], 0)
        self.assertGreater(frames[2]["received"]["cut"] + frames[2]["received"]["skipped_bytes"], 0)

    def test_wire(self):
        """What leaves is frames, to a second reader; what is no frame of ours is counted."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.bind(("127.0.0.1", 0))
            peer.settimeout(300)
            port = self.lab.udp_ports(1)[0]
            link = self.lab.link(2, port, peer.getsockname()[1], rto="10s", segment="500B", frames="aos", frames_scid=171, frames_vcid=5)
            self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
            self.assertEqual(self.client(1, "ipn:1.7").request("ipn:2.7", bytes(3000))[0], aap2.SUCCESS)
            stream, frames = b"", 0
            while len(stream) < 3000:
                frame = peer.recv(65536)
                self.assertEqual((len(frame), binascii.crc_hqx(frame, 0xffff)), (1115, 0))
                self.assertEqual(frame[:6], (1 << 14 | 171 << 6 | 5).to_bytes(2, "big") + frames.to_bytes(3, "big") + b"\0")
                stream += frame[8:-2]
                frames += 1
            segments = []
            while stream and stream[0] != 0xe0 and stream[0] & 0x1c:
                self.assertEqual(stream[0] & 0xfc, 0xe4)  # protocol 1: LTP
                n = stream[1] if stream[0] & 3 == 1 else int.from_bytes(stream[2:4], "big")
                segments.append(stream[2 if stream[0] & 3 == 1 else 4:n])
                stream = stream[n:]
            self.assertGreater(len(segments), 5)
            self.assertTrue(all(len(s) <= 500 and s[0] >> 4 == 0 for s in segments))
            other = bytearray(frame)
            other[1] ^= 1  # of another channel, and then wrong
            for data in (frame, b"x" * 1115, b"short", bytes(other),
                         bytes(other[:-2]) + binascii.crc_hqx(bytes(other[:-2]), 0xffff).to_bytes(2, "big")):
                peer.sendto(data, ("127.0.0.1", port))
            wait_for(lambda: sum(self.links(1)["frames"]["verdicts"].values()) == 5)
            told = {k: v for k, v in self.links(1)["frames"]["verdicts"].items() if v}
            self.assertEqual(told, {"ok": 1, "fecf": 2, "length": 1, "channel": 1})  # "x" has the version of an AOS frame

    def test_one_peer(self):
        """Links of one physical channel have one peer's address: in the file, and when one is added."""
        port, there, elsewhere = self.lab.udp_ports(3)
        keys = {"rto": "1s", "frames": "aos"}
        first = {**self.lab.link(2, port, there, **keys), "frames.vcid": 1}
        other = {**self.lab.link(3, port, elsewhere, **keys), "frames.vcid": 2}
        done = self.heliod("--check", self.lab.write_node(1, [first, other], log=False))
        self.assertEqual(done.returncode, 2)
        self.assertIn("links[to-3].remote: conflicts with the link to-2: local is the same, and its frames go to one address; write the same remote, or another local", done.stderr)
        self.lab.start_node(1, self.lab.write_node(1, [first], log=False))
        words = ["link", "add", "to-3", "adapter=ltp-udp", "peer=ipn:3.0", f"local=127.0.0.1:{port}", "rto=1s", "frames=aos", "frames.vcid=2"]
        command = [self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", *words]
        for remote, more, code in ((elsewhere, [], 1), (there, ["source=any"], 1), (there, ["pacing.dscp=46"], 1), (there, [], 0)):
            done = subprocess.run([*command, f"remote=127.0.0.1:{remote}", *more], capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual("another remote, source or pacing.dscp" in done.stderr, code == 1, done.stderr)
        for key in ("source=any", "pacing.dscp=46"):
            done = subprocess.run([*command[:3], "link", "set", "to-3", key], capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(f"{key.partition('=')[0]}: with frames it holds as long as the link", done.stderr)

    def test_mistakes(self):
        for keys, expected in (({"frames": "aos", "frames.length": "3000B"}, "frames.length"), ({"frames": "tm", "frames.in": "cltu", "frames.length_in": "2000B"}, "frames.length_in"),
                               ({"frames": "cltu", "frames.length": "70B"}, "frames: {segments: yes}"), ({"frames": "aos", "frames.port": "file"}, "frames.record"),
                               ({"frames": "aos", "frames.scid": 256}, "spacecraft"), ({"frames": "tm", "frames.vcid": 8}, "virtual channel"),
                               ({"frames": "aos", "unknown.accept": 3}, "unknown.accept")):
            done = self.heliod("--check", self.lab.write_node(1, [self.lab.link(2, 1, 2, rto="1s", **keys)], log=False))
            self.assertEqual(done.returncode, 2, keys)
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    node_case.main("FramesLinkTest")
