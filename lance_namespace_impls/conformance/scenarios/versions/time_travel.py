"""Contents of earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...exchange import Reply
from ...lab import Lab, NotReached, Skipped
from ...requirement import check
from ...rows import people, stream

_SOURCE = (
    "rest.yaml, the fields version, tag and branch of the reading operations; "
    "semantics, DescribeTable"
)
_TABLES = ["tables"]
_NEEDED = {"DropTableIndex": "CreateTableScalarIndex"}
"""The write that another one depends on, which a target may not support."""
_VERSION = "the DescribeTableVersion result"
_SIDE = {"branch": "side"}
_MAIN_IDS = [1, 2, 3, 4, 20, 21]
"""Ids on the main branch of a table whose other branch was written to."""


Write = tuple[str, bytes | None, dict[str, Any]]

_WRITES: tuple[Write, ...] = (
    ("InsertIntoTable", stream(people(5, 6)), {}),
    ("UpdateTable", None, {"updates": [["name", "'u'"]], "predicate": "id < 3"}),
    ("CreateTableScalarIndex", None, {"column": "id", "index_type": "BTREE", "name": "by_id"}),
    ("DeleteFromTable", None, {"predicate": "id = 4"}),
    ("UpdateTableSchemaMetadata", None, {"metadata": {"origin": "kit"}}),
    ("AlterTableAddColumns", None, {"new_columns": [{"name": "twice", "expression": "id * 2"}]}),
    (
        "MergeInsertIntoTable",
        stream(people(1, 9)),
        {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True},
    ),
    ("CreateTableScalarIndex", None, {"column": "name", "index_type": "BTREE", "name": "by_name"}),
    ("AlterTableAlterColumns", None, {"alterations": [{"path": "name", "rename": "label"}]}),
    ("UpdateFieldMetadata", None, {"updates": [{"path": "id", "metadata": {"unit": "m"}}]}),
    ("AlterTableDropColumns", None, {"columns": ["score"]}),
    ("DropTableIndex", None, {"index_name": "by_id"}),
    ("InsertIntoTable", stream(people(7, 8)), {"mode": "overwrite"}),
    ("DeleteFromTable", None, {"predicate": "true"}),
)
"""Writes of every kind; each creates a version."""


def _rows(lab: Lab, table: list[str], **of: Any) -> Any:
    reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), k=100, **of)
    if reply.rows is None:
        return reply.outcome()
    found = reply.rows
    return found.column_names, found.sort_by("id").to_pylist()


def _near(lab: Lab, table: list[str], **of: Any) -> Any:
    reply = lab.call("QueryTable", id=table, vector={"single_vector": [4.9, 0.0]}, k=2,
                     vector_column="vec", columns={"column_names": ["id"]}, **of)  # fmt: skip
    return reply.rows.to_pylist() if reply.rows is not None else reply.code


def _filtered(lab: Lab, table: list[str], **of: Any) -> Any:
    reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), k=3, offset=1, filter="id > 1",
                     columns={"column_names": ["id"]}, **of)  # fmt: skip
    return reply.rows.num_rows if reply.rows is not None else reply.code


def _count(lab: Lab, table: list[str], **of: Any) -> Any:
    return [lab.count(table, **of), lab.count(table, predicate="id > 2", **of)]


def _described(lab: Lab, table: list[str], **of: Any) -> Any:
    answer = lab.ok("DescribeTable", id=table, load_detailed_metadata=True, **of)
    return {k: answer.get(k) for k in ("version", "schema", "stats", "metadata")}


def _indices(lab: Lab, table: list[str], **of: Any) -> Any:
    reply = lab.call("ListTableIndices", id=table, **of)
    if not reply.succeeded:
        return reply.code
    keys = ("index_name", "columns", "num_indexed_rows", "num_unindexed_rows", "index_uuid")
    return [{k: e.get(k) for k in keys} for e in (reply.answer or {})["indexes"]]


def _index(lab: Lab, table: list[str], **of: Any) -> Any:
    found = []
    for name in ("by_id", "by_name"):
        reply = lab.call("DescribeTableIndexStats", id=table, index_name=name, **of)
        answer = reply.answer or {}
        found.append(reply.code if not reply.succeeded else
                     {k: answer.get(k) for k in ("num_indexed_rows", "num_unindexed_rows")})  # fmt: skip
    return found


def _version(lab: Lab, table: list[str], **of: Any) -> Any:
    reply = lab.call("DescribeTableVersion", id=table, **of)
    return (reply.answer or {}).get("version") if reply.succeeded else reply.code


Read = Callable[..., Any]

_READS: dict[str, Read] = {
    "the rows": _rows, "the nearest rows": _near, "the number of filtered rows": _filtered,
    "counts": _count, "the DescribeTable result": _described, "the indices": _indices,
    "the index statistics": _index, _VERSION: _version,
}  # fmt: skip

Told = dict[int, dict[str, Any]]
"""The results of all reads of each version while it was the newest, by version number."""


def _write(lab: Lab, table: list[str], write: Write, refused: set[str], **of: Any) -> Reply | None:
    """Return the reply to a write; None if the target does not support it or what it depends on."""
    operation, data, request = write
    if _NEEDED.get(operation) in refused:
        return None
    reply = lab.call(operation, data, id=table, **request, **of)
    if reply.code == 0:
        refused.add(operation)
        return None
    lab.must_succeed(reply)
    return reply


def _written(lab: Lab, table: list[str], **of: Any) -> Told:
    """Make every kind of write; return the results of all reads after each, by the new version."""
    found: Told = {}
    refused: set[str] = set()
    for write in (None, *_WRITES):
        if write is not None and _write(lab, table, write, refused, **of) is None:
            continue
        told = lab.ok("DescribeTableVersion", id=table, **of)["version"]
        found[told["version"]] = {_VERSION: told} | {
            what: read(lab, table, **of) for what, read in _READS.items() if what != _VERSION
        }
    return found


def _past(lab: Lab, of: dict[str, Any]) -> tuple[list[str], Told]:
    """Return a table after every kind of write, and the results of reading each version.

    The table may have been written to since.
    """
    name = f"past {of}"

    def make() -> list[str]:
        table = lab.new_table(1, 2, 3, 4)
        if of:
            lab.given("InsertIntoTable", stream(people(20)), id=table)
            lab.given("CreateTableBranch", id=table, name="side", from_version=1)
        lab.told[name] = _written(lab, table, **of)
        if of:
            lab.given("InsertIntoTable", stream(people(21)), id=table)
        return table

    return lab.kept(name, make), lab.told[name]


def _each_other(told: Told, reads: Iterable[str], first: int) -> Iterator[tuple[int, str, Any]]:
    """Yield half of the results by version and read; `first` (0 or 1) selects the half."""
    for row, (version, due) in enumerate(told.items()):
        for column, what in enumerate(reads):
            if (row + column) % 2 == first:
                yield version, what, due[what]


@check("LN-PAST-001",
       "A version read by number later returns what it returned while it was the newest.", _SOURCE,
       "DescribeTableVersion", "QueryTable", "CountTableRows", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def by_number(lab: Lab) -> None:
    table, told = _past(lab, {})
    for version, what, due in _each_other(told, _READS, 0):
        lab.same(_READS[what](lab, table, version=version), due, f"{what} for version {version}")


@check("LN-PAST-002",
       "A branch's version read by number later returns what it returned while it was the newest.",
       _SOURCE, "DescribeTableVersion", "QueryTable", "CountTableRows", "InsertIntoTable",
       "CreateTableBranch", "CreateTable", capabilities=_TABLES)  # fmt: skip
def on_a_branch(lab: Lab) -> None:
    table, told = _past(lab, _SIDE)
    # DescribeTable accepts a version or a branch, not both.
    reads = {k: v for k, v in _READS.items() if v is not _described}
    for version, what, due in _each_other(told, reads, 1):
        found = reads[what](lab, table, version=version, branch="side")
        lab.same(found, due, f"{what} for version {version} of the branch")


@check("LN-PAST-003",
       "A tag returns what its version returned while it was the newest, also after the tag "
       "moves.", _SOURCE, "DescribeTable", "CreateTableTag", "UpdateTableTag", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def by_tag(lab: Lab) -> None:
    table, told = _past(lab, {})
    for version in told:
        lab.ok("CreateTableTag", id=table, tag=f"of {version}".replace(" ", "-"), version=version)
    lab.ok("CreateTableTag", id=table, tag="moving", version=1)
    for version, due in told.items():
        lab.ok("UpdateTableTag", id=table, tag="moving", version=version)
        for tag in ("moving", f"of-{version}"):
            lab.same(
                _described(lab, table, tag=tag),
                due["the DescribeTable result"],
                f"the DescribeTable result for the tag {tag}",
            )
            lab.same(
                lab.ok("GetTableTagVersion", id=table, tag=tag)["version"],
                version,
                f"the version of {tag}",
            )


@check("LN-PAST-004",
       "RestoreTable restores all of a version: rows, columns, metadata and indices.",
       "rest.yaml, RestoreTable: restores the content of an earlier version",
       "RestoreTable", "QueryTable", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def restored(lab: Lab) -> None:
    reads: dict[str, Read] = {"the rows": _rows, "counts": _count, "the DescribeTable result": _described,
                              "the indices": _indices, "the index statistics": _index}  # fmt: skip
    for first, of in ((1, {}), (2, _SIDE)):
        try:
            table, told = _past(lab, of)
        except (Skipped, NotReached):
            if not of:
                raise
            return
        newest = max(told)
        for version in sorted(told, reverse=True)[first::2]:
            lab.ok("RestoreTable", id=table, version=version, **of)
            newest += 1
            for what, read in reads.items():
                due = told[version][what]
                if read is _described:
                    due = {**due, "version": newest}
                lab.same(read(lab, table, **of), due, f"{what} after the restore of {version}")
        if of:
            lab.same(lab.ids(table), _MAIN_IDS, "the ids on the main branch")


@check("LN-PAST-005",
       "A branch starts with all the contents of its start version, whichever version that is.",
       "rest.yaml, CreateTableBranchRequest, from_version and from_branch", "CreateTableBranch",
       "QueryTable", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def branched(lab: Lab) -> None:
    reads: dict[str, Read] = {
        "the rows": _rows, "counts": _count, "the indices": _indices,
        "the nearest rows": _near, "the number of filtered rows": _filtered,
    }  # fmt: skip
    table, told = _past(lab, {})
    for version in list(told)[::3]:
        name = f"from-{version}"
        lab.ok("CreateTableBranch", id=table, name=name, from_version=version)
        for what, read in reads.items():
            lab.same(
                read(lab, table, branch=name), told[version][what], f"{what} for the branch {name}"
            )
        reply = lab.call("ListTableBranches", id=table)
        if reply.succeeded:
            lab.same(
                (reply.answer or {})["branches"][name]["parentVersion"],
                version,
                f"the start version of {name}",
            )


@check("LN-PAST-006",
       "Listings and descriptions immediately show the version that a write returns as the "
       "newest.", "rest.yaml, version in the responses of the writes", "InsertIntoTable",
       "ListTableVersions", "DescribeTableVersion", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def told_at_once(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    lines: list[dict[str, Any]] = [{}]
    if lab.call("CreateTableBranch", id=table, name="side").succeeded:
        lines.append({"branch": "side"})
    refused: set[str] = set()
    for write in _WRITES:
        operation = write[0]
        for of in lines:
            reply = _write(lab, table, write, refused, **of)
            if reply is None:
                continue
            answer = reply.answer or {}
            newest = lab.ok("DescribeTableVersion", id=table, **of)["version"]["version"]
            listed = [
                v["version"]
                for v in lab.ok("ListTableVersions", id=table, descending=True, **of)["versions"]
            ]
            lab.same(listed[0], newest, f"the newest listed version after {operation} {of or ''}")
            described = lab.ok("DescribeTable", id=table, load_detailed_metadata=True, **of).get(
                "version"
            )
            lab.same(described, newest, f"the described version after {operation} {of or ''}")
            if operation != "UpdateTableSchemaMetadata" and answer.get("version") is not None:
                lab.same(
                    answer["version"], newest, f"the version that {operation} returns {of or ''}"
                )
