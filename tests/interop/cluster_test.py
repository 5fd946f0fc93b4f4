#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""helio-campaign beyond one machine: workers of dask.distributed, array jobs of Slurm, results as Parquet in a folder and in a store that speaks S3.

A wrapper around helio-sim counts what was computed. Slurm's part is what sbatch does with the file: the tasks of its --array line, each with its number.

usage: cluster_test.py BIN SOURCE OUT ENVIRONMENT
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import _paths  # noqa: F401
from heliograph import ports  # noqa: E402

BIN, SOURCE, OUT = (Path(a).resolve() for a in sys.argv[1:4])
PYTHON = Path(sys.argv[4]).absolute() / "bin"
CAMPAIGN = """title: A cluster
repetitions: 3
set: {duration: 20s, rate: 200Mbit/s}
experiments:
  - name: one
    sweep: {trace: [A, F], sessions: [2, 4]}
  - name: two
    set: {trace: H}
    sweep: {sessions: [4]}
"""
RUNS = 15
PAGE = (SOURCE / "docs/helio-campaign.md").read_text(encoding="utf-8")


def environment(**more):
    return {**os.environ, "PATH": f"{OUT / 'bin'}:{PYTHON}:{os.environ['PATH']}", "PYTHONPATH": str(SOURCE / "lab"), "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "warning", **more}


def campaign(*options, code=0, **more):
    command = [PYTHON / "python", BIN / "helio-campaign", OUT / "c.yaml", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, env=environment(), **more)
    assert done.returncode == code, (options, done.returncode, done.stdout, done.stderr)
    return done


def results(folder):
    """Of each run, without what differs from machine to machine."""
    found = {}
    for path in (OUT / folder / "runs").glob("*/result.json"):
        result = json.loads(path.read_text())
        found[result["key"]] = {k: v for k, v in result.items() if k != "command"}
    return found


def computed():
    """What the workers' simulators were called with, one line for each call that simulates."""
    path = OUT / "computed"
    return path.read_text().splitlines() if path.exists() else []


@contextlib.contextmanager
def running(*commands, ready=None):
    """Processes in groups of their own; ended at the end."""
    with contextlib.ExitStack() as stack:
        started = []
        for command in commands:
            log = stack.enter_context(open(OUT / f"{len(started)}-{Path(command[0]).name}.log", "w", encoding="utf-8"))
            p = subprocess.Popen([str(c) for c in command], stdout=log, stderr=subprocess.STDOUT, env=environment(), start_new_session=True)
            stack.callback(p.wait, 60)
            stack.callback(end, p)
            started.append(p)
        if ready:
            until = time.monotonic() + 60
            while not ready():
                assert time.monotonic() < until and all(p.poll() is None for p in started), commands
                time.sleep(0.05)
        yield started


def end(p):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(p.pid, signal.SIGKILL)


def listens(port):
    import socket
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def setUpModule():
    shutil.rmtree(OUT, ignore_errors=True)
    (OUT / "bin").mkdir(parents=True)
    (OUT / "c.yaml").write_text(CAMPAIGN)
    for name in ("helio-trace", "helio-analyze", "heliod"):
        (OUT / "bin" / name).symlink_to(BIN / name)
    (OUT / "bin" / "helio-sim").write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) ;; *) echo "$*" >> {OUT}/computed ;; esac\nexec {BIN}/helio-sim "$@"\n')
    (OUT / "bin" / "helio-sim").chmod(0o755)
    campaign("--out", OUT / "here", "--no-report")
    assert len(results("here")) == RUNS


