"""Namespaces with faults for specific values: names, lengths, letter case, times, locations."""

from __future__ import annotations

import json

import httpx
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from .python import Act, WrongTarget, answer
from .wire import Send

__all__ = ["VALUES", "body_id_with_another_delimiter"]

VALUES: dict[str, Act] = {}


def fault(name: str):
    def add(act: Act) -> Act:
        VALUES[name] = act
        return act

    return add


@fault("ExistOk on a declared table leaves it without data")
def exist_ok_on_declared(target: WrongTarget, step: Step) -> Reply | None:
    mode = str(step.request.get("mode") or "").replace("_", "").lower()
    if step.operation != "CreateTable" or mode != "existok":
        return None
    found = target.ask("DescribeTable", id=step.request["id"])
    if not found.succeeded:
        return None
    return Reply(step=step, answer={"location": (found.answer or {}).get("location"), "version": 1})


@fault("a table declared at a location is filled at its default one")
def filled_elsewhere(target: WrongTarget, step: Step) -> Reply | None:
    identifier = tuple(step.request.get("id") or ())
    if step.operation == "DeclareTable" and step.request.get("location"):
        target.memory[identifier] = True
    elif step.operation == "CreateTable" and target.memory.pop(identifier, False):
        target.ask("DeregisterTable", id=list(identifier))
    return None


@fault("a page that ends at a letter outside ASCII is the last")
def page_ends(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation not in ("ListTables", "ListNamespaces"):
        return None
    reply = target.correct.call(step)
    body = dict(reply.answer or {})
    names = body.get("tables") or body.get("namespaces") or []
    if names and not names[-1].isascii():
        body.pop("page_token", None)
        return evolve(reply, answer=body)
    return reply


@fault("dropping a table drops its siblings that match its name as a LIKE pattern")
def like(target: WrongTarget, step: Step) -> Reply | None:
    identifier = list(step.request.get("id") or ())
    if step.operation != "DropTable" or "_b" not in identifier[-1]:
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        target.ask("DropTable", id=[*identifier[:-1], identifier[-1].replace("a_b", "aXb")])
    return reply


def _shortened(operation: str) -> Act:
    def act(target: WrongTarget, step: Step) -> Reply | None:
        if step.operation != operation:
            return None
        request = dict(step.request)
        for key in ("properties", "set_properties"):
            if request.get(key):
                request[key] = {name: text[:4000] for name, text in request[key].items()}
        return evolve(target.correct.call(evolve(step, request=request)), step=step)

    return act


for _operation in ("CreateTable", "AlterTable", "CreateNamespace", "AlterNamespace"):
    VALUES[f"{_operation} keeps 4,000 characters of a property"] = _shortened(_operation)
VALUES["versions were written two hours ago"] = answer(
    "ListTableVersions",
    lambda body: {
        **body,
        "versions": [
            {**each, "timestamp_millis": each["timestamp_millis"] - 7_200_000}
            for each in body["versions"]
        ],
    },
)


@fault("dropping a column drops the one whose name differs by case")
def drop_case(target: WrongTarget, step: Step) -> Reply | None:
    if step.operation != "AlterTableDropColumns":
        return None
    found = target.ask("DescribeTable", id=step.request["id"], load_detailed_metadata=True)
    fields = [each["name"] for each in ((found.answer or {}).get("schema") or {}).get("fields", ())]
    lower = {name.lower() for name in step.request["columns"]}
    both = [name for name in fields if name.lower() in lower] or step.request["columns"]
    request = {**step.request, "columns": both}
    return evolve(target.correct.call(evolve(step, request=request)), step=step)


def body_id_with_another_delimiter(request: httpx.Request, send: Send) -> httpx.Response:
    """Reject a body id of several levels with another delimiter, as if ids were split at ``$``."""
    parameters = dict(request.url.params)
    try:
        identifier = json.loads(request.content or b"null")["id"]
    except (ValueError, TypeError, KeyError):
        return send(request)
    delimiter = parameters.get("delimiter", "$")
    if delimiter == "$" or len(identifier or ()) < 2:
        return send(request)
    body = {"error": "the id of the body differs from that of the route", "code": 13}
    return httpx.Response(400, json=body)
