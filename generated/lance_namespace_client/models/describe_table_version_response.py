# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeTableVersionResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, mapping, model, string

if TYPE_CHECKING:
    from .table_version import TableVersion

__all__ = ["DescribeTableVersionResponse"]


@define(kw_only=True)
class DescribeTableVersionResponse(Model):
    """One version of a table."""

    version: TableVersion
    """The requested version."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DescribeTableVersionResponse._wire = (
    Wire("version", "version", model("TableVersion"), required=True),
    Wire("context", "context", mapping(string)),
)
