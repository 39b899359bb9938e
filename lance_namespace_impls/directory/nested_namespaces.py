"""Manages the namespaces that a directory's manifest lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve

from lance_namespace_client.errors import InvalidInputError

from ..catalog.entry import MANAGED
from ..catalog.errors import namespace_exists, namespace_not_empty, namespace_not_found
from ..core.identifiers import Identifier
from .manifest import NAMESPACE, Change, Manifest, Row, Snapshot
from .names import object_id
from .partition_properties import partition_properties

__all__ = ["NestedNamespaces", "require_namespace"]


def require_namespace(snapshot: Snapshot | None, identifier: Identifier) -> None:
    """Raise an error (code 1) if a namespace does not exist; the root always exists."""
    if identifier and (snapshot is None or snapshot.type_of(object_id(identifier)) != NAMESPACE):
        raise namespace_not_found(identifier)


def changed_properties(
    old: Mapping[str, str], changed: Mapping[str, str], removed: Sequence[str]
) -> dict[str, str]:
    """Return the properties after setting some and removing others."""
    if MANAGED in changed or MANAGED in removed:
        raise InvalidInputError(
            f"property {MANAGED!r} is set when a table is created and cannot be changed"
        )
    return {key: value for key, value in {**old, **changed}.items() if key not in removed}


class NestedNamespaces:
    """Namespaces of any depth; each is a row in the manifest."""

    manifest: Manifest

    def child_namespaces(self, parent: Identifier, after: str | None) -> Iterator[str]:
        """Return the names of the child namespaces in order; see `CatalogBase`."""
        snapshot = self.manifest.snapshot()
        require_namespace(snapshot, parent)
        if snapshot is None:
            return iter(())
        return snapshot.children(object_id(parent), NAMESPACE, after)

    def namespace_properties(self, identifier: Identifier) -> Mapping[str, str]:
        """Return a namespace's properties; those of the root are metadata of the manifest."""
        snapshot = self.manifest.snapshot()
        require_namespace(snapshot, identifier)
        if snapshot is None:
            return {}
        if not identifier:
            return dict(snapshot.metadata)
        row = snapshot.row(object_id(identifier))
        if row is None:
            return {}
        return {**row.properties, **partition_properties(snapshot, identifier, row)}

    def add_namespace(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        is_stale: Callable[[Row], bool] = lambda row: False,
    ) -> Mapping[str, str]:
        """Add a namespace; see `CatalogBase`.

        Args:
            identifier: the namespace.
            properties: its properties.
            is_stale: returns whether an existing row with that name is obsolete.
        """

        def decide(snapshot: Snapshot) -> Change:
            require_namespace(snapshot, identifier[:-1])
            name = object_id(identifier)
            found = snapshot.row(name)
            if found is not None and not is_stale(found):
                raise namespace_exists(identifier)
            stale = [] if found is None else snapshot.below(name)
            row = Row(id=name, type=NAMESPACE, properties=properties)
            return Change(remove=stale, put=[row])

        self.manifest.change(decide)
        return properties

    def remove_namespace(self, identifier: Identifier, cascade: bool) -> Mapping[str, str]:
        """Remove a namespace and, with `cascade`, its contents; keep the data of the tables."""
        name, had = object_id(identifier), dict[str, str]()

        def decide(snapshot: Snapshot) -> Change:
            row = snapshot.row(name)
            if row is None or row.type != NAMESPACE:
                raise namespace_not_found(identifier)
            below = snapshot.below(name)
            if below and not cascade:
                raise namespace_not_empty(identifier, below[0][len(name) + 1 :])
            had.clear()
            had.update(row.properties)
            return Change(remove=[name, *below])

        if self.manifest.snapshot() is None:
            raise namespace_not_found(identifier)
        self.manifest.change(decide)
        return had

    def change_namespace(
        self, identifier: Identifier, changed: Mapping[str, str], removed: Sequence[str]
    ) -> Mapping[str, str]:
        """Change a namespace's properties and return all of them."""
        row = self.change_row(identifier, NAMESPACE, changed, removed)
        if row is None:
            raise namespace_not_found(identifier)
        return row.properties

    def change_row(
        self,
        identifier: Identifier,
        type: str,
        changed: Mapping[str, str],
        removed: Sequence[str],
    ) -> Row | None:
        """Change the properties of an object, or return None if there is no object of that type."""
        name = object_id(identifier)
        found: list[Row] = []

        def decide(snapshot: Snapshot) -> Change | None:
            found.clear()
            row = snapshot.row(name)
            if row is None or row.type != type:
                return None
            found.append(
                evolve(row, properties=changed_properties(row.properties, changed, removed))
            )
            return Change(put=found) if found[0] != row else None

        if self.manifest.snapshot() is None:
            return None
        self.manifest.change(decide)
        return found[0] if found else None
