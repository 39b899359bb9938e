"""Runs a Python namespace in a separate interpreter, which does not need this package.

Reads one JSON object per line from standard input and answers each with one line.
"""

from __future__ import annotations

import base64
import importlib
import inspect
import json
import os
import sys
from typing import Any

INVALID_INPUT = 13


def main() -> None:
    """Serve the namespace that the first line specifies, until standard input ends."""
    out = sys.stdout
    sys.stdout = sys.stderr  # output of the namespace must not mix with the answers
    # Import from the current directory, but not the modules next to this file.
    beside = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [*(path for path in sys.path if path != beside), os.getcwd()]
    first = json.loads(sys.stdin.readline())
    try:
        module, _, name = first["target"].partition(":")
        namespace = getattr(importlib.import_module(module), name)(**first["properties"])
        _write(out, {"ready": True})
    except Exception as error:  # noqa: BLE001 - reported to the parent process
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
    try:
        arguments = [_request(method, call["request"], call["model"])]
    except ValueError as error:  # the official models check their fields
        return {"code": INVALID_INPUT, "message": str(error)}
    if call.get("data") is not None:
        arguments.append(base64.b64decode(call["data"]))
    try:
        return _plain(method(*arguments))
    except NotImplementedError as error:
        # The default of the official interface for an operation that a class does not implement.
        return {"code": 0, "message": str(error)}
    except Exception as error:  # noqa: BLE001 - reported to the parent process
        code = getattr(error, "code", None)
        code = getattr(code, "value", code)
        if isinstance(code, int):
            return {"code": code, "message": str(error)}
        return {"broken": f"{type(error).__name__} without a code: {error}"}


def _request(method: Any, request: dict[str, Any], model: str) -> Any:
    """Build the official model, if there is one and the method does not expect a dict."""
    try:
        models = importlib.import_module("lance_namespace_urllib3_client.models")
    except ImportError:
        return request
    cls = getattr(models, model, None)
    if cls is None or _takes_dict(method):
        return request
    try:
        return cls.from_dict(request)
    except ValueError as error:
        listed = _lists(error)
        if not listed:
            raise
        # Releases of the models differ in whether a field is a name or a list of names.
        changed = {key: [value] if key in listed else value for key, value in request.items()}
        return cls.from_dict(changed)


def _takes_dict(method: Any) -> bool:
    parameters = list(inspect.signature(method).parameters.values())
    return bool(parameters) and parameters[0].annotation in (dict, "dict")


def _lists(error: ValueError) -> set[str]:
    """Return the names of the fields that are strings but must be lists in the model."""
    found: list[dict[str, Any]] = getattr(error, "errors", list)()
    return {
        entry["loc"][0]
        for entry in found
        if entry["type"] == "list_type"
        and len(entry["loc"]) == 1
        and isinstance(entry["input"], str)
    }


def _plain(answer: Any) -> dict[str, Any]:
    if answer is None:
        return {"answer": {}}
    if isinstance(answer, dict):
        return {"answer": answer}
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
