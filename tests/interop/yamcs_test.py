# SPDX-License-Identifier: Apache-2.0
"""Yamcs behind helio-sle's user: frames of RAF and RCF are its packets, its commands are transfers of FCLTU.

usage: yamcs_test.py BIN OUT DIR        DIR: what yamcs.sh made

The spacecraft and Yamcs's configuration are those of examples/yamcs. All that Yamcs says is asked for by its HTTP API."""

import base64
import datetime
import importlib.util
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "yamcs")
import _paths  # noqa: F401
import sle_case  # noqa: E402
from heliograph import ports  # noqa: E402

spec = importlib.util.spec_from_file_location("spacecraft", os.path.join(EXAMPLE, "spacecraft.py"))
spacecraft = importlib.util.module_from_spec(spec)
spec.loader.exec_module(spacecraft)

DIR = OUT = ""
RAF = "sagr=1.spack=1.rsl-fg=1.raf=onlc1"
RCF = "sagr=1.spack=1.rsl-fg=1.rcf=onlc1"
CLTU = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
FIGURES = []


def telecommand(number, setpoint, bypass=False):
    """The frame that Yamcs should make."""
    packet = bytes.fromhex("1864c00000030001") + struct.pack(">H", setpoint)
    head = struct.pack(">HHB", bypass << 13 | 171, 5 + len(packet) + 2 - 1, 0 if bypass else number)
    return head + packet + spacecraft.check(head + packet)


