#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-emu links on real sockets: several links in one process, each with its own account; a transmitter that two share;
a link that is handed over at known times; changes and status by name. What is expected are counts, and fates by the times
of arrival that the logs tell, so that a slow machine changes nothing.

usage: emulator_links_test.py BIN_DIR [unittest arguments]
"""
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import relay_test
from emulator_test import read_pcap
from relay_test import OPEN, Collector, change_with_much_unread, numbered, text, udp

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "emu-links.yaml")
MS = 10**6


def run(*arguments):
    return subprocess.run([os.path.join(relay_test.BIN, "helio-emu"), *arguments], capture_output=True, text=True, timeout=300,
                          check=False)


class Links:
    """The emulator with this file; `address` of each link that listens."""

    def __init__(self, folder, content, *options):
        self.path, self.json = os.path.join(folder, "links.yaml"), os.path.join(folder, "links.json")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(content)
        self.p = subprocess.Popen([os.path.join(relay_test.BIN, "helio-emu"), "links", self.path, "--json", self.json, *options],
                                  stderr=subprocess.PIPE, text=True)
        OPEN.append(self.kill)
        self.said, self.address = "", {}
        while "ready" not in self.said:
            line = self.p.stderr.readline()
            if not line:
                raise AssertionError(f"the emulator ended: {self.said}")
            self.said += line
            m = re.match(r"helio-emu: link (\S+) 127.0.0.1:(\d+) to ", line)
            if m:
                self.address[m[1]] = ("127.0.0.1", int(m[2]))

    def kill(self):
        self.p.kill()
        self.p.wait()
        self.p.stderr.close()

    def stop(self):
        self.p.send_signal(signal.SIGINT)
        self.said += self.p.communicate(timeout=300)[1]
        with open(self.json, encoding="utf-8") as f:
            self.report = json.load(f)
        return self.p.returncode


def rows(path):
    with open(path, encoding="ascii", newline="") as f:
        return list(csv.DictReader(f))


class LinksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.name = lambda name: os.path.join(self.folder.name, name)

    def tearDown(self):
        while OPEN:
            OPEN.pop()()
        self.folder.cleanup()

    def adds_up(self, links):
        for name, link in links.report["links"].items():
            for way in ("forward", "return"):
                c = link[way]
                self.assertEqual(c["in"] + c["duplicated"], c["out"] + sum(c["dropped"].values()) + c["queued"], (name, way))
        return links.report["links"]

    def test_hops_have_an_account_each(self):
        """Three links in a row, each with its own losses and log: what leaves one enters the next."""
        far, near = udp(), udp()
        taken = [udp() for _ in range(2)]
        ports = [s.getsockname()[1] for s in taken]
        for s in taken:
            s.close()
        links = Links(self.folder.name, f"""
link: {{forward: {{delay: 3ms, erasures: {{iid: 0.1}}}}}}
links:
  one: {{listen: 127.0.0.1:0, to: 127.0.0.1:{ports[0]}, drop_log: one.csv}}
  two: {{listen: 127.0.0.1:{ports[0]}, to: 127.0.0.1:{ports[1]}, drop_log: two.csv, forward: {{delay: 9ms}}}}
  three: {{listen: 127.0.0.1:{ports[1]}, to: {text(far)}, drop_log: three.csv, forward: {{erasures: {{iid: 0.3}}}}}}
""")
        got = Collector(far, links.p)
        for i in range(1000):
            near.sendto(numbered(i, 200), links.address["one"])
            if i % 20 == 19:
                time.sleep(0.002)
        got = got.done()
        self.assertEqual(links.stop(), 0, links.said)
        account = self.adds_up(links)
        one, two, three = (account[name]["forward"] for name in ("one", "two", "three"))
        self.assertEqual((one["in"], one["out"], two["out"]), (1000, two["in"], three["in"]))
        self.assertEqual(len(got), three["out"])
        for name, way in (("one", one), ("two", two), ("three", three)):
            lost = [r for r in rows(self.name(f"{name}.csv")) if r["reason"] == "random"]
            self.assertEqual(len(lost), way["dropped"]["random"])
        self.assertGreater(three["dropped"]["random"], one["dropped"]["random"])
        self.assertNotEqual([r["frame"] for r in rows(self.name("one.csv"))], [r["frame"] for r in rows(self.name("two.csv"))])
        self.assertEqual(links.report["faithful"], not links.report["not_faithful"])
        self.assertEqual(links.report["faithful"], all(link["faithful"] for link in account.values()))

    def test_a_transmitter_is_shared(self):
        """Both send as much at once; the line carries all of it at its rate, in turn."""
        far, near = [udp(), udp()], [udp(), udp()]
        links = Links(self.folder.name, f"""
