# SPDX-License-Identifier: Apache-2.0
"""helio-frames fop and farm: telecommands with COP-1 over datagrams that are lost in both directions, in each kind of telemetry; lockout and
unlock, Wait, suspension and resumption, and what nobody asked for. usage: cop_test.py BIN OUT ROOT [TEST...]"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

PROGRAMS = OUT = ROOT = ""


def path(name):
    return os.path.join(OUT, name)


def read(name):
    with open(path(name), "rb") as f:
        return f.read()


def ports(count):
    """Of sockets that were bound just now, all at once."""
    bound = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for s in bound:
        s.bind(("127.0.0.1", 0))
    numbers = [s.getsockname()[1] for s in bound]
    for s in bound:
        s.close()
    return numbers


def start(*words):
    return subprocess.Popen([os.path.join(PROGRAMS, "helio-frames"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process, code=0, timeout=120):
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == code, (process.args, process.returncode, out, err)
    return json.loads(out)


class CopTest(unittest.TestCase):
    def setUp(self):
        self.ground, self.craft = (f"127.0.0.1:{p}" for p in ports(2))
        self.processes = []

    def tearDown(self):
        for p in self.processes:
            if p.poll() is None:
                p.kill()
            p.communicate()

    def packets(self, count, length=100):
        subprocess.run([os.path.join(PROGRAMS, "helio-frames"), "gen", "--to", "packets", "-n", str(count), "--packet", str(length), "-o", path("packets")],
                       check=True, timeout=100)

    def farm(self, *words):
        if os.path.exists(path("got")):
            os.remove(path("got"))
        p = start("farm", "--local", self.craft, "--remote", self.ground, "--json", "--interval", "20ms", "-o", path("got"), *words)
        self.processes.append(p)
        return p

    def fop(self, *words):
        p = start("fop", path("packets"), "--local", self.ground, "--remote", self.craft, "--json", "--timer", "300ms", "--limit", "100", *words)
        self.processes.append(p)
        return p

    def end(self, farm):
        farm.send_signal(signal.SIGTERM)
        return result(farm)

    def transfer(self, count, length, fop=(), farm=()):
        """All packets arrive once and in order, and each is confirmed."""
        self.packets(count, length)
        on_board = self.farm("-n", str(count), "--numbered", "--linger", "1s", *farm)
        sent, got = result(self.fop(*fop)), result(on_board)
        self.assertEqual(read("got"), read("packets"))
        self.assertEqual((sent["packets"], sent["confirmed"], sent["failed"], sent["alert"]), (count, sent["frames"], 0, None))
        self.assertEqual((got["packets"], got["accepted"], got["missing"], got["damaged"], got["state"]), (count, sent["frames"], 0, 0, "open"))
        self.assertEqual(got["v_r"], sent["frames"] % 256)
        return sent, got

    def test_page(self):
        """The example of docs/frames.md, as it is printed."""
        with open(os.path.join(ROOT, "docs/frames.md"), encoding="utf-8") as f:
            script = f.read().split("## Telecommands with COP-1")[1].split("```sh\n")[1].split("```")[0]
        script = script.replace("/tmp/", OUT + "/").replace("127.0.0.1:5201", self.craft).replace("127.0.0.1:5202", self.ground)
        done = subprocess.run(["bash", "-euc", script], env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}, capture_output=True, text=True,
                              timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn('"confirmed": 50', done.stdout)

    def test_no_loss(self):
        sent, got = self.transfer(600, 100, ["--rate", "unlimited", "--timer", "20s"])
        self.assertEqual((sent["retransmissions"], sent["commands"], got["discarded"]), (0, 1, 0))

    def test_losses_both_ways(self):
        sent, got = self.transfer(300, 100, ["--erase", "0.3", "--seed", "1"], ["--erase", "0.2", "--seed", "2"])
        self.assertGreater(sent["retransmissions"], 50)
        self.assertGreater(min(got["erased"], sent["erased"]), 10)
        arrived = got["erased"] + got["accepted"] + got["discarded"] + got["commands"]
        self.assertIn(sent["transmissions"] + sent["commands"] - arrived, range(3))  # what was sent before the farm was there

    def test_telemetry_kinds(self):
        """Telemetry of other formats, CADUs with a code, frames without CLTUs, segments."""
        cadu = ["-k", "tm", "-l", "1115", "--rs", "223", "--no-fecf"]
        for fop, farm in ((["-k", "uslp", "-l", "200"],) * 2, (["-k", "aos", "-l", "100", "--fhec", "--to", "frames"], ["-k", "aos", "-l", "100", "--fhec", "--from", "frames"]),
                          ([*cadu, "--from", "cadu", "--randomised", "--randomise"], [*cadu, "--to", "cadu", "--randomise", "--randomised"]),
                          (["--segments", "--map", "7", "--tc-length", "64", "--vcid", "5", "--scid", "171"],) * 2):
            with self.subTest(fop=fop):
                sent, _ = self.transfer(40, 200, fop, [*farm, "--erase", "0.1"])
                self.assertEqual(sent["frames"] > 40, "--segments" in fop)

    def test_wait(self):
        """Half of the time nobody on board has a buffer: frames are sent again when the CLCW's flag Wait has gone."""
        sent, got = self.transfer(100, 100, [], ["--busy", "0.5"])
        self.assertGreater(got["discarded"], 0)
        self.assertGreater(sent["retransmissions"], 0)

    def test_lockout(self):
        """A number outside of the window locks FARM-1: an alert, until the next sender unlocks it."""
        self.packets(20)
        on_board = self.farm()
        time.sleep(0.3)
        sent = result(self.fop("--initiate", "none", "--number", "100"), 1)
        self.assertIn("lockout", sent["alert"])
        self.assertEqual((sent["confirmed"], sent["complete"]), (0, False))
        sent = result(self.fop("--initiate", "unlock"))
        self.assertEqual((sent["confirmed"], sent["commands"]), (20, 1))
        sent = result(self.fop("--initiate", "clcw", "--number", "20"))
        self.assertEqual((sent["confirmed"], sent["commands"]), (20, 0))
        got = self.end(on_board)
        self.assertEqual((got["packets"], got["lockouts"], got["commands"], got["v_r"]), (40, 1, 1, 40))

    def test_nobody(self):
        """Nobody answers: the alert T1. With --resume the service is suspended, and goes on when a receiver answers."""
        self.packets(10)
        sent = result(self.fop("--limit", "3", "--timer", "50ms"), 1)
        self.assertIn("T1", sent["alert"])
        self.assertEqual((sent["confirmed"], sent["commands"]), (0, 3))
        ground = self.fop("--limit", "2", "--timer", "100ms", "--resume", "--initiate", "none")
        time.sleep(1)
        on_board = self.farm("-n", "10", "--numbered", "--linger", "200ms")
        sent = result(ground)
        self.assertEqual(sent["confirmed"], 10)
        self.assertGreater(sent["suspensions"], 0)
        self.assertEqual(result(on_board)["packets"], 10)

    def test_expedited(self):
        self.packets(30)
        on_board = self.farm("-n", "30", "--numbered", "--linger", "100ms")
        time.sleep(0.5)
        sent = result(self.fop("--expedited"))
        self.assertEqual((sent["transmissions"], sent["confirmed"]), (30, 0))
        self.assertEqual(result(on_board)["packets"], 30)

    def test_noise(self):
        """Datagrams of anything at both ends, from the other's host: they cost nothing but their counts."""
        self.packets(100)
        on_board = self.farm("-n", "100", "--numbered", "--linger", "500ms")
        ground = self.fop("--rate", "100kbit/s")
        rng = random.Random(7)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            while ground.poll() is None:
                to = rng.choice([self.ground, self.craft]).split(":")
                s.sendto(rng.randbytes(rng.choice([0, 1, 5, 7, 40, 1115, 3000])), (to[0], int(to[1])))
                time.sleep(0.002)
        self.assertEqual(result(ground)["confirmed"], 100)
        self.assertEqual(result(on_board)["packets"], 100)
        self.assertEqual(read("got"), read("packets"))

    def test_refused(self):
        """What the command line or the input has wrong, in words that name it."""
        self.packets(3, 2000)
        both = ("--local", self.ground, "--remote", self.craft)
        for words, code, text in ((("fop", path("packets")), 2, "--local ADDRESS"), (("fop", *both), 2, "FILE is missing"), (("farm", *both, "--window", "21"), 2, "even"),
                                  (("fop", path("packets"), *both, "-k", "tc"), 2, "--kind"), (("fop", path("packets"), *both, "--to", "cadu"), 2, "--to"),
                                  (("fop", path("packets"), *both), 1, "--segments"), (("fop", path("absent"), *both), 2, "absent"),
                                  (("farm", *both, "--rs", "223"), 2, "--rs"), (("farm", *both, "-l", "65000", "-k", "uslp"), 2, "datagram")):
            p = start(*words)
            _, err = p.communicate(timeout=100)
            self.assertEqual(p.returncode, code, (words, err))
            self.assertIn(text, err)
        with open(path("packets"), "ab") as f:
            f.write(b"\xe5")
        p = start("fop", path("packets"), *both, "--segments")
        self.assertIn("packet 3", p.communicate(timeout=100)[1])
        self.assertEqual(p.returncode, 1)


if __name__ == "__main__":
    PROGRAMS, OUT, ROOT = sys.argv[1:4]
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
