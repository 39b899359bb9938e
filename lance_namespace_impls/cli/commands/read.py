"""Commands that read a table: head, schema, count, query, stats, versions, diff, export."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..completion import complete_id
from ..failures import UsageError
from ..output import Cell, Styled, progress
from ..session import Session
from ..vectors import search_vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

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
Version = Annotated[
    int | None,
    typer.Option("--version", metavar="NUMBER", help="Version to read; defaults to the latest."),
]
Tag = Annotated[
    str | None, typer.Option("--tag", metavar="NAME", help="Tag of the version to read.")
]
Branch = Annotated[str | None, typer.Option("--branch", metavar="NAME", help="That branch.")]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", help="Read only rows that match this SQL condition."),
]
Select = Annotated[
    str | None,
    typer.Option("--select", metavar="NAMES", help="Read only these columns, separated by commas."),
]
Csv = Annotated[bool, typer.Option("--csv", help="Write CSV to stdout.")]
Arrow = Annotated[
    Path | None, typer.Option("--arrow", metavar="FILE", help="Write an Arrow file instead.")
]

LONGEST = 40
"""Maximum number of characters of a value on a terminal; --json and files contain full values."""


def head(
    session: Session,
    id: Id,
    rows: Annotated[
        int, typer.Option("--rows", "-n", metavar="NUMBER", min=1, help="Maximum number of rows.")
    ] = 10,
    select: Select = None,
    version: Version = None,
    tag: Tag = None,
    branch: Branch = None,
    as_csv: Csv = False,
) -> None:
    """Show the first rows of a table."""
    with session.connect() as namespace:
        table = _chosen(session, namespace, id, version, tag, branch)
        with _selected(table.search().limit(rows), select).to_batches() as reader:
            write_rows(session, reader, as_csv, None)


def schema(
    session: Session, id: Id, version: Version = None, tag: Tag = None, branch: Branch = None
) -> None:
    """Show the columns of a table."""
    from ...tables.schema import column_types

    with session.connect() as namespace:
        found = _chosen(session, namespace, id, version, tag, branch).schema
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
) -> None:
    """Count the rows of a table."""
    with session.connect() as namespace:
        found = _chosen(session, namespace, id, version, tag, branch).count_rows(where)
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
    as_csv: Csv = False,
    arrow: Arrow = None,
) -> None:
    """Read or search the rows of a table."""
    if (column or metric) and vector is None and text is None:
        raise UsageError("--column and --metric apply only to a search: pass --vector or --text")
    with session.connect() as namespace:
        table = _chosen(session, namespace, id, version, tag, branch)
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


def stats(session: Session, id: Id) -> None:
    """Show the size of a table: rows, bytes, fragments, indices."""
    with session.connect() as namespace:
        found = namespace.table(list(session.identifier(id))).stats()
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
    if session.output.as_json:
        listed = [version.to_dict() for version in found[:limit]]
        session.output.document({"id": list(identifier), "versions": listed})
        return
    session.output.table(
        ("Version", "Committed"),
        [(str(each.version), _moment(each.timestamp_millis)) for each in found[:limit]],
    )


def diff(
    session: Session,
    id: Id,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Version number or tag.")],
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="[NEW]", help="Another version number or tag; defaults to the latest."
        ),
    ] = None,
) -> None:
    """Compare two versions of a table: columns and row counts."""
    with session.connect() as namespace:
        identifier = list(session.identifier(id))
        before, after = namespace.table(identifier), namespace.table(identifier)
        before.checkout(_version(old))
        if new is not None:
            after.checkout(_version(new))
        was, now = (dict(_types(each)) for each in (before, after))
        rows = before.count_rows(), after.count_rows()
    changes: list[dict[str, Any]] = [
        {"column": name, "old": was.get(name), "new": now.get(name)}
        for name in dict.fromkeys([*was, *now])
        if was.get(name) != now.get(name)
    ]
    if session.output.as_json:
        session.output.document({"rows": {"old": rows[0], "new": rows[1]}, "columns": changes})
        return
    session.output.line(f"rows  {rows[0]:,} -> {rows[1]:,} ({rows[1] - rows[0]:+,})")
    for each in changes:
        if each["old"] is None:
            session.output.line(Styled("+ ", "green"), each["column"], "  ", each["new"])
        elif each["new"] is None:
            session.output.line(Styled("- ", "red"), each["column"], "  ", each["old"])
        else:
            session.output.line("~ ", each["column"], f"  {each['old']} -> {each['new']}")
    if not changes:
        session.output.line("the columns are the same")


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
        table = _chosen(session, namespace, id, version, tag, branch)
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


def _chosen(
    session: Session,
    namespace: Any,
    id: str,
    version: int | None,
    tag: str | None,
    branch: str | None,
) -> Table:
    if version is not None and tag is not None:
        raise UsageError("--version and --tag are mutually exclusive")
    identifier = list(session.identifier(id))
    table: Table = namespace.table(identifier, branch=branch, version=version)
    if tag is not None:
        table.checkout(tag)
    return table


def _selected(search: Search, columns: str | None) -> Search:
    if columns is None:
        return search
    return search.select([name.strip() for name in columns.split(",")])


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
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(" ", "seconds")


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
