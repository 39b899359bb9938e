"""Rejects identifiers that are invalid in a catalog before any request is sent to the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.operations import OPERATIONS

from ..core.errors import about
from ..core.identifiers import Identifier, format_identifier, parse_identifier, subject_of
from .capabilities import Capabilities

__all__ = ["check_identifier", "parent_after"]

_NOT_ON_CONFIGURED = frozenset({"CreateNamespace", "DropNamespace", "AlterNamespace"})


def check_identifier(allowed: Capabilities, operation: str, request: Any) -> None:
    """Raise an error if the depth or case of a request's identifier is invalid in the catalog.

    Args:
        allowed: the catalog's capabilities.
        operation: name of the operation.
        request: its request.

    Raises:
        InvalidInputError: code 13.
    """
    path = OPERATIONS[operation].path
    names_table = path.startswith(("/v1/table/{id}", "/v1/materialized_view/{id}"))
    if not names_table and not path.startswith("/v1/namespace/{id}"):
        return
    identifier = parse_identifier(request.id)
    depth = len(identifier) - 1 if names_table else len(identifier)
    if names_table and not identifier:
        raise InvalidInputError(f"{operation} needs the identifier of a table, not the root")
    if not allowed.has_namespaces(depth) or (names_table and not allowed.holds_tables(depth)):
        raise InvalidInputError(
            f"{operation}: {format_identifier(identifier)!r} is not valid in this catalog: "
            f"{_table_levels(allowed) if names_table else _namespace_levels(allowed)}"
        )
    if allowed.lowercase_names:
        names = list(identifier)
        if operation == "RenameTable":
            names += [*parse_identifier(request.new_namespace_id), request.new_table_name]
        with about(subject_of(operation, identifier)):
            _require_lowercase(names)
    if not names_table and depth <= allowed.configured_depth and operation in _NOT_ON_CONFIGURED:
        raise InvalidInputError(
            "it is defined by the configuration and cannot be created, changed or dropped",
            subject=subject_of(operation, identifier),
        )


def parent_after(allowed: Capabilities, request: Any) -> Identifier:
    """Return the namespace that contains a table after RenameTable.

    Java clients send an empty list if no namespace is specified, so an empty list means the root
    only if the root can hold tables.
    """
    given = request.new_namespace_id
    if given is None or (not given and not allowed.holds_tables(0)):
        return parse_identifier(request.id)[:-1]
    return parse_identifier(given)


def _table_levels(allowed: Capabilities) -> str:
    """Describe how many levels the identifier of a table has."""
    least, deepest = allowed.table_depth + 1, allowed.namespace_depth
    if deepest is None:
        return f"a table's identifier has {least} or more levels"
    if deepest + 1 > least:
        return f"a table's identifier has {least} to {deepest + 1} levels"
    return f"a table's identifier has {_levels(least)}"


def _namespace_levels(allowed: Capabilities) -> str:
    """Describe how many levels the identifier of a namespace has."""
    if allowed.namespace_depth == 0:
        return "it has only the root namespace"
    return f"a namespace's identifier has at most {_levels(allowed.namespace_depth or 0)}"


def _levels(count: int) -> str:
    return "1 level" if count == 1 else f"{count} levels"


def _require_lowercase(names: Sequence[str]) -> None:
    for name in names:
        if name != name.lower():
            raise InvalidInputError(
                f"this catalog stores names in lower case, so use {name.lower()!r} instead of "
                f"{name!r}"
            )
