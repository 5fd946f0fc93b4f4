# SPDX-License-Identifier: Apache-2.0
"""The plan service with three real nodes in a line: versions are pushed, acknowledged and followed from their time of effect on; a
follower is killed with -9 at any time; a node that was away catches up; a roll-back; pushes that are forged, damaged or of nobody; and
bundles under way arrive once. usage: plan_service_test.py BIN OUT [TEST...]"""
import datetime
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import node_case
from node_case import NodeCase, aap2, wait_for

OWNER, FOLLOWER = 70, 71


def date(t):
    return f"{datetime.datetime.fromtimestamp(t, datetime.timezone.utc):%Y-%m-%dT%H:%M:%S.%fZ}"


def head(value, major=0):
    """The head of a CBOR item."""
    for more, size in ((24, 0), (0x100, 1), (0x10000, 2), (0x100000000, 4)):
        if value < more:
            return bytes([major << 5 | value]) if not size else bytes([major << 5 | 23 + size.bit_length()]) + value.to_bytes(size, "big")
    return bytes([major << 5 | 27]) + value.to_bytes(8, "big")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def plan_message(number, contents, effect=0, check=None):
    check = crc32c(number.to_bytes(8, "big") + effect.to_bytes(8, "big") + contents) if check is None else check
    return head(7, 4) + head(1) + head(1) + head(number) + head(effect) + head(0) + head(check) + head(len(contents), 2) + contents


