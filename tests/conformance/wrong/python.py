"""Handwritten wrong namespaces: each has one fault and names the check that catches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.rows import people, stream

__all__ = ["WRONG", "Wrong", "WrongTarget"]

Act = Callable[["WrongTarget", Step], Reply | None]


@frozen
class Wrong:
    """One fault, with the check of the rule that it breaks."""

    name: str
    caught_by: str
    act: Act
    """Return a wrong reply to a call, or None to let the correct namespace reply."""


class WrongTarget:
    """A correct target behind one fault."""

    kind = "python"

    def __init__(self, correct: Target, act: Act) -> None:
        self.correct = correct
        self.act = act
        self.name = correct.name
        self.kind = correct.kind  # type: ignore[misc]
        self.memory: dict[str, Any] = {}

    def call(self, step: Step) -> Reply:
        found = self.act(self, step)
        return self.correct.call(step) if found is None else found

    def ask(self, operation: str, data: bytes | None = None, /, **request: Any) -> Reply:
        return self.correct.call(Step(operation, request, data))

    def close(self) -> None:
        self.correct.close()


WRONG: dict[str, Wrong] = {}


def wrong(name: str, caught_by: str) -> Callable[[Act], Act]:
    def add(act: Act) -> Act:
        assert name not in WRONG, name
        WRONG[name] = Wrong(name, caught_by, act)
        return act

    return add


def add(name: str, caught_by: str, act: Act) -> None:
    wrong(name, caught_by)(act)


# --- building blocks


def code_instead(operation: str, before: int, after: int) -> Act:
    """Return an act that replaces an error code with another."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        reply = target.correct.call(step)
        return evolve(reply, code=after) if reply.code == before else reply

    return act


def succeeds_instead(operation: str, before: int) -> Act:
    """Return an act that replaces an error code with success."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        reply = target.correct.call(step)
        return Reply(step=step, answer={}) if reply.code == before else reply

    return act


def without(operation: str, *fields: str, when: Callable[[Step], bool] = lambda s: True) -> Act:
    """Return an act that ignores fields of the request."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation or not when(step):
            return None
        request = {k: v for k, v in step.request.items() if k not in fields}
        return evolve(target.correct.call(evolve(step, request=request)), step=step)

    return act


def with_field(operation: str, **more: Any) -> Act:
    """Return an act that sets fields of the request."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        changed = evolve(step, request={**step.request, **more})
        return evolve(target.correct.call(changed), step=step)

    return act


def answer(operation: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Act:
    """Return an act that changes the answer of an operation."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        reply = target.correct.call(step)
        if not reply.succeeded or reply.answer is None:
            return reply
        return evolve(reply, answer=change(dict(reply.answer)))

    return act


def rows(change: Callable[[Any], Any]) -> Act:
    """Return an act that changes the rows of a query."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        reply = target.correct.call(step)
        return evolve(reply, rows=change(reply.rows)) if reply.rows is not None else reply

    return act


def no_effect(operation: str, reply: dict[str, Any] | None = None) -> Act:
    """Return an act that reports success but does nothing."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        return Reply(step=step, answer=reply or {}) if step.operation == operation else None

    return act