class Dask(unittest.TestCase):
    def setUp(self):
        (OUT / "computed").unlink(missing_ok=True)

    @contextlib.contextmanager
    def cluster(self, workers):
        port, = ports.free_ports(1)
        address = f"tcp://127.0.0.1:{port}"
        with running([PYTHON / "dask", "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"], ready=lambda: listens(port)):
            worker = [PYTHON / "dask", "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", OUT / "scratch"]
            with running(*[worker] * workers) as started:
                yield address, started

    def test_a_killed_worker_costs_its_run_only(self):
        with self.cluster(2) as (address, workers):
            command = [PYTHON / "python", BIN / "helio-campaign", OUT / "c.yaml", "--out", OUT / "dask", "--no-report", "--dask", address]
            p = subprocess.Popen([str(c) for c in command], stderr=subprocess.PIPE, text=True, env=environment())
            until = time.monotonic() + 120
            while len(results("dask")) < 4:
                self.assertIsNone(p.poll(), p.stderr.read() if p.poll() is not None else "")
                self.assertLess(time.monotonic(), until)
                time.sleep(0.02)
            end(workers[0])
            _, said = p.communicate(timeout=300)
        self.assertEqual(p.returncode, 0, said)
        self.assertEqual(results("dask"), results("here"))
        again = len(computed()) - RUNS
        self.assertIn(again, (0, 1), computed())  # 0: it was killed between two runs
        self.assertEqual([p.name for p in (OUT / "dask/runs").iterdir() if p.name.startswith(".")], [])
        campaign("--out", OUT / "dask", "--no-report", "--dask", "tcp://127.0.0.1:9")  # nothing is left to do: no scheduler is needed
        self.assertEqual(len(computed()), RUNS + again)

    def test_other_versions_and_files_are_refused(self):
        with self.cluster(1) as (address, _):
            (OUT / "other").mkdir()
            with open(OUT / "c.yaml", encoding="utf-8") as f:
                text = f.read()
            code = ("import sys; from heliograph.campaign import cluster, file; runs = file.load(sys.argv[1]).runs(); "
                    "cluster.VERSION = sys.argv[3]; print([str(why) for _, why in cluster.each(runs[:1], sys.argv[4], sys.argv[2] + '/o', sys.argv[2])])")
            for version, path, said in (("9.9", OUT / "c.yaml", "this worker has Heliograph"), (None, OUT / "other/c.yaml", "has other contents at this worker")):
                (OUT / "other/c.yaml").write_text(text.replace("20s", "21s"))
                from heliograph import VERSION
                done = subprocess.run([PYTHON / "python", "-c", code, OUT / "c.yaml", address, version or VERSION, path], capture_output=True, text=True, check=False,
                                      env=environment(), timeout=120, cwd=OUT)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(said, done.stdout)

    def test_no_scheduler(self):
        done = campaign("--out", OUT / "none", "--no-report", "--dask", "tcp://127.0.0.1:9", code=1)
        self.assertRegex(done.stderr, "no scheduler of dask answers at tcp://127.0.0.1:9.*start one with: dask scheduler")

    def test_real_time_is_refused(self):
        for option in ("--dask=tcp://127.0.0.1:9", f"--slurm={OUT / 'none'}"):
            done = campaign("--mode", "relay", option, code=2)
            self.assertRegex(done.stderr, "mode relay measures in real time and needs the machine for itself; --list")


class Slurm(unittest.TestCase):
    def task(self, script, number, **more):
        return subprocess.Popen(["bash", script], env=environment(SLURM_ARRAY_TASK_ID=str(number)), stdout=subprocess.DEVNULL, start_new_session=True, **more)

    def test_array(self):
        done = campaign("--out", OUT / "slurm", "--slurm", OUT / "job", "--jobs", "4")
        script = OUT / "job/array.sh"
        self.assertIn(f"{RUNS} runs; submit them with: sbatch {script}", done.stderr)
        said = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", script.read_text(), re.M))
        self.assertEqual((said["array"], said["job-name"]), (f"1-{RUNS}%4", "c"))
        tasks = [self.task(script, i) for i in (1, 2)]
        tasks[0].wait(60)
        end(tasks[1])  # a node fails
        tasks[1].wait(60)
        for i in range(2, RUNS + 1):
            self.assertEqual(self.task(script, i).wait(120), 0)
        self.assertEqual(results("slurm"), results("here"))
        self.assertIn("every run is done", campaign("--out", OUT / "slurm", "--slurm", OUT / "job").stderr)

    def test_more_runs_than_tasks(self):
        from heliograph.campaign import cluster
        (OUT / "many").mkdir()
        lines = [f"echo {i} >> {OUT / 'many/done'}" for i in range(cluster.TASKS_MAX + 5)]
        script = cluster.write_slurm("many", str(OUT / "many"), lines, None)
        for i in (1, 5, 6, cluster.TASKS_MAX):
            self.assertEqual(self.task(script, i).wait(60), 0)
        self.assertEqual((OUT / "many/done").read_text().split(), ["0", str(cluster.TASKS_MAX), "4", str(cluster.TASKS_MAX + 4), "5", str(cluster.TASKS_MAX - 1)])

    def test_a_failed_run_fails_its_task(self):
        from heliograph.campaign import cluster
        script = cluster.write_slurm("wrong", str(OUT / "wrong"), ["false"], None)
        self.assertEqual(self.task(script, 1).wait(60), 1)