link: {{overhead: 0}}
links:
  a: {{listen: 127.0.0.1:0, to: {text(far[0])}, forward: {{delay: 40ms}}}}
  b: {{listen: 127.0.0.1:0, to: {text(far[1])}}}
shared: {{up: {{of: [a.forward, b.forward], rate: 8Mbit/s, queue: none}}}}
""")
        got = [Collector(s, links.p, quiet=2) for s in far]
        begin = time.monotonic()
        for i in range(200):
            for k, name in enumerate("ab"):
                near[k].sendto(numbered(i, 1000), links.address[name])
        got = [g.done() for g in got]
        self.assertEqual([len(g) for g in got], [200, 200])
        self.assertGreater(got[0][-1][1] - begin, 0.4)  # 400 frames, a millisecond each
        self.assertEqual(links.stop(), 0, links.said)
        self.adds_up(links)
        line = links.report["shared"]["up"]
        self.assertEqual((line["rate_bps"], line["bytes"], line["fairness"]), (8000000, 400000, 1))
        self.assertEqual([m["of"] for m in line["members"]], ["a.forward", "b.forward"])
        self.assertEqual([(m["frames"], m["share"]) for m in line["members"]], [(200, 0.5)] * 2)

    def test_a_shared_queue_drops_what_is_too_much(self):
        far, near = udp(), udp()
        links = Links(self.folder.name, f"""
link: {{overhead: 0}}
links:
  a: {{listen: 127.0.0.1:0, to: {text(far)}, drop_log: a.csv}}
  b: {{listen: 127.0.0.1:0, to: {text(far)}, drop_log: b.csv}}
