"""A served SQL catalog that manages the versions of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from lance_namespace_impls.server import ServerOptions, serving
from lance_namespace_impls.sql import SqlNamespace, initialize

from .s3 import GuardedS3

__all__ = ["STORAGES", "managed_catalog"]

STORAGES = ["disk", pytest.param("s3", marks=pytest.mark.s3)]


@contextmanager
def managed_catalog(folder: Path, storage: str) -> Iterator[tuple[SqlNamespace, str]]:
    """Yield a catalog whose tables are on disk or in S3, and the address of its server."""
    properties = {"uri": str(folder / "catalog.db"), "managed": "true"}
    initialize(properties)
    with ExitStack() as running:
        if storage == "s3":
            s3 = running.enter_context(GuardedS3())
            options = {f"storage.{key}": value for key, value in s3.options().items()}
            properties |= {"root": f"s3://{s3.bucket}/tables", **options}
        catalog = running.enter_context(SqlNamespace.from_properties(properties))
        address = serving(catalog, ServerOptions(vend_storage_options=True))
        yield catalog, running.enter_context(address)
