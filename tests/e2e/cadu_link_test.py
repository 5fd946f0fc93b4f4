# SPDX-License-Identifier: Apache-2.0
"""LTP over frames in CADUs: nodes whose units go through a relay that flips bits, loses octets and bits, inverts, cuts and joins,
by datagrams and by TCP; a recording of a node for helio-frames; mistakes. usage: cadu_link_test.py BIN OUT [TEST...]"""

import json
import os
import random
import re
import socket
import subprocess
import threading
import time
import urllib.request

import aap2
import node_case
from node_case import NodeCase, wait_for

CADUS = {"rate": "20Mbit/s", "rto": "150ms", "sessions": 8, "frames": "aos", "frames.scid": 171, "frames.vcid": 5, "frames.idle": "20ms",
         "cadu": "rs223", "cadu.interleave": 5}
UNIT = 4 + 1275
# of LDPC and turbo codes: length of frames, share of wrong bits that it corrects, octets of a burst that it does not, octets between events, rounds for a burst
BLOCKS = (("ldpc1/2", 128, 0.03, 130, 3_000, 50), ("ldpc2/3", 128, 0.01, 80, 3_000, 50), ("ldpc4/5", 512, 0.003, 200, 4_000, 50),
          ("ldpc7/8", 892, 0.002, 200, 4_000, 10), ("turbo1/2", 223, 0.03, 200, 6_000, 10), ("turbo1/4", 223, 0.06, 400, 4_000, 10))


