# SPDX-License-Identifier: Apache-2.0
"""helio-campaign: runs what a campaign file asks for, keeps what is done, and makes the report."""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import VERSION, places, programs, units
from ..arguments import Parser
from ..processes import Failed, Missing, Mistaken
from . import file, run as campaign_run, sim, traces as campaign_traces

EPILOG = """examples:
  helio-campaign campaigns/paper-quick.yaml                 # run, then report
  helio-campaign campaigns/paper.yaml --mode relay --out out/relay
  helio-campaign campaigns/paper.yaml --list | parallel     # a command a run
  helio-campaign campaigns/paper.yaml --dask tcp://10.0.0.1:8786
  helio-campaign campaigns/paper.yaml --report              # no new runs

A run that is done is not done again. Ctrl-C keeps what is done.
exit codes: 0 done, 1 a run failed, 2 wrong usage or campaign file"""

FAILURES = (programs.ProgramError, Failed, OSError, subprocess.TimeoutExpired)  # of one run: the others continue


def whole(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"\"{text}\" is not understood; write a whole number from 1")
    return int(text)


def arguments() -> Parser:
    p = Parser(prog="helio-campaign", epilog=EPILOG, description="Runs a campaign of LTP experiments and makes its report.")
    p.add_argument("file", nargs="?", metavar="CAMPAIGN.yaml")
    p.add_argument("--out", metavar="DIR", help="folder of runs and report (default out/NAME)")
    p.add_argument("--mode", choices=file.MODES, help="sim: virtual time; relay: real processes; bridge: network "
                                                               "namespaces, needs root (default: as the file says)")
    p.add_argument("--jobs", type=whole, metavar="N", help="runs at once in mode sim (default: cores)")
    p.add_argument("--check", action="store_true", help="say what would be run, and whether the file is right")
    p.add_argument("--list", action="store_true", help="print a command for each run that is not done yet")
    p.add_argument("--dask", metavar="ADDRESS", help="workers of this scheduler of dask.distributed do the runs, such as tcp://127.0.0.1:8786")
    p.add_argument("--slurm", metavar="DIR", help="write an array job for Slurm with the runs that are not done: DIR/array.sh")
    p.add_argument("--parquet", metavar="PLACE", help="also write the results as a partitioned Parquet data set: a folder, or s3://BUCKET/PATH")
    p.add_argument("--only", metavar="KEY", help="do this run only, without a report (of --list)")
    p.add_argument("--report", action="store_true", help="only make the report of what is done")
    p.add_argument("--no-report", action="store_true", help="only do the runs")
    p.add_argument("--against", metavar="DIR", action="append", default=[],
                   help="compare with the runs of the same campaign in another folder (another mode)")
    p.add_argument("--json", action="store_true", help="print the results as JSON")
    p.add_argument("--version", action="store_true", help="print the version and exit")
    return p


def remaining(started: float, done: int, left: int) -> str:
    if done == 0:
        return "?"
    seconds = (time.monotonic() - started) / done * left
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


class Runner:
    def __init__(self, campaign: file.Campaign, out: str, jobs: int, dask: str | None = None) -> None:
        """dask: the address of a scheduler whose workers do the runs."""
        self.campaign, self.out, self.dask = campaign, out, dask
        self.jobs = jobs if campaign.mode == "sim" else 1  # what is measured in real time has the machine to itself
        self.traces = campaign_traces.Traces(out)
        self.children = campaign_run.Children()

    def todo(self) -> list[file.Run]:
        return [run for run in self.campaign.runs() if campaign_run.result_of(self.out, run) is None]

    def one(self, run: file.Run) -> dict[str, Any]:
        return campaign_run.execute(run, self.out, self.traces, self.children.run)

    def each(self, runs: list[file.Run]) -> Iterator[tuple[Any, ...]]:
        """Executes the runs; yields (run, None or the error) as each ends."""
        if self.dask:
            from . import cluster
            yield from cluster.each(runs, self.campaign.path, self.out, self.dask)
            return
        if self.campaign.mode != "sim":
            # In this thread, so that an interruption ends the processes of the run.
            for run in runs:
                yield run, self.attempt(run)
            return
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            futures = {pool.submit(self.attempt, run): run for run in runs}
            try:
                for future in concurrent.futures.as_completed(futures):
                    yield futures[future], future.result()
            except (KeyboardInterrupt, GeneratorExit):
                self.children.stop()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def attempt(self, run: file.Run) -> Any:
        """None or the error."""
        try:
            self.one(run)
        except FAILURES as e:
            return e
        return None

    def all(self) -> bool:
        runs = self.todo()
        known, total = len(self.campaign.runs()) - len(runs), len(self.campaign.runs())
        progress = programs.Progress("helio-campaign")
        failed: list[Any] = []
        missing: list[Any] = []
        started, done = time.monotonic(), 0
        progress.show(f"{known} of {total} runs")
        try:
            for run, why in self.each(runs):
                done += 1
                if why:
                    (missing if isinstance(why, Missing) else failed).append((run, why))
                progress.show(f"{known + done} of {total} runs, {remaining(started, done, len(runs) - done)} left"
                              f"{f', {len(failed)} failed' if failed else ''}")
        except KeyboardInterrupt:
            progress.end()
            kept = total - len(self.todo())
            print(f"helio-campaign: interrupted; {kept} of {total} runs are kept in {self.out}", file=sys.stderr)
            raise
        finally:
            progress.end()
        for run, why in failed:
            print(f"helio-campaign: {run.folder}: {why}", file=sys.stderr)
        for why in dict.fromkeys(str(why) for _, why in missing):
            count = sum(str(one) == why for _, one in missing)
            print(f"helio-campaign: left out: {count} of {total} runs: {why}", file=sys.stderr)
        return not failed and (not missing or known + done > len(missing))  # a campaign of which nothing could be run has failed


