"""Builds the errors that all catalogs raise, with the same messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)

from ..core.identifiers import (
    Identifier,
    format_identifier,
)
from .entry import (
    LANCE,
    TABLE_TYPE,
    is_lance,
)

__all__ = [
    "missing_with_parent",
    "namespace_exists",
    "namespace_not_empty",
    "namespace_not_found",
    "not_a_lance_table",
    "table_exists",
    "table_not_found",
]


def not_a_lance_table(
    identifier: Identifier,
    properties: Mapping[str, str] | None = None,
    *,
    kind: tuple[str, str | None, str] | None = None,
) -> InvalidInputError:
    """Build the error for a table that is not a Lance table (code 13).

    Args:
        identifier: the table.
        properties: its properties.
        kind: the catalog's name for the kind of a table, the kind of this table, and the kind of
            Lance tables; reported if the properties are those of a Lance table.
    """
    why = f"it has no {TABLE_TYPE}={LANCE}"
    if kind is not None and is_lance(properties):
        name, has, wanted = kind
        why = f"its {name} is {has}, not {wanted}" if has else f"it has no {name}={wanted}"
    return InvalidInputError(f"table {format_identifier(identifier)} is not a Lance table: {why}")


def namespace_not_found(identifier: Identifier) -> NamespaceNotFoundError:
    """Build the error for a missing namespace (code 1)."""
    return NamespaceNotFoundError(f"namespace {format_identifier(identifier)} does not exist")


def namespace_exists(identifier: Identifier) -> NamespaceAlreadyExistsError:
    """Build the error for a namespace that already exists (code 2)."""
    return NamespaceAlreadyExistsError(
        f"namespace {format_identifier(identifier)} already exists; use mode ExistOk to keep it"
    )


def namespace_not_empty(identifier: Identifier, holds: str) -> NamespaceNotEmptyError:
    """Build the error for a namespace that is not empty (code 3)."""
    return NamespaceNotEmptyError(
        f"namespace {format_identifier(identifier)} is not empty: it contains {holds}"
    )


def table_not_found(identifier: Identifier) -> TableNotFoundError:
    """Build the error for a missing table (code 4)."""
    return TableNotFoundError(f"table {format_identifier(identifier)} does not exist")


def table_exists(identifier: Identifier) -> TableAlreadyExistsError:
    """Build the error for a table that already exists (code 5)."""
    return TableAlreadyExistsError(f"table {format_identifier(identifier)} already exists")


@contextmanager
def missing_with_parent(identifier: Identifier) -> Iterator[None]:
    """Report a missing parent as a missing table (code 4)."""
    try:
        yield
    except NamespaceNotFoundError as error:
        raise TableNotFoundError(
            f"table {format_identifier(identifier)} does not exist: {error.message}"
        ) from error
