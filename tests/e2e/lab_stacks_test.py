#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab: nodes of other stacks. What is derived for them is read by other parsers of these formats and compared; a node that is a
program of the test's own runs in a lab. usage: lab_stacks_test.py BIN SOURCE live|netns [TEST...]"""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import lab_test
from lab_test import BIN, SOURCE, Folder, lab, made

from heliograph import places, programs  # noqa: E402
from heliograph.lab import check as lab_check, stack_files as lab_stack_files, stacks as lab_stacks  # noqa: E402
from heliograph.stacks import kinds as stacks  # noqa: E402

programs.PLACE = str(BIN)
ECHO = SOURCE / "examples/stacks/echo.yaml"


def derived(text, folder, mode="local"):
    """The lab's files in the folder; what is derived."""
    out, _, _ = lab_check.derive(made(text), mode, str(folder))
    lab_check.lab_derive.write(out)
    return out


class Formats(Folder):
    def imported(self, *files):
        """The configuration of heliod that helio-plan makes of a stack's files, which heliod accepts."""
        path = self.folder / "imported.yaml"
        done = subprocess.run([BIN / "helio-plan", "import", *files, "-o", path], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("left out: its words", done.stderr)
        self.assertNotIn("not understood", done.stderr)
        done = subprocess.run([BIN / "heliod", "--check", path], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + path.read_text(encoding="utf-8"))
        return places.plain(places.read(str(path)))

    def contacts(self, path):
        """(from, to, bytes a second) of a plan in any form."""
        done = subprocess.run([BIN / "helio-plan", "convert", path, "--to", "ion"], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("a contact")]
        return {(a, b, int(rate)) for _, _, _, _, a, b, rate in lines if a != b}

    LAB = ("nodes: {{earth: {{number: 1}}, moon: {{number: 2, kind: {kind}}}, mars: {{number: 3}}}}\n"
           "links:\n  moon-earth: {{adapter: {adapter}, rate: 10Mbit/s, {more}}}\n  earth-mars: {{rate: 1Mbit/s}}\n")
    TWO = "nodes: {{a: {{kind: {kind}}}, b: {{}}, c: {{}}}}\nlink: {{adapter: {adapter}, channel: no}}\nlinks: {{a-b: {{}}, a-c: {{}}}}\n"

    def compare(self, kind, adapter, files):
        """The link of the imported node is the one that the lab has for it, and meets that of its neighbour."""
        more = "sessions: 30, segment: 1300B, delay: 5ms" if adapter == "ltp-udp" else "delay: 5ms" if adapter == "udp" else "channel: no"
        out = derived(self.LAB.format(kind=kind, adapter=adapter, more=more), self.folder)
        one = out.stacks["moon"]
        found = self.imported(*(Path(one.node.folder) / name for name in files))
        self.assertEqual((found["node"], len(found["links"])), ("ipn:2.0", 1))
        link, wanted = found["links"][0], one.node.neighbours[0]
        self.assertEqual((link["adapter"], link["peer"], link["remote"]), (adapter, "ipn:1.0", wanted.remote))
        if adapter != "tcpcl":  # which connects
            self.assertEqual(link["local"].rpartition(":")[2], wanted.local.rpartition(":")[2])
        if adapter == "ltp-udp":
            self.assertEqual((link["sessions"], link["segment"], link.get("peer_engine", "1")), ("30", "1300B" if kind == "ion" else "1276B", "1"))
        ours = next(link for link in places.plain(places.read(out.nodes["earth"]))["links"] if link["peer"] == "ipn:2.0")
        if "channel" in more:
            self.assertEqual(ours["local"], wanted.remote)
        else:  # the emulator is between
            self.assertEqual(ours["remote"], wanted.remote)
            self.assertNotEqual(ours["local"], wanted.remote)
        return found, out

    def lines(self, kind, adapter):
        """All files of a node with two links, and its neighbours."""
        one = derived(self.TWO.format(kind=kind, adapter=adapter), self.folder).stacks["a"]
        return {line.strip() for text in one.files.values() for line in text.splitlines()}, one.node.neighbours

    def test_ion(self):
        for adapter in stacks.ADAPTERS["ion"]:
            files = ["node.ionrc", "contacts.ionrc", *(["node.ltprc"] if adapter == "ltp-udp" else []), "node.bprc", "node.ipnrc"]
            with self.subTest(adapter=adapter):
                found, out = self.compare("ion", adapter, files)
                self.assertEqual(found["routes"], [{"to": "ipn:3.*", "via": found["links"][0]["name"]}])
                self.assertTrue(found["plan"].endswith("/contacts.ionrc"))
                self.assertEqual(self.contacts(Path(out.stacks["moon"].node.folder) / "contacts.ionrc"), self.contacts(out.contacts))
        lines, (b, c) = self.lines("ion", "ltp-udp")
        self.assertLessEqual({f"a span 2 100 100 1024 1 1 'udplso {b.remote}'", f"a span 3 100 100 1024 1 1 'udplso {c.remote}'", f"a seat 'udplsi {c.local}'", f"s 'udplsi {b.local}'",
                              "a plan 2 ltp/2", "a plan 3 ltp/3"}, lines)
        for adapter in ("udp", "stcp"):
            lines, near = self.lines("ion", adapter)
            for one in near:
                self.assertLessEqual({f"a induct {adapter} {one.local} {adapter}cli", f"a outduct {adapter} {one.remote} {adapter}clo", f"a plan {one.number} {adapter}/{one.remote}"}, lines)

    def test_hdtn(self):
        for adapter in stacks.ADAPTERS["hdtn"]:
            with self.subTest(adapter=adapter):
                _, out = self.compare("hdtn", adapter, ["hdtn.json"])
                folder = Path(out.stacks["moon"].node.folder)
                self.assertEqual(self.contacts(folder / "contacts.json"), self.contacts(out.contacts))
                keys = json.loads((folder / "hdtn.json").read_text(encoding="utf-8"))
                self.assertNotEqual(keys["zmqBoundRouterPubSubPortPath"], keys["zmqBoundTelemApiPortPath"])
        for adapter in stacks.ADAPTERS["hdtn"]:
            lines, near = self.lines("hdtn", adapter)
            for one in near:
                self.assertIn(f'"remotePort": {one.remote.rpartition(":")[2]},', lines)
                self.assertEqual(f'"boundPort": {one.local.rpartition(":")[2]},' in lines, adapter != "tcpcl", "it opens the connection of TCPCL")

    def test_contacts_of_the_channels(self):
        """ION knows when the channel is open, as our nodes do."""
        text = "nodes: {a: {kind: ion}, b: {}}\nlinks: {a-b: {rate: 8Mbit/s, delay: 2s, contacts: [{from: 5s, to: 65s}]}}\n"
        out = derived(text, self.folder)
        lines = (Path(out.stacks["a"].node.folder) / "contacts.ionrc").read_text(encoding="utf-8").splitlines()
        begin, end = (subprocess.run(["date", "-u", "-d", out.configs[out.contacts][0].lines[1].split(" ", 1)[1].strip('"') + f" + {s} seconds", "+%Y/%m/%d-%H:%M:%S"],
                                     capture_output=True, text=True, check=True).stdout.strip() for s in (5, 65))
        self.assertIn(f"a contact {begin} {end} 1 2 1000000", lines)
        self.assertIn(f"a contact {begin} {end} 2 1 1000000", lines)
        self.assertTrue(any(line.startswith("a range ") and line.endswith(" 1 2 2") for line in lines), lines)

    def test_dtn7(self):
        tomllib = __import__("tomllib" if sys.version_info >= (3, 11) else "tomli")
        out = derived("nodes: {a: {kind: dtn7-rs, services: [in, 9]}, b: {node: 'dtn://b/'}, c: {}}\n"
                      "links: {b-a: {adapter: tcpcl, channel: no}, a-c: {adapter: udp, delay: 1ms}}\n", self.folder)
        one = out.stacks["a"]
        found = tomllib.loads((Path(one.node.folder) / "dtnd.toml").read_text(encoding="utf-8"))
        by_name = {near.name: near for near in one.node.neighbours}
        self.assertEqual((found["nodeid"], found["endpoints"]["local"]), ("1", {"0": "in", "1": "9"}))
        self.assertEqual(found["statics"]["peers"], [f"tcp://{by_name['b'].remote}/b", f"udp://{by_name['c'].remote}/3"])
        self.assertEqual([f"{cla['bind']}:{cla['port']}" for cla in found["convergencylayers"]["cla"].values()], [by_name["b"].local, by_name["c"].local])
        self.assertEqual((Path(one.node.folder) / "routes").read_text(encoding="utf-8"), "1 ** dtn://b/** dtn://b/\n2 ** ipn:3.* ipn:3.0\n")
        ours = {name: places.plain(places.read(path))["links"][0] for name, path in out.nodes.items()}
        self.assertEqual(ours["b"]["local"], by_name["b"].remote, "a node of heliod listens, since dtn7-rs sends over its own connections alone")
        self.assertNotIn("remote", ours["b"])
        self.assertEqual(ours["c"]["mtu"], "65535B", "it joins no fragments")

    def test_ud3tn(self):
        out = derived("nodes: {a: {kind: ud3tn}, b: {}, c: {}}\nlinks: {a-b: {adapter: mtcp}, b-c: {}}\n", self.folder)
        one = out.stacks["a"]
        lines = (Path(one.node.folder) / "node.sh").read_text(encoding="utf-8").splitlines()
        daemon = shlex.split(next(line for line in lines if line.startswith("ud3tn ")).rstrip(" &"))
        contact = shlex.split(next(line for line in lines if line.startswith("aap2-config ")))
        near = one.node.neighbours[0]
        self.assertEqual(daemon, ["ud3tn", "-e", "ipn:1.0", "-c", "mtcp:" + near.local.replace(":", ","), "-s", "aap.socket", "-S", one.node.socket])
        self.assertEqual(contact[-2:], ["ipn:2.0", f"mtcp:{near.remote}"])
        self.assertEqual(contact[contact.index("--reaches") + 1], "ipn:3.0")
        ours = places.plain(places.read(out.nodes["b"]))["links"][0]
        self.assertEqual((ours["local"], ours["remote"]), (near.remote, near.local))

    def test_scripts_are_shell(self):
        folder = self.folder / "a folder's"
        folder.mkdir()
        out = derived(self.TWO.format(kind="ion", adapter="ltp-udp"), folder)
        subprocess.run(["sh", "-n", Path(out.stacks["a"].node.folder) / "node.sh"], check=True)

    def test_a_contact_without_a_rate(self):
        """ION has no contacts without one."""
        out = derived("nodes: {a: {kind: ion}, b: {}}\nlinks: {a-b: {adapter: stcp, channel: no}}\n", self.folder)
        self.assertEqual(self.contacts(Path(out.stacks["a"].node.folder) / "contacts.ionrc"), {("1", "2", 125000000), ("2", "1", 125000000)})

    def test_ion_without_echo(self):
        text = "nodes: {a: {kind: ion, ping: %s}, b: {}}\nlinks: {a-b: {channel: no}}\n"
        for word, wanted in (("yes", True), ("no", False)):
            one = derived(text % word, self.folder).stacks["a"]
            self.assertEqual(("bpecho ipn:1.128 &" in (Path(one.node.folder) / "node.sh").read_text(encoding="utf-8"), "bpecho" in one.plan.programs), (wanted, wanted))

    def test_names_in_commands_and_files(self):
        (self.folder / "own.in").write_text("{local_port:b} {remote:c} {node} {unknown} ${folder} {\"json\": {}}\n", encoding="utf-8")
        text = (f"nodes: {{a: {{kind: command, command: 'x --at {{local:b}} {{folder}}/own {{port_1}}', files: {{own: {self.folder}/own.in}}, stop: KILL, ready_within: 3s}}, b: {{}}, c: {{}}}}\n"
                "links: {a-b: {channel: no}, a-c: {channel: no}}\n")
        one = derived(text, self.folder).stacks["a"]
        b, c = one.node.neighbours
        self.assertEqual(one.plan.command, ("x", "--at", b.local, f"{one.node.folder}/own", str(one.node.ports[0])))
        self.assertEqual((one.plan.stop, one.plan.ready_within), ("KILL", "3s"))
        self.assertEqual((Path(one.node.folder) / "own").read_text(encoding="utf-8"),
                         f"{b.local.rpartition(':')[2]} {c.remote} ipn:1.0 {{unknown}} ${{folder}} {{\"json\": {{}}}}\n")

    def test_a_file_of_the_lab_replaces_a_derived_one(self):
        (self.folder / "ltprc").write_text("1 7\n", encoding="utf-8")
        one = derived(f"nodes: {{a: {{kind: ion, files: {{node.ltprc: {self.folder}/ltprc}}}}, b: {{}}}}\nlinks: {{a-b: {{channel: no}}}}\n", self.folder).stacks["a"]
        self.assertEqual((Path(one.node.folder) / "node.ltprc").read_text(encoding="utf-8"), "1 7\n")

    def test_files_are_shown(self):
        file = self.file("nodes: {a: {kind: ion}, b: {}}\nlinks: {a-b: {rate: 1Mbit/s, delay: 5ms}}\n")
        said = lab(file, "files", "a").stdout
        for words in ("==> OUT/node1/node.ltprc <==\n", "\na span 2 100 100 1024 1 1 'udplso 127.0.0.1:", "==> command of a <==\nsh OUT/node1/node.sh start\n"):
            self.assertIn(words, said)
        self.assertNotIn("node2.yaml", said)
        said = lab(file, "files", "b").stdout
        self.assertIn("==> OUT/node2.yaml <==\n", said)
        self.assertIn("heliod OUT/node2.yaml\n", said)
        said = lab(file, "files").stdout
        for name in ("node2.yaml", "link-a-b.yaml", "node1/node.bprc"):
            self.assertIn(f"==> OUT/{name} <==\n", said)
        self.assertIn("did you mean", lab(self.file("nodes: {moon: {}, mars: {}}\n", "x.yaml"), "files", "mon", code=2).stderr)
        self.assertIn("10.80.0.1:1113", lab(file, "files", "a", "--mode", "netns").stdout)


class Errors(Folder):
    def test_what_such_nodes_cannot_do(self):
        two = "nodes:\n  a: {}\n  b: {kind: %s}\nlinks:\n  a-b: {%s}\n"
        for text, *wanted in (
                ("nodes:\n  a: {}\n  b: {kind: dtn7_rs}\n", ":3: nodes.b.kind: \"dtn7_rs\" is no kind of node; did you mean dtn7-rs?"),
                ("nodes:\n  a: {}\n  b: {kind: dtn7}\n", ":3: nodes.b.kind: \"dtn7\" is no kind of node; did you mean dtn7-rs?"),
                ("nodes:\n  a: {kind: command}\n", ":2: nodes.a: command: is missing"),
                ("nodes:\n  a: {kind: ion, store: x}\n", ":2: nodes.a.store: a node of kind ion has no such key"),
                ("nodes:\n  a: {kind: ion, stop: HUP}\n", ":2: nodes.a.stop: \"HUP\" is none of INT, TERM"),
                ("nodes:\n  a: {kind: ion, ready_within: 5}\n", ":2: nodes.a.ready_within: \"5\" is no duration"),
                ("nodes:\n  a: {kind: ion, files: {x: gone}}\n", ":2: nodes.a.files.x: there is no file"),
                ("nodes:\n  a: {kind: command, command: \"x {nothing}\"}\n", ":2: nodes.a.command: there is no {nothing}; there are name, number"),
                ("nodes:\n  a: {kind: command, command: \"x 'y\"}\n", ":2: nodes.a.command: \"x 'y\": no closing quotation; quotes have two ends"),
                (two % ("ion", "adapter: tcpcl"), ":5: links.a-b.adapter: b is of kind ion, which has no tcpcl; it has ltp-udp, udp, stcp"),
                (two % ("hdtn", "adapter: mtcp"), ":5: links.a-b.adapter: b is of kind hdtn, which has no mtcp"),
                (two % ("dtn7-rs", ""), ":5: links.a-b", "dtn7-rs, which has no ltp-udp; it has udp, tcpcl, mtcp"),
                (two % ("ion", "erasure: rs"), ":5: links.a-b.erasure: b is of kind ion, which has no erasure"),
                (two % ("ion", "frames: aos"), ":5: links.a-b.frames: b is of kind ion, which has no frames"),
                (two % ("ion", "ends: {b: {rto: 5s}}"), ":5: links.a-b.ends.b.rto: b is of kind ion; of its end segment, sessions and rate can be set"),
                (two % ("ion", "delay: 5ms"), ":5: links.a-b: b is of kind ion, which sends from another port", "name the link b-a, or take --mode netns"),
                (two.replace("a: {}", "a: {kind: ion}") % ("ion", "delay: 5ms"), ":5: links.a-b: b is of kind ion", "take --mode netns, or channel: no"),
                (two.replace("a: {}", "a: {node: 'dtn://a/'}") % ("hdtn", "adapter: udp"), ":2: nodes.a.node: b is of kind hdtn, which knows ipn numbers only"),
                ("nodes: {a: {}, b: {kind: ud3tn}, c: {}}\nlink: {adapter: mtcp}\nlinks: {a-b: {}, b-c: {}}\n", ":1: nodes.b: kind ud3tn listens at one address"),
                (two % ("ion", "") + "traffic:\n  - {perf: a-b}\n", ":7: traffic.0.perf: b is of kind ion, and helio-perf runs at nodes of heliod; write run: b"),
                (two % ("ion", "") + "traffic:\n  - {ping: b-a}\n", ":7: traffic.0.ping: b is of kind ion, and helio-ping runs"),
                (two % ("ud3tn", "adapter: mtcp") + "traffic:\n  - {ping: a-b}\n", ":7: traffic.0.ping: b is of kind ud3tn, which answers no ping; if it does, write ping: yes"),
                (two.replace("a: {}", "a: {kind: ion}") % ("ion", "") + "events:\n  - {at: 1s, link: a-b, do: down}\n", ":7: events: a-b: do: down is of an end at heliod"),
                (two % ("ion", "") + "events:\n  - {at: 1s, link: a-b, set: {ends.b.sessions: 3}}\n", ":7: events set: ends.b.sessions: a node of kind ion cannot be changed")):
            file = self.file(text)
            said = lab(file, "check", code=2).stderr
            for words in (str(file) + wanted[0], *wanted[1:]):
                self.assertIn(words, said, text)
            self.assertNotIn("Traceback", said)

    def test_right_ones(self):
        for text in ("nodes: {a: {}, b: {kind: ion}}\nlinks: {b-a: {delay: 5ms, rate: 1Mbit/s}}\ntraffic: [{ping: a-b}]\n", "nodes: {a: {}, b: {kind: hdtn}}\nlinks: {a-b: {adapter: tcpcl}}\n",
                     "nodes: {a: {kind: heliod}, b: {}}\nlinks: {a-b: {}}\n", "node: {store: {durability: none}}\nnodes: {a: {}, b: {kind: ion}}\nlinks: {b-a: {}}\n",
                     "line: [a, b]\nnode: {kind: ion}\nlink: {channel: no}\n",
                     "node: {bin: /x, services: [3], echo: off}\nnodes: {a: {}, b: {kind: ion}, c: {kind: heliod}}\nlinks: {b-a: {}, b-c: {}}\n"):
            lab(self.file(text), "check")

    def test_not_in_virtual_time(self):
        file = self.file("nodes:\n  a: {}\n  b: {kind: ion}\nlinks: {a-b: {}}\nduration: 5s\n")
        for command in (("check",), ("up", "--out", self.folder / "o")):
            self.assertIn(f"{file}:3: nodes.b.kind: a node of kind ion is a real process; mode sim has none; take --mode local", lab(file, *command, "--mode", "sim", code=2).stderr)

    def test_a_program_that_is_not_installed(self):
        """It is reported before anything starts; check warns."""
        file = self.file("nodes:\n  a: {}\n  b: {kind: command, command: no-such-program, bin: here}\n  c: {kind: hdtn}\nlinks: {a-b: {channel: no}, a-c: {channel: no}}\n")
        said = lab(file, "up", "--out", self.folder / "out", code=1).stderr
        self.assertIn(f"helio-lab: {file}:3: nodes.b: kind command needs no-such-program: neither in {self.folder}/here nor in PATH", said)
        self.assertIn(f"{file}:4: nodes.c: kind hdtn needs hdtn-one-process: not in PATH; bin: names its folder", said)
        self.assertEqual([path.name for path in (self.folder / "out").glob("*.log")], [])
        self.assertIn("WARNING: nodes.c: kind hdtn needs hdtn-one-process", lab(file, "check").stderr)


class Running(Folder):
    start, processes = lab_test.Live.start, lab_test.Live.processes

    def status(self, file, name):
        return json.loads(lab(file, "status", "--json").stdout)["nodes"][name]

    def until(self, what, seconds=120):
        give_up = time.monotonic() + seconds
        while not (found := what()):
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.1)
        return found

    def test_the_example(self):
        """Five bundles there and back through the emulated channel."""
        result = self.up(ECHO, mode="local")
        self.assertEqual((result["traffic"]["ping-1"]["received"], result["failed"]), (5, []))
        self.assertGreater(result["traffic"]["ping-1"]["rtt_ms"]["mean"], 40.0)
        self.assertEqual(result["channels"]["earth-rover"]["return"]["out"], 5)
        self.assertEqual((result["nodes"]["rover"]["kind"], result["nodes"]["rover"]["state"]), ("command", "running"))
        self.assertRegex(result["nodes"]["rover"]["last"], r"64 bytes from ipn:1\.\d+ sent back")
        self.assertEqual(self.processes(), [])

    def test_a_container(self, mode="local"):
        """Without podman here: a stand-in takes its words, and starts what the image would."""
        engine = self.folder / "bin/podman"
        engine.parent.mkdir()
        engine.write_text("#!/bin/sh\nset -e\n[ \"$1 $2 $3 $4 $5 $6 $7 $8\" = 'run --rm --init --network host --user 0 -v' ]\n"
                          f"[ \"$9\" = \"$PWD:$PWD\" ]\nshift 9\n[ \"$1\" = heliograph ]\nshift\nexec {BIN}/heliod \"$@\"\n", encoding="ascii")
        engine.chmod(0o755)
        file = SOURCE / "examples/stacks/container.yaml"
        if not shutil.which("podman"):
            self.assertIn("nodes.rover: kind command needs podman: not in PATH", lab(file, "up", "--mode", mode, "--out", self.folder / "none", code=1).stderr)
        result = self.up(file, "--set", f"nodes.rover.bin={engine.parent}", mode=mode)
        self.assertEqual((result["traffic"]["ping-1"]["received"], result["failed"], result["nodes"]["rover"]["kind"]), (5, [], "command"))
        self.assertGreaterEqual(result["channels"]["earth-rover"]["return"]["out"], 5)
        self.assertEqual(self.processes(), [])

    def test_the_page_has_the_example(self):
        page = (SOURCE / "docs/helio-lab.md").read_text(encoding="utf-8")
        self.assertIn("```yaml\n" + ECHO.read_text(encoding="utf-8").partition("\n")[2] + "```\n", page)
        for kind in stacks.KINDS:
            self.assertIn(f"| `{kind}` | ", page)
        for key in (key for key in lab_stacks.KEYS if key != "kind"):
            self.assertRegex(page, rf"(?m)^\|[^|]*`{key}`[^|]*\| ", key)
        for adapters in stacks.ADAPTERS.values():
            self.assertIn(f"| {', '.join(f'`{adapter}`' for adapter in adapters)} |\n", page)

    def test_by_hand(self):
        text = ECHO.read_text(encoding="utf-8")
        file = self.file(re.sub("traffic: .*", "duration: 1h", text.replace("echo.py: echo.py", f"echo.py: {SOURCE}/examples/stacks/echo.py")))
        self.start(file)
        self.assertRegex(lab(file, "status").stdout, r"rover +command: running; ipn:2.0 listens at 127.0.0.1:\d+\n")
        self.assertIn("ipn:2.128", lab(file, "exec", "earth", "helio-ping", "rover", "-c", "2", "-i", "100ms").stdout)
        self.assertEqual(lab(file, "logs", "rover").stdout.count("sent back"), 2)
        self.assertIn("node2 (rover)\n", lab(file, "logs").stdout)
        folder = self.folder / "out/node2"
        self.assertEqual(lab(file, "exec", "rover", "echo", "{folder}", "{node}").stdout, f"{folder} rover\n")
        self.assertEqual(lab(file, "exec", "rover", "sh", "-c", "command -v helio-bundle").stdout.strip(), str(BIN / "helio-bundle"))
        lab(file, "link", "earth-rover", "down")
        self.assertRegex(lab(file, "status").stdout, r"earth +to-rover +down")
        lab(file, "link", "earth-rover", "up")
        lab(file, "link", "earth-rover", "set", "rate=2Mbit/s")
        os.kill(self.status(file, "rover")["pid"], signal.SIGKILL)
        self.until(lambda: self.status(file, "rover")["state"] == "ended")
        self.assertIn("rover      command: ended with code -9; ", lab(file, "status").stdout)
        lab(file, "down")
        self.assertEqual(self.result(self.folder / "out")["failed"], ["rover"])
        self.assertEqual(self.processes(), [])

    def test_it_ends_with_all_that_it_started(self):
        """Also what does not end by a signal; the stop command comes first."""
        file = self.file("nodes:\n  a: {}\n  b:\n    kind: command\n    command: sh -c 'trap \"\" TERM; sleep 1000 {folder} & echo up; wait; sleep 1000'\n"
                         "    ready: up\n    stop_command: sh -c 'echo the stop command >&2'\n    stop_within: 300ms\n  c:\n    kind: command\n    command: 'true'\nduration: 1s\n")
        result = self.up(file, mode="local")
        self.assertEqual((result["nodes"]["b"]["state"], result["nodes"]["c"]["state"], result["nodes"]["c"]["code"], result["failed"]), ("running", "ended", 0, []))
        self.assertIn("the stop command", (self.folder / "out/node2.log").read_text(encoding="utf-8"))
        self.assertEqual(self.processes(), [])

    def test_not_ready(self):
        for command, said in (("sh -c 'echo sorry; exit 3'", "ended with code 3 before it was ready:\n    sorry\n"), ("sleep 1000", "was not ready within 300ms; `ready` is \"never\"")):
            file = self.file(f"nodes:\n  a: {{}}\n  b: {{kind: command, command: {json.dumps(command)}, ready: never, ready_within: 300ms}}\n")
            self.assertIn(f"{file}:3: nodes.b: {said}", lab(file, "up", "--out", self.folder / f"out{len(said)}", code=1).stderr)
            self.assertEqual(self.processes(), [])

    def test_traffic_at_it(self):
        """`run` at such a node has its programs and values; `enter` is in front."""
        tool = self.folder / "tools"
        tool.mkdir()
        (tool / "own-tool").write_text("#!/bin/sh\necho own tool: $*\n", encoding="utf-8")
        (tool / "own-tool").chmod(0o755)
        file = self.file("nodes:\n  a: {}\n  b: {kind: command, command: sleep 1000, bin: tools, enter: env -- ENTERED=yes}\ntraffic:\n"
                         "  - {run: b, command: \"own-tool {node} {unknown}\"}\n  - {run: b, command: \"sh -c 'echo entered: $ENTERED'\"}\n".replace("env -- ", "env "))
        result = self.up(file, mode="local")
        self.assertEqual(result["failed"], [])
        self.assertEqual((self.folder / "out/run-1.log").read_text(encoding="utf-8"), "own tool: ipn:2.0 {unknown}\n")
        self.assertEqual((self.folder / "out/run-2.log").read_text(encoding="utf-8"), "entered: yes\n")


