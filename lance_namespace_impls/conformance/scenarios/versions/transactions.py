"""Transactions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...lab import Lab, Skipped
from ...requirement import check
from .client_commits import managed_table, staged

_TRANSACTION = "rest.yaml, DescribeTransaction and TransactionStatus"
_ALTER = "rest.yaml, AlterTransaction, SetPropertyMode and UnsetPropertyMode"
_TABLES = ["tables"]


def transaction(lab: Lab) -> list[str]:
    """Return the identifier of the transaction in the answer to a commit."""
    reply = lab.call("CreateTableVersion", **staged(lab, managed_table(lab)))
    lab.must_succeed(reply)
    found = (reply.answer or {}).get("transaction_id")
    if not found:
        raise Skipped("commits return no transaction")
    return [str(found)]


@check("LN-TRANSACTION-001",
       "DescribeTransaction reports the transaction of a successful commit as succeeded.",
       _TRANSACTION, "DescribeTransaction", "CreateTableVersion", capabilities=_TABLES)  # fmt: skip
def describe(lab: Lab) -> None:
    status = lab.ok("DescribeTransaction", id=transaction(lab)).get("status")
    lab.same(str(status).lower(), "succeeded", "the status")


@check("LN-TRANSACTION-002",
       "DescribeTransaction and AlterTransaction of an unknown transaction fail with code 10.",
       f"{_TRANSACTION}; protocol semantics, Errors", "DescribeTransaction")  # fmt: skip
def unknown(lab: Lab) -> None:
    missing = [lab.ledger.fresh()]
    reply = lab.call("DescribeTransaction", id=missing)
    if reply.code == 13:  # the identifier may have to include the table
        missing = [*lab.new_table(), *missing]
        reply = lab.call("DescribeTransaction", id=missing)
    lab.must_fail(reply, [10])
    action = {"setPropertyAction": {"key": "a", "value": "b"}}
    lab.refused("AlterTransaction", [10], id=missing, actions=[action])


def properties(lab: Lab, answer: Mapping[str, Any], identifier: list[str]) -> dict[str, str]:
    """Check that an answer and a description agree on a transaction's properties; return them."""
    found = dict(lab.ok("DescribeTransaction", id=identifier).get("properties") or {})
    lab.same(found, dict(answer.get("properties") or {}), "the described properties")
    return found


def setting(key: str, value: str, mode: str | None = None) -> dict[str, Any]:
    """Return an action that sets a property."""
    more = {} if mode is None else {"mode": mode}
    return {"setPropertyAction": {"key": key, "value": value, **more}}


def unsetting(key: str, mode: str | None = None) -> dict[str, Any]:
    """Return an action that unsets a property."""
    return {"unsetPropertyAction": {"key": key, **({} if mode is None else {"mode": mode})}}


@check("LN-TRANSACTION-003",
       "AlterTransaction applies its actions in order, each according to its mode.",
       _ALTER, "AlterTransaction", "DescribeTransaction", capabilities=_TABLES)  # fmt: skip
def alter(lab: Lab) -> None:
    identifier = transaction(lab)
    for actions, due in (
        ([setting("a", "1"), setting("b", "2")], {"a": "1", "b": "2"}),
        ([setting("a", "3")], {"a": "3", "b": "2"}),
        ([setting("a", "4", "Skip"), setting("c", "5", "skip")], {"a": "3", "b": "2", "c": "5"}),
        ([setting("a", "6", "overwrite"), unsetting("c")], {"a": "6", "b": "2", "c": None}),
        ([unsetting("gone"), unsetting("gone", "SKIP")], {"a": "6", "b": "2", "c": None}),
        ([setting("d", "7"), unsetting("d", "Fail"), setting("d", "Ann", "Fail")], {"d": "Ann"}),
    ):
        answer = lab.ok("AlterTransaction", id=identifier, actions=actions)
        found = properties(lab, answer, identifier)
        lab.same({key: found.get(key) for key in due}, due, "the properties")


@check("LN-TRANSACTION-004",
       "AlterTransaction is atomic, and mode Fail rejects setting an existing or unsetting a "
       "missing key.",
       "rest.yaml, AlterTransactionRequest: all or none; SetPropertyMode and UnsetPropertyMode",
       "AlterTransaction", "DescribeTransaction", capabilities=_TABLES)  # fmt: skip
def alter_refused(lab: Lab) -> None:
    identifier = transaction(lab)
    lab.ok("AlterTransaction", id=identifier, actions=[setting("a", "1")])
    before = lab.ok("DescribeTransaction", id=identifier)
    other = {"setStatusAction": {"status": "Canceled"}}
    for codes, wrong in (
        ([13, 14], setting("a", "2", "Fail")), ([13, 14], unsetting("gone", "fail")),
        ([13], setting("a", "2", "sometimes")), ([13], unsetting("a", "sometimes")),
        ([13], {}), ([13], {**setting("a", "2"), **unsetting("a")}),
        ([13], {"setStatusAction": {"status": "sometimes"}}), ([14], other),
    ):  # fmt: skip
        actions = [setting("a", "3"), wrong]
        lab.refused("AlterTransaction", codes, id=identifier, actions=actions)
        after = lab.ok("DescribeTransaction", id=identifier)
        lab.same((after.get("status"), after.get("properties")),
                 (before.get("status"), before.get("properties")), "the transaction")  # fmt: skip
    lab.refused("AlterTransaction", [13], id=identifier, actions=[])


