"""ListOperations in both directions: listed operations work, all others return code 0."""

from __future__ import annotations

from typing import Any

from lance_namespace_client.operations import OPERATIONS, Body

from ..lab import Failed, Lab
from ..requirement import Run, check, observed
from ..rows import plain

_GENERAL = "general specification, Namespace Operations"
_QUERY = {"vector": {"single_vector": [1.0, 0.0]}, "k": 1}
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
_UNASKED = ("BatchCreateTableVersions", "BatchCommitTables", "ListOperations")


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


@check(
    "LN-OPERATIONS-001",
    "ListOperations returns only operations of the protocol, each once.",
    _GENERAL,
    "ListOperations",
    changes=False,
)
def names_known(lab: Lab) -> None:
    names = list(lab.ok("ListOperations").get("operations") or ())
    lab.same(sorted(names), sorted(set(names)), "the operations")
    older = {alias for row in OPERATIONS.values() for alias in row.aliases}
    unknown = [n for n in names if n not in OPERATIONS and n not in older and "V" not in n]
    lab.same(unknown, [], "names that the protocol does not know")


@check(
    "LN-OPERATIONS-002",
    "An operation that ListOperations returns is supported: it does not fail with code 0.",
    _GENERAL,
    "ListOperations",
)
def claimed_work(lab: Lab) -> None:
    lab.ok("ListOperations")
    for operation in OPERATIONS:
        if operation in (lab.claimed or ()) and operation not in _UNASKED:
            reply = missing_object_call(lab, operation)
            if reply.code == 0:
                raise Failed(f"{operation} not to be code 0", reply.outcome(), reply)


@check(
    "LN-OPERATIONS-003",
    "An operation that ListOperations does not return fails with code 0 or has no route.",
    "rest.yaml, ListOperations: whatever is not in the list answers Unsupported",
    "ListOperations",
)
def unclaimed_refused(lab: Lab) -> None:
    lab.ok("ListOperations")
    for operation in OPERATIONS:
        if operation not in (lab.claimed or ()) and operation not in _UNASKED:
            reply = missing_object_call(lab, operation)
            # Code 13 is also correct if the catalog cannot hold the identifier.
            if reply.code not in (0, 13):
                raise Failed(f"{operation} to be code 0", reply.outcome(), reply)


observed(
    "LN-OPERATIONS-004",
    "An operation that ListOperations returns succeeds at least once if it is called with valid requests.",
    _GENERAL,
)


_MAKERS = ("CreateTable", "DeclareTable", "RegisterTable")


def _missing(operation: str) -> Run:
    def run(lab: Lab) -> None:
        reply = missing_object_call(lab, operation)
        lab.must_fail(reply, [4])
        identifier = list(reply.step.request["id"])
        there = lab.exists("TableExists", identifier)
        lab.that(not there, f"no table after {operation} was refused", identifier)
        if lab.shape.nested:
            there = lab.call("NamespaceExists", id=identifier).succeeded  # or too deeply nested
            lab.that(not there, f"no namespace after {operation} was refused", identifier)

    return run


for _number, _row in enumerate(OPERATIONS.values(), start=1):
    if _row.path.startswith("/v1/table/{id}") and _row.name not in _MAKERS:
        check(
            f"LN-MISSING-{_number:03}",
            f"{_row.name} of a missing table is code 4.",
            'protocol semantics, "Errors"; rest.yaml, error codes of the operations',
            _row.name,
            capabilities=["tables"],
        )(_missing(_row.name))
