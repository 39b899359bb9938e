"""Codes for missing namespaces, tables, versions, tags, branches and indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import fields as attributes

from lance_namespace_client.operations import OPERATIONS, Action, Operation

from ...lab import Failed, Lab, Skipped
from ...missing_codes import NO_VERSION
from ...requirement import Run, check
from ...rows import people, stream
from ...sample_calls import missing_object_call, sensible_call
from ...table_state import FULL, furnished, state, unchanged
from ...table_versions import lists_none

_MAKERS = ("CreateTable", "DeclareTable", "RegisterTable")
_CODES = 'protocol semantics, "Errors"; rest.yaml, the codes of the operations and fields'
_TABLES = ["tables"]
_CREATING = ("CreateTable", "DeclareTable", "RegisterTable", "CreateMaterializedView")
_MISSING = (4,)
_NOWHERE = (1, 4)
"""Codes if the namespace may be missing as well."""
_PLAIN: dict[str, Any] = {"vector": None, "k": 1}
_REMOVE = {"tag": ("DeleteTableTag", "tag"), "index": ("DropTableIndex", "index_name"),
           "branch": ("DeleteTableBranch", "name")}  # fmt: skip


def _fails_for_missing(operation: str) -> Run:
    def run(lab: Lab) -> None:
        reply = missing_object_call(lab, operation)
        lab.must_fail(reply, [4])
        identifier = list(reply.step.request["id"])
        there = lab.exists("TableExists", identifier)
        lab.that(not there, f"no table after the rejected {operation}", identifier)
        if lab.shape.nested:
            there = lab.call("NamespaceExists", id=identifier).succeeded  # or too deeply nested
            lab.that(not there, f"no namespace after the rejected {operation}", identifier)

    return run


for _number, _row in enumerate(OPERATIONS.values(), start=1):
    if _row.path.startswith("/v1/table/{id}") and _row.name not in _MAKERS:
        check(
            f"LN-MISSING-{_number:03}",
            f"{_row.name} on a missing table fails with code 4.",
            'protocol semantics, "Errors"; rest.yaml, error codes of the operations',
            _row.name,
            capabilities=["tables"],
        )(_fails_for_missing(_row.name))


def rename(lab: Lab, table: list[str], name: str) -> None:
    """Rename a table that has branches.

    Raises:
        Skipped: the target cannot move it, since a branch in Lance records the data's location.
    """
    reply = lab.call("RenameTable", id=table, new_table_name=name)
    if reply.code == 19:
        raise Skipped(f"RenameTable on a table with branches: {reply.outcome()}")
    lab.may_refuse(reply)


Missing = Callable[[Lab], tuple[list[str], list[str] | None, tuple[int, ...]]]
"""Returns an unused identifier, a table that must stay unchanged, and the expected codes."""


def _kept(lab: Lab) -> list[str]:
    return lab.kept("furnished", lambda: furnished(lab))


def _before(lab: Lab, table: list[str]) -> dict[str, Any]:
    """Return the state of a table when it was first read."""
    if table[-1] not in lab.told:
        lab.told[table[-1]] = state(lab, table)
    found: dict[str, Any] = lab.told[table[-1]]
    return found


def _dropped(lab: Lab) -> tuple[list[str], list[str] | None, tuple[int, ...]]:
    table = furnished(lab)
    lab.given("DropTable", id=table)
    return table, None, _MISSING


def _deregistered(lab: Lab) -> tuple[list[str], list[str] | None, tuple[int, ...]]:
    table = furnished(lab)
    lab.given("DeregisterTable", id=table)
    return table, None, _MISSING


def _renamed(lab: Lab) -> tuple[list[str], list[str] | None, tuple[int, ...]]:
    table, name = furnished(lab), lab.ledger.fresh()
    rename(lab, table, name)
    return table, [*table[:-1], name], _MISSING


def _elsewhere(lab: Lab) -> tuple[list[str], list[str] | None, tuple[int, ...]]:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be created in a new namespace")
    table = _kept(lab)
    return [*lab.new_namespace(), table[-1]], table, _MISSING


def _alike(lab: Lab) -> tuple[list[str], list[str] | None, tuple[int, ...]]:
    table = _kept(lab)
    return [*table[:-1], table[-1] + "x"], table, _MISSING


def _prefix(lab: Lab) -> tuple[list[str], list[str] | None, tuple[int, ...]]:
    other = furnished(lab)
    table = [*other[:-1], f"{other[-1]}_longer"]
    rename(lab, other, table[-1])
    return [*table[:-1], table[-1][:-2]], table, _MISSING


def _nowhere(lab: Lab) -> tuple[list[str], list[str] | None, tuple[int, ...]]:
    table = _kept(lab)
    return [*lab.namespace_id(), table[-1]], table, _NOWHERE


def _in_dropped(lab: Lab) -> tuple[list[str], list[str] | None, tuple[int, ...]]:
    if not lab.shape.tables_in_new:
        raise Skipped("no tables can be created in a new namespace")
    table, namespace = _kept(lab), lab.new_namespace()
    lab.given("CreateTable", stream(people(1)), id=[*namespace, table[-1]])
    lab.given("DropTable", id=[*namespace, table[-1]])
    lab.given("DropNamespace", id=namespace)
    return [*namespace, table[-1]], table, _NOWHERE


_KINDS: tuple[tuple[str, Missing, str], ...] = (
    ("that was dropped", _dropped, "DropTable"),
    ("that was deregistered", _deregistered, "DeregisterTable"),
    ("that was renamed, by its old name", _renamed, "RenameTable"),
    ("that exists only in another namespace", _elsewhere, "CreateNamespace"),
    ("next to a table whose name starts with the same characters", _alike, "CreateTable"),
    ("whose name is a prefix of another table's name", _prefix, "RenameTable"),
    ("in a missing namespace", _nowhere, "CreateNamespace"),
    ("in a namespace that was dropped", _in_dropped, "DropNamespace"),
)


def _refused_by_all(missing: Missing) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        table, other, codes = missing(lab)
        before = _before(lab, other) if other else {}
        for operation in OPERATIONS.values():
            if not operation.path.startswith("/v1/table/{id}") or operation.name in _CREATING:
                continue
            reply = sensible_call(lab, operation.name, table)
            if reply.code == 0 and operation.name not in lab.worked:
                continue
            if reply.code not in codes:
                due = " or ".join(map(str, codes))
                raise Failed(
                    f"{operation.name} on {table} to fail with code {due}", reply.outcome(), reply
                )
        # A table created by one call would be found by the next, so one test at the end suffices.
        there = lab.call("TableExists", id=table).succeeded
        lab.that(not there, "no table after all operations were rejected", table)
        if other:
            unchanged(lab, before, state(lab, other), "calls on an unused name")

    return run


for _number, (_kind, _missing, _needs) in enumerate(_KINDS, start=1):
    check(
        f"LN-GONE-{_number:03}",
        f"Every operation fails with code 4 (1 if the namespace is missing) for a table {_kind},"
        " and does not create it.",
        _CODES,
        "CreateTable",
        _needs,
        capabilities=["tables", "namespaces"] if "namespace" in _kind else _TABLES,
    )(_refused_by_all(_missing))

_OF_VERSION: tuple[tuple[str, str, tuple[int, ...], dict[str, Any]], ...] = (
    ("DescribeTable", "version", (11,), FULL),
    ("TableExists", "version", (4,), {}),
    ("DescribeTableVersion", "version", (11,), {}),
    ("CountTableRows", "version", (11,), {}),
    ("CountTableRows", "version", (11,), {"predicate": "id > 0"}),
    ("QueryTable", "version", (11,), _PLAIN),
    ("QueryTable", "version", (11,), {"vector": {"single_vector": [1.0, 0.0]}, "k": 1}),
    ("ListTableIndices", "version", NO_VERSION, {}),
    ("RestoreTable", "version", (11,), {}),
    ("CreateTableTag", "version", (11,), {"tag": "new"}),
    ("UpdateTableTag", "version", (11,), {"tag": "kept"}),
    ("CreateTableBranch", "from_version", NO_VERSION, {"name": "new"}),
)
"""Operations that accept a version, with the codes for a missing one."""


def _read_version(lab: Lab, table: list[str], version: int) -> None:
    """Read a version with every operation, so that a stale cache would show later."""
    for operation, key, _, request in _OF_VERSION:
        if OPERATIONS[operation].action is Action.READ:
            asked = {**request, key: version}
            if operation == "QueryTable" and asked["vector"] is None:
                asked["vector"] = lab.no_vector()
            lab.call(operation, id=table, **asked)


def _without_version(lab: Lab, table: list[str], version: int, **more: Any) -> None:
    for operation, key, codes, request in _OF_VERSION:
        known = {f.name for f in attributes(OPERATIONS[operation].request_type)}
        of = {k: v for k, v in more.items() if k in known}
        if operation == "DescribeTable" and of:
            continue  # it accepts a version or a branch, not both
        if operation == "CreateTableBranch" and more:
            of = {"from_branch": more["branch"]}
        asked = {**request, **of, key: version}
        if operation == "QueryTable" and asked["vector"] is None:
            asked["vector"] = lab.no_vector()
        reply = lab.call(operation, id=table, **asked)
        if reply.code != 0 and not (operation == "TableExists" and more):
            lab.that(reply.code in codes, f"{operation} on version {version} {of or ''} to fail "
                                          f"with code {' or '.join(map(str, codes))}",
                                          reply.outcome())  # fmt: skip


@check("LN-GONE-021",
       "Every operation that accepts a version reports a deleted version as missing.", _CODES,
       "CreateTable", "InsertIntoTable", "BatchDeleteTableVersions", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def deleted_version(lab: Lab) -> None:
    table = lab.new_table(1)
    for number in (2, 3, 4):
        lab.given("InsertIntoTable", stream(people(number)), id=table)
    lab.call("CreateTableTag", id=table, tag="kept", version=1)
    _read_version(lab, table, 2)
    gone = lab.given(
        "BatchDeleteTableVersions", id=table, ranges=[{"start_version": 2, "end_version": 3}]
    )
    if gone.get("deleted_count") == 1:
        _without_version(lab, table, 2)
        lab.same([lab.ids(table, version=v) for v in (1, 3, 4)],
                 [[1], [1, 2, 3], [1, 2, 3, 4]], "the ids in the remaining versions")  # fmt: skip


@check("LN-GONE-022",
       "Every operation that accepts a version reports one that only another table has as "
       "missing.", _CODES, "CreateTable", "InsertIntoTable", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def version_of_another(lab: Lab) -> None:
    table, other = lab.new_table(1), lab.new_table(1)
    lab.call("CreateTableTag", id=table, tag="kept", version=1)
    lab.given("InsertIntoTable", stream(people(2)), id=other)
    for version in (2, 2**40):
        _without_version(lab, table, version)
    lab.same(lab.ids(table), [1], "the ids")


@check("LN-GONE-023",
       "A version that exists on only one line of a table (main or a branch) is missing on the "
       "others.", _CODES, "CreateTable", "InsertIntoTable", "CreateTableBranch", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def version_of_another_line(lab: Lab) -> None:
    table = lab.new_table(1)
    lab.given("CreateTableBranch", id=table, name="side")
    lab.call("CreateTableTag", id=table, tag="kept", version=1)
    for _ in range(3):
        lab.given("InsertIntoTable", stream(people(2)), id=table)
    newest = lab.ok("DescribeTableVersion", id=table)["version"]["version"]
    _without_version(lab, table, newest, branch="side")
    for _ in range(5):
        lab.maybe("InsertIntoTable", stream(people(2)), id=table, branch="side")
    _without_version(lab, table, newest + 1)


Asked = tuple[tuple[str, str, int, dict[str, Any]], ...]

_SINGLE: tuple[tuple[str, str, str, dict[str, Any], Asked], ...] = (
    ("tag", "CreateTableTag", "tag", {"version": 1}, (
        ("GetTableTagVersion", "tag", 8, {}), ("UpdateTableTag", "tag", 8, {"version": 1}),
        ("DeleteTableTag", "tag", 8, {}), ("DescribeTable", "tag", 11, FULL))),
    ("index", "CreateTableScalarIndex", "name", {"column": "id", "index_type": "BTREE"}, (
        ("DescribeTableIndexStats", "index_name", 6, {}), ("DropTableIndex", "index_name", 6, {}))),
    ("branch", "CreateTableBranch", "name", {}, (("DeleteTableBranch", "name", 22, {}),)),
)  # fmt: skip


def _named(
    create: str, key: str, given: dict[str, Any], asked: Any, remove: tuple[str, str]
) -> Callable[[Lab], None]:
    def read(lab: Lab, at: list[str], name: str) -> None:
        for operation, of, _, more in asked:
            if OPERATIONS[operation].action is Action.READ:
                lab.call(operation, id=at, **{of: name}, **more)

    def missing(lab: Lab, at: list[str], name: str) -> None:
        for operation, of, code, more in asked:
            reply = lab.call(operation, id=at, **{of: name}, **more)
            if reply.code != 0:
                lab.must_fail(reply, [code])

    def run(lab: Lab) -> None:
        table, other = lab.new_table(1), lab.new_table(1)
        lab.ok(create, id=table, **{key: "gone"}, **given)
        read(lab, table, "gone")
        lab.ok(remove[0], id=table, **{remove[1]: "gone"})
        lab.ok(create, id=other, **{key: "others"}, **given)
        lab.ok(create, id=table, **{key: "Kept"}, **given)
        for name in ("gone", "others", "Kep", "kept", "Kept2"):
            missing(lab, table, name)
        again = lab.new_table(1)
        lab.ok(create, id=again, **{key: "before"}, **given)
        read(lab, again, "before")
        lab.given("DropTable", id=again)
        lab.given("CreateTable", stream(people(1)), id=again)
        missing(lab, again, "before")

    return run


for _number, (_thing, _create, _key, _given, _asked) in enumerate(_SINGLE, start=31):
    check(
        f"LN-GONE-{_number:03}",
        f"No {_thing} is found by a deleted name, a name from another table, or a similar name.",
        _CODES,
        _create,
        "CreateTable",
        capabilities=_TABLES,
    )(_named(_create, _key, _given, _asked, _REMOVE[_thing]))


def _takes_branch(operation: Operation[Any, Any]) -> bool:
    known = {f.name for f in attributes(operation.request_type)}
    return "branch" in known and operation.path.startswith("/v1/table/{id}")


@check("LN-GONE-034", "Every operation that accepts a branch reports a deleted branch as missing.",
       _CODES, "CreateTable", "CreateTableBranch", "DeleteTableBranch", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def deleted_branch(lab: Lab) -> None:
    table, other = lab.new_table(1, 2), lab.new_table(1)
    lab.given("CreateTableScalarIndex", id=table, column="id", index_type="BTREE", name="a")
    for at, name in ((table, "gone"), (other, "others")):
        lab.given("CreateTableBranch", id=at, name=name)
        lab.maybe("InsertIntoTable", stream(people(3)), id=at, branch=name)
        for operation in OPERATIONS.values():  # so that a stale cache would show later
            if operation.action is Action.READ and _takes_branch(operation):
                sensible_call(lab, operation.name, at, branch=name)
    lab.given("DeleteTableBranch", id=table, name="gone")
    before = state(lab, table)
    for name in ("gone", "others"):
        for operation in OPERATIONS.values():
            if not _takes_branch(operation):
                continue
            full = FULL if operation.name == "DescribeTable" else {}
            reply = sensible_call(lab, operation.name, table, branch=name, **full)
            # This call may fail on any branch: storage may manage the versions of the table, and
            # the request names no real manifest.
            if reply.code in (13, 19) and operation.name == "CreateTableVersion":
                continue
            if reply.code not in (0, 4, 11, 22) and not lists_none(lab, table, reply):
                raise Failed(f"{operation.name} on the branch {name} to fail with code 4, 11 or 22",
                             reply.outcome(), reply)  # fmt: skip
    unchanged(lab, before, state(lab, table), "calls on missing branches")
