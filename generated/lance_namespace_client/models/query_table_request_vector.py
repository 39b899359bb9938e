# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""What a vector search looks for."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, array, number

__all__ = ["QueryTableRequestVector"]


@define(kw_only=True)
class QueryTableRequestVector(Model):
    """What a vector search looks for. Give exactly one of the two fields, otherwise the answer
    is code 13 (InvalidInput).
    """

    single_vector: list[float] | None = None
    """One query vector, with as many numbers as the vector column has dimensions."""
    multi_vector: list[list[float]] | None = None
    """Several query vectors of the same dimension, for a column that holds many vectors in a
    row or for several searches at once.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("single_vector", "single_vector", array(number)),
        Wire("multi_vector", "multi_vector", array(array(number))),
    )