def look_closer(campaign: file.Campaign, traces: campaign_traces.Traces) -> list[str]:
    """What runs would stumble over, each once: traces that cannot be read, keys of labs that no program knows."""
    from . import lab
    found = {}

    def look(what: Callable[..., Any], *arguments: file.Run | str) -> None:
        try:
            what(*arguments)
        except (programs.ProgramError, places.PlacesError) as e:
            found.update(dict.fromkeys(f"{campaign.path}: {line}" if campaign.lab else line for line in str(e).splitlines()))

    for run in campaign.runs():
        if campaign.lab and run.repetition == 1:
            look(lab.check, run)
        elif campaign.kind == "ltp" and not campaign.lab:
            for name in ("trace", "return-trace"):
                path = file.trace_file(run.values.get(name, "none"), run.folder_base)
                if path is not None:
                    look(traces.info, path)
    return file.shortened(list(found), "")


def tell_doubts(campaign: file.Campaign) -> None:
    for text, line in campaign.doubts.items():
        print(f"helio-campaign: {campaign.path}:{line}: WARNING: {text}", file=sys.stderr)


def describe(campaign: file.Campaign, out: str) -> None:
    runs = campaign.runs()
    virtual = sum(units.duration(run.values.get("duration", "0")) for run in runs)
    print(f"{campaign.path}: {campaign.title}")
    for e in campaign.experiments:
        swept = ", ".join(f"{name} {' '.join(map(str, values))}" for name, values in e.sweep.items())
        print(f"  {e.name}: {len({run.key for run in e.runs})} runs ({swept})")
    done = sum(campaign_run.result_of(out, run) is not None for run in runs)
    print(f"mode {campaign.mode}, {campaign.repetitions} repetitions, {len(runs)} different runs ({done} done)"
          f"{f', {units.duration_text(virtual)} of traffic' if virtual else ''}")


def commands(runner: Runner, a: argparse.Namespace) -> list[str]:
    """One for each run that is not done."""
    return [shlex.join([os.path.abspath(sys.argv[0]), os.path.abspath(a.file), "--mode", run.mode, "--out",
                        os.path.abspath(runner.out), "--only", run.key]) for run in runner.todo()]


def make_slurm(runner: Runner, a: argparse.Namespace) -> None:
    from . import cluster
    lines = commands(runner, a)
    if not lines:
        print("helio-campaign: every run is done; there is nothing to submit", file=sys.stderr)
        return
    script = cluster.write_slurm(os.path.splitext(os.path.basename(a.file))[0], a.slurm, lines, a.jobs)
    print(f"helio-campaign: {len(lines)} runs; submit them with: sbatch {shlex.quote(script)}", file=sys.stderr)


def only(runner: Runner, key: str) -> int:
    runs = [run for run in runner.campaign.runs() if run.key == key]
    if not runs:
        print(f"helio-campaign: no run has the key {key}; --list prints those that there are", file=sys.stderr)
        return 2
    if campaign_run.result_of(runner.out, runs[0]) is None:
        try:
            runner.one(runs[0])
        except FAILURES as e:
            print(f"helio-campaign: {runs[0].folder}: {e}", file=sys.stderr)
            return 1
    return 0


def results_json(campaign: file.Campaign, out: str) -> list[dict[str, Any]]:
    rows = []
    for e in campaign.experiments:
        first: dict[str, file.Run] = {}
        for run in e.runs:
            first.setdefault(run.key, run)
        for run in first.values():
            cut = sim.warmup_cut(run.values)
            rows.append({"experiment": e.name, "key": run.key, "repetition": run.repetition, "parameters": run.values,
                         "result": campaign_run.result_of(out, run), "warnings": [cut] if cut else []})
    return rows


