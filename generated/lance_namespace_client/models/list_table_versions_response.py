# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListTableVersionsResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, mapping, model, string

if TYPE_CHECKING:
    from .table_version import TableVersion

__all__ = ["ListTableVersionsResponse"]


@define(kw_only=True)
class ListTableVersionsResponse(Model):
    """One page of a table's versions."""

    versions: list[TableVersion]
    """The versions, in the requested order; versions that were cleaned up are not
    among them.
    """

    page_token: str | None = None
    """Token of the next page; absent at the end."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


ListTableVersionsResponse._wire = (
    Wire("versions", "versions", array(model("TableVersion")), required=True),
    Wire("page_token", "page_token", string),
    Wire("context", "context", mapping(string)),
)
