# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListTableTagsResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, mapping, model, string

if TYPE_CHECKING:
    from .tag_contents import TagContents

__all__ = ["ListTableTagsResponse"]


@define(kw_only=True)
class ListTableTagsResponse(Model):
    """One page of a table's tags."""

    tags: dict[str, TagContents]
    """Tags by name; empty when there are none."""

    page_token: str | None = None
    """Token of the next page; absent at the end."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


ListTableTagsResponse._wire = (
    Wire("tags", "tags", mapping(model("TagContents")), required=True),
    Wire("page_token", "page_token", string),
    Wire("context", "context", mapping(string)),
)
