"""Paging of listings."""

from __future__ import annotations

from ..lab import Lab
from ..requirement import Level, check
from .listings import make_tables, ours, place_for_tables

_PAGING = 'protocol semantics, "Paging"; rest.yaml, PageToken and PageLimit'


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
            lab.same(len(answer.get("tables") or ()), 2, "the names on a page that is not the last")


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
    lab.same([name for name in names if name not in found], [], "names that are left out")


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
    lab.same(sorted(met), names, "the names that were there all the time")


@check("LN-PAGE-009", "A limit below 1 is code 13.",
       f"{_PAGING}: 1 or more; wire facts and the published text of limit, which have no least",
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
    lab.same([name for name in names if name not in found], [], "names that are left out")


@check("LN-PAGE-011", "A page token can be reused and returns the same page.", _PAGING,
       "ListTables", capabilities=["tables"])  # fmt: skip
def token_again(lab: Lab) -> None:
    parent = place_for_tables(lab)
    make_tables(lab, parent, 5)
    token = lab.ok("ListTables", id=parent, limit=2).get("page_token")
    lab.that(bool(token), "a page token", token)
    first = lab.ok("ListTables", id=parent, limit=2, page_token=token).get("tables")
    second = lab.ok("ListTables", id=parent, limit=2, page_token=token).get("tables")
    lab.same(second, first, "the page read again")


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
        lab.that(bool(found) and not first & set(found), "names behind the first page", found)
        rest = [name for name in names if name not in first]
        if more.get("limit") == 1:
            lab.same(len(found), 1, "the number of names")
        elif first <= set(names):
            lab.same([name for name in found if name in names][:3], rest, "the rest of the names")
