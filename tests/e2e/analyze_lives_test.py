# SPDX-License-Identifier: Apache-2.0
"""The table of bundles' stays, computed a second time here, from the rows of random runs of helio-sim with three nodes in a
line: by what each row leaves behind instead of what leads to it, and a stay is known when its rows read as a sentence of a
grammar. Then the same from logs that are cut off: what stands there must be what the whole logs say. usage: analyze_lives_test.py BIN"""

import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict

BIN = sys.argv[1]
PARTS = ("store", "apart", "queue", "link", "session", "application")
AFTER = {"accepted": "store", "stored": "queue", "assembled": "queue", "waiting": "apart", "queued": "queue", "sent": "link",
         "carried": "session", "acknowledged": "queue", "fragmented": "queue", "failed": "queue", "lost": "queue", "handed": "application",
         "delivered": "queue", "declined": "queue"}
LETTER = {"accepted": "A", "stored": "S", "restored": "R", "assembled": "M", "waiting": "w", "queued": "q", "sent": "s",
          "carried": "c", "acknowledged": "a", "fragmented": "g", "failed": "f", "lost": "l", "handed": "h", "delivered": "d", "declined": "x",
          "unread": "u", "ended": "E", "refused": "N"}
LIFE = re.compile(r"(?:AN|(?:AS|M)(?:[wqu]|sc?[afgl]|h[dx]|d)*h?E)")
BEGIN = ("accepted", "restored", "assembled")
ID = ("source", "created_ms", "sequence", "fragment_offset", "adu_length")


def run(name, *arguments, cwd=None, codes=(0,)):
    done = subprocess.run([os.path.join(BIN, name), *arguments], capture_output=True, text=True, timeout=1400, check=False, cwd=cwd)
    assert done.returncode in codes, (name, arguments, done.stderr)
    return done.stdout


def read(path):
    with open(path, newline="", encoding="ascii") as f:
        return list(csv.DictReader(f))


def ms(ns):
    return f"{ns // 10**6}.{ns % 10**6:06}"


def write_world(folder, r):
    """Three nodes in a line; the second link is unreliable in some runs, and what it carries shares blocks in others."""
    colour = r.choice(["red", "red", "orange"])
    for number in (1, 2, 3):
        lines = [f"node: ipn:{number}.0", f"socket: {number}.sock", "store: {durability: none}",
                 f"bundles: {{retry_min: 100ms, retry_max: 1s, status_reports: {r.choice(['yes', 'no'])}}}", "links:"]
        for other in (number - 1, number + 1):
            if not 1 <= other <= 3:
                continue
            keys = {"rate": "50Mbit/s", "rto": "60ms", "sessions": r.choice([2, 8])}
            if {number, other} == {2, 3}:
                keys |= {"colour": colour} | ({"recovery": "{resend: 2}"} if colour == "orange" else {}) | \
                    ({"aggregate": "20kB", "aggregate_time": "5ms"} if r.random() < 0.5 else {})
            text = ", ".join(f"{key}: {value}" for key, value in keys.items())
            lines.append(f"  - {{name: to-{other}, adapter: ltp-udp, peer: ipn:{other}.0, local: 10.0.{number}.{other}:1, "
                         f"remote: 10.0.{other}.{number}:1, {text}}}")
        if number != 2:
            lines += ["routes:", f'  - {{to: "ipn:{4 - number}.*", via: to-2}}']
        with open(f"{folder}/{number}.yaml", "w", encoding="ascii") as f:
            f.write("\n".join(lines) + "\n")
    with open(f"{folder}/link.yaml", "w", encoding="ascii") as f:
        f.write(f"both: {{delay: {r.choice([2, 20])}ms, erasures: {{iid: {r.choice([0.001, 0.02])}}}}}\n")


def simulate(folder, r, seed):
    write_world(folder, r)
    size, lifetime = r.choice([3000, 40000]), r.choice([1, 60])
    nodes = [f"--node={n}.yaml" for n in (1, 2, 3)]
    down = r.choice([(1, 2), (2, 3)])
    links = [f"--link={at} ipn:{down[0]}.0 to-{down[1]} {state}" for at, state in (("300ms", "down"), ("1800ms", "up"))]
    run("helio-sim", *nodes, "--channel", "1-2=link.yaml", "--channel", "2-3=link.yaml", *links, f"--seed={seed}",
        "--client", f"-d ipn:3.2000 -T 2 -W 12 -P {size} --lifetime {lifetime}", "--log-dir", "l", cwd=folder, codes=(0, 1))  # 1: some expired


def analyze(folder, out):
    files = sorted(os.path.join(folder, f) for f in os.listdir(folder) if "bundles" in f or "segments" in f)
    summary = json.loads(run("helio-analyze", "--json", "--tables", out, *files))
    return read(f"{out}/bundles.csv"), read(f"{out}/sessions.csv"), summary["bundles"]


