"""Pages of listings: limits and page tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...catalog_objects import place_for_tables
from ...lab import Failed, Lab, NotReached, Skipped
from ...requirement import Level, check
from ...rows import people, plain, stream
from .fixtures import make_tables, needs_letters, ours

_PAGING = 'protocol semantics, "Paging"; rest.yaml, PageToken and PageLimit'
_TABLES = ["tables"]
MANY = 105
"""More names than fit on one page of a server with 50 or 100 names per page."""
_TOKEN_AND_LIMIT = "rest.yaml, PageToken and PageLimit"
_OF_TABLES = (
    ("ListTableVersions", "versions"),
    ("ListTableTags", "tags"),
    ("ListTableBranches", "branches"),
    ("ListTableIndices", "indexes"),
)
_CHANGING = {"tags": "ListTableTags", "branches": "ListTableBranches", "indexes": "ListTableIndices",
             "tables": "ListTables", "namespaces": "ListNamespaces"}  # fmt: skip
_NAMES = ["b1", "b2", "b3", "b4", "b5", "b6"]
_REMOVED = ("b2", "b3", "b4")
"""Names that are removed after they were returned, if pages come in name order."""
_TOKENS: tuple[tuple[str, str], ...] = (
    ("ListTableVersions", "versions"), ("ListTableTags", "tags"), ("ListTableBranches", "branches"),
    ("ListTableIndices", "indexes"), ("ListTables", "tables"), ("ListNamespaces", "namespaces"),
)  # fmt: skip


@check("LN-PAGE-001", "A page contains at most as many names as its limit.", _PAGING, "ListTables",
       capabilities=["tables"])  # fmt: skip
def limit_caps(lab: Lab) -> None:
    parent = place_for_tables(lab)
    make_tables(lab, parent, 4)
    for limit in (1, 2, 3):
        found = lab.ok("ListTables", id=parent, limit=limit).get("tables") or []
        lab.that(len(found) <= limit, f"at most {limit} names", found)


@check("LN-PAGE-002", "The pages of ListTables contain each name exactly once.", _PAGING,
       "ListTables", capabilities=["tables"])  # fmt: skip
def walk_tables(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, 5)
    for limit in (1, 2, 5, 100):
        found = ours(lab, lab.walk("ListTables", "tables", id=parent, limit=limit))
        if parent == list(lab.shape.table_parent or ()):
            found = [name for name in found if name in names]
        lab.same(sorted(found), names, f"the names in pages of {limit}")


@check("LN-PAGE-003", "The pages of ListNamespaces contain each name exactly once.", _PAGING,
       "ListNamespaces", capabilities=["namespaces"])  # fmt: skip
def walk_namespaces(lab: Lab) -> None:
    made = [lab.new_namespace() for _ in range(5)]
    names = sorted(ns[-1] for ns in made)
    for limit in (2, 5):
        found = lab.walk("ListNamespaces", "namespaces", id=made[0][:-1], limit=limit)
        lab.same(sorted(n for n in found if n in names), names, f"the names in pages of {limit}")


@check("LN-PAGE-004", "ListTables returns names in order across all pages.", _PAGING, "ListTables",
       capabilities=["tables"])  # fmt: skip
def ordered(lab: Lab) -> None:
    parent = place_for_tables(lab)
    make_tables(lab, parent, 5)
    found = ours(lab, lab.walk("ListTables", "tables", id=parent, limit=2))
    lab.same(found, sorted(found), "the names")


@check("LN-PAGE-020", "ListNamespaces returns names in order across all pages.", _PAGING,
       "ListNamespaces", capabilities=["namespaces"])  # fmt: skip
def namespaces_ordered(lab: Lab) -> None:
    made = [lab.new_namespace() for _ in range(5)]
    found = ours(lab, lab.walk("ListNamespaces", "namespaces", id=made[0][:-1], limit=2))
    lab.same(found, sorted(found), "the names")


@check("LN-PAGE-005", "The last page has no page token; a page token is never empty.", _PAGING,
       "ListTables", capabilities=["tables"])  # fmt: skip
def last_page(lab: Lab) -> None:
    parent = place_for_tables(lab)
    make_tables(lab, parent, 3)
    for answer in lab.pages("ListTables", id=parent, limit=2):
        lab.that(answer.get("page_token") != "", "a page token or none", answer)


@check("LN-PAGE-006", "Only the last page may be shorter than its limit.", _PAGING, "ListTables",
       capabilities=["tables"])  # fmt: skip
def full_pages(lab: Lab) -> None:
    parent = place_for_tables(lab)
    make_tables(lab, parent, 5)
    for answer in lab.pages("ListTables", id=parent, limit=2):
        if answer.get("page_token"):
            lab.same(
                len(answer.get("tables") or ()),
                2,
                "the number of names on a page that is not the last",
            )


@check("LN-PAGE-007", "If a table is removed between pages, no other table is omitted.",
       _PAGING, "ListTables", capabilities=["tables"])  # fmt: skip
def removed_meanwhile(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, 6)
    pages = lab.pages("ListTables", id=parent, limit=2)
    first = [name for name in next(pages).get("tables") or () if name in names]
    found = list(first)
    for name in first:
        reply = lab.call("DropTable", id=[*parent, name])
        if reply.code == 0:
            lab.given("DeregisterTable", id=[*parent, name])
    for answer in pages:
        found += answer.get("tables") or ()
    lab.same([name for name in names if name not in found], [], "the missing names")


@check("LN-PAGE-008", "If a table is added between pages, no other table is listed twice.",
       _PAGING, "ListTables", capabilities=["tables"])  # fmt: skip
def added_meanwhile(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, 4)
    early = f"{lab.ledger.prefix}_"  # sorts before all others
    pages = lab.pages("ListTables", id=parent, limit=2)
    found = list(next(pages).get("tables") or ())
    if not lab.call("DeclareTable", id=[*parent, early]).succeeded:
        make_tables(lab, parent, 1)
    for answer in pages:
        found += answer.get("tables") or ()
    met = [name for name in found if name in names]
    lab.same(sorted(met), names, "the names that existed throughout")


@check("LN-PAGE-009", "A limit below 1 fails with code 13.",
       f"{_PAGING}: 1 or more; wire facts and the published description of limit, which define no minimum",
       "ListTables", level=Level.SHOULD, capabilities=["tables"])  # fmt: skip
def bad_limit(lab: Lab) -> None:
    parent = list(lab.shape.table_parent or ())
    for limit in (0, -1):
        lab.refused("ListTables", [13], id=parent, limit=limit)


@check("LN-PAGE-010", "Without a limit, all names are returned, on any number of pages.", _PAGING,
       "ListTables", capabilities=["tables"])  # fmt: skip
def no_limit(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, 7)
    found = lab.walk("ListTables", "tables", id=parent)
    lab.same([name for name in names if name not in found], [], "the missing names")


@check("LN-PAGE-011", "A page token can be reused and returns the same page.", _PAGING,
       "ListTables", capabilities=["tables"])  # fmt: skip
def token_again(lab: Lab) -> None:
    parent = place_for_tables(lab)
    make_tables(lab, parent, 5)
    token = lab.ok("ListTables", id=parent, limit=2).get("page_token")
    lab.that(bool(token), "a page token", token)
    first = lab.ok("ListTables", id=parent, limit=2, page_token=token).get("tables")
    second = lab.ok("ListTables", id=parent, limit=2, page_token=token).get("tables")
    lab.same(second, first, "the page from the second read")


@check("LN-PAGE-012", "The pages of ListAllTables contain each table exactly once.",
       _PAGING, "ListAllTables",
       capabilities=["tables"])  # fmt: skip
def walk_all(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = ["$".join([*parent, name]) for name in make_tables(lab, parent, 3)]
    found = lab.walk("ListAllTables", "tables", limit=2)
    lab.same(sorted(name for name in found if name in names), sorted(names), "the identifiers")


@check("LN-PAGE-026",
       "A page token continues after its page, also with a different limit or without one.",
       _PAGING, "ListTables", capabilities=["tables"])  # fmt: skip
def other_limits(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, 5)
    answer = lab.ok("ListTables", id=parent, limit=2)
    first, token = set(answer.get("tables") or ()), answer.get("page_token")
    lab.that(bool(token), "a page token", answer)
    for more in ({}, {"limit": 1}, {"limit": 100}):
        found = lab.ok("ListTables", id=parent, page_token=token, **more).get("tables") or []
        lab.that(bool(found) and not first & set(found), "names after the first page", found)
        rest = [name for name in names if name not in first]
        if more.get("limit") == 1:
            lab.same(len(found), 1, "the number of distinct names")
        elif first <= set(names):
            lab.same([name for name in found if name in names][:3], rest, "the remaining names")


@check("LN-PAGE-013", "ListNamespaces returns at most limit names per page.", _PAGING,
       "ListNamespaces", capabilities=["namespaces"])  # fmt: skip
def namespaces_limit(lab: Lab) -> None:
    made = [lab.new_namespace() for _ in range(3)]
    found = lab.ok("ListNamespaces", id=made[0][:-1], limit=2).get("namespaces") or []
    lab.that(len(found) <= 2, "at most 2 names", found)


@check("LN-PAGE-014", "ListAllTables returns at most limit identifiers per page.", _PAGING,
       "ListAllTables", capabilities=_TABLES)  # fmt: skip
def all_limit(lab: Lab) -> None:
    make_tables(lab, place_for_tables(lab), 3)
    found = lab.ok("ListAllTables", limit=2).get("tables") or []
    lab.that(len(found) <= 2, "at most 2 identifiers", found)


def _walk_map(lab: Lab, operation: str, key: str, table: list[str]) -> list[str]:
    found: list[str] = []
    token = None
    for _ in range(20):
        more: dict[str, Any] = {} if token is None else {"page_token": token}
        answer = lab.ok(operation, id=table, limit=1, **more)
        entries = answer.get(key) or {}
        lab.that(len(entries) <= 1, "at most one entry on a page", entries)
        found += [e["index_name"] if isinstance(e, dict) else e for e in entries]
        token = answer.get("page_token")
        if not token:
            return found
    raise Failed("the listing to end", "20 pages", lab.last)


@check("LN-PAGE-015", "ListTableTags returns at most limit tags per page, and each tag once.",
       _PAGING, "ListTableTags", "CreateTableTag", "CreateTable", capabilities=_TABLES)  # fmt: skip
def tag_pages(lab: Lab) -> None:
    table = lab.new_table()
    for name in ("one", "three", "two"):
        lab.given("CreateTableTag", id=table, tag=name, version=1)
    lab.same(
        sorted(_walk_map(lab, "ListTableTags", "tags", table)), ["one", "three", "two"], "the tags"
    )


@check("LN-PAGE-016",
       "ListTableBranches returns at most limit branches per page, and each branch once.",
       _PAGING, "ListTableBranches", "CreateTableBranch", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def branch_pages(lab: Lab) -> None:
    table = lab.new_table()
    for name in ("one", "three", "two"):
        lab.given("CreateTableBranch", id=table, name=name)
    found = [n for n in _walk_map(lab, "ListTableBranches", "branches", table) if n != "main"]
    lab.same(sorted(found), ["one", "three", "two"], "the branches")


@check("LN-PAGE-017",
       "ListTableIndices returns at most limit indices per page, and each index once.",
       _PAGING, "ListTableIndices", "CreateTableScalarIndex", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def index_pages(lab: Lab) -> None:
    table = lab.new_table()
    for name, column in (("one", "id"), ("two", "name")):
        lab.given("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name=name)
    lab.same(
        sorted(_walk_map(lab, "ListTableIndices", "indexes", table)), ["one", "two"], "the indices"
    )


@check("LN-PAGE-018",
       "ListTableVersions with descending and limit returns each version once, newest first.",
       _PAGING, "ListTableVersions", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def versions_descending(lab: Lab) -> None:
    table = lab.new_table()
    for number in (11, 12):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    found: list[int] = []
    token = None
    for _ in range(10):
        more: dict[str, Any] = {} if token is None else {"page_token": token}
        answer = lab.ok("ListTableVersions", id=table, limit=1, descending=True, **more)
        entries = answer.get("versions") or []
        lab.that(len(entries) <= 1, "at most one version on a page", entries)
        found += [entry["version"] for entry in entries]
        token = answer.get("page_token")
        if not token:
            break
    lab.same(found, [3, 2, 1], "the versions")


@check("LN-PAGE-019", "ListAllTables with include_declared false excludes declared tables.",
       "rest.yaml, ListAllTables", "ListAllTables", "DeclareTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def all_declared(lab: Lab) -> None:
    declared, held = lab.new_declared(), lab.new_table()
    found = lab.walk("ListAllTables", "tables", include_declared=False, limit=1000)
    lab.that("$".join(held) in found, "the table with data", found)
    lab.that("$".join(declared) not in found, "no declared tables", found)


@check("LN-PAGE-021", "ListTables returns all tables even if there are more than a hundred.",
       _PAGING, "ListTables", "DeclareTable", capabilities=_TABLES)  # fmt: skip
def many(lab: Lab) -> None:
    parent = place_for_tables(lab)
    names = make_tables(lab, parent, MANY)
    found = ours(lab, lab.walk("ListTables", "tables", id=parent))
    lab.same([n for n in found if n in names], names, "the names without a limit")
    for limit in (60, 1000):
        page = lab.ok("ListTables", id=parent, limit=limit)
        if page.get("page_token") is not None:
            lab.same(
                len(page["tables"]), limit, "the number of names on a page that is not the last"
            )
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
        lab.same(len(first), 2, "the number of names on a page that is not the last")
    both = lab.walk("ListTables", "tables", id=parent, include_declared=True, limit=3)
    lab.that(set(made) <= set(both), "all tables with include_declared", both)


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
    lab.same(
        [name for name in found if name in names],
        names,
        "the names of the namespaces that existed throughout",
    )


@check(
    "LN-PAGE-025",
    "A page token from a different listing fails with code 13 or returns no names of that listing.",
    "rest.yaml, PageToken: code 13; text that is not a token may be interpreted as a name to start after",
    "ListTables",
    level=Level.MAY,
    capabilities=["tables"],
)
def foreign_token(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("only one namespace can contain tables")
    first, second = place_for_tables(lab), place_for_tables(lab)
    made = [make_tables(lab, parent, 3) for parent in (first, second)]
    token = lab.ok("ListTables", id=first, limit=1).get("page_token")
    if token is None:
        return
    reply = lab.call("ListTables", id=second, limit=1, page_token=token)
    if not reply.succeeded:
        lab.must_fail(reply, [13])
    found = (reply.answer or {}).get("tables") or ()
    lab.same(
        [name for name in found if name in made[0]],
        [],
        "the names that belong to the other listing",
    )


def entries(answer: Any, key: str) -> list[Any]:
    """Return the identifying values of the entries of a page."""
    found = (answer or {}).get(key) or ()
    return [(e.get("version") or e.get("index_name")) if isinstance(e, dict) else e for e in found]


def crowded(lab: Lab) -> list[str]:
    """Return a table with several versions, tags, branches and indices, if the target has them."""
    table = lab.new_table(1)
    for number in range(2, 6):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    for name, column in (("a", "id"), ("b", "name"), ("c", "score"), ("d", "id"), ("e", "id")):
        lab.call("CreateTableTag", id=table, tag=name, version=1)
        lab.call("CreateTableBranch", id=table, name=name)
        lab.call("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name=name)
    return table


def paged(lab: Lab, table: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the listings of a table that have more than one entry."""
    for operation, key in _OF_TABLES:
        reply = lab.call(operation, id=table)
        if reply.succeeded and len(entries(reply.answer, key)) > 1:
            yield operation, key


