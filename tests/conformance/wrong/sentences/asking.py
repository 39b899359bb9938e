"""Helpers for the wrong namespaces here. The comment above each quotes the sentence it breaks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.rows import stream

from ..habitual import asked, habits, key_of  # noqa: F401 - re-exported
from ..python import Act, WrongTarget, table_of

SENTENCES: dict[str, Act] = {}
"""Wrong namespaces by the description of their fault."""
habit = habits(SENTENCES)
LOCK = threading.Lock()


def less(target: WrongTarget, step: Step, *fields: str) -> Reply:
    request = {k: v for k, v in step.request.items() if k not in fields}
    return evolve(target.correct.call(evolve(step, request=request)), step=step)


def known(target: WrongTarget, operation: str, **request: Any) -> dict[str, Any]:
    reply = target.ask(operation, **request)
    return (reply.answer or {}) if reply.succeeded else {}


def word(value: Any) -> str:
    return str(value or "").lower().replace("_", "")


def whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def names_of(target: WrongTarget, operation: str, key: str, **request: Any) -> list[str]:
    found: list[str] = []
    token: str | None = None
    while True:
        page = known(target, operation, **request, **({"page_token": token} if token else {}))
        found += page.get(key) or []
        token = page.get("page_token")
        if not token:
            return found


def only_declared(target: WrongTarget, ident: Any) -> bool:
    told = known(target, "DescribeTable", id=ident, check_declared=True)
    return told.get("is_only_declared") is True


def columns_of(target: WrongTarget, ident: Any) -> list[str]:
    told = known(target, "DescribeTable", id=ident, load_detailed_metadata=True)
    return [field["name"] for field in (told.get("schema") or {}).get("fields") or ()]


def stream_of(step: Step) -> Any:
    if step.data is None:
        return None
    try:
        return table_of(step.data)
    except (ValueError, OSError):
        return None


READS = (
    "List",
    "Describe",
    "Namespace",
    "TableExists",
    "Get",
    "Count",
    "Query",
    "Explain",
    "Analyze",
)


def taken(target: WrongTarget, ident: Any) -> bool:
    """Return whether a table with the identifier exists."""
    return target.ask("TableExists", id=ident).succeeded


def space(target: WrongTarget, ident: Any) -> bool:
    return target.ask("NamespaceExists", id=ident).succeeded


def nested(target: WrongTarget, ident: list[str]) -> list[list[str]]:
    """Return the namespaces below one, at any depth."""
    found: list[list[str]] = []
    for name in names_of(target, "ListNamespaces", "namespaces", id=ident):
        found += [[*ident, name], *nested(target, [*ident, name])]
    return found


def tables_in(target: WrongTarget, ident: list[str]) -> list[list[str]]:
    return [[*ident, name] for name in names_of(target, "ListTables", "tables", id=ident)]


def goal(step: Step) -> list[str] | None:
    """Return the new identifier of the table that a request renames."""
    ident, name = step.request.get("id"), step.request.get("new_table_name")
    if not isinstance(ident, list) or not ident or not isinstance(name, str):
        return None
    parent = step.request.get("new_namespace_id")
    return [*(ident[:-1] if parent is None else parent), name]


def strings(step: Step) -> list[str] | None:
    ident = step.request.get("id")
    good = isinstance(ident, list) and ident and all(isinstance(n, str) and n for n in ident)
    return list(ident) if good else None


def names_from_token(target: WrongTarget, step: Step, key: str) -> tuple[Reply, list[str]]:
    """Return a reply and all names that the listing has after the page token of the request."""
    reply = less(target, step, "limit")
    names = list((reply.answer or {}).get(key) or ()) if reply.succeeded else []
    while reply.succeeded and (reply.answer or {}).get("page_token"):
        reply = asked(target, evolve(step, request={k: v for k, v in step.request.items() if k != "limit"}),
                      page_token=(reply.answer or {})["page_token"])  # fmt: skip
        names += (reply.answer or {}).get(key) or []
    return reply, names


def token_after(target: WrongTarget, step: Step, key: str, name: str) -> str | None:
    """Return the correct page token that continues a listing after a name."""
    request = {k: v for k, v in step.request.items() if k not in ("limit", "page_token")}
    every = names_of(target, step.operation, key, **request)
    if name not in every:
        return None
    return known(target, step.operation, **request, limit=every.index(name) + 1).get("page_token")


def page_of(target: WrongTarget, step: Step, key: str, keep: Callable[[str], bool]) -> Reply:
    """Answer a listing with a subset of its names, in correct pages."""
    limit = step.request.get("limit")
    if limit is not None and (not whole(limit) or limit < 1):
        return target.correct.call(step)
    reply, names = names_from_token(target, step, key)
    if not reply.succeeded:
        return evolve(reply, step=step)
    left = [name for name in names if keep(name)]
    shown = left if limit is None else left[:limit]
    more = len(shown) < len(left) and shown
    token = token_after(target, step, key, shown[-1]) if more else None
    return Reply(step=step, answer={key: shown, **({"page_token": token} if token else {})})


def resent(target: WrongTarget, step: Step, rows: Any) -> Reply:
    return evolve(target.correct.call(evolve(step, data=stream(rows))), step=step)


def latest(target: WrongTarget, step: Step, **change: Any) -> dict[str, Any]:
    """Return the detailed description of the table, branch and version of a request."""
    where = {k: step.request[k] for k in ("version", "branch") if step.request.get(k)}
    return known(
        target,
        "DescribeTable",
        **{"id": step.request.get("id"), **where, "load_detailed_metadata": True, **change},
    )


def searched(step: Step) -> bool:
    return bool(step.request.get("vector"))


def matched(step: Step) -> bool:
    return bool(step.request.get("full_text_query"))


def reshaped(tree: Any, change: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a tree of full-text queries with each of its nodes changed."""
    if isinstance(tree, list):
        return [reshaped(each, change) for each in tree]
    if not isinstance(tree, dict):
        return tree
    made: dict[str, Any] = {}
    for key, value in tree.items():
        inner = reshaped(value, change)
        if key == "match_queries" and isinstance(inner, list):
            inner = [change("match", each) if isinstance(each, dict) else each for each in inner]
        elif key in ("match", "phrase", "boost", "boolean") and isinstance(inner, dict):
            inner = change(key, inner)
        made[key] = inner
    return made


