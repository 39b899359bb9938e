"""Restricts remote callers to the storage options and locations that the operator allows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, cast

from attrs import field, fields, frozen

from lance_namespace_client.errors import InvalidInputError, UnsupportedError
from lance_namespace_client.model import Model
from lance_namespace_client.operations import Operation

from ...catalog.catalog import CatalogNamespace
from ...catalog.entry import STORAGE_PREFIX
from ...core.confinement import Confinement, confined
from ...tables.sql import SqlCheck, sql_of

__all__ = ["Reach", "named_fields"]

_PROPERTIES = frozenset({"properties", "set_properties", "unset_properties"})
_OPTIONS = "storage_options"
_LOCATION = "location"


def _names(values: Iterable[str]) -> frozenset[str]:
    return frozenset(values)


def _functions(values: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in values)


def _places(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@frozen(kw_only=True)
class Reach:
    """The restrictions that apply to all remote callers."""

    storage_options: frozenset[str] = field(default=frozenset(), converter=_names)
    """Names of the storage options that callers may set, without the prefix ``storage.``."""
    locations: tuple[str, ...] = field(default=(), converter=_places)
    """Paths and URIs below which callers may store tables, in addition to the namespace's own
    locations."""
    functions: frozenset[str] = field(default=frozenset(), converter=_functions)
    """SQL functions that callers may use, in addition to those with a known cost."""

    def check(self, operation: Operation[Any, Any], request: Model, namespace: Any) -> None:
        """Reject a request with options, locations or functions that the caller may not specify.

        This package's backends check locations and SQL themselves, within `bounds`, because they
        know their own locations and their tables' columns. Other namespaces do not expose these, so
        only explicitly allowed locations are accepted.

        Raises:
            InvalidInputError: code 13.
            UnsupportedError: code 0, no caller can specify locations on this server.
        """
        if operation.name in self.disabled(namespace):
            raise UnsupportedError(
                f"{operation.name}: this server allows no locations for this namespace; ask the "
                f"operator to allow some (--allow-location)"
            )
        if not isinstance(namespace, CatalogNamespace):
            self._check_sql(operation, request)
        for name, value in named_fields(request):
            if name == _LOCATION:
                if not isinstance(namespace, CatalogNamespace):
                    bounds = Confinement(allowed_locations=self.locations)
                    bounds.refuse_outside(str(value), (), operation.name)
                continue
            refused = sorted(set(_options(name, value)) - self.storage_options)
            if refused:
                raise InvalidInputError(
                    f"{operation.name}: callers may not set storage options, but {name} contains "
                    f"{', '.join(refused)[:200]}; omit them, or ask the operator to allow them "
                    f"(--allow-storage-option)"
                )

    def disabled(self, namespace: Any) -> frozenset[str]:
        """Return the operations that require a location, if no location is allowed."""
        if self.locations or isinstance(namespace, CatalogNamespace):
            return frozenset()
        return frozenset({"RegisterTable"})

    def _check_sql(self, operation: Operation[Any, Any], request: Model) -> None:
        with self.bounds():
            check = SqlCheck()
        for name, text, is_value in sql_of(request):
            what = f"{operation.name}: {name}"
            (check.value if is_value else check.condition)(text, what)

    def bounds(self) -> AbstractContextManager[None]:
        """Return a context manager under which a backend applies these restrictions."""
        return confined(Confinement(allowed_locations=self.locations, functions=self.functions))


def _options(name: str, keys: Collection[str]) -> Iterator[str]:
    """Return the storage options among keys, without their prefix."""
    for key in keys:
        if name == _OPTIONS:
            yield key
        elif key.strip().lower().startswith(STORAGE_PREFIX):
            yield key.strip()[len(STORAGE_PREFIX) :]


def named_fields(request: Model) -> Iterator[tuple[str, Any]]:
    """Return the fields that may contain options or locations, including those in nested requests."""
    for attribute in fields(cast("Any", type(request))):
        value = getattr(request, attribute.name)
        if value is None:
            continue
        if attribute.name in _PROPERTIES or attribute.name in (_OPTIONS, _LOCATION):
            yield attribute.name, value
        elif isinstance(value, Model):
            yield from named_fields(value)
        elif isinstance(value, list) and value and isinstance(value[0], Model):
            for each in value:
                yield from named_fields(each)
