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
    calling an operation that is not listed results in Unsupported (0).
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


ListOperationsResponse._wire = (
    Wire("operations", "operations", array(string), required=True),
    Wire("context", "context", mapping(string)),
)
