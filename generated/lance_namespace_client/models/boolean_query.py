# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `BooleanQuery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, model

if TYPE_CHECKING:
    from .fts_query import FtsQuery

__all__ = ["BooleanQuery"]


@define(kw_only=True)
class BooleanQuery(Model):
    """Combines queries; a list with nothing in it is specified as `[]`."""

    must: list[FtsQuery]
    """Queries that a row must all match; their scores are added."""

    must_not: list[FtsQuery]
    """Queries that a row must not match; they do not affect the score."""

    should: list[FtsQuery]
    """Queries that add to the score of a row; without any `must`, a row has to
    match at least one of them.
    """


BooleanQuery._wire = (
    Wire("must", "must", array(model("FtsQuery")), required=True),
    Wire("must_not", "must_not", array(model("FtsQuery")), required=True),
    Wire("should", "should", array(model("FtsQuery")), required=True),
)
