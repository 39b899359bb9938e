# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `RefreshMaterializedViewRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["RefreshMaterializedViewRequest"]


@define(kw_only=True)
class RefreshMaterializedViewRequest(Model):
    """Starts a job that brings a materialized view up to date with its source; the
    response does not wait for the job. What is omitted is chosen by the server,
    and servers without materialized views return Unsupported (0).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    src_version: int | None = None
    """Version number of the source table to bring the view up to; the latest if
    omitted.
    """

    max_rows_per_fragment: int | None = None
    """Maximum number of rows in one fragment of the view."""

    concurrency: int | None = None
    """Number of workers to run in one request."""

    intra_applier_concurrency: int | None = None
    """Number of threads within each worker."""

    source_task_size: int | None = None
    """Number of source rows in one unit of work."""

    cluster: str | None = None
    """Name of the compute cluster that runs the job."""

    output_limit: int | None = None
    """Maximum number of rows to write to the view; no limit if omitted."""

    manifest: str | None = None
    """Name of the environment the workers run in."""

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


RefreshMaterializedViewRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("src_version", "src_version", integer()),
    Wire("max_rows_per_fragment", "max_rows_per_fragment", integer()),
    Wire("concurrency", "concurrency", integer()),
    Wire("intra_applier_concurrency", "intra_applier_concurrency", integer()),
    Wire("source_task_size", "source_task_size", integer()),
    Wire("cluster", "cluster", string),
    Wire("output_limit", "output_limit", integer()),
    Wire("manifest", "manifest", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
