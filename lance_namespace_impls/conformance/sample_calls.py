"""Plausible requests for each operation."""

from __future__ import annotations

from typing import Any

from lance_namespace_client.operations import OPERATIONS, Body

from .lab import Lab
from .rows import people, plain, stream

__all__ = [
    "BRANCH_CALLS",
    "NEW_COLUMNS",
    "ON_BRANCH",
    "WRITES",
    "missing_object_call",
    "sensible_call",
]

_QUERY = {"vector": {"single_vector": [1.0, 0.0]}, "k": 1}
NEW_COLUMNS = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}


_MORE: dict[str, dict[str, Any]] = {
    "RestoreTable": {"version": 1},
    "RenameTable": {"new_table_name": "x"},
    "CreateTableTag": {"tag": "a", "version": 1},
    "UpdateTableTag": {"tag": "a", "version": 1},
    "DeleteTableTag": {"tag": "a"},
    "GetTableTagVersion": {"tag": "a"},
    "CreateTableBranch": {"name": "a"},
    "DeleteTableBranch": {"name": "a"},
    "CreateTableIndex": {"column": "id", "index_type": "BTREE"},
    "CreateTableScalarIndex": {"column": "id", "index_type": "BTREE"},
    "DescribeTableIndexStats": {"index_name": "a"},
    "DropTableIndex": {"index_name": "a"},
    "UpdateTable": {"updates": [["id", "1"]]},
    "DeleteFromTable": {"predicate": "true"},
    "QueryTable": _QUERY,
    "ExplainTableQueryPlan": {"query": _QUERY},
    "AnalyzeTableQueryPlan": _QUERY,
    "MergeInsertIntoTable": {"on": "id", "when_not_matched_insert_all": True},
    "AlterTableAddColumns": {"new_columns": [{"name": "a", "expression": "1"}]},
    "AlterTableAlterColumns": {"alterations": [{"path": "id", "rename": "a"}]},
    "AlterTableDropColumns": {"columns": ["id"]},
    "UpdateFieldMetadata": {"updates": [{"path": "id", "metadata": {"a": "b"}}]},
    "UpdateTableSchemaMetadata": {"metadata": {"a": "b"}},
    "BatchDeleteTableVersions": {"ranges": [{"start_version": 1, "end_version": 2}]},
    "DescribeTableVersion": {"version": 1},
    "CreateTableVersion": {"version": 2, "manifest_path": "nowhere"},
    "AlterTableBackfillColumns": {"column": "id"},
    "CreateMaterializedView": {"kind": "query", "source_query": "x", "output_schema": "x"},
    "AlterTransaction": {"actions": [{"setStatusAction": {"status": "SUCCEEDED"}}]},
}


def missing_object_call(lab: Lab, operation: str, *below: str) -> Any:
    """Return the reply to a plausible call of an operation on a missing object.

    Args:
        lab: the bench.
        operation: the operation.
        below: names to append to the object's identifier.
    """
    row = OPERATIONS[operation]
    if not row.path_fields:
        return sensible_call(lab, operation)
    in_namespace = row.path.startswith("/v1/namespace/")
    parent = lab.shape.namespace_parent if in_namespace else lab.shape.table_parent
    return sensible_call(lab, operation, [*(parent or lab.shape.home), lab.ledger.fresh(), *below])


def sensible_call(
    lab: Lab, operation: str, identifier: list[str] | None = None, /, **more: Any
) -> Any:
    """Return the reply to a plausible call with generic arguments."""
    request = {**_MORE.get(operation, {}), **more}
    if operation == "RegisterTable":
        request["location"] = lab.free_location()
    if identifier is not None:
        request["id"] = identifier
    data = plain(1) if OPERATIONS[operation].body is Body.ARROW else None
    return lab.call(operation, data, **request)


BRANCH_CALLS: dict[str, tuple[bytes | None, dict[str, Any]]] = {
    "InsertIntoTable": (stream(people(11)), {}),
    "MergeInsertIntoTable": (stream(people(11)), {"on": "id", "when_not_matched_insert_all": True}),
    "UpdateTable": (None, {"updates": [["name", "'x'"]]}),
    "DeleteFromTable": (None, {"predicate": "id > 3"}),
    "CountTableRows": (None, {}),
    "QueryTable": (None, _QUERY),
    "AlterTableAddColumns": (None, NEW_COLUMNS),
    "AlterTableDropColumns": (None, {"columns": ["score"]}),
    "AlterTableAlterColumns": (None, {"alterations": [{"path": "name", "rename": "label"}]}),
    "CreateTableScalarIndex": (None, {"column": "id", "index_type": "BTREE"}),
    "ListTableVersions": (None, {}),
    "DescribeTableVersion": (None, {}),
    "GetTableStats": (None, {}),
    "RestoreTable": (None, {"version": 1}),
    "UpdateTableSchemaMetadata": (None, {"metadata": {"a": "b"}}),
    "UpdateFieldMetadata": (None, {"updates": [{"path": "id", "metadata": {"a": "b"}}]}),
    "CreateTableTag": (None, {"tag": "t", "version": 1}),
}
"""The request for each operation that accepts a branch."""

ON_BRANCH: dict[str, tuple[bytes | None, dict[str, Any]]] = {
    **BRANCH_CALLS,
    "DescribeTable": (None, {"load_detailed_metadata": True}),
    "ListTableIndices": (None, {}),
    "AnalyzeTableQueryPlan": (None, _QUERY),
    "ExplainTableQueryPlan": (None, {"query": _QUERY}),
    "BatchDeleteTableVersions": (None, {"ranges": [{"start_version": 1, "end_version": 2}]}),
    "CreateTableIndex": (None, {"column": "vec", "index_type": "IVF_FLAT"}),
    "DropTableIndex": (None, {"index_name": "by_id"}),
}

WRITES: tuple[tuple[str, bytes | None, dict[str, Any]], ...] = (
    ("InsertIntoTable", stream(people(11)), {}),
    ("UpdateTable", None, {"predicate": "id = 1", "updates": [["name", "'x'"]]}),
    ("DeleteFromTable", None, {"predicate": "id = 2"}),
    ("MergeInsertIntoTable", stream(people(12)), {"on": "id", "when_not_matched_insert_all": True}),
    ("AlterTableAddColumns", None, {"new_columns": [{"name": "twice", "expression": "id * 2"}]}),
    ("AlterTableAlterColumns", None, {"alterations": [{"path": "name", "rename": "label"}]}),
    ("AlterTableDropColumns", None, {"columns": ["score"]}),
    ("UpdateTableSchemaMetadata", None, {"metadata": {"a": "b"}}),
    ("UpdateFieldMetadata", None, {"updates": [{"path": "id", "metadata": {"a": "b"}}]}),
    ("CreateTableScalarIndex", None, {"column": "id", "index_type": "BTREE", "name": "by_id"}),
    ("RestoreTable", None, {"version": 1}),
)
"""Every kind of write that creates a version of a table of people."""
