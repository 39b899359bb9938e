"""Tables with several versions or branches, and their contents."""

from __future__ import annotations

from typing import Any

from .exchange import Reply
from .lab import MOST_PAGES, Failed, Lab, Skipped
from .rows import people, stream

__all__ = [
    "SIDE",
    "answer_of",
    "branch_ids",
    "branch_rows",
    "branch_starts",
    "branch_state",
    "count_on_branch",
    "forked_table",
    "ids_on_branch",
    "insert_each",
    "lists_none",
    "newest_version",
    "same_values",
    "two_versions",
    "version_numbers",
]

SIDE = "side"
_BY_ID = {"column": "id", "index_type": "BTREE", "name": "by_id"}


def two_versions(lab: Lab) -> list[str]:
    """Return a table with two versions: ten rows, then eleven."""
    table = lab.new_table()
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    return table


def version_numbers(lab: Lab, table: list[str], **more: Any) -> list[int]:
    """Return the version numbers of a table, in the order of ListTableVersions.

    All pages are read, or only the first one if a limit is passed. The target may reject a branch.
    """
    found: list[int] = []
    token: str | None = None
    ask = lab.ok if more.get("branch") is None else lab.maybe
    for _ in range(MOST_PAGES):
        next_page = {} if token is None else {"page_token": token}
        answer = ask("ListTableVersions", id=table, **more, **next_page)
        found += [entry["version"] for entry in answer.get("versions") or ()]
        token = answer.get("page_token")
        if not token or "limit" in more:
            return found
    raise Failed("the listing of versions to end", f"{MOST_PAGES} pages", lab.last)


def branch_ids(lab: Lab, table: list[str], branch: str | None = SIDE) -> list[int]:
    """Return the row ids on a branch."""
    return sorted(branch_rows(lab, table, branch).rows.column("id").to_pylist())


def branch_rows(lab: Lab, table: list[str], branch: str | None = SIDE) -> Reply:
    """Return the reply to a query of a branch."""
    request: dict[str, Any] = {"id": table, "vector": lab.no_vector(table), "k": 1000}
    reply = lab.call("QueryTable", **request, **({} if branch is None else {"branch": branch}))
    if reply.code in (0, 13):
        raise Skipped(f"QueryTable with a branch: {reply.outcome()}")
    lab.must_succeed(reply)
    return reply


def lists_none(lab: Lab, table: list[str], reply: Reply) -> bool:
    """Return whether a missing branch may be answered with an empty list of versions.

    If the catalog manages versions, Lance lists those of a branch before it creates the branch.
    """
    empty = (
        reply.step.operation == "ListTableVersions" and (reply.answer or {}).get("versions") == []
    )
    return empty and bool(lab.ok("DescribeTable", id=table).get("managed_versioning"))


def newest_version(lab: Lab, table: list[str]) -> int:
    """Return the version that DescribeTable reports."""
    told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True).get("version")
    if not isinstance(told, int):
        raise Skipped("DescribeTable returns no version")
    return told


def branch_state(lab: Lab, table: list[str], **of: Any) -> dict[str, Any]:
    """Return everything that is reported about one branch of a table."""
    reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), k=100, **of)
    lab.may_refuse(reply)
    told: dict[str, Any] = {"rows": reply.rows.sort_by("id").to_pylist()}
    for operation, keys, more in (
        ("DescribeTable", ("version", "schema", "stats", "metadata"), {"load_detailed_metadata": True}),
        ("ListTableIndices", ("indexes",), {}),
        ("GetTableStats", ("num_rows", "num_indices", "fragment_stats"), {}),
        ("DescribeTableIndexStats", ("num_indexed_rows", "num_unindexed_rows"), {"index_name": "by_id"}),
    ):  # fmt: skip
        answer = lab.call(operation, id=table, **more, **of).answer or {}
        told |= {f"{key} of {operation}": answer.get(key) for key in keys}
    return told | {"its versions": sorted(version_numbers(lab, table, **of))}


def same_values(lab: Lab, before: dict[str, Any], after: dict[str, Any], what: str) -> None:
    """Require that values are unchanged, such as those of `branch_state`."""
    for key, value in before.items():
        lab.same(after[key], value, f"{key} of {what}")


def branch_starts(lab: Lab, table: list[str]) -> dict[str, Any]:
    """Return where each branch of a table starts."""
    found = (lab.call("ListTableBranches", id=table).answer or {}).get("branches") or {}
    keys = ("parentBranch", "parentVersion", "createAt")
    return {name: [entry.get(key) for key in keys] for name, entry in found.items()}


def answer_of(lab: Lab, operation: str, **request: Any) -> dict[str, Any]:
    """Return the answer to a call that must succeed, except that a branch may be unsupported."""
    return dict((lab.maybe if request.get("branch") else lab.ok)(operation, **request))


def count_on_branch(lab: Lab, table: list[str], **request: Any) -> Any:
    """Return the number of rows of a branch, except that counting those may be unsupported."""
    return answer_of(lab, "CountTableRows", id=table, **request).get("count")


def ids_on_branch(lab: Lab, table: list[str], **request: Any) -> list[int]:
    """Return the row ids of a branch, except that reading a branch may be unsupported."""
    if not request.get("branch"):
        return lab.ids(table, **request)
    reply = lab.call("QueryTable", id=table, vector=lab.no_vector(), k=1000, **request)
    lab.may_refuse(reply)
    return sorted(reply.rows.column("id").to_pylist())


def insert_each(lab: Lab, table: list[str], *ids: int, **of: Any) -> None:
    """Insert rows one by one, each in a new version."""
    for number in ids:
        lab.maybe("InsertIntoTable", stream(people(number)), id=table, **of)


def forked_table(lab: Lab) -> list[str]:
    """Return a table with an index and two branches that have one more row each."""
    table = lab.new_table(1, 2, 3)
    lab.call("CreateTableScalarIndex", id=table, **_BY_ID)
    for number, name in enumerate(("side", "other"), start=10):
        lab.given("CreateTableBranch", id=table, name=name)
        insert_each(lab, table, number, branch=name)
    return table
