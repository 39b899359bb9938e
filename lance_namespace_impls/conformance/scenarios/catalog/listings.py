"""Listings of namespaces and tables."""

from __future__ import annotations

from typing import Any

from ...catalog_objects import deep, namespace_for_tables, place_for_tables
from ...lab import Lab, Skipped
from ...requirement import check
from ...rows import plain
from .fixtures import make_tables, ours

_LIST = 'protocol semantics, "Identifiers"; rest.yaml, the list operations'
_CODES = 'protocol semantics, "Errors"; rest.yaml, error codes of the operations'
_TABLES = ["tables"]


@check("LN-LIST-NAMESPACES-001", "ListNamespaces returns each child namespace by its own name.",
       _LIST, "ListNamespaces", capabilities=["namespaces"])  # fmt: skip
def namespaces(lab: Lab) -> None:
    made = [lab.new_namespace() for _ in range(3)]
    found = lab.walk("ListNamespaces", "namespaces", id=made[0][:-1])
    missing = [ns[-1] for ns in made if ns[-1] not in found]
    lab.same(missing, [], "the namespaces missing from the listing")


@check("LN-LIST-NAMESPACES-002", "ListNamespaces returns no name twice.", _LIST, "ListNamespaces",
       capabilities=["namespaces"])  # fmt: skip
def namespaces_once(lab: Lab) -> None:
    made = [lab.new_namespace() for _ in range(3)]
    found = ours(lab, lab.walk("ListNamespaces", "namespaces", id=made[0][:-1]))
    lab.same(sorted(found), sorted(set(found)), "the names")


@check("LN-LIST-NAMESPACES-003", "ListNamespaces returns direct children only.", _LIST,
       "ListNamespaces", capabilities=["nested"])  # fmt: skip
def namespaces_children(lab: Lab) -> None:
    parent = lab.new_namespace()
    child, name = [*parent, lab.ledger.fresh()], lab.ledger.fresh()
    if not lab.call("CreateNamespace", id=child).succeeded:
        raise Skipped("the target does not support namespaces at this depth")
    lab.call("CreateNamespace", id=[*child, name])
    found = lab.walk("ListNamespaces", "namespaces", id=parent)
    lab.same(found, [child[-1]], "the child namespaces")


@check("LN-LIST-NAMESPACES-004", "ListNamespaces returns no tables.", _LIST, "ListNamespaces",
       capabilities=["tables"])  # fmt: skip
def namespaces_no_tables(lab: Lab) -> None:
    parent = list(lab.shape.table_parent or ())
    names = make_tables(lab, parent, 1)
    reply = lab.call("ListNamespaces", id=parent)
    if reply.code == 13:
        return  # namespaces cannot be nested here
    found = lab.walk("ListNamespaces", "namespaces", id=parent)
    lab.that(names[0] not in found, "no table among the namespaces", found)


@check("LN-LIST-NAMESPACES-005", "ListNamespaces of a missing namespace fails with code 1.", _CODES,
       "ListNamespaces", capabilities=["nested"])  # fmt: skip
def namespaces_missing(lab: Lab) -> None:
    lab.refused("ListNamespaces", [1], id=lab.namespace_id())


@check("LN-LIST-NAMESPACES-006",
       "ListNamespaces of a namespace without children returns an empty list.", _LIST,
       "ListNamespaces", capabilities=["nested"])  # fmt: skip
def namespaces_none(lab: Lab) -> None:
    answer = lab.ok("ListNamespaces", id=lab.new_namespace())
    found = ours(lab, list(answer.get("namespaces") or ()))
    lab.same(found, [], "the child namespaces")
    lab.that(not answer.get("page_token"), "no page token", answer)


