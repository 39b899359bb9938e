"""CreateNamespace, DescribeNamespace, NamespaceExists and AlterNamespace."""

from __future__ import annotations

from ..lab import Failed, Lab, Skipped
from ..requirement import check

_MODES = 'protocol semantics, "Modes"; rest.yaml, CreateNamespace'
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_ALTER = "rest.yaml, AlterNamespace"
_DESCRIBE = "rest.yaml, DescribeNamespace"
PROPERTIES = {"owner": "ana", "note": "two words"}


def with_properties(lab: Lab, properties: dict[str, str] | None = None) -> list[str]:
    """Return a new namespace with properties; skip the check if the catalog rejects them."""
    identifier = lab.namespace_id()
    lab.maybe("CreateNamespace", id=identifier, properties=properties or PROPERTIES)
    return identifier


@check("LN-NAMESPACE-CREATE-001", "A namespace exists after it was created.", _MODES,
       "CreateNamespace")  # fmt: skip
def create(lab: Lab) -> None:
    first = lab.shape.no_namespace
    if first is not None and first.code not in (0, 13):
        raise Failed("CreateNamespace to succeed, or to be code 0 or 13", first.outcome(), first)
    identifier = lab.namespace_id()
    lab.ok("CreateNamespace", id=identifier)
    lab.that(lab.exists("NamespaceExists", identifier), "the namespace to be there", "it is not")


