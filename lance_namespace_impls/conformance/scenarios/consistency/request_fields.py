"""Optional fields, null and spellings of modes do not change the result of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from attrs import fields as attributes

from lance_namespace_client.operations import OPERATIONS

from ...catalog_objects import place_for_tables
from ...indexed_tables import built
from ...lab import Lab
from ...requirement import check
from ...rows import people, plain, stream

_TABLES = ["tables"]
_NULL = "rest.yaml, info: an absent field and a null field are equivalent"
_CASES: tuple[Callable[[str], str], ...] = (str.upper, str.lower, str.swapcase)


_HINTS: tuple[tuple[str, bytes | None, dict[str, Any]], ...] = (
    ("DescribeTable", None, {"vend_credentials": True}),
    ("DescribeTable", None, {"vend_credentials": False}),
    ("UpdateTable", None, {"updates": [["id", "id"]], "properties": {"why": "a test"}}),
    ("MergeInsertIntoTable", stream(people(1)),
     {"on": "id", "when_matched_update_all": True, "use_index": True}),
    ("ExplainTableQueryPlan", None,
     {"query": {"vector": {"single_vector": [1.0, 0.0]}, "vector_column": "vec", "k": 1}, "verbose": True}),
)  # fmt: skip


@check(
    "LN-FIELD-001",
    "Fields that only request more or less detail, or are hints, are accepted.",
    "rest.yaml, the fields of the requests",
    "DescribeTable",
    "CreateTable",
    capabilities=_TABLES,
)
def hints(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    for operation, data, request in _HINTS:
        reply = lab.call(operation, data, id=table, **request)
        if reply.code != 0:
            lab.must_succeed(reply)
    lab.same(lab.ids(table), [1, 2], "the ids")


_READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("DescribeTable", {}), ("TableExists", {}), ("CountTableRows", {}), ("GetTableStats", {}),
    ("ListTableVersions", {}), ("ListTableTags", {}), ("ListTableBranches", {}),
    ("ListTableIndices", {}), ("DescribeTableVersion", {}), ("QueryTable", {"k": 100}),
)  # fmt: skip


def _nulls(operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return a request with null for every field that it omits."""
    known = [field.name for field in attributes(OPERATIONS[operation].request_type)]
    left_out = set(known) - {"id", "identity", "context", "data", *request}
    return {**dict.fromkeys(sorted(left_out)), **request}


def _alike(lab: Lab, operation: str, request: dict[str, Any]) -> None:
    plain = lab.call(operation, **request)
    if not plain.succeeded:
        return  # other checks cover it
    reply = lab.call(operation, **_nulls(operation, request))
    lab.may_refuse(reply)
    if plain.rows is not None:
        lab.same(reply.rows.num_rows, plain.rows.num_rows, f"the rows that {operation} returns")
    else:  # each call may return different credentials
        found, due = (
            {key: value for key, value in (each.answer or {}).items() if key != "storage_options"}
            for each in (reply, plain)
        )
        lab.same(found, due, f"the response of {operation}")


