#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The notebooks of examples/python, run cell by cell as they stand there, and what they draw. By hand, or by the target
`notebook`: notebook.py BIN OUT (needs matplotlib)."""
import json
import os
import struct
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent


def run(path):
    """All code cells in one namespace; their variables."""
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4 and all(set(cell) >= {"id", "cell_type", "metadata", "source"} for cell in book["cells"])
    space = {"__name__": "__main__"}
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, "notebooks are kept without outputs"
            exec(compile("".join(cell["source"]), f"{path.name}:{cell['id']}", "exec"), space)  # noqa: S102
    return space


def size_of(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])


def main():
    programs, out = (os.path.abspath(word) for word in sys.argv[1:3])
    os.makedirs(out, exist_ok=True)
    os.environ["PATH"] = programs + os.pathsep + os.environ["PATH"]
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(out)
    space = run(SOURCE / "examples/python/figure5.ipynb")
    totals = [sum(values) for values in zip(*space["parts"].values())]
    print("mean session time on trace A with an RTO of 1 s, 100 ms, 30 ms:", ", ".join(f"{t:.1f}" for t in totals), "ms")
    assert totals[0] > 1.5 * totals[1] > 1.5 * totals[2] > 1.5 * 22, "the shorter the timer, the shorter the session"
    assert abs(totals[2] - 33) < 5, "the paper: 33 ms with 30 ms"
    assert abs(space["parts"]["ideal"][0] - 22.4) < 0.3, "the paper: 22 ms without losses"
    png = Path("figure5-run/figure-5.png").read_bytes()
    width, height = size_of(png)
    assert width > 500 and height > 300 and len(png) > 10000, (width, height, len(png))
    print("drawn:", os.path.join(out, "figure5-run/figure-5.png"))


main()
