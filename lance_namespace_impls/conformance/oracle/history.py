"""Expected outcomes of operations on versions, tags, branches, indices and columns."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from attrs import define, evolve

from .calls import Granted, Mismatch, Outcome, Refused, same
from .codes import (
    BAD_INPUT,
    BAD_SCHEMA,
    BAD_STATE,
    BRANCH_EXISTS,
    INDEX_EXISTS,
    NO_BRANCH,
    NO_COLUMN,
    NO_INDEX,
    NO_TABLE,
    NO_TAG,
    NO_VERSION,
    TAG_EXISTS,
)
from .dataset import Dataset, Line, Snapshot
from .rows import RowRules
from .state import names_of

__all__ = ["HistoryRules"]

CLOCKS_DIFFER_MILLIS = 15 * 60 * 1000
"""Allowed difference from the target's clock; a wrong time zone causes a larger one."""


@define
class HistoryRules(RowRules):
    """Rules of versions, tags, branches, indices and columns."""

    # --- versions

    def list_table_versions(self, request: Mapping[str, Any]) -> Outcome:
        """ListTableVersions, all on one page; pending writes get their version numbers."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line

        started = self.started_millis

        def settle(answer: Any) -> None:
            line.learn(entry.version for entry in answer.versions)
            for entry in answer.versions:
                _written_since(started, entry)

        return Granted(settle)

    def describe_table_version(self, request: Mapping[str, Any]) -> Outcome:
        """DescribeTableVersion."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        version = request.get("version")
        if version is not None and version not in line.versions:
            return Refused(frozenset({NO_VERSION}))
        started = self.started_millis

        def settle(answer: Any) -> None:
            if version is not None or not line.pending:
                same(answer.version.version, version or max(line.versions), "the version")
            _written_since(started, answer.version)

        return Granted(settle)

    def restore_table(self, request: Mapping[str, Any]) -> Outcome:
        """RestoreTable: a new version with the content of an earlier one."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        if request["version"] not in line.versions:
            return Refused(frozenset({NO_VERSION}))
        held = line.versions[request["version"]]
        assert held is not None

        def settle(answer: Any) -> None:
            same_again = held == line.head
            indices = line.head.unknown() if not held.indices else None
            line.write(evolve(held, indices=indices), None, sure=not same_again)

        return Granted(settle)

    # --- tags

    def create_table_tag(self, request: Mapping[str, Any]) -> Outcome:
        """CreateTableTag."""
        return self._tag(request, there=False)

    def update_table_tag(self, request: Mapping[str, Any]) -> Outcome:
        """UpdateTableTag."""
        return self._tag(request, there=True)

    def _tag(self, request: Mapping[str, Any], *, there: bool) -> Outcome:
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset
        faults: set[int] = set()
        if there != (request["tag"] in dataset.tags):
            faults.add(NO_TAG if there else TAG_EXISTS)
        if request["version"] not in dataset.main.versions:
            faults.add(NO_VERSION)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            dataset.tags[request["tag"]] = request["version"]

        return Granted(settle)

    def get_table_tag_version(self, request: Mapping[str, Any]) -> Outcome:
        """GetTableTagVersion."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset
        tag = request["tag"]
        if tag not in dataset.tags:
            return Refused(frozenset({NO_TAG}))
        return Granted(lambda answer: same(answer.version, dataset.tags[tag], f"version of {tag}"))

    def list_table_tags(self, request: Mapping[str, Any]) -> Outcome:
        """ListTableTags."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset

        def settle(answer: Any) -> None:
            same({name: tag.version for name, tag in answer.tags.items()}, dataset.tags, "tags")

        return Granted(settle)

    def delete_table_tag(self, request: Mapping[str, Any]) -> Outcome:
        """DeleteTableTag."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset
        if request["tag"] not in dataset.tags:
            return Refused(frozenset({NO_TAG}))

        def settle(answer: Any) -> None:
            del dataset.tags[request["tag"]]

        return Granted(settle)

    def _found_dataset(self, request: Mapping[str, Any]) -> Dataset | Refused:
        line = self._found_line({"id": request["id"]})
        if isinstance(line, Refused):
            return line
        dataset = self.dataset_of(names_of(request["id"]))
        assert dataset is not None
        return dataset

    # --- branches

    def create_table_branch(self, request: Mapping[str, Any]) -> Outcome:
        """CreateTableBranch, from the newest version of the main line or from an earlier one."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset
        faults = {BRANCH_EXISTS} if request["name"] in dataset.branches else set()
        version = request.get("from_version")
        if version is not None and version not in dataset.main.versions:
            # The protocol does not specify the code for this operation.
            faults |= {NO_VERSION, NO_TABLE, BAD_INPUT}
        if faults:
            return Refused(frozenset(faults))
        held = dataset.main.head if version is None else dataset.main.versions[version]
        assert held is not None

        def settle(answer: Any) -> None:
            # The protocol does not specify whether a branch lists the versions before it.
            line = Line(pending=[(evolve(held, indices=held.unknown()), False)], tells_all=False)
            dataset.branches[request["name"]] = line

        return Granted(settle)

    def list_table_branches(self, request: Mapping[str, Any]) -> Outcome:
        """ListTableBranches; whether it includes the main line is unspecified."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset

        def settle(answer: Any) -> None:
            shown = sorted(name for name in answer.branches if name != "main")
            same(shown, sorted(dataset.branches), "branches")

        return Granted(settle)

    def delete_table_branch(self, request: Mapping[str, Any]) -> Outcome:
        """DeleteTableBranch."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset
        if request["name"] not in dataset.branches:
            return Refused(frozenset({NO_BRANCH}))

        def settle(answer: Any) -> None:
            del dataset.branches[request["name"]]

        return Granted(settle)

    # --- indices

    def create_table_scalar_index(self, request: Mapping[str, Any]) -> Outcome:
        """CreateTableScalarIndex."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head = line.head
        faults = {NO_COLUMN} if request["column"] not in head.columns else set()
        if head.indices is not None and request["name"] in head.indices:
            faults.add(INDEX_EXISTS)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            held = head.indices
            named = {request["name"]: request["column"]}
            self._indexed(line, None if held is None else {**held, **named})

        # An index on no rows, or next to indices in an unknown state.
        unclear = not head.records or head.indices is None
        return Granted(settle, frozenset({BAD_STATE, BAD_INPUT, INDEX_EXISTS} if unclear else ()))

    def list_table_indices(self, request: Mapping[str, Any]) -> Outcome:
        """ListTableIndices."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        indices = line.head.indices

        def settle(answer: Any) -> None:
            if indices is not None:
                shown = {entry.index_name: list(entry.columns) for entry in answer.indexes}
                same(shown, {name: [column] for name, column in indices.items()}, "indices")

        return Granted(settle)

    def drop_table_index(self, request: Mapping[str, Any]) -> Outcome:
        """DropTableIndex."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        name, indices = request["index_name"], line.head.indices
        if indices is None:
            return Granted(lambda answer: self._indexed(line, None), frozenset({NO_INDEX}))
        if name not in indices:
            return Refused(frozenset({NO_INDEX}))

        def settle(answer: Any) -> None:
            self._indexed(line, {n: column for n, column in indices.items() if n != name})

        return Granted(settle)

    def _indexed(self, line: Line, indices: Mapping[str, str] | None) -> None:
        """Apply new indices, None if unknown; whether this creates a version is unspecified."""
        line.write(evolve(line.head, indices=indices), None, sure=False)

    # --- columns

    def alter_table_add_columns(self, request: Mapping[str, Any]) -> Outcome:
        """AlterTableAddColumns of sums, such as ``id + 3``."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head = line.head
        added = {entry["name"]: entry["expression"] for entry in request["new_columns"]}
        if set(added) & set(head.columns):
            return Refused(frozenset({BAD_INPUT, BAD_SCHEMA}))
        records = [
            {**r, **{name: _sum(text, r) for name, text in added.items()}} for r in head.records
        ]
        return self._changed(line, (*head.columns, *added), records)

    def alter_table_alter_columns(self, request: Mapping[str, Any]) -> Outcome:
        """AlterTableAlterColumns that renames."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head = line.head
        new = {entry["path"]: entry["rename"] for entry in request["alterations"]}
        faults = {NO_COLUMN} if not set(new) <= set(head.columns) else set()
        if set(new.values()) & set(head.columns):
            faults |= {BAD_INPUT, BAD_SCHEMA}
        if faults:
            return Refused(frozenset(faults))
        records = [{new.get(k, k): v for k, v in record.items()} for record in head.records]
        return self._changed(line, tuple(new.get(name, name) for name in head.columns), records)

    def alter_table_drop_columns(self, request: Mapping[str, Any]) -> Outcome:
        """AlterTableDropColumns."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head, gone = line.head, set(request["columns"])
        if not gone <= set(head.columns):
            return Refused(frozenset({NO_COLUMN}))
        if gone == set(head.columns):  # a table has at least one column
            return Refused(frozenset({BAD_INPUT, BAD_SCHEMA}))
        records = [{k: v for k, v in r.items() if k not in gone} for r in head.records]
        return self._changed(line, tuple(n for n in head.columns if n not in gone), records)

    def _changed(
        self, line: Line, columns: tuple[str, ...], records: list[dict[str, Any]]
    ) -> Outcome:
        def settle(answer: Any) -> None:
            indices = line.head.indices
            kept = indices if set(line.head.columns) <= set(columns) else line.head.unknown()
            line.write(Snapshot(columns, tuple(records), kept), answer.version)

        return Granted(settle)


def _sum(text: str, record: Mapping[str, Any]) -> int | None:
    """Return the value of a sum of a column and a number in a row."""
    column, _, number = text.partition(" + ")
    return None if record[column] is None else record[column] + int(number)


def _written_since(started: float, entry: Any) -> None:
    """Compare the time of a version, in milliseconds, with the start of this state.

    Raises:
        Mismatch: it is before the first call, or in the future.
    """
    found = entry.timestamp_millis
    if found is None:
        return
    earliest, latest = started - CLOCKS_DIFFER_MILLIS, time.time() * 1000 + CLOCKS_DIFFER_MILLIS
    if not earliest <= found <= latest:
        due = f"between {earliest:.0f} and {latest:.0f} (ms since 1970, UTC)"
        raise Mismatch(f"timestamp_millis of version {entry.version}", due, str(found))
