# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `MaterializedViewUdtfEntry`."""

from __future__ import annotations

from typing import Any, Literal

from attrs import define

from ..model import (
    Model,
    Wire,
    anything,
    array,
    boolean,
    choice,
    integer,
    mapping,
    number,
    string,
    text,
)

__all__ = ["MaterializedViewUdtfEntry"]


@define(kw_only=True)
class MaterializedViewUdtfEntry(Model):
    """The function that fills a materialized view, and what it needs to run."""

    kind: Literal["udtf", "chunker"]
    """What the function does: `udtf` produces rows from a group of rows, `chunker`
    produces several rows from one. It must agree with the view's `kind`;
    otherwise, the result is InvalidInput (13).
    """

    udtf: str
    """The function itself, pickled and encoded as base64."""

    udtf_sha: str
    """SHA digest of the function, with which a damaged or changed one can be
    detected.
    """

    udtf_name: str
    """Name of the function."""

    udtf_version: str
    """Version of the function; a changed one indicates that the view is out of
    date.
    """

    input_columns: list[str] | None = None
    """Source columns passed to the function, in the order of its arguments; all of
    them if omitted.
    """

    partition_by: str | None = None
    """Source column whose equal values form the groups the function is called
    with; no grouping if omitted.
    """

    partition_by_indexed_column: str | None = None
    """Source column whose index forms the groups the function is called with; at
    most one of this and `partition_by` may be set; otherwise, the result is
    InvalidInput (13).
    """

    num_cpus: float | None = None
    """Processors for each worker, fractions allowed; chosen by the server if
    omitted.
    """

    num_gpus: float | None = None
    """Graphics processors for each worker, fractions allowed; none if omitted."""

    memory: int | None = None
    """Memory for each worker in bytes; chosen by the server if omitted."""

    error_handling: dict[str, Any] | None = None
    """What to do with rows at which the function fails, such as retrying or
    skipping them, in a format that the server defines; if omitted, a failure
    ends the job.
    """

    batch: bool | None = None
    """True if the function accepts a batch of rows per call, false if it accepts
    one row; if omitted, the server decides based on the function.
    """

    manifest: str | None = None
    """Description of the environment the function needs, such as its packages."""

    manifest_checksum: str | None = None
    """Checksum of `manifest`, with which a changed environment can be detected."""


MaterializedViewUdtfEntry._wire = (
    Wire("kind", "kind", choice("udtf", "chunker"), required=True),
    Wire("udtf", "udtf", string, required=True),
    Wire("udtf_sha", "udtf_sha", string, required=True),
    Wire("udtf_name", "udtf_name", string, required=True),
    Wire("udtf_version", "udtf_version", string, required=True),
    Wire("input_columns", "input_columns", array(text(min_length=1))),
    Wire("partition_by", "partition_by", text(min_length=1)),
    Wire(
        "partition_by_indexed_column", "partition_by_indexed_column", text(min_length=1)
    ),
    Wire("num_cpus", "num_cpus", number),
    Wire("num_gpus", "num_gpus", number),
    Wire("memory", "memory", integer()),
    Wire("error_handling", "error_handling", mapping(anything)),
    Wire("batch", "batch", boolean),
    Wire("manifest", "manifest", string),
    Wire("manifest_checksum", "manifest_checksum", string),
)