@check("LN-NULL-001",
       "A read with its optional fields set to null returns the same as the read without them.",
       _NULL,
       "CreateTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def reads(lab: Lab) -> None:
    table = lab.new_table()
    lab.call("CreateTableTag", id=table, tag="t", version=1)
    for operation, request in _READS:
        query = {"vector": lab.no_vector()} if operation == "QueryTable" else {}
        _alike(lab, operation, {"id": table, **request, **query})


@check("LN-NULL-002",
       "A listing with its optional fields set to null returns the same as the listing"
       " without them.", _NULL,
       "DeclareTable", "ListTables", capabilities=["tables", "namespaces"])  # fmt: skip
def listings(lab: Lab) -> None:
    parent = place_for_tables(lab)
    for number in range(2):
        lab.maybe("DeclareTable", id=[*parent, f"declared{number}"])
    for operation in ("ListTables", "ListNamespaces", "DescribeNamespace", "NamespaceExists"):
        _alike(lab, operation, {"id": parent})


@check("LN-NULL-003",
       "A write with its optional fields set to null does the same as the write without them.",
       _NULL,
       "CreateTable", "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def writes(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    request = _nulls("CreateTable", {"id": table})
    lab.refused("CreateTable", [5, 13], stream(people(9)), **request)
    lab.maybe("InsertIntoTable", stream(people(3)), **_nulls("InsertIntoTable", {"id": table}))
    lab.same(lab.ids(table), [1, 2, 3], "the ids after rows are added")
    merge = {"id": table, "on": "id", "when_not_matched_insert_all": True}
    merged = lab.call(
        "MergeInsertIntoTable", stream(people(1, 4)), **_nulls("MergeInsertIntoTable", merge)
    )
    if merged.code not in (0, 13):
        lab.must_succeed(merged)
        lab.same(lab.ids(table), [1, 2, 3, 4], "the ids after a merge that inserts")
    branch = _nulls("CreateTableBranch", {"id": table, "name": "side"})
    if lab.call("CreateTableBranch", **branch).succeeded:
        found = lab.maybe("CountTableRows", id=table, branch="side").get("count")
        lab.same(found, lab.count(table), "the rows on a new branch")


@check("LN-SPELT-003", "The operator of a full-text query is case-insensitive.",
       "rest.yaml, Operator: And or Or, in any letter case; any other value is InvalidInput", "QueryTable",
       "CreateTableIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def operators(lab: Lab) -> None:
    table = lab.table_id()
    words = ("red apple", "red", "apple", "green")
    rows = pa.table({"id": pa.array(range(4), pa.int64()), "words": list(words)})
    lab.given("CreateTable", stream(rows), id=table)
    lab.maybe("CreateTableIndex", id=table, column="words", index_type="FTS")
    built(lab, table)
    for operator, due in (("And", [0]), ("Or", [0, 1, 2])):
        for spelling in (operator, operator.lower(), operator.upper()):
            match = {"terms": "red apple", "column": "words", "operator": spelling}
            for query in (
                {"match": match},
                {"multi_match": {"match_queries": [match]}},
                {"boolean": {"must": [{"match": match}], "must_not": [], "should": []}},
            ):
                reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), k=9,
                                 full_text_query={"structured_query": {"query": query}})  # fmt: skip
                lab.may_refuse(reply)
                found = sorted(reply.rows.column("id").to_pylist())
                lab.same(
                    found,
                    due,
                    f"the ids that {spelling} finds in a query of type {next(iter(query))}",
                )


def _underscored(word: str) -> str:
    return "".join(f"_{c}" if c.isupper() and n else c for n, c in enumerate(word)).upper()


def _spelt(word: str) -> list[str]:
    return sorted({write(word) for write in (*_CASES, _underscored)} - {word})


def _same_in_all(lab: Lab, told: dict[str, dict[str, object]]) -> None:
    """Check that all spellings of a word have the same effect; none of them is the reference."""
    for what, by_spelling in told.items():
        several = len({repr(found) for found in by_spelling.values()}) > 1
        lab.that(not several, f"{what} to have the same effect in every spelling", by_spelling)


@check("LN-SPELT-001",
       "Modes and behaviors of namespace operations have the same effect in every spelling.",
       'protocol semantics, "Modes": any case; ExistOk, exist_ok and EXIST_OK are the same',
       "CreateNamespace", "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def spelt_namespaces(lab: Lab) -> None:
    told: dict[str, dict[str, object]] = {}
    for mode in ("Create", "ExistOk", "Overwrite"):
        for spelling in (mode, *_spelt(mode)):
            namespace = lab.namespace_id()
            first = lab.call("CreateNamespace", id=namespace, mode=spelling, properties={"a": "1"})
            again = lab.call("CreateNamespace", id=namespace, mode=spelling, properties={"b": "2"})
            held = lab.call("DescribeNamespace", id=namespace).answer or {}
            kept = {k: v for k, v in (held.get("properties") or {}).items() if k in "ab"}
            found: list[object] = [first.code, again.code, kept]
            told.setdefault(f"mode {mode}", {})[spelling] = found
    for field, word in (
        ("mode", "Fail"),
        ("mode", "Skip"),
        ("behavior", "Restrict"),
        ("behavior", "Cascade"),
    ):
        for spelling in (word, *_spelt(word)):
            namespace = lab.new_namespace()
            if lab.shape.tables_in_new:
                lab.given("CreateTable", plain(1), id=[*namespace, "t"])
            full = lab.call("DropNamespace", id=namespace, **{field: spelling})
            none = lab.call("DropNamespace", id=lab.namespace_id(), **{field: spelling})
            found = [full.code, none.code, lab.exists("NamespaceExists", namespace)]
            told.setdefault(f"{field} {word}", {})[spelling] = found
    _same_in_all(lab, told)
    for field in ("mode", "behavior"):
        for word in ("", " Skip", "Skip ", "Casc", "Failx", "0", "Create"):
            namespace = lab.new_namespace()
            reply = lab.call("DropNamespace", id=namespace, **{field: word})
            if word != "":
                lab.must_fail(reply, [13])
                lab.that(
                    lab.exists("NamespaceExists", namespace),
                    "the namespace to exist",
                    "it does not exist",
                )


@check("LN-SPELT-002",
       "Modes of CreateTable and InsertIntoTable have the same effect in every letter case.",
       "rest.yaml, the fields mode: in any letter case", "CreateTable", "QueryTable",
       capabilities=["tables"])  # fmt: skip
def spelt_tables(lab: Lab) -> None:
    told: dict[str, dict[str, object]] = {}
    for mode in ("Create", "ExistOk", "Overwrite"):
        for spelling in (mode, *_spelt(mode)):
            table = lab.table_id()
            first = lab.call("CreateTable", plain(1), id=table, mode=spelling)
            again = lab.call("CreateTable", plain(2), id=table, mode=spelling)
            found: object = [first.code, again.code, lab.query(table).to_pylist()]
            told.setdefault(f"mode {mode}", {})[spelling] = found
    _same_in_all(lab, told)
    for mode in ("append", "overwrite"):
        for spelling in (mode, mode.upper(), mode.title(), mode.swapcase()):
            table = lab.table_id()
            lab.given("CreateTable", plain(1), id=table)
            lab.ok("InsertIntoTable", plain(2), id=table, mode=spelling)
            found = sorted(lab.query(table).column("x").to_pylist())
            lab.same(found, [1, 2] if mode == "append" else [2], f"the rows after mode {spelling}")
    for operation in ("CreateTable", "InsertIntoTable"):
        for word in ("exist ok", "Createx", "appendix", "over", "1", "Skip"):
            table = lab.table_id()
            lab.given("CreateTable", plain(1), id=table)
            lab.refused(operation, [13], plain(2), id=table, mode=word)
            lab.same(
                lab.query(table).to_pylist(), [{"x": 1}], f"the rows after mode {word} was rejected"
            )
