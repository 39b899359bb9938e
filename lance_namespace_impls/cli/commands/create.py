"""Commands that change a catalog: create, declare and drop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lance_namespace_client.errors import InvalidInputError, UnsupportedError

from ..completion import complete_id
from ..failures import Status, UsageError
from ..output import progress
from ..rows import Format, RowFile, row_file
from ..session import Session, key_values

if TYPE_CHECKING:
    from ...catalog.namespace import Namespace
    from ...core.identifiers import Identifier

__all__ = ["create", "declare", "drop"]

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", autocompletion=complete_id, help="ID: the names, joined by the delimiter."
    ),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A property to store; repeatable.",
    ),
]


def create(
    session: Session,
    id: Id,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            allow_dash=True,
            help="Create a table with the rows in this Arrow, Parquet, CSV or JSON Lines file; - "
            "is standard input.",
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option("--format", help="Format of the file, if its name has no known extension."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="If the object exists: Create fails, ExistOk keeps it, Overwrite replaces "
            "it. [default: Create]",
        ),
    ] = None,
    properties: Properties = None,
) -> None:
    """Create a namespace or, with --data, a table."""
    from ...core.modes import CreateMode, parse_mode

    identifier = session.identifier(id)
    chosen = parse_mode(mode, CreateMode.CREATE)
    stored = key_values(properties, "--set") or None
    request = {"id": list(identifier), "mode": chosen.value, "properties": stored}
    done = "is there" if chosen is CreateMode.EXIST_OK else "created"
    if data is not None:
        with row_file(data, format) as rows:
            _create_table(session, identifier, request, done, rows)
    elif format is not None:
        raise UsageError("--format applies only to --data: pass --data FILE")
    else:
        _create_namespace(session, identifier, request, done)


def _create_namespace(
    session: Session, identifier: Identifier, request: dict[str, Any], done: str
) -> None:
    with session.connect(makes=True) as namespace:
        try:
            made = namespace.create_namespace(request)
        except (UnsupportedError, InvalidInputError) as error:
            error.text += "; for a table pass --data FILE, or use lance-ns declare"
            raise
    if session.output.as_json:
        session.output.document(
            {"kind": "namespace", "id": list(identifier), "properties": made.properties or {}}
        )
    else:
        session.output.line(f"namespace {session.written(identifier)} {done}")


def _create_table(
    session: Session, identifier: Identifier, request: dict[str, Any], done: str, rows: RowFile
) -> None:
    name = session.written(identifier)
    with session.connect(makes=True) as namespace, progress(f"create {name}") as bar:
        rows.on_rows = lambda read: bar.update(read, rows.total, f"{read:,} rows")
        try:
            made = namespace.create_table(request, rows.reader())
        except Exception:
            if rows.failure is not None:
                raise rows.failure from rows.failure.__cause__
            raise
    if session.output.as_json:
        session.output.document(
            {
                "kind": "table",
                "id": list(identifier),
                "location": made.location,
                "version": made.version,
                "rows_read": rows.rows,
                "properties": made.properties or {},
            }
        )
        return
    session.output.line(f"table {name} {done}")
    session.output.fields(
        {
            "location": made.location or "",
            "version": str(made.version),
            "rows read": f"{rows.rows:,}",
        }
    )


def declare(
    session: Session,
    id: Id,
    location: Annotated[
        str | None,
        typer.Option(
            "--location",
            metavar="URI",
            help="Location of the table's data; by default, the catalog chooses it.",
        ),
    ] = None,
    properties: Properties = None,
) -> None:
    """Add a table without data to the catalog."""
    identifier = session.identifier(id)
    stored = key_values(properties, "--set") or None
    with session.connect(makes=True) as namespace:
        made = namespace.declare_table(
            {"id": list(identifier), "location": location, "properties": stored}
        )
    if session.output.as_json:
        session.output.document(
            {
                "kind": "table",
                "id": list(identifier),
                "location": made.location,
                "properties": made.properties or {},
            }
        )
    else:
        session.output.line(f"table {session.written(identifier)} declared")
        session.output.fields({"location": made.location or ""})


def drop(
    session: Session,
    id: Id,
    namespace: Annotated[
        bool,
        typer.Option("--namespace", help="Drop the namespace with this name instead of a table."),
    ] = False,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="With --namespace: Fail reports an error if the namespace does not exist; Skip "
            "does nothing. [default: Fail]",
        ),
    ] = None,
    behavior: Annotated[
        str | None,
        typer.Option(
            "--behavior",
            metavar="BEHAVIOR",
            help="With --namespace: Restrict fails if the namespace is not empty; Cascade removes "
            "its contents from the catalog but keeps their data. [default: Restrict]",
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Do not ask for confirmation; required without a terminal."
        ),
    ] = False,
) -> None:
    """Drop a table with its data, or a namespace (--namespace)."""
    identifier = session.identifier(id)
    if not namespace and (mode is not None or behavior is not None):
        raise UsageError("--mode and --behavior apply only to namespaces: pass --namespace")
    with session.connect() as connection:
        if namespace:
            answer = _drop_namespace(session, connection, identifier, mode, behavior, yes)
        else:
            answer = _drop_table(session, connection, identifier, yes)
    if session.output.as_json:
        session.output.document(answer)
    else:
        session.output.line(f"{answer['kind']} {session.written(identifier)} dropped")


def _drop_table(
    session: Session, namespace: Namespace, identifier: Identifier, yes: bool
) -> dict[str, Any]:
    request = {"id": list(identifier)}
    if not yes:
        found = namespace.describe_table(request)
        where = f" at {found.location}" if found.location else ""
        _confirm(f"Drop table {session.written(identifier)} and delete its data{where}?")
    dropped = namespace.drop_table(request)
    return {
        "kind": "table",
        "id": list(identifier),
        "location": dropped.location,
        "properties": dropped.properties or {},
    }


def _drop_namespace(
    session: Session,
    namespace: Namespace,
    identifier: Identifier,
    mode: str | None,
    behavior: str | None,
    yes: bool,
) -> dict[str, Any]:
    from ...core.modes import DropBehavior, parse_mode

    cascade = parse_mode(behavior, DropBehavior.RESTRICT, "behavior") is DropBehavior.CASCADE
    if cascade and not yes:
        name = session.written(identifier)
        _confirm(f"Remove namespace {name} and all its contents from the catalog?")
    dropped = namespace.drop_namespace({"id": list(identifier), "mode": mode, "behavior": behavior})
    return {
        "kind": "namespace",
        "id": list(identifier),
        "properties": dropped.properties or {},
    }


def _confirm(question: str) -> None:
    """Ask for confirmation on the terminal, and exit unless the answer is yes.

    Raises:
        UsageError: there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("cannot ask for confirmation without a terminal: pass --yes")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        sys.stderr.write("Nothing was changed.\n")
        raise typer.Exit(Status.NOT_DONE)
