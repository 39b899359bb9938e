# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `QueryTableRequestFullTextQuery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, model

if TYPE_CHECKING:
    from .string_fts_query import StringFtsQuery
    from .structured_fts_query import StructuredFtsQuery

__all__ = ["QueryTableRequestFullTextQuery"]


@define(kw_only=True)
class QueryTableRequestFullTextQuery(Model):
    """A full-text search in one of two forms.

    Exactly one of the two fields must be set; otherwise, the request results in
    InvalidInput (13).
    """

    string_query: StringFtsQuery | None = None
    """Search for the words of a plain string."""

    structured_query: StructuredFtsQuery | None = None
    """Search by a tree of match, phrase, boost, multi-match and boolean queries."""


QueryTableRequestFullTextQuery._wire = (
    Wire("string_query", "string_query", model("StringFtsQuery")),
    Wire("structured_query", "structured_query", model("StructuredFtsQuery")),
)
