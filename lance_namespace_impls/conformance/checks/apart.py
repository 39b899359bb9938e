"""Separation of names, kinds of objects and namespaces, and of current from replaced tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from ..exchange import Step
from ..lab import Lab, Skipped
from ..oracle import Call
from ..orders import explain, start
from ..player import step_of
from ..requirement import check
from ..rows import people, plain, stream
from .afterwards import WRITES
from .branches import branch_ids, branch_rows
from .courses import Place, told
from .due import NO_COLUMN
from .listings import place_for_tables
from .orders import people_of
from .races import at_once
from .whole import _REFUSED, FULL, furnished, state, unchanged

_WAYS = "rest.yaml, CreateTable, RegisterTable, DropTable, DeregisterTable and DropNamespace"
_NAME = "general specification, Object Name and Object Identifier"
_CODES = "rest.yaml, info: a call that is refused has changed nothing; the codes of the operations"
_ORDER = "rest.yaml, the operations; protocol semantics, Modes and Errors, code 14"
_TABLES, _BOTH = ["tables"], ["tables", "namespaces"]
_SIDE = {"branch": "side"}
Read = tuple[str, dict[str, Any]]
_ROWS: tuple[Read, ...] = (
    ("DescribeTable", {}), ("DescribeTable", FULL), ("QueryTable", {}),
    ("QueryTable", {"filter": "id > 2"}), ("CountTableRows", {}),
    ("CountTableRows", {"predicate": "id > 2"}), ("ListTableIndices", {}), ("GetTableStats", {}),
)  # fmt: skip
"""Reads whose answers do not depend on earlier versions of a table."""
_ALL: tuple[Read, ...] = (
    *_ROWS, ("DescribeTable", {"tag": "t", **FULL}), ("DescribeTable", {"version": 1, **FULL}),
    ("DescribeTable", {**_SIDE, **FULL}), ("QueryTable", {"version": 1}), ("QueryTable", _SIDE),
    ("CountTableRows", {"version": 1}), ("CountTableRows", _SIDE), ("TableExists", {"version": 4}),
    ("ListTableVersions", {}), ("DescribeTableVersion", {}), ("ListTableTags", {}),
    ("GetTableTagVersion", {"tag": "t"}), ("ListTableBranches", {}), ("GetTableStats", _SIDE),
    ("DescribeTableIndexStats", {"index_name": "by"}),
)  # fmt: skip


def facts(lab: Lab, table: list[str], reads: Sequence[Read] = _ALL) -> dict[str, Any]:
    """Return what is reported about a table, without values that differ between tables."""
    plainly = {"QueryTable": {"vector": lab.no_vector(), "k": 100}}
    steps = [Step(name, {"id": table, **plainly.get(name, {}), **more}) for name, more in reads]
    place = Place(table, None, None if reads is _ROWS else 0)
    found = zip(reads, lab.together(steps), strict=True)
    return {f"{name} of {more}": told(reply, place) for (name, more), reply in found}


def _alike(lab: Lab, found: dict[str, Any], due: dict[str, Any], what: str) -> None:
    for key, value in due.items():
        if value is not None and found[key] is not None:
            lab.same(found[key], value, f"{key} {what}")


def _first(lab: Lab, table: list[str]) -> list[str]:
    """Return a table of two versions with a tag, a branch and an index."""
    return _filled(lab, table, "ana", (1, 2), (3,), "id")


def _second(lab: Lab, table: list[str], **more: Any) -> list[str]:
    """Return a table that differs from the first one in every respect."""
    _filled(lab, table, "bob", (3, 4, 5, 6), (7, 8), "name", **more)
    lab.call("InsertIntoTable", stream(people(9)), id=table, **_SIDE)
    lab.call("AlterTableDropColumns", id=table, columns=["score"])
    return table


def _filled(lab: Lab, table: list[str], owner: str, ids: Sequence[int], later: Sequence[int],
            column: str, **more: Any) -> list[str]:  # fmt: skip
    rows, given = stream(people(*ids)), {"properties": {"owner": owner}}
    if not lab.call("CreateTable", rows, id=table, **given, **more).succeeded:
        lab.given("CreateTable", rows, id=table, **more)
    for number in later:
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    lab.call("CreateTableTag", id=table, tag="t", version=len(later))
    lab.call("CreateTableBranch", id=table, name="side")
    lab.call("CreateTableScalarIndex", id=table, column=column, index_type="BTREE", name="by")
    return table


def _due(lab: Lab, make: Callable[..., list[str]], reads: Sequence[Read] = _ALL) -> dict[str, Any]:
    """Return what is reported about such a table under a new name, read once per run."""
    table = lab.kept(f"apart{make.__name__}", lambda: make(lab, lab.table_id()))
    found: dict[str, Any] = lab.told.setdefault(f"{table} {len(reads)}", {})
    found.update({} if found else facts(lab, table, reads))
    return found


_OTHERS = stream(people(4, 5, 6, 7).drop_columns(["score"]))


def _single(lab: Lab, table: list[str]) -> list[str]:
    """Return a table created by one call, so that no later write refreshes a cached answer."""
    lab.given("CreateTable", _OTHERS, id=table)
    return table


@check("LN-FRESH-060",
       "Reads of a table that replaced another one return nothing of the replaced table.",
       _WAYS, "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def replaced(lab: Lab) -> None:
    for way in ("DropTable", "Overwrite", "DeregisterTable", "DropNamespace", "again", "over"):
        reads = _ALL if way == "DropTable" else _ROWS
        if way == "DropNamespace" and not lab.shape.tables_in_new:
            continue
        due, table = _due(lab, _single, reads), [*place_for_tables(lab), lab.ledger.fresh()]
        facts(lab, _first(lab, table), reads)
        if way in ("again", "over"):
            other = _single(lab, lab.table_id())
            where = lab.ok("DescribeTable", id=other).get("location")
            for gone in (other, table)[: 1 + (way == "again")]:
                lab.call("DeregisterTable", id=gone)
            mode = "Create" if way == "again" else "Overwrite"
            if not lab.call("RegisterTable", id=table, location=where, mode=mode).succeeded:
                continue
        elif way == "Overwrite":
            reply = lab.call("CreateTable", _OTHERS, id=table, mode=way)
            if reply.code == 0:
                continue  # the properties of the old table cannot be removed
            lab.must_be_given(reply)
        else:
            named, more = (table[:-1], {"behavior": "Cascade"}) if "Name" in way else (table, {})
            if not lab.call(way, id=named, **more).succeeded:
                continue
            if more:
                lab.given("CreateNamespace", id=named)
            _single(lab, table)
        _alike(lab, facts(lab, table, reads), due, f"after another took its place by {way}")


@check("LN-FRESH-061", "Tables that swap their names keep everything that is reported about them.",
       "rest.yaml, RenameTable: the rows, versions and schema of the table stay as they are", "RenameTable",
       "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def swapped(lab: Lab) -> None:
    one, other = _first(lab, lab.table_id()), _second(lab, lab.table_id())
    before, aside = [facts(lab, other), facts(lab, one)], [*one[:-1], lab.ledger.fresh()]
    for old, new in ((one, aside), (other, one), (aside, other)):
        reply = lab.call("RenameTable", id=old, new_table_name=new[-1])
        if reply.code == 19:  # some storage cannot move a table that has branches
            raise Skipped(f"RenameTable: {reply.outcome()}")
        lab.may_refuse(reply)
    for table, due in zip((one, other), before, strict=True):
        _alike(lab, facts(lab, table), due, "after two tables swapped their names")


@check("LN-FRESH-064",
       "All reads of a branch agree after each write to it, and the main branch is unchanged.",
       "rest.yaml, CreateTableBranch, DeleteTableBranch and the field branch of the operations",
       "CreateTableBranch", "QueryTable", "CreateTable", capabilities=_TABLES)  # fmt: skip
def on_a_branch(lab: Lab) -> None:
    table = lab.new_table(1, 2, 3, 4)
    lab.given("CreateTableBranch", id=table, name="side")
    before = {k: v for k, v in state(lab, table).items() if "branch" not in k}
    first = last = _newest(lab, table, 0)
    for operation, data, request in WRITES:
        more = {"version": first} if operation == "RestoreTable" else request
        if lab.call(operation, data, id=table, **more, **_SIDE).succeeded:
            last = _newest(lab, table, last)
    unchanged(lab, before, state(lab, table), "writes to a branch")
    lab.maybe("DeleteFromTable", id=table, predicate="id > 1", **_SIDE)
    _newest(lab, table, last)
    lab.given("DeleteTableBranch", id=table, name="side")
    lab.given("CreateTableBranch", id=table, name="side")
    _newest(lab, table, 0)
    lab.same(branch_ids(lab, table), [1, 2, 3, 4], "the ids of a branch that is made again")


def _newest(lab: Lab, table: list[str], before: int) -> int:
    """Return the newest version of the branch, which all reads must agree on."""
    rows = branch_rows(lab, table).rows
    reads: tuple[Read, ...] = (
        ("DescribeTable", FULL), ("ListTableVersions", {"descending": True, "limit": 1}),
        ("DescribeTableVersion", {}), ("GetTableStats", {}), ("CountTableRows", {}),
    )  # fmt: skip
    steps = [Step(name, {"id": table, **_SIDE, **more}) for name, more in reads]
    found = [reply.answer or {} if reply.succeeded else {} for reply in lab.together(steps)]
    described, listed, version, stats, counted = found
    known = {described.get("version"), (version.get("version") or {}).get("version")}
    known = (known | {max((v["version"] for v in listed.get("versions") or ()), default=None)}) - {
        None
    }
    lab.that(len(known) < 2, "one newest version of the branch", known)
    newest = next((int(version) for version in known if version), before + 1)
    lab.that(newest > before, f"a version after {before}", newest)
    counts = {stats.get("num_rows"), counted.get("count")}
    lab.that(counts <= {None, rows.num_rows}, f"{rows.num_rows} rows of the branch", counts)
    columns = [each["name"] for each in (described.get("schema") or {}).get("fields") or ()]
    lab.that(columns in ([], rows.column_names), f"the columns {rows.column_names}", columns)
    return newest


@check("LN-FRESH-065",
       "Every listing of tables reflects each change, with and without declared tables.",
       "rest.yaml, ListTables and ListAllTables", "ListTables", "CreateTable", "DropTable",
       capabilities=_TABLES)  # fmt: skip
def listings(lab: Lab) -> None:
    table = [*place_for_tables(lab), lab.ledger.fresh()]
    names = [table, [*table[:-1], lab.ledger.fresh()], [*place_for_tables(lab), lab.ledger.fresh()]]
    first = lab.call("ListAllTables", limit=1000)
    every = first.succeeded and not (first.answer or {}).get("page_token")

    def shown(where: list[str] | None, declared: bool = False) -> None:
        for full in (True, False):
            asked: dict[str, Any] = {"include_declared": full, "limit": 1000}
            for each in names:
                due = each == where and (full or not declared)
                listed = each[-1] in lab.walk("ListTables", "tables", id=each[:-1], **asked)
                lab.same(listed, due, f"whether {each[-1]} is in ListTables of {asked}")
        whole = lab.ok("ListAllTables", limit=1000) if every else {"page_token": "unread"}
        for each in () if whole.get("page_token") else names:  # one page has them all
            listed = "$".join(each) in (whole.get("tables") or ())
            lab.same(listed, each == where, f"whether {each[-1]} is in ListAllTables")

    shown(None)
    if lab.call("DeclareTable", id=table).succeeded:
        shown(table, declared=True)
    lab.given("CreateTable", stream(people(1)), id=table)
    shown(table)
    for new in names[1:]:
        more = {"new_namespace_id": new[:-1]} if new is names[2] else {}
        if lab.call("RenameTable", id=table, new_table_name=new[-1], **more).succeeded:
            table = new
            shown(table)
    where = lab.ok("DescribeTable", id=table).get("location")
    if lab.call("DeregisterTable", id=table).succeeded:
        shown(None)
        lab.maybe("RegisterTable", id=table, location=where)
        shown(table)
    lab.ok("DropTable", id=table)
    shown(None)


@check("LN-NAME-065",
       "Tables with the same name in two namespaces are independent under interleaved calls.",
       _NAME, "CreateTable", "QueryTable", "DropTable", capabilities=_BOTH)  # fmt: skip
def one_name(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be made in a new namespace")
    one = _first(lab, [*lab.new_namespace(), lab.ledger.fresh()])
    other = _second(lab, [*lab.new_namespace(), one[-1]])
    _alike(lab, facts(lab, one), _due(lab, _first), "of the first of two tables of one name")
    _alike(lab, facts(lab, other), _due(lab, _second), "of the second of two tables of one name")
    for operation, request in (
        ("DeleteFromTable", {"predicate": "id < 3"}), ("DeleteTableTag", {"tag": "t"}),
        ("DropTableIndex", {"index_name": "by"}), ("DropTable", {}),
    ):  # fmt: skip
        lab.call(operation, id=one, **request)
    _alike(lab, facts(lab, other), _due(lab, _second), "after writes to the other of one name")


@check("LN-NAME-066",
       "Identifiers whose levels read the same when joined identify different tables.",
       _NAME, "CreateTable", "QueryTable", "DropTable", capabilities=_BOTH)  # fmt: skip
def joined(lab: Lab) -> None:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be made in a new namespace")
    root = lab.new_namespace()
    tables, made = [[*root, "b", "c"]], dict[int, list[str]]()
    for joint in ("", ".", "_", "-", "/", ":", "%2F"):
        tables += [[*root, f"b{joint}c"], [*root[:-1], f"{root[-1]}{joint}b", "c"]]
    for number, table in enumerate(tables):
        if table[:-1] != root and not lab.call("CreateNamespace", id=table[:-1]).succeeded:
            continue
        reply = lab.call("CreateTable", plain(number), id=table)
        lab.that(reply.code not in (2, 5), f"{table} to be a name of its own", reply.outcome())
        if reply.succeeded:
            made[number] = table
    _apart(lab, made)


def _apart(lab: Lab, made: dict[int, list[str]]) -> None:
    """Check the row of each table, also after every other table is dropped."""
    for _ in range(2):
        for number, table in made.items():
            lab.same(lab.query(table).to_pylist(), [{"x": number}], f"the rows of {table}")
        for number in list(made)[::2]:
            lab.ok("DropTable", id=made.pop(number))


Refusal = tuple[str, bytes | None, dict[str, Any]]
Look = Callable[[], dict[str, Any]]
_BROKEN = stream(people(*range(50, 99)))[:-400]
_TWICE = stream(pa.table([[1], [2]], names=["x", "x"]))
_MORE: dict[str, Any] = {"properties": {"owner": "eve", "more": "1"}}
_OVER: tuple[Refusal, ...] = (
    ("CreateTable", plain(9), {"mode": "ExistOk", **_MORE}), ("CreateTable", plain(9), _MORE),
    ("CreateTable", _BROKEN, {"mode": "Overwrite", **_MORE}),
    ("CreateTable", _TWICE, {"mode": "Overwrite", **_MORE}), ("DeclareTable", None, _MORE),
)  # fmt: skip
_HALF: tuple[Refusal, ...] = (
    ("InsertIntoTable", _BROKEN, {}), ("InsertIntoTable", b"no stream", {"mode": "overwrite"}),
    ("InsertIntoTable", stream(people(1)), {"mode": "sometimes"}),
    ("MergeInsertIntoTable", _BROKEN, {"on": "id", "when_not_matched_insert_all": True}),
    ("CreateTableTag", None, {"tag": "t", "version": 1}), ("CreateTable", _BROKEN, _MORE),
)  # fmt: skip


def _over(lab: Lab) -> tuple[Refusal, ...]:
    """Return ``_OVER`` and a registration of a free location in an unknown mode."""
    request = {"location": lab.free_location(), "mode": "sometimes", **_MORE}
    return (*_OVER, ("RegisterTable", None, request))


def _stays(lab: Lab, look: Look, table: list[str], calls: Iterable[Refusal]) -> list[str]:
    """Check that calls that are rejected, or use mode ExistOk, leave a table unchanged.

    Returns:
        the operations that succeeded, which may have changed the table.
    """
    before, went = look(), list[str]()
    for operation, data, request in calls:
        reply = lab.call(operation, data, id=table, **request)
        if reply.succeeded and request.get("mode") != "ExistOk":
            before = look()  # the operation's own checks cover the expected codes
            went.append(operation)
        elif reply.code != 0:
            unchanged(lab, before, look(), f"{operation} of {request}: {reply.outcome()}")
    return went


@check("LN-WHOLE-060",
       "Creating, registering or renaming that does not replace an existing table leaves it "
       "unchanged.",
       "rest.yaml, CreateTable: what is there is kept with its properties; RenameTable: changes nothing",
       "CreateTable", "QueryTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def over_a_table(lab: Lab) -> None:
    table, taken = furnished(lab), lab.new_table(7)
    where = lab.ok("DescribeTable", id=taken).get("location")
    _stays(lab, lambda: state(lab, table), table, (
        *_over(lab), ("DeclareTable", None, {"location": lab.free_location()}),
        ("RegisterTable", None, {"location": where, **_MORE}),
        ("RenameTable", None, {"new_table_name": taken[-1]}),
        ("RenameTable", None, {"new_table_name": "t", "new_namespace_id": [*table, "no"]}),
    ))  # fmt: skip
    lab.same(lab.ids(taken), [7], "the ids of the other table")


@check("LN-WHOLE-061", "A declared table stays declared and keeps its location and properties "
       "after rejected calls.",
       _CODES, "DeclareTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def over_a_declared(lab: Lab) -> None:
    table = lab.table_id()
    lab.maybe("DeclareTable", id=table, properties={"owner": "ana"})

    def look() -> dict[str, Any]:
        found = lab.ok("DescribeTable", id=table, check_declared=True)
        return {key: found.get(key) for key in ("location", "properties", "is_only_declared")}

    _stays(lab, look, table, (*_over(lab)[2:], *_HALF, *_REFUSED[10:15]))
    if lab.call("InsertIntoTable", stream(people(1)), id=table).succeeded:
        lab.same(lab.ids(table), [1], "the ids once rows were added to the declared table")


@check("LN-WHOLE-062",
       "A rejected call on a branch changes neither that branch nor the main branch.",
       _CODES, "CreateTableBranch", "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def over_a_branch(lab: Lab) -> None:
    table = furnished(lab)
    lab.maybe("DeleteFromTable", id=table, predicate="id = 1", **_SIDE)
    whole = state(lab, table)
    reads = [(name, {**_SIDE, **FULL} if name == "DescribeTable" else _SIDE)
             for name in ("QueryTable", "DescribeTable", "ListTableIndices")]  # fmt: skip
    went = _stays(lab, lambda: facts(lab, table, reads), table, [
        (name, data, {**more, **_SIDE}) for name, data, more in _REFUSED
        if name not in ("CreateTable", "RegisterTable", "AlterTable", "RenameTable")
        and not name.endswith(("Tag", "TableBranch"))
    ])  # fmt: skip
    if not went:
        unchanged(lab, whole, state(lab, table), "calls on its branch were refused")


@check("LN-WHOLE-063", "A rejected call leaves its table name unused and its namespace empty.",
       _CODES, "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def still_free(lab: Lab) -> None:
    parent, over = place_for_tables(lab), _over(lab)
    refused = [("CreateTable", _BROKEN, _MORE), ("CreateTable", _TWICE, {}), over[2], over[5], *_HALF[:3],
               ("CreateTable", plain(1), {"mode": "sometimes"})]  # fmt: skip
    tables = dict(enumerate([*parent, lab.ledger.fresh()] for _ in refused))
    for table, (operation, data, request) in zip(tables.values(), refused, strict=True):
        if lab.call(operation, data, id=table, **request).succeeded:
            raise Skipped(f"{operation} of {request} succeeds, as other checks say")
    listed = lab.walk("ListTables", "tables", id=parent)
    lab.same([t for t in tables.values() if t[-1] in listed], [], "tables that refused calls made")
    if lab.shape.tables_in_new:
        lab.ok("DropNamespace", id=parent)
        lab.given("CreateNamespace", id=parent)
    for number, table in tables.items():
        lab.ok("CreateTable", plain(number), id=table)
    _apart(lab, tables)


@check("LN-WHOLE-064",
       "A tag, branch, index or column cannot be addressed by the name of another kind of object.",
       _CODES, "CreateTableTag", "CreateTableBranch", "CreateTable", capabilities=_TABLES)  # fmt: skip
def kinds(lab: Lab) -> None:
    table = furnished(lab)
    lab.call("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="by")
    before, line, of = state(lab, table), (4, 11, 13, 22), {"branch": "first"}
    for operation, request, codes in (
        ("GetTableTagVersion", {"tag": "side"}, [8]), ("GetTableTagVersion", {"tag": "main"}, [8]),
        ("UpdateTableTag", {"tag": "side", "version": 1}, [8]), ("DeleteTableTag", {"tag": "side"}, [8]),
        ("DescribeTable", {"tag": "side", **FULL}, [8, 11]), ("DescribeTable", {**of, **FULL}, line),
        ("CountTableRows", of, line), ("DeleteFromTable", {**of, "predicate": "true"}, line),
        ("CreateTableBranch", {"name": "new", "from_branch": "first"}, line),
        ("DropTableIndex", {"index_name": "id"}, [6]), ("DropTableIndex", {"index_name": "first"}, [6]),
        ("DescribeTableIndexStats", {"index_name": "id"}, [6]),
        ("DeleteTableBranch", {"name": "first"}, line),
        ("AlterTableDropColumns", {"columns": ["by"]}, NO_COLUMN),
        ("CreateTableScalarIndex", {"column": "by", "index_type": "BTREE"}, NO_COLUMN),
    ):  # fmt: skip
        reply = lab.call(operation, id=table, **request)
        if reply.code != 0:
            lab.must_fail(reply, codes)
    unchanged(lab, before, state(lab, table), "calls by names of another kind")


@check("LN-WHOLE-065", "No mode of creating or renaming replaces a namespace with a table or a "
       "table with a namespace.",
       _NAME, "CreateNamespace", "CreateTable", capabilities=["tables", "nested"])  # fmt: skip
def over_another_kind(lab: Lab) -> None:
    table, namespace = furnished(lab), lab.namespace_id()
    lab.maybe("CreateNamespace", id=namespace, properties={"owner": "ana"})
    before, stays = state(lab, table), lab.ok("DescribeNamespace", id=namespace)
    at = {"location": lab.ok("DescribeTable", id=lab.new_table(1)).get("location")}
    calls: tuple[tuple[str, bytes | None, list[str], dict[str, Any]], ...] = (
        *(("CreateTable", plain(1), namespace, {"mode": m}) for m in ("Create", "ExistOk", "Overwrite")),
        *(("RegisterTable", None, namespace, {"mode": m, **at}) for m in ("Create", "Overwrite")),
        *(("CreateNamespace", None, table, {"mode": m}) for m in ("ExistOk", "Overwrite")),
        ("RenameTable", None, table, {"new_table_name": "t", "new_namespace_id": table}),
        ("CreateTable", plain(1), [*table, "t"], {"mode": "ExistOk"}),
    )  # fmt: skip
    for operation, data, identifier, request in calls:
        reply = lab.call(operation, data, id=identifier, **request)
        lab.that(not reply.succeeded, f"{operation} of {request} to fail", reply.outcome())
        lab.same(lab.ok("DescribeNamespace", id=namespace), stays, f"it after {operation}")
    lab.that(not lab.call("TableExists", id=namespace).succeeded, "no table of its name", "one")
    unchanged(lab, before, state(lab, table), "calls on namespaces of its name")


_PAIRS = (
    "drop leave", "leave leave", "move declare", "move claim", "move back", "move leave", "add add",
    "add more", "add take", "take take", "restore restore", "restore insert", "restore delete",
)  # fmt: skip


@check("LN-ORDER-060",
       "Any two concurrent changes to a table or its catalog entry match some sequential order.",
       _ORDER,
       "CreateTable", "InsertIntoTable", "QueryTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def meeting(lab: Lab) -> None:
    for pair in _PAIRS * 2:
        a, b = {"id": lab.table_id()}, {"id": lab.table_id()}
        add, more = ({"name": name, "expression": "id + 1"} for name in ("c1", "c2"))
        calls = {
            "drop": Call("DropTable", a), "leave": Call("DeregisterTable", a),
            "declare": Call("DeclareTable", a), "claim": Call("DeclareTable", b),
            "move": Call("RenameTable", {**a, "new_table_name": b["id"][-1]}),
            "back": Call("RenameTable", {**b, "new_table_name": a["id"][-1]}),
            "add": Call("AlterTableAddColumns", {**a, "new_columns": [add]}),
            "more": Call("AlterTableAddColumns", {**a, "new_columns": [more]}),
            "take": Call("AlterTableDropColumns", {**a, "columns": ["name"]}),
            "restore": Call("RestoreTable", {**a, "version": 1}),
            "insert": Call("InsertIntoTable", {**a, "mode": "append"}, people_of(4)),
            "delete": Call("DeleteFromTable", {**a, "predicate": "id = 1"}),
        }  # fmt: skip
        asked = [calls[name] for name in pair.split()]
        before, reads = [calls["declare"]], [Call("DescribeTable", a), Call("DescribeTable", b)]
        if _PAIRS.index(pair) > 5:
            filled = Call("CreateTable", a, people_of(1, 2))
            before = [filled, calls["insert"], Call("ListTableVersions", a)]
            reads = [Call("QueryTable", {**a, "vector": lab.no_vector(), "k": 100})]
        try:
            tree = start(lab, before)
        except Skipped:
            continue
        replies = at_once(lab, [step_of(call) for call in asked])
        if all(reply.code != 0 for reply in replies):
            explain(lab, tree, asked, replies, reads)
