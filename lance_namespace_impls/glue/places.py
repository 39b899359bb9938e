"""Resolves namespaces to catalogs and databases in Glue.

The first name is a catalog or a database of the root; each further name is a catalog or a database
of the preceding catalog. Results are cached for `SECONDS_REMEMBERED`.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from lance_namespace_client.errors import InvalidTableStateError, NamespaceNotFoundError

from ..catalog.errors import namespace_not_found
from ..core.identifiers import Identifier, format_identifier
from .errors import NO_SUCH_CALL, NOT_FOUND, code_of, is_denied

__all__ = [
    "Place",
    "Places",
    "ResolvedNamespace",
    "ambiguous",
    "child_catalog_id",
    "is_account",
    "pages",
]

MAX_LOCATIONS = 10_000
SECONDS_REMEMBERED = 300
MAX_CATALOG_NAME_LENGTH = 64
ACCOUNT_DIGITS = 12


class Place(NamedTuple):
    """A catalog, or a database in a catalog."""

    catalog_id: str | None
    """None means the caller's default catalog."""
    database: str | None = None

    @property
    def scope(self) -> dict[str, str]:
        """The ``CatalogId`` of a request, if the request needs one."""
        return {} if self.catalog_id is None else {"CatalogId": self.catalog_id}


class ResolvedNamespace(NamedTuple):
    """A namespace, with its current entry in Glue."""

    place: Place
    entry: Mapping[str, Any]


def pages(
    call: Callable[..., Mapping[str, Any]], key: str, **request: Any
) -> Iterator[Mapping[str, Any]]:
    """Return the entries on all pages of a listing; any page but the last may be empty."""
    while True:
        page = call(**request)
        yield from page[key]
        if not page.get("NextToken"):
            return
        request["NextToken"] = page["NextToken"]


def is_account(catalog_id: str) -> bool:
    """Return whether a catalog id is an account number, that is, the account's default catalog."""
    return len(catalog_id) == ACCOUNT_DIGITS and catalog_id.isdigit()


def child_catalog_id(parent: str | None, name: str) -> str | None:
    """Return the id of a child catalog, or None if no catalog can have that name."""
    if len(name) > MAX_CATALOG_NAME_LENGTH or is_account(name) or any(c in "/\\.:" for c in name):
        return None
    if parent is None:
        return name
    return f"{parent}:{name}" if is_account(parent) else f"{parent}/{name}"


class Places:
    """Resolves namespaces, and caches the results.

    Args:
        client: returns the Glue client.
        root: id of the root catalog; None means the caller's default catalog.
    """

    def __init__(self, client: Callable[[], Any], root: str | None) -> None:
        self._client = client
        self._root = root
        self._cache: OrderedDict[Identifier, tuple[float, Place]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, identifier: Identifier) -> Place:
        """Return the catalog or database of a namespace, from the cache if possible.

        Raises:
            NamespaceNotFoundError: code 1.
            InvalidTableStateError: code 19, a catalog and a database have the same name.
        """
        return self.cached(identifier) or self.look_up(identifier).place

    def cached(self, identifier: Identifier) -> Place | None:
        """Return a namespace's catalog or database from the cache, or None if it has expired."""
        if not identifier:
            return Place(self._root)
        entry = self._cache.get(identifier)
        if entry is None or entry[0] < time.monotonic():
            return None
        return entry[1]

    def look_up(self, identifier: Identifier) -> ResolvedNamespace:
        """Look up a namespace in Glue.

        Raises:
            NamespaceNotFoundError: code 1.
            InvalidTableStateError: code 19, a catalog and a database have the same name.
        """
        if not identifier:
            return ResolvedNamespace(Place(self._root), {})
        parent_was_known = len(identifier) > 1 and self.cached(identifier[:-1]) is not None
        try:
            return self._look_up(identifier)
        except NamespaceNotFoundError:
            if not parent_was_known:
                raise
        # The cached parent may have been outdated; the failure has removed it from the cache.
        return self._look_up(identifier)

    def _look_up(self, identifier: Identifier) -> ResolvedNamespace:
        matches, denials = self.candidates(identifier)
        if len(matches) == 1:
            self._remember(identifier, matches[0].place)
            return matches[0]
        self.forget(identifier)
        if matches:
            raise ambiguous(identifier)
        if denials:
            raise denials[0]
        raise namespace_not_found(identifier)

    def candidates(self, identifier: Identifier) -> tuple[list[ResolvedNamespace], list[Exception]]:
        """Return the catalogs and databases with a name, and the errors of denied requests.

        Raises:
            NamespaceNotFoundError: code 1, the parent is missing.
        """
        parent = self.find(identifier[:-1])
        if parent.database is not None:
            return [], []
        matches: list[ResolvedNamespace] = []
        denials: list[Exception] = []
        for lookup in (self._catalog, self._database):
            try:
                match = lookup(parent, identifier[-1])
            except ClientError as error:
                if code_of(error) in (NOT_FOUND, *NO_SUCH_CALL):
                    continue
                if not is_denied(error):
                    raise
                denials.append(error)
            else:
                matches += [match] if match is not None else []
        return matches, denials

    def _catalog(self, parent: Place, name: str) -> ResolvedNamespace | None:
        catalog_id = child_catalog_id(parent.catalog_id, name)
        if catalog_id is None:
            return None
        entry = self._client().get_catalog(CatalogId=catalog_id)["Catalog"]
        return ResolvedNamespace(Place(entry.get("CatalogId", catalog_id)), entry)

    def _database(self, parent: Place, name: str) -> ResolvedNamespace:
        entry = self._client().get_database(Name=name, **parent.scope)["Database"]
        return ResolvedNamespace(Place(parent.catalog_id, name), entry)

    def _remember(self, identifier: Identifier, place: Place) -> None:
        with self._lock:
            self._cache[identifier] = (time.monotonic() + SECONDS_REMEMBERED, place)
            self._cache.move_to_end(identifier)
            if len(self._cache) > MAX_LOCATIONS:
                self._cache.popitem(last=False)

    def forget(self, identifier: Identifier) -> None:
        """Remove a namespace, its ancestors and its descendants from the cache."""
        depth = len(identifier)
        with self._lock:
            for cached in list(self._cache):
                if cached[:depth] == identifier or cached == identifier[: len(cached)]:
                    del self._cache[cached]


def ambiguous(identifier: Identifier) -> InvalidTableStateError:
    """Build the error for a catalog and a database with the same name (code 19)."""
    name = format_identifier(identifier)
    return InvalidTableStateError(
        f"namespace {name} is ambiguous: the parent has both a catalog {identifier[-1]!r} and a "
        f"database {identifier[-1]!r}; rename or remove one"
    )
