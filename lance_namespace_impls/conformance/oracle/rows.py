"""Expected outcomes of operations on the rows of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define

from .calls import Granted, Mismatch, Outcome, Refused, Rows, same
from .codes import (
    BAD_INPUT,
    BAD_SCHEMA,
    BAD_STATE,
    NO_COLUMN,
    NO_TABLE,
    NO_VERSION,
)
from .columns import shown_type, type_of
from .dataset import Line, Snapshot
from .predicates import faults_of, matches
from .state import names_of
from .tables import TableRules

__all__ = ["RowRules", "literal"]


@define
class RowRules(TableRules):
    """Rules of rows."""

    # --- writing

    def insert_into_table(self, request: Mapping[str, Any], rows: Rows) -> Outcome:
        """InsertIntoTable: a declared table is created with the rows."""
        identifier = names_of(request["id"])
        faults: set[int] = set()
        mode = self._mode(request, "mode", ("append", "overwrite"), faults)
        missing = self._without_table(identifier)
        dataset = self.dataset_of(identifier)
        branch = request.get("branch")
        line, opens = None, False
        if missing:
            faults |= missing | self._refused_names(*identifier)
        else:
            line = self._line(dataset, branch, faults)
            if line is not None and mode == "append":
                given, held = set(rows.columns), set(line.head.columns)
                opens = given < held  # filling the others with null is unspecified
                faults |= set() if given <= held else {BAD_SCHEMA}
        if rows.fault is not None:
            faults.add(BAD_INPUT)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            location = self.tables[identifier].location
            if line is None or branch is None:
                self._write(location, rows, answer.version, replace=mode == "overwrite")
            elif mode == "append":
                line.write(line.head.with_rows(rows), answer.version)
            else:
                line.write(line.head.replaced(rows), answer.version)
            self.same(answer.num_inserted_rows, len(rows), "num_inserted_rows")

        # Here, an insert may create a declared table; other targets may require CreateTable.
        codes = {BAD_STATE} if dataset is None and not self.known.in_full else set()
        codes |= self._open_types(rows)
        return Granted(settle, frozenset(codes | ({BAD_SCHEMA} if opens else set())))

    def update_table(self, request: Mapping[str, Any]) -> Outcome:
        """UpdateTable."""
        found = self._found_line(request)
        if isinstance(found, Refused):
            return found
        faults = faults_of(request.get("predicate"), found.head.columns)
        if any(name not in found.head.columns for name, _ in request["updates"]):
            faults |= {NO_COLUMN, BAD_INPUT} if not self.known.in_full else {NO_COLUMN}
        if faults:
            return Refused(frozenset(faults))
        old = found.head.records
        fits = [matches(request.get("predicate"), record) for record in old]
        values = {name: literal(text) for name, text in request["updates"]}
        new = [{**r, **values} if fit else r for r, fit in zip(old, fits, strict=True)]

        def settle(answer: Any) -> None:
            self.same(answer.updated_rows, sum(fits), "updated_rows")
            found.write(found.head.with_records(new), answer.version, sure=any(fits))

        return Granted(settle)

    def delete_from_table(self, request: Mapping[str, Any]) -> Outcome:
        """DeleteFromTable."""
        found = self._found_line(request)
        if isinstance(found, Refused):
            return found
        faults = faults_of(request.get("predicate", ""), found.head.columns)
        if faults:
            return Refused(frozenset(faults))
        old = found.head.records
        kept = [record for record in old if not matches(request["predicate"], record)]

        def settle(answer: Any) -> None:
            head = found.head
            if len(kept) < len(old):
                head = head.with_records(kept, ordered=True)
            found.write(head, answer.version, sure=len(kept) < len(old))

        return Granted(settle)

    def merge_insert_into_table(self, request: Mapping[str, Any], rows: Rows) -> Outcome:
        """MergeInsertIntoTable."""
        found = self._found_line(request)
        if isinstance(found, Refused):
            return found
        key = request.get("on")
        if key is None:
            return Refused(frozenset({BAD_INPUT}))
        if key not in found.head.columns or key not in rows.columns:
            codes = {NO_COLUMN, BAD_INPUT}
            return Refused(frozenset(codes if self.known.in_full else codes | {BAD_SCHEMA}))
        if not set(rows.columns) <= set(found.head.columns):
            return Refused(frozenset({NO_COLUMN, BAD_INPUT, BAD_SCHEMA}))
        keys_given = [record[key] for record in rows.records if record[key] is not None]
        if len(keys_given) != len(set(keys_given)):
            # Which of several rows with one key wins is unspecified; such rows are not drawn.
            return Refused(frozenset({BAD_INPUT, BAD_SCHEMA}))
        # A null key matches no row.
        given = {record[key]: record for record in rows.records if record[key] is not None}
        old = found.head.records
        keys = {record[key] for record in old if record[key] is not None}
        updates = bool(request.get("when_matched_update_all"))
        inserts = bool(request.get("when_not_matched_insert_all"))
        deletes = bool(request.get("when_not_matched_by_source_delete"))
        limit = (request.get("when_matched_update_all_filt") or "").removeprefix("target.") or None
        hit = [record[key] in given and matches(limit, record) for record in old]
        spare = request.get("when_not_matched_by_source_delete_filt")
        lost = [deletes and record[key] not in given and matches(spare, record) for record in old]
        matched = sum(hit)
        fresh = [record for record in rows.records if record[key] not in keys]
        none = dict.fromkeys(found.head.columns)
        new = [
            {**none, **given[r[key]]} if updates and now else r
            for r, now, gone in zip(old, hit, lost, strict=True)
            if not gone
        ]
        new += fresh if inserts else []

        def settle(answer: Any) -> None:
            self.same(answer.num_updated_rows, matched if updates else 0, "num_updated_rows")
            self.same(answer.num_inserted_rows, len(fresh) if inserts else 0, "num_inserted_rows")
            gone = sum(lost)
            self.same(answer.num_deleted_rows, gone, "num_deleted_rows")
            sure = bool((updates and matched) or (inserts and fresh) or gone)
            found.write(found.head.with_records(new), answer.version, sure=sure)

        return Granted(settle)

    # --- reading

    def count_table_rows(self, request: Mapping[str, Any]) -> Outcome:
        """CountTableRows."""
        found = self._to_read(request)
        if isinstance(found, Refused):
            return found
        snapshot = found[0]
        if snapshot is not None:
            faults = faults_of(request.get("predicate"), snapshot.columns)
            if faults:
                return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            if snapshot is not None:
                fit = [r for r in snapshot.records if matches(request.get("predicate"), r)]
                same(answer.count, len(fit), f"the rows in {request['id']}")

        return Granted(settle)

    def query_table(self, request: Mapping[str, Any]) -> Outcome:
        """QueryTable: without a vector, the rows in the order of the writes; with one, the nearest."""
        found = self._to_read(request)
        if isinstance(found, Refused):
            return found
        snapshot = found[0]
        faults = self._query_faults(request, snapshot) if snapshot is not None else set()
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            if snapshot is not None:
                self._same_rows(request, snapshot, answer)

        return Granted(settle)

    def _query_faults(self, request: Mapping[str, Any], snapshot: Snapshot) -> set[int]:
        faults = faults_of(request.get("filter"), snapshot.columns)
        if not set(_asked(request, snapshot).values()) <= set(snapshot.columns):
            faults |= {NO_COLUMN} if self.known.in_full else {NO_COLUMN, BAD_INPUT}
        vector = (request.get("vector") or {}).get("single_vector")
        if vector is not None:
            if request.get("vector_column") not in snapshot.columns:
                faults |= {NO_COLUMN, BAD_INPUT}
            elif len(vector) != _DIMENSION:
                faults |= {BAD_INPUT}
        return faults

    def _same_rows(self, request: Mapping[str, Any], snapshot: Snapshot, answer: Any) -> None:
        """Compare the rows of a query, their columns, types and order."""
        columns = _asked(request, snapshot)
        vector = (request.get("vector") or {}).get("single_vector")
        extra = ["_distance"] * (vector is not None) + ["_rowid"] * bool(request.get("with_row_id"))
        same(sorted(answer.column_names), sorted([*columns, *extra]), "the columns of the rows")
        for shown, column in columns.items():
            kind = shown_type(answer.schema.field(shown).type)
            same(kind, shown_type(type_of(column)), f"type of column {column}")
        if request.get("with_row_id"):
            ids = answer.column("_rowid").to_pylist()
            same(len(set(ids)), len(ids), "number of different row ids")
        fit = [r for r in snapshot.records if matches(request.get("filter"), r)]
        start = request.get("offset") or 0
        most = request.get("k") or len(fit)  # 0 is no limit
        if vector is not None:
            self._same_nearest(request, fit, vector, answer)
            return
        expected = [_row(record, list(columns.values())) for record in fit]
        shown_rows = [_row(record, list(columns)) for record in answer.to_pylist()]
        due = len(expected[start : start + most])
        if not snapshot.ordered and due < len(expected):  # any of the rows
            same(len(shown_rows), due, f"the number of rows in {request['id']}")
            for row in shown_rows:
                same(row in expected, True, f"whether the table has the row {row}")
            return
        if snapshot.ordered:
            expected = expected[start : start + most]
        else:
            expected, shown_rows = sorted(expected), sorted(shown_rows)
        if shown_rows == expected:
            return
        first = next((a, b) for a, b in _paired(shown_rows, expected) if a != b)
        raise Mismatch(
            f"the rows in {request['id']}",
            f"{len(expected)} rows including {first[1]}",
            f"{len(shown_rows)} rows with {first[0]} instead",
        )

    def _same_nearest(
        self,
        request: Mapping[str, Any],
        fit: list[Mapping[str, Any]],
        vector: list[float],
        answer: Any,
    ) -> None:
        """Compare the distances of the rows that a vector search returns, nearest first."""
        column = request["vector_column"]
        measure = _dot if request.get("distance_type") == "dot" else _l2
        distances = sorted(
            measure(record[column], vector) for record in fit if record[column] is not None
        )
        lower, upper = request.get("lower_bound"), request.get("upper_bound")
        distances = [
            d for d in distances if (lower is None or d >= lower) and (upper is None or d < upper)
        ]
        start = request.get("offset") or 0
        found = answer.column("_distance").to_pylist()
        same(found, distances[start : start + request["k"]], f"distances of {request['id']}")

    # --- lines and versions of a request

    def _found_line(self, request: Mapping[str, Any]) -> Line | Refused:
        """Return the line of versions in a request, or the outcome if it is missing."""
        identifier = names_of(request["id"])
        faults = self._without_table(identifier)
        if NO_TABLE in faults:
            faults |= self._refused_names(*identifier)
        dataset = self.dataset_of(identifier)
        if not faults and dataset is None:
            faults.add(BAD_STATE)
        line = None if faults else self._line(dataset, request.get("branch"), faults)
        return Refused(frozenset(faults)) if faults or line is None else line

    def _to_read(self, request: Mapping[str, Any]) -> tuple[Snapshot | None] | Refused:
        """Return a tuple of the content that a request reads, None if unknown."""
        line = self._found_line(request)
        version = request.get("version")
        if isinstance(line, Refused):
            dataset = self.dataset_of(names_of(request["id"]))
            lacking = version is not None and dataset is None and BAD_STATE in line.codes
            return Refused(line.codes | {NO_VERSION}) if lacking else line
        if version is None:
            return (line.head,)
        if version not in line.versions:
            return Refused(frozenset(self.no_version(version)))
        return (line.versions[version],)


def _l2(first: list[float], second: list[float]) -> float:
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))


def _dot(first: list[float], second: list[float]) -> float:
    return 1 - sum(a * b for a, b in zip(first, second, strict=True))


_DIMENSION = 2
"""Number of elements of the model's vectors."""


def _asked(request: Mapping[str, Any], snapshot: Snapshot) -> dict[str, str]:
    """Return the columns that a query returns: their names in the answer and in the table."""
    columns = request.get("columns") or {}
    names, aliases = columns.get("column_names"), columns.get("column_aliases")
    if aliases:
        return {alias: str(column) for alias, column in aliases.items()}
    return {name: name for name in names or snapshot.columns}


def literal(text: str) -> Any:
    """Return the value of an SQL literal."""
    return text[1:-1] if text.startswith("'") else int(text)


def _row(record: Mapping[str, Any], columns: list[str]) -> str:
    return repr([record.get(name) for name in columns])


def _paired(found: list[str], expected: list[str]) -> list[tuple[str, str]]:
    length = max(len(found), len(expected))
    return [
        (found[n] if n < len(found) else "none", expected[n] if n < len(expected) else "none")
        for n in range(length)
    ]
