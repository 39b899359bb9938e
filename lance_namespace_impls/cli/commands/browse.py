"""Commands that show a catalog: ls, describe, operations and backends."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
)

from ..choice import find_modules_here
from ..completion import complete_id
from ..failures import UsageError
from ..output import Cell, Output, Styled, begun
from ..session import Session
from ..versions import AsOf, only_one, version_at
from .partitions import show_specs

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        DescribeTableResponse,
        JsonArrowField,
    )

    from ...catalog.namespace import Namespace
    from ...core.identifiers import Identifier

__all__ = ["backends", "describe", "ls", "operations"]

NAMESPACE = Styled("namespace", "blue")
TABLE = Styled("table    ", "green")
YES = Styled("yes", "green")
NO = Styled("no", "dim")
UNTOLD = Styled("?", "dim")


def ls(
    session: Session,
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", autocompletion=complete_id, help="The namespace; defaults to the root."
        ),
    ] = None,
    tables: Annotated[bool, typer.Option("--tables", "-t", help="List only tables.")] = False,
    namespaces: Annotated[
        bool, typer.Option("--namespaces", "-n", help="List only child namespaces.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="List all tables of the catalog, as IDs.")
    ] = False,
    with_data: Annotated[
        bool,
        typer.Option("--with-data", help="Omit tables that are declared without data."),
    ] = False,
) -> None:
    """List the child namespaces and the tables of a namespace."""
    identifier = session.identifier(id)
    if tables and namespaces:
        raise UsageError("--tables and --namespaces are mutually exclusive")
    if everything and (identifier or namespaces):
        raise UsageError("--all lists the tables of the whole catalog: omit ID and -n")
    with session.connect() as namespace:
        if everything:
            found = _all_tables(namespace, session.delimiter, not with_data)
            _show_names(session, identifier, None, found)
            return
        below = None if tables else begun(namespace.iter_namespaces(identifier))
        inside: Iterator[str] | None = None
        if not namespaces:
            inside = namespace.iter_tables(identifier, include_declared=not with_data)
            if not tables:
                inside = _unless_refused(session, inside)
        _show_names(session, identifier, below, inside, both=not (tables or namespaces))


def _unless_refused(session: Session, tables: Iterator[str]) -> Iterator[str] | None:
    """Return the tables, or warn and return None if the server cannot list tables at this level.

    Some servers reject this request above the level that contains tables. The namespaces are listed
    anyway.
    """
    try:
        return begun(tables)
    except (InvalidInputError, UnsupportedError) as error:
        from ...core.errors import scrub

        message = scrub(error.message, session.report.secrets)
        warnings.warn(f"tables cannot be listed here: {message}", stacklevel=1)
        return None


def _show_names(
    session: Session,
    identifier: Identifier,
    namespaces: Iterator[str] | None,
    tables: Iterator[str] | None,
    *,
    both: bool = False,
) -> None:
    output = session.output
    if output.as_json:
        output.listing(
            id=list(identifier),
            delimiter=session.delimiter,
            namespaces=namespaces,
            tables=tables,
        )
        return
    count = 0
    for kind, names in ((NAMESPACE, namespaces), (TABLE, tables)):
        for name in names or ():
            output.line(*((kind, "  ", name) if both else (name,)))
            count += 1
    if not count and output.on_terminal:
        output.line(Styled("nothing here", "dim"))


def _all_tables(namespace: Namespace, delimiter: str, include_declared: bool) -> Iterator[str]:
    from ...core.identifiers import join_identifier, split_identifier

    # A REST server joins the levels with the delimiter for which its client is configured, so split
    # the identifiers there.
    used = getattr(namespace.config, "delimiter", delimiter)
    request = {"include_declared": include_declared, "context": {"delimiter": used}}
    token: str | None = None
    while True:
        page = namespace.list_all_tables({**request, "page_token": token})
        for name in page.tables:
            yield (
                name
                if used == delimiter
                else join_identifier(split_identifier(name, used), delimiter)
            )
        if (token := page.page_token) is None:
            return


def describe(
    session: Session,
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            autocompletion=complete_id,
            help="Object to describe; defaults to the root.",
        ),
    ] = None,
    table: Annotated[bool, typer.Option("--table", help="ID is a table.")] = False,
    namespace: Annotated[bool, typer.Option("--namespace", help="ID is a namespace.")] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            "-d",
            help="Open the table and show its version, rows, fragments and schema.",
        ),
    ] = False,
    version: Annotated[
        int | None, typer.Option("--version", metavar="NUMBER", help="A version, in detail.")
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="NAME", help="The version of a tag, in detail.")
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", metavar="NAME", help="A branch, in detail.")
    ] = None,
    as_of: AsOf = None,
) -> None:
    """Show a table, or the namespace if no such table exists."""
    identifier = session.identifier(id)
    if table and namespace:
        raise UsageError("--table and --namespace are mutually exclusive")
    only_one(version, tag, as_of)
    if branch is not None and as_of is not None:
        raise UsageError(
            "describe: --branch and --as-of are mutually exclusive; use lance-ns count"
        )
    chosen: dict[str, Any] = {"version": version, "tag": tag, "branch": branch}
    chosen = {key: value for key, value in chosen.items() if value is not None}
    with session.connect() as connection:
        if as_of is not None:
            chosen["version"] = version_at(connection.table(list(identifier), branch=branch), as_of)
        if not table and _show_partitioned(session, connection, identifier):
            return
        if namespace or not identifier:
            _show_namespace(session, connection, identifier)
        elif table or details or chosen:
            _show_table(session, connection, identifier, details or bool(chosen), chosen)
        else:
            _show_either(session, connection, identifier)


def _show_partitioned(session: Session, namespace: Namespace, identifier: Identifier) -> bool:
    """Show a partitioned namespace; return False if no such namespace exists."""
    try:
        there = namespace.partitioned(identifier)
        specs, found = there.specs, there.partitions(sizes=True)
    except (NamespaceNotFoundError, InvalidInputError, UnsupportedError):
        return False
    rows = sum(each.rows or 0 for each in found)
    size = sum(each.bytes or 0 for each in found)
    from ...tables.schema import column_types

    columns = column_types(there.schema)
    if session.output.as_json:
        session.output.document(
            {
                "kind": "partitioned",
                "id": list(identifier),
                "specs": {str(number): fields for number, fields in specs.items()},
                "partitions": len(found),
                "num_rows": rows,
                "bytes": size,
                "columns": columns,
            }
        )
        return True
    name = Styled(session.written(identifier), "bold blue")
    session.output.line(Styled("partitioned namespace ", "bold"), name)
    show_specs(session.output, specs)
    session.output.fields(
        {
            "partitions": f"{len(found):,}",
            "rows": f"{rows:,}",
            "bytes": f"{size:,}",
            **{f"column {column}": kind for column, kind in columns.items()},
        }
    )
    return True


def _show_either(session: Session, namespace: Namespace, identifier: Identifier) -> None:
    try:
        _show_table(session, namespace, identifier, False, {})
    except (TableNotFoundError, NamespaceNotFoundError, InvalidInputError, UnsupportedError) as no:
        try:
            _show_namespace(session, namespace, identifier)
        except (NamespaceNotFoundError, InvalidInputError, UnsupportedError) as neither:
            raise _better_of(no, neither) from neither


def _better_of(as_table: LanceNamespaceError, as_namespace: LanceNamespaceError) -> Exception:
    """Choose the error to report for a name that is neither a table nor a namespace."""
    missing = isinstance(as_namespace, NamespaceNotFoundError)
    if isinstance(as_table, TableNotFoundError | NamespaceNotFoundError):
        if missing:
            as_table.text += ", nor does a namespace with that name"
        return as_table
    if missing:
        as_namespace.text += f"; as a table: {as_table.message}"
        return as_namespace
    return as_table


def _show_namespace(session: Session, namespace: Namespace, identifier: Identifier) -> None:
    found = namespace.describe_namespace({"id": list(identifier)})
    output = session.output
    if output.as_json:
        output.document(
            {
                "kind": "namespace",
                "id": list(identifier),
                "properties": found.properties or {},
            }
        )
        return
    kind = Styled("namespace " if identifier else "", "bold")
    output.line(kind, Styled(session.written(identifier), "bold blue"))
    output.fields(dict(sorted((found.properties or {}).items())))


def _show_table(
    session: Session,
    namespace: Namespace,
    identifier: Identifier,
    details: bool,
    chosen: dict[str, Any],
) -> None:
    request = {"id": list(identifier), **chosen}
    found = namespace.describe_table({"id": request["id"], "check_declared": details})
    rows: int | None = None
    if details and not found.is_only_declared:
        found = namespace.describe_table(
            {**request, "load_detailed_metadata": True, "with_table_uri": True}
        )
        rows = _count_rows(namespace, identifier, found, chosen.get("branch"))
    _hide_secrets(found)
    if session.output.as_json:
        described = _every_field(found)
        session.output.document(
            {"kind": "table", "id": request["id"], "num_rows": rows, **described}
        )
    else:
        _write_table(session.output, session.written(identifier), found, rows)


def _count_rows(
    namespace: Namespace,
    identifier: Identifier,
    described: DescribeTableResponse,
    branch: str | None,
) -> int | None:
    """Count the rows of the described version; return None if the catalog cannot count them."""
    request: dict[str, Any] = {"id": list(identifier)}
    request |= {"branch": branch} if branch else {"version": described.version}
    try:
        return namespace.count_table_rows(request).count
    except UnsupportedError:
        return None


def _hide_secrets(found: DescribeTableResponse) -> None:
    from ...core.options import redact

    found.storage_options = found.storage_options and redact(found.storage_options)


def _every_field(found: DescribeTableResponse) -> dict[str, Any]:
    """Return the response with a key for every field; fields that are not set are null."""
    import attrs

    from lance_namespace_client.models import DescribeTableResponse

    written = found.to_dict()
    fields = attrs.fields(DescribeTableResponse)
    keys = (field.name for field in fields if field.name != "context")
    return {key: written.get(key) for key in keys}


def _write_table(output: Output, name: str, found: DescribeTableResponse, rows: int | None) -> None:
    output.line(Styled("table ", "bold"), Styled(name, "bold green"))
    fields: dict[str, Cell] = {"location": found.location or ""}
    if found.table_uri and found.table_uri != found.location:
        fields["uri"] = found.table_uri
    if found.is_only_declared:
        fields["data"] = Styled("none: the table is only declared", "yellow")
    if found.version is not None:
        fields["version"] = str(found.version)
    if rows is not None:
        fields["rows"] = f"{rows:,}"
    if found.stats is not None:
        fields["fragments"] = f"{found.stats.num_fragments:,}"
        fields["deleted rows"] = f"{found.stats.num_deleted_rows:,}"
    for title, entries in (
        ("property", found.properties),
        ("storage option", found.storage_options),
        ("metadata", found.metadata),
    ):
        for key, value in sorted((entries or {}).items()):
            fields[f"{title} {key}"] = value
    output.fields(fields)
    if found.schema is not None:
        if not output.on_terminal:
            output.line()
        columns = [_column(field) for field in found.schema.fields]
        output.table(("Column", "Type", "Nullable"), columns)


def _column(field: JsonArrowField) -> tuple[Cell, ...]:
    from ...tables.schema import type_name

    return (field.name, Styled(type_name(field.type), "cyan"), YES if field.nullable else NO)


def operations(
    session: Session,
    supported: Annotated[
        bool, typer.Option("--supported", help="Only supported operations.")
    ] = False,
    routes: Annotated[
        bool, typer.Option("--routes", help="Show HTTP routes instead of descriptions.")
    ] = False,
) -> None:
    """Show which operations the namespace supports."""
    from lance_namespace_client.operations import OPERATIONS

    listed: set[str] = set()
    is_told = True
    with session.connect(makes=True) as namespace:
        try:
            listed |= set(namespace.list_operations({}).operations)
        except UnsupportedError:
            if supported:
                raise
            is_told = False
    rows = [
        (row, not listed.isdisjoint(row.names) if is_told else None) for row in OPERATIONS.values()
    ]
    unknown = sorted(listed.difference(*(row.names for row, _ in rows)))
    shown = [(row, yes) for row, yes in rows if yes or not supported]
    if session.output.as_json:
        document = [
            {
                "name": row.name,
                "supported": yes,
                "tag": row.tag,
                "method": row.http_method,
                "path": row.path,
                "summary": row.summary,
                "codes": list(row.codes),
            }
            for row, yes in shown
        ]
        session.output.document({"operations": document, "unknown": unknown})
        return
    session.output.table(
        ("Operation", "Supported", "Route" if routes else "Description"),
        [
            (
                Styled(row.name, "bold" if yes else "dim"),
                _shown(yes),
                f"{row.http_method:<4} {row.path}" if routes else row.summary,
            )
            for row, yes in shown
        ],
    )
    if unknown:
        session.output.line("not in this version of the protocol: ", ", ".join(unknown))
    if not is_told:
        session.output.line("the server does not report its supported operations")
    elif session.output.on_terminal:
        count = sum(bool(yes) for _, yes in rows)
        session.output.line(Styled(f"{count} of {len(rows)} operations supported", "dim"))


def _shown(supported: bool | None) -> Cell:
    if supported is None:
        return UNTOLD
    return YES if supported else NO


def backends(
    output: Output,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One implementation; defaults to all.")
    ] = None,
) -> None:
    """List the implementations and their properties."""
    from ... import registry

    found: dict[str, type[Namespace] | InvalidInputError] = {}
    if name is not None:
        find_modules_here(name)
        found[name] = registry.load(name)
    else:
        found |= {impl: _loaded(impl) for impl in sorted(registry.implementations())}
    if output.as_json:
        output.document({"backends": {impl: _backend(cls) for impl, cls in found.items()}})
        return
    for number, (impl, cls) in enumerate(found.items()):
        if number and not output.on_terminal:
            output.line()
        if isinstance(cls, InvalidInputError):
            output.line(Styled(impl, "bold"), "  ", Styled(cls.message, "red"))
            continue
        output.line(Styled(impl, "bold"), "  ", Styled(_class_name(cls), "dim"))
        rows = [_property(row) for row in _required_first(cls.config_type.describe())]
        output.table(("Property", "Type", "Default", "Description"), rows)


def _loaded(impl: str) -> type[Namespace] | InvalidInputError:
    """Load an implementation; return the error if it cannot be loaded."""
    from ... import registry

    try:
        return registry.load(impl)
    except InvalidInputError as error:
        return error


def _backend(cls: type[Namespace] | InvalidInputError) -> dict[str, Any]:
    if isinstance(cls, InvalidInputError):
        return {"class": None, "properties": None, "error": cls.message}
    return {"class": _class_name(cls), "properties": cls.config_type.describe(), "error": None}


def _class_name(cls: type[Namespace]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _required_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: not row["required"])


def _property(row: dict[str, Any]) -> tuple[Cell, ...]:
    kind = row["type"] + (f" ({row['unit']})" if row["unit"] else "")
    default = Styled("required", "yellow") if row["required"] else _default(row["default"])
    return (row["key"], kind, default, row["doc"] + (" (secret)" if row["secret"] else ""))


def _default(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
