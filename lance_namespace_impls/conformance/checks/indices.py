"""Indices of each type: their settings, distances and branches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import people, stream
from .schemas import given, ids
from .searches import built, text, words
from .structure import coverage

_INDEX = "rest.yaml, CreateTableIndexRequest"
_INDICES = ("CreateTableIndex", "ListTableIndices", "CreateTable")
_TABLES = ["tables"]
_SIDE = {"branch": "side"}


@check("LN-INDEX-060",
       "language, base_tokenizer and related settings determine the words of a full-text index.",
       _INDEX,
       "CreateTableIndex", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def languages(lab: Lab) -> None:
    texts = {"id": pa.array([1, 2, 3, 4, 5], pa.int64()),
             "text": ["viele Katzen", "Red fox", "der the", "wild dogs", "d\u00e9j\u00e0 vu"]}  # fmt: skip
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
    ):  # fmt: skip
        table, index = given(lab, texts), {"column": "text", "index_type": "INVERTED", **settings}
        if lab.call("CreateTableIndex", id=table, **index).succeeded:
            built(lab, table)
            for word, rows in due.items():
                lab.same(words(lab, table, text(word)), rows, f"the ids for {word} with {settings}")


@check("LN-INDEX-061",
       "An index type that does not suit its column is code 13; settings of other types"
       " are ignored.",
       _INDEX, *_INDICES, "QueryTable", capabilities=_TABLES)  # fmt: skip
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
        lab.that(reply.code in (None, 7), "an index, or code 7", reply.outcome())
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
    table = given(lab, {"id": pa.array([1, 2, 3], pa.int64()), "vec": vectors})
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
            lab.same(ids(lab, table, **near, **of), order, f"the nearest by {kind}, {of}")
        lab.ok("DropTableIndex", id=table, index_name="near")
        lab.same(ids(lab, table, **near), l2, "the nearest where the index is gone")


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
                lab.same(covered + rest, rows, f"the rows of the index {name} {of}, covered or not")

    reply = lab.call("DescribeTableIndexStats", id=table, index_name="both", **_SIDE)
    if reply.code != 6:
        told("both", 10, 12)
        lab.maybe("DropTableIndex", id=table, index_name="both", **_SIDE)
    told("both", 10, 6)
    reply = lab.call("DropTableIndex", id=table, index_name="both", **_SIDE)
    if reply.code in (0, 13):
        raise Skipped(f"DropTableIndex of a branch: {reply.outcome()}")
    lab.must_fail(reply, [6])
    more = {"column": "name", "index_type": "BTREE", "name": "aside"}
    lab.maybe("CreateTableIndex", id=table, **more, **_SIDE)
    built(lab, table, **_SIDE)
    told("aside", 6, 12)
    lab.ok("DropTableIndex", id=table, index_name="both")
    told("both", 6, 6)
    told("aside", 6, 12)
