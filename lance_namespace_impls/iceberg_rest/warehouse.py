"""Warehouses: the base path of each warehouse's API, and the encoding of names in paths.

Source: the Iceberg REST catalog protocol, ``GET /v1/config``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, unquote

from attrs import frozen

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.wire import path_segment

from ..catalog.errors import namespace_not_found
from ..core.json_api import HttpFailure, JsonApi, raising
from .config import IcebergRestConfig
from .errors import is_missing, is_missing_warehouse, is_no_route

__all__ = ["UNIT_SEPARATOR", "UnwritableNameError", "Warehouse", "Warehouses", "segment"]

UNIT_SEPARATOR = "\x1f"
DECODED = frozenset("%+")
UNDECODABLE = "%zz"


class UnwritableNameError(InvalidInputError):
    """Raised for a name that no object can have, because the API cannot represent it in a path."""


@frozen(kw_only=True)
class Warehouse:
    """A warehouse, and the settings that the server reports for it."""

    name: str
    base: str
    """Path prefix of the warehouse's API, such as ``/v1/my_warehouse``."""
    separator: str
    """Separator between the levels of a namespace."""

    def namespaces(self) -> str:
        """Return the path of the warehouse's namespaces."""
        return f"{self.base}/namespaces"

    def namespace(self, levels: Sequence[str]) -> str:
        """Return the path of a namespace; each level and each separator is encoded once.

        Raises:
            UnwritableNameError: code 13, a level contains the separator, or is ``.`` or ``..``.
        """
        return f"{self.namespaces()}/{path_segment(self.separator).join(map(self._level, levels))}"

    def tables(self, levels: Sequence[str]) -> str:
        """Return the path of a namespace's tables."""
        return f"{self.namespace(levels)}/tables"

    def table(self, levels: Sequence[str], name: str, *, twice: bool = False) -> str:
        """Return the path of a table; `twice` encodes its name for servers that decode it twice."""
        return f"{self.tables(levels)}/{segment(quote(name, safe='') if twice else name)}"

    def rename(self) -> str:
        """Return the path for renaming tables."""
        return f"{self.base}/tables/rename"

    def parent(self, levels: Sequence[str]) -> str:
        """Return a namespace as an unencoded query parameter."""
        for level in levels:
            self._level(level)
        return self.separator.join(levels)

    def _level(self, level: str) -> str:
        if self.separator in level:
            shown = "the unit separator" if self.separator == UNIT_SEPARATOR else self.separator
            raise UnwritableNameError(
                f"namespace {level!r} contains {shown!r}, which separates the levels of a "
                f"namespace in warehouse {self.name!r}; choose another name"
            )
        return segment(level)


class Warehouses:
    """Requests the settings of each warehouse once and caches them; thread-safe.

    Args:
        config: the property ``prefix`` overrides the server's prefix.
        api: the server.
        address: returns the base URL of the API, to which paths of `api` are relative.
    """

    def __init__(self, config: IcebergRestConfig, api: JsonApi, address: Callable[[], str]) -> None:
        self._config = config
        self._api = api
        self._address = address
        self._cache: dict[str, Warehouse] = {}
        self._decodes_twice: dict[str, bool] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Warehouse:
        """Return a warehouse.

        Raises:
            NamespaceNotFoundError: code 1, there is no warehouse with this name.
        """
        warehouse = self._cache.get(name)
        if warehouse is not None:
            return warehouse
        with self._lock:
            if name not in self._cache:
                self._cache[name] = self._load(name)
            return self._cache[name]

    def table(self, warehouse: Warehouse, levels: Sequence[str], name: str) -> str:
        """Return the path of a table, encoded for this server.

        Apache Polaris decodes a table's name a second time, like a form field, which would change a
        name with ``%`` or ``+``. For other names, both encodings are the same. To detect such a
        server, a name that cannot be decoded twice is requested once per warehouse.
        """
        if not set(name) & DECODED:
            return warehouse.table(levels, name)
        twice = self._decodes_twice.get(warehouse.name)
        if twice is None:
            twice = self._refuses(warehouse.table(levels, UNDECODABLE)) and not self._refuses(
                warehouse.table(levels, UNDECODABLE, twice=True)
            )
            self._decodes_twice[warehouse.name] = twice
        return warehouse.table(levels, name, twice=twice)

    def _refuses(self, path: str) -> bool:
        """Return whether the server rejects a path as invalid instead of reporting "not found"."""
        try:
            self._api.get(path)
        except HttpFailure as failure:
            if failure.status == 400:
                return True
            if not is_missing(failure):
                raise
        return False

    def _load(self, name: str) -> Warehouse:
        if self._config.warehouses is not None and name not in self._config.warehouses:
            raise namespace_not_found((name,))
        self._api.base = self._address()
        with (
            raising(self._no_api, (name,), when=is_no_route),
            raising(namespace_not_found, (name,), when=is_missing_warehouse),
        ):
            response = self._api.get("/v1/config", {"warehouse": name})
        settings = {**_map(response.get("defaults")), **_map(response.get("overrides"))}
        prefix = self._config.prefix
        if prefix is None:
            prefix = settings.get("prefix")
        path = path_segment(name) if prefix is None else _encode_prefix(prefix)
        separator = unquote(settings.get("namespace-separator") or "") or UNIT_SEPARATOR
        return Warehouse(name=name, base=f"/v1/{path}".rstrip("/"), separator=separator)

    def _no_api(self, warehouse: Sequence[str]) -> InvalidInputError:
        """Build the error for an endpoint that names a server but not the API."""
        return InvalidInputError(
            f"there is no Iceberg REST API at {self._api.base}, which has no /v1/config; check "
            f"the path of 'endpoint' (/api/catalog for Apache Polaris)"
        )


def segment(name: str) -> str:
    """Return a name as a path segment.

    Raises:
        UnwritableNameError: code 13, the name is ``.`` or ``..``.
    """
    if name in (".", ".."):
        # Servers interpret these as relative path segments, even if they are encoded.
        raise UnwritableNameError(
            f"{name!r} is not a valid name in an Iceberg REST catalog; choose another name"
        )
    return path_segment(name)


def _map(found: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in (found or {}).items() if v is not None}


def _encode_prefix(prefix: str) -> str:
    """Encode invalid characters in a prefix; it may have several segments or already be encoded."""
    return quote(re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", prefix.strip("/")), safe="/%:@!$&'()*+,;=~")
