"""Where a namespace is in Glue.

A first name may be a catalog or a database of the root; a further name a catalog or a database of
the catalog before it. What a name stands for is remembered for a while.
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

__all__ = ["Found", "Place", "Places", "ambiguous", "child_catalog_id", "is_account", "pages"]

MAX_LOCATIONS = 10_000
SECONDS_REMEMBERED = 300
MAX_CATALOG_NAME_LENGTH = 64
ACCOUNT_DIGITS = 12


class Place(NamedTuple):
    """A catalog, or a database in one."""

    catalog_id: str | None
    """None: the caller's default catalog."""
    database: str | None = None

    @property
    def scope(self) -> dict[str, str]:
        """The ``CatalogId`` of a request, where one is needed."""
        return {} if self.catalog_id is None else {"CatalogId": self.catalog_id}


class Found(NamedTuple):
    """A namespace as Glue has it now."""

    place: Place
    entry: Mapping[str, Any]


def pages(
    call: Callable[..., Mapping[str, Any]], key: str, **given: Any
) -> Iterator[Mapping[str, Any]]:
    """Return the entries of a listing, over all its pages; a page may be empty and not the last."""
    while True:
        page = call(**given)
        yield from page[key]
        if not page.get("NextToken"):
            return
        given["NextToken"] = page["NextToken"]


def is_account(catalog_id: str) -> bool:
    """Return whether a catalog id is an account's, and so that of its default catalog."""
    return len(catalog_id) == ACCOUNT_DIGITS and catalog_id.isdigit()


def child_catalog_id(parent: str | None, name: str) -> str | None:
    """Return the id of a catalog in a catalog; None where no catalog can have that name."""
    if len(name) > MAX_CATALOG_NAME_LENGTH or is_account(name) or any(c in "/\\.:" for c in name):
        return None
    if parent is None:
        return name
    return f"{parent}:{name}" if is_account(parent) else f"{parent}/{name}"


class Places:
    """Finds namespaces, and remembers where they are.

    Args:
        client: gives the Glue client.
        root: id of the root catalog; None is the caller's default one.
    """

    def __init__(self, client: Callable[[], Any], root: str | None) -> None:
        self._client = client
        self._root = root
        self._known: OrderedDict[Identifier, tuple[float, Place]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, identifier: Identifier) -> Place:
        """Return the place of a namespace, from memory where it is known.

        Raises:
            NamespaceNotFoundError: code 1.
            InvalidTableStateError: code 19, a catalog and a database share the name.
        """
        return self.remembered(identifier) or self.look_up(identifier).place

    def remembered(self, identifier: Identifier) -> Place | None:
        """Return the place of a namespace if it is known and not too old."""
        if not identifier:
            return Place(self._root)
        known = self._known.get(identifier)
        if known is None or known[0] < time.monotonic():
            return None
        return known[1]

    def look_up(self, identifier: Identifier) -> Found:
        """Ask Glue for a namespace.

        Raises:
            NamespaceNotFoundError: code 1.
            InvalidTableStateError: code 19, a catalog and a database share the name.
        """
        if not identifier:
            return Found(Place(self._root), {})
        parent_was_known = len(identifier) > 1 and self.remembered(identifier[:-1]) is not None
        try:
            return self._look_up(identifier)
        except NamespaceNotFoundError:
            if not parent_was_known:
                raise
        # What was remembered of the parent may be out of date; by now it is forgotten.
        return self._look_up(identifier)

    def _look_up(self, identifier: Identifier) -> Found:
        found, denials = self.ask(identifier)
        if len(found) == 1:
            self._remember(identifier, found[0].place)
            return found[0]
        self.forget(identifier)
        if found:
            raise ambiguous(identifier)
        if denials:
            raise denials[0]
        raise namespace_not_found(identifier)

    def ask(self, identifier: Identifier) -> tuple[list[Found], list[Exception]]:
        """Ask for all that has a name, and give what denied an answer.

        Raises:
            NamespaceNotFoundError: code 1, the parent is missing.
        """
        parent = self.find(identifier[:-1])
        if parent.database is not None:
            return [], []
        found: list[Found] = []
        denials: list[Exception] = []
        for question in (self._catalog, self._database):
            try:
                answer = question(parent, identifier[-1])
            except ClientError as error:
                if code_of(error) in (NOT_FOUND, *NO_SUCH_CALL):
                    continue
                if not is_denied(error):
                    raise
                denials.append(error)
            else:
                found += [answer] if answer is not None else []
        return found, denials

    def _catalog(self, parent: Place, name: str) -> Found | None:
        catalog_id = child_catalog_id(parent.catalog_id, name)
        if catalog_id is None:
            return None
        entry = self._client().get_catalog(CatalogId=catalog_id)["Catalog"]
        return Found(Place(entry.get("CatalogId", catalog_id)), entry)

    def _database(self, parent: Place, name: str) -> Found:
        entry = self._client().get_database(Name=name, **parent.scope)["Database"]
        return Found(Place(parent.catalog_id, name), entry)

    def _remember(self, identifier: Identifier, place: Place) -> None:
        with self._lock:
            self._known[identifier] = (time.monotonic() + SECONDS_REMEMBERED, place)
            self._known.move_to_end(identifier)
            if len(self._known) > MAX_LOCATIONS:
                self._known.popitem(last=False)

    def forget(self, identifier: Identifier) -> None:
        """Forget a namespace, and those above and below it."""
        depth = len(identifier)
        with self._lock:
            for known in list(self._known):
                if known[:depth] == identifier or known == identifier[: len(known)]:
                    del self._known[known]


def ambiguous(identifier: Identifier) -> InvalidTableStateError:
    """Build the error for a catalog and a database of one name (code 19)."""
    name = format_identifier(identifier)
    return InvalidTableStateError(
        f"namespace {name} is ambiguous: there are a catalog {identifier[-1]!r} and a database "
        f"{identifier[-1]!r} in the same parent; rename or remove one"
    )
