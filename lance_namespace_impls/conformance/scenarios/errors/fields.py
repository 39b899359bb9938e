"""Codes for fields that cannot be satisfied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...lab import Failed, Lab, Skipped
from ...missing_codes import NO_BRANCH, NO_COLUMN, NO_NEW_COLUMN, NO_VERSION
from ...requirement import check
from ...rows import people, stream
from ...sample_calls import ON_BRANCH
from ...table_state import FULL, furnished
from ...table_versions import lists_none

_VECTOR = {"single_vector": [1.0, 0.0]}
_DATA = ("InsertIntoTable", "MergeInsertIntoTable", "CreateTable")


_ROWS = stream(people(9))

STATED: dict[str, tuple[tuple[int | tuple[int, ...], dict[str, Any]], ...]] = {
    "DescribeTable": ((11, {"version": 99, **FULL}), (11, {"tag": "nothing", **FULL})),
    "TableExists": ((4, {"version": 99}),),
    "CountTableRows": (
        (11, {"version": 99}), (13, {"predicate": "id > > 1"}), (NO_COLUMN, {"predicate": "nothing = 1"})),
    "InsertIntoTable": tuple((13, {"mode": mode}) for mode in ("sometimes", "create", "ExistOk")),
    "MergeInsertIntoTable": (
        (NO_COLUMN, {"on": "nothing", "when_not_matched_insert_all": True}),
        (13, {"on": "id", "when_not_matched_insert_all": True, "timeout": "soon"})),
    "UpdateTable": (
        (NO_COLUMN, {"updates": [["nothing", "1"]]}), (13, {"updates": [["name", "'x'", "more"]]}),
        (13, {"updates": [["name", "'x'"]], "predicate": "id > > 1"})),
    "DeleteFromTable": (
        (13, {"predicate": ""}), (13, {"predicate": "id > > 1"}), (NO_COLUMN, {"predicate": "nothing = 1"})),
    "QueryTable": (
        (NO_COLUMN, {"vector": None, "k": 1, "columns": {"column_names": ["nothing"]}}),
        (NO_COLUMN, {"vector": None, "k": 1, "columns": {"column_aliases": {"a": "nothing"}}}),
        (13, {"vector": None, "k": 1, "filter": "id > > 1"}),
        (13, {"vector": {"single_vector": [1.0]}, "k": 1}),
        (NO_COLUMN, {"vector": _VECTOR, "k": 1, "vector_column": "nothing"}),
        (11, {"vector": None, "k": 1, "version": 99}),
        (13, {"vector": _VECTOR, "k": 1, "minimum_nprobes": 4, "maximum_nprobes": 2})),
    "AnalyzeTableQueryPlan": (
        (NO_COLUMN, {"vector": None, "k": 1, "columns": {"column_names": ["nothing"]}}),
        (13, {"vector": None, "k": 1, "filter": "id > > 1"}),
        (13, {"vector": {"single_vector": [1.0]}, "k": 1}),
        (NO_VERSION, {"vector": None, "k": 1, "version": 99})),
    "CreateTableScalarIndex": (
        (NO_COLUMN, {"column": "nothing", "index_type": "BTREE"}),
        (13, {"column": "id", "index_type": "SOMETIMES"}),
        (13, {"column": "id", "index_type": "INVERTED"})),
    "CreateTableIndex": (
        (NO_COLUMN, {"column": "nothing", "index_type": "IVF_FLAT"}),
        (13, {"column": "vec", "index_type": "SOMETIMES"}),
        (13, {"column": "name", "index_type": "IVF_FLAT"})),
    "DescribeTableIndexStats": ((6, {"index_name": "nothing"}),),
    "DropTableIndex": ((6, {"index_name": "nothing"}),),
    "CreateTable": ((5, {}), (5, {"mode": "create"}), (13, {"mode": "sometimes"}),
                    (13, {"mode": "append"})),
    "GetTableTagVersion": ((8, {"tag": "nothing"}),),
    "CreateTableTag": ((9, {"tag": "first", "version": 2}), (11, {"tag": "other", "version": 99})),
    "UpdateTableTag": (
        (8, {"tag": "nothing", "version": 1}), (11, {"tag": "first", "version": 99}),
        (NO_BRANCH, {"tag": "first", "version": 1, "branch": "nothing"})),
    "DeleteTableTag": ((8, {"tag": "nothing"}),),
    "CreateTableBranch": (
        (23, {"name": "side"}), (NO_BRANCH, {"name": "other", "from_branch": "nothing"}),
        (NO_VERSION, {"name": "other", "from_version": 99})),
    "DeleteTableBranch": ((22, {"name": "nothing"}), (13, {"name": "main"})),
    "RestoreTable": ((11, {"version": 99}),),
    "DescribeTableVersion": ((11, {"version": 99}),),
    "AlterTableAddColumns": (
        ((13, 20), {"new_columns": [{"name": "id", "expression": "1"}]}),
        (NO_NEW_COLUMN, {"new_columns": [{"name": "more", "expression": "nothing + 1"}]})),
    "AlterTableAlterColumns": (
        (NO_COLUMN, {"alterations": [{"path": "nothing", "rename": "other"}]}),
        (20, {"alterations": [{"path": "name", "rename": "id"}]}),
        (20, {"alterations": [{"path": "name", "data_type": {"type": "int64"}}]})),
    "AlterTableDropColumns": ((NO_COLUMN, {"columns": ["id", "nothing"]}),),
    "UpdateFieldMetadata": ((NO_COLUMN, {"updates": [{"path": "nothing", "metadata": {"a": "1"}}]}),),
    "AlterTable": ((13, {"set_properties": {"a": "1"}, "unset_properties": ["a"]}),),
    "RegisterTable": tuple(
        (13, {"location": "free", "mode": mode}) for mode in ("sometimes", "ExistOk", "append")),
    "ExplainTableQueryPlan": (
        (NO_VERSION, {"query": {"vector": None, "k": 1, "version": 99}}),
        (NO_COLUMN, {"query": {"vector": None, "k": 1, "columns": {"column_names": ["nothing"]}}}),
        (13, {"query": {"vector": None, "k": 1, "filter": "id > > 1"}})),
    "ListTableIndices": ((NO_VERSION, {"version": 99}),),
    "ListTableVersions": (),
    "GetTableStats": (),
    "UpdateTableSchemaMetadata": (),
    "BatchDeleteTableVersions": (),
}  # fmt: skip
"""Calls on a table of people, with the code or codes that the field descriptions state."""


def _with_vector(lab: Lab, table: list[str], request: dict[str, Any]) -> dict[str, Any]:
    """Return a request with missing vectors in the form that the target accepts."""
    found = dict(request)
    if "vector" in found and found["vector"] is None:
        found["vector"] = lab.no_vector(table)
    if isinstance(found.get("query"), dict):
        found["query"] = _with_vector(lab, table, found["query"])
    return found


def _stated(operation: str) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = lab.kept("furnished", lambda: furnished(lab))
        asked = False
        for due, request in STATED[operation]:
            codes = (due,) if isinstance(due, int) else due
            data = _ROWS if operation in _DATA else None
            if "location" in request:
                request = {**request, "location": lab.free_location()}
            reply = lab.call(operation, data, id=table, **_with_vector(lab, table, request))
            if reply.code == 0:
                continue
            asked = True
            if reply.code not in codes and not lists_none(lab, table, reply):
                expected = (
                    f"{operation} with {request} to fail with code {' or '.join(map(str, codes))}"
                )
                raise Failed(expected, reply.outcome(), reply)
        if not asked:
            raise Skipped(f"{operation} is not supported")

    return run


for _number, _operation in enumerate(STATED, start=1):
    check(
        f"LN-STATED-{_number:03}",
        f"A field of {_operation} that cannot be satisfied fails with the code in its description.",
        f"rest.yaml, the field descriptions of {_operation}",
        _operation,
        "CreateTable",
        capabilities=["tables"],
    )(_stated(_operation))


for _operation, (_, _request) in ON_BRANCH.items():
    if _operation != "DropTableIndex":  # index and branch are both missing: either code is right
        STATED[_operation] += ((NO_BRANCH, {**_request, "branch": "nothing"}),)
