# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Answer to ListOperations."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, array, mapping, string

__all__ = ["ListOperationsResponse"]


@define(kw_only=True)
class ListOperationsResponse(Model):
    """Answer to ListOperations."""

    operations: list[str]
    """Operation names, such as CreateNamespace, that the implementation supports; calling one
    that is not listed gives code 0 (Unsupported).
    """
    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back as
    `header.<name>`.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (
        Wire("operations", "operations", array(string), required=True),
        Wire("context", "context", mapping(string)),
    )
