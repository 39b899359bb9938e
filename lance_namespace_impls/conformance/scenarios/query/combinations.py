"""Several settings or entries in one request."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ...indexed_tables import built
from ...lab import Lab, Skipped
from ...requirement import check
from ...rows import people, stream
from ...table_versions import version_numbers

_QUERY = "rest.yaml, QueryTableRequest"
_TABLES = ["tables"]
_SOUGHT = (5.0, 1.0)
_OLD = (1, 2, 3, 4, 5)
_NEW = (4, 5, 6, 7)


Row = dict[str, Any]

_SCHEMA = pa.schema([("id", pa.int64()), ("Name", pa.string()), ("n", pa.int32()), ("x", pa.float64()),
                     ("on", pa.bool_()),
                     ("vec", pa.list_(pa.float32(), 2)), ("alt", pa.list_(pa.float32(), 2))])  # fmt: skip


def _row(i: int) -> Row:
    return {"id": i, "Name": (None, "", "sch\u00f6n", "it's", "a%b_c")[i % 5] if i % 7 else f"n{i}",
            "n": None if i % 3 == 0 else i % 4, "x": i / 4, "on": None if i % 5 == 0 else i % 2 == 0,
            "vec": [float(i), 1.0], "alt": [float(20 - i), 1.0]}  # fmt: skip


_FIRST = [_row(i) for i in range(1, 9)]

_SECOND = [_row(i) for i in range(9, 13)]

_SIDE = [_row(i) for i in range(30, 33)]

_FILTERS: tuple[tuple[str, Callable[[Row], bool | None]], ...] = (
    ("id > 3", lambda r: r["id"] > 3),
    ("n IS NULL", lambda r: r["n"] is None),
    ("n IS NOT NULL", lambda r: r["n"] is not None),
    ("n <> 1", lambda r: r["n"] is not None and r["n"] != 1),
    ("NOT (n = 1)", lambda r: r["n"] is not None and r["n"] != 1),
    ("`Name` = 'it''s'", lambda r: r["Name"] == "it's"),
    ("`Name` = ''", lambda r: r["Name"] == ""),
    ("`Name` LIKE 'sch%'", lambda r: (r["Name"] or "").startswith("sch")),
    ("`Name` = 'sch\u00f6n'", lambda r: r["Name"] == "sch\u00f6n"),
    ("id IN (2, 5, 99)", lambda r: r["id"] in (2, 5)),
    ("id NOT IN (2, 5)", lambda r: r["id"] not in (2, 5)),
    ("id BETWEEN 2 AND 4", lambda r: 2 <= r["id"] <= 4),
    ("on", lambda r: r["on"]),
    ("on = false OR id = 5", lambda r: r["on"] is False or r["id"] == 5),
    ("x >= 1.5 AND n IS NOT NULL", lambda r: r["x"] >= 1.5 and r["n"] is not None),
    ("id % 2 = 0 AND (n = 2 OR n IS NULL)", lambda r: r["id"] % 2 == 0 and r["n"] in (2, None)),
    ("id > 3 AND id < 3", lambda r: False),
    ("true", lambda r: True),
)


def _made(lab: Lab) -> list[str]:
    def make() -> list[str]:
        table = lab.table_id()
        lab.given("CreateTable", _stream(_FIRST), id=table)
        lab.given("InsertIntoTable", _stream(_SECOND), id=table)
        lab.call("CreateTableBranch", id=table, name="side", from_version=1)
        if lab.last is not None and lab.last.succeeded:
            lab.call("InsertIntoTable", _stream(_SIDE), id=table, branch="side")
        return table

    return lab.kept("combined", make)


def _stream(rows: list[Row]) -> bytes:
    return stream(pa.Table.from_pylist(rows, _SCHEMA))


def _lines(lab: Lab, table: list[str]) -> list[tuple[dict[str, Any], list[Row]]]:
    """Return the fields that select a version or branch, each with the expected rows."""
    found: list[tuple[dict[str, Any], list[Row]]] = [
        ({}, [*_FIRST, *_SECOND]),
        ({"version": 1}, _FIRST),
    ]
    reply = lab.call("DescribeTableVersion", id=table, branch="side")
    if reply.succeeded:
        found.append(({"branch": "side"}, [*_FIRST, *_SIDE]))
        newest = (reply.answer or {})["version"]["version"]
        found.append(({"branch": "side", "version": newest}, [*_FIRST, *_SIDE]))
    return found


@check("LN-COMBINED-001",
       "A condition means the same in a query and in a count, on every branch and version.",
       "rest.yaml, the fields filter and predicate", "QueryTable", "CountTableRows", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def conditions(lab: Lab) -> None:
    table = _made(lab)
    lines = _lines(lab, table)
    asked = [
        (line, each)
        for number, line in enumerate(lines)
        for each in (_FILTERS[number :: len(lines) - 1] if number else _FILTERS)
    ]
    for (of, rows), (condition, holds) in asked:
        due = [r["id"] for r in rows if holds(r) is True]
        found = lab.query(table, filter=condition, columns={"column_names": ["id"]}, **of)
        lab.same(
            sorted(found.column("id").to_pylist()),
            due,
            f"the ids of rows with {condition} {of or ''}",
        )
        lab.same(
            lab.count(table, predicate=condition, **of),
            len(due),
            f"the number of rows with {condition} {of or ''}",
        )


@check("LN-COMBINED-002",
       "UpdateTable and DeleteFromTable with a predicate change exactly the matching rows.",
       "rest.yaml, the fields predicate", "UpdateTable", "DeleteFromTable", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def conditional_writes(lab: Lab) -> None:
    table = lab.table_id()
    for condition, holds in _FILTERS[::2]:
        lab.given("CreateTable", _stream([*_FIRST, *_SECOND]), id=table, mode="Overwrite")
        rows = [*_FIRST, *_SECOND]
        answer = lab.maybe("UpdateTable", id=table, updates=[["x", "x + 100"]], predicate=condition)
        hit = [r["id"] for r in rows if holds(r) is True]
        lab.same(answer["updated_rows"], len(hit), f"updated_rows for {condition}")
        found = {r["id"]: r for r in lab.query(table).to_pylist()}
        due = {r["id"]: {**r, "x": r["x"] + 100} if r["id"] in hit else r for r in rows}
        for key, row in due.items():
            lab.same(found.get(key), row, f"the row {key} after an update with {condition}")
        if "x " not in condition:
            lab.ok("DeleteFromTable", id=table, predicate=condition)
            lab.same(
                lab.ids(table),
                [i for i in due if i not in hit],
                f"the ids after a deletion with {condition}",
            )


def covering(
    lines: Sequence[Any],
    settings: Mapping[str, Sequence[Any]],
    allowed: Callable[[dict[str, Any]], bool] = lambda request: True,
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield lines with requests that cover every allowed triple of values; None omits a field."""
    choices = [lines, *settings.values()]
    every = list(itertools.product(*(range(len(values)) for values in choices)))
    random.Random(0).shuffle(every)
    seen: set[Any] = set()
    for numbers in every:
        line, *values = (values[n] for values, n in zip(choices, numbers, strict=True))
        request = {k: v for k, v in zip(settings, values, strict=True) if v is not None}
        threes = set(itertools.combinations(enumerate(numbers), 3))
        if allowed(request) and not threes <= seen:
            seen |= threes
            yield line, request