def split_stays(rows):
    """The rows of each stay."""
    stays, at = [], {}
    for row in rows:
        if row["key"] == "":
            continue
        place = row["node"], row["key"]
        if row["event"] in BEGIN or place not in at:
            at[place] = []
            stays.append(at[place])
        at[place].append(row)
        if row["event"] == "ended" or (row["event"] == "refused" and row["key"]):
            del at[place]
    return stays


class Stay:
    def __init__(self, rows, sessions):
        self.rows = rows
        self.first, self.last = rows[0], rows[-1]
        self.id = tuple(self.first[c] for c in ID)
        self.node = self.first["node"]
        self.known = LIFE.fullmatch("".join(LETTER[row["event"]] for row in rows)) is not None
        self.begun = int(self.first["t_ns"]) if self.first["event"] in ("accepted", "assembled") else None
        self.ended = int(self.last["t_ns"]) if self.last["event"] in ("ended", "refused") else None
        self.at = {row["event"]: row for row in rows}  # the last of each
        self.sessions = sessions
        self.hop = None
        self.next = None

    def time(self, event):
        return int(self.at[event]["t_ns"]) if event in self.at else None

    def parts(self):
        """Each stretch of time belongs to what the row before it left the bundle in."""
        spent, state = dict.fromkeys(PARTS, 0), None
        for row, following in zip(self.rows, self.rows[1:]):
            state = AFTER.get(row["event"], state)
            spent[state] += int(following["t_ns"]) - int(row["t_ns"])
        return spent

    def is_source(self):
        return self.begun is not None and self.first["from"] != "link" and self.first["event"] == "accepted"

    def columns(self, source):
        out = dict(zip(ID, self.id)) | {
            "destination": self.first["destination"], "node": self.node, "key": self.first["key"], "from": self.first["from"],
            "link_in": self.first["link"] if self.first["event"] == "accepted" else "", "bytes": self.first["bytes"],
            "payload": self.first["payload"], "begun_ns": str(self.begun) if self.begun is not None else "",
            "ended_ns": str(self.ended) if self.ended is not None else "", "hop": str(self.hop) if self.hop else "",
            "end": "" if self.ended is None else "not_stored" if self.last["event"] == "refused" else self.last["reason"]}
        if self.known:
            out |= {f"{part}_ms": ms(spent) for part, spent in self.parts().items()}
            for column, event in (("tries", "sent"), ("failed", "failed"), ("lost", "lost")):
                out[column] = str(sum(row["event"] == event for row in self.rows))
            out["link_out"] = self.at["sent"]["link"] if "sent" in self.at else ""
            out["retention_ms"] = ms(self.ended - self.begun)
            if "carried" in self.at:
                out |= self.session_columns()
        if self.next is not None:
            out |= {"next_node": self.next.node, "next_ms": ms(self.next.begun - self.time("sent"))}
        delivered = self.time("delivered")
        if source is not None and delivered is not None:
            out["total_ms"] = ms(delivered - source.begun)
        return out

    def session_columns(self):
        row = self.at["carried"]
        out = {"originator": row["originator"], "session": row["session"]}
        session = self.sessions.get((row["originator"], row["session"]))
        if session is not None and session["role"] != "receiver":
            first = session["t_first_tx_ns"]
            if first and int(first) >= int(row["t_ns"]):
                out["ltp_wait_ms"] = ms(int(first) - int(row["t_ns"]))
            if session["outcome"] == "done":
                out["ltp_ms"] = session["duration_ms"]
            if session["t_close_ns"]:
                out["ltp_cycles"] = session["retx_cycles"]
        return out


def number_hops(source, there):
    """From the source on: the next stay is one further, and so is each copy that one of several tries brought."""
    if source is not None:
        source.hop = 1
    for stay in sorted(there, key=lambda s: int(s.first["t_ns"])):
        if stay.hop is None:
            continue
        tries = [int(row["t_ns"]) for row in stay.rows if row["event"] == "sent"]
        copies = [s for s in there if stay.known and len(tries) > 1 and s.begun is not None and s.node == stay.at["sent"]["peer"]
                  and s.first["peer"] == stay.node and tries[0] <= s.begun <= stay.ended]
        for following in copies + ([stay.next] if stay.next is not None else []):
            following.hop = following.hop or stay.hop + 1


def join(stays):
    """Where each went on, along both ends' word for the link; and from its source."""
    by_id = defaultdict(list)
    for stay in stays:
        by_id[stay.id].append(stay)
    sources = {}
    for bundle, there in by_id.items():
        sources[bundle] = next((s for s in there if s.is_source()), None)
        for stay in there:
            if not stay.known or "sent" not in stay.at:
                continue
            after = [s for s in there if s.begun is not None and s.node == stay.at["sent"]["peer"]
                     and s.first["peer"] == stay.node and s.begun >= stay.time("sent") and s is not stay]
            stay.next = min(after, key=lambda s: s.begun, default=None)
        number_hops(sources[bundle], there)
    return sources


