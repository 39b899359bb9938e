# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListTableIndicesResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .index_content import IndexContent

__all__ = ["ListTableIndicesResponse"]


@define(kw_only=True)
class ListTableIndicesResponse(Model):
    """One page of the indexes of a table."""

    indexes: list[IndexContent]
    """The indexes, sorted by name; empty if the table has none."""

    page_token: str | None = None
    """Token of the next page; absent at the end."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


ListTableIndicesResponse._wire = (
    Wire("indexes", "indexes", array(model("IndexContent")), required=True),
    Wire("page_token", "page_token", string),
    Wire("context", "context", mapping(string)),
)
