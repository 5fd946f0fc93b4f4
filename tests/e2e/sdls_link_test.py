# SPDX-License-Identifier: Apache-2.0
"""Links with Space Data Link Security: a third party between two nodes that records, replays, alters and forges frames; restarts and
kills of both nodes; two associations while a key is replaced; another key; other kinds of frames; mistakes.
usage: sdls_link_test.py BIN OUT [TEST...]"""

import binascii
import os
import re
import socket
import subprocess
import threading
import time
import urllib.request

import aap2
import node_case
from node_case import NodeCase, wait_for

LENGTH = 400
KEYS = {"rate": "5Mbit/s", "rto": "700ms", "sessions": 8, "frames": "aos", "frames.scid": 171, "frames.vcid": 5, "frames.length": f"{LENGTH}B"}
GCM = "service: authenticated-encryption, algorithm: aes-gcm"
CMAC = "service: authentication, algorithm: aes-cmac"


def sealed(frame):
    """The check value made anew, as anyone can."""
    return frame[:-2] + binascii.crc_hqx(frame[:-2], 0xffff).to_bytes(2, "big")


def spi(frame):
    return int.from_bytes(frame[6:8], "big")


def number(frame):
    """Of AES-GCM: the last octets of the IV."""
    return int.from_bytes(frame[12:20], "big")


class ThirdParty:
    """Between two nodes: passes on what comes, keeps a copy, and can send anything. In a thread."""

    def __init__(self, port, left, right):
        self.port, self.ports, self.seen = port, {left: right, right: left}, {left: [], right: []}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind(("127.0.0.1", port))
        self.socket.settimeout(0.05)
        self.running = True
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while self.running:
            try:
                data, (_, port) = self.socket.recvfrom(65536)
            except TimeoutError:
                continue
            except OSError:  # a node that is not there
                continue
            self.seen[port].append(data)
            self.send(self.ports[port], data)

    def send(self, port, *frames):
        for i, frame in enumerate(frames):
            try:
                self.socket.sendto(frame, ("127.0.0.1", port))
            except OSError:
                pass
            if i % 50 == 49:
                time.sleep(0.005)

    def stop(self):
        self.running = False
        self.thread.join()
        self.socket.close()


