#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python package as pip installs it from the tree, in an environment of its own, used from elsewhere. Its build wants
# setuptools and wheel: pip fetches them. usage: pip.sh OUT BIN
set -euo pipefail
out=$1 bin=$2 source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$out"
mkdir -p "$out/tree"
cp -r "$source/lab" "$out/tree/lab" # pip writes beside what it builds
python3 -m venv "$out/venv"
"$out/venv/bin/pip" install --quiet --disable-pip-version-check "$out/tree/lab"
cd /
PYTHONPATH='' "$out/venv/bin/python" - "$out/venv" "$source" <<'EOF'
import importlib.metadata
import pathlib
import sys

import heliograph
from heliograph import client, control, processes, units
from heliograph.client import Client, NodeError
from heliograph.control import Control

venv, source = sys.argv[1:]
assert heliograph.__file__.startswith(venv), heliograph.__file__
assert importlib.metadata.version("heliograph") == "0.1.0"
there = {path.relative_to(installed) for installed in [pathlib.Path(heliograph.__file__).parent] for path in installed.rglob("*")}
tree = pathlib.Path(source, "lab/heliograph")
wanted = {path.relative_to(tree) for path in tree.rglob("*") if path.suffix in (".py", ".j2", ".js", ".css", ".typed")}
assert wanted <= there, wanted - there
assert units.duration("30ms") == 0.03


async def nobody(kind, *more):
    try:
        async with kind("/nonexistent", *more):
            raise AssertionError("somebody answers at /nonexistent")
    except NodeError as e:
        assert "no node answers" in str(e)

import asyncio
asyncio.run(nobody(Client, "7"))
asyncio.run(nobody(Control))
print("pip: heliograph", importlib.metadata.version("heliograph"), "with", len(there), "files")
EOF
said=$("$out/venv/bin/helio-lab" --version 2>&1) && exit 1
[[ $said == *"Python's module yaml is missing"*"pip: PyYAML"* ]]
"$out/venv/bin/pip" install --quiet --disable-pip-version-check "$out/tree/lab[lab]"
printf 'experiments: [{name: one}]\n' >"$out/campaign.yaml"
said=$("$out/venv/bin/helio-campaign" "$out/campaign.yaml" --out "$out/campaign" --no-report 2>&1) && exit 1
[[ $said == *"helio-campaign: helio"*" is neither in"* ]]
for name in helio-campaign helio-lab helio-tune; do
    [ "$(PATH=$bin:$PATH "$out/venv/bin/$name" --version)" = "$name 0.1.0" ]
done
"$out/venv/bin/pip" uninstall --quiet --yes heliograph
