"""Catalog entries: rules that hold in every mode, for every operation and at every level."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from ...core.imports import load
from ..lab import Lab, Skipped
from ..requirement import check
from ..rows import PEOPLE, people, plain, stream
from .due import NO_BRANCH, NO_VERSION
from .managed import setting, transaction, unsetting
from .storage import local_path
from .whole import furnished, state, unchanged

_TABLES = ["tables"]
_BOTH = ["tables", "namespaces"]
_GIVEN = {"owner": "ana", "note": "two words"}
_MODES = ("Create", "ExistOk", "Overwrite")
_TAKEN = [0, 2, 5, 13, 19]  # if an object of another kind has the name


def _space(lab: Lab) -> list[str]:
    """Return a new namespace that can contain tables."""
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be made in a new namespace")
    return lab.new_namespace()


def _filled(lab: Lab) -> list[str]:
    """Return a namespace with a table, a declared table and, if supported, a child namespace."""
    namespace = _space(lab)
    lab.call("AlterNamespace", id=namespace, set_properties=_GIVEN)
    lab.given("CreateTable", stream(people(1, 2)), id=[*namespace, "t"])
    lab.call("DeclareTable", id=[*namespace, "d"])
    lab.call("CreateNamespace", id=[*namespace, "c"])
    return namespace


def _held(lab: Lab, namespace: list[str]) -> dict[str, Any]:
    """Return the reported properties and contents of a namespace."""
    return {
        "the properties": lab.ok("DescribeNamespace", id=namespace),
        "the tables": lab.walk("ListTables", "tables", id=namespace),
        "the rows": lab.ids([*namespace, "t"]),
        "the namespaces": (lab.call("ListNamespaces", id=namespace).answer or {}).get("namespaces"),
    }


def _entry(lab: Lab, table: list[str], rows: bool = True) -> dict[str, Any]:
    """Return the reported location and properties of a table, and its row ids."""
    told = lab.ok("DescribeTable", id=table)
    found = {f"the {key}": told.get(key) for key in ("location", "properties")}
    return found | ({"the rows": lab.ids(table)} if rows else {})


@check("LN-NAMESPACE-CREATE-060",
       "Mode ExistOk keeps the properties and contents of an existing namespace.",
       "rest.yaml, CreateNamespace: ExistOk keeps it", "CreateNamespace", capabilities=_BOTH)  # fmt: skip
def exist_ok(lab: Lab) -> None:
    namespace = _filled(lab)
    before = _held(lab, namespace)
    lab.maybe("CreateNamespace", id=namespace, mode="ExistOk", properties={"new": "1"})
    unchanged(lab, before, _held(lab, namespace), "mode ExistOk")


@check("LN-NAMESPACE-CREATE-061",
       "Creating an object in a missing namespace fails with code 1 in every mode.",
       "rest.yaml, CreateNamespace, CreateTable and RegisterTable: NamespaceNotFound",
       "CreateNamespace", "CreateTable", capabilities=_BOTH)  # fmt: skip
def missing_parent(lab: Lab) -> None:
    inside, table = _space(lab), lab.new_table(1, 2)
    where = lab.ok("DescribeTable", id=table).get("location")
    lab.given("DeregisterTable", id=table)
    for operation, data, more in (
        ("CreateNamespace", None, {}), ("CreateTable", plain(1), {}),
        ("RegisterTable", None, {"location": where}),
    ):  # fmt: skip
        for mode in _MODES:
            missing, request = lab.namespace_id(), {**more, "mode": mode}
            lab.ledger.made("namespace", tuple(missing))  # a target may create it implicitly
            reply = lab.call(operation, data, id=[*missing, "a"], **request)
            listed = lab.walk("ListNamespaces", "namespaces", id=missing[:-1])
            lab.that(missing[-1] not in listed, f"no namespace made by {operation} {mode}", missing)
            fine = lab.call(operation, data, id=[*inside, operation + mode], **request)
            if fine.succeeded:  # the request is valid, so only the namespace is wrong
                lab.must_fail(reply, [1])
            if fine.succeeded and operation == "RegisterTable":
                lab.same(lab.ids([*inside, operation + mode]), [1, 2], "the ids at the location")
                lab.given("DeregisterTable", id=[*inside, operation + mode])


@check("LN-NAMESPACE-CREATE-062", "Mode Overwrite fails with code 3 until the namespace is empty.",
       "rest.yaml, CreateNamespace: Overwrite of a namespace that still holds anything", "CreateNamespace",
       "CreateTable", capabilities=_BOTH)  # fmt: skip
def overwrite_held(lab: Lab) -> None:
    over = {"mode": "Overwrite", "properties": {"new": "1"}}
    lab.maybe("CreateNamespace", id=lab.new_namespace(), **over)
    for make in ("CreateTable", "DeclareTable", "CreateNamespace"):
        namespace, kind = _space(lab), make.removeprefix("Create").removeprefix("Declare")
        lab.call("AlterNamespace", id=namespace, set_properties=_GIVEN)
        data = plain(1) if make == "CreateTable" else None
        if not lab.call(make, data, id=[*namespace, "a"]).succeeded:
            continue
        before = lab.ok("DescribeNamespace", id=namespace)
        lab.refused("CreateNamespace", [3], id=namespace, **over)
        lab.same(lab.ok("DescribeNamespace", id=namespace), before, "the namespace")
        lab.that(lab.exists(f"{kind}Exists", [*namespace, "a"]), "what it holds to stay", "none")
        lab.given(f"Drop{kind}", id=[*namespace, "a"])
        lab.ok("CreateNamespace", id=namespace, **over)


@check("LN-NAMESPACE-CREATE-063",
       "A table and a namespace cannot have the same name, whatever the mode.",
       "general specification, Object Name: unique among all objects of a parent", "CreateNamespace",
       "CreateTable", capabilities=["tables", "nested"])  # fmt: skip
def one_name(lab: Lab) -> None:
    namespace, table = _filled(lab), lab.new_table(1, 2)
    if table[:-1] != namespace[:-1]:
        raise Skipped("tables and namespaces have no common parent")
    before, where = (_held(lab, namespace), _entry(lab, table)), lab.free_location()
    for mode in _MODES:
        lab.refused("CreateNamespace", _TAKEN, id=table, mode=mode, properties=_GIVEN)
        lab.refused("CreateTable", _TAKEN, stream(people(9)), id=namespace, mode=mode)
        if mode != "ExistOk":
            lab.refused("RegisterTable", _TAKEN, id=namespace, mode=mode, location=where)
        unchanged(lab, before[0], _held(lab, namespace), f"mode {mode} of a table of its name")
        unchanged(lab, before[1], _entry(lab, table), f"mode {mode} of a namespace of its name")


@check("LN-NAMESPACE-DROP-060",
       "Creating, moving and removing tables changes whether a namespace is empty.",
       "rest.yaml, DropNamespace: a namespace that holds any object", "DropNamespace", "CreateTable",
       capabilities=_BOTH)  # fmt: skip
def emptied(lab: Lab) -> None:
    one, other = _space(lab), _space(lab)
    lab.given("CreateTable", plain(1), id=[*one, "t"])
    lab.refused("DropNamespace", [3], id=one)
    moved = {"new_table_name": "t", "new_namespace_id": other}
    if lab.call("RenameTable", id=[*one, "t"], **moved).succeeded:
        lab.refused("DropNamespace", [3], id=other)
        lab.ok("DropNamespace", id=one)
        one = other
    if not lab.call("DeregisterTable", id=[*one, "t"]).succeeded:
        lab.given("DropTable", id=[*one, "t"])
    lab.ok("DropNamespace", id=one)


@check("LN-NAMESPACE-DROP-061", "Cascade removes the current contents of a namespace, and nothing "
       "from similarly named ones.",
       "rest.yaml, DropNamespaceRequest: Cascade takes every child out of the catalog", "DropNamespace",
       "CreateTable", capabilities=_BOTH)  # fmt: skip
def cascade(lab: Lab) -> None:
    namespace = _filled(lab)
    beside = [*namespace[:-1], namespace[-1] + "x"]
    stay, gone = [], [[*namespace, "t"]]
    for each in (beside, [*beside, namespace[-1]]):
        lab.call("CreateNamespace", id=each)
        if lab.call("CreateTable", stream(people(4)), id=[*each, "t"]).succeeded:
            stay.append([*each, "t"])
    lab.given("CreateTable", stream(people(4)), id=[*namespace, "out"])
    lab.given("CreateTable", stream(people(5)), id=[*beside, "in"])
    ways = (("out", namespace, beside, stay), ("in", beside, namespace, gone))
    for name, source, target, kept in ways:
        request = {"new_table_name": name, "new_namespace_id": target}
        if lab.call("RenameTable", id=[*source, name], **request).succeeded:
            kept.append([*target, name])
    lab.maybe("DropNamespace", id=namespace, behavior="Cascade")
    for table in gone:
        lab.refused("DescribeTable", [1, 4], id=table)
    for table in stay:
        lab.same(lab.ids(table), [4], f"the ids of {table}, which is not in what was dropped")
    lab.ok("CreateNamespace", id=namespace)
    lab.ok("CreateTable", stream(people(7)), id=[*namespace, "t"])
    lab.same(lab.ids([*namespace, "t"]), [7], "the ids of a new table of the old name")


@check("LN-NAMESPACE-DROP-062", "DropNamespace supports every combination of mode and behavior.",
       "rest.yaml, DropNamespaceRequest, and Response: the properties it had", "DropNamespace",
       capabilities=["namespaces"])  # fmt: skip
def dropped(lab: Lab) -> None:
    # The Iceberg specification allows a drop of a missing namespace to succeed.
    idempotent = lab.call("DropNamespace", id=lab.namespace_id()).succeeded
    for pair in ("Fail Restrict", "Fail Cascade", "Skip Restrict", "Skip Cascade"):
        mode, behavior = pair.split()
        request = {"mode": mode, "behavior": behavior}
        namespace = lab.namespace_id()
        lab.maybe("CreateNamespace", id=namespace, properties=_GIVEN)
        told = lab.ok("DescribeNamespace", id=namespace).get("properties")
        for there in (True, False):
            reply = lab.call("DropNamespace", id=namespace, **request)
            if reply.code == 0:
                break
            lab.that(reply.code in (None, 1), "success or code 1", reply.outcome())
            due = there or mode == "Skip" or idempotent
            lab.same(reply.succeeded, due, f"whether {request} works, where it is there {there},")
            found = (reply.answer or {}).get("properties")
            lab.that(not found or (there and found == told), f"{told} once", found)
            lab.that(not lab.exists("NamespaceExists", namespace), "no namespace", request)


@check("LN-NAMESPACE-DESCRIBE-060",
       "DescribeNamespace returns an empty map for a namespace without properties.",
       "rest.yaml, DescribeNamespaceResponse: an empty map where none are set", "DescribeNamespace",
       "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def no_properties(lab: Lab) -> None:
    namespace = lab.namespace_id()
    lab.maybe("CreateNamespace", id=namespace, properties=_GIVEN)
    if lab.ok("DescribeNamespace", id=namespace).get("properties") is None:
        raise Skipped("the catalog keeps no properties of namespaces")
    bare = lab.call("AlterNamespace", id=namespace, unset_properties=list(_GIVEN)).succeeded
    for each in (lab.new_namespace(), *([namespace] if bare else ())):
        found = lab.ok("DescribeNamespace", id=each).get("properties")
        lab.that(isinstance(found, dict) and not set(found) & set(_GIVEN), "an empty map", found)


@check("LN-LIST-NAMESPACES-060",
       "ListNamespaces without a limit returns sorted names, whatever their order of creation.",
       "rest.yaml, ListNamespacesResponse: sorted by name", "ListNamespaces", "CreateNamespace",
       capabilities=["nested"])  # fmt: skip
def ordered(lab: Lab) -> None:
    parent = lab.new_namespace()
    for name in "dbeac":
        if not lab.call("CreateNamespace", id=[*parent, name]).succeeded:
            raise Skipped("no namespaces of this depth")
    lab.same(lab.walk("ListNamespaces", "namespaces", id=parent), list("abcde"), "the names")


_WAYS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("c", "CreateTable", {"mode": "ExistOk"}), ("b", "CreateTable", {"mode": "Overwrite"}),
    ("a", "DeclareTable", {}), ("a", "InsertIntoTable", {}), ("b", "CreateTable", {"mode": "Overwrite"}),
    ("d", "DeclareTable", {}), ("d", "RenameTable", {"new_table_name": "e"}),
    ("c", "RenameTable", {"new_table_name": "f"}), ("b", "DeregisterTable", {}), ("b", "RegisterTable", {}),
    ("e", "DeregisterTable", {}), ("a", "DropTable", {}),
)  # fmt: skip


@check("LN-LIST-TABLES-060",
       "Every listing reflects each way of creating, filling, moving or removing a table.",
       "rest.yaml, ListTables and ListAllTables", "ListTables", capabilities=_TABLES)  # fmt: skip
def every_way(lab: Lab) -> None:
    parent = _space(lab)
    held: dict[str, bool] = {}
    free: dict[str, Any] = {}  # locations of deregistered tables
    for name, operation, more in _WAYS:
        data = plain(1) if operation in ("CreateTable", "InsertIntoTable") else None
        goes = operation in ("DropTable", "DeregisterTable", "RenameTable")
        request, where = dict(more), None
        if operation == "DeregisterTable" and name in held:
            where = lab.ok("DescribeTable", id=[*parent, name]).get("location")
        elif operation == "RegisterTable":
            if name not in free:
                continue
            request = {"location": free.pop(name)}
        if name == "c" and goes:
            request["new_namespace_id"] = parent  # the same namespace
        if not lab.call(operation, data, id=[*parent, name], **request).succeeded:
            continue
        free |= {name: where} if where else {}
        if goes:
            filled = held.pop(name, False)
            held |= {more["new_table_name"]: filled} if more else {}
        else:
            held[name] = operation != "DeclareTable"
        for declared, due in ((True, sorted(held)), (False, sorted(n for n in held if held[n]))):
            listed = lab.walk("ListTables", "tables", id=parent, include_declared=declared)
            lab.same(listed, due, f"include_declared={declared} after {operation} of {name}")
        whole = lab.call("ListAllTables", limit=1000).answer if goes else None
        if whole and not whole.get("page_token"):
            listed = [n.split("$")[-1] for n in whole["tables"] if n.split("$")[:-1] == parent]
            lab.same(listed, sorted(held), f"all tables after {operation} of {name}")


@check("LN-TABLE-DESCRIBE-060", "Version 0 and versions of a declared table do not exist, and "
       "only requested details are returned.",
       "rest.yaml, the fields version and the flags of DescribeTableRequest and TableExistsRequest",
       "DescribeTable", "TableExists", "CreateTable", capabilities=_TABLES)  # fmt: skip
def no_version(lab: Lab) -> None:
    table = lab.shared_table()
    full = {"load_detailed_metadata": True}  # without it only the catalog is read
    for more in ({}, {"check_declared": True}):
        lab.refused("DescribeTable", [0, 11, 13], id=table, version=0, **full, **more)
    lab.refused("TableExists", [0, 4, 13], id=table, version=0)
    asked = ("with_table_uri", "check_declared", "load_detailed_metadata")
    told = lab.ok("DescribeTable", id=table, **dict.fromkeys(asked, False))
    lab.same((told.get("table_uri"), told.get("is_only_declared")), (None,) * 2, "what is unasked")
    for of in ({"version": 1}, {}):
        found = lab.maybe("DescribeTable", id=table, **dict.fromkeys(asked, True), **of)
        flags = found.get("is_only_declared"), bool(found.get("table_uri")), found.get("location")
        lab.same(flags, (False, True, told.get("location")), f"what is asked with {of}")
    declared = lab.new_declared()
    lab.refused("TableExists", [0, 4, 13], id=declared, version=1)
    for key, name in (("version", 1), ("tag", "t"), ("branch", "b")):
        codes = [0, *NO_BRANCH, 19] if key == "branch" else [0, *NO_VERSION, 19]
        lab.refused("DescribeTable", codes, id=declared, **full, **{key: name})


@check("LN-TABLE-DECLARE-060",
       "A dataset that a client writes to the location of a declared table becomes its data.",
       "rest.yaml, DeclareTable, and is_only_declared of DescribeTableResponse",
       "DeclareTable", "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def written(lab: Lab) -> None:
    lance = load("lance")

    people_at = local_path(lab.ok("DescribeTable", id=lab.shared_table()))
    try:
        held = sorted(lance.dataset(people_at).to_table(["id"])["id"].to_pylist())
    except (KeyError, OSError, ValueError):
        held = []
    if held != [*PEOPLE]:  # another local directory with this path; do not touch it
        raise Skipped("the location cannot be read from here")
    for more in ({}, {"vend_credentials": True}, {"vend_credentials": False, "properties": _GIVEN}):
        table = lab.table_id()
        where = str(lab.maybe("DeclareTable", id=table, **more).get("location")).rstrip("/")
        told = lab.ok("DescribeTable", id=table, check_declared=True)
        lab.same(told.get("is_only_declared"), True, "is_only_declared")
        if told.get("managed_versioning"):
            raise Skipped("the namespace keeps the versions")
        above, _, name = where.rpartition("/")
        path = f"{local_path({'location': above})}/{name}"
        if not os.access(
            path if os.path.exists(path) else os.path.dirname(path), os.W_OK | os.X_OK
        ):
            raise Skipped("the location cannot be written from here")
        try:
            lance.write_dataset(people(1, 2), path)
        except OSError as error:
            raise Skipped(f"the location cannot be written from here: {error}") from error
        lab.same(lab.ids(table), [1, 2], "the ids that were written")
        told = lab.ok("DescribeTable", id=table, check_declared=True)
        lab.same(told.get("is_only_declared"), False, "is_only_declared once there is data")


@check("LN-TABLE-DECLARE-061",
       "Calls that are rejected because a name is taken leave tables and data unchanged.",
       "rest.yaml, TableAlreadyExists; RenameTable: changes nothing; RegisterTable",
       "DeclareTable", "DeregisterTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def taken(lab: Lab) -> None:
    source, other = lab.new_table(7), lab.new_table(8)
    where = lab.ok("DescribeTable", id=source).get("location")
    lab.given("DeregisterTable", id=source)
    more = {"properties": {"owner": "bob", "new": "1"}}
    for make, data in (("CreateTable", stream(people(1, 2))), ("DeclareTable", None)):
        table = lab.table_id()
        lab.maybe(make, data, id=table, properties=_GIVEN)
        before = _entry(lab, table, bool(data)), _entry(lab, other)
        for operation, codes, request in (
            ("DeclareTable", [5], more), ("RegisterTable", [5, 13], {"location": where, **more}),
            ("DeclareTable", [0, 5, 13], {"location": lab.free_location(), **more}),
            ("RenameTable", [0, 5], {"new_table_name": table[-1]}),
            *([("CreateTable", [5], more)] if data else ()),  # it would fill a declared table
        ):  # fmt: skip
            named = other if operation == "RenameTable" else table
            rows = stream(people(9)) if operation == "CreateTable" else None
            lab.refused(operation, codes, rows, id=named, **request)
            unchanged(lab, before[0], _entry(lab, table, bool(data)), f"{operation} was refused")
        unchanged(lab, before[1], _entry(lab, other), "a rename that was refused")
    lab.maybe("RegisterTable", id=source, location=where)
    lab.same(lab.ids(source), [7], "the ids at the location that was refused")


@check("LN-TABLE-DEREGISTER-060",
       "A table that is deregistered and registered again keeps everything but its properties.",
       "rest.yaml, DeregisterTable: its data stays on storage as it is", "DeregisterTable", "RegisterTable",
       "CreateTable", "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def all_again(lab: Lab) -> None:
    table = furnished(lab)
    lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    if lab.ok("DescribeTable", id=table).get("managed_versioning"):
        raise Skipped("the namespace keeps the versions")
    before = {key: value for key, value in state(lab, table).items() if key != "properties"}
    for name in (table[-1], lab.ledger.fresh()):
        lab.given("DeregisterTable", id=table)
        table = [*table[:-1], name]
        lab.maybe("RegisterTable", id=table, location=before["location"])
        unchanged(lab, before, state(lab, table), f"it was registered as {name}")


@check("LN-TABLE-DROP-060",
       "Removing a renamed table returns its new name, and only DropTable deletes its data.",
       "rest.yaml, DropTableResponse and DeregisterTableResponse; DropTable: deletes its data", "DropTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def named_now(lab: Lab) -> None:
    for operation, move in (("DropTable", False), ("DropTable", True), ("DeregisterTable", True)):
        old = lab.new_table(1, 2)
        new = [*_space(lab), old[-1]] if move else lab.table_id()
        request = {"new_namespace_id": new[:-1]} if move else {}
        if not lab.call("RenameTable", id=old, new_table_name=new[-1], **request).succeeded:
            continue
        lab.call("AlterTable", id=new, set_properties=_GIVEN)
        lab.ok("CreateTable", stream(people(5)), id=old)
        told = {**lab.ok("DescribeTable", id=new), "id": new}
        answer = lab.ok(operation, id=new)
        for key in ("id", "location", "properties"):
            lab.same(
                answer.get(key) or told.get(key), told.get(key), f"{key} that {operation} tells"
            )
        lab.same(lab.ids(old), [5], f"the ids of the table of the old name after {operation}")
        again = lab.table_id()
        if lab.call("RegisterTable", id=again, location=told.get("location")).succeeded:
            count = lab.call("CountTableRows", id=again)
            if count.code != 0:
                left = (count.answer or {}).get("count") or 0
                lab.same(left, 2 * (operation != "DropTable"), f"the rows left by {operation}")


@check("LN-TABLE-CREATE-061",
       "Rows that cannot be stored leave an existing table unchanged and create no new table.",
       "rest.yaml, CreateTable: a schema that Lance cannot store, a body that is no such stream",
       "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def not_stored(lab: Lab) -> None:
    whole = stream(people(*range(200)), batch_rows=20)
    table, free = lab.table_id(), lab.table_id()
    lab.maybe("CreateTable", stream(people(1, 2)), id=table, properties=_GIVEN)
    before = _entry(lab, table)
    for data in (stream(pa.table([[1], [2]], names=["x", "x"])), whole[: len(whole) // 2], b""):
        lab.refused("CreateTable", [0, 13, 20], data, id=table, mode="Overwrite")
        lab.call("CreateTable", data, id=table, mode="ExistOk")  # ExistOk may ignore the body
        unchanged(lab, before, _entry(lab, table), "rows that cannot be stored")
        for mode in _MODES:
            lab.refused("CreateTable", [0, 13, 20], data, id=free, mode=mode)
        lab.that(not lab.exists("TableExists", free), "no table", free[-1])
    lab.ok("CreateTable", stream(people(5)), id=free)
    lab.same(lab.ids(free), [5], "the ids")


@check("LN-TABLE-CREATE-062",
       "Mode ExistOk returns the current version, properties and location of the existing table.",
       "rest.yaml, CreateTableResponse: version number of the table after the call", "CreateTable",
       "InsertIntoTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def as_it_stands(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("CreateTable", stream(people(1)), id=table, mode="ExistOk", properties=_GIVEN)
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    told = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    for data in (stream(people(9)), plain(4, 5), stream(people())):
        answer = lab.ok("CreateTable", data, id=table, mode="ExistOk", properties={"new": "1"})
        now = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
        for key in ("version", "properties", "location"):
            found = answer.get(key) or told.get(key), now.get(key)
            lab.same(found, (told.get(key),) * 2, f"{key} that is answered, and that is described,")


@check("LN-NAME-060", "Identifiers whose levels join to the same text are distinct.",
       "general specification, Object Identifier: a list of names", "CreateTable", "CreateNamespace",
       "QueryTable", capabilities=_BOTH)  # fmt: skip
def joined(lab: Lab) -> None:
    # Over HTTP, the three identifiers would share one route if names contained the delimiter.
    for sign in "_.-/" if lab.target.kind == "http" else "_.-/$":
        one = _space(lab)
        parent, name = one[:-1], one[-1]
        two = [*parent, f"{name}{sign}b"]
        lab.call("CreateNamespace", id=two)
        made: list[list[str]] = []
        for table in ([*one, f"b{sign}c"], [*two, "c"], [*parent, f"{name}{sign}b{sign}c"]):
            reply = lab.call("CreateTable", plain(len(table[-1])), id=table)
            lab.that(reply.code != 5, f"{table} to be a name of its own", reply.outcome())
            made += [table] if reply.succeeded else []
        for count in (3, 1):
            for table in made[:count]:
                lab.same(lab.query(table).to_pylist(), [{"x": len(table[-1])}], f"rows of {table}")
            if made[1:] and count == 3:
                lab.ok("DropTable", id=made[-1])


@check("LN-TRANSACTION-060", "Each action of AlterTransaction sees the earlier ones, and an "
       "invalid one fails with code 13.",
       "rest.yaml, AlterTransactionRequest: in the order given and all or none; AlterTransaction",
       "AlterTransaction", "DescribeTransaction", capabilities=_TABLES)  # fmt: skip
def transactions(lab: Lab) -> None:
    one = transaction(lab)
    told = lab.ok("DescribeTransaction", id=one)
    for actions, due in (
        ([setting("a", "1"), setting("a", "2", "Skip"), setting("b", "")], {"a": "1", "b": ""}),
        ([unsetting("a"), setting("a", "3", "Fail"), setting("a", "4")], {"a": "4", "b": ""}),
        ([unsetting("a", "fail"), unsetting("a"), setting("c", "5", "SKIP")], {"b": "", "c": "5"}),
    ):  # fmt: skip
        answer, status = lab.ok("AlterTransaction", id=one, actions=actions), told["status"]
        told = lab.ok("DescribeTransaction", id=one)
        for found in (answer, told):
            ours = {k: v for k, v in (found.get("properties") or {}).items() if k in "abc"}
            lab.same((ours, found["status"]), (due, status), "what is told")
    for codes, wrong in (
        ([13, 14], [setting("d", "1"), setting("d", "2", "Fail")]),
        ([13, 14], [unsetting("c"), unsetting("c", "Fail")]), ([13], [{"unsetPropertyAction": {}}]),
        ([13], [{"setPropertyAction": {"value": "1"}}]), ([13], [{"setStatusAction": {"status": ""}}]),
    ):  # fmt: skip
        for actions in ([*wrong, setting("e", "1")], [setting("e", "1"), *wrong]):
            lab.refused("AlterTransaction", codes, id=one, actions=actions)
        lab.same(lab.ok("DescribeTransaction", id=one), told, "the transaction after a refusal")
