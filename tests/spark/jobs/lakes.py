"""Helpers that create a catalog and its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace


def nested(root: Path) -> Namespace:
    """Return a catalog with namespaces at any level."""
    return connect("memory", {"root": str(root)})


def put(namespace: Namespace, table: list[str], rows: pa.Table, **options: Any) -> Any:
    """Create a table and its namespaces, and return the table's dataset."""
    for depth in range(1, len(table)):
        namespace.create_namespace({"id": table[:depth], "mode": "ExistOk"})
    location = namespace.declare_table({"id": table}).location
    return lance.write_dataset(rows, location, **options)
