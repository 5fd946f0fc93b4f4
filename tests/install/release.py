#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/release.sh in a clone of its own: from a tag, the same bytes each time, nothing of what is not committed.
usage: release.py OUT [packages [PRESET]]; with packages it builds them twice, too, in two folders (minutes)."""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent


def run(*words, cwd, code=0, env=None):
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def git(clone, *words):
    return run("git", "-c", "user.name=test", "-c", "user.email=test@localhost", *words, cwd=clone)


def release(clone, out, *words, code=0, env=None):
    return run("tools/release.sh", *words, "--out", out, cwd=clone, code=code, env=env)


def same(one, two):
    """The names of the files, which have the same bytes in both folders and the checksums that are listed."""
    names = set(os.listdir(one))
    assert names == set(os.listdir(two)), names ^ set(os.listdir(two))
    other = [name for name in sorted(names) if (one / name).read_bytes() != (two / name).read_bytes()]
    assert not other, f"not the same bytes: {other}"
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=one)
    listed = {line.split()[1] for line in (one / "SHA256SUMS").read_text().splitlines()}
    assert listed == names - {"SHA256SUMS"}, listed
    return names


def other_world(out):
    """What a second machine may have otherwise: the place of temporary files, user's folder, language, time zone, processors. Both builds
    compile all files: tools/release.sh uses no cache of objects."""
    for name in ("another-place-of-temporary-files", "home"):
        (out / name).mkdir()
    return {**os.environ, "TMPDIR": str(out / "another-place-of-temporary-files"), "HOME": str(out / "home"), "LANG": "de_DE.UTF-8", "LC_ALL": "", "TZ": "Asia/Tokyo",
            "CMAKE_BUILD_PARALLEL_LEVEL": "2"}


def check_wheel(path):
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        scripts = wheel.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    for file in ("client.py", "lab/cli.py", "campaign/report.html.j2", "py.typed"):
        assert f"heliograph/{file}" in names, (file, names)
    assert all(f"helio-{name} = heliograph.launch:{name}" in scripts for name in ("campaign", "lab", "tune")), scripts


def check_components(folder, name):
    """Each file with its checksum; each dependency of each file is a package of the list."""
    listed = json.loads((folder / f"{name}.spdx.json").read_text())
    packages = {p["SPDXID"]: p for p in listed["packages"]}
    sums = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
    there = {p["name"]: p["checksums"][0]["checksumValue"] for p in packages.values() if "checksums" in p}
    assert there == {file: digest for file, digest in sums.items() if file != f"{name}.spdx.json"}, there
    needed = {packages[r["relatedSpdxElement"]]["name"] for r in listed["relationships"] if r["relationshipType"] == "DEPENDS_ON"}
    assert "matplotlib" in needed, needed
    if any(file.endswith(".deb") for file in sums):
        assert {"libc6", "libuv1", "libhdf5-103-1", "python3-sgp4", "libcbor-dev"} <= needed, needed
    assert listed["spdxVersion"] == "SPDX-2.3" and len(packages) == len(listed["packages"])


def check_signature(clone, out, tag):
    """By a key that only this test has."""
    home = out / "gpg"
    home.mkdir(mode=0o700)
    os.environ["GNUPGHOME"] = str(home)
    run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "release@localhost", "ed25519", "sign", cwd=out)
    release(clone, out / "signed", tag, "--no-debs", "--sign", "release@localhost")
    run("gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS", cwd=out / "signed")
    with open(out / "signed/SHA256SUMS", "a", encoding="utf-8") as f:
        f.write("\n")
    run("gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS", cwd=out / "signed", code=1)
    assert "does not sign" in release(clone, out / "unsigned", tag, "--no-debs", "--sign", "nobody@localhost", code=1)
    run("gpgconf", "--kill", "all", cwd=out)


def main():
    out = Path(sys.argv[1]).resolve()
    if not (SOURCE / ".git").exists():
        print("release: this tree is no checkout; nothing to test")
        return
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    clone = out / "clone"
    run("git", "clone", "-q", "--no-hardlinks", SOURCE, clone, cwd=out)
    for name in ("tools/release.sh", "tools/sbom.py", "CMakeLists.txt", "lab/pyproject.toml"):  # as they are now, committed or not
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
        release(clone, out / folder, f"v{version}", "--no-debs")
    assert "is not empty" in release(clone, out / "one", f"v{version}", "--no-debs", code=2)
    name = f"heliograph-{version}"
    made = same(out / "one", out / "two")
    assert made == {f"{name}.tar.gz", f"{name}.spdx.json", f"heliograph-{version}-py3-none-any.whl", "SHA256SUMS"}, made
    check_wheel(out / "one" / f"heliograph-{version}-py3-none-any.whl")
    check_components(out / "one", name)
    check_signature(clone, out, f"v{version}")
    with tarfile.open(out / "one" / f"{name}.tar.gz") as tar:
        names = tar.getnames()
        readme = tar.extractfile(f"{name}/README.md").read()
    assert readme != b"not committed\n" and all(path == name or path.startswith(name + "/") for path in names)
    tracked = git(clone, "ls-tree", "-r", "--name-only", f"v{version}").split("\n")
    assert {f"{name}/{path}" for path in tracked if path} <= set(names)
    if "packages" in sys.argv:
        preset = ("--preset", sys.argv[3]) if len(sys.argv) > 3 else ()
        for folder, env in (("all", None), ("again", other_world(out))):
            release(clone, out / folder, f"v{version}", *preset, env=env)
        made = same(out / "all", out / "again")
        assert len([path for path in made if path.endswith(".deb")]) == 4, made
        check_components(out / "all", name)
    print(f"release: {name}, {len(names)} files")


main()
