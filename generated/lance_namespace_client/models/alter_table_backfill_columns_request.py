# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `AlterTableBackfillColumnsRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, integer, mapping, model, number, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["AlterTableBackfillColumnsRequest"]


@define(kw_only=True)
class AlterTableBackfillColumnsRequest(Model):
    """Starts a job that fills a column from its user-defined function; the answer
    does not wait for its end. What is left out is chosen by the server, and
    servers that run no functions answer Unsupported (0).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here is InvalidInput (13).
    """

    branch: str | None = None
    """Branch of the table to work on; the main branch if left out. One that does
    not exist is TableNotFound (4).
    """

    column: str
    """Column to fill; one that no function fills is InvalidInput (13)."""

    where: str | None = None
    """SQL condition on the rows to fill; every row if left out."""

    concurrency: int | None = None
    """Number of workers to run at once."""

    intra_applier_concurrency: int | None = None
    """Number of threads within each worker."""

    min_checkpoint_size: int | None = None
    """Smallest number of rows between two checkpoints, where the server adapts the
    distance.
    """

    max_checkpoint_size: int | None = None
    """Largest number of rows between two checkpoints, where the server adapts the
    distance.
    """

    batch_checkpoint_flush_interval_seconds: float | None = None
    """Longest time in seconds for which finished batches are held back before a
    checkpoint is written.
    """

    read_version: int | None = None
    """Version number of the table to read the inputs from; the latest if left out."""

    task_size: int | None = None
    """Number of rows in one unit of work."""

    num_frags: int | None = None
    """Largest number of fragments to fill; all if left out."""

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
    """Credentials of the caller; the `x-api-key` and `Authorization` headers win
    over it.
    """

    context: dict[str, str] | None = None
    """Free key-value pairs that travel with the call; an entry `header.<name>` of
    a request is sent as that HTTP header.
    """


AlterTableBackfillColumnsRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("branch", "branch", string),
    Wire("column", "column", string, required=True),
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
