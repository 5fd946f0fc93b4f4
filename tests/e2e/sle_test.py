# SPDX-License-Identifier: Apache-2.0
"""helio-sle's provider and user over loopback: each service and delivery mode, authentication, recordings, refusals.

usage: sle_test.py BIN"""

import datetime
import json
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

import sle_case
from resting import tries
from sle_case import RAF

TIMES = ("1s", "10s", "60s")  # of a user that ends before it has an answer: where a second was too short for it, the next one
STATION = """sources:
  - {name: fast, count: 20000, vcids: 2}
  - {name: steady, rate: 20Mbit/s, record: %s}
  - {name: tm, format: tm, scid: 22, count: 500}
  - {name: calm, rate: 400kbit/s}
instances:
  - {id: sagr=1.spack=1.rsl-fg=1.raf=onlc1, users: CENTRE, source: fast}
  - {id: sagr=1.spack=1.rsl-fg=1.raf=onlt1, users: CENTRE, source: steady, latency: 20ms}
  - {id: sagr=1.spack=1.rsl-fg=1.raf=onlt2, users: CENTRE, source: calm, latency: 20ms}
  - {id: sagr=1.spack=1.rsl-fg=1.rcf=onlc1, users: CENTRE, source: steady, gvcids: 1.171.0, latency: 20ms, versions: 4 5}
  - {id: sagr=1.spack=1.rsl-fg=1.raf=offl1, users: CENTRE, source: steady}
  - {id: sagr=1.spack=1.rsl-fg=1.rocf=onlc1, users: CENTRE, source: tm, gvcids: 0.22.*}
  - {id: sagr=1.spack=1.fsl-fg=1.cltu=cltu1, users: CENTRE, uplink: %s}
"""


