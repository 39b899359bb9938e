"""The extension interface: everything that a catalog of your own needs.

A backend is a subclass of `CatalogNamespace`: it implements the primitives in its catalog's own
terms, declares what it can do in `Capabilities` and its properties in a `Config`. Identifiers,
modes, paging, errors and all operations on tables come from the base.

The names here follow semantic versioning: one that goes is deprecated first, with a warning for a
minor release at least. Nothing else below `lance_namespace_impls` is promised to third parties.
"""

from __future__ import annotations

from .catalog.backend import CatalogBase
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
from .core.confinement import is_local
from .core.http import HttpConfig
from .core.identifiers import Identifier, format_identifier
from .core.json_api import HttpFailure, JsonApi
from .core.location import absolute, default_location, fresh_location
from .core.options import is_secret_option
from .core.paging import sorted_after
from .core.storage import TableStorage
from .iceberg_rest.base import IcebergRestCatalog
from .iceberg_rest.config import IcebergRestConfig
from .iceberg_rest.entries import location_of, properties_of
from .iceberg_rest.locations import as_opened
from .iceberg_rest.warehouse import Warehouse
from .registry import register

__all__ = [
    "Capabilities",
    "CatalogBase",
    "CatalogNamespace",
    "Config",
    "HttpConfig",
    "HttpFailure",
    "IcebergRestCatalog",
    "IcebergRestConfig",
    "Identifier",
    "JsonApi",
    "Namespace",
    "TableEntry",
    "TableStorage",
    "Warehouse",
    "absolute",
    "as_opened",
    "default_location",
    "format_identifier",
    "fresh_location",
    "is_lance",
    "is_local",
    "is_secret_option",
    "location_of",
    "namespace_exists",
    "namespace_not_empty",
    "namespace_not_found",
    "not_a_lance_table",
    "option",
    "prefix_option",
    "properties_of",
    "register",
    "root_option",
    "sorted_after",
    "table_exists",
    "table_not_found",
    "timeout_option",
    "with_lance_type",
]
