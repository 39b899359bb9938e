"""Lazy imports of packages by several threads concurrently."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lance_namespace_impls.core.imports import load

ROOT = Path(__file__).parents[2]


# The two modules import each other. No thread may see a partially initialized module.
PART = """
import time
time.sleep(0.05)
import cyclic.{other} as other
time.sleep(0.05)

def value():
    return other.own()

def own():
    return "{name}"
"""


@pytest.fixture
def cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "cyclic"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "left.py").write_text(PART.format(name="left", other="right"))
    (package / "right.py").write_text(PART.format(name="right", other="left"))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("cycle")
def test_threads_that_import_a_cycle_get_complete_modules() -> None:
    ready = threading.Barrier(8)

    def use(number: int) -> str:
        ready.wait()
        return str(load("cyclic.left" if number % 2 else "cyclic.right").value())

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(use, range(8))) == ["left", "right"] * 4


def test_a_missing_module_is_an_import_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        load("no_such_module.part")


USE = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from lance_namespace_impls import connect
import pyarrow as pa

namespace = connect("dir", {"path": sys.argv[1]})
lake = {"id": ["t"]}
calls = [
    lambda: namespace.describe_table({**lake, "load_detailed_metadata": True}),
    lambda: namespace.count_table_rows(lake),
    lambda: namespace.list_table_versions(lake),
    lambda: namespace.list_table_indices(lake),
    lambda: namespace.query_table({**lake, "k": 1, "full_text_query": {"string_query": {"query": "x"}}}),
    lambda: namespace.insert_into_table(lake, pa.table({"a": ["x"]})),
    lambda: namespace.update_table({**lake, "updates": [["a", "'y'"]]}),
    lambda: namespace.drop_table({"id": ["u"]}),
    lambda: namespace.create_table({"id": ["v"]}, pa.table({"a": ["x"]})),
]
begin = threading.Barrier(len(calls))

def run(call):
    begin.wait()
    try:
        call()
    except Exception as error:
        return error

with ThreadPoolExecutor(len(calls)) as threads:
    for error in threads.map(run, calls):
        if error is not None and ("partially" in str(error) or getattr(error, "code", 18) == 18):
            print(repr(error))
"""


def test_the_first_operations_can_run_concurrently(tmp_path: Path) -> None:
    make = (
        "import sys, pyarrow as pa\n"
        "from lance_namespace_impls import connect\n"
        "n = connect('dir', {'path': sys.argv[1]})\n"
        "for name in ('t', 'u'): n.create_table({'id': [name]}, pa.table({'a': ['x']}))\n"
    )
    subprocess.run([sys.executable, "-c", make, str(tmp_path)], check=True, timeout=600)
    done = subprocess.run(
        [sys.executable, "-c", USE, str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def direct_imports(path: Path) -> Iterator[str]:
    """Return the imports of pylance and of pyarrow submodules, except those for annotations."""
    tree = ast.parse(path.read_text())
    for block in ast.walk(tree):
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            block.body = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            if name.split(".")[0] == "lance" or name.startswith("pyarrow."):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {name}"


def test_pylance_is_only_imported_lazily() -> None:
    found = [
        each
        for path in (ROOT / "lance_namespace_impls").rglob("*.py")
        for each in direct_imports(path)
    ]
    assert found == []