shared: {{up: {{of: [a.forward, b.forward], rate: 80kbit/s, queue: 10000B}}}}
""", "--drain", "0")
        for i in range(300):
            near.sendto(numbered(i, 1000), links.address["ab"[i % 3 == 0]])
        time.sleep(0.3)
        self.assertEqual(links.stop(), 0, links.said)
        account, members = self.adds_up(links), links.report["shared"]["up"]["members"]
        lost = {name: account[name]["forward"]["dropped"]["queue"] for name in "ab"}
        self.assertEqual([account[name]["forward"]["in"] for name in "ab"], [200, 100])
        carried = sum(m["frames"] for m in members)
        waiting = sum(account[name]["forward"]["dropped"]["end"] for name in "ab")
        self.assertLessEqual(300 - sum(lost.values()), carried + waiting)
        self.assertGreater(min(lost.values()), 0)
        for name in "ab":  # each loss has its line, in the log of its link
            self.assertEqual(len([r for r in rows(self.name(f"{name}.csv")) if r["reason"] == "queue"]), lost[name])

    def test_a_shared_line_goes_by_arrival(self):
        """400 of one fill the queue, and then comes one of another; all before any is read. More than a read takes of one
        socket at a time: what is left in it is still before the other's."""
        far, near = udp(), udp()
        links = Links(self.folder.name, f"""
link: {{overhead: 0}}
links:
  a: {{listen: 127.0.0.1:0, to: {text(far)}}}
  b: {{listen: 127.0.0.1:0, to: {text(far)}}}
shared: {{up: {{of: [a.forward, b.forward], rate: 100bit/s, queue: 15000B}}}}
""", "--drain", "0")
        links.p.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, links.p.pid, os.WSTOPPED | os.WNOWAIT)
        for i in range(400):
            near.sendto(numbered(i, 50), links.address["a"])
        near.sendto(numbered(0, 50), links.address["b"])
        links.p.send_signal(signal.SIGCONT)
        self.assertEqual(links.stop(), 0, links.said)
        account = self.adds_up(links)
        self.assertEqual([account[name]["forward"]["in"] for name in "ab"], [400, 1])
        self.assertEqual([account[name]["forward"]["dropped"]["queue"] for name in "ab"], [100, 1])

    def test_hand_over_at_its_time(self):
        """In the gap nothing is taken; what was under way when it began is lost, as the file says."""
        far, near = udp(), udp()
        links = Links(self.folder.name, f"""
links:
  sat:
    listen: 127.0.0.1:0
    to: {text(far)}
    drop_log: sat.csv
    pcap_before: sat.pcap
    pcap_after: sat-after.pcap
    handover: [{{at: 0, link: a}}, {{at: 1s, link: b, gap: 500ms, in_flight: lost}}]
  a: {{both: {{delay: 200ms}}, drop_log: a.csv, pcap_before: a.pcap}}
  b: {{both: {{delay: 5ms}}, drop_log: b.csv}}
""")
        got, begin, sent = Collector(far, links.p), time.monotonic(), 0
        while time.monotonic() < begin + 2.5:
            near.sendto(numbered(sent, 100), links.address["sat"])
            sent += 1
            time.sleep(0.005)
        got = got.done()
        self.assertEqual(links.stop(), 0, links.said)
        account = self.adds_up(links)
        hand, start = account["sat"]["handover"], links.report["started_ns"]
        self.assertEqual((hand["planned"], hand["done"]), (2, 2))
        forward = hand["forward"]
        self.assertEqual((forward["in"], forward["out"]), (sent, len(got)))
        self.assertEqual(forward["gap"] + sum(v["in"] for v in forward["via"].values()), sent)
        gap = [int(r["t_ns"]) - start for r in rows(self.name("sat.csv")) if r["reason"] == "handover"]
        cut = [int(r["t_ns"]) - start for r in rows(self.name("a.csv")) if r["reason"] == "handover"]
        self.assertEqual(len(gap), forward["gap"])
        self.assertEqual(len(cut), account["a"]["forward"]["dropped"]["handover"])
        self.assertTrue(all(1000 * MS <= t < 1500 * MS for t in gap), gap)
        self.assertTrue(all(800 * MS < t < 1000 * MS for t in cut), cut)
        self.assertEqual(forward["via"]["a"]["in"] - forward["via"]["a"]["out"], len(cut))
        self.assertEqual(forward["via"].get("b", {"in": 0, "out": 0})["in"], account["b"]["forward"]["in"])
        last = sum(800 * MS < t - start < 1000 * MS for t, _ in read_pcap(self.name("a.pcap"), 0))  # all that entered a in the last 200 ms
        self.assertEqual(last, len(cut))
        entered, left = (list(read_pcap(self.name(name), 0)) for name in ("sat.pcap", "sat-after.pcap"))
        self.assertEqual((len(entered), len(left)), (sent, len(got)))  # in the gap, too

    def test_hand_overs_from_a_time_before_the_machine_began(self):
        """An hour before: the second hand-over was ten seconds ago, and not an hour less that later."""
        far, near = udp(), udp()
        start = int(time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)) - 3600
        links = Links(self.folder.name, f"""
start: {time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start))}
links:
  sat:
    listen: 127.0.0.1:0
    to: {text(far)}
    handover: [{{at: 0, link: a}}, {{at: {int(time.time()) - start - 10}s, link: b}}]
  a: {{}}
  b: {{}}
""")
        near.sendto(numbered(1, 50), links.address["sat"])
        self.assertEqual(far.recv(100), numbered(1, 50))
        self.assertEqual(links.stop(), 0, links.said)
        hand = links.report["links"]["sat"]["handover"]
        self.assertEqual((hand["done"], hand["forward"]["via"]["b"]["out"]), (2, 1))

    def test_answers_take_the_way_back(self):
        far, near = udp(), udp()
        links = Links(self.folder.name, f"""
links:
  sat: {{listen: 127.0.0.1:0, to: {text(far)}, handover: [{{at: 0, link: a}}]}}
  a: {{both: {{delay: 1ms}}}}
""")
        for i in range(20):
            near.sendto(numbered(i, 50), links.address["sat"])
            data, back = far.recvfrom(100)
            far.sendto(data, back)
            self.assertEqual(near.recv(100), data)
        self.assertEqual(links.stop(), 0, links.said)
        hand = links.report["links"]["sat"]["handover"]
        self.assertEqual([(hand[way]["in"], hand[way]["out"]) for way in ("forward", "return")], [(20, 20)] * 2)

    def test_changes_and_status_by_name(self):
        far, near, control = udp(), udp(), self.name("control")
        links = Links(self.folder.name, f"""
links:
  a: {{listen: 127.0.0.1:0, to: {text(far)}}}
  b: {{listen: 127.0.0.1:0, to: {text(far)}}}
shared: {{up: {{of: [b.forward], rate: 1Mbit/s}}}}
""", "--control", control)
        done = run("change", control, "{a: {forward: {iid: 1}}, up: {rate: 100Mbit/s}}")
        self.assertEqual(done.returncode, 0, done.stderr)
        got = Collector(far, links.p)
        for i in range(100):
            for name in "ab":
                near.sendto(numbered(i, 100), links.address[name])
        self.assertEqual(len(got.done()), 100)
        for what, why in (("c: {forward: {iid: 1}}", "no link of this name"), ("forward: {iid: 1}", "no link of this name"),
                          ("up: {delay: 1s}", "unknown key"), ("{a: {both: {iid: 0}}, up: {rate: 0}}", "up.rate")):
            done = run("change", control, what)
            self.assertEqual(done.returncode, 2, what)
            self.assertIn(why, done.stderr)
        done = run("status", control)
        self.assertEqual(done.returncode, 0, done.stderr)
        status = json.loads(done.stdout)["links"]
        self.assertEqual([(status[n]["forward"]["in"], status[n]["forward"]["out"]) for n in "ab"], [(100, 0), (100, 100)])
        one = json.loads(run("status", control, "a").stdout)
        self.assertEqual(one["forward"]["dropped"]["random"], 100)
        now = {name: json.loads(run("status", "--now", control, name).stdout) for name in "ab"}
        self.assertEqual([(now[n]["forward"]["in"], now[n]["forward"]["lost"]) for n in "ab"], [(100, {"random": 100}), (100, {})])
        self.assertEqual([now[n]["forward"]["now"]["iid"] for n in "ab"], [1, 0])
        self.assertEqual((now["b"]["forward"]["now"]["state"], now["b"]["forward"]["now"]["rate_bps"], now["b"]["return"]["now"]), ("good", 1e8, None))
        self.assertEqual(run("change", control, "b: {forward: {link: down}}").returncode, 0)
        self.assertEqual(json.loads(run("status", "-n", control, "b").stdout)["forward"]["now"]["state"], "down")
        for words in ((), ("c",)):
            done = run("status", "--now", control, *words)
            self.assertEqual((done.returncode, "there is no link" in done.stderr), (2, True))
        done = run("status", control, "c")
        self.assertEqual(done.returncode, 2)
        self.assertIn('no link "c"', done.stderr)
        self.assertEqual(links.stop(), 0, links.said)
        self.assertEqual([c["iid"] for c in self.adds_up(links)["a"]["forward"]["changed"]], [1])

    def test_what_was_there_before_meets_the_links_as_they_were(self):
        """With transmitters of their own and a shared one, however much lies in the sockets."""
        far, near, control = udp(), udp(), self.name("control")
        for shared in ("", "shared: {up: {of: [a.forward, b.forward], rate: 1Gbit/s}}"):
            links = Links(self.folder.name, f"links:\n  a: {{listen: 127.0.0.1:0, to: {text(far)}}}\n  b: {{listen: 127.0.0.1:0, to: {text(far)}}}\n{shared}\n",
                          "--control", control)
            change_with_much_unread(links.p, control, "{a: {forward: {iid: 1}}, b: {forward: {iid: 1}}}",
                                    lambda to=links.address: [near.sendto(numbered(i, 100), to["ab"[i % 2]]) for i in range(900)])
            for name in "ab":
                near.sendto(bytes(100), links.address[name])
            self.assertEqual(links.stop(), 0, links.said)
            for name, link in self.adds_up(links).items():
                self.assertGreater(link["forward"]["out"], 300, name)
                self.assertEqual((link["forward"]["dropped"]["random"], link["forward"]["in"]), (1, 451), (shared, name))

    def test_the_example(self):
        done = run("links", EXAMPLE, "--check")
        self.assertEqual((done.returncode, done.stdout), (0, "5 links, 1 shared transmitters: right\n"), done.stderr)
        far, near = udp(), udp()
        with open(EXAMPLE, encoding="utf-8") as f:
            content = re.sub(r"listen: \S+", "listen: 127.0.0.1:0", re.sub(r" to: \S+", f" to: {text(far)}", f.read()))
        links = Links(self.folder.name, content)
        for name in ("craft-1", "craft-3"):
            near.sendto(numbered(7, 100), links.address[name])
            self.assertEqual(far.recv(200), numbered(7, 100))
        self.assertEqual(links.stop(), 0, links.said)
        self.assertEqual(len(self.adds_up(links)), 5)

    def test_wrong_files(self):
        path = self.name("wrong.yaml")
        for content, why in (("links:\n  a: {listen: here, to: there}\n", f"{path}:2: links.a.listen: \"here\""),
                             ("links:\n  a: {listen: '127.0.0.1:5', to: '127.0.0.1:5'}\n", "is the address of listen"),
                             ("lnks: {}\n", "unknown key"), ("links: {}\n", f"{path}:1: links: is empty"),
                             ("links: {a: {}}\n", "nothing goes over it")):
            with open(path, "w", encoding="utf-8") as f:
                f.write(content)
            done = run("links", path)
            self.assertEqual(done.returncode, 2, content)
            self.assertIn(why, done.stderr)
        self.assertEqual(run("links", self.name("none.yaml")).returncode, 2)
        self.assertEqual(run("links").returncode, 2)


if __name__ == "__main__":
    relay_test.BIN = sys.argv.pop(1)
    unittest.main()
