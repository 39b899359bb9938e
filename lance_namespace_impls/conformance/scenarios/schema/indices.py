"""Scalar, vector and full-text indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ...indexed_tables import (
    built,
    ids_in_order,
    index_names,
    indexed_table,
    table_of,
    text,
    text_table,
    words,
)
from ...lab import Lab, Skipped
from ...missing_codes import NO_COLUMN
from ...requirement import check
from ...rows import PEOPLE, people, stream

_INDEX = "rest.yaml, the index operations"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_COLUMN_CODES = (
    f"{_CODES}; the published descriptions of the fields: InvalidInput or TableColumnNotFound"
)
_TABLES = ["tables"]
ALL = list(PEOPLE)
_INDEX_DROPS = "rest.yaml, the index operations; DropTable: indexes, tags and branches included"
_TEXT_INDEX = "rest.yaml, CreateTableIndexRequest, settings of full-text indexes"
_NEEDED = ("CreateTableScalarIndex", "QueryTable", "CreateTable")
_INDEX_REQUEST = "rest.yaml, CreateTableIndexRequest"
_INDICES = ("CreateTableIndex", "ListTableIndices", "CreateTable")
_SIDE = {"branch": "side"}


@check("LN-INDEX-001", "A new index is listed with its column.", _INDEX,
       "CreateTableScalarIndex", "ListTableIndices", "CreateTable", capabilities=_TABLES)  # fmt: skip
def create(lab: Lab) -> None:
    table = indexed_table(lab)
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    shown = [(entry["index_name"], list(entry["columns"])) for entry in found]
    lab.same(shown, [("by_id", ["id"])], "the indices")


@check("LN-INDEX-002", "ListTableIndices is empty for a table without indices.",
       _INDEX, "ListTableIndices", "CreateTable", capabilities=_TABLES)  # fmt: skip
def none(lab: Lab) -> None:
    lab.same(index_names(lab, lab.shared_table()), [], "the indices")


@check("LN-INDEX-003", "CreateTableScalarIndex fails with code 7 if an index with the name exists.",
       _CODES, "CreateTableScalarIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def twice(lab: Lab) -> None:
    table = indexed_table(lab)
    lab.refused(
        "CreateTableScalarIndex", [7], id=table, column="name", index_type="BTREE", name="by_id"
    )


@check("LN-INDEX-004", "CreateTableScalarIndex on a missing column fails with code 12 or 13.",
       _COLUMN_CODES, "CreateTableScalarIndex", "CreateTable", "ListTableIndices",
       capabilities=_TABLES)  # fmt: skip
def missing_column(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("CreateTableScalarIndex", NO_COLUMN, id=table, column="nothing", index_type="BTREE")
    lab.same(index_names(lab, table), [], "the indices")


@check("LN-INDEX-005", "An unknown index type fails with code 13.",
       _INDEX, "CreateTableScalarIndex", "CreateTable", "ListTableIndices",
       capabilities=_TABLES)  # fmt: skip
def unknown_type(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("CreateTableScalarIndex", [13], id=table, column="id", index_type="CAROUSEL")
    lab.same(index_names(lab, table), [], "the indices")


@check("LN-INDEX-006", "DropTableIndex removes one index and keeps the others.", _INDEX,
       "DropTableIndex", "CreateTableScalarIndex", "ListTableIndices", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def drop(lab: Lab) -> None:
    table = indexed_table(lab)
    lab.ok("CreateTableScalarIndex", id=table, column="name", index_type="BTREE", name="by_name")
    lab.ok("DropTableIndex", id=table, index_name="by_id")
    lab.same(index_names(lab, table), ["by_name"], "the indices")


@check("LN-INDEX-007", "DropTableIndex of a missing index fails with code 6.",
       _CODES, "DropTableIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def missing(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("DropTableIndex", [6], id=table, index_name="none")


@check("LN-INDEX-012", "CreateTableIndex fails with code 7 if an index with the name exists.",
       _CODES, "CreateTableIndex", "ListTableIndices", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def any_twice(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("CreateTableIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.same(index_names(lab, table), ["by_id"], "the indices")
    lab.refused("CreateTableIndex", [7], id=table, column="name", index_type="BTREE", name="by_id")


@check("LN-INDEX-011", "DescribeTableIndexStats of a missing index fails with code 6.", _CODES,
       "DescribeTableIndexStats", "CreateTable", capabilities=_TABLES)  # fmt: skip
def missing_stats(lab: Lab) -> None:
    lab.refused("DescribeTableIndexStats", [6], id=lab.shared_table(), index_name="none")


@check("LN-INDEX-008", "DescribeTableIndexStats counts the indexed and the unindexed rows.", _INDEX,
       "DescribeTableIndexStats", "CreateTableScalarIndex", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    answer = lab.ok("DescribeTableIndexStats", id=indexed_table(lab), index_name="by_id")
    lab.same(answer.get("num_indexed_rows"), len(ALL), "num_indexed_rows")
    lab.same(answer.get("num_unindexed_rows"), 0, "num_unindexed_rows")


@check("LN-INDEX-009", "ListTableIndices of a missing table fails with code 4.",
       _CODES, "ListTableIndices", capabilities=_TABLES)  # fmt: skip
def missing_table(lab: Lab) -> None:
    lab.refused("ListTableIndices", [4], id=lab.table_id())


@check("LN-INDEX-010", "A query with a filter on an indexed column returns the correct rows.",
       _INDEX, "QueryTable", "CreateTableScalarIndex", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def query(lab: Lab) -> None:
    table = indexed_table(lab)
    lab.same(lab.ids(table, filter="id >= 9"), [9, 10], "the ids")


def coverage(entry: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the numbers of indexed and unindexed rows of an index, None if not reported."""
    return entry.get("num_indexed_rows"), entry.get("num_unindexed_rows")


