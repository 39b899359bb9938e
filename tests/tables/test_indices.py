"""Default options for new indices, and index names."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InvalidInputError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
)
from lance_namespace_client.models import CreateTableIndexRequest
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.tables import indices
from lance_namespace_impls.tables.context import REPLACE, asks

T = {"id": ["t"]}


class Building:
    """A fake dataset that records the indices that are built."""

    def __init__(self, kind: pa.DataType, rows: int = 100, names: tuple[str, ...] = ()) -> None:
        inner = pa.struct([pa.field("v", kind)])
        self.schema = pa.schema([("v", kind), ("s", pa.utf8()), ("inner", inner)])
        self.built: list[tuple[Any, ...]] = []
        self._rows, self._names = rows, names

    def count_rows(self) -> int:
        return self._rows

    def describe_indices(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in self._names]

    def create_index(self, column: str, kind: str, **more: Any) -> None:
        self.built.append(("vector", column, kind, more))

    def create_scalar_index(self, column: str, kind: str, **more: Any) -> None:
        self.built.append(("scalar", column, kind, more))

    def drop_index(self, name: str) -> None:
        self.built.append(("drop", name))


def request(**more: Any) -> CreateTableIndexRequest:
    return CreateTableIndexRequest.from_dict({**T, "column": "v", "index_type": "ivf_pq", **more})


def built(dataset: Building, **more: Any) -> dict[str, Any]:
    indices.create(dataset, request(**more))
    (found,) = dataset.built
    return dict(found[-1])


@pytest.mark.parametrize(
    ("size", "bits", "parts"),
    [
        (1536, None, 96),
        (24, None, 3),
        (10, None, 1),
        (48, 4, 6),
        (24, 4, 6),
        (32, 4, 2),
        (17, 4, 1),
        (48, 8, 3),
    ],
)
@pytest.mark.parametrize("kind", ["IVF_PQ", "IVF_HNSW_PQ"])
@pytest.mark.parametrize("is_multi", [False, True])
def test_default_number_of_sub_vectors(
    size: int, bits: int | None, parts: int, kind: str, is_multi: bool
) -> None:
    column = pa.list_(pa.float32(), size)
    dataset = Building(pa.list_(column) if is_multi else column)
    found = built(dataset, index_type=kind, **({} if bits is None else {"num_bits": bits}))
    assert found["num_sub_vectors"] == parts


@pytest.mark.parametrize("kind", ["IVF_FLAT", "IVF_SQ", "IVF_RQ", "IVF_HNSW_FLAT", "IVF_HNSW_SQ"])
def test_indices_without_product_quantization_have_no_sub_vectors(kind: str) -> None:
    assert "num_sub_vectors" not in built(Building(pa.list_(pa.float32(), 16)), index_type=kind)


@pytest.mark.parametrize(
    ("rows", "given", "partitions"),
    [
        (0, {}, 1),
        (8191, {}, 1),
        (16_384, {}, 2),
        (100_000, {}, 12),
        (100_000, {"num_partitions": 5}, 5),
        (100_000, {"target_partition_size": 50}, None),
    ],
)
def test_default_number_of_partitions(
    rows: int, given: dict[str, int], partitions: int | None
) -> None:
    found = built(Building(pa.list_(pa.float32(), 16), rows), **given)
    assert found.get("num_partitions") == partitions
    assert {key: found[key] for key in given} == given


def test_each_kind_of_index_receives_only_its_options() -> None:
    """The effect of each option is tested in test_request_fields."""
    column = pa.list_(pa.float32(), 16)
    text = {"with_position": False, "language": "French", "stem": False}
    found = built(Building(column), num_partitions=3, num_sub_vectors=5, **text)
    given = {"num_partitions": 3, "num_sub_vectors": 5, "metric": "l2"}
    assert found == {**given, "name": "v_idx", "replace": False}
    dataset = Building(column)
    for call in (indices.create, indices.create_scalar):
        call(dataset, request(column="s", index_type="fts", num_bits=4, **text))
    given = {**text, "name": "s_idx", "replace": False}
    assert dataset.built == [("scalar", "s", "FTS", given)] * 2
    plain = Building(column)
    indices.create(plain, request(column="s", index_type="btree", stem=False))
    assert plain.built == [("scalar", "s", "BTREE", {"name": "s_idx", "replace": False})]


@pytest.mark.parametrize("call", [indices.create, indices.create_scalar])
@pytest.mark.parametrize(
    ("more", "name"),
    [({}, "s_idx"), ({"name": "mine"}, "mine"), ({"column": "inner.v"}, "inner_v_idx")],
)
def test_an_index_name_must_be_unused(call: Any, more: dict[str, Any], name: str) -> None:
    asked = {"index_type": "BITMAP", "column": "s", **more}
    taken = Building(pa.int64(), names=("other", name))
    with pytest.raises(TableIndexAlreadyExistsError, match=f"'{name}' already exists; drop it"):
        call(taken, request(**asked))
    assert taken.built == []
    call(taken, request(**asked, context={REPLACE: "True"}))
    call(Building(pa.int64(), names=("other",)), request(**asked))
    assert [(found[-1]["name"], found[-1]["replace"]) for found in taken.built] == [(name, True)]


@pytest.mark.parametrize(
    ("call", "more", "kind", "said"),
    [
        (indices.create, {"index_type": "HASH"}, InvalidInputError, "'HASH' is not supported for"),
        (indices.create_scalar, {}, InvalidInputError, "for scalar indices; use one of BTREE"),
        (indices.create, {"column": "none"}, TableColumnNotFoundError, "'none' does not exist"),
        (indices.create, {"column": "s.none"}, TableColumnNotFoundError, "'s.none' does not exist"),
        (indices.create_scalar, {"index_type": "btree", "column": "inner.none"},
         TableColumnNotFoundError, "'inner.none' does not exist"),
    ],
)  # fmt: skip
def test_an_impossible_index_is_rejected(
    call: Any, more: dict[str, Any], kind: type[Exception], said: str
) -> None:
    dataset = Building(pa.list_(pa.float32(), 16))
    with pytest.raises(kind, match=said):
        call(dataset, request(**more))
    assert dataset.built == []


def test_a_missing_index_is_reported() -> None:
    dataset = Building(pa.int64(), names=("a", "b"))
    indices.drop(dataset, "b")
    for call in (indices.drop, indices.statistics):
        with pytest.raises(TableIndexNotFoundError, match="index 'c' does not exist"):
            call(dataset, "c")
    assert dataset.built == [("drop", "b")]


@pytest.mark.parametrize(
    ("context", "asked"),
    [
        (None, False),
        ({}, False),
        ({REPLACE: "true"}, True),
        ({REPLACE: "TRUE"}, True),
        ({REPLACE: "yes"}, False),
        ({"other": "true"}, False),
    ],
)
def test_the_context_can_request_replacement(context: dict[str, str] | None, asked: bool) -> None:
    assert asks(request(context=context), REPLACE) is asked


@pytest.fixture(scope="module")
def worded() -> Iterator[Namespace]:
    """A table with two text columns, only the second indexed, and a table without an index."""
    rows = pa.table({"x": [1, 2], "s": ["cat", "dog"], "u": ["dog", "bird"]})
    with connect("memory", {}) as namespace:
        for name in "tw":
            namespace.create_table({"id": [name]}, rows)
        index = {"column": "u", "index_type": "FTS", "with_position": True}
        namespace.create_table_index({**T, **index})
        yield namespace


def searched(namespace: Namespace, query: Any, table: str = "t") -> list[int]:
    text = {"structured_query": {"query": query}}
    asked = {"id": [table], "k": 5, "vector": None, "full_text_query": text}
    return sorted(namespace.query_table(asked).read_all()["x"].to_pylist())


@pytest.mark.parametrize(
    "query",
    [
        {"match": {"terms": "dog"}},
        {"phrase": {"terms": "dog"}},
        {"multi_match": {"match_queries": [{"terms": "dog"}]}},
        {"boolean": {"must": [{"match": {"terms": "dog"}}], "must_not": [], "should": []}},
    ],
    ids=lambda query: next(iter(query)),
)
def test_words_are_searched_in_the_indexed_columns(worded: Namespace, query: Any) -> None:
    assert searched(worded, query) == [1]
    with pytest.raises(InvalidInputError, match="no column has a full-text index; create one"):
        searched(worded, query, "w")


def test_a_phrase_without_a_column_is_searched_in_all_indexed_columns(
    worded: Namespace,
) -> None:
    words = {"s": ["red cat runs", "cat red", "a dog"], "u": ["a bird", "no", "the red cat"]}
    worded.create_table({"id": ["two"]}, pa.table({"x": [1, 2, 3], **words}))
    for column in words:
        index = {"column": column, "index_type": "FTS", "with_position": True}
        worded.create_table_index({"id": ["two"], **index})
    for terms, found in (("red cat", [1, 3]), ("cat runs", [1]), ("a bird", [1]), ("cat dog", [])):
        assert searched(worded, {"phrase": {"terms": terms}}, "two") == found
