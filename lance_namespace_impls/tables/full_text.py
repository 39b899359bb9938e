"""Converts the protocol's structured full-text queries to pylance's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError

from ..core.imports import load

if TYPE_CHECKING:
    from lance_namespace_client.models import FtsQuery, MatchQuery

__all__ = ["check_terms", "full_text_query"]

# Lance processes full-text queries recursively; deep nesting would overflow the stack and crash the
# process.
MAX_QUERY_DEPTH = 32
MAX_PARTS = 1_000
MAX_TERMS_LENGTH = 10_000
# Lance builds an automaton of all strings within this edit distance. For a large distance, this
# would last minutes.
MAX_FUZZINESS = 2
# pylance accepts only these default match options in a search of several columns.
_FUZZY = {"fuzziness": 0, "max_expansions": 50, "prefix_length": 0}


def full_text_query(dataset: Any, query: FtsQuery) -> Any:
    """Build pylance's query object for a structured full-text query.

    Args:
        dataset: a ``lance.LanceDataset``; if the query names no column, the columns with a
            full-text index are searched.
        query: the root of the query.

    Raises:
        InvalidInputError: code 13, the parts of the query contradict each other, are nested too
            deeply, or exceed Lance's limits.
    """
    _check_size(query)
    return _node(dataset, query, 1)


def check_terms(terms: str) -> None:
    """Reject search terms that are too long in total (code 13)."""
    if len(terms) > MAX_TERMS_LENGTH:
        raise InvalidInputError(
            f"the terms of a full-text query have {len(terms):,} characters; the maximum is "
            f"{MAX_TERMS_LENGTH:,}"
        )


def _check_size(query: FtsQuery) -> None:
    """Reject a query with too many parts, overlong terms or a large edit distance (code 13)."""
    waiting: list[FtsQuery] = [query]
    parts = 0
    while waiting:
        node = waiting.pop()
        matches = [node.match] if node.match else []
        if node.phrase:
            check_terms(node.phrase.terms)
        if node.multi_match:
            matches += node.multi_match.match_queries
        if node.boost:
            waiting += (node.boost.positive, node.boost.negative)
        if node.boolean:
            waiting += (*node.boolean.must, *node.boolean.must_not, *node.boolean.should)
        for match in matches:
            check_terms(match.terms)
            if (match.fuzziness or 0) > MAX_FUZZINESS:
                raise InvalidInputError(
                    f"fuzziness is {match.fuzziness}; the maximum is {MAX_FUZZINESS}"
                )
        parts += max(1, len(matches))
        if parts + len(waiting) > MAX_PARTS:
            raise InvalidInputError(
                f"a full-text query has more than {MAX_PARTS:,} parts; use fewer, or several "
                f"requests"
            )


def _node(dataset: Any, query: FtsQuery, depth: int) -> Any:
    if depth > MAX_QUERY_DEPTH:
        raise InvalidInputError(
            f"a full-text query is nested deeper than {MAX_QUERY_DEPTH} levels; flatten it"
        )
    BooleanQuery = load("lance.query").BooleanQuery
    BoostQuery = load("lance.query").BoostQuery
    Occur = load("lance.query").Occur
    PhraseQuery = load("lance.query").PhraseQuery

    kinds = [n for n in ("match", "phrase", "boost", "multi_match", "boolean") if getattr(query, n)]
    if len(kinds) != 1:
        raise InvalidInputError(
            "a full-text query must have exactly one of match, phrase, boost, multi_match and "
            f"boolean, not {len(kinds)}"
        )
    node: Any = getattr(query, kinds[0])
    match kinds[0]:
        case "match":
            columns = [node.column] if node.column is not None else _searchable(dataset)
            if len(columns) == 1:
                return _match(node, columns[0])
            return _multi_match(node.terms, [(node, column) for column in columns])
        case "phrase":
            columns = [node.column] if node.column is not None else _searchable(dataset)
            phrases = [PhraseQuery(node.terms, column, slop=node.slop or 0) for column in columns]
            if len(phrases) == 1:
                return phrases[0]
            return BooleanQuery([(Occur.SHOULD, phrase) for phrase in phrases])
        case "boost":
            return BoostQuery(
                _node(dataset, node.positive, depth + 1),
                _node(dataset, node.negative, depth + 1),
                negative_boost=node.negative_boost,
            )
        case "multi_match":
            parts = node.match_queries
            if len({part.terms for part in parts}) != 1:
                raise InvalidInputError("all parts of multi_match must have the same terms")
            return _multi_match(
                parts[0].terms,
                [
                    (part, column)
                    for part in parts
                    for column in (
                        [part.column] if part.column is not None else _searchable(dataset)
                    )
                ],
            )
        case _:
            clauses = [(Occur.MUST, part) for part in node.must]
            clauses += [(Occur.MUST_NOT, part) for part in node.must_not]
            clauses += [(Occur.SHOULD, part) for part in node.should]
            return BooleanQuery(
                [(occur, _node(dataset, part, depth + 1)) for occur, part in clauses]
            )


def _match(node: MatchQuery, column: str) -> Any:
    Match = load("lance.query").MatchQuery

    more = {
        "boost": node.boost,
        "fuzziness": node.fuzziness,
        "max_expansions": node.max_expansions,
        "operator": _operator(node.operator),
        "prefix_length": node.prefix_length,
    }
    return Match(node.terms, column, **{k: v for k, v in more.items() if v is not None})


def _multi_match(terms: str, parts: Sequence[tuple[MatchQuery, str]]) -> Any:
    """Build the query that scores each row by its best match in any of the columns."""
    MultiMatchQuery = load("lance.query").MultiMatchQuery

    for part, column in parts:
        for field, usual in _FUZZY.items():
            if getattr(part, field) not in (None, usual):
                raise InvalidInputError(
                    f"{field} of column {column!r} is supported only for a match on one column; "
                    "across several columns, Lance finds only exact terms"
                )
    operators = {_operator(part.operator or "Or") for part, _ in parts}
    if len(operators) != 1:
        raise InvalidInputError("all parts of multi_match must have the same operator")
    boosts = [1.0 if part.boost is None else float(part.boost) for part, _ in parts]
    return MultiMatchQuery(
        terms, [column for _, column in parts], boosts=boosts, operator=operators.pop()
    )


def _searchable(dataset: Any) -> list[str]:
    """Return the columns that have a full-text index, ordered by name."""
    indices = [each for each in dataset.describe_indices() if each.index_type == "Inverted"]
    columns = sorted({name for index in indices for name in index.field_names})
    if not columns:
        raise InvalidInputError(
            "no column has a full-text index; create one, or specify the column"
        )
    return columns


def _operator(text: str | None) -> Any:
    FullTextOperator = load("lance.query").FullTextOperator

    if text is None:
        return None
    try:
        return FullTextOperator[text.upper()]
    except KeyError:
        raise InvalidInputError(f"operator must be And or Or, not {text!r}") from None
