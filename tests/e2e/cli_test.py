# SPDX-License-Identifier: Apache-2.0
"""Every program: --help has an example, --version a version, a wrong option ends with 2 and is named; and mistakes that
are told before anything runs. usage: cli_test.py BIN OUT"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

programs, out = sys.argv[1:3]
commands = {"heliod": [], "helioctl": [], "helio-analyze": [], "helio-sim": ["stack"], "helio-perf": ["client", "server", "monitor"],
            "helio-bundle": ["lint", "show", "make", "sign", "verify", "encrypt", "decrypt", "explain"], "helio-store": ["check", "list", "export", "repair"],
            "helio-frames": ["gen", "info", "convert", "fop", "farm"], "helio-plan": ["check", "convert", "show", "route", "import", "serve", "follow", "publish", "rollback", "versions"],
            "helio-cfdp": ["daemon", "put", "get", "ls", "suspend", "resume", "cancel", "link", "status"],
            "helio-ltp": ["send", "receive"], "helio-emu": ["relay", "bridge", "links", "stream", "status", "metrics", "check"],
            "helio-trace": ["gen", "info"], "helio-tune": [], "helio-campaign": [], "helio-ping": [], "helio-send": [], "helio-recv": [], "helio-sync": ["send", "receive"],
            "helio-lab": [], "helio-sle": ["provider", "import", "user", "bench", "bridge", "sim"], "helio-csts": ["provider", "monitor", "forward", "data"]}


def run(*words):
    return subprocess.run([os.path.join(programs, words[0]), *words[1:]], capture_output=True, text=True, timeout=300)


def check(words, code, stdout="", stderr=""):
    done = run(*words)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    assert stdout in done.stdout, (words, stdout, done.stdout)
    assert stderr in done.stderr, (words, stderr, done.stderr)
    return done


def busy(p):
    """Processor time of a running process, seconds."""
    with open(f"/proc/{p.pid}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")


def check_conventions(name, words):
    done = check([*words, "--help"], 0)
    assert "example" in done.stdout.lower(), words
    assert done.stderr == "", words
    check([*words, "--version"], 0, stdout=name + " ")
    done = check([*words, "--wrong"], 2, stderr="--wrong")
    assert done.stdout == "", words


def check_terminal():
    """Frames are no text: a terminal does not get them."""
    ours, theirs = os.openpty()
    done = subprocess.run([os.path.join(programs, "helio-frames"), "gen", "-n", "1"], stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(theirs)
    os.close(ours)
    assert (done.returncode, done.stderr) == (2, "helio-frames: standard output is a terminal; write -o FILE\n"), done


def check_alone():
    """The version of a program in Python is that of the others, and needs none of them."""
    told = run("helio-sim", "--version").stdout.split()[1]
    for name in ("campaign", "lab", "tune"):
        code = ("import sys; sys.argv = ['x', '--version']; from heliograph import programs; programs.PLACE = '/none'; "
                f"from heliograph import launch; sys.exit(launch.run('helio-{name}', '{name}.cli'))")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                              env={"PATH": "/none", "PYTHONPATH": os.path.join(programs, "../lib/heliograph")})
        assert (done.returncode, done.stdout) == (0, f"helio-{name} {told}\n"), done


def check_head(campaign):
    """A reader that ends early is no failure to report."""
    p = subprocess.Popen([os.path.join(programs, "helio-campaign"), campaign, "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.close()
    assert (p.stderr.read(), p.wait()) == ("", 1)


def check_wrong_word(name, subcommands):
    """One line: what was wrong, the nearest word or all of them, and where to read on."""
    first = subcommands[0]
    far = ["--socket", "/none", "xyzzy"] if name == "helioctl" else ["xyzzy"]
    for words, told in (([first[:-1]], f"'{first[:-1]}' is unknown; did you mean {first}? Try '{name} --help'"),
                        (far, f"'xyzzy' is unknown; right is {first}"), ([], f"a command is missing: {first}")):
        done = check([name, *words], 2)
        line, = done.stderr.splitlines()
        assert line.startswith(f"{name}: {told}") and line.endswith(f"ry '{name} --help'"), (words, line)
        assert done.stdout == "", words


def check_no_command():
    """helioctl's only word is a configuration, if there is such a file or no command is near; both are named."""
    there = os.path.join(out, "there.yaml")
    with open(there, "w", encoding="ascii"):
        pass
    gone = "No such file or directory, and a command is missing; see helioctl --help"
    for word, told in ((there, "a command is missing: status, links, "), ("nonexist.yaml", f"nonexist.yaml: {gone}"),
                       (GONE, f"{GONE}: {gone}"), ("xyzzy", f"xyzzy: {gone}"), (f"{there}/x", f"{there}/x: Not a directory, and a command is missing"),
                       ("./top", f"./top: {gone}"), ("stats", "'stats' is unknown; did you mean status?")):
        line, = check(["helioctl", word], 2).stderr.splitlines()
        assert line.startswith(f"helioctl: {told}"), (word, line)


