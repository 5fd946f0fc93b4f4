# SPDX-License-Identifier: Apache-2.0
"""What every attack needs: real programs in a network namespace of their own, an honest peer that is measured, and bounds.

An attack is a file of this folder:

    from attack import main

    def run(scene):
        '''One sentence: who attacks whom, with what.'''
        p1, p2 = scene.ports(2)
        scene.node(1, [scene.link(2, p1, p2)])
        victim = scene.node(2, [scene.link(1, p2, p1)])
        scene.receiver(2)                                    # helio-perf server at node 2

        def flood(until):                                    # runs in a process of its own
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(("127.0.0.9", 0))
                while time.monotonic() < until:
                    ...

        # before, during, after, and ratios; bounds the last. least: the attack took place, or its bounds say nothing
        phases = scene.phases(lambda: scene.goodput(1, 2), flood, least={"sent": 100000})
        scene.bound("goodput kept", phases["during_ratio"], ">=", 0.8)
        scene.bound("RSS, MiB", scene.rss_peak(victim), "<=", 1024 + 64)

    if __name__ == "__main__":
        main(run)

Run as `python3 tests/attack/FILE.py BIN [--seconds S] [--json FILE] [--out DIR]`, as root. It prints one JSON object with all figures and
bounds. Exit code 0: all bounds hold; 1: one does not, or a program ended; 2: wrong usage. tests/attack/all.py runs all of them.
"""
import argparse
import contextlib
import ctypes
import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
import _paths  # noqa: F401
from heliograph.processes import Lab  # noqa: E402

