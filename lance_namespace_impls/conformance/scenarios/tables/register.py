"""RegisterTable and DeregisterTable."""

from __future__ import annotations

from ...lab import Failed, Lab, Skipped
from ...requirement import check
from ...rows import PEOPLE, people, plain, stream
from ...table_state import furnished, state, unchanged
from .fixtures import deregistered, missing_namespace_table, register_again

_REGISTER = 'rest.yaml, RegisterTable; protocol semantics, "Modes"'
_DEREGISTER = "rest.yaml, DeregisterTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
MODES = ("Overwrite", "OVERWRITE", "overwrite", "overWrite")
_TABLES = ["tables"]


@check("LN-TABLE-REGISTER-001", "A registered dataset is a table at its location.", _REGISTER,
       "RegisterTable", "DeregisterTable", "DescribeTable", capabilities=["tables"])  # fmt: skip
def register(lab: Lab) -> None:
    table, location = deregistered(lab)
    register_again(lab, table, location)
    found = str(lab.ok("DescribeTable", id=table).get("location"))
    lab.same(found.rstrip("/"), location.rstrip("/"), "the location")


@check("LN-TABLE-REGISTER-002", "RegisterTable of an existing table fails with code 5.", _REGISTER,
       "RegisterTable", "DescribeTable", capabilities=["tables"])  # fmt: skip
def register_twice(lab: Lab) -> None:
    table = lab.any_table()
    where = str(lab.given("DescribeTable", id=table).get("location"))
    reply = lab.call("RegisterTable", id=table, location=where)
    if reply.code == 13:
        where = where.rstrip("/").rpartition("/")[2]
        reply = lab.call("RegisterTable", id=table, location=where)
    lab.must_fail(reply, [5])


@check("LN-TABLE-REGISTER-003", "RegisterTable in mode Overwrite accepts an existing name.",
       _REGISTER, "RegisterTable", "CountTableRows", capabilities=["tables"])  # fmt: skip
def register_overwrite(lab: Lab) -> None:
    table = lab.new_table()
    where = str(lab.given("DescribeTable", id=table).get("location"))
    lab.maybe("RegisterTable", id=table, location=where, mode="Overwrite")
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")


@check("LN-TABLE-REGISTER-004", "RegisterTable in a missing namespace fails with code 1.", _CODES,
       "RegisterTable", "DescribeTable", capabilities=["namespaces", "tables"])  # fmt: skip
def register_without_parent(lab: Lab) -> None:
    table = lab.any_table()
    where = str(lab.given("DescribeTable", id=table).get("location"))
    identifier = missing_namespace_table(lab)
    reply = lab.call("RegisterTable", id=identifier, location=where)
    if reply.code == 13:
        where = where.rstrip("/").rpartition("/")[2]
        reply = lab.call("RegisterTable", id=identifier, location=where)
    if reply.succeeded:
        raise Failed("RegisterTable to fail with code 1", reply.outcome(), reply)
    lab.must_fail(reply, [1, 13])


@check("LN-TABLE-REGISTER-005", "An unknown mode of RegisterTable fails with code 13.", _REGISTER,
       "RegisterTable", "DescribeTable", capabilities=["tables"])  # fmt: skip
def register_unknown_mode(lab: Lab) -> None:
    table = lab.any_table()
    where = str(lab.given("DescribeTable", id=table).get("location"))
    lab.refused("RegisterTable", [13], id=lab.table_id(), location=where, mode="sometimes")


@check("LN-TABLE-REGISTER-006", "RegisterTable without a location fails with code 13.",
       "rest.yaml, RegisterTableRequest", "RegisterTable", capabilities=["tables"])  # fmt: skip
def register_nowhere(lab: Lab) -> None:
    identifier = lab.table_id()
    reply = lab.call("RegisterTable", id=identifier)
    if reply.succeeded:  # a later drop must not delete an unknown location
        lab.call("DeregisterTable", id=identifier)
    lab.must_fail(reply, [13])
    lab.that(not lab.exists("TableExists", identifier), "no table after code 13", "it exists")


@check("LN-TABLE-REGISTER-009", "RegisterTable in mode Overwrite accepts an unused name.",
       _REGISTER, "RegisterTable", "DeregisterTable", "DescribeTable", "CreateTable",
       "CountTableRows", capabilities=["tables"])  # fmt: skip
