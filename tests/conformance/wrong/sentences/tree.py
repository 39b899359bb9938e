"""Wrong namespaces: the tree, its names and its listings."""

from __future__ import annotations

import json
from urllib.parse import unquote

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    READS,
    asked,
    goal,
    habit,
    key_of,
    known,
    less,
    names_of,
    nested,
    page_of,
    space,
    strings,
    tables_in,
    taken,
    whole,
    word,
)

# --- namespaces


# CreateNamespace: "`Overwrite` of a namespace that still holds anything answers NamespaceNotEmpty".
@habit(
    "Overwrite of a namespace that holds namespaces but no tables goes through", "CreateNamespace"
)
def overwrites_parents(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if word(step.request.get("mode")) != "overwrite" or not ident:
        return None
    if not names_of(target, "ListTables", "tables", id=ident) and names_of(
        target, "ListNamespaces", "namespaces", id=ident
    ):
        target.ask("DropNamespace", id=ident, behavior="Cascade")
    return None


# DropNamespace: "Restrict (default: a namespace that holds any object ... NamespaceNotEmpty)".
@habit("Restrict does not see tables that are only declared", "DropNamespace")
def declared_is_nothing(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if not ident or word(step.request.get("behavior")) not in ("", "restrict"):
        return None
    if names_of(target, "ListNamespaces", "namespaces", id=ident):
        return None
    tables = names_of(target, "ListTables", "tables", id=ident)
    if tables and not names_of(target, "ListTables", "tables", id=ident, include_declared=False):
        return asked(target, step, behavior="Cascade")
    return None


# CreateNamespace.properties: "Properties to store with the new namespace, none by default".
@habit(
    "a namespace that is made again has the properties of the dropped one",
    "DropNamespace",
    "CreateNamespace",
)
def restores_properties(target: WrongTarget, step: Step) -> Reply | None:
    was = target.memory.setdefault("was", {})
    key = key_of(step)
    if step.operation == "DropNamespace":
        old = known(target, "DescribeNamespace", id=step.request.get("id")).get("properties")
        reply = target.correct.call(step)
        if reply.succeeded and old:
            was[key] = old
        return reply
    if key not in was:
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        old = was.pop(key)
        if not step.request.get("properties"):
            target.ask("AlterNamespace", id=step.request["id"], set_properties=old)
            return evolve(reply, answer={**(reply.answer or {}), "properties": dict(old)})
    return reply


# AlterNamespace: "A key in both answers InvalidInput and changes nothing".
@habit("a refused AlterNamespace has changed the keys that were clear", "AlterNamespace")
def half_altered(target: WrongTarget, step: Step) -> Reply | None:
    sets, unsets = step.request.get("set_properties"), step.request.get("unset_properties")
    if not isinstance(sets, dict) or not isinstance(unsets, list):
        return None
    both = set(sets) & set(unsets)
    if both:
        target.ask(
            "AlterNamespace",
            id=step.request.get("id"),
            set_properties={k: v for k, v in sets.items() if k not in both},
            unset_properties=[k for k in unsets if k not in both],
        )
    return None


# CreateNamespaceRequest.properties: "`ExistOk` does not apply them to a namespace that is kept".
@habit("ExistOk adds the properties that the kept namespace lacks", "CreateNamespace")
def fills_in(target: WrongTarget, step: Step) -> Reply | None:
    given = step.request.get("properties")
    if word(step.request.get("mode")) != "existok" or not isinstance(given, dict) or not given:
        return None
    reply = target.correct.call(step)
    held = (reply.answer or {}).get("properties") or {}
    lacking = {k: v for k, v in given.items() if k not in held}
    if reply.succeeded and lacking:
        target.ask("AlterNamespace", id=step.request["id"], set_properties=lacking)
        return evolve(reply, answer={**(reply.answer or {}), "properties": {**held, **lacking}})
    return reply


# DropNamespace: "`Cascade`, which removes every child from the catalog as well".
@habit("Cascade forgets the tables of namespaces further down, they can still be looked up")
def orphans(target: WrongTarget, step: Step) -> Reply | None:
    left = target.memory.setdefault("left", {})
    ident = strings(step)
    if (
        step.operation == "DropNamespace"
        and ident
        and word(step.request.get("behavior")) == "cascade"
    ):
        below = [t for n in nested(target, ident) for t in tables_in(target, n)]
        told = {json.dumps(t): known(target, "DescribeTable", id=t) for t in below}
        reply = target.correct.call(step)
        if reply.succeeded:
            left.update(told)
        return reply
    if step.operation in ("TableExists", "DescribeTable") and key_of(step) in left:
        reply = target.correct.call(step)
        if reply.code != 4 or step.request.get("version") is not None:
            return reply
        return Reply(
            step=step, answer={} if step.operation == "TableExists" else left[key_of(step)]
        )
    return None


# NamespaceExists: "success when it is [in the catalog], NamespaceNotFound when it is not".
@habit("a nested namespace exists where another parent has one of its name", "NamespaceExists")
def anywhere(target: WrongTarget, step: Step) -> Reply | None:
    ident = strings(step)
    reply = target.correct.call(step)
    if reply.code != 1 or not ident or len(ident) < 2 or not space(target, ident[:-1]):
        return reply
    if any(found[-1] == ident[-1] and len(found) > 1 for found in nested(target, [])):
        return Reply(step=step, answer={})
    return reply


# AlterNamespaceRequest.set_properties: "Properties to add or to give a new value".
@habit(
    "AlterNamespace adds properties and leaves those that are set at their value", "AlterNamespace"
)
def only_adds(target: WrongTarget, step: Step) -> Reply | None:
    given = step.request.get("set_properties")
    if not isinstance(given, dict) or set(given) & set(step.request.get("unset_properties") or ()):
        return None
    held = known(target, "DescribeNamespace", id=step.request.get("id")).get("properties") or {}
    if not set(held) & set(given):
        return None
    return asked(target, step, set_properties={k: v for k, v in given.items() if k not in held})


# AlterNamespaceResponse.properties: "All properties of the namespace after the change".
@habit("an AlterNamespace that only unsets answers the properties from before", "AlterNamespace")
def answers_old(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("set_properties") or not step.request.get("unset_properties"):
        return None
    held = known(target, "DescribeNamespace", id=step.request.get("id")).get("properties")
    reply = target.correct.call(step)
    if reply.succeeded and held is not None:
        return evolve(reply, answer={**(reply.answer or {}), "properties": held})
    return reply


# --- identifiers


# ListTables: "Lists the Lance tables directly in the given namespace".
@habit("tables whose name begins with an underscore or a dot are not listed", "ListTables")
def hidden(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    shown = [n for n in (reply.answer or {})["tables"] if not n.startswith(("_", "."))]
    return evolve(reply, answer={**(reply.answer or {}), "tables": shown})


# id: "Names from the root (not included) to the object"; the body's names are not percent-encoded.
@habit("a percent sign in a name is decoded once more")
def decoded_twice(target: WrongTarget, step: Step) -> Reply | None:
    ident = step.request.get("id")
    if not isinstance(ident, list) or not any("%" in str(name) for name in ident):
        return None
    return asked(target, step, id=[unquote(n) if isinstance(n, str) else n for n in ident])


# --- names and error codes


# Seed 004: "The name of any object must be unique among all other objects that share the same
# parent"; DESIGN: "Names are unique in their parent across namespaces and tables".
@habit(
    "a namespace may have the name of a table beside it",
    "CreateNamespace", "NamespaceExists", "DescribeNamespace", "DropNamespace",
)  # fmt: skip
def beside(target: WrongTarget, step: Step) -> Reply | None:
    shadow = target.memory.setdefault("shadow", {})
    reply = target.correct.call(step)
    key = key_of(step)
    ident = strings(step)
    if step.operation == "CreateNamespace":
        if reply.code == 2 and key not in shadow and ident and taken(target, ident):
            shadow[key] = dict(step.request.get("properties") or {})
            return Reply(step=step, answer={"properties": dict(shadow[key])})
        return reply
    if reply.code != 1 or key not in shadow:
        return reply
    if step.operation == "NamespaceExists":
        return Reply(step=step, answer={})
    held = shadow.pop(key) if step.operation == "DropNamespace" else shadow[key]
    return Reply(step=step, answer={"properties": dict(held)})


# RenameTable: "A name that is taken answers TableAlreadyExists and changes nothing", also for a
# namespace.
@habit("a rename to the name of a namespace answers that the namespace exists", "RenameTable")
def rename_code(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 5 and space(target, goal(step)):
        return evolve(reply, code=2)
    return reply


# DropNamespace: "a namespace that holds any object ... answers NamespaceNotEmpty and stays".
@habit("a namespace that is not empty cannot be dropped for its state", "DropNamespace")
def not_empty_code(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    return evolve(reply, code=14) if reply.code == 3 else reply


# --- listings


# PageToken: "absent or null ... means the end in a response": a token only "while more pages
# follow".
@habit("a last page that is full has a token, and an empty page follows", "ListTables")
def empty_page(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("page_token") == "the-page-was-full":
        return Reply(step=step, answer={"tables": []})
    limit = step.request.get("limit")
    reply = target.correct.call(step)
    if not reply.succeeded or not whole(limit):
        return reply
    found = reply.answer or {}
    if len(found["tables"]) == limit and not found.get("page_token"):
        return evolve(reply, answer={**found, "page_token": "the-page-was-full"})
    return reply


# PageLimit: "A page may be shorter only where the listing ends".
@habit("include_declared=false takes tables out of a page that is cut already", "ListTables")
def cut_then_filtered(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("include_declared") is not False or not step.request.get("limit"):
        return None
    reply = asked(target, step, include_declared=True)
    if not reply.succeeded:
        return reply
    shown = set(
        names_of(target, "ListTables", "tables", id=step.request.get("id"), include_declared=False)
    )
    tables = [name for name in (reply.answer or {})["tables"] if name in shown]
    return evolve(reply, answer={**(reply.answer or {}), "tables": tables})


# ListTableTags, ListTableBranches: "a page token of another listing InvalidInput".
@habit(
    "a page token that is not understood starts at the first page",
    "ListTableTags",
    "ListTableBranches",
)
def starts_over(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 13 and step.request.get("page_token"):
        return less(target, step, "page_token")
    return reply


# ListTableVersions: "They come newest first with `descending=true`".
@habit("descending turns each page round, and the pages begin with the oldest", "ListTableVersions")
def page_turned(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("descending") is not True or not step.request.get("limit"):
        return None
    reply = asked(target, step, descending=False)
    if not reply.succeeded:
        return reply
    found = reply.answer or {}
    return evolve(reply, answer={**found, "versions": list(found["versions"])[::-1]})


# ListNamespaces: "walking the pages yields each name once and in order".
@habit("every page of namespaces after the first begins one too late", "ListNamespaces")
def one_late(target: WrongTarget, step: Step) -> Reply | None:
    limit = step.request.get("limit")
    if not step.request.get("page_token") or not whole(limit) or limit < 1:
        return None
    reply = asked(target, step, limit=limit + 1)
    if not reply.succeeded:
        return reply
    found = reply.answer or {}
    return evolve(reply, answer={**found, "namespaces": list(found["namespaces"])[1:]})


# semantics.md, Paging: each name once "also when names are added or removed between pages".
@habit("the page token of ListTables counts the names that were shown")
def by_offset(target: WrongTarget, step: Step) -> Reply | None:
    token, limit = step.request.get("page_token"), step.request.get("limit")
    ours = isinstance(token, str) and token.startswith("offset:")
    if step.operation != "ListTables":
        if ours and step.operation.startswith("List"):
            return Reply(step=step, code=13, message="a token of another listing")
        return None
    scope = json.dumps(
        [step.request.get("id") or [], step.request.get("include_declared") is not False]
    )
    if (token and not ours) or not (ours or whole(limit)):
        return None
    reply = less(target, step, "page_token")
    if not reply.succeeded:
        return reply
    start = 0
    if ours:
        of, _, count = token[len("offset:") :].rpartition(":")
        if of != scope:
            return Reply(step=step, code=13, message="a token of another listing")
        start = int(count)
    rest = {k: v for k, v in step.request.items() if k not in ("page_token", "limit")}
    names = names_of(target, "ListTables", "tables", **rest)
    end = len(names) if limit is None else start + limit
    more = {"page_token": f"offset:{scope}:{end}"} if end < len(names) else {}
    return Reply(step=step, answer={"tables": names[start:end], **more})


# ListAllTables: "Lists all Lance tables that the server can see, in whatever namespace".
@habit("ListAllTables looks no deeper than the namespaces in the root", "ListAllTables")
def shallow(target: WrongTarget, step: Step) -> Reply | None:
    return page_of(target, step, "tables", lambda name: name.count("$") < 2)


# PageLimit: "A page may be shorter only where the listing ends".
@habit("a page of ListAllTables ends where a namespace ends", "ListAllTables")
def page_a_space(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    names = list((reply.answer or {}).get("tables") or ()) if reply.succeeded else []
    if not whole(step.request.get("limit")) or len(names) < 2:
        return reply
    first = names[0].rpartition("$")[0]
    count = next(
        (i for i, name in enumerate(names) if name.rpartition("$")[0] != first), len(names)
    )
    return asked(target, step, limit=count) if count < len(names) else reply


# ListTables: "Lists the Lance tables directly in the given namespace"; RenameTable: "Gives the
# table the name".
@habit("a listing of tables is kept until something changes, and a rename is no change")
def kept_listing(target: WrongTarget, step: Step) -> Reply | None:
    kept = target.memory.setdefault("kept", {})
    if step.operation == "ListTables":
        key = json.dumps(dict(step.request), sort_keys=True, default=str)
        if key not in kept:
            reply = target.correct.call(step)
            if not reply.succeeded:
                return reply
            kept[key] = reply
        return evolve(kept[key], step=step)
    if step.operation != "RenameTable" and not step.operation.startswith(READS):
        reply = target.correct.call(step)
        kept.clear()
        return reply
    return None