class PlanServiceTest(NodeCase):
    KEYS = ""  # of each node's configuration

    def setUp(self):
        super().setUp()
        self.ends, self.configs, self.nodes, self.zero = {}, {}, {}, time.time() - 60
        ports = self.lab.udp_ports(4)
        links = {1: [self.lab.link(2, ports[0], ports[1], rto="200ms")],
                 2: [self.lab.link(1, ports[1], ports[0], rto="200ms"), self.lab.link(3, ports[2], ports[3], rto="200ms")],
                 3: [self.lab.link(2, ports[3], ports[2], rto="200ms")]}
        routes = {1: 'routes: [{to: "ipn:3.*", via: to-2}]\n', 2: "", 3: 'routes: [{to: "ipn:1.*", via: to-2}]\n'}
        for n in (1, 2, 3):
            store = f"{{path: {self.lab.path(f'store{n}')}, durability: sync}}"
            self.configs[n] = self.lab.write_node(n, links[n], store, log=("bundles",), extra=routes[n] + self.KEYS.format(n=n))
            self.nodes[n] = self.lab.start_node(n, self.configs[n])

    def tool(self, *words, code=0):
        done = subprocess.run([self.lab.program("helio-plan"), *map(str, words)], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout if code == 0 else done.stderr

    def folder(self, name):
        return self.lab.path(name)

    def write_plan(self, name, rate="100Mbit/s", last=None):
        """A plan of the line, from now on; `last`: when the contact of nodes 2 and 3 begins."""
        rows = [f"  - {{from: {a}, to: {b}, start: {date(start or self.zero)}, end: {date(self.zero + 18000)}, rate: {rate}, owlt: 1ms, both: yes}}"
                for a, b, start in ((1, 2, None), (2, 3, last))]
        with open(self.lab.path(name), "w", encoding="utf-8") as f:
            f.write("contacts:\n" + "\n".join(rows) + "\n")
        return self.lab.path(name)

    def write_long_plan(self):
        path = self.write_plan("long.yaml", "30Mbit/s")
        with open(path, "a", encoding="utf-8") as f:
            f.writelines(f"  - {{from: {10 + i % 50}, to: {60 + i % 40}, start: {date(self.zero + 60 * i)}, end: {date(self.zero + 60 * i + 50)}, rate: 1Mbit/s}}\n"
                         for i in range(40_000))
        return path

    def serve(self, *words):
        to = [w for n in (1, 2, 3) for w in ("--to", f"ipn:{n}.{FOLLOWER}")]
        self.ends["owner"] = self.lab.start("owner", "helio-plan", "serve", self.folder("plans"), "--socket", self.lab.socket(1), *to,
                                            "--again", "3s", "--pause", "1s", *words)

    def follow(self, n, *words):
        self.ends[n] = self.lab.start(f"follow{n}", "helio-plan", "follow", self.folder(f"plans{n}"), "--socket", self.lab.socket(n),
                                      "--control", self.lab.socket(n) + ".ctl", "--owner", f"ipn:1.{OWNER}", "--ask", "5s", *words)

    def publish(self, plan, *words):
        return json.loads(self.tool("publish", self.folder("plans"), plan, "--json", *words))["number"]

    def versions(self, name="plans"):
        return json.loads(self.tool("versions", self.folder(name), "--json"))

    def rate(self, n):
        """Of the first contact that the node knows; None: it has no plan."""
        done = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(n) + ".ctl", "--timeout", "60s", "--json", "plan"],
                              capture_output=True, text=True, timeout=300, check=False)
        contacts = json.loads(done.stdout).get("contacts_here", []) if done.returncode == 0 else []
        return contacts[0]["rate_bps"] if contacts else None

    def followed(self, number, nodes=(1, 2, 3)):
        """All of these nodes follow the version, and the owner knows that."""
        def known():
            applied = {p["endpoint"]: p["applied"] for p in self.versions().get("followers", [])}
            return all(applied.get(f"ipn:{n}.{FOLLOWER}") == number for n in nodes)
        wait_for(known, 60)

    def kill(self, who):
        self.ends[who].kill()
        self.ends[who].wait()

    def begin(self):
        self.serve()
        for n in (1, 2, 3):
            self.follow(n)
        self.assertEqual(self.publish(self.write_plan("a.yaml")), 1)
        self.followed(1)

    def test_versions_and_rollback(self):
        self.begin()
        self.assertEqual([self.rate(n) for n in (1, 2, 3)], [100_000_000] * 3)
        effect = time.time() + 8
        self.assertEqual(self.publish(self.write_plan("b.yaml", "50Mbit/s"), "--effect", date(effect)), 2)
        wait_for(lambda: all("plan-2.cbor" in os.listdir(self.folder(f"plans{n}")) for n in (1, 2, 3)), 7)
        self.assertEqual([v["state"] for v in self.versions("plans3")["versions"]], ["in force", "later"])
        self.assertEqual([self.rate(n) for n in (1, 2, 3)], [100_000_000] * 3)
        self.assertLess(time.time(), effect, "the machine is too slow for this")
        self.followed(2)
        self.assertGreaterEqual(time.time(), effect)
        self.assertEqual([self.rate(n) for n in (1, 2, 3)], [50_000_000] * 3)
        self.assertEqual(os.listdir(self.folder("plans3")).count("plan-1.cbor"), 0)
        # A roll-back has a new number, and replaces what waits.
        self.assertEqual(self.publish(self.write_plan("c.yaml", "10Mbit/s"), "--effect", "1h"), 3)
        self.assertIn("version 4", self.tool("rollback", self.folder("plans"), 1))
        self.followed(4)
        self.assertEqual([self.rate(n) for n in (1, 2, 3)], [100_000_000] * 3)
        self.assertEqual([v["state"] for v in self.versions()["versions"]], ["replaced", "replaced", "replaced", "in force"])
        self.assertEqual([v["number"] for v in self.versions("plans2")["versions"]], [4])
        self.assertIn("follows version 4", self.tool("versions", self.folder("plans2")))

    def test_away(self):
        """A node and its follower miss two versions; a node alone restarts, and its follower tells it its plan."""
        self.begin()
        self.kill(3)
        self.lab.stop("node3", self.nodes[3])
        self.publish(self.write_plan("b.yaml", "50Mbit/s"))
        self.publish(self.write_plan("c.yaml", "20Mbit/s"))
        self.followed(3, (1, 2))
        self.assertEqual([p["lacks"] for p in self.versions()["followers"]], [[], [], [3]])
        self.lab.start_node(3, self.configs[3])
        self.follow(3)
        self.followed(3)
        self.assertEqual(self.rate(3), 20_000_000)
        self.nodes[2].kill()
        self.nodes[2].wait()
        self.nodes[2] = self.lab.start_node(2, self.configs[2])
        wait_for(lambda: self.rate(2) == 20_000_000, 60)

    def test_kills(self):
        """A follower that is killed at any time, and an owner: each version is followed, whole."""
        self.begin()
        rng = random.Random(30)
        for number in range(2, 10):
            rate = number * 1_000_000
            self.publish(self.write_plan("next.yaml", f"{number}Mbit/s"))
            for _ in range(2):
                time.sleep(rng.random() * 1.5)
                self.kill(3)
                left = [name for name in os.listdir(self.folder("plans3")) if name.endswith(".cbor")]
                for name in left:
                    with open(os.path.join(self.folder("plans3"), name), "rb") as f, open(os.path.join(self.folder("plans"), name), "rb") as g:
                        self.assertEqual(f.read(), g.read(), name)
                self.follow(3)
            if number % 4 == 0:
                self.kill("owner")
                self.serve()
            self.followed(number)
            self.assertEqual(self.rate(3), rate)
        self.assertEqual([v["number"] for v in self.versions("plans3")["versions"]], [9])

    def test_refused(self):
        """What is of another source, damaged, old, repeated, no plan or another plan of the same number is counted, and changes nothing."""
        self.begin()
        shutil.rmtree(self.folder("plans") + ".away", ignore_errors=True)
        counts = lambda: self.versions("plans2")["counts"]  # noqa: E731
        forger = self.client(3, "ipn:3.99")
        good = b"contacts:\n  - {from: 1, to: 2, start: 2026-01-01T00:00:00Z, end: 2090-01-01T00:00:00Z, rate: 1Mbit/s, owlt: 1ms, both: yes}\n"
        for payload in (plan_message(2, good), b"garbage", b""):
            self.assertEqual(forger.request(f"ipn:2.{FOLLOWER}", payload)[:2], (aap2.SUCCESS, ""))
        wait_for(lambda: counts().get("wrong source") == 3)
        self.assertEqual(forger.request(f"ipn:1.{OWNER}", b"\x87")[:2], (aap2.SUCCESS, ""))
        wait_for(lambda: self.versions()["counts"].get("wrong source") == 1)
        # From here on the owner's endpoint itself is wrong: somebody else has it.
        self.lab.stop("owner", self.ends["owner"])
        owner, to = self.client(1, f"ipn:1.{OWNER}"), f"ipn:2.{FOLLOWER}"
        for payload in (b"", b"\x00" * 100, os.urandom(1000), plan_message(2, good)[:-1], plan_message(2, good) + b"\x00", plan_message(2, good, check=1),
                        plan_message(2, good).replace(b"\x87\x01", b"\x87\x02", 1)):
            self.assertEqual(owner.request(to, payload)[:2], (aap2.SUCCESS, ""))
        wait_for(lambda: counts().get("malformed") == 7)
        for number, contents, verdict in ((2, b"contacts: [", "no plan"), (2, good.replace(b"start: 2026-01-01T00:00:00Z", b"start: 2s"), "no plan"),
                                          (1, good, "conflict")):
            before = counts().get(verdict, 0)
            self.assertEqual(owner.request(to, plan_message(number, contents))[:2], (aap2.SUCCESS, ""))
            wait_for(lambda: counts().get(verdict, 0) == before + 1)  # noqa: B023
        self.assertEqual([v["number"] for v in self.versions("plans2")["versions"]], [1])
        self.assertEqual(self.rate(2), 100_000_000)
        # Reordered and repeated: 3 before 2.
        self.assertEqual(owner.request(to, plan_message(3, good))[:2], (aap2.SUCCESS, ""))
        wait_for(lambda: self.rate(2) == 1_000_000)
        for number in (2, 3):
            self.assertEqual(owner.request(to, plan_message(number, good))[:2], (aap2.SUCCESS, ""))
        wait_for(lambda: (counts().get("old"), counts().get("repeated", 0) >= 1) == (1, True))
        self.assertEqual([v["number"] for v in self.versions("plans2")["versions"]], [3])

    def test_bundles_under_way(self):
        """Versions follow each other while bundles are sent, and wait at node 2 for a later contact: each of them arrives once."""
        self.begin()
        rx, c, sent = self.client(3, "ipn:3.7", subscribe=True), self.client(1, "ipn:1.8"), 0
        for number in range(2, 8):
            late = number % 2 == 0
            self.publish(self.write_plan("next.yaml", f"{number * 10}Mbit/s", time.time() + 15 if late else None))
            self.followed(number, (1, 2))
            for _ in range(20):
                self.assertEqual(c.request("ipn:3.7", bytes([sent]) * 20_000)[:2], (aap2.SUCCESS, ""))
                sent += 1
            if late:
                wait_for(lambda: self.lab.control(2, "plan")["bundles_booked"] > 0)
            else:
                self.followed(number)
        got = sorted(rx.delivery()[1][0] for _ in range(sent))
        self.assertEqual(got, list(range(sent)))
        wait_for(lambda: all(self.lab.control(n, "counters")["agent"]["held"] == 0 for n in (1, 2, 3)))

    def test_group(self):
        """A version goes once to a group; each follower has it without a bundle of its own, but for the one that was away."""
        for n, links in ((1, ["to-2"]), (2, ["to-3"])):
            for link in links:
                self.lab.run("helioctl", "--socket", self.lab.socket(n) + ".ctl", "--timeout", "60s", "route", "add", f"imc:5.{FOLLOWER}", link)
        self.serve("--group", f"imc:5.{FOLLOWER}", "--again", "1h", "--pause", "3s")
        for n in (1, 2, 3):
            self.follow(n, "--group", f"imc:5.{FOLLOWER}", "--ask", "1h")
        wait_for(lambda: all(p["heard"] for p in self.versions().get("followers", [{"heard": False}])))
        self.publish(self.write_plan("a.yaml"))
        self.followed(1)
        self.kill(3)
        self.publish(self.write_plan("b.yaml", "50Mbit/s"))
        self.followed(2, (1, 2))
        self.assertEqual([p["pushes"] for p in self.versions()["followers"]], [0, 0, 0])
        self.follow(3)
        self.followed(2)
        self.assertEqual([p["pushes"] for p in self.versions()["followers"]], [0, 0, 1])

    def test_long_plan(self):
        """A plan of some megabytes."""
        self.begin()
        self.publish(self.write_long_plan())
        self.followed(2)
        self.assertEqual([self.rate(n) for n in (1, 2, 3)], [30_000_000] * 3)
        self.assertGreater(self.versions("plans3")["versions"][0]["bytes"], 3_000_000)

    def test_too_long(self):
        """A bundle that is longer than each message stops nobody."""
        self.begin()
        forger = self.client(3, "ipn:3.99")
        for to in (f"ipn:2.{FOLLOWER}", f"ipn:1.{OWNER}"):
            self.assertEqual(forger.request(to, bytes((16 << 20) + 65))[:2], (aap2.SUCCESS, ""))
        wait_for(lambda: [self.versions(name)["counts"].get("wrong source") for name in ("plans", "plans2")] == [1, 1])
        self.publish(self.write_plan("b.yaml", "50Mbit/s"))
        self.followed(2)

    def test_no_memory(self):
        """A follower without memory for a moment gets the version later; it does not say that it is no plan."""
        with open(self.lab.program("helio-plan"), "rb") as f:
            if b"__asan_init" in f.read():
                self.skipTest("a sanitizer ends a process without memory")
        self.begin()
        pid = self.ends[2].pid
        with open(f"/proc/{pid}/statm", encoding="ascii") as f:
            space = int(f.read().split()[0]) * resource.getpagesize() + (30 << 20)
        resource.prlimit(pid, resource.RLIMIT_AS, (space, resource.RLIM_INFINITY))
        self.publish(self.write_long_plan())
        wait_for(lambda: self.versions("plans2")["counts"].get("not stored"))
        resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.followed(2)
        self.assertNotIn("no plan", self.versions("plans2")["counts"])

    def test_node_takes_nothing(self):
        """Versions do not pile up while a node takes none; a version whose file is damaged comes again."""
        self.serve()
        self.follow(2, "--control", self.lab.path("nobody"))
        for number in range(1, 31):
            self.publish(self.write_plan("next.yaml", f"{number}Mbit/s"))
            time.sleep(0.1)
        wait_for(lambda: [v["number"] for v in self.versions("plans2")["versions"]] == [30])
        self.kill(2)
        self.follow(2)
        self.followed(30, (2,))
        self.assertEqual(self.rate(2), 30_000_000)
        effect = time.time() + 6
        self.publish(self.write_plan("next.yaml", "31Mbit/s"), "--effect", date(effect))
        path = os.path.join(self.folder("plans2"), "plan-31.cbor")
        wait_for(lambda: os.path.exists(path), 5)
        with open(path, "r+b") as f:
            f.seek(100)
            f.write(b"X")
        self.followed(31, (2,))
        self.assertEqual(self.rate(2), 31_000_000)

    def test_group_is_taken(self):
        """Another application receives for the group: the follower says so once, and gets the version by itself."""
        other = self.client(2, f"imc:5.{FOLLOWER}", subscribe=True)
        self.serve("--group", f"imc:5.{FOLLOWER}")
        self.follow(2, "--group", f"imc:5.{FOLLOWER}")
        self.publish(self.write_plan("a.yaml"))
        self.followed(1, (2,))
        time.sleep(3)
        with open(self.lab.path("follow2.log"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        self.assertEqual(sum("it is tried again every 10 s" in line for line in lines), 1, lines)
        self.assertLess(len(lines), 10, lines)
        other.close()
        self.publish(self.write_plan("b.yaml", "50Mbit/s"))
        self.followed(2, (2,))

    def test_old_folder(self):
        """An owner with an old copy of its folder: the next number is above all that followers have, and a conflict is shown."""
        self.begin()
        self.publish(self.write_plan("b.yaml", "50Mbit/s"))
        self.followed(2)
        self.lab.stop("owner", self.ends["owner"])
        folder = self.folder("plans")
        for name in ("plan-2.cbor", "state.json"):
            os.remove(os.path.join(folder, name))
        self.serve()
        self.followed(2)
        self.assertEqual(self.publish(self.write_plan("c.yaml", "20Mbit/s")), 3)
        self.followed(3)
        self.lab.stop("owner", self.ends["owner"])
        os.remove(os.path.join(folder, "plan-3.cbor"))
        self.publish(self.write_plan("d.yaml", "10Mbit/s"), "--number", "3")
        self.serve()
        wait_for(lambda: [p["conflicts"] for p in self.versions()["followers"]] == [[3]] * 3)
        self.assertEqual(self.tool("versions", folder).count("conflict: other contents under 3"), 3)
        # Its clock is wrong, or somebody forges its states: shown, and the next number is not moved by that.
        self.kill(2)
        forger = self.client(2, f"ipn:2.{FOLLOWER}")
        self.publish(self.write_plan("e.yaml"), "--effect", "1h")
        for applied in (4, 1 << 62):
            state = head(7, 4) + head(1) + head(2) + b"\xf4" + head(applied) + head(0, 4) + head(0) + head(0)
            self.assertEqual(forger.request(f"ipn:1.{OWNER}", state)[:2], (aap2.SUCCESS, ""))
            wait_for(lambda: self.versions()["followers"][1]["applied"] == applied)  # noqa: B023
            self.assertEqual(self.tool("versions", folder).count("before its time of effect"), applied == 4)
        self.assertEqual(self.publish(self.lab.path("e.yaml")), 5)

    def test_unreadable(self):
        """A version whose file cannot be read for a while is sent later."""
        self.begin()
        path = os.path.join(self.folder("plans"), "plan-2.cbor")
        os.symlink("nothing", path)
        time.sleep(3)
        self.tool("publish", self.folder("spare"), self.write_plan("b.yaml", "50Mbit/s"), "--number", 2)
        os.replace(os.path.join(self.folder("spare"), "plan-2.cbor"), path)
        self.followed(2)
        with open(self.lab.path("owner.log"), encoding="utf-8") as f:
            self.assertEqual(f.read().count("until it can be read"), 1)

    def test_node_hangs(self):
        """The follower ends when it is stopped, though its node does not answer."""
        self.begin()
        self.publish(self.write_plan("b.yaml", "50Mbit/s"), "--effect", "5s")
        wait_for(lambda: os.path.exists(os.path.join(self.folder("plans2"), "plan-2.cbor")), 4)
        os.kill(self.nodes[2].pid, signal.SIGSTOP)
        try:
            wait_for(lambda: self.versions("plans2")["in_force"] == 2)
            time.sleep(1)
            self.ends[2].terminate()
            self.assertEqual(self.ends[2].wait(10), 0)
        finally:
            os.kill(self.nodes[2].pid, signal.SIGCONT)

    def test_limits(self):
        folder = self.folder("plans")
        for _ in range(16):
            self.publish(self.write_plan("a.yaml"), "--effect", "1h")
        self.assertIn("16 versions wait for their time; at most 16 can", self.tool("publish", folder, self.lab.path("a.yaml"), "--effect", "1h", code=1))
        self.assertEqual(self.publish(self.lab.path("a.yaml")), 17)
        self.assertEqual([v["state"] for v in self.versions()["versions"]], ["replaced"] * 16 + ["in force"])
        self.assertIn("--number: 17 is not above 17", self.tool("publish", folder, self.lab.path("a.yaml"), "--number", 17, code=2))
        self.assertEqual(self.publish(self.lab.path("a.yaml"), "--number", 20), 20)
        self.assertIn("there is no such version", self.tool("rollback", folder, 19, code=2))
        self.zero -= 1_000_000
        past = self.publish(self.write_plan("past.yaml"))
        done = subprocess.run([self.lab.program("helio-plan"), "rollback", folder, str(past)], capture_output=True, text=True, timeout=300, check=True)
        self.assertIn("all contacts are in the past, since", done.stderr)
        self.zero += 1_000_000
        self.assertIn("times without a date", self.tool("publish", folder, os.path.join(os.path.dirname(__file__), "../../examples/plan.yaml"), code=2))
        for number in range(23, 88):
            self.publish(self.lab.path("a.yaml"), "--number", str(number))
        self.serve()
        wait_for(lambda: [v["number"] for v in self.versions()["versions"]] == list(range(23, 88)))
        with open(os.path.join(folder, "plan-87.cbor"), "r+b") as f:
            f.seek(100)
            f.write(b"X")
        self.assertEqual([v["state"] for v in self.versions()["versions"]][-2:], ["in force", "damaged"])
        self.assertIn("it is damaged", self.tool("rollback", folder, 87, code=2))


if __name__ == "__main__":
    node_case.main("PlanServiceTest")