def check_configuration(text, *expected):
    path = os.path.join(out, "node.yaml")
    with open(path, "w", errors="surrogateescape") as f:
        f.write(text)
    done = check(["heliod", "--check", path], 2 if expected else 0)
    told = done.stderr.splitlines()
    assert told == [f"{path}:{line}" for line in expected], told


GONE = "/nonexistent/file"
# What each program answers to a file that is not there, and to settings that are wrong: with 2. What fails while it runs ends with 1.
MISTAKES = (
    ("heliod", GONE), ("heliod", "--check", GONE), ("helioctl", GONE, "status"), ("helioctl", "--socket", GONE, "bundles", "colour=red"),
    ("helio-analyze", GONE), ("helio-analyze", "--html", GONE, "text"), ("helio-analyze", "--tables", GONE, "text"), ("helio-analyze", "--trace", GONE, "text"),
    ("helio-sim", "--trace", GONE), ("helio-sim", "--log", GONE, "--duration", "10ms"), ("helio-sim", "--node", GONE, "--duration", "1s"),
    ("helio-bundle", "lint", GONE), ("helio-bundle", "show", GONE), ("helio-bundle", "make", "-d", "ipn:2.1", "-p", GONE),
    ("helio-bundle", "make", "-d", "ipn:2.1", "--text", "x", "-o", GONE), ("helio-store", "check", GONE), ("helio-store", "list", GONE),
    ("helio-store", "repair", GONE), ("helio-store", "export", GONE, "-o", "x"), ("helio-frames", "info", GONE), ("helio-frames", "convert", GONE),
    ("helio-frames", "gen", "-n", "1", "-o", GONE), ("helio-plan", "check", GONE), ("helio-plan", "check", "wrong"), ("helio-plan", "show", "wrong"),
    ("helio-plan", "convert", "wrong", "--to", "ion"), ("helio-plan", "route", GONE, "1", "2", "1kB"),
    ("helio-plan", "serve", GONE, "--socket", "x.sock", "--to", "ipn:2.71"), ("helio-plan", "serve", "plans", "--socket", "x.sock"), ("helio-plan", "versions", GONE),
    ("helio-plan", "follow", GONE, "--socket", "x.sock", "--control", "x.ctl", "--owner", "ipn:1.70"), ("helio-plan", "publish", "plans", GONE), ("helio-plan", "rollback", GONE, "1"),
    ("helio-ltp", "send", "--local", "127.0.0.1:0", "--remote", "127.0.0.1:9", "--engine", "1", "--peer-engine", "2", GONE),
    ("helio-ltp", "receive", "--local", "127.0.0.1:0", "--engine", "1", "--peer-engine", "2", "--remote", "127.0.0.1:9", "--output", GONE),
    ("helio-emu", "check", GONE), ("helio-emu", "check", "wrong"), ("helio-emu", "relay", "--listen", "127.0.0.1:5", "--to", "127.0.0.1:6", "--scenario", GONE),
    ("helio-emu", "relay", "--listen", "127.0.0.1:5", "--to", "127.0.0.1:6", "--trace", GONE), ("helio-trace", "info", GONE), ("helio-trace", "info", "text"),
    ("helio-trace", "convert", GONE, "x"), ("helio-trace", "convert", "A", GONE), ("helio-trace", "from-power", GONE, "--mean-margin", "3", "-o", "x"),
    ("helio-trace", "gen", "--preset", "H", "--duration", "1s", "-o", GONE), ("helio-tune", "--trace", GONE), ("helio-campaign", GONE), ("helio-campaign", "wrong"),
    ("helio-lab", GONE, "up"), ("helio-lab", "wrong", "check"), ("helio-lab", GONE, "down"), ("helio-lab", GONE, "logs"),
    ("helio-lab", "passes", "--tle", GONE, "--station", "41.9,12.5"), ("helio-sle", "provider", GONE), ("helio-sle", "provider", "wrong"), ("helio-sle", "import", GONE), ("helio-sle", "import", "wrong"), ("helio-cfdp", "daemon", GONE), ("helio-cfdp", "daemon", "wrong"), ("helio-cfdp", "status", "--control", GONE), ("helio-csts", "provider", GONE), ("helio-csts", "provider", "wrong"),
    ("helio-perf", "client", "--socket", GONE), ("helio-ping", "--socket", GONE, "nobody"),
    ("helio-send", "--socket", GONE, "ipn:2.1", GONE), ("helio-recv", "--socket", GONE, "-o", GONE),
    ("helio-sync", "send", "--socket", GONE, GONE, "ipn:2.1"), ("helio-sync", "receive", "--socket", GONE, "--from", "ipn:1.*", GONE))
