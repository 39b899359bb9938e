"""A rejected call changes nothing, and a call changes only the objects that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from ...catalog_objects import place_for_tables, with_properties
from ...comparison import facts, require_own_rows
from ...lab import Lab, NotReached, Skipped
from ...missing_codes import NO_COLUMN
from ...requirement import check, observed
from ...rows import people, plain, stream
from ...table_state import FULL, fields, furnished, state, unchanged

_SOURCE = "rest.yaml, the operation's description and the codes of its fields"
_TABLES = ["tables"]
_TWICE_COLUMN = [{"name": "twice", "expression": "id * 2"}]
_MERGE = {"on": "id", "when_matched_update_all": True, "when_not_matched_insert_all": True}
_NO_VERSION = {
    "AlterTable", "CreateTableTag", "UpdateTableTag", "DeleteTableTag", "CreateTableBranch",
    "DeleteTableBranch",
}  # fmt: skip
_NAME = "general specification, Object Name and Object Identifier"
_CODES = "rest.yaml, info: a rejected call has changed nothing; the codes of the operations"
_SIDE = {"branch": "side"}
_MORE: dict[str, Any] = {"properties": {"owner": "eve", "more": "1"}}


observed(
    "LN-SAFE-001",
    "No call changes or removes an object that it does not name.",
    "general specification, Object Identifier",
)


@check("LN-WHOLE-066",
       "A rejected call creates no object of another kind, and changes none with the same name.",
       "rest.yaml, info: a rejected call has changed nothing", "CreateNamespace",
       capabilities=["namespaces"])  # fmt: skip
def no_other_kind(lab: Lab) -> None:
    parent = list(lab.shape.namespace_parent or ())
    setting = {"setPropertyAction": {"key": "a", "value": "b"}}
    calls: tuple[tuple[str, list[str], dict[str, Any]], ...] = (
        ("AlterNamespace", parent, {"set_properties": {"a": "b"}}),
        ("DropNamespace", parent, {}),
        ("DescribeNamespace", parent, {}),
        ("CreateNamespace", parent, {"mode": "sometimes"}),
        ("AlterTransaction", [], {"actions": [setting]}),
    )
    for operation, above, request in calls:
        name = [*above, lab.ledger.fresh()]
        if lab.call(operation, id=name, **request).succeeded:
            continue  # other checks cover this operation's codes
        for exists in ("TableExists", "NamespaceExists"):
            reply = lab.call(exists, id=name)
            lab.that(not reply.succeeded, f"{exists} to find nothing after {operation}", name[-1])
    there = with_properties(lab)
    before = lab.ok("DescribeNamespace", id=there).get("properties")
    if not lab.call("DeclareTable", id=there, properties={"owner": "eve"}).succeeded:
        after = lab.ok("DescribeNamespace", id=there).get("properties")
        lab.same(
            after,
            before,
            "the namespace properties after the rejected creation of a table with its name",
        )


_REFUSED: tuple[tuple[str, bytes | None, dict[str, Any]], ...] = (
    ("CreateTable", b"no stream", {"mode": "Overwrite"}),
    ("CreateTable", stream(people(*range(99)))[:-400], {"mode": "Overwrite"}),
    ("CreateTable", stream(people(9)), {"mode": "sometimes"}),
    ("InsertIntoTable", b"no stream", {"mode": "overwrite"}),
    ("InsertIntoTable", stream(people(*range(99)))[:-400], {}),
    ("InsertIntoTable", stream(people(9)), {"mode": "sometimes"}),
    ("InsertIntoTable", plain(1, column="other"), {}),
    ("MergeInsertIntoTable", stream(people(9)),
     {"on": "nothing", "when_not_matched_insert_all": True}),
    ("MergeInsertIntoTable", stream(people(9)), {"on": "id"}),
    ("MergeInsertIntoTable", stream(people(1)), {
        "on": "id", "when_matched_update_all": True, "when_matched_update_all_filt": "no such ("}),
    ("UpdateTable", None, {"updates": [["name", "'x'"], ["nothing", "1"]]}),
    ("UpdateTable", None, {"updates": [["name", "'x'"], ["id", "no such ("]]}),
    ("UpdateTable", None, {"updates": [["name", "'x'"]], "predicate": "nothing = 1"}),
    ("DeleteFromTable", None, {"predicate": "nothing = 1"}),
    ("DeleteFromTable", None, {"predicate": ""}),
    ("RegisterTable", None, {"mode": "sometimes", "location": "free"}),
    ("AlterTable", None, {"set_properties": {"owner": "bob", "more": "1"}, "unset_properties": ["owner"]}),
    ("AlterTableAddColumns", None, {"new_columns": [*_TWICE_COLUMN, {"name": "id", "expression": "1"}]}),
    ("AlterTableAddColumns", None, {"new_columns": [*_TWICE_COLUMN, {"name": "nothing"}]}),
    ("AlterTableAlterColumns", None, {"alterations": [
        {"path": "name", "rename": "label"}, {"path": "nothing", "rename": "other"}]}),
    ("AlterTableAlterColumns", None, {"alterations": [
        {"path": "name", "rename": "label"}, {"path": "score", "nullable": False}]}),
    ("AlterTableDropColumns", None, {"columns": ["name", "nothing"]}),
    ("UpdateFieldMetadata", None, {"updates": [
        {"path": "id", "metadata": {"a": "1"}}, {"path": "nothing", "metadata": {"a": "1"}}]}),
    ("CreateTableScalarIndex", None, {"column": "nothing", "index_type": "BTREE"}),
    ("CreateTableScalarIndex", None, {"column": "id", "index_type": "SOMETIMES"}),
    ("CreateTableIndex", None, {"column": "name", "index_type": "IVF_FLAT"}),
    ("DropTableIndex", None, {"index_name": "nothing"}),
    ("RestoreTable", None, {"version": 99}),
    ("CreateTableTag", None, {"tag": "other", "version": 99}),
    ("CreateTableTag", None, {"tag": "first", "version": 2}),
    ("CreateTableTag", None, {"tag": "no / name", "version": 1}),
    ("UpdateTableTag", None, {"tag": "first", "version": 99}),
    ("UpdateTableTag", None, {"tag": "nothing", "version": 1}),
    ("DeleteTableTag", None, {"tag": "nothing"}),
    ("CreateTableBranch", None, {"name": "other", "from_version": 99}),
    ("CreateTableBranch", None, {"name": "other", "from_branch": "nothing"}),
    ("CreateTableBranch", None, {"name": "side", "from_version": 1}),
    ("DeleteTableBranch", None, {"name": "nothing"}),
    ("RenameTable", None, {"new_table_name": ""}),
    ("BatchDeleteTableVersions", None, {"ranges": [{"start_version": "no", "end_version": 2}]}),
    ("CreateTableVersion", None, {"version": 99, "manifest_path": "nowhere"}),
)  # fmt: skip
"""Calls that every target rejects, each with a part that could be carried out first."""


def _refusals(area: str, operations: set[str]) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table = furnished(lab)
        before = state(lab, table)
        asked = False
        for operation, data, request in _REFUSED:
            if operation not in operations:
                continue
            if "location" in request:  # a location that no table uses
                request = {**request, "location": lab.free_location()}
            reply = lab.call(operation, data, id=table, **request)
            if reply.code == 0:
                continue
            asked = True
            after = state(lab, table)
            if not reply.succeeded:  # the operation's own checks cover the codes
                unchanged(lab, before, after, f"the rejected {operation} with {request}")
            before = after
        if not asked:
            raise Skipped(f"no supported operation on {area}")

    return run


for _number, (_area, _operations) in enumerate(
    (
        ("tables", {"CreateTable", "RegisterTable", "AlterTable", "RenameTable"}),
        ("rows", {"InsertIntoTable", "MergeInsertIntoTable", "UpdateTable", "DeleteFromTable"}),
        ("columns", {"AlterTableAddColumns", "AlterTableAlterColumns", "AlterTableDropColumns",
                     "UpdateFieldMetadata"}),
        ("indices", {"CreateTableScalarIndex", "CreateTableIndex", "DropTableIndex"}),
        ("tags and versions", {"RestoreTable", "CreateTableTag", "UpdateTableTag", "DeleteTableTag",
                               "BatchDeleteTableVersions", "CreateTableVersion"}),
        ("branches", {"CreateTableBranch", "DeleteTableBranch"}),
    ),
    1,
):  # fmt: skip
    check(f"LN-WHOLE-{_number:03}", f"A rejected operation on {_area} leaves the table unchanged.",
          _SOURCE, "CreateTable", "InsertIntoTable", "QueryTable", "DescribeTable",
          capabilities=_TABLES)(_refusals(_area, _operations))  # fmt: skip

_CHANGES: tuple[tuple[str, bytes | None, dict[str, Any], set[str]], ...] = (
    ("InsertIntoTable", stream(people(9)), {}, {"rows"}),
    ("InsertIntoTable", stream(people(9)), {"mode": "overwrite"}, {"rows"}),
    ("UpdateTable", None, {"updates": [["name", "'x'"]]}, {"rows"}),
    ("DeleteFromTable", None, {"predicate": "id = 2"}, {"rows"}),
    ("MergeInsertIntoTable", stream(people(1, 9)), _MERGE, {"rows"}),
    ("RestoreTable", None, {"version": 1}, {"rows", "schema", "metadata"}),
    ("AlterTable", None, {"set_properties": {"more": "1"}}, {"properties"}),
    ("AlterTableAddColumns", None, {"new_columns": _TWICE_COLUMN}, {"rows", "schema"}),
    ("AlterTableAlterColumns", None, {"alterations": [{"path": "name", "rename": "label"}]},
     {"rows", "schema"}),
    ("AlterTableDropColumns", None, {"columns": ["score"]}, {"rows", "schema"}),
    ("UpdateFieldMetadata", None, {"updates": [{"path": "id", "metadata": {"a": "1"}}]}, {"schema"}),
    ("UpdateTableSchemaMetadata", None, {"metadata": {"a": "1"}}, {"schema", "metadata"}),
    ("CreateTableScalarIndex", None, {"column": "score", "index_type": "BTREE"}, {"indexes"}),
    ("CreateTableTag", None, {"tag": "more", "version": 1}, {"tags"}),
    ("UpdateTableTag", None, {"tag": "last", "version": 1}, {"tags"}),
    ("DeleteTableTag", None, {"tag": "last"}, {"tags"}),
    ("DeleteTableTag", None, {"tag": "first"}, {"tags"}),
    ("CreateTableBranch", None, {"name": "more"}, {"branches"}),
    ("DeleteTableBranch", None, {"name": "side"}, {"branches", "the branch"}),
)  # fmt: skip
"""Calls that succeed, each with what it may change in a table besides its versions."""


def _only_its_own(data: bool) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        for operation, rows, request, changes in _CHANGES:
            if (operation in _NO_VERSION) == data:
                continue
            table = furnished(lab)
            before = state(lab, table)
            reply = lab.call(operation, rows, id=table, **request)
            if not reply.succeeded:
                continue
            after = state(lab, table)
            if data:
                changes = changes | {"version", "versions"}
            for key in changes:
                before.pop(key, None)
            unchanged(lab, before, after, operation)

    return run


check("LN-WHOLE-007", "A write to rows, columns or metadata changes nothing else in the table.",
      _SOURCE, "CreateTable", "InsertIntoTable", "QueryTable", "DescribeTable",
      capabilities=_TABLES)(_only_its_own(True))  # fmt: skip


check("LN-WHOLE-008",
      "Changes to properties, tags and branches create no version and affect no rows or columns.",
      _SOURCE, "CreateTable", "InsertIntoTable", "QueryTable", "DescribeTable",
      capabilities=_TABLES)(_only_its_own(False))  # fmt: skip


@check("LN-WHOLE-009",
       "A rejected call on a namespace changes neither its properties nor its tables.",
       _SOURCE, "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def namespaces(lab: Lab) -> None:
    namespace = lab.namespace_id()
    reply = lab.call("CreateNamespace", id=namespace, properties={"owner": "ana"})
    if not reply.succeeded:
        lab.given("CreateNamespace", id=namespace)
    full = lab.shape.tables_in_new
    if full:
        lab.given("DeclareTable", id=[*namespace, "kept"])
    before = lab.ok("DescribeNamespace", id=namespace).get("properties")
    both = {"set_properties": {"owner": "bob", "more": "1"}, "unset_properties": ["owner"]}
    for operation, request in (
        ("CreateNamespace", {"properties": {"owner": "bob"}}),
        ("CreateNamespace", {"mode": "sometimes", "properties": {"owner": "bob"}}),
        ("CreateNamespace", {"mode": "Overwrite", "properties": {"owner": "bob"}}),
        ("DropNamespace", {}),
        ("DropNamespace", {"mode": "Skip"}),
        ("DropNamespace", {"mode": "sometimes"}),
        ("DropNamespace", {"behavior": "sometimes"}),
        ("AlterNamespace", both),
    ):
        if not full and "mode" in request and request["mode"] != "sometimes":
            continue
        if not full and operation == "DropNamespace" and not request:
            continue
        if lab.call(operation, id=namespace, **request).succeeded:
            found = lab.call("DescribeNamespace", id=namespace)
            if not found.succeeded:
                raise NotReached(f"{operation} with {request} succeeded: {found.outcome()}")
            before = (found.answer or {}).get("properties")
            full = full and lab.exists("TableExists", [*namespace, "kept"])
            continue
        after = lab.ok("DescribeNamespace", id=namespace).get("properties")
        lab.same(after, before, f"the properties after the rejected {operation} with {request}")
        if full:
            lab.that(
                lab.exists("TableExists", [*namespace, "kept"]), "its table to remain", operation
            )


@check("LN-WHOLE-010", "A table operation on a namespace fails and leaves the namespace unchanged.",
       'protocol semantics, "Errors"; general specification, "Object Name"', "CreateNamespace",
       "DescribeTable", capabilities=["namespaces", "tables"])  # fmt: skip
def on_a_namespace(lab: Lab) -> None:
    namespace = lab.new_namespace()
    told = lab.ok("DescribeNamespace", id=namespace)
    calls = [("DropTable", None, {}), ("DeregisterTable", None, {}), ("DescribeTable", None, {}),
             ("RenameTable", None, {"new_table_name": lab.ledger.fresh()})]  # fmt: skip
    for operation, data, request in (*calls, *((c[0], c[1], c[2]) for c in _CHANGES)):
        reply = lab.call(operation, data, id=namespace, **request)
        if reply.code != 0:
            lab.that(not reply.succeeded, f"{operation} on a namespace to fail", reply.outcome())
        now = lab.ok("DescribeNamespace", id=namespace)
        lab.same(now, told, f"the namespace after {operation}")


_NOTHING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("BatchDeleteTableVersions", {"ranges": []}),
    ("AlterTableAddColumns", {"new_columns": []}),
    ("AlterTableAlterColumns", {"alterations": []}),
    ("AlterTableDropColumns", {"columns": []}),
    ("UpdateFieldMetadata", {"updates": []}),
    ("UpdateTable", {"updates": []}),
    ("AlterTable", {"set_properties": {}, "unset_properties": []}),
)


@check("LN-WHOLE-011", "An empty list of changes is rejected or changes nothing.",
       "rest.yaml, the lists of the requests", "CreateTable", "InsertIntoTable", "QueryTable",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def nothing_to_do(lab: Lab) -> None:
    table = furnished(lab)
    before = state(lab, table)
    for operation, request in _NOTHING:
        lab.call(operation, id=table, **request)
        after = state(lab, table)
        for key in ("rows", "location", "schema", "properties", "tags", "branches"):
            lab.same(after[key], before[key], f"the {key} after {operation} with an empty list")
        kept = {v["version"] for v in before["versions"] or ()}
        found = {v["version"] for v in after["versions"] or ()}
        lab.that(
            kept <= found, f"versions {sorted(kept)} after {operation} with an empty list", found
        )


@check("LN-WHOLE-012",
       "Namespace operations on a table do not change the table and, except for DropNamespace, "
       "fail.",
       'protocol semantics, "Errors"; general specification, "Object Name"', "CreateTable",
       "CreateNamespace", "QueryTable", capabilities=["tables", "nested"])  # fmt: skip
def on_a_table(lab: Lab) -> None:
    table = furnished(lab)
    before = state(lab, table)
    for operation, request in (
        ("CreateNamespace", {}), ("CreateNamespace", {"mode": "Overwrite"}), ("DropNamespace", {}),
        ("DropNamespace", {"behavior": "Cascade"}), ("AlterNamespace", {"set_properties": {"a": "1"}}),
        ("DescribeNamespace", {}), ("NamespaceExists", {}),
    ):  # fmt: skip
        reply = lab.call(operation, id=table, **request)
        if operation != "DropNamespace":  # a catalog may ignore a missing namespace
            lab.that(not reply.succeeded, f"{operation} on a table to fail", reply.outcome())
    unchanged(lab, before, state(lab, table), "namespace operations on the table")


@check("LN-WHOLE-013",
       "If any entry of a list is invalid, whichever it is, the call applies none of the entries.",
       "rest.yaml, the lists of the requests", "CreateTable", "QueryTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def any_entry(lab: Lab) -> None:
    lists: tuple[tuple[str, str, list[Any], Any], ...] = (
        ("AlterTableAddColumns", "new_columns",
         [{"name": "a", "expression": "id"}, {"name": "b", "expression": "id"}],
         {"name": "name", "expression": "1"}),
        ("AlterTableAlterColumns", "alterations",
         [{"path": "name", "rename": "a"}, {"path": "score", "rename": "b"}],
         {"path": "nothing", "rename": "c"}),
        ("AlterTableDropColumns", "columns", ["name", "score"], "nothing"),
        ("UpdateFieldMetadata", "updates",
         [{"path": "id", "metadata": {"a": "1"}}, {"path": "name", "metadata": {"a": "1"}}],
         {"path": "nothing", "metadata": {"a": "1"}}),
        ("UpdateTable", "updates", [["name", "'x'"], ["score", "1.0"]], ["nothing", "1"]),
    )  # fmt: skip
    table = lab.new_table(1, 2)
    for operation, key, right, wrong in lists:
        before = (fields(lab, table), lab.query(table).to_pylist())
        for place in range(len(right) + 1):
            entries = [*right[:place], wrong, *right[place:]]
            reply = lab.call(operation, id=table, **{key: entries})
            if reply.code == 0:
                break
            lab.that(not reply.succeeded, f"{operation} with {entries} to fail", reply.outcome())
            after = (fields(lab, table), lab.query(table).to_pylist())
            lab.same(
                after, before, f"the columns and rows after the rejected {operation} with {entries}"
            )
    lab.same(lab.count(table), len(people(1, 2)), "the number of rows")


Refusal = tuple[str, bytes | None, dict[str, Any]]

Look = Callable[[], dict[str, Any]]

_BROKEN = stream(people(*range(50, 99)))[:-400]

_DOUBLE = stream(pa.table([[1], [2]], names=["x", "x"]))

_OVER: tuple[Refusal, ...] = (
    ("CreateTable", plain(9), {"mode": "ExistOk", **_MORE}),
    ("CreateTable", plain(9), _MORE),
    ("CreateTable", _BROKEN, {"mode": "Overwrite", **_MORE}),
    ("CreateTable", _DOUBLE, {"mode": "Overwrite", **_MORE}),
    ("DeclareTable", None, _MORE),
)


def _over(lab: Lab) -> tuple[Refusal, ...]:
    """Return ``_OVER`` and a registration of a free location in an unknown mode."""
    request = {"location": lab.free_location(), "mode": "sometimes", **_MORE}
    return (*_OVER, ("RegisterTable", None, request))


def _stays(lab: Lab, look: Look, table: list[str], calls: Iterable[Refusal]) -> list[str]:
    """Check that calls that are rejected, or use mode ExistOk, leave a table unchanged.

    Returns:
        the operations that succeeded, which may have changed the table.
    """
    before, went = look(), list[str]()
    for operation, data, request in calls:
        reply = lab.call(operation, data, id=table, **request)
        if reply.succeeded and request.get("mode") != "ExistOk":
            before = look()  # the operation's own checks cover the expected codes
            went.append(operation)
        elif reply.code != 0:
            unchanged(lab, before, look(), f"{operation} with {request}: {reply.outcome()}")
    return went


@check("LN-WHOLE-060",
       "Creating, registering or renaming that does not replace an existing table leaves it "
       "unchanged.",
       "rest.yaml, CreateTable: an existing table is kept with its properties; RenameTable: "
       "changes nothing",
       "CreateTable", "QueryTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def over_a_table(lab: Lab) -> None:
    table, taken = furnished(lab), lab.new_table(7)
    where = lab.ok("DescribeTable", id=taken).get("location")
    _stays(lab, lambda: state(lab, table), table, (
        *_over(lab), ("DeclareTable", None, {"location": lab.free_location()}),
        ("RegisterTable", None, {"location": where, **_MORE}),
        ("RenameTable", None, {"new_table_name": taken[-1]}),
        ("RenameTable", None, {"new_table_name": "t", "new_namespace_id": [*table, "no"]}),
    ))  # fmt: skip
    lab.same(lab.ids(taken), [7], "the ids in the other table")


_HALF: tuple[Refusal, ...] = (
    ("InsertIntoTable", _BROKEN, {}),
    ("InsertIntoTable", b"no stream", {"mode": "overwrite"}),
    ("InsertIntoTable", stream(people(1)), {"mode": "sometimes"}),
    ("MergeInsertIntoTable", _BROKEN, {"on": "id", "when_not_matched_insert_all": True}),
    ("CreateTableTag", None, {"tag": "t", "version": 1}),
    ("CreateTable", _BROKEN, _MORE),
)


@check("LN-WHOLE-061", "A declared table stays declared and keeps its location and properties "
       "after rejected calls.",
       _CODES, "DeclareTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def over_a_declared(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("DeclareTable", id=table, properties={"owner": "ana"})

    def look() -> dict[str, Any]:
        found = lab.ok("DescribeTable", id=table, check_declared=True)
        return {key: found.get(key) for key in ("location", "properties", "is_only_declared")}

    _stays(lab, look, table, (*_over(lab)[2:], *_HALF, *_REFUSED[10:15]))
    if lab.call("InsertIntoTable", stream(people(1)), id=table).succeeded:
        lab.same(lab.ids(table), [1], "the ids after rows are added to the declared table")


@check("LN-WHOLE-062",
       "A rejected call on a branch changes neither that branch nor the main branch.",
       _CODES, "CreateTableBranch", "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def over_a_branch(lab: Lab) -> None:
    table = furnished(lab)
    lab.maybe("DeleteFromTable", id=table, predicate="id = 1", **_SIDE)
    whole = state(lab, table)
    reads = [
        (name, {**_SIDE, **FULL} if name == "DescribeTable" else _SIDE)
        for name in ("QueryTable", "DescribeTable", "ListTableIndices")
    ]
    went = _stays(lab, lambda: facts(lab, table, reads), table, [
        (name, data, {**more, **_SIDE}) for name, data, more in _REFUSED
        if name not in ("CreateTable", "RegisterTable", "AlterTable", "RenameTable")
        and not name.endswith(("Tag", "TableBranch"))
    ])  # fmt: skip
    if not went:
        unchanged(lab, whole, state(lab, table), "rejected calls on its branch")


@check("LN-WHOLE-063", "A rejected call leaves its table name unused and its namespace empty.",
       _CODES, "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def still_free(lab: Lab) -> None:
    parent, over = place_for_tables(lab), _over(lab)
    refused = [("CreateTable", _BROKEN, _MORE), ("CreateTable", _DOUBLE, {}), over[2], over[5], *_HALF[:3],
               ("CreateTable", plain(1), {"mode": "sometimes"})]  # fmt: skip
    tables = dict(enumerate([*parent, lab.ledger.fresh()] for _ in refused))
    for table, (operation, data, request) in zip(tables.values(), refused, strict=True):
        if lab.call(operation, data, id=table, **request).succeeded:
            raise Skipped(f"{operation} with {request} succeeds, which other checks report")
    listed = lab.walk("ListTables", "tables", id=parent)
    lab.same(
        [t for t in tables.values() if t[-1] in listed],
        [],
        "the tables that rejected calls created",
    )
    if lab.shape.tables_in_new:
        lab.ok("DropNamespace", id=parent)
        lab.given("CreateNamespace", id=parent)
    for number, table in tables.items():
        lab.ok("CreateTable", plain(number), id=table)
    require_own_rows(lab, tables)


@check("LN-WHOLE-064",
       "A tag, branch, index or column cannot be addressed by the name of another kind of object.",
       _CODES, "CreateTableTag", "CreateTableBranch", "CreateTable", capabilities=_TABLES)  # fmt: skip
def kinds(lab: Lab) -> None:
    table = furnished(lab)
    lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by")
    before, line, of = state(lab, table), (4, 11, 13, 22), {"branch": "first"}
    for operation, request, codes in (
        ("GetTableTagVersion", {"tag": "side"}, [8]), ("GetTableTagVersion", {"tag": "main"}, [8]),
        ("UpdateTableTag", {"tag": "side", "version": 1}, [8]), ("DeleteTableTag", {"tag": "side"}, [8]),
        ("DescribeTable", {"tag": "side", **FULL}, [8, 11]), ("DescribeTable", {**of, **FULL}, line),
        ("CountTableRows", of, line), ("DeleteFromTable", {**of, "predicate": "true"}, line),
        ("CreateTableBranch", {"name": "new", "from_branch": "first"}, line),
        ("DropTableIndex", {"index_name": "id"}, [6]), ("DropTableIndex", {"index_name": "first"}, [6]),
        ("DescribeTableIndexStats", {"index_name": "id"}, [6]),
        ("DeleteTableBranch", {"name": "first"}, line),
        ("AlterTableDropColumns", {"columns": ["by"]}, NO_COLUMN),
        ("CreateTableScalarIndex", {"column": "by", "index_type": "BTREE"}, NO_COLUMN),
    ):  # fmt: skip
        reply = lab.call(operation, id=table, **request)
        if reply.code != 0:
            lab.must_fail(reply, codes)
    unchanged(lab, before, state(lab, table), "calls with names of another kind of object")


@check("LN-WHOLE-065", "No mode of creating or renaming replaces a namespace with a table or a "
       "table with a namespace.",
       _NAME, "CreateNamespace", "CreateTable", capabilities=["tables", "nested"])  # fmt: skip
def over_another_kind(lab: Lab) -> None:
    table, namespace = furnished(lab), lab.namespace_id()
    lab.maybe("CreateNamespace", id=namespace, properties={"owner": "ana"})
    before, stays = state(lab, table), lab.ok("DescribeNamespace", id=namespace)
    at = {"location": lab.ok("DescribeTable", id=lab.new_table(1)).get("location")}
    calls: tuple[tuple[str, bytes | None, list[str], dict[str, Any]], ...] = (
        *(("CreateTable", plain(1), namespace, {"mode": m}) for m in ("Create", "ExistOk", "Overwrite")),
        *(("RegisterTable", None, namespace, {"mode": m, **at}) for m in ("Create", "Overwrite")),
        *(("CreateNamespace", None, table, {"mode": m}) for m in ("ExistOk", "Overwrite")),
        ("RenameTable", None, table, {"new_table_name": "t", "new_namespace_id": table}),
        ("CreateTable", plain(1), [*table, "t"], {"mode": "ExistOk"}),
    )  # fmt: skip
    for operation, data, identifier, request in calls:
        reply = lab.call(operation, data, id=identifier, **request)
        lab.that(not reply.succeeded, f"{operation} with {request} to fail", reply.outcome())
        lab.same(
            lab.ok("DescribeNamespace", id=namespace), stays, f"the namespace after {operation}"
        )
    lab.that(not lab.call("TableExists", id=namespace).succeeded, "no table with its name", "one")
    unchanged(lab, before, state(lab, table), "calls on namespaces with its name")
