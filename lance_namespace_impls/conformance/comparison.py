"""Comparison of answers about different tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field

from .exchange import Reply, Step
from .lab import Lab
from .rows import people, stream
from .table_state import FULL

__all__ = [
    "ALL_READS",
    "COURSE_PROPERTIES",
    "CURRENT_READS",
    "Place",
    "Read",
    "comparable",
    "facts",
    "facts_of_new",
    "first_table",
    "require_own_rows",
    "same_facts",
    "second_table",
]

COURSE_PROPERTIES = {"owner": "ana", "note": "Two words"}
"""Properties of the table that each course starts with."""
_OURS = {*COURSE_PROPERTIES, "more", "unit", "by", "origin"}
_NUMBERS = ("version", "parentVersion", "from_version", "start_version", "end_version")
_PRESENT = ("transaction_id", "table_uri", "manifest_path", "manifest_size", "manifestSize", "index_uuid",
            "timestamp_millis", "createAt", "created_at", "size_bytes", "total_bytes", "index_details",
            "page_token")  # fmt: skip
"""Fields that differ between objects; only their presence is compared."""
_SIDE = {"branch": "side"}


_OWN = (
    "location",
    "storage_options",
    "table",
    "namespace",
    "branch",
    "parentBranch",
    "id",
    "e_tag",
)
"""Fields that differ between objects and are not compared."""


@define
class Place:
    """Table or branch that a course runs on."""

    table: list[str]
    branch: str | None = None
    shift: int | None = 0
    """Offset of its first version from 1; None if versions are not compared."""
    more: dict[str, Any] = field(factory=dict)
    """Additional fields of every request."""


def comparable(reply: Reply, place: Place) -> Any:
    """Return the part of an answer that is the same for every table, or None if there is none."""
    if reply.code is not None or reply.broken is not None:
        # A missing branch or table may have either code if rest.yaml lists both.
        return f"code {reply.code}" if reply.broken is None else "an unreadable response"
    if reply.rows is not None:
        found = reply.rows
        ordered = found if "_distance" in found.column_names else _by_id(found)
        types = {f.name: (str(f.type), f.nullable) for f in found.schema}
        return {"columns": types, "rows": ordered.to_pylist()}
    answer = reply.answer or {}
    if reply.step.operation == "ListTables" and reply.step.request["id"] != place.table:
        return {"listed": place.table[-1] in (answer.get("tables") or ())}
    if reply.step.operation == "ListNamespaces" and reply.step.request["id"] != place.table:
        return {"listed": place.table[-1] in (answer.get("namespaces") or ())}
    if reply.step.operation == "ListTableBranches":
        answer = {
            **answer,
            "branches": {k: v for k, v in answer["branches"].items() if k != place.branch},
        }
    if (
        place.branch
        and reply.step.operation == "DescribeTable"
        and "branch" not in reply.step.request
    ):
        return None
    if reply.step.operation == "DescribeTable" and not reply.step.request.get(
        "load_detailed_metadata"
    ):
        # A catalog may store its own copy of the columns, which may be outdated.
        answer = {k: v for k, v in answer.items() if k != "schema"}
    if reply.step.operation == "ExplainTableQueryPlan":
        return bool(answer.get("plan"))
    return _plain(answer, place.shift)


def _by_id(found: Any) -> Any:
    return found.sort_by("id") if "id" in found.column_names else found


def _plain(value: Any, shift: int | None) -> Any:
    if isinstance(value, list):
        parts = [_plain(each, shift) for each in value]
        # Omit versions from before the course.
        return [
            p
            for p in parts
            if not (isinstance(p, dict) and isinstance(p.get("version"), int) and p["version"] < 1)
        ]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for key, each in value.items():
        if key in _OWN or each is None:
            continue
        if key in _PRESENT or (shift is None and key in _NUMBERS):
            found[key] = "told"
        elif key in _NUMBERS and isinstance(each, int):
            found[key] = each - (shift or 0)
        elif key in ("properties", "metadata") and isinstance(each, Mapping):
            kept = {k: v for k, v in each.items() if k in _OURS}
            if kept:
                found[key] = kept
        else:
            found[key] = _plain(each, shift)
    return found


Read = tuple[str, dict[str, Any]]

CURRENT_READS: tuple[Read, ...] = (
    ("DescribeTable", {}), ("DescribeTable", FULL), ("QueryTable", {}),
    ("QueryTable", {"filter": "id > 2"}), ("CountTableRows", {}),
    ("CountTableRows", {"predicate": "id > 2"}), ("ListTableIndices", {}), ("GetTableStats", {}),
)  # fmt: skip
"""Reads whose answers do not depend on earlier versions of a table."""

ALL_READS: tuple[Read, ...] = (
    *CURRENT_READS, ("DescribeTable", {"tag": "t", **FULL}), ("DescribeTable", {"version": 1, **FULL}),
    ("DescribeTable", {**_SIDE, **FULL}), ("QueryTable", {"version": 1}), ("QueryTable", _SIDE),
    ("CountTableRows", {"version": 1}), ("CountTableRows", _SIDE), ("TableExists", {"version": 4}),
    ("ListTableVersions", {}), ("DescribeTableVersion", {}), ("ListTableTags", {}),
    ("GetTableTagVersion", {"tag": "t"}), ("ListTableBranches", {}), ("GetTableStats", _SIDE),
    ("DescribeTableIndexStats", {"index_name": "by"}),
)  # fmt: skip


def facts(lab: Lab, table: list[str], reads: Sequence[Read] = ALL_READS) -> dict[str, Any]:
    """Return what is reported about a table, without values that differ between tables."""
    plainly = {"QueryTable": {"vector": lab.no_vector(), "k": 100}}
    steps = [Step(name, {"id": table, **plainly.get(name, {}), **more}) for name, more in reads]
    place = Place(table, None, None if reads is CURRENT_READS else 0)
    found = zip(reads, lab.together(steps), strict=True)
    return {f"{name} of {more}": comparable(reply, place) for (name, more), reply in found}


def same_facts(lab: Lab, found: dict[str, Any], due: dict[str, Any], what: str) -> None:
    """Require that two tables report the same, except for answers that one of them lacks."""
    for key, value in due.items():
        if value is not None and found[key] is not None:
            lab.same(found[key], value, f"{key} {what}")


def first_table(lab: Lab, table: list[str]) -> list[str]:
    """Return a table of two versions with a tag, a branch and an index."""
    return _filled_table(lab, table, "ana", (1, 2), (3,), "id")


def second_table(lab: Lab, table: list[str], **more: Any) -> list[str]:
    """Return a table that differs from the first one in every respect."""
    _filled_table(lab, table, "bob", (3, 4, 5, 6), (7, 8), "name", **more)
    lab.call("InsertIntoTable", stream(people(9)), id=table, **_SIDE)
    lab.call("AlterTableDropColumns", id=table, columns=["score"])
    return table


def _filled_table(lab: Lab, table: list[str], owner: str, ids: Sequence[int], later: Sequence[int],
            column: str, **more: Any) -> list[str]:  # fmt: skip
    rows, given = stream(people(*ids)), {"properties": {"owner": owner}}
    if not lab.call("CreateTable", rows, id=table, **given, **more).succeeded:
        lab.given("CreateTable", rows, id=table, **more)
    for number in later:
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    lab.call("CreateTableTag", id=table, tag="t", version=len(later))
    lab.call("CreateTableBranch", id=table, name="side")
    lab.call("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name="by")
    return table


def facts_of_new(
    lab: Lab, make: Callable[..., list[str]], reads: Sequence[Read] = ALL_READS
) -> dict[str, Any]:
    """Return what is reported about such a table under a new name, read once per run."""
    table = lab.kept(f"apart{make.__name__}", lambda: make(lab, lab.table_id()))
    found: dict[str, Any] = lab.told.setdefault(f"{table} {len(reads)}", {})
    found.update({} if found else facts(lab, table, reads))
    return found


def require_own_rows(lab: Lab, made: dict[int, list[str]]) -> None:
    """Check the row of each table, also after every other table is dropped."""
    for _ in range(2):
        for number, table in made.items():
            lab.same(lab.query(table).to_pylist(), [{"x": number}], f"the rows in {table}")
        for number in list(made)[::2]:
            lab.ok("DropTable", id=made.pop(number))
