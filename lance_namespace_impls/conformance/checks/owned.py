"""Responses describe the requested object and its current state."""

from __future__ import annotations

from typing import Any

from ..lab import Lab
from ..requirement import check
from ..rows import people, stream
from .branches import branch_ids
from .managed import managed_table, newest, setting, staged, transaction

_TABLES = ["tables"]


@check("LN-FRESH-015",
       "GetTableStats immediately reflects new and dropped indices and new fragments.",
       "rest.yaml, GetTableStatsRequest: the size and layout of a table's latest version",
       "GetTableStats", "InsertIntoTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def stats(lab: Lab) -> None:
    table = lab.new_table(1)

    def told() -> tuple[int, int]:
        found = lab.ok("GetTableStats", id=table)
        return found["num_indices"], found["fragment_stats"]["lengths"]["max"]

    lab.same(told(), (0, 1), "the indices, and the rows of the longest fragment")
    lab.given("InsertIntoTable", stream(people(2, 3, 4)), id=table)
    lab.same(told(), (0, 3), "the indices, and the rows of the longest fragment")
    lab.maybe("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.same(told(), (1, 3), "the indices, and the rows of the longest fragment")
    second = {"column": "id", "index_type": "BITMAP", "name": "also"}
    if lab.call("CreateTableScalarIndex", id=table, **second).succeeded:
        lab.same(told()[0], 2, "the indices, two of them on one column")
        lab.given("DropTableIndex", id=table, index_name="also")
    lab.maybe("DropTableIndex", id=table, index_name="by_id")
    lab.same(told()[0], 0, "the indices")


@check("LN-TAG-060", "A tag has the version and the branch that were set on its own table.",
       "rest.yaml, GetTableTagVersionResponse: branch the version belongs to; absent for the main branch",
       "GetTableTagVersion", "CreateTableTag", "CreateTableBranch", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def tag_of_its_table(lab: Lab) -> None:
    tables = {branch: lab.new_table(1) for branch in (None, "side", "beside")}
    for branch, table in tables.items():
        if branch is None:
            lab.given("CreateTableTag", id=table, tag="t", version=1)
            continue
        lab.given("CreateTableBranch", id=table, name=branch)
        lab.given("InsertIntoTable", stream(people(2)), id=table, branch=branch)
        lab.maybe("CreateTableTag", id=table, tag="t", version=2, branch=branch)
    for branch, table in [*tables.items()] * 2:
        told = lab.ok("GetTableTagVersion", id=table, tag="t")
        due = (2 if branch else 1, branch)
        lab.same((told["version"], told.get("branch")), due, "version and branch of the tag")


@check("LN-TABLE-DESCRIBE-022",
       "The responses of DeclareTable and MergeInsertIntoTable describe the requested table.",
       "rest.yaml, DeclareTableResponse and MergeInsertIntoTableResponse", "DeclareTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def of_the_table(lab: Lab) -> None:
    for owner in ("ana", "bob", "ana"):
        reply = lab.call("DeclareTable", id=lab.table_id(), properties={"owner": owner})
        found = (reply.answer or {}).get("properties")
        if found is not None and reply.succeeded:
            lab.has(found, {"owner": owner}, "the properties that are answered")
    gone = {"on": "id", "when_matched_update_all": True, "when_not_matched_by_source_delete": True}
    for size in (2, 5, 3):
        table = lab.new_table(*range(size))
        answer = lab.maybe("MergeInsertIntoTable", stream(people(0)), id=table, **gone)
        for key, due in (("num_deleted_rows", size - 1), ("num_updated_rows", 1)):
            if answer.get(key) is not None:
                lab.same(answer[key], due, key)


@check("LN-MANAGED-012", "managed_versioning reports the current state of each table.",
       "rest.yaml, DescribeTableResponse", "DescribeTable", "CreateTable", "DropTable",
       capabilities=_TABLES)  # fmt: skip
def managed_each(lab: Lab) -> None:
    plain, asked = lab.new_table(1), lab.table_id()
    lab.ok("DescribeTable", id=plain)
    reply = lab.call("DeclareTable", id=asked, properties={"managed_versioning": "true"})
    if reply.succeeded and (reply.answer or {}).get("managed_versioning") is not None:
        found = bool(lab.ok("DescribeTable", id=asked).get("managed_versioning"))
        answered = (reply.answer or {})["managed_versioning"]
        lab.same(found, answered, "managed_versioning, as DeclareTable answered")
    table = managed_table(lab)
    told = bool(lab.ok("DescribeTable", id=plain).get("managed_versioning"))
    for _ in range(2):
        lab.same(
            lab.ok("DescribeTable", id=table).get("managed_versioning"), True, "managed_versioning"
        )
        found = bool(lab.ok("DescribeTable", id=plain).get("managed_versioning"))
        lab.same(found, told, "managed_versioning of the other table")
    lab.ok("DropTable", id=table)
    lab.given("CreateTable", stream(people(1)), id=table)
    found = bool(lab.ok("DescribeTable", id=table).get("managed_versioning"))
    lab.same(found, told, "managed_versioning of a table that is made anew as the other was")


@check("LN-MANAGED-013", "CreateTableVersion returns the version of the requested table.",
       "rest.yaml, CreateTableVersionResponse", "CreateTableVersion", "CreateTable", "DescribeTable",
       "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def version_each(lab: Lab) -> None:
    one, other = managed_table(lab), managed_table(lab)
    for table in (one, one, other, one):
        request = staged(lab, table, 20)
        found = lab.ok("CreateTableVersion", **request).get("version")
        if found is not None:
            lab.same(found["version"], request["version"], "the version that is answered")


@check("LN-TRANSACTION-005",
       "AlterTransaction changes and returns the properties of the requested transaction.",
       "rest.yaml, AlterTransactionResponse", "AlterTransaction", capabilities=_TABLES)  # fmt: skip
def transaction_each(lab: Lab) -> None:
    one, other = transaction(lab), transaction(lab)
    for identifier, value in ((one, "1"), (other, "2"), (one, "3")):
        found = lab.ok("AlterTransaction", id=identifier, actions=[setting("a", value)])
        if found.get("properties") is not None:
            lab.same(found["properties"].get("a"), value, "the property that is answered")
    for identifier, value in ((one, "3"), (other, "2")):
        told = lab.call("DescribeTransaction", id=identifier)
        held = (told.answer or {}).get("properties")
        if told.succeeded and held is not None:
            lab.same(held.get("a"), value, "the property of the transaction that is described")


@check("LN-MANAGED-062",
       "Every operation that commits a version commits it to the branch in the request.",
       "rest.yaml, CreateTableVersionRequest and CreateTableVersionEntry: branch", "CreateTableVersion",
       "CreateTable", "CreateTableBranch", "ListTableVersions", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def on_a_branch(lab: Lab) -> None:
    table, branch = managed_table(lab), "Side"
    lab.maybe("CreateTableBranch", id=table, name=branch)
    before, ids = newest(lab, table), lab.ids(table)
    due = list(ids)
    for number, operation in enumerate(
        ("CreateTableVersion", "BatchCreateTableVersions", "BatchCommitTables"), 20
    ):
        commit = staged(lab, table, number, branch=branch)
        whole: dict[str, dict[str, Any]] = {
            "CreateTableVersion": commit,
            "BatchCreateTableVersions": {"entries": [commit]},
            "BatchCommitTables": {"operations": [{"create_table_version": commit}]},
        }
        reply = lab.call(operation, **whole[operation])
        if reply.code == 0:
            continue  # the target manages versions of the main line only
        lab.must_succeed(reply)
        due.append(number)
        lab.same(branch_ids(lab, table, branch), due, f"the ids of the branch after {operation}")
    lab.same(newest(lab, table), before, "the latest version of the main line")
    lab.same(lab.ids(table), ids, "the ids of the main line")
