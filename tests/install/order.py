#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cmake/exports.py makes the same object each time: objects of other libraries are taken along in one order, whatever Python's hashes are in that
process. Packages of two builds are equal only so. usage: order.py OUT [CC]"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

OUT, CC = Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "gcc"
EXPORTS = Path(__file__).resolve().parent.parent.parent / "cmake/exports.py"
OTHERS = 12


def compile_object(name, text):
    (OUT / f"{name}.c").write_text(text, encoding="utf-8")
    subprocess.run([CC, "-O0", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=OUT, check=True)
    return f"{name}.o"


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    (OUT / "public.h").write_text("int public_all(void);\n", encoding="utf-8")
    others = [compile_object(f"other{i}", f"const char *other_{i}(void); const char *other_{i}(void) {{ return \"text {i}\"; }}\n") for i in range(OTHERS)]
    own = compile_object("own", "".join(f"const char *other_{i}(void);\n" for i in range(OTHERS)) +
                         f"int public_all(void); int public_all(void) {{ return {' + '.join(f'other_{i}()[0]' for i in range(OTHERS))}; }}\n")
    made = set()
    for seed in range(6):
        subprocess.run([sys.executable, EXPORTS, "--ld", "ld", "--nm", "nm", "--objcopy", "objcopy", "--out", "made.o", "--prefix", "public", "--headers",
                        "public.h", "--objects", own, "--other-objects", *others], cwd=OUT, check=True, env={**os.environ, "PYTHONHASHSEED": str(seed)})
        made.add((OUT / "made.o").read_bytes())
    assert len(made) == 1, f"{len(made)} different objects of the same ones"
    print("exports: one object in six processes")


main()