def utc(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def carry(source, target):
    try:
        while octets := source.recv(65536):
            target.sendall(octets)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other way has ended


class SleTest(sle_case.SleCase):
    def start(self, **more):
        self.provider(STATION % (self.path("record"), self.path("uplink")), **more)

    def all_good(self, r, frames):
        self.assertTrue(r["in_order"], r)
        self.assertEqual((r["frames"], r["missing"], r["repeated"], r["wrong"]), (frames, 0, 0, 0), r)

    def test_complete(self):
        self.start()
        r = self.user(RAF, "--numbered", "--until-end", "--parameters", "-o", self.path("frames"), "--frames-csv", self.path("csv"))
        self.all_good(r, 20000)
        self.assertTrue(r["end_of_data"])
        self.assertEqual((r["reports"], r["parameters"]), (1, 7), r)  # all of version 5 but the quality, not asked for yet
        with open(self.path("frames"), "rb") as f:
            data = f.read()
        self.assertEqual(len(data), 20000 * 1115)
        numbers = [struct.unpack(">Q", data[i + 6:i + 14])[0] for i in range(0, len(data), 1115)]
        self.assertEqual(numbers, list(range(20000)))
        with open(self.path("csv")) as f:
            self.assertEqual(len(f.readlines()), 20001)
        self.stop()
        self.assertRegex(self.said(), "bound by CENTRE, version 5, from 127.0.0.1")
        self.assertIn("unbound by CENTRE", self.said())

    def test_authenticated(self):
        self.start(level="all", hash="sha256")
        self.all_good(self.user(RAF, "--numbered", "--until-end", level="all", hash="sha256"), 20000)
        e = self.user(RAF, code=1, level="all", hash="sha256", password="00112233")
        self.assertRegex(e["end"], "^the connection has ended", e)  # without a word: a reset
        self.assertEqual(self.status()["counts"]["auth_failed"], 1)
        self.assertEqual(self.status()["refused"], 1)

    def test_several_users_of_one_source(self):
        self.start()
        for _ in tries():  # what comes in seconds of this source does not wait for a user who stalls
            jobs = [subprocess.Popen(self.user_command(i, "-n", "2000", "--numbered", *more), stdout=subprocess.PIPE, text=True)
                    for i, more in (("sagr=1.spack=1.rsl-fg=1.raf=onlt1", ()),
                                    ("sagr=1.spack=1.rsl-fg=1.rcf=onlc1", ("--gvcid", "1.171.0", "-V", "4")))]
            told = [json.loads(j.communicate(timeout=300)[0])["associations"][0] for j in jobs]
            self.assertEqual([j.returncode for j in jobs], [0, 0], told)
            if not any(r["missing"] for r in told):
                break
        for r in told:
            self.assertGreaterEqual(r["frames"], 2000)
            self.assertEqual((r["missing"], r["repeated"], r["wrong"]), (0, 0, 0), r)

    def test_rocf(self):
        self.start()
        r = self.user("sagr=1.spack=1.rsl-fg=1.rocf=onlc1", "--gvcid", "0.22.*", "--until-end", "-o", self.path("words"))
        self.assertEqual(r["frames"], 500)
        with open(self.path("words"), "rb") as f:
            self.assertEqual(f.read(), b"".join(bytes((0, 0, 0, i % 256)) for i in range(500)))

    def test_uslp(self):
        """Virtual and master channels of USLP frames, whose spacecraft have 16 bits."""
        frames = b""
        for vcid in (5, 42):
            name = self.path(f"{vcid}.frames")
            subprocess.run([os.path.join(self.BIN, "helio-frames"), "gen", "-k", "uslp", "-l", "500", "-n", "100", "--scid", "40000", "--vcid",
                            str(vcid), "--count-octets", "2", "-o", name], check=True, timeout=300)
            with open(name, "rb") as f:
                frames += f.read()
        with open(self.path("all.frames"), "wb") as f:
            f.write(frames)
        rcf = "sagr=1.spack=1.rsl-fg=1.rcf=onlc1"
        for channel, wanted in (("12.40000.42", frames[50000:]), ("12.40000.*", frames), ("12.40000.5", frames[:50000])):
            self.provider(f"""sources:
  - {{name: f, kind: file, file: {self.path('all.frames')}, frame: 500}}
instances:
  - {{id: {rcf}, users: CENTRE, source: f, gvcids: '12.40000.* 12.40000.5 12.40000.42'}}
""")
            r = self.user(rcf, "--gvcid", channel, "--until-end", "--parameters", "-o", self.path("got"))
            self.assertEqual((r["frames"], r["parameters"]), (len(wanted) // 500, 8), r)
            with open(self.path("got"), "rb") as f:
                self.assertEqual(f.read(), wanted)
            self.stop()

    def test_offline(self):
        self.start()
        self.until(lambda: self.status()["sources"][1]["frames"] > 2000, "nothing is produced")
        for _ in range(5):  # a source that stalls has none for a while, and then many
            begin = time.time() - 0.4
            r = self.user("sagr=1.spack=1.rsl-fg=1.raf=offl1", "--from", utc(begin), "--to", utc(begin + 0.3), "--until-end", "--numbered")
            self.assertTrue(r["in_order"] and r["end_of_data"], r)
            self.assertEqual((r["missing"], r["repeated"], r["wrong"]), (0, 0, 0), r)
            if 100 < r["frames"] < 2000:
                break
            time.sleep(0.5)
        self.assertGreater(r["frames"], 100)
        self.assertLess(r["frames"], 2000)
        e = self.user("sagr=1.spack=1.rsl-fg=1.raf=offl1", code=1)
        self.assertEqual(e["end"], "START was refused: diagnostic 4")  # missing time value
        self.assertEqual(self.status()["sources"][1]["recording"]["lost"], 0)

    def test_cltus(self):
        self.start()
        cltus = b"".join(struct.pack(">I", 20 + i % 500) + bytes([i % 256]) * (20 + i % 500) for i in range(3000))
        with open(self.path("cltus"), "wb") as f:
            f.write(cltus)
        r = self.user("sagr=1.spack=1.fsl-fg=1.cltu=cltu1", "--cltus", self.path("cltus"))["cltus"]
        self.assertEqual((r["accepted"], r["refused"], r["radiated"]), (3000, 0, 3000), r)
        with open(self.path("uplink"), "rb") as f:
            self.assertEqual(f.read(), cltus)

    def test_events(self):
        """Each is answered and its outcome reported, in order; STOP waits for what is under way; CLTUs come behind them."""
        cltu1 = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
        self.provider(f"""instances:
  - id: {cltu1}
    users: CENTRE
    uplink: {self.path('uplink')}
    uplink_rate: 100kbit/s
    events:
      - {{id: 1}}
      - {{id: 2, qualifiers: pause 7..9, actions: interrupt}}
      - {{id: 2, qualifiers: go, actions: resume radiate, order: eb90aa, time: 100ms, condition: not-operational}}
      - {{id: 3, actions: halt radiate, order: eb90}}
      - {{id: 4, actions: fail, condition: idle}}
      - {{id: 5, time: 1h}}
  - {{id: {cltu1[:-1]}2, users: CENTRE}}
""")
        with open(self.path("cltus"), "wb") as f:
            f.write(struct.pack(">I", 20) + bytes(20))

        def events(*options, instance=cltu1):
            r = self.user(instance, *options)
            self.assertTrue(r["in_order"], r)
            return [(e["event"], e["qualifier"], e.get("invocation"), e["answer"], e.get("actions")) for e in r["events"]], r["cltus"]

        done, failed, false = "action list completed", "action list not completed", "event condition is false"
        got, cltus = events("--event", "1", "--event", "2:8", "--event", "2:10", "--event", "2:go", "--event", "2:go", "--event", "9",
                            "--event", "4:0xff00", "--cltus", self.path("cltus"))
        self.assertEqual(got, [(1, "0", 0, "accepted", done), (2, "8", 1, "accepted", done), (2, "10", 2, "no such event", ""),
                               (2, "go", 2, "accepted", done), (2, "go", 3, "accepted", false), (9, "0", 4, "no such event", ""),
                               (4, "0xff00", 4, "accepted", failed)])
        self.assertEqual((cltus["accepted"], cltus["radiated"], cltus["other_notifications"] >= 1), (1, 1, True), cltus)
        with open(self.path("uplink"), "rb") as f:
            self.assertEqual(f.read(), b"\0\0\0\3\xeb\x90\xaa" + struct.pack(">I", 20) + bytes(20))
        # Numbers go on with the next association, versions with other tags as well; halted production radiates nothing.
        self.assertEqual(events("-V", "2", "--event", "3")[0], [(3, "0", 5, "accepted", failed)])
        self.assertEqual(events("--event", "1", instance=cltu1[:-1] + "2")[0], [(1, "0", 0, "operation not supported", "")])
        # An outcome that does not come: the user stops in order.
        for seconds in TIMES:
            r = subprocess.run(self.user_command(cltu1[:-1] + "1", "--event", "1", "-t", seconds), capture_output=True, text=True, timeout=300)
            if "START was" in r.stdout:
                break
        self.assertIn("START was refused: diagnostic 0", r.stdout)  # out of service: production is halted
        self.stop()
        self.assertIn("event 9, invocation 4: refused", self.said())

    def test_an_interrupted_cltu(self):
        """What is on the air ends with production: the uplink is free for what comes behind it."""
        cltu1 = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
        self.provider(f"""instances:
  - id: {cltu1}
    users: CENTRE
    uplink_rate: 10bit/s
    uplink: {self.path('uplink')}
    events: [{{id: 1, actions: interrupt halt}}, {{id: 2, actions: resume radiate, order: 'aa'}}]
""")
        with open(self.path("cltus"), "wb") as f:
            f.write(struct.pack(">I", 4000) + bytes(4000))  # the best part of an hour
        for seconds in TIMES:
            self.user(cltu1, "--cltus", self.path("cltus"), "-t", seconds)
            if self.status()["instances"][0]["counts"]["cltus"]:
                break
        self.assertEqual(self.status()["instances"][0]["counts"]["cltus"], 1)
        r = self.user(cltu1, "--event", "1", "--event", "2")
        self.assertEqual([e["actions"] for e in r["events"]], ["action list completed"] * 2)
        self.assertEqual(r["cltus"]["interrupted"], 0, "it was the other user's")
        with open(self.path("uplink"), "rb") as f:
            self.assertEqual(f.read(), b"\0\0\0\1\xaa", "the interrupted one reaches nobody")
        counts = self.status()["instances"][0]["counts"]
        self.assertEqual((counts["cltus_interrupted"], counts["cltus_radiated"], counts["cltus_discarded"]), (1, 0, 0), counts)
        self.stop()

    def test_a_stop_before_the_bind_is_answered(self):
        """The network holds everything until the user's time is over; then it ends in order, whether or not it asked."""
        self.start()
        station = self.port
        for options in ((), ("--parameters",)):
            with self.subTest(options=options), socket.create_server(("127.0.0.1", 0)) as listener:
                self.port = listener.getsockname()[1]
                csv = self.path("seconds" + "".join(options))
                user = subprocess.Popen(self.user_command(RAF, "-t", "1ms", "--csv", csv, *options), stdout=subprocess.PIPE, text=True)
                self.running.append(user)
                near, _ = listener.accept()
                self.until(lambda: os.path.exists(csv) and os.path.getsize(csv) > 60, "no second has passed")
                far = socket.create_connection(("127.0.0.1", station))
                ways = [threading.Thread(target=carry, args=pair) for pair in ((near, far), (far, near))]
                for way in ways:
                    way.start()
                r = json.loads(user.communicate(timeout=300)[0])["associations"][0]
                for way in ways:
                    way.join()
                near.close()
                far.close()
                self.assertEqual((user.returncode, r["in_order"]), (0, True), r)
        self.port = station
        self.stop()

    def test_heartbeats_are_no_progress(self):
        self.provider(f"""sources:
  - {{name: nothing, kind: udp, address: '127.0.0.1:{sle_case.free_port()}'}}
instances:
  - {{id: {RAF}, users: CENTRE, source: nothing}}
""")
        r = self.user(RAF, "-n", "1", "--heartbeat", "1", "--wait", "4s", code=1)
        self.assertEqual(r["end"], "nothing was received for too long")
        self.stop()

    def test_an_outcome_that_does_not_come(self):
        cltu1 = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
        self.provider(f"instances:\n  - {{id: {cltu1}, users: CENTRE, events: [{{id: 5, time: 1h}}]}}\n")
        for seconds in TIMES:
            r = self.user(cltu1, "--event", "5", "--event", "5", "-t", seconds)
            self.assertTrue(r["in_order"], r)
            if r["events"][0]["answer"] == "accepted":
                break
        self.assertEqual([e["answer"] for e in r["events"]], ["accepted", "not thrown"])
        self.stop()

    def test_a_modem(self):
        modem = sle_case.free_port()
        self.provider(f"""sources:
  - {{name: modem, kind: tcp, address: '127.0.0.1:{modem}', frame: 100}}
instances:
  - {{id: {RAF}, users: CENTRE, source: modem, buffer: 7, latency: 50ms}}
""")
        sent = os.urandom(100 * 1000)
        with socket.create_connection(("127.0.0.1", modem)) as s:
            s.sendall(sent)  # waits for a user
            self.user(RAF, "-n", "1000", "-o", self.path("frames"))
        with open(self.path("frames"), "rb") as f:
            self.assertEqual(f.read(), sent)

    def test_a_replayed_session(self):
        """What was recorded of a session with credentials, sent again from another address: nothing is radiated, and the instance is free."""
        cltu1 = "sagr=1.spack=1.fsl-fg=1.cltu=cltu1"
        self.start(level="all", hash="sha256")
        sent = b"".join(struct.pack(">I", 40) + bytes([i]) * 40 for i in range(3))
        with open(self.path("cltus"), "wb") as f:
            f.write(sent)
        recorded = b""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            command = self.user_command(cltu1, "--cltus", self.path("cltus"), level="all", hash="sha256")
            command[2] = f"127.0.0.1:{listener.getsockname()[1]}"
            user = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            self.running.append(user)
            near, _ = listener.accept()
            with near, socket.create_connection(("127.0.0.1", self.port)) as far:
                back = threading.Thread(target=carry, args=(far, near))
                back.start()
                while octets := near.recv(65536):
                    recorded += octets
                    far.sendall(octets)
                far.shutdown(socket.SHUT_WR)
                back.join()
            told = json.loads(user.communicate(timeout=300)[0])["associations"][0]["cltus"]
        self.assertEqual((user.returncode, told["radiated"]), (0, 3), told)
        bind = 20 + 8 + struct.unpack(">I", recorded[24:28])[0]  # context, header, body
        for number, octets in enumerate((recorded, recorded[:bind], recorded[:20] + recorded[20:bind] * 2), 1):
            with socket.create_connection(("127.0.0.1", self.port), timeout=300, source_address=("127.0.0.2", 0)) as s:
                try:
                    s.sendall(octets)
                    self.assertEqual(s.recv(65536), b"")
                except ConnectionError:
                    pass  # a reset: there is no answer
            self.until(lambda n=number: self.status()["counts"]["replays"] == n, "the replay is not counted")
            instance = next(i for i in self.status()["instances"] if i["id"] == cltu1)
            self.assertEqual(instance["state"], "unbound", instance)
        with open(self.path("uplink"), "rb") as f:
            self.assertEqual(f.read(), sent)
        r = self.user(cltu1, "--cltus", self.path("cltus"), level="all", hash="sha256")["cltus"]
        self.assertEqual(r["radiated"], 3, r)
        self.assertIn("127.0.0.2", self.said())

    def test_who_says_nothing_keeps_out_nobody_else(self):
        """More silent connections than the provider has links."""
        self.start()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2000)), hard))
        for _ in range(1100):
            s = socket.create_connection(("127.0.0.1", self.port), timeout=300)
            self.addCleanup(s.close)
        self.all_good(self.user(RAF, "--numbered", "--until-end"), 20000)
        self.stop()
        self.assertIn("from 127.0.0.1", self.said())

    def test_a_file_in_json(self):
        """JSON is a part of YAML: such a file is read, and its errors have their lines."""
        def check(**more):
            text = {"id": "STATION", "users": [{"id": "CENTRE"}], "sources": [{"name": "g"}], "instances": [{"id": RAF, "users": "CENTRE", "source": "g"}]}
            with open(self.path("station.json"), "w") as f:
                json.dump(text | more, f, indent=1)
            return subprocess.run([os.path.join(self.BIN, "helio-sle"), "provider", "--check", self.path("station.json")], capture_output=True, text=True)

        self.assertEqual(check().returncode, 0)
        wrong = check(sources=[{"name": "g", "rate": "fast"}])
        self.assertEqual(wrong.returncode, 2)
        self.assertIn('station.json:11: sources.rate: "fast" is not understood', wrong.stderr + wrong.stdout)

    def test_refusals(self):
        """Each is answered as the standard wants; a user who is being served meanwhile does not notice."""
        self.start()
        # timely delivery drops for who stalls; what comes in seconds of this source waits in the connection
        served = subprocess.Popen(self.user_command("sagr=1.spack=1.rsl-fg=1.raf=onlt2", "-t", "4s", "--numbered"),
                                  stdout=subprocess.PIPE, text=True)
        e = self.user(RAF.replace("raf=onlc1", "raf=onlc77"), code=1)
        self.assertRegex(e["end"], "no such service instance")
        e = self.user("sagr=1.spack=1.rsl-fg=1.rcf=onlc1", "--gvcid", "1.171.0", "-V", "3", code=1)
        self.assertRegex(e["end"], "version not supported")
        e = self.user("sagr=1.spack=1.rsl-fg=1.rcf=onlc1", "--gvcid", "1.171.9", code=1)
        self.assertEqual(e["end"], "START was refused: diagnostic 5")
        for what, say, urgent in (
                ("an unknown user", lambda c: (c.context(), c.bind(initiator=b"NOBODY")), None),
                ("a wrong service type", lambda c: (c.context(), c.bind(service=2)), None),
                ("another protocol", lambda c: c.context(protocol=b"ISP2"), None),
                ("a PDU before the context", lambda c: c.bind(), None),
                ("a message that is too long", lambda c: (c.context(), c.send(b"\1\0\0\0\x7f\xff\xff\xff")), None),
                ("a second BIND", lambda c: (c.context(), c.bind(), c.bind()), 3),
                ("STOP without START", lambda c: (c.context(), c.bind(), c.pdu(bytes.fromhex("a2058000020101"))), 3),
                ("an unknown PDU", lambda c: (c.context(), c.bind(), c.pdu(b"\xbe\0")), 5),
                ("an unknown message", lambda c: (c.context(), c.bind(), c.send(b"\x09\0\0\0\0\0\0\0")), 129),
                ("a second context", lambda c: (c.context(), c.bind(), c.context()), 128)):
            with self.subTest(what):
                c = self.raw()
                say(c)
                got, octet, _ = c.rest()
                c.close()
                if urgent is not None:
                    self.assertEqual(octet, urgent, got.hex())
        self.assertEqual(served.wait(300), 0)
        r = json.loads(served.communicate()[0])["associations"][0]
        self.assertEqual((r["missing"], r["repeated"], r["wrong"], r["backlogs"]), (0, 0, 0, 0), r)
        self.assertGreater(r["frames"], 20)  # however slow the machine
        said = self.said()
        for words in ("no such service instance", "version not supported", "access denied", "protocol error", "encoding error"):
            self.assertIn(words, said)
        self.stop()


if __name__ == "__main__":
    sle_case.SleCase.BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
