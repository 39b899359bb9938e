"""A target that leaves something out, and says so, is no worse than one that has it all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Options, run

from .targets import WIDE, memory
from .wrong.python import Act, WrongTarget

TAGS = (
    "CreateTableTag", "ListTableTags", "GetTableTagVersion", "UpdateTableTag", "DeleteTableTag",
)  # fmt: skip
BRANCHES = ("CreateTableBranch", "ListTableBranches", "DeleteTableBranch")
INDICES = (
    "CreateTableIndex", "CreateTableScalarIndex", "ListTableIndices", "DescribeTableIndexStats",
    "DropTableIndex",
)  # fmt: skip
COLUMNS = (
    "AlterTableAddColumns", "AlterTableAlterColumns", "AlterTableDropColumns",
    "UpdateTableSchemaMetadata", "UpdateFieldMetadata",
)  # fmt: skip
VERSIONS = (
    "ListTableVersions", "DescribeTableVersion", "RestoreTable", "BatchDeleteTableVersions",
    "CreateTableVersion", "BatchCreateTableVersions", "BatchCommitTables",
)  # fmt: skip
QUERIES = ("QueryTable", "ExplainTableQueryPlan", "AnalyzeTableQueryPlan")
CHANGES = ("UpdateTable", "DeleteFromTable", "MergeInsertIntoTable")
ROWS = ("CreateTable", "InsertIntoTable", "CountTableRows", *QUERIES, *CHANGES)
ALTER = ("AlterTable", "AlterNamespace")


def without(*operations: str, unless: Callable[[Step], bool] | None = None, code: int = 0) -> Act:
    """Refuse operations, which the target does not list; or calls of a kind, whatever it lists.

    Args:
        operations: what is refused; every operation if none is named.
        unless: the calls that are answered all the same.
        code: what the others are refused with.
    """

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if (
            step.operation == "ListOperations"
            and unless is None
            and step.operation not in operations
        ):
            reply = target.correct.call(step)
            answer: dict[str, Any] = dict(reply.answer or {})
            there = [each for each in answer["operations"] if each not in operations]
            return evolve(reply, answer={**answer, "operations": there})
        if (operations and step.operation not in operations) or (
            unless is not None and unless(step)
        ):
            return None
        return Reply(step=step, code=code, message=f"{step.operation}: not here")

    return act


def no(*fields: str) -> Callable[[Step], bool]:
    """Return whether a call leaves fields out."""
    return lambda step: not any(step.request.get(field) for field in fields)


def both(first: Act, second: Act) -> Act:
    """Refuse what either refuses."""
    return lambda target, step: first(target, step) or second(target, step)


LEAN: dict[str, Act] = {
    "properties of tables": without(
        "CreateTable", "DeclareTable", "RegisterTable", unless=no("properties")
    ),
    "properties": without(
        "CreateTable", "DeclareTable", "RegisterTable", "CreateNamespace",
        unless=no("properties"), code=13,
    ),
    "branches": both(without(*BRANCHES), without(unless=no("branch"))),
    "the cascade": without(
        "DropNamespace", unless=lambda step: (step.request.get("behavior") or "").lower() != "cascade"
    ),
    **{
        what: without(*operations)
        for what, operations in {
            "the list of operations": ("ListOperations",), "altering": ALTER, "tags": TAGS,
            "indices": INDICES, "scalar indices": ("CreateTableScalarIndex",), "columns": COLUMNS,
            "declaring": ("DeclareTable",), "registering": ("RegisterTable", "DeregisterTable"),
            "renaming": ("RenameTable",), "changes of rows": CHANGES,
            "inserting": ("InsertIntoTable",), "queries": QUERIES, "counts": ("CountTableRows",),
            "rows": ROWS, "versions": VERSIONS, "describing": ("DescribeTable",),
            "listing": ("ListTables", "ListAllTables", "ListNamespaces"), "dropping": ("DropTable",),
            "dropping namespaces": ("DropNamespace",), "asking": ("TableExists", "NamespaceExists"),
            "stats": ("GetTableStats", "DescribeTableIndexStats"),
        }.items()
    },
}  # fmt: skip
"""What each leaves out."""
FAST = ("properties of tables",)


@pytest.mark.parametrize("what", FAST)
def test_what_leaves_something_out_fails_nothing(what, tmp_path):
    check_lean(what, tmp_path, skip=WIDE)


@pytest.mark.slow
@pytest.mark.parametrize("what", LEAN)
def test_what_leaves_something_out_fails_nothing_on_any_course(what, tmp_path):
    check_lean(what, tmp_path)


def check_lean(what, tmp_path, skip=()):
    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed")), LEAN[what])
    outcome = run(target, Options(skip=skip, seed=1, max_seconds=3600))
    assert [(f.check.id, f.expected, f.got) for f in outcome.failed()] == []
    assert [f for f in outcome.findings if f.result is Result.NOT_REACHED] == []
    assert outcome.leftovers == [] or what == "dropping namespaces"