def instead(operation: str, other: str, **more: Any) -> Act:
    """Return an act that executes another operation instead."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        reply = target.ask(other, step.data, **{**step.request, **more})
        return evolve(reply, step=step)

    return act


def body_instead(operation: str, change: Callable[[bytes], bytes]) -> Act:
    """Return an act that changes the request body before it is stored."""

    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation or step.data is None:
            return None
        return evolve(target.correct.call(evolve(step, data=change(step.data))), step=step)

    return act


def table_of(data: bytes) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all()


def some_rows(take: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        try:
            return stream(take(table_of(data)))
        except (ValueError, OSError):
            return data

    return change


# --- namespaces

add("create makes no namespace", "LN-NAMESPACE-CREATE-001", no_effect("CreateNamespace"))
add(
    "existing namespace succeeds", "LN-NAMESPACE-CREATE-002", succeeds_instead("CreateNamespace", 2)
)
add(
    "existing namespace is code 5", "LN-NAMESPACE-CREATE-002", code_instead("CreateNamespace", 2, 5)
)
add("existing namespace is code 13", "LN-NAMESPACE-CREATE-002",
    code_instead("CreateNamespace", 2, 13))  # fmt: skip
add("default mode is ExistOk", "LN-NAMESPACE-CREATE-003",
    lambda t, s: with_field("CreateNamespace", mode="ExistOk")(t, s)
    if "mode" not in s.request else None)  # fmt: skip
add("create answers no properties", "LN-NAMESPACE-CREATE-004",
    answer("CreateNamespace", lambda a: {}))  # fmt: skip
add("namespace properties are dropped", "LN-NAMESPACE-CREATE-005",
    without("CreateNamespace", "properties"))  # fmt: skip
add("mode of CreateNamespace is ignored", "LN-NAMESPACE-CREATE-008",
    lambda t, s: Reply(step=s, answer={}) if s.operation == "CreateNamespace"
    and str(s.request.get("mode")).lower() == "existok" else None)  # fmt: skip


@wrong("ExistOk takes the new properties over", "LN-NAMESPACE-CREATE-006")
def exist_ok_alters(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateNamespace" or step.request.get("mode") != "ExistOk":
        return None
    reply = target.correct.call(step)
    new = step.request.get("properties")
    if new:
        target.ask("AlterNamespace", id=step.request["id"], set_properties=new)
    return reply


@wrong("ExistOk answers the properties of the request", "LN-NAMESPACE-CREATE-007")
def exist_ok_echoes(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateNamespace" or not step.request.get("properties"):
        return None
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    return evolve(reply, answer={"properties": dict(step.request["properties"])})


@wrong("Overwrite keeps the old properties", "LN-NAMESPACE-CREATE-009")
def overwrite_keeps(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateNamespace" or step.request.get("mode") != "Overwrite":
        return None
    old = (target.ask("DescribeNamespace", id=step.request["id"]).answer or {}).get("properties")
    reply = target.correct.call(step)
    if old and reply.succeeded:
        target.ask("AlterNamespace", id=step.request["id"], set_properties=old)
    return reply


@wrong("Overwrite is ExistOk", "LN-NAMESPACE-CREATE-009")
def overwrite_is_exist_ok(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "CreateNamespace" or step.request.get("mode") != "Overwrite":
        return None
    changed = evolve(step, request={**step.request, "mode": "ExistOk"})
    return evolve(target.correct.call(changed), step=step)


@wrong("modes are read in one case only", "LN-NAMESPACE-CREATE-012")
def one_case(target: WrongTarget, step: Step) -> Reply | None:
    mode = step.request.get("mode")
    if step.operation == "CreateNamespace" and mode and mode.lower() == mode and "_" in mode:
        return Reply(step=step, code=13, message=f"mode {mode} is unknown")
    return None


add("an unknown mode is Create", "LN-NAMESPACE-CREATE-013",
    without("CreateNamespace", "mode", when=lambda s: s.request.get("mode") == "sometimes"))  # fmt: skip


@wrong("parents are made on the way", "LN-NAMESPACE-CREATE-014")
def makes_parents(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "CreateNamespace":
        names = step.request.get("id") or []
        for depth in range(1, len(names)):
            target.ask("CreateNamespace", id=names[:depth], mode="ExistOk")
    return None


add("missing parent is code 4", "LN-NAMESPACE-CREATE-014", code_instead("CreateNamespace", 1, 4))
add("missing namespace is described", "LN-NAMESPACE-DESCRIBE-001",
    succeeds_instead("DescribeNamespace", 1))  # fmt: skip
add("missing namespace is code 4", "LN-NAMESPACE-DESCRIBE-001",
    code_instead("DescribeNamespace", 1, 4))  # fmt: skip
add("missing namespace is code 18", "LN-NAMESPACE-DESCRIBE-001",
    code_instead("DescribeNamespace", 1, 18))  # fmt: skip
add("the root is missing", "LN-NAMESPACE-DESCRIBE-003",
    lambda t, s: Reply(step=s, code=1, message="none")
    if s.operation == "DescribeNamespace" and not s.request.get("id") else None)  # fmt: skip
add("the root does not exist", "LN-NAMESPACE-EXISTS-003",
    lambda t, s: Reply(step=s, code=1, message="none")
    if s.operation == "NamespaceExists" and not s.request.get("id") else None)  # fmt: skip
add("every namespace exists", "LN-NAMESPACE-EXISTS-002", no_effect("NamespaceExists"))
add("no namespace exists", "LN-NAMESPACE-EXISTS-001",
    lambda t, s: Reply(step=s, code=1, message="none")
    if s.operation == "NamespaceExists" else None)  # fmt: skip
add("AlterNamespace does nothing", "LN-NAMESPACE-ALTER-001", no_effect("AlterNamespace"))
add("AlterNamespace removes nothing", "LN-NAMESPACE-ALTER-002",
    without("AlterNamespace", "unset_properties"))  # fmt: skip
add(
    "AlterNamespace answers nothing",
    "LN-NAMESPACE-ALTER-003",
    answer("AlterNamespace", lambda a: {}),
)
add("AlterNamespace of a missing one succeeds", "LN-NAMESPACE-ALTER-004",
    succeeds_instead("AlterNamespace", 1))  # fmt: skip


@wrong("AlterNamespace replaces all properties", "LN-NAMESPACE-ALTER-001")
def alter_replaces(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterNamespace" or not step.request.get("set_properties"):
        return None
    old = (target.ask("DescribeNamespace", id=step.request["id"]).answer or {}).get("properties")
    keep = set(step.request["set_properties"])
    target.ask(
        "AlterNamespace", id=step.request["id"], unset_properties=sorted(set(old or ()) - keep)
    )
    return None


@wrong("a key both set and unset is set", "LN-NAMESPACE-ALTER-005")
def alter_both(target: WrongTarget, step: Step) -> Reply | None:
    both = set(step.request.get("set_properties") or ()) & set(
        step.request.get("unset_properties") or ()
    )
    if step.operation != "AlterNamespace" or not both:
        return None
    return without("AlterNamespace", "unset_properties")(target, step)


add("DropNamespace does nothing", "LN-NAMESPACE-DROP-001", no_effect("DropNamespace"))
add("missing drop is code 4", "LN-NAMESPACE-DROP-002", code_instead("DropNamespace", 1, 4))
add("Skip is ignored", "LN-NAMESPACE-DROP-003", without("DropNamespace", "mode"))
add("Skip never drops", "LN-NAMESPACE-DROP-004",
    lambda t, s: Reply(step=s, answer={}) if s.operation == "DropNamespace"
    and s.request.get("mode") == "Skip" else None)  # fmt: skip
add("not empty is code 13", "LN-NAMESPACE-DROP-005", code_instead("DropNamespace", 3, 13))
add("Restrict cascades", "LN-NAMESPACE-DROP-006", with_field("DropNamespace", behavior="Cascade"))
add("Cascade is Restrict", "LN-NAMESPACE-DROP-007", without("DropNamespace", "behavior"))
add("unknown drop mode is Fail", "LN-NAMESPACE-DROP-008",
    without("DropNamespace", "mode", when=lambda s: s.request.get("mode") == "sometimes"))  # fmt: skip
add("unknown behavior is Restrict", "LN-NAMESPACE-DROP-009",
    without("DropNamespace", "behavior", when=lambda s: s.request.get("behavior") == "gently"))  # fmt: skip
add("drop answers another's properties", "LN-NAMESPACE-DROP-010",
    answer("DropNamespace", lambda a: {"properties": {"owner": "somebody"}}))  # fmt: skip


@wrong("a drop takes namespaces with the same beginning along", "LN-NAMESPACE-DROP-012")
def drops_prefix(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation == "DropNamespace":
        names = list(step.request["id"])
        target.ask("DropNamespace", id=[*names[:-1], names[-1] + "x"], behavior="Cascade")
    return None


# --- listings

NAMES = {"ListNamespaces": "namespaces", "ListTables": "tables", "ListAllTables": "tables"}


def listing(operation: str, change: Callable[[list[str]], list[str]]) -> Act:
    key = NAMES[operation]
    return answer(operation, lambda a: {**a, key: change(list(a[key]))})


add("ListNamespaces leaves the last out", "LN-LIST-NAMESPACES-001",
    listing("ListNamespaces", lambda n: n[:-1]))  # fmt: skip
add("ListNamespaces gives one twice", "LN-LIST-NAMESPACES-002",
    listing("ListNamespaces", lambda n: [*n, *n[-1:]]))  # fmt: skip
add("ListNamespaces of a missing one is empty", "LN-LIST-NAMESPACES-005",
    lambda t, s: evolve(r, code=None, answer={"namespaces": []})
    if s.operation == "ListNamespaces" and (r := t.correct.call(s)).code == 1 else None)  # fmt: skip
add("ListTables leaves the first out", "LN-LIST-TABLES-001", listing("ListTables", lambda n: n[1:]))
add(
    "ListTables gives one twice",
    "LN-LIST-TABLES-002",
    listing("ListTables", lambda n: [*n, *n[:1]]),
)
add("ListTables of a missing one is empty", "LN-LIST-TABLES-005",
    lambda t, s: evolve(r, code=None, answer={"tables": []})
    if s.operation == "ListTables" and (r := t.correct.call(s)).code == 1 else None)  # fmt: skip
add("ListTables of a missing one is code 4", "LN-LIST-TABLES-005", code_instead("ListTables", 1, 4))
add("ListTables gives full identifiers", "LN-LIST-TABLES-001",
    listing("ListTables", lambda n: [f"ns${name}" for name in n]))  # fmt: skip
add("include_declared is ignored", "LN-LIST-TABLES-008", without("ListTables", "include_declared"))
add("declared tables are never listed", "LN-LIST-TABLES-009",
    with_field("ListTables", include_declared=False))  # fmt: skip
add("ListAllTables gives plain names", "LN-LIST-ALL-001",
    listing("ListAllTables", lambda n: [name.rpartition("$")[2] for name in n]))  # fmt: skip
add("ListAllTables joins by a dot", "LN-LIST-ALL-001",
    listing("ListAllTables", lambda n: [name.replace("$", ".") for name in n]))  # fmt: skip
add("the limit is ignored", "LN-PAGE-001", without("ListTables", "limit"))
add("a page has one too many", "LN-PAGE-001",
    lambda t, s: with_field("ListTables", limit=s.request["limit"] + 1)(t, s)
    if (s.request.get("limit") or 0) > 0 else None)  # fmt: skip
add("the page token is ignored", "LN-PAGE-002", without("ListTables", "page_token"))
add(
    "there is no page token", "LN-PAGE-002", answer("ListTables", lambda a: {"tables": a["tables"]})
)
add("ListNamespaces has no token", "LN-PAGE-003",
    answer("ListNamespaces", lambda a: {"namespaces": a["namespaces"]}))  # fmt: skip
add("names are backwards", "LN-PAGE-004", listing("ListTables", lambda n: n[::-1]))
add("the last token is empty", "LN-PAGE-005",
    answer("ListTables", lambda a: {**a, "page_token": a.get("page_token") or ""}))  # fmt: skip
add("pages are short", "LN-PAGE-006",
    lambda t, s: with_field("ListTables", limit=1)(t, s)
    if (s.request.get("limit") or 0) > 1 else None)  # fmt: skip
add("a limit of 0 is taken", "LN-PAGE-009",
    without("ListTables", "limit", when=lambda s: s.request.get("limit") == 0))  # fmt: skip
add("a negative limit is taken", "LN-PAGE-009",
    without("ListTables", "limit", when=lambda s: (s.request.get("limit") or 0) < 0))  # fmt: skip


@wrong("tokens are offsets", "LN-PAGE-007")
def offsets(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "ListTables" or not step.request.get("limit"):
        return None
    limit = step.request["limit"]
    if limit < 1:
        return None
    names: list[str] = []
    token: str | None = None
    while True:
        more = {"page_token": token} if token else {}
        page = target.ask("ListTables", id=step.request.get("id"), **more)
        if not page.succeeded:
            return evolve(page, step=step)
        names += (page.answer or {})["tables"]
        token = (page.answer or {}).get("page_token")
        if not token:
            break
    start = int(step.request.get("page_token") or 0)
    found: dict[str, Any] = {"tables": names[start : start + limit]}
    if start + limit < len(names):
        found["page_token"] = str(start + limit)
    return Reply(step=step, answer=found)


@wrong("page tokens work once", "LN-PAGE-011")
def once(target: WrongTarget, step: Step) -> Reply | None:
    token = step.request.get("page_token")
    if token is None:
        return None
    used = target.memory.setdefault("used", set())
    if token in used:
        return Reply(step=step, code=13, message="the token is used up")
    used.add(token)
    return None


# --- rows

add("queries ignore the filter", "LN-QUERY-002", without("QueryTable", "filter"))
add("queries ignore k", "LN-QUERY-003", with_field("QueryTable", k=1000))
add("queries ignore the offset", "LN-QUERY-004", without("QueryTable", "offset"))
add("queries give all columns", "LN-QUERY-005", without("QueryTable", "columns"))
add("queries ignore the vector", "LN-QUERY-006", with_field("QueryTable", vector=None))
add("the nearest come last", "LN-QUERY-006", rows(lambda t: t.take(list(range(t.num_rows))[::-1])))
add("distances are left out", "LN-QUERY-007",
    rows(lambda t: t.drop_columns(["_distance"]) if "_distance" in t.column_names else t))  # fmt: skip
add("the prefilter comes after", "LN-QUERY-008", with_field("QueryTable", prefilter=False))
add("row ids are left out", "LN-QUERY-009", without("QueryTable", "with_row_id"))
add("queries ignore the version", "LN-QUERY-010", without("QueryTable", "version"))
add("a missing version is the newest", "LN-QUERY-011",
    without("QueryTable", "version", when=lambda s: s.request.get("version") == 999))  # fmt: skip
add("a bad filter is code 18", "LN-QUERY-012", code_instead("QueryTable", 13, 18))
add("a missing column is code 18", "LN-QUERY-013",
    lambda t, s: evolve(r, code=18) if s.operation == "QueryTable"
    and (r := t.correct.call(s)).code in (12, 13) else None)  # fmt: skip
add("a query of a missing table is empty", "LN-QUERY-014",
    lambda t, s: evolve(r, code=None, rows=people().slice(0, 0)) if s.operation == "QueryTable"
    and (r := t.correct.call(s)).code == 4 else None)  # fmt: skip
add("a query loses a row", "LN-QUERY-001", rows(lambda t: t.slice(1)))
add("a query repeats a row", "LN-QUERY-001",
    rows(lambda t: t.take([*range(t.num_rows), 0]) if t.num_rows else t))  # fmt: skip
add("the count is one too many", "LN-COUNT-001",
    answer("CountTableRows", lambda a: {"count": a["count"] + 1}))  # fmt: skip
add("the count ignores the predicate", "LN-COUNT-002", without("CountTableRows", "predicate"))
add("the count ignores the version", "LN-COUNT-003", without("CountTableRows", "version"))
add("the count of a missing version is 0", "LN-COUNT-004",
    lambda t, s: evolve(r, code=None, answer={"count": 0}) if s.operation == "CountTableRows"
    and (r := t.correct.call(s)).code == 11 else None)  # fmt: skip
add("a bad predicate counts 0", "LN-COUNT-005",
    lambda t, s: evolve(r, code=None, answer={"count": 0}) if s.operation == "CountTableRows"
    and (r := t.correct.call(s)).code == 13 else None)  # fmt: skip
add("the count of a missing table is 0", "LN-COUNT-006",
    lambda t, s: evolve(r, code=None, answer={"count": 0}) if s.operation == "CountTableRows"
    and (r := t.correct.call(s)).code == 4 else None)  # fmt: skip
add("stats count one fragment", "LN-STATS-001",
    answer("GetTableStats", lambda a: {**a, "fragment_stats": {**a["fragment_stats"],
                                                               "num_fragments": 1}}))  # fmt: skip
add("stats count no rows", "LN-STATS-001", answer("GetTableStats", lambda a: {**a, "num_rows": 0}))
add("the plan is empty", "LN-PLAN-001", answer("ExplainTableQueryPlan", lambda a: {"plan": " "}))
add("CreateTable stores no rows", "LN-TABLE-CREATE-002",
    body_instead("CreateTable", some_rows(lambda t: t.slice(0, 0))))  # fmt: skip
add("CreateTable stores one batch", "LN-TABLE-CREATE-013",
    body_instead("CreateTable", some_rows(lambda t: t.slice(0, 7))))  # fmt: skip
add("CreateTable stores another value", "LN-TABLE-CREATE-003",
    body_instead("CreateTable", some_rows(
        lambda t: people(*[i + 1 for i in t.column("id").to_pylist()])
        if "vec" in t.column_names else t)))  # fmt: skip
add("InsertIntoTable adds nothing", "LN-ROWS-INSERT-001",
    body_instead("InsertIntoTable", some_rows(lambda t: t.slice(0, 0))))  # fmt: skip
add("InsertIntoTable adds twice", "LN-ROWS-INSERT-001",
    lambda t, s: (t.correct.call(s), None)[1] if s.operation == "InsertIntoTable" else None)  # fmt: skip
