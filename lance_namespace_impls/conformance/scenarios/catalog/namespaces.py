"""CreateNamespace, DescribeNamespace, NamespaceExists and AlterNamespace."""

from __future__ import annotations

from typing import Any

from ...catalog_objects import (
    PROPERTIES,
    change_properties,
    deep,
    namespace_for_tables,
    with_properties,
)
from ...lab import Failed, Lab, Skipped
from ...requirement import check
from ...rows import people, plain, stream
from ...table_state import table_entry, unchanged
from .fixtures import filled_namespace

_CREATE = 'protocol semantics, "Modes"; rest.yaml, CreateNamespace'
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_ALTER = "rest.yaml, AlterNamespace"
_DESCRIBE = "rest.yaml, DescribeNamespace"
_MODES = 'protocol semantics, "Modes"'
_BOTH = ["tables", "namespaces"]
_EVERY_MODE = ("Create", "ExistOk", "Overwrite")
_TAKEN = [0, 2, 5, 13, 19]  # if an object of another kind has the name


@check("LN-NAMESPACE-CREATE-001", "A namespace exists after it was created.", _CREATE,
       "CreateNamespace")  # fmt: skip
def create(lab: Lab) -> None:
    first = lab.shape.no_namespace
    if first is not None and first.code not in (0, 13):
        raise Failed("CreateNamespace to succeed or fail with code 0 or 13", first.outcome(), first)
    identifier = lab.namespace_id()
    lab.ok("CreateNamespace", id=identifier)
    lab.that(
        lab.exists("NamespaceExists", identifier), "the namespace to exist", "it does not exist"
    )


