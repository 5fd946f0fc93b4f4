# SPDX-License-Identifier: Apache-2.0
"""Space Link Extension over loopback on this machine: helio-sle, and beside it in the same run dariolucia's library.

usage: sle_bench.py BIN [--peers DIR] [--seconds S] [--rounds N] [--json FILE] [--record FOLDER] [--only buffers|forward|threads]

DIR is what tests/interop/sle.sh made; without it there are no peers. Rates are of frames, not of what is around them."""

import argparse
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BUFFERS = (1, 10, 20, 40, 80)
INSTANCE = "sagr=1.spack=1.rsl-fg=1.raf=onlc1"


def ours(options, *more):
    r = subprocess.run([os.path.join(options.bin, "helio-sle"), "bench", "-t", f"{options.seconds}s", *map(str, more)], capture_output=True,
                       text=True)
    if r.returncode != 0:
        raise SystemExit(f"sle_bench: helio-sle bench {' '.join(map(str, more))}: {r.stderr}{r.stdout}")
    d = json.loads(r.stdout)
    for a in d["result"]["associations"]:
        if a["missing"] or a["repeated"] or a["wrong"] or not a["in_order"]:
            raise SystemExit(f"sle_bench: not in order: {a}")
    return d


def peers(options, buffer):
    """dariolucia's provider and user, a process each."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    frames = options.seconds * 60000
    command = ["java", "-Xmx2g", "-cp", f"{options.peers}/classes:{options.peers}/lib/*", "Peer", "parameters=0", f"port={port}",
               f"buffer={buffer}", f"frames={frames}", f"instance={INSTANCE}", "seconds=120"]
    provider = subprocess.Popen([*command, "role=provider"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        provider.stdout.readline()
        out = subprocess.run([*command, "role=user"], capture_output=True, text=True, timeout=300).stdout
    finally:
        provider.wait(300)
    r = dict(p.split("=", 1) for p in out.split() if "=" in p)
    if int(r["received"]) != frames:
        raise SystemExit(f"sle_bench: the peers: {out}")
    return int(r["octets"]) * 8 / float(r["seconds"])


def plain_tcp(options, octets, answer=1, window=1000):
    """Messages a second, and the processor time of both ends in s for each."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run([os.path.join(options.bin, "bench_tcp"), str(octets), str(answer), str(window), str(options.seconds)], capture_output=True,
                       text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rate = json.loads(r.stdout)["per_second"]
    return rate, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / options.seconds / rate


