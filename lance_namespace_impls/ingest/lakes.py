"""Finds tables of other formats, which are imported as one source: Delta Lake and Iceberg."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableSchemaValidationError,
    UnsupportedError,
)

from ..core.errors import first_line
from ..distributed.casts import MISFITS
from ..distributed.failures import protocol_error
from .extras import load_extra

__all__ = [
    "TABLE_FORMATS",
    "current_metadata",
    "delta_version",
    "iceberg_size",
    "open_delta",
    "open_iceberg",
    "table_failure",
    "table_format",
]

TABLE_FORMATS = ("delta", "iceberg")
_METADATA_FILE = re.compile(r"(?:^|/)metadata/[^/]+\.metadata\.json$")
_UNSUPPORTED = re.compile(r"Kernel error: Unsupported|not yet support")
# pyiceberg's names for the options of object stores.
_ICEBERG_OPTIONS = {
    "aws_access_key_id": "s3.access-key-id",
    "aws_secret_access_key": "s3.secret-access-key",
    "aws_session_token": "s3.session-token",
    "aws_region": "s3.region",
    "aws_endpoint": "s3.endpoint",
}


def table_format(store: Any, path: str) -> str | None:
    """Return the format of the table at a path of a ``pyarrow.fs`` file system, or None."""
    from pyarrow import fs

    if _METADATA_FILE.search(path):
        return "iceberg"
    log, metadata = store.get_file_info([f"{path}/_delta_log", f"{path}/metadata"])
    if log.type == fs.FileType.Directory:
        return "delta"
    if metadata.type == fs.FileType.Directory and _metadata_files(store, path):
        return "iceberg"
    return None


def _metadata_files(store: Any, path: str) -> list[str]:
    from pyarrow import fs

    return sorted(
        info.path
        for info in store.get_file_info(fs.FileSelector(f"{path}/metadata"))
        if _METADATA_FILE.search(info.path)
    )


def current_metadata(store: Any, path: str, source: str) -> str:
    """Return the path of the current metadata file of an Iceberg table.

    Raises:
        InvalidInputError: code 13, only the table's catalog knows the current file.
    """
    if _METADATA_FILE.search(path):
        return path
    files = _metadata_files(store, path)
    hint = f"{path}/metadata/version-hint.text"
    if store.get_file_info(hint).is_file:
        with store.open_input_stream(hint) as stream:
            text = stream.read().decode(errors="replace").strip()
        for name in (f"v{text}.metadata.json", f"{text}.metadata.json", text):
            if f"{path}/metadata/{name}" in files:
                return f"{path}/metadata/{name}"
    if len(files) == 1:
        return files[0]
    raise InvalidInputError(
        f"{source} is an Iceberg table with {len(files)} metadata files, and only its catalog "
        f"knows which one is current; pass the path of that file, such as {files[-1]}"
    )


def open_delta(location: str, storage: Mapping[str, str], version: int | None = None) -> Any:
    """Open a Delta table with deltalake."""
    deltalake = load_extra("deltalake", "importing Delta tables", "delta")
    return deltalake.DeltaTable(location, version=version, storage_options=dict(storage) or None)


def open_iceberg(metadata: str, storage: Mapping[str, str]) -> Any:
    """Open an Iceberg table by its metadata file with pyiceberg."""
    tables = load_extra("pyiceberg.table", "importing Iceberg tables", "iceberg-tables")
    options = {
        _ICEBERG_OPTIONS[key]: value for key, value in storage.items() if key in _ICEBERG_OPTIONS
    }
    return tables.StaticTable.from_metadata(metadata, options)


def delta_version(location: str, storage: Mapping[str, str]) -> tuple[int, int]:
    """Return the latest version of a Delta table, and the total size of its files."""
    table = open_delta(location, storage)
    files = pa.RecordBatchReader.from_stream(table.get_add_actions(flatten=True)).read_all()
    return int(table.version()), sum(files["size_bytes"].to_pylist())


def iceberg_size(metadata: str, storage: Mapping[str, str]) -> int:
    """Return the total size of the data files of an Iceberg table."""
    scan = open_iceberg(metadata, storage).scan()
    return sum(task.file.file_size_in_bytes for task in scan.plan_files())


def table_failure(error: Exception, table: str) -> LanceNamespaceError:
    """Return the protocol error for a failure to read a table.

    Args:
        error: the failure of the table's library.
        table: name of the table in messages.
    """
    if isinstance(error, LanceNamespaceError):
        return error
    text = f"{table}: {first_line(error)}"
    if type(error).__name__ == "DeltaProtocolError" or _UNSUPPORTED.search(str(error)):
        return UnsupportedError(f"{text}; read the table with Spark instead: see import_tables")
    if isinstance(error, (*MISFITS, ValueError)):
        return TableSchemaValidationError(text)
    return protocol_error(error, f"reading {table}")
