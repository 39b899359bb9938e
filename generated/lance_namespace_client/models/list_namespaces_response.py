# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ListNamespacesResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, array, mapping, string

__all__ = ["ListNamespacesResponse"]


@define(kw_only=True)
class ListNamespacesResponse(Model):
    """One page of child namespaces, sorted by name."""

    namespaces: list[str]
    """The names of the children, without the levels of their parent; empty if
    there are none.
    """

    page_token: str | None = None
    """Token of the next page; absent at the end."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


ListNamespacesResponse._wire = (
    Wire("namespaces", "namespaces", array(string, unique=True), required=True),
    Wire("page_token", "page_token", string),
    Wire("context", "context", mapping(string)),
)