CLONE_NEWNET = 0x40000000
SETTLE = 1.0  # seconds of an attack before the honest peer is measured
RECOVERED = 0.8  # of what was before an attack is there again after it …
RECOVERIES = 4  # … within so many measurements: one alone may meet what the attack left, or other work of the machine
COUNTED = ("sent", "received", "connections")  # of the attackers' sockets: octets, octets, attempts
COMPARE = {">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b, "==": lambda a, b: a == b, "<": lambda a, b: a < b, ">": lambda a, b: a > b}


def anonymous_mib(pid):
    """Memory of a process without pages of files: ARCHITECTURE.md limits that of a node."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon:")) / 1024


def rss_kib(pid):
    """Resident memory of a process now, KiB; 0 when it has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def cpu_seconds(pid):
    """Processor time of a process so far, seconds."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_network():
    """This process and its children get an empty network with a loopback interface; all of 127.0.0.0/8 is theirs."""
    if os.geteuid() != 0:
        raise SystemExit("attack: network namespaces need root")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise SystemExit(f"attack: unshare: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


class Scene:
    """Nodes by number, honest traffic between them, and what an attack costs it."""

    def __init__(self, programs, out, seconds):
        self.lab = Lab(programs, out)
        self.seconds = seconds  # of each measurement of goodput
        self.nodes, self.peaks, self.bounds, self.figures = {}, {}, [], {}
        self.anonymous = {}  # highest anonymous memory by process id, MiB
        self.runs, self.receivers = 0, {}
        self.attacked = {}  # what the sockets of the last attack's processes did
        self.over = threading.Event()
        self.sampler = threading.Thread(target=self.sample, daemon=True)
        self.sampler.start()

    def close(self):
        self.over.set()
        self.sampler.join()
        self.lab.__exit__()

    # Programs

    def ports(self, count):
        return self.lab.udp_ports(count)

    def link(self, peer, local, remote, **keys):
        """A link over LTP; the keys of docs/ltp-udp.md override. For another adapter: a dict of its keys."""
        return self.lab.link(peer, local, remote, **keys)

    def node(self, number, links, **keys):
        """A running node; keys as Lab.write_node has them (store, log, extra). Returns its process."""
        config = self.lab.write_node(number, links, **{"log": False, **keys})
        self.nodes[number] = self.lab.start_node(number, config)
        return self.watch(self.nodes[number])

    def end(self, number):
        """Ends a node and its receiver, so that what they do costs the next measurement nothing."""
        receiver = self.receivers.pop(number, None)
        for p in (receiver, self.nodes.pop(number)):
            if p is not None:
                p.terminate()
                p.wait(60)

    def watch(self, process):
        """Its resident memory is sampled from now on."""
        self.peaks.setdefault(process.pid, 0)
        return process

    def start(self, name, program, *arguments):
        """Another program of ours, whose memory is sampled."""
        return self.watch(self.lab.start(name, program, *arguments))

    def receiver(self, number, *arguments):
        """helio-perf server at a node."""
        name = f"receiver{number}"
        self.receivers[number] = self.lab.start(name, "helio-perf", "server", "--socket", self.lab.socket(number), *arguments)
        return self.receivers[number]

    def control(self, number, *words):
        """helioctl --json of a node."""
        return self.lab.control(number, *words)

    # Measurements

    def sample(self):
        while not self.over.wait(0.02):
            for pid in list(self.peaks):
                self.peaks[pid] = max(self.peaks[pid], rss_kib(pid))
                with contextlib.suppress(OSError, StopIteration):  # it has ended
                    self.anonymous[pid] = max(self.anonymous.get(pid, 0), anonymous_mib(pid))

    def rss_peak(self, process):
        """Highest resident memory of a process so far, MiB."""
        return round(max(self.peaks[process.pid], rss_kib(process.pid)) / 1024, 1)

    def anonymous_peak(self, process):
        """Highest memory of a process so far without pages of files, MiB."""
        return round(self.anonymous.get(process.pid, 0), 1)

    def client(self, source, destination, seconds, *arguments):
        """helio-perf client to the receiver at a node; its result as an object."""
        self.runs += 1
        path = self.lab.path(f"client{self.runs}.json")
        command = [self.lab.program("helio-perf"), "client", "--socket", self.lab.socket(source), "-d", f"ipn:{destination}.2000",
                   "-T", str(seconds), "-i", "0", "--linger", "2", "--json", path, *arguments]
        with open(self.lab.path("clients.log"), "a", encoding="utf-8") as log:
            subprocess.run(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, timeout=seconds + 120, check=False)
        with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as f:
            return json.load(f)
        return {}

    def goodput(self, source, destination, payload="100kB", window=16, arguments=()):
        """Mbit/s of application data that was acknowledged within the time of the measurement."""
        pace = () if window is None else ("-W", str(window))  # None: the arguments have a rate
        result = self.client(source, destination, self.seconds, "-P", payload, *pace, *arguments)
        return round(result.get("goodput_bps", 0) / 1e6, 3)

    def echo(self, source, destination, count=200, interval="10ms", size=64):
        """Round trips to a node's echo: {p50_ms, p99_ms, sent, back}."""
        self.runs += 1
        path = self.lab.path(f"ping{self.runs}.json")
        command = [self.lab.program("helio-ping"), "--socket", self.lab.socket(source), "-q", "-c", str(count), "-i", interval,
                   "-s", str(size), "-l", "20s", "--json", path, f"ipn:{destination}.128"]
        with open(self.lab.path("pings.log"), "a", encoding="utf-8") as log:
            subprocess.run(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, timeout=300, check=False)
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    # The attack

    @contextlib.contextmanager
    def attack(self, *functions, seconds=600, settle=SETTLE, least=None, name=""):
        """Each function(until) runs in a process of its own while the body runs; `until` is a time of time.monotonic(). What the sockets of these
        processes did is counted (COUNTED), in self.attacked afterwards. least: so much of it, or the attack did not take place; by default each
        process sent an octet or connected. {}: the attack counts otherwise."""
        until = time.monotonic() + seconds
        context = multiprocessing.get_context("fork")
        counts = [context.RawArray("Q", len(COUNTED)) for _ in functions]
        attackers = [context.Process(target=attack_child, args=(f, until, c), daemon=True) for f, c in zip(functions, counts)]
        for a in attackers:
            a.start()
        time.sleep(settle)
        try:
            yield
        finally:
            failed = [a.exitcode for a in attackers if a.exitcode not in (None, 0)]
            for a in attackers:
                if a.is_alive():
                    a.terminate()
                a.join(10)
            self.bound("attackers that failed", len(failed), "==", 0)
            self.attacked = {what: sum(c[k] for c in counts) for k, what in enumerate(COUNTED)}
            label = f", {name}" if name else ""
            if least is None:
                self.bound(f"attackers that did nothing{label}", sum(c[0] + c[2] == 0 for c in counts), "==", 0)
            for what, number in (least or {}).items():
                self.bound(f"the attack took place: {what}{label}", self.attacked[what], ">=", number)

    def recovery(self, measure, before, name=""):
        """The measurement after an attack, which is bounded: what was before comes back."""
        began = time.monotonic()
        for _ in range(RECOVERIES):
            took, after = time.monotonic() - began, measure()
            if after >= RECOVERED * before:
                break
        label = f", {name}" if name else ""
        self.figure(f"seconds until it recovered{label}", round(took, 1))
        self.bound(f"goodput after the attack{label}", round(after / before, 4) if before else 0.0, ">=", RECOVERED)
        return after

    def phases(self, measure, *functions, pause=1.0, settle=SETTLE, name="", clear=lambda: None, least=None):
        """{before, during, after, during_ratio, after_ratio} of a measurement that returns one number, such as goodput. The last is bounded.
        clear() is what an operator does between the attack and the last measurement. least: as for attack()."""
        result = {"before": measure()}
        with self.attack(*functions, settle=settle, least=least, name=name):
            result["during"] = measure()
        clear()
        time.sleep(pause)
        result["after"] = self.recovery(measure, result["before"], name)
        for phase in ("during", "after"):
            result[phase + "_ratio"] = round(result[phase] / result["before"], 4) if result["before"] else 0.0
        return self.figure("phases" + (f", {name}" if name else ""), result)

    def took_place(self, what, value, least):
        """The victim counted so much of the attack; with less, the other bounds say nothing."""
        self.bound(f"the attack took place: {what}", value, ">=", least)

    def figure(self, name, value):
        """A result that is printed."""
        self.figures[name] = value
        return value

    def bound(self, name, value, relation, limit):
        """What must hold; printed with the figures."""
        self.bounds.append({"name": name, "value": value, "relation": relation, "limit": limit, "holds": COMPARE[relation](value, limit)})

    def result(self):
        for number, p in self.nodes.items():
            self.bound(f"node {number} runs", p.poll(), "==", None)
        rss = {f"node{n}_rss_peak_mib": self.rss_peak(p) for n, p in self.nodes.items()}
        return {**self.figures, **rss, "bounds": self.bounds, "holds": all(b["holds"] for b in self.bounds)}


def take_slowly(client, pause):
    """Takes what the node delivers to this application, with a pause after each bundle, until the connection is closed."""
    try:
        while True:
            client.delivery()
            time.sleep(pause)
    except (EOFError, OSError, ValueError):
        pass


def count_octets(counts):
    """The sockets of this process count from now on what they send and receive, and how often they connect (COUNTED)."""
    def watch(method, place, size):
        whole = getattr(socket.socket, method)

        def watched(self, *args):
            try:
                result = whole(self, *args)
            except BlockingIOError:
                counts[place] += place == 2  # it connects, and does not wait for it
                raise
            counts[place] += size(result, args)
            return result
        setattr(socket.socket, method, watched)

    for method in ("send", "sendto", "sendmsg"):
        watch(method, 0, lambda result, args: result)
    watch("sendall", 0, lambda result, args: memoryview(args[0]).nbytes)
    watch("recv", 1, lambda result, args: len(result))
    watch("recv_into", 1, lambda result, args: result)
    watch("connect", 2, lambda result, args: 1)


def attack_child(function, until, counts):
    count_octets(counts)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        function(until)
    except Exception:  # the process is the attacker's: what ends it is printed, and makes the attack fail
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def paced(until, a_second):
    """The numbers 0, 1, ... at that rate, in bursts of some ms, until that time."""
    number, began = 0, time.monotonic()
    while (now := time.monotonic()) < until:
        while number < (now - began) * a_second:
            yield number
            number += 1
        time.sleep(0.002)


def drain(sock):
    """Reads what a non-blocking socket has, and forgets it; False once the peer closed it."""
    try:
        while True:
            data = sock.recv(1 << 16)
            if not data and sock.type == socket.SOCK_STREAM:
                return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def main(run, **numbers):
    """The program of one attack. Each of `numbers` is an option --NAME with this default; run() gets it by its name."""
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    args = argparse.ArgumentParser(description=run.__doc__)
    args.add_argument("bin", help="folder of the programs")
    args.add_argument("--seconds", type=float, default=4, help="of each measurement (4)")
    args.add_argument("--json", help="write the figures there, too")
    args.add_argument("--out", help="keep logs and files in this folder")
    for option, default in numbers.items():
        args.add_argument("--" + option, type=int, default=default, help=f"({default})")
    args = args.parse_args()
    if not os.path.exists(os.path.join(args.bin, "heliod")):
        print(f"{name}: {args.bin}: no heliod there", file=sys.stderr)
        raise SystemExit(2)
    own_network()
    out = os.path.abspath(args.out) if args.out else tempfile.mkdtemp(prefix=f"attack-{name}-")
    scene = Scene(args.bin, out, args.seconds)
    try:
        run(scene, **{option: getattr(args, option) for option in numbers})
        result = {"attack": name, "what": (run.__doc__ or "").strip(), **scene.result()}
    except Exception as failure:  # a program that ended is a result
        traceback.print_exc()
        result = {"attack": name, "failure": f"{type(failure).__name__}: {failure}", "holds": False, "logs": out}
    finally:
        scene.close()
    text = json.dumps(result, indent=2)
    print(text)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            f.write(text + "\n")
    if result["holds"] and not args.out:
        shutil.rmtree(out, ignore_errors=True)
    elif not result["holds"]:
        print(f"{name}: logs are in {out}", file=sys.stderr)
    raise SystemExit(0 if result["holds"] else 1)