@check("LN-PAGE-027", "A limit below 1 fails with code 13 in every listing.",
       f"{_TOKEN_AND_LIMIT}: 1 or more; wire facts and the published text of limit, which have no least",
       "CreateTable", level=Level.SHOULD, capabilities=_TABLES)  # fmt: skip
def limits(lab: Lab) -> None:
    table = crowded(lab)
    for operation, _ in paged(lab, table):
        for limit in (0, -1):
            lab.refused(operation, [13], id=table, limit=limit)
    if lab.shape.namespace_parent is not None:
        lab.refused("ListNamespaces", [13], id=list(lab.shape.namespace_parent), limit=0)


def _no_new_start(lab: Lab, operation: str, key: str, one: list[str], other: list[str]) -> None:
    page = lab.ok(operation, id=one, limit=1)
    token, first = page.get("page_token"), entries(page, key)
    if not token:
        return
    reply = lab.call(operation, id=other, limit=1, page_token=token)
    if not reply.succeeded:
        lab.must_fail(reply, [13])
        return
    again = [entry for entry in entries(reply.answer, key) if entry in first]
    lab.same(again, [], f"the entries that {operation} repeats for another listing's token")


@check("LN-PAGE-028",
       "A page token of another listing fails with code 13 or resumes at its position; it never "
       "restarts.",
       f"{_TOKEN_AND_LIMIT}: code 13; rest.yaml, PageToken: no token may be taken for a name to start after",
       "CreateTable", level=Level.MAY, capabilities=_TABLES)  # fmt: skip
