"""Commands that alter a table: rename, properties, tag, branch, restore, index, compact, cp."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
)

from ..choice import option_value
from ..completion import complete_id
from ..failures import UsageError
from ..output import Styled
from ..session import Session, key_values
from ..versions import AsOf, Tag, chosen, only_one
from .jobs import DryRun, RowsPerFragment

if TYPE_CHECKING:
    from ...catalog.namespace import Namespace
    from ...core.identifiers import Identifier
    from ...objects.types import IndexOptions, IndexType

__all__ = ["branch", "compact", "cp", "index", "properties", "rename", "restore", "tag"]

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        autocompletion=complete_id,
        help="The table: its names, joined by the delimiter.",
    ),
]


class PropertiesAction(StrEnum):
    """Actions on properties."""

    GET = "get"
    SET = "set"
    UNSET = "unset"


class Action(StrEnum):
    """Actions on a table's tags, branches or indices."""

    LIST = "list"
    CREATE = "create"
    DROP = "drop"


class IndexAction(StrEnum):
    """Actions on the indices of a table."""

    LIST = "list"
    CREATE = "create"
    DROP = "drop"
    STATS = "stats"


def rename(
    session: Session,
    id: Id,
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW", help="The new ID; a single name keeps the table in its namespace."
        ),
    ],
) -> None:
    """Rename a table, or move it to another namespace."""
    identifier, target = session.identifier(id), session.identifier(new)
    if not target:
        raise UsageError("rename: the new ID is empty; specify a name")
    parent = target[:-1] if len(target) > 1 else None
    with session.connect() as namespace:
        table = namespace.table(list(identifier))
        moved = table.rename(target[-1], namespace=parent)
    if session.output.as_json:
        session.output.document({"id": list(identifier), "new_id": list(moved.id)})
    else:
        session.output.line(
            f"table {session.written(identifier)} renamed to {session.written(moved.id)}"
        )


def properties(
    session: Session,
    action: Annotated[
        PropertiesAction, typer.Argument(metavar="get|set|unset", help="The action.")
    ],
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            autocompletion=complete_id,
            help="A table, or a namespace if no such table exists.",
        ),
    ],
    entries: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE | KEY]...", help="Key-value pairs to set, or keys to get or unset."
        ),
    ] = None,
) -> None:
    """Show or change the properties of a table or a namespace."""
    identifier = session.identifier(id)
    if action is not PropertiesAction.GET and not entries:
        what = "KEY=VALUE" if action is PropertiesAction.SET else "KEY"
        raise UsageError(f"properties {action.value}: specify at least one {what}")
    with session.connect() as namespace:
        kind, found = _properties_of(namespace, identifier)
        if action is not PropertiesAction.GET:
            request: dict[str, Any] = {"id": list(identifier)}
            if action is PropertiesAction.SET:
                request["set_properties"] = key_values(entries, "properties set")
            else:
                request["unset_properties"] = entries
            getattr(namespace, f"alter_{kind}")(request)
            _, found = _properties_of(namespace, identifier)
        elif entries:
            missing = [key for key in entries if key not in found]
            if missing:
                raise InvalidInputError(
                    f"{kind} {session.written(identifier)} has no property {missing[0]!r}"
                )
            found = {key: found[key] for key in entries}
    if session.output.as_json:
        session.output.document({"kind": kind, "id": list(identifier), "properties": found})
    else:
        session.output.fields(dict(sorted(found.items())))


def _properties_of(namespace: Namespace, identifier: Identifier) -> tuple[str, dict[str, str]]:
    request = {"id": list(identifier)}
    if identifier:
        try:
            return "table", dict(namespace.describe_table(request).properties or {})
        except (
            TableNotFoundError,
            NamespaceNotFoundError,
            InvalidInputError,
            UnsupportedError,
        ) as no:
            try:
                return "namespace", dict(namespace.describe_namespace(request).properties or {})
            except (NamespaceNotFoundError, InvalidInputError, UnsupportedError):
                raise no from None
    return "namespace", dict(namespace.describe_namespace(request).properties or {})


