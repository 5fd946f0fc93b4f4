# SPDX-License-Identifier: Apache-2.0
"""The dashboards of examples/monitoring against a real Prometheus. It scrapes two nodes whose link loses segments, the emulator of this link, and a provider
of Space Link Extension with two users. Each query of each panel is asked as Grafana asks it. With HELIO_PICTURES=1 the answers are drawn, a panel in its place, as
docs/figures/dashboard*.png: the dashboards' panels and real values, but not Grafana, which neither Debian nor a registry of Python has. Prometheus is that of the
machine, else that of Debian's package.
usage: dashboard_test.py BIN SOURCE CACHE OUT
exit code 77: there is no Prometheus
"""
import json
import os
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

import node_case
import picture
from node_case import NodeCase, wait_for
from prometheus import find

SECONDS, FROM = 120, 30  # the dashboard's rates are of a minute; drawn from the second on
EMPTY = {"Refused and failed"}  # panels that may have nothing to show
SERVICE = "sagr=1.spack=1.{}"
RAF, CLTU = SERVICE.format("rsl-fg=1.raf=onlt1"), SERVICE.format("fsl-fg=1.cltu=cltu1")
UNITS = {"bps": ("bit/s", 1000), "bytes": ("B", 1000), "s": ("s", 1000), "ops": ("/s", 1000), "none": ("", 1000), "percentunit": ("%", 1000)}
SOURCE = CACHE = None
PROMETHEUS = ""


def scaled(value, unit):
    word, step = UNITS[unit]
    if unit == "none":
        return f"{value:.0f}"
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    for prefix in ("", "k", "M", "G", "T"):
        if abs(value) < step or unit in ("s", "ops"):
            return f"{value:.3g} {prefix}{word}".strip()
        value /= step
    return f"{value:.3g} P{word}"


def draw_panel(axes, panel, answers, begun):
    unit = panel["fieldConfig"]["defaults"].get("unit", "none")
    axes.set_title(panel["title"], fontsize=10, loc="left")
    lines = [(name, points) for _, series in answers for name, points in series]
    if panel["type"] == "stat":
        axes.set_axis_off()
        said = "\n".join(f"{scaled(points[-1][1], unit)}{' ' + name if len(lines) > 1 else ''}" for name, points in lines) or "no data"
        axes.text(0.5, 0.4, said, ha="center", va="center", fontsize=15 if len(lines) < 2 else 12, transform=axes.transAxes)
        return
    moving = [line for line in lines if any(value for _, value in line[1])]
    shown = moving if len(lines) > 6 else lines
    for name, points in shown:
        axes.plot([at - begun for at, _ in points], [value for _, value in points], label=name, linewidth=1.2)
    axes.yaxis.set_major_formatter(lambda value, _: scaled(value, unit))
    axes.tick_params(labelsize=7)
    axes.set_ylim(bottom=0)
    axes.set_xlim(FROM, SECONDS)
    axes.grid(alpha=0.3)
    if shown:
        axes.legend(fontsize=7, loc="best", ncols=2)
    else:
        axes.text(0.5, 0.5, f"all {len(lines)} series are 0" if lines else "no data", ha="center", va="center", transform=axes.transAxes)


