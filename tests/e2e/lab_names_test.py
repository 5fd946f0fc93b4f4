#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-lab: pictures of labs, names in place of numbers and endpoints, and what is left of a lab that was killed.

usage: lab_names_test.py BIN SOURCE live|netns
"""
import contextlib
import io
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

import lab_test
from lab_test import BIN, KIND, SOURCE, Folder, lab, made

from heliograph.lab import (  # noqa: E402
    cli as lab_cli, derive as lab_derive, file as lab_file, prompt as lab_prompt, result as lab_result,
    state as lab_state,
)


class Names(Folder):
    LAB = ("nodes: {src: {}, mid: {}, dst: {node: 'dtn://dst/'}}\nlinks:\n  src-mid: {rate: 20Mbit/s, delay: 5ms, forward: {trace: A}}\n"
           "  mid-dst: {adapter: tcpcl, channel: no}\n")

    def test_a_picture(self):
        file = self.file(self.LAB)
        said = lab(file, "graph").stdout
        for words in ('"src" [label="src\\nipn:1.0"];', '"dst" [label="dst\\ndtn://dst/"];', '"src" -- "mid" [label="→ 20Mbit/s, 5ms, trace A\\n← 20Mbit/s, 5ms"];',
                      '"mid" -- "dst" [label="tcpcl\\nno channel"];'):
            self.assertIn(words, said)
        self.assertEqual((said.count("{"), said.count("}"), said.count(" -- ")), (1, 1, 2))
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg"], input=said, capture_output=True, text=True, check=True)
        self.assertIn("← 1Mbit/s", lab(file, "graph", "--set", "links.src-mid.return.rate=1Mbit/s").stdout)
        for example in sorted((SOURCE / "examples").glob("lab-*.yaml")):
            picture = xml.etree.ElementTree.fromstring(lab(example, "graph", "--svg").stdout)
            drawn = lab_file.load(str(example))
            texts = {element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")}
            self.assertLessEqual(set(drawn.nodes), texts, example)
            self.assertEqual(len(list(picture.iter("{http://www.w3.org/2000/svg}path"))), len(drawn.links), example)
            places = {(e.get("cx"), e.get("cy")) for e in picture.iter("{http://www.w3.org/2000/svg}ellipse")}
            self.assertEqual(len(places), len(drawn.nodes), "no two nodes at one place")
        self.assertIn("wrong.yaml:1: ", lab(self.file("lnie: 2\n", "wrong.yaml"), "graph", code=2).stderr)

    def test_a_name_is_an_endpoint(self):
        """Where a program wants one; values of options and other words stay."""
        known = {"endpoints": lab_derive.endpoints(made("nodes: {2: {}, dst: {}}\nlinks: {2-dst: {}}\n"))}
        for words, wanted in (("helio-ping dst", "helio-ping ipn:1.128"), ("helio-ping -c 2 2", "helio-ping -c 2 ipn:2.128"), ("/x/helio-ping dst -c 2", "/x/helio-ping ipn:1.128 -c 2"),
                              ("helio-perf client -d dst -W 2", "helio-perf client -d ipn:1.2000 -W 2"), ("helio-perf client -n 2 -d ipn:2.7", "helio-perf client -n 2 -d ipn:2.7"),
                              ("helio-send dst dst", "helio-send ipn:1.2001 dst"), ("echo dst", "echo dst"), ("helioctl links", "helioctl links")):
            self.assertEqual(lab_cli.at_names(known, words.split()), wanted.split())

    def test_hops_have_names(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            lab_result.tell_hops({"hops": [{"from": "ipn:1.0", "to": "ipn:9.0", "bundles": 1, "time_ms": {"mean": 1.0, "p99": 2.0}}], "source_to_application_ms": None}, {"ipn:1.0": "src"})
        self.assertTrue(said.getvalue().startswith("hop src to ipn:9.0 "), said.getvalue())


class Terminal:
    """A program on a terminal of its own."""
    def __init__(self, *command, home):
        self.said = ""  # and not yet looked at
        self.pid, self.at = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", XDG_STATE_HOME=str(home))
            os.execv(command[0], [str(word) for word in command])

    def type(self, text):
        os.write(self.at, text.encode())

    def until(self, words, seconds=60):
        """What it says up to and with these words."""
        give_up = time.monotonic() + seconds
        while words not in self.said:
            assert time.monotonic() < give_up, (words, self.said)
            if select.select([self.at], [], [], 1)[0]:
                try:
                    self.said += os.read(self.at, 4096).decode(errors="replace")
                except OSError:
                    raise AssertionError(f"{words!r} is not in {self.said!r}, and it ended") from None
        before, _, self.said = self.said.partition(words)
        return before + words

    def interrupt(self, words):
        """Ctrl-C until it says that. One may come between Python's prompt and its waiting for a key, and be seen with the next key only."""
        for _ in range(20):
            self.type("\x03")
            with contextlib.suppress(AssertionError):
                self.until(words, 5)
                self.type("help\n")  # its answer is behind the prompts of further ones
                self.until("Ctrl-C ends a command")
                return self.until("lab> ")
        raise AssertionError(f"Ctrl-C does not lead to {words!r}")

    def end(self):
        """Its exit code."""
        with contextlib.suppress(OSError):
            while os.read(self.at, 4096):
                pass
        os.close(self.at)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Running(Folder):
    start, processes = lab_test.Live.start, lab_test.Live.processes

    def test_prompt_on_a_terminal(self):
        file = self.file("title: T\nline: [src, dst]\nlink: {rate: 20Mbit/s, delay: 2ms}\nduration: 1h\n")
        self.start(file)
        t = Terminal(BIN / "helio-lab", file, "prompt", home=self.folder)
        t.until("lab> ")
        t.type("stat\t\n")  # completed
        self.assertIn("status ", t.until("\nlab> "))
        t.type("nonsense")  # a line that is dropped
        t.until("nonsense")
        t.interrupt("^C")
        t.type("src helio-ping dst -c 1\n")
        self.assertIn("ipn:2.128", t.until("\nlab> "))
        t.type("src helio-ping dst\n")
        t.until("seq=1")
        t.interrupt("lab> ")  # ends the command alone
        t.type("status --watch\n")
        t.until("to-dst")
        t.interrupt("lab> ")
        t.type("set src-dst rat\t")
        t.until("rate=")
        t.type("5Mbit/s\n")
        t.until("\nlab> ")
        self.assertEqual(json.loads(lab(file, "exec", "src", "helioctl", "--json", "links").stdout)["links"][0]["rate_bps"], 5e6)
        for wrong, said in (("nowhere x", "no command and no node"), ("exec src", "a command are wanted"), ("link src-dst up x", "link: write"), ("logs 'x", "No closing quotation"),
                            ("status --wotch", "unrecognized arguments"), ("src no-such-program", "No such file"), ("set src-dst rate=5", "rate")):
            t.type(wrong + "\n")
            self.assertIn(said, t.until("\nlab> "), wrong)
        t.type("logs\n")
        self.assertIn("node2 (dst)", t.until("\nlab> "))
        t.type("\x04")
        self.assertEqual(t.end(), 0)
        history = self.folder / "heliograph" / "lab-history"
        self.assertIn("src helio-ping dst -c 1", history.read_text().splitlines())
        self.assertEqual(history.stat().st_mode & 0o777, 0o600)
        t = Terminal(BIN / "helio-lab", file, "prompt", home=self.folder)
        t.until("lab> ")
        t.type("\x10\n")  # the last line of the history
        self.assertIn("node2 (dst)", t.until("\nlab> "))
        t.type("down\n")
        t.until("the lab has ended")
        self.assertEqual(t.end(), 0)
        self.assertIn("is not up", lab(file, "prompt", code=1).stderr)

    def test_prompt_without_a_terminal(self):
        file = self.file("line: [src, dst]\nlink: {rate: 20Mbit/s, delay: 2ms}\nduration: 1h\n")
        self.start(file)

        def told(text, code):
            done = subprocess.run([BIN / "helio-lab", file, "prompt"], input=text, capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, code, (text, done.stdout, done.stderr))
            return done.stdout + done.stderr
        self.assertIn("ipn:2.128", told("# a comment\n\nsrc helio-ping dst -c 1\n", 0))
        self.assertIn("wrong: no command and no node", told("link src-dst down\nwrong\nlink src-dst up\nquit\nstatus\n", 2))
        self.assertNotIn("NODE ", told("quit\nstatus\n", 0))
        self.assertIn("the lab has ended", told("down\nstatus\n", 0))

    def test_what_can_stand_where(self):
        file = self.file("line: [src, dst]\nlink: {rate: 20Mbit/s}\n")
        words = lab_prompt.Words({"sockets": {"src": "", "dst": ""}, "file": str(file), "programs": str(BIN), "out": str(self.folder)})
        for line, text, wanted in (("", "st", ["status "]), ("", "s", ["status ", "set ", "src "]), ("exec ", "", ["src ", "dst "]), ("src ", "helioc", ["helioctl "]),
                                   ("src helio-ping ", "d", ["dst "]), ("link ", "s", ["src-dst "]), ("link src-dst ", "d", ["down "]), ("link src-dst set ", "dela", ["delay="]),
                                   ("set src-dst ", "rat", ["rate="]), ("status ", "--w", ["--watch "]), ("logs ", "src", ["src ", "src-dst "]), ("down ", "x", [])):
            self.assertEqual(lab_prompt.complete(words, line + text, len(line), text), wanted, line)

    def test_killed_its_children_end(self):
        file = self.file("line: 2\nlink: {rate: 1Mbit/s}\nduration: 1h\n")
        self.start(file)
        folder = Path(lab_state.State(file).folder)
        os.kill(json.loads((folder / "state.json").read_text())["pid"], signal.SIGKILL)
        for _ in range(3000):
            if not self.processes():
                break
            time.sleep(0.1)
        self.assertEqual(self.processes(), [])
        said = lab(file, "status", code=1).stderr
        self.assertIn("is not up: what ran it was killed (process ", said)
        self.assertIn(f"\n  {folder} (its sockets)\n", said)
        self.assertTrue(said.endswith(f"\nhelio-lab {file} down removes it\n"), said)
        lab(file, "down")
        self.assertFalse(folder.exists())
        self.assertIn("is not up; helio-lab", lab(file, "status", code=1).stderr)

    def test_names(self):
        file = self.file("line: [src, dst]\nlink: {rate: 20Mbit/s, delay: 2ms}\nduration: 1h\n")
        self.start(file)
        self.assertIn("node2 (dst)\n", lab(file, "logs").stdout)
        for name, wanted in (("src", "ipn:1.0"), ("dst", "ipn:2.0"), ("node2", "ipn:2.0"), ("src-dst", "ready"), ("link-src-dst", "ready")):
            self.assertIn(wanted, lab(file, "logs", name).stdout, name)
        self.assertIn("ipn:2.128", lab(file, "exec", "src", "helio-ping", "dst", "-c", "1").stdout)
        lab(file, "down")


class Spaces(Folder):
    start, processes = Running.start, Running.processes

    def test_killed_its_namespaces_are_told(self):
        file = self.file("line: [src, dst]\nlink: {rate: 1Mbit/s, delay: 5ms}\nduration: 1h\n")
        self.start(file, mode="netns")
        state = lab_state.State(file)
        os.kill(json.loads(Path(state.file).read_text())["pid"], signal.SIGKILL)
        while self.processes():
            time.sleep(0.1)
        said = lab(file, "status", code=1).stderr
        for space in ("n1", "n2", "emu"):
            self.assertIn(f"\n  network namespace {state.name}-{space}\n", said)
        lab(file, "down")
        self.assertIn("is not up; helio-lab", lab(file, "status", code=1).stderr)
        self.assertEqual([space for space in os.listdir("/run/netns") if space.startswith(state.name)], [])


if __name__ == "__main__":
    cases = {"live": (Names, Running), "netns": (Spaces,)}[KIND]
    suite = unittest.TestSuite(test for case in cases for test in unittest.defaultTestLoader.loadTestsFromTestCase(case))
    raise SystemExit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