class Channel:
    """One direction of a radio link, with what modems make of it: a stream of bits, of which some are wrong, lost or doubled, and
    which may be inverted. What comes out has nothing to do with the pieces that went in."""

    def __init__(self, seed, share=0.0005, burst=150, between=80_000):
        self.share, self.burst, self.between = share, burst, between
        self.random, self.bits, self.count, self.inverted = random.Random(seed), 0, 0, False
        self.flipped = self.bursts = self.slips = self.gaps = self.inversions = 0

    def put(self, data):
        r, n = self.random, 8 * len(data)
        bits = int.from_bytes(data, "big")
        for _ in range(round(n * self.share + r.random())):  # some four of a unit: Reed-Solomon corrects them
            bits ^= 1 << r.randrange(n)
            self.flipped += 1
        event = r.random() * self.between / len(data)  # each kind of the rest about once in 400 kB
        if event < 0.2 and len(data) > self.burst + 50:  # beyond what it corrects
            bits ^= r.getrandbits(8 * self.burst) << 8 * r.randrange(len(data) - self.burst)
            self.bursts += 1
        elif event < 0.4:  # a few bits are lost
            at, slip = r.randrange(n - 4), r.randint(1, 4)
            bits = bits >> at + slip << at | bits & (1 << at) - 1
            n -= slip
            self.slips += 1
        elif event < 0.6 and len(data) > 600:  # 400 octets are
            at = 8 * r.randrange(len(data) - 500)
            bits = bits >> at + 3200 << at | bits & (1 << at) - 1
            n -= 3200
            self.gaps += 1
        elif event < 0.8:
            self.inverted = not self.inverted
            self.inversions += 1
        if self.inverted:
            bits ^= (1 << n) - 1
        self.bits, self.count = self.bits << n | bits, self.count + n

    def get(self):
        """Whole octets."""
        left = self.count % 8
        out = (self.bits >> left).to_bytes(self.count // 8, "big")
        self.bits, self.count = self.bits & (1 << left) - 1, left
        return out


class Relay:
    """Between two nodes: by datagrams, or between a connection and one that it makes. In a thread."""

    def __init__(self, port, left, right, **damage):
        self.port, self.left, self.right = port, left, right
        self.channels = Channel(1, **damage), Channel(2, **damage)  # to the right, to the left
        self.cuts = random.Random(3)
        self.running = True
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def stop(self):
        self.running = False
        self.thread.join()

    def pieces(self, data):
        while data:
            n = self.cuts.choice((1, 100, UNIT, 3 * UNIT, 7000))
            yield data[:n]
            data = data[n:]


class DatagramRelay(Relay):
    def run(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            s.bind(("127.0.0.1", self.port))
            s.settimeout(0.002)
            waiting = [b"", b""]
            while self.running:
                try:
                    data, (_, port) = s.recvfrom(65536)
                    way = 0 if port == self.left else 1
                    self.channels[way].put(data)
                    waiting[way] += self.channels[way].get()
                    if len(waiting[way]) < 4000:  # joined
                        continue
                except TimeoutError:
                    pass
                for way, to in ((0, self.right), (1, self.left)):
                    for piece in self.pieces(waiting[way]):
                        s.sendto(piece, ("127.0.0.1", to))
                    waiting[way] = b""


class StreamRelay(Relay):
    """The left end connects; its first connection ends in the middle of a unit, after `first` octets."""

    first = 300_007

    def carry(self, source, sink, way, limit=None):
        passed = 0
        try:
            while self.running and (limit is None or passed < limit):
                try:
                    data = source.recv(16384)
                except TimeoutError:
                    continue
                if not data:
                    break
                self.channels[way].put(data)
                for piece in self.pieces(self.channels[way].get()):
                    sink.sendall(piece)
                    passed += len(piece)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def run(self):
        limit = self.first
        with socket.create_server(("127.0.0.1", self.port)) as listener:
            listener.settimeout(0.05)
            while self.running:
                try:
                    left, _ = listener.accept()
                except TimeoutError:
                    continue
                with left, socket.create_connection(("127.0.0.1", self.right)) as right:
                    for s in (left, right):
                        s.settimeout(0.05)
                        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    back = threading.Thread(target=self.carry, args=(right, left, 1))
                    back.start()
                    self.carry(left, right, 0, limit)
                    back.join()
                limit = None


class Noise:
    """One direction of soft symbols: an octet for each bit, with an amplitude of 50 around 128, and uniform noise. Pieces are as they come."""

    def __init__(self, seed, noise):
        self.random, self.noise, self.out, self.wrong = random.Random(seed), noise, b"", 0

    def put(self, data):
        span = 2 * self.noise + 1
        out = bytes((178 if bit else 78) + (draw * span >> 8) - self.noise for bit, draw in zip(data, self.random.randbytes(len(data))))
        self.wrong += sum((a ^ b) >> 7 for a, b in zip(data, out))
        self.out += out

    def get(self):
        out, self.out = self.out, b""
        return out


class NoiseRelay(DatagramRelay):
    def __init__(self, port, left, right, noise):
        super().__init__(port, left, right)
        self.channels = Noise(1, noise), Noise(2, noise)


class CaduLinkTest(NodeCase):
    def links(self, number):
        return self.lab.control(number, "links")["links"][0]

    def start_nodes(self, kind, ways, http=None, **damage):
        """Two nodes with a relay between them, which damages what passes so."""
        left, right, port = self.lab.udp_ports(3)
        self.nodes = {}
        for n, local, remote, way in ((2, right, left if kind is StreamRelay else port, ways[1]), (1, left, port, ways[0])):
            extra = f"http: {{listen: {http}}}\n" if http and n == 2 else ""
            self.nodes[n] = self.lab.start_node(n, self.lab.write_node(n, [self.lab.link(3 - n, local, remote, **{**CADUS, **way})], log=False, extra=extra))
        relay = kind(port, left, right, **damage)
        self.addCleanup(relay.stop)
        return relay

    def settle(self):
        """Until nothing arrives any more, and what has arrived is decoded: also on a busy machine."""
        told = now = None
        while told is None or now != told:
            told, now = now, [{k: v for k, v in self.links(n)["frames"]["line"].items() if k == "in" or k.startswith("cadu_")} for n in (1, 2)]
            time.sleep(0.2)

    def exchange(self, count=60, size=40000):
        """Both directions; what arrives is all that was sent, once."""
        ends = {n: self.client(n, f"ipn:{n}.7", subscribe=True) for n in (1, 2)}
        payloads = {n: [os.urandom(size) for _ in range(count)] for n in (1, 2)}
        sender = {n: self.client(n, f"ipn:{n}.8") for n in (1, 2)}
        for pair in zip(payloads[1], payloads[2]):
            for n in (1, 2):
                self.assertEqual(sender[n].request(f"ipn:{3 - n}.7", pair[n - 1])[0], aap2.SUCCESS)
        for n in (1, 2):
            self.assertEqual(sorted(ends[n].delivery()[1] for _ in range(count)), sorted(payloads[3 - n]))
        wait_for(lambda: all(self.links(n)["bundles_sent"] == count for n in (1, 2)))
        for n in (1, 2):
            told = self.lab.control(n, "counters")["agent"]
            self.assertEqual(told["delivered"], count, told)
            self.assertGreaterEqual(self.links(n)["bundles_received"], count)

    def check_account(self, relay):
        for n, channel in ((2, relay.channels[0]), (1, relay.channels[1])):
            for what in ("flipped", "bursts", "slips", "gaps", "inversions"):
                self.assertGreater(getattr(channel, what), 0, (n, what))
            told = self.links(n)["frames"]
            line, verdicts = told["line"], told["verdicts"]
            self.assertGreater(line["cadu_corrected"], channel.flipped / 2)
            self.assertGreater(line["cadu_erred"], 0)
            self.assertGreater(line["cadu_sync_losses"], 0)
            self.assertGreater(told["received"]["lost"], 0)
            # what was decoded is what was sent
            self.assertEqual(sum(verdicts.values()), verdicts["ok"] + verdicts["only_idle"], verdicts)
            self.assertLessEqual(sum(verdicts.values()) + line["cadu_erred"], line["in"])
            self.assertEqual(told["received"]["pointer"] + told["received"]["bad_length"], 0)

    def test_datagrams(self):
        http = self.lab.udp_ports(1)[0]
        relay = self.start_nodes(DatagramRelay, ({}, {}), http)
        self.exchange()
        self.check_account(relay)
        relay.stop()
        self.settle()
        with urllib.request.urlopen(f"http://127.0.0.1:{http}/metrics", timeout=300) as answer:
            text = answer.read().decode()
        line = self.links(2)["frames"]["line"]
        for name, key in (("corrected_symbols", "corrected"), ("erred_frames", "erred"), ("sync_losses", "sync_losses")):
            self.assertEqual(re.findall(rf"^heliograph_link_cadu_{name}_total{{.*}} (\d+)$", text, re.M), [str(line["cadu_" + key])])

    def test_blocks(self):
        """Each code, with bit errors that it corrects and bursts that it does not: as many codewords failed as CADUs are erred; metrics
        have the same figures."""
        for cadu, length, share, burst, between, rounds in BLOCKS:
            with self.subTest(cadu):
                http = self.lab.udp_ports(1)[0]
                keys = {"cadu": cadu, "cadu.marker_errors": 8, "frames.length": f"{length}B", "rate": "300kbit/s", "rto": "2s", "sessions": 4,
                        "frames.idle": "100ms"}
                relay = self.start_nodes(DatagramRelay, (keys, keys), http, share=share, burst=burst, between=between)
                self.exchange(10, 3000)
                relay.stop()
                self.settle()
                with urllib.request.urlopen(f"http://127.0.0.1:{http}/metrics", timeout=300) as answer:
                    text = answer.read().decode()
                for n, channel in ((2, relay.channels[0]), (1, relay.channels[1])):
                    self.assertGreater(min(channel.bursts, channel.inversions), 0)
                    told = self.links(n)["frames"]
                    line, verdicts = told["line"], told["verdicts"]
                    self.assertGreater(line["cadu_corrected"], channel.flipped / 2)
                    self.assertGreater(line["cadu_erred"], 0)
                    self.assertEqual((line["cadu_codewords_failed"], line["misfits"]), (line["cadu_erred"], 0))
                    self.assertEqual(line["cadu_good"] + line["cadu_erred"], line["in"])
                    self.assertGreater(line["cadu_iterations"], line["cadu_good"] + rounds * line["cadu_erred"] - 1)
                    self.assertEqual(sum(verdicts.values()), verdicts["ok"] + verdicts["only_idle"], verdicts)
                line = self.links(2)["frames"]["line"]
                for name, key in (("corrected_symbols", "corrected"), ("good_frames", "good"), ("erred_frames", "erred"),
                                  ("failed_codewords", "codewords_failed"), ("iterations", "iterations"), ("sync_losses", "sync_losses")):
                    self.assertEqual(re.findall(rf"^heliograph_link_cadu_{name}_total{{.*}} (\d+)$", text, re.M), [str(line["cadu_" + key])])
                for n in (1, 2):
                    self.lab.stop(f"node{n}", self.nodes[n])

    def test_soft_symbols(self):
        """Noise that makes 11 and 17 % of the bits wrong, of codes that correct fewer by bits alone: nearly no frame is lost."""
        for cadu, length, noise in ("ldpc1/2", 128, 65), ("turbo1/3", 223, 75):
            with self.subTest(cadu):
                keys = {"cadu": cadu, "cadu.symbols": "soft", "cadu.marker_errors": 8, "frames.length": f"{length}B", "rate": "300kbit/s", "rto": "2s",
                        "sessions": 4, "frames.idle": "100ms"}
                relay = self.start_nodes(NoiseRelay, (keys, keys), noise=noise)
                self.exchange(10, 3000)
                relay.stop()
                self.settle()
                for n, channel in ((2, relay.channels[0]), (1, relay.channels[1])):
                    line = self.links(n)["frames"]["line"]
                    self.assertGreater(channel.wrong, 10000)
                    self.assertGreater(line["cadu_corrected"], channel.wrong / 3)
                    self.assertGreater(line["cadu_good"], 0.9 * line["in"], line)
                for n in (1, 2):
                    self.lab.stop(f"node{n}", self.nodes[n])

    def test_convolutional(self):
        """Soft symbols of which noise makes 11 % wrong; packed symbols of a punctured rate, some of them wrong, lost and inverted."""
        usual = {"cadu": "rs223", "cadu.interleave": 1, "frames.length": "223B", "rate": "300kbit/s", "rto": "2s", "sessions": 4, "frames.idle": "50ms"}
        for convolutional, symbols, kind, damage in (("1/2", "soft", NoiseRelay, {"noise": 65}),
                                                     ("3/4", "hard", DatagramRelay, {"share": 0.005, "burst": 200, "between": 8_000})):
            with self.subTest(convolutional):
                keys = {**usual, "cadu.convolutional": convolutional, "cadu.symbols": symbols}
                http = self.lab.udp_ports(1)[0]
                relay = self.start_nodes(kind, (keys, keys), http, **damage)
                self.exchange(10, 3000)
                relay.stop()
                self.settle()
                with urllib.request.urlopen(f"http://127.0.0.1:{http}/metrics", timeout=300) as answer:
                    text = answer.read().decode()
                wrong = str(self.links(2)["frames"]["line"]["cadu_symbols_wrong"])
                self.assertEqual(re.findall(r"^heliograph_link_cadu_wrong_symbols_total{.*} (\d+)$", text, re.M), [wrong])
                for n, channel in ((2, relay.channels[0]), (1, relay.channels[1])):
                    told = self.links(n)["frames"]
                    line, verdicts = told["line"], told["verdicts"]
                    self.assertGreater(line["cadu_symbols_wrong"], 100, line)
                    # a CADU whose marker was lost may be inverted: such a codeword is one, too, but no frame
                    self.assertLess(sum(verdicts.values()) - verdicts["ok"] - verdicts["only_idle"], 1 + channel.inversions if kind is DatagramRelay else 1, verdicts)
                    if kind is NoiseRelay:
                        self.assertGreater(line["cadu_good"], 0.95 * line["in"], line)
                        self.assertGreater(channel.wrong, 10000)
                if kind is DatagramRelay:
                    self.assertGreater(sum(c.bursts + c.slips + c.inversions for c in relay.channels), 0)
                    lines = [self.links(n)["frames"]["line"] for n in (1, 2)]
                    self.assertGreater(sum(line["cadu_erred"] + line["cadu_sync_losses"] for line in lines), 0)
                for n in (1, 2):
                    self.lab.stop(f"node{n}", self.nodes[n])

    def test_convolutional_recording(self):
        """What a node records helio-frames reads, and a node what helio-frames writes, each rate."""
        for rate in ("1/2", "1/2-plain", "2/3", "3/4", "5/6", "7/8"):
            with self.subTest(rate):
                record, written = self.lab.path("v.symbols"), self.lab.path("w.symbols")
                keys = {**CADUS, "cadu.convolutional": rate, "frames.idle": "20ms"}
                node = self.lab.start_node(1, self.lab.write_node(1, [self.lab.link(2, 1, 2, **keys, frames_port="file", frames_record=record)], log=False))
                self.assertEqual(self.client(1, "ipn:1.7").request("ipn:2.7", bytes(30000))[0], aap2.SUCCESS)
                wait_for(lambda: os.path.exists(record) and os.path.getsize(record) > 60000)
                self.lab.stop("node1", node)
                words = ["-k", "aos", "-l", "1115", "--rs", "223", "--interleave", "5", "--convolutional", rate[:3], *(["--no-inversion"] if rate == "1/2-plain" else [])]
                done = subprocess.run([self.lab.program("helio-frames"), "info", "--from", "cadu", "--randomised", *words, "--json", record],
                                      capture_output=True, text=True, timeout=300, check=True)
                told = json.loads(done.stdout)
                self.assertEqual((told["verdicts"]["ok"] + told["verdicts"]["only_idle"], told["convolutional"]["wrong"]), (told["frames"], 0), told)
                self.assertGreater(told["channels"][0]["protocols"]["ltp"], 10)
                os.remove(record)
                subprocess.run([self.lab.program("helio-frames"), "gen", *words, "--scid", "171", "--vcid", "5", "-n", "50", "--packet", "900", "--protocol", "1",
                                "--to", "cadu", "--randomise", "--bit-errors", "0.001", "-o", written], capture_output=True, text=True, timeout=300, check=True)
                link = self.lab.link(2, 1, 2, **keys, frames_port="file", frames_replay=written, frames_replay_rate="100Mbit/s")
                node = self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
                wait_for(lambda: self.links(1)["frames"]["verdicts"]["ok"] == 50)  # the last one, too
                self.assertGreater(self.links(1)["frames"]["line"]["cadu_symbols_wrong"], 100)
                self.lab.stop("node1", node)

    def test_tcp(self):
        relay = self.start_nodes(StreamRelay, ({"frames.port": "connect"}, {"frames.port": "listen"}))
        wait_for(lambda: self.links(1)["frames"]["line"]["connected"])
        self.exchange()
        self.check_account(relay)
        for n in (1, 2):
            self.assertGreaterEqual(self.links(n)["frames"]["line"]["connects"], 2)

    def test_recording(self):
        """What a node records helio-frames reads, and writes just the same: each code, basis, randomiser and marker."""
        for cadu, length in (("uncoded", 300), ("rs223", 892), ("rs239", 956), ("ldpc1/2", 128), ("ldpc2/3", 512), ("ldpc4/5", 2048), ("ldpc7/8", 892), ("turbo1/2", 446), ("turbo1/3", 446), ("turbo1/4", 223), ("turbo1/6", 1115)):
            ldpc, turbo = cadu.startswith("ldpc"), cadu.startswith("turbo")
            markers = ("auto", "auto", "auto") if turbo else ("auto", "auto" if ldpc else 32, 64)
            for basis, randomise, marker in zip(("dual", "conventional", "dual"), ("yes", "long", "no"), markers):
                keys = {"cadu": cadu, "cadu.interleave": 4, "cadu.basis": basis, "cadu.randomise": randomise, "cadu.marker": marker, "frames.length": f"{length}B",
                        "frames.idle": 0, "cadu.symbols": "soft" if cadu == "turbo1/3" else "hard"}
                record = self.lab.path(f"{cadu.replace('/', '-')}.{basis}.{randomise}.cadu")
                link = self.lab.link(2, 1, 2, **{**CADUS, **keys}, frames_port="file", frames_record=record)
                node = self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
                self.assertEqual(self.client(1, "ipn:1.7").request("ipn:2.7", bytes(30000))[0], aap2.SUCCESS)
                wait_for(lambda: os.path.exists(record) and os.path.getsize(record) > 30000)
                self.lab.stop("node1", node)
                words = ["-k", "aos", "-l", str(length)]
                words += ["--ldpc", cadu[4:]] if ldpc else ["--turbo", cadu[5:]] if turbo else ["--rs", cadu[2:], "--interleave", "4", "--basis", basis] if cadu != "uncoded" else []
                words += ["--long-marker"] if marker == 64 else []
                words += ["--soft"] if cadu == "turbo1/3" else []
                words += {"no": [], "yes": ["--randomised"], "long": ["--randomised", "--long-randomiser"]}[randomise]
                done = subprocess.run([self.lab.program("helio-frames"), "info", "--from", "cadu", *words, "--json", record],
                                      capture_output=True, text=True, timeout=300, check=True)
                told = json.loads(done.stdout)
                self.assertEqual(told["verdicts"]["ok"], told["frames"], told)
                self.assertEqual(told["octets"], os.path.getsize(record))
                self.assertGreater(told["channels"][0]["protocols"]["ltp"], 10)
                # units of turbo1/3 are no whole octets: the last one may leave half of one
                self.assertLessEqual(told["cadus"]["skipped_bits"] + told["cadus"]["symbols_corrected"], 4 if cadu == "turbo1/3" else 0)
                again = self.lab.path("again.cadu")
                subprocess.run([self.lab.program("helio-frames"), "convert", "--from", "cadu", "--to", "cadu", *words,
                                *(["--randomise"] if randomise != "no" else []), record, "-o", again],
                               capture_output=True, text=True, timeout=300, check=True)
                with open(record, "rb") as one, open(again, "rb") as other:
                    self.assertEqual(one.read(), other.read())

    def test_replay(self):
        """CADUs of helio-frames with wrong bits, inverted and shifted: the node reads each frame."""
        path, shifted = self.lab.path("a.cadu"), self.lab.path("b.cadu")
        subprocess.run([self.lab.program("helio-frames"), "gen", "-k", "aos", "-l", "1115", "--scid", "171", "--vcid", "5", "-n", "200", "--packet", "900",
                        "--protocol", "1", "--to", "cadu", "--rs", "223", "--interleave", "5", "--randomise", "--bit-errors", "0.0005", "-o", path],
                       capture_output=True, text=True, timeout=300, check=True)
        with open(path, "rb") as f:
            data = f.read()
        bits = ~int.from_bytes(data, "big") & (1 << 8 * len(data)) - 1
        with open(shifted, "wb") as f:
            f.write(b"noise before" + (bits << 5 | 0x13).to_bytes(len(data) + 1, "big"))
        link = self.lab.link(2, 1, 2, **{**CADUS, "frames.idle": 0}, frames_port="file", frames_replay=shifted, frames_replay_rate="100Mbit/s")
        self.lab.start_node(1, self.lab.write_node(1, [link], log=False))
        wait_for(lambda: self.links(1)["frames"]["line"]["in"] >= 199)
        told = self.links(1)["frames"]
        self.assertEqual(told["verdicts"]["ok"], told["line"]["in"])
        self.assertGreater(told["line"]["cadu_corrected"], 200)
        self.assertEqual((told["line"]["cadu_erred"], told["line"]["cadu_sync_losses"], told["received"]["lost"]), (0, 0, 0))

    def test_no_recording(self):
        """A pipe without a writer, a folder, a device for frames: {replay: …}: refused by --check, at the start and by link add, without waiting."""
        pipe, missing = self.lab.path("pipe"), self.lab.path("missing")
        os.mkfifo(pipe)
        local, remote = self.lab.udp_ports(2)
        self.lab.start_node(1, self.lab.write_node(1, [], log=False))
        for replay, hint in ((pipe, "a pipe"), (self.lab.path("."), "a directory"), ("/dev/zero", "a device"), (missing, "No such file")):
            link = self.lab.link(3, local, remote, **{**CADUS, "frames.port": "file", "frames.replay": replay})
            path = self.lab.write_node(2, [link], log=False)
            with open(path, encoding="utf-8") as f:
                line = 1 + [k.strip().partition(":")[0] for k in f].index("frames")
            for words in (("--check", path), (path,)):
                done = self.heliod(*words)
                self.assertEqual(done.returncode, 2, (words, done.stderr))
                self.assertRegex(done.stderr, rf"node2\.yaml:{line}: .*\bframes\.replay: .*{hint}")
            keys = [f"{key}={value}" for key, value in link.items() if key != "name"]
            done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(1) + ".ctl", "link", "add", "to-3", *keys],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stdout + done.stderr, rf"frames\.replay: .*{hint}")
            self.assertEqual(self.lab.control(1, "links")["links"], [])

    def test_mistakes(self):
        """Each with file and line, the key, and what would be right."""
        sle = {"frames.port": "sle", "sle.raf": "sagr=1.spack=1.rsl-fg=1.raf=onlc1", "sle.user": "user", "sle.provider": "provider"}
        for keys, key, hint in (({"cadu": "rs223", **sle}, "cadu", "the provider has the modem"),
                                ({"cadu": "rs223", "frames.marker": "yes", "frames.port": "connect"}, "frames.marker", "CADUs have markers; remove this key"),
                                ({"frames": "tc", "cadu": "uncoded"}, "cadu", "counts only for TM, USLP and AOS frames"),
                                ({"frames": "off", "cadu": "uncoded"}, "cadu", "write frames: too"),
                                ({"cadu": "rs223", "frames.length": "1116B"}, "frames.length", "write 1115B"),
                                ({"cadu": "rs223", "frames.in": "tm", "frames.length_in": "1120B"}, "frames.length_in", "write 1115B"),
                                ({"cadu": "rs255"}, "cadu", "rs239"),
                                ({"cadu": "ldpc3/4", "frames.length": "512B"}, "cadu", "ldpc7/8"),
                                ({"cadu": "ldpc1/2", "frames.length": "1115B"}, "frames.length", "128, 512 or 2048 octets, and frames have 1115: write 512B"),
                                ({"cadu": "ldpc7/8", "frames.length": "512B"}, "frames.length", "892 octets, and frames have 512: write 892B"),
                                ({"cadu": "ldpc4/5", "frames.length": "100B"}, "frames.length", "write 128B"),
                                ({"cadu": "ldpc2/3", "frames.length": "512B", "cadu.marker": 32}, "cadu.marker", "write 64"),
                                ({"cadu": "turbo1/2", "frames.length": "512B"}, "frames.length", "892 or 1115 octets, and frames have 512: write 446B"),
                                ({"cadu": "turbo1/3", "frames.length": "446B", "cadu.symbols": "hard"}, "cadu.symbols", "no whole octets; write soft"),
                                ({"cadu": "turbo1/4", "frames.length": "446B", "cadu.marker": 64}, "cadu.marker", "128 bits; remove this key"),
                                ({"cadu": "turbo1/4", "frames.length": "446B", "cadu.convolutional": "1/2"}, "cadu.convolutional", "uncoded CADUs and Reed-Solomon"),
                                ({"cadu": "rs223", "cadu.convolutional": "1/2"}, "cadu.convolutional", "needs frames.idle"),
                                ({"cadu": "rs223", "cadu.convolutional": "1/3"}, "cadu.convolutional", "7/8"),
                                ({"cadu": "rs223", "cadu.interleave": 9}, "cadu.interleave", "8"),
                                ({"cadu": "rs223", "cadu.marker_errors": 9}, "cadu.marker_errors", "8"),
                                ({"frames": "uslp", "cadu": "uncoded", "frames.length": "65507B"}, "frames.length", "write 65503B, or frames: {port: connect}")):
            path = self.lab.write_node(1, [self.lab.link(2, 1, 2, rto="1s", **{"frames": "aos", **keys})], log=False)
            with open(path, encoding="utf-8") as f:
                line = 1 + [k.strip().partition(":")[0] for k in f].index(key.partition(".")[0])
            done = self.heliod("--check", path)
            self.assertEqual(done.returncode, 2, keys)
            self.assertRegex(done.stderr, rf"node1\.yaml:{line}: .*\b{key}: .*{hint}", keys)


if __name__ == "__main__":
    node_case.main("CaduLinkTest")
