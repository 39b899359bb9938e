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
from .dataset import Dataset, Line
from .rows import RowRules
from .state import names_of
from .tables import kit_metadata

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
        limit, newest = request.get("limit"), bool(request.get("descending"))

        def settle(answer: Any) -> None:
            numbers = [entry.version for entry in answer.versions]
            if newest:
                same(numbers, sorted(numbers, reverse=True), "order of the versions")
            if limit is None:
                line.learn(numbers)
            elif not line.pending and line.tells_all:
                due = sorted(line.versions, reverse=True)[:limit]
                same(
                    numbers if newest else len(numbers),
                    due if newest else len(due),
                    "page of versions",
                )
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
            return Refused(frozenset(self.no_version(version)))
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
            return Refused(frozenset(self.no_version(request["version"])))
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
        branch = request.get("branch")
        line = self._line(dataset, branch, faults)
        if line is not None and request["version"] not in line.versions:
            faults |= self.no_version(request["version"])
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            dataset.tags[request["tag"]] = request["version"]
            dataset.tag_branches.pop(request["tag"], None)
            if branch is not None:
                dataset.tag_branches[request["tag"]] = branch

        return Granted(settle)

    def get_table_tag_version(self, request: Mapping[str, Any]) -> Outcome:
        """GetTableTagVersion."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset
        tag = request["tag"]
        if tag not in dataset.tags:
            return Refused(frozenset({NO_TAG}))

        def settle(answer: Any) -> None:
            same(answer.version, dataset.tags[tag], f"version of {tag}")
            same(answer.branch or None, dataset.tag_branches.get(tag), f"branch of {tag}")

        return Granted(settle)

    def list_table_tags(self, request: Mapping[str, Any]) -> Outcome:
        """ListTableTags."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset

        def settle(answer: Any) -> None:
            same({name: tag.version for name, tag in answer.tags.items()}, dataset.tags, "tags")
            found = {name: tag.branch for name, tag in answer.tags.items() if tag.branch}
            same(found, dataset.tag_branches, "branches of the tags")

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
            dataset.tag_branches.pop(request["tag"], None)

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
        version, branch = request.get("from_version"), request.get("from_branch")
        line = self._line(dataset, branch, faults)
        if line is not None and version is not None and version not in line.versions:
            # The protocol does not specify the code for this operation.
            faults |= {NO_VERSION, NO_TABLE, BAD_INPUT}
        if faults or line is None:
            return Refused(frozenset(faults))
        held = line.head if version is None else line.versions[version]
        assert held is not None
        first = max(line.versions) if version is None and not line.pending else version

        def settle(answer: Any) -> None:
            # The protocol does not specify whether a branch lists the versions before it.
            start = evolve(held, indices=held.unknown())
            new = Line(pending=[(start, False)], tells_all=False, parent=(branch, first))
            dataset.branches[request["name"]] = new

        return Granted(settle)

    def list_table_branches(self, request: Mapping[str, Any]) -> Outcome:
        """ListTableBranches; whether it includes the main line is unspecified."""
        dataset = self._found_dataset(request)
        if isinstance(dataset, Refused):
            return dataset

        def settle(answer: Any) -> None:
            shown = sorted(name for name in answer.branches if name != "main")
            same(shown, sorted(dataset.branches), "branches")
            for name, line in dataset.branches.items():
                branch, version = line.parent or (None, None)
                found = answer.branches[name]
                if version is not None:
                    same(found.parent_version, version, f"parentVersion of {name}")
                if (found.parent_branch or "main") != "main" or branch is not None:
                    same(found.parent_branch, branch, f"parentBranch of {name}")

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
            for line in dataset.branches.values():  # how a lost parent is listed is unspecified
                if line.parent is not None and line.parent[0] == request["name"]:
                    line.parent = None

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

    def describe_table_index_stats(self, request: Mapping[str, Any]) -> Outcome:
        """DescribeTableIndexStats: an index covers rows that existed when it was created."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head, name = line.head, request["index_name"]
        if head.indices is None:
            return Granted(lambda answer: None, frozenset({NO_INDEX}))
        if name not in head.indices:
            return Refused(frozenset({NO_INDEX}))

        def settle(answer: Any) -> None:
            counts = answer.num_indexed_rows, answer.num_unindexed_rows
            if None not in counts and head.fragments is not None:
                same(sum(counts), len(head.records), f"rows of the index {name}")
            kind = (answer.index_type or "BTREE").replace("_", "").upper()
            same(kind, "BTREE", f"type of the index {name}")

        return Granted(settle)

    def get_table_stats(self, request: Mapping[str, Any]) -> Outcome:
        """GetTableStats: one fragment for each write that only added rows, as in LN-STATS-001."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head = line.head

        def settle(answer: Any) -> None:
            same(answer.num_rows, len(head.records), f"num_rows of {request['id']}")
            if head.indices is not None:
                same(answer.num_indices, len(head.indices), "num_indices")
            if head.fragments is not None:
                stats, parts = answer.fragment_stats, head.fragments
                same(stats.num_fragments, len(parts), "num_fragments")
                if parts:
                    found = stats.lengths.min, stats.lengths.max
                    same(found, (min(parts), max(parts)), "shortest and longest fragment")

        return Granted(settle)

    def explain_table_query_plan(self, request: Mapping[str, Any]) -> Outcome:
        """ExplainTableQueryPlan: a text; its form is unspecified."""
        query = {**request["query"], **{k: v for k, v in request.items() if k != "query"}}
        return self._plan(query, "plan")

    def analyze_table_query_plan(self, request: Mapping[str, Any]) -> Outcome:
        """AnalyzeTableQueryPlan: a text; its form is unspecified."""
        return self._plan(request, "analysis")

    def _plan(self, query: Mapping[str, Any], key: str) -> Outcome:
        found = self._to_read(query)
        if isinstance(found, Refused):
            # The protocol semantics list only 4 for plans; 11 means that the version is missing.
            return Refused(found.codes | ({NO_TABLE} if NO_VERSION in found.codes else set()))
        if found[0] is not None:
            faults = self._query_faults(query, found[0])
            if faults:
                return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            same(bool(getattr(answer, key).strip()), True, f"whether there is a text in {key}")

        return Granted(settle)

    def batch_delete_table_versions(self, request: Mapping[str, Any]) -> Outcome:
        """BatchDeleteTableVersions; the end of a range is exclusive."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        spans = [(span["start_version"], span["end_version"]) for span in request["ranges"]]
        gone = {v for v in line.versions if any(start <= v < end for start, end in spans)}

        def settle(answer: Any) -> None:
            self.same(answer.deleted_count, len(gone), "deleted_count")
            for version in gone:
                del line.versions[version]

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
        faults: set[int] = set()
        if set(added) & set(head.columns):
            faults |= {BAD_INPUT, BAD_SCHEMA}
        if any(text.split(" + ")[0] not in head.columns for text in added.values()):
            # The schema change does not fit, and the expression is invalid, too.
            faults |= {NO_COLUMN, BAD_INPUT, BAD_SCHEMA}
        if faults:
            return Refused(frozenset(faults))
        records = [
            {**r, **{name: _sum(text, r) for name, text in added.items()}} for r in head.records
        ]
        return self._changed(line, {name: name for name in head.columns}, records, tuple(added))

    def alter_table_alter_columns(self, request: Mapping[str, Any]) -> Outcome:
        """AlterTableAlterColumns that renames."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head = line.head
        new = {entry["path"]: entry["rename"] for entry in request["alterations"]}
        faults = set() if set(new) <= set(head.columns) else self._no_column()
        names = list(new.values())
        if set(names) & set(head.columns) or len(set(names)) < len(names):
            faults |= {BAD_INPUT, BAD_SCHEMA}
        if faults:
            return Refused(frozenset(faults))
        records = [{new.get(k, k): v for k, v in record.items()} for record in head.records]
        return self._changed(line, {name: new.get(name, name) for name in head.columns}, records)

    def alter_table_drop_columns(self, request: Mapping[str, Any]) -> Outcome:
        """AlterTableDropColumns."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head, gone = line.head, set(request["columns"])
        if not gone <= set(head.columns):
            return Refused(frozenset(self._no_column()))
        if gone == set(head.columns):  # a table has at least one column
            return Refused(frozenset({BAD_INPUT, BAD_SCHEMA}))
        records = [{k: v for k, v in r.items() if k not in gone} for r in head.records]
        kept = {name: name for name in head.columns if name not in gone}
        return self._changed(line, kept, records)

    def _no_column(self) -> set[int]:
        """Return the codes for a missing column; the descriptions of the fields also name 13."""
        return {NO_COLUMN} if self.known.in_full else {NO_COLUMN, BAD_INPUT}

    def _changed(
        self,
        line: Line,
        kept: Mapping[str, str],
        records: list[dict[str, Any]],
        added: tuple[str, ...] = (),
    ) -> Outcome:
        """Apply a change of columns.

        Args:
            line: the line of versions.
            kept: new name of each column that is kept, by its old name.
            records: the rows afterwards.
            added: new columns.
        """

        def settle(answer: Any) -> None:
            head = line.head
            same_names = all(old == new for old, new in kept.items())
            whole = same_names and len(kept) == len(head.columns)
            of_columns = {
                kept[name]: held for name, held in head.of_columns.items() if name in kept
            }
            new = evolve(
                head,
                columns=(*kept.values(), *added),
                records=tuple(records),
                indices=head.indices if whole else head.unknown(),
                of_columns=of_columns,
            )
            line.write(new, answer.version)

        return Granted(settle)

    # --- metadata

    def update_table_schema_metadata(self, request: Mapping[str, Any]) -> Outcome:
        """UpdateTableSchemaMetadata: null removes a key."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head = line.head
        metadata = None if head.metadata is None else _merged(head.metadata, request["metadata"])

        def settle(answer: Any) -> None:
            if metadata is not None and answer.metadata is not None:
                same(kit_metadata(answer.metadata), metadata, "metadata of the schema")
            line.write(evolve(head, metadata=metadata), None, sure=False)

        return Granted(settle)

    def update_field_metadata(self, request: Mapping[str, Any]) -> Outcome:
        """UpdateFieldMetadata: an entry extends the metadata of a column, or replaces it."""
        line = self._found_line(request)
        if isinstance(line, Refused):
            return line
        head = line.head
        held = dict(head.of_columns)
        for entry in request["updates"]:
            if entry["path"] not in head.columns:
                return Refused(frozenset(self._no_column()))
            before = {} if entry.get("replace") else held.get(entry["path"], {})
            held[entry["path"]] = _merged(before, entry["metadata"])

        def settle(answer: Any) -> None:
            if answer.fields is not None:
                found = {path: kit_metadata(pairs) for path, pairs in answer.fields.items()}
                due = {entry["path"]: held[entry["path"]] for entry in request["updates"]}
                same(found, due, "metadata of the columns")
            line.write(evolve(head, of_columns=held), answer.version, sure=False)
            if len(request["updates"]) > 1:  # each entry may create a version
                line.tells_all = False

        return Granted(settle)


def _merged(held: Mapping[str, str], given: Mapping[str, str | None]) -> dict[str, str]:
    both = {**held, **given}
    return {key: value for key, value in both.items() if value is not None}


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