class YamcsTest(sle_case.SleCase):
    def setUp(self):
        super().setUp()
        self.http, self.tm, self.tc, self.down, self.up = ports.free_ports(5)

    def tearDown(self):
        if OUT:
            keep = os.path.join(OUT, self.id().rsplit(".", maxsplit=1)[-1])
            os.makedirs(keep, exist_ok=True)
            for name in os.listdir(self.out):
                if name.endswith((".log", ".jsonl")):
                    shutil.copy(self.path(name), keep)
        super().tearDown()

    # ---- programs ----

    def start(self, name, command):
        with open(self.path(name + ".log"), "a") as log:
            p = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.out)
        self.running.append(p)
        return p

    def log(self, name):
        with open(self.path(name + ".log")) as f:
            return f.read()

    def yamcs(self, encode=True):
        """Starts it with the example's files at other ports; encode: it makes CLTUs of its frames."""
        for folder in ("etc", "mdb"):
            shutil.copytree(os.path.join(EXAMPLE, folder), self.path(folder))
        for name in os.listdir(self.path("etc")):
            with open(self.path(f"etc/{name}")) as f:
                text = f.read()
            for number, own in ((8090, self.http), (25201, self.tm), (25202, self.tc)):
                text = re.sub(rf"\b{number}\b", str(own), text)
            if not encode:
                text = text.replace("    cltuEncoding: BCH\n    randomizeCltu: true\n", "")
            with open(self.path(f"etc/{name}"), "w") as f:
                f.write(text)
        p = self.start("yamcs", ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", f"{os.path.abspath(DIR)}/lib/*",
                                 "org.yamcs.YamcsServer", "--etc-dir", "etc", "--data-dir", "data", "--no-color"])
        self.until(lambda: p.poll() is not None or len(self.links()) == 4, "Yamcs does not begin")
        self.assertIsNone(p.poll(), self.log("yamcs"))

    def ask(self, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/api/{path}", None if body is None else json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=100) as answer:
            return json.loads(answer.read() or b"{}")

    def links(self):
        try:
            return {x["name"]: x for x in self.ask("links/helio")["links"]}
        except (urllib.error.URLError, ConnectionError):
            return {}

    def count(self, link="tm.vc0", what="dataInCount"):
        return int(self.links()[link][what])

    def extra(self, name):
        return int(self.links()["tm"]["extra"][name])

    def parameter(self, name):
        value = self.ask(f"processors/helio/realtime/parameters/HELIO/{name}")["engValue"]
        return value.get("uint32Value", value.get("floatValue"))

    def packets(self):
        """All in Yamcs's archive: those of our spacecraft by number."""
        found, token = {}, ""
        while True:
            r = self.ask(f"archive/helio/packets?limit=1000&order=asc{token and '&next=' + token}")
            for p in r.get("packets", []):
                octets = base64.b64decode(p["packet"])
                number, temperature = struct.unpack(">If", octets[14:22])
                self.assertNotIn(number, found)
                self.assertEqual((octets[:2], p["sequenceNumber"]), (b"\x08\x64", number))
                self.assertEqual(temperature, 20 + number % 10 / 2)
                found[number] = p
            token = r.get("continuationToken", "")
            if not token:
                return found

    def command(self, setpoint, **options):
        return self.ask("processors/helio/realtime/commands/HELIO/set_heater", {"args": {"setpoint": setpoint}, **options})["id"]

    def history(self, command):
        """Its acknowledgements and verifiers: name to status."""
        for c in self.ask("archive/helio/commands").get("commands", []):
            if c["id"] == command:
                return {a["name"][:-7]: a["value"].get("stringValue") for a in c["attr"] if a["name"].endswith("_Status")}
        return {}

    def station(self, more=""):
        self.provider(f"""sources:
  - {{name: modem, kind: udp, address: '127.0.0.1:{self.down}', fecf: 2, record: {self.path('frames')}}}
instances:
  - {{id: {RAF}, users: CENTRE, source: modem, latency: 50ms}}
  - {{id: {RCF}, users: CENTRE, source: modem, latency: 50ms, gvcids: '0.171.*'}}
  - {{id: {CLTU}, users: CENTRE, uplink: '127.0.0.1:{self.up}'{more}}}
""", level="all")

    def gateway(self, name, instance, *options):
        with open(self.path(name + ".json"), "w") as out, open(self.path(name + ".log"), "a") as log:
            p = subprocess.Popen(self.user_command(instance, "--reconnect", "200ms", "--wait", "0", "--log", "info", *options, level="all"),
                                 stdout=out, stderr=log, cwd=self.out)
        self.running.append(p)
        return p

    def frames(self, *options, instance=RAF):
        return self.gateway("frames", instance, "--datagrams", f"127.0.0.1:{self.tm}", "--datagram-rate", "400kbit/s", *options)

    def cltus(self, *options):
        return self.gateway("cltus", CLTU, "--cltu-datagrams", f"127.0.0.1:{self.tc}", *options)

    def until_started(self, name, times=1):
        self.until(lambda: self.log(name).count(": started") >= times, f"{name}: the service is not started")

    def result(self, p, name):
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(300), 0, self.log(name))
        with open(self.path(name + ".json")) as f:
            return json.load(f)

    def craft(self, *options):
        return self.start("spacecraft", [sys.executable, os.path.join(EXAMPLE, "spacecraft.py"), "--frames", f"127.0.0.1:{self.down}",
                                         "--cltus", f"127.0.0.1:{self.up}", "--log", self.path("cltus.jsonl"), *options])

    def received(self):
        """What the spacecraft heard."""
        if not os.path.exists(self.path("cltus.jsonl")):
            return []
        with open(self.path("cltus.jsonl")) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]

    def note(self, text):
        FIGURES.append(f"{self.id().rsplit('.', maxsplit=1)[-1]}: {text}")

    # ---- tests ----

    def telemetry(self, instance, *options):
        """All frames are packets in Yamcs, once, with the values that the spacecraft gave them."""
        self.yamcs()
        self.station()
        user = self.frames("--frames-csv", self.path("frames.csv"), *options, instance=instance)
        self.until_started("frames")
        craft = self.craft("-n", "1000", "--rate", "150")
        craft.wait(300)
        self.until(lambda: self.count() == 1000, "a packet is missing in Yamcs")
        self.until(lambda: self.parameter("number") == 999, "the latest parameter is not the latest packet's")
        self.assertEqual((self.extra("Valid frames"), self.extra("Invalid frames")), (1000, 0))
        self.assertEqual(self.parameter("temperature"), 24.5)
        found = self.packets()
        self.assertEqual(sorted(found), list(range(1000)))
        r = self.result(user, "frames")
        self.assertEqual((r["frames"], r["udp_sent"], r["udp_failed"]), (1000, 1000, 0), r)
        # Yamcs's earth reception time is that of the datagram; how far it is behind the station's:
        with open(self.path("frames.csv")) as f:
            station = [int(line.split(",")[1]) / 1e9 for line in f.readlines()[1:]]
        late = [seconds(found[n]["earthReceptionTime"]) - station[n] for n in range(1000)]
        self.assertGreater(min(late), -0.002)
        self.note(f"1000 frames sent, {len(found)} packets in Yamcs; its earth reception times are {min(late) * 1e3:.1f} to "
                  f"{max(late) * 1e3:.1f} ms behind the station's")

    def test_telemetry_raf(self):
        self.telemetry(RAF)

    def test_telemetry_rcf(self):
        self.telemetry(RCF, "--gvcid", "0.171.0")

    def test_quality(self):
        """Erred frames stay at the station, or are invalid frames of Yamcs, as the user asks."""
        self.yamcs()
        self.station()
        for quality, invalid in (("good", 0), ("all", 30)):
            valid_before = self.extra("Valid frames")
            user = self.frames("--quality", quality)
            self.until_started("frames", 1 + invalid // 30)
            self.craft("-n", "305", "--rate", "200", "--erred", "10").wait(300)  # the last one is good
            self.until(lambda: self.extra("Valid frames") == valid_before + 275, "a frame is missing in Yamcs")
            self.until(lambda: self.extra("Invalid frames") == invalid, "an erred frame is missing in Yamcs")
            r = self.result(user, "frames")
            self.assertEqual(r["udp_sent"], 275 + invalid, r)
            self.note(f"--quality {quality}: 305 frames sent, 30 of them erred; Yamcs: 275 valid, {invalid} invalid")

    def commands(self, number, encode):
        """The spacecraft receives the frames that Yamcs should make, and each command is verified."""
        self.yamcs(encode=encode)
        self.station()
        frames = self.frames()
        cltus = self.cltus(*([] if encode else ["--encode", "randomised"]))
        self.until_started("frames")
        self.until_started("cltus")
        self.craft("--rate", "20")
        self.until(lambda: self.ask("cop1/helio/tc.vc0/status")["state"] == "ACTIVE", "no CLCW reaches Yamcs")
        ids = []
        for n in range(number):
            ids.append(self.command(1000 + n))
            self.until(lambda: self.history(ids[-1]).get("CommandComplete") == "OK", f"the command is not complete: {self.history(ids[-1])}")
        heard = self.received()
        self.assertEqual([h["result"] for h in heard], ["executed"] * number)
        self.assertEqual([bytes.fromhex(h["frame"]) for h in heard], [telecommand(n % 256, 1000 + n) for n in range(number)])
        for h in heard:
            self.assertEqual(spacecraft.frame_of_cltu(bytes.fromhex(h["cltu"])).hex(), h["frame"])
        self.assertEqual((self.parameter("commands"), self.parameter("setpoint")), (number, 1000 + number - 1))
        for command in ids:
            states = self.history(command)
            self.assertEqual({k: states.get(k) for k in ("Acknowledge_Queued", "Acknowledge_Released", "Acknowledge_Sent",
                                                         "Verifier_Complete", "CommandComplete")},
                             {"Acknowledge_Queued": "OK", "Acknowledge_Released": "OK", "Acknowledge_Sent": "OK",
                              "Verifier_Complete": "OK", "CommandComplete": "OK"})
        self.assertEqual(self.count("tc", "dataOutCount"), number)
        r = self.result(cltus, "cltus")["associations"][0]["cltus"]
        self.assertEqual((r["received"], r["accepted"], r["radiated"], r["dropped"] + r["lost"] + r["bad"]), (number, number, number, 0), r)
        self.result(frames, "frames")
        self.note(f"{number} commands: {r['radiated']} CLTUs radiated, {len(heard)} frames as expected, {len(ids)} verified")

    def test_commands_as_cltus(self):
        self.commands(20, True)

    def test_commands_as_frames(self):
        """Yamcs sends frames; the user makes CLTUs of them."""
        self.commands(20, False)

    def test_same_cltus(self):
        """Our encoder makes of a frame what Yamcs's makes of it: the CLTUs of both are compared with Yamcs's own."""
        self.yamcs()
        self.station()
        self.frames()
        self.cltus()
        self.until_started("cltus")
        self.craft("--rate", "20")
        self.until(lambda: self.ask("cop1/helio/tc.vc0/status")["state"] == "ACTIVE", "no CLCW reaches Yamcs")
        for n in range(5):
            self.command(n * 13000)
        self.until(lambda: len(self.received()) == 5, "a command is missing")
        with open(self.path("frames.tc"), "wb") as f:
            f.write(b"".join(bytes.fromhex(h["frame"]) for h in self.received()))
        subprocess.run([os.path.join(self.BIN, "helio-frames"), "convert", "-k", "tc", "--to", "cltu", "--randomise", self.path("frames.tc"),
                        "-o", self.path("ours")], check=True, timeout=100, capture_output=True)
        with open(self.path("ours"), "rb") as f:
            self.assertEqual(f.read().hex(), "".join(h["cltu"] for h in self.received()))

    def drops(self):
        """Datagrams that found the socket of Yamcs's link full."""
        found = 0
        for name in ("/proc/net/udp", "/proc/net/udp6"):
            with open(name) as f:
                found += sum(int(x[-1]) for x in map(str.split, list(f)[1:]) if x[1].endswith(f":{self.tm:04X}"))
        return found

    def cop(self):
        return self.ask("cop1/helio/tc.vc0/status")["state"]

    def users_are_killed(self, long):
        """In the middle, and start again: all frames reach Yamcs; a command of meanwhile is repeated by COP-1, later ones arrive. After a
        long time COP-1 is suspended, and the operator begins anew."""
        self.yamcs()
        self.station()
        frames, cltus = self.frames(), self.cltus()
        self.until_started("frames")
        self.until_started("cltus")
        self.craft("--rate", "50")
        self.until(lambda: self.cop() == "ACTIVE", "no CLCW reaches Yamcs")
        first = self.command(1)
        self.until(lambda: self.history(first).get("CommandComplete") == "OK", "the first command is not complete")
        for p in (frames, cltus):
            p.kill()
            p.wait()
        killed = time.monotonic()
        self.until(lambda: self.count() == (time.sleep(0.5) or self.count()), "packets come without a user")  # those in Yamcs's socket
        before = self.count()
        meanwhile = self.command(2)
        self.until(lambda: self.count("tc", "dataOutCount") >= 2, "Yamcs does not send")
        if long:
            self.until(lambda: self.cop() != "ACTIVE", "COP-1 is not suspended")
        else:
            time.sleep(3)
        self.assertEqual(self.count(), before)  # nothing reaches it
        self.assertEqual(len(self.received()), 1)
        frames, cltus = self.frames(), self.cltus()
        self.until_started("frames", 2)
        self.until_started("cltus", 2)
        away = time.monotonic() - killed
        self.until(lambda: self.count() > before + 150, "Yamcs receives no packets again")
        self.until(lambda: self.cop() != "ACTIVE" or self.history(meanwhile).get("Acknowledge_Sent") == "OK", "the command has no end")
        suspended = self.cop() != "ACTIVE"
        if suspended:  # its repetitions were over before; the operator begins anew
            self.ask("cop1/helio/tc.vc0:initialize", {"type": "WITH_CLCW_CHECK", "clcwCheckInitializeTimeout": "60000"})
            self.until(lambda: self.cop() == "ACTIVE", "COP-1 does not begin again")
        last = self.command(3)
        self.until(lambda: self.history(last).get("CommandComplete") == "OK", "the last command is not complete")
        self.assertEqual([bytes.fromhex(h["frame"])[-4:-2] for h in self.received() if h["result"] == "executed"],
                         [b"\0\1", b"\0\3"] if suspended else [b"\0\1", b"\0\2", b"\0\3"])
        links = self.links()
        self.assertEqual([links[x]["status"] for x in sorted(links)], ["OK"] * 4)
        found = self.packets()
        numbers = sorted(found)
        missing = sorted(set(range(numbers[-1] + 1)) - set(numbers))
        # Those that were on the way to Yamcs when the user was killed, and those that Yamcs left in its socket until it was full: a
        # machine under load stops it for seconds. The user has sent them all.
        dropped = self.drops()
        in_a_row = list(range(missing[0], missing[0] + len(missing))) if missing else []
        self.assertLessEqual(len(missing) - dropped, 50, (missing, dropped))
        if dropped == 0:
            self.assertEqual(missing, in_a_row)
        sent = self.result(frames, "frames")
        self.assertEqual((sent["udp_sent"], sent["udp_failed"]), (sent["frames"], 0), sent)
        self.assertGreaterEqual(before + sent["frames"] + 50, numbers[-1] + 1, sent)
        r = self.result(cltus, "cltus")["associations"][0]["cltus"]
        self.assertGreaterEqual(r["radiated"], 1 if suspended else 2)
        self.note(f"both users away for {away:.0f} s at 50 frames/s: {len(found)} of {numbers[-1] + 1} packets in Yamcs, {len(missing)} "
                  f"missing, {dropped} of them dropped by the socket of Yamcs; {'2 of 3 commands executed, COP-1 was suspended for the other' if suspended else '3 of 3 commands executed'}")

    def test_the_users_are_killed(self):
        self.users_are_killed(False)

    def test_the_users_are_killed_for_long(self):
        self.users_are_killed(True)

    def test_yamcs_begins_again(self):
        """Yamcs ends and begins again: the user tells it, and its links receive again."""
        self.yamcs()
        self.station()
        user = self.frames()
        self.until_started("frames")
        self.craft("--rate", "50")
        self.until(lambda: self.count() > 20, "Yamcs receives no packets")
        p = self.running[0]
        p.send_signal(signal.SIGTERM)
        p.wait(300)
        self.until(lambda: "frames are lost: nobody listens there" in self.log("frames"), "the loss is not told")
        for folder in ("etc", "mdb"):
            shutil.rmtree(self.path(folder))
        self.yamcs()
        self.until(lambda: "frames are received again" in self.log("frames"), "the end of the loss is not told")
        self.until(lambda: self.count() > 20, "Yamcs receives no packets again")
        r = self.result(user, "frames")
        self.assertGreater(r["udp_failed"], 0)
        self.note(f"Yamcs was away: {r['udp_failed']} of {r['frames']} frames reported as not received")


def seconds(text):
    """Of a time in UTC such as 2026-11-29T05:58:10.626Z, since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


if __name__ == "__main__":
    sle_case.SleCase.BIN = os.path.abspath(sys.argv.pop(1))
    OUT = sys.argv.pop(1)
    DIR = sys.argv.pop(1)
    program = unittest.main(verbosity=2, exit=False)
    print("\n".join(FIGURES))
    sys.exit(not program.result.wasSuccessful())
