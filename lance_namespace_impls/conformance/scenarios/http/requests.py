"""Hand-written HTTP requests."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_client.wire import path_segment

from ...exchange import Reply, Step
from ...http_target import HttpTarget, route
from ...lab import Lab, Skipped
from ...sample_calls import BRANCH_CALLS

JSON = {"Content-Type": "application/json"}


def joined(identifier: list[str], delimiter: str = "$") -> str:
    """Return an identifier as one encoded path segment."""
    return path_segment(delimiter.join(identifier))


def raw(
    lab: Lab,
    operation: str,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    query: Mapping[str, str | list[str]] | None = None,
    headers: dict[str, str] | None = None,
    by_itself: bool = True,
) -> Reply:
    """Return the reply to a hand-written HTTP request.

    Args:
        lab: the lab.
        operation: the operation that the request calls.
        path: encoded path.
        body: bytes are sent unchanged and other values as JSON; None sends no body.
        method: HTTP method; the operation's method by default.
        query: query parameters.
        headers: headers; the content type of JSON by default, if there is a body.
        by_itself: whether to check the form of the reply as well.
    """
    target = lab.target
    if not isinstance(target, HttpTarget):
        raise Skipped("needs http")
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    if headers is None:
        headers = JSON if content is not None else {}
    written = {
        "method": method or OPERATIONS[operation].http_method,
        "path": path,
        "query": query or {},
        "headers": headers,
        "content": None if content is None else base64.b64encode(content).decode(),
    }
    reply = target.call(Step(operation, body if isinstance(body, dict) else {}, raw=written))
    return lab.judge(reply, by_itself=by_itself)


def table_path(lab: Lab, table: list[str], action: str) -> str:
    """Return the route of a table operation."""
    return f"/v1/table/{joined(table)}/{action}"


CALLS: dict[str, tuple[bytes | None, dict[str, Any]]] = {
    **BRANCH_CALLS,
    "DescribeTable": (None, {}),
    "TableExists": (None, {}),
    "ListTableIndices": (None, {}),
    "ListTableTags": (None, {}),
    "ListTableBranches": (None, {}),
    "GetTableTagVersion": (None, {"tag": "t"}),
    "UpdateTableTag": (None, {"tag": "t", "version": 1}),
    "DeleteTableTag": (None, {"tag": "t"}),
    "CreateTableBranch": (None, {"name": "side"}),
    "DeleteTableBranch": (None, {"name": "side"}),
    "CreateTableIndex": (None, {"column": "vec", "index_type": "IVF_FLAT"}),
    "ExplainTableQueryPlan": (None, {"query": {"vector": {"single_vector": [1.0, 0.0]}, "k": 1}}),
    "AnalyzeTableQueryPlan": (None, {"vector": {"single_vector": [1.0, 0.0]}, "k": 1}),
    "RenameTable": (None, {"new_table_name": "x"}),
    "AlterTable": (None, {"set_properties": {"k": "v"}}),
    "DeregisterTable": (None, {}),
    "DropTable": (None, {}),
}
"""Calls on a table with their required fields; the calls that remove the table come last."""


def json_calls(lab: Lab) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each supported table operation with a JSON body, and the fields of its request."""
    for name, (_, request) in CALLS.items():
        if OPERATIONS[name].body is Body.JSON and lab.supports(name):
            if name == "RenameTable":  # the new name if the target accepts an invalid request
                new = lab.table_id()
                lab.ledger.made("table", tuple(new))
                request = {"new_table_name": new[-1]}
            yield name, request


def must_refuse(
    lab: Lab, name: str, table: list[str], request: dict[str, Any], body: bytes
) -> None:
    """Send a call with a different body and check that it is rejected."""
    path, query, _, headers = route(OPERATIONS[name], {"id": table, **request}, None)
    reply = raw(lab, name, path, body, query=query, headers=headers)
    if not reply.no_route and reply.code != 0:
        lab.must_fail(reply, [13])


def request_fields(name: str, *, required: bool) -> list[str]:
    from lance_namespace_client import models

    found = [
        f.key for f in getattr(models, OPERATIONS[name].request)._wire if f.required is required
    ]
    return [key for key in found if key not in ("identity", "context")]


def tables_exist(lab: Lab, *tables: list[str]) -> list[bool]:
    return [lab.exists("TableExists", table) for table in tables]