class Streams(Folder):
    """STCP and MTCP, which other stacks have, between nodes of heliod."""

    def test_both_ends_have_addresses(self):
        for adapter in ("stcp", "mtcp"):
            for mode, keys in (("local", "channel: no"), ("sim", "delay: 10ms")):
                with self.subTest(adapter=adapter, mode=mode):
                    file = self.file(f"line: 2\nlink: {{adapter: {adapter}, rate: 10Mbit/s, {keys}}}\ntraffic: [{{perf: 1-2, data: 500kB}}]\n")
                    result = self.up(file, mode=mode, out=f"{adapter}-{mode}")
                    self.assertEqual((result["traffic"]["perf-1"]["bundles_acked"], result["failed"]), (10, []))
            self.assertIn(f":2: links.1-2: {adapter} does not pass a relay", lab(file, "check", code=2).stderr)


class Spaces(Folder):
    """In network namespaces."""
    start, processes = lab_test.Live.start, lab_test.Live.processes

    def test_the_example(self):
        """In any order of the link's ends: a bridge knows them by their side."""
        result = self.up(ECHO, mode="netns")
        self.assertEqual((result["traffic"]["ping-1"]["received"], result["failed"]), (5, []))
        self.assertEqual(self.processes(), [])

    def test_a_container(self):
        Running.test_a_container(self, mode="netns")

    def test_commands_at_it(self):
        file = self.file("nodes:\n  a: {}\n  b: {kind: command, command: 'sh -c \"echo up; sleep 1000; : {local}\"', ready: up}\nlinks: {a-b: {rate: 1Mbit/s, adapter: udp}}\nduration: 1h\n")
        self.start(file, mode="netns")
        self.assertIn("10.80.0.2/24", lab(file, "exec", "b", "ip", "-br", "address").stdout)
        self.assertIn("b          command: running; up", lab(file, "status").stdout)
        lab(file, "down")
        self.assertEqual(self.processes(), [])


class Environment(Folder):
    def test_bin(self):
        for name in ("x/bin", "x/lib"):
            (self.folder / name).mkdir(parents=True)
        out = derived(f"nodes: {{a: {{kind: dtn7-rs, bin: {self.folder}/x/bin}}}}\n", self.folder)
        env = lab_stack_files.environment(out.stacks["a"])
        self.assertTrue(env["PATH"].startswith(f"{self.folder}/x/bin:"))
        self.assertEqual(env["LD_LIBRARY_PATH"].split(":")[0], f"{self.folder}/x/lib")
        self.assertEqual(env["DTN_WEB_PORT"], str(out.stacks["a"].node.ports[0]))
        self.assertEqual(lab_stacks.PORTS, len(out.stacks["a"].node.ports))


CASES = {"live": (Formats, Errors, Running, Streams, Environment), "netns": (Spaces,)}[lab_test.KIND]

if __name__ == "__main__":
    suite = unittest.TestSuite(test for case in CASES for test in unittest.defaultTestLoader.loadTestsFromTestCase(case)
                               if not sys.argv[4:] or test.id().split(".")[-1] in sys.argv[4:])
    raise SystemExit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
