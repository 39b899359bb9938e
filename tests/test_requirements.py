"""Every requirement of the five specifications is shown: the table ``tests/requirements.toml``.

It has a row ``[[requirement]]`` for each requirement: ``id``, ``spec``, ``sentence``, and what shows
it: under ``check`` the id, or the ids, of the conformance checks with which any client observes it,
and under ``tests`` (or ``test``, for one alone) the pytest node ids. A row without a check says under
``native`` why no client of the protocol can observe it; its tests look at the catalog itself.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.conformance.checks import load_all
from lance_namespace_impls.conformance.requirement import CHECKS

load_all()

ROOT = Path(__file__).resolve().parents[1]
SPECIFICATIONS = {"general", "glue", "hive2", "hive3", "unity", "iceberg"}
UNMEANT = ("skip", "skipif", "xfail")
CHECKED = {"general": 80, "glue": 41, "hive2": 5, "hive3": 48, "iceberg": 34, "unity": 41}
"""How many rows of each specification name a check; raise it when rows gain one."""
UNSEEN = {
    "configured": "it depends on properties that the namespace is connected with",
    "failing": "the catalog behind has to fail or to refuse, which no call brings about",
    "foreign": "it takes an object in the catalog that the protocol cannot make",
    "stored": "it is about how the catalog or its storage keeps an object",
    "tools": "it is about documents, tools and packages, and not about a namespace",
}
"""Why a client cannot observe what a row asks for."""
NATIVE = {"unity-list-namespaces-other"}
"""Rows with a code that a client sees only where the catalog is configured for the case."""


def complaints(root: Path) -> list[str]:
    """Return what is wrong with the table of the tree at `root`, one line each."""
    rows = _rows(root)
    if not rows:
        return ["there are no rows"]
    found = [
        f"row {number}: {cause}" for number, row in enumerate(rows, 1) for cause in _row(root, row)
    ]
    ids = Counter(row.get("id", "") for row in rows)
    return found + [f"the id {id!r} is there {n} times" for id, n in ids.items() if n > 1]


def _rows(root: Path) -> list[dict[str, Any]]:
    table = (root / "tests" / "requirements.toml").read_text("utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(table).get("requirement", [])
    return rows


def _row(root: Path, row: dict[str, Any]) -> Iterator[str]:
    spec = row.get("spec", "")
    if not spec or not row.get("id", "").startswith((f"{spec}-", f"{spec}.")):
        yield f"the id {row.get('id')!r} does not start with its specification {spec!r}"
    if not row.get("sentence", "").strip():
        yield "the sentence is empty"
    checks, tests = _checks(row), _tests(row)
    if not checks and not tests:
        yield "no check and no test shows it"
    yield from (f"there is no check {id!r}" for id in checks if id not in CHECKS)
    if len(set(checks)) < len(checks):
        yield "it names a check twice"
    for node in tests:
        if cause := _unresolved(root, node):
            yield f"{node} {cause}"


def _checks(row: dict[str, Any]) -> list[str]:
    named = row.get("check", [])
    return [named] if isinstance(named, str) else list(named)


def _tests(row: dict[str, Any]) -> list[str]:
    one = [row["test"]] if row.get("test") else []
    return [*one, *row.get("tests", [])]


def _unresolved(root: Path, node: str) -> str | None:
    """Return why pytest would not run a node id, or None where it would."""
    file, *names = node.partition("[")[0].split("::")
    path = root / file
    if not (file.startswith("tests/") and path.name.startswith("test_") and path.is_file()):
        return "is in no test file"
    marks = _collected(path).get("::".join(names))
    if marks is None:
        return "does not exist"
    if "[" in node and "parametrize" not in marks:
        return "has no parameters"
    unmeant = [mark for mark in UNMEANT if mark in marks]
    return f"is marked {unmeant[0]}" if unmeant else None


@cache
def _collected(path: Path) -> dict[str, frozenset[str]]:
    """Return the tests of a file by name, ``Class::name`` for methods, each with its marks."""
    module = ast.parse(path.read_text("utf-8"))
    marks = _marks(*(node.value for node in module.body if _assigns(node, "pytestmark")))
    found = dict(_functions(module, "", marks))
    for node in module.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found |= _functions(node, f"{node.name}::", marks | _marks(*node.decorator_list))
    return found


def _functions(
    holder: ast.Module | ast.ClassDef, prefix: str, marks: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    for node in holder.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield prefix + node.name, marks | _marks(*node.decorator_list)


def _assigns(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name


def _marks(*expressions: ast.expr) -> frozenset[str]:
    """Return the names of the pytest marks that expressions speak of."""
    return frozenset(
        node.attr
        for expression in expressions
        for node in ast.walk(expression)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
    )


def test_every_requirement_has_a_check_or_a_test() -> None:
    assert complaints(ROOT) == []


def test_every_check_has_a_sentence_and_a_source() -> None:
    assert [id for id, check in CHECKS.items() if not check.requirement.endswith(".")] == []
    assert [id for id, check in CHECKS.items() if not check.source.strip()] == []


def test_every_row_names_a_check_or_says_why_no_client_can_observe_it() -> None:
    both = [row["id"] for row in _rows(ROOT) if (row.get("native") in UNSEEN) == bool(_checks(row))]
    assert both == []
    alone = [row["id"] for row in _rows(ROOT) if row.get("native") and not _tests(row)]
    assert alone == []


def test_rows_with_a_check_do_not_get_fewer() -> None:
    found = Counter(row["spec"] for row in _rows(ROOT) if _checks(row))
    assert found == CHECKED


def test_every_row_of_an_operation_of_the_general_specification_has_a_check() -> None:
    names = {name for row in OPERATIONS.values() for name in (row.name, *row.aliases)}
    rows = [
        row
        for row in _rows(ROOT)
        if row["spec"] == "general" and row["sentence"].partition(" ")[0].rstrip(",") in names
    ]
    assert len(rows) == 14
    assert [row["id"] for row in rows if not _checks(row)] == []


def test_every_row_of_a_missing_or_existing_object_has_a_check() -> None:
    rows = [row for row in _rows(ROOT) if re.search(r"\bcode [1-5]\b", row["sentence"])]
    assert len(rows) > 40
    assert {row["id"] for row in rows if not _checks(row)} == NATIVE


def test_every_specification_has_rows() -> None:
    assert {row["spec"] for row in _rows(ROOT)} == SPECIFICATIONS


def test_the_general_specification_is_numbered_through() -> None:
    ids = [row["id"] for row in _rows(ROOT) if row["spec"] == "general"]
    assert ids == [f"general-{n:03}" for n in range(1, len(ids) + 1)]


# --- the check itself

TESTS = """
import pytest

