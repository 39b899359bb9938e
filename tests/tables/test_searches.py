"""The arguments that a search passes to pylance."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.models import QueryTableRequest
from lance_namespace_impls.tables.query import analyze, explain, scanner

VECTOR = pa.list_(pa.float32(), 2)
ONE, TWO = [0.0, 1.0], [2.0, 3.0]
NEAR: dict[str, Any] = {"vector": {"single_vector": ONE}, "k": 3}
WORDS: dict[str, Any] = {"full_text_query": {"string_query": {"query": "a"}}, "k": 3}


class Searched:
    """A fake dataset that records the arguments of its scans."""

    def __init__(self, *indices: Any, **kinds: pa.DataType) -> None:
        self.schema = pa.schema(
            list((kinds or {"x": pa.int64(), "s": pa.utf8(), "v": VECTOR}).items())
        )
        self.asked: list[dict[str, Any]] = []
        self._indices = list(indices)

    def describe_indices(self) -> list[Any]:
        return self._indices

    def scanner(self, **asked: Any) -> Any:
        self.asked.append(asked)
        number = len(self.asked)
        return SimpleNamespace(
            explain_plan=lambda verbose: f"plan {number} {verbose}",
            analyze_plan=lambda: f"run {number}",
        )


def request(**more: Any) -> QueryTableRequest:
    return QueryTableRequest.coerce({"vector": {}, "k": 3, **more})


def asked(dataset: Searched | None = None, **more: Any) -> dict[str, Any]:
    searched = dataset or Searched()
    scanner(searched, request(**more))
    (found,) = searched.asked
    return found


def index(column: str, metric: str | None, *days: int | None) -> Any:
    segments = [
        SimpleNamespace(created_at=None if day is None else datetime(2026, 1, day, tzinfo=UTC))
        for day in days
    ]
    details = {} if metric is None else {"metric_type": metric}
    return SimpleNamespace(
        field_names=[column], details=details, segments=segments, index_type="IVF_FLAT"
    )


@pytest.mark.parametrize(
    ("more", "nearest"),
    [
        ({}, {}),
        ({"offset": 4}, {"k": 7}),
        ({"ef": 8}, {"ef": 8}),
        ({"distance_type": "Cosine"}, {"metric": "cosine"}),
        ({"bypass_vector_index": False}, {"use_index": True}),
        ({"lower_bound": 0.0}, {"distance_range": (0.0, None)}),
        ({"upper_bound": 0.0}, {"distance_range": (None, 0.0)}),
        ({"lower_bound": 1.0, "upper_bound": 2.0}, {"distance_range": (1.0, 2.0)}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_arguments_of_a_vector_search(more: dict[str, Any], nearest: dict[str, Any]) -> None:
    """The effect of the other fields is tested in test_request_fields."""
    found = asked(**{**NEAR, **more})
    assert found["nearest"] == {"column": "v", "q": ONE, "k": 3, **nearest}
    assert found["limit"] == 3
    assert found.get("offset") == more.get("offset")
    assert "full_text_query" not in found and "batch_size" not in found


def test_several_vectors_have_k_neighbors_each() -> None:
    found = asked(vector={"multi_vector": [ONE, TWO]})
    assert (found["nearest"]["q"], found["nearest"]["k"]) == ([ONE, TWO], 3)
    assert "limit" not in found


@pytest.mark.parametrize(
    ("more", "key", "value"),
    [
        ({"filter": "x > 1"}, "filter", "x > 1"),
        ({"prefilter": True}, "prefilter", True),
        ({"prefilter": False}, "prefilter", False),
        ({"fast_search": True}, "fast_search", True),
        ({"with_row_id": True}, "with_row_id", True),
        ({"offset": 2}, "offset", 2),
    ],
)
@pytest.mark.parametrize("search", [NEAR, WORDS], ids=["near", "words"])
def test_arguments_of_any_search(
    search: dict[str, Any], more: dict[str, Any], key: str, value: Any
) -> None:
    assert key not in asked(**search) or asked(**search)[key] in (None, False)
    found = asked(**search, **more)
    assert (found[key], found["io_buffer_size"]) == (value, 16 << 20)


@pytest.mark.parametrize(
    ("search", "score"), [(NEAR, "_distance"), (WORDS, "_score")], ids=["near", "words"]
)
def test_the_score_is_a_column_of_each_search(search: dict[str, Any], score: str) -> None:
    for names, columns in ((["x"], ["x", score]), ([score, "x"], [score, "x"]), ([], [score])):
        assert asked(**search, columns={"column_names": names})["columns"] == columns
    for aliases in ({"y": "x + 1"}, {score: "x"}):
        found = asked(**search, columns={"column_aliases": aliases})["columns"]
        assert found == {score: score, **aliases}
    assert "columns" not in asked(**search)


@pytest.mark.parametrize(
    ("indices", "columns"),
    [([], ["s", "l"]), ([SimpleNamespace(index_type="Inverted")], None),
     ([SimpleNamespace(index_type="BTree")], ["s", "l"])],
    ids=["no index", "of words", "another"],
)  # fmt: skip
def test_the_columns_of_a_full_text_search(indices: list[Any], columns: list[str] | None) -> None:
    kinds = {"x": pa.int64(), "s": pa.utf8(), "l": pa.large_utf8(), "b": pa.binary()}
    found = asked(Searched(*indices, **kinds), **WORDS)
    assert (found["full_text_query"].get("columns"), found["limit"]) == (columns, 3)
    named = {"string_query": {"query": "a", "columns": ["b"]}}
    found = asked(Searched(*indices, **kinds), **{**WORDS, "full_text_query": named})
    assert found["full_text_query"] == {"query": "a", "columns": ["b"]}


@pytest.mark.parametrize(
    ("indices", "metric"),
    [
        ([], None),
        ([index("v", "COSINE", 3)], "cosine"),
        ([index("w", "COSINE", 3)], None),
        ([index("v", None, 1), index("v", "DOT", 2)], "dot"),
        ([index("v", "COSINE", 3), index("v", "DOT", 2)], "dot"),
        ([index("v", "COSINE", 9, 1), index("v", "DOT", 2)], "cosine"),
        ([index("v", "COSINE", None), index("v", "DOT", 2)], "dot"),
    ],
    ids=["none", "one", "another column's", "of no metric", "two", "segments", "of no time"],
)
def test_a_search_that_bypasses_indices_uses_the_distance_type_of_the_oldest(
    indices: list[Any], metric: str | None
) -> None:
    for column in ("v", "`v`"):
        more = {**NEAR, "vector_column": column}
        assert "metric" not in asked(Searched(*indices), **more)["nearest"]
        past = asked(Searched(*indices), **more, bypass_vector_index=True)["nearest"]
        assert past.get("metric") == metric
        own = {"bypass_vector_index": True, "distance_type": "L2"}
        assert asked(Searched(*indices), **more, **own)["nearest"]["metric"] == "l2"


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64())], ids=str)
@pytest.mark.parametrize("column", [None, "v"])
def test_variable_length_lists_are_rejected(kind: pa.DataType, column: str | None) -> None:
    with pytest.raises(InvalidInputError, match=r"column 'v' is .* needs a fixed-size list"):
        asked(Searched(x=pa.int64(), v=kind), **NEAR, vector_column=column)


def test_columns_that_pylance_rejects_are_passed_to_it() -> None:
    for kind in (pa.list_(pa.int64()), pa.int64(), pa.utf8()):
        assert asked(Searched(v=kind), **NEAR, vector_column="v")["nearest"]["column"] == "v"
        assert asked(Searched(v=kind), **NEAR, vector_column="w")["nearest"]["column"] == "w"


@pytest.mark.parametrize(
    ("kinds", "count"), [({"x": pa.int64()}, 0), ({"v": VECTOR, "w": VECTOR}, 2)]
)
def test_an_ambiguous_vector_column_is_rejected(kinds: dict[str, Any], count: int) -> None:
    message = f"the table has {count} vector columns; specify vector_column$"
    with pytest.raises(InvalidInputError, match=message):
        asked(Searched(**kinds), **NEAR)


@pytest.mark.parametrize("more", [NEAR, WORDS, {**NEAR, **WORDS}], ids=["near", "words", "both"])
def test_plans_of_a_hybrid_search(more: dict[str, Any]) -> None:
    dataset = Searched()
    is_both = len(more) == 3
    plan, run = explain(dataset, request(**more), True), analyze(dataset, request(**more))
    if not is_both:
        assert (plan, run) == ("plan 1 True", "run 2")
        return
    assert plan == "vector search:\nplan 1 True\nfull-text search:\nplan 2 True"
    assert run == "vector search:\nrun 3\nfull-text search:\nrun 4"
    kinds = [("nearest" in each, "full_text_query" in each) for each in dataset.asked]
    assert kinds == [(True, False), (False, True)] * 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({**NEAR, "k": 0}, "k is 0"),
        ({**WORDS, "k": 0}, "k is 0"),
        ({"filter": "x = ?"}, r"the filter has a \?"),
        ({"columns": {"column_aliases": {"y": "x = ?"}}}, r"column 'y' has a \?"),
        ({"full_text_query": {}}, "specify only one of string_query and structured_query"),
        ({"columns": {}}, "specify only one of column_names and column_aliases"),
        ({"columns": {"column_names": None, "column_aliases": None}}, "specify only one of"),
        ({"columns": {"column_names": ["x"], "column_aliases": {"y": "x"}}}, "specify only one of"),
        ({"vector": {"single_vector": ONE, "multi_vector": [ONE]}}, "specify only one of"),
        ({"context": {"order_by": "{}x"}}, "order_by must be a JSON list"),
    ],
)
def test_an_invalid_search_is_rejected(more: dict[str, Any], said: str) -> None:
    dataset = Searched()
    with pytest.raises(InvalidInputError, match=f"^{said}"):
        scanner(dataset, request(**more))
    assert dataset.asked == []
