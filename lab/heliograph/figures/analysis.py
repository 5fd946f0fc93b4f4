# SPDX-License-Identifier: Apache-2.0
"""Figures and the page of helio-analyze, which runs this with a folder of its tables.

arguments: --check | FOLDER [--plot DIR] [--html FILE] [--session ORIGINATOR:NUMBER]... -- INPUT...
"""
import argparse
import sys

from . import charts, page
from .tables import Analysis


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        return 0
    parser = argparse.ArgumentParser(prog="helio-analyze", allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--plot")
    parser.add_argument("--html")
    parser.add_argument("--session", action="append", default=[])
    end = sys.argv.index("--")
    o, inputs = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1:]
    try:
        analysis = Analysis(o.folder)
        drawn = charts.draw(analysis, o.plot)
        if o.html:
            page.write(analysis, drawn, inputs, {tuple(s.split(':')) for s in o.session}, o.html)
    except OSError as e:
        print(f"helio-analyze: {e}", file=sys.stderr)
        return 1
    return 0
