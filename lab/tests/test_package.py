# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: its modules are importable one by one, and what docs/python.md promises of the clients."""
import ast
import re
import subprocess
import sys
from pathlib import Path

from heliograph.advice import PACKAGES

HERE = Path(__file__).resolve().parent.parent
MODULES = sorted(".".join(path.relative_to(HERE).with_suffix("").parts) for path in (HERE / "heliograph").rglob("*.py") if path.stem != "__init__")
ALONE = """import sys
for name in ("yaml", "jinja2", "matplotlib", "numpy", "sgp4"):
    sys.modules[name] = None  # an import of it fails
import heliograph.client, heliograph.control
"""


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-B", "-c", code], cwd=HERE, capture_output=True, text=True, check=False)


def test_each_module_is_the_first() -> None:
    """No module needs another one to be imported before it: each in a process that has imported none."""
    done = python(f"""import importlib, os
import matplotlib.pyplot, jinja2, yaml  # once for all
for name in {MODULES}:
    child = os.fork()
    if child == 0:
        importlib.import_module(name)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name""")
    assert done.returncode == 0, done.stderr


def test_clients_need_the_standard_library_alone() -> None:
    done = python(ALONE)
    assert done.returncode == 0, done.stderr


def test_every_folder_is_a_package() -> None:
    """Otherwise the wheel would leave it out."""
    folders = {path.parent for path in (HERE / "heliograph").rglob("*.py")}
    assert all((folder / "__init__.py").is_file() for folder in folders)


def imported(path: Path) -> set[str]:
    """Packages of others that a module imports."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module}
    return {name.partition(".")[0] for name in names} - {*sys.stdlib_module_names}


def test_what_is_imported_is_requested() -> None:
    """The extras `lab` and `cluster` name each package that a module imports, and the Debian packages that messages name for `lab` are installed with ours."""
    extras = dict(re.findall(r"^(lab|cluster) = \[(.*)\]", (HERE / "pyproject.toml").read_text(encoding="utf-8"), re.M))
    named = {extra: {re.split(r"[<>=]", name.strip().strip('"'))[0] for name in text.split(",")} for extra, text in extras.items()}
    wanted = named["lab"] | named["cluster"]
    found = set().union(*(imported(path) for path in (HERE / "heliograph").rglob("*.py")))
    assert {PACKAGES[name][1] for name in found} - {"numpy"} == wanted  # matplotlib has numpy
    debian = (HERE.parent / "cmake/package.cmake").read_text(encoding="utf-8")
    assert {PACKAGES[name][0] for name in found if PACKAGES[name][1] in named["lab"]} <= set(re.findall(r"python3-[a-z0-9]+", debian))
