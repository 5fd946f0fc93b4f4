# SPDX-License-Identifier: Apache-2.0
"""What the runs with peers that are in no registry have in common: a network namespace of their own, our node, the lossy
link of two relays, an application on each side, and the count of what arrived."""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import aap2

SIZES = [(1_000, 40), (10_000, 30), (100_000, 20), (1_000_000, 8), (5_000_000, 2)]  # 100 bundles, 20.3 MB
OURS, THEIRS = 1, 2  # node and engine numbers
OUR_PORT, TO_PEER, TO_US = 1113, 3113, 4113


def options(description, **more):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("helio", help="folder of heliod and helio-emu")
    parser.add_argument("peer", help="installation folder of the peer")
    parser.add_argument("--over", choices=("ltp", "tcpcl", "stcp", "udp"), default="ltp")
    parser.add_argument("--from", dest="sender", choices=("us", "peer"), default="us")
    parser.add_argument("--loss", type=float, default=0, help="of each direction, in percent")
    parser.add_argument("--delay", default="20ms", help="of each direction, with ltp")
    parser.add_argument("--link-rate", default="100Mbit/s", help="of our LTP or UDP link")
    parser.add_argument("--security", choices=("none", "bib", "bcb"), default="none")
    parser.add_argument("--wrap", action="store_true", help="a wrapped key in each security block")
    parser.add_argument("--wrong-key", action="store_true", help="the receiver has another key")
    parser.add_argument("--scope", default="all", help="of our security rules")
    parser.add_argument("--crc", default="crc32c", help="of our bundles (bundles.crc)")
    parser.add_argument("--share", type=int, default=1, help="one of so many bundles of the usual load")
    parser.add_argument("--wait", type=float, default=120)
    parser.add_argument("--set", action="append", default=[], metavar="KEY: VALUE", help="more keys of our link")
    parser.add_argument("--pcap", action="store_true", help="captures of what enters the relays, with --keep")
    parser.add_argument("--kills", type=int, default=0, help="kill -9 and start heliod again so many times, 1 s apart")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder for the logs")
    for name, value in more.items():
        parser.add_argument("--" + name.replace("_", "-"), default=value)
    return parser.parse_args()


def alone():
    """Runs the script again in a network namespace of its own, whose loopback is up."""
    if os.environ.get("HAND_ALONE"):
        return subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    os.environ["HAND_ALONE"] = "1"
    os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])


