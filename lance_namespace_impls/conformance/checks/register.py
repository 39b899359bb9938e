"""RegisterTable and DeregisterTable."""

from __future__ import annotations

from ..lab import Failed, Lab, Skipped
from ..requirement import check
from ..rows import PEOPLE, people, plain, stream
from .tables import missing_namespace_table

_REGISTER = 'rest.yaml, RegisterTable; protocol semantics, "Modes"'
_DEREGISTER = "rest.yaml, DeregisterTable"
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'


def deregistered(lab: Lab) -> tuple[list[str], str]:
    """Return a deregistered table with data, and its location."""
    table = lab.new_table()
    where = str(lab.given("DescribeTable", id=table).get("location"))
    answer = lab.ok("DeregisterTable", id=table)
    return table, str(answer.get("location") or where)


def register_again(lab: Lab, table: list[str], location: str) -> None:
    """Register a table at its location, as a relative path if the server requires one."""
    reply = lab.call("RegisterTable", id=table, location=location)
    if reply.code == 13 and "/" in location:
        reply = lab.call(
            "RegisterTable", id=table, location=location.rstrip("/").rpartition("/")[2]
        )
    if reply.code == 13:
        lab.maybe("RegisterTable", id=table, location=location)
    lab.must_succeed(reply)


@check("LN-TABLE-DEREGISTER-001", "A deregistered table is no longer in the catalog.", _DEREGISTER,
       "DeregisterTable", capabilities=["tables"])  # fmt: skip
def deregister(lab: Lab) -> None:
    table = lab.any_table()
    lab.ok("DeregisterTable", id=table)
    lab.that(not lab.exists("TableExists", table), "the table to be gone", "it is there")


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
    lab.that(not lab.exists("TableExists", identifier), "no table after code 13", "it is there")


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


MODES = ("Overwrite", "OVERWRITE", "overwrite", "overWrite")


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


@check("LN-FRESH-014",
       "TableExists and DescribeTable reflect each change, even if called before it.",
       "rest.yaml, TableExists and NamespaceExists", "TableExists", "DeclareTable", "DescribeTable",
       "DeregisterTable", capabilities=["tables"])  # fmt: skip
def existence(lab: Lab) -> None:
    table = lab.new_declared()
    for operation in ("DropTable", "DeregisterTable", "RenameTable"):
        lab.that(lab.exists("TableExists", table), "the table to be there", "it is not")
        more = {"new_table_name": lab.ledger.fresh()} if operation == "RenameTable" else {}
        if not lab.call(operation, id=table, **more).succeeded:
            continue
        lab.that(not lab.exists("TableExists", table), f"no table after {operation}", "it is there")
        lab.refused("DescribeTable", [4], id=table)
        told = lab.given("DeclareTable", id=table).get("location")
        due = lab.ok("DescribeTable", id=table).get("location")
        lab.same(told or due, due, "the location of the table that was declared again")


@check("LN-TABLE-DEREGISTER-010",
       "A table created with a deregistered name does not affect the old data.",
       "rest.yaml, DeregisterTable: its data stays on storage as it is; general specification: a table "
       "exists where a directory of its name does", "DeregisterTable", "RegisterTable",
       "CreateTable", "QueryTable", capabilities=["tables"])  # fmt: skip
def made_again(lab: Lab) -> None:
    table, other = lab.new_table(1, 2), lab.table_id()
    place = lab.ok("DeregisterTable", id=table).get("location")
    if place is None:
        raise Skipped("DeregisterTable tells no location")
    reply = lab.call("CreateTable", stream(people(7)), id=table)
    if reply.code != 5:  # if names determine locations, the old data is in the way
        lab.must_succeed(reply)
    lab.maybe("RegisterTable", id=other, location=place)
    lab.same(lab.ids(other), [1, 2], "the ids of the old table")
    if reply.succeeded:
        lab.same(lab.ids(table), [7], "the ids of the new one")
