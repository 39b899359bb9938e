# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Choice of the columns a query returns."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, array, mapping, string

__all__ = ["QueryTableRequestColumns"]


@define(kw_only=True)
class QueryTableRequestColumns(Model):
    """Choice of the columns a query returns. Give either column_names or column_aliases."""

    column_names: list[str] | None = None
    """Names of the columns to return, in this order and under their own names."""
    column_aliases: dict[str, str] | None = None
    """Map from the name a column gets in the answer to the table column it is taken from."""

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("column_names", "column_names", array(string)),
        Wire("column_aliases", "column_aliases", mapping(string)),
    )
