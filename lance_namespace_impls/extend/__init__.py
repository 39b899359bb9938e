"""The extension interface: the names that a custom catalog needs.

A backend is a subclass of `CatalogNamespace`. It implements the primitives with the catalog's own
client, declares the supported operations in `Capabilities`, and declares its properties in a
`Config`. The base class provides identifiers, modes, paging, errors and all operations on tables.

`extend.http` exports the names for catalogs with an HTTP API, `extend.iceberg_rest` those for
catalogs with an Iceberg REST API. The names of the three modules follow semantic versioning: a name
is deprecated, with a warning, for at least one minor release before it is removed. No other module
of `lance_namespace_impls` is part of this interface.
"""

from __future__ import annotations

from ..catalog.backend import CatalogBase
from ..catalog.capabilities import Capabilities
from ..catalog.catalog import CatalogNamespace
from ..catalog.entry import TableEntry, is_lance, with_lance_type
from ..catalog.errors import (
    namespace_exists,
    namespace_not_empty,
    namespace_not_found,
    not_a_lance_table,
    table_exists,
    table_not_found,
)
from ..core.config import Config, option, root_option
from ..core.identifiers import Identifier, format_identifier
from ..core.location import default_location
from ..core.paging import sorted_after
from ..registry import register

__all__ = [
    "Capabilities",
    "CatalogBase",
    "CatalogNamespace",
    "Config",
    "Identifier",
    "TableEntry",
    "default_location",
    "format_identifier",
    "is_lance",
    "namespace_exists",
    "namespace_not_empty",
    "namespace_not_found",
    "not_a_lance_table",
    "option",
    "register",
    "root_option",
    "sorted_after",
    "table_exists",
    "table_not_found",
    "with_lance_type",
]
