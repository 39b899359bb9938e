"""Names that need encoding: a target accepts them unchanged, or rejects them with code 13."""

from __future__ import annotations

from ..lab import Failed, Lab, NotReached, Skipped
from ..requirement import check
from ..rows import plain

_NAMES = 'protocol semantics, "Identifiers"; general specification, Object Name'
TAILS = (
    " b", ".b", "%20b", "50%", "+b", "#b", "?b", "&b=c", "ünï", "日本語", "'b", "-b", "_B", "{id}",
    "%2F", ":b", "~", ",b", ";b", "=b", "@b", "!b", "(b)",
)  # fmt: skip


@check("LN-NAME-001",
       "A table whose name needs encoding is found by that name, or the name is rejected"
       " with code 13.",
       _NAMES, "DescribeTable", capabilities=["tables"])  # fmt: skip
def tables(lab: Lab) -> None:
    for tail in TAILS:
        identifier = lab.table_id()
        identifier[-1] += tail
        _found_or_refused(lab, identifier)


def _found_or_refused(lab: Lab, identifier: list[str]) -> None:
    """Raise unless a table is created, found and listed, or its name is rejected with code 13."""
    reply = lab.call("DeclareTable", id=identifier)
    if reply.code == 0:
        reply = lab.call("CreateTable", plain(1), id=identifier)
    if reply.code == 13:
        return
    if not reply.succeeded:
        raise Failed(f"{identifier[-1]!r} to be made, or code 13", reply.outcome(), reply)
    lab.that(lab.exists("TableExists", identifier), f"{identifier[-1]!r} to be found", "it is not")
    found = lab.walk("ListTables", "tables", id=identifier[:-1])
    lab.that(identifier[-1] in found, f"{identifier[-1]!r} to be listed", found[-5:])


def needs_letters(lab: Lab) -> None:
    """Raise NotReached if a table with a non-ASCII name can be declared but is not listed."""
    table = lab.table_id()
    table[-1] += "\u00e4"
    made = lab.call("DeclareTable", id=table).succeeded
    if made and table[-1] not in lab.walk("ListTables", "tables", id=table[:-1]):
        raise NotReached(f"{table[-1]!r} is declared and not listed: LN-NAME-001")


@check("LN-NAME-018",
       "A table whose name does not start with a letter is found and listed, or the name"
       " is rejected with code 13.",
       f"{_NAMES}; rest.yaml, ListTables", "DescribeTable", "ListTables",
       capabilities=["tables"])  # fmt: skip
def beginnings(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("names begin as the kit's own do where no namespace is its own")
    parent = lab.new_namespace()
    heads = ["_", "__", ".", "-", "0", "~"]
    if lab.target.kind != "http":  # names joined with "$" in a route cannot contain it
        heads.append("$")
    for head in heads:
        _found_or_refused(lab, [*parent, head + lab.ledger.fresh()])


@check("LN-NAME-002",
       "A namespace whose name needs encoding is found by that name, or the name is"
       " rejected with code 13.", _NAMES,
       "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def namespaces(lab: Lab) -> None:
    for tail in TAILS:
        identifier = lab.namespace_id()
        identifier[-1] += tail
        reply = lab.call("CreateNamespace", id=identifier)
        if reply.code == 13:
            continue
        if not reply.succeeded:
            raise Failed(f"{identifier[-1]!r} to be made, or code 13", reply.outcome(), reply)
        there = lab.exists("NamespaceExists", identifier)
        lab.that(there, f"{identifier[-1]!r} to be found", "it is not")


@check("LN-NAME-003", "Names that differ only in encoded characters are different names.", _NAMES,
       "DescribeTable", capabilities=["tables"])  # fmt: skip
def different(lab: Lab) -> None:
    base = lab.table_id()
    made = []
    for tail in (" b", "+b", "%20b", "b"):
        identifier = [*base[:-1], base[-1] + tail]
        reply = lab.call("DeclareTable", id=identifier)
        if reply.code == 5:
            raise Failed(f"{identifier[-1]!r} to be a name of its own", reply.outcome(), reply)
        if reply.succeeded:
            made.append(identifier)
    for identifier in made:
        lab.that(
            lab.exists("TableExists", identifier), f"{identifier[-1]!r} to be found", "it is not"
        )


@check("LN-NAME-004", "An empty name in an identifier is code 13.",
       "general specification, Name and Identifier for Root Namespace; rest.yaml, InvalidInput",
       "DescribeTable", capabilities=["tables"], changes=False)  # fmt: skip
def empty(lab: Lab) -> None:
    parent = list(lab.shape.table_parent or ())
    if parent:
        lab.refused("DescribeTable", [13, 4, 1], id=[*parent, ""])


@check("LN-NAME-005", "Property values are returned unchanged.",
       "rest.yaml, DeclareTableRequest: properties to store with the table in the catalog",
       "DeclareTable", "DescribeTable", capabilities=["tables"])  # fmt: skip
def values(lab: Lab) -> None:
    given = {"a.b": "", "k": 'quote " and \\', "note": "日本 ünï", "json": '{"a": [1, null]}'}
    table = lab.table_id()
    lab.maybe("DeclareTable", id=table, properties=given)
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), given, "the properties")


