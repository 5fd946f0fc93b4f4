# SPDX-License-Identifier: Apache-2.0
"""helio-frames --sdls: the page's example runs; every kind of frame there and back; other keys, replays, altered and lost frames are reported
by their reasons; numbers go on over kills. usage: sdls_test.py BIN OUT ROOT"""

import binascii
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

PROGRAMS = OUT = ROOT = ""
KINDS = {"tm": ["-k", "tm", "-l", "512", "--ocf", "--secondary", "5"], "aos": ["-l", "512", "--fhec", "--insert", "7"],
         "uslp": ["-k", "uslp", "-l", "600", "--count-octets", "3"], "tc": ["-k", "tc", "--packet", "200"],
         "tc segments": ["-k", "tc", "--packet", "200", "--segments", "--map", "5"]}
CHOICES = ("service: authenticated-encryption, algorithm: aes-gcm, pad: 1", "service: authentication, algorithm: aes-gcm, sender: 77",
           "service: authentication, algorithm: aes-cmac, mac: 8", "service: authentication, algorithm: hmac-sha-256, mac: 32, sequence: 8")


def run(*words, code=0, **more):
    done = subprocess.run([os.path.join(PROGRAMS, "helio-frames"), *words], capture_output=True, timeout=600, check=False, **more)
    assert done.returncode == code, (words, done.returncode, done.stdout[:300], done.stderr)
    return done


def path(name):
    return os.path.join(OUT, name)


def read(name):
    with open(path(name), "rb") as f:
        return f.read()


def write(name, data, mode=0o644):
    with open(path(name), "wb") as f:
        f.write(data)
    os.chmod(path(name), mode)
    return path(name)


def associations(name, *rows, received=False):
    """A file of them, each with a key of its own; its numbers begin anew."""
    lines = [f"numbers: {path(name)}.numbers"] + [f"received: {path(name)}.received"] * received + ["associations:"]
    for end in (".numbers", ".received"):
        if os.path.exists(path(name) + end):
            os.remove(path(name) + end)
    write(f"{name}.numbers", b"new\n", 0o600)
    for i, row in enumerate(rows):
        key = write(f"{name}.{i}.key", os.urandom(32).hex().encode(), 0o600)
        lines.append(f"  - {{{row}, key_file: {key}}}")
    return write(f"{name}.yaml", "\n".join(lines).encode())


def info(*words, code=0):
    return json.loads(run("info", "--json", *words, code=code).stdout)


def usual(words):
    return [w for i, w in enumerate(words) if w not in ("--packet", "--map") and (i == 0 or words[i - 1] not in ("--packet", "--map"))]