def documented(program):
    """The query of the page, with its places replaced."""
    return re.search(rf"```(?:sh|python)\n([^`]*\b{program}\b[^`]*)```", PAGE)[1]


class Parquet(unittest.TestCase):
    def query(self, place, **more):
        """What the documented queries print, as CSV: of DuckDB, of Polars."""
        commands = (["bash", "-c", documented("duckdb").replace("duckdb -c", "duckdb -csv -c")], [PYTHON / "python", "-c", documented("polars").replace(".collect())", ".collect().write_csv())")])
        found = []
        for command in commands:
            done = subprocess.run([str(c).replace("/shared/results", place) for c in command], capture_output=True, text=True, check=False, env=environment(**more), timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            found.append([line.split(",") for line in done.stdout.split()[1:]])
        return found

    def expected(self):
        found = {}
        for path in (OUT / "here/runs").glob("*/run.json"):
            values = json.loads(path.read_text())["parameters"]
            result = json.loads((path.parent / "result.json").read_text())
            found.setdefault((values["trace"], int(values["sessions"])), []).append(result["goodput_bps"] / 1e6)
        return {key: sum(values) / len(values) for key, values in found.items()}

    def compare(self, place, **more):
        wanted = {key: round(mean, 6) for key, mean in self.expected().items()}
        for rows in self.query(place, **more):
            self.assertEqual({(trace, int(sessions)): round(float(goodput), 6) for trace, sessions, goodput in rows}, wanted)

    def test_folder(self):
        for _ in range(2):  # the second time replaces the first
            done = campaign("--out", OUT / "here", "--no-report", "--parquet", OUT / "set")
            self.assertIn(f"{RUNS} results are in {OUT / 'set'}", done.stderr)
        self.assertEqual({p.parent.relative_to(OUT / "set").as_posix() for p in (OUT / "set").rglob("*.parquet")},
                         {"campaign=c/mode=sim/experiment=one", "campaign=c/mode=sim/experiment=two"})
        self.compare(str(OUT / "set"))

    def test_s3(self):
        port, = ports.free_ports(1)
        keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
        with running([PYTHON / "moto_server", "-H", "127.0.0.1", "-p", port], ready=lambda: listens(port)):
            made = subprocess.run([PYTHON / "python", "-c", "import boto3; boto3.client('s3').create_bucket(Bucket='results')"], env=environment(**keys), check=False, capture_output=True, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            command = [PYTHON / "python", BIN / "helio-campaign", OUT / "c.yaml", "--out", OUT / "here", "--no-report", "--parquet", "s3://results/set"]
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, env=environment(**keys), timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            code = ("import polars, sys; t = polars.scan_parquet('s3://results/set/**/*.parquet', hive_partitioning=True, storage_options={'aws_endpoint_url': sys.argv[1], "
                    "'aws_allow_http': 'true', 'aws_region': 'us-east-1', 'aws_access_key_id': 'x', 'aws_secret_access_key': 'y'}).collect(); print(t.height, sorted(set(t['experiment'])))")
            read = subprocess.run([PYTHON / "python", "-c", code, keys["AWS_ENDPOINT_URL"]], capture_output=True, text=True, check=False, env=environment(**keys), timeout=120)
            self.assertEqual(read.stdout.strip(), f"{RUNS} ['one', 'two']", read.stderr)

    def test_no_result(self):
        done = campaign("--out", OUT / "empty", "--report", "--no-report", "--parquet", OUT / "set2", code=1)
        self.assertIn("has no finished run", done.stderr)

    def test_a_place_that_cannot_be_written(self):
        done = campaign("--out", OUT / "here", "--no-report", "--parquet", "/proc/none", code=1)
        self.assertRegex(done.stderr, "^helio-campaign: --parquet /proc/none: ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