@check("LN-NAMESPACE-CREATE-002",
       "CreateNamespace with mode Create fails with code 2 if the namespace exists.",
       _MODES, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def create_twice(lab: Lab) -> None:
    identifier = lab.new_namespace()
    lab.refused("CreateNamespace", [2], id=identifier, mode="Create")


@check("LN-NAMESPACE-CREATE-003", "The default mode of CreateNamespace is Create.",
       _MODES, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
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
    lab.has(answer.get("properties"), PROPERTIES, "the answer's properties")


@check("LN-NAMESPACE-CREATE-005", "CreateNamespace stores the properties of the request.",
       "rest.yaml, CreateNamespaceRequest", "CreateNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def create_keeps_properties(lab: Lab) -> None:
    identifier = with_properties(lab)
    answer = lab.ok("DescribeNamespace", id=identifier)
    lab.has(answer.get("properties"), PROPERTIES, "the properties")


@check("LN-NAMESPACE-CREATE-006",
       "Mode ExistOk keeps an existing namespace and its properties.",
       _MODES, "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def exist_ok_keeps(lab: Lab) -> None:
    identifier = with_properties(lab)
    other = {"owner": "bob", "more": "x"}
    lab.maybe("CreateNamespace", id=identifier, mode="ExistOk", properties=other)
    found = lab.ok("DescribeNamespace", id=identifier).get("properties") or {}
    lab.has(found, PROPERTIES, "the properties")
    lab.that("more" not in found, "no property of the second call", found)


@check("LN-NAMESPACE-CREATE-007",
       "Mode ExistOk returns the properties of the existing namespace.",
       _MODES, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def exist_ok_answers(lab: Lab) -> None:
    identifier = with_properties(lab)
    answer = lab.maybe(
        "CreateNamespace", id=identifier, mode="ExistOk", properties={"owner": "bob"}
    )
    lab.has(answer.get("properties"), PROPERTIES, "the answer's properties")


@check("LN-NAMESPACE-CREATE-008", "Mode ExistOk creates a missing namespace.",
       _MODES, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def exist_ok_makes(lab: Lab) -> None:
    identifier = lab.namespace_id()
    lab.ok("CreateNamespace", id=identifier, mode="ExistOk")
    lab.that(lab.exists("NamespaceExists", identifier), "the namespace to be there", "it is not")


@check("LN-NAMESPACE-CREATE-009",
       "Mode Overwrite replaces an empty namespace and discards its old properties.",
       _MODES, "CreateNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def overwrite(lab: Lab) -> None:
    identifier = with_properties(lab)
    lab.maybe("CreateNamespace", id=identifier, mode="Overwrite", properties={"note": "new"})
    found = lab.ok("DescribeNamespace", id=identifier).get("properties") or {}
    lab.has(found, {"note": "new"}, "the properties")
    lab.that("owner" not in found, "no property of before", found)


@check("LN-NAMESPACE-CREATE-010", "Mode Overwrite creates a missing namespace.",
       _MODES, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def overwrite_makes(lab: Lab) -> None:
    identifier = lab.namespace_id()
    lab.maybe("CreateNamespace", id=identifier, mode="Overwrite")
    lab.that(lab.exists("NamespaceExists", identifier), "the namespace to be there", "it is not")


@check("LN-NAMESPACE-CREATE-011",
       "Mode Overwrite of a namespace with children changes nothing: code 3, or 0 or 13 if "
       "unsupported.",
       f'{_MODES}; protocol semantics, "Errors"', "CreateNamespace", capabilities=["nested"])  # fmt: skip
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
    lab.that(lab.exists(kind, child), "what is in the namespace to stay", "it is gone")


@check("LN-NAMESPACE-CREATE-012",
       "CreateNamespace accepts its modes in any letter case and with underscores, like EXIST_OK.",
       _MODES, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def mode_spellings(lab: Lab) -> None:
    identifier = lab.new_namespace()
    for spelling in ("ExistOk", "exist_ok", "EXIST_OK", "existok"):
        lab.ok("CreateNamespace", id=identifier, mode=spelling)
    for spelling in ("create", "CREATE"):
        lab.refused("CreateNamespace", [2], id=identifier, mode=spelling)


@check("LN-NAMESPACE-CREATE-013",
       "CreateNamespace with an unknown mode fails with code 13 and creates nothing.",
       _MODES, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def unknown_mode(lab: Lab) -> None:
    identifier = lab.namespace_id()
    lab.refused("CreateNamespace", [13], id=identifier, mode="sometimes")
    there = lab.exists("NamespaceExists", identifier)
    lab.that(not there, "no namespace after code 13", "it is there")


@check("LN-NAMESPACE-CREATE-014",
       "CreateNamespace below a missing namespace fails with code 1 or 13.",
       _CODES, "CreateNamespace", capabilities=["nested"])  # fmt: skip
def missing_parent(lab: Lab) -> None:
    parent = lab.namespace_id()
    # Code 13 if the level cannot contain namespaces at all.
    lab.refused("CreateNamespace", [1, 13], id=[*parent, lab.ledger.fresh()])
    lab.that(not lab.exists("NamespaceExists", parent), "no parent made on the way", "it is there")


@check("LN-NAMESPACE-CREATE-015",
       "CreateNamespace with the identifier of a table fails with code 2, 5 or 13 and keeps the "
       "table.",
       "general specification, Object Name", "CreateNamespace",
       capabilities=["nested", "tables"])  # fmt: skip
def name_of_a_table(lab: Lab) -> None:
    table = lab.any_table()
    lab.refused("CreateNamespace", [2, 5, 13], id=table)
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


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
    lab.same(second.get("properties"), first.get("properties"), "the properties read again")


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
    answer = lab.maybe("AlterNamespace", id=identifier, set_properties={"owner": "bob"},
                       unset_properties=["note"])  # fmt: skip
    found = answer.get("properties") or {}
    lab.has(found, {"owner": "bob"}, "the answer's properties")
    lab.that("note" not in found, "no property that was removed", found)


@check("LN-NAMESPACE-ALTER-004",
       "AlterNamespace of a missing namespace fails with code 1 and creates nothing.",
       _CODES, "AlterNamespace", capabilities=["namespaces"])  # fmt: skip
def alter_missing(lab: Lab) -> None:
    identifier = lab.namespace_id()
    lab.refused("AlterNamespace", [1], id=identifier, set_properties={"a": "b"})
    lab.that(not lab.exists("NamespaceExists", identifier), "no namespace made", "it is there")


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
    lab.has(found, {"owner": "bob"}, "the properties of one that had none")


@check("LN-NAMESPACE-CREATE-018",
       "Mode Overwrite of a namespace with a table changes nothing: code 3, or 0 or 13 if "
       "unsupported.",
       'protocol semantics, "Errors"; rest.yaml, CreateNamespace', "CreateNamespace",
       capabilities=["namespaces", "tables"])  # fmt: skip
def overwrite_held(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("new namespaces hold no tables")
    namespace = lab.new_namespace()
    table = [*namespace, lab.ledger.fresh()]
    lab.given("DeclareTable", id=table)
    lab.refused("CreateNamespace", [0, 3, 13], id=namespace, mode="Overwrite")
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-NAMESPACE-DESCRIBE-005",
       "A namespace has only its own properties, not those of its parent or child.",
       _DESCRIBE, "DescribeNamespace", "CreateNamespace", capabilities=["nested"])  # fmt: skip
def own_properties(lab: Lab) -> None:
    parent = with_properties(lab, {"outer": "1", "both": "outer"})
    child = [*parent, lab.ledger.fresh()]
    reply = lab.call("CreateNamespace", id=child, properties={"inner": "2", "both": "inner"})
    if not reply.succeeded:
        raise Skipped("namespaces of this depth cannot be made")
    found = lab.ok("DescribeNamespace", id=child).get("properties") or {}
    lab.same((found.get("inner"), found.get("both"), found.get("outer")), ("2", "inner", None),
             "the child's properties")  # fmt: skip
    found = lab.ok("DescribeNamespace", id=parent).get("properties") or {}
    lab.same((found.get("outer"), found.get("both"), found.get("inner")), ("1", "outer", None),
             "the parent's properties")  # fmt: skip


@check("LN-NAMESPACE-CREATE-019",
       "CreateNamespace rejects the root namespace, which exists and is not listed in itself.",
       "general specification, Root Namespace", "CreateNamespace", "NamespaceExists")  # fmt: skip
def root(lab: Lab) -> None:
    lab.refused("CreateNamespace", [0, 2, 13], id=[])
    lab.that(lab.exists("NamespaceExists", []), "the root to be there", "it is not")
    found = lab.walk("ListNamespaces", "namespaces", id=[], limit=1000)
    lab.that("" not in found, "no root in the root", found)
