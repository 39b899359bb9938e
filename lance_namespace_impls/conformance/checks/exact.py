"""Changes keep what they do not name, failures undo everything, and statistics are exact."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import numbers, people, stream
from .evolving import fields

_TABLES = ["tables"]
_ALTERATIONS: tuple[dict[str, Any], ...] = (
    {"rename": "key"}, {"nullable": True}, {"data_type": {"type": "int32"}},
    {"rename": "key", "data_type": {"type": "int32"}}, {"rename": "key", "nullable": True},
)  # fmt: skip


@check("LN-COLUMN-021", "An alteration changes only the attributes of a column that it names.",
       "rest.yaml, AlterColumnsEntry: what is left out stays as it is", "AlterTableAlterColumns",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def kept(lab: Lab) -> None:
    inner = pa.field("x", pa.int64(), metadata={"unit": "m"})
    schema = pa.schema([
        pa.field("id", pa.int64(), metadata={"unit": "s", "by": "kit"}),
        pa.field("place", pa.struct([inner, pa.field("y", pa.string())]), metadata={"by": "kit"}),
        pa.field("other", pa.string(), metadata={"unit": "none"}),
    ])  # fmt: skip
    rows = pa.Table.from_pylist([{"id": 1, "place": {"x": 1, "y": "a"}, "other": "b"}], schema)
    for path in ("id", "place.x", "place"):
        for change in _ALTERATIONS:
            if path == "place" and "data_type" in change:
                continue
            table = lab.table_id()
            lab.given("CreateTable", stream(rows), id=table)
            before = fields(lab, table)
            reply = lab.call(
                "AlterTableAlterColumns", id=table, alterations=[{"path": path, **change}]
            )
            if reply.code in (0, 13, 20):
                continue
            lab.must_succeed(reply)
            after = fields(lab, table)
            old, new = _at(before, path), _at(after, _renamed(path, change))
            due = {**old, "name": change.get("rename", old["name"])}
            if "data_type" in change:
                due["type"] = {**old["type"], **change["data_type"]}
            lab.same(new, due, f"{path} after {change}")
            lab.same(after["other"], before["other"], f"another column after {path} got {change}")


def _renamed(path: str, change: dict[str, Any]) -> str:
    above, _, name = path.rpartition(".")
    return f"{above}." * bool(above) + str(change.get("rename", name))


def _at(found: dict[str, Any], path: str) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    if not rest:
        return dict(found.get(first) or {})
    return _at({f["name"]: f for f in found[first]["type"].get("fields") or ()}, rest)


@check("LN-STATS-005", "Fragment statistics match the rows that were written.",
       "rest.yaml, GetTableStatsResponse and FragmentSummary", "GetTableStats", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def fragments(lab: Lab) -> None:
    for sizes in ((3, 1, 1), (1, 2), (5,), (2, 2, 3, 4), (7, 1)):
        table = lab.table_id()
        lab.given("CreateTable", stream(numbers(*range(sizes[0]))), id=table)
        for size in sizes[1:]:
            lab.given("InsertIntoTable", stream(numbers(*range(size))), id=table)
        told = lab.ok("GetTableStats", id=table)
        lab.same(told.get("num_rows"), sum(sizes), f"num_rows of {sizes}")
        summary = told.get("fragment_stats") or {}
        lab.same(summary.get("num_fragments"), len(sizes), f"num_fragments of {sizes}")
        lengths = summary.get("lengths") or {}
        due = {"min": min(sizes), "max": max(sizes), "mean": sum(sizes) // len(sizes)}
        for key, value in due.items():
            lab.that(lengths.get(key) in (None, value), f"{key} {value} of {sizes}", lengths)


@check("LN-MANAGED-014", "If any operation of BatchCommitTables fails, none of them takes effect.",
       "rest.yaml, BatchCommitTables: all of them take effect or none", "BatchCommitTables", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def all_or_none(lab: Lab) -> None:
    # An existing name is not among the failures: the table of codes has no code 5 for this
    # operation, so its code is unspecified.
    def failing() -> list[tuple[int, dict[str, Any]]]:
        missing, ranges = lab.table_id(), [{"start_version": 1, "end_version": 2}]
        found: list[tuple[int, dict[str, Any]]] = [
            (4, {"deregister_table": {"id": missing}}),
            (4, {"delete_table_versions": {"id": missing, "ranges": ranges}}),
        ]  # fmt: skip
        if lab.shape.namespace_parent is not None:
            found.append((1, {"declare_table": {"id": [*lab.namespace_id(), "t"]}}))
        return found

    if lab.call(
        "BatchCommitTables", operations=[{"declare_table": {"id": lab.table_id()}}]
    ).code in (0, 13):
        raise Skipped("BatchCommitTables declares no tables here")
    kept = lab.new_table(1)
    for number in range(len(failing())):
        gone, new, other = lab.new_table(2), lab.table_id(), lab.table_id()
        code, wrong = failing()[number]
        for before in (
            [{"declare_table": {"id": new}}],
            [{"declare_table": {"id": new}}, {"deregister_table": {"id": gone}}],
            [{"deregister_table": {"id": gone}}, {"declare_table": {"id": new}},
             {"declare_table": {"id": other}}],
        ):  # fmt: skip
            reply = lab.call("BatchCommitTables", operations=[*before, wrong])
            lab.that(not reply.succeeded, f"a batch with {wrong} to fail", reply.outcome())
            lab.must_fail(reply, [code, 14])
            for table, due in ((new, False), (other, False), (gone, True), (kept, True)):
                there = lab.exists("TableExists", table)
                lab.same(there, due, f"whether {table} is there after a batch with {wrong} failed")
            lab.same((lab.ids(gone), lab.ids(kept)), ([2], [1]), "the ids of the tables that stay")


@check("LN-WHOLE-013",
       "If any entry of a list is invalid, whichever it is, the call applies none of the entries.",
       "rest.yaml, the lists of the requests", "CreateTable", "QueryTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def any_entry(lab: Lab) -> None:
    lists: tuple[tuple[str, str, list[Any], Any], ...] = (
        ("AlterTableAddColumns", "new_columns",
         [{"name": "a", "expression": "id"}, {"name": "b", "expression": "id"}],
         {"name": "name", "expression": "1"}),
        ("AlterTableAlterColumns", "alterations",
         [{"path": "name", "rename": "a"}, {"path": "score", "rename": "b"}],
         {"path": "nothing", "rename": "c"}),
        ("AlterTableDropColumns", "columns", ["name", "score"], "nothing"),
        ("UpdateFieldMetadata", "updates",
         [{"path": "id", "metadata": {"a": "1"}}, {"path": "name", "metadata": {"a": "1"}}],
         {"path": "nothing", "metadata": {"a": "1"}}),
        ("UpdateTable", "updates", [["name", "'x'"], ["score", "1.0"]], ["nothing", "1"]),
    )  # fmt: skip
    table = lab.new_table(1, 2)
    for operation, key, right, wrong in lists:
        before = (fields(lab, table), lab.query(table).to_pylist())
        for place in range(len(right) + 1):
            entries = [*right[:place], wrong, *right[place:]]
            reply = lab.call(operation, id=table, **{key: entries})
            if reply.code == 0:
                break
            lab.that(not reply.succeeded, f"{operation} of {entries} to fail", reply.outcome())
            after = (fields(lab, table), lab.query(table).to_pylist())
            lab.same(after, before, f"columns and rows after {operation} of {entries} was refused")
    lab.same(lab.count(table), len(people(1, 2)), "the number of rows")
