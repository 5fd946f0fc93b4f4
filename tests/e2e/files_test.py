# SPDX-License-Identifier: Apache-2.0
"""helio-send and helio-recv at two nodes: files, folders, standard input and output, a spool, what is refused, and ends
that are killed. usage: files_test.py BIN OUT"""
import contextlib
import hashlib
import json
import os
import re
import random
import signal
import subprocess
import sys
import time
import unittest

from files_case import BIN, FilesCase, wait_for, write


def read(*parts):
    with open(os.path.join(*parts), "rb") as f:
        return f.read()


def journals(folder):
    """Bytes of all journals: they grow with what is there."""
    total = 0
    with os.scandir(os.path.join(folder, ".helio-recv")) as entries:
        for e in entries:
            with contextlib.suppress(FileNotFoundError):  # of a file that is whole by now
                total += e.stat().st_size if e.name.endswith(".log") else 0
    return total


class FilesTest(FilesCase):
    LINK = {"rto": "2s", "rate": "20Mbit/s"}  # slow enough that a test which stalls finds a transfer still under way

    def send(self, *words, code=0, **more):
        done = subprocess.run([os.path.join(BIN, "helio-send"), "--socket", self.lab.socket(1), *words], capture_output=True,
                              timeout=300, check=False, **more)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout.decode(), done.stderr.decode()

    def test_files_and_folders(self):
        image = write(random.Random(1).randbytes(3_210_000), self.here, "image.tif")
        for name in ("a.txt", "sub/b.txt", "sub/empty"):
            write(b"" if name.endswith("empty") else name.encode(), self.here, "logs", name)
        os.symlink("/etc/passwd", os.path.join(self.here, "logs", "link"))
        os.mkfifo(os.path.join(self.here, "logs", "sub", "pipe"))
        write(b"x", self.here, "logs", ".git", "config")
        write(b"x", self.here, "logs", ".bad\x1bname")
        path = os.path.join(self.here, "recv.json")
        p = self.recv("-c", "4", "--json", path)
        out, err = self.send("-b", "100kB", "ipn:2.2001", image, os.path.join(self.here, "logs"))
        self.assertIn("image.tif  3210000 bytes  confirmed", out)
        logs = os.path.join(self.here, "logs")
        for line in (f"{logs}/link: left out: symbolic link", f"{logs}/sub/pipe: left out: no file and no folder",
                     f"{logs}/.git: left out: hidden (--hidden sends it)", ".bad\\x1bname: left out",
                     "left out below folders: 2 hidden (--hidden sends them), 1 symbolic link, 1 no file and no folder\n"):
            self.assertIn(line, err)
        self.end(p)
        p = self.recv()
        again, err = self.send("--quiet", "--resume", "--json", "-", "ipn:2.2001", image, logs)
        self.assertEqual([f["was_there"] for f in json.loads(again)["list"]], [True] * 4)  # an empty file as well
        self.assertNotIn(".git:", err)
        p.send_signal(signal.SIGTERM)
        self.end(p)
        self.assertEqual(read(self.to, "image.tif"), read(image))
        self.assertEqual(read(self.to, "logs/sub/b.txt"), b"sub/b.txt")
        self.assertEqual(read(self.to, "logs/sub/empty"), b"")
        shown = json.loads(read(path))
        self.assertEqual((shown["files"], shown["pieces"], shown["incomplete"]), (4, 35, 0))
        self.assertFalse(os.path.exists(os.path.join(self.to, "logs/link")))

    def test_standard_input_to_standard_output(self):
        data = random.Random(2).randbytes(500_000)
        with open(os.path.join(self.here, "out"), "wb") as f:
            p = self.recv("--stdout", "-c", "1", service="2002", stdout=f)
        out, _ = self.send("-n", "x/stream.bin", "--json", "-", "ipn:2.2002", "-", input=data)
        shown = json.loads(out)
        self.assertEqual((shown["files"], shown["failed"], shown["list"][0]["name"]), (1, 0, "x/stream.bin"))
        self.end(p)
        self.assertEqual(read(self.here, "out"), data)
        self.assertFalse(os.path.exists(os.path.join(self.to, "x/stream.bin")))

    def test_receiver_is_killed(self):
        """kill -9 again and again while a file comes: it is there once, whole, and nothing goes a second time."""
        data = random.Random(3).randbytes(12_000_000)
        image = write(data, self.here, "image.tif")
        sender = subprocess.Popen([os.path.join(BIN, "helio-send"), "--socket", self.lab.socket(1), "-b", "50kB", "--json", "-",
                                   "ipn:2.2003", image], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.reap, sender)
        kills = 0
        while sender.poll() is None and kills < 6:
            p = self.recv(service="2003")
            before = journals(self.to)
            wait_for(lambda: sender.poll() is not None or journals(self.to) > before + 200)
            p.kill()
            p.wait()
            kills += 1
        p = self.recv(service="2003")
        out, err = sender.communicate(timeout=300)
        self.assertEqual(sender.returncode, 0, err)
        self.assertGreaterEqual(kills, 2)
        self.assertEqual(hashlib.sha256(read(self.to, "image.tif")).digest(), hashlib.sha256(data).digest())
        self.assertEqual(sorted(os.listdir(self.to)), [".helio-recv", "image.tif"])
        self.assertEqual(json.loads(out)["pieces"], 240)
        p.send_signal(signal.SIGTERM)
        self.end(p)

    def test_sender_is_killed(self):
        data = random.Random(4).randbytes(5_000_000)
        image = write(data, self.here, "image.tif")
        command = [os.path.join(BIN, "helio-send"), "--socket", self.lab.socket(1), "-b", "10kB", "ipn:2.2004", image]
        sender = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        recv = self.recv(service="2004")  # it may have the whole file from the first sender's pieces before it is asked
        wait_for(lambda: sender.poll() is not None or journals(self.to) > 500)
        sender.kill()
        sender.wait()
        out, _ = self.send("-b", "10kB", "--resume", "--ask", "1", "--json", "-", "ipn:2.2004", image)
        recv.send_signal(signal.SIGTERM)
        self.end(recv)
        self.assertEqual(read(self.to, "image.tif"), data)
        shown = json.loads(out)
        self.assertGreaterEqual(shown["questions"], 1)
        self.assertLess(shown["pieces"], 500)

    def test_spool(self):
        spool = os.path.join(self.here, "spool")
        write(b"one", spool, "one")
        recv = self.recv("-c", "2", service="2005")
        sender = subprocess.Popen([os.path.join(BIN, "helio-send"), "--socket", self.lab.socket(1), "--spool", spool, "-i", "100ms",
                                   "--ask", "1", "--sent", os.path.join(self.here, "sent"), "ipn:2.2005"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.addCleanup(self.reap, sender)
        wait_for(lambda: os.path.exists(os.path.join(self.to, "one")))
        os.makedirs(os.path.join(spool, "below"))
        os.rename(write(b"two", self.here, "two"), os.path.join(spool, "below/two"))  # whole when it is seen
        self.end(recv)
        self.assertEqual(read(self.to, "below/two"), b"two")
        wait_for(lambda: os.path.exists(os.path.join(self.here, "sent/below/two")))
        self.assertEqual(read(self.here, "sent/one"), b"one")
        self.assertFalse(os.path.exists(os.path.join(spool, "one")))
        sender.send_signal(signal.SIGINT)
        self.end(sender)

    def test_no_folder(self):
        """Told with what would be right; the help has first what is needed."""
        path = os.path.join(self.to, "not-there")
        done = subprocess.run([os.path.join(BIN, "helio-recv"), "--socket", self.lab.socket(2), "-o", path], capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (2, f"helio-recv: -o {path}: there is no such folder; make it (mkdir -p), or write another\n"))
        for program, first in (("helio-recv", ["--output", "--socket"]), ("helio-send", ["--socket"])):
            text = subprocess.run([os.path.join(BIN, program), "--help"], capture_output=True, text=True, timeout=300, check=True).stdout
            self.assertEqual(re.findall(r"^ .*?(--[a-z-]+)=", text, flags=re.M)[:len(first)], first)

    def test_unwritable_json_is_told_before_the_run(self):
        path = os.path.join(self.to, "not-there", "x.json")
        for program, words in (("helio-recv", ["-o", self.to]), ("helio-send", ["ipn:2.2001", "/dev/null"])):
            done = subprocess.run([os.path.join(BIN, program), "--socket", self.lab.socket(2), "--json", path, *words], capture_output=True, text=True, timeout=300)
            self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (2, f"{program}: --json {path}: there is no such folder; make it (mkdir -p), or write another file"))

    def test_refusals_are_told(self):
        small, hidden = write(b"x" * 1000, self.here, "small"), write(b"y", self.here, ".hidden")
        recv = self.recv("--file-max", "100B", service="2006")
        out, err = self.send("ipn:2.2006", small, hidden, code=1)
        self.assertEqual(out, "")
        self.assertIn("small: it is longer than what is taken there", err)
        self.assertIn(".hidden: its name is not taken there", err)
        self.assertNotIn("no receipt", err)
        _, err = self.send("ipn:77.1", "--wait", "300ms", small, code=1)
        self.assertIn("the node refuses (", err)
        self.assertNotIn("no receipt", err)
        _, err = self.send("ipn:2.2099", "--wait", "300ms", small, code=1)
        self.assertIn("small: the receiver does not confirm it", err)
        _, err = self.send("ipn:2.2099", "--ask", "200ms", "--wait", "3s", small, code=1)
        self.assertRegex(err, "small: no receipt from ipn:2.2099 for [23] questions; asking again")
        self.assertEqual(err.count("asking again"), 1, err)  # one line a minute
        hint = ("helio-send: no receipt from ipn:2.2099: is a helio-recv registered there, and has its node a route back? "
                f"See helioctl --socket {self.lab.socket(1)}.ctl links, and backlog instead of links\n")
        self.assertTrue(err.endswith(hint), err)
        command = [os.path.join(BIN, "helio-send"), "--socket", self.lab.socket(1), "--json", "-", "ipn:2.2099", small]
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(3)  # by then the node has the piece
        p.send_signal(signal.SIGINT)
        _, err = self.end(p, 1)
        self.assertTrue(err.endswith("1 file is not confirmed; --resume goes on where this ended\n" + hint), err)
        self.assertIn("with the node", self.send("--no-wait", "ipn:2.2099", small)[0])
        done = subprocess.run([os.path.join(BIN, "helio-recv"), "--socket", self.lab.socket(2), "-o", self.to, "--service", "2007"],
                              capture_output=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"another helio-recv uses this folder", done.stderr)
        recv.send_signal(signal.SIGTERM)
        self.end(recv)

    def test_errors(self):
        for words, wanted in ((("ipn:2.1",), "either files, or -"), (("nobody", "x"), "\"nobody\" is neither an endpoint nor in names"),
                              (("-b", "0", "ipn:2.1", "x"), "-b: 0 is out of range"), (("-n", "../x", "ipn:2.1", "x"), "--name: \"../x\""),
                              (("--sent", "x", "ipn:2.1", "x"), "--sent is of --spool")):
            self.assertIn(wanted, self.send(*words, code=2)[1])
        self.assertIn("there is no file to send", self.send("ipn:2.1", os.path.join(self.here, "nothing"), code=2)[1])


unittest.main(argv=sys.argv[:1], verbosity=2)
