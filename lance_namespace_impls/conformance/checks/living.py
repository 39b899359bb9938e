"""The lifecycle of tables and namespaces: modes, drops, renames and long listings."""

from __future__ import annotations

from typing import Any

from ..lab import Lab, Skipped
from ..requirement import Level, check
from ..rows import PEOPLE, people, plain, stream
from .listings import make_tables, ours, place_for_tables

_MODES = 'protocol semantics, "Modes"'
_PAGING = 'protocol semantics, "Paging"; rest.yaml, PageToken and PageLimit'
_PROPERTIES = "rest.yaml, the properties of the requests"
_TABLES = ["tables"]
ALL = list(PEOPLE)
MANY = 105
"""More names than fit on one page of a server with 50 or 100 names per page."""


@check("LN-PAGE-021", "ListTables returns all tables even if there are more than a hundred.",
       _PAGING, "ListTables", "DeclareTable", capabilities=_TABLES)  # fmt: skip
def many(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, MANY)
    found = ours(lab, lab.walk("ListTables", "tables", id=parent))
    lab.same([n for n in found if n in names], names, "the names, without a limit")
    for limit in (60, 1000):
        page = lab.ok("ListTables", id=parent, limit=limit)
        if page.get("page_token") is not None:
            lab.same(len(page["tables"]), limit, "the names on a page that is not the last")
    for limit in (MANY, 60, 1000):
        found = ours(lab, lab.walk("ListTables", "tables", id=parent, limit=limit))
        lab.same([n for n in found if n in names], names, f"the names in pages of {limit}")


@check("LN-PAGE-022", "limit and page_token also work with include_declared false.",
       _PAGING, "ListTables", "CreateTable", "DeclareTable", capabilities=_TABLES)  # fmt: skip
def without_declared(lab: Lab) -> None:
    parent = place_for_tables(lab)
    made = []
    for _ in range(4):
        made.append(lab.ledger.fresh())
        lab.given("CreateTable", plain(1), id=[*parent, made[-1]])
        lab.given("DeclareTable", id=[*parent, lab.ledger.fresh()])
    first = lab.ok("ListTables", id=parent, include_declared=False, limit=2).get("tables") or []
    lab.that(len(first) <= 2, "at most 2 names", first)
    found = lab.walk("ListTables", "tables", id=parent, include_declared=False, limit=2)
    lab.same([n for n in found if n in made], sorted(made), "the names in pages of 2")
    if lab.ok("ListTables", id=parent, include_declared=False, limit=2).get("page_token"):
        lab.same(len(first), 2, "the names on a page that is not the last")
    both = lab.walk("ListTables", "tables", id=parent, include_declared=True, limit=3)
    lab.that(set(made) <= set(both), "all tables where they are to be included", both)


@check("LN-PAGE-023", "ListAllTables returns tables of every level in order, also across pages.",
       _PAGING, "ListAllTables", capabilities=["tables", "nested"])  # fmt: skip
def all_levels(lab: Lab) -> None:
    due = []
    parents = [list(lab.shape.table_parent or ()), place_for_tables(lab)]
    deep = [*lab.new_namespace(), lab.ledger.fresh()]
    if lab.call("CreateNamespace", id=deep).succeeded:
        parents.append(deep)
    for parent in parents:
        table = [*parent, lab.ledger.fresh()]
        if lab.call("DeclareTable", id=table).succeeded:
            due.append("$".join(table))
    whole = lab.walk("ListAllTables", "tables")
    lab.same([n for n in whole if n in due], sorted(due), "the identifiers")
    found = lab.walk("ListAllTables", "tables", limit=2)
    lab.same([n for n in found if n in due], sorted(due), "the identifiers in pages of 2")


@check(
    "LN-PAGE-024",
    "Namespaces created or dropped between pages do not cause others to be omitted or repeated.",
    _PAGING,
    "ListNamespaces",
    capabilities=["namespaces"],
)
def namespaces_meanwhile(lab: Lab) -> None:
    made = [lab.new_namespace() for _ in range(6)]
    parent, names = made[0][:-1], sorted(ns[-1] for ns in made)
    pages = lab.pages("ListNamespaces", id=parent, limit=2)
    found = list(next(pages).get("namespaces") or ())
    for name in [name for name in names if name in found][:1]:
        lab.given("DropNamespace", id=[*parent, name])
    lab.new_namespace()
    for answer in pages:
        found += answer.get("namespaces") or ()
    lab.same([name for name in found if name in names], names, "the names of those that were there")


