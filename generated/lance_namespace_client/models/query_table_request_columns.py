# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `QueryTableRequestColumns`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, mapping, text

__all__ = ["QueryTableRequestColumns"]


@define(kw_only=True)
class QueryTableRequestColumns(Model):
    """Choice of the columns that a query returns.

    Exactly one of the two fields must be set; otherwise, the request results in
    InvalidInput (13).
    """

    column_names: list[str] | None = None
    """Names of the columns to return, in this order and under their own names."""

    column_aliases: dict[str, str] | None = None
    """Map from the name of a column in the response to the table column from which
    it is read.
    """


QueryTableRequestColumns._wire = (
    Wire("column_names", "column_names", array(text(min_length=1))),
    Wire("column_aliases", "column_aliases", mapping(text(min_length=1))),
)
