"""Commands that process whole catalogs: inventory, sync and maintain."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..choice import option_value
from ..completion import complete_id
from ..failures import Status, UsageError
from ..output import Cell, Styled, progress
from ..session import Session, key_values, other_session

if TYPE_CHECKING:
    from ...maintenance import IndexWish, Rows, Selection, SyncRow, TableRow, UpkeepRow

__all__ = [
    "DryRun",
    "RowsPerFragment",
    "Saved",
    "State",
    "check_output",
    "inventory",
    "maintain",
    "save",
    "sync",
]

Under = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]",
        autocompletion=complete_id,
        help="Namespace whose tables are processed; defaults to the root, which means all tables.",
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="PATTERN",
        help="Process only tables whose ID matches, such as 'sales$*' or '*_2024'; repeatable.",
    ),
]
State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="FILE",
        help="File that records progress until the job is complete; after a crash, the same "
        "command resumes. [default: a file in ~/.local/state/lance-ns]",
        show_default=False,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the planned steps without executing them.")
]
RowsPerFragment = Annotated[
    int,
    typer.Option(
        "--rows-per-fragment", metavar="NUMBER", min=1, help="Number of rows in a full fragment."
    ),
]
Saved = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Also write the rows to this file, as Parquet, CSV or Arrow, depending on its "
        "extension.",
    ),
]


def inventory(
    session: Session,
    id: Under = None,
    tables: Tables = None,
    orphans_older_than: Annotated[
        float | None,
        typer.Option(
            "--orphans-older-than",
            metavar="DAYS",
            min=0,
            help="Also count files that are older than this and that no version references; this "
            "lists all files of all tables.",
        ),
    ] = None,
    output: Saved = None,
    state: State = None,
    dry_run: DryRun = False,
) -> None:
    """Show the size, state and problems of each table."""
    from ...maintenance.inventory import inventory as run_inventory
    from ...maintenance.inventory import inventory_name
    from ...maintenance.state import usual_state_file

    selection = _selection(session, id, tables)
    check_output(output)
    with session.connect() as namespace:
        if dry_run:
            _show_selected(session, [list(table) for table in selection.find(namespace)])
            return
        path = state or usual_state_file("inventory", inventory_name(namespace, selection))
        with progress("inventory") as bar:
            rows = run_inventory(
                namespace,
                selection,
                orphans_older_than=_days(orphans_older_than),
                state=path,
                progress=lambda done, total: bar.update(done, total, f"{done:,} of {total:,}"),
            )
    save(output, rows)
    summary = _inventory_summary(rows)
    if session.output.as_json:
        session.output.listing(tables=iter(rows.to_dicts()), summary=summary)
        return
    if len(rows):
        headers = [
            "Table",
            "Rows",
            "Deleted",
            "Bytes",
            "Fragments",
            "Small",
            "Indices",
            "Unindexed",
        ]
        session.output.table(
            [*headers, "Version", "Last commit", "State"],
            [_inventory_cells(session, row) for row in rows],
        )
    session.output.line(
        ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in summary.items())
    )


def _inventory_cells(session: Session, row: TableRow) -> list[Cell]:
    numbers = [row.rows, row.deleted_rows, row.bytes, row.fragments, row.small_fragments]
    numbers += [None if row.indices is None else len(row.indices), row.unindexed_rows, row.version]
    state: Cell = Styled("ok", "green")
    if row.problem is not None:
        state = Styled(f"{row.code}: {row.problem}", "red")
    elif row.declared_only:
        state = Styled("declared", "dim")
    elif row.orphan_files:
        state = Styled(f"{row.orphan_files:,} orphans with {row.orphan_bytes:,} bytes", "yellow")
    commit = "" if row.last_commit is None else row.last_commit.strftime("%Y-%m-%d %H:%M:%S")
    shown = ["" if number is None else f"{number:,}" for number in numbers]
    return [session.written(row.table), *shown, commit, state]


def _inventory_summary(rows: Rows[TableRow]) -> dict[str, int]:
    return {
        "tables": len(rows),
        "declared_only": sum(row.declared_only for row in rows),
        "unreadable": sum(row.problem is not None for row in rows),
        "rows": sum(row.rows or 0 for row in rows),
        "bytes": sum(row.bytes or 0 for row in rows),
        "small_fragments": sum(row.small_fragments or 0 for row in rows),
    }


def sync(
    session: Session,
    id: Under = None,
    to_impl: Annotated[
        str | None,
        typer.Option("--to-impl", metavar="NAME", help="Implementation of the other catalog."),
    ] = None,
    to_property: Annotated[
        list[str] | None,
        typer.Option(
            "--to-property",
            "-P",
            metavar="KEY=VALUE",
            help="A property of the other catalog; repeatable.",
        ),
    ] = None,
    to_profile: Annotated[
        str | None,
        typer.Option("--to-profile", metavar="NAME", help="Profile of the other catalog."),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="ID",
            help="Target namespace in the other catalog; defaults to its root.",
        ),
    ] = None,
    tables: Tables = None,
    flatten: Annotated[
        str | None,
        typer.Option(
            "--flatten",
            metavar="TEXT",
            help="String for joining names if the other catalog has fewer levels.",
        ),
    ] = None,
    copy_data: Annotated[
        bool,
        typer.Option(
            "--copy-data",
            help="Copy the latest version of tables with data to the locations that the other "
            "catalog chooses.",
        ),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Deregister tables that only the other catalog has; their data is kept.",
        ),
    ] = False,
    accept_losses: Annotated[
        bool,
        typer.Option(
            "--accept-losses",
            help="Continue even if levels, upper-case letters or properties would be lost.",
        ),
    ] = False,
    output: Saved = None,
    dry_run: DryRun = False,
) -> None:
    """Synchronize the tables of this catalog to another catalog.

    The command first computes the differences and any losses. Without --copy-data, data is not
    touched. At the end, both catalogs are compared again, in both directions.
    """
    from ...maintenance import Mirror
    from ...maintenance import sync as run_sync

    other = other_session(session, to_impl, to_property, to_profile, "--to")
    mirror = Mirror(
        selection=_selection(session, id, tables),
        into=session.identifier(into),
        flatten=flatten,
        copy_data=copy_data,
        prune=prune,
    )
    check_output(output)
    with session.connect() as source, other.connect(makes=True) as target, progress("sync") as bar:
        rows = run_sync(
            source,
            target,
            mirror,
            accept_losses=accept_losses,
            dry_run=dry_run,
            progress=lambda done, total: bar.update(done, total, f"{done:,} of {total:,} steps"),
        )
    save(output, rows)
    _show_sync(session, rows, dry_run)
    if any(row.problem is not None for row in rows):
        raise typer.Exit(Status.NOT_DONE)


def _show_sync(session: Session, rows: Rows[SyncRow], dry_run: bool) -> None:
    steps = Counter(row.step for row in rows)
    summary = {
        "as_it_should_be": steps["none"],
        "only_at_target": steps["only_at_target"],
        "done": sum(row.done for row in rows),
        "to_do": sum(row.step not in ("none", "only_at_target", "refuse") for row in rows)
        if dry_run
        else 0,
        "problems": sum(row.problem is not None for row in rows),
    }
    if session.output.as_json:
        session.output.listing(steps=iter(rows.to_dicts()), summary=summary)
        return
    shown = [row for row in rows if row.step != "none" or row.problem]
    if shown:
        session.output.table(
            ["STEP", "ID", "FROM", "LOST", "RESULT"],
            [_sync_cells(session, row, dry_run) for row in shown],
            nowrap=2,
        )
    text = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in summary.items())
    session.output.line(f"{text}; nothing was changed (--dry-run)" if dry_run else text)


def _sync_cells(session: Session, row: SyncRow, dry_run: bool) -> list[Cell]:
    result: Cell = Styled("done", "green") if row.done else "-" if dry_run else "kept"
    if row.problem is not None:
        result = Styled(f"{row.code}: {row.problem}", "red")
    source = "" if row.source is None else session.written(row.source)
    lost = Styled("; ".join(row.lost), "yellow")
    return [row.step, session.written(row.id), source, lost, result]


def _index_wish(column: str, text: str) -> IndexWish:
    """Return the index to create for an option such as ``IVF_PQ,num_partitions=256``."""
    from ...maintenance import IndexWish

    kind, *more = text.split(",")
    options = {name: option_value(value) for name, value in key_values(more, "--index").items()}
    return IndexWish(column=column, type=kind, options=options)


def maintain(
    session: Session,
    id: Under = None,
    tables: Tables = None,
    compact: Annotated[
        bool,
        typer.Option("--compact/--no-compact", help="Merge small fragments."),
    ] = True,
    rows_per_fragment: RowsPerFragment = 1 << 20,
    index: Annotated[
        list[str] | None,
        typer.Option(
            "--index",
            metavar="COLUMN=TYPE[,OPTION=VALUE]",
            help="Index to create on a column if a table has the column without an index, such as "
            "id=BTREE or vector=IVF_PQ,num_partitions=256; repeatable.",
        ),
    ] = None,
    update_indices: Annotated[
        bool,
        typer.Option(
            "--update-indices/--no-update-indices",
            help="Add rows that are not yet indexed to the indices.",
        ),
    ] = True,
    cleanup_older_than: Annotated[
        float | None,
        typer.Option(
            "--cleanup-older-than",
            metavar="DAYS",
            min=0,
            help="Delete versions older than this many days, except tagged ones.",
        ),
    ] = None,
    orphans_older_than: Annotated[
        float | None,
        typer.Option(
            "--orphans-older-than",
            metavar="DAYS",
            min=0,
            help="Delete files that are older than this and that no version references. Choose an "
            "age that exceeds the duration of any write, because the files of active writers are "
            "also unreferenced.",
        ),
    ] = None,
    max_hours: Annotated[
        float | None,
        typer.Option(
            "--max-hours",
            metavar="HOURS",
            min=0,
            help="Start no further steps after this many hours.",
        ),
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option(
            "--max-bytes", metavar="BYTES", min=0, help="Maximum number of bytes to rewrite."
        ),
    ] = None,
    output: Saved = None,
    state: State = None,
    dry_run: DryRun = False,
) -> None:
    """Maintain tables: compaction, indices, cleanup.

    The exit status is 1 if a table failed; the other tables are still processed.
    """
    from ...maintenance import Upkeep
    from ...maintenance import maintain as run_maintain
    from ...maintenance.maintain import maintenance_name
    from ...maintenance.state import usual_state_file

    selection = _selection(session, id, tables)
    upkeep = Upkeep(
        compact=compact,
        rows_per_fragment=rows_per_fragment,
        indices=[
            _index_wish(column, text) for column, text in key_values(index, "--index").items()
        ],
        update_indices=update_indices,
        cleanup_older_than=_days(cleanup_older_than),
        orphans_older_than=_days(orphans_older_than),
        max_hours=max_hours,
        max_bytes=max_bytes,
    )
    check_output(output)
    with session.connect() as namespace, progress("maintain") as bar:
        path = state or usual_state_file("maintain", maintenance_name(namespace, selection))
        rows = run_maintain(
            namespace,
            selection,
            upkeep,
            state=path,
            dry_run=dry_run,
            progress=lambda done, total: bar.update(done, total, f"{done:,} of {total:,}"),
        )
    save(output, rows)
    _show_upkeep(session, rows, dry_run)
    if any(row.problem is not None for row in rows):
        raise typer.Exit(Status.NOT_DONE)


def _show_upkeep(session: Session, rows: Rows[UpkeepRow], dry_run: bool) -> None:
    summary = {
        "tables": len(rows),
        "fragments_compacted": sum(row.compacted_fragments for row in rows),
        "bytes_rewritten": sum(row.rewritten_bytes for row in rows),
        "indices_created": sum(len(row.indices_created) for row in rows),
        "indices_updated": sum(len(row.indices_updated) for row in rows),
        "bytes_freed": sum(row.freed_bytes for row in rows),
        "left": sum(row.left is not None for row in rows),
        "problems": sum(row.problem is not None for row in rows),
    }
    if session.output.as_json:
        session.output.listing(tables=iter(rows.to_dicts()), summary=summary)
        return
    shown = [_upkeep_cells(session, row) for row in rows]
    shown = [cells for cells in shown if len(cells) > 1]
    if shown:
        session.output.table(["Table", "Work", "Result"], shown)
    text = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in summary.items())
    session.output.line(f"{text}; nothing was changed (--dry-run)" if dry_run else text)


def _upkeep_cells(session: Session, row: UpkeepRow) -> list[Cell]:
    """Return the cells for a table, or only its name if there was nothing to do."""
    work = [
        f"{row.compacted_fragments:,} fragments compacted" if row.compacted_fragments else "",
        *(f"index of {column} created" for column in row.indices_created),
        *(f"index {name} updated" for name in row.indices_updated),
        f"{row.versions_deleted:,} versions deleted" if row.versions_deleted else "",
        f"{row.orphans_deleted:,} orphans deleted" if row.orphans_deleted else "",
    ]
    done = ", ".join(filter(None, work))
    result: Cell = Styled("ok", "green")
    if row.problem is not None:
        result = Styled(f"{row.code}: {row.problem}", "red")
    elif row.left is not None:
        result = Styled(f"left for the next run: {row.left}", "yellow")
    elif not done:
        return [session.written(row.table)]
    return [session.written(row.table), done, result]


def _selection(session: Session, id: str | None, patterns: list[str] | None) -> Selection:
    from ...maintenance import Selection

    return Selection(
        under=session.identifier(id), patterns=patterns or (), delimiter=session.delimiter
    )


def _days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)


def _show_selected(session: Session, tables: list[list[str]]) -> None:
    if session.output.as_json:
        session.output.document({"tables": tables})
        return
    for table in tables:
        session.output.line(session.written(tuple(table)))
    session.output.line(f"{len(tables):,} tables; nothing was changed (--dry-run)")


def check_output(path: Path | None) -> None:
    """Reject a file name with an unknown extension before any work is done."""
    if path is not None and path.suffix not in (".parquet", ".csv", ".arrow"):
        raise UsageError(f"--output: {path.name} must end in .parquet, .csv or .arrow")


def save(path: Path | None, rows: Rows[Any]) -> None:
    """Write rows to the file specified with ``--output``, in the format of its extension."""
    if path is None:
        return
    import pyarrow as pa

    table = rows.to_arrow()
    if path.suffix == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        import csv

        with path.open("w", newline="", encoding="utf-8") as file:
            text = csv.DictWriter(file, table.schema.names)
            text.writeheader()
            text.writerows(rows.to_dicts())