def tag(
    session: Session,
    action: Annotated[Action, typer.Argument(metavar="list|create|drop", help="The action.")],
    id: Id,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The tag.")] = None,
    version: Annotated[
        int | None,
        typer.Option("--version", metavar="NUMBER", help="Version to tag; defaults to the latest."),
    ] = None,
) -> None:
    """List, create or drop the tags of a table.

    Creating a tag that already exists moves it.
    """
    identifier = session.identifier(id)
    with session.connect() as namespace:
        table = namespace.table(list(identifier))
        if action is Action.LIST:
            found = {key: value.version for key, value in sorted(table.tags.list().items())}
            if session.output.as_json:
                session.output.document({"id": list(identifier), "tags": found})
            else:
                session.output.table(("Tag", "Version"), [(k, str(v)) for k, v in found.items()])
            return
        wanted = _needed(name, "tag", action)
        if action is Action.CREATE:
            named = table.version if version is None else version
            if wanted in table.tags.list():
                table.tags.update(wanted, named)
            else:
                table.tags.create(wanted, named)
        else:
            table.tags.delete(wanted)
        if session.output.as_json:
            tags = {key: value.version for key, value in table.tags.list().items()}
            session.output.document({"id": list(identifier), "tags": tags})
        elif action is Action.CREATE:
            session.output.line(f"tag {wanted} is at version {table.tags.list()[wanted].version}")
        else:
            session.output.line(f"tag {wanted} removed")


def branch(
    session: Session,
    action: Annotated[Action, typer.Argument(metavar="list|create|drop", help="The action.")],
    id: Id,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The branch.")] = None,
    version: Annotated[
        int | None,
        typer.Option(
            "--version", metavar="NUMBER", help="Version to start from; defaults to the latest."
        ),
    ] = None,
) -> None:
    """List, create or drop the branches of a table."""
    identifier = session.identifier(id)
    with session.connect() as namespace:
        branches = namespace.table(list(identifier)).branches
        if action is Action.CREATE:
            branches.create(_needed(name, "branch", action), from_version=version)
        elif action is Action.DROP:
            branches.delete(_needed(name, "branch", action))
        found = branches.list()
    if session.output.as_json:
        session.output.document({"id": list(identifier), "branches": sorted(found)})
    elif action is Action.LIST:
        for each in sorted(found):
            session.output.line(each)
    else:
        session.output.line(f"branch {name} {'created' if action is Action.CREATE else 'removed'}")


def restore(
    session: Session,
    id: Id,
    version: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="Version number, or a tag.")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--version", metavar="NUMBER", help="The same, as an option.")
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", metavar="NAME", help="Tag of the version.")
    ] = None,
    as_of: AsOf = None,
) -> None:
    """Restore an older version of a table as the latest version.

    The versions in between are retained.
    """
    if sum(each is not None for each in (version, number, tag, as_of)) != 1:
        raise UsageError("restore: pass exactly one of VERSION, --version, --tag and --as-of")
    with session.connect() as namespace:
        table = chosen(session, namespace, id, version=number, tag=tag, as_of=as_of)
        if version is not None:
            table.checkout(int(version) if version.isdecimal() else version)
        restored = table.version
        table.restore()
        latest = table.describe(details=True).version
    if session.output.as_json:
        session.output.document({"restored": restored, "version": latest})
    else:
        session.output.line(f"version {restored} restored as version {latest}")


