# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `BoostQuery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, model, number

if TYPE_CHECKING:
    from .fts_query import FtsQuery

__all__ = ["BoostQuery"]


@define(kw_only=True)
class BoostQuery(Model):
    """Finds what one query finds, and lowers the score of rows that a second query
    finds too.
    """

    positive: FtsQuery
    """Query whose hits are returned."""

    negative: FtsQuery
    """Query whose hits are ranked lower, but not omitted."""

    negative_boost: float = 0.5
    """Weight with which the score of the negative query counts against a row; 0.5
    by default.
    """


BoostQuery._wire = (
    Wire("positive", "positive", model("FtsQuery"), required=True),
    Wire("negative", "negative", model("FtsQuery"), required=True),
    Wire("negative_boost", "negative_boost", number, default=0.5),
)