@check("LN-INDEX-017", "Rows inserted after an index was created are reported as unindexed.",
       "rest.yaml, IndexContent and DescribeTableIndexStatsResponse", "ListTableIndices",
       "CreateTableScalarIndex", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def covered(lab: Lab) -> None:
    table = indexed_table(lab)
    lab.given("InsertIntoTable", stream(people(11, 12)), id=table)
    found = lab.ok("ListTableIndices", id=table).get("indexes") or []
    lab.same(len(found), 1, "the number of indices")
    entry = found[0]
    lab.that(entry.get("num_indexed_rows") in (None, len(ALL)), "10 indexed rows", entry)
    lab.that(entry.get("num_unindexed_rows") in (None, 2), "2 unindexed rows", entry)
    reply = lab.call("DescribeTableIndexStats", id=table, index_name="by_id")
    if reply.succeeded and None not in (*coverage(entry), *coverage(reply.answer or {})):
        lab.same(coverage(reply.answer or {}), coverage(entry), "the coverage")


@check("LN-INDEX-018", "Dropping a column drops its index and keeps the others.",
       "rest.yaml, IndexContent: the indexed columns; AlterTableDropColumns",
       "ListTableIndices", "CreateTableScalarIndex", "AlterTableDropColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def goes_with_column(lab: Lab) -> None:
    table = indexed_table(lab)
    lab.given("CreateTableScalarIndex", id=table, column="name", index_type="BTREE", name="by_name")
    lab.given("AlterTableDropColumns", id=table, columns=["name"])
    lab.same(index_names(lab, table), ["by_id"], "the indices")
    lab.same(lab.ids(table, filter="id = 3"), [3], "the ids")


@check("LN-INDEX-019",
       "DescribeTableIndexStats reports the type of the index and at least one index.",
       "rest.yaml, DescribeTableIndexStatsResponse", "DescribeTableIndexStats",
       "CreateTableScalarIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def index_stats(lab: Lab) -> None:
    table = lab.new_table()
    for name, kind in (("by_id", "BTREE"), ("by_name", "BITMAP")):
        request = {"column": name[3:], "index_type": kind, "name": name}
        if not lab.call("CreateTableScalarIndex", id=table, **request).succeeded:
            continue
        found = lab.ok("DescribeTableIndexStats", id=table, index_name=name)
        lab.that(found.get("num_indices") is None or found["num_indices"] > 0, "an index", found)
        told = str(found.get("index_type") or kind).upper().replace("_", "")
        lab.same(told, kind, "index_type")


@check("LN-INDEX-020",
       "CreateTableScalarIndex with an unknown index type fails with code 13 and creates no index.",
       "rest.yaml, CreateTableIndexRequest", "CreateTableScalarIndex", "ListTableIndices",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def unknown_kind(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("CreateTableScalarIndex", [13], id=table, column="id", index_type="SOMETIMES")
    lab.same(index_names(lab, table), [], "the indices")


@check("LN-INDEX-021", "ListTableIndices reports the new name of an indexed column after a rename.",
       "rest.yaml, IndexContent: names of the indexed columns; AlterTableAlterColumns",
       "ListTableIndices", "CreateTableScalarIndex", "AlterTableAlterColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index_of_renamed(lab: Lab) -> None:
    table = indexed_table(lab)
    lab.same(index_names(lab, table), ["by_id"], "the indices")
    lab.given("AlterTableAlterColumns", id=table, alterations=[{"path": "id", "rename": "number"}])
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same([entry["columns"] for entry in found], [["number"]], "the columns of the indices")


@check("LN-INDEX-013", "An index reports its type, its column, a UUID and its row counts.",
       "rest.yaml, IndexContent and DescribeTableIndexStatsResponse", "CreateTableScalarIndex",
       "ListTableIndices", "DescribeTableIndexStats", "CreateTable", capabilities=_TABLES)  # fmt: skip
def contents(lab: Lab) -> None:
    table = lab.new_table()
    for name, column, kind in (("one", "id", "BTREE"), ("two", "name", "BITMAP")):
        lab.maybe("CreateTableScalarIndex", id=table, column=column, index_type=kind, name=name)
    found = {e["index_name"]: e for e in lab.ok("ListTableIndices", id=table).get("indexes") or ()}
    lab.same(sorted(found), ["one", "two"], "the indices")
    for name, kind, column in (("one", "BTREE", "id"), ("two", "BITMAP", "name")):
        entry, stats = found[name], lab.maybe("DescribeTableIndexStats", id=table, index_name=name)
        lab.same(list(entry["columns"]), [column], f"the columns of the index {name}")
        lab.that(len(entry["index_uuid"]) >= 32, "a UUID", entry)
        for answer in (entry, stats):
            if answer.get("index_type") is not None:
                lab.same(answer["index_type"].upper().replace("_", ""), kind, f"the type of {name}")
            if answer.get("num_indexed_rows") is not None:
                lab.same(answer["num_indexed_rows"], 10, f"the number of indexed rows in {name}")
            if answer.get("num_unindexed_rows") is not None:
                lab.same(answer["num_unindexed_rows"], 0, f"the number of unindexed rows in {name}")


@check("LN-INDEX-014",
       "An index follows writes, belongs to one table, and can be dropped without changing rows.",
       _INDEX_DROPS, "CreateTableScalarIndex", "DropTableIndex", "ListTableIndices", "QueryTable",
       "DeleteFromTable", "UpdateTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def indexed_rows(lab: Lab) -> None:
    table = lab.new_table()
    other = lab.new_table()
    lab.ok("CreateTableScalarIndex", id=table, column="name", index_type="BTREE", name="by_name")
    lab.same(lab.ids(table, filter="name = 'n3'"), [3], "the ids")
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    lab.same(lab.ids(table, filter="name = 'n11'"), [11], "a row added after the index was created")
    lab.given("UpdateTable", id=table, predicate="id = 3", updates=[["name", "'new'"]])
    lab.same(lab.ids(table, filter="name = 'n3'"), [], "the ids for a name that no longer exists")
    lab.same(lab.ids(table, filter="name = 'new'"), [3], "the ids for the new name")
    lab.given("DeleteFromTable", id=table, predicate="id = 4")
    lab.same(lab.ids(table, filter="name = 'n4'"), [], "the ids for a deleted row")
    lab.same(
        list(lab.ok("ListTableIndices", id=other).get("indexes") or ()), [], "another's indices"
    )
    lab.ok("DropTableIndex", id=table, index_name="by_name")
    lab.same(lab.count(table), 10, "the number of rows")
    lab.same(lab.query(table).column_names, people(1).column_names, "the columns")
    lab.ok("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_name")
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same([list(entry["columns"]) for entry in found], [["id"]], "the columns of the new index")


@check("LN-INDEX-015",
       "Creating an index fails with code 12 or 13 for a missing column and code 13 for an "
       "unknown or incompatible type.",
       "rest.yaml, CreateTableIndexRequest", "CreateTableIndex", "CreateTableScalarIndex",
       "ListTableIndices", "CreateTable", capabilities=_TABLES)  # fmt: skip
def wrong_index(lab: Lab) -> None:
    table = lab.new_table()
    for operation, kind in (("CreateTableIndex", "IVF_FLAT"), ("CreateTableScalarIndex", "BTREE")):
        lab.refused(operation, NO_COLUMN, id=table, column="nothing", index_type=kind)
        lab.refused(operation, [13], id=table, column="id", index_type="BY_FEELING")
    lab.refused("CreateTableIndex", [13], id=table, column="name", index_type="IVF_FLAT")
    lab.same(list(lab.ok("ListTableIndices", id=table).get("indexes") or ()), [], "the indices")


@check("LN-INDEX-016", "An index created without a name gets a unique name.",
       "rest.yaml, CreateTableIndexRequest", "CreateTableScalarIndex", "ListTableIndices",
       "DropTableIndex", "CreateTable", capabilities=_TABLES)  # fmt: skip
def unnamed(lab: Lab) -> None:
    table = lab.new_table()
    for column in ("id", "name"):
        lab.maybe("CreateTableScalarIndex", id=table, column=column, index_type="BTREE")
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    shown = {tuple(entry["columns"]): entry["index_name"] for entry in found}
    lab.same(sorted(shown), [("id",), ("name",)], "the columns with an index")
    lab.same(len(set(shown.values())), 2, "the number of distinct names")
    lab.ok("DropTableIndex", id=table, index_name=shown["id",])
    left = [list(e["columns"]) for e in lab.ok("ListTableIndices", id=table).get("indexes") or ()]
    lab.same(left, [["name"]], "the columns of the remaining indices")


@check("LN-INDEX-023",
       "An index setting below its minimum fails with code 13 and creates no index.",
       "rest.yaml, CreateTableIndexRequest", "CreateTableIndex", "ListTableIndices", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def least(lab: Lab) -> None:
    table = lab.new_table()
    for key in ("num_partitions", "sample_rate", "max_iterations"):
        lab.refused(
            "CreateTableIndex", [13], id=table, column="vec", index_type="IVF_FLAT", **{key: 0}
        )
    for key in ("num_sub_vectors", "num_bits"):
        lab.refused(
            "CreateTableIndex", [13], id=table, column="vec", index_type="IVF_PQ", **{key: 0}
        )
    lab.same(list(lab.ok("ListTableIndices", id=table).get("indexes") or ()), [], "the indices")


@check("LN-INDEX-022", "The settings of a full-text index determine which words match.", _TEXT_INDEX,
       *_NEEDED, capabilities=_TABLES)  # fmt: skip
def alike(lab: Lab) -> None:
    texts = ["Running", "the café", "red-fox", "extraordinary"]
    for settings, found, lost in (
        ({}, {"running": [1], "run": [1], "cafe": [2], "fox": [3]}, {"the": []}),
        ({"stem": False, "lower_case": False}, {"Running": [1]}, {"running": []}),
        ({"stem": False}, {"running": [1]}, {"run": []}),
        ({"ascii_folding": False}, {"café": [2]}, {"cafe": []}),
        ({"remove_stop_words": False}, {"the": [2]}, {}),
        ({"base_tokenizer": "whitespace", "stem": False}, {"red-fox": [3]}, {"fox": []}),
        ({"max_token_length": 8, "stem": False}, {"running": [1]}, {"extraordinary": []}),
    ):
        table = text_table(lab, texts, **settings)
        for word, due in {**found, **lost}.items():
            lab.same(words(lab, table, text(word)), due, f"the ids for {word} with {settings}")


@check("LN-INDEX-060",
       "language, base_tokenizer and related settings determine the words of a full-text index.",
       _INDEX_REQUEST,
       "CreateTableIndex", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def languages(lab: Lab) -> None:
    texts = {
        "id": pa.array([1, 2, 3, 4, 5], pa.int64()),
        "text": ["viele Katzen", "Red fox", "der the", "wild dogs", "d\u00e9j\u00e0 vu"],
    }
    plain = {"base_tokenizer": "simple", "lower_case": True, "stem": True,
             "remove_stop_words": True}  # fmt: skip
    raw = {**plain, "base_tokenizer": "raw", "stem": False, "remove_stop_words": False}
    for settings, due in (
        ({**plain, "language": "German"}, {"katze": [1], "der": []}),
        ({**plain, "language": "English"}, {"katze": [], "der": [3], "dog": [4]}),
        ({**plain, "language": "English", "stem": False}, {"dog": [], "dogs": [4]}),
        ({**plain, "language": "English", "remove_stop_words": False}, {"the": [3]}),
        ({**plain, "stem": False, "max_token_length": 5}, {"katzen": [], "fox": [2]}),
        ({**plain, "stem": False, "ascii_folding": True}, {"deja": [5]}),
        ({**plain, "stem": False, "ascii_folding": False}, {"deja": [], "d\u00e9j\u00e0": [5]}),
        (raw, {"red": [], "red fox": [2]}),
        ({**raw, "lower_case": False}, {"red fox": [], "Red fox": [2]}),
    ):
        table, index = (
            table_of(lab, texts),
            {"column": "text", "index_type": "INVERTED", **settings},
        )
        if lab.call("CreateTableIndex", id=table, **index).succeeded:
            built(lab, table)
            for word, rows in due.items():
                lab.same(words(lab, table, text(word)), rows, f"the ids for {word} with {settings}")


@check("LN-INDEX-061",
       "An index type that does not suit its column fails with code 13; settings of other types "
       "are ignored.",
       _INDEX_REQUEST, *_INDICES, "QueryTable", capabilities=_TABLES)  # fmt: skip
def unsuited(lab: Lab) -> None:
    table = lab.new_table()
    for column, kind in (("id", "LABEL_LIST"), ("id", "NGRAM"), ("vec", "FTS"), ("name", "IVF_PQ")):
        for operation in ("CreateTableIndex", "CreateTableScalarIndex"):
            lab.refused(operation, [13], id=table, column=column, index_type=kind)
    odd = {"index_type": "IVF_FLAT", "distance_type": "odd"}
    lab.refused("CreateTableIndex", [13], id=table, column="vec", **odd)
    lab.same(list(lab.ok("ListTableIndices", id=table).get("indexes") or ()), [], "the indices")
    graph = {"m": 8, "ef_construction": 20, "num_sub_vectors": 1, "distance_type": "cosine"}
    spelt = {"language": "German", "stem": False, "base_tokenizer": "raw", "max_token_length": 2}
    for column, kind in (("id", "BTREE"), ("name", "FTS"), ("vec", "IVF_FLAT")):
        more = (graph if kind != "IVF_FLAT" else {}) | (spelt if kind != "FTS" else {})
        index = {"id": table, "column": column, "index_type": kind, "name": f"on_{column}"}
        lab.maybe("CreateTableIndex", **index)
        built(lab, table)
        lab.ok("DropTableIndex", id=table, index_name=index["name"])
        lab.ok("CreateTableIndex", **index, **more)
        built(lab, table)

    def listed() -> dict[str, Any]:
        found = lab.ok("ListTableIndices", id=table)["indexes"]
        return {entry["index_uuid"]: entry["columns"] for entry in found}

    before = listed()
    lab.same(sorted(before.values()), [["id"], ["name"], ["vec"]], "the columns with an index")
    for _ in range(2):
        reply = lab.call("CreateTableIndex", id=table, column="id", index_type="BITMAP")
        lab.that(
            reply.code in (None, 7),
            "CreateTableIndex to succeed or fail with code 7",
            reply.outcome(),
        )
        built(lab, table)
        lab.has(listed(), before, "the indices")
        before = listed()
    lab.same(words(lab, table, text("n3")), [3], "the ids for a word")


@check("LN-INDEX-062",
       "An index uses the requested distance, by default l2; a search uses the distance of"
       " its index.",
       "rest.yaml, the fields distance_type", *_INDICES, "DescribeTableIndexStats", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def index_distance(lab: Lab) -> None:
    vectors = pa.array([[10.0, 0.0], [0.0, 1.0], [3.0, 3.0]], pa.list_(pa.float32(), 2))
    table = table_of(lab, {"id": pa.array([1, 2, 3], pa.int64()), "vec": vectors})
    near = {"vector": {"single_vector": [1.0, 0.0]}, "vector_column": "vec"}
    index = {"column": "vec", "index_type": "IVF_FLAT", "num_partitions": 1, "name": "near"}
    l2 = [2, 3, 1]
    for kind, due in ((None, l2), ("dot", [1, 3, 2]), ("cosine", [1, 3, 2])):
        more = {"distance_type": kind} if kind else {}
        lab.maybe("CreateTableIndex", id=table, **index, **more)
        built(lab, table)
        told = lab.ok("DescribeTableIndexStats", id=table, index_name="near").get("distance_type")
        lab.same((told or kind or "l2").lower(), kind or "l2", "distance_type")
        for of, order in (({}, due), ({"distance_type": "l2"}, l2), ({"version": 1}, l2)):
            lab.same(
                ids_in_order(lab, table, **near, **of),
                order,
                f"the nearest rows by {kind} with {of}",
            )
        lab.ok("DropTableIndex", id=table, index_name="near")
        lab.same(
            ids_in_order(lab, table, **near), l2, "the nearest rows after the index is dropped"
        )


@check("LN-INDEX-063", "An index is created, described and dropped on the specified branch.",
       "rest.yaml, branch of the index operations", *_INDICES, "DropTableIndex", "DescribeTableIndexStats",
       "CreateTableBranch", capabilities=_TABLES)  # fmt: skip
def on_branches(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("CreateTableIndex", id=table, column="id", index_type="BTREE", name="both")
    built(lab, table)
    lab.given("CreateTableBranch", id=table, name="side")
    lab.maybe("InsertIntoTable", stream(people(11, 12)), id=table, **_SIDE)

    def told(name: str, *due: int) -> None:
        """Compare the row count of an index, covered or not, on both lines; 6: no such index."""
        for of, rows in zip(({}, _SIDE), due, strict=True):
            reply = lab.call("DescribeTableIndexStats", id=table, index_name=name, **of)
            if reply.code in (0, 13):
                raise Skipped(f"DescribeTableIndexStats: {reply.outcome()}")
            if rows == 6:
                lab.must_fail(reply, [6])
                continue
            lab.must_succeed(reply)
            covered, rest = coverage(reply.answer or {})
            if covered is not None and rest is not None:
                lab.same(
                    covered + rest,
                    rows,
                    f"the total number of indexed and unindexed rows of the index {name} with {of}",
                )

    reply = lab.call("DescribeTableIndexStats", id=table, index_name="both", **_SIDE)
    if reply.code != 6:
        told("both", 10, 12)
        lab.maybe("DropTableIndex", id=table, index_name="both", **_SIDE)
    told("both", 10, 6)
    reply = lab.call("DropTableIndex", id=table, index_name="both", **_SIDE)
    if reply.code in (0, 13):
        raise Skipped(f"DropTableIndex on a branch: {reply.outcome()}")
    lab.must_fail(reply, [6])
    more = {"column": "name", "index_type": "BTREE", "name": "aside"}
    lab.maybe("CreateTableIndex", id=table, **more, **_SIDE)
    built(lab, table, **_SIDE)
    told("aside", 6, 12)
    lab.ok("DropTableIndex", id=table, index_name="both")
    told("both", 6, 6)
    told("aside", 6, 12)