def of_another(lab: Lab) -> None:
    table, other = crowded(lab), crowded(lab)
    for operation, key in paged(lab, table):
        _no_new_start(lab, operation, key, table, other)
    if lab.shape.tables_in_new:
        parents = [lab.new_namespace(), lab.new_namespace()]
        for parent in parents:
            for name in "ab":
                lab.given("DeclareTable", id=[*parent, name])
        _no_new_start(lab, "ListTables", "tables", parents[0], parents[1])


@check("LN-PAGE-029",
       "The last page of every listing has no token, and the pages together are the whole "
       "listing.", _TOKEN_AND_LIMIT, "CreateTable", capabilities=_TABLES)  # fmt: skip
def joined(lab: Lab) -> None:
    table = crowded(lab)
    for operation, key in paged(lab, table):
        whole = entries(lab.ok(operation, id=table), key)
        for limit in range(1, len(whole) + 2):
            found: list[Any] = []
            request: dict[str, Any] = {"id": table, "limit": limit}
            for _ in range(len(whole) + 2):
                page = lab.ok(operation, **request)
                given, token = entries(page, key), page.get("page_token")
                lab.that(len(given) <= limit, f"at most {limit} entries of {operation}", given)
                found += given
                if not token:
                    break
                request["page_token"] = token
            else:
                raise Failed(f"{operation} to end", "more pages than entries", lab.last)
            lab.same(sorted(found), sorted(whole), f"the entries on all pages of {operation}")


