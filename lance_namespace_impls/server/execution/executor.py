"""Executes one operation on a namespace: decode, authorize, execute, encode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, BinaryIO

from attrs import evolve

from lance_namespace_client.arrow import RowStream, to_reader
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import Action, Operation

from ...core.identifiers import ROOT, Identifier, parse_identifier
from ...core.options import is_secret_option
from ...core.storage import EXPIRES_AT_MILLIS
from ...tables.align import aligned
from ..http.responses import Pages, Reply, Vend
from ..lancedb.clone import CLONE_TABLE, clone
from ..observability.observer import Observer
from ..options import ServerOptions
from ..security.authentication import Caller
from ..security.authorization import Guard
from ..security.vending import AssumeRole, Rights
from .context import Call
from .failures import Failures

__all__ = ["Executor"]

# An expiration time in the year 2100, in milliseconds since 1970.
NEVER = "4102444800000"


class Executor:
    """Decodes, authorizes, executes and encodes operations; called from worker threads.

    Args:
        namespace: the served namespace.
        options: server options.
        observer: observes the calls to the catalog.
        failures: encodes failures.
    """

    def __init__(
        self,
        namespace: LanceNamespace,
        options: ServerOptions,
        observer: Observer,
        failures: Failures,
    ) -> None:
        self._namespace = namespace
        self._options = options
        self._observer = observer
        self._failures = failures
        self._page_sizes: Sequence[int] = getattr(namespace, "page_sizes", ())
        self._authenticates = bool(options.sources)
        policy = options.policies
        self._guard = None if policy is None else Guard(policy, namespace)

    def check_allowed(self, operation: Operation[Any, Any], caller: Caller | None) -> None:
        """Reject an operation that the policy does not allow for the caller on any object.

        Called before any part of the request is read.

        Raises:
            PermissionDeniedError: code 15.
        """
        if self._guard is not None:
            self._guard.check_operation(operation, caller)

    def run(self, call: Call, body: bytes, rows: BinaryIO | None = None) -> Reply:
        """Execute an operation and return its response, or an error response if it fails.

        Args:
            call: the context of the request, in which the identifier is recorded.
            body: the JSON body; empty if there is none.
            rows: the body if it contains rows.

        Returns:
            the response; rows are read while it is sent.
        """
        caller = call.caller
        try:
            with self._observer.working(call):
                operation, request = self._decode(call, body)
                self._authorize(call, operation, request)
                if self._is_paginated(operation, request):
                    response: Any = self._pages(operation, request, caller)
                else:
                    response = self._execute(operation, request, rows, caller)
                vend = self._vending(request, caller)
                return call.dialect.encode(operation, request, response, vend)
        except Exception as error:  # noqa: BLE001 - every failure becomes a protocol error
            return self._failures.reply(error, call)

    def _decode(self, call: Call, body: bytes) -> tuple[Operation[Any, Any], Any]:
        operation, request = call.dialect.decode(
            call.endpoint, call.segments, call.query_string, call.headers, body
        )
        call.identifier = getattr(request, "id", None)
        if self._authenticates:
            # Credentials for this server must not be passed to the namespace.
            request.identity = None
        return operation, request

    def _authorize(self, call: Call, operation: Operation[Any, Any], request: Any) -> None:
        if self._guard is not None:
            self._guard.check(operation, request, call.caller)
        call.dialect.check_target()

    def _is_paginated(self, operation: Operation[Any, Any], request: Any) -> bool:
        """Return whether the request is for a full listing of a catalog that can list in pages.

        Callers with a restricted view are excluded: each of their pages costs a full listing.
        """
        return (
            operation.name in ("ListNamespaces", "ListTables")
            and request.limit is None
            and self._guard is None
            and bool(self._page_sizes)
        )

    def _pages(self, operation: Operation[Any, Any], request: Any, caller: Caller | None) -> Pages:
        """Return a full listing; its first page is sent before the other pages are read."""

        def page(size: int, token: str | None) -> Any:
            part = evolve(request, limit=size, page_token=token)
            return self._execute(operation, part, None, caller)

        first = page(self._page_sizes[0], request.page_token)
        return Pages(first, partial(page, self._page_sizes[-1]))

    def _execute(
        self,
        operation: Operation[Any, Any],
        request: Any,
        rows: BinaryIO | None,
        caller: Caller | None,
    ) -> Any:
        self._options.reach.check(operation, request, self._namespace)
        if operation is CLONE_TABLE:
            with self._options.reach.bounds():
                return self._clone(request, caller)
        method = getattr(self._namespace, operation.method_name)
        with self._options.reach.bounds():
            if rows is not None:
                return _with_rows(method, request, rows, self._options.limits.batch_bytes)
            if self._guard is not None:
                response = self._guard.answer(operation, request, caller, method)
            else:
                response = method(request)
            return (
                self._without_disabled(response) if operation.name == "ListOperations" else response
            )

    def _without_disabled(self, response: Any) -> Any:
        disabled = self._options.reach.disabled(self._namespace)
        return evolve(response, operations=[n for n in response.operations if n not in disabled])

    def _clone(self, request: Any, caller: Caller | None) -> Any:
        policy = self._options.policies
        return clone(
            self._namespace,
            request,
            lambda table: policy is None or policy.allows(caller, Action.READ, table),
            # A location can belong to any table, so the caller needs permission for all of them.
            may_name=policy is None or policy.allows_all(caller, Action.MANAGE, ROOT),
        )

    def _vending(self, request: Any, caller: Caller | None) -> Vend | None:
        """Return a function that converts a table's storage options for the caller, or None."""
        if getattr(request, "vend_credentials", None) is False:
            return None
        if self._options.vend_role is not None:
            return partial(self._vend, self._options.vend_role, request, caller)
        return _as_they_are if self._options.vend_storage_options else None

    def _vend(
        self,
        role: AssumeRole,
        request: Any,
        caller: Caller | None,
        location: str | None,
        options: dict[str, str],
    ) -> dict[str, str]:
        """Return storage options with credentials limited to the caller's rights on one table."""
        name = getattr(request, "id", None)
        rights = self._rights(caller, parse_identifier(name)) if name else None
        if location is None or rights is None:
            return role.harmless(options)
        return role.vend(location, options, rights, "anyone" if caller is None else caller.name)

    def _rights(self, caller: Caller | None, identifier: Identifier) -> Rights | None:
        policy = self._options.policies
        if policy is None or policy.allows(caller, Action.WRITE, identifier):
            # Writing to a table requires reading its manifests, and may require reading the written
            # rows.
            readable = policy is None or policy.allows(caller, Action.READ, identifier)
            return "write" if readable else None
        return "read" if policy.allows(caller, Action.READ, identifier) else None


def _as_they_are(location: str | None, options: dict[str, str]) -> dict[str, str]:
    """Return the options unchanged, except for an expiration time, which pylance 1 requires if
    there are secrets.
    """
    has_secret = any(map(is_secret_option, options))
    return {EXPIRES_AT_MILLIS: NEVER, **options} if has_secret else options


def _with_rows(
    method: Callable[..., Any], request: Any, file: BinaryIO, max_batch_bytes: int
) -> Any:
    """Call an operation that accepts rows; report all failures as code 13 if the stream breaks."""
    reader = to_reader(file, max_batch_bytes=max_batch_bytes)
    rows = RowStream(reader.schema, map(aligned, reader))
    with rows.guarded():
        return method(request, rows)
