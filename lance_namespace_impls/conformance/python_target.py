"""A target in this process: any object with the protocol's methods."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body

from .exchange import Reply, Step

__all__ = ["PythonTarget"]


class PythonTarget:
    """A namespace object in this process.

    Args:
        namespace: accepts requests as dicts and returns models, as every namespace from
            `lance_namespace_impls.connect` does.
        name: name in reports.
    """

    kind = "python"

    def __init__(self, namespace: Any, name: str | None = None) -> None:
        self.namespace = namespace
        self.name = name or str(namespace.namespace_id())

    def close(self) -> None:
        """Close the namespace."""
        close = getattr(self.namespace, "close", None)
        if close is not None:
            close()

    def call(self, step: Step) -> Reply:
        """Return the reply of the namespace to one call."""
        operation = OPERATIONS[step.operation]
        method = getattr(self.namespace, operation.method_name, None)
        started = time.monotonic()
        if method is None:
            return Reply(step=step, code=0, message="no such method", no_route=True)
        given = (dict(step.request),)
        try:
            answer = method(*given) if step.data is None else method(*given, step.data)
            rows = _table(answer) if operation.answer is Body.ARROW else None
        except LanceNamespaceError as error:
            return Reply(
                step=step,
                code=int(error.code),
                message=error.message,
                seconds=time.monotonic() - started,
            )
        except Exception as error:  # noqa: BLE001 - a target may fail in any way
            return Reply(
                step=step,
                broken=f"{type(error).__name__} without a code: {error}",
                seconds=time.monotonic() - started,
            )
        seconds = time.monotonic() - started
        if rows is not None:
            return Reply(step=step, rows=rows, seconds=seconds)
        return Reply(step=step, answer=answer.to_dict() if answer else {}, seconds=seconds)


def _table(answer: Any) -> pa.Table:
    with answer as reader:
        return reader.read_all()
