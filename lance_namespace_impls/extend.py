"""The extension interface: everything that a catalog of your own needs.

A backend is a subclass of `CatalogNamespace`: it implements the primitives in its catalog's own
terms, declares what it can do in `Capabilities` and its properties in a `Config`. Identifiers,
modes, paging, errors and all operations on tables come from the base.

The names here follow semantic versioning: one that goes is deprecated first, with a warning for a
minor release at least. Nothing else below `lance_namespace_impls` is promised to third parties.
"""

from __future__ import annotations

from .catalog.base import CatalogBase
from .catalog.capabilities import Capabilities
from .catalog.catalog import CatalogNamespace
from .catalog.entry import TableEntry, is_lance, with_lance_type
from .catalog.errors import (
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    not_a_lance_table,
    table_exists,
    table_not_found,
)
from .catalog.namespace import Namespace
from .core.config import Config, option, prefix_option, root_option, timeout_option
from .core.http import HttpConfig
from .core.identifiers import Identifier, format_identifier
from .core.json_api import HttpFailure, JsonApi
from .core.location import absolute, default_location
from .core.paging import sorted_after
from .core.storage import TableStorage
from .registry import register

__all__ = [
    "Capabilities",
    "CatalogBase",
    "CatalogNamespace",
    "Config",
    "HttpConfig",
    "HttpFailure",
    "Identifier",
    "JsonApi",
    "Namespace",
    "TableEntry",
    "TableStorage",
    "absolute",
    "default_location",
    "format_identifier",
    "is_lance",
    "namespace_exists",
    "namespace_not_empty",
    "namespace_not_found",
    "not_a_lance_table",
    "option",
    "prefix_option",
    "register",
    "root_option",
    "sorted_after",
    "table_exists",
    "table_not_found",
    "timeout_option",
    "with_lance_type",
]
