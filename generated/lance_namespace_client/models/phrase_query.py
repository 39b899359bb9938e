# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `PhraseQuery`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, string, text

__all__ = ["PhraseQuery"]


@define(kw_only=True)
class PhraseQuery(Model):
    """Looks for consecutive terms in the specified order; the index must have been
    created with `with_position`.
    """

    column: str | None = None
    """Text column to search; if omitted, every column with a full-text index. A
    column the table lacks results in TableColumnNotFound (12).
    """

    slop: int | None = None
    """Number of other words that may occur between the terms; 0 (default) requires
    the exact phrase.
    """

    terms: str
    """The phrase, its words in order."""


PhraseQuery._wire = (
    Wire("column", "column", text(min_length=1)),
    Wire("slop", "slop", integer(0)),
    Wire("terms", "terms", string, required=True),
)
