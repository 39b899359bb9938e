"""Paging of every listing: pages agree with the whole listing, even if it changes in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..lab import Failed, Lab, NotReached, Skipped
from ..requirement import check
from ..rows import people, plain, stream
from .continuing import crowded
from .listings import make_tables, ours, place_for_tables
from .names import needs_letters

_PAGING = 'protocol semantics, "Paging"; rest.yaml, PageToken and PageLimit'
_TABLES = ["tables"]
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
        lab.same(len(given), limit, f"the entries of page {number} of {operation}")
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
            lab.same(sorted(names), sorted(n for n, _ in due), f"{key} by {limit} of {request}")
            if key in ("versions", "indexes"):
                lab.same(
                    names, [name for name, _ in due], f"the order of {key} by {limit} of {request}"
                )
            for name, entry in found:
                lab.same(entry, dict(due)[name], f"{name} in {key} by {limit} of {request}")


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


_CHANGING = {"tags": "ListTableTags", "branches": "ListTableBranches", "indexes": "ListTableIndices",
             "tables": "ListTables", "namespaces": "ListNamespaces"}  # fmt: skip
_NAMES = ["b1", "b2", "b3", "b4", "b5", "b6"]
_REMOVED = ("b2", "b3", "b4")
"""Names that are removed after they were returned, if pages come in name order."""


def _meanwhile(thing: str) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        if thing == "tables":
            place = place_for_tables(lab)
            if not lab.shape.tables_in_new:
                raise Skipped("no tables can be made in a new namespace")
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
            raise NotReached(f"{_CHANGING[thing]} of two a page gave {len(first)} entries")

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
                sorted(n for n in met if n in due), due, f"{thing} that were there all the time"
            )
        else:
            lab.same(met, _NAMES, f"{thing} that were there all the time, in order")
        lab.same(len(found), len(set(found)), f"the number of {thing}, each once")

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
            sorted(n for n in found if 2 <= n <= 6), [2, 3, 4, 5, 6], "the versions that stayed"
        )
        lab.same(len(found), len(set(found)), "the number of versions, each once")
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
            lab.same(found, mine, f"the tables by {limit}")


@check("LN-PAGE-039",
       "Listings of several namespaces stay separate when their pages are read in turns.", _PAGING,
       "ListTables", "DeclareTable", capabilities=_TABLES)  # fmt: skip
def in_turns(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be made in a new namespace")
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
    lab.same(found, due, "the tables of each namespace")


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
                lab.same(pairs(reply.answer, key), [], f"the {key} of a table without")
                lab.same((reply.answer or {}).get("page_token"), None, "the token")
    lab.given("InsertIntoTable", stream(people(2)), id=table)
    page = lab.maybe("ListTableVersions", id=table, limit=2)
    lab.same(
        (len(page["versions"]), page.get("page_token")), (2, None), "versions of two, and the token"
    )
    if lab.shape.tables_in_new:
        parent = lab.new_namespace()
        for count in (0, 1, 2):
            for limit in (max(count, 1), 100):
                page = lab.ok("ListTables", id=parent, limit=limit)
                lab.same(
                    (len(page["tables"]), page.get("page_token")),
                    (count, None),
                    "tables, and the token",
                )
            lab.given("CreateTable", plain(1), id=[*parent, lab.ledger.fresh()])
