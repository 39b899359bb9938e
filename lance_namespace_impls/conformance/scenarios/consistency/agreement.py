"""Different operations return the same values for one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ...lab import Lab, Skipped
from ...oracle import local_path
from ...requirement import check
from ...rows import people, stream
from ...table_state import furnished

_TABLES = ["tables"]
_GIVEN = {"owner": "ana", "note": "Two words"}
_FIELDS = ("location", "properties", "managed_versioning")


def _agree(
    lab: Lab, answer: Mapping[str, Any], told: Mapping[str, Any], fields: Sequence[str], what: str
) -> None:
    """Compare fields of a response with those of a description; absent fields are ignored."""
    for key in fields:
        found, due = answer.get(key), told.get(key)
        if found is not None and (found or due):
            if key == "location":
                found, due = local_path(found), local_path(due)
            lab.same(found, due, f"the {key} that {what} returns")


@check("LN-AGREE-001",
       "CreateNamespace and AlterNamespace return the same properties as DescribeNamespace.",
       "rest.yaml, CreateNamespaceResponse and AlterNamespaceResponse: as stored in the catalog",
       "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def namespaces(lab: Lab) -> None:
    namespace = lab.namespace_id()
    answer = lab.maybe("CreateNamespace", id=namespace, properties=_GIVEN)
    for operation, request in (
        ("CreateNamespace", {"mode": "ExistOk"}),
        ("AlterNamespace", {"set_properties": {"owner": "bob"}, "unset_properties": ["note"]}),
    ):
        told = lab.ok("DescribeNamespace", id=namespace)
        _agree(lab, answer, told, ["properties"], operation)
        reply = lab.call(operation, id=namespace, **request)
        if reply.code in (0, 13):
            return
        lab.must_succeed(reply)
        answer = reply.answer or {}
    _agree(lab, answer, lab.ok("DescribeNamespace", id=namespace), ["properties"], "AlterNamespace")


def _described(lab: Lab, table: list[str]) -> Mapping[str, Any]:
    return lab.ok("DescribeTable", id=table)


@check("LN-AGREE-002",
       "Operations that create or alter a table return the same values as DescribeTable.",
       "rest.yaml, the responses of CreateTable, DeclareTable, RegisterTable and AlterTable",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def tables(lab: Lab) -> None:
    asked = False
    for operation, data in (("DeclareTable", None), ("CreateTable", stream(people(1, 2)))):
        for request in ({"properties": _GIVEN}, {}):
            table = lab.table_id()
            reply = lab.call(operation, data, id=table, **request)
            if reply.code in (0, 13):
                continue
            lab.must_succeed(reply)
            asked = True
            _agree(lab, reply.answer or {}, _described(lab, table), _FIELDS, operation)
            for again, more in (
                ("AlterTable", {"set_properties": {"owner": "bob", "more": "1"}}),
                ("AlterTable", {"unset_properties": ["more"]}),
                ("CreateTable", {"mode": "ExistOk"}),
            ):
                if again == "CreateTable" and data is None:
                    continue
                reply = lab.call(again, data if again == "CreateTable" else None, id=table, **more)
                if reply.code not in (0, 13):
                    lab.must_succeed(reply)
                    _agree(lab, reply.answer or {}, _described(lab, table), _FIELDS, again)
    if not asked:
        raise Skipped("no table with properties can be created")


@check("LN-AGREE-003", "RegisterTable returns the same values as DescribeTable.",
       "rest.yaml, RegisterTableResponse: as now stored in the catalog", "RegisterTable",
       "DeregisterTable", "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def registered(lab: Lab) -> None:
    places = []
    for number in (1, 2):
        table = lab.new_table(number)
        places.append(_described(lab, table).get("location"))
        lab.given("DeregisterTable", id=table)
    table = lab.table_id()
    for place, mode, properties in zip(
        places, ("Create", "Overwrite"), (_GIVEN, {"new": "1"}), strict=True
    ):
        answer = lab.maybe(
            "RegisterTable", id=table, location=place, mode=mode, properties=properties
        )
        told = _described(lab, table)
        _agree(lab, answer, told, ("location", "managed_versioning"), "RegisterTable")
        # Properties named lance.* come from the format and may be read at different times.
        answered, described = (
            {k: v for k, v in (found or {}).items() if not k.startswith("lance.")}
            for found in (answer.get("properties"), told.get("properties"))
        )
        if answer.get("properties") is not None:
            what = "the properties of the registered table in RegisterTable and DescribeTable"
            lab.same(answered, described, what)


def _gone(operation: str) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        for properties in (_GIVEN, {"only": "1"}, None):
            table = lab.table_id()
            request = {} if properties is None else {"properties": properties}
            lab.maybe("CreateTable", stream(people(1)), id=table, **request)
            told = {**_described(lab, table), "id": table}
            answer = lab.ok(operation, id=table)
            _agree(lab, answer, told, ("id", "location", "properties"), operation)

    return run


for _number, _operation in ((4, "DropTable"), (5, "DeregisterTable")):
    check(
        f"LN-AGREE-{_number:03}",
        f"{_operation} returns the same values as an earlier DescribeTable.",
        f"rest.yaml, {_operation}Response",
        _operation,
        "CreateTable",
        "DescribeTable",
        capabilities=_TABLES,
    )(_gone(_operation))


@check("LN-AGREE-006", "DropNamespace returns the properties that the namespace had.",
       "rest.yaml, DropNamespaceResponse", "DropNamespace", "CreateNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def dropped(lab: Lab) -> None:
    for properties in (_GIVEN, {"only": "1"}, None):
        namespace = lab.namespace_id()
        request = {} if properties is None else {"properties": properties}
        lab.maybe("CreateNamespace", id=namespace, **request)
        told = lab.ok("DescribeNamespace", id=namespace)
        _agree(lab, lab.ok("DropNamespace", id=namespace), told, ["properties"], "DropNamespace")


@check("LN-AGREE-007", "With detailed metadata, DescribeTable returns version, schema and stats.",
       "rest.yaml, DescribeTableResponse: filled when detailed metadata was requested",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def filled(lab: Lab) -> None:
    told = lab.ok("DescribeTable", id=lab.shared_table(), load_detailed_metadata=True)
    missing = [key for key in ("version", "schema", "stats") if told.get(key) is None]
    lab.same(missing, [], "the missing fields")


_NESTED = pa.schema(
    [
        pa.field("Id", pa.int64(), nullable=False, metadata={"unit": "m", "by": "kit"}),
        pa.field("place", pa.struct([pa.field("x", pa.int32()), pa.field("b", pa.string())])),
        pa.field("a", pa.list_(pa.float32())),
    ],
    metadata={"origin": "kit", "first": "1"},
)


def _shape(fields: Any) -> list[Any]:
    """Return names, nullability, metadata and children of the fields of a JSON schema."""
    return [
        (f["name"], bool(f["nullable"]), dict(f.get("metadata") or {}),
         [n["name"] for n in f["type"].get("fields") or ()] if f["type"]["type"] == "struct" else [])
        for f in fields
    ]  # fmt: skip


@check("LN-AGREE-008", "DescribeTable returns the same columns as QueryTable.",
       "rest.yaml, DescribeTableResponse: Arrow schema of the described version", "DescribeTable",
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def schema(lab: Lab) -> None:
    table = lab.table_id()
    rows = pa.Table.from_pylist([{"Id": 1, "place": {"x": 1, "b": "n"}, "a": [1.0]}], _NESTED)
    lab.given("CreateTable", stream(rows), id=table)
    found = lab.query(table).schema
    due = [
        (f.name, f.nullable, {k.decode(): v.decode() for k, v in (f.metadata or {}).items()},
         [n.name for n in f.type] if pa.types.is_struct(f.type) else [])
        for f in found
    ]  # fmt: skip
    told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("schema") or {}
    lab.same(_shape(told.get("fields") or ()), due, "the columns")
    lab.same([f.name for f in found], _NESTED.names, "the columns of the rows")
    items = told["fields"][2]["type"].get("fields") or [{}]
    lab.same((items[0].get("type") or {}).get("type"), "float32", "the type of a list's items")
    lab.has(told.get("metadata"), {"origin": "kit", "first": "1"}, "the schema metadata")


@check("LN-AGREE-009",
       "ListTableVersions and DescribeTableVersion return the same values for each version.",
       "rest.yaml, TableVersion", "ListTableVersions", "DescribeTableVersion", "CreateTable",
       "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def versions(lab: Lab) -> None:
    table = furnished(lab)
    for request in ({}, {"branch": "side"}):
        reply = lab.call("ListTableVersions", id=table, **request)
        if request and not reply.succeeded:
            return  # branches are not supported
        lab.must_succeed(reply)
        for entry in (reply.answer or {}).get("versions") or ():
            answer = lab.ok("DescribeTableVersion", id=table, version=entry["version"], **request)
            told = answer.get("version") or {}
            for key in ("version", "manifest_path", "manifest_size"):
                lab.same(told.get(key), entry.get(key), f"{key} of version {entry['version']}")


@check("LN-AGREE-010",
       "ListTableTags and GetTableTagVersion return the same version and branch for a tag.",
       "rest.yaml, TagContents and GetTableTagVersionResponse", "ListTableTags",
       "GetTableTagVersion", "CreateTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tags(lab: Lab) -> None:
    table = furnished(lab)
    lab.call("CreateTableTag", id=table, tag="aside", version=2, branch="side")
    for name, entry in (lab.ok("ListTableTags", id=table).get("tags") or {}).items():
        told = lab.ok("GetTableTagVersion", id=table, tag=name)
        for key in ("version", "branch"):
            lab.same(entry.get(key), told.get(key), f"{key} of the tag {name}")
        lab.that(entry["manifestSize"] > 0, "the size of a manifest", entry)


@check("LN-AGREE-011",
       "ListTableIndices and DescribeTableIndexStats return the same counts for an index.",
       "rest.yaml, IndexContent and DescribeTableIndexStatsResponse", "ListTableIndices",
       "DescribeTableIndexStats", "CreateTableScalarIndex", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def indices(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3)
    for name, column in (("by_id", "id"), ("by_name", "name")):
        lab.given("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name=name)
        lab.given("InsertIntoTable", stream(people(7, 8)), id=table)
    listed = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same(len({entry["index_uuid"] for entry in listed}), 2, "the number of distinct UUIDs")
    for entry in listed:
        told = lab.ok("DescribeTableIndexStats", id=table, index_name=entry["index_name"])
        _agree(lab, entry, told, ("num_indexed_rows", "num_unindexed_rows"), "ListTableIndices")


@check("LN-AGREE-012", "GetTableStats returns the same counts as the listings and CountTableRows.",
       "rest.yaml, GetTableStatsResponse", "GetTableStats", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    table = furnished(lab)
    lab.given("DeleteFromTable", id=table, predicate="id = 2")
    lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    due = {"num_rows": lab.count(table)}
    reply = lab.call("ListTableIndices", id=table)
    if reply.succeeded:
        due["num_indices"] = len((reply.answer or {})["indexes"])
    told = lab.ok("GetTableStats", id=table)
    lab.has(told, due, "the stats")
    described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("stats") or {}
    fragments = (told.get("fragment_stats") or {}).get("num_fragments")
    lab.same(described.get("num_fragments"), fragments, "num_fragments of DescribeTable")
