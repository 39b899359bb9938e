# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `StructuredFtsQuery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, model

if TYPE_CHECKING:
    from .fts_query import FtsQuery

__all__ = ["StructuredFtsQuery"]


@define(kw_only=True)
class StructuredFtsQuery(Model):
    """Full-text search specified as a tree of queries."""

    query: FtsQuery
    """Root of the tree."""


StructuredFtsQuery._wire = (Wire("query", "query", model("FtsQuery"), required=True),)
