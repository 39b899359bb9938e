"""The SQLite catalog of docs/extending.md, used as a reader would: one file in an empty folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import UnsupportedError
from lance_namespace_impls import extend
from lance_namespace_impls.extend import http, iceberg_rest

from ..behaviour.machine import explore
from ..behaviour.subject import NAMES, Identifier, Subject

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "sqlite_catalog.py"
RUNS = 100
IMPL = "sqlite_catalog:SqliteNamespace"
SCRIPT = """
import pyarrow as pa
from lance_namespace_impls import connect

with connect("sqlite_catalog:SqliteNamespace") as catalog:
    catalog.create_namespace({"id": ["sales"], "properties": {"owner": "me"}})
    catalog.create_table({"id": ["sales", "orders"]}, pa.table({"id": [1, 2, 3]}))
    print(catalog.count_table_rows({"id": ["sales", "orders"]}).count)
"""


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    spec = spec_from_file_location("sqlite_catalog", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def lance_ns(folder: Path, *arguments: str) -> str:
    command = Path(sys.executable).with_name("lance-ns")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [command, *arguments, "--impl", IMPL],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_it_works_in_an_empty_folder(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    assert lance_ns(tmp_path, "ls") == ""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "3\n"
    assert "sales" in lance_ns(tmp_path, "ls")
    assert "orders" in lance_ns(tmp_path, "ls", "sales")
    shown = json.loads(lance_ns(tmp_path, "describe", "sales$orders", "--json"))
    assert str(tmp_path / "sales" / "orders") in json.dumps(shown)
    operations = lance_ns(tmp_path, "operations", "--json")
    assert "RenameTable" in operations


def test_the_documentation_shows_the_whole_example() -> None:
    """The code blocks of the page, joined in order, equal the example file that the tests run."""
    page = (ROOT / "docs" / "extending.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[:2]
    shown, written = "\n".join(blocks).split(), EXAMPLE.read_text("utf-8").split()
    assert shown == written
    assert len(EXAMPLE.read_text("utf-8").splitlines()) < 120


def subject(module: ModuleType, folder: Path) -> Subject:
    file, root = folder / "catalog.db", folder / "tables"
    properties = {"file": str(file), "root": str(root)}

    def reset() -> Mapping[Identifier, Mapping[str, str]]:
        file.unlink(missing_ok=True)
        shutil.rmtree(root, ignore_errors=True)
        return {}

    return Subject(
        name="sqlite",
        connect=lambda: module.SqliteNamespace.from_properties(properties),
        reset=reset,
        capabilities=module.SqliteNamespace.capabilities,
        location=lambda identifier, _: extend.default_location(str(root), identifier),
        elsewhere=lambda name: str(root / "elsewhere" / name),
        names=NAMES,
    )


def test_it_behaves_like_its_model(example: ModuleType, tmp_path: Path) -> None:
    explore(subject(example, tmp_path), RUNS)


def test_an_unsupported_operation_is_rejected_and_not_listed(
    example: ModuleType, tmp_path: Path
) -> None:
    with subject(example, tmp_path).connect() as namespace:
        namespace.create_namespace({"id": ["a"]})
        listed = namespace.list_operations({}).operations
        assert "AlterNamespace" not in listed
        assert {"RenameTable", "AlterTable", "CreateTable", "QueryTable"} <= set(listed)
        with pytest.raises(
            UnsupportedError, match="the properties of a database cannot be changed"
        ):
            namespace.alter_namespace({"id": ["a"], "set_properties": {"k": "v"}})


@pytest.mark.parametrize("name", ["load_table", "change_table"])
def test_a_class_without_a_primitive_is_rejected(
    example: ModuleType, name: str, tmp_path: Path
) -> None:
    """Simulate a reader who omits a method of the example."""
    source = EXAMPLE.read_text("utf-8").replace(f"def {name}(", f"def other_{name}(")
    scope: dict[str, Any] = {"__name__": "sqlite_catalog"}
    with pytest.raises(
        TypeError, match=rf"SqliteNamespace must implement the primitive {name}\(\)"
    ):
        exec(compile(source, "sqlite_catalog.py", "exec"), scope)


def test_a_database_with_tables_is_not_dropped(example: ModuleType, tmp_path: Path) -> None:
    with subject(example, tmp_path).connect() as namespace:
        namespace.create_namespace({"id": ["a"]})
        namespace.create_table({"id": ["a", "t"]}, pa.table({"x": [1]}))
        with pytest.raises(Exception, match="is not empty") as caught:
            namespace.drop_namespace({"id": ["a"]})
        assert caught.value.code == 3  # type: ignore[attr-defined]
        namespace.drop_namespace({"id": ["a"], "behavior": "Cascade"})
        assert list(namespace.iter_namespaces()) == []


def test_the_example_needs_only_extend() -> None:
    """The example imports only from `extend`, and every name exported there has a docstring."""
    imported = set(re.findall(r"from (lance_namespace\S*) import", EXAMPLE.read_text("utf-8")))
    assert imported == {"lance_namespace_impls", "lance_namespace_impls.extend"}
    for module in (extend, http, iceberg_rest):
        for name in module.__all__:
            assert getattr(module, name).__doc__, name


def test_each_name_is_exported_by_one_module() -> None:
    names = [*extend.__all__, *http.__all__, *iceberg_rest.__all__]
    assert len(names) == len(set(names))
    assert len(extend.__all__) <= 20
