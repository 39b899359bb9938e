"""Files and pieces of them as tasks of an import: JSON, beside which the options of their store go sealed."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import attrs
import pyarrow as pa

from ..distributed.secrets import Sealed
from .readers import FileInfo, Piece, SourceFile

__all__ = ["Storage", "file_of", "info_from_json", "info_to_json", "piece_of", "plain"]

Storage = Sealed[Mapping[str, str]]


def plain(what: SourceFile | Piece | FileInfo, *without: str) -> dict[str, Any]:
    """Return it as JSON, without the options of its store and those attributes."""
    left_out = ("storage", *without)
    return attrs.asdict(what, filter=lambda field, _: field.name not in left_out)


def file_of(found: Mapping[str, Any], storage: Storage) -> SourceFile:
    """Return the file that `plain` made JSON of."""
    return SourceFile(**found, storage=storage.value if found["store"] else {})


def piece_of(found: Mapping[str, Any], storage: Storage) -> Piece:
    """Return the piece that `plain` made JSON of."""
    return Piece(**{**found, "file": file_of(found["file"], storage)})


def info_to_json(info: FileInfo) -> dict[str, Any]:
    """Return what is known of a file as JSON."""
    schema = base64.b64encode(info.schema.serialize()).decode()
    return {**plain(info, "schema"), "schema": schema}


def info_from_json(found: Mapping[str, Any], storage: Storage) -> FileInfo:
    """Return what `info_to_json` made JSON of."""
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found["schema"])))
    return FileInfo(**{**found, "schema": schema, "file": file_of(found["file"], storage)})
