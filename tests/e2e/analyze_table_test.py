# SPDX-License-Identifier: Apache-2.0
"""The table of sessions, computed a second time here, with dictionaries and sorting instead of streams, from the rows of
random runs of helio-sim; with and without its drop log.
Then series, distributions and decomposition against that table. usage: analyze_table_test.py BIN"""

import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

BIN = sys.argv[1]
RATE = 200 * 10**6  # bit/s
END = 10**9  # ns, of each run


def run(name, *arguments):
    done = subprocess.run([os.path.join(BIN, name), *arguments], capture_output=True, text=True, timeout=1400, check=False)
    assert done.returncode == 0, (name, arguments, done.stderr)
    return done.stdout


def read(path):
    with open(path, newline="", encoding="ascii") as f:
        return list(csv.DictReader(f))


def number(text):
    return int(text) if text else None


def is_data(row):
    return row["type"] != "" and int(row["type"]) < 8


def is_checkpoint(row):
    return row["type"] in ("1", "2", "3")


class Session:
    """All rows of one session, apart by node and kind."""

    def __init__(self, key, rows):
        self.key = key
        self.end = {"tx": [r for r in rows if r["node"] == key[0]], "rx": [r for r in rows if r["node"] != key[0]]}
        self.sent = self.of("tx", "tx")
        self.got = self.of("rx", "rx")

    def of(self, end, kind, data=True):
        return [r for r in self.end[end] if r["dir"] == kind and is_data(r) == data]

    def times(self, end, kind):
        return [int(r["t_ns"]) for r in self.end[end] if r["dir"] == kind]

    def timers(self, end, cause):
        return sum(r["dir"] == "timer" and r["cause"] == cause for r in self.end[end])

    def cycles(self):
        """The longest chain of report and repetition; what runs side by side is one."""
        reports, checkpoints = defaultdict(int), defaultdict(int)
        for r in self.end["tx"]:
            if r["dir"] == "rx" and r["type"] == "8" and r["cause"] == "ok":
                reports[r["rpt_serial"]] = checkpoints[r["cp_serial"]]
            elif r["dir"] == "tx" and is_checkpoint(r) and r["cause"] == "report":
                checkpoints[r["cp_serial"]] = reports[r["rpt_serial"]] + 1
        return max(checkpoints.values(), default=0)

    def out_of_order(self):
        high = n = 0
        for r in self.end["rx"]:
            if r["dir"] == "tx" and r["type"] == "8":
                high = 0
            elif r["dir"] == "rx" and is_data(r) and r["cause"] == "ok":
                n += int(r["offset"]) < high
                high = max(high, int(r["offset"]) + int(r["length"]))
        return n

    def rto_total(self):
        last, total = {}, 0
        for r in self.sent:
            if is_checkpoint(r):
                if r["cause"] == "timer":
                    total += int(r["t_ns"]) - last[r["cp_serial"]]
                last[r["cp_serial"]] = int(r["t_ns"])
        return total

    def lost_checkpoints(self, delay):
        """The transmissions that never came (the channel has one delay, and a time on the air by length), the longest run,
        and how often one was lost with all its copies, and the session waited for it. What is under way when the log ends is not lost."""
        arrivals = Counter((r["cp_serial"], int(r["t_ns"])) for r in self.got if is_checkpoint(r))
        lost, longest, run, rounds = [], 0, defaultdict(int), defaultdict(list)
        for r in self.sent:
            if not is_checkpoint(r):
                continue
            serial = r["cp_serial"]
            due = int(r["t_ns"]) + delay + round((int(r["udp_len"]) + 42) * 8 * 10**9 / RATE)
            found = [a for a in ((serial, due + d) for d in range(-2, 3)) if arrivals[a] > 0]
            if r["cause"] != "proactive":
                rounds[serial].append([])
            if found:
                arrivals[found[0]] -= 1
            elif due < END:
                lost.append(r)
            run[serial] = 0 if found or due >= END else run[serial] + 1
            longest = max(longest, run[serial])
            rounds[serial][-1].append(bool(found) or due >= END)
        assert not +arrivals, (self.key, arrivals)
        done = any(r["dir"] == "close" and r["cause"] == "done" for r in self.end["tx"])
        waits = sum(not any(r) for list_ in rounds.values() for r in (list_[:-1] if done else list_))
        return lost, longest, waits

    def all_came(self, delay):
        return int(self.sent[-1]["t_ns"]) + delay + 10**6 < END

    def row(self, delay, ended):
        """What the table should say."""
        closed, first = self.times("tx", "close"), [int(r["t_ns"]) for r in self.sent]
        fresh = [r for r in self.sent if r["cause"] == "first"]
        again = [r for r in self.sent if r["cause"] != "first"]
        reds = [r for r in self.got if r["cause"] == "ok" and r["colour"] in ("red", "orange")]
        eorp = [r for r in self.sent if r["type"] in ("2", "3")]
        lost, lost_run, waits = self.lost_checkpoints(delay)
        start = first[0]

        def ms(t):
            return None if t is None else t / 1e6

        return {
            "role": "both" if self.end["rx"] else "sender",
            "block_bytes": number(next(r for r in self.end["tx"] if r["dir"] == "open")["length"]),
            "red_bytes": int(eorp[0]["offset"]) + int(eorp[0]["length"]) if eorp else None,
            "outcome": next((r["cause"] for r in self.end["tx"] if r["dir"] == "close"), "unfinished"),
            "t_first_tx_ns": start,
            "t_close_ns": closed[0] if closed else None,
            "duration_ms": ms(closed[0] - start if closed else None),
            "radiation_ms": ms(int(fresh[-1]["t_ns"]) - start),
            "first_rx_ms": ms(int(self.got[0]["t_ns"]) - start if self.got else None),
            "delivery_ms": ms(int(reds[-1]["t_ns"]) - start if reds else None),
            "segments_sent": len(self.sent),
            "segments_first": len(fresh),
            "segments_resent": len(again),
            "segments_received": len(self.got) if self.end["rx"] else None,
            "duplicates": sum(r["cause"] in ("duplicate", "closed_session") for r in self.got) if self.end["rx"] else None,
            "out_of_order": self.out_of_order() if self.end["rx"] else None,
            "bytes_sent": sum(int(r["udp_len"]) for r in self.sent),
            "data_sent": sum(int(r["length"]) for r in self.sent),
            "data_resent": sum(int(r["length"]) for r in again),
            "reports": sum(r["dir"] == "rx" and r["type"] == "8" for r in self.end["tx"]),
            "retx_cycles": self.cycles(),
            "cp_sent": sum(is_checkpoint(r) for r in self.sent),
            "cp_lost": len(lost) if ended else None,
            "cp_lost_run": lost_run if ended else None,
            "cp_waits": waits if ended else None,
            "rto_checkpoint": self.timers("tx", "checkpoint"),
            "rto_report": self.timers("rx", "report") if self.end["rx"] else None,
            "rto_ms": ms(self.rto_total()),
            "lossy": int(len(self.sent) > len(self.got)) if ended and self.all_came(delay) else None,
        }


