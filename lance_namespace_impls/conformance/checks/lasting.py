"""Effects of changes: what they preserve, what they remove and what they show immediately."""

from __future__ import annotations

from typing import Any

from ..lab import Failed, Lab, Skipped
from ..requirement import Level, check
from ..rows import PEOPLE, people, stream
from .history import two_versions, version_numbers
from .races import at_once, one_wins

_MODES = 'protocol semantics, "Modes"'
_TAGS = "rest.yaml, the tag operations"
_VERSIONS = "rest.yaml, BatchDeleteTableVersions"
_DESCRIBE = "rest.yaml, DescribeTableResponse; protocol semantics, DescribeTable"
_ONE = "general specification, Object Name: a name is unique in its namespace"
_TABLES = ["tables"]
ALL = list(PEOPLE)


def described(lab: Lab, table: list[str], **more: Any) -> dict[str, Any]:
    """Return the answer of DescribeTable with detailed metadata."""
    return dict(lab.maybe("DescribeTable", id=table, load_detailed_metadata=True, **more))


# --- overwriting


@check("LN-TABLE-CREATE-023",
       "Mode Overwrite replaces a table's properties with those of the request.",
       _MODES, "CreateTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def overwrite_properties(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("CreateTable", stream(people(1)), id=table, properties={"old": "1", "both": "1"})
    lab.maybe("CreateTable", stream(people(2)), id=table, mode="Overwrite",
              properties={"new": "2", "both": "2"})  # fmt: skip
    found = lab.ok("DescribeTable", id=table).get("properties")
    lab.has(found, {"new": "2", "both": "2"}, "the properties")
    lab.that("old" not in (found or {}), "no property of the old table", found)


@check("LN-NAMESPACE-CREATE-017",
       "CreateNamespace in mode Overwrite stores the properties of the request.", _MODES,
       "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def overwrite_namespace(lab: Lab) -> None:
    namespace = lab.new_namespace()
    lab.maybe("CreateNamespace", id=namespace, mode="Overwrite", properties={"new": "2"})
    found = lab.ok("DescribeNamespace", id=namespace).get("properties")
    lab.has(found, {"new": "2"}, "the properties")


@check("LN-TABLE-REGISTER-007", "RegisterTable stores the properties of the request.",
       "rest.yaml, RegisterTableRequest", "RegisterTable", "DeregisterTable", "DescribeTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def register_properties(lab: Lab) -> None:
    table = lab.new_table()
    location = lab.ok("DescribeTable", id=table).get("location")
    lab.given("DeregisterTable", id=table)
    lab.maybe("RegisterTable", id=table, location=location, properties={"owner": "me"})
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), {"owner": "me"}, "the properties")


@check("LN-TABLE-EXISTS-005", "TableExists fails for a version that does not exist.",
       "rest.yaml, TableExistsRequest", "TableExists", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def exists_version(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("TableExists", id=table, version=1)
    lab.refused("TableExists", [4, 11], id=table, version=999)


@check("LN-TABLE-DESCRIBE-012", "DescribeTable with a tag describes the tagged version.",
       "rest.yaml, DescribeTableRequest: name of the tag whose version is described",
       "DescribeTable", "CreateTableTag", "AlterTableAddColumns", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def describe_tag(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableTag", id=table, tag="first", version=1)
    lab.given("AlterTableAddColumns", id=table,
              new_columns=[{"name": "twice", "expression": "id * 2"}])  # fmt: skip
    for more in ({"tag": "first"}, {"version": 1}):
        answer = described(lab, table, **more)
        names = [f["name"] for f in (answer.get("schema") or {}).get("fields") or ()]
        lab.that("twice" not in names, f"the columns of version 1 for {more}", names)


@check("LN-TABLE-DESCRIBE-013",
       "A table is no longer reported as only declared once rows are written to it.", _DESCRIBE,
       "DescribeTable", "DeclareTable", "InsertIntoTable", capabilities=_TABLES)  # fmt: skip
def no_longer_declared(lab: Lab) -> None:
    table = lab.new_declared()
    reply = lab.call("InsertIntoTable", stream(people(1)), id=table)
    if not reply.succeeded:
        lab.maybe("CreateTable", stream(people(1)), id=table, mode="Overwrite")
    answer = lab.ok("DescribeTable", id=table, check_declared=True)
    lab.same(bool(answer.get("is_only_declared")), False, "is_only_declared")


@check("LN-TABLE-DESCRIBE-014",
       "DescribeTable returns the columns of the schema in order, with their nullability.",
       _DESCRIBE, "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def schema(lab: Lab) -> None:
    answer = described(lab, lab.shared_table())
    fields = (answer.get("schema") or {}).get("fields") or ()
    lab.same([f["name"] for f in fields], people(1).column_names, "the columns")
    lab.same([f["nullable"] for f in fields], [True] * len(fields), "which are nullable")


@check("LN-TABLE-DESCRIBE-015", "The stats of DescribeTable count fragments and deleted rows.",
       "rest.yaml, TableBasicStats", "DescribeTable", "DeleteFromTable", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def basic_stats(lab: Lab) -> None:
    table = two_versions(lab)
    stats = described(lab, table).get("stats") or {}
    if "num_fragments" in stats:
        lab.same((stats["num_fragments"], stats["num_deleted_rows"]), (2, 0), "the stats")
    lab.ok("DeleteFromTable", id=table, predicate="id = 3")
    stats = described(lab, table).get("stats") or {}
    if "num_deleted_rows" in stats:
        lab.that(stats["num_deleted_rows"] in (0, 1), "at most one deleted row", stats)
        whole = lab.call("GetTableStats", id=table)
        if whole.succeeded:
            lab.same((whole.answer or {}).get("num_rows"), 10, "num_rows")


# --- renaming and dropping


@check("LN-TABLE-RENAME-009", "RenameTable preserves versions, tags and indices.",
       "rest.yaml, RenameTable", "RenameTable", "CreateTableTag", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def rename_keeps(lab: Lab) -> None:
    table = two_versions(lab)
    lab.given("CreateTableTag", id=table, tag="first", version=1)
    indexed = lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE",
                       name="by_id")  # fmt: skip
    new = lab.table_id()
    lab.ok("RenameTable", id=table, new_table_name=new[-1])
    answer = lab.ok("GetTableTagVersion", id=new, tag="first")
    lab.same(answer.get("version"), 1, "the version of the tag")
    lab.same(lab.count(new, version=1), len(ALL), "the rows of version 1")
    if indexed.succeeded:
        found = lab.ok("ListTableIndices", id=new).get("indexes") or ()
        lab.same([entry["index_name"] for entry in found], ["by_id"], "the indices")


@check("LN-TABLE-RENAME-010", "Renaming a table to its current name changes nothing.",
       "rest.yaml, RenameTable, code 5", "RenameTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def rename_same(lab: Lab) -> None:
    table = lab.new_table()
    reply = lab.call("RenameTable", id=table, new_table_name=table[-1])
    if not reply.succeeded:
        lab.must_fail(reply, [5, 13])
    lab.same(lab.count(table), len(ALL), "the rows")


@check("LN-TAG-010", "Tags belong to one table and are deleted with it.",
       "rest.yaml, the tag operations; DropTable: tags and branches included", "CreateTableTag",
       "GetTableTagVersion", "DropTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def own_tags(lab: Lab) -> None:
    table, other = lab.new_table(), lab.new_table()
    lab.ok("CreateTableTag", id=table, tag="first", version=1)
    lab.refused("GetTableTagVersion", [8], id=other, tag="first")
    lab.ok("CreateTableTag", id=other, tag="first", version=1)
    lab.given("DropTable", id=table)
    lab.given("CreateTable", stream(people(1)), id=table)
    lab.refused("GetTableTagVersion", [8], id=table, tag="first")
    lab.ok("GetTableTagVersion", id=other, tag="first")


@check("LN-TAG-011",
       "UpdateTableTag does not create a tag, and DeleteTableTag deletes only the named tag.",
       _TAGS,
       "CreateTableTag", "UpdateTableTag", "DeleteTableTag", "ListTableTags", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def other_tags(lab: Lab) -> None:
    table = lab.new_table()
    for name in ("one", "two", "three"):
        lab.ok("CreateTableTag", id=table, tag=name, version=1)
    lab.ok("DeleteTableTag", id=table, tag="two")
    lab.refused("UpdateTableTag", [8], id=table, tag="two", version=1)
    found = lab.ok("ListTableTags", id=table).get("tags") or {}
    lab.same(sorted(found), ["one", "three"], "the tags")


@check("LN-NAMESPACE-DROP-014", "A namespace that contains only declared tables is not empty.",
       _MODES, "DropNamespace", "DeclareTable", "DescribeTable",
       capabilities=["tables", "namespaces"])  # fmt: skip
def drop_declared(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        return
    namespace = lab.new_namespace()
    table = [*namespace, lab.ledger.fresh()]
    lab.given("DeclareTable", id=table)
    lab.refused("DropNamespace", [3], id=namespace)
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-NAMESPACE-DROP-015", "A namespace that contains only child namespaces is not empty.",
       _MODES,
       "DropNamespace", "CreateNamespace", capabilities=["nested"])  # fmt: skip
def drop_children(lab: Lab) -> None:
    namespace = lab.new_namespace()
    child = [*namespace, lab.ledger.fresh()]
    made = lab.call("CreateNamespace", id=child)
    if not made.succeeded:
        return
    lab.refused("DropNamespace", [3], id=namespace)
    lab.that(lab.exists("NamespaceExists", child), "the child to stay", "it is gone")


# --- deleting versions


@check("LN-VERSION-010",
       "BatchDeleteTableVersions deletes the versions in its ranges and returns their number.",
       _VERSIONS, "BatchDeleteTableVersions", "ListTableVersions", "InsertIntoTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def delete_versions(lab: Lab) -> None:
    table = lab.new_table()
    for number in (11, 12, 13, 14):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    answer = lab.maybe("BatchDeleteTableVersions", id=table,
                       ranges=[{"start_version": 1, "end_version": 3}])  # fmt: skip
    left = sorted(version_numbers(lab, table))
    # The protocol leaves open whether a range includes its end.
    lab.that(left in ([3, 4, 5], [4, 5]), "versions 1 and 2 to be gone, 4 and 5 to stay", left)
    if answer.get("deleted_count") is not None:
        lab.same(answer["deleted_count"], 5 - len(left), "deleted_count")
    lab.refused("CountTableRows", [11], id=table, version=1)
    lab.same(lab.count(table), len(ALL) + 4, "the rows of the newest version")


# --- visibility of changes


@check("LN-FRESH-001", "After a write, reads return the changed rows and no earlier result.",
       "rest.yaml, CountTableRowsRequest and QueryTableRequest: the latest version by default", "CreateTable",
       "CountTableRows", "QueryTable", "InsertIntoTable", "UpdateTable", "DeleteFromTable",
       "MergeInsertIntoTable", capabilities=_TABLES)  # fmt: skip
def rows_are_fresh(lab: Lab) -> None:
    table = lab.new_table()
    names = {i: f"n{i}" for i in ALL}

    def look() -> None:
        lab.same(lab.count(table), len(names), "the number of rows")
        found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
        lab.same(found, names, "the names")

    look()
    lab.ok("InsertIntoTable", stream(people(11)), id=table)
    names[11] = "n11"
    look()
    lab.ok("UpdateTable", id=table, predicate="id = 11", updates=[["name", "'new'"]])
    names[11] = "new"
    look()
    lab.ok("MergeInsertIntoTable", stream(people(12)), id=table, on="id",
           when_not_matched_insert_all=True)  # fmt: skip
    names[12] = "n12"
    look()
    lab.ok("DeleteFromTable", id=table, predicate="id > 10")
    del names[11], names[12]
    look()


@check("LN-FRESH-002", "Versions and statistics reflect each write immediately.",
       "rest.yaml, DescribeTableVersionRequest.version and GetTableStatsRequest: of the latest version",
       "CreateTable", "InsertIntoTable", "GetTableStats", "ListTableVersions", "DescribeTableVersion",
       capabilities=_TABLES)  # fmt: skip
def versions_are_fresh(lab: Lab) -> None:
    table = lab.new_table()
    for number in (1, 2, 3):
        stats = lab.ok("GetTableStats", id=table)
        lab.same(stats.get("num_rows"), len(ALL) + number - 1, "num_rows")
        lab.that((stats.get("total_bytes") or 0) > 0, "total_bytes above 0", stats)
        shown = sorted(version_numbers(lab, table))
        lab.same(shown, list(range(1, number + 1)), "the versions")
        newest = (lab.ok("DescribeTableVersion", id=table).get("version") or {}).get("version")
        lab.same(newest, number, "the newest version")
        lab.given("InsertIntoTable", stream(people(10 + number)), id=table)


@check("LN-FRESH-003", "Indices and tags reflect each change immediately.",
       "rest.yaml, ListTableIndicesRequest: the latest version; ListTableTags: the tags of a table",
       "CreateTable", "CreateTableScalarIndex", "ListTableIndices", "DropTableIndex", "CreateTableTag",
       "ListTableTags", "UpdateTableTag", "GetTableTagVersion", "InsertIntoTable",
       capabilities=_TABLES)  # fmt: skip
def refs_are_fresh(lab: Lab) -> None:
    table = lab.new_table()

    def indices() -> list[str]:
        entries = lab.ok("ListTableIndices", id=table).get("indexes") or ()
        uuids = [entry["index_uuid"] for entry in entries]
        lab.same(len(uuids), len(set(uuids)), "the number of different index_uuid")
        return sorted(entry["index_name"] for entry in entries)

    lab.same(indices(), [], "the indices")
    for name, column in (("one", "id"), ("two", "name")):
        lab.ok("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name=name)
    lab.same(indices(), ["one", "two"], "the indices")
    lab.ok("DropTableIndex", id=table, index_name="one")
    lab.same(indices(), ["two"], "the indices")
    lab.given("InsertIntoTable", stream(people(11)), id=table)
    lab.ok("CreateTableTag", id=table, tag="t", version=1)
    for version in (1, 2):
        lab.ok("UpdateTableTag", id=table, tag="t", version=version)
        answer = lab.ok("GetTableTagVersion", id=table, tag="t")
        lab.same(answer.get("version"), version, "the version of the tag")
        found = lab.ok("ListTableTags", id=table).get("tags") or {}
        lab.same({n: tag["version"] for n, tag in found.items()}, {"t": version}, "the tags")


@check("LN-FRESH-004", "Listings and descriptions reflect each change immediately.",
       "rest.yaml, ListTables: lists the Lance tables in the given namespace; DescribeTable", "ListTables",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def listings_are_fresh(lab: Lab) -> None:
    parent = list(lab.shape.table_parent or ())
    table = lab.table_id()

    def listed() -> bool:
        return table[-1] in lab.walk("ListTables", "tables", id=parent, limit=1000)

    def there() -> bool:
        reply = lab.call("DescribeTable", id=table)
        if not reply.succeeded:
            lab.must_fail(reply, [4])
        return reply.succeeded

    for _ in range(2):
        lab.same((listed(), there()), (False, False), "whether the table is there")
        made = lab.call("DeclareTable", id=table)
        if not made.succeeded:
            lab.given("CreateTable", stream(people(1)), id=table)
        lab.same((listed(), there()), (True, True), "whether the table is there")
        lab.ok("DropTable", id=table)


@check("LN-FRESH-005",
       "DescribeTableIndexStats counts rows that were inserted after the index was created.",
       "rest.yaml, DescribeTableIndexStatsResponse", "CreateTableScalarIndex",
       "DescribeTableIndexStats", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index_stats(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    for _ in range(2):
        answer = lab.ok("DescribeTableIndexStats", id=table, index_name="by_id")
        lab.given("InsertIntoTable", stream(people(11)), id=table)
    later = lab.ok("DescribeTableIndexStats", id=table, index_name="by_id")
    counted = [
        (a.get("num_indexed_rows") or 0) + (a.get("num_unindexed_rows") or 0)
        for a in (answer, later)
    ]
    lab.same(counted, [len(ALL) + 1, len(ALL) + 2], "indexed and unindexed rows")
    stats = lab.call("GetTableStats", id=table)
    if stats.succeeded:
        lab.same((stats.answer or {}).get("num_indices"), 1, "num_indices")


@check("LN-NAME-006",
       "A name that differs from a table's name only in case does not identify that table.",
       "general specification, Object Name", "DeclareTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def case_of_names(lab: Lab) -> None:
    lower = lab.new_declared()
    upper = [*lower[:-1], f"{lower[-1]}_A"]
    small = [*lower[:-1], f"{lower[-1]}_a"]
    lab.given("DeclareTable", id=small)
    lab.not_found("DescribeTable", upper, f"{upper[-1]} to be missing beside {small[-1]}")


@check("LN-NAME-007", "A name with a trailing space does not identify the table without the space.",
       "general specification, Object Name", "DeclareTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def space_in_names(lab: Lab) -> None:
    table = lab.new_declared()
    another = [*table[:-1], f"{table[-1]} "]
    lab.not_found("DescribeTable", another, "the name with a space to be missing")


GIVEN = {"camelCase": "x", "spaces": "  a b  ", "long": "x" * 1000, "empty": ""}


@check("LN-NAME-008",
       "A table's properties preserve the case of keys and the spaces and length of values.",
       "rest.yaml, AlterTableRequest and DeclareTableRequest", "DeclareTable", "DescribeTable",
       level=Level.SHOULD, capabilities=_TABLES)  # fmt: skip
def properties_as_given(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("DeclareTable", id=table, properties=GIVEN)
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), GIVEN, "the properties")
    changed = {"otherCase": "  y  ", "alsoEmpty": ""}
    reply = lab.call("AlterTable", id=table, set_properties=changed)
    if reply.succeeded:
        lab.has(lab.ok("DescribeTable", id=table).get("properties"), changed, "the properties")


@check("LN-NAME-009",
       "A namespace's properties preserve the case of keys and the spaces and length of values.",
       "rest.yaml, CreateNamespaceRequest and AlterNamespaceRequest", "CreateNamespace",
       "DescribeNamespace", level=Level.SHOULD, capabilities=["namespaces"])  # fmt: skip
def namespace_properties_as_given(lab: Lab) -> None:
    namespace = lab.namespace_id()
    lab.maybe("CreateNamespace", id=namespace, properties=GIVEN)
    lab.has(lab.ok("DescribeNamespace", id=namespace).get("properties"), GIVEN, "the properties")
    changed = {"otherCase": "  y  ", "alsoEmpty": ""}
    reply = lab.call("AlterNamespace", id=namespace, set_properties=changed)
    if reply.succeeded:
        found = lab.ok("DescribeNamespace", id=namespace).get("properties")
        lab.has(found, changed, "the properties")


# --- concurrent calls


@check("LN-RACE-008",
       "Exactly one of several concurrent DropNamespace calls for one namespace succeeds.",
       "rest.yaml, DropNamespace: a missing namespace answers NamespaceNotFound",
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_namespace_race(lab: Lab) -> None:
    probe = lab.call("DropNamespace", id=lab.namespace_id())
    if probe.succeeded:
        return  # dropping a missing namespace succeeds here
    for _ in range(4):
        request = {"id": lab.new_namespace()}
        one_wins(lab, at_once(lab, [_step("DropNamespace", request)] * 3), [1])


@check("LN-RACE-009", "Exactly one of several concurrent RenameTable calls for one table succeeds.",
       "rest.yaml, RenameTable: a missing table TableNotFound", "RenameTable",
       capabilities=_TABLES)  # fmt: skip
def rename_race(lab: Lab) -> None:
    for _ in range(4):
        table = lab.any_table()
        steps = [
            _step("RenameTable", {"id": table, "new_table_name": lab.ledger.fresh()})
            for _ in range(3)
        ]
        one_wins(lab, at_once(lab, steps), [4])


@check("LN-RACE-010",
       "Exactly one of several concurrent RegisterTable calls for one name succeeds.", _ONE,
       "RegisterTable", "DeregisterTable", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def register_race(lab: Lab) -> None:
    for _ in range(4):
        table = lab.new_table()
        location = lab.ok("DescribeTable", id=table).get("location")
        lab.given("DeregisterTable", id=table)
        step = _step("RegisterTable", {"id": table, "location": location})
        replies = at_once(lab, [step] * 3)
        if any(reply.code == 13 for reply in replies):
            return  # the location cannot be registered, which another check reports
        one_wins(lab, replies, [5])


@check("LN-RACE-011", "Each of several concurrent updates, deletions and merges takes effect or "
       "fails with code 14.",
       "Lance table format: commits are atomic; protocol semantics, Errors, code 14",
       "UpdateTable", "DeleteFromTable", "MergeInsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def commits_race(lab: Lab) -> None:
    for number in range(4):
        table = lab.new_table()
        names = {i: f"n{i}" for i in ALL}
        steps = [
            _step("UpdateTable", {"id": table, "predicate": "id = 1", "updates": [["name", "'a'"]]}),
            _step("UpdateTable", {"id": table, "predicate": "id = 2", "updates": [["name", "'b'"]]}),
            _step("DeleteFromTable", {"id": table, "predicate": "id = 3"}),
            _step("DeleteFromTable", {"id": table, "predicate": "id = 4"}),
        ]  # fmt: skip
        merged = 20 + number
        for key in (merged, merged + 10):
            request = {"id": table, "on": "id", "when_not_matched_insert_all": True}
            steps.append(_step("MergeInsertIntoTable", request, stream(people(key))))
        done = [reply.succeeded for reply in _judged(lab, steps)]
        changes: list[dict[int, str | None]] = [
            {1: "a"}, {2: "b"}, {3: None}, {4: None}, {merged: f"n{merged}"},
            {merged + 10: f"n{merged + 10}"},
        ]  # fmt: skip
        for succeeded, change in zip(done, changes, strict=True):
            for key, value in change.items() if succeeded else ():
                if value is None:
                    names.pop(key, None)
                else:
                    names[key] = value
        found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
        lab.same(found, names, "the names")


def _step(operation: str, request: dict[str, Any], data: bytes | None = None) -> Any:
    from ..exchange import Step

    return Step(operation, request, data)


def _judged(lab: Lab, steps: list[Any]) -> list[Any]:
    replies = at_once(lab, steps)
    for reply in replies:
        if reply.code == 0 and reply.step.operation not in lab.worked:
            raise Skipped(f"{reply.step.operation}: {reply.outcome()}")
        if not reply.succeeded and reply.code not in (14, 17, 21):
            raise Failed("a write to succeed, or to be code 14", reply.outcome(), reply)
    return replies
