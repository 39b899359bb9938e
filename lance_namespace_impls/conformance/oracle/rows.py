"""Expected outcomes of operations on the rows of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define

from .calls import Granted, Mismatch, Outcome, Refused, Rows, same
from .codes import BAD_INPUT, BAD_SCHEMA, BAD_STATE, NO_BRANCH, NO_COLUMN, NO_TABLE, NO_VERSION
from .dataset import Dataset, Line, Snapshot, matches
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
                line.write(Snapshot.of(rows), answer.version)
            self.same(answer.num_inserted_rows, len(rows), "num_inserted_rows")

        # Here, an insert may create a declared table; other targets may require CreateTable.
        codes = {BAD_STATE} if dataset is None and not self.known.in_full else set()
        return Granted(settle, frozenset(codes | ({BAD_SCHEMA} if opens else set())))

    def update_table(self, request: Mapping[str, Any]) -> Outcome:
        """UpdateTable."""
        found = self._found_line(request)
        if isinstance(found, Refused):
            return found
        faults = {NO_COLUMN for name, _ in request["updates"] if name not in found.head.columns}
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
        old = found.head.records
        kept = [record for record in old if not matches(request["predicate"], record)]

        def settle(answer: Any) -> None:
            found.write(found.head.with_records(kept), answer.version, sure=len(kept) < len(old))

        return Granted(settle)

    def merge_insert_into_table(self, request: Mapping[str, Any], rows: Rows) -> Outcome:
        """MergeInsertIntoTable."""
        found = self._found_line(request)
        if isinstance(found, Refused):
            return found
        key = request["on"]
        if key not in found.head.columns:
            return Refused(frozenset({NO_COLUMN, BAD_INPUT}))
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
        matched = sum(record[key] in given for record in old)
        fresh = [record for record in rows.records if record[key] not in keys]
        new = [given.get(r[key], r) if updates else r for r in old]
        if deletes:
            new = [record for record in new if record[key] in given]
        new += fresh if inserts else []

        def settle(answer: Any) -> None:
            self.same(answer.num_updated_rows, matched if updates else 0, "num_updated_rows")
            self.same(answer.num_inserted_rows, len(fresh) if inserts else 0, "num_inserted_rows")
            gone = len(old) - matched if deletes else 0
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

        def settle(answer: Any) -> None:
            if found[0] is not None:
                fit = [r for r in found[0].records if matches(request.get("predicate"), r)]
                same(answer.count, len(fit), f"the rows in {request['id']}")

        return Granted(settle)

    def query_table(self, request: Mapping[str, Any]) -> Outcome:
        """QueryTable without a vector: the rows, in any order."""
        found = self._to_read(request)
        if isinstance(found, Refused):
            return found
        snapshot = found[0]
        asked = (request.get("columns") or {}).get("column_names")
        if snapshot is not None and asked and not set(asked) <= set(snapshot.columns):
            return Refused(frozenset({NO_COLUMN}))

        def settle(answer: Any) -> None:
            if snapshot is None:
                return
            columns = list(asked or snapshot.columns)
            same(sorted(answer.column_names), sorted(columns), "the columns of the rows")
            fit = [r for r in snapshot.records if matches(request.get("filter"), r)]
            expected = sorted(_row(record, columns) for record in fit)
            shown = sorted(_row(record, columns) for record in answer.to_pylist())
            if shown == expected:
                return
            first = next((a, b) for a, b in _paired(shown, expected) if a != b)
            raise Mismatch(
                f"the rows in {request['id']}",
                f"{len(expected)} rows including {first[1]}",
                f"{len(shown)} rows with {first[0]} instead",
            )

        return Granted(settle)

    # --- lines and versions of a request

    def _line(self, dataset: Dataset | None, branch: str | None, faults: set[int]) -> Line | None:
        """Return the line of versions in a request; add the code of a missing one to `faults`."""
        if dataset is None:
            faults |= {NO_BRANCH} if branch is not None else set()
            return None
        if branch is None:
            return dataset.main
        if branch not in dataset.branches:
            faults.add(NO_BRANCH)
        return dataset.branches.get(branch)

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
            return Refused(frozenset({NO_VERSION}))
        return (line.versions[version],)


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