def load(share, seed):
    """Payloads by size, in an order of their own."""
    rng = random.Random(seed)
    out = [rng.randbytes(size) for size, count in SIZES for _ in range(max(1, count // share))]
    rng.shuffle(out)
    return out


class Rig:
    def __init__(self, args):
        self.args, self.children = args, []
        self.folder = pathlib.Path(args.keep or tempfile.mkdtemp(prefix="hand-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.secret = hashlib.sha256(b"hand%d" % args.seed).digest()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            self.stop(child)

    def stop(self, child, sign=signal.SIGINT, wait=15):
        if child.poll() is None:
            child.send_signal(sign)
            try:
                child.wait(wait)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def start(self, name, *command, **keys):
        with open(self.folder / (name + ".log"), "wb") as log:
            child = subprocess.Popen([str(c) for c in command], stdout=log, stderr=log, **keys)
        self.children.append(child)
        return child

    def log(self, name):
        return (self.folder / (name + ".log")).read_text(errors="replace")

    def until(self, what, seconds, found):
        end = time.monotonic() + seconds
        while not found():
            if time.monotonic() > end:
                raise TimeoutError(f"{what} did not happen in {seconds} s; logs in {self.folder}")
            time.sleep(0.05)

    def link(self, peer_port, tcpcl_port=4556):
        """Starts what lies between, and returns the entry of our node's link."""
        args = self.args
        more = "".join(f"    {line}\n" for line in args.set)
        if args.over == "stcp":
            return (f"  - name: peer\n    adapter: stcp\n    peer: ipn:{THEIRS}.0\n    local: 127.0.0.1:{OUR_PORT}\n"
                    f"    remote: 127.0.0.1:{peer_port}\n{more}")
        if args.over == "udp":
            return (f"  - name: peer\n    adapter: udp\n    peer: ipn:{THEIRS}.0\n    local: 127.0.0.1:{OUR_PORT}\n"
                    f"    remote: 127.0.0.1:{peer_port}\n    rate: {args.link_rate}\n{more}")
        if args.over == "tcpcl":
            side = f"remote: 127.0.0.1:{peer_port}" if args.sender == "us" else f"local: 127.0.0.1:{tcpcl_port}"
            return f"  - name: peer\n    adapter: tcpcl\n    peer: ipn:{THEIRS}.0\n    {side}\n{more}"
        for name, port, to, seed in (("to_peer", TO_PEER, peer_port, 1), ("to_us", TO_US, OUR_PORT, 2)):
            command = [f"{args.helio}/helio-emu", "relay", "--listen", f"127.0.0.1:{port}", "--to", f"127.0.0.1:{to}",
                       "--delay", args.delay, "--seed", str(args.seed * 10 + seed), "--json", self.folder / (name + ".json")]
            if args.pcap:
                command += ["--pcap-before", self.folder / (name + ".pcapng")]
            if args.loss:
                command += ["--trace", f"iid:{args.loss / 100}"]
            self.start(name, *command)
            self.until(name, 20, lambda: "ready" in self.log(name))
        return (f"  - name: peer\n    adapter: ltp-udp\n    peer: ipn:{THEIRS}.0\n    local: 127.0.0.1:{OUR_PORT}\n"
                f"    remote: 127.0.0.1:{TO_PEER}\n    owlt: {args.delay}\n    rate: {args.link_rate}\n{more}")

    def key(self, size):
        return self.secret[:size]

    def rules(self, from_us):
        """Our node's keys and rules."""
        args = self.args
        if args.security == "none":
            return ""
        keys = self.folder / "keys"
        keys.mkdir(mode=0o700, exist_ok=True)
        kind, context = ("hmac-sha-384", "bib-hmac-sha2") if args.security == "bib" else ("aes-256-gcm", "bcb-aes-gcm")
        kind = "aes-256-kw" if args.wrap else kind
        key = self.key(32 if args.wrap or args.security == "bcb" else 48)
        if args.security == "bib" and not args.wrap:
            key = (self.secret * 2)[:48]
        if args.wrong_key and not from_us:
            key = bytes([key[0] ^ 1]) + key[1:]
        file = keys / "key"
        file.write_text(f"id: hand\nalgorithm: {kind}\nkey: {key.hex()}\n")
        file.chmod(0o600)
        role, side = ("source", "to") if from_us else ("acceptor", "from")
        return (f"security_keys: {keys}\nsecurity:\n  - {{role: {role}, {side}: \"ipn:{THEIRS}.*\", context: {context}, "
                f"key: hand, scope: \"{args.scope}\"}}\n")

    def peer_key(self):
        """The same key for the peer."""
        size = 32 if self.args.wrap or self.args.security == "bcb" else 48
        key = (self.secret * 2)[:size]
        return bytes([key[0] ^ 1]) + key[1:] if self.args.wrong_key and self.args.sender == "us" else key

    def node(self, link):
        path = self.folder / "node.yaml"
        self.socket = self.folder / "node.sock"
        store = self.folder / "store"
        store.mkdir(exist_ok=True)
        path.write_text(f"node: ipn:{OURS}.0\nsocket: {self.socket}\nstore: {{path: {store}}}\n"
                        f"bundles: {{crc: {self.args.crc}}}\n"
                        f"log: {{segments: {self.folder}/segments.csv, bundles: {self.folder}/bundles.csv}}\n"
                        + self.rules(self.args.sender == "us") + "links:\n" + link)
        self.run_node(path, 0)

    def run_node(self, path, turn):
        """A log for each turn."""
        name = f"heliod{turn or ''}"
        self.heliod = self.start(name, f"{self.args.helio}/heliod", path)
        self.until(name, 30, lambda: "is ready" in self.log(name))

    def kill_node(self):
        """As often as asked for; returns the thread that does it."""
        def kill():
            for turn in range(self.args.kills):
                time.sleep(1)
                self.heliod.kill()
                self.heliod.wait()
                self.run_node(self.folder / "node.yaml", turn + 1)

        thread = threading.Thread(target=kill)
        thread.start()
        return thread

    def status(self, *what):
        out = subprocess.run([f"{self.args.helio}/helioctl", "--socket", f"{self.socket}.ctl", *what, "--json"],
                             capture_output=True, text=True)
        return json.loads(out.stdout) if out.returncode == 0 and out.stdout.strip() else out.stdout + out.stderr

    def take(self, service, count, seconds, unpack=lambda payload: payload):
        """Subscribes; the function returned waits for `count` different payloads, and returns how often each came."""
        def subscribe():
            client = aap2.Client(str(self.socket), timeout=1)
            assert client.configure(f"ipn:{OURS}.{service}", subscribe=True) == aap2.SUCCESS
            client.s.settimeout(None)
            return client

        client = subscribe()
        seen = collections.Counter()
        stopped = threading.Event()

        def read():
            nonlocal client
            while not stopped.is_set():
                try:
                    seen[digest(unpack(client.delivery()[1]))] += 1
                except (EOFError, OSError, ValueError):
                    if not self.args.kills or stopped.is_set():
                        return
                    time.sleep(0.1)
                    try:
                        client = subscribe()
                    except (EOFError, OSError):
                        pass

        thread = threading.Thread(target=read, daemon=True)
        thread.start()

        def wait():
            end = time.monotonic() + seconds
            while len(seen) < count and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(1)
            stopped.set()
            client.close()
            return seen
        return wait

    def give(self, destination, payloads):
        with aap2.Client(str(self.socket)) as client:
            client.configure(f"ipn:{OURS}.7")
            for payload in payloads:
                status, text, _ = client.request(destination, payload, lifetime_ms=600_000)
                if status != aap2.SUCCESS:
                    print("refused:", text)

    def report(self, peer, payloads, seen, seconds):
        """One line, as the page has it."""
        wanted = collections.Counter(digest(p) for p in payloads)
        whole = sum(1 for d in wanted if seen[d])
        args = self.args
        line = {"peer": peer, "over": args.over, "from": args.sender, "loss": args.loss, "security": args.security,
                "wrap": args.wrap, "wrong_key": args.wrong_key, "scope": args.scope, "sent": len(payloads),
                "bytes": sum(map(len, payloads)), "delivered": whole,
                "link_rate": args.link_rate, "kills": args.kills, "twice": sum(n - 1 for n in seen.values() if n > 1), "other": sum(1 for d in seen if d not in wanted),
                "seconds": round(seconds, 1)}
        if args.over in ("ltp", "udp"):
            link = self.status("links")
            line.update(sessions(link), socket_drops=socket_drops())
            (self.folder / "links.json").write_text(json.dumps(link, indent=1, default=str))
        (self.folder / "status.json").write_text(json.dumps(self.status("status"), indent=1, default=str))
        if args.security != "none":
            line["rules"] = self.status("security")
        print(json.dumps(line))
        return 0 if whole == len(wanted) and (args.kills or not line["twice"]) else 1


def sessions(links):
    """What became of our sessions, and the repetitions of our checkpoints."""
    found = {}
    for entry in links if isinstance(links, list) else links.get("links", []) if isinstance(links, dict) else []:
        names = {"sessions_cancelled_remote": "cancelled_by_peer", "sessions_cancelled_local": "cancelled_by_us",
                 "output_ckpt_re_xmit_count": "checkpoints_again", "rto_ns": "rto_ns"}
        found.update({to: entry[key] for key, to in names.items() if key in entry})
    return found


def socket_drops():
    """Datagrams that found a full socket buffer in this network namespace: not lost by the relays."""
    head, values = [line.split() for line in open("/proc/net/snmp") if line.startswith("Udp:")]
    return int(values[head.index("RcvbufErrors")])


def digest(data):
    return hashlib.sha256(data).hexdigest()