def overwrite_free(lab: Lab) -> None:
    table, where = deregistered(lab)
    reply = lab.call("RegisterTable", id=table, location=where, mode="Overwrite")
    lab.may_refuse(reply)
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")


@check("LN-TABLE-REGISTER-010",
       "A registered table has only the properties passed to RegisterTable.",
       "rest.yaml, RegisterTableRequest", "RegisterTable", "DeregisterTable", "DescribeTable",
       "CreateTable", capabilities=["tables"])  # fmt: skip
def own_properties(lab: Lab) -> None:
    table = lab.table_id()
    reply = lab.call("CreateTable", plain(1), id=table, properties={"owner": "ana", "old": "1"})
    if not reply.succeeded:
        raise Skipped(f"CreateTable: {reply.outcome()}")
    where = str(lab.given("DescribeTable", id=table).get("location"))
    lab.given("DeregisterTable", id=table)
    lab.maybe("RegisterTable", id=table, location=where, properties={"owner": "bob"})
    found = lab.ok("DescribeTable", id=table).get("properties") or {}
    lab.same((found.get("owner"), found.get("old")), ("bob", None), "the properties")


@check("LN-TABLE-REGISTER-011", "The modes of table operations are case-insensitive.",
       'protocol semantics, "Modes (any case)"', "RegisterTable", "InsertIntoTable", "CreateTable",
       "DescribeTable", "DeregisterTable", capabilities=["tables"])  # fmt: skip
def any_case(lab: Lab) -> None:
    table, where = deregistered(lab)
    lab.maybe("RegisterTable", id=table, location=where)
    lab.given("DeregisterTable", id=table)
    for mode in ("Create", "create", "CREATE"):
        lab.ok("RegisterTable", id=table, location=where, mode=mode)
        lab.given("DeregisterTable", id=table)
    lab.given("RegisterTable", id=table, location=where)
    first = lab.call("RegisterTable", id=table, location=where, mode=MODES[0])
    for mode in MODES if first.succeeded else ():
        lab.ok("RegisterTable", id=table, location=where, mode=mode)
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")
    for number, mode in enumerate(MODES, start=1):
        lab.ok("InsertIntoTable", stream(people(number)), id=table, mode=mode)
        lab.same(lab.ids(table), [number], f"the ids after mode {mode}")
        lab.ok("InsertIntoTable", stream(people(9)), id=table, mode="Append")
        lab.ok("CreateTable", stream(people(1, 2)), id=table, mode=mode)
        lab.same(lab.ids(table), [1, 2], f"the ids after CreateTable in mode {mode}")


@check("LN-TABLE-REGISTER-007", "RegisterTable stores the properties of the request.",
       "rest.yaml, RegisterTableRequest", "RegisterTable", "DeregisterTable", "DescribeTable",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def register_properties(lab: Lab) -> None:
    table = lab.new_table()
    location = lab.ok("DescribeTable", id=table).get("location")
    lab.given("DeregisterTable", id=table)
    lab.maybe("RegisterTable", id=table, location=location, properties={"owner": "me"})
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), {"owner": "me"}, "the properties")


