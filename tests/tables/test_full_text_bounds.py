"""Full-text queries that took minutes or exhausted the stack in Lance are rejected first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace

MATCH = {"match": {"column": "s", "terms": "apple"}}


def boolean(*parts: Any) -> dict[str, Any]:
    return {"boolean": {"must": [], "must_not": [], "should": list(parts)}}


def nested(levels: int) -> dict[str, Any]:
    query: dict[str, Any] = MATCH
    for _ in range(levels):
        query = {"boost": {"positive": boolean(query), "negative": MATCH}}
    return query


def match(**fields: Any) -> dict[str, Any]:
    return {"match": {"column": "s", "terms": "apple", **fields}}


@pytest.fixture(scope="module")
def namespace() -> Iterator[Namespace]:
    with connect("memory") as own:
        own.create_table({"id": ["t"]}, pa.table({"s": ["apple", "pear"]}))
        own.create_table_scalar_index({"id": ["t"], "column": "s", "index_type": "FTS"})
        yield own


def search(namespace: Namespace, query: dict[str, Any]) -> int:
    request = {"id": ["t"], "k": 5, "vector": None, "full_text_query": query}
    return int(namespace.query_table(request).read_all().num_rows)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (match(fuzziness=3), "fuzziness is 3; the maximum is 2"),
        (boolean(MATCH, match(fuzziness=100, terms="a" * 9000)), "fuzziness is 100"),
        ({"multi_match": {"match_queries": [match(fuzziness=9)["match"]]}}, "fuzziness is 9"),
        (match(terms="a" * 10_001), "have 10,001 characters"),
        ({"phrase": {"column": "s", "terms": "a " * 5_001}}, "have 10,002 characters"),
        (boolean(*[MATCH] * 1000), "more than 1,000 parts"),
        (boolean(*[boolean(*[MATCH] * 40)] * 30), "more than 1,000 parts"),
        (nested(20), "nested deeper than 32 levels"),
    ],
)
def test_a_structured_query_is_bounded(
    namespace: Namespace, query: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        search(namespace, {"structured_query": {"query": query}})


def test_a_query_of_words_is_bounded(namespace: Namespace) -> None:
    with pytest.raises(InvalidInputError, match="have 10,001 characters"):
        search(namespace, {"string_query": {"query": "a" * 10_001}})


@pytest.mark.parametrize(
    "query", [match(fuzziness=2), match(terms="apple " * 1_600), boolean(*[MATCH] * 900), nested(4)]
)
def test_a_query_within_the_bounds_runs(namespace: Namespace, query: dict[str, Any]) -> None:
    assert search(namespace, {"structured_query": {"query": query}}) >= 1
