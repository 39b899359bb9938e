"""Spark: Lance tables of any namespace as DataFrames, and imports of files into them.

>>> from lance_namespace_impls.spark import local_session
>>> spark = local_session()  # doctest: +SKIP
>>> spark.read.format("lance_namespace").options(impl="dir", root="/data/lance").load("flights")
... # doctest: +SKIP

Needs the extra: ``pip install 'lance-namespace-kit[spark]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backfill import Added, add_columns
    from .changes import Change, delete, merge_into, update
    from .failures import protocol_error_in
    from .frames import count_rows, frame_from_arrow, read_table
    from .ingest import ImportResult, import_files
    from .saving import Written, write_table
    from .session import local_session
    from .sql import SqlCatalog, sql_catalog

__all__ = [
    "Added",
    "Change",
    "ImportResult",
    "SqlCatalog",
    "Written",
    "add_columns",
    "count_rows",
    "delete",
    "frame_from_arrow",
    "import_files",
    "local_session",
    "merge_into",
    "protocol_error_in",
    "read_table",
    "sql_catalog",
    "update",
    "write_table",
]

_HOME = {
    "Added": "backfill",
    "Change": "changes",
    "ImportResult": "ingest",
    "SqlCatalog": "sql",
    "Written": "saving",
    "add_columns": "backfill",
    "count_rows": "frames",
    "delete": "changes",
    "frame_from_arrow": "frames",
    "import_files": "ingest",
    "local_session": "session",
    "merge_into": "changes",
    "protocol_error_in": "failures",
    "read_table": "frames",
    "sql_catalog": "sql",
    "update": "changes",
    "write_table": "saving",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