_SETTINGS: dict[str, tuple[Any, ...]] = {
    "filter": (None, "id > 3", "n IS NOT NULL"),
    "columns": (
        None,
        {"column_aliases": {"id": "n", "n": "id"}},
        {"column_names": ["Name", "id"]},
        {"column_aliases": {"key": "id", "half": "x / 2"}},
    ),
    "k": (3, 100),
    "offset": (None, 0, 2),
    "with_row_id": (None, True, False),
}


@check("LN-COMBINED-003",
       "filter, columns, k, offset, with_row_id, version and branch work in combination.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def scans(lab: Lab) -> None:
    table = _made(lab)
    for (of, rows), request in covering(_lines(lab, table), _SETTINGS):
        reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), **request, **of)
        if reply.code in (0, 13) and "column_aliases" in (request.get("columns") or {}):
            continue
        lab.must_succeed(reply)
        condition = request.get("filter")
        holds = dict(_FILTERS)[condition or "true"]
        start = request.get("offset", 0)
        due = [r for r in rows if holds(r) is True][start : start + request["k"]]
        found = reply.rows
        what = f"{request} {of or ''}"
        lab.same(found.num_rows, len(due), f"the number of rows in {what}")
        names = [n for n in found.column_names if n != "_rowid"]
        columns = request.get("columns") or {}
        if "column_aliases" in columns:
            aliases = columns["column_aliases"]
            lab.same(sorted(names), sorted(aliases), f"the columns in {what}")
            lab.same(
                [{k: r[k] for k in aliases} for r in found.to_pylist()],
                [{k: {**r, "x / 2": r["x"] / 2}[of_] for k, of_ in aliases.items()} for r in due],
                f"the rows in {what}",
            )
        else:
            lab.same(names, columns.get("column_names") or _SCHEMA.names, f"the columns in {what}")
            given = [{k: r[k] for k in names} for r in found.to_pylist()]
            lab.same(given, [{k: r[k] for k in names} for r in due], f"the rows in {what}")
        lab.same(
            "_rowid" in found.column_names,
            request.get("with_row_id") is True,
            f"whether _rowid is in {what}",
        )


