"""Properties of namespaces and tables: exact values, and properties of a replacement."""

from __future__ import annotations

from typing import Any

from ...catalog_objects import deep
from ...lab import Lab, Skipped
from ...observe import forbids_location
from ...requirement import check
from ...rows import people, plain, stream

_TABLES = ["tables"]
_OLD = {"old": "1", "both": "1"}
_OURS = {*_OLD, "late", "new"}
_TABLE_WAYS = (
    "CreateTable",
    "CreateTable in mode Overwrite",
    "DeclareTable",
    "RegisterTable",
    "AlterTable",
    "RegisterTable in mode Overwrite",
)
_VALUES = {"plain": "1", "empty": "", "space": " a  b ", "lines": "a\nb\tc", "wide": "sch\u00f6n \U0001f600",
           "json": '{"a": [1, null]}', "number": "007", "word": "null", "true": "True",
           "long": "x" * 3000, "Upper.Key-with:signs/and space": "v", "schl\u00fcssel": "\u00e9",
           "quote'\"": "it's \"so\"", "percent%20": "a%20b+c&d=e"}  # fmt: skip


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


@check("LN-PROPERTY-001", "Table properties are stored exactly, whichever operation sets them.",
       "rest.yaml, the fields properties of the requests and responses", "CreateTable", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def of_tables(lab: Lab) -> None:
    kept: dict[str, dict[str, str]] = {}
    for way in _TABLE_WAYS:
        table = lab.table_id()
        data = plain(1) if way.startswith("CreateTable") else None
        request: dict[str, object] = {}
        if way == "AlterTable":
            lab.given("CreateTable", plain(1), id=table)
        elif way.startswith("RegisterTable"):
            source = lab.table_id()
            lab.given("CreateTable", plain(1), id=source)
            request["location"] = lab.given("DescribeTable", id=source).get("location")
            lab.given("DeregisterTable", id=source)
        if way.endswith("Overwrite"):
            request["mode"] = "Overwrite"
            lab.given("CreateTable", plain(1), id=table)
        key = "set_properties" if way == "AlterTable" else "properties"
        reply = lab.call(way.partition(" ")[0], data, id=table, **{key: _VALUES}, **request)
        if reply.code in (0, 13) or forbids_location(reply):
            continue
        lab.must_succeed(reply)
        described = lab.ok("DescribeTable", id=table).get("properties")
        if described is None:
            raise Skipped("the catalog stores no properties of tables")
        kept[way] = described
        for what, found in (
            (way, (reply.answer or {}).get("properties")),
            ("DescribeTable", described),
        ):
            if found is not None:
                lab.same(
                    {k: found.get(k) for k in _VALUES},
                    _VALUES,
                    f"the properties that {what} returns after {way}",
                )
        gone = lab.ok("DropTable", id=table).get("properties")
        if gone is not None:
            lab.same(
                {k: gone.get(k) for k in _VALUES},
                _VALUES,
                f"the properties that DropTable returns after {way}",
            )
    if not kept:
        raise Skipped("no operation accepts these properties")


@check("LN-PROPERTY-002", "Namespace properties are stored exactly, whichever operation sets them.",
       "rest.yaml, the fields properties of the requests and responses", "CreateNamespace",
       "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def of_namespaces(lab: Lab) -> None:
    for way in (
        "CreateNamespace",
        "CreateNamespace in mode Overwrite",
        "AlterNamespace",
        "ExistOk",
    ):
        namespace = lab.namespace_id()
        if way in ("AlterNamespace", "CreateNamespace in mode Overwrite"):
            lab.given("CreateNamespace", id=namespace)
        key = "set_properties" if way == "AlterNamespace" else "properties"
        mode = {"CreateNamespace in mode Overwrite": "Overwrite", "ExistOk": "ExistOk"}.get(way)
        request = {key: _VALUES} | ({"mode": mode} if mode else {})
        reply = lab.call(
            "AlterNamespace" if way == "AlterNamespace" else "CreateNamespace",
            id=namespace,
            **request,
        )
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        held = lab.ok("DescribeNamespace", id=namespace).get("properties")
        for found in ((reply.answer or {}).get("properties"), held):
            if found is not None:
                lab.same({k: found.get(k) for k in _VALUES}, _VALUES, f"the properties after {way}")
        # Each key can be removed without affecting the others.
        for number, name in enumerate(_VALUES):
            if (
                held is None
                or not lab.call("AlterNamespace", id=namespace, unset_properties=[name]).succeeded
            ):
                break
            left = lab.ok("DescribeNamespace", id=namespace).get("properties") or {}
            due = dict(list(_VALUES.items())[number + 1 :])
            lab.same(
                {k: v for k, v in left.items() if k in _VALUES},
                due,
                f"the properties without {name!r}",
            )