class SdlsLinkTest(NodeCase):
    def write(self, name, text, mode=0o600):
        path = self.lab.path(name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def key(self, name):
        return self.write(name + ".key", os.urandom(32).hex() + "\n")

    def associations(self, name, rows, note="numbers"):
        """rows: (spi, key, what else)."""
        if note == "numbers" and not os.path.exists(self.lab.path(name + ".note")):
            self.write(name + ".note", "new\n")
        lines = [f"{note}: {name}.note", "associations:"]
        lines += [f"  - {{spi: {n}, vcids: \"0-6\", key_file: {key}, {more}}}" for n, key, more in rows]
        return self.write(name + ".yaml", "\n".join(lines) + "\n", 0o644)

    def prepare(self, up=GCM, down=GCM):
        """Keys and associations of node 1 to node 2 (SPI 1) and back (SPI 11), and the ports."""
        self.up, self.down = self.key("up"), self.key("down")
        self.files = {1: (self.associations("one.send", [(1, self.up, up)]), self.associations("one.receive", [(11, self.down, down)], "received")),
                      2: (self.associations("two.send", [(11, self.down, down)]), self.associations("two.receive", [(1, self.up, up)], "received"))}
        self.left, self.right, self.middle = self.lab.udp_ports(3)
        self.nodes = {}

    def start(self, n, extra="", **keys):
        local, remote = (self.left if n == 1 else self.right), self.middle
        send, receive = self.files[n]
        link = self.lab.link(3 - n, local, remote, **{**KEYS, "frames.sdls": send, "frames.sdls_in": receive, **keys})
        self.nodes[n] = self.lab.start_node(n, self.lab.write_node(n, [link], log=False, extra=extra))

    def kill(self, n):
        self.nodes[n].kill()
        self.nodes[n].wait()

    def sdls(self, n):
        return self.link(n)["frames"]["sdls"]

    def exchange(self, count=6, size=4000):
        """Both directions; what arrives is all that was sent, once. It ends when the nodes have the answer to each delivery: one
        without an answer is repeated after a restart (docs/guarantees.md)."""
        ends = {n: self.client(n, f"ipn:{n}.7", subscribe=True) for n in (1, 2)}
        sender = {n: self.client(n, f"ipn:{n}.8") for n in (1, 2)}
        payloads = {n: [os.urandom(size) for _ in range(count)] for n in (1, 2)}
        for i in range(count):
            for n in (1, 2):
                self.assertEqual(sender[n].request(f"ipn:{3 - n}.7", payloads[n][i])[0], aap2.SUCCESS)
        for n in (1, 2):
            self.assertEqual(sorted(ends[n].delivery()[1] for _ in range(count)), sorted(payloads[3 - n]))
        for n in (1, 2):
            wait_for(lambda n=n: self.ctl(n, "status")["bundles"] == 0)
        for c in (*ends.values(), *sender.values()):
            c.close()

    def log(self, n):
        with open(self.lab.path(f"node{n}.log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def between(self):
        third = ThirdParty(self.middle, self.left, self.right)
        self.addCleanup(third.stop)
        return third

    def test_third_party(self):
        """Replayed, altered and forged frames: none is accepted, each is counted by its reason, the log has a line of each reason."""
        self.prepare()
        http = self.lab.udp_ports(1)[0]
        third = self.between()
        self.start(2, extra=f"http: {{listen: {http}}}\n")
        self.start(1)
        self.exchange()
        wait_for(lambda: self.link(1)["bundles_sent"] == 6 and self.link(2)["bundles_sent"] == 6)
        self.lab.stop("node1", self.nodes[1])
        time.sleep(0.3)
        frames = list(third.seen[self.left])
        self.assertGreater(len(frames), 60)
        secret = self.sdls(2)["received"]
        self.assertEqual(secret["ok"], len(frames), secret)
        self.assertEqual(sum(secret.values()), secret["ok"])
        before = self.link(2)

        altered = [sealed(f[:30 + i % (LENGTH - 60)] + bytes([f[30 + i % (LENGTH - 60)] ^ 0x40]) + f[31 + i % (LENGTH - 60):]) for i, f in enumerate(frames)]
        later = [sealed(f[:12] + (number(f) + 5000).to_bytes(8, "big") + f[20:]) for f in frames]  # a number that was not used
        other = [sealed(f[:6] + b"\x00\x02" + f[8:]) for f in frames[:50]]
        own = list(third.seen[self.right])[:40]  # what node 2 sent itself
        clear = [sealed(f[:6] + b"\x00\x00" + os.urandom(LENGTH - 8)) for f in frames[:20]]  # SPI 0, which nobody has
        self.write("forger.key", os.urandom(32).hex() + "\n")
        subprocess.run([self.lab.program("helio-frames"), "gen", "-k", "aos", "-l", str(LENGTH), "--scid", "171", "--vcid", "5", "-n", "100", "--protocol", "1",
                        "--sdls", self.associations("forger", [(1, "forger.key", GCM)]), "-o", self.lab.path("forged.frames")], check=True, timeout=60,
                       capture_output=True)
        with open(self.lab.path("forged.frames"), "rb") as f:
            forged = [f.read(LENGTH) for _ in range(100)]
        third.send(self.right, *frames, *altered, *later, *other, *own, *clear, *forged)
        total = 3 * len(frames) + len(other) + len(own) + len(clear) + len(forged)
        wait_for(lambda: sum(self.sdls(2)["received"].values()) - secret["ok"] >= total, 60)
        told = self.sdls(2)["received"]
        self.assertEqual(told, {**{v: 0 for v in told}, "ok": secret["ok"], "replayed": len(frames), "mac": 2 * len(frames) + len(forged),
                                "spi": len(other) + len(own) + len(clear)})
        after = self.link(2)
        self.assertEqual(after["bundles_received"], before["bundles_received"])
        for part in ("verdicts", "received"):
            self.assertEqual(after["frames"][part], before["frames"][part])
        for reason, words in (("replayed", "used before"), ("mac", "another key"), ("spi", "no association")):
            lines = [line for line in self.log(2).splitlines() if f"so far, {reason})" in line]
            self.assertTrue(1 <= len(lines) <= 2 and words in lines[0], lines)
        with urllib.request.urlopen(f"http://127.0.0.1:{http}/metrics", timeout=300) as answer:
            text = answer.read().decode()
        for name, key in (("accepted_frames", "ok"), ("replay_refused", "replayed"), ("mac_refused", "mac"), ("spi_refused", "spi"), ("ahead_refused", "ahead")):
            self.assertEqual(re.findall(rf"^heliograph_link_sdls_{name}_total{{.*}} (\d+)$", text, re.M), [str(told[key])], name)
        for key in (self.up, self.down):
            with open(key, encoding="utf-8") as f:
                self.assertNotIn(f.read().strip(), self.log(2) + text)

    def test_restarts(self):
        """Over clean ends and kills of both nodes no number is sent twice; a replay of all that was recorded is not accepted by a node
        that was killed, and what is sent then is."""
        self.prepare()
        third = self.between()
        for how in ("clean", "kill", "kill", "clean"):
            self.start(2)
            self.start(1)
            replayed = list(third.seen[self.left])
            third.send(self.right, *replayed)
            wait_for(lambda n=len(replayed): self.sdls(2)["received"]["replayed"] >= n or self.link(2)["frames"]["line"]["in"] >= n, 30)
            time.sleep(0.2)
            self.assertEqual(self.sdls(2)["received"]["ok"], 0, how)
            self.exchange()
            for n in (1, 2):
                if how == "kill":
                    self.kill(n)
                else:
                    self.lab.stop(f"node{n}", self.nodes[n])
        for port, wanted in ((self.left, 1), (self.right, 11)):
            frames = third.seen[port]
            numbers = [number(f) for f in frames]
            self.assertEqual({spi(f) for f in frames}, {wanted})
            self.assertEqual(len(set(numbers)), len(numbers))
            self.assertEqual(numbers, sorted(numbers))
            self.assertGreater(numbers[-1], 2 * 65536)  # each kill skipped the rest of a step

    def test_rotation(self):
        """Both associations are valid at the receiver while the sender changes from one to the other."""
        self.prepare()
        new = self.key("up.new")
        self.files[2] = (self.files[2][0], self.associations("two.receive", [(1, self.up, GCM), (2, new, GCM)], "received"))
        third = self.between()
        self.start(2)
        self.start(1)
        self.exchange()
        self.lab.stop("node1", self.nodes[1])
        first = len(third.seen[self.left])
        old = third.seen[self.left][:first]
        self.files[1] = (self.associations("one.send", [(2, new, GCM), (1, self.up, GCM)]), self.files[1][1])
        self.start(1)
        self.exchange()
        self.assertEqual(({spi(f) for f in old}, {spi(f) for f in third.seen[self.left][first:]}), ({1}, {2}))
        told = self.sdls(2)["received"]
        self.assertGreater(told["ok"], first)
        third.send(self.right, *old)  # they are still old
        wait_for(lambda: self.sdls(2)["received"]["replayed"] == first, 60)

    def test_reload(self):
        """A key is replaced while both nodes run, by reloads; a wrong file changes nothing, and says so."""
        self.prepare()
        new = self.key("up.new")
        third = self.between()
        self.start(2)
        self.start(1)
        self.exchange()

        def reload(n):
            told = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(n) + ".ctl", "--timeout", "60s", "reload"],
                                  capture_output=True, text=True, timeout=300, check=False)
            return told.returncode, told.stdout + told.stderr
        self.assertEqual(reload(1)[0], 0)
        self.assertNotIn("keys of frames.sdls", self.log(1))
        self.associations("two.receive", [(1, self.up, GCM), (2, new, GCM)], "received")
        self.assertEqual(reload(2)[0], 0)
        first = len(third.seen[self.left])
        self.exchange()
        self.associations("one.send", [(2, new, GCM), (1, self.up, GCM)])
        self.assertEqual(reload(1)[0], 0)
        between = len(third.seen[self.left])
        self.exchange()
        self.associations("two.receive", [(2, new, GCM)], "received")
        self.assertEqual(reload(2)[0], 0)
        self.exchange()
        spis = [spi(f) for f in third.seen[self.left]]
        self.assertEqual((set(spis[:first]), set(spis[between:])), ({1}, {2}))
        numbers = [(spi(f), number(f)) for f in third.seen[self.left]]
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertEqual([len(re.findall("reload: link .*: keys of frames.sdls", self.log(n))) for n in (1, 2)], [1, 2])
        self.associations("one.send", [(2, new, CMAC)])
        code, said = reload(1)
        self.assertEqual((code, "must be removed and added again" in said), (1, True), said)
        self.write("one.send.yaml", "associations: 5\n")
        self.assertEqual(reload(1)[0], 2)
        self.exchange()
        third.send(self.right, *third.seen[self.left][:first])  # of the key that was removed
        wait_for(lambda: self.sdls(2)["received"].get("spi", 0) == first, 60)

    def test_wrong_key(self):
        """Nothing is delivered, the frames are counted, the log has the reason once."""
        self.prepare()
        self.files[1] = (self.associations("one.send", [(1, self.key("wrong"), GCM)]), self.files[1][1])
        self.between()
        self.start(2)
        self.start(1)
        end = self.client(2, "ipn:2.7", subscribe=True)
        self.assertEqual(self.client(1, "ipn:1.8").request("ipn:2.7", b"x" * 4000)[0], aap2.SUCCESS)
        wait_for(lambda: self.sdls(2)["received"]["mac"] > 20, 60)
        told = self.link(2)
        self.assertEqual((told["frames"]["sdls"]["received"]["ok"], told["bundles_received"], told["frames"]["received"]["frames"]), (0, 0, 0))
        self.assertLessEqual(len(re.findall(r"so far, mac\): their MAC is wrong: the peer has another key", self.log(2))), 2)
        self.assertIn("so far, mac)", self.log(2))
        end.close()

    def test_kinds(self):
        """Other frames, services and wires: in LDPC codewords, as telecommand in CLTUs."""
        for keys, ways, up, down in (({"frames": "tm", "frames.length": "512B", "cadu": "ldpc4/5", "frames.idle": "50ms"}, ({}, {}), GCM, CMAC),
                                     ({"frames": "uslp", "frames.clcw": "yes"}, ({}, {}), "service: authentication, algorithm: aes-gcm", GCM + ", pad: 1"),
                                     ({}, ({"frames": "cltu", "frames.in": "aos", "frames.length": "0", "frames.length_in": f"{LENGTH}B", "frames.segments": "yes"},
                                           {"frames": "aos", "frames.in": "cltu", "frames.segments": "yes", "frames.clcw": "no"}), CMAC, GCM)):
            with self.subTest(str(keys)):
                for name in ("one.send", "one.receive", "two.send", "two.receive"):
                    if os.path.exists(self.lab.path(name + ".note")):
                        os.remove(self.lab.path(name + ".note"))
                self.prepare(up, down)
                third = self.between()
                for n in (2, 1):
                    self.start(n, **{**keys, **ways[n - 1]})
                self.exchange(3, 2000)
                for n in (1, 2):
                    told = self.sdls(n)
                    self.assertGreater(min(told["sent"]["ok"], told["received"]["ok"]), 10)
                    refused = {v: k for v, k in told["received"].items() if v != "ok" and k > 0}
                    self.assertEqual(refused, {})
                for n in (1, 2):
                    self.lab.stop(f"node{n}", self.nodes[n])
                third.stop()

    def test_mistakes(self):
        """Each with file and line, the key, and what would be right."""
        self.prepare()
        send, receive = self.files[1]
        both = {"frames.sdls": send, "frames.sdls_in": receive}
        loose = self.write("loose.key", "00" * 32 + "\n", 0o644)
        other = self.associations("other", [(7, self.up, GCM)], "received")
        few = self.write("few.yaml", f"numbers: one.send.note\nassociations:\n  - {{spi: 1, vcids: 3, {GCM}, key_file: {self.up}}}\n")
        bare = self.write("bare.yaml", f"associations:\n  - {{spi: 1, vcids: 5, {GCM}, key_file: {self.up}}}\n")
        for keys, key, hint in (({"frames.sdls": self.lab.path("none.yaml")}, "frames.sdls", "none.yaml"),
                                ({"frames.sdls": self.associations("open", [(1, loose, GCM)])}, "frames.sdls", "associations.key_file: .*loose.key"),
                                ({"frames.sdls": few}, "frames.sdls", "no association has virtual channel 5"),
                                ({"frames.sdls": bare}, "frames.sdls", "numbers: expected a file"),
                                ({"frames.sdls_in": bare}, "frames.sdls_in", "received: expected a file"),
                                ({**both, "frames.sdls_in": other}, "frames.sdls_in", "each direction needs its own"),
                                ({"frames.sdls_numbers": self.lab.path("n")}, "frames.sdls_numbers", "counts only with frames.sdls"),
                                ({**both, "frames.sdls_numbers": self.lab.path("n")}, "frames.sdls", "echo new >"),
                                ({"frames.sdls": send, "frames.sdls_received": self.lab.path("n")}, "frames.sdls_received", "counts only with frames.sdls_in"),
                                ({**both, "frames": "off", "frames.length": "0", "frames.scid": 1, "frames.vcid": 0}, "frames.sdls", "write frames: too"),
                                ({**both, "frames.length": "30B"}, "frames.sdls", "too short for security")):
            path = self.lab.write_node(1, [self.lab.link(2, 1, 2, **{**KEYS, **keys})], log=False)
            with open(path, encoding="utf-8") as f:
                line = 1 + [k.strip().partition(":")[0] for k in f].index("frames")
            done = self.heliod("--check", path)
            self.assertEqual(done.returncode, 2, (keys, done.stderr))
            self.assertRegex(done.stderr, rf"node1\.yaml:{line}: .*\b{key}: .*{hint}", keys)
        self.start(1)  # the note is in use
        path = self.lab.write_node(3, [self.lab.link(2, *self.lab.udp_ports(2), **{**KEYS, **both})], log=False)
        self.assertEqual(self.heliod("--check", path).returncode, 0)
        done = self.heliod(path)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("another program uses it", done.stderr)


if __name__ == "__main__":
    node_case.main("SdlsLinkTest")