def compact(
    session: Session,
    id: Id,
    rows_per_fragment: RowsPerFragment = 1 << 20,
    dry_run: DryRun = False,
) -> None:
    """Merge small fragments of a table and purge deleted rows."""
    from ...maintenance import Upkeep, maintain_table

    table, upkeep = session.identifier(id), Upkeep(rows_per_fragment=rows_per_fragment)
    with session.connect() as namespace:
        row = maintain_table(namespace, table, upkeep, dry_run=dry_run)
    if session.output.as_json:
        session.output.document(
            {
                "id": list(table),
                "version": row.version,
                "fragments_compacted": row.compacted_fragments,
                "new_fragments": row.new_fragments,
                "bytes_rewritten": row.rewritten_bytes,
                "indices_updated": list(row.indices_updated),
            }
        )
    elif not row.compacted_fragments:
        session.output.line("nothing to compact")
    elif dry_run:
        session.output.line(f"{row.compacted_fragments:,} fragments would be compacted")
    else:
        session.output.line(
            f"{row.compacted_fragments:,} fragments compacted into {row.new_fragments:,}, as "
            f"version {row.version}"
        )


def index(
    session: Session,
    action: Annotated[
        IndexAction, typer.Argument(metavar="list|create|drop|stats", help="The action.")
    ],
    id: Id,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[COLUMN | NAME]", help="Column to index, or the name of an index."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="IVF_PQ, IVF_FLAT … for vectors; BTREE, BITMAP, LABEL_LIST; FTS for "
            "full-text search.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the new index.")
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Additional option, such as num_partitions=16; repeatable.",
        ),
    ] = None,
) -> None:
    """List, create, drop or describe the indices of a table."""
    identifier = session.identifier(id)
    output = session.output
    with session.connect() as namespace:
        table = namespace.table(list(identifier))
        if action is IndexAction.CREATE:
            column = _needed(what, "column", action)
            if kind is None:
                raise UsageError(
                    "index create: pass --type, such as IVF_PQ for vectors, FTS for full-text "
                    "search or BTREE"
                )
            more = {key: option_value(value) for key, value in key_values(options, "--set").items()}
            table.create_index(
                column,
                index_type=cast("IndexType", kind),
                name=name or None,
                **cast("IndexOptions", more),
            )
        elif action is IndexAction.DROP:
            table.drop_index(_needed(what, "index", action))
        elif action is IndexAction.STATS:
            found = table.index_stats(_needed(what, "index", action)).to_dict()
            if output.as_json:
                output.document(found)
            else:
                output.fields(
                    {key.replace("_", " "): _count_cell(value) for key, value in found.items()}
                )
            return
        indices = table.list_indices()
    if output.as_json:
        output.document({"id": list(identifier), "indices": [each.to_dict() for each in indices]})
        return
    output.table(
        ("Index", "Columns", "Type", "Unindexed rows"),
        [
            (
                each.index_name,
                ", ".join(each.columns),
                each.index_type or "",
                _count_cell(each.num_unindexed_rows),
            )
            for each in indices
        ],
    )


def cp(
    session: Session,
    id: Id,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="ID of the copy.")],
    version: Annotated[
        str | None,
        typer.Option(
            "--version", metavar="VERSION", help="Version number or tag; defaults to the latest."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing table.")
    ] = False,
    tag: Tag = None,
    as_of: AsOf = None,
) -> None:
    """Copy the rows of a table to a new table in this catalog."""
    identifier = session.identifier(target)
    only_one(version, tag, as_of)
    with session.connect() as namespace:
        source = chosen(session, namespace, id, tag=tag, as_of=as_of)
        if version is not None:
            source.checkout(int(version) if version.isdecimal() else version)
        copy = namespace.table(list(identifier))
        with source.to_batches() as rows:
            copy.create(rows, mode="overwrite" if overwrite else "create")
        count = copy.count_rows()
    if session.output.as_json:
        session.output.document({"id": list(identifier), "rows": count})
    else:
        session.output.line(f"{count:,} rows copied to {session.written(identifier)}")


def _needed(value: str | None, what: str, action: StrEnum) -> str:
    if value is None:
        raise UsageError(f"{action.value}: specify the {what}")
    return value


def _count_cell(number: int | None) -> Any:
    return Styled("?", "dim") if number is None else str(number)
