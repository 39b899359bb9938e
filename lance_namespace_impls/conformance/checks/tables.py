"""DeclareTable, DescribeTable, TableExists and AlterTable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ..lab import Lab, Skipped
from ..oracle import local_path
from ..requirement import Level, check
from ..rows import PEOPLE, people, stream
from .listings import place_for_tables

_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_DESCRIBE = 'protocol semantics, "DescribeTable"; rest.yaml, DescribeTable'
_DECLARE = "rest.yaml, DeclareTable"
_NAMES = "general specification, Object Name"
PROPERTIES = {"owner": "ana", "note": "two words"}


def declared_with_properties(lab: Lab) -> list[str]:
    """Return a declared table with properties, if the catalog supports them."""
    identifier = lab.table_id()
    lab.maybe("DeclareTable", id=identifier, properties=PROPERTIES)
    return identifier


def missing_namespace_table(lab: Lab) -> list[str]:
    """Return the identifier of a table in a missing namespace."""
    parent = list(lab.shape.table_parent or ())
    if lab.shape.namespace_parent is None or not parent:
        raise Skipped("no namespaces can be made here")
    return [*parent[:-1], lab.ledger.fresh(), lab.ledger.fresh()]


@check("LN-TABLE-DECLARE-001", "A table exists after DeclareTable.", _DECLARE, "DeclareTable",
       capabilities=["tables"])  # fmt: skip
def declare(lab: Lab) -> None:
    identifier = lab.table_id()
    lab.ok("DeclareTable", id=identifier)
    lab.that(lab.exists("TableExists", identifier), "the table to be there", "it is not")


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
    lab.that(not there, "no namespace made on the way", "it is there")


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
    lab.that(lab.exists("NamespaceExists", identifier), "the namespace to stay", "it is gone")


@check("LN-TABLE-DECLARE-010",
       "The root is not a table: an empty identifier fails with code 13 or 0.",
       "general specification, Name and Identifier for Root Namespace; rest.yaml, InvalidInput",
       "DescribeTable", changes=False)  # fmt: skip
def empty_identifier(lab: Lab) -> None:
    lab.refused("DescribeTable", [0, 13], id=[])  # 0: the root cannot contain tables here


@check("LN-TABLE-DESCRIBE-001", "DescribeTable returns the names of the table and its namespace.",
       f"{_DESCRIBE}; the published texts of table and namespace: with load_detailed_metadata",
       "DescribeTable", capabilities=["tables"], level=Level.SHOULD)  # fmt: skip
def describe_names(lab: Lab) -> None:
    identifier = lab.any_table()
    reply = lab.call("DescribeTable", id=identifier, load_detailed_metadata=True)
    if not reply.succeeded:  # it may fail for a declared table
        identifier = lab.new_table()
        reply = lab.call("DescribeTable", id=identifier, load_detailed_metadata=True)
    lab.must_succeed(reply)
    answer = reply.answer or {}
    lab.same(answer.get("table"), identifier[-1], "the name")
    lab.same(list(answer.get("namespace") or ()), identifier[:-1], "the namespace")


@check("LN-TABLE-DESCRIBE-002", "DescribeTable returns the location of the table.",
       f"{_DESCRIBE}; protocol semantics, How other clients call", "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def describe_location(lab: Lab) -> None:
    answer = lab.ok("DescribeTable", id=lab.any_table())
    lab.that(bool(answer.get("location")), "a location", answer)


@check("LN-TABLE-DESCRIBE-003", "DescribeTable of a missing table fails with code 4.", _CODES,
       "DescribeTable", capabilities=["tables"])  # fmt: skip
def describe_missing(lab: Lab) -> None:
    lab.refused("DescribeTable", [4], id=lab.table_id())


@check("LN-TABLE-DESCRIBE-004", "DescribeTable in a missing namespace fails with code 1 or 4.",
       _CODES,
       "DescribeTable", capabilities=["namespaces", "tables"])  # fmt: skip
def describe_without_parent(lab: Lab) -> None:
    lab.refused("DescribeTable", [1, 4], id=missing_namespace_table(lab))


@check("LN-TABLE-DESCRIBE-005",
       "check_declared distinguishes a declared table from a table with data.",
       _DESCRIBE, "DescribeTable", "DeclareTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def describe_declared(lab: Lab) -> None:
    for table, expected in ((lab.new_declared(), True), (lab.new_table(), False)):
        answer = lab.ok("DescribeTable", id=table, check_declared=True)
        lab.same(answer.get("is_only_declared"), expected, "is_only_declared")


@check("LN-TABLE-DESCRIBE-006", "load_detailed_metadata adds the version and the schema.",
       _DESCRIBE, "DescribeTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def describe_detailed(lab: Lab) -> None:
    answer = lab.maybe("DescribeTable", id=lab.shared_table(), load_detailed_metadata=True)
    lab.same(answer.get("version"), 1, "the version of a new table")
    fields = [f.get("name") for f in (answer.get("schema") or {}).get("fields") or ()]
    lab.same(fields, ["id", "name", "score", "vec"], "the columns")


@check("LN-TABLE-DESCRIBE-007", "load_detailed_metadata adds the types of the columns.",
       f"{_DESCRIBE}; rest.yaml, JsonArrowSchema", "DescribeTable", "CreateTable",
       capabilities=["tables"])  # fmt: skip
def describe_types(lab: Lab) -> None:
    answer = lab.maybe("DescribeTable", id=lab.shared_table(), load_detailed_metadata=True)
    fields = {f["name"]: f for f in (answer.get("schema") or {}).get("fields") or ()}
    for name, types in (("id", ("int64",)), ("name", ("utf8", "string")),
                        ("score", ("float64", "double"))):  # fmt: skip
        found = str((fields.get(name) or {}).get("type", {}).get("type", "")).lower()
        lab.that(found in types, f"{name} to be of type {types[0]}", found)


@check("LN-TABLE-DESCRIBE-008", "with_table_uri adds a full URI.", _DESCRIBE, "DescribeTable",
       capabilities=["tables"])  # fmt: skip
def describe_uri(lab: Lab) -> None:
    answer = lab.ok("DescribeTable", id=lab.any_table(), with_table_uri=True)
    uri = answer.get("table_uri")
    lab.that("://" in str(uri) or str(uri).startswith("/"), "a URI", answer)


@check("LN-TABLE-DESCRIBE-009", "DescribeTable of a missing version fails with code 11.",
       f"{_CODES}; without load_detailed_metadata the catalog alone is asked",
       "DescribeTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def describe_version_missing(lab: Lab) -> None:
    table = lab.shared_table()
    lab.refused("DescribeTable", [11], id=table, version=999, load_detailed_metadata=True)


@check("LN-TABLE-DESCRIBE-010", "DescribeTable accepts at most one of version and tag.", _DESCRIBE,
       "DescribeTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def describe_version_and_tag(lab: Lab) -> None:
    lab.refused("DescribeTable", [13], id=lab.shared_table(), version=1, tag="t")


@check("LN-TABLE-DESCRIBE-011", "DescribeTable describes the newest version by default.", _DESCRIBE,
       "DescribeTable", "InsertIntoTable", capabilities=["tables"])  # fmt: skip
def describe_newest(lab: Lab) -> None:
    from ..rows import people, stream

    table = lab.new_table()
    inserted = lab.ok("InsertIntoTable", stream(people(11)), id=table)
    answer = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True)
    version = answer.get("version")
    lab.that(isinstance(version, int) and version > 1, "a version after 1", version)
    if inserted.get("version") is not None:
        lab.same(version, inserted["version"], "the version")


@check("LN-TABLE-EXISTS-001", "TableExists succeeds for an existing table.",
       "rest.yaml, TableExists", "TableExists", capabilities=["tables"])  # fmt: skip
def exists(lab: Lab) -> None:
    lab.ok("TableExists", id=lab.any_table())


@check("LN-TABLE-EXISTS-002", "TableExists of a missing table fails with code 4.", _CODES,
       "TableExists", capabilities=["tables"])  # fmt: skip
def exists_missing(lab: Lab) -> None:
    lab.refused("TableExists", [4], id=lab.table_id())


@check("LN-TABLE-EXISTS-003", "TableExists succeeds for a declared table.",
       "protocol semantics, DescribeTable; general specification, Table Existence", "TableExists",
       "DeclareTable", capabilities=["tables"])  # fmt: skip
def exists_declared(lab: Lab) -> None:
    lab.ok("TableExists", id=lab.new_declared())


@check("LN-TABLE-EXISTS-004",
       "A namespace is not a table: TableExists of a namespace fails with code 4.",
       "rest.yaml, TableExists", "TableExists", capabilities=["nested", "tables"])  # fmt: skip
def exists_namespace(lab: Lab) -> None:
    lab.refused("TableExists", [1, 4, 13], id=lab.new_namespace())


@check("LN-TABLE-ALTER-001", "AlterTable sets properties and keeps the others.",
       "rest.yaml, AlterTable", "AlterTable", capabilities=["tables"])  # fmt: skip
def alter_sets(lab: Lab) -> None:
    identifier = declared_with_properties(lab)
    lab.maybe("AlterTable", id=identifier, set_properties={"owner": "bob", "more": "x"})
    found = lab.ok("DescribeTable", id=identifier).get("properties")
    lab.has(found, {"owner": "bob", "more": "x", "note": "two words"}, "the properties")


@check("LN-TABLE-ALTER-002", "AlterTable removes properties and keeps the others.",
       "rest.yaml, AlterTable", "AlterTable", capabilities=["tables"])  # fmt: skip
def alter_unsets(lab: Lab) -> None:
    identifier = declared_with_properties(lab)
    lab.maybe("AlterTable", id=identifier, unset_properties=["owner", "never there"])
    found = lab.ok("DescribeTable", id=identifier).get("properties") or {}
    lab.has(found, {"note": "two words"}, "the properties")
    lab.that("owner" not in found, "no property that was removed", found)


@check("LN-TABLE-ALTER-003", "AlterTable returns the properties after the change.",
       "rest.yaml, AlterTableResponse", "AlterTable", capabilities=["tables"])  # fmt: skip
def alter_answers(lab: Lab) -> None:
    identifier = declared_with_properties(lab)
    answer = lab.maybe("AlterTable", id=identifier, set_properties={"owner": "bob"},
                       unset_properties=["note"])  # fmt: skip
    found = answer.get("properties") or {}
    lab.has(found, {"owner": "bob"}, "the answer's properties")
    lab.that("note" not in found, "no property that was removed", found)


@check("LN-TABLE-ALTER-004", "AlterTable of a missing table fails with code 4.",
       _CODES, "AlterTable",
       capabilities=["tables"])  # fmt: skip
def alter_missing(lab: Lab) -> None:
    lab.refused("AlterTable", [4], id=lab.table_id(), set_properties={"a": "b"})


@check("LN-TABLE-ALTER-005",
       "AlterTable that both sets and unsets a key fails with code 13 and changes nothing.",
       "rest.yaml, AlterTable", "AlterTable", capabilities=["tables"])  # fmt: skip
def alter_both(lab: Lab) -> None:
    identifier = declared_with_properties(lab)
    lab.refused("AlterTable", [13], id=identifier, set_properties={"owner": "x"},
                unset_properties=["owner"])  # fmt: skip
    lab.has(lab.ok("DescribeTable", id=identifier).get("properties"), PROPERTIES, "the properties")


@check("LN-TABLE-ALTER-006", "AlterTable does not change the rows.", "rest.yaml, AlterTable",
       "AlterTable", "CountTableRows", "CreateTable", capabilities=["tables"])  # fmt: skip
def alter_rows(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("AlterTable", id=table, set_properties={"a": "b"})
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")


def place_of(text: object) -> str:
    """Return a location or URI as a path, so that both forms can be compared."""
    path = unquote(str(text)).partition("://")[2] or local_path(text)
    return path.rstrip("/")


@check("LN-TABLE-DESCRIBE-017",
       "DescribeTable returns the table's own details, whatever was requested before.",
       _DESCRIBE, "DescribeTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def each_its_own(lab: Lab) -> None:
    parents = [list(lab.shape.table_parent or ())]
    if lab.shape.tables_in_new:
        parents.append(place_for_tables(lab))
    tables = [[*parent, lab.ledger.fresh()] for parent in parents for _ in range(2)]
    for number, table in enumerate(tables, start=1):
        properties = {"owner": f"p{number}"}
        reply = lab.call("CreateTable", stream(people(1)), id=table, properties=properties)
        if reply.code in (0, 13):
            lab.given("CreateTable", stream(people(1)), id=table)
        for _ in range(number):
            lab.given("InsertIntoTable", stream(people(2)), id=table)
        lab.call("UpdateTableSchemaMetadata", id=table, metadata={"number": str(number)})
    asked = {"load_detailed_metadata": True, "with_table_uri": True, "check_declared": True}
    for number, table in [*enumerate(tables, start=1)] * 2:
        found = lab.maybe("DescribeTable", id=table, **asked)
        own = {"table": table[-1], "namespace": table[:-1], "is_only_declared": False}
        for key, value in own.items():
            if found.get(key) is not None:
                lab.same(found[key], value, key)
        if found.get("table_uri"):
            lab.same(
                place_of(found["table_uri"]), place_of(found.get("location")), "the table's URI"
            )
        if (found.get("stats") or {}).get("num_fragments") is not None:
            lab.same(found["stats"]["num_fragments"], number + 1, "num_fragments")
        for kind, told, key, value in (
            ("properties", found.get("properties"), "owner", f"p{number}"),
            ("metadata", _told_metadata(found), "number", str(number)),
        ):
            if told and key in told:
                lab.same(told[key], value, f"{key} of the {kind}")


def _told_metadata(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the dataset metadata of an answer of DescribeTable, from either of its two fields."""
    return {
        **(found.get("metadata") or {}),
        **((found.get("schema") or {}).get("metadata") or {}),
    }


