# SPDX-License-Identifier: Apache-2.0
"""examples/monitoring/grafana.json against a real Prometheus: it scrapes two nodes whose link loses segments, and each query of each panel is asked as
Grafana asks it. With HELIO_PICTURES=1 the answers are drawn, a panel in its place, as docs/figures/dashboard.png: the dashboard's panels and real values, but
not Grafana, which neither Debian nor a registry of Python has. Prometheus is that of the machine, else that of Debian's package.
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

    def ask(self, path, **words):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}", timeout=60) as answer:
            return json.load(answer)["data"]["result"]

    def begin(self):
        near, far, relay, *more = self.lab.udp_ports(6)
        self.pages, self.port = {1: more[0], 2: more[1]}, more[2]
        self.lab.start("relay", "helio-emu", "relay", "--listen", f"127.0.0.1:{relay}", "--to", f"127.0.0.1:{far}", "--delay", "20ms", "--trace", "iid:0.02")
        self.node(2, far, relay)
        self.node(1, near, relay)
        config = Path(self.lab.path("prometheus.yml"))
        config.write_text("global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: heliograph\n    static_configs:\n      - targets: " +
                          json.dumps([f"127.0.0.1:{page}" for page in self.pages.values()]) + "\n", encoding="ascii")
        log = open(self.lab.path("prometheus.log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        prometheus = subprocess.Popen([PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={self.lab.path('tsdb')}", f"--web.listen-address=127.0.0.1:{self.port}"],
                                      stdout=log, stderr=log)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.terminate)
        wait_for(self.is_scraped)

    def is_scraped(self):
        try:
            return len(self.ask("query", query="heliograph_node_info")) == 2
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
        expression = target["expr"].replace("$instance", ".*").replace("$link", ".*")
        found = []
        for one in self.ask("query_range", query=expression, start=begun, end=now, step=1):
            name = target.get("legendFormat") or "value"
            for label, value in one["metric"].items():
                name = name.replace("{{" + label + "}}", value)
            found.append((name, [(at, float(value)) for at, value in one["values"] if value not in ("NaN", "+Inf")]))
        return expression, [(name, points) for name, points in found if points]

    def test_each_panel(self):
        panels = json.loads((SOURCE / "examples/monitoring/grafana.json").read_text(encoding="utf-8"))["panels"]
        begun = time.time()
        self.begin()
        self.traffic()
        while time.time() < begun + SECONDS:
            time.sleep(0.5)
        now = begun + SECONDS
        answers = {}
        for panel in panels:
            answers[panel["title"]] = [self.series(target, begun, now) for target in panel["targets"]]
            for expression, series in answers[panel["title"]]:
                self.assertTrue(series or panel["title"] in EMPTY, (panel["title"], expression))
        self.assertGreater(len(panels), 10)
        sent, = (points for name, points in answers["Rate out"][0][1] if name == "to-2")
        self.assertGreater(max(value for _, value in sent), 1e6)
        words = [[panel["title"], *(target["expr"] for target in panel["targets"])] for panel in panels]
        if picture.compare("dashboard.png", words):
            self.draw(panels, answers, begun)

    def draw(self, panels, answers, begun):
        os.environ["MPLBACKEND"] = "Agg"
        from matplotlib import pyplot
        rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
        figure = pyplot.figure(figsize=(12, rows * 0.27))
        for panel in panels:  # with room for its title above, and for its numbers
            x, y, w, h = (panel["gridPos"][key] for key in "xywh")
            box = ((x + (1.6 if h > 4 else 0.3)) / 24, 1 - (y + h - (0.9 if h > 4 else 0)) / rows, (w - (2 if h > 4 else 0.3)) / 24, (h - 2.4) / rows)
            draw_panel(figure.add_axes(box), panel, answers[panel["title"]], begun)
        figure.savefig(picture.FIGURES / "dashboard.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    node_case.PROGRAMS, SOURCE, CACHE, node_case.OUT = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve(), sys.argv[4]
    PROMETHEUS = find("prometheus", CACHE)
    if PROMETHEUS is None:
        print("SKIPPED: there is no Prometheus, and Debian's package prometheus was not reached")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
