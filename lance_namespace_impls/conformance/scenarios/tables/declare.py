"""DeclareTable."""

from __future__ import annotations

import os

from ....core.imports import load
from ...catalog_objects import PROPERTIES
from ...lab import Lab, Skipped
from ...locations import local_folder
from ...oracle import local_path
from ...requirement import check
from ...rows import PEOPLE, people, stream
from ...table_state import table_entry, unchanged
from .fixtures import declared_with_properties, missing_namespace_table

_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_DESCRIBE = 'protocol semantics, "DescribeTable"; rest.yaml, DescribeTable'
_DECLARE = "rest.yaml, DeclareTable"
_NAMES = "general specification, Object Name"
_TABLES = ["tables"]


@check("LN-TABLE-DECLARE-001", "A table exists after DeclareTable.", _DECLARE, "DeclareTable",
       capabilities=["tables"])  # fmt: skip
def declare(lab: Lab) -> None:
    identifier = lab.table_id()
    lab.ok("DeclareTable", id=identifier)
    lab.that(lab.exists("TableExists", identifier), "the table to exist", "it does not exist")


@check("LN-TABLE-DECLARE-002", "DeclareTable returns the location of the table.",
       f"{_DECLARE}; protocol semantics, How other clients call", "DeclareTable",
       capabilities=["tables"])  # fmt: skip
def declare_location(lab: Lab) -> None:
    answer = lab.ok("DeclareTable", id=lab.table_id())
    lab.that(bool(answer.get("location")), "a location", answer)