@check("LN-TABLE-DESCRIBE-018", "DescribeTable reflects each change to the table.",
       _DESCRIBE, "DescribeTable", "DeclareTable", "CreateTable", "InsertIntoTable",
       capabilities=["tables"])  # fmt: skip
def follows(lab: Lab) -> None:
    table = lab.new_declared()
    asked = {"load_detailed_metadata": True, "with_table_uri": True, "check_declared": True}
    lab.maybe("DescribeTable", id=table, check_declared=True)
    lab.call("DescribeTable", id=table, **asked)
    lab.given("CreateTable", stream(people(1)), id=table)
    first = lab.maybe("DescribeTable", id=table, **asked)
    for found in (first, lab.maybe("DescribeTable", id=table, check_declared=True)):
        lab.that(found.get("is_only_declared") in (None, False), "rows, not declared only", found)
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    changed = lab.call("UpdateTableSchemaMetadata", id=table, metadata={"a": "b"}).succeeded
    found = lab.maybe("DescribeTable", id=table, **asked)
    if (found.get("stats") or {}).get("num_fragments") is not None:
        lab.same(found["stats"]["num_fragments"], 2, "num_fragments")
    if changed and first.get("schema") is not None:
        lab.has(_told_metadata(found), {"a": "b"}, "the metadata of the table and its schema")
    lab.given("DropTable", id=table)
    lab.given("DeclareTable", id=table)
    found = lab.maybe("DescribeTable", id=table, check_declared=True, with_table_uri=True)
    lab.that(found.get("is_only_declared") in (None, True), "a table declared only", found)
    if found.get("table_uri"):
        lab.same(place_of(found["table_uri"]), place_of(found.get("location")), "the table's URI")


