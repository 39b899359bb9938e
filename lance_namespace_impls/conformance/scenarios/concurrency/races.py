"""Concurrent calls: exactly one succeeds, or all have their effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...exchange import Reply, Step
from ...lab import Failed, Lab, Skipped
from ...orders import at_once
from ...requirement import check
from ...rows import PEOPLE, people, plain, stream

_ONE = "general specification, Object Name: a name is unique in its namespace"
_COMMITS = "Lance table format: commits are atomic; protocol semantics, Errors, code 14"
ROUNDS = 4
_TABLES = ["tables"]
ALL = list(PEOPLE)


def one_wins(lab: Lab, replies: list[Reply], losers: list[int]) -> None:
    """Judge calls of which exactly one may succeed; code 14 asks the caller to retry."""
    won = [reply for reply in replies if reply.succeeded]
    for reply in replies:
        if reply.code == 0 and reply.step.operation not in lab.worked:
            raise Skipped(reply.outcome())
        if not reply.succeeded and reply.code not in (*losers, 14):
            due = ", ".join(map(str, (*losers, 14)))
            raise Failed(f"each losing call to fail with code {due}", reply.outcome(), reply)
    if len(won) != 1:
        raise Failed("exactly one call to succeed", f"{len(won)} did", lab.last)


def _race(lab: Lab, make: Callable[[int], list[Step]], losers: list[int]) -> None:
    for number in range(ROUNDS):
        one_wins(lab, at_once(lab, make(number)), losers)


@check("LN-RACE-001",
       "Of several concurrent DeclareTable calls for one name, exactly one succeeds.", _ONE,
       "DeclareTable", capabilities=["tables"])  # fmt: skip
def declare(lab: Lab) -> None:
    def make(number: int) -> list[Step]:
        identifier = lab.table_id()
        return [Step("DeclareTable", {"id": identifier})] * 3

    _race(lab, make, [5])


@check("LN-RACE-002", "Of several concurrent CreateTable calls for one name, exactly one succeeds.",
       _ONE,
       "CreateTable", "CountTableRows", capabilities=["tables"])  # fmt: skip
def create(lab: Lab) -> None:
    for _ in range(ROUNDS):
        identifier = lab.table_id()
        steps = [Step("CreateTable", {"id": identifier}, plain(*range(n))) for n in (1, 2, 3)]
        replies = at_once(lab, steps)
        one_wins(lab, replies, [5])
        winner = next(n for n, reply in enumerate(replies, start=1) if reply.succeeded)
        lab.same(lab.count(identifier), winner, "the number of rows")


@check("LN-RACE-003",
       "Of several concurrent CreateNamespace calls for one name, exactly one succeeds.",
       _ONE, "CreateNamespace", capabilities=["namespaces"])  # fmt: skip
def create_namespace(lab: Lab) -> None:
    def make(number: int) -> list[Step]:
        return [Step("CreateNamespace", {"id": lab.namespace_id()})] * 3

    _race(lab, make, [2])


@check("LN-RACE-004", "Of several concurrent DropTable calls for one table, exactly one succeeds.",
       "rest.yaml, DropTable: repeating a successful call results in TableNotFound", "DropTable",
       capabilities=["tables"])  # fmt: skip
def drop(lab: Lab) -> None:
    def make(number: int) -> list[Step]:
        return [Step("DropTable", {"id": lab.any_table()})] * 3

    _race(lab, make, [1, 4])


@check("LN-RACE-005",
       "The rows of all concurrent appends are stored, even if the appends are equal.",
       _COMMITS, "InsertIntoTable",
       "QueryTable", "CreateTable", capabilities=["tables"])  # fmt: skip
def append(lab: Lab) -> None:
    table = lab.new_table()
    expected, made = list(PEOPLE), list[int | None]()
    for number in range(ROUNDS):
        # In every other round, the requests are equal; each of them is still an append.
        ids = [100 + number * 3 + k * (number % 2) for k in range(3)]
        steps = [Step("InsertIntoTable", {"id": table}, stream(people(i))) for i in ids]
        replies = at_once(lab, steps)
        for i, reply in zip(ids, replies, strict=True):
            if reply.succeeded:
                expected.append(i)
                made.append((reply.answer or {}).get("version"))
            elif reply.code == 0 and "InsertIntoTable" not in lab.worked:
                raise Skipped(reply.outcome())
            elif reply.code not in (14, 17, 21):
                raise Failed("an append to succeed or fail with code 14", reply.outcome(), reply)
    lab.same(lab.ids(table), sorted(expected), "the ids")
    told = [version for version in made if version is not None]
    lab.that(len(set(told)) == len(told), "a separate version for each append", sorted(told))


@check("LN-RACE-006",
       "Of several concurrent RenameTable calls to one new name, exactly one succeeds.", _ONE,
       "RenameTable", capabilities=["tables"])  # fmt: skip
def rename(lab: Lab) -> None:
    for _ in range(ROUNDS):
        tables, new = [lab.any_table() for _ in range(2)], lab.ledger.fresh()
        steps = [Step("RenameTable", {"id": t, "new_table_name": new}) for t in tables]
        replies = at_once(lab, steps)
        one_wins(lab, replies, [5])
        for table, reply in zip(tables, replies, strict=True):
            there = lab.exists("TableExists", table)
            lab.same(there, not reply.succeeded, f"whether {table[-1]} still has its old name")


@check("LN-RACE-007",
       "Concurrent changes of different properties are all stored, or fail with code 14.",
       "rest.yaml, AlterNamespace; protocol semantics, Errors, code 14", "AlterNamespace",
       capabilities=["namespaces"])  # fmt: skip
def alter(lab: Lab) -> None:
    namespace = lab.new_namespace()
    lab.maybe("AlterNamespace", id=namespace, set_properties={"first": "x"})
    expected = {"first": "x"}
    for number in range(ROUNDS):
        keys = [f"k{number}a", f"k{number}b"]
        request = {"id": namespace}
        steps = [Step("AlterNamespace", {**request, "set_properties": {k: "x"}}) for k in keys]
        for key, reply in zip(keys, at_once(lab, steps), strict=True):
            if reply.succeeded:
                expected[key] = "x"
            elif reply.code != 14:
                raise Failed("a change to succeed or fail with code 14", reply.outcome(), reply)
    found = lab.ok("DescribeNamespace", id=namespace).get("properties")
    lab.has(found, expected, "the properties")


@check("LN-RACE-012", "Each of several concurrent reads of one table returns its own result.",
       "rest.yaml, QueryTable and CountTableRows", "QueryTable", "CountTableRows", "CreateTable",
       capabilities=["tables"])  # fmt: skip
def reads(lab: Lab) -> None:
    table = lab.shared_table()
    query = {"id": table, "vector": lab.no_vector(), "k": 100}
    for _ in range(ROUNDS):
        asked = [Step("QueryTable", {**query, "filter": f"id = {i}"}) for i in (1, 2, 3)]
        counted = [Step("CountTableRows", {"id": table, "predicate": f"id <= {i}"}) for i in (1, 2)]
        replies = at_once(lab, [*asked, *counted])
        for reply in replies:
            lab.may_refuse(reply)
        found = [reply.rows.column("id").to_pylist() for reply in replies[:3]]
        lab.same(found, [[1], [2], [3]], "the ids in each query")
        counts = [(reply.answer or {}).get("count") for reply in replies[3:]]
        lab.same(counts, [1, 2], "the counts")


def _step(operation: str, request: dict[str, Any], data: bytes | None = None) -> Any:
    return Step(operation, request, data)


@check("LN-RACE-008",
       "Exactly one of several concurrent DropNamespace calls for one namespace succeeds.",
       "rest.yaml, DropNamespace: a missing namespace results in NamespaceNotFound",
       "DropNamespace", capabilities=["namespaces"])  # fmt: skip
def drop_namespace_race(lab: Lab) -> None:
    probe = lab.call("DropNamespace", id=lab.namespace_id())
    if probe.succeeded:
        return  # dropping a missing namespace succeeds here
    for _ in range(4):
        request = {"id": lab.new_namespace()}
        one_wins(lab, at_once(lab, [_step("DropNamespace", request)] * 3), [1])


@check("LN-RACE-009", "Exactly one of several concurrent RenameTable calls for one table succeeds.",
       "rest.yaml, RenameTable: a missing table results in TableNotFound", "RenameTable",
       capabilities=_TABLES)  # fmt: skip
def rename_race(lab: Lab) -> None:
    for _ in range(4):
        table = lab.any_table()
        steps = [
            _step("RenameTable", {"id": table, "new_table_name": lab.ledger.fresh()})
            for _ in range(3)
        ]
        one_wins(lab, at_once(lab, steps), [4])


@check("LN-RACE-010",
       "Exactly one of several concurrent RegisterTable calls for one name succeeds.", _ONE,
       "RegisterTable", "DeregisterTable", "DescribeTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def register_race(lab: Lab) -> None:
    for _ in range(4):
        table = lab.new_table()
        location = lab.ok("DescribeTable", id=table).get("location")
        lab.given("DeregisterTable", id=table)
        step = _step("RegisterTable", {"id": table, "location": location})
        replies = at_once(lab, [step] * 3)
        if any(reply.code == 13 for reply in replies):
            return  # the location cannot be registered, which another check reports
        one_wins(lab, replies, [5])


def _judged(lab: Lab, steps: list[Any]) -> list[Any]:
    replies = at_once(lab, steps)
    for reply in replies:
        if reply.code == 0 and reply.step.operation not in lab.worked:
            raise Skipped(f"{reply.step.operation}: {reply.outcome()}")
        if not reply.succeeded and reply.code not in (14, 17, 21):
            raise Failed("a write to succeed or fail with code 14", reply.outcome(), reply)
    return replies


@check("LN-RACE-011", "Each of several concurrent updates, deletions and merges takes effect or "
       "fails with code 14.",
       "Lance table format: commits are atomic; protocol semantics, Errors, code 14",
       "UpdateTable", "DeleteFromTable", "MergeInsertIntoTable", "QueryTable", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def commits_race(lab: Lab) -> None:
    for number in range(4):
        table = lab.new_table()
        names = {i: f"n{i}" for i in ALL}
        steps = [
            _step("UpdateTable", {"id": table, "predicate": "id = 1", "updates": [["name", "'a'"]]}),
            _step("UpdateTable", {"id": table, "predicate": "id = 2", "updates": [["name", "'b'"]]}),
            _step("DeleteFromTable", {"id": table, "predicate": "id = 3"}),
            _step("DeleteFromTable", {"id": table, "predicate": "id = 4"}),
        ]  # fmt: skip
        merged = 20 + number
        for key in (merged, merged + 10):
            request = {"id": table, "on": "id", "when_not_matched_insert_all": True}
            steps.append(_step("MergeInsertIntoTable", request, stream(people(key))))
        done = [reply.succeeded for reply in _judged(lab, steps)]
        changes: list[dict[int, str | None]] = [
            {1: "a"}, {2: "b"}, {3: None}, {4: None}, {merged: f"n{merged}"},
            {merged + 10: f"n{merged + 10}"},
        ]  # fmt: skip
        for succeeded, change in zip(done, changes, strict=True):
            for key, value in change.items() if succeeded else ():
                if value is None:
                    names.pop(key, None)
                else:
                    names[key] = value
        found = {row["id"]: row["name"] for row in lab.query(table).to_pylist()}
        lab.same(found, names, "the names")
