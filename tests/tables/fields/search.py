"""Fields of the operations that read rows: scans, vector and full-text searches, plans."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import pyarrow as pa
from lance.dataset import LanceScanner

from .entries import elsewhere
from .row import ABSENT, SAME, Code, Differs, Row, Stage, nested, spying

_WIDTH = 8
_FAR = 10.0


def _vectors(points: list[float]) -> pa.Array:
    """Return a vector for each point on a line."""
    flat = [value for point in points for value in (point, *[0.0] * (_WIDTH - 1))]
    return pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float32()), _WIDTH)


# Two clusters, of 300 rows each: 0 to 3 and 10 to 13.
_POINTS = [base + i / 100 for base in (0.0, _FAR) for i in range(300)]
_CLUSTERS = pa.table({"x": range(600), "v": _vectors(_POINTS)})
_LINE = pa.table({"x": range(10), "v": _vectors([float(i) for i in range(10)])})
_TEXTS = pa.table({
    "x": [1, 2, 3, 4, 5],
    "s": ["fast cat", "fest dog", "best bird", "fist", "a cat is fast, not a bird"],
    "u": ["house", "fast", "tree", "tree", "house"],
})  # fmt: skip


def at(point: float) -> dict[str, Any]:
    return {"single_vector": [point, *[0.0] * (_WIDTH - 1)]}


def line(stage: Stage) -> None:
    """Create a table with ten unindexed vectors, and a branch with one row more."""
    stage.table(_LINE)
    stage.direct.create_table_branch({"id": stage.id, "name": "dev"})
    more = pa.table({"x": [100], "v": _vectors([0.0])})
    stage.direct.insert_into_table({"id": stage.id, "branch": "dev"}, more)


def two_versions(stage: Stage) -> None:
    line(stage)
    more = pa.table({"x": [200], "v": _vectors([0.0])})
    stage.direct.insert_into_table({"id": stage.id}, more)


def two_columns(stage: Stage) -> None:
    stage.table(_LINE.append_column("w", _vectors([9.0 - i for i in range(10)])))


def clusters(stage: Stage, kind: str = "IVF_FLAT", **more: Any) -> None:
    """Create a table whose two clusters are the two partitions of a vector index."""
    stage.table(_CLUSTERS)
    request = {"id": stage.id, "column": "v", "index_type": kind, "num_partitions": 2, **more}
    stage.direct.create_table_index(request)


def outdated(stage: Stage) -> None:
    """Create a table with an index, and a row that the index does not contain."""
    clusters(stage)
    more = pa.table({"x": [999], "v": _vectors([0.0])})
    stage.direct.insert_into_table({"id": stage.id}, more)


def texts(stage: Stage) -> None:
    stage.table(_TEXTS)
    for column in "su":
        request = {"id": stage.id, "column": column, "index_type": "FTS", "with_position": True}
        stage.direct.create_table_index({**request, "remove_stop_words": False})


Make = Callable[[Stage], None]


def _found(make: Make, stage: Stage, request: dict[str, Any]) -> Any:
    """Return the rows that a query finds: column ``x``, in order."""
    make(stage)
    rows = stage.call("QueryTable", request).read_all()
    return [row["x"] for row in rows.to_pylist()]


def _columns(make: Make, stage: Stage, request: dict[str, Any]) -> Any:
    make(stage)
    return stage.call("QueryTable", request).read_all().column_names


def _distances(make: Make, stage: Stage, request: dict[str, Any]) -> Any:
    """Return whether the distances are exact, for rows far from the center of their partition."""
    make(stage)
    rows = stage.call("QueryTable", request).read_all()
    exact = [(_POINTS[row["x"]] - 3.3) ** 2 for row in rows.to_pylist()]
    seen = rows["_distance"].to_pylist()
    return all(abs(a - b) < 1e-4 for a, b in zip(exact, seen, strict=True))


def _scores(make: Make, stage: Stage, request: dict[str, Any]) -> Any:
    make(stage)
    rows = stage.call("QueryTable", request).read_all().to_pylist()
    return {row["x"]: round(row["_score"], 2) for row in rows}


def _ranking(make: Make, stage: Stage, request: dict[str, Any]) -> Any:
    """Return the rows that a search finds, best first."""
    found = _scores(make, stage, request)
    return sorted(found, key=lambda x: (-found[x], x))


_NO_SEARCH = {"k": 3, "vector": None}
_NEAR = {"k": 3, "vector": at(0.0)}
_BETWEEN = {"k": 3, "vector": at(6.4)}
# Searched from between the clusters, the nearest partition contains rows of only one cluster.
_WIDE = {"k": 500, "vector": at(6.4)}


def _one_cluster(make: Make, stage: Stage, request: dict[str, Any]) -> Any:
    found = _found(make, stage, request)
    return "one cluster" if len({x // 300 for x in found}) == 1 else "both"


def _query(field: str, value: Any, **more: Any) -> Row:
    more.setdefault("given", _NO_SEARCH)
    more.setdefault("look", partial(_found, line))
    return Row(operation="QueryTable", field=field, value=value, **more)


QUERY_ROWS = [
    _query("id", elsewhere, without=[0, 1, 2], having=Code(4, "none")),
    _query("branch", "dev", given={"k": 0, "vector": None}, without=list(range(10)),
           having=[*range(10), 100]),
    _query("version", 1, given={"k": 0, "vector": None}, look=partial(_found, two_versions),
           without=[*range(10), 200], having=list(range(10))),
    _query("version", 9, without=[0, 1, 2], having=Code(11, "9")),
    _query("columns", {"column_names": ["x"]}, look=partial(_columns, line), without=["x", "v"],
           having=["x"]),
    _query("filter", "x > 4", without=[0, 1, 2], having=[5, 6, 7]),
    _query("k", 2, given={"vector": None}, instead=4, without=[0, 1, 2, 3], having=[0, 1]),
    _query("k", 2, given={"vector": at(0.0)}, instead=4, without=[0, 1, 2, 3], having=[0, 1]),
    _query("k", 0, given={"vector": at(0.0)}, instead=2, without=[0, 1], having=Code(13, "k is 0")),
    _query("offset", 2, without=[0, 1, 2], having=[2, 3, 4]),
    _query("offset", 2, given=_NEAR, without=[0, 1, 2], having=[2, 3, 4]),
    _query("vector", at(9.0), given={"k": 2}, instead=None, without=[0, 1], having=[9, 8]),
    _query("vector_column", "v", given=_NEAR, look=partial(_found, two_columns),
           without=Code(13, "vector_column"), having=[0, 1, 2]),
    _query("vector_column", "w", given={**_NEAR, "vector_column": "v"}, instead="v",
           look=partial(_found, two_columns), without=[0, 1, 2], having=[9, 8, 7]),
    _query("distance_type", "dot", given=_NEAR | {"vector": at(1.0)}, without=[1, 0, 2],
           having=[9, 8, 7]),
    _query("lower_bound", 4.0, given=_NEAR, without=[0, 1, 2], having=[2, 3, 4]),
    _query("upper_bound", 4.0, given=_NEAR, without=[0, 1, 2], having=[0, 1]),
    _query("prefilter", True, given={**_NEAR, "filter": "x > 1"}, without=[2], having=[2, 3, 4]),
    _query("with_row_id", True, given={**_NO_SEARCH, "columns": {"column_names": ["x"]}},
           look=partial(_columns, line), without=["x"], having=["x", "_rowid"]),
    _query("fast_search", True, given=_NEAR, look=partial(_found, outdated), without=[0, 999, 1],
           having=[0, 1, 2]),
    _query("bypass_vector_index", True, given={**_WIDE, "nprobes": 1},
           look=partial(_one_cluster, clusters), without="one cluster", having="both"),
    _query("nprobes", 1, given=_WIDE, look=partial(_one_cluster, clusters), without="both",
           having="one cluster"),
    _query("maximum_nprobes", 1, given={**_WIDE, "minimum_nprobes": 1},
           look=partial(_one_cluster, clusters), without="both", having="one cluster"),
    _query("maximum_nprobes", 1, given={**_NEAR, "minimum_nprobes": 2},
           look=partial(_found, clusters), without=[0, 1, 2], having=Code(13, "minimum_nprobes")),
    _query("minimum_nprobes", 2, given={**_WIDE, "nprobes": 1}, look=partial(_one_cluster, clusters),
           without="one cluster", having=Code(13, "minimum_nprobes")),
    _query("refine_factor", 1, given={"k": 5, "vector": at(3.3)},
           look=partial(_distances, partial(clusters, kind="IVF_PQ", num_sub_vectors=2, num_bits=4)),
           without=False, having=True),
    _query("ef", 2, given=_NEAR, look=partial(_one_cluster, partial(clusters, kind="IVF_HNSW_SQ")),
           without="one cluster", having=Code(13, "ef must be greater")),
    _query("full_text_query", {"string_query": {"query": "fast"}}, look=partial(_found, texts),
           without=[1, 2, 3], having=[2, 1, 5]),
]  # fmt: skip

_chosen = nested("QueryTable", "QueryTableRequestColumns",
                 lambda node: {**_NO_SEARCH, "columns": node})  # fmt: skip
_vector = nested("QueryTable", "QueryTableRequestVector", lambda node: {"k": 2, "vector": node})
_text = nested("QueryTable", "QueryTableRequestFullTextQuery",
               lambda node: {**_NO_SEARCH, "full_text_query": node})  # fmt: skip
_plain = nested("QueryTable", "StringFtsQuery",
                lambda node: {**_NO_SEARCH, "full_text_query": {"string_query": node}})  # fmt: skip


def _in(query: dict[str, Any]) -> dict[str, Any]:
    return {"k": 5, "vector": None, "full_text_query": {"structured_query": {"query": query}}}


_structured = nested("QueryTable", "StructuredFtsQuery", lambda node: {
    "k": 5, "vector": None, "full_text_query": {"structured_query": node}})  # fmt: skip
_any = nested("QueryTable", "FtsQuery", _in)
_match = nested("QueryTable", "MatchQuery", lambda node: _in({"match": node}))
_phrase = nested("QueryTable", "PhraseQuery", lambda node: _in({"phrase": node}))
_boost = nested("QueryTable", "BoostQuery", lambda node: _in({"boost": node}))
_multi = nested("QueryTable", "MultiMatchQuery", lambda node: _in({"multi_match": node}))
_boolean = nested("QueryTable", "BooleanQuery", lambda node: _in({"boolean": node}))
_part = nested("QueryTable", "MatchQuery", lambda node: _in(
    {"multi_match": {"match_queries": [{"terms": "fast", "column": "u"}, node]}}))  # fmt: skip

_rank = partial(_ranking, texts)
_count = partial(_scores, texts)
_TERM = {"column": "s", "terms": "fast"}
_CAT, _BIRD = ({"match": {"column": "s", "terms": word}} for word in ("cat", "bird"))
_NOTHING = {"must": [], "must_not": [], "should": []}

TEXT_ROWS = [
    _chosen("column_names", value=["x"], look=partial(_columns, line),
            without=Code(13, "specify only one of"), having=["x"]),
    _chosen("column_aliases", value={"y": "x + 1"}, look=partial(_columns, line),
            without=Code(13, "specify only one of"), having=["y"]),
    _vector("single_vector", value=at(9.0)["single_vector"], look=partial(_found, line),
            without=[0, 1], having=[9, 8]),
    _vector("multi_vector", value=[at(p)["single_vector"] for p in (0.0, 9.0)],
            look=partial(_found, line), without=[0, 1], having=[0, 1, 9, 8]),
    _text("string_query", value={"query": "dog"}, look=_rank, without=Code(13, "specify only one of"),
          having=[2]),
    _text("structured_query", value={"query": _CAT}, look=_rank, without=Code(13, "specify only one of"),
          having=[1, 5]),
    _plain("query", value="dog", instead="fist", look=_rank, without=[4], having=[2]),
    _plain("columns", given={"query": "fast"}, value=["s"], look=_rank, without=[2, 1, 5],
           having=[1, 5]),
    _structured("query", value=_CAT, instead=_BIRD, look=_rank, without=[3, 5], having=[1, 5]),
    _any("match", value={"column": "s", "terms": "dog"}, look=_rank, without=Code(13, "not 0"),
         having=[2]),
    _any("phrase", value={"column": "s", "terms": "cat is"}, look=_rank, without=Code(13, "not 0"),
         having=[5]),
    _any("boost", value={"positive": _CAT, "negative": _BIRD}, look=_rank,
         without=Code(13, "not 0"), having=[1, 5]),
    _any("multi_match", value={"match_queries": [_TERM, {**_TERM, "column": "u"}]}, look=_rank,
         without=Code(13, "not 0"), having=[2, 1, 5]),
    _any("boolean", value={**_NOTHING, "must": [_CAT, _BIRD]}, look=_rank,
         without=Code(13, "not 0"), having=[5]),
    _any("match", given={"phrase": {"column": "s", "terms": "cat is"}}, look=_rank, without=[5],
         value={"column": "s", "terms": "dog"}, having=Code(13, "not 2")),
    _match("terms", given={"column": "s"}, value="dog", instead="fist", look=_rank, without=[4],
           having=[2]),
    _match("column", given={"terms": "fast"}, value="s", look=_rank, without=[2, 1, 5],
           having=[1, 5]),
    _match("boost", given=_TERM, value=2.0, look=_count, without={1: 0.99, 5: 0.54},
           having={1: 1.98, 5: 1.09}),
    _match("fuzziness", given={"column": "s", "terms": "rast"}, value=1, look=_rank, without=[],
           having=[1, 5]),
    _match("max_expansions", given={**_TERM, "fuzziness": 2}, value=1,
           look=lambda s, request: len(_count(s, request)), without=5, having=1),
    _match("prefix_length", given={"column": "s", "terms": "rast", "fuzziness": 1}, value=1,
           look=_rank, without=[1, 5], having=[]),
    _match("operator", given={"column": "s", "terms": "fast bird"}, value="And", look=_rank,
           without=[5, 1, 3], having=[5]),
    _match("operator", given={"column": "s", "terms": "fast bird"}, value="Xor", look=_rank,
           without=[5, 1, 3], having=Code(13, "Xor")),
    _phrase("terms", given={"column": "s"}, value="cat is", instead="fast cat", look=_rank,
            without=[1], having=[5]),
    _phrase("column", given={"terms": "house"}, value="s", look=_rank, without=[1, 5], having=[]),
    _phrase("slop", given={"column": "s", "terms": "cat fast"}, value=1, look=_rank, without=[],
            having=[5]),
    _boost("positive", given={"negative": _BIRD}, value=_CAT, instead=_BIRD,
           look=lambda s, request: sorted(_count(s, request)), without=[3, 5], having=[1, 5]),
    _boost("negative", given={"positive": _CAT}, value=_BIRD, instead=_CAT,
           look=lambda s, request: _count(s, request)[1] > 0.9, without=False, having=True),
    _boost("negative_boost", given={"positive": _CAT, "negative": _BIRD}, value=0.1,
           look=lambda s, request: _count(s, request)[5] > 0.4, without=False, having=True),
    _multi("match_queries", value=[{**_TERM, "column": "u"}], instead=[_TERM], look=_rank,
           without=[1, 5], having=[2]),
    _part("boost", given=_TERM, value=5.0, look=_rank, without=[2, 1, 5], having=[1, 5, 2]),
    _part("column", given={"terms": "fast"}, value="u", look=_rank, without=[2, 1, 5], having=[2]),
    *(
        _part(name, given=_TERM, value=value, look=_rank, without=[2, 1, 5], having=Code(13, name))
        for name, value in (("fuzziness", 1), ("max_expansions", 5), ("prefix_length", 1))
    ),
    _part("operator", given=_TERM, value="And", look=_rank, without=[2, 1, 5],
          having=Code(13, "same operator")),
    _part("terms", given={"column": "s"}, value="dog", instead="fast", look=_rank,
          without=[2, 1, 5], having=Code(13, "same terms")),
    *(
        _boolean(name, given={key: [] for key in _NOTHING if key != name} | more, value=[_BIRD],
                 instead=[], look=_rank, without=without, having=having)
        for name, more, without, having in (
            ("must", {"should": [_CAT]}, [1, 5], [5, 3]),
            ("must_not", {"must": [_CAT]}, [1, 5], [1]),
            ("should", {"must": [_CAT]}, [1, 5], [5, 1]),
        )
    ),
]  # fmt: skip


# --- plans


NOT_IN_PLANS = {"ef": "no plan says how long the list of candidates is"}
"""Fields of a query that its plan does not show, and why."""


def _plan(text: str) -> str:
    """Return a plan without the parts that differ from run to run."""
    text = re.sub(r"elapsed\w*=[^,\]]+|\b\w*(time|compute)\w*=[^,\]]+|/\S+|uuid=\S+", "", text)
    return re.sub(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|metrics=\[(?!output_rows).*", "", text)


def explained(stage: Stage, request: dict[str, Any], *, make: Make) -> str:
    make(stage)
    return _plan(stage.call("ExplainTableQueryPlan", request).plan)


def analyzed(stage: Stage, request: dict[str, Any], *, make: Make) -> str:
    make(stage)
    text = stage.call("AnalyzeTableQueryPlan", request).analysis
    return re.sub(r"metrics=\[.*|filter=\[_distance.*", "", _plan(text))


def _verbose(stage: Stage, request: dict[str, Any]) -> Any:
    """Return the arguments that pylance receives; its plans for one table are the same."""
    note = partial(spying, LanceScanner, "explain_plan")
    with note(lambda args, more: [*args[1:], *more.values()]) as seen:
        explained(stage, request, make=line)
    return seen[0]


def planned(row: Row, operation: str) -> Row:
    """Convert a row for a field of a query to a row for the field of its plan."""
    look: Any = row.look
    make = look.args[0] if isinstance(look, partial) else texts

    def within(given: dict[str, Any]) -> dict[str, Any]:
        inner = dict(row.within(given))
        return {"query": inner} if operation == "ExplainTableQueryPlan" else inner

    show = explained if operation == "ExplainTableQueryPlan" else analyzed
    having = row.having if isinstance(row.having, Code) else Differs()
    if having == Code(11, "9"):  # plans do not use this code
        having = Code(4, "9")
    without = row.without if isinstance(row.without, Code) else SAME
    of_query = operation == "ExplainTableQueryPlan"
    return attrs.evolve(
        row,
        operation=operation,
        field=f"QueryTableRequest.{row.field}" if of_query else row.field,
        within=within,
        look=partial(show, make=make),
        having=having,
        without=without,
    )


PLAN_ROWS = [
    planned(row, operation)
    for operation in ("ExplainTableQueryPlan", "AnalyzeTableQueryPlan")
    for row in QUERY_ROWS
    if row.field not in NOT_IN_PLANS
    and not (operation == "ExplainTableQueryPlan" and row.field == "id")
]

_EXPLAIN = {"query": {**_NEAR, "filter": "x > 1"}}
EXPLAIN_ROWS = [
    Row(operation="ExplainTableQueryPlan", field=field, given=given, value=value, instead=instead,
        look=partial(explained, make=line), without=SAME, having=having)
    for field, given, value, instead, having in (
        ("id", _EXPLAIN, elsewhere, ABSENT, Code(4, "none")),
        ("branch", _EXPLAIN, "none", ABSENT, Code(4, "none")),
        ("query", {}, _NO_SEARCH, _NEAR, Differs()),
    )
]  # fmt: skip
EXPLAIN_ROWS += [
    Row(operation="ExplainTableQueryPlan", field="QueryTableRequest.id", given=_NEAR,
        value=["another"], within=lambda query: {"query": query}, without=SAME, having=SAME,
        look=partial(explained, make=line), why="the plan is of the request's own table"),
    Row(operation="ExplainTableQueryPlan", field="verbose", given=_EXPLAIN, value=True,
        look=_verbose, without=[False], having=[True]),
]  # fmt: skip
PLAN_ROWS += EXPLAIN_ROWS
