"""Imports files into Lance tables of any namespace.

>>> from lance_namespace_impls.ingest import import_files
>>> import_files(
...     None, impl="dir", properties={"path": "/data/lance"}, table=["flights"], sources=["f.csv"]
... )  # doctest: +SKIP

An import runs in this process, or as a Spark job if a session is passed.
"""

from __future__ import annotations

from .file_import import ImportPreview, ImportResult, import_files, import_into, preview_files

__all__ = [
    "ImportPreview",
    "ImportResult",
    "import_files",
    "import_into",
    "preview_files",
]
