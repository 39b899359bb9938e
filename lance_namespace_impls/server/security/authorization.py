"""Authorizes requests: checks their objects against a policy, and filters listings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lance_namespace_client import models
from lance_namespace_client.errors import (
    ErrorCode,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
)
from lance_namespace_client.model import Model
from lance_namespace_client.namespace import LanceNamespace
from lance_namespace_client.operations import Action, Operation

from ...catalog.catalog import CatalogNamespace
from ...catalog.identifiers import parent_after
from ...core.identifiers import (
    DEFAULT_DELIMITER,
    ROOT,
    Identifier,
    format_identifier,
    join_identifier,
    parse_identifier,
    split_identifier,
)
from ...core.paging import page_of
from .authentication import Caller
from .confinement import named_fields
from .policy import Policy

__all__ = ["Guard"]

# Delimiter in the identifiers of the server's own requests; it does not occur in names.
_OWN_DELIMITER = "\x1f"
_LISTINGS = frozenset({"ListNamespaces", "ListTables", "ListAllTables"})
# Operations that reveal no more about a namespace than its entry in a listing does.
_ON_VISIBLE = frozenset({"ListNamespaces", "ListTables", "NamespaceExists"})
# Error codes of listings for which the caller's own request is responsible, for example because the
# namespace does not exist or the input is invalid.
_OF_REQUEST = frozenset(
    {ErrorCode.NAMESPACE_NOT_FOUND, ErrorCode.INVALID_INPUT, ErrorCode.UNSUPPORTED}
)

Call = Callable[[Any], Any]


class Guard:
    """Applies a policy to operations.

    Args:
        policy: permissions of callers.
        namespace: the served namespace.
    """

    def __init__(self, policy: Policy, namespace: LanceNamespace) -> None:
        self._policy = policy
        self._namespace = namespace

    def check_operation(self, operation: Operation[Any, Any], caller: Caller | None) -> None:
        """Reject an operation that the policy does not allow for the caller on any object.

        Raises:
            PermissionDeniedError: code 15.
        """
        if not self._policy.allows_some(caller, operation.action, ROOT):
            raise _denied(operation, caller)

    def check(self, operation: Operation[Any, Any], request: Model, caller: Caller | None) -> None:
        """Reject a request if the caller lacks permission for its objects, even if they do not
        exist.

        Raises:
            PermissionDeniedError: code 15.
        """
        policy, action = self._policy, operation.action
        self.check_operation(operation, caller)
        is_allowed = policy.allows_some if operation.name in _ON_VISIBLE else policy.allows
        if operation.name.endswith("Transaction") or self._cascades(operation, request):
            # A transaction's identifier does not show which objects the transaction changes, so the
            # caller needs permission for all of them.
            is_allowed = policy.allows_all
        for given in _objects(operation, request):
            identifier = parse_identifier(given)
            if operation.name.endswith("Transaction"):
                identifier = ROOT
            if not is_allowed(caller, action, identifier):
                raise _denied(operation, caller)
        if operation.name == "RenameTable":
            self._check_rename(operation, request, caller)
        # The location may belong to any table, which the caller could then read and write under a
        # new name.
        if self._has_location(request) and not policy.allows_all(caller, Action.MANAGE, ROOT):
            raise PermissionDeniedError(
                f"{operation.name}: only callers with permission to manage everything can specify "
                "a location; omit it"
            )

    def answer(
        self, operation: Operation[Any, Any], request: Any, caller: Caller | None, call: Call
    ) -> Any:
        """Return the result of an operation that `check` has allowed.

        A listing contains only the entries that the caller may read; its pages have the requested
        size.

        Args:
            operation: the operation.
            request: its request.
            caller: the caller.
            call: calls the operation on the namespace.

        Raises:
            LanceNamespaceError: the operation fails.
        """
        if operation.name not in _LISTINGS:
            return call(request)
        parent = ROOT if operation.name == "ListAllTables" else parse_identifier(request.id)
        if self._policy.allows_all(caller, Action.READ, parent):
            return call(request)
        delimiter = (request.context or {}).get("delimiter", DEFAULT_DELIMITER)
        is_whole = operation.name == "ListAllTables"
        page, token = page_of(
            lambda after: self._readable(operation, request, caller, call, parent, after),
            of=["readable", operation.name, *parent, getattr(request, "include_declared", None)],
            key=lambda identifier: identifier if is_whole else identifier[-1],
            page_token=request.page_token,
            limit=request.limit,
            from_name=lambda name: split_identifier(name, delimiter) if is_whole else name,
        )
        if operation.name == "ListNamespaces":
            names = [identifier[-1] for identifier in page]
            return models.ListNamespacesResponse(namespaces=names, page_token=token)
        shown = [join_identifier(each, delimiter) if is_whole else each[-1] for each in page]
        return models.ListTablesResponse(tables=shown, page_token=token)

    def _readable(
        self,
        operation: Operation[Any, Any],
        request: Any,
        caller: Caller | None,
        call: Call,
        parent: Identifier,
        after: Any,
    ) -> Iterator[Identifier]:
        """Iterate over the entries of a listing that the caller may read, in order, after `after`."""
        shows = (
            self._policy.allows_some if operation.name == "ListNamespaces" else self._policy.allows
        )
        found = self._walk(operation, request, call, parent)
        if not isinstance(self._namespace, CatalogNamespace):
            found = iter(sorted(found))
        last = after if after is None or isinstance(after, tuple) else (*parent, after)
        if last is not None and not all(isinstance(name, str) for name in last):
            raise InvalidInputError(f"{operation.name}: the page token is invalid")
        for identifier in found:
            if last is not None and identifier <= last:
                continue
            if shows(caller, Action.READ, identifier):
                yield identifier

    def _walk(
        self, operation: Operation[Any, Any], request: Any, call: Call, parent: Identifier
    ) -> Iterator[Identifier]:
        """Iterate over all entries of a listing, across the namespace's own pages."""
        given = request.to_dict()
        given.pop("limit", None)
        context = dict(given.get("context") or {})
        if operation.name == "ListAllTables":
            context["delimiter"] = _OWN_DELIMITER
        token = None
        while True:
            wanted = {**given, "page_token": token, "context": context}
            try:
                answer = operation.response_type.coerce(
                    call(operation.request_type.from_dict(wanted))
                )
            except LanceNamespaceError as error:
                if error.code in _OF_REQUEST:
                    raise
                # The message may name objects that must remain hidden from the caller.
                raise type(error)(
                    f"{operation.name}: {format_identifier(parent)} cannot be listed completely; "
                    "try again, or contact the operator"
                ) from error
            names = (
                answer.namespaces if operation.name == "ListNamespaces" else answer.tables
            ) or ()
            for name in names:
                if operation.name == "ListAllTables":
                    yield split_identifier(name, _OWN_DELIMITER)
                else:
                    yield (*parent, name)
            token = answer.page_token
            if not token:
                return

    def _check_rename(
        self, operation: Operation[Any, Any], request: Any, caller: Caller | None
    ) -> None:
        """Reject a move that the caller may not make, or that would extend the caller's
        permissions.
        """
        source = parse_identifier(request.id)
        allows = self._policy.allows
        for above in self._parents_after(request):
            target = (*above, request.new_table_name or "")
            gained = any(
                allows(caller, action, target) and not allows(caller, action, source)
                for action in Action
            )
            if gained or not allows(caller, operation.action, target):
                raise _denied(operation, caller)

    def _parents_after(self, request: Any) -> tuple[Identifier, ...]:
        """Return the possible parent namespaces of the table after the rename."""
        if isinstance(self._namespace, CatalogNamespace):
            return (parent_after(self._namespace.capabilities, request),)
        given, own = request.new_namespace_id, parse_identifier(request.id)[:-1]
        if given is None:
            return (own,)
        # Depending on the namespace, an empty list means the root or an unset field.
        return (parse_identifier(given),) if given else (ROOT, own)

    def _has_location(self, request: Model) -> bool:
        keys = (
            self._namespace.capabilities.location_properties
            if isinstance(self._namespace, CatalogNamespace)
            else ()
        )
        return any(
            name == "location" or any(key in value for key in keys)
            for name, value in named_fields(request)
        )

    @staticmethod
    def _cascades(operation: Operation[Any, Any], request: Any) -> bool:
        behavior = request.behavior if operation.name == "DropNamespace" else None
        return behavior is not None and str(behavior).lower() != "restrict"


def _objects(operation: Operation[Any, Any], request: Any) -> Iterator[Any]:
    """Return the identifiers of all objects in a request, including those in nested requests."""
    if operation.name == "BatchCommitTables":
        for change in request.operations or ():
            for part in (
                change.declare_table,
                change.create_table_version,
                change.delete_table_versions,
                change.deregister_table,
            ):
                if part is not None:
                    yield part.id
    elif operation.name == "BatchCreateTableVersions":
        yield from (entry.id for entry in request.entries or ())
    elif hasattr(request, "id") and operation.name != "ListAllTables":
        yield request.id


def _denied(operation: Operation[Any, Any], caller: Caller | None) -> PermissionDeniedError:
    who = "callers are" if caller is None else f"{caller.name[:100]!r} is"
    return PermissionDeniedError(
        f"{operation.name}: {who} not allowed to {operation.action.value} this object; ask the "
        "operator for a grant"
    )
