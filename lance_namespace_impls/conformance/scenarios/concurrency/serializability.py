"""Concurrent calls have the results of some sequential order."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from ...lab import Lab, Skipped
from ...oracle import Call, Rows, value_of
from ...orders import at_once, explain, start
from ...player import step_of
from ...requirement import check
from ...rows import plain

_ORDER = "rest.yaml, the operations; protocol semantics, Modes and Errors, code 14"
_TABLES = ["tables"]
ROUNDS = 4
COLUMNS = ("id", "name")
_PAIRS = (
    "drop leave", "leave leave", "move declare", "move claim", "move back", "move leave", "add add",
    "add more", "add take", "take take", "restore restore", "restore insert", "restore delete",
)  # fmt: skip


def people_of(*numbers: int) -> Rows:
    """Return rows with the columns id and name."""
    return Rows({name: tuple(value_of(name, n) for n in numbers) for name in COLUMNS})


def race(
    lab: Lab,
    make: Callable[[random.Random], tuple[Sequence[Call], Sequence[Call], Sequence[Call]]],
) -> None:
    """Make rounds of concurrent calls, and check that a serial order explains each round.

    Args:
        lab: the test bench.
        make: returns the preparing calls, the concurrent calls and the reads that follow.
    """
    chance = random.Random(lab.seed)
    for _ in range(ROUNDS):
        before, calls, reads = make(chance)
        tree = start(lab, before)
        replies = at_once(lab, [step_of(call) for call in calls])
        for reply in replies:
            if reply.code == 0 and reply.step.operation not in lab.worked:
                raise Skipped(reply.outcome())
        explain(lab, tree, calls, replies, reads)


def _query(lab: Lab, table: list[str]) -> Call:
    return Call("QueryTable", {"id": table, "vector": lab.no_vector(), "k": 1000})


@check("LN-ORDER-001", "Concurrent CreateTable calls in modes Create and ExistOk are serializable.",
       _ORDER, "CreateTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def create_create(lab: Lab) -> None:
    lab.maybe("CreateTable", plain(1), id=lab.table_id(), mode="ExistOk")

    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        table = lab.table_id()
        calls = [
            Call("CreateTable", {"id": table, "mode": chance.choice(("Create", "ExistOk"))}, rows)
            for rows in (people_of(1), people_of(2, 3), people_of(4, 5, 6))
        ]
        return [], calls, [_query(lab, table)]

    race(lab, make)


@check("LN-ORDER-002",
       "Concurrent DeclareTable and DropTable calls for one table are serializable.", _ORDER,
       "DeclareTable", "DropTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def declare_drop(lab: Lab) -> None:
    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        request = {"id": lab.table_id()}
        calls = [Call("DeclareTable", request), Call("DropTable", request)]
        calls.append(Call(chance.choice(("DropTable", "DeclareTable")), request))
        before = [Call("DeclareTable", request)] if chance.randrange(2) else []
        return before, calls, [Call("DescribeTable", request)]

    race(lab, make)


@check("LN-ORDER-003",
       "Concurrent CreateNamespace and DropNamespace calls for one namespace are serializable.",
       _ORDER, "CreateNamespace", "DropNamespace", "DescribeNamespace",
       capabilities=["namespaces"])  # fmt: skip
def namespace_create_drop(lab: Lab) -> None:
    lab.maybe("CreateNamespace", id=lab.namespace_id(), mode="ExistOk")

    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        request = {"id": lab.namespace_id()}
        calls = [
            Call("CreateNamespace", request),
            Call("DropNamespace", {**request, "mode": "Skip"}),
            Call("CreateNamespace", {**request, "mode": chance.choice(("Create", "ExistOk"))}),
        ]
        before = [Call("CreateNamespace", request)] if chance.randrange(2) else []
        return before, calls, [Call("DescribeNamespace", request)]

    race(lab, make)


def _alterations(operation: str, request: dict[str, list[str]]) -> list[Call]:
    return [
        Call(operation, {**request, "set_properties": {"k0": "one", "k1": "one"}}),
        Call(operation, {**request, "set_properties": {"k2": "two"}, "unset_properties": ["k0"]}),
        Call(operation, {**request, "set_properties": {"k1": "three"}}),
    ]


@check("LN-ORDER-004", "Concurrent changes of a namespace's properties are serializable.", _ORDER,
       "AlterNamespace", "DescribeNamespace", capabilities=["namespaces"])  # fmt: skip
def alter_namespace(lab: Lab) -> None:
    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        request = {"id": lab.namespace_id()}
        return (
            [Call("CreateNamespace", request)],
            _alterations("AlterNamespace", request),
            [Call("DescribeNamespace", request)],
        )

    race(lab, make)


@check("LN-ORDER-005", "Concurrent changes of a table's properties are serializable.", _ORDER,
       "AlterTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def alter_table(lab: Lab) -> None:
    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        request = {"id": lab.table_id()}
        return (
            [Call("DeclareTable", request)],
            _alterations("AlterTable", request),
            [Call("DescribeTable", request)],
        )

    race(lab, make)


@check("LN-ORDER-006", "Concurrent appends and overwrites are serializable.", _ORDER, "CreateTable",
       "InsertIntoTable", "QueryTable", capabilities=_TABLES)  # fmt: skip
def append_overwrite(lab: Lab) -> None:
    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        table = lab.table_id()
        calls = [
            Call("InsertIntoTable", {"id": table, "mode": mode}, people_of(number))
            for mode, number in (("append", 5), ("overwrite", 6), ("append", 7))
        ]
        return [Call("CreateTable", {"id": table}, people_of(1))], calls, [_query(lab, table)]

    race(lab, make)


@check("LN-ORDER-007", "Concurrent updates and deletions of the same rows are serializable.",
       _ORDER, "CreateTable", "UpdateTable", "DeleteFromTable", "QueryTable",
       capabilities=_TABLES)  # fmt: skip
def update_delete(lab: Lab) -> None:
    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        request = {"id": lab.table_id()}
        calls = [
            Call("UpdateTable", {**request, "updates": [["name", "'a'"]], "predicate": "id > 1"}),
            Call("DeleteFromTable", {**request, "predicate": "id > 2"}),
            Call("UpdateTable", {**request, "updates": [["name", "'b'"]], "predicate": "id <= 3"}),
        ]
        before = [Call("CreateTable", request, people_of(1, 2, 3, 4))]
        return before, calls, [_query(lab, request["id"])]

    race(lab, make)


@check("LN-ORDER-008", "Concurrent creations of one tag with different versions are serializable.",
       _ORDER, "CreateTable", "InsertIntoTable", "CreateTableTag", "GetTableTagVersion",
       "ListTableVersions", capabilities=_TABLES)  # fmt: skip
def tag_tag(lab: Lab) -> None:
    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        request = {"id": lab.table_id()}
        before = [
            Call("CreateTable", request, people_of(1)),
            Call("InsertIntoTable", {**request, "mode": "append"}, people_of(2)),
            Call("ListTableVersions", request),
        ]
        calls = [Call("CreateTableTag", {**request, "tag": "t", "version": n}) for n in (1, 2)]
        return before, calls, [Call("GetTableTagVersion", {**request, "tag": "t"})]

    race(lab, make)


@check("LN-ORDER-009", "Concurrent RenameTable and DropTable calls for one table are serializable.",
       _ORDER, "DeclareTable", "RenameTable", "DropTable", "DescribeTable",
       capabilities=_TABLES)  # fmt: skip
def rename_drop(lab: Lab) -> None:
    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        request, new = {"id": lab.table_id()}, lab.table_id()
        calls = [
            Call("RenameTable", {**request, "new_table_name": new[-1]}),
            Call("DropTable", request),
        ]
        reads = [Call("DescribeTable", request), Call("DescribeTable", {"id": new})]
        return [Call("DeclareTable", request)], calls, reads

    race(lab, make)


@check("LN-ORDER-010", "Two concurrent CreateTableBranch calls create a branch once.", _ORDER,
       "CreateTable", "CreateTableBranch", "ListTableBranches", capabilities=_TABLES)  # fmt: skip
def branch_branch(lab: Lab) -> None:
    def make(chance: random.Random) -> tuple[list[Call], list[Call], list[Call]]:
        request = {"id": lab.table_id()}
        calls = [Call("CreateTableBranch", {**request, "name": "side"})] * 2
        before = [Call("CreateTable", request, people_of(1))]
        return before, calls, [Call("ListTableBranches", request)]

    race(lab, make)


@check("LN-ORDER-060",
       "Any two concurrent changes to a table or its catalog entry match some sequential order.",
       _ORDER,
       "CreateTable", "InsertIntoTable", "QueryTable", "DescribeTable", capabilities=_TABLES)  # fmt: skip
def meeting(lab: Lab) -> None:
    for pair in _PAIRS * 2:
        a, b = {"id": lab.table_id()}, {"id": lab.table_id()}
        add, more = ({"name": name, "expression": "id + 1"} for name in ("c1", "c2"))
        calls = {
            "drop": Call("DropTable", a),
            "leave": Call("DeregisterTable", a),
            "declare": Call("DeclareTable", a),
            "claim": Call("DeclareTable", b),
            "move": Call("RenameTable", {**a, "new_table_name": b["id"][-1]}),
            "back": Call("RenameTable", {**b, "new_table_name": a["id"][-1]}),
            "add": Call("AlterTableAddColumns", {**a, "new_columns": [add]}),
            "more": Call("AlterTableAddColumns", {**a, "new_columns": [more]}),
            "take": Call("AlterTableDropColumns", {**a, "columns": ["name"]}),
            "restore": Call("RestoreTable", {**a, "version": 1}),
            "insert": Call("InsertIntoTable", {**a, "mode": "append"}, people_of(4)),
            "delete": Call("DeleteFromTable", {**a, "predicate": "id = 1"}),
        }
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
