# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `MultiMatchQuery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, model

if TYPE_CHECKING:
    from .match_query import MatchQuery

__all__ = ["MultiMatchQuery"]


@define(kw_only=True)
class MultiMatchQuery(Model):
    """Runs several match queries, usually one per column, and assigns each row its
    best score.
    """

    match_queries: list[MatchQuery]
    """The queries to run."""


MultiMatchQuery._wire = (
    Wire("match_queries", "match_queries", array(model("MatchQuery")), required=True),
)
