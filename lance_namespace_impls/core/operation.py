"""The boundary between callers and implementations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from lance_namespace_client._model import Model, RequestLike
from lance_namespace_client.errors import LanceNamespaceError, UnsupportedError
from lance_namespace_client.operations import OPERATIONS

from .identifiers import format_identifier, parse_identifier

if TYPE_CHECKING:
    from .capabilities import Capabilities

__all__ = ["operation"]


class Implementation(Protocol):
    """What the boundary needs of a namespace."""

    @property
    def capabilities(self) -> Capabilities: ...

    def check_identifier(self, operation: str, request: Any) -> None: ...

    def translate(self, error: Exception, what: str) -> LanceNamespaceError: ...


Self_ = TypeVar("Self_", bound=Implementation)
Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")
Rest = ParamSpec("Rest")

_BY_METHOD = {row.method_name: row for row in OPERATIONS.values()}


def operation(
    method: Callable[Concatenate[Self_, Request, Rest], Response],
) -> Callable[Concatenate[Self_, Request | RequestLike, Rest], Response]:
    """Make a method the implementation of the operation of its name.

    The request arrives as its model whatever it was given as; its identifier is checked; an
    operation that the backend declares unsupported answers code 0; and every failure leaves as
    a `LanceNamespaceError`.
    """
    row = _BY_METHOD[method.__name__]

    @functools.wraps(method)
    def call(
        self: Self_, request: Request | RequestLike, *args: Rest.args, **kwargs: Rest.kwargs
    ) -> Response:
        if isinstance(request, Mapping) and request.get("id") == "":
            request = {key: value for key, value in request.items() if key != "id"}
        coerced: Any = row.request_type.coerce(request)
        self.check_identifier(row.name, coerced)
        reason = self.capabilities.unsupported.get(row.name)
        if reason is not None:
            raise UnsupportedError(f"{row.name} is not supported: {reason}")
        try:
            return method(self, coerced, *args, **kwargs)
        except LanceNamespaceError:
            raise
        except Exception as error:
            identifier = getattr(coerced, "id", None)
            what = row.name
            if identifier:
                what += f" {format_identifier(parse_identifier(identifier))}"
            raise self.translate(error, what) from error

    return cast("Callable[Concatenate[Self_, Request | RequestLike, Rest], Response]", call)