@check("LN-NAME-012",
       "An identifier that contains an empty name is code 13 and refers to no other object.",
       "general specification, Name and Identifier for Root Namespace; rest.yaml, InvalidInput",
       "DescribeTable", "DeclareTable", capabilities=["tables"])  # fmt: skip
def empty_among(lab: Lab) -> None:
    table = lab.any_table()
    if len(table) > 1:
        lab.refused("DescribeTable", [0, 1, 4, 13], id=[*table[:-1], "", table[-1]])
    lab.refused("DescribeTable", [0, 1, 4, 13], id=[*table, ""])
    reply = lab.call("DeclareTable", id=[*lab.table_id(), "", ""])
    if reply.succeeded:
        raise Failed("a name that is empty to be refused", reply.outcome(), reply)


@check("LN-NAME-013",
       "A slash is part of a name or is rejected with code 13; it never selects another route.",
       _NAMES, "DescribeTable", capabilities=["tables"], changes=False)  # fmt: skip
def slash(lab: Lab) -> None:
    for tail in ("/b", "/describe", "\\b"):
        identifier = [*(lab.shape.table_parent or ()), f"{lab.ledger.fresh()}{tail}"]
        lab.refused("DescribeTable", [4, 13], id=identifier)


LOOKS = {"zeros": "007", "truth": "True", "nothing": "null", "whole": "1.0", "small": "1e-3",
         "day": "2024-02-29", "big": "123456789012345678901234567890", "list": "[1]"}  # fmt: skip


@check("LN-NAME-014", "Property values stay strings, even if they look like other types.",
       "rest.yaml, CreateNamespaceRequest and DeclareTableRequest, properties: values of type string",
       "DescribeTable", capabilities=["tables"])  # fmt: skip
def looks(lab: Lab) -> None:
    for make, change, read, identifier in (
        ("CreateNamespace", "AlterNamespace", "DescribeNamespace", lab.namespace_id),
        ("DeclareTable", "AlterTable", "DescribeTable", lab.table_id),
    ):
        if make == "CreateNamespace" and lab.shape.namespace_parent is None:
            continue
        made = identifier()
        reply = lab.call(make, id=made, properties=LOOKS)
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        lab.has(lab.ok(read, id=made).get("properties"), LOOKS, "the properties")
        others = {f"{key}2": value for key, value in LOOKS.items()}
        reply = lab.call(change, id=made, set_properties=others)
        if reply.succeeded:
            lab.has(lab.ok(read, id=made).get("properties"), LOOKS | others, "the properties")


@check("LN-NAME-015",
       "Long names that differ only at the end are distinct, or are rejected with code 13.",
       _NAMES, "DeclareTable", "DescribeTable", capabilities=["tables"])  # fmt: skip
def long_names(lab: Lab) -> None:
    for length in (70, 130, 200):
        first = lab.table_id()
        first[-1] += "x" * length
        second = [*first[:-1], f"{first[-1]}y"]
        reply = lab.call("DeclareTable", id=first)
        if reply.code in (0, 13):
            return
        lab.must_succeed(reply)
        lab.refused("DescribeTable", [4, 13], id=second)
        found = lab.ok("DescribeTable", id=first).get("table")
        lab.that(found in (None, first[-1]), "the whole name", found)


@check("LN-NAME-019",
       "A name with decomposed letters is listed unchanged, or is rejected with code 13.",
       _NAMES, "DeclareTable", "ListTables", capabilities=["tables"])  # fmt: skip
def decomposed(lab: Lab) -> None:
    table = lab.table_id()
    table[-1] += "e\u0301"
    lab.maybe("DeclareTable", id=table)
    listed = [
        name for name in lab.walk("ListTables", "tables", id=table[:-1]) if name[:-2] in table[-1]
    ]
    if table[-1] not in listed:
        needs_letters(lab)
    lab.that(table[-1] in listed, f"{table[-1]!a} in the listing", ascii(listed))