class Dashboard(NodeCase):
    def node(self, number, port, remote):
        other = 3 - number
        link = {**self.lab.link(other, port, remote, rto="150ms", rate="20Mbit/s"), "name": f"to-{other}"}
        return self.lab.start_node(number, self.lab.write_node(number, [link], log=False, store=f"{{path: {self.lab.path(f'store{number}')}, durability: sync, limit: 256MiB}}",
                                                               extra=f"http: {{listen: {self.pages[number]}}}\n"))

    def provider(self, port):
        """With a user of frames, and one that sends CLTUs."""
        config = Path(self.lab.path("station.yaml"))
        config.write_text(f"""id: STATION
listen: 127.0.0.1:{port}
http: {{listen: {self.pages[4]}}}
users: [{{id: CENTRE}}]
sources: [{{name: downlink, rate: 2Mbit/s, record: {self.lab.path('recording')}}}]
instances:
  - {{id: {RAF}, users: CENTRE, source: downlink}}
  - {{id: {CLTU}, users: CENTRE, uplink_rate: 4kbit/s}}
""", encoding="ascii")
        self.users = {}
        Path(self.lab.path("cltus")).write_bytes(200 * ((100).to_bytes(4, "big") + bytes(100)))
        log = self.lab.start("station", "helio-sle", "provider", config)
        wait_for(lambda: "listens at" in Path(self.lab.path("station.log")).read_text(encoding="utf-8") or log.poll() is not None)
        for name, instance, words in (("raf", RAF, ("--time", f"{2 * SECONDS}s")), ("cltu", CLTU, ("--cltus", self.lab.path("cltus")))):
            self.users[name] = self.lab.start(name, "helio-sle", "user", f"127.0.0.1:{port}", "--id", "CENTRE", "--responder", "STATION", "--instance", instance, *words)

    def ask(self, path, **words):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}", timeout=60) as answer:
            return json.load(answer)["data"]["result"]

    def begin(self):
        near, far, relay, sle, *more = self.lab.udp_ports(9)
        self.pages, self.port = dict(zip((1, 2, 3, 4), more)), more[4]
        control = self.lab.path("link")
        self.lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{far}", "--delay", "20ms", "--rate", "25Mbit/s", "--rate-return", "25Mbit/s",
                       "--trace", "iid:0.02", "--control", control)
        wait_for(lambda: os.path.exists(control))
        self.lab.start("metrics", "helio-emu", "metrics", "--listen", str(self.pages[3]), control)
        self.provider(sle)
        self.node(2, far, relay)
        self.node(1, near, relay)
        config = Path(self.lab.path("prometheus.yml"))
        jobs = {"heliograph": (1, 2), "heliograph_emulator": (3,), "heliograph_sle": (4,)}
        config.write_text("global: {scrape_interval: 1s}\nscrape_configs:\n" + "".join(
            f"  - job_name: {job}\n    static_configs:\n      - targets: {json.dumps([f'127.0.0.1:{self.pages[page]}' for page in pages])}\n" for job, pages in jobs.items()),
            encoding="ascii")
        log = open(self.lab.path("prometheus.log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        prometheus = subprocess.Popen([PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={self.lab.path('tsdb')}", f"--web.listen-address=127.0.0.1:{self.port}"],
                                      stdout=log, stderr=log)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.terminate)
        wait_for(self.is_scraped)

    def is_scraped(self):
        try:
            return [len(self.ask("query", query=f"heliograph_{one}")) for one in ("node_info", "emu_answers", "sle_info")] == [2, 1, 1]
        except OSError:
            return False

    def traffic(self):
        """More than the link takes, then less."""
        server = self.lab.start("server", "helio-perf", "server", "--socket", self.lab.socket(2))
        wait_for(lambda: self.ctl(2, "status")["applications"] >= 1)
        for rate in ("30M", "8M"):
            subprocess.run([self.lab.program("helio-perf"), "client", "--socket", self.lab.socket(1), "-d", "ipn:2.2000", "-T", str(SECONDS // 2 - 5), "-R", rate, "-P", "50kB", "--linger", "5"],
                           capture_output=True, check=False, timeout=600)
        self.lab.stop("server", server)

    def series(self, target, begun, now):
        """As Grafana asks: variables in place, a value each second, the legend of each series."""
        expression = target["expr"].replace("$instance", ".*").replace("$link", ".*").replace("$service", ".*")
        found = []
        for one in self.ask("query_range", query=expression, start=begun, end=now, step=1):
            name = target.get("legendFormat") or "value"
            for label, value in one["metric"].items():
                name = name.replace("{{" + label + "}}", value)
            found.append((name, [(at, float(value)) for at, value in one["values"] if value not in ("NaN", "+Inf")]))
        return expression, [(name, points) for name, points in found if points]

    def check_panels(self, file, begun, now):
        """The answers to each panel's queries."""
        panels = json.loads(file.read_text(encoding="utf-8"))["panels"]
        self.assertGreater(len(panels), 10)
        answers = {}
        for panel in panels:
            answers[panel["title"]] = [self.series(target, begun, now) for target in panel["targets"]]
            for expression, series in answers[panel["title"]]:
                self.assertTrue(series or panel["title"] in EMPTY, (file.name, panel["title"], expression))
        words = [[panel["title"], *(target["expr"] for target in panel["targets"])] for panel in panels]
        name = file.name.replace("grafana", "dashboard").replace(".json", ".png")
        if picture.compare(name, words):
            self.draw(name, panels, answers, begun)
        return answers

    def most(self, answers, title, name):
        """The largest value of one line of a panel."""
        points, = (points for _, series in answers[title] for line, points in series if line == name)
        return max(value for _, value in points)

    def test_each_panel(self):
        self.begin()
        begun = time.time()
        self.traffic()
        while time.time() < begun + SECONDS:
            time.sleep(0.5)
        node, emulator, sle = (self.check_panels(SOURCE / f"examples/monitoring/grafana{name}.json", begun, begun + SECONDS) for name in ("", "-emulator", "-sle"))
        self.assertGreater(self.most(node, "Rate out", "to-2"), 1e6)
        self.assertGreater(self.most(emulator, "Rate in", "link forward"), 1e6)
        self.assertGreater(self.most(emulator, "Frames lost, by reason", "link forward random"), 1)
        self.assertGreater(self.most(sle, "Frames to users, by instance", RAF), 100)
        self.assertGreater(self.most(sle, "CLTUs by what became of them", "radiated"), 1)
        self.assertGreater(self.most(sle, "Recorded", "downlink"), 1e6)
        self.lab.stop("raf", self.users["raf"])  # before its provider

    def draw(self, name, panels, answers, begun):
        os.environ["MPLBACKEND"] = "Agg"
        from matplotlib import pyplot
        rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
        figure = pyplot.figure(figsize=(12, rows * 0.27))
        for panel in panels:  # with room for its title above, and for its numbers
            x, y, w, h = (panel["gridPos"][key] for key in "xywh")
            box = ((x + (1.6 if h > 4 else 0.3)) / 24, 1 - (y + h - (0.9 if h > 4 else 0)) / rows, (w - (2 if h > 4 else 0.3)) / 24, (h - 2.4) / rows)
            draw_panel(figure.add_axes(box), panel, answers[panel["title"]], begun)
        figure.savefig(picture.FIGURES / name, dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    node_case.PROGRAMS, SOURCE, CACHE, node_case.OUT = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve(), sys.argv[4]
    PROMETHEUS = find("prometheus", CACHE)
    if PROMETHEUS is None:
        print("SKIPPED: there is no Prometheus, and Debian's package prometheus was not reached")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