def tell_unfaithful(campaign: file.Campaign, out: str) -> None:
    """What the machine did not do in time is no figure of the channel: that is said where the command was given."""
    results = [r for r in (campaign_run.result_of(out, run) for run in campaign.runs()) if r]
    late = [r for r in results if not r["faithful"]]
    if late:
        print(f"helio-campaign: not faithful: {len(late)} of {len(results)} runs, such as: {late[0]['reasons'][0]}",
              file=sys.stderr)


def need_all(a: argparse.Namespace, campaign: file.Campaign) -> None:
    """Checks at the beginning what the end needs, and once what every run needs, so that no run is computed in vain."""
    if not a.no_report:
        importlib.import_module("heliograph.campaign.report")  # ModuleNotFoundError: the launcher tells it
    if not a.report and campaign.mode == "sim" and campaign.kind == "ltp" and not campaign.lab:
        programs.find("helio-sim")


def need_virtual(a: argparse.Namespace, campaign: file.Campaign) -> None:
    """What is measured in real time has its machine to itself, which schedulers of clusters do not promise."""
    option = "--dask" if a.dask else "--slurm" if a.slurm else None
    if option and campaign.mode != "sim":
        raise Mistaken(f"{option}: mode {campaign.mode} measures in real time and needs the machine for itself; --list prints its commands")


def make_report(campaign: file.Campaign, out: str, against: list[Any]) -> None:
    from . import report  # matplotlib and Jinja2 are needed here only
    print("helio-campaign: drawing the report", file=sys.stderr)
    progress = programs.Progress("helio-campaign")
    try:
        path = report.make(campaign, out, against, lambda text: progress.show(f"the report: {text}"))
    finally:
        progress.end()
    print(f"helio-campaign: the report is {path}", file=sys.stderr)


def work(a: argparse.Namespace, campaign: file.Campaign, out: str) -> int:
    need_virtual(a, campaign)
    runner = Runner(campaign, out, a.jobs or os.cpu_count() or 1, a.dask)
    if a.check or campaign.lab and not (a.list or a.only or a.report) and runner.todo():  # nothing is computed beside what cannot be
        wrong = look_closer(campaign, runner.traces)
        for text in wrong:
            print(f"helio-campaign: {text}", file=sys.stderr)
        if wrong:
            return 2
    if a.check:
        describe(campaign, out)
        return 0
    if a.list:
        print("".join(line + "\n" for line in commands(runner, a)), end="")
        return 0
    if a.slurm:
        make_slurm(runner, a)
        return 0
    if a.only:
        return only(runner, a.only)
    need_all(a, campaign)
    if a.report and len(runner.todo()) == len(campaign.runs()):
        print(f"helio-campaign: {out} has no finished run of this campaign: run it without --report first, or name its folder with --out", file=sys.stderr)
        return 1
    fine = True
    if not a.report:
        fine = runner.all()
        tell_unfaithful(campaign, out)
    if a.parquet:
        from . import parquet
        print(f"helio-campaign: {parquet.write(campaign, out, a.parquet)} results are in {a.parquet}", file=sys.stderr)
    if a.json:
        print(json.dumps(results_json(campaign, out), indent=2))
    if not a.no_report:
        make_report(campaign, out, a.against)
    return 0 if fine else 1


def main(argv: Any = None) -> int:
    p = arguments()
    a = p.parse_args(argv)
    if a.version:
        print(f"helio-campaign {VERSION}")
        return 0
    if a.file is None:
        p.error("a campaign file is needed: helio-campaign CAMPAIGN.yaml")
    try:
        campaign = file.load(a.file, a.mode)
    except file.CampaignError as e:
        print("\n".join(f"helio-campaign: {line}" for line in str(e).splitlines()), file=sys.stderr)
        return 2
    except OSError as e:
        print(f"helio-campaign: {a.file}: {e.strerror}", file=sys.stderr)
        return 2
    for other in a.against:
        if not os.path.isdir(os.path.join(other, "runs")):
            print(f"helio-campaign: --against {other}: no campaign's folder: it has no runs", file=sys.stderr)
            return 2
    name = os.path.splitext(os.path.basename(a.file))[0]
    out = a.out or os.path.join("out", name if campaign.mode == "sim" else f"{name}-{campaign.mode}")
    if not a.list and not a.only:
        tell_doubts(campaign)
    try:
        return work(a, campaign, out)
    except (programs.ProgramError, Failed, OSError) as e:
        if a.list and isinstance(e, BrokenPipeError):
            raise  # the reader has enough: the launcher ends quietly
        print(f"helio-campaign: {e}", file=sys.stderr)
        return 2 if isinstance(e, Mistaken) else 1
