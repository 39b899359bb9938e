"""More handwritten wrong namespaces: inconsistent answers and concurrent calls."""

from __future__ import annotations

import threading
import time
from urllib.parse import urlencode

import httpx

from lance_namespace_impls.conformance.exchange import Reply, Step

from .fresh import add, add_wire, fresh, sticky
from .python import Act, WrongTarget, answer
from .wire import Send

# --- versions


@fresh("versions that were deleted are still there")
def undeleted(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "BatchDeleteTableVersions":
        return None
    return Reply(step=step, answer={"deleted_count": 1})


add(
    "BatchDeleteTableVersions counts nothing",
    answer("BatchDeleteTableVersions", lambda a: {**a, "deleted_count": 0}),
)
add(
    "every version is listed as the newest",
    answer(
        "ListTableVersions", lambda a: {**a, "versions": a["versions"][-1:] * len(a["versions"])}
    ),
)
add(
    "the newest version is not listed",
    answer(
        "ListTableVersions",
        lambda a: {**a, "versions": [v for v in a["versions"] if v["version"] < 3]},
    ),
)

# --- stale caches

add("the count is remembered over appends", sticky("CountTableRows", "InsertIntoTable"))
add("the count is remembered over deletes", sticky("CountTableRows", "DeleteFromTable"))
add("the count is remembered over merges", sticky("CountTableRows", "MergeInsertIntoTable"))
add("the count is remembered over restores", sticky("CountTableRows", "RestoreTable"))
add("rows are remembered over updates", sticky("QueryTable", "UpdateTable"))
add("rows are remembered over new columns", sticky("QueryTable", "AlterTableAddColumns"))
add("a listing is remembered over drops", sticky("ListTables", "DropTable"))
add("a listing is remembered over renames", sticky("ListTables", "RenameTable"))
add("a listing is remembered over new tables", sticky("ListTables", "CreateTable", "DeclareTable"))
add("a listing of namespaces is remembered", sticky("ListNamespaces", "CreateNamespace"))
add("a description is remembered over changes", sticky("DescribeTable", "AlterTable"))
add("a description is remembered over a drop", sticky("DescribeTable", "DropTable"))
add("a namespace is remembered over changes", sticky("DescribeNamespace", "AlterNamespace"))
add("a namespace is remembered over its drop", sticky("NamespaceExists", "DropNamespace"))
add("stats are remembered over appends", sticky("GetTableStats", "InsertIntoTable"))
add("stats are remembered over deletes", sticky("GetTableStats", "DeleteFromTable"))
add("index stats are remembered over appends", sticky("DescribeTableIndexStats", "InsertIntoTable"))
add(
    "indices are remembered", sticky("ListTableIndices", "CreateTableScalarIndex", "DropTableIndex")
)
add(
    "tags are remembered",
    sticky("ListTableTags", "CreateTableTag", "UpdateTableTag", "DeleteTableTag"),
)
add("a tag is remembered over its move", sticky("GetTableTagVersion", "UpdateTableTag"))
add(
    "branches are remembered", sticky("ListTableBranches", "CreateTableBranch", "DeleteTableBranch")
)
add("the newest version is remembered", sticky("DescribeTableVersion", "InsertIntoTable"))

# --- answers

add(
    "num_fragments is the number of rows",
    answer(
        "DescribeTable",
        lambda a: {**a, "stats": {**a["stats"], "num_fragments": 99}} if a.get("stats") else a,
    ),
)
add("stats count no indices", answer("GetTableStats", lambda a: {**a, "num_indices": 0}))
add("stats count no bytes", answer("GetTableStats", lambda a: {**a, "total_bytes": 0}))
add(
    "an index has no columns",
    answer(
        "ListTableIndices", lambda a: {**a, "indexes": [{**i, "columns": []} for i in a["indexes"]]}
    ),
)
add(
    "all indices have one uuid",
    answer(
        "ListTableIndices",
        lambda a: {**a, "indexes": [{**i, "index_uuid": "0"} for i in a["indexes"]]},
    ),
)
add(
    "columns are never nullable",
    answer(
        "DescribeTable",
        lambda a: (
            {
                **a,
                "schema": {
                    **a["schema"],
                    "fields": [{**f, "nullable": False} for f in a["schema"]["fields"]],
                },
            }
            if a.get("schema")
            else a
        ),
    ),
)
add(
    "the columns are sorted",
    answer(
        "DescribeTable",
        lambda a: (
            {
                **a,
                "schema": {
                    **a["schema"],
                    "fields": sorted(a["schema"]["fields"], key=lambda f: f["name"], reverse=True),
                },
            }
            if a.get("schema")
            else a
        ),
    ),
)
add(
    "names are sorted backwards", answer("ListTables", lambda a: {**a, "tables": a["tables"][::-1]})
)
add(
    "there is always one more page",
    answer(
        "ListTables",
        lambda a: {**a, "page_token": a.get("page_token") or ((a["tables"] or [""])[-1] or None)},
    ),
)
add("the plan is empty", answer("ExplainTableQueryPlan", lambda a: {"plan": ""}))
add(
    "an updated row counts twice",
    answer("UpdateTable", lambda a: {**a, "updated_rows": 2 * a["updated_rows"]}),
)
add("an update answers version 1", answer("UpdateTable", lambda a: {**a, "version": 1}))
add("a new column answers version 1", answer("AlterTableAddColumns", lambda a: {**a, "version": 1}))
add(
    "a dropped column answers version 1",
    answer("AlterTableDropColumns", lambda a: {**a, "version": 1}),
)
add(
    "a changed column answers version 1",
    answer("AlterTableAlterColumns", lambda a: {**a, "version": 1}),
)
add("a merge answers version 1", answer("MergeInsertIntoTable", lambda a: {**a, "version": 1}))
add("a deletion answers version 1", answer("DeleteFromTable", lambda a: {**a, "version": 1}))
add(
    "managed_versioning is a text",
    answer("DescribeTable", lambda a: {**a, "managed_versioning": "no"}),
)

# --- concurrency


def _unlocked(operation: str, read: str, key: str) -> Act:
    """Return an act in which concurrent calls of an operation overwrite each other's changes."""
    gate = threading.Lock()

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        before = target.ask(read, id=step.request["id"])
        time.sleep(0.05)
        with gate:
            reply = target.correct.call(step)
            if reply.succeeded and before.succeeded:
                old = set((before.answer or {}).get(key) or ())
                now = set((target.ask(read, id=step.request["id"]).answer or {}).get(key) or ())
                mine = set(step.request.get("set_properties") or ())
                for lost in now - old - mine:
                    target.ask(operation, id=step.request["id"], unset_properties=[lost])
        return reply

    return act


add("the last AlterTable wins", _unlocked("AlterTable", "DescribeTable", "properties"))
add("the last AlterNamespace wins", _unlocked("AlterNamespace", "DescribeNamespace", "properties"))


def _both(operation: str, code: int) -> Act:
    """Return an act in which concurrent calls of an operation all succeed."""
    when: dict[str, float] = {}

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        started = time.monotonic()
        time.sleep(0.03)
        reply = target.correct.call(step)
        key = repr(step.request.get("id")) + str(
            step.request.get("tag") or step.request.get("name")
        )
        if reply.succeeded:
            when[key] = time.monotonic()
        elif reply.code == code and started < when.get(key, 0.0):
            return Reply(step=step, answer={})
        return reply

    return act


add("a tag is made twice at once", _both("CreateTableTag", 9))
add("a branch is made twice at once", _both("CreateTableBranch", 23))
add("a table is dropped twice at once", _both("DropTable", 4))
add("a namespace is dropped twice at once", _both("DropNamespace", 1))
add("a table is registered twice at once", _both("RegisterTable", 5))
add("a table is renamed twice at once", _both("RenameTable", 4))


def _slow(operation: str) -> Act:
    """Return an act in which a concurrent write reports success but is lost."""
    busy: dict[str, int] = {}

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        key = repr(step.request["id"])
        busy[key] = busy.get(key, 0) + 1
        time.sleep(0.05)
        alone = busy[key] == 1
        busy[key] -= 1
        if alone:
            return None
        return Reply(step=step, answer={"version": 2, "updated_rows": 1, "num_inserted_rows": 1})

    return act


for _operation in ("InsertIntoTable", "UpdateTable", "DeleteFromTable", "MergeInsertIntoTable"):
    add(f"{_operation} beside another is lost", _slow(_operation))


def _latin_1(request: httpx.Request, send: Send) -> httpx.Response:
    """Decode the query parameters of requests with rows as Latin-1, like old servlet containers."""
    if "arrow" not in request.headers.get("content-type", ""):
        return send(request)
    given = [
        (key, text.encode().decode("latin-1")) for key, text in request.url.params.multi_items()
    ]
    url = request.url.copy_with(query=urlencode(given).encode())
    turned = httpx.Request(request.method, url, headers=request.headers, content=request.content)
    return send(turned)


add_wire("the query beside rows is decoded as Latin-1", _latin_1)
