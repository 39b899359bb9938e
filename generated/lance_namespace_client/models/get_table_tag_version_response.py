# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `GetTableTagVersionResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["GetTableTagVersionResponse"]


@define(kw_only=True)
class GetTableTagVersionResponse(Model):
    """The version that a tag references."""

    version: int
    """Version number on the branch."""

    branch: str | None = None
    """Branch the version belongs to; absent for the main branch."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


GetTableTagVersionResponse._wire = (
    Wire("version", "version", integer(0), required=True),
    Wire("branch", "branch", string),
    Wire("context", "context", mapping(string)),
)
