"""Invariants of an answer and its request, verified on every answer of every check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import pyarrow as pa

from lance_namespace_client.operations import OPERATIONS

from .exchange import Reply
from .requirement import observed

__all__ = ["broken_invariants"]

Told = tuple[str, str]
"""The expected value and the actual one."""
Invariant = Callable[[Mapping[str, Any], Mapping[str, Any], Reply], Iterator[Told]]
_INVARIANTS: dict[str, Invariant] = {}
_LISTED = {
    "ListNamespaces": "namespaces",
    "ListTables": "tables",
    "ListAllTables": "tables",
    "ListTableVersions": "versions",
    "ListTableIndices": "indexes",
    "ListTableTags": "tags",
    "ListTableBranches": "branches",
}
_PAGING = 'protocol semantics, "Paging"; rest.yaml, PageToken and PageLimit'
_FIRST_MILLIS = 10**12
"""The year 2001 in milliseconds: all versions are newer. In seconds it is the year 33658."""


def _invariant(id: str, requirement: str, source: str) -> Callable[[Invariant], Invariant]:
    def add(invariant: Invariant) -> Invariant:
        observed(id, requirement, source)
        _INVARIANTS[id] = invariant
        return invariant

    return add


def broken_invariants(reply: Reply) -> Iterator[tuple[str, str, str]]:
    """Return the id, expectation and result of each invariant that a successful reply breaks."""
    request, answer = reply.step.request, reply.answer or {}
    for id, invariant in _INVARIANTS.items():
        for expected, got in invariant(request, answer, reply):
            yield id, expected, got


@_invariant(
    "LN-EACH-001",
    "A page token is absent or null at the end of a listing, and never empty.",
    _PAGING,
)
def _token(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    if answer.get("page_token") == "":
        yield "a page token or none", "an empty page token"


@_invariant(
    "LN-EACH-002", "A page contains at most `limit` entries, and fewer only at the end.", _PAGING
)
def _full(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    key, limit = _LISTED.get(reply.step.operation), request.get("limit")
    if key is None or not isinstance(limit, int) or limit < 1:
        return
    found = len(answer.get(key) or ())
    if found > limit or (found < limit and answer.get("page_token")):
        yield f"{limit} entries, or fewer only on the last page", f"{found} entries"


@_invariant("LN-EACH-003", "A page contains no name twice.", _PAGING)
def _once(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    found = answer.get(_LISTED.get(reply.step.operation, "")) or ()
    names = [
        e.get("version", e.get("index_name")) if isinstance(e, dict) else e
        for e in (found if isinstance(found, list) else ())
    ]
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        yield "each entry to be listed once", f"{twice} listed more than once"


@_invariant("LN-EACH-004", "A response about a table concerns the requested table.",
            "rest.yaml, DescribeTableResponse, DropTableResponse and DeregisterTableResponse")  # fmt: skip
def _named(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    asked = request.get("id")
    if not isinstance(asked, list) or not asked:
        return
    due = {"table": asked[-1], "namespace": asked[:-1], "id": asked}
    if reply.step.operation not in ("DescribeTable", "DropTable", "DeregisterTable"):
        return
    for key, value in due.items():
        detailed = request.get("load_detailed_metadata")
        if key == "namespace" and answer.get(key) == [] and not detailed:
            continue  # only returned if requested
        if answer.get(key) is not None and answer[key] != value:
            yield f"{key} to be {value!r}", repr(answer[key])


@_invariant("LN-EACH-005", "The version in a response is the requested one.",
            "rest.yaml, DescribeTableVersionResponse and the responses of CreateTableVersion")  # fmt: skip
def _version(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    if reply.step.operation in ("DescribeTableVersion", "CreateTableVersion"):
        asked = [request.get("version")]
        told = [answer.get("version")]
    elif reply.step.operation == "BatchCreateTableVersions":
        asked = [entry.get("version") for entry in request.get("entries") or ()]
        told = list(answer.get("versions") or ())
    else:
        return
    numbers = [each.get("version") for each in told if isinstance(each, dict)]
    for each in told:
        if isinstance(each, dict) and not each.get("manifest_path"):
            yield "a version with the path of its manifest", str(each)
    given = request.get("metadata")
    for each in told if given else ():
        if isinstance(each, dict) and not _holds(given or {}, each.get("metadata", given)):
            yield f"a version with the metadata {given}", str(each)
    if None not in asked and numbers and numbers != asked:
        yield f"versions {asked}", str(numbers)


@_invariant("LN-EACH-006", "Version numbers start at 1, timestamps are in milliseconds, and the "
                           "requested order applies.",
            "rest.yaml, TableVersion and ListTableVersionsRequest")  # fmt: skip
def _versions(
    request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply
) -> Iterator[Told]:
    found = answer.get("versions") if reply.step.operation == "ListTableVersions" else None
    if reply.step.operation == "DescribeTableVersion":
        found = [answer.get("version")]
    entries = [entry for entry in found or () if isinstance(entry, dict)]
    for entry in entries:
        made = entry.get("timestamp_millis")
        if not entry.get("manifest_path") or entry.get("version", 0) < 1:
            yield "a version number of 1 or more and the path of the manifest", str(entry)
        if made is not None and not _FIRST_MILLIS <= made < 10 * _FIRST_MILLIS:
            yield "a timestamp in milliseconds since 1970", str(entry)
    numbers = [entry["version"] for entry in entries]
    if request.get("descending") is True and numbers != sorted(numbers, reverse=True):
        yield "the newest version first", str(numbers)


@_invariant("LN-EACH-007", "Each listed index has a name, columns, a status and a UUID.",
            "rest.yaml, IndexContent")  # fmt: skip
def _indices(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    if reply.step.operation != "ListTableIndices":
        return
    for entry in answer.get("indexes") or ():
        try:
            UUID(str(entry.get("index_uuid")))
        except ValueError:
            yield "index_uuid to be a UUID", str(entry)
        if not (entry.get("index_name") and entry.get("columns") and entry.get("status")):
            yield "a name, columns and a status", str(entry)
    names = [entry.get("index_name") for entry in answer.get("indexes") or ()]
    if names != sorted(names, key=str):
        yield "the indices sorted by name", str(names)


@_invariant("LN-EACH-008", "num_inserted_rows of InsertIntoTable is the number of rows sent.",
            "rest.yaml, InsertIntoTableResponse")  # fmt: skip
def _inserted(
    request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply
) -> Iterator[Told]:
    told, data = answer.get("num_inserted_rows"), reply.step.data
    if reply.step.operation != "InsertIntoTable" or told is None or not data:
        return
    try:
        sent = pa.ipc.open_stream(data).read_all().num_rows
    except (pa.ArrowException, OSError):
        return
    if told != sent:
        yield f"num_inserted_rows to be {sent}", repr(told)


@_invariant("LN-EACH-009", "QueryTable returns at most k rows, and the requested columns in order.",
            "rest.yaml, QueryTableRequest, k and columns")  # fmt: skip
def _rows(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    if reply.rows is None:
        return
    most = request.get("k")
    several = isinstance(request.get("vector"), dict) and request["vector"].get("multi_vector")
    if isinstance(most, int) and most > 0 and not several and reply.rows.num_rows > most:
        yield f"at most {most} rows", f"{reply.rows.num_rows} rows"
    names = (request.get("columns") or {}).get("column_names")
    found = [name for name in reply.rows.column_names if not name.startswith("_")]
    if names and found[: len(names)] != [n for n in names if not n.startswith("_")]:
        yield f"the columns {names}", str(found)


def _holds(given: Mapping[str, Any], found: Any) -> bool:
    return isinstance(found, dict) and all(
        found.get(key) == value if value is not None else key not in found
        for key, value in given.items()
    )


@_invariant("LN-EACH-010", "A change of properties or metadata returns their state after the change.",
            "rest.yaml, the responses of AlterNamespace, AlterTable and UpdateFieldMetadata")  # fmt: skip
def _changed(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    operation = reply.step.operation
    if operation in ("AlterNamespace", "AlterTable") and answer.get("properties") is not None:
        given = {**(request.get("set_properties") or {})}
        given |= dict.fromkeys(request.get("unset_properties") or (), None)
        if not _holds(given, answer["properties"]):
            yield f"properties that contain {given}", str(answer["properties"])
    elif operation == "UpdateFieldMetadata" and answer.get("fields") is not None:
        updates = {e["path"]: e["metadata"] for e in request.get("updates") or ()}
        for path, given in updates.items():
            if not _holds(given, answer["fields"].get(path)):
                yield f"{path} with {given}", str(answer["fields"])
        if set(answer["fields"]) != set(updates):
            yield f"the columns {sorted(updates)}", str(answer["fields"])


@_invariant("LN-EACH-011", "A branch is listed with its creation time in seconds, and a manifest.",
            "rest.yaml, BranchContents and TagContents")  # fmt: skip
def _branches(
    request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply
) -> Iterator[Told]:
    key = _LISTED.get(reply.step.operation)
    if key not in ("branches", "tags"):
        return
    for name, entry in (answer.get(key) or {}).items():
        made = entry.get("createAt")
        if made is not None and not _FIRST_MILLIS // 1000 <= made < _FIRST_MILLIS // 100:
            yield "createAt in seconds since 1970", f"{name}: {entry}"
        if entry.get("manifestSize") == 0 or not name:
            yield "a name and the size of a manifest", f"{name}: {entry}"


@_invariant("LN-EACH-013", "A transaction has a status.", "rest.yaml, TransactionStatus")
def _status(request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply) -> Iterator[Told]:
    told = reply.step.operation in ("DescribeTransaction", "AlterTransaction")
    if told and not answer.get("status"):
        yield "a status", repr(answer.get("status"))


@_invariant("LN-EACH-012", "ListOperations returns only operations of the protocol.",
            "general specification, Namespace Operations")  # fmt: skip
def _operations(
    request: Mapping[str, Any], answer: Mapping[str, Any], reply: Reply
) -> Iterator[Told]:
    if reply.step.operation == "ListOperations":
        told = answer.get("operations") or ()
        if not set(told) & set(OPERATIONS):
            yield "only operations of the protocol", str(told)[:200]
