# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `PhraseQuery`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, string

__all__ = ["PhraseQuery"]


@define(kw_only=True)
class PhraseQuery(Model):
    """Looks for terms standing together in the given order; the index must have
    been made with `with_position`.
    """

    column: str | None = None
    """Text column to search; left out, every column with a full-text index. A
    column the table lacks is TableColumnNotFound (12).
    """

    slop: int | None = None
    """Number of other words that may stand between the terms; 0 (default) asks for
    the exact phrase.
    """

    terms: str
    """The phrase, its words in order."""


PhraseQuery._wire = (
    Wire("column", "column", string),
    Wire("slop", "slop", integer(0)),
    Wire("terms", "terms", string, required=True),
)
