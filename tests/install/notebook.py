#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The notebook of examples/python, executed as Jupyter does: by nbclient with a kernel, in an environment of its own (from
PyPI, kept for the next time). What it drew is checked, and left beside the executed notebook. By hand, or by the target
`notebook`: notebook.py BIN OUT."""
import base64
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
NEEDED = ("nbclient", "nbformat", "ipykernel", "matplotlib")
EXECUTE = """import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(book)
try:
    nbclient.NotebookClient(book, timeout=3600, kernel_name="python3").execute()
finally:
    nbformat.write(book, sys.argv[2])
"""


def environment(out):
    """Its Python."""
    python = out / "venv/bin/python3"
    if not (out / "venv/installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", out / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED], check=True)
        (out / "venv/installed").touch()
    return python


def check_source(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, "notebooks are kept without outputs"


def outputs(path):
    """All outputs of all cells, each cell's in a list."""
    book = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), "each cell ran once, in order"
    assert not any(out["output_type"] == "error" for cell in cells for out in cell["outputs"])
    return [cell["outputs"] for cell in cells]


def text_of(cell):
    return "".join("".join(out.get("text", out.get("data", {}).get("text/plain", ""))) for out in cell)


def check_numbers(table, parts):
    """Against the paper: 33 ms with an RTO of 30 ms, 22 ms without losses, 135 ms with 1 s."""
    means = {(trace, rto): float(ms) for trace, rto, ms in re.findall(r"(?m)^ *(none|A) +(\w+): +([\d.]+) ms ±", table)}
    assert len(means) == 6, table
    print("mean session time on trace A:", ", ".join(f"{rto} {means['A', rto]:.1f} ms" for rto in ("1s", "100ms", "30ms")))
    assert means["A", "1s"] > 1.5 * means["A", "100ms"] > 1.5 * means["A", "30ms"] > 1.5 * 22, "the shorter the timer, the shorter the session"
    assert abs(means["A", "30ms"] - 33) < 5 and abs(means["A", "1s"] - 135) < 40 and abs(means["none", "30ms"] - 22.4) < 0.3, means
    for name in ("ideal", "retransmission", "lost checkpoints", "rest"):
        assert name in parts, parts


def check_picture(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    assert width > 500 and height > 300 and len(png) > 10000, (width, height, len(png))


def main():
    programs, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    book, done = SOURCE / "examples/python/figure5.ipynb", out / "figure5.ipynb"
    check_source(book)
    python = environment(out)
    path = f"{python.parent}{os.pathsep}{programs}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([python, "-c", EXECUTE, book, done], check=True, cwd=out, env={**os.environ, "PATH": path})
    cells = outputs(done)
    check_numbers(text_of(cells[1]), text_of(cells[2]))
    shown = [base64.b64decode(o["data"]["image/png"]) for o in cells[3] if "image/png" in o.get("data", {})]
    assert len(shown) == 1, "the figure is in the notebook"
    check_picture(shown[0])
    check_picture((out / "figure5-run/figure-5.png").read_bytes())
    print(f"executed: {done}; drawn: {out / 'figure5-run/figure-5.png'}")


main()