@check(
    "LN-PAGE-025",
    "A page token from a different listing fails with code 13 or returns no names of that listing.",
    "rest.yaml, PageToken: code 13; text that is no token may be taken for a name to start after",
    "ListTables",
    level=Level.MAY,
    capabilities=["tables"],
)
def foreign_token(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("one namespace alone holds tables")
    first, second = place_for_tables(lab), place_for_tables(lab)
    made = [make_tables(lab, parent, 3) for parent in (first, second)]
    token = lab.ok("ListTables", id=first, limit=1).get("page_token")
    if token is None:
        return
    reply = lab.call("ListTables", id=second, limit=1, page_token=token)
    if not reply.succeeded:
        lab.must_fail(reply, [13])
    found = (reply.answer or {}).get("tables") or ()
    lab.same([name for name in found if name in made[0]], [], "the names of the other listing")


@check("LN-NAMESPACE-DROP-016",
       "DropNamespace with mode Skip or behavior Restrict fails with code 3 if the namespace is "
       "not empty.", _MODES,
       "DropNamespace", "CreateNamespace", capabilities=["tables", "namespaces"])  # fmt: skip
def skip_not_empty(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("new namespaces hold no tables")
    namespace = lab.new_namespace()
    table = [*namespace, lab.ledger.fresh()]
    lab.given("DeclareTable", id=table)
    lab.refused("DropNamespace", [3], id=namespace, mode="Skip")
    lab.refused("DropNamespace", [3], id=namespace, behavior="restrict")
    lab.that(lab.exists("TableExists", table), "the table to stay", "it is gone")


@check("LN-NAMESPACE-DROP-017",
       "DropNamespace with behavior Cascade drops all nested levels and nothing else.", _MODES,
       "DropNamespace", "CreateNamespace", capabilities=["nested"])  # fmt: skip
def cascade(lab: Lab) -> None:
    namespace, beside = lab.new_namespace(), lab.new_namespace()
    child = [*namespace, lab.ledger.fresh()]
    if not lab.call("CreateNamespace", id=child).succeeded:
        raise Skipped("namespaces of this depth cannot be made")
    made = [t for t in ([*namespace, lab.ledger.fresh()], [*child, lab.ledger.fresh()],
                        [*beside, lab.ledger.fresh()])
            if lab.call("DeclareTable", id=t).succeeded]  # fmt: skip
    lab.maybe("DropNamespace", id=namespace, behavior="CASCADE")
    for gone in (namespace, child):
        lab.that(not lab.exists("NamespaceExists", gone), f"{gone} to be gone", "it is there")
    for table in made:
        there = lab.exists("TableExists", table)
        lab.same(there, table[:-1] == beside, f"whether {table} is there")
    lab.given("CreateNamespace", id=namespace)
    lab.same(lab.walk("ListNamespaces", "namespaces", id=namespace), [], "namespaces in a new one")
    lab.same(lab.walk("ListTables", "tables", id=namespace), [], "tables in a new one")


@check("LN-NAMESPACE-DROP-018",
       "DropNamespace with behavior Cascade keeps the data, which can be registered again.",
       "rest.yaml, DropNamespaceRequest", "DropNamespace", "CreateTable", "RegisterTable",
       "DescribeTable", capabilities=["tables", "namespaces"])  # fmt: skip
def cascade_keeps_data(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("new namespaces hold no tables")
    namespace, other = lab.new_namespace(), lab.new_namespace()
    table = [*namespace, lab.ledger.fresh()]
    lab.given("CreateTable", stream(people(1, 2)), id=table)
    location = lab.ok("DescribeTable", id=table).get("location")
    lab.maybe("DropNamespace", id=namespace, behavior="Cascade")
    again = [*other, lab.ledger.fresh()]
    lab.maybe("RegisterTable", id=again, location=location)
    lab.same(lab.ids(again), [1, 2], "the ids")


@check("LN-TABLE-CREATE-025",
       "A table created with the name of a removed table has only its own rows.",
       "rest.yaml, CreateTable", "CreateTable", "DeregisterTable", "DropTable", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def again(lab: Lab) -> None:
    for gone in ("DeregisterTable", "DropTable"):
        table = lab.new_table(1, 2)
        lab.given("InsertIntoTable", stream(people(3)), id=table)
        if lab.call(gone, id=table).code == 0:
            continue
        reply = lab.call("CreateTable", stream(people(7)), id=table)
        if reply.code == 5 and gone == "DeregisterTable":
            continue  # the old data occupies the location: see LN-TABLE-DEREGISTER-010
        lab.must_succeed(reply)
        lab.same(lab.ids(table), [7], f"the ids after {gone}")
        lab.same(lab.count(table), 1, f"the number of rows after {gone}")


@check("LN-TABLE-CREATE-026",
       "CreateTable with mode Overwrite drops the existing rows and indices.",
       f"{_MODES}: what is there is dropped, a new one made; rest.yaml, CreateTable",
       "CreateTable", "CreateTableTag", "ListTableTags", "CreateTableScalarIndex",
       "ListTableIndices", level=Level.SHOULD, capabilities=_TABLES)  # fmt: skip
def overwritten(lab: Lab) -> None:
    table = lab.new_table()
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by_id")
    lab.maybe("CreateTable", stream(people(1)), id=table, mode="Overwrite")
    found = lab.ok("ListTableIndices", id=table).get("indexes") or ()
    lab.same([entry["index_name"] for entry in found], [], "the indices")
    lab.same(lab.ids(table, filter="id < 5"), [1], "the ids")


@check("LN-TABLE-REGISTER-008",
       "RegisterTable with mode Overwrite points the name to the new location and keeps the data "
       "at both.",
       "rest.yaml, RegisterTable: data is not deleted, also not that of a replaced entry",
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


@check("LN-TABLE-RENAME-011",
       "A renamed table keeps its rows, its old name can be reused, and other tables do not "
       "change.",
       "rest.yaml, RenameTable", "RenameTable", "DescribeTable", "ListTables", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def renamed(lab: Lab) -> None:
    table, other = lab.new_table(1), lab.new_table(2)
    new = lab.table_id()
    lab.ok("RenameTable", id=table, new_table_name=new[-1])
    lab.ok("InsertIntoTable", stream(people(3)), id=new)
    lab.same(lab.ids(new), [1, 3], "the ids")
    lab.given("CreateTable", stream(people(9)), id=table)
    lab.same(
        (lab.ids(table), lab.ids(new), lab.ids(other)), ([9], [1, 3], [2]), "the ids of the three"
    )
    lab.ok("DropTable", id=table)
    lab.same(lab.ids(new), [1, 3], "the ids after the old name was dropped again")
    names = lab.walk("ListTables", "tables", id=new[:-1])
    lab.same((new[-1] in names, table[-1] in names), (True, False), "which is listed")


KEYS = {
    "a=b": "c=d", "with space": "x", "dot.ted": "y", "sl/ash": "z", "-dash": "1", "ünï": "日本",
    "line": "one\ntwo", "quote": "'\"`", "url": "s3://b/k?x=1&y=2#z", "n": "0",
}  # fmt: skip


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


def _changes(lab: Lab, operation: str, read: str, identifier: list[str]) -> None:
    """Apply changes one after another and compare each result with a dictionary."""
    held: dict[str, str] = {}
    steps: list[tuple[dict[str, str], list[str]]] = [
        ({f"k{n}": f"v{n}" for n in range(20)}, []), ({"k1": "new"}, ["k2", "k3"]), ({}, ["k4"]),
        ({}, ["never there"]), ({"k2": "back"}, ["k1"]), ({"k5": "v5"}, []), ({}, ["k6", "never"]),
    ]  # fmt: skip
    for changed, removed in steps:
        request: dict[str, Any] = {"set_properties": changed} if changed else {}
        request |= {"unset_properties": removed} if removed else {}
        answer = lab.maybe(operation, id=identifier, **request)
        held = {k: v for k, v in {**held, **changed}.items() if k not in removed}
        for found in (answer.get("properties"), lab.ok(read, id=identifier).get("properties")):
            ours = {k: v for k, v in (found or {}).items() if k.startswith(("k", "never"))}
            lab.same(ours, held, f"the properties after {request}")


@check("LN-TABLE-ALTER-007",
       "AlterTable sets and removes individual properties and ignores missing keys.",
       "rest.yaml, AlterTableRequest", "AlterTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def table_changes(lab: Lab) -> None:
    _changes(lab, "AlterTable", "DescribeTable", lab.any_table())


@check("LN-NAMESPACE-ALTER-006",
       "AlterNamespace sets and removes individual properties and ignores missing keys.",
       "rest.yaml, AlterNamespaceRequest", "AlterNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def namespace_changes(lab: Lab) -> None:
    _changes(lab, "AlterNamespace", "DescribeNamespace", lab.new_namespace())


@check("LN-TABLE-DESCRIBE-016",
       "DescribeTable returns table_uri, is_only_declared and version on request, the first two "
       "only then.",
       "rest.yaml, DescribeTableResponse", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def unasked(lab: Lab) -> None:
    table = lab.new_table()
    answer = lab.ok("DescribeTable", id=table)
    for key in ("table_uri", "is_only_declared"):
        lab.same(answer.get(key), None, key)
    full = lab.maybe("DescribeTable", id=table, load_detailed_metadata=True, with_table_uri=True,
                     check_declared=True)  # fmt: skip
    lab.same(full.get("location"), answer.get("location"), "the location")
    lab.that("://" in str(full.get("table_uri")), "a URI with its scheme", full.get("table_uri"))
    lab.same(full.get("is_only_declared"), False, "is_only_declared")
    lab.same(full.get("version"), 1, "the version")


@check("LN-TABLE-DROP-010",
       "DropTable and DeregisterTable return the properties and the location that the table had.",
       "rest.yaml, DropTableResponse and DeregisterTableResponse", "DeclareTable", "DropTable",
       "DeregisterTable", capabilities=_TABLES)  # fmt: skip
def last_words(lab: Lab) -> None:
    for operation in ("DropTable", "DeregisterTable"):
        table = lab.table_id()
        lab.maybe("DeclareTable", id=table, properties={"owner": "me"})
        location = lab.ok("DescribeTable", id=table).get("location")
        reply = lab.call(operation, id=table)
        if reply.code == 0:
            continue
        lab.must_succeed(reply)
        answer = reply.answer or {}
        if answer.get("properties") is not None:
            lab.has(answer["properties"], {"owner": "me"}, "the properties")
        if answer.get("location") is not None:
            lab.same(answer["location"], location, "the location")
