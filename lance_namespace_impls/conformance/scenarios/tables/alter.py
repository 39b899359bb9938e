"""AlterTable: the properties of a table."""

from __future__ import annotations

from ...catalog_objects import PROPERTIES, change_properties
from ...lab import Lab
from ...requirement import check
from ...rows import PEOPLE, people, stream
from ...sample_calls import WRITES
from .fixtures import declared_with_properties

_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]


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
    answer = lab.maybe(
        "AlterTable", id=identifier, set_properties={"owner": "bob"}, unset_properties=["note"]
    )
    found = answer.get("properties") or {}
    lab.has(found, {"owner": "bob"}, "the properties in the response")
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
    lab.refused(
        "AlterTable", [13], id=identifier, set_properties={"owner": "x"}, unset_properties=["owner"]
    )
    lab.has(lab.ok("DescribeTable", id=identifier).get("properties"), PROPERTIES, "the properties")


@check("LN-TABLE-ALTER-006", "AlterTable does not change the rows.", "rest.yaml, AlterTable",
       "AlterTable", "CountTableRows", "CreateTable", capabilities=["tables"])  # fmt: skip
def alter_rows(lab: Lab) -> None:
    table = lab.new_table()
    lab.maybe("AlterTable", id=table, set_properties={"a": "b"})
    lab.same(lab.count(table), len(PEOPLE), "the number of rows")


@check("LN-TABLE-ALTER-007",
       "AlterTable sets and removes individual properties and ignores missing keys.",
       "rest.yaml, AlterTableRequest", "AlterTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def table_changes(lab: Lab) -> None:
    change_properties(lab, "AlterTable", "DescribeTable", lab.any_table())


@check("LN-TABLE-ALTER-008", "Writes to a table do not change its properties.",
       "rest.yaml, AlterTable and the operations that write", "CreateTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def properties_stay(lab: Lab) -> None:
    table, properties = lab.table_id(), {"owner": "ana", "note": "kept"}
    lab.maybe("DeclareTable", id=table, properties=properties)
    lab.given("CreateTable", stream(people(*PEOPLE)), id=table)
    for operation, data, request in (("CreateTable", None, {}), *WRITES):
        if (
            operation != "CreateTable"
            and not lab.call(operation, data, id=table, **request).succeeded
        ):
            continue
        found = lab.ok("DescribeTable", id=table).get("properties")
        lab.has(found, properties, f"the properties after {operation}")
