# SPDX-License-Identifier: Apache-2.0
"""Links that come, change and go while traffic flows: nothing is lost. usage: links_test.py BIN OUT [TEST...]"""

import json
import signal
import socket
import subprocess
import threading

import aap2
import node_case
from node_case import NodeCase, wait_for


class LinksTest(NodeCase):
    def ctl(self, number, *words, code=0):
        p = subprocess.run([self.lab.program("helioctl"), "--socket", self.lab.socket(number) + ".ctl", "--timeout", "60s", *words],
                           capture_output=True, text=True, timeout=300)
        self.assertEqual(p.returncode, code, p.stdout + p.stderr)
        return p.stderr if code else p.stdout

    def links(self, number):
        return {link["name"]: link for link in json.loads(self.ctl(number, "--json", "links"))["links"]}

    def keys(self, peer, local, remote, **more):
        return [f"{k}={v}" for k, v in {"adapter": "ltp-udp", "peer": f"ipn:{peer}.0", "local": f"127.0.0.1:{local}",
                                        "remote": f"127.0.0.1:{remote}", "rto": "100ms", **more}.items()]

    def flow(self):
        """A sender and a receiver of numbered bundles: the numbers that came, in the order of coming, those that were
        sent, the event that ends it with one more, and the threads."""
        receiver, sender = self.client(2, "ipn:2.7", subscribe=True), self.client(1, "ipn:1.5")
        came, sent, enough, last = [], [], threading.Event(), threading.Event()

        def send():
            while not last.is_set():
                sent.append(len(sent))
                if enough.is_set():
                    last.set()
                self.assertEqual(sender.request("ipn:2.7", sent[-1].to_bytes(4, "big") + bytes(3000))[0], aap2.SUCCESS)

        def receive():
            while not last.is_set() or len(came) < len(sent):
                came.append(int.from_bytes(receiver.delivery()[1][:4], "big"))

        threads = [threading.Thread(target=f, daemon=True) for f in (send, receive)]
        for t in threads:
            t.start()
        return came, sent, enough, threads

    def test_while_traffic_flows(self):
        self.pair()
        p3, p4 = self.lab.udp_ports(2)
        came, sent, enough, threads = self.flow()
        wait_for(lambda: len(came) > 20)
        self.ctl(2, "link", "add", "back", *self.keys(1, p4, p3))
        self.ctl(1, "link", "add", "second", *self.keys(2, p3, p4, rate="2Mbit/s", sessions=4))
        wait_for(lambda: self.links(1)["second"]["up"])
        self.assertEqual(self.links(1)["second"]["rate_bps"], 2000000)
        self.ctl(1, "link", "set", "second", "rate=200Mbit/s", "sessions=32", "rto=80ms")
        second = self.links(1)["second"]
        self.assertEqual((second["rate_bps"], second["window"], second["rto_ns"]), (200000000, 32, 80000000))
        self.ctl(1, "link", "remove", "to-2")
        before = len(came)
        wait_for(lambda: len(came) > before + 100)
        self.assertEqual(list(self.links(1)), ["second"])
        self.assertGreater(self.links(1)["second"]["sent"], 0)
        ports = self.lab.udp_ports(1)[0]
        old = self.links(2)["to-1"]["local_port"]
        file = self.lab.path("again.yaml")
        with open(file, "w") as f:
            f.write(f"# the return direction\nadapter: ltp-udp\npeer: ipn:2.0\nlocal: 127.0.0.1:{ports}\n"
                    f"remote: 127.0.0.1:{old}\nrto: 100ms\n")
        self.ctl(1, "link", "add", "third", file)
        self.ctl(2, "link", "remove", "to-1")
        self.ctl(2, "link", "add", "to-1", *self.keys(1, old, ports))
        self.ctl(1, "link", "remove", "second")
        before = len(came)
        wait_for(lambda: len(came) > before + 100)
        enough.set()
        for t in threads:
            t.join(300)
            self.assertFalse(t.is_alive(), f"{len(came)} of {len(sent)}")
        self.assertEqual(sorted(came), sent)
        wait_for(lambda: json.loads(self.ctl(1, "--json", "status"))["bundles"] == 0)

    def test_nothing_waits_for_nobody(self):
        """What waits on the only link outlives it, and goes over the next one."""
        self.pair()
        self.ctl(1, "link", "to-2", "down")
        sender = self.client(1, "ipn:1.5")
        for i in range(20):
            self.assertEqual(sender.request("ipn:2.7", b"%d" % i)[0], aap2.SUCCESS)
        link = self.links(1)["to-2"]
        remote = self.links(2)["to-1"]["local_port"]
        self.ctl(1, "link", "remove", "to-2")
        self.assertEqual(json.loads(self.ctl(1, "--json", "status"))["bundles"], 20)
        self.assertEqual(self.links(1), {})
        self.assertIn("no link \"to-2\"; this node has no links", self.ctl(1, "link", "remove", "to-2", code=2))
        self.ctl(1, "link", "add", "to-2", *self.keys(2, link["local_port"], remote))
        receiver = self.client(2, "ipn:2.7", subscribe=True)
        self.assertEqual(sorted(int(receiver.delivery()[1]) for _ in range(20)), list(range(20)))

    def test_down_holds_for_the_next_bundle(self):
        """Both words lie before a node that had no processor: what comes after the operator's is not given to the link. And up again."""
        def words(*states):
            return b"".join(json.dumps({"cmd": "link", "name": "to-2", "state": state}).encode() + b"\n" for state in states)

        _, nodes = self.pair()
        tx = self.client(1, "ipn:1.5")
        with socket.socket(socket.AF_UNIX) as operator:
            operator.connect(self.lab.socket(1) + ".ctl")
            operator.sendall(words("up"))
            self.assertIn(b'"ok"', operator.recv(1000))
            nodes[1].send_signal(signal.SIGSTOP)
            wait_for(lambda: self.stopped(nodes[1].pid))
            operator.sendall(words("down"))
            tx.send(aap2.adu("ipn:2.7", b"x"))
            nodes[1].send_signal(signal.SIGCONT)
            self.assertEqual(tx.answer()[0], aap2.SUCCESS)
            self.assertEqual([b["state"] for b in self.lab.control(1, "bundles")["bundles"]], ["waiting"])
            operator.sendall(words("up", "down", "up"))  # faster than an adapter reports it
            self.assertEqual(self.client(2, "ipn:2.7", subscribe=True).delivery()[1], b"x")

    @staticmethod
    def stopped(pid):
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "T"

    def test_one_of_a_local_address(self):
        """Two links share socket and engine: one goes and comes back, the other never notices."""
        p1, p2, p3 = self.lab.udp_ports(3)
        at = {2: p2, 3: p3}
        self.lab.start_node(1, self.lab.write_node(1, [self.lab.link(n, p1, at[n], rto="500ms") for n in at], log=False))
        for n in at:
            self.lab.start_node(n, self.lab.write_node(n, [self.lab.link(1, at[n], p1, rto="500ms")], log=False))
        receivers = {n: self.client(n, f"ipn:{n}.7", subscribe=True) for n in at}
        came = {n: [] for n in at}

        def receive(n):
            while len(came[n]) < (400 if n == 3 else 320):
                came[n].append(int(receivers[n].delivery()[1][:8]))

        threads = [threading.Thread(target=receive, args=(n,), daemon=True) for n in at]
        for t in threads:
            t.start()
        sender = self.client(1, "ipn:1.5")
        for i in range(400):
            for n in at:
                answer = sender.request(f"ipn:{n}.7", b"%08d" % i + bytes(20000))[0]
                there = n == 3 or not 50 < i % 100 <= 70  # without the link there is no route
                self.assertEqual(answer == aap2.SUCCESS, there)
            if i % 100 == 50:
                self.ctl(1, "link", "remove", "to-2")
            if i % 100 == 70:
                self.ctl(1, "link", "add", "to-2", *self.keys(2, p1, p2, rto="500ms"))
        for t in threads:
            t.join(300)
        self.assertEqual(sorted(came[3]), list(range(400)))
        self.assertEqual(sorted(came[2]), [i for i in range(400) if not 50 < i % 100 <= 70])
        self.assertEqual(self.links(1)["to-3"]["failed"], 0)
        wait_for(lambda: json.loads(self.ctl(1, "--json", "status"))["bundles"] == 0)
        self.assertEqual(self.links(1)["to-2"]["sessions_open"], 0)

    def test_a_file_in_any_form(self):
        """A map in lines, in braces, as JSON; with comments before it, with or without the name."""
        self.pair()
        port, keys = self.links(1)["to-2"]["local_port"], dict(k.split("=", 1) for k in self.keys(3, *self.lab.udp_ports(2)))
        braces = ", ".join(f"{k}: {v}" for k, v in keys.items())
        forms = ("\n".join(f"{k}: {v}" for k, v in keys.items()), "# a comment\n\n  {" + braces + "}  # and one more\n",
                 json.dumps(keys), json.dumps({**keys, "name": "to-3"}, indent=1))
        for i, text in enumerate(forms):
            file = self.lab.path(f"form{i}.yaml")
            with open(file, "w") as f:
                f.write(text)
            self.ctl(1, "link", "add", "to-3", file)
            self.assertEqual(self.links(1)["to-3"]["peer"], "ipn:3.0", text)
            self.ctl(1, "link", "remove", "to-3")
        self.assertEqual(self.links(1)["to-2"]["local_port"], port)

    def test_keys_of_groups(self):
        """By whole names, by names alone, and as the map of a file."""
        self.pair()
        for words, profile in ((["recovery.peer_profile=hdtn"], "hdtn"), (["peer_profile=ion"], "ion"), (["recovery={peer_profile: plain}"], "plain"),
                               (["recovery={mode: own, copies: 2}", "recovery.peer_profile=heliograph"], "heliograph")):
            self.ctl(1, "link", "set", "to-2", *words)
            self.assertEqual(self.links(1)["to-2"]["peer_profile"], profile)
            keys = self.keys(3, *self.lab.udp_ports(2), **dict(word.split("=", 1) for word in words))
            self.ctl(1, "link", "add", "to-3", *keys)
            self.assertEqual(self.links(1)["to-3"]["peer_profile"], profile)
            self.ctl(1, "link", "remove", "to-3")
        for word, said in (("recovery={copis: 2}", "recovery.copis: unknown key; did you mean copies?"), ("recovery={copies: 2", "is not known; write one of"),
                           ("recovery={copies: 2}}", "not YAML"), ("limits={copies: 2}", "limits.copies: belongs under recovery: {copies: 2}")):
            self.assertIn(said, self.ctl(1, "link", "set", "to-2", word, code=2))
        self.ctl(1, "link", "set", "to-2", "merge_claims=yes")
        said = self.ctl(1, "link", "set", "to-2", "recovery=default", code=2)
        self.assertIn("recovery.copies: counts only with recovery: {mode: own}", said)
        back = said.strip().rsplit(": ", 1)[1].split()
        self.assertEqual(back, ["recovery=default", "copies=0", "merge_claims=no"])
        self.ctl(1, "link", "set", "to-2", *back)

    def test_what_is_wrong_is_said(self):
        self.pair()
        ports = self.lab.udp_ports(2)
        there = self.links(1)["to-2"]["local_port"]
        with open(self.lab.path("wrong.yaml"), "w", encoding="utf-8") as f:
            f.write("# a comment\nadapter: ltp-udp\npeer: ipn:2.0\nlocal: 127.0.0.1:1\nremote: 127.0.0.1:2\nrat: 1Mbit/s\n")
        for words, text, *code in (
                (["add", "to-2", *self.keys(2, *ports)], "there is a link to-2", 1),
                (["add", "x", *self.keys(2, *ports, rat="1Mbit/s")], "links[x].rat: unknown key; did you mean rate?"),
                (["add", "x", "adapter=telex", "peer=ipn:2.0"], "write one of: ltp-udp"),
                (["add", "x", *self.keys(1, *ports)], "ipn:1.0 is this node"),
                (["add", "x", *self.keys(2, *ports, peers=3)], "no peer identifies itself"),
                (["add", "bad name", *self.keys(2, *ports)], "links[bad name].name: write at most 64 letters, digits"),
                (["add", "x" * 65, *self.keys(2, *ports)], "write at most 64 letters, digits"),
                (["add", "x", *self.keys(2, *ports), "rto=1s"], "helioctl: links[x].rto: "),
                (["add", "x", self.lab.path("wrong.yaml")], "wrong.yaml:6: links[x].rat: unknown key; did you mean rate?"),
                (["add", "x", self.lab.path("nothing.yaml")], "nothing.yaml: cannot be read: No such file or directory"),
                (["add", "x", *self.keys(3, 1, ports[1])[:2], "local=192.0.2.1:1",
                  "remote=192.0.2.2:1", "rto=1s"], "cannot bind", 1),
                (["add", "x", "adapter=udp", "peer=ipn:3.0", f"local=127.0.0.1:{there}", "remote=127.0.0.1:9"],
                 "Address already in use; this node's link to-2 (ltp-udp) has that port", 1),
                (["set", "to-2", "rto=1s", "rate=1Mbit/s", "rto=2s"], "helioctl: links[to-2].rto: is written twice"),
                (["set", "to-2", "local=127.0.0.1:1"], "links[to-2].local: cannot change while the link is there"),
                (["set", "to-2", "peer=ipn:3.0"], "links[to-2].peer: cannot change while the link is there"),
                (["set", "to-2", "rtoo=1s"], "unknown key; did you mean rto?"),
                (["set", "to-2", "rto=1"], "links[to-2].rto: "),
                (["set", "to-2", "rto=10us"], "the retransmission timer is below 100us"),
                (["set", "nobody", "rto=1s"], "there is no link \"nobody\"; there are: to-2"),
                (["remove", "nobody"], "there is no link \"nobody\"; there are: to-2")):
            self.assertIn(text, self.ctl(1, "link", *words, code=code[0] if code else 2), words)
        for words in (["add", "x"], ["set", "x"], ["remove"], ["set", "x", "rate"], ["remove", "x", "y"]):
            self.assertIn("helioctl --help", self.ctl(1, "link", *words, code=2))
        self.assertEqual(list(self.links(1)), ["to-2"])
        self.assertEqual(self.links(1)["to-2"]["rto_ns"], 100000000)


if __name__ == "__main__":
    node_case.main("LinksTest")
