"""Expected outcomes of operations on tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import define, evolve

from ...core.options import EXPIRES_AT_MILLIS
from .calls import STORAGE, Granted, Mismatch, Outcome, Refused, Rows, local_path, same
from .codes import (
    BAD_INPUT,
    BAD_SCHEMA,
    BAD_STATE,
    DENIED,
    NO_BRANCH,
    NO_TABLE,
    NO_TAG,
    NO_VERSION,
    TABLE_EXISTS,
    UNSUPPORTED,
)
from .columns import arrow_name, is_safe, json_type
from .dataset import Dataset, Line
from .known import Identifier
from .namespaces import NamespaceRules, altered
from .state import Table, names_of

__all__ = ["METADATA_PREFIX", "TableRules", "kit_metadata"]


METADATA_PREFIX = "kit."
"""Prefix of the keys of metadata that the model sets; targets may have other keys."""


def kit_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    """Return the metadata that the model sets."""
    return {k: v for k, v in (metadata or {}).items() if k.startswith(METADATA_PREFIX)}


@define
class TableRules(NamespaceRules):
    """Rules of tables."""

    # --- tables

    def describe_table(self, request: Mapping[str, Any]) -> Outcome:
        """DescribeTable."""
        identifier = names_of(request["id"])
        faults = self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        version, detailed = request.get("version"), request.get("load_detailed_metadata", False)
        tag, branch = request.get("tag"), request.get("branch")
        if sum(each is not None for each in (version, tag, branch)) > 1:
            faults.add(BAD_INPUT)
        dataset = self.dataset_of(identifier)
        line: Line | None = None
        if not faults and (detailed or version is not None or tag or branch):
            if dataset is None:
                faults.add(BAD_STATE)
                faults |= set() if version is None else {NO_VERSION}
                if not self.known.in_full:  # nothing of a declared table can be loaded
                    faults |= {NO_TABLE, BAD_INPUT}
            elif tag is not None and tag not in dataset.tags:
                faults |= {NO_TAG, NO_TABLE, NO_VERSION}
            else:
                if tag is not None:
                    version, branch = dataset.tags[tag], dataset.tag_branches.get(tag)
                line = self._line(dataset, branch, faults)
                if line is not None and version is not None and version not in line.versions:
                    faults |= self.no_version(version)
        if faults:
            return Refused(frozenset(faults))
        found = line

        def settle(answer: Any) -> None:
            table = self.tables[identifier]
            self.same_location(answer.location, table.location, identifier)
            if self.known.in_full:
                same(answer.managed_versioning, self.known.managed, "managed_versioning")
            self._same_table(identifier, answer, table)
            if self.known.in_full:
                asked = bool(request.get("with_table_uri"))
                same("://" in (answer.table_uri or ""), asked, "whether table_uri is present")
            elif request.get("with_table_uri"):
                same(
                    bool(answer.table_uri),
                    True,
                    f"whether the table_uri of {identifier} is present",
                )
            declared: bool | None = None
            if request.get("check_declared") or detailed:
                declared = dataset is None
            if self.known.in_full or declared is not None:
                self.same(answer.is_only_declared, declared, f"is_only_declared of {identifier}")
            if found is not None and detailed:
                self._same_details(identifier, found, version, answer)

        return Granted(settle)

    def _line(self, dataset: Dataset | None, branch: str | None, faults: set[int]) -> Line | None:
        """Return the line of versions in a request; add the code of a missing one to `faults`."""
        if dataset is None:
            faults |= {NO_BRANCH} if branch is not None else set()
            return None
        if branch is None:
            return dataset.main
        if branch not in dataset.branches:
            # The descriptions of the fields name 4 or 11; 22 means that there is no such branch.
            faults |= {NO_BRANCH} if self.known.in_full else {NO_BRANCH, NO_TABLE, NO_VERSION}
        return dataset.branches.get(branch)

    def _same_details(
        self, identifier: Identifier, line: Line, version: int | None, answer: Any
    ) -> None:
        """Compare the fields that load_detailed_metadata fills in."""
        if version is not None or not line.pending:
            expected = version or max(line.versions)
            self.same(answer.version, expected, f"version of {identifier}")
        if self.known.in_full:
            same(answer.schema is not None, True, "whether the schema is present")
            same(answer.stats is not None, True, "whether the statistics are present")
        snapshot = line.head if version is None else line.versions[version]
        if snapshot is None:
            return
        if answer.stats is not None and snapshot.fragments is not None:
            found = answer.stats.num_fragments, answer.stats.num_deleted_rows
            same(found, (len(snapshot.fragments), 0), f"fragments and deleted rows of {identifier}")
        if answer.schema is None:
            return
        fields = {column.name: column for column in answer.schema.fields}
        names = [column.name for column in answer.schema.fields]
        same(names, list(snapshot.columns), f"columns of {identifier}")
        for name, shown in fields.items():
            kind = json_type(name)
            if kind:
                same(arrow_name(shown.type.type), kind, f"type of {name}")
            same(shown.nullable, True, f"whether {name} is nullable")
            due = snapshot.of_columns.get(name, {})
            same(kit_metadata(shown.metadata), due, f"metadata of {name}")
        if snapshot.metadata is not None:
            shown_metadata = kit_metadata(answer.schema.metadata)
            same(shown_metadata, snapshot.metadata, f"metadata of the schema of {identifier}")

    def dataset_of(self, identifier: Identifier) -> Dataset | None:
        """Return the data of a table; None if it has none or is missing."""
        table = self.tables.get(identifier)
        return self.datasets.get(table.location) if table is not None else None

    def _same_table(self, identifier: Identifier, answer: Any, table: Table) -> None:
        """Compare properties, and storage options if the answer has them."""
        plain = {k: v for k, v in table.properties.items() if not k.startswith(STORAGE)}
        own = {
            k.removeprefix(STORAGE): v for k, v in table.properties.items() if k.startswith(STORAGE)
        }
        if answer.properties is not None or self.known.in_full:
            shown = self.known.shown_table_properties(identifier, answer.properties or {})
            same(dict(shown), plain, f"properties of table {identifier}")
        if hasattr(answer, "storage_options") and self.known.in_full:
            options = {**self.known.storage_options, **own}
            given = dict(answer.storage_options or {})
            if EXPIRES_AT_MILLIS not in options:
                given.pop(EXPIRES_AT_MILLIS, None)  # a server may add an expiry time
            same(given, options, f"storage options of {identifier}")

    def table_exists(self, request: Mapping[str, Any]) -> Outcome:
        """TableExists."""
        identifier = names_of(request["id"])
        faults = self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        version = request.get("version")
        if not faults and version is not None:
            dataset = self.dataset_of(identifier)
            if dataset is None or version not in dataset.versions:
                faults.add(NO_TABLE)
                if not self.known.in_full:  # 11 means that the version is missing
                    faults |= {NO_VERSION, BAD_INPUT}
        return Refused(frozenset(faults)) if faults else Granted(lambda answer: None)

    def _cannot_make(self, identifier: Identifier) -> set[int]:
        faults = self._refused_names(*identifier)
        faults |= self._without_parent(identifier[:-1], making=True)
        return faults

    def _location(self, identifier: Identifier) -> str | None:
        return self.known.location(identifier, self.namespaces.get(identifier[:-1], {}))

    def _is_occupied(self, location: str | None) -> bool:
        """Return whether a location is already occupied, so that a new table needs another one."""
        if self.known.capabilities.storage_only:
            return location in self.deregistered
        return location in self.datasets or location in self.reserved

    def _new_place(self, identifier: Identifier, answered: str) -> str:
        """Return the location of a new table: the usual one, or one next to it if occupied."""
        if not self.known.in_full:
            self._made += 1
            return f"place {self._made}"
        usual = self._location(identifier)
        if usual is None:
            return answered
        usual = usual.rstrip("/")
        if not self._is_occupied(usual) and (usual not in self.doubtful or answered == usual):
            return usual
        stem = usual.removesuffix(".lance")
        fresh = re.fullmatch(rf"{re.escape(usual)}-[0-9a-f]{{8}}", answered) or re.fullmatch(
            rf"{re.escape(stem)}-[0-9a-f]{{8}}\.lance", answered
        )
        held = {table.location for table in self.tables.values()} | self.datasets.keys()
        if not fresh or answered in held | self.deregistered.keys():
            expected = f"a new one next to {usual!r}, which is occupied"
            raise Mismatch(f"location of {identifier}", expected, repr(answered))
        return answered

    def _cannot_be_at(self, identifier: Identifier, location: str | None) -> set[int]:
        """Return the codes for a location that the catalog does not permit for the table."""
        if not location:
            return set()
        others = {table.location for i, table in self.tables.items() if i != identifier}
        taken = location.rstrip("/") in others and not self.known.shared_locations
        faults = {BAD_INPUT} if taken else set()
        table = self.tables.get(identifier)
        current = table.location if table is not None else None
        if not self.known.takes_location(identifier, location, current):
            faults.add(DENIED)
        return faults

    def declare_table(self, request: Mapping[str, Any]) -> Outcome:
        """DeclareTable."""
        identifier = names_of(request["id"])
        faults = self._cannot_make(identifier)
        if request.get("location") or not self._is_occupied(self._location(identifier)):
            faults |= self._cannot_be_at(
                identifier, request.get("location") or self._location(identifier)
            )
        if self.is_taken(identifier):
            faults.add(TABLE_EXISTS)
        location = request.get("location")
        if location == "":
            faults.add(BAD_INPUT)
        if self.known.in_full and location is not None and self._location(identifier) is None:
            faults.add(BAD_INPUT if self.known.registers else UNSUPPORTED)
        if self.known.capabilities.storage_only and location is not None:
            faults |= set() if location.rstrip("/") == self._location(identifier) else {BAD_INPUT}
            if self._is_occupied(location.rstrip("/")):
                faults.add(TABLE_EXISTS)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            properties = dict(request.get("properties") or {})
            if location and not self.known.in_full:
                if answer.location is not None:
                    place = local_path(location)
                    same(local_path(answer.location), place, f"location of {identifier}")
                known = self.places.get(local_path(location))
                expected = known or self._new_place(identifier, location)
            else:
                expected = (location or self._new_place(identifier, answer.location)).rstrip("/")
            table = self.tables[identifier] = Table(expected, properties)
            self.same_location(answer.location, expected, identifier)
            self._same_table(identifier, answer, table)

        return Granted(settle)

    def register_table(self, request: Mapping[str, Any]) -> Outcome:
        """RegisterTable."""
        identifier = names_of(request["id"])
        faults = self._cannot_make(identifier)
        mode = self._mode(request, "mode", ("Create", "Overwrite"), faults)
        location = request["location"].rstrip("/")
        if not self.known.in_full:
            location = self.places.get(local_path(location), location)
        faults |= self._cannot_be_at(identifier, location)
        table = self.tables.get(identifier)
        if identifier in self.namespaces or (table is not None and mode == "Create"):
            faults.add(TABLE_EXISTS)
        if table is not None and not table.is_lance:
            faults |= {BAD_INPUT, TABLE_EXISTS}
        if not location:
            faults.add(BAD_INPUT)
        stays = mode == "Overwrite" and table is not None and location == table.location
        registers = stays or self.known.registers or not self.known.in_full
        if self._location(identifier) is None and not registers:
            faults.add(UNSUPPORTED)
        if self.known.capabilities.storage_only:
            own = {where for where, whose in self.deregistered.items() if whose == identifier}
            if location not in own | ({table.location} if table is not None else set()):
                faults.add(BAD_INPUT)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            if self.known.capabilities.storage_only and table is not None:
                self.deregistered[table.location] = identifier
            self.deregistered.pop(location, None)
            made = Table(location, dict(request.get("properties") or {}))
            self.tables[identifier] = made
            self.same_location(answer.location, location, identifier)
            self._same_table(identifier, answer, made)

        return Granted(settle)

    def create_table(self, request: Mapping[str, Any], rows: Rows) -> Outcome:
        """CreateTable."""
        identifier = names_of(request["id"])
        faults = self._cannot_make(identifier)
        mode = self._mode(request, "mode", ("Create", "ExistOk", "Overwrite"), faults)
        table = self.tables.get(identifier)
        location = self._location(identifier) if table is None else table.location
        faults |= self._cannot_fill(identifier, location, mode)
        kept = table is not None and location in self.datasets and mode == "ExistOk"
        unread = kept and (rows.fault == "truncated" or not self.known.in_full)
        if rows.fault is not None and not unread:
            faults.add(BAD_INPUT)
        properties = dict(request.get("properties") or {})
        for key, value in (request.get("storage_options") or {}).items():
            properties[STORAGE + key] = value
        if table is not None and (kept or (mode != "Overwrite" and not properties)):
            properties = table.properties
        if table is not None and properties != table.properties and self._unsupported("AlterTable"):
            faults.add(UNSUPPORTED)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            where = location if table is not None else self._new_place(identifier, answer.location)
            assert where is not None
            if not kept:
                old = None
                if not self.known.in_full:  # whether the history continues is unspecified
                    old = self.datasets.pop(where, None)
                    self.may_move(where)
                self._write(where, rows, answer.version, replace=True)
                self.datasets[where].remnants = old is not None
                self.datasets[where].main.tells_all = old is None
                self.tables[identifier] = Table(where, properties)
            line = self.datasets[where].main
            if not line.pending:
                self.same(answer.version, max(line.versions), "version")
            self.same_location(answer.location, where, identifier)
            self._same_table(identifier, answer, self.tables[identifier])

        may_refuse = self._open_types(rows)
        if unread and rows.fault is not None:  # whether the rows are read is unspecified
            may_refuse.add(BAD_INPUT)
        if table is not None and not self.known.in_full:
            # Filling a declared table is unspecified, and a catalog may keep the properties fixed.
            may_refuse |= {TABLE_EXISTS} if mode == "Create" else set()
            may_refuse |= {UNSUPPORTED} if properties != table.properties else set()
        return Granted(settle, frozenset(may_refuse))

    def _cannot_fill(self, identifier: Identifier, location: str | None, mode: str) -> set[int]:
        """Return the codes for a table that cannot get rows at a location."""
        table = self.tables.get(identifier)
        if table is not None:
            taken = not table.is_lance or (mode == "Create" and location in self.datasets)
            return {TABLE_EXISTS} if taken else set()
        faults = {TABLE_EXISTS} if self.is_taken(identifier) else set()
        if not self._is_occupied(location):  # otherwise, the table gets another location
            faults |= self._cannot_be_at(identifier, location)
        return faults

    def _open_types(self, rows: Rows) -> set[int]:
        """Return the codes of a target that does not store a type of the rows.

        No source lists the types of Arrow that every target must store.
        """
        if self.known.in_full or is_safe(tuple(rows.columns)):
            return set()
        return {UNSUPPORTED, BAD_INPUT, BAD_SCHEMA}

    def _write(self, location: str, rows: Rows, version: Any, *, replace: bool) -> None:
        """Apply a commit to the main line; versions increase."""
        if version is not None or self.known.in_full:
            same(type(version), int, "type of the version")
        dataset = self.datasets.get(location)
        if dataset is None:
            self.datasets[location] = Dataset.of(rows, version)
        elif replace:
            dataset.main.write(dataset.main.head.replaced(rows), version)
        else:
            dataset.main.write(dataset.main.head.with_rows(rows), version)
        self.deleted.discard(location)

    def deregister_table(self, request: Mapping[str, Any]) -> Outcome:
        """DeregisterTable: the data remains."""
        identifier = names_of(request["id"])
        faults = self._without_table(identifier)
        if faults:
            return Refused(frozenset(faults | self._refused_names(*identifier)))

        def settle(answer: Any) -> None:
            table = self.tables.pop(identifier)
            if self.known.capabilities.storage_only:
                self.deregistered[table.location] = identifier
            self._same_gone(identifier, answer, table)

        return Granted(settle)

    def drop_table(self, request: Mapping[str, Any]) -> Outcome:
        """DropTable: the data is deleted."""
        identifier = names_of(request["id"])
        faults = self._without_table(identifier)
        if faults:
            return Refused(frozenset(faults | self._refused_names(*identifier)))

        def settle(answer: Any) -> None:
            table = self.tables.pop(identifier)
            if self.datasets.pop(table.location, None) is not None:
                self.reserved.discard(table.location)
            self.deleted.add(table.location)
            self._same_gone(identifier, answer, table)

        return Granted(settle)

    def _same_gone(self, identifier: Identifier, answer: Any, table: Table) -> None:
        same(answer.id, list(identifier), "id")
        self.same_location(answer.location, table.location, identifier)
        self._same_table(identifier, answer, table)

    def rename_table(self, request: Mapping[str, Any]) -> Outcome:
        """RenameTable."""
        identifier = names_of(request["id"])
        parent = identifier[:-1]
        given = request.get("new_namespace_id")
        if given or (given is not None and self._holds_tables(0)):
            parent = names_of(given)
        new = (*parent, request["new_table_name"])
        faults = self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        faults |= self._refused_names(*new)
        if not self._holds_tables(len(parent)):
            faults.add(BAD_INPUT)
        else:
            faults |= self._without_parent(parent, making=True)
            can = self.known.capabilities
            if parent != identifier[:-1] and not can.rename_across:
                faults.add(UNSUPPORTED)
            if parent[: can.rename_within] != identifier[: can.rename_within]:
                faults.add(UNSUPPORTED)
        if self.is_taken(new):
            faults.add(TABLE_EXISTS)
        if faults:
            if identifier in self.tables and not self.has_data(identifier):
                self.doubtful.add(self.tables[identifier].location)
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            table = self.tables.pop(identifier)
            location = self.known.moved(table.location, new)
            self.may_move(table.location)
            if location != table.location and table.location in self.datasets:
                self.datasets[location] = self.datasets.pop(table.location)
                self.deleted.add(table.location)
            elif location == table.location and location not in self.datasets:
                self.reserved.add(location)
            self.deleted.discard(location)
            self.tables[new] = evolve(table, location=location)

        dataset = self.dataset_of(identifier)
        # A Lance branch stores the path of its data, so its rows are unreadable after a move.
        fixed = dataset is not None and (dataset.branches or dataset.remnants)
        return Granted(settle, frozenset({BAD_STATE} if fixed else ()))

    def alter_table(self, request: Mapping[str, Any]) -> Outcome:
        """AlterTable."""
        identifier = names_of(request["id"])
        faults = self._both(request) | self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            table = self.tables[identifier]
            altered(table.properties, request)
            self._same_table(identifier, answer, table)

        return Granted(settle)
