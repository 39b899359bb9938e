# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableBackfillColumnsResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, mapping, string

__all__ = ["AlterTableBackfillColumnsResponse"]


@define(kw_only=True)
class AlterTableBackfillColumnsResponse(Model):
    """Confirms that the job was accepted (status 202)."""

    job_id: str
    """Identifier of the job, with which the server's own tools follow it."""

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


AlterTableBackfillColumnsResponse._wire = (
    Wire("job_id", "job_id", string, required=True),
    Wire("context", "context", mapping(string)),
)
