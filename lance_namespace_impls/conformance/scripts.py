"""Calls as something to run: Python, curl, or JSON that the kit replays."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from lance_namespace_client.operations import OPERATIONS

from .exchange import Exchange, Step, shown_body
from .http_target import written

__all__ = ["as_curl", "as_json", "as_python", "exchange_text"]


def as_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Return the calls as JSON, which ``lance-ns conformance --replay`` takes."""
    return [step.to_dict() for step in steps]


def as_python(steps: Sequence[Step], connection: str) -> str:
    """Return the calls as a Python program.

    Args:
        steps: the calls.
        connection: expression that connects, such as ``connect("rest", {"uri": ...})``.
    """
    lines = [
        "import base64",
        "",
        "from lance_namespace_client.errors import LanceNamespaceError",
        "from lance_namespace_impls import connect",
        "",
        "",
        "def call(method, *arguments):",
        "    try:",
        "        print(method.__name__, method(*arguments))",
        "    except LanceNamespaceError as error:",
        "        print(method.__name__, int(error.code), error)",
        "",
        "",
        f"namespace = {connection}",
    ]
    for step in steps:
        if step.raw is not None:
            lines.append(f"# {step.raw['method']} {step.raw['path']} over HTTP: see curl")
            continue
        method = OPERATIONS[step.operation].method_name
        arguments = [repr(dict(step.request))]
        if step.data is not None:
            arguments.append(f"base64.b64decode({base64.b64encode(step.data).decode()!r})")
        lines.append(f"call(namespace.{method}, {', '.join(arguments)})")
    return "\n".join(lines) + "\n"


def as_curl(steps: Sequence[Step], uri: str) -> str:
    """Return the calls as curl commands; credentials are left to the reader."""
    lines = []
    for step in steps:
        method, path, query, content, headers = written(step)
        text = urlencode(query, doseq=True, quote_via=quote)
        command = ["curl", "-sS", "-X", method, "--path-as-is"]
        for name, value in headers.items():
            command += ["-H", f"{name}: {value}"]
        head = ""
        if content is not None:
            encoded = base64.b64encode(content).decode()
            head = f"echo {encoded} | base64 -d | " if not content.isascii() else ""
            command += ["--data-binary", "@-" if head else content.decode()]
        url = uri.rstrip("/") + path + (f"?{text}" if text else "")
        lines.append(head + shlex.join([*command, url]))
    return "\n".join(lines) + "\n"


def exchange_text(exchange: Exchange | None) -> tuple[str, str]:
    """Return the request and the answer of an exchange as people read HTTP; empty for none."""
    if exchange is None:
        return "", ""
    request = [f"{exchange.method} {exchange.url}"]
    request += [f"{k}: {v}" for k, v in exchange.request_headers.items()]
    request += ["", shown_body(exchange.request_body)]
    response = [f"HTTP {exchange.status}"]
    response += [f"{k}: {v}" for k, v in exchange.headers.items()]
    response += ["", shown_body(exchange.body)]
    return "\n".join(request).rstrip(), "\n".join(response).rstrip()


def one_line(step: Step) -> str:
    """Return a call in one line."""
    data = f", {len(step.data)} bytes of rows" if step.data is not None else ""
    return f"{step.operation}({json.dumps(dict(step.request), ensure_ascii=False)}{data})"
