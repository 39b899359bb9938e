"""The random calls for a table depend on how much of its history is known."""

from __future__ import annotations

import random

import pytest

from lance_namespace_client.errors import ErrorCode
from lance_namespace_client.models import CreateTableBranchResponse, CreateTableResponse
from lance_namespace_impls.conformance.oracle.calls import Call, Granted, Rows
from lance_namespace_impls.conformance.oracle.draw import DATA_OPERATIONS, data_call
from lance_namespace_impls.conformance.oracle.known import Known
from lance_namespace_impls.conformance.oracle.tree import Tree

ROWS = Rows({"id": (1, 2)})
# Calls that depend on the history of a table: tags, branches, indices and old versions.
HISTORY = {
    "CreateTableTag", "ListTableTags", "CreateTableBranch", "ListTableBranches",
    "CreateTableScalarIndex", "ListTableIndices", "RestoreTable", "AlterTableAddColumns",
}  # fmt: skip


def create(tree: Tree, mode: str, version: int) -> None:
    call = Call("CreateTable", {"id": ["t"], "mode": mode}, ROWS)
    outcome = tree.expect(call)
    assert isinstance(outcome, Granted)
    outcome.settle(CreateTableResponse(location="memory://t", version=version, properties={}))


def drawn(tree: Tree) -> set[str]:
    """Return the data operations for which a random call on the table can be generated."""
    chance = random.Random(1)
    calls = {name: data_call(name, tree, ("t",), chance) for name in DATA_OPERATIONS}
    return {name for name, call in calls.items() if call is not None}


@pytest.mark.parametrize("in_full", [True, False])
@pytest.mark.parametrize(
    "modes", [("Create",), ("ExistOk",), ("Overwrite",), ("Create", "ExistOk")]
)
def test_every_call_is_drawn_for_a_table_with_a_known_history(
    in_full: bool, modes: tuple[str, ...]
) -> None:
    tree = Tree(Known(in_full=in_full, location=lambda identifier, properties: "memory://t"), {})
    for mode in modes:
        create(tree, mode, 1)
    assert drawn(tree) >= HISTORY


@pytest.mark.parametrize("in_full", [True, False])
def test_no_history_call_is_drawn_if_a_replaced_table_may_keep_its_history(in_full: bool) -> None:
    tree = Tree(Known(in_full=in_full, location=lambda identifier, properties: "memory://t"), {})
    create(tree, "Create", 1)
    create(tree, "Overwrite", 2)
    found = drawn(tree)
    assert {"QueryTable", "CountTableRows", "InsertIntoTable"} <= found
    assert found >= HISTORY if in_full else not HISTORY & found


@pytest.mark.parametrize("branched", [True, False])
def test_only_a_table_with_branches_may_reject_a_rename(branched: bool) -> None:
    tree = Tree(Known(location=lambda identifier, properties: "memory://t"), {})
    create(tree, "Create", 1)
    if branched:
        made = tree.expect(Call("CreateTableBranch", {"id": ["t"], "name": "b"}))
        assert isinstance(made, Granted)
        made.settle(CreateTableBranchResponse())
    outcome = tree.expect(Call("RenameTable", {"id": ["t"], "new_table_name": "u"}))
    assert isinstance(outcome, Granted)
    assert outcome.or_codes == ({ErrorCode.INVALID_TABLE_STATE} if branched else frozenset())


OPTIONS = {
    "InsertIntoTable": {"mode"},
    "UpdateTable": {"updates", "predicate"},
    "DeleteFromTable": {"predicate"},
    "MergeInsertIntoTable": {
        "on", "when_matched_update_all", "when_not_matched_insert_all",
        "when_not_matched_by_source_delete",
    },
    "CountTableRows": {"version", "predicate"},
    "QueryTable": {"vector", "k", "version", "filter", "columns"},
    "DescribeTableVersion": {"version"},
    "RestoreTable": {"version"},
    "CreateTableTag": {"tag", "version"},
}  # fmt: skip


@pytest.mark.parametrize("operation", OPTIONS)
def test_each_option_is_drawn_sometimes(operation: str) -> None:
    tree = Tree(Known(location=lambda identifier, properties: "memory://t"), {})
    create(tree, "Create", 1)
    chance = random.Random(1)
    calls = [data_call(operation, tree, ("t",), chance) for _ in range(100)]
    found = {key for call in calls if call is not None for key in call.request}
    assert found == {"id", *OPTIONS[operation]}
    for key in ("predicate", "filter"):
        given = [call.request[key] for call in calls if call is not None and key in call.request]
        assert None not in given
        assert len(set(given)) != 1
    if "version" in OPTIONS[operation]:
        versions = {call.request.get("version") for call in calls if call is not None}
        assert len(versions - {None}) == 2, "the one that is there, and one that is not"
