# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableBackfillColumnsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, number, string, text

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["AlterTableBackfillColumnsRequest"]


@define(kw_only=True)
class AlterTableBackfillColumnsRequest(Model):
    """Starts a job that fills a column from its user-defined function; the
    response does not wait for the job. What is omitted is chosen by the server,
    and servers that run no functions return Unsupported (0).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if omitted. A branch that
    does not exist results in TableNotFound (4).
    """

    column: str
    """Column to fill; a column that no function fills results in InvalidInput
    (13).
    """

    where: str | None = None
    """SQL condition on the rows to fill; every row if omitted."""

    concurrency: int | None = None
    """Number of workers to run in one request."""

    intra_applier_concurrency: int | None = None
    """Number of threads within each worker."""

    min_checkpoint_size: int | None = None
    """Minimum number of rows between two checkpoints, if the server adapts the
    distance.
    """

    max_checkpoint_size: int | None = None
    """Maximum number of rows between two checkpoints, if the server adapts the
    distance.
    """

    batch_checkpoint_flush_interval_seconds: float | None = None
    """Maximum time in seconds for which finished batches are held back before a
    checkpoint is written.
    """

    read_version: int | None = None
    """Version number of the table to read the inputs from; the latest if omitted."""

    task_size: int | None = None
    """Number of rows in one unit of work."""

    num_frags: int | None = None
    """Maximum number of fragments to fill; all if omitted."""

    checkpoint_size: int | None = None
    """Number of rows between two checkpoints, from which an interrupted job
    resumes.
    """

    commit_granularity: int | None = None
    """Number of finished fragments after which a version is committed, so that
    results show before the job ends.
    """

    cluster: str | None = None
    """Name of the compute cluster that runs the job."""

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


AlterTableBackfillColumnsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("column", "column", text(min_length=1), required=True),
    Wire("where", "where", string),
    Wire("concurrency", "concurrency", integer()),
    Wire("intra_applier_concurrency", "intra_applier_concurrency", integer()),
    Wire("min_checkpoint_size", "min_checkpoint_size", integer()),
    Wire("max_checkpoint_size", "max_checkpoint_size", integer()),
    Wire(
        "batch_checkpoint_flush_interval_seconds",
        "batch_checkpoint_flush_interval_seconds",
        number,
    ),
    Wire("read_version", "read_version", integer()),
    Wire("task_size", "task_size", integer()),
    Wire("num_frags", "num_frags", integer()),
    Wire("checkpoint_size", "checkpoint_size", integer()),
    Wire("commit_granularity", "commit_granularity", integer()),
    Wire("cluster", "cluster", string),
    Wire("manifest", "manifest", string),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
