"""Adding, altering and dropping columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ...indexed_tables import table_of
from ...lab import Lab
from ...missing_codes import NO_COLUMN, NO_NEW_COLUMN
from ...requirement import check
from ...rows import PEOPLE, people, stream
from ...table_state import fields
from ...table_versions import branch_rows
from .fixtures import on_side, structs

_COLUMNS = "rest.yaml, the column operations"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_COLUMN_CODES = (
    f"{_CODES}; the published descriptions of the fields: InvalidInput or TableColumnNotFound"
)
_TABLES = ["tables"]
ALL = list(PEOPLE)
_ALTERATIONS: tuple[dict[str, Any], ...] = (
    {"rename": "key"}, {"nullable": True}, {"data_type": {"type": "int32"}},
    {"rename": "key", "data_type": {"type": "int32"}}, {"rename": "key", "nullable": True},
)  # fmt: skip
_ALTER = "rest.yaml, AlterColumnsEntry and AddColumnsEntry"
_NEEDED = ("AlterTableAlterColumns", "AlterTableAddColumns", "QueryTable", "CreateTable")
_PLAIN = {"name": "fine", "expression": "1"}
_VIRTUAL = {"virtual_column": {
    "input_columns": ["id"], "image": "i", "udf": "AA==", "udf_name": "f", "udf_version": "1",
    "outputs": [{"column": "x", "struct_field": "x", "data_type": {}, "nullable": True}]}}  # fmt: skip


@check("LN-COLUMN-001", "AlterTableAddColumns adds a column computed by an expression.", _COLUMNS,
       "AlterTableAddColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def add_computed(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok(
        "AlterTableAddColumns", id=table, new_columns=[{"name": "twice", "expression": "id * 2"}]
    )
    found = {row["id"]: row.get("twice") for row in lab.query(table).to_pylist()}
    lab.same(found, {i: i * 2 for i in ALL}, "the new column")
    lab.that((answer.get("version") or 0) > 1, "a version after the first", answer)


@check("LN-COLUMN-002", "AlterTableAddColumns fails with code 13 or 20 if the column exists.",
       _COLUMNS, "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def add_taken(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("AlterTableAddColumns", [13, 20], id=table,
                new_columns=[{"name": "name", "expression": "id * 2"}])  # fmt: skip
    found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
    lab.same(found, {i: f"n{i}" for i in ALL}, "the names")


@check("LN-COLUMN-003", "AlterTableDropColumns removes columns and keeps the others.", _COLUMNS,
       "AlterTableDropColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def drop_columns(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("AlterTableDropColumns", id=table, columns=["score", "vec"])
    found = lab.query(table)
    lab.same(found.column_names, ["id", "name"], "the columns")
    lab.same(sorted(found.column("id").to_pylist()), ALL, "the ids")


@check("LN-COLUMN-004",
       "AlterTableDropColumns with a missing column fails with code 12 or 13 and drops nothing.",
       _COLUMN_CODES, "AlterTableDropColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def drop_missing(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("AlterTableDropColumns", NO_COLUMN, id=table, columns=["name", "nothing"])
    lab.that(
        "name" in lab.query(table).column_names,
        "no column to be dropped",
        "the column name was dropped",
    )


@check("LN-COLUMN-005", "AlterTableAlterColumns renames a column and keeps its values.", _COLUMNS,
       "AlterTableAlterColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def rename(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "name", "rename": "label"}])
    found = lab.query(table)
    lab.same(sorted(found.column_names), ["id", "label", "score", "vec"], "the columns")
    lab.same(sorted(found.column("label").to_pylist()), sorted(f"n{i}" for i in ALL), "the values")


@check("LN-COLUMN-006", "AlterTableAlterColumns of a missing column fails with code 12 or 13.",
       _COLUMN_CODES, "AlterTableAlterColumns", "CreateTable", capabilities=_TABLES)  # fmt: skip
def alter_missing(lab: Lab) -> None:
    lab.refused("AlterTableAlterColumns", NO_COLUMN, id=lab.new_table(),
                alterations=[{"path": "nothing", "rename": "label"}])  # fmt: skip


@check("LN-COLUMN-007", "AlterTableAddColumns on a missing table fails with code 4.", _CODES,
       "AlterTableAddColumns", capabilities=_TABLES)  # fmt: skip
def missing_table_columns(lab: Lab) -> None:
    lab.refused("AlterTableAddColumns", [4], id=lab.table_id(),
                new_columns=[{"name": "a", "expression": "1"}])  # fmt: skip


def _all_or_none(
    lab: Lab, operation: str, key: str, good: Mapping[str, Any], *wrong: Mapping[str, Any]
) -> None:
    """Check that a valid change is not applied if the same request contains an invalid one."""
    table = lab.new_table()
    before = lab.query(table).column_names
    for each in wrong:
        lab.refused(operation, [12, 13, 20], id=table, **{key: [good, each]})
        lab.same(lab.query(table).column_names, before, f"the columns after {each}")


@check("LN-COLUMN-016", "AlterTableAddColumns with one invalid column fails and adds no column.",
       f"{_COLUMNS}; {_CODES}", "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def bad_columns(lab: Lab) -> None:
    _all_or_none(
        lab, "AlterTableAddColumns", "new_columns", {"name": "twice", "expression": "id * 2"},
        {"name": "id", "expression": "1"}, {"name": "a", "expression": "no such thing"},
        {"name": "b", "expression": "nothing + 1"}, {"name": "", "expression": "1"},
    )  # fmt: skip


@check("LN-COLUMN-017",
       "AlterTableAlterColumns with one invalid alteration fails and changes no column.",
       f"{_COLUMNS}; {_CODES}", "AlterTableAlterColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def bad_alterations(lab: Lab) -> None:
    _all_or_none(
        lab, "AlterTableAlterColumns", "alterations", {"path": "name", "rename": "label"},
        {"path": "score", "rename": "id"}, {"path": "nothing", "rename": "a"},
        {"path": "score", "data_type": {"type": "sometimes"}}, {"path": "score", "rename": ""},
    )  # fmt: skip


@check("LN-COLUMN-018",
       "AlterTableAlterColumns can rename a column and change its type in one call.",
       _COLUMNS, "AlterTableAlterColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def renamed_and_cast(lab: Lab) -> None:
    table = lab.new_table()
    other = {"path": "id", "rename": "number", "data_type": {"type": "int32"}}
    lab.maybe("AlterTableAlterColumns", id=table, alterations=[other])
    found = lab.query(table)
    lab.that("number" in found.column_names, "the new name", found.column_names)
    lab.same(str(found.schema.field("number").type), "int32", "the type")
    lab.same(sorted(found.column("number").to_pylist()), ALL, "the values")


@check("LN-COLUMN-008", "AlterTableAddColumns adds each of several columns.",
       _COLUMNS, "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def several_columns(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("AlterTableAddColumns", id=table, new_columns=[
        {"name": "twice", "expression": "id * 2"}, {"name": "thrice", "expression": "id * 3"},
    ])  # fmt: skip
    row = lab.query(table, filter="id = 4").to_pylist()[0]
    lab.same((row.get("twice"), row.get("thrice")), (8, 12), "the new columns")


@check("LN-COLUMN-009", "AlterTableAlterColumns changes the type of a column.", _COLUMNS,
       "AlterTableAlterColumns", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def column_type(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("AlterTableAlterColumns", id=table,
              alterations=[{"path": "id", "data_type": {"type": "int32"}}])  # fmt: skip
    found = lab.query(table)
    lab.same(str(found.schema.field("id").type), "int32", "the type")
    lab.same(sorted(found.column("id").to_pylist()), ALL, "the values")


@check("LN-COLUMN-010", "Each change of columns returns a later version than the change before it.",
       _COLUMNS, "AlterTableAddColumns", "AlterTableDropColumns", "AlterTableAlterColumns",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def column_versions(lab: Lab) -> None:
    table = lab.new_table()
    calls = (
        ("AlterTableAddColumns", {"new_columns": [{"name": "twice", "expression": "id * 2"}]}),
        ("AlterTableAlterColumns", {"alterations": [{"path": "name", "rename": "label"}]}),
        ("AlterTableDropColumns", {"columns": ["score"]}),
    )
    last = 1
    for operation, request in calls:
        version = lab.ok(operation, id=table, **request).get("version") or 0
        lab.that(version > last, f"{operation} to return a version after {last}", version)
        last = version


@check("LN-COLUMN-011",
       "nullable sets whether a column accepts nulls, and false is rejected if the column "
       "contains any.",
       "rest.yaml, AlterColumnsEntry", "AlterTableAlterColumns", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def nullable(lab: Lab) -> None:
    table = lab.table_id()
    strict = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    lab.ok("CreateTable", stream(pa.table({"x": [1]}, schema=strict)), id=table)
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "x", "nullable": True}])
    lab.same(fields(lab, table)["x"]["nullable"], True, "whether x is nullable")
    lab.ok("InsertIntoTable", stream(pa.table({"x": pa.array([None], pa.int64())})), id=table)
    lab.same(lab.count(table), 2, "the number of rows")
    lab.refused(
        "AlterTableAlterColumns", [13, 20], id=table, alterations=[{"path": "x", "nullable": False}]
    )


@check("LN-COLUMN-012", "Changing one column keeps the other columns and the rows.",
       _COLUMNS, "AlterTableAlterColumns", "AlterTableAddColumns", "AlterTableDropColumns",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def others_stay(lab: Lab) -> None:
    table = lab.new_table()
    before = people(*PEOPLE)
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "name", "rename": "label"}])
    found = lab.query(table)
    lab.same(found.column_names, ["id", "label", "score", "vec"], "the columns")
    lab.same(found.column("label").to_pylist(), before.column("name").to_pylist(), "the values")
    lab.ok("AlterTableAddColumns", id=table,
           new_columns=[{"name": "sum", "expression": "score + id"},
                        {"name": "one", "expression": "1"}])  # fmt: skip
    found = lab.query(table)
    lab.same(found.column_names, ["id", "label", "score", "vec", "sum", "one"], "the columns")
    sums = [
        None if s is None else s + i for i, s in zip(ALL, before["score"].to_pylist(), strict=True)
    ]
    lab.same(found.column("sum").to_pylist(), sums, "the sums, null if score is null")
    lab.same(set(found.column("one").to_pylist()), {1}, "the constant")
    lab.ok("AlterTableDropColumns", id=table, columns=["sum", "score"])
    found = lab.query(table)
    lab.same(found.column_names, ["id", "label", "vec", "one"], "the columns")
    lab.same(found.column("vec").to_pylist(), before.column("vec").to_pylist(), "the vectors")
    lab.same(
        lab.query(table, version=1).column_names, before.column_names, "the columns in version 1"
    )


@check("LN-COLUMN-013",
       "A request that changes several columns changes none of them if one change is invalid.",
       _COLUMNS, "AlterTableAlterColumns", "AlterTableAddColumns", "AlterTableDropColumns",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def all_or_none(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("AlterTableAddColumns", NO_NEW_COLUMN, id=table, new_columns=[
        {"name": "fine", "expression": "id"}, {"name": "bad", "expression": "nothing + 1"}])  # fmt: skip
    lab.refused("AlterTableAlterColumns", NO_COLUMN, id=table, alterations=[
        {"path": "name", "rename": "label"}, {"path": "nothing", "rename": "else"}])  # fmt: skip
    lab.refused(
        "AlterTableAlterColumns", [13, 20], id=table, alterations=[{"path": "name", "rename": "id"}]
    )
    lab.refused("AlterTableDropColumns", NO_COLUMN, id=table, columns=["name", "nothing"])
    lab.same(lab.query(table).column_names, people(1).column_names, "the columns")


@check("LN-COLUMN-014",
       "One request can alter several columns, and a path can name a field of a struct.",
       "rest.yaml, AlterColumnsEntry", "AlterTableAlterColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def several(lab: Lab) -> None:
    table = lab.table_id()
    rows = pa.table({"a": [1, 2], "b": ["x", "y"], "s": [{"u": 1, "v": 2}, {"u": 3, "v": 4}]})
    lab.given("CreateTable", stream(rows), id=table)
    lab.ok("AlterTableAlterColumns", id=table,
           alterations=[{"path": "a", "rename": "one"}, {"path": "b", "rename": "two"}])  # fmt: skip
    lab.same(lab.query(table).column_names, ["one", "two", "s"], "the columns")
    lab.maybe("AlterTableAlterColumns", id=table, alterations=[{"path": "s.u", "rename": "w"}])
    found = lab.query(table)
    lab.same(found.column("s").to_pylist(), [{"w": 1, "v": 2}, {"w": 3, "v": 4}], "the structs")
    lab.same(found.column("two").to_pylist(), ["x", "y"], "the values of the column two")


@check("LN-COLUMN-015",
       "After a schema change, rows can be inserted with the new columns and filtered by the new "
       "name.",
       _COLUMNS, "AlterTableAlterColumns", "AlterTableDropColumns", "InsertIntoTable",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def new_shape(lab: Lab) -> None:
    table = lab.new_table()
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "name", "rename": "label"}])
    lab.ok("AlterTableDropColumns", id=table, columns=["score", "vec"])
    lab.ok("InsertIntoTable", stream(pa.table({"id": [11], "label": ["new"]})), id=table)
    lab.same(lab.ids(table, filter="label = 'new' OR label = 'n2'"), [2, 11], "the ids")
    lab.refused("QueryTable", [12, 13], id=table, vector=lab.no_vector(), k=1, filter="name = 'n2'")


@check("LN-COLUMN-019",
       "A new column with no source of values, or with two, fails with code 13 and is not added.",
       "rest.yaml, AddColumnsEntry", "AlterTableAddColumns", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def one_source(lab: Lab) -> None:
    table = lab.new_table(1)
    for entry in ({"expression": "id", "computed": "id"}, {}):
        lab.refused("AlterTableAddColumns", [13], id=table, new_columns=[{"name": "more", **entry}])
    lab.that("more" not in lab.query(table).column_names, "no new column", "one")


@check("LN-COLUMN-020",
       "One alteration can change the name, type and nullability of a column together.",
       "rest.yaml, AlterColumnsEntry", "AlterTableAlterColumns", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def altered_in_all(lab: Lab) -> None:
    for change in (
        {"nullable": False},
        {"data_type": {"type": "int32"}},
        {"nullable": False, "data_type": {"type": "int32"}},
    ):
        table = lab.new_table()
        alteration = {"path": "id", "rename": "key", **change}
        reply = lab.call("AlterTableAlterColumns", id=table, alterations=[alteration])
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        held = fields(lab, table)
        lab.that("key" in held and "id" not in held, "id to be renamed to key", sorted(held))
        if "nullable" in change:
            lab.same(held["key"].get("nullable"), False, "whether key is nullable")
        if "data_type" in change:
            lab.same(held["key"]["type"]["type"], "int32", "the type of key")


def _renamed(path: str, change: dict[str, Any]) -> str:
    above, _, name = path.rpartition(".")
    return f"{above}." * bool(above) + str(change.get("rename", name))


def _at(found: dict[str, Any], path: str) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    if not rest:
        return dict(found.get(first) or {})
    return _at({f["name"]: f for f in found[first]["type"].get("fields") or ()}, rest)


@check("LN-COLUMN-021", "An alteration changes only the attributes of a column that it names.",
       "rest.yaml, AlterColumnsEntry: omitted attributes stay unchanged", "AlterTableAlterColumns",
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
            lab.same(after["other"], before["other"], f"another column after {change} on {path}")


def state(lab: Lab, table: list[str]) -> Any:
    return fields(lab, table), ordered(lab.query(table))


def ordered(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=repr)


_WRONG: tuple[tuple[str, str, Any, list[tuple[int, Any]]], ...] = (
    ("AlterTableAlterColumns", "alterations", {"path": "s", "rename": "t"}, [
        (13, {"path": "id"}), (13, {"path": "id", "rename": None, "nullable": None}),
        (13, {"path": "id", "data_type": {"type": "sometimes"}}), (20, {"path": "name", "nullable": False}),
        (20, {"path": "id", "data_type": {"type": "int32"}}), (12, {"path": "s.no", "rename": "x"})]),
    ("AlterTableDropColumns", "columns", "name", [(12, "s.no"), (12, "no.u")]),
    ("AlterTableAddColumns", "new_columns", _PLAIN, [
        (13, {"name": "x", "expression": "id + ("}), (12, {"name": "x", "expression": "no * 2"}),
        (13, {"name": "x", "expression": "1", **_VIRTUAL}),
        (13, {"name": "x", "computed": "1", **_VIRTUAL}), (20, _PLAIN)]),
    ("UpdateFieldMetadata", "updates", {"path": "id", "metadata": {"by": "kit"}}, [
        (12, {"path": "s.no", "metadata": {"a": "1"}})]),
)  # fmt: skip


@check("LN-COLUMN-060",
       "An invalid column change fails with the specified code and changes nothing.", _ALTER,
       *_NEEDED, capabilities=_TABLES)  # fmt: skip
def wrong_changes(lab: Lab) -> None:
    rows = {"id": [1, 2**40], "name": ["a", None], "s": [{"u": 1, "v": "x"}] * 2}
    table = table_of(lab, rows)
    lab.given("InsertIntoTable", stream(pa.table({**rows, "name": ["b", "c"]})), id=table)
    before = state(lab, table)
    for operation, key, right, several in _WRONG:
        for code, wrong in several:
            reply = lab.call(operation, id=table, **{key: [right, wrong]})
            if reply.code != 0:
                absent = NO_NEW_COLUMN if key == "new_columns" else NO_COLUMN
                codes = absent if code == 12 else (code,)
                lab.must_fail(reply, codes if wrong is not right else (13, 20))
        lab.same(state(lab, table), before, f"the columns and rows after the rejected {operation}")


def add(lab: Lab, table: list[str], of: dict[str, Any] | None = None, **new: str) -> None:
    columns = [{"name": name, "expression": each} for name, each in new.items()]
    make = lab.maybe if of else lab.ok
    make("AlterTableAddColumns", id=table, new_columns=columns, **of or {})


@check("LN-COLUMN-061", "Fields of a struct can be read, cast, renamed and dropped by their path.",
       _ALTER, *_NEEDED, "AlterTableDropColumns", capabilities=_TABLES)  # fmt: skip
def inner_fields(lab: Lab) -> None:
    table = structs(lab)
    add(lab, table, twice="s.u * 2")
    lab.same(sorted(lab.query(table).column("twice").to_pylist()), [2, 4], "the new column")
    change = {"path": "s.u", "data_type": {"type": "int32"}}
    lab.maybe("AlterTableAlterColumns", id=table, alterations=[change])
    lab.maybe("AlterTableDropColumns", id=table, columns=["s.v", "twice"])
    lab.maybe("AlterTableAlterColumns", id=table, alterations=[{"path": "s.u", "rename": "name"}])
    columns, rows = state(lab, table)
    kind = columns["s"]["type"]
    told = [
        (f.get("name"), f.get("nullable"), f["type"].get("type"), f.get("metadata"))
        for f in kind.get("fields") or ()
    ]
    due = [("name", False, "int32", {"k": "1"})]
    lab.same((kind.get("type"), told), ("struct", due), "the struct and its field")
    lab.same([row["s"] for row in rows], [{"name": 1}, {"name": 2}], "the structs")


@check("LN-COLUMN-062", "A field of a struct cannot be renamed to the name of a sibling.",
       _ALTER, *_NEEDED, capabilities=_TABLES)  # fmt: skip
def siblings(lab: Lab) -> None:
    table = structs(lab)
    change = {"path": "s.u", "rename": "v"}
    lab.refused("AlterTableAlterColumns", [0, 13, 20], id=table, alterations=[change])


def on_line(lab: Lab, table: list[str], of: dict[str, Any]) -> pa.Table:
    return branch_rows(lab, table, of["branch"]).rows if of else lab.query(table)


@check("LN-COLUMN-063",
       "Changing the type or nullability of a column keeps values and nulls, and affects only its "
       "branch.",
       f"{_ALTER}; rest.yaml, JsonArrowDataType", *_NEEDED, capabilities=_TABLES)  # fmt: skip
def types(lab: Lab) -> None:
    table = table_of(
        lab,
        {
            "i": pa.array([1, None, -3], pa.int64()),
            "f": [1.5, None, -2.25],
            "must": [1, 2, 3],
            "at": pa.array([0, None, 86_400_000_000], pa.timestamp("us")),
        },
    )
    side, main = on_side(lab, table), fields(lab, table)
    before = after = lab.query(table)
    for column, kind, due in (
        ("i", {"type": "int16"}, "int16"),
        ("f", {"type": "float"}, "float"),
        ("at", {"type": "timestamp", "unit": "ms"}, "timestamp[ms]"),
    ):
        change = [{"path": column, "data_type": kind}]
        reply = lab.call("AlterTableAlterColumns", id=table, alterations=change, **side)
        if reply.code in (0, 13, 20):
            continue
        after = on_line(lab, table, side)
        lab.same(
            ordered(after),
            ordered(before),
            f"the rows after the type of {column} changed to {kind}",
        )
        lab.same(str(after.schema.field(column).type), due, f"the type of {column}")
    strict = [{"path": "must", "nullable": False}]
    lab.maybe("AlterTableAlterColumns", id=table, alterations=strict, **side)
    rows = after.set_column(2, "must", pa.array([None] * 3, pa.int64()))
    codes = [0, 13, 20] if side else [13, 20]
    lab.refused("InsertIntoTable", codes, stream(rows), id=table, **side)
    if side:
        lab.same(fields(lab, table), main, "the columns on the main branch")


@check("LN-COLUMN-064",
       "New columns compute their expression for every existing row, and freed names can be "
       "reused.",
       _ALTER, *_NEEDED, "AlterTableDropColumns", "UpdateTable", capabilities=_TABLES)  # fmt: skip
def expressions(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    side = on_side(lab, table)
    for line, last in ((side, 8), ({}, 5)) if side else (({}, 5),):
        make = lab.maybe if line else lab.given
        reply = lab.call("InsertIntoTable", stream(people(last)), id=table, **line)
        if line and reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        make("DeleteFromTable", id=table, predicate="id = 2", **line)
        make("UpdateTable", id=table, predicate="id = 3", updates=[["name", "'x'"]], **line)
        add(lab, table, line, half="score / 2", big="upper(name)", many="id > 3")
        rows = on_line(lab, table, line)
        kinds = [str(kind).replace("large_", "") for kind in rows.schema.types[4:]]
        lab.same(kinds, ["double", "string", "bool"], "the types of the new columns")
        found = {row["id"]: list(row.values())[4:] for row in rows.to_pylist()}
        due = {1: [0.25, "N1", False], 3: [0.75, "X", False], 4: [None, "N4", True]}
        due[last] = [1.25 if last == 5 else None, f"N{last}", True]
        lab.same(found, due, "the new values by id")
    lab.ok("AlterTableDropColumns", id=table, columns=["half"])
    lab.ok("AlterTableAlterColumns", id=table, alterations=[{"path": "big", "rename": "label"}])
    add(lab, table, half="id * 10", big="'new'")
    row = lab.query(table, filter="label = 'N4'").to_pylist()[0]
    lab.same([row[key] for key in ("half", "label", "big")], [40, "N4", "new"], "the row with id 4")


@check("LN-COLUMN-065",
       "Requests that need functions, jobs or views succeed, or fail with code 0, 13 or 20 and "
       "change nothing.",
       "rest.yaml, AddColumnsEntry, AlterTableBackfillColumns and CreateMaterializedView",
       "AlterTableAddColumns", "CreateTable", capabilities=_TABLES)  # fmt: skip
def functions(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    before = state(lab, table)
    for operation, codes, request in (
        ("AlterTableAddColumns", [0], {"new_columns": [_PLAIN, {"name": "x", "computed": "id * 2"}]}),
        ("AlterTableAddColumns", [0, 13, 20], {"new_columns": [_PLAIN, {"name": "x", **_VIRTUAL}]}),
        ("AlterTableBackfillColumns", [0, 13], {"column": "id"}),
    ):  # fmt: skip
        reply = lab.call(operation, id=table, **request)
        if reply.succeeded and "new_columns" in request:
            lab.that({"fine", "x"} <= {*fields(lab, table)}, "the new columns", fields(lab, table))
            return
        lab.must_fail(reply, codes)
        lab.same(state(lab, table), before, f"the columns and rows after the rejected {operation}")
    view = {"id": lab.table_id(), "kind": "udtf", "source_query": "q", "output_schema": "s"}
    lab.refused("CreateMaterializedView", [0, 13], **view)