FAILURES = (
    ("helioctl", "--socket", GONE, "status"), ("helio-perf", "server", "--socket", GONE), ("helio-ping", "--socket", GONE, "-c", "1", "ipn:2.128"),
    ("helio-analyze", "text"), ("helio-bundle", "lint", "text"), ("helio-bundle", "show", "text"), ("helio-frames", "info", "text"),
    ("helio-lab", "good", "status"), ("helio-plan", "route", "plan.yaml", "2", "1", "1kB"))


def check_exit_codes():
    files = {"text": "hello\n", "wrong": "hello: {\n", "good": "line: 2\n",
             "plan.yaml": "contacts:\n  - {from: 1, to: 2, start: 0s, end: 60s, rate: 1Mbit/s, owlt: 1ms}\n"}
    for name, text in files.items():
        with open(os.path.join(out, name), "w", encoding="ascii") as f:
            f.write(text)
    for rows, code in ((MISTAKES, 2), (FAILURES, 1)):
        for name, *words in rows:
            done = subprocess.run([os.path.join(os.path.abspath(programs), name), *words], capture_output=True, text=True, timeout=300, cwd=out,
                                  stdin=subprocess.DEVNULL, check=False)
            assert done.returncode == code, (name, words, done.returncode, done.stderr)
            assert "Traceback" not in done.stderr, done.stderr
            assert done.stderr or done.stdout, (name, words, "says why")
    used = {row[0] for row in MISTAKES}
    assert used == set(commands), used ^ set(commands)


