"""Metadata of the schema and of columns."""

from __future__ import annotations

from ...indexed_tables import table_of
from ...lab import Lab, Skipped
from ...missing_codes import NO_COLUMN
from ...requirement import check
from ...rows import people, stream
from ...table_state import fields
from .fixtures import on_side, structs

_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_COLUMN_CODES = (
    f"{_CODES}; the published descriptions of the fields: InvalidInput or TableColumnNotFound"
)
_TABLES = ["tables"]
_METADATA = ("UpdateFieldMetadata", "UpdateTableSchemaMetadata", "DescribeTable", "CreateTable")
_PLAIN = {"name": "fine", "expression": "1"}


@check("LN-METADATA-001", "UpdateTableSchemaMetadata stores and returns the metadata.",
       "rest.yaml, UpdateTableSchemaMetadata", "UpdateTableSchemaMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def schema_metadata(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("UpdateTableSchemaMetadata", id=table, metadata={"a": "1", "ünï": "x y"})
    lab.has(answer.get("metadata"), {"a": "1", "ünï": "x y"}, "the metadata in the response")
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    lab.has((described.get("schema") or {}).get("metadata"), {"a": "1"}, "the schema metadata")


@check("LN-METADATA-002", "UpdateFieldMetadata sets the metadata of one column and of no other.",
       "rest.yaml, UpdateFieldMetadata", "UpdateFieldMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def field_metadata(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok(
        "UpdateFieldMetadata", id=table, updates=[{"path": "name", "metadata": {"unit": "none"}}]
    )
    if answer.get("fields"):
        lab.has(answer["fields"].get("name"), {"unit": "none"}, "the metadata in the response")
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    fields = {f["name"]: f for f in (described.get("schema") or {}).get("fields") or ()}
    lab.has(fields["name"].get("metadata"), {"unit": "none"}, "the metadata of the column")
    lab.that(not fields["id"].get("metadata"), "no metadata on other columns", fields["id"])


@check("LN-METADATA-003", "UpdateFieldMetadata of a missing column fails with code 12 or 13.",
       _COLUMN_CODES, "UpdateFieldMetadata", "CreateTable", capabilities=_TABLES)  # fmt: skip
def field_missing(lab: Lab) -> None:
    lab.refused("UpdateFieldMetadata", NO_COLUMN, id=lab.new_table(),
                updates=[{"path": "nothing", "metadata": {"a": "b"}}])  # fmt: skip


@check("LN-METADATA-006", "UpdateFieldMetadata changes every field that it names and no other.",
       "rest.yaml, UpdateFieldMetadataRequest and UpdateFieldMetadataResponse", "UpdateFieldMetadata",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def several_fields(lab: Lab) -> None:
    table = lab.new_table()
    due = {"id": {"a": "1"}, "name": {"b": "2", "c": "3"}}
    updates = [{"path": path, "metadata": metadata} for path, metadata in due.items()]
    answer = lab.ok("UpdateFieldMetadata", id=table, updates=updates)
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    fields = (described.get("schema") or {}).get("fields") or ()
    found = {field["name"]: field.get("metadata") or {} for field in fields}
    for path, metadata in due.items():
        lab.has(found.get(path), metadata, f"the metadata of {path}")
        if answer.get("fields"):
            lab.has(answer["fields"].get(path), metadata, f"the returned metadata of {path}")
    lab.that(not found.get("score"), "no metadata on another field", found)


@check("LN-METADATA-004",
       "UpdateFieldMetadata keeps the keys that it does not name, and null removes a key.",
       "rest.yaml, UpdateFieldMetadataEntry", "UpdateFieldMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def field_keys(lab: Lab) -> None:
    table = lab.new_table()
    for metadata in ({"a": "1", "b": "2"}, {"c": "3", "b": None}):
        lab.maybe("UpdateFieldMetadata", id=table, updates=[{"path": "name", "metadata": metadata}])
    described = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    fields = {f["name"]: f for f in (described.get("schema") or {}).get("fields") or ()}
    found = dict(fields["name"].get("metadata") or {})
    lab.same({k: found.get(k) for k in "abc"}, {"a": "1", "b": None, "c": "3"}, "the metadata")


@check("LN-METADATA-005",
       "Metadata is updated key by key, and replace removes the keys that are not named.",
       "rest.yaml, UpdateTableSchemaMetadataRequest and UpdateFieldMetadataEntry",
       "UpdateTableSchemaMetadata", "UpdateFieldMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def metadata(lab: Lab) -> None:
    table = lab.new_table()
    for given in ({"a": "1", "b": "2"}, {"b": "3"}):
        answer = lab.maybe("UpdateTableSchemaMetadata", id=table, metadata=given)
    answers = [answer]
    nothing = lab.call("UpdateTableSchemaMetadata", id=table, metadata={})
    if nothing.succeeded:
        answers.append(nothing.answer or {})
    for answer in answers:
        found = answer.get("metadata", answer)
        lab.same({k: found.get(k) for k in "ab"}, {"a": "1", "b": "3"}, "the schema metadata")
    for given, more in (({"a": "1", "b": "2"}, {}), ({"c": "3"}, {"replace": True})):
        lab.maybe(
            "UpdateFieldMetadata", id=table, updates=[{"path": "id", "metadata": given, **more}]
        )
    held = fields(lab, table)
    lab.same({k: (held["id"].get("metadata") or {}).get(k) for k in "abc"},
             {"a": None, "b": None, "c": "3"}, "the metadata of the column")  # fmt: skip
    lab.that(
        not {"a", "b", "c"} & set(held["name"].get("metadata") or ()),
        "no metadata on another column",
        held,
    )


@check("LN-METADATA-007",
       "UpdateFieldMetadata returns all metadata of the columns that it changes.",
       "rest.yaml, UpdateFieldMetadataResponse", "UpdateFieldMetadata", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def all_metadata(lab: Lab) -> None:
    table = lab.new_table()
    for given, due in (
        ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}),
        ({"b": "3"}, {"a": "1", "b": "3"}),
        ({"a": None}, {"b": "3"}),
    ):
        answer = lab.maybe(
            "UpdateFieldMetadata", id=table, updates=[{"path": "id", "metadata": given}]
        )
        if (answer.get("fields") or {}).get("id") is None:
            raise Skipped("the response contains no metadata")
        lab.same(answer["fields"]["id"], due, f"the metadata after {given}")


@check("LN-METADATA-008",
       "replace removes the keys that the request omits, even if one of its values is null.",
       "rest.yaml, UpdateFieldMetadataEntry, metadata and replace", "UpdateFieldMetadata",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def replace_with_null(lab: Lab) -> None:
    table, path = lab.new_table(), {"path": "id"}
    first = {**path, "metadata": {"a": "1", "b": "2", "c": "3"}}
    second = {**path, "metadata": {"a": "4", "b": None}, "replace": True}
    lab.maybe("UpdateFieldMetadata", id=table, updates=[first])
    lab.maybe("UpdateFieldMetadata", id=table, updates=[second])
    held = fields(lab, table)["id"].get("metadata") or {}
    lab.same({k: held.get(k) for k in "abc"}, {"a": "4", "b": None, "c": None}, "the metadata")


@check("LN-METADATA-060", "Metadata of schema and columns survives every kind of write.",
       "rest.yaml, UpdateTableSchemaMetadata", *_METADATA, capabilities=_TABLES)  # fmt: skip
def outlasting(lab: Lab) -> None:
    table = table_of(lab, people(1, 2, 3).replace_schema_metadata({"origin": "kit", "by": "a"}))
    of = {name: {"of": name} for name in ("id", "name", "vec")}
    updates = [{"path": name, "metadata": pairs} for name, pairs in of.items()]
    lab.ok("UpdateFieldMetadata", id=table, updates=updates)
    due = {"origin": "kit", "by": "b", "empty": ""}
    answer = lab.ok("UpdateTableSchemaMetadata", id=table, metadata={"by": "b", "empty": ""})
    lab.has(answer.get("metadata"), due, "the returned metadata")
    merge = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
    for operation, rows, request in (
        ("InsertIntoTable", people(4), {}), ("MergeInsertIntoTable", people(4, 5), merge),
        ("UpdateTable", None, {"updates": [["id", "id"]]}), ("DeleteFromTable", None, {"predicate": "id=2"}),
        ("AlterTableAddColumns", None, {"new_columns": [_PLAIN]}),
        ("AlterTableDropColumns", None, {"columns": ["score"]}), ("RestoreTable", None, {"version": 4}),
        ("CreateTableIndex", None, {"column": "id", "index_type": "BTREE"}),
    ):  # fmt: skip
        if lab.call(operation, stream(rows) if rows else None, id=table, **request).succeeded:
            told = {name: field.get("metadata") for name, field in fields(lab, table).items()}
            lab.has(told, of, f"the metadata of the columns after {operation}")
            described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            lab.has(
                (described.get("schema") or {}).get("metadata"),
                due,
                f"the schema metadata after {operation}",
            )


@check("LN-METADATA-061",
       "UpdateFieldMetadata replaces or extends metadata per entry, and only on the named branch.",
       "rest.yaml, UpdateFieldMetadataEntry and branch", *_METADATA, capabilities=_TABLES)  # fmt: skip
def entries(lab: Lab) -> None:
    table = structs(lab)
    side, whole = on_side(lab, table), {"id": table, "load_detailed_metadata": True}
    main = lab.ok("DescribeTable", **whole)
    for asked, due in (
        ([("id", {"b": "2"}, None), ("name", {"c": "3", "no": None}, True)],
         [{"a": "1", "b": "2"}, {"c": "3"}]),
        ([("id", {"d": ""}, True), ("name", {"e": "5"}, False)], [{"d": ""}, {"c": "3", "e": "5"}]),
        ([("id", {}, True), ("name", {"c": None}, None), ("s.u", {"x": "1"}, None)],
         [{}, {"e": "5"}, {"k": "1", "x": "1"}]),
    ):  # fmt: skip
        updates = [{"path": path, "metadata": pairs, "replace": how} for path, pairs, how in asked]
        answer = lab.maybe("UpdateFieldMetadata", id=table, updates=updates, **side)
        told = lab.maybe("DescribeTable", **whole, **side)
        lab.same(answer.get("version"), told.get("version"), "the version")
        if answer.get("fields"):
            found = [answer["fields"].get(path) for path, *_ in asked]
            lab.same(found, due, f"the response to {asked}")
        columns = {f["name"]: f for f in (told.get("schema") or {}).get("fields") or ()}
        columns["s.u"] = columns["s"]["type"]["fields"][0]
        kept = [columns[path].get("metadata") or {} for path, *_ in asked]
        lab.same(kept, due, f"the metadata after {asked}")
    answer = lab.maybe("UpdateTableSchemaMetadata", id=table, metadata={"side": "1"}, **side)
    lab.has(answer.get("metadata"), {"origin": "kit", "side": "1"}, "the schema metadata")
    now = lab.ok("DescribeTable", **whole) if side else main
    lab.has(now, {key: main.get(key) for key in ("version", "schema")}, "the main branch")
