# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateMaterializedViewResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["CreateMaterializedViewResponse"]


@define(kw_only=True)
class CreateMaterializedViewResponse(Model):
    """Confirms that the view was created (status 201)."""

    version: int
    """Version number of the view after the call."""

    job_id: str | None = None
    """Identifier of the first refresh, when `with_no_data` was false; else absent."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


CreateMaterializedViewResponse._wire = (
    Wire("version", "version", integer(0), required=True),
    Wire("job_id", "job_id", string),
    Wire("context", "context", mapping(string)),
)
