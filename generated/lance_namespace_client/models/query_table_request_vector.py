# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `QueryTableRequestVector`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, number

__all__ = ["QueryTableRequestVector"]


@define(kw_only=True)
class QueryTableRequestVector(Model):
    """What a vector search looks for.

    Exactly one of the two fields must be set; otherwise, the request results in
    InvalidInput (13).
    """

    single_vector: list[float] | None = None
    """One query vector, with as many numbers as the vector column has dimensions."""

    multi_vector: list[list[float]] | None = None
    """Several query vectors of the same dimension, for a column that holds several
    vectors per row or for several searches in one request.
    """


QueryTableRequestVector._wire = (
    Wire("single_vector", "single_vector", array(number)),
    Wire("multi_vector", "multi_vector", array(array(number))),
)
