"""Stage commits to managed tables as clients do, so that tests can request them one by one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from lance_namespace_impls.catalog.namespace import Namespace

__all__ = ["ROWS", "STORES", "stage"]

ROWS = pa.table({"a": [1, 2, 3]})
STORES = {
    "memory": {"managed": "true"},
    "dir": {
        "manifest": "true",
        "dir_listing_enabled": "false",
        "table_version_tracking_enabled": "true",
    },
}
"""Connection properties of catalogs that manage the versions of their tables, by implementation."""


def stage(namespace: Namespace, table: str, rows: pa.Table = ROWS) -> dict[str, Any]:
    """Write a commit up to its staged manifest as a client does, and return the request for it."""
    where = Path(str(namespace.describe_table({"id": [table]}).location))
    found = namespace.list_table_versions({"id": [table], "descending": True, "limit": 1}).versions
    beside = where.with_name(f"{where.name}-beside")
    shutil.copytree(where, beside)
    lance.write_dataset(rows, str(beside), mode="append" if found else "create")
    version = (found[0].version if found else 0) + 1
    for folder in ("data", "_transactions"):
        for file in (beside / folder).iterdir():
            target = where / folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                file.rename(target)
    name = f"{2**64 - 1 - version:020d}.manifest"
    staged = where / "_versions" / f"{name}-{os.urandom(4).hex()}"
    staged.parent.mkdir(parents=True, exist_ok=True)
    (beside / "_versions" / name).rename(staged)
    shutil.rmtree(beside)
    path = str(staged).lstrip("/")
    return {"id": [table], "version": version, "manifest_path": path, "naming_scheme": "V2"}