_SEARCHES: dict[str, tuple[Any, ...]] = {
    "vector_column": ("vec", "alt"),
    "filter": (None, "id > 3"),
    "prefilter": (True, False),
    "k": (2, 50),
    "offset": (None, 1),
    "lower_bound": (None, 1.0),
    "upper_bound": (None, 9.0),
    "distance_type": (None, "cosine", "l2"),
}


def _settled(request: dict[str, Any]) -> bool:
    """Return False if it is unspecified whether the filter or the offset applies first."""
    return not ("offset" in request and "filter" in request and not request["prefilter"])


def _distance(vector: list[float], kind: str | None) -> float:
    if kind == "cosine":
        inner = sum(a * b for a, b in zip(vector, _SOUGHT, strict=True))
        return round(1 - inner / (math.hypot(*vector) * math.hypot(*_SOUGHT)), 4) + 0.0
    return (vector[0] - _SOUGHT[0]) ** 2


@check("LN-COMBINED-004",
       "The settings of a search work in combination, with a version or branch too.", _QUERY,
       "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def searches(lab: Lab) -> None:
    table = _made(lab)
    for (of, rows), request in covering(_lines(lab, table), _SEARCHES, _settled):
        reply = lab.call(
            "QueryTable", id=table, vector={"single_vector": [*_SOUGHT]}, **request, **of
        )
        if reply.code == 0:
            raise Skipped(f"QueryTable: {reply.outcome()}")
        lab.must_succeed(reply)
        column = request["vector_column"]
        far = {r["id"]: _distance(r[column], request.get("distance_type")) for r in rows}
        near = sorted(far.items(), key=lambda pair: pair[1])
        wanted = (lambda i: i > 3) if "filter" in request else (lambda i: True)
        if request["prefilter"]:
            near = [p for p in near if wanted(p[0])]
        near = [
            p
            for p in near
            if request.get("lower_bound", -1) <= p[1] < request.get("upper_bound", 1e9)
        ]
        start = request.get("offset", 0)
        due = near[start : start + request["k"]]
        # Of rows at equal distances, any may come last.
        due = [p for p in due if wanted(p[0])] if not request["prefilter"] else due
        found = [(r["id"], round(r["_distance"], 4) + 0.0) for r in reply.rows.to_pylist()]
        what = f"{request} {of or ''}"
        ties = (
            len(near) > start + request["k"]
            and near[start + request["k"]][1] == near[start + request["k"] - 1][1]
        )
        ties = ties or (start > 0 and len(near) > start and near[start][1] == near[start - 1][1])
        if not (ties and not request["prefilter"]):
            lab.same(len(found), len(due), f"the number of rows in {what}")
            far_off = [
                (a[1], b[1]) for a, b in zip(found, due, strict=True) if abs(a[1] - b[1]) > 2e-4
            ]
            lab.same(far_off, [], f"the wrong distances in {what}")
        for key, distance in found:
            lab.that(
                abs(far.get(key, -1) - distance) < 2e-4,
                f"row {key} with the distance {far.get(key)} in {what}",
                distance,
            )
            lab.that(wanted(key), f"only rows that match the filter of {what}", key)


@check("LN-COMBINED-005", "Several entries in one call have the same effect as one call per entry.",
       "rest.yaml, the lists of the requests", "CreateTable", "QueryTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def several(lab: Lab) -> None:
    lists: tuple[tuple[str, str, list[Any], dict[str, Any]], ...] = (
        ("AlterTableAddColumns", "new_columns", [
            {"name": "a", "expression": "id + 1"}, {"name": "b", "expression": "x * 2"},
            {"name": "C", "expression": "`Name`"}], {}),
        ("AlterTableAlterColumns", "alterations", [
            {"path": "Name", "rename": "label"}, {"path": "n", "data_type": {"type": "int64"}},
            {"path": "x", "rename": "y"}], {}),
        ("AlterTableDropColumns", "columns", ["x", "Name", "on"], {}),
        ("UpdateFieldMetadata", "updates", [
            {"path": "id", "metadata": {"unit": "m"}}, {"path": "x", "metadata": {"unit": "s", "by": "a"}},
            {"path": "Name", "metadata": {"more": ""}}], {}),
        ("UpdateTable", "updates", [["x", "x + 1"], ["Name", "'u'"], ["n", "7"]], {"predicate": "id > 4"}),
        ("AlterTable", "unset_properties", ["a", "b", "missing"], {}),
    )  # fmt: skip
    for operation, key, entries, more in lists:
        told = []
        for parts in ([entries], [[entry] for entry in entries]):
            table = lab.table_id()
            reply = lab.call(
                "CreateTable", _stream(_FIRST), id=table, properties={"a": "1", "b": "2", "c": "3"}
            )
            if not reply.succeeded:
                lab.given("CreateTable", _stream(_FIRST), id=table)
            for part in parts:
                reply = lab.call(operation, id=table, **{key: part}, **more)
            if reply.code in (0, 13):
                break
            lab.must_succeed(reply)
            answer = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            props = {k: v for k, v in (answer.get("properties") or {}).items() if k in "abc"}
            told.append((answer.get("schema"), props, lab.query(table).sort_by("id").to_pylist()))
        if len(told) == 2:
            for what, together, apart in zip(
                ("the schema", "the properties", "the rows"), *told, strict=True
            ):
                lab.same(
                    together,
                    apart,
                    f"{what} after {operation} with several entries, as after one call per entry,",
                )


_MERGE: dict[str, tuple[Any, ...]] = {
    "when_matched_update_all": (None, True),
    "when_matched_update_all_filt": (None, "source.id = 4", "target.score IS NULL"),
    "when_not_matched_insert_all": (None, True),
    "when_not_matched_by_source_delete": (None, True),
    "when_not_matched_by_source_delete_filt": (None, "id < 2"),
}

_FLAGS = {key for key, values in _MERGE.items() if True in values}


def _is_plain(request: dict[str, Any]) -> bool:
    """Return whether a merge has an action, and each of its conditions has its flag."""
    flags = _FLAGS & set(request)
    return bool(flags) and {key.removesuffix("_filt") for key in request} <= flags


def _merged(request: dict[str, Any]) -> tuple[dict[int, str], tuple[int, int, int]]:
    """Return the names of the rows by id after a merge, and the row counts of its response."""
    hit = {None: (4, 5), "source.id = 4": (4,), "target.score IS NULL": (4,)}[
        request.get("when_matched_update_all_filt")
    ]
    updated = hit if request.get("when_matched_update_all") else ()
    inserted = (6, 7) if request.get("when_not_matched_insert_all") else ()
    lost = (1,) if request.get("when_not_matched_by_source_delete_filt") else (1, 2, 3)
    deleted = lost if request.get("when_not_matched_by_source_delete") else ()
    rows = {i: "new" if i in updated else f"n{i}" for i in _OLD if i not in deleted}
    rows |= dict.fromkeys(inserted, "new")
    return rows, (len(updated), len(inserted), len(deleted))


@check("LN-COMBINED-006",
       "The flags and conditions of a merge all take effect together, with correct row counts.",
       "rest.yaml, MergeInsertIntoTableRequest and its response", "MergeInsertIntoTable", "QueryTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def merges(lab: Lab) -> None:
    new = people(*_NEW)
    new = new.set_column(1, "name", [["new"] * len(_NEW)])
    table = lab.new_table(*_OLD)
    lines: list[dict[str, Any]] = [{}]
    if lab.call("CreateTableBranch", id=table, name="side").succeeded:
        lab.call("InsertIntoTable", stream(people(9)), id=table, branch="side")
        if lab.count(table) == len(_OLD):  # otherwise branch writes fail, which other checks report
            lines.append({"branch": "side"})
    asked = covering(lines, _MERGE, _is_plain)
    for number, (of, request) in enumerate(asked):
        lab.given("InsertIntoTable", stream(people(*_OLD)), id=table, mode="overwrite", **of)
        on = "id" if number % 3 else ["id"]
        answer = lab.maybe("MergeInsertIntoTable", stream(new), id=table, on=on, **request, **of)
        rows, counts = _merged(request)
        found = {r["id"]: r["name"] for r in lab.query(table, **of).to_pylist()}
        lab.same(found, rows, f"the names after a merge with {request} {of or ''}")
        for key, due in zip(
            ("num_updated_rows", "num_inserted_rows", "num_deleted_rows"), counts, strict=True
        ):
            told = answer.get(key)
            lab.that(told is None or told == due, f"{key}={due} for {request} {of or ''}", told)


@check("LN-COMBINED-007",
       "All version ranges in a call are deleted, and each deleted version is counted once.",
       "rest.yaml, VersionRange and BatchDeleteTableVersionsResponse", "BatchDeleteTableVersions",
       "ListTableVersions", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def ranges(lab: Lab) -> None:
    for bounds, gone in (
        (((2, 3), (4, 5)), {2, 4}), (((4, 5), (2, 3)), {2, 4}), (((2, 4), (3, 5)), {2, 3, 4}),
        (((0, 2),), {1}), (((50, 60),), set()), (((2, 3), (50, 60)), {2}), (((3, 6),), {3, 4, 5}),
    ):  # fmt: skip
        table = lab.new_table(1)
        for number in range(2, 7):
            lab.given("InsertIntoTable", stream(people(number)), id=table)
        parts = [{"start_version": start, "end_version": end} for start, end in bounds]
        reply = lab.call("BatchDeleteTableVersions", id=table, ranges=parts)
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        left = sorted(version_numbers(lab, table))
        lab.same(left, sorted({1, 2, 3, 4, 5, 6} - gone), f"the versions without {bounds}")
        told = (reply.answer or {}).get("deleted_count")
        lab.that(told in (None, len(gone)), f"deleted_count={len(gone)} for {bounds}", told)
        lab.same(lab.ids(table), [1, 2, 3, 4, 5, 6], "the ids")


@check("LN-COMBINED-008", "A full-text search respects its columns, filter, k, version and branch.",
       "rest.yaml, QueryTableRequest, full_text_query", "QueryTable", "CreateTableIndex", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def texts(lab: Lab) -> None:
    table = lab.new_table()
    index = {"column": "name", "index_type": "FTS"}
    lab.maybe("CreateTableIndex", id=table, **index)
    built(lab, table)
    lab.given("UpdateTable", id=table, updates=[["name", "'alpha'"]], predicate="id > 4")
    newest = lab.ok("DescribeTableVersion", id=table)["version"]["version"]
    lab.given("UpdateTable", id=table, updates=[["name", "'beta'"]], predicate="id > 7")
    lines: list[tuple[dict[str, Any], tuple[int, ...]]] = [
        ({}, (5, 6, 7)),
        ({"version": newest}, (5, 6, 7, 8, 9, 10)),
    ]
    if lab.call("CreateTableBranch", id=table, name="side", from_version=newest).succeeded:
        lab.given("DeleteFromTable", id=table, predicate="id = 6", branch="side")
        lines.append(({"branch": "side"}, (5, 7, 8, 9, 10)))
    word = {"string_query": {"query": "alpha", "columns": ["name"]}}
    for of, ids in lines:
        for condition, keep in ((None, ids), ("id > 6", tuple(i for i in ids if i > 6))):
            more = {"filter": condition, "prefilter": True} if condition else {}
            for k in (2, 100):
                reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), full_text_query=word, k=k,
                                 columns={"column_names": ["id"]}, **more, **of)  # fmt: skip
                lab.may_refuse(reply)
                found = sorted(reply.rows.column("id").to_pylist())
                lab.that(set(found) <= set(keep) and len(found) == min(k, len(keep)),
                         f"{min(k, len(keep))} of the ids {keep} with {more} {of}", found)  # fmt: skip
