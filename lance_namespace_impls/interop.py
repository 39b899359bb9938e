"""Every backend as a subclass of the official Python interface.

>>> import lance_namespace
>>> ns = lance_namespace.connect(
...     "lance_namespace_impls.interop.DirectoryNamespace", {"path": "/data/lance"}
... )  # doctest: +SKIP

The module has one class for each registered implementation, named like the class that it adapts.
Requests and responses are the official pydantic models; errors are the official classes, and
messages start with the official titles. lancedb and lance-ray connect through these classes.

Source: protocol semantics, "How other clients call".
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import lance_namespace
import lance_namespace_urllib3_client.models as official_models
from lance_namespace import errors as official_errors

from lance_namespace_client.errors import ErrorCode, LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body, Operation

from .registry import implementations, open_namespace

__all__ = ["OfficialNamespace"]


class TableAlreadyExistsError(official_errors.TableAlreadyExistsError, ValueError):
    """A table with that name already exists; a ``ValueError`` too, which lancedb users catch."""


_ERRORS: dict[int, type[Exception]] = {
    **{int(kind.code): kind for kind in official_errors.LanceNamespaceError.__subclasses__()},
    int(ErrorCode.TABLE_ALREADY_EXISTS): TableAlreadyExistsError,
}


class OfficialNamespace(lance_namespace.LanceNamespace):
    """Adapter from the official interface to a namespace of this package.

    Args:
        properties: the implementation's properties, as keyword arguments.
    """

    impl: ClassVar[str]
    """Name of the implementation; set by each subclass."""

    def __init__(self, **properties: str) -> None:
        self._properties = properties
        with _official_errors():
            self._namespace = open_namespace(self.impl, properties)

    def namespace_id(self) -> str:
        """Return a string that identifies this namespace: its impl and its properties, without secrets."""
        return self._namespace.namespace_id()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reconnect, (type(self).__name__, self._properties))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.namespace_id()}>"


@contextmanager
def _official_errors() -> Iterator[None]:
    """Translate an error of this package to the official class with the same code, chaining the cause."""
    try:
        yield
    except LanceNamespaceError as error:
        official = _ERRORS.get(int(error.code), official_errors.InternalError)
        title = _title(error.code)
        message = error.message
        # A server may already have added the title.
        raise official(message if message.startswith(title) else f"{title}: {message}") from error


def _title(code: ErrorCode) -> str:
    """Return the prefix that the official packages add to messages with this code; lancedb relies on it."""
    if code is ErrorCode.INTERNAL:
        return "Internal error"
    return code.name.replace("_", " ").capitalize()


def _method(operation: Operation[Any, Any]) -> Callable[..., Any]:
    """Build the official method for an operation, with the response type of the official interface."""
    declared = inspect.signature(getattr(lance_namespace.LanceNamespace, operation.method_name))
    plain = declared.return_annotation is str
    answer_type = getattr(official_models, operation.response)

    def call(self: OfficialNamespace, request: Any, *data: bytes) -> Any:
        with _official_errors():
            answer = getattr(self._namespace, operation.method_name)(request, *data)
            if operation.answer is Body.ARROW:
                return answer_type(data=_file_bytes(answer))
        if plain:
            return getattr(answer, operation.answer_field or "")
        return answer_type.from_dict(answer.to_dict())

    call.__name__ = operation.method_name
    call.__doc__ = f"{operation.summary}."
    return call


def _file_bytes(reader: Any) -> bytes:
    import pyarrow as pa

    sink = io.BytesIO()
    with reader, pa.ipc.new_file(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return sink.getvalue()


for _row in OPERATIONS.values():
    if hasattr(lance_namespace.LanceNamespace, _row.method_name):
        setattr(OfficialNamespace, _row.method_name, _method(_row))


def _reconnect(name: str, properties: dict[str, str]) -> OfficialNamespace:
    # Each class is created only once; otherwise, `isinstance` would fail.
    cls: type[OfficialNamespace] = globals().get(name) or __getattr__(name)
    return cls(**properties)


def __getattr__(name: str) -> Any:
    for impl, target in implementations().items():
        if target.rpartition(":")[2] == name:
            cls = type(name, (OfficialNamespace,), {"impl": impl, "__module__": __name__})
            cls.__doc__ = f"The {impl!r} implementation behind the official interface."
            globals()[name] = cls
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