class Sdls(unittest.TestCase):
    def secure(self, name, row="spi: 5, vcids: 0, service: authenticated-encryption, algorithm: aes-gcm", n=100, **more):
        """A file of frames; the names of associations and frames."""
        sa = associations(name, row, **more)
        run("gen", "-n", str(n), "--sdls", sa, "-o", path(f"{name}.frames"))
        return sa, path(f"{name}.frames")

    def test_each_kind_and_choice(self):
        for kind, words in KINDS.items():
            for i, choice in enumerate(CHOICES):
                with self.subTest(kind=kind, choice=choice):
                    sa = associations("kind", f"spi: {i + 1}, vcids: 0, {choice}")
                    run("gen", "-n", "50", *words, "-o", path("clear"))
                    run("gen", "-n", "50", *words, "--sdls", sa, "-o", path("secured"))
                    got = info(*usual(words), "--sdls", sa, "--numbered", path("secured"))
                    self.assertEqual(got["security"]["ok"], 50)
                    self.assertEqual((got["numbered"]["missing"], got["numbered"]["damaged"]), (0, 0))
                    self.assertGreater(got["numbered"]["packets"], 10)
                    # frames into frames, back and forth
                    run("convert", *usual(words), "--sdls", sa, "--secured", path("secured"), "-o", path("removed"))
                    run("convert", *usual(words), "--sdls", sa, path("removed"), "-o", path("again"))
                    run("convert", *usual(words), "--sdls", sa, "--secured", path("again"), "-o", path("removed2"))
                    self.assertEqual(read("removed"), read("removed2"))
                    self.assertNotEqual(read("secured"), read("again"))
                    self.assertEqual(len(read("secured")), len(read("again")))
                    if kind.startswith("tc"):
                        self.assertEqual(read("removed"), read("clear"))

    def test_encrypted_or_readable(self):
        text = b"SECRET PACKET OF A SPACECRAFT"
        packet = bytes([0xfd, len(text) + 2]) + text
        write("p.packets", packet * 20)
        for choice, hidden in zip(CHOICES, (True, False, False, False)):
            sa = associations("hide", f"spi: 1, vcids: 0, {choice}")
            run("convert", "--from", "packets", "-l", "256", "--sdls", sa, path("p.packets"), "-o", path("p.frames"))
            self.assertEqual(text in read("p.frames"), not hidden)
            run("convert", "-l", "256", "--sdls", sa, "--to", "packets", path("p.frames"), "-o", path("p.again"))
            self.assertEqual(read("p.again"), packet * 20)

    def test_through_codes(self):
        """Security below the codes: in CADUs with errors that are corrected, and in CLTUs."""
        sa = associations("codes", "spi: 5, vcids: 0, service: authenticated-encryption, algorithm: aes-gcm")
        words = ["--to", "cadu", "--rs", "223", "--randomise", "--bit-errors", "0.002"]
        run("gen", "-n", "40", "--sdls", sa, *words, "-o", path("c.cadu"))
        got = info("--from", "cadu", "--rs", "223", "--randomised", "--sdls", sa, "--numbered", path("c.cadu"))
        self.assertEqual((got["security"]["ok"], got["numbered"]["missing"]), (40, 0))
        run("gen", "-k", "tc", "-n", "9", "--packet", "90", "--sdls", sa, "--to", "cltu", "-o", path("c.cltu"))
        got = info("-k", "tc", "--from", "cltu", "--sdls", sa, path("c.cltu"))
        self.assertEqual(got["security"]["ok"], 9)

    def test_another_key(self):
        sa, frames = self.secure("key")
        write("key.0.key", os.urandom(32).hex().encode(), 0o600)
        got = info("--sdls", sa, frames, code=1)
        self.assertEqual((got["security"]["mac"], got["security"]["ok"], got["channels"]), (100, 0, []))
        done = run("convert", "--sdls", sa, "--to", "packets", frames, "-o", path("key.packets"))
        self.assertIn(b"100 frames were left out by security (mac)", done.stderr)
        self.assertEqual(read("key.packets"), b"")

    def test_replayed(self):
        sa, frames = self.secure("replay")
        write("twice", read("replay.frames") * 2)
        got = info("--sdls", sa, "--numbered", path("twice"))
        self.assertEqual((got["security"]["ok"], got["security"]["replayed"]), (100, 100))
        self.assertEqual(got["numbered"]["missing"], 0)
        # also in another run, when that is noted
        sa, frames = self.secure("noted", received=True)
        self.assertEqual(info("--sdls", sa, frames)["security"]["ok"], 100)
        self.assertEqual(info("--sdls", sa, frames, code=1)["security"]["replayed"], 100)

    def test_altered(self):
        """The data field of frame 3, with a check value that is right; another frame is altered so that it is not."""
        sa, _ = self.secure("altered", n=10)
        data = bytearray(read("altered.frames"))
        data[7 * 1115 + 500] ^= 1
        frame = data[3 * 1115:4 * 1115]
        frame[500] ^= 1
        crc = 0xffff
        for octet in frame[:-2]:
            crc ^= octet << 8
            for _ in range(8):
                crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xffff
        frame[-2:] = crc.to_bytes(2, "big")
        data[3 * 1115:4 * 1115] = frame
        got = info("--sdls", sa, "--numbered", write("altered2", data))
        self.assertEqual({k: v for k, v in got["security"].items() if v}, {"ok": 8, "mac": 1, "frame": 1})
        self.assertEqual(got["verdicts"]["fecf"], 1)
        self.assertEqual(got["numbered"]["damaged"], 0)

    def test_window(self):
        sa, _ = self.secure("window", "spi: 5, vcids: 0, service: authentication, algorithm: aes-cmac, window: 20")
        data = read("window.frames")
        lost = data[:10 * 1115] + data[29 * 1115:]  # 19 frames are missing: the next number is 20 ahead
        self.assertEqual(info("--sdls", sa, write("window2", lost))["security"]["ok"], 81)
        lost = data[:10 * 1115] + data[30 * 1115:]
        got = info("--sdls", sa, write("window3", lost))
        self.assertEqual((got["security"]["ok"], got["security"]["ahead"]), (10, 70))

    def test_hostile_stream(self):
        """Two hundred hostile frames before each good one: altered, with numbers far ahead, of no association, repeated. Each is counted
        by its reason; none moves the window, or no good one would pass behind them; they take no memory."""
        sa, _ = self.secure("hostile", "spi: 5, vcids: 0, service: authenticated-encryption, algorithm: aes-gcm, window: 1", n=101)
        data = read("hostile.frames")
        good = [data[i:i + 1115] for i in range(0, len(data), 1115)]

        def forged(frame, at, bit):
            frame = bytearray(frame)
            frame[at] ^= bit
            return bytes(frame[:-2]) + binascii.crc_hqx(bytes(frame[:-2]), 0xffff).to_bytes(2, "big")

        stream = [good[0]]
        for k in range(1, 101):
            stream += [forged(good[k], 21 + (37 * k + i) % 1070, 1 << i % 8) for i in range(50)]  # the data field
            stream += [forged(good[k], 12 + i % 8, 1 << i // 8 % 8) for i in range(50)]  # its number
            stream += [forged(good[k], 6 + i % 2, 1 << i // 2 % 8) for i in range(50)]  # its SPI
            stream += [good[(k - 1) * i // 50] for i in range(50)]
            stream.append(good[k])
        write("hostile2", b"".join(stream))
        got, memory = {}, {}
        for name in ("hostile.frames", "hostile2"):
            with subprocess.Popen([os.path.join(PROGRAMS, "helio-frames"), "info", "--json", "--sdls", sa, path(name)], stdout=subprocess.PIPE) as p:
                got[name] = {k: v for k, v in json.loads(p.stdout.read())["security"].items() if v}
                memory[name] = os.wait4(p.pid, 0)[2].ru_maxrss
                p.returncode = 0
        self.assertEqual(got["hostile.frames"], {"ok": 101})
        self.assertEqual(got["hostile2"], {"ok": 101, "mac": 10000, "spi": 5000, "replayed": 5000})
        self.assertLess(memory["hostile2"], memory["hostile.frames"] + 1024)

    def test_channels(self):
        """Of two channels one is secured; frames of the other pass as they are, and are counted."""
        sa = associations("channels", "spi: 5, vcids: 3, service: authentication, algorithm: aes-cmac",
                          "spi: 6, vcids: \"4,7-9\", service: authentication, algorithm: aes-cmac")
        for vcid, more in ((3, ["--sdls", sa]), (5, []), (8, ["--sdls", sa])):
            run("gen", "-n", "20", "--vcid", str(vcid), *more, "-o", path(f"vc{vcid}"))
        write("channels.frames", read("vc3") + read("vc5") + read("vc8"))
        got = info("--sdls", sa, "--numbered", path("channels.frames"))
        self.assertEqual((got["security"]["ok"], got["security"]["clear"]), (40, 20))
        self.assertEqual([c["vcid"] for c in got["channels"]], [3, 5, 8])
        # clear frames on a channel that is secured are none
        run("gen", "-n", "20", "--vcid", "3", "-o", path("forged"))
        got = info("--sdls", sa, path("forged"), code=1)
        self.assertEqual(got["security"]["clear"] + got["security"]["ok"], 0)
        self.assertEqual(got["security"]["spi"], 20)
        done = run("gen", "-n", "20", "--vcid", "5", "--sdls", sa, code=2)
        self.assertIn(b"--vcid 5: no association", done.stderr)
        done = run("convert", "--sdls", sa, "--secured", path("channels.frames"), "-o", path("channels.clear"))
        self.assertIn(b"20 frames have no security, and so another length, and were left out", done.stderr)

    def test_lengths_that_differ(self):
        sa = associations("lengths", "spi: 5, vcids: 3, service: authentication, algorithm: aes-cmac",
                          "spi: 6, vcids: 4, service: authentication, algorithm: aes-cmac, mac: 8")
        run("gen", "-n", "5", "--vcid", "4", "--sdls", sa, "-o", path("lengths.frames"))
        done = run("convert", "--sdls", sa, "--secured", path("lengths.frames"), code=2)
        self.assertIn(b"different lengths; choose one with --vcid", done.stderr)
        run("convert", "--vcid", "4", "--sdls", sa, "--secured", path("lengths.frames"), "-o", path("lengths.clear"))
        self.assertEqual(len(read("lengths.clear")), 5 * (1115 - 2 - 4 - 8))

    def test_numbers_after_a_kill(self):
        """Frames of a run that was killed and of the next one: no number comes twice."""
        sa = associations("kill", "spi: 5, vcids: 0, service: authenticated-encryption, algorithm: aes-gcm")
        with open(path("killed"), "wb") as out:
            p = subprocess.Popen([os.path.join(PROGRAMS, "helio-frames"), "gen", "-n", "4000000", "-l", "128", "--packet", "60", "--sdls", sa], stdout=out)
            while os.path.getsize(path("killed")) < 20000:
                time.sleep(0.01)
            p.send_signal(signal.SIGKILL)
            p.wait()
        whole = read("killed")[:os.path.getsize(path("killed")) // 128 * 128]
        run("gen", "-n", "100", "-l", "128", "--packet", "60", "--sdls", sa, "-o", path("after"))
        both = whole + read("after")
        ivs = [both[i + 8:i + 20] for i in range(0, len(both), 128)]
        self.assertEqual(len(set(ivs)), len(ivs))
        self.assertEqual(ivs, sorted(ivs))
        got = info("-l", "128", "--sdls", sa, write("both", both))
        self.assertEqual(got["security"]["ok"], len(ivs))

    def test_contradictions(self):
        sa = associations("words", "spi: 5, vcids: 0, service: authenticated-encryption, algorithm: aes-gcm")
        for words, says in ((["gen", "--to", "packets", "--sdls", sa], b"packets have no security"),
                            (["convert", "--secured", "x"], b"--sdls with the file of associations is missing"),
                            (["convert", "--from", "packets", "--secured", "--sdls", sa, "x"], b"it is of frames that are read"),
                            (["convert", "--from", "packets", "--to", "packets", "--sdls", sa, "x"], b"not packets"),
                            (["convert", "--from", "cadu", "--sdls", sa, "x"], b"--secured"),
                            (["convert", "--to", "cadu", "--secured", "--sdls", sa, "x"], b"CADUs have frames with security"),
                            (["gen", "-l", "38", "--sdls", sa], b"the frame is too short for security"),
                            (["gen", "--vcid", "62", "--sdls", sa], b"no association"),
                            (["info", "--sdls", path("none.yaml"), "x"], b"none.yaml")):
            with self.subTest(words=words):
                self.assertIn(says, run(*words, code=2).stderr)
        os.chmod(path("words.0.key"), 0o644)
        done = run("gen", "--sdls", sa, code=2)
        self.assertRegex(done.stderr, rb"words.yaml:3: associations.key_file: .*chmod o= it")

    def test_the_page(self):
        """Its first example, as it is printed."""
        with open(os.path.join(ROOT, "docs", "sdls.md"), encoding="utf-8") as f:
            page = f.read()
        place = path("page")
        os.makedirs(place)
        script = re.search(r"```sh\n(.*?)```", page, re.S)
        self.assertIsNotNone(script)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script.group(1)], cwd=place, capture_output=True, text=True, check=False,
                              env={"PATH": PROGRAMS + ":/usr/bin:/bin"}, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"security\n  ok +1000\n")
        self.assertRegex(done.stdout, r"replayed +1000\n")
        self.assertIn("0 missing between them, 0 damaged", done.stdout)

    def test_keys_of_the_page(self):
        """Each key of the file is in the page's table, and no other."""
        with open(os.path.join(ROOT, "docs", "sdls.md"), encoding="utf-8") as f:
            page = f.read()
        with open(os.path.join(ROOT, "cla", "framed", "sdls_file.c"), encoding="utf-8") as f:
            keys = set(re.findall(r'\.key = "(\w+)"', f.read()))
        rows = set(re.findall(r"(?m)^\| `(\w+)` \|", page.split("## The file")[1].split("\n## ")[0]))
        self.assertEqual(rows, keys)


if __name__ == "__main__":
    PROGRAMS, OUT, ROOT = map(os.path.abspath, sys.argv[1:4])
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    unittest.main(argv=sys.argv[:1])
