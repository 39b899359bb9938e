"""Fields of the operations on indices, and of counts and statistics."""

from __future__ import annotations

from functools import partial
from typing import Any

import lance
import pyarrow as pa

from .entries import elsewhere
from .refs import prepare
from .row import ROWS, Code, Row, Stage, spying
from .search import clusters

_BOTH = ("CreateTableIndex", "CreateTableScalarIndex")
_WORDS = pa.table({
    "x": [1, 2, 3, 4],
    "s": ["the puppy runs", "Café running", "crime", "puppy-and-kitten sleep"],
})  # fmt: skip


def _names(stage: Stage, branch: str | None = None) -> list[str]:
    request = {"id": stage.id, "branch": branch}
    return [each.index_name for each in stage.direct.list_table_indices(request).indexes]


def _named(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    stage.table()
    stage.branch()
    stage.call(of, request)
    return [_names(stage), _names(stage, "dev")]


def _column(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    stage.table()
    stage.call(of, request)
    return [each.columns for each in stage.direct.list_table_indices({"id": stage.id}).indexes]


def _kind(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    stage.table()
    stage.call(of, request)
    return [each.index_type for each in stage.direct.list_table_indices({"id": stage.id}).indexes]


def _search(*words: str) -> Any:
    """Return a look that searches a new full-text index, and reports which rows are found."""

    def look(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
        stage.table(_WORDS)
        stage.call(of, {"column": "s", "index_type": "FTS", **request})
        queries = [{"string_query": {"query": word}} for word in words]
        return [
            sorted(row["x"] for row in stage.rows(full_text_query=query, k=9)) for query in queries
        ]

    return look


def _phrase(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    stage.table(_WORDS)
    stage.call(of, {"column": "s", "index_type": "FTS", **request})
    phrase = {"phrase": {"column": "s", "terms": "puppy runs"}}
    found = stage.rows(full_text_query={"structured_query": {"query": phrase}}, k=9)
    return [row["x"] for row in found]


def _built(stage: Stage, request: dict[str, Any], *, what: str) -> Any:
    """Return an entry of the statistics of a new vector index."""
    clusters(stage, **request)
    stats = stage.dataset().stats.index_stats("v_idx")["indices"][0]
    inner = stats["sub_index"]
    return {**inner, **inner.get("params", {}), **stats}[what]


def _built_with(stage: Stage, request: dict[str, Any], *, what: str) -> Any:
    """Return an argument that pylance receives when it builds an index; no statistics show it."""
    note = partial(spying, lance.LanceDataset, "create_index", lambda args, more: more.get(what))
    with note() as seen:
        _built(stage, request, what="index_type")
    return seen


def _scalar(stage: Stage, request: dict[str, Any]) -> Any:
    """Return the statistics of a B-tree, which has no options."""
    stage.table()
    stage.call("CreateTableScalarIndex", {"column": "x", "index_type": "BTREE", **request})
    stats = stage.dataset().stats.index_stats("x_idx")
    return [stats["index_type"], stats["num_indexed_rows"], stats["indices"]]


_PQ = {"kind": "IVF_PQ", "num_sub_vectors": 2, "num_bits": 4}
_HNSW = {"kind": "IVF_HNSW_SQ"}
_VECTOR = [
    ("distance_type", "cosine", {}, partial(_built, what="metric_type"), "l2", "cosine"),
    ("num_partitions", 3, {"num_partitions": None},
     lambda s, r: len(_built(s, r, what="partitions")), 1, 3),
    ("target_partition_size", 100, {"num_partitions": None},
     lambda s, r: len(_built(s, r, what="partitions")), 1, 6),
    ("num_sub_vectors", 4, {"kind": "IVF_PQ", "num_bits": 4},
     partial(_built, what="num_sub_vectors"), 2, 4),
    ("num_bits", 4, {"kind": "IVF_PQ", "num_sub_vectors": 2}, partial(_built, what="nbits"), 8, 4),
    ("m", 8, _HNSW, partial(_built, what="m"), 20, 8),
    ("ef_construction", 33, _HNSW, partial(_built, what="ef_construction"), 150, 33),
    ("max_iterations", 3, _PQ, partial(_built_with, what="max_iterations"), [None], [3]),
    ("sample_rate", 33, _PQ, partial(_built_with, what="sample_rate"), [None], [33]),
]  # fmt: skip
_TEXT = [
    ("with_position", True, {}, _phrase, Code(13, "position"), [1]),
    ("base_tokenizer", "whitespace", {}, _search("kitten"), [[4]], [[]]),
    ("language", "French", {}, _search("the"), [[]], [[1]]),
    ("max_token_length", 6, {"stem": False}, _search("running", "runs"), [[2], [1]], [[], [1]]),
    ("lower_case", False, {"ascii_folding": False}, _search("café"), [[2]], [[]]),
    ("stem", False, {}, _search("run"), [[1, 2]], [[]]),
    ("remove_stop_words", False, {}, _search("the"), [[]], [[1]]),
    ("ascii_folding", False, {}, _search("cafe"), [[2]], [[]]),
]


def _indexed(stage: Stage) -> None:
    """Create a table with an index, a branch with this index, and later versions with three."""
    stage.table()
    stage.direct.create_table_index({"id": stage.id, "column": "x", "index_type": "BTREE"})
    stage.branch()
    stage.direct.create_table_index({"id": stage.id, "column": "s", "index_type": "BTREE"})
    stage.direct.create_table_index(
        {"id": stage.id, "column": "s", "index_type": "BITMAP", "name": "z"}
    )
    stage.direct.insert_into_table({"id": stage.id}, ROWS)


def _listed(stage: Stage, request: dict[str, Any]) -> Any:
    if len(request.get("page_token", "")) < 10:
        _indexed(stage)
    return [each.index_name for each in stage.call("ListTableIndices", request).indexes]


def _token(stage: Stage, **request: Any) -> str:
    _indexed(stage)
    return str(stage.call("ListTableIndices", {"limit": 1, **request}).page_token)


def _tags_token(stage: Stage) -> str:
    _indexed(stage)
    for name in "ab":
        stage.direct.create_table_tag({"id": stage.id, "tag": name, "version": 1})
    return str(stage.call("ListTableTags", {"limit": 1}).page_token)


def _covered(stage: Stage, request: dict[str, Any]) -> Any:
    _indexed(stage)
    answer = stage.call("DescribeTableIndexStats", request)
    return [answer.index_type, answer.num_indexed_rows, answer.num_unindexed_rows]


def _dropped(stage: Stage, request: dict[str, Any]) -> Any:
    _indexed(stage)
    stage.call("DropTableIndex", request)
    return [_names(stage), _names(stage, "dev")]


def _counted(stage: Stage, request: dict[str, Any]) -> Any:
    prepare(stage)
    return stage.call("CountTableRows", request).count


def _stats(stage: Stage, request: dict[str, Any]) -> Any:
    prepare(stage)
    return stage.call("GetTableStats", request).num_rows


_PLAIN = ["BTree", 3, [{"min": "1", "max": "3", "num_pages": 1}]]
_BTREE = {"column": "x", "index_type": "BTREE"}
_ALL = ["s_idx", "x_idx", "z"]
_list = partial(Row, "ListTableIndices", look=_listed, without=_ALL)
_stat = partial(Row, "DescribeTableIndexStats", look=_covered, without=["BTree", 3, 3])
_drop = partial(Row, "DropTableIndex", look=_dropped, without=[["s_idx", "z"], ["x_idx"]])
_count = partial(Row, "CountTableRows", look=_counted, without=5)

INDEX_ROWS = [
    *(
        row
        for of in _BOTH
        for row in (
            Row(operation=of, field="id", given=_BTREE, value=elsewhere,
                look=partial(_named, of=of), without=[["x_idx"], []], having=Code(4, "none")),
            Row(operation=of, field="branch", given=_BTREE, value="dev",
                look=partial(_named, of=of), without=[["x_idx"], []], having=[[], ["x_idx"]]),
            Row(operation=of, field="name", given=_BTREE, value="mine",
                look=partial(_named, of=of), without=[["x_idx"], []], having=[["mine"], []]),
            Row(operation=of, field="column", given={"index_type": "BTREE"}, value="x", instead="s",
                look=partial(_column, of=of), without=[["s"]], having=[["x"]]),
            Row(operation=of, field="column", given={"index_type": "BTREE"}, value="y", instead="s",
                look=partial(_column, of=of), without=[["s"]], having=Code(12, "y")),
            Row(operation=of, field="index_type", given={"column": "x"}, value="bitmap",
                instead="BTREE", look=partial(_kind, of=of), without=["BTree"], having=["Bitmap"]),
            Row(operation=of, field="index_type", given={"column": "x"}, value="HASH",
                instead="BTREE", look=partial(_kind, of=of), without=["BTree"],
                having=Code(13, "HASH")),
        )
    ),
    *(
        Row(operation="CreateTableIndex", field=field, value=value, given=given, look=look,
            without=without, having=having)
        for field, value, given, look, without, having in _VECTOR
    ),
    *(
        Row(operation=of, field=field, value=value, given=given, look=partial(look, of=of),
            without=without, having=having)
        for of in _BOTH
        for field, value, given, look, without, having in _TEXT
    ),
    *(
        Row(operation="CreateTableScalarIndex", field=field, value=value, look=_scalar,
            without=_PLAIN, having=_PLAIN,
            why="an option of vector indices: one request has those of all kinds")
        for field, value, *_ in _VECTOR
    ),
    Row("CreateTableScalarIndex", "index_type", "IVF_PQ", given={"column": "x"}, instead="BTREE",
        look=partial(_kind, of="CreateTableScalarIndex"), without=["BTree"],
        having=Code(13, "IVF_PQ")),
    _list("id", elsewhere, having=Code(4, "none")),
    _list("version", 2, having=["x_idx"]),
    _list("version", 1, having=[]),
    _list("branch", "dev", having=["x_idx"]),
    _list("limit", 2, having=_ALL[:2]),
    _list("page_token", _token, having=_ALL[1:]),
    _list("page_token", _tags_token, having=Code(13, "another listing")),
    _list("page_token", _token, given={"version": 4}, without=_ALL,
          having=Code(13, "another listing")),
    _stat("id", elsewhere, given={"index_name": "x_idx"}, having=Code(4, "none")),
    _stat("version", 2, given={"index_name": "x_idx"}, having=["BTree", 3, 0]),
    _stat("branch", "dev", given={"index_name": "x_idx"}, having=["BTree", 3, 1]),
    _stat("index_name", "z", instead="x_idx", having=["Bitmap", 3, 3]),
    _stat("index_name", "x_idx", without=Code(13, "index_name"), having=["BTree", 3, 3]),
    _stat("index_name", "y", instead="x_idx", having=Code(6, "y")),
    _drop("index_name", "y", without=Code(13, "index_name"), having=Code(6, "y")),
    _drop("id", elsewhere, given={"index_name": "x_idx"}, having=Code(4, "none")),
    _drop("branch", "dev", given={"index_name": "x_idx"}, having=[_ALL, []]),
    _drop("index_name", "z", instead="x_idx", having=[["s_idx", "x_idx"], ["x_idx"]]),
    _count("id", elsewhere, having=Code(4, "none")),
    _count("version", 1, having=3),
    _count("branch", "dev", having=4),
    _count("predicate", "x > 1", having=2),
    Row("GetTableStats", "id", elsewhere, look=_stats, without=5, having=Code(4, "none")),
    Row("GetTableStats", "branch", "dev", look=_stats, without=5, having=4),
]  # fmt: skip
