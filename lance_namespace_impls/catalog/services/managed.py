"""Versions of catalog-managed tables, and their manifests in storage."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import define, evolve, field, frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
)
from lance_namespace_client.models import TableVersion

from ...core.identifiers import Identifier, format_identifier
from ..backend import CatalogBase
from ..entry import TableEntry
from ..version_store import (
    AddVersion,
    Change,
    RemoveVersions,
    StoredVersion,
    version_conflict,
    version_not_found,
)

__all__ = ["CommitPlan", "ManagedVersions", "Staged", "branch_name", "shown_version"]

MAIN = "main"
SCHEMES = ("V1", "V2")
_BRANCH = re.compile(r"[\w.-]+(/[\w.-]+)*")
# If there are more entries, they are checked against one listing of storage instead of one by one.
_ONE_BY_ONE = 8


@frozen(kw_only=True)
class Staged:
    """A version requested by a writer, after validation."""

    table: TableEntry
    branch: str | None
    version: StoredVersion
    name: str
    """File name of the manifest in the table's folder of manifests."""


@define
class CommitPlan:
    """The changes of one commit, in order, and the state of the tables after them."""

    transaction: str | None = None
    """Identifier of the transaction, after the commit; None if the plan was empty."""
    changes: list[Change] = field(factory=list)
    added: dict[Identifier, TableEntry] = field(factory=dict)
    removed: set[Identifier] = field(factory=set)
    latest: dict[tuple[Identifier, str | None], int] = field(factory=dict)
    staged: list[Staged] = field(factory=list)


