"""Combined fields: each works as it does alone, compared with rows computed here."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import stream

_QUERY = "rest.yaml, QueryTableRequest"
_TABLES = ["tables"]
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
            sorted(found.column("id").to_pylist()), due, f"the ids where {condition} {of or ''}"
        )
        lab.same(
            lab.count(table, predicate=condition, **of),
            len(due),
            f"the rows where {condition} {of or ''}",
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
        lab.same(answer["updated_rows"], len(hit), f"updated_rows where {condition}")
        found = {r["id"]: r for r in lab.query(table).to_pylist()}
        due = {r["id"]: {**r, "x": r["x"] + 100} if r["id"] in hit else r for r in rows}
        for key, row in due.items():
            lab.same(found.get(key), row, f"the row {key} after an update where {condition}")
        if "x " not in condition:
            lab.ok("DeleteFromTable", id=table, predicate=condition)
            lab.same(
                lab.ids(table),
                [i for i in due if i not in hit],
                f"the ids after a deletion where {condition}",
            )


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
        lab.same(found.num_rows, len(due), f"the number of rows of {what}")
        names = [n for n in found.column_names if n != "_rowid"]
        columns = request.get("columns") or {}
        if "column_aliases" in columns:
            aliases = columns["column_aliases"]
            lab.same(sorted(names), sorted(aliases), f"the columns of {what}")
            lab.same([{k: r[k] for k in aliases} for r in found.to_pylist()],
                     [{k: {**r, "x / 2": r["x"] / 2}[of_] for k, of_ in aliases.items()} for r in due],
                     f"the rows of {what}")  # fmt: skip
        else:
            lab.same(names, columns.get("column_names") or _SCHEMA.names, f"the columns of {what}")
            given = [{k: r[k] for k in names} for r in found.to_pylist()]
            lab.same(given, [{k: r[k] for k in names} for r in due], f"the rows of {what}")
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
_SOUGHT = (5.0, 1.0)


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
            lab.same(len(found), len(due), f"the number of rows of {what}")
            far_off = [
                (a[1], b[1]) for a, b in zip(found, due, strict=True) if abs(a[1] - b[1]) > 2e-4
            ]
            lab.same(far_off, [], f"distances of {what} that are not as they should be")
        for key, distance in found:
            lab.that(
                abs(far.get(key, -1) - distance) < 2e-4,
                f"row {key} at its distance {far.get(key)} in {what}",
                distance,
            )
            lab.that(wanted(key), f"rows that meet the filter of {what}", key)


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
                    together, apart, f"{what} after {operation} of several, as after one by one,"
                )
