"""The command ``lance-ns partitions``, which shows the partitions of a partitioned namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..completion import complete_id
from ..output import Cell, Output, Styled
from ..session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...partitioned.store import Partition

__all__ = ["partitions", "show_specs"]


def partitions(
    session: Session,
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            autocompletion=complete_id,
            help="The partitioned namespace; defaults to the root.",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="SQL",
            help="Show only partitions that may contain rows that match this condition.",
        ),
    ] = None,
    sizes: Annotated[
        bool,
        typer.Option("--sizes/--no-sizes", help="Open each partition to count its rows and bytes."),
    ] = True,
) -> None:
    """Show the values, rows and size of each partition."""
    identifier = session.identifier(id)
    with session.connect() as namespace:
        there = namespace.partitioned(identifier)
        specs = there.specs
        found = there.partitions(where, sizes=sizes)
    if session.output.as_json:
        session.output.document(
            {
                "kind": "partitions",
                "id": list(identifier),
                "specs": {str(number): fields for number, fields in specs.items()},
                "partitions": [_document(each) for each in found],
            }
        )
        return
    show_specs(session.output, specs)
    if found:
        headers = ["Table", "Spec", "Values", "Version", *(["Rows", "Bytes"] if sizes else [])]
        rows = [_cells(session, each, sizes=sizes) for each in found]
        session.output.table(headers, rows)
    count = f"{len(found):,} partition{'' if len(found) == 1 else 's'}"
    if sizes:
        count += f", {sum(each.rows or 0 for each in found):,} rows"
        count += f", {sum(each.bytes or 0 for each in found):,} bytes"
    session.output.line(count)


def show_specs(output: Output, specs: Mapping[int, Sequence[str]]) -> None:
    """Write the partition fields of each spec; the last spec is the current one."""
    for number, fields in specs.items():
        output.fields({f"spec {number}": ", ".join(fields) or "(none)"})


def _document(partition: Partition) -> dict[str, object]:
    return {
        "table": list(partition.table),
        "spec": partition.spec,
        "values": {key: _text(value) for key, value in partition.values.items()},
        "location": partition.location,
        "version": partition.version,
        "rows": partition.rows,
        "bytes": partition.bytes,
    }


def _cells(session: Session, partition: Partition, *, sizes: bool) -> list[Cell]:
    values = ", ".join(
        f"{key}={'NULL' if value is None else _text(value)}"
        for key, value in partition.values.items()
    )
    version = "latest" if partition.version is None else str(partition.version)
    cells: list[Cell] = [
        Styled(session.written(partition.table), "green"),
        str(partition.spec),
        values,
        version,
    ]
    return [*cells, f"{partition.rows:,}", f"{partition.bytes:,}"] if sizes else cells


def _text(value: object) -> str | None:
    if value is None:
        return None
    return value.hex() if isinstance(value, bytes) else str(value)
