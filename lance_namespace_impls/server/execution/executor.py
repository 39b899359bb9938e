"""Execution of one operation on a namespace: decode, authorize, execute, encode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, BinaryIO

from attrs import evolve

from lance_namespace_client.arrow import RowStream, to_reader
from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import Action, Operation

from ...core.identifiers import ROOT, Identifier, parse_identifier
from ...core.options import is_secret_option
from ...core.storage import EXPIRES_AT_MILLIS
from ...tables.align import aligned
from ..http.requests import Headers, read_request
from ..http.responses import Reply, Vend, listing_reply, reply
from ..http.routing import Endpoint
from ..lancedb.clone import CLONE_TABLE, clone
from ..lancedb.dialect import Databases
from ..options import ServerOptions
from ..security.authentication import Authentication, Caller
from ..security.authorization import Guard
from ..security.vending import AssumeRole, Rights
from .context import Call

__all__ = ["Performer"]

# The year 2100.
NEVER = "4102444800000"


class Performer:
    """Executes operations; called from worker threads.

    Args:
        namespace: the served namespace.
        options: server options.
    """

    def __init__(self, namespace: LanceNamespace, options: ServerOptions) -> None:
        self._namespace = namespace
        self._options = options
        self._databases = Databases(namespace, options.lancedb_databases)
        self._authentication = Authentication(options.sources) if options.sources else None
        self._page_sizes: Sequence[int] = getattr(namespace, "page_sizes", ())
        policy = options.policies
        self._guard = None if policy is None else Guard(policy, namespace)

    @property
    def authentication(self) -> Authentication | None:
        """The authentication of callers; None if there is none."""
        return self._authentication

    def check_allowed(self, operation: Operation[Any, Any], caller: Caller | None) -> None:
        """Reject an operation that the policy does not allow the caller on any object.

        Raises:
            PermissionDeniedError: code 15.
        """
        if self._guard is not None:
            self._guard.check_operation(operation, caller)

    def takes(self, endpoint: Endpoint, headers: Headers) -> bool:
        """Return whether the body has a content type that only the dialect accepts."""
        dialect = self._databases.dialect(headers)
        return dialect is not None and dialect.takes(endpoint.operation, headers)

    def perform(self, call: Call, body: bytes, rows: BinaryIO | None = None) -> Reply:
        """Execute an operation.

        Args:
            call: the request; its identifier is recorded there.
            body: the JSON body; empty if there is none.
            rows: the body, if it contains rows.

        Returns:
            the response; its rows are read while it is sent.

        Raises:
            LanceNamespaceError: the request cannot be read, or the operation fails.
            PermissionDeniedError: code 15, the caller does not have permission.
        """
        endpoint, headers, caller = call.endpoint, call.headers, call.caller
        dialect = self._databases.dialect(headers)
        operation = endpoint.operation
        if dialect is None:
            request = call.request = self._read(call, body)
            self._check(operation, request, caller)
            if self._comes_in_pages(operation, request):
                return self._listing(operation, request, caller)
            return self._reply(
                operation, request, self._do(operation, request, rows, caller), caller
            )
        try:
            body = dialect.read_body(operation, headers, body)
            operation, request = dialect.place(operation, self._read(call, body))
            call.identifier = getattr(request, "id", None)
            self._check(operation, request, caller)
            dialect.require_database()
            answer = self._do(operation, request, rows, caller)
            found = dialect.reply(operation, request, answer, self._namespace)
            return dialect.signed(found or self._reply(operation, request, answer, caller))
        except LanceNamespaceError as error:
            if error.http_status >= 500:
                raise
            return dialect.signed(dialect.failed(error))

    def _comes_in_pages(self, operation: Operation[Any, Any], request: Any) -> bool:
        """Return whether a full listing is requested from a catalog that is read in pages.

        Callers with a restricted view are excluded: each of their pages costs a full listing.
        """
        return (
            operation.name in ("ListNamespaces", "ListTables")
            and request.limit is None
            and self._guard is None
            and bool(self._page_sizes)
        )

    def _listing(
        self, operation: Operation[Any, Any], request: Any, caller: Caller | None
    ) -> Reply:
        """Return a full listing; its first page is sent before the others are read."""

        def page(size: int, token: str | None) -> Any:
            part = evolve(request, limit=size, page_token=token)
            return self._do(operation, part, None, caller)

        first = page(self._page_sizes[0], request.page_token)
        return listing_reply(operation, first, partial(page, self._page_sizes[-1]))

    def _read(self, call: Call, body: bytes) -> Any:
        request: Any = read_request(
            call.endpoint, call.segments, call.query_string, call.headers, body
        )
        call.identifier = getattr(request, "id", None)
        if self._authentication is not None:
            # The credentials for this server must not reach the namespace.
            request.identity = None
        return request

    def _check(self, operation: Operation[Any, Any], request: Any, caller: Caller | None) -> None:
        if self._guard is not None:
            self._guard.check(operation, request, caller)

    def _do(
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
                answer = self._guard.answer(operation, request, caller, method)
            else:
                answer = method(request)
            return self._without_disabled(answer) if operation.name == "ListOperations" else answer

    def _without_disabled(self, answer: Any) -> Any:
        disabled = self._options.reach.disabled(self._namespace)
        return evolve(answer, operations=[n for n in answer.operations if n not in disabled])

    def _clone(self, request: Any, caller: Caller | None) -> Any:
        policy = self._options.policies
        return clone(
            self._namespace,
            request,
            lambda table: policy is None or policy.allows(caller, Action.READ, table),
            # A location may belong to any table.
            may_name=policy is None or policy.allows_all(caller, Action.MANAGE, ROOT),
        )

    def _reply(
        self, operation: Operation[Any, Any], request: Any, answer: Any, caller: Caller | None
    ) -> Reply:
        vend: Vend | None = None
        if getattr(request, "vend_credentials", None) is not False:
            if self._options.vend_role is not None:
                vend = partial(self._vend, self._options.vend_role, request, caller)
            elif self._options.vend_storage_options:
                vend = _as_they_are
        return reply(operation, answer, vend=vend)

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
            # Writing a table requires reading its manifests, and the written rows may be read.
            readable = policy is None or policy.allows(caller, Action.READ, identifier)
            return "write" if readable else None
        return "read" if policy.allows(caller, Action.READ, identifier) else None


def _as_they_are(location: str | None, options: dict[str, str]) -> dict[str, str]:
    """Return the options; with secrets they need an expiration time, which pylance 1 requires."""
    has_secret = any(map(is_secret_option, options))
    return {EXPIRES_AT_MILLIS: NEVER, **options} if has_secret else options


def _with_rows(
    method: Callable[..., Any], request: Any, file: BinaryIO, max_batch_bytes: int
) -> Any:
    """Call an operation that accepts rows; any failure of a broken stream becomes code 13."""
    reader = to_reader(file, max_batch_bytes=max_batch_bytes)
    rows = RowStream(reader.schema, map(aligned, reader))
    with rows.guarded():
        return method(request, rows)