@check("LN-TABLE-DECLARE-003", "DescribeTable returns the location that DeclareTable returned.",
       f"{_DECLARE}; {_DESCRIBE}", "DeclareTable", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def declare_then_describe(lab: Lab) -> None:
    identifier = lab.table_id()
    declared = lab.ok("DeclareTable", id=identifier)
    described = lab.ok("DescribeTable", id=identifier)
    lab.same(
        local_path(described.get("location")), local_path(declared.get("location")), "the location"
    )


@check("LN-TABLE-DECLARE-004", "DeclareTable of an existing table fails with code 5.", _CODES,
       "DeclareTable", capabilities=["tables"])  # fmt: skip
def declare_twice(lab: Lab) -> None:
    lab.refused("DeclareTable", [5], id=lab.new_declared())


@check("LN-TABLE-DECLARE-005",
       "DeclareTable of a table with data fails with code 5 and keeps the data.",
       _CODES, "DeclareTable", "CreateTable", "CountTableRows", capabilities=["tables"])  # fmt: skip
def declare_over_data(lab: Lab) -> None:
    table = lab.new_table()
    lab.refused("DeclareTable", [5], id=table)
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")


@check("LN-TABLE-DECLARE-006", "DeclareTable in a missing namespace fails with code 1.", _CODES,
       "DeclareTable", capabilities=["namespaces", "tables"])  # fmt: skip
def declare_without_parent(lab: Lab) -> None:
    identifier = missing_namespace_table(lab)
    lab.refused("DeclareTable", [1], id=identifier)
    there = lab.exists("NamespaceExists", identifier[:-1])
    lab.that(not there, "no namespace created as a side effect", "it exists")


@check("LN-TABLE-DECLARE-007", "DeclareTable stores the properties of the request.", _DECLARE,
       "DeclareTable", "DescribeTable", capabilities=["tables"])  # fmt: skip
def declare_properties(lab: Lab) -> None:
    identifier = declared_with_properties(lab)
    answer = lab.ok("DescribeTable", id=identifier)
    lab.has(answer.get("properties"), PROPERTIES, "the properties")


@check("LN-TABLE-DECLARE-008", "Each declared table has its own location.",
       _DECLARE, "DeclareTable", capabilities=["tables"])  # fmt: skip
def declare_places(lab: Lab) -> None:
    places = [lab.ok("DeclareTable", id=lab.table_id()).get("location") for _ in range(3)]
    lab.same(len({str(place).rstrip("/") for place in places}), 3, "the number of locations")


@check("LN-TABLE-DECLARE-011", "DeclareTable uses the location in the request or rejects it.",
       "rest.yaml, DeclareTableRequest", "DeclareTable", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def declare_at_location(lab: Lab) -> None:
    beside = str(lab.given("DescribeTable", id=lab.new_declared()).get("location"))
    where, identifier = f"{beside.rstrip('/')}_given", lab.table_id()
    reply = lab.call("DeclareTable", id=identifier, location=where)
    lab.may_refuse(reply)
    described = lab.ok("DescribeTable", id=identifier)
    for found in (reply.answer or {}, described):
        lab.same(str(found.get("location")).rstrip("/"), where, "the location")


@check("LN-TABLE-DECLARE-009", "DeclareTable with the name of a namespace is rejected.",
       _NAMES, "DeclareTable", capabilities=["nested", "tables"])  # fmt: skip
def declare_namespace_name(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("DeclareTable", [2, 5, 13], id=identifier)
    lab.that(
        lab.exists("NamespaceExists", identifier), "the namespace to remain", "it no longer exists"
    )


@check("LN-TABLE-DECLARE-010",
       "The root is not a table: an empty identifier fails with code 13 or 0.",
       "general specification, Name and Identifier for Root Namespace; rest.yaml, InvalidInput",
       "DescribeTable", changes=False)  # fmt: skip
def empty_identifier(lab: Lab) -> None:
    lab.refused("DescribeTable", [0, 13], id=[])  # 0: the root cannot contain tables here


@check("LN-TABLE-DECLARE-012",
       "DeclareTable stores its properties even if the request specifies a location.",
       "rest.yaml, DeclareTableRequest, location and properties", "DeclareTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def declare_at(lab: Lab) -> None:
    table, given = lab.table_id(), {"owner": "ana"}
    plainly = lab.maybe("DeclareTable", id=lab.table_id(), properties=given).get("properties")
    answer = lab.maybe("DeclareTable", id=table, location=lab.free_location(), properties=given)
    if plainly is None:
        return
    lab.has(answer.get("properties"), given, "the properties in the response")
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), given, "the properties")


@check("LN-TABLE-DECLARE-060",
       "A dataset that a client writes to the location of a declared table becomes its data.",
       "rest.yaml, DeclareTable, and is_only_declared of DescribeTableResponse",
       "DeclareTable", "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def written(lab: Lab) -> None:
    lance = load("lance")

    people_at = local_folder(lab.ok("DescribeTable", id=lab.shared_table()))
    try:
        held = sorted(lance.dataset(people_at).to_table(["id"])["id"].to_pylist())
    except (KeyError, OSError, ValueError):
        held = []
    if held != [*PEOPLE]:  # another local directory with this path; do not touch it
        raise Skipped("this machine cannot read the location")
    for more in (
        {},
        {"vend_credentials": True},
        {"vend_credentials": False, "properties": PROPERTIES},
    ):
        table = lab.table_id()
        where = str(lab.maybe("DeclareTable", id=table, **more).get("location")).rstrip("/")
        told = lab.ok("DescribeTable", id=table, check_declared=True)
        lab.same(told.get("is_only_declared"), True, "is_only_declared")
        if told.get("managed_versioning"):
            raise Skipped("the namespace manages the versions")
        above, _, name = where.rpartition("/")
        path = f"{local_folder({'location': above})}/{name}"
        if not os.access(
            path if os.path.exists(path) else os.path.dirname(path), os.W_OK | os.X_OK
        ):
            raise Skipped("this machine cannot write to the location")
        try:
            lance.write_dataset(people(1, 2), path)
        except OSError as error:
            raise Skipped(f"this machine cannot write to the location: {error}") from error
        lab.same(lab.ids(table), [1, 2], "the written ids")
        told = lab.ok("DescribeTable", id=table, check_declared=True)
        lab.same(told.get("is_only_declared"), False, "is_only_declared after data is written")


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
        lab.maybe(make, data, id=table, properties=PROPERTIES)
        before = table_entry(lab, table, bool(data)), table_entry(lab, other)
        for operation, codes, request in (
            ("DeclareTable", [5], more),
            ("RegisterTable", [5, 13], {"location": where, **more}),
            ("DeclareTable", [0, 5, 13], {"location": lab.free_location(), **more}),
            ("RenameTable", [0, 5], {"new_table_name": table[-1]}),
            *([("CreateTable", [5], more)] if data else ()),  # it would fill a declared table
        ):
            named = other if operation == "RenameTable" else table
            rows = stream(people(9)) if operation == "CreateTable" else None
            lab.refused(operation, codes, rows, id=named, **request)
            unchanged(
                lab, before[0], table_entry(lab, table, bool(data)), f"the rejected {operation}"
            )
        unchanged(lab, before[1], table_entry(lab, other), "a rejected rename")
    lab.maybe("RegisterTable", id=source, location=where)
    lab.same(lab.ids(source), [7], "the ids at the rejected location")
