"""Generated wrong namespaces: missing or additional effects, stale answers, wrong pages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from lance_namespace_client.operations import OPERATIONS, Action
from lance_namespace_impls.conformance.exchange import Reply, Step

from .fields import ANSWER_FIELDS, REQUEST_FIELDS
from .mechanical import Fault
from .python import Act, WrongTarget

__all__ = ["EFFECTS"]

WRITES = [row.name for row in OPERATIONS.values() if row.action is not Action.READ]
READS = [
    row.name
    for row in OPERATIONS.values()
    if row.action is Action.READ and row.name not in ("ListOperations", "ExplainTableQueryPlan",
                                                      "AnalyzeTableQueryPlan")
]  # fmt: skip
LISTINGS = {
    f.operation: f.path[0]
    for f in ANSWER_FIELDS
    if f.operation.startswith("List") and f.type in ("array", "map") and len(f.path) == 1
    and any(r.operation == f.operation and r.path == ("page_token",) for r in REQUEST_FIELDS)
}  # fmt: skip
"""Operations that return pages, with the field of the listed items."""


def of_operation(operation: str, name: str, act: Act) -> Fault:
    """Return a fault that may affect any supported call of an operation."""
    return Fault(f"{operation} {name}", act, lambda s, r: s.operation == operation and r.code != 0)


def on(operation: str, do: Callable[[WrongTarget, Step], Reply | None]) -> Act:
    return lambda target, step: do(target, step) if step.operation == operation else None


def record_fault(target: WrongTarget, wrong: bool) -> None:
    """Record whether a fault changed anything."""
    target.memory["wrong"] = target.memory.get("wrong", False) or wrong


def id_of(step: Step) -> Any:
    return step.request.get("id")


def plausible(target: WrongTarget, step: Step) -> Reply:
    """Return a plausible answer to a call without executing the call."""
    now = target.ask("DescribeTable", id=id_of(step), load_detailed_metadata=True).answer or {}
    version = (now.get("version") or 0) + 1
    parent, request = id_of(step) or [], step.request
    values: dict[str, Any] = {
        "version": version,
        "location": now.get("location") or "/tables/" + "/".join(map(str, parent)),
        "properties": {**(now.get("properties") or {}), **(request.get("properties") or {}),
                       **(request.get("set_properties") or {})},
        "metadata": request.get("metadata") or {},
        "fields": {u["path"]: u["metadata"] for u in request.get("updates") or ()
                   if isinstance(u, dict)},
        "updated_rows": 1, "num_inserted_rows": 1, "num_updated_rows": 0, "num_deleted_rows": 0,
        "deleted_count": 1, "status": "RUNNING",
        "id": id_of(step), "results": [{} for _ in request.get("operations") or ()],
    }  # fmt: skip
    if step.operation == "CreateTableVersion":
        values["version"] = {k: request.get(k) for k in ("version", "manifest_path")}
    values["versions"] = [
        {k: e.get(k) for k in ("version", "manifest_path")} for e in request.get("entries") or ()
    ]
    keys = {f.path[0] for f in ANSWER_FIELDS if f.operation == step.operation}
    return Reply(step=step, answer={k: v for k, v in values.items() if k in keys})


def _effects() -> Iterator[Fault]:
    for operation in WRITES:

        def nothing(target: WrongTarget, step: Step) -> Reply | None:
            return plausible(target, step)

        def twice(target: WrongTarget, step: Step) -> Reply | None:
            reply = target.correct.call(step)
            if reply.succeeded:
                record_fault(target, target.correct.call(step).succeeded)
            return reply

        def first_only(target: WrongTarget, step: Step) -> Reply | None:
            key = repr(id_of(step))
            if key in target.memory:
                return plausible(target, step)
            reply = target.correct.call(step)
            if reply.succeeded:
                target.memory[key] = True
            return reply

        def not_first(target: WrongTarget, step: Step) -> Reply | None:
            key = repr(id_of(step))
            if target.memory.setdefault(key, 0) == 0:
                target.memory[key] += 1
                return plausible(target, step)
            return None

        def reports_conflict(target: WrongTarget, step: Step) -> Reply | None:
            reply = target.correct.call(step)
            target.memory["n"] = target.memory.get("n", 0) + reply.succeeded
            if reply.succeeded and target.memory["n"] > 3:
                return Reply(step=step, code=14, message="changed meanwhile")
            return reply

        def rejected_with_effect(do: Callable[[WrongTarget, Step], Reply]) -> Act:
            def act(target: WrongTarget, step: Step) -> Reply | None:
                reply = target.correct.call(step)
                if reply.code is not None and reply.code != 0:
                    record_fault(target, do(target, step).succeeded)
                return reply

            return act

        yield of_operation(operation, "does nothing", on(operation, nothing))
        yield Fault(
            f"{operation} works twice",
            on(operation, twice),
            lambda s, r, o=operation: s.operation == o and r.succeeded,
            tells=True,
        )
        yield of_operation(operation, "works once an object", on(operation, first_only))
        yield of_operation(operation, "does nothing at first", on(operation, not_first))
        yield of_operation(
            operation, "works and fails with code 14", on(operation, reports_conflict)
        )
        for name, do in {
            "leaves a version": lambda t, s: t.ask(
                "UpdateTableSchemaMetadata", id=id_of(s), metadata={"kit": "1"}),
            "leaves a property": lambda t, s: t.ask(
                "AlterTable", id=id_of(s), set_properties={"kit": "1"}),
            "leaves a property of a namespace": lambda t, s: t.ask(
                "AlterNamespace", id=id_of(s), set_properties={"kit": "1"}),
            "leaves a declared table": lambda t, s: t.ask("DeclareTable", id=id_of(s)),
            "leaves a namespace": lambda t, s: t.ask("CreateNamespace", id=id_of(s)),
            "leaves no rows": lambda t, s: t.ask("DeleteFromTable", id=id_of(s), predicate="true"),
            "leaves no table": lambda t, s: t.ask("DeregisterTable", id=id_of(s)),
        }.items():  # fmt: skip
            yield Fault(
                f"{operation} refused {name}",
                on(operation, rejected_with_effect(do)),
                lambda s, r, o=operation: s.operation == o and r.code not in (None, 0),
                tells=True,
            )


def _differ(first: Reply, second: Reply) -> bool:
    if first.rows is not None and second.rows is not None:
        return not first.rows.equals(second.rows)
    return (_comparable(first), first.code) != (_comparable(second), second.code)


def _comparable(reply: Reply) -> Any:
    """Return an answer without the parts that may differ between equal reads."""
    answer = dict(reply.answer or {})
    answer.pop("page_token", None)
    if "indexes" in answer:  # Lance lists the settings of an index in any order
        answer["indexes"] = [
            {k: v for k, v in index.items() if k != "index_details"}
            for index in answer["indexes"] or ()
        ]
    return answer


def _stale_faults() -> Iterator[Fault]:
    """Yield faults whose read returns the same stale answer after one kind of write."""
    for read in READS:
        for write in WRITES:

            def of(
                memory: dict[str, Any],
                step: Step,
                reply: Reply,
                read: str = read,
                write: str = write,
            ) -> Reply:
                if step.operation != read:
                    if step.operation != write and step.operation in WRITES:
                        memory.clear()
                    return reply
                key = repr(sorted(step.request.items(), key=repr))
                before = memory.setdefault(key, reply) if reply.succeeded else memory.get(key)
                return before if before is not None and _differ(before, reply) else reply

            def act(target: WrongTarget, step: Step, of: Any = of) -> Reply | None:
                reply = target.correct.call(step)
                found = of(target.memory.setdefault("kept", {}), step, reply)
                record_fault(target, found is not reply)
                return evolve(found, step=step)

            seen: dict[str, Reply] = {}

            def touches(step: Step, reply: Reply, of: Any = of, seen: Any = seen) -> bool:
                return of(seen, step, reply) is not reply

            yield Fault(f"{read} remembered over {write}", act, touches, tells=True)


def _items(value: Any, take: slice) -> Any:
    return dict(list(value.items())[take]) if isinstance(value, dict) else value[take]


def _page(
    operation: str,
    key: str,
    name: str,
    change: Callable[[Any], Any],
    when: Callable[[Step, Any], bool],
) -> Fault:
    def due(step: Step, reply: Reply) -> bool:
        answer = reply.answer or {}
        listed = step.operation == operation and bool(answer.get(key))
        return listed and when(step, answer) and change(answer) != answer

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        reply = target.correct.call(step)
        return evolve(reply, answer=change(reply.answer)) if due(step, reply) else reply

    return Fault(f"{operation} {name}", act, due)


def _pages() -> Iterator[Fault]:
    for operation, key in LISTINGS.items():

        def more(step: Step, answer: Any) -> bool:
            return bool(answer.get("page_token"))

        def last(step: Step, answer: Any) -> bool:
            return bool(step.request.get("page_token")) and not answer.get("page_token")

        def unlimited(step: Step, answer: Any) -> bool:
            return not step.request.get("limit")

        for name, change, when in (
            ("loses the last of a page", lambda a, k=key: {**a, k: _items(a[k], slice(-1))}, more),
            ("loses the first of a page", lambda a, k=key: {**a, k: _items(a[k], slice(1, None))},
             lambda s, a: bool(s.request.get("page_token"))),
            ("loses the last page", lambda a, k=key: {**a, k: _items(a[k], slice(0))}, last),
            ("ends after a page", lambda a: {k: v for k, v in a.items() if k != "page_token"}, more),
            ("ends with an empty token", lambda a: {**a, "page_token": ""},
             lambda s, a: not a.get("page_token")),
            ("loses the last without a limit", lambda a, k=key: {**a, k: _items(a[k], slice(-1))}, unlimited),
            ("is cut at three without a limit", lambda a, k=key: {**a, k: _items(a[k], slice(3))}, unlimited),
        ):  # fmt: skip
            yield _page(operation, key, name, change, when)


CREATES = {
    "CreateNamespace": ("NamespaceExists", 2), "CreateTable": ("TableExists", 5),
    "DeclareTable": ("TableExists", 5), "RegisterTable": ("TableExists", 5),
    "CreateTableTag": ("GetTableTagVersion", 9), "CreateTableBranch": ("ListTableBranches", 23),
    "RenameTable": ("TableExists", 4), "DropTable": ("TableExists", 4),
    "DeregisterTable": ("TableExists", 4), "DropNamespace": ("NamespaceExists", 1),
    "DeleteTableTag": ("GetTableTagVersion", 8), "DeleteTableBranch": ("ListTableBranches", 22),
    "CreateTableVersion": ("DescribeTableVersion", 14), "DropTableIndex": ("ListTableIndices", 6),
    "CreateTableScalarIndex": ("ListTableIndices", 7),
}  # fmt: skip
GAP_SECONDS = 0.3


def _concurrent_faults() -> Iterator[Fault]:
    """Yield faults of concurrent calls: both succeed, or one change is lost."""
    for operation, (_, code) in CREATES.items():

        def act(
            target: WrongTarget, step: Step, operation: str = operation, code: int = code
        ) -> Reply | None:
            if step.operation != operation:
                return None
            lock = target.memory.setdefault("lock", threading.Lock())
            key = repr((id_of(step), step.request.get("tag"), step.request.get("name")))
            with lock:
                under_way = target.memory.setdefault(key, [])
                under_way.append(time.monotonic())
            reply = target.correct.call(step)
            recent = [t for t in under_way if time.monotonic() - t < GAP_SECONDS]
            if reply.code == code and len(recent) > 1:
                return plausible(target, step)
            return reply

        yield Fault(
            f"{operation} at once succeeds twice", act, lambda s, r, o=operation: s.operation == o
        )
    for operation in ("AlterNamespace", "AlterTable"):

        def lost(target: WrongTarget, step: Step, operation: str = operation) -> Reply | None:
            if step.operation != operation:
                return None
            read = "DescribeTable" if operation == "AlterTable" else "DescribeNamespace"
            old = (target.ask(read, id=id_of(step)).answer or {}).get("properties") or {}
            time.sleep(0.02)
            reply = target.correct.call(step)
            if reply.succeeded:
                now = (target.ask(read, id=id_of(step)).answer or {}).get("properties") or {}
                foreign = set(now) - set(old) - set(step.request.get("set_properties") or ())
                if foreign:
                    target.ask(operation, id=id_of(step), unset_properties=sorted(foreign))
            return reply

        yield Fault(
            f"{operation} at once loses one change",
            lost,
            lambda s, r, o=operation: s.operation == o,
        )


def _all() -> Iterator[Fault]:
    yield from _effects()
    yield from _stale_faults()
    yield from _pages()
    yield from _concurrent_faults()


EFFECTS = {fault.name: fault for fault in _all()}