@check("LN-NAMESPACE-CREATE-002",
       "CreateNamespace with mode Create fails with code 2 if the namespace exists.",
       _CREATE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def create_twice(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("CreateNamespace", [2], id=identifier, mode="Create")


@check("LN-NAMESPACE-CREATE-003", "The default mode of CreateNamespace is Create.",
       _CREATE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def create_default_mode(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("CreateNamespace", [2], id=identifier)


@check("LN-NAMESPACE-CREATE-004",
       "CreateNamespace returns the properties of the new namespace.",
       "rest.yaml, CreateNamespaceResponse", "CreateNamespace",
       capabilities=["namespaces"])  # fmt: skip
def create_answers_properties(lab: Lab) -> None:
    identifier = lab.namespace_id()
    answer = lab.maybe("CreateNamespace", id=identifier, properties=PROPERTIES)
    lab.has(answer.get("properties"), PROPERTIES, "the properties in the response")


@check("LN-NAMESPACE-CREATE-005", "CreateNamespace stores the properties of the request.",
       "rest.yaml, CreateNamespaceRequest", "CreateNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def create_keeps_properties(lab: Lab) -> None:
    identifier = with_properties(lab)
    answer = lab.ok("DescribeNamespace", id=identifier)
    lab.has(answer.get("properties"), PROPERTIES, "the properties")


@check("LN-NAMESPACE-CREATE-006",
       "Mode ExistOk keeps an existing namespace and its properties.",
       _CREATE, "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def exist_ok_keeps(lab: Lab) -> None:
    identifier = with_properties(lab)
    other = {"owner": "bob", "more": "x"}
    lab.maybe("CreateNamespace", id=identifier, mode="ExistOk", properties=other)
    found = lab.ok("DescribeNamespace", id=identifier).get("properties") or {}
    lab.has(found, PROPERTIES, "the properties")
    lab.that("more" not in found, "no property of the second call", found)


@check("LN-NAMESPACE-CREATE-007",
       "Mode ExistOk returns the properties of the existing namespace.",
       _CREATE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def exist_ok_answers(lab: Lab) -> None:
    identifier = with_properties(lab)
    answer = lab.maybe(
        "CreateNamespace", id=identifier, mode="ExistOk", properties={"owner": "bob"}
    )
    lab.has(answer.get("properties"), PROPERTIES, "the properties in the response")


@check("LN-NAMESPACE-CREATE-008", "Mode ExistOk creates a missing namespace.",
       _CREATE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def exist_ok_makes(lab: Lab) -> None:
    identifier = lab.namespace_id()
    lab.ok("CreateNamespace", id=identifier, mode="ExistOk")
    lab.that(
        lab.exists("NamespaceExists", identifier), "the namespace to exist", "it does not exist"
    )


@check("LN-NAMESPACE-CREATE-009",
       "Mode Overwrite replaces an empty namespace and discards its old properties.",
       _CREATE, "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def overwrite(lab: Lab) -> None:
    identifier = with_properties(lab)
    lab.maybe("CreateNamespace", id=identifier, mode="Overwrite", properties={"note": "new"})
    found = lab.ok("DescribeNamespace", id=identifier).get("properties") or {}
    lab.has(found, {"note": "new"}, "the properties")
    lab.that("owner" not in found, "no property of the previous object", found)


@check("LN-NAMESPACE-CREATE-010", "Mode Overwrite creates a missing namespace.",
       _CREATE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def overwrite_makes(lab: Lab) -> None:
    identifier = lab.namespace_id()
    lab.maybe("CreateNamespace", id=identifier, mode="Overwrite")
    lab.that(
        lab.exists("NamespaceExists", identifier), "the namespace to exist", "it does not exist"
    )


@check("LN-NAMESPACE-CREATE-011",
       "Mode Overwrite of a namespace with children changes nothing: code 3, or 0 or 13 if "
       "unsupported.",
       f'{_CREATE}; protocol semantics, "Errors"', "CreateNamespace", capabilities=["nested"])  # fmt: skip
def overwrite_with_contents(lab: Lab) -> None:
    identifier = lab.new_namespace()
    child = [*identifier, lab.ledger.fresh()]
    reply = lab.call("CreateNamespace", id=child)
    kind = "NamespaceExists"
    if not reply.succeeded:
        reply = lab.call("DeclareTable", id=child)
        kind = "TableExists"
    lab.must_succeed(reply)
    lab.refused("CreateNamespace", [0, 3, 13], id=identifier, mode="Overwrite")
    lab.that(
        lab.exists(kind, child), "the contents of the namespace to remain", "it no longer exists"
    )


@check("LN-NAMESPACE-CREATE-012",
       "CreateNamespace accepts its modes in any letter case and with underscores, like EXIST_OK.",
       _CREATE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def mode_spellings(lab: Lab) -> None:
    identifier = lab.new_namespace()
    for spelling in ("ExistOk", "exist_ok", "EXIST_OK", "existok"):
        lab.ok("CreateNamespace", id=identifier, mode=spelling)
    for spelling in ("create", "CREATE"):
        lab.refused("CreateNamespace", [2], id=identifier, mode=spelling)


@check("LN-NAMESPACE-CREATE-013",
       "CreateNamespace with an unknown mode fails with code 13 and creates nothing.",
       _CREATE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def unknown_mode(lab: Lab) -> None:
    identifier = lab.namespace_id()
    lab.refused("CreateNamespace", [13], id=identifier, mode="sometimes")
    there = lab.exists("NamespaceExists", identifier)
    lab.that(not there, "no namespace after code 13", "it exists")


@check("LN-NAMESPACE-CREATE-014",
       "CreateNamespace below a missing namespace fails with code 1 or 13.",
       _CODES, "CreateNamespace", capabilities=["nested"])  # fmt: skip
def missing_parent(lab: Lab) -> None:
    parent = lab.namespace_id()
    # Code 13 if the level cannot contain namespaces at all.
    lab.refused("CreateNamespace", [1, 13], id=[*parent, lab.ledger.fresh()])
    lab.that(
        not lab.exists("NamespaceExists", parent), "no parent created as a side effect", "it exists"
    )


@check("LN-NAMESPACE-CREATE-015",
       "CreateNamespace with the identifier of a table fails with code 2, 5 or 13 and keeps the "
       "table.",
       "general specification, Object Name", "CreateNamespace",
       capabilities=["nested", "tables"])  # fmt: skip
def name_of_a_table(lab: Lab) -> None:
    table = lab.any_table()
    lab.refused("CreateNamespace", [2, 5, 13], id=table)
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-NAMESPACE-CREATE-016",
       "Namespaces with the same name in different parents are independent.",
       "general specification, Object Identifier", "CreateNamespace", "DescribeNamespace",
       capabilities=["nested"])  # fmt: skip
def same_name_elsewhere(lab: Lab) -> None:
    parent, name = lab.new_namespace(), lab.ledger.fresh()
    upper = [*parent[:-1], name]
    lab.maybe("CreateNamespace", id=upper, properties={"owner": "upper"})
    lab.maybe("CreateNamespace", id=[*parent, name], properties={"owner": "lower"})
    for identifier, owner in ((upper, "upper"), ([*parent, name], "lower")):
        answer = lab.ok("DescribeNamespace", id=identifier)
        lab.has(answer.get("properties"), {"owner": owner}, f"properties of {identifier}")


@check("LN-NAMESPACE-CREATE-018",
       "Mode Overwrite of a namespace with a table changes nothing: code 3, or 0 or 13 if "
       "unsupported.",
       'protocol semantics, "Errors"; rest.yaml, CreateNamespace', "CreateNamespace",
       capabilities=["namespaces", "tables"])  # fmt: skip
def overwrite_held(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("new namespaces cannot contain tables")
    namespace = lab.new_namespace()
    table = [*namespace, lab.ledger.fresh()]
    lab.given("DeclareTable", id=table)
    lab.refused("CreateNamespace", [0, 3, 13], id=namespace, mode="Overwrite")
    lab.that(lab.exists("TableExists", table), "the table to remain", "it no longer exists")


@check("LN-NAMESPACE-CREATE-019",
       "CreateNamespace rejects the root namespace, which exists and is not listed in itself.",
       "general specification, Root Namespace", "CreateNamespace", "NamespaceExists")  # fmt: skip
def root(lab: Lab) -> None:
    lab.refused("CreateNamespace", [0, 2, 13], id=[])
    lab.that(lab.exists("NamespaceExists", []), "the root to exist", "it does not exist")
    found = lab.walk("ListNamespaces", "namespaces", id=[], limit=1000)
    lab.that("" not in found, "the root not to be listed in itself", found)


@check("LN-NAMESPACE-CREATE-017",
       "CreateNamespace in mode Overwrite stores the properties of the request.", _MODES,
       "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def overwrite_namespace(lab: Lab) -> None:
    namespace = lab.new_namespace()
    lab.maybe("CreateNamespace", id=namespace, mode="Overwrite", properties={"new": "2"})
    found = lab.ok("DescribeNamespace", id=namespace).get("properties")
    lab.has(found, {"new": "2"}, "the properties")


@check("LN-NAMESPACE-CREATE-020",
       "CreateNamespace with mode Overwrite replaces a namespace at every level.",
       "rest.yaml, CreateNamespace: replaces it with a new empty one", "CreateNamespace",
       "DescribeNamespace", capabilities=["nested"])  # fmt: skip
def overwrite_deep(lab: Lab) -> None:
    for namespace in reversed(deep(lab)[1:]):
        lab.maybe("CreateNamespace", id=namespace, mode="Overwrite", properties={"new": "2"})
        found = lab.ok("DescribeNamespace", id=namespace).get("properties") or {}
        lab.that("old" not in found, f"no old property at level {len(namespace)}", found)
        lab.ok("DropNamespace", id=namespace)


def _held(lab: Lab, namespace: list[str]) -> dict[str, Any]:
    """Return the reported properties and contents of a namespace."""
    return {
        "the properties": lab.ok("DescribeNamespace", id=namespace),
        "the tables": lab.walk("ListTables", "tables", id=namespace),
        "the rows": lab.ids([*namespace, "t"]),
        "the namespaces": (lab.call("ListNamespaces", id=namespace).answer or {}).get("namespaces"),
    }


@check("LN-NAMESPACE-CREATE-060",
       "Mode ExistOk keeps the properties and contents of an existing namespace.",
       "rest.yaml, CreateNamespace: ExistOk keeps it", "CreateNamespace", capabilities=_BOTH)  # fmt: skip
def exist_ok(lab: Lab) -> None:
    namespace = filled_namespace(lab)
    before = _held(lab, namespace)
    lab.maybe("CreateNamespace", id=namespace, mode="ExistOk", properties={"new": "1"})
    unchanged(lab, before, _held(lab, namespace), "mode ExistOk")


@check("LN-NAMESPACE-CREATE-061",
       "Creating an object in a missing namespace fails with code 1 in every mode.",
       "rest.yaml, CreateNamespace, CreateTable and RegisterTable: NamespaceNotFound",
       "CreateNamespace", "CreateTable", capabilities=_BOTH)  # fmt: skip
def missing_parent_in_every_mode(lab: Lab) -> None:
    inside, table = namespace_for_tables(lab), lab.new_table(1, 2)
    where = lab.ok("DescribeTable", id=table).get("location")
    lab.given("DeregisterTable", id=table)
    for operation, data, more in (
        ("CreateNamespace", None, {}),
        ("CreateTable", plain(1), {}),
        ("RegisterTable", None, {"location": where}),
    ):
        for mode in _EVERY_MODE:
            missing, request = lab.namespace_id(), {**more, "mode": mode}
            lab.ledger.made("namespace", tuple(missing))  # a target may create it implicitly
            reply = lab.call(operation, data, id=[*missing, "a"], **request)
            listed = lab.walk("ListNamespaces", "namespaces", id=missing[:-1])
            lab.that(
                missing[-1] not in listed,
                f"no namespace created by {operation} in mode {mode}",
                missing,
            )
            fine = lab.call(operation, data, id=[*inside, operation + mode], **request)
            if fine.succeeded:  # the request is valid, so only the namespace is wrong
                lab.must_fail(reply, [1])
            if fine.succeeded and operation == "RegisterTable":
                lab.same(lab.ids([*inside, operation + mode]), [1, 2], "the ids at the location")
                lab.given("DeregisterTable", id=[*inside, operation + mode])


@check("LN-NAMESPACE-CREATE-062", "Mode Overwrite fails with code 3 until the namespace is empty.",
       "rest.yaml, CreateNamespace: Overwrite of a namespace that is not empty", "CreateNamespace",
       "CreateTable", capabilities=_BOTH)  # fmt: skip
def overwrite_until_empty(lab: Lab) -> None:
    over = {"mode": "Overwrite", "properties": {"new": "1"}}
    lab.maybe("CreateNamespace", id=lab.new_namespace(), **over)
    for make in ("CreateTable", "DeclareTable", "CreateNamespace"):
        namespace, kind = (
            namespace_for_tables(lab),
            make.removeprefix("Create").removeprefix("Declare"),
        )
        lab.call("AlterNamespace", id=namespace, set_properties=PROPERTIES)
        data = plain(1) if make == "CreateTable" else None
        if not lab.call(make, data, id=[*namespace, "a"]).succeeded:
            continue
        before = lab.ok("DescribeNamespace", id=namespace)
        lab.refused("CreateNamespace", [3], id=namespace, **over)
        lab.same(lab.ok("DescribeNamespace", id=namespace), before, "the namespace")
        lab.that(lab.exists(f"{kind}Exists", [*namespace, "a"]), "its contents to remain", "none")
        lab.given(f"Drop{kind}", id=[*namespace, "a"])
        lab.ok("CreateNamespace", id=namespace, **over)


@check("LN-NAMESPACE-CREATE-063",
       "A table and a namespace cannot have the same name, whatever the mode.",
       "general specification, Object Name: unique among all objects of a parent", "CreateNamespace",
       "CreateTable", capabilities=["tables", "nested"])  # fmt: skip
def one_name(lab: Lab) -> None:
    namespace, table = filled_namespace(lab), lab.new_table(1, 2)
    if table[:-1] != namespace[:-1]:
        raise Skipped("tables and namespaces have no common parent")
    before, where = (_held(lab, namespace), table_entry(lab, table)), lab.free_location()
    for mode in _EVERY_MODE:
        lab.refused("CreateNamespace", _TAKEN, id=table, mode=mode, properties=PROPERTIES)
        lab.refused("CreateTable", _TAKEN, stream(people(9)), id=namespace, mode=mode)
        if mode != "ExistOk":
            lab.refused("RegisterTable", _TAKEN, id=namespace, mode=mode, location=where)
        unchanged(
            lab, before[0], _held(lab, namespace), f"creating a table with its name in mode {mode}"
        )
        unchanged(
            lab,
            before[1],
            table_entry(lab, table),
            f"creating a namespace with its name in mode {mode}",
        )


@check("LN-NAMESPACE-DESCRIBE-001", "DescribeNamespace of a missing namespace fails with code 1.",
       _CODES, "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def describe_missing(lab: Lab) -> None:
    lab.refused("DescribeNamespace", [1], id=lab.namespace_id())


@check("LN-NAMESPACE-DESCRIBE-002", "DescribeNamespace of a dropped namespace fails with code 1.",
       _CODES, "DescribeNamespace", "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def describe_dropped(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.given("DropNamespace", id=identifier)
    lab.refused("DescribeNamespace", [1], id=identifier)


@check("LN-NAMESPACE-DESCRIBE-003", "The root namespace always exists.",
       "general specification, Root Namespace", "DescribeNamespace", changes=False)  # fmt: skip
def describe_root(lab: Lab) -> None:
    lab.ok("DescribeNamespace", id=[])


@check("LN-NAMESPACE-DESCRIBE-004", "Reading a namespace does not change it.",
       _DESCRIBE, "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def describe_twice(lab: Lab) -> None:
    identifier = with_properties(lab)
    first = lab.ok("DescribeNamespace", id=identifier)
    second = lab.ok("DescribeNamespace", id=identifier)
    lab.same(second.get("properties"), first.get("properties"), "the properties in the second read")


@check("LN-NAMESPACE-DESCRIBE-005",
       "A namespace has only its own properties, not those of its parent or child.",
       _DESCRIBE, "DescribeNamespace", "CreateNamespace", capabilities=["nested"])  # fmt: skip
def own_properties(lab: Lab) -> None:
    parent = with_properties(lab, {"outer": "1", "both": "outer"})
    child = [*parent, lab.ledger.fresh()]
    reply = lab.call("CreateNamespace", id=child, properties={"inner": "2", "both": "inner"})
    if not reply.succeeded:
        raise Skipped("namespaces at this depth cannot be created")
    found = lab.ok("DescribeNamespace", id=child).get("properties") or {}
    lab.same((found.get("inner"), found.get("both"), found.get("outer")), ("2", "inner", None),
             "the child's properties")  # fmt: skip
    found = lab.ok("DescribeNamespace", id=parent).get("properties") or {}
    lab.same((found.get("outer"), found.get("both"), found.get("inner")), ("1", "outer", None),
             "the parent's properties")  # fmt: skip


@check("LN-NAMESPACE-DESCRIBE-060",
       "DescribeNamespace returns an empty map for a namespace without properties.",
       "rest.yaml, DescribeNamespaceResponse: an empty map if none are set", "DescribeNamespace",
       "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def no_properties(lab: Lab) -> None:
    namespace = lab.namespace_id()
    lab.maybe("CreateNamespace", id=namespace, properties=PROPERTIES)
    if lab.ok("DescribeNamespace", id=namespace).get("properties") is None:
        raise Skipped("the catalog stores no properties of namespaces")
    bare = lab.call("AlterNamespace", id=namespace, unset_properties=list(PROPERTIES)).succeeded
    for each in (lab.new_namespace(), *([namespace] if bare else ())):
        found = lab.ok("DescribeNamespace", id=each).get("properties")
        lab.that(
            isinstance(found, dict) and not set(found) & set(PROPERTIES), "an empty map", found
        )


@check("LN-NAMESPACE-EXISTS-001", "NamespaceExists succeeds for an existing namespace.",
       "rest.yaml, NamespaceExists", "NamespaceExists", capabilities=["namespaces"])  # fmt: skip
def exists(lab: Lab) -> None:
    lab.ok("NamespaceExists", id=lab.new_namespace())


@check("LN-NAMESPACE-EXISTS-002", "NamespaceExists of a missing namespace fails with code 1.",
       _CODES, "NamespaceExists", capabilities=["namespaces"])  # fmt: skip
def exists_missing(lab: Lab) -> None:
    lab.refused("NamespaceExists", [1], id=lab.namespace_id())


@check("LN-NAMESPACE-EXISTS-003", "NamespaceExists succeeds for the root namespace.",
       "general specification, Root Namespace", "NamespaceExists", changes=False)  # fmt: skip
def exists_root(lab: Lab) -> None:
    lab.ok("NamespaceExists", id=[])


@check("LN-NAMESPACE-EXISTS-004",
       "NamespaceExists of a table fails with code 1 or 13: a table is not a namespace.",
       "rest.yaml, NamespaceExists", "NamespaceExists", capabilities=["nested", "tables"])  # fmt: skip
def exists_table(lab: Lab) -> None:
    lab.refused("NamespaceExists", [1, 13], id=lab.any_table())


@check("LN-NAMESPACE-EXISTS-005", "NamespaceExists of a dropped namespace fails with code 1.",
       _CODES, "NamespaceExists", "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def exists_dropped(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.given("DropNamespace", id=identifier)
    lab.refused("NamespaceExists", [1], id=identifier)


@check("LN-NAMESPACE-ALTER-001", "AlterNamespace sets properties and keeps the others.",
       _ALTER, "AlterNamespace", capabilities=["namespaces"])  # fmt: skip
def alter_sets(lab: Lab) -> None:
    identifier = with_properties(lab)
    lab.maybe("AlterNamespace", id=identifier, set_properties={"owner": "bob", "more": "x"})
    found = lab.ok("DescribeNamespace", id=identifier).get("properties")
    lab.has(found, {"owner": "bob", "more": "x", "note": "two words"}, "the properties")


@check("LN-NAMESPACE-ALTER-002", "AlterNamespace removes properties and keeps the others.",
       _ALTER, "AlterNamespace", capabilities=["namespaces"])  # fmt: skip
def alter_unsets(lab: Lab) -> None:
    identifier = with_properties(lab)
    lab.maybe("AlterNamespace", id=identifier, unset_properties=["owner", "never there"])
    found = lab.ok("DescribeNamespace", id=identifier).get("properties") or {}
    lab.has(found, {"note": "two words"}, "the properties")
    lab.that("owner" not in found, "no property that was removed", found)


@check("LN-NAMESPACE-ALTER-003", "AlterNamespace returns the properties after the change.",
       "rest.yaml, AlterNamespaceResponse", "AlterNamespace",
       capabilities=["namespaces"])  # fmt: skip
def alter_answers(lab: Lab) -> None:
    identifier = with_properties(lab)
    answer = lab.maybe(
        "AlterNamespace", id=identifier, set_properties={"owner": "bob"}, unset_properties=["note"]
    )
    found = answer.get("properties") or {}
    lab.has(found, {"owner": "bob"}, "the properties in the response")
    lab.that("note" not in found, "no property that was removed", found)


@check("LN-NAMESPACE-ALTER-004",
       "AlterNamespace of a missing namespace fails with code 1 and creates nothing.",
       _CODES, "AlterNamespace", capabilities=["namespaces"])  # fmt: skip
def alter_missing(lab: Lab) -> None:
    identifier = lab.namespace_id()
    lab.refused("AlterNamespace", [1], id=identifier, set_properties={"a": "b"})
    lab.that(not lab.exists("NamespaceExists", identifier), "no namespace created", "it exists")


@check("LN-NAMESPACE-ALTER-005",
       "AlterNamespace fails with code 13 and changes nothing if a key is both set and unset.",
       _ALTER, "AlterNamespace", capabilities=["namespaces"])  # fmt: skip
def alter_both(lab: Lab) -> None:
    identifier = with_properties(lab)
    lab.refused("AlterNamespace", [13], id=identifier, set_properties={"owner": "x"},
                unset_properties=["owner"])  # fmt: skip
    found = lab.ok("DescribeNamespace", id=identifier).get("properties")
    lab.has(found, PROPERTIES, "the properties")


@check("LN-NAMESPACE-ALTER-007", "AlterNamespace succeeds if a property to unset does not exist.",
       f"{_ALTER} and AlterTable", "AlterNamespace", capabilities=["namespaces"])  # fmt: skip
def alter_absent(lab: Lab) -> None:
    identifier = with_properties(lab)
    lab.ok("AlterNamespace", id=identifier, unset_properties=["gone"])
    lab.ok("AlterNamespace", id=identifier, unset_properties=["gone", "note"])
    found = lab.ok("DescribeNamespace", id=identifier).get("properties") or {}
    lab.same((found.get("owner"), found.get("note")), ("ana", None), "the properties")
    bare = lab.new_namespace()
    lab.ok("AlterNamespace", id=bare, set_properties={"owner": "bob"})
    found = lab.ok("DescribeNamespace", id=bare).get("properties")
    lab.has(found, {"owner": "bob"}, "the properties of a namespace that had none")


@check("LN-NAMESPACE-ALTER-006",
       "AlterNamespace sets and removes individual properties and ignores missing keys.",
       "rest.yaml, AlterNamespaceRequest", "AlterNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def namespace_changes(lab: Lab) -> None:
    change_properties(lab, "AlterNamespace", "DescribeNamespace", lab.new_namespace())
