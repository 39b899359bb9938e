# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListOperationsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, mapping, string

__all__ = ["ListOperationsResponse"]


@define(kw_only=True)
class ListOperationsResponse(Model):
    """The operations that the server supports."""

    operations: list[str]
    """Operation names, such as CreateNamespace, that the implementation supports;
    calling one that is not listed gives Unsupported (0).
    """

    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back
    as `header.<name>`.
    """


ListOperationsResponse._wire = (
    Wire("operations", "operations", array(string), required=True),
    Wire("context", "context", mapping(string)),
)