def other_tree(
    target: WrongTarget, step: Step, change: Callable[[str, dict[str, Any]], dict[str, Any]]
) -> Reply | None:
    asked_for = step.request.get("full_text_query")
    if not isinstance(asked_for, dict) or not asked_for.get("structured_query"):
        return None
    changed = reshaped(asked_for, change)
    return None if changed == asked_for else asked(target, step, full_text_query=changed)


def with_columns(table: Any, change: Callable[[Any, Any], Any]) -> Any:
    """Return a table in which a function replaces columns; None keeps a column."""
    import pyarrow as pa

    fields, columns, changed = [], [], False
    for field, column in zip(table.schema, table.columns, strict=True):
        made = change(field, column)
        changed = changed or made is not None
        columns.append(column if made is None else made)
        fields.append(field if made is None else field.with_type(made.type))
    if not changed:
        return table
    return pa.table(columns, schema=pa.schema(fields, table.schema.metadata))


def numbers_of(target: WrongTarget, ident: Any, branch: Any = None) -> list[int]:
    """Return the numbers of all versions, oldest first."""
    more = {"branch": branch} if branch else {}
    found = names_of(target, "ListTableVersions", "versions", id=ident, **more)
    return sorted(each["version"] for each in found)  # type: ignore[index]


def changed_answer(reply: Reply, **more: Any) -> Reply:
    return evolve(reply, answer={**(reply.answer or {}), **more})


def indexes_of(target: WrongTarget, ident: Any, branch: Any = None) -> list[Any]:
    more = {"branch": branch} if branch else {}
    token: str | None = None
    found: list[Any] = []
    while True:
        page = known(
            target, "ListTableIndices", id=ident, **more, **({"page_token": token} if token else {})
        )
        found += page.get("indexes") or []
        token = page.get("page_token")
        if not token:
            return found


def unicode_form(value: Any) -> Any:
    import unicodedata

    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def writes(step: Step) -> bool:
    return not step.operation.startswith(READS) and not step.operation.endswith("Exists")


def path_of(text: str) -> list[str]:
    return text.split("$")


def all_tables(target: WrongTarget) -> list[list[str]]:
    return [path_of(text) for text in names_of(target, "ListAllTables", "tables")]


def latest_of(target: WrongTarget, step: Step) -> int | None:
    more = {"branch": step.request["branch"]} if step.request.get("branch") else {}
    told = known(target, "DescribeTableVersion", id=step.request.get("id"), **more)
    return (told.get("version") or {}).get("version")


def written(rows: Any) -> bytes:
    """Return rows as an Arrow IPC stream in their own batches."""
    import io

    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        for batch in rows.to_batches():
            writer.write_batch(batch)
    return sink.getvalue()


def shared_flight(target: WrongTarget, step: Step, kind: str, key: Any) -> Reply | None:
    """Answer a call with the reply to a concurrent call that has the same key."""
    with LOCK:
        flights = target.memory.setdefault(kind, {})
        flight = flights.get(key)
        leads = flight is None
        if leads:
            flight = flights[key] = {"done": threading.Event(), "reply": None}
    if not leads:
        flight["done"].wait(120)
        found = flight["reply"]
        return None if found is None else evolve(found, step=step)
    try:
        time.sleep(0.01)
        flight["reply"] = target.correct.call(step)
        return flight["reply"]
    finally:
        with LOCK:
            flights.pop(key, None)
        flight["done"].set()
