"""Names of namespaces and tables, and identifiers of several levels."""

from __future__ import annotations

from lance_namespace_client.operations import OPERATIONS

from ...catalog_objects import namespace_for_tables
from ...comparison import (
    facts,
    facts_of_new,
    first_table,
    require_own_rows,
    same_facts,
    second_table,
)
from ...lab import Failed, Lab, Skipped
from ...requirement import Level, check
from ...rows import plain
from ...sample_calls import missing_object_call
from .fixtures import needs_letters

_NAMES = 'protocol semantics, "Identifiers"; general specification, Object Name'
TAILS = (
    " b", ".b", "%20b", "50%", "+b", "#b", "?b", "&b=c", "ünï", "日本語", "'b", "-b", "_B", "{id}",
    "%2F", ":b", "~", ",b", ";b", "=b", "@b", "!b", "(b)",
)  # fmt: skip
LOOKS = {"zeros": "007", "truth": "True", "nothing": "null", "whole": "1.0", "small": "1e-3",
         "day": "2024-02-29", "big": "123456789012345678901234567890", "list": "[1]"}  # fmt: skip
_TABLES = ["tables"]
GIVEN = {"camelCase": "x", "spaces": "  a b  ", "long": "x" * 1000, "empty": ""}
_PROPERTIES = "rest.yaml, the properties of the requests"
KEYS = {
    "a=b": "c=d", "with space": "x", "dot.ted": "y", "sl/ash": "z", "-dash": "1", "ünï": "日本",
    "line": "one\ntwo", "quote": "'\"`", "url": "s3://b/k?x=1&y=2#z", "n": "0",
}  # fmt: skip
_SIGNS = "._-% +'\u00fc&?#=:@~,;()[]!^"
"""Characters that separators, encodings or quoting may mishandle."""
_BOTH = ["tables", "namespaces"]
_NAME = "general specification, Object Name and Object Identifier"


def _found_or_refused(lab: Lab, identifier: list[str]) -> None:
    """Raise unless a table is created, found and listed, or its name is rejected with code 13."""
    reply = lab.call("DeclareTable", id=identifier)
    if reply.code == 0:
        reply = lab.call("CreateTable", plain(1), id=identifier)
    if reply.code == 13:
        return
    if not reply.succeeded:
        raise Failed(f"{identifier[-1]!r} to be created, or code 13", reply.outcome(), reply)
    lab.that(
        lab.exists("TableExists", identifier),
        f"{identifier[-1]!r} to be found",
        "it does not exist",
    )
    found = lab.walk("ListTables", "tables", id=identifier[:-1])
    lab.that(identifier[-1] in found, f"{identifier[-1]!r} to be listed", found[-5:])


@check("LN-NAME-001",
       "A table whose name needs encoding is found by that name, or the name is rejected"
       " with code 13.",
       _NAMES, "DescribeTable", capabilities=["tables"])  # fmt: skip
def tables(lab: Lab) -> None:
    for tail in TAILS:
        identifier = lab.table_id()
        identifier[-1] += tail
        _found_or_refused(lab, identifier)


@check("LN-NAME-018",
       "A table whose name does not start with a letter is found and listed, or the name"
       " is rejected with code 13.",
       f"{_NAMES}; rest.yaml, ListTables", "DescribeTable", "ListTables",
       capabilities=["tables"])  # fmt: skip
