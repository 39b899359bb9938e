"""Commands that read a table: head, schema, count, query, stats, versions, diff, export."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lance_namespace_client.errors import UnsupportedError

from ..completion import complete_id
from ..failures import UsageError
from ..output import Cell, Styled, progress
from ..row_diff import Change, RowDiff, row_diff
from ..session import Session
from ..vectors import search_vector
from ..versions import AsOf, Branch, Tag, Version, chosen, dataset_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from lance_namespace_client.models import GetTableStatsResponse, TableVersion

    from ...objects.search import Search
    from ...objects.table import Table
    from ...objects.types import DistanceType

__all__ = [
    "Arrow",
    "Csv",
    "count",
    "diff",
    "export",
    "head",
    "query",
    "schema",
    "stats",
    "versions",
    "write_rows",
]

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        autocompletion=complete_id,
        help="The table: its names, joined by the delimiter.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where", "--filter", metavar="SQL", help="Read only rows that match this SQL condition."
    ),
]
Select = Annotated[
    str | None,
    typer.Option(
        "--select",
        "--columns",
        metavar="NAMES",
        help="Read only these columns, separated by commas.",
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="Write CSV to stdout.")]
Arrow = Annotated[
    Path | None, typer.Option("--arrow", metavar="FILE", help="Write an Arrow file instead.")
]

MAIN = "main"
LONGEST = 40
"""Maximum number of characters of a value on a terminal; --json and files contain full values."""


def head(
    session: Session,
    id: Id,
    rows: Annotated[
        int,
        typer.Option(
            "--rows", "--limit", "-n", metavar="NUMBER", min=1, help="Maximum number of rows."
        ),
    ] = 10,
    select: Select = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
    as_of: AsOf = None,
    as_csv: Csv = False,
) -> None:
    """Show the first rows of a table."""
    with session.connect() as namespace:
        table = chosen(session, namespace, id, version=version, tag=tag, branch=branch, as_of=as_of)
        with _selected(table.search().limit(rows), select).to_batches() as reader:
            write_rows(session, reader, as_csv, None)


def schema(
    session: Session,
    id: Id,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
    as_of: AsOf = None,
) -> None:
    """Show the columns of a table."""
    from ...tables.schema import column_types

    with session.connect() as namespace:
        found = chosen(
            session, namespace, id, version=version, tag=tag, branch=branch, as_of=as_of
        ).schema
    types = column_types(found)
    fields = [(field.name, types[field.name], field.nullable) for field in found]
    if session.output.as_json:
        columns = [{"name": n, "type": t, "nullable": yes} for n, t, yes in fields]
        session.output.document({"id": list(session.identifier(id)), "columns": columns})
        return
    session.output.table(
        ("Column", "Type", "Nullable"),
        [(name, Styled(kind, "cyan"), "yes" if yes else "no") for name, kind, yes in fields],
    )


def count(
    session: Session,
    id: Id,
    where: Where = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
    as_of: AsOf = None,
) -> None:
    """Count the rows of a table."""
    with session.connect() as namespace:
        found = chosen(
            session, namespace, id, version=version, tag=tag, branch=branch, as_of=as_of
        ).count_rows(where)
    if session.output.as_json:
        session.output.document({"id": list(session.identifier(id)), "count": found})
    else:
        session.output.line(str(found))


def query(
    session: Session,
    id: Id,
    where: Where = None,
    select: Select = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", metavar="NUMBER", min=1, help="Maximum number of rows; defaults to 10."
        ),
    ] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="NUMBER", min=0, help="Skip this many rows.")
    ] = None,
    vector: Annotated[
        str | None,
        typer.Option(
            "--vector",
            metavar="VECTOR",
            help="Find the vectors nearest to this one: numbers such as [0.1, 0.2], a .json or "
            ".npy file, or id:SQL for the vector in the row that matches a condition, such as "
            "id:'name = 42'.",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text", metavar="WORDS", help="Find these words; with --vector, run a hybrid search."
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="The column to search.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="NAME", help="l2, cosine, dot or hamming.")
    ] = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
    as_of: AsOf = None,
    as_csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """Read or search the rows of a table."""
    if (column or metric) and vector is None and text is None:
        raise UsageError("--column and --metric apply only to a search: pass --vector or --text")
    with session.connect() as namespace:
        table = chosen(session, namespace, id, version=version, tag=tag, branch=branch, as_of=as_of)
        near = None if vector is None else search_vector(table, vector, column)
        if near is None:
            search = table.search(text, fts_columns=column)
        else:
            search = table.search(near, column)
            search = search if text is None else search.text(text)
        if where is not None:
            search = search.where(where)
        if metric is not None:
            search = search.distance_type(cast("DistanceType", metric))
        if offset is not None:
            search = search.offset(offset)
        with _selected(search.limit(limit or 10), select).to_batches() as reader:
            write_rows(session, reader, as_csv, arrow)


def stats(
    session: Session,
    id: Id,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
    as_of: AsOf = None,
) -> None:
    """Show the size of a table: rows, bytes, fragments, indices."""
    is_latest = version is None and tag is None and as_of is None
    with session.connect() as namespace:
        table = chosen(session, namespace, id, version=version, tag=tag, branch=branch, as_of=as_of)
        found = table.stats() if is_latest else _stats_of_version(table)
    if session.output.as_json:
        session.output.document(found.to_dict())
        return
    fragments = found.fragment_stats
    session.output.fields(
        {
            "rows": f"{found.num_rows:,}",
            "bytes": f"{found.total_bytes:,}",
            "indices": str(found.num_indices),
            "fragments": f"{fragments.num_fragments:,}",
            "small fragments": f"{fragments.num_small_fragments:,}",
        }
    )


def versions(
    session: Session,
    id: Id,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            metavar="NUMBER",
            min=1,
            help="Maximum number of versions, newest first.",
        ),
    ] = None,
    branch: Branch = None,
) -> None:
    """Show the versions of a table, newest first."""
    identifier = session.identifier(id)
    with session.connect() as namespace:
        request: dict[str, Any] = {"id": list(identifier), "descending": True, "limit": limit}
        page = namespace.list_table_versions({**request, "branch": branch})
        found = list(page.versions)
        while page.page_token and (limit is None or len(found) < limit):
            request["page_token"] = page.page_token
            page = namespace.list_table_versions({**request, "branch": branch})
            found += page.versions
        rows = _described(namespace.table(list(identifier), branch=branch), branch, found[:limit])
    if session.output.as_json:
        session.output.document({"id": list(identifier), "versions": rows})
        return
    session.output.table(
        ("Version", "Committed", "Operation", "Rows", "Added", "Removed", "Tags"),
        [
            (
                str(row["version"]),
                row["committed"] or "",
                row["operation"] or "",
                *(_number(row[key]) for key in ("rows", "rows_added", "rows_removed")),
                ", ".join(row["tags"] or ()),
            )
            for row in rows
        ],
    )


def _described(
    table: Table, branch: str | None, versions: list[TableVersion]
) -> list[dict[str, Any]]:
    """Return the protocol's fields of versions, and those of their manifests and transactions.

    A server returns only the former; the others are then null.
    """
    from ...tables.history import summaries

    dataset = dataset_of(table) if versions else None
    found = {} if dataset is None else summaries(dataset, [each.version for each in versions])
    tags = _tags(table, branch)
    rows = []
    for each in versions:
        summary = found.get(each.version)
        rows.append(
            {
                **each.to_dict(),
                "committed": _moment(each.timestamp_millis)
                if summary is None
                else summary.committed.isoformat(" "),
                "operation": summary and summary.operation,
                "rows": summary and summary.rows,
                "rows_added": summary and summary.added,
                "rows_removed": summary and summary.removed,
                "tags": None if tags is None else tags.get(each.version, []),
            }
        )
    return rows


def _tags(table: Table, branch: str | None) -> dict[int, list[str]] | None:
    """Return the tags on a branch by version, or None if the catalog does not list tags."""
    found: dict[int, list[str]] = {}
    try:
        listed = table.tags.list()
    except UnsupportedError:
        return None
    for name, tag in sorted(listed.items()):
        if (tag.branch or MAIN) == (branch or MAIN):
            found.setdefault(tag.version, []).append(name)
    return found


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _stats_of_version(table: Table) -> GetTableStatsResponse:
    """Return the statistics of a version, which the protocol has only for the latest."""
    from ...tables.stats import table_stats

    dataset = dataset_of(table)
    if dataset is None:
        raise UnsupportedError(
            f"stats {table}: a server reports only the latest version; omit --version, --tag and "
            "--as-of, or use lance-ns describe for the rows and fragments of a version"
        )
    return table_stats(dataset)


def diff(
    session: Session,
    id: Id,
    old: Annotated[
        str | None,
        typer.Argument(metavar="[OLD]", help="Version number or tag; required without --as-of."),
    ] = None,
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="[NEW]", help="Another version number or tag; defaults to the latest."
        ),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", help="Also show the removed, added and changed rows.")
    ] = False,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="NAMES",
            help="With --rows: match rows by these columns, separated by commas; defaults to the "
            "stable row ids, or to all values if the table has none.",
        ),
    ] = None,
    select: Select = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            metavar="NUMBER",
            min=0,
            help="With --rows: maximum number of rows of each kind; defaults to 10.",
        ),
    ] = None,
    branch: Branch = None,
    as_of: AsOf = None,
) -> None:
    """Compare two versions of a table: columns and rows.

    --rows also compares the rows themselves. --as-of selects the old version, instead of OLD.
    """
    if (old is None) == (as_of is None):
        raise UsageError("diff: pass either the OLD version or --as-of")
    if not rows and not (key is None and select is None and limit is None):
        raise UsageError("--key, --select and --limit apply only to --rows")
    with session.connect() as namespace:
        before = chosen(session, namespace, id, branch=branch, as_of=as_of)
        after = chosen(session, namespace, id, branch=branch)
        if old is not None:
            before.checkout(_version(old))
        # Both comparisons use the same version, even if another writer commits concurrently.
        after.checkout(after.version if new is None else _version(new))
        was, now = (dict(_types(each)) for each in (before, after))
        counts = before.count_rows(), after.count_rows()
        changed = None
        if rows:
            most = 10 if limit is None else limit
            names = _names(select) if select is not None else None
            changed = row_diff(before, after, key=_names(key or ""), select=names, limit=most)
    changes: list[dict[str, Any]] = [
        {"column": name, "old": was.get(name), "new": now.get(name)}
        for name in dict.fromkeys([*was, *now])
        if was.get(name) != now.get(name)
    ]
    if session.output.as_json:
        document = {"rows": {"old": counts[0], "new": counts[1]}, "columns": changes}
        document |= {} if changed is None else {"changes": _document(changed)}
        session.output.document(document)
        return
    session.output.line(f"rows  {counts[0]:,} -> {counts[1]:,} ({counts[1] - counts[0]:+,})")
    for each in changes:
        if each["old"] is None:
            session.output.line(Styled("+ ", "green"), each["column"], "  ", each["new"])
        elif each["new"] is None:
            session.output.line(Styled("- ", "red"), each["column"], "  ", each["old"])
        else:
            session.output.line("~ ", each["column"], f"  {each['old']} -> {each['new']}")
    if not changes:
        session.output.line("the columns are the same")
    if changed is not None:
        _write_changes(session, changed)


def _document(found: RowDiff) -> dict[str, Any]:
    return {
        "matched_by": found.by,
        **found.counts,
        "rows": [
            {"change": each.kind, "old": _json(each.old), "new": _json(each.new)}
            for each in found.changes
        ],
    }


def _write_changes(session: Session, found: RowDiff) -> None:
    output = session.output
    counts = ", ".join(f"{number:,} {kind}" for kind, number in found.counts.items())
    output.line(f"rows matched by {found.by}: {counts}")
    if not found.changes:
        return
    marks: dict[str, Cell] = {
        "removed": Styled("-", "red"),
        "added": Styled("+", "green"),
        "changed": "~",
    }
    names = list(found.changes[0].new or found.changes[0].old or ())
    output.table(
        ("", *names),
        [
            (marks[each.kind], *[_change_cell(each, name) for name in names])
            for each in found.changes
        ],
        nowrap=1 + len(names),
    )
    if hidden := sum(found.counts.values()) - len(found.changes):
        output.line(Styled(f"{hidden:,} more; --limit sets how many are shown", "dim"))


def _change_cell(change: Change, name: str) -> Cell:
    old, new = (None if row is None else _cell(row[name]) for row in (change.old, change.new))
    if old is None or new is None or old == new:
        found = old if new is None else new
        assert found is not None
        return found
    before, after = (each.text if isinstance(each, Styled) else each for each in (old, new))
    return f"{before} -> {after}"


class FileFormat(StrEnum):
    """Formats for a file of rows."""

    PARQUET = "parquet"
    CSV = "csv"
    ARROW = "arrow"


def export(
    session: Session,
    id: Id,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Output file: .parquet, .csv or .arrow.")
    ],
    where: Where = None,
    select: Select = None,
    format: Annotated[
        FileFormat | None,
        typer.Option("--format", help="Format of the file, if its name has no known extension."),
    ] = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
    as_of: AsOf = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file.")
    ] = False,
) -> None:
    """Write the rows of a table to a file."""
    path = _local_file(file)
    kind = format or _file_format(path)
    if path.exists() and not overwrite:
        raise UsageError(f"{file} already exists: pass --overwrite, or use another name")
    with session.connect() as namespace:
        table = chosen(session, namespace, id, version=version, tag=tag, branch=branch, as_of=as_of)
        total = table.count_rows(where)
        search = _selected(table.search() if where is None else table.search().where(where), select)
        written = 0
        with search.to_batches() as reader, progress(f"export {session.written(table.id)}") as bar:
            for written in _write_file(reader, path, kind):
                bar.update(written, total, f"{written:,} rows")
    if session.output.as_json:
        session.output.document({"file": str(file), "rows": written})
    else:
        session.output.line(f"{written:,} rows written to {file}")


# --- shared helpers


def _local_file(address: str) -> Path:
    """Return the local file that an address refers to."""
    from ...core.location import absolute, is_uri

    path = absolute(address)
    if is_uri(path):
        raise UsageError(
            f"{path}: export writes only local files; export to a path, then copy the file"
        )
    # A plain path is kept unchanged for messages.
    return Path(path) if is_uri(address) else Path(address).expanduser()


def _selected(search: Search, columns: str | None) -> Search:
    if columns is None:
        return search
    return search.select(_names(columns))


def _names(columns: str) -> list[str]:
    return [name.strip() for name in columns.split(",") if name.strip()]


def _version(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _types(table: Table) -> Iterator[tuple[str, str]]:
    from ...tables.schema import column_types

    schema = table.schema
    for name, kind in column_types(schema).items():
        yield name, kind if schema.field(name).nullable else f"{kind} not null"


def _moment(milliseconds: int | None) -> str:
    from datetime import UTC, datetime

    if milliseconds is None:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(" ")


def write_rows(
    session: Session, reader: pa.RecordBatchReader, as_csv: bool, arrow: Path | None
) -> None:
    """Write rows to a file, or to stdout as CSV, JSON or a readable table."""
    if arrow is not None:
        written = max(_write_file(reader, arrow, FileFormat.ARROW), default=0)
        session.output.line(f"{written:,} rows written to {arrow}")
    elif as_csv:
        _write_csv(reader, sys.stdout.buffer)
    elif session.output.as_json:
        rows = (row for batch in reader for row in batch.to_pylist())
        session.output.listing(columns=list(reader.schema.names), rows=(_json(row) for row in rows))
    else:
        names = reader.schema.names
        cells = [
            tuple(_cell(column[row].as_py()) for column in batch.columns)
            for batch in reader
            for row in range(batch.num_rows)
        ]
        session.output.table(names, cells, nowrap=len(names))


def _cell(value: Any) -> Cell:
    if value is None:
        return Styled("null", "dim")
    if isinstance(value, list) and len(value) > 3:
        shown = ", ".join(_short(each) for each in value[:3])
        return f"[{shown}, … {len(value)}]"
    text = _short(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _json(value: Any) -> Any:
    """Convert a value to JSON types; values without a JSON equivalent become strings."""
    if isinstance(value, dict):
        return {str(key): _json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json(each) for each in value]
    if isinstance(value, bytes):
        import base64

        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and value - value != 0:
        return str(value)  # NaN and the infinities
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _write_csv(reader: pa.RecordBatchReader, sink: Any) -> None:
    from ...ingest.writers import open_writer

    with open_writer(sink, reader.schema, FileFormat.CSV) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _file_format(file: Path) -> FileFormat:
    endings = {".parquet": FileFormat.PARQUET, ".csv": FileFormat.CSV}
    endings |= dict.fromkeys((".arrow", ".feather", ".ipc"), FileFormat.ARROW)
    if file.suffix not in endings:
        raise UsageError(
            f"{file}: the file name has no known extension; pass --format " + ", ".join(FileFormat)
        )
    return endings[file.suffix]


def _write_file(reader: pa.RecordBatchReader, file: Path, format: FileFormat) -> Iterator[int]:
    """Write rows to a file, and yield the number of rows written; delete an incomplete file."""
    import pyarrow as pa

    from ...ingest.writers import open_writer

    partial = file.with_name(f".{file.name}.partial")
    written = 0
    try:
        with open_writer(partial, reader.schema, format) as writer:
            for batch in reader:
                writer.write_batch(batch)
                written += batch.num_rows
                yield written
        partial.replace(file)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"{file} cannot be written: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
