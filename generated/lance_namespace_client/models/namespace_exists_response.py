# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""Answer to NamespaceExists."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from .._model import Model, Wire, mapping, string

__all__ = ["NamespaceExistsResponse"]


@define(kw_only=True)
class NamespaceExistsResponse(Model):
    """Answer to NamespaceExists. It has no fields of its own: on the wire the answer is a bare
    200 without a body, and a missing namespace is an error with code 1 (NamespaceNotFound).
    """

    context: dict[str, str] | None = None
    """Free key-value pairs about the answer; every HTTP response header comes back as
    `header.<name>`.
    """

    _wire: ClassVar[tuple[Wire, ...]] = (Wire("context", "context", mapping(string)),)