def sessions_of(rows):
    by_key = defaultdict(list)
    for row in rows:
        if row["session"]:
            by_key[row["originator"], row["session"]].append(row)
    return {key: Session(key, rows) for key, rows in by_key.items() if any(r["dir"] == "tx" for r in rows)}


def same(found, expected, where):
    if expected is None:
        return
    if isinstance(expected, float):
        assert found != "" and abs(float(found) - expected) < 1e-6, (where, found, expected)
    else:
        assert found == str(expected), (where, found, expected)


def without_checkpoints(drops, path):
    """A drop log that misses some. Its rows but for the header."""
    with open(drops, encoding="ascii") as f, open(path, "w", encoding="ascii") as out:
        kept = [line for line in f if line.split(",")[8] not in ("1", "2", "3")]
        out.writelines(kept)


def tables(folder, *arguments):
    """The rows of sessions of which anything was sent, and the summary."""
    run("helio-analyze", "--tables", folder, *arguments)
    with open(os.path.join(folder, "summary.json"), encoding="utf-8") as f:
        return [r for r in read(os.path.join(folder, "sessions.csv")) if r["t_first_tx_ns"]], json.load(f)


def check_model(rows, summary):
    """The decomposition is a sum, of each session and of the mean; its parts are what they should be."""
    d = summary["decomposition"]
    done = [r for r in rows if r["outcome"] == "done"]
    for r in done:
        parts = sum(float(r[c]) for c in ("ideal_ms", "retx_penalty_ms", "cp_penalty_ms", "delta_ms"))
        assert math.isclose(parts, float(r["duration_ms"]), abs_tol=1e-5), r
        assert math.isclose(float(r["retx_penalty_ms"]), int(r["retx_cycles"]) * d["cycle_ms"], abs_tol=1e-5), r
    mean = statistics.mean(float(r["duration_ms"]) for r in done)
    assert math.isclose(d["mean_ms"], mean, rel_tol=1e-9)
    parts = sum(d[k] for k in ("ideal_ms", "retx_penalty_ms", "cp_penalty_ms", "delta_penalties_ms", "delta_ideal_ms"))
    assert math.isclose(parts, mean, rel_tol=1e-9)
    clean = [float(r["duration_ms"]) for r in done if r["lossy"] == "0" and r["retx_cycles"] == "0"
             and r["rto_checkpoint"] == "0"]
    assert (d["ideal_from"] == "loss_free") == (len(clean) > 0)
    if clean:
        assert math.isclose(d["ideal_ms"], sorted(clean)[math.ceil(len(clean) / 2) - 1], rel_tol=0.005)
    lost = statistics.mean(int(r["cp_waits"]) for r in done)
    assert math.isclose(d["cp_penalty_ms"], lost * d["rto_ms"] if lost else 0, rel_tol=1e-9)