@check("LN-PAGE-030", "include_declared=false omits declared tables on every page.",
       "rest.yaml, ListTablesRequest, include_declared; protocol semantics, Paging", "ListTables",
       "ListAllTables", "DeclareTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def pages_without_declared(lab: Lab) -> None:
    parent = place_for_tables(lab)
    before = [lab.ledger.fresh() for _ in range(5)]
    declared = make_tables(lab, parent, 3)
    due = [*before, declared.pop()]
    for name in due:
        lab.maybe("CreateTable", plain(1), id=[*parent, name], mode="Overwrite")
    # The whole catalog may be large, so its pages have a higher limit.
    for operation, limit, request in (
        ("ListTables", 1, {"id": parent}),
        ("ListAllTables", 5, {}),
    ):
        found = lab.walk(operation, "tables", limit=limit, include_declared=False, **request)
        last = [name.rpartition("$")[2] for name in found]
        lab.same(sorted(n for n in last if n in {*due, *declared}), sorted(due), operation)


Listing = tuple[str, str, dict[str, Any]]


def pairs(answer: Any, key: str) -> list[tuple[str, Any]]:
    """Return the entries of a page, each with its identifying value."""
    found = (answer or {}).get(key) or ()
    if isinstance(found, dict):
        return [(str(name), found[name]) for name in found]
    return [
        (str(e.get("version") or e.get("index_name")), e) if isinstance(e, dict) else (str(e), e)
        for e in found
    ]


def pages(
    lab: Lab, operation: str, key: str, limit: int, between: Callable[[int], None] = lambda number: None,
    **request: Any,
) -> list[tuple[str, Any]]:  # fmt: skip
    """Return the entries of all pages of a listing.

    Args:
        lab: the test bench.
        operation: the list operation.
        key: the response field that holds the entries.
        limit: number of entries per page.
        between: called with the page number after each page but the last.
        request: further request fields.
    """
    found: list[tuple[str, Any]] = []
    for number in range(1, 200):
        page = lab.ok(operation, limit=limit, **request)
        given = pairs(page, key)
        found += given
        if not page.get("page_token"):
            return found
        lab.same(len(given), limit, f"the number of entries on page {number} of {operation}")
        request = {**request, "page_token": page["page_token"]}
        between(number)
    raise Failed(f"{operation} to end", "200 pages", lab.last)


def _listings(lab: Lab) -> Iterator[Listing]:
    """Yield the listings of a table: on the main branch, on another branch and at a version."""
    table = crowded(lab)
    lab.call("CreateTableTag", id=table, tag="on a", version=2, branch="a")
    for number in (20, 21, 22):
        lab.call("InsertIntoTable", stream(people(number)), id=table, branch="a")
    newest = lab.ok("DescribeTableVersion", id=table)["version"]["version"]
    for operation, key, more in (
        ("ListTableVersions", "versions", {}), ("ListTableVersions", "versions", {"descending": True}),
        ("ListTableVersions", "versions", {"branch": "a"}),
        ("ListTableVersions", "versions", {"branch": "a", "descending": True}),
        ("ListTableTags", "tags", {}), ("ListTableBranches", "branches", {}),
        ("ListTableIndices", "indexes", {}), ("ListTableIndices", "indexes", {"branch": "a"}),
        ("ListTableIndices", "indexes", {"version": newest - 1}),
    ):  # fmt: skip
        yield operation, key, {"id": table, **more}


@check("LN-PAGE-031", "Entries are the same on pages as in the whole listing.", _PAGING,
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def contents(lab: Lab) -> None:
    for operation, key, request in _listings(lab):
        whole = lab.call(operation, **request)
        if not whole.succeeded:
            continue
        due = pairs(whole.answer, key)
        for limit in {2, max(1, len(due) - 1), max(1, len(due))}:
            found = pages(lab, operation, key, limit, **request)
            names = [name for name, _ in found]
            lab.same(
                sorted(names),
                sorted(n for n, _ in due),
                f"the {key} in pages of {limit} with {request}",
            )
            if key in ("versions", "indexes"):
                lab.same(
                    names,
                    [name for name, _ in due],
                    f"the order of the {key} in pages of {limit} with {request}",
                )
            for name, entry in found:
                lab.same(
                    entry,
                    dict(due)[name],
                    f"{name} in the {key} in pages of {limit} with {request}",
                )


def _make(thing: str, lab: Lab, table: list[str], name: str) -> None:
    if thing == "tags":
        lab.given("CreateTableTag", id=table, tag=name, version=1)
    elif thing == "branches":
        lab.given("CreateTableBranch", id=table, name=name)
    elif thing == "indexes":
        lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name=name)
    elif thing == "tables":
        lab.given("CreateTable", plain(1), id=[*table, name])
    else:
        lab.given("CreateNamespace", id=[*table, name])


def _remove(thing: str, lab: Lab, table: list[str], name: str) -> None:
    if thing == "tags":
        lab.given("DeleteTableTag", id=table, tag=name)
    elif thing == "branches":
        lab.given("DeleteTableBranch", id=table, name=name)
    elif thing == "indexes":
        lab.given("DropTableIndex", id=table, index_name=name)
    elif thing == "tables":
        lab.given("DropTable", id=[*table, name])
    else:
        lab.given("DropNamespace", id=[*table, name])


def _meanwhile(thing: str) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        if thing == "tables":
            place = place_for_tables(lab)
            if not lab.shape.tables_in_new:
                raise Skipped("no tables can be created in a new namespace")
        elif thing == "namespaces":
            if not lab.shape.nested:
                raise Skipped("no namespaces below a namespace")
            place = lab.new_namespace()
            if lab.call("CreateNamespace", id=[*place, "c"]).code == 13:
                raise Skipped("no namespaces two levels below a namespace")
        else:
            place = lab.new_table(1, 2)
        for name in _NAMES:
            _make(thing, lab, place, name)
        first = pairs(lab.ok(_CHANGING[thing], id=place, limit=2), thing)
        if len(first) != 2:
            raise NotReached(f"{_CHANGING[thing]} with a limit of 2 returned {len(first)} entries")

        def between(number: int) -> None:
            if number == 1:  # b1 and b2 were returned
                _remove(thing, lab, place, "b2")
                _make(thing, lab, place, "a0")
            elif number == 2:  # b3 and b4
                _remove(thing, lab, place, "b3")
                _remove(thing, lab, place, "b4")
                _make(thing, lab, place, "b45")

        found = [n for n, _ in pages(lab, _CHANGING[thing], thing, 2, between, id=place)]
        met = [n for n in found if n in _NAMES]
        if thing in ("tags", "branches"):  # JSON objects are unordered; pages are ordered
            by_name = sorted(name for name, _ in first) == _NAMES[:2]
            due = [n for n in _NAMES if by_name or n not in _REMOVED]
            lab.same(
                sorted(n for n in met if n in due), due, f"the {thing} that existed throughout"
            )
        else:
            lab.same(met, _NAMES, f"the {thing} that existed throughout, in order,")
        lab.same(len(found), len(set(found)), f"the number of listed {thing}, without repetitions,")

    return run


for _number, _thing in enumerate(_CHANGING, start=32):
    check(
        f"LN-PAGE-{_number:03}",
        f"Creating or deleting {_thing} between pages neither omits nor repeats any other entry.",
        _PAGING,
        _CHANGING[_thing],
        "CreateTable",
        capabilities=["nested"] if _thing == "namespaces" else _TABLES,
    )(_meanwhile(_thing))


@check("LN-PAGE-037",
       "Creating or deleting versions between pages neither omits nor repeats any other version.",
       _PAGING, "ListTableVersions", "InsertIntoTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def versions_meanwhile(lab: Lab) -> None:
    for descending in (True, None):
        table = lab.new_table(1)
        for number in range(2, 7):
            lab.given("InsertIntoTable", stream(people(number)), id=table)

        def between(number: int, table: list[str] = table) -> None:
            if number == 1:
                lab.given("InsertIntoTable", stream(people(9)), id=table)
                lab.call("BatchDeleteTableVersions", id=table,
                         ranges=[{"start_version": 1, "end_version": 2}])  # fmt: skip

        more = {"descending": True} if descending else {}
        found = [
            int(n)
            for n, _ in pages(lab, "ListTableVersions", "versions", 2, between, id=table, **more)
        ]
        lab.same(
            sorted(n for n in found if 2 <= n <= 6),
            [2, 3, 4, 5, 6],
            "the versions that existed throughout",
        )
        lab.same(len(found), len(set(found)), "the number of listed versions, without repetitions,")
        if descending:
            lab.same(found, sorted(found, reverse=True), "the versions, newest first")


@check("LN-PAGE-038",
       "Tables with unusual names come in the same order on pages as in the whole listing.",
       _PAGING, "ListTables", capabilities=_TABLES)  # fmt: skip
def odd_order(lab: Lab) -> None:
    parent = place_for_tables(lab)
    made = []
    for end in ("", "_1", "_10", "_2", "-a", ".b", "a", "\u00e4", "z", "zz", " s"):
        reply = lab.call("DeclareTable", id=[*parent, f"{lab.ledger.prefix}o{end}"])
        if reply.succeeded:
            made.append(str(reply.step.request["id"][-1]))
    if len(made) < 3:
        raise Skipped("tables cannot be declared")
    mine = [n for n in ours(lab, lab.walk("ListTables", "tables", id=parent)) if n in made]
    if set(made) - set(mine) == {name for name in made if not name.isascii()}:
        needs_letters(lab)
    lab.same(sorted(mine), sorted(made), "the tables")
    if lab.shape.tables_in_new:
        for limit in (3, len(made)):
            found = [n for n, _ in pages(lab, "ListTables", "tables", limit, id=parent)]
            lab.same(found, mine, f"the tables in pages of {limit}")


@check("LN-PAGE-039",
       "Listings of several namespaces stay separate when their pages are read in turns.", _PAGING,
       "ListTables", "DeclareTable", capabilities=_TABLES)  # fmt: skip
def in_turns(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be created in a new namespace")
    parents = [lab.new_namespace() for _ in range(3)]
    due = [
        make_tables(lab, parent, count) for parent, count in zip(parents, (3, 4, 5), strict=True)
    ]
    found: list[list[str]] = [[] for _ in parents]
    tokens: list[str | None] = [""] * len(parents)
    for _ in range(6):
        for number, parent in enumerate(parents):
            token = tokens[number]
            if token is None:
                continue
            more = {"page_token": token} if token else {}
            page = lab.ok("ListTables", id=parent, limit=number + 1, **more)
            found[number] += page["tables"]
            tokens[number] = page.get("page_token") or None
    lab.same(found, due, "the tables in each namespace")


@check("LN-PAGE-040",
       "An empty listing, or one with exactly limit entries, ends without a page token.", _PAGING,
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def ends(lab: Lab) -> None:
    table = lab.new_table(1)
    for operation, key in (("ListTableTags", "tags"), ("ListTableBranches", "branches"),
                           ("ListTableIndices", "indexes")):  # fmt: skip
        for limit in (1, 1000):
            reply = lab.call(operation, id=table, limit=limit)
            if reply.succeeded:
                lab.same(pairs(reply.answer, key), [], f"the {key} of a table without any")
                lab.same((reply.answer or {}).get("page_token"), None, "the token")
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    page = lab.maybe("ListTableVersions", id=table, limit=2)
    lab.same(
        (len(page["versions"]), page.get("page_token")),
        (2, None),
        "the number of versions on a page of two, and the token",
    )
    if lab.shape.tables_in_new:
        parent = lab.new_namespace()
        for count in (0, 1, 2):
            for limit in (max(count, 1), 100):
                page = lab.ok("ListTables", id=parent, limit=limit)
                lab.same(
                    (len(page["tables"]), page.get("page_token")),
                    (count, None),
                    "the number of tables, and the token",
                )
            lab.given("CreateTable", plain(1), id=[*parent, lab.ledger.fresh()])


@check("LN-PAGE-041",
       "A listing that rejects page tokens of another object also rejects those of other "
       "operations.",
       "rest.yaml, PageToken: a token of another listing results in InvalidInput",
       "CreateTable", capabilities=_TABLES)  # fmt: skip
def kinds(lab: Lab) -> None:
    pairs = [(crowded(lab), crowded(lab))]
    if lab.shape.tables_in_new and lab.shape.nested:
        pairs.append((lab.new_namespace(), lab.new_namespace()))
        for parent in pairs[1]:
            for name in "abcd":
                make = "DeclareTable" if name in "bd" else "CreateNamespace"
                if not lab.call(make, id=[*parent, name]).succeeded:
                    lab.call("CreateTable", plain(1), id=[*parent, name])
    for one, other in pairs:
        tokens = {}
        for operation, _ in _TOKENS:
            of_table = operation.startswith("ListTable") and operation != "ListTables"
            if of_table == (one is pairs[0][0]):
                reply = lab.call(operation, id=one, limit=1)
                if reply.succeeded and (reply.answer or {}).get("page_token"):
                    tokens[operation] = (reply.answer or {})["page_token"]
        for operation, token in tokens.items():
            if lab.call(operation, id=other, limit=1, page_token=token).code != 13:
                continue  # it does not distinguish tokens
            for kind, strange in tokens.items():
                if kind != operation:
                    reply = lab.call(operation, id=one, limit=1, page_token=strange)
                    lab.that(
                        reply.code == 13,
                        f"{operation} to fail with code 13 for a page token from {kind}",
                        reply.outcome(),
                    )
