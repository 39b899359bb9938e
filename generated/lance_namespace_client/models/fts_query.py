# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `FtsQuery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, model

if TYPE_CHECKING:
    from .boolean_query import BooleanQuery
    from .boost_query import BoostQuery
    from .match_query import MatchQuery
    from .multi_match_query import MultiMatchQuery
    from .phrase_query import PhraseQuery

__all__ = ["FtsQuery"]


@define(kw_only=True)
class FtsQuery(Model):
    """One node of a full-text query tree; exactly one of its fields must be set;
    otherwise, the request results in InvalidInput (13).
    """

    match: MatchQuery | None = None
    """Looks for terms in one column."""

    phrase: PhraseQuery | None = None
    """Looks for consecutive terms in the specified order."""

    boost: BoostQuery | None = None
    """Ranks the hits of one query lower if a second query also hits."""

    multi_match: MultiMatchQuery | None = None
    """Runs several match queries and keeps the best score of each row."""

    boolean: BooleanQuery | None = None
    """Combines queries by must, must not and should."""


FtsQuery._wire = (
    Wire("match", "match", model("MatchQuery")),
    Wire("phrase", "phrase", model("PhraseQuery")),
    Wire("boost", "boost", model("BoostQuery")),
    Wire("multi_match", "multi_match", model("MultiMatchQuery")),
    Wire("boolean", "boolean", model("BooleanQuery")),
)
