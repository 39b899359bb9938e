"""Responses to failed requests, and credentials."""

from __future__ import annotations

import json
from typing import Any

from ...http_target import ARROW_STREAM
from ...lab import Failed, Lab, NotReached, Skipped
from ...requirement import check
from ...rows import plain
from .requests import CALLS, JSON, joined, raw, table_path

_HTTP = ["http", "tables"]


@check("LN-WIRE-ERROR-001",
       "A request for a missing table returns HTTP 404 with code 4 in the body.",
       'protocol semantics, "Errors"', "DescribeTable", capabilities=_HTTP)  # fmt: skip
def error_body(lab: Lab) -> None:
    reply = lab.call("DescribeTable", id=lab.table_id())
    exchange = reply.exchange
    if exchange is None:
        raise Failed("an answer", reply.outcome(), reply)
    lab.same(exchange.status, 404, "the HTTP status")
    try:
        body = json.loads(exchange.body)
    except ValueError:
        body = {}
    lab.same(body.get("code") if isinstance(body, dict) else None, 4, "the code in the body")


@check("LN-WIRE-ERROR-002", "TableExists of a missing table returns an error code in the body.",
       'protocol semantics, "Errors" and "Bodies that are not JSON objects"', "TableExists",
       capabilities=_HTTP)  # fmt: skip
def exists_body(lab: Lab) -> None:
    reply = lab.call("TableExists", id=lab.table_id())
    lab.that(not reply.no_route, "code 4 in the body", reply.outcome())
    lab.must_fail(reply, [4])


@check("LN-WIRE-ERROR-003",
       "Every table operation on a missing table fails with status 404, code 4 and a message.",
       'protocol semantics, "Errors"', "DescribeTable", capabilities=_HTTP)  # fmt: skip
def missing_table_failures(lab: Lab) -> None:
    missing = lab.table_id()
    for name, (data, request) in CALLS.items():
        if not lab.supports(name):
            continue
        reply = lab.call(name, data, id=missing, **request)
        if reply.code == 0:
            continue
        lab.must_fail(reply, [4])
        exchange = reply.exchange
        lab.same(exchange.status if exchange else None, 404, f"the HTTP status of {name}")
        lab.that(bool(reply.message.strip()), "words", reply.outcome())


_ARROW = {"Content-Type": ARROW_STREAM}


@check("LN-WIRE-ERROR-060",
       "Fields of an error body have the specified types, and no response contains a secret.",
       "rest.yaml, ErrorResponse and StorageOptions", "DescribeTable", capabilities=_HTTP)  # fmt: skip
def error_fields(lab: Lab) -> None:
    table, secret = lab.any_table(), "kit-secret-9f2c"
    create, missing = table_path(lab, table, "create"), table_path(lab, lab.table_id(), "describe")
    options = {"storage_options": json.dumps({"aws_secret_access_key": secret})}
    who: dict[str, Any] = {"identity": {"api_key": secret, "auth_token": secret}}
    for name, path, body, query, headers in (
        ("DescribeTable", missing, who, {}, {**JSON, "x-api-key": secret}),
        ("DescribeTable", missing, {"version": "x", **who}, {}, JSON),
        ("CreateTable", create, b"no rows", options, _ARROW),
        ("CreateTable", create, plain(1), options | {"mode": "perhaps"}, _ARROW),
        ("NamespaceExists", f"/v1/namespace/{joined(lab.table_id())}/exists", who, {}, JSON),
    ):
        reply = raw(lab, name, path, body, query=query, headers=headers)
        text = reply.exchange.body.decode(errors="replace") if reply.exchange else ""
        lab.that(secret not in text, "no secret in a response", text.replace(secret, "***"))
        try:
            found = {} if reply.succeeded or reply.no_route else json.loads(text)
        except ValueError:
            raise NotReached(
                f"the body of a failure is not JSON (LN-ERROR-001): {text[:200]}"
            ) from None
        for key in ("error", "detail", "instance"):
            lab.that(isinstance(found.get(key), str | None), f"{key} to be a string", found)


@check("LN-WIRE-AUTH-001",
       "An invalid bearer token fails with code 16 if the server requires credentials.",
       'protocol semantics, "Identity and context" and "Errors"', "ListNamespaces",
       capabilities=["http"], changes=False)  # fmt: skip
def bad_token(lab: Lab) -> None:
    headers = {"Authorization": "Bearer not-a-token-of-this-server"}
    reply = raw(
        lab, "ListNamespaces", "/v1/namespace/%24/list", query={"limit": "1"}, headers=headers
    )
    if reply.succeeded or reply.code in (0, 13):
        raise Skipped("the server requires no credentials")
    lab.must_fail(reply, [15, 16])
