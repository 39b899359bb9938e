"""Replacements inherit nothing from the old object, and moved tables are in one namespace only."""

from __future__ import annotations

from typing import Any

from ..lab import Lab, Skipped
from ..observe import forbids_location
from ..requirement import check
from ..rows import people, plain, stream
from .continuing import crowded
from .together import deep

_TABLES = ["tables"]
_OLD = {"old": "1", "both": "1"}
_OURS = {*_OLD, "late", "new"}
_GIVEN: tuple[dict[str, Any], ...] = (
    {},
    {"properties": {}},
    {"properties": {"new": "2", "both": "2"}},
)


def _left(found: Any) -> dict[str, str]:
    return {k: v for k, v in (found or {}).items() if k in _OURS}


def _told(lab: Lab, answer: Any, described: Any, due: dict[str, str], what: str) -> None:
    for source, found in (("the answer", answer), ("the description", described)):
        if found is not None:
            lab.same(_left(found), due, f"the properties in {source} after {what}")


@check("LN-PROPERTY-003",
       "A namespace that replaces another has only the properties in its own request.",
       "rest.yaml, CreateNamespaceRequest, properties: none by default", "CreateNamespace",
       "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def namespaces(lab: Lab) -> None:
    for mode in ("Overwrite", "ExistOk", None):
        for given in _GIVEN:
            for namespace in (lab.namespace_id(), [*deep(lab)[-1], lab.ledger.fresh()]):
                reply = lab.call("CreateNamespace", id=namespace, properties=_OLD)
                if not reply.succeeded:
                    continue
                late = lab.call("AlterNamespace", id=namespace, set_properties={"late": "1"})
                old = {**_OLD, "late": "1"} if late.succeeded else _OLD
                if mode is None:
                    lab.ok("DropNamespace", id=namespace)
                request = {**given, "mode": mode} if mode else given
                answer = lab.maybe("CreateNamespace", id=namespace, **request).get("properties")
                due = old if mode == "ExistOk" else given.get("properties") or {}
                held = lab.ok("DescribeNamespace", id=namespace).get("properties")
                _told(lab, answer, held, due, f"mode {mode} with {given}")
                lab.call("DropNamespace", id=namespace)


_WAYS: tuple[tuple[str, str | None, str | None], ...] = (
    ("CreateTable", "Overwrite", None), ("CreateTable", "ExistOk", None),
    ("CreateTable", None, "DropTable"), ("CreateTable", None, "DeregisterTable"),
    ("DeclareTable", None, "DropTable"), ("RegisterTable", "Overwrite", None),
    ("RegisterTable", None, "DeregisterTable"), ("RegisterTable", None, "DropTable"),
)  # fmt: skip


@check("LN-PROPERTY-004",
       "A table that replaces another has only the properties in its own request.",
       "rest.yaml, the fields properties: properties to store with the table", "CreateTable",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def tables(lab: Lab) -> None:
    for operation, mode, before in _WAYS:
        for given in _GIVEN:
            table = lab.table_id()
            more: dict[str, Any] = {"mode": mode} if mode else {}
            if operation == "RegisterTable":
                source = lab.new_table(7)
                more["location"] = lab.ok("DescribeTable", id=source).get("location")
                lab.given("DeregisterTable", id=source)
            lab.maybe("CreateTable", stream(people(1)), id=table, properties=_OLD)
            late = lab.call("AlterTable", id=table, set_properties={"late": "1"})
            if before and lab.call(before, id=table).code == 0:
                continue
            data = stream(people(2)) if operation == "CreateTable" else None
            reply = lab.call(operation, data, id=table, **more, **given)
            if reply.code in (0, 13) or forbids_location(reply):
                continue
            if reply.code == 5 and before == "DeregisterTable":
                continue  # the deregistered data may be in the way: LN-TABLE-DEREGISTER-010
            lab.must_succeed(reply)
            old = {**_OLD, "late": "1"} if late.succeeded else _OLD
            due = old if mode == "ExistOk" else given.get("properties") or {}
            held = lab.ok("DescribeTable", id=table).get("properties")
            what = f"{before or 'nothing'} and {operation} {more.get('mode', '')} with {given}"
            _told(lab, (reply.answer or {}).get("properties"), held, due, what)


def _where(lab: Lab, namespaces: list[list[str]], name: str) -> list[list[str]]:
    """Return the namespaces that contain a table; ListTables and TableExists must agree."""
    found = []
    for namespace in namespaces:
        listed = name in lab.walk("ListTables", "tables", id=namespace)
        there = lab.exists("TableExists", [*namespace, name])
        lab.same(listed, there, f"whether {name} is listed in {namespace}, as it is there,")
        if there:
            found.append(namespace)
    return found


@check("LN-TABLE-RENAME-013",
       "RenameTable moves a table to the requested namespace, and it is in no other.",
       "rest.yaml, RenameTableRequest, new_namespace_id; ListTables: the tables directly in the namespace",
       "RenameTable", "ListTables", "CreateTable", capabilities=_TABLES)  # fmt: skip
def moves(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be made in a new namespace")
    spaces = [lab.new_namespace(), lab.new_namespace()]
    child = [*spaces[0], lab.ledger.fresh()]
    if lab.call("CreateNamespace", id=child).succeeded and lab.call(
        "DeclareTable", id=[*child, lab.ledger.fresh()]
    ).succeeded:  # fmt: skip
        spaces.append(child)
    if not lab.shape.base and lab.call("DeclareTable", id=[lab.ledger.fresh()]).succeeded:
        spaces.append([])
    table = [*spaces[0], lab.ledger.fresh()]
    lab.given("CreateTable", stream(people(1, 2)), id=table)
    for target in (*spaces[1:], *reversed(spaces[:-1])):
        for name in (table[-1], lab.ledger.fresh()):
            if [*target, name] == table:
                continue
            _where(lab, spaces, table[-1])
            reply = lab.call("RenameTable", id=table, new_table_name=name, new_namespace_id=target)
            if reply.code in (0, 13):
                continue
            lab.must_succeed(reply)
            lab.same(_where(lab, spaces, name), [target], f"where {name} is after it moved")
            if name != table[-1]:
                lab.same(_where(lab, spaces, table[-1]), [], f"where {table[-1]} is after it moved")
            table = [*target, name]
            lab.same(lab.ids(table), [1, 2], "the ids of the table that moved")
            described = lab.ok("DescribeTable", id=table)
            for key, due in (("table", name), ("namespace", target)):
                lab.that(described.get(key) in (None, due), f"{key} {due}", described.get(key))


@check("LN-TABLE-RENAME-014",
       "RenameTable to another namespace fails with code 5 only if the name exists in that "
       "namespace.", "rest.yaml, RenameTableRequest, new_table_name and new_namespace_id",
       "RenameTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def taken_there(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be made in a new namespace")
    one, other = lab.new_namespace(), lab.new_namespace()
    lab.given("CreateTable", stream(people(1)), id=[*one, "t"])
    lab.given("CreateTable", stream(people(2)), id=[*one, "here"])
    lab.given("CreateTable", stream(people(3)), id=[*other, "there"])
    reply = lab.call("RenameTable", id=[*one, "t"], new_table_name="there", new_namespace_id=other)
    if reply.code in (0, 13):
        raise Skipped(f"RenameTable: {reply.outcome()}")
    lab.must_fail(reply, [5])
    lab.same(lab.ids([*other, "there"]), [3], "the ids of the table that has the name")
    lab.ok("RenameTable", id=[*one, "t"], new_table_name="here", new_namespace_id=other)
    lab.same(
        (lab.ids([*other, "here"]), lab.ids([*one, "here"])), ([1], [2]), "the ids of both tables"
    )


@check("LN-NAMESPACE-DROP-022", "DropNamespace with Cascade deletes no table's data, at any level.",
       "rest.yaml, DropNamespace: data on storage is never deleted, not even with Cascade",
       "DropNamespace", "CreateTable", "RegisterTable", "DescribeTable",
       capabilities=["tables", "nested"])  # fmt: skip
def cascade_keeps_all(lab: Lab) -> None:
    for mode in ({}, {"mode": "Skip"}):
        levels = deep(lab)
        places = []
        for number, namespace in enumerate(levels, start=1):
            table = [*namespace, lab.ledger.fresh()]
            if lab.call("CreateTable", stream(people(number)), id=table).succeeded:
                places.append((number, lab.ok("DescribeTable", id=table).get("location")))
        lab.maybe("DropNamespace", id=levels[0], behavior="Cascade", **mode)
        for namespace in levels:
            lab.that(
                not lab.exists("NamespaceExists", namespace), "no namespace to be left", namespace
            )
        for number, place in places:
            again = lab.table_id()
            lab.maybe("RegisterTable", id=again, location=place)
            lab.same(lab.ids(again), [number], f"the ids of the table of level {number}")


_TOKENS: tuple[tuple[str, str], ...] = (
    ("ListTableVersions", "versions"), ("ListTableTags", "tags"), ("ListTableBranches", "branches"),
    ("ListTableIndices", "indexes"), ("ListTables", "tables"), ("ListNamespaces", "namespaces"),
)  # fmt: skip


@check("LN-PAGE-041",
       "A listing that rejects page tokens of another object also rejects those of other "
       "operations.",
       "rest.yaml, PageToken: a token that belongs to another listing is InvalidInput",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def kinds(lab: Lab) -> None:
    pairs = [(crowded(lab), crowded(lab))]
    if lab.shape.tables_in_new and lab.shape.nested:
        pairs.append((lab.new_namespace(), lab.new_namespace()))
        for parent in pairs[1]:
            for name in "abcd":
                make = "DeclareTable" if name in "bd" else "CreateNamespace"
                if not lab.call(make, id=[*parent, name]).succeeded:
                    lab.call("CreateTable", plain(1), id=[*parent, name])
    for one, other in pairs:
        tokens = {}
        for operation, _ in _TOKENS:
            of_table = operation.startswith("ListTable") and operation != "ListTables"
            if of_table == (one is pairs[0][0]):
                reply = lab.call(operation, id=one, limit=1)
                if reply.succeeded and (reply.answer or {}).get("page_token"):
                    tokens[operation] = (reply.answer or {})["page_token"]
        for operation, token in tokens.items():
            if lab.call(operation, id=other, limit=1, page_token=token).code != 13:
                continue  # it does not distinguish tokens
            for kind, strange in tokens.items():
                if kind != operation:
                    reply = lab.call(operation, id=one, limit=1, page_token=strange)
                    lab.that(
                        reply.code == 13,
                        f"code 13 from {operation} with a token of {kind}",
                        reply.outcome(),
                    )
