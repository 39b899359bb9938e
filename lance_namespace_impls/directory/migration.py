"""Adds a manifest to a directory, or removes the manifest if no information would be lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
)

from ..core.identifiers import ROOT
from .flat import FlatTables
from .manifest import TABLE, Change, Manifest, Row, Snapshot
from .mirrored import RootTables
from .names import DELIMITER, MANIFEST, PROPERTIES, check_name, dump

__all__ = ["Migration", "to_flat", "to_manifest"]

SHOWN = 3


@frozen(kw_only=True)
class Migration:
    """The result or preview of a migration."""

    to: str
    """``manifest`` or ``flat``."""
    tables: list[str]
    """Names of the migrated tables, in order."""
    done: bool
    """False for a dry run."""


def to_manifest(flat: FlatTables, manifest: Manifest, *, dry_run: bool) -> Migration:
    """Add a manifest that lists the tables to a flat directory.

    The manifest and all its rows are created atomically, so concurrent listings are always
    complete. Tables are not moved.

    Args:
        flat: the tables in the directory without a manifest.
        manifest: the manifest.
        dry_run: whether to change nothing.

    Raises:
        InvalidInputError: code 13, a name contains ``$``, which separates the levels in a manifest.
        InvalidTableStateError: code 19, a table has two directories.
    """
    if manifest.snapshot() is not None:
        return Migration(to="manifest", tables=[], done=not dry_run)
    rows = {row.id: row for row in _rows(flat)}
    impossible = [name for name in rows if DELIMITER in name]
    if impossible:
        raise InvalidInputError(
            f"{flat.directory.root} cannot have a manifest, because {DELIMITER!r} separates "
            f"names in it: rename {_shown(impossible)}"
        )
    if not dry_run:
        manifest.create(list(rows.values()))
        # Tables that were added after the check are also listed, in whatever directory they are
        # stored.
        late = {row.id: row for row in _rows(flat) if row.id not in rows}

        def add(snapshot: Snapshot) -> Change:
            return Change(put=[row for row in late.values() if snapshot.type_of(row.id) is None])

        manifest.change(add)
        rows |= late
    return Migration(to="manifest", tables=sorted(rows), done=not dry_run)


def _rows(flat: FlatTables) -> Iterator[Row]:
    for name in flat.table_names(ROOT, None):
        entry = flat.load_table((name,))
        yield Row(
            id=name, type=TABLE, location=flat.folder(entry), properties=dict(entry.properties)
        )


def to_flat(root: RootTables, flat: FlatTables, manifest: Manifest, *, dry_run: bool) -> Migration:
    """Remove the manifest of a directory.

    Args:
        root: the tables in the root with the manifest.
        flat: the tables in the directory without the manifest.
        manifest: the manifest.
        dry_run: whether to change nothing.

    Raises:
        NamespaceNotFoundError: code 1, the directory has no manifest.
        InvalidTableStateError: code 19, information would be lost, or other directories would
            become tables.
    """
    snapshot = manifest.snapshot()
    if snapshot is None:
        raise NamespaceNotFoundError(f"{flat.directory.root} has no manifest to remove")
    if dry_run:
        tables = _flat_tables(root, flat, snapshot)
        return Migration(to="flat", tables=sorted(tables), done=False)
    with manifest.lock():
        snapshot = manifest.snapshot()
        if snapshot is None:
            raise NamespaceNotFoundError(f"{flat.directory.root} has no manifest to remove")
        tables = _flat_tables(root, flat, snapshot)
        for folder, properties in tables.values():
            if properties and not flat.directory.is_link(folder):
                flat.directory.write(f"{folder}/{PROPERTIES}", dump(properties))
        newest = manifest.snapshot()
        if newest is None or newest.version != snapshot.version:
            raise ConcurrentModificationError(
                f"{manifest.location} was changed concurrently; try again"
            )
        trash = flat.directory.move_to_trash(MANIFEST)
    flat.directory.delete(trash)
    return Migration(to="flat", tables=sorted(tables), done=True)


def _flat_tables(
    root: RootTables, flat: FlatTables, snapshot: Snapshot
) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return the tables with their directories and properties; reject a manifest with more
    objects.
    """
    where = flat.directory.root
    nested = [name for name in snapshot.ids if DELIMITER in name]
    others = [name for name in snapshot.ids if snapshot.type_of(name) != TABLE]
    if nested or others:
        raise InvalidTableStateError(
            f"{where} requires its manifest, because only the manifest stores "
            f"{_shown(others + nested)}; drop or move them first"
        )
    if snapshot.metadata:
        raise InvalidTableStateError(
            f"{where} requires its manifest, because only the manifest stores the properties of "
            f"the root; remove {_shown(list(snapshot.metadata))} first"
        )
    tables = {}
    for name in root.table_names(ROOT, None):
        check_name(name)
        entry = root.load_table((name,))
        tables[name] = (root.folder(entry), entry.properties)
    without = {name: flat.folder(flat.load_table((name,))) for name in flat.table_names(ROOT, None)}
    differ = {
        name for name in {*tables, *without} if tables.get(name, ("",))[0] != without.get(name)
    }
    if differ:
        raise InvalidTableStateError(
            f"{where} requires its manifest: {_shown(sorted(differ))} would be lost, or "
            "become tables; drop the tables, or move the directories elsewhere"
        )
    return tables


def _shown(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(map(repr, names[:SHOWN])) + (f" and {more} more" if more > 0 else "")
