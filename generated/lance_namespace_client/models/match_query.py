# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `MatchQuery`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, number, string, text

__all__ = ["MatchQuery"]


@define(kw_only=True)
class MatchQuery(Model):
    """Looks for one or more terms in a column, optionally with spelling
    differences.
    """

    boost: float | None = None
    """Factor by which the scores of this query are multiplied; 1.0 if omitted."""

    column: str | None = None
    """Text column to search; if omitted, every column with a full-text index. A
    column the table lacks results in TableColumnNotFound (12).
    """

    fuzziness: int | None = None
    """Largest edit distance, in characters, at which a term still matches; 0
    (default) asks for an exact match.
    """

    max_expansions: int | None = None
    """Maximum number of indexed terms to which a fuzzy term may expand; 50 if
    omitted.
    """

    operator: str | None = None
    """Whether every term has to match (`And`) or one is enough (`Or`, the
    default).
    """

    prefix_length: int | None = None
    """Number of leading characters that must match exactly in a fuzzy match; 0 if
    omitted.
    """

    terms: str
    """The words to look for, cut into terms by the index's tokenizer."""


MatchQuery._wire = (
    Wire("boost", "boost", number),
    Wire("column", "column", text(min_length=1)),
    Wire("fuzziness", "fuzziness", integer(0)),
    Wire("max_expansions", "max_expansions", integer(0)),
    Wire("operator", "operator", string),
    Wire("prefix_length", "prefix_length", integer(0)),
    Wire("terms", "terms", string, required=True),
)
