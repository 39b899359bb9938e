"""Writes a DataFrame as a table, in one commit of the driver."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from attrs import frozen

from lance_namespace_client.errors import ConcurrentModificationError

from ..core.modes import parse_mode
from ..distributed import write_plan
from ..distributed.failures import coded, decoded
from ..distributed.options import require_positive
from ..distributed.secrets import map_in_arrow
from ..distributed.write_plan import Mode
from .dataframe_reader import target_of
from .extra import require_pyspark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ..catalog.namespace import Namespace

__all__ = ["Written", "write_table"]


@frozen(kw_only=True)
class Written:
    """What was written.

    Attributes:
        version: version of the table that has the rows.
        rows: how many were written; 0 where the table was there and the mode is exist_ok.
    """

    version: int
    rows: int


def write_table(
    frame: DataFrame,
    namespace: Namespace,
    table: str | Sequence[str],
    mode: str = "create",
    *,
    if_version: int | None = None,
    properties: Mapping[str, str] | None = None,
    types: str | None = None,
    rows_per_file: int = write_plan.ROWS_PER_FILE,
    commit_properties: Mapping[str, str] | None = None,
) -> Written:
    """Write the rows of a DataFrame and return how many there were.

    Workers write the files; nothing of the namespace stands in Spark's plan.

    Args:
        frame: the rows.
        namespace: what has the table, or is to have it.
        table: identifier of the table; text is one name.
        mode: ``create``, ``append`` (code 4 where it is not there), ``overwrite`` (rows and columns;
            made where it is not there) or ``exist_ok`` (leaves one that is there as it is).
        if_version: the version that the table must have, in any mode; 0 is no data yet.
        properties: what a table that is made is declared with.
        types: Arrow types of columns of a new table, such as ``vector:float32[768]``.
        rows_per_file: most rows in one data file.
        commit_properties: properties of the transaction of the commit.

    Raises:
        NamespaceNotFoundError: code 1.
        TableNotFoundError: code 4, the mode is append.
        TableAlreadyExistsError: code 5, the mode is create.
        InvalidInputError: code 13, an argument cannot be understood.
        ConcurrentModificationError: code 14, the table has another version than `if_version`, or
            others changed it meanwhile so that this does not fit; it is as they left it.
        TableSchemaValidationError: code 20, the rows do not fit the table.
    """
    require_pyspark()
    from ..distributed.casts import tell_losses
    from ..distributed.columns import lance_schema

    chosen = parse_mode(mode, Mode.CREATE)
    require_positive(rows_per_file=rows_per_file)
    target = target_of(namespace, table)
    rows = lance_schema(frame.schema)
    plan = write_plan.plan_write(
        target,
        rows if types is None else lance_schema(frame.schema, types),
        chosen,
        rows_per_file=rows_per_file,
        properties=properties,
    )
    if plan is None:
        return Written(version=int(target.open(target.storage()).version), rows=0)
    try:
        if if_version is not None and plan.read_version != if_version:
            raise ConcurrentModificationError(
                f"{target.name} has version {plan.read_version}, not {if_version}: someone else "
                "changed it, so nothing was written; look at it and try again"
            )
        tell_losses(rows, plan.schema, target.name)
        with decoded():
            found = map_in_arrow(frame, _writer(plan), "fragments string").collect()
        fragments = [fragment for row in found for fragment in json.loads(row.fragments)]
        version = write_plan.commit(plan, fragments, properties=commit_properties)
    except BaseException:
        write_plan.abort(plan, [])
        raise
    return Written(version=version, rows=sum(fragment["physical_rows"] for fragment in fragments))


def _writer(
    plan: write_plan.WritePlan,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ..distributed.columns import cast_batch
        from ..tables.align import aligned

        target = plan.target
        with coded(f"writing {target.name}", target.namespace.config.secrets()):
            rows = (cast_batch(aligned(batch), plan.schema) for batch in batches)
            fragments = write_plan.write_rows(plan, rows)
            yield pa.record_batch({"fragments": [json.dumps(fragments)]})

    return write
