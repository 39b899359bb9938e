"""Effects and counts of calls with several settings, compared with values computed here."""

from __future__ import annotations

from typing import Any

from ..lab import Lab
from ..requirement import check
from ..rows import people, stream
from .combined import covering
from .history import version_numbers
from .searches import built

_TABLES = ["tables"]
_OLD = (1, 2, 3, 4, 5)
_NEW = (4, 5, 6, 7)
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
            lab.that(told is None or told == due, f"{key} {due} of {request} {of or ''}", told)


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
        lab.that(told in (None, len(gone)), f"deleted_count {len(gone)} of {bounds}", told)
        lab.same(lab.ids(table), [1, 2, 3, 4, 5, 6], "the ids")


_WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("AlterTable", {"set_properties": {"a": "1"}}), ("AlterTable", {"set_properties": {"a": "2"}}),
    ("UpdateTable", {"updates": [["name", "'x'"]]}), ("DeleteFromTable", {"predicate": "id = 1"}),
    ("CreateTableTag", {"tag": "t", "version": 1}), ("UpdateTableTag", {"tag": "t", "version": 2}),
    ("DeleteTableTag", {"tag": "t"}), ("CreateTableBranch", {"name": "b"}),
    ("DeleteTableBranch", {"name": "b"}), ("RestoreTable", {"version": 1}),
    ("CreateTableScalarIndex", {"column": "id", "index_type": "BTREE", "name": "i"}),
    ("DropTableIndex", {"index_name": "i"}), ("DropTable", {}),
)  # fmt: skip


@check("LN-TRANSACTION-006", "Each change that reports a transaction reports its own.",
       "rest.yaml, transaction_id: the transaction that made the change", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def own_transactions(lab: Lab) -> None:
    seen: dict[str, str] = {}
    for _ in range(2):
        table = lab.new_table(1, 2)
        for operation, request in _WRITES:
            reply = lab.call(operation, id=table, **request)
            told = (reply.answer or {}).get("transaction_id") if reply.succeeded else None
            for each in [told] if isinstance(told, str) else told or ():
                lab.that(
                    each not in seen,
                    f"a transaction of {operation}'s own",
                    f"that of {seen.get(each)}",
                )
                seen[each] = operation
                found = lab.call("DescribeTransaction", id=[each])
                if found.code == 13:  # its identifier may start with the table's
                    found = lab.call("DescribeTransaction", id=[*table, each])
                if found.code not in (0, 10):
                    lab.must_succeed(found)


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
                         f"{min(k, len(keep))} of {keep} for {more} {of}", found)  # fmt: skip