def beginnings(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("without a separate namespace, names must start with the kit's prefix")
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
            raise Failed(f"{identifier[-1]!r} to be created, or code 13", reply.outcome(), reply)
        there = lab.exists("NamespaceExists", identifier)
        lab.that(there, f"{identifier[-1]!r} to be found", "it does not exist")


@check("LN-NAME-003", "Names that differ only in encoded characters are different names.", _NAMES,
       "DescribeTable", capabilities=["tables"])  # fmt: skip
def different(lab: Lab) -> None:
    base = lab.table_id()
    made = []
    for tail in (" b", "+b", "%20b", "b"):
        identifier = [*base[:-1], base[-1] + tail]
        reply = lab.call("DeclareTable", id=identifier)
        if reply.code == 5:
            raise Failed(f"{identifier[-1]!r} to be a distinct name", reply.outcome(), reply)
        if reply.succeeded:
            made.append(identifier)
    for identifier in made:
        lab.that(
            lab.exists("TableExists", identifier),
            f"{identifier[-1]!r} to be found",
            "it does not exist",
        )


@check("LN-NAME-004", "An empty name in an identifier fails with code 13.",
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
       "An identifier that contains an empty name fails with code 13 and refers to no other object.",
       "general specification, Name and Identifier for Root Namespace; rest.yaml, InvalidInput",
       "DescribeTable", "DeclareTable", capabilities=["tables"])  # fmt: skip
def empty_among(lab: Lab) -> None:
    table = lab.any_table()
    if len(table) > 1:
        lab.refused("DescribeTable", [0, 1, 4, 13], id=[*table[:-1], "", table[-1]])
    lab.refused("DescribeTable", [0, 1, 4, 13], id=[*table, ""])
    reply = lab.call("DeclareTable", id=[*lab.table_id(), "", ""])
    if reply.succeeded:
        raise Failed("an empty name to be rejected", reply.outcome(), reply)


@check("LN-NAME-013",
       "A slash is part of a name or is rejected with code 13; it never selects another route.",
       _NAMES, "DescribeTable", capabilities=["tables"], changes=False)  # fmt: skip
def slash(lab: Lab) -> None:
    for tail in ("/b", "/describe", "\\b"):
        identifier = [*(lab.shape.table_parent or ()), f"{lab.ledger.fresh()}{tail}"]
        lab.refused("DescribeTable", [4, 13], id=identifier)


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


@check("LN-NAME-006",
       "A name that differs from a table's name only in case does not identify that table.",
       "general specification, Object Name", "DeclareTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def case_of_names(lab: Lab) -> None:
    lower = lab.new_declared()
    upper = [*lower[:-1], f"{lower[-1]}_A"]
    small = [*lower[:-1], f"{lower[-1]}_a"]
    lab.given("DeclareTable", id=small)
    lab.not_found("DescribeTable", upper, f"{upper[-1]} to be missing next to {small[-1]}")


@check("LN-NAME-007", "A name with a trailing space does not identify the table without the space.",
       "general specification, Object Name", "DeclareTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def space_in_names(lab: Lab) -> None:
    table = lab.new_declared()
    another = [*table[:-1], f"{table[-1]} "]
    lab.not_found("DescribeTable", another, "the name with a space to be missing")


@check("LN-NAME-008",
       "A table's properties preserve the case of keys and the spaces and length of values.",
       "rest.yaml, AlterTableRequest and DeclareTableRequest", "DeclareTable", "DescribeTable",
       level=Level.SHOULD, capabilities=_TABLES)  # fmt: skip
def properties_as_given(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("DeclareTable", id=table, properties=GIVEN)
    lab.has(lab.ok("DescribeTable", id=table).get("properties"), GIVEN, "the properties")
    changed = {"otherCase": "  y  ", "alsoEmpty": ""}
    reply = lab.call("AlterTable", id=table, set_properties=changed)
    if reply.succeeded:
        lab.has(lab.ok("DescribeTable", id=table).get("properties"), changed, "the properties")


@check("LN-NAME-009",
       "A namespace's properties preserve the case of keys and the spaces and length of values.",
       "rest.yaml, CreateNamespaceRequest and AlterNamespaceRequest", "CreateNamespace",
       "DescribeNamespace", level=Level.SHOULD, capabilities=["namespaces"])  # fmt: skip
def namespace_properties_as_given(lab: Lab) -> None:
    namespace = lab.namespace_id()
    lab.maybe("CreateNamespace", id=namespace, properties=GIVEN)
    lab.has(lab.ok("DescribeNamespace", id=namespace).get("properties"), GIVEN, "the properties")
    changed = {"otherCase": "  y  ", "alsoEmpty": ""}
    reply = lab.call("AlterNamespace", id=namespace, set_properties=changed)
    if reply.succeeded:
        found = lab.ok("DescribeNamespace", id=namespace).get("properties")
        lab.has(found, changed, "the properties")


def _kept(lab: Lab, make: str, read: str, identifier: list[str]) -> None:
    """Check each property separately, so that a rejected one does not hide the others."""
    for key, value in KEYS.items():
        target = [*identifier[:-1], lab.ledger.fresh()]
        reply = lab.call(make, id=target, properties={key: value, "plain": "p"})
        if reply.code in (0, 13):
            continue
        lab.must_succeed(reply)
        found = lab.ok(read, id=target).get("properties")
        lab.has(found, {key: value, "plain": "p"}, "the properties")


@check("LN-NAME-010", "Keys and values of table properties are stored unchanged or rejected.",
       _PROPERTIES, "DeclareTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def table_keys(lab: Lab) -> None:
    _kept(lab, "DeclareTable", "DescribeTable", lab.table_id())


@check("LN-NAME-011", "Keys and values of namespace properties are stored unchanged or rejected.",
       _PROPERTIES, "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def namespace_keys(lab: Lab) -> None:
    _kept(lab, "CreateNamespace", "DescribeNamespace", lab.namespace_id())


@check("LN-NAME-016", "Every table operation rejects an identifier with an empty name.",
       "general specification, Name and Identifier for Root Namespace; rest.yaml, InvalidInput",
       "DescribeTable", capabilities=_TABLES)  # fmt: skip
def empty_names(lab: Lab) -> None:
    for operation in OPERATIONS.values():
        if operation.path.startswith("/v1/table/{id}"):
            reply = missing_object_call(lab, operation.name, "")
            if reply.code != 0 or lab.supports(operation.name):
                lab.must_fail(reply, [1, 4, 13])


@check("LN-NAME-017",
       "An accepted name with any special character is returned unchanged, at every level"
       " of an identifier.",
       "general specification, Object Identifier; rest.yaml, DescribeTableResponse, table and namespace",
       "DescribeTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def signs(lab: Lab) -> None:
    taken = 0
    for sign in _SIGNS:
        parent = (
            lab.namespace_id() if lab.shape.tables_in_new else list(lab.shape.table_parent or ())
        )
        if lab.shape.tables_in_new:
            parent[-1] += f"{sign}x"
            if not lab.call("CreateNamespace", id=parent).succeeded:
                continue
            listed = lab.walk("ListNamespaces", "namespaces", id=parent[:-1])
            lab.that(
                parent[-1] in listed,
                f"{parent[-1]!r} in the listing",
                [n for n in listed if "x" in n][:9],
            )
        for name in (lab.ledger.fresh(), f"{lab.ledger.fresh()}{sign}y"):
            table = [*parent, name]
            if not lab.call("CreateTable", plain(1), id=table).succeeded:
                continue
            taken += 1
            told = lab.ok("DescribeTable", id=table, load_detailed_metadata=True)
            for key, due in (("table", name), ("namespace", parent)):
                lab.that(told.get(key) in (None, due), f"{key} {due!r}", repr(told.get(key)))
            listed = lab.walk("ListTables", "tables", id=parent)
            lab.that(name in listed, f"{name!r} in the listing", listed[:9])
            lab.same(lab.query(table).to_pylist(), [{"x": 1}], f"the rows in {table}")
            lab.ok("DropTable", id=table)
            lab.that(not lab.exists("TableExists", table), "the table to no longer exist", table)
    if not taken:
        raise Skipped("every such name is rejected")


@check("LN-NAME-060", "Identifiers whose levels join to the same text are distinct.",
       "general specification, Object Identifier: a list of names", "CreateTable", "CreateNamespace",
       "QueryTable", capabilities=_BOTH)  # fmt: skip
def joined_texts(lab: Lab) -> None:
    # Over HTTP, the three identifiers would share one route if names contained the delimiter.
    for sign in "_.-/" if lab.target.kind == "http" else "_.-/$":
        one = namespace_for_tables(lab)
        parent, name = one[:-1], one[-1]
        two = [*parent, f"{name}{sign}b"]
        lab.call("CreateNamespace", id=two)
        made: list[list[str]] = []
        for table in ([*one, f"b{sign}c"], [*two, "c"], [*parent, f"{name}{sign}b{sign}c"]):
            reply = lab.call("CreateTable", plain(len(table[-1])), id=table)
            lab.that(reply.code != 5, f"{table} to be a distinct name", reply.outcome())
            made += [table] if reply.succeeded else []
        for count in (3, 1):
            for table in made[:count]:
                lab.same(
                    lab.query(table).to_pylist(), [{"x": len(table[-1])}], f"the rows in {table}"
                )
            if made[1:] and count == 3:
                lab.ok("DropTable", id=made[-1])


@check("LN-NAME-065",
       "Tables with the same name in two namespaces are independent under interleaved calls.",
       _NAME, "CreateTable", "QueryTable", "DropTable", capabilities=_BOTH)  # fmt: skip
def one_name(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be created in a new namespace")
    one = first_table(lab, [*lab.new_namespace(), lab.ledger.fresh()])
    other = second_table(lab, [*lab.new_namespace(), one[-1]])
    same_facts(
        lab,
        facts(lab, one),
        facts_of_new(lab, first_table),
        "of the first of two tables with the same name",
    )
    same_facts(
        lab,
        facts(lab, other),
        facts_of_new(lab, second_table),
        "of the second of two tables with the same name",
    )
    for operation, request in (
        ("DeleteFromTable", {"predicate": "id < 3"}),
        ("DeleteTableTag", {"tag": "t"}),
        ("DropTableIndex", {"index_name": "by"}),
        ("DropTable", {}),
    ):
        lab.call(operation, id=one, **request)
    same_facts(
        lab,
        facts(lab, other),
        facts_of_new(lab, second_table),
        "after writes to the other table with the same name",
    )


@check("LN-NAME-066",
       "Identifiers whose levels read the same when joined identify different tables.",
       _NAME, "CreateTable", "QueryTable", "DropTable", capabilities=_BOTH)  # fmt: skip
def joined(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be created in a new namespace")
    root = lab.new_namespace()
    tables, made = [[*root, "b", "c"]], dict[int, list[str]]()
    for joint in ("", ".", "_", "-", "/", ":", "%2F"):
        tables += [[*root, f"b{joint}c"], [*root[:-1], f"{root[-1]}{joint}b", "c"]]
    for number, table in enumerate(tables):
        if table[:-1] != root and not lab.call("CreateNamespace", id=table[:-1]).succeeded:
            continue
        reply = lab.call("CreateTable", plain(number), id=table)
        lab.that(reply.code not in (2, 5), f"{table} to be a distinct name", reply.outcome())
        if reply.succeeded:
            made[number] = table
    require_own_rows(lab, made)
