"""Converts files and their pieces to JSON tasks; the options of the store are sealed."""

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
    """Return an object as JSON, without its store options and the attributes in `without`."""
    left_out = ("storage", *without)
    return attrs.asdict(what, filter=lambda field, _: field.name not in left_out)


def file_of(found: Mapping[str, Any], storage: Storage) -> SourceFile:
    """Return the file that `plain` converted to JSON."""
    return SourceFile(**found, storage=storage.value if found["store"] else {})


def piece_of(found: Mapping[str, Any], storage: Storage) -> Piece:
    """Return the piece that `plain` converted to JSON."""
    return Piece(**{**found, "file": file_of(found["file"], storage)})


def info_to_json(info: FileInfo) -> dict[str, Any]:
    """Return the description of a file as JSON."""
    schema = base64.b64encode(info.schema.serialize()).decode()
    return {**plain(info, "schema"), "schema": schema}


def info_from_json(found: Mapping[str, Any], storage: Storage) -> FileInfo:
    """Return the description that `info_to_json` converted to JSON."""
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found["schema"])))
    return FileInfo(**{**found, "schema": schema, "file": file_of(found["file"], storage)})