@check("LN-TRANSACTION-005",
       "AlterTransaction changes and returns the properties of the requested transaction.",
       "rest.yaml, AlterTransactionResponse", "AlterTransaction", capabilities=_TABLES)  # fmt: skip
def transaction_each(lab: Lab) -> None:
    one, other = transaction(lab), transaction(lab)
    for identifier, value in ((one, "1"), (other, "2"), (one, "3")):
        found = lab.ok("AlterTransaction", id=identifier, actions=[setting("a", value)])
        if found.get("properties") is not None:
            lab.same(found["properties"].get("a"), value, "the returned property")
    for identifier, value in ((one, "3"), (other, "2")):
        told = lab.call("DescribeTransaction", id=identifier)
        held = (told.answer or {}).get("properties")
        if told.succeeded and held is not None:
            lab.same(held.get("a"), value, "the property of the described transaction")


_WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("AlterTable", {"set_properties": {"a": "1"}}), ("AlterTable", {"set_properties": {"a": "2"}}),
    ("UpdateTable", {"updates": [["name", "'x'"]]}), ("DeleteFromTable", {"predicate": "id = 1"}),
    ("CreateTableTag", {"tag": "t", "version": 1}), ("UpdateTableTag", {"tag": "t", "version": 2}),
    ("DeleteTableTag", {"tag": "t"}), ("CreateTableBranch", {"name": "b"}),
    ("DeleteTableBranch", {"name": "b"}), ("RestoreTable", {"version": 1}),
    ("CreateTableScalarIndex", {"column": "id", "index_type": "BTREE", "name": "i"}),
    ("DropTableIndex", {"index_name": "i"}), ("DropTable", {}),
)  # fmt: skip


@check("LN-TRANSACTION-006", "Each change that reports a transaction reports its own.",
       "rest.yaml, transaction_id: the transaction that made the change", "CreateTable",
       capabilities=_TABLES)  # fmt: skip
def own_transactions(lab: Lab) -> None:
    seen: dict[str, str] = {}
    for _ in range(2):
        table = lab.new_table(1, 2)
        for operation, request in _WRITES:
            reply = lab.call(operation, id=table, **request)
            told = (reply.answer or {}).get("transaction_id") if reply.succeeded else None
            for each in [told] if isinstance(told, str) else told or ():
                lab.that(
                    each not in seen,
                    f"a separate transaction for {operation}",
                    f"the transaction of {seen.get(each)}",
                )
                seen[each] = operation
                found = lab.call("DescribeTransaction", id=[each])
                if found.code == 13:  # its identifier may start with the table's
                    found = lab.call("DescribeTransaction", id=[*table, each])
                if found.code not in (0, 10):
                    lab.must_succeed(found)


@check("LN-TRANSACTION-060", "Each action of AlterTransaction sees the earlier ones, and an "
       "invalid one fails with code 13.",
       "rest.yaml, AlterTransactionRequest: in the specified order, and all or none; AlterTransaction",
       "AlterTransaction", "DescribeTransaction", capabilities=_TABLES)  # fmt: skip
def transactions(lab: Lab) -> None:
    one = transaction(lab)
    told = lab.ok("DescribeTransaction", id=one)
    for actions, due in (
        ([setting("a", "1"), setting("a", "2", "Skip"), setting("b", "")], {"a": "1", "b": ""}),
        ([unsetting("a"), setting("a", "3", "Fail"), setting("a", "4")], {"a": "4", "b": ""}),
        ([unsetting("a", "fail"), unsetting("a"), setting("c", "5", "SKIP")], {"b": "", "c": "5"}),
    ):
        answer, status = lab.ok("AlterTransaction", id=one, actions=actions), told["status"]
        told = lab.ok("DescribeTransaction", id=one)
        for found in (answer, told):
            ours = {k: v for k, v in (found.get("properties") or {}).items() if k in "abc"}
            lab.same((ours, found["status"]), (due, status), "the properties and the status")
    for codes, wrong in (
        ([13, 14], [setting("d", "1"), setting("d", "2", "Fail")]),
        ([13, 14], [unsetting("c"), unsetting("c", "Fail")]),
        ([13], [{"unsetPropertyAction": {}}]),
        ([13], [{"setPropertyAction": {"value": "1"}}]),
        ([13], [{"setStatusAction": {"status": ""}}]),
    ):
        for actions in ([*wrong, setting("e", "1")], [setting("e", "1"), *wrong]):
            lab.refused("AlterTransaction", codes, id=one, actions=actions)
        lab.same(
            lab.ok("DescribeTransaction", id=one), told, "the transaction after a rejected call"
        )