def check_series(folder, rows, log):
    bins = read(os.path.join(folder, "series.csv"))
    done = [r for r in rows if r["outcome"] == "done"]
    for r in bins:
        t = int(r["t_ns"])
        closed = [d for d in done if t <= int(d["t_close_ns"]) < t + 10**8]
        assert int(r["sessions"]) == len(closed)
        assert float(r["goodput_bps"]) == 8 * sum(int(d["block_bytes"]) for d in closed) / 0.1
    begin, end = int(log[0]["t_ns"]), int(log[-1]["t_ns"])
    assert all((int(r["t_ns"]) - begin) % 10**8 == 0 and float(r["t_s"]) == (int(r["t_ns"]) - begin) / 1e9 for r in bins)
    assert all(math.isclose(float(r["covered_s"]), min(0.1, (end - int(r["t_ns"])) / 1e9), abs_tol=1e-6) for r in bins)
    sent = sum(int(r["length"]) for r in log if r["dir"] == "tx" and is_data(r))
    assert math.isclose(sum(float(r["sent_bps"]) for r in bins) * 0.1 / 8, sent, rel_tol=1e-6)
    assert sum(int(r["cp_sent"]) for r in bins) == sum(r["dir"] == "tx" and is_checkpoint(r) for r in log)
    assert sum(int(r["rto_checkpoint"]) for r in bins) == sum(r["cause"] == "checkpoint" for r in log)


def check_cdf(folder, rows):
    cdf = [r for r in read(os.path.join(folder, "cdf.csv")) if r["quantity"] == "session"]
    durations = [float(r["duration_ms"]) for r in rows if r["outcome"] == "done"]
    assert sum(int(r["count"]) for r in cdf) == len(durations) and float(cdf[-1]["share"]) == 1
    for r in cdf:
        below = sum(d <= float(r["ms"]) * 1.005 for d in durations) / len(durations)
        above = sum(d <= float(r["ms"]) * 0.995 for d in durations) / len(durations)
        assert above - 1e-9 <= float(r["share"]) <= below + 1e-9, r


def options(seed):
    rng = random.Random(seed)
    delay = rng.choice((3, 5, 20))
    colour = ("red", "red", "red", "green", "orange")[seed % 5]
    return delay * 10**6, colour, [
        "--trace", rng.choice(("iid:0.02", "iid:0.2", "iid:0.5", "A", "H")), "--sessions", str(rng.randint(1, 9)),
        "--rto", rng.choice((f"{rng.choice((1, 4)) * 2 * delay + 7}ms", "auto")), "--delay", f"{delay}ms", "--bundle",
        f"{rng.randint(1, 300)}kB", "--rate", "200Mbit/s", "--duration", "1s", "--seed", str(seed), "--colour", colour,
        *rng.choice(((), ("--processing", "4ms"))), *rng.choice(((), ("--recovery", "default"), ("--copies", "3"))),
        *rng.choice(((), ("--checkpoint-segments", "40"))), *rng.choice(((), ("--claims", "4"))),
        *rng.choice(((), ("--drop-return", "report:every=3"), ("--drop-return", "report:first=400")))]


def check_run(folder, seed):
    log, drops = os.path.join(folder, "log.csv"), os.path.join(folder, "drops.csv")
    delay, colour, chosen = options(seed)
    run("helio-sim", *chosen, "--log", log, "--drop-log", drops)
    rows = read(log)
    sessions = sessions_of(rows)
    plain, summary = tables(os.path.join(folder, "t"), "--bin", "100ms", log)
    assert {(r["originator"], r["session"]) for r in plain} == sessions.keys()
    # before the delay can be known, an arrival may be taken for that of a later copy
    known_at = min((int(s.got[0]["t_ns"]) for s in sessions.values() if s.got and s.got[0]["offset"] == "0"), default=END)
    for r in plain:
        closed = r["outcome"] in ("done", "lost")
        expected = sessions[r["originator"], r["session"]].row(delay, closed)
        assert r["cp_lost_basis"] in (("receiver_log",) if closed else ("receiver_log", "rto")), r
        for column, value in expected.items():
            if r["t_first_tx_ns"] != "" and int(r["t_first_tx_ns"]) < known_at and column in ("cp_lost_run", "cp_waits"):
                continue
            same(r[column], value, (seed, r["session"], column))
    if any(r["outcome"] == "done" for r in plain):
        if None not in summary["decomposition"].values():
            check_model(plain, summary)
        check_cdf(os.path.join(folder, "t"), plain)
    check_series(os.path.join(folder, "t"), plain, rows)
    check_drops(folder, log, drops, plain, known_at)
    if seed <= 4:
        check_clocks(folder, log, plain)
    return len(plain), colour, sum(int(r["cp_lost"]) for r in plain), max(int(r["cp_lost_run"]) for r in plain)