@frozen
class ManagedVersions:
    """Reads and commits the versions of managed tables."""

    catalog: CatalogBase

    def latest_version_of(self, entry: TableEntry, branch: str | None) -> StoredVersion | None:
        """Return the latest version, or None if there is none; its manifest gets its final name.

        Manifests that were committed without the catalog are moved aside, because pylance would
        commit on top of any manifest in storage.
        """
        latest = self.catalog.versions_of(entry).latest(entry, branch)
        folder = self._manifests(entry, branch)
        if latest is None:
            if folder.names():
                self._set_aside(entry, branch)
            return None
        from ...tables.manifests import final_name

        latest = self._finalized(entry, branch, latest)
        if branch is not None and not folder.has(final_name(latest.manifest_path)):
            return None  # the branch was deleted in storage
        if folder.has(final_name(latest.manifest_path, latest.version + 1)):
            self._set_aside(entry, branch)
        return latest

    def stored_version(self, entry: TableEntry, branch: str | None, number: int) -> StoredVersion:
        """Return a stored version; its manifest gets its final name.

        Raises:
            TableVersionNotFoundError: code 11, the version is not in the store, or its manifest is
                no longer in storage.
        """
        from ...tables.manifests import final_name

        kept = self.catalog.versions_of(entry).version(entry, branch, number)
        if kept is None:
            raise version_not_found(entry, branch, number)
        kept = self._finalized(entry, branch, kept)
        if not self._manifests(entry, branch).has(final_name(kept.manifest_path)):
            raise version_not_found(entry, branch, number)
        return kept

    def stored_versions(
        self, entry: TableEntry, branch: str | None, after: int | None, descending: bool
    ) -> Iterator[StoredVersion]:
        """Yield, in order, the versions in the store that still exist in storage."""
        from ...tables.manifests import final_name

        latest = self.latest_version_of(entry, branch)
        if latest is None:
            return
        folder = self._manifests(entry, branch)
        names: set[str] | None = None
        found = self.catalog.versions_of(entry).versions(entry, branch, after, descending)
        for count, kept in enumerate(found):
            if kept.version == latest.version:
                yield latest
                continue
            if count == _ONE_BY_ONE:
                names = set(folder.names())
            name = final_name(kept.manifest_path)
            if name in names if names is not None else folder.has(name):
                yield self._finalized(entry, branch, kept)

    def stage(self, entry: TableEntry, request: Any, what: str, plan: CommitPlan) -> Staged:
        """Validate a version that a writer requests and add it to a plan.

        Args:
            entry: the table.
            request: a CreateTableVersionRequest, or an entry of a batch.
            what: the operation and its object, as the start of messages.
            plan: the plan of the commit.

        Raises:
            InvalidInputError: code 13, the file does not exist, or is not a manifest of that
                version.
            ConcurrentModificationError: code 14, the version is not based on the latest version;
                the staged manifest is deleted.
        """
        from ...tables.manifests import final_name, staged_name

        store = self.catalog.versions_of(entry)
        branch = branch_name(request.branch)
        folder = self._manifests(entry, branch)
        name = staged_name(request.manifest_path, request.version, what, folder)
        if request.naming_scheme is not None and request.naming_scheme.upper() not in SCHEMES:
            raise InvalidInputError(
                f"{what}: naming_scheme {request.naming_scheme!r} must be V1 or V2"
            )
        version = StoredVersion(
            version=request.version,
            manifest_path=request.manifest_path.removeprefix("/"),
            manifest_size=request.manifest_size,
            e_tag=request.e_tag,
            timestamp_millis=time.time_ns() // 1_000_000,
            metadata=dict(request.metadata or {}),
            origin=name,
        )
        staged = Staged(table=entry, branch=branch, version=version, name=name)
        latest = store.latest(entry, branch)
        key = (entry.id, branch)
        onto = plan.latest.get(key, latest.version if latest is not None else None)
        if branch is not None and latest is not None and key not in plan.latest:
            last = self._finalized(entry, branch, latest)
            if not folder.has(final_name(last.manifest_path)):
                # The branch was deleted in storage, and then created again with the same name.
                plan.changes.append(RemoveVersions(table=entry, branch=branch, versions=None))
                onto = None
        wanted = branch is not None if onto is None else request.version == onto + 1
        if not (wanted or (onto is None and request.version == 1)):
            kept = store.version(entry, branch, request.version)
            # The request is repeated because the client lost the response to the first one.
            if kept is not None and kept.origin == name:
                return evolve(staged, version=kept)
            self._drop_staged(staged)
            if request.version > (onto or 0) + 1:
                self._set_aside(entry, branch)
            raise version_conflict(entry, branch, request.version, latest)
        size = folder.size(name)
        if size is None and not folder.has(name):
            raise InvalidInputError(
                f"{what}: the manifest {name} does not exist; write it before you request the "
                f"version"
            )
        if None not in (size, request.manifest_size) and size != request.manifest_size:
            raise InvalidInputError(
                f"{what}: the manifest {name} has {size} bytes, not {request.manifest_size}"
            )
        plan.changes.append(AddVersion(table=entry, branch=branch, version=version, onto=onto))
        plan.latest[key] = request.version
        plan.staged.append(staged)
        return staged

    @contextmanager
    def committing(self) -> Iterator[CommitPlan]:
        """Yield an empty plan; when the block ends, commit it atomically.

        Raises:
            ConcurrentModificationError: code 14, another writer committed first. Manifests that
                were staged for versions that now exist are deleted; the other manifests can be
                committed again.
        """
        plan = CommitPlan()
        try:
            yield plan
            if plan.changes and self.catalog.version_store is not None:
                plan.transaction = self.catalog.version_store.commit(plan.changes)
        except ConcurrentModificationError:
            for each in plan.staged:
                latest = self.catalog.versions_of(each.table).latest(each.table, each.branch)
                if latest is not None and latest.version >= each.version.version:
                    self._drop_staged(each)
            raise

    def publish(self, staged: Staged) -> StoredVersion:
        """Rename the manifest of a committed version to its final name."""
        return self._finalized(staged.table, staged.branch, staged.version, eager=False)

    def adopt_versions(self, entry: TableEntry) -> None:
        """Record all versions in the dataset of a newly registered table."""
        if not entry.managed:
            return
        from ...tables.dataset import open_dataset
        from ...tables.refs import branches
        from ...tables.versions import Manifests

        try:
            dataset = open_dataset(evolve(self.catalog.storage_of(entry), managed=False))
        except InvalidTableStateError:
            return
        changes: list[Change] = []
        for branch in (None, *branches(dataset)):
            manifests = Manifests(dataset, branch)
            onto: int | None = None
            for number in manifests.numbers():
                if (found := manifests.version(number)) is None:
                    continue
                version = StoredVersion(
                    version=number,
                    manifest_path=found.manifest_path.partition("://")[2].partition("/")[2]
                    or found.manifest_path.lstrip("/"),
                    manifest_size=found.manifest_size,
                    timestamp_millis=found.timestamp_millis or 0,
                )
                changes.append(AddVersion(table=entry, branch=branch, version=version, onto=onto))
                onto = number
        self.catalog.versions_of(entry).commit(changes)

    def _manifests(self, entry: TableEntry, branch: str | None) -> Any:
        from ...tables.manifests import ManifestFolder

        return ManifestFolder(self.catalog.storage_of(entry), branch)

    def _finalized(
        self, entry: TableEntry, branch: str | None, kept: StoredVersion, *, eager: bool = True
    ) -> StoredVersion:
        """Return a version whose manifest has its final name; complete an interrupted rename.

        Args:
            entry: the table.
            branch: the branch.
            kept: the stored version.
            eager: whether to raise a storage failure; otherwise, a warning is issued and the
                manifest remains staged until the next read.
        """
        from ...tables.manifests import final_name

        folder, _, name = kept.manifest_path.rpartition("/")
        final = final_name(name)
        if name == final:
            return kept
        manifests = self._manifests(entry, branch)
        try:
            manifests.publish(name)
            moved = evolve(kept, manifest_path=f"{folder}/{final}")
            self.catalog.versions_of(entry).published(entry, branch, moved)
            manifests.delete(name)
        except Exception as error:
            if eager:
                raise
            warnings.warn(
                f"table {format_identifier(entry.id)}: version {kept.version} is committed, but "
                f"its manifest {name} could not be renamed to its final name; the next read tries "
                f"again: {self.catalog.translate(error, 'storage').message}",
                stacklevel=2,
            )
            return kept
        return moved

    def _drop_staged(self, staged: Staged) -> None:
        from ...tables.manifests import final_name

        if final_name(staged.name) != staged.name:
            self._manifests(staged.table, staged.branch).delete(staged.name)

    def _set_aside(self, entry: TableEntry, branch: str | None) -> None:
        """Move aside stored manifests that do not belong to any version of the table."""
        from ...tables.manifests import version_of

        store, folder = self.catalog.versions_of(entry), self._manifests(entry, branch)
        with store.exclusively(entry):
            # Read storage before the store, because a version is recorded before its manifest gets
            # its final name.
            names = folder.names()
            latest = store.latest(entry, branch)
            last = 0 if latest is None else latest.version
            for name in names:
                if version_of(name) > last:
                    folder.set_aside(name)
                    warnings.warn(
                        f"table {format_identifier(entry.id)}: version {version_of(name)} in "
                        "storage was committed without the catalog, although the catalog manages "
                        "the versions; its manifest was moved aside",
                        stacklevel=2,
                    )


def branch_name(branch: str | None) -> str | None:
    """Return a branch name in the form that the store uses; None means the main branch.

    Raises:
        InvalidInputError: code 13, Lance does not accept the name, because the branch's files might
            be stored in the folder of another table.
    """
    if branch is None or branch in ("", MAIN):
        return None
    if not _BRANCH.fullmatch(branch) or ".." in branch or "." in branch.split("/"):
        raise InvalidInputError(
            f"{branch[:100]!r} is not a valid branch name: use letters, digits, '.', '-' "
            "and '_', with '/' between parts"
        )
    return branch


def shown_version(kept: StoredVersion) -> TableVersion:
    """Return a version as the protocol's model."""
    metadata: Mapping[str, str] = kept.metadata
    return TableVersion(
        version=kept.version,
        manifest_path=kept.manifest_path,
        manifest_size=kept.manifest_size,
        e_tag=kept.e_tag,
        timestamp_millis=kept.timestamp_millis,
        metadata=dict(metadata) or None,
    )