def per_buffer(options):
    """In each round also plain TCP with messages of the size of a buffer: Gbit/s of the frames in it, and a core-second of one end."""
    rows = []
    for buffer in BUFFERS:
        row = {"buffer": buffer}
        runs, tcp = [], []
        for _ in range(options.rounds):
            runs.append(ours(options, "-b", buffer))
            tcp.append(plain_tcp(options, 8 + buffer * (1115 + 34)))
        best = sorted(runs, key=lambda d: d["result"]["rate_bps"])[len(runs) // 2]
        row["plain_tcp_gbit_s"] = statistics.median(t[0] for t in tcp) * buffer * 1115 * 8 / 1e9
        row["plain_tcp_gbit_core_s"] = buffer * 1115 * 8 / statistics.median(t[1] / 2 for t in tcp) / 1e9
        row["gbit_s"] = best["result"]["rate_bps"] / 1e9
        row["provider_gbit_core_s"] = best["provider_bit_per_core_s"] / 1e9
        row["user_gbit_core_s"] = best["user_bit_per_core_s"] / 1e9
        if options.peers:
            row["peers_gbit_s"] = statistics.median(peers(options, buffer) for _ in range(options.rounds)) / 1e9
        rows.append(row)
        print(row, file=sys.stderr)
    return rows


def hashes(options):
    """SHA-256 on every PDU against none, in turns."""
    pairs = []
    for _ in range(options.rounds):
        plain = ours(options, "-b", 20)["result"]["rate_bps"]
        signed = ours(options, "-b", 20, "--authentication", "all", "--hash", "sha256")["result"]["rate_bps"]
        pairs.append(signed / plain)
    return {"buffer": 20, "rate_with_sha256_to_without": statistics.median(pairs), "rounds": pairs}


def many(options, count=100):
    """Of a frame: what a longer run costs more than a short one, so that connections and beginnings are left out."""
    def runs(*more):
        short, long = (ours(options, "-b", 20, *more, "-t", f"{s}s") for s in (2, 2 + 3 * options.seconds))
        frames = long["result"]["frames"] - short["result"]["frames"]
        return long, {k: (long[k] - short[k]) / frames for k in ("provider_cpu_s", "user_cpu_s")}

    (_, one), (all_of_them, each) = runs(), runs("--instances", count)
    rates = [a["octets"] for a in all_of_them["result"]["associations"]]
    return {"instances": count, "gbit_s": all_of_them["result"]["rate_bps"] / 1e9, "least_to_most": min(rates) / max(rates),
            "added_cost_of_a_frame": {k: each[k] / one[k] - 1 for k in one}}


def latency(options, rate):
    d = ours(options, "-b", 20, "--rate", f"{int(rate / 10)}bit/s", "--latency", "1ms")
    return {"rate_gbit_s": rate / 10 / 1e9, "delay_us": d["result"]["associations"][0]["delay_us"],
            "jitter_us": d["result"]["associations"][0]["jitter_us"]}


def disk_rate(folder, seconds):
    """What the disk takes, written in blocks of 1 MiB and brought to it."""
    path, block, n = os.path.join(folder, "rate"), os.urandom(1 << 20), 0
    begin = time.monotonic()
    with open(path, "wb") as f:
        while time.monotonic() - begin < seconds:
            n += f.write(block)
        f.flush()
        os.fsync(f.fileno())
    took = time.monotonic() - begin
    os.unlink(path)
    return n * 8 / took


def recording(options):
    folder = tempfile.mkdtemp(dir=options.record)
    try:
        disk = disk_rate(folder, options.seconds)
        rate = min(4e9, 0.8 * disk)
        d = ours(options, "-b", 20, "--rate", f"{int(rate)}bit/s", "--record", os.path.join(folder, "r"))
        size = sum(os.path.getsize(os.path.join(folder, "r0", x)) for x in os.listdir(os.path.join(folder, "r0")) if x.endswith(".rec"))
        return {"disk_gbit_s": disk / 1e9, "asked_gbit_s": rate / 1e9, "online_gbit_s": d["result"]["rate_bps"] / 1e9,
                "recorded_octets_to_delivered": size / d["result"]["octets"], "delay_us": d["result"]["associations"][0]["delay_us"]}
    finally:
        shutil.rmtree(folder)


def forward(options):
    """CLTUs, each notified as radiated: as many under way as may be, and one by one; beside them messages and answers of the same
    lengths over plain TCP (an answer is the return of TRANSFER-DATA and the notification)."""
    rows = []
    for octets in (300, 1115):
        for alone in (False, True):
            runs, plain = [], []
            for _ in range(options.rounds):
                d = cltus(options, octets, alone)
                runs.append(d)
                plain.append(plain_tcp(options, octets + 40, 170, 1 if alone else 1000)[0])
            each = [d["result"]["associations"][0]["cltus"] for d in runs]
            row = {"octets": octets, "pipelining": not alone, "per_second": statistics.median(c["per_second"] for c in each),
                   "mbit_s": statistics.median(c["rate_bps"] for c in each) / 1e6,
                   "notified_us_p50": statistics.median(c["notified_us"]["p50"] for c in each),
                   "plain_tcp_per_second": statistics.median(plain),
                   "to_plain_tcp": statistics.median(c["per_second"] / p for c, p in zip(each, plain)),
                   "provider_us_a_cltu": statistics.median(d["provider_cpu_s"] / d["result"]["frames"] for d in runs) * 1e6,
                   "user_us_a_cltu": statistics.median(d["user_cpu_s"] / d["result"]["frames"] for d in runs) * 1e6}
            rows.append(row)
            print(row, file=sys.stderr)
    return rows


class Station:
    """A provider with `count` generators, an instance each, all PDUs with credentials; and users that discard in the kernel what comes."""

    PASSWORD = "00112233445566778899aabbccddeeff"

    def __init__(self, options, count, threads_of_it, buffer, store=1000):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.folder = tempfile.mkdtemp()
        name = os.path.join(self.folder, "station.yaml")
        with open(name, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(f"id: BENCH-P\npassword: '{self.PASSWORD}'\nlisten: '127.0.0.1:{self.port}'\nstatus: {self.folder}/status\n"
                    f"threads: {threads_of_it}\n"
                    f"users: [{{id: BENCH-U, password: '{self.PASSWORD}', authentication: all, hash: sha256}}]\nsources:\n")
            f.writelines(f"  - {{name: s{k}}}\n" for k in range(count))
            f.write("instances:\n")
            f.writelines(f"  - {{id: sagr=B.spack=BENCH.rsl-fg=1.raf=onlc{k + 1}, users: BENCH-U, source: s{k}, buffer: {buffer}, "
                         f"store: {store}}}\n" for k in range(count))
        self.provider = subprocess.Popen([os.path.join(options.bin, "helio-sle"), "provider", name, "--log", "warning"])
        while not self.listens():
            time.sleep(0.05)
        self.sink = subprocess.Popen([os.path.join(options.bin, "bench_sle_sink"), str(self.port), "all", self.PASSWORD, str(count), "1000"],
                                     stdout=subprocess.PIPE, text=True)
        if self.sink.stdout.readline() != "started\n":
            raise SystemExit("sle_bench: the users have not started")

    def listens(self):
        if self.provider.poll() is not None:
            raise SystemExit("sle_bench: the provider has ended")
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def look(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(os.path.join(self.folder, "status"))
            status = json.load(s.makefile())
        each = [i["counts"]["frames"] for i in status["instances"]]
        lent = [status.get("threads", {}).get(key, 0) for key in ("writes", "octets")]
        cpu = [sum(map(int, open(f"/proc/{p.pid}/stat").read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
               for p in (self.provider, self.sink)]
        return time.monotonic(), each, cpu, lent

    def end(self):
        self.sink.kill()
        self.sink.wait()
        self.provider.terminate()
        code = self.provider.wait(60)
        shutil.rmtree(self.folder)
        if code != 0:
            raise SystemExit("sle_bench: the provider failed")


def measure(stations, seconds):
    """What they do together."""
    time.sleep(0.5)
    before, _, after = [s.look() for s in stations], time.sleep(seconds), [s.look() for s in stations]
    took = after[0][0] - before[0][0]
    frames = [end - begin for a, b in zip(after, before) for end, begin in zip(a[1], b[1])]
    cpu = [sum(a[2][k] - b[2][k] for a, b in zip(after, before)) for k in (0, 1)]
    gigabits = sum(frames) * 1115 * 8 / 1e9
    writes, octets = [sum(a[3][k] - b[3][k] for a, b in zip(after, before)) for k in (0, 1)]
    return {"gbit_s": gigabits / took, "least_to_most": min(frames) / max(frames), "provider_cores": cpu[0] / took,
            "users_cores": cpu[1] / took, "provider_gbit_core_s": gigabits / cpu[0], "core_s_gbit": sum(cpu) / gigabits,
            "thread_share": octets * 8 / 1e9 / gigabits, "thread_octets_write": octets / max(writes, 1)}


# instances, threads of a provider, providers, frames queued for a connection (320: the default)
THREADS = ((1, 1, 1, 1000), (1, 2, 1, 1000), (4, 1, 1, 1000), (4, 2, 1, 1000), (4, 1, 2, 1000), (4, 1, 1, 320), (4, 2, 1, 320))


def threads(options, buffer=20):
    """In turns: one thread for all; threads that make credentials and write; and two providers with half of the instances each, which
    share nothing: as fast as threads can be here."""
    runs = {setting: [] for setting in THREADS}
    for _ in range(options.rounds):
        for (count, n, providers, store), results in runs.items():
            stations = []
            try:
                for _ in range(providers):
                    stations.append(Station(options, count // providers, n, buffer, store))
                results.append(measure(stations, options.seconds))
            finally:
                for station in stations:
                    station.end()
            print(count, n, providers, store, results[-1], file=sys.stderr)
    rows = []
    for (count, n, providers, store), results in runs.items():
        base = runs[count, 1, 1, store]
        row = {k: statistics.median(r[k] for r in results) for k in base[0]}
        ratios = sorted(r["gbit_s"] / b["gbit_s"] for r, b in zip(results, base))
        rows.append({"instances": count, "threads": n, "providers": providers, "store": store, "buffer": buffer, **row, "to_one_thread": statistics.median(ratios),
                     "range": [ratios[0], ratios[-1]]})
    return rows


def cltus(options, octets, alone):
    more = ["--pipelining", "no"] if alone else []
    r = subprocess.run([os.path.join(options.bin, "helio-sle"), "bench", "--service", "fcltu", "--frame", str(octets), "-t",
                        f"{options.seconds}s", *more], capture_output=True, text=True)
    d = json.loads(r.stdout) if r.returncode == 0 else {}
    if not d or any(a["cltus"]["radiated"] != a["cltus"]["sent"] for a in d["result"]["associations"]):
        raise SystemExit(f"sle_bench: CLTUs of {octets}: {r.stderr}{r.stdout}")
    return d


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("--peers")
    p.add_argument("--seconds", type=int, default=5)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--record", default=tempfile.gettempdir())
    p.add_argument("--only", choices=("buffers", "forward", "threads"), help="this part alone")
    p.add_argument("--json")
    options = p.parse_args()
    out = {"processors": os.cpu_count()}
    if options.only in (None, "forward"):
        out["forward"] = forward(options)
    if options.only in (None, "threads"):
        out["threads"] = threads(options)
    if options.only == "buffers":
        out["per_buffer"] = per_buffer(options)
    if options.only:
        print(json.dumps(out, indent=2))
        return
    out.update(frame_octets=1115, per_buffer=per_buffer(options))
    out["hashes"] = hashes(options)
    out["many"] = many(options)
    out["latency"] = latency(options, max(r["gbit_s"] for r in out["per_buffer"]) * 1e9)
    out["recording"] = recording(options)
    text = json.dumps(out, indent=2)
    print(text)
    if options.json:
        with open(options.json, "w") as f:
            f.write(text + "\n")


if __name__ == "__main__":
    main()
