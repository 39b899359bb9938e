"""The command ``lance-ns import-tables``, which imports many tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..failures import Status
from ..output import Cell, Styled, progress
from ..session import Session
from .import_files import Cores, UseSpark, lazy_spark
from .jobs import Saved, State, check_output, save

if TYPE_CHECKING:
    from ...spark import ImportRow

__all__ = ["import_tables"]


def import_tables(
    session: Session,
    mapping: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="TOML file that lists the tables and their sources."),
    ],
    cores: Cores = None,
    use_spark: UseSpark = None,
    output: Saved = None,
    state: State = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Read the sources and show the detected separators, nulls and types, but change "
            "nothing.",
        ),
    ] = False,
) -> None:
    """Import many tables from files, Spark and databases (JDBC).

    Rows and types are verified at the end. A table that fails is reported, and the other tables
    are still imported.
    """
    from ...ingest.file_import import SMALL_BYTES
    from ...maintenance.state import usual_state_file
    from ...spark import import_tables as run_import
    from ...spark.import_mapping import read_mapping
    from ...spark.table_import import import_name

    sources = read_mapping(mapping, session.delimiter)
    check_output(output)
    with (
        session.connect(makes=True) as namespace,
        progress("import") as bar,
        lazy_spark(bar, f"lance-ns import-tables {mapping.name}", cores) as start,
    ):
        path = state or usual_state_file("import", import_name(namespace, sources))
        rows = run_import(
            namespace,
            sources,
            spark=None if use_spark is False else start,
            dry_run=dry_run,
            state=path,
            cores=cores,
            small_bytes=-1 if use_spark else SMALL_BYTES,
            progress=lambda done, total, name: bar.update(done, total, name),
        )
    save(output, rows)
    problems = sum(row.problem is not None for row in rows)
    summary = {
        "tables": len(rows),
        "imported": 0 if dry_run else len(rows) - problems,
        "rows": sum(row.rows or 0 for row in rows),
        "problems": problems,
    }
    if session.output.as_json:
        session.output.listing(tables=iter(rows.to_dicts()), summary=summary)
    else:
        headers = ["Table", "Source", "Rows", "Version", "Read with", "Columns", "Result"]
        session.output.table(headers, [_import_cells(session, row, dry_run) for row in rows])
        text = ", ".join(f"{count:,} {name}" for name, count in summary.items())
        session.output.line(f"{text}; nothing was changed (--dry-run)" if dry_run else text)
    if problems:
        raise typer.Exit(Status.NOT_DONE)


def _import_cells(session: Session, row: ImportRow, dry_run: bool) -> list[Cell]:
    result: Cell = "-" if dry_run else Styled("checked" if row.checked else "kept", "green")
    if row.problem is not None:
        result = Styled(f"{row.code}: {row.problem}", "red")
    numbers = ["" if number is None else f"{number:,}" for number in (row.rows, row.version)]
    name = session.written(row.table)
    return [name, row.source, *numbers, row.read_with or "", ", ".join(row.columns), result]
