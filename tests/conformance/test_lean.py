"""A target that lacks features fails no check if it reports that it lacks them."""

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
    """Return an act that rejects calls.

    Without `unless`, ListOperations also omits the rejected operations.

    Args:
        operations: the rejected operations; every operation if none is given.
        unless: a condition for calls that are answered nevertheless.
        code: the error code of rejected calls.
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
    """Return a condition that is true if a call has none of the fields."""
    return lambda step: not any(step.request.get(field) for field in fields)


def both(first: Act, second: Act) -> Act:
    """Return an act that rejects every call that one of two acts rejects."""
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
"""Targets by the feature that they lack."""
FAST = ("properties of tables",)


@pytest.mark.parametrize("what", FAST)
def test_a_target_without_a_feature_fails_no_check(what, tmp_path):
    check_lean(what, tmp_path, skip=WIDE)


@pytest.mark.slow
@pytest.mark.parametrize("what", LEAN)
def test_a_target_without_a_feature_fails_no_check_of_a_complete_run(what, tmp_path):
    check_lean(what, tmp_path)


def check_lean(what, tmp_path, skip=()):
    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed")), LEAN[what])
    outcome = run(target, Options(skip=skip, seed=1, max_seconds=3600))
    assert [(f.check.id, f.expected, f.got) for f in outcome.failed()] == []
    assert [f for f in outcome.findings if f.result is Result.NOT_REACHED] == []
    assert outcome.leftovers == [] or what == "dropping namespaces"