@check("LN-TABLE-REGISTER-008",
       "RegisterTable with mode Overwrite points the name to the new location and keeps the data "
       "at both.",
       "rest.yaml, RegisterTable: data is not deleted, not even that of a replaced entry",
       "RegisterTable", "DescribeTable", "DeregisterTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def registered_anew(lab: Lab) -> None:
    table, second = lab.new_table(1), lab.new_table(2, 3)
    first_at = lab.ok("DescribeTable", id=table).get("location")
    second_at = lab.ok("DescribeTable", id=second).get("location")
    lab.given("DeregisterTable", id=second)
    answer = lab.maybe("RegisterTable", id=table, location=second_at, mode="Overwrite")
    described = lab.ok("DescribeTable", id=table).get("location")
    lab.that(answer.get("location") in (None, described), f"the location {described}", answer)
    lab.same(lab.ids(table), [2, 3], "the ids at the new location")
    lab.that(
        lab.ok("DescribeTable", id=table).get("location") != first_at, "the new location", first_at
    )
    other = lab.table_id()
    lab.maybe("RegisterTable", id=other, location=first_at)
    lab.same(lab.ids(other), [1], "the ids at the old location")


@check("LN-TABLE-REGISTER-012",
       "RegisterTable with mode Overwrite keeps no property of the old entry.",
       "rest.yaml, RegisterTable: replaces the catalog entry", "RegisterTable", "DescribeTable",
       "DeregisterTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def register_over(lab: Lab) -> None:
    _, where = deregistered(lab)
    taken = lab.table_id()
    lab.maybe("CreateTable", plain(1), id=taken, properties={"old": "1"})
    lab.maybe("RegisterTable", id=taken, location=where, mode="Overwrite")
    found = lab.ok("DescribeTable", id=taken).get("properties") or {}
    lab.that("old" not in found, "no property of the replaced entry", found)


@check("LN-TABLE-DEREGISTER-001", "A deregistered table is no longer in the catalog.", _DEREGISTER,
       "DeregisterTable", capabilities=["tables"])  # fmt: skip
def deregister(lab: Lab) -> None:
    table = lab.any_table()
    lab.ok("DeregisterTable", id=table)
    lab.that(not lab.exists("TableExists", table), "the table to no longer exist", "it exists")


@check("LN-TABLE-DEREGISTER-002", "DeregisterTable of a missing table fails with code 4.", _CODES,
       "DeregisterTable", capabilities=["tables"])  # fmt: skip
def deregister_missing(lab: Lab) -> None:
    lab.refused("DeregisterTable", [4], id=lab.table_id())


@check("LN-TABLE-DEREGISTER-003",
       "DeregisterTable keeps the data, so that the table can be registered again.",
       f"{_DEREGISTER}; {_REGISTER}", "DeregisterTable", "RegisterTable", "CountTableRows",
       capabilities=["tables"])  # fmt: skip
def deregister_keeps(lab: Lab) -> None:
    table, location = deregistered(lab)
    register_again(lab, table, location)
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")


@check("LN-TABLE-DEREGISTER-004", "A second DeregisterTable fails with code 4.", _CODES,
       "DeregisterTable", capabilities=["tables"])  # fmt: skip
def deregister_twice(lab: Lab) -> None:
    table = lab.any_table()
    lab.ok("DeregisterTable", id=table)
    lab.refused("DeregisterTable", [4], id=table)


@check("LN-TABLE-DEREGISTER-005",
       "DeregisterTable returns the id and location of the deregistered table.",
       "rest.yaml, DeregisterTableResponse", "DeregisterTable", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def deregister_answers(lab: Lab) -> None:
    table = lab.any_table()
    where = lab.given("DescribeTable", id=table).get("location")
    answer = lab.ok("DeregisterTable", id=table)
    if answer.get("id") is not None:
        lab.same(list(answer["id"]), table, "the id")
    if answer.get("location") is not None:
        lab.same(answer["location"], where, "the location")


@check("LN-TABLE-DEREGISTER-010",
       "A table created with a deregistered name does not affect the old data.",
       "rest.yaml, DeregisterTable: its data stays unchanged in storage; general specification: "
       "a table exists if a directory with its name exists", "DeregisterTable", "RegisterTable",
       "CreateTable", "QueryTable", capabilities=["tables"])  # fmt: skip
def made_again(lab: Lab) -> None:
    table, other = lab.new_table(1, 2), lab.table_id()
    place = lab.ok("DeregisterTable", id=table).get("location")
    if place is None:
        raise Skipped("DeregisterTable returns no location")
    reply = lab.call("CreateTable", stream(people(7)), id=table)
    if reply.code != 5:  # if names determine locations, the old data is in the way
        lab.must_succeed(reply)
    lab.maybe("RegisterTable", id=other, location=place)
    lab.same(lab.ids(other), [1, 2], "the ids in the old table")
    if reply.succeeded:
        lab.same(lab.ids(table), [7], "the ids in the new table")


@check("LN-TABLE-DEREGISTER-060",
       "A table that is deregistered and registered again keeps everything but its properties.",
       "rest.yaml, DeregisterTable: its data stays unchanged in storage",
       "DeregisterTable", "RegisterTable",
       "CreateTable", "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def all_again(lab: Lab) -> None:
    table = furnished(lab)
    lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    if lab.ok("DescribeTable", id=table).get("managed_versioning"):
        raise Skipped("the namespace manages the versions")
    before = {key: value for key, value in state(lab, table).items() if key != "properties"}
    for name in (table[-1], lab.ledger.fresh()):
        lab.given("DeregisterTable", id=table)
        table = [*table[:-1], name]
        lab.maybe("RegisterTable", id=table, location=before["location"])
        unchanged(lab, before, state(lab, table), f"its registration as {name}")
