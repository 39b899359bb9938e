"""Every requirement of the specifications has a conformance check or a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.conformance.requirement import CHECKS
from lance_namespace_impls.conformance.scenarios import load_all
from tests.requirements import SPECIFICATIONS, Requirement, complaints, marked, read, table

load_all()
ROWS = read()
CONFIGURED = {"unity-list-namespaces-other"}
"""Requirements of an error code that clients observe only if the catalog is configured for it."""


def test_every_requirement_is_shown() -> None:
    assert complaints(ROWS, marked(), CHECKS) == []


def test_every_specification_has_requirements() -> None:
    assert {row.spec for row in ROWS} == set(SPECIFICATIONS)


def test_the_ids_of_the_general_specification_are_consecutive() -> None:
    ids = [row.id for row in ROWS if row.spec == "general"]
    assert ids == [f"general-{n:03}" for n in range(1, len(ids) + 1)]


def test_every_operation_of_the_general_specification_has_a_check() -> None:
    names = {name for row in OPERATIONS.values() for name in (row.name, *row.aliases)}
    rows = [
        row
        for row in ROWS
        if row.spec == "general" and row.sentence.partition(" ")[0].rstrip(",") in names
    ]
    assert rows
    assert [row.id for row in rows if not row.checks] == []


def test_every_missing_or_existing_object_has_a_check() -> None:
    rows = [row for row in ROWS if re.search(r"\bcode [1-5]\b", row.sentence)]
    assert {row.id for row in rows if not row.checks} == CONFIGURED


def test_every_check_has_a_sentence_and_a_source() -> None:
    assert [id for id, check in CHECKS.items() if not check.requirement.endswith(".")] == []
    assert [id for id, check in CHECKS.items() if not check.source.strip()] == []


# --- the functions of tests/requirements.py

GOOD = Requirement("glue.x", ("LN-A-001",), "", "", "It is so.")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (GOOD, ""),
        (evolve(GOOD, checks=(), native="stored"), ""),
        (
            evolve(GOOD, id="glue.y", checks=(), native="stored"),
            "glue.y has neither a check nor a test",
        ),
        (evolve(GOOD, id="other.x"), "other.x does not begin with one of"),
        (evolve(GOOD, sentence=""), "glue.x has no sentence"),
        (evolve(GOOD, checks=("LN-A-002",)), "glue.x names the unknown check LN-A-002"),
        (evolve(GOOD, checks=("LN-A-001",) * 2), "glue.x names a check twice"),
        (evolve(GOOD, checks=()), "glue.x needs either checks or one of"),
        (evolve(GOOD, native="stored"), "glue.x needs either checks or one of"),
    ],
)
def test_faults_of_a_row(row: Requirement, complaint: str) -> None:
    found = complaints([row], {row.id: ["test"]} if row.id == GOOD.id else {}, {"LN-A-001"})
    assert [each[: len(complaint)] for each in found] == [complaint] * bool(complaint)


def test_an_id_has_one_row() -> None:
    assert complaints([GOOD, GOOD], {}, {"LN-A-001"}) == ["glue.x has 2 rows"]


def test_a_marker_names_a_row() -> None:
    found = complaints([GOOD], {"glue.z": ["a.py::test_a"]}, {"LN-A-001"})
    assert found == ["a.py::test_a is marked with the unknown requirement glue.z"]


MARKED = """
@pytest.mark.parametrize("value", [1])
@pytest.mark.requirement("glue.x", "glue.y")
def test_plain(value): ...

@pytest.mark.parametrize("value", [pytest.param(1, marks=pytest.mark.requirement("glue.p"))])
def test_parameter(value): ...

@pytest.mark.requirement("glue.s")
@pytest.mark.skip(reason="later")
def test_skipped(): ...

@pytest.mark.requirement("glue.h")
def helper(): ...

class TestClass:
    @pytest.mark.requirement("glue.c")
    def test_method(self): ...
"""


def test_marked_tests(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(MARKED)
    found = marked(tmp_path)
    assert found == {
        "glue.x": ["tests/test_a.py::test_plain"],
        "glue.y": ["tests/test_a.py::test_plain"],
        "glue.p": ["tests/test_a.py::test_parameter"],
        "glue.s": ["tests/test_a.py::test_skipped (skip)"],
        "glue.h": ["tests/test_a.py::helper (not a test)"],
        "glue.c": ["tests/test_a.py::TestClass::test_method"],
    }
    rows = [Requirement(id, (), "stored", "", "So.") for id in found]
    assert complaints(rows, found, ()) == [
        "tests/test_a.py::test_skipped (skip) cannot show glue.s",
        "tests/test_a.py::helper (not a test) cannot show glue.h",
    ]
    assert table(rows[:1], found).endswith("\n| glue.x | So. | `tests/test_a.py::test_plain` |\n")
