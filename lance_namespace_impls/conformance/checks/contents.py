"""Rows in less common cases: how they are written, searched, counted and planned."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ..lab import Failed, Lab, Skipped
from ..requirement import check
from ..rows import people, stream
from .due import NO_COLUMN
from .searches import built, search, search_rows
from .values import TYPES

_QUERY = "rest.yaml, QueryTableRequest"
_READ = ("QueryTable", "CreateTable")
_TABLES = ["tables"]
_DAY = datetime.date(1969, 12, 31)
_BOTH = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
_ALL = {**_BOTH, "when_not_matched_by_source_delete": True}


def _named(name: str, *ids: int) -> pa.Table:
    return people(*ids).set_column(1, "name", pa.array([name] * len(ids), pa.string()))


def _names(lab: Lab, table: list[str], **of: Any) -> list[tuple[int, str]]:
    return sorted((r["id"], r["name"]) for r in lab.query(table, **of).to_pylist())


def _newest(lab: Lab, table: list[str]) -> int:
    told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("version")
    if not isinstance(told, int):
        raise Skipped("no version is told")
    return told


@check("LN-ROWS-MERGE-060",
       "A merge that selects no action changes nothing, and an invalid merge fails with code 13.",
       "rest.yaml, MergeInsertIntoTableRequest: filters; timeout; a request that chooses no action, of which "
       "LanceDB's clients expect what the flags say",
       "MergeInsertIntoTable", *_READ, capabilities=_TABLES)  # fmt: skip
def unreadable_merge(lab: Lab) -> None:
    table, rows = lab.new_table(1, 2), stream(_named("new", 2, 3))
    several, insert = {"on": ["id", "name"]}, {"when_not_matched_insert_all": True}
    if lab.call(
        "MergeInsertIntoTable", rows, id=lab.new_table(1, 2), **several, **insert
    ).succeeded:
        lost = {**_ALL, "on": ["id", "nothing"]}
        lab.refused("MergeInsertIntoTable", [12, 13], rows, id=table, **lost)
    matched, deleted = "when_matched_update_all_filt", "when_not_matched_by_source_delete_filt"
    none: dict[str, Any] = {k: False for k in _ALL if k != "on"}
    for more in ({}, none):
        reply = lab.call("MergeInsertIntoTable", rows, id=table, on="id", **more)
        if not reply.succeeded:
            lab.must_fail(reply, [13])
        elif (found := _names(lab, table)) != [(1, "n1"), (2, "n2")]:
            raise Failed("a merge of no action to be code 13 or do nothing", f"rows {found}", reply)
    for wrong, codes in (
        ({matched: "id > > 1"}, [13]), ({deleted: "id > > 1"}, [13]), ({deleted: "nothing = 1"}, [12, 13]),
        ({matched: "target.nothing = 1"}, [12, 13]), ({"on": "nothing"}, [12, 13]),
        ({"timeout": "soon"}, [13]), ({"timeout": "s"}, [13]), ({"timeout": "5 parsecs"}, [13]),
    ):  # fmt: skip
        lab.refused("MergeInsertIntoTable", codes, rows, id=table, **{**_ALL, **wrong})
    lab.same(_names(lab, table), [(1, "n1"), (2, "n2")], "the rows")
    for number, timeout in enumerate(("30s", "5m")):
        rows = stream(_named(timeout, 2, 3 + number))
        lab.ok("MergeInsertIntoTable", rows, id=table, **_BOTH, timeout=timeout)
        lab.that((2, timeout) in _names(lab, table), f"a merge with a timeout of {timeout}", "none")


@check("LN-ROWS-MERGE-062",
       "A merge of a stream of several record batches creates a single new version.",
       "rest.yaml, MergeInsertIntoTable: commits the result as one new version", "MergeInsertIntoTable",
       *_READ, capabilities=_TABLES)  # fmt: skip
def merged_as_a_whole(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    before = _newest(lab, table)
    rows = stream(_named("new", 2, 9, 4, 8), batch_rows=1)
    answer = lab.ok("MergeInsertIntoTable", rows, id=table, **_ALL)
    lab.same(_names(lab, table), [(2, "new"), (4, "new"), (8, "new"), (9, "new")], "the rows")
    for key, due in (("num_updated_rows", 2), ("num_inserted_rows", 2), ("num_deleted_rows", 2)):
        lab.that(answer.get(key) in (None, due), f"{key} {due}", answer)
    lab.same(_newest(lab, table), before + 1, "the version")
    lab.that(answer.get("version") in (None, before + 1), f"version {before + 1}", answer)
    lab.same(lab.ids(table, version=before), [1, 2, 3, 4], "the ids of the version before")


@check("LN-ROWS-MERGE-063",
       "A merge updates every row of the table whose key matches, and keys may be strings.",
       "rest.yaml, MergeInsertIntoTableRequest, on and when_matched_update_all", "MergeInsertIntoTable",
       *_READ, capabilities=_TABLES)  # fmt: skip
def every_match(lab: Lab) -> None:
    table = lab.table_id()
    kind = pa.schema([("Key", pa.string()), ("v", pa.int64())])
    held = pa.table({"Key": ["a", "b", "a", "A", ""], "v": [1, 2, 3, 4, 5]}, schema=kind)
    lab.given("CreateTable", stream(held), id=table)
    new = pa.table({"Key": ["a", "", "c"], "v": [10, 20, 30]}, schema=kind)
    answer = lab.ok("MergeInsertIntoTable", stream(new), id=table, **{**_BOTH, "on": "Key"})
    found = sorted((r["Key"], r["v"]) for r in lab.query(table).to_pylist())
    lab.same(found, [("", 20), ("A", 4), ("a", 10), ("a", 10), ("b", 2), ("c", 30)], "the rows")
    for key, due in (("num_updated_rows", 3), ("num_inserted_rows", 1)):
        lab.that(answer.get(key) in (None, due), f"{key} {due}", answer)


@check("LN-ROWS-MERGE-064",
       "use_index does not affect the result of a merge, whichever rows the index covers.",
       "rest.yaml, the parameter use_index: not its result", "MergeInsertIntoTable", *_READ,
       capabilities=_TABLES)  # fmt: skip
def merge_by_index(lab: Lab) -> None:
    for index in (True, False):
        table = lab.new_table(1, 2, 3, 4)
        if index:
            lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE")
        lab.given("InsertIntoTable", stream(people(5, 6)), id=table)
        lab.given("DeleteFromTable", id=table, predicate="id = 2")
        rows = stream(_named("new", 1, 2, 5, 7))
        answer = lab.ok("MergeInsertIntoTable", rows, id=table, **_BOTH, use_index=True)
        due = [(1, "new"), (2, "new"), (3, "n3"), (4, "n4"), (5, "new"), (6, "n6"), (7, "new")]
        lab.same(_names(lab, table), due, f"the rows, index: {index}")
        lab.that(answer.get("num_updated_rows") in (None, 2), "num_updated_rows 2", answer)


@check("LN-ROWS-MERGE-065",
       "Properties and merge conditions sent along with rows may contain any characters.",
       "rest.yaml, CreateTableRequest, properties; MergeInsertIntoTableRequest, the conditions",
       "MergeInsertIntoTable", "UpdateTable", "DescribeTable", *_READ, capabilities=_TABLES)  # fmt: skip
def any_letters(lab: Lab) -> None:
    table, properties = lab.table_id(), {"owner": "Zoë", "place": "東京 + 50 % & more"}
    lab.maybe("CreateTable", stream(people(1, 2)), id=table, properties=properties)
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), properties, "the properties")
    lab.given("UpdateTable", id=table, predicate="id = 2", updates=[["name", "'née + 50 % 東'"]])
    condition = {"when_matched_update_all_filt": "target.name = 'née + 50 % 東'"}
    rows = stream(_named("new", 1, 2))
    lab.maybe("MergeInsertIntoTable", rows, id=table, **_BOTH, **condition)
    lab.same(_names(lab, table), [(1, "n1"), (2, "new")], "the rows")


@check("LN-ROWS-SEQUENCE-060",
       "Each write creates one version, and the previous version keeps its rows.",
       "rest.yaml, the write operations: commits that as a new version", "InsertIntoTable",
       "UpdateTable", "DeleteFromTable", *_READ, capabilities=_TABLES)  # fmt: skip
def one_version(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    for operation, data, request in (
        ("InsertIntoTable", stream(people(5, 6, 7), batch_rows=1), {}),
        ("UpdateTable", None, {"updates": [["name", "'u'"], ["score", "1.0"]]}),
        ("DeleteFromTable", None, {"predicate": "id IN (1, 6)"}),
        ("InsertIntoTable", stream(people(8, 9), batch_rows=1), {"mode": "overwrite"}),
        ("DeleteFromTable", None, {"predicate": "true"}),
    ):  # fmt: skip
        before, rows = _newest(lab, table), _names(lab, table)
        lab.ok(operation, data, id=table, **request)
        lab.same(_newest(lab, table), before + 1, f"the version after {operation}")
        lab.same(_names(lab, table, version=before), rows, f"the version before {operation}")


@check("LN-ROWS-UPDATE-060", "An invalid update fails with code 13 and changes nothing.",
       "rest.yaml, UpdateTable: expression that cannot be read; UpdateTableRequest: entry that is not a pair",
       "UpdateTable", *_READ, capabilities=_TABLES)  # fmt: skip
def unreadable_update(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    right = ["score", "5.0"]
    for wrong, codes in (
        (["name", "id > > ("], [13]), (["name", ""], [13]), (["name", "nothing"], [12, 13]), (["name"], [13]),
        (["name", "'x'", "'y'"], [13]), ([], [13]),
    ):  # fmt: skip
        for updates in ([wrong], [right, wrong]):
            lab.refused("UpdateTable", codes, id=table, updates=updates)
    lab.refused("UpdateTable", [12, 13], id=table, updates=[right], predicate="nothing = 1")
    lab.same(lab.query(table).sort_by("id").to_pylist(), people(1, 2).to_pylist(), "the rows")


@check("LN-ROWS-UPDATE-061",
       "UpdateTable returns how many rows matched and no properties but those of the request.",
       "rest.yaml, UpdateTableResponse", "UpdateTable", "DeleteFromTable", *_READ,
       capabilities=_TABLES)  # fmt: skip
def update_answers(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("InsertIntoTable", stream(people(11, 12)), id=table)
    lab.given("DeleteFromTable", id=table, predicate="id IN (2, 3, 11)")
    lab.call("AlterTable", id=table, set_properties={"owner": "ana"})
    for predicate, sent, due in (
        ("id < 6", {}, 3), ("id < 6", {"why": "a"}, 3), (None, {}, 9), ("id > 9", {"who": "b"}, 2),
        ("id = 3", {}, 0),
    ):  # fmt: skip
        more = {k: v for k, v in (("predicate", predicate), ("properties", sent)) if v}
        answer = lab.ok("UpdateTable", id=table, updates=[["name", "'same'"]], **more)
        lab.same(answer.get("updated_rows"), due, f"updated_rows of {more}")
        told = answer.get("properties") or {}
        lab.that(not ({"owner", "why", "who"} - set(sent)) & set(told), f"properties {sent}", told)
        lab.has(told, sent if told else {}, "the properties")


@check("LN-ROWS-DELETE-060",
       "After all rows are deleted, the columns remain and rows can be inserted again.",
       "rest.yaml, DeleteFromTableRequest, predicate; DeleteFromTable; InsertIntoTable",
       "DeleteFromTable", "InsertIntoTable", *_READ, capabilities=_TABLES)  # fmt: skip
def emptied(lab: Lab) -> None:
    for predicate in ("true", "id > 0"):
        table = lab.new_table(1, 2, 3)
        whole = lab.query(table).schema
        lab.ok("DeleteFromTable", id=table, predicate=predicate)
        found = lab.query(table)
        lab.same((found.num_rows, found.schema), (0, whole), "the rows and columns that are left")
        lab.same(search(lab, table), [], "what a search finds")
        answer = lab.ok("UpdateTable", id=table, updates=[["name", "'x'"]])
        lab.same(answer.get("updated_rows"), 0, "updated_rows")
        lab.given("InsertIntoTable", stream(people(4)), id=table)
        lab.same(lab.query(table).to_pylist(), people(4).to_pylist(), "the rows")


@check("LN-ROWS-DECLARED-060", "Only adding rows turns a declared table into a table with data.",
       "rest.yaml, DescribeTableResponse, is_only_declared; protocol semantics, DescribeTable",
       "DeclareTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def stays_declared(lab: Lab) -> None:
    table = lab.new_declared()
    scan = {"vector": lab.no_vector(), "k": 1}
    for operation, request in (
        ("QueryTable", scan), ("CountTableRows", {}), ("GetTableStats", {}), ("AnalyzeTableQueryPlan", scan),
        ("ExplainTableQueryPlan", {"query": scan}), ("DeleteFromTable", {"predicate": "true"}),
        ("UpdateTable", {"updates": [["name", "'x'"]]}),
    ):  # fmt: skip
        reply = lab.call(operation, id=table, **request)
        if reply.succeeded:
            answer = reply.answer or {}
            none = (answer.get(k) or 0 for k in ("count", "num_rows", "updated_rows"))
            lab.that(not any(none) and not reply.rows, f"no rows from {operation}", answer)
        else:
            lab.must_fail(reply, [0, 4, 11, 12, 13, 18, 19])
        told = lab.maybe("DescribeTable", id=table, check_declared=True).get("is_only_declared")
        lab.that(told is not False, f"a table that is only declared after {operation}", told)


@check("LN-TABLE-CREATE-064",
       "CreateTable returns the version and properties that the table has after the call.",
       "rest.yaml, CreateTableResponse: the table as it stands after CreateTable", "CreateTable",
       "DescribeTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def as_it_stands(lab: Lab) -> None:
    table = lab.table_id()
    for mode, given in (
        ("Create", {"a": "1", "b": "2"}), ("ExistOk", {"a": "3"}), ("Overwrite", {"b": "4"}),
        ("Overwrite", None), ("ExistOk", {"c": "5"}),
    ):  # fmt: skip
        more = {} if given is None else {"properties": given}
        answer = lab.maybe("CreateTable", stream(people(1)), id=table, mode=mode, **more)
        told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
        for key in ("version", "properties"):
            if answer.get(key) is not None and told.get(key) is not None:
                lab.same(answer[key], told[key], f"{key} answered in mode {mode}")
        lab.given("InsertIntoTable", stream(people(2)), id=table)


_MORE: tuple[tuple[pa.DataType, list[Any]], ...] = (
    (pa.large_binary(), [b"\x00", None, b""]), (pa.large_list(pa.int64()), [[1], None, []]),
    (pa.date64(), [_DAY, None, _DAY]), (pa.time32("s"), [datetime.time(23, 59, 59), None, datetime.time(0)]),
    (pa.duration("ms"), [datetime.timedelta(-1), None, datetime.timedelta(0)]),
    (pa.timestamp("s"), [datetime.datetime(1969, 12, 31, 23, 59, 59), None, datetime.datetime(9999, 12, 31)]),
    (pa.decimal256(60, 1), [Decimal("1" * 50 + ".5"), None, Decimal(0)]), (pa.string(), [None, None, None]),
    (pa.list_(pa.float64(), 2), [[0.1, -0.2], None, [1e300, 0.0]]), (pa.bool_(), [None, True, False]),
    (pa.list_(pa.float16(), 2), [[0.5, 1.0], [2.0, -4.0], [0.0, 0.0]]),
    (pa.list_(pa.uint8(), 2), [[1, 255], [0, 7], [0, 0]]),
    (pa.list_(pa.list_(pa.int16())), [[[1], [], None], [], None]),
    (pa.struct([("a", pa.struct([("b", pa.string())]))]), [{"a": {"b": v}} for v in (None, "", "x")]),
    (pa.list_(pa.struct([("a", pa.int8())])), [[{"a": 1}, {"a": None}], [], None]),
)  # fmt: skip
_COLUMNS = {**TYPES, **{str(kind): pa.array(values, kind) for kind, values in _MORE}}


def _made_of(lab: Lab, names: list[str]) -> Iterator[tuple[list[str], pa.Table]]:
    """Yield as few tables as possible, with their rows, that cover all supported types."""
    columns = {n: _COLUMNS[n] for n in names} | {"mark": pa.array([0, 0, 0], pa.int64())}
    given, table = pa.table({"key": pa.array([1, 2, 3], pa.int64()), **columns}), lab.table_id()
    if lab.call("CreateTable", stream(given), id=table).succeeded:
        yield table, given
    elif len(names) > 1:
        yield from _made_of(lab, names[::2])
        yield from _made_of(lab, names[1::2])


@check("LN-VALUE-060",
       "Values of every type survive changes to other columns and rows, and can be read in pages.",
       "rest.yaml, UpdateTable and DeleteFromTable: changed rows are rewritten; Arrow columnar format",
       "UpdateTable", "DeleteFromTable", "InsertIntoTable", *_READ, capabilities=_TABLES)  # fmt: skip
def outlasting(lab: Lab) -> None:
    for table, given in _made_of(lab, sorted(set(_COLUMNS) - {"long_text"})):
        turned = given.set_column(0, "key", pa.array([3, 1, 2], pa.int64()))
        rows, merged = given.to_pylist(), sorted(turned.to_pylist(), key=lambda row: row["key"])
        updated = [{**row, "mark": 0 if row["key"] == 2 else row["key"] + 1} for row in rows]
        for operation, data, request, due in (
            ("UpdateTable", None, {"predicate": "key <> 2", "updates": [["mark", "key + 1"]]}, updated),
            ("DeleteFromTable", None, {"predicate": "key = 1"}, updated[1:]),
            ("InsertIntoTable", stream(given.slice(0, 1)), {}, [rows[0], *updated[1:]]),
            ("MergeInsertIntoTable", stream(turned), {**_BOTH, "on": "key"}, merged),
        ):  # fmt: skip
            reply = lab.call(operation, data, id=table, **request)
            if reply.code == 0 and operation == "MergeInsertIntoTable":
                continue
            lab.may_refuse(reply)
            found = lab.query(table)
            lab.same(found.sort_by("key").to_pylist(), due, f"the rows after {operation}")
            parts = [lab.query(table, offset=i, k=1).to_pylist() for i in range(len(due))]
            one_by_one = sorted((row for part in parts for row in part), key=lambda row: row["key"])
            lab.same(one_by_one, due, f"the rows after {operation}, read one by one")
        for field in given.schema:
            kept = str(found.schema.field(field.name).type).replace("large_", "")
            lab.same(kept, str(field.type).replace("large_", ""), f"the type of {field.name}")


@check("LN-QUERY-060", "A query with a negative number or an unknown column is rejected.",
       f"{_QUERY}, k, offset and filter", "QueryTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def refused(lab: Lab) -> None:
    table, scan = lab.shared_table(), {"vector": lab.no_vector(), "k": 5}
    for more, codes in (
        ({"k": -1}, [13]), ({"offset": -1}, [13]), ({"filter": "nothing = 1"}, [12, 13]),
        ({"filter": "id = 1 AND nothing IS NULL"}, [12, 13]), ({"version": -1}, [11, 13]),
        ({"columns": {"column_names": ["id", "nothing"]}}, NO_COLUMN),
        ({"columns": {"column_aliases": {"a": "id", "b": "nothing"}}}, [0, 12, 13]),
        ({"vector": {"multi_vector": [[1.0, 0.0], [1.0]]}}, [0, 13]),
    ):  # fmt: skip
        lab.refused("QueryTable", codes, id=table, **{**scan, **more})
    lab.refused("CountTableRows", [12, 13], id=table, predicate="id = 1 OR nothing = 1")


@check("LN-SEARCH-060", "vector_column may be omitted for a table's only vector column, whatever "
       "its position and type.",
       f"{_QUERY}, vector_column", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def only_column(lab: Lab) -> None:
    for kind in (pa.float32(), pa.float64(), pa.float16()):
        table, vectors = lab.table_id(), [[0.0, 9.0, 0.0], [1.0, 0.0, 4.0], [0.0, 0.0, 4.0]]
        lists = pa.array([[1], [2, 3], []], pa.list_(pa.int64()))
        rows = {"lists": lists, "Where": pa.array(vectors, pa.list_(kind, 3)), "id": [1, 2, 3]}
        if not lab.call("CreateTable", stream(pa.table(rows)), id=table).succeeded:
            continue
        near = {"vector": {"single_vector": [0.0, 0.0, 4.0]}, "k": 2}
        for more in ({}, {"vector_column": "Where"}):
            reply = lab.call("QueryTable", id=table, **near, **more)
            if kind != pa.float32() and reply.code in (0, 13):
                continue
            lab.must_succeed(reply)
            found = [(r["id"], r["_distance"]) for r in reply.rows.to_pylist()]
            lab.same(found, [(3, 0.0), (2, 1.0)], f"the nearest by numbers of {kind} {more}")


@check("LN-SEARCH-061",
       "A search returns the requested columns, aliases and row ids of the rows that it finds.",
       f"{_QUERY}, columns and with_row_id", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def search_columns(lab: Lab) -> None:
    table = lab.shared_table()
    row_ids = {r["id"]: r["_rowid"] for r in lab.query(table, with_row_id=True).to_pylist()}
    near = search_rows(lab, table, with_row_id=True, columns={"column_names": ["name", "id"]})
    lab.same(set(near.column_names), {"name", "id", "_rowid", "_distance"}, "the columns")
    due = [(i, f"n{i}", row_ids[i]) for i in (7, 8, 6)]
    lab.same([(r["id"], r["name"], r["_rowid"]) for r in near.to_pylist()], due, "the rows")
    whole = search_rows(lab, table).drop_columns(["_distance"]).to_pylist()
    lab.same(whole, people(7, 8, 6).to_pylist(), "all columns of the rows, and no other")
    near = search_rows(lab, table, columns={"column_aliases": {"called": "name"}})
    lab.same(near.column("called").to_pylist(), ["n7", "n8", "n6"], "the column of a new name")


@check("LN-SEARCH-062",
       "An indexed search reflects deletions and updates, and honors the settings of the query.",
       f"{_QUERY}; rest.yaml, DeleteFromTable, UpdateTable and MergeInsertIntoTable",
       "CreateTableIndex", "DeleteFromTable", "UpdateTable", *_READ, capabilities=_TABLES)  # fmt: skip
def indexed_search(lab: Lab) -> None:
    table = lab.new_table(*range(1, 41))
    lab.maybe("CreateTableIndex", id=table, column="vec", index_type="IVF_FLAT", num_partitions=2,
              distance_type="l2", name="near")  # fmt: skip
    built(lab, table)
    version = _newest(lab, table)
    every = {"nprobes": 2}
    for more, due in (
        ({"k": 4, "offset": 1}, [8, 6, 9, 5]), ({"filter": "id > 30", "prefilter": True, "k": 2}, [31, 32]),
        ({"upper_bound": 1.0, "k": 9}, [7, 8]), ({"lower_bound": 0.5, "k": 2}, [8, 6]),
        ({"filter": "id <> 8", "prefilter": False}, [7, 6]), ({"refine_factor": 1}, [7, 8, 6]),
        ({"distance_type": "l2", "k": 2}, [7, 8]), ({"bypass_vector_index": True, "k": 2}, [7, 8]),
    ):  # fmt: skip
        lab.same(search(lab, table, **every, **more), due, f"the nearest with {more}")
    both = {"minimum_nprobes": 2, "maximum_nprobes": 2}
    for probes in (every, {"minimum_nprobes": 2}, {**both, "nprobes": 1}):
        found = sorted(search(lab, table, k=40, **probes))
        lab.same(found, list(range(1, 41)), f"the ids of all partitions with {probes}")
    lab.given("DeleteFromTable", id=table, predicate="id = 7")
    lab.same(search(lab, table, **every), [8, 6, 9], "the nearest after a deletion")
    lab.given("UpdateTable", id=table, predicate="id = 8", updates=[["name", "'moved'"]])
    found = search_rows(lab, table, **every).column("name").to_pylist()
    lab.same(found, ["moved", "n6", "n9"], "the nearest after an update")
    far = people(6).set_column(3, "vec", pa.array([[500.0, 0.0]], pa.list_(pa.float32(), 2)))
    lab.ok("MergeInsertIntoTable", stream(far), id=table, **_BOTH)
    lab.same(search(lab, table, **every, k=2), [8, 9], "the nearest after a row went elsewhere")
    lab.same(search(lab, table, at=499.0, k=1), [6], "the nearest to its new place")
    lab.same(search(lab, table, version=version, **every), [7, 8, 6], "the nearest before it all")


@check("LN-SEARCH-063",
       "A search without distance_type uses that of the index, and hamming counts differing bits.",
       f"{_QUERY}, distance_type", "CreateTableIndex", *_READ, capabilities=_TABLES)  # fmt: skip
def own_distance(lab: Lab) -> None:
    table, other = lab.table_id(), lab.table_id()
    vectors = pa.array([[10.0, 0.0], [0.0, 1.0], [3.0, 3.0]], pa.list_(pa.float32(), 2))
    bits = pa.array([[0, 255], [3, 1], [1, 0]], pa.list_(pa.uint8(), 2))
    lab.given("CreateTable", stream(pa.table({"id": [1, 2, 3], "vec": vectors})), id=table)
    if lab.call(
        "CreateTable", stream(pa.table({"id": [1, 2, 3], "vec": bits})), id=other
    ).succeeded:
        near = {"vector": {"single_vector": [0, 0]}, "k": 3, "vector_column": "vec"}
        reply = lab.call("QueryTable", id=other, distance_type="hamming", **near)
        if reply.code not in (0, 13):
            lab.must_succeed(reply)
            found = [(r["id"], r["_distance"]) for r in reply.rows.to_pylist()]
            lab.same(found, [(3, 1.0), (2, 3.0), (1, 8.0)], "the nearest by hamming")
    lab.same(search(lab, table, at=1.0), [2, 3, 1], "the nearest without an index, which is by l2")
    for kind, due in (("cosine", [1, 3, 2]), ("l2", [2, 3, 1])):
        index = {"column": "vec", "index_type": "IVF_FLAT", "num_partitions": 1, "name": "near"}
        lab.maybe("CreateTableIndex", id=table, distance_type=kind, **index)
        built(lab, table)
        lab.same(search(lab, table, at=1.0), due, f"the nearest by an index of {kind}")
        lab.maybe("DropTableIndex", id=table, index_name="near")


@check("LN-STATS-060",
       "Fragment statistics are 0 for a table without fragments and exact for other tables.",
       "rest.yaml, FragmentStats and FragmentSummary", "GetTableStats", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def spread(lab: Lab) -> None:
    table = lab.table_id()
    lab.given("CreateTable", stream(people().slice(0, 0)), id=table)
    told = lab.ok("GetTableStats", id=table)
    found = told["fragment_stats"]
    lab.same((told["num_rows"], told["num_indices"]), (0, 0), "num_rows and num_indices")
    if found["num_fragments"] == 0:
        figures = {found["num_small_fragments"], *found["lengths"].values()}
        lab.same(figures, {0}, "the figures of no fragments")
    for sizes, due in (((9, 1, 1, 1, 1), (1, 1, 1)), ((9, 9, 9, 1, 9), (9, 9, 9))):
        table = lab.new_table(*range(sizes[0]))
        for size in sizes[1:]:
            lab.given("InsertIntoTable", stream(people(*range(size))), id=table)
        found = lab.ok("GetTableStats", id=table)["fragment_stats"]
        if found["num_fragments"] != len(sizes):
            raise Skipped("rows are not kept in a fragment a write")
        told = found["lengths"]
        lab.same(tuple(told[k] for k in ("p25", "p50", "p75")), due, f"p25, p50, p75 of {sizes}")
        below = sorted(sizes)[-2]  # a percentile may be the next lower length or interpolated
        lab.that(told["p99"] in (below, 8, 9), f"p99 {below}, or from 8 on, of {sizes}", told)
    if lab.call("CreateTableBranch", id=table, name="side").succeeded:
        lab.maybe("InsertIntoTable", stream(people(*range(20))), id=table, branch="side")
        lab.call("CreateTableScalarIndex", id=table, branch="side", column="id", index_type="BTREE")
        made = int(lab.last is not None and lab.last.succeeded)
        if made:
            built(lab, table, branch="side")
        for of, due in (({"branch": "side"}, (6, 20, made)), ({}, (5, 9, 0))):
            told = lab.maybe("GetTableStats", id=table, **of)
            found = told["fragment_stats"]
            shown = (found["num_fragments"], found["lengths"]["max"], told["num_indices"])
            lab.same(shown, due, f"fragments, their longest, and indices {of}")


@check("LN-PLAN-060", "A plan is made for the requested version and search, and is rejected if "
       "the query would be.",
       "rest.yaml, ExplainTableQueryPlan and AnalyzeTableQueryPlan", "ExplainTableQueryPlan",
       "AlterTableDropColumns", "CreateTable", capabilities=_TABLES)  # fmt: skip
def plans(lab: Lab) -> None:
    table = lab.new_table(1, 2)
    before = _newest(lab, table)
    lab.given("AlterTableDropColumns", id=table, columns=["score"])
    scan: dict[str, Any] = {"vector": lab.no_vector(), "k": 2}
    near = {"vector": {"single_vector": [1.0, 0.0]}, "k": 2, "vector_column": "vec"}
    old = {**scan, "filter": "score > 1", "version": before}
    lab.ok("ExplainTableQueryPlan", id=table, query=old)
    reply = lab.call("AnalyzeTableQueryPlan", id=table, **old)
    if reply.code != 0:
        lab.must_succeed(reply)
    told = []
    for query in (near, scan):
        brief, full = (
            str(lab.ok("ExplainTableQueryPlan", id=table, query=query, verbose=v).get("plan"))
            for v in (False, True)
        )
        lab.that(len(full) >= len(brief), "no less detail with verbose", full[:300])
        told.append(brief)
    lab.that(told[0] != told[1], "another plan for a search than for a scan", told[0][:300])
    for wrong, codes in (
        ({"vector_column": "nothing"}, [12, 13]), ({"vector": {"single_vector": [1.0]}}, [13]),
        ({"columns": {"column_names": ["score"]}}, NO_COLUMN), ({"filter": "id > > 1"}, [13]),
        ({"filter": "score > 1", "version": before + 1}, [12, 13]),
    ):  # fmt: skip
        asked = {**near, **wrong}
        lab.refused("ExplainTableQueryPlan", codes, id=table, query=asked)
        reply = lab.call("AnalyzeTableQueryPlan", id=table, **asked)
        if reply.code != 0:
            lab.must_fail(reply, codes)
    lab.same(_newest(lab, table), before + 1, "the version, which no plan changes")
