#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/release.sh in a clone of its own: from a tag, the same bytes each time, nothing of what is not committed.
usage: release.py OUT [packages]; with packages it builds them, too (minutes)."""
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent


def run(*words, cwd, code=0):
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def git(clone, *words):
    return run("git", "-c", "user.name=test", "-c", "user.email=test@localhost", *words, cwd=clone)


def release(clone, out, *words, code=0):
    return run("tools/release.sh", *words, "--out", out, cwd=clone, code=code)


def main():
    out = Path(sys.argv[1]).resolve()
    if not (SOURCE / ".git").exists():
        print("release: this tree is no checkout; nothing to test")
        return
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    clone = out / "clone"
    run("git", "clone", "-q", "--no-hardlinks", SOURCE, clone, cwd=out)
    for name in ("tools/release.sh", "CMakeLists.txt", "tools/python/pyproject.toml"):  # as they are now, committed or not
        shutil.copy(SOURCE / name, clone / name)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "--allow-empty", "-m", "what is tested")
    version = next(line.split()[2] for line in (clone / "CMakeLists.txt").read_text().splitlines() if line.startswith("project(heliograph VERSION"))
    for tag in (f"v{version}", "v99.0.0"):
        git(clone, "tag", "-f", "-a", tag, "-m", tag)
    (clone / "README.md").write_text("not committed\n")

    assert "there is no tag v77" in release(clone, out / "x", "v77", code=2)
    assert f"its CMakeLists.txt has the version {version}" in release(clone, out / "x", "v99.0.0", code=2)
    assert "usage:" in release(clone, out / "x", code=2)
    for folder in ("one", "two"):
        release(clone, out / folder, f"v{version}", "--source-only")
    assert "is not empty" in release(clone, out / "one", f"v{version}", "--source-only", code=2)
    name = f"heliograph-{version}"
    one, two = ((out / folder / f"{name}.tar.gz").read_bytes() for folder in ("one", "two"))
    assert one == two, "the same tag gives the same bytes"
    run("sha256sum", "--check", "SHA256SUMS", cwd=out / "one")
    with tarfile.open(out / "one" / f"{name}.tar.gz") as tar:
        names = tar.getnames()
        readme = tar.extractfile(f"{name}/README.md").read()
    assert readme != b"not committed\n" and all(path == name or path.startswith(name + "/") for path in names)
    tracked = git(clone, "ls-tree", "-r", "--name-only", f"v{version}").split("\n")
    assert {f"{name}/{path}" for path in tracked if path} <= set(names)
    if "packages" in sys.argv:
        release(clone, out / "all", f"v{version}")
        listed = {line.split()[1] for line in (out / "all/SHA256SUMS").read_text().splitlines()}
        assert listed == set(os.listdir(out / "all")) - {"SHA256SUMS"}, listed
        assert len([path for path in listed if path.endswith(".deb")]) == 3, listed
        run("sha256sum", "--check", "SHA256SUMS", cwd=out / "all")
    print(f"release: {name}, {len(names)} files")


main()
