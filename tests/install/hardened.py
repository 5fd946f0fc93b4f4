# SPDX-License-Identifier: Apache-2.0
"""Are the installed programs and libraries hardened? usage: hardened.py PREFIX BUILD-TYPE

Each program is a position-independent executable, all its relocations are bound at start and read-only then, its stack
is not executable, its functions protect their stack, and (x86) its indirect branches end at marked places. In optimised
build types the C library's checked functions are used. The libraries' objects are marked for control-flow protection."""

import glob
import os
import re
import subprocess
import sys

OPTIMISED = ("Release", "RelWithDebInfo", "MinSizeRel")
MARK = b"\xf3\x0f\x1e\xfa"  # endbr64


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], capture_output=True, text=True, check=True).stdout


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def main_is_marked(path, head):
    """Whether main() begins with a mark. The start code, which is the C library's, loads its address: lea main(%rip), %rdi."""
    address, offset, size = (int(n, 16) for n in re.search(r"\.text\s+PROGBITS\s+(\S+)\s+(\S+)\s+(\S+)", readelf(path, "-S")).groups())
    with open(path, "rb") as f:
        f.seek(offset)
        code = f.read(size)
    entry = int(re.search(r"Entry point address:\s+(\S+)", head)[1], 16) - address
    load = code.index(b"\x48\x8d\x3d", entry, entry + 64) + 7
    start = load + int.from_bytes(code[load - 4:load], "little", signed=True)
    return code[start:start + len(MARK)] == MARK


def program_faults(path, optimised):
    head, segments, dynamic = readelf(path, "-h"), readelf(path, "-l"), readelf(path, "-d")
    symbols = readelf(path, "--dyn-syms")
    stack = re.search(r"GNU_STACK.*\s(R\S*)\s+0x", segments)
    checked = {s for s in re.findall(r"\s__(\w+)_chk\b", symbols)}
    faults = {
        "no PIE": "DYN (Position-Independent Executable file)" not in head or "(FLAGS_1)" not in dynamic or "PIE" not in dynamic,
        "no RELRO": "GNU_RELRO" not in segments,
        "bound late": not re.search(r"FLAGS.*NOW", dynamic),
        "executable stack": stack is None or "E" in stack[1],
        "no stack protector": "__stack_chk_fail" not in symbols,
        "no checked functions": optimised and not checked,
        "no control-flow protection": "X86-64" in head and not main_is_marked(path, head),
    }
    return [name for name, there in faults.items() if there]


def library_faults(path):
    if "X86-64" not in readelf(path, "-h"):
        return []
    notes = readelf(path, "-n")
    objects = notes.count("\nFile: ")
    marked = len(re.findall(r"x86 feature:.*IBT, SHSTK", notes))
    return [] if 0 < objects <= marked else [f"{marked} of {objects} objects have control-flow protection"]


def main():
    prefix, build_type = sys.argv[1:3]
    programs = [p for p in sorted(glob.glob(os.path.join(prefix, "bin", "*"))) if is_elf(p)]
    libraries = sorted(glob.glob(os.path.join(prefix, "lib*", "**", "libhelio-*.a"), recursive=True))
    if len(programs) < 10 or len(libraries) < 5:
        sys.exit(f"hardened: {len(programs)} programs and {len(libraries)} libraries below {prefix}: not an installation")
    found = [(p, program_faults(p, build_type in OPTIMISED)) for p in programs]
    found += [(p, library_faults(p)) for p in libraries]
    bad = [(p, faults) for p, faults in found if faults]
    for path, faults in bad:
        print(f"{os.path.relpath(path, prefix)}: {', '.join(faults)}")
    if bad:
        sys.exit(1)
    print(f"hardened: {len(programs)} programs, {len(libraries)} libraries")


if __name__ == "__main__":
    main()
