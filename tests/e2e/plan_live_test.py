# SPDX-License-Identifier: Apache-2.0
"""A contact plan that an operator changes while its nodes run, and a wall clock that is set. usage: plan_live_test.py BIN OUT SHIM [TEST...]"""
import datetime
import os
import re
import struct
import subprocess
import sys
import time

import node_case
from node_case import NodeCase, aap2, wait_for

SHIM = ""
FAR = "contacts:\n  - {from: 1, to: 2, start: 1h, end: 2h, rate: 100Mbit/s, both: yes}\nranges:\n  - {from: 1, to: 2, end: 1d, owlt: 0s}\n"


class PlanLiveTest(NodeCase):
    def write_plan(self, text, name="plan.yaml"):
        with open(self.lab.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.lab.path(name)

    def nodes(self, pairs, plan, plans=None, keys=""):
        """Nodes with links between these pairs, all of which follow the plan (plans: only these)."""
        ports = {p: self.lab.udp_ports(2) for p in pairs}
        for n in sorted({n for p in pairs for n in p}):
            links = [self.lab.link(*((b, *ports[a, b]) if n == a else (a, *ports[a, b][::-1])), rto="300ms")
                     for a, b in pairs if n in (a, b)]
            follow = f"plan: {plan}\n{keys}" if plans is None or n in plans else ""
            self.lab.start_node(n, self.lab.write_node(n, links, log=False, extra=follow))

    def ctl(self, number, *words):
        """Exit code and messages."""
        done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(number) + ".ctl", "--timeout", "60s", *words],
                              capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    def done(self, number, *words):
        code, text = self.ctl(number, *words)
        self.assertEqual(code, 0, text)
        return text

    def send(self, to, payload=b"x"):
        c = self.client(1, f"ipn:1.{1000 + len(self.lab.processes) + len(payload)}")
        self.assertEqual(c.request(to, payload)[:2], (aap2.SUCCESS, ""))

    def waits(self, number=1):
        return [b["state"] for b in self.lab.control(number, "bundles")["bundles"]]

    def log(self, number=1):
        with open(self.lab.path(f"node{number}.log"), encoding="utf-8") as f:
            return f.read()

    def logged(self, pattern):
        wait_for(lambda: re.search(pattern, self.log()))
        return re.search(pattern, self.log())[0]

    def test_contact_added(self):
        """What waits for a contact in an hour goes at once when one is added."""
        self.nodes([(1, 2)], self.write_plan(FAR))
        rx = self.client(2, "ipn:2.7", subscribe=True)
        self.send("ipn:2.7", b"waits")
        self.assertEqual(len(self.waits()), 1)
        for n in (1, 2):
            self.done(n, "contact", "add", "from=1", "to=2", "start=0s", "end=30min", "rate=10Mbit/s", "both=yes")
        self.assertEqual(rx.delivery()[1], b"waits")
        plan = self.lab.control(1, "plan")
        self.assertEqual((plan["contacts"], plan["changes"], plan["reloads"]), (4, 2, 0))
        self.assertEqual([c["state"] for c in plan["contacts_here"]].count("now"), 2)
        self.assertEqual(self.lab.control(1, "links")["links"][0]["rate_bps"], 10_000_000)
        self.assertIn("VOLUME", self.done(1, "plan"))

    def test_contact_removed(self):
        """What waits for a contact that is removed goes by another node."""
        self.nodes([(1, 2), (2, 3), (1, 3)], self.write_plan(
            "contacts:\n  - {from: 2, to: 3, end: 1h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"
            "  - {from: 1, to: 3, start: 5min, end: 1h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"
            "  - {from: 1, to: 2, start: 30min, end: 1h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"))
        rx = self.client(3, "ipn:3.7", subscribe=True)
        self.send("ipn:3.7", b"by 2")
        time.sleep(0.3)
        self.done(1, "contact", "remove", "1", "3", "5min")
        for n in (1, 2):
            self.done(n, "contact", "remove", "1", "2", "30min")
            self.done(n, "contact", "add", "from=1", "to=2", "end=10min", "rate=unlimited", "owlt=0s")
        self.assertEqual(rx.delivery()[1], b"by 2")
        self.assertEqual([ln["received"] for ln in self.lab.control(3, "links")["links"] if ln["name"] == "to-2"], [1])

    def test_contact_cut(self):
        """A contact that is cut gives back what is on it: nobody answers there, and it goes by another node."""
        self.nodes([(1, 2), (2, 3), (1, 3)], self.write_plan(
            "contacts:\n  - {from: 1, to: 3, end: 1h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"
            "  - {from: 1, to: 2, end: 1h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"
            "  - {from: 2, to: 3, end: 1h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"))
        rx = self.client(3, "ipn:3.7", subscribe=True)
        self.done(3, "link", "to-1", "down")  # it does not hear us, and we do not know
        self.done(3, "link", "set", "to-1", "rate=100bit/s")
        self.send("ipn:3.7", b"cut")
        wait_for(lambda: self.lab.control(1, "links")["links"][1]["sessions_open"] == 1)
        self.done(1, "contact", "remove", "1", "3")
        self.assertEqual(rx.delivery()[1], b"cut")
        # Node 2 reports after it has delivered; only then has node 1 sent.
        wait_for(lambda: self.lab.control(1, "links")["links"][0]["sent"] == 1)

    def test_cut_between_two_links(self):
        """A reload without the present contact, of a neighbour with two links: each gives back what it has, once."""
        plan = self.write_plan("contacts:\n  - {from: 1, to: 2, end: 1h, rate: 100Mbit/s, both: yes, owlt: 0s}\n")
        ports = self.lab.udp_ports(4)
        links = [self.lab.link(2, *ports[:2], rto="300s", sessions=4), {**self.lab.link(2, *ports[2:], rto="300s"), "name": "other"}]
        self.lab.start_node(1, self.lab.write_node(1, links, log=False, extra=f"plan: {plan}\n"))
        for i in range(6):
            self.send("ipn:2.7", b"two links" + bytes(i))
        wait_for(lambda: sum(ln["sessions_open"] for ln in self.lab.control(1, "links")["links"]) >= 4)
        self.done(1, "plan", "reload", self.write_plan(FAR, "far.yaml"))
        wait_for(lambda: sum(ln["sessions_open"] for ln in self.lab.control(1, "links")["links"]) == 0)
        self.assertEqual(len(self.waits()), 6)

    def test_cut_amid_transfers(self):
        """TCPCL has taken bundles that it has not begun when their contact is cut: they go in the next contact."""
        soon = "contacts:\n  - {from: 1, to: 2, start: 4s, end: 1h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"
        now = "contacts:\n  - {from: 1, to: 2, end: 1h, rate: 100kbit/s, both: yes, owlt: 0s}\n"
        port = self.lab.udp_ports(1)[0]
        for n, key in ((2, "local"), (1, "remote")):
            link = {"name": "peer", "adapter": "tcpcl", "peer": f"ipn:{3 - n}.0", key: f"127.0.0.1:{port}", "tls": "off", "rate": "100kbit/s"}
            self.lab.start_node(n, self.lab.write_node(n, [link], log=False, extra=f"plan: {self.write_plan(now)}\n"))
        rx = self.client(2, "ipn:2.7", subscribe=True)
        wait_for(lambda: self.lab.control(1, "links")["links"][0]["up"])
        payloads = [bytes([i]) * 20000 for i in range(8)]
        for payload in payloads:
            self.send("ipn:2.7", payload)
        self.done(1, "plan", "reload", self.write_plan(soon, "soon.yaml"))
        self.done(1, "link", "set", "peer", "rate=100Mbit/s")
        got = {rx.delivery()[1] for _ in payloads}
        self.assertEqual(got, set(payloads))

    def test_range_added(self):
        """A contact without a light time is not used; then it is."""
        self.nodes([(1, 2)], self.write_plan("contacts:\n  - {from: 1, to: 2, end: 1h, rate: 1Mbit/s, both: yes}\n"
                                             "  - {from: 1, to: 9, start: 1h, end: 2h, rate: 1Mbit/s, owlt: 0s}\n"))
        rx = self.client(2, "ipn:2.7", subscribe=True)
        self.done(1, "range", "add", "from=1", "to=2", "start=30min", "end=1h", "owlt=10ms")
        self.send("ipn:2.7", b"light")
        self.assertEqual(len(self.waits()), 1)
        self.done(1, "range", "add", "from=2", "to=1", "end=30min", "owlt=200ms")
        self.assertEqual(rx.delivery()[1], b"light")
        wait_for(lambda: self.lab.control(1, "links")["links"][0]["rto_ns"] == 420_000_000)  # 2 x 200 ms + 20 ms
        code, text = self.ctl(1, "range", "remove", "1", "2")
        self.assertEqual((code, "the other way" in text), (2, True), text)
        self.done(1, "range", "remove", "2", "1")
        self.assertEqual(self.lab.control(1, "plan")["ranges"], 2)

    def test_reload(self):
        """The file again, and another one; what is wrong is logged, and the old plan stays."""
        plan = self.write_plan(FAR)
        self.nodes([(1, 2)], plan)
        rx = self.client(2, "ipn:2.7", subscribe=True)
        self.send("ipn:2.7", b"reloaded")
        self.write_plan("contacts:\n  - {from: 1, to: 2, end: soon, rate: 1Mbit/s}\n")
        code, text = self.ctl(1, "plan", "reload")
        self.assertEqual(code, 2)
        self.assertIn(f"{plan}:2:", text)
        self.assertIn("soon", text)
        os.mkfifo(self.lab.path("pipe"))  # nobody writes to it: reading it would stop the node
        for words in (("plan", "reload", self.lab.path("nowhere")), ("plan", "reload", self.lab.path("pipe")), ("plan", "reload", "/dev"), ("contact", "remove", "1", "2"), ("contact", "remove", "3", "2", "x"),
                      ("contact", "add", "from=1", "to=2", "start=90min", "end=3h", "rate=1Mbit/s"),
                      ("contact", "add", "from=1", "to=2", "end=2000-01-01T00:00:00Z", "rate=1Mbit/s"),
                      ("contact", "add", "from=1", "to=2", "end=30min", "speed=1Mbit/s"),
                      ("contact", "add", "from=1", "to=2", "end=30min", "rate=1Mbit/s", "owlt=1s")):
            code, text = self.ctl(1, *words)
            self.assertEqual(code, 2, words)
            self.assertRegex(text, "nowhere|not a regular file|next one begins at|write|overlaps|not after its start|unknown", words)
        before = self.lab.control(1, "plan")
        self.assertEqual((before["contacts"], before["ranges"], before["changes"], len(self.waits())), (2, 1, 0, 1))
        now = self.write_plan(FAR.replace("start: 1h, ", ""), "now.yaml")
        for n in (1, 2):
            self.done(n, "plan", "reload", now)
        self.assertEqual(rx.delivery()[1], b"reloaded")
        after = self.lab.control(1, "plan")
        self.assertEqual((after["file"], after["contacts"], after["reloads"]), (now, 2, 1))

    def test_first_plan(self):
        """A node without a plan gets one while it runs."""
        self.nodes([(1, 2)], "", plans=())
        for words in (("plan",), ("plan", "reload"), ("contact", "add", "from=1", "to=2", "end=1s", "rate=1bit/s"), ("range", "remove", "1", "2")):
            code, text = self.ctl(1, *words)
            self.assertEqual((code, "follows no contact plan" in text), (1 if words == ("plan",) else 2, True), text)
        self.done(1, "plan", "reload", self.write_plan(FAR))
        link, = self.lab.control(1, "links")["links"]
        self.assertEqual((link["up"], link["state"]), (False, "waiting"))
        self.assertRegex(link["state_why"], r"^its next contact begins in (60|59) min$")
        self.send("ipn:2.7")
        self.assertEqual(len(self.waits()), 1)
        bundle, = self.lab.control(1, "bundles")["bundles"]
        self.assertEqual(bundle["state"], "no contact")
        self.assertEqual(["no contact" in self.done(1, "bundles", f"state={state}") for state in ("no contact", "no route")], [True, False])
        said = self.done(1, "why", str(bundle["key"]))
        self.assertRegex(said, r"(?m)^where +waiting without a route$")
        self.assertRegex(said, r"(?m)^why +the contact plan has no contact for it yet$")
        self.assertRegex(said, r"(?m)^next +the routes are asked again in (60|59) min, and when")

    def test_first_plan_in_a_contact(self):
        """The first plan comes while its contact, and the link, have been there for long: bundles go at once."""
        self.nodes([(1, 2)], "", plans=())
        rx = self.client(2, "ipn:2.7", subscribe=True)
        wait_for(lambda: self.lab.control(1, "links")["links"][0]["up"])
        self.done(1, "plan", "reload", self.write_plan(
            "contacts:\n  - {from: 1, to: 2, start: 2020-01-01T00:00:00Z, end: 2090-01-01T00:00:00Z, rate: 100Mbit/s, both: yes, owlt: 0s}\n"))
        self.send("ipn:2.7", b"at once")
        self.assertEqual(rx.delivery()[1], b"at once")

    def late(self, text, before="", after=""):
        """Both times of a text about a bundle that is too late: arrival and end, in Unix seconds."""
        when = r"(\S+)Z \(in [\d.]+ (?:s|min|h)\)"
        found = re.search(f"{before}the earliest arrival is {when}, its lifetime ends {when}{after}", text)
        self.assertIsNotNone(found, text)
        return tuple(datetime.datetime.fromisoformat(found[i].partition(".")[0] + "+00:00").timestamp() for i in (1, 2))

    def test_plan_is_over(self):
        """The log says so at the start, and names the plan when a link goes down for it; so does the application's error."""
        self.nodes([(1, 2)], self.write_plan(FAR.replace("start: 1h, end: 2h", "start: 2020-01-01T00:00:00Z, end: 2020-01-01T01:00:00Z")
                                             .replace("end: 1d", "start: 2020-01-01T00:00:00Z, end: 2020-01-01T01:00:00Z")))
        self.logged(r"warning: plan: \S+: all contacts of this node are in the past; its dates are UTC: bundles for its neighbours are refused or wait")
        code, said = self.client(1, "ipn:1.5").request("ipn:2.7", b"x")[:2]
        self.assertEqual(code, aap2.ERROR)
        self.assertIn("contact", said)
        soon = self.write_plan(FAR.replace("start: 1h, end: 2h", "end: 2s").replace("end: 1d", "end: 2s"), "soon.yaml")
        self.done(1, "plan", "reload", soon)
        self.logged("link to-2 is down: the contact plan has no further contact of this link")
        wait_for(lambda: self.log().count("all contacts of this node are in the past") == 2)

    def test_too_late(self):
        """No contact before its end: the application's error has both times, and the log."""
        self.nodes([(1, 2)], self.write_plan(FAR))
        c = self.client(1, "ipn:1.5")
        code, said = c.request("ipn:2.7", b"x", lifetime_ms=60000)[:2]
        self.assertEqual(code, aap2.ERROR)
        arrival, end = self.late(said, r"^no contact can bring it there before its lifetime ends \(", r"\)$")
        now = time.time()
        self.assertAlmostEqual(arrival, now + 3600, delta=30)
        self.assertAlmostEqual(end, now + 60, delta=30)
        self.assertEqual(self.lab.control(1, "counters")["agent"]["refused"], {"no contact can bring it there before its lifetime ends": 1})
        told = self.late(self.logged("1 bundles were refused: .*"), r"no contact can bring them before their lifetime ends; the latest for ipn:2\.7: ")
        self.assertAlmostEqual(told[0], arrival, delta=1)  # by the clock of then
        self.assertAlmostEqual(told[1], end, delta=1)
        self.assertEqual(c.request("ipn:2.7", b"x", lifetime_ms=7200000)[:2], (aap2.SUCCESS, ""))

    def test_too_late_on_the_way(self):
        """Node 2 refuses what node 1 sends on, and says by how much it is too late; of another bundle it knows nothing."""
        self.nodes([(1, 2), (2, 3)], self.write_plan(
            "contacts:\n  - {from: 1, to: 2, end: 2h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"
            "  - {from: 2, to: 3, start: 1h, end: 2h, rate: 100Mbit/s, both: yes, owlt: 0s}\n"), plans=(2,))
        self.done(1, "route", "add", "ipn:3.*", "to-2")
        c = self.client(1, "ipn:1.5")
        self.assertEqual(c.request("ipn:3.7", b"x", lifetime_ms=600000)[:2], (aap2.SUCCESS, ""))
        wait_for(lambda: "1 bundles were refused: no contact" in self.log(2))
        bundle, = self.lab.control(1, "bundles")["bundles"]
        ident = f"{bundle['source']},{bundle['created_ms']},{bundle['sequence']}"
        said = self.done(2, "why", ident)
        self.assertRegex(said, r"(?m)^where +not at this node; it arrived over link to-1$")
        arrival, end = self.late(said, r"(?m)^why +it was refused: no known route brings it there before its lifetime ends: ", "$")
        self.assertAlmostEqual(arrival, time.time() + 3600, delta=60)
        self.assertAlmostEqual(end, time.time() + 600, delta=60)
        self.assertIn("unreachable: keep", said)
        self.assertRegex(self.ctl(2, "why", ident + "1")[1], "it was never here")

    def test_too_late_is_kept(self):
        self.nodes([(1, 2)], self.write_plan(FAR), keys="routing: {unreachable: keep}\n")
        rx = self.client(2, "ipn:2.7", subscribe=True)
        c = self.client(1, "ipn:1.5")
        self.assertEqual(c.request("ipn:2.7", b"kept", lifetime_ms=1800000)[:2], (aap2.SUCCESS, ""))
        times = self.late(self.logged("1 bundles wait here, .*"), r"no contact can bring them before their lifetime ends; the latest for ipn:2\.7: ")
        self.assertEqual(self.lab.control(1, "bundles")["bundles"][0]["state"], "no route")
        said = self.done(1, "why", "1")
        self.assertRegex(said, r"(?m)^where +waiting without a route$")
        again = self.late(said, r"(?m)^why +no known route brings it to ipn:2\.7 before its lifetime ends: ")
        self.assertAlmostEqual(again[0], times[0], delta=1)  # by the clock of now
        self.assertAlmostEqual(again[1], times[1], delta=1)
        self.assertEqual(self.lab.control(1, "counters")["agent"]["too_late"], 1)
        for n in (1, 2):
            self.done(n, "contact", "add", "from=1", "to=2", "end=30min", "rate=1Mbit/s", "both=yes")
        self.assertEqual(rx.delivery()[1], b"kept")

    def test_words(self):
        for words in (("plan", "now"), ("plan", "reload", "a", "b"), ("contact",), ("contact", "add"), ("contact", "add", "from"),
                      ("contact", "remove", "1"), ("contact", "remove", "?", "2"), ("range", "change")):
            code, text = self.ctl(1, *words)
            self.assertEqual((code, "write: " in text), (2, True), text)

    def test_clock_is_set(self):
        """Contacts at dates come when the clock says so, whatever it said before; a step is told."""
        clock = self.lab.path("clock")

        def ahead(seconds):
            with open(clock, "r+b" if os.path.exists(clock) else "wb") as f:
                f.write(struct.pack("=q", int(seconds * 1e9)))
        ahead(0)
        start = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        end = start + datetime.timedelta(hours=1)
        plan = self.write_plan(FAR.replace("start: 1h", f"start: {start:%Y-%m-%dT%H:%M:%SZ}").replace("2h", f"{end:%Y-%m-%dT%H:%M:%SZ}"))
        os.environ.update(LD_PRELOAD=SHIM, HELIO_TEST_CLOCK=clock)
        os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        try:
            self.nodes([(1, 2)], plan, plans=(1,))
        finally:
            os.environ.pop("LD_PRELOAD", None)

        def gone(way):
            told, = re.findall(rf"plan: the wall clock has gone {way} by ([0-9.]+) s", self.log())
            return float(told)
        up = lambda: self.lab.control(1, "links")["links"][0]["up"]
        rx = self.client(2, "ipn:2.7", subscribe=True)
        self.send("ipn:2.7", b"later")
        self.assertFalse(up())
        ahead(5400)
        self.assertEqual(rx.delivery()[1], b"later")
        self.assertTrue(up())
        self.assertAlmostEqual(gone("forward"), 5400, delta=60)  # it was looked at a little later
        ahead(0)  # it was wrong
        wait_for(lambda: not up())
        self.assertAlmostEqual(gone("back"), 5400, delta=60)
        self.assertEqual(self.lab.control(1, "plan")["clock_steps"], 2)


if __name__ == "__main__":
    SHIM = sys.argv.pop(3)
    node_case.main("PlanLiveTest")