def test_plain(): ...

@pytest.mark.parametrize("value", [1])
def test_with_parameters(value): ...

@pytest.mark.skip(reason="later")
def test_skipped(): ...

@pytest.mark.xfail
def test_failing(): ...

@pytest.mark.parametrize("value", [pytest.param(1, marks=pytest.mark.skipif(True, reason=""))])
def test_skipped_within(value): ...

def helper():
    def test_inner(): ...

class TestClass:
    def test_method(self): ...

class Other:
    def test_method(self): ...
"""

GOOD = {"id": "x-1", "spec": "x", "sentence": "It is so.", "tests": ["tests/test_a.py::test_plain"]}


def write(tree: Path, *rows: dict[str, Any]) -> None:
    table = "".join(
        "[[requirement]]\n" + "".join(f"{key} = {value!r}\n" for key, value in row.items())
        for row in rows
    )
    (tree / "tests" / "requirements.toml").write_text(table)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(TESTS)
    (tmp_path / "tests" / "helpers.py").write_text(TESTS)
    return tmp_path


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"id": "x.area.rule"},
        {"test": "tests/test_a.py::test_plain", "tests": []},
        {"tests": ["tests/test_a.py::test_with_parameters"]},
        {"tests": ["tests/test_a.py::test_with_parameters[1]"]},
        {"tests": ["tests/test_a.py::TestClass::test_method"]},
        {"needs": "a real account"},
        {"check": "LN-SAFE-001"},
        {"check": ["LN-SAFE-001", "LN-SEQUENCE-001"]},
        {"check": "LN-SAFE-001", "tests": []},
    ],
    ids=str,
)
def test_good_rows(tree: Path, change: dict[str, Any]) -> None:
    write(tree, {**GOOD, **change})
    assert complaints(tree) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"id": ""}, "does not start with its specification"),
        ({"id": "y-1"}, "does not start with its specification"),
        ({"spec": ""}, "does not start with its specification"),
        ({"sentence": " "}, "the sentence is empty"),
        ({"tests": []}, "no check and no test shows it"),
        ({"test": "", "tests": []}, "no check and no test shows it"),
        ({"check": [], "tests": []}, "no check and no test shows it"),
        ({"check": "LN-NOTHING-001"}, "there is no check 'LN-NOTHING-001'"),
        ({"check": ["LN-SAFE-001", "LN-NOTHING-001"]}, "there is no check 'LN-NOTHING-001'"),
        ({"check": ["LN-SAFE-001", "LN-SAFE-001"]}, "it names a check twice"),
        ({"tests": ["tests/test_a.py::test_gone"]}, "does not exist"),
        ({"tests": [*GOOD["tests"], "tests/test_a.py::test_gone"]}, "does not exist"),
        ({"test": "tests/test_a.py::test_gone"}, "does not exist"),
        ({"tests": ["tests/test_a.py"]}, "does not exist"),
        ({"tests": ["tests/test_a.py::helper"]}, "does not exist"),
        ({"tests": ["tests/test_a.py::test_inner"]}, "does not exist"),
        ({"tests": ["tests/test_a.py::test_method"]}, "does not exist"),
        ({"tests": ["tests/test_a.py::Other::test_method"]}, "does not exist"),
        ({"tests": ["tests/test_a.py::test_plain[1]"]}, "has no parameters"),
        ({"tests": ["tests/test_b.py::test_plain"]}, "is in no test file"),
        ({"tests": ["tests/helpers.py::test_plain"]}, "is in no test file"),
        ({"tests": ["tests/test_a.py::test_skipped"]}, "is marked skip"),
        ({"tests": ["tests/test_a.py::test_skipped_within"]}, "is marked skipif"),
        ({"tests": ["tests/test_a.py::test_failing"]}, "is marked xfail"),
    ],
    ids=str,
)
def test_bad_rows(tree: Path, change: dict[str, Any], complaint: str) -> None:
    write(tree, {**GOOD, **change})
    (found,) = complaints(tree)
    assert found.startswith("row 1: ")
    assert complaint in found


@pytest.mark.parametrize("key", ["id", "spec", "sentence", "tests"])
def test_a_row_lacks_nothing(tree: Path, key: str) -> None:
    write(tree, {k: v for k, v in GOOD.items() if k != key})
    assert complaints(tree)


def test_an_id_is_there_once(tree: Path) -> None:
    write(tree, GOOD, {**GOOD, "id": "x-2"})
    assert complaints(tree) == []
    write(tree, GOOD, GOOD)
    assert complaints(tree) == ["the id 'x-1' is there 2 times"]


def test_the_table_has_rows(tree: Path) -> None:
    write(tree)
    assert complaints(tree) == ["there are no rows"]


def test_marks_of_the_whole_module_count(tree: Path) -> None:
    (tree / "tests" / "test_a.py").write_text(f"{TESTS}\npytestmark = pytest.mark.skip\n")
    write(tree, GOOD)
    (found,) = complaints(tree)
    assert found.endswith("is marked skip")
