"""Runs a Python namespace in an interpreter of its own, which need not have this package.

Reads one JSON object a line from standard input and answers each with one line.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
from typing import Any


def main() -> None:
    """Serve the namespace that the first line names until standard input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr  # what the namespace prints must not get between the answers
    first = json.loads(sys.stdin.readline())
    try:
        module, _, name = first["target"].partition(":")
        namespace = getattr(importlib.import_module(module), name)(**first["properties"])
        _write(out, {"ready": True})
    except Exception as error:  # noqa: BLE001 - told to the other side
        _write(out, {"failed": f"{type(error).__name__}: {error}"})
        return
    for line in sys.stdin:
        _write(out, _answer(namespace, json.loads(line)))


def _write(out: Any, value: dict[str, Any]) -> None:
    out.write(json.dumps(value, default=str) + "\n")
    out.flush()


def _answer(namespace: Any, call: dict[str, Any]) -> dict[str, Any]:
    method = getattr(namespace, call["method"], None)
    if method is None:
        return {"no_route": True}
    arguments = [_request(call["request"], call["model"])]
    if call.get("data") is not None:
        arguments.append(base64.b64decode(call["data"]))
    try:
        answer = method(*arguments)
    except NotImplementedError as error:
        return {"code": 0, "message": str(error)}
    except Exception as error:  # noqa: BLE001 - told to the other side
        code = getattr(error, "code", None)
        code = getattr(code, "value", code)
        if isinstance(code, int):
            return {"code": code, "message": str(error)}
        return {"broken": f"{type(error).__name__} without a code: {error}"}
    return _plain(answer)


def _request(request: dict[str, Any], model: str) -> Any:
    """Build the official model where the official package is there, else pass the dict."""
    try:
        models = importlib.import_module("lance_namespace_urllib3_client.models")
    except ImportError:
        return request
    cls = getattr(models, model, None)
    return request if cls is None else cls.from_dict(request)


def _plain(answer: Any) -> dict[str, Any]:
    if answer is None:
        return {"answer": {}}
    if isinstance(answer, bytes):
        return {"data": base64.b64encode(answer).decode("ascii")}
    if isinstance(answer, int | str):
        return {"value": answer}
    data = getattr(answer, "data", None)
    if isinstance(data, bytes):
        return {"data": base64.b64encode(data).decode("ascii")}
    dump = getattr(answer, "to_dict", None) or answer.model_dump
    return {"answer": dump()}


if __name__ == "__main__":
    main()
