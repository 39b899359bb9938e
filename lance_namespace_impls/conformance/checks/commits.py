"""A change is one commit: a call creates one version, no matter how much it changes."""

from __future__ import annotations

from typing import Any

from ..lab import Lab
from ..requirement import check
from ..rows import people, stream
from .history import version_numbers

_ONE = "rest.yaml, the descriptions of the operations that write"
_TABLES = ["tables"]
CHANGES: tuple[tuple[str, bytes | None, dict[str, Any]], ...] = (
    ("InsertIntoTable", stream(people(11, 12), batch_rows=1), {}),
    ("InsertIntoTable", stream(people(1, 2, 3), batch_rows=1), {"mode": "overwrite"}),
    ("UpdateTable", None, {"updates": [["name", "'x'"], ["score", "2.5"]], "predicate": "id < 3"}),
    ("MergeInsertIntoTable", stream(people(2, 9)), {
        "on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True,
        "when_not_matched_by_source_delete": True}),
    ("DeleteFromTable", None, {"predicate": "id = 9"}),
    ("AlterTableAddColumns", None, {"new_columns": [
        {"name": "twice", "expression": "id * 2"}, {"name": "thrice", "expression": "id * 3"}]}),
    ("AlterTableAlterColumns", None, {"alterations": [
        {"path": "twice", "rename": "double"}, {"path": "thrice", "nullable": True}]}),
    ("AlterTableDropColumns", None, {"columns": ["double", "thrice"]}),
    ("UpdateTableSchemaMetadata", None, {"metadata": {"a": "1", "b": "2"}}),
    ("UpdateFieldMetadata", None, {"updates": [
        {"path": "id", "metadata": {"a": "1"}}, {"path": "name", "metadata": {"a": "1"}}]}),
    ("RestoreTable", None, {"version": 1}),
)  # fmt: skip


@check("LN-VERSION-021",
       "A call that changes a table creates exactly one version, with the next number.", _ONE,
       *dict.fromkeys(operation for operation, _, _ in CHANGES), "ListTableVersions", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def one_version(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)
    lines: list[dict[str, Any]] = [{}]
    if lab.call("CreateTableBranch", id=table, name="side").succeeded:
        lines.append({"branch": "side"})
    for of in lines:
        before = version_numbers(lab, table, **of)
        for operation, data, request in CHANGES:
            if not lab.call(operation, data, id=table, **request, **of).succeeded:
                continue  # other checks cover it
            after = version_numbers(lab, table, **of)
            where = " on a branch" if of else ""
            lab.same(sorted(set(after) - set(before)), [max(before) + 1],
                     f"the versions that {operation} makes{where}")  # fmt: skip
            before = after