@check("LN-TABLE-DESCRIBE-019",
       "Responses to operations that remove an object describe that object.",
       "rest.yaml, the responses of the operations", "DeclareTable", "DeregisterTable",
       capabilities=["tables"])  # fmt: skip
def answers_of_two(lab: Lab) -> None:
    tables = [lab.table_id(), lab.table_id()]
    for number, table in enumerate(tables):
        lab.maybe("DeclareTable", id=table, properties={"owner": f"p{number}"})
    places = [lab.ok("DescribeTable", id=table).get("location") for table in tables]
    for operation in ("DeregisterTable", "DropTable"):
        for number, (table, place) in enumerate(zip(tables, places, strict=True)):
            if operation == "DropTable" and not lab.call("DeclareTable", id=table).succeeded:
                continue
            answer = lab.ok(operation, id=table)
            own = {"id": table, "location": place}
            for key in ("id", "location") if operation == "DeregisterTable" else ("id",):
                if answer.get(key) is not None:
                    lab.same(answer[key], own[key], key)
            owner = (answer.get("properties") or {}).get("owner", f"p{number}")
            lab.same(owner, f"p{number}", "owner of the properties")
    if lab.shape.namespace_parent is None:
        return
    namespaces = [lab.namespace_id(), lab.namespace_id()]
    for number, namespace in enumerate(namespaces):
        lab.maybe("CreateNamespace", id=namespace, properties={"owner": f"p{number}"})
    for number, namespace in enumerate(namespaces):
        found = lab.ok("DropNamespace", id=namespace).get("properties") or {}
        lab.same(found.get("owner", f"p{number}"), f"p{number}", "owner of the properties")


@check("LN-TABLE-DESCRIBE-020", "RegisterTable returns the location and properties of the request.",
       "rest.yaml, RegisterTableResponse", "RegisterTable", "DeregisterTable", "CreateTable",
       capabilities=["tables"])  # fmt: skip
def registered_two(lab: Lab) -> None:
    tables = [lab.new_table(1), lab.new_table(2)]
    places = [str(lab.given("DescribeTable", id=table).get("location")) for table in tables]
    for number, (table, place) in enumerate(zip(tables, places, strict=True)):
        lab.given("DeregisterTable", id=table)
        owner = {"owner": f"p{number}"}
        answer = lab.maybe("RegisterTable", id=table, location=place, properties=owner)
        if answer.get("location") is not None:
            lab.same(place_of(answer["location"]), place_of(place), "the location")
        if answer.get("properties"):
            lab.has(answer["properties"], owner, "the properties")