def compare(folder, out):
    table, sessions, summary = analyze(folder, out)
    rows = []
    for name in sorted(n for n in os.listdir(folder) if "bundles" in n):
        rows += read(f"{folder}/{name}")
    by_session = {(s["originator"], s["session"]): s for s in sessions}
    stays = [Stay(part, by_session) for part in split_stays(sorted(rows, key=lambda row: int(row["t_ns"])))]
    sources = join(stays)
    expected = {(s.node, s.first["key"], s.begun): s.columns(sources[s.id]) for s in stays}
    assert len(table) == len(stays) == summary["stays"], (len(table), len(stays))
    restarted = 0
    for row in table:
        want = expected.pop((row["node"], row["key"], int(row["begun_ns"]) if row["begun_ns"] else None))
        for column, value in row.items():
            if column == "restarts":
                restarted += value not in ("", "0")
            else:
                assert value == want.get(column, ""), (column, value, want.get(column, ""), row)
    assert restarted == 0 and expected == {}
    check_summary(stays, summary)
    return table, stays


def check_summary(stays, summary):
    assert summary["source_to_application"] == sum("delivered" in s.at and s.begun is not None for s in stays)
    for node in summary["nodes"]:
        here = [s for s in stays if s.node == node["node"]]
        known = [s for s in here if s.known]
        assert node["stays"] == len(here) and node["known"] == len(known)
        assert node["unfinished"] == sum(s.ended is None for s in here)
        assert sum(node["ended"].values()) == sum(s.ended is not None for s in here)
        whole = [s.ended - s.begun for s in here if s.ended is not None and s.begun is not None]
        if whole:
            assert abs(node["retention_ms"]["mean"] - sum(whole) / len(whole) / 1e6) < 1e-3, node
        for part in PARTS if known else ():
            mean = sum(s.parts()[part] for s in known) / len(known) / 1e6
            assert abs(node["parts_ms"][part] - mean) < 1e-3, (node, part)
        # the parts are all of it
        for s in known:
            assert sum(s.parts().values()) == s.ended - s.begun
    ways = defaultdict(list)
    for s in stays:
        if s.next is not None:
            ways[s.node, s.next.node].append(s.next.begun - s.time("sent"))
    assert {(w["from"], w["to"]): w["bundles"] for w in summary["hops"]} == {k: len(v) for k, v in ways.items()}
    for w in summary["hops"]:
        assert abs(w["time_ms"]["max"] - max(ways[w["from"], w["to"]]) / 1e6) < 1e-6


def cut(folder, r, target):
    """Each log loses its end, its beginning, or all, or nothing."""
    os.makedirs(target)
    for name in sorted(n for n in os.listdir(folder) if "bundles" in n or "segments" in n):
        with open(f"{folder}/{name}", "rb") as f:
            data = f.read()
        header = data.index(b"\n") + 1
        how, at = r.choice(["end", "beginning", "whole", "gone"]), header + int(r.random() * (len(data) - header))
        if how == "gone" and "bundles" in name:
            continue
        if how == "end":
            data = data[:at]
        elif how == "beginning":
            data = data[:header] + data[data.index(b"\n", at - 1) + 1:]
        with open(f"{target}/{name}", "wb") as f:
            f.write(data)


def compare_cut(whole, folder, out):
    """Nothing that the whole logs do not say."""
    if not any("bundles" in n for n in os.listdir(folder)):
        return 0
    there = defaultdict(list)
    for row in whole:
        there[row["node"], row["key"]].append(row)
    fewer = 0
    for row in analyze(folder, out)[0]:
        same = there[row["node"], row["key"]]
        assert len(same) == 1
        for column, value in row.items():
            assert value in ("", same[0][column]), (column, value, same[0][column], row)
            fewer += value != same[0][column]
    return fewer


def main():
    seen, fewer = defaultdict(int), 0
    for seed in range(1, 7):
        r = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            simulate(folder, r, seed)
            table, stays = compare(f"{folder}/l", f"{folder}/out")
            alone = [f"{folder}/l/{name}" for name in sorted(os.listdir(f"{folder}/l")) if ".bundles." in name]
            told = run("helio-analyze", *alone).splitlines()
            assert told[-1] == f"{len(alone)} files" and "rows of bundle logs" in told[-2] and "no sessions" not in told, told
            for stay in stays:
                for row in stay.rows:
                    seen[row["event"]] += 1
                seen[stay.last["reason"]] += 1
                seen["hop 3"] += stay.hop == 3
            for k in range(6):
                cut(f"{folder}/l", r, f"{folder}/c{k}")
                fewer += compare_cut(table, f"{folder}/c{k}", f"{folder}/o{k}")
    print(f"{dict(seen)}; {fewer} fields that cut logs do not tell")
    for word in ("accepted", "stored", "queued", "sent", "carried", "acknowledged", "failed", "handed", "delivered", "ended", "forwarded",
                 "expired", "hop 3"):
        assert seen[word] > 0, word
    assert fewer > 1000


main()
