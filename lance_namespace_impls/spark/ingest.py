"""Re-exports the functions of `lance_namespace_impls.ingest` under their previous import path."""

from __future__ import annotations

from ..ingest.file_import import (
    ImportPreview,
    ImportResult,
    import_files,
    import_into,
    preview_files,
    preview_into,
)

__all__ = [
    "ImportPreview", "ImportResult", "import_files", "import_into", "preview_files", "preview_into",
]  # fmt: skip
