# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""A full-text search in one of two forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attrs import define

from .._model import Model, Wire, model

if TYPE_CHECKING:
    from .string_fts_query import StringFtsQuery
    from .structured_fts_query import StructuredFtsQuery

__all__ = ["QueryTableRequestFullTextQuery"]


@define(kw_only=True)
class QueryTableRequestFullTextQuery(Model):
    """A full-text search in one of two forms. Give exactly one of the two fields, otherwise
    the answer is code 13 (InvalidInput).
    """

    string_query: StringFtsQuery | None = None
    """Search for the words of a plain string."""
    structured_query: StructuredFtsQuery | None = None
    """Search by a tree of match, phrase, boost, multi-match and boolean queries."""

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("string_query", "string_query", model("StringFtsQuery")),
        Wire("structured_query", "structured_query", model("StructuredFtsQuery")),
    )
