"""The code that rest.yaml states in the text of a field is the one that is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..exchange import Reply
from ..lab import Failed, Lab, Skipped
from ..requirement import check
from ..rows import people, stream
from .references import ON_BRANCH
from .whole import furnished

_VECTOR = {"single_vector": [1.0, 0.0]}
_ROWS = stream(people(9))

STATED: dict[str, tuple[tuple[int, dict[str, Any]], ...]] = {
    "DescribeTable": ((11, {"version": 99}), (11, {"tag": "nothing"})),
    "TableExists": ((4, {"version": 99}),),
    "CountTableRows": (
        (11, {"version": 99}), (13, {"predicate": "id > > 1"}), (12, {"predicate": "nothing = 1"})),
    "InsertIntoTable": tuple((13, {"mode": mode}) for mode in ("sometimes", "create", "ExistOk")),
    "MergeInsertIntoTable": (
        (12, {"on": "nothing", "when_not_matched_insert_all": True}),
        (13, {"on": "id", "when_not_matched_insert_all": True, "timeout": "soon"})),
    "UpdateTable": (
        (12, {"updates": [["nothing", "1"]]}), (13, {"updates": [["name", "'x'", "more"]]}),
        (13, {"updates": [["name", "'x'"]], "predicate": "id > > 1"})),
    "DeleteFromTable": (
        (13, {"predicate": ""}), (13, {"predicate": "id > > 1"}), (12, {"predicate": "nothing = 1"})),
    "QueryTable": (
        (12, {"vector": None, "k": 1, "columns": {"column_names": ["nothing"]}}),
        (12, {"vector": None, "k": 1, "columns": {"column_aliases": {"a": "nothing"}}}),
        (13, {"vector": None, "k": 1, "filter": "id > > 1"}),
        (13, {"vector": {"single_vector": [1.0]}, "k": 1}),
        (12, {"vector": _VECTOR, "k": 1, "vector_column": "nothing"}),
        (11, {"vector": None, "k": 1, "version": 99}),
        (13, {"vector": _VECTOR, "k": 1, "minimum_nprobes": 4, "maximum_nprobes": 2}),
        (13, {"vector": _VECTOR, "k": 0})),
    "AnalyzeTableQueryPlan": (
        (12, {"vector": None, "k": 1, "columns": {"column_names": ["nothing"]}}),
        (13, {"vector": None, "k": 1, "filter": "id > > 1"}),
        (13, {"vector": {"single_vector": [1.0]}, "k": 1}),
        (4, {"vector": None, "k": 1, "version": 99})),
    "CreateTableScalarIndex": (
        (12, {"column": "nothing", "index_type": "BTREE"}), (13, {"column": "id", "index_type": "SOMETIMES"}),
        (13, {"column": "id", "index_type": "INVERTED"})),
    "CreateTableIndex": (
        (12, {"column": "nothing", "index_type": "IVF_FLAT"}),
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
        (11, {"tag": "first", "version": 1, "branch": "nothing"})),
    "DeleteTableTag": ((8, {"tag": "nothing"}),),
    "CreateTableBranch": (
        (23, {"name": "side"}), (4, {"name": "other", "from_branch": "nothing"}),
        (4, {"name": "other", "from_version": 99})),
    "DeleteTableBranch": ((22, {"name": "nothing"}), (13, {"name": "main"})),
    "RestoreTable": ((11, {"version": 99}),),
    "DescribeTableVersion": ((11, {"version": 99}),),
    "AlterTableAddColumns": (
        (20, {"new_columns": [{"name": "id", "expression": "1"}]}),
        (12, {"new_columns": [{"name": "more", "expression": "nothing + 1"}]})),
    "AlterTableAlterColumns": (
        (12, {"alterations": [{"path": "nothing", "rename": "other"}]}),
        (20, {"alterations": [{"path": "name", "rename": "id"}]}),
        (20, {"alterations": [{"path": "name", "data_type": {"type": "int64"}}]})),
    "AlterTableDropColumns": ((12, {"columns": ["id", "nothing"]}),),
    "UpdateFieldMetadata": ((12, {"updates": [{"path": "nothing", "metadata": {"a": "1"}}]}),),
    "AlterTable": ((13, {"set_properties": {"a": "1"}, "unset_properties": ["a"]}),),
    "RegisterTable": tuple(
        (13, {"location": "free", "mode": mode}) for mode in ("sometimes", "ExistOk", "append")),
    "ExplainTableQueryPlan": (
        (4, {"query": {"vector": None, "k": 1, "version": 99}}),
        (12, {"query": {"vector": None, "k": 1, "columns": {"column_names": ["nothing"]}}}),
        (13, {"query": {"vector": None, "k": 1, "filter": "id > > 1"}})),
    "ListTableIndices": ((4, {"version": 99}),),
    "ListTableVersions": (),
    "GetTableStats": (),
    "UpdateTableSchemaMetadata": (),
    "BatchDeleteTableVersions": (),
}  # fmt: skip
"""Calls on a table of people, with the code that the text of the field names."""
_READ_AT = ("DescribeTable", "DescribeTableVersion", "RestoreTable", "QueryTable", "CountTableRows",
            "CreateTableTag")  # fmt: skip
"""What takes a branch that is missing for a version that is missing; the others, for a table."""
for _operation, (_, _request) in ON_BRANCH.items():
    _code = 11 if _operation in _READ_AT else 4
    if _operation != "DropTableIndex":  # of what is missing twice either may be said
        STATED[_operation] += ((_code, {**_request, "branch": "nothing"}),)

_DATA = ("InsertIntoTable", "MergeInsertIntoTable", "CreateTable")


def lists_none(lab: Lab, table: list[str], reply: Reply) -> bool:
    """Return whether there being no versions may be said of a missing branch.

    Where the catalog keeps versions, Lance asks for those of a branch before it makes the branch.
    """
    empty = (
        reply.step.operation == "ListTableVersions" and (reply.answer or {}).get("versions") == []
    )
    return empty and bool(lab.ok("DescribeTable", id=table).get("managed_versioning"))


def _stated(operation: str) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = lab.kept("furnished", lambda: furnished(lab))
        asked = False
        for code, request in STATED[operation]:
            data = _ROWS if operation in _DATA else None
            if "location" in request:
                request = {**request, "location": lab.free_location()}
            reply = lab.call(operation, data, id=table, **request)
            if reply.code == 0:
                continue
            asked = True
            if reply.code != code and not lists_none(lab, table, reply):
                raise Failed(f"code {code} from {operation} of {request}", reply.outcome(), reply)
        if not asked:
            raise Skipped(f"{operation} is not supported")

    return run


for _number, _operation in enumerate(STATED, start=1):
    check(
        f"LN-STATED-{_number:03}",
        f"A field of {_operation} that cannot be met is the code that its text names.",
        f"rest.yaml, the texts of the fields of {_operation}",
        _operation,
        "CreateTable",
        capabilities=["tables"],
    )(_stated(_operation))