def main():
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    there = set(n for n in os.listdir(programs) if n.startswith("helio"))
    assert there == set(commands), there ^ set(commands)
    for name, subcommands in commands.items():
        check_conventions(name, [name])
        if subcommands and name not in ("helio-sim", "helio-lab"):  # these have other words there, too
            check_wrong_word(name, subcommands)
        for sub in subcommands:
            check_conventions(name, [name, sub])
    check_wrong_word("helioctl", ["status", "links", "sessions"])
    check(["helio-sim", "stak"], 2, stderr="helio-sim: 'stak' is unknown; did you mean stack? Try 'helio-sim --help'\n")
    for words in (["--json", "stack"], ["--rate", "5Mbit/s", "stack"]):
        done = check(["helio-sim", *words], 2)
        assert done.stderr == "helio-sim: 'stack' must come first, before all options. Try 'helio-sim --help'\n", done.stderr
        assert done.stdout == "", words
    check(["helio-sim", "xyzzy"], 2, stderr="helio-sim: \"xyzzy\" is one word too many\n")
    check_no_command()
    check_exit_codes()

    good = f"node: ipn:1.0\nsocket: {out}/n.sock\nstore: {{durability: none}}\n"
    link = "links:\n  - name: a\n    adapter: ltp-udp\n    local: 127.0.0.1:1\n    remote: 127.0.0.1:2\n    rto: 1s\n"
    check_configuration(good)
    check_configuration(good + link + "    peer: ipn:2.0\n")
    check_configuration(good + link + "    peer: dtn://b/\n    peer_engine: 2\n")
    check_configuration(good + link + "    peer: dtn://b/\n", "5: links[a].peer_engine: no ipn node number to take it "
                        "from; write the LTP engine number")
    check_configuration(good + "log: {segments: nowhere/x.csv}\n", "4: log.segments: the directory nowhere does not "
                        "exist; make it, or write another")
    check_configuration(f"node: ipn:1.0\nsocket: {out}/no/n.sock\nstore: {{durability: none}}\n",
                        f"2: socket: the directory {out}/no does not exist; make it, or write another")
    os.mkdir(f"{out}/folder")
    with open(f"{out}/file", "w"):
        pass
    place = f"node: ipn:1.0\nsocket: {out}/%s\nstore: %s\n"
    check_configuration(place % ("folder", "{durability: none}"), f"2: socket: {out}/folder is there and is no socket; "
                        "write another path")
    check_configuration(place % ("n.sock", f"{{path: {out}/file}}"), f"3: store.path: {out}/file is no directory; write "
                        "the path of one, new or not")
    check_configuration(good + f"control: {out}/n.sock\n", "4: control: the same path as socket; write another")
    check_configuration(good + f"log: {{segments: {out}/folder}}\n", f"4: log.segments: {out}/folder is a directory; "
                        "write the path of a file")
    check_configuration(good + link.replace(":2", ":1") + "    peer: ipn:2.0\n", "8: links[a].remote: is the same as "
                        "local: the link would send to itself")
    check_configuration(good + link.replace("127.0.0.1:2", "localhost:2") + "    peer: ipn:2.0\n    pacing: {batch: Yes}\n")
    check_configuration(good + "log: " + "[" * 100000 + "\n", "4: nested deeper than 16 levels")
    check_configuration(good + "#\n#\n# caf\udce9 au lait\n", "6: not YAML: invalid trailing UTF-8 octet (a configuration is "
                        "UTF-8)")
    check_configuration(good + link.replace("ltp-udp", "telex") + "    peer: ipn:2.0\nroutes:\n  - {to: \"*\", via: a}\n",
                        "6: links[a].adapter: \"telex\" is not known; write one of: ltp-udp, tcpcl, udp, stcp, mtcp, bibe")
    check_configuration(good + "bundles: {max: 1 GiB}\n", "4: bundles.max: \"1 GiB\" is not understood; write no space "
                        "before the unit: 1GiB")

    check_terminal()
    check_alone()
    check_head(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../campaigns/paper.yaml"))
    check(["helio-sim", "--trace", "X"], 2, stderr="; write a file, or A, F, H")
    long = subprocess.Popen([f"{programs}/helio-sim", "--duration", "1000000s", "--json"], stdout=subprocess.PIPE, text=True)
    while busy(long) < 1:
        assert long.poll() is None, "it ended by itself"
        time.sleep(0.05)
    long.send_signal(signal.SIGINT)
    result = json.loads(long.communicate(timeout=300)[0])
    assert long.returncode == 0 and result["interrupted"] and 0 < result["until_s"] < 1000000, result
    assert result["efficiency"] > 0.5, result

    check(["helio-emu", "relay", "--listen", "127.0.0.1:5", "--to", "127.0.0.1:5"], 2, stderr="--to is the address of")
    check(["helio-trace", "info", "F"], 0, stdout="F: 1000000 steps of 0.1 ms, 100 s")


main()
