# SPDX-License-Identifier: Apache-2.0
"""helio-sync at two nodes: a folder and its copy, renames, removals, what is not ours, ends and nodes that are killed, bundles
that are lost, and who may. usage: sync_test.py BIN OUT"""
import contextlib
import json
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from files_case import BIN, FilesCase, wait_for, write


def tree(folder):
    """Name -> content of all files but the program's own."""
    found = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f != ".helio-sync"]
        for name in files:
            path = os.path.join(place, name)
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as f:  # it may go meanwhile: then the folder is not equal yet
                found[os.path.relpath(path, folder)] = f.read()
    return found


class SyncTest(FilesCase):
    LINK = {"rto": "2s", "rate": "50Mbit/s"}
    service = 2100  # each test has its own endpoints

    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.here, "folder")
        os.makedirs(self.folder)
        SyncTest.service += 2

    def receive(self, *words, frm="ipn:1.*"):
        p = subprocess.Popen([os.path.join(BIN, "helio-sync"), "receive", "--socket", self.lab.socket(2), "--service", str(self.service),
                              "--from", frm, *words, self.to], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.reap, p)
        self.assertIn(f"ipn:2.{self.service} keeps {self.to} equal", p.stderr.readline())
        return p

    def send(self, *words):
        p = subprocess.Popen([os.path.join(BIN, "helio-sync"), "send", "--socket", self.lab.socket(1), "--service", str(self.service + 1),
                              "--rest", "200ms", "--ask", "1", *words, self.folder, f"ipn:2.{self.service}"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.reap, p)
        return p

    def once(self, *words, code=0):
        out, err = self.end(self.send("--once", "--json", "-", *words), code)
        return json.loads(out), err

    def stop(self, p):
        p.send_signal(signal.SIGTERM)
        return self.end(p)

    def equal(self, seconds=120):
        wait_for(lambda: tree(self.folder) == tree(self.to), seconds)

    def test_a_folder_and_its_copy(self):
        big = random.Random(1).randbytes(3_000_000)
        write(b"one", self.folder, "a.txt")
        write(b"", self.folder, "sub/empty")
        write(big, self.folder, "sub/deep/big.bin")
        write(b"x", self.folder, ".hidden")
        os.chmod(write(b"#!/bin/sh\n", self.folder, "run.sh"), 0o755)
        os.utime(os.path.join(self.folder, "a.txt"), ns=(10**18, 10**18))
        os.symlink("/etc/passwd", os.path.join(self.folder, "link"))
        path = os.path.join(self.here, "receive.json")
        r = self.receive("--delete", "--json", path)
        shown, err = self.once()
        self.assertEqual((shown["confirmed"], shown["transfers"], shown["equal"]), (4, 1, True))
        self.assertEqual(shown["left"], {"hidden": 1, "links": 1, "other": 0, "long": 0})
        self.assertIn("a.txt  3 bytes  confirmed", err)
        have = tree(self.to)
        self.assertEqual(sorted(have), ["a.txt", "run.sh", "sub/deep/big.bin", "sub/empty"])
        self.assertEqual(have["sub/deep/big.bin"], big)
        self.assertTrue(os.access(os.path.join(self.to, "run.sh"), os.X_OK))
        self.assertFalse(os.access(os.path.join(self.to, "a.txt"), os.X_OK))
        self.assertEqual(os.stat(os.path.join(self.to, "a.txt")).st_mtime_ns, 10**18)
        again, _ = self.once()  # nothing has changed: nothing is said, and no file is read
        self.assertEqual((again["messages"], again["hashed"], again["confirmed"]), (0, 0, 0))
        os.makedirs(os.path.join(self.folder, "new"))
        os.rename(os.path.join(self.folder, "sub/deep/big.bin"), os.path.join(self.folder, "new/name.bin"))
        os.utime(os.path.join(self.folder, "a.txt"))
        renamed, _ = self.once()  # neither the content of a new name nor that of a new time goes again
        self.assertEqual((renamed["known"], renamed["transfers"], renamed["inlined"], renamed["wanted"]), (2, 0, 0, 0))
        self.assertEqual(tree(self.to)["new/name.bin"], big)
        self.assertFalse(os.path.exists(os.path.join(self.to, "sub/deep")))
        self.assertTrue(os.path.exists(os.path.join(self.to, "sub/empty")))
        self.stop(r)
        with open(path, encoding="utf-8") as f:
            have = json.load(f)
        self.assertEqual((have["copied"], have["removed"], have["aside"], have["refused"]["name"]), (1, 1, 0, 0))

    def test_changes_while_it_runs(self):
        """Files that come, grow, change, move and go, while both ends run."""
        write(b"first", self.folder, "first")
        self.receive("--delete", "--hidden")
        s = self.send("--hidden", "--json", os.path.join(self.here, "send.json"))
        self.equal()
        with open(os.path.join(self.folder, "grows"), "wb") as f:  # it is written for longer than it has to rest
            for i in range(20):
                f.write(random.Random(i).randbytes(100_000))
                f.flush()
                self.assertNotIn("grows", os.listdir(self.to))
                time.sleep(0.05)
        write(b"second", self.folder, "first")
        write(b"third", self.folder, "a/b/c/third")
        write(b"hidden", self.folder, ".a/b")
        self.equal()
        os.rename(os.path.join(self.folder, "a"), os.path.join(self.folder, "z"))
        os.remove(os.path.join(self.folder, "first"))
        write(b"a file where a folder was", self.folder, "a")
        self.equal()
        self.stop(s)
        with open(os.path.join(self.here, "send.json"), encoding="utf-8") as f:
            shown = json.load(f)
        self.assertEqual(shown["transfers"], 1)
        after, _ = self.once("--hidden")  # an answer may have been on its way
        self.assertEqual((after["inlined"], after["transfers"], after["equal"]), (0, 0, True))

    def test_without_delete_and_what_is_not_ours(self):
        write(b"theirs", self.to, "taken")
        write(b"same", self.to, "same")
        for name in ("taken", "same", "kept", "goes", "edited"):
            write(name.encode(), self.folder, name)
        r = self.receive()
        self.once()
        self.assertEqual((tree(self.to)["taken"], tree(self.to)["taken.1"]), (b"taken", b"theirs"))
        self.assertNotIn("same.1", tree(self.to))  # its content was right
        os.remove(os.path.join(self.folder, "goes"))
        self.once()
        self.assertIn("goes", tree(self.to))
        self.stop(r)
        r = self.receive("--delete")
        os.remove(os.path.join(self.folder, "edited"))
        os.remove(os.path.join(self.folder, "kept"))
        write(b"edited here, since it came", self.to, "edited")
        write(b"never delivered", self.to, "own")
        self.once()
        out, _ = self.stop(r)
        self.assertEqual(sorted(tree(self.to)), ["edited", "goes", "own", "same", "taken", "taken.1"])
        self.assertIn("edited  kept: it is not what was delivered", out)

    def test_links_at_the_copy_are_not_followed(self):
        outside = os.path.join(self.here, "outside")
        write(b"precious", outside, "file")
        os.symlink(outside, os.path.join(self.to, "sub"))
        os.symlink(os.path.join(outside, "file"), os.path.join(self.to, "file"))
        write(b"new", self.folder, "sub/file")
        write(b"new", self.folder, "file")
        r = self.receive("--delete")
        shown, err = self.once(code=1)
        self.assertIn("sub/file: its place in the folder there cannot be had", err)
        self.assertEqual((shown["refused"], shown["confirmed"]), (2, 1))  # it is told when a second try fails
        self.assertEqual(tree(outside), {"file": b"precious"})
        self.assertEqual((tree(self.to)["file"], os.path.islink(os.path.join(self.to, "file.1"))), (b"new", True))
        os.remove(os.path.join(self.folder, "sub/file"))
        self.once()
        self.stop(r)
        self.assertEqual(tree(outside), {"file": b"precious"})

    def test_a_refused_name_confirms_nothing(self):
        """The only name of a content stays at the copy while its new name is refused."""
        for name in ("f", "k"):
            write(name.encode(), self.folder, name)
        r = self.receive("--delete")
        self.once("--hidden")
        os.rename(os.path.join(self.folder, "f"), os.path.join(self.folder, ".f"))
        os.rename(os.path.join(self.folder, "k"), os.path.join(self.folder, "k2"))
        write(b"in the way", self.to, "k2/own")
        shown, err = self.once("--hidden", code=1)
        self.assertIn("f: stays there: the names with its content are refused", err)
        self.assertEqual((shown["gone"], shown["open"]), (0, 4))
        self.assertEqual(tree(self.to), {"f": b"f", "k": b"k", "k2/own": b"in the way"})
        os.remove(os.path.join(self.to, "k2/own"))
        os.rmdir(os.path.join(self.to, "k2"))
        self.stop(r)
        r = self.receive("--delete", "--hidden")
        shown, _ = self.once("--hidden")  # the contents were there all the time
        self.assertEqual((tree(self.to), shown["gone"], shown["inlined"]), ({".f": b"f", "k2": b"k"}, 2, 0))
        self.stop(r)

    def test_who_may(self):
        write(b"x", self.folder, "x")
        r = self.receive(frm="ipn:1.7")
        s = self.send()
        self.assertIn("--from does not have this source", r.stderr.readline())
        wait_for(lambda: "no answer from" in s.stderr.readline())
        self.stop(s)
        self.assertEqual(tree(self.to), {})
        self.stop(r)
        done = subprocess.run([os.path.join(BIN, "helio-sync"), "receive", "--socket", "x", self.to], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "--from PATTERN is missing" in done.stderr), (2, True))

    def test_it_ends_while_a_long_file_is_read(self):
        """A first synchronisation over a long file that is there already: SIGTERM ends it at once, and later it goes on."""
        for folder in (self.folder, self.to):
            with open(os.path.join(folder, "long"), "wb") as f:
                f.truncate(4 << 30)
        r = self.receive()
        s = self.send("--once", "--json", "-")

        def spent():
            with open(f"/proc/{r.pid}/stat", encoding="ascii") as f:
                return sum(int(word) for word in f.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")

        before = spent()
        wait_for(lambda: spent() > before + 0.1, 240)  # it reads
        begun = time.monotonic()
        self.stop(r)
        self.assertLess(time.monotonic() - begun, 1)
        inode = os.stat(os.path.join(self.to, "long")).st_ino
        self.receive()
        shown = json.loads(self.end(s)[0])
        self.assertEqual((shown["transfers"], shown["wanted"], shown["confirmed"]), (0, 0, 1))
        self.assertEqual(os.stat(os.path.join(self.to, "long")).st_ino, inode)

    def test_ends_are_killed(self):
        """kill -9 of either end, again and again, while files come, change and go: the copy is equal at last, without
        files beside them."""
        rng = random.Random(7)
        for i in range(300):
            write(rng.randbytes(rng.randrange(3000)), self.folder, f"d{i % 7}/f{i}")
        for i in range(4):
            write(rng.randbytes(2_000_000), self.folder, f"big{i}")
        ends = [self.receive("--delete"), self.send("--quiet", "-b", "100kB")]
        for i in range(8):
            time.sleep(rng.uniform(0.2, 0.8))
            which = i % 2
            ends[which].kill()
            ends[which].wait()
            write(rng.randbytes(5000), self.folder, f"d{i}/f{i}")
            os.rename(os.path.join(self.folder, f"d{i % 7}/f{7 * (30 + i) + i % 7}"), os.path.join(self.folder, f"moved{i}"))
            ends[which] = self.receive("--delete") if which == 0 else self.send("--quiet", "-b", "100kB")
        self.equal(240)
        self.stop(ends[1])
        shown, _ = self.once("--check")  # all are asked for: the copy has them
        self.assertEqual((shown["wanted"], shown["inlined"], shown["equal"]), (0, 0, True))
        self.stop(ends[0])

    def test_bundles_are_lost(self):
        """Bundles expire on their route, and the receiver is not there for long: it goes on by itself."""
        write(random.Random(2).randbytes(500_000), self.folder, "image")
        for i in range(50):
            write(str(i).encode(), self.folder, f"n{i}")
        s = self.send("--lifetime", "2")
        time.sleep(6)  # all that went is gone by now
        self.receive("--lifetime", "2")
        self.equal()
        for i in range(50):
            write(f"again {i}".encode(), self.folder, f"n{i}")
        self.equal()
        self.stop(s)

    def test_a_node_goes_and_comes(self):
        write(random.Random(3).randbytes(4_000_000), self.folder, "image")
        self.receive("--reconnect")
        s = self.send("--reconnect")
        wait_for(lambda: os.path.exists(os.path.join(self.to, ".helio-sync/receive/content/.helio-recv")))
        for number in (1, 2):  # neither keeps a bundle over its end
            node = next(p for name, p in reversed(self.lab.processes) if name == f"node{number}")
            node.kill()
            node.wait()
            write(b"meanwhile", self.folder, f"meanwhile{number}")
            self.lab.processes.remove((f"node{number}", node))
            self.lab.start_node(number, self.lab.path(f"node{number}.yaml"))
        self.equal()
        self.stop(s)

    def test_thousands_of_small_files(self):
        for i in range(5000):
            write(f"content {i}".encode(), self.folder, f"{i % 50}/{i}")
        r = self.receive("--no-sync")
        drain = subprocess.Popen(["cat"], stdin=r.stdout, stdout=subprocess.DEVNULL)
        self.addCleanup(self.reap, drain)
        begun = time.monotonic()
        shown, _ = self.once("-q", "--ask", "60")  # nothing is asked for again, however slow this machine is
        print(f"5000 small files: {time.monotonic() - begun:.1f} s, {shown['messages']} messages, {shown['announced']} entries")
        self.assertEqual(tree(self.folder), tree(self.to))
        self.assertLess(shown["messages"], 60)
        for i in range(50):
            os.rename(os.path.join(self.folder, str(i)), os.path.join(self.folder, f"x{i}"))
        moved, _ = self.once("-q", "--ask", "60")
        self.assertEqual((moved["known"], moved["hashed"], moved["inlined"], moved["wanted"]), (5000, 0, 0, 0))

    def test_the_queue_of_inotify_overflows(self):
        with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as f:
            most = int(f.read())
        self.receive("--delete")
        s = self.send("--json", os.path.join(self.here, "send.json"), "-q")
        write(b"x", self.folder, "x")
        self.equal()
        s.send_signal(signal.SIGSTOP)
        path = os.path.join(self.folder, "many")
        for _ in range(most // 2 + 1000):  # each makes and removes: two events, which do not fall into one
            os.close(os.open(path, os.O_CREAT))
            os.remove(path)
        write(b"behind it", self.folder, "late/file")
        s.send_signal(signal.SIGCONT)
        self.equal()
        self.stop(s)
        with open(os.path.join(self.here, "send.json"), encoding="utf-8") as f:
            self.assertGreater(json.load(f)["overflows"], 0)

    def test_a_folder_that_is_gone_removes_nothing(self):
        write(b"x", self.folder, "x")
        self.receive("--delete")
        s = self.send()
        self.equal()
        os.rename(self.folder, self.folder + ".away")
        os.makedirs(self.folder)  # as an empty place where a disk was
        line = ""
        while "nothing counts as gone" not in line:
            line = s.stderr.readline()
            self.assertTrue(line)
        self.assertIn("another folder is in its place", line)
        self.assertEqual(list(tree(self.to)), ["x"])
        os.rmdir(self.folder)
        os.rename(self.folder + ".away", self.folder)
        write(b"y", self.folder, "y")
        self.equal()
        self.stop(s)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