@check("LN-LIST-NAMESPACES-007", "A dropped namespace is no longer listed.", _LIST,
       "ListNamespaces", "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def namespaces_dropped(lab: Lab) -> None:
    first, second = lab.new_namespace(), lab.new_namespace()
    lab.given("DropNamespace", id=first)
    found = lab.walk("ListNamespaces", "namespaces", id=first[:-1])
    lab.that(first[-1] not in found, "the dropped namespace not to be listed", found)
    lab.that(second[-1] in found, "the other namespace to be listed", found)


@check("LN-LIST-NAMESPACES-008", "The root namespace can be listed.",
       "general specification, Root Namespace", "ListNamespaces", changes=False)  # fmt: skip
def namespaces_root(lab: Lab) -> None:
    lab.maybe("ListNamespaces", id=[], limit=1)


@check("LN-LIST-NAMESPACES-060",
       "ListNamespaces without a limit returns sorted names, whatever their order of creation.",
       "rest.yaml, ListNamespacesResponse: sorted by name", "ListNamespaces", "CreateNamespace",
       capabilities=["nested"])  # fmt: skip
def ordered(lab: Lab) -> None:
    parent = lab.new_namespace()
    for name in "dbeac":
        if not lab.call("CreateNamespace", id=[*parent, name]).succeeded:
            raise Skipped("the target does not support namespaces at this depth")
    lab.same(lab.walk("ListNamespaces", "namespaces", id=parent), list("abcde"), "the names")


@check("LN-LIST-TABLES-001", "ListTables returns each table of the namespace by its own name.",
       _LIST, "ListTables", capabilities=["tables"])  # fmt: skip
def tables(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, 3)
    found = lab.walk("ListTables", "tables", id=parent)
    lab.same([name for name in names if name not in found], [], "the missing tables")


@check("LN-LIST-TABLES-002", "ListTables returns no name twice.", _LIST, "ListTables",
       capabilities=["tables"])  # fmt: skip
def tables_once(lab: Lab) -> None:
    parent = place_for_tables(lab)
    make_tables(lab, parent, 3)
    found = ours(lab, lab.walk("ListTables", "tables", id=parent))
    lab.same(sorted(found), sorted(set(found)), "the names")


@check("LN-LIST-TABLES-003", "ListTables returns only the tables of the requested namespace.",
       _LIST, "ListTables", capabilities=["namespaces", "tables"])  # fmt: skip
def tables_of_one(lab: Lab) -> None:
    first, second = place_for_tables(lab), place_for_tables(lab)
    if first == second:
        raise Skipped("only one namespace can contain tables")
    names = make_tables(lab, first, 2)
    others = make_tables(lab, second, 1)
    lab.same(sorted(lab.walk("ListTables", "tables", id=first)), names, "the tables")
    lab.same(
        sorted(lab.walk("ListTables", "tables", id=second)),
        others,
        "the tables in the other namespace",
    )


@check("LN-LIST-TABLES-004", "ListTables returns no namespaces.", _LIST, "ListTables",
       capabilities=["namespaces", "tables"])  # fmt: skip
def tables_no_namespaces(lab: Lab) -> None:
    identifier = lab.new_namespace()
    reply = lab.call("ListTables", id=identifier[:-1])
    if reply.succeeded:
        found = lab.walk("ListTables", "tables", id=identifier[:-1])
        lab.that(identifier[-1] not in found, "no namespace among the tables", found)


@check("LN-LIST-TABLES-005", "ListTables of a missing namespace fails with code 1.", _CODES,
       "ListTables", capabilities=["namespaces"])  # fmt: skip
def tables_missing(lab: Lab) -> None:
    lab.refused("ListTables", [1], id=lab.namespace_id())


@check("LN-LIST-TABLES-006", "ListTables of a namespace without tables returns an empty list.",
       _LIST, "ListTables", capabilities=["namespaces"])  # fmt: skip
def tables_none(lab: Lab) -> None:
    answer = lab.ok("ListTables", id=lab.new_namespace())
    lab.same(list(answer.get("tables") or ()), [], "the tables")
    lab.that(not answer.get("page_token"), "no page token", answer)


@check("LN-LIST-TABLES-007", "A deregistered or dropped table is no longer listed.", _LIST,
       "ListTables", capabilities=["tables"])  # fmt: skip
def tables_gone(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, 2)
    reply = lab.call("DropTable", id=[*parent, names[0]])
    if reply.code == 0:
        reply = lab.call("DeregisterTable", id=[*parent, names[0]])
    lab.must_succeed(reply)
    found = lab.walk("ListTables", "tables", id=parent)
    lab.that(names[0] not in found, "the removed table not to be listed", found)
    lab.that(names[1] in found, "the other namespace to be listed", found)


@check("LN-LIST-TABLES-008", "include_declared=false omits tables without data.",
       'protocol semantics, "DescribeTable"; rest.yaml, ListTables', "ListTables", "DeclareTable",
       "CreateTable", capabilities=["tables"])  # fmt: skip
def tables_declared(lab: Lab) -> None:
    declared, filled = lab.new_declared(), lab.new_table()
    found = lab.walk("ListTables", "tables", id=declared[:-1], include_declared=False)
    lab.that(filled[-1] in found, "a table with data to be listed", found)
    lab.that(declared[-1] not in found, "a table without data not to be listed", found)


@check("LN-LIST-TABLES-009", "Declared tables are listed unless include_declared is false.",
       "rest.yaml, ListTables", "ListTables", "DeclareTable", capabilities=["tables"])  # fmt: skip
def tables_declared_default(lab: Lab) -> None:
    declared = lab.new_declared()
    for more in ({}, {"include_declared": True}):
        found = lab.walk("ListTables", "tables", id=declared[:-1], **more)
        lab.that(declared[-1] in found, f"the declared table to be listed with {more}", found)


@check("LN-LIST-TABLES-010", "Listing a namespace twice returns the same tables in the same order.",
       _LIST, "ListTables", capabilities=["tables"])  # fmt: skip
def tables_twice(lab: Lab) -> None:
    parent = place_for_tables(lab)
    make_tables(lab, parent, 3)
    first = ours(lab, lab.walk("ListTables", "tables", id=parent))
    second = ours(lab, lab.walk("ListTables", "tables", id=parent))
    lab.same(second, first, "the names in the second listing")


@check("LN-LIST-TABLES-011",
       "ListTables returns a namespace's own tables, not those of child or sibling namespaces.",
       _LIST, "ListTables", capabilities=["nested", "tables"])  # fmt: skip
def own_tables(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("only one namespace can contain tables")
    parent = lab.new_namespace()
    child, beside = [*parent, lab.ledger.fresh()], lab.new_namespace()
    made = [make_tables(lab, parent, 2), make_tables(lab, beside, 1)]
    if lab.call("CreateNamespace", id=child).succeeded:
        made.append(make_tables(lab, child, 2))
        lab.same(
            lab.walk("ListTables", "tables", id=child),
            made[-1],
            "the tables in the child namespace",
        )
    lab.same(
        lab.walk("ListTables", "tables", id=parent), made[0], "the tables in the parent namespace"
    )
    lab.same(
        lab.walk("ListTables", "tables", id=beside), made[1], "the tables in the other namespace"
    )


_WAYS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("c", "CreateTable", {"mode": "ExistOk"}), ("b", "CreateTable", {"mode": "Overwrite"}),
    ("a", "DeclareTable", {}), ("a", "InsertIntoTable", {}), ("b", "CreateTable", {"mode": "Overwrite"}),
    ("d", "DeclareTable", {}), ("d", "RenameTable", {"new_table_name": "e"}),
    ("c", "RenameTable", {"new_table_name": "f"}), ("b", "DeregisterTable", {}), ("b", "RegisterTable", {}),
    ("e", "DeregisterTable", {}), ("a", "DropTable", {}),
)  # fmt: skip


@check("LN-LIST-TABLES-060",
       "Every listing reflects each way of creating, filling, moving or removing a table.",
       "rest.yaml, ListTables and ListAllTables", "ListTables", capabilities=_TABLES)  # fmt: skip
def every_way(lab: Lab) -> None:
    parent = namespace_for_tables(lab)
    held: dict[str, bool] = {}
    free: dict[str, Any] = {}  # locations of deregistered tables
    for name, operation, more in _WAYS:
        data = plain(1) if operation in ("CreateTable", "InsertIntoTable") else None
        goes = operation in ("DropTable", "DeregisterTable", "RenameTable")
        request, where = dict(more), None
        if operation == "DeregisterTable" and name in held:
            where = lab.ok("DescribeTable", id=[*parent, name]).get("location")
        elif operation == "RegisterTable":
            if name not in free:
                continue
            request = {"location": free.pop(name)}
        if name == "c" and goes:
            request["new_namespace_id"] = parent  # the same namespace
        if not lab.call(operation, data, id=[*parent, name], **request).succeeded:
            continue
        free |= {name: where} if where else {}
        if goes:
            filled = held.pop(name, False)
            held |= {more["new_table_name"]: filled} if more else {}
        else:
            held[name] = operation != "DeclareTable"
        for declared, due in ((True, sorted(held)), (False, sorted(n for n in held if held[n]))):
            listed = lab.walk("ListTables", "tables", id=parent, include_declared=declared)
            lab.same(
                listed,
                due,
                f"the tables with include_declared={declared} after {operation} on {name}",
            )
        whole = lab.call("ListAllTables", limit=1000).answer if goes else None
        if whole and not whole.get("page_token"):
            listed = [n.split("$")[-1] for n in whole["tables"] if n.split("$")[:-1] == parent]
            lab.same(listed, sorted(held), f"all tables after {operation} on {name}")


@check("LN-LIST-ALL-001", "ListAllTables returns each table by its full identifier.", _LIST,
       "ListAllTables", capabilities=["tables"])  # fmt: skip
def all_tables(lab: Lab) -> None:
    table = lab.any_table()
    found = lab.walk("ListAllTables", "tables")
    lab.that("$".join(table) in found, f"{'$'.join(table)} to be listed", ours(lab, found))


@check("LN-LIST-ALL-002", "ListAllTables returns no table twice.", _LIST, "ListAllTables",
       capabilities=["tables"])  # fmt: skip
def all_tables_once(lab: Lab) -> None:
    lab.any_table()
    found = [
        name for name in lab.walk("ListAllTables", "tables", limit=5) if lab.ledger.prefix in name
    ]
    lab.same(sorted(found), sorted(set(found)), "the identifiers")


@check("LN-LIST-ALL-003", "ListAllTables returns the tables of every level.",
       "rest.yaml, ListAllTables: in any namespace", "ListAllTables", "DeclareTable",
       capabilities=["nested", *_TABLES])  # fmt: skip
def all_levels(lab: Lab) -> None:
    made = [[*namespace, lab.ledger.fresh()] for namespace in deep(lab)]
    held = [table for table in made if lab.call("DeclareTable", id=table).succeeded]
    found = lab.walk("ListAllTables", "tables")
    lab.same([t for t in held if "$".join(t) not in found], [], "the missing tables")
