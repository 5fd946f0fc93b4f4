#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Dockerfile names is there: files of the tree, presets, targets, packages, programs. An image is not built here: that
needs a registry. usage: docker.py"""
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent


def instructions(text):
    """(word, rest) of each, with continued lines joined."""
    text = re.sub(r"\\\n\s*", "", text)
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def check_copy(words, stages):
    if words[0].startswith("--from="):
        assert words[0][7:] in stages, words
        return
    for path in words[:-1]:
        assert (SOURCE / path).exists(), f"COPY {path}: the tree has none"


def check_run(command, packages):
    presets = {preset["name"] for preset in json.loads((SOURCE / "CMakePresets.json").read_text())["buildPresets"]}
    cmake = "\n".join(path.read_text() for path in [SOURCE / "CMakeLists.txt", *SOURCE.glob("*/CMakeLists.txt"), *SOURCE.glob("cmake/*")] if path.is_file())
    for part in re.split(r"&&|\|\|", command):
        words = shlex.split(part)
        if words[0].startswith("tools/"):
            script = SOURCE / words[0]
            assert script.is_file() and script.stat().st_mode & 0o111, words
            assert words[1] in re.search(r"usage: \S+ (\S+)", script.read_text())[1].split("|"), words
        for before, after in zip(words, words[1:]):
            assert before != "--preset" or after in presets, f"there is no preset {after}"
            assert before != "--target" or re.search(rf"add_custom_target\({after}\b", cmake), f"there is no target {after}"
        for package in re.findall(r"/packages/([a-z-]+)_\*\.deb", part):
            assert package in packages, f"cpack makes no {package}, but {packages}"


def names_of_packages():
    """As cpack will call them."""
    text = "\n".join(path.read_text() for path in (SOURCE / "cmake").glob("*"))
    return set(re.findall(r"set\(HELIO_PACKAGE_[a-z]+ ([a-z-]+)\)", text))


def main():
    packages, stages, entry = names_of_packages(), [], None
    assert packages == {"heliograph", "heliograph-lab", "heliograph-sle", "libheliograph-dev"}, packages
    found = instructions((SOURCE / "Dockerfile").read_text(encoding="utf-8"))
    for word, rest in found:
        words = rest.split()
        if word == "FROM":
            assert words[0].startswith("debian:12"), "packages have the names of Debian 12"
            stages.append(words[2] if len(words) == 3 and words[1] == "AS" else "")
        elif word == "COPY":
            check_copy(words, stages)
        elif word == "RUN":
            check_run(rest, packages)
        elif word == "ENTRYPOINT":
            entry = json.loads(rest)[0]
        else:
            assert word in ("WORKDIR", "USER", "VOLUME", "EXPOSE", "CMD"), word
    assert stages == ["build", ""], "two stages: what builds does not stay"
    assert entry == "/usr/bin/heliod" and ("USER", "heliograph") in found
    assert "useradd --system" in (SOURCE / "packaging/postinst").read_text(), "the package makes the user"
    ignored = (SOURCE / ".dockerignore").read_text().split("\n")
    assert {"build", "out", ".git"} <= set(ignored)
    if shutil.which("apt-cache"):  # the packages that the build needs have these names in Debian 12
        wanted = re.search(r"build=\(([^)]*)\)", (SOURCE / "tools/setup.sh").read_text())[1].split()
        known = subprocess.run(["apt-cache", "policy", *wanted], capture_output=True, text=True, check=True).stdout
        missing = [name for name in wanted if f"{name}:\n" not in known] if "gcc:\n" in known else []  # else it has no lists
        assert not missing, missing
    print(f"Dockerfile: {len(found)} instructions, {len(stages)} stages")


main()
