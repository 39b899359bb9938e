"""Reads and writes the Lance tables of any namespace as Spark DataFrames, and imports files.

>>> from lance_namespace_impls.spark import local_session
>>> spark = local_session()  # doctest: +SKIP
>>> spark.read.format("lance_namespace").options(impl="dir", root="/data/lance").load("flights")
... # doctest: +SKIP

Requires the extra ``[spark]``: ``pip install 'lance-namespace-kit[spark]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..distributed.failures import protocol_error_in
    from ..distributed.frames import frame_from_arrow
    from ..ingest.file_import import ImportResult, import_files
    from .backfill import Added, add_columns
    from .blobs import resolve_blobs
    from .change_feed import changes
    from .dataframe_reader import count_rows, read_table
    from .dataframe_writer import Written, write_table
    from .dml import Change, delete, merge_into, update
    from .duplicates import (
        DuplicateReport,
        NearDuplicates,
        near_duplicate_texts,
        near_duplicate_vectors,
    )
    from .index import IndexBuilt, create_index
    from .partition_join import join_partitions
    from .pushdown import has_pushdown, pushdown_jar
    from .quality import (
        Checked,
        InRange,
        Matches,
        NotNull,
        OneOf,
        References,
        RuleResult,
        Unique,
        VectorNorm,
        check,
    )
    from .search import SearchOptions, knn_join, nearest
    from .session import local_session
    from .sql import SqlCatalog, sql_catalog
    from .table_import import ImportRow, import_tables

__all__ = [
    "Added",
    "Change",
    "Checked",
    "DuplicateReport",
    "ImportResult",
    "ImportRow",
    "InRange",
    "IndexBuilt",
    "Matches",
    "NotNull",
    "OneOf",
    "References",
    "RuleResult",
    "NearDuplicates",
    "SearchOptions",
    "SqlCatalog",
    "Unique",
    "VectorNorm",
    "Written",
    "add_columns",
    "changes",
    "check",
    "count_rows",
    "create_index",
    "delete",
    "frame_from_arrow",
    "has_pushdown",
    "import_files",
    "import_tables",
    "join_partitions",
    "knn_join",
    "local_session",
    "merge_into",
    "near_duplicate_texts",
    "near_duplicate_vectors",
    "nearest",
    "protocol_error_in",
    "pushdown_jar",
    "read_table",
    "resolve_blobs",
    "sql_catalog",
    "update",
    "write_table",
]

_MODULES = {
    "backfill": ("Added", "add_columns"),
    "blobs": ("resolve_blobs",),
    "change_feed": ("changes",),
    "dataframe_reader": ("count_rows", "read_table"),
    "dataframe_writer": ("Written", "write_table"),
    "dml": ("Change", "delete", "merge_into", "update"),
    "duplicates": (
        "DuplicateReport",
        "NearDuplicates",
        "near_duplicate_texts",
        "near_duplicate_vectors",
    ),
    "index": ("IndexBuilt", "create_index"),
    "partition_join": ("join_partitions",),
    "pushdown": ("has_pushdown", "pushdown_jar"),
    "quality": (
        "Checked",
        "InRange",
        "Matches",
        "NotNull",
        "OneOf",
        "References",
        "RuleResult",
        "Unique",
        "VectorNorm",
        "check",
    ),
    "search": ("SearchOptions", "knn_join", "nearest"),
    "session": ("local_session",),
    "sql": ("SqlCatalog", "sql_catalog"),
    "table_import": ("ImportRow", "import_tables"),
    "..distributed.frames": ("frame_from_arrow",),
    "..distributed.failures": ("protocol_error_in",),
    "..ingest.file_import": ("ImportResult", "import_files"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = _HOME[name]
    return getattr(import_module(module if module[0] == "." else f".{module}", __name__), name)
