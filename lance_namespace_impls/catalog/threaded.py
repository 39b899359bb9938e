"""ThreadedNamespace: any namespace for asynchronous programs, with its calls on threads."""

from __future__ import annotations

from collections.abc import AsyncIterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lance_namespace_client.model import Model, RequestLike
from lance_namespace_client.operations import Body, Operation

from ..core.async_calls import in_thread, rows_in_thread, with_async_rows
from ..objects.async_namespace import AsyncNamespace

if TYPE_CHECKING:
    from lance_namespace_client.arrow import AsyncArrowData

    from .namespace import Namespace

__all__ = ["ThreadedNamespace"]

Request = TypeVar("Request", bound=Model)
Response = TypeVar("Response")


class ThreadedNamespace(AsyncNamespace):
    """A namespace whose calls run on the threads of the process, at most `CALLS` at a time.

    Errors are the same as those of the synchronous namespace. Canceling a task discards the result
    of its call. A call that has started ends in the background, so a change may still be made.

    Args:
        namespace: the namespace; this object closes it.
    """

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    @property
    def synchronous(self) -> Namespace:
        """The same namespace for blocking calls, such as those of threads."""
        return self._namespace

    def namespace_id(self) -> str:
        """Return a string that identifies the namespace."""
        return self._namespace.namespace_id()

    async def aclose(self) -> None:
        """Close the connections; the namespace cannot be used afterwards."""
        await in_thread(self._namespace.close)

    async def _call(
        self, operation: Operation[Request, Response], request: Request | RequestLike | None
    ) -> Response:
        call = self._method(operation)
        coerced = operation.request_type.coerce(request)
        if operation.answer is Body.ARROW:
            return cast("Response", await rows_in_thread(call, coerced))
        return cast("Response", await in_thread(call, coerced))

    async def _call_with_rows(
        self,
        operation: Operation[Request, Response],
        request: Request | RequestLike,
        data: AsyncArrowData,
    ) -> Response:
        call = partial(self._method(operation), operation.request_type.coerce(request))
        if isinstance(data, AsyncIterable) and not hasattr(data, "__arrow_c_stream__"):
            return cast("Response", await with_async_rows(call, data))
        return cast("Response", await in_thread(call, data))

    def _method(self, operation: Operation[Any, Any]) -> Any:
        return getattr(self._namespace, operation.method_name)