def parts(log, folder):
    """The log of each end."""
    paths = [os.path.join(folder, f"{node}.csv") for node in (1, 2)]
    with open(log, encoding="ascii") as f, open(paths[0], "w", encoding="ascii") as one, \
         open(paths[1], "w", encoding="ascii") as two:
        header = next(f)
        for out in (one, two):
            out.write(header)
        for line in f:
            (one if line.split(",", 3)[2] == "1" else two).write(line)
    return paths


def check_clocks(folder, log, plain):
    """The receiver's clock is another one: the counts are the same."""
    one, two = parts(log, folder)
    with open(two, encoding="ascii") as f:
        header = next(f)
    known = {(r["originator"], r["session"]): r for r in plain if r["outcome"] in ("done", "lost")}
    for ahead in (10**8, 10**11, 3600 * 10**9):
        for clocks in ((one, 0), (two, ahead)), ((one, ahead), (two, 0)):
            for name, by in clocks:
                with open(name, encoding="ascii") as f, open(name + ".shifted", "w", encoding="ascii") as out:
                    next(f)
                    out.write(header)
                    for line in f:
                        t, rest = line.split(",", 1)
                        out.write(f"{int(t) + by},{rest}")
            found, _ = tables(os.path.join(folder, "c"), one + ".shifted", two + ".shifted")
            found = {(r["originator"], r["session"]): r for r in found}
            for key, row in known.items():
                if int(row["t_close_ns"]) > END - 10**8:
                    continue
                for column in ("role", "outcome", "duration_ms", "segments_received", "duplicates", "retx_cycles", "cp_lost", "lossy"):
                    assert found[key][column] == row[column], (ahead, key, column, found[key][column], row[column])


def check_drops(folder, log, drops, plain, known_at):
    """With the drop log the sender's log alone shows what both ends' logs do; a drop log that misses some does not. In
    whatever order they are given."""
    one, two = parts(log, folder)
    into = os.path.join(folder, "d")
    assert tables(into, one, two)[0] == tables(into, two, one)[0] == plain
    joined, _ = tables(into, drops, one)
    assert tables(into, one, drops)[0] == joined
    known = {(r["originator"], r["session"]): r for r in plain}
    dropped = Counter((d["originator"], d["session"]) for d in read(drops) if d["type"] and int(d["type"]) < 8)
    for r in joined:
        other = known[r["originator"], r["session"]]
        assert int(r["dropped"]) == dropped[r["originator"], r["session"]]
        if r["outcome"] not in ("done", "lost") or int(r["t_close_ns"]) > END - 10**8:
            continue
        assert r["cp_lost_basis"] == "drop_log" and other["cp_lost_basis"] == "receiver_log"
        columns = ("cp_lost", "lossy", "retx_cycles", "cp_lost_run", "cp_waits")
        for column in columns[:3] if int(r["t_first_tx_ns"]) < known_at else columns:
            assert r[column] == other[column], (r["session"], column, r[column], other[column])
        assert int(r["dropped"]) == int(other["segments_sent"]) - int(other["segments_received"] or 0)
    three, _ = tables(into, "--drops", drops, log)
    assert {r["cp_lost_basis"] for r in three if r["outcome"] in ("done", "lost")} <= {"drop_log"}
    assert three == tables(into, drops, two, one)[0] == tables(into, two, drops, one)[0]
    if any(int(r["cp_lost"]) for r in plain if r["outcome"] == "done"):
        less = os.path.join(folder, "less.csv")
        without_checkpoints(drops, less)
        _, summary = tables(into, less, log)
        assert summary["cp_lost_basis"] in ("mixed", "receiver_log") and summary["cp_lost_elsewhere"] > 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        total = [check_run(folder, seed) for seed in range(1, 21)]
    assert sum(t[2] for t in total) > 20 and max(t[3] for t in total) > 1, total
    assert {t[1] for t in total} == {"red", "green", "orange"}
    print(f"{sum(t[0] for t in total)} sessions, {sum(t[2] for t in total)} checkpoints lost, as computed twice")


main()
