# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `StringFtsQuery`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, string, text

__all__ = ["StringFtsQuery"]


@define(kw_only=True)
class StringFtsQuery(Model):
    """Full-text search specified as plain words."""

    columns: list[str] | None = None
    """Text columns to search; if omitted or empty, every column with a full-text
    index. A column the table lacks results in TableColumnNotFound (12).
    """

    query: str
    """The words to look for, cut into terms by the index's tokenizer."""


StringFtsQuery._wire = (
    Wire("columns", "columns", array(text(min_length=1))),
    Wire("query", "query", string, required=True),
)
