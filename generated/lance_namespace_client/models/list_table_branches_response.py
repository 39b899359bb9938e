# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListTableBranchesResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, mapping, model, string

if TYPE_CHECKING:
    from .branch_contents import BranchContents

__all__ = ["ListTableBranchesResponse"]


@define(kw_only=True)
class ListTableBranchesResponse(Model):
    """One page of a table's branches, except the main branch."""

    branches: dict[str, BranchContents]
    """Branches by name; empty when there are none."""

    page_token: str | None = None
    """Token of the next page; absent at the end."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


ListTableBranchesResponse._wire = (
    Wire("branches", "branches", mapping(model("BranchContents")), required=True),
    Wire("page_token", "page_token", string),
    Wire("context", "context", mapping(string)),
)
